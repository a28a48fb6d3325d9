// Emits typed ops: the constants and shape changes that every rule needs, and the general op.
#include "specializer/ir/builder.h"

#include <utility>

namespace tilevm::ir {

ValueId Builder::Emit(isa::Op op, isa::Type result, absl::Span<const ValueId> operands, Loc loc, absl::Span<const NamedAttr> attrs) {
  Op emitted;
  emitted.op = op;
  emitted.operands.assign(operands.begin(), operands.end());
  emitted.attrs.assign(attrs.begin(), attrs.end());
  emitted.loc = loc;
  const isa::Type results[] = {std::move(result)};
  return EmitOp(std::move(emitted), results)[0];
}

void Builder::EmitVoid(isa::Op op, absl::Span<const ValueId> operands, Loc loc, absl::Span<const NamedAttr> attrs) {
  Op emitted;
  emitted.op = op;
  emitted.operands.assign(operands.begin(), operands.end());
  emitted.attrs.assign(attrs.begin(), attrs.end());
  emitted.loc = loc;
  EmitOp(std::move(emitted), {});
}

std::vector<ValueId> Builder::EmitOp(Op op, absl::Span<const isa::Type> results) {
  while (!op.operands.empty() && op.operands.back() == kNoValue) op.operands.pop_back();
  std::vector<ValueId> ids;
  for (const isa::Type& type : results) {
    ids.push_back(kernel_->NewValue(type));
    op.results.push_back(ids.back());
  }
  regions_.back()->ops.push_back(std::move(op));
  return ids;
}

ValueId Builder::ConstInt(isa::DType dtype, int64_t value, Loc loc) {
  const NamedAttr attrs[] = {{"value", value}};
  return Emit(isa::Op::kConst, isa::ScalarType(dtype), {}, loc, attrs);
}

ValueId Builder::ConstFloat(isa::DType dtype, double value, Loc loc) {
  const NamedAttr attrs[] = {{"value", value}};
  return Emit(isa::Op::kConst, isa::ScalarType(dtype), {}, loc, attrs);
}

ValueId Builder::Splat(ValueId scalar, const isa::Shape& shape, Loc loc) {
  if (shape.empty()) return scalar;
  const isa::ElemType elem = kernel_->TypeOf(scalar).elem;
  const ValueId operands[] = {scalar};
  return Emit(isa::Op::kSplat, isa::Type{elem, shape}, operands, loc);
}

ValueId Builder::Broadcast(ValueId tile, const isa::Shape& shape, Loc loc) {
  const isa::Type type = kernel_->TypeOf(tile);
  if (type.shape == shape) return tile;
  if (type.is_scalar()) return Splat(tile, shape, loc);
  const ValueId operands[] = {tile};
  const NamedAttr attrs[] = {{"shape", std::vector<int64_t>(shape.begin(), shape.end())}};
  return Emit(isa::Op::kBroadcast, isa::Type{type.elem, shape}, operands, loc, attrs);
}

}  // namespace tilevm::ir
