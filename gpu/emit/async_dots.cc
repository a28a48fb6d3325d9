// Loops whose second product runs one iteration late (specializer/pipeline/delay.h), under the arithmetic between the two:
//
//   if (trips != 0) {
//     start scores = q @ k; wait
//     for (;;) {
//       the body between the dots
//       wgmma_wait<0>();                        // the product of the iteration before
//       acc *= alpha; words = the fragments of p
//       if (--trips == 0) break;
//       start scores = q @ k of the next iteration; start acc += words @ v; wgmma_wait<1>();
//     }
//     start acc += words @ v; wgmma_wait<0>();
//   }
//
// Warpgroups of a split kernel take turns at starting products (turn_take, turn_pass), so that one computes while another multiplies.
//
// Also here: what a uniform branch saves. A factor that is 1 in all rows of a warp changes nothing; a mask that is true in the whole tile neither, and
// whether it is follows from the ends of the ranges that it compares.
#include <algorithm>
#include <iterator>

#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {
namespace {

using isa::Op;

}  // namespace

absl::Status Printer::PrintDelayedFor(const ir::Op& op, const pipeline::Loop& plan) {
  const pipeline::Delay& delay = *plan.delay;
  const ir::Region& body = op.regions[0];
  const ir::Op &first = *def_[delay.first], &second = *def_[delay.second];
  const pipeline::Wgmma &early = options_.schedule->wgmma.at(delay.first), &later = options_.schedule->wgmma.at(delay.second);
  // Merged programs go on together until the last of them is done. Where they begin at different places (the diagonal blocks of causal attention) each has the
  // tensor cores to itself soon enough: with turns one would wait for all that another does before it.
  const bool split = HasRoles(), differ = BoundsDiffer(op), begins_differ = differ && roles().varies.count(op.operands[0]) != 0;
  const bool turns = split && roles().groups > 1 && !begins_differ;
  for (const pipeline::Copy& copy : plan.copies) {
    if (MadeFor(*def_[copy.value]) < 0) OrderAccess(def_[copy.value]->operands[0], false);
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    Materialise(op.operands[3 + i]);
    Line(Declared(op.results[i]), " = ", Name(op.operands[3 + i]), ";");
  }
  for (size_t i = 0; i < op.results.size(); ++i) names_[body.args[1 + i]] = Name(op.results[i]);
  names_[delay.second] = Name(op.results[delay.carried]);
  for (const pipeline::PartialSum& sum : delay.partial) {
    Line("keep_in_lanes<", sum.lanes, ">(", Name(op.results[sum.carried]), ");");
    partial_.insert(sum.reduce);
  }
  const Pending before = pending_;
  CollectAccesses(body, pending_);
  const int number = next_label_++;
  auto numbered = [&](const char* name) { return absl::StrCat(name, number); };
  const std::string iv = Name(body.args[0]), type = CudaType(TypeOf(body.args[0]).elem), trips = numbered("trips");
  const std::string by = op.FindAttr("step") != nullptr ? absl::StrCat(op.IntAttr("step")) : Name(op.operands[2]);
  const std::string step = absl::StrCat("static_cast<", type, ">(", by, ")");
  Line(type, " ", iv, " = ", Name(op.operands[0]), ";");
  const std::string count = CountType(op);
  Line(count, " ", trips, " = trip_count<", type, ">(", iv, ", ", Name(op.operands[1]), ", ", step, ");");
  if (differ) PrintUnion(op, numbered("first"), numbered("most"));
  const std::string before_own = numbered("before"), after_own = numbered("drained");
  if (begins_differ) Line("const ", count, " ", before_own, " = ", trips, " == 0 ? ", numbered("most"), " : static_cast<", count, ">((", iv, " - ", numbered("first"), ") / ", step, ");");
  if (differ) Line("const ", count, " ", after_own, " = ", numbered("most"), " - ", trips, begins_differ ? " - " + before_own : "", ";");
  const bool counted = split && roles().trips.count(body.args[0]) != 0;
  if (counted) Line("i32 ", iv, "_trip = 0;");
  int64_t outer_scratch = scratch_;
  if (!split) {
    TILEVM_RETURN_IF_ERROR(PrintAhead(op, plan, number));
    Line("u32 ", numbered("late"), " = ", numbered("take"), ";");
    scratch_ = plan.stages * plan.slot_bytes;
    UseShared(0);
  }
  // An operand a that stays the same lies in shared memory for the whole loop.
  const bool top = std::any_of(kernel().body.ops.begin(), kernel().body.ops.end(), [&](const ir::Op& other) { return &other == &op; });
  const ir::ValueId root = pipeline::BeforeLayoutChanges(first.operands[0], [&](ir::ValueId id) { return def_[id]; });
  if (auto kept = kept_.find(root); early.a_written && kept != kept_.end()) {
    written_[delay.first] = kept->second;
  } else if (early.a_written) {
    written_[delay.first] = WriteOperand(first, early, 0);
    const isa::Type& a = TypeOf(first.operands[0]);
    scratch_ = ((scratch_ + 1023) / 1024 + (a.elem_count() * isa::StorageBytes(a.elem) + 1023) / 1024) * 1024;
    UseShared(0);
    // For the other loops of the program too, where no ring is laid over it.
    if (split && top) {
      kept_[root] = written_[delay.first];
      outer_scratch = scratch_;
    }
  } else if (!options_.schedule->ReadsShared(delay.first, 0)) {
    Materialise(first.operands[0]);
  }
  group_number_ = early.groups == 1 ? "0" : numbered("group");
  if (early.groups > 1) Line("const u32 ", group_number_, " = warpgroup();");
  const bool zero = IsZero(first.operands[2]);
  if (!zero) Materialise(first.operands[2]);
  Line(Declared(delay.first), ";");
  words_[delay.second] = numbered("words");
  for (int64_t tile = 0; tile < later.m_tiles; ++tile) Line("u32 ", numbered("words"), "_", tile, "[", 4 * later.k_steps, "];");

  const std::set<int> first_rings = RingsOf(first), second_rings = RingsOf(second);
  // A ring with boxes of both: the second product reads the slot before the one that the next first product reads.
  std::set<int> both;
  std::set_intersection(first_rings.begin(), first_rings.end(), second_rings.begin(), second_rings.end(), std::inserter(both, both.end()));
  auto behind = [&](int ring) { return absl::StrCat("behind", number, "_", ring); };
  for (int ring : both) Line("u32 ", behind(ring), ";");
  auto release = [&](int ring, int keep = 0) { Line("ring", ring, ".release<", keep, ">(", ReleaseBy(ring), ");"); };
  auto results = [&](ir::ValueId value) { Line("wgmma_results<", LayoutOf(value).register_count(), ">(", Name(value), ".v);"); };
  auto start_first = [&]() -> absl::Status {
    if (!split) {
      Line("copies_wait<", plan.ahead - 1, ">();");
      Line("fence_shared();");
      Line("barrier();");
      Line("if (", numbered("left"), " != 0) ", numbered("copies"), "();");
      Line("copies_commit();");
    }
    for (int ring : first_rings) Line("ring", ring, ".wait_full();");
    if (turns) Line("turn_take<", roles().groups, ">();");
    slot_ = numbered("take");
    if (!zero) Line(Name(delay.first), " = ", Name(first.operands[2]), ";");
    return PrintWgmma(first, early, zero, "");
  };
  auto end_first = [&](int64_t running) {
    Line("wgmma_wait<", running, ">();");
    results(delay.first);
    for (int ring : first_rings) {
      if (both.count(ring) == 0) release(ring);
      else Line(behind(ring), " = ring", ring, ".address();");
      Line("ring", ring, ".advance();");
    }
  };
  auto start_second = [&]() -> absl::Status {
    for (int ring : second_rings) {
      if (both.count(ring) == 0) Line("ring", ring, ".wait_full();");
      else slots_[ring] = behind(ring);
    }
    slot_ = numbered("late");
    TILEVM_RETURN_IF_ERROR(PrintWgmma(second, later, false, ""));
    slots_.clear();
    for (int ring : second_rings) {
      if (both.count(ring) == 0) Line("ring", ring, ".advance();");
    }
    return absl::OkStatus();
  };
  // While the next first product's slot is held, or after the last.
  auto end_second = [&](bool last) {
    Line("wgmma_wait<0>();");
    results(delay.second);
    for (int ring : second_rings) release(ring, !last && both.count(ring) != 0 ? 1 : 0);
  };
  auto pass = [&] {
    if (turns) Line("turn_pass<", roles().groups, ">();");
  };
  if (turns && prologue_.find("turn_begin") == std::string::npos) absl::StrAppend(&prologue_, "  turn_begin<", roles().groups, ">();\n");

  // Iterations that only other programs take part in. Of those behind its own a program gives up the first turn before it waits for its last product.
  const std::string given = numbered("given");
  const bool gives = turns && differ;
  const auto drain = [&](const std::string& iterations) {
    Line("#pragma unroll 1");
    Line("for (", count, " left = ", iterations, "; left != 0; --left) {");
    ++depth_;
    for (int ring : first_rings) Line("ring", ring, ".wait_full();");
    if (turns) {
      Line("if (!", given, ") {");
      Line("  turn_take<", roles().groups, ">();");
      Line("  turn_pass<", roles().groups, ">();");
      Line("}");
      Line(given, " = false;");
    }
    for (const auto* rings : {&first_rings, &second_rings}) {
      for (int ring : *rings) {
        if (rings == &second_rings && both.count(ring) != 0) continue;
        if (rings == &second_rings) Line("ring", ring, ".wait_full();");
        release(ring);
        Line("ring", ring, ".advance();");
      }
    }
    --depth_;
    Line("}");
  };
  if (begins_differ) drain(before_own);
  if (gives) Line("bool ", given, " = false;");
  Line("if (", trips, " != 0) {");
  ++depth_;
  TILEVM_RETURN_IF_ERROR(start_first());
  pass();
  end_first(0);
  Line("#pragma unroll 1");
  Line("for (;;) {");
  ++depth_;
  ++loops_;
  const size_t scope = materialised_.size();
  // f32 to 16 bits: the fragments' words at once.
  const ir::Op* cast = delay.packing.size() == 1 ? def_[delay.packing[0]] : nullptr;
  const isa::DType to = TypeOf(second.operands[0]).elem.dtype;
  const bool narrows = cast != nullptr && TypeOf(cast->operands[0]).elem.dtype == isa::DType::kF32 && (to == isa::DType::kF16 || to == isa::DType::kBF16) &&
                       cast->StringAttr("rounding") != "rtz";
  bool waited = false;
  // Where four programs take turns, or three that end at different places, the assembler may wait as early as it likes: the other programs fill the gap, and what
  // is computed after the wait is packed as it is made (H200: 3 to 4 % and 1.5 to 2.5 % faster; three that end together 3 % slower, two up to 7 %).
  const bool holds = !turns || roles().groups < 3 || (roles().groups == 3 && !differ);
  auto wait_behind = [&](int64_t computed) {
    if (holds) Line("hold(", Name(cast->operands[0]), ".v[", computed - 1, "]);");
    end_second(false);
    waited = true;
  };
  // Where two warpgroups take turns, the second product is waited for when a quarter of its next operand is computed: the rest is packed as it is made, and its
  // slot is refilled earlier. With more of them, or no turns, it would be waited for too early.
  if (narrows && turns && roles().groups == 2) {
    const int64_t quarter = LayoutOf(cast->operands[0]).register_count() / 4;
    interlude_ = {cast->operands[0], quarter, 1, [&wait_behind, quarter] { wait_behind(quarter); }};
  }
  // The body between the dots.
  const std::set<ir::ValueId> late(delay.late.begin(), delay.late.end()), packing(delay.packing.begin(), delay.packing.end());
  scratch_state_ = ScratchState::kUnknown;
  slot_ = numbered("take");
  for (const ir::Op& inner : body.ops) {
    const ir::ValueId result = inner.results.empty() ? ir::kNoValue : inner.results[0];
    if (&inner == &first || &inner == &second || inner.op == Op::kYield || late.count(result) != 0 || packing.count(result) != 0) continue;
    if (inner.results.size() == 1 && plan.only_ahead.count(result) != 0) continue;
    if (split && roles().skipped.count(&inner) != 0) continue;
    if (inner.op == Op::kWhere && PrintUniformWhere(inner, body)) continue;
    TILEVM_RETURN_IF_ERROR(PrintOp(inner, &op, body));
  }
  Flush();
  scratch_state_ = ScratchState::kUnknown;
  std::vector<std::string> targets;
  std::vector<ir::ValueId> values;
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (static_cast<int>(i) == delay.carried) continue;
    targets.push_back(Name(op.results[i]));
    values.push_back(body.ops.back().operands[i]);
    Materialise(values.back());
  }
  interlude_ = {};
  const bool pairs = narrows && lazy_[cast->operands[0]] == nullptr;
  if (pairs && !waited) wait_behind(LayoutOf(cast->operands[0]).register_count());
  if (!waited) end_second(false);
  // The sum is rescaled under the next first product, unless what it takes is about to change.
  const bool at_once = LateNeedsOldValues(delay, body);
  if (at_once) PrintLate(delay);
  const int64_t words = 4 * later.k_steps, regs = words * 4 / isa::StorageBytes(TypeOf(second.operands[0]).elem);
  for (int64_t tile = 0; pairs && tile < later.m_tiles; ++tile) {
    Line("pack_pairs<", CudaType(TypeOf(second.operands[0]).elem), ">(", numbered("words"), "_", tile, ", ", Name(cast->operands[0]), ".v + ", tile * regs, ", ",
         words, ");");
  }
  if (!pairs) {
    for (ir::ValueId id : delay.packing) TILEVM_RETURN_IF_ERROR(PrintOp(*def_[id], &op, body));
    Flush();
    Materialise(second.operands[0]);
    for (int64_t tile = 0; tile < later.m_tiles; ++tile) {
      Line("fragment(", numbered("words"), "_", tile, ", ", Name(second.operands[0]), ".v + ", tile * regs, ", ", words, ");");
    }
  }
  AssignAll(targets, values);
  Line(iv, " = add(", iv, ", ", step, ");");
  if (counted) Line("++", iv, "_trip;");
  if (!split) {
    const std::string take = numbered("take"), ring = numbered("ring");
    Line(numbered("late"), " = ", take, ";");
    Line(take, " = ", take, " == ", ring, " + ", (plan.stages - 1) * plan.slot_bytes, " ? ", ring, " : ", take, " + ", plan.slot_bytes, ";");
  }
  Line("if (--", trips, " == 0) {");
  ++depth_;
  if (!at_once) PrintLate(delay);
  Line("break;");
  --depth_;
  Line("}");
  TILEVM_RETURN_IF_ERROR(start_first());
  if (!at_once) PrintLate(delay);
  TILEVM_RETURN_IF_ERROR(start_second());
  pass();
  end_first(later.m_tiles);
  EndScope(scope);
  --loops_;
  --depth_;
  Line("}");
  TILEVM_RETURN_IF_ERROR(start_second());
  if (gives) {
    Line("if (", after_own, " != 0) {");
    Line("  turn_take<", roles().groups, ">();");
    Line("  turn_pass<", roles().groups, ">();");
    Line("  ", given, " = true;");
    Line("}");
  }
  end_second(true);
  --depth_;
  Line("}");
  if (differ) drain(after_own);
  for (const pipeline::PartialSum& sum : delay.partial) Line("add_lanes<", sum.lanes, ">(", Name(op.results[sum.carried]), ");");
  if (!split) Line("copies_wait<0>();");
  scratch_ = outer_scratch;
  slot_.clear();
  group_number_.clear();
  pending_.Join(before);
  return absl::OkStatus();
}

