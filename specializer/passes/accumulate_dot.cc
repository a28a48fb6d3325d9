// acc + dot(a, b, 0) becomes dot(a, b, acc): the product accumulates where it ends up. One rounding less per element, within the bound that
// docs/semantics.md gives for dot.
//
// Requires: verified IR. Ensures: applies where the dot has no other use, its accumulator is zero and both sides have the dot's type.
#include "specializer/passes/passes.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::Op;

bool IsZero(const Rewriter& rewriter, ValueId id) {
  const ir::Op* splat = rewriter.DefIf(id, Op::kSplat);
  const ir::Op* constant = rewriter.DefIf(splat == nullptr ? id : splat->operands[0], Op::kConst);
  return constant != nullptr && constant->FloatAttr("value", 1) == 0;
}

}  // namespace

absl::StatusOr<ir::Kernel> AccumulateDot(ir::Kernel kernel) {
  const std::vector<int> uses = CountUses(kernel);  // a sum that this pass has made is in no list, and none of its own
  Rewriter rewriter(&kernel);
  rewriter.Run([&](ir::Op& op) {
    if (op.op != Op::kAdd) return true;
    for (int side : {1, 0}) {
      const ValueId product = op.operands[side];
      const ir::Op* dot = rewriter.DefIf(product, Op::kDot);
      if (dot == nullptr || product >= uses.size() || uses[product] != 1 || !IsZero(rewriter, dot->operands[2])) continue;
      const ValueId sum = EmitCopy(rewriter.builder(), *dot, {dot->operands[0], dot->operands[1], op.operands[1 - side]}, rewriter.TypeOf(op.results[0]));
      rewriter.Replace(op.results[0], sum);
      return false;
    }
    return true;
  });
  return kernel;
}

}  // namespace tilevm::specializer
