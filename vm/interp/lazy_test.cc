// Random kernels over index arithmetic, masks, shape ops and masked memory accesses, each run twice: as it is, so that registers stay lazy as long
// as they can, and with every value made dense by adding a zero that comes from memory. Both runs must leave the same memory, in checked mode
// as well as in fast mode.
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

const isa::Shape kShape = {4, 8};
constexpr int64_t kTile = 32;

class Generator {
 public:
  Generator(uint32_t seed, bool dense) : random_(seed), dense_(dense) {}

  ir::Kernel Make(int64_t* out_elems) {
    in_ = b_.Pointer(DType::kI32, "in");
    out_ = b_.Pointer(DType::kI32, "out");
    zero_ = b_.Pointer(DType::kI32, "zero");
    n_ = b_.Param(DType::kI32, "n");
    flat_ = Grid(8, 1);
    zeros_ = b_.Load(b_.PtrAdd(zero_, flat_));
    no_ = b_.Do(Op::kNe, {zeros_, Constant(0)});
    Keep(Row());
    Keep(Column());
    Keep(flat_);
    masks_.push_back(Launder(b_.Do(Op::kLt, {values_[0], Constant(3)})));
    for (int step = 0; step < 25; ++step) Step();
    int64_t slot = 0;
    for (ValueId value : values_) Out(value, &slot);
    for (ValueId mask : masks_) Out(b_.Cast(mask, DType::kI32), &slot);
    *out_elems = slot * kTile;
    return b_.Build();
  }

 private:
  uint32_t Pick(uint32_t n) { return random_() % n; }
  ValueId Constant(int64_t value) { return b_.Splat(b_.Int(value), kShape); }
  ValueId Value() { return values_[Pick(static_cast<uint32_t>(values_.size()))]; }
  ValueId Mask() { return masks_[Pick(static_cast<uint32_t>(masks_.size()))]; }

  ValueId Expand(int64_t n, int axis) {
    const isa::Shape shape = axis == 1 ? isa::Shape{n, 1} : isa::Shape{1, n};
    return b_.Make(Op::kExpandDims, isa::TileType(DType::kI32, shape), {b_.Arange(0, n)}, {{"axis", int64_t{axis}}});
  }
  ValueId Row() { return b_.Broadcast(Expand(4, 1), kShape); }
  ValueId Column() { return b_.Broadcast(Expand(8, 0), kShape); }
  ValueId Grid(int64_t row_step, int64_t column_step) {
    return b_.Do(Op::kAdd, {b_.Do(Op::kMul, {Row(), Constant(row_step)}), b_.Do(Op::kMul, {Column(), Constant(column_step)})});
  }

  // The same value; dense if this is the dense run.
  ValueId Launder(ValueId id) {
    if (!dense_) return id;
    return b_.TypeOf(id).elem.dtype == DType::kI1 ? b_.Do(Op::kBitOr, {id, no_}) : b_.Do(Op::kAdd, {id, zeros_});
  }
  void Keep(ValueId id) { values_.push_back(Launder(id)); }

  void Out(ValueId value, int64_t* slot) { b_.Store(b_.PtrAdd(out_, b_.Do(Op::kAdd, {flat_, Constant(kTile * (*slot)++)})), value); }

