#include "specializer/partial_eval/live_dict.h"

#include <utility>

#include "absl/strings/match.h"

namespace tilevm::specializer {

namespace {

using Attributes = std::vector<std::pair<std::string, Value>>;

Attributes& AttributesOf(const Value& owner) {
  return owner.is(ValueKind::kInstance) ? owner.As<InstancePayload>()->attributes : owner.As<FunctionPayload>()->attributes;
}
// A function's __name__ and the like are not in its __dict__.
bool Hidden(const Value& owner, absl::string_view name) { return owner.is(ValueKind::kFunction) && absl::StartsWith(name, "__"); }

std::vector<std::pair<Value, Value>> EntriesOf(const Value& owner) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, value] : AttributesOf(owner)) {
    if (!Hidden(owner, key)) entries.emplace_back(Value::String(key), value);
  }
  return entries;
}

}  // namespace

Value AttributeDict(const Value& owner) {
  Value dict = MakeDict(EntriesOf(owner));
  dict.As<DictPayload>()->factory = owner;
  return dict;
}

bool IsAttributeDict(const Value& dict) {
  if (!dict.is(ValueKind::kDict) || !dict.As<DictPayload>()->class_name.empty()) return false;
  const Value& owner = dict.As<DictPayload>()->factory;
  return owner.is(ValueKind::kInstance) || owner.is(ValueKind::kFunction);
}

void RefreshAttributes(const Value& dict) {
  if (!IsAttributeDict(dict)) return;
  const Value now = MakeDict(EntriesOf(dict.As<DictPayload>()->factory));
  dict.As<DictPayload>()->entries = now.As<DictPayload>()->entries;
  dict.As<DictPayload>()->Recount();
}

void StoreAttributes(const Value& dict) {
  if (!IsAttributeDict(dict)) return;
  const Value owner = dict.As<DictPayload>()->factory;
  Attributes next;
  for (const auto& [key, value] : AttributesOf(owner)) {
    if (Hidden(owner, key)) next.emplace_back(key, value);
  }
  for (const auto& [key, value] : dict.As<DictPayload>()->entries) {
    if (key.is(ValueKind::kString)) next.emplace_back(key.string(), value);
  }
  std::swap(AttributesOf(owner), next);  // the old values go last: one may be the owner of more
  owner.payload()->Charge(AttributesOf(owner).capacity() * sizeof(next.front()));
}

void DetachAttributes(const Value& dict) {
  if (IsAttributeDict(dict)) dict.As<DictPayload>()->factory = Value();
}

}  // namespace tilevm::specializer
