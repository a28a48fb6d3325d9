// Classes and their instances, named tuples, dataclasses, enums, and exceptions.
//
// A named tuple class is a kClass with `_fields` (and `_field_defaults`), a dataclass one with `__dataclass_fields__`; exceptions of Python itself
// are instances whose type is the kBuiltin "builtins.ValueError".
#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/strings/ascii.h"
#include "specializer/partial_eval/exceptions.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/iterator.h"

namespace tilevm::specializer {

namespace {

constexpr std::pair<absl::string_view, absl::string_view> kExceptions[] = {
    {"BaseException", ""}, {"Exception", "BaseException"}, {"ArithmeticError", "Exception"}, {"AssertionError", "Exception"},
    {"AttributeError", "Exception"}, {"ImportError", "Exception"}, {"LookupError", "Exception"}, {"NameError", "Exception"},
    {"OSError", "Exception"}, {"RuntimeError", "Exception"}, {"StopIteration", "Exception"}, {"SyntaxError", "Exception"}, {"TypeError", "Exception"},
    {"ValueError", "Exception"}, {"Warning", "Exception"}, {"KeyboardInterrupt", "BaseException"}, {"SystemExit", "BaseException"},
    {"MemoryError", "Exception"}, {"FloatingPointError", "ArithmeticError"}, {"OverflowError", "ArithmeticError"}, {"ZeroDivisionError", "ArithmeticError"},
    {"ModuleNotFoundError", "ImportError"}, {"IndexError", "LookupError"}, {"KeyError", "LookupError"}, {"UnboundLocalError", "NameError"},
    {"FileNotFoundError", "OSError"}, {"PermissionError", "OSError"}, {"NotImplementedError", "RuntimeError"}, {"RecursionError", "RuntimeError"},
    {"UserWarning", "Warning"}, {"DeprecationWarning", "Warning"}, {"FutureWarning", "Warning"}, {"RuntimeWarning", "Warning"},
    {"FrozenInstanceError", "AttributeError"}, {"JSONDecodeError", "ValueError"}, {"GeneratorExit", "BaseException"}, {"StopAsyncIteration", "Exception"}, {"TimeoutError", "OSError"},
    {"EnvironmentError", "OSError"}, {"IOError", "OSError"},
};

// Those of Triton and torch, by the last part of their path: each is found in several modules.
constexpr std::pair<absl::string_view, absl::string_view> kLibraryExceptions[] = {
    {"TritonError", "Exception"}, {"CompilationError", "TritonError"}, {"CompileTimeAssertionFailure", "CompilationError"},
    {"UnsupportedLanguageConstruct", "CompilationError"}, {"OutOfResources", "TritonError"}, {"OutOfMemoryError", "RuntimeError"},
    {"PTXASError", "TritonError"}, {"AutotunerError", "TritonError"}, {"InterpreterError", "TritonError"}, {"AcceleratorError", "RuntimeError"},
};

// An error of tilevm itself whose message is worded without the name of its class: it is shown as it is worded when it is raised again.
constexpr absl::string_view kEngineError = "__engine_error__";

// The classes of `type` in the order in which attributes are looked for (C3), itself first; those that only have a name here are not among them.
constexpr absl::string_view kBaseOrder = "__base_order__";  // the attribute that keeps the rest of it where a class has several bases

// The attribute that lists the methods which are abstract in the class, sorted.
constexpr absl::string_view kAbstractMethods = "__abstractmethods__";

MethodWrapper* AsWrapper(const Value& value) { return value.is(ValueKind::kObject) ? dynamic_cast<MethodWrapper*>(value.As<HostObject>()) : nullptr; }

// Takes the mark of @abstractmethod away from what a class body holds, through property and the like. True if there was one.
bool Unmark(Value& value) {
  MethodWrapper* wrapper = AsWrapper(value);
  if (wrapper == nullptr) return false;
  if (wrapper->kind == MethodWrapper::Kind::kAbstract) {
    value = Value(wrapper->function);
    Unmark(value);
    return true;
  }
  const bool getter = Unmark(wrapper->function), setter = Unmark(wrapper->setter);
  return getter || setter;
}

const Value* OwnAttribute(const Value& type, absl::string_view name) {
  for (const auto& [key, value] : type.As<ClassPayload>()->attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::vector<Value> ClassOrder(Value type) {
  std::vector<Value> order;
  while (true) {
    order.push_back(type);
    if (const Value* rest = OwnAttribute(type, kBaseOrder)) {
      order.insert(order.end(), rest->items().begin(), rest->items().end());
      return order;
    }
    const std::vector<Value>& bases = type.As<ClassPayload>()->bases;
    const auto base = std::find_if(bases.begin(), bases.end(), [](const Value& b) { return b.is(ValueKind::kClass); });
    if (base == bases.end()) return order;
    type = Value(*base);
  }
}

// The order of the bases' classes together; nullopt if theirs contradict each other.
std::optional<std::vector<Value>> MergeOrders(std::vector<std::vector<Value>> orders) {
  const auto same = [](const Value& a, const Value& b) { return a.payload() == b.payload(); };
  std::vector<Value> merged;
  while (true) {
    orders.erase(std::remove_if(orders.begin(), orders.end(), [](const auto& order) { return order.empty(); }), orders.end());
    if (orders.empty()) return merged;
    const auto first = std::find_if(orders.begin(), orders.end(), [&](const auto& candidate) {
      return std::none_of(orders.begin(), orders.end(), [&](const auto& order) {
        return std::any_of(order.begin() + 1, order.end(), [&](const Value& type) { return same(type, candidate[0]); });
      });
    });
    if (first == orders.end()) return std::nullopt;
    const Value next = (*first)[0];
    merged.push_back(next);
    for (auto& order : orders) {
      if (same(order[0], next)) order.erase(order.begin());
    }
  }
}

absl::string_view ParentException(absl::string_view name) {
  for (const auto& [child, parent] : kExceptions) {
    if (child == name) return parent;
  }
  for (const auto& [child, parent] : kLibraryExceptions) {
    if (child == name) return parent;
  }
  return "";
}

// The name in the tables above of the exception at a path, "" for what is none.
absl::string_view ExceptionName(absl::string_view path) {
  if (absl::ConsumePrefix(&path, "builtins.")) return path == "IOError" || path == "EnvironmentError" ? "OSError" : path;
  if (!absl::StartsWith(path, "triton.") && !absl::StartsWith(path, "torch.")) return "";
  path.remove_prefix(path.rfind('.') + 1);
  for (const auto& [child, parent] : kLibraryExceptions) {
    if (child == path) return path;
  }
  return "";
}

bool IsFunctionLike(const Value& value) {
  return value.is(ValueKind::kFunction) || value.is(ValueKind::kJitFunction) || value.is(ValueKind::kObject) || value.is(ValueKind::kBoundMethod);
}

Value NewInstance(const Value& type, std::vector<std::pair<std::string, Value>> attributes) {
  auto payload = std::make_shared<InstancePayload>();
  payload->type = type;
  payload->attributes = std::move(attributes);
  return Value::Shared(ValueKind::kInstance, std::move(payload));
}

// The names of `x: int` lines of a class body, kept by the front end as __annotations__ (a tuple, list or dict of names); else the plain attributes.
std::vector<std::string> FieldNames(const std::vector<std::pair<std::string, Value>>& attributes) {
  std::vector<std::string> names;
  for (const auto& [name, value] : attributes) {
    if (name != "__annotations__") continue;
    if (value.is(ValueKind::kTuple) || value.is(ValueKind::kList)) {
      for (const Value& item : value.items()) names.push_back(Str(item));
    }
    return names;
  }
  for (const auto& [name, value] : attributes) {
    if (!absl::StartsWith(name, "__") && !IsFunctionLike(value)) names.push_back(name);
  }
  return names;
}

Value NameTuple(const std::vector<std::string>& names) {
  std::vector<Value> items;
  for (const std::string& name : names) items.push_back(Value::String(name));
  return Value::Tuple(std::move(items));
}

}  // namespace

bool IsExceptionName(absl::string_view path) {
  const absl::string_view name = ExceptionName(path);
  if (name.empty() || name == "BaseException") return !name.empty();
  if (!absl::StartsWith(path, "builtins.")) return true;
  return std::any_of(std::begin(kExceptions), std::end(kExceptions), [&](const auto& row) { return row.first == name; });
}

absl::StatusOr<Value> PartialObject::Call(Evaluator& evaluator, const CallArgs& more, Loc loc) {
  CallArgs all = args;
  all.positional.insert(all.positional.end(), more.positional.begin(), more.positional.end());
  for (const auto& keyword : more.keyword) {
    bool replaced = false;
    for (auto& [name, value] : all.keyword) {
      if (name == keyword.first) value = keyword.second, replaced = true;
    }
    if (!replaced) all.keyword.push_back(keyword);
  }
  return evaluator.Call(callee, all, loc);
}

absl::StatusOr<Value> MethodWrapper::Call(Evaluator& evaluator, const CallArgs& args, Loc loc) { return evaluator.Call(function, args, loc); }

// `@x.setter` is called with the function: a property with that too.
absl::StatusOr<Value> MethodWrapper::CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) {
  if (kind == Kind::kProperty && (name == "setter" || name == "getter" || name == "deleter") && args.positional.size() == 1) {
    auto copy = std::make_shared<MethodWrapper>(*this);
    if (name == "setter") copy->setter = args.positional[0];
    if (name == "getter") copy->function = args.positional[0];
    return Value::Shared(ValueKind::kObject, std::move(copy));
  }
  return HostObject::CallMethod(evaluator, name, args, loc);
}
absl::StatusOr<Value> MethodWrapper::GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) {
  if (kind == Kind::kProperty && (name == "setter" || name == "getter" || name == "deleter")) {
    auto method = std::make_shared<PartialObject>();
    method->callee = Value::Builtin("tilevm.property_part");
    auto self = std::make_shared<MethodWrapper>(*this);
    method->args.positional = {Value::Shared(ValueKind::kObject, std::move(self)), Value::String(std::string(name))};
    return Value::Shared(ValueKind::kObject, std::move(method));
  }
  return HostObject::GetAttr(evaluator, name, loc);
}

const Value* Evaluator::Impl::FindInClass(const Value& type, absl::string_view name) const {
  if (!type.is(ValueKind::kClass)) return nullptr;
  const Value* at = &type;
  while (true) {  // along single bases; the order of several is kept with their class
    if (const Value* found = OwnAttribute(*at, name)) return found;
    if (const Value* rest = OwnAttribute(*at, kBaseOrder)) {
      for (const Value& next : rest->items()) {
        if (const Value* found = OwnAttribute(next, name)) return found;
      }
      return nullptr;
    }
    const std::vector<Value>& bases = at->As<ClassPayload>()->bases;
    const auto base = std::find_if(bases.begin(), bases.end(), [](const Value& b) { return b.is(ValueKind::kClass); });
    if (base == bases.end()) return nullptr;
    at = &*base;
  }
}

bool Evaluator::Impl::HasBase(const Value& type, absl::string_view path) const {
  if (type.is(ValueKind::kBuiltin)) return type.string() == path;
  if (!type.is(ValueKind::kClass)) return false;
  for (const Value& base : type.As<ClassPayload>()->bases) {
    if (HasBase(base, path)) return true;
  }
  return false;
}

absl::StatusOr<Value> Evaluator::Impl::MakeClass(absl::string_view name, std::vector<Value> bases, std::vector<std::pair<std::string, Value>> attributes,
                                                 Loc loc) {
  for (const Value& base : bases) {
    if (!base.is(ValueKind::kClass) && !base.is(ValueKind::kBuiltin) && !base.is(ValueKind::kObject)) {
      return InvalidAt(loc, "TypeError: the base of class '", name, "' is a ", NameOfType(base));
    }
  }
  auto payload = std::make_shared<ClassPayload>();
  payload->name = std::string(name);
  constexpr int kMaxInheritance = 200;
  for (const Value& base : bases) {
    if (base.is(ValueKind::kClass)) payload->depth = std::max(payload->depth, base.As<ClassPayload>()->depth + 1);
  }
  if (payload->depth > kMaxInheritance) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "RecursionError: class '", name, "' has more than ", kMaxInheritance, " classes above it");
  }
  payload->bases = std::move(bases);
  payload->attributes = std::move(attributes);
  std::vector<Value> classes;
  for (const Value& base : payload->bases) {
    if (base.is(ValueKind::kClass)) classes.push_back(base);
  }
  if (classes.size() > 1) {
    std::vector<std::vector<Value>> orders;
    for (size_t i = 0; i < classes.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (classes[i].payload() == classes[j].payload()) return InvalidAt(loc, "TypeError: duplicate base class ", classes[i].As<ClassPayload>()->name);
      }
      orders.push_back(ClassOrder(classes[i]));
    }
    orders.push_back(classes);
    std::optional<std::vector<Value>> order = MergeOrders(std::move(orders));
    if (!order.has_value()) {
      const auto names = [](std::string* out, const Value& base) { out->append(base.As<ClassPayload>()->name); };
      return InvalidAt(loc, "TypeError: Cannot create a consistent method resolution order (MRO) for bases ", absl::StrJoin(classes, ", ", names));
    }
    payload->attributes.emplace_back(std::string(kBaseOrder), Value::Tuple(*std::move(order)));
  }
  Value type = Value::Shared(ValueKind::kClass, payload);
  std::set<std::string> abstract;
  for (auto& [key, value] : payload->attributes) {
    if (Unmark(value)) abstract.insert(key);
  }
  for (const Value& base : classes) {
    const Value* inherited = OwnAttribute(base, kAbstractMethods);
    for (size_t i = 0; inherited != nullptr && i < inherited->items().size(); ++i) {
      const std::string& method = inherited->items()[i].string();
      const Value* own = FindInClass(type, method);
      if (own != nullptr && own->payload() == FindInClass(base, method)->payload()) abstract.insert(method);
    }
  }
  if (!abstract.empty() && HasBase(type, "abc.ABC")) {
    payload->attributes.emplace_back(std::string(kAbstractMethods), NameTuple(std::vector<std::string>(abstract.begin(), abstract.end())));
  }
  for (const char* path :
       {"list", "dict", "set", "frozenset", "tuple", "float", "bool", "collections.OrderedDict", "collections.defaultdict", "collections.Counter",
        "collections.deque", "collections.UserDict"}) {
    const std::string whole = absl::StrContains(path, ".") ? std::string(path) : absl::StrCat("builtins.", path);
    if (HasBase(type, whole)) return UnimplementedAt(loc, "class '", name, "': a subclass of ", path, " is not supported");
  }
  if (HasBase(type, "typing.NamedTuple") && FindInClass(type, "_fields") == nullptr) {
    payload->attributes.emplace_back("_fields", NameTuple(FieldNames(payload->attributes)));
  }
  bool is_enum = false;
  for (const char* path : {"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"}) is_enum |= HasBase(type, path);
  if (is_enum) {
    TILEVM_RETURN_IF_ERROR(MakeMembers(type, loc));
  } else if (HasBase(type, "builtins.int") || HasBase(type, "builtins.str")) {
    return UnimplementedAt(loc, "class '", name, "': a subclass of ", HasBase(type, "builtins.int") ? "int" : "str", " is not supported");
  }
  const auto attributes_now = payload->attributes;
  for (const auto& [key, value] : attributes_now) {
    if (value.is(ValueKind::kInstance)) TILEVM_RETURN_IF_ERROR(CallDunder(value, "__set_name__", {type, Value::String(key)}, loc).status());
  }
  for (const Value& base : payload->bases) {
    const Value* hook = base.is(ValueKind::kClass) ? FindInClass(base, "__init_subclass__") : nullptr;
    if (hook == nullptr) continue;
    auto* wrapper = hook->is(ValueKind::kObject) ? dynamic_cast<MethodWrapper*>(hook->As<HostObject>()) : nullptr;  // @classmethod, written out
    TILEVM_RETURN_IF_ERROR(CallHost(wrapper != nullptr ? wrapper->function : *hook, {type}, loc).status());
    break;
  }
  return type;
}

