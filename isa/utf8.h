// UTF-8, which all texts are in: the way between bytes and characters.
#ifndef TILEVM_ISA_UTF8_H_
#define TILEVM_ISA_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace tilevm::isa {

// Whether a character begins with this byte.
inline bool StartsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

// Length of the well-formed sequence that starts `text`, and its code point; 0 for none: overlong forms and surrogates are none.
size_t DecodeUtf8(absl::string_view text, uint32_t* code_point);
// The same for text known to be well-formed: the character at byte `at`, which moves behind it.
uint32_t NextCodePoint(absl::string_view text, size_t& at);
void AppendUtf8(uint32_t code_point, std::string* out);

int64_t CodePoints(absl::string_view text);                     // how many characters
size_t ByteOfCodePoint(absl::string_view text, int64_t index);  // where character number `index` begins; the size of the text beyond the last

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_UTF8_H_
