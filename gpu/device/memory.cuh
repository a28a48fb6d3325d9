// Global memory: loads and stores of tiles, V registers to an access, and of scalars.
//
// Cache and eviction hints are those of PTX: Cache is "" 0, ".ca" 1, ".cg" 2, ".cs" 3, ".cv" 4 (loads); "" 0, ".wb" 1, ".cg" 2, ".cs" 3, ".wt" 4 (stores);
// Evict is none 0, evict_first 1, evict_last 2. A masked-off access touches no memory.
#pragma once
#include "device/elementwise.cuh"

namespace tv {

template <int Bytes> struct Word;
template <> struct Word<1> { using type = u8; };
template <> struct Word<2> { using type = u16; };
template <> struct Word<4> { using type = u32; };
template <> struct Word<8> { using type = u64; };
template <> struct Word<16> { struct alignas(16) type { u32 w[4]; }; };

#define TV_LD(Bytes, op, constraint, var)                                                                                         \
  if constexpr (Cache == 1) asm volatile("ld.global.ca." op " %0, [%1];" : constraint(var) : "l"(p) : "memory");                  \
  else if constexpr (Cache == 2) asm volatile("ld.global.cg." op " %0, [%1];" : constraint(var) : "l"(p) : "memory");             \
  else if constexpr (Cache == 3) asm volatile("ld.global.cs." op " %0, [%1];" : constraint(var) : "l"(p) : "memory");             \
  else if constexpr (Cache == 4) asm volatile("ld.volatile.global." op " %0, [%1];" : constraint(var) : "l"(p) : "memory");       \
  else if constexpr (Evict == 1) asm volatile("ld.global.L1::evict_first." op " %0, [%1];" : constraint(var) : "l"(p) : "memory"); \
  else if constexpr (Evict == 2) asm volatile("ld.global.L1::evict_last." op " %0, [%1];" : constraint(var) : "l"(p) : "memory");  \
  else asm volatile("ld.global." op " %0, [%1];" : constraint(var) : "l"(p) : "memory");

template <int Bytes, int Cache, int Evict>
TV_DEV typename Word<Bytes>::type load_word(const void* p) {
  if constexpr (Bytes == 1) { u32 x; TV_LD(1, "u8", "=r", x) return static_cast<u8>(x); }
  else if constexpr (Bytes == 2) { u16 x; TV_LD(2, "u16", "=h", x) return x; }
  else if constexpr (Bytes == 4) { u32 x; TV_LD(4, "u32", "=r", x) return x; }
  else if constexpr (Bytes == 8) { u64 x; TV_LD(8, "u64", "=l", x) return x; }
  else {
    typename Word<16>::type x;
#define TV_LD4(mods) asm volatile("ld" mods ".v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3]) : "l"(p) : "memory")
    if constexpr (Cache == 1) TV_LD4(".global.ca");
    else if constexpr (Cache == 2) TV_LD4(".global.cg");
    else if constexpr (Cache == 3) TV_LD4(".global.cs");
    else if constexpr (Cache == 4) TV_LD4(".volatile.global");
    else if constexpr (Evict == 1) TV_LD4(".global.L1::evict_first");
    else if constexpr (Evict == 2) TV_LD4(".global.L1::evict_last");
    else TV_LD4(".global");
#undef TV_LD4
    return x;
  }
}
#undef TV_LD

#define TV_ST(op, constraint, var)                                                                                        \
  if constexpr (Cache == 2) asm volatile("st.global.cg." op " [%0], %1;" ::"l"(p), constraint(var) : "memory");           \
  else if constexpr (Cache == 3) asm volatile("st.global.cs." op " [%0], %1;" ::"l"(p), constraint(var) : "memory");      \
  else if constexpr (Cache == 4) asm volatile("st.global.wt." op " [%0], %1;" ::"l"(p), constraint(var) : "memory");      \
  else asm volatile("st.global." op " [%0], %1;" ::"l"(p), constraint(var) : "memory");

template <int Bytes, int Cache, int Evict>
TV_DEV void store_word(void* p, typename Word<Bytes>::type x) {
  if constexpr (Bytes == 1) { u32 w = x; TV_ST("u8", "r", w) }
  else if constexpr (Bytes == 2) { TV_ST("u16", "h", x) }
  else if constexpr (Bytes == 4) { TV_ST("u32", "r", x) }
  else if constexpr (Bytes == 8) { TV_ST("u64", "l", x) }
  else {
#define TV_ST4(mods) asm volatile("st" mods ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(x.w[0]), "r"(x.w[1]), "r"(x.w[2]), "r"(x.w[3]) : "memory")
    if constexpr (Cache == 2) TV_ST4(".global.cg");
    else if constexpr (Cache == 3) TV_ST4(".global.cs");
    else if constexpr (Cache == 4) TV_ST4(".global.wt");
    else TV_ST4(".global");
#undef TV_ST4
  }
}
#undef TV_ST

// V elements of T at p, as the widest words.
template <int V, int Cache, int Evict, class T>
TV_DEV void load_vector(T* out, const T* p) {
  constexpr int bytes = V * static_cast<int>(sizeof(T)), word = bytes > 16 ? 16 : bytes;
#pragma unroll
  for (int i = 0; i < bytes / word; ++i) {
    const auto w = load_word<word, Cache, Evict>(reinterpret_cast<const char*>(p) + i * word);
    memcpy(reinterpret_cast<char*>(out) + i * word, &w, word);
  }
}
template <int V, int Cache, int Evict, class T>
TV_DEV void store_vector(T* p, const T* x) {
  constexpr int bytes = V * static_cast<int>(sizeof(T)), word = bytes > 16 ? 16 : bytes;
#pragma unroll
  for (int i = 0; i < bytes / word; ++i) {
    typename Word<word>::type w;
    memcpy(&w, reinterpret_cast<const char*>(x) + i * word, word);
    store_word<word, Cache, Evict>(reinterpret_cast<char*>(p) + i * word, w);
  }
}

// A bool in memory is one byte that is not 0.
template <class T> struct stored { using type = T; };
template <> struct stored<bool> { using type = u8; };

template <int V, int Cache = 0, int Evict = 0, class T, class L>
TV_DEV Tile<T, L> load(const Tile<T*, L>& p) {
  using S = typename stored<T>::type;
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; r += V) {
    S x[V];
    load_vector<V, Cache, Evict>(x, reinterpret_cast<const S*>(p.v[r]));
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if constexpr (same<T, bool>) out.v[r + i] = x[i] != 0;
      else out.v[r + i] = x[i];
    }
  }
  return out;
}
template <int V, int Cache = 0, int Evict = 0, class T, class L>
TV_DEV Tile<T, L> load(const Tile<T*, L>& p, const Tile<bool, L>& mask, const Tile<T, L>& other) {
  using S = typename stored<T>::type;
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; r += V) {
    S x[V];
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if constexpr (same<T, bool>) x[i] = other.v[r + i] ? 1 : 0;
      else x[i] = other.v[r + i];
    }
    if (mask.v[r]) load_vector<V, Cache, Evict>(x, reinterpret_cast<const S*>(p.v[r]));
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if constexpr (same<T, bool>) out.v[r + i] = x[i] != 0;
      else out.v[r + i] = x[i];
    }
  }
  return out;
}
template <class T> TV_DEV T zero_of() { T x{}; return x; }
template <class T, class L> TV_DEV Tile<T, L> zeros() { return splat<L>(zero_of<T>()); }
// The bits are given: a float constant is printed as its bits, so that NaN payloads and -0 survive.
template <class T> TV_DEV T constant(unsigned_t<T> bits) { return bit_cast<T>(bits); }

