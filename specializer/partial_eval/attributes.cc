// object.name for every kind of value, and object.name = value on the host.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/live_dict.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

Value Method(const Value& object, absl::string_view name) {
  auto method = std::make_shared<BoundMethodPayload>();
  method->object = object;
  method->name = std::string(name);
  return Value::Shared(ValueKind::kBoundMethod, std::move(method));
}

Value Bound(const Value& object, absl::string_view name, const Value& function) {
  auto method = std::make_shared<BoundMethodPayload>();
  method->object = object;
  method->name = std::string(name);
  method->function = function;
  return Value::Shared(ValueKind::kBoundMethod, std::move(method));
}

Value ShapeValue(const isa::Shape& shape) {
  std::vector<Value> extents;
  for (int64_t extent : shape) extents.push_back(Value::Int(extent));
  return Value::Tuple(std::move(extents));
}

absl::StatusOr<Value> FunctionAttr(const isa::Module& module, const Value& object, absl::string_view name, Loc loc) {
  const auto* function = object.As<FunctionPayload>();
  for (const auto& [key, value] : function->attributes) {
    if (key == name) return value;
  }
  if (name == "__dict__") return AttributeDict(object);
  if (name == "__name__" || name == "__qualname__") return Value::String(module.functions[function->function].name);
  if (name == "__doc__") return Value::None();
  if (name == "__module__") return Value::String("__main__");
  if (name == "__wrapped__" || name == "fn") return object;
  return InvalidAt(loc, "AttributeError: function '", module.functions[function->function].name, "' has no attribute '", name, "'");
}

}  // namespace

// What a class attribute gives when it is asked for: itself, unless its own class has __get__.
absl::StatusOr<Value> Evaluator::Impl::FromDescriptor(const Value& found, const Value& instance, const Value& type, Loc loc) {
  if (!found.is(ValueKind::kInstance)) return found;
  const Value descriptor = found;
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallDunder(descriptor, "__get__", {instance, type}, loc));
  return value.has_value() ? *std::move(value) : descriptor;
}

absl::StatusOr<Value> Evaluator::Impl::ClassAttr(const Value& type, absl::string_view name, Loc loc) {
  const auto* payload = type.As<ClassPayload>();
  if (const Value* found = FindInClass(type, name)) {
    if (name == "__members__" && found->is(ValueKind::kTuple)) {  // an enum's, by name
      std::vector<std::pair<Value, Value>> entries;
      for (const Value& member : found->items()) entries.emplace_back(member.As<InstancePayload>()->attributes[0].second, member);
      return MakeDict(std::move(entries));
    }
    if (!found->is(ValueKind::kObject)) return FromDescriptor(*found, Value::None(), type, loc);
    if (auto* wrapper = dynamic_cast<MethodWrapper*>(found->As<HostObject>())) {
      if (wrapper->kind == MethodWrapper::Kind::kStatic) return wrapper->function;
      if (wrapper->kind == MethodWrapper::Kind::kClass) return Bound(type, name, wrapper->function);
    }
    return *found;
  }
  if (name == "__name__" || name == "__qualname__") return Value::String(payload->name);
  if (name == "__new__") return Value::Builtin("builtins.object.__new__");
  if (name == "apply" && HasBase(type, "torch.autograd.Function")) return Method(type, name);
  if (name == "_make" && FindInClass(type, "_fields") != nullptr) return Method(type, name);
  return InvalidAt(loc, "AttributeError: type object '", payload->name, "' has no attribute '", name, "'");
}

