// Specialization: microseconds from a loaded module to typed IR, and for the passes after it.
#include "benchmark/benchmark.h"
#include "specializer/passes/passes.h"
#include "tests/example_kernels.h"
#include "vm/interp/interp.h"

namespace tilevm {
namespace {

const tests::ExampleKernel& Example(const benchmark::State& state) { return tests::ExampleKernels()[state.range(0)]; }

void PartialEvaluation(benchmark::State& state) {
  auto module = tests::CompileExample(Example(state));
  if (!module.ok()) return state.SkipWithError("does not compile");
  for (auto _ : state) benchmark::DoNotOptimize(tests::SpecializeExample(Example(state), *module));
  state.SetLabel(Example(state).kernel);
}
BENCHMARK(PartialEvaluation)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);

void Passes(benchmark::State& state) {
  auto module = tests::CompileExample(Example(state));
  if (!module.ok()) return state.SkipWithError("does not compile");
  auto kernel = tests::SpecializeExample(Example(state), *module);
  if (!kernel.ok()) return state.SkipWithError("does not specialize");
  for (auto _ : state) benchmark::DoNotOptimize(specializer::RunPasses(*kernel));
  state.SetLabel(Example(state).kernel);
}
BENCHMARK(Passes)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);

void Plan(benchmark::State& state) {
  auto module = tests::CompileExample(Example(state));
  if (!module.ok()) return state.SkipWithError("does not compile");
  auto kernel = tests::SpecializeExample(Example(state), *module);
  if (kernel.ok()) kernel = specializer::RunPasses(*std::move(kernel));
  if (!kernel.ok()) return state.SkipWithError("does not specialize");
  for (auto _ : state) benchmark::DoNotOptimize(vm::Compile(*kernel));
  state.SetLabel(Example(state).kernel);
}
BENCHMARK(Plan)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tilevm
