// The little of functools, dataclasses, copy, enum, operator and warnings that kernel files use, and the constants of all of them.
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/live_dict.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

absl::StatusOr<Value> Partial(Impl&, const CallArgs& args, Loc loc) {
  if (args.positional.empty()) return InvalidAt(loc, "TypeError: partial expected at least 1 argument");
  auto partial = std::make_shared<PartialObject>();
  partial->callee = args.positional[0];
  partial->args = args;
  partial->args.positional.erase(partial->args.positional.begin());
  return Value::Shared(ValueKind::kObject, std::move(partial));
}

absl::StatusOr<Value> CacheOf(const Value& function, int64_t most) {
  auto cache = std::make_shared<CacheObject>();
  cache->function = function;
  cache->most = most;
  return Value::Shared(ValueKind::kObject, std::move(cache));
}
// @cache, @lru_cache, and @lru_cache(maxsize=...), which is a decorator.
absl::StatusOr<Value> LruCache(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "lru_cache", 0, 2, loc, {"maxsize", "typed"}));
  const Value given = Argument(args, 0, "maxsize");
  constexpr int64_t kDefault = 128;
  if (!given.absent_or_none() && !given.is_static_number()) return CacheOf(given, kDefault);
  int64_t most = given.absent() ? kDefault : -1;
  if (!given.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(most, ToIndex(given, "maxsize", loc));
    most = std::max<int64_t>(most, 0);
  }
  (void)impl;
  auto partial = std::make_shared<PartialObject>();
  partial->callee = Value::Builtin("tilevm.cache");
  partial->args.positional = {Value::Int(most)};
  return Value::Shared(ValueKind::kObject, std::move(partial));
}
absl::StatusOr<Value> Cache(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "cache", 1, 1, loc));
  return CacheOf(args.positional[0], -1);
}
absl::StatusOr<Value> CacheWith(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "lru_cache", 2, 2, loc));
  return CacheOf(args.positional[1], static_cast<int64_t>(args.positional[0].int_value()));
}
absl::StatusOr<Value> Unchanged(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "decorator", 1, 1, loc));
  return args.positional[0];
}
// Comparisons that the class lacks come from the one that it has (CompareValues).
absl::StatusOr<Value> TotalOrdering(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "total_ordering", 1, 1, loc));
  if (!args.positional[0].is(ValueKind::kClass)) return InvalidAt(loc, "TypeError: total_ordering: a class is wanted");
  TILEVM_RETURN_IF_ERROR(impl.SetAttr(args.positional[0], "__total_ordering__", Value::Bool(true), loc));
  return args.positional[0];
}
absl::StatusOr<Value> AbstractMethod(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "abstractmethod", 1, 1, loc));
  auto wrapper = std::make_shared<MethodWrapper>();
  wrapper->kind = MethodWrapper::Kind::kAbstract;
  wrapper->function = args.positional[0];
  return Value::Shared(ValueKind::kObject, std::move(wrapper));
}
absl::StatusOr<Value> CachedProperty(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "cached_property", 1, 1, loc));
  auto wrapper = std::make_shared<MethodWrapper>();
  wrapper->kind = MethodWrapper::Kind::kCachedProperty;
  wrapper->function = args.positional[0];
  return Value::Shared(ValueKind::kObject, std::move(wrapper));
}
absl::StatusOr<Value> Auto(Impl&, const CallArgs&, Loc) { return Value::Builtin("enum.auto()"); }  // MakeMembers puts a number there
// functools.wraps(f) is a decorator: the function gets f's name and what the program has set on f.
absl::StatusOr<Value> UpdateWrapper(Impl& impl, const CallArgs& args, Loc loc) {  // (wrapper, wrapped)
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "update_wrapper", 2, 2, loc));
  const Value &wrapper = args.positional[0], &wrapped = args.positional[1];
  if (!wrapper.is(ValueKind::kFunction)) return wrapper;
  if (wrapped.is(ValueKind::kFunction)) {
    const auto given = wrapped.As<FunctionPayload>()->attributes;
    for (const auto& [name, value] : given) TILEVM_RETURN_IF_ERROR(impl.SetAttr(wrapper, name, value, loc));
  }
  for (const char* name : {"__name__", "__qualname__"}) {
    const absl::StatusOr<Value> value = impl.GetAttr(wrapped, name, false, loc);
    if (value.ok()) TILEVM_RETURN_IF_ERROR(impl.SetAttr(wrapper, name, *value, loc));
  }
  TILEVM_RETURN_IF_ERROR(impl.SetAttr(wrapper, "__wrapped__", wrapped, loc));
  return wrapper;
}
absl::StatusOr<Value> WrapLater(Impl& impl, const CallArgs& args, Loc loc) {  // (wrapped, wrapper)
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "wraps", 2, 2, loc));
  return UpdateWrapper(impl, CallArgs{{args.positional[1], args.positional[0]}, {}}, loc);
}
absl::StatusOr<Value> Wraps(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "wraps", 1, 3, loc, {"wrapped", "assigned", "updated"}));
  auto partial = std::make_shared<PartialObject>();
  partial->callee = Value::Builtin("tilevm.wraps");
  partial->args.positional = {Argument(args, 0, "wrapped")};
  return Value::Shared(ValueKind::kObject, std::move(partial));
}
absl::StatusOr<Value> Nothing(Impl&, const CallArgs&, Loc) { return Value::None(); }
absl::StatusOr<Value> Second(Impl&, const CallArgs& args, Loc loc) {  // typing.cast
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "cast", 2, 2, loc));
  return args.positional[1];
}

