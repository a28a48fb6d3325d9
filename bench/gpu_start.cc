// What a first launch costs in a fresh process, part by part, and what a prepared launch costs after it.
//
//   gpu_start bare                                    only the driver, a context, memory: the ground that everything stands on
//   gpu_start add|softmax|matmul EXAMPLES CACHE_DIR    the kernel of that example; CACHE_DIR "" compiles without a cache
//
// One line of figures each; run it with an empty and with a filled cache directory, several times each (tools/gpu_check does). Times are the host's clock.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu/launch/device.h"
#include "vm/engine.h"

namespace tilevm::vm {
namespace {

using Clock = std::chrono::steady_clock;

double Millis(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

int Failed(const absl::Status& status) {
  std::fprintf(stderr, "gpu_start: %s\n", std::string(status.message()).c_str());
  return 1;
}

absl::StatusOr<void*> Memory(const gpu::Api& api, size_t bytes) {
  gpu::CuDevicePtr address = 0;
  TILEVM_DRIVER_CALL(api, MemAlloc, &address, bytes);
  TILEVM_DRIVER_CALL(api, MemsetD8Async, address, 0, bytes, nullptr);
  return reinterpret_cast<void*>(address);
}

absl::Status Bare() {
  const auto start = Clock::now();
  TILEVM_ASSIGN_OR_RETURN(const gpu::Api* api, gpu::LoadDriver());
  const auto loaded = Clock::now();
  gpu::CuContext context = nullptr;
  TILEVM_DRIVER_CALL(*api, DevicePrimaryCtxRetain, &context, 0);
  TILEVM_DRIVER_CALL(*api, CtxSetCurrent, context);
  const auto made = Clock::now();
  TILEVM_RETURN_IF_ERROR(Memory(*api, 1 << 20).status());
  TILEVM_DRIVER_CALL(*api, CtxSynchronize);
  const auto end = Clock::now();
  std::printf("bare      driver %.1f context %.1f memory %.1f | total %.1f ms\n", Millis(start, loaded), Millis(loaded, made), Millis(made, end), Millis(start, end));
  return absl::OkStatus();
}

// Microseconds of host time of one call, the best of several batches; the queue is emptied between batches, so that no call waits for the device.
template <typename Call>
absl::StatusOr<double> PerCall(const gpu::Api& api, Call call) {
  constexpr int kBatch = 200, kBatches = 40;
  double best = 1e9;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < kBatch; ++i) TILEVM_RETURN_IF_ERROR(call());
    best = std::min(best, Millis(start, Clock::now()) * 1000 / kBatch);
    TILEVM_DRIVER_CALL(api, CtxSynchronize);
  }
  return best;
}

absl::Status Start(const std::string& what, const std::string& examples, const std::string& cache) {
  const auto start = Clock::now();
  EngineOptions options;
  options.device = "cuda";
  options.cache_directory = cache;
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<Engine> engine, Engine::Open(options));
  const auto opened = Clock::now();
  const std::string file = what == "add" ? "vector_add.py" : what == "softmax" ? "fused_softmax.py" : "matmul_autotune.py";
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<Program> program, engine->LoadFile(absl::StrCat(examples, "/", file)));
  const auto parsed = Clock::now();

  // The kernel is compiled while the context is made: nothing here needs one.
  const auto tensor = [](isa::DType dtype, std::vector<int64_t> shape) { return TensorRef{nullptr, dtype, std::move(shape)}; };
  std::vector<Argument> args;
  std::string kernel, grid;
  const isa::DType f32 = isa::DType::kF32, f16 = isa::DType::kF16;
  if (what == "add") {
    kernel = "add_kernel";
    grid = "97";
    args = {{"x_ptr", tensor(f32, {98432})}, {"y_ptr", tensor(f32, {98432})}, {"output_ptr", tensor(f32, {98432})}, {"n_elements", 98432}, {"BLOCK_SIZE", 1024}};
  } else if (what == "softmax") {
    kernel = "softmax_kernel";
    grid = "1823";
    args = {{"output_ptr", tensor(f32, {1823, 781})}, {"input_ptr", tensor(f32, {1823, 781})}, {"input_row_stride", 781}, {"output_row_stride", 781},
            {"n_cols", 781}, {"BLOCK_SIZE", 1024}};
  } else {
    kernel = "matmul_kernel";
    grid = "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)";
    // 72 programs: a grid that leaves half of the multiprocessors idle would take another variant than the one that is compiled ahead.
    args = {{"a_ptr", tensor(f16, {1152, 64})}, {"b_ptr", tensor(f16, {64, 2048})}, {"c_ptr", tensor(f16, {1152, 2048})}, {"M", 1152}, {"N", 2048}, {"K", 64},
            {"stride_am", 64}, {"stride_ak", 1}, {"stride_bk", 2048}, {"stride_bn", 1}, {"stride_cm", 2048}, {"stride_cn", 1},
            {"GROUP_SIZE_M", 8}};
  }
  TILEVM_ASSIGN_OR_RETURN(const gpu::Api* api, gpu::LoadDriver());
  TILEVM_RETURN_IF_ERROR(program->Warm(kernel, args));
  const auto compiled = Clock::now();
  gpu::CuContext context = nullptr;
  TILEVM_DRIVER_CALL(*api, DevicePrimaryCtxRetain, &context, 0);
  TILEVM_DRIVER_CALL(*api, CtxSetCurrent, context);
  const auto ready = Clock::now();
  for (Argument& arg : args) {
    if (TensorRef* ref = std::get_if<TensorRef>(&arg.value)) {
      int64_t bytes = isa::StorageBytes(ref->dtype);
      for (int64_t extent : ref->shape) bytes *= extent;
      TILEVM_ASSIGN_OR_RETURN(ref->data, Memory(*api, static_cast<size_t>(bytes)));
    }
  }
  TILEVM_ASSIGN_OR_RETURN(std::unique_ptr<PreparedLaunch> launch, program->Prepare(kernel, grid, args));
  const auto prepared = Clock::now();
  TILEVM_RETURN_IF_ERROR(launch->Launch());
  TILEVM_DRIVER_CALL(*api, CtxSynchronize);
  const auto done = Clock::now();

  const gpu::GpuKernel& k = launch->kernel();
  std::printf("%-9s driver %.1f parse %.2f specialize+generate+compile %.2f (text %.2f NVRTC %.1f%s) rest of context %.1f bind %.2f first run %.2f | total %.1f ms",
              what.c_str(), Millis(start, opened), Millis(opened, parsed), Millis(parsed, compiled), k.generate_us / 1000, k.nvrtc_us / 1000,
              k.from_disk ? ", from disk" : "", Millis(compiled, ready), Millis(ready, prepared), Millis(prepared, done), Millis(start, done));

  TILEVM_ASSIGN_OR_RETURN(double ours, PerCall(*api, [&] { return launch->Launch(); }));
  // The same kernel without us.
  gpu::CuModule module = nullptr;
  gpu::CuFunction function = nullptr;
  TILEVM_DRIVER_CALL(*api, ModuleLoadData, &module, k.cubin.data());
  TILEVM_DRIVER_CALL(*api, ModuleGetFunction, &function, module, k.emitted.entry.c_str());
  if (k.emitted.smem_bytes > 48 * 1024) {
    TILEVM_DRIVER_CALL(*api, FuncSetAttribute, function, gpu::kFuncAttributeMaxDynamicSmem, static_cast<int>(k.emitted.smem_bytes));
  }
  TILEVM_ASSIGN_OR_RETURN(double bare, PerCall(*api, [&]() -> absl::Status {
                            TILEVM_DRIVER_CALL(*api, LaunchKernel, function, 1, 1, 1, static_cast<unsigned>(k.emitted.threads), 1, 1,
                                               static_cast<unsigned>(k.emitted.smem_bytes), nullptr, launch->arguments(), nullptr);
                            return absl::OkStatus();
                          }));
  std::printf(" | launch of %zu arguments %.2f us, bare driver %.2f us\n", launch->parameters().size(), ours, bare);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tilevm::vm

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "bare" && argc == 2) {
    absl::Status status = tilevm::vm::Bare();
    return status.ok() ? 0 : tilevm::vm::Failed(status);
  }
  if ((what != "add" && what != "softmax" && what != "matmul") || argc != 4) {
    std::fprintf(stderr, "gpu_start bare | add|softmax|matmul EXAMPLES CACHE_DIR\n");
    return 2;
  }
  absl::Status status = tilevm::vm::Start(what, argv[2], argv[3]);
  return status.ok() ? 0 : tilevm::vm::Failed(status);
}
