#include "vm/engine.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontends/asm/assemble.h"
#include "frontends/triton/compile.h"
#include "isa/tbc.h"
#include "isa/tbc_tuning.h"
#include "vm/file.h"
#include "vm/gpu/runner.h"
#include "vm/grid_expression.h"
#include "vm/host/launch.h"
#include "vm/host/nearest.h"

namespace tilevm::vm {

using specializer::CallArgs;
using specializer::Value;
using specializer::ValueKind;

std::shared_ptr<Engine> Engine::Create(EngineOptions options) { return std::shared_ptr<Engine>(new Engine(std::move(options))); }

absl::StatusOr<std::shared_ptr<Engine>> Engine::Open(EngineOptions options) {
  absl::string_view name = options.device;
  const bool any = name == "auto";
  if ((options.gpu_memory.allocate == nullptr) != (options.gpu_memory.release == nullptr)) {
    return absl::InvalidArgumentError("an allocator of GPU memory has to allocate and to release");
  }
  if (name == "cpu") return Create(std::move(options));
  GpuOptions gpu;
  if (!any) {
    if (!absl::ConsumePrefix(&name, "cuda") || (!name.empty() && (!absl::ConsumePrefix(&name, ":") || !absl::SimpleAtoi(name, &gpu.ordinal)))) {
      return absl::InvalidArgumentError(absl::StrCat("device '", options.device, "' is unknown; cpu, cuda, cuda:N and auto are possible"));
    }
    if (options.checked) return absl::InvalidArgumentError("checked mode runs on the CPU engine: device cpu or auto");
  }
  if (any && options.checked) return Create(std::move(options));
  gpu.driver_library = options.driver_library;
  gpu.nvrtc_library = options.nvrtc_library;
  gpu.workspace = options.workspace;
  gpu.memory = options.gpu_memory;
  gpu.cache.directory = options.cache_directory;
  gpu.cache.lower_layers = options.cache_lower_layers;
  gpu.cache.max_bytes = options.max_cache_bytes;
  gpu.cache.warn = options.warn ? options.warn : options.log;
  absl::StatusOr<std::shared_ptr<host::DeviceRunner>> device = OpenGpu(gpu);
  if (!device.ok() && !any) return device.status();
  if (!device.ok() && options.log) options.log(absl::StrCat("the CPU engine is used: ", device.status().message()));
  std::shared_ptr<Engine> engine = Create(std::move(options));
  if (device.ok()) engine->device_ = *std::move(device);
  return engine;
}

absl::StatusOr<isa::Module> LoadModuleBytes(absl::string_view bytes, const std::string& name, const LoadOptions& options, std::vector<SourceFile>* files) {
  SourceKind kind = options.kind;
  if (isa::LooksLikeTbc(bytes)) kind = kind == SourceKind::kAuto ? SourceKind::kBytecode : kind;
  if (kind == SourceKind::kAuto && absl::EndsWith(name, ".tbc")) kind = SourceKind::kBytecode;
  if (kind == SourceKind::kAuto && absl::EndsWith(name, ".tasm")) kind = SourceKind::kAssembly;
  if (kind == SourceKind::kAuto) kind = SourceKind::kTriton;
  if (kind == SourceKind::kBytecode) {
    absl::StatusOr<isa::Module> module = isa::ReadTbc(bytes);
    if (!module.ok()) return absl::Status(module.status().code(), absl::StrCat(name, ": ", module.status().message()));
    return module;
  }
  std::vector<SourceFile> loaded = {{name, std::string(bytes)}};
  absl::StatusOr<isa::Module> module;
  if (kind == SourceKind::kAssembly) {
    module = assembly::Assemble(bytes, name);
  } else {
    triton::CompileOptions compile;
    compile.include_dirs = options.import_dirs;
    compile.load_file = [&loaded](const std::string& path) -> absl::StatusOr<std::string> {
      absl::StatusOr<std::string> text = triton::LoadFromDisk(path);
      if (text.ok()) loaded.push_back({path, *text});
      return text;
    };
    module = triton::CompileTriton(bytes, name, compile);
  }
  if (files != nullptr) *files = std::move(loaded);
  return module;
}

absl::StatusOr<std::shared_ptr<Program>> Engine::LoadFile(const std::string& path, const LoadOptions& options, std::vector<SourceFile>* files) {
  TILEVM_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, int64_t{1} << 30));
  return Load(bytes, path == "-" ? "<stdin>" : path, options, files);
}

