// math.*
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

absl::StatusOr<double> Number(Impl& impl, const Value& given, absl::string_view function, Loc loc) {
  const Value value = Unboxed(given);
  if (value.is(ValueKind::kFloat)) return value.float_value();
  if (value.is_static_number()) return static_cast<double>(value.int_value());
  if (value.is(ValueKind::kObject) || value.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(Value number, impl.CallBuiltin("builtins.float", CallArgs{{value}, {}}, false, loc));
    return number.float_value();
  }
  return InvalidAt(loc, "TypeError: ", function, ": must be a real number, not ", impl.NameOfType(value),
                   value.is_tensor() ? "; use the function of tl on tensors" : "");
}

template <double (*kFunction)(double)>
absl::StatusOr<Value> Unary(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math function", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(double x, Number(impl, args.positional[0], "math", loc));
  const double result = kFunction(x);
  if (std::isnan(result) && !std::isnan(x)) return InvalidAt(loc, "ValueError: math domain error");
  if (std::isinf(result) && std::isfinite(x)) {
    return InvalidAt(loc, x == 0 || x == 1 || x == -1 ? "ValueError: math domain error" : "OverflowError: math range error");
  }
  return Value::Float(result);
}

template <double (*kFunction)(double, double)>
absl::StatusOr<Value> BinaryMath(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math function", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(double x, Number(impl, args.positional[0], "math", loc));
  TILEVM_ASSIGN_OR_RETURN(double y, Number(impl, args.positional[1], "math", loc));
  const double result = kFunction(x, y);
  if (std::isnan(result) && !std::isnan(x) && !std::isnan(y)) return InvalidAt(loc, "ValueError: math domain error");
  if (std::isinf(result) && std::isfinite(x) && std::isfinite(y))
    return InvalidAt(loc, x == 0 ? "ValueError: math domain error" : "OverflowError: math range error");
  return Value::Float(result);
}

template <double (*kFunction)(double)>
absl::StatusOr<Value> ToInteger(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math function", 1, 1, loc));
  const Value value = Unboxed(args.positional[0]);
  if (value.is(ValueKind::kInt) || value.is(ValueKind::kBool)) return Value::Int(value.int_value());
  TILEVM_ASSIGN_OR_RETURN(double x, Number(impl, value, "math", loc));
  return impl.CallBuiltin("builtins.int", CallArgs{{Value::Float(kFunction(x))}, {}}, false, loc);
}

absl::StatusOr<Value> Log(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.log", 1, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(double x, Number(impl, args.positional[0], "math.log", loc));
  if (x <= 0) return InvalidAt(loc, "ValueError: math domain error");
  if (args.positional.size() == 1) return Value::Float(std::log(x));
  TILEVM_ASSIGN_OR_RETURN(double base, Number(impl, args.positional[1], "math.log", loc));
  if (base <= 0 || base == 1) return InvalidAt(loc, base == 1 ? "ZeroDivisionError: float division by zero" : "ValueError: math domain error");
  return Value::Float(std::log(x) / std::log(base));
}

absl::StatusOr<Value> Gcd(Impl& impl, const CallArgs& args, Loc loc) {
  int64_t result = 0;
  for (const Value& value : args.positional) {
    TILEVM_ASSIGN_OR_RETURN(int64_t n, ToIndex(value, "math.gcd", loc));
    if (n == std::numeric_limits<int64_t>::min()) return InvalidAt(loc, "OverflowError: math.gcd of an integer of more than 64 bits");
    result = std::gcd(result, n);
  }
  (void)impl;
  return Value::Int(result);
}

absl::StatusOr<Value> Prod(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.prod", 1, 1, loc, {"start"}));
  Value result = Value::Int(1);
  if (const Value* start = FindKeyword(args, "start")) result = *start;
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, impl.Iterate(args.positional[0], loc));
  for (const Value& item : items) {
    TILEVM_ASSIGN_OR_RETURN(result, impl.Binary(Op::kMul, result, item, loc));
  }
  return result;
}

