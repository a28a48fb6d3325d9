// The lexer; see lexer.h.
#include "frontends/asm/lexer.h"

#include "isa/literal.h"

namespace tilevm::assembly {
namespace {

using isa::IsWordChar;
using isa::IsWordStart;

constexpr size_t kMaxTextBytes = size_t{4} << 20;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Line>> Run() {
    while (pos_ < text_.size()) TILEVM_RETURN_IF_ERROR(LexLine());
    return std::move(lines_);
  }

 private:
  char Peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool AtEnd() const { return pos_ >= text_.size(); }
  Loc Here() const { return Loc{0, line_number_, static_cast<int32_t>(pos_ - line_start_) + 1}; }

  void NewLine() {
    ++pos_;
    ++line_number_;
    line_start_ = pos_;
  }

  absl::Status LexLine() {
    Line line;
    while (Peek() == ' ') ++pos_;
    line.indent = static_cast<int>(pos_ - line_start_);
    if (Peek() == '\t') return InvalidAt(Here(), "a tab in the indentation; indent with spaces");
    int open = 0;
    while (!AtEnd()) {
      char c = Peek();
      if (c == '\n') {
        if (open == 0) break;
        NewLine();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++pos_;
      } else if (c == '#') {
        while (!AtEnd() && Peek() != '\n') ++pos_;
      } else {
        Token token;
        token.loc = Here();
        TILEVM_RETURN_IF_ERROR(LexToken(token));
        if (token.Is("(") || token.Is("[")) ++open;
        if ((token.Is(")") || token.Is("]")) && open > 0) --open;
        line.tokens.push_back(std::move(token));
      }
    }
    if (open > 0) return InvalidAt(Here(), "the text ends inside brackets");
    Token end;
    end.loc = Here();
    if (!AtEnd()) NewLine();
    if (line.tokens.empty()) return absl::OkStatus();
    line.tokens.push_back(std::move(end));
    lines_.push_back(std::move(line));
    return absl::OkStatus();
  }

  absl::Status LexToken(Token& token) {
    char c = Peek();
    if (c == '"') {
      token.kind = TokenKind::kString;
      return LexString(token.text);
    }
    if (c == '%' || c == '$') return LexSigil(token);
    if (c == '@') return LexBuiltin(token);
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1))) || (c == '-' && (IsDigit(Peek(1)) || Peek(1) == '.'))) return LexNumber(token);
    if (c == '-' && text_.substr(pos_, 4) == "-inf" && !IsWordChar(Peek(4))) {
      token.kind = TokenKind::kNumber;
      token.text = "-inf";
      pos_ += 4;
      return absl::OkStatus();
    }
    if (IsWordStart(c)) {
      LexWord(token);
      return absl::OkStatus();
    }
    return LexPunctuation(token);
  }

  void LexWord(Token& token) {
    size_t start = pos_;
    while (IsWordChar(Peek()) && !AtEnd()) ++pos_;
    token.kind = TokenKind::kWord;
    token.text = std::string(text_.substr(start, pos_ - start));
    if (token.text == "nan" && Peek() == ':' && Peek(1) == '0' && Peek(2) == 'x') {
      pos_ += 3;
      while (IsHexDigit(Peek())) ++pos_;
      token.kind = TokenKind::kNumber;
      token.text = std::string(text_.substr(start, pos_ - start));
    }
  }

  // A register or a function: a word, possibly with a ".N" suffix (registers), or a number.
  absl::Status LexSigil(Token& token) {
    token.kind = Peek() == '%' ? TokenKind::kRegister : TokenKind::kFunction;
    ++pos_;
    size_t start = pos_;
    while (!AtEnd() && (IsWordChar(Peek()) || (Peek() == '.' && IsWordChar(Peek(1))))) ++pos_;
    token.text = std::string(text_.substr(start, pos_ - start));
    if (token.text.empty()) return InvalidAt(token.loc, "a name or a number is missing after '", text_.substr(start - 1, 1), "'");
    return absl::OkStatus();
  }

  absl::Status LexBuiltin(Token& token) {
    token.kind = TokenKind::kBuiltin;
    ++pos_;
    if (Peek() == '"') return LexString(token.text);
    size_t start = pos_;
    while (!AtEnd() && (IsWordChar(Peek()) || (Peek() == '.' && IsWordChar(Peek(1))))) ++pos_;
    token.text = std::string(text_.substr(start, pos_ - start));
    if (!isa::IsDottedWords(token.text)) return InvalidAt(token.loc, "a dotted name is missing after '@'");
    return absl::OkStatus();
  }

  absl::Status LexNumber(Token& token) {
    token.kind = TokenKind::kNumber;
    size_t start = pos_;
    if (Peek() == '-') ++pos_;
    bool hex = Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X');
    while (!AtEnd()) {
      char c = Peek();
      bool exponent_sign = !hex && (c == '-' || c == '+') && (text_[pos_ - 1] == 'e' || text_[pos_ - 1] == 'E');
      if (!IsWordChar(c) && c != '.' && !exponent_sign) break;
      ++pos_;
    }
    token.text = std::string(text_.substr(start, pos_ - start));
    return absl::OkStatus();
  }

  absl::Status LexString(std::string& value) {
    Loc start = Here();
    ++pos_;
    while (true) {
      char c = Peek();
      if (AtEnd() || c == '\n') return InvalidAt(start, "a string without its closing quote");
      ++pos_;
      if (c == '"') return absl::OkStatus();
      if (c != '\\') {
        value += c;
        continue;
      }
      char escape = Peek();
      ++pos_;
      switch (escape) {
        case 'n': value += '\n'; break;
        case 'r': value += '\r'; break;
        case 't': value += '\t'; break;
        case '"': value += '"'; break;
        case '\\': value += '\\'; break;
        case 'x':
          if (!IsHexDigit(Peek()) || !IsHexDigit(Peek(1))) return InvalidAt(Here(), "\\x needs two hexadecimal digits");
          value += static_cast<char>(std::stoi(std::string(text_.substr(pos_, 2)), nullptr, 16));
          pos_ += 2;
          break;
        default: --pos_; return InvalidAt(Here(), "unknown escape in a string; known are \\\\ \\\" \\n \\r \\t \\xNN");
      }
    }
  }

  absl::Status LexPunctuation(Token& token) {
    token.kind = TokenKind::kPunctuation;
    for (absl::string_view three_to_one : {"...", ":=", "**", "(", ")", "[", "]", ",", ":", "=", "*", "/", "<", ">", "."}) {
      if (text_.substr(pos_, three_to_one.size()) == three_to_one) {
        token.text = std::string(three_to_one);
        pos_ += three_to_one.size();
        return absl::OkStatus();
      }
    }
    return InvalidAt(Here(), "unexpected character ", isa::QuoteString(text_.substr(pos_, 1)));
  }

  absl::string_view text_;
  size_t pos_ = 0;
  size_t line_start_ = 0;
  int32_t line_number_ = 1;
  std::vector<Line> lines_;
};

}  // namespace

absl::StatusOr<std::vector<Line>> Lex(absl::string_view text) {
  if (text.size() > kMaxTextBytes) return absl::InvalidArgumentError("assembly text of more than 4 MiB");
  return Lexer(text).Run();
}

}  // namespace tilevm::assembly
