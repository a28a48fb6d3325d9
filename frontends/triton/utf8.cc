// UTF-8 for the lexer: strict decoding (no overlong forms, no surrogates) and which code points may stand in a name.
#include <cstdint>
#include <string>

#include "frontends/triton/lexer_impl.h"

namespace tilevm::triton {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Blocks that hold no identifier characters, or so few that no kernel file will miss them.
constexpr Range kNotInNames[] = {
    {0x80, 0xA9},       {0xAB, 0xB4},       {0xB6, 0xB6},       {0xB8, 0xB9},       {0xBB, 0xBF},
    {0xD7, 0xD7},       {0xF7, 0xF7},       {0x2000, 0x203E},   {0x2041, 0x2053},   {0x2055, 0x2070},
    {0x207A, 0x207E},   {0x208A, 0x208E},   {0x20A0, 0x20CF},   {0x2190, 0x2BFF},   {0x2E00, 0x2E7F},
    {0x3000, 0x3004},   {0x3008, 0x3020},   {0x3030, 0x3030},   {0xE000, 0xF8FF},   {0xFE10, 0xFE1F},
    {0xFE30, 0xFE32},   {0xFE45, 0xFE4C},   {0xFE50, 0xFE6F},   {0xFEFF, 0xFEFF},   {0xFF00, 0xFF0F},
    {0xFF1A, 0xFF20},   {0xFF3B, 0xFF3E},   {0xFF40, 0xFF40},   {0xFF5B, 0xFF65},   {0xFFE0, 0xFFFF},
    {0x1F000, 0x1FAFF}, {0xE0000, 0xE00FF}, {0xF0000, 0x10FFFF},
};

bool IsContinuation(unsigned char c) { return (c & 0xC0) == 0x80; }

}  // namespace

size_t DecodeUtf8(absl::string_view text, uint32_t* code_point) {
  if (text.empty()) return 0;
  const unsigned char lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    *code_point = lead;
    return 1;
  }
  size_t length;
  uint32_t value;
  uint32_t least;
  if ((lead & 0xE0) == 0xC0) {
    length = 2, value = lead & 0x1F, least = 0x80;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3, value = lead & 0x0F, least = 0x800;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4, value = lead & 0x07, least = 0x10000;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (!IsContinuation(c)) return 0;
    value = (value << 6) | (c & 0x3F);
  }
  if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return 0;
  *code_point = value;
  return length;
}

void AppendUtf8(uint32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (c >> 6)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (c >> 12)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (c >> 18)));
    out->push_back(static_cast<char>(0x80 | ((c >> 12) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

bool IsIdentifierCodePoint(uint32_t code_point) {
  for (const Range& range : kNotInNames) {
    if (code_point >= range.first && code_point <= range.last) return false;
  }
  return true;
}

}  // namespace tilevm::triton
