// Control ops where everything is static: one arm is taken, loops run, exceptions travel. What depends on a typed value goes to kernel_if.cc and
// kernel_loop.cc.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/exceptions.h"
#include "specializer/partial_eval/generator.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

// What a comprehension makes (the front end's numbers).
enum Collected : uint32_t { kList, kDict, kSet, kGenerator };

// Triton insists: the test of an `if` or a conditional expression in a kernel is bool, int or None. A string or a float is a slip.
absl::Status CheckKernelTest(const Value& value, Loc loc) {
  if (value.is(ValueKind::kBool) || value.is(ValueKind::kInt) || value.is(ValueKind::kNone)) return absl::OkStatus();
  return InvalidAt(loc, "the condition is constexpr, but a ", TypeName(value, nullptr), " (", Repr(value), "); in a kernel it must be bool, int or None");
}

}  // namespace

absl::StatusOr<Value> Evaluator::Impl::RunValueRegion(Frame& frame, const isa::Region& region) {
  TILEVM_ASSIGN_OR_RETURN(Outcome outcome, RunRegion(frame, region));
  if (outcome.flow != Flow::kYield || outcome.values.empty()) return InvalidAt(outcome.loc, "the expression has no value");
  if (outcome.terminator != nullptr && !outcome.terminator->operands.empty()) return Read(frame, outcome.terminator->operands[0], outcome.loc);
  return outcome.values[0];
}

absl::Status Evaluator::Impl::RunIf(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome) {
  TILEVM_ASSIGN_OR_RETURN(Value condition, Read(frame, inst.operands[0], inst.loc));
  if (frame.kernel) {
    if (IsTyped(condition)) return DynamicIf(frame, inst, condition, outcome);
    TILEVM_RETURN_IF_ERROR(CheckKernelTest(condition, inst.loc));
  }
  TILEVM_ASSIGN_OR_RETURN(bool taken, Truth(condition, inst.loc));
  TILEVM_ASSIGN_OR_RETURN(Outcome arm, RunRegion(frame, inst.regions[taken ? 0 : 1]));
  if (arm.flow == Flow::kYield) return DefineResults(frame, inst, std::move(arm.values));
  outcome = std::move(arm);
  return absl::OkStatus();
}

absl::Status Evaluator::Impl::RunTernary(Frame& frame, const isa::Inst& inst) {
  TILEVM_ASSIGN_OR_RETURN(Value condition, Read(frame, inst.operands[0], inst.loc));
  if (frame.kernel) {
    if (IsTyped(condition)) {
      std::optional<Outcome> outcome;
      return DynamicIf(frame, inst, condition, outcome);
    }
    TILEVM_RETURN_IF_ERROR(CheckKernelTest(condition, inst.loc));
  }
  TILEVM_ASSIGN_OR_RETURN(bool taken, Truth(condition, inst.loc));
  TILEVM_ASSIGN_OR_RETURN(Value value, RunValueRegion(frame, inst.regions[taken ? 0 : 1]));
  return DefineResults(frame, inst, {std::move(value)});
}

absl::Status Evaluator::Impl::RunAndOr(Frame& frame, const isa::Inst& inst) {
  const bool is_and = inst.op == Op::kAnd;
  TILEVM_ASSIGN_OR_RETURN(Value left, Read(frame, inst.operands[0], inst.loc));
  if (!left.is_tensor()) {
    TILEVM_ASSIGN_OR_RETURN(bool truth, Truth(left, inst.loc));
    if (truth != is_and) return DefineResults(frame, inst, {std::move(left)});
    TILEVM_ASSIGN_OR_RETURN(Value right, RunValueRegion(frame, inst.regions[0]));
    return DefineResults(frame, inst, {std::move(right)});
  }
  // A dynamic left side: the right one is evaluated whatever it is, as Triton does; a static right side is decided here.
  TILEVM_ASSIGN_OR_RETURN(Value right, RunValueRegion(frame, inst.regions[0]));
  if (!right.is_tensor()) {
    TILEVM_ASSIGN_OR_RETURN(bool truth, Truth(right, inst.loc));
    return DefineResults(frame, inst, {truth != is_and ? std::move(right) : std::move(left)});
  }
  for (const Value* side : {&left, &right}) {
    const isa::Type& type = kernel_state_->kernel.TypeOf(side->tensor());
    if (type.elem.pointer || type.elem.dtype != isa::DType::kI1) {
      return InvalidAt(inst.loc, "`", is_and ? "and" : "or", "`: the ", side == &left ? "left" : "right", " side is ", isa::ToString(type),
                       ", wanted int1 (compare it first, or use ", is_and ? "&" : "|", ")");
    }
  }
  const Value operands[] = {left, right};
  TILEVM_ASSIGN_OR_RETURN(Value value, Elaborate(kernel_state_->elaborator, is_and ? Op::kBitAnd : Op::kBitOr, operands, inst.loc));
  return DefineResults(frame, inst, {std::move(value)});
}

