// What a register of the open bytecode holds while it is evaluated: a static value, or a typed value of the tile IR being built.
//
// Values are cheap to copy. Numbers are held in place; everything else is shared. Lists, dicts, instances and host objects have Python's
// reference semantics (they can be changed through any copy); tuples and the rest never change. A kTensor is a typed IR value and exists only
// while a kernel is specialized; every other kind is static. A *weak* number (literal, constexpr) is a static kBool/kInt/kFloat; a *strong* one
// is a kTensor of rank 0 (isa op bind makes one out of the other).
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_VALUE_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_VALUE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "isa/module.h"
#include "isa/ops.h"
#include "isa/status.h"
#include "isa/types.h"
#include "specializer/ir/kernel.h"
#include "specializer/partial_eval/front_vector.h"

namespace tilevm::specializer {

enum class ValueKind : uint8_t {
  kAbsent,      // an optional operand that is not given
  kUnbound,     // a name not yet assigned; payload: its name and place. Using it is an error
  kNone,
  kEllipsis,
  kBool,
  kInt,
  kFloat,
  kString,
  kDType,       // tl.float32
  kPointerType, // tl.pointer_type(tl.float32), and x.dtype of a pointer tensor
  kBlockType,   // x.type of a tile: element type and shape
  kTuple,       // also named tuples (class name and field names)
  kList,
  kDict,        // also keyword bundles; keys are Values, in order of insertion
  kSet,         // also frozenset
  kRange,       // range, tl.range (hints), tl.static_range; bounds may be typed
  kSlice,
  kFunction,    // a function of a module with its defaults and captures
  kJitFunction, // triton.jit applied to one, with options and the autotune/heuristics wrappers stacked on it
  kBoundMethod, // object.method, callable
  kBuiltin,     // a dotted name that comes from outside: "triton.language.exp2", "torch.empty", "torch"
  kUnit,        // a sibling source file as a namespace
  kClass,       // host class (namespace of attributes and functions; named tuples)
  kInstance,    // an instance of a kClass
  kConstexpr,   // tl.constexpr(v) as a module-level object: usable from kernels, unlike a plain number
  kSpread,      // *x on its way into a call
  kDoubleSpread,  // **x
  kTensor,      // typed IR value
  kBlockPtr,    // tl.make_block_ptr: typed parts
  kDescriptor,  // tensor descriptor inside a kernel: typed parts
  kObject,      // a host object (torch tensor, Config, exception, ...): see HostObject
};

class Value;
using ItemVector = FrontVector<Value>;
class Evaluator;
struct CallArgs;

uint64_t HashMix(uint64_t seed, uint64_t value);  // of two hashes

// Counts the bytes that an evaluator's values hold, so that it can refuse to go on (Limits::max_value_bytes), and apart from them those of its tensors,
// which are refused before they are made. It begins with one byte for its owner and deletes itself with the last one.
class MemoryMeter {
 public:
  explicit MemoryMeter(int64_t max_tensor_bytes) : max_tensor_bytes_(max_tensor_bytes) {}
  void Add(int64_t bytes) {
    if (bytes_.fetch_add(bytes, std::memory_order_acq_rel) + bytes == 0) delete this;
  }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // False, and nothing counted, where the tensors would go beyond their bound. One that was counted is given back by FreeTensor.
  bool AddTensor(int64_t bytes);
  void FreeTensor(int64_t bytes);
  int64_t max_tensor_bytes() const { return max_tensor_bytes_; }
  // Of the evaluator that runs on this thread, or null: what new payloads count to.
  static MemoryMeter*& Current();

 private:
  std::atomic<int64_t> bytes_{1};
  std::atomic<int64_t> tensor_bytes_{0};
  const int64_t max_tensor_bytes_;
};

// What is made on this thread while it lives counts to that meter.
class MeterScope {
 public:
  explicit MeterScope(MemoryMeter* meter) : outer_(std::exchange(MemoryMeter::Current(), meter)) {}
  ~MeterScope() { MemoryMeter::Current() = outer_; }
  MeterScope(const MeterScope&) = delete;
  MeterScope& operator=(const MeterScope&) = delete;

