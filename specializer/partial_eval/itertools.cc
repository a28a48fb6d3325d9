// The lazy functions on sequences: iter, next, map, zip, filter, enumerate, reversed, and itertools.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/iterator.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

using Item = absl::StatusOr<std::optional<Value>>;

std::optional<Value> End() { return std::nullopt; }

// In a kernel (a constexpr function called by one) as on the host: what follows asks its sources one by one.
absl::StatusOr<std::vector<Value>> Iterators(Impl& impl, absl::Span<const Value> iterables, Loc loc) {
  std::vector<Value> iterators;
  for (const Value& iterable : iterables) {
    TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(iterable, loc));
    iterators.push_back(std::move(iterator));
  }
  return iterators;
}

Item Next(Impl& impl, const Value& iterator, Loc loc) { return AsIterator(iterator)->Next(impl, loc); }

// One item of each, or nothing at the first that ends.
absl::StatusOr<std::optional<std::vector<Value>>> Row(Impl& impl, const std::vector<Value>& iterators, Loc loc) {
  std::vector<Value> row;
  for (const Value& iterator : iterators) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(impl, iterator, loc));
    if (!item.has_value()) return std::optional<std::vector<Value>>();
    row.push_back(*std::move(item));
  }
  return std::optional<std::vector<Value>>(std::move(row));
}

absl::StatusOr<Value> Iter(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "iter", 1, 2, loc));
  if (args.positional.size() == 1) return impl.IteratorOf(args.positional[0], loc);
  return MakeIterator("callable_iterator", [callee = args.positional[0], last = args.positional[1]](Impl& own, Loc at) -> Item {
    TILEVM_ASSIGN_OR_RETURN(Value value, own.CallHost(callee, {}, at));
    TILEVM_ASSIGN_OR_RETURN(bool over, own.Equals(value, last, at));
    return over ? End() : std::optional<Value>(std::move(value));
  });
}

absl::StatusOr<Value> NextOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "next", 1, 2, loc));
  const Value& iterator = args.positional[0];
  const bool written = iterator.is(ValueKind::kInstance) && impl.FindInClass(iterator.As<InstancePayload>()->type, "__next__") != nullptr;
  if (AsIterator(iterator) == nullptr && !written) return InvalidAt(loc, "TypeError: '", impl.NameOfType(iterator), "' object is not an iterator");
  absl::StatusOr<Value> item = impl.CallMethodOf(iterator, "__next__", {}, false, loc);
  if (item.ok() || args.positional.size() == 1 || !IsStopIteration(item.status())) return item;
  impl.ForgetPending();
  return args.positional[1];
}

absl::StatusOr<Value> Zip(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "zip", 0, args.positional.size(), loc, {"strict"}));
  bool strict = false;
  if (const Value* given = FindKeyword(args, "strict")) {
    TILEVM_ASSIGN_OR_RETURN(strict, impl.Truth(*given, loc));
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> iterators, Iterators(impl, args.positional, loc));
  return MakeIterator("zip", [iterators = std::move(iterators), strict](Impl& own, Loc at) -> Item {
    if (iterators.empty()) return End();
    std::vector<Value> row;
    for (size_t i = 0; i < iterators.size(); ++i) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterators[i], at));
      if (item.has_value()) {
        row.push_back(*std::move(item));
        continue;
      }
      if (strict && i > 0) return InvalidAt(at, "ValueError: zip() argument ", i + 1, " is shorter than argument", i == 1 ? " 1" : absl::StrCat("s 1-", i));
      for (size_t k = 1; strict && k < iterators.size(); ++k) {
        TILEVM_ASSIGN_OR_RETURN(std::optional<Value> more, Next(own, iterators[k], at));
        if (more.has_value()) return InvalidAt(at, "ValueError: zip() argument ", k + 1, " is longer than argument", k == 1 ? " 1" : absl::StrCat("s 1-", k));
      }
      return End();
    }
    return Value::Tuple(std::move(row));
  });
}

