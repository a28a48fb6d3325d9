// gather along one axis, histogram of a 1-D tile.
#include "specializer/elaborate/memory_options.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<Value> Gather(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId src, rule.Tensor("src"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId index, rule.Number("index"));
  const Type src_type = rule.TypeOf(src), index_type = rule.TypeOf(index);
  if (!isa::IsInteger(index_type.elem.dtype)) return rule.Error("operand index is ", isa::ToString(index_type), ", wanted integers");
  if (src_type.rank() != index_type.rank() || src_type.is_scalar()) {
    return rule.Error("operand src is ", isa::ToString(src_type), ", operand index is ", isa::ToString(index_type), ", wanted one rank of 1 or more");
  }
  TILEVM_ASSIGN_OR_RETURN(const int64_t given, rule.Int("axis"));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(given, src_type.rank()));
  for (int i = 0; i < src_type.rank(); ++i) {
    if (i != axis && src_type.shape[i] != index_type.shape[i]) {
      return rule.Error("operand index is ", isa::ToString(index_type), ", dimension ", i, " of operand src is ", src_type.shape[i]);
    }
  }
  return Result(rule.Emit(Op::kGather, Type{src_type.elem, index_type.shape}, {src, index}, {{"axis", int64_t{axis}}}));
}

absl::StatusOr<Value> Histogram(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Number("x"));
  const Type type = rule.TypeOf(x);
  if (type.rank() != 1 || !isa::IsInteger(type.elem.dtype)) return rule.Error("operand x is ", isa::ToString(type), ", wanted a 1-D tile of integers");
  TILEVM_ASSIGN_OR_RETURN(const int64_t bins, rule.Int("num_bins"));
  TILEVM_RETURN_IF_ERROR(rule.CheckShape({bins}));
  TILEVM_ASSIGN_OR_RETURN(const ValueId mask, ReadMask(rule, type.shape));
  return Result(rule.Emit(Op::kHistogram, isa::TileType(DType::kI32, {bins}), {x, mask}, {{"num_bins", bins}}));
}

}  // namespace

absl::StatusOr<Value> ElaborateGather(Rule& rule) { return rule.op() == Op::kGather ? Gather(rule) : Histogram(rule); }

}  // namespace tilevm::specializer
