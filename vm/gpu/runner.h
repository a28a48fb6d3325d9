// The CUDA engine behind vm/host: compiles kernels for one GPU through gpu/compile, keeps tensors there, launches.
//
// A kernel has variants by what its launch can promise (gpu/compile: Promises): no overlap of buffers, dividends that are not negative, arrays that tensor
// maps can describe (the checks of the variant's launch slice). Run checks them on the arguments at hand, most special first; the variant without promises
// needs no check. Only the variant chosen is compiled.
#ifndef TILEVM_VM_GPU_RUNNER_H_
#define TILEVM_VM_GPU_RUNNER_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu/compile/compiler.h"
#include "gpu/launch/device.h"
#include "specializer/analysis/launch_ranges.h"
#include "vm/host/device_runner.h"
#include "vm/host/launch.h"

namespace tilevm::vm {

struct GpuOptions {
  int ordinal = 0;
  std::string driver_library, nvrtc_library;  // "": the system's
  gpu::DiskCacheOptions cache;
  gpu::Allocator memory;  // empty: the driver's
  bool workspace = true;  // gpu::Promises::workspace
};

// kFailedPrecondition with the reason where there is no usable GPU.
absl::StatusOr<std::shared_ptr<host::DeviceRunner>> OpenGpu(const GpuOptions& options);

// What may be promised for the launch: overlap of its buffers, and (by intervals over its arguments and grid) the signs of dividends.
gpu::Promises PromisesOf(const host::PreparedRun& run, const analysis::LaunchRanges& ranges);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_GPU_RUNNER_H_
