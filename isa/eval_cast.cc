// Casts between any two element types, and scalars from and to host numbers.
#include <limits>

#include "isa/eval_internal.h"
#include "isa/narrow_float.h"

namespace tilevm::isa {
namespace eval_internal {

float DecodeToF32(DType dtype, Scalar x) {
  switch (dtype) {
    case DType::kF16: return F16ToF32(static_cast<uint16_t>(x.bits));
    case DType::kBF16: return Bf16ToF32(static_cast<uint16_t>(x.bits));
    case DType::kF8E4M3: return F8E4M3ToF32(static_cast<uint8_t>(x.bits));
    case DType::kF8E5M2: return F8E5M2ToF32(static_cast<uint8_t>(x.bits));
    default: return F32FromBits(static_cast<uint32_t>(x.bits));
  }
}

double DecodeToF64(DType dtype, Scalar x) {
  return dtype == DType::kF64 ? F64FromBits(x.bits) : static_cast<double>(DecodeToF32(dtype, x));
}

Scalar EncodeFromF32(DType dtype, float x, Rounding rounding) {
  const bool nearest = rounding == Rounding::kNearestEven;
  switch (dtype) {
    case DType::kF16: return Scalar{nearest ? F32ToF16(x) : F32ToF16Rtz(x)};
    case DType::kBF16: return Scalar{nearest ? F32ToBf16(x) : F32ToBf16Rtz(x)};
    case DType::kF8E4M3: return Scalar{nearest ? F32ToF8E4M3(x) : F32ToF8E4M3Rtz(x)};
    case DType::kF8E5M2: return Scalar{nearest ? F32ToF8E5M2(x) : F32ToF8E5M2Rtz(x)};
    case DType::kF64: return Scalar{BitsOf(static_cast<double>(x))};
    default: return Scalar{BitsOf(x)};
  }
}

Scalar EncodeFromF64(DType dtype, double x, Rounding rounding) {
  if (dtype == DType::kF64) return Scalar{BitsOf(x)};
  if (dtype != DType::kF32) return EncodeFromF32(dtype, F64ToF32Odd(x), rounding);
  return Scalar{BitsOf(rounding == Rounding::kNearestEven ? static_cast<float>(x) : F64ToF32Rtz(x))};
}

}  // namespace eval_internal

namespace {

using namespace eval_internal;  // NOLINT: the families of this library

// Truncates; saturates at the bounds of dtype, an integer type other than i1. The bounds are powers of two, exact in f64.
Scalar SaturateToInt(DType dtype, double x) {
  const int width = BitWidth(dtype);
  if (x != x) return {};
  if (IsSigned(dtype)) {
    const double limit = static_cast<double>(uint64_t{1} << (width - 1));
    if (x >= limit) return Scalar{WidthMask(dtype) >> 1};
    if (x < -limit) return Scalar{uint64_t{1} << (width - 1)};
    return Masked(dtype, static_cast<uint64_t>(static_cast<int64_t>(x)));
  }
  const double limit = 2.0 * static_cast<double>(uint64_t{1} << (width - 1));
  if (x >= limit) return Scalar{WidthMask(dtype)};
  if (x <= 0.0) return {};
  return Scalar{static_cast<uint64_t>(x)};
}

Scalar IntToFloat(DType from, DType to, Scalar x) {
  const uint64_t value = Extended(from, x);
  if (to == DType::kF64) {
    return Scalar{BitsOf(IsSigned(from) ? static_cast<double>(static_cast<int64_t>(value)) : static_cast<double>(value))};
  }
  return EncodeFromF32(to, IsSigned(from) ? static_cast<float>(static_cast<int64_t>(value)) : static_cast<float>(value));
}

}  // namespace

Scalar EvalCast(DType from, DType to, Rounding rounding, Scalar x) {
  if (from == to) return x;
  if (to == DType::kI1) return Scalar{ScalarIsTrue(from, x)};
  if (IsInteger(from)) return IsInteger(to) ? Masked(to, Extended(from, x)) : IntToFloat(from, to, x);
  if (IsInteger(to)) return SaturateToInt(to, DecodeToF64(from, x));
  if (from == DType::kF64) return EncodeFromF64(to, F64FromBits(x.bits), rounding);
  return EncodeFromF32(to, DecodeToF32(from, x), rounding);
}

Scalar ScalarFromInt(DType dtype, int64_t value) {
  if (IsInteger(dtype)) return Masked(dtype, static_cast<uint64_t>(value));
  return EvalCast(DType::kI64, dtype, Rounding::kNearestEven, Scalar{static_cast<uint64_t>(value)});
}

Scalar ScalarFromUint(DType dtype, uint64_t value) {
  if (IsInteger(dtype)) return Masked(dtype, value);
  return EvalCast(DType::kU64, dtype, Rounding::kNearestEven, Scalar{value});
}

Scalar ScalarFromDouble(DType dtype, double value) {
  return EvalCast(DType::kF64, dtype, Rounding::kNearestEven, Scalar{BitsOf(value)});
}

int64_t ScalarToInt(DType dtype, Scalar x) {
  if (IsInteger(dtype)) return static_cast<int64_t>(Extended(dtype, x));
  return static_cast<int64_t>(EvalCast(dtype, DType::kI64, Rounding::kNearestEven, x).bits);
}

uint64_t ScalarToUint(DType dtype, Scalar x) {
  if (IsInteger(dtype)) return Extended(dtype, x);
  return EvalCast(dtype, DType::kU64, Rounding::kNearestEven, x).bits;
}

double ScalarToDouble(DType dtype, Scalar x) {
  if (IsFloat(dtype)) return DecodeToF64(dtype, x);
  return F64FromBits(EvalCast(dtype, DType::kF64, Rounding::kNearestEven, x).bits);
}

bool ScalarIsTrue(DType dtype, Scalar x) {
  if (IsInteger(dtype)) return x.bits != 0;
  return (x.bits & (WidthMask(dtype) >> 1)) != 0;  // all but the sign
}

bool ScalarIsNan(DType dtype, Scalar x) {
  if (!IsFloat(dtype)) return false;
  const double value = DecodeToF64(dtype, x);
  return value != value;
}

bool SameScalar(DType dtype, Scalar x, Scalar y) { return x == y || (ScalarIsNan(dtype, x) && ScalarIsNan(dtype, y)); }

}  // namespace tilevm::isa
