// The printer. Constants are written in place where the assembler would put them back: a run of constants just before the instruction that is
// their only reader, in the order of its operands. An instruction followed by the bind of its only use is written with ":=".
#include "isa/print.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "isa/literal.h"
#include "isa/print_names.h"

namespace tilevm::isa {
namespace {

std::string StringText(const Module& module, StringId id) {
  return id < module.strings.size() ? WordOrQuoted(module.strings[id]) : absl::StrCat("<bad string ", id, ">");
}

std::vector<const Cell*> CellsByFunction(const Module& module) {
  std::vector<const Cell*> cells(module.functions.size(), nullptr);
  for (const Unit& unit : module.units) {
    for (const Cell& cell : unit.cells) {
      if (cell.function < cells.size()) cells[cell.function] = &cell;
    }
  }
  return cells;
}

// "$name" if the name is a word that no other function has, else "$index".
std::vector<std::string> FunctionLabels(const Module& module) {
  std::unordered_map<std::string, int> count;
  for (const Function& function : module.functions) ++count[function.name];
  std::vector<std::string> labels;
  for (size_t i = 0; i < module.functions.size(); ++i) {
    const std::string& name = module.functions[i].name;
    labels.push_back(IsWord(name) && count[name] == 1 ? absl::StrCat("$", name) : absl::StrCat("$", i));
  }
  return labels;
}

bool IsBareYield(const Region& region) {
  return region.args.empty() && region.body.size() == 1 && region.body[0].op == Op::kYield && region.body[0].operands.empty();
}

// One operand as the text has it: "%x", "other=%x" (prefix "other=").
struct TextOperand {
  std::string prefix;
  Reg reg = kNoReg;
  std::string immediate;  // instead of a register
};

class FunctionPrinter {
 public:
  FunctionPrinter(const Module& module, const std::vector<std::string>& labels, const Function& function, const Cell* cell,
                  std::string& out)
      : module_(module), labels_(labels), function_(function), cell_(cell), names_(RegisterNames(module, function)), uses_(UseCounts(function)), out_(out) {}

  void Run() {
    Header();
    const std::vector<Inst>& body = function_.body.body;
    bool implied_return = body.size() > 1 && body.back().op == Op::kReturn && body.back().operands.empty();
    Body(function_.body, 1, implied_return ? body.size() - 1 : body.size());
  }

 private:
  // --- header
  void Header() {
    switch (function_.kind) {
      case FunctionKind::kKernel:
        absl::StrAppend(&out_, "kernel ", function_.name == "kernel" ? "" : absl::StrCat(WordOrQuoted(function_.name), " "));
        break;
      case FunctionKind::kPlain: absl::StrAppend(&out_, "function ", WordOrQuoted(function_.name), " "); break;
      case FunctionKind::kCell: CellHeader(); return;
    }
    if (!function_.captures.empty()) absl::StrAppend(&out_, "[", Strings(function_.captures), "] ");
    absl::StrAppend(&out_, "(", Params(), ")\n");
  }

  void CellHeader() {
    absl::StrAppend(&out_, "cell");
    if (!function_.name.empty()) absl::StrAppend(&out_, " ", WordOrQuoted(function_.name));
    if (cell_ != nullptr && !cell_->defines.empty()) absl::StrAppend(&out_, " [", Strings(cell_->defines), "]");
    out_ += "\n";
  }

  std::string Strings(const std::vector<StringId>& ids) const {
    return absl::StrJoin(ids, ", ", [this](std::string* out, StringId id) { *out += StringText(module_, id); });
  }

  std::string Params() const {
    std::vector<std::string> parts;
    bool positional_open = false, keyword_marker = false;
    for (const Param& param : function_.params) {
      if (param.kind == ParamKind::kPositionalOnly) positional_open = true;
      if (positional_open && param.kind != ParamKind::kPositionalOnly) {
        parts.push_back("/");
        positional_open = false;
      }
      if (param.kind == ParamKind::kVarArgs) keyword_marker = true;
      if (param.kind == ParamKind::kKeywordOnly && !keyword_marker) {
        parts.push_back("*");
        keyword_marker = true;
      }
      parts.push_back(ParamText(param));
    }
    if (positional_open) parts.push_back("/");
    return absl::StrJoin(parts, ", ");
  }