absl::StatusOr<std::shared_ptr<Program>> Engine::Load(absl::string_view bytes, const std::string& name, const LoadOptions& options,
                                                      std::vector<SourceFile>* files) {
  TILEVM_ASSIGN_OR_RETURN(isa::Module module, LoadModuleBytes(bytes, name, options, files));
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<Program> program, LoadModule(std::move(module)));
  if (isa::LooksLikeTbc(bytes)) {
    absl::StatusOr<isa::TuningResults> tuned = isa::ReadTuning(bytes);
    if (!tuned.ok()) return absl::Status(tuned.status().code(), absl::StrCat(name, ": ", tuned.status().message()));
    program->world().stored_configs() = *std::move(tuned);
  }
  return program;
}

absl::StatusOr<std::shared_ptr<Program>> Engine::LoadModule(isa::Module module) {
  int64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    number = programs_++;
  }
  return std::shared_ptr<Program>(new Program(shared_from_this(), std::move(module), absl::StrCat("p", number)));
}

Program::Program(std::shared_ptr<Engine> engine, isa::Module module, std::string key)
    : engine_(std::move(engine)), module_(std::make_unique<const isa::Module>(std::move(module))) {
  const EngineOptions& o = engine_->options();
  host::HostWorld::Options options;
  options.run.threads = o.threads;
  options.run.checked = o.checked;
  options.run.poison_masked = o.poison_masked;
  options.run.max_ops = o.max_ops;
  options.run.max_memory_bytes = o.max_memory_bytes;
  options.print = o.print;
  options.log = o.log;
  options.device = engine_->device_;
  options.tuning = o.tuning;
  options.debug = o.debug;
  options.cpu_if_it_cannot = o.device == "auto";
  options.warn = o.warn;
  world_ = std::make_unique<host::HostWorld>(&engine_->cache_, std::move(key), std::move(options));
  world_->generator().seed = o.seed;
  evaluator_ = std::make_unique<specializer::Evaluator>(module_.get(), world_.get(), o.limits);
}

Program::~Program() = default;

