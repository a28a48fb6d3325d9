// Readers of static arguments and the commonest emissions.
#include "specializer/elaborate/rule.h"

#include <utility>

#include "specializer/elaborate/promote.h"

namespace tilevm::specializer {

Value Unwrap(const Value& value) {
  if (!value.is(ValueKind::kConstexpr)) return value;
  return Unwrap(value.As<BoxPayload>()->inner);
}

std::vector<Value> Items(const Value& value) {
  std::vector<Value> items;
  if (!IsSequence(value)) return {value};
  for (const Value& item : value.items()) items.push_back(Unwrap(item));
  return items;
}

Rule::Rule(Elaborator& elaborator, Op op, absl::Span<const Value> operands, Loc loc)
    : elaborator_(elaborator), op_(op), info_(isa::Info(op)), loc_(loc) {
  operands_.reserve(operands.size());
  for (const Value& value : operands) operands_.push_back(Unwrap(value));
}

const Value& Rule::operator[](absl::string_view name) const {
  static const Value* const absent = new Value;
  for (size_t i = 0; i < info_.register_operands.size(); ++i) {
    if (info_.operands[info_.register_operands[i]].name == name) return i < operands_.size() ? operands_[i] : *absent;
  }
  return *absent;
}

absl::Span<const Value> Rule::rest() const {
  const size_t first = info_.register_operands.size() - 1;
  if (!info_.variadic || first >= operands_.size()) return {};
  return absl::MakeConstSpan(operands_).subspan(first);
}

std::string Rule::Name(const Value& value) const { return TypeName(value, &elaborator_.builder.kernel()); }

absl::StatusOr<bool> Rule::Bool(absl::string_view name, bool otherwise) const {
  const Value& value = (*this)[name];
  if (value.absent_or_none()) return otherwise;
  if (!value.is(ValueKind::kBool) && !value.is(ValueKind::kInt)) return Error("argument ", name, " is ", Name(value), ", wanted a constant bool");
  return value.int_value() != 0;
}

absl::StatusOr<int64_t> Rule::Int(absl::string_view name, std::optional<int64_t> otherwise) const {
  const Value& value = (*this)[name];
  if (value.absent_or_none() && otherwise.has_value()) return *otherwise;
  if (!value.is(ValueKind::kBool) && !value.is(ValueKind::kInt)) {
    return Error("argument ", name, " is ", Name(value), ", wanted a constant int (tl.constexpr)");
  }
  if (value.int_value() > INT64_MAX || value.int_value() < INT64_MIN) return Error("argument ", name, " is ", Repr(value), ", beyond 64 bits");
  return static_cast<int64_t>(value.int_value());
}

absl::StatusOr<std::string> Rule::String(absl::string_view name, absl::string_view otherwise) const {
  const Value& value = (*this)[name];
  if (value.absent_or_none()) return std::string(otherwise);
  if (!value.is(ValueKind::kString)) return Error("argument ", name, " is ", Name(value), ", wanted a constant string");
  return value.string();
}

absl::StatusOr<std::vector<int64_t>> Rule::Ints(absl::string_view name) const {
  const Value& value = (*this)[name];
  std::vector<int64_t> ints;
  for (const Value& item : Items(value)) {
    if ((!item.is(ValueKind::kInt) && !item.is(ValueKind::kBool)) || item.int_value() > INT64_MAX || item.int_value() < INT64_MIN) {
      return Error("argument ", name, IsSequence(value) ? " holds " : " is ", Name(item), ", wanted a constant int (tl.constexpr)");
    }
    ints.push_back(static_cast<int64_t>(item.int_value()));
  }
  return ints;
}

absl::Status Rule::CheckShape(const Shape& shape) const {
  if (shape.size() > static_cast<size_t>(isa::kMaxRank)) return Error("shape ", isa::ShapeToString(shape), " has rank ", shape.size(), ", at most ", isa::kMaxRank);
  int64_t elems = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!IsPowerOfTwo(shape[i])) {
      return Error("shape ", isa::ShapeToString(shape), ": dimension ", i, " is ", shape[i], ", wanted a power of two");
    }
    if (shape[i] > kMaxTritonElems || (elems *= shape[i]) > kMaxTritonElems) {
      return Error("shape ", isa::ShapeToString(shape), " has more than ", kMaxTritonElems, " elements");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> Rule::ShapeOf(absl::string_view name) const {
  TILEVM_ASSIGN_OR_RETURN(const std::vector<int64_t> ints, Ints(name));
  Shape shape(ints.begin(), ints.end());
  TILEVM_RETURN_IF_ERROR(CheckShape(shape));
  return shape;
}

absl::StatusOr<DType> Rule::DTypeArg(absl::string_view name) const {
  const Value& value = (*this)[name];
  if (value.is(ValueKind::kDType)) return value.dtype();
  if (value.is(ValueKind::kBlockType) && !value.As<BlockTypePayload>()->type.elem.pointer) return value.As<BlockTypePayload>()->type.elem.dtype;
  return Error("argument ", name, " is ", Name(value), ", wanted a dtype");
}

absl::StatusOr<int> Rule::Axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) return Error("axis ", axis, " of a tensor of rank ", rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<ValueId> Rule::Tensor(const Value& value, absl::string_view what) {
  if (value.is_tensor()) return value.tensor();
  if (value.is_static_number()) {
    TILEVM_ASSIGN_OR_RETURN(const DType dtype, LiteralType(*this, value));
    return ScalarConstant(*this, value, dtype);
  }
  if (value.absent()) return Error("operand ", what, " is missing");
  if (value.is(ValueKind::kUnbound)) return Error("operand ", what, ": ", value.As<UnboundPayload>()->name, " is not defined here");
  return Error("operand ", what, " is ", Name(value), ", wanted a tensor or a number");
}

absl::StatusOr<ValueId> Rule::Number(absl::string_view name) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, Tensor(name));
  if (TypeOf(id).elem.pointer) return Error("operand ", name, " is ", isa::ToString(TypeOf(id)), ", wanted a number");
  return id;
}

