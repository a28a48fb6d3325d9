// The schedules of the example kernels for targets of different sizes: what runs ahead, in how many slots, and how the dot is done.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "frontends/triton/compile.h"
#include "gpu/compile/divide.h"
#include "gpu/compile/fallback.h"
#include "gpu/compile/generate.h"
#include "gpu/compile/passed_kernel.h"
#include "gpu/device/headers.h"
#include "gpu/nvrtc/nvrtc.h"
#include "specializer/passes/passes.h"
#include "specializer/pipeline/schedule.h"
#include "tests/example_kernels.h"

namespace tilevm::gpu {
namespace {

ir::Kernel KernelOf(const tests::ExampleKernel& example, int num_warps = 4) { return PassedKernel(example, tests::CompileExample(example), num_warps); }

pipeline::Schedule ScheduleOf(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options = {}) {
  absl::StatusOr<layout::LayoutKernel> laid_out = LayOut(kernel, target, options);
  EXPECT_TRUE(laid_out.ok()) << laid_out.status();
  return Plan(*laid_out, target, options);
}

pipeline::Schedule ScheduleOf(absl::string_view file, const Target& target) {
  for (const tests::ExampleKernel& example : tests::ExampleKernels()) {
    if (file == example.file) return ScheduleOf(KernelOf(example), target);
  }
  ADD_FAILURE() << "there is no example " << file;
  return {};
}

TEST(Schedule, NothingRunsAheadWithoutADot) {
  EXPECT_TRUE(ScheduleOf("vector_add", *TargetOf("sm_90a")).loops.empty());
  EXPECT_TRUE(ScheduleOf("fused_softmax", *TargetOf("sm_90a")).loops.empty());
}

// Rows of a softmax whose length is no multiple of 16: 16-bit floats go by aligned words of 16 bytes, four of them a row in each thread; f32 element by element.
TEST(Emit, RowsThatAreNotAlignedGoByRuns) {
  for (const auto& [args, ragged] : {std::pair{"*f16/16 *f16/16 i32 i32 i32 =16384", true}, std::pair{"*f16/16 *f16/16 i32/16 i32/16 i32/16 =16384", false},
                                     std::pair{"*f32/16 *f32/16 i32 i32 i32 =1024", false}}) {
    const tests::ExampleKernel example = {"fused_softmax", "softmax_kernel", args};
    absl::StatusOr<Emitted> emitted = Generate(KernelOf(example), *TargetOf("sm_90a"), {});
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    EXPECT_EQ(emitted->text.find("RunLoad<f16, L0, 0, 8, 8, false>") != std::string::npos, ragged) << emitted->text;
    EXPECT_EQ(emitted->text.find("run_store<0, 8, 8, 256,") != std::string::npos, ragged) << emitted->text;
    EXPECT_EQ(emitted->begins_early, true);
  }
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

constexpr char kAttention128[] =
    "*f16/16 *f16/16 *f16/16 *f16/16 f32 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32 i32/16 =128 =128 =64 =True";
constexpr tests::ExampleKernel kAttention = {"flash_attention", "flash_attention_kernel", kAttention128};
constexpr tests::ExampleKernel kMatmul = {"matmul_autotune", "matmul_kernel", "*f16/16 *f16/16 *f16/16 i32/16 i32/16 i32/16 i32/16 =1 i32/16 =1 i32/16 =1 =128 =256 =64 =8"};

TEST(Schedule, TheSecondProductOfAttentionStartsLate) {
  const ir::Kernel kernel = KernelOf(kAttention, 8);
  const pipeline::Schedule schedule = ScheduleOf(kernel, *TargetOf("sm_90a"));
  ASSERT_EQ(schedule.loops.size(), 1u);
  ASSERT_TRUE(schedule.loops[0].delay.has_value());
  const pipeline::Delay& delay = *schedule.loops[0].delay;
  EXPECT_EQ(schedule.wgmma.count(delay.first) + schedule.wgmma.count(delay.second), 2u);
  EXPECT_EQ(delay.late.size(), 1u);     // acc * alpha
  EXPECT_EQ(delay.packing.size(), 1u);  // p to f16
  EXPECT_EQ(delay.partial.size(), 1u);  // the sum of a row's weights
  // q stays in shared memory, p in registers.
  EXPECT_TRUE(schedule.ReadsShared(delay.first, 0));
  EXPECT_FALSE(schedule.ReadsShared(delay.second, 0));
  GenerateOptions plain;
  plain.overlap = false;
  EXPECT_FALSE(ScheduleOf(kernel, *TargetOf("sm_90a"), plain).loops[0].delay.has_value());
  EXPECT_FALSE(ScheduleOf(kernel, *TargetOf("sm_80")).loops[0].delay.has_value());
}

constexpr char kShortHead[] =
    "*f16/16 *f16/16 *f16/16 *f16/16 f32 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32 i32/16 =64 =64 =128 =";
const std::string kShortCausal = absl::StrCat(kShortHead, "True"), kShortFull = absl::StrCat(kShortHead, "False");

TEST(Roles, NeighbouringProgramsOfAShortHeadAreMerged) {
  const Target target = *TargetOf("sm_90a");
  for (const std::string* signature : {&kShortCausal, &kShortFull}) {
    SCOPED_TRACE(*signature);
    const ir::Kernel kernel = KernelOf({"flash_attention", "flash_attention_kernel", signature->c_str()});
    const pipeline::Roles roles = ScheduleOf(kernel, target).roles;
    EXPECT_EQ(roles.programs, 3);
    EXPECT_EQ(roles.groups, 3);
    EXPECT_TRUE(roles.persistent);
    EXPECT_EQ(roles.dealt, signature == &kShortCausal);
    // The queries have a ring of their own, a tile for each program.
    ASSERT_EQ(roles.kept.size(), 1u);
    EXPECT_EQ(roles.rings[roles.kept[0].ring].bytes, 3 * 64 * 64 * 2);
    EXPECT_TRUE(roles.rings[roles.kept[0].ring].kept);
    GenerateOptions few;
    few.promises.many = false;
    EXPECT_EQ(ScheduleOf(kernel, target, few).roles.programs, 1);
  }
  // 128 rows are two warpgroups already; the keys of a long head and its products leave no room for three.
  const pipeline::Roles longer = ScheduleOf(KernelOf(kAttention, 8), target).roles;
  EXPECT_EQ(longer.programs, 1);
  EXPECT_EQ(longer.groups, 2);
  EXPECT_TRUE(longer.dealt);
}

TEST(Roles, OperandsOf32BitsAreTurnedBeforeTheLaunch) {
  const Target target = *TargetOf("sm_90a");
  const ir::Kernel kernel =
      KernelOf({"matmul_autotune", "matmul_kernel", "*f32/16 *f32/16 *f16/16 i32/16 i32/16 i32/16 i32/16 =1 i32/16 =1 i32/16 =1 =128 =128 =32 =8"}, 8);
  pipeline::Schedule schedule = ScheduleOf(kernel, target);
  ASSERT_EQ(schedule.loops.size(), 1u);
  ASSERT_EQ(schedule.loops[0].copies.size(), 2u);
  EXPECT_FALSE(schedule.loops[0].copies[0].turned);
  EXPECT_TRUE(schedule.loops[0].copies[1].turned);
  EXPECT_EQ(schedule.loops[0].copies[1].axis, 0);
  ASSERT_EQ(schedule.wgmma.size(), 1u);
  EXPECT_FALSE(schedule.wgmma.begin()->second.b_written);
  GenerateOptions plain;
  plain.promises.turn = false;
  schedule = ScheduleOf(kernel, target, plain);
  ASSERT_EQ(schedule.wgmma.size(), 1u);
  EXPECT_TRUE(schedule.wgmma.begin()->second.b_written);
  EXPECT_FALSE(schedule.loops[0].copies[1].turned);
  // 16 bits are read in either order.
  for (const pipeline::Copy& copy : ScheduleOf(KernelOf(kMatmul, 8), target).loops[0].copies) EXPECT_FALSE(copy.turned);
}

ir::Kernel KernelOfText(absl::string_view text, const std::string& args, int num_warps) {
  absl::StatusOr<isa::Module> module = triton::CompileTriton(absl::StrCat("import triton\nimport triton.language as tl\n\n\n", text), "kernel.py");
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<ir::Kernel> typed = tests::SpecializeExample({"", "kernel", args.c_str()}, *module);
  EXPECT_TRUE(typed.ok()) << typed.status();
  typed->options.num_warps = num_warps;
  absl::StatusOr<ir::Kernel> kernel = specializer::RunPasses(*std::move(typed));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *std::move(kernel);
}

constexpr absl::string_view kCausalInTwoLoops = R"(@triton.jit
def part(acc, top, q, k, v, low, high, i, d, rows, B: tl.constexpr, D: tl.constexpr, DIAGONAL: tl.constexpr, KEPT: tl.constexpr):
    for start in range(low, high, B):
        j = start + tl.arange(0, B)
        if DIAGONAL and KEPT:
            tk = tl.load(k + j[:, None] * D + d[None, :], mask=j[:, None] < rows, other=0.0)
        else:
            tk = tl.load(k + j[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(tk))
        if DIAGONAL:
            s = tl.where(i[:, None] >= j[None, :], s, float('-inf'))
        now = tl.maximum(top, tl.max(s, 1))
        acc = tl.dot(tl.exp2(s - now[:, None]).to(tl.float16), tl.load(v + j[:, None] * D + d[None, :]), acc * tl.exp2(top - now)[:, None])
        top = now
    return acc, top


@triton.jit
def kernel(q, k, v, o, N, B: tl.constexpr, D: tl.constexpr, KEPT: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    d = tl.arange(0, D)
    tq = tl.load(q + i[:, None] * D + d[None, :])
    acc = tl.zeros([B, D], tl.float32)
    top = tl.full([B], float('-inf'), tl.float32)
    acc, top = part(acc, top, tq, k, v, 0, pid * B, i, d, N, B, D, False, KEPT)
    acc, top = part(acc, top, tq, k, v, pid * B, (pid + 1) * B, i, d, N, B, D, True, KEPT)
    tl.store(o + i[:, None] * D + d[None, :], acc.to(tl.float16))
)";

// Merged programs whose loops begin together take turns; where they begin at different places they do not, or each would wait for what another does there.
TEST(Roles, MergedProgramsTakeNoTurnsOnTheDiagonal) {
  const ir::Kernel kernel = KernelOfText(kCausalInTwoLoops, "*f16/16 *f16/16 *f16/16 *f16/16 i32/16 =64 =64 =True", 4);
  const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"), {});
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  ASSERT_GT(emitted->programs, 1);
  const std::string& text = emitted->text;
  // Only the loop of the diagonal has places before its own.
  const size_t first = text.find("trips", text.find("more_registers")), second = text.find("before", first);
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_LT(text.find("turn_take<", first), second) << text;
  EXPECT_EQ(text.find("turn_take<", second), std::string::npos) << text;
}

// With the same loads both loops become one (specializer/passes/join_loops.cc), which begins at 0 for all programs: they take turns, and four fit.
TEST(Roles, JoinedLoopsOfMergedPrograms) {
  const ir::Kernel kernel = KernelOfText(kCausalInTwoLoops, "*f16/16 *f16/16 *f16/16 *f16/16 i32/16 =64 =64 =False", 4);
  const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"), {});
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  EXPECT_EQ(emitted->programs, 4);
  EXPECT_EQ(absl::StrContains(emitted->text, "turn_take<4>"), true) << emitted->text;
  // One loop for the consumers: no second set of trips. The assembler places the wait for the second product.
  const size_t consumers = emitted->text.find("more_registers"), first = emitted->text.find("const bool ", emitted->text.find("for (;;)", consumers));
  EXPECT_EQ(emitted->text.find("for (;;)", emitted->text.find("for (;;)", consumers) + 1), std::string::npos) << emitted->text;
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(emitted->text.find("hold("), std::string::npos) << emitted->text;
  // Without the promise that the first loop does not end before it begins, where they begin has to be computed.
  GenerateOptions careful;
  careful.promises.trust_signs = false;
  const absl::StatusOr<Emitted> checked = Generate(kernel, *TargetOf("sm_90a"), careful);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_NE(checked->text.find("minimum"), std::string::npos) << checked->text;
}

// Four products in an iteration: the two that need nothing computed start first, the two sums run on, small loads are copied by the producer as well.
constexpr absl::string_view kFourProducts = R"(@triton.jit
def kernel(q, k, v, g, m, e, dk, dv, N, BN: tl.constexpr, BM: tl.constexpr, D: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    tk = tl.load(k + n[:, None] * D + d[None, :])
    tv = tl.load(v + n[:, None] * D + d[None, :])
    sum_k = tl.zeros([BN, D], tl.float32)
    sum_v = tl.zeros([BN, D], tl.float32)
    for start in range(0, N, BM):
        i = start + tl.arange(0, BM)
        tq = tl.load(q + i[None, :] * D + d[:, None])
        p = tl.exp2(tl.dot(tk, tq) - tl.load(m + i)[None, :])
        tg = tl.load(g + i[:, None] * D + d[None, :])
        sum_v += tl.dot(p.to(tl.float16), tg)
        ds = p * (tl.dot(tv, tl.trans(tg)) - tl.load(e + i)[None, :])
        sum_k += tl.dot(ds.to(tl.float16), tl.trans(tq))
    tl.store(dk + n[:, None] * D + d[None, :], sum_k)
    tl.store(dv + n[:, None] * D + d[None, :], sum_v)
)";

TEST(Schedule, SeveralProductsAreWaitedForWhereTheyAreUsed) {
  for (const auto& [depth, buffers] : {std::pair<int, bool>(64, false), std::pair<int, bool>(128, true)}) {
    const std::string args = absl::StrCat("*f16/16 *f16/16 *f16/16 *f16/16 *f32/16 *f32/16 *f32/16 *f32/16 i32/16 =128 =32 =", depth);
    const ir::Kernel kernel = KernelOfText(kFourProducts, args, 8);
    const pipeline::Schedule schedule = ScheduleOf(kernel, *TargetOf("sm_90a"));
    ASSERT_EQ(schedule.loops.size(), 1u);
    EXPECT_EQ(schedule.roles.groups, 2) << schedule.why_no_roles;
    const pipeline::Loop& loop = schedule.loops[0];
    ASSERT_TRUE(loop.overlap.has_value());
    EXPECT_EQ(loop.overlap->early.size(), 2u);
    EXPECT_EQ(loop.overlap->fixed.size(), 2u);
    EXPECT_EQ(loop.overlap->on.size(), 2u);
    EXPECT_EQ(loop.overlap->buffers, buffers);  // fragments of both, and sums of 128 columns, are more than a thread can hold
    EXPECT_EQ(std::count_if(loop.copies.begin(), loop.copies.end(), [](const pipeline::Copy& copy) { return copy.row; }), 2);
    GenerateOptions plain;
    plain.overlap = false;
    EXPECT_FALSE(ScheduleOf(kernel, *TargetOf("sm_90a"), plain).loops[0].overlap.has_value());
    absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"), {});
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    // After S, whose product everything of the iteration before has been done as well; P runs on.
    EXPECT_NE(emitted->text.find("wgmma_wait<1>();"), std::string::npos) << emitted->text;
    EXPECT_NE(emitted->text.find("turn_take<2>();"), std::string::npos);
  }
}

// Addresses found in memory are looked at when they are used; sizes and addresses are fetched together.
TEST(Emit, AddressesFromMemory) {
  const ir::Kernel kernel = KernelOfText(R"(@triton.jit
def kernel(sizes, addresses, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    k = tl.load(sizes)
    lda = tl.load(sizes + 1)
    ldb = tl.load(sizes + 2)
    a = tl.load(addresses).to(tl.pointer_type(tl.float16))
    b = tl.load(addresses + 1).to(tl.pointer_type(tl.float16))
    to = tl.load(addresses + 2).to(tl.pointer_type(tl.float16))
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    o = tl.arange(0, BK)
    pa = a + m[:, None] * lda + o[None, :]
    pb = b + o[:, None] * ldb + n[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, k, BK):
        acc += tl.dot(tl.load(pa), tl.load(pb))
        pa += BK
        pb += BK * ldb
    tl.store(to + m[:, None] * ldb + n[None, :], acc.to(tl.float16))
)",
                                         "*i32/16 *i64/16 *f16/16 =128 =128 =64", 8);
  GenerateOptions options;
  options.threads = false;
  absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"), options);
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  for (const char* expected : {"copy_async<16>", "copy_guessed<16>", "store_guessed<8, 0, 0>", "hand_out(40, "}) {
    EXPECT_NE(emitted->text.find(expected), std::string::npos) << expected << "\n" << emitted->text;
  }
  // A warpgroup of its own copies; the store may be to what it has read.
  emitted = Generate(kernel, *TargetOf("sm_90a"), {});
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  EXPECT_EQ(emitted->threads, 384);
  EXPECT_TRUE(emitted->slice.empty());
  for (const char* expected : {"32768, true> ring0", "ring0.init(2, 128)", "copy_async<16>(ring0.address()", "ring0.copies_started();", "told.pass();", "told.before();", "told.after();"}) {
    EXPECT_NE(emitted->text.find(expected), std::string::npos) << expected << "\n" << emitted->text;
  }
}

// Rows by their numbers: the producer loads these in the layout in which it copies, and b is a box. Programs of unequal length have CTAs of their own.
TEST(Roles, GatheredRows) {
  for (const auto& [end, persistent] : {std::pair<const char*, bool>{"K", true}, {"(p + 1) * B", false}}) {
    std::string source = R"(@triton.jit
def kernel(a, b, c, rows, K, B: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, B)
    row = tl.load(rows + p * B + i)
    acc = tl.zeros([B, B], tl.float32)
    for start in range(0, END, B):
        k = start + i
        acc += tl.dot(tl.load(a + row[:, None] * K + k[None, :]), tl.load(b + k[:, None] * B + i[None, :]))
    tl.store(c + (p * B + i)[:, None] * B + i[None, :], acc)
)";
    source.replace(source.find("END"), 3, end);
    const ir::Kernel kernel = KernelOfText(source, "*f16/16 *f16/16 *f32/16 *i32/16 i32/16 =64", 4);
    const pipeline::Schedule schedule = ScheduleOf(kernel, *TargetOf("sm_90a"), {});
    ASSERT_EQ(schedule.roles.groups, 1) << schedule.why_no_roles;
    EXPECT_EQ(schedule.roles.persistent, persistent);
    ASSERT_EQ(schedule.loops[0].copies.size(), 2u);
    EXPECT_TRUE(schedule.loops[0].copies[0].by_threads);
    EXPECT_FALSE(schedule.loops[0].copies[1].by_threads);
    EXPECT_TRUE(schedule.roles.told.empty());
    const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"), {});
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    EXPECT_NE(emitted->text.find("ring0.init(1, 129)"), std::string::npos) << emitted->text;
    EXPECT_EQ(emitted->slice.maps.size(), 2u);
  }
}

// Both sides of a split kernel go through its loops: they may not go by what is read in them, which could change in between.
TEST(Roles, WhileLoops) {
  const std::string text = R"(@triton.jit
def kernel(a, b, c, steps, N, B: tl.constexpr):
    i = tl.arange(0, B)
    part = 0
    k = 0
    while k < N:
        own = a + tl.load(steps + part)
        acc = tl.zeros([B, B], tl.float32)
        for start in range(0, N, B):
            acc += tl.dot(tl.load(own + i[:, None] * N + (start + i)[None, :]), tl.load(b + (start + i)[:, None] * B + i[None, :]))
        tl.store(c + part * B * B + i[:, None] * B + i[None, :], acc)
        part += 1
        NEXT
)";
  const std::string signature = "*f32/16 *f32/16 *f32/16 *i32/16 i32/16 =64";
  for (const auto& [next, split] : {std::pair<const char*, bool>{"k += B", true}, {"k += tl.load(steps + part)", false},
                                    {"k = tl.where(tl.load(steps) > 0, k + B, N)", false}, {"if tl.load(steps) > 0:\n            k += B", false}}) {
    std::string source = text;
    source.replace(source.find("NEXT"), 4, next);
    const pipeline::Schedule schedule = ScheduleOf(KernelOfText(source, signature, 4), *TargetOf("sm_90a"), {});
    EXPECT_EQ(schedule.roles.groups, split ? 1 : 0) << next;
    EXPECT_EQ(schedule.why_no_roles, split ? "" : "a while loop goes on by what it reads") << next;
  }
}

// Sizes found in memory that masks end with: one look at all of them, before wide accesses and before single elements.
TEST(Emit, SizesFromMemory) {
  const ir::Kernel kernel = KernelOfText(R"(@triton.jit
def kernel(sizes, addresses, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.load(sizes)
    n = tl.load(sizes + 1)
    k = tl.load(sizes + 2)
    a = tl.make_tensor_descriptor(tl.load(addresses).to(tl.pointer_type(tl.float16)), shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(tl.load(addresses + 1).to(tl.pointer_type(tl.float16)), shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    to = tl.make_tensor_descriptor(tl.load(addresses + 2).to(tl.pointer_type(tl.float16)), shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, k, BK):
        acc += tl.dot(a.load([0, i]), b.load([0, i]).T)
    to.store([0, 0], acc.to(tl.float16))
)",
                                         "*i32/16 *i64/16 *f16/16 =128 =128 =64", 8);
  for (const char* arch : {"sm_80", "sm_90a"}) {
    GenerateOptions without_maps;
    without_maps.promises.boxes = false;
    const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf(arch), without_maps);
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    for (const char* expected : {"if (low % 16 == 0) {", "copy_async<16>(", "copy_elements<8>(", ") % 16 == 0) {", "store<8, 0, 0>(", "store<1, 0, 0>("}) {
      EXPECT_NE(emitted->text.find(expected), std::string::npos) << arch << " " << expected << "\n" << emitted->text;
    }
    EXPECT_EQ(emitted->text.find("copies_started") != std::string::npos, std::string(arch) == "sm_90a");
  }
  // On sm_90 the producer can make tensor maps of them, one for the store too.
  const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"));
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  ASSERT_EQ(emitted->slice.maps.size(), 3u);
  EXPECT_TRUE(emitted->slice.checks.empty());
  for (const launch::TensorMap& map : emitted->slice.maps) EXPECT_TRUE(map.made);
  for (const char* expected : {"MadeMap<2, true> made2", "made0.begin(ring0);", "made2.begin();", "made1.ready(1);", "made2.take();", "told.meet(made1.low(), made1.high());",
                               "made2.copy_model(map2);", "models_copied();",
                               "load_box(ring0.address() + 0, made0.map", "made1.load_elements<64, 128>(", "told.pass(2, made2.low(), made2.high());", "store_box(made2.map"}) {
    EXPECT_NE(emitted->text.find(expected), std::string::npos) << expected << "\n" << emitted->text;
  }
  EXPECT_EQ(emitted->text.find("copies_started"), std::string::npos);
  // Sizes and addresses, six in all: the producer looks once at what stores may have written there.
  std::vector<absl::string_view> looks = absl::StrSplit(emitted->text, "told.meet(");
  looks.erase(std::remove_if(looks.begin(), looks.end(), [](absl::string_view look) { return look.substr(0, 4) == "made"; }), looks.end());
  EXPECT_EQ(looks.size(), 2u) << emitted->text;
}

// A product without tensor cores goes through shared memory beside the slots of its loop: there are fewer of those where both do not fit.
TEST(Emit, SlotsLeaveRoomForProductsByMultiplyAdds) {
  constexpr absl::string_view kProduct = R"(@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=TYPE)
    for i in range(0, K, BK):
        a = tl.load(a_ptr + m[:, None] * K + (k + i)[None, :])
        b = tl.load(b_ptr + (k + i)[:, None] * BN + n[None, :])
        acc = tl.dot(a, b, acc, input_precision='MODE', out_dtype=TYPE)
    tl.store(c_ptr + m[:, None] * BN + n[None, :], acc)
)";
  struct { const char *arch, *mode, *type, *args; } const tests[] = {
      {"sm_90a", "ieee", "tl.float32", "*f32/16 *f32/16 *f32/16 i32/16 =128 =128 =64"}, {"sm_90a", "tf32x3", "tl.float32", "*f32/16 *f32/16 *f32/16 i32/16 =128 =128 =64"},
      {"sm_80", "ieee", "tl.float32", "*f32/16 *f32/16 *f32/16 i32/16 =128 =128 =64"},  {"sm_86", "ieee", "tl.float32", "*f32/16 *f32/16 *f32/16 i32/16 =128 =128 =32"},
      {"sm_86", "ieee", "tl.float64", "*f64/16 *f64/16 *f64/16 i32/16 =64 =64 =32"},    {"sm_89", "ieee", "tl.float64", "*f64/16 *f64/16 *f64/16 i32/16 =64 =64 =32"},
      {"sm_120a", "ieee", "tl.float64", "*f64/16 *f64/16 *f64/16 i32/16 =64 =64 =32"}};
  for (const auto& test : tests) {
    SCOPED_TRACE(absl::StrCat(test.arch, " ", test.mode, " ", test.args));
    std::string text(kProduct);
    for (const auto& [from, to] : {std::pair{"MODE", test.mode}, std::pair{"TYPE", test.type}}) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) text.replace(at, 4, to);
    }
    const Target target = *TargetOf(test.arch);
    const absl::StatusOr<Emitted> emitted = Generate(KernelOfText(text, test.args, 4), target);
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    EXPECT_LE(emitted->smem_bytes, target.max_smem_per_block);
  }
}

