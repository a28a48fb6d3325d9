#include "gpu/driver/api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "gpu/driver/fake_driver.h"
#include "gtest/gtest.h"

namespace tilevm::gpu {
namespace {

TEST(Driver, MissingLibraryIsAFailedPrecondition) {
  absl::StatusOr<const Api*> api = LoadDriver("libcuda-that-is-not-there.so.1");
  EXPECT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(api.status().message().find("no NVIDIA driver"), absl::string_view::npos) << api.status();
}

TEST(Driver, LibraryThatIsNoDriverIsAFailedPrecondition) {
  absl::StatusOr<const Api*> api = LoadDriver("libm.so.6");
  EXPECT_EQ(api.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(api.status().message().find("too old"), absl::string_view::npos) << api.status();
}

// One that works would be kept for the whole process: none does here.
TEST(Driver, ADriverThatIsTooOldOrDoesNotStart) {
  const std::string path = std::string(std::getenv("TEST_SRCDIR")) + "/" + std::getenv("TEST_WORKSPACE") + "/gpu/driver/libfake_cuda.so";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  FakeControl& control = *reinterpret_cast<FakeControl* (*)()>(dlsym(library, "fake_cuda_control"))();
  control.version = 11080;
  absl::Status status = LoadDriver(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "the NVIDIA driver is too old: it supports CUDA 11.8; 12.0 or newer is needed");
  control.fail_call = "cuInit";
  control.fail_code = 999;
  status = LoadDriver(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "the NVIDIA driver does not start: cuInit: CUDA_ERROR_FAKE (made up by a test)");
}

}  // namespace
}  // namespace tilevm::gpu
