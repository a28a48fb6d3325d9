// The key of a cubin: everything that changes the code changes it, nothing else does. With NVRTC: text to cubin, through the disk cache.
#include "gpu/compile/compiler.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace tilevm::gpu {
namespace {

const std::vector<std::pair<std::string, std::string>> kHeaders = {{"device/a.cuh", "int a;"}, {"device/b.cuh", "int b;"}};

CacheKey Key(absl::string_view text = "k", std::vector<std::pair<std::string, std::string>> headers = kHeaders, absl::string_view arch = "sm_90a",
             std::vector<std::string> options = {"-x"}, int release = 13000) {
  return KeyOf(text, headers, arch, options, release);
}

TEST(KeyOf, EveryInputCounts) {
  EXPECT_EQ(Key(), Key());
  EXPECT_NE(Key(), Key("k2"));
  EXPECT_NE(Key(), Key("k", {{"device/a.cuh", "int a; "}, {"device/b.cuh", "int b;"}}));
  EXPECT_NE(Key(), Key("k", {{"device/a.cuh", "int a;"}}));
  EXPECT_NE(Key(), Key("k", kHeaders, "sm_80"));
  EXPECT_NE(Key(), Key("k", kHeaders, "sm_90a", {"-x", "-y"}));
  EXPECT_NE(Key(), Key("k", kHeaders, "sm_90a", {"-x"}, 12090));
}

TEST(KeyOf, ListsDoNotRunTogether) {
  EXPECT_NE(Key("k", {{"ab", "c"}}), Key("k", {{"a", "bc"}}));
  EXPECT_NE(Key("k", {}, "sm_90a", {"ab"}), Key("k", {}, "sm_90a", {"a", "b"}));
}

TEST(KeyOf, WhereAndWhenDoNotCount) {
  const CacheKey here = Key();
  const std::filesystem::path old = std::filesystem::current_path();
  const char* const home = std::getenv("HOME");
  const std::string old_home = home == nullptr ? "" : home;
  std::filesystem::current_path("/");
  setenv("HOME", "/nowhere", 1);
  setenv("TZ", "Asia/Tokyo", 1);
  EXPECT_EQ(Key(), here);
  std::filesystem::current_path(old);
  unsetenv("TZ");
  if (home == nullptr) unsetenv("HOME");
  else setenv("HOME", old_home.c_str(), 1);
  // The same in every run, on every day and machine.
  EXPECT_EQ(KeyHex(here), "ca19de5d6abececb6f91c81a54ba5b6e161082147fa800640fcf99bc1f7f98a0");
}

TEST(KeyOf, PlacesInTheSourceDoNotCount) {
  EXPECT_EQ(Key("a\n#line 3 \"f0\"\nb\n"), Key("a\n#line 4 \"f1\"\nb\n"));
  EXPECT_EQ(Key("a\nb\n"), Key("a\n#line 4 \"f1\"\nb\n"));
  EXPECT_NE(Key("a\nb\n"), Key("a\nb"));
}

TEST(Targets, NamesAndCapabilities) {
  EXPECT_EQ(TargetOf("sm_90a")->number, 90);
  EXPECT_EQ(TargetOf("90")->arch, "sm_90a");
  EXPECT_EQ(TargetOf("sm_80")->max_smem_per_block, 163 * 1024);
  EXPECT_EQ(TargetOf("sm_70").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TargetOf("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TargetOfCapability(9, 0)->arch, "sm_90a");
  EXPECT_EQ(TargetOfCapability(8, 7)->arch, "sm_86");
  EXPECT_EQ(TargetOfCapability(8, 9)->arch, "sm_89");
  // Code for sm_100a runs on that one alone.
  EXPECT_FALSE(TargetOfCapability(10, 3).ok());
  EXPECT_FALSE(TargetOfCapability(7, 5).ok());
}

class CompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
  }
  CompilerOptions Options() {
    CompilerOptions options;
    options.cache.directory = directory_.string();
    options.cache.warn = [this](absl::string_view text) { warnings_.emplace_back(text); };
    return options;
  }
  static Emitted Text(const std::string& body) {
    Emitted emitted;
    emitted.text = "extern \"C\" __global__ void k(float* x) {" + body + "}\n";
    emitted.entry = "k";
    return emitted;
  }
  std::filesystem::path directory_;
  std::vector<std::string> warnings_;
};

TEST_F(CompilerTest, SecondTimeFromTheDisk) {
  Compiler first(Options());
  if (!first.nvrtc().ok()) GTEST_SKIP() << first.nvrtc().status().message();
  const Target target = *TargetOf("sm_90a");
  auto made = first.CompileText(Text("x[threadIdx.x] = 1;"), target, false);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE((*made)->from_disk);
  EXPECT_GT((*made)->registers, 0);
  Compiler second(Options());
  auto found = second.CompileText(Text("x[threadIdx.x] = 1;"), target, false);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE((*found)->from_disk);
  EXPECT_EQ((*found)->cubin, (*made)->cubin);
  EXPECT_EQ((*found)->registers, (*made)->registers);
  auto other = second.CompileText(Text("x[threadIdx.x] = 2;"), target, false);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE((*other)->from_disk);
}

TEST_F(CompilerTest, WhatIsOnTheDiskNeedsNoNvrtc) {
  {
    Compiler first(Options());
    if (!first.nvrtc().ok()) GTEST_SKIP() << first.nvrtc().status().message();
    ASSERT_TRUE(first.CompileText(Text("x[0] = 1;"), *TargetOf("sm_90a"), false).ok());
  }
  CompilerOptions options = Options();
  options.nvrtc_library = "libno-such-nvrtc.so";
  Compiler without(options);
  auto found = without.CompileText(Text("x[0] = 1;"), *TargetOf("sm_90a"), false);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE((*found)->from_disk);
  EXPECT_EQ(without.CompileText(Text("x[0] = 2;"), *TargetOf("sm_90a"), false).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CompilerTest, ADamagedEntryIsMadeAnew) {
  {
    Compiler first(Options());
    if (!first.nvrtc().ok()) GTEST_SKIP() << first.nvrtc().status().message();
    ASSERT_TRUE(first.CompileText(Text("x[0] = 1;"), *TargetOf("sm_80"), false).ok());
  }
  int damaged = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
    if (!entry.is_regular_file() || entry.file_size() < 100) continue;
    std::filesystem::resize_file(entry.path(), entry.file_size() - 7);
    ++damaged;
  }
  ASSERT_EQ(damaged, 1);
  Compiler second(Options());
  auto again = second.CompileText(Text("x[0] = 1;"), *TargetOf("sm_80"), false);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE((*again)->from_disk);
}

TEST_F(CompilerTest, NoNvrtcIsNamed) {
  CompilerOptions options = Options();
  options.nvrtc_library = "libno-such-nvrtc.so";
  Compiler compiler(options);
  const absl::Status status = compiler.CompileText(Text(""), *TargetOf("sm_80"), false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("libno-such-nvrtc.so"), absl::string_view::npos);
}

}  // namespace
}  // namespace tilevm::gpu
