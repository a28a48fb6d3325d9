// For the message of a kernel that takes more shared memory than the device has: the nearest that fits, found by generating it.
//
// Where the kernel is autotuned, another of its configurations. Else its tiles, halved: of the constexpr parameters that are sizes of tiles by their names, or are set by a
// configuration, those with the fewest halvings in all. (Fewer slots of a pipelined loop need no word: the generator takes as many as fit.)
#ifndef TILEVM_VM_HOST_NEAREST_H_
#define TILEVM_VM_HOST_NEAREST_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "vm/host/launch.h"

namespace tilevm::vm::host {

// Whether a kernel fits: kResourceExhausted if not.
using Fits = std::function<absl::Status(const ir::Kernel&)>;

// "BLOCK_M=64, BLOCK_N=128 fits"; empty where the variant `at` fits itself, or nothing is found in a dozen tries.
std::string NearestThatFits(Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants, size_t at, const Fits& fits, Loc loc);

// The status with that at the end of its message. Others than kResourceExhausted stay as they are.
absl::Status WithNearest(absl::Status status, Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants, size_t at, const Fits& fits, Loc loc);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_NEAREST_H_