  static std::string ParamText(const Param& param) {
    absl::string_view stars = param.kind == ParamKind::kVarArgs ? "*" : param.kind == ParamKind::kVarKeywords ? "**" : "";
    std::string text = absl::StrCat(stars, WordOrQuoted(param.name));
    if (param.is_constexpr) absl::StrAppend(&text, ": constexpr");
    if (!param.annotation.empty() && param.is_constexpr) {
      absl::StrAppend(&text, " ", QuoteString(param.annotation));
    } else if (!param.annotation.empty()) {
      absl::StrAppend(&text, ": ", AnnotationText(param.annotation));
    }
    if (param.has_default) absl::StrAppend(&text, " = _");
    return text;
  }

  // Types are bare, other source text is quoted.
  static std::string AnnotationText(absl::string_view annotation) {
    absl::string_view element = annotation;
    if (element.size() > 5 && element.substr(0, 4) == "ptr<" && element.back() == '>') element = element.substr(4, element.size() - 5);
    return DTypeFromName(element).has_value() ? std::string(annotation) : QuoteString(annotation);
  }

  // --- body
  void Body(const Region& region, int depth, size_t end) {
    std::vector<int> inlined = InlinedBefore(region);
    std::vector<bool> skip(region.body.size(), false);
    for (size_t i = 0; i < region.body.size(); ++i) {
      for (int k = 1; k <= inlined[i]; ++k) skip[i - k] = true;
    }
    for (size_t i = 0; i < end; ++i) {
      if (skip[i]) continue;
      bool bound = i + 1 < region.body.size() && IsFoldedBind(region.body[i], region.body[i + 1]);
      Statement(region.body[i], bound ? &region.body[i + 1] : nullptr, depth);
      if (bound) ++i;
    }
  }

  // "%x = add ...; %y = bind %x" with %x read nowhere else.
  bool IsFoldedBind(const Inst& inst, const Inst& next) const {
    if (inst.op == Op::kConst || inst.op == Op::kBind || inst.op == Op::kBindConst) return false;
    if (next.op != Op::kBind || inst.results.size() != 1 || next.operands.size() != 1 || next.results.size() != 1) {
      return false;
    }
    return next.operands[0] == inst.results[0] && UsesOf(inst.results[0]) == 1 && BindNameIsImplied(next);
  }

  bool BindNameIsImplied(const Inst& bind) const {
    return bind.imm < module_.strings.size() && bind.results.size() == 1 && bind.results[0] < names_.size() &&
           !names_[bind.results[0]].empty() && BaseName(names_[bind.results[0]]) == module_.strings[bind.imm];
  }

  // For each instruction, how many constants just before it are written as its operands.
  std::vector<int> InlinedBefore(const Region& region) const {
    std::vector<int> counts(region.body.size(), 0);
    for (size_t i = 0; i < region.body.size(); ++i) {
      const Inst& inst = region.body[i];
      if (inst.op == Op::kConst || inst.operands.empty()) continue;
      std::vector<TextOperand> operands = Operands(inst);
      size_t limit = operands.size();  // the next constant stands before this place
      while (static_cast<size_t>(counts[i]) < i) {
        const Inst& constant = region.body[i - 1 - counts[i]];
        if (constant.op != Op::kConst || constant.results.size() != 1 || UsesOf(constant.results[0]) != 1) break;
        while (limit > 0 && operands[limit - 1].reg != constant.results[0]) --limit;
        if (limit == 0) break;
        --limit;
        inlined_[constant.results[0]] = constant.imm;
        ++counts[i];
      }
    }
    return counts;
  }

  // --- one instruction
  void Statement(const Inst& inst, const Inst* bind, int depth) {
    out_.append(4 * depth, ' ');
    Results(inst, bind);
    absl::StrAppend(&out_, Mnemonic(inst.op));
    if (inst.op == Op::kFor) {
      ForHeader(inst);
    } else if (inst.op == Op::kWhile) {
      Carry(inst, 0, 0);
    } else {
      std::string separator = " ";
      for (const TextOperand& operand : Operands(inst)) {
        absl::StrAppend(&out_, separator, operand.prefix, operand.immediate.empty() ? OperandText(operand.reg) : operand.immediate);
        separator = ", ";
      }
      if (!inst.regions.empty() && !inst.regions[0].args.empty()) absl::StrAppend(&out_, " do ", Registers(inst.regions[0].args, 0));
    }
    out_ += "\n";
    Regions(inst, depth);
  }

  void Results(const Inst& inst, const Inst* bind) {
    if (bind != nullptr) {
      absl::StrAppend(&out_, "%", NameOf(bind->results[0]), " := ");
      return;
    }
    if (inst.results.empty()) return;
    const OpInfo& info = Info(inst.op);
    bool fixed = !info.results.empty() && !info.results.back().variadic && inst.results.size() == info.results.size();
    bool unused = std::all_of(inst.results.begin(), inst.results.end(), [this](Reg reg) { return UsesOf(reg) == 0; });
    if (fixed && unused && info.effect != Effect::kPure) return;
    absl::StrAppend(&out_, Registers(inst.results, 0), " = ");
  }

