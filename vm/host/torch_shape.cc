// Attributes of tensors, views, copies, joins and indexing.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "vm/host/convert.h"
#include "vm/host/device_runner.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

Value IntTuple(const Shape& shape) {
  std::vector<Value> items;
  for (int64_t extent : shape) items.push_back(Value::Int(extent));
  return Value::Tuple(std::move(items));
}

Value SizeOf(const Shape& shape) {
  return specializer::MakeNamedTuple("torch.Size", {}, IntTuple(shape).items().ToVector());
}

absl::StatusOr<Value> Size(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (!call.given_not_none(1)) return SizeOf(t.shape);
  TILEVM_ASSIGN_OR_RETURN(int d, call.DimArg(1, t.rank()));
  if (t.rank() == 0) return call.Error("a tensor without dimensions");
  return Value::Int(t.shape[d]);
}

absl::StatusOr<Value> Stride(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (!call.given_not_none(1)) return IntTuple(t.strides);
  TILEVM_ASSIGN_OR_RETURN(int d, call.DimArg(1, t.rank()));
  if (t.rank() == 0) return call.Error("a tensor without dimensions");
  return Value::Int(t.strides[d]);
}

enum Query { kNumel, kDim, kItemSize, kIsContiguous, kDataPtr, kStorageOffset, kIsFloat, kGetDevice };
absl::StatusOr<Value> Ask(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  switch (call.tag) {
    case kNumel: return Value::Int(t.numel());
    case kDim: return Value::Int(t.rank());
    case kItemSize: return Value::Int(t.item_bytes());
    case kIsContiguous: return Value::Bool(t.contiguous());
    case kDataPtr: {
      uint64_t base = reinterpret_cast<uintptr_t>(t.storage->address());
      call.world.NoteAddress(t);
      if (DeviceRunner* device = call.world.options().device.get()) {
        TILEVM_ASSIGN_OR_RETURN(base, device->AddressOf(t.storage));
      }
      return Value::Int(absl::int128(base + static_cast<uint64_t>(t.offset * t.item_bytes())));
    }
    case kStorageOffset: return Value::Int(t.offset);
    case kIsFloat: return Value::Bool(isa::IsFloat(t.dtype));
    default: return Value::Int(0);
  }
}

absl::StatusOr<Value> Reshape(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  const auto& items = call.args[1].items();
  if (items.size() == 1 && items[0].is(ValueKind::kDType)) {  // x.view(dtype)
    const DType dtype = items[0].dtype();
    if (isa::StorageBytes(dtype) == t.item_bytes()) {
      t.dtype = dtype;
      return MakeTensorValue(t);
    }
    TILEVM_ASSIGN_OR_RETURN(t, Contiguous(t));
    const int64_t last = t.rank() == 0 ? 1 : t.shape.back();
    const int64_t bytes = last * t.item_bytes(), item = isa::StorageBytes(dtype);
    if (t.rank() == 0 || bytes % item != 0 || t.offset * t.item_bytes() % item != 0)
      return call.Error("the last dimension does not divide into ", TorchName(dtype));
    t.offset = t.offset * t.item_bytes() / item;
    t.dtype = dtype;
    t.shape.back() = bytes / item;
    t.strides = ContiguousStrides(t.shape);
    return MakeTensorValue(t);
  }
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(1));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Reshaped(t, shape, call.tag == 1));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> ViewAs(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor like, call.TensorArg(1));
  if (call.tag == 1) {
    TILEVM_ASSIGN_OR_RETURN(Tensor out, ExpandTo(t, like.shape));
    return MakeTensorValue(out);
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Reshaped(t, like.shape, true));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Transpose(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (call.tag == 1) {  // t()
    if (t.rank() > 2) return call.Error("t() expects a tensor with <= 2 dimensions, but it has ", t.rank());
    return MakeTensorValue(t.rank() < 2 ? t : Transposed(t, 0, 1));
  }
  TILEVM_ASSIGN_OR_RETURN(int d0, call.DimArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(int d1, call.DimArg(2, t.rank()));
  return MakeTensorValue(t.rank() == 0 ? t : Transposed(t, d0, d1));
}

absl::StatusOr<Value> Permute(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(1, t.rank()));
  if (static_cast<int>(dims.size()) != t.rank()) return call.Error("as many dimensions as the tensor has (", t.rank(), ") are wanted");
  Tensor out = t;
  for (int i = 0; i < t.rank(); ++i) {
    out.shape[i] = t.shape[dims[i]];
    out.strides[i] = t.strides[dims[i]];
  }
  return MakeTensorValue(out);
}