absl::Status Evaluator::Impl::RunNot(Frame& frame, const isa::Inst& inst) {
  TILEVM_ASSIGN_OR_RETURN(Value x, Read(frame, inst.operands[0], inst.loc));
  if (!IsTyped(x)) {
    TILEVM_ASSIGN_OR_RETURN(bool truth, Truth(x, inst.loc));
    return DefineResults(frame, inst, {Value::Bool(!truth)});
  }
  if (!x.is_tensor() || kernel_state_->kernel.TypeOf(x.tensor()).elem != isa::ElemType{isa::DType::kI1, false}) {
    return InvalidAt(inst.loc, "`not` of ", NameOfType(x), ", wanted int1; compare with 0 instead");
  }
  const Value operands[] = {x, Value::Bool(true)};
  TILEVM_ASSIGN_OR_RETURN(Value value, Elaborate(kernel_state_->elaborator, Op::kBitXor, operands, inst.loc));
  return DefineResults(frame, inst, {std::move(value)});
}

absl::Status Evaluator::Impl::RunFor(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome) {
  TILEVM_ASSIGN_OR_RETURN(Value iterable, Read(frame, inst.operands[0], inst.loc));
  if (frame.kernel && iterable.is(ValueKind::kRange) && !iterable.As<RangePayload>()->is_static) {
    return DynamicFor(frame, inst, *iterable.As<RangePayload>(), outcome);
  }
  if (iterable.is_tensor()) return InvalidAt(inst.loc, "for: cannot iterate over ", NameOfType(iterable), "; use range, tl.range or tl.static_range");
  if (frame.kernel) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(iterable, inst.loc));
    return StaticFor(frame, inst, items, outcome);
  }
  if (!iterable.is(ValueKind::kRange)) {
    TILEVM_ASSIGN_OR_RETURN(const Value iterator, IteratorOf(iterable, inst.loc));
    return HostFor(frame, inst, outcome, [&] { return AsIterator(iterator)->Next(*this, inst.loc); });
  }
  // A host range is not spelled out as a list first.
  const auto* range = iterable.As<RangePayload>();
  TILEVM_ASSIGN_OR_RETURN(int64_t start, ToIndex(range->start, "range", inst.loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t stop, ToIndex(range->stop, "range", inst.loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t step, ToIndex(range->step, "range", inst.loc));
  absl::int128 i = start;
  return HostFor(frame, inst, outcome, [&]() -> absl::StatusOr<std::optional<Value>> {
    if (step > 0 ? i >= stop : i <= stop) return std::nullopt;
    const Value item = Value::Int(i);
    i += step;
    return item;
  });
}

absl::Status Evaluator::Impl::HostFor(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome,
                                      absl::FunctionRef<absl::StatusOr<std::optional<Value>>()> next) {
  std::vector<Value> carried = RawAll(frame, absl::MakeSpan(inst.operands).subspan(1));
  const isa::Region& body = inst.regions[0];
  while (true) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, next());
    if (!item.has_value()) break;
    Define(frame, body.args[0], *std::move(item));
    for (size_t k = 0; k < carried.size(); ++k) Define(frame, body.args[k + 1], std::move(carried[k]));
    TILEVM_ASSIGN_OR_RETURN(Outcome end, RunRegion(frame, body));
    if (end.flow == Flow::kReturn) {
      outcome = std::move(end);
      return absl::OkStatus();
    }
    carried = std::move(end.values);
    if (end.flow == Flow::kBreak) break;
  }
  return DefineResults(frame, inst, std::move(carried));
}

