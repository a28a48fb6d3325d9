// The tensor of host programs: torch's strided view of a shared storage, in main memory.
//
// A Tensor is a value: copies share the storage. Storage is 64-byte aligned, so that a kernel's argument gets the divisibility that torch's
// allocator would give it. Storage that torch.empty made remembers which of its bytes were written (for checked runs, vm/interp).
// HostTensor is the object that the evaluator holds; its attributes and methods are rows of the table in vm/host/torch_table.h.
#ifndef TILEVM_VM_HOST_TENSOR_H_
#define TILEVM_VM_HOST_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/status.h"
#include "isa/types.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/partial_eval/value.h"

namespace tilevm::vm::host {

using isa::DType;
using isa::Shape;
using specializer::CallArgs;
using specializer::Evaluator;
using specializer::Value;

enum class Fill { kZero, kUninitialised };

// Where a storage's bytes also lie: the memory of a GPU (vm/gpu). The runner that made it decides when bytes move there.
class Mirror {
 public:
  virtual ~Mirror() = default;
  virtual void CopyToHost(std::byte* to, int64_t bytes) = 0;
};

class Storage {
 public:
  // kResourceExhausted beyond what the tensors of the program that runs on this thread may take (specializer::Limits::max_tensor_bytes), beyond 2^40
  // bytes for one, or where memory ends.
  static absl::StatusOr<std::shared_ptr<Storage>> Allocate(int64_t bytes, Fill fill);
  // Memory of somebody else, which outlives the storage.
  static std::shared_ptr<Storage> Borrow(void* data, int64_t bytes);
  static std::shared_ptr<Storage> BorrowDevice(uint64_t address, int64_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // The bytes in main memory, for reading and writing: fetched first if only a GPU has them, and what it has counts as old from then on.
  std::byte* data() const {
    if (home_ != Home::kHost) ToHost();
    return data_;
  }
  // Where they lie, for identity and alignment alone.
  const std::byte* address() const { return device_address_ != 0 ? reinterpret_cast<const std::byte*>(device_address_) : data_; }
  int64_t bytes() const { return bytes_; }
  // Made here, not memory of somebody else.
  bool owned() const { return block_ != nullptr; }

  // Which of the two places has the bytes; nobody while they have no value yet.
  enum class Home : uint8_t { kNowhere, kHost, kBoth, kDevice };
  Home home() const { return home_; }
  void set_home(Home home) const { home_ = home; }
  std::shared_ptr<Mirror>& mirror() { return mirror_; }
  // Of the caller's, in the memory of a GPU; 0: made here, or in main memory.
  uint64_t device_address() const { return device_address_; }

  // Bytes written so far, one entry a byte; empty: all count as written.
  std::vector<uint8_t>& written() { return written_; }
  // What the host writes or reads counts as written from then on.
  bool declared_uninitialised = false;

 private:
  Storage() = default;
  void ToHost() const;
  mutable void* block_ = nullptr;
  mutable std::byte* data_ = nullptr;
  mutable Home home_ = Home::kHost;
  std::shared_ptr<Mirror> mirror_;
  uint64_t device_address_ = 0;
  int64_t bytes_ = 0;
  specializer::MemoryMeter* meter_ = nullptr;  // that counts it
  std::vector<uint8_t> written_;
};

struct Tensor {
  std::shared_ptr<Storage> storage;
  DType dtype = DType::kF32;
  Shape shape;
  Shape strides;       // in elements
  int64_t offset = 0;  // in elements
  bool cpu_label = false;  // made with device='cpu': x.device says so. All tensors lie in the same memory

  static absl::StatusOr<Tensor> Make(DType dtype, Shape shape, Fill fill);

  int64_t numel() const { return isa::ElemCount(shape); }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t item_bytes() const { return isa::StorageBytes(dtype); }
  bool contiguous() const;
  std::byte* data() const { return storage->data() + offset * item_bytes(); }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(storage->address()) + static_cast<uintptr_t>(offset * item_bytes()); }
};

Shape ContiguousStrides(const Shape& shape);
// A tensor with the same elements in row-major order: itself, or a copy.
absl::StatusOr<Tensor> Contiguous(const Tensor& tensor);
absl::StatusOr<Tensor> Clone(const Tensor& tensor);
absl::StatusOr<Tensor> CastTo(const Tensor& tensor, DType dtype);  // contiguous; shares if nothing changes
// destination[...] = source (broadcast, converted).
absl::Status CopyInto(const Tensor& destination, const Tensor& source);
absl::Status FillWith(const Tensor& destination, const Value& number);
// torch's error for a number that the dtype does not hold; an unsigned one takes negative numbers down to minus its largest.
absl::Status CheckFits(const Value& number, DType dtype);

// Views.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);
absl::StatusOr<Tensor> ExpandTo(const Tensor& tensor, const Shape& shape);
Tensor Transposed(const Tensor& tensor, int d0, int d1);
// Reshape without a copy if the strides allow it, else of a contiguous copy (view: an error then).
absl::StatusOr<Tensor> Reshaped(const Tensor& tensor, Shape shape, bool must_view);

// One element, as a Python number; index in row-major order of the shape.
Value ElementAt(const Tensor& tensor, int64_t index);

class HostTensor : public specializer::HostObject, public std::enable_shared_from_this<HostTensor> {
 public:
  // Only through MakeTensorValue: an object knows the value that holds it.
  explicit HostTensor(Tensor t) : tensor(std::move(t)) {}

  Tensor tensor;
  bool requires_grad = false;
  bool is_parameter = false;  // torch.nn.Parameter: what a module's parameters() lists
  Value grad = Value::None();

  std::string type_name() const override { return "torch.Tensor"; }
  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override;
  absl::Status SetAttr(Evaluator& evaluator, absl::string_view name, const Value& value, Loc loc) override;
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override;
  absl::StatusOr<Value> Binary(Evaluator& evaluator, isa::Op op, const Value& other, bool reflected, Loc loc) override;
  absl::StatusOr<Value> InPlace(Evaluator& evaluator, isa::Op op, const Value& other, Loc loc) override;
  absl::StatusOr<Value> Unary(Evaluator& evaluator, isa::Op op, Loc loc) override;
  absl::StatusOr<Value> Index(Evaluator& evaluator, const Value& subscript, Loc loc) override;
  absl::Status SetItem(Evaluator& evaluator, const Value& subscript, const Value& value, Loc loc) override;
  absl::StatusOr<bool> Truth(Evaluator& evaluator, Loc loc) override;
  absl::StatusOr<int64_t> Length(Evaluator& evaluator, Loc loc) override;
  std::optional<absl::int128> AsInteger() const override;
  std::string Repr() const override;

 private:
  Value self_value();
};

Value MakeTensorValue(Tensor tensor);
// Null if the value is no tensor.
HostTensor* AsTensor(const Value& value);

// Every tensor in the value counts as one on the cpu.
void LabelCpu(const Value& value);

// "tensor([1.0000, 2.0000])", long ones shortened as torch does.
std::string FormatTensor(const Tensor& tensor);
// "torch.Size([2, 3])"
std::string SizeText(const Shape& shape);
// "torch.float32"
std::string TorchName(DType dtype);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_TENSOR_H_
