// The walk: regions, registers and the dispatch of one instruction to its family.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

bool IsBranching(Op op) {
  switch (op) {
    case Op::kIf: case Op::kTernary: case Op::kFor: case Op::kWhile: case Op::kTry: case Op::kWith: return true;
    default: return false;
  }
}

void Scan(const isa::Module& module, const isa::Region& region, bool nested, FunctionInfo& info) {
  for (const isa::Inst& inst : region.body) {
    if (inst.op == Op::kReturn && nested) info.has_nested_return = true;
    if (inst.op == Op::kConst && module.constants[inst.imm].kind == isa::Constant::Kind::kBuiltin &&
        module.constants[inst.imm].string_value == "tilevm.generator") {
      info.is_generator = true;
    }
    for (isa::Reg reg : inst.results) {
      if (reg < info.definition.size()) info.definition[reg] = &inst;
    }
    for (const isa::Region& inner : inst.regions) Scan(module, inner, nested || IsBranching(inst.op), info);
  }
}

Flow FlowOf(Op op) {
  switch (op) {
    case Op::kReturn: return Flow::kReturn;
    case Op::kBreak: return Flow::kBreak;
    case Op::kContinue: return Flow::kContinue;
    default: return Flow::kYield;
  }
}

}  // namespace

const FunctionInfo& Evaluator::Impl::InfoOf(const isa::Function& function) {
  std::unique_ptr<FunctionInfo>& info = infos_[&function];
  if (info == nullptr) {
    info = std::make_unique<FunctionInfo>();
    info->definition.resize(function.reg_count, nullptr);
    Scan(*module_, function.body, false, *info);
  }
  return *info;
}

absl::Status Evaluator::Impl::CountStep(Loc loc, int64_t steps) {
  steps_ += steps;
  if (steps_ > limits_.max_steps) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "evaluation took more than ", limits_.max_steps, " steps");
  }
  if (meter_->bytes() > limits_.max_value_bytes) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: the program's values take more than ", limits_.max_value_bytes >> 20, " MiB");
  }
  if (kernel_state_ && static_cast<int64_t>(kernel_state_->kernel.values.size()) > limits_.max_ir_ops) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "the kernel unrolls to more than ", limits_.max_ir_ops, " operations");
  }
  return absl::OkStatus();
}

absl::Status Evaluator::Impl::CheckStack(Loc loc) const {
  if (static_cast<char*>(__builtin_frame_address(0)) < thread_.stack_limit) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "RecursionError: the program nests too deeply");
  }
  return absl::OkStatus();
}

absl::StatusOr<Outcome> Evaluator::Impl::RunRegion(Frame& frame, const isa::Region& region) {
  TILEVM_RETURN_IF_ERROR(CheckStack(region.body.empty() ? frame.call_loc : region.body.front().loc));
  for (const isa::Inst& inst : region.body) {
    TILEVM_RETURN_IF_ERROR(CountStep(inst.loc));
    switch (inst.op) {
      case Op::kYield: case Op::kBreak: case Op::kContinue: case Op::kReturn: {
        Outcome outcome;
        outcome.flow = FlowOf(inst.op);
        outcome.loc = inst.loc;
        outcome.terminator = &inst;
        if (inst.op != Op::kReturn) {
          outcome.values = RawAll(frame, inst.operands);
        } else if (inst.operands.empty() || inst.operands[0] == isa::kNoReg) {
          outcome.values.push_back(Value::None());
        } else {
          TILEVM_ASSIGN_OR_RETURN(Value value, Read(frame, inst.operands[0], inst.loc));
          outcome.values.push_back(std::move(value));
        }
        return outcome;
      }
      default: {
        std::optional<Outcome> outcome;
        absl::Status status = RunInst(frame, inst, outcome);
        if (!status.ok()) return WithLoc(std::move(status), inst.loc);
        if (outcome.has_value()) return *std::move(outcome);
      }
    }
  }
  // A cell or an assembly function may simply end.
  Outcome outcome;
  outcome.flow = Flow::kReturn;
  outcome.values.push_back(Value::None());
  outcome.loc = frame.function->loc;
  return outcome;
}