absl::Status Evaluator::Impl::RunWhile(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome) {
  if (frame.kernel) return DynamicWhile(frame, inst, outcome);
  std::vector<Value> carried = RawAll(frame, inst.operands);
  while (true) {
    for (size_t k = 0; k < carried.size(); ++k) Define(frame, inst.regions[0].args[k], std::move(carried[k]));
    TILEVM_ASSIGN_OR_RETURN(Outcome test, RunRegion(frame, inst.regions[0]));
    if (test.values.empty()) return InvalidAt(inst.loc, "while: the condition has no value");
    TILEVM_ASSIGN_OR_RETURN(bool go_on, Truth(test.values[0], inst.loc));
    carried.assign(test.values.begin() + 1, test.values.end());
    if (!go_on) break;
    for (size_t k = 0; k < carried.size(); ++k) Define(frame, inst.regions[1].args[k], std::move(carried[k]));
    TILEVM_ASSIGN_OR_RETURN(Outcome end, RunRegion(frame, inst.regions[1]));
    if (end.flow == Flow::kReturn) {
      outcome = std::move(end);
      return absl::OkStatus();
    }
    carried = std::move(end.values);
    if (end.flow == Flow::kBreak) break;
  }
  return DefineResults(frame, inst, std::move(carried));
}

absl::Status Evaluator::Impl::RunCollect(Frame& frame, const isa::Inst& inst) {
  TILEVM_ASSIGN_OR_RETURN(Value iterable, Read(frame, inst.operands[0], inst.loc));
  if (frame.kernel && iterable.is(ValueKind::kRange)) {
    const auto* range = iterable.As<RangePayload>();
    if (IsTyped(range->start) || IsTyped(range->stop) || IsTyped(range->step)) {
      return InvalidAt(inst.loc, "comprehension: the bounds of its range must be constexpr");
    }
  }
  if (inst.imm == kGenerator && !frame.kernel) {
    TILEVM_ASSIGN_OR_RETURN(Value lazy, LazyCollect(frame, inst, iterable));
    return DefineResults(frame, inst, {std::move(lazy)});
  }
  std::vector<Value> collected;
  Value result = inst.imm == kDict ? MakeDict({}) : inst.imm == kSet ? MakeSet(false) : Value();
  const auto keep = [&](const Value& value) -> absl::Status {
    if (inst.imm == kSet) return SetAdd(result, value, inst.loc).status();
    if (inst.imm == kDict) {
      if (!value.is(ValueKind::kTuple) || value.items().size() != 2) return InvalidAt(inst.loc, "dict comprehension: its body gives ", NameOfType(value));
      return DictPut(result, value.items()[0], value.items()[1], inst.loc);
    }
    if (collected.size() >= kMaxSequence)
      return ErrorAt(inst.loc, absl::StatusCode::kResourceExhausted, "MemoryError: a comprehension of more than ", kMaxSequence, " items");
    collected.push_back(value);
    return absl::OkStatus();
  };
  const auto visit = [&](const Value& item) -> absl::StatusOr<bool> {
    Define(frame, inst.regions[0].args[0], item);
    TILEVM_ASSIGN_OR_RETURN(Value more, RunValueRegion(frame, inst.regions[0]));
    if (!more.is(ValueKind::kList) && !more.is(ValueKind::kTuple)) return InvalidAt(inst.loc, "comprehension: its body gives ", NameOfType(more));
    for (const Value& value : more.items()) TILEVM_RETURN_IF_ERROR(keep(value));
    return true;
  };
  if (frame.kernel) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(iterable, inst.loc));
    for (const Value& item : items) TILEVM_RETURN_IF_ERROR(visit(item).status());
  } else {
    TILEVM_RETURN_IF_ERROR(ForEach(iterable, inst.loc, visit));
  }
  if (result.absent()) result = frame.kernel ? Value::Tuple(std::move(collected)) : Value::List(std::move(collected));
  return DefineResults(frame, inst, {std::move(result)});
}

