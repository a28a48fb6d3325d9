// Losses, activations and norms of torch.nn.functional: references for what kernels compute, in float64, rounded once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {
namespace {

using specializer::ValueKind;

absl::StatusOr<std::vector<double>> Doubles(const Tensor& t) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, Contiguous(t));
  std::vector<double> out(static_cast<size_t>(x.numel()));
  LoadElems(x.dtype, x.data(), x.numel(), out.data());
  return out;
}

absl::StatusOr<Value> FromDoubles(DType dtype, Shape shape, const std::vector<double>& v) {
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(dtype, std::move(shape), Fill::kZero));
  StoreElems(dtype, out.data(), out.numel(), v.data());
  return MakeTensorValue(out);
}

// What `reduction` makes of the losses; `weight` is what the mean divides by.
absl::StatusOr<Value> Reduced(HostCall& call, const Value& reduction, DType dtype, Shape shape, const std::vector<double>& losses, double weight) {
  const std::string how = reduction.is(ValueKind::kString) ? reduction.string() : reduction.absent_or_none() ? "mean" : "?";
  if (how == "none") return FromDoubles(dtype, std::move(shape), losses);
  double total = 0;
  for (double loss : losses) total += loss;
  if (how == "sum") return FromDoubles(dtype, {}, {total});
  if (how == "mean") return FromDoubles(dtype, {}, {total / weight});
  if (how == "batchmean") return FromDoubles(dtype, {}, {total / (shape.empty() ? 1.0 : static_cast<double>(shape[0]))});
  return call.Error("reduction '", how, "' is none of 'mean', 'sum' and 'none'");
}

// --- losses of two tensors, element by element ---

enum Loss { kMse, kL1, kSmoothL1, kHuber, kKl, kKlLog, kBce, kBceLogits };

double ElementLoss(int kind, double x, double t, double parameter) {
  const double d = std::abs(x - t);
  switch (kind) {
    case kMse: return d * d;
    case kL1: return d;
    case kSmoothL1: return d < parameter ? 0.5 * d * d / parameter : d - 0.5 * parameter;
    case kHuber: return d <= parameter ? 0.5 * d * d : parameter * (d - 0.5 * parameter);
    case kKl: return t > 0 ? t * (std::log(t) - x) : t == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
    case kKlLog: return std::exp(t) * (t - x);
    case kBce: return -(t * std::max(std::log(x), -100.0) + (1 - t) * std::max(std::log1p(-x), -100.0));
    default: return std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::abs(x)));
  }
}

// (input, target | reduction, the loss's own parameter, ...)
absl::StatusOr<Value> PairLoss(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(1));
  int kind = call.tag;
  double parameter = 1;
  const size_t reduction = kind == kBce || kind == kBceLogits ? 3 : 2;
  if (kind == kSmoothL1 || kind == kHuber) {
    TILEVM_ASSIGN_OR_RETURN(parameter, call.FloatArg(3, 1.0));
  } else if (kind == kKl) {
    TILEVM_ASSIGN_OR_RETURN(bool log_target, call.BoolArg(3, false));
    if (log_target) kind = kKlLog;
  } else if (reduction == 3 && call.given_not_none(2)) {
    return UnimplementedAt(call.loc, call.name, ": weight is not supported");
  }
  if (call.args.size() > 4 && call.given_not_none(4)) return UnimplementedAt(call.loc, call.name, ": ", call.params[4], " is not supported");
  TILEVM_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(x.shape, t.shape));
  TILEVM_ASSIGN_OR_RETURN(const DType dtype, PromoteDTypes(x.dtype, t.dtype));
  TILEVM_ASSIGN_OR_RETURN(x, ExpandTo(x, shape));
  TILEVM_ASSIGN_OR_RETURN(t, ExpandTo(t, shape));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> losses, Doubles(x));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> targets, Doubles(t));
  for (size_t i = 0; i < losses.size(); ++i) losses[i] = ElementLoss(kind, losses[i], targets[i], parameter);
  return Reduced(call, call.args[reduction], dtype, shape, losses, static_cast<double>(losses.size()));
}

// --- losses over classes ---

// Rows of classes, the class dimension last: [C], or [N, C, ...].
absl::StatusOr<Tensor> ClassesLast(const Tensor& t) {
  Tensor x = t;
  if (x.rank() > 2) {
    std::rotate(x.shape.begin() + 1, x.shape.begin() + 2, x.shape.end());
    std::rotate(x.strides.begin() + 1, x.strides.begin() + 2, x.strides.end());
  }
  return Contiguous(x);
}

