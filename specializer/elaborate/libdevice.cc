// libdevice functions: a table of exact argument types (f32 or f64 for all, lib_pow also with an i32 exponent). If the arguments' types are not
// in the table they are promoted among themselves once, as Triton does; then they must be.
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

bool IsLibFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

bool InTable(Op op, DType x, DType y) {
  if (!IsLibFloat(x)) return false;
  return y == x || (op == Op::kLibPow && y == DType::kI32);
}

absl::StatusOr<Value> Unary(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Number("x"));
  const Type type = rule.TypeOf(x);
  if (!IsLibFloat(type.elem.dtype)) return rule.Error("operand x is ", isa::ToString(type), ", wanted f32 or f64 (libdevice does not convert)");
  Type result = type;
  if (rule.op() == Op::kIsNan || rule.op() == Op::kIsInf || rule.op() == Op::kIsFinite) result.elem.dtype = DType::kI1;
  if (rule.op() == Op::kLlRint) result.elem.dtype = DType::kI64;
  return Result(rule.Emit(rule.op(), result, {x}));
}

absl::StatusOr<Value> Binary(Rule& rule, absl::string_view first, absl::string_view second) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Number(first));
  TILEVM_ASSIGN_OR_RETURN(const ValueId y, rule.Number(second));
  const bool listed = InTable(rule.op(), rule.DTypeOf(x), rule.DTypeOf(y));
  TILEVM_ASSIGN_OR_RETURN(const OperandPair pair, Promote(rule, Result(x), Result(y), {.arithmetic = !listed}));
  if (!InTable(rule.op(), rule.DTypeOf(pair.x), rule.DTypeOf(pair.y))) {
    return rule.Error("operands are ", isa::ToString(rule.TypeOf(x)), " and ", isa::ToString(rule.TypeOf(y)), ", wanted f32 or f64 for both",
                      rule.op() == Op::kLibPow ? " (or an i32 exponent)" : "");
  }
  const Op op = rule.op() == Op::kFMod ? Op::kMod : rule.op();
  return Result(rule.EmitLike(op, pair.x, {pair.x, pair.y}));
}

}  // namespace

absl::StatusOr<Value> ElaborateLibdevice(Rule& rule) {
  if (rule.op() == Op::kAtan2) return Binary(rule, "y", "x");
  if (rule.op() == Op::kLibPow || rule.op() == Op::kFMod || rule.op() == Op::kCopySign) return Binary(rule, "x", "y");
  return Unary(rule);
}

}  // namespace tilevm::specializer
