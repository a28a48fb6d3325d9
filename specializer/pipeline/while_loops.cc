#include "specializer/pipeline/while_loops.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilevm::pipeline {
namespace {

using ir::ValueId;
using isa::Op;

class Follower {
 public:
  explicit Follower(const ir::Op& loop) { Index(loop); }

  // What a value is made of inside of the loop; what comes from before it is the same for both sides.
  bool Reads(ValueId id) {
    if (id == ir::kNoValue || !seen_.insert(id).second) return false;
    if (auto arg = owner_of_arg_.find(id); arg != owner_of_arg_.end()) {
      const ir::Op& of = *arg->second;
      const size_t skip = of.op == Op::kFor ? 1 : 0;
      for (const ir::Region& region : of.regions) {
        const auto at = std::find(region.args.begin(), region.args.end(), id);
        if (at == region.args.end()) continue;
        const size_t index = static_cast<size_t>(at - region.args.begin());
        return index < skip ? Reads(of.operand(0)) || Reads(of.operand(2)) : ReadsResult(of, index - skip);
      }
      return false;
    }
    const auto made = def_.find(id);
    if (made == def_.end()) return false;
    const ir::Op& op = *made->second;
    const isa::Effect effect = isa::Info(op.op).effect;
    if (op.regions.empty() && effect != isa::Effect::kPure && effect != isa::Effect::kId) return true;
    if (op.op == Op::kFor || op.op == Op::kWhile || op.op == Op::kIf) {
      return ReadsResult(op, static_cast<size_t>(std::find(op.results.begin(), op.results.end(), id) - op.results.begin()));
    }
    return std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId operand) { return Reads(operand); });
  }

 private:
  void Index(const ir::Op& op) {
    for (const ir::Region& region : op.regions) {
      for (ValueId arg : region.args) owner_of_arg_[arg] = &op;
      for (const ir::Op& inner : region.ops) {
        for (ValueId result : inner.results) def_[result] = &inner;
        Index(inner);
      }
    }
  }
  // A value that goes around a loop, or comes out of a branch: by what it is, and by how often or which way.
  bool ReadsResult(const ir::Op& op, size_t index) {
    for (size_t r = 0; r < op.regions.size(); ++r) {
      const auto& ends = op.regions[r].ops.back().operands;
      const size_t at = index + (op.op == Op::kWhile && r == 0 ? 1 : 0);
      if (at < ends.size() && Reads(ends[at])) return true;
    }
    for (size_t i = 0; i < (op.op == Op::kFor ? 3u : op.op == Op::kIf ? 1u : 0u); ++i) {
      if (Reads(op.operands[i])) return true;
    }
    if (op.op == Op::kIf) return false;
    return Reads(op.operands[(op.op == Op::kFor ? 3 : 0) + index]) || (op.op == Op::kWhile && Reads(op.regions[0].ops.back().operands[0]));
  }

  std::map<ValueId, const ir::Op*> def_, owner_of_arg_;  // in the loop
  std::set<ValueId> seen_;
};

}  // namespace

bool GoesByMemory(const ir::Op& loop) { return Follower(loop).Reads(loop.regions[0].ops.back().operands[0]); }

}  // namespace tilevm::pipeline
