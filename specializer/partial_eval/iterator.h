// Iterators of host code: what `for`, next() and all functions on sequences take items from, one by one.
//
// What is lazy in Python is lazy here (map, zip, filter, enumerate, generator expressions, itertools): a program sees it by side effects, by values
// that change meanwhile, and by sequences without end. A generator (generator.h) is one more iterator.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_ITERATOR_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_ITERATOR_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

class IteratorObject : public HostObject {
 public:
  // The next item; nullopt at the end, and from then on.
  virtual absl::StatusOr<std::optional<Value>> Next(Evaluator::Impl& impl, Loc loc) = 0;
  absl::StatusOr<bool> Truth(Evaluator&, Loc) override { return true; }
  std::string Repr() const override { return "<" + type_name() + " object>"; }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override;
};

// The object if the value is an iterator, else null.
IteratorObject* AsIterator(const Value& value);

using NextFunction = std::function<absl::StatusOr<std::optional<Value>>(Evaluator::Impl& impl, Loc loc)>;
// An iterator that asks `next`; after the first nullopt or error it is over.
Value MakeIterator(std::string type_name, NextFunction next);

// Is this the end that a __next__ written in Python gives?
bool IsStopIteration(const absl::Status& status);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_ITERATOR_H_