// Names of an enum's body become members; one with the value of an earlier one is another name of it.
absl::Status Evaluator::Impl::MakeMembers(const Value& type, Loc loc) {
  auto* payload = type.As<ClassPayload>();
  if (const Value* inherited = FindInClass(type, "__members__"); inherited != nullptr && !inherited->items().empty()) {
    return InvalidAt(loc, "TypeError: <enum '", payload->name, "'> cannot extend an enum that has members");
  }
  const bool text = HasBase(type, "enum.StrEnum"), flag = HasBase(type, "enum.Flag") || HasBase(type, "enum.IntFlag");
  std::vector<Value> members;
  Value last = Value::Int(0);
  for (auto& [key, value] : payload->attributes) {
    if (absl::StartsWith(key, "_") || IsFunctionLike(value) || value.is(ValueKind::kClass)) continue;
    if (value.is(ValueKind::kBuiltin) && value.string() == "enum.auto()") {
      if (text) {
        value = Value::String(absl::AsciiStrToLower(key));
      } else if (flag) {
        value = Value::Int(absl::int128(1) << static_cast<int>(std::min<size_t>(members.size(), 100)));
      } else {
        TILEVM_ASSIGN_OR_RETURN(value, Binary(isa::Op::kAdd, last, Value::Int(1), loc));
      }
    }
    if (value.is(ValueKind::kInt)) last = value;
    const Value* same = nullptr;
    for (const Value& member : members) {
      TILEVM_ASSIGN_OR_RETURN(bool equal, Equals(member.As<InstancePayload>()->attributes[1].second, value, loc));
      if (equal) same = &member;
    }
    if (same != nullptr) {
      value = *same;
      continue;
    }
    value = NewInstance(type, {{"name", Value::String(key)}, {"value", value}});
    members.push_back(value);
  }
  payload->attributes.emplace_back("__members__", Value::Tuple(std::move(members)));
  return absl::OkStatus();
}

