// Printing and verifying of small kernels built by hand.
#include "gtest/gtest.h"
#include "specializer/ir/builder.h"
#include "specializer/ir/kernel.h"

namespace tilevm::ir {
namespace {

using isa::DType;

// x[i] += 1 for 8 lanes, three times.
Kernel Example() {
  Kernel kernel;
  kernel.name = "bump";
  kernel.params.push_back({kernel.NewValue(isa::PointerType(DType::kF32), "x"), "x", 0, 16, {}});
  Builder b(&kernel);
  const NamedAttr range[] = {{"start", int64_t{0}}, {"end", int64_t{8}}};
  const ValueId lanes = b.Emit(isa::Op::kArange, isa::TileType(DType::kI32, {8}), {}, {}, range);
  const ValueId base = b.Splat(kernel.params[0].value, {8}, {});
  const ValueId p = b.Emit(isa::Op::kPtrAdd, kernel.TypeOf(base), std::vector<ValueId>{base, lanes}, {});
  kernel.values[p].name = "p";
  const ValueId lo = b.ConstInt(DType::kI32, 0, {});
  const ValueId hi = b.ConstInt(DType::kI32, 3, {});
  const ValueId one = b.ConstInt(DType::kI32, 1, {});
  const ValueId start = b.Emit(isa::Op::kLoad, isa::TileType(DType::kF32, {8}), std::vector<ValueId>{p}, {});
  Op loop;
  loop.op = isa::Op::kFor;
  loop.operands = {lo, hi, one, start};
  loop.regions.resize(1);
  Region& body = loop.regions[0];
  body.args = {kernel.NewValue(isa::ScalarType(DType::kI32), "i"), kernel.NewValue(isa::TileType(DType::kF32, {8}), "acc")};
  b.PushRegion(&body);
  const ValueId ones = b.Splat(b.ConstFloat(DType::kF32, 1.5, {}), {8}, {});
  const ValueId sum = b.Emit(isa::Op::kAdd, isa::TileType(DType::kF32, {8}), std::vector<ValueId>{body.args[1], ones}, {});
  b.EmitVoid(isa::Op::kYield, std::vector<ValueId>{sum}, {});
  b.PopRegion();
  const isa::Type results[] = {isa::TileType(DType::kF32, {8})};
  const ValueId end = b.EmitOp(std::move(loop), results)[0];
  kernel.values[end].name = "acc";
  b.EmitVoid(isa::Op::kStore, std::vector<ValueId>{p, end}, {});
  b.EmitVoid(isa::Op::kYield, {}, {});
  return kernel;
}

TEST(Print, ShowsNamesTypesAndRegions) {
  EXPECT_EQ(Print(Example()), R"(kernel bump(%x: ptr<f32> {divisibility = 16})
    %1: tile<8xi32> = arange {start = 0, end = 8}
    %2: tile<8xptr<f32>> = splat %x
    %p: tile<8xptr<f32>> = ptr_add %2, %1
    %4: i32 = const {value = 0}
    %5: i32 = const {value = 3}
    %6: i32 = const {value = 1}
    %7: tile<8xf32> = load %p
    %acc@8: tile<8xf32> = for %4, %5, %6, %7
      body (%i: i32, %acc@10: tile<8xf32>)
        %11: f32 = const {value = 1.5}
        %12: tile<8xf32> = splat %11
        %13: tile<8xf32> = add %acc@10, %12
        yield %13
    store %p, %acc@8
    yield
)");
}

TEST(Verify, AcceptsTheExample) {
  EXPECT_EQ(Verify(Example()).message(), "");
  EXPECT_EQ(OpCount(Example()), 14);
}

TEST(Verify, FindsAnOperandOfAnotherShape) {
  Kernel kernel = Example();
  kernel.values[kernel.body.ops[0].results[0]].type = isa::TileType(DType::kI32, {4});
  const absl::Status status = Verify(kernel);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "typed IR: ptr_add: operand offset is tile<4xi32>, S is already [8]");
}

TEST(Verify, FindsUseBeforeDefinitionAndAMissingTerminator) {
  Kernel kernel = Example();
  std::swap(kernel.body.ops[0], kernel.body.ops[2]);
  EXPECT_EQ(Verify(kernel).message(), "typed IR: ptr_add: operand 2 is not defined here");
  kernel = Example();
  kernel.body.ops.pop_back();
  EXPECT_EQ(Verify(kernel).message(), "typed IR: store: the region ends without yield or exit");
}

TEST(Verify, FindsACarriedValueOfAnotherType) {
  Kernel kernel = Example();
  kernel.values[kernel.body.ops[7].results[0]].type = isa::TileType(DType::kF64, {8});
  EXPECT_EQ(Verify(kernel).message(), "typed IR: for: carried value 0 changes its type: tile<8xf32>");
}

TEST(Attributes, AreFoundAndReplaced) {
  Op op;
  op.SetAttr("axis", int64_t{1});
  op.SetAttr("axis", int64_t{2});
  op.SetAttr("kind", std::string("add"));
  EXPECT_EQ(op.attrs.size(), 2u);
  EXPECT_EQ(op.IntAttr("axis"), 2);
  EXPECT_EQ(op.StringAttr("kind"), "add");
  EXPECT_FALSE(op.BoolAttr("reverse"));
}

}  // namespace
}  // namespace tilevm::ir
