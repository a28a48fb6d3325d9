// Facts of address and mask arithmetic, by kernels built by hand.
#include "gtest/gtest.h"
#include "specializer/analysis/access_plan.h"
#include "specializer/analysis/runs.h"
#include "specializer/ir/builder.h"

namespace tilevm::analysis {
namespace {

using ir::ValueId;
using isa::DType;
using isa::Op;
using isa::Type;

class AnalysisTest : public testing::Test {
 protected:
  AnalysisTest() : b_(&kernel_) { kernel_.name = "k"; }

  ValueId Param(Type type, int64_t divisibility) {
    const ValueId id = kernel_.NewValue(std::move(type));
    kernel_.params.push_back({id, "p", 0, divisibility, {}});
    return id;
  }
  ValueId Emit(Op op, Type type, std::vector<ValueId> operands, std::vector<ir::NamedAttr> attrs = {}) { return b_.Emit(op, std::move(type), operands, {}, attrs); }
  ValueId Like(Op op, std::vector<ValueId> operands) { return Emit(op, kernel_.TypeOf(operands[0]), operands); }
  ValueId Arange(int64_t n) { return Emit(Op::kArange, isa::TileType(DType::kI32, {n}), {}, {{"start", int64_t{0}}, {"end", n}}); }
  ValueId Int(int64_t n) { return b_.ConstInt(DType::kI32, n, {}); }
  ValueId Splat(ValueId x, isa::Shape shape) { return b_.Splat(x, shape, {}); }
  ValueId Lt(ValueId x, ValueId y) { return Emit(Op::kLt, isa::TileType(DType::kI1, kernel_.TypeOf(x).shape), {x, y}); }
  std::string Facts(ValueId id) { return ToString(AxisFacts(kernel_).Of(id)); }
  void Finish() { b_.EmitVoid(Op::kYield, {}, {}); }

