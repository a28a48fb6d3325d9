// Two walks: hints first (a carried value is named by the yield at the end of its region), then unique names in the order of definition.
#include "isa/print_names.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "isa/literal.h"

namespace tilevm::isa {
namespace {

// No function has more registers than this many a text could name; a damaged module may claim more.
constexpr uint32_t kMaxNamedRegisters = 1u << 24;

class Namer {
 public:
  Namer(const Module& module, const Function& function)
      : module_(module), function_(function), hints_(std::min(function.reg_count, kMaxNamedRegisters)) {}

  std::vector<std::string> Run() {
    Reg reg = 0;
    for (StringId capture : function_.captures) {
      if (capture < module_.strings.size()) Hint(reg, module_.strings[capture]);
      ++reg;
    }
    for (const Param& param : function_.params) Hint(reg++, param.name);
    HintRegion(function_.body);
    return Unique();
  }

 private:
  void Hint(Reg reg, absl::string_view name) {
    if (reg < hints_.size() && hints_[reg].empty() && IsWord(name)) hints_[reg] = name;
  }
  absl::string_view HintOf(Reg reg) const { return reg < hints_.size() ? hints_[reg] : absl::string_view(); }

  void HintRegion(const Region& region) {
    for (const Inst& inst : region.body) HintInst(inst);
  }

  void HintInst(const Inst& inst) {
    if ((inst.op == Op::kBind || inst.op == Op::kBindConst) && inst.results.size() == 1 && inst.imm < module_.strings.size()) {
      Hint(inst.results[0], module_.strings[inst.imm]);
      return;
    }
    for (const Region& region : inst.regions) HintRegion(region);
    bool assigns_names = inst.op == Op::kFor || inst.op == Op::kWhile || inst.op == Op::kIf || inst.op == Op::kTry || inst.op == Op::kWith;
    if (!assigns_names) return;
    for (size_t r = 0; r < inst.regions.size(); ++r) {
      const Region& region = inst.regions[r];
      if (region.body.empty() || region.body.back().op != Op::kYield) continue;
      size_t skip = inst.op == Op::kWhile && r == 0 ? 1 : 0;  // the test
      const Inst& yield = region.body.back();
      for (size_t i = skip; i < yield.operands.size() && i - skip < inst.results.size(); ++i) {
        Hint(inst.results[i - skip], HintOf(yield.operands[i]));
      }
    }
    size_t first = inst.op == Op::kFor ? 1 : 0;
    if (inst.op != Op::kFor && inst.op != Op::kWhile) return;
    for (const Region& region : inst.regions) {
      for (size_t i = first; i < region.args.size() && i - first < inst.results.size(); ++i) {
        Hint(region.args[i], HintOf(inst.results[i - first]));
      }
    }
  }

  std::vector<std::string> Unique() const {
    std::vector<std::string> names(hints_.size());
    std::unordered_map<std::string, int> seen;
    for (size_t reg = 0; reg < hints_.size(); ++reg) {
      if (hints_[reg].empty()) continue;
      int count = seen[std::string(hints_[reg])]++;
      names[reg] = count == 0 ? std::string(hints_[reg]) : absl::StrCat(hints_[reg], ".", count);
    }
    return names;
  }

  const Module& module_;
  const Function& function_;
  std::vector<absl::string_view> hints_;
};

void CountUses(const Region& region, std::vector<int>& counts) {
  for (const Inst& inst : region.body) {
    for (Reg reg : inst.operands) {
      if (reg < counts.size()) ++counts[reg];
    }
    for (const Region& inner : inst.regions) CountUses(inner, counts);
  }
}

}  // namespace

std::vector<std::string> RegisterNames(const Module& module, const Function& function) { return Namer(module, function).Run(); }

absl::string_view BaseName(absl::string_view register_name) { return register_name.substr(0, register_name.find('.')); }

std::vector<int> UseCounts(const Function& function) {
  std::vector<int> counts(std::min(function.reg_count, kMaxNamedRegisters));
  CountUses(function.body, counts);
  return counts;
}

}  // namespace tilevm::isa
