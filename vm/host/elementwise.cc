#include "vm/host/elementwise.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "vm/host/convert.h"

namespace tilevm::vm::host {
namespace {

constexpr int64_t kStrip = 1024;

template <typename F>
void Map(const float* x, float* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(f(x[i]));
}
template <typename F>
void Map(const double* x, double* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(f(x[i]));
}

// C is float or double. Functions that are not exact are computed in double and rounded once.
template <typename C>
void UnaryFloat(UnaryKind kind, const C* x, C* out, int64_t n) {
  using K = UnaryKind;
  switch (kind) {
    case K::kNeg: return Map(x, out, n, [](C v) { return -v; });
    case K::kAbs: return Map(x, out, n, [](C v) { return std::fabs(v); });
    case K::kExp: return Map(x, out, n, [](double v) { return std::exp(v); });
    case K::kExp2: return Map(x, out, n, [](double v) { return std::exp2(v); });
    case K::kExpm1: return Map(x, out, n, [](double v) { return std::expm1(v); });
    case K::kLog: return Map(x, out, n, [](double v) { return std::log(v); });
    case K::kLog2: return Map(x, out, n, [](double v) { return std::log2(v); });
    case K::kLog10: return Map(x, out, n, [](double v) { return std::log10(v); });
    case K::kLog1p: return Map(x, out, n, [](double v) { return std::log1p(v); });
    case K::kSqrt: return Map(x, out, n, [](C v) { return std::sqrt(v); });
    case K::kRsqrt: return Map(x, out, n, [](double v) { return 1 / std::sqrt(v); });
    case K::kSin: return Map(x, out, n, [](double v) { return std::sin(v); });
    case K::kCos: return Map(x, out, n, [](double v) { return std::cos(v); });
    case K::kTan: return Map(x, out, n, [](double v) { return std::tan(v); });
    case K::kTanh: return Map(x, out, n, [](double v) { return std::tanh(v); });
    case K::kErf: return Map(x, out, n, [](double v) { return std::erf(v); });
    case K::kFloor: return Map(x, out, n, [](C v) { return std::floor(v); });
    case K::kCeil: return Map(x, out, n, [](C v) { return std::ceil(v); });
    case K::kRound: return Map(x, out, n, [](C v) { return std::nearbyint(v); });
    case K::kTrunc: return Map(x, out, n, [](C v) { return std::trunc(v); });
    case K::kSign: return Map(x, out, n, [](C v) { return v > 0 ? C{1} : v < 0 ? C{-1} : v; });
    case K::kReciprocal: return Map(x, out, n, [](C v) { return 1 / v; });
    case K::kSquare: return Map(x, out, n, [](C v) { return v * v; });
    case K::kRelu: return Map(x, out, n, [](C v) { return v < 0 ? C{0} : v; });
    case K::kSigmoid: return Map(x, out, n, [](double v) { return 1 / (1 + std::exp(-v)); });
    case K::kSilu: return Map(x, out, n, [](double v) { return v / (1 + std::exp(-v)); });
    case K::kGelu: return Map(x, out, n, [](double v) { return 0.5 * v * (1 + std::erf(v * 0.7071067811865476)); });
    case K::kGeluTanh: return Map(x, out, n, [](double v) { return 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))); });
    case K::kSoftplus: return Map(x, out, n, [](double v) { return v > 20 ? v : std::log1p(std::exp(v)); });
    case K::kLogSigmoid: return Map(x, out, n, [](double v) { return std::min(v, 0.0) - std::log1p(std::exp(-std::fabs(v))); });
    case K::kAsin: return Map(x, out, n, [](double v) { return std::asin(v); });
    case K::kAcos: return Map(x, out, n, [](double v) { return std::acos(v); });
    case K::kAtan: return Map(x, out, n, [](double v) { return std::atan(v); });
    case K::kSinh: return Map(x, out, n, [](double v) { return std::sinh(v); });
    case K::kCosh: return Map(x, out, n, [](double v) { return std::cosh(v); });
    case K::kIsNan: return Map(x, out, n, [](C v) { return v != v ? C{1} : C{0}; });
    case K::kIsInf: return Map(x, out, n, [](C v) { return std::isinf(v) ? C{1} : C{0}; });
    case K::kIsFinite: return Map(x, out, n, [](C v) { return std::isfinite(v) ? C{1} : C{0}; });
    case K::kLogicalNot: return Map(x, out, n, [](C v) { return v == 0 ? C{1} : C{0}; });
    case K::kInvert: return;
  }
}

