// Runs kernels of Triton files on both engines and compares: the same typed IR, the CPU engine on one side, layouts, emitter, NVRTC and the card on the
// other.
//
//   kernel_check FOLDER     the folder with the example files; one line a kernel; exit code 1 if one fails, 77 where there is no GPU or no NVRTC
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontends/triton/compile.h"
#include "gpu/compile/fallback.h"
#include "gpu/compile/generate.h"
#include "gpu/device/headers.h"
#include "gpu/driver/api.h"
#include "gpu/launch/arguments.h"
#include "gpu/nvrtc/nvrtc.h"
#include "isa/eval.h"
#include "isa/status.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/passes/passes.h"
#include "vm/interp/interp.h"

namespace tilevm::gpu {
namespace {

using isa::DType;
using specializer::ArgSpec;
using specializer::Value;

struct Argument {
  enum class Kind { kTensor, kInt, kFloat, kConstexpr } kind = Kind::kInt;
  DType dtype = DType::kF32;
  int64_t count = 0;       // elements of a tensor; value of an int or constexpr
  double number = 0;
  bool output = false;     // compared after the run
};
Argument In(DType dtype, int64_t count) { return {Argument::Kind::kTensor, dtype, count, 0, false}; }
Argument Out(DType dtype, int64_t count) { return {Argument::Kind::kTensor, dtype, count, 0, true}; }
Argument Int(int64_t value) { return {Argument::Kind::kInt, DType::kI32, value, 0, false}; }
Argument Float(double value) { return {Argument::Kind::kFloat, DType::kF32, 0, value, false}; }
Argument Const(int64_t value) { return {Argument::Kind::kConstexpr, DType::kI32, value, 0, false}; }

struct Case {
  std::string file, kernel, what;
  int num_warps;
  unsigned grid[3];
  std::vector<Argument> args;
  double tolerance;  // of the largest magnitude
};

double Decode(DType dtype, const std::vector<uint8_t>& bytes, int64_t i) {
  uint64_t bits = 0;
  const int size = isa::StorageBytes(dtype);
  std::memcpy(&bits, bytes.data() + i * size, size);
  const isa::Scalar wide = isa::EvalCast(dtype, DType::kF64, isa::Rounding::kNearestEven, isa::Scalar{bits});
  double out;
  std::memcpy(&out, &wide.bits, 8);
  return out;
}

struct Device {
  const Api* api = nullptr;
  std::shared_ptr<const Nvrtc> nvrtc;
  std::string arch;
};

absl::StatusOr<Device> Open() {
  Device out;
  TILEVM_ASSIGN_OR_RETURN(out.api, LoadDriver());
  TILEVM_ASSIGN_OR_RETURN(out.nvrtc, Nvrtc::Load());
  CuDevice device = 0;
  CuContext context = nullptr;
  int major = 0, minor = 0;
  TILEVM_DRIVER_CALL(*out.api, DeviceGet, &device, 0);
  TILEVM_DRIVER_CALL(*out.api, DevicePrimaryCtxRetain, &context, device);
  TILEVM_DRIVER_CALL(*out.api, CtxSetCurrent, context);
  TILEVM_DRIVER_CALL(*out.api, DeviceGetAttribute, &major, kAttributeComputeCapabilityMajor, device);
  TILEVM_DRIVER_CALL(*out.api, DeviceGetAttribute, &minor, kAttributeComputeCapabilityMinor, device);
  out.arch = absl::StrCat("sm_", major, minor, major >= 9 ? "a" : "");
  return out;
}

absl::Status RunCase(const Device& device, const std::string& folder, const Case& c) {
  const std::string path = absl::StrCat(folder, "/", c.file);
  TILEVM_ASSIGN_OR_RETURN(std::string source, triton::LoadFromDisk(path));
  TILEVM_ASSIGN_OR_RETURN(isa::Module module, triton::CompileTriton(source, c.file));
  specializer::Evaluator evaluator(&module, nullptr);
  TILEVM_ASSIGN_OR_RETURN(Value function, evaluator.Global(c.kernel));
  specializer::SpecializationKey key;
  for (const Argument& arg : c.args) {
    ArgSpec spec;
    if (arg.kind == Argument::Kind::kConstexpr || (arg.kind == Argument::Kind::kInt && arg.count == 1)) {
      spec.value = Value::Int(arg.count);
    } else {
      spec.kind = ArgSpec::Kind::kTyped;
      spec.type = arg.kind == Argument::Kind::kTensor ? isa::PointerType(arg.dtype) : isa::ScalarType(arg.dtype);
      spec.divisible_by_16 = arg.kind == Argument::Kind::kTensor || (arg.kind == Argument::Kind::kInt && arg.count % 16 == 0);
    }
    key.args.push_back(spec);
  }
  key.options.num_warps = c.num_warps;
  auto start = std::chrono::steady_clock::now();
  auto lap = [&] {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - start).count();
    start = now;
    return ms;
  };
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel typed, evaluator.Specialize(function, key));
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel kernel, specializer::RunPasses(std::move(typed)));
  const double specialize_ms = lap();

  TILEVM_ASSIGN_OR_RETURN(const Target target, TargetOf(device.arch));
  std::vector<uint64_t> expected;  // arguments as they will be: memory is aligned
  for (const ir::Param& param : kernel.params) {
    const Argument& arg = c.args[static_cast<size_t>(param.source_index)];
    expected.push_back(arg.kind == Argument::Kind::kInt ? static_cast<uint64_t>(arg.count) : 0);
  }
  constexpr int kMultiprocessors = 132;  // small grids are split as an H200 has them
  const std::array<int64_t, 3> grid = {c.grid[0], c.grid[1], c.grid[2]};
  // The variant that a launch takes.
  double emit_ms = 0, nvrtc_ms = 0;
  using Made = std::pair<Emitted, CompileResult>;
  const auto generate = [&](const GenerateOptions& variant) {
    lap();
    auto emitted = GenerateFor(kernel, target, variant, expected, grid, false, kMultiprocessors);
    emit_ms += lap();
    return emitted;
  };
  const auto compile = [&](Emitted text) -> absl::StatusOr<Made> {
    CompileRequest request;
    request.source = text.text;
    request.headers = DeviceHeaderTexts();
    request.arch = device.arch;
    request.own_cache = false;
    lap();
    TILEVM_ASSIGN_OR_RETURN(CompileResult result, device.nvrtc->Compile(request));
    nvrtc_ms += lap();
    return Made(std::move(text), std::move(result));
  };
  TILEVM_ASSIGN_OR_RETURN(Made made, (BestVariant<Made>(GenerateOptions(), generate, compile, [](const Made& m) { return BadnessOf(m.second.spill_bytes, m.second.serialised); })));
  const Emitted& emitted = made.first;
  const CompileResult& compiled = made.second;

  // Both sides start from the same memory; outputs are NaN patterns.
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<std::vector<uint8_t>> host(c.args.size());
  for (size_t i = 0; i < c.args.size(); ++i) {
    const Argument& arg = c.args[i];
    if (arg.kind != Argument::Kind::kTensor) continue;
    const int size = isa::StorageBytes(arg.dtype);
    host[i].assign(arg.count * size, 0xff);
    for (int64_t k = 0; k < arg.count && !arg.output; ++k) {
      const isa::Scalar value = isa::ScalarFromDouble(arg.dtype, normal(random));
      std::memcpy(host[i].data() + k * size, &value.bits, size);
    }
  }
  const Api& api = *device.api;
  CuModule loaded = nullptr;
  CuFunction entry = nullptr;
  TILEVM_DRIVER_CALL(api, ModuleLoadData, &loaded, compiled.cubin.data());
  TILEVM_DRIVER_CALL(api, ModuleGetFunction, &entry, loaded, emitted.entry.c_str());
  if (emitted.smem_bytes > 48 * 1024) {
    TILEVM_DRIVER_CALL(api, FuncSetAttribute, entry, kFuncAttributeMaxDynamicSmem, static_cast<int>(emitted.smem_bytes));
  }
  std::vector<CuDevicePtr> memory(c.args.size());
  std::vector<uint64_t> scalars(c.args.size());
  std::vector<uint64_t> values;
  std::vector<vm::Buffer> buffers;
  std::vector<std::vector<uint8_t>> cpu = host;
  std::vector<vm::Arg> cpu_args;
  for (const ir::Param& param : kernel.params) {
    const size_t i = static_cast<size_t>(param.source_index);
    const Argument& arg = c.args[i];
    if (arg.kind == Argument::Kind::kTensor) {
      TILEVM_DRIVER_CALL(api, MemAlloc, &memory[i], host[i].size());
      TILEVM_DRIVER_CALL(api, MemcpyHtoD, memory[i], host[i].data(), host[i].size());
      values.push_back(memory[i]);
      cpu_args.push_back(vm::Arg::InBuffer(static_cast<int32_t>(buffers.size())));
      vm::Buffer buffer;
      buffer.data = cpu[i].data();
      buffer.bytes = static_cast<int64_t>(cpu[i].size());
      buffer.dtype = arg.dtype;
      buffer.name = param.name;
      buffers.push_back(buffer);
    } else {
      scalars[i] = arg.kind == Argument::Kind::kFloat ? isa::ScalarFromDouble(arg.dtype, arg.number).bits : static_cast<uint64_t>(arg.count);
      values.push_back(scalars[i]);
      cpu_args.push_back(vm::Arg::Scalar(scalars[i]));
    }
  }
  const launch::SliceValues slice = EvaluateSlice(emitted, kernel, values, grid, RangesOf(kernel, values, grid));
  if (!slice.failed.empty()) return absl::InternalError(absl::StrCat("a check of the launch slice fails: ", slice.failed));
  LaunchArguments arguments;
  TILEVM_RETURN_IF_ERROR(arguments.Set(api, emitted, values, slice, grid, 0));
  TILEVM_ASSIGN_OR_RETURN(const int64_t at_once, BlocksAtOnce(api, entry, emitted));
  const std::array<int64_t, 3> blocks = LaunchedGrid(emitted, grid, at_once);
  CuEvent begin = nullptr, end = nullptr;
  TILEVM_DRIVER_CALL(api, EventCreate, &begin, 0);
  TILEVM_DRIVER_CALL(api, EventCreate, &end, 0);
  // The first run counts; the second is timed.
  float ms = 0;
  std::vector<std::vector<uint8_t>> got(c.args.size());
  for (int round = 0; round < 2; ++round) {
    TILEVM_DRIVER_CALL(api, EventRecord, begin, nullptr);
    TILEVM_DRIVER_CALL(api, LaunchKernel, entry, static_cast<unsigned>(blocks[0]), static_cast<unsigned>(blocks[1]), static_cast<unsigned>(blocks[2]),
                       static_cast<unsigned>(emitted.threads), 1, 1, static_cast<unsigned>(emitted.smem_bytes), nullptr, arguments.pointers(), nullptr);
    TILEVM_DRIVER_CALL(api, EventRecord, end, nullptr);
    TILEVM_DRIVER_CALL(api, EventSynchronize, end);
    TILEVM_DRIVER_CALL(api, EventElapsedTime, &ms, begin, end);
    for (size_t i = 0; i < c.args.size() && round == 0; ++i) {
      if (!c.args[i].output) continue;
      got[i].resize(host[i].size());
      TILEVM_DRIVER_CALL(api, MemcpyDtoH, got[i].data(), memory[i], got[i].size());
    }
  }
  for (CuDevicePtr pointer : memory) {
    if (pointer != 0) TILEVM_DRIVER_CALL(api, MemFree, pointer);
  }
  vm::RunOptions run;
  for (int axis = 0; axis < 3; ++axis) run.grid[axis] = c.grid[axis];
  run.threads = 0;
  TILEVM_RETURN_IF_ERROR(vm::Run(kernel, cpu_args, buffers, run).status());

  double worst = 0, largest = 0;
  int64_t equal = 0, count = 0;
  for (size_t i = 0; i < c.args.size(); ++i) {
    const Argument& arg = c.args[i];
    if (!arg.output) continue;
    for (int64_t k = 0; k < arg.count; ++k) {
      const double a = Decode(arg.dtype, got[i], k), b = Decode(arg.dtype, cpu[i], k);
      ++count;
      equal += a == b || (std::isnan(a) && std::isnan(b));
      if (std::isnan(a) != std::isnan(b)) worst = HUGE_VAL;
      if (std::isnan(a) || std::isnan(b)) continue;
      worst = std::max(worst, std::fabs(a - b));
      largest = std::max(largest, std::fabs(b));
    }
  }
  const bool right = worst <= c.tolerance * largest;
  std::printf("%-5s %-42s %7.2f%% bits equal, error %.2e of %.2e | specialize %.2f emit %.2f NVRTC %.0f ms, run %.1f us | regs %d spill %d smem %d\n",
              right ? "ok" : "WRONG", absl::StrCat(c.kernel, " ", c.what).c_str(), 100.0 * equal / count, worst, largest, specialize_ms, emit_ms, nvrtc_ms,
              ms * 1000, compiled.registers, static_cast<int>(compiled.spill_bytes), static_cast<int>(emitted.smem_bytes));
  return right ? absl::OkStatus() : absl::InternalError("the engines disagree");
}

