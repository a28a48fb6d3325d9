#include "specializer/partial_eval/generator.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tilevm::specializer {

namespace {

constexpr int kMostGenerators = 256;  // suspended at once: each has a thread
std::atomic<int> live_generators{0};

// What the body's frame holds of its generator. No owner: a generator that nobody else holds is over.
struct GeneratorLink : HostObject {
  GeneratorObject* generator = nullptr;
  std::string type_name() const override { return "generator"; }
};

}  // namespace

GeneratorObject* AsGenerator(const Value& value) { return value.is(ValueKind::kObject) ? dynamic_cast<GeneratorObject*>(value.As<HostObject>()) : nullptr; }

void GeneratorObject::SwapState() { std::swap(impl_->thread_, state_); }

void GeneratorObject::Body() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return turn_ == Turn::kBody; });
  }
  absl::Status result = reason_;
  if (result.ok()) {
    impl_->SetStackLimit();
    MemoryMeter::Current() = impl_->meter_;
    auto link = std::make_shared<GeneratorLink>();
    link->generator = this;
    impl_->generator_ = Value::Shared(ValueKind::kObject, std::move(link));
    const absl::StatusOr<Value> end = impl_->RunFunction(function_, std::move(params_), false, loc_);
    if (end.ok()) returned_ = *end;
    result = end.ok() || !loc_.known() ? end.status() : WithCallSite(end.status(), loc_);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  result_ = std::move(result);
  finished_ = true;
  turn_ = Turn::kCaller;
  changed_.notify_all();
}

bool GeneratorObject::Start() {
  state_ = impl_->thread_;
  // Not std::thread: where no thread is left it throws, and this tree is built without exceptions.
  const auto run = [](void* self) -> void* {
    static_cast<GeneratorObject*>(self)->Body();
    return nullptr;
  };
  started_ = pthread_create(&thread_, nullptr, run, this) == 0;
  if (started_) impl_->generators_.insert(this);
  return started_;
}

void GeneratorObject::Resume() {
  SwapState();
  running_ = true;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    turn_ = Turn::kBody;
    changed_.notify_all();
    changed_.wait(lock, [this] { return turn_ == Turn::kCaller; });
  }
  running_ = false;
  SwapState();
  if (finished_) {
    pthread_join(thread_, nullptr);
    --live_generators;
    impl_->generators_.erase(this);
  }
}

absl::StatusOr<std::optional<Value>> GeneratorObject::Send(Evaluator::Impl& impl, Value sent, Loc loc) {
  if (running_) return InvalidAt(loc, "ValueError: generator already executing");
  if (finished_) return std::optional<Value>();
  constexpr int64_t kTurnSteps = 100;  // what it takes to change threads, twice, in steps of the walk
  TILEVM_RETURN_IF_ERROR(impl.CountStep(loc, kTurnSteps));
  if (!started_ && !sent.is(ValueKind::kNone)) return InvalidAt(loc, "TypeError: can't send non-None value to a just-started generator");
  sent_ = std::move(sent);
  if (!started_) {
    if (++live_generators > kMostGenerators) {
      --live_generators;
      return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "more than ", kMostGenerators, " generators wait at once");
    }
    if (!Start()) {
      --live_generators;
      finished_ = true;
      return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "no thread is left for a generator");
    }
  }
  value_.reset();
  Resume();
  if (finished_) TILEVM_RETURN_IF_ERROR(std::exchange(result_, absl::OkStatus()));
  return std::exchange(value_, std::nullopt);
}

absl::Status GeneratorObject::Throw(absl::Status reason) {
  if (!started_ || finished_ || running_) {
    finished_ = finished_ || !running_;
    return reason;
  }
  reason_ = std::move(reason);
  value_.reset();
  Resume();
  return std::exchange(result_, absl::OkStatus());
}

void GeneratorObject::Close() {
  // A `finally` may yield once more; a body that goes on and on is left at its end by the count of steps.
  while (started_ && !finished_ && !running_) Throw(absl::CancelledError("GeneratorExit")).IgnoreError();
  finished_ = true;
}

