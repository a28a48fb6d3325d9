// Methods of Python's own types but str: list, dict, set, tuple, int, float, and the few of functions and classes that the evaluator gives itself.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/live_dict.h"
#include "specializer/partial_eval/methods.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

// --- list, tuple ---

absl::StatusOr<Value> Append(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  c.self.mutable_items().push_back(c.args.positional[0]);
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Extend(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, c.impl.Iterate(c.args.positional[0], c.loc));
  c.self.mutable_items().append(items.data(), items.data() + items.size());
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Insert(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(2, 2));
  TILEVM_ASSIGN_OR_RETURN(const Value position, c.impl.AsIndex(c.args.positional[0], c.loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t at, ToIndex(position, "the position", c.loc));
  ItemVector& items = c.self.mutable_items();
  const int64_t size = static_cast<int64_t>(items.size());
  if (at < 0) at = std::max<int64_t>(0, at + size);
  items.insert(static_cast<size_t>(std::min(at, size)), c.args.positional[1]);
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Pop(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 1));
  ItemVector& items = c.self.mutable_items();
  int64_t at = -1;
  if (c.count() == 1) {
    TILEVM_ASSIGN_OR_RETURN(const Value position, c.impl.AsIndex(c.args.positional[0], c.loc));
    TILEVM_ASSIGN_OR_RETURN(at, ToIndex(position, "the position", c.loc));
  }
  if (at < 0) at += static_cast<int64_t>(items.size());
  if (at < 0 || at >= static_cast<int64_t>(items.size())) return InvalidAt(c.loc, "IndexError: pop ", items.empty() ? "from empty list" : "index out of range");
  Value item = items[static_cast<size_t>(at)];
  items.erase(static_cast<size_t>(at));
  return item;
}
absl::StatusOr<Value> RemoveItem(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  ItemVector& items = c.self.mutable_items();
  for (size_t i = 0; i < items.size(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(bool equal, c.impl.Equals(items[i], c.args.positional[0], c.loc));
    if (!equal) continue;
    items.erase(i);
    return Value::None();
  }
  return InvalidAt(c.loc, "ValueError: list.remove(x): x not in list");
}
absl::StatusOr<Value> IndexOf(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 3));
  const ItemVector& items = c.self.items();
  const int64_t size = static_cast<int64_t>(items.size());
  int64_t bounds[] = {0, size};
  for (size_t i = 1; i < c.count(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(const int64_t given, ToIndex(c.args.positional[i], "the position", c.loc));
    bounds[i - 1] = given < 0 ? std::max<int64_t>(0, given + size) : given;
  }
  for (size_t i = static_cast<size_t>(bounds[0]); i < items.size() && static_cast<int64_t>(i) < bounds[1]; ++i) {
    TILEVM_ASSIGN_OR_RETURN(bool equal, c.impl.Equals(Value(items[i]), c.args.positional[0], c.loc));
    if (equal) return Value::Int(static_cast<int64_t>(i));
  }
  return c.self.is(ValueKind::kList) ? InvalidAt(c.loc, "ValueError: ", Repr(c.args.positional[0]), " is not in list")
                                    : InvalidAt(c.loc, "ValueError: tuple.index(x): x not in tuple");
}
absl::StatusOr<Value> CountItems(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  int64_t count = 0;
  for (const Value& item : c.self.items()) {
    TILEVM_ASSIGN_OR_RETURN(bool equal, c.impl.Equals(item, c.args.positional[0], c.loc));
    count += equal;
  }
  return Value::Int(count);
}
absl::StatusOr<Value> Sort(const MethodCall& c) {
  CallArgs args = c.args;
  args.positional.insert(args.positional.begin(), c.self);
  TILEVM_ASSIGN_OR_RETURN(Value sorted, c.impl.CallBuiltin("builtins.sorted", args, false, c.loc));
  c.self.mutable_items() = sorted.items();
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Reverse(const MethodCall& c) {
  std::reverse(c.self.mutable_items().begin(), c.self.mutable_items().end());
  return Value::None();
}
absl::StatusOr<Value> ClearList(const MethodCall& c) {
  // What the items hold may be the list itself: they go when it is empty.
  const ItemVector items = std::exchange(c.self.mutable_items(), {});
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> CopyList(const MethodCall& c) { return Value::List(c.self.items().ToVector()); }

absl::StatusOr<Value> ReplaceFields(const MethodCall& c) {
  auto copy = std::make_shared<ItemsPayload>(*c.self.As<ItemsPayload>());
  for (const auto& [name, value] : c.args.keyword) {
    auto found = std::find(copy->field_names.begin(), copy->field_names.end(), name);
    if (found == copy->field_names.end()) return InvalidAt(c.loc, "ValueError: got unexpected field name '", name, "'");
    copy->items[static_cast<size_t>(found - copy->field_names.begin())] = value;
  }
  return Value::Shared(ValueKind::kTuple, std::move(copy));
}
absl::StatusOr<Value> AsDict(const MethodCall& c) {
  std::vector<std::pair<Value, Value>> entries;
  const auto* tuple = c.self.As<ItemsPayload>();
  for (size_t i = 0; i < tuple->field_names.size(); ++i) entries.emplace_back(Value::String(tuple->field_names[i]), tuple->items[i]);
  return MakeDict(std::move(entries));
}

// --- set ---

SetPayload& SetOf(const MethodCall& c) { return *c.self.As<SetPayload>(); }

absl::StatusOr<Value> AddToSet(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_RETURN_IF_ERROR(c.impl.SetAdd(c.self, c.args.positional[0], c.loc).status());
  return Value::None();
}
// discard, remove
absl::StatusOr<Value> Discard(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, c.impl.FindKey(SetOf(c).items, c.args.positional[0], c.loc));
  if (!place.has_value() && c.name == "remove") return InvalidAt(c.loc, "KeyError: ", Repr(c.args.positional[0]));
  if (place.has_value()) SetOf(c).items.EraseAt(*place);
  return Value::None();
}
absl::StatusOr<Value> PopFromSet(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 0));
  PairTable& items = SetOf(c).items;
  if (items.empty()) return InvalidAt(c.loc, "KeyError: 'pop from an empty set'");
  const size_t place = items.begin().place();
  const Value item = items.at(place).first;
  items.EraseAt(place);
  return item;
}
absl::StatusOr<Value> ClearSet(const MethodCall& c) {
  const PairTable items = std::exchange(SetOf(c).items, PairTable());
  SetOf(c).Recount();
  return Value::None();
}
absl::StatusOr<Value> CopySet(const MethodCall& c) { return Value::Shared(ValueKind::kSet, std::make_shared<SetPayload>(SetOf(c))); }

