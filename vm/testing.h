// Host programs in tests: a piece of Python is run as a file, its asserts have to hold.
#ifndef TILEVM_VM_TESTING_H_
#define TILEVM_VM_TESTING_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "vm/engine.h"

namespace tilevm::vm {

inline std::string printed;  // by the last RunBody

// "" if the file test.py runs to its end, else the diagnostic. Its first three lines are imports: `body` starts at line 4.
inline std::string RunBody(absl::string_view body, bool checked = false, int64_t value_bytes = 0, int64_t tensor_bytes = 0) {
  printed.clear();
  EngineOptions options;
  options.print = [](absl::string_view line) { absl::StrAppend(&printed, line, "\n"); };
  options.checked = checked;
  if (value_bytes != 0) options.limits.max_value_bytes = value_bytes;
  options.limits.max_tensor_bytes = tensor_bytes;
  std::vector<SourceFile> files;
  auto program = Engine::Create(options)->Load(absl::StrCat("import torch\nimport triton\nimport torch.nn.functional as F\n", body), "test.py", {}, &files);
  if (!program.ok()) return FormatDiagnostic(program.status(), files);
  const absl::Status status = (*program)->RunMain();
  return status.ok() ? "" : (*program)->Format(status);
}

}  // namespace tilevm::vm

#endif  // TILEVM_VM_TESTING_H_
