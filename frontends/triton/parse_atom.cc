// Atoms: names, numbers, and everything in brackets (tuples, displays, comprehensions).
#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontends/triton/parser_impl.h"

namespace tilevm::triton {
namespace {

// The value of an integer literal as the lexer accepts it; false if it needs more than 128 bits.
bool IntValue(absl::string_view text, absl::uint128* value) {
  unsigned base = 10;
  if (text.size() > 2 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10) text.remove_prefix(2);
  }
  const absl::uint128 limit = std::numeric_limits<absl::uint128>::max() / base;
  absl::uint128 total = 0;
  for (char c : text) {
    if (c == '_') continue;
    const unsigned digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (total > limit) return false;
    total *= base;
    if (total > std::numeric_limits<absl::uint128>::max() - digit) return false;
    total += digit;
  }
  *value = total;
  return true;
}

}  // namespace

Expr* Parser::ParseAtom() {
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::kName: {
      auto* node = tree_->Make<NameExpr>(Next().span);
      node->name = token.text;
      return node;
    }
    case TokenKind::kNone: return tree_->Make<NoneExpr>(Next().span);
    case TokenKind::kTrue:
    case TokenKind::kFalse: {
      auto* node = tree_->Make<BoolExpr>(Next().span);
      node->value = token.kind == TokenKind::kTrue;
      return node;
    }
    case TokenKind::kEllipsis: return tree_->Make<EllipsisExpr>(Next().span);
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kImaginary: return ParseNumber();
    case TokenKind::kString:
    case TokenKind::kFStringStart: return ParseStrings();
    case TokenKind::kLParen: return ParseParenthesized();
    case TokenKind::kLBracket: return ParseListDisplay();
    case TokenKind::kLBrace: return ParseBraceDisplay();
    default: return FailHere();
  }
}

Expr* Parser::ParseNumber() {
  const Token& token = Next();
  if (token.kind == TokenKind::kImaginary) {
    auto* node = tree_->Make<OpaqueExpr>(token.span);
    node->message = "complex numbers are not supported";
    return node;
  }
  if (token.kind == TokenKind::kInt) {
    auto* node = tree_->Make<IntExpr>(token.span);
    node->text = token.text;
    node->overflow = !IntValue(token.text, &node->value);
    return node;
  }
  auto* node = tree_->Make<FloatExpr>(token.span);
  if (!absl::SimpleAtod(absl::StrReplaceAll(token.text, {{"_", ""}}), &node->value)) return Fail(token.span, "invalid decimal literal");
  return node;
}

bool Parser::ExpectCloser(TokenKind closer) {
  if (Accept(closer)) return true;
  if (AtExpressionStart()) {
    Fail(Peek().span, "invalid syntax. Perhaps you forgot a comma?");
  } else {
    FailHere();
  }
  return false;
}

bool Parser::AtComprehension() const {
  return At(TokenKind::kFor) || (At(TokenKind::kAsync) && Peek(1).kind == TokenKind::kFor);
}

bool Parser::ParseCompClauses(std::vector<CompClause>* clauses) {
  while (AtComprehension()) {
    CompClause clause;
    clause.is_async = Accept(TokenKind::kAsync);
    Next();
    clause.target = ParseTargetList();
    if (!CheckTarget(clause.target, TargetUse::kFor)) return false;
    if (!Accept(TokenKind::kIn)) {
      FailHere();
      return false;
    }
    if ((clause.iterable = ParseDisjunction()) == nullptr) return false;
    while (Accept(TokenKind::kIf)) {
      Expr* condition = ParseDisjunction();
      if (condition == nullptr) return false;
      if (At(TokenKind::kWalrus)) {
        FailHere();
        return false;
      }
      clause.conditions.push_back(condition);
    }
    clauses->push_back(std::move(clause));
  }
  return true;
}

Expr* Parser::ParseComprehensionAfter(const Span& start, CompKind kind, Expr* element, Expr* value) {
  if (As<StarredExpr>(element) != nullptr) return Fail(element->span, "iterable unpacking cannot be used in comprehension");
  auto* node = tree_->Make<ComprehensionExpr>(start);
  node->comp_kind = kind;
  node->element = element;
  node->value = value;
  if (!ParseCompClauses(&node->clauses)) return nullptr;
  return node;
}

