// Every example survives .tbc and text unchanged, and its code is as small as promised.
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "frontends/asm/assemble.h"
#include "frontends/triton/compile.h"
#include "gtest/gtest.h"
#include "isa/print.h"
#include "isa/tbc.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

Module Example(absl::string_view name) {
  std::string path = absl::StrCat("examples/", name);
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StatusOr<Module> module = triton::CompileTriton(text, path);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : Module();
}

class ExamplesTest : public testing::TestWithParam<const char*> {};

TEST_P(ExamplesTest, SurvivesBytesAndText) {
  Module module = Example(GetParam());
  ASSERT_TRUE(VerifyModule(module).ok()) << VerifyModule(module);
  absl::StatusOr<Module> read = ReadTbc(WriteTbc(module));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(SameProgram(module, *read));
  EXPECT_EQ(read->files[0].text, module.files[0].text);
  std::string text = Print(*read);
  absl::StatusOr<Module> assembled = assembly::Assemble(text, "printed.tasm");
  ASSERT_TRUE(assembled.ok()) << FormatDiagnostic(assembled.status(), {{"printed.tasm", text}});
  EXPECT_EQ(Identity(*assembled), Identity(module));
  EXPECT_EQ(Print(*assembled), text);
}

INSTANTIATE_TEST_SUITE_P(Examples, ExamplesTest,
                         testing::Values("vector_add.py", "fused_softmax.py", "matmul_autotune.py", "flash_attention.py",
                                         "flash_attention_simplified.py", "layer_norm.py"));

uint64_t CodeBytes(absl::string_view name) {
  absl::StatusOr<TbcInfo> info = InspectTbc(WriteTbc(Example(name)));
  EXPECT_TRUE(info.ok()) << info.status();
  return info.ok() ? info->SectionBytes("code") : 0;
}

TEST(CodeSizeTest, VectorAddAndMatmul) {
  EXPECT_LE(CodeBytes("vector_add.py"), 200u);
  EXPECT_LE(CodeBytes("matmul_autotune.py"), 1200u);
}

}  // namespace
}  // namespace tilevm::isa
