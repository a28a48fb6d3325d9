// Python's operators on static values. Integers are Python's within 128 bits: what does not fit is an OverflowError, never a wrapped number.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/live_dict.h"
#include "specializer/partial_eval/python_format.h"

namespace tilevm::specializer {

using absl::int128;
using isa::Op;

namespace {

absl::string_view Symbol(Op op) {
  switch (op) {
    case Op::kAdd: return "+";
    case Op::kSub: return "-";
    case Op::kMul: return "*";
    case Op::kTrueDiv: return "/";
    case Op::kFloorDiv: return "//";
    case Op::kMod: return "%";
    case Op::kPow: return "**";
    case Op::kMatMul: return "@";
    case Op::kBitAnd: return "&";
    case Op::kBitOr: return "|";
    case Op::kBitXor: return "^";
    case Op::kShl: return "<<";
    case Op::kShr: return ">>";
    case Op::kLt: return "<";
    case Op::kLe: return "<=";
    case Op::kGt: return ">";
    case Op::kGe: return ">=";
    case Op::kEq: return "==";
    case Op::kNe: return "!=";
    default: return isa::Mnemonic(op);
  }
}

absl::string_view DunderName(Op op) {
  switch (op) {
    case Op::kAdd: return "add";
    case Op::kSub: return "sub";
    case Op::kMul: return "mul";
    case Op::kTrueDiv: return "truediv";
    case Op::kFloorDiv: return "floordiv";
    case Op::kMod: return "mod";
    case Op::kPow: return "pow";
    case Op::kMatMul: return "matmul";
    case Op::kBitAnd: return "and";
    case Op::kBitOr: return "or";
    case Op::kBitXor: return "xor";
    case Op::kShl: return "lshift";
    case Op::kShr: return "rshift";
    case Op::kLt: return "lt";
    case Op::kLe: return "le";
    case Op::kGt: return "gt";
    case Op::kGe: return "ge";
    case Op::kEq: return "eq";
    case Op::kNe: return "ne";
    default: return "";
  }
}

bool IsComparison(Op op) {
  switch (op) {
    case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: case Op::kEq: case Op::kNe: return true;
    default: return false;
  }
}

const int128 kMax = absl::Int128Max();
const int128 kMin = absl::Int128Min();

absl::Status Overflow(Loc loc) { return InvalidAt(loc, "OverflowError: an integer of more than 128 bits"); }

absl::StatusOr<int128> Add(int128 x, int128 y, Loc loc) {
  if (y > 0 ? x > kMax - y : x < kMin - y) return Overflow(loc);
  return x + y;
}
absl::StatusOr<int128> Sub(int128 x, int128 y, Loc loc) {
  if (y < 0 ? x > kMax + y : x < kMin + y) return Overflow(loc);
  return x - y;
}
absl::StatusOr<int128> Mul(int128 x, int128 y, Loc loc) {
  if (x == 0 || y == 0) return int128(0);
  if ((x == -1 && y == kMin) || (y == -1 && x == kMin)) return Overflow(loc);
  const bool small = x >= INT32_MIN && x <= INT32_MAX && y >= INT64_MIN && y <= INT64_MAX;
  if (!small) {
    if (x != -1 && y != -1) {
      const int128 limit = (x > 0) == (y > 0) ? kMax : kMin;
      const int128 bound = limit / y;
      if (x > 0 ? x > bound : x < bound) return Overflow(loc);
    }
  }
  return x * y;
}
absl::StatusOr<int128> Power(int128 base, int128 exponent, Loc loc) {
  int128 result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? int128(1) : base;
  if (base == -1) return exponent % 2 == 0 ? int128(1) : base;
  if (exponent > 127) return Overflow(loc);
  for (int128 i = 0; i < exponent; ++i) {
    TILEVM_ASSIGN_OR_RETURN(result, Mul(result, base, loc));
  }
  return result;
}
int128 FloorDivide(int128 x, int128 y) {
  const int128 quotient = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

// A quotient that is rounded once, of integers beyond what a double holds too; y is not 0.
double DivideExactly(int128 x, int128 y) {
  const int128 exact = int128(1) << 53;
  if (x >= -exact && x <= exact && y >= -exact && y <= exact) return static_cast<double>(x) / static_cast<double>(y);
  const auto magnitude = [](int128 value) { return value < 0 ? -static_cast<absl::uint128>(value) : static_cast<absl::uint128>(value); };
  const absl::uint128 divisor = magnitude(y);
  absl::uint128 quotient = magnitude(x) / divisor, rest = magnitude(x) % divisor;
  if (quotient == 0 && rest == 0) return 0;
  int exponent = 0;
  bool sticky = false;  // something is left below the last bit
  for (; quotient < absl::uint128(1) << 63; --exponent) {
    rest <<= 1;
    quotient = quotient << 1 | absl::uint128(rest >= divisor ? 1 : 0);
    if (rest >= divisor) rest -= divisor;
  }
  for (; (quotient >> 64) != 0; ++exponent) {
    sticky = sticky || (quotient & 1) != 0;
    quotient >>= 1;
  }
  const uint64_t bits = absl::Uint128Low64(quotient) | ((sticky || rest != 0) ? 1 : 0);
  const double result = std::ldexp(static_cast<double>(bits), exponent);
  return (x < 0) != (y < 0) ? -result : result;
}

absl::StatusOr<Value> IntBinary(Op op, int128 x, int128 y, Loc loc) {
  absl::StatusOr<int128> result;
  switch (op) {
    case Op::kAdd: result = Add(x, y, loc); break;
    case Op::kSub: result = Sub(x, y, loc); break;
    case Op::kMul: result = Mul(x, y, loc); break;
    case Op::kTrueDiv:
      if (y == 0) return InvalidAt(loc, "ZeroDivisionError: division by zero");
      return Value::Float(DivideExactly(x, y));
    case Op::kFloorDiv: case Op::kMod:
      if (y == 0) return InvalidAt(loc, "ZeroDivisionError: integer ", op == Op::kMod ? "modulo" : "division or modulo", " by zero");
      if (y == -1) {  // the only quotient that can overflow
        if (op == Op::kMod) return Value::Int(0);
        result = Sub(0, x, loc);
        break;
      }
      result = op == Op::kFloorDiv ? FloorDivide(x, y) : x - FloorDivide(x, y) * y;
      break;
    case Op::kPow:
      if (y < 0) {
        if (x == 0) return InvalidAt(loc, "ZeroDivisionError: 0.0 cannot be raised to a negative power");
        return Value::Float(std::pow(static_cast<double>(x), static_cast<double>(y)));
      }
      result = Power(x, y, loc);
      break;
    case Op::kBitAnd: result = x & y; break;
    case Op::kBitOr: result = x | y; break;
    case Op::kBitXor: result = x ^ y; break;
    case Op::kShl:
      if (y < 0) return InvalidAt(loc, "ValueError: negative shift count");
      if (x == 0) return Value::Int(0);
      if (y > 126) return Overflow(loc);
      result = Mul(x, int128(1) << static_cast<int>(y), loc);
      break;
    case Op::kShr:
      if (y < 0) return InvalidAt(loc, "ValueError: negative shift count");
      result = y > 126 ? int128(x < 0 ? -1 : 0) : FloorDivide(x, int128(1) << static_cast<int>(y));
      break;
    default: return InvalidAt(loc, "TypeError: unsupported operand type(s) for ", Symbol(op), ": 'int' and 'int'");
  }
  TILEVM_RETURN_IF_ERROR(result.status());
  return Value::Int(*result);
}

absl::StatusOr<Value> FloatBinary(Op op, double x, double y, Loc loc) {
  switch (op) {
    case Op::kAdd: return Value::Float(x + y);
    case Op::kSub: return Value::Float(x - y);
    case Op::kMul: return Value::Float(x * y);
    case Op::kTrueDiv:
      if (y == 0) return InvalidAt(loc, "ZeroDivisionError: float division by zero");
      return Value::Float(x / y);
    case Op::kFloorDiv: case Op::kMod: {
      if (y == 0) return InvalidAt(loc, op == Op::kMod ? "ZeroDivisionError: float modulo" : "ZeroDivisionError: float floor division by zero");
      double remainder = std::fmod(x, y);
      double quotient = (x - remainder) / y;
      if (remainder != 0 && (remainder < 0) != (y < 0)) {
        remainder += y;
        quotient -= 1;
      }
      if (remainder == 0) remainder = std::copysign(0.0, y);
      if (op == Op::kMod) return Value::Float(remainder);
      if (!std::isfinite(x)) return Value::Float(std::nan(""));
      if (quotient == 0) return Value::Float(std::copysign(0.0, x / y));
      double floored = std::floor(quotient);
      if (quotient - floored > 0.5) floored += 1;
      return Value::Float(floored);
    }
    case Op::kPow:
      if (x == 0 && y < 0) return InvalidAt(loc, "ZeroDivisionError: 0.0 cannot be raised to a negative power");
      if (x < 0 && std::isfinite(y) && y != std::floor(y)) return UnimplementedAt(loc, "a complex number: a negative float to a fractional power");
      return Value::Float(std::pow(x, y));
    default: return InvalidAt(loc, "TypeError: unsupported operand type(s) for ", Symbol(op), ": 'float' and 'float'");
  }
}

// What an operator's method gives; nullopt where there is none, or it says NotImplemented.
absl::StatusOr<std::optional<Value>> CallOperator(Evaluator::Impl& impl, const Value& object, absl::string_view name, const Value& other, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, impl.CallDunder(object, name, {other}, loc));
  if (value.has_value() && value->is(ValueKind::kBuiltin) && value->string() == "builtins.NotImplemented") return std::optional<Value>();
  return value;
}
bool SameClass(const Value& x, const Value& y) {
  return x.is(ValueKind::kInstance) && y.is(ValueKind::kInstance) && x.As<InstancePayload>()->type.payload() == y.As<InstancePayload>()->type.payload();
}

double AsDouble(const Value& value) { return value.is(ValueKind::kFloat) ? value.float_value() : static_cast<double>(value.int_value()); }

bool IsSequence(const Value& value) { return value.is(ValueKind::kTuple) || value.is(ValueKind::kList); }
bool IsSetView(const Value& value) {
  if (!value.is(ValueKind::kTuple)) return false;
  const std::string& name = value.As<ItemsPayload>()->class_name;
  return name == "dict_keys" || name == "dict_items";
}
absl::Status TooLong(Loc loc) { return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a sequence of more than ", kMaxSequence, " items"); }

absl::StatusOr<Value> Repeat(const Value& sequence, const Value& count, Loc loc) {
  const int128 times = count.int_value() < 0 ? int128(0) : count.int_value();
  const int64_t size = sequence.is(ValueKind::kString) ? static_cast<int64_t>(sequence.string().size()) : static_cast<int64_t>(sequence.items().size());
  const int64_t most = static_cast<int64_t>(sequence.is(ValueKind::kString) ? kMaxText : kMaxSequence);
  if (size > 0 && times > most / size) {
    if (sequence.is(ValueKind::kString)) return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a string of more than ", kMaxText, " bytes");
    return TooLong(loc);
  }
  if (sequence.is(ValueKind::kString)) {
    std::string text;
    for (int128 i = 0; size > 0 && i < times; ++i) text += sequence.string();
    return Value::String(std::move(text));
  }
  std::vector<Value> items;
  for (int128 i = 0; size > 0 && i < times; ++i) items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  return sequence.is(ValueKind::kTuple) ? Value::Tuple(std::move(items)) : Value::List(std::move(items));
}

}  // namespace

absl::StatusOr<Value> Evaluator::Impl::Unary(Op op, const Value& x, Loc loc) {
  if (x.is(ValueKind::kConstexpr)) {
    TILEVM_ASSIGN_OR_RETURN(Value inner, Unary(op, Unboxed(x), loc));
    return Boxed(ValueKind::kConstexpr, std::move(inner));
  }
  if (x.is(ValueKind::kObject)) return x.As<HostObject>()->Unary(*self_, op, loc);
  if (x.is(ValueKind::kInstance)) {
    const char* name = op == Op::kNeg ? "__neg__" : op == Op::kPos ? "__pos__" : "__invert__";
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallDunder(x, name, {}, loc));
    if (value.has_value()) return *value;
  }
  if (x.is(ValueKind::kFloat) && op != Op::kInvert) return Value::Float(op == Op::kNeg ? -x.float_value() : x.float_value());
  if (x.is(ValueKind::kInt) || x.is(ValueKind::kBool)) {
    if (op == Op::kPos) return Value::Int(x.int_value());
    return IntBinary(Op::kSub, op == Op::kNeg ? int128(0) : int128(-1), x.int_value(), loc);
  }
  return InvalidAt(loc, "TypeError: bad operand type for unary ", op == Op::kNeg ? "-" : op == Op::kPos ? "+" : "~", ": '", NameOfType(x), "'");
}

absl::StatusOr<Value> Evaluator::Impl::Binary(Op op, const Value& x, const Value& y, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckStack(loc));
  if (x.is(ValueKind::kConstexpr) || y.is(ValueKind::kConstexpr)) {
    TILEVM_ASSIGN_OR_RETURN(Value inner, Binary(op, Unboxed(x), Unboxed(y), loc));
    return Boxed(ValueKind::kConstexpr, std::move(inner));
  }
  if (x.is(ValueKind::kObject)) return x.As<HostObject>()->Binary(*self_, op, y, false, loc);
  const bool percent = op == Op::kMod && x.is(ValueKind::kString);
  if (y.is(ValueKind::kObject) && !percent) return y.As<HostObject>()->Binary(*self_, op, x, true, loc);
  if (x.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallOperator(*this, x, absl::StrCat("__", DunderName(op), "__"), y, loc));
    if (value.has_value()) return *value;
  }
  if (y.is(ValueKind::kInstance) && !IsComparison(op) && !SameClass(x, y)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallOperator(*this, y, absl::StrCat("__r", DunderName(op), "__"), x, loc));
    if (value.has_value()) return *value;
  }
  // The keys of a dict are a set.
  const bool as_set = op == Op::kBitAnd || op == Op::kBitOr || op == Op::kBitXor || op == Op::kSub || IsComparison(op);
  if (as_set && (IsSetView(x) || IsSetView(y))) {
    Value sides[] = {x, y};
    for (Value& side : sides) {
      const bool other = IsComparison(op) ? side.is(ValueKind::kSet) : true;
      if (IsSetView(side) || (!IsComparison(op) && other && !side.is(ValueKind::kSet))) {
        TILEVM_ASSIGN_OR_RETURN(side, SetOf(side, false, loc));
      }
    }
    return Binary(op, sides[0], sides[1], loc);
  }
  if (IsComparison(op)) return CompareValues(op, x, y, loc);
  if (std::optional<Value> number = EnumNumber(x)) return Binary(op, *number, y, loc);
  if (std::optional<Value> number = EnumNumber(y)) return Binary(op, x, *number, loc);

  if (x.is_static_number() && y.is_static_number()) {
    if (x.is(ValueKind::kFloat) || y.is(ValueKind::kFloat)) return FloatBinary(op, AsDouble(x), AsDouble(y), loc);
    if (x.is(ValueKind::kBool) && y.is(ValueKind::kBool) && (op == Op::kBitAnd || op == Op::kBitOr || op == Op::kBitXor)) {
      TILEVM_ASSIGN_OR_RETURN(Value bits, IntBinary(op, x.int_value(), y.int_value(), loc));
      return Value::Bool(bits.int_value() != 0);
    }
    return IntBinary(op, x.int_value(), y.int_value(), loc);
  }
  const bool x_int = x.is(ValueKind::kInt) || x.is(ValueKind::kBool), y_int = y.is(ValueKind::kInt) || y.is(ValueKind::kBool);
  if (op == Op::kAdd && x.is(ValueKind::kString) && y.is(ValueKind::kString)) {
    TILEVM_RETURN_IF_ERROR(CheckText(x.string().size() + y.string().size(), loc));
    return Value::String(x.string() + y.string());
  }
  if (op == Op::kAdd && (x.is(ValueKind::kString) || IsSequence(x)) && x.kind() != y.kind()) {
    const std::string type = x.is(ValueKind::kString) ? "str" : NameOfType(x);
    return InvalidAt(loc, "TypeError: can only concatenate ", type, " (not \"", NameOfType(y), "\") to ", type);
  }
  if (percent) {
    // %d, %f and the like take the number of a tensor.
    const auto number = [&](const Value& item) {
      absl::StatusOr<Value> of = item.is(ValueKind::kObject) ? item.As<HostObject>()->CallMethod(*self_, "item", {}, loc) : absl::StatusOr<Value>(item);
      return of.ok() ? *of : item;
    };
    TILEVM_ASSIGN_OR_RETURN(std::string text,
                            PercentFormat(x.string(), y, loc, number,
                                          [&](const Value& item, bool as_repr) { return as_repr ? ToRepr(item, loc) : ToStr(item, loc); }));
    return Value::String(std::move(text));
  }
  if (op == Op::kMul && (x.is(ValueKind::kString) || IsSequence(x)) && y.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(const Value times, AsIndex(y, loc));
    if (times.is(ValueKind::kInt)) return Repeat(x, times, loc);
  }
  if (op == Op::kMul && (x.is(ValueKind::kString) || IsSequence(x)) && y_int) return Repeat(x, y, loc);
  if (op == Op::kMul && (y.is(ValueKind::kString) || IsSequence(y)) && x_int) return Repeat(y, x, loc);
  if (op == Op::kAdd && IsSequence(x) && x.kind() == y.kind()) {
    if (x.items().size() + y.items().size() > kMaxSequence) return TooLong(loc);
    std::vector<Value> items = x.items().ToVector();
    items.insert(items.end(), y.items().begin(), y.items().end());
    return x.is(ValueKind::kTuple) ? Value::Tuple(std::move(items)) : Value::List(std::move(items));
  }
  if (x.is(ValueKind::kSet) && y.is(ValueKind::kSet)) {
    const char* method = op == Op::kBitOr    ? "union"
                         : op == Op::kBitAnd ? "intersection"
                         : op == Op::kSub    ? "difference"
                         : op == Op::kBitXor ? "symmetric_difference"
                                             : nullptr;
    if (method != nullptr) return CallPythonMethod(x, method, CallArgs{{y}, {}}, loc);
  }
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> counter, CombineCounters(*this, op, x, y, loc));
  if (counter.has_value()) return *std::move(counter);
  if (op == Op::kBitOr && x.is(ValueKind::kDict) && y.is(ValueKind::kDict)) {
    Value merged = Value::Shared(ValueKind::kDict, std::make_shared<DictPayload>(*x.As<DictPayload>()));
    DetachAttributes(merged);
    for (const auto& [key, value] : y.As<DictPayload>()->entries) TILEVM_RETURN_IF_ERROR(DictPut(merged, key, value, loc));
    return merged;
  }
  return InvalidAt(loc, "TypeError: unsupported operand type(s) for ", Symbol(op), ": '", NameOfType(x), "' and '", NameOfType(y), "'");
}

