// Truth, identity, iteration, membership, subscripts, length and text of static values.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "isa/utf8.h"
#include "specializer/partial_eval/generator.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/live_dict.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

struct SliceBounds {
  int64_t start, stop, step, count;
};

// Python's slice.indices.
absl::StatusOr<SliceBounds> Resolve(const SlicePayload& slice, int64_t size, Loc loc) {
  int64_t step = 1;
  if (!slice.step.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(step, ToIndex(slice.step, "a slice's step", loc));
  }
  if (step == 0) return InvalidAt(loc, "ValueError: slice step cannot be zero");
  step = std::max(step, -std::numeric_limits<int64_t>::max());
  const auto bound = [&](const Value& value, int64_t otherwise) -> absl::StatusOr<int64_t> {
    if (value.absent_or_none()) return otherwise;
    TILEVM_ASSIGN_OR_RETURN(int64_t at, ToIndex(value, "a slice's bound", loc));
    if (at < 0) at = std::max<int64_t>(at + size, step < 0 ? -1 : 0);
    return std::min(at, step < 0 ? size - 1 : size);
  };
  TILEVM_ASSIGN_OR_RETURN(int64_t start, bound(slice.start, step < 0 ? size - 1 : 0));
  TILEVM_ASSIGN_OR_RETURN(int64_t stop, bound(slice.stop, step < 0 ? -1 : size));
  int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  if (step < 0 && start > stop) count = (start - stop - 1) / -step + 1;
  return SliceBounds{start, stop, step, count};
}

absl::StatusOr<int64_t> Position(const Value& subscript, int64_t size, absl::string_view what, Loc loc) {
  const absl::string_view wanted = what == "list" || what == "tuple" ? " indices must be integers or slices" : " indices must be integers";
  TILEVM_ASSIGN_OR_RETURN(int64_t at, ToIndex(subscript, absl::StrCat(what, wanted), loc));
  if (at < -size || at >= size) return InvalidAt(loc, "IndexError: ", what, " index out of range");
  return at < 0 ? at + size : at;
}

absl::StatusOr<int64_t> RangeLength(const RangePayload& range, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(int64_t start, ToIndex(range.start, "range", loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t stop, ToIndex(range.stop, "range", loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t step, ToIndex(range.step, "range", loc));
  if (step == 0) return InvalidAt(loc, "ValueError: range() arg 3 must not be zero");
  const absl::int128 span = step > 0 ? absl::int128(stop) - start : absl::int128(start) - stop;
  const absl::int128 stride = step > 0 ? absl::int128(step) : -absl::int128(step);
  return span <= 0 ? 0 : static_cast<int64_t>(std::min<absl::int128>((span + stride - 1) / stride, std::numeric_limits<int64_t>::max()));
}

Value SliceOfAll() {
  auto slice = std::make_shared<SlicePayload>();
  slice->start = slice->stop = slice->step = Value::None();
  return Value::Shared(ValueKind::kSlice, std::move(slice));
}

// Its subscripts are integers; what has __index__ serves.
bool IsIndexed(const Value& object) {
  return object.is(ValueKind::kTuple) || object.is(ValueKind::kList) || object.is(ValueKind::kString) || object.is(ValueKind::kRange);
}

absl::Status KeyError(const Value& key, Loc loc) { return InvalidAt(loc, "KeyError: ", Repr(key)); }

}  // namespace

absl::StatusOr<Value> SliceBuiltin(Evaluator::Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "slice", 1, 3, loc));
  auto slice = std::make_shared<SlicePayload>();
  const bool only_stop = args.positional.size() == 1;
  slice->start = only_stop ? Value::None() : args.positional[0];
  slice->stop = args.positional[only_stop ? 0 : 1];
  slice->step = args.positional.size() == 3 ? args.positional[2] : Value::None();
  return Value::Shared(ValueKind::kSlice, std::move(slice));
}

