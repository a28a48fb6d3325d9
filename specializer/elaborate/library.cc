// cdiv, sigmoid, softmax, swizzle2d: what Triton writes in its own language, as the ops it comes to.
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<Value> CDiv(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const Value less, rule.Apply(Op::kSub, {rule["div"], Value::Int(1)}));
  TILEVM_ASSIGN_OR_RETURN(const Value sum, rule.Apply(Op::kAdd, {rule["x"], less}));
  return rule.Apply(Op::kFloorDiv, {sum, rule["div"]});
}

absl::StatusOr<Value> Sigmoid(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const Value x, rule.Apply(Op::kToTensor, {rule["x"]}));
  TILEVM_ASSIGN_OR_RETURN(const Value negative, rule.Apply(Op::kNeg, {x}));
  TILEVM_ASSIGN_OR_RETURN(const Value power, rule.Apply(Op::kExp, {negative}));
  TILEVM_ASSIGN_OR_RETURN(const Value sum, rule.Apply(Op::kAdd, {Value::Int(1), power}));
  return rule.Apply(Op::kTrueDiv, {Value::Int(1), sum});
}

absl::StatusOr<Value> Softmax(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const int64_t dim, rule.Int("dim", 0));
  TILEVM_ASSIGN_OR_RETURN(const bool keep_dims, rule.Bool("keep_dims", false));
  TILEVM_ASSIGN_OR_RETURN(const bool ieee, rule.Bool("ieee_rounding", false));
  const Value axis = Value::Int(dim), keep = Value::Bool(keep_dims);
  TILEVM_ASSIGN_OR_RETURN(const Value top, rule.Apply(Op::kMax, {rule["x"], axis, Value::Bool(false), Value::Bool(true), keep}));
  TILEVM_ASSIGN_OR_RETURN(const Value shifted, rule.Apply(Op::kSub, {rule["x"], top}));
  TILEVM_ASSIGN_OR_RETURN(const Value numerator, rule.Apply(Op::kExp, {shifted}));
  TILEVM_ASSIGN_OR_RETURN(const Value denominator, rule.Apply(Op::kSum, {numerator, axis, keep}));
  return rule.Apply(Op::kFDiv, {numerator, denominator, Value::Bool(ieee)});
}

// Index (i, j) of a size_i x size_j grid to the same count taken size_g rows at a time, column by column; the last group may have fewer rows.
absl::StatusOr<Value> Swizzle2d(Rule& rule) {
  const Value &size_i = rule["size_i"], &size_j = rule["size_j"], &size_g = rule["size_g"];
  TILEVM_ASSIGN_OR_RETURN(const Value row, rule.Apply(Op::kMul, {rule["i"], size_j}));
  TILEVM_ASSIGN_OR_RETURN(const Value ij, rule.Apply(Op::kAdd, {row, rule["j"]}));
  TILEVM_ASSIGN_OR_RETURN(const Value size_gj, rule.Apply(Op::kMul, {size_g, size_j}));
  TILEVM_ASSIGN_OR_RETURN(const Value group, rule.Apply(Op::kFloorDiv, {ij, size_gj}));
  TILEVM_ASSIGN_OR_RETURN(const Value off_i, rule.Apply(Op::kMul, {group, size_g}));
  TILEVM_ASSIGN_OR_RETURN(const Value left, rule.Apply(Op::kSub, {size_i, off_i}));
  TILEVM_ASSIGN_OR_RETURN(const Value rows, rule.Apply(Op::kMinimum, {left, size_g}));
  TILEVM_ASSIGN_OR_RETURN(const Value within, rule.Apply(Op::kMod, {ij, size_gj}));
  TILEVM_ASSIGN_OR_RETURN(const Value rest, rule.Apply(Op::kMod, {within, rows}));
  TILEVM_ASSIGN_OR_RETURN(const Value new_i, rule.Apply(Op::kAdd, {off_i, rest}));
  TILEVM_ASSIGN_OR_RETURN(const Value new_j, rule.Apply(Op::kFloorDiv, {within, rows}));
  return Value::Tuple({new_i, new_j});
}

}  // namespace

absl::StatusOr<Value> ElaborateLibrary(Rule& rule) {
  switch (rule.op()) {
    case Op::kCDiv: return CDiv(rule);
    case Op::kSigmoid: return Sigmoid(rule);
    case Op::kSoftmax: return Softmax(rule);
    default: return Swizzle2d(rule);
  }
}

}  // namespace tilevm::specializer
