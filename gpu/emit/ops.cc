// One statement for each op.
#include <cmath>

#include "absl/algorithm/container.h"
#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"
#include "specializer/pipeline/split_tiles.h"

namespace tilevm::gpu {
namespace {

using isa::Op;

}  // namespace

int CacheCode(const ir::Op& op, bool store) {
  const absl::string_view cache = op.StringAttr("cache_modifier");
  if (op.BoolAttr("volatile")) return 4;
  const char* const names[2][5] = {{"", ".ca", ".cg", ".cs", ".cv"}, {"", ".wb", ".cg", ".cs", ".wt"}};
  for (int i = 1; i < 5; ++i) {
    if (cache == names[store][i]) return i;
  }
  return 0;
}
int EvictCode(const ir::Op& op) {
  const absl::string_view evict = op.StringAttr("eviction_policy");
  return evict == "evict_first" ? 1 : evict == "evict_last" ? 2 : 0;
}

absl::Status Printer::NotYet(const ir::Op& op) {
  return UnimplementedAt(op.loc, isa::Mnemonic(op.op), ": the CUDA engine has no template for it; the CPU engine runs it");
}

// Qualified where CUDA has a function of that name in the global namespace.
std::string Printer::ElementFunction(const ir::Op& op) const {
  const std::string name(isa::Mnemonic(op.op));
  const std::string type = CudaType(TypeOf(op.results[0]).elem);
  switch (op.op) {
    case Op::kAbs: return "abs_";
    case Op::kFma: return "fma_";
    case Op::kCast: return absl::StrCat("cast<", type, op.StringAttr("rounding") == "rtz" ? ", true>" : ">");
    case Op::kBitcast: return absl::StrCat("bitcast<", type, ">");
    case Op::kMaximum: case Op::kMinimum: return absl::StrCat(name, op.BoolAttr("propagate_nan") ? "<true>" : "<false>");
    case Op::kFDiv: return op.BoolAttr("ieee_rounding") ? "truediv" : "fdiv";
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kNeg: case Op::kTrueDiv: case Op::kFloorDiv: case Op::kMod: case Op::kInvert: case Op::kBitAnd:
    case Op::kBitOr: case Op::kBitXor: case Op::kShl: case Op::kShr: case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: case Op::kEq: case Op::kNe:
    case Op::kWhere: case Op::kPtrAdd:
      return name;
    default: return absl::StrCat("tv::", name);
  }
}

absl::Status Printer::PrintElementwise(const ir::Op& op) {
  const ir::ValueId result = op.results[0];
  if (IsTile(result)) {
    // Two casts to 16 bits are one instruction.
    const isa::DType to = TypeOf(result).elem.dtype, from = TypeOf(op.operands[0]).elem.dtype;
    const bool pairs = op.op == Op::kCast && from == isa::DType::kF32 && (to == isa::DType::kF16 || to == isa::DType::kBF16) && lazy_[op.operands[0]] == nullptr &&
                       op.StringAttr("rounding") != "rtz" && LayoutOf(result).register_count() > 1;
    // A dividend has to be there before the loop that divides: its numbers are looked at first.
    if (SharesDivisor(op) && absl::c_linear_search(group_.ops, def_[op.operands[0]])) Flush();
    AddToGroup(op, pairs ? GroupKind::kPairs : GroupKind::kCompute, result, pairs ? 2 : 1);
    return absl::OkStatus();
  }
  std::string args;
  for (ir::ValueId operand : op.operands) {
    if (operand != ir::kNoValue) absl::StrAppend(&args, args.empty() ? "" : ", ", Name(operand));
  }
  const isa::DType dtype = TypeOf(result).elem.dtype;
  const bool divides = (op.op == Op::kFloorDiv || op.op == Op::kMod) && isa::IsInteger(dtype) && isa::StorageBytes(dtype) >= 4 &&
                       (def_[op.operands[1]] == nullptr || def_[op.operands[1]]->op != Op::kConst);
  Line(ConstType(TypeOf(result).elem), " ", Name(result), " = ", divides ? "divided" : ElementFunction(op), "(", args, ")",
       !divides ? "" : op.op == Op::kMod ? ".rest" : ".quotient", ";");
  return absl::OkStatus();
}

// A tile of one element becomes a scalar; every other change of shape is lazy (loops.cc).
absl::Status Printer::PrintShape(const ir::Op& op) {
  Line("const auto ", Name(op.results[0]), " = ", IsTile(op.operands[0]) ? absl::StrCat("scalar_of(", Name(op.operands[0]), ")") : Name(op.operands[0]), ";");
  return absl::OkStatus();
}

int64_t SharedVector(const layout::LinearLayout& layout, const layout::SharedLayout& shared, int elem_bytes) {
  int64_t count = 1;
  for (size_t i = 0; i < layout.reg().size() && count * elem_bytes < 16; ++i) {
    if (shared.OffsetOf(layout.reg()[i]) != static_cast<uint32_t>(count)) break;
    count *= 2;
  }
  // Aligned: nothing else moves an element within the run.
  auto touches = [&](const layout::Bases& bases, size_t from) {
    for (size_t i = from; i < bases.size(); ++i) {
      if ((shared.OffsetOf(bases[i]) & static_cast<uint32_t>(count - 1)) != 0) return true;
    }
    return false;
  };
  while (count > 1 && (touches(layout.reg(), static_cast<size_t>(layout::Log2(count))) || touches(layout.lane(), 0) || touches(layout.warp(), 0))) count /= 2;
  return count;
}

namespace {
// Accesses of a warp, bank conflicts counted.
int64_t AccessesOf(const layout::LinearLayout& layout, layout::SharedLayout shared, int elem_bytes) {
  shared.vector = static_cast<int>(SharedVector(layout, shared, elem_bytes));
  const int64_t wide = shared.vector * elem_bytes <= 4 ? 1 : shared.vector * elem_bytes / 4;  // an access of more than 4 bytes takes several turns
  return layout.register_count() / shared.vector * layout::BankConflicts(layout, shared, elem_bytes) * wide;
}

// Swizzled rows where they take fewer accesses: each side then moves as much as it holds side by side (a fragment 4 bytes, a row 16).
layout::SharedLayout SharedBetween(const layout::LinearLayout& from, const layout::LinearLayout& to, int elem_bytes) {
  layout::SharedLayout best = layout::ChooseShared(from, to, elem_bytes);
  auto cost = [&](const layout::SharedLayout& shared) {
    return 16 * (AccessesOf(from, shared, elem_bytes) + AccessesOf(to, shared, elem_bytes)) + from.register_count() / SharedVector(from, shared, elem_bytes) +
           to.register_count() / SharedVector(to, shared, elem_bytes);
  };
  int64_t least = cost(best);
  for (int axis : {1, 0}) {
    if (from.shape().size() != 2 || from.shape()[axis] * elem_bytes < 32) continue;
    const layout::SharedLayout rows = layout::SwizzledRows(from.shape(), axis, elem_bytes);
    if (const int64_t c = cost(rows); c < least) {
      least = c;
      best = rows;
    }
  }
  return best;
}
}  // namespace

absl::Status Printer::PrintConvert(const ir::Op& op) {
  const ir::ValueId result = op.results[0], operand = op.operands[0];
  const layout::LinearLayout &from = LayoutOf(operand), &to = LayoutOf(result);
  const layout::Conversion conversion = layout::Convert(from, to);
  switch (conversion.kind) {
    case layout::Conversion::Kind::kNone:
      Line("auto ", Name(result), " = relabel<", LayoutName(result), ">(", Name(operand), ");");
      break;
    case layout::Conversion::Kind::kRegisters:
      Line("auto ", Name(result), " = move_registers<", LayoutName(result), ", ", SourceTable(conversion.source), ">(", Name(operand), ");");
      break;
    case layout::Conversion::Kind::kShuffle:
      Line("auto ", Name(result), " = convert_shuffle<", LayoutName(result), ", ", ShuffleTable(conversion), ">(", Name(operand), ");");
      break;
    case layout::Conversion::Kind::kShared: {
      const int elem_bytes = isa::StorageBytes(TypeOf(result).elem);
      const layout::SharedLayout shared = SharedBetween(from, to, elem_bytes);
      const int64_t scratch = UseShared(TypeOf(result).elem_count() * elem_bytes);
      Line("auto ", Name(result), " = convert_shared<", LayoutName(result), ", ", BufferTable(from, shared, elem_bytes), ", ", SharedVector(from, shared, elem_bytes), ", ",
           BufferTable(to, shared, elem_bytes), ", ", SharedVector(to, shared, elem_bytes), ">(", scratch, ", ", Name(operand), ");");
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status Printer::PrintLoad(const ir::Op& op) {
  const ir::ValueId result = op.results[0], pointer = op.operands[0], mask = op.operand(1), other = op.operand(2);
  if (const pipeline::Copy* copy = options_.schedule == nullptr ? nullptr : options_.schedule->CopyOf(result); copy != nullptr) {
    if (copy->row) {
      if (IsReadLater(result)) return absl::OkStatus();
      const std::string table = BufferTable(LayoutOf(result), copy->shared, isa::StorageBytes(TypeOf(result).elem));
      const int64_t vector = std::min<int64_t>(LayoutOf(result).ContiguousElements(0), 16 / isa::StorageBytes(TypeOf(result).elem));
      Flush();
      Line(Declared(result), ";");
      OpenRegisterLoop(LayoutOf(result).register_count(), vector);
      Line("read_shared<", vector, ">(", Name(result), ".v + r, ", BufferOf(*copy), " + ", table, "::at(", table, "::thread(), r));");
      CloseRegisterLoop();
      return absl::OkStatus();
    }
    if (copy->ring < 0 || !roles().rings[copy->ring].kept) return absl::OkStatus();
    OrderAccess(pointer, false);
    Line("ring", copy->ring, ".wait_full();");
    return absl::OkStatus();
  }
  const std::string type = CudaType(TypeOf(result).elem);
  // A scalar that decides where all threads go has to be one value: one thread reads what may change under the program.
  const bool once = !producing_ && !IsTile(result) && (op.BoolAttr("volatile") || MayChange(pointer));
  if (producing_) {  // it has waited for stores (roles.told)
  } else if (once) {
    UseShared(8);
    if (pending_.boxes) Flush();
    WaitForBoxes();
    pending_ = Pending();  // the template has a barrier on both sides
  } else {
    OrderAccess(pointer, false);
  }
  if (IsTile(result)) {
    if (other != ir::kNoValue && !IsUniform(other)) Materialise(other);
  } else {
    Flush();
    Line("const auto ", Name(result), " = load_scalar", once ? "_once" : "", "<", CacheCode(op, false), ", ", EvictCode(op), ">(", once ? absl::StrCat(scratch_, ", ") : "", Name(pointer), ", ",
         mask == ir::kNoValue ? "true" : Name(mask), ", ", other == ir::kNoValue ? absl::StrCat("zero_of<", type, ">()") : Name(other), ");");
    return absl::OkStatus();
  }
  if (const std::optional<RunAccess> access = options_.run && !producing_ ? options_.run(op) : std::nullopt; access.has_value() && PrepareRun(*access)) {
    AddToGroup(op, GroupKind::kRunLoad, result, access->vector * access->vectors);
    return absl::OkStatus();
  }
  int64_t vector = std::min(options_.vector ? options_.vector(op) : 1, LayoutOf(result).register_count());
  if (producing_ && LayoutOf(result) != lk_.LayoutOf(result).InWarps(4)) vector = 1;
  AddGuessed(op, GroupKind::kLoad, result, vector);
  return absl::OkStatus();
}

absl::Status Printer::PrintStore(const ir::Op& op) {
  const ir::ValueId pointer = op.operands[0], value = op.operands[1], mask = op.operand(2);
  OrderAccess(pointer, true);
  if (Merged() && !guarded_) {
    if (IsTile(value)) Materialise(value);
    Flush();
    Line("if (programs.counts) {");
    ++depth_;
    const size_t scope = materialised_.size();
    guarded_ = true;
    TILEVM_RETURN_IF_ERROR(PrintStore(op));
    Flush();
    guarded_ = false;
    EndScope(scope);
    --depth_;
    Line("}");
    return absl::OkStatus();
  }
  if (IsTile(value)) {
    Materialise(value);
  } else {
    Flush();
    Line("store_scalar<", CacheCode(op, true), ", ", EvictCode(op), ">(", Name(pointer), ", ", Name(value), ", ",
         mask == ir::kNoValue ? "true" : Name(mask), ");");
    return absl::OkStatus();
  }
  if (const std::optional<RunAccess> access = options_.run ? options_.run(op) : std::nullopt; access.has_value() && PrepareRun(*access)) {
    if (!access->run.aligned) Flush();  // each goes through shared memory by itself
    AddToGroup(op, GroupKind::kRunStore, value, access->vector * access->vectors);
    if (!access->run.aligned) Flush();
    return absl::OkStatus();
  }
  const int64_t vector = std::min(options_.vector ? options_.vector(op) : 1, LayoutOf(value).register_count());
  AddGuessed(op, GroupKind::kStore, value, vector);
  return absl::OkStatus();
}

// The template's view of an operand: fragments in registers, or a buffer in shared memory.
// `rows`: where it lies as swizzled rows, if it does not lie in registers as fragments.
std::string Printer::OperandOfDot(const ir::Op& op, int i, const std::string& table, const OperandRows* rows) {
  const std::string side(1, i == 0 ? 'A' : 'B');
  const ir::ValueId id = op.operands[i];
  const std::string elem = CudaType(TypeOf(id).elem);
  if (rows == nullptr) return absl::StrCat("Register", side, "<", table, ", ", elem, ">{", Name(id), ".v}");
  const bool turned = rows->axis != (i == 0 ? 1 : 0);
  const int bits = isa::BitWidth(TypeOf(id).elem.dtype);
  return absl::StrCat(bits == 64 || (bits == 32 && turned) ? "Elements" : "Shared", side, "<", table, ", ", RowsTable(TypeOf(id), rows->axis), ", ", turned ? "true" : "false", ", ",
                      elem, ">(", rows->buffer, ")");
}

bool Printer::IsZero(ir::ValueId id) const {
  const ir::Op* op = def_[id];
  while (op != nullptr && (op->op == Op::kSplat || op->op == Op::kBroadcast)) op = def_[op->operands[0]];
  if (op == nullptr || op->op != Op::kConst) return false;
  const auto* number = std::get_if<double>(op->FindAttr("value"));
  return number != nullptr && *number == 0 && !std::signbit(*number);
}

absl::Status Printer::PrintDot(const ir::Op& op, const ir::Region& region) {
  const ir::ValueId result = op.results[0], a = op.operands[0], b = op.operands[1], acc = op.operands[2];
  const isa::Type &ta = TypeOf(a), &tc = TypeOf(result);
  const int rank = tc.rank();
  const int64_t m = tc.shape[rank - 2], n = tc.shape[rank - 1], k = ta.shape[rank - 1], batches = rank == 3 ? tc.shape[0] : 1;
  // Operands that lie in a buffer in a form that cannot be read there; in a scope of this dot alone, but for wgmma, which runs on.
  std::set<ir::ValueId> in_buffers;
  for (int i : {0, 1}) {
    const bool shared = options_.schedule != nullptr && options_.schedule->ReadsShared(result, i);
    bool transposed;
    if (!shared && def_[op.operands[i]] != nullptr && def_[op.operands[i]]->op != Op::kConvertLayout && CopyBehind(op.operands[i], &transposed) != nullptr) {
      in_buffers.insert(op.operands[i]);
    }
  }
  const auto open_scope = [&] {
    if (in_buffers.empty()) return;
    Line("{");
    ++depth_;
    for (ir::ValueId id : in_buffers) ReadBuffer(id);
  };
  const auto close_scope = [&] {
    if (in_buffers.empty()) return;
    --depth_;
    Line("}");
  };
  // The sum is made in the accumulator's own registers if nobody else wants its old value.
  bool own = uses_[acc].size() == 1 && std::find(region.args.begin(), region.args.end(), acc) != region.args.end();
  for (const ir::Op& other : region.ops) own |= uses_[acc].size() == 1 && def_[acc] == &other && !was_lazy_[acc];
  const std::optional<pipeline::MmaPlan> plan = pipeline::MmaPlanOf(lk_, op);
  if (plan) {
    auto wgmma = options_.schedule == nullptr ? std::map<ir::ValueId, pipeline::Wgmma>::const_iterator() : options_.schedule->wgmma.find(result);
    const bool by_group = options_.schedule != nullptr && wgmma != options_.schedule->wgmma.end();
    const std::string table = Table(absl::StrCat("\n  static constexpr int m_steps = ", plan->m_steps, ", n_steps = ", plan->n_steps, ", k_steps = ", plan->k_steps,
                                                 ", batches = ", plan->batches, ";\n  static constexpr u32 warps_m = ", plan->warps_m, ", warps_n = ", plan->warps_n,
                                                 ", m_tiles = ", std::max<int64_t>(1, m / 16), ", n_tiles = ", std::max<int64_t>(1, n / 16),
                                                 ";\n  static constexpr bool n_pairs = ", plan->n_steps > 1 ? "true" : "false", ";\n"),
                                    'D');
    const bool zero = by_group && IsZero(acc);
    if (by_group) {
      for (ir::ValueId id : in_buffers) ReadBuffer(id);
    }
    if (own) names_[result] = Name(acc);
    else if (zero) Line(Declared(result), ";");
    else Line("auto ", Name(result), " = ", Name(acc), ";");
    if (by_group) {
      if (overlap_ != nullptr && words_.count(result) != 0 && overlap_->fixed.count(result) == 0) PrintFragments(op);
      TILEVM_RETURN_IF_ERROR(PrintWgmma(op, wgmma->second, zero, deferred_ == result ? add_flag_ : ""));
      if (overlap_ != nullptr) {
        running_.push_back({result, false});
        computed_.clear();
      } else if (deferred_ == result) {
        if (HasRoles()) Line("wgmma_wait<", wgmma->second.m_tiles, ">();");  // else when the next copies have been started
      } else if (!wgmma->second.promote) {
        Line("wgmma_wait<0>();");
        Line("wgmma_results<", LayoutOf(result).register_count(), ">(", Name(result), ".v);");
      }
      return absl::OkStatus();
    }
    const absl::string_view precision = op.StringAttr("input_precision");
    const std::string call = layout::IsSplit(lk_.kernel, op) ? absl::StrCat("dot_parts<", table, ", ", precision == "tf32x3" ? "Tf32x3" : precision == "bf16x3" ? "Bf16x3" : "Bf16x6")
                                                               : absl::StrCat("dot_mma<", table, ", ", CudaType(ta.elem));
    open_scope();
    std::array<OperandRows, 2> rows;
    if (plan->written) rows = RowsOfOperands(op);
    std::string operands[2];
    for (int i : {0, 1}) {
      const bool in_ring = options_.schedule != nullptr && options_.schedule->operands.count({result, i}) != 0;
      if (in_ring && !plan->written) rows[i] = RowsInRing(op, i);
      operands[i] = OperandOfDot(op, i, table, plan->written || in_ring ? &rows[i] : nullptr);
    }
    Line(call, ">(", Name(result), ".v, ", operands[0], ", ", operands[1], ");");
    close_scope();
    return absl::OkStatus();
  }
  if (pipeline::HasThreadTiles(lk_, op)) {
    if (own) names_[result] = Name(acc);
    else Line("auto ", Name(result), " = ", Name(acc), ";");
    open_scope();
    PrintThreadTiles(op);
    close_scope();
    return absl::OkStatus();
  }
  const absl::string_view precision = op.StringAttr("input_precision");
  const bool cut = ta.elem.dtype == isa::DType::kF32 && TypeOf(b).elem.dtype == isa::DType::kF32 && (precision.empty() || precision == "tf32");
  const std::string table = Table(absl::StrCat("\n  static constexpr int m = ", m, ", n = ", n, ", k = ", k, ", batches = ", batches, ";\n  static constexpr bool cut = ",
                                               cut ? "true" : "false", ";\n"),
                                  'D');
  const int64_t scratch = UseShared(batches * (m + n) * k * isa::StorageBytes(tc.elem));
  Line(Declared(result), ";");
  open_scope();
  Line(Name(result), " = dot_fma<", table, ">(", scratch, ", ", Name(a), ", ", Name(b), ", ", Name(acc), ");");
  close_scope();
  return absl::OkStatus();
}

Printer::OperandRows Printer::RowsInRing(const ir::Op& op, int i) {
  const pipeline::Operand& operand = options_.schedule->operands.at({op.results[0], i});
  const pipeline::Copy& copy = *options_.schedule->CopyOf(operand.copy);
  return {BufferOf(copy), operand.transposed ? 1 - copy.axis : copy.axis};
}

// Where the operands of a dot lie as swizzled rows: in a ring, or in buffers to which they are written here, between two barriers, with rows along their second
// axis.
std::array<Printer::OperandRows, 2> Printer::RowsOfOperands(const ir::Op& op) {
  std::array<OperandRows, 2> rows;
  int64_t written[2] = {-1, -1}, bytes = 0;
  for (int i : {0, 1}) {
    const isa::Type& type = TypeOf(op.operands[i]);
    if (options_.schedule != nullptr && options_.schedule->operands.count({op.results[0], i}) != 0) continue;
    written[i] = bytes;
    bytes += (type.elem_count() * isa::StorageBytes(type.elem) + 127) / 128 * 128;
  }
  const int64_t scratch = bytes > 0 ? UseShared(bytes) : 0;
  if (bytes > 0) Line("barrier();");
  for (int i : {0, 1}) {
    const isa::Type& type = TypeOf(op.operands[i]);
    const int elem_bytes = isa::StorageBytes(type.elem);
    if (written[i] < 0) {
      rows[i] = RowsInRing(op, i);
      continue;
    }
    rows[i] = {absl::StrCat("program_address(", scratch + written[i], ")"), 1};
    const layout::LinearLayout& where = LayoutOf(op.operands[i]);
    const layout::SharedLayout shared = layout::SwizzledRows(type.shape, 1, elem_bytes);
    const int64_t vector = SharedVector(where, shared, elem_bytes);
    const std::string table = BufferTable(where, shared, elem_bytes);
    OpenRegisterLoop(where.register_count(), vector);
    Line("write_shared<", vector, ">(", rows[i].buffer, " + ", table, "::at(", table, "::thread(), r), ", Name(op.operands[i]), ".v + r);");
    CloseRegisterLoop();
  }
  if (bytes > 0) Line("barrier();");
  return rows;
}

void Printer::PrintThreadTiles(const ir::Op& op) {
  const ir::ValueId result = op.results[0];
  const std::array<OperandRows, 2> operands = RowsOfOperands(op);
  std::string rows[2];
  for (int i : {0, 1}) {
    rows[i] = absl::StrCat("Rows", i == 0 ? "A" : "B", "<", RowsTable(TypeOf(op.operands[i]), operands[i].axis), ", ", operands[i].axis == (i == 0 ? 1 : 0) ? "false" : "true", ">{",
                           operands[i].buffer, "}");
  }
  const layout::LinearLayout& sum = LayoutOf(result);
  int64_t columns = 1;
  for (layout::Basis basis : sum.reg()) columns *= basis < static_cast<layout::Basis>(sum.shape()[1]) ? 2 : 1;
  const int64_t own_rows = sum.register_count() / columns;
  const bool apart = sum == layout::LinearLayout::ThreadTiles(sum.shape(), static_cast<int>(sum.warp_count()), true);
  const std::string table = Table(absl::StrCat("\n  static constexpr int k = ", TypeOf(op.operands[0]).shape[1], ", n = ", sum.shape()[1], ", rows = ", own_rows, ", columns = ", columns,
                                               ", row_step = ", sum.shape()[0] / own_rows, ", column_step = ", sum.shape()[1] / (apart ? columns : columns / 4), ";\n  static constexpr bool columns_apart = ", apart ? "true" : "false",
                                               ";\n"),
                                  'D');
  Line("dot_rows<", table, ">(", Name(result), ", ", rows[0], ", ", rows[1], ");");
}

absl::Status Printer::PrintOp(const ir::Op& op, const ir::Op* owner, const ir::Region& region) {
  const ir::ValueId result = op.results.empty() ? ir::kNoValue : op.results[0];
  if (op.op == Op::kExpandDims || op.op == Op::kReshape) {
    if (const pipeline::Copy* row = RowBehind(op.operands[0]); row != nullptr && IsReadLater(row->value)) return absl::OkStatus();
  }
  if (TryLazy(op)) return absl::OkStatus();
  const bool grouped = specializer::IsElementwise(op.op) || op.op == Op::kLoad || op.op == Op::kStore || op.op == Op::kConst || op.op == Op::kProgramId ||
                       op.op == Op::kNumPrograms || op.op == Op::kAssume;
  if (op.op == Op::kConvertLayout && (ReadBuffer(result) || (options_.schedule != nullptr && options_.schedule->not_printed.count(result) != 0))) return absl::OkStatus();
  if (!grouped) {
    Flush();
    for (ir::ValueId operand : op.operands) {
      bool transposed;
      if (op.op == Op::kFor && options_.schedule != nullptr && options_.schedule->LoopOf(op.regions[0].args[0]) != nullptr) continue;  // it asks for them itself
      if (op.op == Op::kDot && operand == op.operands[2] && options_.schedule != nullptr && options_.schedule->wgmma.count(result) != 0 && IsZero(operand)) continue;
      if (operand == ir::kNoValue || CopyBehind(operand, &transposed) != nullptr) continue;
      if (op.op == Op::kReduce) NameWide(operand);
      Materialise(operand);
    }
  }
  if (!grouped || result == ir::kNoValue || !IsTile(result)) Place(op.loc);
  switch (op.op) {
    case Op::kConst:
      if (TypeOf(result).elem.pointer) {
        Line(Declared(result), " = nullptr;");
      } else {
        Line(Declared(result), " = ", CudaConstant(TypeOf(result).elem.dtype, *op.FindAttr("value")), ";");
      }
      return absl::OkStatus();
    case Op::kProgramId: case Op::kNumPrograms:
      if (HasRoles() && roles().persistent && op.IntAttr("axis") == pipeline::kPartAxis) {
        Line("const i32 ", Name(result), " = static_cast<i32>(programs.part);");
      } else if (HasRoles() && roles().persistent) {
        const int64_t axis = op.IntAttr("axis");
        const bool reversed = op.op == Op::kProgramId && options_.schedule->order.reversed == axis;
        Line("const i32 ", Name(result), " = static_cast<i32>(", reversed ? absl::StrCat("programs.size[", axis, "] - 1 - ") : "", "programs.",
             op.op == Op::kProgramId ? "index" : "size", "[", axis, "]);");
      } else if (op.op == Op::kProgramId && options_.schedule != nullptr && options_.schedule->order.reversed == op.IntAttr("axis")) {
        Line("const i32 ", Name(result), " = ", Programs(op.IntAttr("axis")), " - 1 - program_id<", op.IntAttr("axis"), ">();");
      } else if (op.op == Op::kProgramId && op.IntAttr("axis") == 0 && Strided()) {
        Line("const i32 ", Name(result), " = static_cast<i32>(strided);");
      } else if (op.op == Op::kNumPrograms) {
        Line("const i32 ", Name(result), " = ", Programs(op.IntAttr("axis")), ";");
      } else {
        Line("const i32 ", Name(result), " = ", isa::Mnemonic(op.op), "<", op.IntAttr("axis"), ">();");
      }
      return absl::OkStatus();
    case Op::kBroadcast: case Op::kReshape: case Op::kExpandDims: case Op::kPermute: return PrintShape(op);
    case Op::kConvertLayout: return PrintConvert(op);
    case Op::kLoad: return PrintLoad(op);
    case Op::kStore:
      SpoilLoadsAhead();
      return HasRoles() && roles().box_stores.count(&op) != 0 ? PrintBoxStore(op) : PrintStore(op);
    case Op::kReduce: {
      TILEVM_RETURN_IF_ERROR(PrintReduce(op));
      ForgetWide();
      return absl::OkStatus();
    }
    case Op::kScan: return PrintScan(op);
    case Op::kMapElementwise: return PrintMap(op);
    case Op::kPhilox: return PrintPhilox(op);
    case Op::kInlineAsm: return PrintInlineAsm(op);
    case Op::kJoin: case Op::kSplit: case Op::kCat: return PrintRegroup(op);
    case Op::kFlip: return PrintFlip(op);
    case Op::kGather: return PrintGather(op);
    case Op::kHistogram: return PrintHistogram(op);
    case Op::kSort: case Op::kTopK: return PrintSort(op);
    case Op::kAtomicAdd: case Op::kAtomicMax: case Op::kAtomicMin: case Op::kAtomicAnd: case Op::kAtomicOr: case Op::kAtomicXor: case Op::kAtomicXchg:
    case Op::kAtomicCas:
      return PrintAtomic(op);
    case Op::kDevicePrint: return PrintPrint(op);
    case Op::kDeviceAssert: return PrintAssert(op);
    case Op::kDot: return PrintDot(op, region);
    case Op::kFor: return PrintFor(op);
    case Op::kWhile: return PrintWhile(op);
    case Op::kIf: return PrintIf(op);
    case Op::kBlock: return PrintBlock(op);
    case Op::kDebugBarrier:
      Line("barrier();");
      pending_ = Pending();
      return absl::OkStatus();
    case Op::kAssume: return absl::OkStatus();
    case Op::kYield: {
      if (owner != nullptr && (owner->op == Op::kReduce || owner->op == Op::kScan || owner->op == Op::kMapElementwise)) {
        std::string values;
        for (ir::ValueId id : op.operands) absl::StrAppend(&values, values.empty() ? "" : ", ", Name(id));
        Line("return ", returns_.empty() ? values : absl::StrCat(returns_, "{", values, "}"), ";");
        return absl::OkStatus();
      }
      if (owner == nullptr || !(owner->op == Op::kFor || owner->op == Op::kWhile || owner->op == Op::kIf || owner->op == Op::kBlock)) return absl::OkStatus();
      const bool test = owner->op == Op::kWhile && &region == &owner->regions[0];
      std::vector<std::string> targets;
      for (ir::ValueId id : owner->results) targets.push_back(Name(id));
      std::vector<ir::ValueId> values(op.operands.begin() + (test ? 1 : 0), op.operands.end());
      if (test) {
        const std::string go = absl::StrCat("go", next_label_++);
        Line("const bool ", go, " = ", Name(op.operands[0]), ";");
        AssignAll(targets, values);
        Line("if (!", go, ") break;");
      } else {
        AssignAll(targets, values);
      }
      return absl::OkStatus();
    }
    case Op::kExit: {
      BlockLabel& block = blocks_[blocks_.size() - 1 - static_cast<size_t>(op.IntAttr("depth"))];
      std::vector<std::string> targets;
      for (ir::ValueId id : block.op->results) targets.push_back(Name(id));
      AssignAll(targets, std::vector<ir::ValueId>(op.operands.begin(), op.operands.end()));
      Line("goto end", block.number, ";");
      block.at_exits.Join(pending_);
      return absl::OkStatus();
    }
    default:
      if (specializer::IsElementwise(op.op)) return PrintElementwise(op);
      return NotYet(op);
  }
}

}  // namespace tilevm::gpu