absl::StatusOr<Value> GeneratorObject::Yield(Value value) {
  value_ = std::move(value);
  std::unique_lock<std::mutex> lock(mutex_);
  turn_ = Turn::kCaller;
  changed_.notify_all();
  changed_.wait(lock, [this] { return turn_ == Turn::kBody; });
  lock.unlock();
  TILEVM_RETURN_IF_ERROR(std::exchange(reason_, absl::OkStatus()));
  return std::exchange(sent_, Value::None());
}

absl::StatusOr<Value> GeneratorObject::CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) {
  Evaluator::Impl& impl = evaluator.impl();
  const auto item_or_end = [&](std::optional<Value> item) -> absl::StatusOr<Value> {
    if (item.has_value()) return *std::move(item);
    if (returned_.is(ValueKind::kNone)) return InvalidAt(loc, "StopIteration");
    TILEVM_ASSIGN_OR_RETURN(Value exception, impl.Instantiate(Value::Builtin("builtins.StopIteration"), CallArgs{{returned_}, {}}, loc));
    return impl.RaiseValue(exception, loc);
  };
  if ((name == "__next__" && args.positional.empty()) || (name == "send" && args.positional.size() == 1)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Send(impl, args.positional.empty() ? Value::None() : args.positional[0], loc));
    return item_or_end(std::move(item));
  }
  if (name == "close" && args.positional.empty()) {
    Close();
    return Value::None();
  }
  if (name == "throw" && args.positional.size() == 1) {
    TILEVM_RETURN_IF_ERROR(Throw(impl.RaiseValue(args.positional[0], loc)));
    return item_or_end(TakeValue());
  }
  return IteratorObject::CallMethod(evaluator, name, args, loc);
}

Evaluator::Impl::~Impl() {
  const std::set<GeneratorObject*> left = generators_;  // each takes itself out
  for (GeneratorObject* generator : left) generator->Close();
  meter_->Add(-1);  // the values that are left end it
}

absl::StatusOr<Value> Evaluator::Impl::MakeGenerator(const FunctionPayload& function, std::vector<Value> params, Loc loc) {
  return Value::Shared(ValueKind::kObject, std::make_shared<GeneratorObject>(*this, function, std::move(params), loc));
}

// tilevm.generator(): what the body of a generator function begins with.
absl::StatusOr<Value> NewGeneratorBuiltin(Evaluator::Impl& impl, const CallArgs&, Loc loc) {
  if (impl.builtin_in_kernel() || impl.generator().absent()) return UnimplementedAt(loc, "generators are not supported in a kernel");
  return impl.generator();
}

// tilevm.yield(generator, value[, True]): the last of `yield from`. Gives what was sent, or what the inner generator returned.
absl::StatusOr<Value> YieldBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "yield", 2, 3, loc));
  auto* link = dynamic_cast<GeneratorLink*>(args.positional[0].As<HostObject>());
  if (link == nullptr) return InvalidAt(loc, "yield outside of its generator");
  const auto yield = [&](Value value) -> absl::StatusOr<Value> {
    absl::StatusOr<Value> sent = link->generator->Yield(std::move(value));
    return sent.ok() ? std::move(sent) : absl::StatusOr<Value>(WithLoc(sent.status(), loc));
  };
  if (args.positional.size() == 2) return yield(args.positional[1]);
  TILEVM_ASSIGN_OR_RETURN(const Value iterator, impl.IteratorOf(args.positional[1], loc));
  auto* generator = dynamic_cast<GeneratorObject*>(iterator.As<HostObject>());
  Value sent = Value::None();
  while (true) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> next, generator != nullptr ? generator->Send(impl, sent, loc) : AsIterator(iterator)->Next(impl, loc));
    if (!next.has_value()) return generator != nullptr ? generator->returned() : Value::None();
    TILEVM_ASSIGN_OR_RETURN(sent, yield(*std::move(next)));
  }
}

