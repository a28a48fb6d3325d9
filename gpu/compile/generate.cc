#include "gpu/compile/generate.h"

#include <algorithm>

#include "gpu/compile/legalize.h"
#include "isa/status.h"
#include "specializer/analysis/access_plan.h"
#include "specializer/analysis/axis_facts.h"

namespace tilevm::gpu {

absl::StatusOr<layout::LayoutKernel> LayOut(const ir::Kernel& given, const Target& target, const GenerateOptions& options) {
  const ir::Kernel kernel = Legalize(given, target);
  const int num_warps = kernel.options.num_warps;
  if (num_warps < 1 || (num_warps & (num_warps - 1)) != 0 || num_warps * 32 > target.max_threads_per_block) {
    return InvalidAt(kernel.loc, "num_warps is ", num_warps, "; it has to be a power of two between 1 and ", target.max_threads_per_block / 32);
  }
  layout::LayoutOptions layouts;
  layouts.num_warps = num_warps;
  const analysis::AxisFacts facts(kernel, {.trust_signs = options.promises.trust_signs});
  layouts.access = [&](const ir::Op& op) {
    const analysis::Access access = analysis::AccessOf(kernel, facts, op);
    return layout::LayoutOptions::Access{access.vector, access.kind == analysis::AccessKind::kContiguous ? access.axis : -1};
  };
  return layout::AssignLayouts(kernel, layouts);
}

absl::StatusOr<Emitted> Emit(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options) {
  (void)target;
  const analysis::AxisFacts facts(kernel.kernel, {.trust_signs = options.promises.trust_signs});
  EmitOptions emit;
  emit.num_warps = kernel.kernel.options.num_warps;
  emit.no_alias = options.promises.no_alias;
  emit.line_directives = options.line_directives;
  emit.vector = [&](const ir::Op& op) -> int64_t {
    const analysis::Access access = analysis::AccessOf(kernel.kernel, facts, op);
    const ir::ValueId pointer = op.operands[0];
    if (access.kind != analysis::AccessKind::kContiguous || !kernel.HasLayout(pointer)) return 1;
    const int64_t widest = 16 / isa::StorageBytes(isa::DType(kernel.kernel.TypeOf(pointer).elem.dtype));
    return std::min({access.vector, kernel.LayoutOf(pointer).ContiguousElements(access.axis), std::max<int64_t>(widest, 1)});
  };
  return EmitCuda(kernel, emit);
}

absl::StatusOr<Emitted> Generate(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options) {
  TILEVM_ASSIGN_OR_RETURN(layout::LayoutKernel laid_out, LayOut(kernel, target, options));
  TILEVM_ASSIGN_OR_RETURN(Emitted emitted, Emit(laid_out, target, options));
  if (emitted.smem_bytes > target.max_smem_per_block) {
    return ErrorAt(kernel.loc, absl::StatusCode::kResourceExhausted, "kernel ", kernel.name, " needs ", emitted.smem_bytes, " bytes of shared memory, ", target.arch,
                   " has ", target.max_smem_per_block, " for a block");
  }
  return emitted;
}

}  // namespace tilevm::gpu