// A generator expression works on a copy of the registers, which outlives the frame; its body gives lists of items, or what a further `for` in it gives.
absl::StatusOr<Value> Evaluator::Impl::LazyCollect(const Frame& frame, const isa::Inst& inst, const Value& iterable) {
  TILEVM_ASSIGN_OR_RETURN(Value iterator, IteratorOf(iterable, inst.loc));
  auto own = std::make_shared<Frame>();
  own->function = frame.function;
  own->info = frame.info;
  own->registers = frame.registers;
  own->call_loc = frame.call_loc;
  return MakeIterator("generator", [own, iterator, &inst, more = Value()](Impl& impl, Loc loc) mutable -> absl::StatusOr<std::optional<Value>> {
    while (true) {
      if (!more.absent()) {
        TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, AsIterator(more)->Next(impl, loc));
        if (item.has_value()) return item;
      }
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> next, AsIterator(iterator)->Next(impl, loc));
      if (!next.has_value()) return std::nullopt;
      impl.Define(*own, inst.regions[0].args[0], *std::move(next));
      absl::StatusOr<Value> part = impl.RunValueRegion(*own, inst.regions[0]);
      if (!part.ok()) return WithLoc(part.status(), inst.loc);
      TILEVM_ASSIGN_OR_RETURN(more, impl.IteratorOf(*part, inst.loc));
    }
  });
}

absl::Status Evaluator::Impl::RunAssert(Frame& frame, const isa::Inst& inst) {
  TILEVM_ASSIGN_OR_RETURN(Value condition, Read(frame, inst.operands[0], inst.loc));
  if (IsTyped(condition)) {
    TILEVM_ASSIGN_OR_RETURN(Value message, RunValueRegion(frame, inst.regions[0]));
    if (message.is(ValueKind::kNone)) message = Value();
    return RunRowOp(Op::kDeviceAssert, {condition, message}, true, inst.loc).status();
  }
  TILEVM_ASSIGN_OR_RETURN(bool holds, Truth(condition, inst.loc));
  if (holds) return absl::OkStatus();
  TILEVM_ASSIGN_OR_RETURN(Value message, RunValueRegion(frame, inst.regions[0]));
  std::string text;
  if (message.is(ValueKind::kTuple) || message.is(ValueKind::kInstance)) {  // the argument of the exception as it is
    TILEVM_ASSIGN_OR_RETURN(const Value error, Instantiate(Value::Builtin("builtins.AssertionError"), CallArgs{{message}, {}}, inst.loc));
    return RaiseValue(error, inst.loc);
  }
  if (!message.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(text, ToStr(message, inst.loc));
  }
  return InvalidAt(inst.loc, "AssertionError", text.empty() ? "" : ": ", text);
}

absl::Status Evaluator::Impl::RunRaise(Frame& frame, const isa::Inst& inst) {
  if (inst.operands.empty() || inst.operands[0] == isa::kNoReg) {
    if (!thread_.handled.absent()) return RaiseAgain(inst.loc);
    return InvalidAt(inst.loc, "RuntimeError: no active exception to raise again");
  }
  TILEVM_ASSIGN_OR_RETURN(Value exception, Read(frame, inst.operands[0], inst.loc));
  if (exception.is(ValueKind::kInstance) && Identical(exception, thread_.handled)) return RaiseAgain(inst.loc);
  return RaiseValue(exception, inst.loc);
}

// The exception that is being handled goes on as it came, from where it was raised, unless its text has become another one.
absl::Status Evaluator::Impl::RaiseAgain(Loc loc) {
  const Value exception = thread_.handled;
  const absl::Status error = thread_.handled_error, now = RaiseValue(exception, loc);
  if (now.message() != error.message()) return now;
  SetPending(exception, error);
  return error;
}