void ExpectCompiles(const Emitted& emitted, const char* arch) {
  absl::StatusOr<std::shared_ptr<const Nvrtc>> nvrtc = Nvrtc::Load();
  if (!nvrtc.ok()) return;
  CompileRequest request;
  request.source = emitted.text;
  request.headers = DeviceHeaderTexts();
  request.arch = arch;
  request.optimise = false;
  const auto compiled = (*nvrtc)->Compile(request);
  EXPECT_TRUE(compiled.ok()) << compiled.status() << "\n" << emitted.text;
}

// Names of an author's that the text needs for itself, or that would be somebody else's: macros, CUDA's functions, other values of the kernel.
TEST(Emit, NamesOfAuthorsAreTheirOwn) {
  for (const char* name : {"after", "there", "NULL", "TV_DEV", "TV_PACKED", "__CUDA_ARCH__", "__restrict__", "__func__", "_Pragma", "thread_W9", "thread_L1", "x_1", "x_of3", "function_2",
                           "fits4", "map2", "o_ahead", "q_trip", "printf", "half", "asm_3"}) {
    SCOPED_TRACE(name);
    std::string text = R"(@triton.jit
def twice(a, b):
    NAME = a * b + 1
    return NAME + a

@triton.jit
def kernel(x, NAME, n, B: tl.constexpr):
    o = tl.arange(0, B) + NAME
    NAME = tl.load(x + o)
    for q in range(n):
        NAME += tl.reduce(NAME, 0, twice)
        if NAME.to(tl.int32).sum(0) > 3:
            NAME = tl.load(x + q).to(tl.float32) + NAME
    tl.store(x + o, NAME)
)";
    for (size_t at = 0; (at = text.find("NAME", at)) != std::string::npos;) text.replace(at, 4, name);
    const absl::StatusOr<Emitted> emitted = Generate(KernelOfText(text, "*f32/16 i32 i32 =128", 4), *TargetOf("sm_80"));
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    ExpectCompiles(*emitted, "sm_80");
  }
  // A value's number behind its name may be another one's name.
  const absl::StatusOr<Emitted> two = Generate(KernelOfText("@triton.jit\ndef kernel(x, count_3, count, B: tl.constexpr):\n    i = tl.arange(0, B)\n    count_4 = tl.load(x + i + count_3)\n"
                                                            "    tl.store(x + i, count_4 + count)\n", "*f32/16 i32 i32 =128", 4), *TargetOf("sm_80"));
  ASSERT_TRUE(two.ok()) << two.status();
  ExpectCompiles(*two, "sm_80");
  for (int number = 0; number < 40; ++number) {
    const std::string other = absl::StrCat("col_", number);
    const absl::StatusOr<Emitted> hidden = Generate(KernelOfText(absl::StrCat("@triton.jit\ndef kernel(out, n, w):\n    col = w * 7\n    ", other, " = w * 5\n    for g in range(n):\n        tl.store(out + g, col)\n"
                                                                              "        if g > 3:\n            col = tl.load(out + g + 100)\n            tl.store(out + g + 200, col + ", other, ")\n"),
                                                                 "*i32/16 i32 i32", 4), *TargetOf("sm_80"));
    ASSERT_TRUE(hidden.ok()) << hidden.status();
    size_t declared = 0;
    for (absl::string_view line : absl::StrSplit(hidden->text, '\n')) declared += absl::StrContains(line, absl::StrCat(" ", other, " = ")) && absl::StrContains(line, "const ");
    EXPECT_EQ(declared, 1u) << other << "\n" << hidden->text;
  }
  // The kernel's own name is a global one.
  for (const char* name : {"norm", "pow", "trunc", "printf", "clock64", "expf", "half", "size_t", "_attn_fwd", "__syncthreads"}) {
    SCOPED_TRACE(name);
    ir::Kernel kernel = KernelOfText("@triton.jit\ndef kernel(x):\n    tl.store(x, tl.load(x) + 1)\n", "*f32/16", 4);
    kernel.name = name;
    const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_80"));
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    ExpectCompiles(*emitted, "sm_80");
  }
}

