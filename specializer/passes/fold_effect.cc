// Loads and stores with a constant mask.
#include "specializer/passes/constants.h"
#include "specializer/passes/fold_rules.h"

namespace tilevm::specializer {

using ir::ValueId;
using isa::Op;

bool FoldEffect(Rewriter& rewriter, ir::Op& op) {
  const bool is_load = op.op == Op::kLoad;
  const size_t mask_at = is_load ? 1 : 2;
  const ValueId mask = op.operand(mask_at);
  if (mask == ir::kNoValue) return true;
  const std::optional<Constant> constant = ConstantOf(rewriter, mask);
  if (!constant.has_value()) return true;
  if (constant->value.bits != 0) {
    op.operands.resize(mask_at);  // other is never seen
    return true;
  }
  if (!is_load) return false;
  const isa::Type type = rewriter.TypeOf(op.results[0]);
  const ValueId other = op.operand(2);
  rewriter.Replace(op.results[0], other != ir::kNoValue ? other : EmitConstant(rewriter, type, isa::Scalar{}, op.loc));
  return false;
}

}  // namespace tilevm::specializer
