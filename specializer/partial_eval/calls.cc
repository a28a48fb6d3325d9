// Calls: gathering arguments, binding them to parameters, and running what was called.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

// The walk recurses natively; Python's own limit is 1000, a kernel nests at most four calls in practice.
constexpr int kMaxKernelCallDepth = 60;

constexpr absl::string_view kLanguage = "triton.language.";

}  // namespace

std::optional<Op> TensorMethod(absl::string_view name) {
  if (std::optional<Op> op = isa::OpFromSurface(absl::StrCat(".", name))) return op;
  for (absl::string_view known :
       {"cast",        "cat",        "store",      "reduce",     "associative_scan", "histogram",  "cdiv",       "div_rn",    "umulhi",
        "sqrt_rn",     "join",       "interleave", "atomic_add", "atomic_max",       "atomic_min", "atomic_and", "atomic_or", "atomic_xor",
        "atomic_xchg", "atomic_cas", "squeeze",    "unsqueeze",  "zeros_like",       "topk",       "fma",        "clamp",     "uint_to_uniform_float",
        "expect_zero", "swizzle2d"}) {
    if (name == known) return isa::OpFromSurface(name);
  }
  return std::nullopt;
}

namespace {

// The spelling that the op table's surface column uses; empty for paths outside of Triton's language.
std::string SurfaceOf(absl::string_view path) {
  if (absl::StartsWith(path, "libdevice.")) return std::string(path);
  if (absl::ConsumePrefix(&path, kLanguage)) return std::string(path);
  return "";
}

}  // namespace

Value Boxed(ValueKind kind, Value inner) {
  auto payload = std::make_shared<BoxPayload>();
  payload->inner = std::move(inner);
  return Value::Shared(kind, std::move(payload));
}

const Value* FindKeyword(const CallArgs& args, absl::string_view name) {
  for (const auto& [keyword, value] : args.keyword) {
    if (keyword == name) return &value;
  }
  return nullptr;
}

Value Argument(const CallArgs& args, size_t i, absl::string_view name) {
  if (i < args.positional.size()) return args.positional[i];
  const Value* found = FindKeyword(args, name);
  return found != nullptr ? *found : Value();
}

absl::Status CheckArguments(const CallArgs& args, absl::string_view function, size_t least, size_t most, Loc loc,
                            std::initializer_list<absl::string_view> keywords) {
  for (const auto& [name, value] : args.keyword) {
    bool known = false;
    for (absl::string_view keyword : keywords) known |= keyword == name;
    if (!known) return InvalidAt(loc, "TypeError: ", function, "() got an unexpected keyword argument '", name, "'");
  }
  const size_t given = args.positional.size() + args.keyword.size();
  if (args.positional.size() > most || given < least) {
    return InvalidAt(loc, "TypeError: ", function, "() takes ", least == most ? "" : given < least ? "at least " : "at most ", given < least ? least : most,
                     (given < least ? least : most) == 1 ? " argument" : " arguments", " (", given, " given)");
  }
  return absl::OkStatus();
}

