// The syntax tree of a Python file, as parser.h builds it and lower.h reads it.
//
// Nodes live in a Tree, which owns them and the source text they point into; a node never owns another, so taking a tree apart needs no
// recursion. Each kind is one struct; `node->kind` says which, As<Kind>(node) gives it. A pointer documented as "or null" may be null, no
// other is. The depth of any expression is at most kMaxTreeDepth and statements nest at most kMaxIndentLevels deep, so code that walks the
// tree may recurse.
#ifndef TILEVM_FRONTENDS_TRITON_AST_H_
#define TILEVM_FRONTENDS_TRITON_AST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"
#include "frontends/triton/token.h"

namespace tilevm::triton {

constexpr int kMaxTreeDepth = 400;

enum class ExprKind : uint8_t {
  kName,
  kNone,
  kBool,
  kEllipsis,
  kInt,
  kFloat,
  kString,
  kFString,
  kUnary,
  kBinary,
  kBoolOp,
  kCompare,
  kTernary,
  kWalrus,
  kLambda,
  kCall,
  kAttribute,
  kSubscript,
  kSlice,
  kStarred,
  kTuple,
  kList,
  kSet,
  kDict,
  kComprehension,
  kAwait,
  kYield,
  kOpaque,
};

enum class UnaryOp : uint8_t { kNegate, kPlus, kInvert, kNot };
enum class BinaryOp : uint8_t {
  kAdd, kSub, kMul, kMatMul, kTrueDiv, kFloorDiv, kMod, kPow, kShiftLeft, kShiftRight, kBitAnd, kBitOr, kBitXor,
};
enum class BoolOp : uint8_t { kAnd, kOr };
enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIs, kIsNot, kIn, kNotIn };

absl::string_view Spelling(UnaryOp op);    // "-" "+" "~" "not"
absl::string_view Spelling(BinaryOp op);   // "+" ...
absl::string_view Spelling(BoolOp op);     // "and" "or"
absl::string_view Spelling(CompareOp op);  // "==" ... "not in"

struct Node {
  virtual ~Node() = default;
  Span span;
};

struct Expr : Node {
  explicit Expr(ExprKind k) : kind(k) {}
  ExprKind kind;
  bool parenthesized = false;  // `(x)`: matters for targets and for a lone walrus
  int16_t depth = 1;           // of the tree below, this node included
};

struct Stmt;

// A parameter of a function or lambda.
struct Parameter {
  enum Kind : uint8_t { kPositionalOnly, kNormal, kVarArgs, kKeywordOnly, kVarKeywords };
  Kind kind = kNormal;
  absl::string_view name;
  Expr* annotation = nullptr;     // or null
  Expr* default_value = nullptr;  // or null
  Span span;                      // of the name
};

// An argument of a call or class: `value`, `name=value`, `*value` (value is Starred) or `**value`.
struct Argument {
  absl::string_view name;  // empty unless name=value
  bool double_star = false;
  Expr* value = nullptr;
  Span span;
};

// `[async] for target in iterable if c0 if c1`
struct CompClause {
  bool is_async = false;
  Expr* target = nullptr;
  Expr* iterable = nullptr;
  std::vector<Expr*> conditions;
};

// ---- expressions ----