absl::StatusOr<Value> ISqrt(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.isqrt", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t n, ToIndex(args.positional[0], "math.isqrt", loc));
  if (n < 0) return InvalidAt(loc, "ValueError: isqrt() argument must be nonnegative");
  int64_t root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  while (absl::int128(root) * root > n) --root;
  while (absl::int128(root + 1) * (root + 1) <= n) ++root;
  return Value::Int(root);
}

template <bool (*kTest)(double)>
absl::StatusOr<Value> Test(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math function", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(double x, Number(impl, args.positional[0], "math", loc));
  return Value::Bool(kTest(x));
}
bool IsNan(double x) { return std::isnan(x); }
bool IsInf(double x) { return std::isinf(x); }
bool IsFinite(double x) { return std::isfinite(x); }

absl::StatusOr<Value> IsClose(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.isclose", 2, 2, loc, {"rel_tol", "abs_tol"}));
  double relative = 1e-9, absolute = 0;
  TILEVM_ASSIGN_OR_RETURN(double a, Number(impl, args.positional[0], "math.isclose", loc));
  TILEVM_ASSIGN_OR_RETURN(double b, Number(impl, args.positional[1], "math.isclose", loc));
  if (const Value* given = FindKeyword(args, "rel_tol")) {
    TILEVM_ASSIGN_OR_RETURN(relative, Number(impl, *given, "math.isclose", loc));
  }
  if (const Value* given = FindKeyword(args, "abs_tol")) {
    TILEVM_ASSIGN_OR_RETURN(absolute, Number(impl, *given, "math.isclose", loc));
  }
  return Value::Bool(a == b ||
                     (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= std::max(relative * std::max(std::fabs(a), std::fabs(b)), absolute)));
}

absl::StatusOr<Value> Lcm(Impl& impl, const CallArgs& args, Loc loc) {
  Value result = Value::Int(1);
  for (const Value& value : args.positional) {
    TILEVM_ASSIGN_OR_RETURN(const int64_t n, ToIndex(value, "math.lcm", loc));
    if (n == 0) return Value::Int(0);
    TILEVM_ASSIGN_OR_RETURN(const Value divisor, Gcd(impl, CallArgs{{result, value}, {}}, loc));
    TILEVM_ASSIGN_OR_RETURN(result, impl.Binary(Op::kMul, result, Value::Int(std::abs(n) / static_cast<int64_t>(divisor.int_value())), loc));
  }
  return result;
}

// n! and n!/(n-k)!, and that by k!.
template <bool kByOrder>
absl::StatusOr<Value> Choose(Impl& impl, const CallArgs& args, Loc loc) {
  const char* name = kByOrder ? "math.perm" : "math.comb";
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, name, kByOrder ? 1 : 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(const int64_t n, ToIndex(args.positional[0], name, loc));
  int64_t k = n;
  if (args.positional.size() == 2 && !args.positional[1].is(ValueKind::kNone)) {
    TILEVM_ASSIGN_OR_RETURN(k, ToIndex(args.positional[1], name, loc));
  }
  if (n < 0 || k < 0) return InvalidAt(loc, "ValueError: ", n < 0 ? "n" : "k", " must be a non-negative integer");
  if (k > n) return Value::Int(0);
  if (!kByOrder) k = std::min(k, n - k);
  Value result = Value::Int(1);
  for (int64_t i = 0; i < k; ++i) {
    TILEVM_RETURN_IF_ERROR(impl.CountStep(loc));
    TILEVM_ASSIGN_OR_RETURN(result, impl.Binary(Op::kMul, result, Value::Int(n - i), loc));
    if (!kByOrder) result = Value::Int(result.int_value() / (i + 1));
  }
  return result;
}
absl::StatusOr<Value> Factorial(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.factorial", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(const int64_t n, ToIndex(args.positional[0], "math.factorial", loc));
  if (n < 0) return InvalidAt(loc, "ValueError: factorial() not defined for negative values");
  return Choose<true>(impl, args, loc);
}

