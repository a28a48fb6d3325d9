// The test kernel, and a stand-in for the evaluator that knows arithmetic on static ints (the partial evaluator has its own tests).
#include "specializer/elaborate/testing.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tilevm::specializer {

class Evaluator::Impl {};
Evaluator::Evaluator(const isa::Module*, Host*, Limits) {}
Evaluator::~Evaluator() = default;
absl::StatusOr<Value> Evaluator::Binary(isa::Op op, const Value& x, const Value& y, Loc loc) {
  const absl::int128 a = x.int_value(), b = y.int_value();
  switch (op) {
    case isa::Op::kAdd: return Value::Int(a + b);
    case isa::Op::kSub: return Value::Int(a - b);
    case isa::Op::kMul: return Value::Int(a * b);
    case isa::Op::kFloorDiv: return Value::Int(a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0));
    default: return InvalidAt(loc, "the stand-in evaluator has no ", isa::Mnemonic(op));
  }
}

ElaborateTest::ElaborateTest() : builder_(&kernel_), evaluator_(nullptr, nullptr), elaborator_{builder_, evaluator_, nullptr} {
  kernel_.name = "test";
  kernel_.body.ops.reserve(64);
}

Value ElaborateTest::Make(const std::string& text) {
  int64_t number;
  double real;
  if (text.empty()) return Value();
  if (text == "None") return Value::None();
  if (text == "True" || text == "False") return Value::Bool(text == "True");
  if (text[0] == '\'') return Value::String(text.substr(1, text.size() - 2));
  if (absl::StartsWith(text, "dtype:")) return Value::DTypeOf(*isa::DTypeFromName(text.substr(6)));
  if (text[0] == '(') {
    std::vector<Value> items;
    for (absl::string_view item : absl::StrSplit(text.substr(1, text.size() - 2), ',', absl::SkipEmpty())) items.push_back(Make(std::string(item)));
    return Value::Tuple(std::move(items));
  }
  if (absl::SimpleAtoi(text, &number)) return Value::Int(number);
  if (absl::SimpleAtod(text, &real)) return Value::Float(real);
  const std::vector<std::string> parts = absl::StrSplit(text, '[');
  isa::Type type;
  std::string elem = parts[0];
  if (absl::StartsWith(elem, "ptr<")) {
    type.elem.pointer = true;
    elem = elem.substr(4, elem.size() - 5);
  }
  type.elem.dtype = *isa::DTypeFromName(elem);
  if (parts.size() > 1) {
    for (absl::string_view extent : absl::StrSplit(parts[1].substr(0, parts[1].size() - 1), ',')) {
      if (absl::SimpleAtoi(extent, &number)) type.shape.push_back(number);
    }
  }
  const ir::ValueId id = kernel_.NewValue(type);
  kernel_.params.push_back({id, absl::StrCat("p", kernel_.params.size()), static_cast<int>(kernel_.params.size()), 1, {}});
  return Value::Tensor(id);
}

std::string ElaborateTest::Describe(const absl::StatusOr<Value>& value) {
  if (!value.ok()) return absl::StrCat("error: ", value.status().message());
  if (value->is(ValueKind::kNone)) return "none";
  if (value->is_tensor()) return isa::ToString(kernel_.TypeOf(value->tensor()));
  if (value->is(ValueKind::kTuple)) {
    std::vector<std::string> parts;
    for (const Value& item : value->items()) parts.push_back(Describe(item));
    return absl::StrJoin(parts, ", ");
  }
  return value->is_static_number() ? absl::StrCat("static ", Repr(*value)) : TypeName(*value, &kernel_);
}

std::string ElaborateTest::RunValues(isa::Op op, const std::vector<Value>& operands) {
  const absl::StatusOr<Value> result = Elaborate(elaborator_, op, operands, Loc{});
  last_ = result.ok() ? *result : Value();
  return Describe(result);
}

std::string ElaborateTest::Run(isa::Op op, const std::vector<std::string>& operands) {
  std::vector<Value> values;
  for (const std::string& operand : operands) values.push_back(Make(operand));
  return RunValues(op, values);
}

std::string ElaborateTest::Emitted() {
  builder_.EmitVoid(isa::Op::kYield, {}, Loc{});
  const absl::Status verified = ir::Verify(kernel_);
  EXPECT_TRUE(verified.ok()) << verified;
  std::string text = ir::Print(kernel_);
  kernel_.body.ops.clear();
  kernel_.params.clear();
  kernel_.values.clear();
  const size_t first = text.find('\n') + 1, yield = text.rfind("    yield");
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text.substr(first, yield - first), '\n', absl::SkipEmpty())) {
    lines.push_back(absl::StartsWith(line, "    ") ? std::string(line.substr(4)) : std::string(line));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace tilevm::specializer
