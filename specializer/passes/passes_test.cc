// Each pass on a small kernel, before and after as text; the runner's contract.
#include "specializer/passes/passes.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "specializer/ir/builder.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::DType;
using isa::Op;
using isa::Type;

class PassTest : public testing::Test {
 protected:
  PassTest() : b_(&kernel_) { kernel_.name = "k"; }

  ValueId Param(Type type, absl::string_view name) {
    const ValueId id = kernel_.NewValue(std::move(type), name);
    kernel_.params.push_back({id, std::string(name), static_cast<int>(kernel_.params.size()), 1, {}});
    return id;
  }
  ValueId Emit(Op op, Type type, std::vector<ValueId> operands, std::vector<ir::NamedAttr> attrs = {}) { return b_.Emit(op, std::move(type), operands, {}, attrs); }
  ValueId Like(Op op, std::vector<ValueId> operands) { return Emit(op, kernel_.TypeOf(operands[0]), operands); }
  ValueId Int(int64_t n) { return b_.ConstInt(DType::kI32, n, {}); }
  ValueId Float(double x) { return b_.ConstFloat(DType::kF32, x, {}); }
  ValueId Tile(ValueId scalar, isa::Shape shape = {8}) { return b_.Splat(scalar, shape, {}); }
  ValueId Arange(int64_t n) { return Emit(Op::kArange, isa::TileType(DType::kI32, {n}), {}, {{"start", int64_t{0}}, {"end", n}}); }
  void Use(ValueId id) { b_.EmitVoid(Op::kDevicePrint, std::vector<ValueId>{id}, {}); }
  static Type F32(isa::Shape shape = {8}) { return isa::TileType(DType::kF32, std::move(shape)); }

  // Runs one pass and prints the body.
  std::string After(absl::StatusOr<ir::Kernel> (*pass)(ir::Kernel)) {
    b_.EmitVoid(Op::kYield, {}, {});
    EXPECT_TRUE(ir::Verify(kernel_).ok()) << ir::Verify(kernel_);
    absl::StatusOr<ir::Kernel> result = pass(kernel_);
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(ir::Verify(*result).ok()) << ir::Verify(*result) << ir::Print(*result);
    std::string text = ir::Print(*result);
    return text.substr(text.find('\n') + 1);
  }
  static absl::StatusOr<ir::Kernel> FoldThenDce(ir::Kernel kernel) {
    TILEVM_ASSIGN_OR_RETURN(kernel, Fold(std::move(kernel)));
    return Dce(std::move(kernel));
  }

  ir::Kernel kernel_;
  ir::Builder b_;
};

TEST_F(PassTest, FoldComputesConstants) {
  const ValueId n = Like(Op::kMul, {Int(6), Int(7)});
  Use(Emit(Op::kCast, isa::ScalarType(DType::kF32), {n}));
  Use(Like(Op::kAdd, {Tile(Float(1)), Tile(Float(2))}));
  EXPECT_EQ(After(FoldThenDce), R"(    %0: f32 = const {value = 42.0}
    device_print %0
    %1: f32 = const {value = 3.0}
    %2: tile<8xf32> = splat %1
    device_print %2
    yield
)");
}

TEST_F(PassTest, FoldKeepsWhatIsNotExact) {
  const ValueId x = Param(F32(), "x");
  Use(Like(Op::kAdd, {x, Tile(Float(0.0))}));   // -0.0 + 0.0 is 0.0
  Use(Like(Op::kAdd, {x, Tile(Float(-0.0))}));
  Use(Like(Op::kMul, {x, Tile(Float(1.0))}));
  EXPECT_EQ(After(FoldThenDce), R"(    %1: f32 = const {value = 0.0}
    %2: tile<8xf32> = splat %1
    %3: tile<8xf32> = add %x, %2
    device_print %3
    device_print %x
    device_print %x
    yield
)");
}

