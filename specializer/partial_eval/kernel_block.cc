// Exits and blocks: how return, break and continue under a dynamic condition leave the region that they are in.
//
// While the kernel is built a block carries the attribute "token" and an exit that token as its "depth"; a block that no exit uses is dissolved
// as soon as it is finished. ResolveExits counts the depths once at the end.
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::Op;

bool IsTyped(const Value& value) {
  return value.is(ValueKind::kTensor) || value.is(ValueKind::kBlockPtr) || value.is(ValueKind::kDescriptor);
}

bool ContainsTyped(const Value& value) {
  if (IsTyped(value)) return true;
  if (value.is(ValueKind::kConstexpr)) return ContainsTyped(value.As<BoxPayload>()->inner);
  if (!value.is(ValueKind::kTuple) && !value.is(ValueKind::kList)) return false;
  for (const Value& item : value.items()) {
    if (ContainsTyped(item)) return true;
  }
  return false;
}

void FlattenTensors(const Value& value, std::vector<ir::ValueId>& ids) {
  MapTensors(value, [&ids](ir::ValueId id) {
    ids.push_back(id);
    return id;
  });
}

Value MapTensors(const Value& value, absl::FunctionRef<ir::ValueId(ir::ValueId)> map) {
  const auto map_all = [&map](auto& values) {
    for (Value& item : values) item = MapTensors(item, map);
  };
  switch (value.kind()) {
    case ValueKind::kTensor: return Value::Tensor(map(value.tensor()));
    case ValueKind::kTuple:
    case ValueKind::kList: {
      if (!ContainsTyped(value)) return value;
      auto copy = std::make_shared<ItemsPayload>(*value.As<ItemsPayload>());
      map_all(copy->items);
      return Value::Shared(value.kind(), std::move(copy));
    }
    case ValueKind::kBlockPtr: {
      auto copy = std::make_shared<BlockPtrPayload>(*value.As<BlockPtrPayload>());
      copy->base = MapTensors(copy->base, map);
      map_all(copy->shape);
      map_all(copy->strides);
      map_all(copy->offsets);
      return Value::Shared(value.kind(), std::move(copy));
    }
    case ValueKind::kDescriptor: {
      auto copy = std::make_shared<DescriptorPayload>(*value.As<DescriptorPayload>());
      copy->base = MapTensors(copy->base, map);
      map_all(copy->shape);
      map_all(copy->strides);
      return Value::Shared(value.kind(), std::move(copy));
    }
    default: return value;
  }
}

std::string Evaluator::Impl::Describe(const Value& value) const {
  switch (value.kind()) {
    case ValueKind::kNone: return "None";
    case ValueKind::kDType:
    case ValueKind::kPointerType:
    case ValueKind::kString: return Repr(value);
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kFloat: return absl::StrCat("constexpr ", Repr(value));
    case ValueKind::kTuple: {
      std::string out = "(";
      for (const Value& item : value.items()) absl::StrAppend(&out, out.size() > 1 ? ", " : "", Describe(item));
      return out + ")";
    }
    default: return NameOfType(value);
  }
}

absl::StatusOr<Value> Evaluator::Impl::Materialize(const Value& value, Loc loc) {
  if (value.is_static_number()) return BindValue(kernel_state_->elaborator, value, "", loc);
  if (!value.is(ValueKind::kTuple)) return value;
  auto copy = std::make_shared<ItemsPayload>(*value.As<ItemsPayload>());
  for (Value& item : copy->items) {
    TILEVM_ASSIGN_OR_RETURN(item, Materialize(item, loc));
  }
  return Value::Shared(ValueKind::kTuple, std::move(copy));
}

absl::Status Evaluator::Impl::Disagree(const Value& expected, const Value& value, const Agreement& a) const {
  absl::Status status = InvalidAt(a.loc, a.name.empty() ? "the value" : absl::StrCat("'", a.name, "'"), " is ", Describe(value), " ", a.here, ", but ",
                                  Describe(expected), " ", a.there);
  return WithNote(std::move(status), a.expected_loc, absl::StrCat(Describe(expected), " here"));
}

