// A kernel that the build compiled and embedded (//:tile_kernel.bzl), launched: the program needs no file at run time.
#include <cstdio>
#include <vector>

#include "examples/vector_add_kernels.h"
#include "vm/engine.h"

int main() {
  using namespace tilevm;
  std::shared_ptr<vm::Engine> engine = vm::Engine::Create();
  absl::StatusOr<std::shared_ptr<vm::Program>> program = engine->Load(tile_kernels::vector_add_kernels(), "vector_add_kernels.tbc");
  if (!program.ok()) {
    std::fprintf(stderr, "%s\n", std::string(program.status().message()).c_str());
    return 1;
  }
  const int64_t n = 1000;
  std::vector<float> x(n, 1.5f), y(n, 2.0f), sum(n);
  const auto tensor = [n](std::vector<float>& v) { return vm::TensorRef{v.data(), isa::DType::kF32, {n}}; };
  const absl::StatusOr<vm::LaunchResult> result = (*program)->Launch(
      "add_kernel", "cdiv(n_elements, BLOCK_SIZE)",
      {{"", tensor(x)}, {"", tensor(y)}, {"", tensor(sum)}, {"", n}, {"BLOCK_SIZE", 256}});
  if (!result.ok()) {
    std::fprintf(stderr, "%s", (*program)->Format(result.status()).c_str());
    return 1;
  }
  for (float v : sum) {
    if (v != 3.5f) {
      std::fprintf(stderr, "wrong sum %g\n", static_cast<double>(v));
      return 1;
    }
  }
  std::printf("%lld programs ran\n", static_cast<long long>(result->record.programs));
  return 0;
}