bool Evaluator::Impl::HasFlag(const Value& type, absl::string_view name) const {
  const Value* flag = FindInClass(type, name);
  return flag != nullptr && flag->is(ValueKind::kBool) && flag->bool_value();
}

std::optional<Value> Evaluator::Impl::DataFields(const Value& instance) const {
  if (!instance.is(ValueKind::kInstance)) return std::nullopt;
  const auto* payload = instance.As<InstancePayload>();
  if (!HasFlag(payload->type, "__dataclass_eq__")) return std::nullopt;
  std::vector<Value> fields;
  for (const Value& name : FindInClass(payload->type, "__dataclass_compare__")->items()) {
    for (const auto& [key, value] : payload->attributes) {
      if (key == name.string()) fields.push_back(value);
    }
  }
  return Value::Tuple(std::move(fields));
}

std::optional<Value> Evaluator::Impl::EnumNumber(const Value& value) const {
  if (!value.is(ValueKind::kInstance)) return std::nullopt;
  const auto* payload = value.As<InstancePayload>();
  if (payload->attributes.size() < 2 || !payload->type.is(ValueKind::kClass) || FindInClass(payload->type, "__members__") == nullptr) return std::nullopt;
  for (const char* path : {"enum.IntEnum", "enum.StrEnum", "enum.IntFlag", "builtins.int", "builtins.str"}) {
    if (HasBase(payload->type, path)) return payload->attributes[1].second;
  }
  return std::nullopt;
}

