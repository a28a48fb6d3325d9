// Triton's own functions outside of the op table: jit and the decorators stacked on it, Config, constexpr, cdiv, ranges, type constructors.
//
// autotune and heuristics only record what they are given (JitWrapper); vm/host evaluates it when the kernel is launched.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

Value Partial(absl::string_view path, const CallArgs& args) {
  auto partial = std::make_shared<PartialObject>();
  partial->callee = Value::Builtin(std::string(path));
  partial->args = args;
  return Value::Shared(ValueKind::kObject, std::move(partial));
}

Value DictOf(const CallArgs& args) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [name, value] : args.keyword) entries.emplace_back(Value::String(name), value);
  return MakeDict(std::move(entries));
}

// The function to be decorated, if the call has one.
Value Decorated(const CallArgs& args) {
  if (args.positional.empty()) {
    const Value* fn = FindKeyword(args, "fn");
    return fn != nullptr ? *fn : Value();
  }
  return args.positional[0];
}

absl::Status CheckKeywords(const CallArgs& args, absl::string_view callee, std::initializer_list<absl::string_view> known, Loc loc) {
  for (const auto& [name, value] : args.keyword) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return InvalidAt(loc, "TypeError: ", callee, "() got an unexpected keyword argument '", name, "'");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Jit(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckKeywords(
      args, "jit", {"fn", "version", "repr", "launch_metadata", "do_not_specialize", "do_not_specialize_on_alignment", "debug", "noinline"}, loc));
  const Value function = Decorated(args);
  if (function.absent_or_none()) return Partial("triton.jit", CallArgs{{}, args.keyword});
  if (function.is(ValueKind::kJitFunction)) return function;
  if (!function.is(ValueKind::kFunction)) return InvalidAt(loc, "TypeError: triton.jit is applied to a ", TypeName(function, nullptr), ", wanted a function");
  auto jit = std::make_shared<JitPayload>();
  jit->function = function;
  jit->options = DictOf(args);
  return Value::Shared(ValueKind::kJitFunction, std::move(jit));
}

absl::StatusOr<Value> Wrap(const CallArgs& args, JitWrapper::Kind kind, absl::string_view name, Loc loc) {
  // The decorator's own arguments came by keyword; the kernel is the last positional one.
  if (args.positional.empty() || !args.positional.back().is(ValueKind::kJitFunction)) {
    return InvalidAt(loc, "TypeError: ", name, " is applied to a ", args.positional.empty() ? "nothing" : TypeName(args.positional.back(), nullptr),
                     ", wanted a @triton.jit function");
  }
  auto jit = std::make_shared<JitPayload>(*args.positional.back().As<JitPayload>());
  jit->wrappers.push_back({kind, DictOf(args)});
  return Value::Shared(ValueKind::kJitFunction, std::move(jit));
}

absl::StatusOr<Value> Autotune(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckKeywords(args, "autotune",
                                       {"configs", "key", "prune_configs_by", "reset_to_zero", "restore_value", "pre_hook", "post_hook", "warmup", "rep",
                                        "use_cuda_graph", "do_bench", "cache_results"},
                                       loc));
  CallArgs named = args;
  const char* names[] = {"configs", "key"};
  if (named.positional.size() > 2) return InvalidAt(loc, "TypeError: triton.autotune takes configs and key, the rest by keyword");
  for (size_t i = 0; i < named.positional.size(); ++i) named.keyword.emplace_back(names[i], named.positional[i]);
  named.positional.clear();
  if (FindKeyword(named, "configs") == nullptr) return InvalidAt(loc, "TypeError: triton.autotune() is missing its argument 'configs'");
  return Partial("triton.autotune.apply", named);
}
absl::StatusOr<Value> ApplyAutotune(Impl&, const CallArgs& args, Loc loc) { return Wrap(args, JitWrapper::Kind::kAutotune, "triton.autotune", loc); }

absl::StatusOr<Value> Heuristics(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "triton.heuristics", 1, 1, loc, {"values"}));
  const Value values = Argument(args, 0, "values");
  if (!values.is(ValueKind::kDict)) return InvalidAt(loc, "TypeError: triton.heuristics wants a dict, this is a ", TypeName(values, nullptr));
  return Partial("triton.heuristics.apply", CallArgs{{}, {{"values", values}}});
}
absl::StatusOr<Value> ApplyHeuristics(Impl&, const CallArgs& args, Loc loc) { return Wrap(args, JitWrapper::Kind::kHeuristics, "triton.heuristics", loc); }

