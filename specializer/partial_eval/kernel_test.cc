// Specialization: straight-line code, dynamic control flow, helpers, errors.
#include "specializer/partial_eval/testing.h"

#include "gmock/gmock.h"

namespace tilevm::specializer {
namespace {

using testing::HasSubstr;

Reg Arange(Program& p, int64_t n) {
  const Reg lo = p.Int(0);
  return p.Emit(Op::kArange, {lo, p.Int(n)});
}

TEST(Kernel, StraightLine) {
  Program p;
  p.Kernel("add", {"x", "y", "n"});
  const Reg pid = p.Bind("pid", p.Emit(Op::kProgramId, {p.Int(0)}));
  const Reg offs = p.Bind("offs", p.Emit(Op::kAdd, {p.Emit(Op::kMul, {pid, p.Int(8)}), Arange(p, 8)}));
  const Reg mask = p.Bind("mask", p.Emit(Op::kLt, {offs, 2}));
  const Reg x = p.Emit(Op::kLoad, {p.Emit(Op::kAdd, {0, offs}), mask});
  p.Do(Op::kStore, {p.Emit(Op::kAdd, {1, offs}), p.Emit(Op::kMul, {x, p.Float(2)}), mask});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "add", {Typed("ptr<f32>:16"), Typed("ptr<f32>"), Typed("i32")});
  EXPECT_THAT(text, HasSubstr("kernel add(%x: ptr<f32> {divisibility = 16}, %y: ptr<f32>, %n: i32)"));
  EXPECT_THAT(text, HasSubstr("%offs: tile<8xi32> = add"));
  EXPECT_THAT(text, HasSubstr("store"));
}

TEST(Kernel, StaticValuesStayWeakUntilBound) {
  Program p;
  p.Kernel("k", {"B"});
  const Reg product = p.Emit(Op::kMul, {0, p.Int(2)});
  p.Emit(Op::kArange, {p.Int(0), product});
  p.Emit(Op::kArange, {p.Int(0), p.Bind("y", 0)});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Static(Value::Int(4))}), HasSubstr("error: arange:"));
}

TEST(Kernel, DynamicIfMergesAndUnbinds) {
  Program p;
  p.Kernel("k", {"x", "n"});
  const Reg a = p.Bind("a", p.Int(1));
  std::vector<Reg> r = p.Regions(Op::kIf, {p.Emit(Op::kGt, {1, p.Int(3)})}, 2,
                                 {{0, [&](auto&) {
                                     const Reg b = p.Bind("a", p.Int(2));
                                     p.Yield({b, p.Bind("z", p.Int(7))});
                                   }},
                                  {0, [&](auto&) { p.Yield({a, p.Unbound("z")}); }}});
  p.Do(Op::kStore, {0, r[0]});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")});
  EXPECT_THAT(text, HasSubstr(": i32 = if %4"));

  Program q;
  q.Kernel("k", {"x", "n"});
  r = q.Regions(Op::kIf, {q.Emit(Op::kGt, {1, q.Int(3)})}, 1,
                {{0, [&](auto&) { q.Yield({q.Bind("z", q.Int(7))}); }}, {0, [&](auto&) { q.Yield({q.Unbound("z")}); }}});
  q.Do(Op::kStore, {0, r[0]});
  q.Return();
  q.End();
  EXPECT_THAT(SpecializeText(q, "k", {Typed("ptr<i32>"), Typed("i32")}), HasSubstr("name 'z' is not defined here"));
}

TEST(Kernel, DynamicIfTypeErrorNamesBoth) {
  Program p;
  p.Kernel("k", {"x", "n"});
  p.Regions(Op::kIf, {p.Emit(Op::kGt, {1, p.Int(3)})}, 1,
            {{0, [&](auto&) { p.Yield({p.Bind("z", p.Int(7))}); }}, {0, [&](auto&) { p.Yield({p.Bind("z", p.Float(7))}); }}});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")}), HasSubstr("'z' is f32 in the else branch, but i32 in the then branch"));
}

TEST(Kernel, LoopCarriesAndDropsInvariants) {
  Program p;
  p.Kernel("k", {"x", "n"});
  const Reg acc = p.Bind("acc", p.Float(0));
  const Reg range = p.Call(p.Path("triton.language.range"), {p.Int(0), 1, p.Int(2), p.Int(3)}, {"num_stages"});
  std::vector<Reg> r = p.Regions(Op::kFor, {range, acc, 0}, 2, {{3, [&](const std::vector<Reg>& args) {
    const Reg v = p.Emit(Op::kLoad, {p.Emit(Op::kAdd, {args[2], args[0]})});
    p.Yield({p.Bind("acc", p.Emit(Op::kAdd, {args[1], v})), args[2]});
  }}});
  p.Do(Op::kStore, {r[1], r[0]});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "k", {Typed("ptr<f32>"), Typed("i64")});
  EXPECT_THAT(text, HasSubstr("for"));
  EXPECT_THAT(text, HasSubstr("num_stages = 3"));
  EXPECT_THAT(text, HasSubstr("ptr_add %x"));
}

