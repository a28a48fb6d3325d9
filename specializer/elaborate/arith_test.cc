// Promotion, weak and strong literals, compares, where, strong ops, shifts, pointer arithmetic: types and errors by table.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;

struct Row {
  Op op;
  const char* x;
  const char* y;
  const char* wanted;
};

class ArithTest : public ElaborateTest {
 protected:
  void Check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      EXPECT_EQ(Run(row.op, {row.x, row.y}), row.wanted) << isa::Mnemonic(row.op) << " " << row.x << " " << row.y;
      Emitted();
    }
  }
};

TEST_F(ArithTest, PromotionOfTensors) {
  Check({{Op::kAdd, "f64[8]", "f16[8]", "tile<8xf64>"},
         {Op::kAdd, "f32[8]", "f16[8]", "tile<8xf32>"},
         {Op::kAdd, "f16[8]", "bf16[8]", "tile<8xf16>"},
         {Op::kAdd, "bf16[8]", "f16[8]", "tile<8xf16>"},
         {Op::kMul, "bf16[8]", "bf16[8]", "tile<8xbf16>"},
         {Op::kMul, "bf16[8]", "i32[8]", "tile<8xf32>"},
         {Op::kMul, "f16[8]", "i64[8]", "tile<8xf16>"},
         {Op::kAdd, "f8e4m3[8]", "f8e5m2[8]", "tile<8xf16>"},
         {Op::kAdd, "f8e4m3[8]", "f8e4m3[8]", "tile<8xf8e4m3>"},
         {Op::kAdd, "f8e4m3[8]", "bf16[8]", "tile<8xf32>"},
         {Op::kAdd, "f8e4m3[8]", "i32[8]", "error: add: operands are of f8e4m3 and i32; fp8 and an integer do not mix, cast one of them"},
         {Op::kAdd, "i8[8]", "i32[8]", "tile<8xi32>"},
         {Op::kAdd, "u32[8]", "i32[8]", "tile<8xu32>"},
         {Op::kAdd, "u8[8]", "i32[8]", "tile<8xi32>"},
         {Op::kAdd, "i64[8]", "u32[8]", "tile<8xi64>"},
         {Op::kAdd, "i1[8]", "i1[8]", "tile<8xi1>"},
         {Op::kMul, "i1[8]", "f32[8]", "tile<8xf32>"},
         {Op::kMul, "i1[8]", "i32[8]", "tile<8xi32>"}});
}

TEST_F(ArithTest, WeakNumbers) {
  Check({{Op::kMul, "f16[8]", "2.0", "tile<8xf16>"},
         {Op::kMul, "f16[8]", "f32", "tile<8xf32>"},
         {Op::kMul, "bf16[8]", "2", "tile<8xbf16>"},
         {Op::kAdd, "f8e4m3[8]", "1.0", "tile<8xf8e4m3>"},
         {Op::kAdd, "i32[8]", "1.0", "tile<8xf32>"},
         {Op::kAdd, "i32[8]", "1e-50", "tile<8xf64>"},
         {Op::kAdd, "i8[8]", "1", "tile<8xi8>"},
         {Op::kAdd, "i1[8]", "1", "tile<8xi32>"},
         {Op::kAdd, "i32[8]", "True", "tile<8xi32>"},
         {Op::kAdd, "i32[8]", "3000000000", "error: add: the number 3000000000 is out of range for i32"},
         {Op::kAdd, "u8[8]", "-1", "error: add: a tensor of u8 and the negative number -1; cast one of them"},
         {Op::kAdd, "i64[8]", "3000000000", "tile<8xi64>"},
         {Op::kMod, "u32[8]", "2", "tile<8xu32>"}});
}

