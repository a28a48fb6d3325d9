// Floats of any element type as doubles and back, written apart from isa/eval.h: what the cases expect must not come from the code under test.
#ifndef TILEVM_TESTS_FLOAT_FORMAT_H_
#define TILEVM_TESTS_FLOAT_FORMAT_H_

#include <cstdint>

#include "isa/types.h"

namespace tilevm::tests {

// Nearest even; fp8 saturates to the largest finite value, the others overflow to infinity.
uint64_t EncodeFloat(isa::DType dtype, double value);
double DecodeFloat(isa::DType dtype, uint64_t bits);
bool IsNanBits(isa::DType dtype, uint64_t bits);  // false for integers

}  // namespace tilevm::tests

#endif  // TILEVM_TESTS_FLOAT_FORMAT_H_
