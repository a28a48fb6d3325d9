// Writing and reading are inverses, the bytes and the identity depend on the program alone, and the encoding is as small as promised.
#include "isa/tbc.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "frontends/asm/assemble.h"
#include "gtest/gtest.h"
#include "isa/print.h"
#include "isa/tbc_container.h"
#include "isa/tbc_tuning.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

Module Assembled(absl::string_view text) {
  absl::StatusOr<Module> module = assembly::Assemble(text, "test.tasm");
  if (!module.ok()) {
    ADD_FAILURE() << FormatDiagnostic(module.status(), {{"test.tasm", std::string(text)}});
    return Module();
  }
  return *std::move(module);
}

Module Example(absl::string_view name) { return Assembled(ReadFile(absl::StrCat("isa/testdata/", name, ".tasm"))); }

constexpr const char* kExamples[] = {"vector_add", "every_construct"};

TEST(TbcTest, ReadingGivesTheProgramBack) {
  for (const char* name : kExamples) {
    Module module = Example(name);
    absl::StatusOr<Module> read = ReadTbc(WriteTbc(module));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status();
    EXPECT_TRUE(SameProgram(module, *read)) << Print(module) << "-----\n" << Print(*read);
    EXPECT_EQ(Print(module), Print(*read));
    EXPECT_EQ(Identity(module), Identity(*read));
    EXPECT_EQ(WriteTbc(module), WriteTbc(*read));
  }
}

TEST(TbcTest, PrintedAndAssembledHasTheSameIdentity) {
  for (const char* name : kExamples) {
    Module module = Example(name);
    EXPECT_EQ(Identity(module).ToHex(), Identity(Assembled(Print(module))).ToHex());
  }
}

void ExpectSamePlaces(const Region& a, const Region& b) {
  ASSERT_EQ(a.body.size(), b.body.size());
  for (size_t i = 0; i < a.body.size(); ++i) {
    EXPECT_EQ(a.body[i].loc, b.body[i].loc);
    for (size_t r = 0; r < b.body[i].regions.size(); ++r) ExpectSamePlaces(a.body[i].regions[r], b.body[i].regions[r]);
  }
}

TEST(TbcTest, PlacesFilesAndSourceSurvive) {
  for (bool compress : {true, false}) {
    Module module = Example("every_construct");
    WriteOptions options;
    options.compress_source = compress;
    absl::StatusOr<Module> read = ReadTbc(WriteTbc(module, options));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->files.size(), 1u);
    EXPECT_EQ(read->files[0].name, "test.tasm");
    EXPECT_EQ(read->files[0].text, module.files[0].text);
    for (size_t i = 0; i < module.functions.size(); ++i) {
      EXPECT_EQ(read->functions[i].loc, module.functions[i].loc);
      ExpectSamePlaces(module.functions[i].body, read->functions[i].body);
      for (size_t k = 0; k < module.functions[i].params.size(); ++k) {
        EXPECT_EQ(read->functions[i].params[k].loc, module.functions[i].params[k].loc);
      }
    }
  }
}

TEST(TbcTest, StrippingKeepsTheIdentity) {
  Module module = Example("vector_add");
  WriteOptions stripped;
  stripped.debug = false;
  std::string bytes = WriteTbc(module, stripped);
  absl::StatusOr<Module> read = ReadTbc(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->files.empty());
  EXPECT_FALSE(read->functions[0].loc.known());
  EXPECT_EQ(Identity(*read), Identity(module));
  EXPECT_EQ(Print(*read), Print(module));
  EXPECT_LT(bytes.size(), WriteTbc(module).size());
}

TEST(TbcTest, IdentityDependsOnWhatHasMeaning) {
  ProgramIdentity identity = Identity(Assembled("kernel (x)\n    store %x, 100\n"));
  EXPECT_EQ(identity, Identity(Assembled("# other places\n\nkernel (x)\n  store %x,100\n")));
  EXPECT_NE(identity, Identity(Assembled("kernel (x)\n    store %x, 101\n")));
  EXPECT_NE(identity, Identity(Assembled("kernel (y)\n    store %y, 100\n")));
  EXPECT_NE(identity, Identity(Assembled("kernel k (x)\n    store %x, 100\n")));
  EXPECT_NE(identity, Identity(Assembled("kernel (x: i32)\n    store %x, 100\n")));
  EXPECT_NE(identity, Identity(Assembled("import a = b\nkernel (x)\n    store %x, 100\n")));
  EXPECT_EQ(identity.ToHex().size(), 64u);
}

TEST(TbcTest, UnusedPoolEntriesAreNotWritten) {
  Module module = Assembled("kernel (x)\n    store %x, 100\n");
  std::string bytes = WriteTbc(module);
  module.InternString("unused");
  module.strings.emplace_back(40, 'x');  // shifts nothing, for no id refers to it
  std::rotate(module.strings.begin(), module.strings.end() - 1, module.strings.end());
  // Ids into strings are all those of names, which are interned again by the reader; this program has none in its code.
  EXPECT_EQ(WriteTbc(module), bytes);
}

