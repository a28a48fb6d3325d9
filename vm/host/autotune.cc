// Autotune and heuristics, in their stacking order.
//
// A jit function carries its wrappers innermost first. A launch passes through them from the outside in, as in Triton: heuristics add keywords
// computed from what was passed so far; autotune prunes its configurations and adds the keywords of one of them: on a device the fastest (tune.cc). On the
// CPU no trial is run:
// the configurations are tried in order and the first that specializes is used, so reset_to_zero and restore_value, which belong to trials,
// have nothing to do. A pre_hook of the configuration runs before the launch.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "vm/host/launch.h"

namespace tilevm::vm::host {
namespace {

using specializer::DictPayload;
using specializer::JitWrapper;
using specializer::ValueKind;

// The arguments so far under their names: positional ones by the kernel's parameters, then keywords.
Value NamedArguments(const isa::Function& function, const CallArgs& call) {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i < call.positional.size() && i < function.params.size(); ++i) {
    entries.emplace_back(Value::String(function.params[i].name), call.positional[i]);
  }
  for (const auto& [name, value] : call.keyword) entries.emplace_back(Value::String(name), value);
  return specializer::MakeDict(std::move(entries));
}

void SetKeyword(CallArgs& call, const std::string& name, const Value& value) {
  for (auto& [key, old] : call.keyword) {
    if (key == name) {
      old = value;
      return;
    }
  }
  call.keyword.emplace_back(name, value);
}

bool IsPassed(const isa::Function& function, const CallArgs& call, absl::string_view name) {
  for (size_t i = 0; i < call.positional.size() && i < function.params.size(); ++i) {
    if (function.params[i].name == name) return true;
  }
  return std::any_of(call.keyword.begin(), call.keyword.end(), [&](const auto& k) { return k.first == name; });
}

Value Option(const Value& dict, absl::string_view name) {
  if (!dict.is(ValueKind::kDict)) return Value();
  const Value* v = specializer::DictFind(*dict.As<DictPayload>(), Value::String(std::string(name)));
  return v == nullptr ? Value() : *v;
}

absl::Status ApplyHeuristics(Evaluator& evaluator, const isa::Function& function, const Value& arguments, CallArgs& call, Loc loc) {
  Value values = Option(arguments, "values");
  if (values.absent() && arguments.is(ValueKind::kDict)) values = arguments;
  if (!values.is(ValueKind::kDict)) return InvalidAt(loc, "triton.heuristics wants a dict of functions");
  for (const auto& [name, heuristic] : values.As<DictPayload>()->entries) {
    TILEVM_ASSIGN_OR_RETURN(Value value, evaluator.Call(heuristic, CallArgs{{NamedArguments(function, call)}, {}}, loc));
    // A value for a parameter that was passed by position replaces it.
    for (size_t i = 0; i < call.positional.size() && i < function.params.size(); ++i) {
      if (function.params[i].name == name.string()) {
        call.positional[i] = value;
        value = Value();
        break;
      }
    }
    if (!value.absent()) SetKeyword(call, name.string(), value);
  }
  return absl::OkStatus();
}

// The keywords that a configuration adds.
absl::StatusOr<Keywords> ConfigKeywords(Evaluator& evaluator, const Value& config, Loc loc) {
  Keywords keywords;
  TILEVM_ASSIGN_OR_RETURN(Value kwargs, evaluator.GetAttr(config, "kwargs", loc));
  if (!kwargs.is(ValueKind::kDict)) return InvalidAt(loc, "a triton.Config wants a dict of values");
  for (const auto& [name, value] : kwargs.As<DictPayload>()->entries) {
    if (!name.is(ValueKind::kString)) return InvalidAt(loc, "a triton.Config wants names as keys");
    keywords.emplace_back(name.string(), value);
  }
  for (absl::string_view option : {"num_warps", "num_ctas", "num_stages", "maxnreg"}) {
    absl::StatusOr<Value> value = evaluator.GetAttr(config, option, loc);
    if (value.ok() && !value->absent_or_none()) keywords.emplace_back(std::string(option), *value);
  }
  return keywords;
}

// Every configuration sets num_warps, num_stages and num_ctas, if only to their defaults.
absl::Status Twice(const isa::Function& function, absl::string_view name, Loc loc) {
  return InvalidAt(loc, "TypeError: ", function.name, "() got multiple values for keyword argument '", name, "': it is passed, and autotune sets it");
}

std::string Describe(const Keywords& keywords) {
  std::string text;
  for (const auto& [name, value] : keywords) absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=", specializer::Repr(value));
  return text;
}

absl::StatusOr<std::vector<Value>> PrunedConfigs(Evaluator& evaluator, const isa::Function& function, const Value& arguments, const CallArgs& call, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> configs, evaluator.Iterate(Option(arguments, "configs"), loc));
  const Value prune = Option(arguments, "prune_configs_by");
  if (prune.is(ValueKind::kDict)) {
    const Value early = Option(prune, "early_config_prune");
    if (!early.absent_or_none()) {
      CallArgs args{{Value::List(configs), NamedArguments(function, CallArgs{call.positional, {}})}, call.keyword};
      TILEVM_ASSIGN_OR_RETURN(Value kept, evaluator.Call(early, args, loc));
      TILEVM_ASSIGN_OR_RETURN(configs, evaluator.Iterate(kept, loc));
      if (configs.empty()) return InvalidAt(loc, function.name, ": early_config_prune left no configuration");
    }
    const Value model = Option(prune, "perf_model");
    if (!model.absent_or_none()) {
      const Value top = Option(prune, "top_k");
      double count = static_cast<double>(configs.size());
      if (top.is(ValueKind::kInt)) count = static_cast<double>(top.int_value());
      if (top.is(ValueKind::kFloat) && top.float_value() <= 1) count = std::max(1.0, count * top.float_value());
      std::vector<std::pair<double, size_t>> times;
      for (size_t i = 0; i < configs.size(); ++i) {
        TILEVM_ASSIGN_OR_RETURN(Keywords extra, ConfigKeywords(evaluator, configs[i], loc));
        CallArgs args;
        for (size_t p = 0; p < call.positional.size() && p < function.params.size(); ++p)
          args.keyword.emplace_back(function.params[p].name, call.positional[p]);
        for (const auto& [name, value] : call.keyword) SetKeyword(args, name, value);
        for (const auto& [name, value] : extra) SetKeyword(args, name, value);
        TILEVM_ASSIGN_OR_RETURN(Value time, evaluator.Call(model, args, loc));
        times.emplace_back(time.is(ValueKind::kFloat) ? time.float_value() : static_cast<double>(time.int_value()), i);
      }
      std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::vector<Value> kept;
      for (size_t i = 0; i < times.size() && static_cast<double>(i) < count; ++i) kept.push_back(configs[times[i].second]);
      configs = std::move(kept);
    }
  }
  return configs;
}

