// Options of memory ops.
#include "specializer/elaborate/memory_options.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "specializer/elaborate/broadcast.h"

namespace tilevm::specializer {
namespace {

absl::Status CheckOneOf(const Rule& rule, absl::string_view name, const std::string& text, std::initializer_list<absl::string_view> allowed) {
  if (text.empty() || std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return absl::OkStatus();
  return rule.Error(name, " is \"", text, "\", wanted one of ", absl::StrJoin(allowed, ", "));
}

}  // namespace

absl::StatusOr<CacheOptions> ReadCacheOptions(Rule& rule, bool is_store) {
  CacheOptions options;
  TILEVM_ASSIGN_OR_RETURN(options.cache_modifier, rule.String("cache_modifier", ""));
  TILEVM_ASSIGN_OR_RETURN(options.eviction_policy, rule.String("eviction_policy", ""));
  if (is_store) {
    TILEVM_RETURN_IF_ERROR(CheckOneOf(rule, "cache_modifier", options.cache_modifier, {".wb", ".cg", ".cs", ".wt"}));
  } else {
    TILEVM_RETURN_IF_ERROR(CheckOneOf(rule, "cache_modifier", options.cache_modifier, {".ca", ".cg", ".cv"}));
  }
  TILEVM_RETURN_IF_ERROR(CheckOneOf(rule, "eviction_policy", options.eviction_policy, {"evict_first", "evict_last", "evict_normal"}));
  if (options.eviction_policy == "evict_normal") options.eviction_policy.clear();
  if (!is_store) {
    TILEVM_ASSIGN_OR_RETURN(options.is_volatile, rule.Bool("volatile", false));
  }
  return options;
}

void SetCacheAttrs(ir::Op& op, const CacheOptions& options) {
  if (!options.cache_modifier.empty()) op.SetAttr("cache_modifier", options.cache_modifier);
  if (!options.eviction_policy.empty()) op.SetAttr("eviction_policy", options.eviction_policy);
  if (options.is_volatile) op.SetAttr("volatile", true);
  if (options.descriptor) op.SetAttr("descriptor", true);
}

absl::StatusOr<std::vector<int>> ReadBoundaryCheck(Rule& rule, int rank) {
  std::vector<int> dims;
  if (rule["boundary_check"].absent_or_none()) return dims;
  TILEVM_ASSIGN_OR_RETURN(const std::vector<int64_t> given, rule.Ints("boundary_check"));
  for (int64_t dim : given) {
    if (dim < 0 || dim >= rank) return rule.Error("boundary_check holds ", dim, ", and the block has rank ", rank);
    if (std::find(dims.begin(), dims.end(), dim) != dims.end()) return rule.Error("boundary_check holds ", dim, " twice");
    dims.push_back(static_cast<int>(dim));
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

absl::StatusOr<ValueId> ReadMaskAsIs(Rule& rule) {
  const Value& mask = rule["mask"];
  if (mask.absent_or_none()) return ir::kNoValue;
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor("mask"));
  if (rule.TypeOf(id).elem != isa::ElemType{DType::kI1, false}) {
    return rule.Error("operand mask is ", isa::ToString(rule.TypeOf(id)), ", wanted i1");
  }
  return id;
}

absl::StatusOr<ValueId> ReadMask(Rule& rule, const Shape& shape) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId mask, ReadMaskAsIs(rule));
  if (mask == ir::kNoValue) return mask;
  return BroadcastOneWay(rule, mask, shape, "mask");
}

ValueId EmitLoad(Rule& rule, ValueId pointers, ValueId mask, ValueId other, const CacheOptions& options) {
  const Type type = rule.TypeOf(pointers);
  ir::Op op;
  op.op = Op::kLoad;
  op.operands = {pointers, mask, other};
  op.loc = rule.loc();
  SetCacheAttrs(op, options);
  const Type results[] = {Type{{type.elem.dtype, false}, type.shape}};
  return rule.builder().EmitOp(std::move(op), results)[0];
}

void EmitStore(Rule& rule, ValueId pointers, ValueId value, ValueId mask, const CacheOptions& options) {
  ir::Op op;
  op.op = Op::kStore;
  op.operands = {pointers, value, mask};
  op.loc = rule.loc();
  SetCacheAttrs(op, options);
  rule.builder().EmitOp(std::move(op), {});
}

}  // namespace tilevm::specializer
