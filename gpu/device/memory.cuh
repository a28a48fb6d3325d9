// Global memory: one access of V registers of a tile (the emitter prints the loop over them), and scalars.
//
// Cache and eviction hints are those of PTX: Cache is "" 0, ".ca" 1, ".cg" 2, ".cs" 3, ".cv" 4 (loads); "" 0, ".wb" 1, ".cg" 2, ".cs" 3, ".wt" 4 (stores);
// Evict is none 0, evict_first 1, evict_last 2. A masked-off access touches no memory.
#pragma once
#include "device/convert.cuh"
#include "device/elementwise.cuh"

namespace tv {

template <int Bytes> struct Word;
template <> struct Word<1> { using type = u8; };
template <> struct Word<2> { using type = u16; };
template <> struct Word<4> { using type = u32; };
template <> struct Word<8> { using type = u64; };
template <> struct Word<16> { struct alignas(16) type { u32 w[4]; }; };

// Words under a predicate: no branch, so that many accesses are in flight at once. A word not loaded keeps its value.
#define TV_MODS(mods, op, rest) "{.reg .pred p; setp.ne.b32 p, %" rest ", 0; @p " mods op
#define TV_LD(mods, op, constraint) asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p ld" mods "." op " %0, [%1];}" : "+" constraint(x) : "l"(p), "r"(on) : "memory")
#define TV_LD4(mods, op, constraint)                                                                                                  \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %5, 0; @p ld" mods ".v4.u32 {%0, %1, %2, %3}, [%4];}"                                   \
               : "+r"(x.w[0]), "+r"(x.w[1]), "+r"(x.w[2]), "+r"(x.w[3]) : "l"(p), "r"(on) : "memory")
#define TV_LOAD(LD, op, constraint)                                        \
  if constexpr (Cache == 1) LD(".global.ca", op, constraint);              \
  else if constexpr (Cache == 2) LD(".global.cg", op, constraint);         \
  else if constexpr (Cache == 3) LD(".global.cs", op, constraint);         \
  else if constexpr (Cache == 4) LD(".volatile.global", op, constraint);   \
  else if constexpr (Evict == 1) LD(".global.L1::evict_first", op, constraint); \
  else if constexpr (Evict == 2) LD(".global.L1::evict_last", op, constraint);  \
  else LD(".global", op, constraint);

template <int Bytes, int Cache, int Evict>
TV_DEV typename Word<Bytes>::type load_word(const void* p, int on, typename Word<Bytes>::type otherwise) {
  if constexpr (Bytes == 1) { u32 x = otherwise; TV_LOAD(TV_LD, "u8", "r") return static_cast<u8>(x); }
  else if constexpr (Bytes == 2) { u16 x = otherwise; TV_LOAD(TV_LD, "u16", "h") return x; }
  else if constexpr (Bytes == 4) { u32 x = otherwise; TV_LOAD(TV_LD, "u32", "r") return x; }
  else if constexpr (Bytes == 8) { u64 x = otherwise; TV_LOAD(TV_LD, "u64", "l") return x; }
  else { typename Word<16>::type x = otherwise; TV_LOAD(TV_LD4, "", "") return x; }
}
#undef TV_LD
#undef TV_LD4
#undef TV_LOAD
#undef TV_MODS

#define TV_ST(mods, op, constraint) asm volatile("{.reg .pred p; setp.ne.b32 p, %2, 0; @p st" mods "." op " [%0], %1;}" ::"l"(p), constraint(x), "r"(on) : "memory")
#define TV_ST4(mods, op, constraint)                                                                          \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %5, 0; @p st" mods ".v4.u32 [%0], {%1, %2, %3, %4};}" ::"l"(p), \
               "r"(x.w[0]), "r"(x.w[1]), "r"(x.w[2]), "r"(x.w[3]), "r"(on) : "memory")
#define TV_STORE(ST, op, constraint)                                \
  if constexpr (Cache == 2) ST(".global.cg", op, constraint);       \
  else if constexpr (Cache == 3) ST(".global.cs", op, constraint);  \
  else if constexpr (Cache == 4) ST(".global.wt", op, constraint);  \
  else ST(".global", op, constraint);

template <int Bytes, int Cache, int Evict>
TV_DEV void store_word(void* p, typename Word<Bytes>::type word, int on) {
  if constexpr (Bytes == 1) { const u32 x = word; TV_STORE(TV_ST, "u8", "r") }
  else if constexpr (Bytes == 2) { const u16 x = word; TV_STORE(TV_ST, "u16", "h") }
  else if constexpr (Bytes == 4) { const u32 x = word; TV_STORE(TV_ST, "u32", "r") }
  else if constexpr (Bytes == 8) { const u64 x = word; TV_STORE(TV_ST, "u64", "l") }
  else { const auto& x = word; TV_STORE(TV_ST4, "", "") }
}
#undef TV_ST
#undef TV_ST4
#undef TV_STORE

// The bits of a word from `bit` on: all for 0 and less, none for 32 and more.
TV_DEV u32 bits_from(int bit) {
  u32 bits;  // shl gives 0 for 32 and more
  asm("shl.b32 %0, 0xffffffff, %1;" : "=r"(bits) : "r"(bit > 0 ? bit : 0));
  return bits;
}

