// Scalars of later iterations. A loop that looks for its work in memory waits for the sizes of each problem before it can pass it by:
//
//   for g in range(groups):  n = load(sizes + g);  if mine(n): … store …
//
// What is loaded in front of everything that may store, from addresses that follow from the induction variable, is loaded for eight iterations at once, a lane of a
// warp each, and handed over as the loop gets there. A store of the loop spoils what has been loaded: it is loaded anew. Iterations that are not reached are not
// loaded: the count of a `for` is known, and there may be no exit in it.
#include <algorithm>

#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {

using isa::Op;

namespace {

constexpr int kAhead = 8;  // iterations

// Nothing but loads, stores and arithmetic; and no exit.
bool IsPlain(const ir::Region& region) {
  return std::all_of(region.ops.begin(), region.ops.end(), [](const ir::Op& op) {
    const isa::Effect effect = isa::Info(op.op).effect;
    if (op.op == Op::kExit || (op.op == Op::kLoad && op.BoolAttr("volatile")) || (op.op == Op::kInlineAsm && !specializer::IsPure(op))) return false;
    const bool plain = op.op == Op::kStore || effect == isa::Effect::kPure || effect == isa::Effect::kId || effect == isa::Effect::kReads || effect == isa::Effect::kControl;
    return plain && std::all_of(op.regions.begin(), op.regions.end(), [](const ir::Region& inner) { return IsPlain(inner); });
  });
}

}  // namespace

bool Printer::MayLoadAhead(const ir::Op& load) const {
  const isa::Type& type = TypeOf(load.results[0]);
  if (!type.is_scalar() || type.elem.pointer || (isa::BitWidth(type.elem.dtype) != 32 && isa::BitWidth(type.elem.dtype) != 64)) return false;
  if (load.operand(1) != ir::kNoValue || load.operand(2) != ir::kNoValue || load.BoolAttr("volatile") || !load.StringAttr("cache_modifier").empty()) return false;
  if (!producing_) return IsHandedOut(load);
  return roles().produced.count(load.results[0]) != 0;
}

// Of a loop's body; `needed`: the ops that its addresses come from, in order.
Printer::LoopAhead Printer::LoadsAhead(const ir::Op& loop) const {
  LoopAhead out;
  if (loop.FindAttr("step") != nullptr || Merged() || (producing_ && !roles().by_threads && roles().made.empty())) return out;
  const ir::Region& body = loop.regions[0];
  if (!IsPlain(body) || body.ops.back().op != Op::kYield) return out;
  if (std::any_of(body.ops.begin(), body.ops.end(), [](const ir::Op& op) { return op.op == Op::kStore; })) return out;  // every iteration would spoil them
  std::map<ir::ValueId, const ir::Op*> inside;
  for (const ir::Op& op : body.ops) {
    for (ir::ValueId id : op.results) inside[id] = &op;
  }
  std::set<const ir::Op*> needed;
  for (const ir::Op& op : body.ops) {
    if (!op.regions.empty() && !specializer::IsPure(op)) break;
    if (op.op != Op::kLoad || !MayLoadAhead(op)) continue;
    std::set<const ir::Op*> slice;
    bool follows = true;
    std::vector<ir::ValueId> open = {op.operands[0]};
    while (!open.empty() && follows) {
      const ir::ValueId id = open.back();
      open.pop_back();
      if (id == ir::kNoValue || id == body.args[0]) continue;
      follows = std::find(body.args.begin(), body.args.end(), id) == body.args.end();
      auto made = inside.find(id);
      if (!follows || made == inside.end() || !slice.insert(made->second).second) continue;
      const ir::Op& at = *made->second;
      follows = at.regions.empty() && at.results.size() == 1 && TypeOf(at.results[0]).is_scalar() &&
                (specializer::IsElementwise(at.op) || at.op == Op::kConst || at.op == Op::kPtrAdd);
      open.insert(open.end(), at.operands.begin(), at.operands.end());
    }
    if (!follows) continue;
    out.loads.push_back(&op);
    needed.insert(slice.begin(), slice.end());
  }
  for (const ir::Op& op : body.ops) {
    if (needed.count(&op) != 0) out.needed.push_back(&op);
  }
  return out;
}

