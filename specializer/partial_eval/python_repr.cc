// repr() and str(): Python's text of a value, with the methods that classes give; a value inside itself is "...".
#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/python_format.h"

namespace tilevm::specializer {

namespace {

// The writer of one text. Its own recursion: whatever a __repr__ prints starts another one.
class Representation {
 public:
  Representation(Evaluator::Impl& impl, Loc loc) : impl_(impl), loc_(loc) {}
  std::string& text() { return text_; }

  absl::Status Add(const Value& value) {
    TILEVM_RETURN_IF_ERROR(impl_.CheckStack(loc_));
    TILEVM_RETURN_IF_ERROR(impl_.CheckText(text_.size(), loc_));
    switch (value.kind()) {
      case ValueKind::kTuple: case ValueKind::kList: case ValueKind::kDict: case ValueKind::kSet: case ValueKind::kInstance: break;
      default:
        TILEVM_RETURN_IF_ERROR(impl_.CheckMeaning(value, loc_));
        text_ += IsTyped(value) ? impl_.NameOfType(value) : Repr(value);
        return absl::OkStatus();
    }
    const Payload* payload = value.payload().get();
    if (std::find(open_.begin(), open_.end(), payload) != open_.end()) {
      text_ += value.is(ValueKind::kList) ? "[...]" : value.is(ValueKind::kTuple) ? "(...)" : value.is(ValueKind::kInstance) ? "..." : "{...}";
      return absl::OkStatus();
    }
    open_.push_back(payload);
    const absl::Cleanup close = [this] { open_.pop_back(); };
    switch (value.kind()) {
      case ValueKind::kTuple: return Tuple(*value.As<ItemsPayload>());
      case ValueKind::kList: return Items("[", value.items(), "]");
      case ValueKind::kDict: return DictOfClass(value);
      case ValueKind::kSet: return Set(*value.As<SetPayload>());
      default: return Instance(value);
    }
  }

