// Elements of every dtype as the three types that host arithmetic is done in: float (f16, bf16, fp8, f32), double (f64, and exact work) and
// int64_t (integers; u64 by its bits). Storing rounds to nearest even, wraps integers, and saturates float to int (NaN is 0), as the kernels
// do (docs/semantics.md).
#ifndef TILEVM_VM_HOST_CONVERT_H_
#define TILEVM_VM_HOST_CONVERT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "isa/types.h"

namespace tilevm::vm::host {

// n consecutive elements at base.
void LoadElems(isa::DType dtype, const std::byte* base, int64_t n, float* out);
void LoadElems(isa::DType dtype, const std::byte* base, int64_t n, double* out);
void LoadElems(isa::DType dtype, const std::byte* base, int64_t n, int64_t* out);
void StoreElems(isa::DType dtype, std::byte* base, int64_t n, const float* in);
void StoreElems(isa::DType dtype, std::byte* base, int64_t n, const double* in);
void StoreElems(isa::DType dtype, std::byte* base, int64_t n, const int64_t* in);

// The type in which arithmetic on this dtype is done.
enum class ComputeKind { kFloat, kDouble, kInt };
ComputeKind ComputeKindOf(isa::DType dtype);

// n elements of one dtype as another; the buffers do not overlap.
void ConvertElems(isa::DType from, const std::byte* in, isa::DType to, std::byte* out, int64_t n);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_CONVERT_H_
