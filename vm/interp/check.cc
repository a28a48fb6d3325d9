#include "vm/interp/check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tilevm::vm {
namespace {

// Fake addresses: bit 62, the buffer's number from bit 44, and the middle of its window, so that offsets may be negative too.
constexpr uint64_t kFakeBit = uint64_t{1} << 62;
constexpr int kWindowBits = 44;
constexpr uint64_t kMiddle = uint64_t{1} << (kWindowBits - 1);
constexpr uint64_t kAlignMask = 4095;  // alignment of the memory shows in the fake address

std::string ProgramText(const int64_t* program) { return absl::StrCat("(", program[0], ", ", program[1], ", ", program[2], ")"); }

}  // namespace

absl::string_view Name(ReportKind kind) {
  switch (kind) {
    case ReportKind::kOutOfBounds: return "out of bounds";
    case ReportKind::kRace: return "race";
    case ReportKind::kSameValueRace: return "same-value race";
    case ReportKind::kUninitialised: return "uninitialised";
    case ReportKind::kOffsetWrapped: return "offset wrapped";
    case ReportKind::kDuplicateStore: return "duplicate store";
    case ReportKind::kGatherOutOfRange: return "gather out of range";
    case ReportKind::kMisaligned: return "misaligned";
    case ReportKind::kAssert: return "assert";
  }
  return "";
}

bool RunResult::clean() const {
  return reports_dropped == 0 && std::all_of(reports.begin(), reports.end(), [](const Report& report) { return report.note; });
}

Checker::Checker(const Plan& plan, absl::Span<const Buffer> buffers, const RunOptions& options, int64_t programs)
    : options_(options), cell_bytes_(plan.min_access_bytes), buffers_(buffers.size()), clock_(programs, 1) {
  for (const Inst& inst : plan.code) {
    synchronises_ |= inst.source != nullptr && isa::Info(inst.op).effect == isa::Effect::kReadsWrites;
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    BufferState& state = buffers_[i];
    state.buffer = buffers[i];
    state.base = kFakeBit | (static_cast<uint64_t>(i) << kWindowBits) | kMiddle |
                 (reinterpret_cast<uintptr_t>(buffers[i].data) & kAlignMask);
    const int64_t cells = (buffers[i].bytes + kAlignMask) / cell_bytes_ + 1;
    state.pages.resize(cells / kPageCells + 1);
    if (!buffers[i].uninitialised) continue;
    state.written = buffers[i].written != nullptr ? buffers[i].written : &state.own_written;
    state.written->resize(buffers[i].bytes);
  }
}

void Checker::Finish(Frame& frame) { known_.erase(static_cast<uint32_t>(frame.program_index)); }

void Checker::TakeReports(RunResult* result) {
  result->reports = std::move(reports_);
  result->reports_dropped = dropped_;
}

std::string Checker::Element(const Target& target) const {
  const BufferState& state = buffers_[target.buffer];
  const int64_t size = isa::StorageBytes(state.buffer.dtype);
  const int64_t element = target.offset >= 0 ? target.offset / size : -((-target.offset + size - 1) / size);
  return absl::StrCat("element ", element, " of ", state.buffer.name, ", which has ", state.buffer.bytes / size, " elements");
}

Checker::Target Checker::Resolve(const Access& access, int64_t lane, uint64_t address) {
  Target target;
  if ((address >> 62) == 1) {
    const uint64_t index = (address & (kFakeBit - 1)) >> kWindowBits;
    if (index < buffers_.size()) {
      target.buffer = static_cast<int64_t>(index);
      target.offset = static_cast<int64_t>(address - buffers_[index].base);
    }
  } else {  // an address that came from memory or from the host
    for (size_t i = 0; i < buffers_.size() && target.buffer < 0; ++i) {
      const int64_t offset = static_cast<int64_t>(address - reinterpret_cast<uintptr_t>(buffers_[i].buffer.data));
      if (offset < 0 || offset >= buffers_[i].buffer.bytes) continue;
      target.buffer = static_cast<int64_t>(i);
      target.offset = offset;
    }
  }
  const auto prefix = [&] { return absl::StrCat(isa::Mnemonic(access.inst.op), ": lane ", lane, " "); };
  if (address % access.bytes != 0) {
    Add(access.frame, access.inst, ReportKind::kMisaligned, lane, access.type, target,
        [&] { return absl::StrCat(prefix(), access.verb, " ", access.bytes, " bytes at an address that is not a multiple of ", access.bytes); });
  }
  if (target.buffer >= 0) {
    const Buffer& buffer = buffers_[target.buffer].buffer;
    if (target.offset >= 0 && target.offset <= buffer.bytes - access.bytes) {
      target.memory = static_cast<std::byte*>(buffer.data) + target.offset;
      return target;
    }
    Add(access.frame, access.inst, ReportKind::kOutOfBounds, lane, access.type, target,
        [&] { return absl::StrCat(prefix(), access.verb, " ", Element(target)); });
    return target;
  }
  if (raw_pointers_ && address != 0 && (address >> 48) == 0) {
    target.offset = static_cast<int64_t>(address);
    target.memory = reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));
    return target;
  }
  Add(access.frame, access.inst, ReportKind::kOutOfBounds, lane, access.type, target,
      [&] { return absl::StrCat(prefix(), access.verb, " an address in no buffer"); });
  return target;
}

