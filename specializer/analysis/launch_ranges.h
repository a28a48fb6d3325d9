// What the integers of a kernel can be in one launch: an interval for each value, from the launch's own arguments and grid.
//
// A launcher uses it to check promises that the specializer took (FactOptions::trust_signs): with the grid and the sizes known, the coordinates that
// programs compute lie in short intervals and most doubts vanish. Example, grid 64, N = 1000, BLOCK = 16:
//
//   pid = program_id(0)              [0, 63]
//   offs = pid * 16 + arange(0, 16)  [0, 1023]
//   offs % N                         dividend not negative: arange-like in blocks, as promised
//
// An operation whose result may leave its type's range wraps: then anything of the type is possible. Loops are walked a few times; a carried value that
// still grows gets its type's whole range. Loaded values are unknown.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_LAUNCH_RANGES_H_
#define TILEVM_SPECIALIZER_ANALYSIS_LAUNCH_RANGES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "specializer/ir/kernel.h"

namespace tilevm::analysis {

struct Range {
  int64_t lo = 0, hi = 0;  // both inclusive; u64 beyond 2^63 counts as unknown
  bool operator==(const Range& o) const { return lo == o.lo && hi == o.hi; }
};

class LaunchRanges {
 public:
  // scalars: one entry for each of kernel.params; nullopt for pointers, floats and what is not known.
  LaunchRanges(const ir::Kernel& kernel, absl::Span<const std::optional<int64_t>> scalars, const std::array<int64_t, 3>& grid);

  // Every element of the value, in every program. Integers and i1 only.
  Range Of(ir::ValueId id) const { return ranges_[id]; }
  // No % or // of the kernel has a dividend that may be negative, and each minimum and maximum with the attribute "trusted"
  // is its first operand (specializer/passes/join_loops.cc; "apart": by how much that is above the second, unless it wraps).
  bool SignsAreAsTrusted() const { return signs_as_trusted_; }

 private:
  friend class RangeSolver;
  std::vector<Range> ranges_;
  bool signs_as_trusted_ = true;
};

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_LAUNCH_RANGES_H_