// An address that came as a number may be any array's: what the program stored is there when it is read, and nobody asks for a line of a number.
TEST(Emit, AddressesThatAreNumbers) {
  const absl::StatusOr<Emitted> stored = Generate(KernelOfText(R"(@triton.jit
def kernel(x, z, address, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, i * 2)
    tl.store(z + i, tl.load(address.to(tl.pointer_type(tl.int32)) + (B - 1 - i)))
)",
                                                              "*i32/16 *i32/16 i64 =128", 4), *TargetOf("sm_80"));
  ASSERT_TRUE(stored.ok()) << stored.status();
  const size_t store = stored->text.find("store<"), barrier = stored->text.find("barrier();", store), load = stored->text.find("load<", store);
  EXPECT_LT(barrier, load) << stored->text;
  const absl::StatusOr<Emitted> found = Generate(KernelOfText(R"(@triton.jit
def kernel(c, address, N, K, a_ptr, b_ptr, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.load(address.to(tl.pointer_type(tl.int32)))
    a = tl.make_tensor_descriptor(a_ptr, shape=[N, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BM, BK])
    to = tl.make_tensor_descriptor(c, shape=[N, N], strides=[N, 1], block_shape=[BM, BM])
    acc = tl.zeros([BM, BM], tl.float32)
    for i in range(0, m, BK):
        acc += tl.dot(a.load([tl.program_id(0) * BM, i]), b.load([0, i]).T)
    to.store([tl.program_id(0) * BM, 0], acc.to(tl.float16))
)",
                                                              "*f16/16 i64 i32/16 i32/16 *f16/16 *f16/16 =128 =64", 8), *TargetOf("sm_90a"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->text.find("prefetch_line(address)"), std::string::npos) << found->text;
  ExpectCompiles(*found, "sm_90a");
}

