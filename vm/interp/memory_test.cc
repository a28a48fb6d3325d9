// Loads, stores, lazy pointers and masks, shape ops. Every kernel that has a lazy way is also run with offsets that went through memory, so
// that the dense way gives the same answer.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gtest/gtest.h"
#include "vm/interp/testing/kernel_builder.h"

namespace tilevm::vm {
namespace {

using isa::DType;
using isa::Op;
using testing::BufferOf;
using testing::KernelBuilder;
using testing::ValueId;
using testing::Values;

std::vector<int32_t> Iota(int64_t n) {
  std::vector<int32_t> data(n);
  std::iota(data.begin(), data.end(), 0);
  return data;
}

// Arguments: in (0, 1, 2, ...), out (-7 each).
std::vector<int32_t> RunInOut(const ir::Kernel& kernel, int64_t in_n, int64_t out_n, RunOptions options = {}) {
  std::vector<int32_t> in = Iota(in_n), out(out_n, -7);
  const Buffer buffers[] = {BufferOf(in, DType::kI32, "in"), BufferOf(out, DType::kI32, "out")};
  const Arg args[] = {Arg::InBuffer(0), Arg::InBuffer(1)};
  const auto result = vm::Run(kernel, args, buffers, options);
  EXPECT_EQ(result.status().message(), "");
  return out;
}

// An arange that the interpreter cannot see through: loaded from `in`.
ValueId Lanes(KernelBuilder& b, ValueId in, int64_t n, bool dense) {
  const ValueId lanes = b.Arange(0, n);
  return dense ? b.LoadAt(in, lanes) : lanes;
}

class LazyAndDense : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Forms, LazyAndDense, ::testing::Bool());

// C101: a masked load past the end does not move the window.
TEST_P(LazyAndDense, MaskedLoadKeepsItsWindowAndTakesOther) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = Lanes(b, in, 8, GetParam());
  const ValueId at = b.Do(Op::kAdd, {lanes, b.Splat(b.Int(3), {8})});
  const ValueId mask = b.Do(Op::kLt, {at, b.Splat(b.Int(8), {8})});
  const ValueId pointers = b.PtrAdd(in, at);
  b.Store(b.PtrAdd(out, lanes), b.Load(pointers, mask, b.Splat(b.Int(-1), {8})));
  b.Store(b.PtrAdd(out, b.Do(Op::kAdd, {lanes, b.Splat(b.Int(8), {8})})), b.Load(pointers, mask));
  EXPECT_EQ(RunInOut(b.Build(), 8, 16), (std::vector<int32_t>{3, 4, 5, 6, 7, -1, -1, -1, 3, 4, 5, 6, 7, 0, 0, 0}));
}

TEST_P(LazyAndDense, MaskedStoreTouchesOnlyItsLanes) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = Lanes(b, in, 8, GetParam());
  const ValueId low = b.Do(Op::kGe, {lanes, b.Splat(b.Int(2), {8})});
  const ValueId high = b.Do(Op::kGt, {b.Splat(b.Int(5), {8}), lanes});
  b.Store(b.PtrAdd(out, lanes), lanes, b.Do(Op::kBitAnd, {low, high}));
  EXPECT_EQ(RunInOut(b.Build(), 8, 8), (std::vector<int32_t>{-7, -7, 2, 3, 4, -7, -7, -7}));
}

