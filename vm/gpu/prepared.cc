#include "vm/gpu/prepared.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "isa/eval.h"
#include "isa/status.h"

namespace tilevm::vm {

PreparedLaunch::PreparedLaunch(std::shared_ptr<gpu::Device> device, std::shared_ptr<const CompiledKernel> source, std::shared_ptr<const gpu::LoadedKernel> kernel,
                               gpu::Promises promises, std::vector<Parameter> parameters, std::vector<uint64_t> values, const std::array<int64_t, 3>& grid)
    : api_(device->api()),
      device_(std::move(device)),
      source_(std::move(source)),
      kernel_(std::move(kernel)),
      promises_(promises),
      function_(kernel_->function()),
      parameters_(std::move(parameters)),
      values_(std::move(values)) {
  if (absl::StatusOr<gpu::CuContext> context = device_->context(); context.ok()) context_ = *context;
  grid_ = grid;
}

absl::StatusOr<std::unique_ptr<PreparedLaunch>> PreparedLaunch::Make(std::shared_ptr<gpu::Device> device, std::shared_ptr<const CompiledKernel> source,
                                                                     std::shared_ptr<const gpu::LoadedKernel> kernel,
                                                                     RepackerSource repacker_source, gpu::Promises promises,
                                                                     std::vector<Parameter> parameters, std::vector<uint64_t> values, const std::array<int64_t, 3>& grid,
                                                                     bool strides_pay) {
  std::unique_ptr<PreparedLaunch> launch(
      new PreparedLaunch(std::move(device), std::move(source), std::move(kernel), promises, std::move(parameters), std::move(values), grid));
  launch->repacker_source_ = std::move(repacker_source);
  launch->strides_pay_ = strides_pay;
  TILEVM_RETURN_IF_ERROR(launch->Settle(true));
  return launch;
}

absl::Status PreparedLaunch::LaunchElsewhere(void* stream) {
  gpu::ScopedContext current(api_, context_);
  if (gpu::CuResult result = Enqueue(stream)) return api_.Error("cuLaunchKernel", result);
  return absl::OkStatus();
}

absl::StatusOr<size_t> PreparedLaunch::Find(absl::string_view name, bool pointer, bool floating) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name != name) continue;
    const isa::ElemType type = parameters_[i].type;
    if (type.pointer != pointer || (!pointer && isa::IsFloat(type.dtype) != floating)) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " is ", isa::ToString(type)));
    }
    return i;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the prepared kernel has no parameter '", name, "'; it has ",
      absl::StrJoin(parameters_, ", ", [](std::string* out, const Parameter& p) { absl::StrAppend(out, p.name); }),
      " (what became constant when it was prepared is none)"));
}

absl::Status PreparedLaunch::SetPointer(absl::string_view name, void* address, int64_t bytes) {
  TILEVM_ASSIGN_OR_RETURN(size_t i, Find(name, true, false));
  const uint64_t value = reinterpret_cast<uintptr_t>(address);
  if (value % static_cast<uint64_t>(parameters_[i].divisibility) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " is not aligned to ", parameters_[i].divisibility, " bytes, as it was when the launch was prepared"));
  }
  gpu::ScopedContext current(api_, context_);
  const int ordinal = gpu::Device::OrdinalOf(api_, value);
  if (value != 0 && ordinal != device_->properties().ordinal) {
    return absl::InvalidArgumentError(absl::StrCat("parameter ", name, ordinal < 0 ? " is no memory of a GPU" : absl::StrCat(" is memory of cuda:", ordinal),
                                                   "; the launch was prepared for cuda:", device_->properties().ordinal));
  }
  const uint64_t extent = static_cast<uint64_t>(bytes > 0 ? bytes : parameters_[i].bytes);
  const std::vector<bool>& may_write = kernel_->kernel().emitted.may_write;
  for (size_t k = 0; promises_.no_alias && k < parameters_.size(); ++k) {
    if (k == i || !parameters_[k].type.pointer) continue;
    if (may_write.size() == parameters_.size() && !may_write[i] && !may_write[k]) continue;  // both are only read
    if (value < values_[k] + static_cast<uint64_t>(parameters_[k].bytes) && values_[k] < value + extent) {
      return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " overlaps ", parameters_[k].name, "; it did not when the launch was prepared"));
    }
  }
  const uint64_t old = values_[i];
  values_[i] = value;
  absl::Status status = Settle(false);
  if (!status.ok()) values_[i] = old;
  else parameters_[i].bytes = static_cast<int64_t>(extent);
  return status;
}

