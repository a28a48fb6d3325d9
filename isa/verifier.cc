// The verifier; see verifier.h. Regions are walked by recursion, limited to kMaxNesting before it descends.
#include "isa/verifier.h"

#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "isa/literal.h"

namespace tilevm::isa {
namespace {

// What a terminator may do where it stands.
struct Context {
  bool may_return = true;
  bool in_loop = false;
  size_t carried = 0;       // of the innermost loop
  bool is_function_body = false;
  size_t yield_count = 0;   // of the region
};

// Regions that hold statements: return, break and continue leave through them. The others are expressions.
bool HoldsStatements(Op op, int region) {
  return op == Op::kFor || op == Op::kIf || op == Op::kTry || op == Op::kWith || (op == Op::kWhile && region == 1);
}

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const Function& function) : module_(module), function_(function) {}

  absl::Status Run() {
    TILEVM_RETURN_IF_ERROR(Header());
    if (function_.reg_count > kMaxRegisters) return Error(function_.loc, "more than ", kMaxRegisters, " registers");
    Context context;
    context.is_function_body = true;
    TILEVM_RETURN_IF_ERROR(Body(function_.body, function_.captures.size() + function_.params.size(), context));
    if (next_ != function_.reg_count) {
      return Error(function_.loc, "reg_count is ", function_.reg_count, ", but ", next_, " registers are defined");
    }
    return absl::OkStatus();
  }

 private:
  template <typename... Parts>
  absl::Status Error(Loc loc, const Parts&... parts) const {
    return InvalidAt(loc, "malformed program: function ", function_.name.empty() ? "(cell)" : function_.name, ": ", parts...);
  }

  absl::Status Header() const {
    if (function_.unit >= module_.units.size()) return Error(function_.loc, "unit ", function_.unit, " does not exist");
    if (function_.kind > FunctionKind::kCell) return Error(function_.loc, "unknown kind of function");
    if (function_.captures.size() + function_.params.size() > kMaxParams) return Error(function_.loc, "more than ", kMaxParams, " parameters");
    bool plain = function_.kind == FunctionKind::kPlain;
    if (!plain && !function_.captures.empty()) return Error(function_.loc, "a kernel or cell captures nothing");
    if (function_.kind == FunctionKind::kCell && !function_.params.empty()) return Error(function_.loc, "a cell has no parameters");
    std::unordered_set<std::string> names;
    for (StringId capture : function_.captures) {
      if (capture >= module_.strings.size()) return Error(function_.loc, "bad string ", capture);
      if (!IsWord(module_.strings[capture])) return Error(function_.loc, "the capture ", QuoteString(module_.strings[capture]), " is no name");
      if (!names.insert(module_.strings[capture]).second) return Error(function_.loc, "two captures named ", module_.strings[capture]);
    }
    int stage = 0;
    for (const Param& param : function_.params) {
      if (!IsWord(param.name)) return Error(param.loc, "the parameter ", QuoteString(param.name), " is no name");
      if (!names.insert(param.name).second) return Error(param.loc, "two parameters named ", param.name);
      if (!plain && param.has_default) return Error(param.loc, "a kernel's parameter has no default");
      int place = 0;
      switch (param.kind) {
        case ParamKind::kPositionalOnly: place = 0; break;
        case ParamKind::kPlain: place = 1; break;
        case ParamKind::kVarArgs: place = 2; break;
        case ParamKind::kKeywordOnly: place = 3; break;
        case ParamKind::kVarKeywords: place = 4; break;
        default: return Error(param.loc, "unknown kind of parameter");
      }
      bool repeated = place == stage && (param.kind == ParamKind::kVarArgs || param.kind == ParamKind::kVarKeywords);
      if (place < stage || repeated) return Error(param.loc, "parameter ", param.name, " is out of order");
      stage = place;
    }
    return absl::OkStatus();
  }

  absl::Status Define(Reg reg, Loc loc) {
    if (reg != next_) return Error(loc, "register ", reg, " is defined where ", next_, " is next");
    if (next_ >= kMaxRegisters) return Error(loc, "more than ", kMaxRegisters, " registers");
    ++next_;
    visible_.push_back(true);
    return absl::OkStatus();
  }

