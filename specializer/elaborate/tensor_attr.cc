// x.dtype, x.type, x.shape, x.numel, x.T of a tensor, and x[...] with None and : only.
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {
namespace {

Value TypeValue(const Type& type) {
  if (type.is_scalar()) return type.elem.pointer ? Value::PointerTypeOf(type.elem.dtype) : Value::DTypeOf(type.elem.dtype);
  auto payload = std::make_shared<BlockTypePayload>();
  payload->type = type;
  return Value::Shared(ValueKind::kBlockType, std::move(payload));
}

bool IsWholeSlice(const Value& value) {
  if (!value.is(ValueKind::kSlice)) return false;
  const SlicePayload& slice = *value.As<SlicePayload>();
  return slice.start.absent_or_none() && slice.stop.absent_or_none() && slice.step.absent_or_none();
}

}  // namespace

absl::StatusOr<Value> TensorAttr(Elaborator& elaborator, const Value& tensor, absl::string_view name, Loc loc) {
  const Type type = elaborator.builder.kernel().TypeOf(tensor.tensor());
  if (name == "dtype") return TypeValue(Type{type.elem, {}});
  if (name == "type") return TypeValue(type);
  if (name == "numel") return Value::Int(type.elem_count());
  if (name == "T") {
    const Value operands[] = {tensor, Value::Tuple({Value::Int(1), Value::Int(0)})};
    return Elaborate(elaborator, Op::kPermute, operands, loc);
  }
  if (name == "shape") {
    std::vector<Value> extents;
    for (int64_t extent : type.shape) extents.push_back(Value::Int(extent));
    return Value::Tuple(std::move(extents));
  }
  return InvalidAt(loc, isa::ToString(type), " has no attribute ", name);
}

absl::StatusOr<Value> TensorIndex(Elaborator& elaborator, const Value& tensor, const Value& subscript, Loc loc) {
  Rule rule(elaborator, Op::kIndex, {}, loc);
  const std::vector<Value> items = IsSequence(subscript) ? Items(subscript) : std::vector<Value>{Unwrap(subscript)};
  ValueId x = tensor.tensor();
  const int rank = rule.TypeOf(x).rank();
  int kept = 0;
  bool ellipsis = false;
  for (const Value& item : items) {
    kept += IsWholeSlice(item) ? 1 : 0;
    if (item.is(ValueKind::kEllipsis) && std::exchange(ellipsis, true)) return rule.Error("a subscript holds ... twice");
  }
  if (kept > rank) return rule.Error(isa::ToString(rule.TypeOf(x)), " has ", rank, " dimensions, the subscript keeps ", kept);
  int axis = 0;
  for (const Value& item : items) {
    if (item.is(ValueKind::kNone)) {
      x = rule.ExpandDims(x, axis++);
    } else if (IsWholeSlice(item)) {
      ++axis;
    } else if (item.is(ValueKind::kEllipsis)) {
      axis += rank - kept;
    } else {
      return rule.Error(isa::ToString(rule.TypeOf(x)), " is indexed by ", rule.Name(item), "; only None and : index a tensor (use tl.gather)");
    }
  }
  TILEVM_RETURN_IF_ERROR(rule.CheckShape(rule.TypeOf(x).shape));
  return Result(x);
}

}  // namespace tilevm::specializer
