// Expressions above atoms: operators by precedence, calls, subscripts, lambda, and which expressions may be targets.
#include <string>

#include "absl/strings/str_cat.h"
#include "frontends/triton/parser_impl.h"

namespace tilevm::triton {
namespace {

// Precedence of a binary operator, higher binds tighter; 0: not one. `**` is apart (it binds to the right, and tighter than unary on its left).
int Precedence(TokenKind kind, BinaryOp* op) {
  switch (kind) {
    case TokenKind::kVBar: *op = BinaryOp::kBitOr; return 1;
    case TokenKind::kCaret: *op = BinaryOp::kBitXor; return 2;
    case TokenKind::kAmper: *op = BinaryOp::kBitAnd; return 3;
    case TokenKind::kLeftShift: *op = BinaryOp::kShiftLeft; return 4;
    case TokenKind::kRightShift: *op = BinaryOp::kShiftRight; return 4;
    case TokenKind::kPlus: *op = BinaryOp::kAdd; return 5;
    case TokenKind::kMinus: *op = BinaryOp::kSub; return 5;
    case TokenKind::kStar: *op = BinaryOp::kMul; return 6;
    case TokenKind::kSlash: *op = BinaryOp::kTrueDiv; return 6;
    case TokenKind::kDoubleSlash: *op = BinaryOp::kFloorDiv; return 6;
    case TokenKind::kPercent: *op = BinaryOp::kMod; return 6;
    case TokenKind::kAt: *op = BinaryOp::kMatMul; return 6;
    default: return 0;
  }
}

int DepthOf(const Expr* expr) { return expr == nullptr ? 0 : expr->depth; }

template <typename List>
int DepthOfAll(const List& list) {
  int depth = 0;
  for (const Expr* expr : list) depth = std::max(depth, DepthOf(expr));
  return depth;
}

int DepthOfClauses(const std::vector<CompClause>& clauses) {
  int depth = 0;
  for (const CompClause& clause : clauses) {
    depth = std::max({depth, DepthOf(clause.target), DepthOf(clause.iterable), DepthOfAll(clause.conditions)});
  }
  return depth;
}

int DepthOfParameters(const std::vector<Parameter>& parameters) {
  int depth = 0;
  for (const Parameter& parameter : parameters) depth = std::max(depth, DepthOf(parameter.default_value));
  return depth;
}

int DepthBelow(const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::kUnary: return DepthOf(As<UnaryExpr>(expr)->operand);
    case ExprKind::kBinary: {
      // A chain `a + b + c + ...` is walked by a loop: it is as deep as its deepest operand.
      const auto* node = As<BinaryExpr>(expr);
      const int left = DepthOf(node->left) - (node->left->kind == ExprKind::kBinary ? 1 : 0);
      return std::max(left, DepthOf(node->right));
    }
    case ExprKind::kBoolOp: return DepthOfAll(As<BoolOpExpr>(expr)->operands);
    case ExprKind::kCompare: return DepthOfAll(As<CompareExpr>(expr)->operands);
    case ExprKind::kTernary: {
      const auto* ternary = As<TernaryExpr>(expr);
      return std::max({DepthOf(ternary->test), DepthOf(ternary->then_value), DepthOf(ternary->else_value)});
    }
    case ExprKind::kWalrus: return DepthOf(As<WalrusExpr>(expr)->value);
    case ExprKind::kLambda: return std::max(DepthOf(As<LambdaExpr>(expr)->body), DepthOfParameters(As<LambdaExpr>(expr)->parameters));
    case ExprKind::kCall: {
      int depth = DepthOf(As<CallExpr>(expr)->callee);
      for (const Argument& argument : As<CallExpr>(expr)->arguments) depth = std::max(depth, DepthOf(argument.value));
      return depth;
    }
    case ExprKind::kAttribute: return DepthOf(As<AttributeExpr>(expr)->object);
    case ExprKind::kSubscript: return std::max(DepthOf(As<SubscriptExpr>(expr)->object), DepthOf(As<SubscriptExpr>(expr)->index));
    case ExprKind::kSlice: {
      const auto* slice = As<SliceExpr>(expr);
      return std::max({DepthOf(slice->lower), DepthOf(slice->upper), DepthOf(slice->step)});
    }
    case ExprKind::kStarred: return DepthOf(As<StarredExpr>(expr)->value);
    case ExprKind::kTuple: return DepthOfAll(As<TupleExpr>(expr)->elements);
    case ExprKind::kList: return DepthOfAll(As<ListExpr>(expr)->elements);
    case ExprKind::kSet: return DepthOfAll(As<SetExpr>(expr)->elements);
    case ExprKind::kDict: {
      int depth = 0;
      for (const auto& [key, value] : As<DictExpr>(expr)->items) depth = std::max({depth, DepthOf(key), DepthOf(value)});
      return depth;
    }
    case ExprKind::kComprehension: {
      const auto* comp = As<ComprehensionExpr>(expr);
      return std::max({DepthOf(comp->element), DepthOf(comp->value), DepthOfClauses(comp->clauses)});
    }
    case ExprKind::kFString: {
      int depth = 0;
      for (const FStringExpr::Part& part : As<FStringExpr>(expr)->parts) depth = std::max({depth, DepthOf(part.value), DepthOf(part.spec)});
      return depth;
    }
    case ExprKind::kAwait: return DepthOf(As<AwaitExpr>(expr)->value);
    case ExprKind::kYield: return DepthOf(As<YieldExpr>(expr)->value);
    default: return 0;
  }
}

}  // namespace

