// Elementwise ops, casts and bitcasts of constants, by isa/eval.h.
#include <cmath>

#include "specializer/passes/constants.h"
#include "specializer/passes/fold_rules.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::Op;

ValueId FoldCast(Rewriter& rewriter, const ir::Op& op, const Constant& x, const isa::Type& type) {
  if (type.elem.pointer) return ir::kNoValue;
  if (op.op == Op::kBitcast) {
    const bool nan = isa::IsFloat(type.elem.dtype) && isa::ScalarIsNan(type.elem.dtype, x.value);
    const bool from_nan = isa::IsFloat(x.dtype) && isa::ScalarIsNan(x.dtype, x.value);
    if (nan || from_nan) return ir::kNoValue;  // a constant keeps no NaN payload
    return EmitConstant(rewriter, type, x.value, op.loc);
  }
  const isa::Rounding rounding = op.StringAttr("rounding") == "rtz" ? isa::Rounding::kTowardZero : isa::Rounding::kNearestEven;
  return EmitConstant(rewriter, type, isa::EvalCast(x.dtype, type.elem.dtype, rounding, x.value), op.loc);
}

}  // namespace

ValueId FoldConstants(Rewriter& rewriter, const ir::Op& op) {
  const isa::Type type = rewriter.TypeOf(op.results[0]);
  const bool is_cast = op.op == Op::kCast || op.op == Op::kBitcast;
  const int arity = is_cast ? 1 : isa::EvalArity(op.op);
  if (arity == 0 || type.elem.pointer || static_cast<int>(op.operands.size()) != arity) return ir::kNoValue;
  Constant constants[3];
  for (int i = 0; i < arity; ++i) {
    const std::optional<Constant> c = ConstantOf(rewriter, op.operands[i]);
    if (!c.has_value()) return ir::kNoValue;
    constants[i] = *c;
  }
  if (is_cast) return FoldCast(rewriter, op, constants[0], type);
  const isa::DType dtype = constants[op.op == Op::kWhere ? 1 : 0].dtype;
  if (op.op == Op::kLibPow && constants[1].dtype != dtype) {
    return EmitConstant(rewriter, type, isa::EvalPowInt(dtype, constants[0].value, constants[1].value), op.loc);
  }
  if (!isa::HasEval(op.op, dtype)) return ir::kNoValue;
  const bool propagate_nan = op.BoolAttr("propagate_nan");
  isa::Scalar value;
  switch (arity) {
    case 1: value = isa::EvalUnary(op.op, dtype, constants[0].value); break;
    case 2: value = isa::EvalBinary(op.op, dtype, constants[0].value, constants[1].value, propagate_nan); break;
    default: value = isa::EvalTernary(op.op, dtype, constants[0].value, constants[1].value, constants[2].value, propagate_nan); break;
  }
  return EmitConstant(rewriter, type, value, op.loc);
}

}  // namespace tilevm::specializer
