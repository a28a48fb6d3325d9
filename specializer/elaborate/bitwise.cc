// & | ^ << >> ~, logical_and, logical_or, umulhi: integers only.
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::Status CheckInteger(Rule& rule, ValueId x) {
  const Type type = rule.TypeOf(x);
  if (!type.elem.pointer && isa::IsInteger(type.elem.dtype)) return absl::OkStatus();
  return rule.Error("operands are of ", isa::ToString(type.elem), "; this is for integers only");
}

// >> is arithmetic iff the left operand is signed before promotion (for `1 >> x`, iff x is), whatever type promotion gives.
absl::StatusOr<Value> ShiftRight(Rule& rule, const Value& x, const Value& y, OperandPair pair) {
  const Value& decides = x.is_tensor() ? x : y;
  const DType type = rule.DTypeOf(pair.x);
  if (type == DType::kI1) return Result(rule.EmitLike(Op::kShr, pair.x, {pair.x, pair.y}));
  const bool arithmetic = isa::IsSigned(rule.DTypeOf(decides.tensor()));
  const DType as = arithmetic ? isa::SignedOfWidth(isa::BitWidth(type)) : isa::UnsignedOfWidth(isa::BitWidth(type));
  const ValueId value = rule.Cast(pair.x, as);
  const ValueId count = rule.Cast(pair.y, as);
  return Result(rule.Cast(rule.EmitLike(Op::kShr, value, {value, count}), type));
}

absl::StatusOr<Value> Umulhi(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, rule["x"], rule["y"], {.strong = true}));
  TILEVM_RETURN_IF_ERROR(CheckInteger(rule, pair.x));
  const DType type = rule.DTypeOf(pair.x);
  if (isa::BitWidth(type) < 32) return rule.Error("operands are of ", isa::Name(type), ", wanted 32 or 64 bits");
  return Result(rule.EmitLike(Op::kUmulhi, pair.x, {pair.x, pair.y}));
}

}  // namespace

absl::StatusOr<Value> ElaborateBitwise(Rule& rule) {
  const Value& x = rule["x"];
  const Value& y = rule["y"];
  if (rule.op() == Op::kUmulhi) return Umulhi(rule);
  if (rule.op() == Op::kInvert) {
    if (x.is(ValueKind::kBool) || x.is(ValueKind::kInt)) return Value::Int(~x.int_value());
    TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor("x"));
    TILEVM_RETURN_IF_ERROR(CheckInteger(rule, id));
    return Result(rule.EmitLike(Op::kInvert, id, {id}));
  }
  if (x.is_static_number() && y.is_static_number()) return rule.elaborator().evaluator.Binary(rule.op(), x, y, rule.loc());
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, x, y));
  TILEVM_RETURN_IF_ERROR(CheckInteger(rule, pair.x));
  if (rule.op() == Op::kShr) return ShiftRight(rule, x, y, pair);
  return Result(rule.EmitLike(rule.op(), pair.x, {pair.x, pair.y}));
}

}  // namespace tilevm::specializer
