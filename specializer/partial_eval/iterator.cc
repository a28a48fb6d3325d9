#include "specializer/partial_eval/iterator.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "isa/utf8.h"
#include "specializer/partial_eval/generator.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;

namespace {

// Items of one iterator as a list. Those of a generator with a body of its own cost a change of threads each.
constexpr size_t kMaxSpelledOut = kMaxSequence, kMaxGenerated = size_t{1} << 16;

class FunctionIterator : public IteratorObject {
 public:
  FunctionIterator(std::string name, NextFunction next) : name_(std::move(name)), next_(std::move(next)) {}
  std::string type_name() const override { return name_; }
  absl::StatusOr<std::optional<Value>> Next(Impl& impl, Loc loc) override {
    if (next_ == nullptr) return std::optional<Value>();
    TILEVM_RETURN_IF_ERROR(impl.CheckStack(loc));
    TILEVM_RETURN_IF_ERROR(impl.CountStep(loc));
    if (running_) return InvalidAt(loc, "ValueError: ", name_, " already executing");
    running_ = true;
    absl::StatusOr<std::optional<Value>> item = next_(impl, loc);
    running_ = false;
    if (!item.ok() || !item->has_value()) next_ = nullptr;
    return item;
  }

 private:
  std::string name_;
  NextFunction next_;
  bool running_ = false;
};

using Item = absl::StatusOr<std::optional<Value>>;

std::optional<Value> End() { return std::nullopt; }

// By position, as long as there is one: a list that grows meanwhile is seen growing.
Value OverItems(const Value& sequence) {
  return MakeIterator(sequence.is(ValueKind::kTuple) ? "tuple_iterator" : "list_iterator", [sequence, at = size_t{0}](Impl&, Loc) mutable -> Item {
    if (at >= sequence.items().size()) return End();
    return sequence.items()[at++];
  });
}

Value OverKeys(const Value& holder, const PairTable& table, absl::string_view what) {
  // `holder` keeps the table alive.
  return MakeIterator(absl::StrCat(what, "_iterator"),
                      [holder, &table, what = std::string(what), size = table.size(), left = table.size(), at = size_t{0}](Impl&, Loc loc) mutable -> Item {
                        if (table.size() != size)
                          return InvalidAt(loc, "RuntimeError: ", what == "set" ? "Set" : "dictionary", " changed size during iteration");
                        while (left > 0 && at < table.places() && table.at(at).first.absent()) ++at;
                        if (left == 0 || at >= table.places()) return End();
                        --left;
                        return table.at(at++).first;
                      });
}

Value OverText(const Value& text) {
  return MakeIterator("str_iterator", [text, at = size_t{0}](Impl&, Loc) mutable -> Item {
    const std::string& all = text.string();
    if (at >= all.size()) return End();
    const size_t size = isa::ByteOfCodePoint(absl::string_view(all).substr(at), 1);
    at += size;
    return Value::String(all.substr(at - size, size));
  });
}

}  // namespace

absl::StatusOr<Value> IteratorObject::CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) {
  if (name == "__next__" && args.positional.empty()) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, Next(evaluator.impl(), loc));
    return item.has_value() ? absl::StatusOr<Value>(*std::move(item)) : InvalidAt(loc, "StopIteration");
  }
  return HostObject::CallMethod(evaluator, name, args, loc);
}

IteratorObject* AsIterator(const Value& value) { return value.is(ValueKind::kObject) ? dynamic_cast<IteratorObject*>(value.As<HostObject>()) : nullptr; }

Value MakeIterator(std::string type_name, NextFunction next) {
  return Value::Shared(ValueKind::kObject, std::make_shared<FunctionIterator>(std::move(type_name), std::move(next)));
}

bool IsStopIteration(const absl::Status& status) {
  return absl::IsInvalidArgument(status) && (status.message() == "StopIteration" || absl::StartsWith(status.message(), "StopIteration: "));
}

