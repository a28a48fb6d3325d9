// Into how many parts programs are divided (specializer/pipeline/split_tiles.h) where their number does not suit the number of multiprocessors: a choice
// between waves that are not full and smaller tiles, which cost more than their share.
//
//   whole    all programs as they are
//   parts    each in 2, 4 or 8
//   a tail   as many whole waves as there are, and what is left over in 2, 4 or 8 parts: of one program, and one text for both
//
// Programs run in waves of as many as there are places, a place being a CTA that a multiprocessor has room for. What counts is the multiprocessor with the
// most to do. A step of its loop with a product of m x n, and 32 bytes of k in each row, takes the longer of
//
//   m n / 128                    cycles of the tensor cores
//   (2 m + n + m n / 64) / 4     cycles of shared memory, which moves 128 bytes in each: the copies write m + n rows, and every warpgroup reads its 64
//                                rows of a, and all of b
//
// (the type does not matter: where elements have half the bytes, products take half the time), and kIteration cycles for an iteration's barriers, which a
// second CTA hides. So 128 x 256 is bound by both (256 cycles), of 128 x 128 a step takes 160, of 64 x 128 96, of 128 x 64 112. A tail also begins and
// stores by itself: kTail of a whole program.
//
// That holds of kernels with one product, of tiles as they were loaded. Others (attention, operands that are computed first) take as long for 64 rows as
// two warpgroups take for 128: they are divided only as far as all parts are one wave, and so are programs that differ in length, which take places as
// they become free.
//
// On an H200 (tutorial 03, f16, the 24 sizes from 1152 to 4096, 258 pairs of a size and a configuration, of which all variants were timed:
// bench/results/2026-11-30-h200-waves.txt), what this chooses is 0.8 % slower than the best variant of each pair on average; whole programs alone are 2.4 %.
// The best configuration of a size gains more: 2304 has 162 tiles of 128 x 256, which took 50.7 us in two waves and take 38.1 with a tail in quarters. 2560
// has 200, and 136 halves or 272 quarters of the last 68 fit no better than they do: 57.1 and 60.5 us, whole 55.8. 1664 and 1792 (169 and 196 tiles of
// 128 x 128) are best all in halves.
#ifndef TILEVM_GPU_COMPILE_DIVIDE_H_
#define TILEVM_GPU_COMPILE_DIVIDE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "gpu/emit/emit.h"
#include "specializer/ir/kernel.h"

namespace tilevm::gpu {

struct Division {
  int parts = 1;
  bool tail = false;  // of the programs of the last wave alone
  bool operator==(const Division& o) const { return parts == o.parts && tail == o.tail; }
};

// What to try for a grid, the best first; nothing where programs should stay whole. `whole`: the text of the kernel undivided. multiprocessors: 0 if they
// are not known.
std::vector<Division> DivisionsFor(const ir::Kernel& kernel, const Emitted& whole, const std::array<int64_t, 3>& grid, int multiprocessors);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_DIVIDE_H_
