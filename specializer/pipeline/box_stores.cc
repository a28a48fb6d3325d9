#include "specializer/pipeline/box_stores.h"

#include <algorithm>

namespace tilevm::pipeline {

std::optional<BoxStore> BoxStoreOf(const layout::LayoutKernel& kernel, ir::ValueId value, int axis, int groups, int programs) {
  BoxStore plan;
  plan.value = value;
  plan.axis = axis;
  const isa::Type& type = kernel.kernel.TypeOf(value);
  const layout::LinearLayout& where = kernel.LayoutOf(value);
  const int64_t elem_bytes = isa::StorageBytes(type.elem);
  plan.panel = std::min<int64_t>(type.shape[axis], 128 / elem_bytes);
  plan.panels = type.shape[axis] / plan.panel;
  plan.panel_bytes = plan.panel * elem_bytes;
  plan.rows = type.shape[1 - axis];
  if (plan.panel_bytes < 32 || plan.rows < 8 || plan.rows > 256) return std::nullopt;
  auto row_of = [&](layout::Basis basis) { return static_cast<int64_t>(where.Coordinates(basis)[1 - axis]); };
  auto column_of = [&](layout::Basis basis) { return static_cast<int64_t>(where.Coordinates(basis)[axis]); };
  for (layout::Basis basis : where.lane()) {
    if (column_of(basis) >= plan.panel) return std::nullopt;
  }
  for (layout::Basis basis : where.warp()) {
    if (column_of(basis) >= plan.panel) return std::nullopt;
  }
  if (programs > 1) {
    plan.own_rows = true;
    for (layout::Basis basis : where.reg()) {
      if (column_of(basis) >= plan.panel && row_of(basis) != 0) return std::nullopt;
    }
    return plan;
  }
  const int64_t inside = plan.rows / groups;
  plan.own_rows = groups > 1 && plan.rows % (groups * 8) == 0;
  for (layout::Basis basis : where.reg()) {
    if (column_of(basis) >= plan.panel && row_of(basis) != 0) return std::nullopt;
    plan.own_rows &= row_of(basis) < inside;
  }
  for (layout::Basis basis : where.lane()) plan.own_rows &= row_of(basis) < inside;
  for (size_t i = 0; i < where.warp().size(); ++i) {
    const layout::Basis basis = where.warp()[i];
    plan.own_rows &= i < 2 ? row_of(basis) < inside : row_of(basis) == inside << (i - 2) && column_of(basis) == 0;
  }
  return plan;
}

namespace {

// The first op with regions in front of the access, and behind the fields that its region defines; or the access.
const ir::Op* FirstBehind(const ir::Region& region, const ir::Op& access, const std::vector<ir::ValueId>& fields) {
  const ir::Op* first = nullptr;
  for (const ir::Op& op : region.ops) {
    if (&op == &access) return first == nullptr ? &access : first;
    const bool defines = std::any_of(op.results.begin(), op.results.end(), [&](ir::ValueId id) { return std::find(fields.begin(), fields.end(), id) != fields.end(); });
    if (defines) first = nullptr;
    else if (first == nullptr && !op.regions.empty()) first = &op;
  }
  return nullptr;
}

}  // namespace

const ir::Op* WhereToMake(const ir::Kernel& kernel, const ir::Op& access, const std::vector<ir::ValueId>& fields, const ir::Op* loop,
                          const std::function<std::optional<const ir::Op*>(ir::ValueId)>& region_of, const std::function<const ir::Op*(const ir::Op&)>& owner_of) {
  const ir::Op *before = &access, *owner = owner_of(access);
  const auto defines = [&](const ir::Op* region) { return std::any_of(fields.begin(), fields.end(), [&](ir::ValueId id) { return region_of(id) == region; }); };
  while (owner != nullptr && !defines(owner)) {
    before = owner;
    owner = owner_of(*owner);
  }
  // Still inside of the loop?
  for (const ir::Op* outer = owner; loop != nullptr && outer != nullptr; outer = owner_of(*outer)) {
    if (outer == loop) return nullptr;
  }
  if (before != &access) return before;
  if (owner == nullptr) return FirstBehind(kernel.body, access, fields);
  for (const ir::Region& region : owner->regions) {
    if (const ir::Op* found = FirstBehind(region, access, fields)) return found;
  }
  return &access;
}

}  // namespace tilevm::pipeline
