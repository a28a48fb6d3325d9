// Reading and writing constants of the typed IR.
#include "specializer/passes/constants.h"

#include <cmath>

namespace tilevm::specializer {

using isa::Op;

std::optional<Constant> ConstantOf(const Rewriter& rewriter, ir::ValueId id) {
  const ir::Op* def = rewriter.Def(id);
  while (def != nullptr && (def->op == Op::kSplat || def->op == Op::kBroadcast || def->op == Op::kExpandDims || def->op == Op::kReshape ||
                            def->op == Op::kPermute)) {
    def = rewriter.Def(def->operands[0]);
  }
  if (def == nullptr || def->op != Op::kConst) return std::nullopt;
  const isa::ElemType elem = rewriter.TypeOf(def->results[0]).elem;
  if (elem.pointer) return std::nullopt;
  if (isa::IsFloat(elem.dtype)) return Constant{elem.dtype, isa::ScalarFromDouble(elem.dtype, def->FloatAttr("value"))};
  return Constant{elem.dtype, isa::ScalarFromInt(elem.dtype, def->IntAttr("value"))};
}

bool IsIntConstant(const Rewriter& rewriter, ir::ValueId id, int64_t n) {
  const std::optional<Constant> c = ConstantOf(rewriter, id);
  return c.has_value() && isa::IsInteger(c->dtype) && c->value == isa::ScalarFromInt(c->dtype, n);
}

bool IsFloatConstant(const Rewriter& rewriter, ir::ValueId id, double x) {
  const std::optional<Constant> c = ConstantOf(rewriter, id);
  return c.has_value() && isa::IsFloat(c->dtype) && c->value == isa::ScalarFromDouble(c->dtype, x);
}

ir::ValueId EmitConstant(Rewriter& rewriter, const isa::Type& type, isa::Scalar value, Loc loc) {
  ir::Builder& builder = rewriter.builder();
  const isa::DType dtype = type.elem.dtype;
  const ir::ValueId scalar = isa::IsFloat(dtype) ? builder.ConstFloat(dtype, isa::ScalarToDouble(dtype, value), loc)
                                                 : builder.ConstInt(dtype, isa::ScalarToInt(dtype, value), loc);
  return builder.Splat(scalar, type.shape, loc);
}

}  // namespace tilevm::specializer
