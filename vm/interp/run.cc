// Run: argument checks, the pool of workers, and the scheduling of programs that wait for each other.
//
// A worker takes programs in order. A program that gives way (control.cc says when) is set aside with its frame, and the worker goes on with the
// next one; frames are reused, so a kernel whose programs never wait needs one per worker. When no program is left to start, a worker turns to
// those it set aside: they are resumed in order as long as memory has changed since they last looked. If none of any worker has, it is a deadlock.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <thread>

#include "absl/strings/str_cat.h"
#include "vm/interp/check.h"
#include "vm/interp/compile.h"
#include "vm/interp/interp.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

constexpr int64_t kChunk = 8;  // programs taken at once

// Turns that the waiting programs get before the next one is started.
int RoundsFor(size_t waiting) { return waiting < 16 ? 1 : waiting < 256 ? 2 : 64; }

std::byte* AlignUp64(std::byte* p) { return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(p) + 63) & ~uintptr_t{63}); }

int64_t FrameBytes(const Plan& plan, bool checked) {
  return plan.arena_bytes + plan.scratch_bytes + (checked ? plan.shadow_bytes : 0) + 64;
}

std::unique_ptr<Frame> MakeFrame(const Plan& plan, RunState& run, Checker* check) {
  auto frame = std::make_unique<Frame>();
  frame->plan = &plan;
  frame->run = &run;
  frame->check = check;
  frame->regs.resize(plan.registers.size());
  frame->loops.resize(plan.loops.size());
  const int64_t bytes = FrameBytes(plan, check != nullptr);
  frame->arena.reset(new (std::nothrow) std::byte[bytes]);
  if (frame->arena == nullptr) return nullptr;
  std::byte* next = AlignUp64(frame->arena.get());
  for (size_t i = 0; i < plan.registers.size(); ++i) {
    frame->regs[i].data = next;
    next += plan.registers[i].capacity;
  }
  frame->scratch = next;
  next += plan.scratch_bytes;
  if (check != nullptr) {
    for (size_t i = 0; i < plan.registers.size(); ++i) {
      frame->regs[i].shadow = reinterpret_cast<uint8_t*>(next);
      next += RoundUp64(plan.registers[i].lanes);
    }
  }
  return frame;
}

void StartProgram(Frame& frame, int64_t index) {
  const RunState& run = *frame.run;
  const int64_t* grid = run.options->grid;
  frame.program_index = index;
  frame.program[0] = index % grid[0];
  frame.program[1] = index / grid[0] % grid[1];
  frame.program[2] = index / grid[0] / grid[1];
  frame.pc = 0;
  frame.stop = Stop::kNone;
  frame.slice = kSliceBackEdges;
  for (size_t i = 0; i < frame.plan->params.size(); ++i) {
    const Operand& param = frame.plan->params[i];
    Register& reg = frame.regs[param.reg];
    reg.form = Form::kDense;
    reg.shadowed = false;
    WriteBits(reg.data, param.type->elem_bytes, 0, run.param_bits[i]);
  }
}

class Worker {
 public:
  Worker(RunState& run, Checker* check, int workers) : run_(run), check_(check), workers_(workers) {}

  void Run() {
    int64_t next = 0, end = 0;
    while (!run_.failed.load(std::memory_order_relaxed)) {
      if (next == end) {
        // One at a time where programs may wait: a chunk held back by a worker could be what all wait for.
        const int64_t chunk = run_.plan->may_wait ? 1 : kChunk;
        next = run_.next_program.fetch_add(chunk);
        end = std::min(next + chunk, run_.program_count);
        if (next >= end) break;
      }
      std::unique_ptr<Frame> frame = TakeFrame();
      if (frame == nullptr) return;
      StartProgram(*frame, next++);
      Resume(std::move(frame));
      // Long loops give way now and then in case they wait for somebody; that must not start the whole grid at once.
      for (int round = 0; round < RoundsFor(waiting_.size()); ++round) {
        if (!ResumeReady()) break;
      }
    }
    while (!waiting_.empty() && !run_.failed.load(std::memory_order_relaxed)) {
      if (ResumeReady()) continue;
      if (!WaitForChange()) return;
    }
    for (const auto& frame : spare_) run_.ops += frame->ops - frame->fuel;
  }