absl::StatusOr<Value> Enumerate(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "enumerate", 1, 2, loc, {"start"}));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[0], loc));
  int64_t number = 0;
  if (Value start = Argument(args, 1, "start"); !start.absent()) {
    TILEVM_ASSIGN_OR_RETURN(number, ToIndex(start, "start", loc));
  }
  return MakeIterator("enumerate", [iterator, number = absl::int128(number)](Impl& own, Loc at) mutable -> Item {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, at));
    if (!item.has_value()) return End();
    return Value::Tuple({Value::Int(number++), *std::move(item)});
  });
}

// map(f, a, b) and, with rows, itertools.starmap(f, rows).
absl::StatusOr<Value> MapOver(Impl& impl, const CallArgs& args, Loc loc) {
  if (args.positional.size() < 2 || !args.keyword.empty()) return InvalidAt(loc, "TypeError: map() must have at least two arguments.");
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> iterators, Iterators(impl, absl::MakeSpan(args.positional).subspan(1), loc));
  return MakeIterator("map", [callee = args.positional[0], iterators = std::move(iterators)](Impl& own, Loc at) -> Item {
    TILEVM_ASSIGN_OR_RETURN(std::optional<std::vector<Value>> row, Row(own, iterators, at));
    if (!row.has_value()) return End();
    TILEVM_ASSIGN_OR_RETURN(Value value, own.CallHost(callee, *std::move(row), at));
    return value;
  });
}
absl::StatusOr<Value> StarMap(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "starmap", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[1], loc));
  return MakeIterator("itertools.starmap", [callee = args.positional[0], iterator](Impl& own, Loc at) -> Item {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, at));
    if (!item.has_value()) return End();
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> row, own.Iterate(*item, at));
    TILEVM_ASSIGN_OR_RETURN(Value value, own.CallHost(callee, std::move(row), at));
    return value;
  });
}

enum class Pick { kFilter, kFilterFalse, kTakeWhile, kDropWhile };

template <Pick kPick>
absl::StatusOr<Value> Filter(Impl& impl, const CallArgs& args, Loc loc) {
  constexpr absl::string_view kName = kPick == Pick::kFilter        ? "filter"
                                      : kPick == Pick::kFilterFalse ? "itertools.filterfalse"
                                      : kPick == Pick::kTakeWhile   ? "itertools.takewhile"
                                                                    : "itertools.dropwhile";
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, kName, 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[1], loc));
  return MakeIterator(std::string(kName), [test = args.positional[0], iterator, dropping = true](Impl& own, Loc at) mutable -> Item {
    while (true) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, at));
      if (!item.has_value() || (kPick == Pick::kDropWhile && !dropping)) return item;
      Value verdict = *item;
      if (!test.is(ValueKind::kNone)) {
        TILEVM_ASSIGN_OR_RETURN(verdict, own.CallHost(test, {*item}, at));
      }
      TILEVM_ASSIGN_OR_RETURN(const bool holds, own.Truth(verdict, at));
      if (kPick == Pick::kTakeWhile) return holds ? item : End();
      dropping = holds;
      if (holds == (kPick == Pick::kFilter)) return item;
    }
  });
}

absl::StatusOr<Value> Reversed(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "reversed", 1, 1, loc));
  const Value& sequence = args.positional[0];
  if (sequence.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> own, impl.CallDunder(sequence, "__reversed__", {}, loc));
    if (own.has_value()) return impl.IteratorOf(*own, loc);
  }
  if (AsIterator(sequence) != nullptr || sequence.is(ValueKind::kSet))
    return InvalidAt(loc, "TypeError: '", impl.NameOfType(sequence), "' object is not reversible");
  if (sequence.is(ValueKind::kDict)) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> keys, impl.Iterate(sequence, loc));
    std::reverse(keys.begin(), keys.end());
    return impl.IteratorOf(Value::List(std::move(keys)), loc);
  }
  TILEVM_ASSIGN_OR_RETURN(int64_t length, impl.Length(sequence, loc));
  return MakeIterator("reversed", [sequence, at = length](Impl& own, Loc where) mutable -> Item {
    if (at <= 0) return End();
    TILEVM_ASSIGN_OR_RETURN(Value item, own.Index(sequence, Value::Int(--at), where));
    return item;
  });
}