// Maps that the kernel makes beside maps of the launcher's: a store through the former hides none of the latter.
TEST(Emit, MadeMapsBesideOthers) {
  const absl::StatusOr<Emitted> emitted = Generate(KernelOfText(R"(@triton.jit
def kernel(sizes, ap, bp, cp, out, out2, M, N, BM: tl.constexpr, BK: tl.constexpr):
    g = tl.program_id(0)
    m = tl.load(sizes)
    n = tl.load(sizes + 1)
    k = tl.load(sizes + 2)
    a = tl.make_tensor_descriptor(ap, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(bp, shape=[n, k], strides=[k, 1], block_shape=[BM, BK])
    to = tl.make_tensor_descriptor(cp, shape=[m, n], strides=[n, 1], block_shape=[BM, BM])
    o = tl.make_tensor_descriptor(out, shape=[M, N], strides=[N, 1], block_shape=[BM, BM])
    acc = tl.zeros([BM, BM], tl.float32)
    for i in range(0, k, BK):
        acc += tl.dot(a.load([g * BM, i]), b.load([0, i]).T)
    to.store([g * BM, 0], acc.to(tl.float16))
    o.store([g * BM, 0], (acc * 2).to(tl.float16))
    o2 = tl.make_tensor_descriptor(out2, shape=[M, N], strides=[N, 1], block_shape=[BM, BM])
    o2.store([g * BM, 0], (acc * 3).to(tl.float16))
)",
                                                                "*i32/16 *f16/16 *f16/16 *f16/16 *f16/16 *f16/16 i32/16 i32/16 =128 =64", 8), *TargetOf("sm_90a"));
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  EXPECT_NE(emitted->text.find("store_box(&map"), std::string::npos);
  ExpectCompiles(*emitted, "sm_90a");
}

