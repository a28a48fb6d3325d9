// Reductions, scans, sorting, gather, histogram, dot, random numbers, atomics, prints and asserts.
#include <cmath>
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

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// A kernel over one input and one output, both vectors of T.
template <typename T>
std::vector<T> RunOn(DType dtype, std::vector<T> in, int64_t out_n, const std::function<void(KernelBuilder&, ValueId, ValueId)>& body,
                     RunOptions options = {}) {
  KernelBuilder b;
  const ValueId in_p = b.Pointer(dtype, "in"), out_p = b.Pointer(dtype, "out");
  body(b, in_p, out_p);
  std::vector<T> out(out_n);
  const Buffer buffers[] = {BufferOf(in, dtype, "in"), BufferOf(out, dtype, "out")};
  const Arg args[] = {Arg::InBuffer(0), Arg::InBuffer(1)};
  const auto result = vm::Run(b.Build(), args, buffers, options);
  EXPECT_EQ(result.status().message(), "");
  return out;
}

ValueId LoadTile(KernelBuilder& b, ValueId p, isa::Shape shape) {
  const ValueId flat = b.LoadAt(p, b.Arange(0, isa::ElemCount(shape)));
  isa::Type type = b.TypeOf(flat);
  type.shape = shape;
  return b.Make(Op::kReshape, type, {flat}, {});
}

void StoreTile(KernelBuilder& b, ValueId p, ValueId tile, int64_t at = 0) {
  isa::Type type = b.TypeOf(tile);
  const int64_t n = type.elem_count();
  if (type.is_scalar()) {
    b.StoreAt(p, b.Int(at), tile);
    return;
  }
  type.shape = {n};
  b.StoreAt(p, b.Arange(at, at + n), b.Make(Op::kReshape, type, {tile}, {}));
}

Values Reduce(KernelBuilder& b, Values x, int64_t axis, const std::string& kind, std::vector<ir::Region> regions = {}) {
  std::vector<isa::Type> types;
  for (ValueId id : x) {
    isa::Type type = b.TypeOf(id);
    type.shape.erase(type.shape.begin() + axis);
    types.push_back(type);
  }
  return b.MakeMany(Op::kReduce, types, x, {{"axis", axis}, {"kind", kind}}, std::move(regions));
}

Values Scan(KernelBuilder& b, Values x, int64_t axis, const std::string& kind, bool reverse, std::vector<ir::Region> regions = {}) {
  std::vector<isa::Type> types;
  for (ValueId id : x) types.push_back(b.TypeOf(id));
  return b.MakeMany(Op::kScan, types, x, {{"axis", axis}, {"kind", kind}, {"reverse", reverse}}, std::move(regions));
}

TEST(Reduce, KindsAndAxes) {
  // C013: leading, middle and last axes of a 3-D tile; value r * 100 + x1 * 10 + x0.
  std::vector<int32_t> data;
  for (int r = 0; r < 4; ++r) {
    for (int x1 = 0; x1 < 2; ++x1) {
      for (int x0 = 0; x0 < 8; ++x0) data.push_back(r * 100 + x1 * 10 + x0);
    }
  }
  const auto out = RunOn<int32_t>(DType::kI32, data, 16 + 4 + 8 + 1, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = LoadTile(b, in, {4, 2, 8});
    StoreTile(b, out, Reduce(b, {x}, 0, "add")[0]);
    const ValueId rows = Reduce(b, {Reduce(b, {x}, 1, "max")[0]}, 1, "min")[0];
    StoreTile(b, out, rows, 16);
    StoreTile(b, out, Reduce(b, {Reduce(b, {x}, 1, "xor")[0]}, 0, "or")[0], 20);
    StoreTile(b, out, Reduce(b, {rows}, 0, "add")[0], 28);
  });
  for (int x1 = 0; x1 < 2; ++x1) {
    for (int x0 = 0; x0 < 8; ++x0) EXPECT_EQ(out[x1 * 8 + x0], 600 + 40 * x1 + 4 * x0);
  }
  EXPECT_EQ(std::vector<int32_t>(out.begin() + 16, out.begin() + 20), (std::vector<int32_t>{10, 110, 210, 310}));
  EXPECT_EQ(out[28], 640);
}

