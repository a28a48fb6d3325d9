// What a host program needs of a GPU: its facts, kernels compiled for it, launches. The CPU engine needs none; vm/gpu implements it for CUDA.
//
// Tensors of a host program live in main memory and, from their first launch on, in the memory of the device too (Storage::home says who has the bytes);
// a launch moves what has changed on the host since.
#ifndef TILEVM_VM_HOST_DEVICE_RUNNER_H_
#define TILEVM_VM_HOST_DEVICE_RUNNER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "vm/host/tensor.h"
#include "vm/kernel_cache.h"

namespace tilevm::vm {
class PreparedLaunch;
}

namespace tilevm::vm::host {

struct PreparedRun;

struct DeviceFacts {
  std::string name;                  // "NVIDIA H200"
  std::string arch;                  // "sm_90a"
  int major = 0, minor = 0;          // compute capability
  int multiprocessors = 0, registers_per_multiprocessor = 0, clock_khz = 0;
  int64_t memory_bytes = 0, l2_bytes = 0, smem_per_block = 0, smem_per_multiprocessor = 0;
};

struct KernelResources {
  int registers = 0, num_warps = 0;
  int64_t spill_bytes = 0, shared_bytes = 0;
  std::string cuda, cubin;
  double compile_us = 0;             // layouts, text and NVRTC, of this call; 0: it was compiled before
};

// One configuration of an autotuned kernel, and how fast it is.
struct TuneCandidate {
  const CompiledKernel* kernel = nullptr;
  const PreparedRun* run = nullptr;
  std::array<int64_t, 3> grid = {1, 1, 1};
  absl::Status status;               // why it cannot be used
  double microseconds = 0;           // median on the GPU
  double spread = 0;                 // between the quartiles
  int rounds = 0;                    // that it was timed in: slow ones drop out
};

struct DeviceRunResult {
  double run_us = 0;                 // on the GPU
  double compile_us = 0;
};

class DeviceRunner {
 public:
  virtual ~DeviceRunner() = default;
  virtual const DeviceFacts& facts() const = 0;

  // Compiles and loads what Run would use. kResourceExhausted: it does not fit the device; kUnimplemented: the device engine lacks something.
  virtual absl::StatusOr<KernelResources> Prepare(const CompiledKernel& kernel, const PreparedRun& run, const std::array<int64_t, 3>& grid) = 0;
  // Whether there is shared memory enough for the plainest variant; generates it, and keeps nothing.
  virtual absl::Status Fits(const ir::Kernel& kernel) = 0;
  // Compiles the variant of an ordinary launch (nothing overlaps); nothing is loaded, and no context is waited for.
  virtual absl::Status Compile(const CompiledKernel& kernel) = 0;
  // Runs to the end. print receives device_print's lines.
  virtual absl::StatusOr<DeviceRunResult> Run(const CompiledKernel& kernel, const PreparedRun& run, const std::array<int64_t, 3>& grid,
                                              const std::function<void(absl::string_view)>& print) = 0;
  // Compiles the candidates in parallel and times them in interleaved rounds, the cache of the device emptied before each run. The tensors hold
  // afterwards what they held before.
  virtual absl::Status Tune(std::vector<TuneCandidate>& candidates) = 0;
  // Results of tuning that outlive the process: text by key.
  virtual std::optional<std::string> Remembered(absl::string_view key) = 0;
  virtual void Remember(absl::string_view key, absl::string_view text) = 0;

  // The launch with its arguments in place (vm/gpu/prepared.h): all tensors in memory of the device.
  virtual absl::StatusOr<std::unique_ptr<PreparedLaunch>> Bind(std::shared_ptr<const CompiledKernel> kernel, const PreparedRun& run,
                                                               const std::array<int64_t, 3>& grid) = 0;

  // Where the storage lies on the device, for programs that keep addresses in tensors; it is kept up to date there from then on.
  virtual absl::StatusOr<uint64_t> AddressOf(const std::shared_ptr<Storage>& storage) = 0;
  // Memory of the caller, here or on the device. kInvalidArgument: it is memory of another device.
  virtual absl::StatusOr<std::shared_ptr<Storage>> Borrow(void* data, int64_t bytes) = 0;
};

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_DEVICE_RUNNER_H_