// Whether something that the late ops take, and that has no variable of its own, is made of values that the end of the iteration changes.
bool Printer::LateNeedsOldValues(const pipeline::Delay& delay, const ir::Region& body) const {
  const std::set<ir::ValueId> late(delay.late.begin(), delay.late.end());
  std::vector<ir::ValueId> open;
  for (ir::ValueId id : delay.late) open.insert(open.end(), def_[id]->operands.begin(), def_[id]->operands.end());
  while (!open.empty()) {
    const ir::ValueId id = open.back();
    open.pop_back();
    if (id == ir::kNoValue || late.count(id) != 0 || id == body.args[1 + delay.carried]) continue;
    if (std::find(body.args.begin(), body.args.end(), id) != body.args.end()) return true;
    if (IsTile(id) && lazy_[id] != nullptr) open.insert(open.end(), lazy_[id]->operands.begin(), lazy_[id]->operands.end());
  }
  return false;
}

// acc = f(acc) in place.
void Printer::PrintLate(const pipeline::Delay& delay) {
  if (delay.late.empty()) return;
  const std::string sum = Name(delay.second);
  const ir::Op& only = *def_[delay.late[0]];
  bool branch = false;
  if (delay.late.size() == 1 && only.op == Op::kMul && TypeOf(only.results[0]).elem.dtype == isa::DType::kF32) {
    // The other factor, if it is the same along the columns.
    for (ir::ValueId factor : only.operands) {
      const ir::Op* spread = lazy_[factor];
      if (spread == nullptr || spread->op != Op::kBroadcast || !IsTile(spread->operands[0]) || IsUniform(spread->operands[0])) continue;
      const std::string changed = absl::StrCat("changed", next_label_++);
      Line("bool ", changed, " = false;");
      OpenRegisterLoop(LayoutOf(spread->operands[0]).register_count(), 1);
      Line(changed, " |= ", Name(spread->operands[0]), ".v[r] != 1.0f;");
      CloseRegisterLoop();
      Line("if (any_of_warp(", changed, ")) {");
      ++depth_;
      branch = true;
      break;
    }
  }
  OpenRegisterLoop(LayoutOf(delay.second).register_count(), 1);
  std::map<ir::ValueId, std::string> locals;
  for (ir::ValueId id : delay.late) {
    const ir::Op& op = *def_[id];
    const std::string value = RegisterExpression(op, locals);
    Place(op.loc);
    if (id == delay.late.back()) {
      Line(sum, ".v[r] = ", value, ";");
    } else {
      Line(ConstType(TypeOf(id).elem), " ", Name(id), " = ", value, ";");
      locals[id] = Name(id);
    }
  }
  CloseRegisterLoop();
  if (branch) {
    --depth_;
    Line("}");
  }
}

