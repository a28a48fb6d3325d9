#include "vm/host/tensor.h"

#include <algorithm>
#include <limits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "vm/host/convert.h"

namespace tilevm::vm::host {
namespace {

constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;
constexpr int64_t kAlignment = 64;

// Copies a strided array into a strided array of the same shape, dimension by dimension.
void CopyStrided(int64_t item, const Shape& shape, const std::byte* in, const Shape& in_strides, std::byte* out, const Shape& out_strides,
                 size_t dim) {
  if (dim == shape.size()) {
    std::memcpy(out, in, item);
    return;
  }
  const int64_t n = shape[dim];
  const int64_t in_step = in_strides[dim] * item, out_step = out_strides[dim] * item;
  if (dim + 1 == shape.size()) {
    if (in_step == item && out_step == item) {
      std::memmove(out, in, n * item);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      switch (item) {  // a copy of known size is one instruction
        case 1: out[i * out_step] = in[i * in_step]; break;
        case 2: std::memcpy(out + i * out_step, in + i * in_step, 2); break;
        case 4: std::memcpy(out + i * out_step, in + i * in_step, 4); break;
        default: std::memcpy(out + i * out_step, in + i * in_step, 8); break;
      }
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) CopyStrided(item, shape, in + i * in_step, in_strides, out + i * out_step, out_strides, dim + 1);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Storage>> Storage::Allocate(int64_t bytes, Fill fill) {
  if (bytes < 0 || bytes > kMaxTensorBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a tensor of ", bytes, " bytes is beyond the limit of 2**40"));
  }
  std::shared_ptr<Storage> storage(new Storage());
  if (specializer::MemoryMeter* meter = specializer::MemoryMeter::Current()) {
    if (!meter->AddTensor(bytes)) {
      return absl::ResourceExhaustedError(absl::StrCat("MemoryError: with a tensor of ", bytes, " bytes the program's tensors take more than ",
                                                       meter->max_tensor_bytes() >> 20, " MiB"));
    }
    storage->meter_ = meter;
    storage->bytes_ = bytes;
  }
  const size_t wanted = static_cast<size_t>(bytes) + kAlignment;
  storage->block_ = fill == Fill::kZero ? std::calloc(wanted, 1) : std::malloc(wanted);
  if (storage->block_ == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for a tensor of ", bytes, " bytes"));
  const uintptr_t address = reinterpret_cast<uintptr_t>(storage->block_);
  storage->data_ = reinterpret_cast<std::byte*>((address + kAlignment - 1) / kAlignment * kAlignment);
  storage->bytes_ = bytes;
  storage->declared_uninitialised = fill == Fill::kUninitialised;
  if (fill == Fill::kUninitialised) storage->home_ = Home::kNowhere;
  return storage;
}

std::shared_ptr<Storage> Storage::BorrowDevice(uint64_t address, int64_t bytes) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->device_address_ = address;
  storage->bytes_ = bytes;
  storage->home_ = Home::kDevice;
  return storage;
}

void Storage::ToHost() const {
  if (data_ == nullptr && device_address_ != 0) {
    block_ = std::calloc(static_cast<size_t>(bytes_) + kAlignment, 1);
    data_ = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(block_) + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (home_ == Home::kDevice && mirror_ != nullptr) mirror_->CopyToHost(data_, bytes_);
  home_ = Home::kHost;
}

std::shared_ptr<Storage> Storage::Borrow(void* data, int64_t bytes) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = static_cast<std::byte*>(data);
  storage->bytes_ = bytes;
  return storage;
}

Storage::~Storage() {
  std::free(block_);
  if (meter_ != nullptr) meter_->FreeTensor(bytes_);
}

Shape ContiguousStrides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

absl::StatusOr<Tensor> Tensor::Make(DType dtype, Shape shape, Fill fill) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) return absl::InvalidArgumentError(absl::StrCat("a tensor of shape ", isa::ShapeToString(shape), " has a negative extent"));
    if (extent > 0 && count > kMaxTensorBytes / extent) {
      return absl::ResourceExhaustedError(absl::StrCat("a tensor of shape ", isa::ShapeToString(shape), " is beyond the limit of 2**40 bytes"));
    }
    count *= extent;
  }
  if (shape.size() > 64) return absl::InvalidArgumentError("a tensor has at most 64 dimensions");
  Tensor t;
  t.dtype = dtype;
  TILEVM_ASSIGN_OR_RETURN(t.storage, Storage::Allocate(count * isa::StorageBytes(dtype), fill));
  t.strides = ContiguousStrides(shape);
  t.shape = std::move(shape);
  return t;
}

bool Tensor::contiguous() const {
  if (numel() == 0) return true;
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

absl::StatusOr<Tensor> Clone(const Tensor& tensor) {
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(tensor.dtype, tensor.shape, Fill::kUninitialised));
  out.storage->declared_uninitialised = false;
  if (out.numel() > 0) {
    if (tensor.contiguous()) {
      std::memcpy(out.data(), tensor.data(), out.numel() * out.item_bytes());
    } else {
      CopyStrided(out.item_bytes(), out.shape, tensor.data(), tensor.strides, out.data(), out.strides, 0);
    }
  }
  return out;
}

absl::StatusOr<Tensor> Contiguous(const Tensor& tensor) {
  if (tensor.contiguous()) {
    Tensor out = tensor;
    out.strides = ContiguousStrides(out.shape);
    return out;
  }
  return Clone(tensor);
}

absl::StatusOr<Tensor> CastTo(const Tensor& tensor, DType dtype) {
  TILEVM_ASSIGN_OR_RETURN(Tensor in, Contiguous(tensor));
  if (in.dtype == dtype) return in;
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(dtype, in.shape, Fill::kUninitialised));
  out.storage->declared_uninitialised = false;
  ConvertElems(in.dtype, in.data(), dtype, out.data(), in.numel());
  return out;
}

