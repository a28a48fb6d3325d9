#include "vm/gpu/runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gpu/compile/divide.h"
#include "gpu/compile/generate.h"
#include "gpu/compile/packing.h"
#include "gpu/launch/arguments.h"
#include "isa/status.h"
#include "specializer/analysis/launch_ranges.h"
#include "vm/gpu/prepared.h"

namespace tilevm::vm {
namespace {

using gpu::CuDevicePtr;
using host::Storage;

// A copy of a storage in the memory of the device.
class GpuMirror : public host::Mirror {
 public:
  GpuMirror(std::shared_ptr<gpu::Device> device, std::unique_ptr<gpu::DeviceMemory> memory, CuDevicePtr address)
      : device_(std::move(device)), memory_(std::move(memory)), address_(address) {}
  void CopyToHost(std::byte* to, int64_t bytes) override {
    // Launches are checked when they end: what can fail here is a device that is lost, and then the next launch says so.
    device_->CopyOut(to, address_, bytes).IgnoreError();
  }
  CuDevicePtr address() const { return address_; }

 private:
  std::shared_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::DeviceMemory> memory_;  // null: of the caller
  CuDevicePtr address_;
};

constexpr int64_t kRecordBytes = int64_t{4} << 20;  // what one launch may print

struct Variants {
  struct Variant {
    std::optional<gpu::Emitted> emitted;  // known before NVRTC is asked: its slice decides whether the variant is for a launch
    absl::Status impossible;              // why there is none, if that is known
    double generate_us = 0;
    std::shared_ptr<const gpu::GpuKernel> compiled;
    std::shared_ptr<const gpu::LoadedKernel> loaded;
  };
  std::map<std::array<int, 11>, Variant> by_promises;
  Variant& Of(const gpu::Promises& p) {
    return by_promises[{p.no_alias, p.trust_signs, p.boxes, p.boxes && p.box_stores, p.loops_run, p.parts, p.tail, p.many, p.boxes && p.turn, p.boxes && p.made, p.boxes && p.workspace}];
  }
  std::optional<bool> maps_pay;       // gpu::Promises::made, as tuning found
  std::optional<bool> strides_pay;    // gpu::StrideToTry, likewise
};

// Of a launch whose buffers need not be on the device yet: copies there have the same address modulo 256.
std::vector<uint64_t> ValuesOf(const host::PreparedRun& run) {
  std::vector<uint64_t> values;
  for (const Arg& arg : run.args) {
    uint64_t value = arg.bits;
    if (arg.kind == Arg::Kind::kBuffer) {
      const Storage& storage = *run.tensors[arg.buffer].storage;
      value = storage.device_address() != 0 ? storage.device_address() : reinterpret_cast<uintptr_t>(storage.address());
      value += static_cast<uint64_t>(arg.byte_offset);
    }
    values.push_back(value);
  }
  return values;
}

// No two of them have bytes in common (memory of the caller may).
bool StoragesAreApart(const host::PreparedRun& run) {
  std::vector<const Storage*> storages;
  for (const host::Tensor& tensor : run.tensors) storages.push_back(tensor.storage.get());
  std::sort(storages.begin(), storages.end(), [](const Storage* a, const Storage* b) { return a->address() < b->address(); });
  for (size_t i = 1; i < storages.size(); ++i) {
    if (storages[i] != storages[i - 1] && storages[i]->address() < storages[i - 1]->address() + storages[i - 1]->bytes()) return false;
  }
  return true;
}

class GpuRunner : public host::DeviceRunner {
 public:
  GpuRunner(std::shared_ptr<gpu::Device> device, gpu::Target target, std::unique_ptr<gpu::Compiler> compiler, bool workspace)
      : device_(std::move(device)), target_(std::move(target)), compiler_(std::move(compiler)), may_copy_(workspace), repacker_source_(RepackerOf(device_, target_, compiler_)) {
    const gpu::DeviceProperties& p = device_->properties();
    facts_.name = p.name;
    facts_.arch = target_.arch;
    facts_.major = p.major;
    facts_.minor = p.minor;
    facts_.multiprocessors = p.multiprocessors;
    facts_.registers_per_multiprocessor = p.registers_per_multiprocessor;
    facts_.clock_khz = p.clock_khz;
    facts_.memory_bytes = p.memory_bytes;
    facts_.l2_bytes = p.l2_bytes;
    facts_.smem_per_block = p.smem_per_block;
    facts_.smem_per_multiprocessor = p.smem_per_multiprocessor;
  }

  const host::DeviceFacts& facts() const override { return facts_; }

