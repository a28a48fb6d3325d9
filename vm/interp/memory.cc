// load and store.
//
// An affine pointer with a box mask is a set of rows: dimensions that continue each other are merged, so a contiguous block is one copy. A dense
// mask on an affine pointer is walked by rows too. Dense pointers (gathers) go lane by lane.
#include <algorithm>

#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

// The part of a tile to copy: extents, byte steps in memory, element steps in the tile.
struct Region {
  int rank = 0;
  int64_t extent[isa::kMaxRank];
  int64_t memory_step[isa::kMaxRank];
  int64_t tile_step[isa::kMaxRank];
  uint64_t address = 0;
  int64_t tile_offset = 0;
  bool empty = false;
};

// The lanes of `box` (null: all lanes) of an affine pointer, with dimensions merged where both sides continue.
Region MakeRegion(const Register& pointer, const TypeInfo& type, const Register* box) {
  Region region;
  region.address = static_cast<uint64_t>(pointer.base);
  for (int d = 0; d < type.rank; ++d) {
    const int64_t lo = box == nullptr ? 0 : box->box.lo[d];
    const int64_t hi = box == nullptr ? type.shape[d] : box->box.hi[d];
    if (lo >= hi) {
      region.empty = true;
      return region;
    }
    region.address += static_cast<uint64_t>(lo) * static_cast<uint64_t>(pointer.coef[d]);
    region.tile_offset += lo * type.stride[d];
    const int64_t extent = hi - lo;
    if (extent == 1) continue;
    if (region.rank > 0) {
      const int last = region.rank - 1;
      if (region.memory_step[last] == pointer.coef[d] * extent && region.tile_step[last] == type.stride[d] * extent) {
        region.extent[last] *= extent;
        region.memory_step[last] = pointer.coef[d];
        region.tile_step[last] = type.stride[d];
        continue;
      }
    }
    region.extent[region.rank] = extent;
    region.memory_step[region.rank] = pointer.coef[d];
    region.tile_step[region.rank] = type.stride[d];
    ++region.rank;
  }
  if (region.rank == 0) {
    region.rank = 1;
    region.extent[0] = 1;
    region.memory_step[0] = region.tile_step[0] = 0;
  }
  return region;
}

// Calls row(address, tile offset) for every row of the region; the innermost dimension is the caller's.
template <typename Row>
void ForEachRow(const Region& region, const Row& row) {
  const int inner = region.rank - 1;
  int64_t index[isa::kMaxRank] = {};
  uint64_t address = region.address;
  int64_t offset = region.tile_offset;
  while (true) {
    row(address, offset);
    int d = inner - 1;
    for (; d >= 0; --d) {
      address += static_cast<uint64_t>(region.memory_step[d]);
      offset += region.tile_step[d];
      if (++index[d] < region.extent[d]) break;
      address -= static_cast<uint64_t>(region.memory_step[d]) * static_cast<uint64_t>(region.extent[d]);
      offset -= region.tile_step[d] * region.extent[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

std::byte* At(uint64_t address) { return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address)); }

template <typename T>
void LoadStrided(std::byte* out, uint64_t address, int64_t memory_step, int64_t tile_step, int64_t n) {
  T* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) std::memcpy(&to[i * tile_step], At(address + static_cast<uint64_t>(i * memory_step)), sizeof(T));
}

template <typename T>
void StoreStrided(const std::byte* in, uint64_t address, int64_t memory_step, int64_t tile_step, int64_t n) {
  const T* from = reinterpret_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) std::memcpy(At(address + static_cast<uint64_t>(i * memory_step)), &from[i * tile_step], sizeof(T));
}

