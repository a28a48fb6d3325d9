// load: pointers stretch up to the shape of mask and other; other is cast to the element type; a pointer of i1 gives i1 (the byte != 0).
#include "specializer/elaborate/block_ptr.h"
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/memory_options.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<ValueId> ReadOther(Rule& rule, DType dtype) {
  if (rule["other"].absent_or_none()) return ir::kNoValue;
  TILEVM_ASSIGN_OR_RETURN(const ValueId other, rule.Number("other"));
  return rule.Cast(other, dtype);
}

}  // namespace

absl::StatusOr<Value> ElaborateLoad(Rule& rule) {
  const Value& p = rule["p"];
  if (p.is(ValueKind::kBlockPtr)) return LoadThroughBlockPtr(rule, *p.As<BlockPtrPayload>());
  TILEVM_ASSIGN_OR_RETURN(ValueId pointers, rule.Tensor("p"));
  const Type type = rule.TypeOf(pointers);
  if (!type.elem.pointer) return rule.Error("operand p is ", isa::ToString(type), ", wanted a pointer");
  TILEVM_ASSIGN_OR_RETURN(const std::string padding, rule.String("padding_option", ""));
  const Value& check = rule["boundary_check"];
  if (!padding.empty() || (!check.absent_or_none() && !(IsSequence(check) && check.items().empty()))) {
    return rule.Error("boundary_check and padding_option are for block pointers; operand p is ", isa::ToString(type));
  }
  if (rule["mask"].absent_or_none() && !rule["other"].absent_or_none()) return rule.Error("operand other is given without mask");
  TILEVM_ASSIGN_OR_RETURN(const CacheOptions options, ReadCacheOptions(rule, false));
  TILEVM_ASSIGN_OR_RETURN(ValueId mask, ReadMaskAsIs(rule));
  TILEVM_ASSIGN_OR_RETURN(ValueId other, ReadOther(rule, type.elem.dtype));
  Type joint = type;
  for (auto [value, name] : {std::pair{mask, "mask"}, std::pair{other, "other"}}) {
    if (value == ir::kNoValue) continue;
    if (type.is_scalar() && !rule.TypeOf(value).is_scalar()) {
      return rule.Error("operand ", name, " is ", isa::ToString(rule.TypeOf(value)), " and operand p is the scalar ", isa::ToString(type));
    }
    TILEVM_ASSIGN_OR_RETURN(joint.shape, JointShape(rule, joint, rule.TypeOf(value), "p", name));
  }
  pointers = StretchTo(rule, pointers, joint.shape);
  if (mask != ir::kNoValue) mask = StretchTo(rule, mask, joint.shape);
  if (other != ir::kNoValue) other = StretchTo(rule, other, joint.shape);
  return Result(EmitLoad(rule, pointers, mask, other, options));
}

}  // namespace tilevm::specializer