// What is reached twice is copied once: `copies` holds what was made of each payload.
using Copies = absl::flat_hash_map<const Payload*, Value>;

absl::StatusOr<Value> Copy(Impl& impl, const Value& value, Copies* copies, Loc loc) {  // copies null: a shallow one
  TILEVM_RETURN_IF_ERROR(impl.CheckStack(loc));
  TILEVM_RETURN_IF_ERROR(impl.CountStep(loc));
  if (copies != nullptr && value.payload() != nullptr) {
    if (auto known = copies->find(value.payload().get()); known != copies->end()) return known->second;
  }
  const auto made = [&](ValueKind kind, std::shared_ptr<Payload> payload) {
    Value copy = Value::Shared(kind, std::move(payload));
    if (copies != nullptr) copies->emplace(value.payload().get(), copy);
    return copy;
  };
  const auto inner = [&](Value& item) -> absl::Status {
    if (copies == nullptr) return absl::OkStatus();
    TILEVM_ASSIGN_OR_RETURN(item, Copy(impl, item, copies, loc));
    return absl::OkStatus();
  };
  switch (value.kind()) {
    case ValueKind::kList: case ValueKind::kTuple: {
      auto copy = std::make_shared<ItemsPayload>(*value.As<ItemsPayload>());
      copy->Recount();
      // A tuple is known by its copy only when that is whole: it cannot hold itself but through a list or the like.
      Value result = value.is(ValueKind::kList) ? made(ValueKind::kList, copy) : Value();
      for (size_t i = 0; i < copy->items.size(); ++i) TILEVM_RETURN_IF_ERROR(inner(copy->items[i]));
      return result.absent() ? made(ValueKind::kTuple, copy) : result;
    }
    case ValueKind::kDict: {
      auto copy = std::make_shared<DictPayload>(*value.As<DictPayload>());
      copy->Recount();
      const Value result = made(ValueKind::kDict, copy);
      DetachAttributes(result);
      for (auto& [key, item] : copy->entries) TILEVM_RETURN_IF_ERROR(inner(item));
      return result;
    }
    case ValueKind::kSet: {
      auto copy = std::make_shared<SetPayload>(*value.As<SetPayload>());
      copy->Recount();
      return made(ValueKind::kSet, copy);
    }
    case ValueKind::kInstance: {
      const Value type = value.As<InstancePayload>()->type;
      if (impl.FindInClass(type, "__members__") != nullptr) return value;
      const char* name = copies == nullptr ? "__copy__" : "__deepcopy__";
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> own,
                              impl.CallDunder(value, name, copies == nullptr ? std::vector<Value>() : std::vector<Value>{MakeDict({})}, loc));
      if (own.has_value()) return *std::move(own);
      auto copy = std::make_shared<InstancePayload>(*value.As<InstancePayload>());
      const Value result = made(ValueKind::kInstance, copy);
      for (auto& [key, item] : copy->attributes) TILEVM_RETURN_IF_ERROR(inner(item));
      return result;
    }
    case ValueKind::kObject: {
      absl::StatusOr<Value> clone = value.As<HostObject>()->CallMethod(impl.self(), "clone", {}, loc);
      if (clone.ok() && copies != nullptr) copies->emplace(value.payload().get(), *clone);
      return clone.ok() ? *clone : value;
    }
    default: return value;
  }
}
absl::StatusOr<Value> ShallowCopy(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "copy.copy", 1, 1, loc));
  return Copy(impl, args.positional[0], nullptr, loc);
}
absl::StatusOr<Value> DeepCopy(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "copy.deepcopy", 1, 2, loc, {"memo"}));
  Copies copies;
  return Copy(impl, args.positional[0], &copies, loc);
}

