// Reductions and scans: result types, keep_dims, axes, combine functions.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;

class ReduceTest : public ElaborateTest {
 protected:
  // A combine function of one value: a + b.
  void UseAddition() {
    elaborator_.inline_call = [this](const Value&, std::vector<Value> args, Loc loc) {
      return Elaborate(elaborator_, Op::kAdd, args, loc);
    };
  }
};

TEST_F(ReduceTest, Types) {
  EXPECT_EQ(Run(Op::kSum, {"f16[4,8]", "1"}), "tile<4xf16>");
  EXPECT_EQ(Run(Op::kSum, {"i8[4,8]", "0"}), "tile<8xi32>");
  EXPECT_EQ(Run(Op::kSum, {"i1[8]", "0"}), "u32");
  EXPECT_EQ(Run(Op::kSum, {"i64[8]"}), "i64");
  EXPECT_EQ(Run(Op::kSum, {"f16[8]", "0", "", "dtype:f32"}), "f32");
  EXPECT_EQ(Run(Op::kSum, {"f32[4,8]", "-1", "True"}), "tile<4x1xf32>");
  EXPECT_EQ(Run(Op::kSum, {"f32[4,8]", "None", "True"}), "tile<1x1xf32>");
  EXPECT_EQ(Run(Op::kSum, {"f32[4,8]"}), "f32");
  EXPECT_EQ(Run(Op::kMax, {"f16[4,8]", "1"}), "tile<4xf32>");
  EXPECT_EQ(Run(Op::kMin, {"u8[8]", "0"}), "i32");
  EXPECT_EQ(Run(Op::kMax, {"f16[8]", "0", "True"}), "f16, i32");
  EXPECT_EQ(Run(Op::kMax, {"bf16[8]", "0", "True"}), "f32, i32");
  EXPECT_EQ(Run(Op::kArgMax, {"f32[4,8]", "1", "True", "True"}), "tile<4x1xi32>");
  EXPECT_EQ(Run(Op::kXorSum, {"i8[8]", "0"}), "i8");
  EXPECT_EQ(Run(Op::kSum, {"f32[4,8]", "2"}), "error: sum: axis 2 of a tensor of rank 2");
  EXPECT_EQ(Run(Op::kXorSum, {"f32[8]", "0"}), "error: xor_sum: operand x is tile<8xf32>, wanted integers");
  EXPECT_EQ(Run(Op::kMax, {"f32[8]", "", "True"}), "error: max: axis is missing; indices need one");
  Emitted();
}

TEST_F(ReduceTest, SmallFloatsAccumulateInF32) {
  Run(Op::kSum, {"f16[8]", "0"});
  EXPECT_EQ(Emitted(), "%1: tile<8xf32> = cast %0\n%2: f32 = reduce %1 {axis = 0, kind = \"add\"}\n%3: f16 = cast %2");
}

TEST_F(ReduceTest, CombineFunction) {
  UseAddition();
  // In the order of registers: axis, combine_fn, keep_dims, then x.
  EXPECT_EQ(RunValues(Op::kReduce, {Value::Int(1), Value::None(), Value(), Make("f32[4,8]")}), "tile<4xf32>");
  EXPECT_EQ(Emitted(),
            "%1: tile<4xf32> = reduce %0 {axis = 1, kind = \"custom\"}\n  combine (%2: f32, %3: f32)\n    %4: f32 = add %2, %3\n    yield %4");
  // i1 + i1 stays i1; f16 + f16 stays f16; but a function that widens is an error.
  elaborator_.inline_call = [this](const Value&, std::vector<Value> args, Loc loc) { return Elaborate(elaborator_, Op::kTrueDiv, args, loc); };
  EXPECT_EQ(RunValues(Op::kReduce, {Value::Int(0), Value::None(), Value(), Make("f16[8]")}),
            "error: reduce: the function returns f32, wanted f16, the type of its argument");
}

TEST_F(ReduceTest, Scans) {
  EXPECT_EQ(Run(Op::kCumSum, {"bf16[8]", "0"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kCumSum, {"i1[8]", "0"}), "tile<8xu32>");
  EXPECT_EQ(Run(Op::kCumSum, {"f16[8]", "0", "True"}), "tile<8xf16>");
  EXPECT_EQ(Run(Op::kCumProd, {"i8[8]", "0"}), "tile<8xi8>");
  EXPECT_EQ(Run(Op::kCumSum, {"f32[8]", "1"}), "error: cumsum: axis 1 of a tensor of rank 1");
  Emitted();
  UseAddition();
  EXPECT_EQ(RunValues(Op::kScan, {Value::Int(0), Value::None(), Value::Bool(true), Make("i32[8]")}), "tile<8xi32>");
  EXPECT_EQ(Emitted(),
            "%1: tile<8xi32> = associative_scan %0 {axis = 0, kind = \"custom\", reverse = true}\n  combine (%2: i32, %3: i32)\n"
            "    %4: i32 = add %2, %3\n    yield %4");
}

TEST_F(ReduceTest, MapElementwise) {
  UseAddition();
  EXPECT_EQ(RunValues(Op::kMapElementwise, {Value::None(), Value(), Make("f32[8]"), Make("f32")}), "tile<8xf32>");
  Emitted();
}

}  // namespace
}  // namespace tilevm::specializer