// "M=512, N=512 | a:f16 b:f16 c:f32"
absl::StatusOr<std::string> TuningKeyOf(Evaluator& evaluator, const isa::Function& function, const Value& arguments, const CallArgs& call, Loc loc) {
  const Value named = NamedArguments(function, call);
  std::string text;
  const Value names = Option(arguments, "key");
  if (!names.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> keys, evaluator.Iterate(names, loc));
    for (const Value& name : keys) {
      const Value* value = specializer::DictFind(*named.As<DictPayload>(), name);
      if (value != nullptr && AsTensor(*value) == nullptr) {
        absl::StrAppend(&text, text.empty() ? "" : ", ", specializer::Str(name), "=", specializer::Repr(*value));
      }
    }
  }
  text += " |";
  for (const auto& [name, value] : named.As<DictPayload>()->entries) {
    if (HostTensor* tensor = AsTensor(value)) absl::StrAppend(&text, " ", specializer::Str(name), ":", isa::Name(tensor->tensor.dtype));
  }
  return text;
}

}  // namespace

void RememberConfig(const Value& kernel, const Variant& variant) {
  if (!kernel.is(ValueKind::kJitFunction) || variant.chosen.absent()) return;
  auto* jit = kernel.As<specializer::JitPayload>();
  jit->best_config = variant.chosen;
  if (jit->cache.absent()) jit->cache = specializer::MakeDict({});
  specializer::DictSet(*jit->cache.As<DictPayload>(), Value::String(variant.tuning_key), variant.chosen);
}

