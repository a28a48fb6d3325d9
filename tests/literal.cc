// Literal values of a case file as bytes.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "isa/status.h"
#include "tests/case_file.h"
#include "tests/float_format.h"

namespace tilevm::tests {
namespace {

uint64_t Mask(isa::DType dtype) {
  int bits = isa::BitWidth(dtype);
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// MIN MAX TINY DENORM: the ends of a type's range, its smallest normal and smallest positive number.
std::optional<uint64_t> NamedNumber(isa::DType dtype, absl::string_view name) {
  uint64_t all = Mask(dtype);
  if (isa::IsInteger(dtype)) {
    uint64_t top = isa::IsSigned(dtype) ? all >> 1 : all;
    if (name == "MAX") return top;
    if (name == "MIN") return isa::IsSigned(dtype) ? top + 1 : 0;
    return std::nullopt;
  }
  uint64_t sign = (all >> 1) + 1;
  if (name == "DENORM") return 1;
  uint64_t infinity = EncodeFloat(dtype, HUGE_VAL);
  uint64_t largest = isa::IsFp8(dtype) ? infinity : infinity - 1;  // fp8 saturates
  if (name == "MAX") return largest;
  if (name == "MIN") return sign | largest;
  if (name != "TINY") return std::nullopt;
  // Patterns of powers of two double up to the second binade of normal numbers.
  for (int exponent = -1100; exponent < 0; ++exponent) {
    uint64_t bits = EncodeFloat(dtype, std::ldexp(1.0, exponent));
    if (bits != 0 && EncodeFloat(dtype, std::ldexp(1.0, exponent + 1)) != bits * 2) return bits / 2;
  }
  return std::nullopt;
}

std::optional<uint64_t> Integer(isa::DType dtype, absl::string_view token) {
  if (token == "True") return 1;
  if (token == "False") return 0;
  bool negative = absl::ConsumePrefix(&token, "-");
  uint64_t magnitude;
  bool ok = absl::StartsWith(token, "0x") ? absl::SimpleHexAtoi(token, &magnitude) : absl::SimpleAtoi(token, &magnitude);
  if (!ok) return std::nullopt;
  uint64_t mask = Mask(dtype);
  uint64_t limit = negative ? (isa::IsSigned(dtype) ? mask / 2 + 1 : 0) : isa::IsSigned(dtype) && token[0] != '0' ? mask / 2 : mask;
  if (magnitude > limit) return std::nullopt;
  return (negative ? ~magnitude + 1 : magnitude) & mask;
}

std::optional<uint64_t> Floating(isa::DType dtype, absl::string_view token) {
  if (token == "inf") return isa::IsFp8(dtype) && dtype == isa::DType::kF8E5M2 ? 0x7c : EncodeFloat(dtype, HUGE_VAL);
  if (token == "-inf") return isa::IsFp8(dtype) && dtype == isa::DType::kF8E5M2 ? 0xfc : EncodeFloat(dtype, -HUGE_VAL);
  std::string text(token);
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  if (dtype != isa::DType::kF32) return EncodeFloat(dtype, value);
  float narrow = std::strtof(text.c_str(), &end);  // one rounding from the decimal text
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

void Append(std::vector<uint8_t>& bytes, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

}  // namespace

absl::StatusOr<uint64_t> ParseLiteral(isa::DType dtype, absl::string_view token) {
  std::optional<uint64_t> bits = NamedNumber(dtype, token);
  absl::string_view rest = token;
  uint64_t pattern;
  if (!bits.has_value() && absl::ConsumePrefix(&rest, "bits:0x") && absl::SimpleHexAtoi(rest, &pattern)) bits = pattern;
  if (!bits.has_value()) bits = isa::IsFloat(dtype) ? Floating(dtype, token) : Integer(dtype, token);
  if (!bits.has_value()) return absl::InvalidArgumentError(absl::StrCat("not a value of ", isa::Name(dtype), ": ", token));
  return *bits;
}

absl::StatusOr<Elements> ParseElements(isa::DType dtype, int64_t count, absl::string_view text) {
  Elements elements;
  int64_t found = 0;
  for (absl::string_view token : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
    int64_t repeat = 1;
    if (size_t star = token.rfind('*'); star != absl::string_view::npos) {
      if (!absl::SimpleAtoi(token.substr(star + 1), &repeat)) return absl::InvalidArgumentError(absl::StrCat("not a count: ", token));
      token = token.substr(0, star);
    }
    bool untouched = token == "_";
    uint64_t bits = 0;
    if (!untouched) {
      TILEVM_ASSIGN_OR_RETURN(bits, ParseLiteral(dtype, token));
    }
    if ((found += repeat) > count) return absl::InvalidArgumentError(absl::StrCat("more than ", count, " values"));
    for (int64_t i = 0; i < repeat; ++i) {
      Append(elements.bytes, bits, isa::StorageBytes(dtype));
      elements.untouched.push_back(untouched);
    }
  }
  if (found != count) return absl::InvalidArgumentError(absl::StrCat(found, " values for ", count, " elements"));
  return elements;
}

}  // namespace tilevm::tests
