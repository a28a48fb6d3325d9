// Statements that open a block.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontends/triton/parser_impl.h"

namespace tilevm::triton {

Stmt* Parser::ParseCompoundStatement() {
  const Span start = Peek().span;
  switch (Peek().kind) {
    case TokenKind::kIf: return ParseIf();
    case TokenKind::kWhile: return ParseWhile();
    case TokenKind::kFor: return ParseFor(start, false);
    case TokenKind::kTry: return ParseTry();
    case TokenKind::kWith: return ParseWith(start, false);
    case TokenKind::kAt: return ParseDecorated();
    case TokenKind::kDef: return ParseFunctionDef(start, false, {});
    case TokenKind::kClass: return ParseClassDef(start, {});
    case TokenKind::kAsync: return ParseAsync({});
    case TokenKind::kIndent: return FailHere();
    case TokenKind::kName: return AtMatchStatement() ? ParseMatch() : nullptr;
    default: return nullptr;
  }
}

// `:` and a block: an indented one, or simple statements on the same line. `what` and `owner` word the error for a missing one.
bool Parser::ParseBlock(Block* block, const char* what, const Span& owner) {
  if (!Expect(TokenKind::kColon)) return false;
  if (!Accept(TokenKind::kNewline)) return ParseSimpleStatements(block);
  if (!Accept(TokenKind::kIndent)) {
    if (At(TokenKind::kError)) return FailHere(), false;
    return Fail(Peek().span, absl::StrCat("expected an indented block after ", what, " on line ", owner.line)), false;
  }
  while (!At(TokenKind::kDedent)) {
    if (!ParseStatementInto(block)) return false;
    if (At(TokenKind::kEndOfFile)) return FailHere(), false;
  }
  Next();
  return true;
}

Stmt* Parser::ParseIf() {
  const Span start = Peek().span;
  auto* node = tree_->Make<IfStmt>(start);
  do {
    IfStmt::Clause clause;
    const bool is_elif = At(TokenKind::kElif);
    clause.span = Next().span;
    if ((clause.test = ParseNamedExpression()) == nullptr) return nullptr;
    if (At(TokenKind::kEqual)) return Fail(clause.test->span, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    if (!ParseBlock(&clause.body, is_elif ? "'elif' statement" : "'if' statement", clause.span)) return nullptr;
    node->clauses.push_back(std::move(clause));
  } while (At(TokenKind::kElif));
  if (At(TokenKind::kElse)) {
    const Span owner = Next().span;
    if (!ParseBlock(&node->else_body, "'else' statement", owner)) return nullptr;
  }
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseWhile() {
  const Span start = Next().span;
  auto* node = tree_->Make<WhileStmt>(start);
  if ((node->test = ParseNamedExpression()) == nullptr) return nullptr;
  if (At(TokenKind::kEqual)) return Fail(node->test->span, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
  const Scope outer = scope_;
  scope_.in_loop = true;
  const bool ok = ParseBlock(&node->body, "'while' statement", start);
  scope_ = outer;
  if (!ok) return nullptr;
  if (At(TokenKind::kElse)) {
    const Span owner = Next().span;
    if (!ParseBlock(&node->else_body, "'else' statement", owner)) return nullptr;
  }
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseFor(const Span& start, bool is_async) {
  const Span owner = Next().span;
  auto* node = tree_->Make<ForStmt>(start);
  node->is_async = is_async;
  node->target = ParseTargetList();
  if (!CheckTarget(node->target, TargetUse::kFor)) return nullptr;
  if (!Accept(TokenKind::kIn)) return FailHere();
  if ((node->iterable = ParseStarExpressions()) == nullptr) return nullptr;
  const Scope outer = scope_;
  scope_.in_loop = true;
  const bool ok = ParseBlock(&node->body, "'for' statement", owner);
  scope_ = outer;
  if (!ok) return nullptr;
  if (At(TokenKind::kElse)) {
    const Span else_span = Next().span;
    if (!ParseBlock(&node->else_body, "'else' statement", else_span)) return nullptr;
  }
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseTry() {
  const Span start = Next().span;
  auto* node = tree_->Make<TryStmt>(start);
  if (!ParseBlock(&node->body, "'try' statement", start)) return nullptr;
  while (At(TokenKind::kExcept)) {
    TryStmt::Handler handler;
    const Span owner = Next().span;
    const bool is_group = Accept(TokenKind::kStar);
    if (!node->handlers.empty() && is_group != node->is_group) {
      return Fail(owner, "cannot have both 'except' and 'except*' on the same 'try'");
    }
    node->is_group = is_group;
    if (!At(TokenKind::kColon)) {
      if ((handler.type = ParseExpression()) == nullptr) return nullptr;
      if (At(TokenKind::kComma)) return Fail(handler.type->span, "multiple exception types must be parenthesized");
      if (Accept(TokenKind::kAs)) {
        if (!At(TokenKind::kName)) return FailHere();
        handler.name = Next().text;
      }
    }
    if (!node->handlers.empty() && node->handlers.back().type == nullptr) return Fail(node->handlers.back().span, "default 'except:' must be last");
    handler.span = owner;
    if (!ParseBlock(&handler.body, "'except' statement", owner)) return nullptr;
    node->handlers.push_back(std::move(handler));
  }
  if (At(TokenKind::kElse) && !node->handlers.empty()) {
    const Span owner = Next().span;
    if (!ParseBlock(&node->else_body, "'else' statement", owner)) return nullptr;
  }
  const bool has_finally = At(TokenKind::kFinally);
  if (has_finally) {
    const Span owner = Next().span;
    if (!ParseBlock(&node->final_body, "'finally' statement", owner)) return nullptr;
  }
  if (node->handlers.empty() && !has_finally) {
    if (At(TokenKind::kError)) return FailHere();
    return Fail(Peek().span, "expected 'except' or 'finally' block");
  }
  node->span = SpanSince(start);
  return node;
}

// The items; `with (a as b, c):` is told from an expression in parentheses by what stands inside and after them.
bool Parser::ParseWithItems(std::vector<WithStmt::Item>* items) {
  bool in_parens = false;
  if (At(TokenKind::kLParen) && Peek().match >= 0 && stream_.tokens[Peek().match + 1].kind == TokenKind::kColon) {
    in_parens = Peek(1).kind != TokenKind::kRParen;
    TokenKind before = TokenKind::kComma;
    for (int32_t i = static_cast<int32_t>(position_) + 1; i < Peek().match && in_parens; ++i) {
      const Token& token = stream_.tokens[i];
      const bool starred = token.kind == TokenKind::kStar && before == TokenKind::kComma;
      if (token.kind == TokenKind::kFor || token.kind == TokenKind::kAsync || token.kind == TokenKind::kYield ||
          token.kind == TokenKind::kWalrus || starred) {
        in_parens = false;
      }
      if (token.match > i) i = token.match;
      before = token.kind;
    }
  }
  if (in_parens) Next();
  do {
    if (in_parens && At(TokenKind::kRParen)) break;
    WithStmt::Item item;
    if ((item.context = ParseExpression()) == nullptr) return false;
    if (Accept(TokenKind::kAs)) {
      item.target = At(TokenKind::kStar) ? ParseStarOrNamed() : ParseBinary(1);
      if (!CheckTarget(item.target, TargetUse::kWith)) return false;
    }
    items->push_back(item);
  } while (Accept(TokenKind::kComma));
  return !in_parens || ExpectCloser(TokenKind::kRParen);
}

Stmt* Parser::ParseWith(const Span& start, bool is_async) {
  const Span owner = Next().span;
  auto* node = tree_->Make<WithStmt>(start);
  node->is_async = is_async;
  if (!ParseWithItems(&node->items)) return nullptr;
  if (!ParseBlock(&node->body, "'with' statement", owner)) return nullptr;
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseDecorated() {
  std::vector<Expr*> decorators;
  while (Accept(TokenKind::kAt)) {
    Expr* decorator = ParseNamedExpression();
    if (decorator == nullptr) return nullptr;
    decorators.push_back(decorator);
    if (!Accept(TokenKind::kNewline)) return FailHere();
  }
  const Span start = Peek().span;
  if (At(TokenKind::kDef)) return ParseFunctionDef(start, false, std::move(decorators));
  if (At(TokenKind::kClass)) return ParseClassDef(start, std::move(decorators));
  if (At(TokenKind::kAsync) && Peek(1).kind == TokenKind::kDef) return ParseAsync(std::move(decorators));
  return FailHere();
}

Stmt* Parser::ParseAsync(std::vector<Expr*> decorators) {
  const Span start = Next().span;
  if (At(TokenKind::kDef)) return ParseFunctionDef(start, true, std::move(decorators));
  if (!At(TokenKind::kFor) && !At(TokenKind::kWith)) return FailHere();
  const absl::string_view what = At(TokenKind::kFor) ? "for" : "with";
  if (!scope_.in_async) return Fail(start, absl::StrCat("'async ", what, "' outside async function"));
  return At(TokenKind::kFor) ? ParseFor(start, true) : ParseWith(start, true);
}

Stmt* Parser::ParseFunctionDef(const Span& start, bool is_async, std::vector<Expr*> decorators) {
  Next();
  auto* node = tree_->Make<FunctionDefStmt>(start);
  node->is_async = is_async;
  node->decorators = std::move(decorators);
  if (!At(TokenKind::kName)) return FailHere();
  node->name_span = Peek().span;
  node->name = Next().text;
  if (!SkipTypeParameters() || !Expect(TokenKind::kLParen)) return nullptr;
  if (!ParseParameters(TokenKind::kRParen, &node->parameters) || !ExpectCloser(TokenKind::kRParen)) return nullptr;
  if (Accept(TokenKind::kArrow)) {
    if ((node->returns = ParseExpression()) == nullptr) return nullptr;
  }
  const Scope outer = scope_;
  scope_ = Scope{true, is_async, false};
  ++function_depth_;
  const bool ok = ParseBlock(&node->body, "function definition", start);
  --function_depth_;
  scope_ = outer;
  if (!ok) return nullptr;
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseClassDef(const Span& start, std::vector<Expr*> decorators) {
  Next();
  auto* node = tree_->Make<ClassDefStmt>(start);
  node->decorators = std::move(decorators);
  if (!At(TokenKind::kName)) return FailHere();
  node->name_span = Peek().span;
  node->name = Next().text;
  if (!SkipTypeParameters()) return nullptr;
  if (At(TokenKind::kLParen) && !ParseArguments(&node->arguments)) return nullptr;
  const Scope outer = scope_;
  scope_ = Scope{};
  const bool ok = ParseBlock(&node->body, "class definition", start);
  scope_ = outer;
  if (!ok) return nullptr;
  node->span = SpanSince(start);
  return node;
}

// PEP 695 `[T, *Ts]` after a name: types play no part here.
bool Parser::SkipTypeParameters() {
  if (!At(TokenKind::kLBracket)) return true;
  if (Peek().match < 0) return FailHere(), false;
  position_ = static_cast<size_t>(Peek().match);
  Next();
  return true;
}

// `match` is a name elsewhere: it opens a statement if its line ends in `:` and an indented `case` follows.
bool Parser::AtMatchStatement() const {
  if (!AtName("match")) return false;
  size_t i = position_ + 1;
  for (; i < stream_.tokens.size() && stream_.tokens[i].kind != TokenKind::kNewline; ++i) {
    if (stream_.tokens[i].match > static_cast<int32_t>(i)) i = static_cast<size_t>(stream_.tokens[i].match);
  }
  if (i + 2 >= stream_.tokens.size() || i < position_ + 3) return false;
  return stream_.tokens[i - 1].kind == TokenKind::kColon && stream_.tokens[i + 1].kind == TokenKind::kIndent &&
         stream_.tokens[i + 2].kind == TokenKind::kName && stream_.tokens[i + 2].text == "case";
}

Stmt* Parser::ParseMatch() {
  const Span start = Peek().span;
  int depth = 0;
  Span end = start;
  for (;;) {
    if (At(TokenKind::kError) || At(TokenKind::kEndOfFile)) return FailHere();
    const TokenKind kind = Peek().kind;
    if (kind == TokenKind::kIndent) ++depth;
    if (kind != TokenKind::kDedent && kind != TokenKind::kNewline) end = Peek().span;
    Next();
    if (kind == TokenKind::kDedent && --depth == 0) break;
  }
  last_ = end;
  auto* node = tree_->Make<OpaqueStmt>(Join(start, end));
  node->message = "match statements are not supported";
  return node;
}

}  // namespace tilevm::triton
