// Integer and float ops of eval.h against wide arithmetic; the known answers of Philox; the splits of dot operands.
#include "isa/eval.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tilevm::isa {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Scalar I(DType dtype, int64_t value) { return ScalarFromInt(dtype, value); }
Scalar F(DType dtype, double value) { return ScalarFromDouble(dtype, value); }
int64_t IntOp(Op op, DType dtype, int64_t x, int64_t y) {
  return ScalarToInt(EvalResultType(op, dtype), EvalBinary(op, dtype, I(dtype, x), I(dtype, y)));
}
double FloatOp(Op op, DType dtype, double x, double y, bool propagate_nan = false) {
  return ScalarToDouble(EvalResultType(op, dtype), EvalBinary(op, dtype, F(dtype, x), F(dtype, y), propagate_nan));
}

// Every pair of 8-bit operands, against arithmetic in int.
TEST(EvalInt, AllPairsOf8Bits) {
  for (DType dtype : {DType::kI8, DType::kU8}) {
    const bool is_signed = dtype == DType::kI8;
    auto wrap = [&](int v) { return is_signed ? static_cast<int>(static_cast<int8_t>(v)) : static_cast<int>(static_cast<uint8_t>(v)); };
    for (int i = 0; i < 256; ++i) {
      for (int j = 0; j < 256; ++j) {
        const int x = wrap(i), y = wrap(j);
        ASSERT_EQ(IntOp(Op::kAdd, dtype, x, y), wrap(x + y));
        ASSERT_EQ(IntOp(Op::kSub, dtype, x, y), wrap(x - y));
        ASSERT_EQ(IntOp(Op::kMul, dtype, x, y), wrap(x * y));
        ASSERT_EQ(IntOp(Op::kFloorDiv, dtype, x, y), y == 0 ? wrap(-1) : wrap(x / y));
        ASSERT_EQ(IntOp(Op::kMod, dtype, x, y), y == 0 ? x : wrap(x % y));
        ASSERT_EQ(IntOp(Op::kBitXor, dtype, x, y), wrap(x ^ y));
        ASSERT_EQ(IntOp(Op::kShl, dtype, x, y), j >= 8 ? 0 : wrap(x << j));
        ASSERT_EQ(IntOp(Op::kShr, dtype, x, y), wrap(x >> (j >= 8 ? 31 : j)));
        ASSERT_EQ(IntOp(Op::kLt, dtype, x, y), x < y);
        ASSERT_EQ(IntOp(Op::kGe, dtype, x, y), x >= y);
        ASSERT_EQ(IntOp(Op::kEq, dtype, x, y), x == y);
        ASSERT_EQ(IntOp(Op::kMaximum, dtype, x, y), x > y ? x : y);
        ASSERT_EQ(IntOp(Op::kMinimum, dtype, x, y), x < y ? x : y);
      }
    }
  }
}

TEST(EvalInt, EdgesOfEveryWidth) {
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    const int64_t min = std::numeric_limits<int64_t>::min() >> (64 - BitWidth(dtype));
    EXPECT_EQ(IntOp(Op::kFloorDiv, dtype, min, -1), min);
    EXPECT_EQ(IntOp(Op::kMod, dtype, min, -1), 0);
    EXPECT_EQ(IntOp(Op::kFloorDiv, dtype, 2, 0), -1);
    EXPECT_EQ(IntOp(Op::kMod, dtype, -2, 0), -2);
    EXPECT_EQ(IntOp(Op::kFloorDiv, dtype, 3, -2), -1);  // C051: truncates
    EXPECT_EQ(IntOp(Op::kMod, dtype, 3, -2), 1);
    EXPECT_EQ(IntOp(Op::kShr, dtype, min, -1), -1);  // the count is unsigned
    EXPECT_EQ(ScalarToInt(dtype, EvalUnary(Op::kAbs, dtype, I(dtype, min))), min);
    EXPECT_EQ(ScalarToInt(dtype, EvalUnary(Op::kNeg, dtype, I(dtype, min))), min);
  }
  EXPECT_EQ(IntOp(Op::kShr, DType::kU32, 0x80000000, 1), 0x40000000);  // C055
  EXPECT_EQ(IntOp(Op::kShr, DType::kU32, 0xDEADBEEF, 4), 0x0DEADBEE);
  EXPECT_EQ(IntOp(Op::kShr, DType::kU16, 0x8000, 5), 0x0400);
  EXPECT_EQ(IntOp(Op::kAdd, DType::kI64, 0, std::numeric_limits<int64_t>::min()), std::numeric_limits<int64_t>::min());  // C061
  EXPECT_EQ(IntOp(Op::kUmulhi, DType::kU32, 0xffffffff, 0xffffffff), 0xfffffffe);
  EXPECT_EQ(static_cast<uint64_t>(IntOp(Op::kUmulhi, DType::kU64, -1, -1)), 0xfffffffffffffffeu);
  EXPECT_EQ(IntOp(Op::kUmulhi, DType::kI32, -1, 2), 1);
}

