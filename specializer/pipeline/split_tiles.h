// split_tiles: a program's tile shared by several programs, where there are fewer programs than a GPU runs at once.
//
//   program p of a 128 x 256 tile      becomes      programs 2 p and 2 p + 1, of the columns 0..127 and 128..255
//
// What is divided is an *axis*: the dimension of a dot's rows or columns together with every dimension of every tile that runs along it (through elementwise
// ops, broadcasts, changes of shape, loops, loads and stores). Its aranges get shorter and start at the part's own first element; everything else keeps its
// text. That gives what the kernel gives if
//   - nothing is summed, ordered or counted along the axis, and no tile that lies along it is read as a whole (only ops listed in split_tiles.cc touch it);
//   - every store and atomic lies along it, so that each happens once;
//   - no memory that the kernel writes is read by it: parts do not wait for each other;
//   - it prints and asserts nothing.
// The launcher multiplies the first extent of the grid by `parts`. The order of sums is untouched: same bits.
//
// Shared tails. A grid of more programs than run at once goes in waves, and the last one may be nearly empty: 144 tiles on 132 multiprocessors take as long as
// 264. Then the programs of the last wave alone are split, in a kernel that has both forms of its text:
//
//   if program_id(3) == 0:  the kernel            programs 0 .. whole - 1                    whole = all - all % CTAs, so that each CTA has as many of them
//   else:                   the kernel in parts   programs whole .. whole + (all - whole) * parts - 1
//
// program_id(3) is 0 in a whole program and 1 in a part; in the second branch program_id(0) and num_programs(0) are the numbers of a grid whose first extent is
// multiplied by `parts` (their attribute "parts"). Only columns are divided: a part's rows and warps are the whole's, so both forms share a ring (roles.h), and
// the producer begins with the parts while the last whole program is computed.
//
// Whether that pays is a matter of waves, and of how much less than a whole program a part costs (gpu/compile/divide.h).
#ifndef TILEVM_SPECIALIZER_PIPELINE_SPLIT_TILES_H_
#define TILEVM_SPECIALIZER_PIPELINE_SPLIT_TILES_H_

#include <array>
#include <cstdint>
#include <optional>

#include "specializer/ir/kernel.h"

namespace tilevm::pipeline {

constexpr int64_t kLeastPartExtent = 64;  // rows or columns of a part

// parts: a power of two. Rows are halved first, down to 64, with the warps where each would have fewer than 16; then columns, down to 64. Nothing if it cannot
// be done. no_alias: no two pointer parameters reach the same memory where one is written.
std::optional<ir::Kernel> SplitTiles(const ir::Kernel& kernel, int parts, bool no_alias);

// The kernel with a shared tail. Columns are halved, down to 64.
std::optional<ir::Kernel> SplitTail(const ir::Kernel& kernel, int parts, bool no_alias);

inline constexpr int64_t kPartAxis = 3;  // of program_id
struct Tail {
  int parts = 1;                     // 1: the kernel has none
  const ir::Op* branch = nullptr;
};
Tail TailOf(const ir::Kernel& kernel);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_SPLIT_TILES_H_
