// The semantic part of a module as bytes, canonical: what the file holds and what the identity is computed from.
#ifndef TILEVM_ISA_TBC_ENCODE_H_
#define TILEVM_ISA_TBC_ENCODE_H_

#include <string>
#include <vector>

#include "isa/module.h"

namespace tilevm::isa {

struct EncodedProgram {
  std::string strings;
  std::string constants;
  std::string units;
  std::vector<std::string> function_headers;
  std::vector<std::string> function_code;
};

EncodedProgram EncodeProgram(const Module& module);

// Places of functions, parameters and instructions, in the order in which the code lists them.
std::string EncodePlaces(const Module& module);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_TBC_ENCODE_H_
