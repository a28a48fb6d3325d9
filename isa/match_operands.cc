// Matching of arguments to operands; see match_operands.h.
#include "isa/match_operands.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilevm::isa {
namespace {

bool TakesKeywords(Op op) { return op == Op::kCall || op == Op::kCallMethod || op == Op::kMakeClass; }

bool IsRegister(const OperandSpec& spec) { return spec.kind == OperandKind::kValue || spec.kind == OperandKind::kStatic; }

bool MayBeAbsent(const OpInfo& info, const OperandSpec& spec, bool immediate_implied) {
  if (spec.kind == OperandKind::kRegion) return true;
  if (spec.kind == OperandKind::kImmediate) return immediate_implied || ImmediateOf(info.op) == ImmediateKind::kCount;
  return spec.optional || spec.variadic;
}

std::string WrongCount(const OpInfo& info, size_t given) {
  std::vector<std::string> names;
  for (const OperandSpec& spec : info.operands) {
    if (spec.kind != OperandKind::kRegion) names.push_back(absl::StrCat(spec.name, spec.variadic ? "*" : "", spec.optional ? "?" : ""));
  }
  return absl::StrCat(info.mnemonic, ": takes operands (", absl::StrJoin(names, ", "), "), ", given, " given; signature ", info.signature);
}

// Operands that positional arguments fill before and after the variadic one.
struct Places {
  std::vector<int> before, after;
  int variadic = -1;
};

Places PlacesOf(const OpInfo& info) {
  Places places;
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const OperandSpec& spec = info.operands[i];
    if (spec.kind == OperandKind::kRegion) continue;
    if (spec.variadic) {
      places.variadic = static_cast<int>(i);
    } else if (places.variadic >= 0) {
      if (!spec.optional) places.after.push_back(static_cast<int>(i));
    } else if (!info.variadic || !spec.optional) {
      places.before.push_back(static_cast<int>(i));
    }
  }
  return places;
}

}  // namespace

OperandMatch MatchOperands(const OpInfo& info, absl::Span<const absl::string_view> names, bool immediate_implied) {
  OperandMatch match;
  match.operands.assign(names.size(), -1);
  size_t positional = 0;
  while (positional < names.size() && names[positional].empty()) ++positional;
  Places places = PlacesOf(info);
  size_t fixed = places.before.size() + places.after.size();
  if (places.variadic < 0 ? positional > fixed : positional < fixed) {
    match.fault = WrongCount(info, positional);
    return match;
  }
  std::vector<bool> given(info.operands.size(), false);
  for (size_t k = 0; k < positional; ++k) {
    bool is_after = k >= places.before.size() && k + places.after.size() >= positional;
    match.operands[k] = k < places.before.size() ? places.before[k] : is_after ? places.after[k + places.after.size() - positional] : places.variadic;
    given[match.operands[k]] = true;
  }
  for (size_t k = positional; k < names.size() && !TakesKeywords(info.op); ++k) {
    for (size_t i = 0; i < info.operands.size(); ++i) {
      const OperandSpec& spec = info.operands[i];
      if (spec.name == names[k] && IsRegister(spec) && !spec.variadic) match.operands[k] = static_cast<int>(i);
    }
    bool unknown = match.operands[k] < 0;
    if (unknown || given[match.operands[k]]) {
      match.fault_at = static_cast<int>(k);
      match.fault = unknown ? absl::StrCat(info.mnemonic, ": no operand is named ", names[k], "; signature ", info.signature)
                            : absl::StrCat(info.mnemonic, ": operand ", names[k], " is given twice");
      return match;
    }
    given[match.operands[k]] = true;
  }
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (given[i] || MayBeAbsent(info, info.operands[i], immediate_implied)) continue;
    bool by_name = positional < names.size();
    match.fault = by_name ? absl::StrCat(info.mnemonic, ": operand ", info.operands[i].name, " is missing; signature ", info.signature)
                          : WrongCount(info, positional);
    return match;
  }
  return match;
}

}  // namespace tilevm::isa
