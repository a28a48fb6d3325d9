// A C++ program that runs a Triton kernel on a GPU: bind a launch once, enqueue it many times on memory of the device.
//
//   bazel run //examples:embed_cuda -- $PWD/examples/vector_add.py
//
// Any CUDA memory will do (the runtime's, a framework's); this example takes it from the driver through the engine's own room, so that it builds without
// the toolkit. Without a GPU it says so and ends with exit code 77.
#include <cstdio>
#include <memory>
#include <vector>

#include "gpu/launch/device.h"
#include "vm/engine.h"

namespace {

using namespace tilevm;

absl::Status Main(const std::string& path) {
  vm::EngineOptions options;
  options.device = "cuda:0";
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<vm::Engine> engine, vm::Engine::Open(options));
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<vm::Program> program, engine->LoadFile(path));
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<gpu::Device> device, gpu::Device::Open(0));

  const int64_t n = 98432, bytes = n * 4;
  std::vector<float> x(n), y(n), sum(n);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i) * 0.5f;
    y[i] = static_cast<float>(n - i);
  }
  TILEVM_ASSIGN_OR_RETURN(auto x_memory, device->Allocate(bytes));
  TILEVM_ASSIGN_OR_RETURN(auto y_memory, device->Allocate(bytes));
  TILEVM_ASSIGN_OR_RETURN(auto sum_memory, device->Allocate(bytes));
  TILEVM_RETURN_IF_ERROR(device->CopyIn(x_memory->address(), x.data(), bytes));
  TILEVM_RETURN_IF_ERROR(device->CopyIn(y_memory->address(), y.data(), bytes));

  const auto ref = [n](const gpu::DeviceMemory& memory) { return vm::TensorRef{reinterpret_cast<void*>(memory.address()), isa::DType::kF32, {n}}; };
  TILEVM_ASSIGN_OR_RETURN(std::unique_ptr<vm::PreparedLaunch> launch,
                          program->Prepare("add_kernel", "cdiv(n_elements, BLOCK_SIZE)",
                                           {{"x_ptr", ref(*x_memory)}, {"y_ptr", ref(*y_memory)}, {"output_ptr", ref(*sum_memory)}, {"n_elements", n}, {"BLOCK_SIZE", 1024}}));
  for (int i = 0; i < 100; ++i) TILEVM_RETURN_IF_ERROR(launch->Launch());  // one driver call each

  TILEVM_RETURN_IF_ERROR(device->CopyOut(sum.data(), sum_memory->address(), bytes));
  for (int64_t i = 0; i < n; ++i) {
    if (sum[i] != x[i] + y[i]) return absl::InternalError("wrong sum");
  }
  std::printf("%lld sums are right on %s; %d registers a thread\n", static_cast<long long>(n), device->properties().name.c_str(), launch->kernel().registers);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Main(argc > 1 ? argv[1] : "examples/vector_add.py");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return absl::IsFailedPrecondition(status) ? 77 : 1;
}
