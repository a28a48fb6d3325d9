// Atomics, and the order of memory accesses inside a program.
//
// A program sees its own accesses in program order although its threads run apart: where an access may meet an earlier one of another thread, a barrier
// stands between. What happened since the last barrier is known by the parameter that a pointer comes from (its base; -1: any). Control flow joins
// what the ways into a point have left open.
#include "gpu/emit/printer.h"
#include "isa/status.h"

namespace tilevm::gpu {

using isa::Op;

int Printer::BaseOf(ir::ValueId pointer) { return pointer < base_.size() ? base_[pointer] : -1; }

// Which parameter each pointer value comes from: through splats, broadcasts, shape ops, additions and conversions; loops keep it if they agree.
void Printer::CollectBases(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    if (op.op == Op::kFor || op.op == Op::kWhile) {
      const size_t first = op.op == Op::kFor ? 3 : 0, skip = op.op == Op::kFor ? 1 : 0;
      std::vector<int> before;
      for (size_t i = 0; i < op.results.size(); ++i) before.push_back(BaseOf(op.operands[first + i]));
      // A carried pointer that changes its base could be either, and what was made of it too: walked again until all agree.
      for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < op.results.size(); ++i) {
          for (const ir::Region& inner : op.regions) base_[inner.args[skip + i]] = before[i];
          base_[op.results[i]] = before[i];
        }
        for (const ir::Region& inner : op.regions) CollectBases(inner);
        for (const ir::Region& inner : op.regions) {
          const ir::Op& last = inner.ops.back();
          const size_t test = op.op == Op::kWhile && &inner == &op.regions[0] ? 1 : 0;
          for (size_t i = 0; i < op.results.size() && i + test < last.operands.size(); ++i) {
            if (before[i] == -1 || BaseOf(last.operands[i + test]) == before[i] || !TypeOf(op.results[i]).elem.pointer) continue;
            before[i] = -1;
            changed = true;
          }
        }
      }
      continue;
    }
    for (const ir::Region& inner : op.regions) CollectBases(inner);
    if (op.results.empty() || !TypeOf(op.results[0]).elem.pointer || op.operands.empty()) continue;
    switch (op.op) {
      case Op::kSplat: case Op::kBroadcast: case Op::kExpandDims: case Op::kReshape: case Op::kPermute: case Op::kPtrAdd: case Op::kConvertLayout:
      case Op::kBitcast: case Op::kCast: case Op::kFlip: case Op::kSplit: case Op::kGather:
        // An address that came as a number is anybody's.
        for (ir::ValueId result : op.results) base_[result] = TypeOf(op.operands[0]).elem.pointer ? BaseOf(op.operands[0]) : -1;
        break;
      case Op::kJoin: case Op::kCat:
        base_[op.results[0]] = BaseOf(op.operands[0]) == BaseOf(op.operands[1]) ? BaseOf(op.operands[0]) : -1;
        break;
      case Op::kWhere:
        base_[op.results[0]] = BaseOf(op.operands[1]) == BaseOf(op.operands[2]) ? BaseOf(op.operands[1]) : -1;
        break;
      default:
        base_[op.results[0]] = -1;
        break;
    }
  }
}

// What a region may do to memory: the bases it reads and writes, and whether it takes in what other programs wrote.
void Printer::CollectAccesses(const ir::Region& region, Pending& out) {
  for (const ir::Op& op : region.ops) {
    const isa::Effect effect = isa::Info(op.op).effect;
    if (effect == isa::Effect::kReads || effect == isa::Effect::kWrites || effect == isa::Effect::kReadsWrites) {
      const int base = op.operands.empty() ? -1 : BaseOf(op.operands[0]);
      if (effect != isa::Effect::kWrites) out.reads.insert(base);
      if (effect != isa::Effect::kReads) out.writes.insert(base);
      const absl::string_view sem = op.StringAttr("sem", "acq_rel");
      if (effect == isa::Effect::kWrites && MadeFor(op) >= 0) out.boxes = true;
      if (effect == isa::Effect::kReadsWrites && op.op != Op::kCopyAsync) out.acquired |= sem == "acq_rel" || sem == "acquire";
    }
    for (const ir::Region& inner : op.regions) CollectAccesses(inner, out);
  }
}