namespace {

absl::StatusOr<Value> NewException(Evaluator::Impl& impl, const Value& type, const CallArgs& args, Loc loc) {
  Value exception = NewInstance(type, {{"args", Value::Tuple(args.positional)}});
  const absl::string_view name = ExceptionName(type.string());
  if (name != "OutOfResources") return exception;
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, 3, 3, loc, {"required", "limit", "name"}));
  std::vector<Value> parts;
  for (size_t i = 0; i < 3; ++i) {
    constexpr const char* kNames[] = {"required", "limit", "name"};
    parts.push_back(Argument(args, i, kNames[i]));
    if (parts.back().absent()) return InvalidAt(loc, "TypeError: OutOfResources() missing required argument: '", kNames[i], "'");
    exception.As<InstancePayload>()->attributes.emplace_back(kNames[i], parts.back());
  }
  std::vector<std::string> texts;
  for (const Value& part : parts) {
    TILEVM_ASSIGN_OR_RETURN(std::string text, impl.ToStr(part, loc));
    texts.push_back(std::move(text));
  }
  exception.As<InstancePayload>()->text = std::make_shared<const std::string>(absl::StrCat(
      "out of resource: ", texts[2], ", Required: ", texts[0], ", Hardware limit: ", texts[1], ". Reducing block sizes or `num_stages` may help."));
  return exception;
}

}  // namespace

// `raise x from y`: x, which remembers y.
absl::StatusOr<Value> CausedBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "raise", 2, 2, loc));
  Value exception = args.positional[0], cause = args.positional[1];
  for (Value* value : {&exception, &cause}) {
    if (value->is(ValueKind::kClass) || value->is(ValueKind::kBuiltin)) {
      TILEVM_ASSIGN_OR_RETURN(*value, impl.Instantiate(*value, {}, loc));
    }
  }
  if (exception.is(ValueKind::kInstance)) TILEVM_RETURN_IF_ERROR(impl.SetAttr(exception, "__cause__", cause, loc, true));
  return exception;
}

// object.__new__(cls, ...): an instance without attributes.
absl::StatusOr<Value> NewObjectBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  if (args.positional.empty() || !args.positional[0].is(ValueKind::kClass)) return InvalidAt(loc, "TypeError: object.__new__(X): X is not a type object");
  const Value& type = args.positional[0];
  TILEVM_RETURN_IF_ERROR(impl.CheckInstantiable(type, loc));
  Value instance = NewInstance(type, {});
  if (impl.IsSubclass(type, Value::Builtin("builtins.BaseException"))) {
    instance.As<InstancePayload>()->attributes.emplace_back("args", Value::Tuple(std::vector<Value>(args.positional.begin() + 1, args.positional.end())));
  }
  return instance;
}

// A class with methods that are abstract to the end has no instances.
absl::Status Evaluator::Impl::CheckInstantiable(const Value& type, Loc loc) const {
  const Value* abstract = OwnAttribute(type, kAbstractMethods);
  if (abstract == nullptr || abstract->items().empty()) return absl::OkStatus();
  const auto add = [](std::string* out, const Value& name) { out->append(name.string()); };
  return InvalidAt(loc, "TypeError: Can't instantiate abstract class ", type.As<ClassPayload>()->name, " with abstract method",
                   abstract->items().size() == 1 ? " " : "s ", absl::StrJoin(abstract->items(), ", ", add));
}

