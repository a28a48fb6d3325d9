#include "tests/assembly_kernel.h"

#include "frontends/asm/assemble.h"
#include "gtest/gtest.h"
#include "specializer/passes/passes.h"

namespace tilevm::tests {

using specializer::ArgSpec;

namespace {

ArgSpec Typed(isa::Type type, bool divisible) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::kTyped;
  spec.type = std::move(type);
  spec.divisible_by_16 = divisible;
  return spec;
}

}  // namespace

ArgSpec PointerSpec(isa::DType dtype) { return Typed(isa::PointerType(dtype), true); }
ArgSpec IntSpec() { return Typed(isa::ScalarType(isa::DType::kI32), false); }
ArgSpec StaticSpec(int64_t value) {
  ArgSpec spec;
  spec.value = specializer::Value::Int(value);
  return spec;
}

ir::Kernel AssembledKernel(const std::string& text, std::vector<ArgSpec> args) {
  absl::StatusOr<isa::Module> module = assembly::Assemble(text, "case.tasm");
  EXPECT_TRUE(module.ok()) << module.status();
  specializer::Evaluator evaluator(&*module, nullptr);
  absl::StatusOr<specializer::Value> function = evaluator.Global("kernel");
  EXPECT_TRUE(function.ok()) << function.status();
  specializer::SpecializationKey key;
  key.args = std::move(args);
  absl::StatusOr<ir::Kernel> kernel = evaluator.Specialize(*function, key);
  EXPECT_TRUE(kernel.ok()) << FormatDiagnostic(kernel.status(), module->files);
  absl::StatusOr<ir::Kernel> passed = specializer::RunPasses(*std::move(kernel));
  EXPECT_TRUE(passed.ok()) << passed.status();
  return *std::move(passed);
}

}  // namespace tilevm::tests