absl::StatusOr<CallArgs> Evaluator::Impl::GatherArgs(Frame& frame, absl::Span<const isa::Reg> regs, absl::Span<const isa::StringId> names, Loc loc) {
  CallArgs args;
  const size_t positional = regs.size() - names.size();
  for (size_t i = 0; i < regs.size(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(Value value, Read(frame, regs[i], loc));
    if (i >= positional) {
      const std::string& name = String(names[i - positional]);
      if (FindKeyword(args, name) != nullptr) return InvalidAt(loc, "TypeError: got multiple values for keyword argument '", name, "'");
      args.keyword.emplace_back(name, std::move(value));
    } else if (value.is(ValueKind::kSpread)) {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, Iterate(value.As<BoxPayload>()->inner, loc));
      for (Value& item : items) args.positional.push_back(std::move(item));
    } else if (value.is(ValueKind::kDoubleSpread)) {
      const Value& inner = value.As<BoxPayload>()->inner;
      if (!inner.is(ValueKind::kDict)) return InvalidAt(loc, "TypeError: argument after ** must be a mapping, not ", NameOfType(inner));
      for (const auto& [key, item] : inner.As<DictPayload>()->entries) {
        if (!key.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: keywords must be strings");
        if (FindKeyword(args, key.string()) != nullptr) return InvalidAt(loc, "TypeError: got multiple values for keyword argument '", key.string(), "'");
        args.keyword.emplace_back(key.string(), item);
      }
    } else {
      args.positional.push_back(std::move(value));
    }
  }
  return args;
}

absl::Status Evaluator::Impl::RunCall(Frame& frame, const isa::Inst& inst) {
  TILEVM_ASSIGN_OR_RETURN(Value callee, Read(frame, inst.operands[0], inst.loc));
  TILEVM_ASSIGN_OR_RETURN(CallArgs args, GatherArgs(frame, absl::MakeSpan(inst.operands).subspan(1), inst.names, inst.loc));
  if (frame.kernel && callee.is(ValueKind::kFunction) && !callee.As<FunctionPayload>()->for_kernels) {
    // A module of assembly or of a builder has no jit to call: its functions are all there for kernels.
    const auto* payload = callee.As<FunctionPayload>();
    const isa::Function& function = payload->module->functions[payload->function];
    const bool from_source = function.unit < module_->units.size() && !module_->units[function.unit].cells.empty();
    if (function.kind == isa::FunctionKind::kPlain && from_source) {
      return WithNote(InvalidAt(inst.loc, "'", function.name,
                                "' is a plain Python function; a kernel calls functions under @triton.jit or @triton.constexpr_function only"),
                      function.loc, "defined here");
    }
  }
  TILEVM_ASSIGN_OR_RETURN(Value value, CallValue(callee, args, frame.kernel, inst.loc));
  if (!inst.results.empty()) Define(frame, inst.results[0], std::move(value));
  return absl::OkStatus();
}

absl::Status Evaluator::Impl::RunCallMethod(Frame& frame, const isa::Inst& inst) {
  TILEVM_ASSIGN_OR_RETURN(Value object, Read(frame, inst.operands[0], inst.loc));
  TILEVM_ASSIGN_OR_RETURN(CallArgs args, GatherArgs(frame, absl::MakeSpan(inst.operands).subspan(1), inst.names, inst.loc));
  TILEVM_ASSIGN_OR_RETURN(Value value, CallMethodOf(object, String(inst.imm), args, frame.kernel, inst.loc));
  if (!inst.results.empty()) Define(frame, inst.results[0], std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<Value> Evaluator::Impl::CallHost(const Value& callee, std::vector<Value> args, Loc loc) {
  CallArgs call;
  call.positional = std::move(args);
  return CallValue(callee, call, false, loc);
}

absl::StatusOr<Value> Evaluator::Impl::CallValue(const Value& callee, const CallArgs& args, bool kernel, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckStack(loc));  // a partial of a partial of a partial
  switch (callee.kind()) {
    case ValueKind::kFunction: {
      const auto* function = callee.As<FunctionPayload>();
      if (!kernel) return CallFunction(*function, args, false, loc);
      // A plain function called from a kernel computes on static values, as in Triton; with typed arguments it is a helper.
      const isa::Function& text = function->module->functions[function->function];
      bool typed = text.kind == isa::FunctionKind::kKernel;
      for (const Value& value : args.positional) typed |= ContainsTyped(value);
      for (const auto& [name, value] : args.keyword) typed |= ContainsTyped(value);
      return CallFunction(*function, args, typed, loc);
    }
    case ValueKind::kJitFunction: {
      const auto* jit = callee.As<JitPayload>();
      if (!kernel) {
        return InvalidAt(loc, "RuntimeError: a @triton.jit function cannot be called outside of a kernel; launch it as kernel[grid](...)");
      }
      return CallFunction(*jit->function.As<FunctionPayload>(), args, true, loc);
    }
    case ValueKind::kBuiltin: return CallBuiltin(callee.string(), args, kernel, loc);
    case ValueKind::kBoundMethod: {
      const auto* method = callee.As<BoundMethodPayload>();
      if (method->name == "[grid]") return host_->Launch(*self_, method->object, method->function, args, loc);
      if (method->function.absent()) return CallMethodOf(method->object, method->name, args, kernel, loc);
      CallArgs with_self = args;
      with_self.positional.insert(with_self.positional.begin(), method->object);
      return CallValue(method->function, with_self, kernel, loc);
    }
    case ValueKind::kClass: return Instantiate(callee, args, loc);
    case ValueKind::kInstance: {
      const auto* instance = callee.As<InstancePayload>();
      const Value* call = FindInClass(instance->type, "__call__");
      if (call == nullptr && HasBase(instance->type, "torch.nn.Module")) return CallModule(*this, callee, args, kernel, loc);
      if (call == nullptr) return InvalidAt(loc, "TypeError: '", NameOfType(callee), "' object is not callable");
      CallArgs with_self = args;
      with_self.positional.insert(with_self.positional.begin(), callee);
      return CallValue(*call, with_self, kernel, loc);
    }
    case ValueKind::kObject: return callee.As<HostObject>()->Call(*self_, args, loc);
    case ValueKind::kConstexpr: return CallValue(callee.As<BoxPayload>()->inner, args, kernel, loc);
    case ValueKind::kDType:
      if (kernel && args.positional.size() == 1 && args.keyword.empty()) return RunRowOp(Op::kCast, {args.positional[0], callee}, true, loc);
      break;
    default: break;
  }
  return InvalidAt(loc, "TypeError: '", NameOfType(callee), "' object is not callable");
}

absl::StatusOr<Value> Evaluator::Impl::CallMethodOf(const Value& object, absl::string_view name, const CallArgs& args, bool kernel, Loc loc) {
  const auto call_op = [&](Op op) -> absl::StatusOr<Value> {
    CallArgs with_self = args;
    with_self.positional.insert(with_self.positional.begin(), object);
    return CallSurface(op, absl::StrCat(".", name), with_self, kernel, loc);
  };
  switch (object.kind()) {
    case ValueKind::kTensor:
    case ValueKind::kBlockPtr: {
      if (std::optional<Op> op = TensorMethod(name)) return call_op(*op);
      if (object.is_tensor()) {
        TILEVM_ASSIGN_OR_RETURN(Value attribute, GetAttr(object, name, kernel, loc));
        return CallValue(attribute, args, kernel, loc);
      }
      break;
    }
    case ValueKind::kDescriptor:
      return DescriptorMethod(kernel_state_->elaborator, object, name, args, loc);
    case ValueKind::kBuiltin: {
      TILEVM_ASSIGN_OR_RETURN(Value function, GetAttr(object, name, kernel, loc));
      return CallValue(function, args, kernel, loc);
    }
    case ValueKind::kDType:
    case ValueKind::kPointerType:
    case ValueKind::kBlockType: return CallTypeMethod(object, name, args, loc);
    case ValueKind::kObject: {
      // An object that only has the attribute (a partial) is called through it.
      return object.As<HostObject>()->CallMethod(*self_, name, args, loc);
    }
    case ValueKind::kConstexpr: return CallMethodOf(object.As<BoxPayload>()->inner, name, args, kernel, loc);
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kFloat:
      if (kernel && isa::OpFromSurface(absl::StrCat(".", name))) {
        return InvalidAt(loc, "AttributeError: ", Repr(object), " is constexpr here and has no method '", name,
                         "'; an integer argument equal to 1 is specialized to a constexpr. Use ", name == "to" ? "tl.cast(x, dtype)" : "a tensor");
      }
      break;
    default: break;
  }
  if (HasPythonMethod(object, name)) return CallPythonMethod(object, name, args, loc);
  TILEVM_ASSIGN_OR_RETURN(Value attribute, GetAttr(object, name, kernel, loc));
  return CallValue(attribute, args, kernel, loc);
}

absl::StatusOr<Value> Evaluator::Impl::CallBuiltin(const std::string& path, const CallArgs& args, bool kernel, Loc loc) {
  const std::string surface = SurfaceOf(path);
  if (!surface.empty()) {
    if (std::optional<Op> op = isa::OpFromSurface(surface)) return CallSurface(*op, surface, args, kernel, loc);
  }
  if (kernel) {
    if (path == "builtins.print") return KernelPrint(args, loc);
    if (path == "builtins.min") return KernelMinMax(Op::kMinimum, args, loc);
    if (path == "builtins.max") return KernelMinMax(Op::kMaximum, args, loc);
  }
  if (BuiltinFunction function = FindBuiltin(path)) {
    const bool outer = std::exchange(thread_.builtin_in_kernel, kernel);
    absl::StatusOr<Value> value = function(*this, args, loc);
    thread_.builtin_in_kernel = outer;
    return value;
  }
  if (IsTypeFunction(path)) {
    const size_t dot = path.rfind('.');
    const Value type = Value::Builtin(path.substr(0, dot));
    const std::string name = path.substr(dot + 1);
    TILEVM_ASSIGN_OR_RETURN(const bool fits, args.positional.empty() ? absl::StatusOr<bool>(false) : IsInstance(args.positional[0], type, kernel, loc));
    if (!fits) {
      return InvalidAt(loc, "TypeError: unbound method ", path.substr(path.find('.') + 1), "() needs an argument of its type",
                       args.positional.empty() ? "" : absl::StrCat(", not ", NameOfType(args.positional[0])));
    }
    CallArgs rest = args;
    rest.positional.erase(rest.positional.begin());
    return CallPythonMethod(args.positional[0], name, rest, loc);
  }
  if (IsExceptionName(path)) return Instantiate(Value::Builtin(path), args, loc);
  if (!surface.empty()) {
    return UnimplementedAt(loc, absl::StartsWith(path, "libdevice.") ? "" : "tl.", surface, " is not a function that tilevm has");
  }
  if (kernel) return InvalidAt(loc, "'", path, "' cannot be called in a kernel");
  return host_->CallBuiltin(*self_, path, args, loc);
}

absl::StatusOr<std::vector<Value>> Evaluator::Impl::BindArguments(const FunctionPayload& function, const CallArgs& args, Loc loc) {
  const isa::Function& text = function.module->functions[function.function];
  const std::vector<isa::Param>& params = text.params;
  std::vector<Value> bound(params.size());
  std::vector<Value> extra;
  size_t next = 0;
  size_t accepted = 0;
  bool varargs = false;
  for (const isa::Param& param : params) {
    accepted += param.kind == isa::ParamKind::kPlain || param.kind == isa::ParamKind::kPositionalOnly;
    varargs |= param.kind == isa::ParamKind::kVarArgs;
  }
  if (args.positional.size() > accepted && !varargs) {
    return InvalidAt(loc, "TypeError: ", text.name, "() takes ", accepted, accepted == 1 ? " positional argument" : " positional arguments", " but ",
                     args.positional.size(), args.positional.size() == 1 ? " was given" : " were given");
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].kind != isa::ParamKind::kPlain && params[i].kind != isa::ParamKind::kPositionalOnly) continue;
    if (next < args.positional.size()) bound[i] = args.positional[next++];
  }
  for (; next < args.positional.size(); ++next) extra.push_back(args.positional[next]);
  std::vector<std::pair<Value, Value>> rest;
  bool var_keywords = false;
  for (const isa::Param& param : params) var_keywords |= param.kind == isa::ParamKind::kVarKeywords;
  for (const auto& [name, value] : args.keyword) {
    size_t i = 0;
    while (i < params.size() && !(params[i].name == name && (params[i].kind == isa::ParamKind::kPlain || params[i].kind == isa::ParamKind::kKeywordOnly))) ++i;
    if (i < params.size()) {
      if (!bound[i].absent()) return InvalidAt(loc, "TypeError: ", text.name, "() got multiple values for argument '", name, "'");
      bound[i] = value;
    } else if (var_keywords) {
      rest.emplace_back(Value::String(name), value);
    } else {
      return InvalidAt(loc, "TypeError: ", text.name, "() got an unexpected keyword argument '", name, "'");
    }
  }
  std::vector<const isa::Param*> missing;
  size_t default_index = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    const isa::Param& param = params[i];
    const size_t this_default = default_index;
    if (param.has_default) ++default_index;
    if (param.kind == isa::ParamKind::kVarArgs) {
      bound[i] = Value::Tuple(std::move(extra));
    } else if (param.kind == isa::ParamKind::kVarKeywords) {
      bound[i] = MakeDict(std::move(rest));
    } else if (bound[i].absent()) {
      if (param.has_default && this_default < function.defaults.size()) {
        bound[i] = function.defaults[this_default];
      } else {
        missing.push_back(&param);
      }
    }
  }
  // As Python words it: positional ones first, keyword-only ones if no other is missing.
  for (const bool keyword_only : {false, true}) {
    std::vector<std::string> names;
    for (const isa::Param* param : missing) {
      if ((param->kind == isa::ParamKind::kKeywordOnly) == keyword_only) names.push_back(absl::StrCat("'", param->name, "'"));
    }
    if (names.empty()) continue;
    const std::string last = names.back();
    const size_t count = names.size();
    names.pop_back();
    return InvalidAt(loc, "TypeError: ", text.name, "() missing ", count, " required ", keyword_only ? "keyword-only" : "positional", " argument",
                     count == 1 ? ": " : "s: ", absl::StrJoin(names, ", "), count == 1 ? "" : count == 2 ? " and " : ", and ", last);
  }
  return bound;
}