absl::StatusOr<Value> DataClass(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(
      CheckArguments(args, "dataclass", 0, 1, loc, {"init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots"}));
  if (args.positional.empty()) {  // with arguments: a decorator
    auto partial = std::make_shared<PartialObject>();
    partial->callee = Value::Builtin("dataclasses.dataclass");
    partial->args.keyword = args.keyword;
    return Value::Shared(ValueKind::kObject, std::move(partial));
  }
  const Value& type = args.positional[0];
  if (!type.is(ValueKind::kClass)) return InvalidAt(loc, "TypeError: dataclass is applied to a ", impl.NameOfType(type), ", wanted a class");
  auto* payload = type.As<ClassPayload>();
  std::vector<Value> fields;
  for (const Value& base : payload->bases) {
    if (const Value* inherited = impl.FindInClass(base, "__dataclass_fields__"))
      fields.insert(fields.end(), inherited->items().begin(), inherited->items().end());
  }
  const auto add = [&fields](const Value& name) {
    for (const Value& known : fields) {
      if (StaticEqual(known, name)) return;
    }
    fields.push_back(name);
  };
  bool annotated = false;
  for (const auto& [name, value] : payload->attributes) {
    if (name != "__annotations__") continue;
    annotated = true;
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> names, impl.Iterate(value, loc));
    for (const Value& field : names) add(field);
  }
  for (const auto& [name, value] : payload->attributes) {
    if (!annotated && !absl::StartsWith(name, "__") && !value.is(ValueKind::kFunction) && !value.is(ValueKind::kObject)) add(Value::String(name));
  }
  const auto flag = [&](absl::string_view name, bool otherwise) -> absl::StatusOr<bool> {
    const Value* given = FindKeyword(args, name);
    return given == nullptr ? absl::StatusOr<bool>(otherwise) : impl.Truth(*given, loc);
  };
  TILEVM_ASSIGN_OR_RETURN(const bool eq, flag("eq", true));
  TILEVM_ASSIGN_OR_RETURN(const bool order, flag("order", false));
  TILEVM_ASSIGN_OR_RETURN(bool frozen, flag("frozen", false));
  TILEVM_ASSIGN_OR_RETURN(const bool unsafe_hash, flag("unsafe_hash", false));
  TILEVM_ASSIGN_OR_RETURN(const bool keyword_only, flag("kw_only", false));
  if (order && !eq) return InvalidAt(loc, "ValueError: eq must be true if order is true");
  std::vector<Value> compared, shown;
  bool defaults = false;
  for (const Value& name : fields) {
    const Value* given = impl.FindInClass(type, name.string());
    const bool field = given != nullptr && given->is(ValueKind::kInstance) && impl.HasBase(given->As<InstancePayload>()->type, "dataclasses.Field");
    bool has_default = given != nullptr, init = true, compare = true, show = true;
    if (field) {
      const auto& parts = given->As<InstancePayload>()->attributes;
      const auto missing = [](const Value& value) { return value.is(ValueKind::kBuiltin) && value.string() == "dataclasses.MISSING"; };
      for (const auto& [key, value] : parts) {
        if (key == "default") has_default = !missing(value);
        if (key == "default_factory" && !value.is(ValueKind::kNone)) has_default = true;
        if (key == "init") init = !value.is(ValueKind::kBool) || value.bool_value();
        if (key == "repr") show = !value.is(ValueKind::kBool) || value.bool_value();
        if (key == "compare") compare = !value.is(ValueKind::kBool) || value.bool_value();
      }
    } else if (given != nullptr && (given->is(ValueKind::kList) || given->is(ValueKind::kDict) || given->is(ValueKind::kSet))) {
      return InvalidAt(loc, "ValueError: mutable default ", impl.NameOfType(*given), " for field ", name.string(), " is not allowed: use default_factory");
    }
    if (defaults && !has_default && init && !keyword_only)
      return InvalidAt(loc, "TypeError: non-default argument '", name.string(), "' follows default argument");
    defaults |= has_default && init;
    if (compare) compared.push_back(name);
    if (show) shown.push_back(name);
  }
  payload->attributes.emplace_back("__dataclass_fields__", Value::Tuple(std::move(fields)));
  payload->attributes.emplace_back("__dataclass_compare__", Value::Tuple(std::move(compared)));
  TILEVM_ASSIGN_OR_RETURN(const bool repr, flag("repr", true));
  if (repr) payload->attributes.emplace_back("__dataclass_repr__", Value::Tuple(std::move(shown)));
  payload->attributes.emplace_back("__dataclass_eq__", Value::Bool(eq));
  payload->attributes.emplace_back("__dataclass_order__", Value::Bool(order));
  payload->attributes.emplace_back("__dataclass_frozen__", Value::Bool(frozen));
  payload->attributes.emplace_back("__dataclass_hash__", Value::Bool(frozen || unsafe_hash));
  payload->attributes.emplace_back("__dataclass_kw_only__", Value::Bool(keyword_only));
  return type;
}

