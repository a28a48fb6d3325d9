// collections: Counter and OrderedDict, which are dicts with methods of their own (DictPayload::class_name), and deque.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

// --- Counter ---

Value NewCounter() {
  Value counter = MakeDict({});
  counter.As<DictPayload>()->class_name = "Counter";
  return counter;
}

absl::Status Count(Impl& impl, const Value& counter, const Value& key, Op op, const Value& by, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> old, impl.DictGet(counter, key, loc));
  TILEVM_ASSIGN_OR_RETURN(const Value now, impl.Binary(op, old.has_value() ? *old : Value::Int(0), by, loc));
  return impl.DictPut(counter, key, now, loc);
}

// What is counted: items one by one, or the counts of a dict and of keywords.
absl::Status CountAll(Impl& impl, const Value& counter, const CallArgs& args, Op op, Loc loc) {
  if (args.positional.size() > 1) return InvalidAt(loc, "TypeError: Counter takes at most 1 argument, got ", args.positional.size());
  if (!args.positional.empty() && args.positional[0].is(ValueKind::kDict)) {
    const PairTable entries = args.positional[0].As<DictPayload>()->entries;
    for (const auto& [key, value] : entries) TILEVM_RETURN_IF_ERROR(Count(impl, counter, key, op, value, loc));
  } else if (!args.positional.empty() && !args.positional[0].is(ValueKind::kNone)) {
    TILEVM_RETURN_IF_ERROR(impl.ForEach(args.positional[0], loc, [&](const Value& item) -> absl::StatusOr<bool> {
      TILEVM_RETURN_IF_ERROR(Count(impl, counter, item, op, Value::Int(1), loc));
      return true;
    }));
  }
  for (const auto& [name, value] : args.keyword) TILEVM_RETURN_IF_ERROR(Count(impl, counter, Value::String(name), op, value, loc));
  return absl::OkStatus();
}

absl::StatusOr<Value> Counter(Impl& impl, const CallArgs& args, Loc loc) {
  Value counter = NewCounter();
  TILEVM_RETURN_IF_ERROR(CountAll(impl, counter, args, Op::kAdd, loc));
  return counter;
}

CallArgs WithoutSelf(const CallArgs& args) {
  CallArgs rest = args;
  rest.positional.erase(rest.positional.begin());
  return rest;
}

template <Op kOp>
absl::StatusOr<Value> ChangeCounts(Impl& impl, const CallArgs& args, Loc loc) {  // update, subtract
  TILEVM_RETURN_IF_ERROR(CountAll(impl, args.positional[0], WithoutSelf(args), kOp, loc));
  return Value::None();
}

absl::StatusOr<Value> MostCommon(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "most_common", 1, 2, loc, {"n"}));
  std::vector<Value> pairs;
  for (const auto& [key, value] : args.positional[0].As<DictPayload>()->entries) pairs.push_back(Value::Tuple({key, value}));
  absl::Status failure;
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Value& a, const Value& b) {
    if (!failure.ok()) return false;
    absl::StatusOr<bool> less = impl.LessThan(b.items()[1], a.items()[1], loc);
    if (!less.ok()) failure = less.status();
    return less.ok() && *less;
  });
  TILEVM_RETURN_IF_ERROR(failure);
  if (const Value count = Argument(args, 1, "n"); !count.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(const int64_t most, ToIndex(count, "n", loc));
    pairs.resize(std::min(pairs.size(), static_cast<size_t>(std::max<int64_t>(most, 0))));
  }
  return Value::List(std::move(pairs));
}

absl::StatusOr<Value> Elements(Impl& impl, const CallArgs& args, Loc loc) {
  std::vector<Value> items;
  for (const auto& [key, value] : args.positional[0].As<DictPayload>()->entries) {
    TILEVM_ASSIGN_OR_RETURN(const int64_t times, ToIndex(value, "counts", loc));
    if (times > static_cast<int64_t>(kMaxSequence - items.size()))
      return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a sequence of more than ", kMaxSequence, " items");
    for (int64_t i = 0; i < times; ++i) items.push_back(key);
  }
  return impl.IteratorOf(Value::List(std::move(items)), loc);
}

