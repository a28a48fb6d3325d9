// fdiv (no promotion: both types must match) and div_rn (f32 only).
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateFDiv(Rule& rule) {
  const bool exact = rule.op() == Op::kDivRn;
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Number("x"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId y, rule.Number("y"));
  const Type x_type = rule.TypeOf(x), y_type = rule.TypeOf(y);
  if (!exact && (!isa::IsFloat(x_type.elem.dtype) || !isa::IsFloat(y_type.elem.dtype) || x_type.elem != y_type.elem)) {
    return rule.Error("operands are ", isa::ToString(x_type), " and ", isa::ToString(y_type), ", wanted floats of one type; cast one of them");
  }
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, Result(x), Result(y), {.arithmetic = exact}));
  if (exact) {
    if (rule.DTypeOf(pair.x) != DType::kF32) return rule.Error("operands are of ", isa::Name(rule.DTypeOf(pair.x)), ", wanted f32");
    return Result(rule.EmitLike(Op::kTrueDiv, pair.x, {pair.x, pair.y}));
  }
  TILEVM_ASSIGN_OR_RETURN(const bool ieee, rule.Bool("ieee_rounding", false));
  if (ieee) return Result(rule.EmitLike(Op::kTrueDiv, pair.x, {pair.x, pair.y}));
  return Result(rule.EmitLike(Op::kFDiv, pair.x, {pair.x, pair.y}));
}

}  // namespace tilevm::specializer