  ir::Kernel kernel_;
  ir::Builder b_;
};

TEST_F(AnalysisTest, OffsetsOfABlock) {
  const ValueId pid = Emit(Op::kProgramId, isa::ScalarType(DType::kI32), {}, {{"axis", int64_t{0}}});
  const ValueId start = Like(Op::kMul, {pid, Int(16)});
  const ValueId offsets = Like(Op::kAdd, {Splat(start, {64}), Arange(64)});
  EXPECT_EQ(Facts(start), "divisor 16, non_negative");
  EXPECT_EQ(Facts(offsets), "divisor 1, non_negative, [contiguity 64 constancy 1 run_divisor 16]");
}

TEST_F(AnalysisTest, VectorWidthFollowsAlignmentAndMask) {
  const ValueId p = Param(isa::PointerType(DType::kF32), 16);
  const ValueId n = Param(isa::ScalarType(DType::kI32), 16), ragged = Param(isa::ScalarType(DType::kI32), 1);
  const ValueId lanes = Arange(64);
  const ValueId pointers = Emit(Op::kPtrAdd, Type{{DType::kF32, true}, {64}}, {Splat(p, {64}), lanes});
  const ValueId even_mask = Lt(lanes, Splat(n, {64})), ragged_mask = Lt(lanes, Splat(ragged, {64}));
  Emit(Op::kLoad, isa::TileType(DType::kF32, {64}), {pointers});
  Emit(Op::kLoad, isa::TileType(DType::kF32, {64}), {pointers, even_mask});
  const ValueId x = Emit(Op::kLoad, isa::TileType(DType::kF32, {64}), {pointers, ragged_mask});
  b_.EmitVoid(Op::kStore, std::vector<ValueId>{Splat(p, {64}), x}, {});
  Finish();
  EXPECT_EQ(PrintAccessPlan(kernel_),
            "load tile<64xptr<f32>>: contiguous along 0, contiguity 64, vector 4, mask 64\n"
            "load tile<64xptr<f32>>: contiguous along 0, contiguity 64, vector 4, mask 16\n"
            "load tile<64xptr<f32>>: contiguous along 0, contiguity 64, vector 1, mask 1\n"
            "store tile<64xptr<f32>>: uniform\n");
}

TEST_F(AnalysisTest, RowsOfAMatrix) {
  const ValueId p = Param(isa::PointerType(DType::kF16), 16), stride = Param(isa::ScalarType(DType::kI32), 16);
  const ValueId row = Like(Op::kMul, {Arange(32), Splat(stride, {32})});
  const ValueId rows = b_.Broadcast(Emit(Op::kExpandDims, isa::TileType(DType::kI32, {32, 1}), {row}, {{"axis", int64_t{1}}}), {32, 64}, {});
  const ValueId columns = b_.Broadcast(Emit(Op::kExpandDims, isa::TileType(DType::kI32, {1, 64}), {Arange(64)}, {{"axis", int64_t{0}}}), {32, 64}, {});
  const ValueId pointers = Emit(Op::kPtrAdd, Type{{DType::kF16, true}, {32, 64}}, {Splat(p, {32, 64}), Like(Op::kAdd, {rows, columns})});
  Emit(Op::kLoad, isa::TileType(DType::kF16, {32, 64}), {pointers});
  Finish();
  EXPECT_EQ(PrintAccessPlan(kernel_), "load tile<32x64xptr<f16>>: contiguous along 1, contiguity 64, vector 8, mask 64\n");
}

TEST_F(AnalysisTest, RunsEndWhereTheirMaskDoes) {
  const ValueId p = Param(isa::PointerType(DType::kF16), 2), even = Param(isa::PointerType(DType::kF16), 16), n = Param(isa::ScalarType(DType::kI32), 1);
  const ValueId lanes = Arange(64), bound = Splat(n, {64});
  const ValueId pointers = Emit(Op::kPtrAdd, Type{{DType::kF16, true}, {64}}, {Splat(p, {64}), lanes});
  const ValueId aligned = Emit(Op::kPtrAdd, Type{{DType::kF16, true}, {64}}, {Splat(even, {64}), lanes});
  const ValueId below = Lt(lanes, bound), from = Lt(bound, lanes);
  for (ValueId mask : {below, Like(Op::kBitAnd, {below, Splat(Emit(Op::kLt, isa::ScalarType(DType::kI1), {n, n}), {64})}), from, Like(Op::kBitAnd, {below, from})}) {
    Emit(Op::kLoad, isa::TileType(DType::kF16, {64}), {mask == below ? pointers : aligned, mask});
  }
  Finish();
  const AxisFacts facts(kernel_);
  const Runs runs(kernel_, facts);
  std::vector<std::optional<analysis::Run>> found;
  for (const ir::Op& op : kernel_.body.ops) {
    if (op.op == Op::kLoad) found.push_back(runs.Of(op));
  }
  ASSERT_EQ(found.size(), 4u);
  ASSERT_TRUE(found[0].has_value());
  EXPECT_FALSE(found[0]->aligned);
  EXPECT_EQ(found[0]->length, 64);
  EXPECT_EQ(found[0]->masks[0].first, lanes);
  ASSERT_TRUE(found[1].has_value());
  EXPECT_TRUE(found[1]->aligned);
  EXPECT_EQ(found[1]->masks.size(), 2u);
  EXPECT_FALSE(found[2].has_value() || found[3].has_value()) << "a mask that begins inside of a run";
}

TEST_F(AnalysisTest, LoopsKeepWhatEveryIterationKeeps) {
  const ValueId p = Param(isa::PointerType(DType::kF32), 16);
  const ValueId pointers = Emit(Op::kPtrAdd, Type{{DType::kF32, true}, {64}}, {Splat(p, {64}), Arange(64)});
  for (int64_t step : {64, 2}) {
    ir::Op loop;
    loop.op = Op::kFor;
    loop.operands = {Int(0), Int(8), Int(1), pointers};
    loop.regions.resize(1);
    ir::Region& body = loop.regions[0];
    body.args = {kernel_.NewValue(isa::ScalarType(DType::kI32)), kernel_.NewValue(kernel_.TypeOf(pointers))};
    b_.PushRegion(&body);
    Emit(Op::kLoad, isa::TileType(DType::kF32, {64}), {body.args[1]});
    const ValueId next = Like(Op::kPtrAdd, {body.args[1], Splat(Int(step), {64})});
    b_.EmitVoid(Op::kYield, std::vector<ValueId>{next}, {});
    b_.PopRegion();
    const Type results[] = {kernel_.TypeOf(pointers)};
    b_.EmitOp(std::move(loop), results);
  }
  Finish();
  EXPECT_EQ(PrintAccessPlan(kernel_),
            "load tile<64xptr<f32>>: contiguous along 0, contiguity 64, vector 4, mask 64\n"
            "load tile<64xptr<f32>>: contiguous along 0, contiguity 64, vector 2, mask 64\n");
}

TEST_F(AnalysisTest, RemainderKeepsRunsWhereTheModulusAllows) {
  const ValueId m = Param(isa::ScalarType(DType::kI32), 16);
  const ValueId wrapped = Like(Op::kMod, {Arange(64), Splat(m, {64})});
  EXPECT_EQ(Facts(wrapped), "divisor 1, non_negative, [contiguity 16 constancy 1 run_divisor 16]");
  const ValueId n = Param(isa::ScalarType(DType::kI32), 16);
  const ValueId signed_sum = Like(Op::kAdd, {Splat(n, {64}), Arange(64)});
  const ValueId remainder = Like(Op::kMod, {signed_sum, Splat(m, {64})});
  EXPECT_EQ(Facts(remainder), "divisor 1, [contiguity 1 constancy 1 run_divisor 1]") << "n may be negative";
  EXPECT_EQ(AxisFacts(kernel_, {.trust_signs = true}).Of(remainder).axes[0].contiguity, 16);
  const ValueId constant = Like(Op::kMod, {Arange(64), Splat(Int(48), {64})});
  EXPECT_EQ(Facts(constant), "divisor 1, non_negative, [contiguity 16 constancy 1 run_divisor 16]");
  const ValueId halves = Like(Op::kFloorDiv, {Arange(64), Splat(Int(8), {64})});
  EXPECT_EQ(Facts(halves), "divisor 1, non_negative, [contiguity 1 constancy 8 run_divisor 1]");
}

}  // namespace
}  // namespace tilevm::analysis
