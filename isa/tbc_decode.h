// Sections to a module: the inverse of tbc_encode.h.
#ifndef TILEVM_ISA_TBC_DECODE_H_
#define TILEVM_ISA_TBC_DECODE_H_

#include "absl/status/statusor.h"
#include "isa/module.h"
#include "isa/tbc_bytes.h"
#include "isa/tbc_container.h"

namespace tilevm::isa {

// Where each function's code lies, from the functions section.
struct CodeRange {
  uint64_t offset = 0;  // in the file
  uint64_t length = 0;
};

struct DecodedProgram {
  Module module;
  std::vector<CodeRange> code;
};

absl::StatusOr<DecodedProgram> DecodeProgram(const Container& container);

// One function's code, filling function.body and reg_count; strings and constants map the file's ids to the module's. `registers_left` is
// the number of registers that may still be defined, over all functions, so that a few bytes cannot ask for much memory.
struct DecodeContext {
  const std::vector<StringId>& strings;
  const std::vector<ConstantId>& constants;
  size_t function_count;
  int64_t registers_left;
};
absl::Status DecodeCode(ByteReader& reader, DecodeContext& context, Module& module, Function& function);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TBC_DECODE_H_
