// map_elementwise: a function of scalars, inlined into a region, on every element of tiles broadcast together.
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/region.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {

absl::StatusOr<Value> ElaborateMap(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const int64_t pack, rule.Int("pack", 1));
  if (pack != 1) return rule.Unimplemented("pack is ", pack, "; only 1 is supported");
  std::vector<ValueId> operands;
  for (const Value& value : rule.rest()) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(value, "args"));
    operands.push_back(id);
  }
  if (operands.empty()) return rule.Error("takes at least one tensor");
  TILEVM_RETURN_IF_ERROR(BroadcastAll(rule, operands));
  std::vector<isa::ElemType> elems;
  for (ValueId id : operands) elems.push_back(rule.TypeOf(id).elem);
  ir::Op op;
  op.op = Op::kMapElementwise;
  op.operands.assign(operands.begin(), operands.end());
  op.loc = rule.loc();
  ir::Region region;
  TILEVM_ASSIGN_OR_RETURN(std::vector<Type> types, BuildScalarRegion(rule, rule["scalar_fn"], elems, {}, region));
  for (Type& type : types) type.shape = rule.TypeOf(operands[0]).shape;
  op.regions.push_back(std::move(region));
  const std::vector<ValueId> ids = rule.builder().EmitOp(std::move(op), types);
  if (ids.size() == 1) return Result(ids[0]);
  std::vector<Value> results;
  for (ValueId id : ids) results.push_back(Result(id));
  return Value::Tuple(std::move(results));
}

}  // namespace tilevm::specializer
