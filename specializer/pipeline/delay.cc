#include "specializer/pipeline/delay.h"

#include <algorithm>
#include <set>

#include "specializer/passes/rewriter.h"

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

class Finder {
 public:
  Finder(const layout::LayoutKernel& kernel, const ir::Op& loop, const DelayInput& input) : lk_(kernel), body_(loop.regions[0]), input_(input) {
    Index(body_);
  }

  std::optional<Delay> Run() const {
    Delay out;
    for (const ir::Op& op : body_.ops) {
      if (op.op != Op::kDot) {
        if (HasDot(op)) return std::nullopt;
        continue;
      }
      if (out.second != kNoValue || input_.wgmma->count(op.results[0]) == 0) return std::nullopt;
      (out.first == kNoValue ? out.first : out.second) = op.results[0];
    }
    if (out.second == kNoValue) return std::nullopt;
    const ir::Op &first = *Def(out.first), &second = *Def(out.second);
    if (!StartsEarly(first) || !input_.in_ring(out.second, 1) || input_.in_ring(out.second, 0)) return std::nullopt;
    const Wgmma &plan = input_.wgmma->at(out.second), &early = input_.wgmma->at(out.first);
    if (plan.promote || plan.b_written || early.promote || early.b_written) return std::nullopt;
    if (!FindSum(second, out) || !DependsOn(second.operands[0], out.first)) return std::nullopt;
    FindPacking(second, out);
    FindPartialSums(out);
    return out;
  }

