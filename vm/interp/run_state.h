// What all programs of one run share, and the hooks of checked mode.
#ifndef TILEVM_VM_INTERP_RUN_STATE_H_
#define TILEVM_VM_INTERP_RUN_STATE_H_

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "vm/interp/plan.h"

namespace tilevm::vm {

struct RunState {
  const Plan* plan = nullptr;
  const RunOptions* options = nullptr;
  std::vector<uint64_t> param_bits;
  int64_t program_count = 0;
  std::atomic<int64_t> next_program{0};
  std::atomic<uint64_t> memory_version{1};  // bumped by stores and successful atomics of kernels that may wait
  std::atomic<int64_t> fuel{0};             // instructions left; unused without a limit
  std::atomic<int64_t> live_programs{0};
  std::atomic<int64_t> peak_live_programs{0};
  std::atomic<int64_t> ops{0};
  std::atomic<bool> failed{false};

  // Fast mode: the memory of the launch's buffers, sorted and merged; `guarded` if every pointer must be in it.
  bool guarded = false;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;

  std::mutex mutex;                         // error, output
  absl::Status status;
  int64_t failed_program = -1;
  int idle_workers = 0;                     // all of whose programs wait, having seen idle_version
  uint64_t idle_version = 0;
  int64_t idle_bounded = 0;                 // programs among theirs that wait in a `for`
  int done_workers = 0;                     // that have left

  void Print(absl::string_view text);
};

// Fast mode's cheap bounds check: an access must lie in the memory of some buffer, so that a wrong kernel is an error and no crash. Remembers
// the range that was last hit.
class Guard {
 public:
  explicit Guard(const RunState& run) : run_(run), end_(run.guarded ? 0 : ~uint64_t{0}) {}
  bool Allows(uint64_t address, uint64_t bytes) {
    if (end_ - begin_ >= bytes && address - begin_ <= end_ - begin_ - bytes) [[likely]] return true;
    return Find(address, bytes);
  }

 private:
  bool Find(uint64_t address, uint64_t bytes);  // memory.cc

  const RunState& run_;
  uint64_t begin_ = 0, end_;
};
// The error of an access that the guard does not allow.
absl::Status OutsideError(const Inst& inst, int64_t lane);

// A kernel whose programs may wait tells the others that memory changed.
inline void NoteWrite(Frame& frame) {
  if (!frame.plan->may_wait) return;
  ++frame.writes;
  frame.run->memory_version.fetch_add(1, std::memory_order_release);
}

// --- checked mode (check_memory.cc) ---
void CheckedLoad(Frame& frame, const Inst& inst);
void CheckedStore(Frame& frame, const Inst& inst);
void CheckedAtomic(Frame& frame, const Inst& inst);
void CheckGather(Frame& frame, const Inst& inst, int64_t lane, int64_t index, int64_t extent);  // an index out of range
// device_assert: true if the run should go on.
bool CheckAssert(Frame& frame, const Inst& inst, int64_t lane, const std::string& message);
void CheckBranch(Frame& frame, const Inst& inst, const Register& reg);  // a shadowed value decides control flow

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_RUN_STATE_H_
