// emit: tile IR with layouts as CUDA C++ over the templates of gpu/device, in the form that docs/gpu.md shows.
#ifndef TILEVM_GPU_EMIT_EMIT_H_
#define TILEVM_GPU_EMIT_EMIT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/emit/emitted.h"
#include "specializer/analysis/runs.h"
#include "specializer/layout/assign.h"
#include "specializer/pipeline/schedule.h"

namespace tilevm::gpu {

// A load or store that goes by words of memory that are not its own vectors (gpu/device/runs.cuh).
struct RunAccess {
  analysis::Run run;
  int64_t vector = 1;    // registers in a row: neighbours in memory
  int64_t vectors = 1;   // of one run, that follow each other in the registers
  int64_t threads = 1;   // that have a run, `vector` elements apart in the same register
};

struct EmitOptions {
  int num_warps = 4;
  // How many registers of a row one access of this load or store may move: addresses contiguous, aligned to that many elements, one mask value for
  // all. 1 is always right.
  std::function<int64_t(const ir::Op&)> vector;
  std::function<bool(const ir::Op&)> guessed;    // it may not be aligned to that many: each access looks
  // Not empty: the mask may not be one value for all either; both are if these scalars are multiples of 16.
  std::function<std::vector<ir::ValueId>(const ir::Op&)> guessed_scalars;
  // How this load or store goes by runs; none: by `vector`.
  std::function<std::optional<RunAccess>(const ir::Op&)> run;
  // Bits of the register's number that do not change the value of a tile: two registers that differ in these alone hold the same. 0 is always right.
  std::function<uint32_t(ir::ValueId)> same_registers;
  // No two pointer parameters reach the same memory where one of them is written: the launcher has looked.
  bool no_alias = true;
  bool loops_run = true;                         // loops whose sums start from nothing have an iteration: the launcher looks (Emitted::runs)
  bool workspace = true;                         // the launcher may copy an array to aligned rows first
  bool line_directives = true;
  std::function<std::optional<analysis::Run>(const ir::Op&)> whole_run;  // of a load whose whole tile is one run of neighbours in memory
  bool begins_early = false;                     // Emitted::begins_early; sm_90 and newer
  int packed = 1;                                // Emitted::packed, of a kernel that gpu/compile/packing.h allows it for
  const pipeline::Schedule* schedule = nullptr;  // loops whose loads run ahead; none if null
  analysis::Boxes* boxes = nullptr;              // of the kernel, where the schedule has roles
};

// kUnimplemented with the place for an op that has no template yet.
absl::StatusOr<Emitted> EmitCuda(const layout::LayoutKernel& kernel, const EmitOptions& options);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_EMIT_EMIT_H_
