// json.dumps and json.loads: text of plain values and back.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "isa/utf8.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/python_format.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;

namespace {

std::string NumberText(double value) {
  return std::isnan(value) ? "NaN" : std::isinf(value) ? (value > 0 ? "Infinity" : "-Infinity") : FloatRepr(value);
}

class Writer {
 public:
  Writer(Impl& impl, Loc loc) : impl_(impl), loc_(loc) {}
  std::string indent, item_separator = ", ", key_separator = ": ";
  bool pretty = false, sort_keys = false, ascii = true;
  Value otherwise;  // called for what is none of json's types
  std::string text;

  absl::Status Add(const Value& given, size_t depth) {
    TILEVM_RETURN_IF_ERROR(impl_.CheckStack(loc_));
    TILEVM_RETURN_IF_ERROR(impl_.CheckText(text.size(), loc_));
    TILEVM_RETURN_IF_ERROR(impl_.CountStep(loc_));
    if (depth > 1000) return InvalidAt(loc_, "ValueError: Circular reference detected");
    Value value = Unboxed(given);
    if (std::optional<Value> number = impl_.EnumNumber(value)) value = *std::move(number);
    switch (value.kind()) {
      case ValueKind::kNone: text += "null"; return absl::OkStatus();
      case ValueKind::kBool: text += value.bool_value() ? "true" : "false"; return absl::OkStatus();
      case ValueKind::kInt: text += IntToString(value.int_value()); return absl::OkStatus();
      case ValueKind::kFloat: text += NumberText(value.float_value()); return absl::OkStatus();
      case ValueKind::kString: AddString(value.string()); return absl::OkStatus();
      case ValueKind::kList: case ValueKind::kTuple: {
        const std::vector<Value> items = value.items().ToVector();
        return Many("[", "]", items.size(), depth, [&](size_t i) { return Add(items[i], depth + 1); });
      }
      case ValueKind::kDict: return AddDict(value, depth);
      default: break;
    }
    if (otherwise.absent_or_none()) {
      const std::string type = impl_.NameOfType(value);
      return InvalidAt(loc_, "TypeError: Object of type ", type.substr(type.rfind('.') + 1), " is not JSON serializable");
    }
    TILEVM_ASSIGN_OR_RETURN(const Value replaced, impl_.CallHost(otherwise, {value}, loc_));
    return Add(replaced, depth + 1);
  }

 private:
  absl::Status Many(absl::string_view open, absl::string_view close, size_t count, size_t depth, absl::FunctionRef<absl::Status(size_t)> add) {
    absl::StrAppend(&text, open);
    const auto line = [&](size_t level) {
      if (!pretty || count == 0) return;
      text += "\n";
      for (size_t i = 0; i < level; ++i) text += indent;
    };
    for (size_t i = 0; i < count; ++i) {
      if (i != 0) text += item_separator;
      line(depth + 1);
      TILEVM_RETURN_IF_ERROR(add(i));
    }
    line(depth);
    absl::StrAppend(&text, close);
    return absl::OkStatus();
  }

  absl::Status AddDict(const Value& dict, size_t depth) {
    std::vector<std::pair<std::string, Value>> pairs;
    for (const auto& [key, value] : dict.As<DictPayload>()->entries) {
      const Value plain = Unboxed(key);
      std::string name;
      switch (plain.kind()) {
        case ValueKind::kString: name = plain.string(); break;
        case ValueKind::kNone: name = "null"; break;
        case ValueKind::kBool: name = plain.bool_value() ? "true" : "false"; break;
        case ValueKind::kInt: name = IntToString(plain.int_value()); break;
        case ValueKind::kFloat: name = NumberText(plain.float_value()); break;
        default: return InvalidAt(loc_, "TypeError: keys must be str, int, float, bool or None, not ", impl_.NameOfType(plain));
      }
      pairs.emplace_back(std::move(name), value);
    }
    if (sort_keys) std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return Many("{", "}", pairs.size(), depth, [&](size_t i) {
      AddString(pairs[i].first);
      text += key_separator;
      return Add(pairs[i].second, depth + 1);
    });
  }