// V elements of T at p, as the widest words; what is not loaded keeps its value.
template <int V, int Cache, int Evict, class T>
TV_DEV void load_vector(T* out, const T* p, bool on = true) {
  constexpr int bytes = V * static_cast<int>(sizeof(T)), word = bytes > 16 ? 16 : bytes;
#pragma unroll
  for (int i = 0; i < bytes / word; ++i) {
    typename Word<word>::type w;
    memcpy(&w, reinterpret_cast<char*>(out) + i * word, word);
    w = load_word<word, Cache, Evict>(reinterpret_cast<const char*>(p) + i * word, on, w);
    memcpy(reinterpret_cast<char*>(out) + i * word, &w, word);
  }
}
template <int V, int Cache, int Evict, class T>
TV_DEV void store_vector(T* p, const T* x, bool on = true) {
  constexpr int bytes = V * static_cast<int>(sizeof(T)), word = bytes > 16 ? 16 : bytes;
#pragma unroll
  for (int i = 0; i < bytes / word; ++i) {
    typename Word<word>::type w;
    memcpy(&w, reinterpret_cast<const char*>(x) + i * word, word);
    store_word<word, Cache, Evict>(reinterpret_cast<char*>(p) + i * word, w, on);
  }
}

// A bool in memory is one byte that is not 0.
template <class T> struct stored { using type = T; };
template <> struct stored<bool> { using type = u8; };

// One access of a tile: V registers from `out` on.
template <int V, int Cache, int Evict, class T>
TV_DEV void load_access(T* out, const T* p, bool on) {
  if constexpr (same<T, bool>) {
    u8 x[V];
#pragma unroll
    for (int i = 0; i < V; ++i) x[i] = out[i] ? 1 : 0;
    load_vector<V, Cache, Evict>(x, reinterpret_cast<const u8*>(p), on);
#pragma unroll
    for (int i = 0; i < V; ++i) out[i] = x[i] != 0;
  } else {
    load_vector<V, Cache, Evict>(out, p, on);
  }
}
template <int V, int Cache, int Evict, class T>
TV_DEV void load(T* out, const T* p, bool mask, T other) {
#pragma unroll
  for (int i = 0; i < V; ++i) out[i] = other;
  load_access<V, Cache, Evict>(out, p, mask);
}
template <int V, int Cache, int Evict, class T>
TV_DEV void load(T* out, const T* p, bool mask, const T* other) {
#pragma unroll
  for (int i = 0; i < V; ++i) out[i] = other[i];
  load_access<V, Cache, Evict>(out, p, mask);
}
template <int V, int Cache, int Evict, class T>
TV_DEV void load(T* out, const T* p, bool mask = true) {
  load<V, Cache, Evict>(out, p, mask, T{});
}
// From here on the compiler cannot know that these are the elements it has seen before (16-bit elements, an even number).
template <class T, class L>
TV_DEV void keep(Tile<T, L>& x) {
#pragma unroll
  for (int r = 0; r < L::regs; r += 2) {
    u32 word;
    memcpy(&word, x.v + r, 4);
    asm volatile("" : "+r"(word));
    memcpy(x.v + r, &word, 4);
  }
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

// Read by thread 0 and handed to all, with a barrier on both sides: memory that another thread or program may write meanwhile.
template <int Cache = 0, int Evict = 0, class T>
TV_DEV T load_scalar_once(u32 smem, const T* p, bool mask, T other) {
  T* place = reinterpret_cast<T*>(program_memory() + smem);
  barrier();
  if (thread_id() == 0) *place = load_scalar<Cache, Evict>(p, mask, other);
  barrier();
  return *place;
}

// One thread's value for all, with a barrier in between.
template <class T> TV_DEV void hand_out(u32 smem, T x) { *reinterpret_cast<T*>(program_memory() + smem) = x; }
template <class T> TV_DEV T handed_out(u32 smem) { return *reinterpret_cast<const T*>(program_memory() + smem); }

template <int V, int Cache, int Evict, class T>
TV_DEV void store(T* p, const T* x, bool mask = true) {
  using S = typename stored<T>::type;
  store_vector<V, Cache, Evict>(reinterpret_cast<S*>(p), reinterpret_cast<const S*>(x), mask);
}
// Accesses of V registers where nothing is known of the address's alignment: one by one if it is not aligned to them.
template <int V, class T>
TV_DEV bool is_aligned(const T* p) {
  constexpr int bytes = V * static_cast<int>(sizeof(T));
  return reinterpret_cast<u64>(p) % (bytes > 16 ? 16 : bytes) == 0;
}
template <int V, int Cache, int Evict, class T>
TV_DEV void load_guessed(T* out, const T* p, bool mask = true, T other = T{}) {
  if (is_aligned<V>(p)) {
    load<V, Cache, Evict>(out, p, mask, other);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) load<1, Cache, Evict>(out + i, p + i, mask, other);
  }
}
template <int V, int Cache, int Evict, class T>
TV_DEV void load_guessed(T* out, const T* p, bool mask, const T* other) {
  if (is_aligned<V>(p)) {
    load<V, Cache, Evict>(out, p, mask, other);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) load<1, Cache, Evict>(out + i, p + i, mask, other + i);
  }
}
template <int V, int Cache, int Evict, class T>
TV_DEV void store_guessed(T* p, const T* x, bool mask = true) {
  if (is_aligned<V>(p)) {
    store<V, Cache, Evict>(p, x, mask);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) store<1, Cache, Evict>(p + i, x + i, mask);
  }
}
template <int Cache = 0, int Evict = 0, class T>
TV_DEV void store_scalar(T* p, T value, bool mask) {
  using S = typename stored<T>::type;
  if (mask && thread_id() == 0) store_vector<1, Cache, Evict>(reinterpret_cast<S*>(p), reinterpret_cast<const S*>(&value));
}

}  // namespace tv
