// Specialized kernels, each made once: open function + key -> typed IR -> passes; then the plan of the CPU engine, or what a device engine keeps with it.
//
// One cache serves all programs of an engine; it may be used by several threads. An entry is immutable and shared with whoever launches it.
// The key is text: program, function, what its parameters are specialized to, options. Nothing in it depends on addresses but captured
// functions of one program.
#ifndef TILEVM_VM_KERNEL_CACHE_H_
#define TILEVM_VM_KERNEL_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "specializer/ir/kernel.h"
#include "specializer/partial_eval/evaluator.h"
#include "vm/interp/interp.h"

namespace tilevm::vm {

struct CompiledKernel {
  ir::Kernel kernel;                    // after all passes; its params are what a launch has to give
  double compile_us = 0;

  // The plan of the CPU engine, made when it is first asked for.
  absl::StatusOr<std::shared_ptr<const Plan>> plan() const;

  // What a device engine keeps with the kernel: its compiled variants.
  struct DeviceSlot {
    std::mutex mutex;
    std::shared_ptr<void> code;
  };
  DeviceSlot& device_slot() const { return device_slot_; }

 private:
  mutable std::mutex plan_mutex_;
  mutable std::shared_ptr<const Plan> plan_;
  mutable DeviceSlot device_slot_;
};

struct CacheStatistics {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t entries = 0;
};

class KernelCache {
 public:
  explicit KernelCache(size_t max_entries = 1024) : max_entries_(max_entries) {}

  // fresh: whether it was compiled now. The evaluator belongs to the caller (its program's lock is held). want_plan: for the CPU engine, whose errors
  // come here then.
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Get(absl::string_view program_key, specializer::Evaluator& evaluator,
                                                            const specializer::Value& kernel, const specializer::SpecializationKey& key, bool* fresh,
                                                            bool want_plan = true);
  CacheStatistics statistics() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const CompiledKernel> kernel;
  };
  const size_t max_entries_;
  mutable std::mutex mutex_;
  std::list<Entry> recent_;  // most recently used first
  absl::flat_hash_map<std::string, std::list<Entry>::iterator> index_;
  int64_t hits_ = 0, misses_ = 0;
};

// "p3:softmax_kernel(ptr<f32>/16, i32, 1, BLOCK=1024) warps=4 stages=3"
std::string KeyText(absl::string_view program_key, const specializer::Value& kernel, const specializer::SpecializationKey& key);

// Typed IR through all passes; `stop_after` names the last pass to run ("typed": none), "" runs all.
absl::StatusOr<ir::Kernel> SpecializeAndOptimize(specializer::Evaluator& evaluator, const specializer::Value& kernel,
                                                 const specializer::SpecializationKey& key, absl::string_view stop_after = "");

}  // namespace tilevm::vm

#endif  // TILEVM_VM_KERNEL_CACHE_H_
