// Emitting code, regions, and what names mean.
#include "frontends/triton/lower.h"

#include <utility>

#include "frontends/triton/names.h"
#include "isa/verifier.h"

namespace tilevm::triton {

isa::Inst& Lowering::Emit(Op op, const Span& span, std::initializer_list<Reg> operands, uint32_t imm) {
  isa::Inst inst;
  inst.op = op;
  inst.operands.assign(operands.begin(), operands.end());
  inst.imm = imm;
  inst.loc = At(span);
  regions_.back()->body.push_back(std::move(inst));
  return regions_.back()->body.back();
}

isa::Reg Lowering::EmitValue(Op op, const Span& span, std::initializer_list<Reg> operands, uint32_t imm) {
  const Reg result = NewReg();
  Emit(op, span, operands, imm).results.push_back(result);
  return result;
}

void Lowering::End(Op terminator, const Span& span, std::initializer_list<Reg> operands) {
  Emit(terminator, span, operands);
  dead_ = true;
}

isa::Reg Lowering::Const(const isa::Constant& constant, const Span& span) {
  return EmitValue(Op::kConst, span, {}, program_.module().InternConstant(constant));
}

isa::Reg Lowering::ConstNone(const Span& span) { return Const(isa::Constant{}, span); }

isa::Reg Lowering::ConstBool(bool value, const Span& span) {
  isa::Constant constant;
  constant.kind = isa::Constant::Kind::kBool;
  constant.int_value = value ? 1 : 0;
  return Const(constant, span);
}

isa::Reg Lowering::ConstPath(const std::string& path, const Span& span) {
  isa::Constant constant;
  if (const std::optional<isa::DType> dtype = DTypeOfPath(path)) {
    constant.kind = isa::Constant::Kind::kDType;
    constant.dtype = *dtype;
  } else {
    constant.kind = isa::Constant::Kind::kBuiltin;
    constant.string_value = path;
  }
  return Const(constant, span);
}

isa::Reg Lowering::Stub(const Span& span, absl::string_view message) { return EmitValue(Op::kStub, span, {}, Str(message)); }

// ---- regions ----

isa::Region Lowering::InRegion(size_t arg_count, const Span& span, absl::FunctionRef<void(const std::vector<Reg>&)> fill) {
  isa::Region region;
  if (static_cast<int>(regions_.size()) >= isa::kMaxNesting) {
    // The function will become a stub: nothing below this place matters.
    if (!too_deep_.has_value()) too_deep_ = span;
    return region;
  }
  const size_t mark = log_.size();
  const bool outer_dead = std::exchange(dead_, false);
  for (size_t i = 0; i < arg_count; ++i) region.args.push_back(NewReg());
  const std::vector<Reg> args = region.args;
  regions_.push_back(&region);
  fill(args);
  regions_.pop_back();
  Undo(mark);
  dead_ = outer_dead;
  return region;
}

isa::Region Lowering::ValueRegion(const Span& span, absl::FunctionRef<Reg()> value) {
  NameSet assigned;
  isa::Region region = InRegion(0, span, [&](const std::vector<Reg>&) {
    const size_t mark = log_.size();
    const Reg result = value();
    for (size_t i = mark; i < log_.size(); ++i) assigned.Add(log_[i].name);
    End(Op::kYield, span, {result});
  });
  // What an assignment expression sets here is set only if this part runs.
  for (absl::string_view name : assigned.names()) ForgetLocal(name);
  return region;
}

void Lowering::YieldNames(const std::vector<absl::string_view>& names, const Span& span) {
  if (dead_) return;
  std::vector<Reg> values;
  for (absl::string_view name : names) values.push_back(NameOrUnbound(name, span));
  Emit(Op::kYield, span).operands.assign(values.begin(), values.end());
  dead_ = true;
}

// ---- names ----

std::optional<isa::Reg> Lowering::FindLocal(absl::string_view name) const {
  auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

void Lowering::SetLocal(absl::string_view name, Reg reg) {
  log_.push_back(Change{name, FindLocal(name)});
  names_[name] = reg;
}

void Lowering::ForgetLocal(absl::string_view name) { SetLocal(name, isa::kNoReg); }

void Lowering::Undo(size_t mark) {
  while (log_.size() > mark) {
    const Change& change = log_.back();
    if (change.before.has_value()) {
      names_[change.name] = *change.before;
    } else {
      names_.erase(change.name);
    }
    log_.pop_back();
  }
}

isa::Reg Lowering::Unbound(absl::string_view name, const Span& span) { return EmitValue(Op::kUnbound, span, {}, Str(name)); }

isa::Reg Lowering::NameOrUnbound(absl::string_view name, const Span& span) {
  const std::optional<Reg> reg = FindLocal(name);
  return reg.has_value() && *reg != isa::kNoReg ? *reg : Unbound(name, span);
}

// `tilevm.cell(name)`, the value as its attribute: an object, so that all who hold it see every assignment.
void Lowering::Share(absl::string_view name, const Span& span) {
  isa::Constant text;
  text.kind = isa::Constant::Kind::kString;
  text.string_value = std::string(name);
  const Reg callee = ConstPath("tilevm.cell", span);
  const Reg cell = EmitValue(Op::kCall, span, {callee, Const(text, span)});
  if (const std::optional<Reg> value = FindLocal(name); value.has_value() && *value != isa::kNoReg) {
    Emit(Op::kSetAttr, span, {cell, *value}, Str("value"));
    names_.erase(name);
  }
  cells_[name] = cell;
}

isa::Reg Lowering::ReadName(absl::string_view name, const Span& span) {
  if (IsShared(name)) return EmitValue(Op::kGetAttr, span, {cells_.at(name)}, Str("value"));
  if (FindLocal(name).has_value() || scope_.locals.Has(name)) return NameOrUnbound(name, span);
  if (const std::optional<std::string> path = program_.PathOfName(unit_, name)) return ConstPath(*path, span);
  return EmitValue(Op::kGlobal, span, {}, Str(name));
}

void Lowering::Define(absl::string_view global) { defines_.Add(global); }

// `name = value`. A plain assignment in a function is a bind; a loop target, a function and an import are not.
void Lowering::WriteName(absl::string_view name, Reg value, const Span& span, bool bind) {
  if (IsShared(name)) {
    Emit(Op::kSetAttr, span, {cells_.at(name), value}, Str("value"));
    return;
  }
  if (scope_.nonlocals.Has(name)) {
    Stub(span, absl::StrCat("assignment to the nonlocal name '", name, "' is not supported"));
    return;
  }
  if ((in_cell() && !FindLocal(name).has_value()) || scope_.globals.Has(name)) {
    Emit(Op::kSetGlobal, span, {value}, Str(name));
    if (in_cell()) Define(name);
    return;
  }
  if (captured_.contains(name)) {
    Stub(span, absl::StrCat("'", name, "' is read by a function defined above and assigned again here, which is not supported"));
  }
  SetLocal(name, bind ? EmitValue(Op::kBind, span, {value}, Str(name)) : value);
}

// ---- whole functions ----

uint32_t Lowering::Finish(const Span& span) {
  isa::Module& module = program_.module();
  function_.unit = unit_.index;
  function_.loc = At(span);
  if (too_deep_.has_value()) {
    function_.reg_count = static_cast<uint32_t>(function_.captures.size() + function_.params.size());
    function_.body.body.clear();
    regions_.assign(1, &function_.body);
    Stub(*too_deep_, absl::StrCat("statements and expressions nest more than ", isa::kMaxNesting, " deep"));
    dead_ = false;
  }
  if (!dead_) Emit(Op::kReturn, span);
  module.functions.push_back(std::move(function_));
  return static_cast<uint32_t>(module.functions.size() - 1);
}

void Lowering::LowerCell(Program& program, SourceUnit& unit, const Stmt* stmt) {
  Lowering lowering(program, unit, isa::FunctionKind::kCell);
  lowering.regions_.push_back(&lowering.function_.body);
  lowering.Statement(stmt);
  if (lowering.function_.body.body.empty()) return;
  isa::Cell cell;
  for (absl::string_view name : lowering.defines_.names()) cell.defines.push_back(program.module().InternString(name));
  cell.function = lowering.Finish(stmt->span);
  program.module().units[unit.index].cells.push_back(std::move(cell));
}

void Lowering::LowerStubCell(Program& program, SourceUnit& unit, const std::string& message, const std::vector<absl::string_view>& defines) {
  Lowering lowering(program, unit, isa::FunctionKind::kCell);
  lowering.regions_.push_back(&lowering.function_.body);
  const Loc loc = LocOf(unit.error);
  const Span span{loc.line, loc.col, loc.line, loc.col};
  const Reg stub = lowering.Stub(span, message);
  isa::Cell cell;
  for (absl::string_view name : defines) {
    lowering.Emit(Op::kSetGlobal, span, {stub}, lowering.Str(name));
    cell.defines.push_back(program.module().InternString(name));
  }
  cell.function = lowering.Finish(span);
  program.module().units[unit.index].cells.push_back(std::move(cell));
}

}  // namespace tilevm::triton
