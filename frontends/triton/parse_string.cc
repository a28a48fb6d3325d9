// String literals: escapes, adjacent literals, and f-strings from the lexer's tokens.
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/triton/lexer_impl.h"
#include "frontends/triton/parser_impl.h"
#include "isa/utf8.h"

namespace tilevm::triton {
namespace {

int HexDigit(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// The character after a backslash, where the escape is one byte long; 0: another kind of escape.
char SimpleEscape(char c) {
  switch (c) {
    case '\\': return '\\';
    case '\'': return '\'';
    case '"': return '"';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return 0;
  }
}

void AppendCodePoint(uint32_t code_point, bool is_bytes, std::string* out, std::string* unsupported) {
  if (is_bytes) {
    out->push_back(static_cast<char>(code_point));
  } else if (code_point >= 0xD800 && code_point <= 0xDFFF) {
    *unsupported = "lone surrogates in strings are not supported";
  } else {
    isa::AppendUtf8(code_point, out);
  }
}

}  // namespace

// Appends `text` (a part of `token`) with its escapes resolved and line ends as \n.
bool Parser::DecodeText(const Token& token, absl::string_view text, bool raw, bool is_bytes, std::string* out, std::string* unsupported) {
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\r') {
      out->push_back('\n');
      i += i + 1 < text.size() && text[i + 1] == '\n' ? 2 : 1;
      continue;
    }
    if (raw || c != '\\' || i + 1 >= text.size()) {
      out->push_back(c);
      ++i;
      continue;
    }
    const char kind = text[i + 1];
    if (const char simple = SimpleEscape(kind); simple != 0) {
      out->push_back(simple);
      i += 2;
    } else if (kind == '\n') {
      i += 2;
    } else if (kind == '\r') {
      i += i + 2 < text.size() && text[i + 2] == '\n' ? 3 : 2;
    } else if (IsOctal(kind)) {
      uint32_t value = 0;
      size_t digits = 0;
      for (; digits < 3 && i + 1 + digits < text.size() && IsOctal(text[i + 1 + digits]); ++digits) value = value * 8 + (text[i + 1 + digits] - '0');
      AppendCodePoint(is_bytes ? value & 0xFF : value, is_bytes, out, unsupported);
      i += 1 + digits;
    } else if (kind == 'x' || (!is_bytes && (kind == 'u' || kind == 'U'))) {
      const size_t wanted = kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
      uint32_t value = 0;
      size_t digits = 0;
      for (; digits < wanted && i + 2 + digits < text.size(); ++digits) {
        const char digit = text[i + 2 + digits];
        if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit))) break;
        value = value * 16 + HexDigit(digit);
      }
      if (digits < wanted) {
        const absl::string_view form = kind == 'x' ? "\\xXX" : kind == 'u' ? "\\uXXXX" : "\\UXXXXXXXX";
        if (is_bytes) return Fail(token.span, absl::StrCat("(value error) invalid \\x escape at position ", i)), false;
        return Fail(token.span, absl::StrCat("(unicode error) truncated ", form, " escape")), false;
      }
      if (value > 0x10FFFF) return Fail(token.span, "(unicode error) illegal Unicode character"), false;
      AppendCodePoint(value, is_bytes, out, unsupported);
      i += 2 + digits;
    } else if (!is_bytes && kind == 'N') {
      const size_t close = i + 2 < text.size() && text[i + 2] == '{' ? text.find('}', i) : absl::string_view::npos;
      if (close == absl::string_view::npos) return Fail(token.span, "(unicode error) malformed \\N character escape"), false;
      *unsupported = "\\N{...} escapes are not supported";
      i = close + 1;
    } else {
      out->push_back('\\');  // an unknown escape stands for itself
      ++i;
    }
  }
  return true;
}

bool Parser::AppendPlainString(const Token& token, std::string* out, bool* is_bytes, std::string* unsupported) {
  absl::string_view text = token.text;
  bool raw = false;
  *is_bytes = false;
  for (; text[0] != '"' && text[0] != '\''; text.remove_prefix(1)) {
    const char letter = absl::ascii_tolower(static_cast<unsigned char>(text[0]));
    raw |= letter == 'r';
    *is_bytes |= letter == 'b';
  }
  const size_t quotes = text.size() >= 6 && text[1] == text[0] && text[2] == text[0] ? 3 : 1;
  text = text.substr(quotes, text.size() - 2 * quotes);
  if (*is_bytes) {
    for (char c : text) {
      if (static_cast<unsigned char>(c) >= 0x80) return Fail(token.span, "bytes can only contain ASCII literal characters"), false;
    }
  }
  return DecodeText(token, text, raw, *is_bytes, out, unsupported);
}

