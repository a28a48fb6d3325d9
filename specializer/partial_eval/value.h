// What a register of the open bytecode holds while it is evaluated: a static value, or a typed value of the tile IR being built.
//
// Values are cheap to copy. Numbers are held in place; everything else is shared. Lists, dicts, instances and host objects have Python's
// reference semantics (they can be changed through any copy); tuples and the rest never change. A kTensor is a typed IR value and exists only
// while a kernel is specialized; every other kind is static. A *weak* number (literal, constexpr) is a static kBool/kInt/kFloat; a *strong* one
// is a kTensor of rank 0 (isa op bind makes one out of the other).
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_VALUE_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "isa/module.h"
#include "isa/ops.h"
#include "isa/status.h"
#include "isa/types.h"
#include "specializer/ir/kernel.h"

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
class Evaluator;
struct CallArgs;

struct Payload {
  virtual ~Payload() = default;
};

class Value {
 public:
  Value() = default;  // kAbsent
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
  const std::vector<Value>& items() const;         // kTuple, kList
  std::vector<Value>& mutable_items() const;       // kList
  const std::shared_ptr<Payload>& payload() const { return payload_; }
  template <typename T>
  T* As() const {
    return static_cast<T*>(payload_.get());
  }

 private:
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
// Values may nest without end (a linked list, a list in a list in a list): what holds values lets go of them one after another, not one inside another.
void Dispose(std::vector<Value> values);

struct ItemsPayload : Payload {  // tuple, list
  ItemsPayload() = default;
  ~ItemsPayload() override { Dispose(std::move(items)); }
  std::vector<Value> items;
  std::string class_name;               // of a named tuple; "set", "generator", "torch.Size"; else ""
  std::vector<std::string> field_names;  // of a named tuple, else empty
};
struct DictPayload : Payload {
  DictPayload() = default;
  ~DictPayload() override;
  std::vector<std::pair<Value, Value>> entries;  // in order of insertion; small, searched linearly
  Value factory;                                  // collections.defaultdict: called for a key that is missing
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
  std::vector<Value> bases;
  std::vector<std::pair<std::string, Value>> attributes;
};
struct InstancePayload : Payload {
  InstancePayload() = default;
  ~InstancePayload() override;
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
  virtual std::string Repr() const;  // "<type_name>"
};

// "int", "float", "torch.Tensor", "tile<128xf32>" ...: the kind as a message names it. kernel may be null.
std::string TypeName(const Value& value, const ir::Kernel* kernel);
// Python's str() / repr() of a static value.
std::string Str(const Value& value);
std::string Repr(const Value& value);
// Structural equality of static values as Python's == (1 == True, 1 == 1.0).
bool StaticEqual(const Value& a, const Value& b);

// nullptr if there is no such key.
Value* DictFind(DictPayload& dict, const Value& key);
Value MakeDict(std::vector<std::pair<Value, Value>> entries);
Value MakeNamedTuple(std::string class_name, std::vector<std::string> field_names, std::vector<Value> items);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_VALUE_H_