// A limit is not the program's to catch, but where Python has an exception for it: too deep calls, and what a device lacks.
static bool IsCatchable(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return absl::StartsWith(status.message(), "RecursionError: ") || status.GetPayload(kExceptionPayload).has_value();
  return !absl::IsInternal(status) && !absl::IsCancelled(status);
}

absl::Status Evaluator::Impl::RunTry(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome) {
  if (frame.kernel) return UnimplementedAt(inst.loc, "try in a kernel");
  absl::StatusOr<Outcome> end = RunRegion(frame, inst.regions[0]);
  if (!end.ok() && IsCatchable(end.status()) && !inst.regions[1].body.empty()) {
    const absl::Status error = WithLoc(end.status(), inst.loc);
    const Value exception = ExceptionOf(error);
    if (!inst.regions[1].args.empty()) Define(frame, inst.regions[1].args[0], exception);
    Value outer = std::exchange(thread_.handled, exception);
    absl::Status outer_error = std::exchange(thread_.handled_error, error);
    end = RunRegion(frame, inst.regions[1]);
    thread_.handled = std::move(outer);
    thread_.handled_error = std::move(outer_error);
  } else if (end.ok() && end->flow == Flow::kYield && !inst.regions[2].body.empty()) {
    const isa::Region& orelse = inst.regions[2];
    for (size_t i = 0; i < orelse.args.size() && i < end->values.size(); ++i) Define(frame, orelse.args[i], end->values[i]);
    absl::StatusOr<Outcome> after = RunRegion(frame, orelse);
    // An else region that yields nothing keeps the body's values.
    if (!after.ok() || after->flow != Flow::kYield || !after->values.empty()) end = std::move(after);
  }
  if (!inst.regions[3].body.empty()) {
    const isa::Region& final = inst.regions[3];
    if (end.ok()) {
      for (size_t i = 0; i < final.args.size() && i < end->values.size(); ++i) Define(frame, final.args[i], end->values[i]);
    } else {
      for (isa::Reg arg : final.args) Define(frame, arg, Value::None());
    }
    TILEVM_ASSIGN_OR_RETURN(Outcome last, RunRegion(frame, final));
    if (last.flow != Flow::kYield) {
      outcome = std::move(last);
      return absl::OkStatus();
    }
    if (end.ok() && end->flow == Flow::kYield && !last.values.empty()) end->values = std::move(last.values);
  }
  TILEVM_RETURN_IF_ERROR(end.status());
  if (end->flow == Flow::kYield) return DefineResults(frame, inst, std::move(end->values));
  outcome = *std::move(end);
  return absl::OkStatus();
}

absl::Status Evaluator::Impl::RunWith(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome) {
  if (frame.kernel) return UnimplementedAt(inst.loc, "with in a kernel");
  TILEVM_ASSIGN_OR_RETURN(Value context, Read(frame, inst.operands[0], inst.loc));
  Value entered = context;
  if (context.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallDunder(context, "__enter__", {}, inst.loc));
    if (!value.has_value()) return InvalidAt(inst.loc, "TypeError: '", NameOfType(context), "' object is not a context manager");
    entered = *value;
  } else if (context.is(ValueKind::kObject)) {
    // Most contexts of torch (no_grad, cuda.device) have nothing to do here; an object without __enter__ stands for itself.
    absl::StatusOr<Value> value = context.As<HostObject>()->CallMethod(*self_, "__enter__", {}, inst.loc);
    if (value.ok()) entered = *value;
  }
  if (!inst.regions[0].args.empty()) Define(frame, inst.regions[0].args[0], entered);
  absl::StatusOr<Outcome> end = RunRegion(frame, inst.regions[0]);
  if (!end.ok() && IsCatchable(end.status())) {
    if (std::optional<absl::Status> closed = CloseContext(*this, context, end.status(), inst.loc)) {
      return closed->ok() ? AfterException(frame, inst) : *closed;
    }
  }
  CallArgs nothing;
  nothing.positional = {Value::None(), Value::None(), Value::None()};
  if (context.is(ValueKind::kInstance)) {
    if (!end.ok() && IsCatchable(end.status())) {
      const Value exception = ExceptionOf(WithLoc(end.status(), inst.loc));
      nothing.positional = {exception.As<InstancePayload>()->type, exception, Value::None()};
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> answer, CallDunder(context, "__exit__", nothing.positional, inst.loc));
      TILEVM_ASSIGN_OR_RETURN(bool suppressed, answer.has_value() ? Truth(*answer, inst.loc) : absl::StatusOr<bool>(false));
      if (suppressed) return AfterException(frame, inst);
      // On it goes, with its object.
      SetPending(exception, end.status());
      return end.status();
    }
    TILEVM_RETURN_IF_ERROR(CallDunder(context, "__exit__", nothing.positional, inst.loc).status());
  } else if (context.is(ValueKind::kObject)) {
    context.As<HostObject>()->CallMethod(*self_, "__exit__", nothing, inst.loc).status().IgnoreError();
  }
  TILEVM_RETURN_IF_ERROR(end.status());
  if (end->flow == Flow::kYield) return DefineResults(frame, inst, std::move(end->values));
  outcome = *std::move(end);
  return absl::OkStatus();
}

