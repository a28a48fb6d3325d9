// store: value and mask stretch to the pointers' shape at equal rank, never the reverse; the value is cast to the element type (to i1: != 0).
#include "specializer/elaborate/block_ptr.h"
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/memory_options.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateStore(Rule& rule) {
  const Value& p = rule["p"];
  if (p.is(ValueKind::kBlockPtr)) return StoreThroughBlockPtr(rule, *p.As<BlockPtrPayload>());
  TILEVM_ASSIGN_OR_RETURN(const ValueId pointers, rule.Tensor("p"));
  const Type type = rule.TypeOf(pointers);
  if (!type.elem.pointer) return rule.Error("operand p is ", isa::ToString(type), ", wanted a pointer");
  const Value& check = rule["boundary_check"];
  if (!check.absent_or_none() && !(IsSequence(check) && check.items().empty())) {
    return rule.Error("boundary_check is for block pointers; operand p is ", isa::ToString(type));
  }
  TILEVM_ASSIGN_OR_RETURN(const CacheOptions options, ReadCacheOptions(rule, true));
  TILEVM_ASSIGN_OR_RETURN(ValueId value, rule.Number("value"));
  if (type.is_scalar() && !rule.TypeOf(value).is_scalar()) {
    return rule.Error("operand value is ", isa::ToString(rule.TypeOf(value)), " and operand p is the scalar ", isa::ToString(type));
  }
  TILEVM_ASSIGN_OR_RETURN(value, BroadcastOneWay(rule, rule.Cast(value, type.elem.dtype), type.shape, "value"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId mask, ReadMask(rule, type.shape));
  EmitStore(rule, pointers, value, mask, options);
  return Value::None();
}

}  // namespace tilevm::specializer
