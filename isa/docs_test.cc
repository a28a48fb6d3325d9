// The pages beside the code say what the code does: OPS.md is the op table, and FORMAT.md quotes every byte of a real file.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "frontends/asm/assemble.h"
#include "gtest/gtest.h"
#include "isa/ops_markdown.h"
#include "isa/tbc.h"

namespace tilevm::isa {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

TEST(DocsTest, OpsPageIsFresh) {
  EXPECT_TRUE(ReadFile("isa/OPS.md") == OpsMarkdown()) << "run: bazel run //isa:write_ops_md > isa/OPS.md";
}

// "    0x0028  01 00 00 00  ...": the bytes of one line of the walk, checked to start where it says.
bool QuotedBytes(absl::string_view line, const std::string& so_far, std::string& bytes) {
  if (line.substr(0, 6) != "    0x" || line.size() < 12) return false;
  EXPECT_EQ(std::string(line.substr(6, 4)), absl::StrCat(absl::Hex(so_far.size(), absl::kZeroPad4))) << line;
  absl::string_view rest = line.substr(12);
  bytes.clear();
  auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  while (rest.size() >= 2 && is_hex(rest[0]) && is_hex(rest[1]) && (rest.size() == 2 || rest[2] == ' ')) {
    bytes += absl::HexStringToBytes(rest.substr(0, 2));
    rest.remove_prefix(rest.size() == 2 ? 2 : 3);
  }
  return true;
}

TEST(DocsTest, FormatPageQuotesEveryByteOfTheExample) {
  std::string source = ReadFile("isa/testdata/format_example.tasm");
  absl::StatusOr<Module> module = assembly::Assemble(source, "format_example.tasm");
  ASSERT_TRUE(module.ok()) << module.status();
  std::string page = ReadFile("isa/FORMAT.md");
  std::string quoted;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    std::string bytes;
    if (QuotedBytes(line, quoted, bytes)) quoted += bytes;
  }
  EXPECT_EQ(absl::BytesToHexString(quoted), absl::BytesToHexString(WriteTbc(*module)));
  std::string indented = absl::StrCat("    ", absl::StrReplaceAll(source, {{"\n", "\n    "}}));
  EXPECT_NE(page.find(indented.substr(0, indented.size() - 5)), std::string::npos) << "the example's text";
  EXPECT_NE(page.find(Identity(*module).ToHex()), std::string::npos) << "the identity is " << Identity(*module).ToHex();
}

}  // namespace
}  // namespace tilevm::isa