// The smallest and the largest element of an index tile, as C++ expressions in 64 bits.
bool Printer::RangeOf(ir::ValueId id, std::string* low, std::string* high) const {
  const ir::Op* op = def_[id];
  if (!IsTile(id)) {
    if (names_[id].empty()) return false;
    *low = *high = absl::StrCat("i64(", names_[id], ")");
    return true;
  }
  if (op == nullptr) return false;
  switch (op->op) {
    case Op::kSplat: case Op::kBroadcast: case Op::kReshape: case Op::kExpandDims: case Op::kPermute: return RangeOf(op->operands[0], low, high);
    case Op::kArange:
      *low = absl::StrCat(op->IntAttr("start"));
      *high = absl::StrCat(op->IntAttr("end") - 1);
      return true;
    case Op::kAdd: case Op::kSub: {
      std::string other_low, other_high;
      if (!isa::IsInteger(TypeOf(id).elem.dtype) || isa::IsUnsigned(TypeOf(id).elem.dtype) || !RangeOf(op->operands[0], low, high) ||
          !RangeOf(op->operands[1], &other_low, &other_high)) {
        return false;
      }
      const bool sub = op->op == Op::kSub;
      *low = absl::StrCat(*low, sub ? " - " : " + ", "(", sub ? other_high : other_low, ")");
      *high = absl::StrCat(*high, sub ? " - " : " + ", "(", sub ? other_low : other_high, ")");
      return true;
    }
    default: return false;
  }
}

