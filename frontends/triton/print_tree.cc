// The syntax tree as S-expressions: (assign (x) (+ a 1)). One form per node kind; tests compare these.
#include <sstream>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontends/triton/ast.h"
#include "frontends/triton/parser.h"

namespace tilevm::triton {
namespace {

class Printer {
 public:
  explicit Printer(bool spans) : spans_(spans) {}
  std::string Take() { return std::move(out_); }

  void PrintStmt(const Stmt* stmt);
  void PrintExpr(const Expr* expr);

 private:
  void Write(absl::string_view text) { absl::StrAppend(&out_, text); }
  // Opens "(head"; the matching Close writes ")".
  void Open(absl::string_view head) { absl::StrAppend(&out_, "(", head); }
  void Close() { out_.push_back(')'); }
  void Item(const Expr* expr) {
    out_.push_back(' ');
    PrintExpr(expr);
  }
  void Items(const std::vector<Expr*>& exprs) {
    for (const Expr* expr : exprs) Item(expr);
  }
  void Optional(const Expr* expr) {
    if (expr != nullptr) Item(expr);
  }
  void Span(const Node* node) {
    if (!spans_) return;
    const triton::Span& s = node->span;
    absl::StrAppend(&out_, "@", s.line, ":", s.col, "-", s.end_line, ":", s.end_col);
  }
  void Quoted(absl::string_view text) { absl::StrAppend(&out_, "\"", absl::CEscape(text), "\""); }
  void Body(absl::string_view head, const Block& block) {
    if (block.empty() && !head.empty()) return;
    absl::StrAppend(&out_, " (", head);
    bool first = head.empty();
    for (const Stmt* stmt : block) {
      if (!first) out_.push_back(' ');
      first = false;
      PrintStmt(stmt);
    }
    Close();
  }
  void Arguments(const std::vector<Argument>& arguments);
  void Parameters(const std::vector<Parameter>& parameters);
  void FString(const FStringExpr* fstring);
  void Comprehension(const ComprehensionExpr* comp);
  void BinaryChain(const BinaryExpr* last);
  void Aliases(const std::vector<ImportAlias>& aliases);
  void Try(const TryStmt* stmt);

