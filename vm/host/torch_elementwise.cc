// Elementwise torch functions, operators of tensors, and type promotion.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "vm/host/convert.h"
#include "vm/host/elementwise.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {
using specializer::ValueKind;

int Category(DType d) { return isa::IsFloat(d) ? 2 : d == DType::kI1 ? 0 : 1; }
}  // namespace

absl::StatusOr<DType> PromoteDTypes(DType a, DType b) {
  if (a == b) return a;
  if (Category(a) != Category(b)) return Category(a) > Category(b) ? a : b;
  if (isa::IsFloat(a)) {
    if (isa::IsFp8(a) || isa::IsFp8(b)) {
      return absl::InvalidArgumentError(absl::StrCat("promotion of ", TorchName(a), " and ", TorchName(b), " is not defined"));
    }
    if (a == DType::kF64 || b == DType::kF64) return DType::kF64;
    return DType::kF32;  // f16 with bf16 too
  }
  const int wa = isa::BitWidth(a), wb = isa::BitWidth(b);
  if (isa::IsSigned(a) == isa::IsSigned(b)) return wa > wb ? a : b;
  const int width = isa::IsSigned(a) ? std::max(wa, wb * 2) : std::max(wb, wa * 2);
  return width > 64 ? DType::kF32 : isa::SignedOfWidth(width);
}

absl::StatusOr<Operand> MakeOperand(const Value& value, absl::string_view callee, Loc loc) {
  Operand operand;
  if (HostTensor* t = AsTensor(value)) {
    operand.is_tensor = true;
    operand.tensor = t->tensor;
    return operand;
  }
  if (!value.is_static_number()) return InvalidAt(loc, callee, ": a tensor or a number is wanted, not ", specializer::TypeName(value, nullptr));
  const DType dtype = value.is(ValueKind::kFloat) ? DType::kF64 : value.is(ValueKind::kBool) ? DType::kI1 : DType::kI64;
  TILEVM_ASSIGN_OR_RETURN(operand.tensor, Tensor::Make(dtype, {}, Fill::kZero));
  TILEVM_RETURN_IF_ERROR(FillWith(operand.tensor, value));
  operand.number = value;
  return operand;
}

// Tensors with dimensions decide; a 0-d tensor or a number only if it is of a higher category (bool < int < float).
absl::StatusOr<DType> PromoteOperands(const std::vector<Operand>& operands) {
  std::optional<DType> level[3];  // tensors with dimensions, 0-d tensors, numbers
  for (const Operand& o : operands) {
    const int l = !o.is_tensor ? 2 : o.tensor.rank() == 0 ? 1 : 0;
    const DType d = o.is_tensor ? o.tensor.dtype : o.number.is(ValueKind::kFloat) ? DType::kF32 : o.tensor.dtype;
    if (!level[l].has_value()) {
      level[l] = d;
    } else {
      TILEVM_ASSIGN_OR_RETURN(level[l], PromoteDTypes(*level[l], d));
    }
  }
  std::optional<DType> result;
  for (const std::optional<DType>& l : level) {
    if (!l.has_value()) continue;
    if (!result.has_value() || Category(*l) > Category(*result)) result = l;
  }
  return *result;
}

namespace {

absl::StatusOr<Value> Binary(BinaryKind kind, const Operand& a, const Operand& b, absl::string_view name, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(DType dtype, PromoteOperands({a, b}));
  const bool bits = kind >= BinaryKind::kAnd && kind <= BinaryKind::kShr;
  if (bits && isa::IsFloat(dtype)) return InvalidAt(loc, name, ": not for dtype ", TorchName(dtype));
  if (kind == BinaryKind::kSub && dtype == DType::kI1) return InvalidAt(loc, name, ": subtraction of two bool tensors is not supported; use ^ or logical_xor");
  if (kind == BinaryKind::kPow && !isa::IsFloat(dtype) && !b.is_tensor && b.number.int_value() < 0) {
    return InvalidAt(loc, "RuntimeError: Integers to negative integer powers are not allowed.");
  }
  if ((kind == BinaryKind::kDiv || kind == BinaryKind::kAtan2) && !isa::IsFloat(dtype)) dtype = DType::kF32;
  absl::StatusOr<Tensor> out = ApplyBinary(kind, a.tensor, b.tensor, dtype);
  if (!out.ok()) return InvalidAt(loc, name, ": ", out.status().message());
  return MakeTensorValue(*std::move(out));
}

absl::StatusOr<Value> Unary(UnaryKind kind, const Tensor& t, absl::string_view name, Loc loc) {
  DType dtype = t.dtype;
  if (kind == UnaryKind::kInvert && isa::IsFloat(dtype)) return InvalidAt(loc, name, ": not for dtype ", TorchName(dtype));
  if (kind == UnaryKind::kNeg && dtype == DType::kI1) return InvalidAt(loc, name, ": negation of a bool tensor is not supported; use ~ or logical_not");
  if (NeedsFloat(kind) && !isa::IsFloat(dtype)) dtype = DType::kF32;
  TILEVM_ASSIGN_OR_RETURN(Tensor out, ApplyUnary(kind, t, dtype));
  return MakeTensorValue(out);
}

}  // namespace

