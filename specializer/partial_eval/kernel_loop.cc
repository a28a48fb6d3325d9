// Loops of kernels: `for` over a range becomes the typed loop, `while` too, static_range unrolls.
//
// Carried values: static values must come back unchanged, except that a static number which changes is bound before the loop (a parameter
// specialised to 1 may be reassigned). Only the body tells whether it changes, a dead branch may hold the assignment: the body is evaluated with
// the number static, and once more with it bound if it came back as something else. A name without a value before the loop is local to its body.
// Types are compared once, at the yield. Values that no iteration changes are not carried (their uses see the value from before the loop), so
// that a descriptor or the unchanged parts of a block pointer stay visibly invariant.
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::DType;
using isa::Op;

namespace {

DType LiteralType(absl::int128 value) {
  if (value >= INT32_MIN && value <= INT32_MAX) return DType::kI32;
  if (value >= 0 && value <= UINT32_MAX) return DType::kU32;
  if (value >= INT64_MIN && value <= INT64_MAX) return DType::kI64;
  return DType::kU64;
}

DType PromoteIntegers(DType a, DType b) {
  if (a == b) return a;
  const int wide_a = isa::BitWidth(a), wide_b = isa::BitWidth(b);
  if (isa::IsSigned(a) == isa::IsSigned(b)) return wide_a >= wide_b ? a : b;
  const DType is_unsigned = isa::IsSigned(a) ? b : a, is_signed = isa::IsSigned(a) ? a : b;
  return isa::BitWidth(is_unsigned) >= isa::BitWidth(is_signed) ? is_unsigned : is_signed;
}

// Attributes need names that live for ever.
absl::string_view HintName(absl::string_view name) {
  for (absl::string_view known : {"num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer", "flatten", "warp_specialize", "disable_licm"}) {
    if (name == known) return known;
  }
  return "";
}

bool HasLoopExit(const isa::Region& region, bool nested) {
  for (const isa::Inst& inst : region.body) {
    if (nested && (inst.op == Op::kBreak || inst.op == Op::kContinue)) return true;
    if (inst.op == Op::kFor || inst.op == Op::kWhile) continue;
    for (const isa::Region& inner : inst.regions) {
      if (HasLoopExit(inner, true)) return true;
    }
  }
  return false;
}

void Substitute(ir::Region& region, const absl::flat_hash_map<ir::ValueId, ir::ValueId>& by) {
  for (ir::Op& op : region.ops) {
    for (ir::ValueId& id : op.operands) {
      auto found = by.find(id);
      if (found != by.end()) id = found->second;
    }
    for (ir::Region& inner : op.regions) Substitute(inner, by);
  }
}

template <typename T>
void Erase(T& list, const std::vector<bool>& drop, size_t offset) {
  size_t to = offset;
  for (size_t i = offset; i < list.size(); ++i) {
    if (!drop[i - offset]) list[to++] = list[i];
  }
  list.resize(to);
}

// A static number (deep in tuples) of `expected` is something else in `value`.
bool NumberChanged(const Value& expected, const Value& value) {
  if (expected.is_static_number()) {
    if (value.kind() != expected.kind()) return true;
    const bool both_nan = expected.is(ValueKind::kFloat) && expected.float_value() != expected.float_value() && value.float_value() != value.float_value();
    return !both_nan && !StaticEqual(expected, value);
  }
  if (!expected.is(ValueKind::kTuple) || !value.is(ValueKind::kTuple) || expected.items().size() != value.items().size()) return false;
  for (size_t i = 0; i < expected.items().size(); ++i) {
    if (NumberChanged(expected.items()[i], value.items()[i])) return true;
  }
  return false;
}

// Sets the break and continue targets of a frame for the body of a loop.
class LoopScope {
 public:
  LoopScope(Frame& frame, ExitTarget* break_target, ExitTarget* continue_target)
      : frame_(frame), break_target_(frame.break_target), continue_target_(frame.continue_target), names_(frame.bound.size()) {
    frame.break_target = break_target;
    frame.continue_target = continue_target;
  }
  ~LoopScope() {
    frame_.break_target = break_target_;
    frame_.continue_target = continue_target_;
    if (frame_.bound.size() > names_) frame_.bound.resize(names_);
  }

