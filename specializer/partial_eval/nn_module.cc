// torch.nn.Module, as far as programs use it as a holder of parameters: calling one runs forward, and the methods below walk its attributes.
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;

namespace {

enum class Part { kParameters, kModules };

bool IsModule(const Impl& impl, const Value& value) {
  return value.is(ValueKind::kInstance) && impl.HasBase(value.As<InstancePayload>()->type, "torch.nn.Module");
}

bool IsParameter(Impl& impl, const Value& value) {
  if (!value.is(ValueKind::kObject) || value.As<HostObject>()->type_name() != "torch.Tensor") return false;
  const absl::StatusOr<Value> is = value.As<HostObject>()->GetAttr(impl.self(), "is_nn_parameter", {});
  return is.ok() && is->is(ValueKind::kBool) && is->bool_value();
}

// Names with a point for each module around them, in the order of assignment.
absl::Status Collect(Impl& impl, const Value& module, const std::string& prefix, Part part, bool deep, std::vector<std::pair<std::string, Value>>* found,
                     Loc loc) {
  TILEVM_RETURN_IF_ERROR(impl.CheckStack(loc));
  const auto attributes = module.As<InstancePayload>()->attributes;
  for (const auto& [name, value] : attributes) {
    const bool inner = IsModule(impl, value);
    const std::string whole = absl::StrCat(prefix, name);
    if (part == Part::kModules ? inner : IsParameter(impl, value)) found->emplace_back(whole, value);
    if (inner && deep) TILEVM_RETURN_IF_ERROR(Collect(impl, value, absl::StrCat(whole, "."), part, deep, found, loc));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> List(Impl& impl, const CallArgs& args, Part part, bool deep, bool named, Loc loc) {
  std::vector<std::pair<std::string, Value>> found;
  if (part == Part::kModules && deep) found.emplace_back("", args.positional[0]);
  TILEVM_RETURN_IF_ERROR(Collect(impl, args.positional[0], "", part, deep, &found, loc));
  std::vector<Value> items;
  for (auto& [name, value] : found) items.push_back(named ? Value::Tuple({Value::String(name), value}) : value);
  return impl.IteratorOf(Value::List(std::move(items)), loc);
}

template <Part kPart, bool kDeep, bool kNamed>
absl::StatusOr<Value> ListOf(Impl& impl, const CallArgs& args, Loc loc) {
  return List(impl, args, kPart, kDeep, kNamed, loc);
}

absl::StatusOr<Value> StateDict(Impl& impl, const CallArgs& args, Loc loc) {
  std::vector<std::pair<std::string, Value>> found;
  TILEVM_RETURN_IF_ERROR(Collect(impl, args.positional[0], "", Part::kParameters, true, &found, loc));
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [name, value] : found) entries.emplace_back(Value::String(name), value);
  return MakeDict(std::move(entries));
}

// to, half, cuda, ...: every tensor among the attributes is replaced by what its own method gives.
absl::StatusOr<Value> Convert(Impl& impl, const Value& module, absl::string_view method, const CallArgs& more, Loc loc) {
  TILEVM_RETURN_IF_ERROR(impl.CheckStack(loc));
  const auto attributes = module.As<InstancePayload>()->attributes;
  for (const auto& [name, value] : attributes) {
    if (IsModule(impl, value)) TILEVM_RETURN_IF_ERROR(Convert(impl, value, method, more, loc).status());
    if (!value.is(ValueKind::kObject) || value.As<HostObject>()->type_name() != "torch.Tensor") continue;
    TILEVM_ASSIGN_OR_RETURN(Value converted, value.As<HostObject>()->CallMethod(impl.self(), method, more, loc));
    if (IsParameter(impl, value)) {
      TILEVM_ASSIGN_OR_RETURN(converted, impl.CallBuiltin("torch.nn.Parameter", CallArgs{{converted}, {}}, false, loc));
    }
    TILEVM_RETURN_IF_ERROR(impl.SetAttr(module, name, converted, loc));
  }
  return module;
}

template <char... kName>
absl::StatusOr<Value> ConvertBy(Impl& impl, const CallArgs& args, Loc loc) {
  static constexpr char kText[] = {kName..., 0};
  CallArgs more = args;
  more.positional.erase(more.positional.begin());
  return Convert(impl, args.positional[0], kText, more, loc);
}

absl::StatusOr<Value> Itself(Impl&, const CallArgs& args, Loc) { return args.positional[0]; }

// register_buffer(name, tensor), register_parameter(name, parameter)
absl::StatusOr<Value> Register(Impl& impl, const CallArgs& args, Loc loc) {
  if (args.positional.size() < 3 || !args.positional[1].is(ValueKind::kString)) return InvalidAt(loc, "TypeError: a name and a tensor are wanted");
  TILEVM_RETURN_IF_ERROR(impl.SetAttr(args.positional[0], args.positional[1].string(), args.positional[2], loc));
  return Value::None();
}

constexpr BuiltinRow kRows[] = {
    {"parameters", ListOf<Part::kParameters, true, false>},
    {"named_parameters", ListOf<Part::kParameters, true, true>},
    {"children", ListOf<Part::kModules, false, false>},
    {"named_children", ListOf<Part::kModules, false, true>},
    {"modules", ListOf<Part::kModules, true, false>},
    {"named_modules", ListOf<Part::kModules, true, true>},
    {"state_dict", StateDict},
    {"register_buffer", Register},
    {"register_parameter", Register},
    {"to", ConvertBy<'t', 'o'>},
    {"cuda", ConvertBy<'c', 'u', 'd', 'a'>},
    {"cpu", ConvertBy<'c', 'p', 'u'>},
    {"half", ConvertBy<'h', 'a', 'l', 'f'>},
    {"float", ConvertBy<'f', 'l', 'o', 'a', 't'>},
    {"double", ConvertBy<'d', 'o', 'u', 'b', 'l', 'e'>},
    {"bfloat16", ConvertBy<'b', 'f', 'l', 'o', 'a', 't', '1', '6'>},
    {"eval", Itself},
    {"train", Itself},
    {"requires_grad_", Itself},
    {"zero_grad", Itself},
};

}  // namespace

BuiltinFunction FindModuleMethod(const Impl& impl, const Value& object, absl::string_view name) {
  if (!IsModule(impl, object) || impl.FindInClass(object.As<InstancePayload>()->type, name) != nullptr) return nullptr;
  for (const BuiltinRow& row : kRows) {
    if (row.path == name) return row.function;
  }
  return nullptr;
}

absl::StatusOr<Value> CallModule(Impl& impl, const Value& module, const CallArgs& args, bool kernel, Loc loc) {
  const Value* forward = impl.FindInClass(module.As<InstancePayload>()->type, "forward");
  if (forward == nullptr) return InvalidAt(loc, "NotImplementedError: Module [", impl.NameOfType(module), "] is missing the required \"forward\" function");
  CallArgs with_self = args;
  with_self.positional.insert(with_self.positional.begin(), module);
  return impl.CallValue(*forward, with_self, kernel, loc);
}

}  // namespace tilevm::specializer