absl::StatusOr<Value> MakeContiguous(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (t.contiguous()) return call.args[0];
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Clone(t));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> To(HostCall& call) {  // to(dtype), to(device), to(device, dtype), to(other)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  DType dtype = t.dtype;
  bool cpu = t.cpu_label;
  std::vector<Value> given = call.args[1].items().ToVector();
  if (call.given_not_none(2)) given.push_back(call.args[2]);
  if (call.given_not_none(3)) given.push_back(call.args[3]);
  for (const Value& v : given) {
    if (v.is(ValueKind::kDType)) {
      dtype = v.dtype();
    } else if (HostTensor* other = AsTensor(v)) {
      dtype = other->tensor.dtype;
      cpu = other->tensor.cpu_label;
    } else if (!v.is(ValueKind::kBool) && !v.is(ValueKind::kNone)) {  // non_blocking, copy
      TILEVM_RETURN_IF_ERROR(call.world.CheckDevice(v, call.loc));
      cpu = NamesCpu(v);
    }
  }
  TILEVM_ASSIGN_OR_RETURN(bool copy, call.BoolArg(5, false));
  if (dtype == t.dtype && cpu == t.cpu_label && !copy) return call.args[0];
  TILEVM_ASSIGN_OR_RETURN(Tensor out, CastTo(t, dtype));
  if (dtype == t.dtype) {
    TILEVM_ASSIGN_OR_RETURN(out, Clone(t));
  }
  out.cpu_label = cpu;
  return MakeTensorValue(out);
}

absl::StatusOr<Value> ToDevice(HostCall& call) {  // cuda() (0), cpu() (1)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (t.cpu_label == (call.tag == 1)) return call.args[0];
  TILEVM_ASSIGN_OR_RETURN(t, Clone(t));
  t.cpu_label = call.tag == 1;
  return MakeTensorValue(t);
}

absl::StatusOr<Value> CastByTag(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  const DType dtype = static_cast<DType>(call.tag);
  if (t.dtype == dtype) return call.args[0];
  TILEVM_ASSIGN_OR_RETURN(Tensor out, CastTo(t, dtype));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Same(HostCall& call) {  // requires_grad_(), detach(): the tensor itself, or one that shares its storage
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (call.tag == 1) AsTensor(call.args[0])->requires_grad = true;
  if (call.tag == 2) return MakeTensorValue(t);
  return call.args[0];
}

absl::StatusOr<Value> Parameter(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(bool requires_grad, call.BoolArg(1, true));
  Value parameter = MakeTensorValue(t);
  AsTensor(parameter)->is_parameter = true;
  AsTensor(parameter)->requires_grad = requires_grad;
  return parameter;
}

// A view of the storage with any sizes and strides; every element has to lie in it.
absl::StatusOr<Value> AsStrided(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape size, call.ShapeArg(1));
  TILEVM_ASSIGN_OR_RETURN(Shape strides, call.ShapeArg(2));
  TILEVM_ASSIGN_OR_RETURN(int64_t offset, call.IntArg(3, t.offset));
  if (size.size() != strides.size()) return call.Error("mismatch in length of strides and shape: ", strides.size(), " and ", size.size());
  absl::int128 last = offset;
  bool empty = false;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] < 0 || strides[i] < 0) return call.Error("negative sizes and strides are not supported");
    empty |= size[i] == 0;
    if (size[i] > 0) last += absl::int128(size[i] - 1) * strides[i];
  }
  const int64_t elements = t.storage->bytes() / t.item_bytes();
  if (offset < 0 || (!empty && last >= elements)) {
    return call.Error("setStorage: sizes ", isa::ShapeToString(size), ", strides ", isa::ShapeToString(strides), " and offset ", offset,
                      " are out of bounds for storage of ", elements, " elements");
  }
  t.shape = size;
  t.strides = strides;
  t.offset = offset;
  return MakeTensorValue(t);
}

