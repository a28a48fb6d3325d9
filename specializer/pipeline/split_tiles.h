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
#ifndef TILEVM_SPECIALIZER_PIPELINE_SPLIT_TILES_H_
#define TILEVM_SPECIALIZER_PIPELINE_SPLIT_TILES_H_

#include <optional>

#include "specializer/ir/kernel.h"

namespace tilevm::pipeline {

// parts: a power of two. Rows are halved first, down to 64, with the warps where each would have fewer than 16; then columns, down to 64. Nothing if it cannot
// be done. no_alias: no two pointer parameters reach the same memory where one is written.
std::optional<ir::Kernel> SplitTiles(const ir::Kernel& kernel, int parts, bool no_alias);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_SPLIT_TILES_H_
