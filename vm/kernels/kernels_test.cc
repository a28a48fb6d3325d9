// Every array kernel of every level against isa/eval.h, element by element: all patterns of 8- and 16-bit types under unary ops and casts,
// all pairs of 8-bit ones under binary ops, boundary and random operands elsewhere.
#include "vm/kernels/kernels.h"

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

// Elements of one dtype as bytes.
struct Array {
  DType dtype;
  std::vector<char> bytes;

  Array(DType type, int64_t n) : dtype(type), bytes(static_cast<size_t>(n * isa::StorageBytes(type))) {}
  int64_t size() const { return static_cast<int64_t>(bytes.size()) / isa::StorageBytes(dtype); }
  Scalar operator[](int64_t i) const {
    Scalar x;
    std::memcpy(&x.bits, bytes.data() + i * isa::StorageBytes(dtype), isa::StorageBytes(dtype));
    return x;
  }
  void Set(int64_t i, Scalar x) { std::memcpy(bytes.data() + i * isa::StorageBytes(dtype), &x.bits, isa::StorageBytes(dtype)); }
};

uint64_t Mask(DType dtype) { return isa::BitWidth(dtype) == 64 ? ~uint64_t{0} : (uint64_t{1} << isa::BitWidth(dtype)) - 1; }

// Numbers near which ops change behaviour.
std::vector<Scalar> Boundaries(DType dtype) {
  std::vector<Scalar> values;
  if (isa::IsInteger(dtype)) {
    for (int64_t v : {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, -1, -2, -3, -128, 65535}) {
      values.push_back(isa::ScalarFromInt(dtype, v));
    }
    values.push_back(Scalar{Mask(dtype) >> 1});
    values.push_back(Scalar{(Mask(dtype) >> 1) + 1});
    values.push_back(Scalar{Mask(dtype)});
    for (Scalar& v : values) v.bits &= Mask(dtype);
    return values;
  }
  for (double v : {0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 0.1, 0.9375, 0.625, 4.0, 5.0, 20.0, 88.7, 104.0, 127.0, 128.0, 149.0, 255.0, 300.0, 448.0, 464.0,
                   57344.0, 65504.0, 65519.0, 65520.0, 2147483647.0, 2147483648.0, 4294967296.0, 9.2e18, 1.8446744073709552e19, 1e30,
                   3.4e38, 1e300, 0x1p30, 1e-7, 1e-30, 0x1p-14, 0x1p-24, 0x1p-126, 0x1p-149, 1e-310, static_cast<double>(HUGE_VALF)}) {
    values.push_back(isa::ScalarFromDouble(dtype, v));
    values.push_back(isa::ScalarFromDouble(dtype, -v));
  }
  values.push_back(isa::ScalarFromDouble(dtype, __builtin_nan("")));
  return values;
}

// All patterns of small types; otherwise boundaries, random patterns and random numbers of moderate size.
Array Inputs(DType dtype, int64_t random_count, uint64_t seed) {
  if (isa::BitWidth(dtype) <= 16) {
    Array all(dtype, static_cast<int64_t>(Mask(dtype)) + 1 + 37);  // a ragged tail after the last whole vector
    for (int64_t i = 0; i < all.size(); ++i) all.Set(i, Scalar{static_cast<uint64_t>(i) & Mask(dtype)});
    return all;
  }
  const std::vector<Scalar> boundaries = Boundaries(dtype);
  std::mt19937_64 random(seed);
  Array x(dtype, static_cast<int64_t>(boundaries.size()) + random_count);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (i < static_cast<int64_t>(boundaries.size())) {
      x.Set(i, boundaries[i]);
    } else if (i % 2 == 0 || isa::IsInteger(dtype)) {
      x.Set(i, Scalar{random() & Mask(dtype)});
    } else {
      x.Set(i, isa::ScalarFromDouble(dtype, (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 200.0));
    }
  }
  return x;
}