// In front of the loop. `left`: the variable with the iterations that are left, this one too.
void Printer::OpenLoadsAhead(const ir::Op& loop, const std::string& left) {
  LoopAhead ahead = LoadsAhead(loop);
  if (!ahead.loads.empty()) {
    ahead.loop = &loop;
    ahead.left = left;
    ahead.name = absl::StrCat("ahead", next_label_++);
    Line("u32 ", ahead.name, " = ", kAhead, ";");
    for (size_t i = 0; i < ahead.loads.size(); ++i) Line(CudaType(TypeOf(ahead.loads[i]->results[0]).elem), " ", ahead.name, "_", i, "{};");
  }
  ahead_.push_back(std::move(ahead));
}

void Printer::SpoilLoadsAhead() {
  for (const LoopAhead& ahead : ahead_) {
    if (!ahead.loads.empty()) Line(ahead.name, " = ", kAhead, ";");
  }
}

// True if the load is one of those; the first of them stands for all.
absl::StatusOr<bool> Printer::PrintLoadsAhead(const ir::Op& load) {
  if (!IsLoadedAhead(load)) return false;
  const LoopAhead ahead = ahead_.back();
  if (&load != ahead.loads[0]) return true;
  const ir::Region& body = ahead.loop->regions[0];
  Flush();
  Line("if (", ahead.name, " == ", kAhead, ") {");
  ++depth_;
  if (!producing_) {
    UseShared(8 * kAhead * static_cast<int64_t>(ahead.loads.size()));
    WaitForBoxes();
    Line("barrier();");
    Line("if (thread_id() < ", kAhead, ") {");
    ++depth_;
  }
  const std::string lane = producing_ ? "lane_id()" : "thread_id()", iv = Name(body.args[0]), type = CudaType(TypeOf(body.args[0]).elem), own = ahead.name + "_at";
  Line("const bool there = ", lane, " < ", kAhead, " && ", lane, " < ", ahead.left, ";");
  Line("const ", type, " ", own, " = add(", iv, ", mul(static_cast<", type, ">(", lane, "), static_cast<", type, ">(", Name(ahead.loop->operands[2]), ")));");
  Line("{");
  ++depth_;
  Line("const ", type, " ", iv, " = ", own, ";");
  for (const ir::Op* op : ahead.needed) TILEVM_RETURN_IF_ERROR(PrintOp(*op, ahead.loop, body));  // scalars; they are printed once more where they stand
  for (size_t i = 0; i < ahead.loads.size(); ++i) {
    const ir::Op& op = *ahead.loads[i];
    const std::string elem = CudaType(TypeOf(op.results[0]).elem);
    Place(op.loc);
    if (producing_ && ToldLater()) Line("told.meet_any(there, ", Name(op.operands[0]), ");");
    const std::string value = absl::StrCat("load_scalar<", CacheCode(op, false), ", ", EvictCode(op), ">(", Name(op.operands[0]), ", there, zero_of<", elem, ">())");
    if (producing_) Line(ahead.name, "_", i, " = ", value, ";");
    else Line("const ", elem, " ", ahead.name, "_x", i, " = ", value, ";");
  }
  if (!producing_) {
    for (size_t i = 0; i < ahead.loads.size(); ++i) Line("hand_out(", scratch_ + 8 * kAhead * static_cast<int64_t>(i), " + 8 * thread_id(), ", ahead.name, "_x", i, ");");
  }
  --depth_;
  Line("}");
  if (!producing_) {
    --depth_;
    Line("}");
    Line("barrier();");
    for (size_t i = 0; i < ahead.loads.size(); ++i) {
      Line(ahead.name, "_", i, " = handed_out<", CudaType(TypeOf(ahead.loads[i]->results[0]).elem), ">(", scratch_ + 8 * kAhead * static_cast<int64_t>(i), " + 8 * (lane_id() % ", kAhead, "));");
    }
    // Stores spoil what was loaded, and so are always followed by these barriers; what was read may not be.
    pending_.writes.clear();
    pending_.boxes = false;
  }
  Line(ahead.name, " = 0;");
  --depth_;
  Line("}");
  for (size_t i = 0; i < ahead.loads.size(); ++i) {
    const ir::ValueId result = ahead.loads[i]->results[0];
    Line(ConstType(TypeOf(result).elem), " ", Name(result), " = __shfl_sync(~0u, ", ahead.name, "_", i, ", ", ahead.name, ");");
  }
  Line("++", ahead.name, ";");
  return true;
}

}  // namespace tilevm::gpu
