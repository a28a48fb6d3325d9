// Tensor descriptors: rank 1 to 5, the last stride 1, 32-bit offsets, every dimension bounds-checked, padding 0 or NaN, stores clipped. Each access
// expands to pointers and a mask in i64.
#include <algorithm>

#include "specializer/elaborate/atomic.h"
#include "specializer/elaborate/block_access.h"
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<const DescriptorPayload*> PayloadOf(const Rule& rule, const Value& descriptor) {
  if (descriptor.is(ValueKind::kDescriptor)) return descriptor.As<DescriptorPayload>();
  return rule.Error("operand desc is ", rule.Name(descriptor), ", wanted a tensor descriptor");
}

DType ElementType(Rule& rule, const DescriptorPayload& desc) { return rule.TypeOf(desc.base.tensor()).elem.dtype; }

absl::StatusOr<Value> Make(Rule& rule) {
  auto payload = std::make_shared<DescriptorPayload>();
  payload->base = rule["base"];
  if (!payload->base.is_tensor() || !rule.TypeOf(payload->base.tensor()).elem.pointer || !rule.TypeOf(payload->base.tensor()).is_scalar()) {
    return rule.Error("operand base is ", rule.Name(payload->base), ", wanted a pointer");
  }
  TILEVM_ASSIGN_OR_RETURN(payload->block_shape, rule.ShapeOf("block_shape"));
  const size_t rank = payload->block_shape.size();
  const std::vector<Value> shape = Items(rule["shape"]), strides = Items(rule["strides"]);
  if (rank < 1 || rank > 5) return rule.Error("block_shape has ", rank, " dimensions, wanted 1 to 5");
  if (shape.size() != rank || strides.size() != rank) {
    return rule.Error("shape has ", shape.size(), " entries, strides ", strides.size(), ", block_shape ", rank, "; wanted as many");
  }
  const DType dtype = ElementType(rule, *payload);
  const int64_t row_bytes = payload->block_shape.back() * isa::StorageBytes(dtype);
  if (row_bytes < 16) return rule.Error("the last dimension of block_shape is ", row_bytes, " bytes, wanted at least 16");
  if (!strides.back().is(ValueKind::kInt) || strides.back().int_value() != 1) return rule.Error("the last stride is ", rule.Name(strides.back()), ", wanted the constant 1");
  TILEVM_ASSIGN_OR_RETURN(const std::string padding, rule.String("padding_option", "zero"));
  if (!padding.empty() && padding != "zero" && padding != "nan") return rule.Error("padding_option is \"", padding, "\", wanted \"zero\" or \"nan\"");
  payload->pad_nan = padding == "nan";
  if (payload->pad_nan && !isa::IsFloat(dtype)) return rule.Error("padding_option is \"nan\" and the elements are ", isa::Name(dtype));
  for (size_t i = 0; i < rank; ++i) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId extent, ScalarInt64(rule, shape[i], "shape"));
    payload->shape.push_back(Result(rule.Cast(extent, DType::kI32)));
    TILEVM_ASSIGN_OR_RETURN(const ValueId stride, ScalarInt64(rule, strides[i], "strides"));
    payload->strides.push_back(Result(stride));
  }
  return Value::Shared(ValueKind::kDescriptor, std::move(payload));
}

absl::StatusOr<ValueId> Offset(Rule& rule, const Value& value) {
  if (value.is_tensor() && isa::BitWidth(rule.DTypeOf(value.tensor())) > 32) {
    return rule.Error("offsets holds ", rule.Name(value), ", wanted 32 bits; add .to(tl.int32)");
  }
  if (value.is(ValueKind::kInt) && (value.int_value() > INT32_MAX || value.int_value() < INT32_MIN)) {
    return rule.Error("offsets holds ", Repr(value), ", beyond 32 bits");
  }
  return ScalarInt64(rule, value, "offsets");
}

// Base, shape and strides in i64, all dimensions checked; offsets still empty.
BlockAccess Whole(Rule& rule, const DescriptorPayload& desc) {
  BlockAccess access;
  access.base = desc.base.tensor();
  access.block_shape = desc.block_shape;
  for (size_t i = 0; i < desc.shape.size(); ++i) {
    access.shape.push_back(rule.Cast(desc.shape[i].tensor(), DType::kI64));
    access.strides.push_back(rule.Cast(desc.strides[i].tensor(), DType::kI64));
    access.checked.push_back(static_cast<int>(i));
  }
  return access;
}

