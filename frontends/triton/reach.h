// Finds the code that a program needs. The main file is needed as a whole; of a sibling only the statements that define a name that someone
// asks for, and what those read in turn. Private to the front end.
#ifndef TILEVM_FRONTENDS_TRITON_REACH_H_
#define TILEVM_FRONTENDS_TRITON_REACH_H_

#include "frontends/triton/program.h"

namespace tilevm::triton {

// Ensures: every unit is loaded that lowering will refer to, and SourceUnit::needed marks the statements to lower.
void MarkNeeded(Program& program);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_REACH_H_