TEST(Reduce, FloatsIgnoreNanInMaxAndPropagateItInSums) {
  const auto out = RunOn<float>(DType::kF32, {1, kNan, 3, -kInf, kNan, kNan, kNan, kNan}, 6, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = LoadTile(b, in, {2, 4});
    StoreTile(b, out, Reduce(b, {x}, 1, "max")[0]);
    StoreTile(b, out, Reduce(b, {x}, 1, "min")[0], 2);
    StoreTile(b, out, Reduce(b, {x}, 1, "add")[0], 4);
  });
  EXPECT_EQ(out[0], 3);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], -kInf);
  EXPECT_TRUE(std::isnan(out[4]));
}

// C021, C023: NaN loses, ties go to the lowest index.
TEST(Reduce, ArgMaxAndArgMin) {
  const std::vector<float> data = {kNan, kInf, kInf, kNan, 5, 7, 7, 1, kNan, kNan, kNan, kNan, -0.0f, 0.0f, -1, -1};
  const auto out = RunOn<float>(DType::kF32, data, 16, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = LoadTile(b, in, {4, 4});
    const ValueId lanes = b.Make(Op::kExpandDims, isa::TileType(DType::kI32, {1, 4}), {b.Arange(0, 4)}, {{"axis", int64_t{0}}});
    const ValueId index = b.Broadcast(lanes, {4, 4});
    const Values max = Reduce(b, {x, index}, 1, "argmax"), min = Reduce(b, {x, index}, 1, "argmin");
    StoreTile(b, out, b.Cast(max[1], DType::kF32));
    StoreTile(b, out, b.Cast(min[1], DType::kF32), 4);
    StoreTile(b, out, max[0], 8);
    StoreTile(b, out, min[0], 12);
  });
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 8), (std::vector<float>{1, 1, 0, 0, 1, 3, 0, 2}));
  EXPECT_EQ(out[8], kInf);
  EXPECT_EQ(out[9], 7);
  EXPECT_EQ(out[13], 1);
}

// A combine function that does not commute: (a, b) -> (a.first, b.last), with a constant from outside and with a branch.
TEST(Reduce, RegionsKeepTheOrderOfOperands) {
  for (const bool branch : {false, true}) {
    const auto out = RunOn<int32_t>(DType::kI32, {3, 1, 4, 1, 5, 9, 2, 6, 8, 7}, 6, [&](KernelBuilder& b, ValueId in, ValueId out) {
      const ValueId x = LoadTile(b, in, {2, 5});
      const ValueId one = b.Int(1);
      std::vector<ir::Region> regions;
      regions.push_back(b.Combine({DType::kI32, DType::kI32, DType::kI32, DType::kI32, DType::kI32, DType::kI32}, [&](Values a) -> Values {
        // a: first, last, count of either side
        const ValueId count = b.Do(Op::kMul, {b.Do(Op::kAdd, {a[2], a[5]}), one});
        if (!branch) return {a[0], a[4], count};
        const Values chosen = b.If(
            b.Do(Op::kGt, {a[2], b.Int(0)}), {isa::ScalarType(DType::kI32)}, [&](Values) -> Values { return {a[0]}; },
            [&](Values) -> Values { return {a[3]}; });
        return {chosen[0], a[4], count};
      }));
      const ValueId ones = b.Splat(b.Int(1), {2, 5});
      const Values r = Reduce(b, {x, x, ones}, 1, "custom", std::move(regions));
      for (int k = 0; k < 3; ++k) StoreTile(b, out, r[k], 2 * k);
    });
    EXPECT_EQ(out, (std::vector<int32_t>{3, 9, 5, 7, 5, 5}));
  }
}

