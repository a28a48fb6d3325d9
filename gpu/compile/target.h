// What the generator has to know of a GPU: its table of limits, by architecture.
#ifndef TILEVM_GPU_COMPILE_TARGET_H_
#define TILEVM_GPU_COMPILE_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tilevm::gpu {

struct Target {
  std::string arch;                 // "sm_90a": NVRTC's --gpu-architecture
  int number = 0;                   // compute capability times ten: 80, 86, 89, 90, 100, 120
  int64_t max_smem_per_block = 0;   // bytes of dynamic shared memory that one block may ask for
  int max_registers_per_thread = 255;
  int max_threads_per_block = 1024;
};

// The targets that are tested: sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_120a, in this order (CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability").
const std::vector<Target>& KnownTargets();

// "sm_90a", "sm_90", "90a", "90": kInvalidArgument names the known ones. The letter, where there is one, is always used.
absl::StatusOr<Target> TargetOf(absl::string_view arch);
// The target of a card of that compute capability: its own, or the newest known one of the same major number that is not newer (8.7 runs code of 8.6).
absl::StatusOr<Target> TargetOfCapability(int major, int minor);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_TARGET_H_
