#include "specializer/partial_eval/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "specializer/partial_eval/python_format.h"

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
const std::vector<Value>& Value::items() const { return As<ItemsPayload>()->items; }
std::vector<Value>& Value::mutable_items() const { return As<ItemsPayload>()->items; }

// --- host objects: everything is refused unless the object says otherwise --------------------------------------------------------------

absl::StatusOr<Value> HostObject::GetAttr(Evaluator&, absl::string_view name, Loc loc) {
  return InvalidAt(loc, "AttributeError: '", type_name(), "' object has no attribute '", name, "'");
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

// --- names and text -------------------------------------------------------------------------------------------------------------------

std::string TypeName(const Value& value, const ir::Kernel* kernel) {
  switch (value.kind()) {
    case ValueKind::kAbsent: return "nothing";
    case ValueKind::kUnbound: return "an unbound name";
    case ValueKind::kNone: return "NoneType";
    case ValueKind::kEllipsis: return "ellipsis";
    case ValueKind::kBool: return "bool";
    case ValueKind::kInt: return "int";
    case ValueKind::kFloat: return "float";
    case ValueKind::kString: return "str";
    case ValueKind::kDType: return "dtype";
    case ValueKind::kPointerType: return "pointer_type";
    case ValueKind::kBlockType: return "block_type";
    case ValueKind::kTuple: {
      const std::string& name = value.As<ItemsPayload>()->class_name;
      return name.empty() ? "tuple" : name;
    }
    case ValueKind::kList: return "list";
    case ValueKind::kDict: return "dict";
    case ValueKind::kSet: return value.As<SetPayload>()->frozen ? "frozenset" : "set";
    case ValueKind::kRange: return "range";
    case ValueKind::kSlice: return "slice";
    case ValueKind::kFunction: return "function";
    case ValueKind::kJitFunction: return "JITFunction";
    case ValueKind::kBoundMethod: return "method";
    case ValueKind::kBuiltin: return absl::StrCat("builtin ", value.string());
    case ValueKind::kUnit: return "module";
    case ValueKind::kClass: return "type";
    case ValueKind::kInstance: {
      const Value& type = value.As<InstancePayload>()->type;
      if (type.is(ValueKind::kClass)) return type.As<ClassPayload>()->name;
      return type.is(ValueKind::kBuiltin) ? type.string().substr(type.string().rfind('.') + 1) : "object";
    }
    case ValueKind::kConstexpr: return "constexpr";
    case ValueKind::kSpread: return "starred argument";
    case ValueKind::kDoubleSpread: return "double-starred argument";
    case ValueKind::kTensor:
      if (kernel != nullptr && value.tensor() < kernel->values.size()) return isa::ToString(kernel->TypeOf(value.tensor()));
      return "tensor";
    case ValueKind::kBlockPtr: return "block pointer";
    case ValueKind::kDescriptor: return "tensor descriptor";
    case ValueKind::kObject: return value.As<HostObject>()->type_name();
  }
  return "?";
}

namespace {

std::string FunctionName(const Value& value) {
  const auto* f = value.As<FunctionPayload>();
  if (f->module != nullptr && f->function < f->module->functions.size()) return f->module->functions[f->function].name;
  return "?";
}

std::string TorchDTypeName(isa::DType dtype) {
  switch (dtype) {
    case isa::DType::kI1: return "torch.bool";
    case isa::DType::kF8E4M3: return "torch.float8_e4m3fn";
    case isa::DType::kF8E5M2: return "torch.float8_e5m2";
    default: return absl::StrCat("torch.", isa::SurfaceName(dtype));
  }
}

// A structure can contain itself, and one that shares its parts can be much longer as text: deeper or longer than this is "...".
constexpr int kMaxReprDepth = 100;
constexpr size_t kMaxReprText = size_t{1} << 20;

void AppendRepr(const Value& value, int depth, std::string* out);

void AppendItems(const std::vector<Value>& items, int depth, std::string* out) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i != 0) *out += ", ";
    AppendRepr(items[i], depth, out);
  }
}

void AppendTuple(const ItemsPayload& tuple, int depth, std::string* out) {
  if (!tuple.field_names.empty()) {
    absl::StrAppend(out, tuple.class_name, "(");
    for (size_t i = 0; i < tuple.items.size(); ++i) {
      absl::StrAppend(out, i ? ", " : "", i < tuple.field_names.size() ? tuple.field_names[i] : "?", "=");
      AppendRepr(tuple.items[i], depth, out);
    }
    *out += ")";
    return;
  }
  const bool size = tuple.class_name == "torch.Size";
  *out += size ? "torch.Size([" : "(";
  AppendItems(tuple.items, depth, out);
  *out += size ? "])" : tuple.items.size() == 1 ? ",)" : ")";
}