TEST_F(PassTest, FoldIntegersAndPointers) {
  const ValueId n = Param(isa::ScalarType(DType::kI32), "n");
  const ValueId p = Param(isa::PointerType(DType::kF32), "p");
  Use(Like(Op::kAdd, {Like(Op::kAdd, {n, Int(3)}), Int(-3)}));
  Use(Like(Op::kMul, {n, Int(0)}));
  Use(Emit(Op::kPtrAdd, isa::PointerType(DType::kF32), {p, Int(0)}));
  Use(Emit(Op::kCast, isa::ScalarType(DType::kI32), {Emit(Op::kCast, isa::ScalarType(DType::kI64), {n})}));
  EXPECT_EQ(After(FoldThenDce), R"(    device_print %n
    %2: i32 = const {value = 0}
    device_print %2
    device_print %p
    device_print %n
    yield
)");
}

// Where a loop begins that counts whole blocks back from a multiple of them.
TEST_F(PassTest, FoldKnowsNoRemainderOfMultiples) {
  const ValueId pid = Param(isa::ScalarType(DType::kI32), "pid");
  const auto rest = [&](ValueId x, int64_t block) { Use(Like(Op::kSub, {x, Like(Op::kMul, {Like(Op::kFloorDiv, {x, Int(block)}), Int(block)})})); };
  const ValueId end = Like(Op::kAdd, {Like(Op::kMul, {pid, Int(128)}), Int(64)});
  rest(end, 32);
  rest(end, 128);
  EXPECT_EQ(After(FoldThenDce), R"(    %1: i32 = const {value = 128}
    %2: i32 = mul %pid, %1
    %3: i32 = const {value = 64}
    %4: i32 = add %2, %3
    %5: i32 = const {value = 0}
    device_print %5
    %6: i32 = const {value = 128}
    %7: i32 = floordiv %4, %6
    %8: i32 = const {value = 128}
    %9: i32 = mul %7, %8
    %10: i32 = sub %4, %9
    device_print %10
    yield
)");
}

TEST_F(PassTest, FoldDropsConstantMasks) {
  const ValueId p = Param(Type{{DType::kF32, true}, {8}}, "p");
  const ValueId yes = Tile(b_.ConstInt(DType::kI1, 1, {})), no = Tile(b_.ConstInt(DType::kI1, 0, {}));
  const ValueId x = Emit(Op::kLoad, F32(), {p, yes, Tile(Float(5))});
  b_.EmitVoid(Op::kStore, std::vector<ValueId>{p, x, no}, {});
  b_.EmitVoid(Op::kStore, std::vector<ValueId>{p, Emit(Op::kLoad, F32(), {p, no}), yes}, {});
  EXPECT_EQ(After(FoldThenDce), R"(    %1: f32 = const {value = 0.0}
    %2: tile<8xf32> = splat %1
    store %p, %2
    yield
)");
}

TEST_F(PassTest, FoldDecidesComparisonsByRange) {
  const ValueId pid = Emit(Op::kProgramId, isa::ScalarType(DType::kI32), {}, {{"axis", int64_t{0}}});
  const auto lt = [&](std::vector<ValueId> both) { return Emit(Op::kLt, isa::TileType(DType::kI1, {8}), both); };
  Use(lt({Arange(8), Tile(Int(8))}));                                  // always
  Use(lt({Like(Op::kAdd, {Arange(8), Tile(Int(8))}), Tile(Int(8))}));  // never
  Use(lt({Like(Op::kAdd, {Arange(8), Tile(pid)}), Tile(Int(0))}));     // might wrap
  EXPECT_EQ(After(FoldThenDce), R"(    %0: i32 = program_id {axis = 0}
    %1: i1 = const {value = 1}
    %2: tile<8xi1> = splat %1
    device_print %2
    %3: i1 = const {value = 0}
    %4: tile<8xi1> = splat %3
    device_print %4
    %5: tile<8xi32> = arange {start = 0, end = 8}
    %6: tile<8xi32> = splat %0
    %7: tile<8xi32> = add %5, %6
    %8: i32 = const {value = 0}
    %9: tile<8xi32> = splat %8
    %10: tile<8xi1> = lt %7, %9
    device_print %10
    yield
)");
}

