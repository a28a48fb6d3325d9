#include "specializer/pipeline/overlap.h"

#include <algorithm>
#include <map>

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

// Words of 4 bytes that a thread can hold of accumulators and fragments, beside addresses and what is computed from them; it has 232 registers.
constexpr int64_t kMostWords = 208;

bool Contains(const std::vector<ValueId>& list, ValueId id) { return std::find(list.begin(), list.end(), id) != list.end(); }

}  // namespace

bool Overlap::IsEarly(ValueId dot) const { return Contains(early, dot); }
bool Overlap::RunsOn(ValueId dot) const { return Contains(on, dot); }

std::optional<Overlap> OverlapOf(const ir::Op& loop, const DelayInput& input) {
  const ir::Region& body = loop.regions[0];
  const ir::Op& yield = body.ops.back();
  std::set<ValueId> inside(body.args.begin(), body.args.end());
  std::map<ValueId, int> uses;
  int dots = 0;
  for (const ir::Op& op : body.ops) {
    if (!op.regions.empty()) return std::nullopt;
    for (ValueId operand : op.operands) ++uses[operand];
    inside.insert(op.results.begin(), op.results.end());
    if (op.op != Op::kDot) continue;
    const auto plan = input.wgmma->find(op.results[0]);
    if (plan == input.wgmma->end() || plan->second.promote || plan->second.b_written || plan->second.a_written) return std::nullopt;
    ++dots;
  }
  if (dots < 2) return std::nullopt;
  Overlap out;
  int64_t words = 0, fixed_words = 0;
  for (const ir::Op& op : body.ops) {
    if (op.op != Op::kDot) continue;
    const ValueId dot = op.results[0], acc = op.operands[2];
    const Wgmma& plan = input.wgmma->at(dot);
    const int64_t sum_words = plan.m_tiles * plan.n / 2, a_words = plan.m_tiles * plan.k_steps * 4;
    const bool fixed = inside.count(op.operands[0]) == 0, a_in_ring = input.in_ring(dot, 0);
    words += sum_words;
    if (input.in_ring(dot, 1) && (a_in_ring || fixed) && inside.count(acc) == 0) {
      out.early.push_back(dot);
      words += sum_words;  // and what is made of them
      if (fixed) {
        out.fixed.insert(dot);
        fixed_words += a_words;
      }
      continue;
    }
    if (!a_in_ring) words += a_words;
    const auto arg = std::find(body.args.begin() + 1, body.args.end(), acc);
    if (arg == body.args.end() || uses[acc] != 1 || uses[dot] != 1) continue;
    if (yield.operands[static_cast<size_t>(arg - body.args.begin()) - 1] == dot) out.on.push_back(dot);
  }
  if (out.early.empty()) return std::nullopt;
  out.buffers = words + fixed_words > kMostWords;
  return out;
}

}  // namespace tilevm::pipeline
