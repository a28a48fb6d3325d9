// Python's builtin functions on numbers, types and text, and the registry of all native builtins. Those on sequences are in sequence_builtins.cc.
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "isa/utf8.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/python_format.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

absl::Status NotOnTensors(Impl& impl, const Value& value, absl::string_view function, absl::string_view instead, Loc loc) {
  if (!IsTyped(value)) return absl::OkStatus();
  return InvalidAt(loc, "TypeError: ", function, "() argument is ", impl.NameOfType(value), ", known only when the kernel runs; use ", instead);
}

absl::StatusOr<absl::int128> ParseInt(absl::string_view given, int base, Loc loc) {
  std::string digits = absl::StrReplaceAll(absl::StripAsciiWhitespace(given), {{"_", ""}});
  absl::string_view text = digits;
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  for (auto [prefix, prefix_base] : {std::pair<const char*, int>{"0x", 16}, {"0b", 2}, {"0o", 8}}) {
    if ((base == prefix_base || base == 0) && absl::StartsWithIgnoreCase(text, prefix)) {
      base = prefix_base;
      text.remove_prefix(2);
      break;
    }
  }
  if (base == 0) base = 10;
  absl::int128 value = 0;
  bool ok = !text.empty();
  for (char c : text) {
    const int digit = absl::ascii_isdigit(c) ? c - '0' : absl::ascii_isalpha(c) ? absl::ascii_tolower(c) - 'a' + 10 : 99;
    if (digit >= base) ok = false;
    if (!ok) break;
    if (value > (absl::Int128Max() - digit) / base) return InvalidAt(loc, "OverflowError: an integer of more than 128 bits");
    value = value * base + digit;
  }
  if (!ok) return InvalidAt(loc, "ValueError: invalid literal for int() with base ", base, ": ", QuoteString(given));
  return negative ? -value : value;
}

absl::StatusOr<Value> IntFromFloat(double value, Loc loc) {
  if (std::isnan(value)) return InvalidAt(loc, "ValueError: cannot convert float NaN to integer");
  if (!(std::fabs(value) < 1.7e38)) return InvalidAt(loc, "OverflowError: cannot convert ", FloatRepr(value), " to an integer of at most 128 bits");
  return Value::Int(static_cast<absl::int128>(std::trunc(value)));
}

absl::StatusOr<Value> Int(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "int", 0, 2, loc, {"base"}));
  if (args.positional.empty()) return Value::Int(0);
  Value value = Unboxed(args.positional[0]);
  if (std::optional<Value> number = impl.EnumNumber(value)) value = *number;
  TILEVM_RETURN_IF_ERROR(NotOnTensors(impl, value, "int", "x.to(tl.int32)", loc));
  if (value.is(ValueKind::kString)) {
    int64_t base = 10;
    if (Value given = Argument(args, 1, "base"); !given.absent()) {
      TILEVM_ASSIGN_OR_RETURN(base, ToIndex(given, "base", loc));
      if (base != 0 && (base < 2 || base > 36)) return InvalidAt(loc, "ValueError: int() base must be >= 2 and <= 36, or 0");
    }
    TILEVM_ASSIGN_OR_RETURN(absl::int128 number, ParseInt(value.string(), static_cast<int>(base), loc));
    return Value::Int(number);
  }
  if (value.is(ValueKind::kFloat)) return IntFromFloat(value.float_value(), loc);
  if (value.is_static_number()) return Value::Int(value.int_value());
  if (value.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> number, impl.CallDunder(value, "__int__", {}, loc));
    if (number.has_value()) return *number;
    TILEVM_ASSIGN_OR_RETURN(const Value index, impl.AsIndex(value, loc));
    if (index.is_static_number()) return index;
  }
  if (value.is(ValueKind::kObject)) {
    TILEVM_ASSIGN_OR_RETURN(Value item, value.As<HostObject>()->CallMethod(impl.self(), "item", {}, loc));
    if (item.is_static_number()) return Int(impl, CallArgs{{item}, {}}, loc);
  }
  return InvalidAt(loc, "TypeError: int() argument must be a string, a bytes-like object or a real number, not '", impl.NameOfType(value), "'");
}

