// Lowers one function, lambda or module-level statement to open bytecode. Private to the front end.
//
// Code is emitted in one walk: registers are numbered as they are defined, which is the order that isa::Module asks for. Locals of a function
// are registers, kept in `names_`; every change is logged, so leaving a region puts the outer values back, and what a region assigns comes out
// as results. In a cell nothing is local but the targets of comprehensions.
//
// What cannot be lowered becomes a stub at its place; a function whose regions nest too deeply becomes one stub as a whole.
#ifndef TILEVM_FRONTENDS_TRITON_LOWER_H_
#define TILEVM_FRONTENDS_TRITON_LOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "frontends/triton/ast.h"
#include "frontends/triton/program.h"
#include "frontends/triton/scope.h"
#include "isa/module.h"

namespace tilevm::triton {

class Lowering {
 public:
  Lowering(Program& program, SourceUnit& unit, isa::FunctionKind kind) : program_(program), unit_(unit) { function_.kind = kind; }

  // One module-level statement; gives its cell, or nothing if there is no code in it. `stmt` null: a cell that is one stub for `defines`.
  static void LowerCell(Program& program, SourceUnit& unit, const Stmt* stmt);
  static void LowerStubCell(Program& program, SourceUnit& unit, const std::string& message, const std::vector<absl::string_view>& defines);

 private:
  using Reg = isa::Reg;
  using Op = isa::Op;

  // What a break or continue of the innermost loop carries out.
  struct Loop {
    std::vector<absl::string_view> carried;
    absl::string_view broken;  // a hidden name that a break sets, for loops with else; else empty
  };
  struct Change {
    absl::string_view name;
    std::optional<Reg> before;
  };

  // ---- lower.cc: emitting, names, regions ----
  Loc At(const Span& span) const { return Loc{static_cast<int32_t>(program_.module().units[unit_.index].file), span.line, span.col}; }
  bool in_cell() const { return function_.kind == isa::FunctionKind::kCell; }
  isa::StringId Str(absl::string_view text) { return program_.module().InternString(text); }
  isa::Inst& Emit(Op op, const Span& span, std::initializer_list<Reg> operands = {}, uint32_t imm = 0);
  Reg EmitValue(Op op, const Span& span, std::initializer_list<Reg> operands = {}, uint32_t imm = 0);
  Reg NewReg() { return function_.reg_count++; }
  Reg Const(const isa::Constant& constant, const Span& span);
  Reg ConstNone(const Span& span);
  Reg ConstBool(bool value, const Span& span);
  Reg ConstPath(const std::string& path, const Span& span);
  Reg Stub(const Span& span, absl::string_view message);
  void End(Op terminator, const Span& span, std::initializer_list<Reg> operands = {});
  bool dead() const { return dead_; }

  // Runs `fill` with a new region as the place where code goes; it sees the names of outside, and its changes to them are undone after it.
  isa::Region InRegion(size_t arg_count, const Span& span, absl::FunctionRef<void(const std::vector<Reg>&)> fill);
  // The same for a region that gives one value.
  isa::Region ValueRegion(const Span& span, absl::FunctionRef<Reg()> value);
  // Ends a region, unless it has left already, by yielding what these names are bound to.
  void YieldNames(const std::vector<absl::string_view>& names, const Span& span);
  Reg NameOrUnbound(absl::string_view name, const Span& span);
  Reg Unbound(absl::string_view name, const Span& span);

  std::optional<Reg> FindLocal(absl::string_view name) const;
  void SetLocal(absl::string_view name, Reg reg);
  void ForgetLocal(absl::string_view name);
  void Undo(size_t mark);
  Reg ReadName(absl::string_view name, const Span& span);
  void WriteName(absl::string_view name, Reg value, const Span& span, bool bind);
  bool IsShared(absl::string_view name) const { return cells_.contains(name) && !FindLocal(name).has_value(); }
  void Share(absl::string_view name, const Span& span);  // makes its cell, with the value that it has
  void Define(absl::string_view global);
  uint32_t Finish(const Span& span);  // adds the function to the module

  // ---- lower_function.cc ----
  Reg MakeFunction(absl::string_view name, const std::vector<Parameter>& parameters, const FunctionScope& scope, const Span& span,
                   absl::FunctionRef<void(Lowering&)> body);
  isa::Param LowerParameter(const Parameter& parameter);
  std::string AnnotationText(const Expr* annotation);
  bool IsConstexprAnnotation(const Expr* annotation);
  bool IsFromTriton(const Expr* expr);
  void FunctionDef(const FunctionDefStmt* stmt);
  Reg FunctionValue(const FunctionDefStmt* stmt);
  void ClassDef(const ClassDefStmt* stmt);
  Reg Yield(const YieldExpr* expr);
  Reg Lambda(const LambdaExpr* expr);

