// Methods of Python's own types: str, list, dict, set, tuple, int, float, and the few of functions and classes that the evaluator gives itself.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/live_dict.h"
#include "specializer/partial_eval/python_format.h"
#include "specializer/partial_eval/python_text.h"

namespace tilevm::specializer {

using Impl = Evaluator::Impl;
using isa::Op;

namespace {

struct MethodCall {
  Impl& impl;
  const Value& self;
  absl::string_view name;
  const CallArgs& args;
  Loc loc;

  size_t count() const { return args.positional.size(); }
  absl::Status Check(size_t least, size_t most, std::initializer_list<absl::string_view> keywords = {}) const {
    return CheckArguments(args, name, least, most, loc, keywords);
  }
  absl::StatusOr<std::string> Text(size_t i, absl::string_view keyword = "") const {
    const Value value = Unboxed(Argument(args, i, keyword));
    if (!value.is(ValueKind::kString)) return InvalidAt(loc, "TypeError: ", name, "() argument must be str, not ", impl.NameOfType(value));
    return value.string();
  }
};

using MethodFunction = absl::StatusOr<Value> (*)(const MethodCall&);
struct MethodRow {
  absl::string_view name;
  MethodFunction function;
};

// --- str ---

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
  const size_t first = ByteOfCodePoint(text, 1);
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
  int64_t bounds[] = {0, CodePoints(text)};
  const int64_t size = bounds[1];
  for (size_t i = 0; i < 2; ++i) {
    if (c.count() <= i + 1 || c.args.positional[i + 1].is(ValueKind::kNone)) continue;
    TILEVM_ASSIGN_OR_RETURN(const int64_t given, ToIndex(c.args.positional[i + 1], "the position", c.loc));
    bounds[i] = given < 0 ? std::max<int64_t>(0, given + size) : given;
  }
  bounds[1] = std::min(bounds[1], size);
  if (bounds[0] > bounds[1]) return std::optional<Window>();
  return std::optional<Window>(Window{ByteOfCodePoint(text, bounds[0]), ByteOfCodePoint(text, bounds[1]), bounds[0]});
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
    for (size_t i = 0; i <= text.size() && limit != 0; ++i) {
      const bool starts = i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
      if (starts) out += to;
      if (starts && limit > 0) --limit;
      if (i < text.size()) out += text[i];
      if (i == text.size() || limit == 0) {
        absl::StrAppend(&out, i < text.size() ? text.substr(i + 1) : "");
        break;
      }
      TILEVM_RETURN_IF_ERROR(c.impl.CheckText(out.size(), c.loc));
    }
    if (limit == 0 && out.empty()) out = std::string(text);
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
    if (at != absl::string_view::npos) return Value::Int(window->index + CodePoints(text.substr(0, at)));
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
  if (part.empty()) return Value::Int(CodePoints(text) + 1);
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
    if (CodePoints(fill) != 1) return InvalidAt(c.loc, "TypeError: The fill character must be exactly one character long");
  }
  absl::string_view text = c.self.string();
  const int64_t space = width - CodePoints(text);
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

// --- list, tuple ---

absl::StatusOr<Value> Append(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  c.self.mutable_items().push_back(c.args.positional[0]);
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Extend(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, c.impl.Iterate(c.args.positional[0], c.loc));
  c.self.mutable_items().append(items.data(), items.data() + items.size());
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Insert(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(2, 2));
  TILEVM_ASSIGN_OR_RETURN(const Value position, c.impl.AsIndex(c.args.positional[0], c.loc));
  TILEVM_ASSIGN_OR_RETURN(int64_t at, ToIndex(position, "the position", c.loc));
  ItemVector& items = c.self.mutable_items();
  const int64_t size = static_cast<int64_t>(items.size());
  if (at < 0) at = std::max<int64_t>(0, at + size);
  items.insert(static_cast<size_t>(std::min(at, size)), c.args.positional[1]);
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Pop(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 1));
  ItemVector& items = c.self.mutable_items();
  int64_t at = -1;
  if (c.count() == 1) {
    TILEVM_ASSIGN_OR_RETURN(const Value position, c.impl.AsIndex(c.args.positional[0], c.loc));
    TILEVM_ASSIGN_OR_RETURN(at, ToIndex(position, "the position", c.loc));
  }
  if (at < 0) at += static_cast<int64_t>(items.size());
  if (at < 0 || at >= static_cast<int64_t>(items.size())) return InvalidAt(c.loc, "IndexError: pop ", items.empty() ? "from empty list" : "index out of range");
  Value item = items[static_cast<size_t>(at)];
  items.erase(static_cast<size_t>(at));
  return item;
}
absl::StatusOr<Value> RemoveItem(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  ItemVector& items = c.self.mutable_items();
  for (size_t i = 0; i < items.size(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(bool equal, c.impl.Equals(items[i], c.args.positional[0], c.loc));
    if (!equal) continue;
    items.erase(i);
    return Value::None();
  }
  return InvalidAt(c.loc, "ValueError: list.remove(x): x not in list");
}
absl::StatusOr<Value> IndexOf(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 3));
  const ItemVector& items = c.self.items();
  const int64_t size = static_cast<int64_t>(items.size());
  int64_t bounds[] = {0, size};
  for (size_t i = 1; i < c.count(); ++i) {
    TILEVM_ASSIGN_OR_RETURN(const int64_t given, ToIndex(c.args.positional[i], "the position", c.loc));
    bounds[i - 1] = given < 0 ? std::max<int64_t>(0, given + size) : given;
  }
  for (size_t i = static_cast<size_t>(bounds[0]); i < items.size() && static_cast<int64_t>(i) < bounds[1]; ++i) {
    TILEVM_ASSIGN_OR_RETURN(bool equal, c.impl.Equals(Value(items[i]), c.args.positional[0], c.loc));
    if (equal) return Value::Int(static_cast<int64_t>(i));
  }
  return c.self.is(ValueKind::kList) ? InvalidAt(c.loc, "ValueError: ", Repr(c.args.positional[0]), " is not in list")
                                    : InvalidAt(c.loc, "ValueError: tuple.index(x): x not in tuple");
}
absl::StatusOr<Value> CountItems(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  int64_t count = 0;
  for (const Value& item : c.self.items()) {
    TILEVM_ASSIGN_OR_RETURN(bool equal, c.impl.Equals(item, c.args.positional[0], c.loc));
    count += equal;
  }
  return Value::Int(count);
}
absl::StatusOr<Value> Sort(const MethodCall& c) {
  CallArgs args = c.args;
  args.positional.insert(args.positional.begin(), c.self);
  TILEVM_ASSIGN_OR_RETURN(Value sorted, c.impl.CallBuiltin("builtins.sorted", args, false, c.loc));
  c.self.mutable_items() = sorted.items();
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> Reverse(const MethodCall& c) {
  std::reverse(c.self.mutable_items().begin(), c.self.mutable_items().end());
  return Value::None();
}
absl::StatusOr<Value> ClearList(const MethodCall& c) {
  // What the items hold may be the list itself: they go when it is empty.
  const ItemVector items = std::exchange(c.self.mutable_items(), {});
  c.self.As<ItemsPayload>()->Recount();
  return Value::None();
}
absl::StatusOr<Value> CopyList(const MethodCall& c) { return Value::List(c.self.items().ToVector()); }

absl::StatusOr<Value> ReplaceFields(const MethodCall& c) {
  auto copy = std::make_shared<ItemsPayload>(*c.self.As<ItemsPayload>());
  for (const auto& [name, value] : c.args.keyword) {
    auto found = std::find(copy->field_names.begin(), copy->field_names.end(), name);
    if (found == copy->field_names.end()) return InvalidAt(c.loc, "ValueError: got unexpected field name '", name, "'");
    copy->items[static_cast<size_t>(found - copy->field_names.begin())] = value;
  }
  return Value::Shared(ValueKind::kTuple, std::move(copy));
}
absl::StatusOr<Value> AsDict(const MethodCall& c) {
  std::vector<std::pair<Value, Value>> entries;
  const auto* tuple = c.self.As<ItemsPayload>();
  for (size_t i = 0; i < tuple->field_names.size(); ++i) entries.emplace_back(Value::String(tuple->field_names[i]), tuple->items[i]);
  return MakeDict(std::move(entries));
}

// --- set ---

SetPayload& SetOf(const MethodCall& c) { return *c.self.As<SetPayload>(); }

absl::StatusOr<Value> AddToSet(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_RETURN_IF_ERROR(c.impl.SetAdd(c.self, c.args.positional[0], c.loc).status());
  return Value::None();
}
// discard, remove
absl::StatusOr<Value> Discard(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, c.impl.FindKey(SetOf(c).items, c.args.positional[0], c.loc));
  if (!place.has_value() && c.name == "remove") return InvalidAt(c.loc, "KeyError: ", Repr(c.args.positional[0]));
  if (place.has_value()) SetOf(c).items.EraseAt(*place);
  return Value::None();
}
absl::StatusOr<Value> PopFromSet(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 0));
  PairTable& items = SetOf(c).items;
  if (items.empty()) return InvalidAt(c.loc, "KeyError: 'pop from an empty set'");
  const size_t place = items.begin().place();
  const Value item = items.at(place).first;
  items.EraseAt(place);
  return item;
}
absl::StatusOr<Value> ClearSet(const MethodCall& c) {
  const PairTable items = std::exchange(SetOf(c).items, PairTable());
  SetOf(c).Recount();
  return Value::None();
}
absl::StatusOr<Value> CopySet(const MethodCall& c) { return Value::Shared(ValueKind::kSet, std::make_shared<SetPayload>(SetOf(c))); }

