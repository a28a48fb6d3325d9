// Elementwise ops move before the stretching of their operands: computed on the small shape, then stretched.
//
//   add(splat a, splat b)                      -> splat(add(a, b))
//   mul(broadcast x, splat s), x: tile<8x1>    -> broadcast(mul(x, splat s to 8x1))
//   mul(expand_dims x, splat s)                -> expand_dims(mul(x, splat s))
//
// Requires: verified IR. Ensures: the same values bit for bit; no elementwise op all of whose operands are one and the same stretching remains.
#include <optional>

#include "specializer/passes/passes.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::Op;

// The stretching all operands share: its op, and the shape that they had before it. A splat goes along with any.
struct Stretch {
  const ir::Op* like = nullptr;  // broadcast or expand_dims; null if all are splats
  isa::Shape small;
};

bool SameStretch(const ir::Op& a, const isa::Shape& a_small, const ir::Op& b, const isa::Shape& b_small) {
  return a.op == b.op && a_small == b_small && a.IntAttr("axis", -1) == b.IntAttr("axis", -1);
}

std::optional<Stretch> CommonStretch(const Rewriter& rewriter, const ir::Op& op) {
  Stretch common;
  for (ValueId operand : op.operands) {
    if (operand == ir::kNoValue) return std::nullopt;
    const ir::Op* def = rewriter.Def(operand);
    if (def == nullptr) return std::nullopt;
    if (def->op == Op::kSplat) continue;
    if (def->op != Op::kBroadcast && def->op != Op::kExpandDims) return std::nullopt;
    const isa::Shape small = rewriter.TypeOf(def->operands[0]).shape;
    if (common.like == nullptr) {
      common = {def, small};
    } else if (!SameStretch(*common.like, common.small, *def, small)) {
      return std::nullopt;
    }
  }
  return common;
}

bool Hoist(Rewriter& rewriter, ir::Op& op) {
  if (!IsElementwise(op.op) || op.operands.empty() || op.results.size() != 1 || rewriter.TypeOf(op.results[0]).is_scalar()) return true;
  const std::optional<Stretch> stretch = CommonStretch(rewriter, op);
  if (!stretch.has_value()) return true;
  ir::Builder& builder = rewriter.builder();
  std::vector<ValueId> small;
  for (ValueId operand : op.operands) {
    const ir::Op* def = rewriter.Def(operand);
    const ValueId inside = def->operands[0];
    small.push_back(def->op == Op::kSplat ? builder.Splat(inside, stretch->small, op.loc) : inside);
  }
  isa::Type type = rewriter.TypeOf(op.results[0]);
  const isa::Shape shape = type.shape;
  type.shape = stretch->small;
  const ValueId computed = EmitCopy(builder, op, std::move(small), type);
  ValueId stretched;
  if (stretch->like == nullptr) {
    stretched = builder.Splat(computed, shape, op.loc);
  } else if (stretch->like->op == Op::kBroadcast) {
    stretched = builder.Broadcast(computed, shape, op.loc);
  } else {
    type.shape = shape;
    stretched = EmitCopy(builder, *stretch->like, {computed}, type);
  }
  rewriter.Replace(op.results[0], stretched);
  return false;
}

}  // namespace

absl::StatusOr<ir::Kernel> HoistBroadcasts(ir::Kernel kernel) {
  // expand_dims under broadcast: the op moves out of one in each round. Ranks are small, so rounds are few.
  for (int round = 0; round <= isa::kMaxRank; ++round) {
    const size_t values = kernel.values.size();
    Rewriter rewriter(&kernel);
    rewriter.Run([&](ir::Op& op) { return Hoist(rewriter, op); });
    if (kernel.values.size() == values) break;
  }
  return kernel;
}

}  // namespace tilevm::specializer
