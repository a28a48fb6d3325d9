#include "specializer/partial_eval/value.h"

#include "absl/strings/str_cat.h"

namespace tilevm::specializer {

Value Value::None() {
  Value v;
  v.kind_ = ValueKind::kNone;
  return v;
}
Value Value::Ellipsis() {
  Value v;
  v.kind_ = ValueKind::kEllipsis;
  return v;
}
Value Value::Bool(bool value) {
  Value v;
  v.kind_ = ValueKind::kBool;
  v.int_ = value ? 1 : 0;
  v.float_ = value ? 1 : 0;
  return v;
}
Value Value::Int(absl::int128 value) {
  Value v;
  v.kind_ = ValueKind::kInt;
  v.int_ = value;
  return v;
}
Value Value::Float(double value) {
  Value v;
  v.kind_ = ValueKind::kFloat;
  v.float_ = value;
  return v;
}
Value Value::String(std::string value) {
  auto payload = std::make_shared<StringPayload>();
  payload->text = std::move(value);
  payload->Charge(payload->text.size());
  return Shared(ValueKind::kString, std::move(payload));
}
Value Value::DTypeOf(isa::DType dtype) {
  Value v;
  v.kind_ = ValueKind::kDType;
  v.dtype_ = dtype;
  return v;
}
Value Value::TorchDType(isa::DType dtype) {
  Value value = DTypeOf(dtype);
  value.int_ = 1;
  return value;
}
Value Value::PointerTypeOf(isa::DType pointee) {
  Value v;
  v.kind_ = ValueKind::kPointerType;
  v.dtype_ = pointee;
  return v;
}
Value Value::Tensor(ir::ValueId id) {
  Value v;
  v.kind_ = ValueKind::kTensor;
  v.tensor_ = id;
  return v;
}
Value Value::Tuple(std::vector<Value> items) {
  auto payload = std::make_shared<ItemsPayload>();
  payload->items = std::move(items);
  payload->Recount();
  return Shared(ValueKind::kTuple, std::move(payload));
}
Value Value::List(std::vector<Value> items) {
  auto payload = std::make_shared<ItemsPayload>();
  payload->items = std::move(items);
  payload->Recount();
  return Shared(ValueKind::kList, std::move(payload));
}
Value Value::Builtin(std::string path) {
  auto payload = std::make_shared<StringPayload>();
  payload->text = std::move(path);
  return Shared(ValueKind::kBuiltin, std::move(payload));
}
Value Value::Unbound(std::string name, Loc loc) {
  auto payload = std::make_shared<UnboundPayload>();
  payload->name = std::move(name);
  payload->loc = loc;
  return Shared(ValueKind::kUnbound, std::move(payload));
}
Value Value::Shared(ValueKind kind, std::shared_ptr<Payload> payload) {
  Value v;
  v.kind_ = kind;
  v.payload_ = std::move(payload);
  return v;
}

const std::string& Value::string() const { return As<StringPayload>()->text; }
const ItemVector& Value::items() const { return As<ItemsPayload>()->items; }
ItemVector& Value::mutable_items() const { return As<ItemsPayload>()->items; }

// --- host objects: everything is refused unless the object says otherwise --------------------------------------------------------------

absl::StatusOr<Value> HostObject::GetAttr(Evaluator&, absl::string_view name, Loc loc) {
  const std::string type = type_name();
  return InvalidAt(loc, "AttributeError: '", type.substr(type.rfind('.') + 1), "' object has no attribute '", name, "'");
}
absl::Status HostObject::SetAttr(Evaluator&, absl::string_view name, const Value&, Loc loc) {
  return InvalidAt(loc, "AttributeError: attribute '", name, "' of '", type_name(), "' object cannot be set");
}
absl::StatusOr<Value> HostObject::CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(Value attribute, GetAttr(evaluator, name, loc));
  if (attribute.is(ValueKind::kObject)) return attribute.As<HostObject>()->Call(evaluator, args, loc);
  return InvalidAt(loc, "TypeError: attribute '", name, "' of '", type_name(), "' object is not callable");
}
absl::StatusOr<Value> HostObject::Call(Evaluator&, const CallArgs&, Loc loc) {
  return InvalidAt(loc, "TypeError: '", type_name(), "' object is not callable");
}
absl::StatusOr<Value> HostObject::Binary(Evaluator&, isa::Op op, const Value& other, bool, Loc loc) {
  return InvalidAt(loc, "TypeError: ", isa::Mnemonic(op), " is not supported between '", type_name(), "' and '", TypeName(other, nullptr), "'");
}
absl::StatusOr<Value> HostObject::InPlace(Evaluator& evaluator, isa::Op op, const Value& other, Loc loc) { return Binary(evaluator, op, other, false, loc); }
absl::StatusOr<Value> HostObject::Unary(Evaluator&, isa::Op op, Loc loc) {
  return InvalidAt(loc, "TypeError: ", isa::Mnemonic(op), " is not supported on '", type_name(), "'");
}
absl::StatusOr<Value> HostObject::Index(Evaluator&, const Value&, Loc loc) {
  return InvalidAt(loc, "TypeError: '", type_name(), "' object is not subscriptable");
}
absl::Status HostObject::SetItem(Evaluator&, const Value&, const Value&, Loc loc) {
  return InvalidAt(loc, "TypeError: '", type_name(), "' object does not support item assignment");
}
absl::StatusOr<bool> HostObject::Truth(Evaluator&, Loc) { return true; }
absl::StatusOr<int64_t> HostObject::Length(Evaluator&, Loc loc) {
  return InvalidAt(loc, "TypeError: object of type '", type_name(), "' has no len()");
}
std::string HostObject::Repr() const { return absl::StrCat("<", type_name(), ">"); }

// --- payloads ---

MemoryMeter*& MemoryMeter::Current() {
  thread_local MemoryMeter* current = nullptr;
  return current;
}

bool MemoryMeter::AddTensor(int64_t bytes) {
  if (tensor_bytes_.fetch_add(bytes, std::memory_order_relaxed) > max_tensor_bytes_ - bytes) {
    tensor_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  Add(1);  // the tensor may outlive the evaluator
  return true;
}

void MemoryMeter::FreeTensor(int64_t bytes) {
  tensor_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  Add(-1);
}

namespace {

constexpr int64_t kPayloadBytes = 96;  // what the smallest takes, with its counts of holders

}  // namespace

Payload::Payload() : meter_(MemoryMeter::Current()) {
  if (meter_ != nullptr) meter_->Add(kPayloadBytes);
}

Payload::~Payload() {
  if (meter_ != nullptr) meter_->Add(-kPayloadBytes - charged_);
}

void Value::Drop(std::shared_ptr<Payload> payload) {
  if (payload.use_count() != 1) return;
  thread_local std::vector<std::shared_ptr<Payload>>* pending = nullptr;
  if (pending != nullptr) {
    pending->push_back(std::move(payload));
    return;
  }
  std::vector<std::shared_ptr<Payload>> list;
  pending = &list;
  payload.reset();  // what it held comes to the list
  while (!list.empty()) {
    const std::shared_ptr<Payload> last = std::move(list.back());
    list.pop_back();
  }
  pending = nullptr;
}

}  // namespace tilevm::specializer
