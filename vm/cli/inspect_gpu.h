// The stages of `tilevm inspect` behind the target-independent passes: layout, pipeline, slice, cuda, ptx, sass, resources.
#ifndef TILEVM_VM_CLI_INSPECT_GPU_H_
#define TILEVM_VM_CLI_INSPECT_GPU_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "specializer/ir/kernel.h"

namespace tilevm::vm::cli {

const std::vector<std::string>& GpuStages();
// The kernel after all passes as text of that stage, for the architecture ("": that of device 0, else sm_90a).
absl::StatusOr<std::string> GpuStage(const ir::Kernel& kernel, absl::string_view stage, absl::string_view arch);
// Which path each load, store and dot takes there (gpu/compile/remarks.h), with the source lines.
// Whether the target has the shared memory that it takes.
absl::Status GpuFits(const ir::Kernel& kernel, absl::string_view arch);
absl::StatusOr<std::string> GpuRemarks(const ir::Kernel& kernel, absl::string_view arch, const std::vector<SourceFile>& files);

}  // namespace tilevm::vm::cli

#endif  // TILEVM_VM_CLI_INSPECT_GPU_H_
