// Binding of a launch's arguments to the kernel's parameters, and what each parameter is specialized to.
#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "vm/host/launch.h"
#include "vm/host/object.h"

namespace tilevm::vm::host {
namespace {

using specializer::ArgSpec;
using specializer::ValueKind;

// Options of a launch. Those that steer a GPU only are accepted and have no meaning on the CPU engine.
constexpr absl::string_view kIgnoredOptions[] = {
    "enable_fp_fusion",
    "launch_cooperative_grid",
    "launch_pdl",
    "extern_libs",
    "stream",
    "num_cpu_threads",
    "num_threads",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
    "max_num_imprecise_acc_default",
    "sanitize_overflow",
    "ir_override",
    "enable_warp_specialization",
    "instrumentation_mode",
    "ptx_options",
    "launch_metadata",
    "maxRegAutoWS",
    "minRegAutoWS",
};

absl::Status SetOption(absl::string_view name, const Value& value, BoundCall& bound, Loc loc, bool& known) {
  known = true;
  const auto integer = [&](int& target, bool power_of_two, int most) -> absl::Status {
    if (value.is(ValueKind::kNone)) return absl::OkStatus();
    if (!value.is(ValueKind::kInt)) return InvalidAt(loc, "launch option ", name, " must be an int, not ", specializer::TypeName(value, nullptr));
    const absl::int128 v = value.int_value();
    if (v < 0 || v > most || (power_of_two && (v < 1 || (v & (v - 1)) != 0))) {
      return InvalidAt(loc, "launch option ", name, " is ", specializer::Str(value), "; ", power_of_two ? "a power of two" : "a number", " up to ", most,
                       " is wanted");
    }
    target = static_cast<int>(v);
    return absl::OkStatus();
  };
  if (name == "num_warps") return integer(bound.options.num_warps, true, 32);
  if (name == "num_stages") return integer(bound.options.num_stages, false, 64);
  if (name == "num_ctas") return integer(bound.options.num_ctas, true, 16);
  if (name == "maxnreg") return integer(bound.options.maxnreg, false, 255);
  if (name == "debug") {
    bound.options.debug = value.is(ValueKind::kBool) && value.bool_value();
    return absl::OkStatus();
  }
  if (name == "warmup") {
    bound.warmup = value.is(ValueKind::kBool) && value.bool_value();
    return absl::OkStatus();
  }
  known = std::find(std::begin(kIgnoredOptions), std::end(kIgnoredOptions), name) != std::end(kIgnoredOptions);
  return absl::OkStatus();
}

bool Listed(const Value& list, const isa::Param& param, size_t index) {
  if (!list.is(ValueKind::kList) && !list.is(ValueKind::kTuple)) return false;
  for (const Value& v : list.items()) {
    if (v.is(ValueKind::kString) && v.string() == param.name) return true;
    if (v.is(ValueKind::kInt) && v.int_value() == static_cast<int64_t>(index)) return true;
  }
  return false;
}

Value OptionOf(const Value& kernel, absl::string_view name) {
  if (!kernel.is(ValueKind::kJitFunction)) return Value();
  const Value& options = kernel.As<specializer::JitPayload>()->options;
  if (!options.is(ValueKind::kDict)) return Value();
  const Value* v = specializer::DictFind(*options.As<specializer::DictPayload>(), Value::String(std::string(name)));
  return v == nullptr ? Value() : *v;
}

constexpr int kMaxTupleDepth = 64;

struct Rules {
  std::string name;               // of the parameter, for messages
  std::optional<isa::ElemType> annotated;
  bool specialize = true;         // the ==1 rule and divisibility
  bool align = true;              // divisibility
  int depth = 0;                     // of tuples around this value
};

// "i64", "f32", "ptr<f32>"; other annotations say nothing.
std::optional<isa::ElemType> ParseAnnotation(absl::string_view text) {
  isa::ElemType elem;
  if (absl::ConsumePrefix(&text, "ptr<") && absl::ConsumeSuffix(&text, ">")) {
    absl::ConsumePrefix(&text, "const ");
    elem.pointer = true;
  }
  const std::optional<DType> dtype = isa::DTypeFromName(text);
  if (!dtype.has_value()) return std::nullopt;
  elem.dtype = *dtype;
  return elem;
}

constexpr absl::string_view kArgumentType = "argument type";

absl::StatusOr<ArgSpec> SpecOf(const Value& value, const Rules& rules, Loc loc);

ArgSpec Static(Value value) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::kStatic;
  spec.value = std::move(value);
  return spec;
}
ArgSpec Typed(isa::Type type, bool divisible) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::kTyped;
  spec.type = std::move(type);
  spec.divisible_by_16 = divisible;
  return spec;
}