TEST(Scan, KindsForwardAndReverse) {
  const auto out = RunOn<int32_t>(DType::kI32, {1, 2, 3, 4, 5, 6, 7, 8}, 32, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = LoadTile(b, in, {2, 4});
    StoreTile(b, out, Scan(b, {x}, 1, "add", false)[0]);
    StoreTile(b, out, Scan(b, {x}, 1, "add", true)[0], 8);
    StoreTile(b, out, Scan(b, {x}, 0, "mul", false)[0], 16);
    StoreTile(b, out, Scan(b, {x}, 1, "min", true)[0], 24);
  });
  EXPECT_EQ(out, (std::vector<int32_t>{1, 3, 6, 10, 5, 11, 18, 26, 10, 9, 7, 4, 26, 21, 15, 8, 1, 2, 3, 4, 5, 12, 21, 32,
                                       1, 2, 3, 4, 5, 6, 7, 8}));
}

// C002's kind: first-order recurrence h = a * h + x as a scan of pairs, against a loop; reverse is flip, scan, flip (C003).
TEST(Scan, RegionsOverTuples) {
  const std::vector<int32_t> data = {2, 3, 5, 7, 1, 2, 3, 4};
  for (const bool reverse : {false, true}) {
    const auto out = RunOn<int32_t>(DType::kI32, data, 8, [&](KernelBuilder& b, ValueId in, ValueId out) {
      const ValueId a = b.LoadAt(in, b.Arange(0, 4)), x = b.LoadAt(in, b.Arange(4, 8));
      std::vector<ir::Region> regions;
      regions.push_back(b.Combine({DType::kI32, DType::kI32, DType::kI32, DType::kI32}, [&](Values v) -> Values {
        return {b.Do(Op::kMul, {v[0], v[2]}), b.Do(Op::kAdd, {b.Do(Op::kMul, {v[1], v[2]}), v[3]})};
      }));
      const Values r = Scan(b, {a, x}, 0, "custom", reverse, std::move(regions));
      StoreTile(b, out, r[0]);
      StoreTile(b, out, r[1], 4);
    });
    std::vector<int32_t> want(8);
    int32_t product = 1, h = 0;
    for (int i = 0; i < 4; ++i) {
      const int at = reverse ? 3 - i : i;
      product *= data[at];
      h = h * data[at] + data[4 + at];
      want[at] = product;
      want[4 + at] = h;
    }
    EXPECT_EQ(out, want) << reverse;
  }
}

TEST(Sort, BothDirectionsNanLastAndTopK) {
  const std::vector<float> data = {0.0f, -3, kNan, -0.0f, kInf, 2, -kInf, 2};
  const auto out = RunOn<float>(DType::kF32, data, 18, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = LoadTile(b, in, {1, 8});
    StoreTile(b, out, b.Make(Op::kSort, b.TypeOf(x), {x}, {{"dim", int64_t{1}}, {"descending", false}}));
    StoreTile(b, out, b.Make(Op::kSort, b.TypeOf(x), {x}, {{"descending", true}}), 8);
    StoreTile(b, out, b.Make(Op::kTopK, isa::TileType(DType::kF32, {1, 2}), {x}, {{"k", int64_t{2}}}), 16);
  });
  const std::vector<float> ascending(out.begin(), out.begin() + 7), descending(out.begin() + 8, out.begin() + 15);
  EXPECT_EQ(ascending, (std::vector<float>{-kInf, -3, -0.0f, 0.0f, 2, 2, kInf}));
  EXPECT_TRUE(std::signbit(out[2]) && !std::signbit(out[3]) && std::isnan(out[7]));
  EXPECT_EQ(descending, (std::vector<float>{kInf, 2, 2, 0.0f, -0.0f, -3, -kInf}));
  EXPECT_TRUE(std::isnan(out[15]));
  EXPECT_EQ(out[16], kInf);
  EXPECT_EQ(out[17], 2);
}