 private:
  MemoryMeter* outer_;
};

struct Payload {
  Payload();
  Payload(const Payload&) : Payload() {}
  Payload& operator=(const Payload&) { return *this; }
  virtual ~Payload();
  // What it holds beyond itself, all in all.
  void Charge(size_t bytes) {
    if (meter_ != nullptr) meter_->Add(static_cast<int64_t>(bytes) - charged_);
    charged_ = static_cast<int64_t>(bytes);
  }

 private:
  MemoryMeter* meter_;
  int64_t charged_ = 0;
};

// Values may nest without end (a linked list, a closure in a closure): one that lets go of the last hold on a payload puts it on a list, and the
// outermost takes the list apart, so that no depth of nesting overflows the native stack.
class Value {
 public:
  Value() = default;  // kAbsent
  Value(const Value&) = default;
  Value(Value&& other) noexcept = default;
  Value& operator=(const Value& other) {
    return *this = Value(other);
  }
  Value& operator=(Value&& other) noexcept {
    if (payload_ != nullptr) {
      std::shared_ptr<Payload> old = std::exchange(payload_, std::move(other.payload_));
      CopyPlain(other);
      Drop(std::move(old));
      return *this;
    }
    CopyPlain(other);
    payload_ = std::move(other.payload_);
    return *this;
  }
  ~Value() {
    if (payload_ != nullptr) Drop(std::move(payload_));
  }
  static Value None();
  static Value Ellipsis();
  static Value Bool(bool value);
  static Value Int(absl::int128 value);
  static Value Float(double value);
  static Value String(std::string value);
  static Value DTypeOf(isa::DType dtype);
  static Value TorchDType(isa::DType dtype);  // the same value; it prints as torch's
  static Value PointerTypeOf(isa::DType pointee);
  static Value Tensor(ir::ValueId id);
  static Value Tuple(std::vector<Value> items);
  static Value List(std::vector<Value> items);
  static Value Builtin(std::string path);
  static Value Unbound(std::string name, Loc loc);
  static Value Shared(ValueKind kind, std::shared_ptr<Payload> payload);

  ValueKind kind() const { return kind_; }
  bool is(ValueKind kind) const { return kind_ == kind; }
  bool absent() const { return kind_ == ValueKind::kAbsent; }
  bool absent_or_none() const { return kind_ == ValueKind::kAbsent || kind_ == ValueKind::kNone; }
  bool is_static_number() const { return kind_ == ValueKind::kBool || kind_ == ValueKind::kInt || kind_ == ValueKind::kFloat; }
  bool is_tensor() const { return kind_ == ValueKind::kTensor; }

  // Each requires the kind.
  bool bool_value() const { return int_ != 0; }
  absl::int128 int_value() const { return int_; }  // kBool too
  double float_value() const { return float_; }
  isa::DType dtype() const { return dtype_; }      // kDType, kPointerType (pointee)
  ir::ValueId tensor() const { return tensor_; }
  bool is_torch_dtype() const { return int_ != 0; }  // kDType
  const std::string& string() const;               // kString, kBuiltin (path)
  const ItemVector& items() const;                 // kTuple, kList
  ItemVector& mutable_items() const;               // kList
  const std::shared_ptr<Payload>& payload() const { return payload_; }
  template <typename T>
  T* As() const {
    return static_cast<T*>(payload_.get());
  }

 private:
  void CopyPlain(const Value& other) {
    kind_ = other.kind_;
    dtype_ = other.dtype_;
    tensor_ = other.tensor_;
    float_ = other.float_;
    int_ = other.int_;
  }
  static void Drop(std::shared_ptr<Payload> payload);

  ValueKind kind_ = ValueKind::kAbsent;
  isa::DType dtype_ = isa::DType::kI32;
  ir::ValueId tensor_ = ir::kNoValue;
  double float_ = 0;
  absl::int128 int_ = 0;
  std::shared_ptr<Payload> payload_;
};

struct StringPayload : Payload {
  std::string text;
};
struct UnboundPayload : Payload {
  std::string name;
  Loc loc;
};
struct ItemsPayload : Payload {  // tuple, list
  ItemsPayload() = default;
  ItemsPayload(const ItemsPayload& other) : Payload(other), items(other.items), class_name(other.class_name), field_names(other.field_names) { Recount(); }
  // To be called when the number of items has changed.
  void Recount() { Charge(items.capacity() * sizeof(Value)); }
  ItemVector items;
  std::string class_name;                // of a named tuple; "torch.Size"; else ""
  std::vector<std::string> field_names;  // of a named tuple, else empty
};
// Pairs in order of insertion, found by the hash of their keys. What "equal" means is the caller's: Candidates gives the places that come into question.
class PairTable {
 public:
  using Pair = std::pair<Value, Value>;
  using Places = absl::InlinedVector<uint32_t, 4>;
  template <typename Table, typename Item>
  class Iterator {  // over the pairs that are there
   public:
    Iterator(Table* table, size_t at) : table_(table), at_(at) { Skip(); }
    Item& operator*() const { return table_->pairs_[at_]; }
    Iterator& operator++() {
      ++at_;
      Skip();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }
    size_t place() const { return at_; }