absl::StatusOr<Value> Total(Impl& impl, const CallArgs& args, Loc loc) {
  Value total = Value::Int(0);
  for (const auto& [key, value] : args.positional[0].As<DictPayload>()->entries) {
    TILEVM_ASSIGN_OR_RETURN(total, impl.Binary(Op::kAdd, total, value, loc));
  }
  return total;
}

// --- OrderedDict ---

absl::StatusOr<Value> OrderedDict(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(Value dict, impl.CallBuiltin("builtins.dict", args, false, loc));
  dict.As<DictPayload>()->class_name = "OrderedDict";
  return dict;
}

absl::StatusOr<bool> LastFlag(Impl& impl, const CallArgs& args, size_t place, Loc loc) {
  const Value last = Argument(args, place, "last");
  return last.absent() ? absl::StatusOr<bool>(true) : impl.Truth(last, loc);
}

absl::StatusOr<Value> MoveToEnd(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "move_to_end", 2, 3, loc, {"key", "last"}));
  auto* dict = args.positional[0].As<DictPayload>();
  const Value key = Argument(args, 1, "key");
  TILEVM_ASSIGN_OR_RETURN(const bool last, LastFlag(impl, args, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(const std::optional<size_t> place, impl.FindKey(dict->entries, key, loc));
  if (!place.has_value()) return InvalidAt(loc, "KeyError: ", Repr(key));
  const PairTable::Pair pair = dict->entries.at(*place);
  const uint64_t hash = dict->entries.hash(*place);
  dict->entries.EraseAt(*place);
  PairTable others;
  if (!last) {
    others = std::exchange(dict->entries, PairTable());
    dict->entries.Append(pair.first, pair.second, hash);
    for (auto it = others.begin(); it != others.end(); ++it) dict->entries.Append((*it).first, (*it).second, others.hash(it.place()));
  } else {
    dict->entries.Append(pair.first, pair.second, hash);
  }
  dict->Recount();
  return Value::None();
}

absl::StatusOr<Value> PopEnd(Impl& impl, const CallArgs& args, Loc loc) {  // popitem
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "popitem", 1, 2, loc, {"last"}));
  PairTable& entries = args.positional[0].As<DictPayload>()->entries;
  TILEVM_ASSIGN_OR_RETURN(const bool last, LastFlag(impl, args, 1, loc));
  if (entries.empty()) return InvalidAt(loc, "KeyError: 'dictionary is empty'");
  const size_t place = last ? entries.last() : entries.begin().place();
  const Value pair = Value::Tuple({entries.at(place).first, entries.at(place).second});
  entries.EraseAt(place);
  return pair;
}

// --- deque ---

class Deque : public HostObject {
 public:
  std::string type_name() const override { return "collections.deque"; }

