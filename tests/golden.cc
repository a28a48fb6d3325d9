#include "tests/golden.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "isa/print.h"
#include "isa/status.h"
#include "specializer/ir/kernel.h"
#include "specializer/passes/passes.h"
#include "tests/example_kernels.h"

namespace tilevm::tests {
namespace {

absl::Status AddStages(const ExampleKernel& example, std::map<std::string, std::string>& texts) {
  TILEVM_ASSIGN_OR_RETURN(isa::Module module, CompileExample(example));
  std::string folder = absl::StrCat("tests/golden/", example.kernel, "/");
  int index = module.FindFunction(example.kernel);
  if (index < 0) return absl::InternalError(absl::StrCat(example.file, ": no function ", example.kernel));
  texts[absl::StrCat(folder, "1.open.tasm")] = isa::PrintFunction(module, static_cast<uint32_t>(index));
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel typed, SpecializeExample(example, module));
  int number = 2;
  specializer::PassOptions options;
  options.observer = [&](absl::string_view stage, const ir::Kernel& after) {
    texts[absl::StrCat(folder, number++, ".", stage, ".ir")] = ir::Print(after);
    return absl::OkStatus();
  };
  return specializer::RunPasses(std::move(typed), options).status();
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> GoldenTexts() {
  std::map<std::string, std::string> texts;
  for (const ExampleKernel& example : ExampleKernels()) {
    absl::Status status = AddStages(example, texts);
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(example.kernel, ": ", status.message()));
  }
  return texts;
}

}  // namespace tilevm::tests