absl::StatusOr<Value> Evaluator::Impl::CallFunction(const FunctionPayload& function, const CallArgs& args, bool kernel, Loc loc) {
  const isa::Function& text = function.module->functions[function.function];
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> params, BindArguments(function, args, loc));
  if (!kernel && function.module == module_ && InfoOf(text).is_generator) return MakeGenerator(function, std::move(params), loc);
  absl::StatusOr<Value> result = RunFunction(function, std::move(params), kernel, loc);
  if (!result.ok() && text.kind != isa::FunctionKind::kCell && loc.known()) return WithCallSite(result.status(), loc);
  return result;
}

absl::StatusOr<Value> Evaluator::Impl::RunFunction(const FunctionPayload& function, std::vector<Value> params, bool kernel, Loc loc) {
  if (function.module != module_) return UnimplementedAt(loc, "a function of another module");
  const isa::Function& text = module_->functions[function.function];
  if (kernel) {
    for (const isa::Function* running : kernel_calls_) {
      if (running == &text) return InvalidAt(loc, "'", text.name, "' calls itself; recursion is not supported in a kernel");
    }
    if (static_cast<int>(kernel_calls_.size()) >= kMaxKernelCallDepth) {
      return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "RecursionError: helpers call helpers more than ", kMaxKernelCallDepth, " deep");
    }
  }
  if (thread_.call_depth >= limits_.max_call_depth) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "RecursionError: calls nest more than ", limits_.max_call_depth, " deep");
  }
  Frame frame;
  frame.function = &text;
  frame.info = &InfoOf(text);
  frame.kernel = kernel;
  frame.call_loc = loc;
  frame.registers.resize(text.reg_count);
  if (text.body.args.size() != function.captures.size() + params.size()) {
    return ErrorAt(loc, absl::StatusCode::kInternal, "'", text.name, "' has ", text.body.args.size(), " arguments, ", function.captures.size() + params.size(),
                   " values");
  }
  size_t next = 0;
  // In a kernel a tl.constexpr object (a default, a captured name) is its value.
  for (const Value& capture : function.captures) frame.registers[text.body.args[next++]] = kernel ? Unboxed(capture) : capture;
  for (Value& param : params) frame.registers[text.body.args[next++]] = kernel ? Unboxed(param) : std::move(param);

  struct Depth {
    explicit Depth(int& counter) : counter(counter) { ++counter; }
    ~Depth() { --counter; }
    int& counter;
  } depth(thread_.call_depth);
  if (!kernel) {
    // Host code inside a kernel (a constexpr function) must not see the kernel.
    TILEVM_ASSIGN_OR_RETURN(Outcome end, RunRegion(frame, text.body));
    return end.values.empty() ? Value::None() : std::move(end.values[0]);
  }
  kernel_calls_.push_back(&text);
  absl::StatusOr<Outcome> end;
  if (frame.info->has_nested_return) {
    ExitTarget target;
    frame.return_target = &target;
    end = InBlock(frame, target, Flow::kReturn, false, text.loc, [&] { return RunRegion(frame, text.body); });
  } else {
    end = RunRegion(frame, text.body);
  }
  kernel_calls_.pop_back();
  TILEVM_RETURN_IF_ERROR(end.status());
  return end->values.empty() ? Value::None() : std::move(end->values[0]);
}

}  // namespace tilevm::specializer
