// Lines, indentation, names and operators.  Numbers are in lex_number.cc, strings in lex_string.cc.
#include "frontends/triton/lexer.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontends/triton/lexer_impl.h"
#include "isa/utf8.h"

namespace tilevm::triton {
namespace {

using FixedTokens = absl::flat_hash_map<absl::string_view, TokenKind>;

const FixedTokens& Keywords() {
  static const FixedTokens* const table = new FixedTokens{
#define PUNCTUATION(name, spelling)
#define KEYWORD(name, spelling) {spelling, TokenKind::k##name},
#include "frontends/triton/token.def"
#undef PUNCTUATION
#undef KEYWORD
  };
  return *table;
}

const FixedTokens& Punctuation() {
  static const FixedTokens* const table = new FixedTokens{
#define PUNCTUATION(name, spelling) {spelling, TokenKind::k##name},
#define KEYWORD(name, spelling)
#include "frontends/triton/token.def"
#undef PUNCTUATION
#undef KEYWORD
  };
  return *table;
}

constexpr int kTabSize = 8;

char CloserOf(char opener) { return opener == '(' ? ')' : opener == '[' ? ']' : '}'; }

bool IsStringPrefix(absl::string_view name) {
  if (name.size() > 2) return false;
  const std::string lower = absl::AsciiStrToLower(name);
  return lower == "r" || lower == "u" || lower == "b" || lower == "f" || lower == "br" || lower == "rb" ||
         lower == "fr" || lower == "rf";
}

}  // namespace

absl::string_view TokenSpelling(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEndOfFile: return "end of file";
    case TokenKind::kError: return "error";
    case TokenKind::kNewline: return "newline";
    case TokenKind::kIndent: return "indent";
    case TokenKind::kDedent: return "dedent";
    case TokenKind::kName: return "name";
    case TokenKind::kInt: return "integer";
    case TokenKind::kFloat: return "float";
    case TokenKind::kImaginary: return "imaginary number";
    case TokenKind::kString: return "string";
    case TokenKind::kFStringStart: return "f-string start";
    case TokenKind::kFStringMiddle: return "f-string text";
    case TokenKind::kFStringEnd: return "f-string end";
#define PUNCTUATION(name, spelling) \
  case TokenKind::k##name: return spelling;
#define KEYWORD(name, spelling) \
  case TokenKind::k##name: return spelling;
#include "frontends/triton/token.def"
#undef PUNCTUATION
#undef KEYWORD
  }
  return "?";
}

bool IsKeyword(TokenKind kind) { return kind >= TokenKind::kAnd; }

TokenStream Lex(absl::string_view source) { return Lexer(source).Run(); }

TokenStream Lexer::Run() {
  out_.tokens.reserve(source_.size() / 4 + 8);
  bool going = CheckBytes() && CheckEncodingComment();
  if (going && absl::StartsWith(source_, "\xEF\xBB\xBF")) here_ = Place{3, 1, 3};
  while (going) {
    if (InFStringText()) {
      going = LexFStringText();
    } else if (AtEnd()) {
      Finish();
      break;
    } else if (at_line_start_) {
      going = LexLineStart();
    } else {
      going = LexToken();
    }
  }
  return std::move(out_);
}

// ---- positions, tokens, errors ----

void Lexer::SkipNewline() {
  here_.offset += Peek() == '\r' && Peek(1) == '\n' ? 2 : 1;
  ++here_.line;
  here_.line_start = here_.offset;
}

void Lexer::Advance() {
  if (AtEnd()) return;
  if (AtNewline()) {
    SkipNewline();
  } else {
    ++here_.offset;
  }
}

Span Lexer::SpanFrom(const Place& start) const {
  return Span{start.line, static_cast<int32_t>(start.offset - start.line_start) + 1, here_.line,
              static_cast<int32_t>(here_.offset - here_.line_start) + 1};
}

void Lexer::Push(TokenKind kind, const Place& start) {
  Token token;
  token.kind = kind;
  token.span = SpanFrom(start);
  token.text = source_.substr(start.offset, here_.offset - start.offset);
  out_.tokens.push_back(token);
}

bool Lexer::Fail(const Place& start, absl::string_view message) {
  Span span = SpanFrom(start);
  if (span.end_line == span.line && span.end_col == span.col) ++span.end_col;
  return FailAt(span, message);
}

bool Lexer::FailAt(Span span, absl::string_view message) {
  out_.error = std::string(message);
  out_.error_span = span;
  Token token;
  token.kind = TokenKind::kError;
  token.span = span;
  out_.tokens.push_back(token);
  return false;
}

// ---- whole-source checks ----

