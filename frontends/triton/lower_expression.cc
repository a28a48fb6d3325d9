// Expressions: literals, operators, lazily evaluated parts, displays, comprehensions, f-strings.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontends/triton/lower.h"
#include "frontends/triton/names.h"

namespace tilevm::triton {

isa::Op OpOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return isa::Op::kAdd;
    case BinaryOp::kSub: return isa::Op::kSub;
    case BinaryOp::kMul: return isa::Op::kMul;
    case BinaryOp::kMatMul: return isa::Op::kMatMul;
    case BinaryOp::kTrueDiv: return isa::Op::kTrueDiv;
    case BinaryOp::kFloorDiv: return isa::Op::kFloorDiv;
    case BinaryOp::kMod: return isa::Op::kMod;
    case BinaryOp::kPow: return isa::Op::kPow;
    case BinaryOp::kShiftLeft: return isa::Op::kShl;
    case BinaryOp::kShiftRight: return isa::Op::kShr;
    case BinaryOp::kBitAnd: return isa::Op::kBitAnd;
    case BinaryOp::kBitOr: return isa::Op::kBitOr;
    case BinaryOp::kBitXor: return isa::Op::kBitXor;
  }
  return isa::Op::kAdd;
}

namespace {

isa::Op OpOf(CompareOp op) {
  switch (op) {
    case CompareOp::kEq: return isa::Op::kEq;
    case CompareOp::kNe: return isa::Op::kNe;
    case CompareOp::kLt: return isa::Op::kLt;
    case CompareOp::kLe: return isa::Op::kLe;
    case CompareOp::kGt: return isa::Op::kGt;
    case CompareOp::kGe: return isa::Op::kGe;
    case CompareOp::kIs: return isa::Op::kIs;
    case CompareOp::kIsNot: return isa::Op::kIsNot;
    case CompareOp::kIn: return isa::Op::kIn;
    case CompareOp::kNotIn: return isa::Op::kNotIn;
  }
  return isa::Op::kEq;
}

constexpr absl::uint128 kIntMax = absl::uint128(std::numeric_limits<absl::int128>::max());

}  // namespace

std::optional<std::string> Lowering::PathOf(const Expr* expr) {
  if (const auto* name = As<NameExpr>(expr)) {
    if (const std::optional<Reg> local = FindLocal(name->name)) {
      const auto path = paths_.find(*local);
      if (path == paths_.end()) return std::nullopt;
      return path->second;
    }
    if (scope_.locals.Has(name->name) || IsShared(name->name)) return std::nullopt;
    return program_.PathOfName(unit_, name->name);
  }
  const auto* attribute = As<AttributeExpr>(expr);
  if (attribute == nullptr) return std::nullopt;
  const std::optional<std::string> object = PathOf(attribute->object);
  if (!object.has_value()) return std::nullopt;
  return program_.PathOfAttribute(unit_, *object, attribute->name);
}

isa::Reg Lowering::Value(const Expr* expr, bool wanted) {
  switch (expr->kind) {
    case ExprKind::kName: {
      // A module that a function imports is a constant wherever it is used.
      if (const std::optional<std::string> path = PathOf(expr)) return ConstPath(*path, expr->span);
      return ReadName(As<NameExpr>(expr)->name, expr->span);
    }
    case ExprKind::kNone:
    case ExprKind::kBool:
    case ExprKind::kEllipsis:
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kString: return Literal(expr);
    case ExprKind::kFString: return FString(As<FStringExpr>(expr));
    case ExprKind::kUnary: return Unary(As<UnaryExpr>(expr));
    case ExprKind::kBinary: return Binary(As<BinaryExpr>(expr));
    case ExprKind::kBoolOp: return BoolOpOf(As<BoolOpExpr>(expr));
    case ExprKind::kCompare: return Compare(As<CompareExpr>(expr));
    case ExprKind::kTernary: return Ternary(As<TernaryExpr>(expr));
    case ExprKind::kWalrus: {
      const auto* node = As<WalrusExpr>(expr);
      const Reg value = Expression(node->value);
      WriteName(node->target->name, value, node->target->span, /*bind=*/true);
      return in_cell() ? value : ReadName(node->target->name, node->target->span);
    }
    case ExprKind::kLambda: return Lambda(As<LambdaExpr>(expr));
    case ExprKind::kCall: return Call(As<CallExpr>(expr), wanted);
    case ExprKind::kAttribute: {
      if (const std::optional<std::string> path = PathOf(expr)) return ConstPath(*path, expr->span);
      const auto* node = As<AttributeExpr>(expr);
      const Reg object = Expression(node->object);
      return EmitValue(Op::kGetAttr, node->name_span, {object}, Str(node->name));
    }
    case ExprKind::kSubscript: {
      const auto* node = As<SubscriptExpr>(expr);
      const Reg object = Expression(node->object);
      const Reg index = Expression(node->index);
      return EmitValue(Op::kIndex, expr->span, {object, index});
    }
    case ExprKind::kSlice: return Slice(As<SliceExpr>(expr));
    case ExprKind::kStarred: return StarOf(Expression(As<StarredExpr>(expr)->value), expr->span);
    case ExprKind::kTuple: return Sequence(Op::kMakeTuple, As<TupleExpr>(expr)->elements, expr->span);
    case ExprKind::kList: return Sequence(Op::kMakeList, As<ListExpr>(expr)->elements, expr->span);
    case ExprKind::kSet: {
      const Reg callee = ConstPath("builtins.set", expr->span);
      const Reg items = Sequence(Op::kMakeList, As<SetExpr>(expr)->elements, expr->span);
      return EmitValue(Op::kCall, expr->span, {callee, items});
    }
    case ExprKind::kDict: return Dict(As<DictExpr>(expr));
    case ExprKind::kComprehension: return Comprehension(As<ComprehensionExpr>(expr));
    case ExprKind::kAwait: return Stub(expr->span, "await is not supported");
    case ExprKind::kYield: return Yield(As<YieldExpr>(expr));
    case ExprKind::kOpaque: return Stub(expr->span, As<OpaqueExpr>(expr)->message);
  }
  return Stub(expr->span, "this expression is not supported");
}

