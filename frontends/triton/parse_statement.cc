// Simple statements; a statement that opens a block is in parse_compound.cc.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontends/triton/parser_impl.h"

namespace tilevm::triton {
namespace {

// The operator of an augmented assignment such as `+=`; false: the token is not one.
bool AugmentedOp(TokenKind kind, BinaryOp* op) {
  switch (kind) {
    case TokenKind::kPlusEqual: *op = BinaryOp::kAdd; return true;
    case TokenKind::kMinusEqual: *op = BinaryOp::kSub; return true;
    case TokenKind::kStarEqual: *op = BinaryOp::kMul; return true;
    case TokenKind::kAtEqual: *op = BinaryOp::kMatMul; return true;
    case TokenKind::kSlashEqual: *op = BinaryOp::kTrueDiv; return true;
    case TokenKind::kDoubleSlashEqual: *op = BinaryOp::kFloorDiv; return true;
    case TokenKind::kPercentEqual: *op = BinaryOp::kMod; return true;
    case TokenKind::kDoubleStarEqual: *op = BinaryOp::kPow; return true;
    case TokenKind::kLeftShiftEqual: *op = BinaryOp::kShiftLeft; return true;
    case TokenKind::kRightShiftEqual: *op = BinaryOp::kShiftRight; return true;
    case TokenKind::kAmperEqual: *op = BinaryOp::kBitAnd; return true;
    case TokenKind::kVBarEqual: *op = BinaryOp::kBitOr; return true;
    case TokenKind::kCaretEqual: *op = BinaryOp::kBitXor; return true;
    default: return false;
  }
}

}  // namespace

bool Parser::ParseStatementInto(Block* block) {
  Nest nest(this);
  if (!nest.ok()) return false;
  Stmt* compound = ParseCompoundStatement();
  if (failed()) return false;
  if (compound == nullptr) return ParseSimpleStatements(block);
  block->push_back(compound);
  return true;
}

// One line of statements separated by semicolons.
bool Parser::ParseSimpleStatements(Block* block) {
  for (;;) {
    Stmt* statement = ParseSimpleStatement();
    if (statement == nullptr) return false;
    block->push_back(statement);
    if (Accept(TokenKind::kNewline)) return true;
    if (!At(TokenKind::kSemicolon)) {
      const auto* expr = As<ExprStmt>(statement);
      const auto* name = expr == nullptr ? nullptr : As<NameExpr>(expr->value);
      if (name != nullptr && AtExpressionStart() && (name->name == "print" || name->name == "exec")) {
        return Fail(name->span, absl::StrCat("Missing parentheses in call to '", name->name, "'. Did you mean ", name->name, "(...)?")), false;
      }
      return FailHere(), false;
    }
    Next();
    if (Accept(TokenKind::kNewline)) return true;
  }
}

Stmt* Parser::ParseSimpleStatement() {
  const Span start = Peek().span;
  switch (Peek().kind) {
    case TokenKind::kPass: return tree_->Make<PassStmt>(Next().span);
    case TokenKind::kBreak:
      Next();
      if (!scope_.in_loop) return Fail(start, "'break' outside loop");
      return tree_->Make<BreakStmt>(start);
    case TokenKind::kContinue:
      Next();
      if (!scope_.in_loop) return Fail(start, "'continue' not properly in loop");
      return tree_->Make<ContinueStmt>(start);
    case TokenKind::kReturn: return ParseReturn();
    case TokenKind::kRaise: return ParseRaise();
    case TokenKind::kAssert: return ParseAssert();
    case TokenKind::kDel: return ParseDelete();
    case TokenKind::kGlobal:
    case TokenKind::kNonlocal: return ParseNames();
    case TokenKind::kImport: return ParseImport();
    case TokenKind::kFrom: return ParseImportFrom();
    case TokenKind::kName:
      if (AtName("type") && Peek(1).kind == TokenKind::kName &&
          (Peek(2).kind == TokenKind::kEqual || Peek(2).kind == TokenKind::kLBracket)) {
        return ParseTypeAlias();
      }
      return ParseExpressionStatement();
    default: return ParseExpressionStatement();
  }
}

Stmt* Parser::ParseExpressionStatement() {
  const Span start = Peek().span;
  const auto parse_value = [&] { return At(TokenKind::kYield) ? ParseYield() : ParseStarExpressions(); };
  Expr* first = parse_value();
  if (first == nullptr) return nullptr;
  if (At(TokenKind::kColon)) return ParseAnnotated(first);
  BinaryOp op{};
  if (AugmentedOp(Peek().kind, &op)) {
    if (!CheckTarget(first, TargetUse::kAugmented)) return nullptr;
    auto* node = tree_->Make<AugAssignStmt>(start);
    node->target = first;
    node->op = op;
    node->op_span = Next().span;
    if ((node->value = parse_value()) == nullptr) return nullptr;
    node->span = SpanSince(start);
    return node;
  }
  if (!At(TokenKind::kEqual)) {
    auto* node = tree_->Make<ExprStmt>(SpanSince(start));
    node->value = first;
    return node;
  }
  auto* node = tree_->Make<AssignStmt>(start);
  Expr* value = first;
  while (Accept(TokenKind::kEqual)) {
    if (!CheckTarget(value, TargetUse::kAssign)) return nullptr;
    if (As<StarredExpr>(value) != nullptr) return Fail(value->span, "starred assignment target must be in a list or tuple");
    node->targets.push_back(value);
    if ((value = parse_value()) == nullptr) return nullptr;
  }
  if (As<StarredExpr>(value) != nullptr) return Fail(value->span, "can't use starred expression here");
  node->value = value;
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseAnnotated(Expr* target) {
  if (!CheckTarget(target, TargetUse::kAnnotated)) return nullptr;
  Next();
  auto* node = tree_->Make<AnnAssignStmt>(target->span);
  node->target = target;
  if ((node->annotation = ParseExpression()) == nullptr) return nullptr;
  if (Accept(TokenKind::kEqual)) {
    node->value = At(TokenKind::kYield) ? ParseYield() : ParseStarExpressions();
    if (node->value == nullptr) return nullptr;
  }
  node->span = SpanSince(target->span);
  return node;
}

Stmt* Parser::ParseReturn() {
  const Span start = Next().span;
  if (!scope_.in_function) return Fail(start, "'return' outside function");
  auto* node = tree_->Make<ReturnStmt>(start);
  if (!At(TokenKind::kNewline) && !At(TokenKind::kSemicolon)) {
    if ((node->value = ParseStarExpressions()) == nullptr) return nullptr;
  }
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseRaise() {
  const Span start = Next().span;
  auto* node = tree_->Make<RaiseStmt>(start);
  if (AtExpressionStart()) {
    if ((node->exception = ParseExpression()) == nullptr) return nullptr;
    if (Accept(TokenKind::kFrom)) {
      if ((node->cause = ParseExpression()) == nullptr) return nullptr;
    }
  }
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseAssert() {
  const Span start = Next().span;
  auto* node = tree_->Make<AssertStmt>(start);
  if ((node->test = ParseExpression()) == nullptr) return nullptr;
  if (Accept(TokenKind::kComma)) {
    if ((node->message = ParseExpression()) == nullptr) return nullptr;
  }
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseDelete() {
  const Span start = Next().span;
  Expr* targets = ParseStarExpressions();
  if (!CheckTarget(targets, TargetUse::kDelete)) return nullptr;
  auto* node = tree_->Make<DeleteStmt>(SpanSince(start));
  const auto* tuple = As<TupleExpr>(targets);
  if (tuple != nullptr && !tuple->parenthesized) {
    node->targets = tuple->elements;
  } else {
    node->targets.push_back(targets);
  }
  return node;
}

Stmt* Parser::ParseNames() {
  const bool is_global = At(TokenKind::kGlobal);
  const Span start = Next().span;
  std::vector<absl::string_view> names;
  do {
    if (!At(TokenKind::kName)) return FailHere();
    names.push_back(Next().text);
  } while (Accept(TokenKind::kComma));
  if (is_global) {
    auto* node = tree_->Make<GlobalStmt>(SpanSince(start));
    node->names = std::move(names);
    return node;
  }
  if (function_depth_ == 0) return Fail(start, "nonlocal declaration not allowed at module level");
  auto* node = tree_->Make<NonlocalStmt>(SpanSince(start));
  node->names = std::move(names);
  return node;
}

bool Parser::ParseDottedName(std::string* name) {
  for (;;) {
    if (!At(TokenKind::kName)) return FailHere(), false;
    absl::StrAppend(name, Next().text);
    if (!Accept(TokenKind::kDot)) return true;
    name->push_back('.');
  }
}

Stmt* Parser::ParseImport() {
  const Span start = Next().span;
  auto* node = tree_->Make<ImportStmt>(start);
  do {
    ImportAlias alias;
    const Span name_start = Peek().span;
    if (!ParseDottedName(&alias.name)) return nullptr;
    if (Accept(TokenKind::kAs)) {
      if (!At(TokenKind::kName)) return FailHere();
      alias.as_name = Next().text;
    }
    alias.span = SpanSince(name_start);
    node->aliases.push_back(std::move(alias));
  } while (Accept(TokenKind::kComma));
  node->span = SpanSince(start);
  return node;
}

Stmt* Parser::ParseImportFrom() {
  const Span start = Next().span;
  auto* node = tree_->Make<ImportFromStmt>(start);
  for (;;) {
    if (Accept(TokenKind::kDot)) {
      node->level += 1;
    } else if (Accept(TokenKind::kEllipsis)) {
      node->level += 3;
    } else {
      break;
    }
  }
  if (!(At(TokenKind::kImport) && node->level > 0) && !ParseDottedName(&node->module)) return nullptr;
  if (!Accept(TokenKind::kImport)) return FailHere();
  if (At(TokenKind::kStar)) {
    ImportAlias alias;
    alias.name = "*";
    alias.span = Next().span;
    if (scope_.in_function) return Fail(start, "import * only allowed at module level");
    node->aliases.push_back(std::move(alias));
  } else if (!ParseImportNames(&node->aliases)) {
    return nullptr;
  }
  node->span = SpanSince(start);
  return node;
}

bool Parser::ParseImportNames(std::vector<ImportAlias>* aliases) {
  const bool in_parens = Accept(TokenKind::kLParen);
  do {
    if (!aliases->empty() && in_parens && At(TokenKind::kRParen)) break;
    if (!aliases->empty() && At(TokenKind::kNewline)) {
      return Fail(last_, "trailing comma not allowed without surrounding parentheses"), false;
    }
    if (!At(TokenKind::kName)) return FailHere(), false;
    ImportAlias alias;
    const Token& name = Next();
    alias.name = std::string(name.text);
    if (Accept(TokenKind::kAs)) {
      if (!At(TokenKind::kName)) return FailHere(), false;
      alias.as_name = Next().text;
    }
    alias.span = SpanSince(name.span);
    aliases->push_back(std::move(alias));
  } while (Accept(TokenKind::kComma));
  return !in_parens || ExpectCloser(TokenKind::kRParen);
}

// PEP 695 `type X = ...`: checked, then kept as opaque.
Stmt* Parser::ParseTypeAlias() {
  const Span start = Next().span;
  Next();
  if (!SkipTypeParameters()) return nullptr;
  if (!Accept(TokenKind::kEqual)) return FailHere();
  if (ParseExpression() == nullptr) return nullptr;
  auto* node = tree_->Make<OpaqueStmt>(SpanSince(start));
  node->message = "type alias statements are not supported";
  return node;
}

}  // namespace tilevm::triton