void AppendInstance(const Value& value, int depth, std::string* out) {
  const auto* instance = value.As<InstancePayload>();
  absl::StrAppend(out, TypeName(value, nullptr), "(");
  if (!instance->attributes.empty() && instance->attributes[0].first == "args" && instance->attributes[0].second.is(ValueKind::kTuple)) {  // an exception
    AppendItems(instance->attributes[0].second.items(), depth, out);
    *out += ")";
    return;
  }
  bool first = true;
  for (const auto& [name, attribute] : instance->attributes) {
    absl::StrAppend(out, first ? "" : ", ", name, "=");
    AppendRepr(attribute, depth, out);
    first = false;
  }
  *out += ")";
}

void AppendRepr(const Value& value, int depth, std::string* out) {
  if (depth > kMaxReprDepth || out->size() > kMaxReprText) {
    *out += "...";
    return;
  }
  ++depth;
  switch (value.kind()) {
    case ValueKind::kAbsent: *out += "<absent>"; return;
    case ValueKind::kUnbound: absl::StrAppend(out, "<unbound ", value.As<UnboundPayload>()->name, ">"); return;
    case ValueKind::kNone: *out += "None"; return;
    case ValueKind::kEllipsis: *out += "Ellipsis"; return;
    case ValueKind::kBool: *out += value.bool_value() ? "True" : "False"; return;
    case ValueKind::kInt: *out += IntToString(value.int_value()); return;
    case ValueKind::kFloat: *out += FloatRepr(value.float_value()); return;
    case ValueKind::kString: *out += QuoteString(value.string()); return;
    case ValueKind::kDType: *out += value.is_torch_dtype() ? TorchDTypeName(value.dtype()) : std::string(isa::SurfaceName(value.dtype())); return;
    case ValueKind::kPointerType: absl::StrAppend(out, "pointer<", isa::SurfaceName(value.dtype()), ">"); return;
    case ValueKind::kBlockType: {
      const isa::Type& type = value.As<BlockTypePayload>()->type;
      std::string elem(isa::SurfaceName(type.elem.dtype));
      if (type.elem.pointer) elem = absl::StrCat("pointer<", elem, ">");
      absl::StrAppend(out, "<", isa::ShapeToString(type.shape), ", ", elem, ">");
      return;
    }
    case ValueKind::kTuple: return AppendTuple(*value.As<ItemsPayload>(), depth, out);
    case ValueKind::kList:
      *out += "[";
      AppendItems(value.items(), depth, out);
      *out += "]";
      return;
    case ValueKind::kSet: {
      const auto* set = value.As<SetPayload>();
      const std::string name = set->frozen ? "frozenset" : "set";
      if (set->items.empty()) {
        absl::StrAppend(out, name, "()");
        return;
      }
      *out += set->frozen ? "frozenset({" : "{";
      bool first = true;
      for (const auto& [item, nothing] : set->items) {
        if (!first) *out += ", ";
        AppendRepr(item, depth, out);
        first = false;
      }
      *out += set->frozen ? "})" : "}";
      return;
    }
    case ValueKind::kDict: {
      *out += "{";
      bool first = true;
      for (const auto& [key, item] : value.As<DictPayload>()->entries) {
        if (!first) *out += ", ";
        AppendRepr(key, depth, out);
        *out += ": ";
        AppendRepr(item, depth, out);
        first = false;
      }
      *out += "}";
      return;
    }
    case ValueKind::kRange: {
      const auto* range = value.As<RangePayload>();
      *out += "range(";
      AppendRepr(range->start, depth, out);
      *out += ", ";
      AppendRepr(range->stop, depth, out);
      if (!(range->step.is(ValueKind::kInt) && range->step.int_value() == 1)) {
        *out += ", ";
        AppendRepr(range->step, depth, out);
      }
      *out += ")";
      return;
    }
    case ValueKind::kSlice: {
      const auto* slice = value.As<SlicePayload>();
      *out += "slice(";
      AppendItems({slice->start, slice->stop, slice->step}, depth, out);
      *out += ")";
      return;
    }
    case ValueKind::kFunction: absl::StrAppend(out, "<function ", FunctionName(value), ">"); return;
    case ValueKind::kJitFunction: absl::StrAppend(out, "<JITFunction ", FunctionName(value.As<JitPayload>()->function), ">"); return;
    case ValueKind::kBoundMethod: absl::StrAppend(out, "<bound method ", value.As<BoundMethodPayload>()->name, ">"); return;
    case ValueKind::kBuiltin:
      if (absl::StartsWith(value.string(), "builtins.")) {
        absl::StrAppend(out, "<class '", value.string().substr(9), "'>");
      } else {
        absl::StrAppend(out, "<", value.string(), ">");
      }
      return;
    case ValueKind::kUnit: *out += "<module>"; return;
    case ValueKind::kClass: absl::StrAppend(out, "<class '", value.As<ClassPayload>()->name, "'>"); return;
    case ValueKind::kInstance: return AppendInstance(value, depth, out);
    case ValueKind::kConstexpr: case ValueKind::kSpread: case ValueKind::kDoubleSpread:
      *out += value.is(ValueKind::kConstexpr) ? "constexpr[" : value.is(ValueKind::kSpread) ? "*" : "**";
      AppendRepr(value.As<BoxPayload>()->inner, depth, out);
      if (value.is(ValueKind::kConstexpr)) *out += "]";
      return;
    case ValueKind::kTensor: *out += "<tensor>"; return;
    case ValueKind::kBlockPtr: *out += "<block pointer>"; return;
    case ValueKind::kDescriptor: *out += "<tensor descriptor>"; return;
    case ValueKind::kObject: *out += value.As<HostObject>()->Repr(); return;
  }
}