// union, intersection, difference, symmetric_difference, and their forms that change the set.
absl::StatusOr<Value> Combine(const MethodCall& c) {
  absl::string_view name = c.name;
  const bool in_place = name == "update" || absl::ConsumeSuffix(&name, "_update");
  const bool in_both = name == "intersection", either = name == "union" || name == "update";
  TILEVM_RETURN_IF_ERROR(c.Check(name == "symmetric_difference" ? 1 : 0, name == "symmetric_difference" ? 1 : c.count()));
  TILEVM_ASSIGN_OR_RETURN(Value result, CopySet(c));
  for (const Value& given : c.args.positional) {
    TILEVM_ASSIGN_OR_RETURN(const Value other, c.impl.SetOf(given, false, c.loc));
    Value next = MakeSet(SetOf(c).frozen);
    for (const auto& [item, nothing] : result.As<SetPayload>()->items) {
      bool shared = false;
      if (!either) {
        TILEVM_ASSIGN_OR_RETURN(shared, c.impl.Contains(other, item, c.loc));
      }
      if (either || shared == in_both) TILEVM_RETURN_IF_ERROR(c.impl.SetAdd(next, item, c.loc).status());
    }
    for (const auto& [item, nothing] : other.As<SetPayload>()->items) {
      if (!either && name != "symmetric_difference") break;
      bool shared = false;
      if (!either) {
        TILEVM_ASSIGN_OR_RETURN(shared, c.impl.Contains(result, item, c.loc));
      }
      if (!shared) TILEVM_RETURN_IF_ERROR(c.impl.SetAdd(next, item, c.loc).status());
    }
    result = std::move(next);
  }
  if (!in_place) return result;
  const PairTable old = std::exchange(SetOf(c).items, result.As<SetPayload>()->items);
  SetOf(c).Recount();
  return Value::None();
}
// issubset, issuperset, isdisjoint
absl::StatusOr<Value> Relation(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const Value other, c.impl.SetOf(c.args.positional[0], false, c.loc));
  const bool super = c.name == "issuperset", disjoint = c.name == "isdisjoint";
  const Value &small = super ? other : c.self, &large = super ? c.self : other;
  const PairTable items = small.As<SetPayload>()->items;
  for (const auto& [item, nothing] : items) {
    TILEVM_ASSIGN_OR_RETURN(bool found, c.impl.Contains(large, item, c.loc));
    if (found == disjoint) return Value::Bool(false);
  }
  return Value::Bool(true);
}

