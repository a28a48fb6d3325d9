// Any bytes, as they are and with right checksums: an error, or a well-formed module that writes, reads, prints and assembles back to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "frontends/asm/assemble.h"
#include "isa/print.h"
#include "isa/tbc.h"
#include "isa/tbc_container.h"
#include "isa/verifier.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Read(absl::string_view bytes) {
  absl::StatusOr<tilevm::isa::Module> module = tilevm::isa::ReadTbc(bytes);
  if (!module.ok()) {
    Require(module.status().code() == absl::StatusCode::kDataLoss || module.status().code() == absl::StatusCode::kUnimplemented);
    return;
  }
  Require(tilevm::isa::VerifyModule(*module).ok());
  absl::StatusOr<tilevm::isa::Module> again = tilevm::isa::ReadTbc(tilevm::isa::WriteTbc(*module));
  Require(again.ok() && tilevm::isa::SameProgram(*module, *again));
  std::string text = tilevm::isa::Print(*module);
  absl::StatusOr<tilevm::isa::Module> assembled = tilevm::assembly::Assemble(text, "printed.tasm");
  if (!assembled.ok() && text.size() > (size_t{1} << 20)) return;  // text has a limit of its own
  Require(assembled.ok() && tilevm::isa::Identity(*assembled) == tilevm::isa::Identity(*module));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes);
  tilevm::isa::RepairChecksums(bytes);
  Read(bytes);
  return 0;
}