struct NameExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kName;
  NameExpr() : Expr(kKind) {}
  absl::string_view name;
};
struct NoneExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kNone;
  NoneExpr() : Expr(kKind) {}
};
struct BoolExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kBool;
  BoolExpr() : Expr(kKind) {}
  bool value = false;
};
struct EllipsisExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kEllipsis;
  EllipsisExpr() : Expr(kKind) {}
};
struct IntExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kInt;
  IntExpr() : Expr(kKind) {}
  absl::uint128 value = 0;
  bool overflow = false;   // does not fit 128 bits; value is then meaningless
  absl::string_view text;  // as written
};
struct FloatExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kFloat;
  FloatExpr() : Expr(kKind) {}
  double value = 0;
};
struct StringExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kString;
  StringExpr() : Expr(kKind) {}
  bool is_bytes = false;
  std::string value;  // escapes resolved, adjacent literals joined; UTF-8 unless is_bytes
};
struct FStringExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kFString;
  FStringExpr() : Expr(kKind) {}
  struct Part {
    std::string text;           // literal text, if value is null
    Expr* value = nullptr;      // or null
    char conversion = 0;        // 'r', 's', 'a' or 0
    FStringExpr* spec = nullptr;  // format specification, or null
  };
  std::vector<Part> parts;
};
struct UnaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kUnary;
  UnaryExpr() : Expr(kKind) {}
  UnaryOp op{};
  Expr* operand = nullptr;
};
struct BinaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kBinary;
  BinaryExpr() : Expr(kKind) {}
  BinaryOp op{};
  Expr* left = nullptr;
  Expr* right = nullptr;
  Span op_span;
};
struct BoolOpExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kBoolOp;
  BoolOpExpr() : Expr(kKind) {}
  BoolOp op{};
  std::vector<Expr*> operands;  // at least 2
};
struct CompareExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kCompare;
  CompareExpr() : Expr(kKind) {}
  std::vector<Expr*> operands;  // one more than ops
  std::vector<CompareOp> ops;
  std::vector<Span> op_spans;
};
struct TernaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kTernary;
  TernaryExpr() : Expr(kKind) {}
  Expr* test = nullptr;
  Expr* then_value = nullptr;
  Expr* else_value = nullptr;
};
struct WalrusExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kWalrus;
  WalrusExpr() : Expr(kKind) {}
  NameExpr* target = nullptr;
  Expr* value = nullptr;
};
struct LambdaExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kLambda;
  LambdaExpr() : Expr(kKind) {}
  std::vector<Parameter> parameters;
  Expr* body = nullptr;
};
struct CallExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kCall;
  CallExpr() : Expr(kKind) {}
  Expr* callee = nullptr;
  std::vector<Argument> arguments;
};
struct AttributeExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kAttribute;
  AttributeExpr() : Expr(kKind) {}
  Expr* object = nullptr;
  absl::string_view name;
  Span name_span;
};
struct SubscriptExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kSubscript;
  SubscriptExpr() : Expr(kKind) {}
  Expr* object = nullptr;
  Expr* index = nullptr;  // a Tuple for `x[a, b]`
};
struct SliceExpr : Expr {  // only inside a subscript
  static constexpr ExprKind kKind = ExprKind::kSlice;
  SliceExpr() : Expr(kKind) {}
  Expr* lower = nullptr;  // or null
  Expr* upper = nullptr;  // or null
  Expr* step = nullptr;   // or null
};
struct StarredExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kStarred;
  StarredExpr() : Expr(kKind) {}
  Expr* value = nullptr;
};
struct TupleExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kTuple;
  TupleExpr() : Expr(kKind) {}
  std::vector<Expr*> elements;
};
struct ListExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kList;
  ListExpr() : Expr(kKind) {}
  std::vector<Expr*> elements;
};
struct SetExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kSet;
  SetExpr() : Expr(kKind) {}
  std::vector<Expr*> elements;
};
struct DictExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kDict;
  DictExpr() : Expr(kKind) {}
  std::vector<std::pair<Expr*, Expr*>> items;  // a null key is `**value`
};
enum class CompKind : uint8_t { kGenerator, kList, kSet, kDict };
struct ComprehensionExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kComprehension;
  ComprehensionExpr() : Expr(kKind) {}
  CompKind comp_kind{};
  Expr* element = nullptr;  // the key of a dict comprehension
  Expr* value = nullptr;    // of a dict comprehension, else null
  std::vector<CompClause> clauses;
};
struct AwaitExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kAwait;
  AwaitExpr() : Expr(kKind) {}
  Expr* value = nullptr;
};
struct YieldExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kYield;
  YieldExpr() : Expr(kKind) {}
  bool is_from = false;
  Expr* value = nullptr;  // or null
};
// Valid Python that the front end does not take; an error with this message where it is reached.
struct OpaqueExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::kOpaque;
  OpaqueExpr() : Expr(kKind) {}
  std::string message;
};

// ---- statements ----

enum class StmtKind : uint8_t {
  kExpr,
  kAssign,
  kAugAssign,
  kAnnAssign,
  kReturn,
  kDelete,
  kPass,
  kBreak,
  kContinue,
  kRaise,
  kAssert,
  kGlobal,
  kNonlocal,
  kImport,
  kImportFrom,
  kIf,
  kWhile,
  kFor,
  kTry,
  kWith,
  kFunctionDef,
  kClassDef,
  kOpaque,
};

struct Stmt : Node {
  explicit Stmt(StmtKind k) : kind(k) {}
  StmtKind kind;
};

using Block = std::vector<Stmt*>;