TEST(EvalInt, BooleansAreOneBitNumbers) {
  for (int x : {0, 1}) {
    for (int y : {0, 1}) {
      EXPECT_EQ(IntOp(Op::kAdd, DType::kI1, x, y), x ^ y);
      EXPECT_EQ(IntOp(Op::kSub, DType::kI1, x, y), x ^ y);
      EXPECT_EQ(IntOp(Op::kMul, DType::kI1, x, y), x & y);
      EXPECT_EQ(IntOp(Op::kFloorDiv, DType::kI1, x, y), y == 0 ? 1 : x);
      EXPECT_EQ(IntOp(Op::kMod, DType::kI1, x, y), y == 0 ? x : 0);
      EXPECT_EQ(IntOp(Op::kShl, DType::kI1, x, y), y == 0 ? x : 0);
      EXPECT_EQ(IntOp(Op::kShr, DType::kI1, x, y), y == 0 ? x : 0);
    }
    EXPECT_EQ(EvalUnary(Op::kNeg, DType::kI1, Scalar{static_cast<uint64_t>(x)}).bits, static_cast<uint64_t>(x));
    EXPECT_EQ(EvalUnary(Op::kInvert, DType::kI1, Scalar{static_cast<uint64_t>(x)}).bits, static_cast<uint64_t>(1 - x));
  }
}

TEST(EvalFloat, MaximumAndMinimum) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    EXPECT_EQ(FloatOp(Op::kMaximum, dtype, 1, 2), 2);
    EXPECT_EQ(FloatOp(Op::kMinimum, dtype, 1, 2), 1);
    EXPECT_FALSE(std::signbit(FloatOp(Op::kMaximum, dtype, -0.0, 0.0)));
    EXPECT_FALSE(std::signbit(FloatOp(Op::kMaximum, dtype, 0.0, -0.0)));
    EXPECT_TRUE(std::signbit(FloatOp(Op::kMinimum, dtype, -0.0, 0.0)));
    EXPECT_TRUE(std::signbit(FloatOp(Op::kMinimum, dtype, 0.0, -0.0)));
    EXPECT_EQ(FloatOp(Op::kMaximum, dtype, kNan, 2), 2);
    EXPECT_EQ(FloatOp(Op::kMinimum, dtype, 2, kNan), 2);
    EXPECT_TRUE(std::isnan(FloatOp(Op::kMaximum, dtype, kNan, kNan)));
    EXPECT_TRUE(std::isnan(FloatOp(Op::kMaximum, dtype, 2, kNan, true)));
    EXPECT_TRUE(std::isnan(FloatOp(Op::kMinimum, dtype, kNan, 2, true)));
    const Scalar x = F(dtype, 9), low = F(dtype, 0), high = F(dtype, 6);
    EXPECT_EQ(ScalarToDouble(dtype, EvalTernary(Op::kClamp, dtype, x, low, high)), 6);
    EXPECT_EQ(ScalarToDouble(dtype, EvalTernary(Op::kClamp, dtype, F(dtype, kNan), low, high)), 0);
    EXPECT_TRUE(ScalarIsNan(dtype, EvalTernary(Op::kClamp, dtype, F(dtype, kNan), low, high, true)));
  }
  EXPECT_EQ(EvalBinary(Op::kMaximum, DType::kF8E5M2, Scalar{0x7c}, Scalar{0x3c}).bits, 0x7cu) << "an infinity is not rounded away";
}

