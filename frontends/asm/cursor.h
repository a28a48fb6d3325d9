// A place in the tokens of one line, with the small steps that a recursive-descent parser takes.
#ifndef TILEVM_FRONTENDS_ASM_CURSOR_H_
#define TILEVM_FRONTENDS_ASM_CURSOR_H_

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "frontends/asm/lexer.h"
#include "isa/literal.h"

namespace tilevm::assembly {

class Cursor {
 public:
  explicit Cursor(const Line& line) : line_(line) {}

  const Token& Peek(size_t ahead = 0) const {
    return line_.tokens[std::min(pos_ + ahead, line_.tokens.size() - 1)];
  }
  const Token& Next() {
    const Token& token = Peek();
    if (pos_ + 1 < line_.tokens.size()) ++pos_;
    return token;
  }
  bool AtEnd() const { return Peek().kind == TokenKind::kEnd; }

  bool Take(absl::string_view punctuation) {
    if (!Peek().Is(punctuation)) return false;
    Next();
    return true;
  }
  bool TakeWord(absl::string_view word) {
    if (!Peek().IsWord(word)) return false;
    Next();
    return true;
  }
  absl::Status Expect(absl::string_view punctuation) {
    if (Take(punctuation)) return absl::OkStatus();
    return InvalidAt(Peek().loc, "'", punctuation, "' expected", Found());
  }
  absl::Status ExpectEnd() const {
    if (AtEnd()) return absl::OkStatus();
    return InvalidAt(Peek().loc, "end of line expected", Found());
  }
  // A bare or quoted name.
  absl::Status Name(absl::string_view what, std::string& name) {
    if (Peek().kind != TokenKind::kWord && Peek().kind != TokenKind::kString) return InvalidAt(Peek().loc, what, " expected", Found());
    name = Next().text;
    return absl::OkStatus();
  }
  absl::Status Register(std::string& name) {
    if (Peek().kind != TokenKind::kRegister) return InvalidAt(Peek().loc, "a register (%name) expected", Found());
    name = Next().text;
    return absl::OkStatus();
  }

  // "do %x": the word alone may be a name.
  bool StartsRegionArguments() const { return Peek().IsWord("do") && Peek(1).kind == TokenKind::kRegister; }

  std::string Found() const {
    switch (Peek().kind) {
      case TokenKind::kEnd: return ", but the line ends";
      case TokenKind::kRegister: return absl::StrCat(", not %", Peek().text);
      case TokenKind::kBuiltin: return absl::StrCat(", not @", Peek().text);
      case TokenKind::kFunction: return absl::StrCat(", not $", Peek().text);
      case TokenKind::kString: return absl::StrCat(", not ", isa::QuoteString(Peek().text));
      default: return absl::StrCat(", not ", Peek().text);
    }
  }

 private:
  const Line& line_;
  size_t pos_ = 0;
};

}  // namespace tilevm::assembly

#endif  // TILEVM_FRONTENDS_ASM_CURSOR_H_
