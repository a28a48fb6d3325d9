// The order of programs on the host: each comes once, and the long ones of a group come first.
#include "gpu/device/programs.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tv {
namespace {

constexpr u32 kAlong[] = {1, 2, 7, 16, 50}, kAcross[] = {1, 3, 16, 17, 33, 100}, kOuter[] = {1, 2, 5};

// Calls test({x, y, z}) for many grids.
template <class Test>
void EveryGrid(const Test& test) {
  for (u32 x : kAlong) {
    for (u32 y : kAcross) {
      for (u32 z : kOuter) {
        SCOPED_TRACE(testing::Message() << x << " x " << y << " x " << z);
        test(x, y, z);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// Counts the programs that come by `next`.
struct Seen {
  Seen(u32 x, u32 y, u32 z) : size{x, y, z}, times(static_cast<size_t>(x) * y * z) {}
  void Add(const u32 (&index)[3]) {
    for (int axis = 0; axis < 3; ++axis) ASSERT_LT(index[axis], size[axis]);
    ++times[index[0] + static_cast<size_t>(size[0]) * (index[1] + static_cast<size_t>(size[1]) * index[2])];
  }
  bool EachOnce() const { return std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }); }
  u32 size[3];
  std::vector<int> times;
};

TEST(Programs, EachIsOneBlocksWhateverTheStride) {
  for (const u32 blocks : {1u, 5u, 64u, 128u, 132u, 1000u}) {
    for (const u32 stride : {1u, 2u, 32u, 33u, 2000u}) {
      SCOPED_TRACE(testing::Message() << blocks << " by " << stride);
      Seen seen(blocks, 1, 1);
      for (u32 block = 0; block < blocks; ++block) {
        const u32 index[3] = {strided_program(block, blocks, stride), 0, 0};
        seen.Add(index);
        if (stride == 1) { EXPECT_EQ(index[0], block); }
      }
      EXPECT_TRUE(seen.EachOnce());
    }
  }
  EXPECT_EQ(strided_program(1, 132, 32), 32u);
  EXPECT_EQ(strided_program(4, 132, 32), 1u);
  EXPECT_EQ(strided_program(130, 132, 32), 130u);
}

template <int Axis>
void ByLength() {
  EveryGrid([](u32 x, u32 y, u32 z) {
    Programs programs{{x, y, z}, {0, 0, 0}};
    Seen seen(x, y, z);
    std::vector<u32> along;
    for (u32 i = 0; i < programs.count(); ++i) {
      programs.set_by_length<Axis>(i);
      seen.Add(programs.index);
      along.push_back(programs.index[Axis]);
    }
    EXPECT_TRUE(seen.EachOnce());
    // The last of the grid are the last along the axis, of 16 places at least, if there are as many.
    const u32 places = programs.count() / programs.size[Axis], together = std::min(16u, places);
    EXPECT_EQ(std::count(along.end() - together, along.end(), programs.size[Axis] - 1), together);
  });
}

TEST(Programs, EachComesOnceTheLongestFirst) {
  ByLength<0>();
  ByLength<1>();
  ByLength<2>();
}

template <u32 Members, int Axis>
void Merged() {
  EveryGrid([](u32 x, u32 y, u32 z) {
    MergedPrograms<Members> programs{{{x, y, z}, {0, 0, 0}}, false, 0};
    Seen in_order(x, y, z), by_length(x, y, z);
    for (u32 i = 0; i < programs.count(); ++i) {
      for (u32 member = 0; member < Members; ++member) {
        programs.set(i, member);
        if (programs.counts) in_order.Add(programs.index);
        programs.template set_by_length<Axis>(i, 0);
        programs.choose(member);
        if (programs.counts) by_length.Add(programs.index);
      }
    }
    EXPECT_TRUE(in_order.EachOnce());
    EXPECT_TRUE(by_length.EachOnce());
  });
}

TEST(Programs, MergedOnesComeOnce) {
  Merged<2, 0>();
  Merged<3, 0>();
  Merged<4, 1>();
  Merged<3, 2>();
}

// Programs or parts, each once; every CTA has as many whole ones.
TEST(Programs, SharedTailsComeOnce) {
  constexpr u32 kParts = 4;
  EveryGrid([](u32 x, u32 y, u32 z) {
    for (u32 ctas : {1u, 3u, 5u, 132u, 100000u}) {
      SharedTail<kParts> programs(x, y, z, ctas);
      Seen seen(x * kParts, y, z);
      u32 whole = 0;
      for (u32 i = 0; i < programs.count(); ++i) {
        programs.set(i);
        ASSERT_EQ(programs.size[0], programs.part ? x * kParts : x);
        for (u32 part = 0; part < (programs.part ? 1 : kParts); ++part) {
          seen.Add({programs.part ? programs.index[0] : programs.index[0] * kParts + part, programs.index[1], programs.index[2]});
        }
        EXPECT_EQ(programs.part != 0, i >= whole + (programs.part ? 0 : 1));
        whole += !programs.part;
      }
      EXPECT_TRUE(seen.EachOnce());
      EXPECT_EQ(whole % ctas, 0u);
      EXPECT_LT(x * y * z - whole, ctas);
    }
  });
}

}  // namespace
}  // namespace tv
