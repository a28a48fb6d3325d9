// Methods of str.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "isa/utf8.h"
#include "specializer/partial_eval/methods.h"
#include "specializer/partial_eval/python_format.h"
#include "specializer/partial_eval/python_text.h"

namespace tilevm::specializer {
namespace {

absl::StatusOr<Value> Upper(const MethodCall& c) {
  TILEVM_ASSIGN_OR_RETURN(std::string text, ChangeCase(c.self.string(), true, c.loc));
  return Value::String(std::move(text));
}
absl::StatusOr<Value> Lower(const MethodCall& c) {
  TILEVM_ASSIGN_OR_RETURN(std::string text, ChangeCase(c.self.string(), false, c.loc));
  return Value::String(std::move(text));
}
absl::StatusOr<Value> Capitalize(const MethodCall& c) {
  const absl::string_view text = c.self.string();
  const size_t first = isa::ByteOfCodePoint(text, 1);
  TILEVM_ASSIGN_OR_RETURN(const std::string head, ChangeCase(text.substr(0, first), true, c.loc));
  TILEVM_ASSIGN_OR_RETURN(const std::string tail, ChangeCase(text.substr(first), false, c.loc));
  return Value::String(head + tail);
}
// The part of the text that find(x, start, end) and the like look at, as bytes [first, last) and the number of the character at first; nullopt: none.
struct Window {
  size_t first = 0, last = 0;
  int64_t index = 0;
};
absl::StatusOr<std::optional<Window>> WindowOf(const MethodCall& c) {
  const absl::string_view text = c.self.string();
  int64_t bounds[] = {0, isa::CodePoints(text)};
  const int64_t size = bounds[1];
  for (size_t i = 0; i < 2; ++i) {
    if (c.count() <= i + 1 || c.args.positional[i + 1].is(ValueKind::kNone)) continue;
    TILEVM_ASSIGN_OR_RETURN(const int64_t given, ToIndex(c.args.positional[i + 1], "the position", c.loc));
    bounds[i] = given < 0 ? std::max<int64_t>(0, given + size) : given;
  }
  bounds[1] = std::min(bounds[1], size);
  if (bounds[0] > bounds[1]) return std::optional<Window>();
  return std::optional<Window>(Window{isa::ByteOfCodePoint(text, bounds[0]), isa::ByteOfCodePoint(text, bounds[1]), bounds[0]});
}
absl::StatusOr<Value> Title(const MethodCall& c) {
  std::string text = c.self.string();
  bool start = true;
  for (char& ch : text) {
    ch = start ? absl::ascii_toupper(ch) : absl::ascii_tolower(ch);
    start = !absl::ascii_isalpha(ch);
  }
  return Value::String(std::move(text));
}

absl::StatusOr<Value> SwapCase(const MethodCall& c) {
  std::string text = c.self.string();
  for (char& ch : text) ch = absl::ascii_isupper(ch) ? absl::ascii_tolower(ch) : absl::ascii_toupper(ch);
  return Value::String(std::move(text));
}
absl::StatusOr<Value> ExpandTabs(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 1, {"tabsize"}));
  int64_t size = 8;
  if (const Value given = Argument(c.args, 0, "tabsize"); !given.absent()) {
    TILEVM_ASSIGN_OR_RETURN(size, ToIndex(given, "tabsize", c.loc));
  }
  size = std::clamp<int64_t>(size, 0, 1024);
  std::string text;
  int64_t column = 0;
  for (char ch : c.self.string()) {
    TILEVM_RETURN_IF_ERROR(c.impl.CheckText(text.size(), c.loc));
    if (ch == '\t') {
      const int64_t spaces = size == 0 ? 0 : size - column % size;
      text.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
      continue;
    }
    text += ch;
    column = ch == '\n' || ch == '\r' ? 0 : column + 1;
  }
  return Value::String(std::move(text));
}
absl::StatusOr<Value> IsIdentifier(const MethodCall& c) {
  const std::string& text = c.self.string();
  const bool starts = !text.empty() && (absl::ascii_isalpha(text[0]) || text[0] == '_');
  return Value::Bool(starts && std::all_of(text.begin(), text.end(), [](char ch) { return absl::ascii_isalnum(ch) || ch == '_'; }));
}
absl::StatusOr<Value> IsTitle(const MethodCall& c) {
  bool start = true, any = false;
  for (char ch : c.self.string()) {
    const bool upper = absl::ascii_isupper(ch), lower = absl::ascii_islower(ch);
    if ((upper && !start) || (lower && start)) return Value::Bool(false);
    any = any || upper;
    start = !upper && !lower;
  }
  return Value::Bool(any);
}

