// A function outside the source by its dotted path ("triton.testing.do_bench", "os.path.join"), and the tables of them. Private to vm/host.
#ifndef TILEVM_VM_HOST_PATH_CALL_H_
#define TILEVM_VM_HOST_PATH_CALL_H_

#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "vm/host/tensor.h"

namespace tilevm::vm::host {

struct PathCall {
  Evaluator& evaluator;
  absl::string_view path;
  const CallArgs& args;
  Loc loc;

  Value Arg(size_t i, absl::string_view name) const {
    if (i < args.positional.size()) return args.positional[i];
    for (const auto& [key, value] : args.keyword) {
      if (key == name) return value;
    }
    return Value();
  }
};

using PathFunction = absl::StatusOr<Value> (*)(const PathCall& call);
using PathRow = std::pair<absl::string_view, PathFunction>;

// python_modules.cc: time, os, sys, argparse.
absl::Span<const PathRow> PythonModuleFunctions();
std::optional<Value> PythonModuleValue(Evaluator& evaluator, absl::string_view path);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_PATH_CALL_H_
