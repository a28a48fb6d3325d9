// How values are spelled in assembly: the words, quotes and numbers that the printer writes and the assembler reads. Each Format function has
// its Parse; a pair is an exact inverse, down to the bits of a NaN.
#ifndef TILEVM_ISA_LITERAL_H_
#define TILEVM_ISA_LITERAL_H_

#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "isa/module.h"

namespace tilevm::isa {

// Words: [A-Za-z_] and any byte of a UTF-8 sequence, then also digits.
bool IsWordStart(char c);
bool IsWordChar(char c);
bool IsWord(absl::string_view text);
bool IsDottedWords(absl::string_view text);  // "torch.empty_like", "torch"

std::string QuoteString(absl::string_view text);                 // with the quotes
std::string WordOrQuoted(absl::string_view text);                // bare if it is a word
std::string FormatInt(absl::int128 value);
std::optional<absl::int128> ParseInt(absl::string_view text);    // decimal or 0x, with sign; nothing if it does not fit
std::string FormatFloat(double value);                           // shortest text that reads back equal; "1.0", "-inf", "nan:0x..."
std::optional<double> ParseFloat(absl::string_view text);
std::string FormatConstant(const Constant& constant);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_LITERAL_H_
