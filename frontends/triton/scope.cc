#include "frontends/triton/scope.h"

#include <algorithm>

#include "frontends/triton/visit.h"

namespace tilevm::triton {
namespace {

// What an import binds: `a` for `import a.b`, the alias otherwise.
absl::string_view BoundName(const ImportAlias& alias, bool is_from) {
  if (!alias.as_name.empty()) return alias.as_name;
  const absl::string_view name = alias.name;
  return is_from ? name : name.substr(0, name.find('.'));
}

// Walks the statements of one function for its names; scopes inside it are analysed apart and give their free names.
class ScopeBuilder {
 public:
  explicit ScopeBuilder(FunctionScope* scope) : scope_(scope) {}

  void AddParameters(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) scope_->locals.Add(parameter.name);
  }
  void Walk(const Block& block) {
    for (const Stmt* stmt : block) WalkStmt(stmt);
  }
  void WalkExpr(const Expr* expr);

  void Finish() {
    for (absl::string_view name : reads_.names()) {
      if (scope_->globals.Has(name)) continue;
      if (!scope_->locals.Has(name) || scope_->nonlocals.Has(name)) scope_->free.Add(name);
    }
  }

 private:
  void WalkStmt(const Stmt* stmt);
  void WalkComprehension(const ComprehensionExpr* comp);

  FunctionScope* scope_;
  NameSet reads_;
};

void ScopeBuilder::WalkExpr(const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::kName: reads_.Add(As<NameExpr>(expr)->name); return;
    case ExprKind::kYield: scope_->is_generator = true; break;
    case ExprKind::kComprehension: return WalkComprehension(As<ComprehensionExpr>(expr));
    case ExprKind::kLambda: {
      const auto* lambda = As<LambdaExpr>(expr);
      for (const Parameter& parameter : lambda->parameters) {
        if (parameter.default_value != nullptr) WalkExpr(parameter.default_value);
      }
      reads_.AddAll(ScopeOf(lambda).free);
      return;
    }
    default: break;
  }
  ForEachPart(expr, [this](const Expr* part) { WalkExpr(part); });
}

// Its targets are names of its own: they are left out of what it reads. Its first iterable belongs to what surrounds it.
void ScopeBuilder::WalkComprehension(const ComprehensionExpr* comp) {
  WalkExpr(comp->clauses[0].iterable);
  reads_.AddAll(LateScopeOf(comp).free);
}

void ScopeBuilder::WalkStmt(const Stmt* stmt) {
  if (const auto* global = As<GlobalStmt>(stmt)) {
    for (absl::string_view name : global->names) scope_->globals.Add(name);
  } else if (const auto* nonlocal = As<NonlocalStmt>(stmt)) {
    for (absl::string_view name : nonlocal->names) scope_->nonlocals.Add(name);
  } else if (const auto* function = As<FunctionDefStmt>(stmt)) {
    const FunctionScope inner = ScopeOf(function);
    reads_.AddAll(inner.free);
    reads_.AddAll(inner.nonlocals);
  } else if (const auto* type = As<ClassDefStmt>(stmt)) {
    // A class body reads what surrounds it; what it assigns is its own.
    FunctionScope inner;
    ScopeBuilder builder(&inner);
    builder.Walk(type->body);
    builder.Finish();
    reads_.AddAll(inner.free);
  }
  ForEachPart(
      stmt, [this](const Expr* expr) { WalkExpr(expr); }, [this](const Block& block) { Walk(block); });
}

}  // namespace

void CollectTargets(const Expr* target, NameSet* names) {
  if (const auto* name = As<NameExpr>(target)) {
    names->Add(name->name);
  } else if (const auto* starred = As<StarredExpr>(target)) {
    CollectTargets(starred->value, names);
  } else if (const auto* tuple = As<TupleExpr>(target)) {
    for (const Expr* element : tuple->elements) CollectTargets(element, names);
  } else if (const auto* list = As<ListExpr>(target)) {
    for (const Expr* element : list->elements) CollectTargets(element, names);
  }
}

void CollectAssigned(const Expr* expr, NameSet* names) {
  if (expr->kind == ExprKind::kLambda) return;
  if (const auto* walrus = As<WalrusExpr>(expr)) names->Add(walrus->target->name);
  ForEachPart(expr, [names](const Expr* part) { CollectAssigned(part, names); });
}