absl::StatusOr<ArgSpec> IntSpec(const Value& value, const Rules& rules, Loc loc) {
  const absl::int128 v = value.int_value();
  const bool divisible = rules.specialize && rules.align && v % 16 == 0;
  if (rules.annotated.has_value() && !rules.annotated->pointer) {
    const DType dtype = rules.annotated->dtype;
    return Typed(isa::ScalarType(dtype), divisible && !isa::IsFloat(dtype) && dtype != DType::kI1);
  }
  if (rules.annotated.has_value()) return InvalidAt(loc, "argument ", rules.name, " is an int, the parameter is ", isa::ToString(*rules.annotated));
  if (v == 1 && rules.specialize) return Static(Value::Int(1));
  if (v >= std::numeric_limits<int32_t>::min() && v <= std::numeric_limits<int32_t>::max()) return Typed(isa::ScalarType(DType::kI32), divisible);
  if (v >= std::numeric_limits<int64_t>::min() && v <= std::numeric_limits<int64_t>::max()) return Typed(isa::ScalarType(DType::kI64), divisible);
  if (v >= 0 && v <= absl::int128(std::numeric_limits<uint64_t>::max())) return Typed(isa::ScalarType(DType::kU64), divisible);
  return InvalidAt(loc, "argument ", rules.name, " = ", specializer::Str(value), " does not fit 64 bits");
}

absl::StatusOr<ArgSpec> TensorSpec(const Tensor& tensor, const Rules& rules, Loc loc) {
  if (rules.annotated.has_value() && (!rules.annotated->pointer || rules.annotated->dtype != tensor.dtype)) {
    return InvalidAt(loc, "argument ", rules.name, " is a tensor of ", isa::Name(tensor.dtype), ", the parameter is ", isa::ToString(*rules.annotated));
  }
  const bool divisible = rules.specialize && rules.align && tensor.address() % 16 == 0;
  return Typed(isa::PointerType(tensor.dtype), divisible);
}

absl::StatusOr<ArgSpec> DescriptorSpec(const Record& descriptor, const Rules& rules, Loc loc) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::kDescriptor;
  const HostTensor* base = AsTensor(*descriptor.Find("base"));
  if (base == nullptr) return InvalidAt(loc, "argument ", rules.name, ": the descriptor has no tensor");
  spec.dtype = base->tensor.dtype;
  const Value& block = *descriptor.Find("block_shape");
  for (const Value& extent : block.items()) {
    if (!extent.is(ValueKind::kInt)) return InvalidAt(loc, "argument ", rules.name, ": the block shape of a descriptor must be ints");
    spec.block_shape.push_back(static_cast<int64_t>(extent.int_value()));
  }
  const Value& padding = *descriptor.Find("padding");
  spec.pad_nan = padding.is(ValueKind::kString) && padding.string() == "nan";
  return spec;
}

absl::StatusOr<ArgSpec> SpecOf(const Value& value, const Rules& rules, Loc loc) {
  switch (value.kind()) {
    case ValueKind::kBool:
      if (rules.annotated.has_value()) {
        if (rules.annotated->pointer) return InvalidAt(loc, "argument ", rules.name, " is a bool, the parameter is ", isa::ToString(*rules.annotated));
        return Typed(isa::ScalarType(rules.annotated->dtype), false);
      }
      return Typed(isa::ScalarType(DType::kI1), false);
    case ValueKind::kInt: return IntSpec(value, rules, loc);
    case ValueKind::kFloat:
      if (rules.annotated.has_value()) {
        if (rules.annotated->pointer || !isa::IsFloat(rules.annotated->dtype)) {
          return InvalidAt(loc, "argument ", rules.name, " is a float, the parameter is ", isa::ToString(*rules.annotated));
        }
        return Typed(isa::ScalarType(rules.annotated->dtype), false);
      }
      return Typed(isa::ScalarType(DType::kF32), false);
    case ValueKind::kNone:
    case ValueKind::kFunction:
    case ValueKind::kJitFunction: return Static(value);
    case ValueKind::kDType: return Static(Value::DTypeOf(value.dtype()));
    case ValueKind::kConstexpr: return Static(value.As<specializer::BoxPayload>()->inner);
    case ValueKind::kTuple: {
      ArgSpec spec;
      spec.kind = ArgSpec::Kind::kTuple;
      const auto* items = value.As<specializer::ItemsPayload>();
      spec.class_name = items->class_name;
      spec.field_names = items->field_names;
      for (size_t i = 0; i < items->items.size(); ++i) {
        Rules inner;
        inner.depth = rules.depth + 1;
        if (inner.depth > kMaxTupleDepth) return InvalidAt(loc, "an argument nests tuples deeper than ", kMaxTupleDepth);
        inner.name = absl::StrCat(rules.name, "[", i, "]");
        TILEVM_ASSIGN_OR_RETURN(ArgSpec item, SpecOf(items->items[i], inner, loc));
        spec.items.push_back(std::move(item));
      }
      return spec;
    }
    case ValueKind::kObject:
      if (HostTensor* t = AsTensor(value)) return TensorSpec(t->tensor, rules, loc);
      if (Record* descriptor = AsRecord(value, "TensorDescriptor")) return DescriptorSpec(*descriptor, rules, loc);
      if (Record* type = AsRecord(value, kArgumentType)) {  // a type stands for any argument of that type (tilevm inspect)
        const DType dtype = type->Find("dtype")->dtype();
        return Typed(type->Find("pointer")->bool_value() ? isa::PointerType(dtype) : isa::ScalarType(dtype), type->Find("divisible")->bool_value());
      }
      break;
    default: break;
  }
  return InvalidAt(loc, "argument ", rules.name, " is a ", specializer::TypeName(value, nullptr),
                   ", which a kernel cannot take; numbers, tensors, None, tuples of them, "
                   "and constexpr parameters are possible");
}