isa::Reg Lowering::Literal(const Expr* expr) {
  isa::Constant constant;
  switch (expr->kind) {
    case ExprKind::kBool:
      constant.kind = isa::Constant::Kind::kBool;
      constant.int_value = As<BoolExpr>(expr)->value ? 1 : 0;
      break;
    case ExprKind::kEllipsis: constant.kind = isa::Constant::Kind::kEllipsis; break;
    case ExprKind::kInt: {
      const auto* node = As<IntExpr>(expr);
      if (node->overflow || node->value > kIntMax) return Stub(expr->span, "integer literals beyond 128 bits are not supported");
      constant.kind = isa::Constant::Kind::kInt;
      constant.int_value = absl::int128(node->value);
      break;
    }
    case ExprKind::kFloat:
      constant.kind = isa::Constant::Kind::kFloat;
      constant.float_value = As<FloatExpr>(expr)->value;
      break;
    case ExprKind::kString:
      if (As<StringExpr>(expr)->is_bytes) return Stub(expr->span, "bytes literals are not supported");
      constant.kind = isa::Constant::Kind::kString;
      constant.string_value = As<StringExpr>(expr)->value;
      break;
    default: break;
  }
  return Const(constant, expr->span);
}

// ---- operators ----

isa::Reg Lowering::Unary(const UnaryExpr* expr) {
  if (expr->op == UnaryOp::kNegate) {
    // A negative literal is one constant.
    isa::Constant constant;
    const auto* integer = As<IntExpr>(expr->operand);
    if (integer != nullptr && !integer->overflow && integer->value <= kIntMax) {
      constant.kind = isa::Constant::Kind::kInt;
      constant.int_value = -absl::int128(integer->value);
      return Const(constant, expr->span);
    }
    if (const auto* number = As<FloatExpr>(expr->operand)) {
      constant.kind = isa::Constant::Kind::kFloat;
      constant.float_value = -number->value;
      return Const(constant, expr->span);
    }
  }
  const Reg operand = Expression(expr->operand);
  switch (expr->op) {
    case UnaryOp::kNegate: return EmitValue(Op::kNeg, expr->span, {operand});
    case UnaryOp::kPlus: return EmitValue(Op::kPos, expr->span, {operand});
    case UnaryOp::kInvert: return EmitValue(Op::kInvert, expr->span, {operand});
    case UnaryOp::kNot: return EmitValue(Op::kNot, expr->span, {operand});
  }
  return operand;
}

isa::Reg Lowering::Binary(const BinaryExpr* expr) {
  std::vector<const BinaryExpr*> chain;  // `a + b + c + ...` from its end
  for (const BinaryExpr* node = expr; node != nullptr; node = As<BinaryExpr>(node->left)) chain.push_back(node);
  Reg left = Expression(chain.back()->left);
  for (auto node = chain.rbegin(); node != chain.rend(); ++node) {
    const Reg right = Expression((*node)->right);
    left = EmitValue(triton::OpOf((*node)->op), (*node)->op_span, {left, right});
  }
  return left;
}

isa::Reg Lowering::Compare(const CompareExpr* expr) { return CompareRest(expr, 0, Expression(expr->operands[0])); }

