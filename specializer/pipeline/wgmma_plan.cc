#include "specializer/pipeline/wgmma_plan.h"

#include <algorithm>

namespace tilevm::pipeline {

using layout::LinearLayout;

std::optional<MmaPlan> MmaPlanOf(const layout::LayoutKernel& kernel, const ir::Op& dot) {
  const isa::Type &ta = kernel.kernel.TypeOf(dot.operands[0]), &tb = kernel.kernel.TypeOf(dot.operands[1]), &tc = kernel.kernel.TypeOf(dot.results[0]);
  const int rank = tc.rank();
  const int64_t m = tc.shape[rank - 2], n = tc.shape[rank - 1], k = ta.shape[rank - 1];
  const int bits = isa::BitWidth(ta.elem.dtype);
  if (!layout::FitsTensorCores(kernel.kernel, dot)) return std::nullopt;
  const LinearLayout& acc = kernel.LayoutOf(dot.results[0]);
  const int warps = static_cast<int>(acc.warp_count());
  for (int warps_m = 1; warps_m <= warps; warps_m *= 2) {
    const int warps_n = warps / warps_m;
    if (LinearLayout::MmaAccumulator(tc.shape, warps_m, warps_n) != acc) continue;
    MmaPlan plan;
    plan.written = !layout::TakesFragments(kernel.kernel, dot, warps_m, warps_n);
    if (!plan.written && (LinearLayout::MmaOperandA(ta.shape, bits, warps_m, warps_n) != kernel.LayoutOf(dot.operands[0]) ||
                          LinearLayout::MmaOperandB(tb.shape, bits, warps_m, warps_n) != kernel.LayoutOf(dot.operands[1]))) {
      continue;
    }
    plan.warps_m = warps_m;
    plan.warps_n = warps_n;
    plan.k_step = std::max(4, 256 / bits);
    plan.m_steps = std::max<int64_t>(1, m / 16 / warps_m);
    plan.n_steps = std::max<int64_t>(1, n / 8 / warps_n);
    plan.k_steps = k / plan.k_step;
    plan.batches = rank == 3 ? tc.shape[0] : 1;
    return plan;
  }
  return std::nullopt;
}

bool HasThreadTiles(const layout::LayoutKernel& kernel, const ir::Op& dot) {
  if (!layout::FitsThreadTiles(kernel.kernel, dot)) return false;
  const LinearLayout& acc = kernel.LayoutOf(dot.results[0]);
  const int warps = static_cast<int>(acc.warp_count());
  return acc == LinearLayout::ThreadTiles(acc.shape(), warps, false) || acc == LinearLayout::ThreadTiles(acc.shape(), warps, true);
}

namespace {

constexpr int64_t kMostColumns = 256, kLeastRowBytes = 64, kPanelBytes = 128;

bool IsWgmmaType(isa::DType operand, isa::DType acc) {
  switch (operand) {
    case isa::DType::kF16: case isa::DType::kBF16: case isa::DType::kF8E4M3: case isa::DType::kF8E5M2: case isa::DType::kF32: return acc == isa::DType::kF32;
    case isa::DType::kI8: return acc == isa::DType::kI32;
    default: return false;
  }
}

}  // namespace

std::optional<Wgmma> WgmmaPlanOf(const layout::LayoutKernel& kernel, const ir::Op& dot, const int (&axis)[2]) {
  const isa::Type &a = kernel.kernel.TypeOf(dot.operands[0]), &b = kernel.kernel.TypeOf(dot.operands[1]), &acc = kernel.kernel.TypeOf(dot.results[0]);
  const std::optional<MmaPlan> mma = MmaPlanOf(kernel, dot);
  if (!mma || !IsWgmmaType(a.elem.dtype, acc.elem.dtype) || a.elem.dtype != b.elem.dtype || layout::IsSplit(kernel.kernel, dot)) return std::nullopt;
  if (mma->batches != 1 || mma->warps_n != 1 || mma->warps_m % 4 != 0 || acc.shape[0] < 16 * mma->warps_m || acc.shape[1] > kMostColumns) return std::nullopt;
  const int64_t bytes = isa::StorageBytes(a.elem);
  // Rows of 128 bytes, or of 64 along k.
  auto fits = [&](const isa::Type& type, int rows_along, bool k_major) { return type.shape[rows_along] * bytes >= (k_major ? kLeastRowBytes : kPanelBytes); };
  Wgmma plan;
  if (axis[0] >= 0 && (axis[0] == 1 || bytes == 2) && !fits(a, axis[0], axis[0] == 1)) return std::nullopt;
  if (axis[1] >= 0 && (axis[1] == 0 || bytes == 2)) {
    if (!fits(b, axis[1], axis[1] == 0)) return std::nullopt;
  } else {
    plan.b_written = true;
    // Registers of a thread that are neighbours along n stay so, where the instruction can take it.
    const LinearLayout& where = kernel.LayoutOf(dot.operands[1]);
    plan.b_axis = axis[1] < 0 && bytes == 2 && where.ContiguousElements(1) > where.ContiguousElements(0) && fits(b, 1, false) ? 1 : 0;
    if (!fits(b, plan.b_axis, plan.b_axis == 0)) return std::nullopt;
  }
  plan.groups = mma->warps_m / 4;
  plan.m_tiles = mma->m_steps;
  plan.n = acc.shape[1];
  plan.k_steps = mma->k_steps;
  plan.promote = isa::IsFp8(a.elem.dtype);
  return plan;
}

TurnedLayouts TurnedLayoutsOf(const isa::Shape& shape, int elem_bytes, int num_warps) {
  const int k_bits = layout::Log2(shape[0]), n_bits = layout::Log2(shape[1]), unit_bits = layout::Log2(16 / elem_bytes);
  auto k = [&](int i) { return layout::Basis{1} << (n_bits + i); };
  auto n = [&](int i) { return layout::Basis{1} << i; };
  layout::Bases columns, rows, lanes, warps, rest;
  for (int i = 0; i < std::min(2, n_bits); ++i) columns.push_back(n(i));
  for (int i = 0; i < std::min(unit_bits, k_bits); ++i) rows.push_back(k(i));
  // Lanes take other columns and other units of k at once: their 16-byte units then differ in the buffer read as in the one written.
  int next_n = std::min(2, n_bits);
  for (int i = 0; next_n < n_bits && lanes.size() < layout::kLaneBits; ++i, ++next_n) {
    lanes.push_back(n(next_n) | (i < 3 && unit_bits + i < k_bits ? k(unit_bits + i) : 0));
  }
  for (int i = unit_bits; i < k_bits; ++i) rest.push_back(k(i));
  for (; next_n < n_bits; ++next_n) rest.push_back(n(next_n));
  size_t taken = 0;
  while (lanes.size() < layout::kLaneBits) lanes.push_back(taken < rest.size() ? rest[taken++] : 0);
  for (int i = 0; i < layout::Log2(num_warps); ++i) warps.push_back(taken < rest.size() ? rest[taken++] : 0);
  layout::Bases read = columns, write = rows;
  read.insert(read.end(), rows.begin(), rows.end());
  write.insert(write.end(), columns.begin(), columns.end());
  for (; taken < rest.size(); ++taken) {
    read.push_back(rest[taken]);
    write.push_back(rest[taken]);
  }
  return {LinearLayout(shape, read, lanes, warps), LinearLayout(shape, write, lanes, warps)};
}

ir::ValueId BeforeLayoutChanges(ir::ValueId id, const std::function<const ir::Op*(ir::ValueId)>& def) {
  for (const ir::Op* op = def(id); op != nullptr && op->op == isa::Op::kConvertLayout; op = def(id)) id = op->operands[0];
  return id;
}

}  // namespace tilevm::pipeline
