// Moving a tile between layouts (the tables C are printed from specializer/layout: Conversion and SharedLayout), and shared memory itself.
#pragma once
#include "device/tile.cuh"

namespace tv {

extern __shared__ __align__(1024) unsigned char shared_memory[];

TV_DEV void barrier() { __syncthreads(); }

template <class T>
TV_DEV T shuffle(T x, u32 lane) {
  if constexpr (sizeof(T) == 8) {
    const u64 bits = bit_cast<u64>(x);
    const u32 low = __shfl_sync(0xffffffffu, static_cast<u32>(bits), lane), high = __shfl_sync(0xffffffffu, static_cast<u32>(bits >> 32), lane);
    return bit_cast<T>(static_cast<u64>(high) << 32 | low);
  } else if constexpr (sizeof(T) == 4) {
    return bit_cast<T>(__shfl_sync(0xffffffffu, bit_cast<u32>(x), lane));
  } else {
    unsigned_of_size<sizeof(T)> bits;
    memcpy(&bits, &x, sizeof(T));
    bits = static_cast<unsigned_of_size<sizeof(T)>>(__shfl_sync(0xffffffffu, static_cast<u32>(bits), lane));
    T out;
    memcpy(&out, &bits, sizeof(T));
    return out;
  }
}

// C: source[], lane_from_reg[], lane_from_lane[5], reg_from_lane[5], choices (how many source registers a receiver may want), choice[].
template <class L, class C, class T, class From>
TV_DEV Tile<T, L> convert_shuffle(const Tile<T, From>& x) {
  Tile<T, L> out;
  u32 lane_part = 0, reg_part = 0;
  const u32 lane = lane_id();
#pragma unroll
  for (int i = 0; i < 5; ++i) {
    if (lane >> i & 1) {
      lane_part ^= C::lane_from_lane[i];
      reg_part ^= C::reg_from_lane[i];
    }
  }
#pragma unroll
  for (int r = 0; r < L::regs; ++r) {
#pragma unroll
    for (int c = 0; c < C::choices; ++c) {
      const T got = shuffle(x.v[C::source[r] ^ C::choice[c]], lane_part ^ C::lane_from_reg[r]);
      if (c == 0 || reg_part == C::choice[c]) out.v[r] = got;
    }
  }
  return out;
}

// Offset of an element in shared memory: xor of S::offset over the bits of its index. S: vector, bits, offset[].
template <class S>
constexpr __device__ u32 shared_offset(u32 index) {
  u32 out = 0;
  for (int i = 0; i < S::bits; ++i) {
    if (index >> i & 1) out ^= S::offset[i];
  }
  return out;
}
// The part of a thread is computed once; registers add a constant by xor.
template <class L, class S>
TV_DEV u32 shared_offset_of(u32 thread_offset, int r) {
  return thread_offset ^ shared_offset<S>(xor_of(L::reg, L::reg_bits, static_cast<u32>(r)));
}

template <class S, class T, class L>
TV_DEV void to_shared(u32 smem, const Tile<T, L>& x) {
  T* base = reinterpret_cast<T*>(shared_memory + smem);
  const u32 thread = shared_offset<S>(L::thread());
#pragma unroll
  for (int r = 0; r < L::regs; r += S::vector) {
    struct alignas(sizeof(T) * S::vector) Pack { T v[S::vector]; } pack;
#pragma unroll
    for (int i = 0; i < S::vector; ++i) pack.v[i] = x.v[r + i];
    *reinterpret_cast<Pack*>(base + shared_offset_of<L, S>(thread, r)) = pack;
  }
}
template <class S, class L, class T>
TV_DEV Tile<T, L> from_shared(u32 smem) {
  const T* base = reinterpret_cast<const T*>(shared_memory + smem);
  const u32 thread = shared_offset<S>(L::thread());
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; r += S::vector) {
    struct alignas(sizeof(T) * S::vector) Pack { T v[S::vector]; };
    const Pack pack = *reinterpret_cast<const Pack*>(base + shared_offset_of<L, S>(thread, r));
#pragma unroll
    for (int i = 0; i < S::vector; ++i) out.v[r + i] = pack.v[i];
  }
  return out;
}
template <class L, class S, class T, class From>
TV_DEV Tile<T, L> convert_shared(u32 smem, const Tile<T, From>& x) {
  barrier();
  to_shared<S>(smem, x);
  barrier();
  return from_shared<S, L, T>(smem);
}

}  // namespace tv
