// Reductions. Result types are Triton's: sum and xor_sum of integers below 32 bits give i32 or u32, floats keep their type, max and min widen
// to 32 bits, with indices only bf16 widens. Sums of 16-bit and fp8 floats are accumulated in f32 and rounded once at the end.
#include <optional>

#include "specializer/elaborate/region.h"
#include "specializer/elaborate/rules.h"
#include "specializer/elaborate/widen.h"

namespace tilevm::specializer {
namespace {

// One axis of a tile; all of them, flattened, when it is absent.
struct Axes {
  std::vector<ValueId> operands;  // flattened if need be
  int axis = 0;
  Shape kept;  // shape of the result with keep_dims
};

absl::StatusOr<Axes> ReadAxes(Rule& rule, std::vector<ValueId> operands) {
  Axes axes;
  const Type type = rule.TypeOf(operands[0]);
  TILEVM_ASSIGN_OR_RETURN(const bool keep_dims, rule.Bool("keep_dims", false));
  if (rule["axis"].absent_or_none()) {
    for (ValueId x : operands) axes.operands.push_back(rule.Reshape(x, {rule.TypeOf(x).elem_count()}));
    axes.kept = Shape(keep_dims ? type.rank() : 0, 1);
    return axes;
  }
  TILEVM_ASSIGN_OR_RETURN(const int64_t given, rule.Int("axis"));
  TILEVM_ASSIGN_OR_RETURN(axes.axis, rule.Axis(given, type.rank()));
  axes.operands = std::move(operands);
  axes.kept = type.shape;
  if (keep_dims) {
    axes.kept[axes.axis] = 1;
  } else {
    axes.kept.erase(axes.kept.begin() + axes.axis);
  }
  return axes;
}

// Emits the reduction; region is for kind custom.
std::vector<ValueId> EmitReduce(Rule& rule, const Axes& axes, const std::string& kind, std::optional<ir::Region> region = std::nullopt) {
  ir::Op op;
  op.op = Op::kReduce;
  op.loc = rule.loc();
  std::vector<Type> types;
  for (ValueId x : axes.operands) {
    op.operands.push_back(x);
    Type type = rule.TypeOf(x);
    type.shape.erase(type.shape.begin() + axes.axis);
    types.push_back(type);
  }
  op.SetAttr("axis", int64_t{axes.axis});
  op.SetAttr("kind", kind);
  if (region.has_value()) op.regions.push_back(std::move(*region));
  std::vector<ValueId> results = rule.builder().EmitOp(std::move(op), types);
  for (ValueId& id : results) id = rule.Reshape(id, axes.kept);
  return results;
}

absl::StatusOr<ValueId> FoldOne(Rule& rule, ValueId x, const std::string& kind) {
  TILEVM_ASSIGN_OR_RETURN(const Axes axes, ReadAxes(rule, {x}));
  return EmitReduce(rule, axes, kind)[0];
}

absl::StatusOr<Value> Sum(Rule& rule, ValueId x) {
  TILEVM_ASSIGN_OR_RETURN(const DType result, SumType(rule, rule.DTypeOf(x)));
  x = rule.Cast(x, result);
  const DType wide = AccumulationType(result);
  TILEVM_ASSIGN_OR_RETURN(const ValueId sum, FoldOne(rule, rule.Cast(x, wide), "add"));
  return Result(rule.Cast(sum, result));
}

// max or min with the index of the winner.
absl::StatusOr<std::vector<ValueId>> WithIndex(Rule& rule, ValueId x, bool maximum) {
  if (rule.DTypeOf(x) == DType::kBF16) x = rule.Cast(x, DType::kF32);
  const Type type = rule.TypeOf(x);
  if (rule["axis"].absent_or_none()) return rule.Error("axis is missing; indices need one");
  TILEVM_ASSIGN_OR_RETURN(const int64_t given, rule.Int("axis"));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(given, type.rank()));
  ValueId index = rule.Emit(Op::kArange, isa::TileType(DType::kI32, {type.shape[axis]}), {}, {{"start", int64_t{0}}, {"end", type.shape[axis]}});
  for (int i = 0; i < axis; ++i) index = rule.ExpandDims(index, 0);
  for (int i = axis + 1; i < type.rank(); ++i) index = rule.ExpandDims(index, i);
  index = rule.builder().Broadcast(index, type.shape, rule.loc());
  TILEVM_ASSIGN_OR_RETURN(const Axes axes, ReadAxes(rule, {x, index}));
  return EmitReduce(rule, axes, maximum ? "argmax" : "argmin");
}

absl::StatusOr<Value> Extreme(Rule& rule, ValueId x, bool maximum) {
  TILEVM_ASSIGN_OR_RETURN(const bool indices, rule.Bool("return_indices", false));
  if (indices) {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<ValueId> both, WithIndex(rule, x, maximum));
    return Value::Tuple({Result(both[0]), Result(both[1])});
  }
  TILEVM_ASSIGN_OR_RETURN(const ValueId folded, FoldOne(rule, rule.Cast(x, ExtremeType(rule.DTypeOf(x))), maximum ? "max" : "min"));
  return Result(folded);
}