// cross_entropy (0), nll_loss (1): input target weight? ignore_index? reduction? label_smoothing?
absl::StatusOr<Value> ClassLoss(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(Tensor target, call.TensorArg(1));
  if (x.rank() == 0 || !isa::IsFloat(x.dtype)) return call.Error("the input has to be a tensor of floats with a dimension of classes");
  TILEVM_ASSIGN_OR_RETURN(const int64_t ignored, call.IntArg(3, -100));
  TILEVM_ASSIGN_OR_RETURN(const double smoothing, call.tag == 0 ? call.FloatArg(5, 0) : absl::StatusOr<double>(0.0));
  const int64_t classes = x.shape[x.rank() == 1 ? 0 : 1];
  Shape outer = x.shape;
  outer.erase(outer.begin() + (x.rank() == 1 ? 0 : 1));
  const bool soft = isa::IsFloat(target.dtype);
  if (call.tag == 1 && soft) return call.Error("the target has to be a tensor of integers");
  if (soft ? target.shape != x.shape : target.shape != outer) {
    return call.Error("the target's shape ", isa::ShapeToString(target.shape), " does not fit the input's ", isa::ShapeToString(x.shape));
  }
  std::vector<double> weight(static_cast<size_t>(classes), 1);
  if (call.given_not_none(2)) {
    TILEVM_ASSIGN_OR_RETURN(Tensor w, call.TensorArg(2));
    if (w.numel() != classes) return call.Error("weight has ", w.numel(), " elements, not ", classes);
    TILEVM_ASSIGN_OR_RETURN(weight, Doubles(w));
  }
  const DType dtype = x.dtype;
  TILEVM_ASSIGN_OR_RETURN(x, ClassesLast(x));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(x));
  std::vector<double> probabilities;
  std::vector<int64_t> labels;
  if (soft) {
    TILEVM_ASSIGN_OR_RETURN(target, ClassesLast(target));
    TILEVM_ASSIGN_OR_RETURN(probabilities, Doubles(target));
  } else {
    TILEVM_ASSIGN_OR_RETURN(target, Contiguous(target));
    labels.resize(static_cast<size_t>(target.numel()));
    LoadElems(target.dtype, target.data(), target.numel(), labels.data());
  }
  const int64_t rows = isa::ElemCount(outer);
  std::vector<double> losses(static_cast<size_t>(rows));
  double divisor = 0;
  for (int64_t r = 0; r < rows; ++r) {
    double* row = v.data() + r * classes;
    if (call.tag == 0) {  // log_softmax
      double largest = -std::numeric_limits<double>::infinity(), total = 0;
      for (int64_t c = 0; c < classes; ++c) largest = std::max(largest, row[c]);
      for (int64_t c = 0; c < classes; ++c) total += std::exp(row[c] - largest);
      for (int64_t c = 0; c < classes; ++c) row[c] -= largest + std::log(total);
    }
    double spread = 0, loss = 0;
    for (int64_t c = 0; smoothing != 0 && c < classes; ++c) spread -= weight[static_cast<size_t>(c)] * row[c];
    if (soft) {
      for (int64_t c = 0; c < classes; ++c) loss -= weight[static_cast<size_t>(c)] * row[c] * probabilities[static_cast<size_t>(r * classes + c)];
      divisor += 1;
    } else {
      const int64_t label = labels[static_cast<size_t>(r)];
      if (label == ignored) continue;
      if (label < 0 || label >= classes) return call.Error("target ", label, " is out of bounds: there are ", classes, " classes");
      loss = -weight[static_cast<size_t>(label)] * row[label];
      divisor += weight[static_cast<size_t>(label)];
    }
    losses[static_cast<size_t>(r)] = (1 - smoothing) * loss + (smoothing == 0 ? 0 : smoothing / static_cast<double>(classes) * spread);
  }
  return Reduced(call, call.args[4], dtype, outer, losses, divisor);
}

// --- activations ---

enum Activation { kRelu6, kHardTanh, kHardSwish, kHardSigmoid, kMish, kSelu, kCelu, kSoftSign, kTanhShrink, kErfc, kFrac, kNanToNum };

