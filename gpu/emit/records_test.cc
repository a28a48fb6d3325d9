#include "gpu/emit/records.h"

#include <cstring>

#include "gtest/gtest.h"

namespace tilevm::gpu {
namespace {

// A buffer as the templates write it.
class Buffer {
 public:
  explicit Buffer(int64_t bytes) : bytes_(RecordHead(bytes)) { bytes_.resize(static_cast<size_t>(bytes)); }
  void Add(uint32_t format, uint32_t program, uint32_t lane, const std::vector<uint8_t>& payload) {
    const uint32_t size = static_cast<uint32_t>(24 + (payload.size() + 7) / 8 * 8);
    const uint32_t head[6] = {format, size, program, 0, 0, lane};
    uint64_t next = 0;
    std::memcpy(&next, bytes_.data(), 8);
    if (kRecordHeadBytes + next + size <= bytes_.size()) {
      std::memcpy(bytes_.data() + kRecordHeadBytes + next, head, sizeof(head));
      std::memcpy(bytes_.data() + kRecordHeadBytes + next + sizeof(head), payload.data(), payload.size());
    } else {
      ++bytes_[16];  // dropped
    }
    next += size;
    std::memcpy(bytes_.data(), &next, 8);
  }
  std::vector<uint8_t> bytes_;
};

RecordFormat PrintOf(isa::Type type, bool hex = false) {
  RecordFormat format;
  format.text = "x: ";
  format.hex = hex;
  format.operands = {type};
  return format;
}

TEST(Records, ProgramsAreInOrderOfTheGrid) {
  const std::vector<RecordFormat> formats = {PrintOf(isa::ScalarType(isa::DType::kI32)), PrintOf(isa::TileType(isa::DType::kI8, {2}), true)};
  Buffer buffer(1024);
  buffer.Add(0, 2, 0, {7, 0, 0, 0});
  buffer.Add(1, 1, 0, {0xff, 5});
  buffer.Add(0, 1, 0, {0xfe, 0xff, 0xff, 0xff});
  const auto output = ReadRecords(buffer.bytes_, formats);
  ASSERT_TRUE(output.ok()) << output.status();
  std::vector<std::string> lines;
  for (const RecordedPrint& print : output->prints) lines.push_back(print.line);
  EXPECT_EQ(lines, (std::vector<std::string>{"pid (1, 0, 0) idx (0) x: 0xff\n", "pid (1, 0, 0) idx (1) x: 0x05\n", "pid (1, 0, 0) x: -2\n", "pid (2, 0, 0) x: 7\n"}));
  EXPECT_EQ(RecordedBytes(buffer.bytes_), kRecordHeadBytes + 3 * 32);
}

TEST(Records, AnAssertNamesItsLane) {
  RecordFormat format;
  format.kind = RecordFormat::Kind::kAssert;
  format.text = "positive";
  format.operands = {isa::TileType(isa::DType::kI1, {4, 8})};
  Buffer buffer(256);
  buffer.Add(0, 3, 13, {});
  const auto output = ReadRecords(buffer.bytes_, {format});
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_EQ(output->asserts.size(), 1u);
  EXPECT_EQ(output->asserts[0].message, "device_assert failed in program (3, 0, 0), lane (1, 5): positive");
}

TEST(Records, WhatFindsNoRoomIsCounted) {
  const std::vector<RecordFormat> formats = {PrintOf(isa::ScalarType(isa::DType::kI32))};
  Buffer buffer(kRecordHeadBytes + 70);
  for (uint32_t i = 0; i < 4; ++i) buffer.Add(0, i, 0, {1, 0, 0, 0});
  const auto output = ReadRecords(buffer.bytes_, formats);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->prints.size(), 2u);
  EXPECT_EQ(output->dropped, 2);
}

TEST(Records, ABrokenBufferIsAnError) {
  const std::vector<RecordFormat> formats = {PrintOf(isa::ScalarType(isa::DType::kI64))};
  Buffer buffer(256);
  buffer.Add(5, 0, 0, {1});
  EXPECT_EQ(ReadRecords(buffer.bytes_, formats).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadRecords(absl::MakeConstSpan(buffer.bytes_).subspan(0, 10), formats).status().code(), absl::StatusCode::kDataLoss);
  Buffer cut(256);
  cut.Add(0, 0, 0, {});  // an operand of 8 bytes, and no payload
  EXPECT_EQ(ReadRecords(cut.bytes_, formats).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tilevm::gpu
