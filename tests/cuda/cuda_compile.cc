// Compiles the CUDA text of every case, for any architecture; no GPU needed.
//
//   cuda_compile [--arch=sm_90a,... | --arch=all] [--warps=N] [--threads=N] [--only=TEXT] [--quick] [--profile] [--show] FOLDER...
//
// --quick leaves out the assembler's optimisation; --profile times each text alone; --show prints layouts and texts instead. Exit code 1 if a case fails,
// 77 where there is no NVRTC.
#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gpu/compile/target.h"
#include "tests/cuda/compile_cases.h"

namespace tilevm::tests {
namespace {

bool ParseOptions(int argc, char** argv, CompileOptions* options) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (arg == "--arch=all") {
      options->archs.clear();
      for (const gpu::Target& target : gpu::KnownTargets()) options->archs.push_back(target.arch);
    } else if (absl::ConsumePrefix(&arg, "--arch=")) {
      options->archs = absl::StrSplit(arg, ',');
    } else if (absl::ConsumePrefix(&arg, "--warps=")) {
      if (!absl::SimpleAtoi(arg, &options->warps)) return false;
    } else if (absl::ConsumePrefix(&arg, "--threads=")) {
      if (!absl::SimpleAtoi(arg, &options->threads)) return false;
    } else if (absl::ConsumePrefix(&arg, "--only=")) {
      options->only = std::string(arg);
    } else if (arg == "--quick") {
      options->optimise = false;
    } else if (arg == "--profile") {
      options->profile = true;
    } else if (arg == "--show") {
      options->show = true;
    } else if (absl::StartsWith(arg, "--")) {
      return false;
    } else {
      options->folders.emplace_back(arg);
    }
  }
  return !options->folders.empty();
}

int Main(const CompileOptions& options) {
  const CompileSummary summary = CompileCases(options);
  for (const std::string& failure : summary.failures) std::printf("FAILED %s\n", failure.c_str());
  std::printf("%s%zu failed\n", summary.text.c_str(), summary.failures.size());
  if (!summary.skipped.empty()) std::printf("not compiled: %s\n", summary.skipped.c_str());
  return !summary.failures.empty() ? 1 : !summary.skipped.empty() ? 77 : 0;
}

}  // namespace
}  // namespace tilevm::tests

int main(int argc, char** argv) {
  tilevm::tests::CompileOptions options;
  if (!tilevm::tests::ParseOptions(argc, argv, &options)) {
    std::printf("cuda_compile [--arch=sm_90a,... | --arch=all] [--warps=N] [--threads=N] [--only=TEXT] [--quick] [--profile] [--show] FOLDER...\n");
    return 2;
  }
  return tilevm::tests::Main(options);
}
