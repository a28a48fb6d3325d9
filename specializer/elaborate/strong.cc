// maximum, minimum, fma, clamp: static numbers are strong here (an f16 tensor and 0.0 give f32), and bf16 is f32 for all but fma.
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

// tl.PropagateNan.NONE or ALL: the static value is a bool, an int (1 is ALL), a name, or absent.
absl::StatusOr<bool> PropagateNan(Rule& rule) {
  const Value& value = rule["propagate_nan"];
  if (value.is(ValueKind::kString) || value.is(ValueKind::kBuiltin)) {
    absl::string_view text = value.string();
    const size_t dot = text.rfind('.');
    if (dot != absl::string_view::npos) text.remove_prefix(dot + 1);
    if (text == "ALL") return true;
    if (text == "NONE") return false;
    return rule.Error("propagate_nan is ", value.string(), ", wanted tl.PropagateNan.ALL or NONE");
  }
  if (value.is(ValueKind::kInt)) return value.int_value() != 0;
  return rule.Bool("propagate_nan", false);
}

absl::StatusOr<Value> Bf16ToF32(Rule& rule, absl::string_view name) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Number(name));
  return Result(rule.DTypeOf(id) == DType::kBF16 ? rule.Cast(id, DType::kF32) : id);
}

ValueId EmitExtreme(Rule& rule, Op op, OperandPair pair, bool propagate_nan) {
  if (!propagate_nan) return rule.EmitLike(op, pair.x, {pair.x, pair.y});
  return rule.EmitLike(op, pair.x, {pair.x, pair.y}, {{"propagate_nan", true}});
}

absl::StatusOr<Value> Fma(Rule& rule) {
  Value x = rule["x"], y = rule["y"], z = rule["z"];
  const PromoteOptions strong{.strong = true};
  for (auto [a, b] : {std::pair{&x, &y}, std::pair{&z, &x}, std::pair{&z, &y}, std::pair{&x, &y}}) {
    TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, *a, *b, strong));
    *a = Result(pair.x);
    *b = Result(pair.y);
  }
  if (!isa::IsFloat(rule.DTypeOf(x.tensor()))) return rule.Error("operands are of ", isa::Name(rule.DTypeOf(x.tensor())), ", wanted floats");
  return Result(rule.EmitLike(Op::kFma, x.tensor(), {x.tensor(), y.tensor(), z.tensor()}));
}

absl::StatusOr<Value> Clamp(Rule& rule, bool propagate_nan) {
  TILEVM_ASSIGN_OR_RETURN(Value x, Bf16ToF32(rule, "x"));
  TILEVM_ASSIGN_OR_RETURN(Value low, Bf16ToF32(rule, "min"));
  TILEVM_ASSIGN_OR_RETURN(Value high, Bf16ToF32(rule, "max"));
  for (auto [a, b] : {std::pair{&low, &high}, std::pair{&x, &low}, std::pair{&x, &high}, std::pair{&x, &low}}) {
    TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, *a, *b));
    *a = Result(pair.x);
    *b = Result(pair.y);
  }
  if (!isa::IsFloat(rule.DTypeOf(x.tensor()))) return rule.Error("x is of ", isa::Name(rule.DTypeOf(x.tensor())), ", wanted a float");
  const ValueId raised = EmitExtreme(rule, Op::kMaximum, {x.tensor(), low.tensor()}, propagate_nan);
  return Result(EmitExtreme(rule, Op::kMinimum, {raised, high.tensor()}, propagate_nan));
}

}  // namespace

absl::StatusOr<Value> ElaborateStrong(Rule& rule) {
  if (rule.op() == Op::kFma) return Fma(rule);
  TILEVM_ASSIGN_OR_RETURN(const bool propagate_nan, PropagateNan(rule));
  if (rule.op() == Op::kClamp) return Clamp(rule, propagate_nan);
  TILEVM_ASSIGN_OR_RETURN(const Value x, Bf16ToF32(rule, "x"));
  TILEVM_ASSIGN_OR_RETURN(const Value y, Bf16ToF32(rule, "y"));
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, x, y));
  return Result(EmitExtreme(rule, rule.op(), pair, propagate_nan));
}

}  // namespace tilevm::specializer
