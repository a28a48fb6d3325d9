// Assembly text to an open module (docs/assembly.md). The exact inverse of isa::Print. The module returned is verified; the text is untrusted.
//
// Errors carry their Loc with file index 0: format them with FormatDiagnostic over {{file_name, text}}.
#ifndef TILEVM_FRONTENDS_ASM_ASSEMBLE_H_
#define TILEVM_FRONTENDS_ASM_ASSEMBLE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/module.h"

namespace tilevm::assembly {

absl::StatusOr<isa::Module> Assemble(absl::string_view text, absl::string_view file_name);

}  // namespace tilevm::assembly

#endif  // TILEVM_FRONTENDS_ASM_ASSEMBLE_H_
