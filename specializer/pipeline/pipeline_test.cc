// Carried offsets keep what a kernel computes. Schedules are tested where targets are known: gpu/compile/schedule_test.cc.
#include "gtest/gtest.h"
#include "specializer/pipeline/carried_offsets.h"
#include "specializer/pipeline/wgmma_plan.h"
#include "tests/assembly_kernel.h"
#include "vm/interp/interp.h"

namespace tilevm::pipeline {
namespace {

using tests::IntSpec;
using tests::PointerSpec;

// Sums eight rows of x, walking by pointer increments, and a tile of indices that counts along.
constexpr char kWalk[] = R"(
kernel (x: ptr<f32>, y: ptr<f32>, n: i32)
    %i = arange 0, 8
    %p0 = add %x, %i
    %z = cast %i, f32
    %sum, %p, %j = for %k in range(0, %n) carry(%s = %z, %q = %p0, %c = %i)
        %v = load %q
        %f = cast %c, f32
        %s1 = add %s, %v
        %s2 = add %s1, %f
        %q1 = add %q, 8
        %c1 = add %c, 3
        yield %s2, %q1, %c1
    %last = cast %j, f32
    %out = add %sum, %last
    %py = add %y, %i
    store %py, %out
)";

std::vector<float> RunWalk(const ir::Kernel& kernel) {
  std::vector<float> x(64), y(8, -1);
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i * i % 31);
  std::vector<vm::Buffer> buffers(2);
  buffers[0].data = x.data();
  buffers[0].bytes = 256;
  buffers[0].dtype = isa::DType::kF32;
  buffers[1].data = y.data();
  buffers[1].bytes = 32;
  buffers[1].dtype = isa::DType::kF32;
  vm::RunOptions run;
  run.threads = 1;
  auto result = vm::Run(kernel, {vm::Arg::InBuffer(0), vm::Arg::InBuffer(1), vm::Arg::Scalar(7)}, buffers, run);
  EXPECT_TRUE(result.ok()) << result.status();
  return y;
}

TEST(CarriedOffsets, KeepsWhatIsComputedAndCarriesNoTile) {
  const ir::Kernel kernel = tests::AssembledKernel(kWalk, {PointerSpec(isa::DType::kF32), PointerSpec(isa::DType::kF32), IntSpec()});
  const ir::Kernel moved = CarriedOffsets(kernel);
  ASSERT_TRUE(ir::Verify(moved).ok()) << ir::Verify(moved) << ir::Print(moved);
  EXPECT_EQ(RunWalk(moved), RunWalk(kernel));
  int tiles = 0;
  for (const ir::Op& op : moved.body.ops) {
    if (op.op != isa::Op::kFor) continue;
    for (ir::ValueId result : op.results) tiles += !moved.TypeOf(result).is_scalar();
  }
  EXPECT_EQ(tiles, 1) << ir::Print(moved);  // the sum
}

TEST(TurnedLayouts, EveryElementIsReadAndWritten) {
  for (int elem_bytes : {1, 4}) {
    for (const isa::Shape& shape : {isa::Shape{64 / elem_bytes, 16}, isa::Shape{128 / elem_bytes, 128}, isa::Shape{64, 256}, isa::Shape{256, 64}}) {
      for (int num_warps : {4, 8}) {
        const TurnedLayouts turned = TurnedLayoutsOf(shape, elem_bytes, num_warps);
        EXPECT_TRUE(turned.read.IsSurjective()) << turned.read.ToString();
        EXPECT_TRUE(turned.write.IsSurjective()) << turned.write.ToString();
        // A block: four neighbours along n first when it is read, 16 bytes along k first when it is written.
        EXPECT_GE(turned.read.ContiguousElements(1), 4);
        EXPECT_GE(turned.write.ContiguousElements(0), 16 / elem_bytes);
        EXPECT_EQ(turned.read.register_count(), turned.write.register_count());
        // No thread's accesses meet another's in a bank where rows have 128 bytes.
        if (shape[1] * elem_bytes >= 128 && shape[0] * elem_bytes >= 128) {
          layout::SharedLayout rows = layout::SwizzledRows(shape, 1, elem_bytes), columns = layout::SwizzledRows(shape, 0, elem_bytes);
          rows.vector = 4;
          columns.vector = 16 / elem_bytes;
          EXPECT_EQ(layout::BankConflicts(turned.read, rows, elem_bytes), 1) << turned.read.ToString();
          EXPECT_EQ(layout::BankConflicts(turned.write, columns, elem_bytes), 1) << turned.write.ToString();
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilevm::pipeline
