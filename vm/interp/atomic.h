// One atomic operation on one element in memory.
#ifndef TILEVM_VM_INTERP_ATOMIC_H_
#define TILEVM_VM_INTERP_ATOMIC_H_

#include "vm/interp/plan.h"

namespace tilevm::vm {

struct AtomicOp {
  isa::Op op = isa::Op::kAtomicAdd;
  isa::DType dtype = isa::DType::kI32;
  int bytes = 4;
  bool acquire = true;
  bool release = true;
};

// Does op at `address` (aligned to its size) and returns the old bits. For cas, `value` replaces what equals `expected` bit by bit.
uint64_t AtomicAt(const AtomicOp& atomic, void* address, uint64_t value, uint64_t expected, bool* changed);
// The new bits for old bits and an operand; every op but cas.
uint64_t AtomicResult(const AtomicOp& atomic, uint64_t old_bits, uint64_t value);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_ATOMIC_H_
