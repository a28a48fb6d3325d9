#include "vm/host/tensor.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "isa/eval.h"
#include "vm/host/convert.h"

namespace tilevm::vm::host {
namespace {

template <typename T>
Tensor FromValues(DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor t = *Tensor::Make(dtype, std::move(shape), Fill::kZero);
  StoreElems(dtype, t.data(), static_cast<int64_t>(values.size()), values.data());
  return t;
}

std::vector<double> Values(const Tensor& t) {
  Tensor c = *Contiguous(t);
  std::vector<double> out(c.numel());
  LoadElems(c.dtype, c.data(), c.numel(), out.data());
  return out;
}

// The conversions here are written for speed; isa/eval.h says what is right, but for 8-bit floats beyond the largest number, where torch does not saturate.
TEST(Convert, SixteenBitTypesAgreeWithEval) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const uint16_t half = static_cast<uint16_t>(bits);
      float x;
      LoadElems(dtype, reinterpret_cast<const std::byte*>(&half), 1, &x);
      const double exact = isa::ScalarToDouble(dtype, isa::Scalar{bits});
      if (std::isnan(exact)) {
        EXPECT_TRUE(std::isnan(x));
        continue;
      }
      ASSERT_EQ(static_cast<double>(x), exact) << bits;
      uint16_t back;
      StoreElems(dtype, reinterpret_cast<std::byte*>(&back), 1, &x);
      ASSERT_EQ(back, half);
    }
  }
}

TEST(Convert, RoundsOnceFromFloatAndDouble) {
  std::vector<double> samples = {0, -0.0, 1e-8, 5.9604645e-8, 2.98e-8, 65504, 65519.99, 65520, 1e30, -1e-40, 1.0009765625, 1.00048828125, 1.0014648437500002,
                                 INFINITY, -INFINITY, 448, 464, 480, 1.0625001, 1.125, 57344, 61440, 3.0517578125e-05, 0.001953125, 0.0009765625};
  for (int i = 0; i < 4000; ++i) samples.push_back(std::ldexp(1.0 + i * 0x1p-12 + (i % 3 - 1) * 0x1p-40, i % 40 - 25));
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    const auto expected = [&](double x, uint64_t saturated) -> uint64_t {
      const uint64_t sign = std::signbit(x) ? 0x80 : 0;
      if (dtype == DType::kF8E4M3 && std::abs(x) > 464) return sign | 0x7f;     // 464 is a tie, and goes to 448
      if (dtype == DType::kF8E5M2 && std::abs(x) >= 61440) return sign | 0x7c;  // 61440 is one, and goes to infinity
      return saturated;
    };
    for (double d : samples) {
      const float f = static_cast<float>(d);
      uint16_t from_double = 0, from_float = 0;
      StoreElems(dtype, reinterpret_cast<std::byte*>(&from_double), 1, &d);
      StoreElems(dtype, reinterpret_cast<std::byte*>(&from_float), 1, &f);
      uint64_t bits;
      std::memcpy(&bits, &d, 8);
      uint32_t bits32;
      std::memcpy(&bits32, &f, 4);
      EXPECT_EQ(from_double, expected(d, isa::EvalCast(DType::kF64, dtype, isa::Rounding::kNearestEven, {bits}).bits)) << isa::Name(dtype) << " " << d;
      EXPECT_EQ(from_float, expected(f, isa::EvalCast(DType::kF32, dtype, isa::Rounding::kNearestEven, {bits32}).bits)) << isa::Name(dtype) << " " << f;
    }
  }
}

TEST(Convert, FloatToIntSaturates) {
  const float in[] = {NAN, INFINITY, -INFINITY, 300.7f, -1.5f};
  int8_t out[5];
  StoreElems(DType::kI8, reinterpret_cast<std::byte*>(out), 5, in);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 127);
  EXPECT_EQ(out[2], -128);
  EXPECT_EQ(out[3], 127);
  EXPECT_EQ(out[4], -1);
}

TEST(Tensor, ViewsShareStorage) {
  Tensor t = FromValues<double>(DType::kF32, {2, 3}, {0, 1, 2, 3, 4, 5});
  Tensor transposed = Transposed(t, 0, 1);
  EXPECT_FALSE(transposed.contiguous());
  EXPECT_EQ(Values(transposed), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  ASSERT_TRUE(FillWith(transposed, Value::Int(9)).ok());
  EXPECT_EQ(Values(t), std::vector<double>(6, 9));
}

TEST(Tensor, ReshapeViewsWhereStridesAllow) {
  Tensor t = FromValues<double>(DType::kF32, {4, 6}, std::vector<double>(24));
  Tensor columns = t;  // every row's first half: [4, 3] with stride 6
  columns.shape = {4, 3};
  EXPECT_EQ(Reshaped(columns, {2, 2, 3}, true)->strides, (Shape{12, 6, 1}));
  EXPECT_FALSE(Reshaped(columns, {12}, true).ok());
  EXPECT_EQ(Reshaped(columns, {12}, false)->storage == columns.storage, false);
  EXPECT_EQ(Reshaped(t, {-1, 8}, true)->shape, (Shape{3, 8}));
  EXPECT_FALSE(Reshaped(t, {5, -1}, false).ok());
}

TEST(Tensor, Broadcast) {
  EXPECT_EQ(*BroadcastShapes({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_FALSE(BroadcastShapes({3}, {4}).ok());
  Tensor row = FromValues<double>(DType::kF32, {1, 2}, {1, 2});
  EXPECT_EQ(Values(*ExpandTo(row, {2, 2})), (std::vector<double>{1, 2, 1, 2}));
}

TEST(Tensor, LimitsAreErrors) {
  EXPECT_EQ(Tensor::Make(DType::kF32, {int64_t{1} << 40, 2}, Fill::kZero).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::Make(DType::kF32, {-1}, Fill::kZero).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Tensor, PrintsAsTorch) {
  EXPECT_EQ(FormatTensor(FromValues<double>(DType::kF32, {3}, {1, 2.5, -3})), "tensor([ 1.0000,  2.5000, -3.0000])");
  EXPECT_EQ(FormatTensor(FromValues<double>(DType::kF32, {2}, {1, 2})), "tensor([1., 2.])");
  EXPECT_EQ(FormatTensor(FromValues<int64_t>(DType::kI64, {2, 2}, {1, 2, 3, 40})), "tensor([[ 1,  2],\n        [ 3, 40]])");
  EXPECT_EQ(FormatTensor(FromValues<int64_t>(DType::kI1, {2}, {1, 0})), "tensor([ True, False])");
  EXPECT_EQ(FormatTensor(FromValues<double>(DType::kF16, {}, {0.5})), "tensor(0.5000, dtype=torch.float16)");
}

}  // namespace
}  // namespace tilevm::vm::host