TEST_F(PassTest, FoldTakesTheArmOfAConstantIf) {
  const ValueId x = Param(isa::ScalarType(DType::kI32), "x");
  ir::Op branch;
  branch.op = Op::kIf;
  branch.operands = {b_.ConstInt(DType::kI1, 1, {})};
  branch.regions.resize(2);
  for (int arm : {0, 1}) {
    b_.PushRegion(&branch.regions[arm]);
    const ValueId v = Like(arm == 0 ? Op::kNeg : Op::kInvert, {x});
    b_.EmitVoid(Op::kYield, std::vector<ValueId>{v}, {});
    b_.PopRegion();
  }
  const Type results[] = {isa::ScalarType(DType::kI32)};
  Use(b_.EmitOp(std::move(branch), results)[0]);
  EXPECT_EQ(After(FoldThenDce), "    %1: i32 = neg %x\n    device_print %1\n    yield\n");
}

TEST_F(PassTest, FoldDropsInvariantCarries) {
  const ValueId x = Param(isa::ScalarType(DType::kI32), "x");
  ir::Op loop;
  loop.op = Op::kFor;
  loop.operands = {Int(0), Int(4), Int(1), x};
  loop.regions.resize(1);
  loop.regions[0].args = {kernel_.NewValue(isa::ScalarType(DType::kI32)), kernel_.NewValue(isa::ScalarType(DType::kI32))};
  b_.PushRegion(&loop.regions[0]);
  Use(loop.regions[0].args[1]);
  b_.EmitVoid(Op::kYield, std::vector<ValueId>{loop.regions[0].args[1]}, {});
  b_.PopRegion();
  const Type results[] = {isa::ScalarType(DType::kI32)};
  Use(b_.EmitOp(std::move(loop), results)[0]);
  EXPECT_EQ(After(FoldThenDce), R"(    %1: i32 = const {value = 0}
    %2: i32 = const {value = 4}
    %3: i32 = const {value = 1}
    for %1, %2, %3
      body (%4: i32)
        device_print %x
        yield
    device_print %x
    yield
)");
}

TEST_F(PassTest, HoistBroadcasts) {
  const ValueId rows = Param(F32({8}), "rows"), stride = Param(isa::ScalarType(DType::kF32), "stride"), s = Param(isa::ScalarType(DType::kF32), "s");
  const ValueId column = Emit(Op::kExpandDims, F32({8, 1}), {rows}, {{"axis", int64_t{1}}});
  const ValueId scaled = Like(Op::kMul, {column, Tile(stride, {8, 1})});
  const ValueId wide = b_.Broadcast(scaled, {8, 4}, {});
  Use(Like(Op::kAdd, {wide, Tile(s, {8, 4})}));
  Use(Like(Op::kMul, {Tile(s), Tile(stride)}));
  absl::StatusOr<ir::Kernel> (*both)(ir::Kernel) = [](ir::Kernel kernel) -> absl::StatusOr<ir::Kernel> {
    TILEVM_ASSIGN_OR_RETURN(kernel, HoistBroadcasts(std::move(kernel)));
    return Dce(std::move(kernel));
  };
  EXPECT_EQ(After(both), R"(    %3: tile<8xf32> = splat %stride
    %4: tile<8xf32> = mul %rows, %3
    %5: tile<8xf32> = splat %s
    %6: tile<8xf32> = add %4, %5
    %7: tile<8x1xf32> = expand_dims %6 {axis = 1}
    %8: tile<8x4xf32> = broadcast %7 {shape = [8, 4]}
    device_print %8
    %9: f32 = mul %s, %stride
    %10: tile<8xf32> = splat %9
    device_print %10
    yield
)");
}

TEST_F(PassTest, CseSeesAttributesAndScopes) {
  Use(Arange(8));
  Use(Arange(8));
  Use(Arange(16));
  EXPECT_EQ(After(Cse), R"(    %0: tile<8xi32> = arange {start = 0, end = 8}
    device_print %0
    device_print %0
    %1: tile<16xi32> = arange {start = 0, end = 16}
    device_print %1
    yield
)");
}

