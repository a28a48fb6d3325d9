#include "specializer/partial_eval/value.h"

#include <algorithm>
#include <cmath>

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
  return Shared(ValueKind::kTuple, std::move(payload));
}
Value Value::List(std::vector<Value> items) {
  auto payload = std::make_shared<ItemsPayload>();
  payload->items = std::move(items);
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
    case ValueKind::kList: {
      const std::string& name = value.As<ItemsPayload>()->class_name;
      return name.empty() ? "list" : name;
    }
    case ValueKind::kDict: return "dict";
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

std::string ReprAt(const Value& value, int depth);

std::string ReprItems(const std::vector<Value>& items, int depth) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) absl::StrAppend(&out, i ? ", " : "", ReprAt(items[i], depth));
  return out;
}

std::string TorchDTypeName(isa::DType dtype) {
  switch (dtype) {
    case isa::DType::kI1: return "torch.bool";
    case isa::DType::kF8E4M3: return "torch.float8_e4m3fn";
    case isa::DType::kF8E5M2: return "torch.float8_e5m2";
    default: return absl::StrCat("torch.", isa::SurfaceName(dtype));
  }
}

std::string ReprTuple(const ItemsPayload& tuple, int depth) {
  if (!tuple.field_names.empty()) {
    std::string out = absl::StrCat(tuple.class_name, "(");
    for (size_t i = 0; i < tuple.items.size(); ++i) {
      absl::StrAppend(&out, i ? ", " : "", i < tuple.field_names.size() ? tuple.field_names[i] : "?", "=", ReprAt(tuple.items[i], depth));
    }
    return out + ")";
  }
  if (tuple.class_name == "torch.Size") return absl::StrCat("torch.Size([", ReprItems(tuple.items, depth), "])");
  return absl::StrCat("(", ReprItems(tuple.items, depth), tuple.items.size() == 1 ? ",)" : ")");
}

std::string ReprRange(const RangePayload& range, int depth) {
  std::string out = absl::StrCat("range(", ReprAt(range.start, depth), ", ", ReprAt(range.stop, depth));
  if (!(range.step.is(ValueKind::kInt) && range.step.int_value() == 1)) absl::StrAppend(&out, ", ", ReprAt(range.step, depth));
  return out + ")";
}

std::string ReprInstance(const Value& value, int depth) {
  const auto* instance = value.As<InstancePayload>();
  if (!instance->attributes.empty() && instance->attributes[0].first == "args" && instance->attributes[0].second.is(ValueKind::kTuple)) {  // an exception
    return absl::StrCat(TypeName(value, nullptr), "(", ReprItems(instance->attributes[0].second.items(), depth), ")");
  }
  std::string out = absl::StrCat(TypeName(value, nullptr), "(");
  bool first = true;
  for (const auto& [name, attribute] : instance->attributes) {
    absl::StrAppend(&out, first ? "" : ", ", name, "=", ReprAt(attribute, depth));
    first = false;
  }
  return out + ")";
}

// A structure can contain itself; eight levels are enough to recognise anything.
constexpr int kMaxReprDepth = 8;