bool EqualAt(const Value& a, const Value& b, int depth);

bool EqualItems(const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!EqualAt(a[i], b[i], depth)) return false;
  }
  return true;
}

std::optional<size_t> Find(const PairTable& table, const Value& key) {
  for (const uint32_t place : table.Candidates(StaticHash(key))) {
    if (StaticEqual(table.at(place).first, key)) return place;
  }
  return std::nullopt;
}

bool EqualNumbers(const Value& a, const Value& b) {
  if (!a.is(ValueKind::kFloat) && !b.is(ValueKind::kFloat)) return a.int_value() == b.int_value();
  double x = a.is(ValueKind::kFloat) ? a.float_value() : static_cast<double>(a.int_value());
  double y = b.is(ValueKind::kFloat) ? b.float_value() : static_cast<double>(b.int_value());
  return x == y;
}

constexpr int kMaxEqualDepth = 64;  // a structure that contains itself ends here

bool EqualAt(const Value& a, const Value& b, int depth) {
  if (a.is(ValueKind::kConstexpr)) return EqualAt(a.As<BoxPayload>()->inner, b, depth);
  if (b.is(ValueKind::kConstexpr)) return EqualAt(a, b.As<BoxPayload>()->inner, depth);
  if (a.is_static_number() && b.is_static_number()) return EqualNumbers(a, b);
  if (a.kind() != b.kind() || depth > kMaxEqualDepth) return false;
  if (a.payload() != nullptr && a.payload() == b.payload()) return true;
  ++depth;
  switch (a.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNone:
    case ValueKind::kEllipsis: return true;
    case ValueKind::kString:
    case ValueKind::kBuiltin: return a.string() == b.string();
    case ValueKind::kDType:
    case ValueKind::kPointerType: return a.dtype() == b.dtype();
    case ValueKind::kBlockType: return a.As<BlockTypePayload>()->type == b.As<BlockTypePayload>()->type;
    case ValueKind::kTuple: return EqualItems(a.items(), b.items(), depth);
    case ValueKind::kList: return EqualItems(a.items(), b.items(), depth);
    case ValueKind::kSet: {
      const auto *x = a.As<SetPayload>(), *y = b.As<SetPayload>();
      if (x->items.size() != y->items.size()) return false;
      for (const auto& [item, nothing] : x->items) {
        if (!Find(y->items, item).has_value()) return false;
      }
      return true;
    }
    case ValueKind::kDict: {
      auto *x = a.As<DictPayload>(), *y = b.As<DictPayload>();
      if (x->entries.size() != y->entries.size()) return false;
      for (const auto& [key, item] : x->entries) {
        Value* other = DictFind(*y, key);
        if (other == nullptr || !EqualAt(item, *other, depth)) return false;
      }
      return true;
    }
    case ValueKind::kRange: {
      const auto *x = a.As<RangePayload>(), *y = b.As<RangePayload>();
      return EqualAt(x->start, y->start, depth) && EqualAt(x->stop, y->stop, depth) && EqualAt(x->step, y->step, depth);
    }
    case ValueKind::kSlice: {
      const auto *x = a.As<SlicePayload>(), *y = b.As<SlicePayload>();
      return EqualAt(x->start, y->start, depth) && EqualAt(x->stop, y->stop, depth) && EqualAt(x->step, y->step, depth);
    }
    case ValueKind::kFunction: {
      const auto *x = a.As<FunctionPayload>(), *y = b.As<FunctionPayload>();
      return x == y || (x->module == y->module && x->function == y->function && EqualItems(x->captures, y->captures, depth) &&
                        EqualItems(x->defaults, y->defaults, depth));
    }
    case ValueKind::kBoundMethod: {
      const auto *x = a.As<BoundMethodPayload>(), *y = b.As<BoundMethodPayload>();
      return x == y || (x->name == y->name && EqualAt(x->object, y->object, depth));
    }
    case ValueKind::kTensor: return a.tensor() == b.tensor();
    default: return a.payload() == b.payload();
  }
}

}  // namespace