TEST(Kernel, LoopTypeChangeIsAnError) {
  Program p;
  p.Kernel("k", {"n"});
  const Reg acc = p.Bind("acc", p.Int(0));
  const Reg range = p.Call(p.Global("range"), {0});
  p.Regions(Op::kFor, {range, acc}, 1, {{2, [&](const std::vector<Reg>& args) { p.Yield({p.Bind("acc", p.Emit(Op::kAdd, {args[1], p.Float(1)}))}); }}});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("i32")}), HasSubstr("'acc' is f32 at the end of the loop's body, but i32 before the loop"));
}

TEST(Kernel, EarlyReturnIsAnExit) {
  Program p;
  p.Kernel("k", {"x", "n"});
  p.Regions(Op::kIf, {p.Emit(Op::kGt, {1, p.Int(3)})}, 0, {{0, [&](auto&) { p.Return(); }}, {0, [&](auto&) { p.Yield({}); }}});
  p.Do(Op::kStore, {0, p.Int(1)});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")});
  EXPECT_THAT(text, HasSubstr("block"));
  EXPECT_THAT(text, HasSubstr("exit"));
}

TEST(Kernel, BreakAndContinueInDynamicLoop) {
  Program p;
  p.Kernel("k", {"x", "n"});
  const Reg acc = p.Bind("acc", p.Int(0));
  const Reg range = p.Call(p.Global("range"), {1});
  std::vector<Reg> r = p.Regions(Op::kFor, {range, acc}, 1, {{2, [&](const std::vector<Reg>& args) {
    p.Regions(Op::kIf, {p.Emit(Op::kGt, {args[0], p.Int(3)})}, 0, {{0, [&](auto&) { p.Do(Op::kBreak, {args[1]}); }}, {0, [&](auto&) { p.Yield({}); }}});
    p.Regions(Op::kIf, {p.Emit(Op::kGt, {args[0], p.Int(2)})}, 0, {{0, [&](auto&) { p.Do(Op::kContinue, {args[1]}); }}, {0, [&](auto&) { p.Yield({}); }}});
    p.Yield({p.Bind("acc", p.Emit(Op::kAdd, {args[1], p.Int(1)}))});
  }}});
  p.Do(Op::kStore, {0, r[0]});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")});
  EXPECT_THAT(text, HasSubstr("depth = 1"));
}

TEST(Kernel, HelperWithEarlyReturnAndConstness) {
  Program p;
  p.Function("twice", {"a"});
  p.Return({p.Emit(Op::kMul, {0, p.Int(2)})});
  p.End();
  p.Function("pick", {"a"});
  p.Regions(Op::kIf, {p.Emit(Op::kGt, {0, p.Int(3)})}, 0, {{0, [&](auto&) { p.Return({p.Int(1)}); }}, {0, [&](auto&) { p.Yield({}); }}});
  p.Return({p.Int(2)});
  p.End();
  p.Kernel("k", {"x", "n"});
  p.Emit(Op::kArange, {p.Int(0), p.Call(p.Global("twice"), {p.Int(8)})});
  p.Do(Op::kStore, {0, p.Call(p.Global("pick"), {1})});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")});
  EXPECT_THAT(text, HasSubstr("end = 16"));
  EXPECT_THAT(text, HasSubstr("= block"));
}

TEST(Kernel, RecursionIsRefused) {
  Program p;
  p.Function("f", {"a"});
  p.Return({p.Call(p.Global("f"), {0})});
  p.End();
  p.Kernel("k", {"n"});
  p.Call(p.Global("f"), {0});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("i32")}), HasSubstr("recursion is not supported"));
}

TEST(Kernel, PlainGlobalsAreRefused) {
  Program p;
  p.Cell({"N"});
  p.SetGlobal("N", p.Int(4));
  p.End();
  p.Cell({"C"});
  p.SetGlobal("C", p.Call(p.Path("triton.language.constexpr"), {p.Int(4)}));
  p.End();
  p.Kernel("bad", {});
  p.Global("N");
  p.Return();
  p.End();
  p.Kernel("good", {});
  p.Emit(Op::kArange, {p.Int(0), p.Global("C")});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "bad", {}), HasSubstr("cannot read the global 'N'"));
  EXPECT_THAT(SpecializeText(p, "good", {}), HasSubstr("end = 4"));
}

