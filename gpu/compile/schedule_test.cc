// The schedules of the example kernels for targets of different sizes: what runs ahead, in how many slots, and how the dot is done.
#include <gtest/gtest.h>

#include "gpu/compile/generate.h"
#include "specializer/passes/passes.h"
#include "specializer/pipeline/schedule.h"
#include "tests/example_kernels.h"

namespace tilevm::gpu {
namespace {

pipeline::Schedule ScheduleOf(absl::string_view file, const Target& target) {
  for (const tests::ExampleKernel& example : tests::ExampleKernels()) {
    if (file != example.file) continue;
    absl::StatusOr<isa::Module> module = tests::CompileExample(example);
    EXPECT_TRUE(module.ok()) << module.status();
    absl::StatusOr<ir::Kernel> typed = tests::SpecializeExample(example, *module);
    EXPECT_TRUE(typed.ok()) << typed.status();
    absl::StatusOr<ir::Kernel> kernel = specializer::RunPasses(*std::move(typed));
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    absl::StatusOr<layout::LayoutKernel> laid_out = LayOut(*kernel, target, {});
    EXPECT_TRUE(laid_out.ok()) << laid_out.status();
    return Plan(*laid_out, target, {});
  }
  ADD_FAILURE() << "there is no example " << file;
  return {};
}

TEST(Schedule, NothingRunsAheadWithoutADot) {
  EXPECT_TRUE(ScheduleOf("vector_add", *TargetOf("sm_90a")).loops.empty());
  EXPECT_TRUE(ScheduleOf("fused_softmax", *TargetOf("sm_90a")).loops.empty());
}

TEST(Schedule, BothOperandsOfAMatmulRunAhead) {
  for (const Target& target : KnownTargets()) {
    SCOPED_TRACE(target.arch);
    const pipeline::Schedule schedule = ScheduleOf("matmul_autotune", target);
    ASSERT_EQ(schedule.loops.size(), 1u);
    const pipeline::Loop& loop = schedule.loops[0];
    ASSERT_EQ(loop.copies.size(), 2u);
    EXPECT_GE(loop.stages, 2);
    EXPECT_GE(loop.ahead, 1);
    EXPECT_LT(loop.ahead, loop.stages);
    // The slots fit the target; the buffers of a slot do not overlap and lie within it.
    EXPECT_LE(loop.stages * loop.slot_bytes, target.max_smem_per_block);
    const pipeline::Copy &a = loop.copies[0], &b = loop.copies[1];
    EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
    for (const pipeline::Copy& copy : loop.copies) {
      EXPECT_GT(copy.bytes, 0);
      EXPECT_LE(copy.offset + copy.bytes, loop.slot_bytes);
      EXPECT_EQ(schedule.CopyOf(copy.value), &copy);
    }
    // The dot reads both operands where the copies put them.
    ASSERT_EQ(schedule.operands.size(), 2u);
    for (const auto& [use, operand] : schedule.operands) EXPECT_NE(schedule.CopyOf(operand.copy), nullptr);
    // Products that run on into the next iteration need a slot more: the copies go one iteration less ahead.
    EXPECT_EQ(loop.ahead, loop.deferred == ir::kNoValue ? loop.stages - 1 : loop.stages - 2);
    if (target.number != 90) {
      EXPECT_TRUE(schedule.wgmma.empty());
    }
  }
}

}  // namespace
}  // namespace tilevm::gpu