// --- dict ---

DictPayload& DictOf(const MethodCall& c) { return *c.self.As<DictPayload>(); }

absl::StatusOr<Value> Keys(const MethodCall& c) {
  std::vector<Value> items;
  for (const auto& [key, value] : DictOf(c).entries) {
    items.push_back(c.name == "keys" ? key : c.name == "values" ? value : Value::Tuple({key, value}));
  }
  if (c.impl.in_kernel()) return Value::List(std::move(items));
  return MakeNamedTuple(absl::StrCat("dict_", c.name), {}, std::move(items));  // of what is there now
}
absl::StatusOr<Value> Get(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 2, {"default"}));
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> found, c.impl.DictGet(c.self, c.args.positional[0], c.loc));
  if (found.has_value()) return *std::move(found);
  const Value otherwise = Argument(c.args, 1, "default");
  return otherwise.absent() ? Value::None() : otherwise;
}
absl::StatusOr<Value> SetDefault(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 2));
  TILEVM_ASSIGN_OR_RETURN(std::optional<Value> found, c.impl.DictGet(c.self, c.args.positional[0], c.loc));
  if (found.has_value()) return *std::move(found);
  const Value value = c.count() == 2 ? c.args.positional[1] : Value::None();
  TILEVM_RETURN_IF_ERROR(c.impl.SetItem(c.self, c.args.positional[0], value, c.loc));
  return value;
}
absl::StatusOr<Value> Update(const MethodCall& c) {
  if (c.count() > 1) return InvalidAt(c.loc, "TypeError: update expected at most 1 argument, got ", c.count());
  if (c.count() == 1 && c.args.positional[0].is(ValueKind::kDict)) {
    const PairTable entries = c.args.positional[0].As<DictPayload>()->entries;
    for (const auto& [key, value] : entries) TILEVM_RETURN_IF_ERROR(c.impl.DictPut(c.self, key, value, c.loc));
  } else if (c.count() == 1) {
    TILEVM_RETURN_IF_ERROR(c.impl.ForEach(c.args.positional[0], c.loc, [&](const Value& pair) -> absl::StatusOr<bool> {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> two, c.impl.Iterate(pair, c.loc));
      if (two.size() != 2) return InvalidAt(c.loc, "ValueError: dictionary update sequence element has length ", two.size(), "; 2 is required");
      TILEVM_RETURN_IF_ERROR(c.impl.DictPut(c.self, two[0], two[1], c.loc));
      return true;
    }));
  }
  for (const auto& [key, value] : c.args.keyword) TILEVM_RETURN_IF_ERROR(c.impl.DictPut(c.self, Value::String(key), value, c.loc));
  return Value::None();
}
absl::StatusOr<Value> PopKey(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 2));
  TILEVM_ASSIGN_OR_RETURN(std::optional<size_t> place, c.impl.FindKey(DictOf(c).entries, c.args.positional[0], c.loc));
  if (place.has_value()) {
    const Value value = DictOf(c).entries.at(*place).second;
    DictOf(c).entries.EraseAt(*place);
    return value;
  }
  if (c.count() == 2) return c.args.positional[1];
  return InvalidAt(c.loc, "KeyError: ", Repr(c.args.positional[0]));
}
absl::StatusOr<Value> PopItem(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(0, 0));
  PairTable& entries = DictOf(c).entries;
  if (entries.empty()) return InvalidAt(c.loc, "KeyError: 'popitem(): dictionary is empty'");
  const size_t place = entries.last();
  const Value pair = Value::Tuple({entries.at(place).first, entries.at(place).second});
  entries.EraseAt(place);
  return pair;
}
absl::StatusOr<Value> CopyDict(const MethodCall& c) {
  const Value copy = Value::Shared(ValueKind::kDict, std::make_shared<DictPayload>(DictOf(c)));
  DetachAttributes(copy);
  return copy;
}
absl::StatusOr<Value> ClearDict(const MethodCall& c) {
  const PairTable entries = std::exchange(DictOf(c).entries, PairTable());
  DictOf(c).Recount();
  return Value::None();
}