void Printer::Pending::Join(const Pending& other) {
  reads.insert(other.reads.begin(), other.reads.end());
  writes.insert(other.writes.begin(), other.writes.end());
  acquired |= other.acquired;
  boxes |= other.boxes;
}

void Printer::WaitForBoxes() {
  if (pending_.boxes) Line("if ((threadIdx.x & 127) == 0) boxes_written();");
}

void Printer::OrderAccess(ir::ValueId pointer, bool writes) {
  const int base = BaseOf(pointer);
  auto meets = [&](const std::set<int>& pending) {
    if (pending.empty()) return false;
    if (!options_.no_alias || base < 0) return true;
    return pending.count(base) != 0 || pending.count(-1) != 0;
  };
  if (pending_.acquired || meets(pending_.writes) || (writes && meets(pending_.reads))) {
    Flush();
    WaitForBoxes();
    Line("barrier();");
    pending_ = Pending();
  }
  (writes ? pending_.writes : pending_.reads).insert(base);
}

bool Printer::MayChange(ir::ValueId pointer) const {
  const int base = pointer < base_.size() ? base_[pointer] : -1;
  const std::set<int>& written = kernel_accesses_.writes;
  return !written.empty() && (base < 0 || !options_.no_alias || written.count(base) != 0 || written.count(-1) != 0);
}

namespace {
bool IsPure(const ir::Op& op) {
  const isa::Effect effect = isa::Info(op.op).effect;
  if (effect != isa::Effect::kPure && effect != isa::Effect::kId && effect != isa::Effect::kReads) return false;
  for (const ir::Region& region : op.regions) {
    for (const ir::Op& inner : region.ops) {
      if (isa::Info(inner.op).effect != isa::Effect::kControl && !IsPure(inner)) return false;
    }
  }
  return true;
}
bool HasBarrier(const ir::Op& op) { return op.op == Op::kReduce || op.op == Op::kScan || op.op == Op::kSort || op.op == Op::kHistogram; }
}  // namespace

// The order in which the ops of a region are printed. A load whose address is known before a reduction, and that nothing between them can change, is issued
// before it, beside the loads that are already there: the weights of a normalisation are then under way while its row is summed. Words of 4 bytes that a thread
// holds longer for it are limited.
std::vector<const ir::Op*> Printer::PrintOrder(const ir::Region& region, bool may_move, bool* moved_loads) const {
  const int64_t registers = 65536 / (32 * options_.num_warps), most_words = std::min<int64_t>(32, registers / 2 - 16);
  std::vector<const ir::Op*> order;
  order.reserve(region.ops.size());
  int64_t words = 0;
  for (const ir::Op& op : region.ops) {
    order.push_back(&op);
    if (!may_move || op.op != Op::kLoad || !IsTile(op.results[0]) || op.BoolAttr("volatile") || MayChange(op.operands[0])) continue;
    const int64_t more = (LayoutOf(op.results[0]).register_count() * isa::StorageBytes(TypeOf(op.results[0]).elem) + 3) / 4;
    if (words + more > most_words) continue;
    // Backwards from the load. `slice`: it and what it needs, the last first; `moved`: how many of them stand behind `place`, where it would go.
    std::set<ir::ValueId> needed(op.operands.begin(), op.operands.end());
    std::vector<size_t> slice = {order.size() - 1};
    size_t place = 0, moved = 0;
    bool behind_barrier = false;
    for (size_t at = order.size() - 1; at-- > 0 && IsPure(*order[at]);) {
      const ir::Op& before = *order[at];
      bool is_needed = false;
      for (ir::ValueId result : before.results) is_needed |= needed.count(result) != 0;
      if (is_needed) {
        if (!before.regions.empty() || before.op == Op::kLoad || before.op == Op::kConvertLayout || HasBarrier(before)) break;
        needed.insert(before.operands.begin(), before.operands.end());
        slice.push_back(at);
      } else if (HasBarrier(before)) {
        place = at;
        moved = slice.size();
        behind_barrier = true;
      } else if (behind_barrier && before.op == Op::kLoad && IsTile(before.results[0])) {
        place = at + 1;  // beside the nearest load in front of the barrier
        moved = slice.size();
        behind_barrier = false;
      }
    }
    if (moved == 0) continue;
    words += more;
    *moved_loads = true;
    std::vector<const ir::Op*> ops;
    for (size_t i = moved; i-- > 0;) ops.push_back(order[slice[i]]);
    for (size_t i = 0; i < moved; ++i) order.erase(order.begin() + static_cast<std::ptrdiff_t>(slice[i]));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), ops.begin(), ops.end());
  }
  return order;
}

