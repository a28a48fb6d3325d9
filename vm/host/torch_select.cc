// Elements picked and placed by index: gather, scatter, index_select and their kin; and the joins and views that go with them.
#include <algorithm>
#include <cstdlib>
#include <functional>

#include "absl/strings/str_cat.h"
#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

constexpr int kNew = 100;  // tag of a form that leaves its input alone

Value SliceOf(int64_t start, int64_t stop) {
  auto slice = std::make_shared<specializer::SlicePayload>();
  slice->start = Value::Int(start);
  slice->stop = Value::Int(stop);
  slice->step = Value::None();
  return Value::Shared(ValueKind::kSlice, std::move(slice));
}
Value Everything() {
  auto slice = std::make_shared<specializer::SlicePayload>();
  slice->start = slice->stop = slice->step = Value::None();
  return Value::Shared(ValueKind::kSlice, std::move(slice));
}

// x[:, :, item] with `item` at dimension dim.
absl::StatusOr<Value> At(HostCall& call, const Value& x, int dim, const Value& item) {
  std::vector<Value> items(static_cast<size_t>(dim), Everything());
  items.push_back(item);
  return AsTensor(x)->Index(call.evaluator, Value::Tuple(std::move(items)), call.loc);
}

// visit(place in `target`, place in `index` order) for each element of an index whose values count along dimension dim of the target.
absl::Status ForEachIndex(HostCall& call, const Tensor& target, int dim, const Tensor& index, const std::function<void(int64_t place, int64_t i)>& visit) {
  if (isa::IsFloat(index.dtype) || index.dtype == DType::kI1) return call.Error("the index has to be a tensor of integers, not ", TorchName(index.dtype));
  if (index.rank() != target.rank()) return call.Error("the index has ", index.rank(), " dimensions, the tensor ", target.rank());
  for (int d = 0; d < index.rank(); ++d) {
    if (d != dim && index.shape[d] > target.shape[d]) {
      return call.Error("the index's shape ", isa::ShapeToString(index.shape), " is larger than ", isa::ShapeToString(target.shape), " in dimension ", d);
    }
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor flat, Contiguous(index));
  std::vector<int64_t> values(static_cast<size_t>(flat.numel()));
  LoadElems(flat.dtype, flat.data(), flat.numel(), values.data());
  const int64_t most = target.rank() == 0 ? 1 : target.shape[dim];
  Shape at(index.shape.size(), 0);
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const int64_t value = values[static_cast<size_t>(i)];
    if (value < 0 || value >= most) return call.Error("index ", value, " is out of bounds for dimension ", dim, " with size ", most);
    int64_t place = target.offset;
    for (int d = 0; d < index.rank(); ++d) place += (d == dim ? value : at[d]) * target.strides[d];
    visit(place, i);
    for (int d = index.rank(); d-- > 0;) {
      if (++at[d] < index.shape[d]) break;
      at[d] = 0;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Gather(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  const size_t index_at = call.tag == 0 ? 2 : 1, dim_at = call.tag == 0 ? 1 : 2;  // take_along_dim(input, indices, dim)
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(dim_at, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(Tensor index, call.TensorArg(index_at));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(t.dtype, index.shape, Fill::kZero));
  const std::byte* from = t.storage->data();
  std::byte* to = out.data();
  const int64_t item = t.item_bytes();
  TILEVM_RETURN_IF_ERROR(ForEachIndex(call, t, dim, index, [&](int64_t place, int64_t i) { std::copy_n(from + place * item, item, to + i * item); }));
  return MakeTensorValue(out);
}

enum ScatterKind { kPut, kAdd };
// scatter(dim, index, src or value), scatter_add(dim, index, src)
absl::StatusOr<Value> Scatter(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (call.args.size() > 4 && call.given_not_none(4)) return UnimplementedAt(call.loc, call.name, ": reduce is not supported; scatter_add is");
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(Tensor index, call.TensorArg(2));
  if (call.tag >= kNew) {
    TILEVM_ASSIGN_OR_RETURN(t, Clone(t));
  }
  Tensor source;
  if (AsTensor(call.args[3]) != nullptr) {
    TILEVM_ASSIGN_OR_RETURN(source, call.TensorArg(3));
    if (source.rank() != index.rank()) return call.Error("src has ", source.rank(), " dimensions, the index ", index.rank());
    for (int d = 0; d < index.rank(); ++d) {
      if (source.shape[d] < index.shape[d]) return call.Error("src is smaller than the index in dimension ", d);
      source.shape[d] = index.shape[d];
    }
    TILEVM_ASSIGN_OR_RETURN(source, CastTo(source, t.dtype));
  } else {
    TILEVM_ASSIGN_OR_RETURN(source, Tensor::Make(t.dtype, index.shape, Fill::kZero));
    TILEVM_RETURN_IF_ERROR(FillWith(source, call.args[3]));
  }
  TILEVM_ASSIGN_OR_RETURN(source, Contiguous(source));
  const int64_t item = t.item_bytes();
  std::byte* to = t.storage->data();
  const std::byte* from = source.data();
  TILEVM_RETURN_IF_ERROR(ForEachIndex(call, t, dim, index, [&](int64_t place, int64_t i) {
    std::byte* target = to + place * item;
    if (call.tag % kNew == kPut) {
      std::copy_n(from + i * item, item, target);
    } else if (isa::IsFloat(t.dtype)) {
      double a = 0, b = 0;
      LoadElems(t.dtype, target, 1, &a);
      LoadElems(t.dtype, from + i * item, 1, &b);
      a += b;
      StoreElems(t.dtype, target, 1, &a);
    } else {
      int64_t a = 0, b = 0;
      LoadElems(t.dtype, target, 1, &a);
      LoadElems(t.dtype, from + i * item, 1, &b);
      a = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      StoreElems(t.dtype, target, 1, &a);
    }
  }));
  return call.tag >= kNew ? MakeTensorValue(t) : call.args[0];
}

absl::StatusOr<Value> IndexSelect(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(Tensor index, call.TensorArg(2));
  if (index.rank() > 1) return call.Error("the index has to have one dimension");
  TILEVM_ASSIGN_OR_RETURN(index, Reshaped(index, {index.numel()}, false));
  return At(call, call.args[0], dim, MakeTensorValue(index));
}

// index_add_(dim, index, source, alpha=1), index_copy_(dim, index, source), index_fill_(dim, index, value)
absl::StatusOr<Value> IndexChange(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(Tensor index, call.TensorArg(2));
  Value x = call.args[0];
  if (call.tag >= kNew) {
    TILEVM_ASSIGN_OR_RETURN(t, Clone(t));
    x = MakeTensorValue(t);
  }
  TILEVM_ASSIGN_OR_RETURN(index, Reshaped(index, {index.numel()}, false));
  for (int64_t i = 0; i < index.numel(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(Value row, At(call, x, dim, ElementAt(index, i)));
    Value given = call.args[3];
    if (AsTensor(given) != nullptr && AsTensor(given)->tensor.rank() == t.rank()) {
      TILEVM_ASSIGN_OR_RETURN(given, At(call, given, dim, Value::Int(i)));
    }
    if (call.tag % kNew == kAdd) {
      if (call.given_not_none(4)) {
        TILEVM_ASSIGN_OR_RETURN(given, BinaryOperator(call.evaluator, isa::Op::kMul, given, call.args[4], call.loc));
      }
      TILEVM_ASSIGN_OR_RETURN(given, BinaryOperator(call.evaluator, isa::Op::kAdd, row, given, call.loc));
    }
    const Tensor target = AsTensor(row)->tensor;
    TILEVM_RETURN_IF_ERROR(AsTensor(given) != nullptr ? CopyInto(target, AsTensor(given)->tensor) : FillWith(target, given));
  }
  return x;
}

absl::StatusOr<Value> MaskedSelect(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor mask, call.TensorArg(1));
  if (mask.dtype != DType::kI1) return call.Error("the mask has to be a tensor of bools, not ", TorchName(mask.dtype));
  TILEVM_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(t.shape, mask.shape));
  TILEVM_ASSIGN_OR_RETURN(t, ExpandTo(t, shape));
  TILEVM_ASSIGN_OR_RETURN(t, Contiguous(t));
  TILEVM_ASSIGN_OR_RETURN(mask, ExpandTo(mask, shape));
  return AsTensor(MakeTensorValue(t))->Index(call.evaluator, MakeTensorValue(mask), call.loc);
}

// nonzero(input): [count, rank], or with as_tuple one tensor for each dimension.
absl::StatusOr<Value> Nonzero(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(bool as_tuple, call.BoolArg(1, false));
  TILEVM_ASSIGN_OR_RETURN(Tensor flags, CastTo(t, DType::kI1));
  TILEVM_ASSIGN_OR_RETURN(flags, Contiguous(flags));
  std::vector<int64_t> places;
  int64_t count = 0;
  for (int64_t i = 0; i < flags.numel(); ++i) {
    if (flags.data()[i] == std::byte{0}) continue;
    ++count;
    const size_t row = places.size();
    places.resize(row + static_cast<size_t>(t.rank()));
    int64_t rest = i;
    for (int d = t.rank(); d-- > 0; rest /= t.shape[d]) places[row + static_cast<size_t>(d)] = rest % t.shape[d];
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kI64, {count, t.rank()}, Fill::kZero));
  StoreElems(DType::kI64, out.data(), out.numel(), places.data());
  if (!as_tuple) return MakeTensorValue(out);
  std::vector<Value> parts;
  for (int d = 0; d < t.rank(); ++d) {
    TILEVM_ASSIGN_OR_RETURN(Value part, At(call, MakeTensorValue(out), 1, Value::Int(d)));
    parts.push_back(std::move(part));
  }
  return Value::Tuple(std::move(parts));
}