  absl::StatusOr<host::KernelResources> Prepare(const CompiledKernel& kernel, const host::PreparedRun& run, const std::array<int64_t, 3>& grid) override {
    double compile_us = 0;
    gpu::Promises promises;
    Restrict(promises);
    std::shared_ptr<const gpu::LoadedKernel> loaded;
    if (run.args.empty()) {
      TILEVM_ASSIGN_OR_RETURN(loaded, Loaded(kernel, promises, &compile_us));
    } else {
      TILEVM_ASSIGN_OR_RETURN(loaded, LoadedFor(kernel, run, grid, &promises, &compile_us));
    }
    host::KernelResources out;
    out.registers = loaded->kernel().registers;
    out.spill_bytes = loaded->kernel().spill_bytes;
    out.shared_bytes = loaded->kernel().emitted.smem_bytes;
    out.num_warps = loaded->kernel().emitted.threads / 32 / loaded->kernel().emitted.packed;
    out.cuda = loaded->kernel().emitted.text;
    out.cubin = loaded->kernel().cubin;
    out.compile_us = compile_us;
    return out;
  }

  absl::Status Fits(const ir::Kernel& kernel) override {
    gpu::GenerateOptions options;
    options.promises.boxes = false;
    TILEVM_ASSIGN_OR_RETURN(const gpu::Emitted emitted, gpu::Generate(kernel, target_, options));
    if (emitted.smem_bytes <= facts_.smem_per_block) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("kernel ", kernel.name, " needs ", emitted.smem_bytes, " bytes of shared memory"));
  }

  absl::Status Compile(const CompiledKernel& kernel) override {
    CompiledKernel::DeviceSlot& slot = kernel.device_slot();
    std::lock_guard<std::mutex> lock(slot.mutex);
    if (slot.code == nullptr) slot.code = std::make_shared<Variants>();
    gpu::Promises promises;
    Restrict(promises);
    return CompileVariant(kernel, promises, static_cast<Variants*>(slot.code.get())->Of(promises));
  }

  absl::StatusOr<host::DeviceRunResult> Run(const CompiledKernel& kernel, const host::PreparedRun& run, const std::array<int64_t, 3>& grid,
                                            const std::function<void(absl::string_view)>& print) override {
    TILEVM_RETURN_IF_ERROR(device_->CheckGrid(grid));
    std::lock_guard<std::mutex> lock(mutex_);
    host::DeviceRunResult out;
    gpu::Promises promises;
    TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const gpu::LoadedKernel> loaded, LoadedFor(kernel, run, grid, &promises, &out.compile_us));
    TILEVM_ASSIGN_OR_RETURN(std::vector<uint64_t> values, Upload(run));
    std::unique_ptr<gpu::DeviceMemory> records;
    if (loaded->kernel().emitted.uses_records()) {
      TILEVM_ASSIGN_OR_RETURN(records, device_->Allocate(kRecordBytes));
      const std::vector<uint8_t> head = gpu::RecordHead(kRecordBytes);
      TILEVM_RETURN_IF_ERROR(device_->CopyIn(records->address(), head.data(), static_cast<int64_t>(head.size())));
    }
    gpu::LaunchArguments arguments;
    TILEVM_RETURN_IF_ERROR(SetArguments(kernel, *loaded, values, grid, records == nullptr ? 0 : records->address(), std::nullopt, arguments, workspace_));
    absl::StatusOr<double> microseconds = LaunchTimed(*loaded, grid, arguments);
    if (!microseconds.ok()) {
      return absl::Status(microseconds.status().code(),
                          absl::StrCat("kernel ", kernel.kernel.name, " failed on ", facts_.name, ": ", microseconds.status().message(),
                                       "; --device cpu --check finds accesses outside of tensors"));
    }
    // What is only read stays in main memory as well.
    const std::vector<bool>& may_write = loaded->kernel().emitted.may_write;
    const bool known = may_write.size() == run.args.size() && StoragesAreApart(run);
    for (size_t i = 0; i < run.args.size(); ++i) {
      if (run.args[i].kind == Arg::Kind::kBuffer && (!known || may_write[i])) run.tensors[run.args[i].buffer].storage->set_home(Storage::Home::kDevice);
    }
    for (const std::weak_ptr<Storage>& escaped : escaped_) {
      if (std::shared_ptr<Storage> storage = escaped.lock()) storage->set_home(Storage::Home::kDevice);
    }
    out.run_us = *microseconds;
    if (records != nullptr) TILEVM_RETURN_IF_ERROR(Report(*records, loaded->kernel().emitted.records, print));
    return out;
  }