bool Lexer::CheckBytes() {
  if (source_.size() > kMaxSourceBytes) {
    return Fail(here_, absl::StrCat("source is longer than ", kMaxSourceBytes, " bytes"));
  }
  Place place;
  while (place.offset < source_.size()) {
    const char c = source_[place.offset];
    if (c == '\0') {
      here_ = place;
      return Fail(place, "source code cannot contain null bytes");
    }
    if (static_cast<unsigned char>(c) < 0x80) {
      ++place.offset;
      if (c == '\n' || (c == '\r' && (place.offset == source_.size() || source_[place.offset] != '\n'))) {
        ++place.line;
        place.line_start = place.offset;
      }
      continue;
    }
    uint32_t code_point = 0;
    const size_t length = isa::DecodeUtf8(source_.substr(place.offset, 4), &code_point);
    if (length == 0) {
      here_ = place;
      return Fail(place, absl::StrFormat("(unicode error) 'utf-8' codec can't decode byte 0x%02x",
                                         static_cast<unsigned>(static_cast<unsigned char>(c))));
    }
    place.offset += length;
  }
  return true;
}

// PEP 263: one of the first two lines may name the encoding; only UTF-8 and ASCII are read.
bool Lexer::CheckEncodingComment() {
  absl::string_view rest = source_;
  for (int line = 1; line <= 2; ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    absl::string_view text = absl::StripLeadingAsciiWhitespace(rest.substr(0, end));
    if (absl::StartsWith(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
    if (!absl::StartsWith(text, "#")) return true;
    size_t at = text.find("coding");
    if (at != absl::string_view::npos && at + 6 < text.size() && (text[at + 6] == ':' || text[at + 6] == '=')) {
      absl::string_view name = absl::StripLeadingAsciiWhitespace(text.substr(at + 7));
      size_t length = 0;
      while (length < name.size() && (absl::ascii_isalnum(name[length]) || name[length] == '-' ||
                                      name[length] == '_' || name[length] == '.')) {
        ++length;
      }
      const std::string encoding = absl::AsciiStrToLower(name.substr(0, length));
      if (!encoding.empty() && encoding != "utf-8" && encoding != "utf8" && encoding != "utf_8" &&
          encoding != "utf-8-sig" && encoding != "ascii" && encoding != "us-ascii") {
        const int32_t col = static_cast<int32_t>(at) + 1;
        return FailAt(Span{line, col, line, col + 6}, absl::StrCat("unknown encoding: ", encoding));
      }
      return true;
    }
    if (end == rest.size()) return true;
    rest.remove_prefix(end + 1);
  }
  return true;
}

// ---- lines ----

void Lexer::SkipComment() {
  while (!AtEnd() && !AtNewline()) ++here_.offset;
}

// Measures the indentation of a logical line; a line with only a comment or nothing has none.
bool Lexer::LexLineStart() {
  Indent indent;
  for (;;) {
    const char c = Peek();
    if (c == ' ') {
      ++indent.columns, ++indent.alternative;
    } else if (c == '\t') {
      indent.columns = (indent.columns / kTabSize + 1) * kTabSize;
      ++indent.alternative;
    } else if (c == '\f') {
      indent = Indent{};
    } else if (c == '\\' && (Peek(1) == '\n' || Peek(1) == '\r')) {
      // The indentation of a joined line is that of its first part.
      ++here_.offset;
      SkipNewline();
      while (Peek() == ' ' || Peek() == '\t' || Peek() == '\f') ++here_.offset;
      break;
    } else {
      break;
    }
    ++here_.offset;
  }
  if (Peek() == '#') SkipComment();
  if (AtEnd()) return true;
  if (AtNewline()) {
    SkipNewline();
    return true;
  }
  at_line_start_ = false;
  if (indent.columns == indents_.back().columns) {
    if (indent.alternative != indents_.back().alternative) {
      return Fail(here_, "inconsistent use of tabs and spaces in indentation");
    }
    return true;
  }
  if (indent.columns > indents_.back().columns) {
    if (indent.alternative <= indents_.back().alternative) {
      return Fail(here_, "inconsistent use of tabs and spaces in indentation");
    }
    if (static_cast<int>(indents_.size()) >= kMaxIndentLevels) return Fail(here_, "too many levels of indentation");
    indents_.push_back(indent);
    Push(TokenKind::kIndent, here_);
    return true;
  }
  while (indent.columns < indents_.back().columns) {
    indents_.pop_back();
    Push(TokenKind::kDedent, here_);
  }
  if (indent.columns != indents_.back().columns) {
    return Fail(here_, "unindent does not match any outer indentation level");
  }
  if (indent.alternative != indents_.back().alternative) {
    return Fail(here_, "inconsistent use of tabs and spaces in indentation");
  }
  return true;
}

void Lexer::Finish() {
  if (!brackets_.empty()) {
    const Token& opener = out_.tokens[brackets_.back().token];
    out_.unclosed_bracket = true;
    FailAt(opener.span, absl::StrFormat("'%c' was never closed", brackets_.back().opener));
    return;
  }
  if (!out_.tokens.empty() && !at_line_start_) Push(TokenKind::kNewline, here_);
  for (size_t i = 1; i < indents_.size(); ++i) Push(TokenKind::kDedent, here_);
  Push(TokenKind::kEndOfFile, here_);
}

// ---- tokens ----

bool Lexer::LexToken() {
  const char c = Peek();
  if (c == ' ' || c == '\t' || c == '\f') {
    ++here_.offset;
    return true;
  }
  if (c == '#') {
    SkipComment();
    return true;
  }
  if (AtNewline()) {
    if (!brackets_.empty()) {
      SkipNewline();
      return true;
    }
    const Place start = here_;
    here_.offset += Peek() == '\r' && Peek(1) == '\n' ? 2 : 1;
    Push(TokenKind::kNewline, start);
    ++here_.line;
    here_.line_start = here_.offset;
    at_line_start_ = true;
    return true;
  }
  if (c == '\\') return LexBackslash();
  if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return LexNumber();
  if (c == '"' || c == '\'') return LexStringOrFString(0);
  if (IsNameStart(static_cast<unsigned char>(c))) return LexName();
  return LexOperator();
}

bool Lexer::LexBackslash() {
  const Place start = here_;
  ++here_.offset;
  if (AtEnd()) return Fail(start, "unexpected EOF while parsing");
  if (!AtNewline()) return Fail(start, "unexpected character after line continuation character");
  SkipNewline();
  if (AtEnd()) return Fail(start, "unexpected EOF while parsing");
  return true;
}

bool Lexer::LexName() {
  const Place start = here_;
  while (IsNamePart(static_cast<unsigned char>(Peek())) && !AtEnd()) {
    uint32_t code_point = 0;
    const size_t length = isa::DecodeUtf8(source_.substr(here_.offset, 4), &code_point);
    if (code_point >= 0x80 && !IsIdentifierCodePoint(code_point)) {
      const Place bad = here_;
      here_.offset += length;
      const bool printable = code_point > 0xA0 && !(code_point >= 0x2000 && code_point <= 0x200F) &&
                             !(code_point >= 0x2028 && code_point <= 0x202F) && code_point != 0xFEFF &&
                             code_point != 0x3000;
      if (!printable) return Fail(bad, absl::StrFormat("invalid non-printable character U+%04X", code_point));
      return Fail(bad, absl::StrCat("invalid character '", source_.substr(bad.offset, length), "' (U+",
                                    absl::StrFormat("%04X", code_point), ")"));
    }
    here_.offset += length;
  }
  const absl::string_view name = source_.substr(start.offset, here_.offset - start.offset);
  if ((Peek() == '"' || Peek() == '\'') && IsStringPrefix(name)) {
    here_ = start;
    return LexStringOrFString(name.size());
  }
  const auto keyword = Keywords().find(name);
  Push(keyword == Keywords().end() ? TokenKind::kName : keyword->second, start);
  return true;
}

bool Lexer::LexOperator() {
  bool handled = false;
  const bool going = LexFieldPunctuation(&handled);
  if (handled) return going;
  const char c = Peek();
  if (c == '(' || c == '[' || c == '{') return OpenBracket(c);
  if (c == ')' || c == ']' || c == '}') return CloseBracket(c);
  const Place start = here_;
  for (size_t length = 3; length >= 1; --length) {
    const auto found = Punctuation().find(source_.substr(start.offset, length));
    if (found == Punctuation().end() || found->first.size() != length) continue;
    if (found->second == TokenKind::kExclaim) break;
    here_.offset += length;
    Push(found->second, start);
    return true;
  }
  ++here_.offset;
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    return Fail(start, absl::StrFormat("invalid non-printable character U+%04X", static_cast<unsigned>(c)));
  }
  return Fail(start, "invalid syntax");
}

bool Lexer::OpenBracket(char opener) {
  const Place start = here_;
  ++here_.offset;
  if (static_cast<int>(brackets_.size()) >= kMaxBracketNesting) return Fail(start, "too many nested parentheses");
  brackets_.push_back(Bracket{opener, static_cast<int32_t>(out_.tokens.size())});
  Push(opener == '(' ? TokenKind::kLParen : opener == '[' ? TokenKind::kLBracket : TokenKind::kLBrace, start);
  return true;
}

bool Lexer::CloseBracket(char closer) {
  const Place start = here_;
  ++here_.offset;
  if (brackets_.empty()) return Fail(start, absl::StrFormat("unmatched '%c'", closer));
  const Bracket open = brackets_.back();
  if (CloserOf(open.opener) != closer) {
    const int32_t line = out_.tokens[open.token].span.line;
    return Fail(start, absl::StrCat(absl::StrFormat("closing parenthesis '%c' does not match opening parenthesis '%c'",
                                                    closer, open.opener),
                                    line == start.line ? "" : absl::StrCat(" on line ", line)));
  }
  brackets_.pop_back();
  out_.tokens[open.token].match = static_cast<int32_t>(out_.tokens.size());
  Push(closer == ')' ? TokenKind::kRParen : closer == ']' ? TokenKind::kRBracket : TokenKind::kRBrace, start);
  return true;
}

}  // namespace tilevm::triton
