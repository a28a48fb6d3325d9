#include "isa/ops.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "isa/signature.h"

namespace tilevm::isa {
namespace {

TEST(OpsTest, EveryRowIsFoundByCodeAndMnemonic) {
  std::set<std::string> mnemonics;
  for (const OpInfo& info : AllOps()) {
    EXPECT_EQ(OpFromCode(info.code), info.op);
    EXPECT_EQ(OpFromMnemonic(info.mnemonic), info.op);
    EXPECT_TRUE(mnemonics.insert(std::string(info.mnemonic)).second) << info.mnemonic;
    EXPECT_EQ(&Info(info.op), &info);
  }
  EXPECT_EQ(OpFromCode(0), std::nullopt);
  EXPECT_EQ(OpFromCode(0xffff), std::nullopt);
  EXPECT_EQ(OpFromMnemonic("no_such_op"), std::nullopt);
}

TEST(OpsTest, SurfaceNames) {
  EXPECT_EQ(OpFromSurface("exp2"), Op::kExp2);
  EXPECT_EQ(OpFromSurface(".to"), Op::kCast);
  EXPECT_EQ(OpFromSurface("libdevice.tanh"), Op::kTanh);
  EXPECT_EQ(OpFromSurface("math.fma"), Op::kFma);
  EXPECT_EQ(OpFromSurface(""), std::nullopt);
}

TEST(OpsTest, LoadSignature) {
  const OpInfo& load = Info(Op::kLoad);
  ASSERT_EQ(load.operands.size(), 8u);
  EXPECT_EQ(load.operands[0].name, "p");
  EXPECT_TRUE(load.operands[0].pointer);
  EXPECT_EQ(load.operands[0].letter, 'T');
  EXPECT_EQ(load.operands[0].shape, "S");
  EXPECT_TRUE(load.operands[1].optional);
  EXPECT_EQ(load.operands[3].kind, OperandKind::kStatic);
  EXPECT_EQ(load.min_registers, 1);
  EXPECT_FALSE(load.variadic);
  EXPECT_EQ(RegisterIndex(load, "other"), 2);
  EXPECT_EQ(RegisterIndex(load, "nothing"), -1);
}

TEST(OpsTest, LeadingExtents) {
  const OpInfo& dot = Info(Op::kDot);
  EXPECT_EQ(dot.operands[0].shape, "...B,M,K");
  EXPECT_EQ(dot.results[0].shape, "...B,M,N");
}

TEST(OpsTest, ImmediatesAndRegionsAreNotRegisters) {
  const OpInfo& method = Info(Op::kCallMethod);
  EXPECT_EQ(method.register_operands, (std::vector<int>{0, 2}));
  EXPECT_TRUE(method.has_immediate);
  EXPECT_TRUE(method.variadic);
  EXPECT_EQ(ImmediateOf(Op::kCallMethod), ImmediateKind::kString);
  EXPECT_EQ(ImmediateOf(Op::kConst), ImmediateKind::kConstant);
  EXPECT_EQ(ImmediateOf(Op::kMakeFunction), ImmediateKind::kFunction);
  EXPECT_EQ(ImmediateOf(Op::kUnpack), ImmediateKind::kCount);
  EXPECT_EQ(ImmediateOf(Op::kAdd), ImmediateKind::kNone);
  EXPECT_EQ(Info(Op::kWhile).region_count, 2);
}

// A variadic operand is the last register whatever its place in the row.
TEST(OpsTest, VariadicOperandsComeLast) {
  const OpInfo& print = Info(Op::kDevicePrint);
  EXPECT_EQ(RegisterIndex(print, "prefix"), 0);
  EXPECT_EQ(RegisterIndex(print, "hex"), 1);
  EXPECT_EQ(RegisterIndex(print, "args"), 2);
  EXPECT_EQ(print.min_registers, 1);
  const OpInfo& reduce = Info(Op::kReduce);
  EXPECT_EQ(RegisterIndex(reduce, "axis"), 0);
  EXPECT_EQ(RegisterIndex(reduce, "x"), 3);
}

TEST(OpsTest, Terminators) {
  EXPECT_TRUE(IsTerminator(Op::kYield));
  EXPECT_TRUE(IsTerminator(Op::kReturn));
  EXPECT_FALSE(IsTerminator(Op::kCall));
}

TEST(SignatureTest, SlipsAreNamed) {
  EXPECT_STREQ(ParseSignature("x: T").fault, "must start with '('");
  EXPECT_STREQ(ParseSignature("(x: T, x: T)").fault, "two operands of one name");
  EXPECT_STREQ(ParseSignature("(x: t)").fault, "an element type is one capital letter");
  EXPECT_STREQ(ParseSignature("(x: T[S)").fault, "']' is missing");
  EXPECT_STREQ(ParseSignature("(x: T?, y: T)").fault, "a required operand after an optional one");
  EXPECT_STREQ(ParseSignature("(x: @, y: @)").fault, "more than one immediate");
  EXPECT_STREQ(ParseSignature("() -> V*, V").fault, "a variadic result must be the last");
  EXPECT_STREQ(ParseSignature("() V").fault, "text after the results");
  EXPECT_STREQ(ParseSignature("(x T)").fault, "':' expected after an operand's name");
  EXPECT_EQ(ParseSignature("()").fault, nullptr);
}

}  // namespace
}  // namespace tilevm::isa
