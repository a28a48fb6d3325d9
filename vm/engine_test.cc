#include "vm/engine.h"

#include <cmath>
#include <thread>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "vm/host/tensor.h"

namespace tilevm::vm {
namespace {

using isa::DType;
using specializer::Value;

constexpr absl::string_view kAdd = R"py(
import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)

def add(x, y):
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, y, out, x.numel())
    return out
)py";

TensorRef Ref(std::vector<float>& v) { return TensorRef{v.data(), DType::kF32, {static_cast<int64_t>(v.size())}}; }

std::shared_ptr<Program> Load(const std::shared_ptr<Engine>& engine, absl::string_view source) {
  std::vector<SourceFile> files;
  auto program = engine->Load(source, "test.py", {}, &files);
  EXPECT_TRUE(program.ok()) << FormatDiagnostic(program.status(), files);
  return program.ok() ? *program : nullptr;
}

// Runs a program's main; "" or its error.
std::string RunMain(absl::string_view source) {
  EngineOptions options;
  options.print = [](absl::string_view) {};
  auto program = Load(Engine::Create(options), source);
  if (program == nullptr) return "does not load";
  const absl::Status status = program->RunMain();
  return status.ok() ? "" : program->Format(status);
}

TEST(Engine, LaunchesByNameAndByPlace) {
  auto program = Load(Engine::Create(), kAdd);
  std::vector<float> x(100, 1.0f), y(100, 2.0f), out(100);
  auto named = program->Launch("add_kernel", "cdiv(n, BLOCK)", {{"x_ptr", Ref(x)}, {"y_ptr", Ref(y)}, {"out_ptr", Ref(out)}, {"n", 100}});
  ASSERT_TRUE(named.ok()) << program->Format(named.status());
  EXPECT_EQ(named->record.programs, 2);
  EXPECT_GT(named->record.compile_us, 0);
  EXPECT_EQ(out, std::vector<float>(100, 3.0f));
  std::fill(out.begin(), out.end(), 0.0f);
  auto placed = program->Launch("add_kernel", {2}, {{"", Ref(y)}, {"", Ref(y)}, {"", Ref(out)}, {"", 100}});
  ASSERT_TRUE(placed.ok()) << program->Format(placed.status());
  EXPECT_EQ(placed->record.compile_us, 0) << "the kernel comes from the cache";
  EXPECT_EQ(out, std::vector<float>(100, 4.0f));
}

TEST(Engine, KernelsAndHostFunctions) {
  auto program = Load(Engine::Create(), kAdd);
  const std::vector<KernelInfo> kernels = program->Kernels();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "add_kernel");
  EXPECT_EQ(kernels[0].constexprs, std::vector<std::string>{"BLOCK"});
  EXPECT_EQ(program->HostFunctions(), std::vector<std::string>{"add"});
  EXPECT_TRUE(program->IsKernel("add_kernel"));
  EXPECT_FALSE(program->IsKernel("add"));
}

// jit and heuristics by call rebind the name: each statement reads what the one before it made.
TEST(Engine, JitByCallSeesTheNameAsItStoodBefore) {
  auto program = Load(Engine::Create(), R"py(
import triton
import triton.language as tl

def fill(out, FLAG: tl.constexpr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, 2.0 if FLAG else 1.0, mask=i < n)

fill = triton.jit(fill)
fill = triton.heuristics({"FLAG": lambda args: args["n"] > 2})(fill)
)py");
  ASSERT_TRUE(program->IsKernel("fill")) << program->Format(program->Defined("fill"));
  std::vector<float> out(4);
  auto launched = program->Launch("fill", {1}, {{"out", Ref(out)}, {"n", 3}, {"BLOCK", 4}});
  ASSERT_TRUE(launched.ok()) << program->Format(launched.status());
  EXPECT_EQ(out, (std::vector<float>{2, 2, 2, 0}));
}

TEST(Engine, AStatementThatFailsSaysSoWhenItsNameIsAskedFor) {
  auto program = Load(Engine::Create(), "import nowhere\nsize = nowhere.size()\n");
  EXPECT_FALSE(program->IsKernel("size"));
  EXPECT_TRUE(absl::StrContains(program->Defined("size").message(), "nowhere.size")) << program->Defined("size");
}

