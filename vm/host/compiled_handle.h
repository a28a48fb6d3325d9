// What `kernel[grid](...)` and `kernel.warmup(...)` give: Triton's CompiledKernel, which tells its resources and texts and can be launched again.
#ifndef TILEVM_VM_HOST_COMPILED_HANDLE_H_
#define TILEVM_VM_HOST_COMPILED_HANDLE_H_

#include <memory>

#include "vm/host/launch.h"

namespace tilevm::vm::host {

// Resources are found when they are asked for: on a GPU they need its compiler.
Value MakeCompiledHandle(const Value& kernel, const BoundCall& bound, std::shared_ptr<const CompiledKernel> compiled);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_COMPILED_HANDLE_H_
