#include "vm/cli/values.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "vm/grid_expression.h"
#include "vm/host/launch.h"
#include "vm/host/random.h"
#include "vm/host/torch_table.h"
#include "vm/npy.h"

namespace tilevm::vm::cli {
namespace {

using host::Tensor;
using isa::DType;
using specializer::Value;
using specializer::ValueKind;

std::optional<DType> ParseDType(absl::string_view text) {
  if (std::optional<DType> dtype = isa::DTypeFromName(text)) return dtype;
  for (absl::string_view prefix : {"tl.", "triton.language.", "torch.", ""}) {
    absl::string_view rest = text;
    if (!absl::ConsumePrefix(&rest, prefix)) continue;
    if (rest == "bool") return DType::kI1;
    if (rest == "half") return DType::kF16;
    if (std::optional<DType> dtype = isa::DTypeFromSurfaceName(rest)) return dtype;
  }
  return std::nullopt;
}

// Splits at commas outside of brackets and quotes.
std::vector<std::string> SplitTop(absl::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  char quote = 0;
  std::string part;
  for (char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back(absl::StripAsciiWhitespace(part));
      part.clear();
      continue;
    }
    part += c;
  }
  if (!absl::StripAsciiWhitespace(part).empty() || !parts.empty()) parts.emplace_back(absl::StripAsciiWhitespace(part));
  if (!parts.empty() && parts.back().empty()) parts.pop_back();  // a trailing comma
  return parts;
}

const Value* Find(const std::vector<NamedValue>& values, absl::string_view name) {
  for (const NamedValue& v : values) {
    if (v.name == name) return &v.value;
  }
  return nullptr;
}

NameLookup IntegersOf(const std::vector<NamedValue>& before) {
  return [&before](absl::string_view name) -> std::optional<int64_t> {
    const Value* v = Find(before, name);
    if (v == nullptr || !v->is(ValueKind::kInt)) return std::nullopt;
    return static_cast<int64_t>(v->int_value());
  };
}

struct Recipe {
  std::string name;
  std::vector<std::string> positional;
  std::vector<std::pair<std::string, std::string>> keyword;
};

// name(args...) with the closing bracket at the end.
std::optional<Recipe> SplitRecipe(absl::string_view text) {
  const size_t open = text.find('(');
  if (open == absl::string_view::npos || open == 0 || !absl::EndsWith(text, ")")) return std::nullopt;
  Recipe recipe;
  recipe.name = std::string(text.substr(0, open));
  for (char c : recipe.name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') return std::nullopt;
  }
  for (std::string& part : SplitTop(text.substr(open + 1, text.size() - open - 2))) {
    const size_t equals = part.find('=');
    if (equals != std::string::npos && equals > 0 &&
        absl::c_all_of(part.substr(0, equals), [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); })) {
      recipe.keyword.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    } else {
      recipe.positional.push_back(std::move(part));
    }
  }
  return recipe;
}

