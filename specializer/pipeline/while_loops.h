// Whether a while loop goes on by what it reads from memory, or by what an atomic in it returns.
//
// Such a loop may wait for another program, and what it reads may have changed when it is read again. A kernel that is split into roles (roles.h) goes through its
// loops twice, on both sides: they have to go round equally often, so such a loop is not split.
#ifndef TILEVM_SPECIALIZER_PIPELINE_WHILE_LOOPS_H_
#define TILEVM_SPECIALIZER_PIPELINE_WHILE_LOOPS_H_

#include "specializer/ir/kernel.h"

namespace tilevm::pipeline {

// loop: a `while` whose regions end in yields, as those of all loops and branches in it.
bool GoesByMemory(const ir::Op& loop);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_WHILE_LOOPS_H_