TEST_F(ArithTest, Division) {
  Check({{Op::kTrueDiv, "f16[8]", "2", "tile<8xf32>"},
         {Op::kTrueDiv, "bf16[8]", "bf16[8]", "tile<8xf32>"},
         {Op::kMod, "f16[8]", "f16[8]", "tile<8xf32>"},
         {Op::kTrueDiv, "i64[8]", "i64[8]", "tile<8xf32>"},
         {Op::kTrueDiv, "i32[8]", "2", "tile<8xf32>"},
         {Op::kTrueDiv, "f64[8]", "2", "tile<8xf64>"},
         {Op::kFloorDiv, "i32[8]", "i8[8]", "tile<8xi32>"},
         {Op::kFloorDiv, "i1[8]", "2", "error: floordiv: operands are of i1 and i32; /, // and % need the same signedness, cast one of them"},
         {Op::kMod, "u32[8]", "i32[8]", "error: mod: operands are of u32 and i32; /, // and % need the same signedness, cast one of them"},
         {Op::kFloorDiv, "f32[8]", "f32[8]", "error: floordiv: operands are of f32; // is for integers, use / and floor"}});
  EXPECT_EQ(Run(Op::kFloorDiv, {"-7", "2"}), "static -4");
}

TEST_F(ArithTest, ComparesTurnNumbersStrong) {
  EXPECT_EQ(Run(Op::kLt, {"f16[8]", "0.1"}), "tile<8xi1>");
  EXPECT_EQ(Emitted(), "%1: f32 = const {value = 0.1}\n%2: tile<8xf32> = cast %0\n%3: tile<8xf32> = splat %1\n%4: tile<8xi1> = lt %2, %3");
  Check({{Op::kEq, "i8[8]", "300", "tile<8xi1>"},
         {Op::kEq, "u32[8]", "-1", "tile<8xi1>"},
         {Op::kGt, "f8e4m3[8]", "0", "error: gt: operands are of f8e4m3 and i32; fp8 and an integer do not mix, cast one of them"},
         {Op::kGt, "f8e4m3[8]", "0.0", "tile<8xi1>"},
         {Op::kEq, "ptr<f32>[8]", "ptr<f32>[8]", "error: eq: operands are tile<8xptr<f32>> and tile<8xptr<f32>>; pointers are not allowed here"}});
}

TEST_F(ArithTest, Broadcasts) {
  Check({{Op::kAdd, "f32[8,1]", "f32[4]", "tile<8x4xf32>"},
         {Op::kAdd, "f32[8,4]", "f32", "tile<8x4xf32>"},
         {Op::kAdd, "f32[8]", "f32[4]", "error: add: operand x is tile<8xf32>, operand y is tile<4xf32>: dimension 0 is 8 against 4"}});
  Run(Op::kAdd, {"f32[8,1]", "f32[4]"});
  EXPECT_EQ(Emitted(),
            "%2: tile<8x4xf32> = broadcast %0 {shape = [8, 4]}\n%3: tile<1x4xf32> = expand_dims %1 {axis = 0}\n"
            "%4: tile<8x4xf32> = broadcast %3 {shape = [8, 4]}\n%5: tile<8x4xf32> = add %2, %4");
}

TEST_F(ArithTest, Pointers) {
  Check({{Op::kAdd, "ptr<f32>", "i32[8]", "tile<8xptr<f32>>"},
         {Op::kAdd, "i64[8]", "ptr<f32>", "tile<8xptr<f32>>"},
         {Op::kSub, "ptr<f16>[8]", "4", "tile<8xptr<f16>>"},
         {Op::kSub, "ptr<f16>", "ptr<f16>", "error: sub: operands are ptr<f16> and ptr<f16>; pointers are not allowed here"},
         {Op::kAdd, "ptr<f16>", "ptr<f16>", "error: add: both operands are pointers (ptr<f16>)"},
         {Op::kAdd, "ptr<f16>", "1.5", "error: add: operands are ptr<f16> and f32; their types do not go together"},
         {Op::kMul, "ptr<f16>", "2", "error: mul: operands are ptr<f16> and i32; pointers are not allowed here"}});
  Run(Op::kSub, {"ptr<f16>", "u32"});
  EXPECT_EQ(Emitted(), "%2: i64 = cast %1\n%3: i64 = neg %2\n%4: ptr<f16> = ptr_add %0, %3");
}

