// Intervals of one launch, on kernels written in assembly.
#include "specializer/analysis/launch_ranges.h"

#include <gtest/gtest.h>

#include "frontends/triton/compile.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/passes/passes.h"

namespace tilevm::analysis {
namespace {

using specializer::ArgSpec;
using specializer::Value;

// A kernel k(x_ptr, N, M, ...) with i32 scalars after one f32 pointer.
ir::Kernel Kernel(const std::string& body, int scalars) {
  std::string source = "import triton\nimport triton.language as tl\n@triton.jit\ndef k(x_ptr";
  const char* names[] = {"N", "M", "G"};
  for (int i = 0; i < scalars; ++i) source += std::string(", ") + names[i];
  source += "):\n" + body;
  absl::StatusOr<isa::Module> module = triton::CompileTriton(source, "k.py");
  EXPECT_TRUE(module.ok()) << module.status();
  specializer::Evaluator evaluator(&*module, nullptr);
  absl::StatusOr<Value> function = evaluator.Global("k");
  EXPECT_TRUE(function.ok());
  specializer::SpecializationKey key;
  for (int i = 0; i <= scalars; ++i) {
    ArgSpec spec;
    spec.kind = ArgSpec::Kind::kTyped;
    spec.type = i == 0 ? isa::PointerType(isa::DType::kF32) : isa::ScalarType(isa::DType::kI32);
    key.args.push_back(spec);
  }
  absl::StatusOr<ir::Kernel> typed = evaluator.Specialize(*function, key);
  EXPECT_TRUE(typed.ok()) << typed.status();
  return *specializer::RunPasses(*std::move(typed));
}

bool Holds(const ir::Kernel& kernel, std::vector<std::optional<int64_t>> scalars, std::array<int64_t, 3> grid) {
  scalars.insert(scalars.begin(), std::nullopt);
  scalars.resize(kernel.params.size());
  return LaunchRanges(kernel, scalars, grid).SignsAreAsTrusted();
}

TEST(LaunchRanges, WrappedRows) {
  const ir::Kernel kernel = Kernel("    offs = (tl.program_id(0) * 16 + tl.arange(0, 16)) % N\n    tl.store(x_ptr + offs, 0.0)\n", 1);
  EXPECT_TRUE(Holds(kernel, {1000}, {64, 1, 1}));
  EXPECT_TRUE(Holds(kernel, {1000}, {134217728, 1, 1}));   // the last offset is 2^31 - 1
  EXPECT_FALSE(Holds(kernel, {1000}, {134217729, 1, 1}));  // wraps
}

TEST(LaunchRanges, GroupedOrder) {
  const ir::Kernel kernel = Kernel(
      "    pid = tl.program_id(0)\n"
      "    group = pid // (N * G)\n"
      "    first = group * G\n"
      "    size = min(M - first, G)\n"
      "    pid_m = first + (pid % (N * G)) % size\n"
      "    pid_n = (pid % (N * G)) // size\n"
      "    tl.store(x_ptr + (pid_m * 64 + tl.arange(0, 64)) % M + pid_n, 0.0)\n",
      3);
  EXPECT_TRUE(Holds(kernel, {16, 32, 8}, {512, 1, 1}));
  EXPECT_TRUE(Holds(kernel, {5, 3, 8}, {15, 1, 1}));
}

TEST(LaunchRanges, ADifferenceMayBeNegative) {
  const ir::Kernel kernel = Kernel("    offs = (N - tl.program_id(0)) % M\n    tl.store(x_ptr + offs, 0.0)\n", 2);
  EXPECT_TRUE(Holds(kernel, {10, 7}, {11, 1, 1}));
  EXPECT_FALSE(Holds(kernel, {10, 7}, {12, 1, 1}));
}

// Two loops that were joined begin where the first one did only if that one does not end before (specializer/passes/join_loops.cc).
TEST(LaunchRanges, JoinedLoopsBeginWhereTheFirstDid) {
  const ir::Kernel kernel = Kernel(
      "    sums = tl.zeros([16, 16], tl.float32)\n"
      "    for i in range(0, N * 16, 16):\n"
      "        x = tl.full([16, 16], 1.0, tl.float16) * i.to(tl.float16)\n"
      "        sums += tl.dot(x, x) * 0.5\n"
      "    for i in range(N * 16, M, 16):\n"
      "        x = tl.full([16, 16], 1.0, tl.float16) * i.to(tl.float16)\n"
      "        sums += tl.maximum(tl.dot(x, x), i)\n"
      "    tl.store(x_ptr + tl.arange(0, 16)[:, None] + tl.arange(0, 16)[None, :], sums)\n",
      2);
  ASSERT_NE(ir::Print(kernel).find("trusted"), std::string::npos) << ir::Print(kernel);
  EXPECT_TRUE(Holds(kernel, {0, 64}, {1, 1, 1}));
  EXPECT_TRUE(Holds(kernel, {3, 64}, {1, 1, 1}));
  EXPECT_FALSE(Holds(kernel, {-1, 64}, {1, 1, 1}));
  EXPECT_FALSE(Holds(kernel, {5, 64}, {1, 1, 1}));        // the second would end before it begins
  EXPECT_FALSE(Holds(kernel, {1 << 28, 64}, {1, 1, 1}));  // wraps
}
// Where the second loop ends a constant behind its beginning, it is enough that this does not wrap.
TEST(LaunchRanges, JoinedLoopsOnADiagonal) {
  const ir::Kernel kernel = Kernel(
      "    sums = tl.zeros([16, 16], tl.float32)\n"
      "    pid = tl.program_id(0)\n"
      "    for i in range(0, pid * 16, 16):\n"
      "        x = tl.full([16, 16], 1.0, tl.float16) * i.to(tl.float16)\n"
      "        sums += tl.dot(x, x) * 0.5\n"
      "    for i in range(pid * 16, (pid + 1) * 16, 16):\n"
      "        x = tl.full([16, 16], 1.0, tl.float16) * i.to(tl.float16)\n"
      "        sums += tl.maximum(tl.dot(x, x), i)\n"
      "    tl.store(x_ptr + tl.arange(0, 16)[:, None] + tl.arange(0, 16)[None, :], sums)\n",
      0);
  ASSERT_NE(ir::Print(kernel).find("apart = 16"), std::string::npos) << ir::Print(kernel);
  EXPECT_TRUE(Holds(kernel, {}, {4096, 1, 1}));
  EXPECT_TRUE(Holds(kernel, {}, {(1 << 27) - 1, 1, 1}));
  EXPECT_FALSE(Holds(kernel, {}, {1 << 27, 1, 1}));  // the last program's end is 2^31
}

TEST(LaunchRanges, CarriedValuesThatGrow) {
  const ir::Kernel kernel = Kernel(
      "    offs = tl.arange(0, 16)\n"
      "    for i in range(0, N):\n"
      "        tl.store(x_ptr + offs % M, 1.0)\n"
      "        offs += 16\n",
      2);
  EXPECT_FALSE(Holds(kernel, {1000, 7}, {1, 1, 1}));  // not followed through the loop: no promise
  const ir::Kernel counted = Kernel(
      "    for i in range(0, N):\n"
      "        tl.store(x_ptr + (i * 16 + tl.arange(0, 16)) % M, 1.0)\n",
      2);
  EXPECT_TRUE(Holds(counted, {1000, 7}, {1, 1, 1}));
  EXPECT_TRUE(Holds(counted, {0, 7}, {1, 1, 1}));
  EXPECT_FALSE(Holds(counted, {200000000, 7}, {1, 1, 1}));
}

TEST(LaunchRanges, LoadedValuesAreUnknown) {
  const ir::Kernel kernel = Kernel("    v = tl.load(x_ptr).to(tl.int32)\n    tl.store(x_ptr + v % M, 1.0)\n", 2);
  EXPECT_FALSE(Holds(kernel, {1, 7}, {1, 1, 1}));
}

}  // namespace
}  // namespace tilevm::analysis
