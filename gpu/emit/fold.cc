// Ops that apply a function of elements: reduce and scan by a named kind or a region, map_elementwise, inline assembly, random words.
//
// A region becomes a lambda over structs of one element of each operand (or over the elements themselves, for a single operand).
#include "gpu/emit/printer.h"
#include "isa/status.h"
#include "specializer/passes/rewriter.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace tilevm::gpu {

using isa::Op;

namespace {

const char* KindFunctor(absl::string_view kind) {
  static constexpr struct { absl::string_view kind; const char* functor; } kFunctors[] = {
      {"add", "AddOp"}, {"mul", "MulOp"}, {"max", "MaxOp"}, {"min", "MinOp"}, {"and", "AndOp"}, {"or", "OrOp"}, {"xor", "XorOp"}, {"argmax", "ArgMaxOp"},
      {"argmin", "ArgMinOp"}};
  for (const auto& row : kFunctors) {
    if (row.kind == kind) return row.functor;
  }
  return nullptr;
}

bool IsPureRegion(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    const isa::Effect effect = isa::Info(op.op).effect;
    if (effect != isa::Effect::kPure && effect != isa::Effect::kControl && effect != isa::Effect::kId && op.op != Op::kAssume) return false;
    for (const ir::Region& inner : op.regions) {
      if (!IsPureRegion(inner)) return false;
    }
  }
  return true;
}

}  // namespace

// "P3", a struct of one element of each value (the name of the element type for one value); *bytes is its size.
std::string Printer::ElementStruct(absl::Span<const ir::ValueId> values, int64_t* bytes) {
  if (values.size() == 1) {
    *bytes = isa::StorageBytes(TypeOf(values[0]).elem);
    return CudaType(TypeOf(values[0]).elem);
  }
  std::string text = "\n ";
  int64_t size = 0, most = 4;  // shuffles move whole words
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t width = isa::StorageBytes(TypeOf(values[i]).elem);
    absl::StrAppend(&text, " ", CudaType(TypeOf(values[i]).elem), " f", i, ";");
    size = (size + width - 1) / width * width + width;
    most = std::max(most, width);
  }
  *bytes = (size + most - 1) / most * most;
  const std::string name = Table(absl::StrCat(text, "\n"), 'P');
  return name;
}

// A lambda of `sides` groups of elements, each of the types of `values` and of struct `type`; it returns a struct of the type `returns`.
absl::StatusOr<std::string> Printer::PrintFunction(const ir::Op& op, const std::string& type, int sides, size_t count, const std::string& returns) {
  const ir::Region& region = op.regions[0];
  if (!IsPureRegion(region)) {
    return UnimplementedAt(op.loc, isa::Mnemonic(op.op), ": the CUDA engine takes a function of elements that touches no memory and prints nothing");
  }
  const int number = next_label_++;
  std::string params;
  for (int side = 0; side < sides; ++side) {
    const std::string param = absl::StrCat(side == 0 ? "x_of" : "y_of", number);
    absl::StrAppend(&params, side == 0 ? "" : ", ", type, " ", param);
    for (size_t i = 0; i < count; ++i) names_[region.args[side * count + i]] = count == 1 ? param : absl::StrCat(param, ".f", i);
  }
  const std::string name = absl::StrCat("function_", number);
  Line("auto ", name, " = [&](", params, ") {");
  ++depth_;
  const std::string outer = returns_;
  returns_ = returns;
  const absl::Status status = PrintRegion(region, &op);
  returns_ = outer;
  --depth_;
  TILEVM_RETURN_IF_ERROR(status);
  Line("};");
  return name;
}

// A tile of structs of the operands (the operand itself, for one).
std::string Printer::Packed(absl::Span<const ir::ValueId> values, const std::string& type) {
  if (values.size() == 1) return Name(values[0]);
  std::string args;
  for (ir::ValueId id : values) absl::StrAppend(&args, args.empty() ? "" : ", ", Name(id));
  return absl::StrCat("pack_as<", type, ", ", LayoutName(values[0]), ">(", args, ")");
}

