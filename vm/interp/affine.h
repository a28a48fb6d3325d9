// Arithmetic on lazy registers. Each Try function gives the result lazily, or returns false and has changed nothing.
#ifndef TILEVM_VM_INTERP_AFFINE_H_
#define TILEVM_VM_INTERP_AFFINE_H_

#include "vm/interp/plan.h"

namespace tilevm::vm {

bool TryAffineArith(Frame& frame, const Inst& inst);     // add, sub, mul by a uniform value, mod that changes nothing
bool TryCompare(Frame& frame, const Inst& inst);         // affine against affine, differing along one dimension at most
bool TryBoxAnd(Frame& frame, const Inst& inst);
bool TryAffineCast(Frame& frame, const Inst& inst);      // integer to integer, every lane fits
bool TryAffinePtrAdd(Frame& frame, const Inst& inst);
bool TryPointerBitcast(Frame& frame, const Inst& inst);  // pointer to pointer, pointer to 64-bit integer and back
// Shape ops on lazy registers: dimension d of the result is dimension from[d] of the operand, or new (-1).
bool TryRemap(Frame& frame, const Inst& inst, const int* from);

// Checked mode: shadow of an elementwise op, from the operands before the op writes its result.
void ShadowElementwise(Frame& frame, const Inst& inst, int64_t n);
// Checked mode must see every lane of these ops (signed 32-bit add, sub, mul, shl).
bool WrapMatters(const Inst& inst);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_AFFINE_H_
