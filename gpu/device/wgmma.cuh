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
template <int Count, class T>
TV_DEV void wgmma_results(T* acc) {
#pragma unroll
  for (int i = 0; i < Count; i += 4) {
    if constexpr (same<T, f32>) asm volatile("" : "+f"(acc[i]), "+f"(acc[i + 1]), "+f"(acc[i + 2]), "+f"(acc[i + 3]) :: "memory");
    else asm volatile("" : "+r"(acc[i]), "+r"(acc[i + 1]), "+r"(acc[i + 2]), "+r"(acc[i + 3]) :: "memory");
  }
}
// Sums of a loop that was not gone through. Behind a branch, which the compiler would make a select for each register (some 300 cycles for a tile of 128 x 256).
template <int Count, class T>
TV_DEV void no_products(T* acc) {
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    if constexpr (same<T, f32>) asm volatile("mov.b32 %0, 0;" : "=f"(acc[i]));
    else asm volatile("mov.b32 %0, 0;" : "=r"(acc[i]));
  }
}
// Fragments that products under way read are overwritten only after this.
template <int Count>
TV_DEV void wgmma_read(const u32* words) {
#pragma unroll
  for (int i = 0; i < Count; i += 4) asm volatile("" ::"r"(words[i]), "r"(words[i + 1]), "r"(words[i + 2]), "r"(words[i + 3]) : "memory");
}
// Warpgroups take turns at starting products, so that one multiplies while another computes: each waits at its own barrier for the one before it in the ring.
constexpr int kTurnBarriers = 8;
template <int Groups>
TV_DEV void turn_pass() {
  const u32 group = threadIdx.x >> 7;
  asm volatile("bar.arrive %0, 256;" ::"r"(kTurnBarriers + (group + 1 == Groups ? 0 : group + 1)) : "memory");
}
template <int Groups>
TV_DEV void turn_take() { asm volatile("bar.sync %0, 256;" ::"r"(kTurnBarriers + (threadIdx.x >> 7)) : "memory"); }
// The first turn is the first group's.
template <int Groups>
TV_DEV void turn_begin() {
  if (threadIdx.x >> 7 == Groups - 1) turn_pass<Groups>();
}
// The words of fragments from f32: pairs of neighbours.
template <class T>
TV_DEV void pack_pairs(u32* out, const f32* x, int words) {
#pragma unroll
  for (int i = 0; i < words; ++i) {
    if constexpr (same<T, f16>) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
    else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
  }
}
// A sum in parts, one in each lane whose number differs in the bits of Lanes: at first one of them has it all; at last all have the sum of the parts.
template <u32 Lanes, class L>
TV_DEV void keep_in_lanes(Tile<f32, L>& x) {
#pragma unroll
  for (int r = 0; r < L::regs; ++r) x.v[r] = (lane_id() & Lanes) != 0 ? 0.0f : x.v[r];
}
template <u32 Lanes, class L>
TV_DEV void add_lanes(Tile<f32, L>& x) {
#pragma unroll
  for (int bit = 0; bit < 5; ++bit) {
    if (Lanes >> bit & 1) {
#pragma unroll
      for (int r = 0; r < L::regs; ++r) x.v[r] += __shfl_xor_sync(0xffffffffu, x.v[r], 1u << bit);
    }
  }
}
// Keeps what comes after behind the computation of x. The assembler moves a wait for products in front of arithmetic that it does not depend on, but over no branch;
// this one is for a NaN that no instruction makes.
TV_DEV void hold(f32 x) {
  if (bits_of(x) == 0x7fc0dead) asm volatile("nanosleep.u32 1;");
}
TV_DEV bool is_i32(i64 x) { return x == static_cast<i32>(x); }
// acc (+)= part
template <int Count, bool First>
TV_DEV void add_results(f32* acc, const f32* part) {
#pragma unroll
  for (int i = 0; i < Count; ++i) acc[i] = First ? part[i] : acc[i] + part[i];
}

// Elements of 1 or 4 bytes from rows along n to rows along k, blocks of 4 columns and 16 bytes of rows in registers. Read, Write: tables of layouts whose lowest
// register bits are the columns, or the rows (pipeline::TurnedLayoutsOf).
template <class Read, class Write, int Regs, int Bytes>
TV_DEV void turn_rows(u32 from, u32 to) {
  constexpr int block = 64 / Bytes;
  const u32 read_thread = Read::thread(), write_thread = Write::thread();
#pragma unroll
  for (int r = 0; r < Regs; r += block) {
    u32 x[16], y[16];
    if constexpr (Bytes == 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) read_shared<4>(x + 4 * i, from + Read::at(read_thread, r + 4 * i));
#pragma unroll
      for (int i = 0; i < 16; ++i) y[i] = x[i % 4 * 4 + i / 4];
    } else {
#pragma unroll
      for (int i = 0; i < 16; ++i) read_shared<1>(x + i, from + Read::at(read_thread, r + 4 * i));
      // Word 4 * column + i of y holds that column of words 4 * i .. 4 * i + 3 of x.
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        u32 turned[4];
        turn_bytes(turned, x + 4 * i);
#pragma unroll
        for (int k = 0; k < 4; ++k) y[4 * k + i] = turned[k];
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) write_shared<4>(to + Write::at(write_thread, r + i * (block / 4)), y + 4 * i);
  }
}

}  // namespace tv
