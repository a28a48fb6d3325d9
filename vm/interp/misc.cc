// Program ids, random numbers, prints, asserts, map_elementwise, and the ops that this engine does not have.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

using isa::DType;
using isa::Op;
using isa::Scalar;

void RunProgramId(Frame& frame, const Inst& inst) {
  const bool id = inst.op == Op::kProgramId;
  Register& out = frame.reg(inst.out[0]);
  out.form = Form::kDense;
  out.shadowed = false;
  const int64_t axis = inst.imm[0];
  const int64_t value = id ? frame.program[axis] : frame.run->options->grid[axis];
  WriteBits(out.data, inst.out[0].type->elem_bytes, 0, static_cast<uint64_t>(value));
}

// imm[0]: rounds, imm[1]: width of a word.
void RunPhilox(Frame& frame, const Inst& inst) {
  if (frame.check != nullptr) [[unlikely]] JoinAllShadow(frame, inst);
  const std::byte* in[5];
  for (int k = 0; k < 5; ++k) {
    Register& reg = frame.reg(inst.in[k]);
    EnsureDense(reg, *inst.in[k].type);
    in[k] = reg.data;
  }
  const int width = static_cast<int>(inst.imm[1]), bytes = width / 8;
  const uint64_t mask = width == 64 ? ~uint64_t{0} : 0xffffffffull;
  std::byte* out[4];
  for (int k = 0; k < 4; ++k) {
    Register& reg = frame.reg(inst.out[k]);
    reg.form = Form::kDense;
    out[k] = reg.data;
  }
  // A 32-bit counter may come in a narrower or wider integer: its value counts, extended by its sign and cut to the word.
  const auto word = [&](int k, int64_t i) {
    const TypeInfo& type = *inst.in[k].type;
    const int64_t at = type.n == 1 ? 0 : i;
    return static_cast<uint64_t>(isa::ScalarToInt(type.dtype, Scalar{ReadBits(in[k], type.elem_bytes, at)}));
  };
  for (int64_t i = 0; i < inst.out[0].type->n; ++i) {
    const isa::PhiloxWords counter = {{word(1, i) & mask, word(2, i) & mask, word(3, i) & mask, word(4, i) & mask}};
    const isa::PhiloxWords words = isa::EvalPhiloxSeed(width, word(0, i), counter, static_cast<int>(inst.imm[0]));
    for (int k = 0; k < 4; ++k) WriteBits(out[k], bytes, i, words.word[k]);
  }
}

std::string IndexText(const TypeInfo& type, int64_t lane) {
  std::string text = "(";
  for (int d = 0; d < type.rank; ++d) {
    absl::StrAppend(&text, d == 0 ? "" : ", ", lane / type.stride[d]);
    lane %= type.stride[d];
  }
  return absl::StrCat(text, ")");
}

std::string ValueText(const TypeInfo& type, uint64_t bits, bool hex) {
  if (type.elem.pointer || (hex && !isa::IsFloat(type.dtype))) return absl::StrFormat("0x%0*x", 2 * type.elem_bytes, bits);
  if (isa::IsFloat(type.dtype)) return absl::StrFormat("%g", isa::ScalarToDouble(type.dtype, Scalar{bits}));
  if (type.dtype == DType::kI1) return bits != 0 ? "True" : "False";
  if (type.dtype == DType::kU64) return absl::StrCat(bits);
  return absl::StrCat(isa::ScalarToInt(type.dtype, Scalar{bits}));
}

std::string ProgramText(const Frame& frame) { return absl::StrCat("(", frame.program[0], ", ", frame.program[1], ", ", frame.program[2], ")"); }

// "pid (0, 0, 0) idx (3) x: 10", one line for each lane of each operand.
void RunPrint(Frame& frame, const Inst& inst) {
  const absl::string_view prefix = inst.source->StringAttr("prefix");
  const bool hex = inst.source->BoolAttr("hex");
  std::string text;
  if (inst.in.empty()) absl::StrAppend(&text, "pid ", ProgramText(frame), " ", prefix, "\n");
  for (size_t k = 0; k < inst.in.size(); ++k) {
    const TypeInfo& type = *inst.in[k].type;
    Register& reg = frame.reg(inst.in[k]);
    EnsureDense(reg, type);
    for (int64_t i = 0; i < type.n; ++i) {
      absl::StrAppend(&text, "pid ", ProgramText(frame), " ");
      if (type.rank > 0) absl::StrAppend(&text, "idx ", IndexText(type, i), " ");
      absl::StrAppend(&text, prefix);
      if (inst.in.size() > 1) absl::StrAppend(&text, "(operand ", k, ") ");
      absl::StrAppend(&text, ValueText(type, ReadBits(reg.data, type.elem_bytes, i), hex), "\n");
    }
  }
  frame.run->Print(text);
}

void RunAssert(Frame& frame, const Inst& inst) {
  if (!frame.run->options->device_asserts) return;
  const TypeInfo& type = *inst.in[0].type;
  Register& cond = frame.reg(inst.in[0]);
  if (cond.shadowed) CheckBranch(frame, inst, cond);
  EnsureDense(cond, type);
  const std::byte* mask = nullptr;
  if (inst.in.size() > 1 && inst.in[1].present()) {
    Register& reg = frame.reg(inst.in[1]);
    EnsureDense(reg, *inst.in[1].type);
    mask = reg.data;
  }
  for (int64_t i = 0; i < type.n; ++i) {
    if (cond.data[i] != std::byte{0} || (mask != nullptr && mask[i] == std::byte{0})) continue;
    std::string message = absl::StrCat("device_assert failed in program ", ProgramText(frame));
    if (type.rank > 0) absl::StrAppend(&message, ", lane ", IndexText(type, i));
    const absl::string_view text = inst.source->StringAttr("msg");
    if (!text.empty()) absl::StrAppend(&message, ": ", text);
    if (frame.check != nullptr && CheckAssert(frame, inst, i, message)) continue;
    frame.Fail(InvalidAt(inst.loc, message));
    return;
  }
}