// True if a tensor hides in the value.
bool HoldsTensor(const Value& value, int depth = 0) {
  if (AsTensor(value) != nullptr) return true;
  if (depth > kMaxTupleDepth || !(value.is(ValueKind::kTuple) || value.is(ValueKind::kList))) return false;
  return std::any_of(value.items().begin(), value.items().end(), [&](const Value& item) { return HoldsTensor(item, depth + 1); });
}

}  // namespace

Value ArgumentOfType(isa::ElemType elem, bool divisible) {
  return Record::Make(std::string(kArgumentType), isa::ToString(elem),
                      {{"dtype", Value::DTypeOf(elem.dtype)}, {"pointer", Value::Bool(elem.pointer)}, {"divisible", Value::Bool(divisible)}});
}

absl::StatusOr<const specializer::FunctionPayload*> FunctionOf(const Value& kernel, Loc loc) {
  Value v = kernel;
  while (v.is(ValueKind::kJitFunction)) v = v.As<specializer::JitPayload>()->function;
  if (!v.is(ValueKind::kFunction)) return InvalidAt(loc, "a kernel is wanted, not ", specializer::TypeName(kernel, nullptr));
  return v.As<specializer::FunctionPayload>();
}

Value BoundCall::AsDict() const {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i < args.size(); ++i) entries.emplace_back(Value::String(function->params[i].name), args[i]);
  entries.emplace_back(Value::String("num_warps"), Value::Int(options.num_warps));
  entries.emplace_back(Value::String("num_stages"), Value::Int(options.num_stages));
  entries.emplace_back(Value::String("num_ctas"), Value::Int(options.num_ctas));
  // A parameter of the same name goes first.
  std::vector<std::pair<Value, Value>> unique;
  for (auto& entry : entries) {
    const bool seen = std::any_of(unique.begin(), unique.end(), [&](const auto& e) { return e.first.string() == entry.first.string(); });
    if (!seen) unique.push_back(std::move(entry));
  }
  return specializer::MakeDict(std::move(unique));
}

absl::StatusOr<BoundCall> Bind(Evaluator& evaluator, const Value& kernel, const CallArgs& call, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(const isa::Function* function, evaluator.KernelFunction(kernel));
  TILEVM_ASSIGN_OR_RETURN(const specializer::FunctionPayload* payload, FunctionOf(kernel, loc));
  BoundCall bound;
  bound.function = function;
  bound.args.resize(function->params.size());
  const auto& params = function->params;
  if (call.positional.size() > params.size()) {
    return InvalidAt(loc, function->name, " takes ", params.size(), " arguments, ", call.positional.size(), " are given");
  }
  for (size_t i = 0; i < call.positional.size(); ++i) bound.args[i] = call.positional[i];
  for (const auto& [name, value] : call.keyword) {
    size_t p = 0;
    while (p < params.size() && params[p].name != name) ++p;
    bool known = false;
    if (p < params.size()) {
      if (!bound.args[p].absent()) return InvalidAt(loc, function->name, ": argument '", name, "' is given twice");
      bound.args[p] = value;
      // A parameter called num_warps is both.
      if (name == "num_warps" || name == "num_stages" || name == "num_ctas" || name == "maxnreg")
        TILEVM_RETURN_IF_ERROR(SetOption(name, value, bound, loc, known));
      continue;
    }
    TILEVM_RETURN_IF_ERROR(SetOption(name, value, bound, loc, known));
    if (!known) {
      return InvalidAt(loc, function->name, ": keyword argument '", name,
                       "' is neither a parameter of the kernel nor a launch option (num_warps, num_stages, num_ctas, maxnreg, ...)");
    }
  }
  if (World(evaluator).options().debug) bound.options.debug = true;
  size_t next_default = 0;
  std::vector<std::string> missing;
  for (size_t p = 0; p < params.size(); ++p) {
    const bool has_default = params[p].has_default && next_default < payload->defaults.size();
    if (bound.args[p].absent() && has_default) bound.args[p] = payload->defaults[next_default];
    if (has_default) ++next_default;
    if (bound.args[p].absent()) missing.push_back(params[p].name);
  }
  if (!missing.empty()) {
    return WithNote(InvalidAt(loc, function->name, ": missing argument", missing.size() > 1 ? "s " : " ", absl::StrJoin(missing, ", ")), function->loc,
                    "the kernel is defined here");
  }
  return bound;
}