// union, intersection, difference, symmetric_difference, and their forms that change the set.
absl::StatusOr<Value> Combine(const MethodCall& c) {
  absl::string_view name = c.name;
  const bool in_place = name == "update" || absl::ConsumeSuffix(&name, "_update");
  const bool in_both = name == "intersection", either = name == "union" || name == "update";
  TILEVM_RETURN_IF_ERROR(c.Check(name == "symmetric_difference" ? 1 : 0, name == "symmetric_difference" ? 1 : c.count()));
  TILEVM_ASSIGN_OR_RETURN(Value result, CopySet(c));
  for (const Value& given : c.args.positional) {
    TILEVM_ASSIGN_OR_RETURN(const Value other, c.impl.SetOf(given, false, c.loc));
    Value next = MakeSet(SetOf(c).frozen);
    for (const auto& [item, nothing] : result.As<SetPayload>()->items) {
      bool shared = false;
      if (!either) {
        TILEVM_ASSIGN_OR_RETURN(shared, c.impl.Contains(other, item, c.loc));
      }
      if (either || shared == in_both) TILEVM_RETURN_IF_ERROR(c.impl.SetAdd(next, item, c.loc).status());
    }
    for (const auto& [item, nothing] : other.As<SetPayload>()->items) {
      if (!either && name != "symmetric_difference") break;
      bool shared = false;
      if (!either) {
        TILEVM_ASSIGN_OR_RETURN(shared, c.impl.Contains(result, item, c.loc));
      }
      if (!shared) TILEVM_RETURN_IF_ERROR(c.impl.SetAdd(next, item, c.loc).status());
    }
    result = std::move(next);
  }
  if (!in_place) return result;
  const PairTable old = std::exchange(SetOf(c).items, result.As<SetPayload>()->items);
  SetOf(c).Recount();
  return Value::None();
}
// issubset, issuperset, isdisjoint
absl::StatusOr<Value> Relation(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const Value other, c.impl.SetOf(c.args.positional[0], false, c.loc));
  const bool super = c.name == "issuperset", disjoint = c.name == "isdisjoint";
  const Value &small = super ? other : c.self, &large = super ? c.self : other;
  const PairTable items = small.As<SetPayload>()->items;
  for (const auto& [item, nothing] : items) {
    TILEVM_ASSIGN_OR_RETURN(bool found, c.impl.Contains(large, item, c.loc));
    if (found == disjoint) return Value::Bool(false);
  }
  return Value::Bool(true);
}

