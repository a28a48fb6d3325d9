// What control flow needs: the trip count of a loop, fixed on entry.
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

}  // namespace tv
