// The integer expressions of `--grid` and of sizes in recipes: "cdiv(n, BLOCK), 1".
//
//   + - * // % ( )    cdiv(a, b)  min(a, ...)  max(a, ...)  next_power_of_2(a)    names of integer arguments
//
// Arithmetic is on 64 bits; an overflow, a division by zero or an unknown name is kInvalidArgument with the column.
#ifndef TILEVM_VM_GRID_EXPRESSION_H_
#define TILEVM_VM_GRID_EXPRESSION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tilevm::vm {

using NameLookup = std::function<std::optional<int64_t>(absl::string_view name)>;

absl::StatusOr<int64_t> EvaluateExpression(absl::string_view text, const NameLookup& lookup);
// Expressions separated by commas; parentheses or brackets around all of them are allowed.
absl::StatusOr<std::vector<int64_t>> EvaluateExpressionList(absl::string_view text, const NameLookup& lookup);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_GRID_EXPRESSION_H_
