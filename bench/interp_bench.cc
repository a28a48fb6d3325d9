// The CPU engine on whole kernels: vector add (GB/s), softmax (GB/s) and matmul (GFLOP/s) from examples/, by number of threads.
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "specializer/passes/passes.h"
#include "tests/example_kernels.h"
#include "vm/interp/interp.h"

namespace tilevm {
namespace {

using vm::Arg;

std::shared_ptr<const vm::Plan> PlanOf(int example) {
  const tests::ExampleKernel& kernel = tests::ExampleKernels()[example];
  auto module = tests::CompileExample(kernel);
  if (!module.ok()) return nullptr;
  auto typed = tests::SpecializeExample(kernel, *module);
  if (typed.ok()) typed = specializer::RunPasses(*std::move(typed));
  if (!typed.ok()) return nullptr;
  auto plan = vm::Compile(*typed);
  return plan.ok() ? *plan : nullptr;
}

Arg Int32(int64_t value) { return Arg::Int(isa::DType::kI32, value); }

void Measure(benchmark::State& state, int example, const std::vector<Arg>& args, std::vector<vm::Buffer>& buffers, int64_t programs) {
  auto plan = PlanOf(example);
  if (plan == nullptr) return state.SkipWithError("does not compile");
  vm::RunOptions options;
  options.grid[0] = programs;
  options.threads = static_cast<int>(state.range(0));
  for (auto _ : state) {
    auto result = vm::Run(*plan, args, buffers, options);
    if (!result.ok()) return state.SkipWithError("does not run");
  }
}

vm::Buffer BufferOf(std::vector<float>& data) {
  vm::Buffer buffer;
  buffer.data = data.data();
  buffer.bytes = static_cast<int64_t>(data.size() * sizeof(float));
  return buffer;
}

void Rate(benchmark::State& state, const char* name, double amount) {
  state.counters[name] = benchmark::Counter(amount * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void VectorAdd(benchmark::State& state) {
  constexpr int64_t kCount = 10'000'000;
  std::vector<float> x(kCount, 1.5f), y(kCount, 2.5f), out(kCount);
  std::vector<vm::Buffer> buffers = {BufferOf(x), BufferOf(y), BufferOf(out)};
  std::vector<Arg> args = {Arg::InBuffer(0), Arg::InBuffer(1), Arg::InBuffer(2), Int32(kCount)};
  Measure(state, 0, args, buffers, (kCount + 1023) / 1024);
  Rate(state, "B/s", 12.0 * kCount);
}
BENCHMARK(VectorAdd)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void Softmax(benchmark::State& state) {
  constexpr int64_t kRows = 4096, kColumns = 1024;
  std::vector<float> x(kRows * kColumns, 0.25f), out(kRows * kColumns);
  std::vector<vm::Buffer> buffers = {BufferOf(out), BufferOf(x)};
  std::vector<Arg> args = {Arg::InBuffer(0), Arg::InBuffer(1), Int32(kColumns), Int32(kColumns), Int32(kColumns)};
  Measure(state, 1, args, buffers, kRows);
  Rate(state, "B/s", 8.0 * kRows * kColumns);
}
BENCHMARK(Softmax)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void MatMulHalf(benchmark::State& state) {
  constexpr int64_t kSize = 512;
  std::vector<uint16_t> a(kSize * kSize, 0x3c00), b(kSize * kSize, 0x3c00), c(kSize * kSize);
  std::vector<vm::Buffer> buffers(3);
  void* data[] = {a.data(), b.data(), c.data()};
  for (int i = 0; i < 3; ++i) {
    buffers[i].data = data[i];
    buffers[i].bytes = kSize * kSize * 2;
    buffers[i].dtype = isa::DType::kF16;
  }
  std::vector<Arg> args = {Arg::InBuffer(0), Arg::InBuffer(1), Arg::InBuffer(2), Int32(kSize), Int32(kSize), Int32(kSize),
                           Int32(kSize),     Int32(kSize),     Int32(kSize)};
  Measure(state, 2, args, buffers, (kSize / 64) * (kSize / 64));
  Rate(state, "FLOP/s", 2.0 * kSize * kSize * kSize);
}
BENCHMARK(MatMulHalf)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilevm
