#include "specializer/partial_eval/python_text.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "isa/utf8.h"

namespace tilevm::specializer {

namespace {

// The other case of one character: itself where it has none, nullopt where no table here knows.
std::optional<uint32_t> OtherCase(uint32_t c, bool upper) {
  if (c < 0x80) {
    const auto ascii = static_cast<unsigned char>(c);
    return static_cast<unsigned char>(upper ? absl::ascii_toupper(ascii) : absl::ascii_tolower(ascii));
  }
  struct Range {
    uint32_t first, last, step;  // upper case letters, one lower case letter each, `step` further on
    uint32_t skip;
  };
  constexpr Range kRanges[] = {{0xc0, 0xde, 32, 0xd7}, {0x391, 0x3a9, 32, 0x3a2}, {0x410, 0x42f, 32, 0}, {0x400, 0x40f, 80, 0},
                               {0x388, 0x38a, 37, 0},  {0x386, 0x386, 38, 0},     {0x38c, 0x38c, 64, 0}, {0x38e, 0x38f, 63, 0}};
  if (!upper && c == 0x3a3) return std::nullopt;  // sigma has a second form at the end of a word
  if (upper && c == 0x3c2) return 0x3a3;
  for (const Range& range : kRanges) {
    const uint32_t capital = upper ? c - range.step : c;
    if (c < range.step * (upper ? 1 : 0) || capital < range.first || capital > range.last || capital == range.skip) continue;
    return upper ? capital : c + range.step;
  }
  // Latin Extended-A: pairs of neighbours, the capital first.
  const bool even = (c >= 0x100 && c <= 0x12f) || (c >= 0x132 && c <= 0x137) || (c >= 0x14a && c <= 0x177);
  const bool odd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e);
  if (even || odd) {
    const bool capital = (c % 2 == 0) == even;
    return capital == upper ? c : capital ? c + 1 : c - 1;
  }
  if (c == 0xff) return upper ? 0x178 : c;
  if (c == 0x178) return upper ? c : 0xff;
  if (c == 0xb5) return upper ? 0x39c : c;
  if (c < 0xc0 || c == 0xd7 || c == 0xf7) return c;
  const bool known = (c >= 0xc0 && c <= 0xfe) || (c >= 0x391 && c <= 0x3c9) || (c >= 0x400 && c <= 0x45f);
  if (known && c != 0xdf && c != 0x3b0) return c;
  const bool no_case = (c >= 0x590 && c < 0x10a0) || (c >= 0x1100 && c < 0x13a0) || (c >= 0x2000 && c < 0x2100) || (c >= 0x2190 && c < 0x24b0) ||
                       (c >= 0x2500 && c < 0x2c00) || (c >= 0x2e80 && c < 0xa640) || (c >= 0xac00 && c < 0xfb00) || c >= 0x1f000;
  return no_case ? std::optional<uint32_t>(c) : std::nullopt;
}

}  // namespace

absl::StatusOr<std::string> ChangeCase(absl::string_view text, bool upper, Loc loc) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const uint32_t code = isa::NextCodePoint(text, at);
    if (code == 0xdf) {  // sharp s
      out += upper ? "SS" : "\u00df";
      continue;
    }
    const std::optional<uint32_t> other = OtherCase(code, upper);
    if (!other.has_value()) return UnimplementedAt(loc, upper ? "upper" : "lower", " case of '", text.substr(from, at - from), "'");
    isa::AppendUtf8(*other, &out);
  }
  return out;
}

}  // namespace tilevm::specializer
