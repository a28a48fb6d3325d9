// What the families of isa/eval share: the pieces of an element's bit pattern, and one function per family.
#ifndef TILEVM_ISA_EVAL_INTERNAL_H_
#define TILEVM_ISA_EVAL_INTERNAL_H_

#include <cstdint>

#include "isa/eval.h"

namespace tilevm::isa::eval_internal {

inline bool IsNarrow(DType dtype) { return IsFloat(dtype) && dtype != DType::kF32 && dtype != DType::kF64; }

inline uint64_t WidthMask(DType dtype) {
  const int width = BitWidth(dtype);
  return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}
inline Scalar Masked(DType dtype, uint64_t bits) { return Scalar{bits & WidthMask(dtype)}; }

// An integer element extended to 64 bits by its own sign.
inline int64_t SignExtended(DType dtype, Scalar x) {
  const int shift = 64 - BitWidth(dtype);
  return static_cast<int64_t>(x.bits << shift) >> shift;
}
inline uint64_t Extended(DType dtype, Scalar x) { return IsSigned(dtype) ? static_cast<uint64_t>(SignExtended(dtype, x)) : x.bits; }

float DecodeToF32(DType dtype, Scalar x);   // f16, bf16, fp8, f32
double DecodeToF64(DType dtype, Scalar x);  // any float, exact
Scalar EncodeFromF32(DType dtype, float x, Rounding rounding = Rounding::kNearestEven);    // any float
Scalar EncodeFromF64(DType dtype, double x, Rounding rounding = Rounding::kNearestEven);   // any float, one rounding

Scalar IntUnary(Op op, DType dtype, Scalar x);
Scalar IntBinary(Op op, DType dtype, Scalar x, Scalar y);
float F32Unary(Op op, float x);
double F64Unary(Op op, double x);
Scalar FloatBinary(Op op, DType dtype, Scalar x, Scalar y, bool propagate_nan);
Scalar FloatFma(DType dtype, Scalar x, Scalar y, Scalar z);

}  // namespace tilevm::isa::eval_internal

#endif  // TILEVM_ISA_EVAL_INTERNAL_H_
