#include "vm/host/launch.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "specializer/partial_eval/exceptions.h"
#include "vm/host/compiled_handle.h"
#include "vm/host/device_runner.h"
#include "vm/host/nearest.h"
#include "vm/host/object.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

double MicrosSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// The runtime values of one source parameter, in the order in which specialization makes parameters of it.
void Leaves(const Value& value, std::vector<Value>& out) {
  if (value.is(ValueKind::kTuple)) {
    for (const Value& item : value.items()) Leaves(item, out);
    return;
  }
  if (Record* descriptor = AsRecord(value, "TensorDescriptor")) {
    out.push_back(*descriptor->Find("base"));
    for (const Value& extent : descriptor->Find("shape")->items()) out.push_back(extent);
    const specializer::ItemVector& strides = descriptor->Find("strides")->items();
    out.insert(out.end(), strides.begin(), strides.empty() ? strides.end() : strides.end() - 1);
    return;
  }
  // What became static left no parameter.
  const bool is_static = value.is(ValueKind::kNone) || value.is(ValueKind::kFunction) || value.is(ValueKind::kJitFunction) || value.is(ValueKind::kDType) ||
                         value.is(ValueKind::kConstexpr);
  if (!is_static) out.push_back(value);
}

Buffer BufferOf(Storage& storage, DType dtype, std::string name, bool checked, bool on_device) {
  Buffer buffer;
  buffer.data = on_device ? nullptr : storage.data();
  buffer.bytes = storage.bytes();
  buffer.dtype = dtype;
  buffer.name = std::move(name);
  if (checked && storage.declared_uninitialised) {
    buffer.uninitialised = true;
    if (storage.written().empty()) storage.written().resize(buffer.bytes);
    buffer.written = &storage.written();
  }
  return buffer;
}

absl::StatusOr<Arg> ScalarArg(const Value& value, isa::ElemType elem, absl::string_view name, Loc loc) {
  if (elem.pointer || !value.is_static_number()) {
    return ErrorAt(loc, absl::StatusCode::kInternal, "argument ", name, " is ", specializer::TypeName(value, nullptr), ", the compiled kernel wants ",
                   isa::ToString(elem));
  }
  if (isa::IsFloat(elem.dtype)) {
    return Arg::Float(elem.dtype, value.is(ValueKind::kFloat) ? value.float_value() : static_cast<double>(value.int_value()));
  }
  if (value.is(ValueKind::kFloat)) return InvalidAt(loc, "argument ", name, " is a float, the parameter is ", isa::ToString(elem));
  return Arg::Int(elem.dtype, static_cast<int64_t>(static_cast<uint64_t>(value.int_value())));
}

// What a device has too little of.
absl::Status Lacking(absl::Status status) {
  return absl::IsResourceExhausted(status) ? specializer::WithException(std::move(status), "triton.runtime.errors.OutOfResources") : status;
}

}  // namespace

absl::StatusOr<PreparedRun> PrepareArguments(const ir::Kernel& kernel, const BoundCall& bound, bool checked, Loc loc, bool on_device) {
  PreparedRun run;
  std::vector<std::vector<Value>> leaves(bound.args.size());
  for (size_t i = 0; i < bound.args.size(); ++i) Leaves(bound.args[i], leaves[i]);
  std::vector<size_t> next(bound.args.size());
  // An int equal to 1 inside a tuple is static too: leaves that the kernel skipped are found by counting per parameter.
  std::vector<size_t> wanted(bound.args.size());
  for (const ir::Param& p : kernel.params) ++wanted[p.source_index];
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].size() <= wanted[i]) continue;
    std::vector<Value> kept;
    for (const Value& v : leaves[i]) {
      if (!(v.is(ValueKind::kInt) && v.int_value() == 1)) kept.push_back(v);
    }
    leaves[i] = std::move(kept);
  }
  for (const ir::Param& p : kernel.params) {
    const std::vector<Value>& own = leaves[p.source_index];
    if (next[p.source_index] >= own.size()) {
      return ErrorAt(loc, absl::StatusCode::kInternal, "the compiled kernel has more parameters for ", p.name, " than the launch has values");
    }
    const Value& value = own[next[p.source_index]++];
    const isa::ElemType elem = kernel.TypeOf(p.value).elem;
    if (HostTensor* t = AsTensor(value)) {
      const Tensor& tensor = t->tensor;
      int32_t index = -1;
      for (size_t b = 0; b < run.tensors.size(); ++b) {
        if (run.tensors[b].storage == tensor.storage) index = static_cast<int32_t>(b);
      }
      if (index < 0) {
        index = static_cast<int32_t>(run.buffers.size());
        run.buffers.push_back(BufferOf(*tensor.storage, tensor.dtype, p.name, checked, on_device));
        run.tensors.push_back(tensor);
      }
      run.args.push_back(Arg::InBuffer(index, tensor.offset * tensor.item_bytes()));
      continue;
    }
    TILEVM_ASSIGN_OR_RETURN(Arg arg, ScalarArg(value, elem, p.name, loc));
    run.args.push_back(arg);
  }
  return run;
}

