// One statement for each op.
#include <cmath>

#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"

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
    AddToGroup(op, GroupKind::kCompute, result, 1);
    return absl::OkStatus();
  }
  std::string args;
  for (ir::ValueId operand : op.operands) {
    if (operand != ir::kNoValue) absl::StrAppend(&args, args.empty() ? "" : ", ", Name(operand));
  }
  Line(ConstType(TypeOf(result).elem), " ", Name(result), " = ", ElementFunction(op), "(", args, ");");
  return absl::OkStatus();
}

// A tile of one element becomes a scalar; every other change of shape is lazy (loops.cc).
absl::Status Printer::PrintShape(const ir::Op& op) {
  Line("const auto ", Name(op.results[0]), " = ", IsTile(op.operands[0]) ? absl::StrCat("scalar_of(", Name(op.operands[0]), ")") : Name(op.operands[0]), ";");
  return absl::OkStatus();
}

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
      const layout::SharedLayout shared = layout::ChooseShared(from, to, elem_bytes);
      UseShared(TypeOf(result).elem_count() * elem_bytes);
      Line("auto ", Name(result), " = convert_shared<", LayoutName(result), ", ", SharedTable(shared), ">(0, ", Name(operand), ");");
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status Printer::PrintLoad(const ir::Op& op) {
  const ir::ValueId result = op.results[0], pointer = op.operands[0], mask = op.operand(1), other = op.operand(2);
  const std::string type = CudaType(TypeOf(result).elem);
  // A scalar that decides where all threads go has to be one value: one thread reads what may change under the program.
  const bool once = !IsTile(result) && (op.BoolAttr("volatile") || MayChange(pointer));
  if (once) {
    UseShared(8);
    pending_ = Pending();  // the template has a barrier on both sides
  } else {
    OrderAccess(pointer, false);
  }
  if (IsTile(result)) {
    if (other != ir::kNoValue && !IsUniform(other)) Materialise(other);
  } else {
    Flush();
    Line("const auto ", Name(result), " = load_scalar", once ? "_once" : "", "<", CacheCode(op, false), ", ", EvictCode(op), ">(", once ? "0, " : "", Name(pointer), ", ",
         mask == ir::kNoValue ? "true" : Name(mask), ", ", other == ir::kNoValue ? absl::StrCat("zero_of<", type, ">()") : Name(other), ");");
    return absl::OkStatus();
  }
  const int64_t vector = std::min(options_.vector ? options_.vector(op) : 1, LayoutOf(result).register_count());
  AddToGroup(op, GroupKind::kLoad, result, vector);
  return absl::OkStatus();
}

absl::Status Printer::PrintStore(const ir::Op& op) {
  const ir::ValueId pointer = op.operands[0], value = op.operands[1], mask = op.operand(2);
  OrderAccess(pointer, true);
  if (IsTile(value)) {
    Materialise(value);
  } else {
    Flush();
    Line("store_scalar<", CacheCode(op, true), ", ", EvictCode(op), ">(", Name(pointer), ", ", Name(value), ", ",
         mask == ir::kNoValue ? "true" : Name(mask), ");");
    return absl::OkStatus();
  }
  const int64_t vector = std::min(options_.vector ? options_.vector(op) : 1, LayoutOf(value).register_count());
  AddToGroup(op, GroupKind::kStore, value, vector);
  return absl::OkStatus();
}

absl::Status Printer::PrintDot(const ir::Op& op) {
  const ir::ValueId result = op.results[0], a = op.operands[0], b = op.operands[1], acc = op.operands[2];
  const isa::Type &ta = TypeOf(a), &tb = TypeOf(b), &tc = TypeOf(result);
  const int rank = tc.rank();
  const int64_t m = tc.shape[rank - 2], n = tc.shape[rank - 1], k = ta.shape[rank - 1], batches = rank == 3 ? tc.shape[0] : 1;
  const layout::LinearLayout& lc = LayoutOf(result);
  // Is it the fragment layout of some arrangement of warps?
  const int64_t warps = lc.warp_count();
  for (int64_t warps_m = 1; warps_m <= warps; warps_m *= 2) {
    const int64_t warps_n = warps / warps_m;
    const int bits = isa::BitWidth(ta.elem.dtype);
    if (m < 16 || n < 8 || layout::LinearLayout::MmaAccumulator(tc.shape, static_cast<int>(warps_m), static_cast<int>(warps_n)) != lc) continue;
    if (layout::LinearLayout::MmaOperandA(ta.shape, bits, static_cast<int>(warps_m), static_cast<int>(warps_n)) != LayoutOf(a) ||
        layout::LinearLayout::MmaOperandB(tb.shape, bits, static_cast<int>(warps_m), static_cast<int>(warps_n)) != LayoutOf(b)) {
      continue;
    }
    const int64_t k_step = bits == 16 ? 16 : bits == 8 ? 32 : 8;
    const int64_t m_steps = std::max<int64_t>(1, m / 16 / warps_m), n_steps = std::max<int64_t>(1, n / 8 / warps_n);
    const std::string table = Table(absl::StrCat("\n  static constexpr int m_steps = ", m_steps, ", n_steps = ", n_steps, ", k_steps = ", k / k_step,
                                                 ", batches = ", batches, ";\n  static constexpr bool n_pairs = ", n_steps > 1 ? "true" : "false", ";\n"),
                                    'D');
    Line("auto ", Name(result), " = dot_mma<", table, ">(", Name(a), ", ", Name(b), ", ", Name(acc), ");");
    return absl::OkStatus();
  }
  const std::string table = Table(absl::StrCat("\n  static constexpr int m = ", m, ", n = ", n, ", k = ", k, ", batches = ", batches, ";\n"), 'D');
  UseShared(batches * (m + n) * k * isa::StorageBytes(tc.elem));
  Line("auto ", Name(result), " = dot_fma<", table, ">(0, ", Name(a), ", ", Name(b), ", ", Name(acc), ");");
  return absl::OkStatus();
}

absl::Status Printer::PrintOp(const ir::Op& op, const ir::Op* owner, const ir::Region& region) {
  const ir::ValueId result = op.results.empty() ? ir::kNoValue : op.results[0];
  if (TryLazy(op)) return absl::OkStatus();
  const bool grouped = specializer::IsElementwise(op.op) || op.op == Op::kLoad || op.op == Op::kStore || op.op == Op::kConst || op.op == Op::kProgramId ||
                       op.op == Op::kNumPrograms || op.op == Op::kAssume;
  if (!grouped) {
    Flush();
    for (ir::ValueId operand : op.operands) Materialise(operand);
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
      Line("const i32 ", Name(result), " = ", isa::Mnemonic(op.op), "<", op.IntAttr("axis"), ">();");
      return absl::OkStatus();
    case Op::kBroadcast: case Op::kReshape: case Op::kExpandDims: case Op::kPermute: return PrintShape(op);
    case Op::kConvertLayout: return PrintConvert(op);
    case Op::kLoad: return PrintLoad(op);
    case Op::kStore: return PrintStore(op);
    case Op::kReduce: return PrintReduce(op);
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
    case Op::kDot: return PrintDot(op);
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