absl::Status StoreResult(const Tensor& target, const Tensor& result, Loc loc) {
  if (result.shape != target.shape) {
    return InvalidAt(loc, "RuntimeError: output with shape ", isa::ShapeToString(target.shape), " doesn't match the broadcast shape ",
                     isa::ShapeToString(result.shape));
  }
  if (Category(result.dtype) > Category(target.dtype)) {
    return InvalidAt(loc, "RuntimeError: result type ", TorchName(result.dtype), " can't be cast to the desired output type ", TorchName(target.dtype));
  }
  for (int d = 0; d < target.rank(); ++d) {
    if (target.strides[d] == 0 && target.shape[d] > 1) {
      return InvalidAt(loc, "RuntimeError: more than one element of the written-to tensor refers to a single memory location; clone() it first");
    }
  }
  return WithLoc(CopyInto(target, result), loc);
}

namespace {

// input op other, with torch.add's and torch.sub's alpha, and out=; tag + 100: in place.
constexpr int kInPlace = 100;
absl::StatusOr<Value> BinaryOp(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Operand a, MakeOperand(call.args[0], call.name, call.loc));
  Value second = call.args[1];
  if (call.args.size() > 2 && call.given_not_none(2)) {  // alpha
    TILEVM_ASSIGN_OR_RETURN(second, BinaryOperator(call.evaluator, isa::Op::kMul, second, call.args[2], call.loc));
  }
  TILEVM_ASSIGN_OR_RETURN(Operand b, MakeOperand(second, call.name, call.loc));
  if (!a.is_tensor && !b.is_tensor) return call.Error("at least one tensor is wanted");
  TILEVM_ASSIGN_OR_RETURN(Value result, Binary(static_cast<BinaryKind>(call.tag % kInPlace), a, b, call.name, call.loc));
  const Value target = call.tag >= kInPlace ? call.args[0] : call.args.size() > 3 ? call.args[3] : Value();
  if (target.absent_or_none()) return result;
  HostTensor* t = AsTensor(target);
  if (call.tag >= kInPlace) {
    TILEVM_RETURN_IF_ERROR(StoreResult(t->tensor, AsTensor(result)->tensor, call.loc));
    return target;
  }
  if (t == nullptr) return call.Error("argument 'out' must be a torch.Tensor");
  TILEVM_RETURN_IF_ERROR(CopyInto(t->tensor, AsTensor(result)->tensor));
  return target;
}

absl::StatusOr<Value> UnaryOp(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Value result, Unary(static_cast<UnaryKind>(call.tag % kInPlace), t, call.name, call.loc));
  if (call.tag >= kInPlace) {
    TILEVM_RETURN_IF_ERROR(CopyInto(t, AsTensor(result)->tensor));
    return call.args[0];
  }
  if (call.args.size() > 1 && call.params[1] == "out" && call.given_not_none(1)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor out, call.TensorArg(1));
    TILEVM_RETURN_IF_ERROR(CopyInto(out, AsTensor(result)->tensor));
    return call.args[1];
  }
  return result;
}

absl::StatusOr<Value> Gelu(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  const bool tanh = call.args[1].is(ValueKind::kString) && call.args[1].string() == "tanh";
  return Unary(tanh ? UnaryKind::kGeluTanh : UnaryKind::kGelu, t, call.name, call.loc);
}