void LoadRegion(std::byte* tile, const Region& region, int elem_bytes) {
  if (region.empty) return;
  const int inner = region.rank - 1;
  const int64_t n = region.extent[inner], step = region.memory_step[inner], tile_step = region.tile_step[inner];
  const bool contiguous = n == 1 || (step == elem_bytes && tile_step == 1);
  ForEachRow(region, [&](uint64_t address, int64_t offset) {
    std::byte* out = tile + offset * elem_bytes;
    if (contiguous) {
      std::memcpy(out, At(address), n * elem_bytes);
    } else if (step == 0 && tile_step == 1) {
      FillElements(out, ReadBits(At(address), elem_bytes, 0), elem_bytes, n);
    } else {
      switch (elem_bytes) {
        case 1: LoadStrided<uint8_t>(out, address, step, tile_step, n); break;
        case 2: LoadStrided<uint16_t>(out, address, step, tile_step, n); break;
        case 4: LoadStrided<uint32_t>(out, address, step, tile_step, n); break;
        default: LoadStrided<uint64_t>(out, address, step, tile_step, n); break;
      }
    }
  });
}

void StoreRegion(const std::byte* tile, const Region& region, int elem_bytes) {
  if (region.empty) return;
  const int inner = region.rank - 1;
  const int64_t n = region.extent[inner], step = region.memory_step[inner], tile_step = region.tile_step[inner];
  const bool contiguous = n == 1 || (step == elem_bytes && tile_step == 1);
  ForEachRow(region, [&](uint64_t address, int64_t offset) {
    const std::byte* in = tile + offset * elem_bytes;
    if (contiguous) {
      std::memcpy(At(address), in, n * elem_bytes);
    } else {
      switch (elem_bytes) {
        case 1: StoreStrided<uint8_t>(in, address, step, tile_step, n); break;
        case 2: StoreStrided<uint16_t>(in, address, step, tile_step, n); break;
        case 4: StoreStrided<uint32_t>(in, address, step, tile_step, n); break;
        default: StoreStrided<uint64_t>(in, address, step, tile_step, n); break;
      }
    }
  });
}

// Lane by lane: pointers and mask dense (mask may be null). Gives the first lane outside all buffers, or -1.
template <typename T>
int64_t LoadLanes(std::byte* out, const std::byte* pointers, const std::byte* mask, int64_t n, Guard guard) {
  T* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    if (mask != nullptr && mask[i] == std::byte{0}) continue;
    const uint64_t address = ReadBits(pointers, 8, i);
    if (!guard.Allows(address, sizeof(T))) return i;
    std::memcpy(&to[i], At(address), sizeof(T));
  }
  return -1;
}

template <typename T>
int64_t StoreLanes(const std::byte* in, const std::byte* pointers, const std::byte* mask, int64_t n, Guard guard) {
  const T* from = reinterpret_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) {
    if (mask != nullptr && mask[i] == std::byte{0}) continue;
    const uint64_t address = ReadBits(pointers, 8, i);
    if (!guard.Allows(address, sizeof(T))) return i;
    std::memcpy(At(address), &from[i], sizeof(T));
  }
  return -1;
}

// The ends of a region are lanes of it: if both lie in one buffer, all do.
bool RegionAllowed(Frame& frame, const Inst& inst, const Region& region, int elem_bytes) {
  if (region.empty || !frame.run->guarded) return true;
  uint64_t low = region.address, high = region.address;
  for (int d = 0; d < region.rank; ++d) {
    const uint64_t span = static_cast<uint64_t>(region.memory_step[d]) * static_cast<uint64_t>(region.extent[d] - 1);
    (region.memory_step[d] < 0 ? low : high) += span;
  }
  Guard guard(*frame.run);
  if (high - low + elem_bytes >= static_cast<uint64_t>(elem_bytes) && guard.Allows(low, high - low + elem_bytes)) return true;
  const bool first_is_inside = guard.Allows(region.address, elem_bytes);
  int64_t lane = region.tile_offset;
  for (int d = 0; first_is_inside && d < region.rank; ++d) lane += (region.extent[d] - 1) * region.tile_step[d];
  frame.Fail(OutsideError(inst, lane));
  return false;
}