absl::StatusOr<std::vector<double>> Numbers(Impl& impl, const Value& sequence, absl::string_view name, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(const std::vector<Value> items, impl.Iterate(sequence, loc));
  std::vector<double> numbers;
  for (const Value& item : items) {
    TILEVM_ASSIGN_OR_RETURN(const double x, Number(impl, item, name, loc));
    numbers.push_back(x);
  }
  return numbers;
}
// The sum of the numbers without error, rounded once: partial sums that do not overlap.
absl::StatusOr<Value> ExactSum(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.fsum", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(impl, args.positional[0], "math.fsum", loc));
  std::vector<double> parts;
  double special = 0;
  for (double x : numbers) {
    if (!std::isfinite(x)) special += x;
    std::vector<double> kept;
    for (double y : parts) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y, low = y - (high - x);
      if (low != 0) kept.push_back(low);
      x = high;
    }
    kept.push_back(x);
    parts = std::move(kept);
  }
  if (special != 0 || std::isnan(special)) return Value::Float(special);
  double sum = 0, rest = 0;
  for (size_t i = parts.size(); i-- > 0 && rest == 0;) {
    const double high = sum + parts[i];
    rest = parts[i] - (high - sum);
    sum = high;
    // Half a unit is rounded by the sign of what comes below.
    if (rest != 0 && i > 0 && (rest < 0) == (parts[i - 1] < 0)) {
      const double twice = rest * 2, up = sum + twice;
      if (up - sum == twice) sum = up;
    }
  }
  return Value::Float(sum);
}
absl::StatusOr<Value> Distance(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.dist", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> p, Numbers(impl, args.positional[0], "math.dist", loc));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> q, Numbers(impl, args.positional[1], "math.dist", loc));
  if (p.size() != q.size()) return InvalidAt(loc, "ValueError: both points must have the same number of dimensions");
  double length = 0;
  for (size_t i = 0; i < p.size(); ++i) length = std::hypot(length, p[i] - q[i]);
  return Value::Float(length);
}
absl::StatusOr<Value> HypotOfAll(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(const std::vector<double> parts, Numbers(impl, Value::Tuple(args.positional), "math.hypot", loc));
  double length = 0;
  for (double x : parts) length = std::hypot(length, x);
  return Value::Float(length);
}
absl::StatusOr<Value> LdExp(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.ldexp", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(const double x, Number(impl, args.positional[0], "math.ldexp", loc));
  TILEVM_ASSIGN_OR_RETURN(const int64_t exponent, ToIndex(args.positional[1], "math.ldexp", loc));
  const double result = std::ldexp(x, static_cast<int>(std::clamp<int64_t>(exponent, -5000, 5000)));
  if (std::isinf(result) && std::isfinite(x)) return InvalidAt(loc, "OverflowError: math range error");
  return Value::Float(result);
}
absl::StatusOr<Value> FrExp(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.frexp", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(const double x, Number(impl, args.positional[0], "math.frexp", loc));
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  return Value::Tuple({Value::Float(mantissa), Value::Int(std::isfinite(x) ? exponent : 0)});
}
absl::StatusOr<Value> ModF(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "math.modf", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(const double x, Number(impl, args.positional[0], "math.modf", loc));
  double whole = 0;
  const double part = std::modf(x, &whole);
  return Value::Tuple({Value::Float(part), Value::Float(whole)});
}

