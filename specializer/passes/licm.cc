// Loop-invariant code: pure ops without regions whose operands are all defined outside a for or while move before it, innermost loops first.
// Every pure op is total, so computing one for a loop that runs no iteration is safe. Loads stay: the loop may store.
//
// Requires: verified IR. Ensures: the same values bit for bit; order of effects unchanged.
#include <algorithm>

#include "specializer/passes/passes.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::Op;

class InvariantCode {
 public:
  explicit InvariantCode(const ir::Kernel& kernel) : inside_(kernel.values.size(), false) {}

  void Walk(ir::Region& region) {
    std::vector<ir::Op> ops;
    ops.reserve(region.ops.size());
    for (ir::Op& op : region.ops) {
      for (ir::Region& inner : op.regions) Walk(inner);
      if (op.op == Op::kFor || op.op == Op::kWhile) Hoist(op, ops);
      ops.push_back(std::move(op));
    }
    region.ops = std::move(ops);
  }

 private:
  void Mark(const ir::Region& region, bool inside) {
    for (ValueId id : region.args) inside_[id] = inside;
    for (const ir::Op& op : region.ops) {
      for (ValueId id : op.results) inside_[id] = inside;
      for (const ir::Region& inner : op.regions) Mark(inner, inside);
    }
  }

  bool Invariant(const ir::Op& op) const {
    if (!op.regions.empty() || op.results.empty() || !IsPure(op)) return false;
    return std::none_of(op.operands.begin(), op.operands.end(), [&](ValueId id) { return id != ir::kNoValue && inside_[id]; });
  }

  void Hoist(ir::Op& loop, std::vector<ir::Op>& before) {
    for (const ir::Region& region : loop.regions) Mark(region, true);
    for (ir::Region& region : loop.regions) {
      std::vector<ir::Op> stay;
      for (ir::Op& op : region.ops) {
        if (!Invariant(op)) {
          stay.push_back(std::move(op));
          continue;
        }
        for (ValueId id : op.results) inside_[id] = false;
        before.push_back(std::move(op));
      }
      region.ops = std::move(stay);
    }
    for (const ir::Region& region : loop.regions) Mark(region, false);
  }

  std::vector<bool> inside_;
};

}  // namespace

absl::StatusOr<ir::Kernel> Licm(ir::Kernel kernel) {
  InvariantCode(kernel).Walk(kernel.body);
  return kernel;
}

}  // namespace tilevm::specializer
