// Order of elements as unsigned integers: x before y iff Key(x) < Key(y).
#ifndef TILEVM_VM_INTERP_KEYS_H_
#define TILEVM_VM_INTERP_KEYS_H_

#include <cstdint>

#include "isa/eval.h"
#include "isa/types.h"

namespace tilevm::vm {

// Integers by value, floats by value with -0 < +0 (or equal, if `zeros_equal`). Keys of float numbers lie strictly between 0 and all ones;
// what a NaN's key is, callers decide by isa::ScalarIsNan.
inline uint64_t OrderKey(isa::DType dtype, uint64_t bits, bool zeros_equal) {
  const int width = isa::BitWidth(dtype);
  const uint64_t sign = uint64_t{1} << (width - 1);
  if (!isa::IsFloat(dtype)) return isa::IsSigned(dtype) ? bits ^ sign : bits;
  if (zeros_equal && bits == sign) bits = 0;
  const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  return (bits & sign) != 0 ? ~bits & all : bits | sign;
}

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_KEYS_H_