  absl::Status Body(const Region& region, size_t arg_count, const Context& context) {
    Loc loc = region.body.empty() ? function_.loc : region.body[0].loc;
    if (++depth_ > kMaxNesting) return Error(loc, "regions are nested more than ", kMaxNesting, " deep");
    if (region.args.size() != arg_count) return Error(loc, "a region has ", region.args.size(), " arguments, expected are ", arg_count);
    size_t first = next_;
    for (Reg reg : region.args) TILEVM_RETURN_IF_ERROR(Define(reg, loc));
    if (region.body.empty()) return Error(loc, "an empty region");
    for (size_t i = 0; i < region.body.size(); ++i) {
      const Inst& inst = region.body[i];
      TILEVM_RETURN_IF_ERROR(Instruction(inst, context));
      bool is_last = i + 1 == region.body.size();
      if (IsTerminator(inst.op) != is_last) {
        return Error(inst.loc, is_last ? "a region must end in a terminator, not " : "a terminator inside a region: ", Mnemonic(inst.op));
      }
    }
    for (size_t reg = first; reg < visible_.size(); ++reg) visible_[reg] = false;
    --depth_;
    return absl::OkStatus();
  }

  absl::Status Instruction(const Inst& inst, const Context& context) {
    if (!OpFromCode(static_cast<uint16_t>(inst.op)).has_value()) return Error(inst.loc, "unknown op ", static_cast<int>(inst.op));
    const OpInfo& info = Info(inst.op);
    if (info.level == Level::kTyped || info.level == Level::kMachine) return Error(inst.loc, info.mnemonic, " is no op of open bytecode");
    TILEVM_RETURN_IF_ERROR(Operands(inst, info));
    TILEVM_RETURN_IF_ERROR(Immediate(inst, info));
    TILEVM_RETURN_IF_ERROR(Names(inst, info));
    TILEVM_RETURN_IF_ERROR(Terminator(inst, context));
    TILEVM_RETURN_IF_ERROR(Regions(inst, info, context));
    bool variadic = !info.results.empty() && info.results.back().variadic;
    if (variadic ? inst.results.size() > kMaxResults : inst.results.size() != info.results.size()) {
      return Error(inst.loc, info.mnemonic, " has ", inst.results.size(), " results");
    }
    if (inst.op == Op::kUnpack && inst.imm > inst.results.size()) return Error(inst.loc, "unpack: the starred target is not a result");
    bool is_loop = inst.op == Op::kFor || inst.op == Op::kWhile;
    if (is_loop && inst.results.size() != inst.operands.size() - (inst.op == Op::kFor ? 1 : 0)) {
      return Error(inst.loc, info.mnemonic, " has as many results as carried values");
    }
    for (Reg reg : inst.results) TILEVM_RETURN_IF_ERROR(Define(reg, inst.loc));
    return absl::OkStatus();
  }

  absl::Status Operands(const Inst& inst, const OpInfo& info) const {
    size_t given = inst.operands.size();
    if (given < static_cast<size_t>(info.min_registers) || (!info.variadic && given > info.register_operands.size())) {
      return Error(inst.loc, info.mnemonic, ": ", given, " operands; signature ", info.signature);
    }
    size_t fixed = info.register_operands.size() - (info.variadic ? 1 : 0);
    for (size_t i = 0; i < given; ++i) {
      Reg reg = inst.operands[i];
      bool optional = i < fixed && info.operands[info.register_operands[i]].optional;
      if (reg == kNoReg) {
        if (!optional || i + 1 == given) return Error(inst.loc, info.mnemonic, ": operand ", i, " is absent");
        continue;
      }
      if (reg >= next_) return Error(inst.loc, info.mnemonic, ": register ", reg, " is read before it is defined");
      if (!visible_[reg]) return Error(inst.loc, info.mnemonic, ": register ", reg, " of an inner region is read outside of it");
    }
    return absl::OkStatus();
  }