template <int Cache = 0, int Evict = 0, class T>
TV_DEV T load_scalar(const T* p, bool mask, T other) {
  using S = typename stored<T>::type;
  if (!mask) return other;
  S x;
  load_vector<1, Cache, Evict>(&x, reinterpret_cast<const S*>(p));
  if constexpr (same<T, bool>) return x != 0;
  else return x;
}

template <int V, int Cache = 0, int Evict = 0, class T, class L>
TV_DEV void store(const Tile<T*, L>& p, const Tile<T, L>& value) {
  using S = typename stored<T>::type;
#pragma unroll
  for (int r = 0; r < L::regs; r += V) store_vector<V, Cache, Evict>(reinterpret_cast<S*>(p.v[r]), reinterpret_cast<const S*>(&value.v[r]));
}
template <int V, int Cache = 0, int Evict = 0, class T, class L>
TV_DEV void store(const Tile<T*, L>& p, const Tile<T, L>& value, const Tile<bool, L>& mask) {
  using S = typename stored<T>::type;
#pragma unroll
  for (int r = 0; r < L::regs; r += V) {
    if (mask.v[r]) store_vector<V, Cache, Evict>(reinterpret_cast<S*>(p.v[r]), reinterpret_cast<const S*>(&value.v[r]));
  }
}
template <int Cache = 0, int Evict = 0, class T>
TV_DEV void store_scalar(T* p, T value, bool mask) {
  using S = typename stored<T>::type;
  if (mask && threadIdx.x == 0) store_vector<1, Cache, Evict>(reinterpret_cast<S*>(p), reinterpret_cast<const S*>(&value));
}

}  // namespace tv