absl::StatusOr<Value> Field(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "field", 0, 0, loc, {"default", "default_factory", "init", "repr", "hash", "compare", "metadata", "kw_only"}));
  auto type = std::make_shared<ClassPayload>();
  type->name = "Field";
  type->bases = {Value::Builtin("dataclasses.Field")};
  auto field = std::make_shared<InstancePayload>();
  field->type = Value::Shared(ValueKind::kClass, std::move(type));
  for (const char* name : {"default", "default_factory", "init", "compare", "repr"}) {
    const Value* given = FindKeyword(args, name);
    const Value otherwise = name == absl::string_view("default") ? Value::Builtin("dataclasses.MISSING") : Value::None();
    field->attributes.emplace_back(name, given != nullptr ? *given : otherwise);
  }
  const Value* keyword_only = FindKeyword(args, "kw_only");
  if (keyword_only != nullptr && keyword_only->is(ValueKind::kBool) && keyword_only->bool_value())
    field->attributes.emplace_back("positional", Value::Bool(false));
  return Value::Shared(ValueKind::kInstance, std::move(field));
}

template <Op kOp>
absl::StatusOr<Value> Operator(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "operator", 2, 2, loc));
  return impl.Binary(kOp, args.positional[0], args.positional[1], loc);
}

template <Op kOp>
absl::StatusOr<Value> OperatorOfOne(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "operator", 1, 1, loc));
  return impl.Unary(kOp, args.positional[0], loc);
}
absl::StatusOr<Value> Not(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "not_", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(const bool truth, impl.Truth(args.positional[0], loc));
  return Value::Bool(!truth);
}
absl::StatusOr<Value> IndexOf(Impl& impl, const CallArgs& args, Loc loc) {  // operator.index
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "index", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(const Value number, impl.AsIndex(args.positional[0], loc));
  if (number.is(ValueKind::kInt)) return number;
  if (number.is(ValueKind::kBool)) return Value::Int(number.int_value());
  return InvalidAt(loc, "TypeError: '", impl.NameOfType(number), "' object cannot be interpreted as an integer");
}
absl::StatusOr<Value> GetItem(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "getitem", 2, 2, loc));
  return impl.Index(args.positional[0], args.positional[1], loc);
}

