#include "gpu/emit/records.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "isa/eval.h"

namespace tilevm::gpu {
namespace {

constexpr size_t kRecordBytes = 24;  // before the payload

template <typename T>
T Read(absl::Span<const uint8_t> bytes, size_t at) {
  T out{};
  std::memcpy(&out, bytes.data() + at, sizeof(T));
  return out;
}

std::string ProgramText(const int64_t* program) { return absl::StrCat("(", program[0], ", ", program[1], ", ", program[2], ")"); }

std::string IndexText(const isa::Shape& shape, int64_t lane) {
  std::string text = ")";
  for (size_t d = shape.size(); d-- > 0; lane /= shape[d]) text = absl::StrCat(d == 0 ? "(" : ", ", lane % shape[d], text);
  return text;
}

std::string ValueText(isa::ElemType elem, uint64_t bits, bool hex) {
  if (elem.pointer || (hex && !isa::IsFloat(elem.dtype))) return absl::StrFormat("0x%0*x", 2 * isa::StorageBytes(elem), bits);
  if (isa::IsFloat(elem.dtype)) return absl::StrFormat("%g", isa::ScalarToDouble(elem.dtype, isa::Scalar{bits}));
  if (elem.dtype == isa::DType::kI1) return bits != 0 ? "True" : "False";
  if (elem.dtype == isa::DType::kU64) return absl::StrCat(bits);
  return absl::StrCat(isa::ScalarToInt(elem.dtype, isa::Scalar{bits}));
}

// "pid (0, 0, 0) idx (3) x: 10", one line for each lane of each operand.
absl::Status AppendPrint(const RecordFormat& format, const int64_t* program, absl::Span<const uint8_t> payload, std::vector<RecordedPrint>& out) {
  RecordedPrint print;
  std::copy_n(program, 3, print.program);
  if (format.operands.empty()) {
    print.line = absl::StrCat("pid ", ProgramText(program), " ", format.text, "\n");
    out.push_back(print);
  }
  size_t at = 0;
  for (size_t k = 0; k < format.operands.size(); ++k) {
    const isa::Type& type = format.operands[k];
    const size_t size = static_cast<size_t>(isa::StorageBytes(type.elem)), count = static_cast<size_t>(type.elem_count());
    if (at > payload.size() || count * size > payload.size() - at) return absl::DataLossError("a print record is shorter than its operands");
    for (size_t i = 0; i < count; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, payload.data() + at + i * size, size);
      print.line = absl::StrCat("pid ", ProgramText(program), " ");
      if (!type.is_scalar()) absl::StrAppend(&print.line, "idx ", IndexText(type.shape, static_cast<int64_t>(i)), " ");
      absl::StrAppend(&print.line, format.text);
      if (format.operands.size() > 1) absl::StrAppend(&print.line, "(operand ", k, ") ");
      absl::StrAppend(&print.line, ValueText(type.elem, bits, format.hex), "\n");
      out.push_back(print);
    }
    at += (count * size + 7) / 8 * 8;
  }
  return absl::OkStatus();
}

void AppendAssert(const RecordFormat& format, const int64_t* program, uint32_t lane, std::vector<RecordedAssert>& out) {
  RecordedAssert failed;
  std::copy_n(program, 3, failed.program);
  failed.lane = lane;
  failed.loc = format.loc;
  failed.message = absl::StrCat("device_assert failed in program ", ProgramText(program));
  const isa::Type& type = format.operands[0];
  if (!type.is_scalar()) absl::StrAppend(&failed.message, ", lane ", IndexText(type.shape, lane));
  if (!format.text.empty()) absl::StrAppend(&failed.message, ": ", format.text);
  out.push_back(std::move(failed));
}

template <typename T>
void SortByProgram(std::vector<T>& records) {
  std::stable_sort(records.begin(), records.end(), [](const T& a, const T& b) {
    return std::array<int64_t, 3>{a.program[2], a.program[1], a.program[0]} < std::array<int64_t, 3>{b.program[2], b.program[1], b.program[0]};
  });
}

}  // namespace

std::vector<uint8_t> RecordHead(int64_t bytes) {
  std::vector<uint8_t> head(kRecordHeadBytes, 0);
  const uint64_t capacity = bytes > kRecordHeadBytes ? static_cast<uint64_t>(bytes - kRecordHeadBytes) : 0;
  std::memcpy(head.data() + 8, &capacity, sizeof(capacity));
  return head;
}

int64_t RecordedBytes(absl::Span<const uint8_t> head) {
  if (head.size() < kRecordHeadBytes) return 0;
  return kRecordHeadBytes + static_cast<int64_t>(std::min(Read<uint64_t>(head, 0), Read<uint64_t>(head, 8)));
}

absl::StatusOr<RecordedOutput> ReadRecords(absl::Span<const uint8_t> buffer, absl::Span<const RecordFormat> formats) {
  if (buffer.size() < kRecordHeadBytes) return absl::DataLossError("a record buffer without a head");
  RecordedOutput out;
  out.dropped = Read<uint32_t>(buffer, 16);
  absl::Span<const uint8_t> records = buffer.subspan(kRecordHeadBytes);
  const uint64_t claimed = Read<uint64_t>(buffer, 0);
  // A record that did not fit has claimed its place too; what was claimed after it did not fit either, unless it was shorter: such a gap ends the walk.
  const size_t end = static_cast<size_t>(std::min<uint64_t>(claimed, records.size()));
  size_t at = 0;
  while (end - at >= kRecordBytes) {
    const uint32_t number = Read<uint32_t>(records, at), bytes = Read<uint32_t>(records, at + 4);
    if (out.dropped > 0 && (bytes < kRecordBytes || bytes > end - at || number >= formats.size())) break;
    if (bytes < kRecordBytes || bytes > end - at || number >= formats.size()) return absl::DataLossError(absl::StrCat("a broken record at byte ", at));
    const int64_t program[3] = {Read<uint32_t>(records, at + 8), Read<uint32_t>(records, at + 12), Read<uint32_t>(records, at + 16)};
    const RecordFormat& format = formats[number];
    if (format.kind == RecordFormat::Kind::kAssert) {
      AppendAssert(format, program, Read<uint32_t>(records, at + 20), out.asserts);
    } else if (absl::Status status = AppendPrint(format, program, records.subspan(at + kRecordBytes, bytes - kRecordBytes), out.prints); !status.ok()) {
      return status;
    }
    at += bytes;
  }
  SortByProgram(out.prints);
  SortByProgram(out.asserts);
  return out;
}

}  // namespace tilevm::gpu
