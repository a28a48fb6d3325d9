// What Triton's dtypes, pointer types and block types answer: x.dtype.is_floating(), .primitive_bitwidth, .element_ty, ...
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/python_format.h"

namespace tilevm::specializer {

using isa::DType;

namespace {

Value ElementOf(isa::ElemType elem) { return elem.pointer ? Value::PointerTypeOf(elem.dtype) : Value::DTypeOf(elem.dtype); }

// Mantissa bits (without the hidden one) and exponent bias of float types.
struct FloatFormat {
  int mantissa, bias;
};
std::optional<FloatFormat> FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16: return FloatFormat{10, 15};
    case DType::kBF16: return FloatFormat{7, 127};
    case DType::kF32: return FloatFormat{23, 127};
    case DType::kF64: return FloatFormat{52, 1023};
    case DType::kF8E4M3: return FloatFormat{3, 7};
    case DType::kF8E5M2: return FloatFormat{2, 15};
    default: return std::nullopt;
  }
}

// The predicate is_<name>() of a number type; nullopt if there is no such predicate.
std::optional<bool> Predicate(DType dtype, absl::string_view name) {
  if (name == "floating") return isa::IsFloat(dtype);
  if (name == "standard_floating") return isa::IsFloat(dtype) && !isa::IsFp8(dtype);
  if (name == "fp8") return isa::IsFp8(dtype);
  if (name == "int") return isa::IsInteger(dtype);
  if (name == "int_signed") return isa::IsSigned(dtype);
  if (name == "int_unsigned") return isa::IsUnsigned(dtype);
  if (name == "bool") return dtype == DType::kI1;
  if (name == "ptr" || name == "block" || name == "void" || name == "const" || name == "tuple") return false;
  if (name == "dtype") return true;
  for (DType other : isa::kAllDTypes) {
    if (name == TritonTypeName(other)) return other == dtype;  // is_fp32, is_bf16, is_uint8
  }
  if (name == "fp8e4b8" || name == "fp8e4b15" || name == "fp8e5b16") return false;
  return std::nullopt;
}

}  // namespace

bool IsTypeMethod(absl::string_view name) {
  if (absl::ConsumePrefix(&name, "is_")) return Predicate(DType::kI32, name).has_value();
  return name == "get_block_shapes" || name == "with_element_ty";
}

absl::StatusOr<Value> TypeAttribute(const Value& type, absl::string_view name, Loc loc) {
  if (type.is(ValueKind::kBlockType)) {
    const isa::Type& block = type.As<BlockTypePayload>()->type;
    if (name == "element_ty" || name == "scalar" || name == "dtype") return ElementOf(block.elem);
    if (name == "shape") {
      std::vector<Value> extents;
      for (int64_t extent : block.shape) extents.push_back(Value::Int(extent));
      return Value::Tuple(std::move(extents));
    }
    if (name == "numel") return Value::Int(block.elem_count());
    if (name == "name") return Value::String(Repr(type));
    if (name == "nbytes") return Value::Int(block.elem_count() * isa::StorageBytes(block.elem));
    if (name == "primitive_bitwidth") return TypeAttribute(ElementOf(block.elem), name, loc);
    return InvalidAt(loc, "AttributeError: 'block_type' object has no attribute '", name, "'");
  }
  const bool pointer = type.is(ValueKind::kPointerType);
  if (name == "scalar") return type;
  if (name == "name") return Value::String(pointer ? absl::StrCat("pointer<", TritonTypeName(type.dtype()), ">") : TritonTypeName(type.dtype()));
  if (name == "primitive_bitwidth" || name == "int_bitwidth") return Value::Int(pointer ? 64 : isa::BitWidth(type.dtype()));
  if (name == "itemsize") return Value::Int(pointer ? 8 : isa::StorageBytes(type.dtype()));
  if (name == "shape") return Value::Tuple({});
  if (name == "numel") return Value::Int(1);
  if (pointer) {
    if (name == "element_ty") return Value::DTypeOf(type.dtype());
    if (name == "address_space") return Value::Int(1);
    return InvalidAt(loc, "AttributeError: 'pointer_type' object has no attribute '", name, "'");
  }
  if (const std::optional<FloatFormat> format = FormatOf(type.dtype())) {
    if (name == "fp_mantissa_width") return Value::Int(format->mantissa);
    if (name == "exponent_bias") return Value::Int(format->bias);
  }
  if (name == "is_floating_point") return Value::Bool(isa::IsFloat(type.dtype()));  // torch.dtype
  if (name == "is_signed") return Value::Bool(!isa::IsUnsigned(type.dtype()));
  return InvalidAt(loc, "AttributeError: '", TritonTypeName(type.dtype()), "' (a dtype) has no attribute '", name, "'",
                   name == "element_ty" ? "; only pointer and block types have one" : "");
}

absl::StatusOr<Value> CallTypeMethod(const Value& type, absl::string_view name, const CallArgs& args, Loc loc) {
  absl::string_view predicate = name;
  if (absl::ConsumePrefix(&predicate, "is_")) {
    TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, 0, 0, loc));
    const std::optional<bool> answer = Predicate(type.is(ValueKind::kDType) ? type.dtype() : DType::kI32, predicate);
    if (!answer.has_value()) return InvalidAt(loc, "AttributeError: a dtype has no method '", name, "'");
    if (type.is(ValueKind::kPointerType)) return Value::Bool(predicate == "ptr");
    if (type.is(ValueKind::kBlockType)) return Value::Bool(predicate == "block");
    return Value::Bool(*answer);
  }
  if (type.is(ValueKind::kBlockType)) {
    if (name == "get_block_shapes") return TypeAttribute(type, "shape", loc);
    if (name == "with_element_ty" && args.positional.size() == 1 &&
        (args.positional[0].is(ValueKind::kDType) || args.positional[0].is(ValueKind::kPointerType))) {
      auto payload = std::make_shared<BlockTypePayload>(*type.As<BlockTypePayload>());
      payload->type.elem = {args.positional[0].dtype(), args.positional[0].is(ValueKind::kPointerType)};
      return Value::Shared(ValueKind::kBlockType, std::move(payload));
    }
  }
  return InvalidAt(loc, "AttributeError: a ", TypeName(type, nullptr), " has no method '", name, "'");
}

}  // namespace tilevm::specializer