absl::StatusOr<Value> CloneTensor(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Clone(t));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Item(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (t.numel() != 1) return call.Error("a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  return ElementAt(t, 0);
}

Value ListOf(const Tensor& t, size_t dim, int64_t base) {
  if (dim == t.shape.size()) return ElementAt(t, base);
  std::vector<Value> items;
  for (int64_t i = 0; i < t.shape[dim]; ++i) items.push_back(ListOf(t, dim + 1, base * t.shape[dim] + i));
  return Value::List(std::move(items));
}
absl::StatusOr<Value> ToList(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (t.numel() > 10'000'000) return call.Error("too many elements");
  return ListOf(t, 0, 0);
}

absl::StatusOr<Value> FillInPlace(HostCall& call) {  // zero_, fill_, copy_
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_RETURN_IF_ERROR(WithLoc(FillWith(t, call.tag == 0 ? Value::Int(0) : call.args[1]), call.loc));
  return call.args[0];
}

absl::StatusOr<Value> Expand(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(1));
  for (size_t i = 0; i < shape.size(); ++i) {  // -1 keeps the extent
    const int64_t own = static_cast<int64_t>(i) - static_cast<int64_t>(shape.size()) + t.rank();
    if (shape[i] == -1 && own >= 0) shape[i] = t.shape[own];
    if (shape[i] < 0) {
      return call.Error("RuntimeError: the expanded size (", shape[i], ") of dimension ", i, own < 0 ? ", which the tensor does not have," : "",
                        " isn't allowed; -1 keeps an existing dimension");
    }
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, ExpandTo(t, shape));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Unsqueeze(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int d, call.DimArg(1, t.rank() + 1));
  t.strides.insert(t.strides.begin() + d, d < t.rank() ? t.strides[d] * t.shape[d] : 1);
  t.shape.insert(t.shape.begin() + d, 1);
  return MakeTensorValue(t);
}

absl::StatusOr<Value> Squeeze(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(1, t.rank()));
  std::sort(dims.rbegin(), dims.rend());
  for (int d : dims) {
    if (t.shape[d] != 1) continue;
    t.shape.erase(t.shape.begin() + d);
    t.strides.erase(t.strides.begin() + d);
  }
  return MakeTensorValue(t);
}

absl::StatusOr<Value> Flatten(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (t.rank() == 0) t.shape.push_back(1), t.strides.push_back(1);
  TILEVM_ASSIGN_OR_RETURN(int from, call.DimArg(1, t.rank(), 0));
  TILEVM_ASSIGN_OR_RETURN(int to, call.DimArg(2, t.rank(), t.rank() - 1));
  if (from > to) return call.Error("start_dim is behind end_dim");
  Shape shape;
  for (int d = 0; d < t.rank(); ++d) {
    if (d > from && d <= to) {
      shape.back() *= t.shape[d];
    } else {
      shape.push_back(t.shape[d]);
    }
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Reshaped(t, shape, false));
  return MakeTensorValue(out);
}

absl::StatusOr<std::vector<Tensor>> TensorList(const HostCall& call, size_t i) {
  const Value& v = call.args[i];
  if (!v.is(ValueKind::kTuple) && !v.is(ValueKind::kList)) return call.Error("a list of tensors is wanted");
  std::vector<Tensor> tensors;
  for (const Value& item : v.items()) {
    HostTensor* t = AsTensor(item);
    if (t == nullptr) return call.Error("a list of tensors is wanted, not of ", specializer::TypeName(item, nullptr));
    tensors.push_back(t->tensor);
  }
  if (tensors.empty()) return call.Error("the list of tensors is empty");
  return tensors;
}

Tensor Narrow(Tensor t, int dim, int64_t start, int64_t length) {
  t.offset += start * t.strides[dim];
  t.shape[dim] = length;
  return t;
}