 private:
  Frame& frame_;
  ExitTarget* break_target_;
  ExitTarget* continue_target_;
  size_t names_;
};

}  // namespace

void LoosenChanged(std::vector<bool>& bound, size_t place, const Value& expected, Value& value) {
  if (!NumberChanged(expected, value)) return;
  bound[place] = true;  // the loop is evaluated again; until then the value passes as unchanged
  value = expected;
}

// The carried values of one dynamic loop.
class CarriedValues {
 public:
  // bound: the values (by place) whose static numbers are bound; gets more when a number turns out to change.
  CarriedValues(Evaluator::Impl& impl, Frame& frame, const isa::Inst& inst, std::vector<bool>& bound)
      : impl_(impl), frame_(frame), inst_(inst), bound_(bound) {}

  absl::Status Init(absl::Span<const isa::Reg> regs) {
    for (size_t place = 0; place < regs.size(); ++place) {
      const isa::Reg reg = regs[place];
      const std::string name = impl_.NameOfRegister(frame_, reg);
      locs_.push_back(impl_.LocOfRegister(frame_, reg, inst_.loc));
      Value value = Unboxed(impl_.Raw(frame_, reg));
      if (bound_[place]) {
        TILEVM_ASSIGN_OR_RETURN(value, impl_.Materialize(value, inst_.loc));
      }
      const size_t before = init_ids_.size();
      FlattenTensors(value, init_ids_);
      for (size_t i = before; i < init_ids_.size(); ++i) hints_.push_back(name);
      names_.push_back(name);
      values_.push_back(std::move(value));
    }
    for (ir::ValueId id : init_ids_) types_.push_back(impl_.kernel_state().kernel.TypeOf(id));
    return absl::OkStatus();
  }

  // The same values on other tensors.
  std::vector<Value> On(absl::Span<const ir::ValueId> ids) const {
    std::vector<Value> out;
    size_t next = 0;
    for (const Value& value : values_) out.push_back(MapTensors(value, [&](ir::ValueId) { return ids[next++]; }));
    return out;
  }

  std::vector<ir::ValueId> NewArgs() {
    std::vector<ir::ValueId> args;
    for (size_t i = 0; i < types_.size(); ++i) args.push_back(impl_.kernel_state().builder.NewValue(types_[i], hints_[i]));
    return args;
  }