// operator.itemgetter("a", "b"), attrgetter("a.b"): what they make is called with the object behind its keys.
template <bool kItem>
absl::StatusOr<Value> Getter(Impl&, const CallArgs& args, Loc loc) {
  if (args.positional.empty() || !args.keyword.empty())
    return InvalidAt(loc, "TypeError: ", kItem ? "itemgetter" : "attrgetter", " expected at least 1 argument, got 0");
  auto partial = std::make_shared<PartialObject>();
  partial->callee = Value::Builtin(kItem ? "tilevm.itemgetter" : "tilevm.attrgetter");
  partial->args.positional = {Value::Tuple(args.positional)};
  return Value::Shared(ValueKind::kObject, std::move(partial));
}
absl::StatusOr<Value> GetMany(const CallArgs& args, absl::string_view name, Loc loc, absl::FunctionRef<absl::StatusOr<Value>(const Value& key)> get) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, 2, 2, loc));
  std::vector<Value> found;
  for (const Value& key : args.positional[0].items()) {
    TILEVM_ASSIGN_OR_RETURN(Value value, get(key));
    found.push_back(std::move(value));
  }
  return found.size() == 1 ? found[0] : Value::Tuple(std::move(found));
}
absl::StatusOr<Value> GetItems(Impl& impl, const CallArgs& args, Loc loc) {
  return GetMany(args, "itemgetter", loc, [&](const Value& key) { return impl.Index(args.positional[1], key, loc); });
}
absl::StatusOr<Value> GetAttributes(Impl& impl, const CallArgs& args, Loc loc) {
  return GetMany(args, "attrgetter", loc, [&](const Value& key) -> absl::StatusOr<Value> {
    if (!key.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: attribute name must be a string");
    Value value = args.positional[1];
    for (absl::string_view part : absl::StrSplit(key.string(), '.')) {
      TILEVM_ASSIGN_OR_RETURN(value, impl.GetAttr(value, part, false, loc));
    }
    return value;
  });
}

absl::StatusOr<std::vector<std::pair<std::string, Value>>> FieldsOf(Impl& impl, const Value& instance, absl::string_view function, Loc loc) {
  const Value* fields = instance.is(ValueKind::kInstance) ? impl.FindInClass(instance.As<InstancePayload>()->type, "__dataclass_fields__") : nullptr;
  if (fields == nullptr) return InvalidAt(loc, "TypeError: ", function, "() should be called on dataclass instances");
  std::vector<std::pair<std::string, Value>> values;
  for (const Value& name : fields->items()) {
    TILEVM_ASSIGN_OR_RETURN(Value value, impl.InstanceAttr(instance, name.string(), loc));
    values.emplace_back(name.string(), std::move(value));
  }
  return values;
}
// Dataclasses in fields, lists and tuples too.
absl::StatusOr<Value> AsDictOf(Impl& impl, const Value& value, Loc loc) {
  TILEVM_RETURN_IF_ERROR(impl.CheckStack(loc));
  if (value.is(ValueKind::kList) || value.is(ValueKind::kTuple)) {
    std::vector<Value> items = value.items().ToVector();
    for (Value& item : items) {
      TILEVM_ASSIGN_OR_RETURN(item, AsDictOf(impl, item, loc));
    }
    return value.is(ValueKind::kList) ? Value::List(std::move(items)) : Value::Tuple(std::move(items));
  }
  if (!value.is(ValueKind::kInstance) || impl.FindInClass(value.As<InstancePayload>()->type, "__dataclass_fields__") == nullptr) return value;
  TILEVM_ASSIGN_OR_RETURN(auto fields, FieldsOf(impl, value, "asdict", loc));
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [name, field] : fields) {
    TILEVM_ASSIGN_OR_RETURN(Value inner, AsDictOf(impl, field, loc));
    entries.emplace_back(Value::String(name), std::move(inner));
  }
  return MakeDict(std::move(entries));
}
absl::StatusOr<Value> AsDict(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "dataclasses.asdict", 1, 1, loc));
  TILEVM_RETURN_IF_ERROR(FieldsOf(impl, args.positional[0], "asdict", loc).status());
  return AsDictOf(impl, args.positional[0], loc);
}
absl::StatusOr<Value> AsTuple(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "dataclasses.astuple", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(auto fields, FieldsOf(impl, args.positional[0], "astuple", loc));
  std::vector<Value> items;
  for (auto& [name, field] : fields) items.push_back(std::move(field));
  return Value::Tuple(std::move(items));
}
absl::StatusOr<Value> ReplaceFields(Impl& impl, const CallArgs& args, Loc loc) {
  if (args.positional.size() != 1) return InvalidAt(loc, "TypeError: dataclasses.replace() takes one object and fields by name");
  TILEVM_ASSIGN_OR_RETURN(auto fields, FieldsOf(impl, args.positional[0], "replace", loc));
  CallArgs call;
  call.keyword = args.keyword;
  for (auto& field : fields) {
    if (FindKeyword(args, field.first) == nullptr) call.keyword.push_back(std::move(field));
  }
  return impl.Instantiate(args.positional[0].As<InstancePayload>()->type, call, loc);
}