absl::Status PreparedLaunch::Settle(bool ranges_changed) {
  const gpu::Emitted& emitted = kernel_->kernel().emitted;
  std::optional<analysis::LaunchRanges> ranges;
  if (ranges_changed && (promises_.trust_signs || !emitted.slice.empty())) ranges.emplace(gpu::RangesOf(source_->kernel, values_, grid_));
  if (ranges.has_value() && promises_.trust_signs && !ranges->SignsAreAsTrusted()) {
    return absl::InvalidArgumentError("with this value a dividend of % or // may be negative, or a loop would end before it begins; prepare the launch anew");
  }
  empty_ = grid_[0] == 0 || grid_[1] == 0 || grid_[2] == 0;
  if (empty_) {
    if (ranges.has_value()) ranges_ = std::move(ranges);
    return absl::OkStatus();  // nothing will be launched
  }
  launch::SliceValues slice;
  if (!emitted.slice.empty()) {
    slice = gpu::EvaluateSlice(emitted, source_->kernel, values_, grid_, ranges.has_value() ? *ranges : *ranges_);
    if (!slice.failed.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("with this value ", slice.failed, "; it was otherwise when the launch was prepared; prepare it anew"));
    }
  }
  // The driver encodes maps for the current context. Nobody would read what the kernel prints.
  const gpu::ScopedContext scoped(api_, context_);
  std::unique_ptr<gpu::DeviceMemory> grown;
  if (const int64_t bytes = gpu::WorkspaceBytes(slice); bytes > 0) {
    TILEVM_ASSIGN_OR_RETURN(repacker_, repacker_source_());
    if (workspace_ == nullptr || workspace_->bytes() < bytes) {
      TILEVM_ASSIGN_OR_RETURN(grown, device_->Allocate(bytes));
    }
  }
  const gpu::DeviceMemory* workspace = grown != nullptr ? grown.get() : workspace_.get();
  const uint32_t stride = strides_pay_ ? gpu::StrideToTry(emitted, grid_, device_->properties().multiprocessors) : 1;
  TILEVM_RETURN_IF_ERROR(arguments_.Set(api_, emitted, values_, slice, grid_, 0, workspace == nullptr ? 0 : workspace->address(), stride));
  if (grown != nullptr) workspace_ = std::move(grown);
  if (ranges.has_value()) ranges_ = std::move(ranges);
  params_ = arguments_.pointers();
  const std::array<int64_t, 3> blocks = gpu::LaunchedGrid(emitted, grid_, kernel_->blocks_at_once());
  for (size_t axis = 0; axis < 3; ++axis) blocks_[axis] = blocks[axis];
  return absl::OkStatus();
}

absl::Status PreparedLaunch::SetInteger(absl::string_view name, int64_t value) {
  TILEVM_ASSIGN_OR_RETURN(size_t i, Find(name, false, false));
  const isa::DType dtype = parameters_[i].type.dtype;
  const int bits = isa::BitWidth(dtype);
  const bool fits = bits == 64 ? isa::IsSigned(dtype) || value >= 0
                    : isa::IsSigned(dtype) && bits > 1 ? value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1)
                                                       : value >= 0 && value < int64_t{1} << bits;
  if (!fits) return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " is ", isa::Name(dtype), "; ", value, " does not fit"));
  if (value % parameters_[i].divisibility != 0) {
    return absl::InvalidArgumentError(absl::StrCat("parameter ", name, " = ", value, " is not divisible by ", parameters_[i].divisibility,
                                                   ", as it was when the launch was prepared"));
  }
  const uint64_t old = values_[i];
  values_[i] = static_cast<uint64_t>(value);
  absl::Status status = Settle(true);
  if (!status.ok()) values_[i] = old;
  return status;
}

absl::Status PreparedLaunch::SetFloat(absl::string_view name, double value) {
  TILEVM_ASSIGN_OR_RETURN(size_t i, Find(name, false, true));
  values_[i] = isa::ScalarFromDouble(parameters_[i].type.dtype, value).bits;
  return Settle(false);
}

absl::Status PreparedLaunch::SetGrid(const std::array<int64_t, 3>& grid) {
  TILEVM_RETURN_IF_ERROR(device_->CheckGrid(grid));
  const std::array<int64_t, 3> old = grid_;
  grid_ = grid;
  absl::Status status = Settle(true);
  if (!status.ok()) {
    grid_ = old;
    empty_ = old[0] == 0 || old[1] == 0 || old[2] == 0;
  }
  return status;
}

}  // namespace tilevm::vm
