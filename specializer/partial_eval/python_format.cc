#include "specializer/partial_eval/python_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "isa/utf8.h"

namespace tilevm::specializer {

std::string IntToString(absl::int128 value, int base) {
  bool negative = value < 0;
  absl::uint128 magnitude = negative ? -static_cast<absl::uint128>(value) : static_cast<absl::uint128>(value);
  std::string digits;
  do {
    int digit = static_cast<int>(static_cast<uint64_t>(magnitude % static_cast<absl::uint128>(base)));
    digits.push_back("0123456789abcdef"[digit]);
    magnitude /= static_cast<absl::uint128>(base);
  } while (magnitude != 0);
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);  // d.ddde[+-]dd
  size_t e = text.find('e');
  int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent < -4 || exponent >= 16) {
    std::string mantissa = text.substr(0, e);
    return absl::StrCat(mantissa, "e", exponent < 0 ? "-" : "+", std::abs(exponent) < 10 ? "0" : "", std::abs(exponent));
  }
  end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  text.assign(buffer, end);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string QuoteString(absl::string_view text) {
  char quote = text.find('\'') != absl::string_view::npos && text.find('"') == absl::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\\' || c == quote) {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += hex;
    } else {
      out.push_back(c);
    }
  }
  out.push_back(quote);
  return out;
}

std::string TritonTypeName(isa::DType dtype) {
  switch (dtype) {
    case isa::DType::kF16: return "fp16";
    case isa::DType::kBF16: return "bf16";
    case isa::DType::kF32: return "fp32";
    case isa::DType::kF64: return "fp64";
    case isa::DType::kF8E4M3: return "fp8e4nv";
    case isa::DType::kF8E5M2: return "fp8e5";
    default: return std::string(isa::SurfaceName(dtype));
  }
}

