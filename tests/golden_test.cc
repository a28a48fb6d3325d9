// The stages of the example kernels print as tests/golden/ has them; `bazel run //tests:update_golden` rewrites the folder.
#include "tests/golden.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace tilevm::tests {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first line in which two texts differ.
std::string Difference(const std::string& golden, const std::string& now) {
  std::istringstream a(golden), b(now);
  std::string x, y;
  for (int line = 1;; ++line) {
    bool more_a = static_cast<bool>(std::getline(a, x)), more_b = static_cast<bool>(std::getline(b, y));
    if (!more_a && !more_b) return "";
    if (more_a != more_b || x != y) {
      return "line " + std::to_string(line) + "\n  golden: " + (more_a ? x : "(ends)") + "\n  now:    " + (more_b ? y : "(ends)");
    }
  }
}

TEST(Golden, StagesPrintAsTheyDid) {
  auto texts = GoldenTexts();
  ASSERT_TRUE(texts.ok()) << texts.status();
  for (const auto& [path, text] : *texts) {
    EXPECT_EQ(Difference(ReadFile(path), text), "") << path << "\nIf the change is meant: bazel run //tests:update_golden";
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests/golden")) {
    if (entry.is_directory()) continue;
    EXPECT_TRUE(texts->count(entry.path().string()) != 0) << entry.path() << " is no stage any more: bazel run //tests:update_golden";
  }
}

TEST(Golden, TextDependsOnTheProgramAlone) {
  auto first = GoldenTexts(), second = GoldenTexts();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

}  // namespace
}  // namespace tilevm::tests
