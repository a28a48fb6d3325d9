// dlopen and the table of symbols.
#include "gpu/driver/api.h"

#include <dlfcn.h>

#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace tilevm::gpu {
namespace {

constexpr CuResult kOutOfMemory = 2;

absl::StatusOr<const Api*> Load(absl::string_view library) {
  const std::string name = library.empty() ? "libcuda.so.1" : std::string(library);
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("no NVIDIA driver: ", name, " cannot be loaded (", dlerror(), ")"));
  }
  auto api = std::make_unique<Api>();
#define DRIVER(name, symbol, ...)                                                                                             \
  api->name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(handle, symbol));                                        \
  if (api->name == nullptr) {                                                                                                 \
    return absl::FailedPreconditionError("the NVIDIA driver is too old: it lacks " symbol "; CUDA 12.0 or newer is needed");  \
  }
#define OPTIONAL_DRIVER(name, symbol, ...) api->name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(handle, symbol));
#include "gpu/driver/api.def"
#undef DRIVER
  if (CuResult result = api->Init(0)) {
    return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver does not start: ", api->Error("cuInit", result).message()));
  }
  if (CuResult result = api->DriverGetVersion(&api->version)) return api->Error("cuDriverGetVersion", result);
  if (api->version < kOldestDriver) {
    return absl::FailedPreconditionError(absl::StrCat("the NVIDIA driver is too old: it supports CUDA ", api->version / 1000, ".",
                                                      api->version % 1000 / 10, "; 12.0 or newer is needed"));
  }
  return api.release();
}

}  // namespace

absl::Status Api::Error(absl::string_view call, CuResult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  std::string message = absl::StrCat(call, ": ", name != nullptr ? name : absl::StrCat("error ", result), text != nullptr ? " (" : "",
                                     text != nullptr ? text : "", text != nullptr ? ")" : "");
  return result == kOutOfMemory ? absl::ResourceExhaustedError(message) : absl::InternalError(message);
}

absl::StatusOr<const Api*> LoadDriver(absl::string_view library) {
  // A failure is not kept: a driver may be installed while a process lives.
  static std::mutex mutex;
  static const Api* loaded = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (loaded != nullptr) return loaded;
  absl::StatusOr<const Api*> api = Load(library);
  if (api.ok()) loaded = *api;
  return api;
}

}  // namespace tilevm::gpu
