#include "tests/launch.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "isa/status.h"
#include "isa/types.h"

namespace tilevm::tests {
namespace {

using specializer::ArgSpec;
using specializer::Value;

// Splits "a, (b, c), d" at the commas outside brackets.
std::vector<std::string> SplitItems(absl::string_view text) {
  std::vector<std::string> items;
  std::string item;
  int depth = 0;
  for (char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      items.push_back(std::move(item));
      item.clear();
    } else {
      item += c;
    }
  }
  if (!absl::StripAsciiWhitespace(item).empty()) items.push_back(std::move(item));
  return items;
}

bool IsTuple(absl::string_view text) { return absl::StartsWith(text, "(") && absl::EndsWith(text, ")"); }

const BufferSpec* FindBuffer(const Case& one, absl::string_view name) {
  for (const BufferSpec& buffer : one.buffers) {
    if (buffer.name == name) return &buffer;
  }
  return nullptr;
}

const ArgSpecText* FindArg(const Case& one, absl::string_view name) {
  for (const ArgSpecText& arg : one.args) {
    if (arg.name == name) return &arg;
  }
  return nullptr;
}

ArgSpec PointerSpec(isa::DType dtype) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::kTyped;
  spec.type = isa::PointerType(dtype);
  spec.divisible_by_16 = true;  // Memory aligns every buffer to 64 bytes
  return spec;
}

// The type of a runtime number by Triton's launch rules.
isa::DType LaunchType(const Value& value) {
  if (value.is(specializer::ValueKind::kBool)) return isa::DType::kI1;
  if (value.is(specializer::ValueKind::kFloat)) return isa::DType::kF32;
  absl::int128 number = value.int_value();
  if (number == static_cast<int32_t>(number)) return isa::DType::kI32;
  return number == static_cast<int64_t>(number) ? isa::DType::kI64 : isa::DType::kU64;
}

absl::StatusOr<ArgSpec> SpecOf(const Case& one, absl::string_view type, absl::string_view value, bool is_constexpr,
                               absl::string_view annotation) {
  ArgSpec spec;
  if (const BufferSpec* buffer = FindBuffer(one, value); buffer != nullptr && type.empty()) return PointerSpec(buffer->dtype);
  if (IsTuple(value) && !is_constexpr) {
    spec.kind = ArgSpec::Kind::kTuple;
    for (const std::string& item : SplitItems(value.substr(1, value.size() - 2))) {
      TILEVM_ASSIGN_OR_RETURN(ArgSpec part, SpecOf(one, "", absl::StripAsciiWhitespace(item), false, ""));
      spec.items.push_back(std::move(part));
    }
    return spec;
  }
  std::optional<isa::DType> dtype = isa::DTypeFromName(type.empty() ? annotation : type);
  if (!dtype.has_value() || is_constexpr) {
    TILEVM_ASSIGN_OR_RETURN(spec.value, ParseStatic(value));
    bool is_one = spec.value.is(specializer::ValueKind::kInt) && spec.value.int_value() == 1;
    if (is_constexpr || type == "constexpr" || is_one || !spec.value.is_static_number()) return spec;
    dtype = LaunchType(spec.value);
  }
  spec.kind = ArgSpec::Kind::kTyped;
  spec.type = isa::ScalarType(*dtype);
  TILEVM_ASSIGN_OR_RETURN(uint64_t bits, ParseLiteral(*dtype, value));
  spec.divisible_by_16 = isa::IsInteger(*dtype) && *dtype != isa::DType::kI1 && bits % 16 == 0;
  return spec;
}

// "t.1" -> item 1 of the tuple text.
std::string ItemText(absl::string_view text, absl::string_view path) {
  while (absl::ConsumePrefix(&path, ".")) {
    size_t end = path.find('.');
    int index = 0;
    std::vector<std::string> items = SplitItems(text.substr(1, text.size() - 2));
    if (!absl::SimpleAtoi(path.substr(0, end), &index) || index >= static_cast<int>(items.size())) return "";
    std::string item(absl::StripAsciiWhitespace(items[index]));
    path = end == absl::string_view::npos ? "" : path.substr(end);
    if (path.empty()) return item;
    return ItemText(item, path);
  }
  return std::string(text);
}

}  // namespace

absl::StatusOr<specializer::Value> ParseStatic(absl::string_view text) {
  if (text == "None") return Value::None();
  if (text == "True" || text == "False") return Value::Bool(text == "True");
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return Value::String(std::string(text.substr(1, text.size() - 2)));
  if (IsTuple(text)) {
    std::vector<Value> items;
    for (const std::string& item : SplitItems(text.substr(1, text.size() - 2))) {
      TILEVM_ASSIGN_OR_RETURN(Value value, ParseStatic(absl::StripAsciiWhitespace(item)));
      items.push_back(std::move(value));
    }
    return Value::Tuple(std::move(items));
  }
  if (std::optional<isa::DType> dtype = isa::DTypeFromName(text); dtype.has_value()) return Value::DTypeOf(*dtype);
  int64_t small;
  if (absl::SimpleAtoi(text, &small)) return Value::Int(small);
  uint64_t large;
  if (absl::SimpleAtoi(text, &large)) return Value::Int(large);
  double number;
  if (absl::SimpleAtod(text, &number)) return Value::Float(number);
  return absl::InvalidArgumentError(absl::StrCat("not a literal: ", text));
}

absl::StatusOr<specializer::SpecializationKey> KeyOf(const Case& one, const isa::Function& function) {
  specializer::SpecializationKey key;
  for (const isa::Param& param : function.params) {
    if (const BufferSpec* buffer = FindBuffer(one, param.name); buffer != nullptr) {
      key.args.push_back(PointerSpec(buffer->dtype));
      continue;
    }
    const ArgSpecText* arg = FindArg(one, param.name);
    if (arg == nullptr) return absl::InvalidArgumentError(absl::StrCat("the case gives no value for parameter ", param.name));
    TILEVM_ASSIGN_OR_RETURN(ArgSpec spec, SpecOf(one, arg->type, arg->value, param.is_constexpr, param.annotation));
    key.args.push_back(std::move(spec));
  }
  return key;
}

absl::StatusOr<std::vector<vm::Arg>> ArgsOf(const Case& one, const ir::Kernel& kernel) {
  std::vector<vm::Arg> args;
  for (const ir::Param& param : kernel.params) {
    size_t dot = param.name.find('.');
    std::string root = param.name.substr(0, dot);
    std::string text = root;
    if (const ArgSpecText* arg = FindArg(one, root); arg != nullptr) {
      text = dot == std::string::npos ? arg->value : ItemText(arg->value, absl::string_view(param.name).substr(dot));
    }
    if (const BufferSpec* buffer = FindBuffer(one, text); buffer != nullptr) {
      args.push_back(vm::Arg::InBuffer(static_cast<int32_t>(buffer - one.buffers.data())));
      continue;
    }
    TILEVM_ASSIGN_OR_RETURN(uint64_t bits, ParseLiteral(kernel.TypeOf(param.value).elem.dtype, text));
    args.push_back(vm::Arg::Scalar(bits));
  }
  return args;
}

}  // namespace tilevm::tests
