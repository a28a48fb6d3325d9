#include "frontends/triton/lexer.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace tilevm::triton {
namespace {

// Kinds and texts, space separated: "x = 1 newline end of file".
std::string Kinds(absl::string_view source) {
  const TokenStream stream = Lex(source);
  std::vector<std::string> words;
  for (const Token& token : stream.tokens) {
    switch (token.kind) {
      case TokenKind::kName:
      case TokenKind::kInt:
      case TokenKind::kFloat:
      case TokenKind::kString: words.push_back(std::string(token.text)); break;
      case TokenKind::kFStringMiddle: words.push_back(absl::StrCat("<", token.text, ">")); break;
      case TokenKind::kError: words.push_back(absl::StrCat("error: ", stream.error)); break;
      case TokenKind::kEndOfFile: break;
      default: words.push_back(std::string(TokenSpelling(token.kind)));
    }
  }
  return absl::StrJoin(words, " ");
}

std::string ErrorOf(absl::string_view source) {
  const TokenStream stream = Lex(source);
  if (stream.error.empty()) return "";
  return absl::StrCat(stream.error_span.line, ":", stream.error_span.col, ": ", stream.error);
}

TEST(LexerTest, NamesKeywordsOperators) {
  EXPECT_EQ(Kinds("x = a**-b//2 if y is not None else ...\n"), "x = a ** - b // 2 if y is not None else ... newline");
  EXPECT_EQ(Kinds("a<<=b>>=c:=d->e@=f"), "a <<= b >>= c := d -> e @= f newline");
  EXPECT_EQ(Kinds("größe = 1"), "größe = 1 newline");
}

TEST(LexerTest, NumbersKeepTheirSpelling) {
  EXPECT_EQ(Kinds("0x_Ff 0b1_0 0o17 1_000 1.5e-3 .5 5. 1e5 00 0_0"), "0x_Ff 0b1_0 0o17 1_000 1.5e-3 .5 5. 1e5 00 0_0 newline");
  EXPECT_EQ(Kinds("1if x else 2"), "1 if x else 2 newline");
  EXPECT_EQ(Kinds("1.real"), "error: invalid decimal literal");
  EXPECT_EQ(Kinds("x[1].T"), "x [ 1 ] . T newline");
}

TEST(LexerTest, NumberErrors) {
  EXPECT_EQ(ErrorOf("x = 1__0"), "1:5: invalid decimal literal");
  EXPECT_EQ(ErrorOf("x = 1_"), "1:5: invalid decimal literal");
  EXPECT_EQ(ErrorOf("x = 0o8"), "1:7: invalid digit '8' in octal literal");
  EXPECT_EQ(ErrorOf("x = 0b12"), "1:8: invalid digit '2' in binary literal");
  EXPECT_EQ(ErrorOf("x = 0xg"), "1:7: invalid hexadecimal literal");
  EXPECT_EQ(ErrorOf("x = 12abc"), "1:7: invalid decimal literal");
  EXPECT_EQ(ErrorOf("x = 012"),
            "1:5: leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers");
}

TEST(LexerTest, Indentation) {
  EXPECT_EQ(Kinds("if a:\n  b\n\n  # c\nd\n"), "if a : newline indent b newline dedent d newline");
  EXPECT_EQ(Kinds("if a:\n  if b:\n    c"), "if a : newline indent if b : newline indent c newline dedent dedent");
  EXPECT_EQ(Kinds("if a:\n\tb\n        c\n"), "if a : newline indent b newline error: inconsistent use of tabs and spaces in indentation");
  EXPECT_EQ(ErrorOf("if a:\n    b\n  c\n"), "3:3: unindent does not match any outer indentation level");
}

TEST(LexerTest, JoinedLines) {
  EXPECT_EQ(Kinds("f(a,\n  # comment\n  b)\n"), "f ( a , b ) newline");
  EXPECT_EQ(Kinds("a = 1 + \\\n  2\n"), "a = 1 + 2 newline");
  EXPECT_EQ(ErrorOf("a = 1 \\ \n"), "1:7: unexpected character after line continuation character");
  EXPECT_EQ(ErrorOf("a = 1 \\"), "1:7: unexpected EOF while parsing");
}

TEST(LexerTest, LineEndsAndByteOrderMark) {
  EXPECT_EQ(Kinds("\xEF\xBB\xBFx = 1\r\ny = 2\rz = 3\n"), "x = 1 newline y = 2 newline z = 3 newline");
  const TokenStream stream = Lex("\xEF\xBB\xBFx\r\ny");
  EXPECT_EQ(stream.tokens[0].span.col, 1);
  EXPECT_EQ(stream.tokens[2].span.line, 2);
}

TEST(LexerTest, PositionsAreOneBasedBytes) {
  const TokenStream stream = Lex("é = 'é' + x\n");
  EXPECT_EQ(stream.tokens[1].span.col, 4);
  EXPECT_EQ(stream.tokens[2].span.col, 6);
  EXPECT_EQ(stream.tokens[2].span.end_col, 10);
}

TEST(LexerTest, Strings) {
  EXPECT_EQ(Kinds("'a' \"b\" r'\\'' 'c\\'d' b''"), "'a' \"b\" r'\\'' 'c\\'d' b'' newline");
  EXPECT_EQ(Kinds("'''a\n'b''' rb'x'"), "'''a\n'b''' rb'x' newline");
  EXPECT_EQ(ErrorOf("x = 'abc\n"), "1:5: unterminated string literal (detected at line 1)");
  EXPECT_EQ(ErrorOf("x = '''abc\n\n"), "1:5: unterminated triple-quoted string literal (detected at line 3)");
}

TEST(LexerTest, FStrings) {
  EXPECT_EQ(Kinds("f'a{x!r:>{w}}b{{c'"), "f-string start <a> { x ! r : <>> { w } } <b{{c> f-string end newline");
  EXPECT_EQ(Kinds("f'{a[1:2]}{d!=e}{(lambda: 1)}'"),
            "f-string start { a [ 1 : 2 ] } { d != e } { ( lambda : 1 ) } f-string end newline");
  EXPECT_EQ(Kinds("f'{f'{1}'}'"), "f-string start { f-string start { 1 } f-string end } f-string end newline");
  EXPECT_EQ(Kinds("rf'\\{x}'"), "f-string start <\\> { x } f-string end newline");
  EXPECT_EQ(ErrorOf("f'}'"), "1:3: f-string: single '}' is not allowed");
  EXPECT_EQ(ErrorOf("f'{x'"), "1:5: unterminated string literal (detected at line 1)");
  EXPECT_EQ(ErrorOf("f'abc"), "1:1: unterminated f-string literal (detected at line 1)");
}

TEST(LexerTest, Brackets) {
  EXPECT_EQ(ErrorOf("f(a\n"), "1:2: '(' was never closed");
  EXPECT_EQ(ErrorOf("f(a]\n"), "1:4: closing parenthesis ']' does not match opening parenthesis '('");
  EXPECT_EQ(ErrorOf("f(\na]\n"), "2:2: closing parenthesis ']' does not match opening parenthesis '(' on line 1");
  EXPECT_EQ(ErrorOf("a)\n"), "1:2: unmatched ')'");
  const TokenStream stream = Lex("f(a[0])");
  EXPECT_EQ(stream.tokens[1].match, 6);
  EXPECT_EQ(stream.tokens[3].match, 5);
}

TEST(LexerTest, UntrustedBytes) {
  EXPECT_EQ(ErrorOf(absl::string_view("x\n\0y", 4)), "2:1: source code cannot contain null bytes");
  EXPECT_EQ(ErrorOf("x = '\xff'"), "1:6: (unicode error) 'utf-8' codec can't decode byte 0xff");
  EXPECT_EQ(ErrorOf("x = \xC0\xAF"), "1:5: (unicode error) 'utf-8' codec can't decode byte 0xc0");
  EXPECT_EQ(ErrorOf("x = \xED\xA0\x80"), "1:5: (unicode error) 'utf-8' codec can't decode byte 0xed");
  EXPECT_EQ(ErrorOf("x = a\xC2\xA0+ b"), "1:6: invalid non-printable character U+00A0");
  EXPECT_EQ(ErrorOf("x = a \xC3\x97 b"), "1:7: invalid character '×' (U+00D7)");
  EXPECT_EQ(ErrorOf("x = $a"), "1:5: invalid syntax");
  EXPECT_EQ(ErrorOf("# -*- coding: latin-1 -*-\nx = 1\n"), "1:7: unknown encoding: latin-1");
  EXPECT_EQ(ErrorOf("# -*- coding: utf-8 -*-\nx = 1\n"), "");
}

TEST(LexerTest, Limits) {
  EXPECT_EQ(ErrorOf(std::string(201, '(')), "1:201: too many nested parentheses");
  std::string source;
  for (int i = 0; i < 120; ++i) absl::StrAppend(&source, std::string(i, ' '), "if a:\n");
  EXPECT_EQ(ErrorOf(source), "101:101: too many levels of indentation");
}

}  // namespace
}  // namespace tilevm::triton