absl::StatusOr<Value> Evaluator::Impl::InstanceAttr(const Value& instance, absl::string_view name, Loc loc) {
  auto* payload = instance.As<InstancePayload>();
  for (const auto& [key, value] : payload->attributes) {
    if (key == name) return value;
  }
  if (name == "__class__") return payload->type;
  if (const Value* found = FindInClass(payload->type, name)) {
    if (found->is(ValueKind::kFunction)) return Bound(instance, name, *found);
    if (found->is(ValueKind::kObject)) {
      if (auto* wrapper = dynamic_cast<MethodWrapper*>(found->As<HostObject>())) {
        if (wrapper->kind == MethodWrapper::Kind::kStatic) return wrapper->function;
        if (wrapper->kind == MethodWrapper::Kind::kClass) return Bound(payload->type, name, wrapper->function);
        TILEVM_ASSIGN_OR_RETURN(Value value, CallHost(wrapper->function, {instance}, loc));
        if (wrapper->kind == MethodWrapper::Kind::kCachedProperty) TILEVM_RETURN_IF_ERROR(SetAttr(instance, name, value, loc, true));
        return value;
      }
      if (dynamic_cast<CacheObject*>(found->As<HostObject>()) != nullptr) return Bound(instance, name, *found);
    }
    return FromDescriptor(*found, instance, payload->type, loc);
  }
  if (name == "__dict__") return AttributeDict(instance);
  if (HasPythonMethod(instance, name)) return Method(instance, name);
  if (IsSubclass(payload->type, Value::Builtin("builtins.BaseException"))) {
    for (absl::string_view none : {"__cause__", "__context__", "__traceback__"}) {
      if (name == none) return Value::None();
    }
    if ((name == "value" && IsSubclass(payload->type, Value::Builtin("builtins.StopIteration"))) ||
        (name == "code" && IsSubclass(payload->type, Value::Builtin("builtins.SystemExit")))) {
      TILEVM_ASSIGN_OR_RETURN(const Value args, InstanceAttr(instance, "args", loc));
      return args.items().empty() ? Value::None() : args.items()[0];
    }
  }
  if (std::optional<Value> number = EnumNumber(instance); number.has_value() && HasPythonMethod(*number, name)) return Method(*number, name);  // str's, int's
  if (const Value* fallback = FindInClass(payload->type, "__getattr__")) return CallHost(*fallback, {instance, Value::String(std::string(name))}, loc);
  return InvalidAt(loc, "AttributeError: '", NameOfType(instance), "' object has no attribute '", name, "'");
}