absl::Status CopyInto(const Tensor& destination, const Tensor& source) {
  TILEVM_ASSIGN_OR_RETURN(Tensor converted, CastTo(source, destination.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor in, ExpandTo(converted, destination.shape));
  if (destination.numel() == 0) return absl::OkStatus();
  if (in.storage == destination.storage) {
    TILEVM_ASSIGN_OR_RETURN(in, Clone(in));
  }
  CopyStrided(destination.item_bytes(), destination.shape, in.data(), in.strides, destination.data(), destination.strides, 0);
  destination.storage->declared_uninitialised = false;
  destination.storage->written().clear();
  return absl::OkStatus();
}

absl::Status CheckFits(const Value& number, DType dtype) {
  if (!number.is_static_number() || dtype == DType::kI1) return absl::OkStatus();
  static constexpr std::pair<DType, absl::string_view> kNames[] = {
      {DType::kI8, "int8_t"},   {DType::kI16, "int16_t"}, {DType::kI32, "int"},   {DType::kI64, "int64_t"}, {DType::kU8, "uint8_t"},
      {DType::kU16, "uint16_t"}, {DType::kU32, "uint32_t"}, {DType::kU64, "uint64_t"}, {DType::kF16, "at::Half"}, {DType::kF32, "float"},
  };
  absl::string_view name;
  for (const auto& [type, text] : kNames) {
    if (type == dtype) name = text;
  }
  if (name.empty()) return absl::OkStatus();
  bool fits = true;
  if (isa::IsFloat(dtype)) {
    const double largest = dtype == DType::kF16 ? 65504.0 : std::numeric_limits<float>::max();
    const double x = number.is(specializer::ValueKind::kFloat) ? number.float_value() : static_cast<double>(number.int_value());
    fits = !std::isfinite(x) || std::fabs(x) <= largest;
  } else {
    const int bits = isa::BitWidth(dtype);
    const absl::int128 one = 1, high = isa::IsSigned(dtype) ? (one << (bits - 1)) - 1 : (one << bits) - 1;
    const absl::int128 low = isa::IsSigned(dtype) ? -high - 1 : -high;
    if (number.is(specializer::ValueKind::kFloat)) {
      const double x = std::trunc(number.float_value());
      fits = x >= static_cast<double>(low) && x < static_cast<double>(high) + 1;  // not for NaN
    } else {
      fits = number.int_value() >= low && number.int_value() <= high;
    }
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("RuntimeError: value cannot be converted to type ", name, " without overflow (it is ", specializer::Str(number), ")"));
}

absl::Status FillWith(const Tensor& destination, const Value& number) {
  TILEVM_RETURN_IF_ERROR(CheckFits(number, destination.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor one, Tensor::Make(destination.dtype, {}, Fill::kZero));
  const auto beyond_64_bits = [](absl::int128 v) { return v > std::numeric_limits<int64_t>::max() || v < std::numeric_limits<int64_t>::min(); };
  const bool as_float =
      number.is(specializer::ValueKind::kFloat) || (number.is_static_number() && isa::IsFloat(destination.dtype) && beyond_64_bits(number.int_value()));
  if (as_float) {
    const double x = number.is(specializer::ValueKind::kFloat) ? number.float_value() : static_cast<double>(number.int_value());
    StoreElems(one.dtype, one.data(), 1, &x);
  } else if (number.is_static_number()) {
    const int64_t x = static_cast<int64_t>(number.int_value());
    StoreElems(one.dtype, one.data(), 1, &x);
  } else if (HostTensor* t = AsTensor(number)) {
    return CopyInto(destination, t->tensor);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("a number is wanted, not ", specializer::TypeName(number, nullptr)));
  }
  const int64_t n = destination.numel(), item = destination.item_bytes();
  if (destination.contiguous() && n > 0) {
    std::byte* out = destination.data();
    std::memcpy(out, one.data(), item);
    for (int64_t filled = 1; filled < n;) {
      const int64_t count = std::min(filled, n - filled);
      std::memcpy(out + filled * item, out, count * item);
      filled += count;
    }
    destination.storage->declared_uninitialised = false;
    destination.storage->written().clear();
    return absl::OkStatus();
  }
  return CopyInto(destination, one);
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {  // from the last dimension
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return absl::InvalidArgumentError(absl::StrCat("The size of tensor a (", x, ") must match the size of tensor b (", y, ") at non-singleton dimension ",
                                                     out.size() - 1 - i, ": shapes ", isa::ShapeToString(a), " and ", isa::ShapeToString(b)));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

absl::StatusOr<Tensor> ExpandTo(const Tensor& tensor, const Shape& shape) {
  if (tensor.shape == shape) return tensor;
  if (tensor.shape.size() > shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of shape ", isa::ShapeToString(tensor.shape), " does not expand to ", isa::ShapeToString(shape)));
  }
  Tensor out = tensor;
  out.shape = shape;
  out.strides.assign(shape.size(), 0);
  const size_t lead = shape.size() - tensor.shape.size();
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == shape[lead + i]) {
      out.strides[lead + i] = tensor.strides[i];
    } else if (tensor.shape[i] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a tensor of shape ", isa::ShapeToString(tensor.shape), " does not expand to ", isa::ShapeToString(shape)));
    }
  }
  return out;
}

Tensor Transposed(const Tensor& tensor, int d0, int d1) {
  Tensor out = tensor;
  std::swap(out.shape[d0], out.shape[d1]);
  std::swap(out.strides[d0], out.strides[d1]);
  return out;
}

absl::StatusOr<Tensor> Reshaped(const Tensor& tensor, Shape shape, bool must_view) {
  int unknown = -1;
  int64_t known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && unknown < 0) {
      unknown = static_cast<int>(i);
    } else if (shape[i] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", isa::ShapeToString(shape), " is invalid"));
    } else {
      known *= shape[i];
    }
  }
  const int64_t count = tensor.numel();
  if (unknown >= 0) {
    if (known == 0 || count % known != 0) {
      return absl::InvalidArgumentError(absl::StrCat("shape '", isa::ShapeToString(shape), "' is invalid for input of size ", count));
    }
    shape[unknown] = count / known;
    known *= shape[unknown];
  }
  if (known != count) {
    return absl::InvalidArgumentError(absl::StrCat("shape '", isa::ShapeToString(shape), "' is invalid for input of size ", count));
  }
  Tensor out = tensor;
  if (tensor.contiguous()) {
    out.strides = ContiguousStrides(shape);
    out.shape = std::move(shape);
    return out;
  }
  // A view exists if every run of old dimensions that covers a run of new ones is contiguous within itself.
  Shape strides(shape.size());
  size_t o = 0, n = 0;
  bool viewable = true;
  while (o < tensor.shape.size() && n < shape.size() && viewable) {
    size_t o_end = o + 1, n_end = n + 1;
    int64_t o_count = tensor.shape[o], n_count = shape[n];
    while (o_count != n_count) {
      if (o_count < n_count) {
        o_count *= tensor.shape[o_end++];
      } else {
        n_count *= shape[n_end++];
      }
    }
    for (size_t i = o; i + 1 < o_end; ++i) {
      if (tensor.strides[i] != tensor.strides[i + 1] * tensor.shape[i + 1]) viewable = false;
    }
    int64_t step = tensor.strides[o_end - 1];
    for (size_t i = n_end; i-- > n;) {
      strides[i] = step;
      step *= shape[i];
    }
    o = o_end;
    n = n_end;
  }
  for (; n < shape.size(); ++n) strides[n] = 1;  // trailing extents of 1
  if (viewable) {
    out.shape = std::move(shape);
    out.strides = std::move(strides);
    return out;
  }
  if (must_view) {
    return absl::InvalidArgumentError("view size is not compatible with the tensor's size and stride; use reshape instead");
  }
  TILEVM_ASSIGN_OR_RETURN(out, Clone(tensor));
  out.strides = ContiguousStrides(shape);
  out.shape = std::move(shape);
  return out;
}