absl::StatusOr<Value> Namespace(Impl&, const CallArgs& args, Loc loc) {
  if (!args.positional.empty()) return InvalidAt(loc, "TypeError: SimpleNamespace takes keywords only");
  auto type = std::make_shared<ClassPayload>();
  type->name = "namespace";
  type->bases = {Value::Builtin("types.SimpleNamespace")};
  auto instance = std::make_shared<InstancePayload>();
  instance->type = Value::Shared(ValueKind::kClass, std::move(type));
  instance->attributes = args.keyword;
  return Value::Shared(ValueKind::kInstance, std::move(instance));
}
absl::StatusOr<Value> Fields(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "fields", 1, 1, loc));
  const Value& given = args.positional[0];
  const Value type = given.is(ValueKind::kInstance) ? given.As<InstancePayload>()->type : given;
  const Value* names = impl.FindInClass(type, "__dataclass_fields__");
  if (names == nullptr) return InvalidAt(loc, "TypeError: must be called with a dataclass type or instance");
  std::vector<Value> fields;
  for (const Value& name : names->items()) {
    TILEVM_ASSIGN_OR_RETURN(Value field, Field(impl, {}, loc));
    if (const Value* otherwise = impl.FindInClass(type, name.string())) {
      if (otherwise->is(ValueKind::kInstance) && impl.HasBase(otherwise->As<InstancePayload>()->type, "dataclasses.Field")) {
        field = Value::Shared(ValueKind::kInstance, std::make_shared<InstancePayload>(*otherwise->As<InstancePayload>()));
      } else {
        TILEVM_RETURN_IF_ERROR(impl.SetAttr(field, "default", *otherwise, loc, true));
      }
    }
    TILEVM_RETURN_IF_ERROR(impl.SetAttr(field, "name", name, loc, true));
    fields.push_back(std::move(field));
  }
  return Value::Tuple(std::move(fields));
}
absl::StatusOr<Value> IsDataClass(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "is_dataclass", 1, 1, loc));
  const Value& given = args.positional[0];
  return Value::Bool(impl.FindInClass(given.is(ValueKind::kInstance) ? given.As<InstancePayload>()->type : given, "__dataclass_fields__") != nullptr);
}
absl::StatusOr<Value> TypeVariable(Impl&, const CallArgs&, Loc) { return Value::Builtin("typing.Any"); }  // type hints mean nothing here

