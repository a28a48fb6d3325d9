#include "vm/npy.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vm/file.h"

namespace tilevm::vm {
namespace {

using isa::DType;

std::string File(absl::string_view name) { return absl::StrCat("vm/testdata/npy/", name); }

template <typename T>
std::vector<T> Elements(const NpyArray& array) {
  std::vector<T> out(array.data.size() / sizeof(T));
  std::copy(array.data.begin(), array.data.end(), reinterpret_cast<char*>(out.data()));
  return out;
}

TEST(Npy, ReadsWhatNumpyWrote) {
  auto f32 = ReadNpy(File("f32_2x3.npy"));
  ASSERT_TRUE(f32.ok()) << f32.status();
  EXPECT_EQ(f32->dtype, DType::kF32);
  EXPECT_EQ(f32->shape, (isa::Shape{2, 3}));
  EXPECT_EQ(Elements<float>(*f32), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  auto scalar = ReadNpy(File("scalar_f8.npy"));
  ASSERT_TRUE(scalar.ok());
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(Elements<double>(*scalar), std::vector<double>{2.5});
  auto boolean = ReadNpy(File("bool.npy"));
  ASSERT_TRUE(boolean.ok());
  EXPECT_EQ(boolean->dtype, DType::kI1);
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  auto array = ReadNpy(File("i64_fortran.npy"));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(Elements<int64_t>(*array), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, BigEndianBecomesLittle) {
  auto array = ReadNpy(File("big_endian_u2.npy"));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(Elements<uint16_t>(*array), (std::vector<uint16_t>{0, 1, 2}));
}

TEST(Npy, FormatVersions2And3) {
  auto two = ReadNpy(File("version2_f2.npy"));
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(two->dtype, DType::kF16);
  auto three = ReadNpy(File("version3_i1.npy"));
  ASSERT_TRUE(three.ok());
  EXPECT_EQ(Elements<int8_t>(*three), (std::vector<int8_t>{1, -1}));
}

TEST(Npy, RawDataIsBf16UnlessTold) {
  auto bf16 = ReadNpy(File("void2.npy"));
  ASSERT_TRUE(bf16.ok());
  EXPECT_EQ(bf16->dtype, DType::kBF16);
  auto u16 = ReadNpy(File("big_endian_u2.npy"), DType::kBF16);
  ASSERT_TRUE(u16.ok());
  EXPECT_EQ(u16->dtype, DType::kBF16);
  auto f32 = ReadNpy(File("f32_2x3.npy"), DType::kI32);  // not raw
  EXPECT_THAT(std::string(f32.status().message()), testing::HasSubstr("its data is f32, which is not read as i32"));
  EXPECT_FALSE(ReadNpy(File("f32_2x3.npy"), DType::kBF16).ok());
  EXPECT_TRUE(ReadNpy(File("f32_2x3.npy"), DType::kF32).ok());
}

TEST(Npy, RoundTripOfEveryDType) {
  for (DType dtype : isa::kAllDTypes) {
    const isa::Shape shape = {3, 2};
    std::string data(6 * isa::StorageBytes(dtype), '\1');
    const std::string bytes = NpyHeaderText(dtype, shape) + data;
    EXPECT_EQ(NpyHeaderText(dtype, shape).size() % 64, 0u);
    auto array = ParseNpy(bytes);
    ASSERT_TRUE(array.ok()) << isa::Name(dtype) << array.status();
    EXPECT_EQ(array->dtype, dtype);
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->data, data);
  }
}

TEST(Npy, EveryTruncationIsAnError) {
  const std::string bytes = NpyHeaderText(DType::kF32, {2}) + std::string(8, 'x');
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(ParseNpy(bytes.substr(0, n)).ok()) << n;
  EXPECT_EQ(ParseNpy(bytes + "x").status().code(), absl::StatusCode::kDataLoss);
  auto truncated = ReadNpy(File("truncated.npy"));
  EXPECT_EQ(truncated.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(absl::StrContains(truncated.status().message(), "truncated: 24 bytes of data are wanted, 19 are there")) << truncated.status();
}

TEST(Npy, HugeShapeIsRefusedBeforeMemoryIsTaken) {
  std::string bytes = NpyHeaderText(DType::kF64, {1 << 30, 1 << 30});
  EXPECT_EQ(ParseNpy(bytes).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Npy, WritingLeavesNothingHalfDone) {
  const std::string directory = std::getenv("TEST_TMPDIR") == nullptr ? "/tmp" : std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(directory, "/array.npy");
  ASSERT_TRUE(WriteNpy(path, DType::kI8, {4}, "abcd").ok());
  auto array = ReadNpy(path);
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->data, "abcd");
  EXPECT_FALSE(WriteNpy(absl::StrCat(directory, "/no/such/folder/a.npy"), DType::kI8, {4}, "abcd").ok());
  std::remove(path.c_str());
}

TEST(File, MissingFileNamesItself) {
  const auto missing = ReadFile("no/such/file");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(missing.status().message(), "no/such/file"));
}

}  // namespace
}  // namespace tilevm::vm