// --- itertools ---

absl::StatusOr<Value> Count(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.count", 0, 2, loc, {"start", "step"}));
  const Value start = Argument(args, 0, "start"), step = Argument(args, 1, "step");
  return MakeIterator("itertools.count",
                      [next = start.absent() ? Value::Int(0) : start, step = step.absent() ? Value::Int(1) : step](Impl& own, Loc at) mutable -> Item {
                        Value current = next;
                        TILEVM_ASSIGN_OR_RETURN(next, own.Binary(Op::kAdd, next, step, at));
                        return current;
                      });
}

absl::StatusOr<Value> RepeatOf(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.repeat", 1, 2, loc, {"times"}));
  std::optional<int64_t> left;
  if (const Value times = Argument(args, 1, "times"); !times.absent()) {
    TILEVM_ASSIGN_OR_RETURN(left, ToIndex(times, "times", loc));
  }
  return MakeIterator("itertools.repeat", [object = args.positional[0], left](Impl&, Loc) mutable -> Item {
    if (left.has_value() && (*left)-- <= 0) return End();
    return object;
  });
}

absl::StatusOr<Value> Cycle(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.cycle", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[0], loc));
  return MakeIterator("itertools.cycle", [iterator, seen = Value::List({}), at = size_t{0}, first = true](Impl& own, Loc where) mutable -> Item {
    if (first) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, where));
      if (item.has_value()) {
        seen.mutable_items().push_back(*item);
        seen.As<ItemsPayload>()->Recount();
        return item;
      }
      first = false;
    }
    if (seen.items().empty()) return End();
    return seen.items()[at++ % seen.items().size()];
  });
}

absl::StatusOr<Value> ChainOver(const Value& sources) {
  return MakeIterator("itertools.chain", [sources, current = Value()](Impl& own, Loc at) mutable -> Item {
    while (true) {
      if (!current.absent()) {
        TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, current, at));
        if (item.has_value()) return item;
        TILEVM_RETURN_IF_ERROR(own.CountStep(at));
      }
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> source, Next(own, sources, at));
      if (!source.has_value()) return End();
      TILEVM_ASSIGN_OR_RETURN(current, own.IteratorOf(*source, at));
    }
  });
}
absl::StatusOr<Value> Chain(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.chain", 0, args.positional.size(), loc));
  TILEVM_ASSIGN_OR_RETURN(Value sources, impl.IteratorOf(Value::Tuple(args.positional), loc));
  return ChainOver(sources);
}
absl::StatusOr<Value> ChainFrom(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.chain.from_iterable", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(Value sources, impl.IteratorOf(args.positional[0], loc));
  return ChainOver(sources);
}

absl::StatusOr<Value> Slice(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.islice", 2, 4, loc));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[0], loc));
  const bool only_stop = args.positional.size() == 2;
  const auto bound = [&](size_t i, int64_t otherwise) -> absl::StatusOr<int64_t> {
    if (i >= args.positional.size() || args.positional[i].is(ValueKind::kNone)) return otherwise;
    TILEVM_ASSIGN_OR_RETURN(int64_t number, ToIndex(args.positional[i], "the bounds of islice", loc));
    if (number < 0) return InvalidAt(loc, "ValueError: Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.");
    return number;
  };
  TILEVM_ASSIGN_OR_RETURN(int64_t start, only_stop ? absl::StatusOr<int64_t>(0) : bound(1, 0));
  TILEVM_ASSIGN_OR_RETURN(int64_t stop, bound(only_stop ? 1 : 2, INT64_MAX));
  TILEVM_ASSIGN_OR_RETURN(int64_t step, bound(3, 1));
  if (step == 0) return InvalidAt(loc, "ValueError: Step for islice() must be a positive integer or None.");
  return MakeIterator("itertools.islice", [iterator, at = int64_t{0}, next = start, stop, step](Impl& own, Loc where) mutable -> Item {
    if (next >= stop) return End();
    while (true) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, where));
      if (!item.has_value() || at++ == next) {
        next = next > INT64_MAX - step ? INT64_MAX : next + step;
        return item;
      }
    }
  });
}

