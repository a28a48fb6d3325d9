// Bytes out and in: little-endian numbers and canonical LEB128 varints. The reader never runs past its end: the first thing it cannot read
// leaves an error with the offset in the file, and everything after that reads as zero.
#ifndef TILEVM_ISA_TBC_BYTES_H_
#define TILEVM_ISA_TBC_BYTES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tilevm::isa {

class ByteWriter {
 public:
  void U8(uint8_t value) { bytes_ += static_cast<char>(value); }
  void Fixed(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) U8(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) U8(static_cast<uint8_t>(value | 0x80));
    U8(static_cast<uint8_t>(value));
  }
  void Text(absl::string_view text) {
    Varint(text.size());
    bytes_.append(text.data(), text.size());
  }
  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

inline absl::Status DamagedAt(uint64_t offset, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged .tbc at byte ", offset, ": ", what));
}

class ByteReader {
 public:
  ByteReader(absl::string_view bytes, uint64_t file_offset) : bytes_(bytes), file_offset_(file_offset) {}

  size_t left() const { return bytes_.size() - pos_; }
  uint64_t offset() const { return file_offset_ + pos_; }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

  // The first error stays.
  void Fail(absl::string_view what) { FailAt(offset(), what); }
  void FailAt(uint64_t offset, absl::string_view what) {
    if (!status_.ok()) return;
    status_ = DamagedAt(offset, what);
    pos_ = bytes_.size();
  }

  uint8_t U8() {
    if (left() < 1) {
      Fail("the section ends too early");
      return 0;
    }
    return static_cast<uint8_t>(bytes_[pos_++]);
  }
  uint64_t Fixed(int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; ++i) value |= static_cast<uint64_t>(U8()) << (8 * i);
    return value;
  }
  uint64_t Varint() {
    uint64_t start = offset();
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t byte = U8();
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (byte == 0 && shift > 0) break;  // a longer form than needed
        return value;
      }
    }
    FailAt(start, "a malformed varint");
    return 0;
  }
  // A number below limit, as a 32-bit id.
  uint32_t Id(uint64_t limit, absl::string_view what) {
    uint64_t start = offset();
    uint64_t value = Varint();
    if (value < limit) return static_cast<uint32_t>(value);
    FailAt(start, absl::StrCat(what, " ", value, " of ", limit));
    return 0;
  }
  // How many things follow, each of at least so many bytes.
  size_t Count(size_t bytes_each, absl::string_view what) {
    uint64_t start = offset();
    uint64_t count = Varint();
    if (count <= left() / bytes_each) return static_cast<size_t>(count);
    FailAt(start, absl::StrCat(count, " ", what, ", more than there is room for"));
    return 0;
  }
  absl::string_view Text() {
    size_t size = Count(1, "bytes of text");
    absl::string_view text = bytes_.substr(pos_, size);
    pos_ += size;
    return text;
  }
  absl::string_view Rest() {
    absl::string_view rest = bytes_.substr(pos_);
    pos_ = bytes_.size();
    return rest;
  }

 private:
  absl::string_view bytes_;
  uint64_t file_offset_;
  size_t pos_ = 0;
  absl::Status status_;
};

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TBC_BYTES_H_