Expr* Parser::Finish(Expr* expr) {
  if (failed()) return nullptr;
  const int depth = DepthBelow(expr) + 1;
  if (depth > kMaxTreeDepth) return Fail(expr->span, absl::StrCat("expression is too deeply nested (at most ", kMaxTreeDepth, ")"));
  expr->depth = static_cast<int16_t>(depth);
  return expr;
}

bool Parser::AtExpressionStart() const {
  switch (Peek().kind) {
    case TokenKind::kName:
    case TokenKind::kInt:
    case TokenKind::kFloat:
    case TokenKind::kImaginary:
    case TokenKind::kString:
    case TokenKind::kFStringStart:
    case TokenKind::kLParen:
    case TokenKind::kLBracket:
    case TokenKind::kLBrace:
    case TokenKind::kEllipsis:
    case TokenKind::kMinus:
    case TokenKind::kPlus:
    case TokenKind::kTilde:
    case TokenKind::kNot:
    case TokenKind::kLambda:
    case TokenKind::kAwait:
    case TokenKind::kNone:
    case TokenKind::kTrue:
    case TokenKind::kFalse: return true;
    default: return false;
  }
}

Expr* Parser::ParseStarExpressions() {
  const Span start = Peek().span;
  Expr* first = ParseStarOrNamed();
  if (first == nullptr) return nullptr;
  if (As<WalrusExpr>(first) != nullptr && !first->parenthesized) return Fail(first->span, "invalid syntax");
  if (!At(TokenKind::kComma)) {
    if (As<StarredExpr>(first) != nullptr && !At(TokenKind::kEqual)) return Fail(first->span, "can't use starred expression here");
    return first;
  }
  auto* tuple = tree_->Make<TupleExpr>(start);
  tuple->elements.push_back(first);
  while (Accept(TokenKind::kComma)) {
    if (!AtExpressionStart() && !At(TokenKind::kStar)) break;
    Expr* element = ParseStarOrNamed();
    if (element == nullptr) return nullptr;
    if (As<WalrusExpr>(element) != nullptr && !element->parenthesized) return Fail(element->span, "invalid syntax");
    tuple->elements.push_back(element);
  }
  tuple->span = SpanSince(start);
  return Finish(tuple);
}

Expr* Parser::ParseStarOrNamed() {
  if (!At(TokenKind::kStar)) return ParseNamedExpression();
  const Span start = Next().span;
  Expr* value = ParseBinary(1);
  if (value == nullptr) return nullptr;
  auto* starred = tree_->Make<StarredExpr>(SpanSince(start));
  starred->value = value;
  return Finish(starred);
}

Expr* Parser::ParseNamedExpression() {
  const Span start = Peek().span;
  Expr* expr = ParseExpression();
  if (expr == nullptr || !At(TokenKind::kWalrus)) return expr;
  auto* target = As<NameExpr>(expr);
  if (target == nullptr || target->parenthesized) {
    return Fail(expr->span, absl::StrCat("cannot use assignment expressions with ", DescribeExpr(expr)));
  }
  Next();
  Expr* value = ParseExpression();
  if (value == nullptr) return nullptr;
  auto* walrus = tree_->Make<WalrusExpr>(SpanSince(start));
  walrus->target = target;
  walrus->value = value;
  return Finish(walrus);
}

