// Emits typed ops into a kernel at an insertion point. No folding, no rules: the caller gives operands that already fit the row.
#ifndef TILEVM_SPECIALIZER_IR_BUILDER_H_
#define TILEVM_SPECIALIZER_IR_BUILDER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "specializer/ir/kernel.h"

namespace tilevm::ir {

class Builder {
 public:
  explicit Builder(Kernel* kernel) : kernel_(kernel) { regions_.push_back(&kernel->body); }

  Kernel& kernel() { return *kernel_; }
  const Kernel& kernel() const { return *kernel_; }

  // Appends an op with one result (or none) and returns the result's id.
  ValueId Emit(isa::Op op, isa::Type result, absl::Span<const ValueId> operands, Loc loc, absl::Span<const NamedAttr> attrs = {});
  void EmitVoid(isa::Op op, absl::Span<const ValueId> operands, Loc loc, absl::Span<const NamedAttr> attrs = {});
  // Appends a whole op, results given by their types; returns their ids.
  std::vector<ValueId> EmitOp(Op op, absl::Span<const isa::Type> results);

  ValueId ConstInt(isa::DType dtype, int64_t value, Loc loc);    // integer dtypes (u64 by its bits), i1
  ValueId ConstFloat(isa::DType dtype, double value, Loc loc);   // rounded to dtype
  ValueId Splat(ValueId scalar, const isa::Shape& shape, Loc loc);  // no-op if shape is []
  ValueId Broadcast(ValueId tile, const isa::Shape& shape, Loc loc);

  // Insertion: ops go to the region on top. The region must stay alive and unmoved while it is on the stack.
  void PushRegion(Region* region) { regions_.push_back(region); }
  void PopRegion() { regions_.pop_back(); }
  Region* region() { return regions_.back(); }
  ValueId NewValue(isa::Type type, absl::string_view name = "") { return kernel_->NewValue(std::move(type), name); }

 private:
  Kernel* kernel_;
  std::vector<Region*> regions_;
};

}  // namespace tilevm::ir

#endif  // TILEVM_SPECIALIZER_IR_BUILDER_H_
