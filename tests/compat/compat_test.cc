// A .tbc of an earlier release loads, with the identity that it had then. A new release adds its file, NAME.tbc with NAME.identity beside it, and
// changes no old one.
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "isa/print.h"
#include "isa/tbc.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

class CompatTest : public testing::TestWithParam<const char*> {};

TEST_P(CompatTest, LoadsWithItsIdentity) {
  std::string path = absl::StrCat("tests/compat/", GetParam());
  absl::StatusOr<Module> module = ReadTbc(ReadFile(path + ".tbc"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(VerifyModule(*module).ok());
  EXPECT_EQ(Identity(*module).ToHex(), absl::StripTrailingAsciiWhitespace(ReadFile(path + ".identity")));
  EXPECT_FALSE(module->files.empty());
  EXPECT_TRUE(module->functions[0].loc.known());
}

// Written again it is the same program, and this release's own bytes are stable.
TEST_P(CompatTest, WritesBack) {
  absl::StatusOr<Module> module = ReadTbc(ReadFile(absl::StrCat("tests/compat/", GetParam(), ".tbc")));
  ASSERT_TRUE(module.ok()) << module.status();
  std::string bytes = WriteTbc(*module);
  absl::StatusOr<Module> again = ReadTbc(bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(SameProgram(*module, *again));
  EXPECT_EQ(WriteTbc(*again), bytes);
}

INSTANTIATE_TEST_SUITE_P(Releases, CompatTest, testing::Values("release1"));

}  // namespace
}  // namespace tilevm::isa