  absl::Status Immediate(const Inst& inst, const OpInfo& info) const {
    switch (ImmediateOf(inst.op)) {
      case ImmediateKind::kNone:
        if (inst.imm != 0) return Error(inst.loc, info.mnemonic, " has no immediate");
        break;
      case ImmediateKind::kConstant:
        if (inst.imm >= module_.constants.size()) return Error(inst.loc, "bad constant ", inst.imm);
        break;
      case ImmediateKind::kString:
        if (inst.imm >= module_.strings.size()) return Error(inst.loc, "bad string ", inst.imm);
        break;
      case ImmediateKind::kFunction: return MadeFunction(inst);
      case ImmediateKind::kCount:
        if (inst.op == Op::kCollect && inst.imm > 3) return Error(inst.loc, "collect: unknown kind ", inst.imm);
        break;
    }
    return absl::OkStatus();
  }

  absl::Status MadeFunction(const Inst& inst) const {
    if (inst.imm >= module_.functions.size()) return Error(inst.loc, "bad function ", inst.imm);
    const Function& made = module_.functions[inst.imm];
    if (made.kind == FunctionKind::kCell) return Error(inst.loc, "make_function of a cell");
    size_t wanted = made.captures.size();
    for (const Param& param : made.params) wanted += param.has_default ? 1 : 0;
    if (inst.operands.size() != wanted) {
      return Error(inst.loc, "make_function ", made.name, ": ", inst.operands.size(), " operands, but it has ", wanted, " defaults and captures");
    }
    return absl::OkStatus();
  }

  absl::Status Names(const Inst& inst, const OpInfo& info) const {
    if (inst.names.empty()) return absl::OkStatus();
    bool allowed = inst.op == Op::kCall || inst.op == Op::kCallMethod || inst.op == Op::kMakeClass;
    if (!allowed || inst.names.size() + static_cast<size_t>(info.min_registers) > inst.operands.size()) {
      return Error(inst.loc, info.mnemonic, " has more keywords than operands");
    }
    for (StringId name : inst.names) {
      if (name >= module_.strings.size()) return Error(inst.loc, "bad string ", name);
      if (module_.strings[name].empty()) return Error(inst.loc, info.mnemonic, ": a keyword without a name");
    }
    return absl::OkStatus();
  }

  absl::Status Terminator(const Inst& inst, const Context& context) const {
    switch (inst.op) {
      case Op::kYield:
        if (context.is_function_body) return Error(inst.loc, "yield ends no function; return does");
        if (inst.operands.size() != context.yield_count) {
          return Error(inst.loc, "yield gives ", inst.operands.size(), " values, expected are ", context.yield_count);
        }
        break;
      case Op::kReturn:
        if (!context.may_return) return Error(inst.loc, "return inside an expression");
        break;
      case Op::kBreak:
      case Op::kContinue:
        if (!context.in_loop) return Error(inst.loc, Mnemonic(inst.op), " outside a loop");
        if (inst.operands.size() != context.carried) {
          return Error(inst.loc, Mnemonic(inst.op), " gives ", inst.operands.size(), " values, the loop carries ", context.carried);
        }
        break;
      default: break;
    }
    return absl::OkStatus();
  }

  absl::Status Regions(const Inst& inst, const OpInfo& info, const Context& context) {
    size_t count = OpenRegionCount(inst.op);
    if (inst.regions.size() != count) {
      if (count != 0 || info.region_count == 0) return Error(inst.loc, info.mnemonic, " has ", inst.regions.size(), " regions");
      for (const Region& region : inst.regions) {
        if (!region.body.empty() || !region.args.empty()) return Error(inst.loc, info.mnemonic, " has no region in open bytecode");
      }
      return absl::OkStatus();
    }
    for (size_t r = 0; r < count; ++r) {
      Context inner;
      bool statements = HoldsStatements(inst.op, static_cast<int>(r));
      inner.may_return = statements && context.may_return;
      inner.in_loop = statements && context.in_loop;
      inner.carried = context.carried;
      inner.yield_count = OpenYieldCount(inst.op, static_cast<int>(r), inst.results.size());
      if (inst.op == Op::kFor || (inst.op == Op::kWhile && r == 1)) {
        inner.in_loop = true;
        inner.carried = inst.results.size();
      }
      TILEVM_RETURN_IF_ERROR(Body(inst.regions[r], OpenRegionArgCount(inst.op, static_cast<int>(r), inst.operands.size()), inner));
    }
    return absl::OkStatus();
  }