Expr* Parser::ParseParenthesized() {
  const Span start = Next().span;
  if (At(TokenKind::kYield)) {
    Expr* yield = ParseYield();
    if (yield == nullptr || !ExpectCloser(TokenKind::kRParen)) return nullptr;
    yield->parenthesized = true;
    return yield;
  }
  if (Accept(TokenKind::kRParen)) return tree_->Make<TupleExpr>(SpanSince(start));
  Expr* first = ParseStarOrNamed();
  if (first == nullptr) return nullptr;
  if (AtComprehension()) {
    Expr* generator = ParseComprehensionAfter(start, CompKind::kGenerator, first, nullptr);
    if (generator == nullptr || !ExpectCloser(TokenKind::kRParen)) return nullptr;
    generator->span = SpanSince(start);
    generator->parenthesized = true;
    return Finish(generator);
  }
  if (!At(TokenKind::kComma)) {
    if (!ExpectCloser(TokenKind::kRParen)) return nullptr;
    if (As<StarredExpr>(first) != nullptr) return Fail(first->span, "cannot use starred expression here");
    first->parenthesized = true;
    return first;
  }
  auto* tuple = tree_->Make<TupleExpr>(start);
  tuple->parenthesized = true;
  tuple->elements.push_back(first);
  while (Accept(TokenKind::kComma)) {
    if (At(TokenKind::kRParen)) break;
    Expr* element = ParseStarOrNamed();
    if (element == nullptr) return nullptr;
    tuple->elements.push_back(element);
  }
  if (!ExpectCloser(TokenKind::kRParen)) return nullptr;
  tuple->span = SpanSince(start);
  return Finish(tuple);
}

Expr* Parser::ParseListDisplay() {
  const Span start = Next().span;
  auto* list = tree_->Make<ListExpr>(start);
  while (!At(TokenKind::kRBracket)) {
    Expr* element = ParseStarOrNamed();
    if (element == nullptr) return nullptr;
    if (list->elements.empty() && AtComprehension()) {
      Expr* comp = ParseComprehensionAfter(start, CompKind::kList, element, nullptr);
      if (comp == nullptr || !ExpectCloser(TokenKind::kRBracket)) return nullptr;
      comp->span = SpanSince(start);
      return Finish(comp);
    }
    list->elements.push_back(element);
    if (!Accept(TokenKind::kComma)) break;
  }
  if (!ExpectCloser(TokenKind::kRBracket)) return nullptr;
  list->span = SpanSince(start);
  return Finish(list);
}

Expr* Parser::ParseBraceDisplay() {
  const Span start = Next().span;
  if (At(TokenKind::kRBrace) || At(TokenKind::kDoubleStar)) return ParseDictAfter(start, nullptr);
  Expr* first = ParseStarOrNamed();
  if (first == nullptr) return nullptr;
  if (At(TokenKind::kColon)) return ParseDictAfter(start, first);
  if (AtComprehension()) {
    Expr* comp = ParseComprehensionAfter(start, CompKind::kSet, first, nullptr);
    if (comp == nullptr || !ExpectCloser(TokenKind::kRBrace)) return nullptr;
    comp->span = SpanSince(start);
    return Finish(comp);
  }
  auto* set = tree_->Make<SetExpr>(start);
  set->elements.push_back(first);
  while (Accept(TokenKind::kComma)) {
    if (At(TokenKind::kRBrace)) break;
    Expr* element = ParseStarOrNamed();
    if (element == nullptr) return nullptr;
    set->elements.push_back(element);
  }
  if (!ExpectCloser(TokenKind::kRBrace)) return nullptr;
  set->span = SpanSince(start);
  return Finish(set);
}

// A dict from its opening brace on; `first_key` (or null) has been read already.
Expr* Parser::ParseDictAfter(const Span& start, Expr* first_key) {
  auto* dict = tree_->Make<DictExpr>(start);
  Expr* key = first_key;
  while (key != nullptr || !At(TokenKind::kRBrace)) {
    if (key == nullptr && Accept(TokenKind::kDoubleStar)) {
      Expr* value = ParseBinary(1);
      if (value == nullptr) return nullptr;
      dict->items.emplace_back(nullptr, value);
    } else {
      if (key == nullptr && (key = ParseExpression()) == nullptr) return nullptr;
      if (As<StarredExpr>(key) != nullptr || (As<WalrusExpr>(key) != nullptr && !key->parenthesized)) return FailHere();
      if (!At(TokenKind::kColon)) {
        if (At(TokenKind::kError)) return FailHere();
        return Fail(last_, "':' expected after dictionary key");
      }
      Next();
      if (At(TokenKind::kRBrace) || At(TokenKind::kComma)) return Fail(last_, "expression expected after dictionary key and ':'");
      Expr* value = ParseExpression();
      if (value == nullptr) return nullptr;
      if (dict->items.empty() && AtComprehension()) {
        Expr* comp = ParseComprehensionAfter(start, CompKind::kDict, key, value);
        if (comp == nullptr || !ExpectCloser(TokenKind::kRBrace)) return nullptr;
        comp->span = SpanSince(start);
        return Finish(comp);
      }
      dict->items.emplace_back(key, value);
    }
    key = nullptr;
    if (!Accept(TokenKind::kComma)) break;
  }
  if (!ExpectCloser(TokenKind::kRBrace)) return nullptr;
  dict->span = SpanSince(start);
  return Finish(dict);
}

}  // namespace tilevm::triton