absl::StatusOr<Value> Evaluator::Impl::Instantiate(const Value& type, const CallArgs& args, Loc loc) {
  if (type.is(ValueKind::kBuiltin)) return NewException(*this, type, args, loc);
  const std::string& name = type.As<ClassPayload>()->name;
  TILEVM_RETURN_IF_ERROR(CheckInstantiable(type, loc));
  const Value* maker = FindInClass(type, "__new__");
  if (maker != nullptr) {
    CallArgs with_type = args;
    with_type.positional.insert(with_type.positional.begin(), type);
    auto* wrapper = maker->is(ValueKind::kObject) ? dynamic_cast<MethodWrapper*>(maker->As<HostObject>()) : nullptr;  // @staticmethod, written out
    TILEVM_ASSIGN_OR_RETURN(const Value made, CallValue(wrapper != nullptr ? wrapper->function : Value(*maker), with_type, false, loc));
    const Value* init = made.is(ValueKind::kInstance) && IsSubclass(made.As<InstancePayload>()->type, type)
                            ? FindInClass(made.As<InstancePayload>()->type, "__init__") : nullptr;
    if (init == nullptr) return made;
    CallArgs with_self = args;
    with_self.positional.insert(with_self.positional.begin(), made);
    TILEVM_RETURN_IF_ERROR(CallValue(Value(*init), with_self, false, loc).status());
    return made;
  }
  if (const Value* members = FindInClass(type, "__members__"); members != nullptr && args.positional.size() == 1) {
    if (args.positional[0].is(ValueKind::kInstance) && args.positional[0].As<InstancePayload>()->type.payload() == type.payload()) return args.positional[0];
    for (const Value& member : members->items()) {
      TILEVM_ASSIGN_OR_RETURN(bool equal, Equals(member.As<InstancePayload>()->attributes[1].second, args.positional[0], loc));
      if (equal) return member;
    }
    return InvalidAt(loc, "ValueError: ", Repr(args.positional[0]), " is not a valid ", name);
  }
  const Value* fields = FindInClass(type, "_fields");
  const bool named_tuple = fields != nullptr;
  if (fields == nullptr) fields = FindInClass(type, "__dataclass_fields__");
  if (fields != nullptr && FindInClass(type, "__init__") == nullptr) {
    const std::vector<Value> names = fields->items().ToVector();
    const auto field_of = [&](size_t i) -> const InstancePayload* {  // what dataclasses.field(...) said
      const Value* given = FindInClass(type, names[i].string());
      if (given == nullptr || !given->is(ValueKind::kInstance)) return nullptr;
      return HasBase(given->As<InstancePayload>()->type, "dataclasses.Field") ? given->As<InstancePayload>() : nullptr;
    };
    const auto flag = [&](const InstancePayload* field, absl::string_view name) {
      if (field == nullptr) return true;
      for (const auto& [key, value] : field->attributes) {
        if (key == name) return !value.is(ValueKind::kBool) || value.bool_value();
      }
      return true;
    };
    std::vector<size_t> slots;  // of positional arguments
    for (size_t i = 0; i < names.size(); ++i) {
      const bool keyword_only = HasFlag(type, "__dataclass_kw_only__") || !flag(field_of(i), "positional");
      if (named_tuple || (flag(field_of(i), "init") && !keyword_only)) slots.push_back(i);
    }
    std::vector<Value> values(names.size());
    if (args.positional.size() > slots.size())
      return InvalidAt(loc, "TypeError: ", name, "() takes ", slots.size(), " arguments but ", args.positional.size(), " were given");
    for (size_t i = 0; i < args.positional.size(); ++i) values[slots[i]] = args.positional[i];
    for (const auto& [keyword, value] : args.keyword) {
      size_t i = 0;
      while (i < names.size() && names[i].string() != keyword) ++i;
      if (i == names.size() || (!named_tuple && !flag(field_of(i), "init")))
        return InvalidAt(loc, "TypeError: ", name, "() got an unexpected keyword argument '", keyword, "'");
      if (!values[i].absent()) return InvalidAt(loc, "TypeError: ", name, "() got multiple values for argument '", keyword, "'");
      values[i] = value;
    }
    std::vector<std::string> field_names;
    for (size_t i = 0; i < names.size(); ++i) {
      field_names.push_back(names[i].string());
      if (!values[i].absent()) continue;
      const Value* otherwise = FindInClass(type, names[i].string());
      if (const Value* defaults = FindInClass(type, "_field_defaults")) {
        if (Value* found = DictFind(*defaults->As<DictPayload>(), names[i])) otherwise = found;
      }
      if (otherwise == nullptr) return InvalidAt(loc, "TypeError: ", name, "() missing required argument: '", names[i].string(), "'");
      values[i] = *otherwise;
      if (otherwise->is(ValueKind::kInstance) && HasBase(otherwise->As<InstancePayload>()->type, "dataclasses.Field")) {  // dataclasses.field(...)
        TILEVM_ASSIGN_OR_RETURN(Value factory, InstanceAttr(*otherwise, "default_factory", loc));
        if (factory.absent_or_none()) {
          TILEVM_ASSIGN_OR_RETURN(values[i], InstanceAttr(*otherwise, "default", loc));
          if (values[i].is(ValueKind::kBuiltin) && values[i].string() == "dataclasses.MISSING") {
            if (!flag(field_of(i), "init")) continue;  // __post_init__ has to set it
            return InvalidAt(loc, "TypeError: ", name, "() missing required argument: '", names[i].string(), "'");
          }
        } else {
          TILEVM_ASSIGN_OR_RETURN(values[i], CallHost(factory, {}, loc));
        }
      }
    }
    if (named_tuple) return MakeNamedTuple(name, std::move(field_names), std::move(values));
    std::vector<std::pair<std::string, Value>> attributes;
    for (size_t i = 0; i < names.size(); ++i) {
      const bool unset = values[i].absent() || (values[i].is(ValueKind::kBuiltin) && values[i].string() == "dataclasses.MISSING");
      if (!unset) attributes.emplace_back(field_names[i], values[i]);
    }
    Value instance = NewInstance(type, std::move(attributes));
    TILEVM_RETURN_IF_ERROR(CallDunder(instance, "__post_init__", {}, loc).status());
    return instance;
  }
  Value instance = NewInstance(type, {});
  if (HasBase(type, "builtins.Exception") || HasBase(type, "builtins.ValueError") || HasBase(type, "builtins.RuntimeError")) {
    instance.As<InstancePayload>()->attributes.emplace_back("args", Value::Tuple(args.positional));
  }
  if (const Value* init = FindInClass(type, "__init__")) {
    CallArgs with_self = args;
    with_self.positional.insert(with_self.positional.begin(), instance);
    TILEVM_RETURN_IF_ERROR(CallValue(*init, with_self, false, loc).status());
  } else if ((!args.positional.empty() || !args.keyword.empty()) && instance.As<InstancePayload>()->attributes.empty()) {
    return InvalidAt(loc, "TypeError: ", name, "() takes no arguments");
  }
  return instance;
}