// The results out of a tile (or, for scalars, out of one struct).
void Printer::Unpack(absl::Span<const ir::ValueId> results, const std::string& packed, const std::string& type, bool scalar) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (results.size() == 1) {
      Line("auto ", Name(results[i]), " = ", packed, ";");
    } else if (scalar) {
      Line("auto ", Name(results[i]), " = ", packed, ".f", i, ";");
    } else {
      Line("auto ", Name(results[i]), " = map<", CudaType(TypeOf(results[i]).elem), ", ", LayoutName(results[i]), ">([](", type, " p) { return p.f", i, "; }, ",
           packed, ");");
    }
  }
}

// Reductions that follow each other take turns between two areas: the barrier inside each orders the uses of the other area. True if nobody can be reading the
// area any more.
bool Printer::TakeReduceScratch(int64_t bytes, int64_t* offset) {
  constexpr int64_t kArea = 4096;
  const ScratchState before = scratch_state_;
  const bool second = bytes <= kArea && before == ScratchState::kFirstArea;
  *offset = UseShared(second ? kArea + bytes : bytes) + (second ? kArea : 0);
  if (bytes <= kArea) scratch_state_ = second ? ScratchState::kSecondArea : ScratchState::kFirstArea;
  return before == ScratchState::kUnused || (bytes <= kArea && before != ScratchState::kUnknown);
}

absl::Status Printer::PrintReduce(const ir::Op& op) {
  const char* functor = KindFunctor(op.StringAttr("kind"));
  const int axis = static_cast<int>(op.IntAttr("axis"));
  const layout::LinearLayout& from = LayoutOf(op.operands[0]);
  const layout::LinearLayout to = from.Sliced(axis);
  const size_t count = op.operands.size();
  const bool pair = functor != nullptr && count == 2;
  if (functor != nullptr && count > 2) return NotYet(op);
  for (ir::ValueId result : op.results) {
    if (IsTile(result) && LayoutOf(result) != to) {
      return absl::InternalError(absl::StrCat("emit: the result of reduce is not the slice of its operand: ", LayoutOf(result).ToString(), ", not ", to.ToString()));
    }
  }
  // Which register of the result each register goes to.
  int bit = 0;
  for (int a = static_cast<int>(from.shape().size()) - 1; a > axis; --a) bit += layout::Log2(from.shape()[a]);
  const int width = layout::Log2(from.shape()[axis]);
  std::vector<uint32_t> slot;  // of each bit of the register's number
  for (layout::Basis index : from.reg()) slot.push_back(to.PlaceOf((index & ((1u << bit) - 1)) | (index >> (bit + width) << bit)).reg);
  const std::string slots = absl::StrCat("\n  static TV_DEV constexpr int slot(int r) { return ", BitExpression("r", slot, false), "; }\n");
  const std::string made = absl::StrCat("reduced", next_label_++);
  int64_t bytes = isa::StorageBytes(TypeOf(op.operands[0]).elem);
  if (functor == nullptr) {
    const std::string type = ElementStruct(op.operands, &bytes);
    TILEVM_ASSIGN_OR_RETURN(const std::string function, PrintFunction(op, type, 2, count, count == 1 ? "" : type));
    const auto bits = from.AxisBits(axis);
    if (!bits.has_value()) return absl::InternalError("emit: reduce over a layout that mixes bits");
    const std::string work = absl::StrCat("work", next_label_++);
    Line("auto ", work, " = ", Packed(op.operands, type), ";");
    uint32_t done = 0;
    for (const auto& at : *bits) {
      if (at.warp != 0) UseShared(from.warp_count() * from.register_count() * 32 * bytes);
      Line("reduce_step<", at.reg, "u, ", at.lane, "u, ", at.warp, "u, ", done, "u>(", scratch_, ", ", work, ", ", function, ");");
      done |= at.reg;
    }
    const std::string table = Table(absl::StrCat(slots, "  static constexpr u32 done = ", done, ";\n"), 'R');
    Line("auto ", made, " = reduced_part<", LayoutName(to), ", ", table, ">(", work, ");");
    if (!IsTile(op.results[0])) {
      const std::string scalar = absl::StrCat("scalar", next_label_++);
      Line("auto ", scalar, " = scalar_of(", made, ");");
      Unpack(op.results, scalar, type, true);
    } else {
      Unpack(op.results, made, type, false);
    }
    return absl::OkStatus();
  }
  // Which bits run along the axis: those whose basis vanishes in the slice although it moved in the tile.
  auto reduced = [](const layout::Bases& wide, const layout::Bases& narrow) {
    uint32_t mask = 0;
    for (size_t i = 0; i < wide.size(); ++i) {
      if (wide[i] != 0 && narrow[i] == 0) mask |= 1u << i;
    }
    return mask;
  };
  const uint32_t warps = reduced(from.warp(), to.warp());
  const std::string table = Table(absl::StrCat(slots, "  static constexpr u32 lanes = ", partial_.count(op.results[0]) != 0 ? 0 : reduced(from.lane(), to.lane()), ", warps = ", warps,
                                               ", warp_count = ", from.warp_count(), ";\n"),
                                  'R');
  if (pair) bytes = std::max<int64_t>(8, bytes * 2);
  int64_t scratch = 0;
  const bool ordered = warps != 0 && !TakeReduceScratch(from.warp_count() * to.register_count() * 32 * bytes, &scratch);
  const ir::Op* widened = def_[op.operands[0]];
  const bool narrow = !pair && (op.StringAttr("kind") == "max" || op.StringAttr("kind") == "min") && to.register_count() == 1 && from.register_count() > 1 &&
                      widened != nullptr && widened->op == Op::kCast && IsLoadedNarrow(widened->operands[0]);
  const std::string input = pair ? absl::StrCat("pack(", Name(op.operands[0]), ", ", Name(op.operands[1]), ")") : Name(narrow ? widened->operands[0] : op.operands[0]);
  Line("auto ", made, " = reduce", narrow ? "_narrow" : "", "<", LayoutName(to), ", ", table, ", ", ordered ? "true" : "false", ">(", scratch, ", ", input, ", ", functor, "{});");
  for (size_t i = 0; i < op.results.size(); ++i) {
    std::string part = pair ? absl::StrCat(i == 0 ? "first_of(" : "second_of(", made, ")") : made;
    if (!IsTile(op.results[i])) part = absl::StrCat("scalar_of(", part, ")");
    Line("auto ", Name(op.results[i]), " = ", part, ";");
  }
  return absl::OkStatus();
}

