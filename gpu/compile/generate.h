// From a specialized kernel to CUDA C++: layouts, then the emitter, with what the facts and the target allow. No GPU, no NVRTC, no files.
#ifndef TILEVM_GPU_COMPILE_GENERATE_H_
#define TILEVM_GPU_COMPILE_GENERATE_H_

#include <algorithm>
#include <array>

#include "absl/status/statusor.h"
#include "gpu/compile/target.h"
#include "gpu/emit/emit.h"
#include "specializer/ir/kernel.h"
#include "specializer/layout/assign.h"
#include "specializer/pipeline/schedule.h"

namespace tilevm::gpu {

// What the launcher promises to check (launch guards): each makes another variant of the same kernel.
struct Promises {
  bool no_alias = true;      // no buffer that the kernel writes overlaps another buffer of the launch
  bool trust_signs = true;   // dividends of % and // are not negative, as Triton assumes (specializer/analysis/axis_facts.h)
  bool loops_run = true;     // loops with boxes go round at least once (gpu/emit/emit.h: Emitted::runs)
  int parts = 1;             // programs for each program of the grid (gpu/compile/divide.h); kUnimplemented if the kernel cannot be split
  bool tail = false;         // only for those of the last wave
  bool many = true;          // the grid has programs enough for CTAs that run several side by side (specializer/pipeline/roles.h: merged programs; gpu/compile/packing.h)
  bool boxes = true;         // the checks of Emitted::slice hold, so that tensor maps may be used (specializer/analysis/boxes.h)
  bool turn = true;          // operands that the tensor cores want in the other order are worth a copy before the launch (specializer/launch/slice.h: turned)
  bool box_stores = true;    // also by stores; without, an array that is not aligned can be written beside maps of others
  bool workspace = true;     // the launcher may copy arrays to aligned rows, or turn them, before the launch, into memory of its own
  bool made = true;          // arrays that the kernel finds in memory are large enough for tensor maps of its own making (roles.h: made maps), which take it 2 us
};

// Whether a grid is worth merging so many neighbours along axis 0: alone, two fit a multiprocessor; and at most a quarter of the places may be without one.
inline bool WorthMerging(const std::array<int64_t, 3>& grid, int merged, int multiprocessors) {
  double programs = 1;
  for (int64_t extent : grid) programs *= static_cast<double>(extent);
  const int64_t places = (grid[0] + merged - 1) / merged * merged;
  return programs > 2 * multiprocessors && 4 * grid[0] >= 3 * places;
}

struct GenerateOptions {
  Promises promises;
  bool line_directives = true;
  bool overlap = true;       // products may run on under other work
  bool wgmma = true;         // where the target has it
  int merged = 4;            // programs that share a CTA, at most
  bool threads = true;       // a warpgroup of its own may copy what is no box (specializer/pipeline/roles.h)
  bool few_programs = false; // no more than multiprocessors: each CTA may have one for itself
  bool describe = false;     // Emitted::plan is written
};

// The kernel makes maps itself: the promise `made` is of meaning.
inline bool MakesMaps(const Emitted& emitted) {
  return std::any_of(emitted.slice.maps.begin(), emitted.slice.maps.end(), [](const launch::TensorMap& map) { return map.made; });
}

// The kernel (after specializer::RunPasses) with a layout for each tile value: `inspect --stage layout`.
absl::StatusOr<layout::LayoutKernel> LayOut(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options);
// What runs ahead of loops with dots, from the result of LayOut. Emit may settle for less, as shared memory and templates have it: GenerateOptions::describe.
pipeline::Schedule Plan(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options);
// The text, from the result of LayOut.
absl::StatusOr<Emitted> Emit(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options);
// Both. kUnimplemented with a place for what has no template; kResourceExhausted if the shared memory is more than the target has.
absl::StatusOr<Emitted> Generate(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options = {});

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_GENERATE_H_