 private:
  absl::Status Items(absl::string_view open, const ItemVector& items, absl::string_view close) {
    absl::StrAppend(&text_, open);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) text_ += ", ";
      TILEVM_RETURN_IF_ERROR(Add(items[i]));
    }
    absl::StrAppend(&text_, close);
    return absl::OkStatus();
  }
  absl::Status Fields(absl::string_view name, const std::vector<std::pair<std::string, Value>>& fields) {
    absl::StrAppend(&text_, name, "(");
    for (size_t i = 0; i < fields.size(); ++i) {
      absl::StrAppend(&text_, i != 0 ? ", " : "", fields[i].first, "=");
      TILEVM_RETURN_IF_ERROR(Add(fields[i].second));
    }
    text_ += ")";
    return absl::OkStatus();
  }
  absl::Status Tuple(const ItemsPayload& tuple) {
    if (absl::StartsWith(tuple.class_name, "dict_")) return Items(absl::StrCat(tuple.class_name, "(["), tuple.items, "])");
    if (tuple.class_name == "torch.Size") return Items("torch.Size([", tuple.items, "])");
    if (tuple.field_names.size() != tuple.items.size() || tuple.field_names.empty()) return Items("(", tuple.items, tuple.items.size() == 1 ? ",)" : ")");
    std::vector<std::pair<std::string, Value>> fields;
    for (size_t i = 0; i < tuple.items.size(); ++i) fields.emplace_back(tuple.field_names[i], tuple.items[i]);
    return Fields(tuple.class_name, fields);
  }
  absl::Status Dict(const PairTable& entries) {
    std::vector<std::pair<Value, Value>> pairs;
    for (const auto& pair : entries) pairs.push_back(pair);
    text_ += "{";
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i != 0) text_ += ", ";
      TILEVM_RETURN_IF_ERROR(Add(pairs[i].first));
      text_ += ": ";
      TILEVM_RETURN_IF_ERROR(Add(pairs[i].second));
    }
    text_ += "}";
    return absl::OkStatus();
  }
  absl::Status DictOfClass(const Value& value) {
    const auto* dict = value.As<DictPayload>();
    if (dict->class_name.empty()) return Dict(dict->entries);
    const Value holder = value;  // its parts may change it
    if (dict->entries.empty() && dict->class_name != "defaultdict") {
      absl::StrAppend(&text_, dict->class_name, "()");
      return absl::OkStatus();
    }
    if (dict->class_name == "OrderedDict") {
      std::vector<Value> pairs;
      for (const auto& [key, item] : dict->entries) pairs.push_back(Value::Tuple({key, item}));
      return Items("OrderedDict([", std::move(pairs), "])");
    }
    absl::StrAppend(&text_, dict->class_name, "(");
    if (dict->class_name == "Counter") {  // the most common first
      TILEVM_ASSIGN_OR_RETURN(const Value sorted, impl_.CallPythonMethod(holder, "most_common", {}, loc_));
      PairTable entries;
      for (const Value& pair : sorted.items()) entries.Append(pair.items()[0], pair.items()[1], 0);
      TILEVM_RETURN_IF_ERROR(Dict(entries));
    } else {
      TILEVM_RETURN_IF_ERROR(Add(dict->factory));
      text_ += ", ";
      TILEVM_RETURN_IF_ERROR(Dict(dict->entries));
    }
    text_ += ")";
    return absl::OkStatus();
  }
  absl::Status Set(const SetPayload& set) {
    if (set.items.empty()) {
      absl::StrAppend(&text_, set.frozen ? "frozenset" : "set", "()");
      return absl::OkStatus();
    }
    std::vector<Value> items;
    for (const auto& [item, nothing] : set.items) items.push_back(item);
    return Items(set.frozen ? "frozenset({" : "{", std::move(items), set.frozen ? "})" : "}");
  }
  absl::Status Instance(const Value& value) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> own, impl_.CallDunder(value, "__repr__", {}, loc_));
    if (own.has_value()) {
      if (!own->is(ValueKind::kString)) return InvalidAt(loc_, "TypeError: __repr__ returned non-string (type ", impl_.NameOfType(*own), ")");
      text_ += own->string();
      return absl::OkStatus();
    }
    const auto* instance = value.As<InstancePayload>();
    if (impl_.FindInClass(instance->type, "__members__") != nullptr) {
      absl::StrAppend(&text_, "<", impl_.NameOfType(value), ".", instance->attributes[0].second.string(), ": ");
      TILEVM_RETURN_IF_ERROR(Add(instance->attributes[1].second));
      text_ += ">";
      return absl::OkStatus();
    }
    if (const Value* shown = impl_.FindInClass(instance->type, "__dataclass_repr__")) {
      std::vector<std::pair<std::string, Value>> fields;
      for (const Value& name : shown->items()) {
        for (const auto& attribute : instance->attributes) {
          if (attribute.first == name.string()) fields.push_back(attribute);
        }
      }
      return Fields(impl_.NameOfType(value), fields);
    }
    const bool exception = !instance->attributes.empty() && instance->attributes[0].first == "args" && instance->attributes[0].second.is(ValueKind::kTuple);
    if (exception) return Items(absl::StrCat(impl_.NameOfType(value), "("), instance->attributes[0].second.items(), ")");
    return Fields(impl_.NameOfType(value), instance->attributes);
  }

  Evaluator::Impl& impl_;
  Loc loc_;
  std::string text_;
  std::vector<const Payload*> open_;  // what is being written
};

}  // namespace

absl::Status Evaluator::Impl::CheckText(size_t size, Loc loc) const {
  if (size <= kMaxText) return absl::OkStatus();
  return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a string of more than ", kMaxText, " bytes");
}