std::string FormatReport(const Report& report, const std::vector<SourceFile>& files) {
  std::string text = report.message;
  if (report.count > 1) absl::StrAppend(&text, " (", report.count, " lanes in all)");
  absl::Status status = InvalidAt(report.loc, Name(report.kind), ": ", text, "; program (", absl::StrJoin(report.program, ", "), ")");
  if (report.other_loc.known()) {
    // Without a second program the other place is where the value came from.
    status = WithNote(status, report.other_loc,
                      report.other_program[0] < 0 ? "where the value comes from"
                                                  : absl::StrCat("the other access, by program (", absl::StrJoin(report.other_program, ", "), ")"));
  }
  std::string text_of = FormatDiagnostic(status, files);
  if (report.note) {
    if (const size_t at = text_of.find("error: "); at != std::string::npos) text_of.replace(at, 5, "note");
  }
  return text_of;
}

bool HostWorld::GoesToCpu(const absl::Status& status) const { return options_.cpu_if_it_cannot && CannotRunThere(status); }

absl::Status HostWorld::WithNearest(absl::Status status, Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants, size_t at, Loc loc) {
  if (options_.device == nullptr || !absl::IsResourceExhausted(status) || searches_left_ == 0) return status;
  --searches_left_;
  // What a program prints while it is specialized it has printed.
  std::function<void(absl::string_view)> print = [](absl::string_view) {};
  print.swap(options_.print);
  status = host::WithNearest(std::move(status), evaluator, kernel, variants, at, [this](const ir::Kernel& k) { return options_.device->Fits(k); }, loc);
  print.swap(options_.print);
  return status;
}

absl::StatusOr<Value> HostWorld::Launch(Evaluator& evaluator, const Value& kernel, const Value& grid, const CallArgs& call, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(std::vector<Variant> variants, ApplyWrappers(evaluator, kernel, call, loc));
  if (variants.size() > 1 && options_.device != nullptr && options_.tuning != Tuning::kNever) {
    absl::StatusOr<size_t> chosen = ChooseConfig(*this, evaluator, kernel, variants, grid, loc);
    if (chosen.ok()) {
      variants = {variants[*chosen]};
    } else if (!GoesToCpu(chosen.status())) {
      return WithNearest(chosen.status(), evaluator, kernel, variants, 0, loc);
    }
  }
  return LaunchFirst(evaluator, kernel, variants, grid, loc);
}

// The first of the variants that fits.
absl::StatusOr<Value> HostWorld::LaunchFirst(Evaluator& evaluator, const Value& kernel, std::vector<Variant>& variants, const Value& grid, Loc loc) {
  std::optional<Variant> too_large;  // the first that is, for the device
  absl::Status refused;
  for (Variant& variant : variants) {
    const size_t at = static_cast<size_t>(&variant - variants.data());
    if (!variant.pre_hook.absent()) {
      TILEVM_RETURN_IF_ERROR(evaluator.Call(variant.pre_hook, CallArgs{{variant.hook_args}, {}}, loc).status());
    }
    absl::StatusOr<BoundCall> binding = Bind(evaluator, kernel, variant.call, loc);
    if (!binding.ok()) return specializer::WithException(binding.status(), "builtins.TypeError");
    const BoundCall bound = *std::move(binding);
    absl::StatusOr<specializer::SpecializationKey> specialization = SpecializationOf(kernel, bound, loc);
    if (!specialization.ok()) return specializer::WithException(specialization.status(), "builtins.TypeError");
    const specializer::SpecializationKey key = *std::move(specialization);
    bool fresh = false;
    absl::StatusOr<std::shared_ptr<const CompiledKernel>> compiled = cache_->Get(program_key_, evaluator, kernel, key, &fresh, options_.device == nullptr);
    if (!compiled.ok()) {
      refused = WithCallSite(compiled.status(), loc);
      if (!absl::IsResourceExhausted(refused) && !absl::IsInternal(refused)) {
        const bool asserted = absl::StartsWith(refused.message(), "static_assert failed");
        refused = specializer::WithException(refused, asserted ? "triton.CompileTimeAssertionFailure" : "triton.CompilationError");
      }
      // The first configuration that fits is used.
      if (DoesNotFit(refused) && variants.size() > 1) continue;
      return refused;
    }
    if (bound.warmup) {
      // What does not fit the device is said now; what it cannot take may run on the CPU.
      if (options_.device != nullptr) {
        const absl::Status prepared = options_.device->Prepare(**compiled, PreparedRun(), {1, 1, 1}).status();
        if (!prepared.ok() && !GoesToCpu(prepared)) return WithCallSite(Lacking(WithNearest(prepared, evaluator, kernel, variants, at, loc)), loc);
      }
      return MakeCompiledHandle(kernel, bound, *compiled);
    }
    TILEVM_ASSIGN_OR_RETURN(auto extents, EvaluateGrid(evaluator, grid, bound, loc));
    LaunchRecord record;
    record.kernel = bound.function->name;
    record.config = variant.config;
    record.compile_us = fresh ? (*compiled)->compile_us : 0;
    if (fresh && options_.log) {
      options_.log(absl::StrCat("compiled ", record.kernel, variant.config.empty() ? "" : " with ", variant.config, " in ",
                                static_cast<int64_t>(record.compile_us), " us"));
    }
    RememberConfig(kernel, variant);
    const Value handle = MakeCompiledHandle(kernel, bound, *compiled);
    record.programs = extents[0] * extents[1] * extents[2];
    if (record.programs == 0) return handle;  // no launch
    absl::Status run = RunCompiled(**compiled, bound, extents, evaluator.module().files, loc, variants.size() == 1, record);
    if (absl::IsResourceExhausted(run) && options_.device != nullptr && variants.size() > 1) {
      if (!too_large.has_value()) too_large = variant;
      refused = run;
      continue;
    }
    if (!run.ok()) return options_.device != nullptr ? Lacking(WithNearest(std::move(run), evaluator, kernel, variants, at, loc)) : run;
    Record(std::move(record));
    return handle;
  }
  if (!too_large.has_value()) return refused;
  if (!GoesToCpu(refused)) return Lacking(WithNearest(std::move(refused), evaluator, kernel, variants, variants.size() - 1, loc));
  variants = {*std::move(too_large)};
  return LaunchFirst(evaluator, kernel, variants, grid, loc);
}