// --- dict ---

DictPayload& DictOf(const MethodCall& c) { return *c.self.As<DictPayload>(); }

absl::StatusOr<Value> Keys(const MethodCall& c) {
  std::vector<Value> items;
  for (const auto& [key, value] : DictOf(c).entries) {
    items.push_back(c.name == "keys" ? key : c.name == "values" ? value : Value::Tuple({key, value}));
  }
  if (c.impl.in_kernel()) return Value::List(std::move(items));
  return MakeNamedTuple(absl::StrCat("dict_", c.name), {}, std::move(items));  // of what is there now
}
absl::StatusOr<Value> Get(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 2, {"default"}));
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> found, c.impl.DictGet(c.self, c.args.positional[0], c.loc));
  if (found.has_value()) return *std::move(found);
  const Value otherwise = Argument(c.args, 1, "default");
  return otherwise.absent() ? Value::None() : otherwise;
}
absl::StatusOr<Value> SetDefault(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 2));
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> found, c.impl.DictGet(c.self, c.args.positional[0], c.loc));
  if (found.has_value()) return *std::move(found);
  const Value value = c.count() == 2 ? c.args.positional[1] : Value::None();
  TILEVM_RETURN_IF_ERROR(c.impl.SetItem(c.self, c.args.positional[0], value, c.loc));
  return value;
}
absl::StatusOr<Value> Update(const MethodCall& c) {
  if (c.count() > 1) return InvalidAt(c.loc, "TypeError: update expected at most 1 argument, got ", c.count());
  if (c.count() == 1 && c.args.positional[0].is(ValueKind::kDict)) {
    const PairTable entries = c.args.positional[0].As<DictPayload>()->entries;
    for (const auto& [key, value] : entries) TILEVM_RETURN_IF_ERROR(c.impl.DictPut(c.self, key, value, c.loc));
  } else if (c.count() == 1) {
    TILEVM_RETURN_IF_ERROR(c.impl.ForEach(c.args.positional[0], c.loc, [&](const Value& pair) -> absl::StatusOr<bool> {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> two, c.impl.Iterate(pair, c.loc));
      if (two.size() != 2) return InvalidAt(c.loc, "ValueError: dictionary update sequence element has length ", two.size(), "; 2 is required");
      TILEVM_RETURN_IF_ERROR(c.impl.DictPut(c.self, two[0], two[1], c.loc));
      return true;
    }));
  }
  for (const auto& [key, value] : c.args.keyword) TILEVM_RETURN_IF_ERROR(c.impl.DictPut(c.self, Value::String(key), value, c.loc));
  return Value::None();
}
absl::StatusOr<Value> PopKey(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 2));
  TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, c.impl.FindKey(DictOf(c).entries, c.args.positional[0], c.loc));
  if (place.has_value()) {
    const Value value = DictOf(c).entries.at(*place).second;
    DictOf(c).entries.EraseAt(*place);
    return value;
  }
  if (c.count() == 2) return c.args.positional[1];
  return InvalidAt(c.loc, "KeyError: ", Repr(c.args.positional[0]));
}
absl::StatusOr<Value> PopItem(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 0));
  PairTable& entries = DictOf(c).entries;
  if (entries.empty()) return InvalidAt(c.loc, "KeyError: 'popitem(): dictionary is empty'");
  const size_t place = entries.last();
  const Value pair = Value::Tuple({entries.at(place).first, entries.at(place).second});
  entries.EraseAt(place);
  return pair;
}
absl::StatusOr<Value> CopyDict(const MethodCall& c) {
  const Value copy = Value::Shared(ValueKind::kDict, std::make_shared<DictPayload>(DictOf(c)));
  DetachAttributes(copy);
  return copy;
}
absl::StatusOr<Value> ClearDict(const MethodCall& c) {
  const PairTable entries = std::exchange(DictOf(c).entries, PairTable());
  DictOf(c).Recount();
  return Value::None();
}