// `a < b < c` is `(a < b) and (b < c)`, b evaluated once.
isa::Reg Lowering::CompareRest(const CompareExpr* expr, size_t i, Reg left) {
  const Reg right = Expression(expr->operands[i + 1]);
  const Reg result = EmitValue(OpOf(expr->ops[i]), expr->op_spans[i], {left, right});
  if (i + 1 == expr->ops.size()) return result;
  isa::Region rest = ValueRegion(expr->span, [&] { return CompareRest(expr, i + 1, right); });
  const Reg both = NewReg();
  isa::Inst& inst = Emit(Op::kAnd, expr->op_spans[i + 1], {result});
  inst.results.push_back(both);
  inst.regions.push_back(std::move(rest));
  return both;
}

// `a and b and c` is `(a and b) and c`: the same values are evaluated, and regions stay flat.
isa::Reg Lowering::BoolOpOf(const BoolOpExpr* expr) {
  Reg result = Expression(expr->operands[0]);
  for (size_t i = 1; i < expr->operands.size(); ++i) {
    isa::Region right = ValueRegion(expr->operands[i]->span, [&] { return Expression(expr->operands[i]); });
    const Reg left = result;
    result = NewReg();
    isa::Inst& inst = Emit(expr->op == BoolOp::kAnd ? Op::kAnd : Op::kOr, expr->span, {left});
    inst.results.push_back(result);
    inst.regions.push_back(std::move(right));
  }
  return result;
}

isa::Reg Lowering::Ternary(const TernaryExpr* expr) {
  const Reg test = Expression(expr->test);
  isa::Region then_region = ValueRegion(expr->then_value->span, [&] { return Expression(expr->then_value); });
  isa::Region else_region = ValueRegion(expr->else_value->span, [&] { return Expression(expr->else_value); });
  const Reg result = NewReg();
  isa::Inst& inst = Emit(Op::kTernary, expr->span, {test});
  inst.results.push_back(result);
  inst.regions.push_back(std::move(then_region));
  inst.regions.push_back(std::move(else_region));
  return result;
}

// ---- displays ----

isa::Reg Lowering::Sequence(Op op, const std::vector<Expr*>& elements, const Span& span) {
  std::vector<Reg> items;
  for (const Expr* element : elements) items.push_back(Expression(element));
  const Reg result = NewReg();
  isa::Inst& inst = Emit(op, span);
  inst.operands.assign(items.begin(), items.end());
  inst.results.push_back(result);
  return result;
}

isa::Reg Lowering::Slice(const SliceExpr* expr) {
  std::vector<Reg> parts;
  for (const Expr* part : {expr->lower, expr->upper, expr->step}) parts.push_back(part == nullptr ? isa::kNoReg : Expression(part));
  while (!parts.empty() && parts.back() == isa::kNoReg) parts.pop_back();
  const Reg result = NewReg();
  isa::Inst& inst = Emit(Op::kMakeSlice, expr->span);
  inst.operands.assign(parts.begin(), parts.end());
  inst.results.push_back(result);
  return result;
}

isa::Reg Lowering::Dict(const DictExpr* expr) {
  std::vector<Reg> items;
  for (const auto& [key, value] : expr->items) {
    if (key != nullptr) {
      items.push_back(Expression(key));
      items.push_back(Expression(value));
    } else {
      const Reg spread = Expression(value);
      items.push_back(EmitValue(Op::kDoubleStar, value->span, {spread}));
    }
  }
  const Reg result = NewReg();
  isa::Inst& inst = Emit(Op::kMakeDict, expr->span);
  inst.operands.assign(items.begin(), items.end());
  inst.results.push_back(result);
  return result;
}

// ---- comprehensions ----

// One collect for each `for`; its body gives a list of what one item adds.
isa::Reg Lowering::Comprehension(const ComprehensionExpr* expr) {
  for (const CompClause& clause : expr->clauses) {
    if (clause.is_async) return Stub(expr->span, "async comprehensions are not supported");
  }
  NameSet targets;
  for (const CompClause& clause : expr->clauses) CollectTargets(clause.target, &targets);
  const Reg iterable = Expression(expr->clauses[0].iterable);
  // Functions inside see the targets change: cells, one for all rounds of the comprehension.
  struct Outer {
    absl::string_view name;
    std::optional<Reg> local, cell;
  };
  std::vector<Outer> outer;
  const NameSet captured = CapturedTargets(expr);
  for (absl::string_view name : captured.names()) {
    const auto cell = cells_.find(name);
    outer.push_back(Outer{name, FindLocal(name), cell == cells_.end() ? std::optional<Reg>() : cell->second});
    names_.erase(name);
    Share(name, expr->span);
  }
  const Reg result = CompClauseFrom(expr, 0, iterable);
  for (const Outer& before : outer) {
    cells_.erase(before.name);
    if (before.cell.has_value()) cells_[before.name] = *before.cell;
    if (before.local.has_value()) names_[before.name] = *before.local;
  }
  NameSet assigned;
  CollectAssigned(expr, &assigned);
  for (absl::string_view name : assigned.names()) {
    if (!targets.Has(name) && !in_cell()) ForgetLocal(name);
  }
  return result;
}

