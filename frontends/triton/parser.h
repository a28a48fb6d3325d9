// Parses a Python file into a Tree: the second step of the Triton front end, after lexer.h.
//
// A recursive-descent parser of CPython 3.12's grammar. Errors are kInvalidArgument with the place and, where CPython has one, its wording.
// Valid Python outside the front end's reach (match, complex numbers) becomes an Opaque node, so that the file still loads. Time is linear
// in the source; nesting beyond kMaxNesting is an error, so that no input overflows the stack.
#ifndef TILEVM_FRONTENDS_TRITON_PARSER_H_
#define TILEVM_FRONTENDS_TRITON_PARSER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontends/triton/ast.h"

namespace tilevm::triton {

constexpr int kMaxNesting = 300;  // of statements, expressions in brackets, operands of unary operators and arms of conditionals together

// `file` is the index that goes into the Loc of an error.
absl::StatusOr<Tree> Parse(std::string source, int32_t file);

// The tree as S-expressions, one top-level statement a line; for tests and debugging.
// With `spans`, each node is followed by @line:col-end_line:end_col.
std::string PrintTree(const Tree& tree, bool spans = false);
std::string PrintExpr(const Expr* expr, bool spans = false);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_PARSER_H_