// A number in digits that no double holds is a slip; `inf` is not.
absl::Status CheckRange(absl::string_view text, double x) {
  const bool digits = absl::c_any_of(text, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  if (digits && std::isinf(x)) return absl::InvalidArgumentError(absl::StrCat("'", text, "' is beyond what a double holds; infinity is written inf"));
  return absl::OkStatus();
}

absl::StatusOr<double> Number(absl::string_view text) {
  double x;
  if (!absl::SimpleAtod(text, &x)) return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a number"));
  TILEVM_RETURN_IF_ERROR(CheckRange(text, x));
  return x;
}

absl::StatusOr<Value> RunRecipe(const Recipe& recipe, const std::vector<NamedValue>& before, host::Generator& generator) {
  static constexpr absl::string_view kRecipes[] = {"randn", "rand", "zeros", "ones", "empty", "full", "randint", "arange"};
  std::string name = recipe.name;
  const bool like = absl::EndsWith(name, "_like") || name == "clone";
  std::optional<DType> dtype;
  isa::Shape shape;
  std::vector<std::string> positional = recipe.positional;
  const Tensor* model = nullptr;
  if (like) {
    if (positional.empty()) return absl::InvalidArgumentError(absl::StrCat(recipe.name, " wants the name of a tensor"));
    const Value* v = Find(before, positional[0]);
    const host::HostTensor* t = v == nullptr ? nullptr : host::AsTensor(*v);
    if (t == nullptr) return absl::InvalidArgumentError(absl::StrCat(recipe.name, "(", positional[0], "): no tensor of that name is given before"));
    model = &t->tensor;
    shape = model->shape;
    dtype = model->dtype;
    positional.erase(positional.begin());
    if (name == "clone") {
      TILEVM_ASSIGN_OR_RETURN(Tensor copy, host::Clone(*model));
      return host::MakeTensorValue(copy);
    }
    name = name.substr(0, name.size() - 5);
  }
  if (std::find(std::begin(kRecipes), std::end(kRecipes), name) == std::end(kRecipes)) {
    return absl::InvalidArgumentError(absl::StrCat("'", recipe.name, "' is not a recipe; there are ", absl::StrJoin(kRecipes, ", "), ", NAME_like and clone"));
  }
  std::optional<double> value;
  if (name == "full" && !positional.empty() && like) {
    TILEVM_ASSIGN_OR_RETURN(value, Number(positional.back()));
    positional.pop_back();
  }
  int64_t low = 0;
  std::optional<int64_t> high;
  std::optional<uint64_t> seed;
  const NameLookup lookup = IntegersOf(before);
  bool dtype_given = false;
  const auto set_dtype = [&](std::optional<DType> given) -> absl::Status {
    if (dtype_given) return absl::InvalidArgumentError(absl::StrCat(recipe.name, " is given two dtypes, ", isa::Name(*dtype), " and ", isa::Name(*given)));
    dtype_given = true;
    dtype = given;
    return absl::OkStatus();
  };
  for (size_t i = 0; i < recipe.keyword.size(); ++i) {
    const auto& [key, text] = recipe.keyword[i];
    for (size_t k = 0; k < i; ++k) {
      if (recipe.keyword[k].first == key) return absl::InvalidArgumentError(absl::StrCat(recipe.name, " is given ", key, " twice"));
    }
    if (key == "dtype") {
      const std::optional<DType> given = ParseDType(text);
      if (!given.has_value()) return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a dtype"));
      TILEVM_RETURN_IF_ERROR(set_dtype(given));
    } else if (key == "value") {
      TILEVM_ASSIGN_OR_RETURN(value, Number(text));
    } else if (key == "seed" || key == "low" || key == "high") {
      TILEVM_ASSIGN_OR_RETURN(int64_t number, EvaluateExpression(text, lookup));
      if (key == "seed" && number < 0) return absl::InvalidArgumentError(absl::StrCat("seed=", text, ": a seed is 0 or more"));
      if (key == "seed") seed = static_cast<uint64_t>(number);
      if (key == "low") low = number;
      if (key == "high") high = number;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(recipe.name, " has no keyword '", key, "'; dtype, seed, value, low and high are possible"));
    }
  }
  bool nested = false;
  for (const std::string& part : positional) {
    if (std::optional<DType> d = ParseDType(part); d.has_value() && lookup(part) == std::nullopt) {
      TILEVM_RETURN_IF_ERROR(set_dtype(d));
    } else if (!part.empty() && (part[0] == '(' || part[0] == '[') && part == positional[0]) {
      TILEVM_ASSIGN_OR_RETURN(std::vector<int64_t> extents, EvaluateExpressionList(part, lookup));
      shape.assign(extents.begin(), extents.end());
      nested = true;
    } else if (name == "full" && nested && !value.has_value()) {  // full((2, 3), 1.5)
      TILEVM_ASSIGN_OR_RETURN(value, Number(part));
    } else {
      absl::StatusOr<int64_t> extent = EvaluateExpression(part, lookup);
      const bool word =
          !part.empty() && absl::c_all_of(part, [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; });
      if (!extent.ok() && word) {
        return absl::InvalidArgumentError(
            absl::StrCat(recipe.name, ": '", part, "' is neither a dtype (f32, f16, bf16, i64, ...) nor an integer argument given before"));
      }
      TILEVM_RETURN_IF_ERROR(extent.status());
      shape.push_back(*extent);
    }
  }
  if (name == "arange") {
    if (shape.size() != 1) return absl::InvalidArgumentError("arange wants one length");
    TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(DType::kI64, shape, host::Fill::kZero));
    int64_t* data = reinterpret_cast<int64_t*>(t.data());
    for (int64_t i = 0; i < shape[0]; ++i) data[i] = i;
    TILEVM_ASSIGN_OR_RETURN(t, host::CastTo(t, dtype.value_or(DType::kI64)));
    return host::MakeTensorValue(t);
  }
  const bool random = name == "randn" || name == "rand" || name == "randint";
  const DType type = dtype.value_or(name == "randint" ? DType::kI64 : DType::kF32);
  if ((name == "randn" || name == "rand") && !isa::IsFloat(type))
    return absl::InvalidArgumentError(absl::StrCat(name, " wants a floating point dtype, not ", isa::Name(type)));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(type, shape, name == "empty" ? host::Fill::kUninitialised : host::Fill::kZero));
  const uint64_t stream = seed.value_or(generator.seed);
  const uint64_t draw = !random || seed.has_value() ? 0 : generator.calls++;
  if (name == "randn") host::FillNormal(t, stream, draw);
  if (name == "rand") host::FillUniform(t, stream, draw);
  if (name == "randint") {
    if (!high.has_value() || *high <= low) return absl::InvalidArgumentError("randint wants low=L (0 without it) and high=H with L < H");
    host::FillIntegers(t, stream, draw, low, *high);
  }
  if (name == "ones") TILEVM_RETURN_IF_ERROR(host::FillWith(t, Value::Int(1)));
  if (name == "full") {
    if (!value.has_value()) return absl::InvalidArgumentError("full wants value=NUMBER");
    TILEVM_RETURN_IF_ERROR(host::FillWith(t, Value::Float(*value)));
  }
  return host::MakeTensorValue(t);
}