absl::StatusOr<Value> SliceIndices(const Value& slice, int64_t size, Loc loc) {
  if (size < 0) return InvalidAt(loc, "ValueError: length should not be negative");
  TILEVM_ASSIGN_OR_RETURN(const SliceBounds bounds, Resolve(*slice.As<SlicePayload>(), size, loc));
  return Value::Tuple({Value::Int(bounds.start), Value::Int(bounds.stop), Value::Int(bounds.step)});
}

absl::StatusOr<int64_t> ToIndex(const Value& given, absl::string_view what, Loc loc) {
  const Value value = Unboxed(given);
  if (!value.is(ValueKind::kInt) && !value.is(ValueKind::kBool)) {
    return InvalidAt(loc, "TypeError: ", what, absl::StrContains(what, " must be ") ? "" : " must be integers", ", not ", TypeName(value, nullptr),
                     value.is_tensor() ? " (a value known only when the kernel runs; constexpr is wanted)" : "");
  }
  const absl::int128 number = value.int_value();
  if (number < std::numeric_limits<int64_t>::min() || number > std::numeric_limits<int64_t>::max())
    return InvalidAt(loc, "OverflowError: ", what, ": an integer of more than 64 bits");
  return static_cast<int64_t>(number);
}

absl::StatusOr<Value> Evaluator::Impl::AsIndex(const Value& given, Loc loc) {
  const Value value = Unboxed(given);
  if (value.is(ValueKind::kObject)) {
    const std::optional<absl::int128> number = value.As<HostObject>()->AsInteger();
    return number.has_value() ? Value::Int(*number) : value;
  }
  if (value.is(ValueKind::kInstance)) {
    if (std::optional<Value> number = EnumNumber(value); number.has_value() && number->is(ValueKind::kInt)) return *std::move(number);
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> number, CallDunder(value, "__index__", {}, loc));
    if (!number.has_value()) return value;
    if (number->is(ValueKind::kInt) || number->is(ValueKind::kBool)) return *std::move(number);
    return InvalidAt(loc, "TypeError: __index__ returned non-int (type ", NameOfType(*number), ")");
  }
  if (value.is(ValueKind::kSlice)) {
    const auto* slice = value.As<SlicePayload>();
    const auto plain = [](const Value& part) { return !part.is(ValueKind::kObject) && !part.is(ValueKind::kInstance); };
    if (plain(slice->start) && plain(slice->stop) && plain(slice->step)) return value;
    auto numbers = std::make_shared<SlicePayload>();
    TILEVM_ASSIGN_OR_RETURN(numbers->start, AsIndex(slice->start, loc));
    TILEVM_ASSIGN_OR_RETURN(numbers->stop, AsIndex(slice->stop, loc));
    TILEVM_ASSIGN_OR_RETURN(numbers->step, AsIndex(slice->step, loc));
    return Value::Shared(ValueKind::kSlice, std::move(numbers));
  }
  return value;
}

bool Evaluator::Impl::Identical(const Value& a, const Value& b) const {
  const Value x = Unboxed(a), y = Unboxed(b);
  if (x.is_tensor() || y.is_tensor()) return x.kind() == y.kind() && x.tensor() == y.tensor();
  if (x.kind() != y.kind()) return false;
  switch (x.kind()) {
    case ValueKind::kTuple: case ValueKind::kList: case ValueKind::kDict: case ValueKind::kSet: case ValueKind::kInstance: case ValueKind::kObject:
      return x.payload() == y.payload() || (x.is(ValueKind::kTuple) && x.items().empty() && y.items().empty());
    case ValueKind::kFloat:
      if (x.float_value() != x.float_value()) return y.float_value() != y.float_value();  // a NaN is itself, as one object in Python is
      return StaticEqual(x, y);
    default: return StaticEqual(x, y);
  }
}

