// A kernel in assembly, specialized: what unit tests of the later stages start from. The function is called `kernel`.
#ifndef TILEVM_TESTS_ASSEMBLY_KERNEL_H_
#define TILEVM_TESTS_ASSEMBLY_KERNEL_H_

#include <string>
#include <vector>

#include "specializer/ir/kernel.h"
#include "specializer/partial_eval/evaluator.h"

namespace tilevm::tests {

specializer::ArgSpec PointerSpec(isa::DType dtype);  // divisible by 16
specializer::ArgSpec IntSpec();                      // i32, nothing known of it
specializer::ArgSpec StaticSpec(int64_t value);

// After all target-independent passes. A failure is one of the test's.
ir::Kernel AssembledKernel(const std::string& text, std::vector<specializer::ArgSpec> args);

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_ASSEMBLY_KERNEL_H_
