// Loops whose loads run ahead (specializer/pipeline/schedule.h): a ring of buffers in shared memory, filled by asynchronous copies.
//
//   auto copies = [&]() { ... copy_async of one iteration, at its own induction variable ... };
//   for the first stages - 1 iterations: copies(); copies_commit();
//   for (...) { copies_wait<stages - 2>(); barrier(); copies() for a later iteration; copies_commit(); body }
//
// or, with a deferred dot, the copies after the body and one slot less ahead, and then the wait for the products of the iteration before.
//
// The ring begins at offset 0 of the dynamic shared memory; scratch of the loop's body lies behind it, other scratch may share its bytes.
#include <algorithm>

#include "gpu/emit/printer.h"

namespace tilevm::gpu {

// Where the elements of a tile of this layout lie in a buffer, in bytes, by thread and register.
std::string Printer::BufferTable(const layout::LinearLayout& layout, const layout::SharedLayout& shared, int elem_bytes) {
  auto offsets = [&](const layout::Bases& bases, std::vector<uint32_t>& out) {
    for (layout::Basis basis : bases) out.push_back(shared.OffsetOf(basis) * static_cast<uint32_t>(elem_bytes));
  };
  std::vector<uint32_t> registers, threads;
  offsets(layout.reg(), registers);
  offsets(layout.lane(), threads);
  offsets(layout.warp(), threads);
  return Table(absl::StrCat("\n  static TV_DEV u32 thread() { return ", BitExpression("threadIdx.x", threads, false), "; }\n",
                            "  static TV_DEV u32 at(u32 thread, int r) { return thread ^ (", BitExpression("r", registers, false), "); }\n"),
               'W');
}

// Units of a row of a panel and so on, as gpu/device/dot.cuh takes them.
std::string Printer::RowsTable(const isa::Type& type, int axis) {
  const int64_t row_bytes = type.shape[axis] * isa::StorageBytes(type.elem), panel = std::min<int64_t>(row_bytes, 128);
  const int64_t units = panel / 16;
  return Table(absl::StrCat("\n  static constexpr u32 units = ", units, ", shift = ", 3 - layout::Log2(units), ", panel_bytes = ", panel * type.shape[1 - axis], ";\n"),
               'S');
}

// The load that a value is an unmoved or transposed view of, if it is copied ahead.
const pipeline::Copy* Printer::CopyBehind(ir::ValueId id, bool* transposed) const {
  if (options_.schedule == nullptr) return nullptr;
  *transposed = false;
  for (const ir::Op* op = def_[id]; op != nullptr; op = def_[op->operands[0]]) {
    if (op->op == isa::Op::kLoad) {
      const pipeline::Copy* copy = options_.schedule->CopyOf(op->results[0]);
      return copy != nullptr && copy->row ? nullptr : copy;
    }
    if (op->op == isa::Op::kPermute) *transposed = !*transposed;
    else if (op->op != isa::Op::kConvertLayout) return nullptr;
  }
  return nullptr;
}

namespace {
bool KeepsOrder(isa::Op op) { return op == isa::Op::kExpandDims || op == isa::Op::kReshape; }
}  // namespace

// The same for a row, in any shape and layout.
const pipeline::Copy* Printer::RowBehind(ir::ValueId id) const {
  if (options_.schedule == nullptr) return nullptr;
  for (const ir::Op* op = def_[id]; op != nullptr; op = def_[op->operands[0]]) {
    if (op->op == isa::Op::kLoad) {
      const pipeline::Copy* copy = options_.schedule->CopyOf(op->results[0]);
      return copy != nullptr && copy->row ? copy : nullptr;
    }
    if (op->op != isa::Op::kConvertLayout && !KeepsOrder(op->op)) return nullptr;
  }
  return nullptr;
}

bool Printer::IsReadLater(ir::ValueId id) const {
  return !uses_[id].empty() && std::all_of(uses_[id].begin(), uses_[id].end(), [&](const ir::Op* use) {
    return use->op == isa::Op::kConvertLayout || (KeepsOrder(use->op) && IsReadLater(use->results[0]));
  });
}

// A value that lies in a buffer, into registers.
bool Printer::ReadBuffer(ir::ValueId id) {
  if (const pipeline::Copy* row = RowBehind(id); row != nullptr) {
    if (!IsReadLater(row->value)) return false;
    const isa::Type& type = TypeOf(id);
    const int elem_bytes = isa::StorageBytes(type.elem), last = type.rank() - 1;
    const std::string table = BufferTable(LayoutOf(id), row->shared, elem_bytes);
    const int64_t vector = type.shape[last] == type.elem_count() ? std::min<int64_t>(LayoutOf(id).ContiguousElements(last), 16 / elem_bytes) : 1;
    Line(Declared(id), ";");
    OpenRegisterLoop(LayoutOf(id).register_count(), vector);
    Line("read_shared<", vector, ">(", Name(id), ".v + r, ", BufferOf(*row), " + ", table, "::at(", table, "::thread(), r));");
    CloseRegisterLoop();
    return true;
  }
  bool transposed = false;
  const pipeline::Copy* copy = CopyBehind(id, &transposed);
  if (copy == nullptr) return false;
  if (options_.schedule->not_printed.count(id) != 0) return true;
  const isa::Type& type = TypeOf(id);
  const int elem_bytes = isa::StorageBytes(type.elem), axis = transposed ? 1 - copy->axis : copy->axis;
  const layout::SharedLayout shared = layout::SwizzledRows(type.shape, axis, elem_bytes);
  const std::string table = BufferTable(LayoutOf(id), shared, elem_bytes);
  // Elements that a thread holds next to each other in a row move together.
  const int64_t vector = std::min<int64_t>(LayoutOf(id).ContiguousElements(axis), 16 / elem_bytes);
  Line(Declared(id), ";");
  OpenRegisterLoop(LayoutOf(id).register_count(), vector);
  Line("read_shared<", vector, ">(", Name(id), ".v + r, ", BufferOf(*copy), " + ", table, "::at(", table, "::thread(), r));");
  CloseRegisterLoop();
  return true;
}

bool Printer::UsesWgmma(const ir::Region& region) const {
  for (const ir::Op& op : region.ops) {
    if (op.op == isa::Op::kDot && options_.schedule->wgmma.count(op.results[0]) != 0) return true;
  }
  return false;
}

void Printer::PrintCopy(const pipeline::Copy& copy, const std::string& put, bool guessed) {
  const ir::Op& load = *def_[copy.value];
  const layout::LinearLayout& where = LayoutOf(copy.value);
  const int elem_bytes = isa::StorageBytes(TypeOf(copy.value).elem);
  const std::string table = BufferTable(where, copy.shared, elem_bytes), thread = absl::StrCat("thread_", table);
  if (taken_.insert(thread).second) absl::StrAppend(&prologue_, "  const u32 ", thread, " = ", table, "::thread();\n");
  if (copy.staged) Line(Declared(copy.value), ";");
  const bool each = guessed && !copy.staged && !GuessedScalars(load).empty();
  OpenRegisterLoop(where.register_count(), copy.vector);
  std::map<ir::ValueId, std::string> locals;
  const std::string to = absl::StrCat(put, " + ", copy.offset, " + ", table, "::at(", thread, ", r)");
  if (copy.staged) {
    std::string load_call = absl::StrCat("load<", copy.vector, ", 0, 0>(", Name(copy.value), ".v + r, ", Register(load.operands[0], locals));
    if (load.operand(1) != ir::kNoValue) absl::StrAppend(&load_call, ", ", Register(load.operand(1), locals));
    Place(load.loc);
    Line(load_call, ");");
    CloseRegisterLoop();
    OpenRegisterLoop(where.register_count(), copy.vector);
    Line("write_shared<", copy.vector, ">(", to, ", ", Name(copy.value), ".v + r);");
    CloseRegisterLoop();
    return;
  }
  const std::string pointer = Register(load.operands[0], locals);
  if (each) {
    const std::string bits = absl::StrCat("part", next_label_++);
    Line("u32 ", bits, " = 0;");
    for (int64_t i = 0; i < copy.vector; ++i) {
      std::map<ir::ValueId, std::string> one;
      index_ = absl::StrCat("(r + ", i, ")");
      const std::string mask = Register(load.operand(1), one);
      index_ = std::string(1, 'r');
      Line(bits, " |= static_cast<u32>(", mask, ") << ", i, ";");
    }
    Place(load.loc);
    Line("copy_elements<", copy.vector, ">(", to, ", ", pointer, ", ", bits, ");");
    CloseRegisterLoop();
    return;
  }
  std::string call = absl::StrCat(guessed && IsGuessed(load) ? "copy_guessed<" : "copy_async<", copy.vector * elem_bytes, ">(", to, ", ", pointer);
  if (load.operand(1) != ir::kNoValue) absl::StrAppend(&call, ", ", Register(load.operand(1), locals));
  Place(load.loc);
  Line(call, ");");
  CloseRegisterLoop();
}

absl::Status Printer::PrintCopies(const ir::Op& op, const pipeline::Loop& plan, const std::string& put) {
  const ir::Region& body = op.regions[0];
  for (const ir::Op& inner : body.ops) {
    if (inner.results.size() == 1 && plan.slice.count(inner.results[0]) != 0) TILEVM_RETURN_IF_ERROR(PrintOp(inner, &op, body));
  }
  std::vector<const pipeline::Copy*> copies;
  for (const pipeline::Copy& copy : plan.copies) copies.push_back(&copy);
  PrintAllCopies(copies, put);
  return absl::OkStatus();
}

void Printer::PrintAllCopies(const std::vector<const pipeline::Copy*>& copies, const std::string& put) {
  Flush();
  // One look at all addresses of a thread that may not be aligned.
  int64_t guessed_bytes = 0;
  std::set<ir::ValueId> scalars;
  for (const pipeline::Copy* copy : copies) {
    if (copy->staged) continue;
    const std::vector<ir::ValueId> more = GuessedScalars(*def_[copy->value]);
    scalars.insert(more.begin(), more.end());
    if (!more.empty()) guessed_bytes = 16;
    else if (IsGuessed(*def_[copy->value])) guessed_bytes = std::max(guessed_bytes, copy->vector * isa::StorageBytes(TypeOf(copy->value).elem));
  }
  if (guessed_bytes == 0) {
    for (const pipeline::Copy* copy : copies) PrintCopy(*copy, put, false);
    return;
  }
  std::string low = low_bits_;
  for (ir::ValueId id : scalars) absl::StrAppend(&low, low.empty() ? "" : " | ", BitsOf(id));
  Line("u64 low = ", low.empty() ? "0" : low, ";");
  for (const pipeline::Copy* copy : copies) {
    const ir::Op& load = *def_[copy->value];
    if (copy->staged || !IsGuessed(load) || !low_bits_.empty() || !GuessedScalars(load).empty()) continue;
    OpenRegisterLoop(LayoutOf(copy->value).register_count(), copy->vector);
    std::map<ir::ValueId, std::string> locals;
    const std::string pointer = Register(load.operands[0], locals);
    Line("low |= reinterpret_cast<u64>(", pointer, ");");
    CloseRegisterLoop();
  }
  for (bool guessed : {false, true}) {
    Line(guessed ? "} else {" : absl::StrCat("if (low % ", guessed_bytes, " == 0) {"));
    ++depth_;
    for (const pipeline::Copy* copy : copies) PrintCopy(*copy, put, guessed);
    if (guessed && producing_) Line("__threadfence_block();");
    if (guessed && producing_) Line("fence_shared();");
    --depth_;
  }
  Line("}");
}

bool Printer::SplitAddress(ir::ValueId id, int64_t bytes, const std::set<ir::ValueId>& in_loop, AddressParts& out) const {
  if (in_loop.count(id) == 0) {
    out.outside.push_back({id, bytes});
    return !IsTile(id) || TypeOf(id).rank() == 2;
  }
  const ir::Op* op = def_[id];
  switch (op == nullptr ? isa::Op::kConst : op->op) {
    case isa::Op::kPtrAdd:
      return SplitAddress(op->operands[0], bytes, in_loop, out) && SplitAddress(op->operands[1], isa::StorageBytes(isa::DType(TypeOf(id).elem.dtype)), in_loop, out);
    case isa::Op::kAdd: return SplitAddress(op->operands[0], bytes, in_loop, out) && SplitAddress(op->operands[1], bytes, in_loop, out);
    case isa::Op::kSplat: case isa::Op::kBroadcast: case isa::Op::kExpandDims: return SplitAddress(op->operands[0], bytes, in_loop, out);
    default:
      out.inside.push_back({id, bytes});
      return !IsTile(id);
  }
}

// Looks at addresses that may not be aligned by their parts: what comes from outside of the loop once, before it. Where every part is aligned, so is the sum.
void Printer::PrintLowBits(const ir::Op& loop, const pipeline::Loop& plan) {
  low_bits_.clear();
  std::set<ir::ValueId> in_loop(loop.regions[0].args.begin(), loop.regions[0].args.end());
  for (const ir::Op& op : loop.regions[0].ops) in_loop.insert(op.results.begin(), op.results.end());
  std::vector<std::pair<const pipeline::Copy*, AddressParts>> all;
  for (const pipeline::Copy& copy : plan.copies) {
    if (!copy.by_threads || !IsGuessed(*def_[copy.value]) || !GuessedScalars(*def_[copy.value]).empty()) continue;
    all.push_back({&copy, {}});
    if (!SplitAddress(def_[copy.value]->operands[0], 1, in_loop, all.back().second)) return;
  }
  if (all.empty()) return;
  const std::string low = absl::StrCat("low", next_label_++);
  Line("u64 ", low, " = 0;");
  std::set<ir::ValueId> seen;
  low_bits_ = low;
  for (const auto& [copy, parts] : all) {
    for (const auto& [id, bytes] : parts.outside) {
      if (!seen.insert(id).second) continue;
      if (!IsTile(id)) {
        Line(low, " |= ", BitsOf(id, bytes), ";");
        continue;
      }
      const int64_t vector = TypeOf(id).shape[copy->axis] == 1 ? 1 : std::min(copy->vector, LayoutOf(id).ContiguousElements(copy->axis));
      OpenRegisterLoop(LayoutOf(id).register_count(), vector);
      std::map<ir::ValueId, std::string> locals;
      const std::string value = Register(id, locals);
      Line(low, " |= ", TypeOf(id).elem.pointer ? absl::StrCat("reinterpret_cast<u64>(", value, ")") : absl::StrCat("static_cast<u64>(", value, ") * ", bytes), ";");
      CloseRegisterLoop();
    }
    for (const auto& [id, bytes] : parts.inside) {
      if (seen.insert(id).second) absl::StrAppend(&low_bits_, " | ", BitsOf(id, bytes));
    }
  }
}

absl::Status Printer::PrintAhead(const ir::Op& op, const pipeline::Loop& plan, int number) {
  const ir::Region& body = op.regions[0];
  auto numbered = [&](const char* name) { return absl::StrCat(name, number); };
  const std::string iv = Name(body.args[0]), type = CudaType(TypeOf(body.args[0]).elem), left = numbered("left"), put = numbered("put"), take = numbered("take"),
                    copies = numbered("copies"), ring = numbered("ring");
  const std::string step = absl::StrCat("static_cast<", type, ">(", op.FindAttr("step") != nullptr ? absl::StrCat(op.IntAttr("step")) : Name(op.operands[2]), ")");
  Line(CountType(op), " ", left, " = ", numbered("trips"), ";");
  Line("const u32 ", ring, " = shared_address();");
  Line("u32 ", put, " = ", ring, ", ", take, " = ", ring, ";");
  const std::string iv_ahead = iv + "_ahead";
  Line(type, " ", iv_ahead, " = ", iv, ";");
  std::vector<std::string> targets;
  std::vector<ir::ValueId> values;
  std::vector<std::pair<ir::ValueId, std::string>> saved = {{body.args[0], iv}};
  for (int i : plan.carried) {
    const ir::ValueId arg = body.args[1 + i];
    targets.push_back(Name(arg) + "_ahead");
    values.push_back(body.ops.back().operands[i]);
    saved.push_back({arg, Name(arg)});
    Line(CudaType(TypeOf(arg).elem), " ", targets.back(), " = ", Name(arg), ";");
  }
  Line("const auto ", copies, " = [&]() {");
  ++depth_;
  for (size_t i = 0; i < saved.size(); ++i) names_[saved[i].first] = saved[i].second + "_ahead";
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintCopies(op, plan, put));
  AssignAll(targets, values);
  EndScope(scope);
  for (const auto& [id, name] : saved) names_[id] = name;
  Line(iv_ahead, " = add(", iv_ahead, ", ", step, ");");
  Line("--", left, ";");
  Line(put, " = ", put, " == ", ring, " + ", (plan.stages - 1) * plan.slot_bytes, " ? ", ring, " : ", put, " + ", plan.slot_bytes, ";");
  --depth_;
  Line("};");
  Line("barrier();");
  Line("#pragma unroll 1");
  Line("for (int r = 0; r < ", plan.ahead, "; ++r) {");
  Line("  if (", left, " != 0) ", copies, "();");
  Line("  copies_commit();");
  Line("}");
  return absl::OkStatus();
}

