// What Generate gave, as bytes: an entry of the disk cache (kept_text.h). Entries are untrusted: what does not fit the kernel is refused.
#ifndef TILEVM_GPU_COMPILE_TEXT_ENTRY_H_
#define TILEVM_GPU_COMPILE_TEXT_ENTRY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/emit/emitted.h"
#include "specializer/ir/kernel.h"

namespace tilevm::gpu {

std::string EncodeText(const Emitted& emitted);
// kDataLoss if the bytes are not an entry, or one that cannot be of this kernel.
absl::StatusOr<Emitted> DecodeText(absl::string_view bytes, const ir::Kernel& kernel);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_TEXT_ENTRY_H_
