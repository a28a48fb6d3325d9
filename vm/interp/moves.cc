#include "vm/interp/moves.h"

#include <algorithm>

namespace tilevm::vm {

std::vector<MoveStep> PlanMoves(std::vector<Move> moves) {
  std::vector<MoveStep> steps;
  // A value that already is where it should be must stay there for the others that copy it.
  for (const Move& stays : moves) {
    if (stays.dst != stays.src) continue;
    for (Move& move : moves) {
      if (move.src == stays.src) move.preserve = true;
    }
  }
  const auto drop_no_ops = [&] {
    moves.erase(std::remove_if(moves.begin(), moves.end(), [](const Move& m) { return m.dst == m.src; }), moves.end());
  };
  drop_no_ops();
  while (!moves.empty()) {
    const auto readers = [&](RegId reg) { return std::count_if(moves.begin(), moves.end(), [&](const Move& m) { return m.src == reg; }); };
    auto leaf = std::find_if(moves.begin(), moves.end(), [&](const Move& m) { return readers(m.dst) == 0; });
    if (leaf != moves.end()) {
      const bool swap = !leaf->preserve && readers(leaf->src) == 1;
      steps.push_back({leaf->dst, leaf->src, swap, leaf->type});
      moves.erase(leaf);
      continue;
    }
    // Every target is still read by another move: the sources are a permutation of the targets.
    const Move first = moves.front();
    steps.push_back({first.dst, first.src, true, first.type});
    moves.erase(moves.begin());
    for (Move& move : moves) {
      if (move.src == first.dst) move.src = first.src;
    }
    drop_no_ops();
  }
  return steps;
}

}  // namespace tilevm::vm
