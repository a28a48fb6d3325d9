// The C++ API that ties the rooms together, and all that the CLI uses: load a program, look at it, run its host code, specialize its kernels,
// launch them on memory of the caller.
//
//   auto engine = Engine::Create();
//   auto program = engine->LoadFile("vector_add.py");                        // source, assembly or bytecode, by content
//   (*program)->Launch("add_kernel", "cdiv(n_elements, BLOCK_SIZE)",
//                      {{"x_ptr", Span(x)}, {"y_ptr", Span(y)}, {"output_ptr", Span(out)}, {"n_elements", n}, {"BLOCK_SIZE", 1024}});
//
// Everything a user can cause is a Status; Program::Format turns one into text with the kernel's own source line. An Engine and its Programs may
// be used by several threads: host code and specialization of one program run one at a time, compiled kernels run side by side. There is no
// global state: options, cache and output belong to the engine.
#ifndef TILEVM_VM_ENGINE_H_
#define TILEVM_VM_ENGINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "isa/module.h"
#include "specializer/partial_eval/evaluator.h"
#include "vm/host/device_runner.h"
#include "vm/host/host.h"
#include "vm/gpu/prepared.h"
#include "vm/kernel_cache.h"

namespace tilevm::vm {

enum class SourceKind { kAuto, kTriton, kAssembly, kBytecode };

struct EngineOptions {
  std::string device = "cpu";      // "cpu", "cuda", "cuda:N", or "auto": a GPU where there is one that works, else the CPU
  std::string cache_directory;     // compiled GPU code is kept there; "": only in memory. The library reads no environment
  std::vector<std::string> cache_lower_layers;   // further directories, read only
  int64_t max_cache_bytes = int64_t{1} << 30;
  std::string driver_library, nvrtc_library;     // "": the system's
  host::Tuning tuning = host::Tuning::kWhenNeeded;  // of @triton.autotune on a GPU
  bool workspace = true;           // on a GPU: a launch may copy an array to aligned rows in memory of its own first, where tensor maps need that
  gpu::Allocator gpu_memory;       // where that comes from, and copies of tensors that lie in main memory; empty: cuMemAlloc
  int threads = 0;                 // of one launch; 0: one for each core
  bool checked = false;            // find out-of-bounds accesses, races, uninitialised reads (vm/interp/interp.h)
  bool poison_masked = false;
  bool debug = false;              // on a GPU: device_assert, and line information in the code
  int64_t max_ops = 0;             // fuel of one launch; 0: no limit
  int64_t max_memory_bytes = int64_t{8} << 30;  // tile registers of one launch; host values and tensors: limits below
  uint64_t seed = 0;               // of torch's default generator
  size_t max_cached_kernels = 1024;
  specializer::Limits limits;      // of host code and specialization
  std::function<void(absl::string_view)> print;  // a line that a program prints; default: standard output
  std::function<void(absl::string_view)> log;    // a line about what the engine does (compiled kernels); default: nothing
  std::function<void(absl::string_view)> warn;  // what is wrong but stops nothing, once for each kind: a cache that cannot be written, a kernel that `auto` has to run on the CPU; null: goes to log
};

struct LoadOptions {
  SourceKind kind = SourceKind::kAuto;
  std::vector<std::string> import_dirs;  // where sibling files are looked for, after the file's own folder
};

// Memory of the caller as an argument; it has to outlive the launch. On a GPU engine it may lie there (the kernel then uses it in place), or in main
// memory (it is copied in, and back before Launch returns).
struct TensorRef {
  void* data = nullptr;
  isa::DType dtype = isa::DType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};  // in elements; empty: row-major
  bool uninitialised = false;    // checked mode reports what is read before it is written
};

using ArgumentValue = std::variant<std::monostate, bool, int64_t, double, std::string, isa::DType, TensorRef>;

struct Argument {
  std::string name;      // of the parameter or launch option; "": the next parameter
  ArgumentValue value;   // monostate: None

  template <typename T>
  Argument(std::string n, T v) : name(std::move(n)), value(Convert(std::move(v))) {}

 private:
  template <typename T>
  static ArgumentValue Convert(T v) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return ArgumentValue(static_cast<int64_t>(v));
    } else if constexpr (std::is_floating_point_v<T>) {
      return ArgumentValue(static_cast<double>(v));
    } else {
      return ArgumentValue(std::move(v));
    }
  }
};

// A kernel of a program, as its source has it.
struct KernelInfo {
  std::string name;
  std::vector<std::string> params;
  std::vector<std::string> constexprs;  // those of params that are tl.constexpr
  bool autotuned = false;
};

struct LaunchResult {
  host::LaunchRecord record;
  std::vector<std::string> reports;  // of checked mode, as text
  std::vector<std::string> notes;
};

