// Shape ops of splats and of other shape ops.
#include "specializer/passes/fold_rules.h"

namespace tilevm::specializer {

using ir::ValueId;
using isa::Op;

ValueId FoldShapes(Rewriter& rewriter, const ir::Op& op) {
  if (op.op != Op::kReshape && op.op != Op::kBroadcast && op.op != Op::kExpandDims && op.op != Op::kPermute && op.op != Op::kFlip) return ir::kNoValue;
  const isa::Type type = rewriter.TypeOf(op.results[0]);
  const isa::Type from = rewriter.TypeOf(op.operands[0]);
  if (type == from && (op.op == Op::kReshape || op.op == Op::kBroadcast)) return op.operands[0];
  const ir::Op* inner = rewriter.Def(op.operands[0]);
  if (inner == nullptr) return ir::kNoValue;
  if (inner->op == Op::kSplat) return rewriter.builder().Splat(inner->operands[0], type.shape, op.loc);
  // Of the same kind: the inner one is skipped.
  if (inner->op == op.op && (op.op == Op::kReshape || op.op == Op::kBroadcast)) {
    const ValueId x = inner->operands[0];
    return rewriter.TypeOf(x) == type ? x : EmitCopy(rewriter.builder(), op, {x}, type);
  }
  if (inner->op == Op::kPermute && op.op == Op::kPermute) {
    const ValueId x = inner->operands[0];
    const auto& first = std::get<std::vector<int64_t>>(*inner->FindAttr("dims"));
    const auto& second = std::get<std::vector<int64_t>>(*op.FindAttr("dims"));
    std::vector<int64_t> both(first.size());
    bool identity = true;
    for (size_t i = 0; i < both.size(); ++i) {
      both[i] = first[second[i]];
      identity = identity && both[i] == static_cast<int64_t>(i);
    }
    if (identity) return x;
    const ValueId operands[] = {x};
    const ir::NamedAttr attrs[] = {{"dims", std::move(both)}};
    return rewriter.builder().Emit(Op::kPermute, type, operands, op.loc, attrs);
  }
  return ir::kNoValue;
}

}  // namespace tilevm::specializer
