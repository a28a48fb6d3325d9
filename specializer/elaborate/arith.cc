// + - * and unary minus; pointer arithmetic; to_tensor.
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

// Offsets count elements; a signed one is sign-extended, an unsigned one zero-extended, by ptr_add itself.
absl::StatusOr<Value> PointerPlus(Rule& rule, ValueId pointer, ValueId offset) {
  return Result(rule.EmitLike(Op::kPtrAdd, pointer, {pointer, offset}));
}

absl::StatusOr<Value> PointerMinus(Rule& rule, ValueId pointer, ValueId offset) {
  // The negative of an unsigned offset exists only in 64 bits.
  if (isa::IsUnsigned(rule.DTypeOf(offset))) offset = rule.Cast(offset, DType::kI64);
  return PointerPlus(rule, pointer, rule.EmitLike(Op::kNeg, offset, {offset}));
}

absl::StatusOr<Value> Negate(Rule& rule) {
  const Value& x = rule["x"];
  if (x.is(ValueKind::kFloat)) return Value::Float(-x.float_value());
  if (x.is_static_number()) return Value::Int(-x.int_value());
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Number("x"));
  return Result(rule.EmitLike(Op::kNeg, id, {id}));
}

}  // namespace

absl::StatusOr<Value> ElaborateArith(Rule& rule) {
  if (rule.op() == Op::kNeg) return Negate(rule);
  if (rule.op() == Op::kToTensor) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor("x"));
    return Result(id);
  }
  const Value& x = rule["x"];
  const Value& y = rule["y"];
  if (x.is_static_number() && y.is_static_number()) return rule.elaborator().evaluator.Binary(rule.op(), x, y, rule.loc());
  const bool pointers = rule.op() != Op::kMul;
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, x, y, {.allow_x_pointer = pointers, .allow_y_pointer = rule.op() == Op::kAdd}));
  const bool x_pointer = rule.TypeOf(pair.x).elem.pointer;
  const bool y_pointer = rule.TypeOf(pair.y).elem.pointer;
  if (x_pointer && y_pointer) return rule.Error("both operands are pointers (", isa::ToString(rule.TypeOf(pair.x)), ")");
  if (x_pointer) return rule.op() == Op::kAdd ? PointerPlus(rule, pair.x, pair.y) : PointerMinus(rule, pair.x, pair.y);
  if (y_pointer) return PointerPlus(rule, pair.y, pair.x);
  return Result(rule.EmitLike(rule.op(), pair.x, {pair.x, pair.y}));
}

}  // namespace tilevm::specializer