absl::StatusOr<Value> Config(Impl&, const CallArgs& args, Loc loc) {
  static constexpr std::pair<absl::string_view, int> kOptions[] = {{"num_warps", 4}, {"num_stages", 3}, {"num_ctas", 1}};
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "triton.Config", 1, 6, loc,
                                        {"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook", "ir_override", "num_cpu_threads", "num_buffers_warp_spec", "num_consumer_groups",
                                         "reg_dec_producer", "reg_inc_consumer"}));
  const Value kwargs = Argument(args, 0, "kwargs");
  if (!kwargs.is(ValueKind::kDict)) return InvalidAt(loc, "TypeError: triton.Config wants a dict of meta-parameters, this is a ", TypeName(kwargs, nullptr));
  auto type = std::make_shared<ClassPayload>();
  type->name = "Config";
  type->bases = {Value::Builtin("triton.Config")};  // a class of the program may have that name too
  auto config = std::make_shared<InstancePayload>();
  config->type = Value::Shared(ValueKind::kClass, std::move(type));
  config->attributes.emplace_back("kwargs", Value::Shared(ValueKind::kDict, std::make_shared<DictPayload>(*kwargs.As<DictPayload>())));
  for (size_t i = 0; i < 3; ++i) {
    Value value = Argument(args, i + 1, kOptions[i].first);
    config->attributes.emplace_back(std::string(kOptions[i].first), value.absent() ? Value::Int(kOptions[i].second) : Unboxed(value));
  }
  for (size_t i = 0; i < 2; ++i) {
    const char* name = i == 0 ? "maxnreg" : "pre_hook";
    Value value = Argument(args, i + 4, name);
    config->attributes.emplace_back(name, value.absent() ? Value::None() : value);
  }
  return Value::Shared(ValueKind::kInstance, std::move(config));
}

absl::StatusOr<Value> Identity(Impl&, const CallArgs& args, Loc) {
  Value function = Decorated(args);
  if (function.absent()) return Value::Builtin("tilevm.identity");
  return function;
}

// The same function, which kernels may call with static values.
Value ForKernels(const Value& function) {
  auto payload = std::make_shared<FunctionPayload>(*function.As<FunctionPayload>());
  payload->for_kernels = true;
  return Value::Shared(ValueKind::kFunction, std::move(payload));
}

absl::StatusOr<Value> ConstexprFunction(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "triton.constexpr_function", 1, 1, loc));
  const Value& function = args.positional[0];
  return function.is(ValueKind::kFunction) ? ForKernels(function) : function;
}

absl::StatusOr<Value> Constexpr(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "tl.constexpr", 1, 1, loc, {"value"}));
  const Value value = Unboxed(Argument(args, 0, "value"));
  if (IsTyped(value)) return InvalidAt(loc, "tl.constexpr of ", impl.NameOfType(value), ", known only when the kernel runs");
  // In a kernel static values are constexpr as they are. `@tl.constexpr` on a function marks it as usable from kernels.
  if (value.is(ValueKind::kFunction)) return ForKernels(value);
  if (impl.builtin_in_kernel()) return value;
  return Boxed(ValueKind::kConstexpr, value);
}

absl::StatusOr<Value> CDiv(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "triton.cdiv", 2, 2, loc, {"x", "y", "div"}));
  const Value x = Argument(args, 0, "x");
  Value y = Argument(args, 1, "y");
  if (y.absent()) y = Argument(args, 1, "div");
  if (IsTyped(x) || IsTyped(y)) return impl.RunRowOp(Op::kCDiv, {x, y}, true, loc);
  return impl.RunRowOp(Op::kCDiv, {Unboxed(x), Unboxed(y)}, false, loc);
}

absl::StatusOr<Value> NextPowerOf2(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "triton.next_power_of_2", 1, 1, loc, {"n"}));
  TILEVM_ASSIGN_OR_RETURN(int64_t n, ToIndex(Argument(args, 0, "n"), "the argument of next_power_of_2", loc));
  if (n > (int64_t{1} << 62)) return InvalidAt(loc, "OverflowError: next_power_of_2 of ", n);
  int64_t power = n <= 0 ? 0 : 1;
  while (power < n) power *= 2;
  return Value::Int(power);
}

absl::StatusOr<Value> Log2(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "tl._log2", 1, 1, loc, {"i"}));
  TILEVM_ASSIGN_OR_RETURN(int64_t n, ToIndex(Argument(args, 0, "i"), "the argument of _log2", loc));
  int64_t log = 0;
  while (n > 1) n >>= 1, ++log;
  return Value::Int(log);
}