absl::StatusOr<bool> Evaluator::Impl::Truth(const Value& value, Loc loc) {
  switch (value.kind()) {
    case ValueKind::kNone: return false;
    case ValueKind::kBool: case ValueKind::kInt: return value.int_value() != 0;
    case ValueKind::kFloat: return value.float_value() != 0;
    case ValueKind::kString: return !value.string().empty();
    case ValueKind::kTuple: case ValueKind::kList: return !value.items().empty();
    case ValueKind::kDict: return !value.As<DictPayload>()->entries.empty();
    case ValueKind::kSet: return !value.As<SetPayload>()->items.empty();
    case ValueKind::kRange: {
      TILEVM_ASSIGN_OR_RETURN(int64_t length, RangeLength(*value.As<RangePayload>(), loc));
      return length > 0;
    }
    case ValueKind::kConstexpr: return Truth(value.As<BoxPayload>()->inner, loc);
    case ValueKind::kObject: return value.As<HostObject>()->Truth(*self_, loc);
    case ValueKind::kBuiltin:
      TILEVM_RETURN_IF_ERROR(CheckMeaning(value, loc));
      TILEVM_RETURN_IF_ERROR(CheckKnown(value.string(), loc));
      return true;
    case ValueKind::kInstance: {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> truth, CallDunder(value, "__bool__", {}, loc));
      if (truth.has_value() && truth->is(ValueKind::kBool)) return truth->bool_value();
      if (truth.has_value()) return InvalidAt(loc, "TypeError: __bool__ should return bool, returned ", NameOfType(*truth));
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> length, CallDunder(value, "__len__", {}, loc));
      if (length.has_value()) {
        TILEVM_ASSIGN_OR_RETURN(int64_t count, ToIndex(*length, "__len__", loc));
        return count != 0;
      }
      return true;
    }
    case ValueKind::kTensor: case ValueKind::kBlockPtr: case ValueKind::kDescriptor:
      return InvalidAt(loc, "a constexpr condition is wanted, this is ", NameOfType(value), ", known only when the kernel runs");
    case ValueKind::kUnbound: return InvalidAt(loc, "NameError: name '", value.As<UnboundPayload>()->name, "' is not defined here");
    default: return true;
  }
}

absl::StatusOr<bool> Evaluator::Impl::Contains(const Value& container, const Value& item, Loc loc) {
  switch (container.kind()) {
    case ValueKind::kString:
      if (!item.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: 'in <string>' requires string as left operand, not ", NameOfType(item));
      return absl::StrContains(container.string(), item.string());
    case ValueKind::kDict: case ValueKind::kSet: {
      RefreshAttributes(container);
      const PairTable& table = container.is(ValueKind::kDict) ? container.As<DictPayload>()->entries : container.As<SetPayload>()->items;
      TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, FindKey(table, item, loc));
      return place.has_value();
    }
    case ValueKind::kConstexpr: return Contains(container.As<BoxPayload>()->inner, item, loc);
    case ValueKind::kRange: {
      if (!item.is(ValueKind::kInt) && !item.is(ValueKind::kBool)) return false;
      const auto* range = container.As<RangePayload>();
      TILEVM_ASSIGN_OR_RETURN(int64_t length, RangeLength(*range, loc));
      const absl::int128 offset = item.int_value() - range->start.int_value(), step = range->step.int_value();
      return length > 0 && offset % step == 0 && offset / step >= 0 && offset / step < length;
    }
    case ValueKind::kInstance: {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> found, CallDunder(container, "__contains__", {item}, loc));
      if (found.has_value()) return Truth(*found, loc);
      break;
    }
    case ValueKind::kObject: {
      absl::StatusOr<Value> found = container.As<HostObject>()->CallMethod(*self_, "__contains__", CallArgs{{item}, {}}, loc);
      if (found.ok()) return Truth(*found, loc);
      break;
    }
    default: break;
  }
  bool found = false;
  TILEVM_RETURN_IF_ERROR(ForEach(container, loc, [&](const Value& other) -> absl::StatusOr<bool> {
    TILEVM_ASSIGN_OR_RETURN(found, Identical(other, item) ? true : Equals(other, item, loc));
    return !found;
  }));
  return found;
}