absl::StatusOr<Value> SelectOne(HostCall& call) {  // select (0), unbind (1)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank(), 0));
  if (t.rank() == 0) return call.Error("a tensor without dimensions");
  if (call.tag == 0) return At(call, call.args[0], dim, call.args[2]);
  std::vector<Value> parts;
  for (int64_t i = 0; i < t.shape[dim]; ++i) {
    TILEVM_ASSIGN_OR_RETURN(Value part, At(call, call.args[0], dim, Value::Int(i)));
    parts.push_back(std::move(part));
  }
  return Value::Tuple(std::move(parts));
}

// Row i of the result is row source(i) along a dimension.
template <typename Source>
absl::StatusOr<Value> Rows(HostCall& call, const Value& x, int dim, int64_t count, Source source) {
  TILEVM_ASSIGN_OR_RETURN(Tensor index, Tensor::Make(DType::kI64, {count}, Fill::kZero));
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = source(i);
  StoreElems(DType::kI64, index.data(), count, rows.data());
  return At(call, x, dim, MakeTensorValue(index));
}

absl::StatusOr<Value> Roll(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape shifts, call.ShapeArg(1));
  Value x = call.args[0];
  if (!call.given_not_none(2)) {
    if (shifts.size() != 1) return call.Error("one shift for a tensor without dims");
    TILEVM_ASSIGN_OR_RETURN(Tensor flat, Reshaped(t, {t.numel()}, false));
    const int64_t n = std::max<int64_t>(t.numel(), 1);
    TILEVM_ASSIGN_OR_RETURN(x, Rows(call, MakeTensorValue(flat), 0, t.numel(), [&](int64_t i) { return ((i - shifts[0]) % n + n) % n; }));
    TILEVM_ASSIGN_OR_RETURN(Tensor out, Reshaped(AsTensor(x)->tensor, t.shape, false));
    return MakeTensorValue(out);
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(2, t.rank()));
  if (dims.size() != shifts.size()) return call.Error("shifts and dims must have one length");
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t n = std::max<int64_t>(t.shape[dims[k]], 1), by = shifts[k];
    TILEVM_ASSIGN_OR_RETURN(x, Rows(call, x, dims[k], t.shape[dims[k]], [&](int64_t i) { return ((i - by) % n + n) % n; }));
  }
  return x;
}

