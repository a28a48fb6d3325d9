// exp, log, sqrt and the other functions of one float: f32 and f64 only, as Triton has it.
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateFloatMath(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Number("x"));
  const Type type = rule.TypeOf(x);
  if (type.elem.dtype != DType::kF32 && type.elem.dtype != DType::kF64) {
    return rule.Error("operand x is ", isa::ToString(type), ", wanted f32 or f64; cast it with .to(tl.float32)");
  }
  return Result(rule.EmitLike(rule.op(), x, {x}));
}

}  // namespace tilevm::specializer
