#include "gpu/compile/legalize.h"

#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {
namespace {

using isa::DType;

ir::ValueId Cast(specializer::Rewriter& rewriter, ir::ValueId x, DType dtype, Loc loc) {
  isa::Type type = rewriter.TypeOf(x);
  if (type.elem.dtype == dtype) return x;
  type.elem.dtype = dtype;
  ir::Op cast;
  cast.op = isa::Op::kCast;
  cast.operands = {x};
  cast.SetAttr("rounding", std::string("rtne"));
  cast.loc = loc;
  const isa::Type results[] = {type};
  return rewriter.builder().EmitOp(std::move(cast), results)[0];
}

}  // namespace

ir::Kernel Legalize(ir::Kernel kernel, const Target& target) {
  specializer::Rewriter rewriter(&kernel);
  rewriter.Run([&](ir::Op& op) {
    if (op.op != isa::Op::kDot) return true;
    const DType a = rewriter.TypeOf(op.operands[0]).elem.dtype, b = rewriter.TypeOf(op.operands[1]).elem.dtype;
    if (isa::IsFp8(a) && isa::IsFp8(b) && (a != b || target.number < 89)) {
      for (int i : {0, 1}) op.operands[i] = Cast(rewriter, op.operands[i], DType::kF16, op.loc);
    }
    const isa::Type result = rewriter.TypeOf(op.results[0]);
    if (result.elem.dtype != DType::kF16) return true;
    const ir::ValueId acc = Cast(rewriter, op.operands[2], DType::kF32, op.loc);
    const ir::ValueId product =
        specializer::EmitCopy(rewriter.builder(), op, {op.operands[0], op.operands[1], acc}, isa::Type{{DType::kF32, false}, result.shape});
    rewriter.Replace(op.results[0], Cast(rewriter, product, DType::kF16, op.loc));
    return false;
  });
  return kernel;
}

}  // namespace tilevm::gpu
