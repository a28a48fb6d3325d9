// Loops, branches, blocks and the registers that pass through them.
#include <numeric>

#include "gtest/gtest.h"
#include "vm/interp/testing/kernel_builder.h"

namespace tilevm::vm {
namespace {

using isa::Op;
using testing::BufferOf;
using testing::KernelBuilder;
using testing::ValueId;
using testing::Values;
using isa::DType;

const isa::Type kInt = isa::ScalarType(DType::kI32);

// Runs a kernel whose only argument is an i32 buffer of n elements, initially 0, 1, 2...
std::vector<int32_t> RunOnInts(const ir::Kernel& kernel, int n, RunOptions options = {}) {
  std::vector<int32_t> data(n);
  std::iota(data.begin(), data.end(), 0);
  const Buffer buffers[] = {BufferOf(data, DType::kI32)};
  const Arg args[] = {Arg::InBuffer(0)};
  const auto result = Run(kernel, args, buffers, options);
  EXPECT_EQ(result.status().message(), "");
  return data;
}

TEST(For, CarriesValuesThatChangePlaces) {
  KernelBuilder b;
  const ValueId p = b.Pointer(DType::kI32);
  const ValueId x = b.LoadAt(p, b.Int(1)), y = b.LoadAt(p, b.Int(2));
  const Values r = b.For(b.Int(0), b.Int(3), b.Int(1), {x, y, y}, [&](Values a) -> Values {
    return {a[2], a[1], b.Do(Op::kAdd, {a[3], a[0]})};  // swap; sum of the induction variable
  });
  for (int i = 0; i < 3; ++i) b.StoreAt(p, b.Int(i + 4), r[i]);
  b.StoreAt(p, b.Int(7), x);
  EXPECT_EQ(RunOnInts(b.Build(), 8), (std::vector<int32_t>{0, 1, 2, 3, 2, 1, 5, 1}));
}

TEST(For, CarriesTilesAndYieldsOneValueTwice) {
  KernelBuilder b;
  const ValueId p = b.Pointer(DType::kI32);
  const ValueId lanes = b.Arange(0, 4);
  const ValueId x = b.LoadAt(p, lanes);
  const Values r = b.For(b.Int(0), b.Int(2), b.Int(1), {x, x}, [&](Values a) -> Values {
    const ValueId sum = b.Do(Op::kAdd, {a[1], a[2]});
    return {sum, sum};
  });
  b.StoreAt(p, lanes, r[0]);
  b.StoreAt(p, b.Do(Op::kAdd, {lanes, b.Splat(b.Int(4), {4})}), b.Do(Op::kAdd, {r[1], x}));
  EXPECT_EQ(RunOnInts(b.Build(), 8), (std::vector<int32_t>{0, 4, 8, 12, 0, 5, 10, 15}));
}

TEST(For, CountsDownAndRunsZeroTimes) {
  KernelBuilder b;
  const ValueId p = b.Pointer(DType::kI32);
  const Values down = b.For(b.Int(5), b.Int(-1), b.Int(-2), {b.Int(0)}, [&](Values a) -> Values {
    return {b.Do(Op::kAdd, {b.Do(Op::kMul, {a[1], b.Int(10)}), a[0]})};  // 5, 3, 1
  });
  const Values none = b.For(b.Int(5), b.Int(5), b.Int(1), {b.Int(7)}, [&](Values) -> Values { return {b.Int(9)}; });
  b.StoreAt(p, b.Int(0), down[0]);
  b.StoreAt(p, b.Int(1), none[0]);
  EXPECT_EQ(RunOnInts(b.Build(), 2), (std::vector<int32_t>{531, 7}));
}

TEST(For, AStepOfZeroIsAnError) {
  KernelBuilder b;
  const ValueId p = b.Pointer(DType::kI32);
  b.At(7);
  b.For(b.Int(0), b.Int(5), b.LoadAt(p, b.Int(0)), {}, [&](Values) -> Values { return {}; });
  std::vector<int32_t> data(1);
  const Buffer buffers[] = {BufferOf(data, DType::kI32)};
  const Arg args[] = {Arg::InBuffer(0)};
  const absl::Status status = vm::Run(b.Build(), args, buffers, {}).status();
  EXPECT_EQ(status.message(), "for: the step is 0");
  EXPECT_EQ(LocOf(status).line, 7);
}

TEST(While, Collatz) {
  KernelBuilder b;
  const ValueId p = b.Pointer(DType::kI32);
  const Values r = b.While(
      {b.Int(6), b.Int(0)}, [&](Values a) -> Values { return {b.Do(Op::kNe, {a[0], b.Int(1)}), a[0], a[1]}; },
      [&](Values a) -> Values {
        const ValueId odd = b.Do(Op::kNe, {b.Do(Op::kBitAnd, {a[0], b.Int(1)}), b.Int(0)});
        const Values next = b.If(
            odd, {kInt}, [&](Values) -> Values { return {b.Do(Op::kAdd, {b.Do(Op::kMul, {a[0], b.Int(3)}), b.Int(1)})}; },
            [&](Values) -> Values { return {b.Do(Op::kFloorDiv, {a[0], b.Int(2)})}; });
        return {next[0], b.Do(Op::kAdd, {a[1], b.Int(1)})};
      });
  b.StoreAt(p, b.Int(0), r[1]);
  EXPECT_EQ(RunOnInts(b.Build(), 1), (std::vector<int32_t>{8}));
}

TEST(If, KeepsValuesThatAreUsedAfterwards) {
  KernelBuilder b;
  const ValueId p = b.Pointer(DType::kI32);
  const ValueId x = b.LoadAt(p, b.Int(3));
  const ValueId y = b.LoadAt(p, b.Int(2));
  const Values r = b.If(
      b.Do(Op::kLt, {y, x}), {kInt, kInt}, [&](Values) -> Values { return {x, y}; }, [&](Values) -> Values { return {y, x}; });
  b.StoreAt(p, b.Int(0), b.Do(Op::kSub, {r[0], x}));
  b.StoreAt(p, b.Int(1), b.Do(Op::kMul, {r[1], x}));
  EXPECT_EQ(RunOnInts(b.Build(), 4), (std::vector<int32_t>{0, 6, 2, 3}));
}

// A search with break: the first multiple of 7 from 30 on, and how many were looked at; a return leaves both blocks.
TEST(Block, ExitsLeaveLoopsAndOuterBlocks) {
  KernelBuilder b;
  const ValueId p = b.Pointer(DType::kI32);
  const ValueId start = b.LoadAt(p, b.Int(0));
  b.Block({}, [&](Values) -> Values {
    const Values found = b.Block({kInt}, [&](Values) -> Values {
      const Values all = b.For(start, b.Int(100), b.Int(1), {b.Int(-1)}, [&](Values a) -> Values {
        const ValueId hit = b.Do(Op::kEq, {b.Do(Op::kMod, {a[0], b.Int(7)}), b.Int(6)});
        b.If(hit, {}, [&](Values) -> Values { return b.Exit(0, {a[0]}); }, [&](Values) -> Values { return {}; });
        return {a[0]};
      });
      return {all[0]};
    });
    b.StoreAt(p, b.Int(1), found[0]);
    b.If(b.Do(Op::kEq, {found[0], b.Int(6)}), {}, [&](Values) -> Values { return b.Exit(0, {}); }, [&](Values) -> Values { return {}; });
    b.StoreAt(p, b.Int(2), b.Int(99));
    return {};
  });
  b.StoreAt(p, b.Int(3), b.Int(5));
  EXPECT_EQ(RunOnInts(b.Build(), 4), (std::vector<int32_t>{0, 6, 2, 5}));
}

TEST(Grid, EveryProgramRunsOnceOnAnyNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    KernelBuilder b;
    const ValueId p = b.Pointer(DType::kI32);
    const ValueId n = b.Make(Op::kNumPrograms, kInt, {}, {{"axis", int64_t{0}}});
    const ValueId at = b.Do(Op::kAdd, {b.ProgramId(0), b.Do(Op::kMul, {b.ProgramId(1), n})});
    b.StoreAt(p, at, b.Do(Op::kAdd, {b.LoadAt(p, at), b.Int(1)}));
    RunOptions options;
    options.grid[0] = 10;
    options.grid[1] = 5;
    options.threads = threads;
    std::vector<int32_t> want(50);
    std::iota(want.begin(), want.end(), 1);
    EXPECT_EQ(RunOnInts(b.Build(), 50, options), want);
  }
}

TEST(Grid, AnExtentOfZeroRunsNothing) {
  KernelBuilder b;
  b.StoreAt(b.Pointer(DType::kI32), b.Int(0), b.Int(9));
  RunOptions options;
  options.grid[1] = 0;
  EXPECT_EQ(RunOnInts(b.Build(), 1, options), (std::vector<int32_t>{0}));
}

TEST(Fuel, StopsAnEndlessLoop) {
  KernelBuilder b;
  b.At(12);
  b.While({}, [&](Values) -> Values { return {b.Int(1, DType::kI1)}; }, [&](Values) -> Values { return {}; });
  RunOptions options;
  options.max_ops = 10000;
  const absl::Status status = vm::Run(b.Build(), {}, {}, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(LocOf(status).line, 12);
}

TEST(Memory, ATileThatIsTooLargeIsAnError) {
  KernelBuilder b;
  b.StoreAt(b.Pointer(DType::kI32), b.Arange(0, 1 << 20), b.Splat(b.Int(1), {1 << 20}));
  RunOptions options;
  options.max_memory_bytes = 1 << 20;
  const Arg args[] = {Arg::Pointer(nullptr)};
  EXPECT_EQ(vm::Run(b.Build(), args, {}, options).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tilevm::vm
