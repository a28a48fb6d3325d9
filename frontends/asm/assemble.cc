// The top level of an assembly file: units, imports, and the headers of functions.
#include "frontends/asm/assemble.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontends/asm/function_assembler.h"
#include "isa/verifier.h"

namespace tilevm::assembly {
namespace {

using isa::Function;
using isa::FunctionKind;
using isa::Param;
using isa::ParamKind;

class Assembler {
 public:
  Assembler(absl::string_view text, absl::string_view file_name) {
    module_.files.push_back(SourceFile{std::string(file_name), std::string(text)});
    isa::Unit unit;
    unit.name = "__main__";
    module_.units.push_back(std::move(unit));
  }

  absl::StatusOr<isa::Module> Run() {
    TILEVM_ASSIGN_OR_RETURN(lines_, Lex(module_.files[0].text));
    CollectLabels();
    while (next_line_ < lines_.size()) TILEVM_RETURN_IF_ERROR(TopLevel());
    TILEVM_RETURN_IF_ERROR(isa::VerifyModule(module_));
    return std::move(module_);
  }

 private:
  static bool StartsFunction(const Line& line) {
    const Token& first = line.tokens[0];
    return line.indent == 0 && (first.IsWord("kernel") || first.IsWord("function") || first.IsWord("cell"));
  }

  void CollectLabels() {
    int index = 0;
    for (const Line& line : lines_) {
      if (!StartsFunction(line)) continue;
      const Token& second = line.tokens[1];
      bool named = second.kind == TokenKind::kWord || second.kind == TokenKind::kString;
      std::string name = named ? second.text : line.tokens[0].IsWord("kernel") ? "kernel" : "";
      auto [found, is_new] = labels_.emplace(name, index);
      if (!is_new) found->second = kAmbiguousLabel;
      ++index;
    }
    for (int i = 0; i < index; ++i) labels_[absl::StrCat(i)] = i;
  }

  absl::Status TopLevel() {
    const Line& line = lines_[next_line_];
    if (line.indent != 0) return InvalidAt(line.tokens[0].loc, "this line is indented, but stands in no function");
    ++next_line_;
    Cursor cursor(line);
    const Token& first = cursor.Next();
    if (first.IsWord("unit")) return Unit(cursor, first.loc);
    if (first.IsWord("import")) return Import(cursor);
    if (first.IsWord("kernel")) return FunctionText(cursor, FunctionKind::kKernel, first.loc);
    if (first.IsWord("function")) return FunctionText(cursor, FunctionKind::kPlain, first.loc);
    if (first.IsWord("cell")) return FunctionText(cursor, FunctionKind::kCell, first.loc);
    return InvalidAt(first.loc, "kernel, function, cell, unit or import expected");
  }

  absl::Status Unit(Cursor& cursor, Loc loc) {
    std::string name;
    TILEVM_RETURN_IF_ERROR(cursor.Name("the name of a unit", name));
    TILEVM_RETURN_IF_ERROR(cursor.ExpectEnd());
    bool is_first = next_line_ == 1;
    if (is_first) module_.units[0].name = name;
    for (size_t i = 0; i < module_.units.size(); ++i) {
      if (module_.units[i].name != name) continue;
      unit_ = static_cast<uint32_t>(i);
      return absl::OkStatus();
    }
    if (module_.units.size() >= isa::kMaxUnits) return InvalidAt(loc, "more than ", isa::kMaxUnits, " units");
    isa::Unit unit;
    unit.name = name;
    unit_ = static_cast<uint32_t>(module_.units.size());
    module_.units.push_back(std::move(unit));
    return absl::OkStatus();
  }

  absl::Status Import(Cursor& cursor) {
    std::string name, path;
    TILEVM_RETURN_IF_ERROR(cursor.Name("a name", name));
    TILEVM_RETURN_IF_ERROR(cursor.Expect("="));
    TILEVM_RETURN_IF_ERROR(cursor.Name("a dotted path", path));
    while (cursor.Take(".")) {
      std::string part;
      TILEVM_RETURN_IF_ERROR(cursor.Name("a name", part));
      absl::StrAppend(&path, ".", part);
    }
    TILEVM_RETURN_IF_ERROR(cursor.ExpectEnd());
    module_.units[unit_].imports.push_back(isa::Import{module_.InternString(name), module_.InternString(path)});
    return absl::OkStatus();
  }

