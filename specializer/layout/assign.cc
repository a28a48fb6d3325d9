#include "specializer/layout/assign.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "specializer/ir/builder.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::layout {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

bool IsTile(const ir::Kernel& kernel, ValueId id) { return id != kNoValue && !kernel.TypeOf(id).is_scalar(); }

// Index and mask arithmetic, worth repeating in another layout rather than moving.
bool IsCheap(Op op) {
  switch (op) {
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kNeg: case Op::kInvert: case Op::kBitAnd: case Op::kBitOr: case Op::kBitXor: case Op::kShl:
    case Op::kShr: case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: case Op::kEq: case Op::kNe: case Op::kWhere: case Op::kMaximum:
    case Op::kMinimum: case Op::kCast: case Op::kBitcast: case Op::kPtrAdd: case Op::kFloorDiv: case Op::kMod:
      return true;
    default:
      return false;
  }
}

// Element i of every result depends on element i of every operand alone, so that all have one layout.
bool IsPointwise(Op op) { return specializer::IsElementwise(op) || op == Op::kPhilox || op == Op::kMapElementwise || op == Op::kInlineAsm; }
bool IsRelabel(Op op) { return op == Op::kReshape || op == Op::kExpandDims || op == Op::kPermute; }
bool IsAtomic(Op op) { return op >= Op::kAtomicAdd && op <= Op::kAtomicCas; }
bool IsBranch(Op op) { return op == Op::kFor || op == Op::kWhile || op == Op::kIf || op == Op::kBlock; }

std::vector<int64_t> IntsAttr(const ir::Op& op, absl::string_view name) {
  const ir::Attr* attr = op.FindAttr(name);
  if (attr == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<int64_t>>(attr)) return *list;
  return {};
}

std::vector<int64_t> Inverse(const std::vector<int64_t>& dims) {
  std::vector<int64_t> out(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) out[dims[i]] = static_cast<int64_t>(i);
  return out;
}

// Layout of the operand of a shape op, given that of its result, and the other way round; the op then moves nothing.
LinearLayout OperandLayout(const ir::Op& op, const isa::Shape& operand_shape, const LinearLayout& result) {
  switch (op.op) {
    case Op::kReshape: case Op::kExpandDims: return result.Reshaped(operand_shape);
    case Op::kPermute: return result.Permuted(Inverse(IntsAttr(op, "dims")));
    default: return result.OperandOfBroadcast(operand_shape);
  }
}
LinearLayout ResultLayout(const ir::Op& op, const isa::Shape& result_shape, const LinearLayout& operand) {
  switch (op.op) {
    case Op::kReshape: case Op::kExpandDims: return operand.Reshaped(result_shape);
    case Op::kPermute: return operand.Permuted(IntsAttr(op, "dims"));
    default: return operand.Broadcasted(result_shape);
  }
}

// join, cat, split: the results are other registers of the same threads.
bool IsRegrouping(Op op) { return op == Op::kJoin || op == Op::kCat || op == Op::kSplit; }

class Assigner {
 public:
  Assigner(const ir::Kernel& kernel, const LayoutOptions& options) : in_(kernel), options_(options) {}

  absl::StatusOr<LayoutKernel> Run() {
    const size_t count = in_.values.size();
    def_.assign(count, nullptr);
    free_.assign(count, false);
    parent_.resize(count);
    std::iota(parent_.begin(), parent_.end(), 0u);
    home_.assign(count, -1);
    demands_.resize(count);
    Classify(in_.body);
    Join(in_.body, nullptr);
    AssignHomes();
    DemandRegion(in_.body, nullptr);
    Rebuild();
    return std::move(out_);
  }

