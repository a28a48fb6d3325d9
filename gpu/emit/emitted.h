// What the emitter gives: a kernel's text, and what a launcher has to know of it.
#ifndef TILEVM_GPU_EMIT_EMITTED_H_
#define TILEVM_GPU_EMIT_EMITTED_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/emit/records.h"
#include "isa/status.h"
#include "specializer/ir/kernel.h"
#include "specializer/launch/slice.h"

namespace tilevm::gpu {

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
  bool strided = false;      // not persistent: one more u32 parameter, how far apart along axis 0 programs of neighbouring blocks are (device/programs.cuh)
  int ctas = 1;              // persistent: blocks that a multiprocessor has room for, at most
  std::shared_ptr<const ir::Kernel> split;
  std::string plan;          // for a person, where it was asked for (gpu/compile/generate.h: describe): what became of each loop, load, store and dot
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_EMIT_EMITTED_H_
