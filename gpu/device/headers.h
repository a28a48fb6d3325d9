// The files of gpu/device as text, for NVRTC: name as included ("device/tile.cuh") and content.
#ifndef TILEVM_GPU_DEVICE_HEADERS_H_
#define TILEVM_GPU_DEVICE_HEADERS_H_

#include <string>
#include <utility>
#include <vector>

namespace tilevm::gpu {

std::vector<std::pair<std::string, std::string>> DeviceHeaderTexts();

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_DEVICE_HEADERS_H_
