// Every case file in the tree can be read, and numpy answers all that they ask. Needs no engine, so it tells a broken case from a broken room.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "isa/ops.h"
#include "tests/case_file.h"
#include "tests/oracle.h"

namespace tilevm::tests {
namespace {

std::vector<std::string> AllCaseFiles() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests")) {
    if (entry.path().extension() == ".case") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CaseFiles, CanBeReadAndAnswered) {
  std::vector<Case> all;
  for (const std::string& path : AllCaseFiles()) {
    absl::StatusOr<std::vector<Case>> cases = ParseCases(path, ReadFile(path));
    ASSERT_TRUE(cases.ok()) << cases.status().message();
    for (Case& one : *cases) all.push_back(std::move(one));
  }
  std::vector<std::string> problems;
  absl::Status status = AskOracle("tests/oracle.py", std::getenv("TEST_TMPDIR"), all, problems);
  ASSERT_TRUE(status.ok()) << status;
  std::set<std::string> names;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(problems[i], "") << all[i].file << ":" << all[i].first_line;
    EXPECT_TRUE(names.insert(all[i].file + "/" + all[i].name).second) << "two cases are called " << all[i].name << " in " << all[i].file;
    EXPECT_LE(all[i].errors.size(), 1u) << all[i].file;
    bool expects = !all[i].errors.empty() || !all[i].reports.empty() || all[i].check_prints;
    for (const BufferSpec& buffer : all[i].buffers) expects |= buffer.role != BufferSpec::Role::kIn;
    EXPECT_TRUE(expects) << all[i].file << ":" << all[i].first_line << ": expects nothing";
  }
}

// An op without a case has no meaning that anything holds it to.
TEST(CaseFiles, EveryOpOfTheBytecodeHasOne) {
  std::set<std::string> stems;
  for (const auto& entry : std::filesystem::directory_iterator("tests/ops")) stems.insert(entry.path().stem().string());
  for (const isa::OpInfo& info : isa::AllOps()) {
    if (info.level != isa::Level::kBytecode && info.level != isa::Level::kLibrary) continue;
    std::string name(info.mnemonic);
    auto found = stems.lower_bound(name);
    EXPECT_TRUE(found != stems.end() && (*found == name || found->rfind(name + "_", 0) == 0)) << "no tests/ops/" << name << ".case";
  }
}

}  // namespace
}  // namespace tilevm::tests