TEST(EvalFloat, ComparesAreOrderedExceptNe) {
  for (Op op : {Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kEq}) {
    EXPECT_EQ(FloatOp(op, DType::kF32, kNan, kNan), 0);
    EXPECT_EQ(FloatOp(op, DType::kF16, 1, kNan), 0);
  }
  EXPECT_EQ(FloatOp(Op::kNe, DType::kF32, kNan, kNan), 1);
  EXPECT_EQ(FloatOp(Op::kEq, DType::kBF16, -0.0, 0.0), 1);
  EXPECT_EQ(FloatOp(Op::kLt, DType::kF64, -kInf, kInf), 1);
}

TEST(EvalFloat, DivisionAndRemainder) {
  EXPECT_EQ(FloatOp(Op::kTrueDiv, DType::kF32, 4.6875, 0.9375), 5.0);  // C039
  EXPECT_EQ(FloatOp(Op::kTrueDiv, DType::kF32, 1, 0), kInf);
  EXPECT_TRUE(std::isnan(FloatOp(Op::kTrueDiv, DType::kF32, 0, 0)));
  EXPECT_EQ(FloatOp(Op::kMod, DType::kF32, -7, 2), -1);
  EXPECT_EQ(FloatOp(Op::kMod, DType::kF64, 7.5, kInf), 7.5);
  EXPECT_TRUE(std::isnan(FloatOp(Op::kMod, DType::kF32, 1, 0)));
  EXPECT_EQ(FloatOp(Op::kMod, DType::kF16, 65504, 3), std::fmod(65504.0, 3.0));
  const float denormal = 0x1p-149f;
  EXPECT_EQ(FloatOp(Op::kAdd, DType::kF32, denormal, denormal), 0x1p-148);
}

// f64 holds any sum, product or quotient of two f16 or bf16 to far more than twice their precision, so one rounding from there is right.
TEST(EvalFloat, NarrowArithmeticRoundsOnce) {
  std::mt19937_64 random(7);
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    const uint64_t mask = BitWidth(dtype) == 16 ? 0xffff : 0xff;
    for (int i = 0; i < 200000; ++i) {
      const Scalar x{random() & mask}, y{random() & mask};
      const double a = ScalarToDouble(dtype, x), b = ScalarToDouble(dtype, y);
      ASSERT_TRUE(SameScalar(dtype, EvalBinary(Op::kAdd, dtype, x, y), F(dtype, a + b))) << Name(dtype) << " " << a << " + " << b;
      ASSERT_TRUE(SameScalar(dtype, EvalBinary(Op::kSub, dtype, x, y), F(dtype, a - b))) << Name(dtype) << " " << a << " - " << b;
      if (dtype == DType::kBF16) continue;  // its products leave f32's range, where f32 rounds first
      ASSERT_TRUE(SameScalar(dtype, EvalBinary(Op::kMul, dtype, x, y), F(dtype, a * b))) << Name(dtype) << " " << a << " * " << b;
      ASSERT_TRUE(SameScalar(dtype, EvalBinary(Op::kTrueDiv, dtype, x, y), F(dtype, a / b))) << Name(dtype) << " " << a << " / " << b;
    }
  }
}

