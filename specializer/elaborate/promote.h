// Types of literals and of binary operations (docs/semantics.md, "Promotion").
//
// A static number is weak: it takes part in promotion only if its kind (bool < int < float) is higher than the tensor's, and then must fit.
// Everything else is Triton's table: f64, f32, f16 before bf16, bf16 with an integer is f32, fp8 pairs, C's rules for integers with i1 as an
// unsigned 1-bit integer.
#ifndef TILEVM_SPECIALIZER_ELABORATE_PROMOTE_H_
#define TILEVM_SPECIALIZER_ELABORATE_PROMOTE_H_

#include "absl/status/statusor.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

// The strong type of a static number: bool is i1; int is the first of i32, u32, i64, u64 that holds it; float is f32, or f64 if it is beyond
// f32's normal range.
absl::StatusOr<DType> LiteralType(const Rule& rule, const Value& number);

// A static number as a scalar of that dtype.
absl::StatusOr<ValueId> ScalarConstant(Rule& rule, const Value& number, DType dtype);

// Smallest and largest value of an integer type.
absl::int128 MinInt(DType dtype);
absl::int128 MaxInt(DType dtype);

DType PromoteIntegers(DType x, DType y);
// weak: the operand is a static number of that literal type.
absl::StatusOr<DType> ComputationType(const Rule& rule, DType x, bool x_weak, DType y, bool y_weak, bool div_or_mod);

struct PromoteOptions {
  bool allow_x_pointer = false;
  bool allow_y_pointer = false;
  bool arithmetic = true;    // false: no conversion, only broadcasting
  bool div_or_mod = false;
  bool strong = false;       // static numbers become strong scalars first
};

struct OperandPair {
  ValueId x, y;
};

// Both operands as tensors of one element type and one shape. A pointer operand stays a pointer, and its partner an integer.
absl::StatusOr<OperandPair> Promote(Rule& rule, const Value& x, const Value& y, PromoteOptions options = {});

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_PROMOTE_H_
