// The state of one run of the parser. Private to the parse_*.cc files.
//
// A function that parses a node returns null once an error has been found; after that every token reads as the end of the file, so loops end
// by themselves and only the first error is kept.
#ifndef TILEVM_FRONTENDS_TRITON_PARSER_IMPL_H_
#define TILEVM_FRONTENDS_TRITON_PARSER_IMPL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontends/triton/ast.h"
#include "frontends/triton/lexer.h"
#include "frontends/triton/parser.h"
#include "frontends/triton/token.h"

namespace tilevm::triton {

class Parser {
 public:
  Parser(Tree* tree, int32_t file) : tree_(tree), file_(file), stream_(Lex(tree->source())) {}
  absl::Status Run();

 private:
  // What a target is used for; decides which targets are legal and the words of the error.
  enum class TargetUse { kAssign, kAugmented, kAnnotated, kFor, kDelete, kWith };
  // What surrounds a statement: decides whether return, yield, await, break and continue are legal.
  struct Scope {
    bool in_function = false;
    bool in_async = false;
    bool in_loop = false;
  };
  class Nest {  // counts a level of nesting while it lives; ok() is false beyond the limit
   public:
    explicit Nest(Parser* parser) : parser_(parser), ok_(parser->Enter()) {}
    ~Nest() { --parser_->nesting_; }
    bool ok() const { return ok_; }

   private:
    Parser* parser_;
    bool ok_;
  };

  // ---- parser.cc: tokens and errors ----
  const Token& Peek(size_t ahead = 0) const;
  bool At(TokenKind kind) const { return Peek().kind == kind; }
  bool AtName(absl::string_view word) const { return At(TokenKind::kName) && Peek().text == word; }
  const Token& Next();
  bool Accept(TokenKind kind);
  bool Expect(TokenKind kind);  // "expected ':'"
  bool failed() const { return !status_.ok(); }
  bool Enter();
  // Both record the first error and return null.
  std::nullptr_t Fail(const Span& span, absl::string_view message);
  std::nullptr_t FailHere();  // "invalid syntax", or a better word for what stands here
  Span SpanSince(const Span& start) const { return Join(start, last_); }

  // ---- parse_statement.cc ----
  bool ParseStatementInto(Block* block);
  bool ParseSimpleStatements(Block* block);
  Stmt* ParseSimpleStatement();
  Stmt* ParseExpressionStatement();
  Stmt* ParseAnnotated(Expr* target);
  Stmt* ParseImport();
  Stmt* ParseImportFrom();
  bool ParseImportNames(std::vector<ImportAlias>* aliases);
  bool ParseDottedName(std::string* name);
  Stmt* ParseNames();  // global, nonlocal
  Stmt* ParseDelete();
  Stmt* ParseReturn();
  Stmt* ParseRaise();
  Stmt* ParseAssert();
  Stmt* ParseTypeAlias();

  // ---- parse_compound.cc ----
  Stmt* ParseCompoundStatement();  // null without an error: not at one
  bool ParseBlock(Block* block, const char* what, const Span& owner);
  Stmt* ParseIf();
  Stmt* ParseWhile();
  Stmt* ParseFor(const Span& start, bool is_async);
  Stmt* ParseTry();
  Stmt* ParseWith(const Span& start, bool is_async);
  bool ParseWithItems(std::vector<WithStmt::Item>* items);
  Stmt* ParseDecorated();
  Stmt* ParseFunctionDef(const Span& start, bool is_async, std::vector<Expr*> decorators);
  Stmt* ParseClassDef(const Span& start, std::vector<Expr*> decorators);
  Stmt* ParseAsync(std::vector<Expr*> decorators);
  Stmt* ParseMatch();
  bool AtMatchStatement() const;
  bool SkipTypeParameters();

  // ---- parse_parameters.cc ----
  bool ParseParameters(TokenKind end, std::vector<Parameter>* parameters);
  bool CheckParameters(const std::vector<Parameter>& parameters);
  bool ParseArguments(std::vector<Argument>* arguments);
  bool ParseArgument(std::vector<Argument>* arguments, bool* saw_keyword, bool* saw_double_star);

  // ---- parse_expression.cc ----
  Expr* ParseStarExpressions();    // a, *b, c -> Tuple
  Expr* ParseStarOrNamed();        // an element of a display or subscript
  Expr* ParseNamedExpression();    // may be a walrus
  Expr* ParseExpression();         // ternary or lambda
  Expr* ParseDisjunction();
  Expr* ParseConjunction();
  Expr* ParseInversion();
  Expr* ParseComparison();
  bool AcceptCompareOp(CompareOp* op);
  Expr* ParseBinary(int min_precedence);
  Expr* ParseUnary();
  Expr* ParsePower();
  Expr* ParseAwaitPrimary();
  Expr* ParsePrimary();
  Expr* ParseSubscriptIndex();
  Expr* ParseSlice();
  Expr* ParseLambda();
  Expr* ParseYield();
  Expr* ParseTargetList();  // of `for`: stops before `in`
  bool CheckTarget(Expr* target, TargetUse use);
  std::string DescribeExpr(const Expr* expr) const;
  bool AtExpressionStart() const;
  Expr* Finish(Expr* expr);  // computes the depth; null beyond kMaxTreeDepth

  // ---- parse_atom.cc ----
  Expr* ParseAtom();
  Expr* ParseNumber();
  Expr* ParseParenthesized();
  Expr* ParseListDisplay();
  Expr* ParseBraceDisplay();
  Expr* ParseDictAfter(const Span& start, Expr* first_key);
  bool ParseCompClauses(std::vector<CompClause>* clauses);
  Expr* ParseComprehensionAfter(const Span& start, CompKind kind, Expr* element, Expr* value);
  bool AtComprehension() const;
  bool ExpectCloser(TokenKind closer);

  // ---- parse_string.cc ----
  Expr* ParseStrings();
  bool AppendPlainString(const Token& token, std::string* out, bool* is_bytes, std::string* unsupported);
  bool ParseFString(std::vector<FStringExpr::Part>* parts, std::string* unsupported);
  bool ParseField(bool raw, std::vector<FStringExpr::Part>* parts, std::string* unsupported);
  bool DecodeText(const Token& token, absl::string_view text, bool raw, bool is_bytes, std::string* out, std::string* unsupported);

  Tree* tree_;
  int32_t file_;
  TokenStream stream_;
  size_t position_ = 0;
  Span last_;  // of the token read last, line ends and indentation aside
  int nesting_ = 0;
  Scope scope_;
  int function_depth_ = 0;
  absl::Status status_;
};

}  // namespace tilevm::triton

#endif  // TILEVM_FRONTENDS_TRITON_PARSER_IMPL_H_