// __float128 holds x * y + z of f16 exactly (80 bits); the f64 below it is rounded to odd by hand.
TEST(EvalFloat, F16FmaRoundsOnce) {
  std::mt19937_64 random(11);
  int differs_from_two_roundings = 0;
  for (int i = 0; i < 300000; ++i) {
    const Scalar x{random() & 0xffff}, y{random() & 0xffff}, z{random() & 0xffff};
    const double a = ScalarToDouble(DType::kF16, x), b = ScalarToDouble(DType::kF16, y), c = ScalarToDouble(DType::kF16, z);
    const __float128 exact = static_cast<__float128>(a) * b + c;
    double odd = static_cast<double>(exact);
    if (std::isfinite(odd) && static_cast<__float128>(odd) != exact && (std::bit_cast<uint64_t>(odd) & 1) == 0) {
      odd = std::nextafter(odd, static_cast<__float128>(odd) < exact ? kInf : -kInf);
    }
    const Scalar got = EvalTernary(Op::kFma, DType::kF16, x, y, z);
    ASSERT_TRUE(SameScalar(DType::kF16, got, F(DType::kF16, odd))) << a << " * " << b << " + " << c;
    differs_from_two_roundings += !SameScalar(DType::kF16, got, F(DType::kF16, static_cast<float>(a * b + c)));
  }
  // 1 + 2**-10 + 2**-11 is a tie for f16; the product below breaks it upwards by 2**-26.
  const Scalar tie = EvalTernary(Op::kFma, DType::kF16, F(DType::kF16, 0x1p-13), F(DType::kF16, 0x1p-13), F(DType::kF16, 1));
  EXPECT_EQ(ScalarToDouble(DType::kF16, tie), 1.0);
  EXPECT_GE(differs_from_two_roundings, 0);
}

TEST(EvalFloat, SignOpsKeepBits) {
  EXPECT_EQ(EvalUnary(Op::kNeg, DType::kF16, Scalar{0x7e01}).bits, 0xfe01u);
  EXPECT_EQ(EvalUnary(Op::kAbs, DType::kF8E5M2, Scalar{0xfc}).bits, 0x7cu);
  EXPECT_EQ(EvalBinary(Op::kCopySign, DType::kF32, F(DType::kF32, 3), F(DType::kF32, -0.0)), F(DType::kF32, -3));
}

TEST(EvalFloat, ClassesAndRounding) {
  EXPECT_EQ(EvalUnary(Op::kIsNan, DType::kF8E4M3, Scalar{0xff}).bits, 1u);
  EXPECT_EQ(EvalUnary(Op::kIsInf, DType::kF8E5M2, Scalar{0xfc}).bits, 1u);
  EXPECT_EQ(EvalUnary(Op::kIsFinite, DType::kF32, F(DType::kF32, kInf)).bits, 0u);
  auto rounded = [](Op op, double x) { return ScalarToDouble(DType::kF32, EvalUnary(op, DType::kF32, F(DType::kF32, x))); };
  EXPECT_EQ(rounded(Op::kRound, 2.5), 3);
  EXPECT_EQ(rounded(Op::kRint, 2.5), 2);
  EXPECT_EQ(rounded(Op::kFloor, -0.5), -1);
  EXPECT_EQ(rounded(Op::kCeil, 0.5), 1);
  EXPECT_EQ(rounded(Op::kTrunc, -1.5), -1);
  auto to_int = [](double x) { return ScalarToInt(DType::kI64, EvalUnary(Op::kLlRint, DType::kF64, F(DType::kF64, x))); };
  EXPECT_EQ(to_int(-3.5), -4);
  EXPECT_EQ(to_int(1e300), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_int(kNan), 0);
  EXPECT_EQ(ScalarToDouble(DType::kF32, EvalPowInt(DType::kF32, F(DType::kF32, 2), I(DType::kI32, -3))), 0.125);
}

TEST(EvalTables, EveryOpAnswersForEveryType) {
  std::mt19937_64 random(3);
  int covered = 0;
  for (int code = 0; code < 0x100; ++code) {
    const Op op = static_cast<Op>(code);
    for (DType dtype : kAllDTypes) {
      if (!HasEval(op, dtype)) continue;
      ++covered;
      const uint64_t mask = BitWidth(dtype) == 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(dtype)) - 1;
      const DType result_type = EvalResultType(op, dtype);
      for (int i = 0; i < 50; ++i) {
        const Scalar x{random() & mask}, y{random() & mask}, z{random() & mask};
        Scalar r;
        if (EvalArity(op) == 1) r = EvalUnary(op, dtype, x);
        if (EvalArity(op) == 2) r = EvalBinary(op, dtype, x, y);
        if (EvalArity(op) == 3) r = EvalTernary(op, dtype, op == Op::kWhere ? Scalar{x.bits & 1} : x, y, z);
        EXPECT_TRUE(BitWidth(result_type) == 64 || (r.bits >> BitWidth(result_type)) == 0) << code;
      }
    }
  }
  EXPECT_GT(covered, 400);
  EXPECT_FALSE(HasEval(Op::kLoad, DType::kF32));
  EXPECT_FALSE(HasEval(Op::kUmulhi, DType::kI16));
  EXPECT_FALSE(HasEval(Op::kBitAnd, DType::kF32));
}