constexpr BuiltinRow kRows[] = {
    {"types.SimpleNamespace", Namespace}, {"dataclasses.fields", Fields}, {"dataclasses.is_dataclass", IsDataClass}, {"typing.TypeVar", TypeVariable},
    {"typing.ParamSpec", TypeVariable}, {"typing.NewType", TypeVariable}, {"typing.overload", Unchanged}, {"typing.final", Unchanged},
    {"typing.runtime_checkable", Unchanged},
    {"functools.partial", Partial}, {"functools.lru_cache", LruCache}, {"functools.cache", Cache}, {"tilevm.cache", CacheWith},
    {"functools.cached_property", CachedProperty}, {"enum.auto", Auto}, {"enum.unique", Unchanged}, {"functools.total_ordering", TotalOrdering},
    {"functools.wraps", Wraps}, {"functools.update_wrapper", UpdateWrapper}, {"tilevm.wraps", WrapLater},
    {"abc.abstractmethod", AbstractMethod}, {"copy.copy", ShallowCopy}, {"copy.deepcopy", DeepCopy},
    {"dataclasses.dataclass", DataClass}, {"dataclasses.field", Field}, {"dataclasses.asdict", AsDict}, {"dataclasses.astuple", AsTuple},
    {"dataclasses.replace", ReplaceFields}, {"typing.cast", Second}, {"warnings.warn", Nothing}, {"warnings.filterwarnings", Nothing},
    {"operator.add", Operator<Op::kAdd>}, {"operator.sub", Operator<Op::kSub>}, {"operator.mul", Operator<Op::kMul>},
    {"operator.floordiv", Operator<Op::kFloorDiv>}, {"operator.truediv", Operator<Op::kTrueDiv>}, {"operator.mod", Operator<Op::kMod>},
    {"operator.pow", Operator<Op::kPow>}, {"operator.matmul", Operator<Op::kMatMul>}, {"operator.and_", Operator<Op::kBitAnd>},
    {"operator.or_", Operator<Op::kBitOr>}, {"operator.xor", Operator<Op::kBitXor>}, {"operator.lshift", Operator<Op::kShl>},
    {"operator.rshift", Operator<Op::kShr>}, {"operator.eq", Operator<Op::kEq>}, {"operator.ne", Operator<Op::kNe>}, {"operator.lt", Operator<Op::kLt>},
    {"operator.le", Operator<Op::kLe>}, {"operator.gt", Operator<Op::kGt>}, {"operator.ge", Operator<Op::kGe>},
    {"operator.neg", OperatorOfOne<Op::kNeg>}, {"operator.pos", OperatorOfOne<Op::kPos>}, {"operator.invert", OperatorOfOne<Op::kInvert>},
    {"operator.not_", Not}, {"operator.index", IndexOf}, {"operator.getitem", GetItem}, {"operator.itemgetter", Getter<true>},
    {"operator.attrgetter", Getter<false>}, {"tilevm.itemgetter", GetItems}, {"tilevm.attrgetter", GetAttributes},
};

}  // namespace