absl::Status Evaluator::Impl::Conform(const Value& expected, Value& value, const Agreement& agreement) {
  if (expected.is(ValueKind::kUnbound)) {  // local to the region: nothing leaves
    value = expected;
    return absl::OkStatus();
  }
  if (value.is(ValueKind::kUnbound)) {
    return InvalidAt(agreement.loc, "name '", value.As<UnboundPayload>()->name, "' has no value ", agreement.here);
  }
  if (expected.is_tensor()) {
    TILEVM_ASSIGN_OR_RETURN(value, Materialize(value, agreement.loc));
    if (!value.is_tensor() || kernel_state_->kernel.TypeOf(value.tensor()) != kernel_state_->kernel.TypeOf(expected.tensor())) {
      return Disagree(expected, value, agreement);
    }
    return absl::OkStatus();
  }
  if (expected.kind() != value.kind()) return Disagree(expected, value, agreement);
  if (expected.is_static_number() && expected.is(ValueKind::kFloat) && expected.float_value() != expected.float_value()) {
    return value.float_value() != value.float_value() ? absl::OkStatus() : Disagree(expected, value, agreement);  // NaN is itself here
  }
  const auto conform_all = [&](absl::Span<const Value> wanted, absl::Span<Value> given) -> absl::Status {
    if (wanted.size() != given.size()) return Disagree(expected, value, agreement);
    for (size_t i = 0; i < wanted.size(); ++i) TILEVM_RETURN_IF_ERROR(Conform(wanted[i], given[i], agreement));
    return absl::OkStatus();
  };
  switch (expected.kind()) {
    case ValueKind::kTuple: {
      auto copy = std::make_shared<ItemsPayload>(*value.As<ItemsPayload>());
      TILEVM_RETURN_IF_ERROR(conform_all(expected.items(), absl::MakeSpan(copy->items)));
      value = Value::Shared(ValueKind::kTuple, std::move(copy));
      return absl::OkStatus();
    }
    case ValueKind::kBlockPtr: {
      const auto *x = expected.As<BlockPtrPayload>(), *y = value.As<BlockPtrPayload>();
      if (x->block_shape != y->block_shape || x->offsets.size() != y->offsets.size() ||
          kernel_state_->kernel.TypeOf(x->base.tensor()) != kernel_state_->kernel.TypeOf(y->base.tensor())) {
        return Disagree(expected, value, agreement);
      }
      return absl::OkStatus();
    }
    case ValueKind::kDescriptor: {
      const auto *x = expected.As<DescriptorPayload>(), *y = value.As<DescriptorPayload>();
      if (x->block_shape != y->block_shape || x->pad_nan != y->pad_nan || x->shape.size() != y->shape.size() ||
          kernel_state_->kernel.TypeOf(x->base.tensor()) != kernel_state_->kernel.TypeOf(y->base.tensor())) {
        return Disagree(expected, value, agreement);
      }
      return absl::OkStatus();
    }
    default:
      if (StaticEqual(expected, value)) return absl::OkStatus();
      return Disagree(expected, value, agreement);
  }
}

void Evaluator::Impl::EmitYield(absl::Span<const ir::ValueId> ids, Loc loc) { kernel_state_->builder.EmitVoid(Op::kYield, ids, loc); }

absl::Status Evaluator::Impl::EmitExit(ExitTarget& target, std::vector<Value> values, Loc loc) {
  if (target.has_shape && target.skeleton.size() != values.size()) {
    return ErrorAt(loc, absl::StatusCode::kInternal, "partial_eval: an exit with ", values.size(), " values, wanted ", target.skeleton.size());
  }
  std::vector<ir::ValueId> ids;
  for (size_t i = 0; i < values.size(); ++i) {
    if (target.has_shape) {
      const absl::string_view name = i < target.names.size() ? absl::string_view(target.names[i]) : "";
      if (target.bound != nullptr) LoosenChanged(*target.bound, i, target.skeleton[i], values[i]);
      TILEVM_RETURN_IF_ERROR(Conform(target.skeleton[i], values[i], {name, target.here, target.there, loc, target.loc}));
    } else {
      TILEVM_ASSIGN_OR_RETURN(values[i], Materialize(values[i], loc));
    }
    FlattenTensors(values[i], ids);
  }
  if (!target.has_shape) {
    target.skeleton = std::move(values);
    target.has_shape = true;
    target.loc = loc;
  }
  target.used = true;
  const ir::NamedAttr attrs[] = {{"depth", int64_t{target.token}}};
  kernel_state_->builder.EmitVoid(Op::kExit, ids, loc, attrs);
  return absl::OkStatus();
}

