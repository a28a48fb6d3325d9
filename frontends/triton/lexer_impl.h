// The state of one run of the lexer.  Private to lexer.cc, lex_number.cc and lex_string.cc.
#ifndef TILEVM_FRONTENDS_TRITON_LEXER_IMPL_H_
#define TILEVM_FRONTENDS_TRITON_LEXER_IMPL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontends/triton/lexer.h"
#include "frontends/triton/token.h"

namespace tilevm::triton {

class Lexer {
 public:
  explicit Lexer(absl::string_view source) : source_(source) {}
  TokenStream Run();

 private:
  // A position in the source with its line; the column follows from the start of the line.
  struct Place {
    size_t offset = 0;
    int32_t line = 1;
    size_t line_start = 0;
  };
  struct Bracket {
    char opener = 0;
    int32_t token = 0;  // its index
  };
  // A replacement field of an f-string: its brace is brackets_[level - 1].
  struct Field {
    size_t level = 0;
    bool in_spec = false;
  };
  struct FString {
    char quote = 0;
    bool triple = false;
    bool raw = false;
    int32_t token = 0;           // index of its start
    std::vector<Field> fields;   // the innermost last
    size_t outer_brackets = 0;   // how many brackets were open around it
  };

  // lexer.cc
  bool CheckBytes();
  bool CheckEncodingComment();
  bool LexLineStart();
  bool LexToken();
  bool LexName();
  bool LexOperator();
  bool LexBackslash();
  bool OpenBracket(char opener);
  bool CloseBracket(char closer);
  void SkipComment();
  void Finish();

  // lex_number.cc
  bool LexNumber();
  bool LexDigits(int base, const char* what);
  bool CheckNumberEnd(const char* what);

  // lex_string.cc
  bool LexStringOrFString(size_t prefix_length);
  bool LexPlainString(const Place& start, char quote, bool triple);
  bool LexFStringText();
  bool LexFieldPunctuation(bool* handled);
  bool InFStringText() const;
  bool EndsFString(const FString& string) const;

  bool AtEnd() const { return here_.offset >= source_.size(); }
  char Peek(size_t ahead = 0) const {
    return here_.offset + ahead < source_.size() ? source_[here_.offset + ahead] : '\0';
  }
  bool AtNewline() const { return Peek() == '\n' || Peek() == '\r'; }
  void SkipNewline();
  // Moves one byte, or over one line end.
  void Advance();

  Span SpanFrom(const Place& start) const;
  void Push(TokenKind kind, const Place& start);
  bool Fail(const Place& start, absl::string_view message);
  bool FailAt(Span span, absl::string_view message);

  absl::string_view source_;
  Place here_;
  bool at_line_start_ = true;
  std::vector<Bracket> brackets_;
  std::vector<FString> fstrings_;
  struct Indent {
    int columns = 0;      // tabs to a multiple of 8
    int alternative = 0;  // tabs as one column: both must agree, else tabs and spaces are mixed
  };
  std::vector<Indent> indents_{Indent{}};
  TokenStream out_;
};

// identifiers.cc. An approximation of XID_Continue beyond ASCII: everything but spaces, punctuation, symbols and private use.
bool IsIdentifierCodePoint(uint32_t code_point);

inline bool IsNameStart(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsNamePart(unsigned char c) { return IsNameStart(c) || IsDigit(static_cast<char>(c)); }

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_LEXER_IMPL_H_
