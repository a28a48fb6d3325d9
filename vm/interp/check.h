// Checked mode: what memory is, who touched it, and what was found.
//
// Pointers of checked mode are not addresses: buffer i begins at a number of its own, 2**44 apart from the others, so that an access far out of
// bounds still belongs to the buffer it was computed from. Raw pointers keep their addresses and have no extent.
//
// Races are found by the happens-before order of programs (the epochs and vector clocks of FastTrack: Flanagan and Freund, PLDI 2009): every cell
// of a buffer remembers its last writer and up to two readers; atomics with release publish a program's clock at their address, and atomics
// with acquire join it.
#ifndef TILEVM_VM_INTERP_CHECK_H_
#define TILEVM_VM_INTERP_CHECK_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "vm/interp/plan.h"

namespace tilevm::vm {

class Checker {
 public:
  Checker(const Plan& plan, absl::Span<const Buffer> buffers, const RunOptions& options, int64_t programs);

  // What a pointer to byte 0 of a buffer is in this run.
  uint64_t BaseOf(int64_t buffer) const;

  void Switch(Frame& frame);  // this program runs now
  void Finish(Frame& frame);
  void TakeReports(RunResult* result);

  struct Target {
    std::byte* memory = nullptr;  // null: out of bounds
    int64_t buffer = -1;          // -1: a raw pointer
    int64_t offset = 0;           // bytes into the buffer
  };
  // Where an access goes; reports and gives null memory if it is out of bounds.
  Target Resolve(Frame& frame, const Inst& inst, uint64_t address, int bytes, int64_t lane, const char* verb);
  // Shadow of the bytes read: kShadowUninit if any was never written.
  uint8_t NoteRead(Frame& frame, const Inst& inst, const Target& target, int bytes, int64_t lane, bool atomic);
  // Before the write; `bits` is what will be written. `initialised` is false if the value is itself uninitialised.
  void NoteWrite(Frame& frame, const Inst& inst, const Target& target, int bytes, int64_t lane, bool atomic, uint64_t bits, bool initialised);
  void Acquire(Frame& frame, const Target& target);
  void Release(Frame& frame, const Target& target);

  // Adds a report, or counts it into an earlier one of the same kind at the same place.
  Report* Add(Frame& frame, const Inst& inst, ReportKind kind, int64_t buffer, int64_t offset, int64_t lane, const TypeInfo* type, Loc other = {});
  void CheckShadow(Frame& frame, const Inst& inst, uint8_t shadow, int64_t lane, const TypeInfo& type, const char* use);

 private:
  struct Epoch {
    uint32_t program = kNobody;
    uint32_t clock = 0;
    uint32_t place = 0;  // index into places_
    bool atomic = false;
  };
  static constexpr uint32_t kNobody = 0xffffffffu;
  struct Cell {
    Epoch write, read, other_read;
  };
  struct BufferState {
    Buffer buffer;
    uint64_t base = 0;
    std::vector<Cell> cells;      // of cell_bytes_ each; made on first access
    std::vector<uint8_t> own_written;
    std::vector<uint8_t>* written = nullptr;  // null: all initialised
  };
  using Clock = absl::flat_hash_map<uint32_t, uint32_t>;  // program -> its last event that happened before

  bool Ordered(const Epoch& epoch, const Frame& frame);
  void Conflict(Frame& frame, const Inst& inst, const Target& target, int64_t lane, const Epoch& other, bool same_value, bool write);
  uint32_t PlaceOf(const Inst& inst);
  Cell* CellsAt(const Target& target, int bytes, int64_t* count);

  const Plan& plan_;
  const RunOptions& options_;
  std::vector<BufferState> buffers_;
  const int cell_bytes_;
  std::vector<Loc> places_;
  absl::flat_hash_map<const Inst*, uint32_t> place_of_;
  std::vector<uint32_t> clock_;                       // own clock by program
  absl::flat_hash_map<uint32_t, Clock> known_;        // programs that acquired something
  absl::flat_hash_map<std::pair<int64_t, int64_t>, Clock> sync_;  // by (buffer, offset)
  std::vector<Report> reports_;
  std::map<std::tuple<int, const Inst*, int64_t, int64_t>, int64_t> report_of_;  // (kind, inst, buffer, other line) -> index; -1 dropped
  int64_t dropped_ = 0;
};

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_CHECK_H_