// Runs of set lanes in a dense mask over an affine pointer.
template <typename Run>
void ForEachRun(const Register& pointer, const TypeInfo& type, const std::byte* mask, const Run& run) {
  Region all = MakeRegion(pointer, type, nullptr);
  const int inner = all.rank - 1;
  const int64_t n = all.extent[inner];
  ForEachRow(all, [&](uint64_t address, int64_t offset) {
    for (int64_t i = 0; i < n;) {
      const std::byte* lane = mask + offset;
      if (lane[i * all.tile_step[inner]] == std::byte{0}) {
        ++i;
        continue;
      }
      int64_t end = i + 1;
      while (end < n && lane[end * all.tile_step[inner]] != std::byte{0}) ++end;
      Region part;
      part.rank = 1;
      part.extent[0] = end - i;
      part.memory_step[0] = all.memory_step[inner];
      part.tile_step[0] = all.tile_step[inner];
      part.address = address + static_cast<uint64_t>(i * all.memory_step[inner]);
      part.tile_offset = offset + i * all.tile_step[inner];
      run(part);
      i = end;
    }
  });
}

// What the lanes that are masked off hold.
void FillOther(Frame& frame, const Inst& inst, Register& out, const TypeInfo& type) {
  if (inst.in.size() > 2 && inst.in[2].present()) {
    Register& other = frame.reg(inst.in[2]);
    uint64_t bits;
    if (IsUniform(other, type, &bits)) {
      FillElements(out.data, bits, type.elem_bytes, type.n);
    } else {
      EnsureDense(other, type);
      std::memcpy(out.data, other.data, type.bytes());
    }
  } else {
    FillElements(out.data, static_cast<uint64_t>(frame.run->options->poison_masked ? inst.imm[0] : 0), type.elem_bytes, type.n);
  }
}

void RunLoad(Frame& frame, const Inst& inst) {
  if (frame.check != nullptr) [[unlikely]] {
    CheckedLoad(frame, inst);
    return;
  }
  const TypeInfo& type = *inst.out[0].type;
  const TypeInfo& pointer_type = *inst.in[0].type;
  Register& pointer = frame.reg(inst.in[0]);
  Register& out = frame.reg(inst.out[0]);
  out.form = Form::kDense;
  out.shadowed = false;
  Register* mask = inst.in.size() > 1 && inst.in[1].present() ? &frame.reg(inst.in[1]) : nullptr;
  if (mask != nullptr) {
    const TypeInfo& mask_type = *inst.in[1].type;
    uint64_t whole = 0;
    if (IsUniform(*mask, mask_type, &whole) && (whole & 1) != 0) {
      mask = nullptr;
    } else {
      FillOther(frame, inst, out, type);
      if (mask->form == Form::kDense && mask_type.n == 1 && (whole & 1) == 0) return;
    }
  }
  if (pointer.form == Form::kAffine) {
    if (mask == nullptr || mask->form == Form::kBox) {
      const Region region = MakeRegion(pointer, pointer_type, mask);
      if (RegionAllowed(frame, inst, region, type.elem_bytes)) LoadRegion(out.data, region, type.elem_bytes);
    } else {
      ForEachRun(pointer, pointer_type, mask->data, [&](const Region& part) {
        if (RegionAllowed(frame, inst, part, type.elem_bytes)) LoadRegion(out.data, part, type.elem_bytes);
      });
    }
    return;
  }
  if (mask != nullptr) EnsureDense(*mask, *inst.in[1].type);
  const std::byte* lanes = mask == nullptr ? nullptr : mask->data;
  const Guard guard(*frame.run);
  int64_t outside;
  switch (type.elem_bytes) {
    case 1: outside = LoadLanes<uint8_t>(out.data, pointer.data, lanes, type.n, guard); break;
    case 2: outside = LoadLanes<uint16_t>(out.data, pointer.data, lanes, type.n, guard); break;
    case 4: outside = LoadLanes<uint32_t>(out.data, pointer.data, lanes, type.n, guard); break;
    default: outside = LoadLanes<uint64_t>(out.data, pointer.data, lanes, type.n, guard); break;
  }
  if (outside >= 0) frame.Fail(OutsideError(inst, outside));
}

// A byte of memory is true if it is not 0 (PyTorch and NumPy write 1, others need not); in registers i1 is 0 or 1.
void RunLoadPredicates(Frame& frame, const Inst& inst) {
  RunLoad(frame, inst);
  const TypeInfo& type = *inst.out[0].type;
  std::byte* lanes = frame.reg(inst.out[0]).data;
  for (int64_t i = 0; i < type.n; ++i) lanes[i] = lanes[i] != std::byte{0} ? std::byte{1} : std::byte{0};
}

