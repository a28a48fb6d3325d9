// Ops that move elements by value or by a formula of the index, through shared memory in row-major order: sort, topk, gather, histogram, flip.
#pragma once
#include "device/convert.cuh"
#include "device/elementwise.cuh"

namespace tv {

template <class T, class L>
TV_DEV void to_rows(T* rows, const Tile<T, L>& x) {
  const u32 thread = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) rows[index_of<L>(thread, r)] = x.v[r];
}
// Element i of the result is rows[at(i)].
template <class L, class T, class F>
TV_DEV Tile<T, L> from_rows(const T* rows, F at) {
  Tile<T, L> out;
  const u32 thread = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = rows[at(index_of<L>(thread, r))];
  return out;
}

// --- flip: the index with the bits of the axis inverted; Reg, Lane and Warp are the place of that mask in the layout, Mask its bits ---
template <u32 Reg, u32 Lane, u32 Warp, u32 Mask, class T, class L>
TV_DEV Tile<T, L> flip(u32 smem, const Tile<T, L>& x) {
  if constexpr (Warp == 0) {
    Tile<T, L> out;
#pragma unroll
    for (int r = 0; r < L::regs; ++r) out.v[r] = Lane != 0 ? shuffle_xor(x.v[r ^ Reg], Lane) : x.v[r ^ Reg];
    return out;
  } else {
    T* rows = reinterpret_cast<T*>(program_memory() + smem);
    barrier();
    to_rows(rows, x);
    barrier();
    return from_rows<L>(rows, [](u32 i) { return i ^ Mask; });
  }
}

// --- gather: out[o, l, i] = src[o, index[o, l, i], i], 0 where the index is out of range. Inner: bits of i; Length: bits of l; Extent: of the source ---
template <int Inner, int Length, int Extent, class T, class I, class S, class L>
TV_DEV Tile<T, L> gather(u32 smem, const Tile<T, S>& src, const Tile<I, L>& index) {
  T* rows = reinterpret_cast<T*>(program_memory() + smem);
  barrier();
  to_rows(rows, src);
  barrier();
  Tile<T, L> out;
  const u32 thread = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) {
    const u32 at = index_of<L>(thread, r), outer = at >> (Inner + Length), inner = at & ((1u << Inner) - 1);
    const u64 l = static_cast<u64>(static_cast<i64>(index.v[r]));
    out.v[r] = T{};
    if (l < Extent) out.v[r] = rows[((outer * Extent + static_cast<u32>(l)) << Inner) + inner];
  }
  return out;
}

// --- histogram: counts in shared memory; values outside 0..Bins-1 are dropped; of a replicated tile one copy counts ---
template <class L, int Bins, u32 Lanes, u32 Warps, class I, class X, class M>
TV_DEV Tile<i32, L> histogram(u32 smem, const Tile<I, X>& x, const M& mask) {
  i32* bins = reinterpret_cast<i32*>(program_memory() + smem);
  barrier();
  for (u32 i = threadIdx.x; i < Bins; i += blockDim.x) bins[i] = 0;
  barrier();
  if ((lane_id() & Lanes) == 0 && (warp_id() & Warps) == 0) {
#pragma unroll
    for (int r = 0; r < X::regs; ++r) {
      const u64 bin = static_cast<u64>(static_cast<i64>(x.v[r]));
      if (bin < Bins && mask.v[r]) atomicAdd(bins + bin, 1);
    }
  }
  barrier();
  return from_rows<L>(bins, [](u32 i) { return i; });
}

