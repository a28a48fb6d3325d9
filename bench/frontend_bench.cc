// The Triton front end: source text to open bytecode and to .tbc, in lines a second.
#include <algorithm>
#include <string>

#include "benchmark/benchmark.h"
#include "frontends/triton/compile.h"
#include "isa/tbc.h"
#include "tests/example_kernels.h"

namespace tilevm {
namespace {

const tests::ExampleKernel& Example(const benchmark::State& state) { return tests::ExampleKernels()[state.range(0)]; }

void CompileFile(benchmark::State& state) {
  const tests::ExampleKernel& example = Example(state);
  std::string source = tests::SourceOf(example);
  for (auto _ : state) benchmark::DoNotOptimize(triton::CompileTriton(source, example.file));
  int64_t lines = std::count(source.begin(), source.end(), '\n');
  state.counters["lines/s"] = benchmark::Counter(static_cast<double>(lines * state.iterations()), benchmark::Counter::kIsRate);
  state.SetLabel(example.file);
}
BENCHMARK(CompileFile)->DenseRange(0, 3);

void WriteAndReadTbc(benchmark::State& state) {
  auto module = tests::CompileExample(Example(state));
  if (!module.ok()) return state.SkipWithError("does not compile");
  for (auto _ : state) benchmark::DoNotOptimize(isa::ReadTbc(isa::WriteTbc(*module)));
  state.SetLabel(Example(state).file);
}
BENCHMARK(WriteAndReadTbc)->DenseRange(0, 3);

}  // namespace
}  // namespace tilevm
