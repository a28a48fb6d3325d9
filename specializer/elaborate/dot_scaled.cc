// dot_scaled: microscaled operands are widened to bf16 (f16 if the other side is f16), times their scales, and multiplied by an ordinary dot. Values
// and products with scales are exact in bf16: at most 4 significant bits, or 7 with an e4m3 scale.
//
//   e2m1   two 4-bit floats in a u8, the first in the low half; packed along K (or, with k_pack False, along the other dimension)
//   e4m3, e5m2   fp8, or their bits in u8;   bf16, fp16   as they are
//   scale  [rows, K / group]: u8 is the power of two 2^(s - 127), 255 is NaN; e4m3 is a number. The group follows from the shapes.
#include "specializer/elaborate/dot_scaled.h"

namespace tilevm::specializer {
namespace {

ValueId Bits(Rule& rule, Op op, ValueId x, int64_t constant) {
  const Type type = rule.TypeOf(x);
  const ValueId c = rule.builder().Splat(rule.ConstInt(type.elem.dtype, constant), type.shape, rule.loc());
  return rule.Emit(op, type, {x, c});
}

ValueId Or(Rule& rule, ValueId x, ValueId y) { return rule.EmitLike(Op::kBitOr, x, {x, y}); }

ValueId Transposed(Rule& rule, ValueId x) {
  Type type = rule.TypeOf(x);
  std::swap(type.shape[0], type.shape[1]);
  return rule.Emit(Op::kPermute, type, {x}, {{"dims", std::vector<int64_t>{1, 0}}});
}

ValueId IfEqual(Rule& rule, ValueId x, int64_t n, int64_t then, ValueId otherwise) {
  const Type type = rule.TypeOf(x);
  const ValueId c = rule.builder().Splat(rule.ConstInt(type.elem.dtype, n), type.shape, rule.loc());
  const ValueId equal = rule.Emit(Op::kEq, isa::TileType(DType::kI1, type.shape), {x, c});
  const ValueId value = rule.builder().Splat(rule.ConstInt(type.elem.dtype, then), type.shape, rule.loc());
  return rule.EmitLike(Op::kWhere, otherwise, {equal, value, otherwise});
}

// A nibble s e e m in u16: 0, 0.5, 1, 1.5, 2, 3, 4, 6 as the bits of a bf16.
ValueId DecodeNibble(Rule& rule, ValueId nibble) {
  const ValueId sign = Bits(rule, Op::kShl, Bits(rule, Op::kShr, nibble, 3), 15);
  const ValueId exponent = Bits(rule, Op::kBitAnd, Bits(rule, Op::kShr, nibble, 1), 3);
  const ValueId fraction = Bits(rule, Op::kBitAnd, nibble, 1);
  const ValueId biased = Bits(rule, Op::kShl, Bits(rule, Op::kAdd, exponent, 126), 7);
  const ValueId normal = Or(rule, biased, Bits(rule, Op::kShl, fraction, 6));
  const ValueId half = Bits(rule, Op::kMul, fraction, 0x3F00);
  const Type type = rule.TypeOf(nibble);
  const ValueId zero = rule.Zero(type.elem, type.shape);
  const ValueId is_small = rule.Emit(Op::kEq, isa::TileType(DType::kI1, type.shape), {exponent, zero});
  const ValueId magnitude = rule.EmitLike(Op::kWhere, normal, {is_small, half, normal});
  return rule.Bitcast(Or(rule, magnitude, sign), {DType::kBF16, false});
}

// [R, C] of u8 to [R, 2 C] of bf16.
ValueId Unpack(Rule& rule, ValueId packed) {
  const ValueId wide = rule.Cast(packed, DType::kU16);
  const ValueId low = DecodeNibble(rule, Bits(rule, Op::kBitAnd, wide, 15));
  const ValueId high = DecodeNibble(rule, Bits(rule, Op::kShr, wide, 4));
  Type pair = rule.TypeOf(low);
  const Shape merged = {pair.shape[0], pair.shape[1] * 2};
  pair.shape.push_back(2);
  return rule.Reshape(rule.Emit(Op::kJoin, pair, {low, high}), merged);
}

// A scale as bf16.
ValueId DecodeScale(Rule& rule, ValueId scale) {
  if (rule.DTypeOf(scale) == DType::kF8E4M3) return rule.Cast(scale, DType::kBF16);
  const ValueId bits = rule.Cast(scale, DType::kU16);
  ValueId exponent = IfEqual(rule, bits, 0, 0x0040, Bits(rule, Op::kShl, bits, 7));  // 2^-127 is subnormal
  exponent = IfEqual(rule, bits, 255, 0x7FFF, exponent);
  return rule.Bitcast(exponent, {DType::kBF16, false});
}

// The operand as bf16 or f16 with K last, not yet scaled.
absl::StatusOr<ValueId> Widen(Rule& rule, ValueId x, const std::string& format, bool k_last, bool k_pack, absl::string_view name) {
  const Type type = rule.TypeOf(x);
  const DType dtype = type.elem.dtype;
  if (format == "e2m1") {
    if (dtype != DType::kU8) return rule.Error("operand ", name, " is ", isa::ToString(type), " in format e2m1, wanted u8");
    const bool packed_last = k_last == k_pack;
    const ValueId values = Unpack(rule, packed_last ? x : Transposed(rule, x));
    return packed_last == k_last ? values : Transposed(rule, values);
  }
  const bool e4m3 = format == "e4m3", e5m2 = format == "e5m2";
  if (e4m3 || e5m2) {
    const DType fp8 = e4m3 ? DType::kF8E4M3 : DType::kF8E5M2;
    if (dtype != DType::kU8 && dtype != fp8) return rule.Error("operand ", name, " is ", isa::ToString(type), " in format ", format);
    x = rule.Cast(rule.Bitcast(x, {fp8, false}), DType::kBF16);
  } else if (format == "bf16" || format == "fp16") {
    if (dtype != (format == "bf16" ? DType::kBF16 : DType::kF16)) return rule.Error("operand ", name, " is ", isa::ToString(type), " in format ", format);
  } else {
    return rule.Error("format of ", name, " is \"", format, "\", wanted e2m1, e4m3, e5m2, bf16 or fp16");
  }
  return k_last ? x : Transposed(rule, x);
}

// x: [rows, K] times scale: [rows, K / group].
absl::StatusOr<ValueId> Scale(Rule& rule, ValueId x, const Value& given, absl::string_view name) {
  if (given.absent_or_none()) return x;
  TILEVM_ASSIGN_OR_RETURN(const ValueId scale, rule.Tensor(given, name));
  const Type type = rule.TypeOf(scale), data = rule.TypeOf(x);
  const int64_t k = data.shape[1];
  const bool shapes = type.rank() == 2 && type.shape[0] == data.shape[0] && k % type.shape[1] == 0 && (k / type.shape[1] == 16 || k / type.shape[1] == 32);
  if (!shapes || (type.elem.dtype != DType::kU8 && type.elem.dtype != DType::kF8E4M3)) {
    return rule.Error("operand ", name, " is ", isa::ToString(type), ", wanted u8 or f8e4m3 of [", data.shape[0], ", K / 16 or K / 32] with K = ", k);
  }
  const int64_t group = k / type.shape[1];
  ValueId factors = rule.ExpandDims(DecodeScale(rule, scale), 2);
  factors = rule.builder().Broadcast(factors, {type.shape[0], type.shape[1], group}, rule.loc());
  factors = rule.Cast(rule.Reshape(factors, data.shape), data.elem.dtype);
  return rule.EmitLike(Op::kMul, x, {x, factors});
}

}  // namespace

absl::StatusOr<Value> DotScaled(Rule& rule) {
  ValueId sides[2];
  std::string formats[2];
  for (int i : {0, 1}) {
    const absl::string_view name = i == 0 ? "lhs" : "rhs", format = i == 0 ? "lhs_format" : "rhs_format";
    TILEVM_ASSIGN_OR_RETURN(formats[i], rule.String(format, ""));
    TILEVM_ASSIGN_OR_RETURN(const ValueId x, rule.Tensor(name));
    if (rule.TypeOf(x).rank() != 2) return rule.Error("operand ", name, " is ", isa::ToString(rule.TypeOf(x)), ", wanted rank 2");
    TILEVM_ASSIGN_OR_RETURN(const bool k_pack, rule.Bool(i == 0 ? "lhs_k_pack" : "rhs_k_pack", true));
    TILEVM_ASSIGN_OR_RETURN(sides[i], Widen(rule, x, formats[i], i == 0, k_pack, name));
  }
  const bool half = formats[0] == "fp16" || formats[1] == "fp16";
  for (int i : {0, 1}) {
    const absl::string_view name = i == 0 ? "lhs_scale" : "rhs_scale";
    TILEVM_ASSIGN_OR_RETURN(sides[i], Scale(rule, sides[i], rule[name], name));
    sides[i] = rule.Cast(sides[i], half ? DType::kF16 : DType::kBF16);
  }
  // Operands of dot in row order: a, b, acc, input_precision, allow_tf32, max_num_imprecise_acc, out_dtype.
  const Value a = Result(sides[0]);
  const Value b = Result(Transposed(rule, sides[1]));
  TILEVM_ASSIGN_OR_RETURN(const Value product, rule.Apply(Op::kDot, {a, b, rule["acc"], Value(), Value(), Value(), Value()}));
  if (rule["out_dtype"].absent_or_none()) return product;
  TILEVM_ASSIGN_OR_RETURN(const DType out, rule.DTypeArg("out_dtype"));
  return Result(rule.Cast(product.tensor(), out));
}

}  // namespace tilevm::specializer