isa::Reg Lowering::CompClauseFrom(const ComprehensionExpr* expr, size_t clause, Reg iterable) {
  const CompClause& part = expr->clauses[clause];
  isa::Region body = InRegion(1, expr->span, [&](const std::vector<Reg>& args) {
    NameSet targets;
    CollectTargets(part.target, &targets);
    // Made local first: in a cell they would be globals, and closures of the surroundings do not see them.
    for (absl::string_view name : targets.names()) {
      if (!IsShared(name) || !CapturedTargets(expr).Has(name)) SetLocal(name, args[0]);
    }
    absl::flat_hash_set<absl::string_view> captured = std::exchange(captured_, {});
    AssignTo(part.target, args[0], /*bind=*/false);
    const Reg list = CompConditions(expr, clause, 0);
    captured_ = std::move(captured);
    End(Op::kYield, expr->span, {list});
  });
  constexpr uint32_t kListKind = 0, kDictKind = 1, kSetKind = 2, kGeneratorKind = 3;
  uint32_t kind = kListKind;
  if (expr->comp_kind == CompKind::kGenerator) {
    kind = kGeneratorKind;  // the inner ones too: all of it is lazy
  } else if (clause == 0 && expr->comp_kind != CompKind::kList) {
    kind = expr->comp_kind == CompKind::kDict ? kDictKind : kSetKind;
  }
  const Reg result = NewReg();
  isa::Inst& inst = Emit(Op::kCollect, expr->span, {iterable}, kind);
  inst.results.push_back(result);
  inst.regions.push_back(std::move(body));
  return result;
}

// `if` conditions from number `condition` on, then the next `for` or the element.
isa::Reg Lowering::CompConditions(const ComprehensionExpr* expr, size_t clause, size_t condition) {
  const CompClause& part = expr->clauses[clause];
  if (condition < part.conditions.size()) {
    const Expr* test_expr = part.conditions[condition];
    const Reg test = Expression(test_expr);
    isa::Region then_region = ValueRegion(test_expr->span, [&] { return CompConditions(expr, clause, condition + 1); });
    isa::Region else_region = ValueRegion(test_expr->span, [&] { return Sequence(Op::kMakeList, {}, test_expr->span); });
    const Reg result = NewReg();
    isa::Inst& inst = Emit(Op::kIf, test_expr->span, {test});
    inst.results.push_back(result);
    inst.regions.push_back(std::move(then_region));
    inst.regions.push_back(std::move(else_region));
    return result;
  }
  if (clause + 1 < expr->clauses.size()) return CompClauseFrom(expr, clause + 1, Expression(expr->clauses[clause + 1].iterable));
  Reg element = Expression(expr->element);
  if (expr->value != nullptr) {
    const Reg value = Expression(expr->value);
    element = EmitValue(Op::kMakeTuple, expr->element->span, {element, value});
  }
  return EmitValue(Op::kMakeList, expr->element->span, {element});
}

// ---- f-strings ----

isa::Reg Lowering::FString(const FStringExpr* expr) {
  std::vector<Reg> parts;
  for (const FStringExpr::Part& part : expr->parts) {
    if (part.value == nullptr) {
      isa::Constant constant;
      constant.kind = isa::Constant::Kind::kString;
      constant.string_value = part.text;
      parts.push_back(Const(constant, expr->span));
      continue;
    }
    Reg value = Expression(part.value);
    if (part.conversion == 'r' || part.conversion == 'a') {
      const Reg callee = ConstPath("builtins.repr", part.value->span);
      value = EmitValue(Op::kCall, part.value->span, {callee, value});
    }
    if (part.conversion == 's') {
      const Reg callee = ConstPath("builtins.str", part.value->span);
      value = EmitValue(Op::kCall, part.value->span, {callee, value});
    }
    if (part.spec != nullptr) {
      const Reg callee = ConstPath("builtins.format", part.value->span);
      const Reg spec = FString(part.spec);
      value = EmitValue(Op::kCall, part.value->span, {callee, value, spec});
    }
    parts.push_back(value);
  }
  const bool plain = expr->parts.size() == 1 && expr->parts[0].value == nullptr;
  if (plain) return parts[0];
  const Reg result = NewReg();
  isa::Inst& inst = Emit(Op::kFormat, expr->span);
  inst.operands.assign(parts.begin(), parts.end());
  inst.results.push_back(result);
  return result;
}

}  // namespace tilevm::triton