Checker::Cell& Checker::CellAt(const Access& access, BufferState& state, int64_t index) {
  std::unique_ptr<Cell[]>& page = state.pages[index / kPageCells];
  if (page == nullptr) {
    page_bytes_ += kPageCells * static_cast<int64_t>(sizeof(Cell));
    if (page_bytes_ > options_.max_memory_bytes) {
      access.frame.Fail(ErrorAt(access.inst.loc, absl::StatusCode::kResourceExhausted, "checked mode needs more than ", options_.max_memory_bytes,
                                " bytes to remember who touched which element"));
      nowhere_ = Cell();
      return nowhere_;
    }
    page = std::make_unique<Cell[]>(kPageCells);
  }
  return page[index % kPageCells];
}

bool Checker::Ordered(const Epoch& epoch, const Frame& frame) const {
  if (epoch.program == kNobody || epoch.program == static_cast<uint32_t>(frame.program_index)) return true;
  const auto known = known_.find(static_cast<uint32_t>(frame.program_index));
  if (known == known_.end()) return false;
  const auto entry = known->second.clock.find(epoch.program);
  return entry != known->second.clock.end() && entry->second >= epoch.clock;
}

Checker::Epoch Checker::Now(const Access& access) {
  if (&access.inst != last_inst_) {
    const auto [place, fresh] = place_of_.try_emplace(&access.inst, static_cast<uint32_t>(places_.size()));
    if (fresh) places_.push_back(access.inst.loc);
    last_inst_ = &access.inst;
    last_place_ = place->second;
  }
  Epoch epoch;
  epoch.program = static_cast<uint32_t>(access.frame.program_index);
  epoch.clock = clock_[access.frame.program_index];
  epoch.place = last_place_;
  epoch.atomic = access.atomic ? 1 : 0;
  return epoch;
}

void Checker::Conflict(const Access& access, int64_t lane, const Target& target, const Epoch& other, bool other_wrote, bool same_value) {
  Report side;
  const int64_t* grid = options_.grid;
  side.other_program[0] = other.program % grid[0];
  side.other_program[1] = other.program / grid[0] % grid[1];
  side.other_program[2] = other.program / grid[0] / grid[1];
  side.other_loc = places_[other.place];
  Add(
      access.frame, access.inst, same_value ? ReportKind::kSameValueRace : ReportKind::kRace, lane, access.type, target,
      [&] {
        return absl::StrCat(isa::Mnemonic(access.inst.op), ": lane ", lane, " ", access.verb, " ", Element(target), "; program ",
                            ProgramText(side.other_program), other_wrote ? " writes" : " reads", " it too, in no fixed order",
                            same_value ? " (the same value)" : "");
      },
      &side);
}

bool Checker::NoteRead(const Access& access, int64_t lane, const Target& target) {
  if (target.buffer < 0) return false;
  BufferState& state = buffers_[target.buffer];
  const Epoch now = Now(access);
  const int64_t last = (target.offset + access.bytes - 1) / cell_bytes_;
  bool reported = false;
  for (int64_t c = target.offset / cell_bytes_; c <= last; ++c) {
    Cell& cell = CellAt(access, state, c);
    const bool both_atomic = access.atomic && cell.write.atomic;
    if (!reported && !both_atomic && !Ordered(cell.write, access.frame)) {
      Conflict(access, lane, target, cell.write, true, false);
      reported = true;
    }
    NoteReader(access, cell, CellKey(target.buffer, c), now);
  }
  if (state.written == nullptr) return false;
  const auto first = state.written->begin() + target.offset;
  if (std::find(first, first + access.bytes, 0) == first + access.bytes) return false;
  if (!std::exchange(access.met_unwritten, true)) {
    unwritten_ = target;
    unwritten_loc_ = access.inst.loc;
  }
  return true;
}