TEST(EvalPtrAdd, ExtendsTheOffset) {
  EXPECT_EQ(EvalPtrAdd(DType::kF32, Scalar{1000}, DType::kI32, I(DType::kI32, -2)).bits, 992u);
  EXPECT_EQ(EvalPtrAdd(DType::kF16, Scalar{0}, DType::kU32, I(DType::kU32, -1)).bits, 0x1fffffffeu);
}

TEST(Philox, KnownAnswers) {
  struct Vector { uint64_t seed, offset; uint64_t word[4]; };
  const Vector vectors[] = {
      {0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {0, 1, {0xf8e4cca4, 0x5cb200db, 0xb1a574eb, 0x097eff67}},
      {42, 7, {0x5bbd83b1, 0x68784c85, 0x172067aa, 0x2e6b75b7}},
      {(uint64_t{1} << 40) + 5, 3, {0xade1c301, 0xea46954c, 0x3af52e04, 0xdbb9ee41}},
  };
  for (const Vector& v : vectors) {
    const PhiloxWords words = EvalPhiloxSeed(32, v.seed, {{v.offset, 0, 0, 0}}, 10);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words.word[i], v.word[i]) << v.seed << " " << v.offset << " " << i;
  }
  const PhiloxWords wide = EvalPhiloxSeed(64, 0, {{0, 0, 0, 0}}, 10);  // the first vector published with the generator
  EXPECT_EQ(wide.word[0], 0x16554d9eca36314cu);
  EXPECT_EQ(wide.word[1], 0xdb20fe9d672d0fdcu);
  EXPECT_EQ(wide.word[2], 0xd7e772cee186176bu);
  EXPECT_EQ(wide.word[3], 0x7e68b68aec7ba23bu);
  EXPECT_NE(EvalPhiloxSeed(32, 0, {{0, 1, 0, 0}}, 10).word[0], 0x6627e8d5u);  // C067: the high counter word matters
}

TEST(DotOperands, Tf32AndSplits) {
  EXPECT_EQ(RoundToTf32(1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(RoundToTf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);  // a tie goes away from zero
  EXPECT_EQ(RoundToTf32(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
  EXPECT_EQ(RoundToTf32(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(TruncateToTf32(1.0f + 0x1p-12f), 1.0f);  // C041
  EXPECT_EQ(TruncateToTf32(1.0f + 0x1p-10f), 1.0f + 0x1p-10f);
  EXPECT_EQ(TruncateToTf32(-2.0f + 0x1p-23f), -2.0f + 0x1p-10f);
  EXPECT_EQ(TruncateToTf32(-std::numeric_limits<float>::infinity()), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(TruncateToTf32(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(RoundToTf32(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(RoundToTf32(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(SplitTf32(std::numeric_limits<float>::infinity()).small, 0.0f);
  EXPECT_EQ(SplitBf16(std::numeric_limits<float>::max()).part[1], 0.0f) << "the first part rounds to infinity";
  std::mt19937 random(5);
  for (int i = 0; i < 10000; ++i) {
    const float x = std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 60) - 60);
    const Tf32Parts tf32 = SplitTf32(x);
    EXPECT_LE(std::fabs(static_cast<double>(x) - tf32.big - tf32.small), std::fabs(x) * 0x1p-21);
    EXPECT_EQ(TruncateToTf32(tf32.big), tf32.big);
    EXPECT_EQ(TruncateToTf32(tf32.small), tf32.small);
    const Bf16Parts bf16 = SplitBf16(x);
    EXPECT_EQ(static_cast<double>(bf16.part[0]) + bf16.part[1] + bf16.part[2], static_cast<double>(x)) << "three bf16 parts hold an f32";
  }
}

}  // namespace
}  // namespace tilevm::isa
