// Calls a function on each direct part of a node, in the order of the source.
#ifndef TILEVM_FRONTENDS_TRITON_VISIT_H_
#define TILEVM_FRONTENDS_TRITON_VISIT_H_

#include "absl/functional/function_ref.h"
#include "frontends/triton/ast.h"

namespace tilevm::triton {

using ExprVisitor = absl::FunctionRef<void(const Expr*)>;
using BlockVisitor = absl::FunctionRef<void(const Block&)>;

// The sub-expressions of an expression; defaults of a lambda's parameters and its body too.
void ForEachPart(const Expr* expr, ExprVisitor visit);
// The expressions and blocks that belong to a statement itself. Not the body of a function or class, but its decorators, defaults and bases.
void ForEachPart(const Stmt* stmt, ExprVisitor visit_expr, BlockVisitor visit_block);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_VISIT_H_