  void AddString(absl::string_view string) {
    text += '"';
    for (size_t at = 0; at < string.size();) {
      const size_t start = at;
      const uint32_t code = isa::NextCodePoint(string, at);
      constexpr std::pair<uint32_t, const char*> kShort[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"},
                                                             {'\r', "\\r"}, {'\t', "\\t"}, {'\b', "\\b"}, {'\f', "\\f"}};
      const auto* short_form = std::find_if(std::begin(kShort), std::end(kShort), [&](const auto& row) { return row.first == code; });
      if (short_form != std::end(kShort)) {
        text += short_form->second;
      } else if (code >= 0x20 && (code < 0x7f || !ascii)) {
        absl::StrAppend(&text, string.substr(start, at - start));
      } else if (code >= 0x10000) {
        absl::StrAppendFormat(&text, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
      } else {
        absl::StrAppendFormat(&text, "\\u%04x", code);
      }
    }
    text += '"';
  }

  Impl& impl_;
  const Loc loc_;
};

absl::StatusOr<Value> Dumps(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "json.dumps", 1, 1 + args.keyword.size(), loc,
                                        {"indent", "sort_keys", "separators", "ensure_ascii", "default", "allow_nan", "skipkeys", "check_circular"}));
  Writer writer(impl, loc);
  const auto keyword = [&](absl::string_view name) {
    const Value* given = FindKeyword(args, name);
    return given == nullptr ? Value() : *given;
  };
  if (const Value indent = keyword("indent"); !indent.absent_or_none()) {
    writer.pretty = true;
    writer.item_separator = ",";
    if (indent.is(ValueKind::kString)) {
      writer.indent = indent.string();
    } else {
      TILEVM_ASSIGN_OR_RETURN(const int64_t spaces, ToIndex(indent, "indent", loc));
      writer.indent = std::string(static_cast<size_t>(std::clamp<int64_t>(spaces, 0, 64)), ' ');
    }
  }
  if (const Value separators = keyword("separators"); !separators.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(const std::vector<Value> two, impl.Iterate(separators, loc));
    if (two.size() != 2 || !two[0].is(ValueKind::kString) || !two[1].is(ValueKind::kString))
      return InvalidAt(loc, "TypeError: json.dumps: separators must be two strings");
    writer.item_separator = two[0].string();
    writer.key_separator = two[1].string();
  }
  if (const Value sorted = keyword("sort_keys"); !sorted.absent()) {
    TILEVM_ASSIGN_OR_RETURN(writer.sort_keys, impl.Truth(sorted, loc));
  }
  if (const Value ascii = keyword("ensure_ascii"); !ascii.absent()) {
    TILEVM_ASSIGN_OR_RETURN(writer.ascii, impl.Truth(ascii, loc));
  }
  writer.otherwise = keyword("default");
  TILEVM_RETURN_IF_ERROR(writer.Add(args.positional[0], 0));
  return Value::String(std::move(writer.text));
}

class Reader {
 public:
  Reader(Impl& impl, absl::string_view text, Loc loc) : impl_(impl), text_(text), loc_(loc) {}

  absl::StatusOr<Value> Whole() {
    TILEVM_ASSIGN_OR_RETURN(Value value, One());
    Skip();
    if (at_ != text_.size()) return Error("Extra data", at_);
    return value;
  }

 private:
  absl::Status Error(absl::string_view what, size_t at) const {
    const absl::string_view before = text_.substr(0, at);
    const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t newline = before.rfind('\n');
    const size_t column = newline == absl::string_view::npos ? at + 1 : at - newline;
    return InvalidAt(loc_, "JSONDecodeError: ", what, ": line ", line, " column ", column, " (char ", at, ")");
  }
  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool Take(absl::string_view word) {
    if (!absl::StartsWith(text_.substr(at_), word)) return false;
    at_ += word.size();
    return true;
  }

  absl::StatusOr<Value> One() {
    TILEVM_RETURN_IF_ERROR(impl_.CheckStack(loc_));
    TILEVM_RETURN_IF_ERROR(impl_.CountStep(loc_));
    Skip();
    if (Take("null")) return Value::None();
    if (Take("true")) return Value::Bool(true);
    if (Take("false")) return Value::Bool(false);
    if (Take("NaN")) return Value::Float(std::nan(""));
    if (Take("Infinity")) return Value::Float(HUGE_VAL);
    if (Take("-Infinity")) return Value::Float(-HUGE_VAL);
    if (at_ < text_.size() && text_[at_] == '"') {
      TILEVM_ASSIGN_OR_RETURN(std::string string, String());
      return Value::String(std::move(string));
    }
    if (Take("[")) return List();
    if (Take("{")) return Dict();
    return Number();
  }

