// Conversions between f32, f64 and the narrow formats f16, bf16, f8e4m3, f8e5m2, on bit patterns. The rules are those of isa/eval.h.
//
// Every function is static, free of branches and of library calls: the array kernels (vm/kernels) compile this file once per instruction set
// and let the compiler make vectors of it, so nothing here may become a shared symbol. Encoding adds half of the cut-off bits to the pattern
// (with the kept low bit as tie breaker); below the smallest normal number the sum with a power of two, whose ulp is the format's smallest
// step, rounds instead. A source in f64 is first rounded to f32 "to odd" (cut, low bit set if anything was cut), which cannot change what a
// later rounding to 22 bits or fewer gives.
#ifndef TILEVM_ISA_NARROW_FLOAT_H_
#define TILEVM_ISA_NARROW_FLOAT_H_

#include <cstdint>

namespace tilevm::isa {

static inline uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
static inline uint64_t BitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
static inline float F32FromBits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
static inline double F64FromBits(uint64_t bits) { return __builtin_bit_cast(double, bits); }

inline constexpr uint32_t kF32AbsMask = 0x7fffffffu;
inline constexpr uint32_t kF32Infinity = 0x7f800000u;

// --- decoding: exact; a NaN becomes a quiet NaN ---

static inline float F16ToF32(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  const uint32_t normal = (magnitude << 13) + (112u << 23);  // rebias 15 to 127
  const uint32_t subnormal = BitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t special = (magnitude << 13) | kF32Infinity | (magnitude > 0x7c00u ? 0x00400000u : 0u);
  const uint32_t finite = magnitude < 0x400u ? subnormal : normal;
  return F32FromBits(sign | (magnitude >= 0x7c00u ? special : finite));
}

static inline float Bf16ToF32(uint16_t brain) { return F32FromBits(static_cast<uint32_t>(brain) << 16); }

static inline float F8E4M3ToF32(uint8_t x) {
  const uint32_t sign = static_cast<uint32_t>(x & 0x80u) << 24;
  const uint32_t magnitude = x & 0x7fu;
  const uint32_t normal = (magnitude << 20) + (120u << 23);  // rebias 7 to 127
  const uint32_t subnormal = BitsOf(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-9f);
  const uint32_t finite = magnitude < 8u ? subnormal : normal;
  return F32FromBits(sign | (magnitude == 0x7fu ? 0x7fc00000u : finite));
}

// The upper byte of an f16.
static inline float F8E5M2ToF32(uint8_t x) { return F16ToF32(static_cast<uint16_t>(static_cast<uint16_t>(x) << 8)); }

// --- encoding from f32: nearest even, or towards zero (suffix Rtz) ---

static inline uint16_t F32ToF16(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & kF32AbsMask;
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  const uint32_t subnormal = BitsOf(F32FromBits(magnitude) + 0.5f) - BitsOf(0.5f);  // ulp(0.5) is 2**-24
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;  // 2**-14
  result = magnitude >= 0x47800000u ? 0x7c00u : result;            // 2**16
  result = magnitude > kF32Infinity ? nan : result;
  return static_cast<uint16_t>(sign | result);
}

static inline uint16_t F32ToF16Rtz(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & kF32AbsMask;
  const uint32_t normal = (magnitude - (112u << 23)) >> 13;
  const bool tiny = magnitude < 0x38800000u;
  const uint32_t subnormal = static_cast<uint32_t>(static_cast<int32_t>((tiny ? F32FromBits(magnitude) : 0.0f) * 0x1p24f));
  const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t result = tiny ? subnormal : normal;
  result = magnitude >= 0x47800000u ? 0x7bffu : result;
  result = magnitude == kF32Infinity ? 0x7c00u : result;
  result = magnitude > kF32Infinity ? nan : result;
  return static_cast<uint16_t>(sign | result);
}

static inline uint16_t F32ToBf16(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & kF32AbsMask) > kF32Infinity ? nan : rounded);
}

static inline uint16_t F32ToBf16Rtz(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & kF32AbsMask) > kF32Infinity ? nan : bits >> 16);
}

static inline uint8_t F32ToF8E4M3(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & kF32AbsMask;
  const uint32_t clamped = magnitude > 0x43e00000u ? 0x43e00000u : magnitude;  // 448
  const uint32_t normal = (clamped + 0x7ffffu + ((clamped >> 20) & 1u) - (120u << 23)) >> 20;
  const uint32_t subnormal = BitsOf(F32FromBits(clamped) + 16384.0f) - BitsOf(16384.0f);  // ulp(2**14) is 2**-9
  uint32_t result = clamped < 0x3c800000u ? subnormal : normal;                           // 2**-6
  result = magnitude > kF32Infinity ? 0x7fu : result;
  return static_cast<uint8_t>(sign | result);
}

