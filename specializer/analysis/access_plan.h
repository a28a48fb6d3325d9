// How each load, store and atomic of a kernel reaches memory, from the axis facts: printable, and what emitters choose vector widths by.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_ACCESS_PLAN_H_
#define TILEVM_SPECIALIZER_ANALYSIS_ACCESS_PLAN_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "specializer/analysis/axis_facts.h"
#include "specializer/ir/kernel.h"

namespace tilevm::analysis {

enum class AccessKind : uint8_t {
  kUniform,     // one address for the whole tile (or a scalar)
  kContiguous,  // runs of neighbouring elements along `axis`
  kGather,      // nothing known
};

struct Access {
  AccessKind kind = AccessKind::kGather;
  int axis = -1;            // kContiguous: the dimension of the runs
  int64_t vector = 1;       // elements along axis that are neighbours in memory, aligned to their total size, and under one mask value
  int64_t contiguity = 1;   // the same without regard to alignment and mask
  int64_t mask_constancy = 1;  // along axis; the extent without a mask
};

Access AccessOf(const ir::Kernel& kernel, const AxisFacts& facts, const ir::Op& op);

// Addresses that a kernel finds in memory come with no promise; in practice they are aligned. Where a kernel has such, loads and stores are made as wide as
// their runs allow if the address is aligned for it, which each access looks at (`guessed`). Where the mask ends with a size from memory too, it is taken to be one
// value for all that an access moves: whoever makes the access looks at the sizes and addresses (`GuessedScalars`) instead, once for all of the tile.
class Accesses {
 public:
  Accesses(const ir::Kernel& kernel, FactOptions options);
  const AxisFacts& facts() const { return facts_; }
  Access Of(const ir::Op& op) const;           // `vector` as guessed
  bool IsGuessed(const ir::Op& op) const;      // it is more than what is known
  // Scalars in scope of the access that have to be multiples of 16, or neither alignment nor mask are as guessed; empty if the mask is not guessed.
  std::vector<ir::ValueId> GuessedScalars(const ir::Op& op) const;

 private:
  const ir::Kernel& kernel_;
  AxisFacts facts_;
  std::optional<AxisFacts> guesses_;

  struct Made {
    const ir::Op* op = nullptr;     // null: an argument of a region
    const ir::Op* owner = nullptr;  // of the region where it is
  };
  void Index(const ir::Region& region, const ir::Op* owner);
  std::vector<ir::ValueId> ScalarsBehind(const ir::Op& op) const;
  Access Guess(const ir::Op& op, const Access& known) const;
  std::map<ir::ValueId, Made> made_;
  std::map<const ir::Op*, const ir::Op*> place_;  // by op: the owner of its region
};

// "load %ptr: contiguous along 1, contiguity 64, vector 4, mask 16", one line for each memory op in order.
std::string PrintAccessPlan(const ir::Kernel& kernel);

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_ACCESS_PLAN_H_
