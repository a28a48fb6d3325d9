// The files of one compilation and what their module-level names stand for. Private to the front end.
//
// A name that only imports bind, all to the same path, is *imported*: a use of it becomes a constant with that path, and importing it takes no
// code. Sibling files are loaded when such a name is first used, so an import that no code needs costs nothing.
#ifndef TILEVM_FRONTENDS_TRITON_PROGRAM_H_
#define TILEVM_FRONTENDS_TRITON_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontends/triton/ast.h"
#include "frontends/triton/compile.h"
#include "isa/module.h"

namespace tilevm::triton {

// Where an import gets a name from: `from ..module import attribute` (level 2), `import module`.
struct ImportSource {
  int level = 0;
  std::string module;
  std::string attribute;  // empty: the module itself

  bool operator==(const ImportSource& other) const {
    return level == other.level && module == other.module && attribute == other.attribute;
  }
};

// What a module-level name is bound to, seen over the whole file.
struct ModuleName {
  std::vector<ImportSource> imports;
  bool assigned = false;                 // bound by something else than an import, too
  std::optional<std::string> path;       // memo of the resolution
  bool resolving = false;                // guards against imports in a circle
};

struct SourceUnit {
  SourceUnit(uint32_t index, std::string source) : index(index), tree(std::move(source)) {}

  uint32_t index;
  std::string name;    // dotted, "__main__" for the first
  std::string path;    // of the file
  bool is_package = false;  // its file is an __init__.py
  std::optional<std::string> package_root;  // memo: the folder that holds the outermost package of the file
  Tree tree;
  absl::Status error;  // it could not be read; its names are stubs
  std::vector<std::unique_ptr<std::string>> requested;  // those names
  absl::flat_hash_map<absl::string_view, ModuleName> names;
  std::vector<ImportSource> star_imports;
  bool resolving_stars = false;             // guards against stars in a circle
  absl::flat_hash_set<std::string> imported_modules;  // `import a.b` makes the path a.b a module
  std::vector<absl::string_view> import_order;        // imported names in the order of the source
  std::vector<bool> needed;                           // the statements to lower (reach.h)
  absl::flat_hash_map<absl::string_view, std::vector<size_t>> definers;  // the statements that may set a name
};

class Program {
 public:
  explicit Program(const CompileOptions& options) : options_(options) {}

  // Lowers the main file and all that it needs.
  absl::StatusOr<isa::Module> Compile(absl::string_view source, absl::string_view file_name);

  isa::Module& module() { return module_; }
  SourceUnit& unit(uint32_t index) { return *units_[index]; }

  // The path behind a module-level name, if only imports bind it; nullopt: an ordinary global.
  std::optional<std::string> PathOfName(SourceUnit& unit, absl::string_view name);
  // Whether only imports bind it, all to one path. Cheaper than PathOfName: a single import is not followed.
  bool IsImported(SourceUnit& unit, absl::string_view name);
  // Whether an import of this name says triton (or may, through a star).
  bool ComesFromTriton(const SourceUnit& unit, absl::string_view name) const;
  // The path of `path.attribute`, if that is still a name of a module rather than an attribute of a value.
  std::optional<std::string> PathOfAttribute(SourceUnit& unit, const std::string& path, absl::string_view attribute);
  // The path that this import binds.
  std::string PathOfImport(SourceUnit& unit, const ImportSource& source);

 private:
  friend class ModuleScan;
  void Scan(SourceUnit& unit);
  void ListImports(SourceUnit& unit);
  void LowerUnreadable();
  SourceUnit* AddUnit(std::string name, std::string path, std::string source);
  // Index of the unit for a module, loading it if it is a sibling file; -1: not ours.
  int FindModule(SourceUnit& from, int level, absl::string_view module);
  const std::string& PackageRoot(SourceUnit& unit);
  int LoadModule(const std::string& folder, absl::string_view module);
  std::string PathInUnit(int unit, absl::string_view name);

  const CompileOptions& options_;
  isa::Module module_;
  std::vector<std::unique_ptr<SourceUnit>> units_;
  absl::flat_hash_map<std::string, int> units_by_path_;  // -1: looked for and not there
};

// Splits "unit:3.name" into 3 and "name" (empty for the unit itself); false: not of that form.
bool ParseUnitPath(absl::string_view path, int* unit, absl::string_view* name);

// The needed module-level statements of a file as cells (lower_module.cc).
void LowerModule(Program& program, SourceUnit& unit);

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_PROGRAM_H_
