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

// "add" -> kAdd and so on; false for a kind that is not a named binary op.
bool FoldOfKind(absl::string_view kind, kernels::FoldKind* fold);

// Payload of reduce and scan.
struct AxisFold {
  Axis axis;
  kernels::ReduceFn reduce = nullptr;
  kernels::ArgReduceFn arg_reduce = nullptr;
  kernels::ScanFn scan = nullptr;
  bool reverse = false;
};

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_AXIS_H_