  void ForHeader(const Inst& inst) {
    bool whole = inst.regions.size() == 1 && !inst.regions[0].args.empty() && !inst.operands.empty();
    if (!whole) {
      out_ += " <bad for>";
      return;
    }
    absl::StrAppend(&out_, " %", NameOf(inst.regions[0].args[0]), " in ", OperandText(inst.operands[0]));
    Carry(inst, 1, 1);
  }

  // " carry(%a = %x, ...)"
  void Carry(const Inst& inst, size_t first_operand, size_t first_arg) {
    if (inst.operands.size() <= first_operand || inst.regions.empty()) return;
    std::vector<std::string> parts;
    for (size_t i = first_operand; i < inst.operands.size(); ++i) {
      size_t arg = i - first_operand + first_arg;
      std::string name = arg < inst.regions[0].args.size() ? NameOf(inst.regions[0].args[arg]) : std::string("<none>");
      parts.push_back(absl::StrCat("%", name, " = ", OperandText(inst.operands[i])));
    }
    absl::StrAppend(&out_, " carry(", absl::StrJoin(parts, ", "), ")");
  }

  void Regions(const Inst& inst, int depth) {
    if (IsPlainAssert(inst)) return;
    std::vector<absl::string_view> region_names;
    for (const OperandSpec& spec : Info(inst.op).operands) {
      if (spec.kind == OperandKind::kRegion) region_names.push_back(spec.name);
    }
    size_t count = std::min<size_t>(inst.regions.size(), OpenRegionCount(inst.op));
    for (size_t r = 0; r < count; ++r) {
      const Region& region = inst.regions[r];
      if (r > 0) {
        if (IsBareYield(region)) continue;
        out_.append(4 * depth, ' ');
        absl::StrAppend(&out_, region_names[r], region.args.empty() ? "" : " ", Registers(region.args, 0), "\n");
      }
      bool implied_yield = region.body.size() > 1 && region.body.back().op == Op::kYield && region.body.back().operands.empty();
      Body(region, depth + 1, implied_yield ? region.body.size() - 1 : region.body.size());
    }
  }

  // assert %c, whose message is None.
  bool IsPlainAssert(const Inst& inst) const {
    if (inst.op != Op::kAssert || inst.regions.size() != 1 || inst.regions[0].body.size() != 2 || !inst.regions[0].args.empty()) return false;
    const Inst& constant = inst.regions[0].body[0];
    const Inst& yield = inst.regions[0].body[1];
    return constant.op == Op::kConst && constant.imm < module_.constants.size() &&
           module_.constants[constant.imm].kind == Constant::Kind::kNone && yield.op == Op::kYield && yield.operands.size() == 1 &&
           constant.results.size() == 1 && yield.operands[0] == constant.results[0];
  }

  // --- operands, in the order of the text: positional ones in row order, then optional ones by name
  std::vector<TextOperand> Operands(const Inst& inst) const {
    std::vector<TextOperand> operands, named;
    if (inst.op == Op::kConst) {
      operands.push_back({"", kNoReg, ConstantText(inst.imm)});
      return operands;
    }
    const OpInfo& info = Info(inst.op);
    size_t fixed = info.register_operands.size() - (info.variadic ? 1 : 0);
    for (size_t i = 0; i < info.operands.size(); ++i) {
      const OperandSpec& spec = info.operands[i];
      if (spec.kind == OperandKind::kRegion) continue;
      if (spec.kind == OperandKind::kImmediate) {
        AddImmediate(inst, operands);
        continue;
      }
      size_t place = RegisterPlace(info, i);
      if (spec.variadic) {
        for (size_t k = fixed; k < inst.operands.size(); ++k) operands.push_back({KeywordPrefix(inst, k), inst.operands[k], ""});
      } else if (place < inst.operands.size()) {
        if (spec.optional && info.register_operands.size() > 1) {
          if (inst.operands[place] != kNoReg) named.push_back({absl::StrCat(spec.name, "="), inst.operands[place], ""});
        } else {
          operands.push_back({"", inst.operands[place], ""});
        }
      }
    }
    operands.insert(operands.end(), named.begin(), named.end());
    return operands;
  }

