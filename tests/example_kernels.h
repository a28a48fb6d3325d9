// The four kernels of examples/ with one fixed specialization each, for golden texts and benchmarks.
#ifndef TILEVM_TESTS_EXAMPLE_KERNELS_H_
#define TILEVM_TESTS_EXAMPLE_KERNELS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "isa/module.h"
#include "specializer/partial_eval/evaluator.h"

namespace tilevm::tests {

struct ExampleKernel {
  const char* file;    // "vector_add": examples/vector_add.py below the working directory
  const char* kernel;  // "add_kernel"
  // The arguments, in order: a type ("*f16", "i32", "f32"; a trailing "/16" says divisible by 16) or a static value ("=64", "=True").
  const char* args;
};

absl::Span<const ExampleKernel> ExampleKernels();

std::string SourceOf(const ExampleKernel& example);
absl::StatusOr<isa::Module> CompileExample(const ExampleKernel& example);
absl::StatusOr<specializer::SpecializationKey> KeyOf(const ExampleKernel& example);
// Partial evaluation alone.
absl::StatusOr<ir::Kernel> SpecializeExample(const ExampleKernel& example, const isa::Module& module);

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_EXAMPLE_KERNELS_H_