double Activate(int kind, double x, double a, double b) {
  switch (kind) {
    case kRelu6: return std::isnan(x) ? x : std::clamp(x, 0.0, 6.0);
    case kHardTanh: return std::isnan(x) ? x : std::min(std::max(x, a), b);
    case kHardSwish: return std::isnan(x) ? x : x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case kHardSigmoid: return std::isnan(x) ? x : std::clamp(x + 3, 0.0, 6.0) / 6;
    case kMish: return x * std::tanh(x > 40 ? x : std::log1p(std::exp(x)));
    case kSelu: return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    case kCelu: return x > 0 ? x : a * std::expm1(x / a);
    case kSoftSign: return x / (1 + std::abs(x));
    case kTanhShrink: return x - std::tanh(x);
    case kErfc: return std::erfc(x);
    default: return x - std::trunc(x);
  }
}

absl::StatusOr<Value> ActivationOp(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  double a = call.tag == kCelu ? 1 : -1, b = 1;
  if (call.tag == kHardTanh || call.tag == kCelu) {
    TILEVM_ASSIGN_OR_RETURN(a, call.FloatArg(1, a));
  }
  if (call.tag == kHardTanh) {
    TILEVM_ASSIGN_OR_RETURN(b, call.FloatArg(2, b));
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(t));
  for (double& x : v) x = Activate(call.tag, x, a, b);
  return FromDoubles(isa::IsFloat(t.dtype) ? t.dtype : DType::kF32, t.shape, v);
}

// nan_to_num(input, nan=0, posinf=largest, neginf=smallest)
absl::StatusOr<Value> NanToNum(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  if (!isa::IsFloat(t.dtype)) return call.args[0];
  const double largest = t.dtype == DType::kF16    ? 65504.0
                         : t.dtype == DType::kBF16 ? 3.3895313892515355e38
                         : t.dtype == DType::kF64  ? std::numeric_limits<double>::max()
                                                   : std::numeric_limits<float>::max();
  TILEVM_ASSIGN_OR_RETURN(const double nan, call.FloatArg(1, 0));
  TILEVM_ASSIGN_OR_RETURN(const double high, call.FloatArg(2, largest));
  TILEVM_ASSIGN_OR_RETURN(const double low, call.FloatArg(3, -largest));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(t));
  for (double& x : v) x = std::isnan(x) ? nan : std::isinf(x) ? (x > 0 ? high : low) : x;
  return FromDoubles(t.dtype, t.shape, v);
}

enum PairFunction { kLogAddExp, kHypot, kFMax, kFMin, kXLogY, kCopySign };

double Pair(int kind, double x, double y) {
  switch (kind) {
    case kLogAddExp: return x == y ? x + std::log(2.0) : std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
    case kHypot: return std::hypot(x, y);
    case kFMax: return std::fmax(x, y);
    case kFMin: return std::fmin(x, y);
    case kXLogY: return x == 0 && !std::isnan(y) ? 0 : x * std::log(y);
    default: return std::copysign(x, y);
  }
}

absl::StatusOr<Value> PairOp(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Operand a, MakeOperand(call.args[0], call.name, call.loc));
  TILEVM_ASSIGN_OR_RETURN(Operand b, MakeOperand(call.args[1], call.name, call.loc));
  if (!a.is_tensor && !b.is_tensor) return call.Error("at least one tensor is wanted");
  TILEVM_ASSIGN_OR_RETURN(DType dtype, PromoteOperands({a, b}));
  if (!isa::IsFloat(dtype) && call.tag != kFMax && call.tag != kFMin) dtype = DType::kF32;
  TILEVM_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(a.tensor.shape, b.tensor.shape));
  TILEVM_ASSIGN_OR_RETURN(Tensor x, ExpandTo(a.tensor, shape));
  TILEVM_ASSIGN_OR_RETURN(Tensor y, ExpandTo(b.tensor, shape));
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(x));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> w, Doubles(y));
  for (size_t i = 0; i < v.size(); ++i) v[i] = Pair(call.tag, v[i], w[i]);
  return FromDoubles(dtype, shape, v);
}

// lerp(input, end, weight): input + weight * (end - input)
absl::StatusOr<Value> Lerp(HostCall& call) {
  using isa::Op;
  const auto op = [&](Op o, const Value& x, const Value& y) { return BinaryOperator(call.evaluator, o, x, y, call.loc); };
  TILEVM_ASSIGN_OR_RETURN(Value way, op(Op::kSub, call.args[1], call.args[0]));
  TILEVM_ASSIGN_OR_RETURN(way, op(Op::kMul, way, call.args[2]));
  TILEVM_ASSIGN_OR_RETURN(Value result, op(Op::kAdd, call.args[0], way));
  if (call.tag == 0) return result;
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_RETURN_IF_ERROR(CopyInto(t, AsTensor(result)->tensor));
  return call.args[0];
}

