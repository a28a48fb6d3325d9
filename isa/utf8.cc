#include "isa/utf8.h"

#include <algorithm>

namespace tilevm::isa {
namespace {

uint32_t Byte(absl::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

// Bytes that follow the first of a sequence; -1 if no sequence begins so.
int More(uint32_t first) {
  if (first < 0x80) return 0;
  return first < 0xc0 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf8 ? 3 : -1;
}

constexpr uint32_t kFirstBits[] = {0x7f, 0x1f, 0x0f, 0x07};  // of the code point, by the bytes that follow
constexpr uint32_t kFirstMark[] = {0, 0xc0, 0xe0, 0xf0};
constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};

}  // namespace

size_t DecodeUtf8(absl::string_view text, uint32_t* code_point) {
  const int more = text.empty() ? -1 : More(Byte(text, 0));
  if (more < 0 || text.size() <= static_cast<size_t>(more)) return 0;
  const absl::string_view rest = text.substr(1, static_cast<size_t>(more));
  if (std::any_of(rest.begin(), rest.end(), StartsCharacter)) return 0;
  size_t at = 0;
  const uint32_t value = NextCodePoint(text, at);
  if (value < kLeast[more] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
  *code_point = value;
  return at;
}

uint32_t NextCodePoint(absl::string_view text, size_t& at) {
  const uint32_t first = Byte(text, at++);
  const int more = std::max(More(first), 0);
  uint32_t code = first & kFirstBits[more];
  for (int i = 0; i < more && at < text.size(); ++i) code = code << 6 | (Byte(text, at++) & 63);
  return code;
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  const int more = code_point < 0x80 ? 0 : code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  out->push_back(static_cast<char>(kFirstMark[more] | code_point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out->push_back(static_cast<char>(0x80 | ((code_point >> (6 * i)) & 63)));
}

int64_t CodePoints(absl::string_view text) { return std::count_if(text.begin(), text.end(), StartsCharacter); }

size_t ByteOfCodePoint(absl::string_view text, int64_t index) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (StartsCharacter(text[at]) && index-- == 0) break;
  }
  return at;
}

}  // namespace tilevm::isa