TEST(TbcTest, VectorAddIsSmall) {
  absl::StatusOr<TbcInfo> info = InspectTbc(WriteTbc(Example("vector_add")));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_LE(info->SectionBytes("code"), 200u);
  RecordProperty("code_bytes", static_cast<int>(info->SectionBytes("code")));
  EXPECT_EQ(info->functions[0].name, "add_kernel");
  EXPECT_EQ(info->functions[0].kind, FunctionKind::kPlain);
  EXPECT_GT(info->functions[0].reg_count, 20u);
  uint64_t sum = 0;
  for (const TbcFunctionInfo& function : info->functions) sum += function.code_bytes;
  EXPECT_EQ(sum, info->SectionBytes("code"));
  EXPECT_EQ(info->identity, Identity(Example("vector_add")));
  EXPECT_EQ(info->SectionBytes("no such section"), 0u);
}

// A section that this release does not know is skipped if its flag allows, else named.
TEST(TbcTest, UnknownSections) {
  std::string bytes = WriteTbc(Example("vector_add"));
  absl::StatusOr<Container> container = ReadContainer(bytes);
  ASSERT_TRUE(container.ok());
  size_t last_entry = kHeaderBytes + (container->sections.size() - 1) * kDirectoryEntryBytes;
  bytes[last_entry] = 99;
  RepairChecksums(bytes);
  absl::StatusOr<Module> read = ReadTbc(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Identity(*read), Identity(Example("vector_add")));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);  // still checked
  EXPECT_EQ(ReadTbc(bytes).status().code(), absl::StatusCode::kDataLoss);
  bytes[last_entry + 4] = 0;
  RepairChecksums(bytes);
  EXPECT_EQ(ReadTbc(bytes).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(TbcTest, ResultsOfTuning) {
  const std::string bytes = WriteTbc(Example("vector_add"));
  EXPECT_TRUE(ReadTuning(bytes)->empty());
  absl::StatusOr<std::string> tuned = AddTuning(bytes, {{"b", "BLOCK=32"}, {"a", "BLOCK=64"}});
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(*ReadTuning(*tuned), (TuningResults{{"a", "BLOCK=64"}, {"b", "BLOCK=32"}}));
  // Of one key the new result stays.
  tuned = AddTuning(*tuned, {{"b", "BLOCK=128"}, {"c", ""}});
  EXPECT_EQ(*ReadTuning(*tuned), (TuningResults{{"a", "BLOCK=64"}, {"b", "BLOCK=128"}, {"c", ""}}));
  absl::StatusOr<TbcInfo> info = InspectTbc(*tuned);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->identity, Identity(Example("vector_add")));
  EXPECT_EQ(WriteTbc(*ReadTbc(*tuned)), bytes);
  // Whatever stands in the section: an error with its place, never a crash.
  const ContainerSection section = *ReadContainer(*tuned)->Find(SectionId::kTuning);
  for (size_t at = 0; at < section.bytes.size(); ++at) {
    for (int change : {1, 0x80, 0xff}) {
      std::string damaged = *tuned;
      damaged[section.offset + at] = static_cast<char>(damaged[section.offset + at] ^ change);
      EXPECT_EQ(ReadTuning(damaged).status().code(), absl::StatusCode::kDataLoss);  // the checksum
      RepairChecksums(damaged);
      const absl::StatusOr<TuningResults> read = ReadTuning(damaged);
      EXPECT_TRUE(read.ok() || absl::IsDataLoss(read.status())) << read.status();
    }
  }
}

TEST(TbcTest, OtherFilesAreRefusedWithTheReason) {
  EXPECT_EQ(ReadTbc("").status().message(), "damaged .tbc at byte 0: the file ends inside its header");
  EXPECT_EQ(ReadTbc("#!/usr/bin/env python").status().message(), "damaged .tbc at byte 0: not a .tbc file");
  std::string bytes = WriteTbc(Example("vector_add"));
  std::string as_text = bytes;
  as_text.erase(4, 1);  // CR LF became LF
  EXPECT_EQ(ReadTbc(as_text).status().message(), "damaged .tbc at byte 4: its line ends were translated: it was copied as text");
  std::string newer = bytes;
  newer[8] = 2;
  RepairChecksums(newer);
  EXPECT_EQ(ReadTbc(newer).status().message(), "a .tbc of format 2; this release reads format 1");
  EXPECT_EQ(ReadTbc(bytes + "x").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(LooksLikeTbc(as_text));
  EXPECT_FALSE(LooksLikeTbc("kernel ()"));
}

}  // namespace
}  // namespace tilevm::isa
