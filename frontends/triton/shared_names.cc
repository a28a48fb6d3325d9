// Which locals of a function its nested functions share with it, instead of taking a copy of their value (scope.h).
#include <algorithm>
#include <utility>

#include "frontends/triton/scope.h"
#include "frontends/triton/visit.h"

namespace tilevm::triton {
namespace {

using Position = std::pair<int32_t, int32_t>;

// The generator expression that a call uses up before anything else runs, so that what it reads cannot change meanwhile: sum(x * k for x in xs).
const Expr* UsedUpBy(const Expr* expr) {
  const auto* call = As<CallExpr>(expr);
  if (call == nullptr || call->arguments.size() != 1 || call->arguments[0].value->kind != ExprKind::kComprehension) return nullptr;
  const auto* name = As<NameExpr>(call->callee);
  const auto* method = As<AttributeExpr>(call->callee);
  if (method != nullptr && (method->name == "join" || method->name == "extend" || method->name == "update")) return call->arguments[0].value;
  if (name == nullptr) return nullptr;
  for (absl::string_view known : {"sum", "any", "all", "min", "max", "list", "tuple", "set", "frozenset", "dict", "sorted"}) {
    if (name->name == known) return call->arguments[0].value;
  }
  return nullptr;
}

class Search {
 public:
  explicit Search(const FunctionScope& scope) : scope_(scope) {}

  NameSet Run(const Block& body) {
    Walk(body);
    NameSet shared = guarded_;
    for (const Closure& closure : closures_) {
      for (absl::string_view name : closure.nonlocals) shared.Add(name);
      for (absl::string_view name : closure.reads) {
        for (const Site& site : sites_) {
          const bool later = site.position >= closure.position;
          const bool again = std::any_of(site.loops.begin(), site.loops.end(), [&](int loop) {
            return std::find(closure.loops.begin(), closure.loops.end(), loop) != closure.loops.end();
          });
          if (site.name == name && (later || again)) shared.Add(name);
        }
      }
    }
    return shared;
  }

 private:
  struct Closure {
    Position position;
    std::vector<int> loops;  // around it
    std::vector<absl::string_view> reads, nonlocals;
  };
  struct Site {  // of an assignment
    absl::string_view name;
    Position position;
    std::vector<int> loops;
  };

  void Walk(const Block& block) {
    for (const Stmt* stmt : block) Walk(stmt);
  }

  void Walk(const Stmt* stmt) {
    const Position position{stmt->span.line, stmt->span.col};
    const bool loop = stmt->kind == StmtKind::kFor || stmt->kind == StmtKind::kWhile;
    if (loop) loops_.push_back(next_loop_++);
    if (stmt->kind == StmtKind::kTry || stmt->kind == StmtKind::kWith) {
      NameSet inside;
      CollectAssigned(Block{const_cast<Stmt*>(stmt)}, &inside);
      for (absl::string_view name : inside.names()) {
        if (scope_.locals.Has(name)) guarded_.Add(name);
      }
    }
    // What a compound statement assigns inside is found again there, at its own place.
    NameSet assigned;
    CollectAssigned(Block{const_cast<Stmt*>(stmt)}, &assigned);
    for (absl::string_view name : assigned.names()) sites_.push_back({name, position, loops_});
    if (const auto* function = As<FunctionDefStmt>(stmt)) {
      Note(ScopeOf(function), position);
      NoteNonlocals(function->body);
    }
    ForEachPart(
        stmt, [&](const Expr* expr) { Walk(expr); }, [&](const Block& inner) { Walk(inner); });
    if (loop) loops_.pop_back();
  }

  // Of functions further in.
  void NoteNonlocals(const Block& block) {
    for (const Stmt* stmt : block) {
      if (const auto* function = As<FunctionDefStmt>(stmt)) {
        FunctionScope inner = ScopeOf(function);
        inner.free = NameSet();
        Note(inner, {stmt->span.line, stmt->span.col});
        NoteNonlocals(function->body);
      }
      ForEachPart(
          stmt, [](const Expr*) {}, [&](const Block& deeper) { NoteNonlocals(deeper); });
    }
  }

  void Walk(const Expr* expr, bool used_up = false) {
    if (const auto* lambda = As<LambdaExpr>(expr)) Note(ScopeOf(lambda), {expr->span.line, expr->span.col});
    const auto* comp = As<ComprehensionExpr>(expr);
    if (comp != nullptr && comp->comp_kind == CompKind::kGenerator && !used_up) Note(LateScopeOf(comp), {expr->span.line, expr->span.col});
    const Expr* generator = UsedUpBy(expr);
    ForEachPart(expr, [&](const Expr* part) { Walk(part, part == generator); });
  }

  void Note(const FunctionScope& inner, Position position) {
    Closure closure{position, loops_, {}, {}};
    for (absl::string_view name : inner.free.names()) {
      if (scope_.locals.Has(name)) closure.reads.push_back(name);
    }
    for (absl::string_view name : inner.nonlocals.names()) {
      if (scope_.locals.Has(name)) closure.nonlocals.push_back(name);
    }
    closures_.push_back(std::move(closure));
  }

  const FunctionScope& scope_;
  NameSet guarded_;
  std::vector<Closure> closures_;
  std::vector<Site> sites_;
  std::vector<int> loops_;
  int next_loop_ = 0;
};

void CollectCaptured(const Expr* expr, const NameSet& targets, NameSet* captured, bool used_up = false) {
  const auto add = [&](const FunctionScope& scope) {
    for (absl::string_view name : scope.free.names()) {
      if (targets.Has(name)) captured->Add(name);
    }
  };
  if (const auto* lambda = As<LambdaExpr>(expr)) add(ScopeOf(lambda));
  const auto* comp = As<ComprehensionExpr>(expr);
  if (comp != nullptr && comp->comp_kind == CompKind::kGenerator && !used_up) add(LateScopeOf(comp));
  const Expr* generator = UsedUpBy(expr);
  ForEachPart(expr, [&](const Expr* part) { CollectCaptured(part, targets, captured, part == generator); });
}

}  // namespace

NameSet CapturedTargets(const ComprehensionExpr* comp) {
  NameSet targets, captured;
  for (const CompClause& clause : comp->clauses) CollectTargets(clause.target, &targets);
  ForEachPart(comp, [&](const Expr* part) { CollectCaptured(part, targets, &captured); });
  return captured;
}

NameSet SharedNames(const FunctionDefStmt* function, const FunctionScope& scope) { return Search(scope).Run(function->body); }

}  // namespace tilevm::triton
