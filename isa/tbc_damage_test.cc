// A damaged file is an error or a program of another identity; it never crashes, hangs or asks for much memory.
#include <fstream>
#include <iterator>
#include <string>

#include "frontends/asm/assemble.h"
#include "gtest/gtest.h"
#include "isa/print.h"
#include "isa/tbc.h"
#include "isa/tbc_container.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

std::string ExampleBytes(absl::string_view name) {
  std::ifstream file(absl::StrCat("isa/testdata/", name, ".tasm"));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StatusOr<Module> module = assembly::Assemble(text, "test.tasm");
  EXPECT_TRUE(module.ok()) << module.status();
  return WriteTbc(*module);
}

class DamageTest : public testing::TestWithParam<const char*> {};

TEST_P(DamageTest, EveryTruncationIsFound) {
  std::string bytes = ExampleBytes(GetParam());
  for (size_t size = 0; size < bytes.size(); ++size) {
    absl::Status status = ReadTbc(absl::string_view(bytes).substr(0, size)).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    ASSERT_NE(status.message().find("at byte "), absl::string_view::npos) << status;
  }
}

TEST_P(DamageTest, EveryBitFlipIsFound) {
  std::string bytes = ExampleBytes(GetParam());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
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
  for (size_t bit = 0; bit < source * 8; ++bit) {
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
    for (uint64_t length = 0; length < container->sections[s].bytes.size(); ++length) {
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

INSTANTIATE_TEST_SUITE_P(Examples, DamageTest, testing::Values("vector_add", "every_construct"));

}  // namespace
}  // namespace tilevm::isa