  absl::StatusOr<Value> Number() {
    const size_t start = at_;
    size_t end = at_;
    const auto digits = [&] {
      const size_t from = end;
      while (end < text_.size() && absl::ascii_isdigit(text_[end])) ++end;
      return end > from;
    };
    if (end < text_.size() && text_[end] == '-') ++end;
    const size_t first = end;
    if (!digits()) return Error("Expecting value", start);
    if (text_[first] == '0') end = first + 1;  // no number begins with more zeros
    bool whole = true;
    for (const char* mark : {".", "eE"}) {
      const size_t before = end;
      if (end >= text_.size() || !absl::StrContains(mark, text_.substr(end, 1))) continue;
      ++end;
      if (*mark == 'e' && end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      if (!digits()) {
        end = before;
        break;
      }
      whole = false;
    }
    const std::string word(text_.substr(start, end - start));
    at_ = end;
    if (whole) return impl_.CallBuiltin("builtins.int", CallArgs{{Value::String(word)}, {}}, false, loc_);
    return impl_.CallBuiltin("builtins.float", CallArgs{{Value::String(word)}, {}}, false, loc_);
  }

  absl::StatusOr<std::string> String() {
    const size_t start = at_++;
    std::string string;
    while (true) {
      if (at_ >= text_.size()) return Error("Unterminated string starting at", start);
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return Error("Invalid control character at", at_);
      ++at_;
      if (c == '"') return string;
      if (c != '\\') {
        string += c;
        continue;
      }
      if (at_ >= text_.size()) return Error("Unterminated string starting at", start);
      constexpr absl::string_view kEscapes = "\"\\/nrtbf";
      constexpr absl::string_view kMeanings = "\"\\/\n\r\t\b\f";
      const size_t which = kEscapes.find(text_[at_]);
      if (which != absl::string_view::npos) {
        string += kMeanings[which];
        ++at_;
        continue;
      }
      if (text_[at_] != 'u') return Error("Invalid \\escape", at_ - 1);
      TILEVM_ASSIGN_OR_RETURN(uint32_t code, HexCode());
      if (code >= 0xd800 && code < 0xdc00 && absl::StartsWith(text_.substr(at_), "\\u")) {  // two halves of one character
        const size_t back = at_++;
        TILEVM_ASSIGN_OR_RETURN(const uint32_t low, HexCode());
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        } else {
          at_ = back;
        }
      }
      isa::AppendUtf8(code, &string);
    }
  }
  absl::StatusOr<uint32_t> HexCode() {  // at the u
    uint32_t code = 0;
    const std::string word(text_.substr(at_ + 1, 4));
    if (word.size() != 4 || !std::all_of(word.begin(), word.end(), absl::ascii_isxdigit) || !absl::SimpleHexAtoi(word, &code))
      return Error("Invalid \\uXXXX escape", at_);
    at_ += 5;
    return code;
  }

  absl::StatusOr<Value> List() {
    std::vector<Value> items;
    Skip();
    if (Take("]")) return Value::List({});
    while (true) {
      TILEVM_ASSIGN_OR_RETURN(Value item, One());
      items.push_back(std::move(item));
      Skip();
      if (Take("]")) return Value::List(std::move(items));
      if (!Take(",")) return Error("Expecting ',' delimiter", at_);
    }
  }
  absl::StatusOr<Value> Dict() {
    Value dict = MakeDict({});
    Skip();
    if (Take("}")) return dict;
    while (true) {
      Skip();
      if (at_ >= text_.size() || text_[at_] != '"') return Error("Expecting property name enclosed in double quotes", at_);
      TILEVM_ASSIGN_OR_RETURN(std::string key, String());
      Skip();
      if (!Take(":")) return Error("Expecting ':' delimiter", at_);
      TILEVM_ASSIGN_OR_RETURN(const Value value, One());
      TILEVM_RETURN_IF_ERROR(impl_.DictPut(dict, Value::String(std::move(key)), value, loc_));
      Skip();
      if (Take("}")) return dict;
      if (!Take(",")) return Error("Expecting ',' delimiter", at_);
    }
  }

  Impl& impl_;
  const absl::string_view text_;
  const Loc loc_;
  size_t at_ = 0;
};

absl::StatusOr<Value> Loads(Impl& impl, const CallArgs& args, Loc loc) {
  TILEVM_RETURN_IF_ERROR(CheckArguments(args, "json.loads", 1, 1, loc, {"s"}));
  const Value text = Argument(args, 0, "s");
  if (!text.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: the JSON object must be str, bytes or bytearray, not ", impl.NameOfType(text));
  return Reader(impl, text.string(), loc).Whole();
}

constexpr BuiltinRow kRows[] = {{"json.dumps", Dumps}, {"json.loads", Loads}};

}  // namespace

absl::Span<const BuiltinRow> JsonBuiltins() { return kRows; }

}  // namespace tilevm::specializer