TEST(Gather, AlongEitherAxisAndOutOfRangeIsZero) {
  const auto out = RunOn<int32_t>(DType::kI32, {10, 11, 12, 13, 1, 0, -1, 2}, 8, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = b.Make(Op::kReshape, isa::TileType(DType::kI32, {2, 2}), {b.LoadAt(in, b.Arange(0, 4))}, {});
    const ValueId index = b.Make(Op::kReshape, isa::TileType(DType::kI32, {2, 2}), {b.LoadAt(in, b.Arange(4, 8))}, {});
    for (int64_t axis : {0, 1}) StoreTile(b, out, b.Make(Op::kGather, b.TypeOf(x), {x, index}, {{"axis", axis}}), 4 * axis);
  });
  EXPECT_EQ(out, (std::vector<int32_t>{12, 11, 0, 0, 11, 10, 0, 0}));
}

TEST(Histogram, CountsInI32AndDropsOthers) {
  const auto out = RunOn<int32_t>(DType::kI32, {0, 3, 3, 4, -1, 3, 1, 1}, 8, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = b.LoadAt(in, b.Arange(0, 8));
    const isa::Type bins = isa::TileType(DType::kI32, {4});
    StoreTile(b, out, b.Make(Op::kHistogram, bins, {x}, {{"num_bins", int64_t{4}}}));
    const ValueId mask = b.Do(Op::kLt, {b.Arange(0, 8), b.Splat(b.Int(3), {8})});
    StoreTile(b, out, b.Make(Op::kHistogram, bins, {x, mask}, {{"num_bins", int64_t{4}}}), 4);
  });
  EXPECT_EQ(out, (std::vector<int32_t>{1, 2, 0, 3, 1, 0, 0, 2}));
}

// Batched, accumulating in a loop in place, and the accumulator kept where it is read later.
TEST(Dot, BatchedAndAccumulating) {
  std::vector<float> data(2 * 4 * 4);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(static_cast<int>(i * 7 % 5) - 2);
  const auto out = RunOn<float>(DType::kF32, data, 64, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = LoadTile(b, in, {2, 4, 4});
    const ValueId zero = b.Splat(b.Float(0), {2, 4, 4});
    const auto dot = [&](ValueId acc) {
      return b.Make(Op::kDot, b.TypeOf(acc), {x, x, acc}, {{"input_precision", std::string("ieee")}});
    };
    const ValueId once = dot(zero);
    StoreTile(b, out, b.For(b.Int(0), b.Int(3), b.Int(1), {once}, [&](Values a) -> Values { return {dot(a[1])}; })[0]);
    StoreTile(b, out, once, 32);
  });
  for (int batch = 0; batch < 2; ++batch) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        float want = 0;
        for (int k = 0; k < 4; ++k) want += data[batch * 16 + i * 4 + k] * data[batch * 16 + k * 4 + j];
        EXPECT_EQ(out[batch * 16 + i * 4 + j], 4 * want);
        EXPECT_EQ(out[32 + batch * 16 + i * 4 + j], want);
      }
    }
  }
}

TEST(Dot, OneValueAsAllThreeOperands) {
  const auto out = RunOn<float>(DType::kF32, {1, 2, 3, 4}, 4, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = LoadTile(b, in, {2, 2});
    StoreTile(b, out, b.Make(Op::kDot, b.TypeOf(x), {x, x, x}, {{"input_precision", std::string("ieee")}}));
  });
  EXPECT_EQ(out, (std::vector<float>{8, 12, 18, 26}));
}

