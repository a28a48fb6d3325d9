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
        for (ir::ValueId result : op.results) base_[result] = BaseOf(op.operands[0]);
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
      if (effect == isa::Effect::kReadsWrites && op.op != Op::kCopyAsync) out.acquired |= sem == "acq_rel" || sem == "acquire";
    }
    for (const ir::Region& inner : op.regions) CollectAccesses(inner, out);
  }
}

void Printer::Pending::Join(const Pending& other) {
  reads.insert(other.reads.begin(), other.reads.end());
  writes.insert(other.writes.begin(), other.writes.end());
  acquired |= other.acquired;
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
