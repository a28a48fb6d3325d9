// Which loads and stores of a kernel go by runs (gpu/device/runs.cuh), and in which vectors.
#ifndef TILEVM_GPU_COMPILE_RUN_ACCESS_H_
#define TILEVM_GPU_COMPILE_RUN_ACCESS_H_

#include <optional>

#include "gpu/emit/emit.h"
#include "specializer/analysis/axis_facts.h"
#include "specializer/analysis/runs.h"
#include "specializer/ir/kernel.h"
#include "specializer/layout/assign.h"

namespace tilevm::gpu {

// Runs are used in kernels without dots, where less than 8 bytes at a time are the other way. There all accesses along rows have to go by 8 bytes or more,
// one way or the other: threads then hold vectors, and an access by single elements would find its neighbours in other threads no more.
class RunAccesses {
 public:
  RunAccesses(const ir::Kernel& kernel, const analysis::AxisFacts& facts);

  std::optional<analysis::Run> RunOf(const ir::Op& op) const;
  // The run that is the whole tile of a load.
  std::optional<analysis::Run> WholeTile(const ir::Op& op) const;
  // The same, with the vectors that the layout of the access gives; none if it gives none of 4 bytes.
  std::optional<RunAccess> Of(const layout::LayoutKernel& kernel, const ir::Op& op) const;
  // Whether a load goes by runs that are not aligned.
  bool LoadsUnaligned() const { return on_ && HasUnalignedLoad(kernel_.body); }
  // Elements in 16 bytes.
  static int64_t Widest(const ir::Kernel& kernel, const ir::Op& op);

 private:
  bool Suits(const ir::Region& region) const;
  bool HasUnalignedLoad(const ir::Region& region) const;
  std::optional<analysis::Run> Candidate(const ir::Op& op) const;

  const ir::Kernel& kernel_;
  const analysis::AxisFacts& facts_;
  const analysis::Runs runs_;
  bool on_ = false;
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_RUN_ACCESS_H_
