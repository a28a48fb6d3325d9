#include "frontends/triton/program.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontends/triton/lower.h"
#include "frontends/triton/names.h"
#include "frontends/triton/parser.h"
#include "frontends/triton/reach.h"
#include "frontends/triton/scope.h"
#include "frontends/triton/visit.h"

namespace tilevm::triton {
namespace {

constexpr int kMaxParents = 16;  // of a package's folders

std::string FolderOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return "";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string InFolder(absl::string_view folder, absl::string_view name) {
  if (folder.empty()) return std::string(name);
  return absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/", name);
}

// Modules that are never sibling files.
bool IsOutside(absl::string_view module) {
  const absl::string_view root = module.substr(0, module.find('.'));
  return root == "triton" || root == "torch" || root == "numpy" || root == "math" || root == "typing" || root == "__future__";
}

}  // namespace

bool ParseUnitPath(absl::string_view path, int* unit, absl::string_view* name) {
  if (!absl::StartsWith(path, "unit:")) return false;
  path.remove_prefix(5);
  const size_t dot = path.find('.');
  *name = dot == absl::string_view::npos ? absl::string_view() : path.substr(dot + 1);
  return absl::SimpleAtoi(path.substr(0, dot), unit);
}

absl::StatusOr<isa::Module> CompileTriton(absl::string_view source, absl::string_view file_name, const CompileOptions& options) {
  return Program(options).Compile(source, file_name);
}

absl::StatusOr<std::string> LoadFromDisk(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("no file ", path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<isa::Module> Program::Compile(absl::string_view source, absl::string_view file_name) {
  SourceUnit* main = AddUnit("__main__", std::string(file_name), std::string(source));
  TILEVM_RETURN_IF_ERROR(main->error);
  MarkNeeded(*this);
  for (size_t i = 0; i < units_.size(); ++i) {
    LowerModule(*this, *units_[i]);
    ListImports(*units_[i]);
  }
  LowerUnreadable();
  return std::move(module_);
}

SourceUnit* Program::AddUnit(std::string name, std::string path, std::string source) {
  const uint32_t index = static_cast<uint32_t>(units_.size());
  for (const auto& other : units_) {
    if (other->name == name) name = absl::StrCat(name, "#", index);
  }
  module_.files.push_back(SourceFile{path, source});
  isa::Unit unit;
  unit.name = name;
  unit.file = static_cast<uint32_t>(module_.files.size() - 1);
  module_.units.push_back(unit);
  auto added = std::make_unique<SourceUnit>(index, "");
  absl::StatusOr<Tree> tree = Parse(std::move(source), static_cast<int32_t>(unit.file));
  if (tree.ok()) {
    added->tree = *std::move(tree);
  } else {
    added->error = tree.status();
  }
  added->name = std::move(name);
  added->is_package = absl::EndsWith(path, "/__init__.py");
  added->path = std::move(path);
  Scan(*added);
  units_.push_back(std::move(added));
  return units_.back().get();
}

// ---- what a file's module-level names are ----

class ModuleScan {
 public:
  explicit ModuleScan(SourceUnit* unit) : unit_(unit) {}

  void Run() {
    Statements(unit_->tree.body);
    Globals(unit_->tree.body);
  }

 private:
  void Import(absl::string_view name, ImportSource source) {
    ModuleName& entry = unit_->names[name];
    if (entry.imports.empty()) unit_->import_order.push_back(name);
    for (const ImportSource& other : entry.imports) {
      if (other == source) return;
    }
    entry.imports.push_back(std::move(source));
  }

  void Statements(const Block& block) {
    for (const Stmt* stmt : block) {
      if (const auto* import = As<ImportStmt>(stmt)) {
        for (const ImportAlias& alias : import->aliases) {
          const absl::string_view whole = alias.name;
          unit_->imported_modules.insert(alias.name);
          if (alias.as_name.empty()) {
            const absl::string_view root = whole.substr(0, whole.find('.'));
            Import(root, ImportSource{0, std::string(root), ""});
          } else {
            Import(alias.as_name, ImportSource{0, alias.name, ""});
          }
        }
      } else if (const auto* from = As<ImportFromStmt>(stmt)) {
        for (const ImportAlias& alias : from->aliases) {
          ImportSource source{from->level, from->module, alias.name};
          if (alias.name == "*") {
            unit_->star_imports.push_back(source);
          } else {
            Import(alias.as_name.empty() ? absl::string_view(alias.name) : alias.as_name, std::move(source));
          }
        }
      } else {
        NameSet assigned;
        Own(stmt, &assigned);
        for (absl::string_view name : assigned.names()) unit_->names[name].assigned = true;
        ForEachPart(
            stmt, [](const Expr*) {}, [this](const Block& inner) { Statements(inner); });
      }
    }
  }

  // Names that a statement itself assigns, without the blocks inside it.
  void Own(const Stmt* stmt, NameSet* names) {
    switch (stmt->kind) {
      case StmtKind::kFor: CollectTargets(As<ForStmt>(stmt)->target, names); break;
      case StmtKind::kWith:
        for (const WithStmt::Item& item : As<WithStmt>(stmt)->items) CollectTargets(item.target, names);
        break;
      case StmtKind::kTry:
        for (const TryStmt::Handler& handler : As<TryStmt>(stmt)->handlers) {
          if (!handler.name.empty()) names->Add(handler.name);
        }
        break;
      case StmtKind::kIf:
        for (const IfStmt::Clause& clause : As<IfStmt>(stmt)->clauses) CollectAssigned(clause.test, names);
        break;
      case StmtKind::kWhile: CollectAssigned(As<WhileStmt>(stmt)->test, names); break;
      default: CollectAssigned(Block{const_cast<Stmt*>(stmt)}, names);
    }
  }

  // A name that any function declares global may be rebound there.
  void Globals(const Block& block) {
    for (const Stmt* stmt : block) {
      if (const auto* global = As<GlobalStmt>(stmt)) {
        for (absl::string_view name : global->names) unit_->names[name].assigned = true;
      }
      if (const auto* function = As<FunctionDefStmt>(stmt)) Globals(function->body);
      if (const auto* type = As<ClassDefStmt>(stmt)) Globals(type->body);
      ForEachPart(
          stmt, [](const Expr*) {}, [this](const Block& inner) { Globals(inner); });
    }
  }

  SourceUnit* unit_;
};

void Program::Scan(SourceUnit& unit) { ModuleScan(&unit).Run(); }

// ---- paths ----

std::optional<std::string> Program::PathOfName(SourceUnit& unit, absl::string_view name) {
  auto found = unit.names.find(name);
  if (found == unit.names.end()) {
    if (absl::StartsWith(name, "_")) return std::nullopt;  // no star brings it
    for (size_t i = unit.star_imports.size(); i-- > 0;) {  // the last one wins
      const ImportSource star = unit.star_imports[i];
      const int sibling = FindModule(unit, star.level, star.module);
      if (sibling >= 0) {
        SourceUnit& other = *units_[sibling];
        if (other.names.contains(name)) return PathInUnit(sibling, name);
        // What the other has by a star of its own. Files may take all of each other in a circle.
        if (other.star_imports.empty() || other.resolving_stars) continue;
        other.resolving_stars = true;
        std::optional<std::string> path = PathOfName(other, name);
        units_[sibling]->resolving_stars = false;
        if (path.has_value()) return path;
        continue;
      }
      const std::string path = NormalizedPath(absl::StrCat(star.module, ".", name));
      const bool known = OpOfPath(path).has_value() || DTypeOfPath(path).has_value() || path == kConstexprPath;
      if (known) return path;
    }
    return std::nullopt;
  }
  ModuleName& entry = found->second;
  if (entry.assigned || entry.imports.empty() || entry.resolving) return std::nullopt;
  if (entry.path.has_value()) return entry.path->empty() ? std::nullopt : entry.path;
  entry.resolving = true;
  const std::vector<ImportSource> imports = entry.imports;
  std::string path = PathOfImport(unit, imports[0]);
  for (size_t i = 1; i < imports.size(); ++i) {
    if (PathOfImport(unit, imports[i]) != path) path.clear();
  }
  ModuleName& resolved = unit.names.at(name);
  resolved.resolving = false;
  resolved.path = path;
  if (path.empty()) return std::nullopt;
  return path;
}

bool Program::IsImported(SourceUnit& unit, absl::string_view name) {
  auto found = unit.names.find(name);
  if (found == unit.names.end() || found->second.assigned) return false;
  return found->second.imports.size() == 1 || PathOfName(unit, name).has_value();
}

bool Program::ComesFromTriton(const SourceUnit& unit, absl::string_view name) const {
  auto found = unit.names.find(name);
  if (found == unit.names.end()) return !unit.star_imports.empty();
  for (const ImportSource& source : found->second.imports) {
    if (source.level == 0 && absl::StartsWith(source.module, "triton")) return true;
  }
  return false;
}

std::string Program::PathInUnit(int index, absl::string_view name) {
  SourceUnit& unit = *units_[index];
  if (std::optional<std::string> path = PathOfName(unit, name)) return *path;
  if (unit.is_package && !unit.names.contains(name)) {
    const int inner = LoadModule(FolderOf(unit.path), name);
    if (inner >= 0) return absl::StrCat("unit:", inner);
  }
  if (!unit.error.ok() && !unit.names.contains(name)) {  // a stub will define it
    unit.requested.push_back(std::make_unique<std::string>(name));
    unit.names[*unit.requested.back()].assigned = true;
  }
  return absl::StrCat("unit:", index, ".", name);
}

std::string Program::PathOfImport(SourceUnit& unit, const ImportSource& source) {
  if (!source.attribute.empty()) {
    // A submodule comes first: a package need not be read for it.
    const std::string inner = source.module.empty() ? source.attribute : absl::StrCat(source.module, ".", source.attribute);
    const int submodule = FindModule(unit, source.level, inner);
    if (submodule >= 0) return absl::StrCat("unit:", submodule);
  }
  const int module = FindModule(unit, source.level, source.module);
  if (module >= 0) {
    if (source.attribute.empty()) return absl::StrCat("unit:", module);
    return PathInUnit(module, source.attribute);
  }
  const std::string dots(static_cast<size_t>(source.level), '.');
  if (source.attribute.empty()) return NormalizedPath(absl::StrCat(dots, source.module));
  if (source.module.empty()) return absl::StrCat(dots, source.attribute);
  return NormalizedPath(absl::StrCat(dots, source.module, ".", source.attribute));
}

std::optional<std::string> Program::PathOfAttribute(SourceUnit& unit, const std::string& path, absl::string_view attribute) {
  int index = -1;
  absl::string_view name;
  if (ParseUnitPath(path, &index, &name)) {
    if (!name.empty()) return std::nullopt;
    return PathInUnit(index, attribute);
  }
  if (DTypeOfPath(path).has_value()) return std::nullopt;
  const std::string joined = absl::StrCat(path, ".", attribute);
  if (unit.imported_modules.contains(joined)) {
    const int module = FindModule(unit, 0, joined);
    if (module >= 0) return absl::StrCat("unit:", module);
  }
  return NormalizedPath(joined);
}

// ---- sibling files ----

int Program::FindModule(SourceUnit& from, int level, absl::string_view module) {
  if (!options_.load_file || (level == 0 && (module.empty() || IsOutside(module)))) return -1;
  std::string folder = FolderOf(from.path);
  if (level > 0) {
    for (int i = 1; i < level; ++i) folder = folder.empty() ? ".." : absl::EndsWith(folder, "..") || folder == "." ? InFolder(folder, "..") : FolderOf(folder);
    return LoadModule(folder, module);
  }
  const int beside = LoadModule(folder, module);
  if (beside >= 0) return beside;
  const std::string& root = PackageRoot(from);
  if (root != folder) {
    const int in_package = LoadModule(root, module);
    if (in_package >= 0) return in_package;
  }
  for (const std::string& include : options_.include_dirs) {
    const int found = LoadModule(include, module);
    if (found >= 0) return found;
  }
  return -1;
}

const std::string& Program::PackageRoot(SourceUnit& unit) {
  if (unit.package_root.has_value()) return *unit.package_root;
  std::string root = FolderOf(unit.path);
  for (int i = 0; i < kMaxParents && !root.empty() && root != "/"; ++i) {
    if (!options_.load_file(InFolder(root, "__init__.py")).ok()) break;
    root = FolderOf(root);
  }
  unit.package_root = std::move(root);
  return *unit.package_root;
}

int Program::LoadModule(const std::string& folder, absl::string_view module) {
  const std::string base = module.empty() ? "" : absl::StrReplaceAll(module, {{".", "/"}});
  std::vector<std::string> candidates;
  if (!base.empty()) candidates.push_back(InFolder(folder, absl::StrCat(base, ".py")));
  candidates.push_back(InFolder(folder, InFolder(base, "__init__.py")));
  for (const std::string& path : candidates) {
    for (const auto& unit : units_) {
      if (unit->path == path) return static_cast<int>(unit->index);
    }
    auto known = units_by_path_.find(path);
    if (known != units_by_path_.end()) continue;
    if (static_cast<int>(units_.size()) >= options_.max_files) return -1;
    absl::StatusOr<std::string> text = options_.load_file(path);
    if (!text.ok()) {
      units_by_path_[path] = -1;
      continue;
    }
    const std::string name = module.empty() ? FolderOf(path) : std::string(module);
    return static_cast<int>(AddUnit(name, path, *std::move(text))->index);
  }
  return -1;
}

// A sibling that could not be read: each name asked of it is a stub that says why.
void Program::LowerUnreadable() {
  for (const auto& unit : units_) {
    if (unit->error.ok()) continue;
    std::vector<absl::string_view> names;
    for (const auto& [name, entry] : unit->names) names.push_back(name);
    std::sort(names.begin(), names.end());
    if (!names.empty()) Lowering::LowerStubCell(*this, *unit, std::string(unit->error.message()), names);
  }
}

void Program::ListImports(SourceUnit& unit) {
  for (absl::string_view name : unit.import_order) {
    const ModuleName& entry = unit.names.at(name);
    if (entry.assigned) continue;
    std::string path;
    if (entry.path.has_value()) {
      path = *entry.path;
    } else if (entry.imports.size() == 1) {
      // Never used: the file it comes from, if it is one of ours, was not read.
      const ImportSource& source = entry.imports[0];
      path = absl::StrCat(std::string(static_cast<size_t>(source.level), '.'), source.module, source.module.empty() || source.attribute.empty() ? "" : ".",
                          source.attribute);
      path = NormalizedPath(path);
    }
    if (path.empty()) continue;
    const isa::StringId name_id = module_.InternString(name);
    const isa::StringId path_id = module_.InternString(path);
    module_.units[unit.index].imports.push_back(isa::Import{name_id, path_id});
  }
  // Names that are in no file of the program are looked for in these when they are used.
  for (const ImportSource& star : unit.star_imports) {
    const int sibling = FindModule(unit, star.level, star.module);
    if (sibling < 0 && star.level > 0) continue;
    const isa::StringId path = module_.InternString(sibling >= 0 ? absl::StrCat("unit:", sibling) : NormalizedPath(star.module));
    module_.units[unit.index].imports.push_back(isa::Import{module_.InternString("*"), path});
  }
}

}  // namespace tilevm::triton
