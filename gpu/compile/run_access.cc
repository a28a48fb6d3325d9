#include "gpu/compile/run_access.h"

#include <algorithm>

#include "specializer/analysis/access_plan.h"

namespace tilevm::gpu {
namespace {

using isa::Op;

constexpr int64_t kLeastBytes = 8;           // of an aligned access that is as good
constexpr int64_t kMostLoadedBytes = 65536;  // of a tile: 32 warps hold twice as much while it is under way
constexpr int64_t kMostSharedBytes = 65536;  // that a store goes through

int64_t BytesOf(const ir::Kernel& kernel, const ir::Op& op) { return isa::StorageBytes(kernel.TypeOf(op.operands[0]).elem.dtype); }

}  // namespace

RunAccesses::RunAccesses(const ir::Kernel& kernel, const analysis::AxisFacts& facts)
    : kernel_(kernel), facts_(facts), runs_(kernel, facts) {
  on_ = Suits(kernel.body);
}

int64_t RunAccesses::Widest(const ir::Kernel& kernel, const ir::Op& op) { return 16 / BytesOf(kernel, op); }

bool RunAccesses::Suits(const ir::Region& region) const {
  for (const ir::Op& op : region.ops) {
    if (op.op == Op::kDot) return false;
    if ((op.op == Op::kLoad || op.op == Op::kStore) && !kernel_.TypeOf(op.operands[0]).is_scalar()) {
      const analysis::Access access = analysis::AccessOf(kernel_, facts_, op);
      if (access.kind == analysis::AccessKind::kContiguous && access.vector * BytesOf(kernel_, op) < kLeastBytes && !Candidate(op).has_value()) return false;
    }
    for (const ir::Region& inner : op.regions) {
      if (!Suits(inner)) return false;
    }
  }
  return true;
}

std::optional<analysis::Run> RunAccesses::Candidate(const ir::Op& op) const {
  if (op.op != Op::kLoad && op.op != Op::kStore) return std::nullopt;
  const analysis::Access access = analysis::AccessOf(kernel_, facts_, op);
  const int64_t bytes = BytesOf(kernel_, op);
  if (access.kind != analysis::AccessKind::kContiguous || access.vector * bytes >= kLeastBytes) return std::nullopt;
  std::optional<analysis::Run> run = runs_.Of(op);
  if (!run.has_value() || run->aligned) return run;
  if (bytes == 4) return std::nullopt;  // single elements are whole words: one load each, and half the registers
  const isa::Type& type = kernel_.TypeOf(op.operands[0]);
  const int64_t tile = type.elem_count() * bytes;
  if (op.op == Op::kLoad && tile > kMostLoadedBytes) return std::nullopt;
  if (op.op == Op::kStore && (run->axis != type.rank() - 1 || tile > kMostSharedBytes)) return std::nullopt;
  return run;
}

bool RunAccesses::HasUnalignedLoad(const ir::Region& region) const {
  return std::any_of(region.ops.begin(), region.ops.end(), [&](const ir::Op& op) {
    if (op.op == Op::kLoad) {
      const std::optional<analysis::Run> run = Candidate(op);
      return run.has_value() && !run->aligned;
    }
    return std::any_of(op.regions.begin(), op.regions.end(), [&](const ir::Region& inner) { return HasUnalignedLoad(inner); });
  });
}

std::optional<analysis::Run> RunAccesses::RunOf(const ir::Op& op) const { return on_ ? Candidate(op) : std::nullopt; }

std::optional<analysis::Run> RunAccesses::WholeTile(const ir::Op& op) const {
  const isa::Type& type = kernel_.TypeOf(op.operands[0]);
  if (op.op != Op::kLoad || type.is_scalar() || analysis::AccessOf(kernel_, facts_, op).kind != analysis::AccessKind::kContiguous) return std::nullopt;
  const std::optional<analysis::Run> run = runs_.Of(op);
  return run.has_value() && run->length == type.elem_count() ? run : std::nullopt;
}

std::optional<RunAccess> RunAccesses::Of(const layout::LayoutKernel& kernel, const ir::Op& op) const {
  const std::optional<analysis::Run> run = RunOf(op);
  if (!run.has_value() || !kernel.HasLayout(op.operands[0])) return std::nullopt;
  const layout::LinearLayout& where = kernel.LayoutOf(op.operands[0]);
  RunAccess access;
  access.run = *run;
  access.vector = std::min({Widest(kernel.kernel, op), where.ContiguousElements(run->axis), run->length});
  if (access.vector < 2 || access.vector * BytesOf(kernel.kernel, op) < 4) return std::nullopt;
  // What threads and registers have of a run: threads follow each other, registers begin behind the last of them.
  uint32_t taken = 0, threads = 0;
  const auto along = [&](layout::Basis basis) -> int64_t {  // 0: not within a run
    const auto at = where.Coordinates(basis);
    for (size_t axis = 0; axis < at.size(); ++axis) {
      if (static_cast<int>(axis) != run->axis && at[axis] != 0) return 0;
    }
    return at[static_cast<size_t>(run->axis)] < run->length ? at[static_cast<size_t>(run->axis)] : 0;
  };
  for (const layout::Bases* bases : {&where.lane(), &where.warp()}) {
    for (layout::Basis basis : *bases) {
      threads |= basis;
      if (const int64_t step = along(basis); step != 0) {
        if (step != access.threads * access.vector) return std::nullopt;
        access.threads *= 2;
      }
    }
  }
  for (layout::Basis basis : where.reg()) {
    if ((taken & basis) != 0) return std::nullopt;
    taken |= basis;
  }
  if ((taken & threads) != 0) return std::nullopt;
  for (size_t bit = static_cast<size_t>(layout::Log2(access.vector)); bit < where.reg().size(); ++bit) {
    const int64_t step = along(where.reg()[bit]);
    if (step == 0 || step < access.threads * access.vector) break;
    access.vectors *= 2;
  }
  return access;
}

}  // namespace tilevm::gpu