void UnaryInt(UnaryKind kind, bool is_bool, const int64_t* x, int64_t* out, int64_t n) {
  using K = UnaryKind;
  const auto map = [&](auto f) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(x[i]);
  };
  switch (kind) {
    case K::kNeg: return map([](int64_t v) { return static_cast<int64_t>(0 - static_cast<uint64_t>(v)); });
    case K::kAbs: return map([](int64_t v) { return v < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(v)) : v; });
    case K::kSign: return map([](int64_t v) -> int64_t { return v > 0 ? 1 : v < 0 ? -1 : 0; });
    case K::kSquare: return map([](int64_t v) { return static_cast<int64_t>(static_cast<uint64_t>(v) * static_cast<uint64_t>(v)); });
    case K::kRelu: return map([](int64_t v) { return std::max<int64_t>(v, 0); });
    case K::kIsNan:
    case K::kIsInf: return map([](int64_t) { return int64_t{0}; });
    case K::kIsFinite: return map([](int64_t) { return int64_t{1}; });
    case K::kLogicalNot: return map([](int64_t v) -> int64_t { return v == 0; });
    case K::kInvert: return is_bool ? map([](int64_t v) { return v ^ 1; }) : map([](int64_t v) { return ~v; });
    default: return map([](int64_t v) { return v; });  // floor, ceil, round, trunc
  }
}

template <typename C, typename F>
void Zip(const C* x, const C* y, C* out, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<C>(f(x[i], y[i]));
}

template <typename C>
C FloorMod(C x, C y) {
  C r = std::fmod(x, y);
  if (r != 0 && (r < 0) != (y < 0)) r += y;
  return r;
}

template <typename C>
void BinaryFloat(BinaryKind kind, const C* x, const C* y, C* out, int64_t n) {
  using K = BinaryKind;
  switch (kind) {
    case K::kAdd: return Zip(x, y, out, n, [](C a, C b) { return a + b; });
    case K::kSub: return Zip(x, y, out, n, [](C a, C b) { return a - b; });
    case K::kMul: return Zip(x, y, out, n, [](C a, C b) { return a * b; });
    case K::kDiv: return Zip(x, y, out, n, [](C a, C b) { return a / b; });
    case K::kFloorDiv: return Zip(x, y, out, n, [](C a, C b) { return b == 0 ? a / b : std::floor((a - FloorMod(a, b)) / b + C{0.5}); });
    case K::kRemainder: return Zip(x, y, out, n, [](C a, C b) { return FloorMod(a, b); });
    case K::kFmod: return Zip(x, y, out, n, [](C a, C b) { return std::fmod(a, b); });
    case K::kPow: return Zip(x, y, out, n, [](double a, double b) { return b == 2 ? a * a : std::pow(a, b); });
    case K::kMaximum: return Zip(x, y, out, n, [](C a, C b) { return a != a ? a : b != b ? b : a > b ? a : b; });
    case K::kMinimum: return Zip(x, y, out, n, [](C a, C b) { return a != a ? a : b != b ? b : a < b ? a : b; });
    case K::kAtan2: return Zip(x, y, out, n, [](double a, double b) { return std::atan2(a, b); });
    case K::kLt: return Zip(x, y, out, n, [](C a, C b) { return a < b; });
    case K::kLe: return Zip(x, y, out, n, [](C a, C b) { return a <= b; });
    case K::kGt: return Zip(x, y, out, n, [](C a, C b) { return a > b; });
    case K::kGe: return Zip(x, y, out, n, [](C a, C b) { return a >= b; });
    case K::kEq: return Zip(x, y, out, n, [](C a, C b) { return a == b; });
    case K::kNe: return Zip(x, y, out, n, [](C a, C b) { return a != b; });
    case K::kLogicalAnd: return Zip(x, y, out, n, [](C a, C b) { return a != 0 && b != 0; });
    case K::kLogicalOr: return Zip(x, y, out, n, [](C a, C b) { return a != 0 || b != 0; });
    case K::kLogicalXor: return Zip(x, y, out, n, [](C a, C b) { return (a != 0) != (b != 0); });
    default: return;  // bit operations: the caller refuses floats
  }
}