 private:
  // --- free or homed ---
  void Classify(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) {
        def_[result] = &op;
        if (IsTile(in_, result)) free_[result] = IsFree(op);
      }
      for (const ir::Region& inner : op.regions) Classify(inner);
    }
  }
  bool IsFree(const ir::Op& op) const {
    if (op.op == Op::kSplat || op.op == Op::kArange) return true;
    if (op.op != Op::kBroadcast && !IsRelabel(op.op) && !(specializer::IsElementwise(op.op) && IsCheap(op.op))) return false;
    return std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId id) { return id == kNoValue || !IsTile(in_, id) || free_[id]; });
  }
  bool Homed(ValueId id) const { return IsTile(in_, id) && !free_[id]; }

  // --- classes ---
  ValueId Find(ValueId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Unite(ValueId a, ValueId b) {
    if (Homed(a) && Homed(b)) parent_[Find(a)] = Find(b);
  }
  struct RegionContext {
    const ir::Op* op;  // whose region it is
    const RegionContext* outer;
  };
  static const ir::Op* BlockAt(const RegionContext* context, int64_t depth) {
    for (; context != nullptr; context = context->outer) {
      if (context->op->op == Op::kBlock && depth-- == 0) return context->op;
    }
    return nullptr;
  }

  struct Tie {
    ValueId operand, result;
    const ir::Op* op;
  };
  struct Memory {
    ValueId value;
    LayoutOptions::Access access;
    int64_t bytes;
    int elem_bytes;
  };

  void Join(const ir::Region& region, const RegionContext* context) {
    for (const ir::Op& op : region.ops) {
      const ValueId result = op.results.empty() ? kNoValue : op.results[0];
      if (IsPointwise(op.op) || op.op == Op::kFlip) {
        for (size_t i = 1; i < op.results.size(); ++i) Unite(op.results[i], result);
        for (ValueId operand : op.operands) {
          if (Homed(operand) && Homed(result)) Unite(operand, result);
        }
      } else if (op.op == Op::kGather) {
        Unite(op.operands[1], result);
      } else if (op.op == Op::kHistogram || op.op == Op::kDeviceAssert) {
        if (op.operand(1) != kNoValue) Unite(op.operands[1], op.operands[0]);
      } else if (op.op == Op::kJoin || op.op == Op::kCat || op.op == Op::kSplit) {
        if (op.op != Op::kSplit) Unite(op.operands[1], op.operands[0]);
        for (size_t i = 1; i < op.results.size(); ++i) Unite(op.results[i], result);
        for (ValueId operand : op.operands) {
          if (Homed(operand) && Homed(result)) ties_.push_back({operand, result, &op});
        }
      } else if (op.op == Op::kLoad || op.op == Op::kStore || IsAtomic(op.op)) {
        const ValueId value = result != kNoValue ? result : op.operand(1);
        if (IsTile(in_, value)) {
          for (ValueId operand : op.operands) {
            if (Homed(operand)) Unite(operand, value);
          }
          RecordAccess(op, value);
        }
      } else if (op.op == Op::kDot) {
        Unite(op.operands[2], result);
        dots_.push_back(&op);
      } else if (op.op == Op::kReduce || op.op == Op::kScan) {
        for (size_t i = 1; i < op.operands.size(); ++i) Unite(op.operands[i], op.operands[0]);
        for (size_t i = 1; i < op.results.size(); ++i) Unite(op.results[i], op.results[0]);
        if (op.op == Op::kScan) {
          Unite(op.operands[0], result);
        } else if (Homed(op.operands[0]) && IsTile(in_, result)) {
          ties_.push_back({op.operands[0], result, &op});
          reduces_.push_back(&op);
        }
      } else if ((op.op == Op::kBroadcast || IsRelabel(op.op)) && Homed(op.operands[0]) && Homed(result)) {
        ties_.push_back({op.operands[0], result, &op});
      } else if (op.op == Op::kFor || op.op == Op::kWhile) {
        const size_t first = op.op == Op::kFor ? 3 : 0, skip = op.op == Op::kFor ? 1 : 0;
        for (size_t i = 0; i < op.results.size(); ++i) {
          Unite(op.operands[first + i], op.results[i]);
          for (const ir::Region& inner : op.regions) Unite(inner.args[skip + i], op.results[i]);
        }
      } else if (op.op == Op::kYield && context != nullptr) {
        const ir::Op& owner = *context->op;
        const size_t skip = owner.op == Op::kWhile && !owner.regions.empty() && &region == &owner.regions[0] ? 1 : 0;
        for (size_t i = 0; i + skip < op.operands.size() && i < owner.results.size(); ++i) {
          if (IsBranch(owner.op)) Unite(op.operands[i + skip], owner.results[i]);
        }
      } else if (op.op == Op::kExit) {
        if (const ir::Op* block = BlockAt(context, op.IntAttr("depth"))) {
          for (size_t i = 0; i < op.operands.size() && i < block->results.size(); ++i) Unite(op.operands[i], block->results[i]);
        }
      }
      const RegionContext inner_context{&op, context};
      for (const ir::Region& inner : op.regions) Join(inner, &inner_context);
    }
  }

  void RecordAccess(const ir::Op& op, ValueId value) {
    const isa::Type& type = in_.TypeOf(value);
    LayoutOptions::Access access = options_.access ? options_.access(op) : LayoutOptions::Access{};
    const int elem_bytes = isa::StorageBytes(type.elem);
    memory_.push_back({value, access, type.elem_count() * elem_bytes, elem_bytes});
    access_of_[&op] = access;
  }

  // --- homes ---
  int Intern(const LinearLayout& layout) {
    for (size_t i = 0; i < out_.layouts.size(); ++i) {
      if (out_.layouts[i] == layout) return static_cast<int>(i);
    }
    out_.layouts.push_back(layout);
    return static_cast<int>(out_.layouts.size()) - 1;
  }

  LinearLayout Blocked(const isa::Shape& shape, int64_t vector, int axis) const {
    const int rank = static_cast<int>(shape.size());
    std::vector<int> order;
    if (rank == 0) return LinearLayout(shape, {}, Bases(kLaneBits, 0), Bases(Log2(options_.num_warps), 0));
    if (axis < 0) axis = rank - 1;
    order.push_back(axis);
    for (int i = rank - 1; i >= 0; --i) {
      if (i != axis) order.push_back(i);
    }
    // No thread goes without work for the sake of wide accesses.
    const int64_t per_thread = std::max<int64_t>(1, isa::ElemCount(shape) / (32 * options_.num_warps));
    return LinearLayout::BlockedByOrder(shape, std::min(vector, per_thread), options_.num_warps, order);
  }

  bool UsesTensorCores(const ir::Op& dot) const { return options_.tensor_cores && FitsTensorCores(in_, dot); }

  // A sum may be that of several dots, of which only some take fragments.
  std::map<int, std::pair<int, int>>::const_iterator WarpsOfFragments(const ir::Op& dot) {
    const auto found = UsesTensorCores(dot) ? warps_.find(HomeOf(dot.results[0])) : warps_.end();
    return found != warps_.end() && TakesFragments(in_, dot, found->second.first, found->second.second) ? found : warps_.end();
  }

  // b [K, N] is loaded from rows along k: a warp then reads different rows at once if its threads' columns are apart.
  bool RunsAlongK(ValueId b) const {
    int k = 0;
    const ir::Op* op = def_[b];
    for (; op != nullptr && op->op == Op::kPermute; op = def_[op->operands[0]]) k = 1 - k;
    const auto access = op == nullptr ? access_of_.end() : access_of_.find(op);
    return access != access_of_.end() && access->second.axis == k;
  }

  // How the warps share the product: all along m if rows are reduced (softmax stays inside a warp), else towards squares.
  void WarpsOf(const isa::Shape& shape, ValueId cls, int* warps_m, int* warps_n) {
    const int rank = static_cast<int>(shape.size());
    int64_t m = std::max<int64_t>(1, shape[rank - 2] / 16), n = std::max<int64_t>(1, shape[rank - 1] / 16);
    *warps_m = *warps_n = 1;
    const bool rows = std::any_of(reduces_.begin(), reduces_.end(), [&](const ir::Op* op) {
      return Find(op->operands[0]) == cls && op->IntAttr("axis") == rank - 1;
    });
    while (*warps_m * *warps_n < options_.num_warps) {
      const bool grow_m = m > 1 && (rows || n <= 1 || m >= n);
      if (grow_m) {
        *warps_m *= 2;
        m /= 2;
      } else {
        *warps_n *= 2;
        n = std::max<int64_t>(1, n / 2);
      }
    }
  }

  void AssignHomes() {
    std::map<ValueId, std::vector<ValueId>> members;
    for (ValueId id = 0; id < in_.values.size(); ++id) {
      if (Homed(id)) members[Find(id)].push_back(id);
    }
    std::map<ValueId, int> home;  // by class
    for (const ir::Op* dot : dots_) {
      if (!UsesTensorCores(*dot) || !Homed(dot->results[0])) continue;
      const ValueId cls = Find(dot->results[0]);
      const isa::Shape& shape = in_.TypeOf(dot->results[0]).shape;
      int warps_m = 1, warps_n = 1;
      WarpsOf(shape, cls, &warps_m, &warps_n);
      if (options_.warpgroups && options_.num_warps % 4 == 0 && shape[shape.size() - 2] >= 16 * options_.num_warps) {
        warps_m = options_.num_warps;
        warps_n = 1;
      }
      home[cls] = Intern(LinearLayout::MmaAccumulator(shape, warps_m, warps_n));
      warps_[home[cls]] = {warps_m, warps_n};
    }
    for (const ir::Op* dot : dots_) {
      if (!Homed(dot->results[0]) || !FitsThreadTiles(in_, *dot)) continue;
      int& layout = home.try_emplace(Find(dot->results[0]), -1).first->second;
      if (layout < 0) layout = Intern(LinearLayout::ThreadTiles(in_.TypeOf(dot->results[0]).shape, options_.num_warps, RunsAlongK(dot->operands[1])));
    }
    std::vector<ValueId> order;
    for (const auto& [cls, ids] : members) order.push_back(cls);
    std::stable_sort(order.begin(), order.end(), [&](ValueId a, ValueId b) { return in_.TypeOf(a).elem_count() > in_.TypeOf(b).elem_count(); });
    for (ValueId cls : order) {
      if (home.count(cls) == 0) home[cls] = Intern(ChooseHome(cls, home));
    }
    for (const auto& [cls, ids] : members) {
      for (ValueId id : ids) home_[id] = home[cls];
    }
  }

  // The layout of the results of join, cat and split, given that of the operands (of split one that a register bit halves, or else some other one).
  LinearLayout Regrouped(const ir::Op& op, const LinearLayout& operand) const {
    if (op.op == Op::kJoin) return operand.Joined();
    if (op.op == Op::kCat) {
      const int64_t dim = op.IntAttr("dim", 0), rank = static_cast<int64_t>(operand.shape().size());
      return operand.Doubled(static_cast<int>(dim < 0 ? dim + rank : dim));
    }
    if (std::optional<LinearLayout> half = operand.Halved()) return *half;
    isa::Shape shape = operand.shape();
    shape.pop_back();
    return Blocked(shape, 4, -1);
  }

  LinearLayout ChooseHome(ValueId cls, const std::map<ValueId, int>& home) {
    const isa::Shape& shape = in_.TypeOf(cls).shape;
    for (const Tie& tie : ties_) {
      const ValueId operand = Find(tie.operand), result = Find(tie.result);
      if (result == cls && home.count(operand) != 0) {
        const LinearLayout& from = out_.layouts[home.at(operand)];
        if (tie.op->op == Op::kReduce) return from.Sliced(static_cast<int>(tie.op->IntAttr("axis")));
        if (IsRegrouping(tie.op->op)) return Regrouped(*tie.op, from);
        return ResultLayout(*tie.op, shape, from);
      }
      if (operand == cls && home.count(result) != 0 && tie.op->op != Op::kReduce && !IsRegrouping(tie.op->op)) {
        return OperandLayout(*tie.op, shape, out_.layouts[home.at(result)]);
      }
    }
    const Memory* best = nullptr;
    for (const Memory& access : memory_) {
      if (Homed(access.value) && Find(access.value) == cls && (best == nullptr || access.access.vector > best->access.vector)) best = &access;
    }
    if (best == nullptr) return Blocked(shape, 4, -1);
    return Blocked(shape, std::min<int64_t>(best->access.vector, 16 / best->elem_bytes), best->access.axis);
  }

  // --- demands, backwards ---
  void Need(ValueId id, int layout) {
    if (IsTile(in_, id)) demands_[id].insert(layout);
  }
  int HomeOf(ValueId id) const { return home_[id]; }

  // The layout in which an op without results works, or which its results have.
  int StoreLayout(const ir::Op& op) {
    const ValueId value = op.op == Op::kStore ? op.operand(1) : op.operand(0);
    const LayoutOptions::Access access = access_of_[&op];
    const isa::Type& type = in_.TypeOf(value);
    // A fragment is stored through a blocked layout: whole rows instead of pairs of elements.
    if (Homed(value) && warps_.count(home_[value]) == 0) return home_[value];
    return Intern(Blocked(type.shape, std::min<int64_t>(access.vector, 16 / isa::StorageBytes(type.elem)), access.axis));
  }

  void DemandRegion(const ir::Region& region, const RegionContext* context) {
    for (auto it = region.ops.rbegin(); it != region.ops.rend(); ++it) DemandOp(*it, region, context);
  }

  void DemandOp(const ir::Op& op, const ir::Region& region, const RegionContext* context) {
    const ValueId result = op.results.empty() ? kNoValue : op.results[0];
    if (IsBranch(op.op)) {
      const RegionContext inner{&op, context};
      for (auto it = op.regions.rbegin(); it != op.regions.rend(); ++it) DemandRegion(*it, &inner);
      const size_t first = op.op == Op::kFor ? 3 : 0;
      if (op.op == Op::kFor || op.op == Op::kWhile) {
        for (size_t i = 0; i < op.results.size(); ++i) Need(op.operands[first + i], HomeOf(op.results[i]));
      }
      return;
    }
    if (op.op == Op::kYield || op.op == Op::kExit) {
      const ir::Op* target = op.op == Op::kYield ? (context != nullptr ? context->op : nullptr) : BlockAt(context, op.IntAttr("depth"));
      if (target == nullptr || !IsBranch(target->op)) return;
      const size_t skip = op.op == Op::kYield && target->op == Op::kWhile && &region == &target->regions[0] ? 1 : 0;
      for (size_t i = 0; i + skip < op.operands.size() && i < target->results.size(); ++i) Need(op.operands[i + skip], HomeOf(target->results[i]));
      return;
    }
    if (op.op == Op::kStore) {
      if (!IsTile(in_, op.operand(1))) return;
      const int layout = StoreLayout(op);
      for (ValueId operand : op.operands) Need(operand, layout);
      return;
    }
    if (op.op == Op::kDot) {
      Need(op.operands[2], HomeOf(result));
      const auto found = WarpsOfFragments(op);
      for (int i : {0, 1}) {
        const isa::Type& type = in_.TypeOf(op.operands[i]);
        if (found != warps_.end()) {
          const int bits = isa::BitWidth(type.elem.dtype);
          const auto [warps_m, warps_n] = found->second;
          Need(op.operands[i], Intern(i == 0 ? LinearLayout::MmaOperandA(type.shape, bits, warps_m, warps_n)
                                             : LinearLayout::MmaOperandB(type.shape, bits, warps_m, warps_n)));
        } else {
          Need(op.operands[i], Homed(op.operands[i]) ? HomeOf(op.operands[i]) : Intern(Blocked(type.shape, 4, -1)));
        }
      }
      return;
    }
    if (IsPointwise(op.op) || op.op == Op::kLoad || IsAtomic(op.op)) {
      if (!IsTile(in_, result)) return;
      for (int layout : LayoutsOf(result)) {
        for (ValueId operand : op.operands) Need(operand, layout);
      }
      return;
    }
    if ((op.op == Op::kBroadcast || IsRelabel(op.op)) && IsTile(in_, op.operands[0])) {
      if (!IsTile(in_, result)) {
        Need(op.operands[0], Homed(op.operands[0]) ? HomeOf(op.operands[0]) : Intern(Blocked(in_.TypeOf(op.operands[0]).shape, 1, -1)));
        return;
      }
      for (int layout : LayoutsOf(result)) {
        Need(op.operands[0], Intern(OperandLayout(op, in_.TypeOf(op.operands[0]).shape, out_.layouts[layout])));
      }
      return;
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (IsTile(in_, op.operands[i])) Need(op.operands[i], OperandHome(op, i));
    }
  }

  // One layout for all operands of an op: the home of the first that has one.
  int FirstHome(const ir::Op& op) {
    for (ValueId operand : op.operands) {
      if (Homed(operand)) return HomeOf(operand);
    }
    return Intern(Blocked(in_.TypeOf(op.operands[0]).shape, 4, -1));
  }
  int OperandOfReduce(const ir::Op& op) { return FirstHome(op); }

  // The layout in which one of the ops that are neither elementwise nor memory nor dots takes an operand.
  int OperandHome(const ir::Op& op, size_t i) {
    const ValueId operand = op.operands[i];
    switch (op.op) {
      case Op::kScan: case Op::kFlip: return HomeOf(op.results[0]);
      case Op::kReduce: case Op::kJoin: case Op::kCat: case Op::kHistogram: case Op::kDeviceAssert: return FirstHome(op);
      case Op::kGather:
        if (i == 1) return HomeOf(op.results[0]);
        break;
      case Op::kSplit: {
        const LinearLayout whole = out_.layouts[FirstHome(op)];
        return whole.Halved().has_value() ? Intern(whole) : Intern(Regrouped(op, whole).Joined());
      }
      default: break;
    }
    return Homed(operand) ? HomeOf(operand) : Intern(Blocked(in_.TypeOf(operand).shape, 4, -1));
  }
  // The layout that an op gives its results by itself, -1 if it can give any.
  int ResultOf(const ir::Op& op) {
    if (op.operands.empty() || !IsTile(in_, op.operands[0])) return -1;
    if (op.op == Op::kReduce) return Intern(out_.layouts[OperandHome(op, 0)].Sliced(static_cast<int>(op.IntAttr("axis"))));
    if (IsRegrouping(op.op)) return Intern(Regrouped(op, out_.layouts[OperandHome(op, 0)]));
    return -1;
  }

  // A homed value exists in its home; a free one wherever it is asked for.
  std::vector<int> LayoutsOf(ValueId id) const {
    if (Homed(id)) return {home_[id]};
    return std::vector<int>(demands_[id].begin(), demands_[id].end());
  }

  // --- rebuilding ---
  void Rebuild() {
    out_.kernel = in_;
    out_.kernel.body = ir::Region();
    out_.layout_of.assign(in_.values.size(), -1);
    RebuildRegion(in_.body, out_.kernel.body, nullptr);
  }

  ValueId NewValue(const isa::Type& type, const std::string& name, int layout) {
    const ValueId id = out_.kernel.NewValue(type, name);
    out_.layout_of.push_back(layout);
    return id;
  }

  ValueId Mapped(ValueId id, int layout) const {
    if (!IsTile(in_, id)) return id;
    auto found = version_.find({id, layout});
    return found == version_.end() ? id : found->second;
  }

  ir::Op Conversion(ValueId from, ValueId to, int layout, Loc loc) const {
    ir::Op convert;
    convert.op = Op::kConvertLayout;
    convert.operands = {from};
    convert.results = {to};
    convert.SetAttr("layout", out_.layouts[layout].ToString());
    convert.loc = loc;
    return convert;
  }

  // The value now exists in its home; the other layouts that are wanted are made here.
  void Define(ValueId id, ir::Region& into, Loc loc) {
    if (!Homed(id)) return;
    out_.layout_of[id] = home_[id];
    version_[{id, home_[id]}] = id;
    for (int layout : demands_[id]) {
      if (layout == home_[id]) continue;
      const std::string name = in_.values[id].name;
      const ValueId made = NewValue(in_.TypeOf(id), name, layout);
      into.ops.push_back(Conversion(id, made, layout, loc));
      version_[{id, layout}] = made;
    }
  }

  void RebuildRegion(const ir::Region& from, ir::Region& into, const RegionContext* context) {
    into.args = from.args;
    for (ValueId arg : from.args) Define(arg, into, Loc());
    for (const ir::Op& op : from.ops) RebuildOp(op, from, into, context);
  }

  void RebuildOp(const ir::Op& op, const ir::Region& region, ir::Region& into, const RegionContext* context) {
    const ValueId result = op.results.empty() ? kNoValue : op.results[0];
    if (result != kNoValue && IsTile(in_, result) && free_[result]) {
      bool first = true;
      for (int layout : demands_[result]) {
        ir::Op clone = op;
        for (ValueId& operand : clone.operands) {
          if (!IsTile(in_, operand)) continue;
          int wanted = layout;
          if (op.op == Op::kBroadcast || IsRelabel(op.op)) wanted = Intern(OperandLayout(op, in_.TypeOf(operand).shape, out_.layouts[layout]));
          operand = Mapped(operand, wanted);
        }
        ValueId id = result;
        if (first) {
          out_.layout_of[id] = layout;
        } else {
          const std::string name = in_.values[result].name;
          id = NewValue(in_.TypeOf(result), name, layout);
        }
        first = false;
        clone.results = {id};
        version_[{result, layout}] = id;
        into.ops.push_back(std::move(clone));
      }
      return;
    }
    ir::Op copy = op;
    copy.regions.clear();
    for (size_t i = 0; i < copy.operands.size(); ++i) copy.operands[i] = MappedOperand(op, i, region, context);
    const RegionContext inner{&op, context};
    for (const ir::Region& nested : op.regions) {
      copy.regions.emplace_back();
      RebuildRegion(nested, copy.regions.back(), &inner);
    }
    // Where the op itself gives another layout than the home, the results are converted.
    const int given = ResultOf(op);
    std::vector<ir::Op> moves;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ValueId id = op.results[i];
      if (given < 0 || !IsTile(in_, id) || home_[id] == given) continue;
      const std::string name = in_.values[id].name;
      copy.results[i] = NewValue(in_.TypeOf(id), name, given);
      moves.push_back(Conversion(copy.results[i], id, home_[id], op.loc));
    }
    into.ops.push_back(std::move(copy));
    for (ir::Op& move : moves) into.ops.push_back(std::move(move));
    for (ValueId id : op.results) Define(id, into, op.loc);
  }

  ValueId MappedOperand(const ir::Op& op, size_t i, const ir::Region& region, const RegionContext* context) {
    const ValueId operand = op.operands[i];
    if (!IsTile(in_, operand)) return operand;
    const ValueId result = op.results.empty() ? kNoValue : op.results[0];
    int layout = Homed(operand) ? home_[operand] : -1;
    if (op.op == Op::kFor) {
      layout = HomeOf(op.results[i - 3]);
    } else if (op.op == Op::kWhile) {
      layout = HomeOf(op.results[i]);
    } else if (op.op == Op::kYield || op.op == Op::kExit) {
      const ir::Op* target = op.op == Op::kYield ? (context != nullptr ? context->op : nullptr) : BlockAt(context, op.IntAttr("depth"));
      const size_t skip = op.op == Op::kYield && target != nullptr && target->op == Op::kWhile && &region == &target->regions[0] ? 1 : 0;
      if (target != nullptr && IsBranch(target->op) && i >= skip && i - skip < target->results.size()) layout = HomeOf(target->results[i - skip]);
    } else if (op.op == Op::kStore) {
      layout = StoreLayout(op);
    } else if (op.op == Op::kDot) {
      const auto found = WarpsOfFragments(op);
      const isa::Type& type = in_.TypeOf(operand);
      if (i == 2) {
        layout = HomeOf(result);
      } else if (found != warps_.end()) {
        const int bits = isa::BitWidth(type.elem.dtype);
        layout = Intern(i == 0 ? LinearLayout::MmaOperandA(type.shape, bits, found->second.first, found->second.second)
                               : LinearLayout::MmaOperandB(type.shape, bits, found->second.first, found->second.second));
      }
    } else if (IsPointwise(op.op) || op.op == Op::kLoad || IsAtomic(op.op)) {
      if (result != kNoValue && IsTile(in_, result)) layout = home_[result];
    } else if (result != kNoValue && IsTile(in_, result) && (op.op == Op::kBroadcast || IsRelabel(op.op))) {
      layout = Intern(OperandLayout(op, in_.TypeOf(operand).shape, out_.layouts[home_[result]]));
    } else if (op.op != Op::kBroadcast && !IsRelabel(op.op)) {
      layout = OperandHome(op, i);
    }
    if (layout < 0) layout = demands_[operand].empty() ? -1 : *demands_[operand].begin();
    return Mapped(operand, layout);
  }

  const ir::Kernel& in_;
  const LayoutOptions& options_;
  LayoutKernel out_;
  std::vector<const ir::Op*> def_;
  std::vector<bool> free_;
  std::vector<ValueId> parent_;
  std::vector<int> home_;
  std::vector<std::set<int>> demands_;
  std::vector<Tie> ties_;
  std::vector<Memory> memory_;
  std::map<const ir::Op*, LayoutOptions::Access> access_of_;
  std::vector<const ir::Op*> dots_, reduces_;
  std::map<int, std::pair<int, int>> warps_;  // of mma layouts
  std::map<std::pair<ValueId, int>, ValueId> version_;
};

}  // namespace

