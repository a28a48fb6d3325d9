// Statements without regions: assignments, imports, assert, return, raise, del.
#include "absl/strings/str_cat.h"
#include "frontends/triton/lower.h"
#include "frontends/triton/names.h"

namespace tilevm::triton {
namespace {

// A statement that is a value without effect: a docstring, a bare constant, `...`.
bool IsBareConstant(const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::kString:
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kNone:
    case ExprKind::kBool:
    case ExprKind::kEllipsis: return true;
    default: return false;
  }
}

// `x += y` is an op of its own: on the host it changes x in place.
isa::Op AugmentedOpOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return isa::Op::kIAdd;
    case BinaryOp::kSub: return isa::Op::kISub;
    case BinaryOp::kMul: return isa::Op::kIMul;
    case BinaryOp::kMatMul: return isa::Op::kIMatMul;
    case BinaryOp::kTrueDiv: return isa::Op::kITrueDiv;
    case BinaryOp::kFloorDiv: return isa::Op::kIFloorDiv;
    case BinaryOp::kMod: return isa::Op::kIMod;
    case BinaryOp::kPow: return isa::Op::kIPow;
    case BinaryOp::kShiftLeft: return isa::Op::kIShl;
    case BinaryOp::kShiftRight: return isa::Op::kIShr;
    case BinaryOp::kBitAnd: return isa::Op::kIBitAnd;
    case BinaryOp::kBitOr: return isa::Op::kIBitOr;
    case BinaryOp::kBitXor: return isa::Op::kIBitXor;
  }
  return isa::Op::kIAdd;
}

}  // namespace

void Lowering::Statements(const Block& block) {
  for (const Stmt* stmt : block) {
    if (dead_) return;
    Statement(stmt);
  }
}

void Lowering::Statement(const Stmt* stmt) {
  switch (stmt->kind) {
    case StmtKind::kExpr:
      if (!IsBareConstant(As<ExprStmt>(stmt)->value)) Value(As<ExprStmt>(stmt)->value, /*wanted=*/false);
      return;
    case StmtKind::kAssign: {
      const auto* assign = As<AssignStmt>(stmt);
      if (assign->targets.size() == 1 && AssignPairwise(assign->targets[0], assign->value)) return;
      const Reg value = Expression(assign->value);
      for (const Expr* target : assign->targets) AssignTo(target, value, /*bind=*/true);
      if (const auto* lambda = As<LambdaExpr>(assign->value)) {
        const FunctionScope inner = ScopeOf(lambda);
        for (absl::string_view free : inner.free.names()) {
          if (FindLocal(free).has_value()) captured_.insert(free);
        }
      }
      return;
    }
    case StmtKind::kAugAssign: return Augmented(As<AugAssignStmt>(stmt));
    case StmtKind::kAnnAssign: return Annotated(As<AnnAssignStmt>(stmt));
    case StmtKind::kReturn: {
      const Expr* value = As<ReturnStmt>(stmt)->value;
      if (generator_.has_value()) {
        const Reg result = value != nullptr ? Expression(value) : ConstNone(stmt->span);
        return End(Op::kReturn, stmt->span, {result});
      }
      if (value == nullptr) return End(Op::kReturn, stmt->span);
      const Reg reg = Expression(value);
      return End(Op::kReturn, stmt->span, {reg});
    }
    case StmtKind::kDelete: return Delete(As<DeleteStmt>(stmt));
    case StmtKind::kPass:
    case StmtKind::kGlobal:
    case StmtKind::kNonlocal: return;
    case StmtKind::kBreak: return LeaveLoop(Op::kBreak, stmt->span);
    case StmtKind::kContinue: return LeaveLoop(Op::kContinue, stmt->span);
    case StmtKind::kRaise: {
      const Expr* exception = As<RaiseStmt>(stmt)->exception;
      if (exception == nullptr) return End(Op::kRaise, stmt->span);
      const Reg reg = Expression(exception);
      const Expr* cause = As<RaiseStmt>(stmt)->cause;
      if (cause == nullptr) return End(Op::kRaise, stmt->span, {reg});
      const Reg callee = ConstPath("tilevm.caused", stmt->span);
      return End(Op::kRaise, stmt->span, {EmitValue(Op::kCall, stmt->span, {callee, reg, Expression(cause)})});
    }
    case StmtKind::kAssert: return Assert(As<AssertStmt>(stmt));
    case StmtKind::kImport: return Import(As<ImportStmt>(stmt));
    case StmtKind::kImportFrom: return ImportFrom(As<ImportFromStmt>(stmt));
    case StmtKind::kIf: return If(As<IfStmt>(stmt), 0);
    case StmtKind::kWhile: return While(As<WhileStmt>(stmt));
    case StmtKind::kFor: return For(As<ForStmt>(stmt));
    case StmtKind::kTry: return Try(As<TryStmt>(stmt));
    case StmtKind::kWith: return With(As<WithStmt>(stmt), 0);
    case StmtKind::kFunctionDef: return FunctionDef(As<FunctionDefStmt>(stmt));
    case StmtKind::kClassDef: return ClassDef(As<ClassDefStmt>(stmt));
    case StmtKind::kOpaque: Stub(stmt->span, As<OpaqueStmt>(stmt)->message); return;
  }
}

