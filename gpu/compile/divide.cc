#include "gpu/compile/divide.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/numeric/int128.h"
#include "specializer/pipeline/split_tiles.h"

namespace tilevm::gpu {
namespace {

constexpr int kMostParts = 8;
constexpr double kIteration = 100;     // cycles
constexpr double kTail = 0.2;
constexpr double kLeastGain = 0.03;    // of all that the multiprocessor does
constexpr int64_t kManyPrograms = 1 << 20;  // where no tail is worth anything

// The largest product of a kernel and its operands, of which a part has less.
struct Tile {
  double m = 0, n = 0, steps = 0;  // of 32 bytes of k, in an iteration

  double cycles() const { return steps * std::max(m * n / 128, (2 * m + n + m * n / 64) / 4); }
  // As SplitTiles divides it: rows first.
  bool Halve(bool columns) {
    double& extent = !columns && m >= 2 * pipeline::kLeastPartExtent ? m : n;
    extent /= 2;
    return extent >= pipeline::kLeastPartExtent;
  }
};

// What a kernel multiplies.
class Products {
 public:
  explicit Products(const ir::Kernel& kernel) : kernel_(kernel) { Find(kernel.body); }
  const Tile& largest() const { return largest_; }
  // One product, of tiles as they were loaded: nothing else takes time.
  bool plain() const { return count_ == 1 && loaded_; }

 private:
  void Find(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (ir::ValueId result : op.results) def_[result] = &op;
      for (const ir::Region& inner : op.regions) Find(inner);
      if (op.op != isa::Op::kDot) continue;
      ++count_;
      loaded_ = IsLoaded(op.operands[0]) && IsLoaded(op.operands[1]);
      const isa::Type &acc = kernel_.TypeOf(op.results[0]), &a = kernel_.TypeOf(op.operands[0]);
      const double m = static_cast<double>(acc.shape[0]), n = static_cast<double>(acc.shape.back());
      if (acc.rank() == 2 && m * n > largest_.m * largest_.n) largest_ = {m, n, static_cast<double>(a.shape[1] * isa::StorageBytes(a.elem)) / 32};
    }
  }
  bool IsLoaded(ir::ValueId id) const {
    auto found = def_.find(id);
    while (found != def_.end() && found->second->op == isa::Op::kPermute) found = def_.find(found->second->operands[0]);
    return found != def_.end() && found->second->op == isa::Op::kLoad;
  }

  const ir::Kernel& kernel_;
  std::map<ir::ValueId, const ir::Op*> def_;
  Tile largest_;
  int count_ = 0;
  bool loaded_ = false;
};

// What the multiprocessor with most of these programs does, in cycles for each iteration.
double Busy(int64_t programs, int ctas, int multiprocessors, const Tile& tile) {
  const int64_t places = int64_t{multiprocessors} * ctas;
  const int64_t most = programs / places * ctas + (programs % places + multiprocessors - 1) / multiprocessors;
  return static_cast<double>(most) * tile.cycles() + static_cast<double>((most + ctas - 1) / ctas) * kIteration;
}

}  // namespace

std::vector<Division> DivisionsFor(const ir::Kernel& kernel, const Emitted& whole, const std::array<int64_t, 3>& grid, int multiprocessors) {
  if (!whole.persistent || whole.programs > 1 || multiprocessors < 1) return {};
  absl::int128 product = 1;
  for (int64_t extent : grid) product = std::min<absl::int128>(product * extent, kManyPrograms);
  const int64_t programs = static_cast<int64_t>(product), places = int64_t{multiprocessors} * whole.ctas, over = programs % places;
  if (programs < 1 || programs == kManyPrograms) return {};
  const Products products(kernel);
  std::vector<Division> out;
  if (whole.dealt || !products.plain()) {
    for (int parts = kMostParts; parts > 1; parts /= 2) {
      if (programs * parts <= multiprocessors) out.push_back({parts, false});
    }
    return out;
  }
  const Tile& tile = products.largest();
  const double undivided = Busy(programs, whole.ctas, multiprocessors, tile);
  std::vector<std::pair<double, Division>> tried;
  Tile part = tile, column = tile;
  for (int parts = 2; parts <= kMostParts; parts *= 2) {
    // Parts have a multiprocessor each (GenerateOptions::few_programs).
    if (part.Halve(false)) tried.emplace_back(Busy(programs * parts, 1, multiprocessors, part), Division{parts, false});
    if (column.Halve(true) && programs > places && over != 0) {
      const double last = Busy(over * parts, whole.ctas, multiprocessors, column) + kTail * tile.cycles();
      tried.emplace_back(Busy(programs - over, whole.ctas, multiprocessors, tile) + last, Division{parts, true});
    }
  }
  std::stable_sort(tried.begin(), tried.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [busy, division] : tried) {
    if (busy <= (1 - kLeastGain) * undivided) out.push_back(division);
  }
  return out;
}

}  // namespace tilevm::gpu
