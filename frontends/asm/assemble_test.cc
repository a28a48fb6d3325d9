// Assembling and printing are inverses; every slip in a text is named at its place.
#include "frontends/asm/assemble.h"

#include <string>

#include "gtest/gtest.h"
#include "isa/print.h"
#include "isa/verifier.h"

namespace tilevm::assembly {
namespace {

using isa::Module;
using isa::Print;

// Assembles, prints, assembles again: the same program, and the same text from then on.
std::string RoundTrip(absl::string_view text) {
  absl::StatusOr<Module> module = Assemble(text, "test.tasm");
  if (!module.ok()) return FormatDiagnostic(module.status(), {{"test.tasm", std::string(text)}});
  std::string printed = Print(*module);
  absl::StatusOr<Module> again = Assemble(printed, "printed.tasm");
  if (!again.ok()) return printed + FormatDiagnostic(again.status(), {{"printed.tasm", printed}});
  EXPECT_TRUE(isa::SameProgram(*module, *again)) << printed << "\n-----\n" << Print(*again);
  EXPECT_EQ(printed, Print(*again));
  return printed;
}

std::string ErrorOf(absl::string_view text) {
  absl::StatusOr<Module> module = Assemble(text, "t");
  if (module.ok()) return "assembled";
  return FormatDiagnostic(module.status(), {{"t", ""}});
}

// In one kernel of two parameters.
std::string ErrorOfLine(absl::string_view line) { return ErrorOf(absl::StrCat("kernel (x: ptr<f32>, n: i32)\n    ", line, "\n")); }

TEST(AssembleTest, CanonicalTextIsKept) {
  const char* text =
      "kernel (x: ptr<f32>, y: ptr<f32>, n: i32, B: constexpr)\n"
      "    %pid := program_id 0\n"
      "    %0 = mul %pid, %B\n"
      "    %1 = arange 0, %B\n"
      "    %offs := add %0, %1\n"
      "    %mask = bind 5\n"
      "    %2 = load %x, mask=%mask, other=-inf\n"
      "    %3 = load %x, cache_modifier=\".cg\"\n"
      "    %4 = fma %2, %3, 1.5\n"
      "    store %y, %4, mask=%mask\n";
  EXPECT_EQ(RoundTrip(text), text);
}

TEST(AssembleTest, PositionalOptionalsCommentsAndOddIndentation) {
  EXPECT_EQ(RoundTrip("# a comment\n\nkernel f (x: ptr<f32>,   # first\n    m)\n  %v = load %x, %m, 0x10  # load\n\n  store %x,%v,%m\n"),
            "kernel f (x: ptr<f32>, m)\n"
            "    %0 = load %x, mask=%m, other=16\n"
            "    store %x, %0, mask=%m\n");
}

TEST(AssembleTest, Literals) {
  const char* text =
      "kernel ()\n"
      "    %0 = make_tuple 1, -170141183460469231731687303715884105728, 1.0, 1e-300, inf, -inf, nan, nan:0xfff8000000000001, -0.0\n"
      "    %1 = make_list \"a\\\"b\\\\\\n\\x01\", True, False, None, ..., f32, f8e4m3, @torch.nn.relu, @\"a b\"\n"
      "    %2 = const \"\xe9\xaa\x8c\"\n"
      "    %3 = add %2, %2\n";
  EXPECT_EQ(RoundTrip(text), text);
}

TEST(AssembleTest, ConstantsThatAreReadTwiceOrElsewhereAreWrittenOut) {
  const char* text =
      "kernel (x)\n"
      "    %0 = const 1\n"
      "    %1 = const 2\n"
      "    %2 = add %x, %1\n"
      "    %3 = mul %2, %1\n"
      "    %4 = const 3\n"
      "    %5 = sub 4, %4\n"
      "    %6 = add %0, %5\n"
      "    %7 = const 9\n"
      "    if %6\n"
      "        store %x, %7\n";
  EXPECT_EQ(RoundTrip(text), text);
}

TEST(AssembleTest, Regions) {
  const char* text =
      "kernel (x, n, c)\n"
      "    %0 = global range\n"
      "    %1 = call %0, 0, %n, 1\n"
      "    %acc.2, %2 = for %3 in %1 carry(%acc = 0.0, %4 = %x)\n"
      "        %acc.1 := add %acc, 1\n"
      "        if %c\n"
      "            break %acc.1, %4\n"
      "        else\n"
      "            store %4, %acc.1\n"
      "        %5 = add %4, 16\n"
      "        yield %acc.1, %5\n"
      "    %i.2 = while carry(%i = 0)\n"
      "        %6 = lt %i, 10\n"
      "        yield %6, %i\n"
      "    body %i.1\n"
      "        %i.3 := add %i.1, 1\n"
      "        yield %i.3\n"
      "    %m := ternary %c\n"
      "        yield 1\n"
      "    else\n"
      "        yield 2\n"
      "    %7 = and %c\n"
      "        yield %n\n"
      "    assert %7\n"
      "    assert %7\n"
      "        yield \"message\"\n"
      "    %8 = collect %1, 2 do %9\n"
      "        %10 = make_list %9\n"
      "        yield %10\n"
      "    while\n"
      "        yield True\n"
      "    if %c\n"
      "        yield\n"
      "    else\n"
      "        return %8\n"
      "    with %c do %11\n"
      "        store %x, %11\n"
      "    try\n"
      "        store %x, 0\n"
      "    handler %12\n"
      "        raise %12\n";
  std::string printed = RoundTrip(text);
  EXPECT_NE(printed.find("body %i.1"), std::string::npos) << printed;
  EXPECT_NE(printed.find("    while\n        yield True\n    if %c\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("    assert %7\n    assert %7\n        yield \"message\"\n"), std::string::npos) << printed;
}

TEST(AssembleTest, RangeLoopIsShortForACall) {
  EXPECT_EQ(RoundTrip("kernel (n, p)\n    for %k in range(0, %n)\n        store %p, %k\n"),
            "kernel (n, p)\n"
            "    %0 = global range\n"
            "    %1 = call %0, 0, %n\n"
            "    for %2 in %1\n"
            "        store %p, %2\n");
}

TEST(AssembleTest, VariadicOperandsAndKeywords) {
  const char* text =
      "kernel (x, y, fn)\n"
      "    %0 = reduce %x, 0, %fn, keep_dims=True\n"
      "    %1, %2 = associative_scan %x, %y, 1, %fn\n"
      "    device_print \"v\", %0, %1, hex=True\n"
      "    device_print \"w\"\n"
      "    %3 = call @f, %x, key=%y, \"odd key\"=2\n"
      "    call_method %3, numel, 1, a=2\n"
      "    %4, %5 = unpack %3\n"
      "    %6, %7 = unpack %3, 2\n"
      "    %8 = make_class C, %4, attr=%5\n"
      "    set_attr %8, field, 3\n"
      "    %9 = make_slice stop=%6\n"
      "    %10 = getattr %9, \"odd name\"\n"
      "    set_global %10, g\n"
      "    %11 = bind %7, \"odd name\"\n"
      "    %12 = add %11, %11\n";
  EXPECT_EQ(RoundTrip(text), text);
}

TEST(AssembleTest, UnitsFunctionsAndCells) {
  const char* text =
      "unit \"__main__\"\n"
      "import tl = triton.language\n"
      "import h = \"unit:1.helper\"\n"
      "\n"
      "unit \"lib\"\n"
      "\n"
      "function helper (x, /, y: i32, z: \"torch.Tensor\" = _, *args, w: constexpr, **kw)\n"
      "    return %x\n"
      "\n"
      "cell [helper, other]\n"
      "    %0 = make_function $helper, 1\n"
      "    set_global %0, helper\n"
      "\n"
      "unit \"__main__\"\n"
      "\n"
      "function \"<lambda>\" [n, m] (meta)\n"
      "    %0 = add %n, %m\n"
      "    return %0\n"
      "\n"
      "function \"<lambda>\" (*, a: constexpr \"tl.constexpr\")\n"
      "    return\n"
      "\n"
      "cell named\n"
      "    %0 = make_function $2, 1, 2\n"
      "    set_global %0, f\n"
      "\n"
      "cell\n"
      "    return\n";
  EXPECT_EQ(RoundTrip(text), text);
}

// Words of the language are names too, where a name is expected.
TEST(AssembleTest, NamesThatAreWordsOfTheLanguage) {
  const char* text =
      "import inf = numpy.inf\n"
      "\n"
      "function None [nan, do] (inf, f32 = _, carry: constexpr)\n"
      "    %0 = unbound do\n"
      "    %1 = global True\n"
      "    %2 = call %inf, inf, nan=%f32, do=%carry\n"
      "    %3 = collect %2 do %4\n"
      "        yield %4\n"
      "    %5 = make_tuple %0, %1, %3\n"
      "    return %5\n"
      "\n"
      "cell [inf, nan, do, else]\n"
      "    return\n";
  EXPECT_EQ(RoundTrip(text), text);
}

TEST(AssembleTest, ErrorsAreNamedAtTheirPlace) {
  EXPECT_EQ(ErrorOfLine("%v = add %x, %n, 3"),
            "t:2:10: error: add: takes operands (x, y), 3 given; signature (x: N[S], y: N[S]) -> N[S]\n");
  EXPECT_EQ(ErrorOfLine("%v = add %x"), "t:2:10: error: add: takes operands (x, y), 1 given; signature (x: N[S], y: N[S]) -> N[S]\n");
  EXPECT_EQ(ErrorOfLine("%v = ad %x, 1"), "t:2:10: error: unknown instruction ad\n");
  EXPECT_EQ(ErrorOfLine("%v = add %x, %z"), "t:2:18: error: register %z is not defined here\n");
  EXPECT_EQ(ErrorOfLine("%x = add %x, 1"), "t:2:5: error: register %x is already defined\n");
  EXPECT_EQ(ErrorOfLine("%v = exp2 %x, msk=1"), "t:2:19: error: exp2: no operand is named msk; signature (x: F[S]) -> F[S]\n");
  EXPECT_EQ(ErrorOfLine("%v = maximum %x, 1, y=1"), "t:2:25: error: maximum: operand y is given twice\n");
  EXPECT_EQ(ErrorOfLine("%v = store %x, 1"),
            "t:2:5: error: store has no result; signature (p: *T[S], value: T[S], mask: B[S]?, boundary_check: #?, cache_modifier: #?, "
            "eviction_policy: #?)\n");
  EXPECT_EQ(ErrorOfLine("%v = add %x, foo"), "t:2:18: error: an operand expected (a register %x or a literal), not foo\n");
  EXPECT_EQ(ErrorOfLine("%v = add %x, 99999999999999999999999999999999999999999"),
            "t:2:18: error: the integer 99999999999999999999999999999999999999999 does not fit in 128 bits\n");
  EXPECT_EQ(ErrorOfLine("%v = add %x, 1x"), "t:2:18: error: 1x is not a number\n");
  EXPECT_EQ(ErrorOfLine("%v = add %x, \"a"), "t:2:18: error: a string without its closing quote\n");
  EXPECT_EQ(ErrorOfLine("%v add %x"), "t:2:8: error: '=' expected, not add\n");
  EXPECT_EQ(ErrorOfLine("return\n    return"), "t:3:5: error: an instruction after return is never reached\n");
  EXPECT_EQ(ErrorOfLine("store %x, 1\n      store %x, 1"), "t:3:7: error: this line is not indented as the body that it stands in\n");
  EXPECT_EQ(ErrorOfLine("if %n"), "t:2:5: error: if: an indented body is missing\n");
  EXPECT_EQ(ErrorOfLine("%f = make_function $nothing"), "t:2:24: error: there is no function $nothing\n");
  EXPECT_EQ(ErrorOfLine("break"), "t:2:5: error: malformed program: function kernel: break outside a loop\n");
  EXPECT_EQ(ErrorOfLine("%a = if %n\n        yield\n    else\n        yield 1"),
            "t:3:9: error: malformed program: function kernel: yield gives 0 values, expected are 1\n");
  EXPECT_EQ(ErrorOf("kernel (x: f33)\n    return\n"),
            "t:1:12: error: unknown type f33; a type is f32, ptr<f32>, ... or constexpr, other annotations are quoted\n");
  EXPECT_EQ(ErrorOf("kernel (x\n"), "t:2:1: error: the text ends inside brackets\n");
  EXPECT_EQ(ErrorOf("store 1\n"), "t:1:1: error: kernel, function, cell, unit or import expected\n");
  EXPECT_EQ(ErrorOf("kernel ()\n\treturn\n"), "t:2:1: error: a tab in the indentation; indent with spaces\n");
  EXPECT_EQ(ErrorOf("kernel ()\n    %0 = exit_\n    ;\n"), "t:3:5: error: unexpected character \";\"\n");
  EXPECT_EQ(ErrorOf("kernel ()\n    %0 = splat 1\n"), "t:2:10: error: malformed program: function kernel: splat is no op of open bytecode\n");
}

TEST(AssembleTest, NestingIsLimited) {
  auto nested = [](int depth) {
    std::string text = "kernel (c)\n";
    for (int i = 1; i <= depth; ++i) absl::StrAppend(&text, std::string(i, ' '), i == depth ? "return\n" : "if %c\n");
    return text;
  };
  EXPECT_TRUE(Assemble(nested(isa::kMaxNesting), "t").ok());
  EXPECT_EQ(ErrorOf(nested(isa::kMaxNesting + 1)), "t:513:513: error: regions are nested more than 512 deep\n");
}

}  // namespace
}  // namespace tilevm::assembly
