// A plan as text, for `tilevm inspect --stage plan`: one instruction a line, registers by number; `>` marks the target of a jump.
//
//   plan add_kernel: 14 instructions, 6 registers, 20544 bytes a program
//       params: x_ptr = r0, y_ptr = r1, n = r2
//       0  r3: i32 = program_id {axis = 0}
//       ...
//      11  store r4, r7, r5
//      12  end
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "vm/interp/compile.h"

namespace tilevm::vm {
namespace {

std::string RegisterText(const Operand& operand) { return operand.present() ? absl::StrCat("r", operand.reg) : "_"; }

std::string TypeText(const TypeInfo& type) {
  const std::string elem = isa::ToString(type.elem);
  if (type.rank == 0) return elem;
  return absl::StrCat("tile<", absl::StrJoin(type.shape, type.shape + type.rank, "x"), "x", elem, ">");
}

std::string AttributeText(const ir::Attr& attr) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return absl::StrCat(i); }
    std::string operator()(double d) const { return absl::StrFormat("%.17g", d); }
    std::string operator()(const std::string& s) const { return absl::StrCat("\"", s, "\""); }
    std::string operator()(const std::vector<int64_t>& list) const { return absl::StrCat("[", absl::StrJoin(list, ", "), "]"); }
    std::string operator()(isa::DType dtype) const { return std::string(isa::Name(dtype)); }
  };
  return std::visit(Visitor(), attr);
}

std::string MovesText(const std::vector<MoveStep>& moves) {
  if (moves.empty()) return "nothing";
  std::vector<std::string> parts;
  for (const MoveStep& step : moves) parts.push_back(absl::StrCat("r", step.dst, step.swap ? " <-> r" : " <- r", step.src));
  return absl::StrJoin(parts, ", ");
}

// What the instructions of the compiler itself do; "" for one that an op of the IR became.
std::string ControlText(const Inst& inst) {
  const auto list = [](absl::Span<const Operand> operands) {
    return absl::StrJoin(operands, ", ", [](std::string* out, const Operand& operand) { out->append(RegisterText(operand)); });
  };
  if (inst.fn == RunJump) return absl::StrCat("jump ", inst.target);
  if (inst.fn == RunBranchIfFalse) return absl::StrCat("branch_if_false ", list(inst.in), " to ", inst.target);
  if (inst.fn == RunMoves) return absl::StrCat("move ", inst.moves == nullptr ? "nothing" : MovesText(*inst.moves));
  if (inst.fn == RunForInit) return absl::StrCat("for_begin loop ", inst.imm[0], ": ", list(inst.in));
  if (inst.fn == RunForTest) return absl::StrCat("for_next loop ", inst.imm[0], ": ", list(inst.out), " or to ", inst.target);
  if (inst.fn == RunLoopEnter) return absl::StrCat("loop_may_wait loop ", inst.imm[0]);
  if (inst.fn == RunBackEdge) return absl::StrCat("give_way loop ", inst.imm[0], " if (", list(inst.in), ") is (", list(inst.out), ")");
  if (inst.fn == RunEnd) return "end";
  return "";
}

std::string InstructionText(const Inst& inst) {
  std::string text = ControlText(inst);
  if (!text.empty()) return text;
  for (size_t i = 0; i < inst.out.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", RegisterText(inst.out[i]), ": ", inst.out[i].type == nullptr ? "?" : TypeText(*inst.out[i].type));
  }
  absl::StrAppend(&text, inst.out.empty() ? "" : " = ", isa::Mnemonic(inst.op));
  for (size_t i = 0; i < inst.in.size(); ++i) absl::StrAppend(&text, i > 0 ? ", " : " ", RegisterText(inst.in[i]));
  if (inst.source != nullptr && !inst.source->attrs.empty()) {
    absl::StrAppend(&text, " {", absl::StrJoin(inst.source->attrs, ", ", [](std::string* out, const ir::NamedAttr& attr) {
                      absl::StrAppend(out, attr.name, " = ", AttributeText(attr.value));
                    }), "}");
  }
  if (inst.sub != nullptr)
    absl::StrAppend(&text, " combining by ", inst.sub->begin, "..", inst.sub->end, ", ", inst.sub->lanes, inst.sub->lanes == 1 ? " lane" : " lanes",
                    " at once");
  return text;
}

}  // namespace

std::string Print(const Plan& plan) {
  std::string out = absl::StrCat("plan ", plan.name, ": ", plan.code.size(), " instructions, ", plan.registers.size(), " registers, ",
                                 plan.arena_bytes + plan.scratch_bytes, " bytes a program", plan.may_wait ? ", programs may wait" : "",
                                 plan.prints ? ", one thread (prints)" : "", "\n");
  std::vector<std::string> params;
  for (size_t i = 0; i < plan.params.size(); ++i) {
    params.push_back(
        absl::StrCat(i < plan.param_names.size() ? plan.param_names[i] : "?", ": ", TypeText(*plan.params[i].type), " = ", RegisterText(plan.params[i])));
  }
  absl::StrAppend(&out, "    params: ", params.empty() ? "none" : absl::StrJoin(params, ", "), "\n");
  std::vector<std::string> sizes;
  for (size_t i = 0; i < plan.registers.size(); ++i) {
    if (plan.registers[i].capacity > 64) sizes.push_back(absl::StrCat("r", i, " ", plan.registers[i].capacity));
  }
  if (!sizes.empty()) absl::StrAppend(&out, "    bytes beyond 64: ", absl::StrJoin(sizes, ", "), "\n");
  std::vector<bool> target(plan.code.size() + 1);
  for (const Inst& inst : plan.code) {
    if (inst.fn == RunJump || inst.fn == RunBranchIfFalse || inst.fn == RunForTest) target[std::min<size_t>(inst.target, plan.code.size())] = true;
  }
  for (size_t i = 0; i < plan.code.size(); ++i) absl::StrAppendFormat(&out, "%c%5d  %s\n", target[i] ? '>' : ' ', i, InstructionText(plan.code[i]));
  return out;
}

}  // namespace tilevm::vm