absl::StatusOr<Value> Affix(const MethodCall& c, bool start) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 3));
  TILEVM_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(c));
  const absl::string_view text = window.has_value() ? absl::string_view(c.self.string()).substr(window->first, window->last - window->first) : "";
  const Value& given = c.args.positional[0];
  const std::vector<Value> options = given.is(ValueKind::kTuple) ? given.items().ToVector() : std::vector<Value>{given};
  for (const Value& option : options) {
    if (!option.is(ValueKind::kString)) return InvalidAt(c.loc, "TypeError: ", c.name, " first arg must be str or a tuple of str");
    if (window.has_value() && (start ? absl::StartsWith(text, option.string()) : absl::EndsWith(text, option.string()))) return Value::Bool(true);
  }
  return Value::Bool(false);
}
absl::StatusOr<Value> StartsWith(const MethodCall& c) { return Affix(c, true); }
absl::StatusOr<Value> EndsWith(const MethodCall& c) { return Affix(c, false); }

absl::StatusOr<Value> Remove(const MethodCall& c, bool prefix) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::string affix, c.Text(0));
  const std::string& text = c.self.string();
  if (prefix && absl::StartsWith(text, affix)) return Value::String(text.substr(affix.size()));
  if (!prefix && absl::EndsWith(text, affix)) return Value::String(text.substr(0, text.size() - affix.size()));
  return c.self;
}
absl::StatusOr<Value> RemovePrefix(const MethodCall& c) { return Remove(c, true); }
absl::StatusOr<Value> RemoveSuffix(const MethodCall& c) { return Remove(c, false); }

absl::StatusOr<Value> StripSides(const MethodCall& c, bool left, bool right) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 1));
  std::string set = " \t\n\r\v\f";
  if (c.count() == 1 && !c.args.positional[0].is(ValueKind::kNone)) {
    TILEVM_ASSIGN_OR_RETURN(set, c.Text(0));
  }
  absl::string_view text = c.self.string();
  while (left && !text.empty() && absl::StrContains(set, text.substr(0, 1))) text.remove_prefix(1);
  while (right && !text.empty() && absl::StrContains(set, text.substr(text.size() - 1))) text.remove_suffix(1);
  return Value::String(std::string(text));
}
absl::StatusOr<Value> Strip(const MethodCall& c) { return StripSides(c, true, true); }
absl::StatusOr<Value> LeftStrip(const MethodCall& c) { return StripSides(c, true, false); }
absl::StatusOr<Value> RightStrip(const MethodCall& c) { return StripSides(c, false, true); }

Value Strings(const std::vector<std::string>& parts) {
  std::vector<Value> items;
  for (const std::string& part : parts) items.push_back(Value::String(part));
  return Value::List(std::move(items));
}

absl::StatusOr<Value> Split(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 2, {"sep", "maxsplit"}));
  int64_t limit = -1;
  if (Value given = Argument(c.args, 1, "maxsplit"); !given.absent()) {
    TILEVM_ASSIGN_OR_RETURN(limit, ToIndex(given, "maxsplit", c.loc));
  }
  const bool from_right = c.name == "rsplit" && limit >= 0;
  if (Value given = Argument(c.args, 0, "sep"); given.absent_or_none()) {
    std::vector<std::string> parts = absl::StrSplit(c.self.string(), absl::ByAnyChar(" \t\n\r\v\f"), absl::SkipEmpty());
    if (limit < 0 || static_cast<int64_t>(parts.size()) <= limit + 1) return Strings(parts);
    // What is left over keeps the space inside it, and at its other end.
    constexpr absl::string_view kSpace = " \t\n\r\v\f";
    absl::string_view text = c.self.string();
    std::vector<std::string> words;
    for (int64_t i = 0; i <= limit; ++i) {
      if (from_right) {
        text = text.substr(0, text.find_last_not_of(kSpace) + 1);
      } else {
        text.remove_prefix(text.find_first_not_of(kSpace));
      }
      if (i == limit) break;
      const size_t at = from_right ? text.find_last_of(kSpace) : text.find_first_of(kSpace);
      words.emplace_back(from_right ? text.substr(at + 1) : text.substr(0, at));
      text = from_right ? text.substr(0, at) : text.substr(at);
    }
    words.emplace_back(text);
    if (from_right) std::reverse(words.begin(), words.end());
    return Strings(words);
  }
  TILEVM_ASSIGN_OR_RETURN(std::string separator, c.Text(0, "sep"));
  if (separator.empty()) return InvalidAt(c.loc, "ValueError: empty separator");
  std::vector<std::string> parts = absl::StrSplit(c.self.string(), separator);
  while (limit >= 0 && static_cast<int64_t>(parts.size()) > limit + 1) {
    const size_t at = from_right ? 0 : parts.size() - 2;
    parts[at] = absl::StrCat(parts[at], separator, parts[at + 1]);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return Strings(parts);
}