absl::StatusOr<int64_t> Evaluator::Impl::Length(const Value& value, Loc loc) {
  switch (value.kind()) {
    case ValueKind::kString: return isa::CodePoints(value.string());
    case ValueKind::kTuple: case ValueKind::kList: return static_cast<int64_t>(value.items().size());
    case ValueKind::kDict: return static_cast<int64_t>(value.As<DictPayload>()->entries.size());
    case ValueKind::kSet: return static_cast<int64_t>(value.As<SetPayload>()->items.size());
    case ValueKind::kClass:
      if (const Value* members = FindInClass(value, "__members__")) return static_cast<int64_t>(members->items().size());
      break;
    case ValueKind::kRange: return RangeLength(*value.As<RangePayload>(), loc);
    case ValueKind::kConstexpr: return Length(value.As<BoxPayload>()->inner, loc);
    case ValueKind::kObject: return value.As<HostObject>()->Length(*self_, loc);
    case ValueKind::kInstance: {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> length, CallDunder(value, "__len__", {}, loc));
      if (length.has_value()) return ToIndex(*length, "__len__", loc);
      break;
    }
    default: break;
  }
  return InvalidAt(loc, "TypeError: object of type '", NameOfType(value), "' has no len()");
}

absl::StatusOr<Value> Evaluator::Impl::Index(const Value& object, const Value& given, Loc loc) {
  Value subscript = Unboxed(given);
  if (IsIndexed(object)) {
    TILEVM_ASSIGN_OR_RETURN(subscript, AsIndex(subscript, loc));
  }
  switch (object.kind()) {
    case ValueKind::kTuple: case ValueKind::kList: {
      const ItemVector& items = object.items();
      const int64_t size = static_cast<int64_t>(items.size());
      if (absl::StartsWith(object.is(ValueKind::kTuple) ? object.As<ItemsPayload>()->class_name : "", "dict_")) break;
      if (subscript.is(ValueKind::kSlice)) {
        TILEVM_ASSIGN_OR_RETURN(SliceBounds bounds, Resolve(*subscript.As<SlicePayload>(), size, loc));
        std::vector<Value> part;
        for (int64_t i = 0; i < bounds.count; ++i) part.push_back(items[static_cast<size_t>(bounds.start + i * bounds.step)]);
        if (object.is(ValueKind::kList)) return Value::List(std::move(part));
        const bool size_of_tensor = object.As<ItemsPayload>()->class_name == "torch.Size";
        return size_of_tensor ? MakeNamedTuple("torch.Size", {}, std::move(part)) : Value::Tuple(std::move(part));
      }
      TILEVM_ASSIGN_OR_RETURN(int64_t at, Position(subscript, size, object.is(ValueKind::kTuple) ? "tuple" : "list", loc));
      return items[static_cast<size_t>(at)];
    }
    case ValueKind::kString: {
      const std::string& text = object.string();
      std::vector<size_t> starts;  // of its characters, if they are not bytes
      TILEVM_ASSIGN_OR_RETURN(const int64_t size, Length(object, loc));
      if (static_cast<size_t>(size) != text.size()) {
        for (size_t i = 0; i < text.size(); ++i) {
          if (isa::StartsCharacter(text[i])) starts.push_back(i);
        }
        starts.push_back(text.size());
      }
      const auto character = [&](int64_t i) {
        const size_t at = static_cast<size_t>(i);
        return starts.empty() ? text.substr(at, 1) : text.substr(starts[at], starts[at + 1] - starts[at]);
      };
      if (subscript.is(ValueKind::kSlice)) {
        TILEVM_ASSIGN_OR_RETURN(SliceBounds bounds, Resolve(*subscript.As<SlicePayload>(), size, loc));
        if (starts.empty() && bounds.step == 1)
          return Value::String(text.substr(std::min(text.size(), static_cast<size_t>(bounds.start)), static_cast<size_t>(bounds.count)));
        std::string part;
        for (int64_t i = 0; i < bounds.count; ++i) part += character(bounds.start + i * bounds.step);
        return Value::String(std::move(part));
      }
      TILEVM_ASSIGN_OR_RETURN(int64_t at, Position(subscript, size, "string", loc));
      return Value::String(character(at));
    }
    case ValueKind::kDict: {
      RefreshAttributes(object);
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> found, DictGet(object, subscript, loc));
      if (found.has_value()) return *std::move(found);
      if (object.As<DictPayload>()->class_name == "Counter") return Value::Int(0);
      const Value factory = object.As<DictPayload>()->factory;
      if (factory.absent_or_none() || IsAttributeDict(object)) return KeyError(subscript, loc);
      TILEVM_ASSIGN_OR_RETURN(Value made, CallHost(factory, {}, loc));
      TILEVM_RETURN_IF_ERROR(SetItem(object, subscript, made, loc));
      return made;
    }
    case ValueKind::kRange: {
      const auto* range = object.As<RangePayload>();
      TILEVM_ASSIGN_OR_RETURN(int64_t length, RangeLength(*range, loc));
      const absl::int128 start = range->start.int_value(), step = range->step.int_value();
      if (subscript.is(ValueKind::kSlice)) {
        TILEVM_ASSIGN_OR_RETURN(SliceBounds bounds, Resolve(*subscript.As<SlicePayload>(), length, loc));
        auto part = std::make_shared<RangePayload>();
        part->start = Value::Int(start + step * bounds.start);
        part->stop = Value::Int(start + step * (bounds.start + absl::int128(bounds.step) * bounds.count));
        part->step = Value::Int(step * bounds.step);
        return Value::Shared(ValueKind::kRange, std::move(part));
      }
      TILEVM_ASSIGN_OR_RETURN(int64_t at, Position(subscript, length, "range object", loc));
      return Value::Int(start + step * at);
    }
    case ValueKind::kConstexpr: return Index(object.As<BoxPayload>()->inner, subscript, loc);
    case ValueKind::kClass:
      if (const Value* members = FindInClass(object, "__members__")) {
        for (const Value& member : members->items()) {
          if (StaticEqual(member.As<InstancePayload>()->attributes[0].second, subscript)) return member;
        }
        return KeyError(subscript, loc);
      }
      return object;
    case ValueKind::kObject: return object.As<HostObject>()->Index(*self_, subscript, loc);
    case ValueKind::kInstance: {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> item, CallDunder(object, "__getitem__", {subscript}, loc));
      if (item.has_value()) return *item;
      break;
    }
    case ValueKind::kJitFunction: case ValueKind::kFunction: {
      const bool kernel = object.is(ValueKind::kJitFunction) ||
                          module_->functions[object.As<FunctionPayload>()->function].kind == isa::FunctionKind::kKernel;
      if (!kernel) break;
      auto launcher = std::make_shared<BoundMethodPayload>();
      launcher->object = object;
      launcher->name = "[grid]";
      launcher->function = subscript;
      return Value::Shared(ValueKind::kBoundMethod, std::move(launcher));
    }
    // Type hints are kept as text, but `list[int]` and `Optional[int]` may also stand in an expression.
    case ValueKind::kBuiltin: return object;
    default: break;
  }
  return InvalidAt(loc, "TypeError: '", NameOfType(object), "' object is not subscriptable");
}

