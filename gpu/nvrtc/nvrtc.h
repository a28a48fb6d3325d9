// NVRTC, taken by dlopen: CUDA C++ text to a cubin, straight for one architecture, with no include path at all.
#ifndef TILEVM_GPU_NVRTC_NVRTC_H_
#define TILEVM_GPU_NVRTC_NVRTC_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tilevm::gpu {

struct CompileRequest {
  std::string source;
  std::string name = "kernel.cu";                               // in NVRTC's messages; not part of any key
  std::vector<std::pair<std::string, std::string>> headers;     // name as included, text
  std::string arch;                                             // "sm_90a"
  bool line_info = false;
  bool want_ptx = false;                                        // also return the PTX (a second compilation)
  bool optimise = true;                                         // false: the assembler does not, for tests that only ask whether a text compiles
  bool own_cache = true;                                        // false: --no-cache, for measuring
};

struct CompileResult {
  std::string cubin;
  std::string ptx;
  std::string log;       // warnings, resource usage
  int registers = 0;     // from the log; 0 if not found
  int64_t spill_bytes = 0;
  bool serialised = false;  // the assembler lets wgmma products wait for each other (C7510, C7512, ...)
};

// Reads registers, spills and what became of wgmma from the log into the result.
void ReadLog(CompileResult& result);

class Nvrtc {
 public:
  // Tries `library` if given, else the names of the releases we know, newest first, then the toolkit's usual folder. kFailedPrecondition
  // names what was tried.
  static absl::StatusOr<std::shared_ptr<const Nvrtc>> Load(absl::string_view library = "");
  ~Nvrtc();

  int version() const { return version_; }  // 13000 is 13.0
  // "sm_80", "sm_90a", ... that this release compiles for (base numbers without the letter).
  const std::vector<int>& arch_numbers() const { return arch_numbers_; }
  // The options, in order, that a request compiles with: part of the cache key.
  static std::vector<std::string> Options(const CompileRequest& request);

  // kInvalidArgument with NVRTC's log if the text is wrong (a fault of the emitter); kFailedPrecondition for an arch that it does not know.
  // Thread-safe.
  absl::StatusOr<CompileResult> Compile(const CompileRequest& request) const;

 private:
  struct Table;
  Nvrtc() = default;
  std::unique_ptr<Table> table_;
  int version_ = 0;
  std::vector<int> arch_numbers_;
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_NVRTC_NVRTC_H_