// glu(input, dim=-1): the first half times the sigmoid of the second
absl::StatusOr<Value> Glu(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor t, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(int dim, call.DimArg(1, t.rank(), -1));
  if (t.rank() == 0 || t.shape[dim] % 2 != 0) return call.Error("the dimension has to be even");
  Tensor first = t, second = t;
  first.shape[dim] = second.shape[dim] = t.shape[dim] / 2;
  second.offset += first.shape[dim] * t.strides[dim];
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(first));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> gate, Doubles(second));
  for (size_t i = 0; i < v.size(); ++i) v[i] /= 1 + std::exp(-gate[i]);
  return FromDoubles(t.dtype, first.shape, v);
}

// dropout(input, p, training): only where it does nothing. What torch draws cannot be had, and no reference rests on it.
absl::StatusOr<Value> Dropout(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(const double p, call.FloatArg(1, 0.5));
  TILEVM_ASSIGN_OR_RETURN(const bool training, call.BoolArg(2, true));
  if (p != 0 && training) return UnimplementedAt(call.loc, call.name, ": with training=True and p > 0 is not supported");
  return call.args[0];
}

// --- norms ---

// group_norm(input [N, C, ...], num_groups, weight?, bias?, eps?)
absl::StatusOr<Value> GroupNorm(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(const int64_t groups, call.IntArg(1));
  TILEVM_ASSIGN_OR_RETURN(const double eps, call.FloatArg(4, 1e-5));
  if (x.rank() < 2 || groups <= 0 || x.shape[1] % groups != 0) return call.Error("the channels (dimension 1) have to divide into ", groups, " groups");
  const int64_t channels = x.shape[1];
  std::vector<double> weight(static_cast<size_t>(channels), 1), bias(static_cast<size_t>(channels), 0);
  for (size_t i : {2, 3}) {
    if (!call.given_not_none(i)) continue;
    TILEVM_ASSIGN_OR_RETURN(Tensor w, call.TensorArg(i));
    if (w.numel() != channels) return call.Error(call.params[i], " has ", w.numel(), " elements, not ", channels);
    TILEVM_ASSIGN_OR_RETURN((i == 2 ? weight : bias), Doubles(w));
  }
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(x));
  const int64_t all = x.shape[0] * groups, length = all == 0 ? 0 : x.numel() / all,
                inner = channels * x.shape[0] == 0 ? 1 : x.numel() / (channels * x.shape[0]);
  for (int64_t g = 0; g < all; ++g) {
    double* row = v.data() + g * length;
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < length; ++i) mean += row[i];
    mean /= static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) squares += (row[i] - mean) * (row[i] - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + eps);
    for (int64_t i = 0; i < length; ++i) {
      const size_t channel = static_cast<size_t>((g * length + i) / inner % channels);
      row[i] = (row[i] - mean) * scale * weight[channel] + bias[channel];
    }
  }
  return FromDoubles(x.dtype, x.shape, v);
}

// normalize (0): x / max(norm, eps); cosine_similarity (1): x . y / (max(norms, eps))
absl::StatusOr<Value> Direction(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, call.TensorArg(0));
  Tensor y = x;
  double p = 2;
  if (call.tag == 0) {
    TILEVM_ASSIGN_OR_RETURN(p, call.FloatArg(1, 2));
  } else {
    TILEVM_ASSIGN_OR_RETURN(y, call.TensorArg(1));
    TILEVM_ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(x.shape, y.shape));
    TILEVM_ASSIGN_OR_RETURN(x, ExpandTo(x, shape));
    TILEVM_ASSIGN_OR_RETURN(y, ExpandTo(y, shape));
  }
  TILEVM_ASSIGN_OR_RETURN(const int dim, call.DimArg(2, x.rank(), 1));
  TILEVM_ASSIGN_OR_RETURN(const double eps, call.FloatArg(3, call.tag == 0 ? 1e-12 : 1e-8));
  if (x.rank() == 0) return call.Error("a tensor without dimensions");
  const int last = x.rank() - 1;
  const Tensor a = Transposed(x, dim, last), b = Transposed(y, dim, last);
  TILEVM_ASSIGN_OR_RETURN(std::vector<double> v, Doubles(a));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> w, Doubles(b));
  const int64_t length = a.shape[last], rows = length == 0 ? 0 : a.numel() / length;
  std::vector<double> cosines;
  for (int64_t r = 0; r < rows; ++r) {
    double* row = v.data() + r * length;
    const double* other = w.data() + r * length;
    double norm = 0, other_norm = 0, product = 0;
    for (int64_t i = 0; i < length; ++i) {
      norm += std::pow(std::abs(row[i]), p);
      other_norm += other[i] * other[i];
      product += row[i] * other[i];
    }
    norm = std::pow(norm, 1 / p);
    cosines.push_back(product / (std::max(norm, eps) * std::max(std::sqrt(other_norm), eps)));
    for (int64_t i = 0; i < length; ++i) row[i] /= std::max(norm, eps);
  }
  if (call.tag == 1) {
    TILEVM_ASSIGN_OR_RETURN(const DType dtype, PromoteDTypes(x.dtype, y.dtype));
    Shape shape = a.shape;
    shape.pop_back();
    // The dimension that stood last stands where `dim` was: put back.
    TILEVM_ASSIGN_OR_RETURN(Value out, FromDoubles(dtype, shape, cosines));
    Tensor t = AsTensor(out)->tensor;
    for (int d = dim; d + 1 < t.rank(); ++d) t = Transposed(t, d, d + 1);
    TILEVM_ASSIGN_OR_RETURN(t, Contiguous(t));
    return MakeTensorValue(t);
  }
  TILEVM_ASSIGN_OR_RETURN(Value out, FromDoubles(x.dtype, a.shape, v));
  TILEVM_ASSIGN_OR_RETURN(Tensor back, Contiguous(Transposed(AsTensor(out)->tensor, dim, last)));
  return MakeTensorValue(back);
}