  // Checks the values at the end of a region and gives their tensors.
  absl::StatusOr<std::vector<ir::ValueId>> Check(Outcome& end, size_t skip, absl::string_view here) {
    std::vector<ir::ValueId> ids;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (i + skip >= end.values.size()) return ErrorAt(inst_.loc, absl::StatusCode::kInternal, "a loop's region yields too few values");
      const isa::Inst* terminator = end.terminator;
      const isa::Reg reg = terminator != nullptr && i + skip < terminator->operands.size() ? terminator->operands[i + skip] : isa::kNoReg;
      const std::string& name = names_[i].empty() ? impl_.NameOfRegister(frame_, reg) : names_[i];
      LoosenChanged(bound_, i, values_[i], end.values[i + skip]);
      TILEVM_RETURN_IF_ERROR(impl_.Conform(values_[i], end.values[i + skip],
                                           {name, here, "before the loop", impl_.LocOfRegister(frame_, reg, end.loc), locs_[i]}));
      FlattenTensors(end.values[i + skip], ids);
    }
    return ids;
  }

  void Shape(ExitTarget& target) const {
    target.has_shape = true;
    target.skeleton = values_;
    target.names = names_;
    target.bound = &bound_;
    target.there = "before the loop";
    target.loc = locs_.empty() ? inst_.loc : locs_[0];
  }

  // Drops the values that every region gives back as it got them. skip: leading operands and arguments that are not carried.
  void DropInvariant(ir::Op& op, size_t operand_skip, std::vector<ir::ValueId>& results_of_dropped) {
    const size_t count = types_.size();
    std::vector<bool> drop(count, true);
    for (const ir::Region& region : op.regions) {
      const ir::Op& last = region.ops.back();
      for (size_t i = 0; i < count; ++i) {
        const size_t args_skip = region.args.size() - count, yield_skip = last.operands.size() - count;
        if (last.op != Op::kYield || last.operands[yield_skip + i] != region.args[args_skip + i]) drop[i] = false;
      }
    }
    results_of_dropped.assign(count, ir::kNoValue);
    absl::flat_hash_map<ir::ValueId, ir::ValueId> by;
    for (size_t i = 0; i < count; ++i) {
      if (!drop[i]) continue;
      results_of_dropped[i] = op.operands[operand_skip + i];
      for (const ir::Region& region : op.regions) by[region.args[region.args.size() - count + i]] = results_of_dropped[i];
    }
    if (by.empty()) return;
    for (ir::Region& region : op.regions) {
      Substitute(region, by);
      Erase(region.ops.back().operands, drop, region.ops.back().operands.size() - count);
      Erase(region.args, drop, region.args.size() - count);
    }
    Erase(op.operands, drop, operand_skip);
  }

  // Emits the loop; its results, dropped ones included.
  std::vector<ir::ValueId> Emit(ir::Op op, size_t operand_skip, bool may_drop) {
    std::vector<ir::ValueId> all(types_.size(), ir::kNoValue);
    if (may_drop) DropInvariant(op, operand_skip, all);
    std::vector<isa::Type> types;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] == ir::kNoValue) types.push_back(types_[i]);
    }
    KernelState& state = impl_.kernel_state();
    const std::vector<ir::ValueId> results = state.builder.EmitOp(std::move(op), types);
    size_t next = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] != ir::kNoValue) continue;
      all[i] = results[next++];
      state.kernel.values[all[i]].name = hints_[i];
    }
    return all;
  }

  const std::vector<ir::ValueId>& init_ids() const { return init_ids_; }

 private:
  Evaluator::Impl& impl_;
  Frame& frame_;
  const isa::Inst& inst_;
  std::vector<bool>& bound_;
  std::vector<Value> values_;  // on the tensors before the loop
  std::vector<std::string> names_;
  std::vector<Loc> locs_;
  std::vector<ir::ValueId> init_ids_;
  std::vector<isa::Type> types_;
  std::vector<std::string> hints_;  // by tensor
};

absl::Status Evaluator::Impl::DynamicFor(Frame& frame, const isa::Inst& inst, const RangePayload& range, std::optional<Outcome>&) {
  KernelState& state = *kernel_state_;
  const Value* bounds[] = {&range.start, &range.stop, &range.step};
  const char* names[] = {"start", "stop", "step"};
  DType type = DType::kI32;
  for (int i = 0; i < 3; ++i) {
    DType bound = DType::kI32;
    if (bounds[i]->is_tensor()) {
      const isa::Type& given = state.kernel.TypeOf(bounds[i]->tensor());
      if (!given.is_scalar() || given.elem.pointer || !isa::IsInteger(given.elem.dtype)) {
        return InvalidAt(inst.loc, "for: the ", names[i], " of its range is ", isa::ToString(given), ", wanted a scalar integer");
      }
      bound = given.elem.dtype;
    } else if (bounds[i]->is(ValueKind::kInt) || bounds[i]->is(ValueKind::kBool)) {
      bound = LiteralType(bounds[i]->int_value());
    } else {
      return InvalidAt(inst.loc, "for: the ", names[i], " of its range is ", Describe(*bounds[i]), ", wanted an integer");
    }
    type = i == 0 ? bound : PromoteIntegers(type, bound);
  }
  if (range.step.is(ValueKind::kInt) && range.step.int_value() == 0) return InvalidAt(inst.loc, "ValueError: range() arg 3 must not be zero");

  ir::Op loop;
  loop.op = Op::kFor;
  loop.loc = inst.loc;
  for (const Value* bound : bounds) {
    TILEVM_ASSIGN_OR_RETURN(Value cast, CastTo(state.elaborator, *bound, type, inst.loc));
    loop.operands.push_back(cast.tensor());
  }
  if (range.step.is(ValueKind::kInt) && range.step.int_value() < 0) loop.attrs.push_back({"step", static_cast<int64_t>(range.step.int_value())});
  for (const auto& [name, value] : range.hints) {
    const absl::string_view hint = HintName(name);
    if (hint.empty() || value.absent_or_none()) continue;
    if (value.is(ValueKind::kBool)) loop.attrs.push_back({hint, value.bool_value()});
    if (value.is(ValueKind::kInt)) loop.attrs.push_back({hint, static_cast<int64_t>(value.int_value())});
  }

  return CarryLoop(frame, inst, absl::MakeSpan(inst.operands).subspan(1),
                   [&](CarriedValues& carried, ExitTarget& break_target, ExitTarget& continue_target) -> absl::StatusOr<std::vector<ir::ValueId>> {
                     ir::Op op = loop;
                     op.operands.insert(op.operands.end(), carried.init_ids().begin(), carried.init_ids().end());
                     ir::Region body;
                     const ir::ValueId induction = state.builder.NewValue(isa::ScalarType(type));
                     const std::vector<ir::ValueId> args = carried.NewArgs();
                     body.args.push_back(induction);
                     body.args.insert(body.args.end(), args.begin(), args.end());
                     Define(frame, inst.regions[0].args[0], Value::Tensor(induction));
                     std::vector<Value> inside = carried.On(args);
                     for (size_t i = 0; i < inside.size(); ++i) Define(frame, inst.regions[0].args[i + 1], std::move(inside[i]));
                     state.builder.PushRegion(&body);
                     TILEVM_ASSIGN_OR_RETURN(
                         Outcome end, InBlock(frame, continue_target, Flow::kContinue, true, inst.loc, [&] { return RunRegion(frame, inst.regions[0]); }));
                     TILEVM_ASSIGN_OR_RETURN(std::vector<ir::ValueId> yielded, carried.Check(end, 0, "at the end of the loop's body"));
                     EmitYield(yielded, end.loc);
                     state.builder.PopRegion();
                     op.regions.push_back(std::move(body));
                     return carried.Emit(std::move(op), 3, !break_target.used && !continue_target.used);
                   });
}