double Sqrt(double x) { return std::sqrt(x); }
double Exp(double x) { return std::exp(x); }
double Exp2(double x) { return std::exp2(x); }
double Log2(double x) { return std::log2(x); }
double Log10(double x) { return std::log10(x); }
double Log1p(double x) { return std::log1p(x); }
double Expm1(double x) { return std::expm1(x); }
double Sin(double x) { return std::sin(x); }
double Cos(double x) { return std::cos(x); }
double Tan(double x) { return std::tan(x); }
double Asin(double x) { return std::asin(x); }
double Acos(double x) { return std::acos(x); }
double Atan(double x) { return std::atan(x); }
double Sinh(double x) { return std::sinh(x); }
double Cosh(double x) { return std::cosh(x); }
double Tanh(double x) { return std::tanh(x); }
double Erf(double x) { return std::erf(x); }
double Fabs(double x) { return std::fabs(x); }
double Radians(double x) { return x * (3.14159265358979323846 / 180); }
double Degrees(double x) { return x * (180 / 3.14159265358979323846); }
double Erfc(double x) { return std::erfc(x); }
double Gamma(double x) {
  if (x != std::floor(x) || x < 1 || x > 23) return std::tgamma(x);
  double product = 1;  // exact
  for (double i = 2; i < x; ++i) product *= i;
  return product;
}
double LGamma(double x) { return std::lgamma(x); }
double Cbrt(double x) { return std::cbrt(x); }
double Asinh(double x) { return std::asinh(x); }
double Acosh(double x) { return std::acosh(x); }
double Atanh(double x) { return std::atanh(x); }
double Remainder(double x, double y) { return std::remainder(x, y); }
double NextAfter(double x, double y) { return std::nextafter(x, y); }
double Floor(double x) { return std::floor(x); }
double Ceil(double x) { return std::ceil(x); }
double Trunc(double x) { return std::trunc(x); }
double Pow(double x, double y) { return std::pow(x, y); }
double Fmod(double x, double y) { return std::fmod(x, y); }
double Atan2(double x, double y) { return std::atan2(x, y); }
double CopySign(double x, double y) { return std::copysign(x, y); }

constexpr BuiltinRow kRows[] = {
    {"math.sqrt", Unary<Sqrt>}, {"math.exp", Unary<Exp>}, {"math.exp2", Unary<Exp2>}, {"math.log", Log}, {"math.log2", Unary<Log2>},
    {"math.log10", Unary<Log10>}, {"math.log1p", Unary<Log1p>}, {"math.expm1", Unary<Expm1>}, {"math.sin", Unary<Sin>}, {"math.cos", Unary<Cos>},
    {"math.tan", Unary<Tan>}, {"math.asin", Unary<Asin>}, {"math.acos", Unary<Acos>}, {"math.atan", Unary<Atan>}, {"math.sinh", Unary<Sinh>},
    {"math.cosh", Unary<Cosh>}, {"math.tanh", Unary<Tanh>}, {"math.erf", Unary<Erf>}, {"math.fabs", Unary<Fabs>}, {"math.radians", Unary<Radians>},
    {"math.degrees", Unary<Degrees>}, {"math.floor", ToInteger<Floor>}, {"math.ceil", ToInteger<Ceil>}, {"math.trunc", ToInteger<Trunc>},
    {"math.pow", BinaryMath<Pow>}, {"math.fmod", BinaryMath<Fmod>}, {"math.atan2", BinaryMath<Atan2>}, {"math.hypot", HypotOfAll},
    {"math.copysign", BinaryMath<CopySign>}, {"math.gcd", Gcd}, {"math.prod", Prod}, {"math.isqrt", ISqrt}, {"math.isnan", Test<IsNan>},
    {"math.isinf", Test<IsInf>}, {"math.isfinite", Test<IsFinite>}, {"math.isclose", IsClose},
    {"math.lcm", Lcm}, {"math.comb", Choose<false>}, {"math.perm", Choose<true>}, {"math.factorial", Factorial}, {"math.fsum", ExactSum},
    {"math.dist", Distance}, {"math.ldexp", LdExp}, {"math.frexp", FrExp}, {"math.modf", ModF}, {"math.erfc", Unary<Erfc>}, {"math.gamma", Unary<Gamma>},
    {"math.lgamma", Unary<LGamma>}, {"math.cbrt", Unary<Cbrt>}, {"math.asinh", Unary<Asinh>}, {"math.acosh", Unary<Acosh>}, {"math.atanh", Unary<Atanh>},
    {"math.remainder", BinaryMath<Remainder>}, {"math.nextafter", BinaryMath<NextAfter>},
};

}  // namespace

absl::Span<const BuiltinRow> MathBuiltins() { return kRows; }

}  // namespace tilevm::specializer