// @contextlib.contextmanager: what `with` enters is the first value, and the rest of the body runs when it is left.
namespace {

struct ContextFactory : HostObject {
  Value function;
  std::string type_name() const override { return "function"; }
  absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& args, Loc loc) override;
};

struct GeneratorContext : HostObject {
  Value generator;
  std::string type_name() const override { return "contextlib._GeneratorContextManager"; }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    GeneratorObject* body = AsGenerator(generator);
    if (name == "__enter__") {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> first, body->Next(evaluator.impl(), loc));
      if (!first.has_value()) return InvalidAt(loc, "RuntimeError: generator didn't yield");
      return *first;
    }
    if (name == "__exit__") {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> more, body->Next(evaluator.impl(), loc));
      if (more.has_value()) return InvalidAt(loc, "RuntimeError: generator didn't stop");
      return Value::None();
    }
    return HostObject::CallMethod(evaluator, name, args, loc);
  }
};

// contextlib.suppress(...) takes exceptions of these kinds; contextlib.nullcontext(x) gives x.
struct SuppressContext : HostObject {
  Value kinds;
  std::string type_name() const override { return "contextlib.suppress"; }
  absl::StatusOr<Value> CallMethod(Evaluator&, absl::string_view, const CallArgs&, Loc) override { return Value::None(); }
};
struct NullContext : HostObject {
  Value value;
  std::string type_name() const override { return "contextlib.nullcontext"; }
  absl::StatusOr<Value> CallMethod(Evaluator&, absl::string_view name, const CallArgs&, Loc) override { return name == "__enter__" ? value : Value::None(); }
};

absl::StatusOr<Value> ContextFactory::Call(Evaluator& evaluator, const CallArgs& args, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(Value made, evaluator.Call(function, args, loc));
  if (AsGenerator(made) == nullptr) return made;
  auto context = std::make_shared<GeneratorContext>();
  context->generator = made;
  return Value::Shared(ValueKind::kObject, std::move(context));
}

}  // namespace

absl::StatusOr<Value> ContextManagerBuiltin(Evaluator::Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "contextmanager", 1, 1, loc));
  auto factory = std::make_shared<ContextFactory>();
  factory->function = args.positional[0];
  return Value::Shared(ValueKind::kObject, std::move(factory));
}

absl::StatusOr<Value> SuppressBuiltin(Evaluator::Impl&, const CallArgs& args, Loc) {
  auto context = std::make_shared<SuppressContext>();
  context->kinds = Value::Tuple(args.positional);
  return Value::Shared(ValueKind::kObject, std::move(context));
}
absl::StatusOr<Value> NullContextBuiltin(Evaluator::Impl&, const CallArgs& args, Loc) {
  auto context = std::make_shared<NullContext>();
  context->value = args.positional.empty() ? Value::None() : args.positional[0];
  return Value::Shared(ValueKind::kObject, std::move(context));
}

// The error of a with's body goes into the generator, which may take care of it; so does `suppress`.
std::optional<absl::Status> CloseContext(Evaluator::Impl& impl, const Value& context, const absl::Status& error, Loc loc) {
  if (auto* suppress = context.is(ValueKind::kObject) ? dynamic_cast<SuppressContext*>(context.As<HostObject>()) : nullptr) {
    const Value exception = impl.ExceptionOf(error);
    absl::StatusOr<bool> taken = impl.IsInstance(exception, suppress->kinds, false, loc);
    if (!taken.ok()) return taken.status();
    if (*taken) return absl::OkStatus();
    impl.SetPending(exception, error);
    return error;
  }
  auto* generator = context.is(ValueKind::kObject) ? dynamic_cast<GeneratorContext*>(context.As<HostObject>()) : nullptr;
  if (generator == nullptr) return std::nullopt;
  GeneratorObject* body = AsGenerator(generator->generator);
  absl::Status status = body->Throw(error);
  if (status.ok() && !body->finished()) status = absl::InvalidArgumentError("RuntimeError: generator didn't stop after throw()");
  return WithLoc(std::move(status), loc);
}

}  // namespace tilevm::specializer