// Host values nest as deep as a program likes; nothing that walks or frees them may exhaust the native stack.
TEST(Engine, DeepAndCyclicHostValues) {
  EXPECT_EQ(RunMain("x = []\nfor i in range(200000): x = [x]\nd = {}\nfor i in range(200000): d = {1: d}\n"), "");
  EXPECT_EQ(RunMain("class N: pass\nh = None\nfor i in range(100000):\n    n = N()\n    n.next = h\n    h = n\n"), "");
  EXPECT_TRUE(absl::StrContains(RunMain("x = []\nx.append(x)\ny = []\ny.append(y)\nprint(x == y)\n"), "RecursionError"));
  EXPECT_TRUE(absl::StrContains(RunMain("import torch\nt = 1\nfor i in range(50000): t = [t]\ntorch.tensor(t)\n"), "deeper than 8"));
  EXPECT_TRUE(absl::StrContains(RunMain(R"py(
import torch
import triton
import triton.language as tl
@triton.jit
def k(x, t):
    tl.store(x, 1)
t = 1
for i in range(20000):
    t = (t,)
k[(1,)](torch.zeros(1), t)
)py"),
                                "deeper than 64"));
}

TEST(Engine, CallsAHostFunction) {
  auto program = Load(Engine::Create(), kAdd);
  std::vector<float> x = {1, 2, 3}, y = {10, 20, 30};
  auto vx = ToValue(ArgumentValue(Ref(x))), vy = ToValue(ArgumentValue(Ref(y)));
  auto sum = program->Call("add", {{*vx, *vy}, {}});
  ASSERT_TRUE(sum.ok()) << program->Format(sum.status());
  EXPECT_EQ(specializer::Repr(*sum), "tensor([11., 22., 33.])");
}

TEST(Engine, ErrorsHaveTheirPlace) {
  auto program = Load(Engine::Create(), kAdd);
  std::vector<float> x(4);
  auto missing = program->Launch("add_kernel", {1}, {{"x_ptr", Ref(x)}});
  EXPECT_TRUE(absl::StrContains(missing.status().message(), "add_kernel: missing arguments y_ptr, out_ptr, n")) << missing.status();
  auto unknown = program->Launch("nothing", {1}, {});
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  auto option = program->Launch("add_kernel", {1}, {{"", Ref(x)}, {"", Ref(x)}, {"", Ref(x)}, {"", 4}, {"num_warps", 3}});
  EXPECT_TRUE(absl::StrContains(option.status().message(), "num_warps is 3; a power of two")) << option.status();
}

TEST(Engine, SeveralThreads) {
  auto engine = Engine::Create();
  auto program = Load(engine, kAdd);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        std::vector<float> x(50 + t, 1.0f), y(50 + t, static_cast<float>(i)), out(50 + t);
        auto result = program->Launch("add_kernel", "cdiv(n, BLOCK)", {{"", Ref(x)}, {"", Ref(y)}, {"", Ref(out)}, {"", 50 + t}});
        EXPECT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(out, std::vector<float>(50 + t, 1.0f + static_cast<float>(i)));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

// --- launches from host code ---

constexpr absl::string_view kHeader = R"py(
import torch
import triton
import triton.language as tl
)py";

std::string Main(absl::string_view body) { return RunMain(std::string(kHeader) + std::string(body)); }

TEST(Launch, AutotuneUsesTheFirstConfigAndHeuristicsSeeIt) {
  EXPECT_EQ(Main(R"py(
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})
@triton.autotune(configs=[triton.Config({'BLOCK': 32}, num_warps=2), triton.Config({'BLOCK': 64})], key=['n'])
@triton.jit
def outer(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x_ptr, BLOCK)

@triton.autotune(configs=[triton.Config({'BLOCK': 32}), triton.Config({'BLOCK': 64})], key=['n'])
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})
@triton.jit
def inner(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    if EVEN:
        tl.store(x_ptr, BLOCK)
    else:
        tl.store(x_ptr, -BLOCK)

x = torch.zeros(1, dtype=torch.int32)
inner[(1,)](x, 64)
assert x.item() == 32, x
inner[(1,)](x, 65)
assert x.item() == -32, x
)py"),
            "");
}

