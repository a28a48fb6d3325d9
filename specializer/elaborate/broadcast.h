// Shapes brought together: operators pad the shorter shape with extents of 1 on the left and stretch extents of 1; stores, atomics and
// broadcast_to stretch one way only, at equal rank.
#ifndef TILEVM_SPECIALIZER_ELABORATE_BROADCAST_H_
#define TILEVM_SPECIALIZER_ELABORATE_BROADCAST_H_

#include "absl/status/statusor.h"
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

// The shape both stretch to; x_name and y_name word the error.
absl::StatusOr<Shape> JointShape(const Rule& rule, const Type& x, const Type& y, absl::string_view x_name = "x", absl::string_view y_name = "y");

// x stretched to shape, padded on the left where its rank is lower. Requires that JointShape(x, shape) is shape.
ValueId StretchTo(Rule& rule, ValueId x, const Shape& shape);

absl::StatusOr<OperandPair> BroadcastPair(Rule& rule, ValueId x, ValueId y);
// All to the joint shape.
absl::Status BroadcastAll(Rule& rule, std::vector<ValueId>& values);

// One way, equal rank (a scalar splats).
absl::StatusOr<ValueId> BroadcastOneWay(Rule& rule, ValueId x, const Shape& shape, absl::string_view name);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_BROADCAST_H_
