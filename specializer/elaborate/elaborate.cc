// Picks the rule of an op: the row's `elab` column is the rule's name.
#include "specializer/elaborate/elaborate.h"

#include "absl/container/flat_hash_map.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

using RuleFunction = absl::StatusOr<Value> (*)(Rule&);

const absl::flat_hash_map<absl::string_view, RuleFunction>& Rules() {
  static const auto* const rules = new absl::flat_hash_map<absl::string_view, RuleFunction>{
      {"arith", ElaborateArith},       {"divide", ElaborateDivide},    {"bitwise", ElaborateBitwise},     {"compare", ElaborateCompare},
      {"where", ElaborateWhere},       {"strong", ElaborateStrong},    {"unary", ElaborateUnary},         {"float_math", ElaborateFloatMath},
      {"fdiv", ElaborateFDiv},         {"libdevice", ElaborateLibdevice}, {"load", ElaborateLoad},        {"store", ElaborateStore},
      {"atomic", ElaborateAtomic},     {"block_ptr", ElaborateBlockPtr}, {"descriptor", ElaborateDescriptor}, {"ids", ElaborateIds},
      {"shape", ElaborateShape},       {"cast", ElaborateCast},        {"dot", ElaborateDot},             {"reduce", ElaborateReduce},
      {"scan", ElaborateScan},         {"sort", ElaborateSort},        {"gather", ElaborateGather},       {"library", ElaborateLibrary},
      {"hint", ElaborateHint},         {"random", ElaborateRandom},    {"effect", ElaborateEffect},       {"asm", ElaborateAsm},
      {"map", ElaborateMap},
  };
  return *rules;
}

}  // namespace

absl::StatusOr<Value> Elaborate(Elaborator& elaborator, isa::Op op, absl::Span<const Value> operands, Loc loc) {
  const isa::OpInfo& info = isa::Info(op);
  const auto found = Rules().find(info.elab);
  if (found == Rules().end()) return ErrorAt(loc, absl::StatusCode::kInternal, info.mnemonic, " has no elaboration rule");
  Rule rule(elaborator, op, operands, loc);
  absl::StatusOr<Value> result = found->second(rule);
  if (!result.ok()) return WithLoc(result.status(), loc);
  return result;
}

bool HasRule(isa::Op op) { return Rules().contains(isa::Info(op).elab); }

}  // namespace tilevm::specializer