  const Module& module_;
  const Function& function_;
  uint32_t next_ = 0;
  std::vector<bool> visible_;
  int depth_ = 0;
};

absl::Status VerifyPools(const Module& module) {
  for (size_t i = 0; i < module.constants.size(); ++i) {
    const Constant& constant = module.constants[i];
    bool good = constant.kind <= Constant::Kind::kBuiltin;
    if (constant.kind == Constant::Kind::kDType) good = DTypeFromCode(static_cast<uint8_t>(constant.dtype)).has_value();
    if (constant.kind == Constant::Kind::kBool) good = constant.int_value == 0 || constant.int_value == 1;
    if (!good) return absl::InvalidArgumentError(absl::StrCat("malformed program: constant ", i, " is of no known kind"));
  }
  return absl::OkStatus();
}

// Cells run in the order of their functions, so that the text of a program needs no other order.
absl::Status VerifyUnits(const Module& module) {
  auto error = [](const auto&... parts) { return absl::InvalidArgumentError(absl::StrCat("malformed program: ", parts...)); };
  if (module.units.empty() || module.units.size() > kMaxUnits) return error(module.units.size(), " units; expected are 1 to ", kMaxUnits);
  std::unordered_set<std::string> names;
  size_t cell_count = 0;
  for (size_t u = 0; u < module.units.size(); ++u) {
    const Unit& unit = module.units[u];
    if (!names.insert(unit.name).second) return error("two units are named ", unit.name);
    for (const Import& import : unit.imports) {
      if (import.name >= module.strings.size() || import.path >= module.strings.size()) return error("unit ", unit.name, ": bad import");
    }
    int64_t last = -1;
    for (const Cell& cell : unit.cells) {
      bool good = cell.function < module.functions.size() && module.functions[cell.function].kind == FunctionKind::kCell &&
                  module.functions[cell.function].unit == u && static_cast<int64_t>(cell.function) > last;
      if (!good) return error("unit ", unit.name, ": function ", cell.function, " is no cell of it, or out of order");
      last = cell.function;
      for (StringId name : cell.defines) {
        if (name >= module.strings.size()) return error("unit ", unit.name, ": bad string ", name);
      }
    }
    cell_count += unit.cells.size();
  }
  for (const Function& function : module.functions) cell_count -= function.kind == FunctionKind::kCell ? 1 : 0;
  if (cell_count != 0) return error("a cell's function is in no unit");
  return absl::OkStatus();
}

}  // namespace

size_t OpenRegionArgCount(Op op, int region, size_t operand_count) {
  switch (op) {
    case Op::kFor:
    case Op::kWhile: return operand_count;  // for: the item stands in place of the iterable
    case Op::kCollect:
    case Op::kWith: return 1;
    case Op::kTry: return region == 1 ? 1 : 0;
    default: return 0;
  }
}

size_t OpenYieldCount(Op op, int region, size_t result_count) {
  switch (op) {
    case Op::kWhile: return result_count + (region == 0 ? 1 : 0);
    case Op::kCollect:
    case Op::kAssert: return 1;
    case Op::kTry: return region >= 2 ? 0 : result_count;  // else and finally give nothing: what they follow does
    default: return result_count;
  }
}

absl::Status VerifyModule(const Module& module) {
  TILEVM_RETURN_IF_ERROR(VerifyPools(module));
  TILEVM_RETURN_IF_ERROR(VerifyUnits(module));
  for (const Function& function : module.functions) TILEVM_RETURN_IF_ERROR(FunctionVerifier(module, function).Run());
  return absl::OkStatus();
}

}  // namespace tilevm::isa
