// Loops of several products, each waited for where its result is first used (specializer/pipeline/overlap.h):
//
//   u32 words[8];                       // the fragments of operands a that lie in registers: products under way read them
//   for (...) {
//     start the early products
//     ...
//     wgmma_wait<1>();                  // before the first op that uses one: at most what was started after it is still under way
//     wgmma_results<16>(s.v);
//     ...
//     fragment(words, ...); start dv += words @ g
//   }
//
// Products of a thread finish in the order in which they were started. What still runs when an iteration ends are products that run on; their slots are
// released in the next iteration, when they have been waited for.
#include <algorithm>

#include "gpu/emit/printer.h"

namespace tilevm::gpu {

using isa::Op;

// Before the loop: operands that stay, and room for those that change.
absl::Status Printer::OpenOverlap(const ir::Op& op, const pipeline::Overlap& overlap) {
  overlap_ = &overlap;
  const bool top = std::any_of(kernel().body.ops.begin(), kernel().body.ops.end(), [&](const ir::Op& other) { return &other == &op; });
  for (const ir::Op& dot : op.regions[0].ops) {
    if (dot.op != Op::kDot) continue;
    const ir::ValueId result = dot.results[0], a = dot.operands[0];
    const pipeline::Wgmma& plan = options_.schedule->wgmma.at(result);
    if (plan.a_written) {
      written_[result] = WriteOperand(dot, plan, 0);
      scratch_ = ((scratch_ + 1023) / 1024 + (TypeOf(a).elem_count() * isa::StorageBytes(TypeOf(a).elem) + 1023) / 1024) * 1024;
      UseShared(0);
    } else if (!options_.schedule->ReadsShared(result, 0)) {
      const bool fixed = overlap.fixed.count(result) != 0;
      // Loops that follow each other take the same.
      if (auto known = fixed_words_.find(a); fixed && top && known != fixed_words_.end()) {
        words_[result] = known->second;
        continue;
      }
      if (fixed) Materialise(a);
      words_[result] = absl::StrCat("words", next_label_++);
      for (int64_t tile = 0; tile < plan.m_tiles; ++tile) Line("u32 ", words_[result], "_", tile, "[", 4 * plan.k_steps, "];");
      if (fixed) PrintFragments(dot);
      if (fixed && top) fixed_words_[a] = words_[result];
    }
  }
  // The warpgroups take turns at starting early products.
  turns_ = HasRoles() && roles().groups > 1;
  if (turns_ && prologue_.find("turn_begin") == std::string::npos) absl::StrAppend(&prologue_, "  turn_begin<", roles().groups, ">();\n");
  running_.clear();
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ir::ValueId next = op.regions[0].ops.back().operands[i];
    if (overlap.RunsOn(next)) names_[next] = Name(op.results[i]);
  }
  // Only a producer knows to leave their slots alone.
  if (!HasRoles()) return absl::OkStatus();
  for (ir::ValueId dot : overlap.on) running_.push_back({dot, true});
  return absl::OkStatus();
}

void Printer::PrintFragments(const ir::Op& dot) {
  const pipeline::Wgmma& plan = options_.schedule->wgmma.at(dot.results[0]);
  const int64_t words = 4 * plan.k_steps, regs = words * 4 / isa::StorageBytes(TypeOf(dot.operands[0]).elem);
  for (int64_t tile = 0; tile < plan.m_tiles; ++tile) {
    Line("fragment(", words_[dot.results[0]], "_", tile, ", ", Name(dot.operands[0]), ".v + ", tile * regs, ", ", words, ");");
  }
}

// Those that start early stand first.
void Printer::OrderOverlap(std::vector<const ir::Op*>& order) {
  computed_.clear();
  std::stable_partition(order.begin(), order.end(), [&](const ir::Op* op) { return op->op == Op::kDot && overlap_->IsEarly(op->results[0]); });
}

void Printer::TakeTurn(bool take) {
  if (turns_) Line(take ? "turn_take<" : "turn_pass<", roles().groups, ">();");
}

// Before an op of the body: waits for the products that it uses.
void Printer::WaitForOperands(const ir::Op& op) {
  size_t done = 0;
  for (size_t i = 0; i < running_.size(); ++i) {
    const Running& dot = running_[i];
    bool needed = std::find(op.operands.begin(), op.operands.end(), dot.result) != op.operands.end() && !(op.op == Op::kYield && overlap_->RunsOn(dot.result));
    // Its fragments are about to be overwritten.
    needed |= op.op == Op::kDot && op.results[0] == dot.result && words_.count(dot.result) != 0 && overlap_->fixed.count(dot.result) == 0;
    if (needed) done = i + 1;
  }
  WaitForFirst(done);
}

void Printer::WaitForFirst(size_t done) {
  if (done == 0) return;
  Flush();
  // The assembler would wait before what is computed meanwhile.
  if (!computed_.empty()) Line("hold(", computed_, ");");
  computed_.clear();
  int64_t later = 0;
  for (size_t i = done; i < running_.size(); ++i) later += options_.schedule->wgmma.at(running_[i].result).m_tiles;
  Line("wgmma_wait<", later, ">();");
  std::set<int> free;
  for (size_t i = 0; i < done; ++i) {
    const Running& dot = running_[i];
    const pipeline::Wgmma& plan = options_.schedule->wgmma.at(dot.result);
    Line("wgmma_results<", LayoutOf(dot.result).register_count(), ">(", Name(dot.result), ".v);");
    if (auto words = words_.find(dot.result); words != words_.end() && overlap_->fixed.count(dot.result) == 0) {
      for (int64_t tile = 0; tile < plan.m_tiles; ++tile) Line("wgmma_read<", 4 * plan.k_steps, ">(", words->second, "_", tile, ");");
    }
    if (!dot.before) continue;
    const std::set<int> rings = RingsOf(*def_[dot.result]);
    free.insert(rings.begin(), rings.end());
  }
  running_.erase(running_.begin(), running_.begin() + static_cast<std::ptrdiff_t>(done));
  for (const Running& dot : running_) {
    if (!dot.before) continue;
    for (int ring : RingsOf(*def_[dot.result])) free.erase(ring);
  }
  for (int ring : free) Line("ring", ring, ".release<", taken_rings_.count(ring), ">(", ReleaseBy(ring), ");");
}

// At the end of the body. Returns the rings whose slots of this iteration are still read.
std::set<int> Printer::CloseOverlapBody() {
  computed_.clear();
  size_t done = 0;
  for (size_t i = 0; i < running_.size(); ++i) {
    if (running_[i].before || !overlap_->RunsOn(running_[i].result) || !HasRoles()) done = i + 1;
  }
  WaitForFirst(done);
  std::set<int> late;
  for (const Running& dot : running_) {
    const std::set<int> rings = RingsOf(*def_[dot.result]);
    late.insert(rings.begin(), rings.end());
  }
  return late;
}

// After the loop: whatever runs.
void Printer::CloseOverlap(const std::set<int>& late) {
  running_.clear();
  if (HasRoles() && !overlap_->on.empty()) {
    Line("wgmma_wait<0>();");
    for (ir::ValueId dot : overlap_->on) Line("wgmma_results<", LayoutOf(dot).register_count(), ">(", Name(dot), ".v);");
    for (int ring : late) Line("ring", ring, ".release<0>(", ReleaseBy(ring), ");");
  }
  overlap_ = nullptr;
}

}  // namespace tilevm::gpu
