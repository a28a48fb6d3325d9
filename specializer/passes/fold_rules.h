// The rules of the fold pass. Each looks at one op and gives the value that replaces its (only) result, kNoValue if the rule does not apply;
// FoldEffect changes or drops memory ops instead.
#ifndef TILEVM_SPECIALIZER_PASSES_FOLD_RULES_H_
#define TILEVM_SPECIALIZER_PASSES_FOLD_RULES_H_

#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {

// Every operand is constant.
ir::ValueId FoldConstants(Rewriter& rewriter, const ir::Op& op);
// x + 0, x * 1, where(c, x, x), casts there and back, ...: exact for every x, floats included.
ir::ValueId FoldIdentities(Rewriter& rewriter, const ir::Op& op);
// A comparison that the ranges of its operands decide.
ir::ValueId FoldRanges(Rewriter& rewriter, const ir::Op& op);
// A shape op of a splat or of another shape op.
ir::ValueId FoldShapes(Rewriter& rewriter, const ir::Op& op);
// Masks that are constant. False if the op is to go.
bool FoldEffect(Rewriter& rewriter, ir::Op& op);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PASSES_FOLD_RULES_H_
