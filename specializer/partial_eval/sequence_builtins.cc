// Python's builtin functions on sequences. What is lazy in Python (map, zip, generators) is a list here, marked so that next() consumes it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/generator.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

Value Marked(std::vector<Value> items, absl::string_view kind) {
  Value list = Value::List(std::move(items));
  list.As<ItemsPayload>()->class_name = std::string(kind);
  return list;
}

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
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  for (const Value& item : items) {
    TILEVM_ASSIGN_OR_RETURN(total, impl.Binary(Op::kAdd, total, item, loc));
  }
  return total;
}

absl::StatusOr<Value> AnyAll(Impl& impl, const CallArgs& args, bool any, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, any ? "any" : "all", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  for (const Value& item : items) {
    TILEVM_ASSIGN_OR_RETURN(bool truth, impl.Truth(item, loc));
    if (truth == any) return Value::Bool(any);
  }
  return Value::Bool(!any);
}
absl::StatusOr<Value> Any(Impl& impl, const CallArgs& args, Loc loc) { return AnyAll(impl, args, true, loc); }
absl::StatusOr<Value> All(Impl& impl, const CallArgs& args, Loc loc) { return AnyAll(impl, args, false, loc); }

absl::StatusOr<Value> Zip(Impl& impl, const CallArgs& args, Loc loc) {
  std::vector<std::vector<Value>> columns;
  size_t rows = args.positional.empty() ? 0 : SIZE_MAX;
  for (const Value& value : args.positional) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> column, impl.Iterate(value, loc));
    rows = std::min(rows, column.size());
    columns.push_back(std::move(column));
  }
  std::vector<Value> result;
  for (size_t i = 0; i < rows; ++i) {
    std::vector<Value> row;
    for (const auto& column : columns) row.push_back(column[i]);
    result.push_back(Value::Tuple(std::move(row)));
  }
  return Marked(std::move(result), "zip");
}

absl::StatusOr<Value> Enumerate(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "enumerate", 1, 2, loc, {"start"}));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  int64_t number = 0;
  if (Value start = Argument(args, 1, "start"); !start.absent()) {
    TILEVM_ASSIGN_OR_RETURN(number, ToIndex(start, "start", loc));
  }
  for (Value& item : items) item = Value::Tuple({Value::Int(number++), item});
  return Marked(std::move(items), "enumerate");
}

absl::StatusOr<Value> MapOver(Impl& impl, const CallArgs& args, Loc loc) {
  if (args.positional.size() < 2) return InvalidAt(loc, "TypeError: map() must have at least two arguments.");
  TILEVM_ASSIGN_OR_RETURN(Value rows, Zip(impl, CallArgs{{args.positional.begin() + 1, args.positional.end()}, {}}, loc));
  std::vector<Value> result;
  for (const Value& row : rows.items()) {
    TILEVM_ASSIGN_OR_RETURN(Value value, impl.CallHost(args.positional[0], row.items(), loc));
    result.push_back(std::move(value));
  }
  return Marked(std::move(result), "map");
}

absl::StatusOr<Value> Filter(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "filter", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[1], loc));
  std::vector<Value> result;
  for (Value& item : items) {
    Value verdict = item;
    if (!args.positional[0].is(ValueKind::kNone)) {
      TILEVM_ASSIGN_OR_RETURN(verdict, impl.CallHost(args.positional[0], {item}, loc));
    }
    TILEVM_ASSIGN_OR_RETURN(bool keep, impl.Truth(verdict, loc));
    if (keep) result.push_back(std::move(item));
  }
  return Marked(std::move(result), "filter");
}

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

absl::StatusOr<Value> Reversed(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "reversed", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  std::reverse(items.begin(), items.end());
  return Marked(std::move(items), "reversed");
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

absl::StatusOr<Value> Set(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "set", 0, 1, loc));
  std::vector<Value> unique;
  if (!args.positional.empty()) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
    for (Value& item : items) {
      bool known = false;
      for (const Value& other : unique) known = known || StaticEqual(item, other);
      if (!known) unique.push_back(std::move(item));
    }
  }
  return Marked(std::move(unique), "set");
}

absl::StatusOr<Value> Dict(Impl& impl, const CallArgs& args, Loc loc) {
  Value dict = MakeDict({});
  if (args.positional.size() > 1) return InvalidAt(loc, "TypeError: dict expected at most 1 argument, got ", args.positional.size());
  CallArgs update = args;
  TILEVM_RETURN_IF_ERROR(impl.CallPythonMethod(dict, "update", update, loc).status());
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
  return dict;
}

absl::StatusOr<Value> Iter(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "iter", 1, 1, loc));
  if (AsGenerator(args.positional[0]) != nullptr) return args.positional[0];
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  return Marked(std::move(items), "iterator");
}

