// Unary functions of f32 and f64: the shared straight-line functions of isa/f32_math.h as vectors, the rest one libm call at a time.
#include "isa/f32_math.h"
#include "vm/kernels/loops.h"

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {
namespace {

#define FUNCTION(Name, f32_expression, f64_expression)          \
  struct Name {                                                 \
    static float Apply(float x) { return f32_expression; }      \
    static double Apply(double x) { return f64_expression; }    \
  }
// f32 through libm's f64 function.
#define LIBM(Name, function) FUNCTION(Name, static_cast<float>(__builtin_##function(static_cast<double>(x))), __builtin_##function(x))

FUNCTION(Neg, -x, -x);
FUNCTION(Abs, __builtin_fabsf(x), __builtin_fabs(x));
FUNCTION(Sqrt, __builtin_sqrtf(x), __builtin_sqrt(x));
FUNCTION(Rsqrt, isa::RsqrtF32(x), 1.0 / __builtin_sqrt(x));
FUNCTION(Exp, isa::ExpF32(x), __builtin_exp(x));
FUNCTION(Exp2, isa::Exp2F32(x), __builtin_exp2(x));
FUNCTION(Log, isa::LogF32(x), __builtin_log(x));
FUNCTION(Log2, isa::Log2F32(x), __builtin_log2(x));
FUNCTION(SinSmall, isa::SinSmallF32(x), __builtin_sin(x));
FUNCTION(CosSmall, isa::CosSmallF32(x), __builtin_cos(x));
FUNCTION(Tanh, isa::TanhF32(x), __builtin_tanh(x));
FUNCTION(Erf, isa::ErfF32(x), __builtin_erf(x));
FUNCTION(Floor, __builtin_floorf(x), __builtin_floor(x));
FUNCTION(Ceil, __builtin_ceilf(x), __builtin_ceil(x));
FUNCTION(Trunc, __builtin_truncf(x), __builtin_trunc(x));
FUNCTION(Round, __builtin_roundf(x), __builtin_round(x));
FUNCTION(Rint, __builtin_rintf(x), __builtin_rint(x));
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
#undef LIBM
#undef FUNCTION

// Arguments past the reach of the reduction in f32_math.h are rare: the vector pass first, then they alone.
template <typename Small, float (*kLarge)(float)>
void TrigLoop(const void* x, void* out, int64_t n) {
  const float* a = static_cast<const float*>(x);
  float* r = static_cast<float*>(out);
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t length = ChunkLength(begin, n);
    float argument[kChunk];  // out may be x
    uint32_t largest = 0;
    for (int64_t i = 0; i < length; ++i) {
      argument[i] = a[begin + i];
      const uint32_t magnitude = isa::BitsOf(argument[i]) & isa::kF32AbsMask;
      largest = magnitude > largest ? magnitude : largest;
    }
    UnaryLoop<Small, float, float>(argument, r + begin, length);
    if (largest < isa::BitsOf(isa::kTrigLimit)) continue;
    for (int64_t i = 0; i < length; ++i) {
      if (isa::IsTrigLarge(argument[i])) r[begin + i] = kLarge(argument[i]);
    }
  }
}

struct IsNan { template <typename T> static bool Apply(T x) { return x != x; } };
struct IsInf { template <typename T> static bool Apply(T x) { return __builtin_fabs(static_cast<double>(x)) == __builtin_inf(); } };
struct IsFinite { template <typename T> static bool Apply(T x) { return __builtin_fabs(static_cast<double>(x)) < __builtin_inf(); } };
struct LlRint {
  template <typename T>
  static int64_t Apply(T x) {
    const double rounded = __builtin_rint(static_cast<double>(x));
    const double clamped = rounded >= -0x1p63 && rounded < 0x1p63 ? rounded : 0.0;
    const int64_t in_range = static_cast<int64_t>(clamped);
    const int64_t upper = rounded >= 0x1p63 ? INT64_MAX : in_range;
    return rounded < -0x1p63 ? INT64_MIN : upper;
  }
};

template <typename T>
void RegisterDType(Table& table, DType dtype) {
  const struct { Op op; UnaryFn kernel; } rows[] = {
      {Op::kNeg, UnaryLoop<Neg, T, T>},       {Op::kAbs, UnaryLoop<Abs, T, T>},       {Op::kSqrt, UnaryLoop<Sqrt, T, T>},
      {Op::kRsqrt, UnaryLoop<Rsqrt, T, T>},   {Op::kExp, UnaryLoop<Exp, T, T>},       {Op::kLibExp, UnaryLoop<Exp, T, T>},
      {Op::kExp2, UnaryLoop<Exp2, T, T>},     {Op::kLibExp2, UnaryLoop<Exp2, T, T>},  {Op::kLog, UnaryLoop<Log, T, T>},
      {Op::kLibLog, UnaryLoop<Log, T, T>},    {Op::kLog2, UnaryLoop<Log2, T, T>},     {Op::kLibLog2, UnaryLoop<Log2, T, T>},
      {Op::kSin, UnaryLoop<SinSmall, T, T>},  {Op::kCos, UnaryLoop<CosSmall, T, T>},  {Op::kTanh, UnaryLoop<Tanh, T, T>},
      {Op::kErf, UnaryLoop<Erf, T, T>},       {Op::kFloor, UnaryLoop<Floor, T, T>},   {Op::kCeil, UnaryLoop<Ceil, T, T>},
      {Op::kTrunc, UnaryLoop<Trunc, T, T>},   {Op::kRound, UnaryLoop<Round, T, T>},   {Op::kRint, UnaryLoop<Rint, T, T>},
      {Op::kLog10, UnaryLoop<Log10, T, T>},   {Op::kLog1p, UnaryLoop<Log1p, T, T>},   {Op::kExpm1, UnaryLoop<Expm1, T, T>},
      {Op::kTan, UnaryLoop<Tan, T, T>},       {Op::kAsin, UnaryLoop<Asin, T, T>},     {Op::kAcos, UnaryLoop<Acos, T, T>},
      {Op::kAtan, UnaryLoop<Atan, T, T>},     {Op::kSinh, UnaryLoop<Sinh, T, T>},     {Op::kCosh, UnaryLoop<Cosh, T, T>},
      {Op::kAsinh, UnaryLoop<Asinh, T, T>},   {Op::kAcosh, UnaryLoop<Acosh, T, T>},   {Op::kAtanh, UnaryLoop<Atanh, T, T>},
      {Op::kErfc, UnaryLoop<Erfc, T, T>},     {Op::kCbrt, UnaryLoop<Cbrt, T, T>},     {Op::kIsNan, UnaryLoop<IsNan, T, uint8_t>},
      {Op::kIsInf, UnaryLoop<IsInf, T, uint8_t>}, {Op::kIsFinite, UnaryLoop<IsFinite, T, uint8_t>},
      {Op::kLlRint, UnaryLoop<LlRint, T, int64_t>},
  };
  for (const auto& row : rows) SetUnary(table, row.op, dtype, row.kernel);
}

}  // namespace

void RegisterMath(Table& table) {
  RegisterDType<float>(table, DType::kF32);
  RegisterDType<double>(table, DType::kF64);
  SetUnary(table, Op::kSin, DType::kF32, TrigLoop<SinSmall, isa::SinLargeF32>);
  SetUnary(table, Op::kCos, DType::kF32, TrigLoop<CosSmall, isa::CosLargeF32>);
}

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
