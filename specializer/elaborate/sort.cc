// sort and topk along the last axis: total order, NaN last. topk of fewer elements than there are goes through max, so it widens like max.
#include "specializer/elaborate/rules.h"
#include "specializer/elaborate/widen.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateSort(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(ValueId x, rule.Number("x"));
  Type type = rule.TypeOf(x);
  if (type.is_scalar()) return rule.Error("operand x is ", isa::ToString(type), ", wanted a tile");
  TILEVM_ASSIGN_OR_RETURN(const int64_t dim, rule.Int("dim", type.rank() - 1));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(dim, type.rank()));
  if (axis != type.rank() - 1) return rule.Error("dim is ", dim, " of ", isa::ToString(type), "; only the last dimension is supported");
  if (rule.op() == Op::kSort) {
    TILEVM_ASSIGN_OR_RETURN(const bool descending, rule.Bool("descending", false));
    return Result(rule.EmitLike(Op::kSort, x, {x}, {{"dim", int64_t{axis}}, {"descending", descending}}));
  }
  TILEVM_ASSIGN_OR_RETURN(const int64_t k, rule.Int("k"));
  if (!IsPowerOfTwo(k) || k > type.shape[axis]) return rule.Error("k is ", k, ", wanted a power of two up to ", type.shape[axis]);
  if (k < type.shape[axis]) x = rule.Cast(x, ExtremeType(type.elem.dtype));
  type = rule.TypeOf(x);
  type.shape[axis] = k;
  return Result(rule.Emit(Op::kTopK, type, {x}, {{"k", k}, {"dim", int64_t{axis}}}));
}

}  // namespace tilevm::specializer
