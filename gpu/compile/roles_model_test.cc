// Split kernels run by the interpreter (specializer/pipeline/roles_model.h): the producer's slice, the order of slots on both sides and what merged programs share
// give the bits of the kernel as it was, and checked mode sees no race.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontends/triton/compile.h"
#include "gpu/compile/generate.h"
#include "gpu/compile/passed_kernel.h"
#include "isa/eval.h"
#include "specializer/passes/passes.h"
#include "specializer/pipeline/roles_model.h"
#include "specializer/pipeline/split_tiles.h"
#include "tests/example_kernels.h"
#include "vm/interp/interp.h"

namespace tilevm::gpu {
namespace {

// Values of the parameters that are no pointers, by name; pointers get arrays of `elements` numbers between -2 and 2, the last one is the output.
struct Launch {
  std::map<std::string, int64_t> ints;
  std::map<std::string, double> floats;
  int64_t elements = 0;
  std::array<int64_t, 3> grid = {1, 1, 1};
};

// tail: the last programs are shared so.
void ExpectSameBits(const ir::Kernel& kernel, const Launch& launch, int programs, int64_t ctas, int tail = 1) {
  const Target target = *TargetOf("sm_90a");
  const std::optional<ir::Kernel> shared = tail > 1 ? pipeline::SplitTail(kernel, tail, true) : kernel;
  ASSERT_TRUE(shared.has_value());
  absl::StatusOr<layout::LayoutKernel> laid_out = LayOut(*shared, target, {});
  ASSERT_TRUE(laid_out.ok()) << laid_out.status();
  const pipeline::Schedule schedule = Plan(*laid_out, target, {});
  ASSERT_GT(schedule.roles.groups, 0) << schedule.why_no_roles;
  ASSERT_EQ(schedule.roles.programs, programs);
  ASSERT_EQ(schedule.roles.tail_parts, tail);
  const absl::StatusOr<pipeline::RolesModel> model = pipeline::ModelRoles(*laid_out, schedule, launch.grid, ctas);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(ir::Verify(model->kernel).ok()) << ir::Verify(model->kernel);

  std::vector<std::vector<uint8_t>> outputs;
  for (const bool modelled : {false, true}) {
    const ir::Kernel* const run = modelled ? &model->kernel : tail > 1 ? &kernel : &laid_out->kernel;
    std::mt19937 random(7);
    std::vector<std::vector<uint8_t>> memory;
    std::vector<vm::Buffer> buffers;
    std::vector<vm::Arg> args;
    size_t output = 0;
    for (size_t i = 0; i < run->params.size(); ++i) {
      const ir::Param& param = run->params[i];
      const isa::ElemType type = run->TypeOf(param.value).elem;
      const size_t own = laid_out->kernel.params.size();
      if (type.pointer) {
        const int64_t elements = i < own ? launch.elements : model->memory[i - own].elements, bytes = isa::StorageBytes({type.dtype, false});
        memory.emplace_back(static_cast<size_t>(elements * bytes), uint8_t{0});
        for (int64_t k = 0; i < own && k < elements; ++k) {
          const uint64_t bits = isa::ScalarFromDouble(type.dtype, static_cast<int>(random() % 33) / 8.0 - 2).bits;
          std::memcpy(memory.back().data() + k * bytes, &bits, static_cast<size_t>(bytes));
        }
        if (i < own) output = memory.size() - 1;
        args.push_back(vm::Arg::InBuffer(static_cast<int32_t>(memory.size()) - 1));
      } else if (isa::IsFloat(type.dtype)) {
        args.push_back(vm::Arg::Float(type.dtype, launch.floats.at(param.name)));
      } else {
        args.push_back(vm::Arg::Int(type.dtype, launch.ints.at(param.name)));
      }
    }
    for (size_t i = 0, m = 0; i < run->params.size(); ++i) {
      const isa::ElemType type = run->TypeOf(run->params[i].value).elem;
      if (!type.pointer) continue;
      vm::Buffer buffer;
      buffer.data = memory[m].data();
      buffer.bytes = static_cast<int64_t>(memory[m].size());
      buffer.dtype = type.dtype;
      buffer.name = run->params[i].name;
      buffers.push_back(buffer);
      ++m;
    }
    vm::RunOptions options;
    for (size_t axis = 0; axis < 3; ++axis) options.grid[axis] = modelled ? model->grid[axis] : launch.grid[axis];
    options.checked = modelled;
    const auto result = vm::Run(*run, args, buffers, options);
    ASSERT_TRUE(result.ok()) << result.status();
    for (const vm::Report& report : result->reports) EXPECT_TRUE(report.note) << report.message;
    outputs.push_back(memory[output]);
  }
  EXPECT_TRUE(outputs[0] == outputs[1]);
}

Launch AttentionLaunch(int64_t n, int64_t d, int64_t rows) {
  Launch out;
  out.elements = 2 * n * d;
  out.grid = {(n + rows - 1) / rows, 2, 1};
  for (const char* t : {"q", "k", "v", "o"}) {
    out.ints[absl::StrCat("stride_", t, "z")] = 2 * n * d;
    out.ints[absl::StrCat("stride_", t, "h")] = n * d;
    out.ints[absl::StrCat("stride_", t, t == std::string("k") || t == std::string("v") ? "n" : "m")] = d;
  }
  out.ints["H"] = 2;
  out.ints["N_CTX"] = n;
  out.floats["scale"] = 0.125;
  return out;
}
constexpr char kStrides[] = "*f16/16 *f16/16 *f16/16 *f16/16 f32 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32/16 i32/16 i32/16 =1 i32 i32/16 ";

TEST(RolesModel, AttentionOfMergedProgramsAndOfTwoWarpgroups) {
  for (const char* causal : {"False", "True"}) {
    SCOPED_TRACE(causal);
    // Five programs a head in sets of three or four (by how many keys a step has): some places are left over.
    for (const auto& [blocks, warps, merged] : {std::tuple{"=64 =128 =", 4, 3}, std::tuple{"=64 =64 =", 4, 4}, std::tuple{"=128 =64 =", 8, 1}}) {
      const std::string args = absl::StrCat(kStrides, "=64 ", blocks, causal);
      const tests::ExampleKernel example = {"flash_attention", "flash_attention_kernel", args.c_str()};
      ExpectSameBits(PassedKernel(example, tests::CompileExample(example), warps), AttentionLaunch(272, 64, warps * 16), merged, 2);
    }
  }
}

// Causal in two loops: they become one, and four programs share its blocks; or, with other loads in the second one, stay two, of which that one begins elsewhere
// in each program.
TEST(RolesModel, CausalInTwoLoops) {
  const absl::StatusOr<isa::Module> module = triton::CompileTriton(R"(import triton
import triton.language as tl


@triton.jit
def part(acc, top, q, k, v, head, low, high, i, d, rows, BN: tl.constexpr, D: tl.constexpr, DIAGONAL: tl.constexpr, KEPT: tl.constexpr):
    offset = head + low
    for start in range(low, high, BN):
        j = tl.arange(0, BN)
        if DIAGONAL and KEPT:
            tk = tl.load(k + (offset + j[:, None]) * D + d[None, :], mask=offset + j[:, None] < rows, other=0.0)
        else:
            tk = tl.load(k + (offset + j[:, None]) * D + d[None, :])
        tv = tl.load(v + (offset + j[:, None]) * D + d[None, :])
        s = tl.dot(q, tl.trans(tk))
        if DIAGONAL:
            s = tl.where(i[:, None] >= start + j[None, :], s, float('-inf'))
        now = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - now[:, None])
        acc = tl.dot(p.to(tv.dtype), tv, acc * tl.exp2(top - now)[:, None])
        top = now
        offset += BN
    return acc, top


@triton.jit
def kernel(q, k, v, o, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, KEPT: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    head = tl.program_id(1) * N
    tq = tl.load(q + (head + i[:, None]) * D + d[None, :])
    top = tl.full([BM], float('-inf'), tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    acc, top = part(acc, top, tq, k, v, head, 0, pid * BM, i, d, 2 * N, BN, D, False, KEPT)
    acc, top = part(acc, top, tq, k, v, head, pid * BM, (pid + 1) * BM, i, d, 2 * N, BN, D, True, KEPT)
    tl.store(o + (head + i[:, None]) * D + d[None, :], acc)
)",
                                                                    "two_loops.py");
  for (const char* block_and_kept : {"64 =64 =True", "32 =64 =True", "64 =64 =False", "32 =64 =False"}) {
    SCOPED_TRACE(block_and_kept);
    const std::string signature = absl::StrCat("*f16/16 *f16/16 *f16/16 *f32/16 i32/16 =64 =", block_and_kept);
    const int merged = absl::StrContains(signature, "True") ? 3 : 4;
    Launch launch;
    launch.elements = 2 * 256 * 64;
    launch.grid = {4, 2, 1};
    launch.ints["N"] = 256;
    ExpectSameBits(PassedKernel({"", "kernel", signature.c_str()}, module, 4), launch, merged, merged);
  }
}

TEST(RolesModel, MatmulWithMoreProgramsThanBlocks) {
  const tests::ExampleKernel example = {"matmul_autotune", "matmul_kernel",
                                        "*f16/16 *f16/16 *f16/16 i32/16 i32/16 i32/16 i32/16 =1 i32/16 =1 i32/16 =1 =128 =128 =64 =8"};
  Launch launch;
  launch.elements = 272 * 272;
  launch.grid = {9, 1, 1};
  for (const char* name : {"M", "N", "K", "stride_am", "stride_bk", "stride_cm"}) launch.ints[name] = 272;
  const ir::Kernel kernel = PassedKernel(example, tests::CompileExample(example), 8);
  ExpectSameBits(kernel, launch, 1, 2);
  // Seven whole programs and two in halves; then none whole, and all.
  ExpectSameBits(kernel, launch, 1, 7, 2);
  ExpectSameBits(kernel, launch, 1, 18, 2);
  ExpectSameBits(kernel, launch, 1, 3, 2);
}

TEST(RolesModel, SharedTailOfAGridOfTwoAxes) {
  const absl::StatusOr<isa::Module> module = triton::CompileTriton(R"(import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(1) * BM + tl.arange(0, BM)
    j = (tl.num_programs(0) - 1 - tl.program_id(0)) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        ta = tl.load(a + i[:, None] * K + (start + k)[None, :])
        tb = tl.load(b + (start + k)[:, None] * N + j[None, :])
        acc = tl.dot(ta, tb, acc)
    tl.store(c + i[:, None] * N + j[None, :], acc)
)",
                                                                    "two_axes.py");
  ASSERT_TRUE(module.ok()) << module.status();
  Launch launch;
  launch.elements = 192 * 512;
  launch.grid = {2, 3, 1};
  launch.ints = {{"N", 512}, {"K", 128}};
  ExpectSameBits(PassedKernel({"", "kernel", "*f16/16 *f16/16 *f32/16 i32/16 i32/16 =64 =256 =64"}, *module, 4), launch, 1, 4, 4);
}

}  // namespace
}  // namespace tilevm::gpu
