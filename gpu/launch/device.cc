#include "gpu/launch/device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu/launch/arguments.h"
#include "isa/status.h"

namespace tilevm::gpu {
namespace {

absl::StatusOr<DeviceProperties> Properties(const Api& api, int ordinal) {
  DeviceProperties out;
  out.ordinal = ordinal;
  CuDevice device = 0;
  TILEVM_DRIVER_CALL(api, DeviceGet, &device, ordinal);
  char name[256] = "";
  TILEVM_DRIVER_CALL(api, DeviceGetName, name, sizeof(name), device);
  out.name = name;
  size_t bytes = 0;
  TILEVM_DRIVER_CALL(api, DeviceTotalMem, &bytes, device);
  out.memory_bytes = static_cast<int64_t>(bytes);
  auto attribute = [&](int which) -> int {
    int value = 0;
    return api.DeviceGetAttribute(&value, which, device) == 0 ? value : 0;
  };
  out.major = attribute(kAttributeComputeCapabilityMajor);
  out.minor = attribute(kAttributeComputeCapabilityMinor);
  out.multiprocessors = attribute(kAttributeMultiprocessorCount);
  out.l2_bytes = attribute(kAttributeL2CacheBytes);
  out.smem_per_block = attribute(kAttributeMaxSmemPerBlockOptin);
  out.smem_per_multiprocessor = attribute(kAttributeMaxSmemPerMultiprocessor);
  out.registers_per_multiprocessor = attribute(kAttributeMaxRegistersPerMultiprocessor);
  out.clock_khz = attribute(kAttributeClockRateKhz);
  out.max_grid = {attribute(kAttributeMaxGridX), attribute(kAttributeMaxGridY), attribute(kAttributeMaxGridZ)};
  return out;
}

// What a driver answers that does not know the format or the architecture of a cubin.
constexpr CuResult kInvalidImage = 200, kNoBinaryForGpu = 209, kJitCompilerNotFound = 221, kUnsupportedPtxVersion = 222;

absl::Status CannotLoad(const Api& api, CuResult result) {
  absl::Status status = api.Error("cuModuleLoadData", result);
  if (result != kInvalidImage && result != kNoBinaryForGpu && result != kJitCompilerNotFound && result != kUnsupportedPtxVersion) return status;
  return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver, of CUDA ", api.version / 1000, ".", api.version % 1000 / 10, ", does not take the code that NVRTC made: ",
                                                    status.message(), "; a newer driver or an older NVRTC is needed"));
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (block_ == 0) return;
  absl::StatusOr<CuContext> context = device_->context();
  if (!context.ok()) return;
  ScopedContext current(device_->api(), *context);
  if (device_->allocator_.release) device_->allocator_.release(reinterpret_cast<void*>(block_));
  else device_->api().MemFree(block_);
}

LoadedKernel::~LoadedKernel() {
  if (module_ == nullptr) return;
  absl::StatusOr<CuContext> context = device_->context();
  if (!context.ok()) return;
  ScopedContext current(device_->api(), *context);
  device_->api().ModuleUnload(module_);
}

absl::StatusOr<std::vector<DeviceProperties>> Device::List(absl::string_view driver_library) {
  TILEVM_ASSIGN_OR_RETURN(const Api* api, LoadDriver(driver_library));
  int count = 0;
  TILEVM_DRIVER_CALL(*api, DeviceGetCount, &count);
  std::vector<DeviceProperties> out;
  for (int i = 0; i < count; ++i) {
    TILEVM_ASSIGN_OR_RETURN(DeviceProperties properties, Properties(*api, i));
    out.push_back(std::move(properties));
  }
  return out;
}

absl::StatusOr<std::shared_ptr<Device>> Device::Open(int ordinal, absl::string_view driver_library, Allocator allocator) {
  TILEVM_ASSIGN_OR_RETURN(const Api* api, LoadDriver(driver_library));
  int count = 0;
  TILEVM_DRIVER_CALL(*api, DeviceGetCount, &count);
  if (ordinal < 0 || ordinal >= count) {
    return absl::FailedPreconditionError(absl::StrCat("there is no device cuda:", ordinal, "; the machine has ", count, count == 1 ? " GPU" : " GPUs"));
  }
  auto device = std::shared_ptr<Device>(new Device());
  device->api_ = api;
  device->allocator_ = std::move(allocator);
  TILEVM_ASSIGN_OR_RETURN(device->properties_, Properties(*api, ordinal));
  device->target_ = TargetOfCapability(device->properties_.major, device->properties_.minor);
  device->context_ = std::async(std::launch::async, [api, ordinal]() -> absl::StatusOr<CuContext> {
                       CuContext context = nullptr;
                       const CuResult result = api->DevicePrimaryCtxRetain(&context, ordinal);
                       if (result == 0) return context;
                       absl::Status status = api->Error("cuDevicePrimaryCtxRetain", result);
                       if (absl::IsResourceExhausted(status)) return status;
                       return absl::FailedPreconditionError(absl::StrCat("cuda:", ordinal, " cannot be used: ", status.message()));
                     }).share();
  return device;
}

