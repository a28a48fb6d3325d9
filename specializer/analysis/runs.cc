#include "specializer/analysis/runs.h"

#include <algorithm>

namespace tilevm::analysis {

using isa::Op;

Runs::Runs(const ir::Kernel& kernel, const AxisFacts& facts) : kernel_(kernel), facts_(facts), definition_(kernel.values.size(), nullptr) {
  Collect(kernel.body);
}

void Runs::Collect(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    for (ir::ValueId result : op.results) definition_[result] = &op;
    for (const ir::Region& inner : op.regions) Collect(inner);
  }
}

// Adds the conditions that `mask`, or what `views` make of it, stands for; shortens the run to where they are of the right form.
bool Runs::AddMask(ir::ValueId mask, int axis, std::vector<const ir::Op*> views, Run* run) const {
  const size_t d = static_cast<size_t>(axis);
  if (views.empty() && facts_.Of(mask).axes[d].constancy >= run->length) {
    run->masks.emplace_back();
    run->masks.back().whole = mask;
    return true;
  }
  const ir::Op* op = definition_[mask];
  if (op == nullptr) return false;
  switch (op->op) {
    case Op::kBitAnd: return AddMask(op->operands[0], axis, views, run) && AddMask(op->operands[1], axis, views, run);
    case Op::kBroadcast: case Op::kExpandDims: {
      if (op->op == Op::kBroadcast && kernel_.TypeOf(op->operands[0]).shape[d] != kernel_.TypeOf(mask).shape[d]) return false;
      const int64_t added = op->op == Op::kExpandDims ? op->IntAttr("axis") : kernel_.TypeOf(mask).rank();
      if (added == axis) return false;
      views.push_back(op);
      return AddMask(op->operands[0], added < axis ? axis - 1 : axis, std::move(views), run);
    }
    case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: {
      const bool turned = op->op == Op::kGt || op->op == Op::kGe;
      RunMask part;
      part.first = op->operands[turned ? 1 : 0];
      part.bound = op->operands[turned ? 0 : 1];
      part.inclusive = op->op == Op::kLe || op->op == Op::kGe;
      if (!isa::IsInteger(kernel_.TypeOf(part.first).elem.dtype)) return false;
      run->length = std::min({run->length, facts_.Of(part.first).axes[d].contiguity, facts_.Of(part.bound).axes[d].constancy});
      part.views = std::move(views);
      run->masks.push_back(std::move(part));
      return true;
    }
    default: return false;
  }
}

std::optional<Run> Runs::Of(const ir::Op& op) const {
  if ((op.op != Op::kLoad && op.op != Op::kStore) || op.BoolAttr("volatile")) return std::nullopt;
  const isa::Type& type = kernel_.TypeOf(op.operands[0]);
  const int64_t bytes = isa::StorageBytes(type.elem.dtype);
  if (type.is_scalar() || type.elem.dtype == isa::DType::kI1 || bytes > 4) return std::nullopt;
  const TileFacts& pointers = facts_.Of(op.operands[0]);
  Run run;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (pointers.axes[d].contiguity <= run.length) continue;
    run.axis = static_cast<int>(d);
    run.length = pointers.axes[d].contiguity;
    run.aligned = pointers.axes[d].run_divisor >= 16;
  }
  if (run.axis < 0) return std::nullopt;
  const ir::ValueId mask = op.operand(op.op == Op::kLoad ? 1 : 2);
  if (mask != ir::kNoValue && !AddMask(mask, run.axis, {}, &run)) return std::nullopt;
  if (run.length * bytes < (run.aligned ? 16 : 64)) return std::nullopt;
  return run;
}

}  // namespace tilevm::analysis
