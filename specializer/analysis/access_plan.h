// How each load, store and atomic of a kernel reaches memory, from the axis facts: printable, and what emitters choose vector widths by.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_ACCESS_PLAN_H_
#define TILEVM_SPECIALIZER_ANALYSIS_ACCESS_PLAN_H_

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
// their runs allow if the address is aligned for it, which each access looks at (`guessed`).
class Accesses {
 public:
  Accesses(const ir::Kernel& kernel, FactOptions options);
  const AxisFacts& facts() const { return facts_; }
  Access Of(const ir::Op& op) const;           // `vector` as guessed
  bool IsGuessed(const ir::Op& op) const;      // it is more than what is known

 private:
  const ir::Kernel& kernel_;
  AxisFacts facts_;
  std::optional<AxisFacts> guesses_;
};

// "load %ptr: contiguous along 1, contiguity 64, vector 4, mask 16", one line for each memory op in order.
std::string PrintAccessPlan(const ir::Kernel& kernel);

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_ACCESS_PLAN_H_