absl::Status Evaluator::Impl::SetItem(const Value& object, const Value& given, const Value& value, Loc loc) {
  Value subscript = Unboxed(given);
  if (IsIndexed(object)) {
    TILEVM_ASSIGN_OR_RETURN(subscript, AsIndex(subscript, loc));
  }
  switch (object.kind()) {
    case ValueKind::kList: {
      std::vector<Value> part;
      if (subscript.is(ValueKind::kSlice)) {
        TILEVM_ASSIGN_OR_RETURN(part, Iterate(value, loc));  // which may change the list
      }
      ItemVector& items = object.mutable_items();
      const int64_t size = static_cast<int64_t>(items.size());
      if (subscript.is(ValueKind::kSlice)) {
        TILEVM_ASSIGN_OR_RETURN(SliceBounds bounds, Resolve(*subscript.As<SlicePayload>(), size, loc));
        if (bounds.step == 1) {
          const size_t first = static_cast<size_t>(std::min(bounds.start, size));
          items.replace(first, first + static_cast<size_t>(bounds.count), part);
          object.As<ItemsPayload>()->Recount();
          return absl::OkStatus();
        }
        if (static_cast<int64_t>(part.size()) != bounds.count)
          return InvalidAt(loc, "ValueError: attempt to assign sequence of size ", part.size(), " to extended slice of size ", bounds.count);
        for (int64_t i = 0; i < bounds.count; ++i) items[static_cast<size_t>(bounds.start + i * bounds.step)] = part[static_cast<size_t>(i)];
        return absl::OkStatus();
      }
      TILEVM_ASSIGN_OR_RETURN(int64_t at, Position(subscript, size, "list", loc));
      items[static_cast<size_t>(at)] = value;
      return absl::OkStatus();
    }
    case ValueKind::kDict:
      RefreshAttributes(object);
      TILEVM_RETURN_IF_ERROR(DictPut(object, subscript, value, loc));
      StoreAttributes(object);
      return absl::OkStatus();
    case ValueKind::kObject: return object.As<HostObject>()->SetItem(*self_, subscript, value, loc);
    case ValueKind::kInstance: {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> done, CallDunder(object, "__setitem__", {subscript, value}, loc));
      if (done.has_value()) return absl::OkStatus();
      break;
    }
    default: break;
  }
  return InvalidAt(loc, "TypeError: '", NameOfType(object), "' object does not support item assignment");
}

