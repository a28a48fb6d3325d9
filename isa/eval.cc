// Which ops have a scalar meaning on which types, and the way from an op to its family.
#include "isa/eval.h"

#include <cmath>

#include "isa/eval_internal.h"
#include "isa/narrow_float.h"

namespace tilevm::isa {
namespace {

using namespace eval_internal;  // NOLINT: the families of this library

enum class Family : uint8_t { kNone, kNumber, kInteger, kFloat, kAny, kWideInteger };

struct Row {
  Op op;
  int arity;
  Family family;
};

constexpr Row kRows[] = {
    {Op::kNeg, 1, Family::kNumber},        {Op::kAbs, 1, Family::kNumber},      {Op::kInvert, 1, Family::kInteger},
    {Op::kExp, 1, Family::kFloat},         {Op::kExp2, 1, Family::kFloat},      {Op::kLog, 1, Family::kFloat},
    {Op::kSqrt, 1, Family::kFloat},        {Op::kLog2, 1, Family::kFloat},      {Op::kRsqrt, 1, Family::kFloat},
    {Op::kSin, 1, Family::kFloat},         {Op::kCos, 1, Family::kFloat},       {Op::kErf, 1, Family::kFloat},
    {Op::kFloor, 1, Family::kFloat},       {Op::kCeil, 1, Family::kFloat},      {Op::kTanh, 1, Family::kFloat},
    {Op::kLibExp, 1, Family::kFloat},      {Op::kLibExp2, 1, Family::kFloat},   {Op::kLibLog, 1, Family::kFloat},
    {Op::kLibLog2, 1, Family::kFloat},     {Op::kLog10, 1, Family::kFloat},     {Op::kLog1p, 1, Family::kFloat},
    {Op::kExpm1, 1, Family::kFloat},       {Op::kTan, 1, Family::kFloat},       {Op::kAsin, 1, Family::kFloat},
    {Op::kAcos, 1, Family::kFloat},        {Op::kAtan, 1, Family::kFloat},      {Op::kSinh, 1, Family::kFloat},
    {Op::kCosh, 1, Family::kFloat},        {Op::kAsinh, 1, Family::kFloat},     {Op::kAcosh, 1, Family::kFloat},
    {Op::kAtanh, 1, Family::kFloat},       {Op::kErfc, 1, Family::kFloat},      {Op::kTrunc, 1, Family::kFloat},
    {Op::kRound, 1, Family::kFloat},       {Op::kRint, 1, Family::kFloat},      {Op::kLlRint, 1, Family::kFloat},
    {Op::kIsNan, 1, Family::kFloat},       {Op::kIsInf, 1, Family::kFloat},     {Op::kIsFinite, 1, Family::kFloat},
    {Op::kCbrt, 1, Family::kFloat},        {Op::kAdd, 2, Family::kNumber},      {Op::kSub, 2, Family::kNumber},
    {Op::kMul, 2, Family::kNumber},        {Op::kMod, 2, Family::kNumber},      {Op::kTrueDiv, 2, Family::kFloat},
    {Op::kFDiv, 2, Family::kFloat},        {Op::kDivRn, 2, Family::kFloat},     {Op::kFMod, 2, Family::kFloat},
    {Op::kFloorDiv, 2, Family::kInteger},  {Op::kBitAnd, 2, Family::kInteger},  {Op::kBitOr, 2, Family::kInteger},
    {Op::kBitXor, 2, Family::kInteger},    {Op::kShl, 2, Family::kInteger},     {Op::kShr, 2, Family::kInteger},
    {Op::kUmulhi, 2, Family::kWideInteger}, {Op::kLt, 2, Family::kAny},         {Op::kLe, 2, Family::kAny},
    {Op::kGt, 2, Family::kAny},            {Op::kGe, 2, Family::kAny},          {Op::kEq, 2, Family::kAny},
    {Op::kNe, 2, Family::kAny},            {Op::kMaximum, 2, Family::kNumber},  {Op::kMinimum, 2, Family::kNumber},
    {Op::kLibPow, 2, Family::kFloat},      {Op::kAtan2, 2, Family::kFloat},     {Op::kCopySign, 2, Family::kFloat},
    {Op::kFma, 3, Family::kFloat},         {Op::kClamp, 3, Family::kFloat},     {Op::kWhere, 3, Family::kAny},
};

constexpr int kOpLimit = 0x100;  // elementwise ops have codes below

struct Table {
  int8_t arity[kOpLimit] = {};
  Family family[kOpLimit] = {};
  constexpr Table() {
    for (const Row& row : kRows) {
      arity[static_cast<int>(row.op)] = static_cast<int8_t>(row.arity);
      family[static_cast<int>(row.op)] = row.family;
    }
  }
};
constexpr Table kTable;

Family FamilyOf(Op op) {
  const int code = static_cast<int>(op);
  return code < kOpLimit ? kTable.family[code] : Family::kNone;
}

Scalar ClassOf(Op op, DType dtype, Scalar x) {
  const double value = DecodeToF64(dtype, x);
  if (op == Op::kIsNan) return Scalar{std::isnan(value)};
  if (op == Op::kIsInf) return Scalar{std::isinf(value)};
  return Scalar{std::isfinite(value)};
}

// neg and abs touch nothing but the sign bit.
Scalar SignOp(Op op, DType dtype, Scalar x) {
  const uint64_t sign = uint64_t{1} << (BitWidth(dtype) - 1);
  return Scalar{op == Op::kNeg ? x.bits ^ sign : x.bits & ~sign};
}

}  // namespace

int EvalArity(Op op) {
  const int code = static_cast<int>(op);
  return code < kOpLimit ? kTable.arity[code] : 0;
}

bool HasEval(Op op, DType dtype) {
  switch (FamilyOf(op)) {
    case Family::kNone: return false;
    case Family::kInteger: return IsInteger(dtype);
    case Family::kFloat: return IsFloat(dtype);
    case Family::kWideInteger: return IsInteger(dtype) && BitWidth(dtype) >= 32;
    case Family::kNumber:
    case Family::kAny: return true;
  }
  return false;
}

DType EvalResultType(Op op, DType dtype) {
  switch (op) {
    case Op::kLt:
    case Op::kLe:
    case Op::kGt:
    case Op::kGe:
    case Op::kEq:
    case Op::kNe:
    case Op::kIsNan:
    case Op::kIsInf:
    case Op::kIsFinite: return DType::kI1;
    case Op::kLlRint: return DType::kI64;
    default: return dtype;
  }
}

Scalar EvalUnary(Op op, DType dtype, Scalar x) {
  if (EvalArity(op) != 1 || !HasEval(op, dtype)) return {};
  if (IsInteger(dtype)) return IntUnary(op, dtype, x);
  switch (op) {
    case Op::kIsNan:
    case Op::kIsInf:
    case Op::kIsFinite: return ClassOf(op, dtype, x);
    case Op::kNeg:
    case Op::kAbs: return SignOp(op, dtype, x);
    case Op::kLlRint: return ScalarFromDouble(DType::kI64, std::nearbyint(DecodeToF64(dtype, x)));
    default: break;
  }
  if (dtype == DType::kF64) return Scalar{BitsOf(F64Unary(op, F64FromBits(x.bits)))};
  return EncodeFromF32(dtype, F32Unary(op, DecodeToF32(dtype, x)));
}

Scalar EvalBinary(Op op, DType dtype, Scalar x, Scalar y, bool propagate_nan) {
  if (EvalArity(op) != 2 || !HasEval(op, dtype)) return {};
  return IsInteger(dtype) ? IntBinary(op, dtype, x, y) : FloatBinary(op, dtype, x, y, propagate_nan);
}

Scalar EvalTernary(Op op, DType dtype, Scalar x, Scalar y, Scalar z, bool propagate_nan) {
  if (EvalArity(op) != 3 || !HasEval(op, dtype)) return {};
  switch (op) {
    case Op::kWhere: return x.bits != 0 ? y : z;
    case Op::kFma: return FloatFma(dtype, x, y, z);
    default: return EvalBinary(Op::kMinimum, dtype, EvalBinary(Op::kMaximum, dtype, x, y, propagate_nan), z, propagate_nan);
  }
}

Scalar EvalPowInt(DType dtype, Scalar x, Scalar y_i32) {
  if (!IsFloat(dtype)) return {};
  const double power = std::pow(DecodeToF64(dtype, x), static_cast<double>(SignExtended(DType::kI32, y_i32)));
  if (dtype == DType::kF64) return Scalar{BitsOf(power)};
  return EncodeFromF32(dtype, static_cast<float>(power));
}

Scalar EvalPtrAdd(DType pointee, Scalar pointer, DType offset_type, Scalar offset) {
  return Scalar{pointer.bits + Extended(offset_type, offset) * static_cast<uint64_t>(StorageBytes(pointee))};
}

}  // namespace tilevm::isa