// An expression that is true only if the mask is in every element; "" if none is known. Sums that leave 32 bits may have wrapped: then it is false.
std::string Printer::WholeMask(ir::ValueId id) const {
  const ir::Op* op = IsTile(id) ? def_[id] : nullptr;
  if (op == nullptr) return "";
  switch (op->op) {
    case Op::kSplat: return names_[op->operands[0]];
    case Op::kBroadcast: case Op::kReshape: case Op::kExpandDims: case Op::kPermute: return IsTile(op->operands[0]) ? WholeMask(op->operands[0]) : "";
    case Op::kBitAnd: {
      const std::string a = WholeMask(op->operands[0]), b = WholeMask(op->operands[1]);
      return a.empty() || b.empty() ? "" : absl::StrCat(a, " && ", b);
    }
    case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: {
      const isa::DType dtype = TypeOf(op->operands[0]).elem.dtype;
      std::string low[2], high[2];
      if (dtype != isa::DType::kI32 || !RangeOf(op->operands[0], &low[0], &high[0]) || !RangeOf(op->operands[1], &low[1], &high[1])) return "";
      const bool less = op->op == Op::kLt || op->op == Op::kLe;
      const char* const sign = op->op == Op::kLt ? " < " : op->op == Op::kLe ? " <= " : op->op == Op::kGt ? " > " : " >= ";
      std::string out = absl::StrCat("(", less ? high[0] : low[0], sign, less ? low[1] : high[1], ")");
      for (int i : {0, 1}) absl::StrAppend(&out, " && is_i32(", low[i], ") && is_i32(", high[i], ")");
      return out;
    }
    default: return "";
  }
}

