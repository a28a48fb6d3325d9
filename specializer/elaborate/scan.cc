// Inclusive scans: cumsum, cumprod (bf16 widens to f32; 16-bit floats are carried in f32 and rounded at the end) and associative_scan with a
// combine function of (earlier, later). With reverse the earlier side is the higher index.
#include <optional>

#include "specializer/elaborate/region.h"
#include "specializer/elaborate/rules.h"
#include "specializer/elaborate/widen.h"

namespace tilevm::specializer {
namespace {

std::vector<ValueId> EmitScan(Rule& rule, const std::vector<ValueId>& operands, int axis, bool reverse, const std::string& kind,
                              std::optional<ir::Region> region = std::nullopt) {
  ir::Op op;
  op.op = Op::kScan;
  op.loc = rule.loc();
  std::vector<Type> types;
  for (ValueId x : operands) {
    op.operands.push_back(x);
    types.push_back(rule.TypeOf(x));
  }
  op.SetAttr("axis", int64_t{axis});
  op.SetAttr("kind", kind);
  op.SetAttr("reverse", reverse);
  if (region.has_value()) op.regions.push_back(std::move(*region));
  return rule.builder().EmitOp(std::move(op), types);
}

absl::StatusOr<Value> Cumulative(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(ValueId x, rule.Number("x"));
  if (rule.DTypeOf(x) == DType::kBF16) x = rule.Cast(x, DType::kF32);
  TILEVM_ASSIGN_OR_RETURN(const int64_t given, rule.Int("axis", 0));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(given, rule.TypeOf(x).rank()));
  TILEVM_ASSIGN_OR_RETURN(const bool reverse, rule.Bool("reverse", false));
  DType result = rule.DTypeOf(x);
  if (rule.op() == Op::kCumSum) {
    TILEVM_ASSIGN_OR_RETURN(result, SumType(rule, result));
  }
  x = rule.Cast(rule.Cast(x, result), AccumulationType(result));
  const ValueId scanned = EmitScan(rule, {x}, axis, reverse, rule.op() == Op::kCumSum ? "add" : "mul")[0];
  return Result(rule.Cast(scanned, result));
}

absl::StatusOr<Value> Custom(Rule& rule) {
  std::vector<ValueId> operands;
  std::vector<isa::ElemType> elems;
  for (const Value& value : rule.rest()) {
    for (const Value& item : Items(value)) {
      TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(item, "x"));
      if (!operands.empty() && rule.TypeOf(id).shape != rule.TypeOf(operands[0]).shape) {
        return rule.Error("operands are ", isa::ToString(rule.TypeOf(operands[0])), " and ", isa::ToString(rule.TypeOf(id)), ", wanted one shape");
      }
      operands.push_back(id);
      elems.push_back(rule.TypeOf(id).elem);
    }
  }
  if (operands.empty()) return rule.Error("operand x is missing");
  TILEVM_ASSIGN_OR_RETURN(const int64_t given, rule.Int("axis"));
  TILEVM_ASSIGN_OR_RETURN(const int axis, rule.Axis(given, rule.TypeOf(operands[0]).rank()));
  TILEVM_ASSIGN_OR_RETURN(const bool reverse, rule.Bool("reverse", false));
  std::vector<isa::ElemType> arguments = elems;
  arguments.insert(arguments.end(), elems.begin(), elems.end());
  ir::Region region;
  TILEVM_RETURN_IF_ERROR(BuildScalarRegion(rule, rule["combine_fn"], arguments, elems, region).status());
  const bool single = rule.rest().size() == 1 && !IsSequence(rule.rest()[0]);
  const std::vector<ValueId> results = EmitScan(rule, operands, axis, reverse, "custom", std::move(region));
  if (single) return Result(results[0]);
  std::vector<Value> tuple;
  for (ValueId id : results) tuple.push_back(Result(id));
  return Value::Tuple(std::move(tuple));
}

}  // namespace

absl::StatusOr<Value> ElaborateScan(Rule& rule) { return rule.op() == Op::kScan ? Custom(rule) : Cumulative(rule); }

}  // namespace tilevm::specializer
