// The rules, one file each; elaborate.cc maps the names of ops.def's `elab` column to them.
#ifndef TILEVM_SPECIALIZER_ELABORATE_RULES_H_
#define TILEVM_SPECIALIZER_ELABORATE_RULES_H_

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateArith(Rule& rule);
absl::StatusOr<Value> ElaborateDivide(Rule& rule);
absl::StatusOr<Value> ElaborateBitwise(Rule& rule);
absl::StatusOr<Value> ElaborateCompare(Rule& rule);
absl::StatusOr<Value> ElaborateWhere(Rule& rule);
absl::StatusOr<Value> ElaborateStrong(Rule& rule);
absl::StatusOr<Value> ElaborateUnary(Rule& rule);
absl::StatusOr<Value> ElaborateFloatMath(Rule& rule);
absl::StatusOr<Value> ElaborateFDiv(Rule& rule);
absl::StatusOr<Value> ElaborateLibdevice(Rule& rule);
absl::StatusOr<Value> ElaborateLoad(Rule& rule);
absl::StatusOr<Value> ElaborateStore(Rule& rule);
absl::StatusOr<Value> ElaborateAtomic(Rule& rule);
absl::StatusOr<Value> ElaborateBlockPtr(Rule& rule);
absl::StatusOr<Value> ElaborateDescriptor(Rule& rule);
absl::StatusOr<Value> ElaborateIds(Rule& rule);
absl::StatusOr<Value> ElaborateShape(Rule& rule);
absl::StatusOr<Value> ElaborateCast(Rule& rule);
absl::StatusOr<Value> ElaborateDot(Rule& rule);
absl::StatusOr<Value> ElaborateReduce(Rule& rule);
absl::StatusOr<Value> ElaborateScan(Rule& rule);
absl::StatusOr<Value> ElaborateSort(Rule& rule);
absl::StatusOr<Value> ElaborateGather(Rule& rule);
absl::StatusOr<Value> ElaborateLibrary(Rule& rule);
absl::StatusOr<Value> ElaborateHint(Rule& rule);
absl::StatusOr<Value> ElaborateRandom(Rule& rule);
absl::StatusOr<Value> ElaborateEffect(Rule& rule);
absl::StatusOr<Value> ElaborateAsm(Rule& rule);
absl::StatusOr<Value> ElaborateMap(Rule& rule);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_RULES_H_
