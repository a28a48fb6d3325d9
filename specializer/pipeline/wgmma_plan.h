// How a dot maps to the hardware: to mma.sync or to multiply-adds by tiles of a thread, as AssignLayouts chose (found again from the layouts), and on sm_90 to wgmma.
//
// wgmma multiplies 64 rows by up to 256 columns and 32 bytes of k, b in shared memory, a there or in registers. Rows of a buffer run along k (*K-major*), or
// for 16-bit elements along m or n (*MN-major*). An operand b of 8 or 32 bits that lies the other way round, and one that is computed in registers, is
// written to a K-major buffer of its own first (`b_written`): the threads read it, turn it in registers, and write it, between two barriers; where products run
// on into the next iteration, to one of two buffers in turn.
//
// fp8 products on sm_90 are summed with fewer bits than f32 has: each 128 of k are summed from zero and then added to the accumulator (`promote`).
#ifndef TILEVM_SPECIALIZER_PIPELINE_WGMMA_PLAN_H_
#define TILEVM_SPECIALIZER_PIPELINE_WGMMA_PLAN_H_

#include <functional>
#include <optional>

#include "specializer/layout/assign.h"

namespace tilevm::pipeline {

struct MmaPlan {
  int warps_m = 1, warps_n = 1;
  int64_t k_step = 16;               // k of one instruction
  int64_t m_steps = 1, n_steps = 1, k_steps = 1, batches = 1;
  bool written = false;              // operands that no ring holds are written to buffers (layout::TakesFragments)
};
std::optional<MmaPlan> MmaPlanOf(const layout::LayoutKernel& kernel, const ir::Op& dot);

// The sum lies as LinearLayout::ThreadTiles has it.
bool HasThreadTiles(const layout::LayoutKernel& kernel, const ir::Op& dot);

// A dot by wgmma: each group of four warps multiplies tiles of 64 rows.
struct Wgmma {
  int groups = 1;                    // of warps, along m
  int64_t m_tiles = 1;               // of each group, groups * 64 rows apart
  int64_t n = 8, k_steps = 1;        // columns; instructions along k, 32 bytes each
  bool a_written = false;            // a, which stays the same, lies in a buffer of its own for the whole loop (delay.h)
  bool b_written = false;            // b goes through a buffer of its own, its rows along `b_axis` (0: k)
  int b_axis = 0;
  bool promote = false;
};

// Operand i lies in a ring with its rows along axis[i] of the operand, or in registers (-1). `a` of 8 or 32 bits that is not K-major passes through registers.
std::optional<Wgmma> WgmmaPlanOf(const layout::LayoutKernel& kernel, const ir::Op& dot, const int (&axis)[2]);

// Elements of b [K, N], 8 or 32 bits wide, for reading it from rows along n and writing it to rows along k. A thread holds blocks of 4 columns and 16 bytes of
// rows; in `read` the columns are the lowest register bits, in `write` the rows. Neither side meets a bank conflict where rows of 128 bytes allow it.
struct TurnedLayouts {
  layout::LinearLayout read, write;
};
TurnedLayouts TurnedLayoutsOf(const isa::Shape& shape, int elem_bytes, int num_warps);

// From a change of layout back to the value that it changes.
ir::ValueId BeforeLayoutChanges(ir::ValueId id, const std::function<const ir::Op*(ir::ValueId)>& def);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_WGMMA_PLAN_H_
