// Inlines a function of scalars into a region.
#include "specializer/elaborate/region.h"

#include "specializer/elaborate/promote.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<ValueId> ResultScalar(Rule& rule, const Value& value, const isa::ElemType* wanted) {
  if (wanted != nullptr && value.is_static_number() && !wanted->pointer) return ScalarConstant(rule, value, wanted->dtype);
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(value, "returned by the function"));
  const Type type = rule.TypeOf(id);
  if (!type.is_scalar()) return rule.Error("the function returns ", isa::ToString(type), ", wanted a scalar");
  if (wanted != nullptr && type.elem != *wanted) {
    return rule.Error("the function returns ", isa::ToString(type), ", wanted ", isa::ToString(*wanted), ", the type of its argument");
  }
  return id;
}

}  // namespace

absl::StatusOr<std::vector<Type>> BuildScalarRegion(Rule& rule, const Value& function, const std::vector<isa::ElemType>& arguments,
                                                    const std::vector<isa::ElemType>& wanted, ir::Region& region) {
  ir::Builder& builder = rule.builder();
  std::vector<Value> values;
  for (const isa::ElemType& elem : arguments) {
    region.args.push_back(builder.kernel().NewValue(Type{elem, {}}));
    values.push_back(Result(region.args.back()));
  }
  builder.PushRegion(&region);
  absl::StatusOr<std::vector<Type>> types = [&]() -> absl::StatusOr<std::vector<Type>> {
    TILEVM_ASSIGN_OR_RETURN(const Value returned, rule.elaborator().inline_call(function, std::move(values), rule.loc()));
    const std::vector<Value> items = Items(returned);
    if (!wanted.empty() && items.size() != wanted.size()) {
      return rule.Error("the function returns ", items.size(), " values, wanted ", wanted.size());
    }
    std::vector<ValueId> yields;
    std::vector<Type> yielded;
    for (size_t i = 0; i < items.size(); ++i) {
      TILEVM_ASSIGN_OR_RETURN(const ValueId id, ResultScalar(rule, items[i], wanted.empty() ? nullptr : &wanted[i]));
      yields.push_back(id);
      yielded.push_back(rule.TypeOf(id));
    }
    builder.EmitVoid(Op::kYield, yields, rule.loc());
    return yielded;
  }();
  builder.PopRegion();
  return types;
}

}  // namespace tilevm::specializer
