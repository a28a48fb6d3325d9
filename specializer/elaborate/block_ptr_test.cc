// Block pointers and tensor descriptors.
#include "specializer/elaborate/testing.h"

namespace tilevm::specializer {
namespace {

using isa::Op;

class BlockPtrTest : public ElaborateTest {
 protected:
  Value BlockPtr() {
    RunValues(Op::kMakeBlockPtr, {Make("ptr<f32>"), Value::Tuple({Make("i32"), Value::Int(5)}), Value::Tuple({Make("i32"), Value::Int(1)}),
                                  Make("(0,0)"), Make("(4,8)"), Make("(1,0)")});
    return last_;
  }
  Value Descriptor(const char* padding = "") {
    RunValues(Op::kMakeTensorDescriptor, {Make("ptr<f32>"), Value::Tuple({Make("i32"), Make("i32")}), Value::Tuple({Make("i32"), Value::Int(1)}),
                                          Make("(4,8)"), Make(padding)});
    return last_;
  }
};

TEST_F(BlockPtrTest, LoadChecksOnlyListedDimensions) {
  const Value p = BlockPtr();
  ASSERT_TRUE(p.is(ValueKind::kBlockPtr));
  EXPECT_EQ(RunValues(Op::kLoad, {p}), "tile<4x8xf32>");
  EXPECT_EQ(RunValues(Op::kLoad, {p, Value(), Value(), Make("(1,)"), Make("'zero'")}), "tile<4x8xf32>");
  EXPECT_EQ(RunValues(Op::kLoad, {p, Value(), Value(), Make("(0,1)"), Make("'nan'")}), "tile<4x8xf32>");
  EXPECT_EQ(RunValues(Op::kStore, {p, Make("1.0"), Value(), Make("(0,1)")}), "none");
  EXPECT_EQ(RunValues(Op::kLoad, {p, Make("i1[4,8]")}),
            "error: load: mask and other cannot be given with a block pointer; use boundary_check and padding_option");
  EXPECT_EQ(RunValues(Op::kLoad, {p, Value(), Value(), Make("(2,)")}), "error: load: boundary_check holds 2, and the block has rank 2");
  const std::string text = Emitted();
  EXPECT_NE(text.find("ptr_add"), std::string::npos);
}

TEST_F(BlockPtrTest, Errors) {
  EXPECT_EQ(RunValues(Op::kMakeBlockPtr, {Make("ptr<f32>"), Make("(5,5)"), Make("(5,1)"), Make("(0,0)"), Make("(4,8)"), Make("(1,1)")}),
            "error: make_block_ptr: argument order is not a permutation of 0 to 1");
  EXPECT_EQ(RunValues(Op::kMakeBlockPtr, {Make("ptr<f32>"), Make("(5,)"), Make("(5,1)"), Make("(0,0)"), Make("(4,8)"), Make("(1,0)")}),
            "error: make_block_ptr: argument shape has 1 entries, wanted 2");
  EXPECT_EQ(RunValues(Op::kAdvance, {BlockPtr(), Make("(0,8)")}), TypeName(BlockPtr(), &kernel_));
  EXPECT_EQ(RunValues(Op::kAdvance, {Make("ptr<f32>"), Make("(0,8)")}), "error: advance: operand base is ptr<f32>, wanted a block pointer");
  Emitted();
}

TEST_F(BlockPtrTest, Descriptors) {
  const Value d = Descriptor("'nan'");
  ASSERT_TRUE(d.is(ValueKind::kDescriptor));
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "load", {{Value::Tuple({Make("i32"), Value::Int(0)})}, {}}, {})), "tile<4x8xf32>");
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "store", {{Make("(0,0)"), Make("f16[4,8]")}, {}}, {})), "none");
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "store", {{Make("(0,0)"), Make("f16[8]")}, {}}, {})),
            "error: descriptor_store: operand value is tile<8xf16>, wanted shape [4, 8]");
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "load", {{Value::Tuple({Make("i64"), Value::Int(0)})}, {}}, {})),
            "error: descriptor_load: offsets holds i64, wanted 32 bits; add .to(tl.int32)");
  EXPECT_EQ(Describe(DescriptorAttr(elaborator_, d, "block_shape", {})), "static 4, static 8");
  EXPECT_EQ(Describe(DescriptorAttr(elaborator_, d, "shape", {})), "i32, i32");
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "atomic_add", {{Make("(0,0)"), Make("f32[4,8]")}, {}}, {})), "none");
  EXPECT_EQ(Run(Op::kMakeTensorDescriptor, {"ptr<f32>", "(4,4)", "(4,2)", "(4,8)"}),
            "error: make_tensor_descriptor: the last stride is int, wanted the constant 1");
  EXPECT_EQ(Run(Op::kMakeTensorDescriptor, {"ptr<f16>", "(4,4)", "(4,1)", "(4,4)"}),
            "error: make_tensor_descriptor: the last dimension of block_shape is 8 bytes, wanted at least 16");
  Emitted();
}

TEST_F(BlockPtrTest, GatherRows) {
  RunValues(Op::kMakeTensorDescriptor, {Make("ptr<f32>"), Make("(64,64)"), Make("(64,1)"), Make("(1,8)")});
  const Value d = last_;
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "gather", {{Make("i32[16]"), Make("i32")}, {}}, {})), "tile<16x8xf32>");
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "scatter", {{Make("f32[16,8]"), Make("i32[16]"), Make("0")}, {}}, {})), "none");
  EXPECT_EQ(Describe(DescriptorMethod(elaborator_, d, "gather", {{Make("i32[4]"), Make("0")}, {}}, {})),
            "error: descriptor_load: operand x_offsets is tile<4xi32>, wanted a 1-D tile of 8 or more i16 or i32");
  Emitted();
}

}  // namespace
}  // namespace tilevm::specializer
