// c += a @ b for one tile: the matrix product of the CPU engine.
//
// Every product is added to its sum by a fused multiply-add, in the order of k, starting from c: the result depends on the operands alone, not
// on blocking, strides or instruction set. Narrow floats are converted to f32 exactly while their panels are packed; f32 operands are first
// rounded or split as the precision says (isa/eval.h has the rules). Integers are exact modulo 2**32.
#ifndef TILEVM_VM_KERNELS_DOT_H_
#define TILEVM_VM_KERNELS_DOT_H_

#include <cstdint>

#include "isa/types.h"
#include "vm/kernels/kernels.h"

namespace tilevm::kernels {

// What input_precision asks for; it concerns f32 operands only. The split forms sum the products with later parts first, smallest first, and add that sum if it
// is finite: beside an infinity or NaN, which the first parts' products give as the operands' would, it would only make an infinity a NaN.
enum class DotPrecision : uint8_t { kIeee, kTf32, kTf32x3, kBf16x3, kBf16x6 };

struct DotMatrix {
  const void* data = nullptr;
  int64_t row_stride = 0;  // elements from one row to the next; any value, negative too
  int64_t col_stride = 1;
};

// i8/u8 pairs into i32; f64 into f64; any two of f16, bf16, fp8, f32 into f32, or into f16 and bf16 (summed in f32, rounded at the end).
bool HasDot(isa::DType a_type, isa::DType b_type, isa::DType acc_type);

// a is m x k, b is k x n; c holds m rows of n contiguous elements, c_row_stride apart. Precondition HasDot.
struct DotArgs {
  isa::DType a_type, b_type, acc_type;
  DotPrecision precision = DotPrecision::kIeee;
  DotMatrix a, b;
  void* c = nullptr;
  int64_t c_row_stride = 0;
  int64_t m = 0, n = 0, k = 0;
};
void Dot(const DotArgs& args, Level level = BestLevel());

}  // namespace tilevm::kernels

#endif  // TILEVM_VM_KERNELS_DOT_H_
