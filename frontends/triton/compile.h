// The Triton front end: a Python source file in, an open isa::Module out (docs/architecture.md, sections 1 and 2).
//
// A syntax error is an error of the whole file. Anything else that cannot be lowered becomes a stub, which is an error only where it is reached.
// Nothing is executed: decorators, configs and module-level code are functions and cells of the module like everything else.
#ifndef TILEVM_FRONTENDS_TRITON_COMPILE_H_
#define TILEVM_FRONTENDS_TRITON_COMPILE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/module.h"

namespace tilevm::triton {

struct CompileOptions {
  // Gives the text of a file, kNotFound if there is none. Imports of sibling files are followed only if it is set; LoadFromDisk reads files.
  std::function<absl::StatusOr<std::string>(const std::string& path)> load_file;
  // Folders where `import a.b` looks for a/b.py, after the folder of the file itself and the root of the package that it lies in.
  std::vector<std::string> include_dirs;
  // Most files that imports may bring in.
  int max_files = 200;
};

// units[0] is this file; `file_name` is its path, used to find siblings and to name it in errors (files[0]).
absl::StatusOr<isa::Module> CompileTriton(absl::string_view source, absl::string_view file_name, const CompileOptions& options = {});

absl::StatusOr<std::string> LoadFromDisk(const std::string& path);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_COMPILE_H_
