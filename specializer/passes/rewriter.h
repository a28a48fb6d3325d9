// The walk that most passes are: every op once, in order, operands already replaced, with the definitions of all earlier values at hand.
//
// The visitor sees an op after its regions were walked. It may change the op in place, emit new ops before it (builder()), replace its results by
// other values (Replace, then return false to drop it), or leave it (return true).
#ifndef TILEVM_SPECIALIZER_PASSES_REWRITER_H_
#define TILEVM_SPECIALIZER_PASSES_REWRITER_H_

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "specializer/ir/builder.h"
#include "specializer/ir/kernel.h"

namespace tilevm::specializer {

class Rewriter {
 public:
  using Visitor = std::function<bool(ir::Op& op)>;

  explicit Rewriter(ir::Kernel* kernel) : kernel_(kernel), builder_(kernel) {}

  void Run(const Visitor& visit);

  ir::Builder& builder() { return builder_; }
  ir::Kernel& kernel() { return *kernel_; }
  isa::Type TypeOf(ir::ValueId id) const { return kernel_->TypeOf(id); }

  // The op that defines id, as it now is; null for parameters, region arguments and results of ops with regions. Valid until Run returns.
  const ir::Op* Def(ir::ValueId id) const { return id < defs_.size() ? defs_[id] : nullptr; }
  // Def if it is that op, else null.
  const ir::Op* DefIf(ir::ValueId id, isa::Op op) const {
    const ir::Op* def = id == ir::kNoValue ? nullptr : Def(id);
    return def != nullptr && def->op == op ? def : nullptr;
  }
  // Later uses of `from` become `to` (which is defined here already).
  void Replace(ir::ValueId from, ir::ValueId to);
  ir::ValueId Resolve(ir::ValueId id) const;

 private:
  void Walk(ir::Region& region, const Visitor& visit);
  void Record(const ir::Op& op);

  ir::Kernel* kernel_;
  ir::Builder builder_;
  std::deque<ir::Op> copies_;
  std::vector<const ir::Op*> defs_;
  std::vector<ir::ValueId> replaced_;  // kNoValue: not
};

// How often each value is an operand, terminators included.
std::vector<int> CountUses(const ir::Kernel& kernel);

// Whether an op depends on its operands alone and may be computed, moved or dropped at will (no regions, or only those of reduce, scan, map).
bool IsPure(const ir::Op& op);
// Pure and elementwise: result element i depends on element i of each operand; all operands and results have one shape.
bool IsElementwise(isa::Op op);
// Equal for ops that compute the same of the same operands: the op, its operands, result types and attributes. Without regions.
std::string KeyOf(const ir::Kernel& kernel, const ir::Op& op);
// An op with one result, which the caller has made.
ir::Op MakeOp(isa::Op op, ir::ValueId result, absl::Span<const ir::ValueId> operands, Loc loc);
// The same op with the same attributes on other operands; emits it and returns its one result.
ir::ValueId EmitCopy(ir::Builder& builder, const ir::Op& like, std::vector<ir::ValueId> operands, isa::Type result);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PASSES_REWRITER_H_