absl::Status Printer::PrintAtomic(const ir::Op& op) {
  const ir::ValueId result = op.results[0], pointer = op.operands[0];
  const bool cas = op.op == Op::kAtomicCas;
  const ir::ValueId mask = cas ? ir::kNoValue : op.operand(2);
  const absl::string_view sem = op.StringAttr("sem", "acq_rel"), scope = op.StringAttr("scope", "gpu");
  const bool relaxed = sem == "relaxed", release = !relaxed && sem != "acquire", acquire = !relaxed && sem != "release";
  const bool used = !uses_[result].empty();
  uint32_t lanes = 0, warps = 0;
  if (IsTile(result)) {
    const layout::LinearLayout& layout = LayoutOf(result);
    lanes = layout.ReplicatedLanes();
    warps = layout.ReplicatedWarps();
    if (used && warps != 0) UseShared(layout.warp_count() * layout.register_count() * 32 * isa::StorageBytes(TypeOf(result).elem));
  } else if (used) {
    UseShared(8);
  }
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const std::string table = Table(absl::StrCat("\n  static constexpr u32 lanes = ", lanes, ", warps = ", warps, ";\n  static constexpr bool used = ", flag(used),
                                               ", release = ", flag(release), ", acquire = ", flag(acquire), ";\n  static constexpr int scope = ",
                                               scope == "cta" ? 1 : scope == "sys" ? 2 : 0, ";\n"),
                                  'A');
  static constexpr struct { Op op; const char* name; } kNames[] = {
      {Op::kAtomicAdd, "AtomicAdd"}, {Op::kAtomicMax, "AtomicMax"}, {Op::kAtomicMin, "AtomicMin"}, {Op::kAtomicAnd, "AtomicAnd"},
      {Op::kAtomicOr, "AtomicOr"},   {Op::kAtomicXor, "AtomicXor"}, {Op::kAtomicXchg, "AtomicXchg"}};
  std::string call = cas ? absl::StrCat("<", table, ">") : "";
  for (const auto& row : kNames) {
    if (row.op == op.op) call = absl::StrCat("<", table, ", ", row.name, ">");
  }
  std::string args = absl::StrCat(Name(pointer), ", ", Name(op.operands[1]));
  if (cas) absl::StrAppend(&args, ", ", Name(op.operands[2]));
  if (!IsTile(result)) {
    if (!cas) absl::StrAppend(&args, ", ", mask == ir::kNoValue ? "true" : Name(mask));
    if (used) {
      pending_ = Pending();  // the template has a barrier on both sides
    } else {
      Release(release);
      OrderAccess(pointer, true);
      pending_.acquired |= acquire;
    }
    Line("auto ", Name(result), " = atomic", cas ? "_cas" : "", "_scalar", call, "(", scratch_, ", ", args, ");");
    return absl::OkStatus();
  }
  if (!cas) absl::StrAppend(&args, ", ", mask == ir::kNoValue ? "AllTrue{}" : Name(mask));
  Release(release);
  OrderAccess(pointer, true);
  pending_.acquired |= acquire;
  Line("auto ", Name(result), " = atomic", cas ? "_cas" : "", call, "(", scratch_, ", ", args, ");");
  return absl::OkStatus();
}

// What the program has done so far is to be seen by whoever sees the next operation.
void Printer::Release(bool release) {
  if (!release || (pending_.reads.empty() && pending_.writes.empty())) return;
  Flush();
  Line("barrier();");
  pending_ = Pending();
}

}  // namespace tilevm::gpu
