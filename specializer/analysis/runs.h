// Accesses in runs: neighbours in memory, but not known to be aligned, or under a mask that ends inside of what one access could move.
//
// A run is an aligned block of `length` elements of a tile along `axis` that are neighbours in memory. Its mask, if any, holds for the first elements of
// the run and for no others: that is so where it is a conjunction of comparisons `first + i < bound`, i the place in the run, and of conditions that are one for the
// whole run. How many elements are on is then a number, and emitters can move whole words of 16 bytes in the middle and single elements at the ends.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_RUNS_H_
#define TILEVM_SPECIALIZER_ANALYSIS_RUNS_H_

#include <optional>
#include <vector>

#include "specializer/analysis/axis_facts.h"
#include "specializer/ir/kernel.h"

namespace tilevm::analysis {

// One of the conditions of a mask.
struct RunMask {
  ir::ValueId whole = ir::kNoValue;                        // one value for a run, of the access's shape; or
  ir::ValueId first = ir::kNoValue, bound = ir::kNoValue;  // `first` counts up along a run, `bound` stays: on while first < bound
  bool inclusive = false;                                  // first <= bound
  std::vector<const ir::Op*> views;                        // broadcast and expand_dims that stretch the comparison to the access's shape, the last first
};

struct Run {
  int axis = -1;
  int64_t length = 1;
  bool aligned = false;  // runs begin at multiples of 16 bytes
  std::vector<RunMask> masks;
};

class Runs {
 public:
  Runs(const ir::Kernel& kernel, const AxisFacts& facts);
  // Of a load or store of a tile of elements of 1, 2 or 4 bytes; none if its mask is not of that form, or runs are shorter than 16 bytes.
  std::optional<Run> Of(const ir::Op& op) const;

 private:
  void Collect(const ir::Region& region);
  bool AddMask(ir::ValueId mask, int axis, std::vector<const ir::Op*> views, Run* run) const;

  const ir::Kernel& kernel_;
  const AxisFacts& facts_;
  std::vector<const ir::Op*> definition_;
};

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_RUNS_H_