// A 2-D tile with a mask on both dimensions: rows of pitch 10, transposed on the way out.
TEST_P(LazyAndDense, TilesWithBoxMasksAndStrides) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const isa::Shape shape = {4, 8};
  const auto rows = [&](int64_t n, int axis, isa::Shape column) {
    const ValueId lanes = Lanes(b, in, n, GetParam());
    return b.Broadcast(b.Make(Op::kExpandDims, isa::TileType(DType::kI32, column), {lanes}, {{"axis", int64_t{axis}}}), shape);
  };
  const ValueId row = rows(4, 1, {4, 1}), col = rows(8, 0, {1, 8});
  const ValueId mask = b.Do(Op::kBitAnd, {b.Do(Op::kLt, {row, b.Splat(b.Int(3), shape)}), b.Do(Op::kLt, {col, b.Splat(b.Int(6), shape)})});
  const auto affine = [&](int64_t row_step, int64_t col_step) {
    return b.Do(Op::kAdd, {b.Do(Op::kMul, {row, b.Splat(b.Int(row_step), shape)}), b.Do(Op::kMul, {col, b.Splat(b.Int(col_step), shape)})});
  };
  const ValueId x = b.Load(b.PtrAdd(in, affine(10, 1)), mask);
  b.Store(b.PtrAdd(out, affine(1, 4)), x);
  std::vector<int32_t> want(32);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 8; ++j) want[j * 4 + i] = i < 3 && j < 6 ? i * 10 + j : 0;
  }
  EXPECT_EQ(RunInOut(b.Build(), 64, 32), want);
}

// C099's shape: stride 2; and a descending pointer, and one that stays (coefficient 0).
TEST_P(LazyAndDense, StridedReversedAndRepeatedPointers) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = Lanes(b, in, 4, GetParam());
  const auto scaled = [&](int64_t step, int64_t offset) {
    return b.Do(Op::kAdd, {b.Do(Op::kMul, {lanes, b.Splat(b.Int(step), {4})}), b.Splat(b.Int(offset), {4})});
  };
  b.Store(b.PtrAdd(out, lanes), b.LoadAt(in, scaled(2, 1)));
  b.Store(b.PtrAdd(out, scaled(1, 4)), b.LoadAt(in, scaled(-1, 7)));
  b.Store(b.PtrAdd(out, scaled(1, 8)), b.LoadAt(in, scaled(0, 5)));
  b.Store(b.PtrAdd(out, scaled(-2, 19)), lanes);
  EXPECT_EQ(RunInOut(b.Build(), 16, 20), (std::vector<int32_t>{1, 3, 5, 7, 7, 6, 5, 4, 5, 5, 5, 5, -7, 3, -7, 2, -7, 1, -7, 0}));
}

// i32 offsets wrap at their own width before they reach the pointer; affine forms must not hide that.
TEST_P(LazyAndDense, OffsetsWrapAtTheirOwnWidth) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = Lanes(b, in, 4, GetParam());
  const ValueId huge = b.Do(Op::kAdd, {lanes, b.Splat(b.Int(0x7ffffffe), {4})});  // ..., 2147483647, -2147483648, -2147483647
  const ValueId wide = b.Cast(huge, DType::kI64);
  const ValueId back = b.Do(Op::kSub, {wide, b.Splat(b.Int(0x7ffffffe, DType::kI64), {4})});
  const ValueId negative = b.Do(Op::kLt, {back, b.Splat(b.Int(0, DType::kI64), {4})});
  b.Store(b.PtrAdd(out, lanes), b.Cast(negative, DType::kI32));
  EXPECT_EQ(RunInOut(b.Build(), 4, 4), (std::vector<int32_t>{0, 0, 1, 1}));
}

TEST_P(LazyAndDense, RowsModuloTheExtent) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = Lanes(b, in, 8, GetParam());
  b.Store(b.PtrAdd(out, lanes), b.LoadAt(in, b.Do(Op::kMod, {lanes, b.Splat(b.Int(8), {8})})));
  b.Store(b.PtrAdd(out, b.Do(Op::kAdd, {lanes, b.Splat(b.Int(8), {8})})), b.LoadAt(in, b.Do(Op::kMod, {lanes, b.Splat(b.Int(5), {8})})));
  EXPECT_EQ(RunInOut(b.Build(), 8, 16), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 0, 1, 2}));
}