 private:
  std::unique_ptr<Frame> TakeFrame() {
    if (!spare_.empty()) {
      std::unique_ptr<Frame> frame = std::move(spare_.back());
      spare_.pop_back();
      return frame;
    }
    const RunOptions& options = *run_.options;
    const int64_t bytes = FrameBytes(*run_.plan, check_ != nullptr);
    const int64_t live = run_.live_programs.fetch_add(1) + 1;
    int64_t peak = run_.peak_live_programs.load();
    while (peak < live && !run_.peak_live_programs.compare_exchange_weak(peak, live)) {
    }
    if (live > 1 && (live > options.max_live_programs || live > options.max_memory_bytes / bytes)) {
      Fail(ErrorAt(run_.plan->loc, absl::StatusCode::kResourceExhausted, live, " programs are live at once, waiting for each other; each needs ",
                   bytes, " bytes, the limits are ", options.max_live_programs, " programs and ", options.max_memory_bytes, " bytes"), 0);
      return nullptr;
    }
    std::unique_ptr<Frame> frame = MakeFrame(*run_.plan, run_, check_);
    if (frame == nullptr) Fail(ErrorAt(run_.plan->loc, absl::StatusCode::kResourceExhausted, "out of memory for a program's ", bytes, " bytes"), 0);
    return frame;
  }

  void Fail(absl::Status status, int64_t program) {
    std::lock_guard<std::mutex> lock(run_.mutex);
    if (run_.failed_program < 0 || program < run_.failed_program) {
      run_.status = std::move(status);
      run_.failed_program = program;
    }
    run_.failed = true;
  }

  void Resume(std::unique_ptr<Frame> frame) {
    if (frame->stop == Stop::kBlocked) frame->loops[frame->waiting_loop].version = run_.memory_version.load(std::memory_order_acquire);
    frame->stop = Stop::kNone;
    Execute(*frame);
    switch (frame->stop) {
      case Stop::kFinished:
        if (check_ != nullptr) check_->Finish(*frame);
        spare_.push_back(std::move(frame));
        return;
      case Stop::kFailed:
        Fail(frame->status, frame->program_index);
        return;
      default:
        waiting_.push_back(std::move(frame));
    }
  }

  // One round over the programs set aside; true if any could run.
  bool ResumeReady() {
    bool ran = false;
    for (size_t left = waiting_.size(); left > 0 && !run_.failed.load(std::memory_order_relaxed); --left) {
      std::unique_ptr<Frame> frame = std::move(waiting_.front());
      waiting_.pop_front();
      const bool ready = frame->stop == Stop::kSlice || frame->seen_version != run_.memory_version.load(std::memory_order_acquire);
      if (!ready) {
        waiting_.push_back(std::move(frame));
        continue;
      }
      ran = true;
      Resume(std::move(frame));
    }
    return ran;
  }

  // All programs of this worker wait. False if that holds for every worker and no memory changed: a deadlock.
  bool WaitForChange() {
    const uint64_t version = run_.memory_version.load(std::memory_order_acquire);
    int64_t bounded = 0;
    for (const auto& frame : waiting_) {
      if (frame->seen_version != version) return true;
      bounded += run_.plan->loops[frame->waiting_loop].bounded ? 1 : 0;
    }
    {
      std::lock_guard<std::mutex> lock(run_.mutex);
      if (run_.idle_version != version) {
        run_.idle_version = version;
        run_.idle_workers = 0;
        run_.idle_bounded = 0;
      }
      run_.idle_bounded += bounded;
      ++run_.idle_workers;  // leaves the count only when the version changes, which starts a new one
    }
    while (true) {
      if (run_.failed.load(std::memory_order_relaxed)) return false;
      if (run_.memory_version.load(std::memory_order_acquire) != version) return true;
      {
        std::lock_guard<std::mutex> lock(run_.mutex);
        // Workers that are done have left; the others must all be here, having seen this version.
        if (run_.idle_version == version && run_.idle_workers + run_.done_workers == workers_) {
          if (run_.idle_bounded == 0) break;
          // Nothing will change: the iterations that a `for` has left would repeat the last one.
          if (bounded > 0) {
            for (const auto& frame : waiting_) {
              if (run_.plan->loops[frame->waiting_loop].bounded) frame->loops[frame->waiting_loop].remaining = 0;
            }
            run_.memory_version.fetch_add(1, std::memory_order_acq_rel);  // wakes the other workers too
            return true;
          }
        }
      }
      std::this_thread::yield();
    }
    ReportDeadlock();
    return false;
  }