absl::StatusOr<Value> Float(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "float", 0, 1, loc));
  if (args.positional.empty()) return Value::Float(0);
  Value value = Unboxed(args.positional[0]);
  if (std::optional<Value> number = impl.EnumNumber(value)) value = *number;
  TILEVM_RETURN_IF_ERROR(NotOnTensors(impl, value, "float", "x.to(tl.float32)", loc));
  if (value.is(ValueKind::kString)) {
    std::string text = absl::AsciiStrToLower(absl::StrReplaceAll(absl::StripAsciiWhitespace(value.string()), {{"_", ""}}));
    absl::string_view body = text;
    double sign = 1;
    if (!body.empty() && (body[0] == '-' || body[0] == '+')) {
      sign = body[0] == '-' ? -1 : 1;
      body.remove_prefix(1);
    }
    if (body == "inf" || body == "infinity") return Value::Float(sign * std::numeric_limits<double>::infinity());
    if (body == "nan") return Value::Float(std::numeric_limits<double>::quiet_NaN());
    double number = 0;
    if (body.empty() || absl::StartsWith(body, "0x") || !absl::SimpleAtod(body, &number))
      return InvalidAt(loc, "ValueError: could not convert string to float: ", QuoteString(value.string()));
    return Value::Float(sign * number);
  }
  if (value.is(ValueKind::kFloat)) return value;
  if (value.is_static_number()) return Value::Float(static_cast<double>(value.int_value()));
  if (value.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> number, impl.CallDunder(value, "__float__", {}, loc));
    if (number.has_value()) return *number;
  }
  if (value.is(ValueKind::kObject)) {
    TILEVM_ASSIGN_OR_RETURN(Value item, value.As<HostObject>()->CallMethod(impl.self(), "item", {}, loc));
    if (item.is_static_number()) return Float(impl, CallArgs{{item}, {}}, loc);
  }
  return InvalidAt(loc, "TypeError: float() argument must be a string or a real number, not '", impl.NameOfType(value), "'");
}

absl::StatusOr<Value> Bool(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "bool", 0, 1, loc));
  if (args.positional.empty()) return Value::Bool(false);
  TILEVM_ASSIGN_OR_RETURN(bool truth, impl.Truth(args.positional[0], loc));
  return Value::Bool(truth);
}

absl::StatusOr<Value> StrOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "str", 0, 1, loc));
  if (args.positional.empty()) return Value::String("");
  TILEVM_ASSIGN_OR_RETURN(std::string text, impl.ToStr(args.positional[0], loc));
  return Value::String(std::move(text));
}

absl::StatusOr<Value> ReprOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "repr", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(std::string text, impl.ToRepr(args.positional[0], loc));
  return Value::String(std::move(text));
}

