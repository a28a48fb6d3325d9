// A schedule as text, which `tilevm inspect --stage pipeline` shows:
//
//   roles: a producer thread (its warpgroup has 40 registers a thread), 2 consumer warpgroups (232 registers a thread)
//   persistent: a CTA takes programs as far apart as there are CTAs
//   ring 0: 4 slots of 49152 bytes
//   loop at line 41: its copies come through rings
//     copy %a tile<128x64xf16> into ring 0 at 0, by a tensor map
//   dot %acc reads operand a from %a
//   dot %acc by wgmma: 2 warpgroups, 1 tiles of 64 x 256 each, 4 steps along k
//
// Of a loop that is not pipelined it says why.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "specializer/pipeline/roles.h"

namespace tilevm::pipeline {

using ir::ValueId;
using isa::Op;

std::string NameOf(const layout::LayoutKernel& kernel, ValueId id) {
  const std::string& known = kernel.kernel.values[id].name;
  return known.empty() ? absl::StrCat("%", id) : absl::StrCat("%", known);
}

namespace {

std::string Count(int64_t n, absl::string_view what) { return absl::StrCat(n, " ", what, n == 1 ? "" : "s"); }

class SchedulePrinter {
 public:
  SchedulePrinter(const Schedule& schedule, const layout::LayoutKernel& kernel) : schedule_(schedule), lk_(kernel), roles_(schedule.roles) {}

  std::string Run() {
    FindLoops(lk_.kernel.body);
    if (roles_.groups > 0) PrintRoles();
    else if (!schedule_.loops.empty() && !schedule_.why_no_roles.empty()) Line("not split into roles: ", schedule_.why_no_roles);
    if (schedule_.order.reversed >= 0) Line("programs begin from the last along axis ", schedule_.order.reversed, ": those are the longest");
    for (const Loop& loop : schedule_.loops) PrintLoop(loop);
    PrintOtherLoops();
    for (const Copy& copy : roles_.kept) Line("copy ", Describe(copy), " once for a program ", How(copy));
    PrintMadeMaps();
    PrintDots();
    // In the order of the values, not of where the ops lie in memory.
    std::map<ValueId, const BoxStore*> stores;
    for (const auto& [op, store] : roles_.box_stores) stores[op->operands[1]] = &store;
    for (const auto& [value, plan] : stores) {
      const BoxStore& store = *plan;
      Line("store of ", Name(store.value), " by a tensor map: ", Count(store.panels, "panel"), " of ", store.rows, " x ", store.panel_bytes, " bytes, through ",
           Count(roles_.store_buffers, "buffer"));
    }
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&out_, parts..., "\n");
  }
  std::string Name(ValueId id) const { return NameOf(lk_, id); }
  void FindLoops(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      if (op.op == Op::kFor) loops_[op.regions[0].args[0]] = &op;
      for (const ir::Region& inner : op.regions) FindLoops(inner);
    }
  }
  // The variable of a loop in Triton's language leaves no name.
  std::string LoopName(const ir::Op& op) const {
    if (op.loc.known()) return absl::StrCat(op.op == Op::kFor ? "loop" : "while loop", " at line ", op.loc.line);
    return op.op == Op::kFor ? absl::StrCat("loop over ", Name(op.regions[0].args[0])) : "a while loop";
  }
  std::string Describe(const Copy& copy) const { return absl::StrCat(Name(copy.value), " ", isa::ToString(lk_.kernel.TypeOf(copy.value))); }

  void PrintRoles() {
    const RoleRegisters registers = RegistersOf(roles_);
    const char* const producer = roles_.by_threads ? "a producer warpgroup" : roles_.made.empty() ? "a producer thread" : "a producer warp";
    Line("roles: ", producer, roles_.by_threads ? " (" : " (its warpgroup has ", registers.producer, " registers a thread), ", Count(roles_.groups, "consumer warpgroup"), " (",
         registers.consumer, " registers a thread)");
    if (roles_.programs > 1) Line("a CTA runs ", roles_.programs, " programs side by side, neighbours along axis 0, each on a warpgroup of its own");
    if (!roles_.persistent) Line("not persistent: a CTA runs one program");
    else if (roles_.dealt) Line("persistent: a CTA takes the next program from a counter when it gets there, for they differ in length");
    else Line("persistent: a CTA takes programs as far apart as there are CTAs");
    if (roles_.tail_parts > 1) Line("the last programs are shared, in ", roles_.tail_parts, " parts");
    if (roles_.ctas > 1) Line(roles_.ctas, " CTAs share a multiprocessor");
    for (size_t i = 0; i < roles_.rings.size(); ++i) {
      const Ring& ring = roles_.rings[i];
      Line("ring ", i, ": ", Count(ring.stages, "slot"), " of ", ring.slot_bytes, " bytes at ", ring.offset);
    }
  }

  // Where a copy of a split kernel goes, and by what.
  std::string How(const Copy& copy) const {
    const int64_t bytes = copy.vector * isa::StorageBytes(lk_.kernel.TypeOf(copy.value).elem);
    const auto made = std::find_if(roles_.made.begin(), roles_.made.end(), [&](const MadeMap& map) { return !map.store && map.access->results[0] == copy.value; });
    return absl::StrCat("into ring ", copy.ring, " at ", copy.offset, ", ",
                        copy.by_threads ? absl::StrCat("by cp.async of the producer's threads, ", bytes, " bytes at a time: ", copy.why_no_box)
                        : made != roles_.made.end() ? "by a tensor map of the producer's making" : "by a tensor map",
                        copy.turned ? " of a copy of the array with its dimensions swapped" : "");
  }

