// When values are equal, their hashes, and the tables of pairs that dicts and sets are made of (value.h).
#include "specializer/partial_eval/value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

namespace tilevm::specializer {

namespace {

bool EqualAt(const Value& a, const Value& b, int depth);

bool EqualItems(const ItemVector& a, const ItemVector& b, int depth) {
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
  if (a.is(ValueKind::kFloat) != b.is(ValueKind::kFloat)) {  // exact, beyond 2**53 too
    const double f = a.is(ValueKind::kFloat) ? a.float_value() : b.float_value();
    if (!(std::fabs(f) < 0x1p126)) return false;
    return f == std::trunc(f) && static_cast<absl::int128>(f) == (a.is(ValueKind::kFloat) ? b : a).int_value();
  }
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

bool StaticEqual(const Value& a, const Value& b) { return EqualAt(a, b, 0); }

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
  const auto items = [&](absl::Span<const Value> list) {
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
