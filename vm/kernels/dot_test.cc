// Dot against one fused multiply-add per product in the order of k: bit for bit, for every type, layout, precision and level.
#include "vm/kernels/dot.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tilevm::kernels {
namespace {

using isa::DType;
using isa::Op;
using isa::Scalar;

struct Matrix {
  DType dtype;
  int64_t rows, cols, row_stride, col_stride;
  std::vector<char> bytes;

  Matrix(DType type, int64_t r, int64_t c, bool transposed, int64_t padding)
      : dtype(type), rows(r), cols(c), row_stride(transposed ? 1 : c + padding), col_stride(transposed ? r + padding : 1),
        bytes((r + padding) * (c + padding) * isa::StorageBytes(type)) {}
  char* At(int64_t i, int64_t j) { return bytes.data() + (i * row_stride + j * col_stride) * isa::StorageBytes(dtype); }
  Scalar Get(int64_t i, int64_t j) {
    Scalar x;
    std::memcpy(&x.bits, At(i, j), isa::StorageBytes(dtype));
    return x;
  }
  void Set(int64_t i, int64_t j, Scalar x) { std::memcpy(At(i, j), &x.bits, isa::StorageBytes(dtype)); }
  void Randomize(std::mt19937_64& random) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        const uint64_t r = random();
        Set(i, j, isa::IsFloat(dtype) ? isa::ScalarFromDouble(dtype, static_cast<double>(r >> 11) * 0x1p-52 - 1.0) : isa::ScalarFromUint(dtype, r));
      }
    }
  }
};

Scalar ToF32(DType dtype, Scalar x) { return isa::EvalCast(dtype, DType::kF32, isa::Rounding::kNearestEven, x); }

// The parts that `precision` multiplies, smallest product first.
std::vector<std::pair<float, float>> Products(DotPrecision precision, float x, float y) {
  const isa::Tf32Parts tx = isa::SplitTf32(x), ty = isa::SplitTf32(y);
  const isa::Bf16Parts bx = isa::SplitBf16(x), by = isa::SplitBf16(y);
  switch (precision) {
    case DotPrecision::kIeee: return {{x, y}};
    case DotPrecision::kTf32: return {{isa::TruncateToTf32(x), isa::TruncateToTf32(y)}};
    case DotPrecision::kTf32x3: return {{tx.small, ty.big}, {tx.big, ty.small}, {tx.big, ty.big}};
    case DotPrecision::kBf16x3: return {{bx.part[1], by.part[0]}, {bx.part[0], by.part[1]}, {bx.part[0], by.part[0]}};
    case DotPrecision::kBf16x6:
      return {{bx.part[1], by.part[1]}, {bx.part[2], by.part[0]}, {bx.part[0], by.part[2]},
              {bx.part[1], by.part[0]}, {bx.part[0], by.part[1]}, {bx.part[0], by.part[0]}};
  }
  return {};
}

Scalar Reference(const DotArgs& args, Matrix& a, Matrix& b, Scalar c, int64_t i, int64_t j) {
  if (args.acc_type == DType::kI32) {
    uint32_t sum = static_cast<uint32_t>(c.bits);
    for (int64_t k = 0; k < args.k; ++k) {
      sum += static_cast<uint32_t>(isa::ScalarToInt(a.dtype, a.Get(i, k)) * isa::ScalarToInt(b.dtype, b.Get(k, j)));
    }
    return Scalar{sum};
  }
  if (args.acc_type == DType::kF64) {
    for (int64_t k = 0; k < args.k; ++k) c = isa::EvalTernary(Op::kFma, DType::kF64, a.Get(i, k), b.Get(k, j), c);
    return c;
  }
  const DotPrecision precision = a.dtype == DType::kF32 && b.dtype == DType::kF32 ? args.precision : DotPrecision::kIeee;
  float sum = static_cast<float>(isa::ScalarToDouble(args.acc_type, c));
  const size_t passes = Products(precision, 1, 1).size();
  float small = 0;
  for (size_t pass = 0; pass < passes; ++pass) {
    const bool last = pass + 1 == passes;
    if (last && std::isfinite(small)) sum += small;
    for (int64_t k = 0; k < args.k; ++k) {
      const float x = static_cast<float>(isa::ScalarToDouble(DType::kF32, ToF32(a.dtype, a.Get(i, k))));
      const float y = static_cast<float>(isa::ScalarToDouble(DType::kF32, ToF32(b.dtype, b.Get(k, j))));
      const auto [p, q] = Products(precision, x, y)[pass];
      float& to = last ? sum : small;
      to = std::fma(p, q, to);
    }
  }
  return isa::ScalarFromDouble(args.acc_type, static_cast<double>(sum));
}