// ---- assignments ----

// `a, b = x, y`: as many values as targets, each bound directly.
bool Lowering::AssignPairwise(const Expr* target, const Expr* value) {
  const auto* targets = As<TupleExpr>(target);
  const auto* values = As<TupleExpr>(value);
  if (targets == nullptr || values == nullptr || targets->elements.size() != values->elements.size()) return false;
  for (size_t i = 0; i < targets->elements.size(); ++i) {
    if (targets->elements[i]->kind == ExprKind::kStarred || values->elements[i]->kind == ExprKind::kStarred) return false;
  }
  std::vector<Reg> regs;
  for (const Expr* element : values->elements) regs.push_back(Expression(element));
  for (size_t i = 0; i < regs.size(); ++i) AssignTo(targets->elements[i], regs[i], /*bind=*/true);
  return true;
}

void Lowering::AssignTo(const Expr* target, Reg value, bool bind) {
  switch (target->kind) {
    case ExprKind::kName: return WriteName(As<NameExpr>(target)->name, value, target->span, bind);
    case ExprKind::kTuple: return Unpack(target, As<TupleExpr>(target)->elements, value, bind);
    case ExprKind::kList: return Unpack(target, As<ListExpr>(target)->elements, value, bind);
    case ExprKind::kAttribute: {
      const auto* node = As<AttributeExpr>(target);
      const Reg object = Expression(node->object);
      Emit(Op::kSetAttr, node->name_span, {object, value}, Str(node->name));
      return;
    }
    case ExprKind::kSubscript: {
      const auto* node = As<SubscriptExpr>(target);
      const Reg object = Expression(node->object);
      const Reg index = Expression(node->index);
      Emit(Op::kSetItem, target->span, {object, index, value});
      return;
    }
    default: Stub(target->span, "this assignment target is not supported"); return;
  }
}

void Lowering::Unpack(const Expr* target, const std::vector<Expr*>& elements, Reg value, bool bind) {
  uint32_t star = 0;
  std::vector<Reg> parts;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i]->kind == ExprKind::kStarred) star = static_cast<uint32_t>(i) + 1;
    parts.push_back(NewReg());
  }
  Emit(Op::kUnpack, target->span, {value}, star).results.assign(parts.begin(), parts.end());
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto* starred = As<StarredExpr>(elements[i]);
    AssignTo(starred != nullptr ? starred->value : elements[i], parts[i], bind);
  }
}

void Lowering::Augmented(const AugAssignStmt* stmt) {
  const Op op = AugmentedOpOf(stmt->op);
  if (const auto* name = As<NameExpr>(stmt->target)) {
    const Reg before = ReadName(name->name, name->span);
    const Reg operand = Expression(stmt->value);
    const Reg after = EmitValue(op, stmt->op_span, {before, operand});
    return WriteName(name->name, after, name->span, /*bind=*/true);
  }
  if (const auto* attribute = As<AttributeExpr>(stmt->target)) {
    const Reg object = Expression(attribute->object);
    const Reg before = EmitValue(Op::kGetAttr, attribute->name_span, {object}, Str(attribute->name));
    const Reg operand = Expression(stmt->value);
    const Reg after = EmitValue(op, stmt->op_span, {before, operand});
    Emit(Op::kSetAttr, attribute->name_span, {object, after}, Str(attribute->name));
    return;
  }
  const auto* subscript = As<SubscriptExpr>(stmt->target);
  const Reg object = Expression(subscript->object);
  const Reg index = Expression(subscript->index);
  const Reg before = EmitValue(Op::kIndex, subscript->span, {object, index});
  const Reg operand = Expression(stmt->value);
  const Reg after = EmitValue(op, stmt->op_span, {before, operand});
  Emit(Op::kSetItem, subscript->span, {object, index, after});
}

void Lowering::Annotated(const AnnAssignStmt* stmt) {
  if (stmt->value == nullptr) return;
  const Reg value = Expression(stmt->value);
  const auto* name = As<NameExpr>(stmt->target);
  if (name == nullptr || in_cell() || !IsConstexprAnnotation(stmt->annotation)) return AssignTo(stmt->target, value, /*bind=*/true);
  WriteName(name->name, EmitValue(Op::kBindConst, name->span, {value}, Str(name->name)), name->span, /*bind=*/false);
}

void Lowering::DeleteAttribute(Reg object, absl::string_view name, const Span& span) {
  isa::Constant text;
  text.kind = isa::Constant::Kind::kString;
  text.string_value = std::string(name);
  const Reg callee = ConstPath("builtins.delattr", span);
  EmitValue(Op::kCall, span, {callee, object, Const(text, span)});
}