absl::StatusOr<Value> ZipLongest(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.zip_longest", 0, args.positional.size(), loc, {"fillvalue"}));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> iterators, Iterators(impl, args.positional, loc));
  const Value* fill = FindKeyword(args, "fillvalue");
  return MakeIterator("itertools.zip_longest",
                      [iterators = std::move(iterators), fill = fill != nullptr ? *fill : Value::None()](Impl& own, Loc at) mutable -> Item {
                        std::vector<Value> row;
                        bool any = false;
                        for (Value& iterator : iterators) {
                          std::optional<Value> item;
                          if (!iterator.absent()) {
                            TILEVM_ASSIGN_OR_RETURN(item, Next(own, iterator, at));
                          }
                          if (!item.has_value()) iterator = Value();
                          any |= item.has_value();
                          row.push_back(item.has_value() ? *std::move(item) : fill);
                        }
                        return any ? std::optional<Value>(Value::Tuple(std::move(row))) : End();
                      });
}

absl::StatusOr<Value> Accumulate(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.accumulate", 1, 2, loc, {"func", "initial"}));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[0], loc));
  const Value* initial = FindKeyword(args, "initial");
  const bool given = initial != nullptr && !initial->is(ValueKind::kNone);
  return MakeIterator(
      "itertools.accumulate",
      [iterator, function = Argument(args, 1, "func"), total = Value(), initial = given ? *initial : Value()](Impl& own, Loc at) mutable -> Item {
        if (total.absent() && !initial.absent()) {
          total = initial;
          return total;
        }
        TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, at));
        if (!item.has_value()) return End();
        if (total.absent()) {
          total = *item;
        } else if (function.absent_or_none()) {
          TILEVM_ASSIGN_OR_RETURN(total, own.Binary(Op::kAdd, total, *item, at));
        } else {
          TILEVM_ASSIGN_OR_RETURN(total, own.CallHost(function, {total, *item}, at));
        }
        return total;
      });
}

absl::StatusOr<Value> Pairwise(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.pairwise", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[0], loc));
  return MakeIterator("itertools.pairwise", [iterator, last = Value()](Impl& own, Loc at) mutable -> Item {
    if (last.absent()) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> first, Next(own, iterator, at));
      if (!first.has_value()) return End();
      last = *std::move(first);
    }
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, at));
    if (!item.has_value()) return End();
    Value pair = Value::Tuple({last, *item});
    last = *std::move(item);
    return pair;
  });
}

// The pools of product, permutations and combinations are spelled out, as in Python; their rows are made one by one.
// `at` holds the places in the row; Advance gives the next row, false after the last.
template <typename Advance>
Value Rows(std::string name, std::vector<std::vector<Value>> pools, std::vector<size_t> at, bool any, Advance advance) {
  return MakeIterator(std::move(name), [lists = std::move(pools), at = std::move(at), first = true, any, advance](Impl&, Loc) mutable -> Item {
    if (!any || (!first && !advance(at))) return End();
    first = false;
    std::vector<Value> row;
    for (size_t i = 0; i < at.size(); ++i) row.push_back(lists[lists.size() == 1 ? 0 : i][at[i]]);
    return Value::Tuple(std::move(row));
  });
}

constexpr int64_t kMaxRow = 4096;  // items of one row

