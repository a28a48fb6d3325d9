// What `tilevm inspect --stage pipeline` shows: the plan of the text that was really made, and for a loop that is not pipelined why.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/triton/compile.h"
#include "gpu/compile/generate.h"
#include "gpu/compile/passed_kernel.h"
#include "tests/example_kernels.h"

namespace tilevm::gpu {
namespace {

std::string PlanOf(const ir::Kernel& kernel, absl::string_view arch, GenerateOptions options = {}) {
  options.describe = true;
  const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf(arch), options);
  EXPECT_TRUE(emitted.ok()) << emitted.status();
  return emitted.ok() ? emitted->plan : "";
}

std::string PlanOf(absl::string_view text, const std::string& args, absl::string_view arch) {
  const absl::StatusOr<isa::Module> module = triton::CompileTriton(absl::StrCat("import triton\nimport triton.language as tl\n\n\n", text), "kernel.py");
  return PlanOf(PassedKernel({"", "kernel", args.c_str()}, module, 4), arch);
}

ir::Kernel Matmul() {
  const tests::ExampleKernel example = {"matmul_autotune", "matmul_kernel", "*f16/16 *f16/16 *f16/16 i32/16 i32/16 i32/16 i32/16 =1 i32/16 =1 i32/16 =1 =128 =256 =64 =8"};
  return PassedKernel(example, tests::CompileExample(example), 8);
}

// The lines stand in the text, in this order.
void ExpectLines(const std::string& text, const std::vector<std::string>& lines) {
  size_t from = 0;
  for (const std::string& line : lines) {
    const size_t at = text.find(absl::StrCat(line, "\n"), from);
    EXPECT_NE(at, std::string::npos) << line << "\nis not where it should be in\n" << text;
    if (at != std::string::npos) from = at + line.size();
  }
}

TEST(PlanText, RolesOfAMatmul) {
  ExpectLines(PlanOf(Matmul(), "sm_90a"),
              {"kernel matmul_kernel for sm_90a: 384 threads, 213120 of 232448 bytes of shared memory",
               "roles: a producer thread (its warpgroup has 40 registers a thread), 2 consumer warpgroups (232 registers a thread)",
               "persistent: a CTA takes programs as far apart as there are CTAs",
               "ring 0: 3 slots of 49152 bytes at 0",
               "  copy %a tile<128x64xf16> into ring 0 at 0, by a tensor map",
               "  copy %b tile<64x256xf16> into ring 0 at 16384, by a tensor map",
               "dot %accumulator by wgmma: 2 warpgroups, 1 tile of 64 x 256 each, 4 steps along k",
               "store of %c by a tensor map: 4 panels of 128 x 128 bytes, through 4 buffers",
               "store c to c_ptr tile<128x256xf16>: through shared memory, by a tensor map"});
}

TEST(PlanText, AProducerWarpgroupWithoutTensorMaps) {
  GenerateOptions options;
  options.promises.boxes = false;
  ExpectLines(PlanOf(Matmul(), "sm_90a", options),
              {"roles: a producer warpgroup (104 registers a thread), 2 consumer warpgroups (200 registers a thread)"});
  // A plan is of the text at hand: without such a warpgroup there are no roles.
  options.threads = false;
  const std::string plain = PlanOf(Matmul(), "sm_90a", options);
  EXPECT_FALSE(absl::StrContains(plain, "consumer")) << plain;
  ExpectLines(plain, {"a CTA runs one program, on 8 warps"});
  EXPECT_TRUE(absl::StrContains(plain, "not split into roles: ")) << plain;
  EXPECT_TRUE(absl::StrContains(plain, "16 bytes at a time by cp.async")) << plain;
}

TEST(PlanText, OneKindOfWarpsWhereThereIsNoWgmma) {
  ExpectLines(PlanOf(Matmul(), "sm_80"), {"a CTA runs one program, on 8 warps",
                                          "not split into roles: that is done on sm_90a only",
                                          "  stage 0, 2 ahead: copy %a tile<128x64xf16> at 0, rows along axis 1, 16 bytes at a time by cp.async",
                                          "dot accumulator tile<128x256xf32>: mma.sync, 2 x 4 warps"});
}

TEST(PlanText, MergedProgramsThatAreDealt) {
  const tests::ExampleKernel example = {"flash_attention", "flash_attention_kernel",
                                        "*f16/16 *f16/16 *f16/16 *f16/16 f32 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32 "
                                        "i32/16 =64 =64 =128 =True"};
  ExpectLines(PlanOf(PassedKernel(example, tests::CompileExample(example), 4), "sm_90a"),
              {"a CTA runs 3 programs side by side, neighbours along axis 0, each on a warpgroup of its own",
               "persistent: a CTA takes the next program from a counter when it gets there, for they differ in length",
               "copy %q tile<64x64xf16> once for a program into ring 1 at 0, by a tensor map"});
}

TEST(PlanText, AKernelWithoutLoops) {
  const std::string plan = PlanOf("@triton.jit\ndef kernel(x, y, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)\n",
                                  "*f32/16 *f32/16 i32/16 =256", "sm_90a");
  ExpectLines(plan, {"no loop is pipelined: the kernel has none"});
}

constexpr char kHead[] = R"(@triton.jit
def kernel(a, b, c, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    acc = tl.zeros((B, B), dtype=tl.float32)
)";
constexpr char kTail[] = "    tl.store(c + at, acc)\n";

TEST(PlanText, WhyALoopIsNotPipelined) {
  const auto plan = [](absl::string_view loop) { return PlanOf(absl::StrCat(kHead, loop, kTail), "*f16/16 *f16/16 *f32/16 i32 =64", "sm_80"); };
  ExpectLines(plan("    for k in range(0, n):\n        acc += tl.load(a + at)\n"), {"no loop is pipelined: loop at line 10: it has no dot"});
  ExpectLines(plan("    for k in range(0, n):\n        x = tl.load(a + at + k * B)\n        acc = tl.dot(x, tl.load(b + at), acc) + x\n        tl.store(c + at, acc)\n"),
              {"no loop is pipelined: loop at line 10: it writes memory, or reads what is volatile"});
  ExpectLines(plan("    for k in range(0, n):\n        x = tl.load(a + at + tl.load(b + k).to(tl.int32))\n        acc = tl.dot(x, x, acc)\n"),
              {"no loop is pipelined: loop at line 10: load %x cannot run ahead: its address or mask is not known before the iteration begins"});
  ExpectLines(plan("    for k in range(0, n):\n        x = tl.load(a + at + k * B)\n        acc = tl.dot(x, x, acc) + x\n"),
              {"no loop is pipelined: loop at line 10: load %x cannot run ahead: more than dots use it"});
  ExpectLines(plan("    k = n\n    while k > 0:\n        x = tl.load(a + at)\n        acc = tl.dot(x, x, acc)\n        k = tl.load(b + k).to(tl.int32)\n"),
              {"no loop is pipelined: while loop at line 11: how often it goes round is not known ahead"});
  // The loop around it has nothing to say; one beside it has.
  const std::string two = plan("    for m in range(0, n):\n        for k in range(0, n):\n            x = tl.load(a + at + k * B)\n            acc = tl.dot(x, x, acc)\n    for j in range(0, n):\n        acc += j\n");
  EXPECT_TRUE(absl::StrContains(two, "loop at line 11: 3 slots of 8192 bytes\n")) << two;
  ExpectLines(two, {"not pipelined: loop at line 14: it has no dot"});
  EXPECT_FALSE(absl::StrContains(two, "line 10:")) << two;
}

}  // namespace
}  // namespace tilevm::gpu
