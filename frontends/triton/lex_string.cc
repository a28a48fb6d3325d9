// String literals, and f-strings as a run of tokens: start, text, `{` expression `!r` `:` specification `}`, end.
//
// While an f-string is open the lexer alternates between text (LexFStringText) and ordinary tokens inside a
// replacement field.  `:` and `!` end the expression of a field only at the field's own bracket level.
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "frontends/triton/lexer_impl.h"

namespace tilevm::triton {

bool Lexer::LexStringOrFString(size_t prefix_length) {
  const Place start = here_;
  const std::string prefix = absl::AsciiStrToLower(source_.substr(start.offset, prefix_length));
  here_.offset += prefix_length;
  const char quote = Peek();
  const bool triple = Peek(1) == quote && Peek(2) == quote;
  here_.offset += triple ? 3 : 1;
  if (prefix.find('f') == std::string::npos) return LexPlainString(start, quote, triple);
  FString string;
  string.quote = quote;
  string.triple = triple;
  string.raw = prefix.find('r') != std::string::npos;
  string.token = static_cast<int32_t>(out_.tokens.size());
  string.outer_brackets = brackets_.size();
  fstrings_.push_back(string);
  Push(TokenKind::kFStringStart, start);
  return true;
}

bool Lexer::LexPlainString(const Place& start, char quote, bool triple) {
  for (;;) {
    if (AtEnd() || (AtNewline() && !triple)) {
      const int32_t last_line = here_.line;
      Span span = SpanFrom(start);
      span.end_line = span.line;
      span.end_col = span.col + 1;
      return FailAt(span, absl::StrCat("unterminated ", triple ? "triple-quoted string" : "string",
                                       " literal (detected at line ", last_line, ")"));
    }
    const char c = Peek();
    if (c == '\\') {
      ++here_.offset;
      Advance();
      continue;
    }
    if (c == quote && (!triple || (Peek(1) == quote && Peek(2) == quote))) {
      here_.offset += triple ? 3 : 1;
      Push(TokenKind::kString, start);
      return true;
    }
    Advance();
  }
}

bool Lexer::InFStringText() const {
  if (fstrings_.empty()) return false;
  const FString& string = fstrings_.back();
  if (string.fields.empty()) return true;
  return string.fields.back().in_spec && brackets_.size() == string.fields.back().level;
}

bool Lexer::EndsFString(const FString& string) const {
  return Peek() == string.quote && (!string.triple || (Peek(1) == string.quote && Peek(2) == string.quote));
}

bool Lexer::LexFStringText() {
  FString& string = fstrings_.back();
  const bool in_spec = !string.fields.empty();
  const Place start = here_;
  const auto push_text = [&] {
    if (here_.offset == start.offset) return;
    Push(TokenKind::kFStringMiddle, start);
    out_.tokens.back().in_format_spec = in_spec;
  };
  for (;;) {
    if (AtEnd() || (AtNewline() && !string.triple)) {
      return FailAt(out_.tokens[string.token].span,
                    absl::StrCat("unterminated ", string.triple ? "triple-quoted f-string" : "f-string",
                                 " literal (detected at line ", here_.line, ")"));
    }
    const char c = Peek();
    if (EndsFString(string)) {
      if (in_spec) return Fail(here_, "f-string: expecting '}'");
      push_text();
      const Place end = here_;
      here_.offset += string.triple ? 3 : 1;
      Push(TokenKind::kFStringEnd, end);
      fstrings_.pop_back();
      return true;
    }
    if (c == '\\') {
      ++here_.offset;
      if (Peek() == '{' || Peek() == '}') continue;
      if (!string.raw && Peek() == 'N' && Peek(1) == '{') {
        while (!AtEnd() && !AtNewline() && Peek() != '}') ++here_.offset;
      }
      Advance();
    } else if (c == '{' && !in_spec && Peek(1) == '{') {
      here_.offset += 2;
    } else if (c == '{') {
      push_text();
      if (!OpenBracket('{')) return false;
      string.fields.push_back(Field{brackets_.size(), false});
      return true;
    } else if (c == '}' && in_spec) {
      push_text();
      string.fields.pop_back();
      return CloseBracket('}');
    } else if (c == '}') {
      if (Peek(1) != '}') return Fail(here_, "f-string: single '}' is not allowed");
      here_.offset += 2;
    } else {
      Advance();
    }
  }
}

// Inside a replacement field, at its own bracket level: the characters that end its expression.
bool Lexer::LexFieldPunctuation(bool* handled) {
  if (fstrings_.empty() || fstrings_.back().fields.empty()) return true;
  Field& field = fstrings_.back().fields.back();
  if (brackets_.size() != field.level) return true;
  const Place start = here_;
  *handled = true;
  if (Peek() == '}') {
    fstrings_.back().fields.pop_back();
    return CloseBracket('}');
  }
  if (Peek() == ':') {
    ++here_.offset;
    Push(TokenKind::kColon, start);
    field.in_spec = true;
    return true;
  }
  if (Peek() == '!' && Peek(1) != '=') {
    ++here_.offset;
    Push(TokenKind::kExclaim, start);
    return true;
  }
  *handled = false;
  return true;
}

}  // namespace tilevm::triton