// One or more adjacent literals.
Expr* Parser::ParseStrings() {
  const Span start = Peek().span;
  std::vector<FStringExpr::Part> parts;
  std::string unsupported;
  bool is_fstring = false;
  bool is_bytes = false;
  bool first = true;
  while (At(TokenKind::kString) || At(TokenKind::kFStringStart)) {
    bool bytes_here = false;
    if (At(TokenKind::kString)) {
      if (parts.empty() || parts.back().value != nullptr) parts.emplace_back();
      if (!AppendPlainString(Next(), &parts.back().text, &bytes_here, &unsupported)) return nullptr;
    } else {
      is_fstring = true;
      if (!ParseFString(&parts, &unsupported)) return nullptr;
    }
    if (!first && bytes_here != is_bytes) return Fail(start, "cannot mix bytes and nonbytes literals");
    is_bytes = bytes_here;
    first = false;
  }
  if (failed()) return nullptr;
  const Span span = SpanSince(start);
  if (!unsupported.empty()) {
    auto* node = tree_->Make<OpaqueExpr>(span);
    node->message = unsupported;
    return node;
  }
  if (!is_fstring) {
    auto* node = tree_->Make<StringExpr>(span);
    node->is_bytes = is_bytes;
    if (!parts.empty()) node->value = std::move(parts[0].text);
    return node;
  }
  auto* node = tree_->Make<FStringExpr>(span);
  for (FStringExpr::Part& part : parts) {
    if (part.value != nullptr || !part.text.empty()) node->parts.push_back(std::move(part));
  }
  return Finish(node);
}

bool Parser::ParseFString(std::vector<FStringExpr::Part>* parts, std::string* unsupported) {
  const absl::string_view prefix = Next().text;
  const bool raw = absl::StrContains(prefix, 'r') || absl::StrContains(prefix, 'R');
  while (!Accept(TokenKind::kFStringEnd)) {
    if (At(TokenKind::kFStringMiddle)) {
      const Token& token = Next();
      // Doubled braces first: an escape never produces one that would be doubled.
      std::string text;
      for (size_t i = 0; i < token.text.size(); ++i) {
        text.push_back(token.text[i]);
        const bool doubled = (token.text[i] == '{' || token.text[i] == '}') && i + 1 < token.text.size() && token.text[i + 1] == token.text[i];
        if (doubled) ++i;
      }
      if (parts->empty() || parts->back().value != nullptr) parts->emplace_back();
      if (!DecodeText(token, text, raw, false, &parts->back().text, unsupported)) return false;
    } else if (At(TokenKind::kLBrace)) {
      if (!ParseField(raw, parts, unsupported)) return false;
    } else {
      return FailHere(), false;
    }
  }
  return true;
}

// A replacement field, from `{` to past `}`.
bool Parser::ParseField(bool raw, std::vector<FStringExpr::Part>* parts, std::string* unsupported) {
  const Token& brace = Next();
  const auto at_field_end = [&] { return At(TokenKind::kRBrace) || At(TokenKind::kExclaim) || At(TokenKind::kColon); };
  if (at_field_end() || At(TokenKind::kEqual)) {
    return Fail(Peek().span, absl::StrCat("f-string: valid expression required before '", Peek().text, "'")), false;
  }
  FStringExpr::Part field;
  field.value = At(TokenKind::kYield) ? ParseYield() : ParseStarExpressions();
  if (field.value == nullptr) return false;
  bool debug = false;
  if (Accept(TokenKind::kEqual)) {
    debug = true;  // `{x = }` prints its own text first, up to what follows the `=`
    const char* begin = brace.text.data() + 1;
    if (parts->empty() || parts->back().value != nullptr) parts->emplace_back();
    if (Peek().kind == TokenKind::kError) return FailHere(), false;
    parts->back().text.append(begin, Peek().text.data() - begin);
  }
  if (Accept(TokenKind::kExclaim)) {
    if (!At(TokenKind::kName)) return Fail(Peek().span, "f-string: invalid conversion character"), false;
    const Token& name = Next();
    if (name.text != "r" && name.text != "s" && name.text != "a") {
      return Fail(name.span, absl::StrCat("f-string: invalid conversion character '", name.text, "': expected 's', 'r', or 'a'")), false;
    }
    field.conversion = name.text[0];
  }
  if (Accept(TokenKind::kColon)) {
    auto* spec = tree_->Make<FStringExpr>(last_);
    const Span start = Peek().span;
    while (!At(TokenKind::kRBrace)) {
      if (At(TokenKind::kFStringMiddle)) {
        const Token& token = Next();
        spec->parts.emplace_back();
        if (!DecodeText(token, token.text, raw, false, &spec->parts.back().text, unsupported)) return false;
      } else if (At(TokenKind::kLBrace)) {
        if (!ParseField(raw, &spec->parts, unsupported)) return false;
      } else {
        return FailHere(), false;
      }
    }
    spec->span = Join(start, last_);
    if (Finish(spec) == nullptr) return false;
    field.spec = spec;
  }
  if (debug && field.conversion == 0 && field.spec == nullptr) field.conversion = 'r';
  if (!At(TokenKind::kRBrace)) {
    if (At(TokenKind::kError)) return FailHere(), false;
    return Fail(Peek().span, "f-string: expecting '}'"), false;
  }
  Next();
  parts->push_back(std::move(field));
  return true;
}

}  // namespace tilevm::triton