absl::StatusOr<std::vector<Variant>> ApplyWrappers(Evaluator& evaluator, const Value& kernel, const CallArgs& call, Loc loc) {
  std::vector<Variant> variants = {Variant{call, "", "", Value(), Value(), Value()}};
  if (!kernel.is(ValueKind::kJitFunction)) return variants;
  TILEVM_ASSIGN_OR_RETURN(const isa::Function* function, evaluator.KernelFunction(kernel));
  const auto* jit = kernel.As<specializer::JitPayload>();
  for (size_t w = jit->wrappers.size(); w-- > 0;) {
    const JitWrapper& wrapper = jit->wrappers[w];
    if (wrapper.kind == JitWrapper::Kind::kHeuristics) {
      for (Variant& v : variants) TILEVM_RETURN_IF_ERROR(ApplyHeuristics(evaluator, *function, wrapper.arguments, v.call, loc));
      continue;
    }
    if (variants.size() > 1 || !variants[0].config.empty()) return UnimplementedAt(loc, function->name, ": autotune over autotune is not supported");
    const Variant base = variants[0];
    TILEVM_ASSIGN_OR_RETURN(const std::string tuning_key, TuningKeyOf(evaluator, *function, wrapper.arguments, base.call, loc));
    TILEVM_ASSIGN_OR_RETURN(std::vector<Value> configs, PrunedConfigs(evaluator, *function, wrapper.arguments, base.call, loc));
    variants.clear();
    for (const Value& config : configs) {
      Variant v = base;
      TILEVM_ASSIGN_OR_RETURN(Keywords keywords, ConfigKeywords(evaluator, config, loc));
      TILEVM_ASSIGN_OR_RETURN(Value kwargs, evaluator.GetAttr(config, "kwargs", loc));
      for (const auto& [name, value] : kwargs.As<DictPayload>()->entries) {
        if (!IsPassed(*function, base.call, name.string())) continue;
        // With one configuration nothing is compared: the call has the argument twice.
        const bool by_name = std::any_of(base.call.keyword.begin(), base.call.keyword.end(), [&](const auto& k) { return k.first == name.string(); });
        if (configs.size() == 1 || !by_name) return Twice(*function, name.string(), loc);
        return InvalidAt(loc, "ValueError: Conflicting meta-parameters: ", name.string(), ". Make sure that you don't re-define auto-tuned symbols. (",
                         function->name, "'s configurations set it)");
      }
      for (const auto& [name, value] : keywords) {
        for (const auto& [given, old] : base.call.keyword) {
          if (given == name) return Twice(*function, name, loc);
        }
        SetKeyword(v.call, name, value);
      }
      v.config = keywords.empty() ? "default" : Describe(keywords);
      absl::StatusOr<Value> hook = evaluator.GetAttr(config, "pre_hook", loc);
      if (hook.ok() && !hook->absent_or_none()) v.pre_hook = *hook;
      v.tuning_key = tuning_key;
      v.hook_args = NamedArguments(*function, v.call);
      v.chosen = config;
      variants.push_back(std::move(v));
    }
    if (variants.empty()) {  // autotune without configurations has one of defaults
      for (absl::string_view option : {"num_warps", "num_stages", "num_ctas"}) {
        if (IsPassed(*function, base.call, option)) return Twice(*function, option, loc);
      }
      variants.push_back(base);
      variants[0].config = "default";
    }
  }
  return variants;
}

}  // namespace tilevm::vm::host