  void ReportDeadlock() {
    const Frame& first = *waiting_.front();
    const auto program = [](const Frame& frame) {
      return absl::StrCat("(", frame.program[0], ", ", frame.program[1], ", ", frame.program[2], ")");
    };
    absl::Status status = ErrorAt(run_.plan->loops[first.waiting_loop].loc, absl::StatusCode::kInvalidArgument, "deadlock: ", waiting_.size(),
                                  waiting_.size() == 1 ? " program waits" : " programs wait",
                                  " for memory that nobody will change; program ", program(first), " in this loop");
    for (const auto& frame : waiting_) {
      if (frame->waiting_loop == first.waiting_loop) continue;
      status = WithNote(status, run_.plan->loops[frame->waiting_loop].loc, absl::StrCat("program ", program(*frame), " waits here"));
      break;
    }
    Fail(std::move(status), first.program_index);
  }

  RunState& run_;
  Checker* check_;
  const int workers_;
  std::vector<std::unique_ptr<Frame>> spare_;
  std::deque<std::unique_ptr<Frame>> waiting_;
};

absl::Status SetParams(const Plan& plan, absl::Span<const Arg> args, absl::Span<const Buffer> buffers, Checker* check, RunState& run) {
  if (args.size() != plan.params.size()) {
    return InvalidAt(plan.loc, plan.name, ": ", args.size(), " arguments given, ", plan.params.size(), " wanted");
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const Arg& arg = args[i];
    const bool pointer = plan.params[i].type->elem.pointer;
    if (arg.kind == Arg::Kind::kBuffer) {
      if (!pointer) return InvalidAt(plan.loc, plan.name, ": argument ", plan.param_names[i], " is a buffer, a number is wanted");
      if (arg.buffer < 0 || arg.buffer >= static_cast<int64_t>(buffers.size())) {
        return InvalidAt(plan.loc, plan.name, ": argument ", plan.param_names[i], " names buffer ", arg.buffer, " of ", buffers.size());
      }
      const uint64_t base = check != nullptr ? check->BaseOf(arg.buffer) : reinterpret_cast<uintptr_t>(buffers[arg.buffer].data);
      run.param_bits.push_back(base + static_cast<uint64_t>(arg.byte_offset));
    } else {
      if (check != nullptr && pointer && arg.bits != 0) check->AllowRawPointers();
      run.param_bits.push_back(arg.bits);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const Plan& plan, const RunOptions& options, int64_t* programs) {
  *programs = 1;
  for (int d = 0; d < 3; ++d) {
    if (options.grid[d] < 0 || options.grid[d] > 0x7fffffff) {
      return InvalidAt(plan.loc, plan.name, ": grid axis ", d, " is ", options.grid[d], ", the limits are 0 and 2147483647");
    }
    if (__builtin_mul_overflow(*programs, options.grid[d], programs)) return InvalidAt(plan.loc, plan.name, ": the grid has too many programs");
  }
  const int64_t bytes = FrameBytes(plan, options.checked);
  if (bytes > options.max_memory_bytes) {
    return ErrorAt(plan.loc, absl::StatusCode::kResourceExhausted, plan.name, ": the tiles of one program take ", bytes,
                   " bytes, the limit is ", options.max_memory_bytes);
  }
  return absl::OkStatus();
}

// Every pointer argument is a buffer and no pointer is made from a number (or what numbers may point to is known): accesses can be held to the buffers.
void SetGuard(const Plan& plan, absl::Span<const Arg> args, absl::Span<const Buffer> buffers, RunState& run) {
  run.guarded = !run.options->checked && (!plan.makes_pointers || run.options->only_known_memory);
  for (size_t i = 0; i < args.size(); ++i) {
    if (plan.params[i].type->elem.pointer && args[i].kind != Arg::Kind::kBuffer && args[i].bits != 0) run.guarded = false;
  }
  if (!run.guarded) return;
  if (plan.makes_pointers) run.ranges = run.options->known_memory;
  for (const Buffer& buffer : buffers) {
    const uint64_t begin = reinterpret_cast<uintptr_t>(buffer.data);
    if (buffer.bytes > 0) run.ranges.emplace_back(begin, begin + static_cast<uint64_t>(buffer.bytes));
  }
  std::sort(run.ranges.begin(), run.ranges.end());
  size_t kept = 0;
  for (size_t i = 1; i < run.ranges.size(); ++i) {  // overlapping views of one allocation are one range
    if (run.ranges[i].first <= run.ranges[kept].second) {
      run.ranges[kept].second = std::max(run.ranges[kept].second, run.ranges[i].second);
    } else {
      run.ranges[++kept] = run.ranges[i];
    }
  }
  if (!run.ranges.empty()) run.ranges.resize(kept + 1);
}

}  // namespace

void RunState::Print(absl::string_view text) {
  std::lock_guard<std::mutex> lock(mutex);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const absl::string_view line = text.substr(0, end == absl::string_view::npos ? text.size() : end + 1);
    if (options->print) {
      options->print(line);
    } else {
      std::fwrite(line.data(), 1, line.size(), stdout);
    }
    text.remove_prefix(line.size());
  }
}

