#include "gpu/device/headers.h"

namespace tilevm::gpu {

std::vector<std::pair<std::string, std::string>> DeviceHeaderTexts() {
  return {
#include "gpu/device/headers_text.inc"
  };
}

}  // namespace tilevm::gpu
