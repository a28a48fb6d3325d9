// where(cond, x, y): x and y promote as in arithmetic, pointers of one type are allowed, a condition that is not i1 is compared with 0.
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateWhere(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(ValueId cond, rule.Number("cond"));
  cond = rule.Cast(cond, DType::kI1);
  TILEVM_ASSIGN_OR_RETURN(OperandPair pair, Promote(rule, rule["x"], rule["y"], {.allow_x_pointer = true, .allow_y_pointer = true}));
  const Type x_type = rule.TypeOf(pair.x);
  if (x_type.elem != rule.TypeOf(pair.y).elem) {
    return rule.Error("operands are ", isa::ToString(x_type), " and ", isa::ToString(rule.TypeOf(pair.y)), "; a pointer needs a pointer");
  }
  TILEVM_ASSIGN_OR_RETURN(const Shape shape, JointShape(rule, rule.TypeOf(cond), x_type, "cond", "x"));
  cond = StretchTo(rule, cond, shape);
  pair.x = StretchTo(rule, pair.x, shape);
  pair.y = StretchTo(rule, pair.y, shape);
  return Result(rule.EmitLike(Op::kWhere, pair.x, {cond, pair.x, pair.y}));
}

}  // namespace tilevm::specializer
