// The assembly text of an open module (docs/assembly.md). The exact inverse of frontends/asm: assembling the text gives the same program, and
// the text depends on the program alone, not on the order of its pools or on places. A damaged module prints too, with <bad ...> marks.
#ifndef TILEVM_ISA_PRINT_H_
#define TILEVM_ISA_PRINT_H_

#include <string>

#include "isa/module.h"

namespace tilevm::isa {

std::string Print(const Module& module);
// One function, as in the whole text.
std::string PrintFunction(const Module& module, uint32_t function_index);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_PRINT_H_