absl::StatusOr<Value> RepeatInterleave(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (AsTensor(call.args[1]) != nullptr) return UnimplementedAt(call.loc, call.name, ": a tensor of counts is not supported");
  TILEVM_ASSIGN_OR_RETURN(int64_t times, call.IntArg(1));
  if (times < 0) return call.Error("repeats must not be negative");
  Value x = call.args[0];
  int dim = 0;
  if (call.given_not_none(2)) {
    TILEVM_ASSIGN_OR_RETURN(dim, call.DimArg(2, t.rank()));
  } else {
    TILEVM_ASSIGN_OR_RETURN(t, Reshaped(t, {t.numel()}, false));
    x = MakeTensorValue(t);
  }
  return Rows(call, x, dim, t.shape[dim] * times, [&](int64_t i) { return i / times; });
}

absl::StatusOr<Value> Diagonal(HostCall& call) {  // diagonal (0), diag (1), trace (2)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int64_t by, call.tag == 2 ? absl::StatusOr<int64_t>(0) : call.IntArg(1, 0));
  if (call.tag == 1 && t.rank() == 1) {
    const int64_t n = t.shape[0] + std::abs(by);
    TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(t.dtype, {n, n}, Fill::kZero));
    Tensor line = out;
    line.offset += by >= 0 ? by : -by * n;
    line.shape = t.shape;
    line.strides = {n + 1};
    TILEVM_RETURN_IF_ERROR(CopyInto(line, t));
    return MakeTensorValue(out);
  }
  if (t.rank() < 2 || (call.tag != 0 && t.rank() != 2)) return call.Error("a tensor of 2 dimensions is wanted");
  if (call.tag == 0 && (call.given_not_none(2) || call.given_not_none(3))) {
    TILEVM_ASSIGN_OR_RETURN(int d1, call.DimArg(2, t.rank(), 0));
    TILEVM_ASSIGN_OR_RETURN(int d2, call.DimArg(3, t.rank(), 1));
    if (d1 != t.rank() - 2 || d2 != t.rank() - 1) return UnimplementedAt(call.loc, call.name, ": of the last two dimensions only");
  } else if (call.tag == 0 && t.rank() != 2) {
    return UnimplementedAt(call.loc, call.name, ": of the last two dimensions only (dim1=-2, dim2=-1)");
  }
  const int rows = t.rank() - 2, cols = t.rank() - 1;
  t.offset += by >= 0 ? by * t.strides[cols] : -by * t.strides[rows];
  const int64_t length = std::max<int64_t>(0, std::min(t.shape[rows] - std::max<int64_t>(-by, 0), t.shape[cols] - std::max<int64_t>(by, 0)));
  t.strides[rows] += t.strides[cols];
  t.shape[rows] = length;
  t.shape.pop_back();
  t.strides.pop_back();
  if (call.tag == 0) return MakeTensorValue(t);
  if (call.tag == 2) return AsTensor(MakeTensorValue(t))->CallMethod(call.evaluator, "sum", {}, call.loc);
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Clone(t));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> TypeAs(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor like, call.TensorArg(1));
  if (t.dtype == like.dtype) return call.args[0];
  TILEVM_ASSIGN_OR_RETURN(Tensor out, CastTo(t, like.dtype));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> StackBy(HostCall& call) {  // vstack (0), hstack (1)
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> parts, call.evaluator.Iterate(call.args[0], call.loc));
  int rank = 2;
  for (Value& part : parts) {
    if (AsTensor(part) == nullptr) return call.Error("tensors are wanted, not ", specializer::TypeName(part, nullptr));
    const Tensor t = AsTensor(part)->tensor;
    rank = std::min(rank, t.rank());
    const int least = call.tag == 0 ? 2 : 1;
    if (t.rank() >= least) continue;
    TILEVM_ASSIGN_OR_RETURN(Tensor wide, Reshaped(t, call.tag == 0 ? Shape{1, t.numel()} : Shape{1}, false));
    part = MakeTensorValue(wide);
  }
  const CallArgs args{{Value::List(std::move(parts)), Value::Int(call.tag == 0 || rank < 2 ? 0 : 1)}, {}};
  return CallHostOp(call.evaluator, *FindTorchFunction("cat"), call.name, Value(), args, call.loc);
}