struct ExprStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kExpr;
  ExprStmt() : Stmt(kKind) {}
  Expr* value = nullptr;
};
struct AssignStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kAssign;
  AssignStmt() : Stmt(kKind) {}
  std::vector<Expr*> targets;  // `a = b = value` has two
  Expr* value = nullptr;
};
struct AugAssignStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kAugAssign;
  AugAssignStmt() : Stmt(kKind) {}
  Expr* target = nullptr;
  BinaryOp op{};
  Expr* value = nullptr;
  Span op_span;
};
struct AnnAssignStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kAnnAssign;
  AnnAssignStmt() : Stmt(kKind) {}
  Expr* target = nullptr;
  Expr* annotation = nullptr;
  Expr* value = nullptr;  // or null
};
struct ReturnStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kReturn;
  ReturnStmt() : Stmt(kKind) {}
  Expr* value = nullptr;  // or null
};
struct DeleteStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kDelete;
  DeleteStmt() : Stmt(kKind) {}
  std::vector<Expr*> targets;
};
struct PassStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kPass;
  PassStmt() : Stmt(kKind) {}
};
struct BreakStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kBreak;
  BreakStmt() : Stmt(kKind) {}
};
struct ContinueStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kContinue;
  ContinueStmt() : Stmt(kKind) {}
};
struct RaiseStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kRaise;
  RaiseStmt() : Stmt(kKind) {}
  Expr* exception = nullptr;  // or null
  Expr* cause = nullptr;      // or null
};
struct AssertStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kAssert;
  AssertStmt() : Stmt(kKind) {}
  Expr* test = nullptr;
  Expr* message = nullptr;  // or null
};
struct GlobalStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kGlobal;
  GlobalStmt() : Stmt(kKind) {}
  std::vector<absl::string_view> names;
};
struct NonlocalStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kNonlocal;
  NonlocalStmt() : Stmt(kKind) {}
  std::vector<absl::string_view> names;
};
// `name as as_name`; name is dotted in `import a.b`, "*" in `from m import *`.
struct ImportAlias {
  std::string name;
  absl::string_view as_name;  // or empty
  Span span;
};
struct ImportStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kImport;
  ImportStmt() : Stmt(kKind) {}
  std::vector<ImportAlias> aliases;
};
struct ImportFromStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kImportFrom;
  ImportFromStmt() : Stmt(kKind) {}
  int level = 0;       // leading dots
  std::string module;  // dotted; empty in `from . import x`
  std::vector<ImportAlias> aliases;
};
struct IfStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kIf;
  IfStmt() : Stmt(kKind) {}
  struct Clause {
    Expr* test = nullptr;
    Block body;
    Span span;  // of `if` or `elif`
  };
  std::vector<Clause> clauses;  // `if`, then each `elif`
  Block else_body;
};
struct WhileStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kWhile;
  WhileStmt() : Stmt(kKind) {}
  Expr* test = nullptr;
  Block body;
  Block else_body;
};
struct ForStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kFor;
  ForStmt() : Stmt(kKind) {}
  bool is_async = false;
  Expr* target = nullptr;
  Expr* iterable = nullptr;
  Block body;
  Block else_body;
};
struct TryStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kTry;
  TryStmt() : Stmt(kKind) {}
  struct Handler {
    Expr* type = nullptr;    // or null
    absl::string_view name;  // or empty
    Block body;
    Span span;
  };
  bool is_group = false;  // except*
  Block body;
  std::vector<Handler> handlers;
  Block else_body;
  Block final_body;
};
struct WithStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kWith;
  WithStmt() : Stmt(kKind) {}
  struct Item {
    Expr* context = nullptr;
    Expr* target = nullptr;  // or null
  };
  bool is_async = false;
  std::vector<Item> items;
  Block body;
};
struct FunctionDefStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kFunctionDef;
  FunctionDefStmt() : Stmt(kKind) {}
  bool is_async = false;
  absl::string_view name;
  Span name_span;
  std::vector<Expr*> decorators;
  std::vector<Parameter> parameters;
  Expr* returns = nullptr;  // or null
  Block body;
};
struct ClassDefStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kClassDef;
  ClassDefStmt() : Stmt(kKind) {}
  absl::string_view name;
  Span name_span;
  std::vector<Expr*> decorators;
  std::vector<Argument> arguments;
  Block body;
};
// Valid Python that the front end does not take (match, type); an error with this message where it is reached.
struct OpaqueStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::kOpaque;
  OpaqueStmt() : Stmt(kKind) {}
  std::string message;
};

template <typename Kind, typename Base>
const Kind* As(const Base* node) {
  return node != nullptr && node->kind == Kind::kKind ? static_cast<const Kind*>(node) : nullptr;
}
template <typename Kind, typename Base>
Kind* As(Base* node) {
  return node != nullptr && node->kind == Kind::kKind ? static_cast<Kind*>(node) : nullptr;
}

// Owns a file's nodes and text. Movable; nodes stay where they are.
class Tree {
 public:
  explicit Tree(std::string source) : source_(std::make_unique<const std::string>(std::move(source))) {}
  template <typename Kind>
  Kind* Make(const Span& span) {
    auto owned = std::make_unique<Kind>();
    Kind* node = owned.get();
    node->span = span;
    nodes_.push_back(std::move(owned));
    return node;
  }
  const std::string& source() const { return *source_; }

  Block body;

 private:
  std::unique_ptr<const std::string> source_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_AST_H_
