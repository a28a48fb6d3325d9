// Parallel moves, against what they mean: all sources are read before any target is written, and preserved sources keep their value.
#include "vm/interp/moves.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace tilevm::vm {
namespace {

// Registers hold numbers; the plan is run on them.
std::vector<int> Play(const std::vector<MoveStep>& steps, std::vector<int> registers) {
  for (const MoveStep& step : steps) {
    if (step.swap) {
      std::swap(registers[step.dst], registers[step.src]);
    } else {
      registers[step.dst] = registers[step.src];
    }
  }
  return registers;
}

void Check(const std::vector<Move>& moves, int count) {
  std::vector<int> before(count);
  std::iota(before.begin(), before.end(), 0);
  const std::vector<int> after = Play(PlanMoves(moves), before);
  for (const Move& move : moves) {
    EXPECT_EQ(after[move.dst], before[move.src]);
    const bool is_target = std::any_of(moves.begin(), moves.end(), [&](const Move& m) { return m.dst == move.src; });
    EXPECT_TRUE(!move.preserve || is_target || after[move.src] == before[move.src]) << "preserved";
  }
}

Move Make(RegId dst, RegId src, bool preserve = false) { return {dst, src, nullptr, preserve}; }

TEST(PlanMoves, SwapsAndCycles) {
  Check({Make(0, 1), Make(1, 0)}, 2);
  Check({Make(0, 1), Make(1, 2), Make(2, 0)}, 3);
  Check({Make(0, 1), Make(1, 2), Make(2, 0), Make(3, 4), Make(4, 3)}, 5);
  EXPECT_EQ(PlanMoves({Make(3, 3)}).size(), 0u);
}

TEST(PlanMoves, OneSourceForSeveralTargets) {
  Check({Make(0, 2), Make(1, 2)}, 3);
  Check({Make(0, 2), Make(2, 2)}, 3);
  Check({Make(0, 2), Make(1, 2), Make(2, 0)}, 3);
}

TEST(PlanMoves, DyingSourcesAreSwappedAndOthersCopied) {
  const std::vector<MoveStep> steps = PlanMoves({Make(0, 2), Make(1, 3, true)});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_TRUE(steps[0].swap);
  EXPECT_FALSE(steps[1].swap);
}

TEST(PlanMoves, AnyMoves) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const int count = 8;
    std::vector<RegId> targets(count);
    std::iota(targets.begin(), targets.end(), 0);
    std::shuffle(targets.begin(), targets.end(), random);
    targets.resize(random() % count);
    std::vector<Move> moves;
    for (RegId target : targets) {
      const RegId source = random() % count;
      const bool is_target = std::find(targets.begin(), targets.end(), source) != targets.end();
      moves.push_back(Make(target, source, !is_target && random() % 2 == 0));
    }
    // A source is preserved or not, whoever reads it.
    for (Move& move : moves) {
      for (const Move& other : moves) move.preserve |= other.src == move.src && other.preserve;
    }
    Check(moves, count);
  }
}

}  // namespace
}  // namespace tilevm::vm
