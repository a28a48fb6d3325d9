// Integer ops on 64-bit extensions of the operands: every width, i1 included, is the same code under a mask.
#include "isa/eval_internal.h"

namespace tilevm::isa::eval_internal {
namespace {

uint64_t Divide(DType dtype, uint64_t x, uint64_t y) {
  if (y == 0) return ~uint64_t{0};
  if (!IsSigned(dtype)) return x / y;
  if (y == ~uint64_t{0}) return 0 - x;  // MIN // -1 is MIN
  return static_cast<uint64_t>(static_cast<int64_t>(x) / static_cast<int64_t>(y));
}

uint64_t Remainder(DType dtype, uint64_t x, uint64_t y) {
  if (y == 0) return x;
  if (!IsSigned(dtype)) return x % y;
  if (y == ~uint64_t{0}) return 0;
  return static_cast<uint64_t>(static_cast<int64_t>(x) % static_cast<int64_t>(y));
}

// count: unsigned, of the operands' width.
uint64_t ShiftRight(DType dtype, uint64_t x, uint64_t count) {
  const uint64_t width = static_cast<uint64_t>(BitWidth(dtype));
  if (!IsSigned(dtype)) return count >= width ? 0 : x >> count;
  return static_cast<uint64_t>(static_cast<int64_t>(x) >> (count >= width ? 63 : count));
}

uint64_t HighProduct(DType dtype, uint64_t x, uint64_t y) {
  if (BitWidth(dtype) == 32) return (x * y) >> 32;
  return static_cast<uint64_t>((static_cast<unsigned __int128>(x) * y) >> 64);
}

bool Less(DType dtype, uint64_t x, uint64_t y) {
  return IsSigned(dtype) ? static_cast<int64_t>(x) < static_cast<int64_t>(y) : x < y;
}

}  // namespace

Scalar IntUnary(Op op, DType dtype, Scalar scalar) {
  const uint64_t x = Extended(dtype, scalar);
  switch (op) {
    case Op::kNeg: return Masked(dtype, 0 - x);
    case Op::kInvert: return Masked(dtype, ~x);
    case Op::kAbs: return Masked(dtype, IsSigned(dtype) && static_cast<int64_t>(x) < 0 ? 0 - x : x);
    default: return {};
  }
}

Scalar IntBinary(Op op, DType dtype, Scalar lhs, Scalar rhs) {
  const uint64_t x = Extended(dtype, lhs);
  const uint64_t y = Extended(dtype, rhs);
  switch (op) {
    case Op::kAdd: return Masked(dtype, x + y);
    case Op::kSub: return Masked(dtype, x - y);
    case Op::kMul: return Masked(dtype, x * y);
    case Op::kFloorDiv: return Masked(dtype, Divide(dtype, x, y));
    case Op::kMod: return Masked(dtype, Remainder(dtype, x, y));
    case Op::kBitAnd: return Masked(dtype, x & y);
    case Op::kBitOr: return Masked(dtype, x | y);
    case Op::kBitXor: return Masked(dtype, x ^ y);
    case Op::kShl: return Masked(dtype, rhs.bits >= static_cast<uint64_t>(BitWidth(dtype)) ? 0 : x << rhs.bits);
    case Op::kShr: return Masked(dtype, ShiftRight(dtype, x, rhs.bits));
    case Op::kUmulhi: return Masked(dtype, HighProduct(dtype, lhs.bits, rhs.bits));
    case Op::kMaximum: return Less(dtype, x, y) ? rhs : lhs;
    case Op::kMinimum: return Less(dtype, y, x) ? rhs : lhs;
    case Op::kLt: return Scalar{Less(dtype, x, y)};
    case Op::kLe: return Scalar{!Less(dtype, y, x)};
    case Op::kGt: return Scalar{Less(dtype, y, x)};
    case Op::kGe: return Scalar{!Less(dtype, x, y)};
    case Op::kEq: return Scalar{x == y};
    case Op::kNe: return Scalar{x != y};
    default: return {};
  }
}

}  // namespace tilevm::isa::eval_internal
