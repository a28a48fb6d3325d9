// Functions of f32 whose bits isa/eval and the array kernels (vm/kernels) must share: straight-line code, one element at a time.
//
// Every function is static and branch free where speed matters, so that the kernels, which compile this file once per instruction set, get
// vectors from the compiler. Each step is one IEEE operation (fused ones are written __builtin_fmaf), hence the same bits in every build;
// compile with -ffp-contract=off. Coefficients are weighted minimax fits made for this file (the weight is the relative error of the result),
// or Taylor series where the argument is small. Accuracy: isa/eval.h, sampled by isa/eval_math_test.cc.
#ifndef TILEVM_ISA_F32_MATH_H_
#define TILEVM_ISA_F32_MATH_H_

#include <cstdint>

#include "isa/narrow_float.h"

namespace tilevm::isa {

// Adding 1.5 * 2**23 (2**52) leaves the nearest integer in the low mantissa bits.
inline constexpr float kRoundF32 = 0x1.8p23f;
inline constexpr double kRoundF64 = 0x1.8p52;

// y * 2**n for |n| <= 252 by two factors, so that one of them may leave the exponent range; rounds once, in the last product.
static inline float ScaleByPow2(float y, int32_t n) {
  const int32_t half = n >> 1;
  const float first = F32FromBits((static_cast<uint32_t>(half) + 127u) << 23);
  const float second = F32FromBits((static_cast<uint32_t>(n) - static_cast<uint32_t>(half) + 127u) << 23);
  return y * first * second;
}

static inline float ExpF32(float x) {
  float c = x > 90.0f ? 90.0f : x;  // infinite from 88.73, zero below -103.98; a NaN passes
  c = c < -110.0f ? -110.0f : c;
  const float shifted = __builtin_fmaf(c, 0x1.715476p+0f, kRoundF32);
  const float n = shifted - kRoundF32;
  const float high = __builtin_fmaf(n, -0x1.62e430p-1f, c);  // ln 2 rounded to f32; exact by cancellation
  const float low = n * 0x1.05c610p-29f;                      // kept apart until the end, or its rounding would show
  const float r = high + low;
  float p = 0x1.6d6cb8p-10f;
  p = __builtin_fmaf(p, r, 0x1.123ab8p-7f);
  p = __builtin_fmaf(p, r, 0x1.5554ccp-5f);
  p = __builtin_fmaf(p, r, 0x1.555490p-3f);
  p = __builtin_fmaf(p, r, 0.5f);
  p = __builtin_fmaf(p, r * r, low) + high;
  return ScaleByPow2(p + 1.0f, static_cast<int32_t>(BitsOf(shifted) - BitsOf(kRoundF32)));
}

static inline float Exp2F32(float x) {
  float c = x > 130.0f ? 130.0f : x;
  c = c < -160.0f ? -160.0f : c;
  const float shifted = c + kRoundF32;
  const float r = c - (shifted - kRoundF32);
  float p = 0x1.4447b2p-13f;
  p = __builtin_fmaf(p, r, 0x1.5f0968p-10f);
  p = __builtin_fmaf(p, r, 0x1.3b2a28p-7f);
  p = __builtin_fmaf(p, r, 0x1.c6af7ap-5f);
  p = __builtin_fmaf(p, r, 0x1.ebfbe0p-3f);
  p = __builtin_fmaf(p, r, 0x1.62e430p-1f);
  p = __builtin_fmaf(p, r, 1.0f);
  return ScaleByPow2(p, static_cast<int32_t>(BitsOf(shifted) - BitsOf(kRoundF32)));
}

// x = m * 2**e, m in [sqrt(1/2), sqrt(2)), and ln m to 2**-33: of a positive finite x given in f64 (where no f32 is denormal).
struct LogParts {
  double exponent;
  double log_m;
};
static inline LogParts SplitLog(double x) {
  const uint64_t bits = BitsOf(x);
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  const uint64_t biased = (bits - kSqrtHalf + (uint64_t{1023} << 52)) >> 52;  // e + 1023
  const double exponent = F64FromBits(biased | 0x4330000000000000) - (0x1p52 + 1023.0);
  const double m = F64FromBits(bits - (biased << 52) + (uint64_t{1023} << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 13.0;  // 2 artanh(s) = 2 s (1 + z/3 + z**2/5 + ...), z < 0.0295
  p = __builtin_fma(p, z, 1.0 / 11.0);
  p = __builtin_fma(p, z, 1.0 / 9.0);
  p = __builtin_fma(p, z, 1.0 / 7.0);
  p = __builtin_fma(p, z, 1.0 / 5.0);
  p = __builtin_fma(p, z, 1.0 / 3.0);
  p = __builtin_fma(p, z, 1.0);
  return {exponent, 2.0 * s * p};
}

// The values a logarithm takes outside the positive numbers: -inf at zero, NaN below and for NaN, inf at inf.
static inline float LogSpecial(float x, float ordinary) {
  float result = x == __builtin_inff() ? x : ordinary;
  result = x == 0.0f ? -__builtin_inff() : result;
  return x >= 0.0f ? result : __builtin_nanf("");
}

static inline float LogF32(float x) {
  const LogParts parts = SplitLog(static_cast<double>(x));
  return LogSpecial(x, static_cast<float>(__builtin_fma(parts.exponent, 0x1.62e42fefa39efp-1, parts.log_m)));
}

static inline float Log2F32(float x) {
  const LogParts parts = SplitLog(static_cast<double>(x));
  return LogSpecial(x, static_cast<float>(__builtin_fma(parts.log_m, 0x1.71547652b82fep+0, parts.exponent)));
}

static inline float RsqrtF32(float x) { return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(x))); }

// Sine (quarter 0) or cosine (quarter 1) of |x| < kTrigLimit; beyond it the products below lose accuracy.
inline constexpr float kTrigLimit = 0x1p30f;
static inline float SinQuarterF32(float x, uint64_t quarter) {
  const double d = static_cast<double>(x);
  const double shifted = __builtin_fma(d, 0x1.45f306dc9c883p-1, kRoundF64);
  const double n = shifted - kRoundF64;
  double r = __builtin_fma(n, -0x1.921fb54442d18p+0, d);
  r = __builtin_fma(n, -0x1.1a62633145c07p-54, r);
  const double z = r * r;
  double s = -1.0 / 39916800.0;
  s = __builtin_fma(s, z, 1.0 / 362880.0);
  s = __builtin_fma(s, z, -1.0 / 5040.0);
  s = __builtin_fma(s, z, 1.0 / 120.0);
  s = __builtin_fma(s, z, -1.0 / 6.0);
  s = __builtin_fma(s * z, r, r);
  double c = 1.0 / 479001600.0;
  c = __builtin_fma(c, z, -1.0 / 3628800.0);
  c = __builtin_fma(c, z, 1.0 / 40320.0);
  c = __builtin_fma(c, z, -1.0 / 720.0);
  c = __builtin_fma(c, z, 1.0 / 24.0);
  c = __builtin_fma(c, z, -0.5);
  c = __builtin_fma(c, z, 1.0);
  const uint64_t q = BitsOf(shifted) + quarter;
  const uint64_t odd = ~((q & 1u) - 1u);  // all ones in odd quarters
  const uint64_t magnitude = (BitsOf(s) & ~odd) | (BitsOf(c) & odd);
  return static_cast<float>(F64FromBits(magnitude ^ ((q & 2u) << 62)));
}

// -0 keeps its sign: the reduction above gives +0.
static inline float SinSmallF32(float x) { return x == 0.0f ? x : SinQuarterF32(x, 0); }
static inline float CosSmallF32(float x) { return SinQuarterF32(x, 1); }
static inline bool IsTrigLarge(float x) { return __builtin_fabsf(x) >= kTrigLimit; }
static inline float SinLargeF32(float x) { return static_cast<float>(__builtin_sin(static_cast<double>(x))); }
static inline float CosLargeF32(float x) { return static_cast<float>(__builtin_cos(static_cast<double>(x))); }

static inline float TanhF32(float x) {
  const float t = __builtin_fabsf(x);
  const float s = x * x;
  float p = -0x1.769d24p-8f;
  p = __builtin_fmaf(p, s, 0x1.52530ap-6f);
  p = __builtin_fmaf(p, s, -0x1.b84398p-5f);
  p = __builtin_fmaf(p, s, 0x1.110762p-3f);
  p = __builtin_fmaf(p, s, -0x1.555534p-2f);
  const float small = __builtin_fmaf(p * s, x, x);
  const float large = 1.0f - 2.0f / (ExpF32(t + t) + 1.0f);
  return __builtin_copysignf(t < 0.625f ? small : large, x);
}

static inline float ErfF32(float x) {
  const float t = __builtin_fabsf(x);
  const float s = x * x;
  float p = 0x1.4e7c36p-14f;
  p = __builtin_fmaf(p, s, -0x1.a5c608p-11f);
  p = __builtin_fmaf(p, s, 0x1.544330p-8f);
  p = __builtin_fmaf(p, s, -0x1.b80088p-6f);
  p = __builtin_fmaf(p, s, 0x1.ce2d60p-4f);
  p = __builtin_fmaf(p, s, -0x1.812740p-2f);
  p = __builtin_fmaf(p, s, 0x1.06eba8p-3f);
  const float small = __builtin_fmaf(p, x, x);
  const float u = t > 4.0f ? 4.0f : t;  // erf(4) is 1 - 2**-26; a NaN passes
  float g = -0x1.96729ap-13f;           // -ln(1 - erf(u))
  g = __builtin_fmaf(g, u, 0x1.8c290ap-9f);
  g = __builtin_fmaf(g, u, -0x1.6ad1a6p-6f);
  g = __builtin_fmaf(g, u, 0x1.a90294p-4f);
  g = __builtin_fmaf(g, u, 0x1.4655dcp-1f);
  g = __builtin_fmaf(g, u, 0x1.20a7f4p+0f);
  g = __builtin_fmaf(g, u, 0x1.d32e58p-13f);
  const float large = 1.0f - ExpF32(-g);
  return __builtin_copysignf(t < 0.9375f ? small : large, x);
}

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_F32_MATH_H_