absl::StatusOr<BlockAccess> AtOffsets(Rule& rule, const DescriptorPayload& desc, const Value& offsets) {
  const std::vector<Value> items = Items(offsets);
  if (items.size() != desc.block_shape.size()) return rule.Error("offsets has ", items.size(), " entries, wanted ", desc.block_shape.size());
  BlockAccess access = Whole(rule, desc);
  for (const Value& item : items) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId id, Offset(rule, item));
    access.offsets.push_back(id);
  }
  return access;
}

// The value of a store or atomic: exactly the block's shape, cast to its elements.
absl::StatusOr<ValueId> ValueFor(Rule& rule, const Value& given, const Shape& shape, DType dtype) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId value, rule.Tensor(given, "value"));
  if (rule.TypeOf(value).shape != shape) {
    return rule.Error("operand value is ", isa::ToString(rule.TypeOf(value)), ", wanted shape ", isa::ShapeToString(shape));
  }
  return rule.Cast(value, dtype);
}

const CacheOptions kOfDescriptor{"", "", false, true};

absl::StatusOr<Value> Load(Rule& rule, const DescriptorPayload& desc, const Value& offsets) {
  TILEVM_ASSIGN_OR_RETURN(const BlockAccess access, AtOffsets(rule, desc, offsets));
  return Result(LoadBlock(rule, ExpandBlock(rule, access), desc.pad_nan, kOfDescriptor));
}

absl::StatusOr<Value> Store(Rule& rule, const DescriptorPayload& desc, const Value& offsets, const Value& given) {
  TILEVM_ASSIGN_OR_RETURN(const BlockAccess access, AtOffsets(rule, desc, offsets));
  TILEVM_ASSIGN_OR_RETURN(const ValueId value, ValueFor(rule, given, desc.block_shape, ElementType(rule, desc)));
  const PointersAndMask expanded = ExpandBlock(rule, access);
  EmitStore(rule, expanded.pointers, value, expanded.mask, kOfDescriptor);
  return Value::None();
}

absl::StatusOr<Value> Atomic(Rule& rule, const DescriptorPayload& desc, Op op, const Value& offsets, const Value& given) {
  TILEVM_RETURN_IF_ERROR(CheckAtomicType(rule, op, ElementType(rule, desc)));
  TILEVM_ASSIGN_OR_RETURN(const BlockAccess access, AtOffsets(rule, desc, offsets));
  TILEVM_ASSIGN_OR_RETURN(const ValueId value, ValueFor(rule, given, desc.block_shape, ElementType(rule, desc)));
  const PointersAndMask expanded = ExpandBlock(rule, access);
  EmitAtomic(rule, op, expanded.pointers, value, expanded.mask, "relaxed", "gpu");
  return Value::None();
}

// Rows at x_offsets, columns from y_offset on.
absl::StatusOr<PointersAndMask> Rows(Rule& rule, const DescriptorPayload& desc, const Value& x_offsets, const Value& y_offset) {
  if (desc.block_shape.size() != 2 || desc.block_shape[0] != 1) {
    return rule.Error("the descriptor's block is ", isa::ShapeToString(desc.block_shape), ", wanted [1, columns]");
  }
  TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Tensor(x_offsets, "x_offsets"));
  const Type type = rule.TypeOf(x);
  if (type.rank() != 1 || type.elem.pointer || (type.elem.dtype != DType::kI32 && type.elem.dtype != DType::kI16) || type.shape[0] < 8) {
    return rule.Error("operand x_offsets is ", isa::ToString(type), ", wanted a 1-D tile of 8 or more i16 or i32");
  }
  TILEVM_ASSIGN_OR_RETURN(const ValueId y, Offset(rule, y_offset));
  BlockAccess access = Whole(rule, desc);
  access.block_shape[0] = type.shape[0];
  const Shape line = {access.block_shape[1]};
  const ValueId range = rule.Emit(Op::kArange, isa::TileType(DType::kI32, line), {}, {{"start", int64_t{0}}, {"end", line[0]}});
  const ValueId start = rule.builder().Splat(y, line, rule.loc());
  const ValueId columns = rule.EmitLike(Op::kAdd, start, {start, rule.Cast(range, DType::kI64)});
  return ExpandCoordinates(rule, access, {rule.Cast(x, DType::kI64), columns});
}

