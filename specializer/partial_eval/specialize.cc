// A kernel as a whole: its parameters from the specialization key, the walk over its body, the finished and verified typed IR.
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::Op;

absl::StatusOr<const FunctionPayload*> Evaluator::Impl::UnderlyingFunction(const Value& kernel, Loc loc) const {
  if (kernel.is(ValueKind::kFunction)) return kernel.As<FunctionPayload>();
  if (kernel.is(ValueKind::kJitFunction)) return kernel.As<JitPayload>()->function.As<FunctionPayload>();
  return InvalidAt(loc, "TypeError: a ", TypeName(kernel, nullptr), " is not a kernel");
}

absl::StatusOr<Value> Evaluator::Impl::ArgumentOf(const ArgSpec& spec, const std::string& name, int source_index, Loc loc) {
  ir::Kernel& kernel = kernel_state_->kernel;
  const auto parameter = [&](isa::Type type, std::string param_name, int64_t divisibility) {
    ir::Param param;
    param.value = kernel.NewValue(std::move(type), param_name);
    param.name = std::move(param_name);
    param.source_index = source_index;
    param.divisibility = divisibility;
    param.loc = loc;
    kernel.params.push_back(param);
    return Value::Tensor(param.value);
  };
  switch (spec.kind) {
    case ArgSpec::Kind::kStatic: return Unboxed(spec.value);
    case ArgSpec::Kind::kTyped:
      if (!spec.type.is_scalar()) return InvalidAt(loc, "argument '", name, "' is ", isa::ToString(spec.type), ", wanted a number or a pointer");
      return parameter(spec.type, name, spec.divisible_by_16 ? 16 : 1);
    case ArgSpec::Kind::kTuple: {
      std::vector<Value> items;
      for (size_t i = 0; i < spec.items.size(); ++i) {
        const std::string part = i < spec.field_names.size() ? spec.field_names[i] : absl::StrCat(i);
        TILEVM_ASSIGN_OR_RETURN(Value item, ArgumentOf(spec.items[i], absl::StrCat(name, ".", part), source_index, loc));
        items.push_back(std::move(item));
      }
      if (spec.field_names.empty()) return Value::Tuple(std::move(items));
      return MakeNamedTuple(spec.class_name, spec.field_names, std::move(items));
    }
    case ArgSpec::Kind::kDescriptor: {
      if (spec.block_shape.empty()) return InvalidAt(loc, "argument '", name, "': a tensor descriptor without a block shape");
      auto descriptor = std::make_shared<DescriptorPayload>();
      descriptor->block_shape = spec.block_shape;
      descriptor->pad_nan = spec.pad_nan;
      const size_t rank = spec.block_shape.size();
      // The base is aligned to 16 bytes and every stride but the last is a multiple of 16 bytes: what a descriptor demands.
      descriptor->base = parameter(isa::PointerType(spec.dtype), name, 16);
      for (size_t i = 0; i < rank; ++i) descriptor->shape.push_back(parameter(isa::ScalarType(isa::DType::kI32), absl::StrCat(name, ".shape", i), 1));
      const int64_t stride_divisor = std::max(1, 16 / isa::StorageBytes(spec.dtype));
      for (size_t i = 0; i + 1 < rank; ++i) {
        descriptor->strides.push_back(parameter(isa::ScalarType(isa::DType::kI64), absl::StrCat(name, ".stride", i), stride_divisor));
      }
      descriptor->strides.push_back(Value::Tensor(kernel_state_->builder.ConstInt(isa::DType::kI64, 1, loc)));
      return Value::Shared(ValueKind::kDescriptor, std::move(descriptor));
    }
  }
  return ErrorAt(loc, absl::StatusCode::kInternal, "unknown kind of argument");
}

absl::StatusOr<ir::Kernel> Evaluator::Impl::Specialize(const Value& kernel, const SpecializationKey& key) {
  TILEVM_ASSIGN_OR_RETURN(const FunctionPayload* function, UnderlyingFunction(kernel, {}));
  if (function->module != module_) return absl::InvalidArgumentError("the kernel belongs to another module");
  const isa::Function& text = module_->functions[function->function];
  if (key.args.size() != text.params.size()) {
    return InvalidAt(text.loc, "kernel '", text.name, "' has ", text.params.size(), " parameters, the specialization key ", key.args.size());
  }
  // A kernel may be specialized while another one is (a host function that launches): the outer one waits.
  std::unique_ptr<KernelState> outer = std::exchange(kernel_state_, std::make_unique<KernelState>(*self_));
  std::vector<const isa::Function*> outer_calls = std::exchange(kernel_calls_, {});
  absl::Cleanup restore = [&] {
    kernel_state_ = std::move(outer);
    kernel_calls_ = std::move(outer_calls);
  };
  KernelState& state = *kernel_state_;
  state.kernel.name = text.name;
  state.kernel.options = key.options;
  state.kernel.loc = text.loc;
  state.elaborator.inline_call = [this](const Value& callee, std::vector<Value> args, Loc loc) {
    CallArgs call;
    call.positional = std::move(args);
    return CallValue(callee, call, true, loc);
  };
  std::vector<Value> arguments;
  size_t next_default = 0;
  for (size_t i = 0; i < text.params.size(); ++i) {
    const isa::Param& param = text.params[i];
    const size_t this_default = next_default;
    if (param.has_default) ++next_default;
    TILEVM_ASSIGN_OR_RETURN(Value value, ArgumentOf(key.args[i], param.name, static_cast<int>(i), param.loc.known() ? param.loc : text.loc));
    if (value.absent() && param.has_default && this_default < function->defaults.size()) value = Unboxed(function->defaults[this_default]);
    if (value.absent()) return InvalidAt(param.loc, "kernel '", text.name, "' has no value for its parameter '", param.name, "'");
    arguments.push_back(std::move(value));
  }
  TILEVM_ASSIGN_OR_RETURN(Value returned, RunFunction(*function, std::move(arguments), true, {}));
  if (!returned.is(ValueKind::kNone)) return InvalidAt(text.loc, "kernel '", text.name, "' returns ", NameOfType(returned), "; a kernel returns nothing");
  EmitYield({}, text.loc);
  std::vector<int64_t> blocks;
  TILEVM_RETURN_IF_ERROR(ResolveExits(state.kernel.body, blocks));
  TILEVM_RETURN_IF_ERROR(ir::Verify(state.kernel));
  return std::move(state.kernel);
}

}  // namespace tilevm::specializer
