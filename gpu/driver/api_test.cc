#include "gpu/driver/api.h"

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

}  // namespace
}  // namespace tilevm::gpu