absl::StatusOr<Value> OneHot(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int64_t classes, call.IntArg(1, -1));
  TILEVM_ASSIGN_OR_RETURN(t, Contiguous(t));
  std::vector<int64_t> values(static_cast<size_t>(t.numel()));
  LoadElems(t.dtype, t.data(), t.numel(), values.data());
  for (int64_t v : values) {
    if (v < 0 || (classes >= 0 && v >= classes)) return call.Error("class values must lie in 0 .. num_classes - 1");
  }
  if (classes < 0) classes = values.empty() ? 0 : *std::max_element(values.begin(), values.end()) + 1;
  Shape shape = t.shape;
  shape.push_back(classes);
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kI64, shape, Fill::kZero));
  const int64_t one = 1;
  for (size_t i = 0; i < values.size(); ++i) StoreElems(DType::kI64, out.data() + (static_cast<int64_t>(i) * classes + values[i]) * 8, 1, &one);
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Embedding(HostCall& call) {
  TILEVM_RETURN_IF_ERROR(call.TensorArg(0).status());
  TILEVM_RETURN_IF_ERROR(call.TensorArg(1).status());
  return At(call, call.args[1], 0, call.args[0]);
}

// pad(input, (last before, last after, ...), "constant", value)
absl::StatusOr<Value> Pad(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape by, call.ShapeArg(1));
  if (call.given_not_none(2) && !(call.args[2].is(ValueKind::kString) && call.args[2].string() == "constant")) {
    return UnimplementedAt(call.loc, call.name, ": mode 'constant' only");
  }
  if (by.size() % 2 != 0 || by.size() / 2 > t.shape.size()) return call.Error("pad needs two numbers for each of at most ", t.rank(), " dimensions");
  Shape shape = t.shape;
  std::vector<Value> inside(t.shape.size(), Everything());
  Tensor source = t;
  for (size_t k = 0; k < by.size() / 2; ++k) {
    const size_t d = t.shape.size() - 1 - k;
    const int64_t before = by[2 * k], after = by[2 * k + 1];
    shape[d] += before + after;
    if (shape[d] < 0) return call.Error("the padding takes more than dimension ", d, " has");
    // Negative padding cuts.
    const int64_t from = std::max<int64_t>(0, -before), cut = std::max<int64_t>(0, -after);
    source.offset += from * source.strides[d];
    source.shape[d] = std::max<int64_t>(0, t.shape[d] - from - cut);
    const int64_t start = std::max<int64_t>(0, before);
    inside[d] = SliceOf(start, start + source.shape[d]);
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(t.dtype, shape, Fill::kZero));
  if (call.given_not_none(3)) TILEVM_RETURN_IF_ERROR(FillWith(out, call.args[3]));
  const Value result = MakeTensorValue(out);
  TILEVM_ASSIGN_OR_RETURN(Value middle, AsTensor(result)->Index(call.evaluator, Value::Tuple(std::move(inside)), call.loc));
  TILEVM_RETURN_IF_ERROR(CopyInto(AsTensor(middle)->tensor, source));
  return result;
}