absl::StatusOr<Value> Evaluator::Impl::Read(Frame& frame, isa::Reg reg, Loc loc) {
  if (reg == isa::kNoReg) return Value();
  const Value& value = frame.registers[reg];
  if (value.is(ValueKind::kUnbound)) {
    const auto* unbound = value.As<UnboundPayload>();
    absl::Status status = InvalidAt(loc, "NameError: name '", unbound->name, "' is not defined here",
                                    frame.kernel ? ": it is assigned only inside a branch or a loop, or not at all on this path" : "");
    return unbound->loc.known() && !(unbound->loc == loc)
               ? WithNote(std::move(status), unbound->loc, absl::StrCat("'", unbound->name, "' has no value after this"))
               : status;
  }
  if (frame.kernel && value.is(ValueKind::kConstexpr)) return value.As<BoxPayload>()->inner;
  return value;
}

absl::StatusOr<std::vector<Value>> Evaluator::Impl::ReadAll(Frame& frame, absl::Span<const isa::Reg> regs, Loc loc) {
  std::vector<Value> values;
  values.reserve(regs.size());
  for (isa::Reg reg : regs) {
    TILEVM_ASSIGN_OR_RETURN(Value value, Read(frame, reg, loc));
    values.push_back(std::move(value));
  }
  return values;
}

std::vector<Value> Evaluator::Impl::RawAll(Frame& frame, absl::Span<const isa::Reg> regs) {
  std::vector<Value> values;
  values.reserve(regs.size());
  for (isa::Reg reg : regs) values.push_back(reg == isa::kNoReg ? Value() : frame.registers[reg]);
  return values;
}

std::string Evaluator::Impl::NameOfRegister(Frame& frame, isa::Reg reg) const {
  if (reg == isa::kNoReg) return "";
  const size_t captures = frame.function->captures.size();
  if (reg < captures) return String(frame.function->captures[reg]);
  if (reg < captures + frame.function->params.size()) return frame.function->params[reg - captures].name;
  const isa::Inst* inst = frame.info->definition[reg];
  if (inst != nullptr && (inst->op == Op::kBind || inst->op == Op::kBindConst || inst->op == Op::kUnbound || inst->op == Op::kGlobal)) return String(inst->imm);
  if (frame.registers[reg].is(ValueKind::kUnbound)) return frame.registers[reg].As<UnboundPayload>()->name;
  if (frame.registers[reg].is_tensor() && kernel_state_) return kernel_state_->kernel.values[frame.registers[reg].tensor()].name;
  return "";
}

Loc Evaluator::Impl::LocOfRegister(Frame& frame, isa::Reg reg, Loc otherwise) const {
  if (reg == isa::kNoReg) return otherwise;
  const size_t captures = frame.function->captures.size();
  if (reg < captures) return frame.function->loc;
  if (reg < captures + frame.function->params.size()) return frame.function->params[reg - captures].loc;
  const isa::Inst* inst = frame.info->definition[reg];
  return inst != nullptr && inst->loc.known() ? inst->loc : otherwise;
}

Value Evaluator::Impl::ConstantValue(isa::ConstantId id) {
  if (constants_.size() != module_->constants.size()) constants_.resize(module_->constants.size());
  std::optional<Value>& cached = constants_[id];
  if (cached.has_value()) return *cached;
  const isa::Constant& constant = module_->constants[id];
  Value value;
  switch (constant.kind) {
    case isa::Constant::Kind::kNone: value = Value::None(); break;
    case isa::Constant::Kind::kBool: value = Value::Bool(constant.int_value != 0); break;
    case isa::Constant::Kind::kInt: value = Value::Int(constant.int_value); break;
    case isa::Constant::Kind::kFloat: value = Value::Float(constant.float_value); break;
    case isa::Constant::Kind::kString: value = Value::String(constant.string_value); break;
    case isa::Constant::Kind::kDType: value = Value::DTypeOf(constant.dtype); break;
    case isa::Constant::Kind::kEllipsis: value = Value::Ellipsis(); break;
    case isa::Constant::Kind::kBuiltin: {
      const std::string path = NormalizePath(constant.string_value);
      std::optional<Value> known = FindBuiltinValue(path);
      value = known.has_value() ? *known : Value::Builtin(path);
      break;
    }
  }
  cached = value;
  return value;
}

absl::Status Evaluator::Impl::DefineResults(Frame& frame, const isa::Inst& inst, std::vector<Value> values) {
  if (values.size() != inst.results.size()) {
    return ErrorAt(inst.loc, absl::StatusCode::kInternal, isa::Mnemonic(inst.op), " gives ", values.size(), " values for ", inst.results.size(), " results");
  }
  for (size_t i = 0; i < values.size(); ++i) Define(frame, inst.results[i], std::move(values[i]));
  return absl::OkStatus();
}

