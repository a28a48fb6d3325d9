// assign_layouts: gives every tile value a linear layout and makes each change of layout an op.
//
// Requires: verified typed IR after the target-independent prefix. Ensures: `layout_of` names a layout for every tile value (scalars have -1), every op
// finds its operands in the layouts it needs (elementwise: those of its result; load, store, atomics: pointers, mask and value alike; reduce: the
// result is the slice of its operand; dot: operand and accumulator fragments), and the only ops that change a layout are convert_layout. What the
// kernel computes is unchanged: the interpreter runs the result, taking convert_layout for the identity.
//
// How. Values are *free* (splats, aranges, and cheap integer and pointer arithmetic, shape ops and comparisons over them: index and mask code) or
// *homed*. A free value is recomputed in every layout that is asked for; a homed one has a single home, and is converted for a use that wants
// another. Homes are found for classes of values at once: values joined by elementwise ops, by loops, branches and selections share a class. A class
// with a dot accumulator takes the mma layout, otherwise the blocked layout that suits its memory accesses; a class that is tied to another by a
// reduction or a broadcast takes the slice or the operand layout of that one. Then uses are visited backwards, each op telling its operands which
// layouts it needs, and the kernel is rebuilt with the clones and conversions at the definitions.
#ifndef TILEVM_SPECIALIZER_LAYOUT_ASSIGN_H_
#define TILEVM_SPECIALIZER_LAYOUT_ASSIGN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "specializer/ir/kernel.h"
#include "specializer/layout/linear_layout.h"

namespace tilevm::layout {

struct LayoutOptions {
  int num_warps = 4;
  bool tensor_cores = true;  // dots take mma fragments where the dtypes allow it
  bool warpgroups = false;   // all warps along m where each can have 16 rows: what wgmma wants (sm_90)
  // Elements that one access of a load, store or atomic may move at once along the fastest axis, by what is known of contiguity and alignment; and that
  // axis. Called with the op of the kernel given.
  struct Access {
    int64_t vector = 1;
    int axis = -1;  // -1: the last
  };
  std::function<Access(const ir::Op&)> access;
};

struct LayoutKernel {
  ir::Kernel kernel;
  std::vector<LinearLayout> layouts;  // each once
  std::vector<int> layout_of;         // by value; -1 for scalars

  const LinearLayout& LayoutOf(ir::ValueId id) const { return layouts[layout_of[id]]; }
  bool HasLayout(ir::ValueId id) const { return layout_of[id] >= 0; }
};

// Whether the tensor cores can take the dot by its dtypes, input_precision and shape: all but f32 with "ieee". Other dots are multiply-adds.
bool FitsTensorCores(const ir::Kernel& kernel, const ir::Op& dot);
// f32 operands that are taken as sums of tf32 or bf16 parts: by mma.sync alone.
bool IsSplit(const ir::Kernel& kernel, const ir::Op& dot);
// Whether its operands lie in registers as fragments: not where those of f64 or of split f32 would take more than a thread has; such are written to buffers.
bool TakesFragments(const ir::Kernel& kernel, const ir::Op& dot, int warps_m, int warps_n);
// Of those that the tensor cores cannot take, whether threads can take tiles of the sum, and read rows of the operands from shared memory: whole f32,
// two-dimensional, rows of 32 bytes and more.
bool FitsThreadTiles(const ir::Kernel& kernel, const ir::Op& dot);

absl::StatusOr<LayoutKernel> AssignLayouts(const ir::Kernel& kernel, const LayoutOptions& options);

// The kernel with each value's layout after its type: `tilevm inspect --stage layout`.
std::string Print(const LayoutKernel& kernel);

}  // namespace tilevm::layout

#endif  // TILEVM_SPECIALIZER_LAYOUT_ASSIGN_H_