absl::StatusOr<Value> Evaluator::Impl::GetAttr(const Value& object, absl::string_view name, bool kernel, Loc loc) {
  switch (object.kind()) {
    case ValueKind::kTensor:
      if (TensorMethod(name)) return Method(object, name);
      return TensorAttr(kernel_state_->elaborator, object, name, loc);
    case ValueKind::kBlockPtr: {
      if (isa::OpFromSurface(absl::StrCat(".", name))) return Method(object, name);
      const auto* pointer = object.As<BlockPtrPayload>();
      const isa::DType pointee = kernel_state_->kernel.TypeOf(pointer->base.tensor()).elem.dtype;
      if (name == "dtype" || name == "type") {
        auto type = std::make_shared<BlockTypePayload>();
        type->type = isa::TileType(pointee, pointer->block_shape);
        return name == "dtype" ? Value::PointerTypeOf(pointee) : Value::Shared(ValueKind::kBlockType, std::move(type));
      }
      if (name == "shape") return ShapeValue(pointer->block_shape);
      break;
    }
    case ValueKind::kDescriptor: {
      absl::StatusOr<Value> value = DescriptorAttr(kernel_state_->elaborator, object, name, loc);
      // Its methods (load, store, gather, atomics) are found when they are called.
      return value.ok() ? value : Method(object, name);
    }
    case ValueKind::kBuiltin: {
      const std::string path = absl::StrCat(object.string(), ".", name);
      if (name == "__name__") return Value::String(object.string().substr(object.string().rfind('.') + 1));
      return ImportedValue(path, loc);
    }
    case ValueKind::kUnit: {
      const uint32_t unit = static_cast<uint32_t>(object.As<BoxPayload>()->inner.int_value());
      absl::StatusOr<Value> value = UnitGlobal(unit, name, loc);
      if (!value.ok() && absl::IsNotFound(value.status())) {
        return InvalidAt(loc, "AttributeError: module '", module_->units[unit].name, "' has no attribute '", name, "'");
      }
      if (kernel && value.ok() && value->is(ValueKind::kConstexpr)) return Unboxed(*value);
      return value;
    }
    case ValueKind::kDType: case ValueKind::kPointerType: case ValueKind::kBlockType:
      if (IsTypeMethod(name)) return Method(object, name);
      return TypeAttribute(object, name, loc);
    case ValueKind::kTuple: {
      const auto* tuple = object.As<ItemsPayload>();
      for (size_t i = 0; i < tuple->field_names.size(); ++i) {
        if (tuple->field_names[i] == name) return tuple->items[i];
      }
      if (name == "_fields" && !tuple->field_names.empty()) {
        std::vector<Value> names;
        for (const std::string& field : tuple->field_names) names.push_back(Value::String(field));
        return Value::Tuple(std::move(names));
      }
      break;
    }
    case ValueKind::kConstexpr: {
      const Value& inner = object.As<BoxPayload>()->inner;
      return name == "value" ? absl::StatusOr<Value>(inner) : GetAttr(inner, name, kernel, loc);
    }
    case ValueKind::kBool: case ValueKind::kInt: case ValueKind::kFloat:
      if (name == "value" || name == "real") return object;
      if (kernel && (isa::OpFromSurface(absl::StrCat(".", name)) || name == "dtype" || name == "shape" || name == "type")) {
        return InvalidAt(loc, "AttributeError: ", Repr(object), " is constexpr here and has no attribute '", name,
                         "'; an integer argument equal to 1 is specialized to a constexpr");
      }
      break;
    case ValueKind::kString:
      if (name == "value" && kernel) return object;
      break;
    case ValueKind::kRange: {
      const auto* range = object.As<RangePayload>();
      if (name == "start") return range->start;
      if (name == "stop") return range->stop;
      if (name == "step") return range->step;
      break;
    }
    case ValueKind::kSlice: {
      const auto* slice = object.As<SlicePayload>();
      if (name == "start") return slice->start;
      if (name == "stop") return slice->stop;
      if (name == "step") return slice->step;
      break;
    }
    case ValueKind::kFunction: return FunctionAttr(*module_, object, name, loc);
    case ValueKind::kJitFunction: {
      const auto* jit = object.As<JitPayload>();
      if (name == "fn") {
        if (jit->wrappers.empty()) return jit->function;
        auto inner = std::make_shared<JitPayload>(*jit);
        inner->wrappers.pop_back();
        return Value::Shared(ValueKind::kJitFunction, std::move(inner));
      }
      if (name == "configs") {
        for (const JitWrapper& wrapper : jit->wrappers) {
          if (wrapper.kind != JitWrapper::Kind::kAutotune) continue;
          if (Value* configs = DictFind(*wrapper.arguments.As<DictPayload>(), Value::String("configs"))) return *configs;
        }
      }
      if (name == "best_config" || name == "cache") {
        bool tuned = false;
        for (const JitWrapper& wrapper : jit->wrappers) tuned |= wrapper.kind == JitWrapper::Kind::kAutotune;
        if (tuned && name == "cache") return jit->cache.absent() ? MakeDict({}) : jit->cache;
        if (tuned && !jit->best_config.absent()) return jit->best_config;
        if (tuned) return InvalidAt(loc, "AttributeError: the autotuned kernel has no best_config before its first launch");
      }
      if (name == "arg_names") {
        std::vector<Value> names;
        const auto* function = jit->function.As<FunctionPayload>();
        for (const isa::Param& param : module_->functions[function->function].params) names.push_back(Value::String(param.name));
        return Value::List(std::move(names));
      }
      if (name == "run" || name == "warmup") return Method(object, name);
      return FunctionAttr(*module_, jit->function, name, loc);
    }
    case ValueKind::kClass: return ClassAttr(object, name, loc);
    case ValueKind::kInstance: return InstanceAttr(object, name, loc);
    case ValueKind::kBoundMethod: {
      const auto* method = object.As<BoundMethodPayload>();
      if (name == "__self__") return method->object;
      if (name == "__name__") return Value::String(method->name);
      if (!method->function.absent() && name == "__func__") return method->function;
      break;
    }
    case ValueKind::kObject:
      if (name == "__class__") return CallBuiltin("builtins.type", CallArgs{{object}, {}}, false, loc);
      return object.As<HostObject>()->GetAttr(*self_, name, loc);
    default: break;
  }
  if (HasPythonMethod(object, name)) return Method(object, name);
  if (name == "__class__") return CallBuiltin("builtins.type", CallArgs{{object}, {}}, false, loc);
  return InvalidAt(loc, "AttributeError: '", NameOfType(object), "' object has no attribute '", name, "'");
}

