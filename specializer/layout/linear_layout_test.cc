// The algebra, held to brute force over every place of a tile.
#include "specializer/layout/linear_layout.h"

#include <algorithm>
#include <random>
#include <set>

#include "gtest/gtest.h"

namespace tilevm::layout {
namespace {

LinearLayout Example() { return LinearLayout({4, 4}, {1, 4}, {2, 8}, {}); }

TEST(LinearLayout, TheExampleOfTheHeader) {
  const char* want[4][4] = {{"0:0", "0:1", "1:0", "1:1"}, {"0:2", "0:3", "1:2", "1:3"}, {"2:0", "2:1", "3:0", "3:1"}, {"2:2", "2:3", "3:2", "3:3"}};
  for (uint32_t row = 0; row < 4; ++row) {
    for (uint32_t col = 0; col < 4; ++col) {
      Place place = Example().PlaceOf(4 * row + col);
      EXPECT_EQ(std::to_string(place.lane) + ":" + std::to_string(place.reg), want[row][col]);
    }
  }
  EXPECT_EQ(Example().IndexOf({3, 2, 0}), 13u);
  EXPECT_EQ(Example().Coordinates(13)[0], 3);
  EXPECT_EQ(Example().Coordinates(13)[1], 1);
}

std::vector<LinearLayout> Many() {
  std::vector<LinearLayout> out;
  const int row_major[] = {1, 0}, col_major[] = {0, 1};
  for (isa::Shape shape : {isa::Shape{64, 32}, isa::Shape{16, 128}, isa::Shape{128, 128}, isa::Shape{4, 8}}) {
    for (int64_t vector : {1, 2, 8}) {
      out.push_back(LinearLayout::BlockedByOrder(shape, vector, 4, row_major));
      out.push_back(LinearLayout::BlockedByOrder(shape, vector, 4, col_major));
    }
    out.push_back(LinearLayout::MmaAccumulator(shape, 2, 2));
    out.push_back(LinearLayout::MmaAccumulator(shape, 4, 1));
    for (int bits : {8, 16, 32, 64}) {
      out.push_back(LinearLayout::MmaOperandA(shape, bits, 2, 2));
      out.push_back(LinearLayout::MmaOperandB(shape, bits, 1, 4));
    }
  }
  return out;
}

TEST(LinearLayout, EveryElementHasAPlaceAndPlaceOfInvertsIndexOf) {
  for (const LinearLayout& layout : Many()) {
    EXPECT_TRUE(layout.IsSurjective()) << layout.ToString();
    EXPECT_EQ(layout.lane().size(), 5u);
    EXPECT_EQ(layout.warp_count(), 4);
    for (Basis i = 0; i < (1u << layout.index_bits()); i += 7) EXPECT_EQ(layout.IndexOf(layout.PlaceOf(i)), i) << layout.ToString();
  }
}

TEST(LinearLayout, MmaAccumulatorIsTheFragmentOfThePtxManual) {
  LinearLayout c = LinearLayout::MmaAccumulator({16, 8}, 1, 1);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t r = 0; r < 4; ++r) {
      auto at = c.Coordinates(c.IndexOf({r, lane, 0}));
      EXPECT_EQ(at[0], lane / 4 + 8 * (r / 2));
      EXPECT_EQ(at[1], lane % 4 * 2 + r % 2);
    }
  }
}

