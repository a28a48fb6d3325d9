#include "frontends/triton/parser.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "isa/status.h"

namespace tilevm::triton {
namespace {

// The printed tree, or "line:col: message".
std::string P(const std::string& source) {
  absl::StatusOr<Tree> tree = Parse(source, 0);
  if (!tree.ok()) {
    const Loc loc = LocOf(tree.status());
    return absl::StrCat(loc.line, ":", loc.col, ": ", tree.status().message());
  }
  return std::string(absl::StripSuffix(PrintTree(*tree), "\n"));
}

// The tree of one expression.
std::string E(const std::string& source) {
  const std::string text = P(source);
  if (!absl::StartsWith(text, "(expr ")) return text;
  return text.substr(6, text.size() - 7);
}

TEST(ParserTest, Precedence) {
  EXPECT_EQ(E("a + b * c - d"), "(- (+ a (* b c)) d)");
  EXPECT_EQ(E("-a ** -b ** c"), "(neg (** a (neg (** b c))))");
  EXPECT_EQ(E("a | b ^ c & d << e + f"), "(| a (^ b (& c (<< d (+ e f)))))");
  EXPECT_EQ(E("not a == b and c or d"), "(or (and (not (compare a == b)) c) d)");
  EXPECT_EQ(E("a < b <= c is not d not in e"), "(compare a < b <= c is not d not in e)");
  EXPECT_EQ(E("a if b else c if d else e"), "(if-else b a (if-else d c e))");
  EXPECT_EQ(E("~a.b[c](d) @ e"), "(@ (invert (call ([] (. a b) c) d)) e)");
  EXPECT_EQ(E("a / b // c % d"), "(% (// (/ a b) c) d)");
}

TEST(ParserTest, Literals) {
  EXPECT_EQ(E("0xff + 1_000 + 0b101 + 0o17"), "(+ (+ (+ 255 1000) 5) 15)");
  EXPECT_EQ(E("340282366920938463463374607431768211455"), "340282366920938463463374607431768211455");
  EXPECT_EQ(E("340282366920938463463374607431768211456"), "340282366920938463463374607431768211456");
  EXPECT_EQ(E("(1.5, 1e400, 5., .5, 1_0.0_1)"), "(tuple 1.5 inf 5 0.5 10.01)");
  EXPECT_EQ(E("(None, True, False, ...)"), "(tuple None True False ...)");
  EXPECT_EQ(E("1j"), "(opaque \"complex numbers are not supported\")");
  EXPECT_EQ(E("'a' \"b\" r'\\n' '\\n\\x41\\u00e9\\101\\\n'"), "\"ab\\\\n\\nA\\303\\251A\"");
  EXPECT_EQ(E("b'\\xff\\d'"), "b\"\\377\\\\d\"");
  EXPECT_EQ(E("'''a\r\nb\rc'''"), "\"a\\nb\\nc\"");
  EXPECT_EQ(E("'\\N{DASH}'"), "(opaque \"\\\\N{...} escapes are not supported\")");
}

TEST(ParserTest, FStrings) {
  EXPECT_EQ(E("f'a{x}b{{}}'"), "(fstring \"a\" (field x) \"b{}\")");
  EXPECT_EQ(E("f'{x!r:>{w}.2f}' 'c'"), "(fstring (field x !r (fstring \">\" (field w) \".2f\")) \"c\")");
  EXPECT_EQ(E("f'{x = }' f'{y=!s} {z=:d}'"), "(fstring \"x = \" (field x !r) \"y=\" (field y !s) \" z=\" (field z (fstring \"d\")))");
  EXPECT_EQ(E("f'{a[1:2]}{ {1: 2}[1] }'"), "(fstring (field ([] a (slice 1 2 _))) (field ([] (dict (: 1 2)) 1)))");
  EXPECT_EQ(E("f'{(lambda x: x)(1)}{a, *b}'"), "(fstring (field (call (lambda ((param x)) x) 1)) (field (tuple a (* b))))");
  EXPECT_EQ(P("f'{}'"), "1:4: f-string: valid expression required before '}'");
  EXPECT_EQ(P("f'{x!q}'"), "1:6: f-string: invalid conversion character 'q': expected 's', 'r', or 'a'");
  EXPECT_EQ(P("f'{x y}'"), "1:6: f-string: expecting '}'");
}

TEST(ParserTest, Displays) {
  EXPECT_EQ(E("[a, *b, (c,), (), []]"), "(list a (* b) (tuple c) (tuple) (list))");
  EXPECT_EQ(E("{a: b, **c}"), "(dict (: a b) (** c))");
  EXPECT_EQ(E("{a, *b}"), "(set a (* b))");
  EXPECT_EQ(E("{}"), "(dict)");
  EXPECT_EQ(E("[x for x, y in z if x if y for w in x]"), "(list-comp x (for (tuple x y) z x y) (for w x))");
  EXPECT_EQ(E("{k: v for k, v in d.items()}"), "(dict-comp k v (for (tuple k v) (call (. d items))))");
  EXPECT_EQ(E("f(x for x in y)"), "(call f (generator x (for x y)))");
  EXPECT_EQ(E("(y := f(x), y)"), "(tuple (:= y (call f x)) y)");
}

TEST(ParserTest, Subscripts) {
  EXPECT_EQ(E("x[:, None]"), "([] x (tuple (slice _ _ _) None))");
  EXPECT_EQ(E("x[1:2:3, ::2, a]"), "([] x (tuple (slice 1 2 3) (slice _ _ 2) a))");
  EXPECT_EQ(E("kernel[grid](x, n=1, *a, **k)"), "(call ([] kernel grid) x (= n 1) (* a) (** k))");
}

TEST(ParserTest, FunctionsAndClasses) {
  EXPECT_EQ(P("@triton.jit\ndef f(x, /, y: int = 1, *a, z, w=2, **k) -> int:\n    'doc'\n    return x\n"),
            "(def f ((positional x) (param y : int = 1) (* a) (keyword z) (keyword w = 2) (** k)) -> int @ (. triton jit) "
            "((expr \"doc\") (return x)))");
  EXPECT_EQ(P("def f(a, *, b): pass"), "(def f ((param a) (keyword b)) (pass))");
  EXPECT_EQ(P("class A(B, metaclass=M):\n  x: int = 1\n  def f(self): pass\n"),
            "(class A (bases B (= metaclass M)) ((annotate x int 1) (def f ((param self)) (pass))))");
  EXPECT_EQ(P("async def f():\n  async with a as b: await c\n  async for x in y: pass\n  return [z async for z in w]"),
            "(async-def f () ((async-with (item a b) ((expr (await c)))) (async-for x y (pass)) (return (list-comp z (async-for z w)))))");
  EXPECT_EQ(P("def f[T: int](x: T) -> T: return x"), "(def f ((param x : T)) -> T ((return x)))");
  EXPECT_EQ(E("lambda x, *y, z=1: (yield)"), "(lambda ((param x) (* y) (keyword z = 1)) (yield))");
}

TEST(ParserTest, SimpleStatements) {
  EXPECT_EQ(P("a = b = c, d"), "(assign (a b) (tuple c d))");
  EXPECT_EQ(P("a, (b, *c) = d"), "(assign ((tuple a (tuple b (* c)))) d)");
  EXPECT_EQ(P("a.b[c] += d; e **= f"), "(+= ([] (. a b) c) d)\n(**= e f)");
  EXPECT_EQ(P("x: tl.constexpr = 1"), "(annotate x (. tl constexpr) 1)");
  EXPECT_EQ(P("import a.b as c, d"), "(import a.b as c d)");
  EXPECT_EQ(P("from ...a import (b as c, d,)"), "(from ...a b as c d)");
  EXPECT_EQ(P("from . import *"), "(from . *)");
  EXPECT_EQ(P("del a, b[0]"), "(del a ([] b 0))");
  EXPECT_EQ(P("raise A from b"), "(raise A b)");
  EXPECT_EQ(P("assert a, 'm'"), "(assert a \"m\")");
  EXPECT_EQ(P("nonlocal a"), "1:1: nonlocal declaration not allowed at module level");
  EXPECT_EQ(P("def f():\n  class A:\n    nonlocal a"), "(def f () ((class A (bases) ((nonlocal a)))))");
  EXPECT_EQ(P("def f():\n  global a\n  nonlocal b"), "(def f () ((global a) (nonlocal b)))");
}

TEST(ParserTest, CompoundStatements) {
  EXPECT_EQ(P("if a: b\nelif c: d\nelse: e"), "(if a ((expr b)) c ((expr d)) (else (expr e)))");
  EXPECT_EQ(P("for i, j in a, b:\n  break\nelse:\n  pass"), "(for (tuple i j) (tuple a b) (break) (else pass))");
  EXPECT_EQ(P("while True:\n  continue"), "(while True (continue))");
  EXPECT_EQ(P("try:\n  a\nexcept (B, C) as d:\n  e\nexcept:\n  f\nelse:\n  g\nfinally:\n  h"),
            "(try ((expr a)) (except (tuple B C) as d ((expr e))) (except ((expr f))) (else (expr g)) (finally (expr h)))");
  EXPECT_EQ(P("with a as b, c: pass"), "(with (item a b) (item c) (pass))");
  EXPECT_EQ(P("with (a as b, c,): pass"), "(with (item a b) (item c) (pass))");
  EXPECT_EQ(P("with (a, b) as c: pass"), "(with (item (tuple a b) c) (pass))");
  EXPECT_EQ(P("with (a).b: pass"), "(with (item (. a b)) (pass))");
}

TEST(ParserTest, WhatTheFrontEndDoesNotTakeStillLoads) {
  EXPECT_EQ(P("match x:\n  case 1:\n    pass\n  case _:\n    if y:\n      z\nw"), "(opaque \"match statements are not supported\")\n(expr w)");
  EXPECT_EQ(P("match = 1\nmatch(x)\nmatch[x]: int\n"), "(assign (match) 1)\n(expr (call match x))\n(annotate ([] match x) int)");
  EXPECT_EQ(P("type X[T] = list[T]\ntype = 1"), "(opaque \"type alias statements are not supported\")\n(assign (type) 1)");
}

TEST(ParserTest, Errors) {
  EXPECT_EQ(P("x = = 1"), "1:5: invalid syntax");
  EXPECT_EQ(P("f() = 1"), "1:1: cannot assign to function call here. Maybe you meant '==' instead of '='?");
  EXPECT_EQ(P("1 += x"), "1:1: 'literal' is an illegal expression for augmented assignment");
  EXPECT_EQ(P("(a, b): int"), "1:1: only single target (not tuple) can be annotated");
  EXPECT_EQ(P("for f() in x: pass"), "1:5: cannot assign to function call");
  EXPECT_EQ(P("del f()"), "1:5: cannot delete function call");
  EXPECT_EQ(P("*a, *b = c"), "1:1: multiple starred expressions in assignment");
  EXPECT_EQ(P("*a = c"), "1:1: starred assignment target must be in a list or tuple");
  EXPECT_EQ(P("if x = 1: pass"), "1:4: invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
  EXPECT_EQ(P("if x\n  pass"), "1:5: expected ':'");
  EXPECT_EQ(P("if x:\npass"), "2:1: expected an indented block after 'if' statement on line 1");
  EXPECT_EQ(P("def f():\n"), "2:1: expected an indented block after function definition on line 1");
  EXPECT_EQ(P("x\n  y"), "2:3: unexpected indent");
  EXPECT_EQ(P("f(a=1, b)"), "1:8: positional argument follows keyword argument");
  EXPECT_EQ(P("f(a=1, a=2)"), "1:8: keyword argument repeated: a");
  EXPECT_EQ(P("f(x for x in y, 1)"), "1:3: Generator expression must be parenthesized");
  EXPECT_EQ(P("f(a b)"), "1:5: invalid syntax. Perhaps you forgot a comma?");
  EXPECT_EQ(P("def f(a=1, b): pass"), "1:12: parameter without a default follows parameter with a default");
  EXPECT_EQ(P("def f(a, a): pass"), "1:10: duplicate argument 'a' in function definition");
  EXPECT_EQ(P("def f(*): pass"), "1:7: named arguments must follow bare *");
  EXPECT_EQ(P("try:\n  a\nb"), "3:1: expected 'except' or 'finally' block");
  EXPECT_EQ(P("print 'x'"), "1:1: Missing parentheses in call to 'print'. Did you mean print(...)?");
  EXPECT_EQ(P("return 1"), "1:1: 'return' outside function");
  EXPECT_EQ(P("break"), "1:1: 'break' outside loop");
  EXPECT_EQ(P("for x in y:\n  def f():\n    continue"), "3:5: 'continue' not properly in loop");
  EXPECT_EQ(P("a if b"), "1:1: expected 'else' after 'if' expression");
  EXPECT_EQ(P("{a: }"), "1:3: expression expected after dictionary key and ':'");
  EXPECT_EQ(P("from a import b,\n"), "1:16: trailing comma not allowed without surrounding parentheses");
  EXPECT_EQ(P("x = b'a' 'c'"), "1:5: cannot mix bytes and nonbytes literals");
  EXPECT_EQ(P("x = '\\x4'"), "1:5: (unicode error) truncated \\xXX escape");
  EXPECT_EQ(P("@f\nx = 1"), "2:1: invalid syntax");
}

TEST(ParserTest, TheFirstErrorWins) {
  EXPECT_EQ(P("x = = 1\ny = '"), "1:5: invalid syntax");
  EXPECT_EQ(P("x = 1\ny = '"), "2:5: unterminated string literal (detected at line 2)");
  // A bracket left open swallows what follows; that is the place to show.
  EXPECT_EQ(P("x = (1,\ny = 2\n"), "1:5: '(' was never closed");
}

TEST(ParserTest, NestingIsBounded) {
  EXPECT_EQ(P(absl::StrCat(std::string(200, '('), "x", std::string(200, ')'))), "(expr x)");
  EXPECT_TRUE(absl::StrContains(P(std::string(100000, '(')), "too many nested parentheses"));
  EXPECT_TRUE(absl::StrContains(P(absl::StrCat(std::string(100000, '-'), "x")), "too many nested expressions"));
  EXPECT_TRUE(absl::StrContains(P(absl::StrCat(std::string(100000, '~'), "x")), "too many nested expressions"));
  std::string nots;
  std::string lambdas;
  std::string arms;
  std::string powers;
  std::string sums = "x";
  std::string calls = "x";
  std::string elifs = "if a: b\n";
  for (int i = 0; i < 20000; ++i) {
    nots += "not ";
    lambdas += "lambda: ";
    arms += "a if b else ";
    powers += "a ** ";
    sums += " + x";
    calls += "()";
    elifs += "elif a: b\n";
  }
  EXPECT_TRUE(absl::StrContains(P(absl::StrCat(nots, "x")), "too many nested expressions"));
  EXPECT_TRUE(absl::StrContains(P(absl::StrCat(lambdas, "x")), "too many nested expressions"));
  EXPECT_TRUE(absl::StrContains(P(absl::StrCat(arms, "x")), "too many nested expressions"));
  EXPECT_TRUE(absl::StrContains(P(absl::StrCat(powers, "x")), "too many nested expressions"));
  EXPECT_TRUE(absl::StartsWith(P(sums), "(expr (+ (+")) << P(sums).substr(0, 80);  // chains of operators have no limit
  EXPECT_TRUE(absl::StrContains(P(calls), "expression is too deeply nested"));
  EXPECT_TRUE(absl::StartsWith(P(elifs), "(if a"));
}

TEST(ParserTest, Spans) {
  absl::StatusOr<Tree> tree = Parse("x = (a +\n  f(b))\n", 0);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(PrintTree(*tree, /*spans=*/true),
            "(assign (x@1:1-1:2) (+ a@1:6-1:7 (call f@2:3-2:4 b@2:5-2:6)@2:3-2:7)@1:6-2:7)@1:1-2:8\n");
}

}  // namespace
}  // namespace tilevm::triton
