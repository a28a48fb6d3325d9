// Numeric literals.  The lexer checks their form; parse_atom.cc computes the value.
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontends/triton/lexer_impl.h"

namespace tilevm::triton {
namespace {

bool IsDigitOf(char c, int base) {
  if (base == 16) return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  return c >= '0' && c < '0' + base;
}

}  // namespace

// Digits with single underscores between them.  `what` names the literal in errors ("decimal").
bool Lexer::LexDigits(int base, const char* what) {
  const Place start = here_;
  for (;;) {
    if (!IsDigitOf(Peek(), base)) {
      if (base < 10 && IsDigit(Peek())) {
        return Fail(here_, absl::StrFormat("invalid digit '%c' in %s literal", Peek(), what));
      }
      return Fail(start, absl::StrCat("invalid ", what, " literal"));
    }
    while (IsDigitOf(Peek(), base)) ++here_.offset;
    if (Peek() != '_') return true;
    ++here_.offset;
  }
}

// A name right after a number is an error, except the keywords that CPython lets follow it (`1if x else 2`).
bool Lexer::CheckNumberEnd(const char* what) {
  if (!IsNameStart(static_cast<unsigned char>(Peek())) && !IsDigit(Peek())) return true;
  const absl::string_view rest = source_.substr(here_.offset, 4);
  for (absl::string_view keyword : {"and", "else", "for", "if", "in", "is", "or", "not"}) {
    if (absl::StartsWith(rest, keyword)) return true;
  }
  return Fail(here_, absl::StrCat("invalid ", what, " literal"));
}

bool Lexer::LexNumber() {
  const Place start = here_;
  if (Peek() == '0') {
    const char letter = absl::ascii_tolower(static_cast<unsigned char>(Peek(1)));
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (base != 0) {
      const char* what = base == 16 ? "hexadecimal" : base == 8 ? "octal" : "binary";
      here_.offset += 2;
      if (Peek() == '_') ++here_.offset;
      if (!LexDigits(base, what)) return false;
      if (base < 10 && IsDigit(Peek())) {
        return Fail(here_, absl::StrFormat("invalid digit '%c' in %s literal", Peek(), what));
      }
      if (!CheckNumberEnd(what)) return false;
      Push(TokenKind::kInt, start);
      return true;
    }
  }
  bool is_float = false;
  bool nonzero = false;
  if (Peek() != '.') {
    if (!LexDigits(10, "decimal")) return false;
    for (char c : source_.substr(start.offset, here_.offset - start.offset)) nonzero |= c >= '1' && c <= '9';
  }
  if (Peek() == '.') {
    is_float = true;
    ++here_.offset;
    if (IsDigit(Peek()) && !LexDigits(10, "decimal")) return false;
  }
  if (Peek() == 'e' || Peek() == 'E') {
    const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
    if (IsDigit(Peek(1 + sign))) {
      is_float = true;
      here_.offset += 1 + sign;
      if (!LexDigits(10, "decimal")) return false;
    }
  }
  if (Peek() == 'j' || Peek() == 'J') {
    ++here_.offset;
    if (!CheckNumberEnd("imaginary")) return false;
    Push(TokenKind::kImaginary, start);
    return true;
  }
  if (!is_float && nonzero && source_[start.offset] == '0') {
    return Fail(start,
                "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers");
  }
  if (!CheckNumberEnd("decimal")) return false;
  Push(is_float ? TokenKind::kFloat : TokenKind::kInt, start);
  return true;
}

}  // namespace tilevm::triton
