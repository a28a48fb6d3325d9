// Multiply-add contraction: a * b + c becomes fma(a, b, c), a * b - c fma(a, b, -c), c - a * b fma(-a, b, c), for f16, bf16, f32 and
// f64, where the product has no other use. Sees through broadcasts and splats of a product. If both sides are products the left one is taken.
//
// Requires: verified IR without dead code. Ensures: no later step, template or compiler option makes or splits a multiply-add that rounds
// otherwise (join_loops.cc writes x - y as fma(x, 1, -y)), so that both engines round alike.
#include "specializer/passes/passes.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::Op;

class Contraction {
 public:
  explicit Contraction(ir::Kernel* kernel) : uses_(CountUses(*kernel)), rewriter_(kernel) {}

  void Run() {
    rewriter_.Run([&](ir::Op& op) { return Visit(op); });
  }

 private:
  struct Product {
    ValueId x = ir::kNoValue, y = ir::kNoValue;
  };

  bool UsedOnce(ValueId id) const { return id < uses_.size() && uses_[id] == 1; }

  // The factors of id, stretched as id is, if id is a product used here only. Emits the stretching of the factors.
  Product ProductOf(ValueId id, Loc loc) {
    const ir::Op* def = rewriter_.Def(id);
    if (def == nullptr || !UsedOnce(id)) return {};
    if (def->op == Op::kMul) return {def->operands[0], def->operands[1]};
    if (def->op != Op::kSplat && def->op != Op::kBroadcast && def->op != Op::kExpandDims) return {};
    const Product inner = ProductOf(def->operands[0], loc);
    if (inner.x == ir::kNoValue) return {};
    const isa::Type type = rewriter_.TypeOf(id);
    const ValueId x = EmitCopy(rewriter_.builder(), *def, {inner.x}, type);
    return {x, EmitCopy(rewriter_.builder(), *def, {inner.y}, type)};
  }

  ValueId Negate(ValueId id, Loc loc) {
    const ValueId operands[] = {id};
    return rewriter_.builder().Emit(Op::kNeg, rewriter_.TypeOf(id), operands, loc);
  }

  bool Visit(ir::Op& op) {
    if (op.op != Op::kAdd && op.op != Op::kSub) return true;
    const isa::Type type = rewriter_.TypeOf(op.results[0]);
    if (!isa::IsFloat(type.elem.dtype) || isa::IsFp8(type.elem.dtype)) return true;
    const bool subtract = op.op == Op::kSub;
    for (int side : {0, 1}) {
      Product product = ProductOf(op.operands[side], op.loc);
      if (product.x == ir::kNoValue) continue;
      ValueId addend = op.operands[1 - side];
      if (subtract && side == 0) addend = Negate(addend, op.loc);
      if (subtract && side == 1) product.x = Negate(product.x, op.loc);
      const ValueId operands[] = {product.x, product.y, addend};
      rewriter_.Replace(op.results[0], rewriter_.builder().Emit(Op::kFma, type, operands, op.loc));
      return false;
    }
    return true;
  }

  std::vector<int> uses_;
  Rewriter rewriter_;
};

}  // namespace

absl::StatusOr<ir::Kernel> Contract(ir::Kernel kernel) {
  Contraction(&kernel).Run();
  return Dce(std::move(kernel));  // the products
}

}  // namespace tilevm::specializer
