// A tensor as the evaluator sees it: attributes, methods, subscripts.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/object.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {

using specializer::ValueKind;

namespace {

Value SizeOf(const Shape& shape) {
  std::vector<Value> items;
  for (int64_t extent : shape) items.push_back(Value::Int(extent));
  return specializer::MakeNamedTuple("torch.Size", {}, std::move(items));
}

absl::StatusOr<std::vector<int64_t>> IndexList(const Tensor& t) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, Contiguous(t));
  std::vector<int64_t> out(x.numel());
  LoadElems(x.dtype, x.data(), x.numel(), out.data());
  return out;
}

// What a subscript means: a view, or (with index tensors) rows of it to gather.
struct Selection {
  Tensor view;
  // Advanced indexing: dimension `dim` of the view is replaced by the shape of the index.
  bool gather = false;
  int dim = 0;
  Shape index_shape;
  std::vector<int64_t> index;
};

absl::StatusOr<std::optional<int64_t>> SliceBound(const Value& v, Loc loc) {
  if (v.absent_or_none()) return std::optional<int64_t>();
  if (v.is(ValueKind::kInt) || v.is(ValueKind::kBool)) return std::optional<int64_t>(static_cast<int64_t>(v.int_value()));
  if (HostTensor* t = AsTensor(v); t != nullptr && t->tensor.numel() == 1 && !isa::IsFloat(t->tensor.dtype)) {
    return std::optional<int64_t>(static_cast<int64_t>(ElementAt(t->tensor, 0).int_value()));
  }
  return InvalidAt(loc, "TypeError: slice indices must be integers, not ", specializer::TypeName(v, nullptr));
}

// An index of another shape that it is broadcast to.
absl::StatusOr<std::vector<int64_t>> Spread(const std::vector<int64_t>& index, const Shape& shape, const Shape& wide) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(DType::kI64, shape, Fill::kZero));
  StoreElems(DType::kI64, t.data(), t.numel(), index.data());
  TILEVM_ASSIGN_OR_RETURN(t, ExpandTo(t, wide));
  return IndexList(t);
}

// One more index tensor, for dimension d of the view: both dimensions become one, whose index counts elements of the storage. It stands where the first
// one stood, or in front of all where something else lies between them.
absl::Status Combine(Selection& s, int d, const std::vector<int64_t>& index, const Shape& shape, Loc loc) {
  absl::StatusOr<Shape> wide = BroadcastShapes(s.index_shape, shape);
  if (!wide.ok()) {
    return InvalidAt(loc, "IndexError: shape mismatch: indexing tensors of shapes ", isa::ShapeToString(s.index_shape), " and ", isa::ShapeToString(shape),
                     " cannot be broadcast together");
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<int64_t> places, Spread(s.index, s.index_shape, *wide));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<int64_t> more, Spread(index, shape, *wide));
  Tensor& t = s.view;
  for (size_t i = 0; i < places.size(); ++i) places[i] = places[i] * t.strides[s.dim] + more[i] * t.strides[d];
  t.strides[s.dim] = 1;
  t.shape.erase(t.shape.begin() + d);
  t.strides.erase(t.strides.begin() + d);
  if (d != s.dim + 1) {
    std::rotate(t.shape.begin(), t.shape.begin() + s.dim, t.shape.begin() + s.dim + 1);
    std::rotate(t.strides.begin(), t.strides.begin() + s.dim, t.strides.begin() + s.dim + 1);
    s.dim = 0;
  }
  s.index = std::move(places);
  s.index_shape = *std::move(wide);
  return absl::OkStatus();
}