constexpr absl::string_view kGroupedLoop = R"(@triton.jit
def kernel(sizes, addresses, count, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for g in range(count):
        m = tl.load(sizes + 3 * g)
        n = tl.load(sizes + 3 * g + 1)
        k = tl.load(sizes + 3 * g + 2)
        a = tl.make_tensor_descriptor(tl.load(addresses + 3 * g).to(tl.pointer_type(tl.float16)), shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
        b = tl.make_tensor_descriptor(tl.load(addresses + 3 * g + 1).to(tl.pointer_type(tl.float16)), shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
        to = tl.make_tensor_descriptor(tl.load(addresses + 3 * g + 2).to(tl.pointer_type(tl.float16)), shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
        acc = tl.zeros([BM, BN], tl.float32)
        for i in range(0, k, BK):
            acc += tl.dot(a.load([0, i]), b.load([0, i]).T)
        to.store([0, 0], acc.to(tl.float16))
)";

// In a loop over programs that find their arrays in memory: what a store waits for stands beside the last product, and each panel is on its way while the next one is
// cast and written. At the end nothing is told to a producer that asks no more.
TEST(Emit, PanelsOfAStoreLeaveOneByOne) {
  const ir::Kernel kernel = KernelOfText(kGroupedLoop, "*i32/16 *i64/16 i32 =128 =256 =64", 8);
  const absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"));
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  const std::string& cuda = emitted->text;
  size_t at = cuda.find("more_registers<");
  for (const char* expected : {"prefetch_line(sizes);", "prefetch_line(addresses);", "wait_for_kernel_before();", "told.before();", "boxes_written();", "barrier();", "wgmma_wait<0>();", "r < 32; r += 2", "store_matrices(", "fence_shared();", "group_barrier();",
                               "store_box(made2.map", "r = 32; r < 64; r += 2", "store_matrices(", "store_box(made2.map", "r = 96; r < 128; r += 2", "store_box(made2.map",
                               "boxes_commit();", "made2.store_elements<64, 64>(", "told.after_boxes(", "told.end();", "made2.give_back();"}) {
    const size_t next = cuda.find(expected, at);
    ASSERT_NE(next, std::string::npos) << expected << "\n" << cuda;
    at = next;
  }
  EXPECT_LT(cuda.find("told.over();"), cuda.find("made2.end();"));
  EXPECT_TRUE(emitted->persistent && !emitted->strided);
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(cuda, "told.before();")).size(), 2u) << cuda;
  // Programs that walk over tiles themselves may be run by blocks in another order.
  std::string walks(kGroupedLoop);
  walks.replace(walks.find("for g in range(count):"), 22, "g = tl.program_id(0)\n    while g < count:");
  walks.insert(walks.find_last_of(')') + 1, "\n        g += tl.num_programs(0)");
  const absl::StatusOr<Emitted> walking = Generate(KernelOfText(walks, "*i32/16 *i64/16 i32 =128 =256 =64", 8), *TargetOf("sm_90a"));
  ASSERT_TRUE(walking.ok()) << walking.status();
  EXPECT_TRUE(walking->strided && !walking->persistent);
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(walking->text, "= static_cast<i32>(strided);")).size(), 3u) << walking->text;  // of both sides
  EXPECT_EQ(walking->text.find("program_id<0>()"), std::string::npos);
  // A buffer for each panel is too much for three slots of 64 KB: two go by turns.
  const absl::StatusOr<Emitted> long_steps = Generate(KernelOfText(kGroupedLoop, "*i32/16 *i64/16 i32 =128 =256 =128", 8), *TargetOf("sm_90a"));
  ASSERT_TRUE(long_steps.ok()) << long_steps.status();
  EXPECT_NE(long_steps->text.find("boxes_read<1>();"), std::string::npos) << long_steps->text;
}