TEST(Launch, PointersMadeFromNumbersReachTensorsOnly) {
  EXPECT_EQ(RunMain(R"py(
import torch
import triton
import triton.language as tl
@triton.jit
def put(address, n):
    tl.store(address.to(tl.pointer_type(tl.float32)), 1.0)
@triton.jit
def put_all(addresses, n):
    p = tl.load(addresses + tl.arange(0, 2)).to(tl.pointer_type(tl.float32))
    tl.store(p, 2.0)
x, y = torch.zeros(4), torch.zeros(4)
put[(1,)](x.data_ptr() + 4, 7)
put_all[(1,)](torch.tensor([x.data_ptr(), y.data_ptr()], dtype=torch.int64), 7)
assert x[0] == 2 and x[1] == 1 and y[0] == 2
for wrong in (4, x.data_ptr() + 16, -8):
    refused = ""
    try:
        put[(1,)](wrong, 7)
    except Exception as error:
        refused = str(error)
    assert "outside every buffer" in refused, (wrong, refused)
)py"), "");
}

TEST(Engine, FilesThatImportANameFromEachOther) {
  EXPECT_NE(RunMain("from test import x\nprint(x)\n").find("ImportError"), std::string::npos);
}

// Triton's autotuner takes a configuration that fails a static_assert as one that does not fit.
TEST(Launch, AConfigThatAStaticAssertRefusesIsLeftOut) {
  EXPECT_EQ(RunMain(R"py(
import torch
import triton
import triton.language as tl
@triton.autotune(configs=[triton.Config({'BLOCK': 128}), triton.Config({'BLOCK': 32})], key=['n'])
@triton.jit
def k(out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 64, "too wide")
    tl.store(out + tl.arange(0, BLOCK), BLOCK)
@triton.autotune(configs=[triton.Config({'BLOCK': 128}), triton.Config({'BLOCK': 256})], key=['n'])
@triton.jit
def none_fits(out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 64, "too wide")
out = torch.zeros(128, dtype=torch.int32)
k[(1,)](out, 5)
assert out[0] == 32 and out[31] == 32 and out[32] == 0
refused = ""
try:
    none_fits[(1,)](out, 5)
except Exception as error:
    refused = str(error)
assert "too wide" in refused, refused
)py"), "");
}

TEST(Launch, HeuristicsOutsideAutotuneDoNotSeeTunedValues) {
  const std::string error = Main(R"py(
@triton.heuristics({'EVEN': lambda args: args['BLOCK'] == 0})
@triton.autotune(configs=[triton.Config({'BLOCK': 32})], key=['n'])
@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x_ptr, BLOCK)

k[(1,)](torch.zeros(1), 64)
)py");
  EXPECT_TRUE(absl::StrContains(error, "BLOCK")) << error;
}

TEST(Launch, ConfigsPrintAsInTriton) {
  EXPECT_EQ(Main(R"py(
from dataclasses import dataclass
c = triton.Config({'B': 64, 'S': 'x'}, num_warps=8)
assert str(c) == "B: 64, S: x, num_warps: 8, num_ctas: 1, num_stages: 3, maxnreg: None", str(c)
assert isinstance(c, triton.Config) and not isinstance(c, dict) and c.all_kwargs()['B'] == 64
@dataclass
class Config:
    n: int = 3
assert str(Config()) == "Config(n=3)" and isinstance(Config(), Config) and isinstance(Config(), object) and not isinstance(Config(), triton.Config)
assert not hasattr(Config(), 'all_kwargs')
)py"),
            "");
}

TEST(Launch, TunedNamesGivenAreErrorsAsInTriton) {
  EXPECT_EQ(Main(R"py(
def kernel(configs):
    @triton.autotune(configs=configs, key=['nothing_of_that_name'])
    @triton.jit
    def k(x_ptr, n, BLOCK: tl.constexpr):
        tl.store(x_ptr, BLOCK)
    return k
one = kernel([triton.Config({'BLOCK': 32})])
two = kernel([triton.Config({'BLOCK': 32}), triton.Config({'BLOCK': 64}, num_warps=8)])
def fails(k, *args, **keywords):
    try:
        k[(1,)](torch.zeros(1), 64, *args, **keywords)
    except Exception as e:
        return type(e).__name__ + ": " + str(e)
    return ""
assert fails(two, BLOCK=16).startswith("ValueError: Conflicting meta-parameters: BLOCK. Make sure that you don't re-define auto-tuned symbols."), fails(two, BLOCK=16)
for k in (one, two):
    assert "TypeError: " in fails(k, 16) and "got multiple values" in fails(k, 16), fails(k, 16)
    for option in ("num_warps", "num_stages", "num_ctas"):
        assert fails(k, **{option: 4}).startswith(f"TypeError: k() got multiple values for keyword argument '{option}'"), fails(k, **{option: 4})
    assert fails(k) == "", fails(k)
assert fails(one, BLOCK=16).startswith("TypeError: k() got multiple values for keyword argument 'BLOCK'"), fails(one, BLOCK=16)
assert "num_warps" in fails(kernel([]), BLOCK=16, num_warps=4) and fails(kernel([]), BLOCK=16) == ""
)py"),
            "");
}

TEST(Launch, PreHookAndPruning) {
  EXPECT_EQ(Main(R"py(
def hook(args):
    args['x_ptr'].fill_(7)

def keep_large(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs['BLOCK'] >= named_args['n']]

@triton.autotune(configs=[triton.Config({'BLOCK': 32}, pre_hook=hook), triton.Config({'BLOCK': 128}, pre_hook=hook)], key=['n'],
                 prune_configs_by={'early_config_prune': keep_large})
@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr, tl.load(x_ptr) + BLOCK)

x = torch.zeros(1, dtype=torch.int32)
k[(1,)](x, 100)
assert x.item() == 135, x
)py"),
            "");
}

