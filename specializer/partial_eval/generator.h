// A generator of host code: a call of a function that yields, which runs only as far as its values are asked for.
//
// The walk over the bytecode recurses, so a suspended one needs a stack of its own: the body runs on a thread that is awake only while the one that
// asks waits. Exactly one of them runs at any time; what the evaluator keeps for the running one (stack limit, call depth, the exception being handled)
// is exchanged when they take turns. A generator that is let go before its end is resumed with an error at its `yield`, so that `finally` runs.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_GENERATOR_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_GENERATOR_H_

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "specializer/partial_eval/iterator.h"

namespace tilevm::specializer {

class GeneratorObject : public IteratorObject {
 public:
  GeneratorObject(Evaluator::Impl& impl, FunctionPayload function, std::vector<Value> params, Loc loc)
      : impl_(&impl), function_(std::move(function)), params_(std::move(params)), loc_(loc) {}
  ~GeneratorObject() override { Close(); }

  std::string type_name() const override { return "generator"; }

  // The next value; nullopt at the end. Errors of the body come out here.
  absl::StatusOr<std::optional<Value>> Next(Evaluator::Impl& impl, Loc loc) override { return Send(impl, Value::None(), loc); }
  // The same, with what its `yield` gives.
  absl::StatusOr<std::optional<Value>> Send(Evaluator::Impl& impl, Value sent, Loc loc);
  // What the body returned, once it is over.
  const Value& returned() const { return returned_; }
  // Resumes the body with an error at its `yield`; what the body makes of it. If it yields again, `value()` has that.
  absl::Status Throw(absl::Status reason);
  bool finished() const { return finished_; }
  std::optional<Value> TakeValue() { return std::exchange(value_, std::nullopt); }
  // Ends the body. Nothing of the evaluator is touched afterwards.
  void Close();
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override;

  // On the body's thread: gives a value and waits to be resumed; what was sent.
  absl::StatusOr<Value> Yield(Value value);

 private:
  enum class Turn { kCaller, kBody };
  bool Start();
  void Body();    // on the body's thread
  void Resume();  // hands the turn to the body and waits for it
  void SwapState();

  Evaluator::Impl* const impl_;
  FunctionPayload function_;
  std::vector<Value> params_;
  Loc loc_;
  pthread_t thread_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::kCaller;
  bool started_ = false, finished_ = false, running_ = false;
  std::optional<Value> value_;
  Value sent_ = Value::None();
  Value returned_ = Value::None();
  absl::Status result_;   // of the body
  absl::Status reason_;   // not OK: the body has to end
  Evaluator::Impl::Thread state_;  // of the side that does not run
};

// The object if the value is a generator, else null.
GeneratorObject* AsGenerator(const Value& value);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_GENERATOR_H_