// A loop that looks for its work in memory asks for eight iterations' sizes at once, unless each iteration stores.
TEST(Emit, ScalarsOfLaterIterationsAreLoadedTogether) {
  const auto text_of = [](absl::string_view body) {
    const ir::Kernel kernel = KernelOfText(absl::StrCat("@triton.jit\ndef kernel(sizes, o, G):\n    for g in range(G):\n        n = tl.load(sizes + 3 * g)\n", body),
                                           "*i32/16 *i32/16 i32", 4);
    GenerateOptions options;
    options.promises.no_alias = false;  // the sizes may be what is stored
    absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_90a"), options);
    EXPECT_TRUE(emitted.ok()) << emitted.status();
    return emitted.ok() ? emitted->text : std::string();
  };
  const std::string guarded = text_of("        if n > 3:\n            tl.store(o + g + tl.arange(0, 64), n)\n");
  for (const char* expected : {"if (ahead1 == 8) {", "__shfl_sync(~0u, ahead1_0, ahead1)", "hand_out(", "ahead1 = 8;"}) {
    EXPECT_NE(guarded.find(expected), std::string::npos) << expected << "\n" << guarded;
  }
  EXPECT_EQ(guarded.find("load_scalar_once"), std::string::npos) << guarded;
  // The mark stands where the store is: within the branch.
  EXPECT_GT(guarded.rfind("ahead1 = 8;"), guarded.find("if (v")) << guarded;
  EXPECT_EQ(text_of("        tl.store(o + g + tl.arange(0, 64), n)\n").find("ahead"), std::string::npos);
  EXPECT_EQ(text_of("        if n > 3:\n            tl.atomic_add(o + g, n)\n").find("ahead"), std::string::npos);
  EXPECT_EQ(text_of("        if n > 3:\n            tl.store(o + g, tl.load(sizes + g, volatile=True))\n").find("ahead"), std::string::npos);
  EXPECT_EQ(text_of("        tl.inline_asm_elementwise(\"st.global.u32 [$1], $2; mov.u32 $0, 0;\", \"=r,l,r\", [(sizes + 3 * g + 3).to(tl.int64), n], dtype=tl.int32, "
                    "is_pure=False, pack=1)\n        if n > 3:\n            tl.store(o + g, n)\n").find("ahead"), std::string::npos);
  EXPECT_EQ(text_of("        if n > 3:\n            return\n        tl.device_print(\"n\", n)\n").find("ahead"), std::string::npos);
}

// Programs that fill a multiprocessor tell L2 of rows of programs that begin later, if those will load them: the address once more for another program.
TEST(Emit, RowsOfLaterProgramsAreTold) {
  const auto text_of = [](absl::string_view load, const char* n, const char* arch = "sm_90a") {
    const std::string text = absl::StrCat("@triton.jit\ndef kernel(x_ptr, lens, o, stride, n, N: tl.constexpr):\n    i = tl.arange(0, N)\n    row = tl.program_id(0)\n    ", load,
                                          "\n    tl.store(o + row * stride + i, x - tl.max(x), mask=i < n)\n");
    const absl::StatusOr<Emitted> emitted = Generate(KernelOfText(text, absl::StrCat("*f16/16 *i32/16 *f16/16 i32/16 i32/16 =", n), 4), *TargetOf(arch), {});
    return emitted.ok() ? emitted->text : emitted.status().ToString();
  };
  const absl::string_view row = "x = tl.load(x_ptr + row * stride + i, mask=i < n, other=0.0)";
  const std::string told = text_of(row, "32768");
  const size_t next = told.find("program_id<0>() + 64"), load = told.find("load<8"), prefetch = told.find("prefetch_run(", load);
  ASSERT_NE(next, std::string::npos) << told;
  EXPECT_LT(load, next);
  EXPECT_LT(next, told.find("mul(row, stride)", next)) << told;
  EXPECT_LT(next, prefetch);
  EXPECT_NE(told.find("< num_programs<0>()", next), std::string::npos);
  for (const std::string& other : {text_of(row, "8192"),                                                                // other programs load beside this one
                                   text_of("x = tl.load(x_ptr + i, mask=i < n, other=0.0)", "32768"),                    // the same row for all
                                   text_of("x = tl.load(x_ptr + row * stride + i, mask=i < tl.load(lens + row), other=0.0)", "32768"),
                                   text_of("x = tl.load(x_ptr + tl.load(lens + row) * stride + i, mask=i < n, other=0.0)", "32768")}) {
    EXPECT_EQ(other.find("program_id<0>() + 64"), std::string::npos) << other;
    EXPECT_NE(other.find("__global__"), std::string::npos) << other;
  }
}

