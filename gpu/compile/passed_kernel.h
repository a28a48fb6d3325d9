// For tests: a kernel of a module, specialized and taken through the target-independent passes.
#ifndef TILEVM_GPU_COMPILE_PASSED_KERNEL_H_
#define TILEVM_GPU_COMPILE_PASSED_KERNEL_H_

#include <gtest/gtest.h>

#include <utility>

#include "absl/status/statusor.h"
#include "specializer/passes/passes.h"
#include "tests/example_kernels.h"

namespace tilevm::gpu {

inline ir::Kernel PassedKernel(const tests::ExampleKernel& example, const absl::StatusOr<isa::Module>& module, int num_warps) {
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<ir::Kernel> typed = tests::SpecializeExample(example, *module);
  EXPECT_TRUE(typed.ok()) << typed.status();
  typed->options.num_warps = num_warps;
  absl::StatusOr<ir::Kernel> kernel = specializer::RunPasses(*std::move(typed));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *std::move(kernel);
}

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_PASSED_KERNEL_H_
