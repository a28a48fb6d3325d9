// cast and .to: between numbers one cast op; between pointers and 64-bit integers, and with bitcast=True, a bitcast.
#include "specializer/elaborate/promote.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<isa::ElemType> Target(Rule& rule) {
  const Value& dtype = rule["dtype"];
  if (dtype.is(ValueKind::kPointerType)) return isa::ElemType{dtype.dtype(), true};
  if (dtype.is(ValueKind::kBlockType)) return dtype.As<BlockTypePayload>()->type.elem;
  TILEVM_ASSIGN_OR_RETURN(const DType to, rule.DTypeArg("dtype"));
  return isa::ElemType{to, false};
}

absl::StatusOr<Value> CastPointer(Rule& rule, ValueId x, isa::ElemType to) {
  const Type from = rule.TypeOf(x);
  if (to.pointer && !from.elem.pointer) {
    if (!isa::IsInteger(from.elem.dtype)) return rule.Error("from ", isa::ToString(from), " to ", isa::ToString(to), ", wanted an integer");
    return Result(rule.Bitcast(rule.Cast(x, isa::IsSigned(from.elem.dtype) ? DType::kI64 : DType::kU64), to));
  }
  if (to.pointer) return Result(rule.Bitcast(x, to));
  if (to.dtype == DType::kI1) return Result(rule.Cast(rule.Bitcast(x, {DType::kI64, false}), DType::kI1));
  if (isa::IsInteger(to.dtype) && isa::BitWidth(to.dtype) == 64) return Result(rule.Bitcast(x, to));
  return rule.Error("from ", isa::ToString(from), " to ", isa::ToString(to), "; a pointer casts to 64-bit integers and pointers");
}

bool IsNarrowing(DType from, DType to) {
  return isa::IsFloat(from) && isa::IsFloat(to) && isa::BitWidth(to) < isa::BitWidth(from);
}

}  // namespace

absl::StatusOr<Value> ElaborateCast(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const isa::ElemType to, Target(rule));
  TILEVM_ASSIGN_OR_RETURN(const std::string rounding, rule.String("fp_downcast_rounding", ""));
  if (!rounding.empty() && rounding != "rtne" && rounding != "rtz") return rule.Error("fp_downcast_rounding is \"", rounding, "\", wanted \"rtne\" or \"rtz\"");
  TILEVM_ASSIGN_OR_RETURN(const bool bitcast, rule.Bool("bitcast", false));
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Tensor("x"));
  const Type from = rule.TypeOf(x);
  if (from.elem == to) return Result(x);
  if (from.elem.pointer || to.pointer) return CastPointer(rule, x, to);
  if (bitcast) {
    if (isa::BitWidth(from.elem.dtype) != isa::BitWidth(to.dtype)) {
      return rule.Error("bitcast from ", isa::ToString(from), " to ", isa::Name(to.dtype), ": ", isa::BitWidth(from.elem.dtype), " bits against ", isa::BitWidth(to.dtype));
    }
    return Result(rule.Bitcast(x, to));
  }
  if (!rounding.empty() && !IsNarrowing(from.elem.dtype, to.dtype)) {
    return rule.Error("fp_downcast_rounding is for narrowing a float, and this is from ", isa::ToString(from), " to ", isa::Name(to.dtype));
  }
  if (rounding == "rtz") return Result(rule.Emit(Op::kCast, Type{to, from.shape}, {x}, {{"rounding", rounding}}));
  return Result(rule.Cast(x, to.dtype));
}

}  // namespace tilevm::specializer
