// Strips of elementwise arithmetic on host tensors. Operands are read as float, double or int64_t (vm/host/convert.h), computed, and rounded
// once when stored.
#ifndef TILEVM_VM_HOST_ELEMENTWISE_H_
#define TILEVM_VM_HOST_ELEMENTWISE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "vm/host/tensor.h"

namespace tilevm::vm::host {

enum class UnaryKind : uint8_t {
  kNeg, kAbs, kExp, kExp2, kExpm1, kLog, kLog2, kLog10, kLog1p, kSqrt, kRsqrt, kSin, kCos, kTan, kTanh, kErf, kFloor, kCeil, kRound, kTrunc,
  kSign, kReciprocal, kSquare, kRelu, kSigmoid, kSilu, kGelu, kGeluTanh, kSoftplus, kLogSigmoid, kAsin, kAcos, kAtan, kSinh, kCosh,
  kIsNan, kIsInf, kIsFinite, kLogicalNot, kInvert,
};
enum class BinaryKind : uint8_t {
  kAdd, kSub, kMul, kDiv, kFloorDiv, kRemainder, kFmod, kPow, kMaximum, kMinimum, kAtan2, kAnd, kOr, kXor, kShl, kShr,
  kLt, kLe, kGt, kGe, kEq, kNe, kLogicalAnd, kLogicalOr, kLogicalXor,
};

bool GivesBool(UnaryKind kind);
bool GivesBool(BinaryKind kind);
// True for functions whose result on integers is a float (exp, sqrt, ...).
bool NeedsFloat(UnaryKind kind);

// in is of any layout; the result is contiguous, of the dtype given (bool results: i1), computed in `compute`'s type.
absl::StatusOr<Tensor> ApplyUnary(UnaryKind kind, const Tensor& in, DType compute);
// a and b broadcast; both are read as `compute`, the result is of dtype `compute`, or i1 for comparisons.
absl::StatusOr<Tensor> ApplyBinary(BinaryKind kind, const Tensor& a, const Tensor& b, DType compute);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_ELEMENTWISE_H_
