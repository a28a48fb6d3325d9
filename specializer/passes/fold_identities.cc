// Identities that hold exactly for every operand. x + 0.0 is not one (-0 + 0 is +0); x * 1.0, x / 1.0, x - 0.0 and x + -0.0 are.
#include "specializer/passes/constants.h"
#include "specializer/passes/fold_rules.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::DType;
using isa::Op;

// Both operand orders of a commutative op: the other operand if one is that integer.
ValueId OtherThan(Rewriter& rewriter, const ir::Op& op, int64_t n) {
  if (IsIntConstant(rewriter, op.operands[1], n)) return op.operands[0];
  return IsIntConstant(rewriter, op.operands[0], n) ? op.operands[1] : ir::kNoValue;
}

// The constant operand itself if it is that integer.
ValueId Absorber(Rewriter& rewriter, const ir::Op& op, int64_t n) {
  for (int i : {1, 0}) {
    if (IsIntConstant(rewriter, op.operands[i], n)) return op.operands[i];
  }
  return ir::kNoValue;
}

ValueId First(ValueId a, ValueId b) { return a != ir::kNoValue ? a : b; }

// (x + c1) + c2 and (x * c1) * c2 on integers: one constant.
ValueId Reassociate(Rewriter& rewriter, const ir::Op& op) {
  const std::optional<Constant> outer = ConstantOf(rewriter, op.operands[1]);
  const ir::Op* inner = rewriter.DefIf(op.operands[0], op.op);
  if (!outer.has_value() || inner == nullptr) return ir::kNoValue;
  const std::optional<Constant> c = ConstantOf(rewriter, inner->operands[1]);
  if (!c.has_value()) return ir::kNoValue;
  const ValueId x = inner->operands[0];
  const isa::Type type = rewriter.TypeOf(op.results[0]);
  const isa::Scalar both = isa::EvalBinary(op.op, c->dtype, c->value, outer->value);
  if (both == isa::ScalarFromInt(c->dtype, op.op == Op::kAdd ? 0 : 1)) return x;
  return EmitCopy(rewriter.builder(), op, {x, EmitConstant(rewriter, type, both, op.loc)}, type);
}

// Whether every value is a multiple of 2^k, whatever wraps on the way.
bool IsMultiple(const Rewriter& rewriter, ValueId id, int64_t power, int depth) {
  const ir::Op* def = rewriter.Def(id);
  if (def == nullptr || depth == 0) return false;
  const auto operand = [&](int i) { return IsMultiple(rewriter, def->operands[i], power, depth - 1); };
  switch (def->op) {
    case Op::kConst: return def->IntAttr("value") % power == 0;
    case Op::kMul: return operand(0) || operand(1);
    case Op::kAdd: case Op::kSub: return operand(0) && operand(1);
    default: return false;
  }
}

// x - x // c * c is 0 for multiples of c: where a loop begins that counts whole blocks back from x.
ValueId Remainder(Rewriter& rewriter, const ir::Op& op) {
  constexpr int kMaxDepth = 6;
  const ir::Op* product = rewriter.DefIf(op.operands[1], Op::kMul);
  if (product == nullptr) return ir::kNoValue;
  const ir::Op* quotient = rewriter.DefIf(product->operands[0], Op::kFloorDiv);
  const std::optional<Constant> c = ConstantOf(rewriter, product->operands[1]);
  if (quotient == nullptr || !c.has_value() || quotient->operands[0] != op.operands[0]) return ir::kNoValue;
  const int64_t power = isa::ScalarToInt(c->dtype, c->value);
  if (power <= 0 || (power & (power - 1)) != 0 || !IsIntConstant(rewriter, quotient->operands[1], power)) return ir::kNoValue;
  if (!IsMultiple(rewriter, op.operands[0], power, kMaxDepth)) return ir::kNoValue;
  return EmitConstant(rewriter, rewriter.TypeOf(op.results[0]), isa::ScalarFromInt(c->dtype, 0), op.loc);
}

