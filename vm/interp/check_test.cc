// Checked mode: what it reports, and what it must not report.
#include <limits>
#include <numeric>

#include "gtest/gtest.h"
#include "vm/interp/testing/kernel_builder.h"

namespace tilevm::vm {
namespace {

using isa::DType;
using isa::Op;
using testing::BufferOf;
using testing::KernelBuilder;
using testing::ValueId;
using testing::Values;

class Checked : public ::testing::Test {
 protected:
  // Runs b's kernel on its buffers, one i32 buffer for each vector in data_.
  RunResult Go(KernelBuilder& b, int64_t programs = 1) {
    std::vector<Arg> args;
    for (size_t i = 0; i < data_.size(); ++i) {
      if (buffers_.size() == i) {
        buffers_.push_back(BufferOf(data_[i], DType::kI32, std::string(1, static_cast<char>('x' + i))));
      }
      args.push_back(Arg::InBuffer(static_cast<int32_t>(i)));
    }
    options_.checked = true;
    options_.grid[0] = programs;
    absl::StatusOr<RunResult> result = vm::Run(b.Build(), args, buffers_, options_);
    EXPECT_EQ(result.status().message(), "");
    return result.ok() ? *std::move(result) : RunResult{};
  }

  std::vector<std::vector<int32_t>> data_;
  std::vector<Buffer> buffers_;
  RunOptions options_;
};

ValueId Lane0(KernelBuilder& b, ValueId tile_lanes, int64_t n, int64_t step) {
  return b.Do(Op::kMul, {tile_lanes, b.Splat(b.Int(step), {n})});
}

TEST_F(Checked, ACleanKernelGivesTheSameResultAsFastMode) {
  data_ = {{1, 2, 3, 4}, {0, 0, 0, 0}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x"), y = b.Pointer(DType::kI32, "y");
  const ValueId lanes = b.Arange(0, 8);
  const ValueId mask = b.Do(Op::kLt, {lanes, b.Splat(b.Int(4), {8})});
  const ValueId v = b.Load(b.PtrAdd(x, lanes), mask);
  b.Store(b.PtrAdd(y, lanes), b.Do(Op::kAdd, {v, v}), mask);
  const RunResult result = Go(b);
  EXPECT_TRUE(result.clean());
  EXPECT_TRUE(result.reports.empty());
  EXPECT_EQ(data_[1], (std::vector<int32_t>{2, 4, 6, 8}));
}

// C099: a strided view read past its end.
TEST_F(Checked, OutOfBoundsIsReportedAndSuppressed) {
  data_ = {{10, 11, 12, 13, 14}, {1, 1, 1, 1}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x"), y = b.Pointer(DType::kI32, "y");
  const ValueId lanes = b.Arange(0, 4);
  b.At(21);
  const ValueId v = b.LoadAt(x, Lane0(b, lanes, 4, 2));
  b.At(22);
  b.StoreAt(y, b.Do(Op::kSub, {lanes, b.Splat(b.Int(2), {4})}), v);
  const RunResult result = Go(b);
  ASSERT_EQ(result.reports.size(), 2u);
  const Report& load = result.reports[0];
  EXPECT_EQ(load.kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(load.message, "load: lane 3 reads element 6 of x, which has 5 elements");
  EXPECT_EQ(load.lane, 3);
  EXPECT_EQ(load.index, (std::vector<int64_t>{3}));
  EXPECT_EQ(load.element, 6);
  EXPECT_EQ(load.buffer, "x");
  EXPECT_EQ(load.loc.line, 21);
  EXPECT_EQ(load.count, 1);
  EXPECT_EQ(result.reports[1].message, "store: lane 0 writes element -2 of y, which has 4 elements");
  EXPECT_EQ(result.reports[1].count, 2);
  EXPECT_FALSE(result.clean());
  EXPECT_EQ(data_[1], (std::vector<int32_t>{14, 0, 1, 1}));
}

// An access that lands in another buffer is still out of its own.
TEST_F(Checked, FarAccessesBelongToTheBufferTheyCameFrom) {
  data_ = {{1}, {2}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  b.Pointer(DType::kI32, "y");
  b.StoreAt(x, b.Int(0), b.LoadAt(x, b.Int(int64_t{1} << 30, DType::kI64)));
  const RunResult result = Go(b);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].element, int64_t{1} << 30);
  EXPECT_EQ(data_[0][0], 0);
}

TEST_F(Checked, RacesBetweenPrograms) {
  data_ = {{0, 0}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  b.At(5);
  b.StoreAt(x, b.Int(0), b.ProgramId());
  b.At(6);
  b.StoreAt(x, b.Int(1), b.Int(7));
  const RunResult result = Go(b, 3);
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kRace);
  EXPECT_EQ(result.reports[0].program[0], 1);
  EXPECT_EQ(result.reports[0].other_program[0], 0);
  EXPECT_EQ(result.reports[0].loc.line, 5);
  EXPECT_EQ(result.reports[0].other_loc.line, 5);
  EXPECT_EQ(result.reports[0].count, 2);
  EXPECT_EQ(result.reports[0].message, "store: lane 0 writes element 0 of x, which has 2 elements; program (0, 0, 0) writes it too, in no fixed order");
  EXPECT_EQ(result.reports[1].kind, ReportKind::kSameValueRace);
  EXPECT_TRUE(result.reports[1].note);
}

TEST_F(Checked, AReadAgainstALaterWriteIsARace) {
  data_ = {{0, 0, 0}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  const ValueId pid = b.ProgramId();
  const ValueId next = b.LoadAt(x, b.Do(Op::kAdd, {pid, b.Int(1)}));
  b.StoreAt(x, pid, b.Do(Op::kAdd, {next, b.Int(1)}));
  const RunResult result = Go(b, 2);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kRace);
  EXPECT_NE(result.reports[0].message.find("program (0, 0, 0) reads it too"), std::string::npos);
}

TEST_F(Checked, AtomicsDoNotRaceWithEachOtherButWithOthers) {
  data_ = {{0}};
  KernelBuilder atomic;
  atomic.Atomic(Op::kAtomicAdd, {atomic.Pointer(DType::kI32, "x"), atomic.Int(1)});
  EXPECT_TRUE(Go(atomic, 4).clean());
  EXPECT_EQ(data_[0][0], 4);
  KernelBuilder mixed;
  const ValueId x = mixed.Pointer(DType::kI32, "x");
  mixed.If(
      mixed.Do(Op::kEq, {mixed.ProgramId(), mixed.Int(0)}), {},
      [&](Values) -> Values {
        mixed.Atomic(Op::kAtomicAdd, {x, mixed.Int(1)});
        return {};
      },
      [&](Values) -> Values {
        mixed.StoreAt(x, mixed.Int(0), mixed.Int(9));
        return {};
      });
  const RunResult result = Go(mixed, 2);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kRace);
}

// Triton's tutorial 05: rows accumulated under a spin lock; `guarded` false leaves the lock out.
void Accumulate(KernelBuilder& b, bool guarded, bool release = true) {
  const ValueId lock = b.Pointer(DType::kI32, "lock"), sums = b.Pointer(DType::kI32, "sums");
  const ValueId lanes = b.Arange(0, 4);
  if (guarded) {
    b.At(40);
    b.While(
        {}, [&](Values) -> Values { return {b.Do(Op::kEq, {b.Atomic(Op::kAtomicCas, {lock, b.Int(0), b.Int(1)}), b.Int(1)})}; },
        [&](Values) -> Values { return {}; });
  }
  const ValueId p = b.PtrAdd(sums, lanes);
  b.Store(p, b.Do(Op::kAdd, {b.Load(p), b.Splat(b.ProgramId(), {4})}));
  if (!guarded || !release) return;
  b.MakeVoid(Op::kDebugBarrier, {});
  b.Atomic(Op::kAtomicXchg, {lock, b.Int(0)});
}

TEST_F(Checked, ASpinLockOrdersWhatItGuards) {
  data_ = {{0}, {0, 0, 0, 0}};
  KernelBuilder b;
  Accumulate(b, true);
  const RunResult result = Go(b, 5);
  EXPECT_TRUE(result.reports.empty());
  EXPECT_EQ(data_[1], (std::vector<int32_t>{10, 10, 10, 10}));
}

TEST_F(Checked, WithoutTheLockItIsARace) {
  data_ = {{0}, {0, 0, 0, 0}};
  KernelBuilder b;
  Accumulate(b, false);
  const RunResult result = Go(b, 5);
  ASSERT_FALSE(result.reports.empty());
  EXPECT_EQ(result.reports[0].kind, ReportKind::kRace);
}

// Programs 0 and 2 tell program 3 that they have read; program 1 does not, and it read between them.
TEST_F(Checked, TheThirdReaderIsNotForgotten) {
  const auto readers_then_a_writer = [](int64_t silent) {
    KernelBuilder b;
    const ValueId flags = b.Pointer(DType::kI32, "flags"), x = b.Pointer(DType::kI32, "x"), out = b.Pointer(DType::kI32, "out");
    const ValueId pid = b.ProgramId();
    b.If(
        b.Do(Op::kLt, {pid, b.Int(3)}), {},
        [&](Values) -> Values {
          b.StoreAt(out, pid, b.LoadAt(x, b.Int(0)));
          b.If(
              b.Do(Op::kNe, {pid, b.Int(silent)}), {},
              [&](Values) -> Values {
                b.Atomic(Op::kAtomicXchg, {b.PtrAdd(flags, pid), b.Int(1)}, "release");
                return {};
              },
              [&](Values) -> Values { return {}; });
          return {};
        },
        [&](Values) -> Values {
          for (int64_t i = 0; i < 3; ++i) b.Atomic(Op::kAtomicAdd, {b.PtrAdd(flags, b.Int(i)), b.Int(0)}, "acquire");
          b.StoreAt(x, b.Int(0), b.Int(9));
          return {};
        });
    return b;
  };
  for (int64_t silent = 0; silent < 4; ++silent) {
    data_ = {{0, 0, 0}, {5}, {0, 0, 0}};
    buffers_.clear();
    KernelBuilder b = readers_then_a_writer(silent);
    const RunResult result = Go(b, 4);
    ASSERT_EQ(result.reports.size(), silent < 3 ? 1u : 0u) << silent;
    if (silent < 3) {
      EXPECT_EQ(result.reports[0].kind, ReportKind::kRace);
      EXPECT_EQ(result.reports[0].other_program[0], silent);
    }
  }
}

TEST_F(Checked, UninitialisedIsReportedWhereItIsUsed) {
  data_ = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  buffers_ = {BufferOf(data_[0], DType::kI32, "empty"), BufferOf(data_[1], DType::kI32, "out")};
  buffers_[0].uninitialised = true;
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x"), y = b.Pointer(DType::kI32, "y");
  const ValueId lanes = b.Arange(0, 4);
  b.At(1);
  b.Store(b.PtrAdd(x, lanes), lanes, b.Do(Op::kLt, {lanes, b.Splat(b.Int(2), {4})}));
  b.At(2);
  const ValueId v = b.LoadAt(x, lanes);  // lanes 2 and 3 were never written
  const ValueId good = b.Do(Op::kWhere, {b.Do(Op::kLt, {lanes, b.Splat(b.Int(2), {4})}), b.Do(Op::kMul, {v, v}), lanes});
  b.At(3);
  b.Store(b.PtrAdd(y, lanes), good);
  b.At(4);
  b.Store(b.PtrAdd(y, lanes), b.Do(Op::kAdd, {v, lanes}));
  const RunResult result = Go(b);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kUninitialised);
  EXPECT_EQ(result.reports[0].loc.line, 4);
  EXPECT_EQ(result.reports[0].other_loc.line, 2);
  EXPECT_EQ(result.reports[0].lane, 2);
  EXPECT_EQ(result.reports[0].count, 2);
  EXPECT_EQ(result.reports[0].buffer, "empty");
  EXPECT_EQ(result.reports[0].element, 2);  // the first, not the last of them
}

TEST_F(Checked, UninitialisedReachesBranchesAddressesAndSums) {
  data_ = {{0, 0}, {0, 0}};
  buffers_ = {BufferOf(data_[0], DType::kI32, "empty"), BufferOf(data_[1], DType::kI32, "out")};
  buffers_[0].uninitialised = true;
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x"), y = b.Pointer(DType::kI32, "y");
  const ValueId v = b.LoadAt(x, b.Int(0));
  b.At(11);
  b.If(b.Do(Op::kEq, {v, b.Int(0)}), {}, [&](Values) -> Values { return {}; }, [&](Values) -> Values { return {}; });
  b.At(12);
  b.LoadAt(y, v);
  b.At(13);
  const Values sum =
      b.MakeMany(Op::kReduce, {isa::ScalarType(DType::kI32)}, {b.LoadAt(x, b.Arange(0, 2))}, {{"axis", int64_t{0}}, {"kind", std::string("add")}});
  b.StoreAt(y, b.Int(1), sum[0]);
  const RunResult result = Go(b);
  ASSERT_EQ(result.reports.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(result.reports[i].kind, ReportKind::kUninitialised);
    EXPECT_EQ(result.reports[i].loc.line, 11 + i);
  }
}

// What one run wrote, the next may read: the caller keeps the map of written bytes.
TEST_F(Checked, WrittenBytesOutliveARun) {
  data_ = {{0, 0}};
  buffers_ = {BufferOf(data_[0], DType::kI32, "empty")};
  std::vector<uint8_t> written;
  buffers_[0].uninitialised = true;
  buffers_[0].written = &written;
  KernelBuilder first;
  first.StoreAt(first.Pointer(DType::kI32), first.Int(1), first.Int(5));
  EXPECT_TRUE(Go(first).clean());
  KernelBuilder second;
  const ValueId p = second.Pointer(DType::kI32);
  second.StoreAt(p, second.Int(0), second.LoadAt(p, second.Int(1)));
  EXPECT_TRUE(Go(second).clean());
  EXPECT_EQ(written, std::vector<uint8_t>(8, 1));
}

// C063's kind: row * stride in 32 bits.
TEST_F(Checked, WrappedOffsetsAreReportedAtTheAccess) {
  data_ = {{1, 2}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  b.At(30);
  const ValueId row = b.Do(Op::kMul, {b.Do(Op::kAdd, {b.ProgramId(), b.Int(65536)}), b.Int(65536)});  // 2**32 is 0
  b.At(31);
  b.StoreAt(x, b.Int(1), b.LoadAt(x, row));
  const RunResult result = Go(b);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kOffsetWrapped);
  EXPECT_EQ(result.reports[0].loc.line, 31);
  EXPECT_EQ(data_[0][1], 1);
}

TEST_F(Checked, AHashThatWrapsIsFine) {
  data_ = {{1, 2, 3, 4}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  const ValueId lanes = b.Arange(0, 4);
  const ValueId hash = b.Do(Op::kMul, {b.Do(Op::kAdd, {lanes, b.Splat(b.Int(1000003), {4})}), b.Splat(b.Int(1103515245), {4})});
  b.StoreAt(x, lanes, b.LoadAt(x, b.Do(Op::kBitAnd, {hash, b.Splat(b.Int(3), {4})})));
  EXPECT_TRUE(Go(b).clean());
}

TEST_F(Checked, DuplicateStoresInATile) {
  data_ = {{0, 0}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  const ValueId lanes = b.Arange(0, 4);
  const ValueId half = b.Do(Op::kFloorDiv, {lanes, b.Splat(b.Int(2), {4})});
  b.Store(b.PtrAdd(x, half), half);   // equal values: fine
  b.Store(b.PtrAdd(x, half), lanes);
  const RunResult result = Go(b);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kDuplicateStore);
  EXPECT_EQ(result.reports[0].count, 2);
}

TEST_F(Checked, GatherOutOfRangeAndMisalignedPointers) {
  data_ = {{1, 2, 3, 4}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  const ValueId lanes = b.Arange(0, 4);
  const ValueId v = b.LoadAt(x, lanes);
  b.Store(b.PtrAdd(x, lanes), b.Make(Op::kGather, b.TypeOf(v), {v, v}, {{"axis", int64_t{0}}}));
  const ValueId bytes = b.Make(Op::kBitcast, isa::PointerType(DType::kI8), {x}, {});
  const ValueId odd = b.Make(Op::kBitcast, isa::PointerType(DType::kI32), {b.PtrAdd(bytes, b.Int(2))}, {});
  b.Store(odd, b.Int(0));
  const RunResult result = Go(b);
  ASSERT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kGatherOutOfRange);
  EXPECT_EQ(result.reports[0].message, "gather: lane 3 has index 4, the axis has 4 elements");
  EXPECT_EQ(result.reports[1].kind, ReportKind::kMisaligned);
}

TEST_F(Checked, AssertsGoOnAndReportsAreCapped) {
  data_ = {{0}};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  b.MakeVoid(Op::kDeviceAssert, {b.Int(0, DType::kI1)}, {{"msg", std::string("no")}});
  for (int i = 1; i < 5; ++i) b.LoadAt(x, b.Int(i));
  b.StoreAt(x, b.Int(0), b.Int(3));
  options_.max_reports = 2;
  const RunResult result = Go(b);
  EXPECT_EQ(result.reports.size(), 2u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::kAssert);
  EXPECT_EQ(result.reports_dropped, 3);
  EXPECT_EQ(data_[0][0], 3);
}

TEST_F(Checked, TheMemoryForRacesIsCapped) {
  data_ = {std::vector<int32_t>(100000)};
  KernelBuilder b;
  const ValueId x = b.Pointer(DType::kI32, "x");
  b.For(b.Int(0), b.Int(100), b.Int(1), {}, [&](Values a) -> Values {
    b.StoreAt(x, b.Do(Op::kMul, {a[0], b.Int(1000)}), a[0]);
    return {};
  });
  std::vector<Buffer> buffers = {BufferOf(data_[0], DType::kI32, "x")};
  const Arg args[] = {Arg::InBuffer(0)};
  options_.checked = true;
  options_.max_memory_bytes = 1 << 20;
  EXPECT_EQ(vm::Run(b.Build(), args, buffers, options_).status().code(), absl::StatusCode::kResourceExhausted);
}

// --- programs that wait for each other, in both modes ---

class Waiting : public ::testing::TestWithParam<int> {  // threads; 0 is checked mode
 protected:
  absl::Status Go(KernelBuilder& b, int64_t programs) {
    std::vector<Buffer> buffers;
    std::vector<Arg> args;
    for (size_t i = 0; i < data_.size(); ++i) {
      buffers.push_back(BufferOf(data_[i], DType::kI32, "x"));
      args.push_back(Arg::InBuffer(static_cast<int32_t>(i)));
    }
    options_.grid[0] = programs;
    options_.checked = GetParam() == 0;
    options_.threads = GetParam();
    const auto result = vm::Run(b.Build(), args, buffers, options_);
    EXPECT_TRUE(!result.ok() || result->clean());
    return result.status();
  }

  std::vector<std::vector<int32_t>> data_;
  RunOptions options_;
};
INSTANTIATE_TEST_SUITE_P(Modes, Waiting, ::testing::Values(0, 1, 2, 4));

TEST_P(Waiting, MutualExclusion) {
  data_ = {{0}, {0, 0, 0, 0}};
  KernelBuilder b;
  Accumulate(b, true);
  EXPECT_TRUE(Go(b, 50).ok());
  EXPECT_EQ(data_[1], (std::vector<int32_t>(4, 49 * 50 / 2)));
}

// Stream-K's way: every program waits for the flag of the next one, the last one has nothing to wait for. The flag's value is carried.
TEST_P(Waiting, OnHigherIds) {
  const int64_t n = 20;
  data_ = {std::vector<int32_t>(n + 1), std::vector<int32_t>(n + 1)};
  data_[0][n] = 1;
  KernelBuilder b;
  const ValueId flags = b.Pointer(DType::kI32, "flags"), sums = b.Pointer(DType::kI32, "sums");
  const ValueId pid = b.ProgramId();
  const ValueId next = b.Do(Op::kAdd, {pid, b.Int(1)});
  const ValueId flag = b.PtrAdd(flags, next);
  const auto poll = [&] { return b.Atomic(Op::kAtomicAdd, {flag, b.Int(0)}, "acquire"); };
  b.While({poll()}, [&](Values a) -> Values { return {b.Do(Op::kEq, {a[0], b.Int(0)}), a[0]}; }, [&](Values) -> Values { return {poll()}; });
  b.StoreAt(sums, pid, b.Do(Op::kAdd, {b.LoadAt(sums, next), pid}));
  b.Atomic(Op::kAtomicXchg, {b.PtrAdd(flags, pid), b.Int(1)}, "release");
  EXPECT_EQ(Go(b, n).message(), "");
  EXPECT_EQ(data_[1][0], n * (n - 1) / 2);
}

// A wait that counts its turns carries something new each time; it must still let the others run.
TEST_P(Waiting, WithABackoffCounter) {
  data_ = {{0}, {0}};
  KernelBuilder b;
  const ValueId flag = b.Pointer(DType::kI32, "flag");
  const ValueId out = b.Pointer(DType::kI32, "out");
  b.If(
      b.Do(Op::kEq, {b.ProgramId(), b.Int(0)}), {},
      [&](Values) -> Values {
        const Values turns = b.While(
            {b.Int(0)}, [&](Values a) -> Values { return {b.Do(Op::kEq, {b.Atomic(Op::kAtomicAdd, {flag, b.Int(0)}), b.Int(0)}), a[0]}; },
            [&](Values a) -> Values { return {b.Do(Op::kAdd, {a[0], b.Int(1)})}; });
        b.StoreAt(out, b.Int(0), b.Do(Op::kMinimum, {turns[0], b.Int(0)}));
        return {};
      },
      [&](Values) -> Values {
        b.Atomic(Op::kAtomicXchg, {flag, b.Int(1)});
        return {};
      });
  EXPECT_EQ(Go(b, 2).message(), "");
}

// A `for` that polls waits like a while; its turns are not used up while nothing happens.
TEST_P(Waiting, InABoundedLoop) {
  data_ = {{0}, {0}};
  KernelBuilder b;
  const ValueId flag = b.Pointer(DType::kI32, "flag");
  const ValueId out = b.Pointer(DType::kI32, "out");
  b.If(
      b.Do(Op::kEq, {b.ProgramId(), b.Int(0)}), {},
      [&](Values) -> Values {
        const Values seen = b.Block({isa::ScalarType(DType::kI32)}, [&](Values) -> Values {
          b.For(b.Int(0), b.Int(100), b.Int(1), {}, [&](Values) -> Values {
            b.If(
                b.Do(Op::kNe, {b.Atomic(Op::kAtomicAdd, {flag, b.Int(0)}), b.Int(0)}), {}, [&](Values) -> Values { return b.Exit(0, {b.Int(7)}); },
                [&](Values) -> Values { return {}; });
            return {};
          });
          return {b.Int(-1)};
        });
        b.StoreAt(out, b.Int(0), seen[0]);
        return {};
      },
      [&](Values) -> Values {
        b.Atomic(Op::kAtomicXchg, {flag, b.Int(1)});
        return {};
      });
  EXPECT_EQ(Go(b, 2).message(), "");
  EXPECT_EQ(data_[1][0], 7);
}

// Where nobody ever changes what it polls, the loop ends by itself.
TEST_P(Waiting, ABoundedLoopIsNoDeadlock) {
  data_ = {{0}, {0, 0, 0}};
  KernelBuilder b;
  const ValueId flag = b.Pointer(DType::kI32, "flag");
  const ValueId out = b.Pointer(DType::kI32, "out");
  const Values seen = b.Block({isa::ScalarType(DType::kI32)}, [&](Values) -> Values {
    b.For(b.Int(0), b.Int(1000000000), b.Int(1), {}, [&](Values) -> Values {
      b.If(
          b.Do(Op::kNe, {b.Atomic(Op::kAtomicAdd, {flag, b.Int(0)}), b.Int(0)}), {}, [&](Values) -> Values { return b.Exit(0, {b.Int(7)}); },
          [&](Values) -> Values { return {}; });
      return {};
    });
    return {b.Int(-1)};
  });
  b.StoreAt(out, b.ProgramId(), seen[0]);
  EXPECT_EQ(Go(b, 3).message(), "");
  EXPECT_EQ(data_[1], (std::vector<int32_t>{-1, -1, -1}));
}

// Many programs that count while they wait for the last one.
TEST_P(Waiting, ForTheLastOfManyPrograms) {
  data_ = {{0}};
  KernelBuilder b;
  const ValueId flag = b.Pointer(DType::kI32, "flag");
  b.If(
      b.Do(Op::kLt, {b.ProgramId(), b.Int(39)}), {},
      [&](Values) -> Values {
        b.While(
            {b.Int(0)}, [&](Values a) -> Values { return {b.Do(Op::kEq, {b.Atomic(Op::kAtomicAdd, {flag, b.Int(0)}), b.Int(0)}), a[0]}; },
            [&](Values a) -> Values { return {b.Do(Op::kAdd, {a[0], b.Int(1)})}; });
        return {};
      },
      [&](Values) -> Values {
        b.Atomic(Op::kAtomicXchg, {flag, b.Int(1)});
        return {};
      });
  EXPECT_EQ(Go(b, 40).message(), "");
}

TEST_P(Waiting, ADeadlockNamesTheLoop) {
  data_ = {{0}, {0, 0, 0, 0}};
  KernelBuilder b;
  Accumulate(b, true, false);  // the lock is never given back
  const absl::Status status = Go(b, 3);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("deadlock: "), std::string::npos) << status.message();
  EXPECT_EQ(LocOf(status).line, 40);
}

TEST_P(Waiting, TooManyWaitingProgramsAreAnError) {
  data_ = {{1}, {0, 0, 0, 0}};
  KernelBuilder b;
  Accumulate(b, true);
  options_.max_live_programs = 10;
  EXPECT_EQ(Go(b, 1000).code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tilevm::vm
