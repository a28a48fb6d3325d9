// Creation and change of shape, gather, histogram, sort.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;
using ShapeTest = ElaborateTest;

TEST_F(ShapeTest, Creation) {
  EXPECT_EQ(Run(Op::kArange, {"0", "8"}), "tile<8xi32>");
  EXPECT_EQ(Run(Op::kArange, {"3", "11"}), "tile<8xi32>");
  EXPECT_EQ(Run(Op::kArange, {"0", "6"}), "error: arange: shape [6]: dimension 0 is 6, wanted a power of two");
  EXPECT_EQ(Run(Op::kArange, {"0", "i32"}), "error: arange: argument end is i32, wanted a constant int (tl.constexpr)");
  EXPECT_EQ(Run(Op::kZeros, {"(4,8)", "dtype:f16"}), "tile<4x8xf16>");
  EXPECT_EQ(Run(Op::kZeros, {"()", "dtype:f16"}), "f16");
  EXPECT_EQ(Run(Op::kFull, {"(4,)", "f32", "dtype:i32"}), "tile<4xi32>");
  EXPECT_EQ(Run(Op::kFull, {"(4,)", "1.5", "dtype:i32"}), "error: full: the number 1.5 is not a value of i32");
  EXPECT_EQ(Run(Op::kFull, {"(1024,2048)", "1", "dtype:i32"}), "error: full: shape [1024, 2048] has more than 1048576 elements");
  EXPECT_EQ(Run(Op::kZerosLike, {"bf16[4]"}), "tile<4xbf16>");
  Emitted();
}

TEST_F(ShapeTest, Changes) {
  EXPECT_EQ(Run(Op::kReshape, {"f32[4,8]", "(32,)"}), "tile<32xf32>");
  EXPECT_EQ(Run(Op::kReshape, {"f32[4,8]", "(16,)"}), "error: reshape: operand x is tile<4x8xf32> of 32 elements, [16] has 16");
  EXPECT_EQ(Run(Op::kBroadcastTo, {"f32[4,1]", "(4,8)"}), "tile<4x8xf32>");
  EXPECT_EQ(Run(Op::kBroadcastTo, {"f32[8]", "(4,8)"}), "error: broadcast_to: operand x is tile<8xf32>, its rank differs from that of [4, 8]");
  EXPECT_EQ(Run(Op::kExpandDims, {"f32[4]", "-1"}), "tile<4x1xf32>");
  EXPECT_EQ(Run(Op::kExpandDims, {"f32[4]", "(0,2)"}), "tile<1x4x1xf32>");
  EXPECT_EQ(Run(Op::kTrans, {"f32[2,4,8]"}), "tile<2x8x4xf32>");
  EXPECT_EQ(Run(Op::kTrans, {"f32[2]"}), "error: trans: operand x is tile<2xf32>, wanted rank 2 or more");
  EXPECT_EQ(Run(Op::kPermute, {"f32[2,4,8]", "(2,0,1)"}), "tile<8x2x4xf32>");
  EXPECT_EQ(Run(Op::kPermute, {"f32[2,4]", "(1,1)"}), "error: permute: dims is not a permutation of 0 to 1");
  EXPECT_EQ(Run(Op::kJoin, {"f32[4]", "f32"}), "tile<4x2xf32>");
  EXPECT_EQ(Run(Op::kJoin, {"f32", "f32"}), "tile<2xf32>");
  EXPECT_EQ(Run(Op::kSplit, {"f32[4,2]"}), "tile<4xf32>, tile<4xf32>");
  EXPECT_EQ(Run(Op::kSplit, {"f32[2]"}), "f32, f32");
  EXPECT_EQ(Run(Op::kSplit, {"f32[4]"}), "error: split: operand x is tile<4xf32>, its last dimension is not 2");
  EXPECT_EQ(Run(Op::kInterleave, {"f32[4]", "f32[4]"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kCat, {"f32[4,8]", "f32[4,8]", "", "1"}), "tile<4x16xf32>");
  EXPECT_EQ(Run(Op::kFlip, {"f32[4,8]", "0"}), "tile<4x8xf32>");
  EXPECT_EQ(Run(Op::kRavel, {"f32[4,8]"}), "tile<32xf32>");
  EXPECT_EQ(Run(Op::kSqueeze, {"f32[4,1]", "1"}), "tile<4xf32>");
  Emitted();
}

TEST_F(ShapeTest, IndexAndAttributes) {
  const Value x = Make("f16[4]");
  SlicePayload whole;
  const Value all = Value::Shared(ValueKind::kSlice, std::make_shared<SlicePayload>(whole));
  EXPECT_EQ(Describe(TensorIndex(elaborator_, x, Value::Tuple({all, Value::None()}), {})), "tile<4x1xf16>");
  EXPECT_EQ(Describe(TensorIndex(elaborator_, x, Value::Tuple({Value::None(), all}), {})), "tile<1x4xf16>");
  EXPECT_EQ(Describe(TensorIndex(elaborator_, x, Value::Int(0), {})),
            "error: index: tile<4xf16> is indexed by int; only None and : index a tensor (use tl.gather)");
  EXPECT_EQ(Describe(TensorAttr(elaborator_, x, "numel", {})), "static 4");
  EXPECT_EQ(Describe(TensorAttr(elaborator_, x, "colour", {})), "error: tile<4xf16> has no attribute colour");
  EXPECT_TRUE(TensorAttr(elaborator_, x, "dtype", {})->is(ValueKind::kDType));
  EXPECT_EQ(Describe(TensorAttr(elaborator_, Make("f16[4,8]"), "T", {})), "tile<8x4xf16>");
  Emitted();
}

TEST_F(ShapeTest, GatherHistogramSort) {
  EXPECT_EQ(Run(Op::kGather, {"f32[8,4]", "i16[2,4]", "0"}), "tile<2x4xf32>");
  EXPECT_EQ(Run(Op::kGather, {"f32[8,4]", "i16[2,2]", "0"}), "error: gather: operand index is tile<2x2xi16>, dimension 1 of operand src is 4");
  EXPECT_EQ(Run(Op::kHistogram, {"i8[8]", "4", "i1[8]"}), "tile<4xi32>");
  EXPECT_EQ(Run(Op::kHistogram, {"f32[8]", "4"}), "error: histogram: operand x is tile<8xf32>, wanted a 1-D tile of integers");
  EXPECT_EQ(Run(Op::kSort, {"f16[4,8]", "", "True"}), "tile<4x8xf16>");
  EXPECT_EQ(Run(Op::kSort, {"f16[4,8]", "0"}), "error: sort: dim is 0 of tile<4x8xf16>; only the last dimension is supported");
  EXPECT_EQ(Run(Op::kTopK, {"f16[4,8]", "2"}), "tile<4x2xf32>");
  EXPECT_EQ(Run(Op::kTopK, {"f16[4,8]", "8"}), "tile<4x8xf16>");
  EXPECT_EQ(Run(Op::kTopK, {"f16[4,8]", "3"}), "error: topk: k is 3, wanted a power of two up to 8");
  Emitted();
}

}  // namespace
}  // namespace tilevm::specializer
