// A tile seen as [outer, length, inner] around one axis, and the functions of the named combine kinds.
#ifndef TILEVM_VM_INTERP_AXIS_H_
#define TILEVM_VM_INTERP_AXIS_H_

#include "absl/status/statusor.h"
#include "vm/interp/compile.h"

namespace tilevm::vm {

struct Axis {
  int64_t outer = 1, length = 1, inner = 1;
};
inline Axis AxisOf(const TypeInfo& type, int64_t axis) {
  Axis a;
  a.length = type.shape[axis];
  a.inner = type.stride[axis];
  a.outer = type.n / (a.length * a.inner);
  return a;
}

// "add" -> kAdd and so on; kConst for a kind that is not a binary op.
isa::Op OpOfKind(absl::string_view kind);

// The type that sums and products of `dtype` are accumulated in: f32 for the narrower floats.
inline isa::DType AccumulatorType(isa::Op op, isa::DType dtype) {
  const bool narrow = isa::IsFloat(dtype) && isa::BitWidth(dtype) < 32;
  return narrow && (op == isa::Op::kAdd || op == isa::Op::kMul) ? isa::DType::kF32 : dtype;
}

// Payload of reduce and scan.
struct AxisFold {
  Axis axis;
  isa::Op op = isa::Op::kConst;
  isa::DType dtype = isa::DType::kI32, accumulator = isa::DType::kI32;
  ArrayKernel combine, widen, narrow;
  bool convert = false;
  bool reverse = false;
  bool arg_max = true;
};

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_AXIS_H_
