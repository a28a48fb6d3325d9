// inline_asm_elementwise: the arguments broadcast together without conversion; dtype (one, or a tuple) gives the results' element types.
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateAsm(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const std::string text, rule.String("asm", ""));
  TILEVM_ASSIGN_OR_RETURN(const std::string constraints, rule.String("constraints", ""));
  TILEVM_ASSIGN_OR_RETURN(const bool is_pure, rule.Bool("is_pure", true));
  TILEVM_ASSIGN_OR_RETURN(const int64_t pack, rule.Int("pack", 1));
  if (pack < 1) return rule.Error("pack is ", pack, ", wanted 1 or more");
  std::vector<ValueId> operands;
  if (!rule["args"].absent_or_none()) {
    for (const Value& item : Items(rule["args"])) {
      TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(item, "args"));
      operands.push_back(id);
    }
  }
  TILEVM_RETURN_IF_ERROR(BroadcastAll(rule, operands));
  const Shape shape = operands.empty() ? Shape{} : rule.TypeOf(operands[0]).shape;
  std::vector<Type> types;
  for (const Value& dtype : Items(rule["dtype"])) {
    if (!dtype.is(ValueKind::kDType)) return rule.Error("argument dtype holds ", rule.Name(dtype), ", wanted a dtype");
    types.push_back(isa::TileType(dtype.dtype(), shape));
  }
  ir::Op op;
  op.op = Op::kInlineAsm;
  op.operands.assign(operands.begin(), operands.end());
  op.SetAttr("asm", text);
  op.SetAttr("constraints", constraints);
  op.SetAttr("is_pure", is_pure);
  op.SetAttr("pack", pack);
  op.loc = rule.loc();
  const std::vector<ValueId> ids = rule.builder().EmitOp(std::move(op), types);
  if (!IsSequence(rule["dtype"])) return Result(ids[0]);
  std::vector<Value> results;
  for (ValueId id : ids) results.push_back(Result(id));
  return Value::Tuple(std::move(results));
}

}  // namespace tilevm::specializer
