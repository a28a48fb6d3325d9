// Elementwise ops: arithmetic, math, comparisons, where, casts and pointer arithmetic.
//
// Integer arithmetic on affine registers stays affine while no lane wraps; comparisons of affine registers give boxes; conjunctions of boxes
// are boxes. Everything else runs an array kernel over dense registers.
#include <algorithm>

#include "vm/interp/affine.h"
#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

using isa::DType;
using isa::Op;

// The general case. In-place results are fine: kernels go lane by lane.
void RunDense(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.out[0].type;
  const int64_t n = LaneCount(frame, inst, type);
  const void* args[3] = {nullptr, nullptr, nullptr};
  uint64_t bits;
  for (size_t i = 0; i < inst.in.size(); ++i) {
    Register& reg = frame.reg(inst.in[i]);
    if (reg.form != Form::kDense) {
      // One value for all lanes: the kernel takes it as a scalar.
      const kernels::BinaryFn scalar = i == 0 ? inst.kernel.scalar_x : inst.kernel.scalar_y;
      if (scalar != nullptr && frame.check == nullptr && IsUniform(reg, *inst.in[i].type, &bits)) {
        Register& other = frame.reg(inst.in[1 - i]);
        EnsureDense(other, *inst.in[1 - i].type);
        Register& out = frame.reg(inst.out[0]);
        scalar(i == 0 ? static_cast<const void*>(&bits) : other.data, i == 0 ? static_cast<const void*>(other.data) : &bits, out.data, n);
        out.form = Form::kDense;
        return;
      }
      Materialise(reg, *inst.in[i].type);
    }
    args[i] = reg.data;
  }
  if (frame.check != nullptr) [[unlikely]] ShadowElementwise(frame, inst, n);
  Register& out = frame.reg(inst.out[0]);
  inst.kernel(args[0], args[1], args[2], out.data, n);
  out.form = Form::kDense;
}

// All operands one value each: one lane of work. Returns false if they are not.
bool RunUniform(Frame& frame, const Inst& inst) {
  uint64_t bits[3] = {};
  for (size_t i = 0; i < inst.in.size(); ++i) {
    const Register& reg = frame.reg(inst.in[i]);
    if (reg.shadowed || !IsUniform(reg, *inst.in[i].type, &bits[i])) return false;
  }
  uint64_t result = 0;
  inst.kernel(&bits[0], &bits[1], &bits[2], &result, 1);
  const TypeInfo& type = *inst.out[0].type;
  const uint64_t mask = type.elem_bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * type.elem_bytes)) - 1;
  SetSplat(frame.reg(inst.out[0]), type, result & mask);
  return true;
}

bool AnyLazy(Frame& frame, const Inst& inst) {
  for (const Operand& operand : inst.in) {
    if (frame.reg(operand).form == Form::kDense) return false;
  }
  return true;
}

void RunTile(Frame& frame, const Inst& inst) {
  if (AnyLazy(frame, inst) && !(frame.check != nullptr && WrapMatters(inst)) && RunUniform(frame, inst)) return;
  RunDense(frame, inst);
}

void RunAffineArith(Frame& frame, const Inst& inst) {
  if (TryAffineArith(frame, inst)) return;
  RunTile(frame, inst);
}

void RunCompare(Frame& frame, const Inst& inst) {
  if (TryCompare(frame, inst)) return;
  RunTile(frame, inst);
}

void RunBoxAnd(Frame& frame, const Inst& inst) {
  if (TryBoxAnd(frame, inst)) return;
  RunTile(frame, inst);
}

// where: a uniform condition chooses a whole register.
void RunWhere(Frame& frame, const Inst& inst) {
  uint64_t cond;
  const Register& mask = frame.reg(inst.in[0]);
  if (!mask.shadowed && IsUniform(mask, *inst.in[0].type, &cond) && !inst.lanes) {
    const Operand& chosen = inst.in[(cond & 1) != 0 ? 1 : 2];
    if (chosen.reg != inst.out[0].reg) CopyRegister(frame.reg(inst.out[0]), frame.reg(chosen), *chosen.type);
    return;
  }
  RunDense(frame, inst);
}

void RunCast(Frame& frame, const Inst& inst) {
  if (TryAffineCast(frame, inst)) return;
  RunTile(frame, inst);
}

// Bits are kept; a register of another width never gets here.
void RunBitcast(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.out[0].type;
  Register& in = frame.reg(inst.in[0]);
  if (TryPointerBitcast(frame, inst)) return;
  EnsureDense(in, *inst.in[0].type);
  Register& out = frame.reg(inst.out[0]);
  const int64_t n = LaneCount(frame, inst, type);
  if (&out != &in) std::memcpy(out.data, in.data, n * type.elem_bytes);
  out.form = Form::kDense;
  if (frame.check != nullptr) [[unlikely]] ShadowElementwise(frame, inst, n);
}