  void PrintLoop(const Loop& loop) {
    if (roles_.groups > 0) Line(LoopName(*loops_.at(loop.induction)), ": its copies come through rings");
    else Line(LoopName(*loops_.at(loop.induction)), ": ", loop.stages, " slots of ", loop.slot_bytes, " bytes");
    for (const Copy& copy : loop.copies) {
      if (roles_.groups > 0) {
        Line("  copy ", Describe(copy), " ", How(copy));
        continue;
      }
      Line("  stage 0, ", loop.ahead, " ahead: copy ", Describe(copy), " at ", copy.offset, ", rows along axis ", copy.axis, ", ",
           copy.vector * isa::StorageBytes(lk_.kernel.TypeOf(copy.value).elem), " bytes at a time", copy.staged ? ", through registers" : " by cp.async");
    }
    if (roles_.groups > 0) return;
    for (ValueId id : loop.slice) Line("  stage 0: ", Name(id));
  }

  // Why the loops that have no copies have none. Those around a loop that has need none.
  void PrintOtherLoops() {
    std::vector<std::string> others;
    bool any = false;
    Walk(lk_.kernel.body, others, any);
    if (!schedule_.loops.empty()) {
      for (const std::string& other : others) Line("not pipelined: ", other);
    } else {
      Line("no loop is pipelined: ", any ? absl::StrJoin(others, "; ") : "the kernel has none");
    }
  }
  // Whether a loop in the region is pipelined.
  bool Walk(const ir::Region& region, std::vector<std::string>& others, bool& any) const {
    bool pipelined = false;
    for (const ir::Op& op : region.ops) {
      const bool loop = op.op == Op::kFor, repeats = loop || op.op == Op::kWhile;
      any |= repeats;
      if (loop && schedule_.LoopOf(op.regions[0].args[0]) != nullptr) {
        pipelined = true;
        continue;
      }
      const size_t at = others.size();
      bool inside = false;
      for (const ir::Region& inner : op.regions) inside |= Walk(inner, others, any);
      pipelined |= inside;
      if (!repeats || inside) continue;
      std::string why = LoopName(op);
      const auto known = loop ? schedule_.why_not.find(op.regions[0].args[0]) : schedule_.why_not.end();
      absl::StrAppend(&why, ": ", known != schedule_.why_not.end() ? known->second : loop ? "it has no dot" : "how often it goes round is not known ahead");
      others.insert(others.begin() + static_cast<ptrdiff_t>(at), std::move(why));
    }
    return pipelined;
  }

  void PrintMadeMaps() {
    for (const MadeMap& map : roles_.made) {
      const std::string& by = lk_.kernel.values[map.before->results.empty() ? map.access->operands[0] : map.before->results[0]].name;
      Line("the tensor map of ", map.store ? "the store of " : "", Name(map.store ? map.access->operands[1] : map.access->results[0]), " is made by the producer, before the ",
           isa::Mnemonic(map.before->op), by.empty() ? "" : " of ", by);
    }
  }

  void PrintDots() {
    for (const Loop& loop : schedule_.loops) {
      if (loop.deferred != ir::kNoValue) Line("dot ", Name(loop.deferred), " runs on into the next iteration");
      if (!loop.overlap.has_value()) continue;
      for (ValueId id : loop.overlap->early) Line("dot ", Name(id), " starts first");
      for (ValueId id : loop.overlap->on) Line("dot ", Name(id), " runs on into the next iteration");
    }
    for (const Loop& loop : schedule_.loops) {
      if (!loop.delay.has_value()) continue;
      absl::StrAppend(&out_, "dot ", Name(loop.delay->second), " starts one iteration late, under what is computed from ", Name(loop.delay->first), "; waiting for it:");
      for (const auto* list : {&loop.delay->late, &loop.delay->packing}) {
        for (ValueId id : *list) absl::StrAppend(&out_, " ", Name(id));
      }
      absl::StrAppend(&out_, "\n");
      for (const PartialSum& sum : loop.delay->partial) Line("sum of ", Name(sum.reduce), " stays in parts, one in each lane, until the loop ends");
    }
    for (const auto& [where, operand] : schedule_.operands) {
      Line("dot ", Name(where.first), " reads operand ", where.second == 0 ? "a" : "b", " from ", Name(operand.copy), operand.transposed ? ", transposed" : "");
    }
    for (const auto& [result, plan] : schedule_.wgmma) {
      Line("dot ", Name(result), " by wgmma: ", Count(plan.groups, "warpgroup"), ", ", Count(plan.m_tiles, "tile"), " of 64 x ", plan.n, " each, ", Count(plan.k_steps, "step"), " along k",
           plan.a_written ? ", a in a buffer of its own" : "", plan.b_written ? ", b through a buffer of its own" : "", plan.promote ? ", summed in parts of 128 along k" : "");
    }
  }

  const Schedule& schedule_;
  const layout::LayoutKernel& lk_;
  const Roles& roles_;
  std::map<ValueId, const ir::Op*> loops_;  // by induction variable
  std::string out_;
};

}  // namespace

std::string Print(const Schedule& schedule, const layout::LayoutKernel& kernel) { return SchedulePrinter(schedule, kernel).Run(); }

}  // namespace tilevm::pipeline
