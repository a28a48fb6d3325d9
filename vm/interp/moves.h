// Parallel assignment of registers: all sources are read before any target is written.
#ifndef TILEVM_VM_INTERP_MOVES_H_
#define TILEVM_VM_INTERP_MOVES_H_

#include <vector>

#include "vm/interp/plan.h"

namespace tilevm::vm {

struct Move {
  RegId dst = kNoRegister;
  RegId src = kNoRegister;
  const TypeInfo* type = nullptr;
  bool preserve = false;  // the source is read again later
};

// Swaps where the source dies, copies where it lives on, cycles by swaps. Requires: targets differ from each other, a preserved source is
// no target, a target and its source have the same capacity.
std::vector<MoveStep> PlanMoves(std::vector<Move> moves);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_MOVES_H_