// --- numbers, functions, configs ---

absl::StatusOr<Value> BitLength(const MethodCall& c) {
  const absl::uint128 value = static_cast<absl::uint128>(c.self.int_value());
  int64_t bits = 0;
  for (absl::uint128 magnitude = c.self.int_value() < 0 ? -value : value; magnitude != 0; magnitude >>= 1) ++bits;
  return Value::Int(bits);
}
absl::StatusOr<Value> BitCount(const MethodCall& c) {
  const absl::uint128 value = static_cast<absl::uint128>(c.self.int_value());
  int64_t bits = 0;
  for (absl::uint128 magnitude = c.self.int_value() < 0 ? -value : value; magnitude != 0; magnitude >>= 1) bits += (magnitude & 1) != 0 ? 1 : 0;
  return Value::Int(bits);
}
absl::StatusOr<Value> IsIntegral(const MethodCall& c) {
  return Value::Bool(std::isfinite(c.self.float_value()) && c.self.float_value() == std::floor(c.self.float_value()));
}

absl::StatusOr<Value> IndicesOf(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const int64_t size, ToIndex(c.args.positional[0], "the length", c.loc));
  return SliceIndices(c.self, size, c.loc);
}

absl::StatusOr<Value> RangeCount(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const bool there, c.impl.Contains(c.self, c.args.positional[0], c.loc));
  return Value::Int(there ? 1 : 0);
}
absl::StatusOr<Value> RangeIndex(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(const bool there, c.impl.Contains(c.self, c.args.positional[0], c.loc));
  if (!there) return InvalidAt(c.loc, "ValueError: ", Repr(c.args.positional[0]), " is not in range");
  const auto* range = c.self.As<RangePayload>();
  return Value::Int((c.args.positional[0].int_value() - range->start.int_value()) / range->step.int_value());
}

