// Plain assignment, conditions, and typed scalars for the partial evaluator.
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<Value> BindItems(Elaborator& elaborator, const Value& value, absl::string_view name, Loc loc) {
  const ItemsPayload& given = *value.As<ItemsPayload>();
  std::vector<Value> items;
  for (const Value& item : given.items) {
    TILEVM_ASSIGN_OR_RETURN(Value bound, BindValue(elaborator, item, name, loc));
    items.push_back(std::move(bound));
  }
  if (!given.field_names.empty()) return MakeNamedTuple(given.class_name, given.field_names, std::move(items));
  return Value::Tuple(std::move(items));
}

}  // namespace

absl::StatusOr<Value> BindValue(Elaborator& elaborator, const Value& given, absl::string_view name, Loc loc) {
  const Value value = Unwrap(given);
  switch (value.kind()) {
    case ValueKind::kBool: case ValueKind::kInt: case ValueKind::kFloat: {
      Rule rule(elaborator, Op::kBind, {}, loc);
      TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(value, name));
      return Result(id);
    }
    case ValueKind::kTuple: case ValueKind::kList:
      return BindItems(elaborator, value, name, loc);
    case ValueKind::kTensor: case ValueKind::kNone: case ValueKind::kDType: case ValueKind::kPointerType: case ValueKind::kBlockType:
    case ValueKind::kBlockPtr: case ValueKind::kDescriptor: case ValueKind::kInstance: case ValueKind::kUnbound: case ValueKind::kAbsent:
      return value;
    default:
      return InvalidAt(loc, name, " is assigned a ", TypeName(value, &elaborator.builder.kernel()),
                       ", which is not a tensor; annotate it: ", name, ": tl.constexpr = ...");
  }
}

absl::StatusOr<ir::ValueId> ConditionOf(Elaborator& elaborator, const Value& value, Loc loc, Op op) {
  Rule rule(elaborator, op, {}, loc);
  TILEVM_ASSIGN_OR_RETURN(ValueId id, rule.Tensor(value, "cond"));
  const Type type = rule.TypeOf(id);
  if (!type.is_scalar()) return rule.Error("the condition is ", isa::ToString(type), ", wanted a scalar; reduce it with tl.max or tl.sum");
  if (type.elem.pointer) id = rule.Bitcast(id, {DType::kI64, false});
  return rule.Cast(id, DType::kI1);
}

absl::StatusOr<Value> CastTo(Elaborator& elaborator, const Value& value, isa::DType dtype, Loc loc) {
  Rule rule(elaborator, Op::kCast, {}, loc);
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(value, "x"));
  if (rule.TypeOf(id).elem.pointer) return rule.Error("operand x is ", isa::ToString(rule.TypeOf(id)), ", wanted a number");
  return Result(rule.Cast(id, dtype));
}

}  // namespace tilevm::specializer
