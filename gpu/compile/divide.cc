#include "gpu/compile/divide.h"

#include <algorithm>
#include <cmath>

#include "absl/numeric/int128.h"

namespace tilevm::gpu {
namespace {

constexpr int kMostParts = 8;
// Of the time of all waves: less is not worth a text that is nearly twice as long.
constexpr double kLeastGain = 0.04;

// The product with the largest result.
const ir::Op* LargestDot(const ir::Kernel& kernel, const ir::Region& region) {
  const ir::Op* largest = nullptr;
  const auto take = [&](const ir::Op* op) {
    if (op != nullptr && (largest == nullptr || kernel.TypeOf(op->results[0]).elem_count() > kernel.TypeOf(largest->results[0]).elem_count())) largest = op;
  };
  for (const ir::Op& op : region.ops) {
    if (op.op == isa::Op::kDot) take(&op);
    for (const ir::Region& inner : op.regions) take(LargestDot(kernel, inner));
  }
  return largest;
}

}  // namespace

double PartCost(const ir::Kernel& kernel, int parts) {
  const ir::Op* dot = LargestDot(kernel, kernel.body);
  if (dot == nullptr || kernel.TypeOf(dot->results[0]).rank() != 2) return 1;
  const isa::Shape& shape = kernel.TypeOf(dot->results[0]).shape;
  const auto cycles = [](double m, double n) { return std::max(m * n / 2048, (m + n) / 32); };
  const double m = static_cast<double>(shape[0]), n = static_cast<double>(shape[1]);
  return cycles(m, n / parts) / cycles(m, n);
}

std::vector<Division> DivisionsFor(const ir::Kernel& kernel, const Emitted& whole, const std::array<int64_t, 3>& grid, int multiprocessors) {
  std::vector<Division> out;
  if (!whole.persistent || whole.programs > 1 || whole.dealt || multiprocessors < 1) return out;
  absl::int128 programs = 1;
  for (int64_t extent : grid) programs *= extent;
  const int64_t places = int64_t{multiprocessors} * whole.ctas;
  if (programs < 1) return out;
  if (programs < places) {
    int parts = 1;
    while (parts < kMostParts && programs * parts * 2 <= multiprocessors) parts *= 2;
    for (; parts > 1; parts /= 2) out.push_back({parts, false});
    return out;
  }
  const int64_t over = static_cast<int64_t>(programs % places);
  if (over == 0) return out;
  const double waves = static_cast<double>(static_cast<int64_t>(std::min<absl::int128>(programs / places, 1 << 20))) + 1;
  std::vector<std::pair<double, int>> tried;
  for (int parts = 2; parts <= kMostParts; parts *= 2) {
    const double last = std::ceil(static_cast<double>(over * parts) / static_cast<double>(places)) * PartCost(kernel, parts);
    if ((1 - last) / waves >= kLeastGain) tried.emplace_back(last, parts);
  }
  std::sort(tried.begin(), tried.end());
  for (const auto& [last, parts] : tried) out.push_back({parts, true});
  return out;
}

}  // namespace tilevm::gpu
