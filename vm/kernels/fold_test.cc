// Reductions and scans of every level against folds of isa/eval.h in the order that kernels.h promises, and float sums against the error bound.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "vm/kernels/kernels.h"

namespace tilevm::kernels {
namespace {

using isa::DType;
using isa::Op;
using isa::Scalar;

constexpr FoldKind kKinds[] = {FoldKind::kAdd, FoldKind::kMul, FoldKind::kMax, FoldKind::kMin, FoldKind::kXor, FoldKind::kAnd, FoldKind::kOr};
Op OpOf(FoldKind kind) {
  constexpr Op kOps[] = {Op::kAdd, Op::kMul, Op::kMaximum, Op::kMinimum, Op::kBitXor, Op::kBitAnd, Op::kBitOr};
  return kOps[static_cast<int>(kind)];
}

Scalar Get(DType dtype, const std::vector<char>& bytes, int64_t i) {
  Scalar x;
  std::memcpy(&x.bits, bytes.data() + i * isa::StorageBytes(dtype), isa::StorageBytes(dtype));
  return x;
}
void Put(DType dtype, std::vector<char>& bytes, int64_t i, Scalar x) {
  std::memcpy(bytes.data() + i * isa::StorageBytes(dtype), &x.bits, isa::StorageBytes(dtype));
}

// Numbers around 1 for floats (products stay finite), with a few zeros of either sign and NaN if asked for; any pattern for integers.
std::vector<char> RandomArray(DType dtype, int64_t n, bool nans, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<char> bytes(n * isa::StorageBytes(dtype));
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t r = random();
    double v = (static_cast<double>(r >> 40) * 0x1p-24 + 0.5) * ((r & 1) != 0 ? 1 : -1);
    if (nans && r % 16 == 2) v = 0.0;
    if (nans && r % 16 == 3) v = -0.0;
    if (nans && r % 8 == 4) v = NAN;
    Put(dtype, bytes, i, isa::IsFloat(dtype) ? isa::ScalarFromDouble(dtype, v) : isa::ScalarFromUint(dtype, r));
  }
  return bytes;
}

bool Rounds(FoldKind kind, DType dtype) { return isa::IsFloat(dtype) && (kind == FoldKind::kAdd || kind == FoldKind::kMul); }

// The fold of elements, in the order of kernels.h; narrow sums in f32.
Scalar FoldInOrder(FoldKind kind, DType dtype, const std::vector<Scalar>& x) {
  const DType sum_type = Rounds(kind, dtype) && dtype != DType::kF64 ? DType::kF32 : dtype;
  const Op op = OpOf(kind);
  std::vector<Scalar> lanes;
  for (size_t i = 0; i < x.size(); ++i) {
    const Scalar value = isa::EvalCast(dtype, sum_type, isa::Rounding::kNearestEven, x[i]);
    if (i < kReduceLanes) {
      lanes.push_back(value);
    } else {
      lanes[i % kReduceLanes] = isa::EvalBinary(op, sum_type, lanes[i % kReduceLanes], value);
    }
  }
  while (lanes.size() > 1) {
    const size_t half = (lanes.size() + 1) / 2;
    for (size_t l = 0; l + half < lanes.size(); ++l) lanes[l] = isa::EvalBinary(op, sum_type, lanes[l], lanes[l + half]);
    lanes.resize(half);
  }
  return isa::EvalCast(sum_type, dtype, isa::Rounding::kNearestEven, lanes[0]);
}

struct Extents { int64_t outer, extent, inner; };
constexpr Extents kExtents[] = {{3, 1, 1},    {2, 2, 1}, {2, 31, 1},  {1, 32, 1}, {2, 33, 1},  {2, 1000, 1},
                                {1, 1537, 1}, {2, 5, 3}, {1, 70, 65}, {2, 64, 8}, {1, 40, 130}};

class FoldTest : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (!LevelAvailable(GetParam())) GTEST_SKIP() << "not on this machine";
  }
};
INSTANTIATE_TEST_SUITE_P(Folds, FoldTest, testing::Values(Level::kPortable, Level::kAvx2));

TEST_P(FoldTest, ReduceInTheStatedOrder) {
  for (DType dtype : isa::kAllDTypes) {
    for (FoldKind kind : kKinds) {
      const ReduceFn kernel = FindReduce(kind, dtype, GetParam());
      ASSERT_EQ(kernel != nullptr, HasFold(kind, dtype)) << isa::Name(dtype);
      if (kernel == nullptr) continue;
      for (const Extents& e : kExtents) {
        const std::vector<char> x = RandomArray(dtype, e.outer * e.extent * e.inner, !Rounds(kind, dtype), e.extent);
        std::vector<char> out(e.outer * e.inner * isa::StorageBytes(dtype));
        kernel(x.data(), out.data(), e.outer, e.extent, e.inner);
        for (int64_t i = 0; i < e.outer * e.inner; ++i) {
          std::vector<Scalar> column;
          for (int64_t k = 0; k < e.extent; ++k) column.push_back(Get(dtype, x, (i / e.inner * e.extent + k) * e.inner + i % e.inner));
          const Scalar want = FoldInOrder(kind, dtype, column);
          ASSERT_TRUE(isa::SameScalar(dtype, Get(dtype, out, i), want))
              << isa::Name(dtype) << " kind " << static_cast<int>(kind) << " extent " << e.extent << " inner " << e.inner << " at " << i
              << std::hex << ": " << Get(dtype, out, i).bits << ", want " << want.bits;
        }
      }
    }
  }
}

