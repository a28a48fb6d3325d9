// Names of registers in printed text. A register is named for what the source called it where that is known: parameters and captures by their
// own names, the result of a bind by the bind's name, what a region carries by the name that its yield gives it. Others are
// left to the printer, which numbers them in the order of the text.
#ifndef TILEVM_ISA_PRINT_NAMES_H_
#define TILEVM_ISA_PRINT_NAMES_H_

#include <string>
#include <vector>

#include "isa/module.h"

namespace tilevm::isa {

// One text for each register, without '%'; unique within the function ("x", "x.1"), or empty.
std::vector<std::string> RegisterNames(const Module& module, const Function& function);

// "x" of "x.1": what a bind to that register is called unless it says otherwise.
absl::string_view BaseName(absl::string_view register_name);

// How often each register is read.
std::vector<int> UseCounts(const Function& function);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_PRINT_NAMES_H_
