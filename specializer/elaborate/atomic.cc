// atomic_*: value and mask stretch to the pointers' shape at equal rank and the value is cast; atomic_cas neither stretches nor casts.
#include "specializer/elaborate/atomic.h"

#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/memory_options.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

struct Ordering {
  std::string sem, scope;
};

absl::StatusOr<Ordering> ReadOrdering(Rule& rule) {
  Ordering ordering;
  TILEVM_ASSIGN_OR_RETURN(ordering.sem, rule.String("sem", "acq_rel"));
  TILEVM_ASSIGN_OR_RETURN(ordering.scope, rule.String("scope", "gpu"));
  if (ordering.sem != "acquire" && ordering.sem != "release" && ordering.sem != "acq_rel" && ordering.sem != "relaxed") {
    return rule.Error("sem is \"", ordering.sem, "\", wanted acquire, release, acq_rel or relaxed");
  }
  if (ordering.scope != "gpu" && ordering.scope != "cta" && ordering.scope != "sys") {
    return rule.Error("scope is \"", ordering.scope, "\", wanted gpu, cta or sys");
  }
  return ordering;
}

absl::StatusOr<Value> CompareAndSwap(Rule& rule, ValueId pointers, const Ordering& ordering) {
  const Type type = rule.TypeOf(pointers);
  const int bits = isa::BitWidth(type.elem.dtype);
  if (bits < 16) return rule.Error("elements are ", isa::Name(type.elem.dtype), ", wanted 16, 32 or 64 bits");
  ValueId operands[2];
  for (int i = 0; i < 2; ++i) {
    const absl::string_view name = i == 0 ? "cmp" : "value";
    TILEVM_ASSIGN_OR_RETURN(operands[i], rule.Number(name));
    const Type given = rule.TypeOf(operands[i]);
    const bool same_kind = isa::BitWidth(given.elem.dtype) == bits &&
                           (given.elem.dtype == type.elem.dtype || (isa::IsInteger(given.elem.dtype) && isa::IsInteger(type.elem.dtype)));
    if (!same_kind || given.shape != type.shape) {
      return rule.Error("operand ", name, " is ", isa::ToString(given), ", wanted ", isa::ToString(Type{{type.elem.dtype, false}, type.shape}),
                        " (nothing is cast or broadcast here)");
    }
    operands[i] = rule.Bitcast(operands[i], {type.elem.dtype, false});
  }
  return Result(rule.Emit(Op::kAtomicCas, Type{{type.elem.dtype, false}, type.shape}, {pointers, operands[0], operands[1]},
                          {{"sem", ordering.sem}, {"scope", ordering.scope}}));
}

}  // namespace

absl::Status CheckAtomicType(const Rule& rule, Op op, DType dtype) {
  const absl::string_view name = isa::Name(dtype);
  const bool bitwise = op == Op::kAtomicAnd || op == Op::kAtomicOr || op == Op::kAtomicXor;
  if (isa::IsFloat(dtype) && bitwise) return rule.Error("elements are ", name, ", wanted an integer");
  if ((dtype == DType::kF16 || dtype == DType::kBF16) && op != Op::kAtomicAdd) return rule.Error("elements are ", name, "; 16-bit floats are for atomic_add only");
  if (isa::BitWidth(dtype) < 16 || dtype == DType::kI16 || dtype == DType::kU16) return rule.Error("elements are ", name, ", wanted 32 or 64 bits");
  return absl::OkStatus();
}

ValueId EmitAtomic(Rule& rule, Op op, ValueId pointers, ValueId value, ValueId mask, const std::string& sem, const std::string& scope) {
  return rule.EmitLike(op, value, {pointers, value, mask}, {{"sem", sem}, {"scope", scope}});
}

absl::StatusOr<Value> ElaborateAtomic(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId pointers, rule.Tensor("p"));
  const Type type = rule.TypeOf(pointers);
  if (!type.elem.pointer) return rule.Error("operand p is ", isa::ToString(type), ", wanted a pointer");
  TILEVM_ASSIGN_OR_RETURN(const Ordering ordering, ReadOrdering(rule));
  if (rule.op() == Op::kAtomicCas) return CompareAndSwap(rule, pointers, ordering);
  TILEVM_RETURN_IF_ERROR(CheckAtomicType(rule, rule.op(), type.elem.dtype));
  TILEVM_ASSIGN_OR_RETURN(ValueId value, rule.Number("value"));
  if (type.is_scalar() && !rule.TypeOf(value).is_scalar()) {
    return rule.Error("operand value is ", isa::ToString(rule.TypeOf(value)), " and operand p is the scalar ", isa::ToString(type));
  }
  TILEVM_ASSIGN_OR_RETURN(value, BroadcastOneWay(rule, rule.Cast(value, type.elem.dtype), type.shape, "value"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId mask, ReadMask(rule, type.shape));
  return Result(EmitAtomic(rule, rule.op(), pointers, value, mask, ordering.sem, ordering.scope));
}

}  // namespace tilevm::specializer
