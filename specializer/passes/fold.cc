// Folding: constants, exact identities, shape ops of shape ops, constant masks, ifs with a constant condition, loop values that never change.
//
// Requires: verified IR. Ensures: the same values bit for bit (any NaN equals any NaN), effects in the same order.
#include "specializer/passes/constants.h"
#include "specializer/passes/fold_rules.h"
#include "specializer/passes/passes.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::Op;

// An if with a constant condition becomes the ops of its arm (if that ends in yield).
bool InlineIf(Rewriter& rewriter, ir::Op& op) {
  const std::optional<Constant> cond = ConstantOf(rewriter, op.operands[0]);
  if (!cond.has_value()) return false;
  ir::Region& arm = op.regions[cond->value.bits != 0 ? 0 : 1];
  if (arm.ops.back().op != Op::kYield) return false;
  const ir::Op yield = std::move(arm.ops.back());
  arm.ops.pop_back();
  for (ir::Op& inner : arm.ops) rewriter.builder().region()->ops.push_back(std::move(inner));
  for (size_t i = 0; i < op.results.size(); ++i) rewriter.Replace(op.results[i], yield.operands[i]);
  return true;
}

// A carried value that each iteration passes on unchanged is its initial value.
void DropInvariantCarries(Rewriter& rewriter, ir::Op& loop) {
  constexpr size_t kBounds = 3;
  ir::Region& body = loop.regions[0];
  ir::Op& yield = body.ops.back();
  if (yield.op != Op::kYield) return;
  for (size_t i = loop.results.size(); i-- > 0;) {
    if (yield.operands[i] != body.args[i + 1]) continue;
    const ValueId init = loop.operands[kBounds + i];
    rewriter.Replace(loop.results[i], init);
    rewriter.Replace(body.args[i + 1], init);
    loop.operands.erase(loop.operands.begin() + static_cast<ptrdiff_t>(kBounds + i));
    loop.results.erase(loop.results.begin() + static_cast<ptrdiff_t>(i));
    body.args.erase(body.args.begin() + static_cast<ptrdiff_t>(i + 1));
    yield.operands.erase(yield.operands.begin() + static_cast<ptrdiff_t>(i));
  }
}

bool Visit(Rewriter& rewriter, ir::Op& op) {
  if (op.op == Op::kIf) return !InlineIf(rewriter, op);
  if (op.op == Op::kFor) DropInvariantCarries(rewriter, op);
  if (op.op == Op::kLoad || op.op == Op::kStore) return FoldEffect(rewriter, op);
  if (!op.regions.empty() || op.results.size() != 1 || !IsPure(op)) return true;
  for (auto rule : {FoldConstants, FoldIdentities, FoldRanges, FoldShapes}) {
    const ValueId folded = rule(rewriter, op);
    if (folded == ir::kNoValue) continue;
    rewriter.Replace(op.results[0], folded);
    return false;
  }
  return true;
}

// Replaces what the last round found out too late for ops before it (region arguments).
void ResolveAll(Rewriter& rewriter, ir::Region& region) {
  for (ir::Op& op : region.ops) {
    for (ValueId& operand : op.operands) operand = rewriter.Resolve(operand);
    for (ir::Region& inner : op.regions) ResolveAll(rewriter, inner);
  }
}

}  // namespace

absl::StatusOr<ir::Kernel> Fold(ir::Kernel kernel) {
  Rewriter rewriter(&kernel);
  rewriter.Run([&](ir::Op& op) { return Visit(rewriter, op); });
  ResolveAll(rewriter, kernel.body);
  return kernel;
}

}  // namespace tilevm::specializer
