// The world of a host program: tensors, torch.*, triton's host side, autotune and heuristics, launches.
//
// Implements specializer::Host. One HostWorld belongs to one Program (vm/engine.h) and is used under its lock. It holds what a Python process
// would hold as global state: the default generator, printed output, counters of what ran. Kernels are compiled through KernelCache, which all
// programs of an engine share, and run by the CPU engine.
#ifndef TILEVM_VM_HOST_HOST_H_
#define TILEVM_VM_HOST_HOST_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "vm/host/tensor.h"
#include "vm/kernel_cache.h"

namespace tilevm::vm::host {

// torch's default generator: documented in docs/host.md. Each call that draws takes the next number of `calls`.
struct Generator {
  uint64_t seed = 0;
  uint64_t calls = 0;
};

struct LaunchRecord {
  std::string kernel;
  int64_t programs = 0;
  double compile_us = 0;  // 0 if the kernel was in the cache
  double run_us = 0;
  int64_t bytes = 0;      // of all tensors that were given
  int64_t ops = 0;        // instructions that the engine executed
  std::string config;     // "BLOCK_M=128, BLOCK_N=256, num_warps=8" of an autotuned kernel
  bool on_device = false; // run_us is time on the GPU
};

// What autotuning found for one kernel and one set of key values.
struct TuneRecord {
  struct Config {
    std::string config;
    std::string refused;     // why it was not timed; "": it was
    double microseconds = 0, spread = 0;
  };
  std::string kernel, key, chosen;
  bool remembered = false;   // by an earlier process: nothing was measured
  std::vector<Config> configs;
};

enum class Tuning { kWhenNeeded, kNever, kAlways };

struct BoundCall;
class DeviceRunner;
struct Variant;

class HostWorld : public specializer::Host {
 public:
  struct Options {
    RunOptions run;                                  // threads, checked mode, limits
    std::function<void(absl::string_view)> print;    // a line of print(); default stdout
    std::function<void(absl::string_view)> log;      // a line for each kernel that is compiled
    size_t max_launch_records = 100'000;
    Tuning tuning = Tuning::kWhenNeeded;             // kNever: the first configuration that fits; kAlways: remembered results of earlier processes do not count
    std::shared_ptr<DeviceRunner> device;            // where kernels run; null: the CPU engine
    bool debug = false;                              // every kernel as if launched with debug=True
    bool cpu_if_it_cannot = false;                   // what the device cannot run (launch.h: CannotRunThere) runs on the CPU engine
    std::function<void(absl::string_view)> warn;     // told so, once for each reason
  };

  HostWorld(KernelCache* cache, std::string program_key, Options options);
  ~HostWorld() override;

  absl::StatusOr<Value> CallBuiltin(Evaluator& evaluator, absl::string_view path, const CallArgs& args, Loc loc) override;
  absl::StatusOr<Value> BuiltinValue(Evaluator& evaluator, absl::string_view path, Loc loc) override;
  specializer::OutsideName LookUpName(absl::string_view path) override;
  absl::StatusOr<Value> Launch(Evaluator& evaluator, const Value& kernel, const Value& grid, const CallArgs& args, Loc loc) override;
  void Print(absl::string_view line) override;
  void PrintError(absl::string_view text) override;

  // nullptr, None, "cpu", "cuda", "cuda:0", torch.device or an int: all name the chosen engine; anything else is an error.
  absl::Status CheckDevice(const Value& device, Loc loc) const;

  KernelCache& cache() { return *cache_; }
  const std::string& program_key() const { return program_key_; }
  const Options& options() const { return options_; }
  Options& mutable_options() { return options_; }
  Generator& generator() { return generator_; }
  // triton.runtime.driver.set_active_to_cpu was called.
  bool active_is_cpu = false;

  const std::vector<LaunchRecord>& launches() const { return launches_; }
  int64_t launch_count() const { return launch_count_; }
  double device_us() const { return device_us_; }  // of all launches on a GPU
  void Record(LaunchRecord record);
  // The program asked for the storage's address: pointers that it makes from numbers may reach it.
  void NoteAddress(const Tensor& tensor) { addressed_[tensor.storage.get()] = {tensor.storage, tensor.dtype}; }
  // Reports of checked mode (vm/interp) over all launches, as text; notes are worth showing, no errors.
  const std::vector<std::string>& reports() const { return reports_; }
  const std::vector<std::string>& notes() const { return notes_; }
  int64_t reports_dropped() const { return reports_dropped_; }
  const std::vector<TuneRecord>& tuned() const { return tuned_; }
  // Configurations chosen in this process, by what was tuned.
  std::map<std::string, std::string>& chosen_configs() { return chosen_configs_; }
  // Those that the program's file came with (isa/tbc_tuning.h).
  std::map<std::string, std::string>& stored_configs() { return stored_configs_; }
  void Record(TuneRecord record) { tuned_.push_back(std::move(record)); }
  // Checks of the program that passed: "assert_close", "allclose".
  std::map<std::string, int>& checks() { return checks_; }
  // os.environ, a dict. It begins empty: what a file does depends on it and its arguments alone.
  const Value& environment();
  const std::map<std::string, int>& checks() const { return checks_; }

  // A device's error after which the CPU engine goes on; no error is none.
  bool GoesToCpu(const absl::Status& status) const;
  // A device's error with the nearest that fits, where the kernel takes too much shared memory (nearest.h). It is looked for a few times only: programs that try what fits need no advice.
  absl::Status WithNearest(absl::Status status, Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants, size_t at, Loc loc);

 private:
  absl::StatusOr<Value> LaunchFirst(Evaluator& evaluator, const Value& kernel, std::vector<Variant>& variants, const Value& grid, Loc loc);
  absl::Status RunCompiled(const CompiledKernel& compiled, const BoundCall& bound, const std::array<int64_t, 3>& extents,
                           const std::vector<SourceFile>& files, Loc loc, bool last, LaunchRecord& record);

  KernelCache* cache_;
  std::string program_key_;
  Options options_;
  Generator generator_;
  std::vector<LaunchRecord> launches_;
  int64_t launch_count_ = 0;
  double device_us_ = 0;
  std::vector<std::string> reports_, notes_;
  int64_t reports_dropped_ = 0;
  std::map<std::string, int> checks_;
  Value environment_;
  struct Addressed {  // by data_ptr()
    std::weak_ptr<Storage> storage;
    DType dtype = DType::kU8;  // of the tensor that was asked
  };
  absl::flat_hash_map<const Storage*, Addressed> addressed_;
  std::set<std::string> why_on_cpu_;  // as told
  int searches_left_ = 4;             // of WithNearest
  std::vector<TuneRecord> tuned_;
  std::map<std::string, std::string> chosen_configs_, stored_configs_;
};

// True for 'cpu' and torch.device('cpu').
bool NamesCpu(const Value& device);

// The world of an evaluator that an engine made.
HostWorld& World(Evaluator& evaluator);

// vm/host/triton.cc: triton.* outside kernels. nullopt: no such path.
absl::StatusOr<std::optional<Value>> CallTriton(Evaluator& evaluator, absl::string_view path, const CallArgs& args, Loc loc);
absl::StatusOr<std::optional<Value>> TritonValue(Evaluator& evaluator, absl::string_view path, Loc loc);
// vm/host/torch_device.cc: torch.float32, torch.pi, torch.Tensor, ... nullopt: no such path.
std::optional<Value> TorchConstant(absl::string_view path);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_HOST_H_
