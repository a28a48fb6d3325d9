// Types that reductions, scans and sorts widen to.
#ifndef TILEVM_SPECIALIZER_ELABORATE_WIDEN_H_
#define TILEVM_SPECIALIZER_ELABORATE_WIDEN_H_

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

// sum and cumsum: the argument dtype if it is given; else integers below 32 bits give i32 or u32 (i1 is unsigned), the rest stays.
absl::StatusOr<DType> SumType(const Rule& rule, DType dtype);
// What sums are carried out in: f32 for floats below 32 bits.
DType AccumulationType(DType dtype);
// max and min without indices: below 32 bits f32 or i32.
DType ExtremeType(DType dtype);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_WIDEN_H_
