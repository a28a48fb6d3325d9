// Broadcasts and splats, made explicit.
#include "specializer/elaborate/broadcast.h"

#include <algorithm>

namespace tilevm::specializer {

absl::StatusOr<Shape> JointShape(const Rule& rule, const Type& x, const Type& y, absl::string_view x_name, absl::string_view y_name) {
  const size_t rank = std::max(x.shape.size(), y.shape.size());
  Shape joint(rank, 1);
  for (size_t i = 0; i < rank; ++i) {  // from the last axis
    const int64_t a = i < x.shape.size() ? x.shape[x.shape.size() - 1 - i] : 1;
    const int64_t b = i < y.shape.size() ? y.shape[y.shape.size() - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) {
      return rule.Error("operand ", x_name, " is ", isa::ToString(x), ", operand ", y_name, " is ", isa::ToString(y), ": dimension ",
                        rank - 1 - i, " is ", a, " against ", b);
    }
    joint[rank - 1 - i] = a == 1 ? b : a;
  }
  TILEVM_RETURN_IF_ERROR(rule.CheckShape(joint));
  return joint;
}

ValueId StretchTo(Rule& rule, ValueId x, const Shape& shape) {
  if (rule.TypeOf(x).is_scalar()) return rule.builder().Splat(x, shape, rule.loc());
  while (rule.TypeOf(x).shape.size() < shape.size()) x = rule.ExpandDims(x, 0);
  return rule.builder().Broadcast(x, shape, rule.loc());
}

absl::StatusOr<OperandPair> BroadcastPair(Rule& rule, ValueId x, ValueId y) {
  TILEVM_ASSIGN_OR_RETURN(const Shape shape, JointShape(rule, rule.TypeOf(x), rule.TypeOf(y)));
  const ValueId stretched_x = StretchTo(rule, x, shape);
  return OperandPair{stretched_x, StretchTo(rule, y, shape)};
}

absl::Status BroadcastAll(Rule& rule, std::vector<ValueId>& values) {
  if (values.empty()) return absl::OkStatus();
  Type joint = rule.TypeOf(values[0]);
  for (ValueId value : values) {
    TILEVM_ASSIGN_OR_RETURN(joint.shape, JointShape(rule, joint, rule.TypeOf(value)));
  }
  for (ValueId& value : values) value = StretchTo(rule, value, joint.shape);
  return absl::OkStatus();
}

absl::StatusOr<ValueId> BroadcastOneWay(Rule& rule, ValueId x, const Shape& shape, absl::string_view name) {
  const Type type = rule.TypeOf(x);
  if (type.is_scalar()) return rule.builder().Splat(x, shape, rule.loc());
  if (type.shape.size() != shape.size()) {
    return rule.Error("operand ", name, " is ", isa::ToString(type), ", its rank differs from that of ", isa::ShapeToString(shape));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (type.shape[i] != shape[i] && type.shape[i] != 1) {
      return rule.Error("operand ", name, " is ", isa::ToString(type), ", it does not stretch to ", isa::ShapeToString(shape), " (dimension ", i, ")");
    }
  }
  return rule.builder().Broadcast(x, shape, rule.loc());
}

}  // namespace tilevm::specializer