absl::StatusOr<Value> Next(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "next", 1, 2, loc));
  const Value& iterator = args.positional[0];
  if (GeneratorObject* generator = AsGenerator(iterator)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, generator->Next(loc));
    if (item.has_value()) return *std::move(item);
    return args.positional.size() == 2 ? absl::StatusOr<Value>(args.positional[1]) : InvalidAt(loc, "StopIteration");
  }
  if (!iterator.is(ValueKind::kList) || iterator.As<ItemsPayload>()->class_name.empty() || iterator.As<ItemsPayload>()->class_name == "set") {
    return InvalidAt(loc, "TypeError: '", impl.NameOfType(iterator), "' object is not an iterator");
  }
  std::vector<Value>& items = iterator.mutable_items();
  if (items.empty()) return args.positional.size() == 2 ? absl::StatusOr<Value>(args.positional[1]) : InvalidAt(loc, "StopIteration");
  Value first = items.front();
  items.erase(items.begin());
  return first;
}

// --- functools, itertools, collections ---

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

absl::StatusOr<Value> Product(Impl& impl, const CallArgs& args, Loc loc) {
  std::vector<std::vector<Value>> rows = {{}};
  int64_t repeat = 1;
  if (const Value* given = FindKeyword(args, "repeat")) {
    TILEVM_ASSIGN_OR_RETURN(repeat, ToIndex(*given, "repeat", loc));
  }
  constexpr size_t kMaxRows = size_t{1} << 20;
  for (int64_t r = 0; r < repeat; ++r) {
    for (const Value& pool : args.positional) {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(pool, loc));
      if (items.size() * rows.size() > kMaxRows) return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "itertools.product of more than ", kMaxRows, " rows");
      std::vector<std::vector<Value>> longer;
      for (const auto& row : rows) {
        for (const Value& item : items) {
          longer.push_back(row);
          longer.back().push_back(item);
        }
      }
      rows = std::move(longer);
    }
  }
  std::vector<Value> result;
  for (auto& row : rows) result.push_back(Value::Tuple(std::move(row)));
  return Marked(std::move(result), "product");
}

absl::StatusOr<Value> Chain(Impl& impl, const CallArgs& args, Loc loc) {
  std::vector<Value> all;
  for (const Value& part : args.positional) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(part, loc));
    all.insert(all.end(), items.begin(), items.end());
  }
  return Marked(std::move(all), "chain");
}

absl::StatusOr<Value> Combinations(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "combinations", 2, 2, loc, {"r"}));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t count, ToIndex(Argument(args, 1, "r"), "r", loc));
  std::vector<Value> result;
  if (count < 0 || count > static_cast<int64_t>(items.size())) return Marked({}, "combinations");
  std::vector<size_t> at(static_cast<size_t>(count));
  for (size_t i = 0; i < at.size(); ++i) at[i] = i;
  while (true) {
    std::vector<Value> row;
    for (size_t i : at) row.push_back(items[i]);
    result.push_back(Value::Tuple(std::move(row)));
    TILEVM_RETURN_IF_ERROR(impl.CountStep(loc));
    size_t i = at.size();
    while (i > 0 && at[i - 1] == items.size() - at.size() + i - 1) --i;
    if (i == 0) break;
    ++at[i - 1];
    for (size_t k = i; k < at.size(); ++k) at[k] = at[k - 1] + 1;
  }
  return Marked(std::move(result), "combinations");
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
    for (size_t i = 0; i < values.size(); ++i) TILEVM_RETURN_IF_ERROR(impl.SetItem(defaults, names[names.size() - values.size() + i], values[i], loc));
  }
  return impl.MakeClass(name.string(), {}, {{"_fields", Value::Tuple(std::move(names))}, {"_field_defaults", defaults}}, loc);
}

constexpr BuiltinRow kRows[] = {
    {"builtins.len", Len}, {"builtins.min", Min}, {"builtins.max", Max}, {"builtins.sum", Sum}, {"builtins.any", Any}, {"builtins.all", All}, {"builtins.zip", Zip},
    {"builtins.enumerate", Enumerate}, {"builtins.map", MapOver}, {"builtins.filter", Filter}, {"builtins.sorted", Sorted}, {"builtins.reversed", Reversed},
    {"builtins.list", List}, {"builtins.tuple", Tuple}, {"builtins.set", Set}, {"builtins.frozenset", Set}, {"builtins.dict", Dict}, {"builtins.iter", Iter},
    {"builtins.next", Next}, {"functools.reduce", Reduce}, {"itertools.product", Product}, {"itertools.chain", Chain}, {"itertools.combinations", Combinations},
    {"collections.namedtuple", NamedTuple}, {"typing.NamedTuple", NamedTuple}, {"collections.OrderedDict", Dict}, {"collections.defaultdict", DefaultDict},
    {"tilevm.generator", NewGeneratorBuiltin}, {"tilevm.yield", YieldBuiltin},
    {"contextlib.contextmanager", ContextManagerBuiltin},
};

}  // namespace

absl::Span<const BuiltinRow> SequenceBuiltins() { return kRows; }

}  // namespace tilevm::specializer
