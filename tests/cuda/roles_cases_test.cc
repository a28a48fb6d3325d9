// The cases of tests/kernels and tests/tiles whose kernels are split into roles on sm_90 give their answers in the split form too, run by the interpreter
// (specializer/pipeline/roles_model.h).
#include <algorithm>
#include <cstdlib>

#include "gpu/compile/generate.h"
#include "gtest/gtest.h"
#include "specializer/pipeline/roles_model.h"
#include "specializer/pipeline/split_tiles.h"
#include "tests/cuda/cases.h"
#include "tests/launch.h"
#include "tests/oracle.h"
#include "vm/interp/interp.h"

namespace tilevm::tests {
namespace {

constexpr int64_t kFuel = 200'000'000;
constexpr int kLeastSplit = 60;  // 66 of the cases at hand: fewer would mean that kernels are no longer split, or no longer modelled
constexpr int kLeastTails = 2;
constexpr int kLeastMade = 30;   // tensor maps that they make themselves

bool HasDot(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    if (op.op == isa::Op::kDot) return true;
    for (const ir::Region& inner : op.regions) {
      if (HasDot(inner)) return true;
    }
  }
  return false;
}

// Nothing, if the kernel is not split or its split form is not modelled. ctas: if the kernel is persistent. made: if maps may be made, counts them.
std::optional<pipeline::RolesModel> ModelOf(const Case& one, const ir::Kernel& kernel, int64_t ctas, int* made = nullptr) {
  gpu::GenerateOptions options;
  options.promises = PromisesOf(one, kernel);
  options.promises.made = made != nullptr;
  if (!options.promises.no_alias) return std::nullopt;
  const gpu::Target target = *gpu::TargetOf("sm_90a");
  const absl::StatusOr<layout::LayoutKernel> laid_out = gpu::LayOut(kernel, target, options);
  if (!laid_out.ok()) return std::nullopt;
  const pipeline::Schedule schedule = gpu::Plan(*laid_out, target, options);
  if (schedule.roles.groups == 0) return std::nullopt;
  if (made != nullptr) *made += static_cast<int>(schedule.roles.made.size());
  if (!schedule.roles.persistent) ctas = one.grid[0] * one.grid[1] * one.grid[2];
  absl::StatusOr<pipeline::RolesModel> model = pipeline::ModelRoles(*laid_out, schedule, {one.grid[0], one.grid[1], one.grid[2]}, ctas);
  if (!model.ok()) return std::nullopt;
  return *std::move(model);
}

std::string RunModel(const Case& one, const ir::Kernel& kernel, const pipeline::RolesModel& model) {
  absl::StatusOr<std::vector<vm::Arg>> args = ArgsOf(one, kernel);
  if (!args.ok()) return std::string(args.status().message());
  Memory memory(one, 0xff);
  std::vector<vm::Buffer> buffers = memory.Buffers();
  std::vector<std::vector<uint64_t>> rings;
  for (const pipeline::RolesModel::Memory& ring : model.memory) rings.emplace_back(static_cast<size_t>(ring.elements * isa::StorageBytes(ring.dtype) / 8 + 1));
  for (size_t i = 0; i < rings.size(); ++i) {
    vm::Buffer buffer;
    buffer.data = rings[i].data();
    buffer.bytes = static_cast<int64_t>(rings[i].size()) * 8;
    buffer.dtype = model.memory[i].dtype;
    buffer.name = model.kernel.params[kernel.params.size() + i].name;
    args->push_back(vm::Arg::InBuffer(static_cast<int32_t>(buffers.size())));
    buffers.push_back(buffer);
  }
  vm::RunOptions options;
  for (size_t axis = 0; axis < 3; ++axis) options.grid[axis] = model.grid[axis];
  options.checked = true;
  options.max_ops = kFuel;
  const absl::StatusOr<vm::RunResult> result = vm::Run(model.kernel, *args, buffers, options);
  if (!result.ok()) return std::string(result.status().message());
  std::string problem = memory.Differences();
  for (const vm::Report& report : result->reports) {
    if (!report.note) problem += report.message + "\n";
  }
  return problem;
}

TEST(Roles, SplitKernelsGiveTheAnswersOfTheirCases) {
  absl::StatusOr<std::vector<Case>> cases = ReadFolders({"tests/kernels", "tests/tiles"});
  ASSERT_TRUE(cases.ok()) << cases.status();
  std::vector<std::string> problems;
  const absl::Status filled = AskOracle("tests/oracle.py", std::getenv("TEST_TMPDIR"), *cases, problems);
  ASSERT_TRUE(filled.ok()) << filled;
  int split = 0, tails = 0, made = 0;
  for (const Case& one : *cases) {
    if (!one.errors.empty() || !one.reports.empty() || !one.pending.empty()) continue;
    for (int warps : {4, 8}) {
      const absl::StatusOr<ir::Kernel> kernel = KernelOf(one, warps);
      if (!kernel.ok() || !HasDot(kernel->body)) continue;
      int maps = 0;
      const std::optional<pipeline::RolesModel> makes = ModelOf(one, *kernel, 2, &maps);
      made += maps;
      if (maps > 0 && makes.has_value()) EXPECT_EQ(RunModel(one, *kernel, *makes), "") << one.name << ", with maps made, " << warps << " warps";
      else EXPECT_EQ(maps, 0) << one.name;
      const std::optional<pipeline::RolesModel> model = ModelOf(one, *kernel, 2);
      if (!model.has_value()) continue;
      ++split;
      EXPECT_EQ(RunModel(one, *kernel, *model), "") << one.name << ", " << warps << " warps";
      // The last program in halves.
      const std::optional<ir::Kernel> halves = pipeline::SplitTail(*kernel, 2, true);
      if (!halves.has_value()) continue;
      const std::optional<pipeline::RolesModel> tail = ModelOf(one, *halves, std::max<int64_t>(2, one.grid[0] * one.grid[1] * one.grid[2] - 1));
      if (!tail.has_value()) continue;
      ++tails;
      EXPECT_EQ(RunModel(one, *kernel, *tail), "") << one.name << ", " << warps << " warps, a shared tail";
    }
  }
  EXPECT_GE(split, kLeastSplit);
  EXPECT_GE(tails, kLeastTails);
  EXPECT_GE(made, kLeastMade);
  RecordProperty("split", split);
  RecordProperty("tails", tails);
}

}  // namespace
}  // namespace tilevm::tests
