// Runs the passes in the order of passes.def.
#include "specializer/passes/passes.h"

#include "absl/strings/str_cat.h"

namespace tilevm::specializer {
namespace {

constexpr PassInfo kPasses[] = {
#define PASS(name, Function, summary) {#name, Function, summary},
#include "specializer/passes/passes.def"
#undef PASS
};

constexpr absl::string_view kInput = "partial_eval";

bool IsKnown(absl::string_view name) {
  if (name == kInput) return true;
  for (const PassInfo& pass : kPasses) {
    if (pass.name == name) return true;
  }
  return false;
}

}  // namespace

absl::Span<const PassInfo> Passes() { return kPasses; }

std::vector<absl::string_view> PassNames() {
  std::vector<absl::string_view> names;
  for (const PassInfo& pass : kPasses) names.push_back(pass.name);
  return names;
}

absl::StatusOr<ir::Kernel> RunPasses(ir::Kernel kernel, const PassOptions& options) {
  if (!options.stop_after.empty() && !IsKnown(options.stop_after)) {
    return absl::InvalidArgumentError(absl::StrCat("there is no pass ", options.stop_after));
  }
  if (options.observer) TILEVM_RETURN_IF_ERROR(options.observer(kInput, kernel));
  if (options.stop_after == kInput) return kernel;
  for (const PassInfo& pass : kPasses) {
    TILEVM_ASSIGN_OR_RETURN(kernel, pass.run(std::move(kernel)));
    const absl::Status verified = ir::Verify(kernel);
    if (!verified.ok()) {
      return ErrorAt(LocOf(verified), absl::StatusCode::kInternal, "after pass ", pass.name, ": ", verified.message());
    }
    if (options.observer) TILEVM_RETURN_IF_ERROR(options.observer(pass.name, kernel));
    if (options.stop_after == pass.name) return kernel;
  }
  return kernel;
}

absl::StatusOr<ir::Kernel> RunPasses(ir::Kernel kernel, absl::string_view stop_after) {
  PassOptions options;
  options.stop_after = stop_after;
  return RunPasses(std::move(kernel), options);
}

}  // namespace tilevm::specializer