// Every comparison against every bound, forwards and backwards, with strides: each box against lane-by-lane truth.
TEST_P(LazyAndDense, ComparisonsOfAffineValues) {
  const Op ops[] = {Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kEq, Op::kNe};
  for (const int64_t step : {-3, -1, 1, 2}) {
    KernelBuilder b;
    const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
    const ValueId lanes = Lanes(b, in, 8, GetParam());
    const ValueId x = b.Do(Op::kMul, {lanes, b.Splat(b.Int(step), {8})});
    std::vector<int32_t> want;
    int64_t slot = 0;
    for (Op op : ops) {
      for (int64_t bound = -10; bound <= 10; bound += 3) {
        for (const bool swap : {false, true}) {
          const ValueId limit = b.Splat(b.Int(bound), {8});
          const ValueId mask = swap ? b.Do(op, {limit, x}) : b.Do(op, {x, limit});
          b.Store(b.PtrAdd(out, b.Do(Op::kAdd, {lanes, b.Splat(b.Int(slot), {8})})), b.Cast(mask, DType::kI32));
          slot += 8;
          for (int64_t i = 0; i < 8; ++i) {
            const int64_t l = swap ? bound : i * step, r = swap ? i * step : bound;
            want.push_back(op == Op::kLt ? l < r : op == Op::kLe ? l <= r : op == Op::kGt ? l > r : op == Op::kGe ? l >= r : op == Op::kEq ? l == r : l != r);
          }
        }
      }
    }
    EXPECT_EQ(RunInOut(b.Build(), 8, slot), want) << step;
  }
}

// C103: the mask is carried by the loop.
TEST_P(LazyAndDense, LoopCarriedMask) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = Lanes(b, in, 16, GetParam());
  const ValueId all = b.Do(Op::kGe, {lanes, b.Splat(b.Int(0), {16})});
  const Values r = b.For(b.Int(0), b.Int(2), b.Int(1), {all}, [&](Values a) -> Values {
    const ValueId limit = b.Do(Op::kSub, {b.Int(12), b.Do(Op::kMul, {a[0], b.Int(8)})});
    return {b.Do(Op::kBitAnd, {a[1], b.Do(Op::kLt, {lanes, b.Splat(limit, {16})})})};
  });
  b.Store(b.PtrAdd(out, lanes), b.Cast(r[0], DType::kI32));
  EXPECT_EQ(RunInOut(b.Build(), 16, 16), (std::vector<int32_t>{1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// Pointers advanced in a loop, as in a matmul.
TEST_P(LazyAndDense, PointersAdvanceInALoop) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = Lanes(b, in, 4, GetParam());
  const ValueId zero = b.Splat(b.Int(0), {4});
  const Values r = b.For(b.Int(0), b.Int(3), b.Int(1), {b.PtrAdd(in, lanes), zero}, [&](Values a) -> Values {
    const ValueId sum = b.Do(Op::kAdd, {a[2], b.Load(a[1])});
    return {b.PtrAdd(a[1], b.Splat(b.Int(4), {4})), sum};
  });
  b.Store(b.PtrAdd(out, lanes), r[1]);
  EXPECT_EQ(RunInOut(b.Build(), 16, 4), (std::vector<int32_t>{12, 15, 18, 21}));
}

TEST(Load, MaskedLanesCanBePoisoned) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = b.Arange(0, 2);
  b.Store(b.PtrAdd(out, lanes), b.Load(b.PtrAdd(in, lanes), b.Do(Op::kLt, {lanes, b.Splat(b.Int(1), {2})})));
  RunOptions options;
  options.poison_masked = true;
  EXPECT_EQ(RunInOut(b.Build(), 2, 2, options), (std::vector<int32_t>{0, static_cast<int32_t>(0xaaaaaaaa)}));
}

// A wrong kernel is an error in fast mode too, with lazy and with dense pointers.
TEST_P(LazyAndDense, AccessesOutsideEveryBufferAreErrors) {
  for (const bool store : {false, true}) {
    for (const int64_t offset : {-1000000, 1000000}) {
      KernelBuilder b;
      const ValueId in = b.Pointer(DType::kI32, "in");
      const ValueId lanes = Lanes(b, in, 4, GetParam());
      b.At(17);
      const ValueId p = b.PtrAdd(in, b.Do(Op::kMul, {lanes, b.Splat(b.Int(offset), {4})}));
      if (store) {
        b.Store(p, lanes);
      } else {
        b.Load(p);
      }
      std::vector<int32_t> data = Iota(4);
      const Buffer buffers[] = {BufferOf(data, DType::kI32, "in")};
      const Arg args[] = {Arg::InBuffer(0)};
      const absl::Status status = vm::Run(b.Build(), args, buffers, {}).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find("is outside every buffer"), std::string::npos) << status.message();
      EXPECT_EQ(LocOf(status).line, 17);
    }
  }
}