class Program;

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  // Of the CPU, whatever options.device says.
  static std::shared_ptr<Engine> Create(EngineOptions options = {});
  // Of options.device. kFailedPrecondition with the reason where a GPU is wanted and cannot be used; kInvalidArgument for a name that is no device.
  static absl::StatusOr<std::shared_ptr<Engine>> Open(EngineOptions options);

  // files (optional) receives the sources, so that a failed load can be shown with FormatDiagnostic.
  absl::StatusOr<std::shared_ptr<Program>> LoadFile(const std::string& path, const LoadOptions& options = {}, std::vector<SourceFile>* files = nullptr);
  // name: what messages call it; kAuto decides by content (a .tbc's magic), then by the name's ending.
  absl::StatusOr<std::shared_ptr<Program>> Load(absl::string_view bytes, const std::string& name, const LoadOptions& options = {},
                                                std::vector<SourceFile>* files = nullptr);
  absl::StatusOr<std::shared_ptr<Program>> LoadModule(isa::Module module);

  const EngineOptions& options() const { return options_; }
  // Null: the CPU engine.
  host::DeviceRunner* device() const { return device_.get(); }
  CacheStatistics cache_statistics() const { return cache_.statistics(); }

 private:
  explicit Engine(EngineOptions options) : options_(std::move(options)), cache_(options_.max_cached_kernels) {}
  friend class Program;

  const EngineOptions options_;
  KernelCache cache_;
  std::shared_ptr<host::DeviceRunner> device_;
  std::mutex mutex_;
  int64_t programs_ = 0;
};

// Reads any of the three forms into a module; what Engine::Load does before it makes a Program of it.
absl::StatusOr<isa::Module> LoadModuleBytes(absl::string_view bytes, const std::string& name, const LoadOptions& options, std::vector<SourceFile>* files);

class Program {
 public:
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const isa::Module& module() const { return *module_; }
  // The status as text, with source line and caret.
  std::string Format(const absl::Status& status) const { return FormatDiagnostic(status, module_->files); }

  // Of the program's values: with a specializer::MeterScope, tensors made for it count too.
  specializer::MemoryMeter* meter() { return evaluator_->meter(); }

  // The kernels that the file defines by name, in its order. Definitions that fail are left out.
  std::vector<KernelInfo> Kernels();
  // Names of host functions that the file defines.
  std::vector<std::string> HostFunctions();
  bool IsKernel(absl::string_view name);
  // Why the module-level name has no value: no such name, or the error of the statement that defines it.
  absl::Status Defined(absl::string_view name);

  // The module body in order, as __main__.
  absl::Status RunMain();
  // A host function with Python values (vm/host/tensor.h makes tensors).
  absl::StatusOr<specializer::Value> Call(absl::string_view function, const specializer::CallArgs& args);

  // grid: up to three extents, or an expression over the arguments such as "cdiv(n, BLOCK), 2" (vm/grid_expression.h).
  absl::StatusOr<LaunchResult> Launch(absl::string_view kernel, absl::Span<const int64_t> grid, const std::vector<Argument>& args);
  absl::StatusOr<LaunchResult> Launch(absl::string_view kernel, absl::string_view grid, const std::vector<Argument>& args);
  absl::StatusOr<LaunchResult> LaunchValues(absl::string_view kernel, absl::string_view grid, const specializer::CallArgs& args);

  // Compiles what such a launch will need, ahead of it: on a GPU engine for the device, without waiting for its context. Of tensors only dtype, shape and
  // alignment of the address (null is aligned) count. A launch that the usual variant is not for (a grid that leaves the device half idle, strides that no tensor
  // map takes) compiles its own.
  absl::Status Warm(absl::string_view kernel, const std::vector<Argument>& args);
  // On a GPU engine: the launch bound once, to be made again and again at the price of one driver call (vm/gpu/prepared.h). Tensors are memory of the
  // device. An autotuned kernel takes the configuration remembered for such arguments, else the first: nothing is measured here.
  absl::StatusOr<std::unique_ptr<PreparedLaunch>> Prepare(absl::string_view kernel, absl::string_view grid, const std::vector<Argument>& args);

  // The kernel specialized to such arguments, compiled and cached; nothing runs.
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Specialize(absl::string_view kernel, const std::vector<Argument>& args);
  // Typed IR after the pass `stage` ("typed": before all, "": after all). A value that is a type stands for a parameter of that type.
  absl::StatusOr<ir::Kernel> SpecializeStage(absl::string_view kernel, const specializer::CallArgs& args, absl::string_view stage);
  // An error of a device's generator for that call, with the nearest that fits if it is one of shared memory (vm/host/nearest.h).
  absl::Status WithNearest(absl::Status status, absl::string_view kernel, const specializer::CallArgs& args, const std::function<absl::Status(const ir::Kernel&)>& fits);

  // What ran so far. Not to be called while another thread uses the program.
  const host::HostWorld& world() const { return *world_; }
  host::HostWorld& world() { return *world_; }
  specializer::Evaluator& evaluator() { return *evaluator_; }

 private:
  friend class Engine;
  Program(std::shared_ptr<Engine> engine, isa::Module module, std::string key);
  absl::StatusOr<specializer::Value> KernelValue(absl::string_view name);
  // A call with its wrappers applied (of tuned configurations the remembered one, else the first), bound, and what the kernel is specialized to.
  struct BoundKernel {
    specializer::Value kernel;
    std::unique_ptr<host::BoundCall> bound;
    std::vector<host::Variant> variants;  // all configurations
    size_t chosen = 0;
    specializer::SpecializationKey key;
  };
  absl::StatusOr<BoundKernel> BindCall(absl::string_view kernel, const specializer::CallArgs& call);
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compiled(const BoundKernel& call, bool want_plan);

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<const isa::Module> module_;
  std::mutex mutex_;
  std::unique_ptr<host::HostWorld> world_;
  std::unique_ptr<specializer::Evaluator> evaluator_;
};

// An argument as the evaluator's value; a TensorRef borrows its memory.
absl::StatusOr<specializer::Value> ToValue(const ArgumentValue& argument, host::DeviceRunner* device = nullptr);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_ENGINE_H_
