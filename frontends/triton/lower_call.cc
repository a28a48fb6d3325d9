// Calls. A call of a name that the op table knows is that op, its arguments put in the order of the row; everything else is `call` or
// `call_method`, decided when it is evaluated.
#include <utility>

#include "frontends/triton/lower.h"
#include "frontends/triton/names.h"

namespace tilevm::triton {

isa::Reg Lowering::Call(const CallExpr* expr, bool wanted) {
  const std::optional<std::string> path = PathOf(expr->callee);
  if (path.has_value()) {
    if (const std::optional<Op> op = OpOfPath(*path)) {
      std::vector<int> places;
      bool spread = false;
      if (PlanOp(*op, expr, &places, &spread)) return CallOp(*op, expr, wanted);
    }
  }
  std::vector<Reg> operands;
  std::vector<isa::StringId> names;
  // super() in a method: its class, which is a name of the module, and its object.
  if (const auto* callee = As<NameExpr>(expr->callee);
      callee != nullptr && callee->name == "super" && expr->arguments.empty() && self_.has_value() && !FindLocal("super").has_value()) {
    const Reg super = EmitValue(Op::kGlobal, callee->span, {}, Str("super"));
    const Reg type = EmitValue(Op::kGlobal, callee->span, {}, Str(class_));
    return EmitValue(Op::kCall, expr->span, {super, type, *self_});
  }
  const auto* method = path.has_value() ? nullptr : As<AttributeExpr>(expr->callee);
  operands.push_back(Expression(method != nullptr ? method->object : expr->callee));
  Arguments(expr->arguments, &operands, &names);
  const Reg result = NewReg();
  isa::Inst& inst = method != nullptr ? Emit(Op::kCallMethod, method->name_span, {}, Str(method->name)) : Emit(Op::kCall, expr->span);
  inst.operands.assign(operands.begin(), operands.end());
  inst.names = std::move(names);
  inst.results.push_back(result);
  return result;
}

// Positional and starred arguments, then keywords, each kind in the order of the source. Keywords in front of a `**` go with it, as a dict of their own.
void Lowering::Arguments(const std::vector<Argument>& arguments, std::vector<Reg>* operands, std::vector<isa::StringId>* names) {
  std::vector<Reg> keywords;
  for (const Argument& argument : arguments) {
    const Reg value = Expression(argument.value);
    if (argument.double_star) {
      if (!keywords.empty()) {
        std::vector<Reg> pairs;
        for (size_t i = 0; i < keywords.size(); ++i) {
          isa::Constant name;
          name.kind = isa::Constant::Kind::kString;
          name.string_value = program_.module().strings[(*names)[i]];
          pairs.push_back(Const(name, argument.span));
          pairs.push_back(keywords[i]);
        }
        const Reg dict = NewReg();
        isa::Inst& made = Emit(Op::kMakeDict, argument.span);
        made.operands.assign(pairs.begin(), pairs.end());
        made.results.push_back(dict);
        operands->push_back(EmitValue(Op::kDoubleStar, argument.span, {dict}));
        keywords.clear();
        names->clear();
      }
      operands->push_back(EmitValue(Op::kDoubleStar, argument.span, {value}));
    } else if (argument.name.empty()) {
      operands->push_back(value);
    } else {
      keywords.push_back(value);
      names->push_back(Str(argument.name));
    }
  }
  operands->insert(operands->end(), keywords.begin(), keywords.end());
}

// Decides for each argument which operand it is (its place in the signature, immediates and regions left out). False: the call must be left to
// the evaluator, which also words the error if it is wrong. `spread`: the positional arguments after the first are one list, written out.
bool Lowering::PlanOp(Op op, const CallExpr* expr, std::vector<int>* places, bool* spread) {
  const isa::OpInfo& info = isa::Info(op);
  std::vector<const isa::OperandSpec*> operands;
  for (const isa::OperandSpec& operand : info.operands) {
    if (operand.kind == isa::OperandKind::kValue || operand.kind == isa::OperandKind::kStatic) operands.push_back(&operand);
  }
  size_t positional = 0;
  for (const Argument& argument : expr->arguments) {
    if (argument.double_star || argument.value->kind == ExprKind::kStarred) return false;
    positional += argument.name.empty();
  }
  *spread = TakesSpreadList(op) && positional > 2;
  std::vector<bool> given(operands.size(), false);
  size_t next = 0;
  for (const Argument& argument : expr->arguments) {
    int place;
    if (!argument.name.empty()) {
      place = OperandOfKeyword(info, argument.name);
      if (place < 0) return false;
    } else {
      if (next >= operands.size()) return false;
      place = static_cast<int>(next);
      // A variadic operand in front takes one argument (a tensor or a tuple of them), one at the end takes all that are left.
      const bool takes_rest = operands[next]->variadic && !(next == 0 && operands.size() > 1);
      const bool in_list = *spread && next == 1;
      if (!takes_rest && !in_list) ++next;
    }
    const bool repeats = argument.name.empty() && (operands[place]->variadic || (*spread && place == 1));
    if (given[place] && !repeats) return false;
    given[place] = true;
    places->push_back(place);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!given[i] && !operands[i]->optional && !operands[i]->variadic) return false;
  }
  return true;
}

isa::Reg Lowering::CallOp(Op op, const CallExpr* expr, bool wanted) {
  const isa::OpInfo& info = isa::Info(op);
  std::vector<int> places;
  bool spread = false;
  PlanOp(op, expr, &places, &spread);
  std::vector<int> row;  // signature index of each operand that a call may give
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const isa::OperandKind kind = info.operands[i].kind;
    if (kind == isa::OperandKind::kValue || kind == isa::OperandKind::kStatic) row.push_back(static_cast<int>(i));
  }
  std::vector<std::vector<Reg>> given(info.operands.size());
  for (size_t i = 0; i < expr->arguments.size(); ++i) given[row[places[i]]].push_back(Expression(expr->arguments[i].value));
  if (spread) {
    const Reg list = NewReg();
    isa::Inst& inst = Emit(Op::kMakeTuple, expr->span);
    inst.operands.assign(given[row[1]].begin(), given[row[1]].end());
    inst.results.push_back(list);
    given[row[1]] = {list};
  }
  std::vector<Reg> operands;
  for (int index : info.register_operands) {
    if (info.operands[index].variadic) {
      operands.insert(operands.end(), given[index].begin(), given[index].end());
    } else {
      operands.push_back(given[index].empty() ? isa::kNoReg : given[index][0]);
    }
  }
  while (!operands.empty() && operands.back() == isa::kNoReg) operands.pop_back();
  const bool has_result = !info.results.empty();
  const Reg result = has_result ? NewReg() : isa::kNoReg;
  isa::Inst& inst = Emit(op, expr->span);
  inst.operands.assign(operands.begin(), operands.end());
  if (has_result) inst.results.push_back(result);
  if (has_result || !wanted) return result;
  return ConstNone(expr->span);
}

}  // namespace tilevm::triton