Device::~Device() {
  if (context_.valid() && context_.get().ok()) api_->DevicePrimaryCtxRelease(properties_.ordinal);
}

int Device::OrdinalOf(const Api& api, CuDevicePtr address) {
  int ordinal = -1;
  return api.PointerGetAttribute(&ordinal, kPointerAttributeDeviceOrdinal, address) == 0 ? ordinal : -1;
}

bool Device::HostReaches(const Api& api, CuDevicePtr address) {
  const auto attribute = [&](int which) {
    int value = 0;
    return api.PointerGetAttribute(&value, which, address) == 0 ? value : 0;
  };
  return attribute(kPointerAttributeMemoryType) == kMemoryTypeHost || attribute(kPointerAttributeIsManaged) != 0;
}

absl::StatusOr<CuContext> Device::context() { return context_.get(); }

#define TILEVM_CURRENT_CONTEXT()                             \
  TILEVM_ASSIGN_OR_RETURN(CuContext tilevm_context, context()); \
  ScopedContext tilevm_current(*api_, tilevm_context)

absl::StatusOr<std::unique_ptr<DeviceMemory>> Device::Allocate(int64_t bytes, int64_t residue) {
  TILEVM_CURRENT_CONTEXT();
  CuDevicePtr block = 0;
  if (allocator_.allocate) {
    block = reinterpret_cast<CuDevicePtr>(allocator_.allocate(std::max<int64_t>(bytes, 1) + residue));
    if (block == 0) return absl::ResourceExhaustedError(absl::StrCat("cannot get ", bytes, " bytes of GPU memory from the host's allocator"));
    if (block % 256 != 0) {
      allocator_.release(reinterpret_cast<void*>(block));
      return absl::InvalidArgumentError("the host's allocator gave GPU memory that is not aligned to 256 bytes");
    }
  } else if (CuResult result = api_->MemAlloc(&block, static_cast<size_t>(std::max<int64_t>(bytes, 1) + residue))) {
    absl::Status status = api_->Error("cuMemAlloc", result);
    return absl::Status(status.code(), absl::StrCat("cannot get ", bytes, " bytes of GPU memory: ", status.message()));
  }
  return std::unique_ptr<DeviceMemory>(new DeviceMemory(shared_from_this(), block, block + static_cast<CuDevicePtr>(residue), bytes));
}