int Main(const std::string& folder) {
  absl::StatusOr<Device> device = Open();
  if (!device.ok()) {
    std::printf("skipped: %s\n", std::string(device.status().message()).c_str());
    return 77;
  }
  const DType f16 = DType::kF16, f32 = DType::kF32;
  auto softmax = [&](int rows, int cols, int block, int warps, DType dtype, double tolerance) {
    return Case{"fused_softmax.py", "softmax_kernel", absl::StrCat(rows, "x", cols, " ", isa::Name(dtype)), warps, {unsigned(rows), 1, 1},
                {Out(dtype, int64_t{rows} * cols), In(dtype, int64_t{rows} * cols), Int(cols), Int(cols), Int(cols), Const(block)}, tolerance};
  };
  auto matmul = [&](int m, int n, int k, int bm, int bn, int bk, int warps) {
    const unsigned grid = static_cast<unsigned>(((m + bm - 1) / bm) * ((n + bn - 1) / bn));
    return Case{"matmul_autotune.py", "matmul_kernel", absl::StrCat(m, "x", n, "x", k, " block ", bm, "x", bn, "x", bk), warps, {grid, 1, 1},
                {In(f16, int64_t{m} * k), In(f16, int64_t{k} * n), Out(f16, int64_t{m} * n), Int(m), Int(n), Int(k), Int(k), Int(1), Int(n), Int(1), Int(n), Int(1),
                 Const(bm), Const(bn), Const(bk), Const(8)}, 1e-3};
  };
  auto attention = [&](int z, int h, int n, int d, int causal) {
    const int64_t size = int64_t{z} * h * n * d;
    std::vector<Argument> args = {In(f16, size), In(f16, size), In(f16, size), Out(f16, size), Float(0.125)};
    for (int t = 0; t < 4; ++t) {
      for (int stride : {h * n * d, n * d, d, 1}) args.push_back(Int(stride));
    }
    for (Argument arg : {Int(h), Int(n), Const(d), Const(64), Const(64), Const(causal)}) args.push_back(arg);
    return Case{"flash_attention.py", "flash_attention_kernel", absl::StrCat(z, "x", h, "x", n, "x", d, causal ? " causal" : ""), 4,
                {static_cast<unsigned>((n + 63) / 64), static_cast<unsigned>(z * h), 1}, args, 2e-3};
  };
  const std::vector<Case> cases = {
      {"vector_add.py", "add_kernel", "98432", 4, {97, 1, 1}, {In(f32, 98432), In(f32, 98432), Out(f32, 98432), Int(98432), Const(1024)}, 0},
      {"vector_add.py", "add_kernel", "10000000", 4, {9766, 1, 1}, {In(f32, 10000000), In(f32, 10000000), Out(f32, 10000000), Int(10000000), Const(1024)}, 0},
      softmax(1823, 781, 1024, 4, f32, 1e-6), softmax(128, 12345, 16384, 8, f32, 1e-6), softmax(4096, 1024, 1024, 4, f32, 1e-6),
      matmul(257, 129, 65, 64, 64, 32, 4), matmul(512, 512, 512, 64, 64, 32, 4), matmul(1024, 1024, 1024, 128, 128, 32, 8),
      attention(1, 2, 128, 64, 0), attention(2, 3, 200, 64, 1), attention(1, 2, 256, 128, 1),
  };
  int failures = 0;
  for (const Case& c : cases) {
    if (absl::Status status = RunCase(*device, folder, c); !status.ok()) {
      std::printf("      %s %s: %s\n", c.kernel.c_str(), c.what.c_str(), std::string(status.message()).substr(0, 1500).c_str());
      ++failures;
    }
  }
  std::printf("%d of %zu failed\n", failures, cases.size());
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilevm::gpu

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("kernel_check FOLDER: the folder with the example files\n");
    return 2;
  }
  return tilevm::gpu::Main(argv[1]);
}