// Two arrays that meet every boundary with every other (8-bit types: every pair of patterns), then random ones.
void PairInputs(DType dtype, int64_t random_count, Array* x, Array* y) {
  std::vector<Scalar> values = Boundaries(dtype);
  if (isa::BitWidth(dtype) <= 8) {
    values.clear();
    for (uint64_t v = 0; v <= Mask(dtype); ++v) values.push_back(Scalar{v});
  }
  const int64_t pairs = static_cast<int64_t>(values.size() * values.size());
  *x = Array(dtype, pairs + random_count);
  *y = Array(dtype, pairs + random_count);
  std::mt19937_64 random(static_cast<uint64_t>(dtype));
  for (int64_t i = 0; i < x->size(); ++i) {
    if (i < pairs) {
      x->Set(i, values[i / values.size()]);
      y->Set(i, values[i % values.size()]);
    } else {
      x->Set(i, Scalar{random() & Mask(dtype)});
      y->Set(i, Scalar{random() & Mask(dtype)});
    }
  }
}

std::string Describe(Op op, DType dtype, Level level) {
  return std::string(isa::Mnemonic(op)) + " " + std::string(isa::Name(dtype)) + " level " + std::to_string(static_cast<int>(level));
}

// Prints the first difference only.
template <typename Want>
void ExpectSame(const Array& got, const Want& want, const std::string& what) {
  for (int64_t i = 0; i < got.size(); ++i) {
    const Scalar expected = want(i);
    ASSERT_TRUE(isa::SameScalar(got.dtype, got[i], expected))
        << what << " element " << i << ": got " << std::hex << got[i].bits << ", eval says " << expected.bits;
  }
}

class KernelsTest : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (!LevelAvailable(GetParam())) GTEST_SKIP() << "not on this machine";
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, KernelsTest, testing::Values(Level::kPortable, Level::kAvx2));

TEST_P(KernelsTest, Unary) {
  for (int code = 0; code < 0x100; ++code) {
    const Op op = static_cast<Op>(code);
    if (isa::EvalArity(op) != 1) continue;
    for (DType dtype : isa::kAllDTypes) {
      const UnaryFn kernel = FindUnary(op, dtype, GetParam());
      ASSERT_EQ(kernel != nullptr, isa::HasEval(op, dtype)) << Describe(op, dtype, GetParam());
      if (kernel == nullptr) continue;
      const Array x = Inputs(dtype, 3001, 1);
      Array out(isa::EvalResultType(op, dtype), x.size());
      kernel(x.bytes.data(), out.bytes.data(), x.size());
      ExpectSame(out, [&](int64_t i) { return isa::EvalUnary(op, dtype, x[i]); }, Describe(op, dtype, GetParam()));
      if (isa::StorageBytes(out.dtype) != isa::StorageBytes(dtype)) continue;
      Array in_place = x;
      kernel(in_place.bytes.data(), in_place.bytes.data(), x.size());
      ASSERT_EQ(in_place.bytes, out.bytes) << Describe(op, dtype, GetParam()) << " in place";
    }
  }
}

TEST_P(KernelsTest, Binary) {
  for (int code = 0; code < 0x100; ++code) {
    const Op op = static_cast<Op>(code);
    if (isa::EvalArity(op) != 2) continue;
    for (DType dtype : isa::kAllDTypes) {
      for (bool propagate_nan : {false, true}) {
        if (propagate_nan && op != Op::kMaximum && op != Op::kMinimum) continue;
        const BinaryFn kernel = FindBinary(op, dtype, Operands::kArrays, propagate_nan, GetParam());
        ASSERT_EQ(kernel != nullptr, isa::HasEval(op, dtype)) << Describe(op, dtype, GetParam());
        if (kernel == nullptr) continue;
        Array x(dtype, 0), y(dtype, 0);
        PairInputs(dtype, 1003, &x, &y);
        Array out(isa::EvalResultType(op, dtype), x.size());
        kernel(x.bytes.data(), y.bytes.data(), out.bytes.data(), x.size());
        ExpectSame(out, [&](int64_t i) { return isa::EvalBinary(op, dtype, x[i], y[i], propagate_nan); }, Describe(op, dtype, GetParam()));
        // One element for all: a sample of them, against the array form's rule.
        for (int64_t s = 0; s < x.size(); s += x.size() / 12 + 1) {
          const int64_t n = std::min<int64_t>(x.size(), 1200);
          Array scalar(dtype, 1), row(out.dtype, n);
          scalar.Set(0, x[s]);
          FindBinary(op, dtype, Operands::kScalarX, propagate_nan, GetParam())(scalar.bytes.data(), y.bytes.data(), row.bytes.data(), n);
          ExpectSame(row, [&](int64_t i) { return isa::EvalBinary(op, dtype, x[s], y[i], propagate_nan); }, Describe(op, dtype, GetParam()));
          FindBinary(op, dtype, Operands::kScalarY, propagate_nan, GetParam())(y.bytes.data(), scalar.bytes.data(), row.bytes.data(), n);
          ExpectSame(row, [&](int64_t i) { return isa::EvalBinary(op, dtype, y[i], x[s], propagate_nan); }, Describe(op, dtype, GetParam()));
        }
      }
    }
  }
}