TEST_F(ArithTest, Bitwise) {
  Check({{Op::kBitAnd, "i1[8]", "i1[8]", "tile<8xi1>"},
         {Op::kBitAnd, "i32[8]", "u8[8]", "tile<8xi32>"},
         {Op::kBitAnd, "f32[8]", "i32[8]", "error: bit_and: operands are of f32; this is for integers only"},
         {Op::kShr, "u8[8]", "1", "tile<8xu8>"},
         {Op::kShr, "i32[8]", "u32[8]", "tile<8xu32>"},
         {Op::kUmulhi, "i16[8]", "i16[8]", "error: umulhi: operands are of i16, wanted 32 or 64 bits"}});
  // The left operand is signed, the promoted type is not: the shift is arithmetic all the same.
  Run(Op::kShr, {"i32", "u32"});
  EXPECT_EQ(Emitted(), "%2: u32 = cast %0\n%3: i32 = cast %2\n%4: i32 = cast %1\n%5: i32 = shr %3, %4\n%6: u32 = cast %5");
}

TEST_F(ArithTest, StrongOps) {
  Check({{Op::kMaximum, "f16[8]", "0.0", "tile<8xf32>"},
         {Op::kMaximum, "i8[8]", "0", "tile<8xi32>"},
         {Op::kMinimum, "bf16[8]", "bf16[8]", "tile<8xf32>"},
         {Op::kMaximum, "f16[8]", "f16[8]", "tile<8xf16>"},
         {Op::kMaximum, "3", "i32", "i32"}});
  EXPECT_EQ(Run(Op::kClamp, {"f16[8]", "0.0", "6.0"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kClamp, {"i32[8]", "0", "6"}), "error: clamp: x is of i32, wanted a float");
  EXPECT_EQ(Run(Op::kFma, {"f16[8]", "2.0", "f16[8]"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kFma, {"i32[8]", "2", "1"}), "error: fma: operands are of i32, wanted floats");
}

TEST_F(ArithTest, Where) {
  EXPECT_EQ(Run(Op::kWhere, {"i1[8]", "1.0", "0.0"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kWhere, {"i1[8]", "f16[8]", "0.0"}), "tile<8xf16>");
  EXPECT_EQ(Run(Op::kWhere, {"i1[8,1]", "f16[4]", "0"}), "tile<8x4xf16>");
  EXPECT_EQ(Run(Op::kWhere, {"i32", "ptr<f16>[4]", "ptr<f16>[4]"}), "tile<4xptr<f16>>");
  EXPECT_EQ(Run(Op::kWhere, {"i1", "ptr<f16>", "1"}), "error: where: operands are ptr<f16> and i32; a pointer needs a pointer");
  Emitted();
}

TEST_F(ArithTest, FloatMathTakesF32AndF64) {
  EXPECT_EQ(Run(Op::kExp, {"f32[8]"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kRsqrt, {"2.0"}), "f32");
  EXPECT_EQ(Run(Op::kExp, {"f16[8]"}), "error: exp: operand x is tile<8xf16>, wanted f32 or f64; cast it with .to(tl.float32)");
  EXPECT_EQ(Run(Op::kAbs, {"u8[8]"}), "tile<8xu8>");
  EXPECT_EQ(Run(Op::kTanh, {"f16[8]"}), "error: tanh: operand x is tile<8xf16>, wanted f32 or f64 (libdevice does not convert)");
  EXPECT_EQ(Run(Op::kLibPow, {"f32[8]", "3"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kLibPow, {"f16[8]", "3.0"}), "tile<8xf32>");
  EXPECT_EQ(Run(Op::kIsNan, {"f32[8]"}), "tile<8xi1>");
  EXPECT_EQ(Run(Op::kLlRint, {"f32[8]"}), "tile<8xi64>");
  EXPECT_EQ(Run(Op::kFDiv, {"f32[8]", "f16[8]"}), "error: fdiv: operands are tile<8xf32> and tile<8xf16>, wanted floats of one type; cast one of them");
  EXPECT_EQ(Run(Op::kDivRn, {"f32[8]", "2"}), "tile<8xf32>");
  Emitted();
}

}  // namespace
}  // namespace tilevm::specializer
