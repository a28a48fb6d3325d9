// The CUDA driver, taken by dlopen: no CUDA header, no link-time dependency; the tree builds the same with and without the toolkit.
#ifndef TILEVM_GPU_DRIVER_API_H_
#define TILEVM_GPU_DRIVER_API_H_

#include <cstddef>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tilevm::gpu {

using CuResult = int;  // 0 is success
using CuDevice = int;
using CuDevicePtr = unsigned long long;
using CuContext = struct CuContextOpaque*;
using CuModule = struct CuModuleOpaque*;
using CuFunction = struct CuFunctionOpaque*;
using CuStream = struct CuStreamOpaque*;
using CuEvent = struct CuEventOpaque*;
using CuGraph = struct CuGraphOpaque*;
using CuGraphExec = struct CuGraphExecOpaque*;

// Numbers of the driver API that we use (CUDA driver API reference, enums of the same names).
inline constexpr int kAttributeMaxThreadsPerBlock = 1;
inline constexpr int kAttributeMaxGridX = 5, kAttributeMaxGridY = 6, kAttributeMaxGridZ = 7;
inline constexpr int kAttributeWarpSize = 10;
inline constexpr int kAttributeClockRateKhz = 13;
inline constexpr int kAttributeMultiprocessorCount = 16;
inline constexpr int kAttributeL2CacheBytes = 38;
inline constexpr int kAttributeComputeCapabilityMajor = 75, kAttributeComputeCapabilityMinor = 76;
inline constexpr int kAttributeMaxSmemPerBlockOptin = 97;
inline constexpr int kAttributeMaxSmemPerMultiprocessor = 81;
inline constexpr int kAttributeMaxRegistersPerMultiprocessor = 82;
inline constexpr int kFuncAttributeNumRegs = 4, kFuncAttributeLocalBytes = 3, kFuncAttributeSharedBytes = 1, kFuncAttributeMaxThreads = 0;
inline constexpr int kFuncAttributeMaxDynamicSmem = 8, kFuncAttributePreferredSmemCarveout = 9;
inline constexpr int kPointerAttributeContext = 1, kPointerAttributeMemoryType = 2, kPointerAttributeIsManaged = 8, kPointerAttributeDeviceOrdinal = 9;
inline constexpr int kMemoryTypeHost = 1;
// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion; no interleaving and a fill of zeros are 0.
inline constexpr int kTensorMapU8 = 0, kTensorMapU16 = 1, kTensorMapU32 = 2, kTensorMapI32 = 3, kTensorMapU64 = 4, kTensorMapI64 = 5;
inline constexpr int kTensorMapF16 = 6, kTensorMapF32 = 7, kTensorMapF64 = 8, kTensorMapBf16 = 9;
inline constexpr int kTensorMapSwizzleNone = 0, kTensorMapSwizzle32 = 1, kTensorMapSwizzle64 = 2, kTensorMapSwizzle128 = 3;
inline constexpr int kTensorMapPromotion128 = 2, kTensorMapPromotion256 = 3, kTensorMapNoInterleave = 0, kTensorMapFillZeros = 0;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureModeThreadLocal = 1;
inline constexpr int kOldestDriver = 12000;  // CUDA 12.0: the first with every entry point of api.def

// CUlaunchAttribute and CUlaunchConfig, as the driver's ABI has them.
struct CuLaunchAttribute {
  int id = 0;
  int padding = 0;
  union {
    int value;
    char bytes[64];
  };
};
struct CuLaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned smem_bytes = 0;
  CuStream stream = nullptr;
  CuLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(CuLaunchAttribute) == 72 && sizeof(CuLaunchConfig) == 56, "the driver's ABI");
inline constexpr int kLaunchProgrammaticSerialization = 6;  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
inline constexpr int kProgrammaticDriver = 12030;           // CUDA 12.3: the first whose graphs keep it

struct Api {
#define DRIVER(name, symbol, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "gpu/driver/api.def"
#undef DRIVER
  int version = 0;  // 12040 is 12.4

  // Text of a failed call: "cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image ...)". kResourceExhausted for out of memory,
  // kInternal else.
  absl::Status Error(absl::string_view call, CuResult result) const;
};

// The driver of this process, loaded once: `library` is "" for the system's libcuda.so.1. kFailedPrecondition without a driver, with one that is
// too old, or where it finds no device; the message says which. The result lives as long as the process.
absl::StatusOr<const Api*> LoadDriver(absl::string_view library = "");

#define TILEVM_DRIVER_CALL(api, name, ...)                                                                   \
  do {                                                                                                       \
    if (::tilevm::gpu::CuResult tilevm_result_ = (api).name(__VA_ARGS__)) return (api).Error("cu" #name, tilevm_result_); \
  } while (false)

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_DRIVER_API_H_
