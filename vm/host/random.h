// The seeded numbers of torch.rand, torch.randn and the CLI's recipes (definition in torch_random.cc and docs/host.md).
#ifndef TILEVM_VM_HOST_RANDOM_H_
#define TILEVM_VM_HOST_RANDOM_H_

#include <array>
#include <cstdint>

#include "vm/host/tensor.h"

namespace tilevm::vm::host {

std::array<uint32_t, 4> PhiloxBlock(uint64_t seed, uint64_t draw, uint64_t block);
// The tensor is contiguous and of a float dtype.
void FillUniform(const Tensor& tensor, uint64_t seed, uint64_t draw);
void FillNormal(const Tensor& tensor, uint64_t seed, uint64_t draw);
// low <= x < high, any dtype.
void FillIntegers(const Tensor& tensor, uint64_t seed, uint64_t draw, int64_t low, int64_t high);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_RANDOM_H_