TEST(Launch, SpecializationRules) {
  EXPECT_EQ(Main(R"py(
@triton.jit
def types(out_ptr, one, small, large, huge, flag, real, nothing, pair):
    tl.static_assert(one == 1)
    tl.static_assert(small.dtype == tl.int32)
    tl.static_assert(large.dtype == tl.int64)
    tl.static_assert(huge.dtype == tl.uint64)
    tl.static_assert(flag.dtype == tl.int1)
    tl.static_assert(real.dtype == tl.float32)
    tl.static_assert(nothing is None)
    tl.store(out_ptr, pair[0] + pair[1])

out = torch.zeros(1, dtype=torch.int32)
types[(1,)](out, 1, 2, 2**31, 2**63, True, 1.0, None, (3, 4))
assert out.item() == 7, out

@triton.jit(do_not_specialize=['n'])
def not_special(out_ptr, n):
    tl.static_assert(n.dtype == tl.int32)
    tl.store(out_ptr, n)
not_special[(1,)](out, 1)
assert out.item() == 1, out
)py"),
            "");
}

TEST(Launch, GridForms) {
  EXPECT_EQ(Main(R"py(
@triton.jit
def count(x_ptr, BLOCK: tl.constexpr = 4):
    tl.atomic_add(x_ptr, 1)

x = torch.zeros(1, dtype=torch.int32)
count[3,](x)
count[(2, 2)](x)
count[lambda meta: (meta['BLOCK'],)](x)
count[lambda meta: [1, 1, 5]](x, num_warps=8)
assert x.item() == 16, x
count[(0,)](x)
assert x.item() == 16, x
)py"),
            "");
  EXPECT_TRUE(absl::StrContains(Main(R"py(
@triton.jit
def k(x_ptr):
    pass
k[(1.5,)](torch.zeros(1))
)py"),
                                "grid extent 0 must be an int, not float"));
}

TEST(Launch, ErrorsNameTheirLine) {
  const std::string error = Main(R"py(
@triton.jit
def k(x_ptr):
    pass
k[(1,)]("text")
)py");
  EXPECT_TRUE(absl::StrContains(error, "test.py:9:")) << error;
  EXPECT_TRUE(absl::StrContains(error, "argument x_ptr is a str")) << error;
}

}  // namespace
}  // namespace tilevm::vm
