// Random structured kernels (loops, branches, blocks with exits, regions that combine scalars), each run with shared registers and with a register
// for every value. The two must leave the same memory: a value that lost its register too early, or a move in the wrong order, would show.
#include <random>

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

const isa::Type kScalar = isa::ScalarType(DType::kI32);
constexpr int64_t kSlots = 256;
const isa::Type kTile = isa::TileType(DType::kI32, {4});

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  ir::Kernel Make() {
    in_ = b_.Pointer(DType::kI32, "in");
    out_ = b_.Pointer(DType::kI32, "out");
    for (int i = 0; i < 3; ++i) scalars_.push_back(b_.LoadAt(in_, b_.Int(i)));
    lanes_ = b_.Arange(0, 4);
    tiles_ = {lanes_, b_.LoadAt(in_, lanes_)};
    Statements(12, 0);
    for (ValueId tile : tiles_) Out(tile);
    for (ValueId scalar : scalars_) Out(b_.Splat(scalar, {4}));
    return b_.Build();
  }

 private:
  uint32_t Pick(uint32_t n) { return random_() % n; }
  ValueId Scalar() { return scalars_[Pick(static_cast<uint32_t>(scalars_.size()))]; }
  ValueId Tile() { return tiles_[Pick(static_cast<uint32_t>(tiles_.size()))]; }
  ValueId Condition() { return b_.Do(Op::kLt, {b_.Do(Op::kBitAnd, {Scalar(), b_.Int(7)}), b_.Int(Pick(8))}); }
  Op Arithmetic() {
    static constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kBitXor, Op::kMaximum};
    return kOps[Pick(5)];
  }

  void Out(ValueId tile) { b_.Store(b_.PtrAdd(out_, b_.Do(Op::kAdd, {lanes_, b_.Splat(b_.Int(4 * (slot_++ % kSlots)), {4})})), tile); }

  // A region's values go out of scope with it.
  KernelBuilder::Body Scope(const std::function<Values(Values)>& body) {
    return [this, body](Values args) {
      const size_t scalars = scalars_.size(), tiles = tiles_.size();
      const Values yielded = body(args);
      scalars_.resize(scalars);
      tiles_.resize(tiles);
      return yielded;
    };
  }
  void Add(ValueId id) { (b_.TypeOf(id).is_scalar() ? scalars_ : tiles_).push_back(id); }
  void AddAll(const Values& ids) {
    for (ValueId id : ids) Add(id);
  }
  // Values of the given types from the pool; the same one may come twice.
  Values Some(const std::vector<isa::Type>& types) {
    Values values;
    for (const isa::Type& type : types) values.push_back(type.is_scalar() ? Scalar() : Tile());
    return values;
  }
  std::vector<isa::Type> Types() {
    std::vector<isa::Type> types(1 + Pick(4), kScalar);
    for (isa::Type& type : types) {
      if (Pick(2) == 0) type = kTile;
    }
    return types;
  }

  void Statements(int count, int depth) {
    for (int i = 0; i < count; ++i) Statement(depth);
  }

  void Statement(int depth) {
    const uint32_t kind = Pick(depth < 3 ? 16 : 8);
    const int inner = 1 + static_cast<int>(Pick(4));
    if (kind < 3) {
      Add(b_.Do(Arithmetic(), {Scalar(), Scalar()}));
    } else if (kind < 5) {
      Add(b_.Do(Arithmetic(), {Tile(), Tile()}));
    } else if (kind == 5) {
      Add(b_.Splat(Scalar(), {4}));
    } else if (kind == 6) {
      Out(b_.Do(Op::kAdd, {Tile(), b_.Splat(Scalar(), {4})}));
    } else if (kind == 7) {
      Combine();
    } else if (kind < 10) {
      const std::vector<isa::Type> types = Types();
      AddAll(b_.For(b_.Int(0), b_.Int(Pick(4)), b_.Int(1), Some(types), Scope([&](Values args) {
        AddAll(args);
        Statements(inner, depth + 1);
        return Some(types);
      })));
    } else if (kind < 13) {
      const std::vector<isa::Type> types = Types();
      const auto arm = [&] {
        return Scope([&](Values) {
          Statements(inner, depth + 1);
          return Some(types);
        });
      };
      const ValueId condition = Condition();
      AddAll(b_.If(condition, types, arm(), arm()));
    } else if (kind == 13) {
      While(depth, inner);
    } else {
      BlockWithExit(depth, inner);
    }
  }

  void While(int depth, int inner) {
    std::vector<isa::Type> types = Types();
    Values inits = Some(types);
    inits.insert(inits.begin(), b_.Int(0));
    const int64_t trips = Pick(4);
    const bool polls = Pick(2) == 0;  // reads memory, so the loop is one that may wait
    const Values results = b_.While(
        inits,
        Scope([&](Values args) {
          const ValueId bound = polls ? b_.Do(Op::kAdd, {b_.Do(Op::kMul, {b_.LoadAt(in_, b_.Int(0)), b_.Int(0)}), b_.Int(trips)}) : b_.Int(trips);
          Values yielded = {b_.Do(Op::kLt, {args[0], bound})};
          yielded.insert(yielded.end(), args.begin(), args.end());
          return yielded;
        }),
        Scope([&](Values args) {
          AddAll(Values(args.begin() + 1, args.end()));
          Statements(inner, depth + 1);
          Values yielded = Some(types);
          yielded.insert(yielded.begin(), b_.Do(Op::kAdd, {args[0], b_.Int(1)}));
          return yielded;
        }));
    AddAll(Values(results.begin() + 1, results.end()));
  }

  // A loop that a branch may leave through the block, with other values than the loop would give.
  void BlockWithExit(int depth, int inner) {
    const std::vector<isa::Type> types = Types();
    AddAll(b_.Block(types, Scope([&](Values) {
      const Values rest = b_.For(b_.Int(0), b_.Int(3), b_.Int(1), Some(types), Scope([&](Values args) {
        AddAll(args);
        Statements(inner, depth + 1);
        const ValueId leave = Condition();
        b_.If(
            leave, {}, Scope([&](Values) { return b_.Exit(0, Some(types)); }), Scope([&](Values) { return Values{}; }));
        Statements(1, depth + 2);
        return Some(types);
      }));
      AddAll(rest);
      return Some(types);
    })));
  }

  // A reduction whose function reads a scalar of the kernel.
  void Combine() {
    const ValueId outer = Scalar();
    std::vector<ir::Region> regions;
    regions.push_back(b_.Combine({DType::kI32, DType::kI32}, [&](Values a) -> Values {
      return {b_.Do(Op::kAdd, {b_.Do(Op::kMul, {a[0], b_.Int(3)}), b_.Do(Op::kBitXor, {a[1], outer})})};
    }));
    Add(b_.MakeMany(Op::kReduce, {kScalar}, {Tile()}, {{"axis", int64_t{0}}, {"kind", std::string("custom")}}, std::move(regions))[0]);
  }

  KernelBuilder b_;
  std::mt19937 random_;
  ValueId in_, out_, lanes_;
  Values scalars_, tiles_;
  int64_t slot_ = 0;
};

TEST(Sharing, ChangesNothing) {
  int64_t shared_bytes = 0, own_bytes = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const ir::Kernel kernel = Generator(seed).Make();
    std::vector<int32_t> results[2];
    for (const bool share : {false, true}) {
      CompileOptions compile;
      compile.share_registers = share;
      const auto plan = Compile(kernel, compile);
      ASSERT_EQ(plan.status().message(), "") << "seed " << seed;
      std::vector<int32_t> in = {3, 1, 4, 1}, out(4 * kSlots, -7);
      const Buffer buffers[] = {BufferOf(in, DType::kI32, "in"), BufferOf(out, DType::kI32, "out")};
      const Arg args[] = {Arg::InBuffer(0), Arg::InBuffer(1)};
      RunOptions options;
      options.max_ops = 10000000;
      const auto result = vm::Run(**plan, args, buffers, options);
      ASSERT_EQ(result.status().message(), "") << "seed " << seed;
      (share ? shared_bytes : own_bytes) += result->statistics.arena_bytes;
      results[share] = out;
    }
    ASSERT_EQ(results[0], results[1]) << "seed " << seed;
  }
  EXPECT_LT(shared_bytes * 2, own_bytes);
}

}  // namespace
}  // namespace tilevm::vm