absl::Status Device::CopyIn(CuDevicePtr to, const void* from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  TILEVM_CURRENT_CONTEXT();
  TILEVM_DRIVER_CALL(*api_, MemcpyHtoD, to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status Device::CopyOut(void* to, CuDevicePtr from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  TILEVM_CURRENT_CONTEXT();
  TILEVM_DRIVER_CALL(*api_, MemcpyDtoH, to, from, static_cast<size_t>(bytes));
  return absl::OkStatus();
}

absl::Status Device::CopyWithin(CuDevicePtr to, CuDevicePtr from, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  TILEVM_CURRENT_CONTEXT();
  TILEVM_DRIVER_CALL(*api_, MemcpyDtoDAsync, to, from, static_cast<size_t>(bytes), nullptr);
  return absl::OkStatus();
}

absl::Status Device::Fill(CuDevicePtr to, uint8_t value, int64_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  TILEVM_CURRENT_CONTEXT();
  TILEVM_DRIVER_CALL(*api_, MemsetD8Async, to, value, static_cast<size_t>(bytes), nullptr);
  return absl::OkStatus();
}

absl::Status Device::Synchronize() {
  TILEVM_CURRENT_CONTEXT();
  TILEVM_DRIVER_CALL(*api_, CtxSynchronize);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const LoadedKernel>> Device::Load(std::shared_ptr<const GpuKernel> kernel) {
  TILEVM_CURRENT_CONTEXT();
  const Emitted& emitted = kernel->emitted;
  if (emitted.smem_bytes > properties_.smem_per_block) {
    return absl::ResourceExhaustedError(absl::StrCat("kernel ", emitted.entry, " needs ", emitted.smem_bytes, " bytes of shared memory; ", properties_.name, " has ",
                                                     properties_.smem_per_block, " for a block"));
  }
  auto loaded = std::shared_ptr<LoadedKernel>(new LoadedKernel());
  loaded->device_ = shared_from_this();
  loaded->kernel_ = std::move(kernel);
  if (CuResult result = api_->ModuleLoadData(&loaded->module_, loaded->kernel_->cubin.data())) {
    loaded->module_ = nullptr;
    return CannotLoad(*api_, result);
  }
  TILEVM_DRIVER_CALL(*api_, ModuleGetFunction, &loaded->function_, loaded->module_, emitted.entry.c_str());
  if (emitted.smem_bytes > 48 * 1024) {
    TILEVM_DRIVER_CALL(*api_, FuncSetAttribute, loaded->function_, kFuncAttributeMaxDynamicSmem, static_cast<int>(emitted.smem_bytes));
  }
  int most_threads = 0;
  TILEVM_DRIVER_CALL(*api_, FuncGetAttribute, &loaded->local_bytes_, kFuncAttributeLocalBytes, loaded->function_);
  TILEVM_DRIVER_CALL(*api_, FuncGetAttribute, &most_threads, kFuncAttributeMaxThreads, loaded->function_);
  if (most_threads < emitted.threads) {
    return absl::ResourceExhaustedError(absl::StrCat("kernel ", emitted.entry, " has ", emitted.threads, " threads (", emitted.threads / 32, " warps); with ",
                                                     loaded->kernel_->registers, " registers each ", properties_.name, " runs ", most_threads));
  }
  TILEVM_DRIVER_CALL(*api_, OccupancyMaxActiveBlocks, &loaded->blocks_, loaded->function_, emitted.threads, static_cast<size_t>(emitted.smem_bytes));
  return std::shared_ptr<const LoadedKernel>(std::move(loaded));
}

int64_t LoadedKernel::blocks_at_once() const { return int64_t{blocks_} * device_->properties().multiprocessors; }

absl::Status Device::CheckGrid(const std::array<int64_t, 3>& grid) const {
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] < 0) return absl::InvalidArgumentError(absl::StrCat("grid axis ", axis, " is ", grid[axis], "; it cannot be negative"));
    if (grid[axis] > properties_.max_grid[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("grid axis ", axis, " is ", grid[axis], "; ", properties_.name, " runs at most ", properties_.max_grid[axis]));
    }
  }
  return absl::OkStatus();
}

absl::Status Device::Launch(const LoadedKernel& kernel, const std::array<int64_t, 3>& grid, void** params, CuStream stream) {
  TILEVM_RETURN_IF_ERROR(CheckGrid(grid));
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return absl::OkStatus();
  TILEVM_CURRENT_CONTEXT();
  const Emitted& emitted = kernel.kernel().emitted;
  const std::array<int64_t, 3> blocks = LaunchedGrid(emitted, grid, kernel.blocks_at_once());
  if (CuResult result = LaunchBlocks(*api_, kernel.function(), emitted, blocks, properties_.multiprocessors, stream, params)) return api_->Error("cuLaunchKernel", result);
  return absl::OkStatus();
}

absl::StatusOr<double> Device::LaunchTimed(const LoadedKernel& kernel, const std::array<int64_t, 3>& grid, void** params, CuStream stream,
                                           const std::function<absl::Status()>& before) {
  TILEVM_CURRENT_CONTEXT();
  CuEvent events[2] = {nullptr, nullptr};
  struct Guard {
    const Api& api;
    CuEvent* events;
    ~Guard() {
      for (int i = 0; i < 2; ++i) {
        if (events[i] != nullptr) api.EventDestroy(events[i]);
      }
    }
  } guard{*api_, events};
  for (CuEvent& event : events) TILEVM_DRIVER_CALL(*api_, EventCreate, &event, 0);
  TILEVM_DRIVER_CALL(*api_, EventRecord, events[0], stream);
  if (before != nullptr) TILEVM_RETURN_IF_ERROR(before());
  TILEVM_RETURN_IF_ERROR(Launch(kernel, grid, params, stream));
  TILEVM_DRIVER_CALL(*api_, EventRecord, events[1], stream);
  TILEVM_DRIVER_CALL(*api_, EventSynchronize, events[1]);
  float milliseconds = 0;
  TILEVM_DRIVER_CALL(*api_, EventElapsedTime, &milliseconds, events[0], events[1]);
  return milliseconds * 1000.0;
}

}  // namespace tilevm::gpu
