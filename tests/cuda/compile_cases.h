// Makes the CUDA text of every case and compiles it; no GPU is needed.
#ifndef TILEVM_TESTS_CUDA_COMPILE_CASES_H_
#define TILEVM_TESTS_CUDA_COMPILE_CASES_H_

#include <string>
#include <vector>

namespace tilevm::tests {

struct CompileOptions {
  std::vector<std::string> archs = {"sm_90a"};
  std::vector<std::string> folders;  // of case files
  int warps = 4;
  int threads = 0;                   // 0: one for each core
  bool optimise = true;
  bool profile = false;              // one text at a time, with the time that each takes
  std::string only;                  // cases whose name holds it
  bool show = false;                 // print layouts and texts instead of compiling
};

struct CompileSummary {
  std::vector<std::string> failures;  // "sm_90a sort/up/i8: ..."
  std::string skipped;                // why nothing was compiled; "" if it was
  std::string text;                   // lines of counts and times
};

CompileSummary CompileCases(const CompileOptions& options);

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_CUDA_COMPILE_CASES_H_
