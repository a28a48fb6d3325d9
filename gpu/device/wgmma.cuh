// Products by warpgroups of sm_90: wgmma reads b, and a where it is not in registers, from buffers of swizzled rows. The instructions themselves are printed
// by the emitter, one asm statement for all steps along k (gpu/emit/wgmma.cc).
#pragma once
#include "device/dot.cuh"

namespace tv {

// Which group of four warps this is; the same value in all its threads, and known to be.
TV_DEV u32 warpgroup() { return __shfl_sync(0xffffffffu, threadIdx.x >> 7, 0); }

// Matrix descriptor (PTX ISA, "Matrix descriptor format"): address, distances in bytes, swizzle 1 of 128 bytes, 2 of 64.
TV_DEV u64 matrix_descriptor(u32 address, u32 leading, u32 stride, u32 swizzle) {
  return static_cast<u64>((address & 0x3ffff) >> 4) | static_cast<u64>(leading >> 4) << 16 | static_cast<u64>(stride >> 4) << 32 | static_cast<u64>(swizzle) << 62;
}

// What this thread has written (or copied) to shared memory is seen by wgmma after the next barrier.
TV_DEV void fence_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Until at most N committed groups of products are under way.
template <int N>
TV_DEV void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// Values that products under way have written are read only after this.
template <int Count>
TV_DEV void wgmma_results(f32* acc) {
#pragma unroll
  for (int i = 0; i < Count; i += 8) {
    asm volatile("" : "+f"(acc[i]), "+f"(acc[i + 1]), "+f"(acc[i + 2]), "+f"(acc[i + 3]), "+f"(acc[i + 4]), "+f"(acc[i + 5]), "+f"(acc[i + 6]), "+f"(acc[i + 7]) :: "memory");
  }
}

}  // namespace tv