absl::StatusOr<bool> Evaluator::Impl::LessThan(const Value& x, const Value& y, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckStack(loc));
  TILEVM_ASSIGN_OR_RETURN(Value less, Binary(Op::kLt, x, y, loc));
  return Truth(less, loc);
}

absl::StatusOr<bool> Evaluator::Impl::Equals(const Value& x, const Value& y, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckStack(loc));  // lists may be deep, or hold themselves
  if ((x.is(ValueKind::kBuiltin) || y.is(ValueKind::kBuiltin)) && !Identical(x, y)) {
    TILEVM_RETURN_IF_ERROR(CheckMeaning(x, loc));
    TILEVM_RETURN_IF_ERROR(CheckMeaning(y, loc));
  }
  if (x.is(ValueKind::kObject) || y.is(ValueKind::kObject)) {
    if (x.kind() == y.kind() && x.payload() == y.payload()) return true;
    const bool reflected = !x.is(ValueKind::kObject);  // 1 in [torch.tensor(1)]
    absl::StatusOr<Value> equal = (reflected ? y : x).As<HostObject>()->Binary(*self_, Op::kEq, reflected ? x : y, reflected, loc);
    if (!equal.ok()) return false;  // objects that do not compare are equal to themselves only
    return Truth(*equal, loc);
  }
  if (x.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> equal, CallOperator(*this, x, "__eq__", y, loc));
    if (equal.has_value()) return Truth(*equal, loc);
  }
  if (y.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> equal, CallOperator(*this, y, "__eq__", x, loc));
    if (equal.has_value()) return Truth(*equal, loc);
  }
  if (std::optional<Value> number = EnumNumber(x)) return Equals(*number, y, loc);
  if (std::optional<Value> number = EnumNumber(y)) return Equals(x, *number, loc);
  if (x.kind() != y.kind()) return StaticEqual(x, y);
  if (x.payload() != nullptr && x.payload() == y.payload()) return true;
  if (IsSequence(x)) {
    const std::vector<Value> a = x.items().ToVector(), b = y.items().ToVector();  // a method may change them
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      TILEVM_RETURN_IF_ERROR(CountStep(loc));  // what shares its parts can be compared without end
      TILEVM_ASSIGN_OR_RETURN(bool equal, Equals(a[i], b[i], loc));
      if (!equal) return false;
    }
    return true;
  }
  if (x.is(ValueKind::kDict)) {
    const PairTable a = x.As<DictPayload>()->entries;
    if (a.size() != y.As<DictPayload>()->entries.size()) return false;
    for (const auto& [key, item] : a) {
      TILEVM_RETURN_IF_ERROR(CountStep(loc));
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> other, DictGet(y, key, loc));
      if (!other.has_value()) return false;
      TILEVM_ASSIGN_OR_RETURN(bool equal, Equals(item, *other, loc));
      if (!equal) return false;
    }
    return true;
  }
  if (x.is(ValueKind::kSet)) {
    if (x.As<SetPayload>()->items.size() != y.As<SetPayload>()->items.size()) return false;
    const PairTable a = x.As<SetPayload>()->items;
    for (const auto& [item, nothing] : a) {
      TILEVM_ASSIGN_OR_RETURN(bool found, Contains(y, item, loc));
      if (!found) return false;
    }
    return true;
  }
  if (x.is(ValueKind::kInstance)) {
    const std::optional<Value> a = DataFields(x), b = DataFields(y);
    if (a.has_value() && b.has_value() && x.As<InstancePayload>()->type.payload() == y.As<InstancePayload>()->type.payload()) return Equals(*a, *b, loc);
  }
  return StaticEqual(x, y);
}

