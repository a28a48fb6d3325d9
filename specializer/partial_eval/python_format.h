// Python's text of numbers and strings: repr of floats, quoting, the format mini-language and `%` formatting.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_FORMAT_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_FORMAT_H_

#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/types.h"
#include "absl/functional/function_ref.h"
#include "specializer/partial_eval/value.h"

namespace tilevm::specializer {

std::string IntToString(absl::int128 value, int base = 10);
std::string FloatRepr(double value);               // shortest text that reads back as the same double: 0.1, 1e+16, inf
std::string QuoteString(absl::string_view text);   // 'it', "it's"
std::string TritonTypeName(isa::DType dtype);      // "fp32", "int1", "bf16", "fp8e4nv": str() of a Triton dtype

// format(value, spec), as in f"{value:spec}".
absl::StatusOr<std::string> FormatValue(const Value& value, absl::string_view spec, Loc loc);
// text % value: %d %i %s %r %f %e %g %x %o %c %%. `to_text` gives str() or, if the flag is set, repr() of a value; `to_number` what formats as a number
// in its place (the item of a tensor), else the value itself.
absl::StatusOr<std::string> PercentFormat(absl::string_view text, const Value& value, Loc loc,
                                          absl::FunctionRef<Value(const Value& value)> to_number,
                                          absl::FunctionRef<absl::StatusOr<std::string>(const Value& value, bool as_repr)> to_text);
inline constexpr size_t kMaxText = size_t{1} << 26;  // bytes of a string that one operation may make

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_PYTHON_FORMAT_H_