namespace {

// Names of unit 0 that may be kernels: functions of the module, and what cells define that call triton.jit and its like.
std::vector<std::string> CandidateNames(const isa::Module& module) {
  std::vector<std::string> names;
  absl::flat_hash_set<std::string> seen;
  for (const isa::Function& f : module.functions) {
    if (f.kind == isa::FunctionKind::kKernel && f.unit == 0 && seen.insert(f.name).second) names.push_back(f.name);
  }
  if (module.units.empty()) return names;
  absl::flat_hash_set<std::string> functions;
  for (const isa::Function& f : module.functions) {
    if (f.unit == 0 && f.kind == isa::FunctionKind::kPlain) functions.insert(f.name);
  }
  const auto mentions_jit = [&](const isa::Function& cell) {
    for (const isa::Inst& inst : cell.body.body) {
      if (inst.op != isa::Op::kConst || inst.imm >= module.constants.size()) continue;
      const isa::Constant& c = module.constants[inst.imm];
      if (c.kind == isa::Constant::Kind::kBuiltin && absl::StartsWith(c.string_value, "triton.")) return true;
    }
    return false;
  };
  for (const isa::Cell& cell : module.units[0].cells) {
    for (isa::StringId id : cell.defines) {
      const std::string& name = module.strings[id];
      if ((functions.contains(name) || mentions_jit(module.functions[cell.function])) && seen.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::vector<KernelInfo> Program::Kernels() {
  std::vector<KernelInfo> kernels;
  for (const std::string& name : CandidateNames(*module_)) {
    std::lock_guard<std::mutex> lock(mutex_);
    absl::StatusOr<Value> value = evaluator_->Global(name);
    if (!value.ok()) continue;
    const bool jit = value->is(ValueKind::kJitFunction);
    absl::StatusOr<const isa::Function*> function = evaluator_->KernelFunction(*value);
    if (!function.ok() || (!jit && (*function)->kind != isa::FunctionKind::kKernel)) continue;
    KernelInfo info;
    info.name = name;
    for (const isa::Param& p : (*function)->params) {
      info.params.push_back(p.name);
      if (p.is_constexpr) info.constexprs.push_back(p.name);
    }
    if (jit) {
      for (const auto& wrapper : value->As<specializer::JitPayload>()->wrappers) {
        info.autotuned = info.autotuned || wrapper.kind == specializer::JitWrapper::Kind::kAutotune;
      }
    }
    kernels.push_back(std::move(info));
  }
  return kernels;
}

std::vector<std::string> Program::HostFunctions() {
  std::vector<std::string> names;
  for (const std::string& name : CandidateNames(*module_)) {
    std::lock_guard<std::mutex> lock(mutex_);
    absl::StatusOr<Value> value = evaluator_->Global(name);
    if (!value.ok() || !value->is(ValueKind::kFunction)) continue;
    const auto* f = value->As<specializer::FunctionPayload>();
    if (module_->functions[f->function].kind == isa::FunctionKind::kPlain) names.push_back(name);
  }
  return names;
}

absl::StatusOr<Value> Program::KernelValue(absl::string_view name) {
  absl::StatusOr<Value> value = evaluator_->Global(name);
  if (absl::IsNotFound(value.status())) return absl::NotFoundError(absl::StrCat("there is no kernel or function '", name, "' in the file"));
  return value;
}

bool Program::IsKernel(absl::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  absl::StatusOr<Value> value = KernelValue(name);
  if (!value.ok()) return false;
  if (value->is(ValueKind::kJitFunction)) return true;
  if (!value->is(ValueKind::kFunction)) return false;
  return module_->functions[value->As<specializer::FunctionPayload>()->function].kind == isa::FunctionKind::kKernel;
}

absl::Status Program::Defined(absl::string_view name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return KernelValue(name).status();
}

absl::Status Program::RunMain() {
  std::lock_guard<std::mutex> lock(mutex_);
  return evaluator_->RunMain();
}

absl::StatusOr<Value> Program::Call(absl::string_view function, const CallArgs& args) {
  std::lock_guard<std::mutex> lock(mutex_);
  TILEVM_ASSIGN_OR_RETURN(Value callee, KernelValue(function));
  return evaluator_->Call(callee, args);
}

absl::StatusOr<Value> ToValue(const ArgumentValue& argument, host::DeviceRunner* device) {
  if (std::holds_alternative<std::monostate>(argument)) return Value::None();
  if (const bool* b = std::get_if<bool>(&argument)) return Value::Bool(*b);
  if (const int64_t* i = std::get_if<int64_t>(&argument)) return Value::Int(*i);
  if (const double* d = std::get_if<double>(&argument)) return Value::Float(*d);
  if (const std::string* s = std::get_if<std::string>(&argument)) return Value::String(*s);
  if (const isa::DType* d = std::get_if<isa::DType>(&argument)) return Value::DTypeOf(*d);
  const TensorRef& ref = std::get<TensorRef>(argument);
  host::Tensor t;
  t.dtype = ref.dtype;
  t.shape.assign(ref.shape.begin(), ref.shape.end());
  t.strides = host::ContiguousStrides(t.shape);
  if (!ref.strides.empty()) {
    if (ref.strides.size() != ref.shape.size()) return absl::InvalidArgumentError("a tensor's shape and strides differ in length");
    t.strides.assign(ref.strides.begin(), ref.strides.end());
  }
  int64_t elems = 1;
  for (size_t i = 0; i < t.shape.size(); ++i) {
    int64_t reach;
    if (t.shape[i] < 0 || t.strides[i] < 0 || __builtin_mul_overflow(std::max<int64_t>(t.shape[i] - 1, 0), t.strides[i], &reach) ||
        __builtin_add_overflow(elems, reach, &elems)) {
      return absl::InvalidArgumentError("a tensor's shape or strides are out of range");
    }
  }
  if (t.numel() == 0) elems = 0;
  int64_t bytes;
  if (__builtin_mul_overflow(elems, isa::StorageBytes(ref.dtype), &bytes)) return absl::InvalidArgumentError("a tensor is too large");
  if (device == nullptr) {
    t.storage = host::Storage::Borrow(ref.data, bytes);
  } else {
    TILEVM_ASSIGN_OR_RETURN(t.storage, device->Borrow(ref.data, bytes));
  }
  t.storage->declared_uninitialised = ref.uninitialised;
  return host::MakeTensorValue(std::move(t));
}

namespace {

absl::StatusOr<CallArgs> ToCallArgs(const std::vector<Argument>& args, host::DeviceRunner* device) {
  CallArgs call;
  for (const Argument& a : args) {
    absl::StatusOr<Value> made = ToValue(a.value, device);
    if (!made.ok()) {
      const std::string name = a.name.empty() ? absl::StrCat(call.positional.size() + 1) : a.name;
      return absl::Status(made.status().code(), absl::StrCat("argument ", name, ": ", made.status().message()));
    }
    Value value = *std::move(made);
    if (a.name.empty()) {
      if (!call.keyword.empty()) return absl::InvalidArgumentError("arguments without a name stand before those with one");
      call.positional.push_back(std::move(value));
    } else {
      call.keyword.emplace_back(a.name, std::move(value));
    }
  }
  return call;
}

// A grid expression as a callable: evaluated on the bound arguments, tuned ones included.
class GridText : public specializer::HostObject {
 public:
  explicit GridText(std::string text) : text_(std::move(text)) {}
  std::string type_name() const override { return "grid"; }
  absl::StatusOr<Value> Call(specializer::Evaluator&, const CallArgs& args, Loc) override {
    auto* dict = args.positional[0].As<specializer::DictPayload>();
    absl::StatusOr<std::vector<int64_t>> extents = EvaluateExpressionList(text_, [&](absl::string_view name) -> std::optional<int64_t> {
      const Value* v = specializer::DictFind(*dict, Value::String(std::string(name)));
      if (v == nullptr || (!v->is(ValueKind::kInt) && !v->is(ValueKind::kBool))) return std::nullopt;
      return static_cast<int64_t>(v->int_value());
    });
    if (!extents.ok()) {
      absl::Status status = extents.status();
      status.SetPayload(host::kGridPayload, absl::Cord());
      return status;
    }
    std::vector<Value> items;
    for (int64_t extent : *extents) items.push_back(Value::Int(extent));
    return Value::Tuple(std::move(items));
  }

 private:
  std::string text_;
};

}  // namespace

absl::StatusOr<LaunchResult> Program::LaunchValues(absl::string_view kernel, absl::string_view grid, const CallArgs& args) {
  std::lock_guard<std::mutex> lock(mutex_);
  TILEVM_ASSIGN_OR_RETURN(Value value, KernelValue(kernel));
  const Value grid_value = Value::Shared(ValueKind::kObject, std::make_shared<GridText>(std::string(grid)));
  const size_t launches = world_->launches().size(), reports = world_->reports().size(), notes = world_->notes().size();
  TILEVM_RETURN_IF_ERROR(world_->Launch(*evaluator_, value, grid_value, args, Loc{}).status());
  LaunchResult result;
  if (world_->launches().size() > launches) result.record = world_->launches().back();
  result.reports.assign(world_->reports().begin() + reports, world_->reports().end());
  result.notes.assign(world_->notes().begin() + notes, world_->notes().end());
  return result;
}

absl::StatusOr<LaunchResult> Program::Launch(absl::string_view kernel, absl::string_view grid, const std::vector<Argument>& args) {
  TILEVM_ASSIGN_OR_RETURN(CallArgs call, ToCallArgs(args, engine_->device()));
  absl::StatusOr<LaunchResult> result = LaunchValues(kernel, grid, call);
  // The caller reads its memory as soon as we return.
  const auto fetch = [](const Value& value) {
    const host::HostTensor* tensor = host::AsTensor(value);
    if (tensor != nullptr && tensor->tensor.storage->device_address() == 0 && tensor->tensor.storage->home() == host::Storage::Home::kDevice) tensor->tensor.data();
  };
  for (const Value& value : call.positional) fetch(value);
  for (const auto& [name, value] : call.keyword) fetch(value);
  return result;
}

absl::StatusOr<LaunchResult> Program::Launch(absl::string_view kernel, absl::Span<const int64_t> grid, const std::vector<Argument>& args) {
  return Launch(kernel, absl::StrJoin(grid, ", "), args);
}

absl::StatusOr<Program::BoundKernel> Program::BindCall(absl::string_view kernel, const CallArgs& call) {
  BoundKernel out;
  TILEVM_ASSIGN_OR_RETURN(out.kernel, KernelValue(kernel));
  TILEVM_ASSIGN_OR_RETURN(std::vector<host::Variant> variants, host::ApplyWrappers(*evaluator_, out.kernel, call, Loc{}));
  out.chosen = host::RememberedConfig(*world_, *evaluator_, out.kernel, variants);
  TILEVM_ASSIGN_OR_RETURN(host::BoundCall bound, host::Bind(*evaluator_, out.kernel, variants[out.chosen].call, Loc{}));
  out.variants = std::move(variants);
  TILEVM_ASSIGN_OR_RETURN(out.key, host::SpecializationOf(out.kernel, bound, Loc{}));
  out.bound = std::make_unique<host::BoundCall>(std::move(bound));
  return out;
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> Program::Compiled(const BoundKernel& call, bool want_plan) {
  return engine_->cache_.Get(world_->program_key(), *evaluator_, call.kernel, call.key, nullptr, want_plan);
}

absl::Status Program::Warm(absl::string_view kernel, const std::vector<Argument>& args) {
  TILEVM_ASSIGN_OR_RETURN(CallArgs call, ToCallArgs(args, nullptr));
  std::lock_guard<std::mutex> lock(mutex_);
  TILEVM_ASSIGN_OR_RETURN(BoundKernel bound, BindCall(kernel, call));
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const CompiledKernel> compiled, Compiled(bound, engine_->device() == nullptr));
  if (engine_->device() == nullptr) return absl::OkStatus();
  return world_->WithNearest(engine_->device()->Compile(*compiled), *evaluator_, bound.kernel, bound.variants, bound.chosen, Loc{});
}

absl::StatusOr<std::unique_ptr<PreparedLaunch>> Program::Prepare(absl::string_view kernel, absl::string_view grid, const std::vector<Argument>& args) {
  if (engine_->device() == nullptr) return absl::FailedPreconditionError("a launch is prepared for a GPU; this engine runs on the CPU");
  TILEVM_ASSIGN_OR_RETURN(CallArgs call, ToCallArgs(args, engine_->device()));
  std::lock_guard<std::mutex> lock(mutex_);
  TILEVM_ASSIGN_OR_RETURN(BoundKernel bound, BindCall(kernel, call));
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const CompiledKernel> compiled, Compiled(bound, /*want_plan=*/false));
  const Value grid_value = Value::Shared(ValueKind::kObject, std::make_shared<GridText>(std::string(grid)));
  TILEVM_ASSIGN_OR_RETURN(auto extents, host::EvaluateGrid(*evaluator_, grid_value, *bound.bound, Loc{}));
  TILEVM_ASSIGN_OR_RETURN(host::PreparedRun run, host::PrepareArguments(compiled->kernel, *bound.bound, false, Loc{}, /*on_device=*/true));
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> launch = engine_->device_->Bind(std::move(compiled), run, extents);
  if (!launch.ok()) return world_->WithNearest(launch.status(), *evaluator_, bound.kernel, bound.variants, bound.chosen, Loc{});
  return launch;
}

absl::StatusOr<std::shared_ptr<const CompiledKernel>> Program::Specialize(absl::string_view kernel, const std::vector<Argument>& args) {
  TILEVM_ASSIGN_OR_RETURN(CallArgs call, ToCallArgs(args, engine_->device()));
  std::lock_guard<std::mutex> lock(mutex_);
  TILEVM_ASSIGN_OR_RETURN(BoundKernel bound, BindCall(kernel, call));
  return Compiled(bound, /*want_plan=*/true);
}

absl::StatusOr<ir::Kernel> Program::SpecializeStage(absl::string_view kernel, const CallArgs& args, absl::string_view stage) {
  std::lock_guard<std::mutex> lock(mutex_);
  TILEVM_ASSIGN_OR_RETURN(BoundKernel bound, BindCall(kernel, args));
  return SpecializeAndOptimize(*evaluator_, bound.kernel, bound.key, stage);
}

absl::Status Program::WithNearest(absl::Status status, absl::string_view kernel, const CallArgs& args, const std::function<absl::Status(const ir::Kernel&)>& fits) {
  std::lock_guard<std::mutex> lock(mutex_);
  const absl::StatusOr<BoundKernel> bound = BindCall(kernel, args);
  return bound.ok() ? host::WithNearest(std::move(status), *evaluator_, bound->kernel, bound->variants, bound->chosen, fits, Loc{}) : status;
}

}  // namespace tilevm::vm
