// Packed programs: where a program is one warp, four that follow each other along axis 0 share a block, so that a grid of many rows is a quarter as many blocks.
//
// A multiprocessor begins blocks one after the other, about 800 in a microsecond on the whole of an H200, and holds 32: 16384 blocks of one warp that did
// nothing took 10.8 us there, more than the copy of their rows. Nothing is shared between the programs of a block: each has its part of the shared memory
// (gpu/device/convert.cuh: program_memory), a barrier is one of its warp, and warps beyond the grid's end return.
#ifndef TILEVM_GPU_COMPILE_PACKING_H_
#define TILEVM_GPU_COMPILE_PACKING_H_

#include <array>
#include <cstdint>

#include "specializer/ir/kernel.h"

namespace tilevm::gpu {

constexpr int kPacked = 4;
constexpr int64_t kMostPackedBytes = 32 * 1024;  // of shared memory: more would keep blocks out

// Whether programs of the kernel, laid out for one warp, can be packed: no op of it takes the whole block.
bool CanPack(const ir::Kernel& kernel);

// Whether the grid has programs enough: sixteen for each multiprocessor.
inline bool WorthPacking(const std::array<int64_t, 3>& grid, int multiprocessors) {
  double programs = 1;
  for (int64_t extent : grid) programs *= static_cast<double>(extent);
  return programs >= 16.0 * multiprocessors && grid[0] >= 8 * kPacked;
}

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_COMPILE_PACKING_H_