absl::StatusOr<Selection> Select(const Tensor& tensor, const Value& subscript, Loc loc) {
  Selection s;
  s.view = tensor;
  const std::vector<Value> items = subscript.is(ValueKind::kTuple) ? subscript.items().ToVector() : std::vector<Value>{subscript};
  const auto takes = [](const Value& v) -> int {  // dimensions that an item takes
    if (v.is(ValueKind::kNone) || v.is(ValueKind::kEllipsis)) return 0;
    if (HostTensor* t = AsTensor(v); t != nullptr && t->tensor.dtype == DType::kI1) return t->tensor.rank();
    return 1;
  };
  int taken = 0;
  for (const Value& v : items) taken += takes(v);
  if (taken > tensor.rank()) return InvalidAt(loc, "IndexError: too many indices for tensor of dimension ", tensor.rank());
  int d = 0;  // dimension of the view
  for (const Value& v : items) {
    Tensor& t = s.view;
    if (v.is(ValueKind::kNone)) {
      t.shape.insert(t.shape.begin() + d, 1);
      t.strides.insert(t.strides.begin() + d, 1);
      ++d;
    } else if (v.is(ValueKind::kEllipsis)) {
      d += tensor.rank() - taken;
    } else if (v.is(ValueKind::kSlice)) {
      const auto* slice = v.As<specializer::SlicePayload>();
      TILEVM_ASSIGN_OR_RETURN(std::optional<int64_t> start, SliceBound(slice->start, loc));
      TILEVM_ASSIGN_OR_RETURN(std::optional<int64_t> stop, SliceBound(slice->stop, loc));
      TILEVM_ASSIGN_OR_RETURN(std::optional<int64_t> step, SliceBound(slice->step, loc));
      const int64_t n = t.shape[d], by = step.value_or(1);
      if (by <= 0) return InvalidAt(loc, "ValueError: step must be greater than zero");
      const auto clip = [n](int64_t x) { return std::clamp<int64_t>(x < 0 ? x + n : x, 0, n); };
      const int64_t from = clip(start.value_or(0)), to = clip(stop.value_or(n));
      t.offset += from * t.strides[d];
      t.shape[d] = to > from ? (to - from + by - 1) / by : 0;
      t.strides[d] *= by;
      ++d;
    } else if (HostTensor* index = AsTensor(v); index != nullptr || v.is(ValueKind::kList)) {
      std::vector<int64_t> places;
      Shape places_shape;
      if (index == nullptr) {
        for (const Value& item : v.items()) {
          if (!item.is(ValueKind::kInt)) return InvalidAt(loc, "IndexError: a list of ints is wanted");
          places.push_back(static_cast<int64_t>(item.int_value()));
        }
        places_shape = {static_cast<int64_t>(places.size())};
      } else if (index->tensor.dtype == DType::kI1) {
        const Tensor& mask = index->tensor;
        Shape covered(t.shape.begin() + d, t.shape.begin() + d + mask.rank());
        if (covered != mask.shape) {
          return InvalidAt(loc, "IndexError: the mask's shape ", isa::ShapeToString(mask.shape), " differs from the tensor's ", isa::ShapeToString(covered));
        }
        TILEVM_ASSIGN_OR_RETURN(std::vector<int64_t> flags, IndexList(mask));
        for (size_t i = 0; i < flags.size(); ++i) {
          if (flags[i] != 0) places.push_back(static_cast<int64_t>(i));
        }
        places_shape = {static_cast<int64_t>(places.size())};
        if (mask.rank() != 1) {  // the covered dimensions as one
          Shape merged(t.shape.begin(), t.shape.begin() + d);
          merged.push_back(mask.numel());
          merged.insert(merged.end(), t.shape.begin() + d + mask.rank(), t.shape.end());
          absl::StatusOr<Tensor> flat = Reshaped(t, merged, true);
          if (!flat.ok()) return UnimplementedAt(loc, "a mask over dimensions that are not contiguous is not supported");
          t = *std::move(flat);
        }
      } else {
        if (isa::IsFloat(index->tensor.dtype)) return InvalidAt(loc, "IndexError: tensors used as indices must be integers or bools");
        TILEVM_ASSIGN_OR_RETURN(places, IndexList(index->tensor));
        places_shape = index->tensor.shape;
      }
      const int64_t n = t.shape[d];
      for (int64_t& i : places) {
        if (i < -n || i >= n) return InvalidAt(loc, "IndexError: index ", i, " is out of bounds for dimension ", d, " with size ", n);
        if (i < 0) i += n;
      }
      if (s.gather) {
        TILEVM_RETURN_IF_ERROR(Combine(s, d, places, places_shape, loc));
        continue;
      }
      s.gather = true;
      s.dim = d;
      s.index = std::move(places);
      s.index_shape = std::move(places_shape);
      ++d;
    } else if (v.is(ValueKind::kInt) || v.is(ValueKind::kBool)) {
      const int64_t n = t.shape[d];
      int64_t i = static_cast<int64_t>(v.int_value());
      if (i < -n || i >= n) return InvalidAt(loc, "IndexError: index ", i, " is out of bounds for dimension ", d, " with size ", n);
      if (i < 0) i += n;
      t.offset += i * t.strides[d];
      t.shape.erase(t.shape.begin() + d);
      t.strides.erase(t.strides.begin() + d);
      if (s.gather && s.dim > d) --s.dim;
    } else {
      return InvalidAt(loc, "TypeError: a tensor cannot be indexed with ", specializer::TypeName(v, nullptr));
    }
  }
  return s;
}