  bool spans_;
  std::string out_;
};

void Printer::Arguments(const std::vector<Argument>& arguments) {
  for (const Argument& argument : arguments) {
    if (argument.double_star) {
      Write(" (**");
      Item(argument.value);
      Close();
    } else if (!argument.name.empty()) {
      absl::StrAppend(&out_, " (= ", argument.name);
      Item(argument.value);
      Close();
    } else {
      Item(argument.value);
    }
  }
}

void Printer::Parameters(const std::vector<Parameter>& parameters) {
  Write(" (");
  bool first = true;
  for (const Parameter& parameter : parameters) {
    if (!first) out_.push_back(' ');
    first = false;
    constexpr absl::string_view kHeads[] = {"positional", "param", "*", "keyword", "**"};
    Open(absl::StrCat(kHeads[parameter.kind], " ", parameter.name));
    if (parameter.annotation != nullptr) {
      Write(" :");
      Item(parameter.annotation);
    }
    if (parameter.default_value != nullptr) {
      Write(" =");
      Item(parameter.default_value);
    }
    Close();
  }
  Close();
}

void Printer::FString(const FStringExpr* fstring) {
  Open("fstring");
  for (const FStringExpr::Part& part : fstring->parts) {
    out_.push_back(' ');
    if (part.value == nullptr) {
      Quoted(part.text);
      continue;
    }
    Open("field");
    Item(part.value);
    if (part.conversion != 0) absl::StrAppend(&out_, " !", std::string(1, part.conversion));
    if (part.spec != nullptr) {
      Write(" ");
      FString(part.spec);
    }
    Close();
  }
  Close();
}

// `a + b + c` is `(+ (+ a b) c)`, written by a loop. The span of the outermost node is the caller's.
void Printer::BinaryChain(const BinaryExpr* last) {
  std::vector<const BinaryExpr*> chain;
  for (const BinaryExpr* node = last; node != nullptr; node = As<BinaryExpr>(node->left)) chain.push_back(node);
  for (const BinaryExpr* node : chain) {
    if (node != last) out_.push_back(' ');
    Open(Spelling(node->op));
  }
  Item(chain.back()->left);
  for (auto node = chain.rbegin(); node != chain.rend(); ++node) {
    Item((*node)->right);
    Close();
    if (*node != last) Span(*node);
  }
}

void Printer::Comprehension(const ComprehensionExpr* comp) {
  constexpr absl::string_view kHeads[] = {"generator", "list-comp", "set-comp", "dict-comp"};
  Open(kHeads[static_cast<int>(comp->comp_kind)]);
  Item(comp->element);
  Optional(comp->value);
  for (const CompClause& clause : comp->clauses) {
    Write(clause.is_async ? " (async-for" : " (for");
    Item(clause.target);
    Item(clause.iterable);
    Items(clause.conditions);
    Close();
  }
  Close();
}

void Printer::PrintExpr(const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::kName: Write(As<NameExpr>(expr)->name); break;
    case ExprKind::kNone: Write("None"); break;
    case ExprKind::kBool: Write(As<BoolExpr>(expr)->value ? "True" : "False"); break;
    case ExprKind::kEllipsis: Write("..."); break;
    case ExprKind::kInt: {
      const auto* node = As<IntExpr>(expr);
      std::ostringstream value;
      value << node->value;
      Write(node->overflow ? std::string(node->text) : value.str());
      break;
    }
    case ExprKind::kFloat: Write(absl::StrFormat("%.17g", As<FloatExpr>(expr)->value)); break;
    case ExprKind::kString: {
      if (As<StringExpr>(expr)->is_bytes) Write("b");
      Quoted(As<StringExpr>(expr)->value);
      break;
    }
    case ExprKind::kFString: FString(As<FStringExpr>(expr)); break;
    case ExprKind::kUnary: {
      constexpr absl::string_view kHeads[] = {"neg", "pos", "invert", "not"};
      Open(kHeads[static_cast<int>(As<UnaryExpr>(expr)->op)]);
      Item(As<UnaryExpr>(expr)->operand);
      Close();
      break;
    }
    case ExprKind::kBinary:
      BinaryChain(As<BinaryExpr>(expr));
      break;
    case ExprKind::kBoolOp:
      Open(Spelling(As<BoolOpExpr>(expr)->op));
      Items(As<BoolOpExpr>(expr)->operands);
      Close();
      break;
    case ExprKind::kCompare: {
      const auto* node = As<CompareExpr>(expr);
      Open("compare");
      Item(node->operands[0]);
      for (size_t i = 0; i < node->ops.size(); ++i) {
        absl::StrAppend(&out_, " ", Spelling(node->ops[i]));
        Item(node->operands[i + 1]);
      }
      Close();
      break;
    }
    case ExprKind::kTernary:
      Open("if-else");
      Item(As<TernaryExpr>(expr)->test);
      Item(As<TernaryExpr>(expr)->then_value);
      Item(As<TernaryExpr>(expr)->else_value);
      Close();
      break;
    case ExprKind::kWalrus:
      Open(":=");
      Item(As<WalrusExpr>(expr)->target);
      Item(As<WalrusExpr>(expr)->value);
      Close();
      break;
    case ExprKind::kLambda:
      Open("lambda");
      Parameters(As<LambdaExpr>(expr)->parameters);
      Item(As<LambdaExpr>(expr)->body);
      Close();
      break;
    case ExprKind::kCall:
      Open("call");
      Item(As<CallExpr>(expr)->callee);
      Arguments(As<CallExpr>(expr)->arguments);
      Close();
      break;
    case ExprKind::kAttribute:
      Open(".");
      Item(As<AttributeExpr>(expr)->object);
      absl::StrAppend(&out_, " ", As<AttributeExpr>(expr)->name);
      Close();
      break;
    case ExprKind::kSubscript:
      Open("[]");
      Item(As<SubscriptExpr>(expr)->object);
      Item(As<SubscriptExpr>(expr)->index);
      Close();
      break;
    case ExprKind::kSlice: {
      const auto* node = As<SliceExpr>(expr);
      Open("slice");
      for (const Expr* part : {node->lower, node->upper, node->step}) {
        if (part == nullptr) {
          Write(" _");
        } else {
          Item(part);
        }
      }
      Close();
      break;
    }
    case ExprKind::kStarred:
      Open("*");
      Item(As<StarredExpr>(expr)->value);
      Close();
      break;
    case ExprKind::kTuple:
      Open("tuple");
      Items(As<TupleExpr>(expr)->elements);
      Close();
      break;
    case ExprKind::kList:
      Open("list");
      Items(As<ListExpr>(expr)->elements);
      Close();
      break;
    case ExprKind::kSet:
      Open("set");
      Items(As<SetExpr>(expr)->elements);
      Close();
      break;
    case ExprKind::kDict:
      Open("dict");
      for (const auto& [key, value] : As<DictExpr>(expr)->items) {
        Write(key == nullptr ? " (**" : " (:");
        Optional(key);
        Item(value);
        Close();
      }
      Close();
      break;
    case ExprKind::kComprehension: Comprehension(As<ComprehensionExpr>(expr)); break;
    case ExprKind::kAwait:
      Open("await");
      Item(As<AwaitExpr>(expr)->value);
      Close();
      break;
    case ExprKind::kYield:
      Open(As<YieldExpr>(expr)->is_from ? "yield-from" : "yield");
      Optional(As<YieldExpr>(expr)->value);
      Close();
      break;
    case ExprKind::kOpaque:
      Open("opaque ");
      Quoted(As<OpaqueExpr>(expr)->message);
      Close();
      break;
  }
  Span(expr);
}

void Printer::Aliases(const std::vector<ImportAlias>& aliases) {
  for (const ImportAlias& alias : aliases) {
    absl::StrAppend(&out_, " ", alias.name);
    if (!alias.as_name.empty()) absl::StrAppend(&out_, " as ", alias.as_name);
  }
}

void Printer::Try(const TryStmt* stmt) {
  Open("try");
  Body("", stmt->body);
  for (const TryStmt::Handler& handler : stmt->handlers) {
    Write(stmt->is_group ? " (except*" : " (except");
    Optional(handler.type);
    if (!handler.name.empty()) absl::StrAppend(&out_, " as ", handler.name);
    Body("", handler.body);
    Close();
  }
  Body("else", stmt->else_body);
  Body("finally", stmt->final_body);
  Close();
}

void Printer::PrintStmt(const Stmt* stmt) {
  switch (stmt->kind) {
    case StmtKind::kExpr:
      Open("expr");
      Item(As<ExprStmt>(stmt)->value);
      Close();
      break;
    case StmtKind::kAssign:
      Open("assign (");
      for (size_t i = 0; i < As<AssignStmt>(stmt)->targets.size(); ++i) {
        if (i > 0) Write(" ");
        PrintExpr(As<AssignStmt>(stmt)->targets[i]);
      }
      Close();
      Item(As<AssignStmt>(stmt)->value);
      Close();
      break;
    case StmtKind::kAugAssign:
      Open(absl::StrCat(Spelling(As<AugAssignStmt>(stmt)->op), "="));
      Item(As<AugAssignStmt>(stmt)->target);
      Item(As<AugAssignStmt>(stmt)->value);
      Close();
      break;
    case StmtKind::kAnnAssign:
      Open("annotate");
      Item(As<AnnAssignStmt>(stmt)->target);
      Item(As<AnnAssignStmt>(stmt)->annotation);
      Optional(As<AnnAssignStmt>(stmt)->value);
      Close();
      break;
    case StmtKind::kReturn:
      Open("return");
      Optional(As<ReturnStmt>(stmt)->value);
      Close();
      break;
    case StmtKind::kDelete:
      Open("del");
      Items(As<DeleteStmt>(stmt)->targets);
      Close();
      break;
    case StmtKind::kPass: Write("pass"); break;
    case StmtKind::kBreak: Write("break"); break;
    case StmtKind::kContinue: Write("continue"); break;
    case StmtKind::kRaise:
      Open("raise");
      Optional(As<RaiseStmt>(stmt)->exception);
      Optional(As<RaiseStmt>(stmt)->cause);
      Close();
      break;
    case StmtKind::kAssert:
      Open("assert");
      Item(As<AssertStmt>(stmt)->test);
      Optional(As<AssertStmt>(stmt)->message);
      Close();
      break;
    case StmtKind::kGlobal:
      Open("global");
      for (absl::string_view name : As<GlobalStmt>(stmt)->names) absl::StrAppend(&out_, " ", name);
      Close();
      break;
    case StmtKind::kNonlocal:
      Open("nonlocal");
      for (absl::string_view name : As<NonlocalStmt>(stmt)->names) absl::StrAppend(&out_, " ", name);
      Close();
      break;
    case StmtKind::kImport:
      Open("import");
      Aliases(As<ImportStmt>(stmt)->aliases);
      Close();
      break;
    case StmtKind::kImportFrom:
      Open(absl::StrCat("from ", std::string(As<ImportFromStmt>(stmt)->level, '.'), As<ImportFromStmt>(stmt)->module));
      Aliases(As<ImportFromStmt>(stmt)->aliases);
      Close();
      break;
    case StmtKind::kIf:
      Open("if");
      for (const IfStmt::Clause& clause : As<IfStmt>(stmt)->clauses) {
        Item(clause.test);
        Body("", clause.body);
      }
      Body("else", As<IfStmt>(stmt)->else_body);
      Close();
      break;
    case StmtKind::kWhile:
      Open("while");
      Item(As<WhileStmt>(stmt)->test);
      Body("", As<WhileStmt>(stmt)->body);
      Body("else", As<WhileStmt>(stmt)->else_body);
      Close();
      break;
    case StmtKind::kFor:
      Open(As<ForStmt>(stmt)->is_async ? "async-for" : "for");
      Item(As<ForStmt>(stmt)->target);
      Item(As<ForStmt>(stmt)->iterable);
      Body("", As<ForStmt>(stmt)->body);
      Body("else", As<ForStmt>(stmt)->else_body);
      Close();
      break;
    case StmtKind::kTry: Try(As<TryStmt>(stmt)); break;
    case StmtKind::kWith:
      Open(As<WithStmt>(stmt)->is_async ? "async-with" : "with");
      for (const WithStmt::Item& item : As<WithStmt>(stmt)->items) {
        Write(" (item");
        Item(item.context);
        Optional(item.target);
        Close();
      }
      Body("", As<WithStmt>(stmt)->body);
      Close();
      break;
    case StmtKind::kFunctionDef: {
      const auto* node = As<FunctionDefStmt>(stmt);
      Open(absl::StrCat(node->is_async ? "async-def " : "def ", node->name));
      Parameters(node->parameters);
      if (node->returns != nullptr) {
        Write(" ->");
        Item(node->returns);
      }
      for (const Expr* decorator : node->decorators) {
        Write(" @");
        Item(decorator);
      }
      Body("", node->body);
      Close();
      break;
    }
    case StmtKind::kClassDef: {
      const auto* node = As<ClassDefStmt>(stmt);
      Open(absl::StrCat("class ", node->name));
      Write(" (bases");
      Arguments(node->arguments);
      Close();
      for (const Expr* decorator : node->decorators) {
        Write(" @");
        Item(decorator);
      }
      Body("", node->body);
      Close();
      break;
    }
    case StmtKind::kOpaque:
      Open("opaque ");
      Quoted(As<OpaqueStmt>(stmt)->message);
      Close();
      break;
  }
  Span(stmt);
}

}  // namespace

std::string PrintTree(const Tree& tree, bool spans) {
  std::string out;
  for (const Stmt* stmt : tree.body) {
    Printer printer(spans);
    printer.PrintStmt(stmt);
    absl::StrAppend(&out, printer.Take(), "\n");
  }
  return out;
}

std::string PrintExpr(const Expr* expr, bool spans) {
  Printer printer(spans);
  printer.PrintExpr(expr);
  return printer.Take();
}

}  // namespace tilevm::triton
