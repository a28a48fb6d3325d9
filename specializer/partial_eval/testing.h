// Open bytecode written in C++, for the tests of the evaluator.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_TESTING_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_TESTING_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "specializer/partial_eval/evaluator.h"

namespace tilevm::specializer {

using isa::Op;
using isa::Reg;

// Builds one function after the other; each op goes to the innermost open region. Lines are the order of the ops.
class Program {
 public:
  Program() {
    module.files.push_back({"test.py", ""});
    module.units.push_back({"__main__", 0, {}, {}});
  }

  // Starts a function; its parameters are registers 0, 1, ...
  uint32_t Function(const std::string& name, std::vector<std::string> params, isa::FunctionKind kind = isa::FunctionKind::kPlain) {
    isa::Function function;
    function.name = name;
    function.kind = kind;
    function.loc = Here();
    for (const std::string& param : params) {
      isa::Param p;
      p.name = param;
      p.loc = function.loc;
      function.params.push_back(p);
      function.body.args.push_back(function.reg_count++);
    }
    module.functions.push_back(function);
    bodies_ = {{}};
    return static_cast<uint32_t>(module.functions.size() - 1);
  }
  uint32_t Kernel(const std::string& name, std::vector<std::string> params) { return Function(name, std::move(params), isa::FunctionKind::kKernel); }
  // Ends the function.
  void End() {
    module.functions.back().body.body = std::move(bodies_.back());
    bodies_.clear();
  }
  // A cell that defines names; the body is written until End().
  void Cell(std::vector<std::string> defines) {
    const uint32_t index = Function("", {}, isa::FunctionKind::kCell);
    isa::Cell cell;
    cell.function = index;
    for (const std::string& name : defines) cell.defines.push_back(module.InternString(name));
    module.units[0].cells.push_back(cell);
  }

  Reg NewReg() { return module.functions.back().reg_count++; }
  Reg Emit(Op op, std::vector<Reg> operands = {}, uint32_t imm = 0) {
    isa::Inst inst = Make(op, std::move(operands), imm);
    inst.results.push_back(NewReg());
    const Reg result = inst.results[0];
    bodies_.back().push_back(std::move(inst));
    return result;
  }
  void Do(Op op, std::vector<Reg> operands = {}, uint32_t imm = 0) { bodies_.back().push_back(Make(op, std::move(operands), imm)); }

  Reg Int(int64_t value) {
    isa::Constant constant;
    constant.kind = isa::Constant::Kind::kInt;
    constant.int_value = value;
    return Emit(Op::kConst, {}, module.InternConstant(constant));
  }
  Reg Float(double value) {
    isa::Constant constant;
    constant.kind = isa::Constant::Kind::kFloat;
    constant.float_value = value;
    return Emit(Op::kConst, {}, module.InternConstant(constant));
  }
  Reg Text(const std::string& text, bool builtin = false) {
    isa::Constant constant;
    constant.kind = builtin ? isa::Constant::Kind::kBuiltin : isa::Constant::Kind::kString;
    constant.string_value = text;
    return Emit(Op::kConst, {}, module.InternConstant(constant));
  }
  Reg Path(const std::string& path) { return Text(path, true); }
  Reg None() { return Emit(Op::kConst, {}, module.InternConstant({})); }
  Reg Global(const std::string& name) { return Emit(Op::kGlobal, {}, module.InternString(name)); }
  void SetGlobal(const std::string& name, Reg value) { Do(Op::kSetGlobal, {value}, module.InternString(name)); }
  Reg Bind(const std::string& name, Reg value) { return Emit(Op::kBind, {value}, module.InternString(name)); }
  Reg BindConst(const std::string& name, Reg value) { return Emit(Op::kBindConst, {value}, module.InternString(name)); }
  Reg Unbound(const std::string& name) { return Emit(Op::kUnbound, {}, module.InternString(name)); }
  Reg Attr(Reg object, const std::string& name) { return Emit(Op::kGetAttr, {object}, module.InternString(name)); }
  Reg Call(Reg callee, std::vector<Reg> args, std::vector<std::string> keywords = {}) {
    args.insert(args.begin(), callee);
    const Reg result = Emit(Op::kCall, std::move(args));
    for (const std::string& keyword : keywords) bodies_.back().back().names.push_back(module.InternString(keyword));
    return result;
  }
  Reg Method(Reg object, const std::string& name, std::vector<Reg> args = {}) {
    args.insert(args.begin(), object);
    return Emit(Op::kCallMethod, std::move(args), module.InternString(name));
  }
  void Yield(std::vector<Reg> values) { Do(Op::kYield, std::move(values)); }
  void Return(std::vector<Reg> values = {}) { Do(Op::kReturn, std::move(values)); }

  // An op with regions; each writer gets the region's arguments and ends it itself.
  using Writer = std::function<void(const std::vector<Reg>&)>;
  std::vector<Reg> Regions(Op op, std::vector<Reg> operands, size_t results, std::vector<std::pair<size_t, Writer>> writers) {
    isa::Inst inst = Make(op, std::move(operands), 0);
    for (auto& [args, writer] : writers) {
      isa::Region region;
      for (size_t i = 0; i < args; ++i) region.args.push_back(NewReg());
      bodies_.emplace_back();
      writer(region.args);
      region.body = std::move(bodies_.back());
      bodies_.pop_back();
      inst.regions.push_back(std::move(region));
    }
    for (size_t i = 0; i < results; ++i) inst.results.push_back(NewReg());
    std::vector<Reg> out(inst.results.begin(), inst.results.end());
    bodies_.back().push_back(std::move(inst));
    return out;
  }

  isa::Module module;

 private:
  Loc Here() { return Loc{0, ++line_, 1}; }
  isa::Inst Make(Op op, std::vector<Reg> operands, uint32_t imm) {
    isa::Inst inst;
    inst.op = op;
    inst.operands.assign(operands.begin(), operands.end());
    inst.imm = imm;
    inst.loc = Here();
    return inst;
  }

  std::vector<std::vector<isa::Inst>> bodies_;
  int32_t line_ = 0;
};

// Argument specs by short texts: "f32", "ptr<f32>", "ptr<f32>:16" (divisible by 16).
inline ArgSpec Typed(const std::string& text) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::kTyped;
  std::string name = text;
  if (name.size() > 3 && name.substr(name.size() - 3) == ":16") {
    spec.divisible_by_16 = true;
    name.resize(name.size() - 3);
  }
  const bool pointer = name.substr(0, 4) == "ptr<";
  if (pointer) name = name.substr(4, name.size() - 5);
  spec.type.elem = {*isa::DTypeFromName(name), pointer};
  return spec;
}
inline ArgSpec Static(Value value) {
  ArgSpec spec;
  spec.value = std::move(value);
  return spec;
}

// What Specialize gives, as text: the printed kernel, or "error: message" with its notes' places.
inline std::string SpecializeText(Evaluator& evaluator, const Value& kernel, std::vector<ArgSpec> args) {
  SpecializationKey key;
  key.args = std::move(args);
  absl::StatusOr<ir::Kernel> typed = evaluator.Specialize(kernel, key);
  if (!typed.ok()) return "error: " + std::string(typed.status().message());
  return ir::Print(*typed);
}
inline std::string SpecializeText(const Program& program, const std::string& name, std::vector<ArgSpec> args) {
  Evaluator evaluator(&program.module, nullptr);
  absl::StatusOr<Value> kernel = evaluator.Global(name);
  if (!kernel.ok()) return "error: " + std::string(kernel.status().message());
  return SpecializeText(evaluator, *kernel, std::move(args));
}

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_TESTING_H_