TEST(Load, ScalarsWithMasksOfOneLane) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId p = b.PtrAdd(in, b.Int(3));
  b.StoreAt(out, b.Int(0), b.Load(p, b.Int(1, DType::kI1)));
  b.StoreAt(out, b.Int(1), b.Load(p, b.Int(0, DType::kI1), b.Int(42)));
  b.Store(b.PtrAdd(out, b.Int(2)), b.Int(1), b.Int(0, DType::kI1));
  EXPECT_EQ(RunInOut(b.Build(), 4, 3), (std::vector<int32_t>{3, 42, -7}));
}

// Loads a [2, 4] tile 0..7, applies one shape op and stores the result row-major.
std::vector<int32_t> Shaped(Op op, isa::Shape from, isa::Shape to, std::vector<ir::NamedAttr> attrs) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const int64_t n = isa::ElemCount(from), m = isa::ElemCount(to);
  const ValueId x = b.Make(Op::kReshape, isa::TileType(DType::kI32, from), {b.LoadAt(in, b.Arange(0, n))}, {});
  const ValueId y = b.Make(op, isa::TileType(DType::kI32, to), {x}, attrs);
  b.Store(b.PtrAdd(out, b.Arange(0, m)), b.Make(Op::kReshape, isa::TileType(DType::kI32, {m}), {y}, {}));
  return RunInOut(b.Build(), n, m);
}

