// The promotion table. Its order of tests is Triton's; every line decides.
#include "specializer/elaborate/promote.h"

#include <cfloat>
#include <cmath>

#include "specializer/elaborate/broadcast.h"

namespace tilevm::specializer {
namespace {

enum class NumberKind { kBool, kInt, kFloat };

NumberKind KindOf(DType dtype) {
  if (dtype == DType::kI1) return NumberKind::kBool;
  return isa::IsFloat(dtype) ? NumberKind::kFloat : NumberKind::kInt;
}

bool Is16BitFloat(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

absl::Status CheckPointer(const Rule& rule, const Type& type, const Type& other, bool allowed) {
  if (!type.elem.pointer) return absl::OkStatus();
  const bool clash = (other.elem.pointer && other.elem != type.elem) || (!other.elem.pointer && isa::IsFloat(other.elem.dtype));
  if (allowed && !clash) return absl::OkStatus();
  return rule.Error("operands are ", isa::ToString(type), " and ", isa::ToString(other), allowed ? "; their types do not go together" : "; pointers are not allowed here");
}

// A weak number must fit the type it takes.
absl::Status CheckFits(const Rule& rule, const Value& number, DType dtype) {
  if (!isa::IsInteger(dtype) || number.is(ValueKind::kFloat)) return absl::OkStatus();
  if (number.int_value() < 0 && isa::IsUnsigned(dtype)) {
    return rule.Error("a tensor of ", isa::Name(dtype), " and the negative number ", Repr(number), "; cast one of them");
  }
  if (number.int_value() < MinInt(dtype) || number.int_value() > MaxInt(dtype)) {
    return rule.Error("the number ", Repr(number), " is out of range for ", isa::Name(dtype));
  }
  return absl::OkStatus();
}

absl::StatusOr<DType> TypeOfNumber(Rule& rule, const Value& value, ValueId tensor, bool weak) {
  if (weak) return LiteralType(rule, value);
  return rule.DTypeOf(tensor);
}

}  // namespace

absl::int128 MinInt(DType dtype) {
  if (isa::IsUnsigned(dtype)) return 0;
  return -(absl::int128(1) << (isa::BitWidth(dtype) - 1));
}

absl::int128 MaxInt(DType dtype) {
  const int bits = isa::BitWidth(dtype) - (isa::IsSigned(dtype) ? 1 : 0);
  return (absl::int128(1) << bits) - 1;
}

absl::StatusOr<DType> LiteralType(const Rule& rule, const Value& number) {
  if (number.is(ValueKind::kBool)) return DType::kI1;
  if (number.is(ValueKind::kInt)) {
    for (DType dtype : {DType::kI32, DType::kU32, DType::kI64, DType::kU64}) {
      if (number.int_value() >= MinInt(dtype) && number.int_value() <= MaxInt(dtype)) return dtype;
    }
    return rule.Error("the number ", Repr(number), " does not fit 64 bits");
  }
  const double magnitude = std::fabs(number.float_value());
  if (magnitude == 0 || std::isnan(magnitude) || std::isinf(magnitude)) return DType::kF32;
  return magnitude >= static_cast<double>(FLT_MIN) && magnitude <= static_cast<double>(FLT_MAX) ? DType::kF32 : DType::kF64;
}

absl::StatusOr<ValueId> ScalarConstant(Rule& rule, const Value& number, DType dtype) {
  const bool is_float = number.is(ValueKind::kFloat);
  if (isa::IsFloat(dtype)) return rule.ConstFloat(dtype, is_float ? number.float_value() : static_cast<double>(number.int_value()));
  absl::int128 value = number.int_value();
  if (is_float) {
    if (!(std::fabs(number.float_value()) < 9.3e18) || std::trunc(number.float_value()) != number.float_value()) {
      return rule.Error("the number ", Repr(number), " is not a value of ", isa::Name(dtype));
    }
    value = static_cast<absl::int128>(number.float_value());
  }
  if (dtype == DType::kI1) return rule.ConstInt(dtype, value != 0 ? 1 : 0);
  if (value < MinInt(dtype) || value > MaxInt(dtype)) return rule.Error("the number ", Repr(number), " is out of range for ", isa::Name(dtype));
  return rule.ConstInt(dtype, static_cast<int64_t>(absl::Int128Low64(value)));
}

DType PromoteIntegers(DType x, DType y) {
  const int x_bits = isa::BitWidth(x), y_bits = isa::BitWidth(y);
  if (isa::IsSigned(x) == isa::IsSigned(y)) return x_bits > y_bits ? x : y;
  if (isa::IsUnsigned(x)) return x_bits >= y_bits ? x : y;
  return y_bits >= x_bits ? y : x;
}

absl::StatusOr<DType> ComputationType(const Rule& rule, DType x, bool x_weak, DType y, bool y_weak, bool div_or_mod) {
  if (x_weak != y_weak) {
    const DType scalar = x_weak ? x : y;
    const DType tensor = x_weak ? y : x;
    if (KindOf(scalar) <= KindOf(tensor)) return div_or_mod && Is16BitFloat(tensor) ? DType::kF32 : tensor;
  }
  const auto either = [&](DType dtype) { return x == dtype || y == dtype; };
  if (either(DType::kF64)) return DType::kF64;
  if (either(DType::kF32)) return DType::kF32;
  if (either(DType::kF16)) return div_or_mod ? DType::kF32 : DType::kF16;
  if (x == DType::kBF16 && y == DType::kBF16) return div_or_mod ? DType::kF32 : DType::kBF16;
  if (either(DType::kBF16)) return DType::kF32;
  if (isa::IsFp8(x) && isa::IsFp8(y)) return x == y ? x : DType::kF16;
  if (isa::IsFloat(x) || isa::IsFloat(y)) {
    return rule.Error("operands are of ", isa::Name(x), " and ", isa::Name(y), "; fp8 and an integer do not mix, cast one of them");
  }
  if (div_or_mod && isa::IsSigned(x) != isa::IsSigned(y)) {
    return rule.Error("operands are of ", isa::Name(x), " and ", isa::Name(y), "; /, // and % need the same signedness, cast one of them");
  }
  return PromoteIntegers(x, y);
}

absl::StatusOr<OperandPair> Promote(Rule& rule, const Value& x, const Value& y, PromoteOptions options) {
  // Two static numbers together are strong, each of its own type.
  const bool both_static = x.is_static_number() && y.is_static_number();
  const bool x_weak = x.is_static_number() && !options.strong && !both_static;
  const bool y_weak = y.is_static_number() && !options.strong && !both_static;
  OperandPair pair{ir::kNoValue, ir::kNoValue};
  if (!x_weak) {
    TILEVM_ASSIGN_OR_RETURN(pair.x, rule.Tensor(x, "x"));
  }
  if (!y_weak) {
    TILEVM_ASSIGN_OR_RETURN(pair.y, rule.Tensor(y, "y"));
  }
  TILEVM_ASSIGN_OR_RETURN(const DType x_number, TypeOfNumber(rule, x, pair.x, x_weak));
  TILEVM_ASSIGN_OR_RETURN(const DType y_number, TypeOfNumber(rule, y, pair.y, y_weak));
  const Type x_type = x_weak ? isa::ScalarType(x_number) : rule.TypeOf(pair.x);
  const Type y_type = y_weak ? isa::ScalarType(y_number) : rule.TypeOf(pair.y);
  TILEVM_RETURN_IF_ERROR(CheckPointer(rule, x_type, y_type, options.allow_x_pointer));
  TILEVM_RETURN_IF_ERROR(CheckPointer(rule, y_type, x_type, options.allow_y_pointer));
  const bool convert = options.arithmetic && !x_type.elem.pointer && !y_type.elem.pointer;
  DType x_to = x_number, y_to = y_number;
  if (convert) {
    TILEVM_ASSIGN_OR_RETURN(const DType common, ComputationType(rule, x_number, x_weak, y_number, y_weak, options.div_or_mod));
    if (x_weak) TILEVM_RETURN_IF_ERROR(CheckFits(rule, x, common));
    if (y_weak) TILEVM_RETURN_IF_ERROR(CheckFits(rule, y, common));
    x_to = y_to = common;
  }
  if (x_weak) {
    TILEVM_ASSIGN_OR_RETURN(pair.x, ScalarConstant(rule, x, x_to));
  }
  if (y_weak) {
    TILEVM_ASSIGN_OR_RETURN(pair.y, ScalarConstant(rule, y, y_to));
  }
  if (convert) {
    pair.x = rule.Cast(pair.x, x_to);
    pair.y = rule.Cast(pair.y, y_to);
  }
  return BroadcastPair(rule, pair.x, pair.y);
}

}  // namespace tilevm::specializer