absl::StatusOr<Value> RunKernel(const MethodCall& c) {
  CallArgs args = c.args;
  Value grid;
  std::erase_if(args.keyword, [&](const auto& keyword) {
    if (keyword.first == "grid") grid = keyword.second;
    return keyword.first == "grid" || (keyword.first == "warmup" && c.name == "warmup");
  });
  if (c.name == "warmup") args.keyword.emplace_back("warmup", Value::Bool(true));
  if (grid.absent()) return InvalidAt(c.loc, "TypeError: kernel.run() is missing its argument 'grid'");
  return c.impl.host().Launch(c.impl.self(), c.self, grid, args, c.loc);
}

// torch.autograd.Function.apply: forward with a context that keeps whatever is put on it.
absl::StatusOr<Value> Apply(const MethodCall& c) {
  TILEVM_ASSIGN_OR_RETURN(Value forward, c.impl.ClassAttr(c.self, "forward", c.loc));
  auto type = std::make_shared<ClassPayload>();
  type->name = "FunctionCtx";
  type->bases = {Value::Builtin("torch.autograd.function.FunctionCtx")};
  auto context = std::make_shared<InstancePayload>();
  context->type = Value::Shared(ValueKind::kClass, std::move(type));
  context->attributes.emplace_back("needs_input_grad", Value::Tuple(std::vector<Value>(c.count(), Value::Bool(false))));
  CallArgs args = c.args;
  args.positional.insert(args.positional.begin(), Value::Shared(ValueKind::kInstance, std::move(context)));
  return c.impl.CallValue(forward, args, false, c.loc);
}
absl::StatusOr<Value> SaveForBackward(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.impl.SetAttr(c.self, "saved_tensors", Value::Tuple(c.args.positional), c.loc));
  return Value::None();
}
absl::StatusOr<Value> Ignored(const MethodCall&) { return Value::None(); }
absl::StatusOr<Value> AllKwargs(const MethodCall& c) {
  TILEVM_ASSIGN_OR_RETURN(Value kwargs, c.impl.GetAttr(c.self, "kwargs", false, c.loc));
  Value all = Value::Shared(ValueKind::kDict, std::make_shared<DictPayload>(*kwargs.As<DictPayload>()));
  for (const char* name : {"num_warps", "num_ctas", "num_stages"}) {
    TILEVM_ASSIGN_OR_RETURN(Value value, c.impl.GetAttr(c.self, name, false, c.loc));
    TILEVM_RETURN_IF_ERROR(c.impl.SetItem(all, Value::String(name), value, c.loc));
  }
  return all;
}