absl::Status Evaluator::Impl::CarryLoop(
    Frame& frame, const isa::Inst& inst, absl::Span<const isa::Reg> inits,
    absl::FunctionRef<absl::StatusOr<std::vector<ir::ValueId>>(CarriedValues&, ExitTarget& break_target, ExitTarget& continue_target)> emit) {
  KernelState& state = *kernel_state_;
  std::vector<bool> bound(inits.size(), false);
  while (true) {
    const std::vector<bool> before = bound;
    const size_t ops_before = state.builder.region()->ops.size();
    const std::optional<ExitTarget> returns = frame.return_target != nullptr ? std::optional<ExitTarget>(*frame.return_target) : std::nullopt;
    CarriedValues carried(*this, frame, inst, bound);
    TILEVM_RETURN_IF_ERROR(carried.Init(inits));
    ExitTarget break_target, continue_target;
    carried.Shape(break_target);
    carried.Shape(continue_target);
    break_target.here = "at this break";
    continue_target.here = "at the end of the loop's body";
    const auto emit_loop = [&]() -> absl::StatusOr<Outcome> {
      LoopScope scope(frame, &break_target, &continue_target);
      TILEVM_ASSIGN_OR_RETURN(std::vector<ir::ValueId> results, emit(carried, break_target, continue_target));
      return Outcome{Flow::kYield, carried.On(results), inst.loc, nullptr};
    };
    TILEVM_ASSIGN_OR_RETURN(Outcome end, InBlock(frame, break_target, Flow::kYield, true, inst.loc, emit_loop));
    if (bound != before) {  // a static number changes: once more, with it bound
      state.builder.region()->ops.resize(ops_before);
      if (returns.has_value()) *frame.return_target = *returns;
      continue;
    }
    for (Value& value : end.values) {
      if (value.is(ValueKind::kUnbound)) value = Value::Unbound(value.As<UnboundPayload>()->name, inst.loc);
    }
    return DefineResults(frame, inst, std::move(end.values));
  }
}