// --- numbers, functions, configs ---

absl::StatusOr<Value> BitLength(const MethodCall& c) {
  const absl::uint128 value = static_cast<absl::uint128>(c.self.int_value());
  int64_t bits = 0;
  for (absl::uint128 magnitude = c.self.int_value() < 0 ? -value : value; magnitude != 0; magnitude >>= 1) ++bits;
  return Value::Int(bits);
}
absl::StatusOr<Value> BitCount(const MethodCall& c) {
  const absl::uint128 value = static_cast<absl::uint128>(c.self.int_value());
  int64_t bits = 0;
  for (absl::uint128 magnitude = c.self.int_value() < 0 ? -value : value; magnitude != 0; magnitude >>= 1) bits += (magnitude & 1) != 0 ? 1 : 0;
  return Value::Int(bits);
}
absl::StatusOr<Value> IsIntegral(const MethodCall& c) {
  return Value::Bool(std::isfinite(c.self.float_value()) && c.self.float_value() == std::floor(c.self.float_value()));
}

absl::StatusOr<Value> IndicesOf(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const int64_t size, ToIndex(c.args.positional[0], "the length", c.loc));
  return SliceIndices(c.self, size, c.loc);
}

absl::StatusOr<Value> RangeCount(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const bool there, c.impl.Contains(c.self, c.args.positional[0], c.loc));
  return Value::Int(there ? 1 : 0);
}
absl::StatusOr<Value> RangeIndex(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const bool there, c.impl.Contains(c.self, c.args.positional[0], c.loc));
  if (!there) return InvalidAt(c.loc, "ValueError: ", Repr(c.args.positional[0]), " is not in range");
  const auto* range = c.self.As<RangePayload>();
  return Value::Int((c.args.positional[0].int_value() - range->start.int_value()) / range->step.int_value());
}

absl::StatusOr<Value> RunKernel(const MethodCall& c) {
  CallArgs args = c.args;
  Value grid;
  std::erase_if(args.keyword, [&](const auto& keyword) {
    if (keyword.first == "grid") grid = keyword.second;
    return keyword.first == "grid" || (keyword.first == "warmup" && c.name == "warmup");
  });
  if (c.name == "warmup") args.keyword.emplace_back("warmup", Value::Bool(true));
  if (grid.absent()) return InvalidAt(c.loc, "TypeError: kernel.run() is missing its argument 'grid'");
  return c.impl.host().Launch(c.impl.self(), c.self, grid, args, c.loc);
}

