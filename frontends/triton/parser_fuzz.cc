// Any bytes: the parser gives a tree or an error with a place, within its limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "frontends/triton/parser.h"
#include "isa/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string source(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<tilevm::triton::Tree> tree = tilevm::triton::Parse(source, 0);
  if (tree.ok()) {
    tilevm::triton::PrintTree(*tree);
  } else if (tree.status().message().empty() || !tilevm::LocOf(tree.status()).known()) {
    std::abort();
  }
  return 0;
}
