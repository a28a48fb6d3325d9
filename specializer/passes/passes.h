// The target-independent passes and their runner.
//
// A pass takes a verified kernel and gives a verified kernel that computes the same: bit for bit, apart from contract and accumulate_dot, which
// fuse roundings (docs/semantics.md). The runner verifies after each; a kernel that fails is kInternal with the pass's name.
#ifndef TILEVM_SPECIALIZER_PASSES_PASSES_H_
#define TILEVM_SPECIALIZER_PASSES_PASSES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "specializer/ir/kernel.h"

namespace tilevm::specializer {

#define PASS(name, Function, summary) absl::StatusOr<ir::Kernel> Function(ir::Kernel kernel);
#include "specializer/passes/passes.def"
#undef PASS

struct PassInfo {
  absl::string_view name;
  absl::StatusOr<ir::Kernel> (*run)(ir::Kernel);
  absl::string_view summary;
};
absl::Span<const PassInfo> Passes();
std::vector<absl::string_view> PassNames();

// Called with "partial_eval" and the input, then with each pass's name and its output.
using PassObserver = std::function<absl::Status(absl::string_view pass, const ir::Kernel& kernel)>;

struct PassOptions {
  absl::string_view stop_after;  // a pass's name, or "partial_eval" for none at all; empty runs all. An unknown name is kInvalidArgument
  PassObserver observer;         // may be null
};

absl::StatusOr<ir::Kernel> RunPasses(ir::Kernel kernel, const PassOptions& options = {});
absl::StatusOr<ir::Kernel> RunPasses(ir::Kernel kernel, absl::string_view stop_after);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PASSES_PASSES_H_
