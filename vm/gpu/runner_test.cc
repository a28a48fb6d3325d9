// The CUDA engine on a made-up driver: what moves when, which variant is taken, tuning, and every way in which a launch can fail. Kernels are really
// specialized and compiled (NVRTC); what they do is done by the test. Results on a real GPU are tools/gpu_check's part.
#include "vm/gpu/runner.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/driver/api.h"
#include "isa/tbc.h"
#include "isa/tbc_tuning.h"
#include "vm/engine.h"
#include "vm/gpu/runner_testing.h"

namespace tilevm::vm {
namespace {

constexpr char kTuned[] = R"(
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'BLOCK': 32}, num_warps=1), triton.Config({'BLOCK': 64}, num_warps=2), triton.Config({'BLOCK': 128}, num_warps=4)], key=['n'])
@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2, mask=mask)

def run(x):
    double[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, x.numel())
    return x
)";

TEST_F(RunnerTest, AHostFunctionEndToEnd) {
  std::shared_ptr<Program> program = Load(kAdd);
  auto out = program->Call("add", specializer::CallArgs{{Tensor({1, 2, 3}), Tensor({10, 20, 30})}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_EQ(Floats(*out), (std::vector<float>{11, 22, 33}));
  ASSERT_EQ(program->world().launches().size(), 1u);
  EXPECT_TRUE(program->world().launches()[0].on_device);
  EXPECT_NEAR(program->world().launches()[0].run_us, 5, 1e-3);
}

TEST_F(RunnerTest, BytesMoveOnlyWhenTheOtherSideWantsThem) {
  std::shared_ptr<Program> program = Load(kAdd);
  auto out = program->Call("chain", specializer::CallArgs{{Tensor({1, 2})}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_EQ(Control().launches, 5);
  EXPECT_EQ(Control().calls["cuMemcpyHtoD"], 1);  // x once; a has no value yet
  EXPECT_EQ(Control().calls["cuMemcpyDtoH"], 0);
  EXPECT_EQ(Floats(*out), (std::vector<float>{2, 4}));
  EXPECT_EQ(Control().calls["cuMemcpyDtoH"], 1);
  EXPECT_EQ(Control().calls["cuModuleLoadData"], 1);
}

TEST_F(RunnerTest, WhatIsOnlyReadIsNotCopiedBack) {
  std::shared_ptr<Program> program = Load(kAdd);
  const specializer::Value x = Tensor({1, 2});
  auto out = program->Call("chain", specializer::CallArgs{{x}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_EQ(Floats(x), (std::vector<float>{1, 2}));
  EXPECT_EQ(Control().calls["cuMemcpyDtoH"], 0);
  EXPECT_EQ(Floats(*out), (std::vector<float>{2, 4}));
  EXPECT_EQ(Control().calls["cuMemcpyDtoH"], 1);
}

// A pointer out of memory may be any: then all that the kernel was given may have changed.
TEST_F(RunnerTest, WhatAPointerFromMemoryMayReachIsCopiedBack) {
  std::shared_ptr<Program> program = Load(R"(
import torch
import triton
import triton.language as tl

@triton.jit
def poke(table, x):
    p = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(p, tl.load(x) + 1)

def run(x):
    table = torch.tensor([x.data_ptr()])
    poke[(1,)](table, x)
    return x
)");
  Control().run = [](const FakeLaunch& launch) {
    float* x = *static_cast<float**>(launch.params[1]);
    ***static_cast<float***>(launch.params[0]) = *x + 1;
    return 1.0;
  };
  auto out = program->Call("run", specializer::CallArgs{{Tensor({1, 2})}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_EQ(Floats(*out), (std::vector<float>{2, 2}));
}

TEST_F(RunnerTest, AChangeOnTheHostIsSeen) {
  std::shared_ptr<Program> program = Load(kAdd);
  auto out = program->Call("touch", specializer::CallArgs{{Tensor({1, 2})}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_EQ(Floats(*out), (std::vector<float>{200, 4}));
}

TEST_F(RunnerTest, MemoryIsGivenBack) {
  {
    std::shared_ptr<Program> program = Load(kAdd);
    auto out = program->Call("add", specializer::CallArgs{{Tensor({1, 2}), Tensor({1, 2})}, {}});
    ASSERT_TRUE(out.ok());
    EXPECT_GT(Control().live_allocations, 0);
  }
  EXPECT_EQ(Control().live_allocations, 0);
  EXPECT_EQ(Control().calls["cuModuleUnload"], Control().calls["cuModuleLoadData"]);
}

TEST_F(RunnerTest, MemoryOfTheCaller) {
  std::shared_ptr<Program> program = Load(kAdd);
  std::vector<float> x = {1, 2, 3}, y = {4, 5, 6}, out(3);
  auto ref = [](std::vector<float>& v) { return TensorRef{v.data(), isa::DType::kF32, {static_cast<int64_t>(v.size())}}; };
  auto result = program->Launch("add_kernel", "1", {{"x_ptr", ref(x)}, {"y_ptr", ref(y)}, {"out_ptr", ref(out)}, {"n", 3}, {"BLOCK", 64}});
  ASSERT_TRUE(result.ok()) << program->Format(result.status());
  EXPECT_EQ(out, (std::vector<float>{5, 7, 9}));
}

TEST_F(RunnerTest, MemoryOfTheCallerOnTheDevice) {
  std::shared_ptr<Program> program = Load(kAdd);
  alignas(16) float x[4] = {1, 2, 3, 4};
  float out[4] = {};
  Control().device_address = reinterpret_cast<unsigned long long>(&x[0]);
  auto result = program->Launch("add_kernel", "1", {{"x_ptr", TensorRef{x, isa::DType::kF32, {4}}}, {"y_ptr", TensorRef{x, isa::DType::kF32, {4}}},
                                                    {"out_ptr", TensorRef{out, isa::DType::kF32, {4}}}, {"n", 4}, {"BLOCK", 64}});
  ASSERT_TRUE(result.ok()) << program->Format(result.status());
  EXPECT_EQ(out[3], 8);
  EXPECT_EQ(Control().calls["cuMemcpyHtoD"], 1);  // out; x is used where it is
}

TEST_F(RunnerTest, ErrorsOfALaunch) {
  std::shared_ptr<Program> program = Load(kAdd);
  std::vector<float> x(4);
  const TensorRef ref{x.data(), isa::DType::kF32, {4}};
  const std::vector<Argument> args = {{"x_ptr", ref}, {"y_ptr", ref}, {"out_ptr", ref}, {"n", 4}, {"BLOCK", 64}};
  auto failed = [&](absl::string_view grid) {
    auto result = program->Launch("add_kernel", grid, args);
    EXPECT_FALSE(result.ok());
    return std::string(result.status().message());
  };
  EXPECT_NE(failed("1, 65536").find("grid extent of axis 1 is 65536; the limit is 65535"), std::string::npos);
  Control().fail_call = "cuEventSynchronize";
  EXPECT_NE(failed("1").find("kernel add_kernel failed on Fake GPU"), std::string::npos);
  EXPECT_NE(failed("1").find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
  Control().fail_call.clear();
  // The process goes on.
  EXPECT_TRUE(program->Launch("add_kernel", "1", args).ok());
  EXPECT_TRUE(program->Launch("add_kernel", "0", args).ok());
  Control().memory_bytes = 8;
  EXPECT_NE(failed("1").find("cannot get 16 bytes of GPU memory"), std::string::npos);
  Control().memory_bytes = 1 << 20;
  Control().fail_call = "cuModuleLoadData";
  std::vector<Argument> other = args;
  other.back() = {"BLOCK", 128};
  EXPECT_FALSE(program->Launch("add_kernel", "1", other).ok());
}

TEST_F(RunnerTest, TooManyThreadsForTheRegisters) {
  Control().max_threads = 64;
  std::shared_ptr<Program> program = Load(kAdd);
  auto out = program->Call("add", specializer::CallArgs{{Tensor({1, 2}), Tensor({1, 2})}, {}});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(std::string(out.status().message()).find("has 128 threads (4 warps)"), std::string::npos) << out.status();
}

TEST_F(RunnerTest, TooMuchSharedMemory) {
  std::shared_ptr<Program> program = Load(R"(
import triton
import triton.language as tl

@triton.jit
def order(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, tl.sort(x))
)");
  std::vector<float> x(1 << 17);
  const TensorRef ref{x.data(), isa::DType::kF32, {1 << 17}};
  const absl::Status status = program->Launch("order", "1", {{"x_ptr", ref}, {"BLOCK", 1 << 17}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  const std::string text = program->Format(status);
  EXPECT_NE(text.find("test.py:9:"), std::string::npos) << text;  // the sort
  EXPECT_NE(text.find("kernel order needs 524288 bytes of shared memory for this (sort of tile<131072xf32>); sm_90a has 232448 for a block: a tile 4 times smaller fits; BLOCK=32768 fits"), std::string::npos) << text;
}

TEST_F(RunnerTest, NoUsableDevice) {
  auto message = [] {
    absl::StatusOr<std::shared_ptr<Engine>> engine = Engine::Open(Options());
    EXPECT_FALSE(engine.ok());
    return std::string(engine.status().message());
  };
  Control().devices = 0;
  EXPECT_EQ(message(), "there is no device cuda:0; the machine has 0 GPUs");
  Control().devices = 1;
  Control().major = 7;
  Control().minor = 5;
  EXPECT_NE(message().find("compute capability 7.5; the oldest is 8.0"), std::string::npos);
  EngineOptions options = Options();
  options.device = "auto";
  absl::StatusOr<std::shared_ptr<Engine>> engine = Engine::Open(options);
  ASSERT_TRUE(engine.ok());
  EXPECT_EQ((*engine)->device(), nullptr);  // the CPU
  options.device = "cuda:1x";
  EXPECT_EQ(Engine::Open(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.device = "cuda";
  options.checked = true;
  EXPECT_EQ(Engine::Open(options).status().code(), absl::StatusCode::kInvalidArgument);
}

// --- prepared launches ---

TEST_F(RunnerTest, APreparedLaunch) {
  std::shared_ptr<Program> program = Load(kAdd);
  alignas(64) float memory[64] = {};
  for (int i = 0; i < 64; ++i) memory[i] = static_cast<float>(i);
  Control().device_address = 1;  // every address but 0 is the device's
  auto ref = [&](int at) { return TensorRef{memory + at, isa::DType::kF32, {16}}; };
  const std::vector<Argument> args = {{"x_ptr", ref(0)}, {"y_ptr", ref(16)}, {"out_ptr", ref(32)}, {"n", 16}, {"BLOCK", 64}};
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = program->Prepare("add_kernel", "cdiv(n, BLOCK)", args);
  ASSERT_TRUE(launch.ok()) << program->Format(launch.status());
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(memory[32 + 15], 15 + 31);
  EXPECT_EQ(Control().calls["cuMemcpyHtoD"], 0);
  EXPECT_EQ(Control().calls["cuEventSynchronize"], 0);

  auto message = [](const absl::Status& status) { return std::string(status.message()); };
  ASSERT_TRUE((*launch)->SetPointer("out_ptr", memory + 48).ok());
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(memory[48 + 15], 15 + 31);
  EXPECT_NE(message((*launch)->SetPointer("out_ptr", memory + 49)).find("not aligned to 16 bytes"), std::string::npos);
  EXPECT_NE(message((*launch)->SetPointer("out_ptr", memory + 4)).find("overlaps x_ptr"), std::string::npos);
  // What is only read may be one array.
  ASSERT_TRUE((*launch)->SetPointer("y_ptr", memory).ok());
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(memory[48 + 15], 15 + 15);
  ASSERT_TRUE((*launch)->SetPointer("y_ptr", memory + 16).ok());
  EXPECT_NE(message((*launch)->SetPointer("n", memory)).find("parameter n is i32"), std::string::npos);
  EXPECT_NE(message((*launch)->SetPointer("BLOCK", memory)).find("has no parameter 'BLOCK'; it has x_ptr, y_ptr, out_ptr, n"), std::string::npos);
  EXPECT_NE(message((*launch)->SetInteger("n", 17)).find("not divisible by 16"), std::string::npos);
  EXPECT_NE(message((*launch)->SetInteger("n", int64_t{1} << 40)).find("does not fit"), std::string::npos);
  EXPECT_TRUE((*launch)->SetInteger("n", 0).ok());
  EXPECT_FALSE((*launch)->SetFloat("n", 1).ok());
  EXPECT_NE(message((*launch)->SetGrid({1, 65536, 1})).find("grid axis 1 is 65536"), std::string::npos);
  const int launches = Control().launches;
  ASSERT_TRUE((*launch)->SetGrid({0, 1, 1}).ok());
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(Control().launches, launches);
  Control().fail_call = "cuLaunchKernel";
  ASSERT_TRUE((*launch)->SetGrid({1, 1, 1}).ok());
  EXPECT_NE(message((*launch)->Launch()).find("cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
}

TEST_F(RunnerTest, APreparedLaunchInAGraph) {
  std::shared_ptr<Program> program = Load(kAdd);
  alignas(64) float memory[64] = {};
  Control().device_address = 1;
  auto ref = [&](int at) { return TensorRef{memory + at, isa::DType::kF32, {16}}; };
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch =
      program->Prepare("add_kernel", "cdiv(n, BLOCK)", {{"x_ptr", ref(0)}, {"y_ptr", ref(16)}, {"out_ptr", ref(32)}, {"n", 16}, {"BLOCK", 64}});
  ASSERT_TRUE(launch.ok()) << program->Format(launch.status());
  const gpu::Api& api = **gpu::LoadDriver(DriverPath());
  Control().captured_params = 4;
  const std::map<std::string, int> calls = Control().calls;
  gpu::CuGraph graph = nullptr;
  gpu::CuGraphExec exec = nullptr;
  ASSERT_EQ(api.StreamBeginCapture(nullptr, 0), 0);
  ASSERT_TRUE((*launch)->Launch().ok());
  ASSERT_EQ(api.StreamEndCapture(nullptr, &graph), 0);
  ASSERT_EQ(api.GraphInstantiate(&exec, graph, 0), 0);
  EXPECT_EQ(Control().launches, 0);
  // A capture allows one call of a launch: its own.
  for (const auto& [name, count] : Control().calls) {
    const auto before = calls.find(name);
    EXPECT_EQ(count - (before == calls.end() ? 0 : before->second), name == "cuLaunchKernel" ? 1 : 0) << name;
  }
  // The graph keeps the arguments of its capture, not the data.
  ASSERT_TRUE((*launch)->SetPointer("out_ptr", memory + 48).ok());
  for (float step : {1.0f, 2.0f}) {
    for (int i = 0; i < 32; ++i) memory[i] = step * static_cast<float>(i);
    ASSERT_EQ(api.GraphLaunch(exec, nullptr), 0);
    EXPECT_EQ(memory[32 + 15], step * (15 + 31));
    EXPECT_EQ(memory[48 + 15], 0);
  }
}

TEST_F(RunnerTest, CompiledAheadOfALaunch) {
  std::shared_ptr<Program> program = Load(kAdd);
  const TensorRef none{nullptr, isa::DType::kF32, {16}};
  const absl::Status status = program->Warm("add_kernel", {{"x_ptr", none}, {"y_ptr", none}, {"out_ptr", none}, {"n", 16}, {"BLOCK", 64}});
  ASSERT_TRUE(status.ok()) << program->Format(status);
  EXPECT_EQ(Control().calls["cuModuleLoadData"], 0);
  EXPECT_FALSE(program->Warm("add_kernel", {{"x_ptr", none}}).ok());
}

TEST_F(RunnerTest, WhatCannotBePrepared) {
  std::shared_ptr<Program> program = Load(kAdd);
  std::vector<float> x(16);
  const TensorRef ref{x.data(), isa::DType::kF32, {16}};
  const std::vector<Argument> args = {{"x_ptr", ref}, {"y_ptr", ref}, {"out_ptr", ref}, {"n", 16}, {"BLOCK", 64}};
  EXPECT_NE(std::string(program->Prepare("add_kernel", "1", args).status().message()).find("argument x_ptr is in main memory"), std::string::npos);
  EngineOptions options = Options();
  options.device = "cpu";
  EXPECT_EQ(Load(kAdd, options)->Prepare("add_kernel", "1", args).status().code(), absl::StatusCode::kFailedPrecondition);
}

// --- tensor maps ---

// A kernel (a: ptr<f16>, rows: i32, pitch: i32) that reads rows of 64 elements by a tensor map. The cubin is none: the driver only keeps it.
std::shared_ptr<gpu::GpuKernel> RowsKernel(const ir::Kernel& kernel) {
  auto out = std::make_shared<gpu::GpuKernel>();
  out->emitted.entry = kernel.name;
  out->cubin = "\x7f" "ELF";
  launch::Slice& slice = out->emitted.slice;
  const launch::Node a = slice.Param(0), rows = slice.Param(1), pitch = slice.Binary(launch::NodeOp::kMul, slice.Param(2), slice.Const(2));
  slice.checks.push_back({slice.Binary(launch::NodeOp::kEqual, slice.Binary(launch::NodeOp::kMod, pitch, slice.Const(16)), slice.Const(0)), "rows of a are not a multiple of 16 bytes apart"});
  slice.maps.push_back({a, isa::DType::kF16, {slice.Const(64), rows}, {pitch}, {64, 8}, 128});
  return out;
}

TEST_F(RunnerTest, TensorMapsOfAPreparedLaunch) {
  auto source = std::make_shared<CompiledKernel>();
  source->kernel.name = "rows";
  for (const char* name : {"a", "rows", "pitch"}) {
    ir::Param param;
    param.name = name;
    param.value = source->kernel.NewValue(source->kernel.params.empty() ? isa::PointerType(isa::DType::kF16) : isa::ScalarType(isa::DType::kI32), name);
    source->kernel.params.push_back(param);
  }
  absl::StatusOr<std::shared_ptr<gpu::Device>> device = gpu::Device::Open(0, DriverPath());
  ASSERT_TRUE(device.ok()) << device.status();
  std::shared_ptr<gpu::GpuKernel> kernel = RowsKernel(source->kernel);
  kernel->emitted.persistent = true;
  absl::StatusOr<std::shared_ptr<const gpu::LoadedKernel>> loaded = (*device)->Load(kernel);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  alignas(64) static char memory[256];
  const auto address = reinterpret_cast<uint64_t>(memory);
  Control().device_address = 1;
  FakeMap seen;
  FakeLaunch launched;
  uint32_t programs[3] = {};
  Control().run = [&](const FakeLaunch& launch) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.params[3]) % 64, 0u);
    seen = Control().maps.at(*static_cast<size_t*>(launch.params[3]));
    for (int i = 0; i < 3; ++i) programs[i] = *static_cast<uint32_t*>(launch.params[4 + i]);
    launched = launch;
    return 1.0;
  };
  std::vector<PreparedLaunch::Parameter> parameters = {{"a", isa::ElemType{isa::DType::kF16, true}, 2, 128}, {"rows", {}, 1, 0}, {"pitch", {}, 1, 0}};
  const auto make = [&](uint64_t pitch) { return PreparedLaunch::Make(*device, source, *loaded, nullptr, {}, parameters, {address, 30, pitch}, {100, 50, 1}); };
  EXPECT_NE(std::string(make(63).status().message()).find("rows of a are not a multiple of 16 bytes apart"), std::string::npos);
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = make(64);
  ASSERT_TRUE(launch.ok()) << launch.status();
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(seen.address, memory);
  EXPECT_EQ(seen.dtype, gpu::kTensorMapF16);
  EXPECT_EQ(seen.swizzle, gpu::kTensorMapSwizzle128);
  EXPECT_EQ(seen.extents, (std::vector<unsigned long long>{64, 30}));
  EXPECT_EQ(seen.strides, (std::vector<unsigned long long>{128}));
  EXPECT_EQ(seen.box, (std::vector<unsigned>{64, 8}));
  // As many blocks as run at once walk over the programs.
  EXPECT_EQ(launched.grid[0], 132u * 4);
  EXPECT_EQ(launched.grid[1], 1u);
  EXPECT_EQ(programs[1], 50u);
  ASSERT_TRUE((*launch)->SetGrid({3, 2, 1}).ok());
  ASSERT_TRUE((*launch)->SetPointer("a", memory + 64).ok());
  ASSERT_TRUE((*launch)->SetInteger("rows", 20).ok());
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(seen.address, memory + 64);
  EXPECT_EQ(seen.extents[1], 20u);
  EXPECT_EQ(launched.grid[0], 6u);
  // What does not hold is an error, and the launch stays as it was.
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  EXPECT_NE(message((*launch)->SetPointer("a", memory + 2)).find("the array is not aligned to 16 bytes; it was otherwise when the launch was prepared"), std::string::npos);
  EXPECT_NE(message((*launch)->SetInteger("pitch", 68)).find("rows of a are not a multiple of 16 bytes apart"), std::string::npos);
  EXPECT_NE(message((*launch)->SetInteger("rows", 0)).find("an extent is not between 1 and 2^32"), std::string::npos);
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(seen.address, memory + 64);
  EXPECT_EQ(seen.extents[1], 20u);
}

constexpr char kMatmul[] = R"(
import triton
import triton.language as tl

@triton.jit
def matmul(a, b, c, M, N, K, am, bk, cm, B: tl.constexpr):
    offs_m = tl.program_id(0) * B + tl.arange(0, B)
    offs_n = tl.program_id(1) * B + tl.arange(0, B)
    offs_k = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        x = tl.load(a + (offs_m % M)[:, None] * am + k + offs_k[None, :], mask=offs_k[None, :] < K - k, other=0.0)
        y = tl.load(b + (k + offs_k)[:, None] * bk + (offs_n % N)[None, :], mask=offs_k[:, None] < K - k, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + offs_m[:, None] * cm + offs_n[None, :], acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
)";

// The launches of a run, and what the last copy of an array was told.
struct SeenRepack {
  std::vector<std::string> launched;
  uint64_t from = 0, from_pitch = 0, to_pitch = 0, rows = 0;
  uint32_t row_bytes = 0, turned_bytes = 0;
  unsigned grid[2] = {0, 0};
};
std::function<double(const FakeLaunch&)> Watching(SeenRepack* seen) {
  return [seen](const FakeLaunch& launch) {
    seen->launched.push_back(launch.kernel);
    if (launch.kernel != "repack_rows") return 1.0;
    seen->from = *static_cast<uint64_t*>(launch.params[0]);
    seen->from_pitch = *static_cast<uint64_t*>(launch.params[1]);
    seen->to_pitch = *static_cast<uint64_t*>(launch.params[3]);
    seen->row_bytes = *static_cast<uint32_t*>(launch.params[4]);
    seen->rows = *static_cast<uint64_t*>(launch.params[6]);
    seen->turned_bytes = *static_cast<uint32_t*>(launch.params[8]);
    seen->grid[0] = launch.grid[0];
    seen->grid[1] = launch.grid[1];
    return 1.0;
  };
}

TEST_F(RunnerTest, AnOperandInTheOtherOrderIsTurnedFirst) {
  std::shared_ptr<Program> program = Load(kMatmul);
  alignas(64) static char memory[3][100 * 104 * 4];
  Control().device_address = 1;
  SeenRepack seen;
  Control().run = Watching(&seen);
  const auto prepare = [&](const char* programs) {
    auto ref = [&](int which, isa::DType dtype) { return TensorRef{memory[which], dtype, {100, 100}}; };
    return program->Prepare("matmul", programs,
                            {{"a", ref(0, isa::DType::kF32)}, {"b", ref(1, isa::DType::kF32)}, {"c", ref(2, isa::DType::kF16)}, {"M", 100}, {"N", 99}, {"K", 98}, {"am", 100},
                             {"bk", 104}, {"cm", 104}, {"B", 64}});
  };
  // b of f32 has to lie along k. The copy is 99 rows of 98 numbers, 16-byte aligned.
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> turned = prepare("8, 8");
  ASSERT_TRUE(turned.ok()) << program->Format(turned.status());
  ASSERT_EQ(Control().maps.size(), 3u);
  EXPECT_EQ(Control().maps[1].extents, (std::vector<unsigned long long>{98, 99}));
  EXPECT_EQ(Control().maps[1].strides, (std::vector<unsigned long long>{400}));
  EXPECT_EQ(Control().maps[1].box, (std::vector<unsigned>{32, 64}));
  EXPECT_NE(Control().maps[1].address, memory[1]);
  ASSERT_TRUE((*turned)->Launch().ok());
  EXPECT_EQ(seen.launched, (std::vector<std::string>{"repack_rows", "matmul"}));
  EXPECT_EQ(seen.from, reinterpret_cast<uint64_t>(memory[1]));
  EXPECT_EQ(seen.from_pitch, 416u);
  EXPECT_EQ(seen.to_pitch, 400u);
  EXPECT_EQ(seen.row_bytes, 99u * 4);
  EXPECT_EQ(seen.rows, 98u);
  EXPECT_EQ(seen.turned_bytes, 4u);
  EXPECT_EQ(seen.grid[0], 2u);
  EXPECT_EQ(seen.grid[1], 2u);

  // Where the array is read once, the kernel does it itself.
  seen.launched.clear();
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> once = prepare("2, 2");
  ASSERT_TRUE(once.ok()) << program->Format(once.status());
  ASSERT_TRUE((*once)->Launch().ok());
  EXPECT_EQ(seen.launched, (std::vector<std::string>{"matmul"}));
}

TEST_F(RunnerTest, AMisalignedPitchTakesTheOtherVariant) {
  std::shared_ptr<Program> program = Load(kMatmul);
  alignas(64) static char memory[3][100 * 104 * 2];
  Control().device_address = 1;
  Control().run = [](const FakeLaunch&) { return 1.0; };
  const auto prepare = [&](int64_t pitch, const char* grid = "2, 2") {
    auto ref = [&](int which) { return TensorRef{memory[which], isa::DType::kF16, {100, 100}}; };
    return program->Prepare("matmul", grid, {{"a", ref(0)}, {"b", ref(1)}, {"c", ref(2)}, {"M", 100}, {"N", 99}, {"K", 98}, {"am", pitch}, {"bk", 104}, {"cm", 104}, {"B", 64}});
  };
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> aligned = prepare(104);
  ASSERT_TRUE(aligned.ok()) << program->Format(aligned.status());
  ASSERT_EQ(Control().maps.size(), 3u);
  EXPECT_EQ(Control().maps[0].extents, (std::vector<unsigned long long>{98, 100}));
  EXPECT_EQ(Control().maps[0].strides, (std::vector<unsigned long long>{208}));
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> other = prepare(100);
  ASSERT_TRUE(other.ok()) << program->Format(other.status());
  EXPECT_EQ(Control().maps.size(), 3u);
  EXPECT_TRUE((*other)->kernel().emitted.slice.empty());
  EXPECT_TRUE((*other)->Launch().ok());

  // An array that many programs read is copied to aligned rows first.
  SeenRepack seen;
  Control().run = Watching(&seen);
  const int allocations = Control().live_allocations;
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> copied = prepare(100, "8, 8");
  ASSERT_TRUE(copied.ok()) << program->Format(copied.status());
  EXPECT_EQ(Control().live_allocations, allocations + 1);
  ASSERT_EQ(Control().maps.size(), 6u);
  EXPECT_NE(Control().maps[3].address, memory[0]);
  EXPECT_EQ(Control().maps[3].strides, (std::vector<unsigned long long>{208}));
  EXPECT_EQ(Control().maps[4].address, memory[1]);
  ASSERT_TRUE((*copied)->Launch().ok());
  EXPECT_EQ(seen.launched, (std::vector<std::string>{"repack_rows", "matmul"}));
  EXPECT_EQ(seen.from, reinterpret_cast<uint64_t>(memory[0]));
  EXPECT_EQ(seen.to_pitch, 208u);
  EXPECT_EQ(seen.row_bytes, 196u);
  EXPECT_EQ(seen.turned_bytes, 0u);
  EXPECT_EQ(seen.rows, 100u);
  ASSERT_TRUE((*copied)->SetInteger("am", 104).ok());
  ASSERT_TRUE((*copied)->Launch().ok());
  EXPECT_EQ(seen.launched.size(), 3u);

  // Where launches may take no memory of their own, it is not; aligned arrays go by tensor maps as before.
  EngineOptions frugal = Options();
  frugal.workspace = false;
  program = Load(kMatmul, frugal);
  const int before = Control().live_allocations;
  seen.launched.clear();
  Control().maps.clear();
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> plain = prepare(100, "8, 8");
  ASSERT_TRUE(plain.ok()) << program->Format(plain.status());
  EXPECT_EQ(Control().live_allocations, before);
  EXPECT_TRUE(Control().maps.empty());
  ASSERT_TRUE((*plain)->Launch().ok());
  EXPECT_EQ(seen.launched, (std::vector<std::string>{"matmul"}));
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> mapped = prepare(104, "8, 8");
  ASSERT_TRUE(mapped.ok()) << program->Format(mapped.status());
  EXPECT_EQ(Control().maps.size(), 3u);
  EXPECT_EQ((*mapped)->SetInteger("am", 100).message().find("with this value"), 0u);
}

// Copies of host tensors and the workspace come from the host's pool, and go back to it; the driver is asked for none.
TEST_F(RunnerTest, MemoryFromTheHostsAllocator) {
  std::map<void*, int64_t> pool;
  int asked = 0;
  int64_t limit = int64_t{1} << 30, shift = 0;
  EngineOptions options = Options();
  options.gpu_memory.allocate = [&](int64_t bytes) -> void* {
    ++asked;
    if (bytes > limit) return nullptr;
    char* memory = static_cast<char*>(std::aligned_alloc(256, static_cast<size_t>((bytes + 512) / 256 * 256))) + shift;
    pool[memory] = bytes;
    return memory;
  };
  options.gpu_memory.release = [&](void* memory) {
    ASSERT_EQ(pool.erase(memory), 1u);
    std::free(static_cast<char*>(memory) - shift);
  };
  std::shared_ptr<Program> program = Load(kMatmul, options);
  const int before = Control().live_allocations;
  Control().run = [](const FakeLaunch&) { return 1.0; };
  alignas(64) static char memory[3][100 * 104 * 2];
  Control().device_address = 1;
  const auto prepare = [&] {
    auto ref = [&](int which) { return TensorRef{memory[which], isa::DType::kF16, {100, 100}}; };
    return program->Prepare("matmul", "8, 8",
                            {{"a", ref(0)}, {"b", ref(1)}, {"c", ref(2)}, {"M", 100}, {"N", 99}, {"K", 98}, {"am", 100}, {"bk", 104}, {"cm", 104}, {"B", 64}});
  };
  {
    absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = prepare();
    ASSERT_TRUE(launch.ok()) << program->Format(launch.status());
    EXPECT_EQ(pool.size(), 1u);  // rows of 200 bytes are copied to rows of 208
    EXPECT_GE(pool.begin()->second, 100 * 208);
    ASSERT_TRUE((*launch)->Launch().ok());
  }
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(Control().live_allocations, before);
  limit = 100;
  EXPECT_EQ(prepare().status().code(), absl::StatusCode::kResourceExhausted);
  limit = int64_t{1} << 30;
  shift = 16;
  EXPECT_EQ(prepare().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(pool.empty());
  EXPECT_GT(asked, 2);

  options.gpu_memory.release = nullptr;
  EXPECT_EQ(Engine::Open(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RunnerTest, ManyProgramsOfOneWarpShareBlocks) {
  std::shared_ptr<Program> program = Load(R"(
import triton
import triton.language as tl

@triton.jit
def total(x, o, N: tl.constexpr):
    row = tl.program_id(0)
    tl.store(o + row, tl.sum(tl.load(x + row * N + tl.arange(0, N))))
)");
  alignas(64) static float rows[64], sums[1];
  Control().device_address = 1;
  FakeLaunch seen;
  uint32_t programs = 0;
  Control().run = [&](const FakeLaunch& launch) {
    seen = launch;
    if (launch.threads > 32) programs = *static_cast<uint32_t*>(launch.params[2]);
    return 1.0;
  };
  const auto prepare = [&](const char* grid) {
    return program->Prepare("total", grid, {{"x", TensorRef{rows, isa::DType::kF32, {64}}}, {"o", TensorRef{sums, isa::DType::kF32, {1}}}, {"N", 64}});
  };
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> many = prepare("4097, 3");
  ASSERT_TRUE(many.ok()) << program->Format(many.status());
  ASSERT_TRUE((*many)->Launch().ok());
  EXPECT_EQ(seen.grid[0], 1025u);
  EXPECT_EQ(seen.grid[1], 3u);
  EXPECT_EQ(seen.threads, 128u);
  EXPECT_EQ(programs, 4097u);
  ASSERT_TRUE((*many)->SetGrid({6, 1, 1}).ok());
  ASSERT_TRUE((*many)->Launch().ok());
  EXPECT_EQ(seen.grid[0], 2u);
  EXPECT_EQ(programs, 6u);
  // Few are spread over the multiprocessors.
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> few = prepare("100");
  ASSERT_TRUE(few.ok()) << program->Format(few.status());
  ASSERT_TRUE((*few)->Launch().ok());
  EXPECT_EQ(seen.grid[0], 100u);
  EXPECT_EQ(seen.threads, 32u);
}

// What Warm compiles is what a launch on a large grid takes: no other kernel is compiled for it, nor the one that copies arrays which are not aligned.
TEST_F(RunnerTest, CompiledAheadForAGridThatFillsTheGpu) {
  std::shared_ptr<Program> program = Load(kMatmul);
  alignas(64) static char memory[3][1280 * 64 * 2];
  Control().device_address = 1;
  std::vector<Argument> args = {{"a", TensorRef{nullptr, isa::DType::kF16, {1280, 64}}}, {"b", TensorRef{nullptr, isa::DType::kF16, {64, 64}}},
                                {"c", TensorRef{nullptr, isa::DType::kF16, {1280, 64}}}, {"M", 1280}, {"N", 64}, {"K", 64}, {"am", 64}, {"bk", 64}, {"cm", 64}, {"B", 64}};
  const absl::Status warm = program->Warm("matmul", args);
  ASSERT_TRUE(warm.ok()) << program->Format(warm);
  for (int i = 0; i < 3; ++i) std::get<TensorRef>(args[static_cast<size_t>(i)].value).data = memory[i];
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = program->Prepare("matmul", "20, 10", args);
  ASSERT_TRUE(launch.ok()) << program->Format(launch.status());
  EXPECT_EQ(Control().calls["cuModuleLoadData"], 1);
  EXPECT_FALSE((*launch)->SetInteger("bk", 63).ok());  // it is 16 times something, as when the launch was prepared
  EXPECT_EQ(Control().calls["cuModuleLoadData"], 1);
}

TEST_F(RunnerTest, FewProgramsAreLaunchedInParts) {
  std::shared_ptr<Program> program = Load(kMatmul);
  alignas(64) static char memory[3][100 * 104 * 2];
  Control().device_address = 1;
  unsigned blocks = 0;
  Control().run = [&](const FakeLaunch& launch) {
    blocks = launch.grid[0];
    return 1.0;
  };
  auto ref = [&](int which) { return TensorRef{memory[which], isa::DType::kF16, {100, 100}}; };
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = program->Prepare(
      "matmul", "1, 1", {{"a", ref(0)}, {"b", ref(1)}, {"c", ref(2)}, {"M", 100}, {"N", 99}, {"K", 98}, {"am", 104}, {"bk", 104}, {"cm", 104}, {"B", 128}});
  ASSERT_TRUE(launch.ok()) << program->Format(launch.status());
  // 128 x 128 in four parts of 64 x 64: what is compiled is what was chosen.
  EXPECT_EQ((*launch)->kernel().emitted.parts, 4);
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(blocks, 4u);
  // The prepared kernel keeps its parts on another grid.
  ASSERT_TRUE((*launch)->SetGrid({2, 2, 1}).ok());
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(blocks, 16u);
}

TEST_F(RunnerTest, TheLastWaveIsLaunchedInParts) {
  std::shared_ptr<Program> program = Load(kMatmul);
  alignas(64) static char memory[3][2176 * 64 * 2];
  Control().device_address = 1;
  unsigned blocks = 0;
  Control().run = [&](const FakeLaunch& launch) {
    blocks = launch.grid[0];
    return 1.0;
  };
  auto ref = [&](int which, int64_t rows, int64_t columns) { return TensorRef{memory[which], isa::DType::kF16, {rows, columns}}; };
  // 17 x 17 tiles of 128 x 128: two waves and 25 (nobody touches the memory).
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = program->Prepare(
      "matmul", "17, 17", {{"a", ref(0, 2176, 64)}, {"b", ref(1, 64, 2176)}, {"c", ref(2, 2176, 64)}, {"M", 2176}, {"N", 2176}, {"K", 64}, {"am", 64}, {"bk", 2176}, {"cm", 2176}, {"B", 128}});
  ASSERT_TRUE(launch.ok()) << program->Format(launch.status());
  EXPECT_EQ((*launch)->kernel().emitted.parts, 2);
  EXPECT_TRUE((*launch)->kernel().emitted.tail);
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(blocks, 528u);  // all that the driver here has room for
  // The prepared kernel keeps them on another grid.
  ASSERT_TRUE((*launch)->SetGrid({12, 11, 1}).ok());
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(blocks, 264u);
}

// --- promises ---

host::PreparedRun RunOf(const std::vector<host::Tensor>& tensors, const std::vector<Arg>& args) {
  host::PreparedRun run;
  run.tensors = tensors;
  run.buffers.resize(tensors.size());
  run.args = args;
  return run;
}

TEST_F(RunnerTest, OverlapIsFound) {
  const ir::Kernel kernel;
  const auto Promised = [&](const host::PreparedRun& run) { return PromisesOf(run, gpu::RangesOf(kernel, {}, {1, 1, 1})); };
  const host::Tensor a = *host::Tensor::Make(isa::DType::kF32, {16}, host::Fill::kZero), b = *host::Tensor::Make(isa::DType::kF32, {16}, host::Fill::kZero);
  EXPECT_TRUE(Promised(RunOf({a, b}, {Arg::InBuffer(0), Arg::InBuffer(1)})).no_alias);
  EXPECT_FALSE(Promised(RunOf({a}, {Arg::InBuffer(0), Arg::InBuffer(0, 32)})).no_alias);
  host::Tensor c = a, d = a;
  c.storage = host::Storage::Borrow(a.data(), 40);
  d.storage = host::Storage::Borrow(a.data() + 36, 4);
  EXPECT_FALSE(Promised(RunOf({c, d}, {Arg::InBuffer(0), Arg::InBuffer(1)})).no_alias);
  d.storage = host::Storage::Borrow(a.data() + 40, 4);
  EXPECT_TRUE(Promised(RunOf({c, d}, {Arg::InBuffer(0), Arg::InBuffer(1)})).no_alias);
  EXPECT_FALSE(Promised(RunOf({a}, {Arg::InBuffer(0), Arg::Pointer(&kernel)})).no_alias);
}

// --- tuning ---

using host::Tuning;

class TuneTest : public RunnerTest {
 protected:
  void SetUp() override {
    RunnerTest::SetUp();
    directory_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    // The two-warp configuration is the fastest by far; each run doubles what is there.
    Control().run = [](const FakeLaunch& launch) {
      float* x = *static_cast<float**>(launch.params[0]);
      const int n = *static_cast<int*>(launch.params[1]);
      for (int i = 0; i < n; ++i) x[i] *= 2;
      return launch.threads == 64 ? 10.0 : launch.threads == 32 ? 20.0 : 30.0;
    };
  }
  std::shared_ptr<Program> Tuned(Tuning tuning = Tuning::kWhenNeeded) {
    EngineOptions options = Options();
    options.cache_directory = directory_.string();
    options.tuning = tuning;
    return Load(kTuned, options);
  }
  // The configuration of the last launch.
  static std::string Run(Program& program, int n = 100) {
    auto out = program.Call("run", specializer::CallArgs{{Tensor(std::vector<float>(static_cast<size_t>(n), 3))}, {}});
    EXPECT_TRUE(out.ok()) << program.Format(out.status());
    if (!out.ok()) return "";
    EXPECT_EQ(Floats(*out), std::vector<float>(static_cast<size_t>(n), 6));  // once, whatever was tried before
    return program.world().launches().back().config;
  }
  std::filesystem::path directory_;
};

TEST_F(TuneTest, TheFastestWinsAndIsRemembered) {
  std::shared_ptr<Program> program = Tuned();
  EXPECT_EQ(Run(*program).substr(0, 9), "BLOCK=64,");
  ASSERT_EQ(program->world().tuned().size(), 1u);
  const host::TuneRecord& record = program->world().tuned()[0];
  EXPECT_FALSE(record.remembered);
  EXPECT_EQ(record.key, "n=100 | x_ptr:f32");
  ASSERT_EQ(record.configs.size(), 3u);
  EXPECT_NEAR(record.configs[1].microseconds, 10, 1e-3);
  EXPECT_NEAR(record.configs[2].microseconds, 30, 1e-3);
  const int launches = Control().launches;
  EXPECT_EQ(Run(*program).substr(0, 9), "BLOCK=64,");
  EXPECT_EQ(Control().launches, launches + 1);  // nothing is measured twice
  // Another process: nothing is measured at all.
  std::shared_ptr<Program> later = Tuned();
  EXPECT_EQ(Run(*later).substr(0, 9), "BLOCK=64,");
  EXPECT_EQ(Control().launches, launches + 2);
  EXPECT_TRUE(later->world().tuned()[0].remembered);
  // Other key values are another question.
  EXPECT_EQ(Run(*later, 50).substr(0, 9), "BLOCK=64,");
  EXPECT_FALSE(later->world().tuned()[1].remembered);
}

// What tuning found travels in the .tbc: another machine, with a cache of its own, measures nothing.
TEST_F(TuneTest, ResultsInTheFile) {
  std::shared_ptr<Program> program = Tuned();
  EXPECT_EQ(Run(*program).substr(0, 9), "BLOCK=64,");
  absl::StatusOr<std::string> file = isa::AddTuning(isa::WriteTbc(program->module()), program->world().chosen_configs());
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::remove_all(directory_);
  EngineOptions options = Options();
  options.cache_directory = directory_.string();
  Control().launches = 0;
  std::shared_ptr<Program> elsewhere = Load(file->c_str(), options, file->size());
  EXPECT_EQ(Run(*elsewhere).substr(0, 9), "BLOCK=64,");
  EXPECT_EQ(Control().launches, 1);
  EXPECT_TRUE(elsewhere->world().tuned()[0].remembered);
  // A prepared launch takes it too.
  std::vector<float> x(128, 1.0f);
  Control().device_address = 1;
  const TensorRef ref{x.data(), isa::DType::kF32, {100}};
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = elsewhere->Prepare("double", "1", {{"x_ptr", ref}, {"n", 100}});
  ASSERT_TRUE(launch.ok()) << elsewhere->Format(launch.status());
  EXPECT_EQ((*launch)->kernel().emitted.threads, 64);
  // Not for other key values, nor where asked to measure anew.
  Control().device_address = 0;
  EXPECT_EQ(Run(*elsewhere, 50).substr(0, 9), "BLOCK=64,");
  EXPECT_GT(Control().launches, 2);
  // Another architecture is another question.
  Control().major = 8;
  Control().minor = 0;
  std::filesystem::remove_all(directory_);
  Control().launches = 0;
  EXPECT_EQ(Run(*Load(file->c_str(), options, file->size())).substr(0, 9), "BLOCK=64,");
  EXPECT_GT(Control().launches, 1);
}

TEST_F(TuneTest, NeverAndAlways) {
  EXPECT_EQ(Run(*Tuned(Tuning::kNever)).substr(0, 9), "BLOCK=32,");
  EXPECT_EQ(Control().launches, 1);
  EXPECT_EQ(Run(*Tuned()).substr(0, 9), "BLOCK=64,");
  const int launches = Control().launches;
  EXPECT_EQ(Run(*Tuned(Tuning::kAlways)).substr(0, 9), "BLOCK=64,");
  EXPECT_GT(Control().launches, launches + 1);
}

TEST_F(TuneTest, OnlyOutsideTheNoise) {
  Control().run = [](const FakeLaunch& launch) {
    float* x = *static_cast<float**>(launch.params[0]);
    for (int i = 0; i < *static_cast<int*>(launch.params[1]); ++i) x[i] *= 2;
    return launch.threads == 32 ? 10.05 : 10.0;
  };
  EXPECT_EQ(Run(*Tuned()).substr(0, 9), "BLOCK=32,");
}

constexpr char kFound[] = R"(
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'B': 64}, num_warps=4), triton.Config({'B': 32}, num_warps=4)], key=['n'])
@triton.jit
def product(out, at, n, B: tl.constexpr):
    m = tl.load(at + 2).to(tl.int32)
    a = tl.make_tensor_descriptor(tl.load(at).to(tl.pointer_type(tl.float16)), [m, m], [m, 1], [B, B])
    b = tl.make_tensor_descriptor(tl.load(at + 1).to(tl.pointer_type(tl.float16)), [m, m], [m, 1], [B, B])
    acc = tl.zeros([B, B], tl.float32)
    for k in range(0, m, B):
        acc += tl.dot(a.load([0, k]), b.load([k, 0]))
    tl.store(out + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :], acc)

def run(out, n):
    at = torch.tensor([0, 0, 0], dtype=torch.int64, device='cuda')
    product[(1,)](out, at, n)
    return out
)";

// How large the arrays are that a kernel finds, the launcher cannot know: tuning finds whether maps of them pay.
TEST_F(TuneTest, MapsOfArraysThatTheKernelFinds) {
  double with = 20;
  unsigned last = 0;
  std::set<unsigned> seen;
  Control().run = [&](const FakeLaunch& launch) {
    if (launch.smem_bytes < 65536) return 30.0;  // tiles of 32 rows
    last = launch.threads;                       // with maps there is a producer beside the four warps
    seen.insert(last);
    return last == 128 ? 10.0 : with;
  };
  EngineOptions options = Options();
  options.cache_directory = directory_.string();
  const auto run = [&](double maps_take) {
    with = maps_take;
    std::shared_ptr<Program> program = Load(kFound, options);
    auto out = program->Call("run", specializer::CallArgs{{Tensor(std::vector<float>(64 * 64)), specializer::Value::Int(1000)}, {}});
    EXPECT_TRUE(out.ok()) << program->Format(out.status());
    return program->world().tuned().empty() || program->world().tuned()[0].configs.empty() ? 0.0 : program->world().tuned()[0].configs[0].microseconds;
  };
  EXPECT_NEAR(run(20), 10, 1e-3);
  EXPECT_EQ(seen, (std::set<unsigned>{128, 256}));
  // Another process does as this one found.
  Control().launches = 0;
  run(20);
  EXPECT_EQ(Control().launches, 1);
  EXPECT_EQ(last, 128u);
  std::filesystem::remove_all(directory_);
  EXPECT_NEAR(run(5), 5, 1e-3);
  Control().launches = 0;
  run(5);
  EXPECT_EQ(Control().launches, 1);
  EXPECT_EQ(last, 256u);
}

constexpr char kWalks[] = R"(
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'B': 64}, num_warps=4), triton.Config({'B': 32}, num_warps=4)], key=['n'])
@triton.jit
def product(at, n, B: tl.constexpr):
    m = tl.load(at + 3).to(tl.int32)
    a = tl.make_tensor_descriptor(tl.load(at).to(tl.pointer_type(tl.float16)), [m, m], [m, 1], [B, B])
    b = tl.make_tensor_descriptor(tl.load(at + 1).to(tl.pointer_type(tl.float16)), [m, m], [m, 1], [B, B])
    c = tl.make_tensor_descriptor(tl.load(at + 2).to(tl.pointer_type(tl.float16)), [m, m], [m, 1], [B, B])
    tile = tl.program_id(0)
    while tile < m // B:
        acc = tl.zeros([B, B], tl.float32)
        for k in range(0, m, B):
            acc += tl.dot(a.load([tile * B, k]), b.load([k, 0]))
        c.store([tile * B, 0], acc.to(tl.float16))
        tile += tl.num_programs(0)

def run(programs, n):
    at = torch.tensor([0, 0, 0, 0], dtype=torch.int64, device='cuda')
    product[(programs,)](at, n)
    return 0
)";

// Which programs lie beside each other matters where many copy the same boxes; which ones that are the launcher cannot know either.
TEST_F(TuneTest, OrderOfBlocksOfAKernelThatFindsItsArrays) {
  std::vector<uint32_t> strides;  // of launches with maps, of the larger tiles
  double other = 5;
  Control().run = [&](const FakeLaunch& launch) {
    if (launch.threads == 128) return 20.0;        // without maps
    if (launch.smem_bytes < 65536) return 30.0;    // tiles of 32 rows
    // at, n; three maps; the stride
    strides.push_back(*static_cast<const uint32_t*>(launch.params[5]));
    return strides.back() == 1 ? 10.0 : other;
  };
  EngineOptions options = Options();
  options.cache_directory = directory_.string();
  const auto run = [&](int64_t programs, double takes) {
    other = takes;
    std::shared_ptr<Program> program = Load(kWalks, options);
    auto out = program->Call("run", specializer::CallArgs{{specializer::Value::Int(programs), specializer::Value::Int(1000)}, {}});
    EXPECT_TRUE(out.ok()) << program->Format(out.status());
    return program->world().tuned().empty() || program->world().tuned()[0].configs.empty() ? 0.0 : program->world().tuned()[0].configs[0].microseconds;
  };
  EXPECT_NEAR(run(100, 5), 5, 1e-3);
  EXPECT_EQ(std::set<uint32_t>(strides.begin(), strides.end()), (std::set<uint32_t>{1, 32}));
  EXPECT_EQ(strides.back(), 32u);
  // Another process does as this one found, if the grid is of that kind.
  strides.clear();
  run(100, 5);
  EXPECT_EQ(strides, std::vector<uint32_t>{32});
  for (const int64_t programs : {63, 1000}) {
    strides.clear();
    run(programs, 5);
    EXPECT_EQ(strides, std::vector<uint32_t>{1}) << programs;
  }
  std::filesystem::remove_all(directory_);
  EXPECT_NEAR(run(100, 10), 10, 1e-3);
  EXPECT_EQ(strides.back(), 1u);
  strides.clear();
  run(100, 5);
  EXPECT_EQ(strides, std::vector<uint32_t>{1});
}

TEST_F(TuneTest, AConfigurationThatTheKernelRefusesIsLeftOut) {
  std::shared_ptr<Program> program = Load(R"(
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'B': 64}), triton.Config({'B': 128})], key=['n'])
@triton.jit
def bump(x, n, B: tl.constexpr):
    tl.static_assert(B <= 64)
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) + 1)

def run(n):
    x = torch.zeros([128], dtype=torch.float32, device='cuda')
    bump[(1,)](x, n)
    return 0
)", Options());
  auto out = program->Call("run", specializer::CallArgs{{specializer::Value::Int(5)}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  ASSERT_EQ(program->world().tuned().size(), 1u);
  EXPECT_EQ(program->world().tuned()[0].configs[0].refused, "");
  EXPECT_NE(program->world().tuned()[0].configs[1].refused, "");
}

// What trials write by addresses that the kernel finds is put back too.
TEST_F(TuneTest, TrialsLeaveMemoryThatTheKernelFinds) {
  Control().run = [](const FakeLaunch& launch) {
    const int64_t* at = *static_cast<int64_t**>(launch.params[0]);
    *reinterpret_cast<float*>(at[0]) += 1;
    return 5.0;
  };
  std::shared_ptr<Program> program = Load(R"(
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'B': 64}), triton.Config({'B': 128})], key=['n'])
@triton.jit
def bump(at, n, B: tl.constexpr):
    x = tl.load(at).to(tl.pointer_type(tl.float32))
    tl.store(x, tl.load(x) + B // B)

def run(n):
    x = torch.zeros([16], dtype=torch.float32, device='cuda')
    at = torch.tensor([x.data_ptr()], dtype=torch.int64, device='cuda')
    bump[(1,)](at, n)
    return x
)", Options());
  auto out = program->Call("run", specializer::CallArgs{{specializer::Value::Int(5)}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_GT(Control().launches, 2);
  EXPECT_EQ(Floats(*out)[0], 1);
}

// That a cache cannot be read and cannot be written is said once each, whatever is tried there, and nothing else comes of it.
TEST_F(TuneTest, ACacheThatCannotBeWritten) {
  std::vector<std::string> warnings;
  EngineOptions options = Options();
  std::ofstream(directory_.string() + ".file") << "no folder";
  options.cache_directory = directory_.string() + ".file/cache";
  options.warn = [&](absl::string_view line) { warnings.emplace_back(line); };
  std::shared_ptr<Program> program = Load(kTuned, options);
  auto out = program->Call("run", specializer::CallArgs{{Tensor(std::vector<float>(100, 3))}, {}});
  EXPECT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_EQ(warnings.size(), 2u);
  std::filesystem::remove(directory_.string() + ".file");
}

TEST_F(TuneTest, AConfigurationThatDoesNotFitIsLeftOut) {
  Control().max_threads = 32;
  std::shared_ptr<Program> program = Tuned();
  EXPECT_EQ(Run(*program).substr(0, 9), "BLOCK=32,");
  const host::TuneRecord& record = program->world().tuned()[0];
  EXPECT_NE(record.configs[1].refused.find("has 64 threads"), std::string::npos);
  EXPECT_EQ(record.configs[0].refused, "");
}

}  // namespace
}  // namespace tilevm::vm