// where(mask, x, y) in place of x, left out where the whole mask is true. False if it cannot be told, or x is wanted elsewhere.
bool Printer::PrintUniformWhere(const ir::Op& op, const ir::Region& body) {
  const ir::ValueId mask = op.operands[0], x = op.operands[1], y = op.operands[2], result = op.results[0];
  if (!IsTile(result) || !IsTile(mask) || lazy_[x] != nullptr || lazy_[mask] == nullptr || uses_[x].size() != 1 || !IsUniform(y)) return false;
  if (std::none_of(body.ops.begin(), body.ops.end(), [&](const ir::Op& inner) { return def_[x] == &inner; })) return false;
  const std::string whole = WholeMask(mask);
  if (whole.empty()) return false;
  Flush();
  names_[result] = Name(x);
  Place(op.loc);
  Line("if (!(", whole, ")) {");
  ++depth_;
  OpenRegisterLoop(LayoutOf(result).register_count(), 1);
  std::map<ir::ValueId, std::string> locals;
  const std::string condition = Register(mask, locals), other = Register(y, locals);
  Line(Name(x), ".v[r] = where(", condition, ", ", Name(x), ".v[r], ", other, ");");
  CloseRegisterLoop();
  --depth_;
  Line("}");
  return true;
}

}  // namespace tilevm::gpu