absl::StatusOr<Value> FormatOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "format", 1, 2, loc));
  const Value spec = Argument(args, 1, "");
  if (!spec.absent() && !spec.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: format() argument 2 must be str, not ", impl.NameOfType(spec));
  Value value = args.positional[0];
  std::optional<Value> number_of_enum = impl.EnumNumber(value);
  if (number_of_enum.has_value()) {
    const Value& type = value.As<InstancePayload>()->type;
    if (!impl.HasBase(type, "enum.IntEnum") && !impl.HasBase(type, "enum.StrEnum") && !impl.HasBase(type, "enum.IntFlag")) number_of_enum.reset();
  }
  if (number_of_enum.has_value()) {
    value = *number_of_enum;
  } else if (value.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> own, impl.CallDunder(value, "__format__", {spec.absent() ? Value::String("") : spec}, loc));
    if (own.has_value()) return *std::move(own);
    TILEVM_ASSIGN_OR_RETURN(std::string text, impl.ToStr(value, loc));
    value = Value::String(std::move(text));
  } else if (value.is(ValueKind::kList) || value.is(ValueKind::kTuple) || value.is(ValueKind::kDict) || value.is(ValueKind::kSet)) {
    TILEVM_ASSIGN_OR_RETURN(std::string text, impl.ToStr(value, loc));
    value = Value::String(std::move(text));
  } else if (value.is(ValueKind::kObject)) {
    // A one-element tensor formats as its number.
    // A tensor of no dimensions formats as its number; with a format, one of one element does too.
    absl::StatusOr<Value> item = value.As<HostObject>()->CallMethod(impl.self(), "item", {}, loc);
    bool number = item.ok() && !spec.absent() && !spec.string().empty();
    if (item.ok() && !number) {
      const absl::StatusOr<Value> rank = value.As<HostObject>()->GetAttr(impl.self(), "ndim", loc);
      number = rank.ok() && rank->is(ValueKind::kInt) && rank->int_value() == 0;
    }
    if (number) {
      value = *item;
    } else {
      TILEVM_ASSIGN_OR_RETURN(std::string text, impl.ToStr(value, loc));
      value = Value::String(std::move(text));
    }
  } else if (IsTyped(value)) {
    value = Value::String(impl.NameOfType(value));
  }
  TILEVM_ASSIGN_OR_RETURN(std::string text, FormatValue(value, spec.absent() ? "" : spec.string(), loc));
  return Value::String(std::move(text));
}

absl::StatusOr<Value> Abs(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "abs", 1, 1, loc));
  const Value value = Unboxed(args.positional[0]);
  if (value.is(ValueKind::kFloat)) return Value::Float(std::fabs(value.float_value()));
  if (value.is_static_number()) return value.int_value() < 0 ? impl.Unary(Op::kNeg, value, loc) : Value::Int(value.int_value());
  if (value.is(ValueKind::kObject)) return value.As<HostObject>()->CallMethod(impl.self(), "abs", {}, loc);
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> own, impl.CallDunder(value, "__abs__", {}, loc));
  if (own.has_value()) return *std::move(own);
  return InvalidAt(loc, "TypeError: bad operand type for abs(): '", impl.NameOfType(value), "'");
}

absl::StatusOr<Value> Round(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "round", 1, 2, loc, {"ndigits"}));
  const Value value = Unboxed(args.positional[0]);
  const Value digits = Argument(args, 1, "ndigits");
  if (value.is(ValueKind::kInt) || value.is(ValueKind::kBool)) {
    if (digits.absent_or_none()) return Value::Int(value.int_value());
    TILEVM_ASSIGN_OR_RETURN(const int64_t places, ToIndex(digits, "ndigits", loc));
    if (places >= 0) return Value::Int(value.int_value());
    if (places < -38) return Value::Int(0);
    absl::int128 scale = 1;
    for (int64_t i = 0; i < -places; ++i) scale *= 10;
    // To the nearest, a half to the even one.
    const absl::int128 x = value.int_value();
    absl::int128 quotient = x / scale, rest = x % scale;
    if (rest < 0) rest += scale, quotient -= 1;
    if (rest > scale - rest || (rest == scale - rest && quotient % 2 != 0)) quotient += 1;
    return impl.Binary(Op::kMul, Value::Int(quotient), Value::Int(scale), loc);
  }
  if (value.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> own,
                            impl.CallDunder(value, "__round__", digits.absent() ? std::vector<Value>() : std::vector<Value>{digits}, loc));
    if (own.has_value()) return *std::move(own);
  }
  if (!value.is(ValueKind::kFloat)) return InvalidAt(loc, "TypeError: type ", impl.NameOfType(value), " doesn't define __round__ method");
  if (digits.absent_or_none()) return IntFromFloat(std::nearbyint(value.float_value()), loc);
  TILEVM_ASSIGN_OR_RETURN(int64_t count, ToIndex(digits, "ndigits", loc));
  if (count > 300 || !std::isfinite(value.float_value())) return value;
  if (count < -300) return Value::Float(0);
  if (count < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-count));
    return Value::Float(std::nearbyint(value.float_value() / scale) * scale);
  }
  // Rounding by decimal text is exact where scaling is not (2.675 -> 2.67).
  TILEVM_ASSIGN_OR_RETURN(std::string text, FormatValue(value, absl::StrCat(".", count, "f"), loc));
  double rounded = 0;
  return absl::SimpleAtod(text, &rounded) ? Value::Float(rounded) : value;
}

