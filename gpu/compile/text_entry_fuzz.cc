// Entries of a cache of texts are untrusted: any bytes are an entry or an error, and what is an entry is written as it was read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/compile/text_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tilevm::ir::Kernel* const kernel = [] {
    auto* made = new tilevm::ir::Kernel;
    for (int i = 0; i < 8; ++i) {
      made->params.emplace_back();
      made->params.back().value = made->NewValue(tilevm::isa::ScalarType(tilevm::isa::DType::kI32));
    }
    return made;
  }();
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<tilevm::gpu::Emitted> text = tilevm::gpu::DecodeText(bytes, *kernel);
  if (text.ok() && tilevm::gpu::EncodeText(*text) != bytes) std::abort();
  return 0;
}
