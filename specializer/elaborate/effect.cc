// device_print, device_assert, assume, debug_barrier.
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/memory_options.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<Value> Print(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(std::string prefix, rule.String("prefix", ""));
  for (char c : prefix) {
    if (c < ' ' || c > '~') return rule.Error("prefix holds a character that is not printable ASCII");
  }
  TILEVM_ASSIGN_OR_RETURN(const bool hex, rule.Bool("hex", false));
  std::vector<ValueId> operands;
  for (const Value& value : rule.rest()) {
    for (const Value& item : Items(value)) {
      TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Tensor(item, "args"));
      operands.push_back(id);
    }
  }
  if (!operands.empty() && !absl::EndsWith(prefix, ": ")) {  // as Triton shows values: "prefix: 5"
    absl::string_view word = absl::StripSuffix(prefix, " ");
    prefix = absl::StrCat(absl::StripSuffix(word, ":"), ": ");
  }
  const NamedAttr attrs[] = {{"prefix", prefix}, {"hex", hex}};
  rule.builder().EmitVoid(Op::kDevicePrint, operands, rule.loc(), attrs);
  return Value::None();
}

absl::StatusOr<Value> Assert(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(ValueId cond, rule.Number("cond"));
  cond = rule.Cast(cond, DType::kI1);
  TILEVM_ASSIGN_OR_RETURN(const std::string message, rule.String("msg", ""));
  TILEVM_ASSIGN_OR_RETURN(ValueId mask, ReadMaskAsIs(rule));
  std::vector<ValueId> operands = {cond};
  if (mask != ir::kNoValue) operands.push_back(mask);
  TILEVM_RETURN_IF_ERROR(BroadcastAll(rule, operands));
  const NamedAttr attrs[] = {{"msg", message}};
  rule.builder().EmitVoid(Op::kDeviceAssert, operands, rule.loc(), attrs);
  return Value::None();
}

absl::StatusOr<Value> Assume(Rule& rule) {
  const Value& cond = rule["cond"];
  if (cond.is_static_number()) return Value::None();
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Number("cond"));
  const ValueId operands[] = {rule.Cast(id, DType::kI1)};
  rule.builder().EmitVoid(Op::kAssume, operands, rule.loc());
  return Value::None();
}

}  // namespace

absl::StatusOr<Value> ElaborateEffect(Rule& rule) {
  switch (rule.op()) {
    case Op::kDevicePrint: return Print(rule);
    case Op::kDeviceAssert: return Assert(rule);
    case Op::kAssume: return Assume(rule);
    default:
      rule.builder().EmitVoid(rule.op(), {}, rule.loc());
      return Value::None();
  }
}

}  // namespace tilevm::specializer