  static size_t RegisterPlace(const OpInfo& info, size_t operand) {
    auto found = std::find(info.register_operands.begin(), info.register_operands.end(), static_cast<int>(operand));
    return found - info.register_operands.begin();
  }

  std::string KeywordPrefix(const Inst& inst, size_t operand) const {
    size_t first = inst.operands.size() - std::min(inst.names.size(), inst.operands.size());
    return operand < first ? "" : absl::StrCat(StringText(module_, inst.names[operand - first]), "=");
  }

  void AddImmediate(const Inst& inst, std::vector<TextOperand>& operands) const {
    switch (ImmediateOf(inst.op)) {
      case ImmediateKind::kString:
        if ((inst.op == Op::kBind || inst.op == Op::kBindConst) && BindNameIsImplied(inst)) return;
        operands.push_back({"", kNoReg, StringText(module_, inst.imm)});
        return;
      case ImmediateKind::kFunction:
        operands.push_back({"", kNoReg, inst.imm < labels_.size() ? labels_[inst.imm] : absl::StrCat("<bad function ", inst.imm, ">")});
        return;
      case ImmediateKind::kCount:
        if (inst.imm != 0) operands.push_back({"", kNoReg, absl::StrCat(inst.imm)});
        return;
      case ImmediateKind::kConstant:
      case ImmediateKind::kNone: return;
    }
  }

  std::string ConstantText(ConstantId id) const {
    return id < module_.constants.size() ? FormatConstant(module_.constants[id]) : absl::StrCat("<bad constant ", id, ">");
  }

  std::string OperandText(Reg reg) const {
    if (auto found = inlined_.find(reg); found != inlined_.end()) return ConstantText(found->second);
    return absl::StrCat("%", NameOf(reg));
  }

  template <typename Regs>
  std::string Registers(const Regs& regs, size_t first) const {
    std::string text;
    for (size_t i = first; i < regs.size(); ++i) absl::StrAppend(&text, i == first ? "%" : ", %", NameOf(regs[i]));
    return text;
  }

  // Numbers the register if it is printed for the first time and has no name.
  std::string NameOf(Reg reg) const {
    if (reg >= names_.size()) return absl::StrCat("<bad register ", reg, ">");
    if (names_[reg].empty()) names_[reg] = absl::StrCat(numbered_++);
    return names_[reg];
  }
  int UsesOf(Reg reg) const { return reg < uses_.size() ? uses_[reg] : 0; }

  const Module& module_;
  const std::vector<std::string>& labels_;
  const Function& function_;
  const Cell* cell_;  // of a cell's function
  mutable std::vector<std::string> names_;
  mutable int numbered_ = 0;
  const std::vector<int> uses_;
  mutable std::unordered_map<Reg, ConstantId> inlined_;
  std::string& out_;
};

void PrintUnitHeaders(const Module& module, std::string& out) {
  for (size_t i = 0; i < module.units.size(); ++i) {
    const Unit& unit = module.units[i];
    if (module.units.size() > 1 || unit.name != "__main__") absl::StrAppend(&out, out.empty() ? "" : "\n", "unit ", QuoteString(unit.name), "\n");
    for (const Import& import : unit.imports) {
      std::string path = import.path < module.strings.size() ? module.strings[import.path] : std::string();
      absl::StrAppend(&out, "import ", StringText(module, import.name), " = ", IsDottedWords(path) ? path : QuoteString(path), "\n");
    }
  }
}

}  // namespace

std::string Print(const Module& module) {
  std::string out;
  PrintUnitHeaders(module, out);
  std::vector<std::string> labels = FunctionLabels(module);
  uint32_t current_unit = module.units.empty() ? 0 : static_cast<uint32_t>(module.units.size() - 1);
  std::vector<const Cell*> cells = CellsByFunction(module);
  for (size_t i = 0; i < module.functions.size(); ++i) {
    const Function& function = module.functions[i];
    if (!out.empty()) out += "\n";
    if (function.unit != current_unit && function.unit < module.units.size()) {
      absl::StrAppend(&out, "unit ", QuoteString(module.units[function.unit].name), "\n\n");
      current_unit = function.unit;
    }
    FunctionPrinter(module, labels, function, cells[i], out).Run();
  }
  return out;
}

std::string PrintFunction(const Module& module, uint32_t function_index) {
  std::string out;
  if (function_index >= module.functions.size()) return out;
  std::vector<std::string> labels = FunctionLabels(module);
  FunctionPrinter(module, labels, module.functions[function_index], CellsByFunction(module)[function_index], out).Run();
  return out;
}

}  // namespace tilevm::isa
