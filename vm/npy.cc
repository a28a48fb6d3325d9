#include "vm/npy.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "isa/status.h"
#include "vm/file.h"

namespace tilevm::vm {
namespace {

using isa::DType;

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kMaxHeaderBytes = 64 << 10;
constexpr int kMaxDims = 64;
constexpr absl::string_view kComment = "# tilevm: ";

struct Spelling {
  DType dtype;
  absl::string_view descr;
};
constexpr Spelling kSpellings[] = {
    {DType::kI1, "|b1"},  {DType::kI8, "|i1"},  {DType::kI16, "<i2"}, {DType::kI32, "<i4"}, {DType::kI64, "<i8"},  {DType::kU8, "|u1"},
    {DType::kU16, "<u2"}, {DType::kU32, "<u4"}, {DType::kU64, "<u8"}, {DType::kF16, "<f2"}, {DType::kF32, "<f4"},  {DType::kF64, "<f8"},
    {DType::kBF16, "<V2"}, {DType::kF8E4M3, "|V1"}, {DType::kF8E5M2, "|V1"},
};

absl::Status Damaged(absl::string_view what) { return absl::DataLossError(absl::StrCat("not a usable .npy file: ", what)); }

// A cursor over the header's Python dict.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  absl::Status Parse(NpyHeader& header, std::string& descr) {
    bool seen[3] = {false, false, false};
    TILEVM_RETURN_IF_ERROR(Expect('{'));
    while (!Peek('}')) {
      std::string key;
      TILEVM_RETURN_IF_ERROR(String(key));
      TILEVM_RETURN_IF_ERROR(Expect(':'));
      int which;
      if (key == "descr") {
        which = 0;
        if (Peek('[')) return absl::UnimplementedError("a .npy file of a structured type is not supported");
        TILEVM_RETURN_IF_ERROR(String(descr));
      } else if (key == "fortran_order") {
        which = 1;
        TILEVM_RETURN_IF_ERROR(Bool(header.fortran_order));
      } else if (key == "shape") {
        which = 2;
        TILEVM_RETURN_IF_ERROR(ShapeTuple(header.shape));
      } else {
        return Damaged(absl::StrCat("unknown key '", absl::CHexEscape(key), "' in the header"));
      }
      if (seen[which]) return Damaged("a key of the header stands twice");
      seen[which] = true;
      if (!Peek(',')) break;
      ++pos_;
    }
    TILEVM_RETURN_IF_ERROR(Expect('}'));
    if (!seen[0] || !seen[1] || !seen[2]) return Damaged("the header lacks descr, fortran_order or shape");
    return absl::OkStatus();
  }

  absl::string_view rest() const { return text_.substr(pos_); }

 private:
  void Skip() {
    while (pos_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }
  bool Peek(char c) {
    Skip();
    return pos_ < text_.size() && text_[pos_] == c;
  }
  absl::Status Expect(char c) {
    if (!Peek(c)) return Damaged(absl::StrCat("'", std::string(1, c), "' is missing at byte ", pos_, " of the header"));
    ++pos_;
    return absl::OkStatus();
  }
  absl::Status String(std::string& out) {
    Skip();
    if (pos_ >= text_.size() || (text_[pos_] != '\'' && text_[pos_] != '"'))
      return Damaged(absl::StrCat("a string is missing at byte ", pos_, " of the header"));
    const char quote = text_[pos_++];
    const size_t end = text_.find(quote, pos_);
    if (end == absl::string_view::npos) return Damaged("a string of the header does not end");
    out = std::string(text_.substr(pos_, end - pos_));
    pos_ = end + 1;
    return absl::OkStatus();
  }
  absl::Status Bool(bool& out) {
    Skip();
    absl::string_view rest = text_.substr(std::min(pos_, text_.size()));
    out = absl::StartsWith(rest, "True");
    if (!out && !absl::StartsWith(rest, "False")) return Damaged("fortran_order is neither True nor False");
    pos_ += out ? 4 : 5;
    return absl::OkStatus();
  }
  absl::Status ShapeTuple(isa::Shape& shape) {
    TILEVM_RETURN_IF_ERROR(Expect('('));
    while (!Peek(')')) {
      const size_t begin = pos_;
      while (pos_ < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[pos_]))) ++pos_;
      int64_t extent = 0;
      if (pos_ == begin || !absl::SimpleAtoi(text_.substr(begin, pos_ - begin), &extent)) return Damaged("an extent of the shape is no number");
      if (pos_ < text_.size() && text_[pos_] == 'L') ++pos_;  // files of Python 2
      if (shape.size() == kMaxDims) return Damaged("more than 64 dimensions");
      shape.push_back(extent);
      if (!Peek(',')) break;
      ++pos_;
    }
    return Expect(')');
  }

  absl::string_view text_;
  size_t pos_ = 0;
};

