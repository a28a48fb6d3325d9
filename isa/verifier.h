// Checks that a module is well formed: what every room may rely on after a module was read, assembled, built or lowered.
//
// Checked here, in one linear pass: ids within their pools; ops of open bytecode with as many operands, results, regions and names as their row
// allows; registers numbered in order of definition and visible where they are read; each region ended by one terminator that fits it and
// yields as many values as are expected; loops and carried values; units and cells. Types are not: an open module has none.
#ifndef TILEVM_ISA_VERIFIER_H_
#define TILEVM_ISA_VERIFIER_H_

#include "absl/status/status.h"
#include "isa/module.h"

namespace tilevm::isa {

inline constexpr int kMaxNesting = 512;            // regions inside regions, the body of the function included
inline constexpr size_t kMaxParams = 1 << 16;      // of one function, captures included
inline constexpr size_t kMaxResults = 1 << 12;     // of one instruction
inline constexpr size_t kMaxUnits = 1 << 12;
inline constexpr uint32_t kMaxRegisters = 1u << 24;  // of one function

absl::Status VerifyModule(const Module& module);

// Arguments of a region in open bytecode, which follow from the instruction: the item and what is carried, the exception, ...
size_t OpenRegionArgCount(Op op, int region, size_t operand_count);
// Operands of the yield that ends a region in open bytecode.
size_t OpenYieldCount(Op op, int region, size_t result_count);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_VERIFIER_H_
