// Checked mode: what memory is, who touched it, and what was found.
//
// Pointers of checked mode are not addresses: buffer i begins at a number of its own, 2**44 apart from the others, so that an access far out of
// bounds still belongs to the buffer it was computed from. Raw pointers keep their addresses and have no extent.
//
// Races are found by the happens-before order of programs (the epochs and vector clocks of FastTrack: Flanagan and Freund, PLDI 2009): every cell
// of a buffer remembers its last writer and two readers, further readers stand in a table beside it; atomics with release publish a program's
// clock at their address, and atomics with acquire join it. In a kernel without such atomics two readers tell as much as all. Where the table is
// full a reader replaces the second, so a race may then be missed; nothing that is ordered is ever reported.
#ifndef TILEVM_VM_INTERP_CHECK_H_
#define TILEVM_VM_INTERP_CHECK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "vm/interp/plan.h"

namespace tilevm::vm {

class Checker {
 public:
  Checker(const Plan& plan, absl::Span<const Buffer> buffers, const RunOptions& options, int64_t programs);

  // What a pointer to byte 0 of a buffer is in this run.
  uint64_t BaseOf(int64_t buffer) const { return buffers_[buffer].base; }
  // The run has pointers of unknown extent.
  void AllowRawPointers() { raw_pointers_ = true; }

  void Finish(Frame& frame);  // the program is over
  void TakeReports(RunResult* result);

  struct Target {
    std::byte* memory = nullptr;  // null: out of bounds
    int64_t buffer = -1;          // -1: a raw pointer
    int64_t offset = 0;           // bytes into the buffer
  };
  // One lane of a memory op.
  struct Access {
    Frame& frame;
    const Inst& inst;
    const TypeInfo& type;  // of the pointers, for the lane's index
    int bytes;
    const char* verb;      // "reads", "writes", "updates"
    bool atomic = false;
    mutable bool met_unwritten = false;  // by a lane so far
  };

  // Where lane `lane` goes; reports and gives null memory if that is out of bounds; reports a misaligned address.
  Target Resolve(const Access& access, int64_t lane, uint64_t address);
  // True if any of the bytes was never written.
  bool NoteRead(const Access& access, int64_t lane, const Target& target);
  // Before the write of `bits`.
  void NoteWrite(const Access& access, int64_t lane, const Target& target, uint64_t bits);
  void Acquire(const Frame& frame, const Target& target);
  void Release(const Frame& frame, const Target& target);

  // Adds a report, or counts the lane into an earlier one of the same kind at the same place; `message` is made only for a new one.
  template <typename Message>
  void Add(Frame& frame, const Inst& inst, ReportKind kind, int64_t lane, const TypeInfo& type, const Target& target, const Message& message,
           const Report* other = nullptr);
  // Reports what the shadow of one lane means where it is used.
  void Use(Frame& frame, const Inst& inst, uint8_t shadow, int64_t lane, const TypeInfo& type, absl::string_view use);
  std::string Element(const Target& target) const;  // "element 6 of bins, which has 5 elements"

 private:
  static constexpr uint32_t kNobody = 0xffffffffu;
  struct Epoch {
    uint32_t program = kNobody;
    uint32_t clock = 0;
    uint32_t place : 30;  // index into places_
    uint32_t atomic : 1;
    uint32_t more : 1;    // of Cell::other_read: further readers are in more_readers_
    Epoch() : place(0), atomic(0), more(0) {}
  };
  struct Cell {
    Epoch write, read, other_read;
  };
  static constexpr int64_t kPageCells = 1024;
  struct BufferState {
    Buffer buffer;
    uint64_t base = 0;
    std::vector<std::unique_ptr<Cell[]>> pages;  // made on first access
    std::vector<uint8_t> own_written;
    std::vector<uint8_t>* written = nullptr;     // null: all initialised
  };
  using Clock = absl::flat_hash_map<uint32_t, uint32_t>;  // program -> its last event that happened before
  using Place = std::pair<int64_t, int64_t>;              // buffer and offset; -1 and an address
  struct Published {
    Clock clock;
    uint64_t version = 0;  // counts releases
  };
  struct Known {
    Clock clock;
    Place last_place{-2, 0};  // the acquire before: polling one place again finds nothing new
    uint64_t last_version = 0;
  };

  Cell& CellAt(const Access& access, BufferState& state, int64_t index);
  bool Ordered(const Epoch& epoch, const Frame& frame) const;
  Epoch Now(const Access& access);
  static uint64_t CellKey(int64_t buffer, int64_t cell) { return static_cast<uint64_t>(buffer) << 44 | static_cast<uint64_t>(cell); }
  void NoteReader(const Access& access, Cell& cell, uint64_t key, const Epoch& now);
  void Conflict(const Access& access, int64_t lane, const Target& target, const Epoch& other, bool other_wrote, bool same_value);
  static Place PlaceOf(const Target& target);

  const RunOptions& options_;
  const int64_t cell_bytes_;
  bool raw_pointers_ = false;
  std::vector<BufferState> buffers_;
  std::vector<Loc> places_;
  absl::flat_hash_map<const Inst*, uint32_t> place_of_;
  const Inst* last_inst_ = nullptr;             // whose place is last_place_
  uint32_t last_place_ = 0;
  std::vector<uint32_t> clock_;                 // own clock by program
  absl::flat_hash_map<uint32_t, Known> known_;  // of programs that acquired something
  absl::flat_hash_map<Place, Published> sync_;
  // The last load that met unwritten memory, and the first element there: where an uninitialised value most likely came from.
  Target unwritten_;
  Loc unwritten_loc_;
  std::vector<Report> reports_;
  std::map<std::tuple<ReportKind, const Inst*, int64_t>, int64_t> report_of_;  // -> index into reports_; -1 for a dropped one
  int64_t dropped_ = 0;
  int64_t page_bytes_ = 0;
  bool synchronises_ = false;  // the kernel has atomics
  struct Readers {
    std::vector<Epoch> epochs;
    size_t prune_at = 8;
  };
  absl::flat_hash_map<uint64_t, Readers> more_readers_;
  int64_t more_readers_count_ = 0;
  Cell nowhere_;  // stands in once the memory for cells is used up
};

template <typename Message>
void Checker::Add(Frame& frame, const Inst& inst, ReportKind kind, int64_t lane, const TypeInfo& type, const Target& target,
                  const Message& message, const Report* other) {
  const auto [entry, fresh] = report_of_.try_emplace({kind, &inst, target.buffer}, static_cast<int64_t>(reports_.size()));
  if (!fresh) {
    if (entry->second >= 0) ++reports_[entry->second].count;
    return;
  }
  if (static_cast<int64_t>(reports_.size()) >= options_.max_reports) {
    entry->second = -1;
    ++dropped_;
    return;
  }
  Report report;
  if (other != nullptr) report = *other;
  report.kind = kind;
  report.note = kind == ReportKind::kSameValueRace;
  for (int d = 0; d < 3; ++d) report.program[d] = frame.program[d];
  report.lane = lane;
  for (int d = 0; d < type.rank; ++d) report.index.push_back(lane / type.stride[d] % type.shape[d]);
  if (target.buffer >= 0) {
    const Buffer& buffer = buffers_[target.buffer].buffer;
    const int64_t size = isa::StorageBytes(buffer.dtype);
    report.buffer = buffer.name;
    report.element = target.offset >= 0 ? target.offset / size : -((-target.offset + size - 1) / size);
    report.extent = buffer.bytes / size;
  }
  report.loc = inst.loc;
  report.message = message();
  reports_.push_back(std::move(report));
}

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_CHECK_H_
