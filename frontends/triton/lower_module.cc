// A file's module-level statements become cells; those without code (imports, docstrings) vanish.
#include "absl/strings/str_cat.h"
#include "frontends/triton/lower.h"
#include "frontends/triton/program.h"
#include "frontends/triton/visit.h"

namespace tilevm::triton {
namespace {

// The statement only imports, whatever its branches, and all it imports is known to the front end.
bool OnlyImports(Program& program, SourceUnit& unit, const Stmt* stmt);

bool OnlyImports(Program& program, SourceUnit& unit, const Block& block) {
  for (const Stmt* stmt : block) {
    if (!OnlyImports(program, unit, stmt)) return false;
  }
  return true;
}

bool OnlyImports(Program& program, SourceUnit& unit, const Stmt* stmt) {
  switch (stmt->kind) {
    case StmtKind::kPass: return true;
    case StmtKind::kExpr: return As<StringExpr>(As<ExprStmt>(stmt)->value) != nullptr;
    case StmtKind::kImport:
    case StmtKind::kImportFrom: {
      NameSet names;
      CollectAssigned(Block{const_cast<Stmt*>(stmt)}, &names);
      for (absl::string_view name : names.names()) {
        if (name != "*" && !program.PathOfName(unit, name).has_value()) return false;
      }
      return true;
    }
    case StmtKind::kIf:
    case StmtKind::kTry: {
      bool all = true;
      ForEachPart(
          stmt, [](const Expr*) {}, [&](const Block& inner) { all = all && OnlyImports(program, unit, inner); });
      return all;
    }
    default: return false;
  }
}

bool HasImport(const Stmt* stmt) {
  if (stmt->kind == StmtKind::kImport || stmt->kind == StmtKind::kImportFrom) return true;
  bool any = false;
  ForEachPart(
      stmt, [](const Expr*) {},
      [&](const Block& inner) {
        for (const Stmt* part : inner) any = any || HasImport(part);
      });
  return any;
}

}  // namespace

void LowerModule(Program& program, SourceUnit& unit) {
  for (size_t i = 0; i < unit.tree.body.size(); ++i) {
    if (i >= unit.needed.size() || !unit.needed[i]) continue;
    const Stmt* stmt = unit.tree.body[i];
    const bool conditional = stmt->kind == StmtKind::kIf || stmt->kind == StmtKind::kTry;
    if (conditional && HasImport(stmt) && OnlyImports(program, unit, stmt)) continue;
    Lowering::LowerCell(program, unit, stmt);
  }
}

}  // namespace tilevm::triton