absl::Status Evaluator::Impl::RunInst(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome) {
  const auto define = [&](Value value) {
    if (!inst.results.empty()) Define(frame, inst.results[0], std::move(value));
    return absl::OkStatus();
  };
  const auto read = [&](size_t i) -> absl::StatusOr<Value> {
    return i < inst.operands.size() ? Read(frame, inst.operands[i], inst.loc) : absl::StatusOr<Value>(Value());
  };
  switch (inst.op) {
    case Op::kConst: {
      Value value = ConstantValue(inst.imm);
      if (frame.kernel && value.is(ValueKind::kBuiltin)) TILEVM_RETURN_IF_ERROR(CheckSpelling(value.string(), inst.loc));
      if (value.is(ValueKind::kBuiltin) && (!frame.kernel || absl::StartsWith(value.string(), "unit:"))) {
        TILEVM_ASSIGN_OR_RETURN(value, ImportedValue(value.string(), inst.loc));
        if (frame.kernel) {
          TILEVM_ASSIGN_OR_RETURN(value, KernelGlobal(value, module_->constants[inst.imm].string_value, inst.loc));
        }
      }
      return define(std::move(value));
    }
    case Op::kUnbound: return define(Value::Unbound(String(inst.imm), inst.loc));
    case Op::kBind: {
      TILEVM_ASSIGN_OR_RETURN(Value value, read(0));
      if (frame.kernel) {
        TILEVM_ASSIGN_OR_RETURN(value, BindValue(kernel_state_->elaborator, value, String(inst.imm), inst.loc));
        if (value.is_tensor()) {
          std::string& name = kernel_state_->kernel.values[value.tensor()].name;
          if (name.empty()) name = String(inst.imm);
        }
        frame.bound.emplace_back(inst.imm, &inst);
      }
      return define(std::move(value));
    }
    case Op::kBindConst: {
      TILEVM_ASSIGN_OR_RETURN(Value value, read(0));
      if (frame.kernel) {
        if (value.is_tensor()) {
          return InvalidAt(inst.loc, "'", String(inst.imm), "' is annotated tl.constexpr, but its value is ", NameOfType(value),
                           ", known only when the kernel runs");
        }
        for (const isa::Param& param : frame.function->params) {
          if (param.name == String(inst.imm))
            return WithNote(InvalidAt(inst.loc, "'", param.name, "' is already defined; a constexpr cannot be reassigned"), param.loc, "it is a parameter");
        }
        for (const auto& [name, by] : frame.bound) {
          if (name != inst.imm || by == &inst) continue;
          return WithNote(InvalidAt(inst.loc, "'", String(inst.imm), "' is already defined; a constexpr cannot be reassigned"), by->loc, "defined here");
        }
        frame.bound.emplace_back(inst.imm, &inst);
      }
      return define(std::move(value));
    }
    case Op::kGlobal: {
      TILEVM_ASSIGN_OR_RETURN(Value value, LookUpName(frame.function->unit, String(inst.imm), frame.kernel, inst.loc));
      return define(std::move(value));
    }
    case Op::kSetGlobal: {
      if (frame.kernel) return InvalidAt(inst.loc, "a kernel cannot assign the global name '", String(inst.imm), "'");
      if (const Value& raw = Raw(frame, inst.operands[0]); raw.is(ValueKind::kUnbound) && raw.As<UnboundPayload>()->name == String(inst.imm)) {
        return SetGlobal(frame.function->unit, String(inst.imm), raw);  // `del name`
      }
      TILEVM_ASSIGN_OR_RETURN(Value value, read(0));
      return SetGlobal(frame.function->unit, String(inst.imm), std::move(value));
    }
    case Op::kGetAttr: {
      TILEVM_ASSIGN_OR_RETURN(Value object, read(0));
      TILEVM_ASSIGN_OR_RETURN(Value value, GetAttr(object, String(inst.imm), frame.kernel, inst.loc));
      return define(std::move(value));
    }
    case Op::kCall: return RunCall(frame, inst);
    case Op::kCallMethod: return RunCallMethod(frame, inst);
    case Op::kIndex: {
      TILEVM_ASSIGN_OR_RETURN(Value object, read(0));
      TILEVM_ASSIGN_OR_RETURN(Value subscript, read(1));
      if (object.is_tensor()) {
        TILEVM_ASSIGN_OR_RETURN(Value value, TensorIndex(kernel_state_->elaborator, object, subscript, inst.loc));
        return define(std::move(value));
      }
      if (frame.kernel && subscript.is_tensor()) {
        return InvalidAt(inst.loc, "a ", NameOfType(object), " is indexed with ", NameOfType(subscript), "; the index of a tuple must be constexpr");
      }
      TILEVM_ASSIGN_OR_RETURN(Value value, Index(object, subscript, inst.loc));
      return define(std::move(value));
    }
    case Op::kUnpack: return RunUnpack(frame, inst);
    case Op::kMakeTuple: case Op::kMakeList: {
      TILEVM_ASSIGN_OR_RETURN(CallArgs items, GatherArgs(frame, inst.operands, {}, inst.loc));
      // A list literal in a kernel is a tuple, as in Triton.
      const bool tuple = inst.op == Op::kMakeTuple || frame.kernel;
      Value made = tuple ? Value::Tuple(std::move(items.positional)) : Value::List(std::move(items.positional));
      if (frame.kernel) TILEVM_RETURN_IF_ERROR(CheckTupleSize(made, inst.loc));
      return define(std::move(made));
    }
    case Op::kMakeDict: {
      std::vector<std::pair<Value, Value>> entries;
      Value dict = MakeDict({});
      for (size_t i = 0; i < inst.operands.size();) {
        TILEVM_ASSIGN_OR_RETURN(Value key, read(i));
        if (key.is(ValueKind::kDoubleSpread)) {
          const Value& inner = key.As<BoxPayload>()->inner;
          if (!inner.is(ValueKind::kDict)) return InvalidAt(inst.loc, "TypeError: '", NameOfType(inner), "' object is not a mapping");
          for (const auto& [k, v] : inner.As<DictPayload>()->entries) TILEVM_RETURN_IF_ERROR(DictPut(dict, k, v, inst.loc));
          ++i;
          continue;
        }
        TILEVM_ASSIGN_OR_RETURN(Value item, read(i + 1));
        TILEVM_RETURN_IF_ERROR(DictPut(dict, key, item, inst.loc));
        i += 2;
      }
      return define(std::move(dict));
    }
    case Op::kMakeSlice: {
      auto slice = std::make_shared<SlicePayload>();
      Value* parts[] = {&slice->start, &slice->stop, &slice->step};
      for (size_t i = 0; i < 3; ++i) {
        TILEVM_ASSIGN_OR_RETURN(*parts[i], read(i));
        if (parts[i]->absent()) *parts[i] = Value::None();
      }
      return define(Value::Shared(ValueKind::kSlice, std::move(slice)));
    }
    case Op::kFor: return RunFor(frame, inst, outcome);
    case Op::kWhile: return RunWhile(frame, inst, outcome);
    case Op::kIf: return RunIf(frame, inst, outcome);
    case Op::kTernary: return RunTernary(frame, inst);
    case Op::kAnd: case Op::kOr: return RunAndOr(frame, inst);
    case Op::kNot: return RunNot(frame, inst);
    case Op::kIs: case Op::kIsNot: {
      TILEVM_ASSIGN_OR_RETURN(Value x, read(0));
      TILEVM_ASSIGN_OR_RETURN(Value y, read(1));
      const bool same = Identical(x, y);
      const bool decided = same || (IsListed(x) && !y.is(ValueKind::kBuiltin)) || (IsListed(y) && !x.is(ValueKind::kBuiltin));
      if (!decided) {
        TILEVM_RETURN_IF_ERROR(CheckMeaning(x, inst.loc));
        TILEVM_RETURN_IF_ERROR(CheckMeaning(y, inst.loc));
      }
      return define(Value::Bool(same == (inst.op == Op::kIs)));
    }
    case Op::kIn: case Op::kNotIn: {
      TILEVM_ASSIGN_OR_RETURN(Value item, read(0));
      TILEVM_ASSIGN_OR_RETURN(Value container, read(1));
      TILEVM_ASSIGN_OR_RETURN(bool found, Contains(container, item, inst.loc));
      return define(Value::Bool(found == (inst.op == Op::kIn)));
    }
    case Op::kFormat: {
      std::string text;
      for (size_t i = 0; i < inst.operands.size(); ++i) {
        TILEVM_ASSIGN_OR_RETURN(Value part, read(i));
        if (part.is(ValueKind::kObject) || part.is(ValueKind::kInstance)) {  // __format__, which for a 0-d tensor is not what str() says
          TILEVM_ASSIGN_OR_RETURN(part, CallHost(Value::Builtin("builtins.format"), {part}, inst.loc));
        }
        TILEVM_ASSIGN_OR_RETURN(std::string piece, ToStr(part, inst.loc));
        text += piece;
        TILEVM_RETURN_IF_ERROR(CheckText(text.size(), inst.loc));
      }
      return define(Value::String(std::move(text)));
    }
    case Op::kMakeFunction: {
      auto payload = std::make_shared<FunctionPayload>();
      payload->module = module_;
      payload->function = inst.imm;
      payload->for_kernels = frame.kernel;
      const isa::Function& function = module_->functions[inst.imm];
      size_t defaults = 0;
      for (const isa::Param& param : function.params) defaults += param.has_default ? 1 : 0;
      for (size_t i = 0; i < inst.operands.size(); ++i) {
        if (i < defaults) {
          TILEVM_ASSIGN_OR_RETURN(Value value, read(i));
          payload->defaults.push_back(std::move(value));
        } else {
          payload->captures.push_back(Raw(frame, inst.operands[i]));
        }
      }
      return define(Value::Shared(ValueKind::kFunction, std::move(payload)));
    }
    case Op::kStar: case Op::kDoubleStar: {
      TILEVM_ASSIGN_OR_RETURN(Value value, read(0));
      return define(Boxed(inst.op == Op::kStar ? ValueKind::kSpread : ValueKind::kDoubleSpread, std::move(value)));
    }
    case Op::kCollect: return RunCollect(frame, inst);
    case Op::kSetAttr: {
      TILEVM_ASSIGN_OR_RETURN(Value object, read(0));
      TILEVM_ASSIGN_OR_RETURN(Value value, read(1));
      const bool cell = object.is(ValueKind::kObject) && object.As<HostObject>()->type_name() == "cell";
      if (frame.kernel && !cell) return InvalidAt(inst.loc, "attributes cannot be assigned in a kernel");
      return SetAttr(object, String(inst.imm), value, inst.loc);
    }
    case Op::kSetItem: case Op::kDelItem: {
      TILEVM_ASSIGN_OR_RETURN(Value object, read(0));
      TILEVM_ASSIGN_OR_RETURN(Value subscript, read(1));
      if (frame.kernel)
        return InvalidAt(inst.loc, "items cannot be assigned in a kernel; ", NameOfType(object),
                         " never changes. Use tl.store for memory, tl.where for a tile");
      if (inst.op == Op::kDelItem) return DeleteItem(object, subscript, inst.loc);
      TILEVM_ASSIGN_OR_RETURN(Value value, read(2));
      return SetItem(object, subscript, value, inst.loc);
    }
    case Op::kAssert: return RunAssert(frame, inst);
    case Op::kRaise: return RunRaise(frame, inst);
    case Op::kTry: return RunTry(frame, inst, outcome);
    case Op::kWith: return RunWith(frame, inst, outcome);
    case Op::kMakeClass: {
      if (frame.kernel) return UnimplementedAt(inst.loc, "a class defined inside a kernel");
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> values, ReadAll(frame, inst.operands, inst.loc));
      const size_t bases = values.size() - inst.names.size();
      std::vector<std::pair<std::string, Value>> attributes;
      for (size_t i = 0; i < inst.names.size(); ++i) attributes.emplace_back(String(inst.names[i]), std::move(values[bases + i]));
      values.resize(bases);
      TILEVM_ASSIGN_OR_RETURN(Value made, MakeClass(String(inst.imm), std::move(values), std::move(attributes), inst.loc));
      return define(std::move(made));
    }
    case Op::kStub: return UnimplementedAt(inst.loc, String(inst.imm));
    default: {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> operands, ReadAll(frame, inst.operands, inst.loc));
      TILEVM_ASSIGN_OR_RETURN(Value value, RunRowOp(inst.op, std::move(operands), frame.kernel, inst.loc));
      if (inst.results.size() <= 1) return define(std::move(value));
      if (!value.is(ValueKind::kTuple) || value.items().size() != inst.results.size()) {
        return InvalidAt(inst.loc, isa::Mnemonic(inst.op), ": ", inst.results.size(), " results wanted, it gives ", NameOfType(value));
      }
      return DefineResults(frame, inst, value.items().ToVector());
    }
  }
}

}  // namespace tilevm::specializer