std::optional<DType> FromDescr(absl::string_view descr, bool& big_endian, bool& raw) {
  if (descr.size() < 3) return std::nullopt;
  big_endian = descr[0] == '>';
  raw = descr[1] == 'V';
  const absl::string_view type = descr.substr(1);
  if (descr[0] != '<' && descr[0] != '>' && descr[0] != '|' && descr[0] != '=') return std::nullopt;
  for (const Spelling& s : kSpellings) {
    if (s.descr.substr(1) == type) return s.dtype;
  }
  return std::nullopt;
}

// Column-major bytes to row-major.
void FromFortran(const char* in, const isa::Shape& shape, int64_t item, char* out) {
  const size_t rank = shape.size();
  isa::Shape step(rank);
  int64_t s = 1;
  for (size_t i = 0; i < rank; ++i) {
    step[i] = s;
    s *= shape[i];
  }
  const int64_t n = isa::ElemCount(shape);
  isa::Shape index(rank, 0);
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(out + i * item, in + at * item, item);
    for (size_t d = rank; d-- > 0;) {
      at += step[d];
      if (++index[d] < shape[d]) break;
      at -= step[d] * shape[d];
      index[d] = 0;
    }
  }
}

struct ParsedHeader {
  NpyHeader header;
  bool raw = false;      // void data
  bool named = false;    // the comment says the type
};

absl::StatusOr<ParsedHeader> Parse(absl::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) return Damaged("it does not begin with \\x93NUMPY");
  const int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3) return Damaged(absl::StrCat("format version ", major, " is unknown"));
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  size_t start = 10, length = byte(8) | byte(9) << 8;
  if (major > 1) {
    if (bytes.size() < 12) return Damaged("the header is cut off");
    length |= byte(10) << 16 | byte(11) << 24;
    start = 12;
  }
  if (length > kMaxHeaderBytes) return Damaged(absl::StrCat("the header is ", length, " bytes long"));
  if (length > bytes.size() - start) return Damaged("the header is cut off");
  ParsedHeader parsed;
  NpyHeader& header = parsed.header;
  header.data_offset = start + length;
  HeaderParser parser(bytes.substr(start, length));
  std::string descr;
  TILEVM_RETURN_IF_ERROR(parser.Parse(header, descr));
  std::optional<DType> dtype = FromDescr(descr, header.big_endian, parsed.raw);
  if (!dtype.has_value()) return absl::UnimplementedError(absl::StrCat("a .npy file of type '", absl::CHexEscape(descr), "' is not supported"));
  absl::string_view rest = absl::StripAsciiWhitespace(parser.rest());
  if (absl::ConsumePrefix(&rest, kComment)) {
    const std::optional<DType> named = isa::DTypeFromName(rest);
    if (!named.has_value() || isa::StorageBytes(*named) != isa::StorageBytes(*dtype)) return Damaged("the comment of the header names no type of that width");
    dtype = named;
    parsed.named = true;
  }
  header.dtype = *dtype;
  int64_t count = 1;
  for (int64_t extent : header.shape) {
    if (extent != 0 && count > (int64_t{1} << 48) / extent) return Damaged("the shape is too large");
    count *= extent;
  }
  header.data_bytes = count * isa::StorageBytes(*dtype);
  return parsed;
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes) {
  TILEVM_ASSIGN_OR_RETURN(ParsedHeader parsed, Parse(bytes));
  return parsed.header;
}

absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes, std::optional<DType> as) {
  TILEVM_ASSIGN_OR_RETURN(ParsedHeader parsed, Parse(bytes));
  const NpyHeader& header = parsed.header;
  const size_t present = bytes.size() - header.data_offset;
  if (present < static_cast<size_t>(header.data_bytes)) {
    return Damaged(absl::StrCat("truncated: ", header.data_bytes, " bytes of data are wanted, ", present, " are there"));
  }
  if (present > static_cast<size_t>(header.data_bytes)) return Damaged(absl::StrCat(present - header.data_bytes, " bytes follow the data"));
  NpyArray array;
  array.dtype = header.dtype;
  array.shape = header.shape;
  if (as.has_value() && *as != array.dtype) {
    const bool bits = array.dtype == DType::kU8 || array.dtype == DType::kU16;
    const bool wants_bits = *as == DType::kBF16 || isa::IsFp8(*as);
    const bool same_width = isa::StorageBytes(*as) == isa::StorageBytes(array.dtype);
    if (!same_width || !((parsed.raw && !parsed.named) || (bits && wants_bits))) {
      return absl::InvalidArgumentError(absl::StrCat("its data is ", isa::Name(array.dtype), ", which is not read as ", isa::Name(*as),
                                                     "; raw, uint16 and uint8 data of that width is"));
    }
    array.dtype = *as;
  }
  const int64_t item = isa::StorageBytes(array.dtype);
  const char* data = bytes.data() + header.data_offset;
  array.data.resize(header.data_bytes);
  if (header.fortran_order && header.shape.size() > 1 && header.data_bytes > 0) {
    FromFortran(data, header.shape, item, array.data.data());
  } else {
    std::copy(data, data + header.data_bytes, array.data.data());
  }
  if (header.big_endian && item > 1) {
    for (int64_t i = 0; i < header.data_bytes; i += item) std::reverse(array.data.begin() + i, array.data.begin() + i + item);
  }
  if (array.dtype == DType::kI1) {
    for (char& c : array.data) c = c != 0;
  }
  return array;
}

std::string NpyHeaderText(DType dtype, const isa::Shape& shape) {
  absl::string_view descr;
  for (const Spelling& s : kSpellings) {
    if (s.dtype == dtype) descr = s.descr;
  }
  std::string dict = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < shape.size(); ++i) absl::StrAppend(&dict, i > 0 ? ", " : "", shape[i]);
  absl::StrAppend(&dict, shape.size() == 1 ? ",), }" : "), }");
  if (dtype == DType::kBF16 || isa::IsFp8(dtype)) absl::StrAppend(&dict, " ", kComment, isa::Name(dtype));
  // Data begins at a multiple of 64 bytes; the header ends in a newline.
  const size_t unpadded = 10 + dict.size() + 1;
  dict.append((64 - unpadded % 64) % 64, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(dict.size() & 0xff);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

absl::StatusOr<NpyArray> ReadNpy(const std::string& path, std::optional<DType> as) {
  TILEVM_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  absl::StatusOr<NpyArray> array = ParseNpy(bytes, as);
  if (!array.ok()) return absl::Status(array.status().code(), absl::StrCat(path, ": ", array.status().message()));
  return array;
}

absl::Status WriteNpy(const std::string& path, DType dtype, const isa::Shape& shape, absl::string_view data) {
  const std::string header = NpyHeaderText(dtype, shape);
  const absl::string_view parts[] = {header, data};
  return WriteFile(path, parts);
}

}  // namespace tilevm::vm
