#include "specializer/pipeline/schedule.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;
using layout::LinearLayout;

constexpr int64_t kRingAlign = 1024;       // the swizzle repeats every 8 rows of 128 bytes
constexpr int kDeferredStages = 4;         // two copies ahead, one slot read, one whose products may still run
constexpr int64_t kDeferredRing = 100 * 1024;  // small slots: more of them, so that enough bytes are under way; two such CTAs fit an SM
constexpr int64_t kReduceScratch = 16384;  // left for reductions inside the loop

class Scheduler {
 public:
  Scheduler(const layout::LayoutKernel& kernel, const ScheduleOptions& options) : lk_(kernel), options_(options) {}

  Schedule Run() {
    Index(lk_.kernel.body);
    Walk(lk_.kernel.body);
    if (!out_.loops.empty()) out_.order = ProgramOrderOf(lk_.kernel);
    return std::move(out_);
  }

 private:
  const isa::Type& TypeOf(ValueId id) const { return lk_.kernel.TypeOf(id); }
  const ir::Op* Def(ValueId id) const {
    auto found = def_.find(id);
    return found == def_.end() ? nullptr : found->second;
  }

  void Index(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) def_[result] = &op;
      for (ValueId operand : op.operands) {
        if (operand != kNoValue) uses_[operand].push_back(&op);
      }
      for (const ir::Region& inner : op.regions) Index(inner);
    }
  }

  void Walk(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      if (op.op == Op::kFor && HasDot(op.regions[0]) && TryLoop(op)) continue;
      for (const ir::Region& inner : op.regions) Walk(inner);
    }
  }

  static bool HasDot(const ir::Region& body) {
    return std::any_of(body.ops.begin(), body.ops.end(), [](const ir::Op& op) { return op.op == Op::kDot; });
  }
  static bool Writes(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      const isa::Effect effect = isa::Info(op.op).effect;
      // A volatile load may wait for another program: what it announces must not be read before.
      if (effect == isa::Effect::kWrites || effect == isa::Effect::kReadsWrites || op.BoolAttr("volatile")) return true;
      for (const ir::Region& inner : op.regions) {
        if (Writes(inner)) return true;
      }
    }
    return false;
  }

  bool IsZero(ValueId id) const {
    const ir::Op* op = Def(id);
    while (op != nullptr && (op->op == Op::kSplat || op->op == Op::kBroadcast || op->op == Op::kReshape || op->op == Op::kExpandDims)) {
      op = Def(op->operands[0]);
    }
    if (op == nullptr || op->op != Op::kConst) return false;
    const ir::Attr* value = op->FindAttr("value");
    if (const auto* number = std::get_if<double>(value)) return *number == 0 && !std::signbit(*number);
    if (const auto* number = std::get_if<int64_t>(value)) return *number == 0;
    return false;
  }

  // Small loads beside several products. (Of two, one may be delayed, and such a loop takes no copies but its products'.)
  bool MayCopyRows(const ir::Region& body) const {
    const auto is_dot = [](const ir::Op& op) { return op.op == Op::kDot; };
    return options_.rows && options_.boxes != nullptr && std::count_if(body.ops.begin(), body.ops.end(), is_dot) > 2;
  }

  // Adds to the slice what `id` needs, transitively. False if something cannot be computed ahead.
  bool Need(ValueId id, const ir::Op& loop, Loop& plan, const std::map<ValueId, const ir::Op*>& body) {
    if (id == kNoValue || plan.slice.count(id) != 0) return true;
    const ir::Region& region = loop.regions[0];
    for (size_t i = 1; i < region.args.size(); ++i) {
      if (region.args[i] != id) continue;
      if (!TypeOf(id).is_scalar()) return false;
      const int index = static_cast<int>(i) - 1;
      if (std::find(plan.carried.begin(), plan.carried.end(), index) != plan.carried.end()) return true;
      plan.carried.push_back(index);
      return Need(region.ops.back().operands[index], loop, plan, body);
    }
    auto found = body.find(id);
    if (found == body.end()) return true;  // from before the loop, or the induction variable
    const ir::Op& op = *found->second;
    const bool plain = specializer::IsElementwise(op.op) || op.op == Op::kConst || op.op == Op::kSplat || op.op == Op::kArange || op.op == Op::kBroadcast ||
                       op.op == Op::kReshape || op.op == Op::kExpandDims || op.op == Op::kPermute;
    if (!plain || op.results.size() != 1) return false;
    plan.slice.insert(id);
    return std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId operand) { return Need(operand, loop, plan, body); });
  }

  // Follows a dot operand back through changes of layout to the load, if it is one.
  Operand Source(ValueId id) const {
    Operand out;
    for (const ir::Op* op = Def(id); op != nullptr; op = Def(op->operands[0])) {
      if (op->op == Op::kLoad) {
        out.copy = op->results[0];
        return out;
      }
      if (op->op == Op::kPermute && TypeOf(op->results[0]).rank() == 2) {
        out.transposed = !out.transposed;
      } else if (op->op != Op::kConvertLayout) {
        break;
      }
    }
    return Operand();
  }

  // All uses of the value are changes of layout and dots.
  bool OnlyDots(ValueId id) const {
    auto found = uses_.find(id);
    if (found == uses_.end()) return false;
    for (const ir::Op* use : found->second) {
      if (use->op == Op::kDot && use->operands[2] != id) continue;
      if ((use->op == Op::kConvertLayout || (use->op == Op::kPermute && TypeOf(id).rank() == 2)) && OnlyDots(use->results[0])) continue;
      return false;
    }
    return true;
  }

  // Which axes of a value that only dots use run along k in them.
  void AxesAlongK(ValueId id, bool transposed, std::set<int>& out) const {
    auto found = uses_.find(id);
    if (found == uses_.end()) return;
    for (const ir::Op* use : found->second) {
      if (use->op != Op::kDot) {
        AxesAlongK(use->results[0], transposed != (use->op == Op::kPermute), out);
        continue;
      }
      for (int i : {0, 1}) {
        if (use->operands[i] == id) out.insert((i == 0) != transposed ? 1 : 0);
      }
    }
  }

  static void NeedAll(const ir::Op& op, std::set<ValueId>& needed) {
    needed.insert(op.operands.begin(), op.operands.end());
    for (const ir::Region& region : op.regions) {
      for (const ir::Op& inner : region.ops) NeedAll(inner, needed);
    }
  }

  // The first reason counts; always false.
  bool Not(const ir::Op& loop, std::string why) {
    out_.why_not.emplace(loop.regions[0].args[0], std::move(why));
    return false;
  }

  // Why a load of a loop's body cannot be copied ahead; empty if it may.
  std::string WhyNoCopy(const ir::Op& op, bool rows) const {
    const isa::Type& type = TypeOf(op.results[0]);
    if (type.elem.pointer) return "it loads pointers";
    if (type.rank() != 2 && !(rows && type.rank() == 1)) return absl::StrCat("its rank is ", type.rank());
    if (type.rank() == 2 && !OnlyDots(op.results[0])) return "more than dots use it";
    if (op.BoolAttr("volatile") || !op.StringAttr("cache_modifier").empty() || !op.StringAttr("eviction_policy").empty()) return "it is volatile or has a cache hint";
    if (op.operand(2) != kNoValue && !IsZero(op.operand(2))) return "where it is masked it is not 0";
    return "";
  }

  bool TryLoop(const ir::Op& loop) {
    const ir::Region& region = loop.regions[0];
    if (Writes(region)) return Not(loop, "it writes memory, or reads what is volatile");
    if (region.ops.back().op != Op::kYield) return Not(loop, "it may be left early");
    std::string why = "no operand of its dots is loaded in it";
    const auto cannot = [&](const ir::Op& load, absl::string_view reason) {
      if (TypeOf(load.results[0]).rank() == 2) why = absl::StrCat("load ", NameOf(lk_, load.results[0]), " cannot run ahead: ", reason);
    };
    std::map<ValueId, const ir::Op*> body;
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) body[result] = &op;
    }
    Loop plan;
    plan.induction = region.args[0];
    int64_t scratch = 0;
    const bool rows = MayCopyRows(region);
    for (const ir::Op& op : region.ops) {
      if (op.op == Op::kReduce || !op.regions.empty()) scratch = std::max(scratch, kReduceScratch);
      if (op.op != Op::kLoad) continue;
      const ValueId value = op.results[0];
      const isa::Type& type = TypeOf(value);
      if (const std::string refused = WhyNoCopy(op, rows); !refused.empty()) {
        cannot(op, refused);
        continue;
      }
      const int elem_bytes = isa::StorageBytes(type.elem);
      const LinearLayout& where = lk_.LayoutOf(value);
      Copy copy;
      copy.value = value;
      copy.row = type.rank() == 1;
      copy.axis = copy.row || where.ContiguousElements(0) > where.ContiguousElements(1) ? 0 : 1;
      copy.vector = std::min<int64_t>(options_.vector ? options_.vector(op) : 1, 16 / elem_bytes);
      copy.staged = copy.vector * elem_bytes < 4;
      if (const analysis::Box* box = options_.boxes == nullptr ? nullptr : options_.boxes->Of(op); box != nullptr && !box->dims.empty() && box->dims[0].axis >= 0) {
        copy.axis = box->dims[0].axis;
        copy.staged = false;
        // wgmma reads 16-bit operands in either order, others along k alone.
        std::set<int> along_k;
        if (options_.turn && elem_bytes != 2 && !copy.row) AxesAlongK(value, false, along_k);
        if (along_k == std::set<int>{1 - copy.axis} && type.shape[1 - copy.axis] * elem_bytes >= 64 && options_.boxes->CanTurn(op)) {
          copy.axis = 1 - copy.axis;
          copy.turned = true;
        }
      } else if (const analysis::MadeBox* made = options_.made ? options_.boxes->MadeOf(op) : nullptr; made != nullptr) {
        copy.axis = made->axis;
        copy.staged = false;
      } else if (copy.row) {
        continue;
      }
      if (type.shape[copy.axis] * elem_bytes < 32) {
        cannot(op, "its rows are shorter than 32 bytes");
        continue;
      }
      Loop tried = plan;
      if (!Need(op.operands[0], loop, tried, body) || !Need(op.operand(1), loop, tried, body)) {
        cannot(op, "its address or mask is not known before the iteration begins");
        continue;
      }
      plan = std::move(tried);
      copy.shared = copy.row ? layout::PlainRow(type.shape[0]) : layout::SwizzledRows(type.shape, copy.axis, elem_bytes);
      copy.bytes = (type.elem_count() * elem_bytes + kRingAlign - 1) / kRingAlign * kRingAlign;
      copy.offset = plan.slot_bytes;
      plan.slot_bytes += copy.bytes;
      plan.copies.push_back(std::move(copy));
    }
    if (std::all_of(plan.copies.begin(), plan.copies.end(), [](const Copy& copy) { return copy.row; })) return Not(loop, why);
    std::sort(plan.carried.begin(), plan.carried.end());
    // Backwards: what the rest of the body needs of the slice.
    std::set<ValueId> copied, needed;
    for (const Copy& copy : plan.copies) copied.insert(copy.value);
    for (auto it = region.ops.rbegin(); it != region.ops.rend(); ++it) {
      const ValueId result = it->results.empty() ? kNoValue : it->results[0];
      if (copied.count(result) != 0 || (plan.slice.count(result) != 0 && needed.count(result) == 0)) continue;
      NeedAll(*it, needed);
    }
    for (ValueId id : plan.slice) {
      if (needed.count(id) == 0) plan.only_ahead.insert(id);
    }

    out_.loops.push_back(plan);
    // Which dots read the buffers themselves.
    std::map<std::pair<ValueId, int>, Operand> operands;
    for (const ir::Op& op : region.ops) {
      if (op.op != Op::kDot) continue;
      const std::optional<MmaPlan> mma = MmaPlanOf(lk_, op);
      const bool thread_tiles = HasThreadTiles(lk_, op);
      if (!thread_tiles && (!mma || mma->batches != 1)) continue;
      for (int i : {0, 1}) {
        const Operand operand = Source(op.operands[i]);
        const Copy* copy = operand.copy == kNoValue ? nullptr : out_.CopyOf(operand.copy);
        if (copy == nullptr || Def(operand.copy) == nullptr || body.count(operand.copy) == 0) continue;
        if (thread_tiles) {
          operands[{op.results[0], i}] = operand;
          continue;
        }
        const int axis = operand.transposed ? 1 - copy->axis : copy->axis;  // of the operand, contiguous in the buffer
        const bool k_contiguous = axis == (i == 0 ? 1 : 0);
        const int bits = isa::BitWidth(TypeOf(op.operands[i]).elem.dtype);
        // ldmatrix turns 16-bit elements; wider ones are read one by one, which no wgmma can do.
        const bool one_by_one = bits == 64 || (bits == 32 && (!options_.wgmma || layout::IsSplit(lk_.kernel, op)));
        if (!k_contiguous && bits != 16 && !one_by_one) continue;
        if (i == 1 && mma->n_steps < 2) continue;
        operands[{op.results[0], i}] = operand;
      }
    }
    out_.operands.insert(operands.begin(), operands.end());
    for (const auto& [where, operand] : operands) {
      for (const ir::Op* op = Def(DotOf(region, where.first).operands[where.second]); op->op != Op::kLoad; op = Def(op->operands[0])) MarkIfUnused(*op);
    }
    // What the rest of the body needs of shared memory beside the ring.
    for (const ir::Op& op : region.ops) {
      if (op.op != Op::kConvertLayout || out_.not_printed.count(op.results[0]) != 0) continue;
      if (out_.CopyOf(Source(op.results[0]).copy) != nullptr) continue;
      const auto kind = layout::Convert(lk_.LayoutOf(op.operands[0]), lk_.LayoutOf(op.results[0])).kind;
      if (kind == layout::Conversion::Kind::kShared) scratch = std::max(scratch, TypeOf(op.results[0]).elem_count() * isa::StorageBytes(TypeOf(op.results[0]).elem));
    }
    Loop& made = out_.loops.back();
    PlanWgmma(region, made, scratch);
    if (options_.overlap) PlanDelay(loop, made, scratch);
    if (options_.overlap && !made.delay.has_value() && made.deferred == kNoValue) PlanOverlap(loop, made, scratch);
    made.stages = std::max(2, lk_.kernel.options.num_stages);
    if (made.delay.has_value()) made.stages = std::max(3, made.stages);
    if (made.deferred != kNoValue) {
      // Slots of which four for each of two CTAs would not fit: one CTA takes what there is.
      const int64_t ring = 2 * kDeferredStages * made.slot_bytes > options_.max_smem ? options_.max_smem : kDeferredRing;
      made.stages = std::max({made.stages, kDeferredStages, static_cast<int>(std::min<int64_t>(8, ring / made.slot_bytes))});
    }
    while (made.stages > 2 && made.stages * made.slot_bytes + scratch > options_.max_smem) --made.stages;
    if (made.stages * made.slot_bytes + scratch > options_.max_smem) {
      for (const auto& [where, operand] : operands) out_.operands.erase(where);
      for (const ir::Op& op : region.ops) {
        if (op.op == Op::kDot) out_.wgmma.erase(op.results[0]);
      }
      out_.not_printed.clear();
      const std::string two = absl::StrCat("two slots of ", made.slot_bytes, " bytes and ", scratch, " beside them do not fit into ", options_.max_smem, " bytes of shared memory");
      out_.loops.pop_back();
      return Not(loop, two);
    }
    if (made.stages < 3) {
      made.deferred = kNoValue;
      if (options_.boxes == nullptr) Undelay(made);
    }
    made.ahead = made.deferred != kNoValue || made.delay.has_value() ? std::max(1, made.stages - 2) : made.stages - 1;
    return true;
  }

  bool IsView(const ir::Op* op) const {
    return op != nullptr && (op->op == Op::kConvertLayout || (op->op == Op::kPermute && Source(op->results[0]).copy != kNoValue));
  }
  void PlanWgmma(const ir::Region& region, Loop& loop, int64_t& scratch) {
    if (!options_.wgmma) return;
    int dots = 0;
    for (const ir::Op& op : region.ops) {
      if (op.op != Op::kDot) continue;
      ++dots;
      int axis[2];
      for (int i : {0, 1}) {
        const Operand operand = Source(op.operands[i]);
        const Copy* copy = operand.copy == kNoValue ? nullptr : out_.CopyOf(operand.copy);
        axis[i] = copy == nullptr ? -1 : operand.transposed ? 1 - copy->axis : copy->axis;
      }
      const std::optional<Wgmma> plan = WgmmaPlanOf(lk_, op, axis);
      if (!plan || (!plan->b_written && out_.operands.count({op.results[0], 1}) == 0)) continue;
      out_.wgmma[op.results[0]] = *plan;
      if (plan->b_written) {
        for (const ir::Op* change = Def(op.operands[1]); IsView(change); change = Def(change->operands[0])) MarkIfUnused(*change);
        // Two buffers: one may be read by products of the iteration before.
        scratch = std::max(scratch, 2 * TypeOf(op.operands[1]).elem_count() * isa::StorageBytes(TypeOf(op.operands[1]).elem));
      }
      // The sum goes nowhere but around the loop, and both operands stay in their buffers.
      const ValueId result = op.results[0], acc = op.operands[2];
      if (uses_[result].size() != 1 || uses_[acc].size() != 1 || out_.operands.count({result, 0}) == 0 || plan->promote) continue;
      for (size_t i = 1; i < region.args.size(); ++i) {
        if (region.args[i] == acc && region.ops.back().operands[i - 1] == result) loop.deferred = result;
      }
    }
    if (dots != 1 || !options_.overlap) loop.deferred = kNoValue;
  }

  void PlanDelay(const ir::Op& loop, Loop& made, int64_t& scratch) {
    made.delay = DelayOf(lk_, loop, {&out_.wgmma, [&](ValueId dot, int i) { return out_.operands.count({dot, i}) != 0; }});
    if (!made.delay.has_value()) return;
    // Each copy is one dot's.
    std::set<ValueId> first, second;
    for (const auto& [where, operand] : out_.operands) {
      if (where.first == made.delay->first) first.insert(operand.copy);
      if (where.first == made.delay->second) second.insert(operand.copy);
    }
    for (const Copy& copy : made.copies) {
      if (first.count(copy.value) + second.count(copy.value) != 1) {
        made.delay.reset();
        return;
      }
    }
    const ir::Op& dot = *Def(made.delay->first);
    const isa::Type& a = TypeOf(dot.operands[0]);
    Wgmma& plan = out_.wgmma[made.delay->first];
    if (first.size() == 1 && a.shape[1] * isa::StorageBytes(a.elem) >= 64) {
      plan.a_written = true;
      scratch += a.elem_count() * isa::StorageBytes(a.elem);
      for (const ir::Op* change = Def(dot.operands[0]); change != nullptr && change->op == Op::kConvertLayout; change = Def(change->operands[0])) MarkIfUnused(*change);
    }
  }
  void PlanOverlap(const ir::Op& loop, Loop& made, int64_t& scratch) {
    made.overlap = OverlapOf(loop, {&out_.wgmma, [&](ValueId dot, int i) { return out_.operands.count({dot, i}) != 0; }});
    if (!made.overlap.has_value() || !made.overlap->buffers) return;
    for (ValueId dot : made.overlap->fixed) {
      const isa::Type& a = TypeOf(Def(dot)->operands[0]);
      out_.wgmma[dot].a_written = true;
      const ir::Op* change = Def(Def(dot)->operands[0]);
      for (; change != nullptr && change->op == Op::kConvertLayout; change = Def(change->operands[0])) MarkIfUnused(*change);
      scratch += (a.elem_count() * isa::StorageBytes(a.elem) + kRingAlign - 1) / kRingAlign * kRingAlign;
    }
  }
  void Undelay(Loop& made) {
    if (!made.delay.has_value()) return;
    Wgmma& plan = out_.wgmma[made.delay->first];
    const ir::Op* change = Def(Def(made.delay->first)->operands[0]);
    for (; plan.a_written && change != nullptr && change->op == Op::kConvertLayout; change = Def(change->operands[0])) out_.not_printed.erase(change->results[0]);
    plan.a_written = false;
    made.delay.reset();
  }

  static const ir::Op& DotOf(const ir::Region& region, ValueId result) {
    return *std::find_if(region.ops.begin(), region.ops.end(), [&](const ir::Op& op) { return op.op == Op::kDot && op.results[0] == result; });
  }

  // A change of layout whose value no one reads from registers.
  void MarkIfUnused(const ir::Op& op) {
    for (const ir::Op* use : uses_[op.results[0]]) {
      if (use->op == Op::kDot) {
        for (int i : {0, 1}) {
          if (use->operands[i] == op.results[0] && !out_.ReadsShared(use->results[0], i)) return;
        }
        if (use->operands[2] == op.results[0]) return;
      } else if (out_.not_printed.count(use->results[0]) == 0) {
        return;
      }
    }
    out_.not_printed.insert(op.results[0]);
  }

  const layout::LayoutKernel& lk_;
  const ScheduleOptions& options_;
  Schedule out_;
  std::map<ValueId, const ir::Op*> def_;
  std::map<ValueId, std::vector<const ir::Op*>> uses_;
};

}  // namespace

const Loop* Schedule::LoopOf(ValueId induction) const {
  for (const Loop& loop : loops) {
    if (loop.induction == induction) return &loop;
  }
  return nullptr;
}

const Copy* Schedule::CopyOf(ValueId value) const {
  for (const Loop& loop : loops) {
    for (const Copy& copy : loop.copies) {
      if (copy.value == value) return &copy;
    }
  }
  for (const Copy& copy : roles.kept) {
    if (copy.value == value) return &copy;
  }
  return nullptr;
}

bool Schedule::ReadsShared(ValueId dot, int i) const {
  auto found = wgmma.find(dot);
  return operands.count({dot, i}) != 0 || (found != wgmma.end() && (i == 0 ? found->second.a_written : found->second.b_written));
}

Schedule MakeSchedule(const layout::LayoutKernel& kernel, const ScheduleOptions& options) { return Scheduler(kernel, options).Run(); }

}  // namespace tilevm::pipeline
