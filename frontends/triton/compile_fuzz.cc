// Any bytes: the front end gives an error or a module that the verifier accepts and the printer prints.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "frontends/triton/compile.h"
#include "isa/print.h"
#include "isa/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view source(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<tilevm::isa::Module> module = tilevm::triton::CompileTriton(source, "fuzz.py");
  if (!module.ok()) return 0;
  const absl::Status verified = tilevm::isa::VerifyModule(*module);
  if (!verified.ok()) {
    std::fprintf(stderr, "%s\n", verified.ToString().c_str());
    std::abort();
  }
  tilevm::isa::Print(*module);
  return 0;
}
