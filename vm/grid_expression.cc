#include "vm/grid_expression.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "isa/status.h"

namespace tilevm::vm {
namespace {

constexpr int kMaxDepth = 100;

class Parser {
 public:
  Parser(absl::string_view text, const NameLookup& lookup) : text_(text), lookup_(lookup) {}

  absl::StatusOr<std::vector<int64_t>> List(char close) {
    std::vector<int64_t> values;
    while (!At(close)) {
      TILEVM_ASSIGN_OR_RETURN(int64_t value, Sum());
      values.push_back(value);
      if (!Take(',')) break;
    }
    return values;
  }
  absl::StatusOr<int64_t> Sum() {
    if (++depth_ > kMaxDepth) return Error("too deeply nested");
    TILEVM_ASSIGN_OR_RETURN(int64_t value, Product());
    while (At('+') || At('-')) {
      const bool add = text_[pos_++] == '+';
      TILEVM_ASSIGN_OR_RETURN(int64_t right, Product());
      if (add ? __builtin_add_overflow(value, right, &value) : __builtin_sub_overflow(value, right, &value)) return Error("overflow");
    }
    --depth_;
    return value;
  }
  bool AtEnd() { return At('\0'); }
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("in expression '", text_, "', column ", std::min(pos_, text_.size()) + 1, ": ", what));
  }
  bool Take(char c) {
    if (!At(c)) return false;
    ++pos_;
    return true;
  }

 private:
  // The next character that is no space; '\0' at the end.
  bool At(char c) {
    while (pos_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
    return pos_ < text_.size() ? text_[pos_] == c : c == '\0';
  }

  absl::StatusOr<int64_t> Product() {
    TILEVM_ASSIGN_OR_RETURN(int64_t value, Unary());
    while (At('*') || At('/') || At('%')) {
      const char op = text_[pos_++];
      if (op == '/' && !Take('/')) return Error("'/' is not integer division; write // or cdiv(a, b)");
      if (op == '*' && At('*')) return Error("'**' is not supported");
      TILEVM_ASSIGN_OR_RETURN(int64_t right, Unary());
      if (op == '*') {
        if (__builtin_mul_overflow(value, right, &value)) return Error("overflow");
      } else {
        TILEVM_ASSIGN_OR_RETURN(const int64_t quotient, FloorDiv(value, right));
        value = op == '/' ? quotient : value - quotient * right;
      }
    }
    return value;
  }

  absl::StatusOr<int64_t> FloorDiv(int64_t a, int64_t b) const {
    if (b == 0) return Error("division by zero");
    if (b == -1) {
      int64_t negated;
      if (__builtin_sub_overflow(int64_t{0}, a, &negated)) return Error("overflow");
      return negated;
    }
    const int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }

  absl::StatusOr<int64_t> Unary() {
    bool negative = false;
    while (At('-') || At('+')) negative ^= text_[pos_++] == '-';
    TILEVM_ASSIGN_OR_RETURN(int64_t value, Primary());
    if (negative && __builtin_sub_overflow(int64_t{0}, value, &value)) return Error("overflow");
    return value;
  }

  absl::StatusOr<int64_t> Primary() {
    if (Take('(')) {
      TILEVM_ASSIGN_OR_RETURN(int64_t value, Sum());
      if (!Take(')')) return Error("')' is missing");
      return value;
    }
    if (AtEnd()) return Error("a number or a name is missing");
    const size_t begin = pos_;
    const auto word = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    while (pos_ < text_.size() && word(text_[pos_])) ++pos_;
    std::string name(text_.substr(begin, pos_ - begin));
    if (name.empty()) return Error("a number or a name is missing");
    if (absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) {
      name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
      int64_t value;
      if (!absl::SimpleAtoi(name, &value)) return Error(absl::StrCat("'", name, "' is not an integer"));
      return value;
    }
    if (!At('(')) {
      const std::optional<int64_t> value = lookup_ ? lookup_(name) : std::nullopt;
      if (!value.has_value()) {
        pos_ = begin;
        return Error(absl::StrCat("'", name, "' is not an integer argument"));
      }
      return *value;
    }
    Take('(');
    TILEVM_ASSIGN_OR_RETURN(std::vector<int64_t> args, List(')'));
    if (!Take(')')) return Error("')' is missing");
    return CallFunction(name, args, begin);
  }

  absl::StatusOr<int64_t> CallFunction(absl::string_view name, const std::vector<int64_t>& args, size_t begin) {
    if (name.substr(0, 7) == "triton.") name.remove_prefix(7);
    const auto wrong_count = [&](absl::string_view wanted) { return Error(absl::StrCat(name, " takes ", wanted)); };
    if (name == "cdiv") {
      if (args.size() != 2) return wrong_count("2 arguments");
      TILEVM_ASSIGN_OR_RETURN(int64_t down, FloorDiv(args[0], args[1]));
      return down * args[1] == args[0] ? down : down + 1;
    }
    if (name == "min" || name == "max") {
      if (args.empty()) return wrong_count("at least 1 argument");
      return name == "min" ? *std::min_element(args.begin(), args.end()) : *std::max_element(args.begin(), args.end());
    }
    if (name == "next_power_of_2") {
      if (args.size() != 1) return wrong_count("1 argument");
      if (args[0] > (int64_t{1} << 62)) return Error("overflow");
      int64_t power = 1;
      while (power < args[0]) power *= 2;
      return power;
    }
    pos_ = begin;
    return Error(absl::StrCat("'", name, "' is not a function; cdiv, min, max and next_power_of_2 are"));
  }

  absl::string_view text_;
  const NameLookup& lookup_;
  size_t pos_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> EvaluateExpression(absl::string_view text, const NameLookup& lookup) {
  Parser parser(text, lookup);
  TILEVM_ASSIGN_OR_RETURN(int64_t value, parser.Sum());
  if (!parser.AtEnd()) return parser.Error("this was not expected");
  return value;
}

absl::StatusOr<std::vector<int64_t>> EvaluateExpressionList(absl::string_view text, const NameLookup& lookup) {
  absl::string_view inner = absl::StripAsciiWhitespace(text);
  // "(a, b)" or "[a, b]" as a whole; "(a + b) * c, d" is not.
  if (inner.size() >= 2 && (inner.front() == '(' || inner.front() == '[')) {
    int depth = 0;
    size_t i = 0;
    for (; i < inner.size(); ++i) {
      if (inner[i] == '(' || inner[i] == '[') ++depth;
      if ((inner[i] == ')' || inner[i] == ']') && --depth == 0) break;
    }
    if (i == inner.size() - 1) inner = inner.substr(1, inner.size() - 2);
  }
  Parser parser(inner, lookup);
  TILEVM_ASSIGN_OR_RETURN(std::vector<int64_t> values, parser.List('\0'));
  if (!parser.AtEnd()) return parser.Error("this was not expected");
  return values;
}

}  // namespace tilevm::vm