  void Step() {
    const int64_t small = static_cast<int64_t>(Pick(9)) - 4;
    switch (Pick(14)) {
      case 0: Keep(b_.Do(Op::kAdd, {Value(), Value()})); return;
      case 1: Keep(b_.Do(Op::kSub, {Value(), Value()})); return;
      case 2: Keep(b_.Do(Op::kMul, {Value(), Constant(small)})); return;
      case 3: Keep(b_.Do(Op::kAdd, {Value(), b_.Splat(Pick(2) == 0 ? n_ : b_.Int(small), kShape)})); return;
      case 4: Keep(b_.Do(Op::kMod, {Value(), Constant(1 + Pick(40))})); return;
      case 5: Keep(b_.Do(Op::kAdd, {Value(), Constant(Pick(4) == 0 ? 0x7ffffff0 : 1000)})); return;
      case 6: {
        static constexpr Op kCompares[] = {Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kEq, Op::kNe};
        masks_.push_back(Launder(b_.Do(kCompares[Pick(6)], {Value(), Pick(2) == 0 ? Value() : Constant(Pick(30))})));
        return;
      }
      case 7: masks_.push_back(Launder(b_.Do(Op::kBitAnd, {Mask(), Mask()}))); return;
      case 8: Keep(b_.Do(Op::kWhere, {Mask(), Value(), Value()})); return;
      case 9: {  // through i64 and back, or through i16, where it may not fit
        const DType through = Pick(2) == 0 ? DType::kI64 : DType::kI16;
        Keep(b_.Cast(b_.Cast(Value(), through), DType::kI32));
        return;
      }
      case 10: {  // transposed twice, with a shift in between
        const isa::Type turned = isa::TileType(DType::kI32, {8, 4});
        const std::vector<ir::NamedAttr> dims = {{"dims", std::vector<int64_t>{1, 0}}};
        const ValueId t = b_.Make(Op::kPermute, turned, {Value()}, dims);
        const ValueId shifted = b_.Do(Op::kAdd, {t, b_.Splat(b_.Int(small), {8, 4})});
        Keep(b_.Make(Op::kPermute, isa::TileType(DType::kI32, kShape), {shifted}, dims));
        return;
      }
      case 11: {  // unit dimensions in between
        const ValueId wide = b_.Make(Op::kReshape, isa::TileType(DType::kI32, {1, 4, 1, 8}), {Value()});
        Keep(b_.Make(Op::kReshape, isa::TileType(DType::kI32, kShape), {wide}));
        return;
      }
      default: {  // a guarded load or store at a computed place
        const ValueId at = Value();
        const ValueId inside = b_.Do(Op::kBitAnd, {b_.Do(Op::kGe, {at, Constant(0)}), b_.Do(Op::kLt, {at, Constant(64)})});
        const ValueId mask = Pick(2) == 0 ? inside : b_.Do(Op::kBitAnd, {inside, Mask()});
        const ValueId p = b_.PtrAdd(in_, at);
        if (Pick(3) != 0) {
          Keep(b_.Load(p, mask, Pick(2) == 0 ? ir::kNoValue : Value()));
        } else {
          b_.Store(p, at, mask);  // lanes that share an address share the value
        }
      }
    }
  }

  KernelBuilder b_;
  std::mt19937 random_;
  const bool dense_;
  ValueId in_, out_, zero_, n_, flat_, zeros_, no_;
  Values values_, masks_;
};

TEST(Lazy, RandomKernelsAgreeWithTheirDenseForm) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    std::vector<int32_t> results[3];
    for (int way = 0; way < 3; ++way) {  // lazy, dense, lazy in checked mode
      int64_t out_elems = 0;
      const ir::Kernel kernel = Generator(seed, way == 1).Make(&out_elems);
      std::vector<int32_t> in(64), out(out_elems, -7), zero(kTile);
      for (int i = 0; i < 64; ++i) in[i] = i * 37 % 64 - 10;
      const Buffer buffers[] = {BufferOf(in, DType::kI32, "in"), BufferOf(out, DType::kI32, "out"), BufferOf(zero, DType::kI32, "zero")};
      const Arg args[] = {Arg::InBuffer(0), Arg::InBuffer(1), Arg::InBuffer(2), Arg::Int(DType::kI32, 5)};
      RunOptions options;
      options.checked = way == 2;
      const auto result = vm::Run(kernel, args, buffers, options);
      ASSERT_EQ(result.status().message(), "") << "seed " << seed;
      results[way] = out;
      results[way].insert(results[way].end(), in.begin(), in.end());
    }
    ASSERT_EQ(results[0], results[1]) << "seed " << seed;
    ASSERT_EQ(results[0], results[2]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tilevm::vm