  absl::Status Push(const Value& item, bool front, Loc loc) {
    if (most_ == 0) return absl::OkStatus();
    if (most_ > 0 && static_cast<int64_t>(items_.size()) == most_) items_.erase(front ? items_.size() - 1 : 0);
    if (items_.size() >= kMaxSequence) return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a deque of more than ", kMaxSequence, " items");
    items_.insert(front ? 0 : items_.size(), item);
    Charge(items_.capacity() * sizeof(Value));
    return absl::OkStatus();
  }
  absl::Status Extend(Impl& impl, const Value& from, bool front, Loc loc) {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<Value> items, impl.Iterate(from, loc));  // which may be the deque itself
    for (const Value& item : items) TILEVM_RETURN_IF_ERROR(Push(item, front, loc));
    return absl::OkStatus();
  }
  std::weak_ptr<Deque> self;  // the value that holds it
  static std::shared_ptr<Deque> Make(int64_t most) {
    auto deque = std::make_shared<Deque>();
    deque->most_ = most;
    deque->self = deque;
    return deque;
  }
  Value List() const { return Value::List(items_.ToVector()); }

  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override {
    if (name == "maxlen") return most_ < 0 ? Value::None() : Value::Int(most_);
    return HostObject::GetAttr(evaluator, name, loc);
  }
  absl::StatusOr<int64_t> Length(Evaluator&, Loc) override { return static_cast<int64_t>(items_.size()); }
  absl::StatusOr<bool> Truth(Evaluator&, Loc) override { return !items_.empty(); }
  absl::StatusOr<Value> Index(Evaluator& evaluator, const Value& subscript, Loc loc) override {
    TILEVM_ASSIGN_OR_RETURN(const size_t at, Place(evaluator.impl(), subscript, loc));
    return items_[at];
  }
  absl::Status SetItem(Evaluator& evaluator, const Value& subscript, const Value& value, Loc loc) override {
    TILEVM_ASSIGN_OR_RETURN(const size_t at, Place(evaluator.impl(), subscript, loc));
    items_[at] = value;
    return absl::OkStatus();
  }
  absl::StatusOr<Value> Binary(Evaluator& evaluator, Op op, const Value& other, bool reflected, Loc loc) override {
    auto* deque = other.is(ValueKind::kObject) ? dynamic_cast<Deque*>(other.As<HostObject>()) : nullptr;
    if (deque == nullptr) {
      if (op == Op::kEq || op == Op::kNe) return Value::Bool(op == Op::kNe);
      return HostObject::Binary(evaluator, op, other, reflected, loc);
    }
    TILEVM_ASSIGN_OR_RETURN(const Value both, evaluator.impl().Binary(op, reflected ? deque->List() : List(), reflected ? List() : deque->List(), loc));
    if (!both.is(ValueKind::kList)) return both;
    const std::shared_ptr<Deque> sum = Make(most_);
    TILEVM_RETURN_IF_ERROR(sum->Extend(evaluator.impl(), both, false, loc));
    return Value::Shared(ValueKind::kObject, sum);
  }
  absl::StatusOr<Value> InPlace(Evaluator& evaluator, Op op, const Value& other, Loc loc) override {
    if (op != Op::kAdd) return HostObject::InPlace(evaluator, op, other, loc);
    TILEVM_RETURN_IF_ERROR(Extend(evaluator.impl(), other, false, loc));
    return Value::Shared(ValueKind::kObject, self.lock());
  }
  std::string Repr() const override {
    return absl::StrCat("deque(", specializer::Repr(List()), most_ < 0 ? "" : absl::StrCat(", maxlen=", most_), ")");
  }

  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    Impl& impl = evaluator.impl();
    if (name == "append" || name == "appendleft") {
      TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, 1, 1, loc));
      TILEVM_RETURN_IF_ERROR(Push(args.positional[0], name == "appendleft", loc));
      return Value::None();
    }
    if (name == "extend" || name == "extendleft") {
      TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, 1, 1, loc));
      TILEVM_RETURN_IF_ERROR(Extend(impl, args.positional[0], name == "extendleft", loc));
      return Value::None();
    }
    if (name == "pop" || name == "popleft") {
      TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, 0, 0, loc));
      if (items_.empty()) return InvalidAt(loc, "IndexError: pop from an empty deque");
      const size_t at = name == "pop" ? items_.size() - 1 : 0;
      const Value item = items_[at];
      items_.erase(at);
      return item;
    }
    if (name == "copy") {
      const std::shared_ptr<Deque> copy = Make(most_);
      copy->items_ = items_;
      return Value::Shared(ValueKind::kObject, copy);
    }
    if (name == "rotate") {
      TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, 0, 1, loc));
      int64_t by = 1;
      if (!args.positional.empty()) {
        TILEVM_ASSIGN_OR_RETURN(by, ToIndex(args.positional[0], "the number of steps", loc));
      }
      const int64_t size = static_cast<int64_t>(items_.size());
      if (size > 0) std::rotate(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(((-by % size) + size) % size), items_.end());
      return Value::None();
    }
    // The rest is a list's.
    for (absl::string_view of_list : {"clear", "count", "index", "insert", "remove", "reverse"}) {
      if (name != of_list) continue;
      if (name == "insert" && most_ >= 0 && static_cast<int64_t>(items_.size()) >= most_)
        return InvalidAt(loc, "IndexError: deque already at its maximum size");
      const Value list = List();
      TILEVM_ASSIGN_OR_RETURN(const Value result, impl.CallPythonMethod(list, name, args, loc));
      items_ = list.items();
      return result;
    }
    return HostObject::CallMethod(evaluator, name, args, loc);
  }

 private:
  absl::StatusOr<size_t> Place(Impl& impl, const Value& given, Loc loc) const {
    TILEVM_ASSIGN_OR_RETURN(const Value subscript, impl.AsIndex(given, loc));
    if (subscript.is(ValueKind::kSlice)) return InvalidAt(loc, "TypeError: sequence index must be integer, not 'slice'");
    TILEVM_ASSIGN_OR_RETURN(int64_t at, ToIndex(subscript, "deque indices", loc));
    const int64_t size = static_cast<int64_t>(items_.size());
    if (at < -size || at >= size) return InvalidAt(loc, "IndexError: deque index out of range");
    return static_cast<size_t>(at < 0 ? at + size : at);
  }

  ItemVector items_;
  int64_t most_ = -1;  // maxlen; -1: no limit
};

