// Scalars from memory that may be written meanwhile: all threads have to see one value, so one thread reads it and hands it to the others, between two
// barriers. Loads that nothing in between can change are read together, so that they are under way at once: a program that finds sizes and addresses of its
// next problem in memory waits for them once.
#include <algorithm>
#include <iterator>

#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {

using isa::Op;

bool Printer::IsHandedOut(const ir::Op& op) const {
  // A producer that is one warp has no one to hand anything to: its loads are gathered for the sake of one look at what stores may have written.
  if (producing_) return ToldLater() && op.op == Op::kLoad && !IsTile(op.results[0]) && !op.BoolAttr("volatile") && roles().produced.count(op.results[0]) != 0;
  if (HasRoles() && (Merged() || roles().skipped.count(&op) != 0)) return false;
  return op.op == Op::kLoad && !IsTile(op.results[0]) && !op.BoolAttr("volatile") && MayChange(op.operands[0]);
}

// Moves the later loads that may be read with the one at `first` behind it, and what they need in front of it. Returns how many ops are to be printed first;
// the loads stand behind those.
size_t Printer::GatherScalarLoads(std::vector<const ir::Op*>& order, size_t first, std::vector<const ir::Op*>* loads) const {
  constexpr size_t kMostLoads = 16, kFarthest = 64;
  loads->push_back(order[first]);
  std::vector<size_t> needed;
  for (size_t at = first + 1; at < order.size() && at - first < kFarthest && loads->size() < kMostLoads; ++at) {
    const ir::Op& op = *order[at];
    const isa::Effect effect = isa::Info(op.op).effect;
    if ((effect != isa::Effect::kPure && effect != isa::Effect::kId && effect != isa::Effect::kReads) || !op.regions.empty() || op.BoolAttr("volatile")) break;
    if (!IsHandedOut(op) || IsLoadedAhead(op)) continue;
    std::set<ir::ValueId> wanted(op.operands.begin(), op.operands.end());
    std::vector<size_t> slice;
    bool may_move = true;
    for (size_t before = at; --before > first;) {
      const ir::Op& made = *order[before];
      if (std::none_of(made.results.begin(), made.results.end(), [&](ir::ValueId id) { return wanted.count(id) != 0; })) continue;
      const bool plain = specializer::IsElementwise(made.op) || made.op == Op::kConst || made.op == Op::kPtrAdd || made.op == Op::kProgramId ||
                         made.op == Op::kNumPrograms;
      may_move &= plain && !IsTile(made.results[0]);
      wanted.insert(made.operands.begin(), made.operands.end());
      slice.push_back(before);
    }
    if (!may_move || wanted.count(order[first]->results[0]) != 0) continue;
    needed.insert(needed.end(), slice.begin(), slice.end());
    loads->push_back(&op);
  }
  if (loads->size() == 1) return 0;
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  std::vector<const ir::Op*> moved;
  for (size_t at : needed) moved.push_back(order[at]);
  const size_t count = moved.size();
  moved.insert(moved.end(), loads->begin(), loads->end());
  const std::set<const ir::Op*> taken(moved.begin(), moved.end());
  std::vector<const ir::Op*> out(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(first));
  out.insert(out.end(), moved.begin(), moved.end());
  std::copy_if(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(), std::back_inserter(out),
               [&](const ir::Op* op) { return taken.count(op) == 0; });
  order = std::move(out);
  return count;
}

void Printer::PrintScalarLoads(const std::vector<const ir::Op*>& loads) {
  Flush();
  UseShared(8 * static_cast<int64_t>(loads.size()));
  WaitForBoxes();
  pending_ = Pending();
  Line("barrier();");
  Line("if (thread_id() == 0) {");
  const std::string number = absl::StrCat(next_label_++);
  for (size_t i = 0; i < loads.size(); ++i) {
    const ir::Op& op = *loads[i];
    const std::string type = CudaType(TypeOf(op.results[0]).elem);
    Place(op.loc);
    Line("  const ", type, " x", number, "_", i, " = load_scalar<", CacheCode(op, false), ", ", EvictCode(op), ">(", Name(op.operands[0]), ", ",
         op.operand(1) == ir::kNoValue ? "true" : Name(op.operand(1)), ", ",
         op.operand(2) == ir::kNoValue ? absl::StrCat("zero_of<", type, ">()") : Name(op.operand(2)), ");");
  }
  for (size_t i = 0; i < loads.size(); ++i) Line("  hand_out(", scratch_ + 8 * static_cast<int64_t>(i), ", x", number, "_", i, ");");
  Line("}");
  Line("barrier();");
  for (size_t i = 0; i < loads.size(); ++i) {
    const ir::ValueId result = loads[i]->results[0];
    Line("const auto ", Name(result), " = handed_out<", CudaType(TypeOf(result).elem), ">(", scratch_ + 8 * static_cast<int64_t>(i), ");");
  }
}

}  // namespace tilevm::gpu