static inline uint8_t F32ToF8E4M3Rtz(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & kF32AbsMask;
  const uint32_t clamped = magnitude > 0x43e00000u ? 0x43e00000u : magnitude;
  const bool tiny = clamped < 0x3c800000u;
  const uint32_t subnormal = static_cast<uint32_t>(static_cast<int32_t>((tiny ? F32FromBits(clamped) : 0.0f) * 512.0f));
  uint32_t result = tiny ? subnormal : (clamped - (120u << 23)) >> 20;
  result = magnitude > kF32Infinity ? 0x7fu : result;
  return static_cast<uint8_t>(sign | result);
}

static inline uint8_t F32ToF8E5M2(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & kF32AbsMask;
  const uint32_t clamped = magnitude > 0x47600000u ? 0x47600000u : magnitude;  // 57344
  const uint32_t normal = (clamped + 0xfffffu + ((clamped >> 21) & 1u) - (112u << 23)) >> 21;
  const uint32_t subnormal = BitsOf(F32FromBits(clamped) + 128.0f) - BitsOf(128.0f);  // ulp(2**7) is 2**-16
  uint32_t result = clamped < 0x38800000u ? subnormal : normal;                       // 2**-14
  result = magnitude > kF32Infinity ? 0x7fu : result;
  return static_cast<uint8_t>(sign | result);
}

static inline uint8_t F32ToF8E5M2Rtz(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & kF32AbsMask;
  const uint32_t clamped = magnitude > 0x47600000u ? 0x47600000u : magnitude;
  const bool tiny = clamped < 0x38800000u;
  const uint32_t subnormal = static_cast<uint32_t>(static_cast<int32_t>((tiny ? F32FromBits(clamped) : 0.0f) * 65536.0f));
  uint32_t result = tiny ? subnormal : (clamped - (112u << 23)) >> 21;
  result = magnitude > kF32Infinity ? 0x7fu : result;
  return static_cast<uint8_t>(sign | result);
}

// --- f64 to f32 ---

// f64 to f32, what is cut off noted in the low bit. NaN stays NaN, infinities stay.
static inline float F64ToF32Odd(double x) {
  const float nearest = static_cast<float>(x);
  const uint32_t bits = BitsOf(nearest);
  const double back = static_cast<double>(nearest);
  const bool inexact = back != x && x == x;
  const bool too_large = __builtin_fabs(back) > __builtin_fabs(x);
  const bool even = (bits & 1u) == 0;
  const uint32_t step = too_large ? 0xffffffffu : 1u;  // one pattern towards zero, or away
  return F32FromBits(bits + (inexact && even ? step : 0u));
}

static inline float F64ToF32Rtz(double x) {
  const float nearest = static_cast<float>(x);
  const bool too_large = __builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(x);
  return F32FromBits(BitsOf(nearest) - (too_large ? 1u : 0u));
}

// --- tf32 ---

// What a tensor core makes of an f32 operand: the low 13 bits are cut off.
static inline float TruncateF32ToTf32(float x) {
  const uint32_t bits = BitsOf(x);
  return F32FromBits((bits & kF32AbsMask) >= kF32Infinity ? bits : bits & 0xffffe000u);
}

// Nearest, ties away from zero (cvt.rna.tf32.f32): the parts of the split modes.
static inline float RoundF32ToTf32(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t rounded = (bits + 0x1000u) & 0xffffe000u;
  return F32FromBits((bits & kF32AbsMask) >= kF32Infinity ? bits : rounded);
}

// Part `index` of x as a sum: two tf32 numbers, the first rounded, the second what is left, cut off; or three bf16 numbers, each the rounding (nearest even) of
// what the ones before leave. Where a part is infinite or NaN the later ones are zero.
static inline float Remainder(float x, float part) { return __builtin_fabsf(part) < __builtin_inff() ? x - part : 0.0f; }
static inline float Tf32Part(float x, int index) {
  const float big = RoundF32ToTf32(x);
  return index == 0 ? big : TruncateF32ToTf32(Remainder(x, big));
}
static inline float Bf16Part(float x, int index) {
  float part = Bf16ToF32(F32ToBf16(x));
  for (; index > 0; --index) {
    x = Remainder(x, part);
    part = Bf16ToF32(F32ToBf16(x));
  }
  return part;
}

// x * y + z rounded to odd in f64, for narrow operands, whose product is exact in f64: one more rounding, to a narrow format, is then the
// only one. The error of the sum is found by the two-sum of Knuth.
static inline double FmaNarrowOdd(float x, float y, float z) {
  const double product = static_cast<double>(x) * static_cast<double>(y);
  const double addend = static_cast<double>(z);
  const double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  const uint64_t bits = BitsOf(sum);
  const bool finite = __builtin_fabs(sum) < __builtin_inf();
  const bool adjust = finite && error != 0.0 && (bits & 1u) == 0;
  // The exact value lies beyond sum if error has its sign, else between zero and sum.
  const bool away = (error > 0.0) == (sum > 0.0);
  return F64FromBits(bits + (adjust ? (away ? 1u : ~uint64_t{0}) : 0u));
}

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_NARROW_FLOAT_H_
