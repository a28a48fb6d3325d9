// What control flow needs: the trip count of a loop, fixed on entry; and how a kernel begins beside the end of the one before it.
#pragma once
#include "device/types.cuh"

namespace tv {

// Iterations of range(lo, hi, step), step of either sign; a step of 0 runs none. As many bits count as the range's ends have, 32 at least.
template <class T>
TV_DEV auto trip_count(T lo, T hi, T step) {
  using Count = pick<sizeof(T) == 8, u64, u32>;
  if (step > 0) return lo < hi ? (static_cast<Count>(hi) - static_cast<Count>(lo) - 1) / static_cast<Count>(step) + 1 : Count{0};
  if constexpr (is_signed<T>) {
    if (step < 0) return lo > hi ? (static_cast<Count>(lo) - static_cast<Count>(hi) - 1) / (0 - static_cast<Count>(step)) + 1 : Count{0};
  }
  return Count{0};
}

// A kernel launched with leave to begin early (gpu/launch/arguments.h) may be set up while the one before it in its stream still runs, and waits here until
// that one is done and what it wrote can be seen; nothing before this call touches global memory of others, but for prefetch_run and prefetch_line, which compute nothing from it.
// Threads that wait at different places each wait themselves.
TV_DEV void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// The line is in the L2 cache when it is read soon. Any address will do: what cannot be read is passed over (H200; null and addresses of nothing were tried).
TV_DEV void prefetch_line(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p) : "memory"); }
// The kernel after this one may begin in the same way, as soon as every block of this one has come here, or else when they have ended.
TV_DEV void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace tv
