// Builds open modules from C++, on the op table: each row is a method that takes its operands in row order.
//
//     builder::KernelBuilder k("add");
//     auto x = k.Param("x", "ptr<f32>"), y = k.Param("y", "ptr<f32>"), n = k.Param("n", "i32");
//     auto block = k.Constexpr("BLOCK");
//     auto start = k.Mul(k.ProgramId(0), block);
//     auto offs = k.Add(start, k.Arange(0, block));
//     auto mask = k.Lt(offs, n);
//     auto tile = k.Load(k.Add(x, offs), mask, Named("other", 0.0));
//     k.Store(k.Add(y, offs), tile, mask);
//     absl::StatusOr<isa::Module> module = k.Build();
//
// An operand is a Value or a literal: an int, a double, a bool, text, a DType, None(). Text in the place of an immediate ('@') is that name. The
// rules of places and names are those of the assembler (isa/match_operands.h). Registers are numbered as the module wants it, because a region
// is built by a function that runs while its instruction is open. Every instruction has the place of the C++ line that made its first operand.
// (C++ evaluates the arguments of a call in any order: of two that emit instructions, name one.) The first mistake is kept and returned by Build; everything after it is ignored. A builder is used once, by one thread.
#ifndef TILEVM_FRONTENDS_BUILDER_BUILDER_H_
#define TILEVM_FRONTENDS_BUILDER_BUILDER_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "isa/module.h"

namespace tilevm::builder {

struct Value {
  isa::Reg reg = isa::kNoReg;
};

struct None {};

// A value, a literal, or either of them with the name of its operand. The two last arguments are filled in by the compiler.
class Operand {
 public:
  Operand() : is_given_(false), file_(""), line_(0) {}
  Operand(Value value, const char* file = __builtin_FILE(), int line = __builtin_LINE())  // NOLINT: implicit
      : value_(value), is_literal_(false), file_(file), line_(line) {}
  template <typename Int, typename = std::enable_if_t<std::is_integral_v<Int>>>
  Operand(Int value, const char* file = __builtin_FILE(), int line = __builtin_LINE())  // NOLINT: implicit
      : file_(file), line_(line) {
    literal_.kind = std::is_same_v<Int, bool> ? isa::Constant::Kind::kBool : isa::Constant::Kind::kInt;
    literal_.int_value = value;
  }
  Operand(double value, const char* file = __builtin_FILE(), int line = __builtin_LINE());            // NOLINT: implicit
  Operand(const char* text, const char* file = __builtin_FILE(), int line = __builtin_LINE());        // NOLINT: implicit
  Operand(isa::DType dtype, const char* file = __builtin_FILE(), int line = __builtin_LINE());        // NOLINT: implicit
  Operand(None none, const char* file = __builtin_FILE(), int line = __builtin_LINE());               // NOLINT: implicit

 private:
  friend class KernelBuilder;
  friend Operand Named(absl::string_view name, Operand operand);

  std::string name_;
  Value value_;
  isa::Constant literal_;
  bool is_literal_ = true;
  bool is_given_ = true;
  const char* file_;
  int line_;
};

Operand Named(absl::string_view name, Operand operand);

class KernelBuilder {
 public:
  explicit KernelBuilder(absl::string_view name);

  // Before the first instruction. The type is "f32", "ptr<f32>", ...
  Value Param(absl::string_view name, absl::string_view type = "");
  Value Constexpr(absl::string_view name);

  // One method for each op: Add(x, y), Load(p, mask, Named("other", 0.0)). For ops with regions or several results see below.
#define TILEVM_OPERAND_(name) Operand name = Operand()
#define OP(Enum, ...)                                                                                                        \
  Value Enum(TILEVM_OPERAND_(a), TILEVM_OPERAND_(b), TILEVM_OPERAND_(c), TILEVM_OPERAND_(d), TILEVM_OPERAND_(e),             \
             TILEVM_OPERAND_(f), TILEVM_OPERAND_(g), TILEVM_OPERAND_(h), TILEVM_OPERAND_(i), TILEVM_OPERAND_(j)) {           \
    return EmitGiven(isa::Op::k##Enum, {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j});                                            \
  }
#include "isa/ops.def"
#undef OP
#undef TILEVM_OPERAND_

  // Any op without regions; result_count matters for rows with a variadic result alone.
  std::vector<Value> Emit(isa::Op op, std::vector<Operand> operands, size_t result_count = 1);
  // Assignment as in the source language: a static number becomes a strong scalar.
  Value Assign(absl::string_view name, Operand value);

  using Values = std::vector<Value>;
  // range(start, end, step), for ForEach.
  Value Range(Operand start, Operand end, Operand step = 1);
  // body(item, carried) gives the next carried values; the results are the last ones.
  Values ForEach(Value iterable, std::vector<Operand> inits, const std::function<Values(Value, const Values&)>& body);
  // cond(carried) gives the test, then what body gets.
  Values WhileLoop(std::vector<Operand> inits, const std::function<Values(const Values&)>& cond,
                   const std::function<Values(const Values&)>& body);
  // Both give the same number of values.
  Values IfElse(Operand cond, const std::function<Values()>& then, const std::function<Values()>& otherwise);

  // Ends the kernel with a return. The module is verified.
  absl::StatusOr<isa::Module> Build();

 private:
  static Value First(const Values& values) { return values.empty() ? Value() : values[0]; }
  isa::Region& Current() { return *open_.back(); }
  Value NewValue() { return Value{kernel_.reg_count++}; }
  isa::Reg RegisterOf(const Operand& operand);
  Loc PlaceOf(const Operand& operand);
  Value EmitGiven(isa::Op op, std::initializer_list<const Operand*> operands);  // up to the first one that is not given
  void SetImmediate(const isa::OpInfo& info, const Operand& operand, isa::Inst& inst);
  void BuildRegion(isa::Region& region, size_t arg_count, const std::function<Values(const Values&)>& body);
  void Fail(absl::string_view message, Loc loc);

  isa::Module module_;
  isa::Function kernel_;
  std::vector<isa::Region*> open_;  // innermost last; each lives in the instruction that is being built
  absl::Status status_;
};

}  // namespace tilevm::builder

#endif  // TILEVM_FRONTENDS_BUILDER_BUILDER_H_