absl::StatusOr<Value> Custom(Rule& rule) {
  std::vector<ValueId> operands;
  std::vector<isa::ElemType> elems;
  std::vector<Value> given;
  for (const Value& value : rule.rest()) {
    for (const Value& item : Items(value)) given.push_back(item);
  }
  for (const Value& item : given) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(item, "x"));
    if (!operands.empty() && rule.TypeOf(id).shape != rule.TypeOf(operands[0]).shape) {
      return rule.Error("operands are ", isa::ToString(rule.TypeOf(operands[0])), " and ", isa::ToString(rule.TypeOf(id)), ", wanted one shape");
    }
    operands.push_back(id);
    elems.push_back(rule.TypeOf(id).elem);
  }
  if (operands.empty()) return rule.Error("operand x is missing");
  const bool single = given.size() == 1 && !IsSequence(rule.rest()[0]);
  TILEVM_ASSIGN_OR_RETURN(const Axes axes, ReadAxes(rule, operands));
  std::vector<isa::ElemType> arguments = elems;
  arguments.insert(arguments.end(), elems.begin(), elems.end());
  ir::Region region;
  TILEVM_RETURN_IF_ERROR(BuildScalarRegion(rule, rule["combine_fn"], arguments, elems, region).status());
  const std::vector<ValueId> results = EmitReduce(rule, axes, "custom", std::move(region));
  if (single) return Result(results[0]);
  std::vector<Value> tuple;
  for (ValueId id : results) tuple.push_back(Result(id));
  return Value::Tuple(std::move(tuple));
}

}  // namespace

absl::StatusOr<Value> ElaborateReduce(Rule& rule) {
  if (rule.op() == Op::kReduce) return Custom(rule);
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Number("x"));
  switch (rule.op()) {
    case Op::kSum: return Sum(rule, x);
    case Op::kMax: return Extreme(rule, x, true);
    case Op::kMin: return Extreme(rule, x, false);
    case Op::kArgMax: case Op::kArgMin: {
      TILEVM_ASSIGN_OR_RETURN(const std::vector<ValueId> both, WithIndex(rule, x, rule.op() == Op::kArgMax));
      return Result(both[1]);
    }
    default: {
      if (!isa::IsInteger(rule.DTypeOf(x))) return rule.Error("operand x is ", isa::ToString(rule.TypeOf(x)), ", wanted integers");
      TILEVM_ASSIGN_OR_RETURN(const ValueId folded, FoldOne(rule, x, rule.op() == Op::kXorSum ? "xor" : "or"));
      return Result(folded);
    }
  }
}

}  // namespace tilevm::specializer
