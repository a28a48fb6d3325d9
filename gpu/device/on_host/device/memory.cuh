// What runs.cuh takes from the header of this name, for the host: gpu/device/runs_test.cc runs the threads of a block one after the other. Each access looks
// whether it is one that the mask allows.
#pragma once

#include <cstring>
#include <type_traits>

#include "device/types.cuh"

namespace tv {

using std::memcpy;

template <class T> using unsigned_t = std::make_unsigned_t<T>;
template <int Bytes> struct Word;
template <> struct Word<1> { using type = u8; };
template <> struct Word<2> { using type = u16; };
template <> struct Word<4> { using type = u32; };
template <> struct Word<8> { using type = u64; };
template <> struct Word<16> { struct alignas(16) type { u32 w[4]; }; };

template <int N>
constexpr u32 xor_of(const u32 (&bases)[N], int count, u32 r) {
  u32 out = 0;
  for (int i = 0; i < count; ++i) {
    if (r >> i & 1) out ^= bases[i];
  }
  return out;
}

// Bytes that are masked on, how often each was written, and accesses that may not be.
struct Memory {
  u64 begin = 0, end = 0;
  u8* writes = nullptr;  // by byte from `begin` on
  int wrong = 0;
};
inline Memory memory;

template <int Bytes, int, int>
typename Word<Bytes>::type load_word(const void* p, bool on, typename Word<Bytes>::type otherwise) {
  if (!on) return otherwise;
  const u64 at = reinterpret_cast<u64>(p);
  // An aligned word may have bytes beside those that are on, but not they alone.
  if (at % Bytes != 0 || at + Bytes <= memory.begin || at >= memory.end) ++memory.wrong;
  typename Word<Bytes>::type word;
  memcpy(&word, p, Bytes);
  return word;
}
template <int Bytes, int, int>
void store_word(void* p, typename Word<Bytes>::type word, bool on) {
  if (!on) return;
  const u64 at = reinterpret_cast<u64>(p);
  if (at % Bytes != 0 || at < memory.begin || at + Bytes > memory.end) {
    ++memory.wrong;
    return;
  }
  for (int i = 0; i < Bytes; ++i) ++memory.writes[at - memory.begin + i];
  memcpy(p, &word, Bytes);
}
template <int V, int Cache, int Evict, class T>
void store_vector(T* p, const T* x, bool on = true) {
  constexpr int bytes = V * static_cast<int>(sizeof(T));
  typename Word<bytes>::type word;
  memcpy(&word, x, bytes);
  store_word<bytes, Cache, Evict>(p, word, on);
}

alignas(1024) inline unsigned char shared_memory[1 << 16];
inline unsigned char* program_memory() { return shared_memory; }
inline void barrier() {}
inline u32 bits_from(int bit) { return bit >= 32 ? 0 : 0xffffffffu << (bit > 0 ? bit : 0); }
inline u32 __funnelshift_r(u32 low, u32 high, u32 by) { return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> (by & 31)); }

}  // namespace tv
