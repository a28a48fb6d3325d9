// Rewrites tests/golden/ from the tree as it is: `bazel run //tests:update_golden`, then review the diff.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/golden.h"

int main() {
  auto texts = tilevm::tests::GoldenTexts();
  if (!texts.ok()) {
    std::fprintf(stderr, "update_golden: %s\n", std::string(texts.status().message()).c_str());
    return 1;
  }
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  std::filesystem::path root = workspace != nullptr ? workspace : ".";
  std::filesystem::remove_all(root / "tests/golden");
  for (const auto& [path, text] : *texts) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path, std::ios::binary) << text;
  }
  std::printf("%zu files\n", texts->size());
  return 0;
}