int64_t Evaluator::Impl::IdOf(const Value& value) {
  // An address would differ from run to run: objects are numbered as they are asked for.
  if (value.payload() == nullptr || value.is(ValueKind::kString) || value.is(ValueKind::kBuiltin))
    return static_cast<int64_t>(std::hash<std::string>()(Repr(value)) >> 1);
  return ids_.try_emplace(value.payload().get(), static_cast<int64_t>(ids_.size() + 1) * 16).first->second;
}

absl::StatusOr<std::optional<Value>> Evaluator::Impl::CallDunder(const Value& object, absl::string_view name, std::vector<Value> args, Loc loc) {
  const Value* method = FindInClass(object.As<InstancePayload>()->type, name);
  if (method == nullptr) return std::optional<Value>();
  const Value function = *method;
  args.insert(args.begin(), object);
  TILEVM_ASSIGN_OR_RETURN(Value value, CallHost(function, std::move(args), loc));
  return std::optional<Value>(std::move(value));
}

bool Evaluator::Impl::IsSubclass(const Value& type, const Value& base) const {
  if (type.is(ValueKind::kBuiltin) && base.is(ValueKind::kBuiltin)) {
    if (type.string() == base.string() || base.string() == "builtins.object") return true;
    absl::string_view name = ExceptionName(type.string());
    const absl::string_view wanted = ExceptionName(base.string());
    if (name.empty() || wanted.empty()) return false;
    if (name == "bool" && wanted == "int") return true;
    for (; !name.empty(); name = ParentException(name)) {
      if (name == wanted) return true;
    }
    return false;
  }
  if (type.is(ValueKind::kClass)) {
    if (type.payload() == base.payload() || (base.is(ValueKind::kBuiltin) && base.string() == "builtins.object")) return true;
    for (const Value& parent : type.As<ClassPayload>()->bases) {
      if (IsSubclass(parent, base)) return true;
    }
  }
  return false;
}

