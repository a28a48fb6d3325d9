// The tokens of Python source, made by lexer.h and read by parser.h.
//
// A token refers to the source text, which must outlive it.  Positions are 1-based lines and 1-based byte columns;
// an end position is one past the last byte.
#ifndef TILEVM_FRONTENDS_TRITON_TOKEN_H_
#define TILEVM_FRONTENDS_TRITON_TOKEN_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace tilevm::triton {

struct Span {
  int32_t line = 0;
  int32_t col = 0;
  int32_t end_line = 0;
  int32_t end_col = 0;
};

// From the start of `first` to the end of `last`.
inline Span Join(const Span& first, const Span& last) {
  return Span{first.line, first.col, last.end_line, last.end_col};
}

enum class TokenKind : uint8_t {
  kEndOfFile,
  kError,  // the lexer stopped here; its message is in TokenStream::error
  kNewline,
  kIndent,
  kDedent,
  kName,
  kInt,
  kFloat,
  kImaginary,
  kString,         // a whole literal with prefix and quotes
  kFStringStart,   // prefix and opening quotes
  kFStringMiddle,  // literal text as written (escapes and doubled braces still in it)
  kFStringEnd,     // closing quotes
#define PUNCTUATION(name, spelling) k##name,
#define KEYWORD(name, spelling) k##name,
#include "frontends/triton/token.def"
#undef PUNCTUATION
#undef KEYWORD
};

struct Token {
  TokenKind kind = TokenKind::kEndOfFile;
  // In text of an f-string: this text is inside a format specification, where doubled braces are not an escape.
  bool in_format_spec = false;
  // Of an opening bracket: index of the token that closes it, or -1 if the source ends first.
  int32_t match = -1;
  Span span;
  absl::string_view text;
};

// The fixed spelling of punctuation and keywords, a word such as "newline" for the others.
absl::string_view TokenSpelling(TokenKind kind);

bool IsKeyword(TokenKind kind);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_TOKEN_H_