absl::StatusOr<Value> NewDeque(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "deque", 0, 2, loc, {"iterable", "maxlen"}));
  int64_t limit = -1;
  if (const Value most = Argument(args, 1, "maxlen"); !most.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(limit, ToIndex(most, "maxlen", loc));
    if (limit < 0) return InvalidAt(loc, "ValueError: maxlen must be non-negative");
  }
  const std::shared_ptr<Deque> deque = Deque::Make(limit);
  if (const Value items = Argument(args, 0, "iterable"); !items.absent()) TILEVM_RETURN_IF_ERROR(deque->Extend(impl, items, false, loc));
  return Value::Shared(ValueKind::kObject, deque);
}

constexpr BuiltinRow kRows[] = {{"collections.Counter", Counter}, {"collections.OrderedDict", OrderedDict}, {"collections.deque", NewDeque}};
constexpr BuiltinRow kCounterMethods[] = {
    {"update", ChangeCounts<Op::kAdd>}, {"subtract", ChangeCounts<Op::kSub>}, {"most_common", MostCommon}, {"elements", Elements}, {"total", Total}};
constexpr BuiltinRow kOrderedMethods[] = {{"move_to_end", MoveToEnd}, {"popitem", PopEnd}};

}  // namespace

absl::Span<const BuiltinRow> CollectionBuiltins() { return kRows; }

BuiltinFunction FindCollectionMethod(const Value& object, absl::string_view name) {
  if (!object.is(ValueKind::kDict) || object.As<DictPayload>()->class_name.empty()) return nullptr;
  const std::string& type = object.As<DictPayload>()->class_name;
  const auto rows = type == "Counter" ? absl::MakeConstSpan(kCounterMethods)
                    : type == "OrderedDict" ? absl::Span<const BuiltinRow>(kOrderedMethods) : absl::Span<const BuiltinRow>();
  for (const BuiltinRow& row : rows) {
    if (row.path == name) return row.function;
  }
  return nullptr;
}

// + - & | of two Counters: counts above zero are kept.
absl::StatusOr<std::optional<Value>> CombineCounters(Impl& impl, Op op, const Value& x, const Value& y, Loc loc) {
  const auto is_counter = [](const Value& v) { return v.is(ValueKind::kDict) && v.As<DictPayload>()->class_name == "Counter"; };
  if (!is_counter(x) || !is_counter(y)) return std::nullopt;
  if (op != Op::kAdd && op != Op::kSub && op != Op::kBitAnd && op != Op::kBitOr) return std::nullopt;
  Value result = NewCounter();
  const PairTable left = x.As<DictPayload>()->entries, right = y.As<DictPayload>()->entries;
  const auto keep = [&](const Value& key) -> absl::Status {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> a, impl.DictGet(x, key, loc));
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> b, impl.DictGet(y, key, loc));
    const Value p = a.has_value() ? *a : Value::Int(0), q = b.has_value() ? *b : Value::Int(0);
    Value count;
    if (op == Op::kAdd || op == Op::kSub) {
      TILEVM_ASSIGN_OR_RETURN(count, impl.Binary(op, p, q, loc));
    } else {
      TILEVM_ASSIGN_OR_RETURN(const bool less, impl.LessThan(p, q, loc));
      count = less == (op == Op::kBitAnd) ? p : q;
    }
    TILEVM_ASSIGN_OR_RETURN(const bool positive, impl.LessThan(Value::Int(0), count, loc));
    return positive ? impl.DictPut(result, key, count, loc) : absl::OkStatus();
  };
  for (const auto& [key, value] : left) TILEVM_RETURN_IF_ERROR(keep(key));
  for (const auto& [key, value] : right) TILEVM_RETURN_IF_ERROR(keep(key));
  return std::optional<Value>(std::move(result));
}

}  // namespace tilevm::specializer