// The view of one index along the gathered dimension.
Tensor Pick(const Selection& s, int64_t i) {
  Tensor t = s.view;
  t.offset += i * t.strides[s.dim];
  t.shape.erase(t.shape.begin() + s.dim);
  t.strides.erase(t.strides.begin() + s.dim);
  return t;
}

}  // namespace

void LabelCpu(const Value& value) {
  if (HostTensor* t = AsTensor(value)) t->tensor.cpu_label = true;
  if (value.is(ValueKind::kTuple) || value.is(ValueKind::kList)) {
    for (const Value& item : value.items()) LabelCpu(item);
  }
}

Value HostTensor::self_value() { return Value::Shared(ValueKind::kObject, shared_from_this()); }

absl::StatusOr<Value> HostTensor::GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) {
  if (name == "shape") return SizeOf(tensor.shape);
  if (name == "dtype") return Value::TorchDType(tensor.dtype);
  if (name == "device") return tensor.cpu_label ? MakeDevice("cpu", -1) : MakeDevice("cuda", 0);
  if (name == "is_cuda") return Value::Bool(!tensor.cpu_label);
  if (name == "is_cpu") return Value::Bool(tensor.cpu_label);
  if (name == "ndim") return Value::Int(tensor.rank());
  if (name == "requires_grad") return Value::Bool(requires_grad);
  if (name == "is_nn_parameter") return Value::Bool(is_parameter);  // asked by torch.nn.Module (specializer/partial_eval/nn_module.cc)
  if (name == "grad") return grad;
  if (name == "is_leaf") return Value::Bool(true);
  if (name == "data") return MakeTensorValue(tensor);
  if (name == "itemsize") return Value::Int(tensor.item_bytes());
  if (name == "nbytes") return Value::Int(tensor.numel() * tensor.item_bytes());
  if (name == "layout") return Value::String("strided");
  if (name == "T" || name == "mT" || name == "H") {
    Tensor t = tensor;
    if (name == "T") {
      std::reverse(t.shape.begin(), t.shape.end());
      std::reverse(t.strides.begin(), t.strides.end());
    } else if (t.rank() >= 2) {
      t = Transposed(t, t.rank() - 2, t.rank() - 1);
    }
    return MakeTensorValue(t);
  }
  if (FindTensorMethod(name) != nullptr) {
    auto method = std::make_shared<specializer::BoundMethodPayload>();
    method->object = self_value();
    method->name = std::string(name);
    return Value::Shared(ValueKind::kBoundMethod, std::move(method));
  }
  return HostObject::GetAttr(evaluator, name, loc);
}

absl::Status HostTensor::SetAttr(Evaluator& evaluator, absl::string_view name, const Value& value, Loc loc) {
  if (name == "grad") {
    grad = value;
    return absl::OkStatus();
  }
  if (name == "requires_grad" && value.is(ValueKind::kBool)) {
    requires_grad = value.bool_value();
    return absl::OkStatus();
  }
  if (name == "data") {
    if (HostTensor* t = AsTensor(value)) {
      tensor = t->tensor;
      return absl::OkStatus();
    }
  }
  return HostObject::SetAttr(evaluator, name, value, loc);
}

absl::StatusOr<Value> HostTensor::CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) {
  const HostOp* op = FindTensorMethod(name);
  if (op == nullptr) {
    if (name == "__len__") {
      TILEVM_ASSIGN_OR_RETURN(int64_t n, Length(evaluator, loc));
      return Value::Int(n);
    }
    if (name == "__contains__" && args.positional.size() == 1) {
      TILEVM_ASSIGN_OR_RETURN(const Value equal, Binary(evaluator, isa::Op::kEq, args.positional[0], false, loc));
      if (AsTensor(equal) == nullptr) return equal;
      return CallHostOp(evaluator, *FindTensorMethod("any"), "Tensor.any", equal, {}, loc);
    }
    if (!IsTensorAttribute(name)) return InvalidAt(loc, "AttributeError: 'Tensor' object has no attribute '", name, "'");
    return UnimplementedAt(loc, "method '", name, "' of torch.Tensor is not supported");
  }
  return CallHostOp(evaluator, *op, absl::StrCat("Tensor.", name), self_value(), args, loc);
}

absl::StatusOr<Value> HostTensor::Binary(Evaluator& evaluator, isa::Op op, const Value& other, bool reflected, Loc loc) {
  absl::StatusOr<Value> result = reflected ? BinaryOperator(evaluator, op, other, self_value(), loc) : BinaryOperator(evaluator, op, self_value(), other, loc);
  const HostTensor* partner = AsTensor(other);
  if (result.ok() && (tensor.cpu_label || (partner != nullptr && partner->tensor.cpu_label))) LabelCpu(*result);
  return result;
}