std::string Repr(const Value& value) {
  std::string text;
  AppendRepr(value, 0, &text);
  return text;
}

std::string Str(const Value& value) {
  if (value.is(ValueKind::kString)) return value.string();
  if (value.is(ValueKind::kConstexpr)) return Str(value.As<BoxPayload>()->inner);
  if (value.is(ValueKind::kDType) && !value.is_torch_dtype()) {
    // Triton abbreviates: str(tl.float32) is "fp32".
    return TritonTypeName(value.dtype());
  }
  if (value.is(ValueKind::kInstance)) {
    // An exception is its arguments.
    if (value.As<InstancePayload>()->text != nullptr) return *value.As<InstancePayload>()->text;
    for (const auto& [name, attribute] : value.As<InstancePayload>()->attributes) {
      if (name != "args" || !attribute.is(ValueKind::kTuple)) continue;
      const auto& items = attribute.items();
      return items.empty() ? "" : items.size() == 1 ? Str(items[0]) : Repr(attribute);
    }
  }
  return Repr(value);
}

bool StaticEqual(const Value& a, const Value& b) { return EqualAt(a, b, 0); }

// --- payloads ---

MemoryMeter*& MemoryMeter::Current() {
  thread_local MemoryMeter* current = nullptr;
  return current;
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

// --- tables of pairs ---

namespace {

constexpr size_t kSmallTable = 8;  // up to here all hashes are compared

}  // namespace

PairTable::Places PairTable::Candidates(uint64_t hash) const {
  Places places;
  if (slots_.empty()) {
    for (size_t i = first_; i < pairs_.size(); ++i) {
      if (hashes_[i] == hash && !pairs_[i].first.absent()) places.push_back(static_cast<uint32_t>(i));
    }
    return places;
  }
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask; slots_[i] != 0; i = (i + 1) & mask) {
    const uint32_t place = slots_[i] - 1;
    if (hashes_[place] == hash && !pairs_[place].first.absent()) places.push_back(place);
  }
  return places;
}

void PairTable::Insert(size_t place) {
  const size_t mask = slots_.size() - 1;
  size_t i = hashes_[place] & mask;
  while (slots_[i] != 0) i = (i + 1) & mask;
  slots_[i] = static_cast<uint32_t>(place) + 1;
}

void PairTable::Rebuild() {
  if (live_ != pairs_.size()) {
    size_t to = 0;
    for (size_t from = 0; from < pairs_.size(); ++from) {
      if (pairs_[from].first.absent()) continue;
      if (to != from) {
        pairs_[to] = std::move(pairs_[from]);
        hashes_[to] = hashes_[from];
      }
      ++to;
    }
    pairs_.resize(to);
    hashes_.resize(to);
  }
  first_ = 0;
  past_ = pairs_.size();
  size_t size = 16;
  while (size < 4 * (live_ + 1)) size *= 2;
  slots_.assign(live_ < kSmallTable ? 0 : size, 0);
  for (size_t i = 0; i < pairs_.size() && !slots_.empty(); ++i) Insert(i);
}

void PairTable::Append(Value key, Value value, uint64_t hash) {
  const bool crowded = slots_.empty() ? pairs_.size() >= kSmallTable : 2 * (pairs_.size() + 1) > slots_.size();
  if (crowded) Rebuild();
  pairs_.emplace_back(std::move(key), std::move(value));
  hashes_.push_back(hash);
  ++live_;
  past_ = pairs_.size();
  if (!slots_.empty()) Insert(pairs_.size() - 1);
}

void PairTable::EraseAt(size_t place) {
  // What is erased may hold what is being looked at: it goes when the table is as it shall be.
  const Pair old = std::exchange(pairs_[place], Pair());
  --live_;
  while (first_ < past_ && pairs_[first_].first.absent()) ++first_;
  while (past_ > first_ && pairs_[past_ - 1].first.absent()) --past_;
}

