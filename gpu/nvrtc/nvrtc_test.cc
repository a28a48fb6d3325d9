// Compiles for every target without a GPU. Skipped, and said so, where NVRTC is not installed.
#include "gpu/nvrtc/nvrtc.h"

#include "gtest/gtest.h"

namespace tilevm::gpu {
namespace {

constexpr char kAdd[] = R"(
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
})";

TEST(Nvrtc, MissingLibraryIsAnErrorThatNamesIt) {
  absl::StatusOr<std::shared_ptr<const Nvrtc>> nvrtc = Nvrtc::Load("libnvrtc-that-is-not-there.so");
  EXPECT_EQ(nvrtc.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(nvrtc.status().message().find("libnvrtc-that-is-not-there.so"), absl::string_view::npos);
}

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    auto nvrtc = Nvrtc::Load();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    nvrtc_ = *nvrtc;
  }
  std::shared_ptr<const Nvrtc> nvrtc_;
};

TEST_F(NvrtcTest, CompilesToACubinForEveryTarget) {
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    CompileRequest request;
    request.source = kAdd;
    request.arch = arch;
    absl::StatusOr<CompileResult> result = nvrtc_->Compile(request);
    ASSERT_TRUE(result.ok()) << arch << ": " << result.status();
    EXPECT_EQ(result->cubin.substr(0, 4), "\x7f" "ELF") << arch;
    EXPECT_GT(result->registers, 0) << arch << ": " << result->log;
    EXPECT_EQ(result->spill_bytes, 0) << arch;
  }
}

TEST_F(NvrtcTest, HeadersAreGivenByText) {
  CompileRequest request;
  request.source = "#include \"device/one.cuh\"\nextern \"C\" __global__ void f(int* x) { *x = kOne; }";
  request.headers = {{"device/one.cuh", "constexpr int kOne = 1;"}};
  request.arch = "sm_90a";
  EXPECT_TRUE(nvrtc_->Compile(request).ok());
}

TEST_F(NvrtcTest, ErrorsCarryTheLog) {
  CompileRequest request;
  request.source = "#line 7 \"softmax.py\"\nextern \"C\" __global__ void f() { undeclared = 1; }";
  request.arch = "sm_80";
  absl::Status status = nvrtc_->Compile(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("softmax.py(7)"), absl::string_view::npos) << status;
}

TEST_F(NvrtcTest, UnknownArchIsAFailedPrecondition) {
  CompileRequest request;
  request.source = kAdd;
  for (const char* arch : {"sm_999", "sm_", "gfx942", ""}) {
    request.arch = arch;
    EXPECT_EQ(nvrtc_->Compile(request).status().code(), absl::StatusCode::kFailedPrecondition) << arch;
  }
}

TEST(ReadLog, RegistersSpillsAndSerialisedProducts) {
  CompileResult result;
  result.log = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the "
               "wgmma pipeline in function 'k'\nptxas info    : Function properties for k\n    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
               "ptxas info    : Used 168 registers, used 1 barriers\n";
  ReadLog(result);
  EXPECT_EQ(result.registers, 168);
  EXPECT_EQ(result.spill_bytes, 12);
  EXPECT_TRUE(result.serialised);
  result.log = "ptxas info    : (C7519) Potential Performance Loss: warpgroup.arrive is injected in around line 7 by compiler to allow use of registers in GMMA\n"
               "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 40 registers\n";
  ReadLog(result);
  EXPECT_EQ(result.registers, 40);
  EXPECT_EQ(result.spill_bytes, 0);
  EXPECT_FALSE(result.serialised);
}

TEST_F(NvrtcTest, PtxOnRequest) {
  CompileRequest request;
  request.source = kAdd;
  request.arch = "sm_90a";
  request.want_ptx = true;
  absl::StatusOr<CompileResult> result = nvrtc_->Compile(request);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NE(result->ptx.find(".target sm_90a"), std::string::npos);
}

}  // namespace
}  // namespace tilevm::gpu
