// Runs the case files of one folder, each case a test of its own:
//
//   case_runner FOLDER     with the working directory at the root of the tree (Bazel's runfiles)
//
// GoogleTest's options work: --gtest_filter=*NAME*. TILEVM_RUN_PENDING=1 also runs the cases marked `pending`.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/case_file.h"
#include "tests/check_case.h"
#include "tests/oracle.h"

namespace tilevm::tests {
namespace {

struct Loaded {
  std::vector<Case> cases;
  std::vector<std::string> problems;  // of the oracle, one for each case
  std::vector<std::pair<std::string, std::string>> broken_files;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> CaseFiles(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".case") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Loaded LoadFolder(const std::string& folder) {
  Loaded loaded;
  for (const std::string& path : CaseFiles(folder)) {
    absl::StatusOr<std::vector<Case>> cases = ParseCases(path, ReadFile(path));
    if (!cases.ok()) {
      loaded.broken_files.emplace_back(path, cases.status().message());
      continue;
    }
    for (Case& one : *cases) loaded.cases.push_back(std::move(one));
  }
  // A folder of this process alone: several runners may be at work.
  char scratch[] = "/tmp/tilevm_cases_XXXXXX";
  const char* test_folder = std::getenv("TEST_TMPDIR");
  std::string exchange = test_folder != nullptr ? test_folder : mkdtemp(scratch);
  absl::Status status = AskOracle("tests/oracle.py", exchange, loaded.cases, loaded.problems);
  if (test_folder == nullptr) std::filesystem::remove_all(exchange);
  if (!status.ok()) loaded.broken_files.emplace_back("oracle", status.message());
  return loaded;
}

class CaseTest : public testing::Test {
 public:
  CaseTest(const Case* one, const std::string* oracle_problem) : one_(one), oracle_problem_(oracle_problem) {}
  void TestBody() override {
    const char* run_pending = std::getenv("TILEVM_RUN_PENDING");
    if (!one_->pending.empty() && run_pending == nullptr) GTEST_SKIP() << one_->pending;
    std::string problem = *oracle_problem_;
    if (problem.empty()) problem = CheckCase(*one_);
    if (!problem.empty()) ADD_FAILURE() << one_->file << ":" << one_->first_line << "\n" << problem;
  }

 private:
  const Case* one_;
  const std::string* oracle_problem_;
};

class BrokenFileTest : public testing::Test {
 public:
  explicit BrokenFileTest(const std::string* message) : message_(message) {}
  void TestBody() override { FAIL() << *message_; }

 private:
  const std::string* message_;
};

void Register(const Loaded& loaded, const std::string& suite) {
  for (size_t i = 0; i < loaded.cases.size(); ++i) {
    const Case* one = &loaded.cases[i];
    const std::string* problem = &loaded.problems[i];
    testing::RegisterTest(suite.c_str(), one->name.c_str(), nullptr, nullptr, one->file.c_str(), one->first_line,
                          [=]() -> testing::Test* { return new CaseTest(one, problem); });
  }
  for (const auto& [path, message] : loaded.broken_files) {
    const std::string* text = &message;
    testing::RegisterTest((suite + "_files").c_str(), path.c_str(), nullptr, nullptr, path.c_str(), 0,
                          [=]() -> testing::Test* { return new BrokenFileTest(text); });
  }
}

}  // namespace
}  // namespace tilevm::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: case_runner FOLDER [--gtest_filter=...]\n");
    return 2;
  }
  std::string folder = argv[1];
  tilevm::tests::Loaded loaded = tilevm::tests::LoadFolder(folder);
  tilevm::tests::Register(loaded, folder.substr(folder.rfind('/') + 1));
  return RUN_ALL_TESTS();
}
