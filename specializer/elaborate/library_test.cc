// Library functions, random numbers, ids, debug ops, hints, inline asm.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;
using LibraryTest = ElaborateTest;

TEST_F(LibraryTest, CDivIsStaticOnStaticValues) {
  EXPECT_EQ(Run(Op::kCDiv, {"10", "4"}), "static 3");
  EXPECT_EQ(Run(Op::kCDiv, {"i32", "4"}), "i32");
  EXPECT_EQ(Emitted(), "%1: i32 = const {value = 3}\n%2: i32 = add %0, %1\n%3: i32 = const {value = 4}\n%4: i32 = floordiv %2, %3");
}

TEST_F(LibraryTest, Functions) {
  EXPECT_EQ(Run(Op::kSigmoid, {"f32[8]"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kSigmoid, {"f16[8]"}), "error: exp: operand x is tile<8xf16>, wanted f32 or f64; cast it with .to(tl.float32)");
  EXPECT_EQ(Run(Op::kSoftmax, {"f32[8,4]"}), "tile<8x4xf32>");
  EXPECT_EQ(Run(Op::kSwizzle2d, {"i32", "i32", "8", "8", "4"}), "i32, i32");
  Emitted();
}

TEST_F(LibraryTest, Random) {
  EXPECT_EQ(Run(Op::kPhilox, {"i32", "u32[8]", "0", "0", "0"}), "tile<8xu32>, tile<8xu32>, tile<8xu32>, tile<8xu32>");
  EXPECT_EQ(Run(Op::kPhilox, {"i32", "i64[8]", "0", "0", "0"}), "tile<8xu64>, tile<8xu64>, tile<8xu64>, tile<8xu64>");
  EXPECT_EQ(Run(Op::kRand, {"42", "i32[8]"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kRandInt, {"i64", "i64[8]"}), "tile<8xu32>");
  EXPECT_EQ(Run(Op::kRandN, {"i32", "i32[8]"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kRandN4x, {"i32", "i32[8]"}), "tile<8xf32>, tile<8xf32>, tile<8xf32>, tile<8xf32>");
  EXPECT_EQ(Run(Op::kRand, {"42", "f32[8]"}), "error: rand: operand offset is tile<8xf32>, wanted integers");
  EXPECT_EQ(Run(Op::kPhiloxImpl, {"u32[8]", "u32[8]", "u32[8]", "u32[8]", "u32", "u32"}), "tile<8xu32>, tile<8xu32>, tile<8xu32>, tile<8xu32>");
  Emitted();
}

TEST_F(LibraryTest, IdsAndDebug) {
  EXPECT_EQ(Run(Op::kProgramId, {"0"}), "i32");
  EXPECT_EQ(Run(Op::kProgramId, {"10"}), "error: program_id: axis is 10, wanted 0, 1 or 2");
  EXPECT_EQ(RunValues(Op::kDevicePrint, {Make("'x = '"), Value(), Make("f32[8]"), Make("3")}), "none");
  EXPECT_EQ(Run(Op::kDeviceAssert, {"i1[8]", "'in range'", "i1"}), "none");
  EXPECT_EQ(Run(Op::kAssume, {"i1"}), "none");
  EXPECT_EQ(Run(Op::kDebugBarrier, {}), "none");
  EXPECT_EQ(Emitted(),
            "%4: i32 = program_id {axis = 0}\n%5: i32 = const {value = 3}\ndevice_print %0, %5 {prefix = \"x =: \", hex = false}\n"
            "%6: tile<8xi1> = splat %2\ndevice_assert %1, %6 {msg = \"in range\"}\nassume %3\ndebug_barrier");
}

TEST_F(LibraryTest, Hints) {
  EXPECT_EQ(Run(Op::kMultipleOf, {"i32[8]", "16"}), "tile<8xi32>");
  EXPECT_EQ(Run(Op::kMultipleOf, {"i32[8,8]", "16"}),
            "error: multiple_of: operand x is tile<8x8xi32> and values has 1 entries, wanted one for each dimension");
  EXPECT_EQ(Emitted(), "");
}

TEST_F(LibraryTest, InlineAsm) {
  EXPECT_EQ(RunValues(Op::kInlineAsm, {Make("'mov.f32 $0, $1;'"), Make("'=r,r'"), Value::Tuple({Make("f32[8]")}), Make("dtype:f32"), Make("True"), Make("1")}),
            "tile<8xf32>");
  Emitted();
}

TEST_F(LibraryTest, EveryRuleOfTheTableExists) {
  for (const isa::OpInfo& info : isa::AllOps()) {
    EXPECT_EQ(HasRule(info.op), info.elab != "none") << info.mnemonic;
  }
}

}  // namespace
}  // namespace tilevm::specializer