// C041: 1 + 2**-12 does not fit in tf32.
TEST(Dot, Tf32RoundsItsOperandsAndIeeeDoesNot) {
  for (const bool ieee : {false, true}) {
    const auto out = RunOn<float>(DType::kF32, {1.0f + 0x1p-12f}, 1, [&](KernelBuilder& b, ValueId in, ValueId out) {
      const ValueId v = b.Splat(b.LoadAt(in, b.Int(0)), {32, 1});
      const ValueId acc = b.Make(Op::kDot, isa::TileType(DType::kF32, {1, 1}), {b.Splat(b.Float(1), {1, 32}), v, b.Splat(b.Float(0), {1, 1})},
                                 {{"input_precision", std::string(ieee ? "ieee" : "tf32")}});
      StoreTile(b, out, acc);
    });
    EXPECT_EQ(out[0], ieee ? 32.0078125f : 32.0f);
  }
}

TEST(Philox, KnownWords) {
  const auto out = RunOn<uint32_t>(DType::kU32, {0}, 8, [](KernelBuilder& b, ValueId, ValueId out) {
    const isa::Type word = isa::TileType(DType::kU32, {2});
    const ValueId offset = b.Cast(b.Arange(0, 2), DType::kU32), zero = b.Splat(b.Int(0, DType::kU32), {2});
    const ValueId seed = b.Splat(b.Int(0, DType::kU64), {2});
    const Values r = b.MakeMany(Op::kPhilox, {word, word, word, word}, {seed, offset, zero, zero, zero}, {{"n_rounds", int64_t{10}}});
    for (int k = 0; k < 4; ++k) StoreTile(b, out, r[k], 2 * k);
  });
  EXPECT_EQ(out, (std::vector<uint32_t>{0x6627e8d5, 0xf8e4cca4, 0xe169c58d, 0x5cb200db, 0xbc57ac4c, 0xb1a574eb, 0x9b00dbd8, 0x097eff67}));
}

// C105: float minimum and maximum from several programs; adds on duplicate addresses within a tile; 16-bit adds.
TEST(Atomic, FloatsDuplicatesAndReturns) {
  std::vector<float> in = {-3.5f, 2, -0.25f, 7}, out = {0.5f, 0.5f, 0};
  std::vector<uint16_t> half = {0};
  KernelBuilder b;
  const ValueId in_p = b.Pointer(DType::kF32), out_p = b.Pointer(DType::kF32), half_p = b.Pointer(DType::kF16);
  const ValueId x = b.LoadAt(in_p, b.ProgramId());
  b.Atomic(Op::kAtomicMin, {b.PtrAdd(out_p, b.Int(0)), x});
  b.Atomic(Op::kAtomicMax, {b.PtrAdd(out_p, b.Int(1)), x});
  const ValueId lanes = b.Arange(0, 4);
  const ValueId same = b.PtrAdd(out_p, b.Do(Op::kAdd, {b.Do(Op::kMul, {lanes, b.Splat(b.Int(0), {4})}), b.Splat(b.Int(2), {4})}));
  const ValueId mask = b.Do(Op::kLt, {lanes, b.Splat(b.Int(3), {4})});
  b.Atomic(Op::kAtomicAdd, {same, b.Cast(lanes, DType::kF32), mask});
  b.Atomic(Op::kAtomicAdd, {half_p, b.Float(1.5, DType::kF16)});
  const Buffer buffers[] = {BufferOf(in, DType::kF32), BufferOf(out, DType::kF32), BufferOf(half, DType::kF16)};
  const Arg args[] = {Arg::InBuffer(0), Arg::InBuffer(1), Arg::InBuffer(2)};
  RunOptions options;
  options.grid[0] = 4;
  options.threads = 2;
  EXPECT_EQ(vm::Run(b.Build(), args, buffers, options).status().message(), "");
  EXPECT_EQ(out, (std::vector<float>{-3.5f, 7, 12}));
  EXPECT_EQ(half[0], 0x4600);  // 6
}

