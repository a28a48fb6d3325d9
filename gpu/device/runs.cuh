// Runs: loads and stores of neighbours in memory that are not known to be aligned, or whose mask ends inside of an access (specializer/analysis/runs.h).
//
// A thread holds V neighbours of `bytes` bytes (4, 8 or 16); N such vectors lie in one run. Memory is touched in *granules*, aligned pieces of `bytes` bytes:
// where the address is `shift` bytes behind a multiple of `bytes`, a vector lies in two of them,
//
//     granule      |  a0  a1  a2  a3 |  b0  b1  b2  b3 |          (words of 4 bytes; bytes = 16, shift = 6)
//     vector             ..x0..x1..x2..x3..                       x_i = the upper half of a_(i+1), the lower half of the word behind it
//
// A load reads both granules (the second is another thread's first and comes from L1) and shifts the words together. A granule is read only if the mask has
// one of its elements, so no page is touched that the access does not touch; up to 15 bytes beside masked-on elements are read and thrown away. A store gets the vector
// before its own from another thread, through shared memory, shifts the two together and writes the granules that are wholly masked on; the elements before the
// first and behind the last of these are written one by one, each by another thread of the run. No byte outside of the mask is written.
#pragma once
#include "device/memory.cuh"

namespace tv {

template <int Words> struct RunWords { static constexpr int value = Words; };

// How many of `first`, first + 1, ... (at most Length) are below `bound`; they do not wrap.
template <bool Inclusive, int Length, class T>
TV_DEV int run_below(T first, T bound) {
  if (Inclusive ? first > bound : first >= bound) return 0;
  const unsigned_t<T> count = static_cast<unsigned_t<T>>(bound) - static_cast<unsigned_t<T>>(first);
  return count < Length ? static_cast<int>(count) + (Inclusive ? 1 : 0) : Length;
}
TV_DEV int run_least(int x, int y) { return x < y ? x : y; }

// From the first element of a run to that of register r.
template <class L, int Axis, int Length>
TV_DEV int run_place(u32 thread, int r) { return static_cast<int>((L::at(thread, r) >> L::shift[Axis] & L::mask[Axis]) & (Length - 1)); }
// From register 0 to register r, along the axis.
template <class L, int Axis>
TV_DEV constexpr int run_offset(int r) { return static_cast<int>(xor_of(L::reg, L::reg_bits, r) >> L::shift[Axis] & L::mask[Axis]); }

// From register 0 of this thread to register r, in row-major order.
template <class L>
TV_DEV u32 run_distance(u32 thread, int r) { return L::disjoint ? xor_of(L::reg, L::reg_bits, r) : L::at(thread, r) - L::at(thread, 0); }

// out[i] = the four bytes that begin `shift` bytes, below 4, behind from[i + From].
template <int From, int Words, int ElemBytes>
TV_DEV void shift_words(u32* out, const u32* from, u32 shift) {
#pragma unroll
  for (int i = 0; i < Words; ++i) out[i] = ElemBytes == 4 ? from[i + From] : __funnelshift_r(from[i + From], from[i + From + 1], shift * 8);
}
// The words that begin `shift` bytes behind from[n][0], for each n; in place.
template <int Words, int ElemBytes, int N>
TV_DEV void shift_vectors(u32 (*from)[2 * Words], u32 shift) {
  auto by = [&](auto whole) {
#pragma unroll
    for (int n = 0; n < N; ++n) shift_words<decltype(whole)::value, Words, ElemBytes>(from[n], from[n], shift & 3);
  };
  if constexpr (Words == 4) {
    if (shift & 8) {
      if (shift & 4) by(RunWords<3>{}); else by(RunWords<2>{});
    } else {
      if (shift & 4) by(RunWords<1>{}); else by(RunWords<0>{});
    }
  } else if constexpr (Words == 2) {
    if (shift & 4) by(RunWords<1>{}); else by(RunWords<0>{});
  } else {
    by(RunWords<0>{});
  }
}

// Tells the L2 cache of the first `count` elements of a run. It reads whole granules of 16 bytes.
template <class T>
TV_DEV void prefetch_run(const T* p, int count) {
#if __CUDA_ARCH__ >= 900
  const u64 address = reinterpret_cast<u64>(p), from = address & ~u64{15};
  const u32 bytes = static_cast<u32>(address - from + static_cast<u64>(count) * sizeof(T) + 15) & ~15u;
  if (count > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

template <class T, class L, int Axis, int V, int N, bool Aligned>
struct RunLoad {
  static constexpr int bytes = V * static_cast<int>(sizeof(T)), words = bytes / 4, runs = L::regs / (V * N), held = Aligned ? words : 2 * words;
  u32 raw[L::regs / V][held];
  u32 shift[runs];
  int count[runs];  // elements that are on from the first of the thread's on

  // Starts the loads of the run that begins at register r, at `place` in it; its first `total` elements are on.
  template <int Cache, int Evict>
  TV_DEV void issue(int r, const T* p, int place, int total) {
    const u64 address = reinterpret_cast<u64>(p);
    const u32 beyond = Aligned ? 0 : static_cast<u32>(address) & (bytes - 1);
    const char* from = reinterpret_cast<const char*>(address - beyond);
    const int on = total - place;
    // Elements of the second granule are those from V - beyond / sizeof(T) on.
    const int second = beyond == 0 ? 0 : on + static_cast<int>(beyond / sizeof(T));
    shift[r / (V * N)] = beyond;
    count[r / (V * N)] = on;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int ahead = run_offset<L, Axis>(n * V);
      u32* to = raw[r / V + n];
      read<Cache, Evict>(to, from + ahead * sizeof(T), on > ahead);
      if constexpr (!Aligned) read<Cache, Evict>(to + words, from + ahead * sizeof(T) + bytes, second > ahead + V);
    }
  }

  // The elements that were loaded, and `other` for those that are off.
  template <class Other>
  TV_DEV void take(T* out, Other other) {
#pragma unroll
    for (int q = 0; q < runs; ++q) {
      if constexpr (!Aligned) shift_vectors<words, sizeof(T), N>(raw + q * N, shift[q]);
      turn_off<N - 1>(q, other);
#pragma unroll
      for (int n = 0; n < N; ++n) memcpy(out + (q * N + n) * V, raw[q * N + n], bytes);
    }
  }

 private:
  // Whether the vectors of a thread stand in the order of the run.
  static TV_DEV constexpr bool rising() {
    for (int n = 1; n < N; ++n) {
      if (run_offset<L, Axis>(n * V) < run_offset<L, Axis>((n - 1) * V)) return false;
    }
    return true;
  }
  // `other` for the elements that are off, from vector n down. Where a vector is whole, so are those before it.
  template <int n, class Other>
  TV_DEV void turn_off(int q, Other other) {
    const int on = count[q] - run_offset<L, Axis>(n * V);
    if (on >= V && rising()) return;
    if (on < V) {
      u32* from = raw[q * N + n];
      u32 off[words];
      others(off, other, (q * N + n) * V);
#pragma unroll
      for (int i = 0; i < words; ++i) {
        const int bits = 8 * (on * static_cast<int>(sizeof(T)) - 4 * i);  // of the word that are on
        const u32 mask = bits_from(bits);  // of those that are off
        from[i] = (from[i] & ~mask) | (off[i] & mask);
      }
    }
    if constexpr (n > 0) turn_off<n - 1>(q, other);
  }
  static TV_DEV void others(u32* out, const T* other, int r) { memcpy(out, other + r, bytes); }
  static TV_DEV void others(u32* out, T other, int) {
    T all[4 / sizeof(T)];
#pragma unroll
    for (int i = 0; i < static_cast<int>(4 / sizeof(T)); ++i) all[i] = other;
#pragma unroll
    for (int i = 0; i < words; ++i) memcpy(out + i, all, 4);
  }
  template <int Cache, int Evict>
  static TV_DEV void read(u32* to, const char* p, bool on) {
    typename Word<bytes>::type x;
    memcpy(&x, to, bytes);
    x = load_word<bytes, Cache, Evict>(p, on, x);
    memcpy(to, &x, bytes);
  }
};

// A tile's vectors in shared memory, in row-major order, behind a vector of nothing and before another.
template <int V, class L, class T>
TV_DEV void run_publish(u32 smem, u32 thread, const T* x) {
  using Vector = typename Word<V * static_cast<int>(sizeof(T))>::type;
  unsigned char* published = program_memory() + smem + sizeof(Vector) + L::at(thread, 0) * sizeof(T);
  barrier();
#pragma unroll
  for (int r = 0; r < L::regs; r += V) {
    Vector vector;
    memcpy(&vector, x + r, sizeof(Vector));
    *reinterpret_cast<Vector*>(published + run_distance<L>(thread, r) * sizeof(T)) = vector;
  }
  barrier();
}

// Stores the first `total` elements of the run that begins at register r, at `place` in it, from what run_publish wrote; along the last axis. Threads: how many
// have the run, V elements apart in their register r.
template <int Axis, int V, int N, int Threads, int Cache, int Evict, class L, class T>
TV_DEV void run_store(u32 smem, u32 thread, int r, T* p, int place, int total) {
  constexpr int bytes = V * static_cast<int>(sizeof(T)), words = bytes / 4;
  using Vector = typename Word<bytes>::type;
  const u64 address = reinterpret_cast<u64>(p);
  const u32 beyond = static_cast<u32>(address) & (bytes - 1);
  const int before = static_cast<int>(beyond / sizeof(T));  // elements of the granule that come from the vector before
  char* to = reinterpret_cast<char*>(address - beyond);
  const unsigned char* own = program_memory() + smem + bytes + L::at(thread, r) * static_cast<u32>(sizeof(T));
  // The granule lies in two vectors of the shared memory, as it would in memory.
  const unsigned char* from = own - (beyond == 0 ? 0 : bytes);
  u32 raw[N][2 * words];
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const unsigned char* granule = from + run_offset<L, Axis>(n * V) * static_cast<int>(sizeof(T));
    Vector vector = *reinterpret_cast<const Vector*>(granule);
    memcpy(raw[n], &vector, bytes);
    vector = *reinterpret_cast<const Vector*>(granule + bytes);
    memcpy(raw[n] + words, &vector, bytes);
  }
  shift_vectors<words, sizeof(T), N>(raw, (0 - beyond) & (bytes - 1));
  const int granule = place - before;  // place of its first element
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int ahead = run_offset<L, Axis>(n * V);
    Vector vector;
    memcpy(&vector, raw[n], bytes);
    store_word<bytes, Cache, Evict>(to + ahead * sizeof(T), vector, (ahead >= V || granule + ahead >= 0) && granule <= total - V - ahead);
  }
  // What lies before the first whole granule and behind the last: single elements, each by a thread of its own if there are as many.
  const int head = -before & (V - 1), tail = total - ((total + before) & (V - 1)), mine = place / V;
  const T* published = reinterpret_cast<const T*>(own) - place;
  T* first = p - place;
  auto single = [&](int e, bool on) {
    T x[1];
    if (on) x[0] = published[e];
    store_vector<1, Cache, Evict>(first + e, x, on);
  };
  if constexpr (Threads >= 2 * V) {
    const bool in_head = mine < V;
    const int e = in_head ? mine : mine < 2 * V ? mine - V + tail : total;
    single(e, (e < head) == in_head && e < total);
  } else {
#pragma unroll
    for (int i = 0; i < V; i += Threads) {
      const int e = mine + i, behind = tail + e;
      single(e, e < head && e < total);
      single(behind, e < V && behind >= head && behind < total);
    }
  }
}

// The same where runs are aligned, from registers.
template <int Axis, int V, int N, int Cache, int Evict, class L, class T>
TV_DEV void run_store_aligned(int r, T* p, const T* x, int place, int total) {
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int ahead = run_offset<L, Axis>(n * V), left = total - place - ahead;
    store_vector<V, Cache, Evict>(p + ahead, x + r + n * V, left >= V);
    if (left > 0 && left < V) {
#pragma unroll
      for (int i = 0; i < V; ++i) store_vector<1, Cache, Evict>(p + ahead + i, x + r + n * V + i, i < left);
    }
  }
}

}  // namespace tv