absl::Status Printer::PrintScan(const ir::Op& op) {
  const layout::LinearLayout& layout = LayoutOf(op.operands[0]);
  const auto bits = layout.AxisBits(static_cast<int>(op.IntAttr("axis")));
  if (!bits.has_value()) return absl::InternalError("emit: scan over a layout that mixes bits");
  const bool reverse = op.BoolAttr("reverse");
  int64_t bytes = 0;
  const std::string type = ElementStruct(op.operands, &bytes);
  std::string function;
  if (const char* functor = KindFunctor(op.StringAttr("kind"))) {
    if (op.operands.size() != 1) return NotYet(op);
    function = absl::StrCat(functor, "{}");
  } else {
    const size_t count = op.operands.size();
    TILEVM_ASSIGN_OR_RETURN(function, PrintFunction(op, type, 2, count, count == 1 ? "" : type));
  }
  const std::string work = absl::StrCat("work", next_label_++);
  Line("auto ", work, " = ", Packed(op.operands, type), ";");
  layout::LinearLayout::PlaceBit below;
  for (const auto& at : *bits) {
    // The last of the lower half: the bit off, the lower ones on. Mirrored: the bit on, the lower ones off.
    const auto on = reverse ? at : below, off = reverse ? below : at;
    if ((at.warp | below.warp) != 0) UseShared(layout.warp_count() * layout.register_count() * 32 * bytes);
    const std::string table = Table(
        absl::StrCat("\n  static constexpr u32 reg_on = ", on.reg, ", reg_off = ", off.reg, ", lane_on = ", on.lane, ", lane_off = ", off.lane, ", warp_on = ",
                     on.warp, ", warp_off = ", off.warp, ";\n  static constexpr u32 reg = ", at.reg, ", lane = ", at.lane, ", warp = ", at.warp,
                     ";\n  static constexpr bool reverse = ", reverse ? "true" : "false", ";\n"),
        'T');
    Line("scan_step<", table, ">(", scratch_, ", ", work, ", ", function, ");");
    below.reg |= at.reg;
    below.lane |= at.lane;
    below.warp |= at.warp;
  }
  Unpack(op.results, work, type, false);
  return absl::OkStatus();
}