absl::StatusOr<Value> SplitLines(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 1, {"keepends"}));
  bool keep = false;
  if (const Value given = Argument(c.args, 0, "keepends"); !given.absent()) {
    TILEVM_ASSIGN_OR_RETURN(keep, c.impl.Truth(given, c.loc));
  }
  // \x1c to \x1e, \x85, \u2028 and \u2029 end lines too.
  const auto end_at = [](absl::string_view text, size_t at) -> size_t {  // bytes of the line end there
    if (text[at] == '\r') return text.substr(at, 2) == "\r\n" ? 2 : 1;
    if ((text[at] >= '\n' && text[at] <= '\f') || (text[at] >= '\x1c' && text[at] <= '\x1e')) return 1;
    if (absl::StartsWith(text.substr(at), "\xc2\x85")) return 2;
    return absl::StartsWith(text.substr(at), "\xe2\x80\xa8") || absl::StartsWith(text.substr(at), "\xe2\x80\xa9") ? 3 : 0;
  };
  std::vector<std::string> lines;
  absl::string_view text = c.self.string();
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_at(text, at);
    if (end == 0) {
      ++at;
      continue;
    }
    lines.emplace_back(text.substr(0, keep ? at + end : at));
    text.remove_prefix(at + end);
    at = 0;
  }
  if (!text.empty()) lines.emplace_back(text);
  return Strings(lines);
}

absl::StatusOr<Value> Partition(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::string separator, c.Text(0));
  if (separator.empty()) return InvalidAt(c.loc, "ValueError: empty separator");
  const std::string& text = c.self.string();
  const bool last = c.name == "rpartition";
  const size_t at = last ? text.rfind(separator) : text.find(separator);
  if (at == std::string::npos) {
    const Value empty = Value::String("");
    return last ? Value::Tuple({empty, empty, c.self}) : Value::Tuple({c.self, empty, empty});
  }
  return Value::Tuple({Value::String(text.substr(0, at)), Value::String(separator), Value::String(text.substr(at + separator.size()))});
}

absl::StatusOr<Value> JoinText(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, c.impl.Iterate(c.args.positional[0], c.loc));
  std::vector<absl::string_view> parts;
  size_t size = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(ValueKind::kString))
      return InvalidAt(c.loc, "TypeError: sequence item ", i, ": expected str instance, ", c.impl.NameOfType(items[i]), " found");
    size += items[i].string().size() + c.self.string().size();
    TILEVM_RETURN_IF_ERROR(c.impl.CheckText(size, c.loc));
    parts.push_back(items[i].string());
  }
  return Value::String(absl::StrJoin(parts, c.self.string()));
}

absl::StatusOr<Value> Replace(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(2, 3));
  TILEVM_ASSIGN_OR_RETURN(std::string from, c.Text(0));
  TILEVM_ASSIGN_OR_RETURN(std::string to, c.Text(1));
  int64_t limit = -1;
  if (c.count() == 3) {
    TILEVM_ASSIGN_OR_RETURN(limit, ToIndex(c.args.positional[2], "count", c.loc));
  }
  std::string out;
  absl::string_view text = c.self.string();
  if (from.empty()) {  // before every character, and at the end
    for (; limit != 0; limit -= limit > 0) {
      out += to;
      if (text.empty()) break;
      const size_t size = isa::ByteOfCodePoint(text, 1);
      absl::StrAppend(&out, text.substr(0, size));
      text.remove_prefix(size);
      TILEVM_RETURN_IF_ERROR(c.impl.CheckText(out.size(), c.loc));
    }
    absl::StrAppend(&out, text);
    return Value::String(std::move(out));
  }
  while (limit != 0) {
    const size_t at = text.find(from);
    if (at == absl::string_view::npos) break;
    absl::StrAppend(&out, text.substr(0, at), to);
    TILEVM_RETURN_IF_ERROR(c.impl.CheckText(out.size(), c.loc));
    text.remove_prefix(at + from.size());
    if (limit > 0) --limit;
  }
  absl::StrAppend(&out, text);
  return Value::String(std::move(out));
}

