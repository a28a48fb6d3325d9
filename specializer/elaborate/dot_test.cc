// dot: types, extents, precision, the accumulator.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;
using DotTest = ElaborateTest;

TEST_F(DotTest, Types) {
  EXPECT_EQ(Run(Op::kDot, {"f16[16,32]", "f16[32,8]"}), "tile<16x8xf32>");
  EXPECT_EQ(Run(Op::kDot, {"i8[16,32]", "i8[32,8]"}), "tile<16x8xi32>");
  EXPECT_EQ(Run(Op::kDot, {"f64[16,32]", "f64[32,8]"}), "tile<16x8xf64>");
  EXPECT_EQ(Run(Op::kDot, {"f8e4m3[16,32]", "f8e5m2[32,8]"}), "tile<16x8xf32>");
  EXPECT_EQ(Run(Op::kDot, {"f16[16,32]", "f16[32,8]", "", "", "", "", "dtype:f16"}), "tile<16x8xf16>");
  EXPECT_EQ(Run(Op::kDot, {"f16[16,32]", "f16[32,8]", "f16[16,8]"}), "tile<16x8xf16>");
  EXPECT_EQ(Run(Op::kDot, {"f16[2,16,32]", "f16[2,32,8]"}), "tile<2x16x8xf32>");
  EXPECT_EQ(Run(Op::kDot, {"f16[2,4,16,32]", "f16[2,4,32,8]"}), "tile<2x4x16x8xf32>");
  Emitted();
}

TEST_F(DotTest, Errors) {
  EXPECT_EQ(Run(Op::kDot, {"f16[16,32]", "f16[64,16]"}), "error: dot: operand b is tile<64x16xf16>, dimension K is already 32");
  EXPECT_EQ(Run(Op::kDot, {"f16[16,32]", "f32[32,16]"}), "error: dot: operands are tile<16x32xf16> and tile<32x16xf32>, wanted one element type");
  EXPECT_EQ(Run(Op::kDot, {"f16[16,8]", "f16[8,16]"}), "error: dot: operands are tile<16x8xf16> and tile<8x16xf16>: K is 8, wanted at least 16 for f16");
  EXPECT_EQ(Run(Op::kDot, {"u8[16,32]", "u8[32,16]"}), "error: dot: operand a is tile<16x32xu8>, wanted i8, fp8, f16, bf16, f32 or f64");
  EXPECT_EQ(Run(Op::kDot, {"f16[16,32]", "f16[32,16]", "", "", "", "", "dtype:bf16"}),
            "error: dot: out_dtype is bf16, wanted f32 or f16; cast the result with .to(tl.bfloat16)");
  EXPECT_EQ(Run(Op::kDot, {"f32[16,32]", "f32[32,16]", "f16[16,16]"}), "error: dot: operand acc is tile<16x16xf16>, wanted tile<16x16xf32>");
  EXPECT_EQ(Run(Op::kDot, {"f32[16,32]", "f32[32,16]", "", "'fast'"}),
            "error: dot: input_precision is \"fast\", wanted one of tf32, tf32x3, ieee, bf16x3, bf16x6");
  EXPECT_EQ(Run(Op::kDot, {"f32[16]", "f32[16]"}), "error: dot: operands are tile<16xf32> and tile<16xf32>, wanted one rank of 2 or more");
}

TEST_F(DotTest, PrecisionOfF32) {
  Run(Op::kDot, {"f32[16,32]", "f32[32,16]"});
  EXPECT_NE(Emitted().find("{input_precision = \"tf32\", max_num_imprecise_acc = 0}"), std::string::npos);
  Run(Op::kDot, {"f32[16,32]", "f32[32,16]", "", "", "False"});
  EXPECT_NE(Emitted().find("{input_precision = \"ieee\", max_num_imprecise_acc = 0}"), std::string::npos);
}

// Operands: lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format.
TEST_F(DotTest, Scaled) {
  EXPECT_EQ(Run(Op::kDotScaled, {"u8[16,32]", "u8[16,2]", "'e2m1'", "u8[32,8]", "u8[8,2]", "'e2m1'"}), "tile<16x8xf32>");
  EXPECT_EQ(Run(Op::kDotScaled, {"f8e4m3[16,64]", "u8[16,2]", "'e4m3'", "bf16[64,8]", "None", "'bf16'"}), "tile<16x8xf32>");
  EXPECT_EQ(Run(Op::kDotScaled, {"u8[16,64]", "f8e4m3[16,4]", "'e5m2'", "f16[64,8]", "None", "'fp16'"}), "tile<16x8xf32>");
  EXPECT_EQ(Run(Op::kDotScaled, {"f8e4m3[16,64]", "u8[16,4]", "'e4m3'", "u8[64,4]", "u8[8,4]", "'e2m1'", "", "", "", "False"}), "tile<16x8xf32>");
  EXPECT_EQ(Run(Op::kDotScaled, {"u8[16,64]", "u8[8,2]", "'e4m3'", "bf16[64,8]", "None", "'bf16'"}),
            "error: dot_scaled: operand lhs_scale is tile<8x2xu8>, wanted u8 or f8e4m3 of [16, K / 16 or K / 32] with K = 64");
  EXPECT_EQ(Run(Op::kDotScaled, {"u8[16,64]", "None", "'e3m2'", "bf16[64,8]", "None", "'bf16'"}),
            "error: dot_scaled: format of lhs is \"e3m2\", wanted e2m1, e4m3, e5m2, bf16 or fp16");
  Emitted();
}

}  // namespace
}  // namespace tilevm::specializer