Expr* Parser::ParseExpression() {
  Nest nest(this);
  if (!nest.ok()) return nullptr;
  if (At(TokenKind::kLambda)) return ParseLambda();
  const Span start = Peek().span;
  Expr* value = ParseDisjunction();
  if (value == nullptr || !At(TokenKind::kIf)) return value;
  Next();
  Expr* test = ParseDisjunction();
  if (test == nullptr) return nullptr;
  if (!At(TokenKind::kElse)) {
    if (At(TokenKind::kError)) return FailHere();
    return Fail(Join(start, last_), "expected 'else' after 'if' expression");
  }
  Next();
  Expr* other = ParseExpression();
  if (other == nullptr) return nullptr;
  auto* ternary = tree_->Make<TernaryExpr>(SpanSince(start));
  ternary->test = test;
  ternary->then_value = value;
  ternary->else_value = other;
  return Finish(ternary);
}

Expr* Parser::ParseDisjunction() {
  const Span start = Peek().span;
  Expr* first = ParseConjunction();
  if (first == nullptr || !At(TokenKind::kOr)) return first;
  auto* node = tree_->Make<BoolOpExpr>(start);
  node->op = BoolOp::kOr;
  node->operands.push_back(first);
  while (Accept(TokenKind::kOr)) {
    Expr* operand = ParseConjunction();
    if (operand == nullptr) return nullptr;
    node->operands.push_back(operand);
  }
  node->span = SpanSince(start);
  return Finish(node);
}

Expr* Parser::ParseConjunction() {
  const Span start = Peek().span;
  Expr* first = ParseInversion();
  if (first == nullptr || !At(TokenKind::kAnd)) return first;
  auto* node = tree_->Make<BoolOpExpr>(start);
  node->op = BoolOp::kAnd;
  node->operands.push_back(first);
  while (Accept(TokenKind::kAnd)) {
    Expr* operand = ParseInversion();
    if (operand == nullptr) return nullptr;
    node->operands.push_back(operand);
  }
  node->span = SpanSince(start);
  return Finish(node);
}

Expr* Parser::ParseInversion() {
  if (!At(TokenKind::kNot)) return ParseComparison();
  Nest nest(this);
  if (!nest.ok()) return nullptr;
  const Span start = Next().span;
  Expr* operand = ParseInversion();
  if (operand == nullptr) return nullptr;
  auto* node = tree_->Make<UnaryExpr>(SpanSince(start));
  node->op = UnaryOp::kNot;
  node->operand = operand;
  return Finish(node);
}

bool Parser::AcceptCompareOp(CompareOp* op) {
  switch (Peek().kind) {
    case TokenKind::kEqualEqual: *op = CompareOp::kEq; break;
    case TokenKind::kNotEqual: *op = CompareOp::kNe; break;
    case TokenKind::kLess: *op = CompareOp::kLt; break;
    case TokenKind::kLessEqual: *op = CompareOp::kLe; break;
    case TokenKind::kGreater: *op = CompareOp::kGt; break;
    case TokenKind::kGreaterEqual: *op = CompareOp::kGe; break;
    case TokenKind::kIn: *op = CompareOp::kIn; break;
    case TokenKind::kIs:
      Next();
      *op = Accept(TokenKind::kNot) ? CompareOp::kIsNot : CompareOp::kIs;
      return true;
    case TokenKind::kNot:
      if (Peek(1).kind != TokenKind::kIn) return false;
      Next();
      *op = CompareOp::kNotIn;
      break;
    default: return false;
  }
  Next();
  return true;
}

Expr* Parser::ParseComparison() {
  const Span start = Peek().span;
  Expr* first = ParseBinary(1);
  if (first == nullptr) return nullptr;
  CompareOp op;
  Span op_span = Peek().span;
  if (!AcceptCompareOp(&op)) return first;
  auto* node = tree_->Make<CompareExpr>(start);
  node->operands.push_back(first);
  do {
    Expr* operand = ParseBinary(1);
    if (operand == nullptr) return nullptr;
    node->ops.push_back(op);
    node->op_spans.push_back(op_span);
    node->operands.push_back(operand);
    op_span = Peek().span;
  } while (AcceptCompareOp(&op));
  node->span = SpanSince(start);
  return Finish(node);
}