TEST_F(PassTest, LicmMovesPureOpsOutOfBothLoops) {
  const ValueId x = Param(isa::ScalarType(DType::kI32), "x");
  const ValueId p = Param(isa::PointerType(DType::kI32), "p");
  const auto loop = [&](const std::function<void(ValueId)>& body) {
    ir::Op op;
    op.op = Op::kFor;
    op.operands = {x, x, x};
    op.regions.resize(1);
    op.regions[0].args = {kernel_.NewValue(isa::ScalarType(DType::kI32))};
    b_.PushRegion(&op.regions[0]);
    body(op.regions[0].args[0]);
    b_.EmitVoid(Op::kYield, {}, {});
    b_.PopRegion();
    b_.EmitOp(std::move(op), {});
  };
  loop([&](ValueId i) {
    loop([&](ValueId j) {
      Use(Like(Op::kNeg, {x}));
      Use(Like(Op::kAdd, {i, x}));
      Use(Like(Op::kAdd, {j, x}));
      Use(Emit(Op::kLoad, isa::ScalarType(DType::kI32), {p}));
    });
  });
  EXPECT_EQ(After(Licm), R"(    %2: i32 = neg %x
    for %x, %x, %x
      body (%3: i32)
        %4: i32 = add %3, %x
        for %x, %x, %x
          body (%5: i32)
            device_print %2
            device_print %4
            %6: i32 = add %5, %x
            device_print %6
            %7: i32 = load %p
            device_print %7
            yield
        yield
    yield
)");
}

TEST_F(PassTest, AccumulateDot) {
  const ValueId a = Param(F32({8, 8}), "a"), b = Param(F32({8, 8}), "b"), acc = Param(F32({8, 8}), "acc");
  const ValueId product = Emit(Op::kDot, F32({8, 8}), {a, b, Tile(Float(0), {8, 8})}, {{"input_precision", std::string("ieee")}});
  Use(Like(Op::kAdd, {acc, product}));
  absl::StatusOr<ir::Kernel> (*both)(ir::Kernel) = [](ir::Kernel kernel) -> absl::StatusOr<ir::Kernel> {
    TILEVM_ASSIGN_OR_RETURN(kernel, AccumulateDot(std::move(kernel)));
    return Dce(std::move(kernel));
  };
  EXPECT_EQ(After(both), "    %3: tile<8x8xf32> = dot %a, %b, %acc {input_precision = \"ieee\"}\n    device_print %3\n    yield\n");
}

TEST_F(PassTest, DceDropsPassengersAndLoops) {
  const ValueId x = Param(F32(), "x");
  ir::Op loop;
  loop.op = Op::kFor;
  loop.operands = {Int(0), Int(4), Int(1), x, x};
  loop.regions.resize(1);
  ir::Region& body = loop.regions[0];
  body.args = {kernel_.NewValue(isa::ScalarType(DType::kI32)), kernel_.NewValue(F32(), "used"), kernel_.NewValue(F32(), "unused")};
  b_.PushRegion(&body);
  const ValueId next = Like(Op::kNeg, {body.args[1]});
  b_.EmitVoid(Op::kYield, std::vector<ValueId>{next, next}, {});
  b_.PopRegion();
  const Type results[] = {F32(), F32()};
  const std::vector<ValueId> ends = b_.EmitOp(std::move(loop), results);
  Use(ends[0]);
  EXPECT_EQ(After(Dce), R"(    %1: i32 = const {value = 0}
    %2: i32 = const {value = 4}
    %3: i32 = const {value = 1}
    %4: tile<8xf32> = for %1, %2, %3, %x
      body (%5: i32, %used: tile<8xf32>)
        %7: tile<8xf32> = neg %used
        yield %7
    device_print %4
    yield
)");
}

TEST_F(PassTest, ContractFusesThroughBroadcasts) {
  const ValueId a = Param(F32(), "a"), s = Param(isa::ScalarType(DType::kF32), "s"), t = Param(isa::ScalarType(DType::kF32), "t");
  Use(Like(Op::kAdd, {a, Like(Op::kMul, {a, a})}));
  Use(Like(Op::kSub, {Tile(Like(Op::kMul, {s, t})), a}));
  const ValueId shared = Like(Op::kMul, {s, s});
  Use(Like(Op::kAdd, {shared, t}));
  Use(shared);
  EXPECT_EQ(After(Contract), R"(    %3: tile<8xf32> = fma %a, %a, %a
    device_print %3
    %4: tile<8xf32> = splat %s
    %5: tile<8xf32> = splat %t
    %6: tile<8xf32> = neg %a
    %7: tile<8xf32> = fma %4, %5, %6
    device_print %7
    %8: f32 = mul %s, %s
    %9: f32 = add %8, %t
    device_print %9
    device_print %8
    yield
)");
}

