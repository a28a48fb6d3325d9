// What a dotted name of the outside means: aliases of Triton's modules brought to one spelling, and the op, dtype or annotation behind it.
#ifndef TILEVM_FRONTENDS_TRITON_NAMES_H_
#define TILEVM_FRONTENDS_TRITON_NAMES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "isa/ops.h"
#include "isa/types.h"

namespace tilevm::triton {

// "triton.language.math.exp2", "triton.language.core.exp2" -> "triton.language.exp2"; libdevice by any of its paths, and what triton.language.math
// had before libdevice was a module of its own -> "libdevice.tanh". Other paths are returned as they are.
std::string NormalizedPath(absl::string_view path);

// The op that a call of this normalized path is.
std::optional<isa::Op> OpOfPath(absl::string_view path);
// The element type that it names.
std::optional<isa::DType> DTypeOfPath(absl::string_view path);
inline constexpr absl::string_view kConstexprPath = "triton.language.constexpr";

// Place among a call's arguments (operands that a caller may give, in signature order) of the keyword, under the row's name or Triton's; -1: none.
int OperandOfKeyword(const isa::OpInfo& info, absl::string_view keyword);
// Ops whose last argument is a list that a call may spell out: reshape(x, 4, 4).
bool TakesSpreadList(isa::Op op);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_NAMES_H_
