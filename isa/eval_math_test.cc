// The accuracy that isa/eval.h states, on samples spread over all f32 patterns, against long double.
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "gtest/gtest.h"
#include "isa/eval.h"

namespace tilevm::isa {
namespace {

struct Function {
  Op op;
  std::function<long double(long double)> exact;
  double ulps;
};

// |got - exact| in units in the last place of the result, denormal results in units of 2**-149.
double ErrorUlps(float got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  if (exponent < -125) exponent = -125;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / std::ldexp(1.0L, exponent - 24));
}

TEST(EvalMath, F32WithinStatedUlps) {
  const Function functions[] = {
      {Op::kExp, [](long double x) { return std::exp(x); }, 0.9},
      {Op::kLibExp, [](long double x) { return std::exp(x); }, 0.9},
      {Op::kExp2, [](long double x) { return std::exp2(x); }, 0.9},
      {Op::kLog, [](long double x) { return std::log(x); }, 0.501},
      {Op::kLog2, [](long double x) { return std::log2(x); }, 0.501},
      {Op::kRsqrt, [](long double x) { return 1 / std::sqrt(x); }, 0.501},
      {Op::kSqrt, [](long double x) { return std::sqrt(x); }, 0.5},
      {Op::kSin, [](long double x) { return std::sin(x); }, 0.501},
      {Op::kCos, [](long double x) { return std::cos(x); }, 0.501},
      {Op::kTanh, [](long double x) { return std::tanh(x); }, 1.3},
      {Op::kErf, [](long double x) { return std::erf(x); }, 1.1},
      {Op::kLog10, [](long double x) { return std::log10(x); }, 0.501},
      {Op::kAtan, [](long double x) { return std::atan(x); }, 0.501},
      {Op::kCbrt, [](long double x) { return std::cbrt(x); }, 0.501},
      {Op::kExpm1, [](long double x) { return std::expm1(x); }, 0.501},
  };
  for (const Function& f : functions) {
    double worst = 0;
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 20011) {
      const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (std::isnan(x)) continue;
      const float got = std::bit_cast<float>(static_cast<uint32_t>(EvalUnary(f.op, DType::kF32, Scalar{bits}).bits));
      const long double exact = f.exact(x);
      const float rounded = static_cast<float>(exact);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(got)) << Mnemonic(f.op) << " " << x;
      } else if (std::isinf(rounded) || std::isinf(got)) {
        ASSERT_EQ(got, rounded) << Mnemonic(f.op) << " " << x;
      } else {
        worst = std::fmax(worst, ErrorUlps(got, exact));
      }
    }
    EXPECT_LE(worst, f.ulps) << Mnemonic(f.op);
  }
}

TEST(EvalMath, ExactAndSpecialPoints) {
  auto f32 = [](Op op, double x) { return ScalarToDouble(DType::kF32, EvalUnary(op, DType::kF32, ScalarFromDouble(DType::kF32, x))); };
  const double inf = HUGE_VAL;
  for (int n = -149; n <= 127; ++n) {
    ASSERT_EQ(f32(Op::kExp2, n), std::ldexp(1.0, n));
    ASSERT_EQ(f32(Op::kLog2, std::ldexp(1.0, n)), n);
  }
  EXPECT_EQ(f32(Op::kExp2, 128), inf);
  EXPECT_EQ(f32(Op::kExp2, -151), 0);
  for (Op op : {Op::kExp, Op::kExp2}) {
    EXPECT_EQ(f32(op, inf), inf);
    EXPECT_EQ(f32(op, -inf), 0);
    EXPECT_EQ(f32(op, 0), 1);
    EXPECT_TRUE(std::isnan(f32(op, NAN)));
  }
  for (Op op : {Op::kLog, Op::kLog2, Op::kLog10}) {
    EXPECT_EQ(f32(op, 0), -inf);
    EXPECT_EQ(f32(op, -0.0), -inf);
    EXPECT_EQ(f32(op, 1), 0);
    EXPECT_TRUE(std::isnan(f32(op, -1)));
  }
  for (Op op : {Op::kSin, Op::kTanh, Op::kErf}) {
    EXPECT_TRUE(std::signbit(f32(op, -0.0)));
    EXPECT_EQ(f32(op, 0x1p-149), 0x1p-149);
    EXPECT_TRUE(std::isnan(f32(op, NAN)));
  }
  EXPECT_TRUE(std::isnan(f32(Op::kSin, inf)));
  EXPECT_TRUE(std::isnan(f32(Op::kCos, -inf)));
  EXPECT_EQ(f32(Op::kTanh, -inf), -1);
  EXPECT_EQ(f32(Op::kErf, inf), 1);
  EXPECT_EQ(f32(Op::kRsqrt, 0), inf);
  EXPECT_EQ(f32(Op::kRsqrt, 4), 0.5);
  EXPECT_NEAR(f32(Op::kSin, 1e30), std::sin(static_cast<double>(1e30f)), 1e-7);
}

}  // namespace
}  // namespace tilevm::isa
