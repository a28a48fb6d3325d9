// The builder; see builder.h.
#include "frontends/builder/builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "isa/match_operands.h"
#include "isa/verifier.h"

namespace tilevm::builder {

using isa::Constant;
using isa::Inst;
using isa::Op;
using isa::OperandKind;
using isa::OpInfo;
using isa::Region;

Operand::Operand(double value, const char* file, int line) : file_(file), line_(line) {
  literal_.kind = Constant::Kind::kFloat;
  literal_.float_value = value;
}

Operand::Operand(const char* text, const char* file, int line) : file_(file), line_(line) {
  literal_.kind = Constant::Kind::kString;
  literal_.string_value = text;
}

Operand::Operand(isa::DType dtype, const char* file, int line) : file_(file), line_(line) {
  literal_.kind = Constant::Kind::kDType;
  literal_.dtype = dtype;
}

Operand::Operand(None, const char* file, int line) : file_(file), line_(line) {}

Operand Named(absl::string_view name, Operand operand) {
  operand.name_ = std::string(name);
  return operand;
}

KernelBuilder::KernelBuilder(absl::string_view name) {
  isa::Unit unit;
  unit.name = "__main__";
  module_.units.push_back(std::move(unit));
  kernel_.name = std::string(name);
  kernel_.kind = isa::FunctionKind::kKernel;
  open_.push_back(&kernel_.body);
}

Value KernelBuilder::Param(absl::string_view name, absl::string_view type) {
  if (!kernel_.body.body.empty()) Fail("a parameter after the first instruction", Loc());
  isa::Param param;
  param.name = std::string(name);
  param.annotation = std::string(type);
  kernel_.params.push_back(std::move(param));
  Value value = NewValue();
  kernel_.body.args.push_back(value.reg);
  return value;
}

Value KernelBuilder::Constexpr(absl::string_view name) {
  Value value = Param(name);
  kernel_.params.back().is_constexpr = true;
  return value;
}

void KernelBuilder::Fail(absl::string_view message, Loc loc) {
  if (status_.ok()) status_ = InvalidAt(loc, message);
}

Loc KernelBuilder::PlaceOf(const Operand& operand) {
  Loc loc;
  for (size_t i = 0; i < module_.files.size(); ++i) {
    if (module_.files[i].name == operand.file_) loc.file = static_cast<int32_t>(i);
  }
  if (loc.file < 0) {
    loc.file = static_cast<int32_t>(module_.files.size());
    module_.files.push_back(SourceFile{operand.file_, ""});
  }
  loc.line = operand.line_;
  loc.col = 1;
  return loc;
}

isa::Reg KernelBuilder::RegisterOf(const Operand& operand) {
  if (!operand.is_literal_) return operand.value_.reg;
  Inst constant;
  constant.op = Op::kConst;
  constant.imm = module_.InternConstant(operand.literal_);
  constant.loc = PlaceOf(operand);
  Value value = NewValue();
  constant.results.push_back(value.reg);
  Current().body.push_back(std::move(constant));
  return value.reg;
}

void KernelBuilder::SetImmediate(const OpInfo& info, const Operand& operand, Inst& inst) {
  const Constant& literal = operand.literal_;
  bool is_text = operand.is_literal_ && literal.kind == Constant::Kind::kString;
  bool is_count = operand.is_literal_ && literal.kind == Constant::Kind::kInt && literal.int_value >= 0 && literal.int_value < 0x7fffffff;
  switch (isa::ImmediateOf(info.op)) {
    case isa::ImmediateKind::kConstant:
      if (operand.is_literal_) {
        inst.imm = module_.InternConstant(literal);
        return;
      }
      break;
    case isa::ImmediateKind::kString:
      if (is_text) {
        inst.imm = module_.InternString(literal.string_value);
        return;
      }
      break;
    case isa::ImmediateKind::kFunction:
    case isa::ImmediateKind::kCount:
      if (is_count) {
        inst.imm = static_cast<uint32_t>(absl::Int128Low64(literal.int_value));
        return;
      }
      break;
    case isa::ImmediateKind::kNone: break;
  }
  Fail(absl::StrCat(info.mnemonic, ": a literal is needed for its immediate; signature ", info.signature), PlaceOf(operand));
}

Value KernelBuilder::EmitGiven(Op op, std::initializer_list<const Operand*> operands) {
  std::vector<Operand> given;
  for (const Operand* operand : operands) {
    if (!operand->is_given_) break;
    given.push_back(*operand);
  }
  return First(Emit(op, std::move(given)));
}

std::vector<Value> KernelBuilder::Emit(Op op, std::vector<Operand> operands, size_t result_count) {
  const OpInfo& info = isa::Info(op);
  Inst inst;
  inst.op = op;
  if (!operands.empty()) inst.loc = PlaceOf(operands[0]);
  std::vector<absl::string_view> names;
  for (const Operand& operand : operands) names.push_back(operand.name_);
  isa::OperandMatch match = isa::MatchOperands(info, names, false);
  if (!match.fault.empty()) Fail(match.fault, inst.loc);
  if (isa::OpenRegionCount(op) > 0) Fail(absl::StrCat(info.mnemonic, " has regions; use ForEach, WhileLoop or IfElse"), inst.loc);
  if (!status_.ok()) return {Value()};
  size_t fixed = info.register_operands.size() - (info.variadic ? 1 : 0);
  std::vector<isa::Reg> rest;
  inst.operands.assign(fixed, isa::kNoReg);
  for (size_t i = 0; i < operands.size(); ++i) {
    int row = match.operands[i];
    if (row >= 0 && info.operands[row].kind == OperandKind::kImmediate) {
      SetImmediate(info, operands[i], inst);
      continue;
    }
    isa::Reg reg = RegisterOf(operands[i]);
    if (row < 0) inst.names.push_back(module_.InternString(operands[i].name_));
    if (row < 0 || info.operands[row].variadic) {
      rest.push_back(reg);
    } else {
      inst.operands[std::find(info.register_operands.begin(), info.register_operands.end(), row) - info.register_operands.begin()] = reg;
    }
  }
  inst.operands.insert(inst.operands.end(), rest.begin(), rest.end());
  while (!inst.operands.empty() && inst.operands.back() == isa::kNoReg) inst.operands.pop_back();
  bool variadic = !info.results.empty() && info.results.back().variadic;
  Values values(variadic ? result_count : info.results.size());
  for (Value& value : values) {
    value = NewValue();
    inst.results.push_back(value.reg);
  }
  Current().body.push_back(std::move(inst));
  return values;
}

Value KernelBuilder::Assign(absl::string_view name, Operand value) {
  std::string text(name);
  Operand name_operand(text.c_str(), value.file_, value.line_);
  return First(Emit(Op::kBind, {std::move(value), std::move(name_operand)}));
}

Value KernelBuilder::Range(Operand start, Operand end, Operand step) {
  Operand name("range", start.file_, start.line_);
  Value range = First(Emit(Op::kGlobal, {name}));
  Operand callee(range, start.file_, start.line_);
  return First(Emit(Op::kCall, {callee, std::move(start), std::move(end), std::move(step)}));
}

void KernelBuilder::BuildRegion(Region& region, size_t arg_count, const std::function<Values(const Values&)>& body) {
  Values args(arg_count);
  for (Value& arg : args) {
    arg = NewValue();
    region.args.push_back(arg.reg);
  }
  open_.push_back(&region);
  Values results = body(args);
  bool ended = !region.body.empty() && isa::IsTerminator(region.body.back().op);
  if (!ended) {
    Inst yield;
    yield.op = Op::kYield;
    if (!region.body.empty()) yield.loc = region.body.back().loc;
    for (Value value : results) yield.operands.push_back(value.reg);
    region.body.push_back(std::move(yield));
  }
  open_.pop_back();
}

KernelBuilder::Values KernelBuilder::ForEach(Value iterable, std::vector<Operand> inits,
                                             const std::function<Values(Value, const Values&)>& body) {
  Inst inst;
  inst.op = Op::kFor;
  inst.operands.push_back(iterable.reg);
  if (!inits.empty()) inst.loc = PlaceOf(inits[0]);
  for (const Operand& init : inits) inst.operands.push_back(RegisterOf(init));
  inst.regions.resize(1);
  BuildRegion(inst.regions[0], 1 + inits.size(),
              [&body](const Values& args) { return body(args[0], Values(args.begin() + 1, args.end())); });
  Values results(inits.size());
  for (Value& result : results) {
    result = NewValue();
    inst.results.push_back(result.reg);
  }
  Current().body.push_back(std::move(inst));
  return results;
}

KernelBuilder::Values KernelBuilder::WhileLoop(std::vector<Operand> inits, const std::function<Values(const Values&)>& cond,
                                               const std::function<Values(const Values&)>& body) {
  Inst inst;
  inst.op = Op::kWhile;
  if (!inits.empty()) inst.loc = PlaceOf(inits[0]);
  for (const Operand& init : inits) inst.operands.push_back(RegisterOf(init));
  inst.regions.resize(2);
  BuildRegion(inst.regions[0], inits.size(), cond);
  BuildRegion(inst.regions[1], inits.size(), body);
  Values results(inits.size());
  for (Value& result : results) {
    result = NewValue();
    inst.results.push_back(result.reg);
  }
  Current().body.push_back(std::move(inst));
  return results;
}

KernelBuilder::Values KernelBuilder::IfElse(Operand cond, const std::function<Values()>& then, const std::function<Values()>& otherwise) {
  Inst inst;
  inst.op = Op::kIf;
  inst.loc = PlaceOf(cond);
  inst.operands.push_back(RegisterOf(cond));
  inst.regions.resize(2);
  BuildRegion(inst.regions[0], 0, [&then](const Values&) { return then(); });
  BuildRegion(inst.regions[1], 0, [&otherwise](const Values&) { return otherwise(); });
  // As many results as the arms yield; an arm that leaves (return, break) yields none.
  size_t count = 0;
  for (const Region& region : inst.regions) {
    if (region.body.back().op == Op::kYield) count = std::max(count, region.body.back().operands.size());
  }
  Values results(count);
  for (Value& result : results) {
    result = NewValue();
    inst.results.push_back(result.reg);
  }
  Current().body.push_back(std::move(inst));
  return results;
}

absl::StatusOr<isa::Module> KernelBuilder::Build() {
  TILEVM_RETURN_IF_ERROR(status_);
  if (kernel_.body.body.empty() || !isa::IsTerminator(kernel_.body.body.back().op)) {
    Inst end;
    end.op = Op::kReturn;
    if (!kernel_.body.body.empty()) end.loc = kernel_.body.body.back().loc;
    kernel_.body.body.push_back(std::move(end));
  }
  if (module_.files.empty()) module_.files.push_back(SourceFile{"<builder>", ""});
  module_.functions.push_back(std::move(kernel_));
  TILEVM_RETURN_IF_ERROR(isa::VerifyModule(module_));
  return std::move(module_);
}

}  // namespace tilevm::builder