// A kernel set up beside the one before it computes addresses first, and tells the cache of a long row; what may touch memory stands behind the wait.
TEST(Emit, TheWaitForTheKernelBeforeIsTheFirstToTouchMemory) {
  struct Case { const char* body; const char* first; bool told; };  // `first`: of what touches memory
  for (const Case& test : {Case{"x = tl.load(x_ptr + row + i, mask=i < n)\n    tl.store(o + row + i, x - tl.max(x))", "load<", true},
                           Case{"for k in range(n):\n        tl.store(o + row + i, k)", "for (u32", false},
                           Case{"if n > 3:\n        tl.store(o + row + i, tl.load(x_ptr + row + i))", "if (", false},
                           Case{"s = tl.load(o)\n    tl.store(o + row + i, tl.load(x_ptr + row + i) + s)", "load_", false},
                           Case{"tl.store(o + row + i, row + i)", "store<", false},
                           Case{"pass", "}", false}}) {
    SCOPED_TRACE(test.body);
    const std::string text = absl::StrCat(R"(@triton.jit
def kernel(x_ptr, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.program_id(0) * N
    )", test.body, "\n");
    const absl::StatusOr<Emitted> emitted = Generate(KernelOfText(text, "*f32/16 *f32/16 i32/16 =4096", 4), *TargetOf("sm_90a"), {});
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    const std::string& cuda = emitted->text;
    if (!emitted->begins_early) {
      EXPECT_EQ(cuda.find("wait_for_kernel_before"), std::string::npos);
      continue;
    }
    const size_t start = cuda.find("__global__"), wait = cuda.find("wait_for_kernel_before();"), told = cuda.find("prefetch_run(");
    ASSERT_NE(wait, std::string::npos) << cuda;
    EXPECT_EQ(cuda.find("wait_for_kernel_before", wait + 1), std::string::npos) << cuda;
    EXPECT_EQ(told != std::string::npos, test.told) << cuda;
    EXPECT_TRUE(!test.told || told < wait) << cuda;
    for (const char* touches : {"load<", "load_", "store<", "store_", "for (u32"}) EXPECT_TRUE(cuda.find(touches, start) >= wait) << touches << "\n" << cuda;
    EXPECT_NE(cuda.find(test.first, wait), std::string::npos) << cuda;
  }
  const ir::Kernel kernel = KernelOfText("@triton.jit\ndef kernel(x, N: tl.constexpr):\n    tl.store(x, tl.max(tl.load(x + tl.arange(0, N))))\n", "*f32/16 =4096", 4);
  EXPECT_FALSE(absl::StrContains(Generate(kernel, *TargetOf("sm_80"), {})->text, "prefetch_run"));
}

// Four programs of one warp share a block, unless an op takes the whole of it.
// A producer knows which tile is its first when the kernel before ends; counters it leaves alone, for a launch of that kernel may have the same. Behind a loop a
// store's coordinates are computed while the last product runs.
TEST(Emit, WhatIsComputedBesideOtherWork) {
  for (const bool causal : {false, true}) {
    const absl::StatusOr<Emitted> emitted = Generate(KernelOf(causal ? kAttention : kMatmul, 8), *TargetOf("sm_90a"), {});
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    ASSERT_TRUE(emitted->begins_early && emitted->persistent);
    const std::string& cuda = emitted->text;
    const size_t producer = cuda.find("fewer_registers<"), consumer = cuda.find("more_registers<"), wait = cuda.find("wait_for_kernel_before();", producer);
    ASSERT_NE(consumer, std::string::npos) << cuda;
    EXPECT_LT(wait, cuda.find("load_box(")) << cuda;
    EXPECT_LT(cuda.find("divided(", producer), wait) << cuda;
    EXPECT_EQ(cuda.rfind("wait_for_kernel_before();", producer), std::string::npos);
    EXPECT_LT(cuda.find("wait_for_kernel_before();", consumer), cuda.find("for (", consumer)) << cuda;
    if (causal) {
      EXPECT_LT(wait, cuda.find("dealer.next(")) << cuda;
      EXPECT_NE(cuda.find("wait_for_kernel_before(); dealer.tell(programs.count()); dealer.end("), std::string::npos) << cuda;
    } else {
      EXPECT_GT(cuda.find("divided(pid", consumer), cuda.find("multiply(", consumer)) << cuda;
      EXPECT_LT(cuda.find("boxes_read<0>();", consumer), cuda.find("wgmma_wait<0>();", consumer)) << cuda;
    }
  }
}

TEST(Emit, ProgramsOfOneWarpArePacked) {
  for (const auto& [extra, packed] : {std::pair{"", 4}, std::pair{"x = tl.sort(x)", 1}, std::pair{"tl.device_print('x', x)", 1}}) {
    SCOPED_TRACE(extra);
    const std::string text = absl::StrCat(R"(@triton.jit
def kernel(x_ptr, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + i)
    )", extra, R"(
    tl.store(o + tl.program_id(0) * N + i, x - tl.sum(x) * tl.num_programs(0))
)");
    const ir::Kernel kernel = KernelOfText(text, "*f32/16 *f32/16 i32 =256", 1);
    absl::StatusOr<Emitted> emitted = Generate(kernel, *TargetOf("sm_80"), {});
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    EXPECT_EQ(emitted->packed, packed);
    EXPECT_EQ(emitted->threads, 32 * packed);
    EXPECT_EQ(absl::StrContains(emitted->text, "if (program_id<0>() >= static_cast<i32>(grid_x)) return;"), packed > 1) << emitted->text;
    EXPECT_EQ(absl::StrContains(emitted->text, " = static_cast<i32>(grid_x);"), packed > 1) << emitted->text;
    GenerateOptions few;
    few.promises.many = false;
    EXPECT_EQ(Generate(kernel, *TargetOf("sm_80"), few)->packed, 1);
  }
}

// Two loops over the same arrays, which may share tensor maps: each map has one parameter.
TEST(Emit, EachTensorMapIsAParameter) {
  absl::StatusOr<isa::Module> module = triton::CompileTriton(R"(import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, S, O):
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[128, 64])
    db = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[64, 128])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[128, 128])
    i = tl.program_id(0) * 128
    j = tl.program_id(1) * 128
    acc = tl.zeros([128, 128], tl.float32)
    for k in range(0, S, 64):
        acc = tl.dot(da.load([i, O + k]), db.load([O + k, j]), acc)
    acc = acc * 2.0
    for k in range(S, K, 64):
        acc = tl.dot(da.load([i, O + k]), db.load([O + k, j]), acc)
    dc.store([i, j], acc.to(tl.float16))
)",
                                                             "two_loops.py");
  ASSERT_TRUE(module.ok()) << module.status();
  absl::StatusOr<ir::Kernel> typed = tests::SpecializeExample({"", "kernel", "*f16/16 *f16/16 *f16/16 i32/16 i32/16 i32/16 i32 i32"}, *module);
  ASSERT_TRUE(typed.ok()) << typed.status();
  typed->options.num_warps = 8;
  absl::StatusOr<ir::Kernel> kernel = specializer::RunPasses(*std::move(typed));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  absl::StatusOr<Emitted> emitted = Generate(*kernel, *TargetOf("sm_90a"), {});
  ASSERT_TRUE(emitted.ok()) << emitted.status();
  const size_t maps = emitted->slice.maps.size();
  EXPECT_GE(maps, 3u);
  EXPECT_NE(emitted->text.find(absl::StrCat("TensorMap map", maps - 1)), std::string::npos) << emitted->text;
  EXPECT_EQ(emitted->text.find(absl::StrCat("map", maps)), std::string::npos) << emitted->text;
}

TEST(Schedule, TheLongestProgramsBeginFirst) {
  const Target target = *TargetOf("sm_90a");
  const pipeline::ProgramOrder causal = ScheduleOf(KernelOf(kAttention, 8), target).order, equal = ScheduleOf(KernelOf(kMatmul, 8), target).order;
  EXPECT_TRUE(causal.unequal);
  EXPECT_EQ(causal.reversed, 0);
  EXPECT_FALSE(equal.unequal);
  EXPECT_EQ(equal.reversed, -1);
}

TEST(Schedule, WarpsByTheRowsOfWgmma) {
  // num_warps is a hint: two groups of four warps for 128 rows.
  absl::StatusOr<layout::LayoutKernel> laid_out = LayOut(KernelOf(kMatmul, 4), *TargetOf("sm_90a"), {});
  ASSERT_TRUE(laid_out.ok()) << laid_out.status();
  EXPECT_EQ(laid_out->kernel.options.num_warps, 8);
  laid_out = LayOut(KernelOf(kMatmul, 4), *TargetOf("sm_80"), {});
  ASSERT_TRUE(laid_out.ok()) << laid_out.status();
  EXPECT_EQ(laid_out->kernel.options.num_warps, 4);
}

// The variants of a kernel by what the assembler says of them: with programs merged, not, without products under other work, without wgmma.
struct Tried {
  int variant;
  int64_t badness;
};
Tried Best(const std::vector<int64_t>& badness, int* compiled) {
  *compiled = 0;
  auto generate = [](const GenerateOptions& options) -> absl::StatusOr<Emitted> {
    Emitted emitted;
    emitted.text = options.overlap ? "0" : options.wgmma ? "1" : "2";  // nothing to merge
    return emitted;
  };
  auto compile = [&](Emitted emitted) -> absl::StatusOr<Tried> {
    ++*compiled;
    const int variant = emitted.text[0] - '0';
    return Tried{variant, badness[variant]};
  };
  return *BestVariant<Tried>({}, generate, compile, [](const Tried& tried) { return tried.badness; });
}

TEST(BestVariant, TheFirstCleanOneElseTheLeastBad) {
  int compiled = 0;
  EXPECT_EQ(Best({0, 0, 0}, &compiled).variant, 0);
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(Best({8, 0, 0}, &compiled).variant, 1);
  EXPECT_EQ(Best({BadnessOf(16, true), BadnessOf(16, false), 0}, &compiled).variant, 1);  // a few spilled registers cost less than mma.sync
  EXPECT_EQ(Best({BadnessOf(4096, true), BadnessOf(2048, true), 0}, &compiled).variant, 2);
  EXPECT_EQ(Best({400, 900, 500}, &compiled).variant, 0);
  EXPECT_EQ(compiled, 3);
}

TEST(BestVariant, FewerMergedProgramsBeforeNone) {
  std::vector<int> merged;
  auto generate = [&](const GenerateOptions& options) -> absl::StatusOr<Emitted> {
    Emitted emitted;
    emitted.programs = options.promises.many ? options.merged : 1;
    emitted.text = absl::StrCat(emitted.programs);
    return emitted;
  };
  auto compile = [&](const Emitted& emitted) -> absl::StatusOr<int> {
    merged.push_back(emitted.programs);
    return emitted.programs;
  };
  EXPECT_EQ(*BestVariant<int>({}, generate, compile, [](int programs) { return BadnessOf(0, programs > 3); }), 3);
  EXPECT_EQ(*BestVariant<int>({}, generate, compile, [](int programs) { return BadnessOf(0, programs > 1); }), 1);
  EXPECT_EQ(merged, (std::vector<int>{4, 3, 4, 3, 1}));
}