  // A kernel that makes tensor maps itself is timed with and without, and with another order of blocks.
  absl::Status Tune(std::vector<host::TuneCandidate>& asked) override {
    for (const host::TuneCandidate& c : asked) {
      if (c.status.ok()) SetMapsPay(*c.kernel, true);
    }
    std::vector<std::shared_ptr<const gpu::LoadedKernel>> loaded(asked.size());
    CompileAll(asked, loaded);
    std::vector<host::TuneCandidate> candidates = asked;
    std::vector<size_t> with;  // of each candidate beyond those asked for: which one it is without such maps
    for (size_t i = 0; i < asked.size(); ++i) {
      if (loaded[i] == nullptr || !gpu::MakesMaps(loaded[i]->kernel().emitted)) continue;
      with.push_back(i);
      candidates.push_back(asked[i]);
      SetMapsPay(*asked[i].kernel, false);
    }
    if (!with.empty()) {
      std::vector<host::TuneCandidate> without(candidates.begin() + static_cast<ptrdiff_t>(asked.size()), candidates.end());
      std::vector<std::shared_ptr<const gpu::LoadedKernel>> more(without.size());
      CompileAll(without, more);
      std::copy(without.begin(), without.end(), candidates.begin() + static_cast<ptrdiff_t>(asked.size()));
      loaded.insert(loaded.end(), more.begin(), more.end());
    }
    std::vector<size_t> strided;  // of each candidate behind those: which one it is in another order
    for (size_t i = 0; i < asked.size(); ++i) {
      if (loaded[i] == nullptr || gpu::StrideToTry(loaded[i]->kernel().emitted, asked[i].grid, facts_.multiprocessors) == 1) continue;
      strided.push_back(i);
      candidates.push_back(asked[i]);
      loaded.push_back(loaded[i]);
    }
    const size_t first_strided = candidates.size() - strided.size();
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<gpu::LaunchArguments> arguments(candidates.size());
    std::vector<std::unique_ptr<gpu::DeviceMemory>> workspaces(candidates.size());
    std::vector<std::shared_ptr<Storage>> storages;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (!candidates[i].status.ok()) continue;
      TILEVM_ASSIGN_OR_RETURN(const std::vector<uint64_t> values, Upload(*candidates[i].run));
      // Trials print nothing.
      TILEVM_RETURN_IF_ERROR(SetArguments(*candidates[i].kernel, *loaded[i], values, candidates[i].grid, 0, i >= first_strided, arguments[i], workspaces[i]));
      for (const host::Tensor& tensor : candidates[i].run->tensors) {
        if (std::find(storages.begin(), storages.end(), tensor.storage) == storages.end()) storages.push_back(tensor.storage);
      }
    }
    // Trials write where the launch will write: what stands there is kept aside. That may be any memory whose address the program knows.
    for (const std::weak_ptr<Storage>& escaped : escaped_) {
      std::shared_ptr<Storage> storage = escaped.lock();
      if (storage != nullptr && storage->mirror() != nullptr && std::find(storages.begin(), storages.end(), storage) == storages.end()) storages.push_back(std::move(storage));
    }
    std::vector<std::unique_ptr<gpu::DeviceMemory>> saved;
    for (const std::shared_ptr<Storage>& storage : storages) {
      TILEVM_ASSIGN_OR_RETURN(saved.emplace_back(), device_->Allocate(storage->bytes()));
      TILEVM_RETURN_IF_ERROR(device_->CopyWithin(saved.back()->address(), static_cast<GpuMirror*>(storage->mirror().get())->address(), storage->bytes()));
    }
    if (flush_ == nullptr) {
      TILEVM_ASSIGN_OR_RETURN(flush_, device_->Allocate(std::max<int64_t>(2 * facts_.l2_bytes, 1 << 20)));
    }
    TILEVM_RETURN_IF_ERROR(TimeAll(candidates, loaded, arguments));
    for (size_t i = 0; i < storages.size(); ++i) {
      TILEVM_RETURN_IF_ERROR(device_->CopyWithin(static_cast<GpuMirror*>(storages[i]->mirror().get())->address(), saved[i]->address(), storages[i]->bytes()));
    }
    std::copy(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(asked.size()), asked.begin());
    for (size_t k = 0; k < strided.size(); ++k) {
      host::TuneCandidate& c = asked[strided[k]];
      const host::TuneCandidate& other = candidates[first_strided + k];
      const bool pay = other.status.ok() && (other.rounds > c.rounds || (other.rounds == c.rounds && other.microseconds + std::max(c.spread, other.spread) < c.microseconds));
      SetStridesPay(*c.kernel, pay);
      Remember(StridesKey(loaded[strided[k]]->kernel().emitted), pay ? "pay" : "do not");
      if (pay) TakeTimes(other, c);
    }
    for (size_t k = 0; k < with.size(); ++k) {
      host::TuneCandidate& c = asked[with[k]];
      const host::TuneCandidate& without = candidates[asked.size() + k];
      // One that dropped out early is slower by a quarter.
      const bool pay = !without.status.ok() || c.rounds > without.rounds || (c.rounds == without.rounds && c.microseconds <= without.microseconds + std::max(c.spread, without.spread));
      SetMapsPay(*c.kernel, pay);
      Remember(MapsKey(loaded[with[k]]->kernel().emitted), pay ? "pay" : "do not");
      if (!pay) TakeTimes(without, c);
    }
    return device_->Synchronize();
  }

  std::optional<std::string> Remembered(absl::string_view key) override {
    std::optional<std::string> entry = compiler_->cache().Get(TuneKey(key));
    // A prefix of its own, so that no other kind of entry passes for a result.
    if (!entry.has_value() || entry->rfind(kTunePrefix, 0) != 0) return std::nullopt;
    return entry->substr(sizeof(kTunePrefix) - 1);
  }
  void Remember(absl::string_view key, absl::string_view text) override { compiler_->cache().Put(TuneKey(key), absl::StrCat(kTunePrefix, text)); }

  absl::StatusOr<std::unique_ptr<PreparedLaunch>> Bind(std::shared_ptr<const CompiledKernel> kernel, const host::PreparedRun& run,
                                                       const std::array<int64_t, 3>& grid) override {
    TILEVM_RETURN_IF_ERROR(device_->CheckGrid(grid));
    gpu::Promises promises;
    double compile_us = 0;
    TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const gpu::LoadedKernel> loaded, LoadedFor(*kernel, run, grid, &promises, &compile_us));
    std::vector<PreparedLaunch::Parameter> parameters;
    std::vector<uint64_t> values;
    for (size_t i = 0; i < run.args.size(); ++i) {
      const ir::Param& param = kernel->kernel.params[i];
      const Arg& arg = run.args[i];
      PreparedLaunch::Parameter p{param.name, kernel->kernel.TypeOf(param.value).elem, param.divisibility, 0};
      uint64_t value = arg.bits;
      if (arg.kind == Arg::Kind::kBuffer) {
        const Storage& storage = *run.tensors[arg.buffer].storage;
        if (storage.device_address() == 0) {
          return absl::InvalidArgumentError(absl::StrCat("argument ", param.name, " is in main memory; a prepared launch takes memory of ", facts_.name));
        }
        value = storage.device_address() + static_cast<uint64_t>(arg.byte_offset);
        p.bytes = storage.bytes() - arg.byte_offset;
      }
      parameters.push_back(std::move(p));
      values.push_back(value);
    }
    const bool strides_pay = loaded->kernel().emitted.strided && StridesPay(*kernel, loaded->kernel().emitted);
    return PreparedLaunch::Make(device_, std::move(kernel), std::move(loaded), repacker_source_, promises, std::move(parameters), std::move(values), grid, strides_pay);
  }

  absl::StatusOr<uint64_t> AddressOf(const std::shared_ptr<Storage>& storage) override {
    std::lock_guard<std::mutex> lock(mutex_);
    TILEVM_ASSIGN_OR_RETURN(CuDevicePtr address, OnDevice(*storage));
    for (const std::weak_ptr<Storage>& escaped : escaped_) {
      if (escaped.lock() == storage) return address;
    }
    escaped_.erase(std::remove_if(escaped_.begin(), escaped_.end(), [](const std::weak_ptr<Storage>& s) { return s.expired(); }), escaped_.end());
    escaped_.push_back(storage);
    return address;
  }

  absl::StatusOr<std::shared_ptr<Storage>> Borrow(void* data, int64_t bytes) override {
    const uint64_t address = reinterpret_cast<uintptr_t>(data);
    // The driver knows addresses only once there is a context.
    const int ordinal = address != 0 && device_->context().ok() ? gpu::Device::OrdinalOf(device_->api(), address) : -1;
    if (ordinal == facts_ordinal()) {
      std::shared_ptr<Storage> storage = Storage::BorrowDevice(address, bytes);
      storage->mirror() = std::make_shared<GpuMirror>(device_, nullptr, address);
      return storage;
    }
    if (ordinal >= 0 && !gpu::Device::HostReaches(device_->api(), address)) {
      return absl::InvalidArgumentError(absl::StrCat("it is memory of cuda:", ordinal, "; kernels run on cuda:", facts_ordinal(), " here"));
    }
    return Storage::Borrow(data, bytes);
  }

 private:
  static constexpr char kTunePrefix[] = "tuned 1\n";

  static gpu::CacheKey TuneKey(absl::string_view key) { return gpu::KeyOf(key, {}, "tune", {}, 0); }

  static void SetPay(const CompiledKernel& kernel, std::optional<bool> Variants::*which, bool pay) {
    CompiledKernel::DeviceSlot& slot = kernel.device_slot();
    std::lock_guard<std::mutex> lock(slot.mutex);
    if (slot.code == nullptr) slot.code = std::make_shared<Variants>();
    static_cast<Variants*>(slot.code.get())->*which = pay;
  }
  static void SetMapsPay(const CompiledKernel& kernel, bool pay) { SetPay(kernel, &Variants::maps_pay, pay); }
  static void SetStridesPay(const CompiledKernel& kernel, bool pay) { SetPay(kernel, &Variants::strides_pay, pay); }
  static void TakeTimes(const host::TuneCandidate& from, host::TuneCandidate& to) {
    to.microseconds = from.microseconds;
    to.spread = from.spread;
    to.rounds = from.rounds;
  }

  // Each candidate's kernel, or its status. As many threads as the machine has.
  void CompileAll(std::vector<host::TuneCandidate>& candidates, std::vector<std::shared_ptr<const gpu::LoadedKernel>>& loaded) {
    std::atomic<size_t> next{0};
    auto work = [&] {
      for (size_t i = next++; i < candidates.size(); i = next++) {
        host::TuneCandidate& c = candidates[i];
        if (!c.status.ok()) continue;
        double compile_us = 0;
        gpu::Promises promises;
        absl::StatusOr<std::shared_ptr<const gpu::LoadedKernel>> kernel = LoadedFor(*c.kernel, *c.run, c.grid, &promises, &compile_us);
        c.status = kernel.status();
        if (c.status.ok()) c.status = device_->CheckGrid(c.grid);
        if (c.status.ok()) loaded[i] = *std::move(kernel);
      }
    };
    std::vector<std::thread> threads;
    const size_t count = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), candidates.size());
    for (size_t t = 1; t < count; ++t) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
  }

  absl::Status TimeAll(std::vector<host::TuneCandidate>& candidates, const std::vector<std::shared_ptr<const gpu::LoadedKernel>>& loaded,
                       std::vector<gpu::LaunchArguments>& arguments) {
    constexpr int kRounds = 9;
    std::vector<std::vector<double>> times(candidates.size());
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRounds; ++round) {
      for (size_t at = 0; at < candidates.size(); ++at) {
        // The order rotates: the position in a round has an influence of its own.
        const size_t i = (at + static_cast<size_t>(round)) % candidates.size();
        host::TuneCandidate& c = candidates[i];
        // After the second round only those near the best go on.
        if (!c.status.ok() || (round >= 2 && c.microseconds > 1.25 * best)) continue;
        TILEVM_RETURN_IF_ERROR(device_->Fill(flush_->address(), static_cast<uint8_t>(round), flush_->bytes()));
        absl::StatusOr<double> microseconds = LaunchTimed(*loaded[i], c.grid, arguments[i]);
        if (!microseconds.ok()) return microseconds.status();  // the context is lost
        if (round == 0) continue;                              // a first run loads code
        times[i].push_back(*microseconds);
        std::sort(times[i].begin(), times[i].end());
        c.microseconds = times[i][times[i].size() / 2];
        c.spread = times[i][times[i].size() * 3 / 4] - times[i][times[i].size() / 4];
        c.rounds = static_cast<int>(times[i].size());
      }
      best = std::numeric_limits<double>::infinity();
      for (const host::TuneCandidate& c : candidates) {
        if (c.status.ok() && c.rounds > 0) best = std::min(best, c.microseconds);
      }
    }
    return absl::OkStatus();
  }

  int facts_ordinal() const { return device_->properties().ordinal; }

  // Prints what the kernel printed; the first assert that failed is the launch's error.
  absl::Status Report(const gpu::DeviceMemory& records, absl::Span<const gpu::RecordFormat> formats, const std::function<void(absl::string_view)>& print) {
    std::vector<uint8_t> bytes(static_cast<size_t>(gpu::kRecordHeadBytes));
    TILEVM_RETURN_IF_ERROR(device_->CopyOut(bytes.data(), records.address(), gpu::kRecordHeadBytes));
    bytes.resize(static_cast<size_t>(std::min(kRecordBytes, gpu::RecordedBytes(bytes))));
    TILEVM_RETURN_IF_ERROR(device_->CopyOut(bytes.data(), records.address(), static_cast<int64_t>(bytes.size())));
    TILEVM_ASSIGN_OR_RETURN(const gpu::RecordedOutput output, gpu::ReadRecords(bytes, formats));
    for (const gpu::RecordedPrint& line : output.prints) print(line.line);
    if (output.dropped > 0) print(absl::StrCat("(", output.dropped, " further prints found no room in ", kRecordBytes, " bytes)\n"));
    if (!output.asserts.empty()) return InvalidAt(output.asserts[0].loc, output.asserts[0].message);
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const gpu::LoadedKernel>> Loaded(const CompiledKernel& kernel, const gpu::Promises& promises, double* compile_us) {
    CompiledKernel::DeviceSlot& slot = kernel.device_slot();
    std::lock_guard<std::mutex> lock(slot.mutex);
    if (slot.code == nullptr) slot.code = std::make_shared<Variants>();
    Variants::Variant& variant = static_cast<Variants*>(slot.code.get())->Of(promises);
    if (variant.loaded != nullptr) return variant.loaded;
    const auto start = std::chrono::steady_clock::now();
    TILEVM_RETURN_IF_ERROR(CompileVariant(kernel, promises, variant));
    TILEVM_ASSIGN_OR_RETURN(variant.loaded, device_->Load(variant.compiled));
    *compile_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    return variant.loaded;
  }

  // The variant for the launch.
  absl::StatusOr<std::shared_ptr<const gpu::LoadedKernel>> LoadedFor(const CompiledKernel& kernel, const host::PreparedRun& run, const std::array<int64_t, 3>& grid,
                                                                     gpu::Promises* promises, double* compile_us) {
    TILEVM_ASSIGN_OR_RETURN(*promises, Choose(kernel, run, grid));
    TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const gpu::LoadedKernel> loaded, Loaded(kernel, *promises, compile_us));
    if (!promises->boxes || *compile_us == 0) return loaded;
    // The text that was compiled may be another one, with another slice.
    TILEVM_ASSIGN_OR_RETURN(*promises, Choose(kernel, run, grid));
    return Loaded(kernel, *promises, compile_us);
  }

  absl::Status CompileVariant(const CompiledKernel& kernel, const gpu::Promises& promises, Variants::Variant& variant) {
    if (variant.compiled != nullptr) return absl::OkStatus();
    TILEVM_RETURN_IF_ERROR(GenerateVariant(kernel, promises, variant));
    gpu::GenerateOptions options;
    options.promises = promises;
    // Not always the text that was generated first: one that spills gives way to a plainer one (gpu/compile/fallback.h).
    TILEVM_ASSIGN_OR_RETURN(variant.compiled, compiler_->Compile(kernel.kernel, target_, options));
    variant.emitted = variant.compiled->emitted;
    return absl::OkStatus();
  }

  absl::Status GenerateVariant(const CompiledKernel& kernel, const gpu::Promises& promises, Variants::Variant& variant) {
    if (variant.emitted.has_value() || !variant.impossible.ok()) return variant.impossible;
    const auto start = std::chrono::steady_clock::now();
    gpu::GenerateOptions options;
    options.promises = promises;
    absl::StatusOr<gpu::Emitted> emitted = compiler_->GenerateText(kernel.kernel, target_, options);
    variant.impossible = emitted.status();
    TILEVM_RETURN_IF_ERROR(variant.impossible);
    variant.emitted = *std::move(emitted);
    variant.generate_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    return absl::OkStatus();
  }

  // To what the device and the engine's options allow.
  void Restrict(gpu::Promises& promises) const {
    promises.boxes = target_.number >= 90 && device_->api().TensorMapEncodeTiled != nullptr;
    promises.workspace = may_copy_;
  }

  // The most special variant whose promises hold for the launch.
  absl::StatusOr<gpu::Promises> Choose(const CompiledKernel& kernel, const host::PreparedRun& run, const std::array<int64_t, 3>& grid) {
    const std::vector<uint64_t> values = ValuesOf(run);
    const analysis::LaunchRanges ranges = gpu::RangesOf(kernel.kernel, values, grid);
    gpu::Promises promises = PromisesOf(run, ranges);
    Restrict(promises);
    CompiledKernel::DeviceSlot& slot = kernel.device_slot();
    std::lock_guard<std::mutex> lock(slot.mutex);
    if (slot.code == nullptr) slot.code = std::make_shared<Variants>();
    Variants& variants = *static_cast<Variants*>(slot.code.get());
    auto evaluate = [&](const gpu::Promises& p) { return gpu::EvaluateSlice(*variants.Of(p).emitted, kernel.kernel, values, grid, ranges); };
    while (promises.boxes) {
      const absl::Status generated = GenerateVariant(kernel, promises, variants.Of(promises));
      if (generated.ok()) {
        if (const int merged = variants.Of(promises).emitted->programs; promises.many && merged > 1 && !gpu::WorthMerging(grid, merged, facts_.multiprocessors)) {
          promises.many = false;
          continue;
        }
        const launch::SliceValues slice = evaluate(promises);
        if (slice.failed.empty()) {
          const gpu::Emitted& emitted = *variants.Of(promises).emitted;
          if (!promises.made || !gpu::MakesMaps(emitted) || MapsPay(variants, emitted)) break;
          promises.made = false;
          continue;
        }
        if (promises.loops_run && gpu::MayNotRun(slice)) {
          promises.loops_run = false;
          continue;
        }
      } else if (generated.code() != absl::StatusCode::kResourceExhausted && generated.code() != absl::StatusCode::kUnimplemented) {
        return generated;  // what is too large with maps may fit without
      }
      gpu::NextPlainer(promises);
    }
    if (promises.many && GenerateVariant(kernel, promises, variants.Of(promises)).ok() && variants.Of(promises).emitted->packed > 1 &&
        !gpu::WorthPacking(grid, facts_.multiprocessors)) {
      promises.many = false;
      return promises;
    }
    // Where programs do not suit the multiprocessors: in parts, if that can be.
    if (promises.boxes) {
      for (const gpu::Division& division : gpu::DivisionsFor(kernel.kernel, *variants.Of(promises).emitted, grid, facts_.multiprocessors)) {
        gpu::Promises split = promises;
        split.parts = division.parts;
        split.tail = division.tail;
        if (!GenerateVariant(kernel, split, variants.Of(split)).ok()) continue;
        const launch::SliceValues slice = evaluate(split);
        if (slice.failed.empty() && (!division.tail || gpu::WorkspaceBytes(slice) == 0)) return split;
      }
    }
    return promises;
  }

  // Whether maps that the kernel makes itself are worth it, as tuning found in this process or an earlier one; how large its arrays are the launcher cannot know.
  bool MapsPay(Variants& variants, const gpu::Emitted& emitted) {
    if (!variants.maps_pay.has_value()) variants.maps_pay = Remembered(MapsKey(emitted)).value_or("pay") == "pay";
    return *variants.maps_pay;
  }
  static std::string MapsKey(const gpu::Emitted& emitted) { return absl::StrCat("made maps of\n", emitted.text); }
  // Whether another order of its blocks is, likewise.
  bool StridesPay(const CompiledKernel& kernel, const gpu::Emitted& emitted) {
    CompiledKernel::DeviceSlot& slot = kernel.device_slot();
    std::lock_guard<std::mutex> lock(slot.mutex);
    std::optional<bool>& pay = static_cast<Variants*>(slot.code.get())->strides_pay;
    if (!pay.has_value()) pay = Remembered(StridesKey(emitted)).value_or("do not") == "pay";
    return *pay;
  }
  static std::string StridesKey(const gpu::Emitted& emitted) { return absl::StrCat("program stride of\n", emitted.text); }
  uint32_t StrideFor(const CompiledKernel& kernel, const gpu::Emitted& emitted, const std::array<int64_t, 3>& grid) {
    const uint32_t stride = gpu::StrideToTry(emitted, grid, facts_.multiprocessors);
    return stride != 1 && StridesPay(kernel, emitted) ? stride : 1;
  }

  // strided: whether to try the other order of blocks; as tuning found, if nobody says.
  absl::Status SetArguments(const CompiledKernel& kernel, const gpu::LoadedKernel& loaded, absl::Span<const uint64_t> values, const std::array<int64_t, 3>& grid,
                            uint64_t records, std::optional<bool> strided, gpu::LaunchArguments& arguments, std::unique_ptr<gpu::DeviceMemory>& workspace) {
    const gpu::Emitted& emitted = loaded.kernel().emitted;
    const uint32_t stride = !strided.has_value() ? StrideFor(kernel, emitted, grid) : *strided ? gpu::StrideToTry(emitted, grid, facts_.multiprocessors) : 1;
    launch::SliceValues slice;
    if (!emitted.slice.empty()) {
      slice = gpu::EvaluateSlice(emitted, kernel.kernel, values, grid, gpu::RangesOf(kernel.kernel, values, grid));
      if (!slice.failed.empty()) return absl::InternalError(absl::StrCat("kernel ", kernel.kernel.name, ": what held in main memory does not on the device: ", slice.failed));
    }
    if (const int64_t bytes = gpu::WorkspaceBytes(slice); bytes > 0) {
      if (workspace == nullptr || workspace->bytes() < bytes) {
        workspace.reset();
        TILEVM_ASSIGN_OR_RETURN(workspace, device_->Allocate(bytes));
      }
      TILEVM_ASSIGN_OR_RETURN(repacker_, repacker_source_());
    }
    TILEVM_ASSIGN_OR_RETURN(const gpu::CuContext context, device_->context());
    const gpu::ScopedContext scoped(device_->api(), context);  // the driver encodes maps for the current context
    return arguments.Set(device_->api(), emitted, values, slice, grid, records, workspace == nullptr ? 0 : workspace->address(), stride);
  }

  // Launches that were prepared may outlive the runner.
  static PreparedLaunch::RepackerSource RepackerOf(std::shared_ptr<gpu::Device> device, gpu::Target target, std::shared_ptr<gpu::Compiler> compiler) {
    struct State {
      std::mutex mutex;
      std::shared_ptr<const gpu::LoadedKernel> loaded;
    };
    return [device, target, compiler, state = std::make_shared<State>()]() -> absl::StatusOr<std::shared_ptr<const gpu::LoadedKernel>> {
      std::lock_guard<std::mutex> lock(state->mutex);
      if (state->loaded == nullptr) {
        TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const gpu::GpuKernel> compiled, compiler->CompileText(gpu::RepackText(), target, false));
        TILEVM_ASSIGN_OR_RETURN(state->loaded, device->Load(std::move(compiled)));
      }
      return state->loaded;
    };
  }

  absl::StatusOr<double> LaunchTimed(const gpu::LoadedKernel& kernel, const std::array<int64_t, 3>& grid, gpu::LaunchArguments& arguments) {
    return device_->LaunchTimed(kernel, grid, arguments.pointers(), nullptr, [&]() -> absl::Status {
      for (gpu::Repack& repack : arguments.repacks()) {
        if (gpu::CuResult result = gpu::LaunchRepack(device_->api(), repacker_->function(), repack, nullptr)) return device_->api().Error("cuLaunchKernel", result);
      }
      return absl::OkStatus();
    });
  }

  // The storage's bytes are on the device afterwards.
  absl::StatusOr<CuDevicePtr> OnDevice(Storage& storage) {
    if (storage.mirror() == nullptr) {
      std::unique_ptr<gpu::DeviceMemory> memory;
      CuDevicePtr address = storage.device_address();
      if (address == 0) {
        // Addresses differ by a multiple of 256: what the kernel was specialized to (alignment) holds for the copy.
        TILEVM_ASSIGN_OR_RETURN(memory, device_->Allocate(storage.bytes(), static_cast<int64_t>(reinterpret_cast<uintptr_t>(storage.address()) % 256)));
        address = memory->address();
      }
      storage.mirror() = std::make_shared<GpuMirror>(device_, std::move(memory), address);
    }
    const CuDevicePtr address = static_cast<GpuMirror*>(storage.mirror().get())->address();
    if (storage.home() == Storage::Home::kHost) {
      TILEVM_RETURN_IF_ERROR(device_->CopyIn(address, storage.data(), storage.bytes()));
      storage.set_home(Storage::Home::kBoth);
    }
    return address;
  }

  // One 8-byte value for each parameter; narrower ones use its first bytes.
  absl::StatusOr<std::vector<uint64_t>> Upload(const host::PreparedRun& run) {
    std::vector<CuDevicePtr> addresses;
    for (const host::Tensor& tensor : run.tensors) {
      TILEVM_ASSIGN_OR_RETURN(CuDevicePtr address, OnDevice(*tensor.storage));
      addresses.push_back(address);
    }
    for (const std::weak_ptr<Storage>& escaped : escaped_) {
      if (std::shared_ptr<Storage> storage = escaped.lock()) TILEVM_RETURN_IF_ERROR(OnDevice(*storage).status());
    }
    std::vector<uint64_t> values;
    for (const Arg& arg : run.args) {
      values.push_back(arg.kind == Arg::Kind::kBuffer ? addresses[arg.buffer] + static_cast<uint64_t>(arg.byte_offset) : arg.bits);
    }
    return values;
  }

  std::shared_ptr<gpu::Device> device_;
  gpu::Target target_;
  std::shared_ptr<gpu::Compiler> compiler_;
  const bool may_copy_;  // gpu::Promises::workspace
  host::DeviceFacts facts_;
  std::mutex mutex_;  // of what follows: launches of one device come one after another
  std::vector<std::weak_ptr<Storage>> escaped_;  // their addresses are known to the program
  std::unique_ptr<gpu::DeviceMemory> flush_;     // as large as two L2 caches
  std::unique_ptr<gpu::DeviceMemory> workspace_; // for copies of arrays that are not aligned
  const PreparedLaunch::RepackerSource repacker_source_;  // of a kernel that does that
  std::shared_ptr<const gpu::LoadedKernel> repacker_;
};

}  // namespace