   private:
    void Skip() {
      while (at_ < table_->pairs_.size() && table_->pairs_[at_].first.absent()) ++at_;
    }
    Table* table_;
    size_t at_;
  };
  using const_iterator = Iterator<const PairTable, const Pair>;
  using iterator = Iterator<PairTable, Pair>;

  size_t size() const { return live_; }
  bool empty() const { return live_ == 0; }
  const_iterator begin() const { return {this, first_}; }
  const_iterator end() const { return {this, pairs_.size()}; }
  iterator begin() { return {this, first_}; }
  iterator end() { return {this, pairs_.size()}; }
  size_t bytes() const { return pairs_.capacity() * (sizeof(Pair) + sizeof(uint64_t)) + slots_.capacity() * sizeof(uint32_t); }
  // Places count on while pairs are added and erased (until the table is put in order by an Append).
  size_t places() const { return pairs_.size(); }
  Pair& at(size_t place) { return pairs_[place]; }
  const Pair& at(size_t place) const { return pairs_[place]; }
  uint64_t hash(size_t place) const { return hashes_[place]; }

  Places Candidates(uint64_t hash) const;
  void Append(Value key, Value value, uint64_t hash);  // a key that is not there yet
  void EraseAt(size_t place);
  size_t last() const { return past_ - 1; }  // of the last pair; there has to be one
  void clear();

 private:
  void Rebuild();  // without the erased ones
  void Insert(size_t place);

