// Philox 4x32 and 4x64 (J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011): the words of one counter under one seed.
#pragma once
#include "device/elementwise.cuh"

namespace tv {

template <class T>
struct Words {
  T word[4];
};

// Written in C++, the product of two widened words keeps the addition of the halves that are zero.
TV_DEV u64 wide_product(u32 x, u32 y) { u64 r; asm("mul.wide.u32 %0, %1, %2;" : "=l"(r) : "r"(x), "r"(y)); return r; }

// U: u32 or u64, the width of a word; T: the type of the results. A counter of another width is its value, extended by its sign and cut to the word.
template <class U, int Rounds, class T, class S, class C>
TV_DEV Words<T> philox_words(S seed, C c0, C c1, C c2, C c3) {
  constexpr bool wide = sizeof(U) == 8;
  constexpr U m0 = wide ? static_cast<U>(0xd2e7470ee14c6c93ull) : static_cast<U>(0xd2511f53u), m1 = wide ? static_cast<U>(0xca5a826395121157ull) : static_cast<U>(0xcd9e8d57u);
  constexpr U w0 = wide ? static_cast<U>(0x9e3779b97f4a7c15ull) : static_cast<U>(0x9e3779b9u), w1 = wide ? static_cast<U>(0xbb67ae8584caa73bull) : static_cast<U>(0xbb67ae85u);
  const u64 key = static_cast<u64>(static_cast<i64>(seed));
  U k0 = static_cast<U>(key), k1 = wide ? U{0} : static_cast<U>(key >> 32);
  U x[4] = {static_cast<U>(static_cast<i64>(c0)), static_cast<U>(static_cast<i64>(c1)), static_cast<U>(static_cast<i64>(c2)), static_cast<U>(static_cast<i64>(c3))};
  // Unrolled, zero words of the counter fold away, the keys are the same for every element, and the rounds of words that nobody wants vanish.
#pragma unroll
  for (int round = 0; round < Rounds; ++round) {
    U h0, h1, l0, l1;
    if constexpr (wide) {
      h0 = umulhi(m0, x[0]), h1 = umulhi(m1, x[2]), l0 = m0 * x[0], l1 = m1 * x[2];
    } else {
      const u64 p0 = wide_product(m0, x[0]), p1 = wide_product(m1, x[2]);
      h0 = static_cast<U>(p0 >> 32), h1 = static_cast<U>(p1 >> 32), l0 = static_cast<U>(p0), l1 = static_cast<U>(p1);
    }
    x[0] = h1 ^ x[1] ^ k0;
    x[1] = l1;
    x[2] = h0 ^ x[3] ^ k1;
    x[3] = l0;
    k0 += w0;
    k1 += w1;
  }
  return {static_cast<T>(x[0]), static_cast<T>(x[1]), static_cast<T>(x[2]), static_cast<T>(x[3])};
}

}  // namespace tv
