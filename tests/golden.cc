#include "tests/golden.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu/compile/generate.h"
#include "isa/print.h"
#include "isa/status.h"
#include "specializer/ir/kernel.h"
#include "specializer/passes/passes.h"
#include "tests/example_kernels.h"

namespace tilevm::tests {
namespace {

// Beside the example kernels, for its CUDA text alone.
constexpr ExampleKernel kLayerNorm = {"layer_norm", "layer_norm_forward", "*f16/16 *f16/16 *f16/16 *f16/16 *f32/16 *f32/16 i32/16 i32/16 f32 =1024"};

// The text for an arch whose path is the plain one: cp.async and mma.sync; of matmul also for one with roles, tensor maps and wgmma. Attention, whose text is long
// and much in motion, has none.
absl::Status AddCuda(const ir::Kernel& kernel, const std::string& path, std::map<std::string, std::string>& texts) {
  for (const char* arch : {"sm_80", "sm_90a"}) {
    if (arch != std::string("sm_80") && kernel.name != "matmul_kernel") continue;
    TILEVM_ASSIGN_OR_RETURN(const gpu::Target target, gpu::TargetOf(arch));
    TILEVM_ASSIGN_OR_RETURN(const gpu::Emitted emitted, gpu::Generate(kernel, target));
    texts[absl::StrCat(path, arch, ".cu")] = emitted.text;
  }
  return absl::OkStatus();
}

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
  TILEVM_ASSIGN_OR_RETURN(const ir::Kernel kernel, specializer::RunPasses(std::move(typed), options));
  if (absl::string_view(example.kernel) == "flash_attn_kernel") return absl::OkStatus();
  return AddCuda(kernel, absl::StrCat(folder, number, "."), texts);
}

absl::Status AddLayerNorm(std::map<std::string, std::string>& texts) {
  TILEVM_ASSIGN_OR_RETURN(const isa::Module module, CompileExample(kLayerNorm));
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel typed, SpecializeExample(kLayerNorm, module));
  TILEVM_ASSIGN_OR_RETURN(const ir::Kernel kernel, specializer::RunPasses(std::move(typed)));
  return AddCuda(kernel, absl::StrCat("tests/golden/", kLayerNorm.kernel, "/"), texts);
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> GoldenTexts() {
  std::map<std::string, std::string> texts;
  for (const ExampleKernel& example : ExampleKernels()) {
    absl::Status status = AddStages(example, texts);
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(example.kernel, ": ", status.message()));
  }
  TILEVM_RETURN_IF_ERROR(AddLayerNorm(texts));
  return texts;
}

}  // namespace tilevm::tests