absl::StatusOr<RunResult> Run(const Plan& plan, absl::Span<const Arg> args, absl::Span<const Buffer> buffers, const RunOptions& options) {
  RunState run;
  run.plan = &plan;
  run.options = &options;
  TILEVM_RETURN_IF_ERROR(CheckOptions(plan, options, &run.program_count));
  std::unique_ptr<Checker> check;
  if (options.checked) check = std::make_unique<Checker>(plan, buffers, options, run.program_count);
  TILEVM_RETURN_IF_ERROR(SetParams(plan, args, buffers, check.get(), run));
  SetGuard(plan, args, buffers, run);
  run.fuel = options.max_ops;
  int64_t threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  threads = options.checked || plan.prints
                ? 1
                : std::min({threads, std::max<int64_t>(1, run.program_count), std::max<int64_t>(1, options.max_memory_bytes / FrameBytes(plan, false))});
  const auto work = [&] {
    Worker(run, check.get(), static_cast<int>(threads)).Run();
    std::lock_guard<std::mutex> lock(run.mutex);
    ++run.done_workers;
  };
  std::vector<std::thread> pool;
  for (int64_t i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  if (!run.status.ok()) return run.status;
  RunResult result;
  result.statistics = {run.program_count, run.ops.load(), plan.arena_bytes, run.peak_live_programs.load()};
  if (check != nullptr) check->TakeReports(&result);
  return result;
}

absl::StatusOr<RunResult> Run(const ir::Kernel& kernel, absl::Span<const Arg> args, absl::Span<const Buffer> buffers, const RunOptions& options) {
  TILEVM_ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan, Compile(kernel));
  return Run(*plan, args, buffers, options);
}

Arg Arg::Int(isa::DType dtype, int64_t value) { return Scalar(isa::ScalarFromInt(dtype, value).bits); }
Arg Arg::Float(isa::DType dtype, double value) { return Scalar(isa::ScalarFromDouble(dtype, value).bits); }

}  // namespace tilevm::vm
