// One GPU of this process: its primary context, memory, loaded modules and launches.
//
// Opening a device reads its properties; the context, which takes longest, is made on a thread of its own, so that kernels compile meanwhile. Every call
// that needs the context waits for it and makes it current for its own duration only: what the caller's thread had current is there again afterwards.
// A Device may be used by several threads.
#ifndef TILEVM_GPU_LAUNCH_DEVICE_H_
#define TILEVM_GPU_LAUNCH_DEVICE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/compile/compiler.h"
#include "gpu/compile/target.h"
#include "gpu/driver/api.h"

namespace tilevm::gpu {

class Device;

// Memory of a device from a pool of the host's, in place of cuMemAlloc: both functions or neither. They are called with the device's context current. What uses the
// memory may still be under way on the stream of a launch when it is released: cuMemFree waits for that, a pool has to order it.
struct Allocator {
  std::function<void*(int64_t bytes)> allocate;  // aligned to 256 bytes; null where there is no more
  std::function<void(void* memory)> release;
};

// Memory of a device, freed with the object.
class DeviceMemory {
 public:
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  CuDevicePtr address() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  friend class Device;
  DeviceMemory(std::shared_ptr<Device> device, CuDevicePtr block, CuDevicePtr address, int64_t bytes)
      : device_(std::move(device)), block_(block), address_(address), bytes_(bytes) {}
  std::shared_ptr<Device> device_;
  CuDevicePtr block_ = 0, address_ = 0;
  int64_t bytes_ = 0;
};

// A kernel in a context. It is unloaded with its last owner.
class LoadedKernel {
 public:
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;
  const GpuKernel& kernel() const { return *kernel_; }
  CuFunction function() const { return function_; }
  int local_bytes() const { return local_bytes_; }       // of a thread: spills and arrays
  int blocks_per_multiprocessor() const { return blocks_; }
  int64_t blocks_at_once() const;                        // on the whole device

 private:
  friend class Device;
  LoadedKernel() = default;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const GpuKernel> kernel_;
  CuModule module_ = nullptr;
  CuFunction function_ = nullptr;
  int local_bytes_ = 0, blocks_ = 0;
};

struct DeviceProperties {
  std::string name;
  int ordinal = 0;
  int major = 0, minor = 0;             // compute capability
  int multiprocessors = 0;
  int64_t memory_bytes = 0, l2_bytes = 0;
  int64_t smem_per_block = 0, smem_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  int clock_khz = 0;
  std::array<int64_t, 3> max_grid = {0, 0, 0};
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // kFailedPrecondition without a driver and for an ordinal that is not there.
  static absl::StatusOr<std::shared_ptr<Device>> Open(int ordinal, absl::string_view driver_library = "", Allocator allocator = {});
  // All devices of the machine; nothing stays open.
  static absl::StatusOr<std::vector<DeviceProperties>> List(absl::string_view driver_library = "");
  // The device whose memory the address is; -1 if the driver does not know it (memory of the host).
  static int OrdinalOf(const Api& api, CuDevicePtr address);
  // Memory of a device that the host can use as its own: pinned, or managed.
  static bool HostReaches(const Api& api, CuDevicePtr address);
  ~Device();

  const Api& api() const { return *api_; }
  const DeviceProperties& properties() const { return properties_; }
  // The architecture to compile for; an error if there is none for this card.
  const absl::StatusOr<Target>& target() const { return target_; }

  // From the allocator, if there is one. bytes may be 0. address % 256 is `residue`: a copy of host memory gets the alignment of the original.
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(int64_t bytes, int64_t residue = 0);
  absl::Status CopyIn(CuDevicePtr to, const void* from, int64_t bytes);
  absl::Status CopyOut(void* to, CuDevicePtr from, int64_t bytes);
  absl::Status CopyWithin(CuDevicePtr to, CuDevicePtr from, int64_t bytes);
  absl::Status Fill(CuDevicePtr to, uint8_t value, int64_t bytes);
  absl::Status Synchronize();

  absl::StatusOr<std::shared_ptr<const LoadedKernel>> Load(std::shared_ptr<const GpuKernel> kernel);
  // kInvalidArgument naming axis, value and limit for a grid that the device cannot run. A grid with a 0 in it launches nothing.
  absl::Status CheckGrid(const std::array<int64_t, 3>& grid) const;
  // grid: of programs. params: addresses of the values, in the order of the kernel's parameters (arguments.h). Asynchronous on the stream (null: the default one).
  absl::Status Launch(const LoadedKernel& kernel, const std::array<int64_t, 3>& grid, void** params, CuStream stream = nullptr);
  // The same with the time on the GPU, in microseconds; waits for the end.
  // before: is called with the context current, and counts.
  absl::StatusOr<double> LaunchTimed(const LoadedKernel& kernel, const std::array<int64_t, 3>& grid, void** params, CuStream stream = nullptr,
                                     const std::function<absl::Status()>& before = nullptr);

  absl::StatusOr<CuContext> context();

 private:
  friend class DeviceMemory;
  friend class LoadedKernel;
  Device() = default;

  const Api* api_ = nullptr;
  Allocator allocator_;
  DeviceProperties properties_;
  absl::StatusOr<Target> target_ = absl::InternalError("not set");
  std::shared_future<absl::StatusOr<CuContext>> context_;
};

// Makes a context current for its lifetime.
class ScopedContext {
 public:
  ScopedContext(const Api& api, CuContext context) : api_(api) { pushed_ = api.CtxPushCurrent(context) == 0; }
  ~ScopedContext() {
    CuContext old = nullptr;
    if (pushed_) api_.CtxPopCurrent(&old);
  }
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

 private:
  const Api& api_;
  bool pushed_ = false;
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_LAUNCH_DEVICE_H_
