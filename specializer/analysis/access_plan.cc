// Classifies memory ops by the facts of their pointers and masks.
#include "specializer/analysis/access_plan.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace tilevm::analysis {
namespace {

using isa::Op;

// Where a memory op has its mask; past the end if it has none.
size_t MaskPlace(Op op) {
  switch (op) {
    case Op::kLoad: return 1;
    case Op::kAtomicCas: return 99;
    default: return 2;  // store, atomics
  }
}

bool IsMemory(Op op) { return op == Op::kLoad || op == Op::kStore || isa::Info(op).effect == isa::Effect::kReadsWrites; }

void PrintRegion(const ir::Kernel& kernel, const AxisFacts& facts, const ir::Region& region, std::string& out) {
  for (const ir::Op& op : region.ops) {
    if (IsMemory(op.op) && !op.operands.empty()) {
      const Access access = AccessOf(kernel, facts, op);
      absl::StrAppend(&out, isa::Mnemonic(op.op), " ", isa::ToString(kernel.TypeOf(op.operands[0])), ": ");
      if (access.kind == AccessKind::kUniform) absl::StrAppend(&out, "uniform\n");
      if (access.kind == AccessKind::kGather) absl::StrAppend(&out, "gather\n");
      if (access.kind == AccessKind::kContiguous) {
        absl::StrAppend(&out, "contiguous along ", access.axis, ", contiguity ", access.contiguity, ", vector ", access.vector, ", mask ",
                        access.mask_constancy, "\n");
      }
    }
    for (const ir::Region& inner : op.regions) PrintRegion(kernel, facts, inner, out);
  }
}

}  // namespace

Access AccessOf(const ir::Kernel& kernel, const AxisFacts& facts, const ir::Op& op) {
  const isa::Type& type = kernel.TypeOf(op.operands[0]);
  const TileFacts& pointers = facts.Of(op.operands[0]);
  const ir::ValueId mask = op.operand(MaskPlace(op.op));
  Access best;
  bool uniform = true;
  for (size_t d = 0; d < type.shape.size(); ++d) uniform = uniform && pointers.axes[d].constancy == type.shape[d];
  if (uniform) best.kind = AccessKind::kUniform;
  const int64_t bytes = isa::StorageBytes(type.elem.dtype);
  for (size_t d = 0; d < type.shape.size() && !uniform; ++d) {
    const AxisFact& axis = pointers.axes[d];
    if (axis.contiguity <= best.contiguity) continue;
    best.kind = AccessKind::kContiguous;
    best.axis = static_cast<int>(d);
    best.contiguity = axis.contiguity;
    best.mask_constancy = mask == ir::kNoValue ? type.shape[d] : facts.Of(mask).axes[d].constancy;
    best.vector = std::max<int64_t>(1, std::min({axis.contiguity, axis.run_divisor / bytes, best.mask_constancy}));
  }
  return best;
}

namespace {
bool FindsAddresses(const ir::Kernel& kernel, const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    const bool makes = op.op == Op::kLoad || op.op == Op::kCast || op.op == Op::kBitcast;
    if (makes && kernel.TypeOf(op.results[0]).elem.pointer && kernel.TypeOf(op.results[0]).is_scalar()) return true;
    for (const ir::Region& inner : op.regions) {
      if (FindsAddresses(kernel, inner)) return true;
    }
  }
  return false;
}
}  // namespace

Accesses::Accesses(const ir::Kernel& kernel, FactOptions options) : kernel_(kernel), facts_(kernel, options) {
  if (!FindsAddresses(kernel, kernel.body)) return;
  options.guess_loaded = true;
  guesses_.emplace(kernel, options);
  Index(kernel.body, nullptr);
}

void Accesses::Index(const ir::Region& region, const ir::Op* owner) {
  for (ir::ValueId arg : region.args) made_[arg] = {nullptr, owner};
  for (const ir::Op& op : region.ops) {
    place_[&op] = owner;
    for (ir::ValueId result : op.results) made_[result] = {&op, owner};
    for (const ir::Region& inner : op.regions) Index(inner, &op);
  }
}

// What comes from memory behind an access's address and mask. Empty if some of it is not in scope where the access is.
std::vector<ir::ValueId> Accesses::ScalarsBehind(const ir::Op& op) const {
  std::set<const ir::Op*> around = {nullptr};
  for (const ir::Op* owner = place_.at(&op); owner != nullptr; owner = place_.at(owner)) around.insert(owner);
  std::set<ir::ValueId> seen;
  std::vector<ir::ValueId> out, open = {op.operands[0], op.operand(MaskPlace(op.op))};
  while (!open.empty()) {
    const ir::ValueId id = open.back();
    open.pop_back();
    const auto made = id == ir::kNoValue ? made_.end() : made_.find(id);
    if (made == made_.end() || !seen.insert(id).second) continue;
    const auto& [by, owner] = made->second;
    const isa::Type& type = kernel_.TypeOf(id);
    const bool makes = by != nullptr && (by->op == Op::kLoad || by->op == Op::kBitcast || by->op == Op::kCast);
    if (makes && type.is_scalar() && (by->op == Op::kLoad ? type.elem.pointer || isa::IsInteger(type.elem.dtype) : type.elem.pointer)) {
      if (around.count(owner) == 0) return {};
      out.push_back(id);
      continue;
    }
    if (by != nullptr && by->op == Op::kLoad) continue;
    const ir::Op* const from = by == nullptr ? owner : by;
    if (from == nullptr) continue;
    open.insert(open.end(), from->operands.begin(), from->operands.end());
    for (const ir::Region& region : from->regions) open.insert(open.end(), region.ops.back().operands.begin(), region.ops.back().operands.end());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The alignment is guessed, and of tiles the mask.
Access Accesses::Guess(const ir::Op& op, const Access& known) const {
  Access guess = AccessOf(kernel_, *guesses_, op);
  if (guess.axis != known.axis) return known;
  const bool mask = guess.mask_constancy > known.mask_constancy && kernel_.TypeOf(op.operands[0]).rank() == 2 && !ScalarsBehind(op).empty();
  if (!mask) guess.mask_constancy = known.mask_constancy;
  guess.vector = std::max(known.vector, std::min({guess.vector, known.contiguity, guess.mask_constancy}));
  return guess;
}

Access Accesses::Of(const ir::Op& op) const {
  Access known = AccessOf(kernel_, facts_, op);
  if (!guesses_.has_value() || (op.op != Op::kLoad && op.op != Op::kStore) || known.kind != AccessKind::kContiguous) return known;
  known.vector = Guess(op, known).vector;
  return known;
}

std::vector<ir::ValueId> Accesses::GuessedScalars(const ir::Op& op) const {
  return guesses_.has_value() && Of(op).vector > AccessOf(kernel_, facts_, op).mask_constancy ? ScalarsBehind(op) : std::vector<ir::ValueId>();
}

bool Accesses::IsGuessed(const ir::Op& op) const { return guesses_.has_value() && Of(op).vector > AccessOf(kernel_, facts_, op).vector; }

std::string PrintAccessPlan(const ir::Kernel& kernel) {
  std::string out;
  PrintRegion(kernel, AxisFacts(kernel), kernel.body, out);
  return out;
}

}  // namespace tilevm::analysis