namespace {

// Widths and precisions come from the program; more than this is a slip, not a table.
constexpr int kMaxWidth = 4096;

struct Spec {
  std::string fill = " ";  // one character
  char align = 0;      // < > = ^
  char sign = '-';     // + - space
  bool alternate = false;
  int width = 0;
  char grouping = 0;   // , or _
  int precision = -1;
  int digits = 0;      // of an integer at least: %.3d
  char type = 0;
};

bool IsAlign(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

absl::StatusOr<int> ReadNumber(absl::string_view& text, Loc loc) {
  int value = 0;
  while (!text.empty() && absl::ascii_isdigit(text[0])) {
    value = value * 10 + (text[0] - '0');
    if (value > kMaxWidth) return InvalidAt(loc, "ValueError: a width or precision above ", kMaxWidth, " in a format specifier");
    text.remove_prefix(1);
  }
  return value;
}

absl::StatusOr<Spec> ParseSpec(absl::string_view text, Loc loc) {
  const std::string whole(text);
  Spec spec;
  if (const size_t first = isa::ByteOfCodePoint(text, 1); first < text.size() && IsAlign(text[first])) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && IsAlign(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    spec.sign = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && text[0] == '#') {
    spec.alternate = true;
    text.remove_prefix(1);
  }
  if (!text.empty() && text[0] == '0') {
    if (spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    text.remove_prefix(1);
  }
  TILEVM_ASSIGN_OR_RETURN(spec.width, ReadNumber(text, loc));
  if (!text.empty() && (text[0] == ',' || text[0] == '_')) {
    spec.grouping = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    if (text.empty() || !absl::ascii_isdigit(text[0])) return InvalidAt(loc, "ValueError: format specifier '", whole, "' lacks a precision");
    TILEVM_ASSIGN_OR_RETURN(spec.precision, ReadNumber(text, loc));
  }
  if (!text.empty()) {
    spec.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) return InvalidAt(loc, "ValueError: invalid format specifier '", whole, "'");
  return spec;
}

std::string Group(const std::string& digits, char separator, int every) {
  std::string out;
  int count = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    if (count > 0 && count % every == 0) out.push_back(separator);
    out.push_back(digits[i]);
    ++count;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::string Pad(const Spec& spec, const std::string& sign, const std::string& body, char default_align) {
  const size_t size = sign.size() + static_cast<size_t>(isa::CodePoints(body));
  size_t width = static_cast<size_t>(spec.width);
  if (size >= width) return sign + body;
  size_t space = width - size;
  const auto fill = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += spec.fill;
    return text;
  };
  char align = spec.align ? spec.align : default_align;
  if (align == '<') return sign + body + fill(space);
  if (align == '^') return fill(space / 2) + sign + body + fill(space - space / 2);
  if (align == '=') return sign + fill(space) + body;
  return fill(space) + sign + body;
}

std::string SignText(const Spec& spec, bool negative) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string Printf(char type, int precision, bool alternate, double magnitude) {
  char format[8];
  std::snprintf(format, sizeof format, "%%%s.*%c", alternate ? "#" : "", type);
  int size = std::snprintf(nullptr, 0, format, precision, magnitude);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, precision, magnitude);
  text.resize(static_cast<size_t>(size));
  return text;
}

absl::StatusOr<std::string> FormatFloat(double value, const Spec& spec, Loc loc) {
  bool negative = std::signbit(value) && !std::isnan(value);
  double magnitude = std::fabs(value);
  std::string body;
  char type = spec.type;
  if (type != 0 && !absl::StrContains("eEfFgGn%", absl::string_view(&type, 1))) {
    return InvalidAt(loc, "ValueError: Unknown format code '", std::string(1, type), "' for object of type 'float'");
  }
  if (!std::isfinite(value)) {
    body = std::isnan(value) ? "nan" : "inf";
    if (type == 'E' || type == 'F' || type == 'G') absl::AsciiStrToUpper(&body);
    if (type == '%') body += "%";
  } else if (type == 0 && spec.precision < 0) {
    body = FloatRepr(magnitude);
  } else if (type == 0) {
    body = Printf('g', std::max(spec.precision, 1), spec.alternate, magnitude);
    if (body.find_first_of(".e") == std::string::npos) body += ".0";
  } else if (type == '%') {
    body = Printf('f', spec.precision < 0 ? 6 : spec.precision, spec.alternate, magnitude * 100) + "%";
  } else if (type == 'f' || type == 'F' || type == 'e' || type == 'E') {
    body = Printf(type, spec.precision < 0 ? 6 : spec.precision, spec.alternate, magnitude);
  } else {
    body = Printf(type == 'n' ? 'g' : type, spec.precision < 0 ? 6 : std::max(spec.precision, 1), spec.alternate, magnitude);
  }
  if (spec.grouping && std::isfinite(value)) {
    size_t whole = body.find_first_not_of("0123456789");
    if (whole == std::string::npos) whole = body.size();
    body = Group(body.substr(0, whole), spec.grouping, 3) + body.substr(whole);
  }
  return Pad(spec, SignText(spec, negative), body, '>');
}

absl::StatusOr<std::string> FormatInt(absl::int128 value, const Spec& spec, Loc loc) {
  int base = 10;
  std::string prefix;
  switch (spec.type) {
    case 0: case 'd': case 'n': break;
    case 'x': case 'X': base = 16; prefix = spec.type == 'x' ? "0x" : "0X"; break;
    case 'o': base = 8; prefix = "0o"; break;
    case 'b': base = 2; prefix = "0b"; break;
    case 'c': {
      if (value < 0 || value > 127) return InvalidAt(loc, "OverflowError: %c takes an ASCII code here");
      return Pad(spec, "", std::string(1, static_cast<char>(static_cast<int>(value))), '<');
    }
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case '%': return FormatFloat(static_cast<double>(value), spec, loc);
    default: return InvalidAt(loc, "ValueError: unknown format code '", std::string(1, spec.type), "' for object of type 'int'");
  }
  if (spec.precision >= 0) return InvalidAt(loc, "ValueError: Precision not allowed in integer format specifier");
  std::string text = IntToString(value, base);
  bool negative = text[0] == '-';
  if (negative) text.erase(0, 1);
  if (text.size() < static_cast<size_t>(spec.digits)) text.insert(0, static_cast<size_t>(spec.digits) - text.size(), '0');
  if (spec.type == 'X') absl::AsciiStrToUpper(&text);
  if (spec.grouping) text = Group(text, spec.grouping, base == 10 ? 3 : 4);
  return Pad(spec, SignText(spec, negative) + (spec.alternate ? prefix : ""), text, '>');
}

absl::StatusOr<double> NumberOf(const Value& value, Loc loc) {
  if (value.is(ValueKind::kFloat)) return value.float_value();
  if (value.is_static_number()) return static_cast<double>(value.int_value());
  return InvalidAt(loc, "TypeError: a number is required, not ", TypeName(value, nullptr));
}

}  // namespace

absl::StatusOr<std::string> FormatValue(const Value& given, absl::string_view spec_text, Loc loc) {
  const Value& value = given.is(ValueKind::kConstexpr) ? given.As<BoxPayload>()->inner : given;
  if (spec_text.empty()) return Str(value);
  TILEVM_ASSIGN_OR_RETURN(Spec spec, ParseSpec(spec_text, loc));
  if (value.is(ValueKind::kInt)) return FormatInt(value.int_value(), spec, loc);
  if (value.is(ValueKind::kBool) && spec.type != 's') return FormatInt(value.int_value(), spec, loc);
  if (value.is(ValueKind::kFloat)) return FormatFloat(value.float_value(), spec, loc);
  if (spec.type != 0 && spec.type != 's') {
    return InvalidAt(loc, "ValueError: unknown format code '", std::string(1, spec.type), "' for object of type '", TypeName(value, nullptr), "'");
  }
  std::string text = Str(value);
  if (spec.precision >= 0) text.resize(isa::ByteOfCodePoint(text, spec.precision));
  return Pad(spec, "", text, '<');
}

absl::StatusOr<std::string> PercentFormat(absl::string_view text, const Value& value, Loc loc,
                                          absl::FunctionRef<Value(const Value& value)> to_number,
                                          absl::FunctionRef<absl::StatusOr<std::string>(const Value& value, bool as_repr)> to_text) {
  std::string out;
  size_t used = 0;
  size_t count = value.is(ValueKind::kTuple) ? value.items().size() : 1;
  while (!text.empty()) {
    size_t percent = text.find('%');
    absl::StrAppend(&out, text.substr(0, percent));
    if (percent == absl::string_view::npos) break;
    text.remove_prefix(percent + 1);
    const Value* named = nullptr;  // %(key)s takes from a dict
    if (!text.empty() && text[0] == '(') {
      const size_t close = text.find(')');
      if (close == absl::string_view::npos) return InvalidAt(loc, "ValueError: incomplete format key");
      if (!value.is(ValueKind::kDict)) return InvalidAt(loc, "TypeError: format requires a mapping");
      const Value key = Value::String(std::string(text.substr(1, close - 1)));
      named = DictFind(*value.As<DictPayload>(), key);
      if (named == nullptr) return InvalidAt(loc, "KeyError: ", Repr(key));
      text.remove_prefix(close + 1);
    }
    Spec spec;
    spec.align = '>';
    for (; !text.empty() && (text[0] == '-' || text[0] == '0' || text[0] == '+' || text[0] == ' ' || text[0] == '#'); text.remove_prefix(1)) {
      if (text[0] == '-') spec.align = '<';
      if (text[0] == '0' && spec.align != '<') spec.fill = "0", spec.align = '=';
      if (text[0] == '+' || text[0] == ' ') spec.sign = text[0];
      if (text[0] == '#') spec.alternate = true;
    }
    TILEVM_ASSIGN_OR_RETURN(spec.width, ReadNumber(text, loc));
    if (!text.empty() && text[0] == '.') {
      text.remove_prefix(1);
      TILEVM_ASSIGN_OR_RETURN(spec.precision, ReadNumber(text, loc));
    }
    if (text.empty()) return InvalidAt(loc, "ValueError: incomplete format");
    spec.type = text[0];
    text.remove_prefix(1);
    if (spec.type == '%') {
      out.push_back('%');
      continue;
    }
    if (named == nullptr && used >= count) return InvalidAt(loc, "TypeError: not enough arguments for format string");
    Value item = named != nullptr ? *named : value.is(ValueKind::kTuple) ? value.items()[used] : value;
    if (named == nullptr) ++used;
    if (spec.type == 's' || spec.type == 'r') {
      TILEVM_ASSIGN_OR_RETURN(std::string piece, to_text(item, spec.type == 'r'));
      if (out.size() + piece.size() > kMaxText)
        return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a string of more than ", kMaxText, " bytes");
      if (spec.precision >= 0) piece.resize(isa::ByteOfCodePoint(piece, spec.precision));
      if (spec.align == '=') spec.align = '>', spec.fill = " ";  // zeros are for numbers
      out += Pad(spec, "", piece, '>');
      continue;
    }
    if (spec.type == 'c' && item.is(ValueKind::kString)) {
      const std::string& one = item.string();
      if (isa::CodePoints(one) != 1) return InvalidAt(loc, "TypeError: %c requires int or char");
      out += Pad(spec, "", one, '>');
      continue;
    }
    item = to_number(item);
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    absl::StatusOr<std::string> piece;
    const bool whole = spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'c';
    if (whole && item.is(ValueKind::kFloat)) {
      return InvalidAt(loc, "TypeError: %", std::string(1, spec.type), spec.type == 'c' ? " requires int or char" : " format: an integer is required, not float");
    }
    if (spec.type == 'd' || spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'c') {
      TILEVM_ASSIGN_OR_RETURN(double number, NumberOf(item, loc));
      if (item.is(ValueKind::kFloat) && !(std::fabs(number) < 1e37)) return InvalidAt(loc, "OverflowError: cannot convert float to integer");
      spec.digits = std::max(std::exchange(spec.precision, -1), 0);
      piece = FormatInt(item.is(ValueKind::kFloat) ? static_cast<absl::int128>(number) : item.int_value(), spec, loc);
    } else {
      TILEVM_ASSIGN_OR_RETURN(double number, NumberOf(item, loc));
      piece = FormatFloat(number, spec, loc);
    }
    TILEVM_RETURN_IF_ERROR(piece.status());
    out += *piece;
  }
  if (value.is(ValueKind::kTuple) && used < count) return InvalidAt(loc, "TypeError: not all arguments converted during string formatting");
  return out;
}

}  // namespace tilevm::specializer