absl::StatusOr<Value> Evaluator::Impl::IteratorOf(const Value& given, Loc loc) {
  const Value value = given.is(ValueKind::kSpread) ? given.As<BoxPayload>()->inner : Unboxed(given);
  switch (value.kind()) {
    case ValueKind::kTuple: case ValueKind::kList: return OverItems(value);
    case ValueKind::kDict: return OverKeys(value, value.As<DictPayload>()->entries, "dict_key");
    case ValueKind::kSet: return OverKeys(value, value.As<SetPayload>()->items, "set");
    case ValueKind::kString: return OverText(value);
    case ValueKind::kRange: {
      TILEVM_ASSIGN_OR_RETURN(int64_t left, Length(value, loc));
      const auto* range = value.As<RangePayload>();
      return MakeIterator("range_iterator", [left, at = range->start.int_value(), step = range->step.int_value()](Impl&, Loc) mutable -> Item {
        if (left == 0) return End();
        --left;
        at += step;
        return Value::Int(at - step);
      });
    }
    case ValueKind::kClass:
      if (const Value* members = FindInClass(value, "__members__")) return OverItems(*members);
      break;
    case ValueKind::kInstance: {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> iterator, CallDunder(value, "__iter__", {}, loc));
      if (iterator.has_value()) {
        if (!iterator->is(ValueKind::kInstance)) return AsIterator(*iterator) != nullptr ? absl::StatusOr<Value>(*iterator) : IteratorOf(*iterator, loc);
        if (FindInClass(iterator->As<InstancePayload>()->type, "__next__") == nullptr)
          return InvalidAt(loc, "TypeError: iter() returned non-iterator of type '", NameOfType(*iterator), "'");
        return MakeIterator(NameOfType(*iterator), [object = *iterator](Impl& impl, Loc at) -> Item {
          absl::StatusOr<std::optional<Value>> item = impl.CallDunder(object, "__next__", {}, at);
          if (item.ok()) return item;
          if (!IsStopIteration(item.status())) return item.status();
          impl.ForgetPending();
          return End();
        });
      }
      if (FindInClass(value.As<InstancePayload>()->type, "__getitem__") == nullptr) break;
      return MakeIterator("iterator", [value, at = int64_t{0}](Impl& impl, Loc where) mutable -> Item {
        absl::StatusOr<Value> item = impl.Index(value, Value::Int(at++), where);
        if (item.ok()) return *std::move(item);
        if (!absl::StartsWith(item.status().message(), "IndexError") && !IsStopIteration(item.status())) return item.status();
        impl.ForgetPending();
        return End();
      });
    }
    case ValueKind::kObject: {
      if (AsIterator(value) != nullptr) return value;
      TILEVM_ASSIGN_OR_RETURN(int64_t length, value.As<HostObject>()->Length(*self_, loc));
      return MakeIterator("iterator", [value, length, at = int64_t{0}](Impl& impl, Loc where) mutable -> Item {
        if (at >= length) return End();
        TILEVM_ASSIGN_OR_RETURN(Value item, value.As<HostObject>()->Index(impl.self(), Value::Int(at++), where));
        return item;
      });
    }
    default: break;
  }
  return InvalidAt(loc, "TypeError: '", NameOfType(value), "' object is not iterable");
}

absl::Status Evaluator::Impl::ForEach(const Value& iterable, Loc loc, absl::FunctionRef<absl::StatusOr<bool>(const Value& item)> visit) {
  TILEVM_ASSIGN_OR_RETURN(const Value iterator, IteratorOf(iterable, loc));
  IteratorObject* items = AsIterator(iterator);
  while (true) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, items->Next(*this, loc));
    if (!item.has_value()) return absl::OkStatus();
    TILEVM_ASSIGN_OR_RETURN(bool go_on, visit(*item));
    if (!go_on) return absl::OkStatus();
  }
}

absl::StatusOr<std::vector<Value>> Evaluator::Impl::Iterate(const Value& value, Loc loc) {
  if (value.is(ValueKind::kTuple) || value.is(ValueKind::kList)) return value.items().ToVector();
  std::vector<Value> items;
  const size_t most = AsGenerator(value) != nullptr ? kMaxGenerated : kMaxSpelledOut;
  TILEVM_RETURN_IF_ERROR(ForEach(value, loc, [&](const Value& item) -> absl::StatusOr<bool> {
    if (items.size() >= most)
      return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a ", NameOfType(value), " is spelled out; the limit is ", most, " items");
    items.push_back(item);
    return true;
  }));
  return items;
}

}  // namespace tilevm::specializer