absl::StatusOr<Value> MakeFrom(const MethodCall& c) {
  TILEVM_RETURN_IF_ERROR(c.Check(1, 1));
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> items, c.impl.Iterate(c.args.positional[0], c.loc));
  return c.impl.Instantiate(c.self, CallArgs{std::move(items), {}}, c.loc);
}

constexpr MethodRow kStringMethods[] = {
    {"upper", Upper}, {"lower", Lower}, {"casefold", Lower}, {"capitalize", Capitalize}, {"title", Title}, {"startswith", StartsWith}, {"endswith", EndsWith},
    {"removeprefix", RemovePrefix}, {"removesuffix", RemoveSuffix}, {"strip", Strip}, {"lstrip", LeftStrip}, {"rstrip", RightStrip}, {"split", Split}, {"rsplit", Split},
    {"splitlines", SplitLines}, {"partition", Partition}, {"rpartition", Partition}, {"join", JoinText}, {"replace", Replace}, {"find", FindText}, {"rfind", FindText},
    {"index", FindText}, {"rindex", FindText}, {"count", CountText}, {"isdigit", AllAre<IsDigit>}, {"isnumeric", AllAre<IsDigit>}, {"isdecimal", AllAre<IsDigit>},
    {"isalpha", AllAre<IsAlpha>}, {"isalnum", AllAre<IsAlnum>}, {"isspace", AllAre<IsSpace>}, {"isupper", IsUpper}, {"islower", IsLower}, {"ljust", Justify},
    {"rjust", Justify}, {"center", Justify}, {"zfill", Justify}, {"format", FormatText}, {"encode", Itself}, {"decode", Itself}, {"expandtabs", ExpandTabs},
    {"swapcase", SwapCase}, {"isidentifier", IsIdentifier}, {"istitle", IsTitle},
};
constexpr MethodRow kListMethods[] = {
    {"append", Append}, {"extend", Extend}, {"insert", Insert}, {"pop", Pop}, {"remove", RemoveItem}, {"index", IndexOf}, {"count", CountItems}, {"sort", Sort},
    {"reverse", Reverse}, {"clear", ClearList}, {"copy", CopyList},
};
constexpr MethodRow kSetMethods[] = {
    {"union", Combine}, {"intersection", Combine}, {"difference", Combine}, {"symmetric_difference", Combine}, {"issubset", Relation},
    {"issuperset", Relation}, {"isdisjoint", Relation}, {"copy", CopySet},
    // What changes it; a frozenset has only the ones above.
    {"add", AddToSet}, {"discard", Discard}, {"remove", Discard}, {"pop", PopFromSet}, {"update", Combine}, {"intersection_update", Combine},
    {"difference_update", Combine}, {"symmetric_difference_update", Combine}, {"clear", ClearSet},
};
constexpr size_t kFrozenSetMethods = 8;
constexpr MethodRow kTupleMethods[] = {{"index", IndexOf}, {"count", CountItems}, {"_replace", ReplaceFields}, {"_asdict", AsDict}};
constexpr MethodRow kDictMethods[] = {
    {"keys", Keys}, {"values", Keys}, {"items", Keys}, {"get", Get}, {"setdefault", SetDefault}, {"update", Update}, {"pop", PopKey}, {"popitem", PopItem}, {"copy", CopyDict}, {"clear", ClearDict},
};
constexpr MethodRow kIntMethods[] = {{"bit_length", BitLength}, {"bit_count", BitCount}};
constexpr MethodRow kFloatMethods[] = {{"is_integer", IsIntegral}};
constexpr MethodRow kRangeMethods[] = {{"index", RangeIndex}, {"count", RangeCount}};
constexpr MethodRow kSliceMethods[] = {{"indices", IndicesOf}};
constexpr MethodRow kJitMethods[] = {{"run", RunKernel}, {"warmup", RunKernel}};
constexpr MethodRow kNamedTupleMethods[] = {{"_make", MakeFrom}};
constexpr MethodRow kAutogradMethods[] = {{"apply", Apply}};
constexpr MethodRow kContextMethods[] = {
    {"save_for_backward", SaveForBackward}, {"mark_non_differentiable", Ignored}, {"set_materialize_grads", Ignored}, {"mark_dirty", Ignored}};