absl::StatusOr<Value> Product(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.product", 0, args.positional.size(), loc, {"repeat"}));
  int64_t repeat = 1;
  if (const Value* given = FindKeyword(args, "repeat")) {
    TILEVM_ASSIGN_OR_RETURN(repeat, ToIndex(*given, "repeat", loc));
    if (repeat < 0) return InvalidAt(loc, "ValueError: repeat argument cannot be negative");
  }
  if (!args.positional.empty() && repeat > kMaxRow / static_cast<int64_t>(args.positional.size())) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "itertools.product of more than ", kMaxRow, " sequences");
  }
  std::vector<std::vector<Value>> once, pools;
  for (const Value& pool : args.positional) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(pool, loc));
    once.push_back(std::move(items));
  }
  for (int64_t r = 0; r < repeat; ++r) pools.insert(pools.end(), once.begin(), once.end());
  bool any = true;
  std::vector<size_t> sizes;
  for (const auto& pool : pools) {
    any = any && !pool.empty();
    sizes.push_back(pool.size());
  }
  std::vector<size_t> at(pools.size());
  return Rows("itertools.product", std::move(pools), std::move(at), any, [sizes](std::vector<size_t>& row) {
    for (size_t i = row.size(); i-- > 0;) {
      if (++row[i] < sizes[i]) return true;
      row[i] = 0;
    }
    return false;
  });
}

enum class Choice { kCombinations, kWithReplacement, kPermutations };

template <Choice kChoice>
absl::StatusOr<Value> Choices(Impl& impl, const CallArgs& args, Loc loc) {
  constexpr absl::string_view kName = kChoice == Choice::kCombinations   ? "itertools.combinations"
                                      : kChoice == Choice::kPermutations ? "itertools.permutations"
                                                                         : "itertools.combinations_with_replacement";
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, kName, kChoice == Choice::kPermutations ? 1 : 2, 2, loc, {"r"}));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> pool, impl.Iterate(args.positional[0], loc));
  const size_t size = pool.size();
  int64_t count = static_cast<int64_t>(size);
  if (const Value given = Argument(args, 1, "r"); !given.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(count, ToIndex(given, "r", loc));
  }
  if (count < 0) return InvalidAt(loc, "ValueError: r must be non-negative");
  const bool any = kChoice == Choice::kWithReplacement ? size > 0 || count == 0 : count <= static_cast<int64_t>(size);
  if (any && count > kMaxRow) return ErrorAt(loc, absl::StatusCode::kResourceExhausted, kName, " of more than ", kMaxRow, " items");
  std::vector<size_t> at(any ? static_cast<size_t>(count) : 0);
  for (size_t i = 0; i < at.size() && kChoice != Choice::kWithReplacement; ++i) at[i] = i;
  return Rows(std::string(kName), {std::move(pool)}, std::move(at), any, [size](std::vector<size_t>& row) {
    for (size_t i = row.size(); i-- > 0;) {
      if (kChoice == Choice::kPermutations) {
        // The next unused place for i, then the smallest unused ones behind it.
        std::vector<bool> used(size);
        for (size_t k = 0; k < i; ++k) used[row[k]] = true;
        size_t next = row[i] + 1;
        while (next < size && used[next]) ++next;
        if (next == size) continue;
        row[i] = next;
        used[next] = true;
        size_t free = 0;
        for (size_t k = i + 1; k < row.size(); ++k) {
          while (used[free]) ++free;
          row[k] = free;
          used[free] = true;
        }
        return true;
      }
      const size_t last = kChoice == Choice::kCombinations ? size - row.size() + i : size - 1;
      if (row[i] == last) continue;
      ++row[i];
      for (size_t k = i + 1; k < row.size(); ++k) row[k] = kChoice == Choice::kCombinations ? row[k - 1] + 1 : row[i];
      return true;
    }
    return false;
  });
}