absl::StatusOr<Value> MakeRange(Impl& impl, const CallArgs& args, absl::string_view name, bool is_static, bool hints, Loc loc) {
  auto range = std::make_shared<RangePayload>();
  range->is_static = is_static;
  std::vector<Value> bounds = args.positional;
  for (const auto& [keyword, value] : args.keyword) {
    if (keyword == "step" && hints) {
      range->step = value;
    } else if (keyword == "arg1" && bounds.empty()) {
      bounds.push_back(value);
    } else if (keyword == "arg2" && bounds.size() == 1) {
      bounds.push_back(value);
    } else if (hints && (keyword == "num_stages" || keyword == "loop_unroll_factor" || keyword == "disallow_acc_multi_buffer" || keyword == "flatten" ||
                         keyword == "warp_specialize" || keyword == "disable_licm")) {
      range->hints.emplace_back(keyword, Unboxed(value));
    } else if (!impl.builtin_in_kernel() || hints) {  // Triton ignores keywords on plain range in a kernel
      return InvalidAt(loc, "TypeError: ", name, "() got an unexpected keyword argument '", keyword, "'");
    }
  }
  if (bounds.empty() || bounds.size() > 3) return InvalidAt(loc, "TypeError: ", name, " expected 1 to 3 arguments, got ", bounds.size());
  range->start = bounds.size() == 1 ? Value::Int(0) : bounds[0];
  range->stop = bounds.size() == 1 ? bounds[0] : bounds[1];
  if (bounds.size() == 3) range->step = bounds[2];
  if (range->step.absent_or_none()) range->step = Value::Int(1);
  for (Value* bound : {&range->start, &range->stop, &range->step}) {
    TILEVM_ASSIGN_OR_RETURN(*bound, impl.AsIndex(*bound, loc));
    if (bound->is(ValueKind::kBool)) *bound = Value::Int(bound->int_value());
    if (bound->is(ValueKind::kInt)) continue;
    if (bound->is_tensor() && !is_static) continue;
    return InvalidAt(loc, "TypeError: ", name, ": '", impl.NameOfType(*bound), "' cannot be interpreted as an integer",
                     bound->is_tensor() ? "; its bounds must be constexpr" : "");
  }
  if (range->step.is(ValueKind::kInt) && range->step.int_value() == 0) return InvalidAt(loc, "ValueError: range() arg 3 must not be zero");
  return Value::Shared(ValueKind::kRange, std::move(range));
}
absl::StatusOr<Value> PlainRange(Impl& impl, const CallArgs& args, Loc loc) { return MakeRange(impl, args, "range", false, false, loc); }
absl::StatusOr<Value> TritonRange(Impl& impl, const CallArgs& args, Loc loc) { return MakeRange(impl, args, "tl.range", false, true, loc); }
absl::StatusOr<Value> StaticRange(Impl& impl, const CallArgs& args, Loc loc) { return MakeRange(impl, args, "tl.static_range", true, true, loc); }

absl::StatusOr<Value> PointerType(Impl& impl, const CallArgs& args, Loc loc) {
  const Value element = Unboxed(Argument(args, 0, "element_ty"));
  if (!element.is(ValueKind::kDType)) return InvalidAt(loc, "tl.pointer_type: the element type is ", impl.NameOfType(element), ", wanted a dtype");
  return Value::PointerTypeOf(element.dtype());
}

absl::StatusOr<Value> BlockType(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "tl.block_type", 2, 2, loc, {"element_ty", "shape"}));
  const Value element = Unboxed(Argument(args, 0, "element_ty"));
  if (!element.is(ValueKind::kDType) && !element.is(ValueKind::kPointerType))
    return InvalidAt(loc, "tl.block_type: the element type is ", impl.NameOfType(element), ", wanted a dtype");
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> extents, impl.Iterate(Argument(args, 1, "shape"), loc));
  auto type = std::make_shared<BlockTypePayload>();
  type->type.elem = {element.dtype(), element.is(ValueKind::kPointerType)};
  if (extents.size() > static_cast<size_t>(isa::kMaxRank)) return InvalidAt(loc, "tl.block_type: rank ", extents.size(), ", the limit is ", isa::kMaxRank);
  for (const Value& extent : extents) {
    TILEVM_ASSIGN_OR_RETURN(int64_t size, ToIndex(extent, "extents", loc));
    if (size < 1 || size > isa::kMaxTileElems) return InvalidAt(loc, "tl.block_type: extent ", size);
    type->type.shape.push_back(size);
  }
  return Value::Shared(ValueKind::kBlockType, std::move(type));
}

