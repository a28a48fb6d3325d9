// From a specialized kernel to a cubin: the text, by the disk cache or the generator (kept_text.h), then the cubin, by the disk cache or NVRTC.
//
// The key of a cubin is SHA-256 over the emitted text without its #line directives, the texts of the device templates, the architecture, the options and
// the release of NVRTC. Paths, dates, the environment and the working directory are in none of these.
//
// NVRTC is loaded on a thread of its own as soon as a Compiler is made: it takes some 10 ms that a program with a warm cache need not wait for in turn.
#ifndef TILEVM_GPU_COMPILE_COMPILER_H_
#define TILEVM_GPU_COMPILE_COMPILER_H_

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/cache/disk_cache.h"
#include "gpu/compile/generate.h"
#include "gpu/compile/target.h"
#include "gpu/nvrtc/nvrtc.h"
#include "specializer/ir/kernel.h"

namespace tilevm::gpu {

struct GpuKernel {
  Emitted emitted;            // entry, threads, shared memory, text
  std::string cubin;
  int registers = 0;          // of a thread
  int64_t spill_bytes = 0;    // of a thread
  bool serialised = false;    // products wait for each other (fallback.h)
  bool from_disk = false;
  double generate_us = 0;     // layouts and text
  double nvrtc_us = 0;        // 0 if the cubin came from the disk
};

struct CompilerOptions {
  DiskCacheOptions cache;          // an empty directory: nothing is kept
  std::string nvrtc_library;       // "": the system's
};

class Compiler {
 public:
  explicit Compiler(CompilerOptions options);

  // kUnimplemented for what has no template yet, kResourceExhausted beyond the target's limits, kFailedPrecondition without NVRTC (only when it is
  // needed: without it a cubin that any release of CUDA 12 or 13 made is taken from the disk). Thread-safe.
  absl::StatusOr<std::shared_ptr<const GpuKernel>> Compile(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options = {});
  // The first half: what gpu::Generate gives, from the disk if it was made before (kept_text.h).
  absl::StatusOr<Emitted> GenerateText(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options);
  // The second half: text to cubin. debug adds line information.
  absl::StatusOr<std::shared_ptr<GpuKernel>> CompileText(Emitted emitted, const Target& target, bool debug);

  absl::StatusOr<std::shared_ptr<const Nvrtc>> nvrtc();
  DiskCache& cache() { return cache_; }

 private:
  CompilerOptions options_;
  DiskCache cache_;
  std::shared_future<absl::StatusOr<std::shared_ptr<const Nvrtc>>> nvrtc_;
};

// The key described above. `release` is Nvrtc::version().
CacheKey KeyOf(absl::string_view text, const std::vector<std::pair<std::string, std::string>>& headers, absl::string_view arch,
               const std::vector<std::string>& options, int release);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_COMPILER_H_