absl::StatusOr<Value> ReadTensor(absl::string_view text) {
  std::optional<DType> as;
  std::string path(text);
  if (const size_t colon = path.rfind(':'); colon != std::string::npos) {
    as = ParseDType(path.substr(colon + 1));
    if (as.has_value()) path = path.substr(0, colon);
  }
  if (path.empty()) return absl::InvalidArgumentError("the name of a file is missing after '@'");
  TILEVM_ASSIGN_OR_RETURN(NpyArray array, ReadNpy(path, as));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(array.dtype, array.shape, host::Fill::kZero));
  std::copy(array.data.begin(), array.data.end(), reinterpret_cast<char*>(t.data()));
  return host::MakeTensorValue(t);
}

bool IsName(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_' || c >= 0x80; });
}

}  // namespace

absl::StatusOr<Value> ParseValue(absl::string_view text, const std::vector<NamedValue>& before, host::Generator& generator) {
  text = absl::StripAsciiWhitespace(text);
  if (text.empty()) return absl::InvalidArgumentError("the value is empty");
  if (text[0] == '@') return ReadTensor(text.substr(1));
  if (text == "None" || text == "null") return Value::None();
  if (text == "True" || text == "true") return Value::Bool(true);
  if (text == "False" || text == "false") return Value::Bool(false);
  if (text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0]) return Value::String(std::string(text.substr(1, text.size() - 2)));
  if (text[0] == '(' || text[0] == '[') {
    const char close = text[0] == '(' ? ')' : ']';
    if (text.back() != close) return absl::InvalidArgumentError(absl::StrCat("'", text, "' lacks its '", std::string(1, close), "'"));
    std::vector<Value> items;
    for (const std::string& part : SplitTop(text.substr(1, text.size() - 2))) {
      TILEVM_ASSIGN_OR_RETURN(Value item, ParseValue(part, before, generator));
      items.push_back(std::move(item));
    }
    return text[0] == '(' ? Value::Tuple(std::move(items)) : Value::List(std::move(items));
  }
  if (std::optional<DType> dtype = ParseDType(text)) return Value::DTypeOf(*dtype);
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  absl::int128 integer;
  if (absl::SimpleAtoi(digits, &integer)) return Value::Int(integer);
  uint64_t hex;
  if (absl::StartsWith(text, "0x") && absl::SimpleHexAtoi(digits, &hex)) return Value::Int(absl::int128(hex));
  double number;
  if (absl::SimpleAtod(digits, &number)) {
    TILEVM_RETURN_IF_ERROR(CheckRange(text, number));
    return Value::Float(number);
  }
  if (absl::StartsWith(text, "ptr<") && absl::EndsWith(text, ">")) {  // a type, for `inspect`
    if (std::optional<DType> dtype = ParseDType(text.substr(4, text.size() - 5))) return host::ArgumentOfType({*dtype, true}, true);
  }
  if (std::optional<Recipe> recipe = SplitRecipe(text)) return RunRecipe(*recipe, before, generator);
  if (const Value* v = Find(before, text)) return *v;  // another argument
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a value; a text is written '", text, "' with its quotes, a file @", text,
                                                 ", and there are recipes such as randn(1024, f32)"));
}

