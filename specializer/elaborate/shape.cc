// Creation and change of shape: arange, full, reshape, broadcasts, axes, permutations, join, split, cat, flip.
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<Value> Arange(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const int64_t start, rule.Int("start"));
  TILEVM_ASSIGN_OR_RETURN(const int64_t end, rule.Int("end"));
  if (end <= start) return rule.Error("end is ", end, ", start ", start, "; wanted end > start");
  if (start < INT32_MIN || end > (int64_t{1} << 32)) return rule.Error("from ", start, " to ", end, " does not fit 32 bits");
  const Shape shape = {end - start};
  TILEVM_RETURN_IF_ERROR(rule.CheckShape(shape));
  return Result(rule.Emit(Op::kArange, isa::TileType(DType::kI32, shape), {}, {{"start", start}, {"end", end}}));
}

absl::StatusOr<Value> Full(Rule& rule, const Value& value) {
  TILEVM_ASSIGN_OR_RETURN(const Shape shape, rule.ShapeOf("shape"));
  if (!value.is_tensor()) {
    if (!value.is_static_number()) return rule.Error("operand value is ", rule.Name(value), ", wanted a number");
    TILEVM_ASSIGN_OR_RETURN(const DType dtype, rule.DTypeArg("dtype"));
    TILEVM_ASSIGN_OR_RETURN(const ValueId scalar, ScalarConstant(rule, value, dtype));
    return Result(rule.builder().Splat(scalar, shape, rule.loc()));
  }
  const Type type = rule.TypeOf(value.tensor());
  if (type.elem_count() != 1) return rule.Error("operand value is ", isa::ToString(type), ", wanted a scalar");
  ValueId scalar = rule.Reshape(value.tensor(), {});
  if (!rule["dtype"].absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(const DType dtype, rule.DTypeArg("dtype"));
    scalar = rule.Cast(scalar, dtype);
  }
  return Result(rule.builder().Splat(scalar, shape, rule.loc()));
}

absl::StatusOr<Value> Reshape(Rule& rule, ValueId x) {
  TILEVM_ASSIGN_OR_RETURN(const Shape shape, rule.ShapeOf("shape"));
  const Type type = rule.TypeOf(x);
  if (isa::ElemCount(shape) != type.elem_count()) {
    return rule.Error("operand x is ", isa::ToString(type), " of ", type.elem_count(), " elements, ", isa::ShapeToString(shape), " has ", isa::ElemCount(shape));
  }
  return Result(rule.Reshape(x, shape));
}

absl::StatusOr<Value> ExpandDims(Rule& rule, ValueId x, absl::string_view name) {
  TILEVM_ASSIGN_OR_RETURN(const std::vector<int64_t> given, rule.Ints(name));
  const int rank = rule.TypeOf(x).rank() + static_cast<int>(given.size());
  std::vector<bool> is_new(rank);
  for (int64_t axis : given) {
    TILEVM_ASSIGN_OR_RETURN(const int at, rule.Axis(axis, rank));
    if (is_new[at]) return rule.Error("axis ", axis, " is given twice");
    is_new[at] = true;
  }
  for (int i = 0; i < rank; ++i) {
    if (is_new[i]) x = rule.ExpandDims(x, i);
  }
  return Result(x);
}

absl::StatusOr<Value> Squeeze(Rule& rule, ValueId x) {
  Shape shape = rule.TypeOf(x).shape;
  TILEVM_ASSIGN_OR_RETURN(const int64_t dim, rule.Int("dim"));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(dim, static_cast<int>(shape.size())));
  if (shape[axis] != 1) return rule.Error("operand x is ", isa::ToString(rule.TypeOf(x)), ", dimension ", axis, " is not 1");
  shape.erase(shape.begin() + axis);
  return Result(rule.Reshape(x, shape));
}

absl::StatusOr<Value> Permute(Rule& rule, ValueId x, const std::vector<int64_t>& dims) {
  const Type type = rule.TypeOf(x);
  const int rank = type.rank();
  if (static_cast<int>(dims.size()) != rank) return rule.Error("operand x is ", isa::ToString(type), " and dims has ", dims.size(), " entries, wanted ", rank);
  Type result = type;
  std::vector<bool> seen(rank);
  bool identity = true;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0 || dims[i] >= rank || seen[dims[i]]) return rule.Error("dims is not a permutation of 0 to ", rank - 1);
    seen[dims[i]] = true;
    identity = identity && dims[i] == i;
    result.shape[i] = type.shape[dims[i]];
  }
  if (identity) return Result(x);
  return Result(rule.Emit(Op::kPermute, result, {x}, {{"dims", dims}}));
}

absl::StatusOr<Value> Trans(Rule& rule, ValueId x) {
  const int rank = rule.TypeOf(x).rank();
  const Value& dims = rule["dims"];
  if (!dims.absent_or_none() && !(IsSequence(dims) && dims.items().empty())) {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<int64_t> given, rule.Ints("dims"));
    return Permute(rule, x, given);
  }
  if (rank < 2) return rule.Error("operand x is ", isa::ToString(rule.TypeOf(x)), ", wanted rank 2 or more");
  std::vector<int64_t> swapped(rank);
  for (int i = 0; i < rank; ++i) swapped[i] = i;
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  return Permute(rule, x, swapped);
}