constexpr HostOp kOps[] = {
    {"nn.functional.cross_entropy", "input target weight? | ignore_index? reduction? label_smoothing?", ClassLoss, 0},
    {"nn.functional.nll_loss", "input target weight? | ignore_index? reduction?", ClassLoss, 1},
    {"nn.functional.mse_loss", "input target | reduction?", PairLoss, kMse},
    {"nn.functional.l1_loss", "input target | reduction?", PairLoss, kL1},
    {"nn.functional.smooth_l1_loss", "input target | reduction? beta?", PairLoss, kSmoothL1},
    {"nn.functional.huber_loss", "input target | reduction? delta?", PairLoss, kHuber},
    {"nn.functional.kl_div", "input target | reduction? log_target?", PairLoss, kKl},
    {"nn.functional.binary_cross_entropy", "input target weight? | reduction?", PairLoss, kBce},
    {"nn.functional.binary_cross_entropy_with_logits", "input target weight? | reduction? pos_weight?", PairLoss, kBceLogits},
    {"nn.functional.relu6", "input | inplace?", ActivationOp, kRelu6},
    {"nn.functional.hardtanh", "input min_val? max_val? | inplace?", ActivationOp, kHardTanh},
    {"nn.functional.hardswish", "input | inplace?", ActivationOp, kHardSwish},
    {"nn.functional.hardsigmoid", "input | inplace?", ActivationOp, kHardSigmoid},
    {"nn.functional.mish", "input | inplace?", ActivationOp, kMish},
    {"nn.functional.selu selu", "input | inplace?", ActivationOp, kSelu},
    {"nn.functional.celu celu", "input alpha? | inplace?", ActivationOp, kCelu},
    {"nn.functional.softsign", "input", ActivationOp, kSoftSign},
    {"nn.functional.tanhshrink", "input", ActivationOp, kTanhShrink},
    {"erfc .erfc special.erfc", "input | out?", ActivationOp, kErfc},
    {"frac .frac", "input | out?", ActivationOp, kFrac},
    {"nan_to_num .nan_to_num", "input nan? posinf? neginf?", NanToNum},
    {"logaddexp .logaddexp", "input other", PairOp, kLogAddExp},
    {"hypot .hypot", "input other", PairOp, kHypot},
    {"fmax .fmax", "input other", PairOp, kFMax},
    {"fmin .fmin", "input other", PairOp, kFMin},
    {"xlogy .xlogy special.xlogy", "input other", PairOp, kXLogY},
    {"copysign .copysign", "input other", PairOp, kCopySign},
    {"lerp .lerp", "input end weight", Lerp, 0},
    {".lerp_", "input end weight", Lerp, 1},
    {"nn.functional.glu", "input dim?", Glu},
    {"nn.functional.dropout", "input p? training? inplace?", Dropout},
    {"nn.functional.group_norm", "input num_groups weight? bias? eps?", GroupNorm},
    {"nn.functional.normalize", "input p? dim? eps?", Direction, 0},
    {"nn.functional.cosine_similarity cosine_similarity", "x1 x2 dim? eps?", Direction, 1},
};

}  // namespace

absl::Span<const HostOp> NnOps() { return kOps; }

}  // namespace tilevm::vm::host
