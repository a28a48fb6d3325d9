// The CPU engine: runs the typed tile IR, after any pass, on ordinary memory.
//
// Compile turns a kernel into a Plan once: a flat list of instructions with jumps, tile registers planned by liveness, one function pointer per
// instruction. Run executes a Plan for every program of a grid; a Plan is immutable and may be run by several threads at once.
//
// Two modes over one plan. *Fast* spreads the programs over threads. *Checked* runs on one thread in program order, knows the extent of every
// buffer and reports out-of-bounds accesses (suppressed: a load gives 0), races between programs, uninitialised values that reach a store, a
// branch, an address or an atomic, 32-bit offsets that wrapped, duplicate store addresses in a tile with different values, gathers out of
// range and misaligned pointers; the run goes on after a report.
//
// Programs may wait for each other in loops: a program whose iteration changed nothing gives way to the others, and when all wait and no
// memory changed, the deadlock is an error that names the loops.
#ifndef TILEVM_VM_INTERP_INTERP_H_
#define TILEVM_VM_INTERP_INTERP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "specializer/ir/kernel.h"

namespace tilevm::vm {

// Memory that a kernel may touch.
struct Buffer {
  void* data = nullptr;
  int64_t bytes = 0;
  isa::DType dtype = isa::DType::kF32;  // a hint for messages: element numbers count in it
  std::string name;
  // torch.empty and the like: checked mode reports values that are used before they were written.
  bool uninitialised = false;
  // Optional, checked mode, for memory that lives through several runs: one byte for each byte of data, nonzero once written. Resized and
  // kept by the caller; without it an uninitialised buffer starts unwritten in every run.
  std::vector<uint8_t>* written = nullptr;
};

// One runtime argument, in the order of ir::Kernel::params.
struct Arg {
  enum class Kind : uint8_t { kScalar, kBuffer, kPointer };
  Kind kind = Kind::kScalar;
  uint64_t bits = 0;        // kScalar: the bit pattern; kPointer: the address, of unknown extent
  int32_t buffer = -1;      // kBuffer: index into the buffers of the run
  int64_t byte_offset = 0;  // kBuffer: where the pointer points

  static Arg Scalar(uint64_t bits) { return Arg{Kind::kScalar, bits, -1, 0}; }
  static Arg Int(isa::DType dtype, int64_t value);
  static Arg Float(isa::DType dtype, double value);
  static Arg InBuffer(int32_t buffer, int64_t byte_offset = 0) { return Arg{Kind::kBuffer, 0, buffer, byte_offset}; }
  static Arg Pointer(const void* address) { return Arg{Kind::kPointer, reinterpret_cast<uintptr_t>(address), -1, 0}; }
};

struct RunOptions {
  int64_t grid[3] = {1, 1, 1};
  bool checked = false;
  int threads = 1;                         // fast mode; 0: one per core
  int64_t max_ops = 0;                     // fuel: instructions over all programs; 0: no limit
  int64_t max_memory_bytes = int64_t{8} << 30;  // tile registers of all live programs
  bool poison_masked = false;              // masked-off lanes of a load without `other` are NaN or 0xAA bytes instead of 0
  // Fast mode: a pointer made from a number may reach the buffers and this memory (begin, end), nothing else. Without it such a kernel is not guarded.
  bool only_known_memory = false;
  std::vector<std::pair<uint64_t, uint64_t>> known_memory;
  bool device_asserts = true;
  int max_reports = 100;                   // checked mode: further ones are only counted
  int64_t max_live_programs = 1 << 16;     // waiting programs kept at once
  std::function<void(absl::string_view)> print;  // device_print, one line a call, newline included; default: standard output
};

enum class ReportKind : uint8_t {
  kOutOfBounds,
  kRace,
  kSameValueRace,   // a note: two programs wrote the same value
  kUninitialised,
  kOffsetWrapped,   // a 32-bit offset wrapped before it reached an address
  kDuplicateStore,  // two lanes of one store, one address, different values
  kGatherOutOfRange,
  kMisaligned,
  kAssert,          // device_assert
};
absl::string_view Name(ReportKind kind);

// One thing that checked mode found. Reports of the same kind at the same place on the same buffer are one report with a count.
struct Report {
  ReportKind kind = ReportKind::kOutOfBounds;
  bool note = false;             // worth showing, not an error
  int64_t program[3] = {0, 0, 0};
  int64_t lane = 0;              // number of the lane in the tile, row-major
  std::vector<int64_t> index;    // the same as an index
  std::string buffer;            // "" if the address is in no buffer
  int64_t element = 0;           // index of the element in the buffer (negative: before it)
  int64_t extent = 0;            // elements of the buffer
  int64_t other_program[3] = {-1, -1, -1};  // race: the other side
  Loc loc;
  Loc other_loc;
  int64_t count = 1;             // how many lanes in all
  std::string message;           // "load: lane 3 reads element 6 of bins, which has 5 elements"
};

struct Statistics {
  int64_t programs = 0;
  int64_t ops = 0;
  int64_t arena_bytes = 0;      // registers of one program
  int64_t peak_live_programs = 0;
};

struct RunResult {
  std::vector<Report> reports;   // in order of discovery, the same in every run
  int64_t reports_dropped = 0;   // beyond max_reports
  Statistics statistics;

  bool clean() const;            // no report but notes
};

class Plan;

struct CompileOptions {
  bool share_registers = true;  // off: every value has a register of its own (to test that sharing changes nothing)
};

absl::StatusOr<std::shared_ptr<const Plan>> Compile(const ir::Kernel& kernel, const CompileOptions& options = {});
absl::StatusOr<RunResult> Run(const Plan& plan, absl::Span<const Arg> args, absl::Span<const Buffer> buffers, const RunOptions& options);
// As text, an instruction a line.
std::string Print(const Plan& plan);
// Compile and Run.
absl::StatusOr<RunResult> Run(const ir::Kernel& kernel, absl::Span<const Arg> args, absl::Span<const Buffer> buffers, const RunOptions& options);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_INTERP_H_