// torch.autograd.Function.apply: forward with a context that keeps whatever is put on it.
absl::StatusOr<Value> Apply(const MethodCall& c) {
  TILEVM_ASSIGN_OR_RETURN(Value forward, c.impl.ClassAttr(c.self, "forward", c.loc));
  auto type = std::make_shared<ClassPayload>();
  type->name = "FunctionCtx";
  type->bases = {Value::Builtin("torch.autograd.function.FunctionCtx")};
  auto context = std::make_shared<InstancePayload>();
  context->type = Value::Shared(ValueKind::kClass, std::move(type));
  context->attributes.emplace_back("needs_input_grad", Value::Tuple(std::vector<Value>(c.count(), Value::Bool(false))));
  CallArgs args = c.args;
  args.positional.insert(args.positional.begin(), Value::Shared(ValueKind::kInstance, std::move(context)));
  return c.impl.CallValue(forward, args, false, c.loc);
}
absl::StatusOr<Value> SaveForBackward(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.impl.SetAttr(c.self, "saved_tensors", Value::Tuple(c.args.positional), c.loc));
  return Value::None();
}
absl::StatusOr<Value> Ignored(const MethodCall&) { return Value::None(); }
absl::StatusOr<Value> AllKwargs(const MethodCall& c) {
  TILEVM_ASSIGN_OR_RETURN(Value kwargs, c.impl.GetAttr(c.self, "kwargs", false, c.loc));
  Value all = Value::Shared(ValueKind::kDict, std::make_shared<DictPayload>(*kwargs.As<DictPayload>()));
  for (const char* name : {"num_warps", "num_ctas", "num_stages"}) {
    TILEVM_ASSIGN_OR_RETURN(Value value, c.impl.GetAttr(c.self, name, false, c.loc));
    TILEVM_RETURN_IF_ERROR(c.impl.SetItem(all, Value::String(name), value, c.loc));
  }
  return all;
}

absl::StatusOr<Value> MakeFrom(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, c.impl.Iterate(c.args.positional[0], c.loc));
  return c.impl.Instantiate(c.self, CallArgs{std::move(items), {}}, c.loc);
}

constexpr MethodRow kListMethods[] = {
    {"append", Append}, {"extend", Extend}, {"insert", Insert}, {"pop", Pop}, {"remove", RemoveItem}, {"index", IndexOf}, {"count", CountItems}, {"sort", Sort},
    {"reverse", Reverse}, {"clear", ClearList}, {"copy", CopyList},
};
constexpr MethodRow kSetMethods[] = {
    {"union", Combine}, {"intersection", Combine}, {"difference", Combine}, {"symmetric_difference", Combine}, {"issubset", Relation},
    {"issuperset", Relation}, {"isdisjoint", Relation}, {"copy", CopySet},
    // What changes it; a frozenset has only the ones above.
    {"add", AddToSet}, {"discard", Discard}, {"remove", Discard}, {"pop", PopFromSet}, {"update", Combine}, {"intersection_update", Combine},
    {"difference_update", Combine}, {"symmetric_difference_update", Combine}, {"clear", ClearSet},
};
constexpr size_t kFrozenSetMethods = 8;
constexpr MethodRow kTupleMethods[] = {{"index", IndexOf}, {"count", CountItems}, {"_replace", ReplaceFields}, {"_asdict", AsDict}};
constexpr MethodRow kDictMethods[] = {
    {"keys", Keys}, {"values", Keys}, {"items", Keys}, {"get", Get}, {"setdefault", SetDefault}, {"update", Update}, {"pop", PopKey}, {"popitem", PopItem}, {"copy", CopyDict}, {"clear", ClearDict},
};
constexpr MethodRow kIntMethods[] = {{"bit_length", BitLength}, {"bit_count", BitCount}};
constexpr MethodRow kFloatMethods[] = {{"is_integer", IsIntegral}};
constexpr MethodRow kRangeMethods[] = {{"index", RangeIndex}, {"count", RangeCount}};
constexpr MethodRow kSliceMethods[] = {{"indices", IndicesOf}};
constexpr MethodRow kJitMethods[] = {{"run", RunKernel}, {"warmup", RunKernel}};
constexpr MethodRow kNamedTupleMethods[] = {{"_make", MakeFrom}};
constexpr MethodRow kAutogradMethods[] = {{"apply", Apply}};
constexpr MethodRow kContextMethods[] = {
    {"save_for_backward", SaveForBackward}, {"mark_non_differentiable", Ignored}, {"set_materialize_grads", Ignored}, {"mark_dirty", Ignored}};
