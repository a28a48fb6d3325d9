// Common subexpressions: a pure op equal to an earlier one that is visible here gives way to it.
//
// Requires: verified IR. Ensures: the same values bit for bit; in no region two equal pure ops without regions, the second seeing the first.
#include <string>

#include "absl/container/flat_hash_map.h"
#include "specializer/passes/passes.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;

class CommonSubexpressions {
 public:
  explicit CommonSubexpressions(ir::Kernel* kernel) : kernel_(kernel) {}

  void Walk(ir::Region& region) {
    std::vector<std::string> added;
    std::vector<ir::Op> kept;
    kept.reserve(region.ops.size());
    for (ir::Op& op : region.ops) {
      for (ValueId& operand : op.operands) operand = Resolve(operand);
      // The function of a reduce, scan or map stands alone: nothing from outside goes in.
      const bool alone = op.op == isa::Op::kReduce || op.op == isa::Op::kScan || op.op == isa::Op::kMapElementwise;
      absl::flat_hash_map<std::string, std::vector<ValueId>> outside;
      if (alone) outside.swap(seen_);
      for (ir::Region& inner : op.regions) Walk(inner);
      if (alone) outside.swap(seen_);
      if (!op.regions.empty() || op.results.empty() || !IsPure(op)) {
        kept.push_back(std::move(op));
        continue;
      }
      std::string key = KeyOf(*kernel_, op);
      const auto [entry, fresh] = seen_.try_emplace(key, op.results.begin(), op.results.end());
      if (fresh) {
        added.push_back(std::move(key));
        kept.push_back(std::move(op));
        continue;
      }
      for (size_t i = 0; i < op.results.size(); ++i) Replace(op.results[i], entry->second[i]);
    }
    region.ops = std::move(kept);
    for (const std::string& key : added) seen_.erase(key);  // what a region defines is not visible after it
  }

 private:
  void Replace(ValueId from, ValueId to) {
    if (replaced_.size() <= from) replaced_.resize(kernel_->values.size(), ir::kNoValue);
    replaced_[from] = to;
    if (kernel_->values[to].name.empty()) kernel_->values[to].name = kernel_->values[from].name;
  }

  ValueId Resolve(ValueId id) const { return id < replaced_.size() && replaced_[id] != ir::kNoValue ? replaced_[id] : id; }

  ir::Kernel* kernel_;
  absl::flat_hash_map<std::string, std::vector<ValueId>> seen_;
  std::vector<ValueId> replaced_;
};

}  // namespace

absl::StatusOr<ir::Kernel> Cse(ir::Kernel kernel) {
  CommonSubexpressions(&kernel).Walk(kernel.body);
  return kernel;
}

}  // namespace tilevm::specializer
