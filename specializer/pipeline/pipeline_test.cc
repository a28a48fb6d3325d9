// Carried offsets keep what a kernel computes. Schedules are tested where targets are known: gpu/compile/schedule_test.cc.
#include "gtest/gtest.h"
#include "specializer/pipeline/carried_offsets.h"
#include "specializer/pipeline/split_tiles.h"
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

// c = a @ b, one 128 x 128 tile of it for each program; 200 columns.
constexpr char kProduct[] = R"(
kernel (a: ptr<f32>, b: ptr<f32>, c: ptr<f32>)
    %pid = program_id 0
    %i = arange 0, 128
    %k = arange 0, 16
    %base = mul %pid, 128
    %column = add %base, %i
    %i1 = expand_dims %i, 1
    %k1 = expand_dims %k, 1
    %k0 = expand_dims %k, 0
    %c0 = expand_dims %column, 0
    %in = lt %c0, 200
    %ra = mul %i1, 16
    %oa = add %ra, %k0
    %pa = add %a, %oa
    %va = load %pa
    %rb = mul %k1, 200
    %ob = add %rb, %c0
    %pb = add %b, %ob
    %sb = make_tuple 16, 128
    %inb = broadcast_to %in, %sb
    %vb = load %pb, %inb
    %sc = make_tuple 128, 128
    %z = full %sc, 0.0, f32
    %d = dot %va, %vb, %z
    %rc = mul %i1, 200
    %oc = add %rc, %c0
    %pc = add %c, %oc
    %inc = broadcast_to %in, %sc
    store %pc, %d, %inc
)";

std::vector<float> RunProduct(const ir::Kernel& kernel, int64_t programs) {
  std::vector<float> a(128 * 16), b(16 * 200), c(128 * 200, -1);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7 % 13) - 6;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 5 % 11) - 5;
  std::vector<vm::Buffer> buffers(3);
  std::vector<float>* data[] = {&a, &b, &c};
  for (int i = 0; i < 3; ++i) {
    buffers[i].data = data[i]->data();
    buffers[i].bytes = static_cast<int64_t>(4 * data[i]->size());
    buffers[i].dtype = isa::DType::kF32;
  }
  vm::RunOptions run;
  run.threads = 1;
  run.grid[0] = programs;
  auto result = vm::Run(kernel, {vm::Arg::InBuffer(0), vm::Arg::InBuffer(1), vm::Arg::InBuffer(2)}, buffers, run);
  EXPECT_TRUE(result.ok()) << result.status();
  return c;
}

TEST(SplitTiles, PartsTogetherDoWhatTheWholeDoes) {
  const specializer::ArgSpec pointer = PointerSpec(isa::DType::kF32);
  ir::Kernel kernel = tests::AssembledKernel(kProduct, {pointer, pointer, pointer});
  kernel.options.num_warps = 8;
  const std::vector<float> whole = RunProduct(kernel, 2);
  for (int parts : {2, 4}) {
    const std::optional<ir::Kernel> split = SplitTiles(kernel, parts, true);
    ASSERT_TRUE(split.has_value()) << parts;
    ASSERT_TRUE(ir::Verify(*split).ok()) << ir::Verify(*split) << ir::Print(*split);
    EXPECT_EQ(RunProduct(*split, 2 * parts), whole) << ir::Print(*split);
    EXPECT_EQ(split->options.num_warps, 4);  // 64 rows
  }
  EXPECT_FALSE(SplitTiles(kernel, 8, true).has_value()) << "parts of 64 x 64 are the least";
  EXPECT_FALSE(SplitTiles(kernel, 2, false).has_value()) << "parts may read what others write";

  const std::optional<ir::Kernel> tail = SplitTail(kernel, 2, true);  // run in gpu/compile/roles_model_test.cc
  ASSERT_TRUE(tail.has_value());
  ASSERT_TRUE(ir::Verify(*tail).ok()) << ir::Verify(*tail) << ir::Print(*tail);
  EXPECT_EQ(TailOf(*tail).parts, 2);
  ASSERT_NE(TailOf(*tail).branch, nullptr);
  EXPECT_EQ(tail->options.num_warps, 8);  // all rows
  EXPECT_EQ(TailOf(kernel).branch, nullptr);
  EXPECT_FALSE(SplitTail(kernel, 4, true).has_value()) << "parts of 64 columns are the least";
  EXPECT_FALSE(SplitTail(kernel, 2, false).has_value());
}

}  // namespace
}  // namespace tilevm::pipeline