// --- sort ---
// Elements as unsigned numbers in the order wanted: by value, -0 before +0, NaN after everything, in either direction. A bijection of the bits.
template <class T> struct nan_count { static constexpr u64 value = 0; };  // patterns of negative NaN
template <> struct nan_count<f8e4m3> { static constexpr u64 value = 1; };
template <> struct nan_count<f8e5m2> { static constexpr u64 value = 3; };
template <> struct nan_count<f16> { static constexpr u64 value = 0x3ff; };
template <> struct nan_count<bf16> { static constexpr u64 value = 0x7f; };
template <> struct nan_count<f32> { static constexpr u64 value = 0x7fffff; };
template <> struct nan_count<f64> { static constexpr u64 value = 0xfffffffffffffull; };
// The arithmetic is that of whole words and never wraps in a narrow one: with bytes that wrapped, a sort of f8e5m2 was wrong on sm_90a (why was not found out).
template <class T> using order_word = pick<sizeof(T) == 8, u64, u32>;
template <class T> constexpr order_word<T> order_sign = order_word<T>{1} << (sizeof(T) * 8 - 1);
template <class T> constexpr order_word<T> order_mask = order_sign<T> - 1 + order_sign<T>;
template <bool Descending, class T>
TV_DEV unsigned_of_size<sizeof(T)> order_key(T x) {
  using W = order_word<T>;
  constexpr W sign = order_sign<T>, mask = order_mask<T>, turn = static_cast<W>(nan_count<T>::value);
  W bits = bit_cast<unsigned_of_size<sizeof(T)>>(x);
  if constexpr (is_float<T>) bits = bits & sign ? mask - bits : bits | sign;
  else if constexpr (is_signed<T>) bits ^= sign;
  if constexpr (Descending) bits = mask - bits;
  // The NaNs of the front go to the back: as many patterns as there are below -inf (above +inf, when descending).
  return static_cast<unsigned_of_size<sizeof(T)>>(bits < turn ? bits + (mask - turn) + 1 : bits - turn);
}
template <bool Descending, class T>
TV_DEV T from_order_key(unsigned_of_size<sizeof(T)> key) {
  using W = order_word<T>;
  constexpr W sign = order_sign<T>, mask = order_mask<T>, turn = static_cast<W>(nan_count<T>::value);
  W bits = key;
  bits = bits > mask - turn ? bits - (mask - turn) - 1 : bits + turn;
  if constexpr (Descending) bits = mask - bits;
  if constexpr (is_float<T>) bits = bits & sign ? bits & (sign - 1) : mask - bits;
  else if constexpr (is_signed<T>) bits ^= sign;
  return bit_cast<T>(static_cast<unsigned_of_size<sizeof(T)>>(bits));
}

// Sorts rows of 1 << RowBits keys, Count in all: the bitonic network, one compare-exchange per thread and turn.
template <int RowBits, u32 Count, class U>
TV_DEV void sort_rows(U* keys) {
#pragma unroll 1
  for (int size = 1; size <= RowBits; ++size) {
#pragma unroll 1
    for (int distance = size - 1; distance >= 0; --distance) {
      barrier();
      for (u32 pair = threadIdx.x; pair < Count / 2; pair += blockDim.x) {
        const u32 low = pair & ((1u << distance) - 1), i = ((pair ^ low) << 1) | low, j = i | 1u << distance;
        const U a = keys[i], b = keys[j];
        const bool down = size < RowBits && (i >> size & 1) != 0;
        if ((b < a) != down && a != b) {
          keys[i] = b;
          keys[j] = a;
        }
      }
    }
  }
  barrier();
}
// The first 1 << KeptBits of each sorted row, in layout L.
template <class L, int RowBits, int KeptBits, u32 Count, bool Descending, class T, class X>
TV_DEV Tile<T, L> sort(u32 smem, const Tile<T, X>& x) {
  using U = unsigned_of_size<sizeof(T)>;
  U* keys = reinterpret_cast<U*>(program_memory() + smem);
  barrier();
  const u32 from = X::thread();
#pragma unroll
  for (int r = 0; r < X::regs; ++r) keys[index_of<X>(from, r)] = order_key<Descending>(x.v[r]);
  sort_rows<RowBits, Count>(keys);
  Tile<T, L> out;
  const u32 to = L::thread();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) {
    const u32 i = index_of<L>(to, r);
    out.v[r] = from_order_key<Descending, T>(keys[(i >> KeptBits << RowBits) | (i & ((1u << KeptBits) - 1))]);
  }
  return out;
}

}  // namespace tv
