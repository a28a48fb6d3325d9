// A launch bound once: the kernel is compiled and loaded, its arguments stand in place, and Launch is one call of the driver.
//
//   auto launch = program->Prepare("add_kernel", "cdiv(n, BLOCK)", {{"x_ptr", x}, {"y_ptr", y}, {"out_ptr", out}, {"n", n}, {"BLOCK", 1024}});
//   (*launch)->Launch(stream);
//   (*launch)->SetPointer("x_ptr", other_x);     // as aligned as the first, of the same device
//
// An array that a tensor map cannot describe as it lies may be copied into workspace by each launch; the workspace is the launch's own and grows with what
// SetInteger asks, so one PreparedLaunch is not for two streams at a time. The kernel that copies is compiled when Prepare, SetPointer, SetInteger or SetGrid first
// finds such an array.
//
// What the kernel prints or asserts is dropped. Launch allocates nothing, takes no lock and looks nothing up; it may be captured into a CUDA graph. A PreparedLaunch belongs to one thread at a time; it
// keeps the kernel loaded, not the memory that its pointers name.
#ifndef TILEVM_VM_GPU_PREPARED_H_
#define TILEVM_VM_GPU_PREPARED_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gpu/launch/arguments.h"
#include "gpu/launch/device.h"
#include "vm/kernel_cache.h"

namespace tilevm::vm {

class PreparedLaunch {
 public:
  struct Parameter {
    std::string name;           // "x_ptr"; of a tuple or descriptor "desc.stride1"
    isa::ElemType type;
    int64_t divisibility = 1;   // of the address in bytes, or of the value: the kernel relies on it
    int64_t bytes = 0;          // of the buffer behind a pointer, for the check of overlap
  };

  // Gives the kernel that copies arrays which are not aligned: compiled and loaded when it is first asked for.
  using RepackerSource = std::function<absl::StatusOr<std::shared_ptr<const gpu::LoadedKernel>>()>;

  static absl::StatusOr<std::unique_ptr<PreparedLaunch>> Make(std::shared_ptr<gpu::Device> device, std::shared_ptr<const CompiledKernel> source,
                                                              std::shared_ptr<const gpu::LoadedKernel> kernel, RepackerSource repacker_source,
                                                              gpu::Promises promises, std::vector<Parameter> parameters, std::vector<uint64_t> values, const std::array<int64_t, 3>& grid,
                                                              bool strides_pay = false);
  PreparedLaunch(const PreparedLaunch&) = delete;
  PreparedLaunch& operator=(const PreparedLaunch&) = delete;

  // stream: a CUstream of the device, null for its default stream. Errors of the kernel itself come with a later call, as CUDA has it.
  absl::Status Launch(void* stream = nullptr) {
    if (empty_) return absl::OkStatus();
    gpu::CuContext current = nullptr;
    if (api_.CtxGetCurrent(&current) != 0 || current != context_) return LaunchElsewhere(stream);
    if (gpu::CuResult result = Enqueue(stream)) return api_.Error("cuLaunchKernel", result);
    return absl::OkStatus();
  }

  // kInvalidArgument: no such pointer parameter, memory of another device, less aligned than the kernel was compiled for, overlapping another buffer where
  // the first arguments did not. bytes: the extent behind it; 0: as before.
  absl::Status SetPointer(absl::string_view name, void* address, int64_t bytes = 0);
  // kInvalidArgument: no such integer parameter, not divisible as the kernel was compiled for, or a value for which a promise of the kernel fails.
  absl::Status SetInteger(absl::string_view name, int64_t value);
  absl::Status SetFloat(absl::string_view name, double value);
  // kInvalidArgument beyond the device's limits.
  absl::Status SetGrid(const std::array<int64_t, 3>& grid);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const gpu::GpuKernel& kernel() const { return kernel_->kernel(); }
  // What cuLaunchKernel gets: the addresses of the arguments as they stand.
  void** arguments() const { return params_; }

 private:
  PreparedLaunch(std::shared_ptr<gpu::Device> device, std::shared_ptr<const CompiledKernel> source, std::shared_ptr<const gpu::LoadedKernel> kernel,
                 gpu::Promises promises, std::vector<Parameter> parameters, std::vector<uint64_t> values, const std::array<int64_t, 3>& grid);
  gpu::CuResult Enqueue(void* stream) {
    for (gpu::Repack& repack : arguments_.repacks()) {
      if (gpu::CuResult result = gpu::LaunchRepack(api_, repacker_->function(), repack, static_cast<gpu::CuStream>(stream))) return result;
    }
    arguments_.NextDeal();
    return gpu::LaunchBlocks(api_, function_, kernel_->kernel().emitted, blocks_, device_->properties().multiprocessors, static_cast<gpu::CuStream>(stream), params_);
  }
  absl::Status LaunchElsewhere(void* stream);
  absl::StatusOr<size_t> Find(absl::string_view name, bool pointer, bool floating) const;
  // Checks the promises for the arguments as they stand, and puts them in place for Launch.
  absl::Status Settle(bool ranges_changed);

  const gpu::Api& api_;
  std::shared_ptr<gpu::Device> device_;
  std::shared_ptr<const CompiledKernel> source_;
  std::shared_ptr<const gpu::LoadedKernel> kernel_;
  gpu::Promises promises_;
  gpu::CuContext context_ = nullptr;
  gpu::CuFunction function_;
  std::array<int64_t, 3> grid_;                        // of programs
  std::array<int64_t, 3> blocks_ = {0, 0, 0};
  bool empty_ = false;
  bool strides_pay_ = false;                           // another order of blocks was found to be faster
  std::vector<Parameter> parameters_;
  std::vector<uint64_t> values_;
  std::optional<analysis::LaunchRanges> ranges_;       // of the integers and the grid; where a promise needs them
  gpu::LaunchArguments arguments_;
  RepackerSource repacker_source_;
  std::shared_ptr<const gpu::LoadedKernel> repacker_;  // once an array was not aligned: copies it into
  std::unique_ptr<gpu::DeviceMemory> workspace_;       // this; launches on several streams at once would share it
  void** params_ = nullptr;                            // of arguments_
};

}  // namespace tilevm::vm

#endif  // TILEVM_VM_GPU_PREPARED_H_
