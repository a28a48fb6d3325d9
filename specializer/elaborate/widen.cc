// Widening of small types.
#include "specializer/elaborate/widen.h"

namespace tilevm::specializer {

absl::StatusOr<DType> SumType(const Rule& rule, DType dtype) {
  if (!rule["dtype"].absent_or_none()) return rule.DTypeArg("dtype");
  if (!isa::IsInteger(dtype) || isa::BitWidth(dtype) >= 32) return dtype;
  return isa::IsSigned(dtype) ? DType::kI32 : DType::kU32;
}

DType AccumulationType(DType dtype) { return isa::IsFloat(dtype) && isa::BitWidth(dtype) < 32 ? DType::kF32 : dtype; }

DType ExtremeType(DType dtype) {
  if (isa::BitWidth(dtype) >= 32) return dtype;
  return isa::IsFloat(dtype) ? DType::kF32 : DType::kI32;
}

}  // namespace tilevm::specializer
