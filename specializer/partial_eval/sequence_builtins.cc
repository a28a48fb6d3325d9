// Python's builtin functions on sequences that compute at once; the lazy ones are in itertools.cc.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/generator.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

absl::StatusOr<Value> Len(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "len", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t length, impl.Length(args.positional[0], loc));
  return Value::Int(length);
}

absl::StatusOr<Value> Extreme(Impl& impl, const CallArgs& args, bool smallest, Loc loc) {
  const char* name = smallest ? "min" : "max";
  for (const auto& [keyword, value] : args.keyword) {
    if (keyword != "key" && keyword != "default") return InvalidAt(loc, "TypeError: ", name, "() got an unexpected keyword argument '", keyword, "'");
  }
  std::vector<Value> items = args.positional;
  if (items.size() == 1) {
    TILEVM_ASSIGN_OR_RETURN(items, impl.Iterate(args.positional[0], loc));
  } else if (items.empty()) {
    return InvalidAt(loc, "TypeError: ", name, " expected at least 1 argument, got 0");
  }
  if (items.empty()) {
    if (const Value* otherwise = FindKeyword(args, "default")) return *otherwise;
    return InvalidAt(loc, "ValueError: ", name, "() arg is an empty sequence");
  }
  const Value* key = FindKeyword(args, "key");
  const bool keyed = key != nullptr && !key->is(ValueKind::kNone);
  Value best = items[0], best_key = items[0];
  for (size_t i = 0; i < items.size(); ++i) {
    Value current = items[i];
    if (keyed) {
      TILEVM_ASSIGN_OR_RETURN(current, impl.CallHost(*key, {items[i]}, loc));
    }
    bool better = i == 0;
    if (!better) {
      TILEVM_ASSIGN_OR_RETURN(better, smallest ? impl.LessThan(current, best_key, loc) : impl.LessThan(best_key, current, loc));
    }
    if (better) best = items[i], best_key = current;
  }
  return best;
}
absl::StatusOr<Value> Min(Impl& impl, const CallArgs& args, Loc loc) { return Extreme(impl, args, true, loc); }
absl::StatusOr<Value> Max(Impl& impl, const CallArgs& args, Loc loc) { return Extreme(impl, args, false, loc); }

absl::StatusOr<Value> Sum(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "sum", 1, 2, loc, {"start"}));
  Value total = Argument(args, 1, "start");
  if (total.absent()) total = Value::Int(0);
  TILEVM_RETURN_IF_ERROR(impl.ForEach(args.positional[0], loc, [&](const Value& item) -> absl::StatusOr<bool> {
    TILEVM_ASSIGN_OR_RETURN(total, impl.Binary(Op::kAdd, total, item, loc));
    return true;
  }));
  return total;
}

absl::StatusOr<Value> AnyAll(Impl& impl, const CallArgs& args, bool any, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, any ? "any" : "all", 1, 1, loc));
  bool decided = false;
  TILEVM_RETURN_IF_ERROR(impl.ForEach(args.positional[0], loc, [&](const Value& item) -> absl::StatusOr<bool> {
    TILEVM_ASSIGN_OR_RETURN(bool truth, impl.Truth(item, loc));
    decided = truth == any;
    return !decided;
  }));
  return Value::Bool(decided == any);
}
absl::StatusOr<Value> Any(Impl& impl, const CallArgs& args, Loc loc) { return AnyAll(impl, args, true, loc); }
absl::StatusOr<Value> All(Impl& impl, const CallArgs& args, Loc loc) { return AnyAll(impl, args, false, loc); }

absl::StatusOr<Value> Sorted(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "sorted", 1, 1 + args.keyword.size(), loc, {"key", "reverse"}));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  const Value* key = FindKeyword(args, "key");
  bool reverse = false;
  if (const Value* given = FindKeyword(args, "reverse")) {
    TILEVM_ASSIGN_OR_RETURN(reverse, impl.Truth(*given, loc));
  }
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& item : items) {
    Value by = item;
    if (key != nullptr && !key->is(ValueKind::kNone)) {
      TILEVM_ASSIGN_OR_RETURN(by, impl.CallHost(*key, {item}, loc));
    }
    keyed.emplace_back(std::move(by), std::move(item));
  }
  // A comparison may fail: the first failure is kept and the rest of the sort compares nothing. A merge sort stays in bounds whatever the
  // comparisons answer, which std::sort does not promise.
  absl::Status failure;
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    if (!failure.ok()) return false;
    absl::StatusOr<bool> less = reverse ? impl.LessThan(b.first, a.first, loc) : impl.LessThan(a.first, b.first, loc);
    if (!less.ok()) failure = less.status();
    return less.ok() && *less;
  });
  TILEVM_RETURN_IF_ERROR(failure);
  std::vector<Value> result;
  for (auto& [by, item] : keyed) result.push_back(std::move(item));
  return Value::List(std::move(result));
}

absl::StatusOr<Value> List(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "list", 0, 1, loc));
  std::vector<Value> items;
  if (!args.positional.empty()) {
    TILEVM_ASSIGN_OR_RETURN(items, impl.Iterate(args.positional[0], loc));
  }
  return impl.builtin_in_kernel() ? Value::Tuple(std::move(items)) : Value::List(std::move(items));
}