constexpr MethodRow kConfigMethods[] = {{"all_kwargs", AllKwargs}};

absl::Span<const MethodRow> MethodsOf(const Impl& impl, const Value& object) {
  switch (object.kind()) {
    case ValueKind::kString: return kStringMethods;
    case ValueKind::kList: return kListMethods;
    case ValueKind::kSet: return absl::MakeConstSpan(kSetMethods).subspan(0, object.As<SetPayload>()->frozen ? kFrozenSetMethods : std::size(kSetMethods));
    case ValueKind::kTuple: return kTupleMethods;
    case ValueKind::kDict: return kDictMethods;
    case ValueKind::kInt: case ValueKind::kBool: return kIntMethods;
    case ValueKind::kFloat: return kFloatMethods;
    case ValueKind::kRange: return kRangeMethods;
    case ValueKind::kSlice: return kSliceMethods;
    case ValueKind::kJitFunction: return kJitMethods;
    case ValueKind::kClass:
      if (impl.FindInClass(object, "_fields") != nullptr) return kNamedTupleMethods;
      return impl.HasBase(object, "torch.autograd.Function") ? absl::Span<const MethodRow>(kAutogradMethods) : absl::Span<const MethodRow>();
    case ValueKind::kInstance: {
      const Value& type = object.As<InstancePayload>()->type;
      if (impl.HasBase(type, "torch.autograd.function.FunctionCtx")) return kContextMethods;
      return impl.HasBase(type, "triton.Config") ? absl::Span<const MethodRow>(kConfigMethods) : absl::Span<const MethodRow>();
    }
    default: return {};
  }
}

MethodFunction FindMethod(const Impl& impl, const Value& object, absl::string_view name) {
  for (const MethodRow& row : MethodsOf(impl, object)) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

}  // namespace

bool Evaluator::Impl::HasPythonMethod(const Value& object, absl::string_view name) const {
  return FindMethod(*this, object, name) != nullptr || FindCollectionMethod(object, name) != nullptr || FindModuleMethod(*this, object, name) != nullptr;
}

bool Evaluator::Impl::IsTypeFunction(absl::string_view path) const {
  if (!absl::ConsumePrefix(&path, "builtins.")) return false;
  const size_t dot = path.find('.');
  if (dot == absl::string_view::npos) return false;
  const absl::string_view type = path.substr(0, dot), name = path.substr(dot + 1);
  for (auto [known, rows] : {std::pair<absl::string_view, absl::Span<const MethodRow>>("str", kStringMethods), {"list", kListMethods}, {"tuple", kTupleMethods},
                             {"dict", kDictMethods}, {"set", kSetMethods}, {"int", kIntMethods}, {"float", kFloatMethods}}) {
    if (type == known) return std::any_of(rows.begin(), rows.end(), [&, wanted = name](const MethodRow& row) { return row.name == wanted; });
  }
  return false;
}

absl::StatusOr<Value> Evaluator::Impl::CallPythonMethod(const Value& object, absl::string_view name, const CallArgs& args, Loc loc) {
  BuiltinFunction of_module = FindCollectionMethod(object, name);
  MethodFunction method = of_module == nullptr ? FindMethod(*this, object, name) : nullptr;
  if (of_module == nullptr && method == nullptr) of_module = FindModuleMethod(*this, object, name);
  if (of_module != nullptr) {
    CallArgs with_self = args;
    with_self.positional.insert(with_self.positional.begin(), object);
    return of_module(*this, with_self, loc);
  }
  if (method == nullptr) return InvalidAt(loc, "AttributeError: '", NameOfType(object), "' object has no attribute '", name, "'");
  if (!IsAttributeDict(object)) return method(MethodCall{*this, object, name, args, loc});
  RefreshAttributes(object);
  absl::StatusOr<Value> result = method(MethodCall{*this, object, name, args, loc});
  StoreAttributes(object);
  return result;
}

}  // namespace tilevm::specializer
