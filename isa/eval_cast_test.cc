// Every code of the narrow formats decoded by definition, and every rounding decided by search among the neighbours.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "isa/eval.h"

namespace tilevm::isa {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Rounding kNearest = Rounding::kNearestEven;

struct Format {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  uint64_t largest;   // code of the largest finite value
  bool saturates;     // fp8
};
constexpr Format kFormats[] = {
    {DType::kF16, 5, 10, 0x7bff, false},
    {DType::kBF16, 8, 7, 0x7f7f, false},
    {DType::kF8E4M3, 4, 3, 0x7e, true},
    {DType::kF8E5M2, 5, 2, 0x7b, true},
};

// Value of a non-negative code, by the definition of a binary float.
double ValueOf(const Format& f, uint64_t code) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(code >> f.mantissa_bits);
  const uint64_t mantissa = code & ((uint64_t{1} << f.mantissa_bits) - 1);
  if (exponent == 0) return std::ldexp(static_cast<double>(mantissa), 1 - bias - f.mantissa_bits);
  return std::ldexp(static_cast<double>(mantissa + (uint64_t{1} << f.mantissa_bits)), exponent - bias - f.mantissa_bits);
}

// The code that x rounds to, by search.
uint64_t Search(const Format& f, double x, Rounding rounding) {
  const uint64_t sign = std::signbit(x) ? uint64_t{1} << (BitWidth(f.dtype) - 1) : 0;
  const double magnitude = std::fabs(x);
  uint64_t low = 0, high = f.largest;
  if (magnitude == kInf) return sign | (f.saturates ? f.largest : f.largest + 1);
  while (low < high) {  // the largest code whose value is <= magnitude
    const uint64_t middle = (low + high + 1) / 2;
    if (ValueOf(f, middle) <= magnitude) low = middle; else high = middle - 1;
  }
  if (rounding == Rounding::kTowardZero) return sign | low;
  const double below = magnitude - ValueOf(f, low), above = ValueOf(f, low + 1) - magnitude;  // exact: neighbours
  const bool up = above < below || (above == below && (low & 1) != 0);
  if (low == f.largest) return sign | (f.saturates || !up ? low : low + 1);
  return sign | (up ? low + 1 : low);
}

TEST(EvalCast, DecodesEveryCode) {
  for (const Format& f : kFormats) {
    const uint64_t sign = uint64_t{1} << (BitWidth(f.dtype) - 1);
    for (uint64_t code = 0; code < sign; ++code) {
      for (uint64_t negative : {uint64_t{0}, sign}) {
        const double got = ScalarToDouble(f.dtype, Scalar{code | negative});
        const Scalar f32 = EvalCast(f.dtype, DType::kF32, kNearest, Scalar{code | negative});
        const Scalar back = EvalCast(DType::kF32, f.dtype, kNearest, f32);
        if (code <= f.largest) {
          ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(negative ? -ValueOf(f, code) : ValueOf(f, code)));
          ASSERT_EQ(back.bits, code | negative) << "round trip";
        } else if (f.dtype != DType::kF8E4M3 && code == f.largest + 1) {
          ASSERT_EQ(got, negative ? -kInf : kInf);
          ASSERT_EQ(back.bits, (f.saturates ? f.largest : code) | negative);
        } else {
          ASSERT_TRUE(std::isnan(got));
          ASSERT_TRUE(ScalarIsNan(f.dtype, back));
        }
      }
    }
  }
}

// Around every code, halfway and one f32 (f64) step beside it, in both roundings.
TEST(EvalCast, RoundsEveryNeighbourhoodOnce) {
  for (const Format& f : kFormats) {
    std::vector<double> points = {kInf, 1e300, 3.4028234663852886e38, 1e-45, 5e-324, 0.0};
    for (uint64_t code = 0; code <= f.largest; ++code) {
      const double value = ValueOf(f, code), half = (value + ValueOf(f, code + 1)) / 2;
      for (double point : {value, half}) {
        const float narrow = static_cast<float>(point);
        for (double p : {point, std::nextafter(point, kInf), std::nextafter(point, 0.0),
                         static_cast<double>(std::nextafterf(narrow, 1e38f)), static_cast<double>(std::nextafterf(narrow, 0.0f))}) {
          points.push_back(p);
        }
      }
    }
    for (double magnitude : points) {
      for (double x : {magnitude, -magnitude}) {
        for (Rounding rounding : {kNearest, Rounding::kTowardZero}) {
          const uint64_t want = Search(f, x, rounding);
          ASSERT_EQ(EvalCast(DType::kF64, f.dtype, rounding, Scalar{std::bit_cast<uint64_t>(x)}).bits, want)
              << Name(f.dtype) << " from f64 " << std::hexfloat << x;
          const float x32 = static_cast<float>(x);
          if (static_cast<double>(x32) != x) continue;
          ASSERT_EQ(EvalCast(DType::kF32, f.dtype, rounding, Scalar{std::bit_cast<uint32_t>(x32)}).bits, want)
              << Name(f.dtype) << " from f32 " << std::hexfloat << x;
        }
      }
    }
    for (DType from : {DType::kF32, DType::kF64}) {
      EXPECT_TRUE(ScalarIsNan(f.dtype, EvalCast(from, f.dtype, kNearest, ScalarFromDouble(from, kNan))));
      EXPECT_TRUE(ScalarIsNan(f.dtype, EvalCast(from, f.dtype, Rounding::kTowardZero, ScalarFromDouble(from, kNan))));
    }
  }
}

