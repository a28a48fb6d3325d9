// Spelling of constants; see literal.h.
#include "isa/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tilevm::isa {
namespace {

constexpr uint64_t kPlainNanBits = 0x7ff8000000000000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

double FloatOfBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

bool IsWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool IsWordChar(char c) { return IsWordStart(c) || IsDigit(c); }

bool IsWord(absl::string_view text) {
  if (text.empty() || !IsWordStart(text[0])) return false;
  return std::all_of(text.begin(), text.end(), IsWordChar);
}

bool IsDottedWords(absl::string_view text) {
  for (absl::string_view part : absl::StrSplit(text, '.')) {
    if (!IsWord(part)) return false;
  }
  return true;
}

std::string QuoteString(absl::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          absl::StrAppend(&out, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string WordOrQuoted(absl::string_view text) { return IsWord(text) ? std::string(text) : QuoteString(text); }

std::string FormatInt(absl::int128 value) {
  if (value == 0) return "0";
  bool negative = value < 0;
  absl::uint128 magnitude = static_cast<absl::uint128>(value);
  if (negative) magnitude = ~magnitude + 1;
  std::string digits;
  while (magnitude != 0) {
    digits += static_cast<char>('0' + static_cast<int>(absl::Uint128Low64(magnitude % 10)));
    magnitude /= 10;
  }
  if (negative) digits += '-';
  return std::string(digits.rbegin(), digits.rend());
}

std::optional<absl::int128> ParseInt(absl::string_view text) {
  bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  uint32_t base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  if (text.empty()) return std::nullopt;
  const absl::uint128 limit = (absl::uint128(1) << 127) - (negative ? 0 : 1);
  absl::uint128 magnitude = 0;
  for (char c : text) {
    int digit = HexValue(c);
    if (digit < 0 || digit >= static_cast<int>(base)) return std::nullopt;
    if (magnitude > (limit - static_cast<uint32_t>(digit)) / base) return std::nullopt;
    magnitude = magnitude * base + static_cast<uint32_t>(digit);
  }
  if (negative) magnitude = ~magnitude + 1;
  return static_cast<absl::int128>(magnitude);
}

std::string FormatFloat(double value) {
  if (std::isnan(value)) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    if (bits == kPlainNanBits) return "nan";
    return absl::StrCat("nan:0x", absl::Hex(bits, absl::kZeroPad16));
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> ParseFloat(absl::string_view text) {
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  if (text == "nan") return FloatOfBits(kPlainNanBits);
  if (text.substr(0, 6) == "nan:0x") {
    if (text.size() != 22) return std::nullopt;
    uint64_t bits = 0;
    for (char c : text.substr(6)) {
      if (HexValue(c) < 0) return std::nullopt;
      bits = bits << 4 | static_cast<uint64_t>(HexValue(c));
    }
    if (!std::isnan(FloatOfBits(bits))) return std::nullopt;
    return FloatOfBits(bits);
  }
  double value = 0;
  std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ptr != text.data() + text.size()) return std::nullopt;
  if (end.ec == std::errc::result_out_of_range) {  // too large is inf, too small is zero, as in Python
    bool negative = text[0] == '-';
    size_t exponent = text.find_first_of("eE");
    bool tiny = exponent != absl::string_view::npos && exponent + 1 < text.size() && text[exponent + 1] == '-';
    value = tiny ? 0.0 : HUGE_VAL;
    return negative ? -value : value;
  }
  if (end.ec != std::errc()) return std::nullopt;
  return value;
}

std::string FormatConstant(const Constant& constant) {
  switch (constant.kind) {
    case Constant::Kind::kNone: return "None";
    case Constant::Kind::kBool: return constant.int_value != 0 ? "True" : "False";
    case Constant::Kind::kInt: return FormatInt(constant.int_value);
    case Constant::Kind::kFloat: return FormatFloat(constant.float_value);
    case Constant::Kind::kString: return QuoteString(constant.string_value);
    case Constant::Kind::kDType: return std::string(Name(constant.dtype));
    case Constant::Kind::kEllipsis: return "...";
    case Constant::Kind::kBuiltin:
      return absl::StrCat("@", IsDottedWords(constant.string_value) ? constant.string_value : QuoteString(constant.string_value));
  }
  return "None";
}

}  // namespace tilevm::isa
