// What is built in C++ is the program that its assembly text is.
#include "frontends/builder/builder.h"

#include "frontends/asm/assemble.h"
#include "gtest/gtest.h"
#include "isa/print.h"

namespace tilevm::builder {
namespace {

void ExpectText(absl::StatusOr<isa::Module> module, absl::string_view text) {
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(isa::Print(*module), text);
  absl::StatusOr<isa::Module> assembled = assembly::Assemble(text, "test.tasm");
  ASSERT_TRUE(assembled.ok()) << assembled.status();
  EXPECT_TRUE(isa::SameProgram(*module, *assembled));
}

TEST(BuilderTest, VectorAdd) {
  KernelBuilder k("vector_add");
  Value x = k.Param("x", "ptr<f32>"), y = k.Param("y", "ptr<f32>"), out = k.Param("out", "ptr<f32>"), n = k.Param("n", "i32");
  Value block = k.Constexpr("BLOCK");
  Value pid = k.Assign("pid", k.ProgramId(0));
  Value start = k.Mul(pid, block);
  Value offs = k.Assign("offs", k.Add(start, k.Arange(0, block)));
  Value mask = k.Assign("mask", k.Lt(offs, n));
  Value x_tile = k.Load(k.Add(x, offs), mask);
  Value y_tile = k.Load(k.Add(y, offs), mask, Named("cache_modifier", ".cg"));
  Value sum = k.Add(x_tile, y_tile);
  k.Store(k.Add(out, offs), sum, mask);
  ExpectText(k.Build(),
             "kernel vector_add (x: ptr<f32>, y: ptr<f32>, out: ptr<f32>, n: i32, BLOCK: constexpr)\n"
             "    %pid := program_id 0\n"
             "    %0 = mul %pid, %BLOCK\n"
             "    %1 = arange 0, %BLOCK\n"
             "    %offs := add %0, %1\n"
             "    %mask := lt %offs, %n\n"
             "    %2 = add %x, %offs\n"
             "    %3 = load %2, mask=%mask\n"
             "    %4 = add %y, %offs\n"
             "    %5 = load %4, mask=%mask, cache_modifier=\".cg\"\n"
             "    %6 = add %3, %5\n"
             "    %7 = add %out, %offs\n"
             "    store %7, %6, mask=%mask\n");
}

TEST(BuilderTest, Regions) {
  using Values = KernelBuilder::Values;
  KernelBuilder k("loops");
  Value p = k.Param("p"), n = k.Param("n");
  Value range = k.Range(0, n);
  Values sums = k.ForEach(range, {0.0}, [&](Value, const Values& carried) -> Values {
    return k.IfElse(k.Lt(carried[0], 5), [&]() -> Values { return {k.Add(carried[0], k.Load(p))}; }, [&]() -> Values { return {carried[0]}; });
  });
  Values counted = k.WhileLoop({sums[0]}, [&](const Values& carried) -> Values { return {k.Gt(carried[0], 1), carried[0]}; },
                               [&](const Values& carried) -> Values { return {k.Mul(carried[0], 0.5)}; });
  k.Store(p, counted[0]);
  ExpectText(k.Build(),
             "kernel loops (p, n)\n"
             "    %0 = global range\n"
             "    %1 = call %0, 0, %n, 1\n"
             "    %2 = for %3 in %1 carry(%4 = 0.0)\n"
             "        %5 = lt %4, 5\n"
             "        %6 = if %5\n"
             "            %7 = load %p\n"
             "            %8 = add %4, %7\n"
             "            yield %8\n"
             "        else\n"
             "            yield %4\n"
             "        yield %6\n"
             "    %9 = while carry(%10 = %2)\n"
             "        %11 = gt %10, 1\n"
             "        yield %11, %10\n"
             "    body %12\n"
             "        %13 = mul %12, 0.5\n"
             "        yield %13\n"
             "    store %p, %9\n");
}

TEST(BuilderTest, LiteralsImmediatesAndKeywords) {
  KernelBuilder k("odd");
  Value x = k.Param("x");
  Value shape = k.GetAttr(x, "shape");
  std::vector<Value> two = k.Emit(isa::Op::kUnpack, {shape}, 2);
  Value cast = k.Cast(two[0], isa::DType::kF16);
  k.Call(cast, two[1], Named("flag", true), Named("other", None()));
  ExpectText(k.Build(),
             "kernel odd (x)\n"
             "    %0 = getattr %x, shape\n"
             "    %1, %2 = unpack %0\n"
             "    %3 = cast %1, f16\n"
             "    call %3, %2, flag=True, other=None\n");
}

TEST(BuilderTest, InstructionsHaveTheirLine) {
  KernelBuilder k("places");
  Value x = k.Param("x");
  int line = __LINE__ + 1;
  k.Store(x, 1);
  absl::StatusOr<isa::Module> module = k.Build();
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->functions[0].body.body[1].loc.line, line);
  EXPECT_EQ(module->files[module->functions[0].body.body[1].loc.file].name, __FILE__);
}

TEST(BuilderTest, TheFirstMistakeIsReturned) {
  KernelBuilder k("bad");
  Value x = k.Param("x");
  k.Load(x, Named("msk", x));
  k.Add(x);
  EXPECT_EQ(k.Build().status().message().substr(0, 40), "load: no operand is named msk; signature");
  KernelBuilder late("late");
  Value p = late.Param("p");
  late.Store(p, 1);
  late.Param("q");
  EXPECT_EQ(late.Build().status().message(), "a parameter after the first instruction");
  KernelBuilder undefined("undefined");
  undefined.Store(Value(), 1);
  EXPECT_FALSE(undefined.Build().ok());
}

}  // namespace
}  // namespace tilevm::builder