absl::StatusOr<Value> FindText(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 3));
  TILEVM_ASSIGN_OR_RETURN(std::string part, c.Text(0));
  TILEVM_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(c));
  if (window.has_value()) {
    const absl::string_view text = absl::string_view(c.self.string()).substr(window->first, window->last - window->first);
    const size_t at = c.name[0] == 'r' ? text.rfind(part) : text.find(part);
    if (at != absl::string_view::npos) return Value::Int(window->index + isa::CodePoints(text.substr(0, at)));
  }
  if (absl::EndsWith(c.name, "index")) return InvalidAt(c.loc, "ValueError: substring not found");
  return Value::Int(-1);
}

absl::StatusOr<Value> CountText(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 3));
  TILEVM_ASSIGN_OR_RETURN(std::string part, c.Text(0));
  TILEVM_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(c));
  if (!window.has_value()) return Value::Int(0);
  const absl::string_view text = absl::string_view(c.self.string()).substr(window->first, window->last - window->first);
  if (part.empty()) return Value::Int(isa::CodePoints(text) + 1);
  int64_t count = 0;
  for (size_t at = text.find(part); at != absl::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return Value::Int(count);
}

template <bool (*kTest)(unsigned char)>
absl::StatusOr<Value> AllAre(const MethodCall& c) {
  const std::string& text = c.self.string();
  return Value::Bool(!text.empty() && std::all_of(text.begin(), text.end(), [](char ch) { return kTest(static_cast<unsigned char>(ch)); }));
}
bool IsDigit(unsigned char ch) { return absl::ascii_isdigit(ch); }
bool IsAlpha(unsigned char ch) { return absl::ascii_isalpha(ch); }
bool IsAlnum(unsigned char ch) { return absl::ascii_isalnum(ch); }
bool IsSpace(unsigned char ch) { return absl::ascii_isspace(ch); }
absl::StatusOr<Value> IsUpper(const MethodCall& c) {
  return Value::Bool(c.self.string() == absl::AsciiStrToUpper(c.self.string()) && c.self.string() != absl::AsciiStrToLower(c.self.string()));
}
absl::StatusOr<Value> IsLower(const MethodCall& c) {
  return Value::Bool(c.self.string() == absl::AsciiStrToLower(c.self.string()) && c.self.string() != absl::AsciiStrToUpper(c.self.string()));
}

absl::StatusOr<Value> Justify(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 2));
  TILEVM_ASSIGN_OR_RETURN(int64_t width, ToIndex(c.args.positional[0], "width", c.loc));
  std::string fill = c.name == "zfill" ? "0" : " ";
  if (c.count() == 2) {
    TILEVM_ASSIGN_OR_RETURN(fill, c.Text(1));
    if (isa::CodePoints(fill) != 1) return InvalidAt(c.loc, "TypeError: The fill character must be exactly one character long");
  }
  absl::string_view text = c.self.string();
  const int64_t space = width - isa::CodePoints(text);
  if (space <= 0) return c.self;
  TILEVM_RETURN_IF_ERROR(c.impl.CheckText(text.size() + static_cast<size_t>(std::min<int64_t>(space, kMaxText)) * fill.size(), c.loc));
  const int64_t left = c.name == "ljust" ? 0 : c.name == "center" ? space / 2 + (space & width & 1) : space;
  std::string out;
  if (c.name == "zfill" && !text.empty() && (text[0] == '-' || text[0] == '+')) {  // the zeros come after the sign
    out += text[0];
    text.remove_prefix(1);
  }
  for (int64_t i = 0; i < left; ++i) out += fill;
  absl::StrAppend(&out, text);
  for (int64_t i = left; i < space; ++i) out += fill;
  return Value::String(std::move(out));
}

