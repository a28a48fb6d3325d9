// hash(), and the lookup of keys in dicts and sets: Python's rules, which may ask a class's own __hash__ and __eq__.
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

absl::StatusOr<uint64_t> Evaluator::Impl::HashOf(const Value& given, Loc loc) {
  const Value value = Unboxed(given);
  switch (value.kind()) {
    case ValueKind::kList: case ValueKind::kDict: case ValueKind::kSlice: break;
    case ValueKind::kSet:
      if (value.As<SetPayload>()->frozen) return StaticHash(value);
      break;
    case ValueKind::kTuple: {
      TILEVM_RETURN_IF_ERROR(CheckStack(loc));
      uint64_t hash = HashMix(static_cast<uint64_t>(ValueKind::kTuple), value.items().size());
      for (const Value& item : value.items()) {
        TILEVM_ASSIGN_OR_RETURN(uint64_t part, HashOf(item, loc));
        hash = HashMix(hash, part);
      }
      return hash;
    }
    case ValueKind::kInstance: {
      const Value type = value.As<InstancePayload>()->type;
      if (std::optional<Value> number = EnumNumber(value)) return HashOf(*number, loc);
      const Value* own = FindInClass(type, "__hash__");
      if (own != nullptr && own->is(ValueKind::kNone)) break;
      if (own != nullptr) {
        TILEVM_ASSIGN_OR_RETURN(std::optional<Value> hash, CallDunder(value, "__hash__", {}, loc));
        if (!hash->is(ValueKind::kInt) && !hash->is(ValueKind::kBool)) return InvalidAt(loc, "TypeError: __hash__ method should return an integer");
        return StaticHash(*hash);
      }
      if (FindInClass(type, "__eq__") != nullptr) break;
      if (std::optional<Value> fields = DataFields(value)) {
        if (!HasFlag(type, "__dataclass_hash__")) break;
        return HashOf(*fields, loc);
      }
      return StaticHash(value);
    }
    case ValueKind::kObject: return value.As<HostObject>()->Hash();
    default: return StaticHash(value);
  }
  return InvalidAt(loc, "TypeError: unhashable type: '", NameOfType(value), "'");
}

absl::StatusOr<std::optional<size_t>> Evaluator::Impl::FindKey(const PairTable& table, const Value& key, uint64_t hash, Loc loc) {
  for (const uint32_t place : table.Candidates(hash)) {
    if (place >= table.places()) break;  // a method __eq__ has changed the table
    const Value other = table.at(place).first;
    if (Identical(other, key)) return std::optional<size_t>(place);
    TILEVM_ASSIGN_OR_RETURN(bool equal, Equals(other, key, loc));
    if (equal && place < table.places()) return std::optional<size_t>(place);
  }
  return std::optional<size_t>();
}

absl::StatusOr<std::optional<size_t>> Evaluator::Impl::FindKey(const PairTable& table, const Value& key, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(uint64_t hash, HashOf(key, loc));
  return FindKey(table, key, hash, loc);
}

absl::StatusOr<std::optional<Value>> Evaluator::Impl::DictGet(const Value& dict, const Value& key, Loc loc) {
  const PairTable& table = dict.As<DictPayload>()->entries;
  TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, FindKey(table, key, loc));
  return place.has_value() ? std::optional<Value>(table.at(*place).second) : std::nullopt;
}

absl::Status Evaluator::Impl::DictPut(const Value& dict, const Value& key, const Value& value, Loc loc) {
  auto* payload = dict.As<DictPayload>();
  TILEVM_ASSIGN_OR_RETURN(uint64_t hash, HashOf(key, loc));
  TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, FindKey(payload->entries, key, hash, loc));
  if (place.has_value()) {
    payload->entries.at(*place).second = value;
    return absl::OkStatus();
  }
  payload->entries.Append(Unboxed(key), value, hash);
  payload->Recount();
  return absl::OkStatus();
}

absl::StatusOr<bool> Evaluator::Impl::SetAdd(const Value& set, const Value& item, Loc loc) {
  auto* payload = set.As<SetPayload>();
  TILEVM_ASSIGN_OR_RETURN(uint64_t hash, HashOf(item, loc));
  TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, FindKey(payload->items, item, hash, loc));
  if (place.has_value()) return false;
  payload->items.Append(Unboxed(item), Value::None(), hash);
  payload->Recount();
  return true;
}

absl::StatusOr<Value> Evaluator::Impl::SetOf(const Value& iterable, bool frozen, Loc loc) {
  Value set = MakeSet(frozen);
  TILEVM_RETURN_IF_ERROR(ForEach(iterable, loc, [&](const Value& item) -> absl::StatusOr<bool> {
    TILEVM_RETURN_IF_ERROR(SetAdd(set, item, loc).status());
    return true;
  }));
  return set;
}

}  // namespace tilevm::specializer
