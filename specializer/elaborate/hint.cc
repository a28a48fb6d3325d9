// multiple_of, max_contiguous, max_constancy, expect_zero return their operand. The values are checked and then dropped: the analyses find what
// holds by themselves, and a hint that is wrong must not change what a program does.
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateHint(Rule& rule) {
  const Value& x = rule["x"];
  if (rule.op() == Op::kExpectZero) return x;
  TILEVM_ASSIGN_OR_RETURN(const std::vector<int64_t> values, rule.Ints("values"));
  if (!x.is_tensor()) return x;
  const int rank = rule.TypeOf(x.tensor()).rank();
  if (static_cast<int>(values.size()) != std::max(rank, 1)) {
    return rule.Error("operand x is ", isa::ToString(rule.TypeOf(x.tensor())), " and values has ", values.size(), " entries, wanted one for each dimension");
  }
  return x;
}

}  // namespace tilevm::specializer