// The tensor keeps its memory, shape and dtype: the result is computed in the promoted dtype and stored.
absl::StatusOr<Value> HostTensor::InPlace(Evaluator& evaluator, isa::Op op, const Value& other, Loc loc) {
  if (op == isa::Op::kMatMul) return Binary(evaluator, op, other, false, loc);  // torch has no in-place product
  TILEVM_ASSIGN_OR_RETURN(Value result, BinaryOperator(evaluator, op, self_value(), other, loc));
  TILEVM_RETURN_IF_ERROR(StoreResult(tensor, AsTensor(result)->tensor, loc));
  return self_value();
}

absl::StatusOr<Value> HostTensor::Index(Evaluator&, const Value& subscript, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(Selection s, Select(tensor, subscript, loc));
  if (!s.gather) return MakeTensorValue(s.view);
  Shape shape(s.view.shape.begin(), s.view.shape.begin() + s.dim);
  const size_t lead = shape.size();
  shape.push_back(static_cast<int64_t>(s.index.size()));
  shape.insert(shape.end(), s.view.shape.begin() + s.dim + 1, s.view.shape.end());
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(tensor.dtype, shape, Fill::kZero));
  Selection target = s;
  target.view = out;
  for (size_t i = 0; i < s.index.size(); ++i) TILEVM_RETURN_IF_ERROR(CopyInto(Pick(target, static_cast<int64_t>(i)), Pick(s, s.index[i])));
  Shape final_shape(shape.begin(), shape.begin() + lead);
  final_shape.insert(final_shape.end(), s.index_shape.begin(), s.index_shape.end());
  final_shape.insert(final_shape.end(), shape.begin() + lead + 1, shape.end());
  TILEVM_ASSIGN_OR_RETURN(out, Reshaped(out, final_shape, true));
  out.cpu_label = tensor.cpu_label;
  return MakeTensorValue(out);
}

absl::Status HostTensor::SetItem(Evaluator&, const Value& subscript, const Value& value, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(Selection s, Select(tensor, subscript, loc));
  const auto located = [&](absl::Status status) { return WithLoc(std::move(status), loc); };
  if (!s.gather) return located(FillWith(s.view, value));
  HostTensor* source = AsTensor(value);
  Tensor rows;
  if (source != nullptr) {
    Shape shape(s.view.shape.begin(), s.view.shape.begin() + s.dim), flat = shape;
    shape.insert(shape.end(), s.index_shape.begin(), s.index_shape.end());
    flat.push_back(static_cast<int64_t>(s.index.size()));
    shape.insert(shape.end(), s.view.shape.begin() + s.dim + 1, s.view.shape.end());
    flat.insert(flat.end(), s.view.shape.begin() + s.dim + 1, s.view.shape.end());
    absl::StatusOr<Tensor> expanded = ExpandTo(source->tensor, shape);
    if (expanded.ok()) expanded = Reshaped(*expanded, flat, false);
    if (!expanded.ok()) return located(expanded.status());
    rows = *std::move(expanded);
  }
  Selection from = s;
  from.view = rows;
  for (size_t i = 0; i < s.index.size(); ++i) {
    const absl::Status status =
        rows.storage == nullptr ? FillWith(Pick(s, s.index[i]), value) : CopyInto(Pick(s, s.index[i]), Pick(from, static_cast<int64_t>(i)));
    if (!status.ok()) return located(status);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> HostTensor::Truth(Evaluator&, Loc loc) {
  if (tensor.numel() != 1)
    return InvalidAt(loc, "RuntimeError: Boolean value of Tensor with ", tensor.numel() == 0 ? "no values" : "more than one value", " is ambiguous");
  const Value v = ElementAt(tensor, 0);
  return v.is(ValueKind::kFloat) ? v.float_value() != 0 : v.int_value() != 0;
}

absl::StatusOr<int64_t> HostTensor::Length(Evaluator&, Loc loc) {
  if (tensor.rank() == 0) return InvalidAt(loc, "TypeError: len() of a 0-d tensor");
  return tensor.shape[0];
}

std::optional<absl::int128> HostTensor::AsInteger() const {
  if (tensor.numel() != 1 || isa::IsFloat(tensor.dtype)) return std::nullopt;
  return ElementAt(tensor, 0).int_value();
}

std::string HostTensor::Repr() const { return FormatTensor(tensor); }

}  // namespace tilevm::vm::host
