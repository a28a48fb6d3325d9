// Any text: an error with a message, or a module whose printed text assembles to the same program and prints alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "frontends/asm/assemble.h"
#include "isa/print.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<tilevm::isa::Module> module = tilevm::assembly::Assemble(text, "fuzz.tasm");
  if (!module.ok()) {
    if (module.status().message().empty()) std::abort();
    return 0;
  }
  std::string printed = tilevm::isa::Print(*module);
  absl::StatusOr<tilevm::isa::Module> again = tilevm::assembly::Assemble(printed, "printed.tasm");
  if (!again.ok() || !tilevm::isa::SameProgram(*module, *again) || tilevm::isa::Print(*again) != printed) std::abort();
  return 0;
}