absl::StatusOr<Value> Evaluator::Impl::CompareValues(Op op, const Value& x, const Value& y, Loc loc) {
  if (op == Op::kEq || op == Op::kNe) {
    TILEVM_ASSIGN_OR_RETURN(bool equal, Equals(x, y, loc));
    return Value::Bool(equal == (op == Op::kEq));
  }
  const auto decide = [op](auto a, auto b) {
    switch (op) {
      case Op::kLt: return Value::Bool(a < b);
      case Op::kLe: return Value::Bool(a <= b);
      case Op::kGt: return Value::Bool(a > b);
      default: return Value::Bool(a >= b);
    }
  };
  if (x.is_static_number() && y.is_static_number()) {
    if (x.is(ValueKind::kFloat) != y.is(ValueKind::kFloat)) {  // exact, beyond 2**53 too
      const double f = x.is(ValueKind::kFloat) ? x.float_value() : y.float_value();
      const int128 i = x.is(ValueKind::kFloat) ? y.int_value() : x.int_value();
      if (std::fabs(f) < 0x1p126) {
        const int128 whole = static_cast<int128>(std::trunc(f));
        const int order = i < whole ? -1 : i > whole ? 1 : f > std::trunc(f) ? -1 : f < std::trunc(f) ? 1 : 0;  // of the integer
        return decide(x.is(ValueKind::kFloat) ? -order : order, 0);
      }
    }
    if (x.is(ValueKind::kFloat) || y.is(ValueKind::kFloat)) return decide(AsDouble(x), AsDouble(y));
    return decide(x.int_value(), y.int_value());
  }
  if (x.is(ValueKind::kString) && y.is(ValueKind::kString)) return decide(x.string().compare(y.string()), 0);
  if (std::optional<Value> number = EnumNumber(x)) return CompareValues(op, *number, y, loc);
  if (std::optional<Value> number = EnumNumber(y)) return CompareValues(op, x, *number, loc);
  if (x.is(ValueKind::kSet) && y.is(ValueKind::kSet)) {
    const bool swap = op == Op::kGt || op == Op::kGe;
    const Value &small = swap ? y : x, &large = swap ? x : y;
    const PairTable items = small.As<SetPayload>()->items;
    for (const auto& [item, nothing] : items) {
      TILEVM_ASSIGN_OR_RETURN(bool found, Contains(large, item, loc));
      if (!found) return Value::Bool(false);
    }
    return Value::Bool(op == Op::kLe || op == Op::kGe || items.size() < large.As<SetPayload>()->items.size());
  }
  if (IsSequence(x) && x.kind() == y.kind()) {
    const std::vector<Value> a = x.items().ToVector(), b = y.items().ToVector();  // a method may change them
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      TILEVM_RETURN_IF_ERROR(CountStep(loc));
      TILEVM_ASSIGN_OR_RETURN(bool equal, Equals(a[i], b[i], loc));
      if (!equal) return Binary(op, a[i], b[i], loc);
    }
    return decide(a.size(), b.size());
  }
  if (x.is(ValueKind::kInstance) && y.is(ValueKind::kInstance) && HasFlag(x.As<InstancePayload>()->type, "__dataclass_order__") &&
      x.As<InstancePayload>()->type.payload() == y.As<InstancePayload>()->type.payload()) {
    return CompareValues(op, *DataFields(x), *DataFields(y), loc);
  }
  if (x.is(ValueKind::kInstance) && HasFlag(x.As<InstancePayload>()->type, "__total_ordering__")) {
    // x <= y is x < y or x == y, and so on, by whichever of the four there is.
    constexpr Op kAll[] = {Op::kLt, Op::kLe, Op::kGt, Op::kGe};
    for (Op known : kAll) {
      TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallOperator(*this, x, absl::StrCat("__", DunderName(known), "__"), y, loc));
      if (!value.has_value()) continue;
      TILEVM_ASSIGN_OR_RETURN(const bool holds, Truth(*value, loc));
      TILEVM_ASSIGN_OR_RETURN(const bool equal, Equals(x, y, loc));
      const bool below = known == Op::kLt ? holds : known == Op::kLe ? holds && !equal : known == Op::kGt ? !holds && !equal : !holds;
      return Value::Bool(op == Op::kLt ? below : op == Op::kLe ? below || equal : op == Op::kGt ? !below && !equal : !below);
    }
  }
  if (y.is(ValueKind::kInstance)) {
    const char* mirrored = op == Op::kLt ? "__gt__" : op == Op::kLe ? "__ge__" : op == Op::kGt ? "__lt__" : "__le__";
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallOperator(*this, y, mirrored, x, loc));
    if (value.has_value()) return *value;
  }
  return InvalidAt(loc, "TypeError: '", Symbol(op), "' not supported between instances of '", NameOfType(x), "' and '", NameOfType(y), "'");
}

}  // namespace tilevm::specializer
