// Functions, lambdas and classes: parameters, defaults, captured names, decorators.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/triton/lower.h"
#include "frontends/triton/names.h"
#include "frontends/triton/parser.h"

namespace tilevm::triton {
namespace {

// `a.b.c` as written; empty if the expression is not such a chain.
std::string DottedText(const Expr* expr) {
  if (const auto* name = As<NameExpr>(expr)) return std::string(name->name);
  const auto* attribute = As<AttributeExpr>(expr);
  if (attribute == nullptr) return "";
  const std::string object = DottedText(attribute->object);
  return object.empty() ? "" : absl::StrCat(object, ".", attribute->name);
}

isa::ParamKind KindOf(Parameter::Kind kind) {
  switch (kind) {
    case Parameter::kPositionalOnly: return isa::ParamKind::kPositionalOnly;
    case Parameter::kNormal: return isa::ParamKind::kPlain;
    case Parameter::kVarArgs: return isa::ParamKind::kVarArgs;
    case Parameter::kKeywordOnly: return isa::ParamKind::kKeywordOnly;
    case Parameter::kVarKeywords: return isa::ParamKind::kVarKeywords;
  }
  return isa::ParamKind::kPlain;
}

}  // namespace

bool Lowering::IsConstexprAnnotation(const Expr* annotation) {
  if (annotation == nullptr) return false;
  const auto* text = As<StringExpr>(annotation);
  const std::string dotted = text != nullptr ? text->value : DottedText(annotation);
  if (dotted == "constexpr" || absl::EndsWith(dotted, ".constexpr")) return true;
  return text == nullptr && IsFromTriton(annotation) && PathOf(annotation) == kConstexprPath;
}

// Types of the annotation come from Triton; what else it may name is not worth reading a file for.
bool Lowering::IsFromTriton(const Expr* expr) {
  while (const auto* attribute = As<AttributeExpr>(expr)) expr = attribute->object;
  const auto* name = As<NameExpr>(expr);
  return name != nullptr && program_.ComesFromTriton(unit_, name->name);
}

// A type in our spelling where the annotation is one of Triton's, else its text.
std::string Lowering::AnnotationText(const Expr* annotation) {
  if (const auto* text = As<StringExpr>(annotation)) {
    const std::vector<absl::string_view> parts = absl::StrSplit(text->value, '.');
    std::optional<std::string> path;
    if (program_.ComesFromTriton(unit_, parts[0])) path = program_.PathOfName(unit_, parts[0]);
    for (size_t i = 1; i < parts.size() && path.has_value(); ++i) path = program_.PathOfAttribute(unit_, *path, parts[i]);
    const std::optional<isa::DType> dtype = path.has_value() ? DTypeOfPath(*path) : std::nullopt;
    return dtype.has_value() ? std::string(isa::Name(*dtype)) : text->value;
  }
  const std::optional<std::string> path = IsFromTriton(annotation) ? PathOf(annotation) : std::nullopt;
  if (path.has_value()) {
    if (const std::optional<isa::DType> dtype = DTypeOfPath(*path)) return std::string(isa::Name(*dtype));
  }
  if (const auto* call = As<CallExpr>(annotation)) {
    const std::optional<std::string> callee = IsFromTriton(call->callee) ? PathOf(call->callee) : std::nullopt;
    if (callee == "triton.language.pointer_type" && call->arguments.size() == 1) {
      return absl::StrCat("ptr<", AnnotationText(call->arguments[0].value), ">");
    }
  }
  const std::string dotted = DottedText(annotation);
  if (absl::StartsWith(dotted, "tl.")) {  // `tl` by way of another file
    if (const std::optional<isa::DType> dtype = isa::DTypeFromSurfaceName(absl::string_view(dotted).substr(3))) return std::string(isa::Name(*dtype));
  }
  return dotted.empty() ? PrintExpr(annotation) : dotted;
}

isa::Param Lowering::LowerParameter(const Parameter& parameter) {
  isa::Param param;
  param.name = std::string(parameter.name);
  param.kind = KindOf(parameter.kind);
  param.is_constexpr = IsConstexprAnnotation(parameter.annotation);
  param.has_default = parameter.default_value != nullptr;
  if (parameter.annotation != nullptr && !param.is_constexpr) param.annotation = AnnotationText(parameter.annotation);
  param.loc = At(parameter.span);
  return param;
}

isa::Reg Lowering::MakeFunction(absl::string_view name, const std::vector<Parameter>& parameters, const FunctionScope& scope, const Span& span,
                                absl::FunctionRef<void(Lowering&)> body) {
  std::vector<Reg> operands;
  for (const Parameter& parameter : parameters) {
    if (parameter.default_value != nullptr) operands.push_back(Expression(parameter.default_value));
  }
  Lowering inner(program_, unit_, isa::FunctionKind::kPlain);
  inner.scope_ = scope;
  inner.function_.name = std::string(name);
  inner.regions_.push_back(&inner.function_.body);
  NameSet outside = scope.free;
  outside.AddAll(scope.nonlocals);
  for (absl::string_view free : outside.names()) {
    if (IsShared(free) && !class_names_.Has(free)) {
      operands.push_back(cells_.at(free));
      inner.function_.captures.push_back(Str(free));
      inner.cells_[free] = inner.NewReg();
      inner.function_.body.args.push_back(inner.cells_.at(free));
      continue;
    }
    if (!scope.free.Has(free)) continue;
    if (class_names_.Has(free) || (!FindLocal(free).has_value() && !scope_.locals.Has(free))) continue;
    operands.push_back(NameOrUnbound(free, span));
    inner.function_.captures.push_back(Str(free));
    const Reg reg = inner.NewReg();
    inner.function_.body.args.push_back(reg);
    inner.SetLocal(free, reg);
    const auto path = paths_.find(operands.back());
    if (path != paths_.end()) inner.paths_[reg] = path->second;
  }
  for (const Parameter& parameter : parameters) {
    inner.function_.params.push_back(LowerParameter(parameter));
    const Reg reg = inner.NewReg();
    inner.function_.body.args.push_back(reg);
    inner.SetLocal(parameter.name, reg);
  }
  body(inner);
  const uint32_t index = inner.Finish(span);
  const Reg result = NewReg();
  isa::Inst& made = Emit(Op::kMakeFunction, span, {}, index);
  made.operands.assign(operands.begin(), operands.end());
  made.results.push_back(result);
  return result;
}

isa::Reg Lowering::Lambda(const LambdaExpr* expr) {
  return MakeFunction("<lambda>", expr->parameters, ScopeOf(expr), expr->span, [&](Lowering& inner) {
    if (inner.scope_.is_generator) {
      inner.Stub(expr->span, "generators are not supported");
      return;
    }
    const Reg value = inner.Expression(expr->body);
    inner.End(Op::kReturn, expr->body->span, {value});
  });
}

isa::Reg Lowering::FunctionValue(const FunctionDefStmt* stmt) {
  const FunctionScope scope = ScopeOf(stmt);
  Reg value = MakeFunction(stmt->name, stmt->parameters, scope, stmt->name_span, [&](Lowering& inner) {
    if (stmt->is_async) {
      inner.Stub(stmt->name_span, "async functions are not supported");
      return;
    }
    if (!class_.empty() && in_cell() && !stmt->parameters.empty()) {
      inner.class_ = class_;
      inner.self_ = inner.FindLocal(stmt->parameters[0].name);
    }
    CollectReads(stmt->body, &inner.reads_);
    const NameSet shared = SharedNames(stmt, scope);
    for (absl::string_view name : shared.names()) inner.Share(name, stmt->name_span);
    if (scope.is_generator) {
      const Reg callee = inner.ConstPath("tilevm.generator", stmt->name_span);
      inner.generator_ = inner.EmitValue(Op::kCall, stmt->name_span, {callee});
    }
    inner.Statements(stmt->body);
  });
  for (auto decorator = stmt->decorators.rbegin(); decorator != stmt->decorators.rend(); ++decorator) {
    const Reg callee = Expression(*decorator);
    value = EmitValue(Op::kCall, (*decorator)->span, {callee, value});
  }
  return value;
}

void Lowering::FunctionDef(const FunctionDefStmt* stmt) {
  const Reg value = FunctionValue(stmt);
  WriteName(stmt->name, value, stmt->name_span, /*bind=*/false);
  const FunctionScope inner = ScopeOf(stmt);
  for (absl::string_view free : inner.free.names()) {
    if (FindLocal(free).has_value()) captured_.insert(free);
  }
}

// `yield x`: the evaluator hands x to whoever asked the generator for it (specializer/partial_eval/generator.h).
isa::Reg Lowering::Yield(const YieldExpr* expr) {
  if (!generator_.has_value()) return Stub(expr->span, "generators are not supported here");
  const Reg callee = ConstPath("tilevm.yield", expr->span);
  const Reg value = expr->value == nullptr ? ConstNone(expr->span) : Expression(expr->value);
  if (!expr->is_from) return EmitValue(Op::kCall, expr->span, {callee, *generator_, value});
  return EmitValue(Op::kCall, expr->span, {callee, *generator_, value, ConstBool(true, expr->span)});
}

// The last part of the name of an annotation's outermost type: "ClassVar" of typing.ClassVar[int], spelled out or in a string.
static absl::string_view AnnotationKind(const Expr* annotation) {
  if (const auto* subscript = As<SubscriptExpr>(annotation)) annotation = subscript->object;
  if (const auto* name = As<NameExpr>(annotation)) return name->name;
  if (const auto* attribute = As<AttributeExpr>(annotation)) return attribute->name;
  const auto* string = As<StringExpr>(annotation);
  if (string == nullptr) return "";
  absl::string_view text = string->value;
  text = text.substr(0, text.find('['));
  return text.substr(text.rfind('.') + 1);
}

void Lowering::ClassDef(const ClassDefStmt* stmt) {
  std::vector<Reg> bases;
  for (const Argument& argument : stmt->arguments) {
    if (argument.name == "metaclass" && PathOf(argument.value) == "abc.ABCMeta") {  // as if it derived from abc.ABC
      bases.push_back(ConstPath("abc.ABC", argument.span));
      continue;
    }
    if (!argument.name.empty() || argument.double_star || argument.value->kind == ExprKind::kStarred) {
      Stub(argument.span, "keyword and starred arguments of a class are not supported");
      continue;
    }
    bases.push_back(Expression(argument.value));
  }
  // Names of the body are visible to its later statements, but not to its methods.
  const size_t mark = log_.size();
  NameSet outer_names = std::exchange(class_names_, NameSet());
  const absl::string_view outer_class = std::exchange(class_, stmt->name);
  std::vector<std::pair<absl::string_view, Reg>> attributes;
  std::vector<Reg> fields;
  const auto add = [&](absl::string_view name, Reg value) {
    for (auto& [known, reg] : attributes) {
      if (known == name) {
        reg = value;
        SetLocal(name, value);
        return;
      }
    }
    attributes.emplace_back(name, value);
    class_names_.Add(name);
    SetLocal(name, value);
  };
  for (const Stmt* inner : stmt->body) {
    if (const auto* function = As<FunctionDefStmt>(inner)) {
      add(function->name, FunctionValue(function));
    } else if (const auto* assign = As<AssignStmt>(inner)) {
      const Reg value = Expression(assign->value);
      for (const Expr* target : assign->targets) {
        if (const auto* name = As<NameExpr>(target)) {
          add(name->name, value);
        } else {
          Stub(target->span, "this target in a class body is not supported");
        }
      }
    } else if (const auto* annotated = As<AnnAssignStmt>(inner)) {
      const auto* name = As<NameExpr>(annotated->target);
      if (name == nullptr) {
        Stub(inner->span, "this target in a class body is not supported");
        continue;
      }
      const absl::string_view kind = AnnotationKind(annotated->annotation);
      if (kind == "InitVar") Stub(inner->span, "dataclasses.InitVar is not supported");
      if (kind != "ClassVar") {
        isa::Constant constant;
        constant.kind = isa::Constant::Kind::kString;
        constant.string_value = std::string(name->name);
        fields.push_back(Const(constant, name->span));
      }
      if (annotated->value != nullptr) add(name->name, Expression(annotated->value));
    } else if (inner->kind == StmtKind::kPass) {
      continue;
    } else if (const auto* value = As<ExprStmt>(inner)) {
      if (value->value->kind != ExprKind::kString && value->value->kind != ExprKind::kEllipsis) Value(value->value, false);
    } else {
      Stub(inner->span, "this statement in a class body is not supported");
    }
  }
  Undo(mark);
  class_names_ = std::move(outer_names);
  class_ = outer_class;
  std::vector<isa::StringId> names;
  for (const auto& [name, value] : attributes) {
    names.push_back(Str(name));
    bases.push_back(value);
  }
  if (!fields.empty()) {  // what a named tuple or a dataclass consists of
    const Reg tuple = NewReg();
    isa::Inst& made = Emit(Op::kMakeTuple, stmt->name_span);
    made.operands.assign(fields.begin(), fields.end());
    made.results.push_back(tuple);
    names.push_back(Str("__annotations__"));
    bases.push_back(tuple);
  }
  Reg value = NewReg();
  isa::Inst& made = Emit(Op::kMakeClass, stmt->name_span, {}, Str(stmt->name));
  made.operands.assign(bases.begin(), bases.end());
  made.names = std::move(names);
  made.results.push_back(value);
  for (auto decorator = stmt->decorators.rbegin(); decorator != stmt->decorators.rend(); ++decorator) {
    const Reg callee = Expression(*decorator);
    value = EmitValue(Op::kCall, (*decorator)->span, {callee, value});
  }
  WriteName(stmt->name, value, stmt->name_span, /*bind=*/false);
}

}  // namespace tilevm::triton