// Each group is spelled out when its turn comes.
absl::StatusOr<Value> GroupBy(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.groupby", 1, 2, loc, {"key"}));
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[0], loc));
  return MakeIterator("itertools.groupby", [iterator, key = Argument(args, 1, "key"), held = Value(), held_key = Value()](Impl& own, Loc at) mutable -> Item {
    const auto key_of = [&](const Value& item) -> absl::StatusOr<Value> { return key.absent_or_none() ? item : own.CallHost(key, {item}, at); };
    if (held.absent()) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> first, Next(own, iterator, at));
      if (!first.has_value()) return End();
      held = *first;
      TILEVM_ASSIGN_OR_RETURN(held_key, key_of(held));
    }
    const Value group_key = held_key;
    std::vector<Value> group = {std::exchange(held, Value())};
    while (true) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, at));
      if (!item.has_value()) break;
      TILEVM_ASSIGN_OR_RETURN(Value item_key, key_of(*item));
      TILEVM_ASSIGN_OR_RETURN(bool same, own.Equals(item_key, group_key, at));
      if (!same) {
        held = *item;
        held_key = item_key;
        break;
      }
      group.push_back(*std::move(item));
    }
    TILEVM_ASSIGN_OR_RETURN(Value items, own.IteratorOf(Value::List(std::move(group)), at));
    return Value::Tuple({group_key, items});
  });
}

// The copies share a list of what was taken so far.
absl::StatusOr<Value> Tee(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "itertools.tee", 1, 2, loc));
  int64_t count = 2;
  if (args.positional.size() == 2) {
    TILEVM_ASSIGN_OR_RETURN(count, ToIndex(args.positional[1], "n", loc));
    if (count < 0 || count > kMaxRow) return InvalidAt(loc, "ValueError: tee: n must be between 0 and ", kMaxRow);
  }
  TILEVM_ASSIGN_OR_RETURN(Value iterator, impl.IteratorOf(args.positional[0], loc));
  const Value seen = Value::List({});
  std::vector<Value> copies;
  for (int64_t i = 0; i < count; ++i) {
    copies.push_back(MakeIterator("itertools._tee", [iterator, seen, at = size_t{0}](Impl& own, Loc where) mutable -> Item {
      if (at == seen.items().size()) {
        TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(own, iterator, where));
        if (!item.has_value()) return End();
        seen.mutable_items().push_back(*std::move(item));
        seen.As<ItemsPayload>()->Recount();
      }
      return seen.items()[at++];
    }));
  }
  return Value::Tuple(std::move(copies));
}

constexpr BuiltinRow kRows[] = {
    {"builtins.iter", Iter},
    {"builtins.next", NextOf},
    {"builtins.zip", Zip},
    {"builtins.enumerate", Enumerate},
    {"builtins.map", MapOver},
    {"builtins.filter", Filter<Pick::kFilter>},
    {"builtins.reversed", Reversed},
    {"itertools.accumulate", Accumulate},
    {"itertools.chain", Chain},
    {"itertools.chain.from_iterable", ChainFrom},
    {"itertools.combinations", Choices<Choice::kCombinations>},
    {"itertools.combinations_with_replacement", Choices<Choice::kWithReplacement>},
    {"itertools.count", Count},
    {"itertools.cycle", Cycle},
    {"itertools.dropwhile", Filter<Pick::kDropWhile>},
    {"itertools.filterfalse", Filter<Pick::kFilterFalse>},
    {"itertools.groupby", GroupBy},
    {"itertools.islice", Slice},
    {"itertools.pairwise", Pairwise},
    {"itertools.permutations", Choices<Choice::kPermutations>},
    {"itertools.product", Product},
    {"itertools.repeat", RepeatOf},
    {"itertools.starmap", StarMap},
    {"itertools.takewhile", Filter<Pick::kTakeWhile>},
    {"itertools.tee", Tee},
    {"itertools.zip_longest", ZipLongest},
};

}  // namespace

absl::Span<const BuiltinRow> IteratorBuiltins() { return kRows; }

}  // namespace tilevm::specializer
