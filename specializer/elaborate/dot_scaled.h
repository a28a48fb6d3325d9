// dot_scaled, called by the rule dot.
#ifndef TILEVM_SPECIALIZER_ELABORATE_DOT_SCALED_H_
#define TILEVM_SPECIALIZER_ELABORATE_DOT_SCALED_H_

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

absl::StatusOr<Value> DotScaled(Rule& rule);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_DOT_SCALED_H_