void PairTable::clear() { *this = PairTable(); }

bool NestsDeeper(const Value& value, int limit) {
  const bool sequence = value.is(ValueKind::kTuple) || value.is(ValueKind::kList);
  if (!sequence && !value.is(ValueKind::kDict) && !value.is(ValueKind::kConstexpr)) return false;
  if (limit <= 0) return true;
  if (value.is(ValueKind::kConstexpr)) return NestsDeeper(value.As<BoxPayload>()->inner, limit - 1);
  if (sequence) return std::any_of(value.items().begin(), value.items().end(), [&](const Value& item) { return NestsDeeper(item, limit - 1); });
  for (const auto& [key, item] : value.As<DictPayload>()->entries) {
    if (NestsDeeper(key, limit - 1) || NestsDeeper(item, limit - 1)) return true;
  }
  return false;
}

uint64_t HashMix(uint64_t seed, uint64_t value) {
  uint64_t x = seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185u;
  return x ^ (x >> 27);
}

namespace {

uint64_t HashAt(const Value& value, int depth) {
  const uint64_t kind = static_cast<uint64_t>(value.kind());
  const auto pointer = [&] { return HashMix(kind, reinterpret_cast<uintptr_t>(value.payload().get())); };
  const auto items = [&](const std::vector<Value>& list) {
    uint64_t hash = HashMix(kind, list.size());
    for (size_t i = 0; i < list.size() && depth < kMaxEqualDepth; ++i) hash = HashMix(hash, HashAt(list[i], depth + 1));
    return hash;
  };
  switch (value.kind()) {
    case ValueKind::kBool: case ValueKind::kInt: case ValueKind::kFloat: {
      // Numbers are equal across kinds: by their double, which an integer beyond 53 bits shares with its neighbours.
      const double number = value.is(ValueKind::kFloat) ? value.float_value() : static_cast<double>(value.int_value());
      uint64_t bits = 0;
      if (number != 0) std::memcpy(&bits, &number, sizeof bits);
      return HashMix(1, bits);
    }
    case ValueKind::kString: case ValueKind::kBuiltin: return HashMix(kind, std::hash<std::string>()(value.string()));
    case ValueKind::kDType: case ValueKind::kPointerType: return HashMix(kind, static_cast<uint64_t>(value.dtype()));
    case ValueKind::kTuple: case ValueKind::kList: return items(value.items());
    case ValueKind::kSet: {
      uint64_t hash = 0;
      const auto& table = value.As<SetPayload>()->items;
      for (auto it = table.begin(); it != table.end(); ++it) hash += table.hash(it.place());
      return HashMix(kind, hash);
    }
    case ValueKind::kConstexpr: return HashAt(value.As<BoxPayload>()->inner, depth);
    case ValueKind::kFunction: return HashMix(kind, value.As<FunctionPayload>()->function);
    case ValueKind::kTensor: return HashMix(kind, static_cast<uint64_t>(value.tensor()));
    case ValueKind::kClass: case ValueKind::kInstance: case ValueKind::kObject: case ValueKind::kJitFunction: return pointer();
    default: return HashMix(kind, 0);
  }
}

}  // namespace

uint64_t StaticHash(const Value& value) { return HashAt(value, 0); }

Value* DictFind(DictPayload& dict, const Value& key) {
  const std::optional<size_t> place = Find(dict.entries, key);
  return place.has_value() ? &dict.entries.at(*place).second : nullptr;
}

void DictSet(DictPayload& dict, const Value& key, Value value) {
  if (Value* found = DictFind(dict, key)) {
    *found = std::move(value);
    return;
  }
  dict.entries.Append(key, std::move(value), StaticHash(key));
  dict.Recount();
}

Value MakeDict(std::vector<std::pair<Value, Value>> entries) {
  auto payload = std::make_shared<DictPayload>();
  for (auto& [key, value] : entries) DictSet(*payload, key, std::move(value));
  return Value::Shared(ValueKind::kDict, std::move(payload));
}

Value MakeSet(bool frozen) {
  auto payload = std::make_shared<SetPayload>();
  payload->frozen = frozen;
  return Value::Shared(ValueKind::kSet, std::move(payload));
}

Value MakeNamedTuple(std::string class_name, std::vector<std::string> field_names, std::vector<Value> items) {
  auto payload = std::make_shared<ItemsPayload>();
  payload->items = std::move(items);
  payload->class_name = std::move(class_name);
  payload->field_names = std::move(field_names);
  return Value::Shared(ValueKind::kTuple, std::move(payload));
}

}  // namespace tilevm::specializer
