// Asynchronous copies from global to shared memory (cp.async), in groups: what runs ahead of a loop (specializer/pipeline/schedule.h).
#pragma once
#include "device/convert.cuh"
#include "device/memory.cuh"

namespace tv {

// The shared window's own address of offset 0 of the dynamic shared memory.
TV_DEV u32 shared_address() { return static_cast<u32>(__cvta_generic_to_shared(shared_memory)); }

// Bytes (4, 8 or 16) from p to shared memory; zeros where the mask is false, and p is not touched.
template <int Bytes>
TV_DEV void copy_async(u32 to, const void* p, bool mask = true) {
  const u32 read = mask ? Bytes : 0;
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(p), "r"(read) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(p), "n"(Bytes), "r"(read) : "memory");
  }
}
// The same where nothing is known of p's alignment: by itself, not ahead, if p is not aligned to so many bytes.
template <int Bytes, class T>
TV_DEV void copy_guessed(u32 to, const T* p, bool mask = true) {
  if (!mask || reinterpret_cast<u64>(p) % Bytes == 0) {
    copy_async<Bytes>(to, p, mask);
    return;
  }
#pragma unroll 1
  for (int i = 0; i < Bytes / static_cast<int>(sizeof(T)); ++i) {
    T x;
    load<1, 0, 0>(&x, p + i);
    write_shared<1>(to + i * static_cast<u32>(sizeof(T)), &x);
  }
}
// Elements that follow each other, one by one: those whose bit is set, zeros for the others.
template <int V, class T>
TV_DEV void copy_elements(u32 to, const T* p, u32 mask) {
#pragma unroll 1
  for (int i = 0; i < V; ++i) {
    T x;
    load<1, 0, 0>(&x, p + i, (mask >> i & 1) != 0);
    write_shared<1>(to + i * static_cast<u32>(sizeof(T)), &x);
  }
}
TV_DEV void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most N groups of this thread are under way.
template <int N>
TV_DEV void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

}  // namespace tv