absl::Status Printer::PrintMap(const ir::Op& op) {
  const bool tile = IsTile(op.results[0]);
  int64_t bytes = 0;
  const std::string type = ElementStruct(op.operands, &bytes), returns = ElementStruct(op.results, &bytes);
  TILEVM_ASSIGN_OR_RETURN(const std::string function, PrintFunction(op, type, 1, op.operands.size(), op.results.size() == 1 ? "" : returns));
  const std::string made = absl::StrCat("mapped", next_label_++);
  if (tile) {
    Line("auto ", made, " = map<", returns, ", ", LayoutName(op.results[0]), ">(", function, ", ", Packed(op.operands, type), ");");
  } else if (op.operands.size() == 1) {
    Line("auto ", made, " = ", function, "(", Name(op.operands[0]), ");");
  } else {
    std::string args;
    for (ir::ValueId id : op.operands) absl::StrAppend(&args, args.empty() ? "" : ", ", Name(id));
    Line("auto ", made, " = ", function, "(", type, "{", args, "});");
  }
  Unpack(op.results, made, returns, !tile);
  return absl::OkStatus();
}

absl::Status Printer::PrintPhilox(const ir::Op& op) {
  const ir::ValueId result = op.results[0];
  const std::string elem = CudaType(TypeOf(result).elem), word = isa::BitWidth(TypeOf(result).elem.dtype) == 64 ? "u64" : "u32";
  const std::string counter = CudaType(TypeOf(op.operands[1]).elem), seed = CudaType(TypeOf(op.operands[0]).elem);
  const std::string call = absl::StrCat("philox_words<", word, ", ", op.IntAttr("n_rounds", 10), ", ", elem, ">");
  std::string args;
  for (ir::ValueId id : op.operands) absl::StrAppend(&args, args.empty() ? "" : ", ", Name(id));
  const std::string made = absl::StrCat("words", next_label_++);
  if (!IsTile(result)) {
    Line("auto ", made, " = ", call, "(", args, ");");
  } else {
    Line("auto ", made, " = map<Words<", elem, ">, ", LayoutName(result), ">([](", seed, " s, ", counter, " a, ", counter, " b, ", counter, " c, ", counter,
         " d) { return ", call, "(s, a, b, c, d); }, ", args, ");");
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (uses_[op.results[i]].empty()) continue;
    if (!IsTile(result)) {
      Line("auto ", Name(op.results[i]), " = ", made, ".word[", i, "];");
    } else {
      Line("auto ", Name(op.results[i]), " = map<", elem, ", ", LayoutName(result), ">([](Words<", elem, "> w) { return w.word[", i, "]; }, ", made, ");");
    }
  }
  return absl::OkStatus();
}

