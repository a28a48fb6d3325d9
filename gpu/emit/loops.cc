// Register loops: how elementwise ops, loads and stores of tiles are printed.
//
// Each thread holds `regs` registers of a tile, and what happens to all of them is one loop that the compiler unrolls:
//
//   Tile<f32, L0> x;
//   #pragma unroll
//   for (int r = 0; r < 8; r += 4) {
//     const i32 offsets = add(block_start, L0::at(thread, r));
//     const bool mask = lt(offsets, n_elements);
//     load<4, 0, 0>(x.v + r, ptr_add(x_ptr, offsets), mask);
//   }
//
// Neighbouring ops of one layout share a loop, and only what is used after it becomes a variable: unrolling is what costs compile time, not arithmetic.
// *Lazy* values have no variable at all: splats, aranges, index and mask arithmetic over them, and other views of a tile (broadcast, reshape, permute,
// expand_dims). They are printed where a loop wants a register of them, in a load or store for the first register of each access only. An op that
// is printed otherwise asks for its operands as variables first (Materialise), which then live to the end of the enclosing C++ block.
#include <algorithm>
#include <utility>

#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {
namespace {

using isa::Op;

bool IsRelabel(Op op) { return op == Op::kReshape || op == Op::kExpandDims || op == Op::kPermute; }

// Index and mask arithmetic: cheaper to repeat than to keep in registers.
bool IsCheap(Op op) {
  switch (op) {
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kNeg: case Op::kInvert: case Op::kBitAnd: case Op::kBitOr: case Op::kBitXor: case Op::kShl:
    case Op::kShr: case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: case Op::kEq: case Op::kNe: case Op::kWhere: case Op::kMaximum:
    case Op::kMinimum: case Op::kCast: case Op::kBitcast: case Op::kPtrAdd:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string BitExpression(const std::string& variable, const std::vector<uint32_t>& bases, bool exclusive) {
  std::vector<std::string> terms;
  for (size_t i = 0; i < bases.size();) {
    if (bases[i] == 0) {
      ++i;
      continue;
    }
    if ((bases[i] & (bases[i] - 1)) != 0) {
      terms.push_back(absl::StrCat("(", variable, " >> ", i, " & 1) * ", bases[i]));
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < bases.size() && bases[end] == bases[end - 1] << 1) ++end;
    const std::string shifted = i == 0 ? variable : absl::StrCat(variable, " >> ", i);
    const std::string field = end == bases.size() && exclusive ? absl::StrCat("(", shifted, ")") : absl::StrCat("(", shifted, " & ", (1u << (end - i)) - 1, ")");
    const int shift = layout::Log2(bases[i]);
    terms.push_back(shift == 0 ? field : absl::StrCat("(", field, " << ", shift, ")"));
    i = end;
  }
  if (terms.empty()) return "0";
  std::string out = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) absl::StrAppend(&out, exclusive ? " | " : " ^ ", terms[i]);
  return out;
}

void Printer::CollectUses(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    for (ir::ValueId result : op.results) def_[result] = &op;
    for (ir::ValueId operand : op.operands) {
      if (operand != ir::kNoValue) uses_[operand].push_back(&op);
    }
    for (const ir::Region& inner : op.regions) CollectUses(inner);
  }
}

bool Printer::TryLazy(const ir::Op& op) {
  if (op.results.size() != 1 || !IsTile(op.results[0])) return false;
  const ir::ValueId result = op.results[0];
  if (op.op == Op::kBroadcast || IsRelabel(op.op)) {
    // The wide tile reads registers of the narrow one: those are computed once, here.
    if (op.op == Op::kBroadcast && IsTile(op.operands[0]) && !IsUniform(op.operands[0])) Materialise(op.operands[0]);
  } else if (IsWidened(op)) {
  } else if (op.op != Op::kSplat && op.op != Op::kArange) {
    if (!specializer::IsElementwise(op.op) || !IsCheap(op.op)) return false;
    for (ir::ValueId operand : op.operands) {
      if (operand != ir::kNoValue && IsTile(operand) && lazy_[operand] == nullptr) return false;
    }
  }
  lazy_[result] = &op;
  was_lazy_[result] = true;
  return true;
}

// Where loads were moved in front of reductions (PrintOrder), registers are what is short: 16-bit floats then stay as they were loaded and are widened, and what is
// made of them by cheap ops computed, wherever that is wanted. The compiler would keep the first result instead: `keep` hides that the words are the same.
bool Printer::IsWidened(const ir::Op& op) const {
  if (!stay_narrow_ || op.op != Op::kCast || TypeOf(op.results[0]).elem != isa::ScalarType(isa::DType::kF32).elem) return false;
  const ir::Op* load = def_[op.operands[0]];
  const isa::DType from = TypeOf(op.operands[0]).elem.dtype;
  return load != nullptr && load->op == Op::kLoad && (from == isa::DType::kF16 || from == isa::DType::kBF16) && LayoutOf(op.operands[0]).register_count() >= 16;
}

// A 16-bit float that has a variable as it was loaded.
bool Printer::IsLoadedNarrow(ir::ValueId id) const {
  const isa::DType dtype = TypeOf(id).elem.dtype;
  return (dtype == isa::DType::kF16 || dtype == isa::DType::kBF16) && IsTile(id) && def_[id] != nullptr && def_[id]->op == Op::kLoad &&
         (options_.schedule == nullptr || options_.schedule->CopyOf(id) == nullptr);
}

// A reduction reads a variable; where the value stays narrow the variable is for this reduction alone.
void Printer::NameWide(ir::ValueId id) {
  if (!stay_narrow_ || !IsTile(id) || lazy_[id] == nullptr) return;
  wide_.push_back({id, Name(id), materialised_.size()});
  std::string name = absl::StrCat(Name(id), "_wide");
  while (!taken_.insert(name).second) absl::StrAppend(&name, "_");
  names_[id] = name;
}
void Printer::ForgetWide() {
  if (wide_.empty()) return;
  EndScope(wide_.front().materialised);
  for (const Wide& wide : wide_) names_[wide.id] = wide.name;
  wide_.clear();
  for (ir::ValueId id : widened_) Line("keep(", Name(id), ");");
  widened_.clear();
}

bool Printer::IsUniform(ir::ValueId id) const {
  for (const ir::Op* op = lazy_[id]; op != nullptr; op = lazy_[op->operands[0]]) {
    if (op->op == Op::kSplat || ((op->op == Op::kBroadcast || IsRelabel(op->op)) && !IsTile(op->operands[0]))) return true;
    if (op->op != Op::kBroadcast && !IsRelabel(op->op)) return false;
  }
  return false;
}

// The right-hand side for one register of a lazy value or of an elementwise op; statements that it needs go before it.
std::string Printer::RegisterExpression(const ir::Op& op, std::map<ir::ValueId, std::string>& locals) {
  const ir::ValueId operand = op.operands.empty() ? ir::kNoValue : op.operands[0];
  switch (op.op) {
    case Op::kSplat: return Name(operand);
    case Op::kArange: {
      const int64_t start = op.IntAttr("start");
      const std::string at = absl::StrCat("static_cast<i32>(", LayoutName(op.results[0]), "::at(", ThreadIndexOf(LayoutOf(op.results[0])), ", ", index_, "))");
      return start == 0 ? at : absl::StrCat(start, " + ", at);
    }
    case Op::kReshape: case Op::kExpandDims: case Op::kPermute: return IsTile(operand) ? Register(operand, locals) : Name(operand);
    case Op::kBroadcast: {
      if (!IsTile(operand)) return Name(operand);
      if (IsUniform(operand)) return Register(operand, locals);
      const layout::LinearLayout &from = LayoutOf(operand), &to = LayoutOf(op.results[0]);
      // Register r reads the register with the same coordinates where the operand is wide; linear in the bits of r.
      std::vector<uint32_t> bases;
      for (layout::Basis basis : to.reg()) {
        const auto at = to.Coordinates(basis);
        uint32_t index = 0;
        for (size_t axis = 0; axis < at.size(); ++axis) {
          index = index * static_cast<uint32_t>(from.shape()[axis]) + static_cast<uint32_t>(from.shape()[axis] == 1 ? 0 : at[axis]);
        }
        bases.push_back(from.PlaceOf(index).reg);
      }
      return absl::StrCat(Name(operand), ".v[", BitExpression(index_, bases, false), "]");
    }
    case Op::kTrueDiv: {
      if (SharesDivisor(op)) {
        const std::string x = Register(operand, locals), y = Register(op.operands[1], locals);
        if (auto inverse = inverses_.find(&op); inverse != inverses_.end()) {
          return ordinary_ ? absl::StrCat("quotient(", x, ", ", y, ", ", inverse->second, ")") : absl::StrCat("divide_by(", x, ", ", inverse->second, ")");
        }
        return ordinary_ ? absl::StrCat("quotient(", x, ", ", y, ")") : absl::StrCat("divide_by(", x, ", reciprocal(", y, "))");
      }
      [[fallthrough]];
    }
    default: {
      std::string args;
      if (lazy_[op.results[0]] == &op && IsWidened(op)) widened_.insert(operand);
      for (ir::ValueId id : op.operands) {
        if (id != ir::kNoValue) absl::StrAppend(&args, args.empty() ? "" : ", ", IsTile(id) ? Register(id, locals) : Name(id));
      }
      return absl::StrCat(ElementFunction(op), "(", args, ")");
    }
  }
}

// A divisor that stays the same along the registers is inverted once.
bool Printer::SharesDivisor(const ir::Op& op) const {
  if (op.op != Op::kTrueDiv || !IsTile(op.results[0])) return false;
  const isa::DType dtype = TypeOf(op.results[0]).elem.dtype;
  const ir::Op* divisor = def_[op.operands[1]];
  return (dtype == isa::DType::kF32 || dtype == isa::DType::kF16 || dtype == isa::DType::kBF16) && divisor != nullptr &&
         (divisor->op == Op::kSplat || divisor->op == Op::kBroadcast);
}

// Whether the op is exp(x - max of x) or the like: at most 1, or NaN.
bool Printer::IsAtMostOne(ir::ValueId id) const {
  const ir::Op* op = def_[id];
  if (op == nullptr || (op->op != Op::kExp && op->op != Op::kExp2)) return false;
  const ir::Op* difference = def_[op->operands[0]];
  if (difference == nullptr || difference->op != Op::kSub) return false;
  int64_t axis = -1;  // where the maximum was given its extent back
  for (const ir::Op* of = def_[difference->operands[1]]; of != nullptr; of = def_[of->operands[0]]) {
    if (of->op == Op::kReduce) {
      return of->operands.size() == 1 && of->operands[0] == difference->operands[0] && of->StringAttr("kind") == "max" &&
             (!IsTile(of->results[0]) || of->IntAttr("axis") == axis);
    }
    if (of->op == Op::kExpandDims && axis < 0) axis = of->IntAttr("axis");
    else if (of->op != Op::kSplat && of->op != Op::kBroadcast && of->op != Op::kConvertLayout) return false;
  }
  return false;
}

// The C++ type that looks at the dividend for all divisions of the list; none of them has to look at all if *looks is false.
std::string Printer::QuotientsOf(ir::ValueId dividend, absl::Span<const ir::Op* const> divisions, bool* looks) const {
  bool small = false;
  for (const ir::Op* division : divisions) {
    const ir::ValueId result = division->results[0];
    bool ends_as_f16 = TypeOf(result).elem.dtype == isa::DType::kF16;
    if (!ends_as_f16 && !uses_[result].empty()) {
      ends_as_f16 = std::all_of(uses_[result].begin(), uses_[result].end(),
                                [&](const ir::Op* use) { return use->op == Op::kCast && TypeOf(use->results[0]).elem.dtype == isa::DType::kF16; });
    }
    small |= !ends_as_f16;
  }
  const bool large = !IsAtMostOne(dividend);
  *looks = small || large;
  return absl::StrCat("Quotients<", small ? "true" : "false", ", ", large ? "true" : "false", ">");
}

std::string Printer::Register(ir::ValueId id, std::map<ir::ValueId, std::string>& locals) {
  if (auto found = locals.find(id); found != locals.end()) return found->second;
  const ir::Op* op = lazy_[id];
  if (op == nullptr) return absl::StrCat(Name(id), ".v[", index_, "]");
  const bool has_variable = specializer::IsElementwise(op->op) || op->op == Op::kArange;
  // A mask that holds for neighbours alike is computed for the first of them; the compiler then sees that the others are the same.
  const uint32_t same = has_variable && TypeOf(id).elem.dtype == isa::DType::kI1 && options_.same_registers && index_ == "r" && step_ == 1
                            ? options_.same_registers(id) & static_cast<uint32_t>(LayoutOf(id).register_count() - 1) : 0;
  if (same != 0) {
    index_ = absl::StrCat("(r & ", LayoutOf(id).register_count() - 1 - same, ")");
    std::string value = VariableOf(*op, of_runs_[same]);
    index_ = std::string(1, 'r');
    return locals[id] = value;
  }
  return locals[id] = has_variable ? VariableOf(*op, locals) : RegisterExpression(*op, locals);
}

// The variable, inside a register loop, of a lazy value at the register index_.
std::string Printer::VariableOf(const ir::Op& op, std::map<ir::ValueId, std::string>& locals) {
  const ir::ValueId id = op.results[0];
  if (auto found = locals.find(id); found != locals.end()) return found->second;
  const std::string value = RegisterExpression(op, locals);
  std::string name = Name(id);
  if (index_ != "r") {
    std::string& of_run = run_names_[{id, index_}];
    if (of_run.empty()) {
      of_run = absl::StrCat(name, "_run");
      while (!taken_.insert(of_run).second) absl::StrAppend(&of_run, "_");
    }
    name = of_run;
  }
  Place(op.loc);
  Line(ConstType(TypeOf(id).elem), " ", name, " = ", value, ";");
  return locals[id] = name;
}

void Printer::Materialise(ir::ValueId id) {
  if (id == ir::kNoValue || !IsTile(id) || lazy_[id] == nullptr) return;
  Flush();
  const ir::Op* op = lazy_[id];
  if (IsUniform(id)) {
    const ir::Op* root = op;
    while (IsTile(root->operands[0])) root = lazy_[root->operands[0]];
    Line("const auto ", Name(id), " = splat<", LayoutName(id), ">(", Name(root->operands[0]), ");");
  } else {
    Place(op->loc);
    Line(Declared(id), ";");
    OpenRegisterLoop(LayoutOf(id).register_count(), 1);
    std::map<ir::ValueId, std::string> locals;
    const std::string value = RegisterExpression(*op, locals);
    Line(Name(id), ".v[r] = ", value, ";");
    CloseRegisterLoop();
  }
  lazy_[id] = nullptr;
  materialised_.push_back({id, op});
}

void Printer::OpenRegisterLoop(int64_t registers, int64_t step, int64_t from) {
  // More elements than a thread has registers lie in its local memory whatever the loop is: unrolling it whole would only cost time.
  Line(registers > 256 ? "#pragma unroll 4" : "#pragma unroll");
  Line("for (int r = ", from, "; r < ", registers, "; r += ", step, ") {");
  ++depth_;
  step_ = step;
  of_runs_.clear();
}
void Printer::CloseRegisterLoop() {
  --depth_;
  Line("}");
}

void Printer::EndScope(size_t mark) {
  while (materialised_.size() > mark) {
    lazy_[materialised_.back().first] = materialised_.back().second;
    materialised_.pop_back();
  }
}

void Printer::AddToGroup(const ir::Op& op, GroupKind kind, ir::ValueId tile, int64_t vector) {
  const int layout = at().layout_of[tile];
  if (group_.kind != kind || group_.layout != layout || group_.vector != vector) Flush();
  group_.kind = kind;
  group_.layout = layout;
  group_.vector = vector;
  group_.ops.push_back(&op);
}

std::string Printer::BitsOf(ir::ValueId scalar, int64_t times) {
  if (TypeOf(scalar).elem.pointer) return absl::StrCat("reinterpret_cast<u64>(", Name(scalar), ")");
  return absl::StrCat("static_cast<u64>(", Name(scalar), ")", times == 1 ? "" : absl::StrCat(" * ", times));
}

// By vectors if what is guessed of sizes and addresses holds, else element by element.
void Printer::AddGuessed(const ir::Op& access, GroupKind kind, ir::ValueId tile, int64_t vector) {
  const std::vector<ir::ValueId> scalars = GuessedScalars(access);
  if (scalars.empty()) return AddToGroup(access, kind, tile, vector);
  Flush();
  if (kind == GroupKind::kLoad) Line(Declared(tile), ";");
  if (kind == GroupKind::kLoad) declared_.insert(tile);
  std::string low;
  for (ir::ValueId id : scalars) absl::StrAppend(&low, low.empty() ? "" : " | ", BitsOf(id));
  for (const bool whole : {true, false}) {
    Line(whole ? absl::StrCat("if ((", low, ") % 16 == 0) {") : "} else {");
    ++depth_;
    const size_t scope = materialised_.size();
    AddToGroup(access, kind, tile, whole ? vector : 1);
    Flush();
    EndScope(scope);
    --depth_;
  }
  Line("}");
  declared_.erase(tile);
}

void Printer::Flush() {
  const std::vector<const ir::Op*> ops = group_.ops;
  PrintGroup();
  for (const ir::Op* op : ops) {
    if (op->op == Op::kLoad) TellNext(*op);
  }
}

void Printer::PrintGroup() {
  if (group_.ops.empty()) return;
  const Group group = std::move(group_);
  group_ = Group();
  const std::set<const ir::Op*> inside(group.ops.begin(), group.ops.end());
  std::set<ir::ValueId> kept;
  for (const ir::Op* op : group.ops) {
    for (ir::ValueId result : op->results) {
      bool outside = op->op == Op::kLoad || group.kind == GroupKind::kPairs;
      for (const ir::Op* use : uses_[result]) outside |= inside.count(use) == 0;
      if (!outside) continue;
      kept.insert(result);
      if (declared_.count(result) == 0) Line(Declared(result), ";");
    }
  }
  if (group.kind == GroupKind::kRunLoad || group.kind == GroupKind::kRunStore) {
    PrintRunGroup(group);
    return;
  }
  std::vector<const ir::Op*> divisions;
  if (group.kind == GroupKind::kCompute) {
    for (const ir::Op* op : group.ops) {
      if (SharesDivisor(*op)) divisions.push_back(op);
    }
    // Dividends are looked at where they are made: what divides them often waits for a sum of them.
    for (ir::ValueId id : kept) {
      std::vector<const ir::Op*> by;
      for (const ir::Op* use : uses_[id]) {
        if (SharesDivisor(*use) && use->operands[0] == id) by.push_back(use);
      }
      if (by.empty()) continue;
      Looked& looked = quotients_[id];
      looked.name = absl::StrCat("quotients", next_label_++);
      Line(QuotientsOf(id, by, &looked.looks), " ", looked.name, ";");
    }
  }
  if (divisions.empty() && (group.kind == GroupKind::kCompute || group.kind == GroupKind::kPairs) && interlude_.print != nullptr && kept.count(interlude_.value) != 0) {
    const Interlude interlude = std::exchange(interlude_, {});
    int64_t made = 0;
    for (int i = 0; i < interlude.times; ++i, made += interlude.every) {
      PrintRegisters(group, kept, made, made + interlude.every);
      interlude.print();
    }
    if (const int64_t all = at().layouts[group.layout].register_count(); made < all) PrintRegisters(group, kept, made, all);
    return;
  }
  if (divisions.empty()) {
    PrintGroup(group, kept);
    return;
  }
  std::string all_ordinary;
  for (const ir::Op* op : divisions) {
    std::string& quotients = quotients_[op->operands[0]].name;
    const bool looked = !quotients.empty();
    bool looks = false;
    if (!looked) {
      quotients = absl::StrCat("quotients", next_label_++);
      Line(QuotientsOf(op->operands[0], {op}, &looks), " ", quotients, ";");
    }
    std::map<ir::ValueId, std::string> locals;
    const bool one = IsUniform(op->operands[1]);  // divisor for all registers
    if (one) Line(quotients, ".by(", Register(op->operands[1], locals), ");");
    if (!one || looks) OpenRegisterLoop(at().layouts[group.layout].register_count(), 1);
    if (looks) Line(quotients, ".look(", Register(op->operands[0], locals), ");");
    if (!one) Line(quotients, ".by(", Register(op->operands[1], locals), ");");
    if (!one || looks) CloseRegisterLoop();
    absl::StrAppend(&all_ordinary, all_ordinary.empty() ? "" : " && ", quotients, ".ordinary()");
    if (!looked) quotients_.erase(op->operands[0]);
  }
  for (ordinary_ = true;; ordinary_ = false) {
    Line(ordinary_ ? absl::StrCat("if (", all_ordinary, ") {") : "} else {");
    ++depth_;
    for (const ir::Op* op : divisions) {
      if (!IsUniform(op->operands[1])) continue;
      std::map<ir::ValueId, std::string> locals;
      const std::string divisor = Register(op->operands[1], locals), &inverse = inverses_[op] = absl::StrCat("inverse", next_label_++);
      Line("const auto ", inverse, " = ", ordinary_ ? absl::StrCat("rounded_reciprocal(to_f32(", divisor, "))") : absl::StrCat("reciprocal(", divisor, ")"), ";");
    }
    PrintGroup(group, kept);
    --depth_;
    if (!ordinary_) break;
  }
  inverses_.clear();
  Line("}");
}

void Printer::PrintGroup(const Group& group, const std::set<ir::ValueId>& kept) {
  PrintRegisters(group, kept, 0, at().layouts[group.layout].register_count());
}

void Printer::PrintRegisters(const Group& group, const std::set<ir::ValueId>& kept, int64_t from, int64_t to) {
  std::map<ir::ValueId, std::string> locals;
  OpenRegisterLoop(to, group.vector, from);
  for (const ir::Op* op : group.ops) {
    if (group.kind == GroupKind::kLoad) {
      const ir::ValueId result = op->results[0], mask = op->operand(1), other = op->operand(2);
      std::string call = absl::StrCat(IsGuessed(*op) && GuessedScalars(*op).empty() ? "load_guessed<" : "load<", group.vector, ", ", CacheCode(*op, false), ", ", EvictCode(*op), ">(",
                                      Name(result), ".v + r, ",
                                      Register(op->operands[0], locals));
      if (mask != ir::kNoValue) absl::StrAppend(&call, ", ", Register(mask, locals));
      if (mask != ir::kNoValue && other != ir::kNoValue) {
        absl::StrAppend(&call, ", ", IsUniform(other) ? Register(other, locals) : absl::StrCat(Name(other), ".v + r"));
      }
      Place(op->loc);
      Line(call, ");");
    } else if (group.kind == GroupKind::kPairs) {
      Place(op->loc);
      Line("cast_pair(", Name(op->results[0]), ".v + r, ", Name(op->operands[0]), ".v + r);");
    } else if (group.kind == GroupKind::kStore) {
      const ir::ValueId value = op->operands[1], mask = op->operand(2);
      std::string call = absl::StrCat(IsGuessed(*op) && GuessedScalars(*op).empty() ? "store_guessed<" : "store<", group.vector, ", ", CacheCode(*op, true), ", ", EvictCode(*op), ">(",
                                      Register(op->operands[0], locals), ", ",
                                      Name(value), ".v + r");
      if (mask != ir::kNoValue) absl::StrAppend(&call, ", ", Register(mask, locals));
      Place(op->loc);
      Line(call, ");");
    } else {
      const ir::ValueId result = op->results[0];
      const std::string value = RegisterExpression(*op, locals);
      Place(op->loc);
      if (kept.count(result) != 0) {
        if (TypeOf(result).elem.dtype == isa::DType::kF32 && !TypeOf(result).elem.pointer) computed_ = absl::StrCat(Name(result), ".v[", LayoutOf(result).register_count() - 1, "]");
        Line(Name(result), ".v[r] = ", value, ";");
        locals[result] = absl::StrCat(Name(result), ".v[r]");
        if (auto looked = quotients_.find(result); looked != quotients_.end() && looked->second.looks) Line(looked->second.name, ".look(", locals[result], ");");
      } else {
        Line(ConstType(TypeOf(result).elem), " ", Name(result), " = ", value, ";");
        locals[result] = Name(result);
      }
    }
  }
  CloseRegisterLoop();
}

}  // namespace tilevm::gpu