template <typename Offset>
void AddOffsets(const std::byte* pointers, const std::byte* offsets, std::byte* out, int64_t scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    uint64_t address;
    Offset offset;
    std::memcpy(&address, pointers + 8 * i, 8);
    std::memcpy(&offset, offsets + sizeof(Offset) * i, sizeof(Offset));
    address += static_cast<uint64_t>(static_cast<int64_t>(offset)) * static_cast<uint64_t>(scale);
    std::memcpy(out + 8 * i, &address, 8);
  }
}

void RunPtrAdd(Frame& frame, const Inst& inst) {
  if (TryAffinePtrAdd(frame, inst)) return;
  const TypeInfo& type = *inst.out[0].type;
  const TypeInfo& offset_type = *inst.in[1].type;
  Register& pointer = frame.reg(inst.in[0]);
  Register& offset = frame.reg(inst.in[1]);
  EnsureDense(pointer, type);
  EnsureDense(offset, offset_type);
  Register& out = frame.reg(inst.out[0]);
  const int64_t n = LaneCount(frame, inst, type), scale = type.pointee_bytes;
  if (frame.check != nullptr) [[unlikely]] ShadowElementwise(frame, inst, n);
  switch (offset_type.dtype) {
    case DType::kI8: AddOffsets<int8_t>(pointer.data, offset.data, out.data, scale, n); break;
    case DType::kI16: AddOffsets<int16_t>(pointer.data, offset.data, out.data, scale, n); break;
    case DType::kI32: AddOffsets<int32_t>(pointer.data, offset.data, out.data, scale, n); break;
    case DType::kU16: AddOffsets<uint16_t>(pointer.data, offset.data, out.data, scale, n); break;
    case DType::kU32: AddOffsets<uint32_t>(pointer.data, offset.data, out.data, scale, n); break;
    case DType::kI64: case DType::kU64: AddOffsets<uint64_t>(pointer.data, offset.data, out.data, scale, n); break;
    default: AddOffsets<uint8_t>(pointer.data, offset.data, out.data, scale, n); break;  // u8, i1
  }
  out.form = Form::kDense;
}

bool IsCompare(Op op) { return op == Op::kLt || op == Op::kLe || op == Op::kGt || op == Op::kGe || op == Op::kEq || op == Op::kNe; }

}  // namespace

bool IsElementwise(Op op) {
  return isa::EvalArity(op) > 0 || op == Op::kCast || op == Op::kBitcast || op == Op::kPtrAdd;
}

absl::Status BindElementwise(const ir::Op& op, Plan& plan, Inst& inst) {
  const TypeInfo& out = *inst.out[0].type;
  const TypeInfo& first = *inst.in[0].type;
  if (out.elem.pointer && !first.elem.pointer && op.op != Op::kWhere) plan.makes_pointers = true;
  const bool tile = out.rank > 0 && !inst.lanes;
  if (op.op == Op::kCast) {
    const isa::Rounding rounding = op.StringAttr("rounding") == "rtz" ? isa::Rounding::kTowardZero : isa::Rounding::kNearestEven;
    inst.kernel = FindCastKernel(first.dtype, out.dtype, rounding);
    inst.fn = tile ? RunCast : RunDense;
    return absl::OkStatus();
  }
  if (op.op == Op::kBitcast) {
    if (first.elem_bytes != out.elem_bytes) return ErrorAt(op.loc, absl::StatusCode::kInternal, "bitcast: widths differ");
    inst.fn = RunBitcast;
    return absl::OkStatus();
  }
  if (op.op == Op::kPtrAdd) {
    inst.fn = RunPtrAdd;
    return absl::OkStatus();
  }
  const TypeInfo& data = op.op == Op::kWhere ? *inst.in[1].type : first;
  if (op.op == Op::kLibPow && inst.in[1].type->dtype != first.dtype) {
    inst.kernel = FindPowIntKernel(data.dtype);
    inst.fn = tile ? RunTile : RunDense;
    return absl::OkStatus();
  }
  if (!isa::HasEval(op.op, data.dtype)) {
    return UnimplementedAt(op.loc, isa::Mnemonic(op.op), ": not defined for ", isa::ToString(data.elem));
  }
  inst.kernel = FindKernel(op.op, data.dtype, op.BoolAttr("propagate_nan"));
  inst.fn = tile ? RunTile : RunDense;
  if (!tile) return absl::OkStatus();
  const bool integer = !isa::IsFloat(data.dtype) && data.dtype != DType::kI1;
  if (integer && (op.op == Op::kAdd || op.op == Op::kSub || op.op == Op::kMul)) inst.fn = RunAffineArith;
  if (integer && op.op == Op::kMod) inst.fn = RunAffineArith;
  if (integer && IsCompare(op.op)) inst.fn = RunCompare;
  if (op.op == Op::kBitAnd && data.dtype == DType::kI1) inst.fn = RunBoxAnd;
  if (op.op == Op::kWhere) inst.fn = RunWhere;
  return absl::OkStatus();
}

}  // namespace tilevm::vm