absl::StatusOr<Value> LeakyRelu(HostCall& call) {  // 0 leaky_relu, 1 elu
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(double slope, call.FloatArg(1, call.tag == 0 ? 0.01 : 1.0));
  TILEVM_ASSIGN_OR_RETURN(Tensor x, CastTo(t, DType::kF64));
  TILEVM_ASSIGN_OR_RETURN(x, Clone(x));
  double* data = reinterpret_cast<double*>(x.data());
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (data[i] < 0) data[i] = call.tag == 0 ? data[i] * slope : slope * std::expm1(data[i]);
  }
  TILEVM_ASSIGN_OR_RETURN(Tensor out, CastTo(x, isa::IsFloat(t.dtype) ? t.dtype : DType::kF32));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> Clamp(HostCall& call) {  // clamp(min, max), clamp_min(min), clamp_max(max)
  TILEVM_RETURN_IF_ERROR(call.TensorArg(0).status());
  Value result = call.args[0];
  const int kind = call.tag % kInPlace;
  const Value low = kind == 2 ? Value::None() : call.args[1];
  const Value high = kind == 2 ? call.args[1] : call.args.size() > 2 ? call.args[2] : Value::None();
  if (low.absent_or_none() && high.absent_or_none()) return call.Error("at least one of 'min' or 'max' must not be None");
  const struct { const Value& bound; BinaryKind kind; } steps[] = {{low, BinaryKind::kMaximum}, {high, BinaryKind::kMinimum}};
  for (const auto& step : steps) {
    if (step.bound.absent_or_none()) continue;
    TILEVM_ASSIGN_OR_RETURN(Operand a, MakeOperand(result, call.name, call.loc));
    TILEVM_ASSIGN_OR_RETURN(Operand b, MakeOperand(step.bound, call.name, call.loc));
    TILEVM_ASSIGN_OR_RETURN(result, Binary(step.kind, a, b, call.name, call.loc));
  }
  if (call.tag < kInPlace) return result;
  TILEVM_RETURN_IF_ERROR(StoreResult(AsTensor(call.args[0])->tensor, AsTensor(result)->tensor, call.loc));
  return call.args[0];
}

absl::StatusOr<Tensor> Select(const Tensor& condition, const Tensor& a, const Tensor& b, DType dtype) {
  TILEVM_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(a.shape, b.shape));
  TILEVM_ASSIGN_OR_RETURN(shape, BroadcastShapes(condition.shape, shape));
  const auto ready = [&](const Tensor& t, DType as) -> absl::StatusOr<Tensor> {
    TILEVM_ASSIGN_OR_RETURN(Tensor cast, CastTo(t, as));
    TILEVM_ASSIGN_OR_RETURN(Tensor wide, ExpandTo(cast, shape));
    return Contiguous(wide);
  };
  TILEVM_ASSIGN_OR_RETURN(Tensor c, ready(condition, DType::kI1));
  TILEVM_ASSIGN_OR_RETURN(Tensor x, ready(a, dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor y, ready(b, dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Clone(y));
  const int64_t n = out.numel(), item = out.item_bytes();
  for (int64_t i = 0; i < n; ++i) {
    if (c.data()[i] != std::byte{0}) std::copy(x.data() + i * item, x.data() + (i + 1) * item, out.data() + i * item);
  }
  return out;
}

absl::StatusOr<Value> Where(HostCall& call) {
  if (call.tag == 1) std::swap(call.args[0], call.args[1]);
  if (!call.given(1) && !call.given(2)) {  // the places where it holds
    return CallHostOp(call.evaluator, *FindTorchFunction("nonzero"), call.name, Value(), CallArgs{{call.args[0]}, {{"as_tuple", Value::Bool(true)}}}, call.loc);
  }
  if (!call.given(1) || !call.given(2)) return call.Error("both values or none are wanted");
  TILEVM_ASSIGN_OR_RETURN(Tensor condition, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Operand a, MakeOperand(call.args[1], call.name, call.loc));
  TILEVM_ASSIGN_OR_RETURN(Operand b, MakeOperand(call.args[2], call.name, call.loc));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, PromoteOperands({a, b}));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Select(condition, a.tensor, b.tensor, dtype));
  return MakeTensorValue(out);
}

absl::StatusOr<Value> MaskedFill(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor mask, call.TensorArg(1));
  TILEVM_ASSIGN_OR_RETURN(Operand value, MakeOperand(call.args[2], call.name, call.loc));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Select(mask, value.tensor, t, t.dtype));
  if (call.tag == 0) return MakeTensorValue(out);
  TILEVM_RETURN_IF_ERROR(CopyInto(t, out));
  return call.args[0];
}

absl::StatusOr<Value> AddcMul(HostCall& call) {  // input + value * a * b; lerp: input + weight * (end - input)
  using isa::Op;
  const auto op = [&](Op o, const Value& x, const Value& y) { return BinaryOperator(call.evaluator, o, x, y, call.loc); };
  TILEVM_ASSIGN_OR_RETURN(Value product, call.tag == 0 ? op(Op::kMul, call.args[1], call.args[2]) : op(Op::kTrueDiv, call.args[1], call.args[2]));
  if (call.given_not_none(3)) {
    TILEVM_ASSIGN_OR_RETURN(product, op(Op::kMul, product, call.args[3]));
  }
  return op(Op::kAdd, call.args[0], product);
}