TEST(BestVariant, ProgramsAreMergedWhereTheGridFillsThePlaces) {
  constexpr int kMultiprocessors = 132;
  for (int64_t along : {3, 4, 6, 16, 64}) EXPECT_TRUE(WorthMerging({along, 256, 1}, 4, kMultiprocessors)) << along;
  for (int64_t along : {1, 2, 5}) EXPECT_FALSE(WorthMerging({along, 256, 1}, 4, kMultiprocessors)) << along;
  EXPECT_FALSE(WorthMerging({4, 66, 1}, 4, kMultiprocessors));  // two for each multiprocessor
}

TEST(Divide, PartsSuitTheMultiprocessors) {
  using All = std::vector<Division>;
  ir::Kernel kernel = KernelOf(kMatmul, 8);  // 128 x 256
  Emitted whole;
  whole.persistent = true;
  const auto divisions = [&](int64_t x, int64_t y = 1) { return DivisionsFor(kernel, whole, {x, y, 1}, 132); };
  const auto first = [&](int64_t programs) {
    const All all = divisions(programs);
    return all.empty() ? Division() : all[0];
  };
  // Few programs: as many parts as are one wave.
  EXPECT_EQ(divisions(16), (All{{8, false}, {4, false}, {2, false}}));
  EXPECT_EQ(divisions(33, 2), (All{{2, false}, {4, false}}));
  // One wave, and those that are full.
  for (int64_t programs : {0, 67, 120, 132, 264}) EXPECT_EQ(divisions(programs), All()) << programs;
  // 30 or 58 over; of 68 the halves are more than a wave.
  EXPECT_EQ(first(162), (Division{4, true}));
  EXPECT_EQ(first(190), (Division{2, true}));
  EXPECT_EQ(first(288), (Division{4, true}));
  EXPECT_EQ(divisions(200), All());
  EXPECT_EQ(divisions(132 * 30 + 12), All()) << "too little to be had";
  EXPECT_EQ(divisions(int64_t{1} << 31, 1 << 16), All());
  // Programs that differ in length, and others than plain products.
  whole.dealt = true;
  EXPECT_EQ(divisions(162), All());
  EXPECT_EQ(divisions(33), (All{{4, false}, {2, false}}));
  whole.dealt = false;
  kernel = KernelOf(kAttention, 8);
  for (int64_t programs : {67, 144, 162, 190}) EXPECT_EQ(divisions(programs), All()) << programs;
  EXPECT_EQ(divisions(66), (All{{2, false}}));
  kernel = KernelOf(kMatmul, 8);
  whole.persistent = false;
  EXPECT_EQ(divisions(16), All());
  whole.persistent = true;

  tests::ExampleKernel example = kMatmul;
  example.args = "*f16/16 *f16/16 *f16/16 i32/16 i32/16 i32/16 i32/16 =1 i32/16 =1 i32/16 =1 =128 =128 =128 =8";
  kernel = KernelOf(example, 8);
  EXPECT_EQ(first(169), (Division{2, false}));
  EXPECT_EQ(first(196), (Division{2, false}));
  EXPECT_EQ(first(225), (Division{1, false}));
  EXPECT_EQ(first(289), (Division{2, true}));
  example.args = "*f16/16 *f16/16 *f16/16 i32/16 i32/16 i32/16 i32/16 =1 i32/16 =1 i32/16 =1 =64 =128 =64 =8";
  kernel = KernelOf(example, 4);
  whole.ctas = 2;
  EXPECT_EQ(first(200), (Division{1, false}));
  EXPECT_EQ(first(288), (Division{2, true}));
}

TEST(Schedule, WhatIsChosenForHopperDoesNotSpill) {
  absl::StatusOr<std::shared_ptr<const Nvrtc>> nvrtc = Nvrtc::Load();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const Target target = *TargetOf("sm_90a");
  auto compile = [&](Emitted emitted) {
    EXPECT_NE(emitted.text.find("wgmma"), std::string::npos);
    CompileRequest request;
    request.source = emitted.text;
    request.headers = DeviceHeaderTexts();
    request.arch = target.arch;
    return (*nvrtc)->Compile(request);
  };
  const tests::ExampleKernel merged = {"flash_attention", "flash_attention_kernel", kShortCausal.c_str()};
  const ir::Kernel four = KernelOfText(kFourProducts, "*f16/16 *f16/16 *f16/16 *f16/16 *f32/16 *f32/16 *f32/16 *f32/16 i32/16 =128 =32 =64", 8);
  for (const ir::Kernel& kernel : {KernelOf(kAttention, 8), KernelOf(merged, 8), KernelOf(kMatmul, 8), four}) {
    SCOPED_TRACE(kernel.name);
    const auto badness = [](const CompileResult& result) { return BadnessOf(result.spill_bytes, result.serialised); };
    auto best = BestVariant<CompileResult>(kernel, target, {}, compile, badness);
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_EQ(best->spill_bytes, 0);
    EXPECT_FALSE(best->serialised) << best->log;
  }
  GenerateOptions tail;
  tail.promises.parts = 4;
  tail.promises.tail = true;
  const absl::StatusOr<Emitted> shared = Generate(KernelOf(kMatmul, 8), target, tail);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_NE(shared->text.find("SharedTail<4>"), std::string::npos);
  const absl::StatusOr<CompileResult> compiled = compile(*shared);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_EQ(compiled->spill_bytes, 0);
  EXPECT_FALSE(compiled->serialised) << compiled->log;
}

// Operands that no ring holds, as fragments, would be more than the registers of a thread: they are written to buffers, and read from there step by step.
TEST(Schedule, WideOperandsOfOneProductDoNotSpill) {
  absl::StatusOr<std::shared_ptr<const Nvrtc>> nvrtc = Nvrtc::Load();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  struct Case { const char* mode; const char* arguments; bool written; };
  for (const Case& test : {Case{"bf16x3", "*f32/16 *f32/16 *f32/16 =128 =64 =64", true}, Case{"tf32x3", "*f32/16 *f32/16 *f32/16 =64 =64 =128", true},
                           Case{"ieee", "*f64/16 *f64/16 *f64/16 =64 =64 =64", true}, Case{"tf32x3", "*f32/16 *f32/16 *f32/16 =32 =32 =16", false}}) {
    SCOPED_TRACE(test.arguments);
    const std::string text = absl::StrReplaceAll(R"(@triton.jit
def kernel(x, y, z, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    k = tl.arange(0, K)
    a = tl.load(x + m * K + k[None, :]) * 2
    b = tl.load(y + k[:, None] * N + n)
    tl.store(z + m * N + n, tl.dot(a, b, input_precision='MODE', out_dtype=z.dtype.element_ty))
)", {{"MODE", test.mode}});
    const absl::StatusOr<Emitted> emitted = Generate(KernelOfText(text, test.arguments, 4), *TargetOf("sm_90a"), {});
    ASSERT_TRUE(emitted.ok()) << emitted.status();
    EXPECT_EQ(absl::StrContains(emitted->text, "write_shared<"), test.written) << emitted->text;
    EXPECT_EQ(absl::StrContains(emitted->text, "RegisterA<"), !test.written) << emitted->text;
    CompileRequest request;
    request.source = emitted->text;
    request.headers = DeviceHeaderTexts();
    request.arch = "sm_90a";
    const absl::StatusOr<CompileResult> compiled = (*nvrtc)->Compile(request);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(compiled->spill_bytes, 0);
    EXPECT_GT(compiled->registers, 32);
  }
}

}  // namespace
}  // namespace tilevm::gpu