// A context manager has taken the exception for itself: the names that the body assigned have the values that its registers hold by then.
absl::Status Evaluator::Impl::AfterException(Frame& frame, const isa::Inst& inst) {
  ForgetPending();
  const isa::Region& body = inst.regions[0];
  std::vector<Value> values(inst.results.size());
  const bool yields = !body.body.empty() && body.body.back().op == Op::kYield && body.body.back().operands.size() == values.size();
  for (size_t i = 0; i < values.size() && yields; ++i) values[i] = Raw(frame, body.body.back().operands[i]);
  for (Value& value : values) {
    if (value.absent()) value = Value::Unbound("a name that the with statement assigns", inst.loc);
  }
  return DefineResults(frame, inst, std::move(values));
}

absl::Status Evaluator::Impl::RunUnpack(Frame& frame, const isa::Inst& inst) {
  TILEVM_ASSIGN_OR_RETURN(Value object, Read(frame, inst.operands[0], inst.loc));
  if (IsTyped(object)) return InvalidAt(inst.loc, "cannot unpack ", NameOfType(object), ", which is one value, into ", inst.results.size());
  const size_t wanted = inst.results.size();
  if (inst.imm == 0 && AsIterator(object) != nullptr) {  // which need not have an end
    std::vector<Value> items;
    TILEVM_RETURN_IF_ERROR(ForEach(object, inst.loc, [&](const Value& item) -> absl::StatusOr<bool> {
      items.push_back(item);
      return items.size() <= wanted;
    }));
    if (items.size() > wanted) return InvalidAt(inst.loc, "ValueError: too many values to unpack (expected ", wanted, ")");
    if (items.size() == wanted) return DefineResults(frame, inst, std::move(items));
    return InvalidAt(inst.loc, "ValueError: not enough values to unpack (expected ", wanted, ", got ", items.size(), ")");
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(object, inst.loc));
  if (inst.imm == 0) {
    if (items.size() != wanted) {
      return InvalidAt(inst.loc, "ValueError: ", items.size() > wanted ? "too many" : "not enough", " values to unpack (expected ", wanted, ", got ",
                       items.size(), ")");
    }
    return DefineResults(frame, inst, std::move(items));
  }
  if (items.size() + 1 < wanted) {
    return InvalidAt(inst.loc, "ValueError: not enough values to unpack (expected at least ", wanted - 1, ", got ", items.size(), ")");
  }
  const size_t star = inst.imm - 1;
  const size_t middle = items.size() - (wanted - 1);
  std::vector<Value> values(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(star));
  std::vector<Value> rest(items.begin() + static_cast<std::ptrdiff_t>(star), items.begin() + static_cast<std::ptrdiff_t>(star + middle));
  values.push_back(frame.kernel ? Value::Tuple(std::move(rest)) : Value::List(std::move(rest)));
  values.insert(values.end(), items.begin() + static_cast<std::ptrdiff_t>(star + middle), items.end());
  return DefineResults(frame, inst, std::move(values));
}

}  // namespace tilevm::specializer
