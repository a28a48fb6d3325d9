// Host code: Python's meaning of operators, builtins, methods, classes, exceptions.
#include "specializer/partial_eval/testing.h"

#include "gmock/gmock.h"

namespace tilevm::specializer {
namespace {

using testing::HasSubstr;

class RecordingHost : public Host {
 public:
  void Print(absl::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

class HostTest : public testing::Test {
 protected:
  HostTest() : evaluator_(&program_.module, &host_) {}
  // The result of the function "f" (without parameters), as repr, or "error: message".
  std::string Run() {
    absl::StatusOr<Value> f = Function("f");
    if (!f.ok()) return std::string(f.status().message());
    absl::StatusOr<Value> value = evaluator_.Call(*f, {});
    return value.ok() ? Repr(*value) : "error: " + std::string(value.status().message());
  }
  absl::StatusOr<Value> Function(const std::string& name) {
    auto payload = std::make_shared<FunctionPayload>();
    payload->module = &program_.module;
    payload->function = static_cast<uint32_t>(program_.module.FindFunction(name));
    return Value::Shared(ValueKind::kFunction, payload);
  }
  std::string Op2(Op op, Value x, Value y) {
    absl::StatusOr<Value> value = evaluator_.Binary(op, x, y, {});
    return value.ok() ? Repr(*value) : "error: " + std::string(value.status().message());
  }
  std::string Builtin(const std::string& path, std::vector<Value> args, std::vector<std::pair<std::string, Value>> keyword = {}) {
    absl::StatusOr<Value> value = evaluator_.Call(Value::Builtin(path), CallArgs{std::move(args), std::move(keyword)});
    return value.ok() ? Repr(*value) : "error: " + std::string(value.status().message());
  }
  std::string Method(Value object, const std::string& name, std::vector<Value> args) {
    absl::StatusOr<Value> method = evaluator_.GetAttr(object, name, {});
    if (!method.ok()) return "error: " + std::string(method.status().message());
    absl::StatusOr<Value> value = evaluator_.Call(*method, CallArgs{std::move(args), {}});
    return value.ok() ? Repr(*value) : "error: " + std::string(value.status().message());
  }

  Program program_;
  RecordingHost host_;
  Evaluator evaluator_;
};

TEST_F(HostTest, IntegersAreFloorAndUnbounded) {
  EXPECT_EQ(Op2(Op::kFloorDiv, Value::Int(-7), Value::Int(2)), "-4");
  EXPECT_EQ(Op2(Op::kMod, Value::Int(-7), Value::Int(2)), "1");
  EXPECT_EQ(Op2(Op::kMod, Value::Int(7), Value::Int(-2)), "-1");
  EXPECT_EQ(Op2(Op::kTrueDiv, Value::Int(7), Value::Int(2)), "3.5");
  EXPECT_EQ(Op2(Op::kPow, Value::Int(2), Value::Int(100)), "1267650600228229401496703205376");
  EXPECT_EQ(Op2(Op::kPow, Value::Int(2), Value::Int(-1)), "0.5");
  EXPECT_EQ(Op2(Op::kShr, Value::Int(-5), Value::Int(1)), "-3");
  EXPECT_THAT(Op2(Op::kPow, Value::Int(10), Value::Int(40)), HasSubstr("OverflowError"));
  EXPECT_THAT(Op2(Op::kMul, Value::Int(absl::Int128Max()), Value::Int(2)), HasSubstr("OverflowError"));
  EXPECT_EQ(Op2(Op::kMul, Value::Int(absl::Int128Max()), Value::Int(-1)), "-170141183460469231731687303715884105727");
  EXPECT_THAT(Op2(Op::kMod, Value::Int(1), Value::Int(0)), HasSubstr("ZeroDivisionError"));
}

TEST_F(HostTest, FloatsPrintAsPython) {
  EXPECT_EQ(Repr(Value::Float(0.1)), "0.1");
  EXPECT_EQ(Repr(Value::Float(1e16)), "1e+16");
  EXPECT_EQ(Repr(Value::Float(123456.0)), "123456.0");
  EXPECT_EQ(Repr(Value::Float(1e-5)), "1e-05");
  EXPECT_EQ(Op2(Op::kFloorDiv, Value::Float(-7.5), Value::Int(2)), "-4.0");
  EXPECT_EQ(Op2(Op::kMod, Value::Float(-7.5), Value::Int(2)), "0.5");
}

TEST_F(HostTest, FormatSpecs) {
  EXPECT_EQ(Builtin("builtins.format", {Value::Float(3.14159), Value::String(".2f")}), "'3.14'");
  EXPECT_EQ(Builtin("builtins.format", {Value::Int(1234567), Value::String(",")}), "'1,234,567'");
  EXPECT_EQ(Builtin("builtins.format", {Value::Int(255), Value::String("#06x")}), "'0x00ff'");
  EXPECT_EQ(Builtin("builtins.format", {Value::String("ab"), Value::String(">5")}), "'   ab'");
  EXPECT_EQ(Builtin("builtins.format", {Value::Float(0.25), Value::String(".1%")}), "'25.0%'");
  EXPECT_EQ(Op2(Op::kMod, Value::String("%s=%03d"), Value::Tuple({Value::String("x"), Value::Int(7)})), "'x=007'");
  EXPECT_EQ(Method(Value::String("{} {1:>3} {x}"), "upper", {}), "'{} {1:>3} {X}'");
  EXPECT_EQ(Method(Value::String("{:.1f}|{}"), "format", {Value::Float(2), Value::Int(3)}), "'2.0|3'");
}

TEST_F(HostTest, Sequences) {
  const Value list = Value::List({Value::Int(3), Value::Int(1), Value::Int(2)});
  EXPECT_EQ(Builtin("builtins.sorted", {list}), "[1, 2, 3]");
  EXPECT_EQ(Builtin("builtins.max", {list}), "3");
  EXPECT_EQ(Builtin("builtins.sum", {list}), "6");
  EXPECT_EQ(Method(list, "pop", {}), "2");
  EXPECT_EQ(Repr(list), "[3, 1]");
  const absl::StatusOr<Value> product = evaluator_.Call(Value::Builtin("itertools.product"), CallArgs{{list, Value::Tuple({Value::Int(5)})}, {}});
  ASSERT_TRUE(product.ok());
  EXPECT_EQ(Builtin("builtins.list", {*product}), "[(3, 5), (1, 5)]");
  EXPECT_EQ(Builtin("builtins.list", {Value::String("ab")}), "['a', 'b']");
  EXPECT_EQ(Op2(Op::kAdd, Value::Tuple({Value::Int(1)}), Value::Tuple({Value::Int(2)})), "(1, 2)");
  EXPECT_THAT(Builtin("builtins.sorted", {Value::List({Value::Int(1), Value::String("a")})}), HasSubstr("TypeError: '<' not supported"));
  EXPECT_EQ(Method(Value::String("a,b"), "split", {Value::String(",")}), "['a', 'b']");
}

TEST_F(HostTest, TritonHelpers) {
  EXPECT_EQ(Builtin("triton.cdiv", {Value::Int(7), Value::Int(2)}), "4");
  EXPECT_EQ(Builtin("triton.next_power_of_2", {Value::Int(5)}), "8");
  EXPECT_EQ(Builtin("triton.next_power_of_2", {Value::Int(8)}), "8");
  EXPECT_EQ(Method(Value::DTypeOf(isa::DType::kF16), "is_floating", {}), "True");
  EXPECT_EQ(Method(Value::DTypeOf(isa::DType::kI8), "is_int_signed", {}), "True");
  EXPECT_EQ(Str(Value::DTypeOf(isa::DType::kF16)), "fp16");
  EXPECT_EQ(Repr(*evaluator_.GetAttr(Value::DTypeOf(isa::DType::kF16), "primitive_bitwidth", {})), "16");
}

TEST_F(HostTest, LoopsAndClosures) {
  Program& p = program_;
  p.Function("f", {});
  const Reg total = p.Int(0);
  std::vector<Reg> r = p.Regions(Op::kFor, {p.Call(p.Global("range"), {p.Int(10)}), total}, 1, {{2, [&](const std::vector<Reg>& args) {
    p.Regions(Op::kIf, {p.Emit(Op::kEq, {args[0], p.Int(5)})}, 0, {{0, [&](auto&) { p.Do(Op::kBreak, {args[1]}); }}, {0, [&](auto&) { p.Yield({}); }}});
    p.Yield({p.Emit(Op::kAdd, {args[1], args[0]})});
  }}});
  p.Return({r[0]});
  p.End();
  EXPECT_EQ(Run(), "10");
}

TEST_F(HostTest, JitAndAutotuneOnlyRecord) {
  Program& p = program_;
  const uint32_t body = p.Function("k", {"x"});
  p.Return();
  p.End();
  p.Cell({"k"});
  const Reg k = p.Emit(Op::kMakeFunction, {}, body);
  const Reg jit = p.Call(p.Path("triton.jit"), {k});
  const Reg config = p.Call(p.Path("triton.Config"), {p.Emit(Op::kMakeDict, {p.Text("B"), p.Int(4)}), p.Int(8)}, {"num_warps"});
  const Reg tune = p.Call(p.Path("triton.autotune"), {p.Emit(Op::kMakeList, {config}), p.Emit(Op::kMakeList, {})}, {"configs", "key"});
  p.SetGlobal("k", p.Call(tune, {jit}));
  p.End();
  Evaluator evaluator(&p.module, nullptr);
  absl::StatusOr<Value> kernel = evaluator.Global("k");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ASSERT_TRUE(kernel->is(ValueKind::kJitFunction));
  ASSERT_EQ(kernel->As<JitPayload>()->wrappers.size(), 1u);
  EXPECT_EQ(Repr(kernel->As<JitPayload>()->wrappers[0].arguments),
            "{'configs': [Config(kwargs={'B': 4}, num_warps=8, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None)], 'key': []}");
}

TEST_F(HostTest, TryCatchesByClass) {
  Program& p = program_;
  p.Function("f", {});
  std::vector<Reg> r = p.Regions(Op::kTry, {}, 1,
                                 {{0, [&](auto&) { p.Yield({p.Emit(Op::kIndex, {p.Emit(Op::kMakeDict, {}), p.Text("k")})}); }},
                                  {1, [&](const std::vector<Reg>& args) { p.Yield({p.Call(p.Global("isinstance"), {args[0], p.Global("KeyError")})}); }},
                                  {0, [&](auto&) { p.Yield({}); }},
                                  {0, [&](auto&) { p.Yield({}); }}});
  p.Return({r[0]});
  p.End();
  EXPECT_EQ(Run(), "True");
}

TEST_F(HostTest, DeepRecursionIsAnError) {
  Program& p = program_;
  const uint32_t f = p.Function("f", {});
  p.Return({p.Call(p.Global("g"), {})});
  p.End();
  p.Cell({"g"});
  p.SetGlobal("g", p.Emit(Op::kMakeFunction, {}, f));
  p.End();
  Evaluator evaluator(&p.module, nullptr);
  absl::StatusOr<Value> g = evaluator.Global("g");
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_THAT(std::string(evaluator.Call(*g, {}).status().message()), HasSubstr("RecursionError"));
}

TEST_F(HostTest, StepsAreLimited) {
  Program& p = program_;
  p.Function("f", {});
  p.Regions(Op::kWhile, {}, 0, {{0, [&](auto&) { p.Yield({p.Int(1)}); }}, {0, [&](auto&) { p.Yield({}); }}});
  p.Return();
  p.End();
  Limits limits;
  limits.max_steps = 1000;
  Evaluator evaluator(&p.module, nullptr, limits);
  EXPECT_TRUE(absl::IsResourceExhausted(evaluator.Call(*Function("f"), {}).status()));
}

TEST_F(HostTest, PrintWaitsForTheEndOfItsLine) {
  Program& p = program_;
  p.Cell({});
  const Reg print = p.Global("print");
  p.Call(print, {p.Int(1), p.Text(" ")}, {"end"});
  p.Call(print, {p.Int(2)});
  p.End();
  RecordingHost host;
  Evaluator evaluator(&p.module, &host);
  ASSERT_TRUE(evaluator.RunMain().ok());
  EXPECT_THAT(host.lines, testing::ElementsAre("1 2"));
}

TEST_F(HostTest, AppendingStatementsBelongToTheirList) {
  Program& p = program_;
  p.Cell({"configs"});
  p.SetGlobal("configs", p.Emit(Op::kMakeList, {p.Int(1)}));
  p.End();
  p.Cell({});
  p.Method(p.Global("configs"), "append", {p.Int(2)});
  p.End();
  Evaluator evaluator(&p.module, nullptr);
  absl::StatusOr<Value> configs = evaluator.Global("configs");
  ASSERT_TRUE(configs.ok()) << configs.status();
  EXPECT_EQ(Repr(*configs), "[1, 2]");
}

TEST_F(HostTest, AStatementSeesTheStatementsAboveIt) {
  Program& p = program_;
  p.Cell({"x"});
  p.SetGlobal("x", p.Int(1));
  p.End();
  p.Cell({"x"});
  p.SetGlobal("x", p.Emit(Op::kAdd, {p.Global("x"), p.Int(1)}));
  p.End();
  p.Cell({"x"});
  p.SetGlobal("x", p.Emit(Op::kMul, {p.Global("x"), p.Int(10)}));
  p.End();
  Evaluator evaluator(&p.module, nullptr);
  absl::StatusOr<Value> x = evaluator.Global("x");
  ASSERT_TRUE(x.ok()) << x.status();
  EXPECT_EQ(Repr(*x), "20");
}

}  // namespace
}  // namespace tilevm::specializer
