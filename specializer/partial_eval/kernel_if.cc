// A dynamic `if` or conditional expression: both arms are evaluated into regions and their values merged.
//
// Ensures: if both arms end alike (both go on, both return, ...), the typed `if` yields the merged values and the walk goes on the same way. If they
// end differently, the arm that leaves ends in an exit and the walk goes on with the values of the other one, so that there is always exactly one
// way that falls through.
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

// While results are collected a merged tensor is its index with this bit; the ids are known after the op is emitted.
constexpr ir::ValueId kPlaceholder = 0x80000000u;

struct Arm {
  ir::Region region;
  Outcome end;
};

}  // namespace

// Collects the results of the typed `if`.
class IfMerger {
 public:
  IfMerger(Evaluator::Impl& impl, Arm* arms, bool keep_equal) : impl_(impl), arms_(arms), keep_equal_(keep_equal) {}

  absl::StatusOr<Value> Merge(const Value& a, const Value& b, const Evaluator::Impl::Agreement& agreement) {
    if (a.is(ValueKind::kUnbound)) return a;
    if (b.is(ValueKind::kUnbound)) return b;
    if (keep_equal_ && a.is_static_number() && a.kind() == b.kind() && StaticEqual(a, b)) return a;
    if (IsNumeric(a) && IsNumeric(b)) return MergeTensors(a, b, agreement);
    if (a.kind() != b.kind()) return impl_.Disagree(a, b, agreement);
    Value checked = b;
    switch (a.kind()) {
      case ValueKind::kTuple: {
        if (a.items().size() != b.items().size()) return impl_.Disagree(a, b, agreement);
        auto copy = std::make_shared<ItemsPayload>(*a.As<ItemsPayload>());
        for (size_t i = 0; i < copy->items.size(); ++i) {
          TILEVM_ASSIGN_OR_RETURN(copy->items[i], Merge(a.items()[i], b.items()[i], agreement));
        }
        return Value::Shared(ValueKind::kTuple, std::move(copy));
      }
      case ValueKind::kBlockPtr:
      case ValueKind::kDescriptor: {
        TILEVM_RETURN_IF_ERROR(impl_.Conform(a, checked, agreement));
        std::vector<ir::ValueId> other;
        FlattenTensors(b, other);
        size_t next = 0;
        return MapTensors(a, [&](ir::ValueId id) { return Join(id, other[next++]); });
      }
      default:
        TILEVM_RETURN_IF_ERROR(impl_.Conform(a, checked, agreement));
        return a;
    }
  }

  // The values of the only arm that goes on; what it made becomes results.
  Value Pass(const Value& value, int arm, ir::ValueId first_new) {
    return MapTensors(value, [&](ir::ValueId id) {
      if (id < first_new) return id;
      ids_[arm].push_back(id);
      types_.push_back(impl_.kernel_state().kernel.TypeOf(id));
      return kPlaceholder | static_cast<ir::ValueId>(types_.size() - 1);
    });
  }

  const std::vector<ir::ValueId>& ids(int arm) const { return ids_[arm]; }
  const std::vector<isa::Type>& types() const { return types_; }

 private:
  static bool IsNumeric(const Value& value) { return value.is_tensor() || value.is_static_number(); }

  absl::StatusOr<Value> InArm(int arm, const Value& value, Loc loc) {
    if (value.is_tensor()) return value;
    impl_.kernel_state().builder.PushRegion(&arms_[arm].region);
    absl::StatusOr<Value> bound = impl_.Materialize(value, loc);
    impl_.kernel_state().builder.PopRegion();
    return bound;
  }

  absl::StatusOr<Value> MergeTensors(const Value& a, const Value& b, const Evaluator::Impl::Agreement& agreement) {
    TILEVM_ASSIGN_OR_RETURN(Value x, InArm(0, a, agreement.expected_loc));
    TILEVM_ASSIGN_OR_RETURN(Value y, InArm(1, b, agreement.loc));
    const ir::Kernel& kernel = impl_.kernel_state().kernel;
    if (kernel.TypeOf(x.tensor()) != kernel.TypeOf(y.tensor())) return impl_.Disagree(x, y, agreement);
    return Value::Tensor(Join(x.tensor(), y.tensor()));
  }

  ir::ValueId Join(ir::ValueId x, ir::ValueId y) {
    if (x == y) return x;
    for (size_t i = 0; i < ids_[0].size(); ++i) {  // the same pair twice is one result
      if (ids_[0][i] == x && ids_[1][i] == y) return kPlaceholder | static_cast<ir::ValueId>(i);
    }
    ids_[0].push_back(x);
    ids_[1].push_back(y);
    types_.push_back(impl_.kernel_state().kernel.TypeOf(x));
    return kPlaceholder | static_cast<ir::ValueId>(types_.size() - 1);
  }

  Evaluator::Impl& impl_;
  Arm* arms_;
  const bool keep_equal_;
  std::vector<ir::ValueId> ids_[2];
  std::vector<isa::Type> types_;
};

