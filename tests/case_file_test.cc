#include "tests/case_file.h"

#include <cmath>
#include <cstring>

#include "gtest/gtest.h"
#include "tests/float_format.h"

namespace tilevm::tests {
namespace {

std::vector<Case> Parse(absl::string_view text) {
  absl::StatusOr<std::vector<Case>> cases = ParseCases("folder/name.case", text);
  EXPECT_TRUE(cases.ok()) << cases.status();
  return cases.ok() ? *cases : std::vector<Case>{};
}

std::string ErrorOf(absl::string_view text) {
  absl::StatusOr<std::vector<Case>> cases = ParseCases("bad.case", text);
  return cases.ok() ? "" : std::string(cases.status().message());
}

TEST(CaseFile, ReadsTheSampleOfTheManual) {
  std::vector<Case> cases = Parse(
      "# exp2 past the range of f32 is inf or zero, never an error.\n"
      "kernel (x: ptr<f32>, y: ptr<f32>)\n"
      "    %i = arange 0, 8\n"
      "    store %q, %e\n"
      "in   x f32[8] = 0 1 2 3 -1 -2 128 -150\n"
      "out  y f32[8] = 1 2 4 8 0.5 0.25 inf 0          # rel 2**-22: ex2.approx\n"
      "grid 4,2\n");
  ASSERT_EQ(cases.size(), 1u);
  const Case& one = cases[0];
  EXPECT_EQ(one.name, "name");
  EXPECT_FALSE(one.triton);
  EXPECT_EQ(one.source, "kernel (x: ptr<f32>, y: ptr<f32>)\n    %i = arange 0, 8\n    store %q, %e\n");
  ASSERT_EQ(one.buffers.size(), 2u);
  EXPECT_EQ(one.buffers[1].tolerance.rel, std::exp2(-22));
  EXPECT_EQ(one.buffers[1].tolerance.reason, "ex2.approx");
  EXPECT_EQ(one.grid[0], 4);
  EXPECT_EQ(one.grid[1], 2);
}

TEST(CaseFile, SweepsSubstituteAndName) {
  std::vector<Case> cases = Parse(
      "# c\ncase one\nfor T,U in f32,i32 f16,i64\nfor N in 4 8\nkernel (x: ptr<$T>)\n    %v = cast %x, $U\nin x $T[$N] = 0*${N}\n"
      "case two\nkernel ()\n    return\n");
  ASSERT_EQ(cases.size(), 5u);
  EXPECT_EQ(cases[0].name, "name/one/f32_i32_4");
  EXPECT_EQ(cases[3].name, "name/one/f16_i64_8");
  EXPECT_EQ(cases[3].buffers[0].byte_count(), 16);
  EXPECT_EQ(cases[4].name, "name/two");
}

TEST(CaseFile, TritonSourceStandsBehindOneLineOfImports) {
  std::vector<Case> cases = Parse("triton\n    @triton.jit\n    def kernel(x):\n        pass\narg x = 1\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_TRUE(cases[0].triton);
  EXPECT_EQ(cases[0].prelude_lines, 1);
  EXPECT_EQ(cases[0].source.substr(cases[0].source.find('\n') + 1), "@triton.jit\ndef kernel(x):\n    pass\n");
}

TEST(CaseFile, AToleranceNeedsItsReason) {
  EXPECT_EQ(ErrorOf("kernel ()\n    return\nout y f32[1] = 1 # rel 1e-3\n"), "bad.case:3: a tolerance needs its reason: # rel 2**-22: why");
  EXPECT_EQ(ErrorOf("kernel ()\n    return\nout y f32[2] = 1\n"), "bad.case:3: 1 values for 2 elements");
  EXPECT_EQ(ErrorOf("kernel ()\n    return\noutput y\n"), "bad.case:3: unknown directive 'output'");
  EXPECT_EQ(ErrorOf("# nothing\n"), "bad.case:1: a case without a kernel");
}

TEST(CaseFile, LiteralsAreExact) {
  auto bits = [](isa::DType dtype, absl::string_view token) { return ParseLiteral(dtype, token).value(); };
  EXPECT_EQ(bits(isa::DType::kI8, "-1"), 0xffu);
  EXPECT_EQ(bits(isa::DType::kI64, "MIN"), uint64_t{1} << 63);
  EXPECT_EQ(bits(isa::DType::kU16, "MAX"), 0xffffu);
  EXPECT_EQ(bits(isa::DType::kF32, "-0.0"), 0x80000000u);
  EXPECT_EQ(bits(isa::DType::kF32, "TINY"), 0x00800000u);
  EXPECT_EQ(bits(isa::DType::kF16, "TINY"), 0x0400u);
  EXPECT_EQ(bits(isa::DType::kF64, "TINY"), 0x0010000000000000u);
  EXPECT_EQ(bits(isa::DType::kF16, "65504"), 0x7bffu);
  EXPECT_EQ(bits(isa::DType::kF16, "MAX"), 0x7bffu);
  EXPECT_EQ(bits(isa::DType::kF8E4M3, "MAX"), 0x7eu);
  EXPECT_EQ(bits(isa::DType::kF8E5M2, "inf"), 0x7cu);
  EXPECT_EQ(bits(isa::DType::kF32, "bits:0x7fc00001"), 0x7fc00001u);
  EXPECT_FALSE(ParseLiteral(isa::DType::kI8, "128").ok());
  EXPECT_FALSE(ParseLiteral(isa::DType::kU8, "-1").ok());
  EXPECT_FALSE(ParseLiteral(isa::DType::kF32, "one").ok());
  absl::StatusOr<Elements> elements = ParseElements(isa::DType::kI16, 4, "3*2 _ 4");
  ASSERT_TRUE(elements.ok());
  EXPECT_EQ(elements->bytes, (std::vector<uint8_t>{3, 0, 3, 0, 0, 0, 4, 0}));
  EXPECT_EQ(elements->untouched, (std::vector<uint8_t>{0, 0, 1, 0}));
}

TEST(FloatFormat, EveryNarrowPatternSurvives) {
  for (isa::DType dtype : {isa::DType::kF16, isa::DType::kBF16, isa::DType::kF8E4M3, isa::DType::kF8E5M2}) {
    for (uint64_t pattern = 0; pattern < uint64_t{1} << isa::BitWidth(dtype); ++pattern) {
      double value = DecodeFloat(dtype, pattern);
      if (std::isnan(value)) {
        EXPECT_TRUE(IsNanBits(dtype, pattern));
      } else if (!(isa::IsFp8(dtype) && std::isinf(value))) {
        EXPECT_EQ(EncodeFloat(dtype, value), pattern) << isa::Name(dtype);
      }
    }
  }
}

TEST(FloatFormat, RoundsToNearestEvenOnce) {
  EXPECT_EQ(EncodeFloat(isa::DType::kF8E5M2, 1.125), EncodeFloat(isa::DType::kF8E5M2, 1.0));     // a tie
  EXPECT_EQ(EncodeFloat(isa::DType::kF8E4M3, 1.0625001), EncodeFloat(isa::DType::kF8E4M3, 1.125));  // just above one
  EXPECT_EQ(EncodeFloat(isa::DType::kF16, 65519.99), 0x7bffu);
  EXPECT_EQ(EncodeFloat(isa::DType::kF16, 65520), 0x7c00u);
  EXPECT_EQ(EncodeFloat(isa::DType::kF8E4M3, 1e9), 0x7eu);
  float f = 1.0f / 3.0f;
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  EXPECT_EQ(EncodeFloat(isa::DType::kF32, 1.0 / 3.0), bits);
}

}  // namespace
}  // namespace tilevm::tests