TEST(LinearLayout, MmaOperandsAreTheFragmentsOfThePtxManual) {
  LinearLayout a = LinearLayout::MmaOperandA({16, 16}, 16, 1, 1);
  LinearLayout b = LinearLayout::MmaOperandB({16, 8}, 16, 1, 1);
  LinearLayout tf32 = LinearLayout::MmaOperandA({16, 8}, 32, 1, 1);
  LinearLayout fp8 = LinearLayout::MmaOperandA({16, 32}, 8, 1, 1);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t r = 0; r < 8; ++r) {
      auto at = a.Coordinates(a.IndexOf({r, lane, 0}));
      EXPECT_EQ(at[0], lane / 4 + 8 * (r / 2 % 2));
      EXPECT_EQ(at[1], lane % 4 * 2 + r % 2 + 8 * (r / 4));
    }
    for (uint32_t r = 0; r < 4; ++r) {
      auto at = b.Coordinates(b.IndexOf({r, lane, 0}));
      EXPECT_EQ(at[0], lane % 4 * 2 + r % 2 + 8 * (r / 2));
      EXPECT_EQ(at[1], lane / 4);
      at = tf32.Coordinates(tf32.IndexOf({r, lane, 0}));
      EXPECT_EQ(at[0], lane / 4 + 8 * (r % 2));
      EXPECT_EQ(at[1], lane % 4 + 4 * (r / 2));
    }
    for (uint32_t r = 0; r < 16; ++r) {
      auto at = fp8.Coordinates(fp8.IndexOf({r, lane, 0}));
      EXPECT_EQ(at[0], lane / 4 + 8 * (r / 4 % 2));
      EXPECT_EQ(at[1], lane % 4 * 4 + r % 4 + 16 * (r / 8));
    }
  }
}

TEST(LinearLayout, ShapeOpsMoveNothing) {
  const int64_t swap[] = {1, 0};
  for (const LinearLayout& layout : Many()) {
    LinearLayout t = layout.Permuted(swap);
    for (uint32_t reg = 0; reg < layout.register_count(); ++reg) {
      for (uint32_t lane = 0; lane < 32; lane += 3) {
        Place place{reg, lane, 1};
        auto a = layout.Coordinates(layout.IndexOf(place)), b = t.Coordinates(t.IndexOf(place));
        EXPECT_EQ(a[0], b[1]);
        EXPECT_EQ(a[1], b[0]);
      }
    }
    EXPECT_EQ(t.Permuted(swap), layout);
    EXPECT_EQ(layout.Expanded(1).shape(), (isa::Shape{layout.shape()[0], 1, layout.shape()[1]}));
  }
}

TEST(LinearLayout, SliceThenBroadcastCoversTheTile) {
  for (const LinearLayout& layout : Many()) {
    for (int axis : {0, 1}) {
      LinearLayout slice = layout.Sliced(axis);
      EXPECT_TRUE(slice.IsSurjective());
      EXPECT_EQ(slice.ReplicatedRegisters(), 0u);
      for (uint32_t lane = 0; lane < 32; ++lane) {
        Place place{0, lane, 2};
        EXPECT_EQ(slice.Coordinates(slice.IndexOf(place))[0], layout.Coordinates(layout.IndexOf(place))[1 - axis]);
      }
      LinearLayout wide = slice.Expanded(axis).Broadcasted(layout.shape());
      EXPECT_TRUE(wide.IsSurjective());
      isa::Shape narrow = layout.shape();
      narrow[axis] = 1;
      EXPECT_EQ(layout.OperandOfBroadcast(narrow), slice.Expanded(axis)) << layout.ToString();
    }
  }
}

// Runs a conversion as the emitter does, on element numbers, and looks at every place of the result.
void CheckConversion(const LinearLayout& from, const LinearLayout& to) {
  const Conversion c = Convert(from, to);
  const uint32_t lanes = 1u << from.lane().size();
  auto value = [&](uint32_t reg, uint32_t lane, uint32_t warp) { return from.IndexOf({reg, lane, warp}); };
  for (uint32_t warp = 0; warp < to.warp_count(); ++warp) {
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      for (uint32_t r = 0; r < to.register_count(); ++r) {
        const Basis want = to.IndexOf({r, lane, warp});
        if (c.kind == Conversion::Kind::kNone) {
          EXPECT_EQ(value(r, lane, warp), want);
        } else if (c.kind == Conversion::Kind::kRegisters) {
          EXPECT_EQ(value(c.source[r], lane, warp), want);
        } else if (c.kind == Conversion::Kind::kShuffle) {
          uint32_t source_lane = c.lane_from_reg[r], source_reg = c.source[r];
          for (size_t i = 0; i < c.lane_from_lane.size(); ++i) {
            if (lane >> i & 1) {
              source_lane ^= c.lane_from_lane[i];
              source_reg ^= c.reg_from_lane[i];
            }
          }
          EXPECT_EQ(value(source_reg, source_lane, warp), want);
        }
      }
    }
  }
}

