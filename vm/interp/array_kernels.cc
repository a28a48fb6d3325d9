// The array kernels of elementwise ops and casts.
#include "vm/interp/compile.h"

namespace tilevm::vm {

ArrayKernel FindKernel(isa::Op op, isa::DType dtype, bool propagate_nan) {
  using kernels::Operands;
  ArrayKernel kernel;
  kernel.arity = isa::EvalArity(op);
  if (kernel.arity == 1) {
    kernel.unary = kernels::FindUnary(op, dtype);
  } else if (kernel.arity == 2) {
    kernel.binary = kernels::FindBinary(op, dtype, Operands::kArrays, propagate_nan);
    kernel.scalar_x = kernels::FindBinary(op, dtype, Operands::kScalarX, propagate_nan);
    kernel.scalar_y = kernels::FindBinary(op, dtype, Operands::kScalarY, propagate_nan);
  } else {
    kernel.ternary = kernels::FindTernary(op, dtype, propagate_nan);
  }
  return kernel;
}

ArrayKernel FindCastKernel(isa::DType from, isa::DType to, isa::Rounding rounding) {
  ArrayKernel kernel;
  kernel.arity = 1;
  kernel.unary = kernels::FindCast(from, to, rounding);
  return kernel;
}

ArrayKernel FindPowIntKernel(isa::DType dtype) {
  ArrayKernel kernel;
  kernel.arity = 2;
  kernel.binary = kernels::FindPowInt(dtype);
  return kernel;
}

}  // namespace tilevm::vm
