// Prints and failed asserts: records in a buffer that the host reads after the launch (gpu/emit/records.h is the reader).
//
// The buffer begins with a head; records follow, each a multiple of 8 bytes long:
//   u32 format      which print or assert of the kernel
//   u32 bytes       of the whole record
//   u32 program[3]
//   u32 lane        assert: row-major index of the first lane that failed
//   payload         print: the elements of each operand in row-major order as they lie in memory, each operand padded to 8 bytes
// A program claims a record with one atomic; one that does not fit is counted and dropped. Without a buffer nothing is recorded.
#pragma once
#include "device/convert.cuh"

namespace tv {

struct Records {
  u64 next;       // bytes claimed behind the head
  u64 capacity;   // bytes behind the head
  u32 dropped;    // records that did not fit
  u32 failed;     // asserts that failed, dropped ones too
};

// Claims a record for the program; null if there is no room. All threads get it.
TV_DEV unsigned char* open_record(Records* records, u32 smem, u32 format, u32 bytes, u32 lane) {
  unsigned char** place = reinterpret_cast<unsigned char**>(program_memory() + smem);
  barrier();
  if (threadIdx.x == 0) {
    unsigned char* record = nullptr;
    if (records != nullptr) {
      const u64 at = atomicAdd(&records->next, static_cast<u64>(bytes));
      if (at + bytes <= records->capacity) {
        record = reinterpret_cast<unsigned char*>(records + 1) + at;
        const u32 head[6] = {format, bytes, blockIdx.x, blockIdx.y, blockIdx.z, lane};
        for (int i = 0; i < 6; ++i) reinterpret_cast<u32*>(record)[i] = head[i];
      } else {
        atomicAdd(&records->dropped, 1u);
      }
    }
    *place = record;
  }
  barrier();
  return *place;
}
template <class T>
TV_DEV void record_scalar(unsigned char* record, u32 offset, T x) {
  if (record != nullptr && threadIdx.x == 0) *reinterpret_cast<T*>(record + offset) = x;
}
template <class T, class L>
TV_DEV void record_tile(unsigned char* record, u32 offset, const Tile<T, L>& x) {
  if (record == nullptr) return;
  const u32 thread = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) reinterpret_cast<T*>(record + offset)[index_of<L>(thread, r)] = x.v[r];
}

// Whether a lane failed: then the first one is recorded, and the program has to end.
TV_DEV bool record_failure(Records* records, u32 smem, u32 format, u32 lane) {
  if (!__syncthreads_or(lane != 0xffffffffu)) return false;
  u32* first = reinterpret_cast<u32*>(program_memory() + smem);
  if (threadIdx.x == 0) *first = 0xffffffffu;
  barrier();
  atomicMin(first, lane);
  barrier();
  lane = *first;
  open_record(records, smem, format, 24, lane);
  if (records != nullptr && threadIdx.x == 0) atomicAdd(&records->failed, 1u);
  return true;
}
template <class L, class M>
TV_DEV u32 failed_lane(const Tile<bool, L>& cond, const M& mask) {
  u32 lane = 0xffffffffu;
  const u32 thread = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) {
    const u32 index = index_of<L>(thread, r);
    if (!cond.v[r] && mask.v[r] && index < lane) lane = index;
  }
  return lane;
}

}  // namespace tv