TEST_P(KernelsTest, Ternary) {
  for (Op op : {Op::kFma, Op::kClamp, Op::kWhere}) {
    for (DType dtype : isa::kAllDTypes) {
      for (bool propagate_nan : {false, true}) {
        const TernaryFn kernel = FindTernary(op, dtype, propagate_nan, GetParam());
        ASSERT_EQ(kernel != nullptr, isa::HasEval(op, dtype)) << Describe(op, dtype, GetParam());
        if (kernel == nullptr) continue;
        Array y(dtype, 0), z(dtype, 0);
        PairInputs(dtype, 20001, &y, &z);
        Array x(op == Op::kWhere ? DType::kI1 : dtype, y.size());
        std::mt19937_64 random(9);
        for (int64_t i = 0; i < x.size(); ++i) x.Set(i, op == Op::kWhere ? Scalar{random() & 1} : i % 3 == 0 ? y[random() % y.size()] : z[random() % z.size()]);
        Array out(dtype, x.size());
        kernel(x.bytes.data(), y.bytes.data(), z.bytes.data(), out.bytes.data(), x.size());
        ExpectSame(out, [&](int64_t i) { return isa::EvalTernary(op, dtype, x[i], y[i], z[i], propagate_nan); },
                   Describe(op, dtype, GetParam()));
      }
    }
  }
}

TEST_P(KernelsTest, Casts) {
  for (DType from : isa::kAllDTypes) {
    const Array x = Inputs(from, 3001, 2);
    for (DType to : isa::kAllDTypes) {
      for (isa::Rounding rounding : {isa::Rounding::kNearestEven, isa::Rounding::kTowardZero}) {
        Array out(to, x.size());
        FindCast(from, to, rounding, GetParam())(x.bytes.data(), out.bytes.data(), x.size());
        ExpectSame(out, [&](int64_t i) { return isa::EvalCast(from, to, rounding, x[i]); },
                   Describe(Op::kCast, from, GetParam()) + " to " + std::string(isa::Name(to)));
      }
    }
  }
}

TEST_P(KernelsTest, PowInt) {
  for (DType dtype : isa::kAllDTypes) {
    if (!isa::IsFloat(dtype)) continue;
    const Array x = Inputs(dtype, 500, 3);
    Array y(DType::kI32, x.size()), out(dtype, x.size());
    for (int64_t i = 0; i < x.size(); ++i) y.Set(i, isa::ScalarFromInt(DType::kI32, i % 9 - 4));
    FindPowInt(dtype, GetParam())(x.bytes.data(), y.bytes.data(), out.bytes.data(), x.size());
    ExpectSame(out, [&](int64_t i) { return isa::EvalPowInt(dtype, x[i], y[i]); }, Describe(Op::kLibPow, dtype, GetParam()));
  }
}

// Short arrays end in every place of a vector, and nothing past the end is written.
TEST_P(KernelsTest, TailsStayInside) {
  for (int64_t n = 0; n < 70; ++n) {
    std::vector<float> x(n, 1.5f), out(n + 1, 7.0f);
    FindBinary(Op::kAdd, DType::kF32, Operands::kArrays, false, GetParam())(x.data(), x.data(), out.data(), n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 3.0f);
    ASSERT_EQ(out[n], 7.0f);
    std::vector<uint16_t> half(n + 1, 0xabcd);
    FindCast(DType::kF32, DType::kF16, isa::Rounding::kNearestEven, GetParam())(x.data(), half.data(), n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(half[i], 0x3e00);
    ASSERT_EQ(half[n], 0xabcd);
  }
}

}  // namespace
}  // namespace tilevm::kernels
