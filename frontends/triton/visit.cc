#include "frontends/triton/visit.h"

#include <vector>

namespace tilevm::triton {
namespace {

void Some(const Expr* expr, ExprVisitor visit) {
  if (expr != nullptr) visit(expr);
}

void All(const std::vector<Expr*>& exprs, ExprVisitor visit) {
  for (const Expr* expr : exprs) visit(expr);
}

}  // namespace

void ForEachPart(const Expr* expr, ExprVisitor visit) {
  switch (expr->kind) {
    case ExprKind::kName:
    case ExprKind::kNone:
    case ExprKind::kBool:
    case ExprKind::kEllipsis:
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kString:
    case ExprKind::kOpaque: return;
    case ExprKind::kFString:
      for (const FStringExpr::Part& part : As<FStringExpr>(expr)->parts) {
        Some(part.value, visit);
        Some(part.spec, visit);
      }
      return;
    case ExprKind::kUnary: return visit(As<UnaryExpr>(expr)->operand);
    case ExprKind::kBinary: {
      // The operands of a chain `a + b + c + ...`, however long it is.
      std::vector<const BinaryExpr*> chain;
      for (const auto* node = As<BinaryExpr>(expr); node != nullptr; node = As<BinaryExpr>(node->left)) chain.push_back(node);
      visit(chain.back()->left);
      for (auto node = chain.rbegin(); node != chain.rend(); ++node) visit((*node)->right);
      return;
    }
    case ExprKind::kBoolOp: return All(As<BoolOpExpr>(expr)->operands, visit);
    case ExprKind::kCompare: return All(As<CompareExpr>(expr)->operands, visit);
    case ExprKind::kTernary: {
      const auto* node = As<TernaryExpr>(expr);
      visit(node->test);
      visit(node->then_value);
      return visit(node->else_value);
    }
    case ExprKind::kWalrus: return visit(As<WalrusExpr>(expr)->value);
    case ExprKind::kLambda: {
      const auto* node = As<LambdaExpr>(expr);
      for (const Parameter& parameter : node->parameters) Some(parameter.default_value, visit);
      return visit(node->body);
    }
    case ExprKind::kCall: {
      visit(As<CallExpr>(expr)->callee);
      for (const Argument& argument : As<CallExpr>(expr)->arguments) visit(argument.value);
      return;
    }
    case ExprKind::kAttribute: return visit(As<AttributeExpr>(expr)->object);
    case ExprKind::kSubscript: {
      visit(As<SubscriptExpr>(expr)->object);
      return visit(As<SubscriptExpr>(expr)->index);
    }
    case ExprKind::kSlice: {
      const auto* node = As<SliceExpr>(expr);
      Some(node->lower, visit);
      Some(node->upper, visit);
      return Some(node->step, visit);
    }
    case ExprKind::kStarred: return visit(As<StarredExpr>(expr)->value);
    case ExprKind::kTuple: return All(As<TupleExpr>(expr)->elements, visit);
    case ExprKind::kList: return All(As<ListExpr>(expr)->elements, visit);
    case ExprKind::kSet: return All(As<SetExpr>(expr)->elements, visit);
    case ExprKind::kDict:
      for (const auto& [key, value] : As<DictExpr>(expr)->items) {
        Some(key, visit);
        visit(value);
      }
      return;
    case ExprKind::kComprehension: {
      const auto* node = As<ComprehensionExpr>(expr);
      for (const CompClause& clause : node->clauses) {
        visit(clause.iterable);
        visit(clause.target);
        All(clause.conditions, visit);
      }
      visit(node->element);
      return Some(node->value, visit);
    }
    case ExprKind::kAwait: return visit(As<AwaitExpr>(expr)->value);
    case ExprKind::kYield: return Some(As<YieldExpr>(expr)->value, visit);
  }
}

void ForEachPart(const Stmt* stmt, ExprVisitor visit, BlockVisitor visit_block) {
  switch (stmt->kind) {
    case StmtKind::kExpr: return visit(As<ExprStmt>(stmt)->value);
    case StmtKind::kAssign: {
      visit(As<AssignStmt>(stmt)->value);
      return All(As<AssignStmt>(stmt)->targets, visit);
    }
    case StmtKind::kAugAssign: {
      visit(As<AugAssignStmt>(stmt)->target);
      return visit(As<AugAssignStmt>(stmt)->value);
    }
    case StmtKind::kAnnAssign: {
      Some(As<AnnAssignStmt>(stmt)->value, visit);
      return visit(As<AnnAssignStmt>(stmt)->target);
    }
    case StmtKind::kReturn: return Some(As<ReturnStmt>(stmt)->value, visit);
    case StmtKind::kDelete: return All(As<DeleteStmt>(stmt)->targets, visit);
    case StmtKind::kRaise: {
      Some(As<RaiseStmt>(stmt)->exception, visit);
      return Some(As<RaiseStmt>(stmt)->cause, visit);
    }
    case StmtKind::kAssert: {
      visit(As<AssertStmt>(stmt)->test);
      return Some(As<AssertStmt>(stmt)->message, visit);
    }
    case StmtKind::kPass:
    case StmtKind::kBreak:
    case StmtKind::kContinue:
    case StmtKind::kGlobal:
    case StmtKind::kNonlocal:
    case StmtKind::kImport:
    case StmtKind::kImportFrom:
    case StmtKind::kOpaque: return;
    case StmtKind::kIf:
      for (const IfStmt::Clause& clause : As<IfStmt>(stmt)->clauses) {
        visit(clause.test);
        visit_block(clause.body);
      }
      return visit_block(As<IfStmt>(stmt)->else_body);
    case StmtKind::kWhile: {
      const auto* node = As<WhileStmt>(stmt);
      visit(node->test);
      visit_block(node->body);
      return visit_block(node->else_body);
    }
    case StmtKind::kFor: {
      const auto* node = As<ForStmt>(stmt);
      visit(node->iterable);
      visit(node->target);
      visit_block(node->body);
      return visit_block(node->else_body);
    }
    case StmtKind::kTry: {
      const auto* node = As<TryStmt>(stmt);
      visit_block(node->body);
      for (const TryStmt::Handler& handler : node->handlers) {
        Some(handler.type, visit);
        visit_block(handler.body);
      }
      visit_block(node->else_body);
      return visit_block(node->final_body);
    }
    case StmtKind::kWith: {
      for (const WithStmt::Item& item : As<WithStmt>(stmt)->items) {
        visit(item.context);
        Some(item.target, visit);
      }
      return visit_block(As<WithStmt>(stmt)->body);
    }
    case StmtKind::kFunctionDef: {
      const auto* node = As<FunctionDefStmt>(stmt);
      All(node->decorators, visit);
      for (const Parameter& parameter : node->parameters) Some(parameter.default_value, visit);
      return;
    }
    case StmtKind::kClassDef: {
      const auto* node = As<ClassDefStmt>(stmt);
      All(node->decorators, visit);
      for (const Argument& argument : node->arguments) visit(argument.value);
      return;
    }
  }
}

}  // namespace tilevm::triton