// for i in [0, end): s = q @ q; sum += f(s), and a second loop from where the first one ends with another f.
class JoinTest : public PassTest {
 protected:
  JoinTest() : n_(Param(isa::ScalarType(DType::kI32), "n")) {}

  // body(i, sum, counter) gives what is added to the sum.
  using Body = std::function<ValueId(ValueId, ValueId, ValueId)>;
  std::vector<ValueId> Loop(ValueId lo, ValueId hi, int64_t step, std::vector<ValueId> inits, int64_t delta, const Body& body) {
    ir::Op loop;
    loop.op = Op::kFor;
    loop.operands = {lo, hi, Int(step), inits[0], inits[1]};
    loop.regions.resize(1);
    const Type index = isa::ScalarType(DType::kI32);
    loop.regions[0].args = {kernel_.NewValue(index, "i"), kernel_.NewValue(F32({16, 16}), "sum"), kernel_.NewValue(index, "counter")};
    const std::vector<ValueId> args = loop.regions[0].args;
    b_.PushRegion(&loop.regions[0]);
    const ValueId by = Int(delta);
    const ValueId added = body(args[0], args[1], args[2]);
    const ValueId sum = Like(Op::kAdd, {args[1], added}), counter = Like(Op::kAdd, {args[2], by});
    b_.EmitVoid(Op::kYield, std::vector<ValueId>{sum, counter}, {});
    b_.PopRegion();
    const Type results[] = {F32({16, 16}), index};
    return b_.EmitOp(std::move(loop), results);
  }
  // x @ x with the counter in every element of x.
  ValueId Product(ValueId counter) {
    const ValueId x = Emit(Op::kSplat, isa::TileType(DType::kF16, {16, 16}), {Emit(Op::kCast, isa::ScalarType(DType::kF16), {counter})});
    return Emit(Op::kDot, F32({16, 16}), {x, x, zero_});
  }
  // The two loops; the parts that differ are given.
  struct Parts {
    int64_t step = 16, other_step = 16, blocks = 16;
    int64_t other_counter = 0;  // what the second counter begins with, beyond where the second loop does
    bool used_after = false, other_begin = false, other_product = false, scaled = false;
  };
  std::string Joined(const Parts& parts) {
    zero_ = Tile(Float(0), {16, 16});
    const ValueId half = Tile(Float(0.5), {16, 16});
    const ValueId middle = Like(Op::kMul, {n_, Int(parts.blocks)}), end = Like(Op::kMul, {Like(Op::kAdd, {n_, Int(1)}), Int(parts.blocks)});
    const std::vector<ValueId> first = Loop(Int(0), middle, parts.step, {zero_, Int(3)}, parts.step, [&](ValueId, ValueId sum, ValueId counter) {
      if (parts.scaled) return Like(Op::kFma, {Product(counter), half, Like(Op::kNeg, {Like(Op::kAbs, {sum})})});
      return Like(Op::kMul, {Product(counter), half});
    });
    const ValueId begin = parts.other_begin ? Like(Op::kAdd, {middle, Int(16)}) : Like(Op::kMul, {Int(parts.blocks), n_});
    const ValueId counter = Like(Op::kAdd, {begin, Int(3 + parts.other_counter)});
    const std::vector<ValueId> second = Loop(begin, end, parts.other_step, {first[0], counter}, parts.other_step, [&](ValueId i, ValueId sum, ValueId from) {
      const ValueId product = Product(parts.other_product ? i : from);
      const ValueId row = Emit(Op::kSplat, F32({16, 16}), {Emit(Op::kCast, isa::ScalarType(DType::kF32), {i})});
      const ValueId larger = Like(Op::kMaximum, {product, row});
      return parts.scaled ? Like(Op::kSub, {larger, Like(Op::kAbs, {sum})}) : larger;
    });
    Use(second[0]);
    if (parts.used_after) Use(first[0]);
    return After(JoinLoops);
  }
  static int Loops(const std::string& text) {
    int count = 0;
    for (size_t at = text.find("= for "); at != std::string::npos; at = text.find("= for ", at + 1)) ++count;
    return count;
  }

