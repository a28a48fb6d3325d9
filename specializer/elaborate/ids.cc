// program_id, num_programs: i32 scalars of axis 0, 1 or 2.
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateIds(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const int64_t axis, rule.Int("axis"));
  if (axis < 0 || axis > 2) return rule.Error("axis is ", axis, ", wanted 0, 1 or 2");
  return Result(rule.Emit(rule.op(), isa::ScalarType(DType::kI32), {}, {{"axis", axis}}));
}

}  // namespace tilevm::specializer