void RunNothing(Frame&, const Inst&) {}

void RunFence(Frame&, const Inst&) { std::atomic_thread_fence(std::memory_order_seq_cst); }

// The region on every lane, `pack` lanes of each operand to a call: operands in order, the lanes of a pack together.
void RunMap(Frame& frame, const Inst& inst) {
  if (frame.check != nullptr) [[unlikely]] JoinAllShadow(frame, inst);
  const SubProgram& sub = *inst.sub;
  const int64_t pack = inst.imm[0], calls = inst.in[0].type->n / pack;
  for (const Operand& operand : inst.in) EnsureDense(frame.reg(operand), *operand.type);
  for (int64_t first = 0; first < calls; first += sub.lanes) {
    const int64_t n = std::min(sub.lanes, calls - first);
    const auto copy = [&](std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int bytes) {
      if (to_step == 1 && from_step == 1) {
        std::memcpy(to, from, n * bytes);
        return;
      }
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_step * bytes, from + i * from_step * bytes, bytes);
    };
    for (size_t k = 0; k < inst.in.size(); ++k) {
      const int bytes = inst.in[k].type->elem_bytes;
      for (int64_t p = 0; p < pack; ++p) {
        Register& arg = frame.reg(sub.args[k * pack + p]);
        arg.form = Form::kDense;
        arg.shadowed = false;
        copy(arg.data, 1, frame.reg(inst.in[k]).data + (first * pack + p) * bytes, pack, bytes);
      }
    }
    ExecuteSub(frame, sub, n);
    if (frame.stop != Stop::kNone) return;
    for (size_t k = 0; k < inst.out.size(); ++k) {
      const int bytes = inst.out[k].type->elem_bytes;
      for (int64_t p = 0; p < pack; ++p) {
        copy(frame.reg(inst.out[k]).data + (first * pack + p) * bytes, pack, frame.reg(sub.results[k * pack + p]).data, 1, bytes);
      }
    }
  }
  for (const Operand& operand : inst.out) frame.reg(operand).form = Form::kDense;
}

absl::Status BindMap(const ir::Op& op, Inst& inst) {
  const int64_t pack = op.IntAttr("pack", 1);
  if (inst.sub == nullptr) return ErrorAt(op.loc, absl::StatusCode::kInternal, "map_elementwise: no region");
  if (pack < 1 || inst.in[0].type->n % pack != 0) return InvalidAt(op.loc, "map_elementwise: pack ", pack, " does not divide the tile");
  const size_t per_call = static_cast<size_t>(pack);
  if (inst.sub->args.size() != inst.in.size() * per_call || inst.sub->results.size() != inst.out.size() * per_call) {
    return InvalidAt(op.loc, "map_elementwise: the function takes ", inst.sub->args.size(), " scalars and gives ", inst.sub->results.size(),
                     "; wanted ", inst.in.size() * per_call, " and ", inst.out.size() * per_call);
  }
  for (const auto& operands : {inst.in, inst.out}) {
    for (const Operand& operand : operands) {
      if (operand.type->n != inst.in[0].type->n) return ErrorAt(op.loc, absl::StatusCode::kInternal, "map_elementwise: shapes differ");
    }
  }
  inst.imm[0] = pack;
  inst.fn = RunMap;
  return absl::OkStatus();
}

}  // namespace

absl::Status BindMisc(const ir::Op& op, Plan& plan, Inst& inst) {
  switch (op.op) {
    case Op::kProgramId: case Op::kNumPrograms:
      inst.imm[0] = op.IntAttr("axis");
      if (inst.imm[0] < 0 || inst.imm[0] > 2) return InvalidAt(op.loc, isa::Mnemonic(op.op), ": axis ", inst.imm[0], " is not 0, 1 or 2");
      inst.fn = RunProgramId;
      return absl::OkStatus();
    case Op::kPhilox:
      if (inst.in.size() != 5 || inst.out.size() != 4) return ErrorAt(op.loc, absl::StatusCode::kInternal, "philox: five operands and four results expected");
      for (const Operand& operand : inst.in) {
        if (operand.type->n != inst.out[0].type->n && operand.type->n != 1) return ErrorAt(op.loc, absl::StatusCode::kInternal, "philox: shapes differ");
      }
      inst.imm[0] = op.IntAttr("n_rounds", 10);
      inst.imm[1] = isa::BitWidth(inst.out[0].type->dtype) == 64 ? 64 : 32;
      inst.fn = RunPhilox;
      return absl::OkStatus();
    case Op::kDevicePrint:
      plan.prints = true;
      inst.fn = RunPrint;
      return absl::OkStatus();
    case Op::kDeviceAssert: inst.fn = RunAssert; return absl::OkStatus();
    case Op::kAssume: inst.fn = RunNothing; return absl::OkStatus();
    case Op::kDebugBarrier: inst.fn = RunFence; return absl::OkStatus();
    case Op::kMapElementwise: return BindMap(op, inst);
    case Op::kInlineAsm:
      return UnimplementedAt(op.loc, "inline_asm_elementwise: the CPU engine cannot run PTX");
    default:
      return UnimplementedAt(op.loc, isa::Mnemonic(op.op), ": the CPU engine does not have this op");
  }
}

}  // namespace tilevm::vm
