// < <= > >= == !=: static numbers become strong first, so an f16 tensor compares with 0.1 in f32. Result i1.
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateCompare(Rule& rule) {
  const Value& x = rule["x"];
  const Value& y = rule["y"];
  if (!x.is_tensor() && !y.is_tensor()) return rule.elaborator().evaluator.Binary(rule.op(), x, y, rule.loc());
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, x, y, {.strong = true}));
  return Result(rule.Emit(rule.op(), isa::TileType(DType::kI1, rule.TypeOf(pair.x).shape), {pair.x, pair.y}));
}

}  // namespace tilevm::specializer