TEST(Conversion, EveryPairOfLayoutsOfAShape) {
  const std::vector<LinearLayout> many = Many();
  std::set<Conversion::Kind> kinds;
  for (const LinearLayout& from : many) {
    for (const LinearLayout& to : many) {
      if (from.shape() != to.shape()) continue;
      kinds.insert(Convert(from, to).kind);
      CheckConversion(from, to);
    }
  }
  EXPECT_TRUE(kinds.count(Conversion::Kind::kNone) && kinds.count(Conversion::Kind::kShared));
}

TEST(Conversion, RandomPermutationsOfBitsWithinAWarp) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Basis> bits;
    for (int i = 0; i < 8; ++i) bits.push_back(1u << i);
    auto make = [&] {
      std::shuffle(bits.begin(), bits.end(), random);
      return LinearLayout({16, 16}, {bits[0], bits[1], bits[2]}, {bits[3], bits[4], bits[5], bits[6], bits[7]}, {});
    };
    LinearLayout from = make(), to = make();
    EXPECT_NE(Convert(from, to).kind == Conversion::Kind::kNone, from != to);
    CheckConversion(from, to);
  }
}

TEST(Conversion, AnAccumulatorIsAnOperandAsItStands) {
  // Flash attention: P of the first dot is operand a of the second, in 16 bits; one warp along n. Nothing moves.
  const Conversion c = Convert(LinearLayout::MmaAccumulator({64, 64}, 4, 1), LinearLayout::MmaOperandA({64, 64}, 16, 4, 1));
  EXPECT_EQ(c.kind, Conversion::Kind::kNone);
}

TEST(SharedLayout, IsABijectionWithFewConflicts) {
  const std::vector<LinearLayout> many = Many();
  for (const LinearLayout& from : many) {
    for (const LinearLayout& to : many) {
      if (from.shape() != to.shape() || from.index_bits() > 12) continue;
      for (int elem_bytes : {1, 2, 4, 8}) {
        SharedLayout shared = ChooseShared(from, to, elem_bytes);
        std::set<uint32_t> offsets;
        for (Basis i = 0; i < (1u << from.index_bits()); ++i) offsets.insert(shared.OffsetOf(i));
        EXPECT_EQ(offsets.size(), size_t{1} << from.index_bits());
        EXPECT_EQ(*offsets.rbegin(), (1u << from.index_bits()) - 1);
        for (int v = 0; v < shared.vector; ++v) {  // a vector lies together on both sides
          EXPECT_EQ(shared.OffsetOf(from.IndexOf({static_cast<uint32_t>(v), 5, 1})), shared.OffsetOf(from.IndexOf({0, 5, 1})) + v);
          EXPECT_EQ(shared.OffsetOf(to.IndexOf({static_cast<uint32_t>(v), 5, 1})), shared.OffsetOf(to.IndexOf({0, 5, 1})) + v);
        }
      }
    }
  }
}

TEST(SharedLayout, RowsToColumnsIsFreeOfConflicts) {
  const int row_major[] = {1, 0}, col_major[] = {0, 1};
  LinearLayout rows = LinearLayout::BlockedByOrder({64, 64}, 1, 4, row_major), columns = LinearLayout::BlockedByOrder({64, 64}, 1, 4, col_major);
  SharedLayout shared = ChooseShared(rows, columns, 4);
  EXPECT_EQ(shared.write_conflicts, 1);
  EXPECT_EQ(shared.read_conflicts, 1);
}