// The variables that a loop carries, and what its accesses mean for the order of others: `before` is what was pending. Returns which carried value is a deferred
// sum that starts from zero, -1 if none. It is not set to zero: registers that something else than wgmma writes would make the assembler wait for each product.
int Printer::OpenPipelined(const ir::Op& op, const pipeline::Loop& plan, Pending& before) {
  const ir::Region& body = op.regions[0];
  for (const pipeline::Copy& copy : plan.copies) {
    if (!copy.by_threads && MadeFor(*def_[copy.value]) < 0) OrderAccess(def_[copy.value]->operands[0], false);  // else the producer has waited for stores (roles.told)
  }
  int fresh = -1;
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (plan.deferred != ir::kNoValue && body.ops.back().operands[i] == plan.deferred && IsZero(op.operands[3 + i])) {
      fresh = static_cast<int>(i);
      Line(Declared(op.results[i]), ";");
    } else {
      Materialise(op.operands[3 + i]);
      Line(Declared(op.results[i]), " = ", Name(op.operands[3 + i]), ";");
    }
  }
  for (size_t i = 0; i < op.results.size(); ++i) names_[body.args[1 + i]] = Name(op.results[i]);
  before = pending_;
  CollectAccesses(body, pending_);
  return fresh;
}

absl::Status Printer::PrintPipelinedFor(const ir::Op& op, const pipeline::Loop& plan) {
  const ir::Region& body = op.regions[0];
  Pending before;
  const int fresh = OpenPipelined(op, plan, before);
  const int number = next_label_++;
  auto numbered = [&](const char* name) { return absl::StrCat(name, number); };
  const std::string iv = Name(body.args[0]), type = CudaType(TypeOf(body.args[0]).elem), trips = numbered("trips"), left = numbered("left"),
                    take = numbered("take"), copies = numbered("copies"), ring = numbered("ring");
  const std::string step = absl::StrCat("static_cast<", type, ">(", op.FindAttr("step") != nullptr ? absl::StrCat(op.IntAttr("step")) : Name(op.operands[2]), ")");
  const int64_t ring_bytes = plan.stages * plan.slot_bytes;
  auto advance = [&](const std::string& slot) {
    Line(slot, " = ", slot, " == ", ring, " + ", ring_bytes - plan.slot_bytes, " ? ", ring, " : ", slot, " + ", plan.slot_bytes, ";");
  };

  auto start = [&] {
    Line("if (", left, " != 0) ", copies, "();");
    Line("copies_commit();");
  };

  // Variables that run ahead: the induction variable and what the copies' addresses need of the carried values.
  Line(type, " ", iv, " = ", Name(op.operands[0]), ";");
  Line(CountType(op), " ", trips, " = trip_count<", type, ">(", iv, ", ", Name(op.operands[1]), ", ", step, ");");
  if (fresh >= 0) {
    add_flag_ = numbered("add");
    Line("const bool ", numbered("none"), " = ", trips, " == 0;");
    Line("int ", add_flag_, " = 0;");
  }
  TILEVM_RETURN_IF_ERROR(PrintAhead(op, plan, number));
  const int64_t outer_scratch = scratch_;
  if (plan.overlap.has_value()) {
    scratch_ = ring_bytes;
    TILEVM_RETURN_IF_ERROR(OpenOverlap(op, *plan.overlap));
  }
  const int64_t body_scratch = plan.overlap.has_value() ? scratch_ : ring_bytes;
  const bool deferred = plan.deferred != ir::kNoValue, by_group = UsesWgmma(body);
  if (by_group && plan.deferred != ir::kNoValue) {
    group_number_ = numbered("group");
    Line("const u32 ", group_number_, " = warpgroup();");
  }
  Line("#pragma unroll 1");
  Line("for (; ", trips, " != 0; --", trips, ", ", iv, " = add(", iv, ", ", step, ")) {");
  ++depth_;
  Line("copies_wait<", plan.ahead - 1, ">();");
  if (by_group) Line("fence_shared();");
  Line("barrier();");
  if (!deferred) start();
  scratch_ = body_scratch;
  deferred_ = plan.deferred;
  UseShared(0);
  slot_ = take;
  const size_t body_scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintRegion(body, &op));
  if (plan.overlap.has_value()) CloseOverlapBody();
  EndScope(body_scope);
  if (deferred) {
    start();
    Line("wgmma_wait<", options_.schedule->wgmma.at(plan.deferred).m_tiles, ">();");
  }
  if (fresh >= 0) Line(add_flag_, " = 1;");
  add_flag_.clear();
  deferred_ = ir::kNoValue;
  slot_.clear();
  group_number_.clear();
  scratch_ = outer_scratch;
  advance(take);
  --depth_;
  Line("}");
  Line("copies_wait<0>();");
  if (plan.overlap.has_value()) CloseOverlap({});
  if (deferred) {
    const ir::ValueId sum = plan.deferred;
    Line("wgmma_wait<0>();");
    Line("wgmma_results<", LayoutOf(sum).register_count(), ">(", Name(sum), ".v);");
  }
  pending_.Join(before);
  if (fresh >= 0) Line("if (", numbered("none"), ") no_products<", LayoutOf(op.results[fresh]).register_count(), ">(", Name(op.results[fresh]), ".v);");
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