void CollectAssigned(const Block& block, NameSet* names) {
  for (const Stmt* stmt : block) {
    switch (stmt->kind) {
      case StmtKind::kAssign:
        CollectAssigned(As<AssignStmt>(stmt)->value, names);
        for (const Expr* target : As<AssignStmt>(stmt)->targets) CollectTargets(target, names);
        continue;
      case StmtKind::kAugAssign: CollectTargets(As<AugAssignStmt>(stmt)->target, names); break;
      case StmtKind::kAnnAssign: CollectTargets(As<AnnAssignStmt>(stmt)->target, names); break;
      case StmtKind::kDelete:
        for (const Expr* target : As<DeleteStmt>(stmt)->targets) CollectTargets(target, names);
        break;
      case StmtKind::kFor: CollectTargets(As<ForStmt>(stmt)->target, names); break;
      case StmtKind::kWith:
        for (const WithStmt::Item& item : As<WithStmt>(stmt)->items) CollectTargets(item.target, names);
        break;
      case StmtKind::kTry:
        for (const TryStmt::Handler& handler : As<TryStmt>(stmt)->handlers) {
          if (!handler.name.empty()) names->Add(handler.name);
        }
        break;
      case StmtKind::kImport:
        for (const ImportAlias& alias : As<ImportStmt>(stmt)->aliases) names->Add(BoundName(alias, false));
        break;
      case StmtKind::kImportFrom:
        for (const ImportAlias& alias : As<ImportFromStmt>(stmt)->aliases) names->Add(BoundName(alias, true));
        break;
      case StmtKind::kFunctionDef: names->Add(As<FunctionDefStmt>(stmt)->name); break;
      case StmtKind::kClassDef: names->Add(As<ClassDefStmt>(stmt)->name); break;
      default: break;
    }
    ForEachPart(
        stmt, [names](const Expr* expr) { CollectAssigned(expr, names); }, [names](const Block& inner) { CollectAssigned(inner, names); });
  }
}

FunctionScope ScopeOf(const FunctionDefStmt* function) {
  FunctionScope scope;
  ScopeBuilder builder(&scope);
  builder.AddParameters(function->parameters);
  builder.Walk(function->body);
  NameSet assigned;
  CollectAssigned(function->body, &assigned);
  for (absl::string_view name : assigned.names()) {
    if (!scope.globals.Has(name) && !scope.nonlocals.Has(name)) scope.locals.Add(name);
  }
  builder.Finish();
  return scope;
}

FunctionScope LateScopeOf(const ComprehensionExpr* comp) {
  FunctionScope scope;
  for (const CompClause& clause : comp->clauses) CollectTargets(clause.target, &scope.locals);
  ScopeBuilder builder(&scope);
  for (size_t i = 0; i < comp->clauses.size(); ++i) {
    if (i != 0) builder.WalkExpr(comp->clauses[i].iterable);
    for (const Expr* condition : comp->clauses[i].conditions) builder.WalkExpr(condition);
  }
  builder.WalkExpr(comp->element);
  if (comp->value != nullptr) builder.WalkExpr(comp->value);
  builder.Finish();
  return scope;
}

FunctionScope ScopeOf(const LambdaExpr* lambda) {
  FunctionScope scope;
  ScopeBuilder builder(&scope);
  builder.AddParameters(lambda->parameters);
  builder.WalkExpr(lambda->body);
  NameSet assigned;
  CollectAssigned(lambda->body, &assigned);
  scope.locals.AddAll(assigned);
  builder.Finish();
  return scope;
}

namespace {

class ReadCollector {
 public:
  explicit ReadCollector(ReadMap* reads) : reads_(reads) {}

  void Walk(const Block& block) {
    for (const Stmt* stmt : block) WalkStmt(stmt);
  }

 private:
  void Add(absl::string_view name, int32_t line) {
    ReadLines& lines = (*reads_)[name];
    lines.first = lines.first == 0 ? line : std::min(lines.first, line);
    lines.last = std::max(lines.last, line);
    for (absl::string_view target : loops_) {
      if (target == name) return;
    }
    lines.last_outside_own_loop = std::max(lines.last_outside_own_loop, line);
  }
  void WalkExpr(const Expr* expr) {
    if (const auto* name = As<NameExpr>(expr)) Add(name->name, name->span.line);
    ForEachPart(expr, [this](const Expr* part) { WalkExpr(part); });
  }
  // A plain name as a target is no read.
  void WalkTarget(const Expr* target) {
    if (As<NameExpr>(target) != nullptr) return;
    const auto* tuple = As<TupleExpr>(target);
    if (tuple == nullptr) return WalkExpr(target);
    for (const Expr* element : tuple->elements) WalkTarget(element);
  }
  void WalkStmt(const Stmt* stmt) {
    if (const auto* assign = As<AssignStmt>(stmt)) {
      WalkExpr(assign->value);
      for (const Expr* target : assign->targets) WalkTarget(target);
      return;
    }
    const size_t outer = loops_.size();
    if (const auto* loop = As<ForStmt>(stmt)) {
      NameSet targets;
      CollectTargets(loop->target, &targets);
      loops_.insert(loops_.end(), targets.names().begin(), targets.names().end());
    }
    if (const auto* function = As<FunctionDefStmt>(stmt)) {
      const FunctionScope inside = ScopeOf(function);
      for (absl::string_view name : inside.free.names()) Add(name, stmt->span.line);
    }
    if (const auto* type = As<ClassDefStmt>(stmt)) Walk(type->body);
    ForEachPart(
        stmt, [this](const Expr* expr) { WalkExpr(expr); }, [this](const Block& inner) { Walk(inner); });
    loops_.resize(outer);
  }

