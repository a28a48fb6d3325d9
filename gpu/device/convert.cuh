// Moving a tile between layouts (the tables C and W are printed from specializer/layout: Conversion and SharedLayout), and shared memory itself.
#pragma once
#include "device/tile.cuh"

namespace tv {

extern __shared__ __align__(1024) unsigned char shared_memory[];
#ifdef TV_PACKED
TV_DEV unsigned char* program_memory() { return shared_memory + (threadIdx.x >> 5) * TV_PACKED; }
#else
TV_DEV unsigned char* program_memory() { return shared_memory; }
#endif
TV_DEV u32 program_address(u32 offset) { return static_cast<u32>(__cvta_generic_to_shared(program_memory())) + offset; }

#ifdef TV_PACKED
TV_DEV void barrier() { __syncwarp(); }
#elif defined(TV_MERGED)  // each warpgroup runs a program of its own
TV_DEV void barrier() { asm volatile("bar.sync %0, 128;" ::"r"(2 + (threadIdx.x >> 7)) : "memory"); }
#elif defined(TV_CONSUMERS)  // threads that run the program; others of the CTA copy for them
TV_DEV void barrier() { asm volatile("bar.sync 1, %0;" ::"n"(TV_CONSUMERS) : "memory"); }
#else
TV_DEV void barrier() { __syncthreads(); }
#endif

// What another lane holds, 4 bytes at a time: f moves one word.
template <class T, class F>
TV_DEV T move_words(T x, F f) {
  if constexpr (sizeof(T) >= 4) {
    u32 words[sizeof(T) / 4];
    memcpy(words, &x, sizeof(T));
#pragma unroll
    for (u32& word : words) word = f(word);
    memcpy(&x, words, sizeof(T));
    return x;
  } else {
    unsigned_of_size<sizeof(T)> bits;
    memcpy(&bits, &x, sizeof(T));
    bits = static_cast<unsigned_of_size<sizeof(T)>>(f(static_cast<u32>(bits)));
    memcpy(&x, &bits, sizeof(T));
    return x;
  }
}
template <class T> TV_DEV T shuffle(T x, u32 lane) { return move_words(x, [=](u32 word) { return __shfl_sync(0xffffffffu, word, lane); }); }
// Of the lane whose number differs in these bits.
template <class T> TV_DEV T shuffle_xor(T x, u32 bits) { return move_words(x, [=](u32 word) { return __shfl_xor_sync(0xffffffffu, word, bits); }); }

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

// V elements, neighbours in registers and in memory. W: byte offset of a register's element in the buffer, at(thread(), register).
template <class W, int V, class T, class L>
TV_DEV void to_shared(u32 smem, const Tile<T, L>& x) {
  struct alignas(sizeof(T) * V) Pack { T v[V]; };
  const u32 thread = W::thread();
#pragma unroll
  for (int r = 0; r < L::regs; r += V) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < V; ++i) pack.v[i] = x.v[r + i];
    *reinterpret_cast<Pack*>(program_memory() + smem + W::at(thread, r)) = pack;
  }
}
template <class W, int V, class L, class T>
TV_DEV Tile<T, L> from_shared(u32 smem) {
  struct alignas(sizeof(T) * V) Pack { T v[V]; };
  const u32 thread = W::thread();
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; r += V) {
    const Pack pack = *reinterpret_cast<const Pack*>(program_memory() + smem + W::at(thread, r));
#pragma unroll
    for (int i = 0; i < V; ++i) out.v[r + i] = pack.v[i];
  }
  return out;
}
// V elements at an address of the shared window.
template <int V, class T>
TV_DEV void read_shared(T* out, u32 address) {
  struct alignas(sizeof(T) * V) Pack { T v[V]; };
  const Pack pack = *static_cast<const Pack*>(__cvta_shared_to_generic(address));
#pragma unroll
  for (int i = 0; i < V; ++i) out[i] = pack.v[i];
}
template <int V, class T>
TV_DEV void write_shared(u32 address, const T* x) {
  struct alignas(sizeof(T) * V) Pack { T v[V]; };
  Pack pack;
#pragma unroll
  for (int i = 0; i < V; ++i) pack.v[i] = x[i];
  *static_cast<Pack*>(__cvta_shared_to_generic(address)) = pack;
}
template <class L, class Write, int WriteVector, class Read, int ReadVector, class T, class From>
TV_DEV Tile<T, L> convert_shared(u32 smem, const Tile<T, From>& x) {
  barrier();
  to_shared<Write, WriteVector>(smem, x);
  barrier();
  return from_shared<Read, ReadVector, L, T>(smem);
}

}  // namespace tv