int64_t IntPow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, b = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, b *= b) {
    if (exponent & 1) result *= b;
  }
  return static_cast<int64_t>(result);
}

// y has no zero for divisions.
void BinaryInt(BinaryKind kind, bool is_unsigned, const int64_t* x, const int64_t* y, int64_t* out, int64_t n) {
  using K = BinaryKind;
  using U = uint64_t;
  switch (kind) {
    case K::kAdd: return Zip(x, y, out, n, [](U a, U b) { return a + b; });
    case K::kSub: return Zip(x, y, out, n, [](U a, U b) { return a - b; });
    case K::kMul: return Zip(x, y, out, n, [](U a, U b) { return a * b; });
    case K::kFloorDiv:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return a / b; });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) {
        if (b == -1) return static_cast<int64_t>(0 - static_cast<U>(a));
        const int64_t q = a / b;
        return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
      });
    case K::kRemainder:
    case K::kFmod:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return a % b; });
      return Zip(x, y, out, n, [kind](int64_t a, int64_t b) {
        if (b == -1) return int64_t{0};
        const int64_t r = a % b;
        return kind == K::kRemainder && r != 0 && (r < 0) != (b < 0) ? r + b : r;
      });
    case K::kPow: return Zip(x, y, out, n, [](int64_t a, int64_t b) { return IntPow(a, b); });
    case K::kMaximum:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return std::max(a, b); });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) { return std::max(a, b); });
    case K::kMinimum:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return std::min(a, b); });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) { return std::min(a, b); });
    case K::kAnd: return Zip(x, y, out, n, [](U a, U b) { return a & b; });
    case K::kOr: return Zip(x, y, out, n, [](U a, U b) { return a | b; });
    case K::kXor: return Zip(x, y, out, n, [](U a, U b) { return a ^ b; });
    case K::kShl: return Zip(x, y, out, n, [](U a, U b) { return b < 64 ? a << b : 0; });
    case K::kShr:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return b < 64 ? a >> b : 0; });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a >> (static_cast<U>(b) < 64 ? b : 63); });
    case K::kLt:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return a < b; });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a < b; });
    case K::kLe:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return a <= b; });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a <= b; });
    case K::kGt:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return a > b; });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a > b; });
    case K::kGe:
      if (is_unsigned) return Zip(x, y, out, n, [](U a, U b) { return a >= b; });
      return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a >= b; });
    case K::kEq: return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a == b; });
    case K::kNe: return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a != b; });
    case K::kLogicalAnd: return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a != 0 && b != 0; });
    case K::kLogicalOr: return Zip(x, y, out, n, [](int64_t a, int64_t b) { return a != 0 || b != 0; });
    case K::kLogicalXor: return Zip(x, y, out, n, [](int64_t a, int64_t b) { return (a != 0) != (b != 0); });
    case K::kDiv:
    case K::kAtan2: return;  // done in floats
  }
}

template <typename C>
void RunUnary(UnaryKind kind, const Tensor& in, bool is_bool, Tensor& out) {
  const int64_t n = out.numel();
  C x[kStrip], y[kStrip];
  for (int64_t begin = 0; begin < n; begin += kStrip) {
    const int64_t count = std::min(kStrip, n - begin);
    LoadElems(in.dtype, in.data() + begin * in.item_bytes(), count, x);
    if constexpr (std::is_integral_v<C>) {
      UnaryInt(kind, is_bool, x, y, count);
    } else {
      UnaryFloat(kind, x, y, count);
    }
    StoreElems(out.dtype, out.data() + begin * out.item_bytes(), count, y);
  }
}