bool FitsTensorCores(const ir::Kernel& kernel, const ir::Op& dot) {
  const isa::Type &a = kernel.TypeOf(dot.operands[0]), &acc = kernel.TypeOf(dot.results[0]);
  const int rank = acc.rank();
  if (acc.shape[rank - 2] < 16 || acc.shape[rank - 1] < 8) return false;
  const int64_t k = a.shape[rank - 1];
  switch (a.elem.dtype) {
    case isa::DType::kF16: case isa::DType::kBF16: return k >= 16;
    case isa::DType::kI8: case isa::DType::kF8E4M3: case isa::DType::kF8E5M2: return k >= 32;
    case isa::DType::kF32: return k >= 8 && dot.StringAttr("input_precision") != "ieee";
    case isa::DType::kF64: return k >= 4;
    default: return false;
  }
}

bool IsSplit(const ir::Kernel& kernel, const ir::Op& dot) {
  const absl::string_view precision = dot.StringAttr("input_precision");
  return kernel.TypeOf(dot.operands[0]).elem.dtype == isa::DType::kF32 && !precision.empty() && precision != "tf32" && precision != "ieee";
}

bool TakesFragments(const ir::Kernel& kernel, const ir::Op& dot, int warps_m, int warps_n) {
  constexpr int64_t kMostWords = 192;  // with the sum
  const isa::Type &a = kernel.TypeOf(dot.operands[0]), &b = kernel.TypeOf(dot.operands[1]), &acc = kernel.TypeOf(dot.results[0]);
  if (acc.rank() != 2 || (!IsSplit(kernel, dot) && a.elem.dtype != isa::DType::kF64)) return true;
  const int bits = isa::BitWidth(a.elem.dtype);
  return (LinearLayout::MmaOperandA(a.shape, bits, warps_m, warps_n).register_count() + LinearLayout::MmaOperandB(b.shape, bits, warps_m, warps_n).register_count() +
          LinearLayout::MmaAccumulator(acc.shape, warps_m, warps_n).register_count()) * bits / 32 <= kMostWords;
}