namespace {

bool MentionsWord(absl::string_view text, absl::string_view word) {
  const auto part_of_word = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(word); at != absl::string_view::npos && !word.empty(); at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !part_of_word(text[at - 1])) && (end == text.size() || !part_of_word(text[end]))) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<NamedValue>> ParseValues(const std::vector<std::string>& texts, host::Generator& generator) {
  std::vector<NamedValue> values;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const absl::string_view name = absl::string_view(text).substr(0, equals);
    if (equals == std::string::npos || !IsName(name)) return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not of the form name=value"));
    if (Find(values, name) != nullptr) return absl::InvalidArgumentError(absl::StrCat("argument ", name, " is given twice"));
    absl::StatusOr<Value> value = ParseValue(absl::string_view(text).substr(equals + 1), values, generator);
    if (!value.ok()) {
      // The usual cause: a size that stands further right.
      for (const std::string& later : absl::MakeSpan(texts).subspan(static_cast<size_t>(&text - texts.data()) + 1)) {
        const std::string wanted = later.substr(0, later.find('='));
        if (!MentionsWord(absl::string_view(text).substr(equals + 1), wanted)) continue;
        return absl::InvalidArgumentError(absl::StrCat("argument ", name, ": '", wanted, "' is used before it is given; put ", later, " in front"));
      }
      return absl::Status(value.status().code(), absl::StrCat("argument ", name, ": ", value.status().message()));
    }
    values.push_back({std::string(name), *std::move(value)});
  }
  return values;
}

std::string Summarise(const Value& value) {
  const host::HostTensor* t = host::AsTensor(value);
  if (t == nullptr) return specializer::Repr(value);
  constexpr int64_t kShown = 6;
  const int64_t n = t->tensor.numel();
  std::vector<std::string> items;
  for (int64_t i = 0; i < std::min(n, kShown); ++i) {
    const Value v = host::ElementAt(t->tensor, i);
    items.push_back(v.is(ValueKind::kFloat) ? absl::StrFormat("%.6g", v.float_value()) : specializer::Str(v));
  }
  if (n > kShown) items.push_back("...");
  return absl::StrCat(isa::Name(t->tensor.dtype), isa::ShapeToString(t->tensor.shape), ": ", absl::StrJoin(items, ", "));
}

absl::Status SaveTensor(const Value& value, const std::string& path) {
  const host::HostTensor* t = host::AsTensor(value);
  Tensor tensor;
  if (t != nullptr) {
    TILEVM_ASSIGN_OR_RETURN(tensor, host::Contiguous(t->tensor));
  } else if (value.is_static_number()) {
    const DType dtype = value.is(ValueKind::kFloat) ? DType::kF64 : value.is(ValueKind::kBool) ? DType::kI1 : DType::kI64;
    TILEVM_ASSIGN_OR_RETURN(tensor, Tensor::Make(dtype, {}, host::Fill::kZero));
    TILEVM_RETURN_IF_ERROR(host::FillWith(tensor, value));
  } else {
    return absl::InvalidArgumentError(absl::StrCat("a ", specializer::TypeName(value, nullptr), " cannot be saved to ", path, "; a tensor can"));
  }
  return WriteNpy(path, tensor.dtype, tensor.shape,
                  absl::string_view(reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.numel() * tensor.item_bytes())));
}

}  // namespace tilevm::vm::cli