TEST(EvalCast, PublicReports) {
  auto through = [](DType dtype, double x) {
    return ScalarToDouble(dtype, EvalCast(DType::kF32, dtype, kNearest, ScalarFromDouble(DType::kF32, x)));
  };
  EXPECT_EQ(through(DType::kF8E5M2, 1.125), 1.0);       // C033: a tie goes to even
  EXPECT_EQ(through(DType::kF8E4M3, 1.0625001), 1.125);  // not through f16
  EXPECT_EQ(through(DType::kF8E4M3, 1e9), 448.0);
  EXPECT_EQ(through(DType::kF8E5M2, -kInf), -57344.0);
  // C049
  auto to_int = [](DType from, double x, DType to) { return ScalarToInt(to, EvalCast(from, to, kNearest, ScalarFromDouble(from, x))); };
  EXPECT_EQ(to_int(DType::kF16, kInf, DType::kI8), 127);
  EXPECT_EQ(to_int(DType::kF16, 510, DType::kI8), 127);
  EXPECT_EQ(to_int(DType::kF16, -200, DType::kI8), -128);
  EXPECT_EQ(to_int(DType::kF32, kInf, DType::kI32), 2147483647);
  EXPECT_EQ(to_int(DType::kF32, kNan, DType::kI32), 0);
  EXPECT_EQ(to_int(DType::kF32, -5, DType::kU8), 0);
  EXPECT_EQ(static_cast<uint64_t>(to_int(DType::kF64, 1e30, DType::kU64)), ~uint64_t{0});
  EXPECT_EQ(to_int(DType::kF64, -1e30, DType::kI64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(to_int(DType::kF32, kNan, DType::kI1), 1);
  EXPECT_EQ(to_int(DType::kF32, -0.0, DType::kI1), 0);
  EXPECT_EQ(to_int(DType::kF32, 0.25, DType::kI1), 1);
  // C057
  Scalar x = EvalCast(DType::kF32, DType::kI8, kNearest, ScalarFromDouble(DType::kF32, -1.0));
  x = EvalCast(DType::kI8, DType::kU8, kNearest, x);
  EXPECT_EQ(EvalCast(DType::kU8, DType::kI32, kNearest, x).bits, 255u);
}

TEST(EvalCast, IntegersExtendWrapAndRoundOnce) {
  EXPECT_EQ(EvalCast(DType::kI8, DType::kU64, kNearest, ScalarFromInt(DType::kI8, -1)).bits, ~uint64_t{0});
  EXPECT_EQ(EvalCast(DType::kU8, DType::kI64, kNearest, Scalar{255}).bits, 255u);
  EXPECT_EQ(EvalCast(DType::kI64, DType::kI16, kNearest, ScalarFromInt(DType::kI64, 0x18000)).bits, 0x8000u);
  EXPECT_EQ(EvalCast(DType::kI32, DType::kI1, kNearest, Scalar{2}).bits, 1u);
  EXPECT_EQ(ScalarFromInt(DType::kI1, 2).bits, 0u);
  EXPECT_EQ(ScalarToDouble(DType::kF32, ScalarFromInt(DType::kF32, -(int64_t{1} << 62) - 1)), -0x1p62);
  const int64_t tie = (int64_t{1} << 53) + (int64_t{1} << 29) + 1;  // through f64 it would round to the even neighbour
  EXPECT_EQ(ScalarToDouble(DType::kF32, ScalarFromInt(DType::kF32, tie)), 0x1p53 + 0x1p30);
  EXPECT_EQ(ScalarToDouble(DType::kF64, ScalarFromUint(DType::kF64, ~uint64_t{0})), 0x1p64);
  EXPECT_EQ(ScalarToDouble(DType::kF16, ScalarFromInt(DType::kF16, 70000)), kInf);
  EXPECT_EQ(ScalarToDouble(DType::kF8E4M3, ScalarFromInt(DType::kF8E4M3, -70000)), -448);
  EXPECT_EQ(ScalarToDouble(DType::kF32, EvalCast(DType::kI1, DType::kF32, kNearest, Scalar{1})), 1.0);
}

// Any type to any type: in range of the target's width, and the value kept where it fits.
TEST(EvalCast, EveryPair) {
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      for (int value : {0, 1}) {
        const Scalar x = EvalCast(from, to, kNearest, ScalarFromInt(from, value));
        EXPECT_EQ(ScalarToDouble(to, x), value) << Name(from) << " to " << Name(to);
        EXPECT_EQ(ScalarIsTrue(to, x), value != 0);
      }
      if (from == DType::kI1 || to == DType::kI1) continue;
      EXPECT_EQ(ScalarToDouble(to, EvalCast(from, to, kNearest, ScalarFromInt(from, 96))), 96) << Name(from) << " to " << Name(to);
      if (IsUnsigned(from) || IsUnsigned(to)) continue;
      EXPECT_EQ(ScalarToDouble(to, EvalCast(from, to, kNearest, ScalarFromInt(from, -3))), -3) << Name(from) << " to " << Name(to);
    }
  }
}

TEST(EvalCast, F64ToF32TowardZero) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::bit_cast<double>(random());
    if (std::isnan(x)) continue;
    const float got = std::bit_cast<float>(static_cast<uint32_t>(
        EvalCast(DType::kF64, DType::kF32, Rounding::kTowardZero, Scalar{std::bit_cast<uint64_t>(x)}).bits));
    ASSERT_LE(std::fabs(static_cast<double>(got)), std::fabs(x));
    if (std::fabs(got) < std::numeric_limits<float>::max()) {
      ASSERT_GT(std::fabs(static_cast<double>(std::nextafterf(got, std::signbit(x) ? -HUGE_VALF : HUGE_VALF))), std::fabs(x));
    }
  }
}

}  // namespace
}  // namespace tilevm::isa