absl::Status Evaluator::Impl::SetAttr(const Value& object, absl::string_view name, const Value& value, Loc loc, bool by_object) {
  std::vector<std::pair<std::string, Value>>* attributes = nullptr;
  if (object.is(ValueKind::kInstance)) {
    auto* instance = object.As<InstancePayload>();
    attributes = &instance->attributes;
    if (!by_object) {
      TILEVM_ASSIGN_OR_RETURN(bool done, SetByClass(object, name, value, loc));
      if (done) return absl::OkStatus();
    }
  }
  if (object.is(ValueKind::kClass)) attributes = &object.As<ClassPayload>()->attributes;
  if (object.is(ValueKind::kFunction)) attributes = &object.As<FunctionPayload>()->attributes;
  if (attributes != nullptr) {
    for (auto& [key, current] : *attributes) {
      if (key != name) continue;
      current = value;
      return absl::OkStatus();
    }
    attributes->emplace_back(std::string(name), value);
    object.payload()->Charge(attributes->capacity() * sizeof(attributes->front()));
    return absl::OkStatus();
  }
  if (object.is(ValueKind::kObject)) return object.As<HostObject>()->SetAttr(*self_, name, value, loc);
  if (object.is(ValueKind::kUnit)) return SetGlobal(static_cast<uint32_t>(object.As<BoxPayload>()->inner.int_value()), name, value);
  // Switches of a library that is not here.
  if (object.is(ValueKind::kBuiltin) && absl::StartsWith(object.string(), "torch.backends.")) return absl::OkStatus();
  // A kernel's are notes that nothing here reads.
  if (object.is(ValueKind::kJitFunction)) return absl::OkStatus();
  return InvalidAt(loc, "AttributeError: '", NameOfType(object), "' object attribute '", name, "' cannot be set");
}

// What the class has to say: __setattr__, a property, a frozen dataclass, an enum. True if it is done with that.
absl::StatusOr<bool> Evaluator::Impl::SetByClass(const Value& object, absl::string_view name, const Value& value, Loc loc) {
  const Value type = object.As<InstancePayload>()->type;
  if (!type.is(ValueKind::kClass)) return false;
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> done, CallDunder(object, "__setattr__", {Value::String(std::string(name)), value}, loc));
  if (done.has_value()) return true;
  if (HasFlag(type, "__dataclass_frozen__")) return InvalidAt(loc, "FrozenInstanceError: cannot assign to field '", name, "'");
  const Value* found = FindInClass(type, name);
  if (found != nullptr && found->is(ValueKind::kInstance)) {
    const Value descriptor = *found;
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> set, CallDunder(descriptor, "__set__", {object, value}, loc));
    return set.has_value();
  }
  auto* wrapper = found != nullptr && found->is(ValueKind::kObject) ? dynamic_cast<MethodWrapper*>(found->As<HostObject>()) : nullptr;
  if (wrapper == nullptr || wrapper->kind != MethodWrapper::Kind::kProperty) return false;
  if (wrapper->setter.absent()) return InvalidAt(loc, "AttributeError: property '", name, "' of '", NameOfType(object), "' object has no setter");
  TILEVM_RETURN_IF_ERROR(CallHost(wrapper->setter, {object, value}, loc).status());
  return true;
}

absl::Status Evaluator::Impl::DeleteAttr(const Value& object, absl::string_view name, Loc loc) {
  if (object.is(ValueKind::kObject)) return object.As<HostObject>()->SetAttr(*self_, name, Value(), loc);
  std::vector<std::pair<std::string, Value>>* attributes = nullptr;
  if (object.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> done, CallDunder(object, "__delattr__", {Value::String(std::string(name))}, loc));
    if (done.has_value()) return absl::OkStatus();
    if (HasFlag(object.As<InstancePayload>()->type, "__dataclass_frozen__")) return InvalidAt(loc, "FrozenInstanceError: cannot delete field '", name, "'");
    attributes = &object.As<InstancePayload>()->attributes;
  }
  if (object.is(ValueKind::kClass)) attributes = &object.As<ClassPayload>()->attributes;
  for (size_t i = 0; attributes != nullptr && i < attributes->size(); ++i) {
    if ((*attributes)[i].first != name) continue;
    const Value old = std::move((*attributes)[i].second);
    attributes->erase(attributes->begin() + static_cast<std::ptrdiff_t>(i));
    return absl::OkStatus();
  }
  return InvalidAt(loc, "AttributeError: '", NameOfType(object), "' object has no attribute '", name, "'");
}

}  // namespace tilevm::specializer
