// Float ops: f32 and f64 directly; narrow formats through f32, except what must not round (min, max, copysign) or must round once (fma).
#include <cmath>

#include "isa/eval_internal.h"
#include "isa/f32_math.h"

namespace tilevm::isa::eval_internal {
namespace {

template <typename T>
T FloatArithmetic(Op op, T x, T y) {
  switch (op) {
    case Op::kAdd: return x + y;
    case Op::kSub: return x - y;
    case Op::kMul: return x * y;
    case Op::kTrueDiv:
    case Op::kFDiv:
    case Op::kDivRn: return x / y;
    case Op::kMod:
    case Op::kFMod: return std::fmod(x, y);
    case Op::kAtan2: return static_cast<T>(std::atan2(static_cast<double>(x), static_cast<double>(y)));
    case Op::kLibPow: return static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y)));
    default: return T(0);
  }
}

template <typename T>
bool FloatCompare(Op op, T x, T y) {
  switch (op) {
    case Op::kLt: return x < y;
    case Op::kLe: return x <= y;
    case Op::kGt: return x > y;
    case Op::kGe: return x >= y;
    case Op::kEq: return x == y;
    default: return x != y;
  }
}

bool IsCompare(Op op) { return EvalResultType(op, DType::kF32) == DType::kI1; }

// True if the first operand is the answer of maximum (minimum).
bool FirstWins(bool maximum, double x, double y, bool propagate_nan) {
  if (x != x) return propagate_nan;
  if (y != y) return !propagate_nan;
  if (x == y) return std::signbit(x) != maximum;
  return (x > y) == maximum;
}

}  // namespace

#define LIBM(op, function) \
  case Op::k##op: return static_cast<float>(std::function(static_cast<double>(x)))

float F32Unary(Op op, float x) {
  switch (op) {
    case Op::kNeg: return -x;
    case Op::kAbs: return std::fabs(x);
    case Op::kExp:
    case Op::kLibExp: return ExpF32(x);
    case Op::kExp2:
    case Op::kLibExp2: return Exp2F32(x);
    case Op::kLog:
    case Op::kLibLog: return LogF32(x);
    case Op::kLog2:
    case Op::kLibLog2: return Log2F32(x);
    case Op::kSqrt: return std::sqrt(x);
    case Op::kRsqrt: return RsqrtF32(x);
    case Op::kSin: return IsTrigLarge(x) ? SinLargeF32(x) : SinSmallF32(x);
    case Op::kCos: return IsTrigLarge(x) ? CosLargeF32(x) : CosSmallF32(x);
    case Op::kTanh: return TanhF32(x);
    case Op::kErf: return ErfF32(x);
    case Op::kFloor: return std::floor(x);
    case Op::kCeil: return std::ceil(x);
    case Op::kTrunc: return std::trunc(x);
    case Op::kRound: return std::round(x);
    case Op::kRint: return std::nearbyint(x);
    LIBM(Log10, log10);
    LIBM(Log1p, log1p);
    LIBM(Expm1, expm1);
    LIBM(Tan, tan);
    LIBM(Asin, asin);
    LIBM(Acos, acos);
    LIBM(Atan, atan);
    LIBM(Sinh, sinh);
    LIBM(Cosh, cosh);
    LIBM(Asinh, asinh);
    LIBM(Acosh, acosh);
    LIBM(Atanh, atanh);
    LIBM(Erfc, erfc);
    LIBM(Cbrt, cbrt);
    default: return 0.0f;
  }
}
#undef LIBM

double F64Unary(Op op, double x) {
  switch (op) {
    case Op::kNeg: return -x;
    case Op::kAbs: return std::fabs(x);
    case Op::kExp:
    case Op::kLibExp: return std::exp(x);
    case Op::kExp2:
    case Op::kLibExp2: return std::exp2(x);
    case Op::kLog:
    case Op::kLibLog: return std::log(x);
    case Op::kLog2:
    case Op::kLibLog2: return std::log2(x);
    case Op::kSqrt: return std::sqrt(x);
    case Op::kRsqrt: return 1.0 / std::sqrt(x);
    case Op::kSin: return std::sin(x);
    case Op::kCos: return std::cos(x);
    case Op::kTanh: return std::tanh(x);
    case Op::kErf: return std::erf(x);
    case Op::kFloor: return std::floor(x);
    case Op::kCeil: return std::ceil(x);
    case Op::kTrunc: return std::trunc(x);
    case Op::kRound: return std::round(x);
    case Op::kRint: return std::nearbyint(x);
    case Op::kLog10: return std::log10(x);
    case Op::kLog1p: return std::log1p(x);
    case Op::kExpm1: return std::expm1(x);
    case Op::kTan: return std::tan(x);
    case Op::kAsin: return std::asin(x);
    case Op::kAcos: return std::acos(x);
    case Op::kAtan: return std::atan(x);
    case Op::kSinh: return std::sinh(x);
    case Op::kCosh: return std::cosh(x);
    case Op::kAsinh: return std::asinh(x);
    case Op::kAcosh: return std::acosh(x);
    case Op::kAtanh: return std::atanh(x);
    case Op::kErfc: return std::erfc(x);
    case Op::kCbrt: return std::cbrt(x);
    default: return 0.0;
  }
}

Scalar FloatBinary(Op op, DType dtype, Scalar x, Scalar y, bool propagate_nan) {
  if (op == Op::kMaximum || op == Op::kMinimum) {
    return FirstWins(op == Op::kMaximum, DecodeToF64(dtype, x), DecodeToF64(dtype, y), propagate_nan) ? x : y;
  }
  if (op == Op::kCopySign) {
    const uint64_t sign = uint64_t{1} << (BitWidth(dtype) - 1);
    return Scalar{(x.bits & ~sign) | (y.bits & sign)};
  }
  if (IsCompare(op)) return Scalar{FloatCompare(op, DecodeToF64(dtype, x), DecodeToF64(dtype, y))};
  if (dtype == DType::kF64) return Scalar{BitsOf(FloatArithmetic(op, DecodeToF64(dtype, x), DecodeToF64(dtype, y)))};
  return EncodeFromF32(dtype, FloatArithmetic(op, DecodeToF32(dtype, x), DecodeToF32(dtype, y)));
}

Scalar FloatFma(DType dtype, Scalar x, Scalar y, Scalar z) {
  if (dtype == DType::kF64) return Scalar{BitsOf(std::fma(DecodeToF64(dtype, x), DecodeToF64(dtype, y), DecodeToF64(dtype, z)))};
  const float a = DecodeToF32(dtype, x);
  const float b = DecodeToF32(dtype, y);
  const float c = DecodeToF32(dtype, z);
  if (dtype == DType::kF32) return Scalar{BitsOf(std::fma(a, b, c))};
  return EncodeFromF64(dtype, FmaNarrowOdd(a, b, c));
}

}  // namespace tilevm::isa::eval_internal