constexpr HostOp kOps[] = {
    {"gather .gather", "input dim index | sparse_grad? out?", Gather, 0},
    {"take_along_dim .take_along_dim", "input indices dim", Gather, 1},
    {".scatter_", "input dim index src/value reduce?", Scatter, kPut},
    {"scatter .scatter", "input dim index src/value reduce?", Scatter, kNew + kPut},
    {".scatter_add_", "input dim index src", Scatter, kAdd},
    {"scatter_add .scatter_add", "input dim index src", Scatter, kNew + kAdd},
    {"index_select .index_select", "input dim index", IndexSelect},
    {".index_add_", "input dim index source | alpha?", IndexChange, kAdd},
    {"index_add .index_add", "input dim index source | alpha?", IndexChange, kNew + kAdd},
    {".index_copy_ .index_fill_", "input dim index source/value", IndexChange, kPut},
    {"index_copy .index_copy index_fill .index_fill", "input dim index source/value", IndexChange, kNew + kPut},
    {"masked_select .masked_select", "input mask", MaskedSelect},
    {"nonzero .nonzero", "input | as_tuple? out?", Nonzero},
    {"select .select", "input dim index", SelectOne, 0},
    {"unbind .unbind", "input dim?", SelectOne, 1},
    {"roll .roll", "input shifts dims?", Roll},
    {"repeat_interleave .repeat_interleave", "input repeats dim? | output_size?", RepeatInterleave},
    {"diagonal .diagonal", "input offset? dim1? dim2?", Diagonal, 0},
    {"diag .diag", "input diagonal?", Diagonal, 1},
    {"trace .trace", "input", Diagonal, 2},
    {".type_as", "input other", TypeAs},
    {"vstack row_stack", "tensors", StackBy, 0},
    {"hstack", "tensors", StackBy, 1},
    {"nn.functional.one_hot", "input num_classes?", OneHot},
    {"nn.functional.embedding", "input weight padding_idx?", Embedding},
    {"nn.functional.pad", "input pad mode? value?", Pad},
};

}  // namespace

absl::Span<const HostOp> SelectOps() { return kOps; }

}  // namespace tilevm::vm::host
