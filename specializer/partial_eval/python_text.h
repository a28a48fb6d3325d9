// Upper and lower case beyond ASCII.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_TEXT_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/status.h"

namespace tilevm::specializer {

// Latin, Greek and Cyrillic letters of two bytes; scripts without case stay; kUnimplemented names a character that is in no table here.
absl::StatusOr<std::string> ChangeCase(absl::string_view text, bool upper, Loc loc);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_TEXT_H_
