// The Python class of an error that carries no text of its own for it.
//
// Rooms word most errors with the class in front ("KeyError: 'x'"). Where the message stays free of it, a status says its class in a payload: a launch marks
// the errors of compilation, of binding arguments and of memory that a device lacks. Impl::ExceptionOf reads it; what has neither is a RuntimeError, or a
// NotImplementedError where the status is kUnimplemented.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_EXCEPTIONS_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_EXCEPTIONS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace tilevm::specializer {

inline constexpr char kExceptionPayload[] = "tilevm/exception";  // a path: "triton.CompilationError", "builtins.TypeError"

// Marks the status, if it is an error that nothing inside has marked.
inline absl::Status WithException(absl::Status status, absl::string_view path) {
  if (!status.ok() && !status.GetPayload(kExceptionPayload).has_value()) status.SetPayload(kExceptionPayload, absl::Cord(path));
  return status;
}

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_EXCEPTIONS_H_