constexpr MethodRow kConfigMethods[] = {{"all_kwargs", AllKwargs}};

absl::Span<const MethodRow> MethodsOf(const Impl& impl, const Value& object) {
  switch (object.kind()) {
    case ValueKind::kString: return StringMethods();
    case ValueKind::kList: return kListMethods;
    case ValueKind::kSet: return absl::MakeConstSpan(kSetMethods).subspan(0, object.As<SetPayload>()->frozen ? kFrozenSetMethods : std::size(kSetMethods));
    case ValueKind::kTuple: return kTupleMethods;
    case ValueKind::kDict: return kDictMethods;
    case ValueKind::kInt: case ValueKind::kBool: return kIntMethods;
    case ValueKind::kFloat: return kFloatMethods;
    case ValueKind::kRange: return kRangeMethods;
    case ValueKind::kSlice: return kSliceMethods;
    case ValueKind::kJitFunction: return kJitMethods;
    case ValueKind::kClass:
      if (impl.FindInClass(object, "_fields") != nullptr) return kNamedTupleMethods;
      return impl.HasBase(object, "torch.autograd.Function") ? absl::Span<const MethodRow>(kAutogradMethods) : absl::Span<const MethodRow>();
    case ValueKind::kInstance: {
      const Value& type = object.As<InstancePayload>()->type;
      if (impl.HasBase(type, "torch.autograd.function.FunctionCtx")) return kContextMethods;
      return impl.HasBase(type, "triton.Config") ? absl::Span<const MethodRow>(kConfigMethods) : absl::Span<const MethodRow>();
    }
    default: return {};
  }
}

MethodFunction FindMethod(const Impl& impl, const Value& object, absl::string_view name) {
  for (const MethodRow& row : MethodsOf(impl, object)) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

}  // namespace

bool Evaluator::Impl::HasPythonMethod(const Value& object, absl::string_view name) const {
  return FindMethod(*this, object, name) != nullptr || FindCollectionMethod(object, name) != nullptr || FindModuleMethod(*this, object, name) != nullptr;
}

bool Evaluator::Impl::IsTypeFunction(absl::string_view path) const {
  if (!absl::ConsumePrefix(&path, "builtins.")) return false;
  const size_t dot = path.find('.');
  if (dot == absl::string_view::npos) return false;
  const absl::string_view type = path.substr(0, dot), name = path.substr(dot + 1);
  for (auto [known, rows] : {std::pair<absl::string_view, absl::Span<const MethodRow>>("str", StringMethods()), {"list", kListMethods}, {"tuple", kTupleMethods},
                             {"dict", kDictMethods}, {"set", kSetMethods}, {"int", kIntMethods}, {"float", kFloatMethods}}) {
    if (type == known) return std::any_of(rows.begin(), rows.end(), [&, wanted = name](const MethodRow& row) { return row.name == wanted; });
  }
  return false;
}

absl::StatusOr<Value> Evaluator::Impl::CallPythonMethod(const Value& object, absl::string_view name, const CallArgs& args, Loc loc) {
  BuiltinFunction of_module = FindCollectionMethod(object, name);
  MethodFunction method = of_module == nullptr ? FindMethod(*this, object, name) : nullptr;
  if (of_module == nullptr && method == nullptr) of_module = FindModuleMethod(*this, object, name);
  if (of_module != nullptr) {
    CallArgs with_self = args;
    with_self.positional.insert(with_self.positional.begin(), object);
    return of_module(*this, with_self, loc);
  }
  if (method == nullptr) return InvalidAt(loc, "AttributeError: '", NameOfType(object), "' object has no attribute '", name, "'");
  if (!IsAttributeDict(object)) return method(MethodCall{*this, object, name, args, loc});
  RefreshAttributes(object);
  absl::StatusOr<Value> result = method(MethodCall{*this, object, name, args, loc});
  StoreAttributes(object);
  return result;
}

}  // namespace tilevm::specializer