  ReadMap* reads_;
  std::vector<absl::string_view> loops_;
};

bool IsTarget(const Expr* target, absl::string_view name) {
  NameSet names;
  CollectTargets(target, &names);
  return names.Has(name);
}

bool LeavesLoopByBreak(const Block& block) {
  for (const Stmt* stmt : block) {
    if (stmt->kind == StmtKind::kBreak) return true;
    if (stmt->kind == StmtKind::kFor || stmt->kind == StmtKind::kWhile) {
      const Block& after = stmt->kind == StmtKind::kFor ? As<ForStmt>(stmt)->else_body : As<WhileStmt>(stmt)->else_body;
      if (LeavesLoopByBreak(after)) return true;
      continue;
    }
    bool found = false;
    ForEachPart(
        stmt, [](const Expr*) {}, [&found](const Block& inner) { found |= LeavesLoopByBreak(inner); });
    if (found) return true;
  }
  return false;
}

}  // namespace

bool Mentions(const Expr* expr, absl::string_view name) {
  if (const auto* own = As<NameExpr>(expr)) return own->name == name;
  bool found = false;
  ForEachPart(expr, [&](const Expr* part) { found = found || Mentions(part, name); });
  if (const auto* walrus = As<WalrusExpr>(expr)) found |= walrus->target->name == name;
  return found;
}

void CollectReads(const Block& block, ReadMap* reads) { ReadCollector(reads).Walk(block); }

FirstUse FirstUseOf(const Block& block, absl::string_view name) {
  for (const Stmt* stmt : block) {
    if (const auto* assign = As<AssignStmt>(stmt)) {
      if (Mentions(assign->value, name)) return FirstUse::kMaybeRead;
      for (const Expr* target : assign->targets) {
        if (IsTarget(target, name)) return FirstUse::kAssign;
        if (Mentions(target, name)) return FirstUse::kMaybeRead;
      }
      continue;
    }
    if (const auto* node = As<IfStmt>(stmt)) {
      bool all_assign = !node->else_body.empty();
      bool none = true;
      for (const IfStmt::Clause& clause : node->clauses) {
        if (Mentions(clause.test, name)) return FirstUse::kMaybeRead;
        const FirstUse use = FirstUseOf(clause.body, name);
        if (use == FirstUse::kMaybeRead) return use;
        all_assign = all_assign && use == FirstUse::kAssign;
        none = none && use == FirstUse::kNone;
      }
      const FirstUse use = FirstUseOf(node->else_body, name);
      if (use == FirstUse::kMaybeRead) return use;
      if (all_assign && use == FirstUse::kAssign) return FirstUse::kAssign;
      if (!none || use != FirstUse::kNone) return FirstUse::kMaybeRead;
      continue;
    }
    // Anything else that speaks of the name may read it.
    ReadMap reads;
    CollectReads(Block{const_cast<Stmt*>(stmt)}, &reads);
    NameSet assigned;
    CollectAssigned(Block{const_cast<Stmt*>(stmt)}, &assigned);
    if (reads.contains(name) || assigned.Has(name)) return FirstUse::kMaybeRead;
  }
  return FirstUse::kNone;
}

bool AlwaysLeaves(const Block& block) {
  for (const Stmt* stmt : block) {
    switch (stmt->kind) {
      case StmtKind::kReturn:
      case StmtKind::kRaise:
      case StmtKind::kBreak:
      case StmtKind::kContinue: return true;
      case StmtKind::kIf: {
        const auto* node = As<IfStmt>(stmt);
        bool all = !node->else_body.empty() && AlwaysLeaves(node->else_body);
        for (const IfStmt::Clause& clause : node->clauses) all = all && AlwaysLeaves(clause.body);
        if (all) return true;
        break;
      }
      default: break;
    }
  }
  return false;
}

bool HasBreak(const Block& body) { return LeavesLoopByBreak(body); }

}  // namespace tilevm::triton