TEST(Shape, PermuteFlipAndBroadcast) {
  using Dims = std::vector<int64_t>;
  EXPECT_EQ(Shaped(Op::kPermute, {2, 4}, {4, 2}, {{"dims", Dims{1, 0}}}), (std::vector<int32_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(Shaped(Op::kPermute, {2, 2, 2}, {2, 2, 2}, {{"dims", Dims{2, 0, 1}}}), (std::vector<int32_t>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(Shaped(Op::kFlip, {2, 4}, {2, 4}, {{"dim", int64_t{1}}}), (std::vector<int32_t>{3, 2, 1, 0, 7, 6, 5, 4}));
  EXPECT_EQ(Shaped(Op::kFlip, {2, 4}, {2, 4}, {{"dim", int64_t{0}}}), (std::vector<int32_t>{4, 5, 6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(Shaped(Op::kBroadcast, {2, 1}, {2, 3}, {}), (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Shaped(Op::kBroadcast, {1, 3}, {2, 3}, {}), (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(Shaped(Op::kConvertLayout, {2, 2}, {2, 2}, {{"layout", std::string("any")}}), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(Shaped(Op::kReshape, {2, 4}, {4, 2}, {}), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// C119 and C121.
TEST(Shape, JoinSplitAndCatKeepTheirOrder) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId x = b.LoadAt(in, b.Arange(0, 2)), y = b.LoadAt(in, b.Arange(2, 4));
  const ValueId joined = b.Make(Op::kJoin, isa::TileType(DType::kI32, {2, 2}), {x, y}, {});
  b.Store(b.PtrAdd(out, b.Arange(0, 4)), b.Make(Op::kReshape, isa::TileType(DType::kI32, {4}), {joined}, {}));
  const Values parts = b.MakeMany(Op::kSplit, {b.TypeOf(x), b.TypeOf(x)}, {joined});
  b.Store(b.PtrAdd(out, b.Arange(4, 6)), parts[1]);
  b.Store(b.PtrAdd(out, b.Arange(6, 10)), b.Make(Op::kCat, isa::TileType(DType::kI32, {4}), {y, x}, {{"dim", int64_t{0}}}));
  const ValueId wide = b.Make(Op::kCat, isa::TileType(DType::kI32, {2, 4}), {joined, joined}, {{"dim", int64_t{1}}});
  b.Store(b.PtrAdd(out, b.Arange(10, 18)), b.Make(Op::kReshape, isa::TileType(DType::kI32, {8}), {wide}, {}));
  EXPECT_EQ(RunInOut(b.Build(), 4, 18), (std::vector<int32_t>{0, 2, 1, 3, 2, 3, 2, 3, 0, 1, 0, 2, 0, 2, 1, 3, 1, 3}));
}

TEST(Load, ABoolIsZeroOrOne) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI1, "in"), out = b.Pointer(DType::kI32, "out");
  b.StoreAt(out, b.Arange(0, 4), b.Cast(b.LoadAt(in, b.Arange(0, 4)), DType::kI32));
  std::vector<uint8_t> flags = {0, 1, 2, 255};
  std::vector<int32_t> result(4);
  const Buffer buffers[] = {BufferOf(flags, DType::kI1), BufferOf(result, DType::kI32)};
  const Arg args[] = {Arg::InBuffer(0), Arg::InBuffer(1)};
  EXPECT_TRUE(vm::Run(b.Build(), args, buffers, {}).ok());
  EXPECT_EQ(result, (std::vector<int32_t>{0, 1, 1, 1}));
}

TEST(Elementwise, WhereCastsAndFloats) {
  KernelBuilder b;
  const ValueId in = b.Pointer(DType::kI32, "in"), out = b.Pointer(DType::kI32, "out");
  const ValueId lanes = b.Arange(0, 4);
  const ValueId x = b.Cast(b.LoadAt(in, lanes), DType::kF32);
  const ValueId half = b.Do(Op::kMul, {x, b.Splat(b.Float(0.5), {4})});
  const ValueId big = b.Do(Op::kGt, {half, b.Splat(b.Float(0.75), {4})});
  b.Store(b.PtrAdd(out, lanes), b.Cast(b.Do(Op::kWhere, {big, b.Do(Op::kSub, {b.Splat(b.Float(10), {4}), x}), b.Splat(b.Float(-2.5), {4})}), DType::kI32));
  b.Store(b.PtrAdd(out, b.Arange(4, 8)), b.Make(Op::kBitcast, isa::TileType(DType::kI32, {4}), {half}, {}));
  EXPECT_EQ(RunInOut(b.Build(), 4, 8), (std::vector<int32_t>{-2, -2, 8, 7, 0, 0x3f000000, 0x3f800000, 0x3fc00000}));
}

TEST(Run, TilesWithoutElementsOrWithTooManyAreErrors) {
  for (const isa::Shape& shape : {isa::Shape{0}, isa::Shape{1 << 13, 1 << 13}, isa::Shape(9, 1)}) {
    KernelBuilder b;
    b.Splat(b.Int(1), shape);
    EXPECT_EQ(Compile(b.Build()).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Run, WrongArgumentsAreErrors) {
  KernelBuilder b;
  b.Param(DType::kI32);
  const ir::Kernel kernel = b.Build();
  const Arg buffer[] = {Arg::InBuffer(0)};
  EXPECT_EQ(vm::Run(kernel, {}, {}, {}).status().message(), "test: 0 arguments given, 1 wanted");
  EXPECT_EQ(vm::Run(kernel, buffer, {}, {}).status().message(), "test: argument n is a buffer, a number is wanted");
}

}  // namespace
}  // namespace tilevm::vm