void Lowering::Unbind(absl::string_view name, const Span& span) {
  if (IsShared(name)) {
    WriteName(name, ConstNone(span), span, /*bind=*/false);  // there, even if the handler has deleted it
    DeleteAttribute(cells_.at(name), "value", span);
  } else if (scope_.locals.Has(name) || FindLocal(name).has_value()) {
    ForgetLocal(name);
  } else {
    Emit(Op::kSetGlobal, span, {Unbound(name, span)}, Str(name));
    if (in_cell()) Define(name);
  }
}

void Lowering::Delete(const DeleteStmt* stmt) {
  for (const Expr* target : stmt->targets) {
    if (const auto* name = As<NameExpr>(target)) {
      if (IsShared(name->name)) {
        DeleteAttribute(cells_.at(name->name), "value", target->span);
      } else if (scope_.locals.Has(name->name) || FindLocal(name->name).has_value()) {
        ReadName(name->name, target->span);
        ForgetLocal(name->name);
      } else {  // a global: reading it shows that it is there
        EmitValue(Op::kGlobal, target->span, {}, Str(name->name));
        Emit(Op::kSetGlobal, target->span, {Unbound(name->name, target->span)}, Str(name->name));
        if (in_cell()) Define(name->name);
      }
    } else if (const auto* attribute = As<AttributeExpr>(target)) {
      DeleteAttribute(Expression(attribute->object), attribute->name, attribute->name_span);
    } else if (As<TupleExpr>(target) != nullptr || As<ListExpr>(target) != nullptr) {
      DeleteStmt inner;
      inner.targets = As<TupleExpr>(target) != nullptr ? As<TupleExpr>(target)->elements : As<ListExpr>(target)->elements;
      Delete(&inner);
    } else if (const auto* subscript = As<SubscriptExpr>(target)) {
      const Reg object = Expression(subscript->object);
      const Reg index = Expression(subscript->index);
      Emit(Op::kDelItem, target->span, {object, index});
    } else {
      Stub(target->span, "deleting this is not supported");
    }
  }
}

// ---- imports ----

// What an import binds. In a try a module that is not there has to be an error at once, elsewhere it is one where it is used.
isa::Reg Lowering::Imported(const std::string& path, const Span& span) {
  if (try_depth_ == 0) return ConstPath(path, span);
  const Reg callee = ConstPath("tilevm.imported", span);
  isa::Constant name;
  name.kind = isa::Constant::Kind::kString;
  name.string_value = path;
  return EmitValue(Op::kCall, span, {callee, Const(name, span)});
}

// At module level, names that only imports bind take no code; the others are set like any global. In a function they are locals.
void Lowering::Import(const ImportStmt* stmt) {
  for (const ImportAlias& alias : stmt->aliases) {
    const absl::string_view whole = alias.name;
    const absl::string_view root = whole.substr(0, whole.find('.'));
    const absl::string_view name = alias.as_name.empty() ? root : alias.as_name;
    const bool at_top = in_cell() && regions_.size() == 1;
    if (at_top && program_.IsImported(unit_, name)) continue;
    const ImportSource source{0, std::string(alias.as_name.empty() ? root : whole), ""};
    const std::string path = program_.PathOfImport(unit_, source);
    if (try_depth_ > 0 && alias.as_name.empty() && whole != root) {  // a.b binds a; b has to be there
      Imported(program_.PathOfImport(unit_, ImportSource{0, std::string(whole), ""}), alias.span);
    }
    const Reg value = Imported(path, alias.span);
    WriteName(name, value, alias.span, /*bind=*/false);
    if (!in_cell()) paths_[value] = path;
  }
}

void Lowering::ImportFrom(const ImportFromStmt* stmt) {
  for (const ImportAlias& alias : stmt->aliases) {
    if (alias.name == "*") continue;  // resolved name by name (program.h)
    const absl::string_view name = alias.as_name.empty() ? absl::string_view(alias.name) : alias.as_name;
    const bool at_top = in_cell() && regions_.size() == 1;
    if (at_top && program_.IsImported(unit_, name)) continue;
    const std::string path = program_.PathOfImport(unit_, ImportSource{stmt->level, stmt->module, alias.name});
    const Reg value = Imported(path, alias.span);
    WriteName(name, value, alias.span, /*bind=*/false);
    if (!in_cell()) paths_[value] = path;
  }
}

void Lowering::Assert(const AssertStmt* stmt) {
  const Reg condition = Expression(stmt->test);
  isa::Region message = ValueRegion(stmt->span, [&] { return stmt->message == nullptr ? ConstNone(stmt->span) : Expression(stmt->message); });
  Emit(Op::kAssert, stmt->span, {condition}).regions.push_back(std::move(message));
}

}  // namespace tilevm::triton