ValueId Integers(Rewriter& rewriter, const ir::Op& op) {
  const auto right_is = [&](int64_t n) { return IsIntConstant(rewriter, op.operands[1], n); };
  switch (op.op) {
    case Op::kAdd: return First(OtherThan(rewriter, op, 0), Reassociate(rewriter, op));
    case Op::kMul: return First(First(OtherThan(rewriter, op, 1), Absorber(rewriter, op, 0)), Reassociate(rewriter, op));
    case Op::kSub: return right_is(0) ? op.operands[0] : Remainder(rewriter, op);
    case Op::kShl: case Op::kShr: return right_is(0) ? op.operands[0] : ir::kNoValue;
    case Op::kFloorDiv: return right_is(1) ? op.operands[0] : ir::kNoValue;
    case Op::kBitAnd: return First(OtherThan(rewriter, op, -1), Absorber(rewriter, op, 0));
    case Op::kBitOr: return First(OtherThan(rewriter, op, 0), Absorber(rewriter, op, -1));
    case Op::kBitXor: return OtherThan(rewriter, op, 0);
    default: return ir::kNoValue;
  }
}

ValueId Floats(Rewriter& rewriter, const ir::Op& op) {
  const auto is = [&](int i, double x) { return IsFloatConstant(rewriter, op.operands[i], x); };
  switch (op.op) {
    case Op::kMul: return is(1, 1.0) ? op.operands[0] : is(0, 1.0) ? op.operands[1] : ir::kNoValue;
    case Op::kTrueDiv: return is(1, 1.0) ? op.operands[0] : ir::kNoValue;
    case Op::kAdd: return is(1, -0.0) ? op.operands[0] : is(0, -0.0) ? op.operands[1] : ir::kNoValue;
    case Op::kSub: return is(1, 0.0) ? op.operands[0] : ir::kNoValue;
    default: return ir::kNoValue;
  }
}

// Whether every value of a is exactly a value of b.
bool Widens(DType a, DType b) {
  if (a == b) return true;
  const int from = isa::BitWidth(a), to = isa::BitWidth(b);
  if (isa::IsInteger(a) && isa::IsInteger(b)) return to > from && (isa::IsUnsigned(a) || isa::IsSigned(b));
  if (!isa::IsFloat(a) || !isa::IsFloat(b)) return false;
  return to > from && to >= 32;  // fp8, f16 and bf16 within f32 and f64
}

ValueId Casts(Rewriter& rewriter, const ir::Op& op) {
  const ir::Op* inner = rewriter.DefIf(op.operands[0], op.op);
  if (inner == nullptr) return ir::kNoValue;
  const ValueId x = inner->operands[0];
  const isa::Type from = rewriter.TypeOf(x), to = rewriter.TypeOf(op.results[0]);
  if (op.op == Op::kBitcast) return from.elem == to.elem ? x : EmitCopy(rewriter.builder(), op, {x}, to);
  const DType middle = rewriter.TypeOf(op.operands[0]).elem.dtype;
  if (!Widens(from.elem.dtype, middle)) return ir::kNoValue;
  if (from.elem == to.elem) return x;  // there and back
  return isa::IsInteger(from.elem.dtype) == isa::IsInteger(to.elem.dtype) && isa::IsInteger(middle) == isa::IsInteger(to.elem.dtype) &&
                 to.elem.dtype != DType::kI1
             ? EmitCopy(rewriter.builder(), op, {x}, to)
             : ir::kNoValue;
}

ValueId Select(Rewriter& rewriter, const ir::Op& op) {
  if (op.operands[1] == op.operands[2]) return op.operands[1];
  const std::optional<Constant> cond = ConstantOf(rewriter, op.operands[0]);
  if (!cond.has_value()) return ir::kNoValue;
  return cond->value.bits != 0 ? op.operands[1] : op.operands[2];
}

}  // namespace

ValueId FoldIdentities(Rewriter& rewriter, const ir::Op& op) {
  if (op.op == Op::kWhere) return Select(rewriter, op);
  if (op.op == Op::kCast || op.op == Op::kBitcast) return Casts(rewriter, op);
  if (op.op == Op::kPtrAdd) return IsIntConstant(rewriter, op.operands[1], 0) ? op.operands[0] : ir::kNoValue;
  if (op.op == Op::kNeg) {
    const ir::Op* inner = rewriter.DefIf(op.operands[0], Op::kNeg);
    return inner == nullptr ? ir::kNoValue : inner->operands[0];
  }
  if (op.operands.size() != 2 || isa::EvalArity(op.op) != 2) return ir::kNoValue;
  const isa::ElemType elem = rewriter.TypeOf(op.results[0]).elem;
  if (rewriter.TypeOf(op.operands[0]).elem != elem) return ir::kNoValue;  // compares
  return isa::IsFloat(elem.dtype) ? Floats(rewriter, op) : Integers(rewriter, op);
}

}  // namespace tilevm::specializer