TEST(LinearLayout, JoinedDoubledAndHalved) {
  const int order[] = {1, 0};
  const LinearLayout blocked = LinearLayout::BlockedByOrder({8, 64}, 4, 4, order);
  const LinearLayout joined = blocked.Joined(), doubled = blocked.Doubled(0);
  EXPECT_EQ(joined.shape(), (isa::Shape{8, 64, 2}));
  EXPECT_EQ(doubled.shape(), (isa::Shape{16, 64}));
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t r = 0; r < blocked.register_count(); ++r) {
      const Basis index = blocked.IndexOf({r, thread % 32, thread / 32});
      for (uint32_t side = 0; side < 2; ++side) {
        EXPECT_EQ(joined.IndexOf({2 * r + side, thread % 32, thread / 32}), 2 * index + side);
        EXPECT_EQ(doubled.IndexOf({r + side * static_cast<uint32_t>(blocked.register_count()), thread % 32, thread / 32}), index + side * 8 * 64);
      }
    }
  }
  ASSERT_TRUE(joined.Halved().has_value());
  EXPECT_EQ(*joined.Halved(), blocked);
  EXPECT_FALSE(LinearLayout::BlockedByOrder({8, 2}, 1, 4, order).Halved().has_value()) << "lanes tell the halves apart";
}

TEST(LinearLayout, AxisBitsSayWhereACoordinateComesFrom) {
  const int order[] = {1, 0};
  const LinearLayout layout = LinearLayout::BlockedByOrder({16, 256}, 4, 2, order);
  for (int axis : {0, 1}) {
    const auto bits = layout.AxisBits(axis);
    ASSERT_TRUE(bits.has_value());
    ASSERT_EQ(bits->size(), axis == 0 ? 4u : 8u);
    for (size_t i = 0; i < bits->size(); ++i) {
      EXPECT_EQ(layout.Coordinates(layout.IndexOf({(*bits)[i].reg, (*bits)[i].lane, (*bits)[i].warp}))[axis], int64_t{1} << i);
    }
  }
}

// Eight rows of one unit lie in all banks: rows written 16 bytes at a time and fragments written 4 bytes at a time meet no conflict.
TEST(SwizzledRows, IsABijectionWithoutConflicts) {
  for (int64_t cols : {16, 32, 64, 128, 256}) {
    const isa::Shape shape = {64, cols};
    const SharedLayout rows = SwizzledRows(shape, 1, 2);
    std::vector<bool> seen(64 * cols);
    for (uint32_t index = 0; index < seen.size(); ++index) {
      ASSERT_LT(rows.OffsetOf(index), seen.size());
      EXPECT_FALSE(seen[rows.OffsetOf(index)]) << cols << " columns, element " << index;
      seen[rows.OffsetOf(index)] = true;
    }
    SharedLayout wide = rows, narrow = rows;
    wide.vector = 8;
    narrow.vector = 2;
    const int order[] = {1, 0};
    EXPECT_EQ(BankConflicts(LinearLayout::BlockedByOrder(shape, 8, 4, order), wide, 2), 1) << cols;
    EXPECT_EQ(BankConflicts(LinearLayout::MmaAccumulator(shape, 4, 1), narrow, 2), 1) << cols;
  }
  // The other axis: the same buffer, seen transposed.
  const SharedLayout a = SwizzledRows({64, 32}, 1, 2), b = SwizzledRows({32, 64}, 0, 2);
  for (uint32_t row = 0; row < 64; ++row) {
    for (uint32_t col = 0; col < 32; ++col) EXPECT_EQ(a.OffsetOf(row * 32 + col), b.OffsetOf(col * 64 + row));
  }
}

}  // namespace
}  // namespace tilevm::layout