absl::StatusOr<Value> IntDType(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "tl.core.get_int_dtype", 2, 2, loc, {"bitwidth", "signed"}));
  TILEVM_ASSIGN_OR_RETURN(int64_t bits, ToIndex(Argument(args, 0, "bitwidth"), "the width", loc));
  TILEVM_ASSIGN_OR_RETURN(bool is_signed, impl.Truth(Argument(args, 1, "signed"), loc));
  if (bits == 1) return Value::DTypeOf(isa::DType::kI1);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return InvalidAt(loc, "ValueError: unsupported bitwidth ", bits);
  return Value::DTypeOf(is_signed ? isa::SignedOfWidth(static_cast<int>(bits)) : isa::UnsignedOfWidth(static_cast<int>(bits)));
}

// tl.condition(test, disable_licm=...) only marks the test of a while.
absl::StatusOr<Value> Condition(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "tl.condition", 1, 1, loc, {"arg1", "disable_licm"}));
  return Argument(args, 0, "arg1");
}

absl::StatusOr<Value> TritonTuple(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "tl.tuple", 1, 1, loc, {"args"}));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(Argument(args, 0, "args"), loc));
  return Value::Tuple(std::move(items));
}

// Programmatic dependent launch: nothing to wait for here, launches of one stream follow each other.
absl::StatusOr<Value> Nothing(Impl&, const CallArgs&, Loc) { return Value::None(); }
absl::StatusOr<Value> Yes(Impl&, const CallArgs&, Loc) { return Value::Bool(true); }
absl::StatusOr<Value> No(Impl&, const CallArgs&, Loc) { return Value::Bool(false); }

constexpr BuiltinRow kRows[] = {
    {"triton.jit", Jit}, {"triton.runtime.jit", Jit}, {"triton.autotune", Autotune}, {"triton.autotune.apply", ApplyAutotune},
    {"triton.heuristics", Heuristics}, {"triton.heuristics.apply", ApplyHeuristics}, {"triton.Config", Config}, {"triton.runtime.Config", Config},
    {"triton.runtime.autotuner.Config", Config}, {"triton.runtime.autotuner.autotune", Autotune}, {"triton.runtime.autotuner.heuristics", Heuristics},
    {"triton.cdiv", CDiv}, {"triton.next_power_of_2", NextPowerOf2}, {"triton.language.next_power_of_2", NextPowerOf2},
    {"triton.constexpr_function", ConstexprFunction}, {"triton.must_use_result", Identity}, {"triton.language.constexpr_function", ConstexprFunction},
    {"tilevm.identity", Identity}, {"tilevm.imported", ImportedBuiltin}, {"tilevm.cell", CellBuiltin}, {"tilevm.caused", CausedBuiltin},
    {"builtins.super", SuperBuiltin}, {"builtins.object.__new__", NewObjectBuiltin}, {"sys.exit", ExitBuiltin}, {"importlib.util.find_spec", FindSpecBuiltin},
    {"builtins.exit", ExitBuiltin}, {"builtins.quit", ExitBuiltin}, {"triton.language.constexpr", Constexpr}, {"triton.language._log2", Log2}, {"triton.language.log2_int", Log2},
    {"builtins.range", PlainRange}, {"triton.language.range", TritonRange}, {"triton.language.static_range", StaticRange},
    {"triton.language.pointer_type", PointerType}, {"triton.language.block_type", BlockType}, {"triton.language.get_int_dtype", IntDType},
    {"triton.language.condition", Condition}, {"triton.language.tuple", TritonTuple}, {"triton.language._unwrap_if_constexpr", Identity},
    {"triton.language.extra.cuda.gdc_wait", Nothing}, {"triton.language.extra.cuda.gdc_launch_dependents", Nothing},
    {"triton.language.target_info.is_cuda", Yes}, {"triton.language.target_info.is_hip", No}, {"triton.language.target_info.cuda_capability_geq", Yes},
    {"triton.language.target_info.is_hip_cdna3", No}, {"triton.language.target_info.is_hip_cdna4", No},
};

}  // namespace

absl::Span<const BuiltinRow> TritonBuiltins() { return kRows; }

std::string NormalizePath(absl::string_view path) {
  for (absl::string_view prefix : {"triton.language.extra.cuda.libdevice.", "triton.language.extra.libdevice.", "triton.language.extra.hip.libdevice.",
                                   "triton.language.libdevice.", "triton.language.math.libdevice."}) {
    if (absl::StartsWith(path, prefix)) return absl::StrCat("libdevice.", path.substr(prefix.size()));
  }
  for (absl::string_view prefix : {"triton.language.math.", "triton.language.core.", "triton.language.standard.", "triton.language.random."}) {
    if (absl::StartsWith(path, prefix)) return absl::StrCat("triton.language.", path.substr(prefix.size()));
  }
  if (path == "triton.language.extra.cuda.libdevice" || path == "triton.language.extra.libdevice") return "libdevice";
  return std::string(path);
}

}  // namespace tilevm::specializer
