// `--device auto` on a GPU that is there: what it cannot run goes to the CPU and is told once, and no error of a program is hidden by that.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "vm/engine.h"
#include "vm/gpu/runner_testing.h"

namespace tilevm::vm {
namespace {

using host::Tuning;

class AutoTest : public RunnerTest {
 protected:
  static EngineOptions Automatic(std::vector<std::string>* told) {
    EngineOptions options = Options();
    options.device = "auto";
    options.warn = [told](absl::string_view line) { told->emplace_back(line); };
    return options;
  }
  static absl::StatusOr<specializer::Value> Add(Program& program) { return program.Call("add", specializer::CallArgs{{Tensor({1, 2}), Tensor({10, 20})}, {}}); }
  // On the CPU with auto, told once; with cuda an error of that code.
  void ExpectTheCpu(EngineOptions options, absl::StatusCode code, const std::string& why) {
    std::vector<std::string> told;
    EngineOptions automatic = Automatic(&told);
    automatic.nvrtc_library = options.nvrtc_library;
    std::shared_ptr<Program> program = Load(kAdd, automatic);
    for (int i = 0; i < 2; ++i) {
      const absl::StatusOr<specializer::Value> out = Add(*program);
      ASSERT_TRUE(out.ok()) << program->Format(out.status());
      EXPECT_EQ(Floats(*out), (std::vector<float>{11, 22}));
      EXPECT_FALSE(program->world().launches().back().on_device);
    }
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].rfind("add_kernel runs on the CPU: ", 0), 0u) << told[0];
    EXPECT_NE(told[0].find(why), std::string::npos) << told[0];
    const absl::Status status = Add(*Load(kAdd, options)).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_NE(std::string(status.message()).find(why), std::string::npos) << status;
  }
};

TEST_F(AutoTest, WithoutNvrtc) {
  EngineOptions options = Options();
  options.nvrtc_library = "/nowhere/libnvrtc.so";
  ExpectTheCpu(options, absl::StatusCode::kFailedPrecondition, "NVRTC is not installed: none of /nowhere/libnvrtc.so can be loaded");
}

TEST_F(AutoTest, ADriverTooOldForTheCode) {
  Control().version = 12020;
  Control().fail_call = "cuModuleLoadData";
  Control().fail_code = 209;
  ExpectTheCpu(Options(), absl::StatusCode::kFailedPrecondition, "does not take the code that NVRTC made: cuModuleLoadData: CUDA_ERROR_FAKE");
}

TEST_F(AutoTest, AGpuWithoutAContext) {
  Control().fail_call = "cuDevicePrimaryCtxRetain";
  Control().fail_code = 46;
  ExpectTheCpu(Options(), absl::StatusCode::kFailedPrecondition, "cuda:0 cannot be used: cuDevicePrimaryCtxRetain");
}

TEST_F(AutoTest, MoreThreadsOrMemoryThanThereIs) {
  Control().max_threads = 64;
  ExpectTheCpu(Options(), absl::StatusCode::kResourceExhausted, "has 128 threads (4 warps)");
  Control().max_threads = 1024;
  Control().memory_bytes = 4;
  ExpectTheCpu(Options(), absl::StatusCode::kResourceExhausted, "cannot get 8 bytes of GPU memory");
}

constexpr char kSorts[] = R"(
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'BLOCK': 131072}), triton.Config({'BLOCK': 65536})], key=['n'])
@triton.jit
def order(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.sort(tl.load(x + i, mask=i < n, other=float('inf'))), mask=i < n)

def run(n):
    x = torch.flip(torch.arange(0, n, dtype=torch.float32, device='cuda'), [0])
    order[(1,)](x, n)
    return x
)";

TEST_F(AutoTest, ConfigurationsOfWhichNoneFits) {
  for (const Tuning tuning : {Tuning::kWhenNeeded, Tuning::kNever}) {
    std::vector<std::string> told;
    EngineOptions options = Automatic(&told);
    options.tuning = tuning;
    std::shared_ptr<Program> program = Load(kSorts, options);
    const absl::StatusOr<specializer::Value> out = program->Call("run", specializer::CallArgs{{specializer::Value::Int(5)}, {}});
    ASSERT_TRUE(out.ok()) << program->Format(out.status());
    EXPECT_EQ(Floats(*out), (std::vector<float>{0, 1, 2, 3, 4}));
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told[0].find("order runs on the CPU: kernel order needs 524288 bytes of shared memory"), std::string::npos) << told[0];
    options.device = "cuda";
    EXPECT_EQ(Load(kSorts, options)->Call("run", specializer::CallArgs{{specializer::Value::Int(5)}, {}}).status().code(), absl::StatusCode::kResourceExhausted);
  }
}

// Nothing that is wrong with a program or its arguments is hidden.
TEST_F(AutoTest, ErrorsOfTheProgramStayErrors) {
  std::vector<std::string> told;
  std::shared_ptr<Program> program = Load(kAdd, Automatic(&told));
  std::vector<float> x(4);
  const TensorRef ref{x.data(), isa::DType::kF32, {4}};
  const std::vector<Argument> args = {{"x_ptr", ref}, {"y_ptr", ref}, {"out_ptr", ref}, {"n", 4}, {"BLOCK", 64}};
  EXPECT_EQ(program->Launch("add_kernel", "1, 65536", args).status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<Argument> wrong = args;
  wrong.back() = {"BLOCK", 63};
  EXPECT_EQ(program->Launch("add_kernel", "1", wrong).status().code(), absl::StatusCode::kInvalidArgument);
  Control().fail_call = "cuEventSynchronize";  // CUDA_ERROR_ILLEGAL_ADDRESS
  EXPECT_EQ(program->Launch("add_kernel", "1", args).status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(told.empty());
}

// What the CPU wrote would not reach memory of the caller's on the GPU.
TEST_F(AutoTest, TensorsOnTheGpuStayThere) {
  std::vector<std::string> told;
  std::shared_ptr<Program> program = Load(kAdd, Automatic(&told));
  alignas(64) float memory[64] = {};
  Control().device_address = 1;
  Control().max_threads = 64;
  const auto ref = [&](int at) { return TensorRef{memory + at, isa::DType::kF32, {16}}; };
  const absl::Status status = program->Launch("add_kernel", "1", {{"x_ptr", ref(0)}, {"y_ptr", ref(16)}, {"out_ptr", ref(32)}, {"n", 16}, {"BLOCK", 64}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace tilevm::vm
