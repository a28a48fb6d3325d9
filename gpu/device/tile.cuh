// A tile as one thread holds it, and the values that come from nothing: ids, constants, arange, splat.
//
// A layout L is a struct that the emitter prints (docs/gpu.md): regs, reg[], lane[], warp[] (bases), thread() (index of this thread's register 0),
// disjoint (register bits and thread bits never meet), rank, shift[], mask[].
#pragma once
#include "device/types.cuh"

namespace tv {

template <class T, class L>
struct Tile {
  T v[L::regs];
};

TV_DEV u32 lane_id() { return threadIdx.x & 31; }
#if defined(TV_PACKED)  // each warp runs a program of its own, with TV_PACKED bytes of the shared memory
TV_DEV u32 thread_id() { return lane_id(); }
#elif defined(TV_MERGED)
TV_DEV u32 thread_id() { return threadIdx.x & 127; }
#else
TV_DEV u32 thread_id() { return threadIdx.x; }
#endif
TV_DEV u32 warp_id() { return thread_id() >> 5; }
TV_DEV bool any_of_warp(bool x) { return __any_sync(0xffffffffu, x); }

// xor of the bases over the set bits of r.
template <int N>
constexpr __device__ u32 xor_of(const u32 (&bases)[N], int count, u32 r) {
  u32 out = 0;
  for (int i = 0; i < count; ++i) {
    if (r >> i & 1) out ^= bases[i];
  }
  return out;
}

// Row-major index of register r of this thread, given the thread's part.
template <class L>
TV_DEV u32 index_of(u32 thread, u32 r) {
  return L::disjoint ? thread + xor_of(L::reg, L::reg_bits, r) : thread ^ xor_of(L::reg, L::reg_bits, r);
}
// Coordinate along an axis.
template <class L, int Axis>
TV_DEV u32 coordinate(u32 thread, u32 r) {
  if (L::disjoint) return (thread >> L::shift[Axis] & L::mask[Axis]) + (xor_of(L::reg, L::reg_bits, r) >> L::shift[Axis] & L::mask[Axis]);
  return (thread ^ xor_of(L::reg, L::reg_bits, r)) >> L::shift[Axis] & L::mask[Axis];
}

template <int Axis>
TV_DEV i32 program_id() {
#ifdef TV_PACKED
  if (Axis == 0) return static_cast<i32>(blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5));
#endif
  return static_cast<i32>(Axis == 0 ? blockIdx.x : Axis == 1 ? blockIdx.y : blockIdx.z);
}
template <int Axis>
TV_DEV i32 num_programs() {
  return static_cast<i32>(Axis == 0 ? gridDim.x : Axis == 1 ? gridDim.y : gridDim.z);
}

template <class L>
TV_DEV Tile<i32, L> arange(i32 start) {
  Tile<i32, L> out;
  const u32 thread = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = start + static_cast<i32>(index_of<L>(thread, r));
  return out;
}

template <class L, class T>
TV_DEV Tile<T, L> splat(T x) {
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = x;
  return out;
}

// The same registers under another layout: reshape, expand_dims, permute, and conversions that move nothing.
template <class L, class T, class From>
TV_DEV Tile<T, L> relabel(const Tile<T, From>& x) {
  static_assert(L::regs == From::regs, "relabel keeps the registers");
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = x.v[r];
  return out;
}

// Register r of the result is register C::source[r]: broadcasts, register conversions, split, cat.
template <class L, class C, class T, class From>
TV_DEV Tile<T, L> move_registers(const Tile<T, From>& x) {
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = x.v[C::source[r]];
  return out;
}

template <class L, class T, class From>
TV_DEV Tile<T, L> join(const Tile<T, From>& x, const Tile<T, From>& y) {
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < From::regs; ++r) {
    out.v[2 * r] = x.v[r];
    out.v[2 * r + 1] = y.v[r];
  }
  return out;
}

template <class L, class T, class From>
TV_DEV Tile<T, L> cat(const Tile<T, From>& x, const Tile<T, From>& y) {
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < From::regs; ++r) {
    out.v[r] = x.v[r];
    out.v[From::regs + r] = y.v[r];
  }
  return out;
}
// A tile of two elements.
template <class L, class T>
TV_DEV Tile<T, L> two(T x, T y) {
  Tile<T, L> out;
  const u32 thread = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = index_of<L>(thread, r) & 1 ? y : x;
  return out;
}

// Applies f to each register.
template <class R, class L, class F, class... T>
TV_DEV Tile<R, L> map(F f, const Tile<T, L>&... x) {
  Tile<R, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = f(x.v[r]...);
  return out;
}

}  // namespace tv