gpu::Promises PromisesOf(const host::PreparedRun& run, const analysis::LaunchRanges& ranges) {
  gpu::Promises promises;
  // Two parameters that point into one buffer, or two buffers of the caller that overlap.
  std::vector<int> uses(run.buffers.size());
  for (const Arg& arg : run.args) {
    if (arg.kind == Arg::Kind::kBuffer && ++uses[arg.buffer] > 1) promises.no_alias = false;
    if (arg.kind == Arg::Kind::kPointer) promises.no_alias = false;
  }
  std::vector<std::pair<uintptr_t, uintptr_t>> extents;
  for (const host::Tensor& tensor : run.tensors) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(tensor.storage->address());
    extents.emplace_back(begin, begin + static_cast<uintptr_t>(tensor.storage->bytes()));
  }
  std::sort(extents.begin(), extents.end());
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].first < extents[i - 1].second) promises.no_alias = false;
  }
  promises.trust_signs = ranges.SignsAreAsTrusted();
  return promises;
}

absl::StatusOr<std::shared_ptr<host::DeviceRunner>> OpenGpu(const GpuOptions& options) {
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<gpu::Device> device, gpu::Device::Open(options.ordinal, options.driver_library, options.memory));
  TILEVM_ASSIGN_OR_RETURN(gpu::Target target, device->target());
  gpu::CompilerOptions compiler;
  compiler.cache = options.cache;
  compiler.nvrtc_library = options.nvrtc_library;
  return std::make_shared<GpuRunner>(std::move(device), std::move(target), std::make_unique<gpu::Compiler>(std::move(compiler)), options.workspace);
}

}  // namespace tilevm::vm
