// Into how many parts programs are divided (specializer/pipeline/split_tiles.h) where their number does not suit the number of multiprocessors.
//
// Programs run in waves of as many as the GPU has places, a place being a CTA that a multiprocessor has room for. Two cases waste places:
//
//   - fewer programs than half the places: each is divided in 2, 4 or 8, as far as the parts still are one wave;
//   - one wave or more, and a last one that is mostly empty: those that are left over are divided (a shared tail). In units of a whole program's time the last
//     wave takes
//
//         ceil(left over * parts / places) * cost(parts)         instead of 1
//
//     where cost(parts) is what a part takes. It is more than 1/parts, for a part reads all of its rows of a: a multiprocessor fetches 64 bytes a cycle from L2
//     and multiplies 16-bit elements at 128 x 16 x 1 a cycle, so for a step of k a tile of m x n takes the larger of m n / 2048 and (m + n) / 32 cycles, whatever
//     the type (bytes and products per cycle go together). Of 128 x 256 a quarter takes 3/8, of 128 x 128 a half takes 3/4.
//
// On an H200 (tutorial 03, f16, tiles of 128 x 256): 2304 has 162 tiles, 132 and a tail of 30 in four parts: 38.1 us; in two 40.6, with a second wave 55. 2560 has 200,
// and neither 136 halves nor 272 quarters of the last 68 fit where 68 whole ones do: 57.1 and 60.5 us instead of 55.8. Between these the rule was right
// wherever it was measured (twenty sizes from 1536 to 4096).
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

// What to try for a grid, the best first; nothing where programs should stay whole. `whole`: the text of the kernel undivided. multiprocessors: 0 if they are not known.
std::vector<Division> DivisionsFor(const ir::Kernel& kernel, const Emitted& whole, const std::array<int64_t, 3>& grid, int multiprocessors);

// The time that one of `parts` of a program takes, whose columns are divided; the whole takes 1. 1 if there is no product.
double PartCost(const ir::Kernel& kernel, int parts);

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_DIVIDE_H_
