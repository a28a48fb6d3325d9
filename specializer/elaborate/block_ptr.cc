// make_block_ptr, advance, and memory through block pointers. Shape, strides, offsets and coordinates are i64; only the dimensions in
// boundary_check are masked; `order` is a hint that is checked and kept.
#include "specializer/elaborate/block_ptr.h"

#include <algorithm>

#include "specializer/elaborate/block_access.h"
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<std::vector<Value>> Int64List(Rule& rule, absl::string_view name, size_t count) {
  const std::vector<Value> items = Items(rule[name]);
  if (items.size() != count) return rule.Error("argument ", name, " has ", items.size(), " entries, wanted ", count);
  std::vector<Value> list;
  for (const Value& item : items) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId id, ScalarInt64(rule, item, name));
    list.push_back(Result(id));
  }
  return list;
}

absl::StatusOr<Value> MakeBlockPtr(Rule& rule) {
  auto payload = std::make_shared<BlockPtrPayload>();
  payload->base = rule["base"];
  if (!payload->base.is_tensor() || !rule.TypeOf(payload->base.tensor()).elem.pointer || !rule.TypeOf(payload->base.tensor()).is_scalar()) {
    return rule.Error("operand base is ", rule.Name(payload->base), ", wanted a pointer");
  }
  TILEVM_ASSIGN_OR_RETURN(payload->block_shape, rule.ShapeOf("block_shape"));
  const size_t rank = payload->block_shape.size();
  TILEVM_ASSIGN_OR_RETURN(payload->shape, Int64List(rule, "shape", rank));
  TILEVM_ASSIGN_OR_RETURN(payload->strides, Int64List(rule, "strides", rank));
  TILEVM_ASSIGN_OR_RETURN(payload->offsets, Int64List(rule, "offsets", rank));
  TILEVM_ASSIGN_OR_RETURN(payload->order, rule.Ints("order"));
  std::vector<int64_t> sorted = payload->order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != rank || sorted[i] != static_cast<int64_t>(i)) return rule.Error("argument order is not a permutation of 0 to ", rank - 1);
  }
  return Value::Shared(ValueKind::kBlockPtr, std::move(payload));
}

absl::StatusOr<Value> Advance(Rule& rule) {
  const Value& base = rule["base"];
  if (!base.is(ValueKind::kBlockPtr)) return rule.Error("operand base is ", rule.Name(base), ", wanted a block pointer");
  auto moved = std::make_shared<BlockPtrPayload>(*base.As<BlockPtrPayload>());
  const std::vector<Value> given = Items(rule["offsets"]);
  if (given.size() != moved->offsets.size()) return rule.Error("argument offsets has ", given.size(), " entries, wanted ", moved->offsets.size());
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].is(ValueKind::kInt) && given[i].int_value() == 0) continue;
    TILEVM_ASSIGN_OR_RETURN(const ValueId step, ScalarInt64(rule, given[i], "offsets"));
    moved->offsets[i] = Result(rule.EmitLike(Op::kAdd, step, {moved->offsets[i].tensor(), step}));
  }
  return Value::Shared(ValueKind::kBlockPtr, std::move(moved));
}

absl::StatusOr<BlockAccess> AccessOf(Rule& rule, const BlockPtrPayload& pointer) {
  if (!rule["mask"].absent_or_none() || !rule["other"].absent_or_none()) {
    return rule.Error("mask and other cannot be given with a block pointer; use boundary_check and padding_option");
  }
  BlockAccess access;
  access.base = pointer.base.tensor();
  for (const Value& v : pointer.shape) access.shape.push_back(v.tensor());
  for (const Value& v : pointer.strides) access.strides.push_back(v.tensor());
  for (const Value& v : pointer.offsets) access.offsets.push_back(v.tensor());
  access.block_shape = pointer.block_shape;
  TILEVM_ASSIGN_OR_RETURN(access.checked, ReadBoundaryCheck(rule, static_cast<int>(pointer.block_shape.size())));
  return access;
}

}  // namespace

absl::StatusOr<Value> ElaborateBlockPtr(Rule& rule) { return rule.op() == Op::kMakeBlockPtr ? MakeBlockPtr(rule) : Advance(rule); }

absl::StatusOr<Value> LoadThroughBlockPtr(Rule& rule, const BlockPtrPayload& pointer) {
  TILEVM_ASSIGN_OR_RETURN(const BlockAccess access, AccessOf(rule, pointer));
  TILEVM_ASSIGN_OR_RETURN(const CacheOptions options, ReadCacheOptions(rule, false));
  TILEVM_ASSIGN_OR_RETURN(const std::string padding, rule.String("padding_option", ""));
  if (!padding.empty() && padding != "zero" && padding != "nan") return rule.Error("padding_option is \"", padding, "\", wanted \"zero\" or \"nan\"");
  const DType dtype = rule.TypeOf(access.base).elem.dtype;
  if (padding == "nan" && !isa::IsFloat(dtype)) return rule.Error("padding_option is \"nan\" and the elements are ", isa::Name(dtype));
  return Result(LoadBlock(rule, ExpandBlock(rule, access), padding == "nan", options));
}

absl::StatusOr<Value> StoreThroughBlockPtr(Rule& rule, const BlockPtrPayload& pointer) {
  TILEVM_ASSIGN_OR_RETURN(const BlockAccess access, AccessOf(rule, pointer));
  TILEVM_ASSIGN_OR_RETURN(const CacheOptions options, ReadCacheOptions(rule, true));
  TILEVM_ASSIGN_OR_RETURN(ValueId value, rule.Number("value"));
  TILEVM_ASSIGN_OR_RETURN(value, BroadcastOneWay(rule, rule.Cast(value, rule.TypeOf(access.base).elem.dtype), access.block_shape, "value"));
  const PointersAndMask expanded = ExpandBlock(rule, access);
  EmitStore(rule, expanded.pointers, value, expanded.mask, options);
  return Value::None();
}

}  // namespace tilevm::specializer