absl::StatusOr<Value> DivMod(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "divmod", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(Value quotient, impl.Binary(Op::kFloorDiv, args.positional[0], args.positional[1], loc));
  TILEVM_ASSIGN_OR_RETURN(Value remainder, impl.Binary(Op::kMod, args.positional[0], args.positional[1], loc));
  return Value::Tuple({quotient, remainder});
}

absl::StatusOr<Value> Pow(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "pow", 2, 3, loc));
  if (args.positional.size() == 3) {
    TILEVM_ASSIGN_OR_RETURN(int64_t exponent, ToIndex(args.positional[1], "the exponent", loc));
    if (exponent < 0) return UnimplementedAt(loc, "pow with a modulus and a negative exponent");
    Value result = Value::Int(1), base = args.positional[0];
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) {
        TILEVM_ASSIGN_OR_RETURN(result, impl.Binary(Op::kMul, result, base, loc));
        TILEVM_ASSIGN_OR_RETURN(result, impl.Binary(Op::kMod, result, args.positional[2], loc));
      }
      TILEVM_ASSIGN_OR_RETURN(base, impl.Binary(Op::kMul, base, base, loc));
      TILEVM_ASSIGN_OR_RETURN(base, impl.Binary(Op::kMod, base, args.positional[2], loc));
    }
    return impl.Binary(Op::kMod, result, args.positional[2], loc);
  }
  return impl.Binary(Op::kPow, args.positional[0], args.positional[1], loc);
}

template <int kBase>
absl::StatusOr<Value> Digits(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, kBase == 16 ? "hex" : kBase == 2 ? "bin" : "oct", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(const Value number, impl.AsIndex(args.positional[0], loc));
  if (!number.is(ValueKind::kInt) && !number.is(ValueKind::kBool)) {
    return InvalidAt(loc, "TypeError: '", impl.NameOfType(number), "' object cannot be interpreted as an integer");
  }
  TILEVM_ASSIGN_OR_RETURN(std::string text, FormatValue(number, kBase == 16 ? "#x" : kBase == 2 ? "#b" : "#o", loc));
  return Value::String(std::move(text));
}

absl::StatusOr<Value> Chr(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "chr", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t code, ToIndex(args.positional[0], "chr", loc));
  if (code < 0 || code > 0x10ffff) return InvalidAt(loc, "ValueError: chr() arg not in range(0x110000)");
  if (code >= 0xd800 && code < 0xe000) return UnimplementedAt(loc, "chr of a surrogate");
  std::string text;
  isa::AppendUtf8(static_cast<uint32_t>(code), &text);
  return Value::String(std::move(text));
}

absl::StatusOr<Value> Ord(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "ord", 1, 1, loc));
  if (!args.positional[0].is(ValueKind::kString) || isa::CodePoints(args.positional[0].string()) != 1)
    return InvalidAt(loc, "TypeError: ord() expected a character");
  size_t at = 0;
  return Value::Int(isa::NextCodePoint(args.positional[0].string(), at));
}