// Operators of at least `min_precedence`, which group to the left.
Expr* Parser::ParseBinary(int min_precedence) {
  const Span start = Peek().span;
  Expr* left = ParseUnary();
  BinaryOp op{};
  while (left != nullptr) {
    const int precedence = Precedence(Peek().kind, &op);
    if (precedence == 0 || precedence < min_precedence) return left;
    const Span op_span = Next().span;
    Expr* right = ParseBinary(precedence + 1);
    if (right == nullptr) return nullptr;
    auto* node = tree_->Make<BinaryExpr>(SpanSince(start));
    node->op = op;
    node->left = left;
    node->right = right;
    node->op_span = op_span;
    left = Finish(node);
  }
  return nullptr;
}

Expr* Parser::ParseUnary() {
  UnaryOp op;
  switch (Peek().kind) {
    case TokenKind::kMinus: op = UnaryOp::kNegate; break;
    case TokenKind::kPlus: op = UnaryOp::kPlus; break;
    case TokenKind::kTilde: op = UnaryOp::kInvert; break;
    default: return ParsePower();
  }
  Nest nest(this);
  if (!nest.ok()) return nullptr;
  const Span start = Next().span;
  Expr* operand = ParseUnary();
  if (operand == nullptr) return nullptr;
  auto* node = tree_->Make<UnaryExpr>(SpanSince(start));
  node->op = op;
  node->operand = operand;
  return Finish(node);
}

Expr* Parser::ParsePower() {
  const Span start = Peek().span;
  Expr* left = ParseAwaitPrimary();
  if (left == nullptr || !At(TokenKind::kDoubleStar)) return left;
  Nest nest(this);
  if (!nest.ok()) return nullptr;
  const Span op_span = Next().span;
  Expr* right = ParseUnary();
  if (right == nullptr) return nullptr;
  auto* node = tree_->Make<BinaryExpr>(SpanSince(start));
  node->op = BinaryOp::kPow;
  node->left = left;
  node->right = right;
  node->op_span = op_span;
  return Finish(node);
}

Expr* Parser::ParseAwaitPrimary() {
  if (!At(TokenKind::kAwait)) return ParsePrimary();
  const Span start = Next().span;
  if (!scope_.in_function) return Fail(start, "'await' outside function");
  Expr* value = ParsePrimary();
  if (value == nullptr) return nullptr;
  auto* node = tree_->Make<AwaitExpr>(SpanSince(start));
  node->value = value;
  return Finish(node);
}

Expr* Parser::ParsePrimary() {
  const Span start = Peek().span;
  Expr* expr = ParseAtom();
  while (expr != nullptr) {
    if (Accept(TokenKind::kDot)) {
      if (!At(TokenKind::kName)) return FailHere();
      const Token& name = Next();
      auto* node = tree_->Make<AttributeExpr>(SpanSince(start));
      node->object = expr;
      node->name = name.text;
      node->name_span = name.span;
      expr = Finish(node);
    } else if (At(TokenKind::kLParen)) {
      auto* node = tree_->Make<CallExpr>(start);
      node->callee = expr;
      if (!ParseArguments(&node->arguments)) return nullptr;
      node->span = SpanSince(start);
      expr = Finish(node);
    } else if (Accept(TokenKind::kLBracket)) {
      Expr* index = ParseSubscriptIndex();
      if (index == nullptr || !ExpectCloser(TokenKind::kRBracket)) return nullptr;
      auto* node = tree_->Make<SubscriptExpr>(SpanSince(start));
      node->object = expr;
      node->index = index;
      expr = Finish(node);
    } else {
      return expr;
    }
  }
  return nullptr;
}

