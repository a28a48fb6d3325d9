#include "isa/module.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tilevm::isa {
namespace {

Constant FloatConstant(double value) {
  Constant constant;
  constant.kind = Constant::Kind::kFloat;
  constant.float_value = value;
  return constant;
}

TEST(ModuleTest, InternsStringsOnce) {
  Module module;
  module.strings = {"a"};  // appended directly, before the side table exists
  EXPECT_EQ(module.InternString("b"), 1u);
  EXPECT_EQ(module.InternString("a"), 0u);
  Module copy = module;
  EXPECT_EQ(copy.InternString("c"), 2u);
  EXPECT_EQ(module.strings.size(), 2u);
  EXPECT_EQ(module.InternString("d"), 2u);
}

TEST(ModuleTest, FloatConstantsDifferByBits) {
  Module module;
  ConstantId zero = module.InternConstant(FloatConstant(0.0));
  EXPECT_NE(zero, module.InternConstant(FloatConstant(-0.0)));
  ConstantId nan = module.InternConstant(FloatConstant(std::nan("")));
  EXPECT_EQ(nan, module.InternConstant(FloatConstant(std::nan(""))));
  Constant one;
  one.kind = Constant::Kind::kInt;
  one.int_value = 1;
  Constant yes = one;
  yes.kind = Constant::Kind::kBool;
  EXPECT_NE(module.InternConstant(one), module.InternConstant(yes));
}

Module OneFunction(bool other_order) {
  Module module;
  if (other_order) module.InternString("unused");
  Unit unit;
  unit.name = "__main__";
  module.units.push_back(unit);
  Function function;
  function.name = "f";
  Inst global;
  global.op = Op::kGlobal;
  global.imm = module.InternString("n");
  global.results = {0};
  Inst ret;
  ret.op = Op::kReturn;
  ret.operands = {0};
  ret.loc = {0, other_order ? 7 : 3, 1};
  function.body.body = {global, ret};
  function.reg_count = 1;
  module.functions.push_back(function);
  return module;
}

TEST(ModuleTest, SameProgramIgnoresPlacesAndPoolOrder) {
  Module a = OneFunction(false), b = OneFunction(true);
  EXPECT_TRUE(SameProgram(a, b));
  b.functions[0].body.body[0].imm = b.InternString("m");
  EXPECT_FALSE(SameProgram(a, b));
}

TEST(ModuleTest, FindFunctionTakesTheLast) {
  Module module = OneFunction(false);
  module.functions.push_back(module.functions[0]);
  EXPECT_EQ(module.FindFunction("f"), 1);
  EXPECT_EQ(module.FindFunction("g"), -1);
}

}  // namespace
}  // namespace tilevm::isa
