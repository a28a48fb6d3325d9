// Dead code: pure ops and loads whose results nobody uses, ifs and for loops that only compute such, and carried values of for loops that are
// only passed along.
//
// Requires: verified IR. Ensures: stores, atomics, prints, asserts, barriers, volatile loads and whiles stay as they are and in their order.
#include <algorithm>

#include "specializer/passes/passes.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::Op;

class DeadCode {
 public:
  explicit DeadCode(ir::Kernel* kernel) : uses_(CountUses(*kernel)) {}

  // One sweep from the end to the beginning; true if something went.
  bool Sweep(ir::Region& region) {
    bool changed = false;
    std::vector<char> dead(region.ops.size(), 0);
    for (size_t i = region.ops.size(); i-- > 0;) {
      ir::Op& op = region.ops[i];
      if (Unused(op) && Removable(op)) {
        Forget(op);
        dead[i] = changed = true;
        continue;
      }
      if (op.op == Op::kFor) changed |= DropPassengers(op);
      for (ir::Region& inner : op.regions) changed |= Sweep(inner);
    }
    size_t kept = 0;
    for (size_t i = 0; i < region.ops.size(); ++i) {
      if (dead[i]) continue;
      if (kept != i) region.ops[kept] = std::move(region.ops[i]);
      ++kept;
    }
    region.ops.resize(kept);
    return changed;
  }

 private:
  bool Unused(const ir::Op& op) const {
    return std::all_of(op.results.begin(), op.results.end(), [&](ValueId id) { return uses_[id] == 0; });
  }

  static bool Removable(const ir::Op& op) {
    if (op.op == Op::kLoad) return !op.BoolAttr("volatile");
    if (op.op == Op::kIf || op.op == Op::kFor) {
      return std::all_of(op.regions.begin(), op.regions.end(), [](const ir::Region& region) {
        return std::all_of(region.ops.begin(), region.ops.end(), [](const ir::Op& inner) { return inner.op == Op::kYield || Removable(inner); });
      });
    }
    return !op.results.empty() && IsPure(op);
  }

  void Forget(const ir::Op& op) {
    for (ValueId id : op.operands) {
      if (id != ir::kNoValue) --uses_[id];
    }
    for (const ir::Region& region : op.regions) {
      for (const ir::Op& inner : region.ops) Forget(inner);
    }
  }

  // A carried value that is yielded as it came, or whose result and region argument nobody reads but its own yield.
  bool DropPassengers(ir::Op& loop) {
    constexpr size_t kBounds = 3;
    ir::Region& body = loop.regions[0];
    if (body.ops.empty() || body.ops.back().op != Op::kYield) return false;
    bool changed = false;
    for (size_t i = loop.results.size(); i-- > 0;) {
      const ValueId arg = body.args[i + 1];
      const ValueId yielded = body.ops.back().operands[i];
      const bool only_passed = uses_[arg] == (yielded == arg ? 1 : 0);
      if (uses_[loop.results[i]] != 0 || !only_passed) continue;
      --uses_[loop.operands[kBounds + i]];
      --uses_[yielded];
      loop.operands.erase(loop.operands.begin() + static_cast<ptrdiff_t>(kBounds + i));
      loop.results.erase(loop.results.begin() + static_cast<ptrdiff_t>(i));
      body.args.erase(body.args.begin() + static_cast<ptrdiff_t>(i + 1));
      body.ops.back().operands.erase(body.ops.back().operands.begin() + static_cast<ptrdiff_t>(i));
      changed = true;
    }
    return changed;
  }

  std::vector<int> uses_;
};

}  // namespace

absl::StatusOr<ir::Kernel> Dce(ir::Kernel kernel) {
  DeadCode dead(&kernel);
  while (dead.Sweep(kernel.body)) {
  }
  return kernel;
}

}  // namespace tilevm::specializer