  const ValueId n_;
  ValueId zero_ = ir::kNoValue;
};

TEST_F(JoinTest, OneLoopWithABranch) {
  EXPECT_EQ(Joined({}), R"(    %1: f32 = const {value = 0.0}
    %2: tile<16x16xf32> = splat %1
    %3: f32 = const {value = 0.5}
    %4: tile<16x16xf32> = splat %3
    %5: i32 = const {value = 16}
    %6: i32 = mul %n, %5
    %7: i32 = const {value = 1}
    %8: i32 = add %n, %7
    %9: i32 = mul %8, %5
    %10: i32 = const {value = 3}
    %11: i32 = const {value = 0}
    %12: i32 = minimum %11, %6 {trusted = true}
    %13: i32 = maximum %9, %6 {trusted = true, apart = 16}
    %14: tile<16x16xf32> = for %12, %13, %5, %2
      body (%i@15: i32, %sum@16: tile<16x16xf32>)
        %counter@17: i32 = add %10, %i@15
        %18: f16 = cast %counter@17
        %19: tile<16x16xf16> = splat %18
        %20: tile<16x16xf32> = dot %19, %19, %2
        %21: i1 = ge %i@15, %6
        %22: tile<16x16xf32> = if %21
          then
            %23: f32 = cast %i@15
            %24: tile<16x16xf32> = splat %23
            %25: tile<16x16xf32> = maximum %20, %24
            yield %25
          else
            %26: tile<16x16xf32> = mul %20, %4
            yield %26
        %27: tile<16x16xf32> = add %sum@16, %22
        yield %27
    device_print %14
    yield
)");
}

// What one body multiplies by a scalar and the other does not: the branch chooses the factor, and the value stays in one piece.
TEST_F(JoinTest, AFactorAgainstNone) {
  const std::string text = Joined({.scaled = true});
  EXPECT_EQ(Loops(text), 1) << text;
  EXPECT_NE(text.find("f32, %"), std::string::npos) << text;  // two results, a scalar and a tile
  const size_t joined = text.find("if %");
  EXPECT_NE(text.find("fma ", text.find("yield", text.find("else", joined))), std::string::npos) << text;
  EXPECT_EQ(text.find("sub "), std::string::npos) << text;
}
TEST_F(JoinTest, NotWhatDoesNotFollow) { EXPECT_EQ(Loops(Joined({.other_begin = true})), 2); }
TEST_F(JoinTest, NotOtherSteps) { EXPECT_EQ(Loops(Joined({.other_step = 32})), 2); }
TEST_F(JoinTest, NotAfterPartOfAStep) { EXPECT_EQ(Loops(Joined({.blocks = 8})), 2); }
TEST_F(JoinTest, NotWithoutCommonProducts) { EXPECT_EQ(Loops(Joined({.other_product = true})), 2); }
TEST_F(JoinTest, NotWithOtherCounters) { EXPECT_EQ(Loops(Joined({.other_counter = 16})), 2); }
TEST_F(JoinTest, NotWhereTheFirstIsWanted) { EXPECT_EQ(Loops(Joined({.used_after = true})), 2); }

TEST_F(PassTest, RunnerShowsEveryStage) {
  Use(Int(1));
  b_.EmitVoid(Op::kYield, {}, {});
  std::string seen;
  PassOptions options;
  options.observer = [&](absl::string_view name, const ir::Kernel&) {
    absl::StrAppend(&seen, name, " ");
    return absl::OkStatus();
  };
  ASSERT_TRUE(RunPasses(kernel_, options).ok());
  EXPECT_EQ(seen, "partial_eval fold hoist_broadcasts cse licm accumulate_dot dce contract join_loops ");
  seen.clear();
  options.stop_after = "cse";
  ASSERT_TRUE(RunPasses(kernel_, options).ok());
  EXPECT_EQ(seen, "partial_eval fold hoist_broadcasts cse ");
  options.stop_after = "no_such";
  EXPECT_EQ(RunPasses(kernel_, options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tilevm::specializer