absl::Status Evaluator::Impl::DynamicWhile(Frame& frame, const isa::Inst& inst, std::optional<Outcome>&) {
  KernelState& state = *kernel_state_;
  return CarryLoop(frame, inst, inst.operands,
                   [&](CarriedValues& carried, ExitTarget& break_target, ExitTarget& continue_target) -> absl::StatusOr<std::vector<ir::ValueId>> {
                     ir::Op loop;
                     loop.op = Op::kWhile;
                     loop.loc = inst.loc;
                     loop.operands.assign(carried.init_ids().begin(), carried.init_ids().end());
                     for (int i = 0; i < 2; ++i) {
                       ir::Region region;
                       const std::vector<ir::ValueId> args = carried.NewArgs();
                       region.args = args;
                       std::vector<Value> inside = carried.On(args);
                       for (size_t k = 0; k < inside.size(); ++k) Define(frame, inst.regions[i].args[k], std::move(inside[k]));
                       state.builder.PushRegion(&region);
                       std::vector<ir::ValueId> yielded;
                       if (i == 0) {
                         TILEVM_ASSIGN_OR_RETURN(Outcome test, RunRegion(frame, inst.regions[0]));
                         if (test.values.empty()) return InvalidAt(inst.loc, "while: the condition has no value");
                         ir::ValueId condition = ir::kNoValue;
                         if (IsTyped(test.values[0])) {
                           TILEVM_ASSIGN_OR_RETURN(condition, ConditionOf(state.elaborator, test.values[0], inst.loc, Op::kWhile));
                         } else {
                           TILEVM_ASSIGN_OR_RETURN(bool truth, Truth(test.values[0], inst.loc));
                           condition = state.builder.ConstInt(DType::kI1, truth ? 1 : 0, inst.loc);
                         }
                         TILEVM_ASSIGN_OR_RETURN(yielded, carried.Check(test, 1, "after the loop's condition"));
                         yielded.insert(yielded.begin(), condition);
                         EmitYield(yielded, test.loc);
                       } else {
                         TILEVM_ASSIGN_OR_RETURN(
                             Outcome end, InBlock(frame, continue_target, Flow::kContinue, true, inst.loc, [&] { return RunRegion(frame, inst.regions[1]); }));
                         TILEVM_ASSIGN_OR_RETURN(yielded, carried.Check(end, 0, "at the end of the loop's body"));
                         EmitYield(yielded, end.loc);
                       }
                       state.builder.PopRegion();
                       loop.regions.push_back(std::move(region));
                     }
                     return carried.Emit(std::move(loop), 0, !break_target.used && !continue_target.used);
                   });
}

absl::Status Evaluator::Impl::StaticFor(Frame& frame, const isa::Inst& inst, const std::vector<Value>& items, std::optional<Outcome>& outcome) {
  const isa::Region& body = inst.regions[0];
  const bool blocks = frame.kernel && HasLoopExit(body, false);
  std::vector<Value> carried = RawAll(frame, absl::MakeSpan(inst.operands).subspan(1));
  ExitTarget break_target, continue_target;
  break_target.here = "at this break";
  break_target.there = "at the first break";
  const auto unroll = [&]() -> absl::StatusOr<Outcome> {
    for (const Value& item : items) {
      TILEVM_RETURN_IF_ERROR(CountStep(inst.loc));
      Define(frame, body.args[0], item);
      for (size_t k = 0; k < carried.size(); ++k) Define(frame, body.args[k + 1], std::move(carried[k]));
      Outcome end;
      if (blocks) {
        continue_target = ExitTarget();
        continue_target.here = "at the end of the loop's body";
        continue_target.there = "at the first continue";
        LoopScope scope(frame, &break_target, &continue_target);
        TILEVM_ASSIGN_OR_RETURN(end, InBlock(frame, continue_target, Flow::kContinue, false, inst.loc, [&] { return RunRegion(frame, body); }));
      } else {
        TILEVM_ASSIGN_OR_RETURN(end, RunRegion(frame, body));
      }
      if (end.flow == Flow::kReturn) return end;
      carried = std::move(end.values);
      if (end.flow == Flow::kBreak) break;
    }
    return Outcome{Flow::kYield, std::move(carried), inst.loc, nullptr};
  };
  Outcome end;
  if (blocks) {
    TILEVM_ASSIGN_OR_RETURN(end, InBlock(frame, break_target, Flow::kYield, false, inst.loc, unroll));
  } else {
    TILEVM_ASSIGN_OR_RETURN(end, unroll());
  }
  if (end.flow == Flow::kReturn) {
    outcome = std::move(end);
    return absl::OkStatus();
  }
  return DefineResults(frame, inst, std::move(end.values));
}

}  // namespace tilevm::specializer