absl::Status Evaluator::Impl::DeleteItem(const Value& object, const Value& given, Loc loc) {
  Value subscript = given;
  if (object.is(ValueKind::kDict)) {
    RefreshAttributes(object);
    PairTable& entries = object.As<DictPayload>()->entries;
    TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, FindKey(entries, subscript, loc));
    if (!place.has_value()) return KeyError(subscript, loc);
    entries.EraseAt(*place);
    StoreAttributes(object);
    return absl::OkStatus();
  }
  if (object.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> done, CallDunder(object, "__delitem__", {subscript}, loc));
    if (done.has_value()) return absl::OkStatus();
  }
  if (object.is(ValueKind::kList)) {
    TILEVM_ASSIGN_OR_RETURN(subscript, AsIndex(subscript, loc));
    ItemVector& items = object.mutable_items();
    if (subscript.is(ValueKind::kSlice)) {
      const int64_t size = static_cast<int64_t>(items.size());
      TILEVM_ASSIGN_OR_RETURN(const SliceBounds bounds, Resolve(*subscript.As<SlicePayload>(), size, loc));
      std::vector<bool> goes(items.size());
      for (int64_t i = 0; i < bounds.count; ++i) goes[static_cast<size_t>(bounds.start + i * bounds.step)] = true;
      std::vector<Value> kept;
      for (size_t i = 0; i < goes.size(); ++i) {
        if (!goes[i]) kept.push_back(items[i]);
      }
      return SetItem(object, SliceOfAll(), Value::List(std::move(kept)), loc);
    }
    TILEVM_ASSIGN_OR_RETURN(int64_t at, Position(subscript, static_cast<int64_t>(items.size()), "list", loc));
    items.erase(static_cast<size_t>(at));
    return absl::OkStatus();
  }
  return InvalidAt(loc, "TypeError: '", NameOfType(object), "' object does not support item deletion");
}

}  // namespace tilevm::specializer
