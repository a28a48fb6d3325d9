// A damaged file is an error or a program of another identity; it never crashes, hangs or asks for much memory.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "frontends/asm/assemble.h"
#include "frontends/triton/compile.h"
#include "gtest/gtest.h"
#include "isa/print.h"
#include "isa/tbc.h"
#include "isa/tbc_container.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

std::string ExampleBytes(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (absl::EndsWith(path, ".tasm")) {
    absl::StatusOr<Module> module = assembly::Assemble(text, "test.tasm");
    EXPECT_TRUE(module.ok()) << module.status();
    return WriteTbc(*module);
  }
  absl::StatusOr<Module> module = triton::CompileTriton(text, path);
  EXPECT_TRUE(module.ok()) << module.status();
  return WriteTbc(*module);
}

// All positions below `end` in the small files made for this; of the examples `budget` of them, spread evenly: all would take minutes.
std::vector<size_t> Positions(const std::string& path, size_t end, size_t budget) {
  // tools/full_check has the minutes.
  if (absl::StartsWith(path, "isa/") || std::getenv("TILEVM_EVERY_POSITION") != nullptr) budget = end;
  std::vector<size_t> positions;
  const double step = end <= budget ? 1.0 : static_cast<double>(end) / static_cast<double>(budget);
  for (double at = 0; at < static_cast<double>(end); at += step) positions.push_back(static_cast<size_t>(at));
  return positions;
}

constexpr size_t kReads = 10000;   // of damage that the checksums find
constexpr size_t kDecodes = 1000;  // of damage under right checksums, each written and assembled again

class DamageTest : public testing::TestWithParam<std::string> {};

TEST_P(DamageTest, EveryTruncationIsFound) {
  std::string bytes = ExampleBytes(GetParam());
  for (size_t size : Positions(GetParam(), bytes.size(), kReads)) {
    absl::Status status = ReadTbc(absl::string_view(bytes).substr(0, size)).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    ASSERT_NE(status.message().find("at byte "), absl::string_view::npos) << status;
  }
}

TEST_P(DamageTest, EveryBitFlipIsFound) {
  std::string bytes = ExampleBytes(GetParam());
  for (size_t bit : Positions(GetParam(), bytes.size() * 8, kReads)) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    absl::Status status = ReadTbc(bytes).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << "bit " << bit << ": " << status;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

// With the checksums repaired, damage reaches the decoder: an error, or a well-formed program. In the semantic sections it is another one,
// unless the bytes were another spelling of the same (a bind that is folded or not).
TEST_P(DamageTest, DamageUnderRightChecksumsGivesAnErrorOrAProgram) {
  const std::string bytes = ExampleBytes(GetParam());
  absl::StatusOr<Container> container = ReadContainer(bytes);
  ASSERT_TRUE(container.ok());
  size_t strippable = container->Find(SectionId::kFiles)->offset;
  size_t source = container->Find(SectionId::kSource)->offset;
  int programs = 0;
  for (size_t bit : Positions(GetParam(), source * 8, kDecodes)) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    RepairChecksums(damaged);
    absl::StatusOr<Module> module = ReadTbc(damaged);
    if (!module.ok()) {
      ASSERT_TRUE(module.status().code() == absl::StatusCode::kDataLoss || module.status().code() == absl::StatusCode::kUnimplemented)
          << module.status();
      continue;
    }
    ++programs;
    if (bit / 8 >= strippable) continue;
    ASSERT_TRUE(VerifyModule(*module).ok());
    absl::StatusOr<Module> again = ReadTbc(WriteTbc(*module));
    ASSERT_TRUE(again.ok()) << "bit " << bit << ": " << again.status();
    ASSERT_TRUE(SameProgram(*module, *again)) << "bit " << bit;
    absl::StatusOr<Module> assembled = assembly::Assemble(Print(*module), "printed.tasm");
    ASSERT_TRUE(assembled.ok()) << "bit " << bit << ": " << assembled.status() << "\n" << Print(*module);
    ASSERT_EQ(Identity(*assembled), Identity(*module)) << "bit " << bit << "\n" << Print(*module);
  }
  EXPECT_GT(programs, 100);
}

TEST_P(DamageTest, CutSectionsUnderRightChecksumsAreErrors) {
  const std::string bytes = ExampleBytes(GetParam());
  absl::StatusOr<Container> container = ReadContainer(bytes);
  ASSERT_TRUE(container.ok());
  // Every section but the last is shortened by giving its end to the next one.
  for (size_t s = 0; s + 1 < container->sections.size(); ++s) {
    size_t entry = kHeaderBytes + s * kDirectoryEntryBytes;
    for (size_t length : Positions(GetParam(), container->sections[s].bytes.size(), kDecodes / 4)) {
      std::string damaged = bytes;
      uint64_t cut = container->sections[s].bytes.size() - length;
      auto add = [&damaged](size_t at, uint64_t value) {
        uint64_t sum = value;
        for (int i = 0; i < 8; ++i) sum += static_cast<uint64_t>(static_cast<uint8_t>(damaged[at + i])) << (8 * i);
        for (int i = 0; i < 8; ++i) damaged[at + i] = static_cast<char>(sum >> (8 * i));
      };
      add(entry + 16, -cut);
      add(entry + kDirectoryEntryBytes + 8, -cut);
      add(entry + kDirectoryEntryBytes + 16, cut);
      RepairChecksums(damaged);
      ASSERT_FALSE(ReadTbc(damaged).ok()) << container->sections[s].id << " cut to " << length;
    }
  }
}

// Every example of the tree.
std::vector<std::string> ExampleFiles() {
  std::vector<std::string> files;
  for (const char* folder : {"isa/testdata", "examples"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string path = entry.path().string();
      if (absl::EndsWith(path, ".tasm") || absl::EndsWith(path, ".py")) files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Examples, DamageTest, testing::ValuesIn(ExampleFiles()), [](const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace tilevm::isa