Expr* Parser::ParseSubscriptIndex() {
  const Span start = Peek().span;
  Expr* first = ParseSlice();
  if (first == nullptr) return nullptr;
  if (!At(TokenKind::kComma) && As<StarredExpr>(first) == nullptr) return first;
  auto* tuple = tree_->Make<TupleExpr>(start);
  tuple->elements.push_back(first);
  while (Accept(TokenKind::kComma)) {
    if (At(TokenKind::kRBracket)) break;
    Expr* element = ParseSlice();
    if (element == nullptr) return nullptr;
    tuple->elements.push_back(element);
  }
  tuple->span = SpanSince(start);
  return Finish(tuple);
}

Expr* Parser::ParseSlice() {
  const Span start = Peek().span;
  Expr* lower = nullptr;
  if (!At(TokenKind::kColon)) {
    lower = ParseStarOrNamed();
    if (lower == nullptr) return nullptr;
    if (!At(TokenKind::kColon)) return lower;
    if (As<StarredExpr>(lower) != nullptr || (As<WalrusExpr>(lower) != nullptr && !lower->parenthesized)) return FailHere();
  }
  auto* slice = tree_->Make<SliceExpr>(start);
  slice->lower = lower;
  Next();
  const auto at_end = [&] { return At(TokenKind::kComma) || At(TokenKind::kRBracket) || At(TokenKind::kColon); };
  if (!at_end() && (slice->upper = ParseExpression()) == nullptr) return nullptr;
  if (Accept(TokenKind::kColon)) {
    if (!at_end() && (slice->step = ParseExpression()) == nullptr) return nullptr;
  }
  slice->span = SpanSince(start);
  return Finish(slice);
}

Expr* Parser::ParseLambda() {
  const Span start = Next().span;
  auto* node = tree_->Make<LambdaExpr>(start);
  if (!ParseParameters(TokenKind::kColon, &node->parameters)) return nullptr;
  if (!Expect(TokenKind::kColon)) return nullptr;
  const Scope outer = scope_;
  scope_.in_function = true;
  scope_.in_loop = false;
  node->body = ParseExpression();
  scope_ = outer;
  if (node->body == nullptr) return nullptr;
  node->span = SpanSince(start);
  return Finish(node);
}

Expr* Parser::ParseYield() {
  const Span start = Next().span;
  if (!scope_.in_function) return Fail(start, "'yield' outside function");
  auto* node = tree_->Make<YieldExpr>(start);
  if (Accept(TokenKind::kFrom)) {
    node->is_from = true;
    if ((node->value = ParseExpression()) == nullptr) return nullptr;
  } else if (AtExpressionStart() || At(TokenKind::kStar)) {
    if ((node->value = ParseStarExpressions()) == nullptr) return nullptr;
  }
  node->span = SpanSince(start);
  return Finish(node);
}

Expr* Parser::ParseTargetList() {
  const Span start = Peek().span;
  const auto parse_one = [&]() -> Expr* {
    if (At(TokenKind::kStar)) return ParseStarOrNamed();
    return ParseBinary(1);
  };
  Expr* first = parse_one();
  if (first == nullptr || !At(TokenKind::kComma)) return first;
  auto* tuple = tree_->Make<TupleExpr>(start);
  tuple->elements.push_back(first);
  while (Accept(TokenKind::kComma)) {
    if (!AtExpressionStart() && !At(TokenKind::kStar)) break;
    Expr* element = parse_one();
    if (element == nullptr) return nullptr;
    tuple->elements.push_back(element);
  }
  tuple->span = SpanSince(start);
  return Finish(tuple);
}

// What CPython calls an expression in "cannot assign to ...".
std::string Parser::DescribeExpr(const Expr* expr) const {
  switch (expr->kind) {
    case ExprKind::kName: return "name";
    case ExprKind::kNone: return "None";
    case ExprKind::kBool: return As<BoolExpr>(expr)->value ? "True" : "False";
    case ExprKind::kEllipsis: return "ellipsis";
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kString: return "literal";
    case ExprKind::kFString: return "f-string expression";
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kBoolOp: return "expression";
    case ExprKind::kCompare: return "comparison";
    case ExprKind::kTernary: return "conditional expression";
    case ExprKind::kWalrus: return "named expression";
    case ExprKind::kLambda: return "lambda";
    case ExprKind::kCall: return "function call";
    case ExprKind::kAttribute: return "attribute";
    case ExprKind::kSubscript: return "subscript";
    case ExprKind::kSlice: return "slice";
    case ExprKind::kStarred: return "starred";
    case ExprKind::kTuple: return "tuple";
    case ExprKind::kList: return "list";
    case ExprKind::kSet: return "set display";
    case ExprKind::kDict: return "dict literal";
    case ExprKind::kComprehension:
      switch (As<ComprehensionExpr>(expr)->comp_kind) {
        case CompKind::kGenerator: return "generator expression";
        case CompKind::kList: return "list comprehension";
        case CompKind::kSet: return "set comprehension";
        case CompKind::kDict: return "dict comprehension";
      }
      return "comprehension";
    case ExprKind::kAwait: return "await expression";
    case ExprKind::kYield: return "yield expression";
    case ExprKind::kOpaque: return "literal";
  }
  return "expression";
}

