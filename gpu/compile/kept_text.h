// The text of a kernel kept on the disk, so that a later process neither lays tiles out nor prints: the first of the two levels of the cache.
//
//   text key     SHA-256 of the kernel after the passes (its IR, places and names too), the target, the options of Generate, the generator's own version
//     -> entry   what Generate gave: the text, what a launcher has to know of it, the launch slice
//   cubin key    SHA-256 of the text, the device templates, the architecture, NVRTC's options and release (compiler.h: KeyOf)
//     -> entry   registers, spilled bytes, cubin
//
// The version is a hash of the sources that make the text. text_entry.h has the entries.
#ifndef TILEVM_GPU_COMPILE_KEPT_TEXT_H_
#define TILEVM_GPU_COMPILE_KEPT_TEXT_H_

#include "absl/strings/string_view.h"
#include "gpu/cache/disk_cache.h"
#include "gpu/compile/generate.h"
#include "gpu/compile/target.h"
#include "specializer/ir/kernel.h"

namespace tilevm::gpu {

extern const char kGeneratorVersion[];  // made by the build

CacheKey TextKey(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options, absl::string_view version = kGeneratorVersion);

// Whether Generate's answer for these options can be kept: kernels that are split anew bring a kernel of their own, and plans are for a person.
inline bool CanBeKept(const GenerateOptions& options) { return options.promises.parts == 1 && !options.describe; }

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_KEPT_TEXT_H_
