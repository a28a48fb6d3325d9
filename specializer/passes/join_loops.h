// What a target that checks its launches may take for granted of joined loops (join_loops.cc).
#ifndef TILEVM_SPECIALIZER_PASSES_JOIN_LOOPS_H_
#define TILEVM_SPECIALIZER_PASSES_JOIN_LOOPS_H_

#include "specializer/ir/kernel.h"

namespace tilevm::specializer {

// A `minimum` or `maximum` with the attribute "trusted" is its first operand: the launcher checks that (analysis/launch_ranges.h: SignsAreAsTrusted). The constant
// that a joined loop begins with is one again, and programs that go on together begin together.
void TrustBounds(ir::Kernel* kernel);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PASSES_JOIN_LOOPS_H_
