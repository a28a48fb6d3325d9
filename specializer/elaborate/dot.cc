// dot: operand types, the result type, minimum extents, the accumulator made explicit; leading dimensions beyond one are folded into one batch.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "specializer/elaborate/dot_scaled.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

constexpr absl::string_view kPrecisions[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"};

// What the tensor cores of every target take at least along K.
int64_t MinimumK(DType dtype) {
  return 256 / isa::BitWidth(dtype);  // 4 for f64, 8 for f32, 16 for 16 bits, 32 for 8 bits
}

absl::Status CheckOperandTypes(const Rule& rule, const Type& a, const Type& b) {
  for (auto [type, name] : {std::pair{&a, "a"}, std::pair{&b, "b"}}) {
    const DType dtype = type->elem.dtype;
    const bool allowed = !type->elem.pointer && (isa::IsFloat(dtype) || dtype == DType::kI8);
    if (!allowed) return rule.Error("operand ", name, " is ", isa::ToString(*type), ", wanted i8, fp8, f16, bf16, f32 or f64");
  }
  if (a.elem != b.elem && !(isa::IsFp8(a.elem.dtype) && isa::IsFp8(b.elem.dtype))) {
    return rule.Error("operands are ", isa::ToString(a), " and ", isa::ToString(b), ", wanted one element type");
  }
  return absl::OkStatus();
}

absl::Status CheckShapes(const Rule& rule, const Type& a, const Type& b) {
  const int rank = a.rank();
  if (rank < 2 || rank != b.rank()) return rule.Error("operands are ", isa::ToString(a), " and ", isa::ToString(b), ", wanted one rank of 2 or more");
  const int64_t k = a.shape[rank - 1];
  if (b.shape[rank - 2] != k) return rule.Error("operand b is ", isa::ToString(b), ", dimension K is already ", k);
  for (int i = 0; i + 2 < rank; ++i) {
    if (a.shape[i] != b.shape[i]) return rule.Error("operand b is ", isa::ToString(b), ", dimension B is already ", a.shape[i]);
  }
  const int64_t least = MinimumK(a.elem.dtype);
  if (k < least) return rule.Error("operands are ", isa::ToString(a), " and ", isa::ToString(b), ": K is ", k, ", wanted at least ", least, " for ", isa::Name(a.elem.dtype));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Precision(Rule& rule, DType dtype) {
  const Value& given = rule["input_precision"];
  const Value& allow_tf32 = rule["allow_tf32"];
  if (!given.absent_or_none() && !allow_tf32.absent_or_none()) return rule.Error("input_precision and allow_tf32 are both given");
  TILEVM_ASSIGN_OR_RETURN(const bool tf32, rule.Bool("allow_tf32", true));
  TILEVM_ASSIGN_OR_RETURN(std::string text, rule.String("input_precision", tf32 ? "tf32" : "ieee"));
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::find(std::begin(kPrecisions), std::end(kPrecisions), text) == std::end(kPrecisions)) {
    return rule.Error("input_precision is \"", text, "\", wanted one of ", absl::StrJoin(kPrecisions, ", "));
  }
  return dtype == DType::kF32 ? text : std::string("ieee");  // it says something about f32 operands only
}

absl::StatusOr<DType> ResultType(Rule& rule, DType operand, ValueId acc) {
  if (operand == DType::kI8) return DType::kI32;
  DType out = acc == ir::kNoValue ? DType::kF32 : rule.DTypeOf(acc);
  if (!rule["out_dtype"].absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(out, rule.DTypeArg("out_dtype"));
  }
  if (out == DType::kBF16) return rule.Error("out_dtype is bf16, wanted f32 or f16; cast the result with .to(tl.bfloat16)");
  if (operand == DType::kF32 || operand == DType::kBF16) return DType::kF32;
  if (operand == DType::kF64) return DType::kF64;
  if (out != DType::kF32 && out != DType::kF16) return rule.Error("out_dtype is ", isa::Name(out), ", wanted f32 or f16");
  return out;
}

// Folds all but the last two dimensions into one.
ValueId Fold(Rule& rule, ValueId x) {
  const Type type = rule.TypeOf(x);
  if (type.rank() <= 3) return x;
  const int64_t m = type.shape[type.rank() - 2], n = type.shape[type.rank() - 1];
  return rule.Reshape(x, {type.elem_count() / (m * n), m, n});
}

absl::StatusOr<Value> Dot(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(ValueId a, rule.Tensor("a"));
  TILEVM_ASSIGN_OR_RETURN(ValueId b, rule.Tensor("b"));
  const Type a_type = rule.TypeOf(a), b_type = rule.TypeOf(b);
  TILEVM_RETURN_IF_ERROR(CheckOperandTypes(rule, a_type, b_type));
  TILEVM_RETURN_IF_ERROR(CheckShapes(rule, a_type, b_type));
  ValueId acc = ir::kNoValue;
  if (!rule["acc"].absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(acc, rule.Tensor("acc"));
  }
  const DType operand = a_type.elem.dtype;
  TILEVM_ASSIGN_OR_RETURN(const DType out, ResultType(rule, operand, acc));
  TILEVM_ASSIGN_OR_RETURN(const std::string precision, Precision(rule, operand));
  const int64_t k = a_type.shape.back();
  TILEVM_ASSIGN_OR_RETURN(const int64_t imprecise, rule.Int("max_num_imprecise_acc", 0));
  if (imprecise > k || imprecise < 0) return rule.Error("max_num_imprecise_acc is ", imprecise, ", wanted 0 to K, which is ", k);
  Type result{{out, false}, a_type.shape};
  result.shape.back() = b_type.shape.back();
  TILEVM_RETURN_IF_ERROR(rule.CheckShape(result.shape));
  if (acc == ir::kNoValue) acc = rule.Zero(result.elem, result.shape);
  if (rule.TypeOf(acc) != result) return rule.Error("operand acc is ", isa::ToString(rule.TypeOf(acc)), ", wanted ", isa::ToString(result));
  a = Fold(rule, a);
  b = Fold(rule, b);
  acc = Fold(rule, acc);
  const ValueId product = rule.EmitLike(Op::kDot, acc, {a, b, acc}, {{"input_precision", precision}, {"max_num_imprecise_acc", imprecise}});
  return Result(rule.Reshape(product, result.shape));
}

}  // namespace

absl::StatusOr<Value> ElaborateDot(Rule& rule) { return rule.op() == Op::kDotScaled ? DotScaled(rule) : Dot(rule); }

}  // namespace tilevm::specializer