bool Parser::CheckTarget(Expr* target, TargetUse use) {
  if (target == nullptr) return false;
  const bool is_single = use == TargetUse::kAugmented || use == TargetUse::kAnnotated;
  switch (target->kind) {
    case ExprKind::kName:
    case ExprKind::kAttribute:
    case ExprKind::kSubscript: return true;
    case ExprKind::kStarred:
      if (is_single || use == TargetUse::kDelete) break;
      return CheckTarget(As<StarredExpr>(target)->value, use);
    case ExprKind::kTuple:
    case ExprKind::kList: {
      if (is_single) break;
      const auto& elements = target->kind == ExprKind::kTuple ? As<TupleExpr>(target)->elements : As<ListExpr>(target)->elements;
      int starred = 0;
      for (Expr* element : elements) {
        starred += As<StarredExpr>(element) != nullptr;
        if (!CheckTarget(element, use)) return false;
      }
      if (starred > 1) {
        Fail(target->span, "multiple starred expressions in assignment");
        return false;
      }
      return true;
    }
    default: break;
  }
  const std::string what = DescribeExpr(target);
  if (use == TargetUse::kAnnotated) {
    if (target->kind == ExprKind::kTuple || target->kind == ExprKind::kList) {
      Fail(target->span, absl::StrCat("only single target (not ", what, ") can be annotated"));
    } else {
      Fail(target->span, "illegal target for annotation");
    }
  } else if (use == TargetUse::kAugmented) {
    Fail(target->span, absl::StrCat("'", what, "' is an illegal expression for augmented assignment"));
  } else if (use == TargetUse::kDelete) {
    Fail(target->span, absl::StrCat("cannot delete ", what));
  } else {
    const bool may_mean_compare = use == TargetUse::kAssign && target->kind != ExprKind::kStarred;
    Fail(target->span, absl::StrCat("cannot assign to ", what, may_mean_compare ? " here. Maybe you meant '==' instead of '='?" : ""));
  }
  return false;
}

absl::string_view Spelling(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNegate: return "-";
    case UnaryOp::kPlus: return "+";
    case UnaryOp::kInvert: return "~";
    case UnaryOp::kNot: return "not";
  }
  return "?";
}

absl::string_view Spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return "+";
    case BinaryOp::kSub: return "-";
    case BinaryOp::kMul: return "*";
    case BinaryOp::kMatMul: return "@";
    case BinaryOp::kTrueDiv: return "/";
    case BinaryOp::kFloorDiv: return "//";
    case BinaryOp::kMod: return "%";
    case BinaryOp::kPow: return "**";
    case BinaryOp::kShiftLeft: return "<<";
    case BinaryOp::kShiftRight: return ">>";
    case BinaryOp::kBitAnd: return "&";
    case BinaryOp::kBitOr: return "|";
    case BinaryOp::kBitXor: return "^";
  }
  return "?";
}

absl::string_view Spelling(BoolOp op) { return op == BoolOp::kAnd ? "and" : "or"; }

absl::string_view Spelling(CompareOp op) {
  switch (op) {
    case CompareOp::kEq: return "==";
    case CompareOp::kNe: return "!=";
    case CompareOp::kLt: return "<";
    case CompareOp::kLe: return "<=";
    case CompareOp::kGt: return ">";
    case CompareOp::kGe: return ">=";
    case CompareOp::kIs: return "is";
    case CompareOp::kIsNot: return "is not";
    case CompareOp::kIn: return "in";
    case CompareOp::kNotIn: return "not in";
  }
  return "?";
}

}  // namespace tilevm::triton