// A slot is free for a reader of its own program, and for one that comes after the reader it holds: a write that is ordered after the new reader
// is ordered after the old one too. A plain read never gives way to an atomic one, which fewer writes conflict with.
void Checker::NoteReader(const Access& access, Cell& cell, uint64_t key, const Epoch& now) {
  const auto takes = [&](Epoch& slot) {
    if (slot.program != kNobody) {
      if (slot.program != now.program && !(synchronises_ && Ordered(slot, access.frame))) return false;
      if (now.atomic && !slot.atomic) return false;
    }
    const uint32_t more = slot.more;
    slot = now;
    slot.more = more;
    return true;
  };
  if (takes(cell.read) || takes(cell.other_read)) return;
  constexpr int64_t kMostReaders = int64_t{1} << 24;
  if (!synchronises_ || more_readers_count_ >= kMostReaders) {
    const uint32_t more = cell.other_read.more;
    cell.other_read = now;
    cell.other_read.more = more;
    return;
  }
  cell.other_read.more = 1;
  Readers& readers = more_readers_[key];
  std::vector<Epoch>& epochs = readers.epochs;
  if (!epochs.empty() && epochs.back().program == now.program && (epochs.back().atomic || !now.atomic)) {
    epochs.back() = now;
    return;
  }
  if (epochs.size() >= readers.prune_at) {
    const auto kept = std::remove_if(epochs.begin(), epochs.end(), [&](const Epoch& epoch) { return Ordered(epoch, access.frame); });
    more_readers_count_ -= epochs.end() - kept;
    epochs.erase(kept, epochs.end());
    readers.prune_at = std::max<size_t>(8, 2 * epochs.size());
  }
  epochs.push_back(now);
  ++more_readers_count_;
}

void Checker::NoteWrite(const Access& access, int64_t lane, const Target& target, uint64_t bits) {
  if (target.buffer < 0) return;
  BufferState& state = buffers_[target.buffer];
  const Epoch now = Now(access);
  const int64_t last = (target.offset + access.bytes - 1) / cell_bytes_;
  bool reported = false;
  for (int64_t c = target.offset / cell_bytes_; c <= last; ++c) {
    Cell& cell = CellAt(access, state, c);
    for (const Epoch* other : {&cell.write, &cell.read, &cell.other_read}) {
      if (reported || (access.atomic && other->atomic) || Ordered(*other, access.frame)) continue;
      const bool wrote = other == &cell.write;
      const bool same_value = wrote && std::memcmp(target.memory, &bits, access.bytes) == 0;
      Conflict(access, lane, target, *other, wrote, same_value);
      reported = true;
    }
    if (cell.other_read.more != 0) {
      const auto found = more_readers_.find(CellKey(target.buffer, c));
      for (const Epoch& other : found->second.epochs) {
        if (reported || (access.atomic && other.atomic) || Ordered(other, access.frame)) continue;
        Conflict(access, lane, target, other, false, false);
        reported = true;
      }
      more_readers_count_ -= static_cast<int64_t>(found->second.epochs.size());
      more_readers_.erase(found);
    }
    cell.write = now;
    cell.read = cell.other_read = Epoch();
  }
  if (state.written != nullptr) std::fill_n(state.written->begin() + target.offset, access.bytes, uint8_t{1});
}

Checker::Place Checker::PlaceOf(const Target& target) { return {target.buffer, target.offset}; }

void Checker::Acquire(const Frame& frame, const Target& target) {
  const auto published = sync_.find(PlaceOf(target));
  if (published == sync_.end()) return;
  Known& known = known_[static_cast<uint32_t>(frame.program_index)];
  if (known.last_place == published->first && known.last_version == published->second.version) return;
  known.last_place = published->first;
  known.last_version = published->second.version;
  for (const auto& [program, clock] : published->second.clock) {
    uint32_t& mine = known.clock[program];
    mine = std::max(mine, clock);
  }
}

void Checker::Release(const Frame& frame, const Target& target) {
  const uint32_t self = static_cast<uint32_t>(frame.program_index);
  Published& published = sync_[PlaceOf(target)];
  ++published.version;
  if (const auto known = known_.find(self); known != known_.end()) {
    for (const auto& [program, clock] : known->second.clock) {
      uint32_t& theirs = published.clock[program];
      theirs = std::max(theirs, clock);
    }
  }
  published.clock[self] = clock_[self]++;
}

void Checker::Use(Frame& frame, const Inst& inst, uint8_t shadow, int64_t lane, const TypeInfo& type, absl::string_view use) {
  if ((shadow & kShadowUninit) != 0) {
    Report origin;
    origin.other_loc = unwritten_loc_;
    Add(
        frame, inst, ReportKind::kUninitialised, lane, type, unwritten_,
        [&] {
          return absl::StrCat(isa::Mnemonic(inst.op), ": lane ", lane, ": ", use, " comes from memory that was never written",
                              unwritten_.buffer >= 0 ? absl::StrCat(" (", Element(unwritten_), ")") : "");
        },
        &origin);
  }
  if ((shadow & kShadowWrapped) != 0 && use == "the address") {
    Add(frame, inst, ReportKind::kOffsetWrapped, lane, type, Target{},
        [&] { return absl::StrCat(isa::Mnemonic(inst.op), ": lane ", lane, ": a 32-bit computation wrapped before it reached the address"); });
  }
}

}  // namespace tilevm::vm
