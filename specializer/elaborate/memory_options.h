// The options that loads, stores and atomics share, checked against Triton's lists.
#ifndef TILEVM_SPECIALIZER_ELABORATE_MEMORY_OPTIONS_H_
#define TILEVM_SPECIALIZER_ELABORATE_MEMORY_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

struct CacheOptions {
  std::string cache_modifier, eviction_policy;  // "" for none
  bool is_volatile = false;
  bool descriptor = false;  // of a block of a tensor descriptor: its array is aligned to 16 bytes, says Triton
};
absl::StatusOr<CacheOptions> ReadCacheOptions(Rule& rule, bool is_store);
// Sets those that say something.
void SetCacheAttrs(ir::Op& op, const CacheOptions& options);

// The sorted dimensions of the argument boundary_check; empty without one.
absl::StatusOr<std::vector<int>> ReadBoundaryCheck(Rule& rule, int rank);

// The mask as i1, stretched one way to shape; kNoValue without one. A static True is no mask.
absl::StatusOr<ValueId> ReadMask(Rule& rule, const Shape& shape);
// The mask as i1 in its own shape.
absl::StatusOr<ValueId> ReadMaskAsIs(Rule& rule);

// Emits a load or store with its options.
ValueId EmitLoad(Rule& rule, ValueId pointers, ValueId mask, ValueId other, const CacheOptions& options);
void EmitStore(Rule& rule, ValueId pointers, ValueId value, ValueId mask, const CacheOptions& options);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_MEMORY_OPTIONS_H_
