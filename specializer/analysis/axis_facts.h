// Facts about integer, mask and pointer tiles along each of their dimensions: what a memory access may rely on.
//
// For a tile x and a dimension d, cut x along d into aligned blocks of k elements (k a power of two):
//   contiguity   the largest k for which every block counts up by one (pointers: by one element)
//   constancy    the largest k for which every block holds one value
//   run_divisor  a power of two that divides the first value of every block of `contiguity` elements (pointers: the address, in bytes)
// and for the whole tile
//   divisor      a power of two that divides every value (pointers: bytes)
//   non_negative no value is below 0
//
// Example: p + (16 * pid + arange(0, 64)), p: ptr<f32> aligned to 16 bytes. The offsets have contiguity 64, run_divisor 16; the pointers contiguity
// 64 and run_divisor gcd(16, 16 * 4) = 16 bytes: four elements can move at once.
//
// Facts hold for every launch that keeps the promises of Kernel::params; nothing is assumed about the absence of integer overflow beyond what
// Triton assumes (a run of addresses does not wrap inside an aligned block). Loops are solved by iteration from the values on entry downward.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_AXIS_FACTS_H_
#define TILEVM_SPECIALIZER_ANALYSIS_AXIS_FACTS_H_

#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "specializer/ir/kernel.h"

namespace tilevm::analysis {

inline constexpr int64_t kMaxDivisor = int64_t{1} << 30;  // what zero is divisible by

struct AxisFact {
  int64_t contiguity = 1;
  int64_t constancy = 1;
  int64_t run_divisor = 1;
  bool operator==(const AxisFact& o) const { return contiguity == o.contiguity && constancy == o.constancy && run_divisor == o.run_divisor; }
};

struct TileFacts {
  int64_t divisor = 1;
  bool non_negative = false;
  absl::InlinedVector<AxisFact, 4> axes;
  bool operator==(const TileFacts& o) const { return divisor == o.divisor && non_negative == o.non_negative && axes == o.axes; }
};

struct FactOptions {
  // Take it that dividends of % and // are not negative, as Triton does: (pid_n * BLOCK + arange) % N is then contiguous in blocks although the
  // sign of pid_n cannot be proved. A kernel that breaks it reaches other addresses than it says.
  bool trust_signs = false;
  // Take it that integers and addresses that come from memory are multiples of 16. What follows is a guess: an access made by it has to look at its address.
  bool guess_loaded = false;
};

class AxisFacts {
 public:
  explicit AxisFacts(const ir::Kernel& kernel, FactOptions options = {});
  const TileFacts& Of(ir::ValueId id) const { return facts_[id]; }

 private:
  friend class AxisSolver;
  std::vector<TileFacts> facts_;
};

// "divisor 16, [contiguity 64 constancy 1 run_divisor 16]"
std::string ToString(const TileFacts& facts);

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_AXIS_FACTS_H_