absl::StatusOr<bool> Evaluator::Impl::IsInstance(const Value& given, const Value& type, bool kernel, Loc loc) {
  if (type.is(ValueKind::kTuple)) {
    TILEVM_RETURN_IF_ERROR(CheckStack(loc));
    for (const Value& one : type.items()) {
      TILEVM_ASSIGN_OR_RETURN(bool is, IsInstance(given, one, kernel, loc));
      if (is) return true;
    }
    return false;
  }
  if (type.is(ValueKind::kNone)) return given.is(ValueKind::kNone);
  if (type.is(ValueKind::kClass)) {
    if (given.is(ValueKind::kInstance)) {
      return IsSubclass(given.As<InstancePayload>()->type, type);
    }
    return given.is(ValueKind::kTuple) && FindInClass(type, "_fields") != nullptr && !given.As<ItemsPayload>()->field_names.empty() &&
           given.As<ItemsPayload>()->class_name == type.As<ClassPayload>()->name;
  }
  if (!type.is(ValueKind::kBuiltin)) {
    if (type.is(ValueKind::kObject) && given.is(ValueKind::kObject)) return type.As<HostObject>()->type_name() == given.As<HostObject>()->type_name();
    return InvalidAt(loc, "TypeError: isinstance() arg 2 must be a type, not ", NameOfType(type));
  }
  absl::string_view path = type.string();
  if (absl::ConsumePrefix(&path, "triton.language.")) {
    if (path == "constexpr") return kernel ? !IsTyped(given) && !given.is(ValueKind::kTuple) : given.is(ValueKind::kConstexpr);
    if (path == "tensor") return given.is_tensor();
    if (path == "tuple") return given.is(ValueKind::kTuple);
    if (path == "dtype") return given.is(ValueKind::kDType) || given.is(ValueKind::kPointerType) || given.is(ValueKind::kBlockType);
    if (path == "pointer_type") return given.is(ValueKind::kPointerType);
    if (path == "block_type") return given.is(ValueKind::kBlockType);
    if (path == "tensor_descriptor" || path == "tensor_descriptor_base") return given.is(ValueKind::kDescriptor);
    return false;
  }
  const Value value = Unboxed(given);
  if (value.is(ValueKind::kInstance)) {
    const auto* instance = value.As<InstancePayload>();
    if (HasBase(instance->type, "triton.Config") && absl::EndsWith(path, ".Config")) return true;  // by whichever module
    return IsSubclass(instance->type, type);
  }
  if (absl::ConsumePrefix(&path, "builtins.")) {
    if (path == "object") return true;
    if (path == "int") return value.is(ValueKind::kInt) || value.is(ValueKind::kBool);
    if (path == "type") return value.is(ValueKind::kClass) || value.is(ValueKind::kBuiltin);
    if (path == "slice") return value.is(ValueKind::kSlice);
    if (path == "list") return value.is(ValueKind::kList);
    if (path == "dict") return value.is(ValueKind::kDict);
    if (path == "tuple") return value.is(ValueKind::kTuple) && !absl::StartsWith(value.As<ItemsPayload>()->class_name, "dict_");
    return !IsTyped(value) && NameOfType(value) == path;  // float, str, dict, bool, set, range, NoneType
  }
  if (absl::EndsWith(path, "Callable")) {
    return value.is(ValueKind::kFunction) || value.is(ValueKind::kJitFunction) || value.is(ValueKind::kBoundMethod) || value.is(ValueKind::kClass) ||
           value.is(ValueKind::kBuiltin);
  }
  if (absl::EndsWith(path, "FunctionType") || absl::EndsWith(path, "LambdaType")) return value.is(ValueKind::kFunction);
  if (absl::EndsWith(path, "JITFunction") || absl::EndsWith(path, "KernelInterface")) return value.is(ValueKind::kJitFunction);
  if (absl::EndsWith(path, "Autotuner") || absl::EndsWith(path, "Heuristics"))
    return value.is(ValueKind::kJitFunction) && !value.As<JitPayload>()->wrappers.empty();
  if ((absl::EndsWith(path, ".Iterator") || absl::EndsWith(path, ".Generator")) && path != "torch.Generator") return AsIterator(value) != nullptr;
  if (absl::EndsWith(path, ".Iterable") &&
      (value.is(ValueKind::kDict) || value.is(ValueKind::kSet) || value.is(ValueKind::kRange) || AsIterator(value) != nullptr))
    return true;
  if (absl::EndsWith(path, ".Set") && value.is(ValueKind::kSet)) return true;
  if (absl::EndsWith(path, ".Sequence") || absl::EndsWith(path, ".Iterable"))
    return value.is(ValueKind::kTuple) || value.is(ValueKind::kList) || value.is(ValueKind::kString);
  if (value.is(ValueKind::kDict) && absl::StartsWith(path, "collections.") && !absl::StartsWith(path, "collections.abc."))
    return value.As<DictPayload>()->class_name == path.substr(path.find('.') + 1);
  if (absl::EndsWith(path, ".Mapping") || absl::EndsWith(path, ".MutableMapping")) return value.is(ValueKind::kDict);
  if (path == "numbers.Number" || path == "numbers.Real") return value.is_static_number();
  if (path == "numbers.Integral") return value.is(ValueKind::kInt) || value.is(ValueKind::kBool);
  if (path == "torch.nn.Parameter" || path == "torch.nn.parameter.Parameter") {
    const absl::StatusOr<Value> is =
        value.is(ValueKind::kObject) ? value.As<HostObject>()->GetAttr(*self_, "is_nn_parameter", loc) : absl::StatusOr<Value>(Value());
    return is.ok() && is->is(ValueKind::kBool) && is->bool_value();
  }
  if (value.is(ValueKind::kObject)) {
    const std::string name = value.As<HostObject>()->type_name();
    return name == path || name.substr(name.rfind('.') + 1) == path.substr(path.rfind('.') + 1);
  }
  if (path == "torch.dtype") return value.is(ValueKind::kDType);
  if (path == "torch.Size") return value.is(ValueKind::kTuple) && value.As<ItemsPayload>()->class_name == "torch.Size";
  return false;
}

absl::Status Evaluator::Impl::RaiseValue(const Value& given, Loc loc) {
  Value exception = given;
  if (given.is(ValueKind::kClass) || given.is(ValueKind::kBuiltin)) {
    TILEVM_ASSIGN_OR_RETURN(exception, Instantiate(given, {}, loc));
  }
  std::string text;
  const bool within = exception.is(ValueKind::kInstance) && thread_.handled.is(ValueKind::kInstance) && !Identical(exception, thread_.handled);
  if (within) TILEVM_RETURN_IF_ERROR(SetAttr(exception, "__context__", thread_.handled, loc, true));
  if (exception.is(ValueKind::kInstance) || exception.is(ValueKind::kObject)) {
    TILEVM_ASSIGN_OR_RETURN(text, ToStr(exception, loc));
  } else {
    return InvalidAt(loc, "TypeError: exceptions must derive from BaseException, this is a ", NameOfType(exception));
  }
  for (const auto& [name, value] :
       exception.is(ValueKind::kInstance) ? exception.As<InstancePayload>()->attributes : std::vector<std::pair<std::string, Value>>{}) {
    if (name != kEngineError) continue;
    const absl::Status status = InvalidAt(loc, text);  // raised again as it came
    pending_ = exception;
    pending_message_ = text;
    return status;
  }
  // An exception made of exceptions keeps its text, so that a chain of them is not spelled out again at every raise.
  if (auto* raised = exception.is(ValueKind::kInstance) ? exception.As<InstancePayload>() : nullptr;
      raised != nullptr && raised->type.is(ValueKind::kBuiltin)) {
    raised->text = std::make_shared<const std::string>(text);
  }
  absl::Status status = InvalidAt(loc, NameOfType(exception), text.empty() ? "" : ": ", text);
  if (exception.is(ValueKind::kInstance) && IsSubclass(exception.As<InstancePayload>()->type, Value::Builtin("builtins.SystemExit"))) {
    const Value* arguments = nullptr;
    for (const auto& [name, value] : exception.As<InstancePayload>()->attributes) {
      if (name == "args") arguments = &value;
    }
    const Value code = arguments == nullptr || arguments->items().empty() ? Value::None() : arguments->items()[0];
    const bool number = code.is(ValueKind::kInt) || code.is(ValueKind::kBool);
    status.SetPayload(kExitPayload, absl::Cord(number ? absl::StrCat(static_cast<int>(code.int_value() & 255)) : code.is(ValueKind::kNone) ? "0" : "1"));
    if (!number && !code.is(ValueKind::kNone)) status.SetPayload(kExitTextPayload, absl::Cord(text));
  }
  pending_ = exception;
  pending_message_ = std::string(status.message());
  return status;
}