  std::vector<Pair> pairs_;        // an absent key: erased
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> slots_;    // place + 1, or 0; open addressing, a power of two; empty while there are few pairs
  size_t live_ = 0, first_ = 0, past_ = 0;  // nothing is left in front of first_, and from past_ on
};

struct DictPayload : Payload {
  DictPayload() = default;
  DictPayload(const DictPayload& other) : Payload(other), entries(other.entries), factory(other.factory), class_name(other.class_name) { Recount(); }
  void Recount() { Charge(entries.bytes()); }
  PairTable entries;
  Value factory;  // collections.defaultdict: called for a key that is missing
  std::string class_name;  // "defaultdict", "OrderedDict", "Counter"; else ""
};
struct SetPayload : Payload {
  SetPayload() = default;
  SetPayload(const SetPayload& other) : Payload(other), items(other.items), frozen(other.frozen) { Recount(); }
  void Recount() { Charge(items.bytes()); }
  PairTable items;  // the keys alone
  bool frozen = false;
};
struct RangePayload : Payload {
  Value start, stop, step;       // kInt or kTensor
  bool is_static = false;        // tl.static_range: unrolled
  std::vector<std::pair<std::string, Value>> hints;  // num_stages, loop_unroll_factor, warp_specialize, flatten, ...
};
struct SlicePayload : Payload {
  Value start, stop, step;
};
struct BlockTypePayload : Payload {
  isa::Type type;
};
struct FunctionPayload : Payload {
  const isa::Module* module = nullptr;  // outlives the value
  uint32_t function = 0;
  std::vector<Value> defaults;          // of the parameters that have one, in order
  std::vector<Value> captures;
  std::vector<std::pair<std::string, Value>> attributes;  // that the program has set: f.count = 0, functools.wraps
  bool for_kernels = false;             // not under jit, yet a kernel may call it: a constexpr_function, or defined inside a kernel
};
struct JitWrapper {  // innermost first
  enum class Kind { kHeuristics, kAutotune } kind = Kind::kHeuristics;
  Value arguments;   // dict of the decorator's keyword arguments (heuristics: values; autotune: configs, key, prune_configs_by, reset_to_zero, ...)
};
struct JitPayload : Payload {
  Value function;                        // kFunction
  Value options;                         // dict: do_not_specialize, do_not_specialize_on_alignment, debug, noinline, ... as given
  std::vector<JitWrapper> wrappers;
  Value best_config;                     // of the last launch of an autotuned kernel; absent before
  Value cache;                           // dict: the values of its key -> configuration
};
struct BoundMethodPayload : Payload {
  Value object;
  std::string name;    // or, with a function below, an instance's method
  Value function;
};
struct ClassPayload : Payload {
  std::string name;
  int depth = 0;  // of the classes it derives from, one below the other
  std::vector<Value> bases;
  std::vector<std::pair<std::string, Value>> attributes;
};
struct InstancePayload : Payload {
  Value type;
  std::vector<std::pair<std::string, Value>> attributes;
  std::shared_ptr<const std::string> text;  // str() of an exception that holds exceptions, once it was raised
};
struct BoxPayload : Payload {  // kConstexpr, kSpread, kDoubleSpread
  Value inner;
};
struct BlockPtrPayload : Payload {
  Value base;                              // kTensor, pointer scalar
  std::vector<Value> shape, strides, offsets;  // kTensor, i64 scalars
  isa::Shape block_shape;
  std::vector<int64_t> order;
};
struct DescriptorPayload : Payload {
  Value base;                              // kTensor, pointer scalar
  std::vector<Value> shape, strides;       // kTensor: i32 shape, i64 strides (the last is the constant 1)
  isa::Shape block_shape;
  bool pad_nan = false;
};

struct CallArgs {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

// An object of the host world. The evaluator asks it whenever an operation touches it; the defaults answer "not supported" with type_name().
struct HostObject : Payload {
  virtual std::string type_name() const = 0;
  virtual absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc);
  virtual absl::Status SetAttr(Evaluator& evaluator, absl::string_view name, const Value& value, Loc loc);
  virtual absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc);
  virtual absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& args, Loc loc);
  // x op y where this object is self; reflected: self is y. Arithmetic, comparisons, matmul.
  virtual absl::StatusOr<Value> Binary(Evaluator& evaluator, isa::Op op, const Value& other, bool reflected, Loc loc);
  // x op= y; the result is x's new value. By default the plain operator's.
  virtual absl::StatusOr<Value> InPlace(Evaluator& evaluator, isa::Op op, const Value& other, Loc loc);
  virtual absl::StatusOr<Value> Unary(Evaluator& evaluator, isa::Op op, Loc loc);
  virtual absl::StatusOr<Value> Index(Evaluator& evaluator, const Value& subscript, Loc loc);
  virtual absl::Status SetItem(Evaluator& evaluator, const Value& subscript, const Value& value, Loc loc);
  virtual absl::StatusOr<bool> Truth(Evaluator& evaluator, Loc loc);
  virtual absl::StatusOr<int64_t> Length(Evaluator& evaluator, Loc loc);
  virtual std::optional<absl::int128> AsInteger() const { return std::nullopt; }  // what __index__ gives; nullopt: it is no integer
  virtual std::string Repr() const;  // "<type_name>"
  virtual uint64_t Hash() const { return HashMix(0, reinterpret_cast<uintptr_t>(this)); }
};

// "int", "float", "torch.Tensor", "tile<128xf32>" ...: the kind as a message names it. kernel may be null.
std::string TypeName(const Value& value, const ir::Kernel* kernel);
// Python's str() / repr() of a static value.
std::string Str(const Value& value);
std::string Repr(const Value& value);
// Structural equality of static values as Python's == (1 == True, 1 == 1.0), as far as it needs no method of a class: instances are equal to themselves.
bool StaticEqual(const Value& a, const Value& b);
// Are tuples, lists and dicts inside each other more than `limit` deep? Asked where a value goes into a kernel, whose own walks over values recurse.
bool NestsDeeper(const Value& value, int limit);
inline constexpr int kMaxKernelNesting = 64;
uint64_t StaticHash(const Value& value);  // equal for equal values

// nullptr if there is no such key. The evaluator's own lookups (Impl::FindKey) also ask __hash__ and __eq__.
Value* DictFind(DictPayload& dict, const Value& key);
void DictSet(DictPayload& dict, const Value& key, Value value);
Value MakeDict(std::vector<std::pair<Value, Value>> entries);
Value MakeSet(bool frozen);
Value MakeNamedTuple(std::string class_name, std::vector<std::string> field_names, std::vector<Value> items);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_VALUE_H_