absl::StatusOr<Value> Join(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Tensor("x"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId y, rule.Tensor("y"));
  if (rule.TypeOf(x).elem != rule.TypeOf(y).elem) {
    return rule.Error("operands are ", isa::ToString(rule.TypeOf(x)), " and ", isa::ToString(rule.TypeOf(y)), ", wanted one element type");
  }
  TILEVM_ASSIGN_OR_RETURN(OperandPair pair, BroadcastPair(rule, x, y));
  Type type = rule.TypeOf(pair.x);
  type.shape.push_back(2);
  TILEVM_RETURN_IF_ERROR(rule.CheckShape(type.shape));
  const ValueId joined = rule.Emit(Op::kJoin, type, {pair.x, pair.y});
  if (rule.op() != Op::kInterleave || type.rank() == 1) return Result(joined);
  Shape merged(type.shape.begin(), type.shape.end() - 1);
  merged.back() *= 2;
  return Result(rule.Reshape(joined, merged));
}

absl::StatusOr<Value> Split(Rule& rule, ValueId x) {
  const Type type = rule.TypeOf(x);
  if (type.is_scalar() || type.shape.back() != 2) return rule.Error("operand x is ", isa::ToString(type), ", its last dimension is not 2");
  Type half = type;
  half.shape.pop_back();
  ir::Op op;
  op.op = Op::kSplit;
  op.operands = {x};
  op.loc = rule.loc();
  const Type results[] = {half, half};
  const std::vector<ValueId> ids = rule.builder().EmitOp(std::move(op), results);
  return Value::Tuple({Result(ids[0]), Result(ids[1])});
}

absl::StatusOr<Value> Cat(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Tensor("x"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId y, rule.Tensor("y"));
  TILEVM_ASSIGN_OR_RETURN(const bool can_reorder, rule.Bool("can_reorder", false));
  TILEVM_ASSIGN_OR_RETURN(const int64_t dim, rule.Int("dim", 0));
  Type type = rule.TypeOf(x);
  if (type != rule.TypeOf(y)) return rule.Error("operands are ", isa::ToString(type), " and ", isa::ToString(rule.TypeOf(y)), ", wanted one type and shape");
  if (type.is_scalar()) return rule.Error("operands are scalars, wanted tiles");
  if (can_reorder && type.rank() != 1) return rule.Error("can_reorder=True is for rank 1, operands are ", isa::ToString(type));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(dim, type.rank()));
  type.shape[axis] *= 2;
  TILEVM_RETURN_IF_ERROR(rule.CheckShape(type.shape));
  return Result(rule.Emit(Op::kCat, type, {x, y}, {{"dim", int64_t{axis}}}));
}

absl::StatusOr<Value> Flip(Rule& rule, ValueId x) {
  TILEVM_ASSIGN_OR_RETURN(const int64_t dim, rule.Int("dim", -1));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(dim, rule.TypeOf(x).rank()));
  return Result(rule.EmitLike(Op::kFlip, x, {x}, {{"dim", int64_t{axis}}}));
}

absl::StatusOr<Value> BroadcastTo(Rule& rule, ValueId x) {
  TILEVM_ASSIGN_OR_RETURN(const Shape shape, rule.ShapeOf("shape"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, BroadcastOneWay(rule, x, shape, "x"));
  return Result(id);
}

absl::StatusOr<Value> BroadcastBoth(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Tensor("x"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId y, rule.Tensor("y"));
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, BroadcastPair(rule, x, y));
  return Value::Tuple({Result(pair.x), Result(pair.y)});
}

}  // namespace

absl::StatusOr<Value> ElaborateShape(Rule& rule) {
  switch (rule.op()) {
    case Op::kArange: return Arange(rule);
    case Op::kZeros: return Full(rule, Value::Int(0));
    case Op::kFull: return Full(rule, rule["value"]);
    case Op::kJoin: case Op::kInterleave: return Join(rule);
    case Op::kCat: return Cat(rule);
    case Op::kBroadcastBoth: return BroadcastBoth(rule);
    default: break;
  }
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Tensor("x"));
  const Type type = rule.TypeOf(x);
  switch (rule.op()) {
    case Op::kZerosLike: return Result(rule.Zero(type.elem, type.shape));
    case Op::kReshape: return Reshape(rule, x);
    case Op::kRavel: return Result(rule.Reshape(x, {type.elem_count()}));
    case Op::kBroadcastTo: case Op::kBroadcast: return BroadcastTo(rule, x);
    case Op::kExpandDims: return ExpandDims(rule, x, "axis");
    case Op::kUnsqueeze: return ExpandDims(rule, x, "dim");
    case Op::kSqueeze: return Squeeze(rule, x);
    case Op::kTrans: return Trans(rule, x);
    case Op::kPermute: {
      TILEVM_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, rule.Ints("dims"));
      return Permute(rule, x, dims);
    }
    case Op::kSplit: return Split(rule, x);
    case Op::kFlip: return Flip(rule, x);
    default: return rule.Error("is not a shape op");
  }
}

}  // namespace tilevm::specializer
