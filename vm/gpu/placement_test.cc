// Where tensors of the caller lie: on the device, in main memory, on another device.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "vm/engine.h"
#include "vm/gpu/prepared.h"
#include "vm/gpu/runner_testing.h"

namespace tilevm::vm {
namespace {

FakeControl::Range RangeOf(const void* begin, size_t bytes) {
  const auto address = reinterpret_cast<unsigned long long>(begin);
  return {address, address + bytes};
}

TEST_F(RunnerTest, MemoryThatIsNotOfTheDevice) {
  std::shared_ptr<Program> program = Load(kAdd);
  alignas(64) float memory[64] = {}, second[16] = {}, host[16] = {};
  Control().devices = 2;
  Control().device_address = 1;
  Control().of_second_device = RangeOf(second, sizeof(second));
  Control().of_main_memory = RangeOf(host, sizeof(host));
  const auto ref = [](float* at) { return TensorRef{at, isa::DType::kF32, {16}}; };
  const auto args = [&](float* x, float* out) {
    return std::vector<Argument>{{"x_ptr", ref(x)}, {"y_ptr", ref(memory + 16)}, {"out_ptr", ref(out)}, {"n", 16}, {"BLOCK", 64}};
  };
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  // A launch, and one that is prepared.
  const char* const wanted = "it is memory of cuda:1; kernels run on cuda:0 here";
  for (const absl::Status& status : {program->Launch("add_kernel", "1", args(second, memory)).status(), program->Prepare("add_kernel", "1", args(second, memory)).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(message(status), absl::StrCat("argument x_ptr: ", wanted));
  }
  EXPECT_EQ(message(program->Launch("add_kernel", "1", args(memory, second + 4)).status()), absl::StrCat("argument out_ptr: ", wanted));
  EXPECT_NE(message(program->Prepare("add_kernel", "1", args(memory, host)).status()).find("argument out_ptr is in main memory; a prepared launch takes memory of Fake GPU"), std::string::npos);
  EXPECT_EQ(Control().launches, 0);

  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = program->Prepare("add_kernel", "1", args(memory, memory + 32));
  ASSERT_TRUE(launch.ok()) << program->Format(launch.status());
  EXPECT_EQ(message((*launch)->SetPointer("x_ptr", second)), "parameter x_ptr is memory of cuda:1; the launch was prepared for cuda:0");
  EXPECT_EQ(message((*launch)->SetPointer("out_ptr", host)), "parameter out_ptr is no memory of a GPU; the launch was prepared for cuda:0");
  // It stays as it was.
  memory[3] = 2;
  memory[16 + 3] = 5;
  ASSERT_TRUE((*launch)->Launch().ok());
  EXPECT_EQ(memory[32 + 3], 7);
  // What the host can read is copied, whoever pinned it.
  Control().of_second_device = {};
  Control().pinned_by_second_device = RangeOf(second, sizeof(second));
  second[3] = 10;
  auto done = program->Launch("add_kernel", "1", args(second, memory + 32));
  ASSERT_TRUE(done.ok()) << program->Format(done.status());
  EXPECT_EQ(memory[32 + 3], 15);
  EXPECT_EQ(Control().calls["cuMemcpyHtoD"], 1);
}

// A tensor of the caller's on the device is read there by host code too.
TEST_F(RunnerTest, HostCodeReadsMemoryOfTheDevice) {
  absl::StatusOr<std::shared_ptr<Engine>> engine = Engine::Open(Options());
  ASSERT_TRUE(engine.ok()) << engine.status();
  std::shared_ptr<Program> program = *(*engine)->Load("import torch\ndef second(x):\n    return x[1].item()\n", "test.py");
  float memory[4] = {1, 2, 3, 4};
  Control().device_address = 1;
  const absl::StatusOr<specializer::Value> x = ToValue(TensorRef{memory, isa::DType::kF32, {4}}, (*engine)->device());
  ASSERT_TRUE(x.ok()) << x.status();
  const absl::StatusOr<specializer::Value> out = program->Call("second", specializer::CallArgs{{*x}, {}});
  ASSERT_TRUE(out.ok()) << program->Format(out.status());
  EXPECT_EQ(out->float_value(), 2);
}

}  // namespace
}  // namespace tilevm::vm