  // ---- lower_statement.cc ----
  void Statements(const Block& block);
  void Statement(const Stmt* stmt);
  void AssignTo(const Expr* target, Reg value, bool bind);
  void Unpack(const Expr* target, const std::vector<Expr*>& elements, Reg value, bool bind);
  bool AssignPairwise(const Expr* target, const Expr* value);
  void Augmented(const AugAssignStmt* stmt);
  void Annotated(const AnnAssignStmt* stmt);
  void Unbind(absl::string_view name, const Span& span);  // of `except ... as name`: gone after the handler
  void Delete(const DeleteStmt* stmt);
  void DeleteAttribute(Reg object, absl::string_view name, const Span& span);
  void Import(const ImportStmt* stmt);
  void ImportFrom(const ImportFromStmt* stmt);
  Reg Imported(const std::string& path, const Span& span);
  void Assert(const AssertStmt* stmt);

  // ---- lower_control.cc ----
  void If(const IfStmt* stmt, size_t clause);
  void IfElse(Reg test, const Span& span, const std::vector<absl::string_view>& names, absl::FunctionRef<void()> then_body,
              absl::FunctionRef<void()> else_body, bool both_leave);
  void For(const ForStmt* stmt);
  void While(const WhileStmt* stmt);
  void LoopElse(const Loop& loop, const Block& else_body, const Span& span);
  absl::string_view HiddenName(const Block& body, const Block& else_body, const Span& span);
  void LeaveLoop(Op op, const Span& span);
  void Try(const TryStmt* stmt);
  void Handlers(const TryStmt* stmt, size_t index, Reg exception, const std::vector<absl::string_view>& names);
  void With(const WithStmt* stmt, size_t item);
  std::vector<absl::string_view> Carried(const NameSet& names) const;
  // Nobody can see what a statement leaves in this name: it had no value before, and is not read outside these lines.
  bool IsTemporary(absl::string_view name, const Span& lines) const;

  // ---- lower_expression.cc ----
  Reg Expression(const Expr* expr) { return Value(expr, true); }
  // Without `wanted`, an op that gives nothing returns kNoReg.
  Reg Value(const Expr* expr, bool wanted);
  Reg Literal(const Expr* expr);
  Reg Unary(const UnaryExpr* expr);
  Reg Binary(const BinaryExpr* expr);
  Reg Compare(const CompareExpr* expr);
  Reg CompareRest(const CompareExpr* expr, size_t i, Reg left);
  Reg BoolOpOf(const BoolOpExpr* expr);
  Reg Ternary(const TernaryExpr* expr);
  Reg Comprehension(const ComprehensionExpr* expr);
  Reg CompClauseFrom(const ComprehensionExpr* expr, size_t clause, Reg iterable);
  Reg CompConditions(const ComprehensionExpr* expr, size_t clause, size_t condition);
  Reg FString(const FStringExpr* expr);
  Reg Dict(const DictExpr* expr);
  Reg Sequence(Op op, const std::vector<Expr*>& elements, const Span& span);
  Reg Slice(const SliceExpr* expr);
  Reg StarOf(Reg value, const Span& span) { return EmitValue(Op::kStar, span, {value}); }
  // The path of a name or attribute chain that imports give a meaning.
  std::optional<std::string> PathOf(const Expr* expr);

  // ---- lower_call.cc ----
  Reg Call(const CallExpr* expr, bool wanted);
  Reg CallOp(Op op, const CallExpr* expr, bool wanted);
  bool PlanOp(Op op, const CallExpr* expr, std::vector<int>* places, bool* spread);
  void Arguments(const std::vector<Argument>& arguments, std::vector<Reg>* operands, std::vector<isa::StringId>* names);

  Program& program_;
  SourceUnit& unit_;
  isa::Function function_;
  FunctionScope scope_;
  std::vector<isa::Region*> regions_;  // where code goes: the last one
  bool dead_ = false;                  // the current region has ended
  std::optional<Span> too_deep_;
  absl::flat_hash_map<absl::string_view, Reg> names_;  // kNoReg: deleted
  std::vector<Change> log_;
  absl::flat_hash_set<absl::string_view> captured_;  // by functions inside this one
  absl::flat_hash_map<absl::string_view, Reg> cells_;  // of locals shared with nested functions: objects that hold the value
  absl::flat_hash_map<Reg, std::string> paths_;      // of modules that a function imports
  std::vector<Loop> loops_;
  int try_depth_ = 0;             // bodies of try statements around: an import there may fail
  ReadMap reads_;                 // of the whole function
  NameSet defines_;               // globals that a cell sets
  std::vector<std::unique_ptr<std::string>> hidden_names_;
  absl::string_view class_;       // whose body is being lowered, or whose method this is: super() means its bases
  std::optional<Reg> self_;       // the first parameter of a method
  std::optional<Reg> generator_;  // of a generator function: what takes its values
  NameSet class_names_;           // of the class body being lowered: visible there, not in its methods
};

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_LOWER_H_