// Arguments by position or name, in the order of `names`.
absl::StatusOr<std::vector<Value>> Arguments(const Rule& rule, const CallArgs& args, std::initializer_list<absl::string_view> names) {
  std::vector<Value> values(names.size());
  if (args.positional.size() > names.size()) return rule.Error("takes ", names.size(), " arguments, ", args.positional.size(), " were given");
  for (size_t i = 0; i < args.positional.size(); ++i) values[i] = Unwrap(args.positional[i]);
  for (const auto& [name, value] : args.keyword) {
    if (name == "cache_modifier" || name == "eviction_policy") continue;  // hints
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return rule.Error("has no argument ", name);
    values[found - names.begin()] = Unwrap(value);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].absent()) return rule.Error("argument ", names.begin()[i], " is missing");
  }
  return values;
}

std::optional<Op> AtomicOf(absl::string_view name) {
  for (Op op : {Op::kAtomicAdd, Op::kAtomicMax, Op::kAtomicMin, Op::kAtomicAnd, Op::kAtomicOr, Op::kAtomicXor}) {
    if (isa::Mnemonic(op) == name) return op;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Value> ElaborateDescriptor(Rule& rule) {
  if (rule.op() == Op::kMakeTensorDescriptor) return Make(rule);
  TILEVM_ASSIGN_OR_RETURN(const DescriptorPayload* desc, PayloadOf(rule, rule["desc"]));
  if (rule.op() == Op::kDescriptorLoad) return Load(rule, *desc, rule["offsets"]);
  return Store(rule, *desc, rule["offsets"], rule["value"]);
}

absl::StatusOr<Value> DescriptorMethod(Elaborator& elaborator, const Value& descriptor, absl::string_view name, const CallArgs& args, Loc loc) {
  const std::optional<Op> atomic = AtomicOf(name);
  const bool writes = name == "store" || name == "scatter";
  Rule rule(elaborator, atomic.value_or(writes ? Op::kDescriptorStore : Op::kDescriptorLoad), {}, loc);
  TILEVM_ASSIGN_OR_RETURN(const DescriptorPayload* desc, PayloadOf(rule, descriptor));
  if (name == "load") {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<Value> v, Arguments(rule, args, {"offsets"}));
    return Load(rule, *desc, v[0]);
  }
  if (name == "store" || atomic.has_value()) {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<Value> v, Arguments(rule, args, {"offsets", "value"}));
    return atomic.has_value() ? Atomic(rule, *desc, *atomic, v[0], v[1]) : Store(rule, *desc, v[0], v[1]);
  }
  if (name == "gather") {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<Value> v, Arguments(rule, args, {"x_offsets", "y_offset"}));
    TILEVM_ASSIGN_OR_RETURN(const PointersAndMask rows, Rows(rule, *desc, v[0], v[1]));
    return Result(LoadBlock(rule, rows, desc->pad_nan));
  }
  if (name == "scatter") {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<Value> v, Arguments(rule, args, {"value", "x_offsets", "y_offset"}));
    TILEVM_ASSIGN_OR_RETURN(const PointersAndMask rows, Rows(rule, *desc, v[1], v[2]));
    TILEVM_ASSIGN_OR_RETURN(const ValueId value, ValueFor(rule, v[0], rule.TypeOf(rows.pointers).shape, ElementType(rule, *desc)));
    EmitStore(rule, rows.pointers, value, rows.mask, {});
    return Value::None();
  }
  return InvalidAt(loc, "a tensor descriptor has no method ", name);
}

absl::StatusOr<Value> DescriptorAttr(Elaborator& elaborator, const Value& descriptor, absl::string_view name, Loc loc) {
  Rule rule(elaborator, Op::kDescriptorLoad, {}, loc);
  TILEVM_ASSIGN_OR_RETURN(const DescriptorPayload* desc, PayloadOf(rule, descriptor));
  if (name == "shape") return Value::Tuple(desc->shape);
  if (name == "strides") return Value::Tuple(desc->strides);
  if (name == "dtype") return Value::DTypeOf(ElementType(rule, *desc));
  if (name == "block_shape") {
    std::vector<Value> extents;
    for (int64_t extent : desc->block_shape) extents.push_back(Value::Int(extent));
    return Value::Tuple(std::move(extents));
  }
  return InvalidAt(loc, "a tensor descriptor has no attribute ", name);
}

}  // namespace tilevm::specializer
