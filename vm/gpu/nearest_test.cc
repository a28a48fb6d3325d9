// The message of a kernel that takes too much shared memory names the nearest that fits.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "vm/engine.h"
#include "vm/gpu/prepared.h"
#include "vm/gpu/runner_testing.h"

namespace tilevm::vm {
namespace {

class NearestTest : public RunnerTest {
 protected:
  static std::string Ending(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    const std::string message(status.message());
    const size_t at = message.rfind("; ");
    return at == std::string::npos ? message : message.substr(at + 2);
  }
  static std::vector<Argument> Array(std::vector<Argument> more) {
    static std::vector<float>* const x = new std::vector<float>(1 << 17);
    more.insert(more.begin(), {"x", TensorRef{x->data(), isa::DType::kF32, {1 << 17}}});
    return more;
  }
};

constexpr char kSort[] = R"(
import triton
import triton.language as tl

@triton.jit
def order(x, BLOCK: tl.constexpr, ROWS: tl.constexpr = 32):
    tl.static_print("specialized for", BLOCK)
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.sort(tl.load(x + i)))

@triton.jit
def length(x, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    tl.store(x + i, tl.sort(tl.load(x + i)))

@triton.jit
def fixed(x, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 131072)
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.sort(tl.load(x + i)))
)";

TEST_F(NearestTest, ATileIsHalved) {
  std::vector<std::string> printed;
  EngineOptions options = Options();
  options.print = [&](absl::string_view line) { printed.emplace_back(line); };
  std::shared_ptr<Program> program = Load(kSort, options);
  const absl::Status status = program->Launch("order", "1", Array({{"BLOCK", 131072}})).status();
  EXPECT_EQ(Ending(status), "BLOCK=32768 fits");
  // The place is still there, and what is tried prints nothing.
  EXPECT_TRUE(absl::StrContains(program->Format(status), "test.py:9:")) << program->Format(status);
  EXPECT_EQ(printed.size(), 1u);
  // That really fits.
  EXPECT_TRUE(program->Warm("order", Array({{"BLOCK", 32768}})).ok());
  EXPECT_EQ(Ending(program->Warm("order", Array({{"BLOCK", 65536}}))), "BLOCK=32768 fits");
}

TEST_F(NearestTest, NothingIsSaidWhereNothingIsFound) {
  std::shared_ptr<Program> program = Load(kSort);
  // What is no size of a tile by its name may be the problem's.
  EXPECT_TRUE(absl::EndsWith(Ending(program->Launch("length", "1", Array({{"SIZE", 131072}})).status()), "a tile 4 times smaller fits"));
  EXPECT_TRUE(absl::EndsWith(Ending(program->Launch("fixed", "1", Array({{"BLOCK", 131072}})).status()), "a tile 4 times smaller fits"));
}

TEST_F(NearestTest, TheFewestHalvings) {
  std::shared_ptr<Program> program = Load(R"(
import triton
import triton.language as tl

@triton.jit
def product(x, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    i, j, k = tl.arange(0, BLOCK_M)[:, None], tl.arange(0, BLOCK_N)[None, :], tl.arange(0, BLOCK_K)
    a = tl.load(x + i * BLOCK_K + k[None, :]).to(tl.float16)
    b = tl.load(x + k[:, None] * BLOCK_N + j).to(tl.float16)
    tl.store(x + i * BLOCK_N + j, tl.dot(a, b))
)");
  const std::vector<Argument> args = Array({{"BLOCK_M", 256}, {"BLOCK_N", 256}, {"BLOCK_K", 512}});
  EXPECT_EQ(Ending(program->Warm("product", args)), "BLOCK_M=128, BLOCK_N=128, BLOCK_K=512 fits");
}

constexpr char kConfigured[] = R"(
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'LENGTH': 131072}), triton.Config({'LENGTH': 65536}), triton.Config({'LENGTH': 16384}, num_warps=8)][:COUNT], key=['n'])
@triton.jit
def order(x, n, LENGTH: tl.constexpr):
    i = tl.arange(0, LENGTH)
    tl.store(x + i, tl.sort(tl.load(x + i, mask=i < n, other=0)), mask=i < n)

def run(n):
    x = torch.zeros(n, dtype=torch.float32, device='cuda')
    order[(1,)](x, n)
    return x
)";
std::string Configured(int count) {
  std::string text = kConfigured;
  return text.replace(text.find("COUNT"), 5, std::to_string(count));
}

TEST_F(NearestTest, AConfigurationThatFits) {
  // A launch takes it itself; one that is prepared takes the first.
  std::shared_ptr<Program> program = Load(Configured(3).c_str());
  Control().device_address = 1;
  const absl::Status status = program->Prepare("order", "1", Array({{"n", 100}})).status();
  EXPECT_TRUE(absl::StartsWith(Ending(status), "its configuration LENGTH=16384, num_warps=8")) << status;
}

TEST_F(NearestTest, WhereNoConfigurationFitsItsSizesAreHalved) {
  for (const host::Tuning tuning : {host::Tuning::kWhenNeeded, host::Tuning::kNever}) {
    EngineOptions options = Options();
    options.tuning = tuning;
    std::shared_ptr<Program> program = Load(Configured(2).c_str(), options);
    EXPECT_EQ(Ending(program->Call("run", specializer::CallArgs{{specializer::Value::Int(5)}, {}}).status()), "LENGTH=32768 fits");
  }
}

// A program that looks for what fits is not slowed down for long.
TEST_F(NearestTest, ItIsLookedForAFewTimes) {
  std::shared_ptr<Program> program = Load(kSort);
  for (int i = 0; i < 6; ++i) {
    const std::string ending = Ending(program->Launch("order", "1", Array({{"BLOCK", 131072}})).status());
    EXPECT_EQ(ending == "BLOCK=32768 fits", i < 4) << ending;
  }
}

}  // namespace
}  // namespace tilevm::vm
