#include "vm/kernel_cache.h"

#include <chrono>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "specializer/passes/passes.h"

namespace tilevm::vm {
namespace {

using specializer::ArgSpec;
using specializer::Value;
using specializer::ValueKind;

std::string FunctionKey(const Value& value);

// Static values by content; what has no content (functions) by its place in the module and what it holds.
std::string ValueKey(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kFunction:
    case ValueKind::kJitFunction: return FunctionKey(value);
    case ValueKind::kConstexpr: return absl::StrCat("constexpr ", ValueKey(value.As<specializer::BoxPayload>()->inner));
    case ValueKind::kTuple:
    case ValueKind::kList: {
      std::string text = "(";
      for (const Value& item : value.items()) absl::StrAppend(&text, ValueKey(item), ",");
      return text + ")";
    }
    case ValueKind::kFloat: return absl::StrCat("f", absl::Hex(absl::bit_cast<uint64_t>(value.float_value())));
    case ValueKind::kClass:
    case ValueKind::kInstance:
    case ValueKind::kObject: return absl::StrCat(specializer::Repr(value), "@", reinterpret_cast<uintptr_t>(value.payload().get()));
    default: return absl::StrCat(static_cast<int>(value.kind()), ":", specializer::Repr(value));
  }
}

std::string FunctionKey(const Value& value) {
  if (value.is(ValueKind::kJitFunction)) return FunctionKey(value.As<specializer::JitPayload>()->function);
  const auto* f = value.As<specializer::FunctionPayload>();
  std::string text = absl::StrCat("fn", f->function);
  for (const Value& v : f->captures) absl::StrAppend(&text, "|", ValueKey(v));
  return text;
}

void AppendSpec(const ArgSpec& spec, std::string& text) {
  switch (spec.kind) {
    case ArgSpec::Kind::kStatic: absl::StrAppend(&text, "=", ValueKey(spec.value)); break;
    case ArgSpec::Kind::kTyped: absl::StrAppend(&text, isa::ToString(spec.type), spec.divisible_by_16 ? "/16" : ""); break;
    case ArgSpec::Kind::kTuple:
      absl::StrAppend(&text, spec.class_name, "(", absl::StrJoin(spec.field_names, "."), ":");
      for (const ArgSpec& item : spec.items) {
        AppendSpec(item, text);
        text += ",";
      }
      text += ")";
      break;
    case ArgSpec::Kind::kDescriptor:
      absl::StrAppend(&text, "desc<", isa::Name(spec.dtype), isa::ShapeToString(spec.block_shape), spec.pad_nan ? "nan>" : ">");
      break;
  }
}

}  // namespace

std::string KeyText(absl::string_view program_key, const Value& kernel, const specializer::SpecializationKey& key) {
  std::string text = absl::StrCat(program_key, ":", FunctionKey(kernel), "(");
  for (const ArgSpec& spec : key.args) {
    AppendSpec(spec, text);
    text += ";";
  }
  const ir::Options& o = key.options;
  absl::StrAppend(&text, ") warps=", o.num_warps, " stages=", o.num_stages, " ctas=", o.num_ctas, " regs=", o.maxnreg, o.debug ? " debug" : "",
                  o.fast_math ? " fast" : "");
  return text;
}

absl::StatusOr<ir::Kernel> SpecializeAndOptimize(specializer::Evaluator& evaluator, const Value& kernel, const specializer::SpecializationKey& key,
                                                 absl::string_view stop_after) {
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel typed, evaluator.Specialize(kernel, key));
  if (stop_after == "typed") return typed;
  return specializer::RunPasses(std::move(typed), stop_after);
}

absl::StatusOr<std::shared_ptr<const Plan>> CompiledKernel::plan() const {
  std::lock_guard<std::mutex> lock(plan_mutex_);
  if (plan_ == nullptr) {
    TILEVM_ASSIGN_OR_RETURN(plan_, Compile(kernel));
  }
  return plan_;
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> KernelCache::Get(absl::string_view program_key, specializer::Evaluator& evaluator,
                                                                       const Value& kernel, const specializer::SpecializationKey& key, bool* fresh,
                                                                       bool want_plan) {
  // A constexpr or a helper at module level that was edited since is another kernel.
  std::string text = KeyText(absl::StrCat(program_key, evaluator.GlobalsKey(kernel)), kernel, key);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto it = index_.find(text);
    if (it != index_.end()) {
      ++hits_;
      recent_.splice(recent_.begin(), recent_, it->second);
      if (fresh != nullptr) *fresh = false;
      return it->second->kernel;
    }
    ++misses_;
  }
  // Compiled without the lock: two threads may do the same work once, and the loser's result is dropped.
  const auto start = std::chrono::steady_clock::now();
  auto compiled = std::make_shared<CompiledKernel>();
  TILEVM_ASSIGN_OR_RETURN(compiled->kernel, SpecializeAndOptimize(evaluator, kernel, key));
  if (want_plan) {
    TILEVM_RETURN_IF_ERROR(compiled->plan().status());
  }
  compiled->compile_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  if (fresh != nullptr) *fresh = true;

  std::lock_guard<std::mutex> lock(mutex_);
  const auto it = index_.find(text);
  if (it != index_.end()) return it->second->kernel;
  recent_.push_front(Entry{text, compiled});
  index_[std::move(text)] = recent_.begin();
  if (recent_.size() > max_entries_) {
    index_.erase(recent_.back().key);
    recent_.pop_back();
  }
  return std::shared_ptr<const CompiledKernel>(compiled);
}

CacheStatistics KernelCache::statistics() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return {hits_, misses_, static_cast<int64_t>(recent_.size())};
}

}  // namespace tilevm::vm
