// Strings hold UTF-8, Python counts characters: the way between the two, and upper and lower case beyond ASCII.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_TEXT_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/status.h"

namespace tilevm::specializer {

uint32_t NextCodePoint(absl::string_view text, size_t& at);  // the character at byte `at`, which moves behind it
void AppendCodePoint(uint32_t code, std::string* out);
int64_t CodePoints(absl::string_view text);                   // how many characters
size_t ByteOfCodePoint(absl::string_view text, int64_t index); // where character number `index` begins; the size of the text beyond the last

// Latin, Greek and Cyrillic letters of two bytes; scripts without case stay; kUnimplemented names a character that is in no table here.
absl::StatusOr<std::string> ChangeCase(absl::string_view text, bool upper, Loc loc);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_TEXT_H_
