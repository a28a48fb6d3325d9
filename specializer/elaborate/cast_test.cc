// cast and .to.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;
using CastTest = ElaborateTest;

TEST_F(CastTest, Numbers) {
  EXPECT_EQ(Run(Op::kCast, {"f32[8]", "dtype:f16"}), "tile<8xf16>");
  EXPECT_EQ(Run(Op::kCast, {"3", "dtype:i64"}), "i64");
  EXPECT_EQ(Run(Op::kCast, {"f32[8]", "dtype:f16", "'rtz'"}), "tile<8xf16>");
  EXPECT_EQ(Run(Op::kCast, {"f16[8]", "dtype:f32", "'rtz'"}),
            "error: cast: fp_downcast_rounding is for narrowing a float, and this is from tile<8xf16> to f32");
  EXPECT_EQ(Run(Op::kCast, {"f32[8]", "dtype:f16", "'up'"}), "error: cast: fp_downcast_rounding is \"up\", wanted \"rtne\" or \"rtz\"");
  Emitted();
  Run(Op::kCast, {"f32[8]", "dtype:f32"});
  EXPECT_EQ(Emitted(), "");
}

TEST_F(CastTest, Bits) {
  EXPECT_EQ(Run(Op::kCast, {"f32[8]", "dtype:i32", "", "True"}), "tile<8xi32>");
  EXPECT_EQ(Run(Op::kCast, {"f32[8]", "dtype:i16", "", "True"}), "error: cast: bitcast from tile<8xf32> to i16: 32 bits against 16");
  Emitted();
}

TEST_F(CastTest, Pointers) {
  EXPECT_EQ(RunValues(Op::kCast, {Make("i64[8]"), Value::PointerTypeOf(isa::DType::kF16)}), "tile<8xptr<f16>>");
  EXPECT_EQ(RunValues(Op::kCast, {Make("ptr<i8>"), Value::PointerTypeOf(isa::DType::kF16)}), "ptr<f16>");
  EXPECT_EQ(Run(Op::kCast, {"ptr<f16>", "dtype:u64"}), "u64");
  EXPECT_EQ(Run(Op::kCast, {"ptr<f16>", "dtype:i32"}), "error: cast: from ptr<f16> to i32; a pointer casts to 64-bit integers and pointers");
  Emitted();
}

TEST_F(CastTest, BindAndConditions) {
  EXPECT_EQ(Describe(BindValue(elaborator_, Value::Int(5), "x", {})), "i32");
  EXPECT_EQ(Describe(BindValue(elaborator_, Value::Int(3000000000), "x", {})), "u32");
  EXPECT_EQ(Describe(BindValue(elaborator_, Value::Float(1e300), "x", {})), "f64");
  EXPECT_EQ(Describe(BindValue(elaborator_, Value::Tuple({Value::Int(1), Value::Bool(true), Value::None()}), "x", {})), "i32, i1, none");
  EXPECT_EQ(Describe(BindValue(elaborator_, Value::String("a"), "x", {})),
            "error: x is assigned a str, which is not a tensor; annotate it: x: tl.constexpr = ...");
  EXPECT_TRUE(ConditionOf(elaborator_, Make("ptr<f32>"), {}).ok());
  EXPECT_EQ(ConditionOf(elaborator_, Make("i1[8]"), {}).status().message(),
            "if: the condition is tile<8xi1>, wanted a scalar; reduce it with tl.max or tl.sum");
  Emitted();
}

}  // namespace
}  // namespace tilevm::specializer