#define UNARY(names, kind) {names, "input | out?", UnaryOp, static_cast<int>(UnaryKind::kind)}
#define UNARY_(names, kind) {names, "input", UnaryOp, kInPlace + static_cast<int>(UnaryKind::kind)}
#define BINARY(names, kind) {names, "input other | alpha? out?", BinaryOp, static_cast<int>(BinaryKind::kind)}
#define BINARY_(names, kind) {names, "input other | alpha?", BinaryOp, kInPlace + static_cast<int>(BinaryKind::kind)}
constexpr HostOp kOps[] = {
    UNARY("neg .neg negative", kNeg), UNARY("abs .abs absolute", kAbs), UNARY("exp .exp", kExp), UNARY("exp2 .exp2", kExp2),
    UNARY("expm1 .expm1", kExpm1), UNARY("log .log", kLog), UNARY("log2 .log2", kLog2), UNARY("log10 .log10", kLog10),
    UNARY("log1p .log1p", kLog1p), UNARY("sqrt .sqrt", kSqrt), UNARY("rsqrt .rsqrt", kRsqrt), UNARY("sin .sin", kSin), UNARY("cos .cos", kCos),
    UNARY("tan .tan", kTan), UNARY("tanh .tanh nn.functional.tanh", kTanh), UNARY("erf .erf", kErf), UNARY("floor .floor", kFloor),
    UNARY("ceil .ceil", kCeil), UNARY("round .round", kRound), UNARY("trunc .trunc", kTrunc), UNARY("sign .sign", kSign),
    UNARY("reciprocal .reciprocal", kReciprocal), UNARY("square .square", kSquare), UNARY("asin .asin arcsin", kAsin),
    UNARY("acos .acos arccos", kAcos), UNARY("atan .atan arctan", kAtan), UNARY("sinh .sinh", kSinh), UNARY("cosh .cosh", kCosh),
    UNARY("sigmoid .sigmoid nn.functional.sigmoid special.expit", kSigmoid), UNARY("isnan .isnan", kIsNan), UNARY("isinf .isinf", kIsInf),
    UNARY("isfinite .isfinite", kIsFinite), UNARY("logical_not .logical_not", kLogicalNot), UNARY("bitwise_not .bitwise_not", kInvert),
    {"relu .relu nn.functional.relu", "input | inplace?", UnaryOp, static_cast<int>(UnaryKind::kRelu)},
    {"nn.functional.silu", "input | inplace?", UnaryOp, static_cast<int>(UnaryKind::kSilu)},
    UNARY("nn.functional.softplus", kSoftplus), UNARY("nn.functional.logsigmoid", kLogSigmoid),
    UNARY_(".exp_", kExp), UNARY_(".sqrt_", kSqrt), UNARY_(".abs_", kAbs), UNARY_(".neg_", kNeg), UNARY_(".relu_", kRelu), UNARY_(".sigmoid_", kSigmoid),
    {"nn.functional.gelu", "input | approximate?", Gelu},
    {"nn.functional.leaky_relu", "input negative_slope? inplace?", LeakyRelu, 0},
    {"nn.functional.elu", "input alpha? inplace?", LeakyRelu, 1},
    BINARY("add .add", kAdd), BINARY("sub .sub subtract", kSub), BINARY("mul .mul multiply", kMul), BINARY("div .div true_divide divide", kDiv),
    BINARY("floor_divide .floor_divide", kFloorDiv), BINARY("remainder .remainder", kRemainder), BINARY("fmod .fmod", kFmod),
    BINARY("pow .pow", kPow), BINARY("maximum .maximum", kMaximum), BINARY("minimum .minimum", kMinimum), BINARY("atan2 .atan2", kAtan2),
    BINARY("bitwise_and .bitwise_and", kAnd), BINARY("bitwise_or .bitwise_or", kOr), BINARY("bitwise_xor .bitwise_xor", kXor),
    BINARY("bitwise_left_shift .bitwise_left_shift", kShl), BINARY("bitwise_right_shift .bitwise_right_shift", kShr),
    BINARY("lt .lt less", kLt), BINARY("le .le less_equal", kLe), BINARY("gt .gt greater", kGt), BINARY("ge .ge greater_equal", kGe),
    BINARY("eq .eq", kEq), BINARY("ne .ne not_equal", kNe), BINARY("logical_and .logical_and", kLogicalAnd),
    BINARY("logical_or .logical_or", kLogicalOr), BINARY("logical_xor .logical_xor", kLogicalXor),
    BINARY_(".add_", kAdd), BINARY_(".sub_", kSub), BINARY_(".mul_", kMul), BINARY_(".div_", kDiv), BINARY_(".pow_", kPow),
    {"clamp .clamp clip .clip", "input min? max? | out?", Clamp, 0},
    {".clamp_ .clip_", "input min? max?", Clamp, kInPlace},
    {"clamp_min .clamp_min", "input min", Clamp, 1},
    {"clamp_max .clamp_max", "input max", Clamp, 2},
    {"where", "condition input? other?", Where, 0}, {".where", "input condition other", Where, 1},
    {"masked_fill .masked_fill", "input mask value", MaskedFill, 0},
    {".masked_fill_", "input mask value", MaskedFill, 1},
    {"addcmul .addcmul", "input tensor1 tensor2 | value?", AddcMul, 0},
    {"addcdiv .addcdiv", "input tensor1 tensor2 | value?", AddcMul, 1},
};

}  // namespace

