#include "gpu/compile/packing.h"

#include <algorithm>

namespace tilevm::gpu {
namespace {

using isa::Op;

bool TakesItsWarpAlone(const ir::Region& region) {
  return std::all_of(region.ops.begin(), region.ops.end(), [](const ir::Op& op) {
    switch (op.op) {
      case Op::kSort: case Op::kTopK: case Op::kHistogram: case Op::kDot: case Op::kDotScaled: case Op::kDevicePrint: case Op::kDeviceAssert: case Op::kDebugBarrier:
      case Op::kInlineAsm:
        return false;
      default: return std::all_of(op.regions.begin(), op.regions.end(), TakesItsWarpAlone);
    }
  });
}

}  // namespace

bool CanPack(const ir::Kernel& kernel) { return kernel.options.num_warps == 1 && TakesItsWarpAlone(kernel.body); }

}  // namespace tilevm::gpu