absl::StatusOr<Value> Cat(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, TensorList(call, 0));
  const bool stack = call.tag == 1;
  TILEVM_ASSIGN_OR_RETURN(int d, call.DimArg(1, tensors[0].rank() + (stack ? 1 : 0), 0));
  if (!stack && tensors[0].rank() == 0) return call.Error("zero-dimensional tensors cannot be concatenated");
  DType dtype = tensors[0].dtype;
  int64_t total = 0;
  for (Tensor& t : tensors) {
    TILEVM_ASSIGN_OR_RETURN(dtype, PromoteDTypes(dtype, t.dtype));
    if (stack) {
      if (t.shape.size() + 1 != tensors[0].shape.size() + (&t == &tensors[0] ? 1 : 0)) return call.Error("each tensor must have the same shape");
      t.shape.insert(t.shape.begin() + d, 1);
      t.strides.insert(t.strides.begin() + d, 1);
    }
    Shape same = t.shape;
    if (same.size() != tensors[0].shape.size()) return call.Error("tensors differ in number of dimensions");
    same[d] = tensors[0].shape[d];
    if (same != tensors[0].shape)
      return call.Error("sizes of tensors must match except in dimension ", d, ": ", isa::ShapeToString(t.shape), " and ",
                        isa::ShapeToString(tensors[0].shape));
    total += t.shape[d];
  }
  Shape shape = tensors[0].shape;
  shape[d] = total;
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(dtype, shape, Fill::kZero));
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    TILEVM_RETURN_IF_ERROR(CopyInto(Narrow(out, d, at, t.shape[d]), t));
    at += t.shape[d];
  }
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Chunk(HostCall& call) {  // chunk(n), split(size)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int d, call.DimArg(2, t.rank(), 0));
  if (t.rank() == 0) return call.Error("a tensor without dimensions");
  Shape sizes;
  if (call.tag == 1 && !call.args[1].is(ValueKind::kInt)) {
    TILEVM_ASSIGN_OR_RETURN(sizes, call.ShapeArg(1));
  } else {
    TILEVM_ASSIGN_OR_RETURN(int64_t n, call.IntArg(1));
    if (n <= 0) return call.Error("a positive number is wanted");
    const int64_t size = call.tag == 1 ? n : std::max<int64_t>(1, (t.shape[d] + n - 1) / n);
    for (int64_t at = 0; at < t.shape[d]; at += size) sizes.push_back(std::min(size, t.shape[d] - at));
  }
  std::vector<Value> parts;
  int64_t at = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > t.shape[d] - at) return call.Error("the sizes do not sum to ", t.shape[d]);
    parts.push_back(MakeTensorValue(Narrow(t, d, at, size)));
    at += size;
  }
  return Value::Tuple(std::move(parts));
}

absl::StatusOr<Value> NarrowOp(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int d, call.DimArg(1, t.rank()));
  TILEVM_ASSIGN_OR_RETURN(int64_t start, call.IntArg(2));
  TILEVM_ASSIGN_OR_RETURN(int64_t length, call.IntArg(3));
  if (t.rank() == 0 || start < 0 || length < 0 || start > t.shape[d] - length) return call.Error("start and length exceed dimension ", d);
  return MakeTensorValue(Narrow(t, d, start, length));
}

absl::StatusOr<Value> Repeat(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Shape times, call.ShapeArg(1));
  if (times.size() < t.shape.size()) return call.Error("as many numbers as dimensions are wanted");
  // [r0, e0, r1, e1, ...], each r an expanded axis, then merged pairwise.
  Tensor wide = t;
  wide.shape.clear();
  wide.strides.clear();
  Shape shape;
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t own = static_cast<int64_t>(i) - static_cast<int64_t>(times.size() - t.shape.size());
    if (times[i] < 0) return call.Error("negative number of repeats");
    wide.shape.push_back(times[i]);
    wide.strides.push_back(0);
    wide.shape.push_back(own >= 0 ? t.shape[own] : 1);
    wide.strides.push_back(own >= 0 ? t.strides[own] : 0);
    shape.push_back(times[i] * wide.shape.back());
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Clone(wide));
  out.shape = shape;
  out.strides = ContiguousStrides(shape);
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Flip(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(std::vector<int> dims, call.DimsArg(1, t.rank()));
  Tensor reversed = t;
  for (int d : dims) {
    if (t.shape[d] == 0) continue;
    reversed.offset += (t.shape[d] - 1) * t.strides[d];
    reversed.strides[d] = -t.strides[d];
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Clone(reversed));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Triangle(HostCall& call) {  // tril (0), triu (1)
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int64_t diagonal, call.IntArg(1, 0));
  if (t.rank() < 2) return call.Error("a tensor with at least 2 dimensions is wanted");
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Clone(t));
  const int64_t rows = out.shape[out.rank() - 2], cols = out.shape.back(), item = out.item_bytes();
  std::byte* data = out.data();
  for (int64_t i = 0; rows * cols > 0 && i < out.numel(); ++i) {
    const int64_t row = i / cols % rows, col = i % cols;
    const bool keep = call.tag == 0 ? col - row <= diagonal : col - row >= diagonal;
    if (!keep) std::fill(data + i * item, data + (i + 1) * item, std::byte{0});
  }
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Backward(HostCall& call) {
  return UnimplementedAt(call.loc, call.name, ": gradients (autograd) are not supported; call the backward kernels directly");
}