TEST(Kernel, CallsByNameMatchTheRow) {
  Program p;
  p.Kernel("k", {"x"});
  const Reg v = p.Call(p.Path("triton.language.load"), {0, p.Float(0)}, {"foo"});
  p.Do(Op::kStore, {0, v});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("ptr<f32>")}), HasSubstr("tl.load() got an unexpected keyword argument 'foo'"));
}

TEST(Kernel, DeadBranchesAreNotVisited) {
  Program p;
  p.Kernel("k", {"flag"});
  p.Regions(Op::kIf, {0}, 0, {{0, [&](auto&) {
                                 p.Call(p.Global("missing"), {});
                                 p.Yield({});
                               }},
                              {0, [&](auto&) { p.Yield({}); }}});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Static(Value::Bool(false))}), HasSubstr("kernel k"));
  EXPECT_THAT(SpecializeText(p, "k", {Static(Value::Bool(true))}), HasSubstr("name 'missing' is not defined"));
  EXPECT_THAT(SpecializeText(p, "k", {Static(Value::String("a"))}), HasSubstr("must be bool, int or None"));
}

TEST(Kernel, DeadAssignmentInLoopKeepsConstexpr) {
  Program p;
  p.Kernel("k", {"n", "B", "flag"});
  const Reg range = p.Call(p.Global("range"), {0});
  p.Regions(Op::kFor, {range, 1}, 1, {{2, [&](const std::vector<Reg>& args) {
    std::vector<Reg> r = p.Regions(Op::kIf, {2}, 1, {{0, [&](auto&) { p.Yield({p.Bind("B", p.Int(3))}); }}, {0, [&](auto&) { p.Yield({args[1]}); }}});
    p.Emit(Op::kArange, {p.Int(0), args[1]});
    p.Yield({r[0]});
  }}});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("i32"), Static(Value::Int(4)), Static(Value::Bool(false))}), HasSubstr("end = 4"));
  EXPECT_THAT(SpecializeText(p, "k", {Typed("i32"), Static(Value::Int(4)), Static(Value::Bool(true))}), HasSubstr("error: arange:"));
}

TEST(Kernel, ParameterEqualToOneMayBeReassigned) {
  Program p;
  p.Kernel("k", {"x", "n", "N"});
  const Reg range = p.Call(p.Global("range"), {1});
  std::vector<Reg> r =
      p.Regions(Op::kFor, {range, 2}, 1, {{2, [&](const std::vector<Reg>& args) {
                                             p.Regions(Op::kIf, {p.Emit(Op::kGt, {args[0], p.Int(5)})}, 0,
                                                       {{0, [&](auto&) { p.Do(Op::kBreak, {p.Bind("N", p.Int(9))}); }}, {0, [&](auto&) { p.Yield({}); }}});
                                             p.Yield({p.Bind("N", p.Emit(Op::kAdd, {args[1], p.Int(1)}))});
                                           }}});
  p.Do(Op::kStore, {0, r[0]});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32"), Static(Value::Int(1))});
  EXPECT_THAT(text, HasSubstr("for"));
  EXPECT_THAT(text, HasSubstr("exit"));
}

TEST(Kernel, ReturnInsideALoopLeavesTheHelper) {
  Program p;
  p.Function("first", {"n"});
  const Reg range = p.Call(p.Global("range"), {0});
  p.Regions(Op::kFor, {range}, 0, {{1, [&](const std::vector<Reg>& args) {
    p.Regions(Op::kIf, {p.Emit(Op::kGt, {args[0], p.Int(5)})}, 0, {{0, [&](auto&) { p.Return({args[0]}); }}, {0, [&](auto&) { p.Yield({}); }}});
    p.Yield({});
  }}});
  p.Return({p.Int(7)});
  p.End();
  p.Kernel("k", {"x", "n"});
  p.Do(Op::kStore, {0, p.Call(p.Global("first"), {1})});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")}), HasSubstr(": i32 = block"));
}