absl::Span<const HostOp> ElementwiseOps() { return kOps; }

namespace {
// What == and != find different from every tensor.
bool IsNoOperand(const Value& value) { return AsTensor(value) == nullptr && !value.is_static_number() && !value.is(ValueKind::kConstexpr); }
}  // namespace

absl::StatusOr<Value> BinaryOperator(Evaluator&, isa::Op op, const Value& x, const Value& y, Loc loc) {
  using isa::Op;
  struct Row {
    Op op;
    BinaryKind kind;
    absl::string_view symbol;
  };
  static constexpr Row kRows[] = {
      {Op::kAdd, BinaryKind::kAdd, "+"},       {Op::kSub, BinaryKind::kSub, "-"},       {Op::kMul, BinaryKind::kMul, "*"},
      {Op::kTrueDiv, BinaryKind::kDiv, "/"},   {Op::kFloorDiv, BinaryKind::kFloorDiv, "//"}, {Op::kMod, BinaryKind::kRemainder, "%"},
      {Op::kPow, BinaryKind::kPow, "**"},      {Op::kBitAnd, BinaryKind::kAnd, "&"},    {Op::kBitOr, BinaryKind::kOr, "|"},
      {Op::kBitXor, BinaryKind::kXor, "^"},    {Op::kShl, BinaryKind::kShl, "<<"},      {Op::kShr, BinaryKind::kShr, ">>"},
      {Op::kLt, BinaryKind::kLt, "<"},         {Op::kLe, BinaryKind::kLe, "<="},        {Op::kGt, BinaryKind::kGt, ">"},
      {Op::kGe, BinaryKind::kGe, ">="},        {Op::kEq, BinaryKind::kEq, "=="},        {Op::kNe, BinaryKind::kNe, "!="},
  };
  if (op == Op::kMatMul) {
    HostTensor *a = AsTensor(x), *b = AsTensor(y);
    if (a == nullptr || b == nullptr) {
      return InvalidAt(loc, "@: two tensors are wanted, not ", specializer::TypeName(x, nullptr), " and ", specializer::TypeName(y, nullptr));
    }
    absl::StatusOr<Tensor> product = MatMul(a->tensor, b->tensor);
    if (!product.ok()) return InvalidAt(loc, "@: ", product.status().message());
    return MakeTensorValue(*std::move(product));
  }
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    if ((op == Op::kEq || op == Op::kNe) && (IsNoOperand(x) || IsNoOperand(y))) return Value::Bool(op == Op::kNe);
    TILEVM_ASSIGN_OR_RETURN(Operand a, MakeOperand(x, row.symbol, loc));
    TILEVM_ASSIGN_OR_RETURN(Operand b, MakeOperand(y, row.symbol, loc));
    return Binary(row.kind, a, b, row.symbol, loc);
  }
  return UnimplementedAt(loc, "operator ", isa::Mnemonic(op), " on a torch.Tensor is not supported");
}

absl::StatusOr<Value> HostTensor::Unary(Evaluator&, isa::Op op, Loc loc) {
  switch (op) {
    case isa::Op::kNeg: return host::Unary(UnaryKind::kNeg, tensor, "-", loc);
    case isa::Op::kInvert: return host::Unary(UnaryKind::kInvert, tensor, "~", loc);
    case isa::Op::kPos: return self_value();
    case isa::Op::kAbs: return host::Unary(UnaryKind::kAbs, tensor, "abs", loc);
    default: return UnimplementedAt(loc, "operator ", isa::Mnemonic(op), " on a torch.Tensor is not supported");
  }
}

}  // namespace tilevm::vm::host