// "...".format(...): fields by position, by number, by name, with attributes and items, and a format specifier.
absl::StatusOr<Value> FormatText(const MethodCall& c) {
  std::string out;
  absl::string_view text = c.self.string();
  size_t next = 0;
  while (!text.empty()) {
    const size_t at = text.find_first_of("{}");
    absl::StrAppend(&out, text.substr(0, at));
    if (at == absl::string_view::npos) break;
    text.remove_prefix(at);
    if (text.size() > 1 && text[1] == text[0]) {
      out.push_back(text[0]);
      text.remove_prefix(2);
      continue;
    }
    const size_t end = text.find('}');
    if (text[0] == '}' || end == absl::string_view::npos) return InvalidAt(c.loc, "ValueError: a single '", text.substr(0, 1), "' in format string");
    absl::string_view field = text.substr(1, end - 1), spec;
    text.remove_prefix(end + 1);
    if (const size_t colon = field.find(':'); colon != absl::string_view::npos) {
      spec = field.substr(colon + 1);
      field = field.substr(0, colon);
    }
    bool as_repr = false;
    if (const size_t bang = field.find('!'); bang != absl::string_view::npos) {
      as_repr = field.substr(bang + 1) == "r";
      field = field.substr(0, bang);
    }
    const size_t dot = field.find_first_of(".[");
    absl::string_view head = field.substr(0, dot), rest = dot == absl::string_view::npos ? "" : field.substr(dot);
    Value value;
    if (head.empty() || absl::ascii_isdigit(head[0])) {
      size_t index = next;
      if (head.empty()) {
        ++next;
      } else if (head.size() > 4) {
        return InvalidAt(c.loc, "IndexError: replacement index ", head, " out of range");
      } else {
        index = static_cast<size_t>(std::stoul(std::string(head)));
      }
      if (index >= c.count()) return InvalidAt(c.loc, "IndexError: replacement index ", index, " out of range for positional args tuple");
      value = c.args.positional[index];
    } else {
      const Value* found = FindKeyword(c.args, head);
      if (found == nullptr) return InvalidAt(c.loc, "KeyError: ", QuoteString(head));
      value = *found;
    }
    while (!rest.empty()) {
      if (rest[0] == '.') {
        const size_t stop = std::min(rest.find_first_of(".[", 1), rest.size());
        TILEVM_ASSIGN_OR_RETURN(value, c.impl.GetAttr(value, rest.substr(1, stop - 1), false, c.loc));
        rest.remove_prefix(stop);
      } else {
        const size_t stop = rest.find(']');
        if (stop == absl::string_view::npos) return InvalidAt(c.loc, "ValueError: expected ']' before end of string");
        absl::string_view key = rest.substr(1, stop - 1);
        const bool number = !key.empty() && std::all_of(key.begin(), key.end(), absl::ascii_isdigit) && key.size() < 9;
        TILEVM_ASSIGN_OR_RETURN(value, c.impl.Index(value, number ? Value::Int(std::stol(std::string(key))) : Value::String(std::string(key)), c.loc));
        rest.remove_prefix(stop + 1);
      }
    }
    if (as_repr) {
      TILEVM_ASSIGN_OR_RETURN(std::string repr, c.impl.ToRepr(value, c.loc));
      value = Value::String(std::move(repr));
    }
    TILEVM_ASSIGN_OR_RETURN(Value piece, c.impl.CallBuiltin("builtins.format", CallArgs{{value, Value::String(std::string(spec))}, {}}, false, c.loc));
    out += piece.string();
    TILEVM_RETURN_IF_ERROR(c.impl.CheckText(out.size(), c.loc));
  }
  return Value::String(std::move(out));
}

absl::StatusOr<Value> Itself(const MethodCall& c) { return c.self; }

constexpr MethodRow kStringMethods[] = {
    {"upper", Upper}, {"lower", Lower}, {"casefold", Lower}, {"capitalize", Capitalize}, {"title", Title}, {"startswith", StartsWith}, {"endswith", EndsWith},
    {"removeprefix", RemovePrefix}, {"removesuffix", RemoveSuffix}, {"strip", Strip}, {"lstrip", LeftStrip}, {"rstrip", RightStrip}, {"split", Split}, {"rsplit", Split},
    {"splitlines", SplitLines}, {"partition", Partition}, {"rpartition", Partition}, {"join", JoinText}, {"replace", Replace}, {"find", FindText}, {"rfind", FindText},
    {"index", FindText}, {"rindex", FindText}, {"count", CountText}, {"isdigit", AllAre<IsDigit>}, {"isnumeric", AllAre<IsDigit>}, {"isdecimal", AllAre<IsDigit>},
    {"isalpha", AllAre<IsAlpha>}, {"isalnum", AllAre<IsAlnum>}, {"isspace", AllAre<IsSpace>}, {"isupper", IsUpper}, {"islower", IsLower}, {"ljust", Justify},
    {"rjust", Justify}, {"center", Justify}, {"zfill", Justify}, {"format", FormatText}, {"encode", Itself}, {"decode", Itself}, {"expandtabs", ExpandTabs},
    {"swapcase", SwapCase}, {"isidentifier", IsIdentifier}, {"istitle", IsTitle},
};

}  // namespace

absl::Span<const MethodRow> StringMethods() { return kStringMethods; }

}  // namespace tilevm::specializer