ValueId Rule::Emit(Op op, Type result, std::initializer_list<ValueId> operands, std::initializer_list<NamedAttr> attrs) {
  return builder().Emit(op, std::move(result), absl::MakeConstSpan(operands.begin(), operands.size()), loc_,
                        absl::MakeConstSpan(attrs.begin(), attrs.size()));
}

ValueId Rule::Zero(isa::ElemType elem, const Shape& shape) {
  if (elem.pointer) return Bitcast(builder().Splat(ConstInt(DType::kI64, 0), shape, loc_), elem);
  const ValueId zero = isa::IsFloat(elem.dtype) ? ConstFloat(elem.dtype, 0) : ConstInt(elem.dtype, 0);
  return builder().Splat(zero, shape, loc_);
}

ValueId Rule::Cast(ValueId x, DType dtype) {
  const Type type = TypeOf(x);
  if (type.elem == isa::ElemType{dtype, false}) return x;
  return Emit(Op::kCast, Type{{dtype, false}, type.shape}, {x});
}

ValueId Rule::Bitcast(ValueId x, isa::ElemType elem) {
  const Type type = TypeOf(x);
  if (type.elem == elem) return x;
  return Emit(Op::kBitcast, Type{elem, type.shape}, {x});
}

ValueId Rule::Reshape(ValueId x, Shape shape) {
  const Type type = TypeOf(x);
  if (type.shape == shape) return x;
  if (type.is_scalar()) return builder().Splat(x, shape, loc_);
  std::vector<int64_t> extents(shape.begin(), shape.end());
  return Emit(Op::kReshape, Type{type.elem, std::move(shape)}, {x}, {{"shape", std::move(extents)}});
}

ValueId Rule::ExpandDims(ValueId x, int axis) {
  Type type = TypeOf(x);
  if (type.is_scalar()) return builder().Splat(x, {1}, loc_);
  type.shape.insert(type.shape.begin() + axis, 1);
  return Emit(Op::kExpandDims, std::move(type), {x}, {{"axis", int64_t{axis}}});
}

absl::StatusOr<Value> Rule::Apply(Op op, std::vector<Value> operands) {
  return Elaborate(elaborator_, op, operands, loc_);
}

}  // namespace tilevm::specializer