TEST(Kernel, BreakOutOfAnUnrolledLoop) {
  Program p;
  p.Kernel("k", {"x", "n"});
  const Reg acc = p.Bind("acc", p.Int(0));
  const Reg range = p.Call(p.Path("triton.language.static_range"), {p.Int(3)});
  std::vector<Reg> r = p.Regions(Op::kFor, {range, acc}, 1, {{2, [&](const std::vector<Reg>& args) {
    p.Regions(Op::kIf, {p.Emit(Op::kGt, {1, args[0]})}, 0, {{0, [&](auto&) { p.Do(Op::kBreak, {args[1]}); }}, {0, [&](auto&) { p.Yield({}); }}});
    p.Yield({p.Bind("acc", p.Emit(Op::kAdd, {args[1], args[0]}))});
  }}});
  p.Do(Op::kStore, {0, r[0]});
  p.Return();
  p.End();
  const std::string text = SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")});
  EXPECT_THAT(text, HasSubstr("block"));
  EXPECT_THAT(text, testing::Not(HasSubstr("for")));
}

TEST(Kernel, WhileCarriesItsCondition) {
  Program p;
  p.Kernel("k", {"x", "n"});
  std::vector<Reg> r = p.Regions(Op::kWhile, {1}, 1,
                                 {{1, [&](const std::vector<Reg>& args) { p.Yield({p.Emit(Op::kGt, {args[0], p.Int(0)}), args[0]}); }},
                                  {1, [&](const std::vector<Reg>& args) { p.Yield({p.Bind("n", p.Emit(Op::kSub, {args[0], p.Int(1)}))}); }}});
  p.Do(Op::kStore, {0, r[0]});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")}), HasSubstr("while"));
}

TEST(Kernel, TuplesAndDescriptorsBecomeParameters) {
  Program p;
  p.Kernel("k", {"t", "d"});
  p.Do(Op::kStore, {p.Emit(Op::kIndex, {0, p.Int(0)}), p.Attr(0, "scale")});
  p.Method(1, "load", {p.Emit(Op::kMakeTuple, {p.Int(0), p.Int(0)})});
  p.Return();
  p.End();
  ArgSpec tuple;
  tuple.kind = ArgSpec::Kind::kTuple;
  tuple.class_name = "T";
  tuple.field_names = {"ptr", "scale"};
  tuple.items = {Typed("ptr<f32>"), Typed("f32")};
  ArgSpec descriptor;
  descriptor.kind = ArgSpec::Kind::kDescriptor;
  descriptor.dtype = isa::DType::kF16;
  descriptor.block_shape = {16, 16};
  const std::string text = SpecializeText(p, "k", {tuple, descriptor});
  EXPECT_THAT(text, HasSubstr("%t.ptr: ptr<f32>"));
  EXPECT_THAT(text, HasSubstr("%d.shape1: i32, %d.stride0: i64 {divisibility = 8}"));
}

TEST(Kernel, ErrorsCarryTheCallSites) {
  Program p;
  p.Function("helper", {"a"});
  p.Return({p.Emit(Op::kExp, {0})});
  p.End();
  p.Kernel("k", {"n"});
  p.Call(p.Global("helper"), {0});
  p.Return();
  p.End();
  Evaluator evaluator(&p.module, nullptr);
  absl::StatusOr<Value> kernel = evaluator.Global("k");
  ASSERT_TRUE(kernel.ok());
  SpecializationKey key;
  key.args = {Typed("f16")};
  const absl::Status status = evaluator.Specialize(*kernel, key).status();
  EXPECT_EQ(LocOf(status).line, 2);
  EXPECT_THAT(FormatDiagnostic(status, p.module.files), HasSubstr("test.py:6:1"));
}

TEST(Kernel, TernaryIsLazyAndTyped) {
  Program p;
  p.Kernel("k", {"x", "n"});
  std::vector<Reg> r = p.Regions(Op::kTernary, {p.Emit(Op::kGt, {1, p.Int(0)})}, 1,
                                 {{0, [&](auto&) { p.Yield({p.Emit(Op::kLoad, {0})}); }}, {0, [&](auto&) { p.Yield({p.Int(4)}); }}});
  p.Do(Op::kStore, {0, r[0]});
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {Typed("ptr<i32>"), Typed("i32")}), HasSubstr("i32 = if"));
  EXPECT_THAT(SpecializeText(p, "k", {Typed("ptr<f32>"), Typed("i32")}), HasSubstr("is i32 in the else branch, but f32 in the then branch"));
}

TEST(Kernel, ConstexprCannotBeRedeclared) {
  Program p;
  p.Kernel("k", {});
  p.BindConst("a", p.Int(1));
  p.BindConst("a", p.Int(2));
  p.Return();
  p.End();
  EXPECT_THAT(SpecializeText(p, "k", {}), HasSubstr("'a' is already defined; a constexpr cannot be reassigned"));
}

}  // namespace
}  // namespace tilevm::specializer