absl::StatusOr<std::string> Evaluator::Impl::ToStr(const Value& value, Loc loc) {
  if (value.is(ValueKind::kString)) return value.string();
  if (value.is(ValueKind::kInstance)) {
    for (const char* name : {"__str__", "__repr__"}) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> text, CallDunder(value, name, {}, loc));
      if (!text.has_value()) continue;
      if (!text->is(ValueKind::kString)) return InvalidAt(loc, "TypeError: ", name, " returned non-string (type ", NameOfType(*text), ")");
      return text->string();
    }
    const auto* instance = value.As<InstancePayload>();
    if (FindInClass(instance->type, "__members__") != nullptr) {
      for (const char* path : {"enum.IntEnum", "enum.StrEnum", "enum.IntFlag"}) {  // a mixin of int or str alone does not change the text
        if (HasBase(instance->type, path)) return ToStr(instance->attributes[1].second, loc);
      }
      return absl::StrCat(NameOfType(value), ".", instance->attributes[0].second.string());
    }
    if (HasBase(instance->type, "triton.Config")) {  // "B: 64, num_warps: 4, ..."
      TILEVM_ASSIGN_OR_RETURN(const Value kwargs, InstanceAttr(value, "kwargs", loc));
      std::string text;
      for (const auto& [name, item] : kwargs.As<DictPayload>()->entries) absl::StrAppend(&text, Str(name), ": ", Str(item), ", ");
      for (const char* name : {"num_warps", "num_ctas", "num_stages", "maxnreg"}) {
        TILEVM_ASSIGN_OR_RETURN(const Value item, InstanceAttr(value, name, loc));
        absl::StrAppend(&text, name, ": ", Str(item), name == absl::string_view("maxnreg") ? "" : ", ");
      }
      return text;
    }
    // An exception is its arguments.
    if (instance->text != nullptr) return *instance->text;
    for (const auto& [name, attribute] : instance->attributes) {
      if (name != "args" || !attribute.is(ValueKind::kTuple)) continue;
      const Value args = attribute;
      if (args.items().empty()) return std::string();
      TILEVM_RETURN_IF_ERROR(CheckStack(loc));
      if (args.items().size() == 2 && args.items()[0].is(ValueKind::kInt) && IsSubclass(instance->type, Value::Builtin("builtins.OSError"))) {
        TILEVM_ASSIGN_OR_RETURN(const std::string why, ToStr(args.items()[1], loc));
        return absl::StrCat("[Errno ", Str(args.items()[0]), "] ", why);
      }
      if (args.items().size() != 1) return ToRepr(args, loc);
      const bool key = instance->type.is(ValueKind::kBuiltin) && instance->type.string() == "builtins.KeyError";
      return key ? ToRepr(args.items()[0], loc) : ToStr(args.items()[0], loc);
    }
    return ToRepr(value, loc);
  }
  if (value.is(ValueKind::kTuple) || value.is(ValueKind::kList) || value.is(ValueKind::kDict) || value.is(ValueKind::kSet)) return ToRepr(value, loc);
  if (IsTyped(value)) return NameOfType(value);
  if (value.is(ValueKind::kObject) && value.As<HostObject>()->type_name() == "torch.device") {  // "cuda:0"; repr() is longer
    HostObject* device = value.As<HostObject>();
    TILEVM_ASSIGN_OR_RETURN(const Value type, device->GetAttr(*self_, "type", loc));
    TILEVM_ASSIGN_OR_RETURN(const Value index, device->GetAttr(*self_, "index", loc));
    return index.absent_or_none() ? type.string() : absl::StrCat(type.string(), ":", Str(index));
  }
  TILEVM_RETURN_IF_ERROR(CheckMeaning(value, loc));
  return Str(value);
}

absl::StatusOr<std::string> Evaluator::Impl::ToRepr(const Value& value, Loc loc) {
  Representation representation(*this, loc);
  TILEVM_RETURN_IF_ERROR(representation.Add(value));
  return std::move(representation.text());
}

}  // namespace tilevm::specializer