// last: no other variant could do on the device what this one cannot.
absl::Status HostWorld::RunCompiled(const CompiledKernel& compiled, const BoundCall& bound, const std::array<int64_t, 3>& extents,
                                    const std::vector<SourceFile>& files, Loc loc, bool last, LaunchRecord& record) {
  TILEVM_ASSIGN_OR_RETURN(PreparedRun run, PrepareArguments(compiled.kernel, bound, options_.run.checked, loc, options_.device != nullptr));
  RunOptions options = options_.run;
  for (int i = 0; i < 3; ++i) options.grid[i] = extents[i];
  if (!options.print && options_.print)
    options.print = [this](absl::string_view text) { Print(text.empty() || text.back() != '\n' ? text : text.substr(0, text.size() - 1)); };
  if (options_.device != nullptr) {
    absl::StatusOr<DeviceRunResult> done = options_.device->Run(compiled, run, extents, options.print);
    for (const Buffer& buffer : run.buffers) record.bytes += buffer.bytes;
    if (done.ok()) {
      record.run_us = done->run_us;
      record.compile_us += done->compile_us;
      record.on_device = true;
      if (done->compile_us > 0 && options_.log) {
        options_.log(absl::StrCat("compiled ", record.kernel, " for ", options_.device->facts().arch, " in ", static_cast<int64_t>(done->compile_us), " us"));
      }
      return absl::OkStatus();
    }
    if (!GoesToCpu(done.status()) || (absl::IsResourceExhausted(done.status()) && !last)) return WithCallSite(done.status(), loc);
    // Whoever keeps tensors on the GPU looks for the results there.
    if (std::any_of(run.tensors.begin(), run.tensors.end(), [](const Tensor& t) { return t.storage->device_address() != 0; })) return WithCallSite(done.status(), loc);
    const std::function<void(absl::string_view)>& tell = options_.warn ? options_.warn : options_.log;
    if (tell && why_on_cpu_.emplace(done.status().message()).second) tell(absl::StrCat(record.kernel, " runs on the CPU: ", done.status().message()));
    record.bytes = 0;
    for (size_t i = 0; i < run.buffers.size(); ++i) run.buffers[i].data = run.tensors[i].storage->data();
  }
  // Where all memory is the program's own, a made-up address is an error and no crash. A caller's memory may hold addresses that we do not know of.
  options.only_known_memory = std::all_of(run.tensors.begin(), run.tensors.end(), [](const Tensor& t) { return t.storage->owned(); });
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, compiled.plan());
  absl::erase_if(addressed_, [](const auto& entry) { return entry.second.storage.expired(); });
  for (const auto& [key, entry] : addressed_) {
    const std::shared_ptr<Storage> storage = entry.storage.lock();
    if (storage->bytes() == 0) continue;
    const uint64_t begin = reinterpret_cast<uintptr_t>(storage->data());
    options.known_memory.emplace_back(begin, begin + static_cast<uint64_t>(storage->bytes()));
    const bool argument = std::any_of(run.tensors.begin(), run.tensors.end(), [&](const Tensor& t) { return t.storage == storage; });
    if (options.checked && !argument) run.buffers.push_back(BufferOf(*storage, entry.dtype, "a tensor whose data_ptr() was taken", true, false));
  }
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<RunResult> result = Run(*plan, run.args, run.buffers, options);
  record.run_us = MicrosSince(start);
  if (!result.ok()) return WithCallSite(result.status(), loc);
  record.ops = result->statistics.ops;
  for (const Buffer& buffer : run.buffers) record.bytes += buffer.bytes;
  for (const Report& report : result->reports) {
    (report.note ? notes_ : reports_).push_back(FormatReport(report, files));
  }
  reports_dropped_ += result->reports_dropped;
  return absl::OkStatus();
}

}  // namespace tilevm::vm::host