absl::StatusOr<Value> Type(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "type", 1, 1, loc));
  const Value& value = args.positional[0];
  if (value.is(ValueKind::kInstance)) return value.As<InstancePayload>()->type;
  if (value.is(ValueKind::kObject)) return impl.TypeNamed(value.As<HostObject>()->type_name());
  if (value.is(ValueKind::kDict) && !value.As<DictPayload>()->class_name.empty())
    return impl.TypeNamed(absl::StrCat("collections.", value.As<DictPayload>()->class_name));
  if (value.is_tensor()) return impl.TypeNamed("triton.language.tensor");
  if (value.is(ValueKind::kConstexpr)) return impl.TypeNamed("triton.language.constexpr");
  return impl.TypeNamed(absl::StrCat("builtins.", impl.NameOfType(value)));
}

absl::StatusOr<Value> IsInstanceOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "isinstance", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(bool is, impl.IsInstance(args.positional[0], args.positional[1], impl.builtin_in_kernel(), loc));
  return Value::Bool(is);
}

absl::StatusOr<Value> IsSubclassOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "issubclass", 2, 2, loc));
  return Value::Bool(impl.IsSubclass(args.positional[0], args.positional[1]));
}

absl::StatusOr<std::string> AttributeName(Impl& impl, const CallArgs& args, absl::string_view function, Loc loc) {
  const Value name = Unboxed(args.positional[1]);
  if (!name.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: ", function, "(): attribute name must be string, not ", impl.NameOfType(name));
  return name.string();
}

// hasattr and getattr ask what is here, of Python's own modules too.
absl::Status CheckHere(Impl& impl, const Value& value, Loc loc) {
  TILEVM_RETURN_IF_ERROR(impl.CheckKnown(value.string(), loc));
  const std::string& path = value.string();
  const size_t dot = path.rfind('.');
  if (impl.CheckMeaning(value, loc).ok()) return absl::OkStatus();
  return InvalidAt(loc, "AttributeError: module '", path.substr(0, dot), "' has no attribute '", path.substr(dot + 1), "' (docs/host.md lists what is there)");
}

absl::StatusOr<Value> GetAttrOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "getattr", 2, 3, loc));
  TILEVM_ASSIGN_OR_RETURN(std::string name, AttributeName(impl, args, "getattr", loc));
  absl::StatusOr<Value> value = impl.GetAttr(args.positional[0], name, impl.builtin_in_kernel(), loc);
  if (value.ok() && value->is(ValueKind::kBuiltin)) {
    if (absl::Status known = CheckHere(impl, *value, loc); !known.ok()) value = known;
  }
  if (!value.ok() && args.positional.size() == 3 && !absl::IsResourceExhausted(value.status())) return args.positional[2];
  return value;
}

absl::StatusOr<Value> HasAttrOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "hasattr", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(std::string name, AttributeName(impl, args, "hasattr", loc));
  absl::StatusOr<Value> value = impl.GetAttr(args.positional[0], name, impl.builtin_in_kernel(), loc);
  if (!value.ok()) return Value::Bool(false);
  // An outside path has no list of its names: what neither the evaluator nor the host knows is not there.
  if (value->is(ValueKind::kBuiltin)) return Value::Bool(CheckHere(impl, *value, loc).ok());
  return Value::Bool(true);
}

absl::StatusOr<Value> SetAttrOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "setattr", 3, 3, loc));
  TILEVM_ASSIGN_OR_RETURN(std::string name, AttributeName(impl, args, "setattr", loc));
  TILEVM_RETURN_IF_ERROR(impl.SetAttr(args.positional[0], name, args.positional[2], loc));
  return Value::None();
}

absl::StatusOr<Value> Callable(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "callable", 1, 1, loc));
  const Value& value = args.positional[0];
  switch (value.kind()) {
    case ValueKind::kFunction:
    case ValueKind::kJitFunction:
    case ValueKind::kBoundMethod:
    case ValueKind::kBuiltin:
    case ValueKind::kClass:
      return Value::Bool(true);
    case ValueKind::kInstance: return Value::Bool(impl.FindInClass(value.As<InstancePayload>()->type, "__call__") != nullptr);
    case ValueKind::kObject:
      return Value::Bool(dynamic_cast<PartialObject*>(value.As<HostObject>()) != nullptr || dynamic_cast<MethodWrapper*>(value.As<HostObject>()) != nullptr ||
                         dynamic_cast<CacheObject*>(value.As<HostObject>()) != nullptr);
    default: return Value::Bool(false);
  }
}