// (log2 n + n / 32) * 2**-24 * sum of magnitudes, design of the float sums and scans.
TEST_P(FoldTest, FloatSumsWithinTheBound) {
  for (int64_t n : {1, 7, 64, 1024, 65536}) {
    std::vector<float> x(n), scan(n);
    std::mt19937 random(static_cast<unsigned>(n));
    double exact = 0, magnitudes = 0;
    for (float& v : x) v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    float sum = 0;
    FindReduce(FoldKind::kAdd, DType::kF32, GetParam())(x.data(), &sum, 1, n, 1);
    FindScan(FoldKind::kAdd, DType::kF32, GetParam())(x.data(), scan.data(), 1, n, 1, false);
    for (int64_t i = 0; i < n; ++i) {
      exact += static_cast<double>(x[i]);
      magnitudes += std::fabs(static_cast<double>(x[i]));
      const double bound = (std::log2(i + 1.0) + (i + 1) / 32.0) * 0x1p-24 * magnitudes;
      ASSERT_LE(std::fabs(static_cast<double>(scan[i]) - exact), bound + 0x1p-24 * std::fabs(exact));
    }
    EXPECT_LE(std::fabs(static_cast<double>(sum) - exact), (std::log2(n) + n / 32.0) * 0x1p-24 * magnitudes) << n;
  }
}

TEST_P(FoldTest, NanSurvivesANarrowSum) {  // C029
  std::vector<uint16_t> x(16, 0x3f80);
  x[5] = 0x7fc0;
  uint16_t sum = 0;
  FindReduce(FoldKind::kAdd, DType::kBF16, GetParam())(x.data(), &sum, 1, 16, 1);
  EXPECT_TRUE(isa::ScalarIsNan(DType::kBF16, Scalar{sum}));
}

TEST_P(FoldTest, ArgReduce) {
  for (DType dtype : isa::kAllDTypes) {
    for (bool maximum : {false, true}) {
      for (const Extents& e : kExtents) {
        const int64_t n = e.outer * e.extent * e.inner;
        const std::vector<char> x = RandomArray(dtype, n, true, n);
        std::vector<int32_t> index(n), out_index(e.outer * e.inner);
        for (int64_t i = 0; i < n; ++i) index[i] = static_cast<int32_t>((i / e.inner * 7919) % e.extent);  // not in order
        std::vector<char> out(e.outer * e.inner * isa::StorageBytes(dtype));
        FindArgReduce(maximum, dtype, GetParam())(x.data(), index.data(), out.data(), out_index.data(), e.outer, e.extent, e.inner);
        for (int64_t i = 0; i < e.outer * e.inner; ++i) {
          int64_t best = -1;
          for (int64_t k = 0; k < e.extent; ++k) {
            const int64_t at = (i / e.inner * e.extent + k) * e.inner + i % e.inner;
            if (best < 0) { best = at; continue; }
            const Scalar v = Get(dtype, x, at), w = Get(dtype, x, best);
            const bool v_nan = isa::ScalarIsNan(dtype, v), w_nan = isa::ScalarIsNan(dtype, w);
            const bool better = isa::EvalBinary(maximum ? Op::kGt : Op::kLt, dtype, v, w).bits != 0 || (w_nan && !v_nan);
            const bool tie = isa::EvalBinary(Op::kEq, dtype, v, w).bits != 0 || (v_nan && w_nan);
            if (better || (tie && index[at] < index[best])) best = at;
          }
          ASSERT_EQ(out_index[i], index[best]) << isa::Name(dtype) << " " << e.extent << " " << e.inner;
          ASSERT_EQ(Get(dtype, out, i), Get(dtype, x, best)) << isa::Name(dtype);
        }
      }
    }
  }
}

// Integer, max and min scans exactly; float sums and products from f64 within one rounding of the result.
TEST_P(FoldTest, Scans) {
  for (DType dtype : isa::kAllDTypes) {
    for (FoldKind kind : kKinds) {
      const ScanFn kernel = FindScan(kind, dtype, GetParam());
      ASSERT_EQ(kernel != nullptr, HasFold(kind, dtype)) << isa::Name(dtype);
      if (kernel == nullptr) continue;
      for (const Extents& e : kExtents) {
        for (bool reverse : {false, true}) {
          const int64_t n = e.outer * e.extent * e.inner;
          const std::vector<char> x = RandomArray(dtype, n, !Rounds(kind, dtype), n);
          std::vector<char> out(x.size());
          kernel(x.data(), out.data(), e.outer, e.extent, e.inner, reverse);
          for (int64_t i = 0; i < e.outer * e.inner; ++i) {
            const DType carry = Rounds(kind, dtype) ? DType::kF64 : dtype;
            Scalar carried;
            double magnitudes = 0;
            for (int64_t k = 0; k < e.extent; ++k) {
              const int64_t at = (i / e.inner * e.extent + (reverse ? e.extent - 1 - k : k)) * e.inner + i % e.inner;
              const Scalar value = isa::EvalCast(dtype, carry, isa::Rounding::kNearestEven, Get(dtype, x, at));
              carried = k == 0 ? value : isa::EvalBinary(OpOf(kind), carry, carried, value);
              const Scalar want = isa::EvalCast(carry, dtype, isa::Rounding::kNearestEven, carried);
              const Scalar got = Get(dtype, out, at);
              if (dtype == DType::kF64 && Rounds(kind, dtype)) {  // compensated: the plain sum is only near
                magnitudes += std::fabs(isa::ScalarToDouble(dtype, value));
                const double scale = kind == FoldKind::kAdd ? magnitudes : std::fabs(isa::ScalarToDouble(dtype, want));
                ASSERT_LE(std::fabs(isa::ScalarToDouble(dtype, got) - isa::ScalarToDouble(dtype, want)), (k + 1) * 0x1p-53 * scale);
                continue;
              }
              ASSERT_TRUE(isa::SameScalar(dtype, got, want)) << isa::Name(dtype) << " kind " << static_cast<int>(kind) << " at " << at;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilevm::kernels