  absl::Status FunctionText(Cursor& cursor, FunctionKind kind, Loc loc) {
    Function function;
    function.kind = kind;
    function.unit = unit_;
    function.loc = loc;
    if (kind == FunctionKind::kKernel) function.name = "kernel";
    bool named = cursor.Peek().kind == TokenKind::kWord || cursor.Peek().kind == TokenKind::kString;
    if (named || kind == FunctionKind::kPlain) TILEVM_RETURN_IF_ERROR(cursor.Name("the name of a function", function.name));
    std::vector<isa::StringId> names;
    if (cursor.Take("[")) TILEVM_RETURN_IF_ERROR(NameList(cursor, names));
    if (kind == FunctionKind::kCell) {
      module_.units[unit_].cells.push_back(isa::Cell{static_cast<uint32_t>(module_.functions.size()), std::move(names)});
    } else {
      function.captures = std::move(names);
      TILEVM_RETURN_IF_ERROR(cursor.Expect("("));
      TILEVM_RETURN_IF_ERROR(Params(cursor, function.params));
    }
    TILEVM_RETURN_IF_ERROR(cursor.ExpectEnd());
    TILEVM_RETURN_IF_ERROR(FunctionAssembler(lines_, next_line_, labels_, module_, function).Run());
    module_.functions.push_back(std::move(function));
    return absl::OkStatus();
  }

  absl::Status NameList(Cursor& cursor, std::vector<isa::StringId>& names) {
    do {
      std::string name;
      TILEVM_RETURN_IF_ERROR(cursor.Name("a name", name));
      names.push_back(module_.InternString(name));
    } while (cursor.Take(","));
    return cursor.Expect("]");
  }

  absl::Status Params(Cursor& cursor, std::vector<Param>& params) {
    if (cursor.Take(")")) return absl::OkStatus();
    bool keyword_only = false;
    do {
      Loc loc = cursor.Peek().loc;
      if (cursor.Take("/")) {
        for (Param& param : params) {
          if (param.kind != ParamKind::kPlain) return InvalidAt(loc, "'/' must stand before '*' and only once");
          param.kind = ParamKind::kPositionalOnly;
        }
        continue;
      }
      Param param;
      param.loc = loc;
      if (cursor.Take("**")) {
        param.kind = ParamKind::kVarKeywords;
      } else if (cursor.Take("*")) {
        keyword_only = true;
        if (cursor.Peek().Is(",")) continue;
        param.kind = ParamKind::kVarArgs;
      } else if (keyword_only) {
        param.kind = ParamKind::kKeywordOnly;
      }
      TILEVM_RETURN_IF_ERROR(ParamText(cursor, param));
      params.push_back(std::move(param));
    } while (cursor.Take(","));
    return cursor.Expect(")");
  }

  static absl::Status ParamText(Cursor& cursor, Param& param) {
    TILEVM_RETURN_IF_ERROR(cursor.Name("a parameter", param.name));
    if (cursor.Take(":")) {
      param.is_constexpr = cursor.TakeWord("constexpr");
      if (cursor.Peek().kind == TokenKind::kString) {
        param.annotation = cursor.Next().text;
      } else if (!param.is_constexpr) {
        TILEVM_RETURN_IF_ERROR(TypeText(cursor, param.annotation));
      }
    }
    if (cursor.Take("=")) {
      if (!cursor.TakeWord("_")) return InvalidAt(cursor.Peek().loc, "'_' expected: the default is an operand of make_function");
      param.has_default = true;
    }
    return absl::OkStatus();
  }

  // f32, ptr<f32>
  static absl::Status TypeText(Cursor& cursor, std::string& annotation) {
    const Token type = cursor.Next();
    std::string element = type.text;
    bool pointer = type.IsWord("ptr");
    if (pointer) {
      TILEVM_RETURN_IF_ERROR(cursor.Expect("<"));
      element = cursor.Next().text;
      TILEVM_RETURN_IF_ERROR(cursor.Expect(">"));
    }
    if (!isa::DTypeFromName(element).has_value()) {
      return InvalidAt(type.loc, "unknown type ", element, "; a type is f32, ptr<f32>, ... or constexpr, other annotations are quoted");
    }
    annotation = pointer ? absl::StrCat("ptr<", element, ">") : element;
    return absl::OkStatus();
  }

  isa::Module module_;
  std::vector<Line> lines_;
  size_t next_line_ = 0;
  FunctionLabels labels_;
  uint32_t unit_ = 0;
};

}  // namespace

absl::StatusOr<isa::Module> Assemble(absl::string_view text, absl::string_view file_name) { return Assembler(text, file_name).Run(); }

}  // namespace tilevm::assembly