absl::Status Evaluator::Impl::DynamicIf(Frame& frame, const isa::Inst& inst, const Value& condition, std::optional<Outcome>& outcome) {
  KernelState& state = *kernel_state_;
  TILEVM_ASSIGN_OR_RETURN(ir::ValueId test, ConditionOf(state.elaborator, condition, inst.loc, inst.op));
  const ir::ValueId first_new = static_cast<ir::ValueId>(state.kernel.values.size());
  const size_t names_in_scope = frame.bound.size();
  Arm arms[2];
  for (int i = 0; i < 2; ++i) {
    state.builder.PushRegion(&arms[i].region);
    TILEVM_ASSIGN_OR_RETURN(arms[i].end, RunRegion(frame, inst.regions[i]));
    state.builder.PopRegion();
    frame.bound.resize(names_in_scope);
  }

  const Flow flows[] = {arms[0].end.flow, arms[1].end.flow};
  // Which arm leaves by an exit: none if both end alike.
  const int leaving = flows[0] == flows[1] ? -1 : flows[1] == Flow::kYield || flows[0] != Flow::kYield ? 0 : 1;
  const Flow flow = leaving == 0 ? flows[1] : flows[0];
  const int staying = leaving == 0 ? 1 : 0;
  std::vector<Value> merged;
  IfMerger merger(*this, arms, flow == Flow::kReturn);
  const auto place = [&](int arm, size_t i) {
    const isa::Inst* end = arms[arm].end.terminator;
    const isa::Reg reg = end != nullptr && i < end->operands.size() ? end->operands[i] : isa::kNoReg;
    return std::make_pair(NameOfRegister(frame, reg), LocOfRegister(frame, reg, arms[arm].end.loc));
  };
  if (leaving < 0) {
    if (arms[0].end.values.size() != arms[1].end.values.size())
      return ErrorAt(inst.loc, absl::StatusCode::kInternal, "the arms yield different numbers of values");
    for (size_t i = 0; i < arms[0].end.values.size(); ++i) {
      const auto then_place = place(0, i), else_place = place(1, i);
      const std::string& name = then_place.first.empty() ? else_place.first : then_place.first;
      const bool is_return = flow == Flow::kReturn, is_ternary = inst.op == Op::kTernary;  // a ternary's value is none of the names that its arms read
      TILEVM_ASSIGN_OR_RETURN(Value value, merger.Merge(arms[0].end.values[i], arms[1].end.values[i],
                                                        {is_return || is_ternary ? "" : name,
                                                         is_return ? "at this return" : "in the else branch",
                                                         is_return ? "at the other" : "in the then branch", else_place.second, then_place.second}));
      merged.push_back(std::move(value));
    }
  } else {
    state.builder.PushRegion(&arms[leaving].region);
    TILEVM_RETURN_IF_ERROR(EmitFlowExit(frame, std::move(arms[leaving].end)));
    state.builder.PopRegion();
    for (const Value& value : arms[staying].end.values) merged.push_back(merger.Pass(value, staying, first_new));
  }

  std::vector<ir::ValueId> results;
  const bool empty = leaving < 0 && merger.types().empty() && arms[0].region.ops.empty() && arms[1].region.ops.empty();
  if (!empty) {
    ir::Op op;
    op.op = Op::kIf;
    op.loc = inst.loc;
    op.operands.push_back(test);
    for (int i = 0; i < 2; ++i) {
      if (i != leaving) {
        state.builder.PushRegion(&arms[i].region);
        EmitYield(merger.ids(i), arms[i].end.loc);
        state.builder.PopRegion();
      }
      op.regions.push_back(std::move(arms[i].region));
    }
    results = state.builder.EmitOp(std::move(op), merger.types());
  }
  for (Value& value : merged) {
    value = MapTensors(value, [&](ir::ValueId id) { return (id & kPlaceholder) ? results[id & ~kPlaceholder] : id; });
  }
  if (flow != Flow::kYield) {
    outcome = Outcome{flow, std::move(merged), arms[staying].end.loc, nullptr};
    return absl::OkStatus();
  }
  for (size_t i = 0; i < merged.size(); ++i) {
    const std::string name = inst.op == Op::kTernary ? "" : place(staying, i).first;
    if (merged[i].is(ValueKind::kUnbound)) merged[i] = Value::Unbound(merged[i].As<UnboundPayload>()->name, inst.loc);
    if (merged[i].is_tensor() && merged[i].tensor() >= first_new) {
      std::string& hint = state.kernel.values[merged[i].tensor()].name;
      if (hint.empty()) hint = name;
    }
  }
  if (inst.op == Op::kTernary && !merged.empty() && merged[0].is(ValueKind::kUnbound)) {
    return InvalidAt(inst.loc, "NameError: name '", merged[0].As<UnboundPayload>()->name, "' is not defined here");
  }
  return DefineResults(frame, inst, std::move(merged));
}

}  // namespace tilevm::specializer
