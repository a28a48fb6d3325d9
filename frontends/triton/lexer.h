// Splits Python source into tokens: the first step of the Triton front end.
//
// Follows CPython 3.12: logical lines, indentation with its tab rule, line joining, f-strings as nested tokens
// (PEP 701).  The input is untrusted bytes: a NUL, malformed UTF-8 or an unknown character is an error, never a crash;
// time and memory are linear in the source.  On an error the stream ends with kError at that place, so the parser can
// still report a mistake that comes before it.
#ifndef TILEVM_FRONTENDS_TRITON_LEXER_H_
#define TILEVM_FRONTENDS_TRITON_LEXER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontends/triton/token.h"

namespace tilevm::triton {

constexpr int kMaxBracketNesting = 200;  // as CPython
constexpr int kMaxIndentLevels = 100;    // as CPython
constexpr size_t kMaxSourceBytes = size_t{64} << 20;

struct TokenStream {
  std::vector<Token> tokens;  // never empty; the last one is kEndOfFile or kError
  std::string error;          // without position; empty when the whole source was read
  Span error_span;
  bool unclosed_bracket = false;  // the error is a bracket that is never closed
};

// `source` must outlive the tokens.
TokenStream Lex(absl::string_view source);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_LEXER_H_
