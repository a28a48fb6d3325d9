// Attribute accessors and the small queries of the typed IR.
#include "specializer/ir/kernel.h"

namespace tilevm::ir {

const Attr* Op::FindAttr(absl::string_view name) const {
  for (const NamedAttr& attr : attrs) {
    if (attr.name == name) return &attr.value;
  }
  return nullptr;
}

int64_t Op::IntAttr(absl::string_view name, int64_t otherwise) const {
  const Attr* attr = FindAttr(name);
  if (attr == nullptr) return otherwise;
  if (const int64_t* value = std::get_if<int64_t>(attr)) return *value;
  if (const bool* value = std::get_if<bool>(attr)) return *value ? 1 : 0;
  return otherwise;
}

double Op::FloatAttr(absl::string_view name, double otherwise) const {
  const Attr* attr = FindAttr(name);
  if (attr == nullptr) return otherwise;
  if (const double* value = std::get_if<double>(attr)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(attr)) return static_cast<double>(*value);
  return otherwise;
}

bool Op::BoolAttr(absl::string_view name, bool otherwise) const {
  const Attr* attr = FindAttr(name);
  if (attr == nullptr) return otherwise;
  if (const bool* value = std::get_if<bool>(attr)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(attr)) return *value != 0;
  return otherwise;
}

absl::string_view Op::StringAttr(absl::string_view name, absl::string_view otherwise) const {
  const Attr* attr = FindAttr(name);
  if (attr == nullptr) return otherwise;
  const std::string* value = std::get_if<std::string>(attr);
  return value == nullptr ? otherwise : absl::string_view(*value);
}

void Op::SetAttr(absl::string_view name, Attr value) {
  for (NamedAttr& attr : attrs) {
    if (attr.name == name) {
      attr.value = std::move(value);
      return;
    }
  }
  attrs.push_back(NamedAttr{name, std::move(value)});
}

ValueId Kernel::NewValue(isa::Type type, absl::string_view name) {
  values.push_back(ValueInfo{std::move(type), std::string(name)});
  return static_cast<ValueId>(values.size() - 1);
}

int64_t OpCount(const Kernel& kernel) {
  int64_t count = 0;
  std::vector<const Region*> pending = {&kernel.body};
  while (!pending.empty()) {
    const Region* region = pending.back();
    pending.pop_back();
    count += static_cast<int64_t>(region->ops.size());
    for (const Op& op : region->ops) {
      for (const Region& inner : op.regions) pending.push_back(&inner);
    }
  }
  return count;
}

}  // namespace tilevm::ir