absl::StatusOr<Value> CacheObject::Call(Evaluator& evaluator, const CallArgs& args, Loc loc) {
  Impl& impl = evaluator.impl();
  std::vector<Value> parts = args.positional;
  for (const auto& [name, value] : args.keyword) parts.push_back(Value::Tuple({Value::Builtin(name), value}));
  const Value key = Value::Tuple(std::move(parts));
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> known, impl.DictGet(results, key, loc));
  if (known.has_value()) {
    ++hits;
    if (most > 0) {  // it is the youngest now
      PairTable& table = results.As<DictPayload>()->entries;
      TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, impl.FindKey(table, key, loc));
      if (place.has_value()) table.EraseAt(*place);
      TILEVM_RETURN_IF_ERROR(impl.DictPut(results, key, *known, loc));
    }
    return *std::move(known);
  }
  ++misses;
  TILEVM_ASSIGN_OR_RETURN(Value value, impl.CallValue(function, args, false, loc));
  if (most == 0) return value;
  PairTable& table = results.As<DictPayload>()->entries;
  if (most > 0 && table.size() >= static_cast<size_t>(most)) table.EraseAt(table.begin().place());
  TILEVM_RETURN_IF_ERROR(impl.DictPut(results, key, value, loc));
  return value;
}

absl::StatusOr<Value> CacheObject::CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) {
  if (name == "cache_clear") {
    results = MakeDict({});
    hits = misses = 0;
    return Value::None();
  }
  if (name == "cache_info") {
    const Value size = Value::Int(static_cast<int64_t>(results.As<DictPayload>()->entries.size()));
    return MakeNamedTuple("CacheInfo", {"hits", "misses", "maxsize", "currsize"},
                          {Value::Int(hits), Value::Int(misses), most < 0 ? Value::None() : Value::Int(most), size});
  }
  return HostObject::CallMethod(evaluator, name, args, loc);
}

absl::StatusOr<Value> CacheObject::GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) {
  if (name == "__wrapped__") return function;
  if (name == "__name__" || name == "__doc__" || name == "__qualname__") return evaluator.GetAttr(function, name, loc);
  return HostObject::GetAttr(evaluator, name, loc);
}

absl::Span<const BuiltinRow> LibraryBuiltins() { return kRows; }

std::vector<absl::Span<const BuiltinRow>> AllBuiltins() {
  return {PythonBuiltins(),  SequenceBuiltins(), IteratorBuiltins(), MathBuiltins(),
          LibraryBuiltins(), CollectionBuiltins(), JsonBuiltins(),   TritonBuiltins()};
}

std::optional<Value> FindBuiltinValue(absl::string_view path) {
  if (path == "math.pi") return Value::Float(3.14159265358979323846);
  if (path == "math.e") return Value::Float(2.71828182845904523536);
  if (path == "math.tau") return Value::Float(6.28318530717958647692);
  if (path == "math.inf") return Value::Float(std::numeric_limits<double>::infinity());
  if (path == "math.nan") return Value::Float(std::numeric_limits<double>::quiet_NaN());
  if (path == "string.ascii_lowercase") return Value::String("abcdefghijklmnopqrstuvwxyz");
  if (path == "string.ascii_uppercase") return Value::String("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  if (path == "string.ascii_letters") return Value::String("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  if (path == "string.digits") return Value::String("0123456789");
  if (path == "string.hexdigits") return Value::String("0123456789abcdefABCDEF");
  if (path == "string.punctuation") return Value::String("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
  if (path == "sys.byteorder") return Value::String("little");
  if (path == "typing.TYPE_CHECKING") return Value::Bool(false);
  if (path == "dataclasses.FrozenInstanceError") return Value::Builtin("builtins.FrozenInstanceError");
  if (path == "json.JSONDecodeError" || path == "json.decoder.JSONDecodeError") return Value::Builtin("builtins.JSONDecodeError");
  if (path == "dataclasses.MISSING") return Value::Builtin("dataclasses.MISSING");
  if (path == "builtins.Ellipsis") return Value::Ellipsis();
  if (path == "triton.language.PropagateNan.ALL") return Value::Bool(true);
  if (path == "triton.language.PropagateNan.NONE") return Value::Bool(false);
  absl::string_view name = path;
  if (absl::ConsumePrefix(&name, "triton.language.")) {
    if (name == "void") return Value::None();
    if (std::optional<isa::DType> dtype = isa::DTypeFromSurfaceName(name)) return Value::DTypeOf(*dtype);
  }
  return std::nullopt;
}

}  // namespace tilevm::specializer
