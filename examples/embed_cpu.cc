// A C++ program that runs a Triton kernel on the CPU: load a source file, launch one of its kernels on the program's own memory.
//
//   bazel run //examples:embed_cpu -- $PWD/examples/vector_add.py
#include <cstdio>
#include <memory>
#include <vector>

#include "vm/engine.h"

namespace {

int Fail(const std::string& text) {
  std::fprintf(stderr, "%s", text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tilevm;
  const std::string path = argc > 1 ? argv[1] : "examples/vector_add.py";

  // One engine for the whole process; it holds the compiled kernels.
  vm::EngineOptions options;
  options.threads = 2;
  std::shared_ptr<vm::Engine> engine = vm::Engine::Create(options);

  // A failed load has no program to ask for its sources, so it hands them out.
  std::vector<SourceFile> sources;
  absl::StatusOr<std::shared_ptr<vm::Program>> program = engine->LoadFile(path, {}, &sources);
  if (!program.ok()) return Fail(FormatDiagnostic(program.status(), sources));

  const int64_t n = 98432;
  std::vector<float> x(n), y(n), sum(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i) * 0.5f;
    y[i] = static_cast<float>(n - i);
  }

  // Arguments go by the names of the kernel's parameters; the grid may be an expression over them.
  const absl::StatusOr<vm::LaunchResult> result = (*program)->Launch("add_kernel", "cdiv(n_elements, BLOCK_SIZE)",
                                                                     {{"x_ptr", vm::TensorRef{x.data(), isa::DType::kF32, {n}}},
                                                                      {"y_ptr", vm::TensorRef{y.data(), isa::DType::kF32, {n}}},
                                                                      {"output_ptr", vm::TensorRef{sum.data(), isa::DType::kF32, {n}}},
                                                                      {"n_elements", n},
                                                                      {"BLOCK_SIZE", 1024}});
  if (!result.ok()) return Fail((*program)->Format(result.status()));

  for (int64_t i = 0; i < n; ++i) {
    if (sum[i] != x[i] + y[i]) return Fail("wrong sum\n");
  }
  std::printf("%lld sums are right; compiled in %.0f us, ran in %.0f us\n", static_cast<long long>(n), result->record.compile_us, result->record.run_us);
  return 0;
}