namespace {

// Its text is the repr() of the key. The key comes back where it is plain; the text stays either way.
Value KeyErrorOf(const std::string& text) {
  Value key = Value::String(text);
  int64_t number = 0;
  const bool quoted = text.size() >= 2 && text.front() == '\'' && text.back() == '\'' && text.find('\\') == std::string::npos;
  if (quoted) {
    key = Value::String(text.substr(1, text.size() - 2));
  } else if (absl::SimpleAtoi(text, &number)) {
    key = Value::Int(number);
  }
  Value error = NewInstance(Value::Builtin("builtins.KeyError"), {{"args", Value::Tuple({key})}});
  error.As<InstancePayload>()->text = std::make_shared<const std::string>(text);
  return error;
}

}  // namespace

Value Evaluator::Impl::ExceptionOf(const absl::Status& status) {
  if (!pending_.absent() && status.message() == pending_message_) return std::exchange(pending_, Value());
  // "KeyError: 'x'" was worded by the evaluator itself: the class is in front.
  const std::string message(status.message());
  const size_t colon = message.find(':');
  const std::string name = message.substr(0, colon);
  const auto launch = status.GetPayload(kExceptionPayload);
  if (IsExceptionName(absl::StrCat("builtins.", name)) && (!launch.has_value() || absl::StartsWith(std::string(*launch), "builtins."))) {
    const std::string text = colon == std::string::npos ? "" : message.substr(std::min(message.size(), colon + 2));
    if (name == "KeyError") return KeyErrorOf(text);
    const Value arguments = colon == std::string::npos ? Value::Tuple({}) : Value::Tuple({Value::String(text)});
    return NewInstance(Value::Builtin(absl::StrCat("builtins.", name)), {{"args", arguments}});
  }
  std::string path = absl::IsUnimplemented(status) ? "builtins.NotImplementedError" : "builtins.RuntimeError";
  if (launch.has_value()) {
    path = std::string(*launch);
  } else if (absl::StrContains(message, "' is not available here: only torch")) {  // a name that was taken for granted until it was used
    path = absl::StartsWith(message, "'torch.") || absl::StartsWith(message, "'triton.") ? "builtins.AttributeError" : "builtins.ModuleNotFoundError";
  } else if (absl::StrContains(message, " is wanted, not ")) {
    path = "builtins.TypeError";
  }
  return NewInstance(Value::Builtin(path), {{"args", Value::Tuple({Value::String(message)})}, {std::string(kEngineError), Value::Bool(true)}});
}

namespace {

// super(): the attributes of the bases of the class that a method stands in, bound to its object.
struct SuperObject : HostObject {
  Value type, self;
  std::string type_name() const override { return "super"; }

  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override {
    // After `type` in the order of the object's own class, which need not be one of `type`'s bases.
    const Value start = self.is(ValueKind::kInstance) ? self.As<InstancePayload>()->type : self;
    std::vector<Value> order = ClassOrder(start.is(ValueKind::kClass) ? start : type);
    const auto at = std::find_if(order.begin(), order.end(), [&](const Value& one) { return one.payload() == type.payload(); });
    if (at == order.end()) return InvalidAt(loc, "TypeError: super(type, obj): obj must be an instance or subtype of type");
    order.erase(order.begin(), at + 1);
    for (const Value& base : order) {
      const Value* found = OwnAttribute(base, name);
      if (found == nullptr) continue;
      auto method = std::make_shared<BoundMethodPayload>();
      method->object = self;
      method->name = std::string(name);
      method->function = *found;
      if (found->is(ValueKind::kFunction)) return Value::Shared(ValueKind::kBoundMethod, std::move(method));
      if (auto* wrapper = found->is(ValueKind::kObject) ? dynamic_cast<MethodWrapper*>(found->As<HostObject>()) : nullptr) {
        if (wrapper->kind == MethodWrapper::Kind::kStatic) return wrapper->function;
        if (wrapper->kind == MethodWrapper::Kind::kProperty) return evaluator.Call(wrapper->function, CallArgs{{self}, {}}, loc);
        method->object = self.is(ValueKind::kInstance) ? self.As<InstancePayload>()->type : self;
        method->function = wrapper->function;
        return Value::Shared(ValueKind::kBoundMethod, std::move(method));
      }
      return *found;
    }
    return InvalidAt(loc, "AttributeError: 'super' object has no attribute '", name, "'");
  }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    absl::StatusOr<Value> method = GetAttr(evaluator, name, loc);
    if (method.ok()) return evaluator.Call(*method, args, loc);
    if (name == "__new__") return NewObjectBuiltin(evaluator.impl(), args, loc);
    if (name != "__init__" && name != "__post_init__" && name != "__init_subclass__") return method;
    // object's, and those of classes that only have a name here (torch.nn.Module), do nothing; an exception keeps its arguments.
    if (self.is(ValueKind::kInstance) && evaluator.impl().IsSubclass(type, Value::Builtin("builtins.BaseException"))) {
      TILEVM_RETURN_IF_ERROR(evaluator.impl().SetAttr(self, "args", Value::Tuple(args.positional), loc));
    }
    return Value::None();
  }
};

}  // namespace

// super(type, object); the front end gives both where the source has neither.
absl::StatusOr<Value> SuperBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  if (args.positional.size() != 2 || !args.keyword.empty()) return UnimplementedAt(loc, "super() here: it works in the methods of a class at module level");
  if (!args.positional[0].is(ValueKind::kClass))
    return InvalidAt(loc, "TypeError: super() argument 1 must be a type, not ", impl.NameOfType(args.positional[0]));
  auto object = std::make_shared<SuperObject>();
  object->type = args.positional[0];
  object->self = args.positional[1];
  return Value::Shared(ValueKind::kObject, std::move(object));
}

}  // namespace tilevm::specializer
