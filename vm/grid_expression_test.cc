#include "vm/grid_expression.h"

#include "gtest/gtest.h"

namespace tilevm::vm {
namespace {

std::optional<int64_t> Lookup(absl::string_view name) {
  if (name == "n") return 1000;
  if (name == "BLOCK") return 256;
  return std::nullopt;
}

int64_t Value(absl::string_view text) {
  auto value = EvaluateExpression(text, Lookup);
  EXPECT_TRUE(value.ok()) << text << ": " << value.status();
  return value.ok() ? *value : -999;
}

std::string Error(absl::string_view text) {
  auto value = EvaluateExpressionList(text, Lookup);
  return value.ok() ? "no error" : std::string(value.status().message());
}

TEST(GridExpression, Arithmetic) {
  EXPECT_EQ(Value("1 + 2 * 3"), 7);
  EXPECT_EQ(Value("(1 + 2) * 3"), 9);
  EXPECT_EQ(Value("-7 // 2"), -4);  // as Python
  EXPECT_EQ(Value("-7 % 2"), 1);
  EXPECT_EQ(Value("n // BLOCK"), 3);
  EXPECT_EQ(Value("1_000"), 1000);
}

TEST(GridExpression, Functions) {
  EXPECT_EQ(Value("cdiv(n, BLOCK)"), 4);
  EXPECT_EQ(Value("triton.cdiv(n, 250)"), 4);
  EXPECT_EQ(Value("min(n, BLOCK, 7)"), 7);
  EXPECT_EQ(Value("max(1, cdiv(0, 4))"), 1);
  EXPECT_EQ(Value("next_power_of_2(n)"), 1024);
  EXPECT_EQ(Value("next_power_of_2(1024)"), 1024);
}

TEST(GridExpression, Lists) {
  EXPECT_EQ(*EvaluateExpressionList("cdiv(n, BLOCK), 2", Lookup), (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(*EvaluateExpressionList("(4, 2, 3)", Lookup), (std::vector<int64_t>{4, 2, 3}));
  EXPECT_EQ(*EvaluateExpressionList("(4,)", Lookup), (std::vector<int64_t>{4}));
  EXPECT_EQ(*EvaluateExpressionList("(1 + 1) * 2, (3)", Lookup), (std::vector<int64_t>{4, 3}));
}

TEST(GridExpression, Errors) {
  EXPECT_EQ(Error("n / 2"), "in expression 'n / 2', column 5: '/' is not integer division; write // or cdiv(a, b)");
  EXPECT_EQ(Error("m"), "in expression 'm', column 1: 'm' is not an integer argument");
  EXPECT_EQ(Error("n // 0"), "in expression 'n // 0', column 7: division by zero");
  EXPECT_EQ(Error("9223372036854775807 + 1"), "in expression '9223372036854775807 + 1', column 24: overflow");
  EXPECT_EQ(Error("(1"), "in expression '(1', column 3: ')' is missing");
  EXPECT_EQ(Error("1 2"), "in expression '1 2', column 3: this was not expected");
  EXPECT_EQ(Error("cdiv(1)"), "in expression 'cdiv(1)', column 8: cdiv takes 2 arguments");
  EXPECT_EQ(Error("foo(1)"), "in expression 'foo(1)', column 1: 'foo' is not a function; cdiv, min, max and next_power_of_2 are");
  EXPECT_NE(Error(std::string(1000, '(')), "no error");
}

}  // namespace
}  // namespace tilevm::vm
