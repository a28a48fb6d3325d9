// Loads and stores through a block pointer, called by the rules load and store.
#ifndef TILEVM_SPECIALIZER_ELABORATE_BLOCK_PTR_H_
#define TILEVM_SPECIALIZER_ELABORATE_BLOCK_PTR_H_

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

absl::StatusOr<Value> LoadThroughBlockPtr(Rule& rule, const BlockPtrPayload& pointer);
absl::StatusOr<Value> StoreThroughBlockPtr(Rule& rule, const BlockPtrPayload& pointer);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_BLOCK_PTR_H_
