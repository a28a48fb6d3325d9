// Walks syntax alone: a name that a function hides by a local of its own counts as read here, which at worst marks a statement too many.
#include "frontends/triton/reach.h"

#include <string>
#include <utility>
#include <vector>

#include "frontends/triton/scope.h"
#include "frontends/triton/visit.h"

namespace tilevm::triton {
namespace {

class Reach {
 public:
  explicit Reach(Program& program) : program_(program) {}

  void Run() {
    SourceUnit& main = program_.unit(0);
    Prepare(main);
    for (size_t i = 0; i < main.tree.body.size(); ++i) Need(main, i);
    while (!work_.empty()) {
      const auto [unit, statement] = work_.back();
      work_.pop_back();
      unit_ = &program_.unit(unit);
      in_function_ = false;
      Walk(unit_->tree.body[statement]);
    }
  }

 private:
  // Lists which statements define which names, the first time that a unit is asked for anything.
  void Prepare(SourceUnit& unit) {
    if (unit.needed.size() == unit.tree.body.size()) return;
    unit.needed.resize(unit.tree.body.size(), false);
    for (size_t i = 0; i < unit.tree.body.size(); ++i) {
      NameSet assigned;
      CollectAssigned(Block{unit.tree.body[i]}, &assigned);
      for (absl::string_view name : assigned.names()) unit.definers[name].push_back(i);
    }
  }

  void Need(SourceUnit& unit, size_t statement) {
    if (unit.needed[statement]) return;
    unit.needed[statement] = true;
    work_.emplace_back(unit.index, statement);
  }

  void NeedName(SourceUnit& unit, absl::string_view name) {
    Prepare(unit);
    const auto found = unit.definers.find(name);
    if (found == unit.definers.end()) return;
    for (size_t statement : std::exchange(found->second, {})) Need(unit, statement);  // once: a name may be set and read ten thousand times
  }

  void NeedPath(const std::string& path) {
    int index = -1;
    absl::string_view name;
    if (!ParseUnitPath(path, &index, &name)) return;
    SourceUnit& unit = program_.unit(static_cast<uint32_t>(index));
    if (!name.empty()) return NeedName(unit, name);
    Prepare(unit);  // the module itself is a value: anything may be asked of it
    for (size_t i = 0; i < unit.tree.body.size(); ++i) Need(unit, i);
  }

  void Walk(const Block& block) {
    for (const Stmt* stmt : block) Walk(stmt);
  }

  void Walk(const Stmt* stmt) {
    if (const auto* function = As<FunctionDefStmt>(stmt)) {
      const bool outer = std::exchange(in_function_, true);
      Walk(function->body);
      in_function_ = outer;
    } else if (const auto* type = As<ClassDefStmt>(stmt)) {
      Walk(type->body);
    } else if (const auto* global = As<GlobalStmt>(stmt)) {
      for (absl::string_view name : global->names) NeedName(*unit_, name);
    } else if (const auto* import = As<ImportStmt>(stmt)) {
      for (const ImportAlias& alias : import->aliases) {
        const absl::string_view whole = alias.name;
        const absl::string_view root = whole.substr(0, whole.find('.'));
        const absl::string_view name = alias.as_name.empty() ? root : alias.as_name;
        Import(name, ImportSource{0, std::string(alias.as_name.empty() ? root : whole), ""});
      }
    } else if (const auto* from = As<ImportFromStmt>(stmt)) {
      for (const ImportAlias& alias : from->aliases) {
        if (alias.name == "*") continue;
        Import(alias.as_name.empty() ? absl::string_view(alias.name) : alias.as_name, ImportSource{from->level, from->module, alias.name});
      }
    }
    ForEachPart(
        stmt, [this](const Expr* expr) { Walk(expr); }, [this](const Block& inner) { Walk(inner); });
  }

  // An import that makes code: in a function, or of a name that something else binds too.
  void Import(absl::string_view name, const ImportSource& source) {
    if (!in_function_ && program_.IsImported(*unit_, name)) return;
    NeedPath(program_.PathOfImport(*unit_, source));
  }

  std::optional<std::string> PathOf(const Expr* expr) {
    if (const auto* name = As<NameExpr>(expr)) return program_.PathOfName(*unit_, name->name);
    const auto* attribute = As<AttributeExpr>(expr);
    if (attribute == nullptr) return std::nullopt;
    const std::optional<std::string> object = PathOf(attribute->object);
    if (!object.has_value()) return std::nullopt;
    return program_.PathOfAttribute(*unit_, *object, attribute->name);
  }

  void Walk(const Expr* expr) {
    if (expr->kind == ExprKind::kName || expr->kind == ExprKind::kAttribute) {
      if (const std::optional<std::string> path = PathOf(expr)) return NeedPath(*path);
      if (const auto* name = As<NameExpr>(expr)) return NeedName(*unit_, name->name);
    }
    ForEachPart(expr, [this](const Expr* part) { Walk(part); });
  }

  Program& program_;
  SourceUnit* unit_ = nullptr;
  bool in_function_ = false;
  std::vector<std::pair<uint32_t, size_t>> work_;
};

}  // namespace

void MarkNeeded(Program& program) { Reach(program).Run(); }

}  // namespace tilevm::triton
