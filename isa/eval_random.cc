// Philox, 4x32 and 4x64 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), and the operand splits of dot.
#include "isa/eval.h"
#include "isa/narrow_float.h"

namespace tilevm::isa {
namespace {

template <typename Word, typename Wide>
PhiloxWords Rounds(Word multiplier_a, Word multiplier_b, Word weyl_0, Word weyl_1, Word k0, Word k1, PhiloxWords c, int rounds) {
  constexpr int kWidth = 8 * sizeof(Word);
  Word c0 = static_cast<Word>(c.word[0]), c1 = static_cast<Word>(c.word[1]);
  Word c2 = static_cast<Word>(c.word[2]), c3 = static_cast<Word>(c.word[3]);
  for (int i = 0; i < rounds; ++i) {
    const Wide a = static_cast<Wide>(multiplier_a) * c0;
    const Wide b = static_cast<Wide>(multiplier_b) * c2;
    c0 = static_cast<Word>(b >> kWidth) ^ c1 ^ k0;
    c2 = static_cast<Word>(a >> kWidth) ^ c3 ^ k1;
    c1 = static_cast<Word>(b);
    c3 = static_cast<Word>(a);
    k0 += weyl_0;
    k1 += weyl_1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace

PhiloxWords EvalPhilox(int width, uint64_t k0, uint64_t k1, PhiloxWords c, int rounds) {
  if (width == 32) {
    return Rounds<uint32_t, uint64_t>(0xD2511F53u, 0xCD9E8D57u, 0x9E3779B9u, 0xBB67AE85u, static_cast<uint32_t>(k0),
                                      static_cast<uint32_t>(k1), c, rounds);
  }
  return Rounds<uint64_t, unsigned __int128>(0xD2E7470EE14C6C93u, 0xCA5A826395121157u, 0x9E3779B97F4A7C15u, 0xBB67AE8584CAA73Bu, k0, k1, c,
                                             rounds);
}

PhiloxWords EvalPhiloxSeed(int width, uint64_t seed, PhiloxWords c, int rounds) {
  if (width == 32) return EvalPhilox(32, seed & 0xffffffffu, seed >> 32, c, rounds);
  return EvalPhilox(64, seed, 0, c, rounds);
}

float TruncateToTf32(float x) { return TruncateF32ToTf32(x); }
float RoundToTf32(float x) { return RoundF32ToTf32(x); }

Tf32Parts SplitTf32(float x) { return {Tf32Part(x, 0), Tf32Part(x, 1)}; }

Bf16Parts SplitBf16(float x) { return {{Bf16Part(x, 0), Bf16Part(x, 1), Bf16Part(x, 2)}}; }

}  // namespace tilevm::isa
