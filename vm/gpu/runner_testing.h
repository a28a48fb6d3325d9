// For tests: engines on the made-up driver (gpu/driver/fake_driver.h), and a program that adds.
#ifndef TILEVM_VM_GPU_RUNNER_TESTING_H_
#define TILEVM_VM_GPU_RUNNER_TESTING_H_

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/driver/fake_driver.h"
#include "gpu/nvrtc/nvrtc.h"
#include "vm/engine.h"

namespace tilevm::vm {

inline std::string DriverPath() { return std::string(std::getenv("TEST_SRCDIR")) + "/" + std::getenv("TEST_WORKSPACE") + "/gpu/driver/libfake_cuda.so"; }

inline FakeControl& Control() {
  static FakeControl* const control = [] {
    void* library = dlopen(DriverPath().c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    return reinterpret_cast<FakeControl* (*)()>(dlsym(library, "fake_cuda_control"))();
  }();
  return *control;
}

inline constexpr char kAdd[] = R"(
import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=mask) + tl.load(y_ptr + offs, mask=mask), mask=mask)

def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out

def chain(x):
    a = torch.empty_like(x)
    for i in range(5):
        add_kernel[(1,)](x, x, a, x.numel(), BLOCK=64)
    return a

def touch(x):
    a = torch.empty_like(x)
    add_kernel[(1,)](x, x, a, x.numel(), BLOCK=64)
    x[0] = 100.0
    add_kernel[(1,)](x, x, a, x.numel(), BLOCK=64)
    return a
)";

// Adds as add_kernel does, for the n of the launch.
inline double RunAdd(const FakeLaunch& launch) {
  const float* x = *static_cast<const float**>(launch.params[0]);
  const float* y = *static_cast<const float**>(launch.params[1]);
  float* out = *static_cast<float**>(launch.params[2]);
  const int n = *static_cast<int*>(launch.params[3]);
  for (int i = 0; i < n; ++i) out[i] = x[i] + y[i];
  return 5;
}

class RunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    FakeControl& control = Control();
    control = FakeControl();
    control.run = RunAdd;
    if (!gpu::Nvrtc::Load().ok()) GTEST_SKIP() << "NVRTC is not installed: kernels cannot be compiled";
  }
  void TearDown() override { Control().fail_call.clear(); }

  static EngineOptions Options() {
    EngineOptions options;
    options.device = "cuda";
    options.driver_library = DriverPath();
    return options;
  }
  static std::shared_ptr<Program> Load(const char* source, const EngineOptions& options = Options(), size_t bytes = 0) {
    absl::StatusOr<std::shared_ptr<Engine>> engine = Engine::Open(options);
    EXPECT_TRUE(engine.ok()) << engine.status();
    absl::StatusOr<std::shared_ptr<Program>> program = (*engine)->Load(bytes == 0 ? absl::string_view(source) : absl::string_view(source, bytes), "test.py");
    EXPECT_TRUE(program.ok()) << program.status();
    return *program;
  }
  static specializer::Value Tensor(std::vector<float> values) {
    host::Tensor t = *host::Tensor::Make(isa::DType::kF32, {static_cast<int64_t>(values.size())}, host::Fill::kUninitialised);
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(t.data()));
    return host::MakeTensorValue(t);
  }
  static std::vector<float> Floats(const specializer::Value& value) {
    const host::Tensor& t = host::AsTensor(value)->tensor;
    const float* data = reinterpret_cast<const float*>(t.data());
    return std::vector<float>(data, data + t.numel());
  }
};

}  // namespace tilevm::vm

#endif  // TILEVM_VM_GPU_RUNNER_TESTING_H_