// C107: 64-bit compare-and-swap, one that fits and one that does not; masked-off lanes of an atomic give 0.
TEST(Atomic, CasAndMaskedLanes) {
  const auto out = RunOn<int64_t>(DType::kI64, {int64_t{1} << 40, 5}, 4, [](KernelBuilder& b, ValueId in, ValueId out) {
    const auto wide = [&](int64_t v) { return b.Int(v, DType::kI64); };
    StoreTile(b, out, b.Atomic(Op::kAtomicCas, {in, wide(int64_t{1} << 40), wide(7)}));
    StoreTile(b, out, b.Atomic(Op::kAtomicCas, {in, wide(8), wide(9)}), 1);
    const ValueId lanes = b.Arange(0, 2);
    const ValueId old = b.Atomic(Op::kAtomicXchg, {b.PtrAdd(in, lanes), b.Splat(wide(1), {2}), b.Do(Op::kLt, {lanes, b.Splat(b.Int(1), {2})})});
    StoreTile(b, out, old, 2);
  });
  EXPECT_EQ(out, (std::vector<int64_t>{int64_t{1} << 40, 7, 7, 0}));
}

TEST(Map, RunsAFunctionOnPacks) {
  const auto out = RunOn<int32_t>(DType::kI32, {1, 2, 3, 4, 5, 6, 7, 8}, 8, [](KernelBuilder& b, ValueId in, ValueId out) {
    const ValueId x = b.LoadAt(in, b.Arange(0, 8));
    std::vector<ir::Region> regions;
    regions.push_back(b.Combine({DType::kI32, DType::kI32}, [&](Values a) -> Values { return {a[1], b.Do(Op::kMul, {a[0], a[1]})}; }));
    StoreTile(b, out, b.MakeMany(Op::kMapElementwise, {b.TypeOf(x)}, {x}, {{"pack", int64_t{2}}}, std::move(regions))[0]);
  });
  EXPECT_EQ(out, (std::vector<int32_t>{2, 2, 4, 12, 6, 30, 8, 56}));
}

TEST(Debug, PrintsAndAsserts) {
  std::string printed;
  RunOptions options;
  options.print = [&](absl::string_view line) { printed += std::string(line); };
  RunOn<float>(DType::kF32, {1.5f, kInf}, 1, [](KernelBuilder& b, ValueId in, ValueId) {
    b.MakeVoid(Op::kDevicePrint, {b.LoadAt(in, b.Arange(0, 2))}, {{"prefix", std::string("x: ")}});
    b.MakeVoid(Op::kDevicePrint, {b.Int(255), b.Int(1, DType::kI1)}, {{"prefix", std::string(" ")}, {"hex", true}});
  }, options);
  EXPECT_EQ(printed,
            "pid (0, 0, 0) idx (0) x: 1.5\npid (0, 0, 0) idx (1) x: inf\npid (0, 0, 0)  (operand 0) 0x000000ff\n"
            "pid (0, 0, 0)  (operand 1) 0x01\n");
  KernelBuilder b;
  b.At(33);
  b.MakeVoid(Op::kDeviceAssert, {b.Do(Op::kNe, {b.Arange(0, 16), b.Splat(b.Int(8), {16})})}, {{"msg", std::string("x is not 8")}});
  const ir::Kernel kernel = b.Build();
  const absl::Status status = vm::Run(kernel, {}, {}, {}).status();
  EXPECT_EQ(status.message(), "device_assert failed in program (0, 0, 0), lane (8): x is not 8");
  EXPECT_EQ(LocOf(status).line, 33);
  options.device_asserts = false;
  EXPECT_TRUE(vm::Run(kernel, {}, {}, options).ok());
}

TEST(Asm, IsAnErrorWithItsPlace) {
  KernelBuilder b;
  b.At(9);
  b.Make(Op::kInlineAsm, isa::ScalarType(DType::kI32), {b.Int(1)}, {{"asm", std::string("mov.b32 $0, $1;")}});
  const absl::Status status = Compile(b.Build()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(LocOf(status).line, 9);
}

}  // namespace
}  // namespace tilevm::vm
