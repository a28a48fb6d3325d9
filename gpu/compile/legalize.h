// Rewrites what a target has no instruction for into what it has, before layouts are assigned.
//
// fp8 products before sm_89, and products of two fp8 types, go through f16, which holds both exactly. A product into f16 is summed in f32 and rounded at
// the end, as the CPU engine does it.
#ifndef TILEVM_GPU_COMPILE_LEGALIZE_H_
#define TILEVM_GPU_COMPILE_LEGALIZE_H_

#include "gpu/compile/target.h"
#include "specializer/ir/kernel.h"

namespace tilevm::gpu {

ir::Kernel Legalize(ir::Kernel kernel, const Target& target);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_LEGALIZE_H_