absl::StatusOr<specializer::SpecializationKey> SpecializationOf(const Value& kernel, const BoundCall& bound, Loc loc) {
  specializer::SpecializationKey key;
  key.options = bound.options;
  const Value never = OptionOf(kernel, "do_not_specialize"), unaligned = OptionOf(kernel, "do_not_specialize_on_alignment");
  for (size_t i = 0; i < bound.args.size(); ++i) {
    const isa::Param& param = bound.function->params[i];
    Value value = bound.args[i];
    if (param.is_constexpr) {
      if (specializer::NestsDeeper(value, specializer::kMaxKernelNesting)) {
        return InvalidAt(loc, "argument ", param.name, " nests tuples more than ", specializer::kMaxKernelNesting, " deep");
      }
      if (value.is(ValueKind::kConstexpr)) value = value.As<specializer::BoxPayload>()->inner;
      if (HoldsTensor(value)) {
        return WithNote(InvalidAt(loc, bound.function->name, ": argument ", param.name, " is a tensor, the parameter is a tl.constexpr"), param.loc,
                        "the parameter");
      }
      key.args.push_back(Static(std::move(value)));
      continue;
    }
    Rules rules;
    rules.name = param.name;
    rules.annotated = ParseAnnotation(param.annotation);
    rules.specialize = !Listed(never, param, i);
    rules.align = !Listed(unaligned, param, i);
    absl::StatusOr<ArgSpec> spec = SpecOf(value, rules, loc);
    if (!spec.ok()) {
      return WithNote(MakeErrorAt(loc, spec.status().code(), absl::StrCat(bound.function->name, ": ", spec.status().message())), param.loc, "the parameter");
    }
    key.args.push_back(*std::move(spec));
  }
  return key;
}

namespace {

absl::Status GridError(Loc loc, const auto&... parts) {
  absl::Status status = InvalidAt(loc, parts...);
  status.SetPayload(kGridPayload, absl::Cord());
  return status;
}

}  // namespace

absl::StatusOr<std::array<int64_t, 3>> EvaluateGrid(Evaluator& evaluator, const Value& grid, const BoundCall& bound, Loc loc) {
  Value value = grid;
  if (value.is(ValueKind::kFunction) || value.is(ValueKind::kBoundMethod) || value.is(ValueKind::kJitFunction) ||
      (value.is(ValueKind::kObject) && AsTensor(value) == nullptr)) {
    TILEVM_ASSIGN_OR_RETURN(value, evaluator.Call(value, CallArgs{{bound.AsDict()}, {}}, loc));
  }
  std::vector<Value> extents;
  if (value.is(ValueKind::kTuple) || value.is(ValueKind::kList)) {
    extents = value.items().ToVector();
  } else {
    extents = {value};
  }
  if (extents.empty() || extents.size() > 3) return GridError(loc, "a grid has 1 to 3 extents, not ", extents.size());
  std::array<int64_t, 3> out = {1, 1, 1};
  constexpr int64_t kMost[3] = {2147483647, 65535, 65535};  // of every NVIDIA device; the CPU engine keeps to them
  for (size_t i = 0; i < extents.size(); ++i) {
    Value v = extents[i];
    if (v.is(ValueKind::kConstexpr)) v = v.As<specializer::BoxPayload>()->inner;
    if (HostTensor* t = AsTensor(v); t != nullptr && t->tensor.numel() == 1) v = ElementAt(t->tensor, 0);
    if (!v.is(ValueKind::kInt) && !v.is(ValueKind::kBool)) {
      return InvalidAt(loc, "grid extent ", i, " must be an int, not ", specializer::TypeName(extents[i], nullptr), " (", specializer::Repr(extents[i]), ")");
    }
    if (v.int_value() < 0) return GridError(loc, bound.function->name, ": grid extent of axis ", i, " is ", specializer::Str(v), "; it cannot be negative");
    if (v.int_value() > kMost[i]) {
      return GridError(loc, bound.function->name, ": grid extent of axis ", i, " is ", specializer::Str(v), "; the limit is ", kMost[i]);
    }
    out[i] = static_cast<int64_t>(v.int_value());
  }
  return out;
}

}  // namespace tilevm::vm::host
