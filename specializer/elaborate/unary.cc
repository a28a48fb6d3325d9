// abs: a float loses its sign bit, MIN wraps, unsigned is as it is.
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateUnary(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Number("x"));
  if (isa::IsUnsigned(rule.DTypeOf(x))) return Result(x);
  return Result(rule.EmitLike(Op::kAbs, x, {x}));
}

}  // namespace tilevm::specializer
