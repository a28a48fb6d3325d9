// / // and %. Two integers divide as f32 with /; 16-bit floats compute and return f32 with / and %; // is for integers only.
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateDivide(Rule& rule) {
  const Value& x = rule["x"];
  const Value& y = rule["y"];
  if (x.is_static_number() && y.is_static_number()) return rule.elaborator().evaluator.Binary(rule.op(), x, y, rule.loc());
  TILEVM_ASSIGN_OR_RETURN(OperandPair pair, Promote(rule, x, y, {.div_or_mod = true}));
  const bool is_float = isa::IsFloat(rule.DTypeOf(pair.x));
  if (rule.op() == Op::kFloorDiv && is_float) {
    return rule.Error("operands are of ", isa::Name(rule.DTypeOf(pair.x)), "; // is for integers, use / and floor");
  }
  if (rule.op() == Op::kTrueDiv && !is_float) {
    pair.x = rule.Cast(pair.x, DType::kF32);
    pair.y = rule.Cast(pair.y, DType::kF32);
  }
  return Result(rule.EmitLike(rule.op(), pair.x, {pair.x, pair.y}));
}

}  // namespace tilevm::specializer