absl::StatusOr<Value> Tuple(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "tuple", 0, 1, loc));
  if (args.positional.empty()) return Value::Tuple({});
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  return Value::Tuple(std::move(items));
}

template <bool kFrozen>
absl::StatusOr<Value> Set(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, kFrozen ? "frozenset" : "set", 0, 1, loc));
  return args.positional.empty() ? MakeSet(kFrozen) : impl.SetOf(args.positional[0], kFrozen, loc);
}

absl::StatusOr<Value> Dict(Impl& impl, const CallArgs& args, Loc loc) {
  Value dict = MakeDict({});
  if (args.positional.size() > 1) return InvalidAt(loc, "TypeError: dict expected at most 1 argument, got ", args.positional.size());
  CallArgs update = args;
  TILEVM_RETURN_IF_ERROR(impl.CallPythonMethod(dict, "update", update, loc).status());
  return dict;
}

absl::StatusOr<Value> FromKeys(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "fromkeys", 1, 2, loc));
  Value dict = MakeDict({});
  const Value value = args.positional.size() == 2 ? args.positional[1] : Value::None();
  TILEVM_RETURN_IF_ERROR(impl.ForEach(args.positional[0], loc, [&](const Value& key) -> absl::StatusOr<bool> {
    TILEVM_RETURN_IF_ERROR(impl.DictPut(dict, key, value, loc));
    return true;
  }));
  return dict;
}

absl::StatusOr<Value> DefaultDict(Impl& impl, const CallArgs& args, Loc loc) {
  CallArgs rest = args;
  Value factory = Value::None();
  if (!rest.positional.empty()) {
    factory = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
  }
  TILEVM_ASSIGN_OR_RETURN(Value dict, Dict(impl, rest, loc));
  dict.As<DictPayload>()->factory = factory;
  dict.As<DictPayload>()->class_name = "defaultdict";
  return dict;
}

// --- functools, collections ---

absl::StatusOr<Value> Reduce(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "functools.reduce", 2, 3, loc));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[1], loc));
  if (args.positional.size() == 3) items.insert(items.begin(), args.positional[2]);
  if (items.empty()) return InvalidAt(loc, "TypeError: reduce() of empty iterable with no initial value");
  Value result = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(result, impl.CallHost(args.positional[0], {result, items[i]}, loc));
  }
  return result;
}

absl::StatusOr<Value> NamedTuple(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "namedtuple", 2, 2, loc, {"defaults", "typename", "field_names"}));
  const Value name = Argument(args, 0, "typename");
  Value fields = Argument(args, 1, "field_names");
  if (!name.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: namedtuple: the name must be a string");
  if (fields.is(ValueKind::kString)) {
    TILEVM_ASSIGN_OR_RETURN(Value spaced, impl.CallPythonMethod(fields, "replace", CallArgs{{Value::String(","), Value::String(" ")}, {}}, loc));
    TILEVM_ASSIGN_OR_RETURN(fields, impl.CallPythonMethod(spaced, "split", {}, loc));
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> names, impl.Iterate(fields, loc));
  for (Value& field : names) {  // typing.NamedTuple("P", [("x", int)]) gives pairs
    if (field.is(ValueKind::kTuple) && !field.items().empty()) field = field.items()[0];
    if (!field.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: namedtuple: field names must be strings");
  }
  Value defaults = MakeDict({});
  if (const Value* given = FindKeyword(args, "defaults")) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> values, impl.Iterate(*given, loc));
    if (values.size() > names.size()) return InvalidAt(loc, "TypeError: namedtuple: got more default values than field names");
    for (size_t i = 0; i < values.size(); ++i) TILEVM_RETURN_IF_ERROR(impl.DictPut(defaults, names[names.size() - values.size() + i], values[i], loc));
  }
  return impl.MakeClass(name.string(), {}, {{"_fields", Value::Tuple(std::move(names))}, {"_field_defaults", defaults}}, loc);
}

constexpr BuiltinRow kRows[] = {
    {"builtins.len", Len}, {"builtins.min", Min}, {"builtins.max", Max}, {"builtins.sum", Sum}, {"builtins.any", Any}, {"builtins.all", All},
    {"builtins.sorted", Sorted}, {"builtins.list", List}, {"builtins.tuple", Tuple}, {"builtins.set", Set<false>}, {"builtins.frozenset", Set<true>},
    {"builtins.dict", Dict}, {"builtins.dict.fromkeys", FromKeys}, {"builtins.slice", SliceBuiltin}, {"functools.reduce", Reduce},
    {"collections.namedtuple", NamedTuple}, {"typing.NamedTuple", NamedTuple},
    {"collections.defaultdict", DefaultDict}, {"tilevm.generator", NewGeneratorBuiltin}, {"tilevm.yield", YieldBuiltin},
    {"contextlib.contextmanager", ContextManagerBuiltin}, {"contextlib.suppress", SuppressBuiltin},
    {"contextlib.nullcontext", NullContextBuiltin},
};

}  // namespace

absl::Span<const BuiltinRow> SequenceBuiltins() { return kRows; }

}  // namespace tilevm::specializer