bool FitsThreadTiles(const ir::Kernel& kernel, const ir::Op& dot) {
  const isa::Type &a = kernel.TypeOf(dot.operands[0]), &b = kernel.TypeOf(dot.operands[1]), &acc = kernel.TypeOf(dot.results[0]);
  const absl::string_view precision = dot.StringAttr("input_precision");
  if (FitsTensorCores(kernel, dot) || acc.rank() != 2 || precision.empty() || precision == "tf32") return false;
  for (const isa::Type* type : {&a, &b, &acc}) {
    if (type->elem.dtype != isa::DType::kF32) return false;
  }
  return a.shape[1] >= 8 && b.shape[1] >= 8;
}

absl::StatusOr<LayoutKernel> AssignLayouts(const ir::Kernel& kernel, const LayoutOptions& options) { return Assigner(kernel, options).Run(); }

std::string Print(const LayoutKernel& kernel) {
  std::string out;
  for (size_t i = 0; i < kernel.layouts.size(); ++i) absl::StrAppend(&out, "layout L", i, " = ", kernel.layouts[i].ToString(), "\n");
  for (ir::ValueId id = 0; id < kernel.kernel.values.size(); ++id) {
    if (kernel.layout_of[id] >= 0) absl::StrAppend(&out, "value ", id, " L", kernel.layout_of[id], "\n");
  }
  return absl::StrCat(out, ir::Print(kernel.kernel));
}

}  // namespace tilevm::layout