std::string ReprAt(const Value& value, int depth) {
  if (depth > kMaxReprDepth) return "...";
  ++depth;
  switch (value.kind()) {
    case ValueKind::kAbsent: return "<absent>";
    case ValueKind::kUnbound: return absl::StrCat("<unbound ", value.As<UnboundPayload>()->name, ">");
    case ValueKind::kNone: return "None";
    case ValueKind::kEllipsis: return "Ellipsis";
    case ValueKind::kBool: return value.bool_value() ? "True" : "False";
    case ValueKind::kInt: return IntToString(value.int_value());
    case ValueKind::kFloat: return FloatRepr(value.float_value());
    case ValueKind::kString: return QuoteString(value.string());
    case ValueKind::kDType: return value.is_torch_dtype() ? TorchDTypeName(value.dtype()) : std::string(isa::SurfaceName(value.dtype()));
    case ValueKind::kPointerType: return absl::StrCat("pointer<", isa::SurfaceName(value.dtype()), ">");
    case ValueKind::kBlockType: {
      const isa::Type& type = value.As<BlockTypePayload>()->type;
      std::string elem(isa::SurfaceName(type.elem.dtype));
      if (type.elem.pointer) elem = absl::StrCat("pointer<", elem, ">");
      return absl::StrCat("<", isa::ShapeToString(type.shape), ", ", elem, ">");
    }
    case ValueKind::kTuple: return ReprTuple(*value.As<ItemsPayload>(), depth);
    case ValueKind::kList: {
      const auto* list = value.As<ItemsPayload>();
      if (list->class_name == "set") return list->items.empty() ? "set()" : absl::StrCat("{", ReprItems(list->items, depth), "}");
      return absl::StrCat("[", ReprItems(list->items, depth), "]");
    }
    case ValueKind::kDict: {
      std::string out = "{";
      bool first = true;
      for (const auto& [key, item] : value.As<DictPayload>()->entries) {
        absl::StrAppend(&out, first ? "" : ", ", ReprAt(key, depth), ": ", ReprAt(item, depth));
        first = false;
      }
      return out + "}";
    }
    case ValueKind::kRange: return ReprRange(*value.As<RangePayload>(), depth);
    case ValueKind::kSlice: {
      const auto* slice = value.As<SlicePayload>();
      return absl::StrCat("slice(", ReprAt(slice->start, depth), ", ", ReprAt(slice->stop, depth), ", ", ReprAt(slice->step, depth), ")");
    }
    case ValueKind::kFunction: return absl::StrCat("<function ", FunctionName(value), ">");
    case ValueKind::kJitFunction: return absl::StrCat("<JITFunction ", FunctionName(value.As<JitPayload>()->function), ">");
    case ValueKind::kBoundMethod: return absl::StrCat("<bound method ", value.As<BoundMethodPayload>()->name, ">");
    case ValueKind::kBuiltin:
      if (absl::StartsWith(value.string(), "builtins.")) return absl::StrCat("<class '", value.string().substr(9), "'>");
      return absl::StrCat("<", value.string(), ">");
    case ValueKind::kUnit: return "<module>";
    case ValueKind::kClass: return absl::StrCat("<class '", value.As<ClassPayload>()->name, "'>");
    case ValueKind::kInstance: return ReprInstance(value, depth);
    case ValueKind::kConstexpr: return absl::StrCat("constexpr[", ReprAt(value.As<BoxPayload>()->inner, depth), "]");
    case ValueKind::kSpread: return absl::StrCat("*", ReprAt(value.As<BoxPayload>()->inner, depth));
    case ValueKind::kDoubleSpread: return absl::StrCat("**", ReprAt(value.As<BoxPayload>()->inner, depth));
    case ValueKind::kTensor: return "<tensor>";
    case ValueKind::kBlockPtr: return "<block pointer>";
    case ValueKind::kDescriptor: return "<tensor descriptor>";
    case ValueKind::kObject: return value.As<HostObject>()->Repr();
  }
  return "?";
}

bool EqualAt(const Value& a, const Value& b, int depth);

bool EqualItems(const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!EqualAt(a[i], b[i], depth)) return false;
  }
  return true;
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
    case ValueKind::kList: {
      const auto *x = a.As<ItemsPayload>(), *y = b.As<ItemsPayload>();
      if (x->class_name != y->class_name) return false;
      if (x->class_name != "set") return EqualItems(x->items, y->items, depth);
      return x->items.size() == y->items.size() && std::all_of(x->items.begin(), x->items.end(), [&](const Value& item) {
               return std::any_of(y->items.begin(), y->items.end(), [&](const Value& other) { return EqualAt(item, other, depth); });
             });
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

std::string Repr(const Value& value) { return ReprAt(value, 0); }

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

void Dispose(std::vector<Value> values) {
  thread_local std::vector<Value>* pending = nullptr;
  if (pending != nullptr) {
    for (Value& value : values) pending->push_back(std::move(value));
    return;
  }
  pending = &values;
  while (!values.empty()) {
    Value last = std::move(values.back());
    values.pop_back();
    last = Value();  // its payload, if this was the last holder, appends what it held
  }
  pending = nullptr;
}

DictPayload::~DictPayload() {
  std::vector<Value> held;
  for (auto& [key, value] : entries) {
    held.push_back(std::move(key));
    held.push_back(std::move(value));
  }
  Dispose(std::move(held));
}

InstancePayload::~InstancePayload() {
  std::vector<Value> held;
  for (auto& [name, value] : attributes) held.push_back(std::move(value));
  Dispose(std::move(held));
}

bool StaticEqual(const Value& a, const Value& b) { return EqualAt(a, b, 0); }

Value* DictFind(DictPayload& dict, const Value& key) {
  for (auto& [k, v] : dict.entries) {
    if (StaticEqual(k, key)) return &v;
  }
  return nullptr;
}

Value MakeDict(std::vector<std::pair<Value, Value>> entries) {
  auto payload = std::make_shared<DictPayload>();
  payload->entries = std::move(entries);
  return Value::Shared(ValueKind::kDict, std::move(payload));
}

Value MakeNamedTuple(std::string class_name, std::vector<std::string> field_names, std::vector<Value> items) {
  auto payload = std::make_shared<ItemsPayload>();
  payload->items = std::move(items);
  payload->class_name = std::move(class_name);
  payload->field_names = std::move(field_names);
  return Value::Shared(ValueKind::kTuple, std::move(payload));
}

}  // namespace tilevm::specializer
