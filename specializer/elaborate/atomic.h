// The checks and the emission that atomics through pointers and through descriptors share.
#ifndef TILEVM_SPECIALIZER_ELABORATE_ATOMIC_H_
#define TILEVM_SPECIALIZER_ELABORATE_ATOMIC_H_

#include <string>

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

// Which element types an atomic op takes.
absl::Status CheckAtomicType(const Rule& rule, Op op, DType dtype);
// mask may be kNoValue; value and mask have the pointers' shape, value the element type.
ValueId EmitAtomic(Rule& rule, Op op, ValueId pointers, ValueId value, ValueId mask, const std::string& sem, const std::string& scope);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_ATOMIC_H_