void RunStore(Frame& frame, const Inst& inst) {
  if (frame.check != nullptr) [[unlikely]] {
    CheckedStore(frame, inst);
    return;
  }
  const TypeInfo& pointer_type = *inst.in[0].type;
  const TypeInfo& type = *inst.in[1].type;
  Register& pointer = frame.reg(inst.in[0]);
  Register& value = frame.reg(inst.in[1]);
  EnsureDense(value, type);
  NoteWrite(frame);
  Register* mask = inst.in.size() > 2 && inst.in[2].present() ? &frame.reg(inst.in[2]) : nullptr;
  uint64_t whole;
  if (mask != nullptr && IsUniform(*mask, *inst.in[2].type, &whole)) {
    if ((whole & 1) == 0) return;
    mask = nullptr;
  }
  if (pointer.form == Form::kAffine) {
    if (mask == nullptr || mask->form == Form::kBox) {
      const Region region = MakeRegion(pointer, pointer_type, mask);
      if (RegionAllowed(frame, inst, region, type.elem_bytes)) StoreRegion(value.data, region, type.elem_bytes);
    } else {
      ForEachRun(pointer, pointer_type, mask->data, [&](const Region& part) {
        if (RegionAllowed(frame, inst, part, type.elem_bytes)) StoreRegion(value.data, part, type.elem_bytes);
      });
    }
    return;
  }
  if (mask != nullptr) EnsureDense(*mask, *inst.in[2].type);
  const std::byte* lanes = mask == nullptr ? nullptr : mask->data;
  const Guard guard(*frame.run);
  int64_t outside;
  switch (type.elem_bytes) {
    case 1: outside = StoreLanes<uint8_t>(value.data, pointer.data, lanes, type.n, guard); break;
    case 2: outside = StoreLanes<uint16_t>(value.data, pointer.data, lanes, type.n, guard); break;
    case 4: outside = StoreLanes<uint32_t>(value.data, pointer.data, lanes, type.n, guard); break;
    default: outside = StoreLanes<uint64_t>(value.data, pointer.data, lanes, type.n, guard); break;
  }
  if (outside >= 0) frame.Fail(OutsideError(inst, outside));
}

// NaN where the type has one, else 0xAA bytes.
uint64_t PoisonBits(const TypeInfo& type) {
  if (isa::IsFloat(type.dtype)) return isa::ScalarFromDouble(type.dtype, __builtin_nan("")).bits;
  if (type.dtype == isa::DType::kI1) return 0;
  return 0xaaaaaaaaaaaaaaaaull >> (64 - 8 * type.elem_bytes);
}

}  // namespace

bool Guard::Find(uint64_t address, uint64_t bytes) {
  auto range = std::upper_bound(run_.ranges.begin(), run_.ranges.end(), std::make_pair(address, ~uint64_t{0}));
  if (range == run_.ranges.begin()) return false;
  --range;
  if (range->second - range->first < bytes || address - range->first > range->second - range->first - bytes) return false;
  begin_ = range->first;
  end_ = range->second;
  return true;
}

absl::Status OutsideError(const Inst& inst, int64_t lane) {
  return InvalidAt(inst.loc, isa::Mnemonic(inst.op), ": lane ", lane, " is outside every buffer of the launch; checked mode tells which element");
}

absl::Status BindMemory(const ir::Op& op, Plan& plan, Inst& inst) {
  const bool load = op.op == isa::Op::kLoad;
  const TypeInfo& value = load ? *inst.out[0].type : *inst.in[1].type;
  plan.min_access_bytes = std::min(plan.min_access_bytes, value.elem_bytes);
  inst.imm[0] = static_cast<int64_t>(PoisonBits(value));
  const bool predicates = value.dtype == isa::DType::kI1 && value.elem_bytes == 1;  // an element may also be a pointer to i1
  inst.fn = !load ? RunStore : predicates ? RunLoadPredicates : RunLoad;
  return absl::OkStatus();
}

}  // namespace tilevm::vm
