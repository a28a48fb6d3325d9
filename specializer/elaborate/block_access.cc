// Address and mask arithmetic of rectangular blocks.
#include "specializer/elaborate/block_access.h"

#include <cmath>
#include <limits>

#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/promote.h"

namespace tilevm::specializer {
namespace {

// A 1-D tile placed along dimension d of a tile of that shape.
ValueId Along(Rule& rule, ValueId line, int d, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  for (int i = 0; i < d; ++i) line = rule.ExpandDims(line, 0);
  for (int i = d + 1; i < rank; ++i) line = rule.ExpandDims(line, i);
  return rule.builder().Broadcast(line, shape, rule.loc());
}

ValueId Compare(Rule& rule, Op op, ValueId x, ValueId y) {
  return rule.Emit(op, isa::TileType(DType::kI1, rule.TypeOf(x).shape), {x, y});
}

}  // namespace

PointersAndMask ExpandCoordinates(Rule& rule, const BlockAccess& access, const std::vector<ValueId>& coordinates) {
  ValueId total = ir::kNoValue;
  PointersAndMask result{};
  for (size_t d = 0; d < coordinates.size(); ++d) {
    const Shape line = rule.TypeOf(coordinates[d]).shape;
    const ValueId stride = rule.builder().Splat(access.strides[d], line, rule.loc());
    const ValueId term = Along(rule, rule.EmitLike(Op::kMul, stride, {coordinates[d], stride}), static_cast<int>(d), access.block_shape);
    total = total == ir::kNoValue ? term : rule.EmitLike(Op::kAdd, term, {total, term});
  }
  const ValueId base = rule.builder().Splat(access.base, access.block_shape, rule.loc());
  result.pointers = rule.EmitLike(Op::kPtrAdd, base, {base, total});
  for (int d : access.checked) {
    const Shape line = rule.TypeOf(coordinates[d]).shape;
    const ValueId limit = rule.builder().Splat(access.shape[d], line, rule.loc());
    const ValueId zero = rule.Zero({DType::kI64, false}, line);
    const ValueId above = Compare(rule, Op::kGe, coordinates[d], zero);
    const ValueId inside = rule.EmitLike(Op::kBitAnd, above, {above, Compare(rule, Op::kLt, coordinates[d], limit)});
    const ValueId mask = Along(rule, inside, d, access.block_shape);
    result.mask = result.mask == ir::kNoValue ? mask : rule.EmitLike(Op::kBitAnd, mask, {result.mask, mask});
  }
  return result;
}

PointersAndMask ExpandBlock(Rule& rule, const BlockAccess& access) {
  std::vector<ValueId> coordinates;
  for (size_t d = 0; d < access.block_shape.size(); ++d) {
    const Shape line = {access.block_shape[d]};
    const ValueId range =
        rule.Emit(Op::kArange, isa::TileType(DType::kI32, line), {}, {{"start", int64_t{0}}, {"end", access.block_shape[d]}});
    const ValueId offset = rule.builder().Splat(access.offsets[d], line, rule.loc());
    coordinates.push_back(rule.EmitLike(Op::kAdd, offset, {offset, rule.Cast(range, DType::kI64)}));
  }
  return ExpandCoordinates(rule, access, coordinates);
}

ValueId LoadBlock(Rule& rule, const PointersAndMask& expanded, bool pad_nan, const CacheOptions& options) {
  const Type type = rule.TypeOf(expanded.pointers);
  ValueId other = ir::kNoValue;
  if (pad_nan && expanded.mask != ir::kNoValue) {
    other = rule.builder().Splat(rule.ConstFloat(type.elem.dtype, std::numeric_limits<double>::quiet_NaN()), type.shape, rule.loc());
  }
  return EmitLoad(rule, expanded.pointers, expanded.mask, other, options);
}

absl::StatusOr<ValueId> ScalarInt64(Rule& rule, const Value& value, absl::string_view what) {
  if (value.is_static_number() && !value.is(ValueKind::kFloat)) return ScalarConstant(rule, value, DType::kI64);
  if (!value.is_tensor()) return rule.Error(what, " holds ", rule.Name(value), ", wanted an integer scalar");
  const Type type = rule.TypeOf(value.tensor());
  if (type.elem_count() != 1 || type.elem.pointer || !isa::IsInteger(type.elem.dtype)) {
    return rule.Error(what, " holds ", isa::ToString(type), ", wanted an integer scalar");
  }
  return rule.Cast(rule.Reshape(value.tensor(), {}), DType::kI64);
}

}  // namespace tilevm::specializer