template <typename C>
void RunBinary(BinaryKind kind, DType compute, const Tensor& a, const Tensor& b, Tensor& out) {
  const int64_t n = out.numel();
  C x[kStrip], y[kStrip], z[kStrip];
  const bool a_one = a.numel() == 1, b_one = b.numel() == 1;
  const auto load = [](const Tensor& t, bool one, int64_t begin, int64_t count, C* to) {
    if (!one) {
      LoadElems(t.dtype, t.data() + begin * t.item_bytes(), count, to);
    } else if (begin == 0) {
      LoadElems(t.dtype, t.data(), 1, to);
      std::fill(to, to + kStrip, to[0]);
    }
  };
  for (int64_t begin = 0; begin < n; begin += kStrip) {
    const int64_t count = std::min(kStrip, n - begin);
    load(a, a_one, begin, count, x);
    load(b, b_one, begin, count, y);
    if constexpr (std::is_integral_v<C>) {
      BinaryInt(kind, compute == DType::kU64, x, y, z, count);
    } else {
      BinaryFloat(kind, x, y, z, count);
    }
    StoreElems(out.dtype, out.data() + begin * out.item_bytes(), count, z);
  }
}

absl::StatusOr<Tensor> NewOutput(DType dtype, const Shape& shape) {
  TILEVM_ASSIGN_OR_RETURN(Tensor out, Tensor::Make(dtype, shape, Fill::kUninitialised));
  out.storage->declared_uninitialised = false;
  return out;
}

bool HasZero(const Tensor& t) {
  std::vector<int64_t> x(t.numel());
  LoadElems(t.dtype, t.data(), t.numel(), x.data());
  return std::find(x.begin(), x.end(), 0) != x.end();
}

}  // namespace

bool GivesBool(UnaryKind kind) {
  return kind == UnaryKind::kIsNan || kind == UnaryKind::kIsInf || kind == UnaryKind::kIsFinite || kind == UnaryKind::kLogicalNot;
}
bool GivesBool(BinaryKind kind) { return kind >= BinaryKind::kLt; }

bool NeedsFloat(UnaryKind kind) {
  using K = UnaryKind;
  switch (kind) {
    case K::kNeg: case K::kAbs: case K::kFloor: case K::kCeil: case K::kRound: case K::kTrunc: case K::kSign: case K::kSquare: case K::kRelu:
    case K::kIsNan: case K::kIsInf: case K::kIsFinite: case K::kLogicalNot: case K::kInvert:
      return false;
    default:
      return true;
  }
}

absl::StatusOr<Tensor> ApplyUnary(UnaryKind kind, const Tensor& in, DType compute) {
  TILEVM_ASSIGN_OR_RETURN(Tensor x, Contiguous(in));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, NewOutput(GivesBool(kind) ? DType::kI1 : compute, in.shape));
  switch (ComputeKindOf(compute)) {
    case ComputeKind::kFloat: RunUnary<float>(kind, x, false, out); break;
    case ComputeKind::kDouble: RunUnary<double>(kind, x, false, out); break;
    case ComputeKind::kInt: RunUnary<int64_t>(kind, x, compute == DType::kI1, out); break;
  }
  return out;
}

absl::StatusOr<Tensor> ApplyBinary(BinaryKind kind, const Tensor& a, const Tensor& b, DType compute) {
  TILEVM_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(a.shape, b.shape));
  const auto ready = [&](const Tensor& t) -> absl::StatusOr<Tensor> {
    if (t.numel() == 1) return Contiguous(t);
    TILEVM_ASSIGN_OR_RETURN(Tensor wide, ExpandTo(t, shape));
    return Contiguous(wide);
  };
  TILEVM_ASSIGN_OR_RETURN(Tensor x, ready(a));
  TILEVM_ASSIGN_OR_RETURN(Tensor y, ready(b));
  TILEVM_ASSIGN_OR_RETURN(Tensor out, NewOutput(GivesBool(kind) ? DType::kI1 : compute, shape));
  if (out.numel() == 0) return out;
  switch (ComputeKindOf(compute)) {
    case ComputeKind::kFloat: RunBinary<float>(kind, compute, x, y, out); break;
    case ComputeKind::kDouble: RunBinary<double>(kind, compute, x, y, out); break;
    case ComputeKind::kInt:
      if (kind == BinaryKind::kFloorDiv || kind == BinaryKind::kRemainder || kind == BinaryKind::kFmod) {
        if (HasZero(y)) return absl::InvalidArgumentError("integer division by zero");
      }
      RunBinary<int64_t>(kind, compute, x, y, out);
      break;
  }
  return out;
}

}  // namespace tilevm::vm::host
