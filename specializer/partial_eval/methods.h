// A method of one of Python's own types, and what it is called with (python_methods.cc, string_methods.cc).
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_METHODS_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_METHODS_H_

#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

struct MethodCall {
  Evaluator::Impl& impl;
  const Value& self;
  absl::string_view name;
  const CallArgs& args;
  Loc loc;

  size_t count() const { return args.positional.size(); }
  absl::Status Check(size_t least, size_t most, std::initializer_list<absl::string_view> keywords = {}) const {
    return CheckArguments(args, name, least, most, loc, keywords);
  }
  absl::StatusOr<std::string> Text(size_t i, absl::string_view keyword = "") const {
    const Value value = Unboxed(Argument(args, i, keyword));
    if (!value.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: ", name, "() argument must be str, not ", impl.NameOfType(value));
    return value.string();
  }
};

using MethodFunction = absl::StatusOr<Value> (*)(const MethodCall&);
struct MethodRow {
  absl::string_view name;
  MethodFunction function;
};

absl::Span<const MethodRow> StringMethods();

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_METHODS_H_