absl::StatusOr<Value> Id(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "id", 1, 1, loc));
  return Value::Int(impl.IdOf(args.positional[0]));
}

absl::StatusOr<Value> Hash(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "hash", 1, 1, loc));
  TILEVM_ASSIGN_OR_RETURN(uint64_t hash, impl.HashOf(args.positional[0], loc));
  Value value = Unboxed(args.positional[0]);
  if (value.is(ValueKind::kBool)) value = Value::Int(value.int_value());
  if (value.is(ValueKind::kFloat) && std::fabs(value.float_value()) < INT32_MAX && value.float_value() == std::floor(value.float_value()))
    value = Value::Int(static_cast<int64_t>(value.float_value()));
  const bool small = value.is(ValueKind::kInt) && value.int_value() > -2 && value.int_value() < INT32_MAX;  // as Python has them
  return small ? value : Value::Int(static_cast<int64_t>(hash >> 1));
}

absl::StatusOr<Value> DelAttrOf(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "delattr", 2, 2, loc));
  TILEVM_ASSIGN_OR_RETURN(std::string name, AttributeName(impl, args, "delattr", loc));
  TILEVM_RETURN_IF_ERROR(impl.DeleteAttr(args.positional[0], name, loc));
  return Value::None();
}

absl::StatusOr<Value> ObjectSetAttr(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "object.__setattr__", 3, 3, loc));
  TILEVM_ASSIGN_OR_RETURN(std::string name, AttributeName(impl, args, "object.__setattr__", loc));
  TILEVM_RETURN_IF_ERROR(impl.SetAttr(args.positional[0], name, args.positional[2], loc, true));
  return Value::None();
}

absl::StatusOr<Value> Print(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "print", 0, args.positional.size() + args.keyword.size(), loc, {"sep", "end", "file", "flush"}));
  const Value* file = FindKeyword(args, "file");
  const bool to_error = file != nullptr && file->is(ValueKind::kBuiltin) && file->string() == "sys.stderr";
  const bool to_output = file == nullptr || file->is(ValueKind::kNone) || (file->is(ValueKind::kBuiltin) && file->string() == "sys.stdout");
  if (!to_error && !to_output) return UnimplementedAt(loc, "print to a file other than sys.stdout and sys.stderr");
  std::vector<std::string> parts;
  for (const Value& value : args.positional) {
    TILEVM_ASSIGN_OR_RETURN(std::string text, impl.ToStr(value, loc));
    parts.push_back(std::move(text));
  }
  const Value* separator = FindKeyword(args, "sep");
  const Value* end = FindKeyword(args, "end");
  const std::string text = absl::StrJoin(parts, separator != nullptr && separator->is(ValueKind::kString) ? separator->string() : " ");
  const std::string ending = end != nullptr && end->is(ValueKind::kString) ? end->string() : "\n";
  if (to_error) {
    impl.host().PrintError(absl::StrCat(text, ending));
  } else {
    impl.PrintText(text, ending);
  }
  return Value::None();
}

// sys.stdout.write, sys.stderr.write
template <bool kError>
absl::StatusOr<Value> Write(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "write", 1, 1, loc));
  if (!args.positional[0].is(ValueKind::kString)) return InvalidAt(loc, "TypeError: write() argument must be str, not ", impl.NameOfType(args.positional[0]));
  if (kError) {
    impl.host().PrintError(args.positional[0].string());
  } else {
    impl.PrintText(args.positional[0].string(), "");
  }
  TILEVM_ASSIGN_OR_RETURN(const int64_t length, impl.Length(args.positional[0], loc));
  return Value::Int(length);
}
absl::StatusOr<Value> Flush(Impl&, const CallArgs&, Loc) { return Value::None(); }