namespace {

// Triton's operand marks as those of CUDA: $0 -> %0, $$ -> $, and % is doubled.
std::string AsmText(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      out += "%%";
    } else if (c == '$' && i + 1 < text.size() && text[i + 1] == '$') {
      out += '$';
      ++i;
    } else if (c == '$') {
      out += '%';
      if (i + 1 < text.size() && text[i + 1] == '{') {  // ${0} or ${0:mod}
        for (i += 2; i < text.size() && text[i] != '}' && text[i] != ':'; ++i) out += text[i];
        while (i < text.size() && text[i] != '}') ++i;
      }
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

struct AsmRegister {
  char constraint;
  const char* type;
  int bits;
};
std::optional<AsmRegister> RegisterOf(absl::string_view constraint) {
  static constexpr AsmRegister kRegisters[] = {{'h', "u16", 16}, {'r', "u32", 32}, {'l', "u64", 64}, {'f', "f32", 32}, {'d', "f64", 64}};
  for (const AsmRegister& row : kRegisters) {
    if (constraint.size() == 1 && constraint[0] == row.constraint) return row;
  }
  return std::nullopt;
}

}  // namespace

// A lambda over `pack` elements of each operand: they lie side by side in as many registers as the constraints name.
absl::Status Printer::PrintInlineAsm(const ir::Op& op) {
  const int64_t pack = op.IntAttr("pack", 1);
  std::vector<absl::string_view> outs, ins;
  const std::string constraints(op.StringAttr("constraints"));
  for (absl::string_view part : absl::StrSplit(constraints, ',', absl::SkipWhitespace())) {
    part = absl::StripAsciiWhitespace(part);
    if (absl::ConsumePrefix(&part, "=")) {
      absl::ConsumePrefix(&part, "&");
      outs.push_back(part);
    } else {
      ins.push_back(part);
    }
  }
  const int number = next_label_++;
  const std::string name = absl::StrCat("asm_", number), early = absl::StrContains(constraints, "&") ? "=&" : "=";
  std::string params, declarations, out_list, in_list, back;
  size_t next_out = 0, next_in = 0;
  // Registers for the elements of one value, by the constraints from *next on.
  auto registers = [&](ir::ValueId id, const std::vector<absl::string_view>& list, size_t* next, bool is_out) -> absl::Status {
    const int bits = std::max<int>(8, isa::StorageBytes(TypeOf(id).elem) * 8);
    const std::string variable = absl::StrCat(is_out ? "o" : "i", *next);
    if (*next >= list.size()) return InvalidAt(op.loc, "inline_asm_elementwise: fewer constraints than operands");
    const auto first = RegisterOf(list[*next]);
    if (!first.has_value()) return UnimplementedAt(op.loc, "inline_asm_elementwise: constraint \"", list[*next], "\"; known are h, r, l, f and d");
    const int64_t words = std::max<int64_t>(1, pack * bits / first->bits);
    absl::StrAppend(&declarations, first->type, " ", variable, "[", words, "] = {}; ");
    if (!is_out) absl::StrAppend(&declarations, "memcpy(", variable, ", x", *next, ", sizeof(*x", *next, ") * ", pack, "); ");
    if (is_out) absl::StrAppend(&back, "memcpy(y", *next, ", ", variable, ", sizeof(*y", *next, ") * ", pack, "); ");
    absl::StrAppend(&params, params.empty() ? "" : ", ", is_out ? "" : "const ", CudaType(TypeOf(id).elem), "* ", is_out ? "y" : "x", *next);
    for (int64_t w = 0; w < words; ++w, ++*next) {
      if (*next >= list.size()) return InvalidAt(op.loc, "inline_asm_elementwise: fewer constraints than registers");
      std::string& into = is_out ? out_list : in_list;
      absl::StrAppend(&into, into.empty() ? "" : ", ", "\"", is_out ? early : "", list[*next], "\"(", variable, "[", w, "])");
    }
    return absl::OkStatus();
  };
  std::string outputs, inputs, types;
  for (ir::ValueId id : op.results) {
    absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", IsTile(id) ? absl::StrCat(Name(id), ".v + r") : absl::StrCat("&", Name(id)));
    TILEVM_RETURN_IF_ERROR(registers(id, outs, &next_out, true));
  }
  for (ir::ValueId id : op.operands) {
    absl::StrAppend(&inputs, ", ", IsTile(id) ? absl::StrCat(Name(id), ".v + r") : absl::StrCat("&", Name(id)));
    TILEVM_RETURN_IF_ERROR(registers(id, ins, &next_in, false));
  }
  if (next_out != outs.size() || next_in != ins.size()) return InvalidAt(op.loc, "inline_asm_elementwise: ", constraints, ": more constraints than operands");
  Line("auto ", name, " = [&](", params, ") { ", declarations, "asm volatile(\"", AsmText(op.StringAttr("asm")), "\" : ", out_list, " : ", in_list, "); ", back, "};");
  for (ir::ValueId id : op.results) Line(Declared(id), ";");
  if (!IsTile(op.results[0])) {
    if (pack != 1) return UnimplementedAt(op.loc, "inline_asm_elementwise: pack is ", pack, " and the operands are scalars");
    Line(name, "(", outputs, inputs, ");");
    return absl::OkStatus();
  }
  if (LayoutOf(op.results[0]).register_count() % pack != 0) {
    return UnimplementedAt(op.loc, "inline_asm_elementwise: pack is ", pack, " and a thread holds ", LayoutOf(op.results[0]).register_count(), " elements");
  }
  Line("#pragma unroll");
  Line("for (int r = 0; r < ", LayoutName(op.results[0]), "::regs; r += ", pack, ") ", name, "(", outputs, inputs, ");");
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
