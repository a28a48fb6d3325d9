// Every case of the case folders gives CUDA text, and the text compiles: all of them for sm_90a, every 32nd for the oldest target and a newer one.
#include "gtest/gtest.h"
#include "tests/cuda/compile_cases.h"

namespace tilevm::tests {
namespace {

TEST(CudaText, OfEveryCaseCompiles) {
  CompileOptions options;
  options.folders = {"tests/ops", "tests/kernels", "tests/frontend", "tests/issues", "tests/tiles", "tests/bad"};
  options.sampled_archs = {"sm_80", "sm_100a"};
  options.optimise = false;
  const CompileSummary summary = CompileCases(options);
  for (const std::string& failure : summary.failures) ADD_FAILURE() << failure;
  RecordProperty("summary", summary.text);
  if (!summary.skipped.empty()) GTEST_SKIP() << "generated, not compiled: " << summary.skipped;
}

}  // namespace
}  // namespace tilevm::tests
