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
#include "gpu/emit/records.h"
#include "specializer/analysis/runs.h"
#include "specializer/launch/slice.h"
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

struct Emitted {
  std::string text;          // includes only files of gpu/device
  std::string entry;         // name of the kernel in the cubin
  int threads = 128;
  int64_t smem_bytes = 0;    // dynamic
  int64_t smem_buffers = 0;  // of these, what the buffers of a pipelined loop take where most is needed
  Loc smem_loc;              // the op that needs most
  // Prints and asserts, by the number in their records. If there are any, the kernel has one more parameter, the last: the address of a record buffer
  // (gpu/emit/records.h), or 0 for none.
  std::vector<RecordFormat> records;
  bool uses_records() const { return !records.empty(); }

  bool begins_early = false;  // the kernel waits itself for what was launched before it (device/control.cuh: wait_for_kernel_before)

  // By parameter: whether the kernel may write what it points to. Empty: any may be written, for a pointer comes from elsewhere too.
  std::vector<bool> may_write;

  // What the launch computes from its arguments; after the kernel's own parameters stands one tensor map (128 bytes, aligned to 64) for each of slice.maps.
  launch::Slice slice;
  // The program walks over the grid itself: it has three more u32 parameters, the grid of programs, and is launched on as many blocks as the GPU runs at once.
  bool persistent = false;
  int programs = 1;          // persistent: that one block runs side by side, neighbours along axis 0 (specializer/pipeline/roles.h: merged programs)
  bool dealt = false;        // persistent: one more u32 parameter, a number below 1024 that differs between launches that may overlap
  // Programs of one warp that a block has, neighbours along axis 0: it is launched on so many times fewer blocks, and has one more u32 parameter, the grid's extent.
  int packed = 1;
  // Bounds of loops that a launch of this variant goes through at least once (options.loops_run), beside the checks of the slice.
  std::vector<std::pair<ir::ValueId, ir::ValueId>> runs;
  // Each program of the launch's grid is this many of the kernel's (its first extent is multiplied), which is then `split`.
  int parts = 1;
  bool tail = false;         // only those of the last wave are, and the kernel is told the grid as it is (specializer/pipeline/split_tiles.h: shared tails)
  int ctas = 1;              // persistent: blocks that a multiprocessor has room for, at most
  std::shared_ptr<const ir::Kernel> split;
};

// kUnimplemented with the place for an op that has no template yet.
absl::StatusOr<Emitted> EmitCuda(const layout::LayoutKernel& kernel, const EmitOptions& options);


}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_EMIT_EMIT_H_
