// Tokens of assembly text, grouped into logical lines. Indentation is kept as a number; brackets join physical lines; comments are dropped.
// The text is untrusted: every byte is either part of a token or an error with its place.
#ifndef TILEVM_FRONTENDS_ASM_LEXER_H_
#define TILEVM_FRONTENDS_ASM_LEXER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/status.h"

namespace tilevm::assembly {

enum class TokenKind : uint8_t {
  kWord,         // add, None, f32, inf
  kRegister,     // %x: text is "x"
  kNumber,       // 5, -1.5, 0x1f, -inf, nan:0x...
  kString,       // text is the value
  kBuiltin,      // @torch.empty_like: text is the path
  kFunction,     // $add, $3: text is the label
  kPunctuation,  // ( ) [ ] , : = := * ** / < > . ...
  kEnd,          // of the line
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  Loc loc;

  bool Is(absl::string_view punctuation) const { return kind == TokenKind::kPunctuation && text == punctuation; }
  bool IsWord(absl::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

struct Line {
  int indent = 0;
  std::vector<Token> tokens;  // the last one is kEnd
};

absl::StatusOr<std::vector<Line>> Lex(absl::string_view text);

}  // namespace tilevm::assembly

#endif  // TILEVM_FRONTENDS_ASM_LEXER_H_
