// What control flow needs: the trip count of a loop, fixed on entry; and how a kernel begins beside the end of the one before it.
#pragma once
#include "device/types.cuh"

namespace tv {

// Iterations of range(lo, hi, step), step of either sign; a step of 0 runs none.
template <class T>
TV_DEV u64 trip_count(T lo, T hi, T step) {
  if (step > 0) return lo < hi ? (static_cast<u64>(hi) - static_cast<u64>(lo) - 1) / static_cast<u64>(step) + 1 : 0;
  if constexpr (is_signed<T>) {
    if (step < 0) return lo > hi ? (static_cast<u64>(lo) - static_cast<u64>(hi) - 1) / (0 - static_cast<u64>(step)) + 1 : 0;
  }
  return 0;
}

// A kernel launched with leave to begin early (gpu/launch/arguments.h) may be set up while the one before it in its stream still runs, and waits here until
// that one is done and what it wrote can be seen; nothing before this call touches global memory. The kernel after this one may begin in the same way, as soon
// as every block of this one has begun, or else when they have ended.
template <bool NextBesideThis>
TV_DEV void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  if (NextBesideThis) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace tv
