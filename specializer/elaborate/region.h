// Functions of scalars (combine functions, scalar functions of map_elementwise) inlined into a region of the op under construction.
#ifndef TILEVM_SPECIALIZER_ELABORATE_REGION_H_
#define TILEVM_SPECIALIZER_ELABORATE_REGION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

// Builds region(arguments...) { yield function(arguments...) }. With `wanted` element types the function must return exactly those, static
// numbers being cast; without (empty) it may return anything. Returns the types that it yields.
absl::StatusOr<std::vector<Type>> BuildScalarRegion(Rule& rule, const Value& function, const std::vector<isa::ElemType>& arguments,
                                                    const std::vector<isa::ElemType>& wanted, ir::Region& region);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_REGION_H_