// vars(x): the attributes of x.
absl::StatusOr<Value> Vars(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "vars", 1, 1, loc));
  absl::StatusOr<Value> attributes = impl.GetAttr(args.positional[0], "__dict__", false, loc);
  return attributes.ok() ? attributes : InvalidAt(loc, "TypeError: vars() argument must have __dict__ attribute");
}

absl::StatusOr<Value> StaticMethod(Impl&, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "staticmethod", 1, 1, loc));
  auto wrapper = std::make_shared<MethodWrapper>();
  wrapper->kind = MethodWrapper::Kind::kStatic;
  wrapper->function = args.positional[0];
  return Value::Shared(ValueKind::kObject, std::move(wrapper));
}
absl::StatusOr<Value> ClassMethod(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(Value wrapper, StaticMethod(impl, args, loc));
  static_cast<MethodWrapper*>(wrapper.As<HostObject>())->kind = MethodWrapper::Kind::kClass;
  return wrapper;
}
absl::StatusOr<Value> Property(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(Value wrapper, StaticMethod(impl, args, loc));
  static_cast<MethodWrapper*>(wrapper.As<HostObject>())->kind = MethodWrapper::Kind::kProperty;
  return wrapper;
}

// `x.setter`, called with the function.
absl::StatusOr<Value> PropertyPart(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "setter", 3, 3, loc));
  return args.positional[0].As<HostObject>()->CallMethod(impl.self(), args.positional[1].string(), CallArgs{{args.positional[2]}, {}}, loc);
}

constexpr BuiltinRow kRows[] = {
    {"builtins.int", Int}, {"builtins.float", Float}, {"builtins.bool", Bool}, {"builtins.str", StrOf}, {"builtins.repr", ReprOf}, {"builtins.format", FormatOf},
    {"builtins.abs", Abs}, {"builtins.round", Round}, {"builtins.divmod", DivMod}, {"builtins.pow", Pow}, {"builtins.hex", Digits<16>}, {"builtins.bin", Digits<2>},
    {"builtins.oct", Digits<8>}, {"builtins.chr", Chr}, {"builtins.ord", Ord}, {"builtins.type", Type}, {"builtins.isinstance", IsInstanceOf},
    {"builtins.issubclass", IsSubclassOf}, {"builtins.getattr", GetAttrOf}, {"builtins.hasattr", HasAttrOf}, {"builtins.setattr", SetAttrOf},
    {"builtins.callable", Callable}, {"builtins.id", Id}, {"builtins.hash", Hash}, {"builtins.delattr", DelAttrOf},
    {"builtins.object.__setattr__", ObjectSetAttr}, {"builtins.print", Print},
    {"sys.stdout.write", Write<false>}, {"sys.stderr.write", Write<true>}, {"sys.stdout.flush", Flush}, {"sys.stderr.flush", Flush}, {"builtins.vars", Vars},
     {"builtins.staticmethod", StaticMethod},
    {"builtins.classmethod", ClassMethod}, {"builtins.property", Property}, {"tilevm.property_part", PropertyPart},
};

const absl::flat_hash_map<absl::string_view, BuiltinFunction>& Registry() {
  static const auto* const registry = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, BuiltinFunction>;
    for (absl::Span<const BuiltinRow> rows : AllBuiltins()) {
      for (const BuiltinRow& row : rows) map->emplace(row.path, row.function);
    }
    return map;
  }();
  return *registry;
}

}  // namespace

absl::Span<const BuiltinRow> PythonBuiltins() { return kRows; }

BuiltinFunction FindBuiltin(absl::string_view path) {
  auto found = Registry().find(path);
  return found == Registry().end() ? nullptr : found->second;
}

bool IsPythonBuiltin(absl::string_view name) {
  const std::string path = absl::StrCat("builtins.", name);
  return FindBuiltin(path) != nullptr || IsExceptionName(path) || name == "object" || name == "NotImplemented";
}

}  // namespace tilevm::specializer