 private:
  void Index(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) def_[result] = &op;
      for (ValueId operand : op.operands) {
        if (operand != kNoValue) uses_[operand].push_back(&op);
      }
      for (const ir::Region& inner : op.regions) Index(inner);
    }
  }
  static bool HasDot(const ir::Op& op) {
    for (const ir::Region& region : op.regions) {
      for (const ir::Op& inner : region.ops) {
        if (inner.op == Op::kDot || HasDot(inner)) return true;
      }
    }
    return false;
  }
  const ir::Op* Def(ValueId id) const {  // in the body; null from elsewhere
    auto found = def_.find(id);
    return found == def_.end() ? nullptr : found->second;
  }
  const std::vector<const ir::Op*>& UsesOf(ValueId id) const {
    static const auto* const kNone = new std::vector<const ir::Op*>();
    auto found = uses_.find(id);
    return found == uses_.end() ? *kNone : found->second;
  }
  bool FromBefore(ValueId id) const { return Def(id) == nullptr && std::find(body_.args.begin(), body_.args.end(), id) == body_.args.end(); }

  // Before the body's own work: its operands are in rings or there already.
  bool StartsEarly(const ir::Op& dot) const {
    const ValueId result = dot.results[0];
    return input_.in_ring(result, 1) && (input_.in_ring(result, 0) || FromBefore(dot.operands[0])) && FromBefore(dot.operands[2]);
  }

  bool DependsOn(ValueId id, ValueId on) const {
    std::set<ValueId> seen;
    std::vector<ValueId> open = {id};
    while (!open.empty()) {
      const ValueId at = open.back();
      open.pop_back();
      if (at == on) return true;
      const ir::Op* op = at == kNoValue ? nullptr : Def(at);
      if (op == nullptr || !seen.insert(at).second) continue;
      open.insert(open.end(), op->operands.begin(), op->operands.end());
      for (const ir::Region& region : op->regions) {
        for (const ir::Op& inner : region.ops) open.insert(open.end(), inner.operands.begin(), inner.operands.end());
      }
    }
    return false;
  }

  // Follows the sum from the dot back to the value that the loop carries.
  bool FindSum(const ir::Op& second, Delay& out) const {
    const ir::Op& yield = body_.ops.back();
    const ValueId result = second.results[0];
    if (UsesOf(result).size() != 1 || UsesOf(result)[0] != &yield) return false;
    ValueId at = second.operands[2];
    for (;;) {
      if (UsesOf(at).size() != 1) return false;
      const auto arg = std::find(body_.args.begin() + 1, body_.args.end(), at);
      if (arg != body_.args.end()) {
        out.carried = static_cast<int>(arg - body_.args.begin()) - 1;
        std::reverse(out.late.begin(), out.late.end());
        return yield.operands[out.carried] == result;
      }
      const ir::Op* op = Def(at);
      if (op == nullptr || !specializer::IsElementwise(op->op) || op->results.size() != 1) return false;
      out.late.push_back(at);
      // One operand carries the sum; the others do not come from it.
      ValueId next = kNoValue;
      for (ValueId operand : op->operands) {
        if (operand == kNoValue || !FromSum(operand)) continue;
        if (next != kNoValue) return false;
        next = operand;
      }
      if (next == kNoValue || lk_.layout_of[next] != lk_.layout_of[result]) return false;
      at = next;
    }
  }
  // Whether a carried tile of the accumulator's layout reaches the value by elementwise ops.
  bool FromSum(ValueId id) const {
    if (std::find(body_.args.begin() + 1, body_.args.end(), id) != body_.args.end()) {
      const size_t i = static_cast<size_t>(std::find(body_.args.begin(), body_.args.end(), id) - body_.args.begin()) - 1;
      const ir::Op* next = Def(body_.ops.back().operands[i]);
      return next != nullptr && next->op == Op::kDot;
    }
    const ir::Op* op = Def(id);
    if (op == nullptr || !specializer::IsElementwise(op->op)) return false;
    return std::any_of(op->operands.begin(), op->operands.end(), [&](ValueId operand) { return operand != kNoValue && FromSum(operand); });
  }

  void FindPacking(const ir::Op& second, Delay& out) const {
    for (ValueId at = second.operands[0]; UsesOf(at).size() == 1; at = Def(at)->operands[0]) {
      const ir::Op* op = Def(at);
      if (op == nullptr || op->op != Op::kCast || lk_.layout_of[op->operands[0]] != lk_.layout_of[at]) break;
      out.packing.insert(out.packing.begin(), at);
    }
  }

  // max(m, ...), also as the result of both sides of an `if`.
  bool IsAtLeast(ValueId id, ValueId m) const {
    const ir::Op* most = Def(id);
    if (most == nullptr) return false;
    if (most->op == Op::kMaximum) return most->operands[0] == m || most->operands[1] == m;
    if (most->op != Op::kIf) return false;
    const size_t i = static_cast<size_t>(std::find(most->results.begin(), most->results.end(), id) - most->results.begin());
    return std::all_of(most->regions.begin(), most->regions.end(), [&](const ir::Region& region) {
      return region.ops.back().op == Op::kYield && IsAtLeast(region.ops.back().operands[i], m);
    });
  }

  // exp(m - max(m, ...))
  bool IsAtMostOne(ValueId id) const {
    const ir::Op* exp = Def(id);
    if (exp == nullptr || (exp->op != Op::kExp2 && exp->op != Op::kExp)) return false;
    const ir::Op* difference = Def(exp->operands[0]);
    return difference != nullptr && difference->op == Op::kSub && IsAtLeast(difference->operands[1], difference->operands[0]);
  }

  void FindPartialSums(Delay& out) const {
    const ir::Op& yield = body_.ops.back();
    for (size_t i = 0; i < yield.operands.size(); ++i) {
      const ValueId arg = body_.args[1 + i], sum = yield.operands[i];
      const ir::Op* last = Def(sum);
      if (static_cast<int>(i) == out.carried || last == nullptr || UsesOf(sum).size() != 1 || UsesOf(arg).size() != 1) continue;
      ValueId added = kNoValue;
      if (last->op == Op::kFma) {
        const int factor = last->operands[0] == arg ? 1 : 0;
        if (last->operands[1 - factor] == arg && IsAtMostOne(last->operands[factor])) added = last->operands[2];
      } else if (last->op == Op::kAdd) {
        if (last->operands[0] == arg) added = last->operands[1];
        else if (last->operands[1] == arg) added = last->operands[0];
      }
      const ir::Op* reduce = added == kNoValue ? nullptr : Def(added);
      if (reduce == nullptr || reduce->op != Op::kReduce || reduce->StringAttr("kind") != "add" || reduce->operands.size() != 1) continue;
      if (UsesOf(added).size() != 1) continue;
      if (lk_.kernel.TypeOf(added).elem.dtype != isa::DType::kF32 || lk_.kernel.TypeOf(added).is_scalar() || lk_.layout_of[added] != lk_.layout_of[sum]) continue;
      const layout::LinearLayout& from = lk_.LayoutOf(reduce->operands[0]);
      const layout::LinearLayout to = from.Sliced(static_cast<int>(reduce->IntAttr("axis")));
      PartialSum partial{added, static_cast<int>(i), 0};
      bool within = true;
      for (size_t bit = 0; bit < from.warp().size(); ++bit) within &= from.warp()[bit] == 0 || to.warp()[bit] != 0;
      for (size_t bit = 0; bit < from.lane().size(); ++bit) partial.lanes |= from.lane()[bit] != 0 && to.lane()[bit] == 0 ? 1u << bit : 0;
      if (within && partial.lanes != 0) out.partial.push_back(partial);
    }
  }

  const layout::LayoutKernel& lk_;
  const ir::Region& body_;
  const DelayInput& input_;
  std::map<ValueId, const ir::Op*> def_;
  std::map<ValueId, std::vector<const ir::Op*>> uses_;
};

}  // namespace

std::optional<Delay> DelayOf(const layout::LayoutKernel& kernel, const ir::Op& loop, const DelayInput& input) { return Finder(kernel, loop, input).Run(); }

}  // namespace tilevm::pipeline