constexpr int Code(DType dtype) { return static_cast<int>(dtype); }

constexpr HostOp kOps[] = {
    {".size", "input dim?", Size},
    {".stride", "input dim?", Stride},
    {"numel .numel .nelement", "input", Ask, kNumel},
    {".dim .ndimension", "input", Ask, kDim},
    {".element_size", "input", Ask, kItemSize},
    {".is_contiguous", "input | memory_format?", Ask, kIsContiguous},
    {".data_ptr", "input", Ask, kDataPtr},
    {".storage_offset", "input", Ask, kStorageOffset},
    {"is_floating_point .is_floating_point", "input", Ask, kIsFloat},
    {".get_device", "input", Ask, kGetDevice},
    {"reshape .reshape", "input shape*", Reshape, 0},
    {".view", "input shape*", Reshape, 1},
    {".view_as .reshape_as", "input other", ViewAs, 0},
    {".expand_as", "input other", ViewAs, 1},
    {"transpose .transpose swapaxes .swapaxes", "input dim0 dim1", Transpose, 0},
    {"t .t", "input", Transpose, 1},
    {"permute .permute", "input dims*", Permute},
    {".contiguous", "input | memory_format?", MakeContiguous},
    {".to", "input targets* | dtype? device? non_blocking? copy? memory_format?", To, 0, true},
    {".type", "input targets* | dtype? device? non_blocking? copy? memory_format?", To, 0, true},
    {".float", "input", CastByTag, Code(DType::kF32)},
    {".double", "input", CastByTag, Code(DType::kF64)},
    {".half", "input", CastByTag, Code(DType::kF16)},
    {".bfloat16", "input", CastByTag, Code(DType::kBF16)},
    {".int", "input", CastByTag, Code(DType::kI32)},
    {".long", "input", CastByTag, Code(DType::kI64)},
    {".short", "input", CastByTag, Code(DType::kI16)},
    {".char", "input", CastByTag, Code(DType::kI8)},
    {".byte", "input", CastByTag, Code(DType::kU8)},
    {".bool", "input", CastByTag, Code(DType::kI1)},
    {".cuda", "input device? | non_blocking?", ToDevice, 0, true},
    {".cpu", "input | non_blocking?", ToDevice, 1, true},
    {".requires_grad_", "input requires_grad?", Same, 1},
    {".detach detach", "input", Same, 2},
    {".detach_ .pin_memory .retain_grad", "input", Same, 0},
    {"nn.Parameter nn.parameter.Parameter", "data requires_grad?", Parameter},
    {"as_strided .as_strided", "input size stride storage_offset?", AsStrided},
    {"clone .clone", "input | memory_format?", CloneTensor},
    {".item", "input", Item},
    {".tolist", "input", ToList},
    {".zero_", "input", FillInPlace, 0},
    {".fill_", "input value", FillInPlace, 1},
    {".copy_", "input src non_blocking?", FillInPlace, 1},
    {".expand", "input size*", Expand},
    {"broadcast_to .broadcast_to", "input size*", Expand},
    {"unsqueeze .unsqueeze", "input dim", Unsqueeze},
    {"squeeze .squeeze", "input dim?", Squeeze},
    {"flatten .flatten", "input start_dim? end_dim?", Flatten},
    {"ravel .ravel", "input start_dim? end_dim?", Flatten},
    {"cat concat concatenate", "tensors dim/axis? | out?", Cat, 0},
    {"stack", "tensors dim/axis? | out?", Cat, 1},
    {"chunk .chunk", "input chunks dim?", Chunk, 0},
    {"split .split", "input split_size dim?", Chunk, 1},
    {"narrow .narrow", "input dim start length", NarrowOp},
    {".repeat tile .tile", "input repeats*", Repeat},
    {"flip .flip", "input dims*", Flip},
    {"tril .tril", "input diagonal?", Triangle, 0},
    {"triu .triu", "input diagonal?", Triangle, 1},
    {".backward autograd.grad autograd.backward", "input rest* | retain_graph? gradient? create_graph? grad_outputs?", Backward},
};

}  // namespace

absl::Span<const HostOp> ShapeOps() { return kOps; }

}  // namespace tilevm::vm::host