class DotTest : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (!LevelAvailable(GetParam())) GTEST_SKIP() << "not on this machine";
  }

  void Check(DType a_type, DType b_type, DType acc_type, DotPrecision precision, int64_t m, int64_t n, int64_t k, bool a_transposed,
             bool b_transposed) {
    std::mt19937_64 random(static_cast<uint64_t>(m * 10007 + n * 101 + k));
    Matrix a(a_type, m, k, a_transposed, 3), b(b_type, k, n, b_transposed, 5), c(acc_type, m, n, false, 2);
    a.Randomize(random);
    b.Randomize(random);
    c.Randomize(random);
    Matrix before = c;
    DotArgs args{a_type, b_type, acc_type, precision, {a.bytes.data(), a.row_stride, a.col_stride},
                 {b.bytes.data(), b.row_stride, b.col_stride}, c.bytes.data(), c.row_stride, m, n, k};
    ASSERT_TRUE(HasDot(a_type, b_type, acc_type));
    Dot(args, GetParam());
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_EQ(c.Get(i, j), Reference(args, a, b, before.Get(i, j), i, j))
            << isa::Name(a_type) << " " << isa::Name(b_type) << " " << m << "x" << n << "x" << k << " at " << i << "," << j;
      }
    }
    for (int64_t i = 0; i + 1 < m; ++i) {
      ASSERT_EQ(std::memcmp(c.At(i, n), before.At(i, n), 2 * isa::StorageBytes(acc_type)), 0) << "wrote past a row";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Dot, DotTest, testing::Values(Level::kPortable, Level::kAvx2));

TEST_P(DotTest, EveryTypeAndLayout) {
  const struct { DType a, b, acc; } types[] = {
      {DType::kF32, DType::kF32, DType::kF32},       {DType::kF64, DType::kF64, DType::kF64},       {DType::kF16, DType::kF16, DType::kF32},
      {DType::kF16, DType::kF16, DType::kF16},       {DType::kBF16, DType::kBF16, DType::kF32},     {DType::kBF16, DType::kBF16, DType::kBF16},
      {DType::kF8E4M3, DType::kF8E5M2, DType::kF32}, {DType::kF8E4M3, DType::kF8E4M3, DType::kF16}, {DType::kI8, DType::kI8, DType::kI32},
      {DType::kU8, DType::kI8, DType::kI32},         {DType::kU8, DType::kU8, DType::kI32},
  };
  for (const auto& t : types) {
    for (bool a_transposed : {false, true}) {
      for (bool b_transposed : {false, true}) {
        Check(t.a, t.b, t.acc, DotPrecision::kIeee, 1, 1, 1, a_transposed, b_transposed);
        Check(t.a, t.b, t.acc, DotPrecision::kIeee, 16, 16, 16, a_transposed, b_transposed);
        Check(t.a, t.b, t.acc, DotPrecision::kIeee, 13, 35, 19, a_transposed, b_transposed);
      }
    }
  }
}

// Larger than one block along each axis.
TEST_P(DotTest, BlocksKeepTheOrder) {
  Check(DType::kF32, DType::kF32, DType::kF32, DotPrecision::kIeee, 101, 530, 300, false, false);
  Check(DType::kF16, DType::kF16, DType::kF32, DotPrecision::kIeee, 7, 33, 515, false, true);
  Check(DType::kI8, DType::kI8, DType::kI32, DotPrecision::kIeee, 98, 17, 259, true, false);
}

TEST_P(DotTest, Precisions) {
  for (DotPrecision p : {DotPrecision::kTf32, DotPrecision::kTf32x3, DotPrecision::kBf16x3, DotPrecision::kBf16x6}) {
    Check(DType::kF32, DType::kF32, DType::kF32, p, 9, 20, 33, false, false);
  }
}

// 1 has no later parts, -1 - 2**-20 has: infinity times either is one, and infinity times zero is none.
TEST_P(DotTest, InfinitiesOfSplitOperands) {
  const float inf = std::numeric_limits<float>::infinity();
  for (DotPrecision p : {DotPrecision::kTf32x3, DotPrecision::kBf16x3, DotPrecision::kBf16x6}) {
    const std::vector<float> x = {1, inf, 2, 3};
    for (float y : {1.0f, -1.0f - 0x1p-20f, 0.0f}) {
      const std::vector<float> column = {1, y, 1, 1};
      float c = 5;
      Dot({DType::kF32, DType::kF32, DType::kF32, p, {x.data(), 4, 1}, {column.data(), 1, 1}, &c, 1, 1, 1, 4}, GetParam());
      if (y == 0) EXPECT_TRUE(std::isnan(c)) << c;
      else EXPECT_EQ(c, y * inf);
    }
  }
}

TEST_P(DotTest, PublicReports) {
  // C041: ones times 1 + 2**-12 over K = 32.
  std::vector<float> ones(32, 1.0f), v(32, 1.0f + 0x1p-12f);
  for (DotPrecision p : {DotPrecision::kIeee, DotPrecision::kTf32, DotPrecision::kTf32x3}) {
    float c = 0;
    Dot({DType::kF32, DType::kF32, DType::kF32, p, {ones.data(), 32, 1}, {v.data(), 1, 1}, &c, 1, 1, 1, 32}, GetParam());
    EXPECT_EQ(c, p == DotPrecision::kTf32 ? 32.0f : 32.0078125f);
  }
}

TEST(Dot, TypesItTakes) {
  EXPECT_FALSE(HasDot(DType::kF64, DType::kF32, DType::kF32));
  EXPECT_FALSE(HasDot(DType::kI32, DType::kI32, DType::kI32));
  EXPECT_FALSE(HasDot(DType::kI8, DType::kI8, DType::kF32));
}

}  // namespace
}  // namespace tilevm::kernels