Value ElementAt(const Tensor& tensor, int64_t index) {
  int64_t place = 0;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    place += index % tensor.shape[i] * tensor.strides[i];
    index /= tensor.shape[i];
  }
  const std::byte* at = tensor.data() + place * tensor.item_bytes();
  if (isa::IsFloat(tensor.dtype)) {
    double x;
    LoadElems(tensor.dtype, at, 1, &x);
    return Value::Float(x);
  }
  int64_t x;
  LoadElems(tensor.dtype, at, 1, &x);
  if (tensor.dtype == DType::kI1) return Value::Bool(x != 0);
  if (tensor.dtype == DType::kU64) return Value::Int(absl::int128(static_cast<uint64_t>(x)));
  return Value::Int(x);
}

Value MakeTensorValue(Tensor tensor) { return Value::Shared(specializer::ValueKind::kObject, std::make_shared<HostTensor>(std::move(tensor))); }

HostTensor* AsTensor(const Value& value) {
  if (!value.is(specializer::ValueKind::kObject)) return nullptr;
  return dynamic_cast<HostTensor*>(value.payload().get());
}

std::string TorchName(DType dtype) {
  switch (dtype) {
    case DType::kI1: return "torch.bool";
    case DType::kF8E4M3: return "torch.float8_e4m3fn";
    case DType::kF8E5M2: return "torch.float8_e5m2";
    default: return absl::StrCat("torch.", isa::SurfaceName(dtype));
  }
}

std::string SizeText(const Shape& shape) { return absl::StrCat("torch.Size([", absl::StrJoin(shape, ", "), "])"); }

}  // namespace tilevm::vm::host
