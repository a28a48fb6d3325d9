// Every case of the case folders gives CUDA text, and the text compiles for three targets, the examples for every target. tools/full_check compiles all for all.
#include <string>
#include <utility>
#include <vector>

#include "gpu/compile/generate.h"
#include "gpu/compile/target.h"
#include "gpu/device/headers.h"
#include "gpu/nvrtc/nvrtc.h"
#include "gtest/gtest.h"
#include "specializer/passes/passes.h"
#include "tests/example_kernels.h"
#include "tests/cuda/compile_cases.h"

namespace tilevm::tests {
namespace {

void CompileEveryCase(std::vector<std::string> archs, int warps) {
  CompileOptions options;
  options.archs = std::move(archs);
  options.warps = warps;
  options.folders = {"tests/ops", "tests/kernels", "tests/frontend", "tests/issues", "tests/tiles", "tests/bad"};
  options.optimise = false;
  const CompileSummary summary = CompileCases(options);
  for (const std::string& failure : summary.failures) ADD_FAILURE() << failure;
  testing::Test::RecordProperty("summary", summary.text);
  if (!summary.skipped.empty()) GTEST_SKIP() << "generated, not compiled: " << summary.skipped;
}

TEST(CudaText, OfEveryCaseCompilesForHopper) { CompileEveryCase({"sm_90a"}, 4); }

// With more warps a program has other layouts, and a third less text: two targets in the time of one and a half.
TEST(CudaText, OfEveryCaseCompilesForAmpereAndBlackwell) { CompileEveryCase({"sm_80", "sm_100a"}, 8); }

TEST(CudaText, OfEveryExampleCompilesForEveryTarget) {
  const auto nvrtc = gpu::Nvrtc::Load();
  for (const ExampleKernel& example : ExampleKernels()) {
    const absl::StatusOr<isa::Module> module = CompileExample(example);
    ASSERT_TRUE(module.ok()) << module.status();
    absl::StatusOr<ir::Kernel> typed = SpecializeExample(example, *module);
    ASSERT_TRUE(typed.ok()) << typed.status();
    const absl::StatusOr<ir::Kernel> kernel = specializer::RunPasses(*std::move(typed));
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    for (const gpu::Target& target : gpu::KnownTargets()) {
      SCOPED_TRACE(std::string(example.kernel) + " " + target.arch);
      const absl::StatusOr<gpu::Emitted> emitted = gpu::Generate(*kernel, target);
      ASSERT_TRUE(emitted.ok()) << emitted.status();
      if (!nvrtc.ok()) continue;
      gpu::CompileRequest request;
      request.source = emitted->text;
      request.headers = gpu::DeviceHeaderTexts();
      request.arch = target.arch;
      request.optimise = false;
      const auto compiled = (*nvrtc)->Compile(request);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      EXPECT_FALSE(compiled->cubin.empty());
    }
  }
  if (!nvrtc.ok()) GTEST_SKIP() << "generated, not compiled: " << nvrtc.status().message();
}

}  // namespace
}  // namespace tilevm::tests
