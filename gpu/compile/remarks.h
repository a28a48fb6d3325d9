// remarks: for each load, store and dot of a kernel, which path the generator takes and what stands against the better one: `tilevm inspect --remarks`.
//
//   matmul.py:41:13: load a: copied ahead of the loop by cp.async, 16 bytes at a time, 4 slots; no tensor map: the mask is not a bound on a coordinate
//
// A kernel is compiled for what its launch can promise; the remarks are of the most special variant. The launch slice (`--stage slice`) says what a launch
// has to fulfil for it.
#ifndef TILEVM_GPU_COMPILE_REMARKS_H_
#define TILEVM_GPU_COMPILE_REMARKS_H_

#include <string>
#include <vector>

#include "gpu/compile/generate.h"

namespace tilevm::gpu {

struct Remark {
  Loc loc;
  std::string text;
};

// In the order of the program. kernel: the result of LayOut.
std::vector<Remark> Remarks(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options);
// The same for a schedule that was settled for.
std::vector<Remark> Remarks(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options, pipeline::Schedule schedule);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_REMARKS_H_