absl::Status Evaluator::Impl::EmitFlowExit(Frame& frame, Outcome end) {
  ExitTarget* target = end.flow == Flow::kReturn ? frame.return_target : end.flow == Flow::kBreak ? frame.break_target : frame.continue_target;
  if (target == nullptr) return ErrorAt(end.loc, absl::StatusCode::kInternal, "partial_eval: an exit without a block to leave");
  return EmitExit(*target, std::move(end.values), end.loc);
}

absl::StatusOr<Outcome> Evaluator::Impl::InBlock(Frame& frame, ExitTarget& target, Flow natural, bool always_natural, Loc loc,
                                                 absl::FunctionRef<absl::StatusOr<Outcome>()> body) {
  KernelState& state = *kernel_state_;
  target.token = state.next_token++;
  ir::Region region;
  state.builder.PushRegion(&region);
  TILEVM_ASSIGN_OR_RETURN(Outcome end, body());
  const bool ends_naturally = end.flow == natural || end.flow == Flow::kYield;
  if (!target.used && (ends_naturally || !always_natural)) {
    state.builder.PopRegion();
    std::vector<ir::Op>& ops = state.builder.region()->ops;
    ops.insert(ops.end(), std::make_move_iterator(region.ops.begin()), std::make_move_iterator(region.ops.end()));
    return end;
  }
  if (ends_naturally) {
    std::vector<ir::ValueId> ids;
    for (size_t i = 0; i < end.values.size(); ++i) {
      const absl::string_view name = i < target.names.size() ? absl::string_view(target.names[i]) : "";
      if (i >= target.skeleton.size()) return ErrorAt(loc, absl::StatusCode::kInternal, "partial_eval: a block ends with too many values");
      if (target.bound != nullptr) LoosenChanged(*target.bound, i, target.skeleton[i], end.values[i]);
      TILEVM_RETURN_IF_ERROR(Conform(target.skeleton[i], end.values[i], {name, target.here, target.there, end.loc, target.loc}));
      FlattenTensors(end.values[i], ids);
    }
    EmitYield(ids, end.loc);
  } else {
    TILEVM_RETURN_IF_ERROR(EmitFlowExit(frame, std::move(end)));
  }
  state.builder.PopRegion();

  std::vector<ir::ValueId> parts;
  for (const Value& value : target.skeleton) FlattenTensors(value, parts);
  std::vector<isa::Type> types;
  for (ir::ValueId id : parts) types.push_back(state.kernel.TypeOf(id));
  ir::Op block;
  block.op = Op::kBlock;
  block.loc = loc;
  block.attrs.push_back({"token", int64_t{target.token}});
  block.regions.push_back(std::move(region));
  const std::vector<ir::ValueId> results = state.builder.EmitOp(std::move(block), types);
  Outcome out;
  out.flow = natural;
  out.loc = loc;
  size_t next = 0;
  for (const Value& value : target.skeleton) {
    out.values.push_back(MapTensors(value, [&](ir::ValueId) { return results[next++]; }));
  }
  return out;
}

absl::Status Evaluator::Impl::ResolveExits(ir::Region& region, std::vector<int64_t>& blocks) const {
  for (ir::Op& op : region.ops) {
    if (op.op == Op::kExit) {
      const int64_t token = op.IntAttr("depth", 0);
      int64_t depth = -1;
      for (size_t i = blocks.size(); i-- > 0;) {
        if (blocks[i] == token) {
          depth = static_cast<int64_t>(blocks.size() - 1 - i);
          break;
        }
      }
      if (depth < 0) return ErrorAt(op.loc, absl::StatusCode::kInternal, "partial_eval: an exit whose block is gone");
      op.SetAttr("depth", depth);
      continue;
    }
    const bool block = op.op == Op::kBlock;
    if (block) {
      blocks.push_back(op.IntAttr("token", 0));
      op.attrs.clear();
    }
    for (ir::Region& inner : op.regions) TILEVM_RETURN_IF_ERROR(ResolveExits(inner, blocks));
    if (block) blocks.pop_back();
  }
  return absl::OkStatus();
}

}  // namespace tilevm::specializer
