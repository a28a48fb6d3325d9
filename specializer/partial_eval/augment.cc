// Augmented assignment on the host: `x += y` changes a list, set, dict or host object in place; for every other value it is the plain operator.
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/live_dict.h"
#include "specializer/partial_eval/iterator.h"

namespace tilevm::specializer {

using isa::Op;

namespace {

// The row of isa/ops.def, the operator it is elsewhere, and the method of a class that does it.
struct Augmented {
  Op op;
  Op plain;
  absl::string_view dunder;
};
constexpr Augmented kAugmented[] = {
    {Op::kIAdd, Op::kAdd, "__iadd__"},          {Op::kISub, Op::kSub, "__isub__"},        {Op::kIMul, Op::kMul, "__imul__"},
    {Op::kITrueDiv, Op::kTrueDiv, "__itruediv__"}, {Op::kIFloorDiv, Op::kFloorDiv, "__ifloordiv__"}, {Op::kIMod, Op::kMod, "__imod__"},
    {Op::kIPow, Op::kPow, "__ipow__"},          {Op::kIMatMul, Op::kMatMul, "__imatmul__"}, {Op::kIBitAnd, Op::kBitAnd, "__iand__"},
    {Op::kIBitOr, Op::kBitOr, "__ior__"},       {Op::kIBitXor, Op::kBitXor, "__ixor__"},  {Op::kIShl, Op::kShl, "__ilshift__"},
    {Op::kIShr, Op::kShr, "__irshift__"},
};

const Augmented* Find(Op op) {
  for (const Augmented& row : kAugmented) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

}  // namespace

std::optional<Op> PlainOperator(Op op) {
  const Augmented* row = Find(op);
  return row == nullptr ? std::optional<Op>() : row->plain;
}

absl::StatusOr<Value> Evaluator::Impl::Augment(Op op, const Value& x, const Value& y, Loc loc) {
  const Augmented& row = *Find(op);
  if (x.is(ValueKind::kObject)) return x.As<HostObject>()->InPlace(*self_, row.plain, y, loc);
  if (x.is(ValueKind::kInstance)) {
    TILEVM_ASSIGN_OR_RETURN(std::optional<Value> value, CallDunder(x, row.dunder, {y}, loc));
    const bool other = value.has_value() && value->is(ValueKind::kBuiltin) && value->string() == "builtins.NotImplemented";
    if (value.has_value() && !other) return *value;
  }
  if (x.is(ValueKind::kList)) {
    auto* list = x.As<ItemsPayload>();
    if (row.plain == Op::kAdd && (!y.is(ValueKind::kObject) || AsIterator(y) != nullptr)) {
      TILEVM_ASSIGN_OR_RETURN(std::vector<Value> more, Iterate(y, loc));
      if (list->items.size() + more.size() > kMaxSequence) {
        return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "MemoryError: a sequence of more than ", kMaxSequence, " items");
      }
      list->items.append(more.data(), more.data() + more.size());
      list->Recount();
      return x;
    }
    if (row.plain == Op::kMul) {
      TILEVM_ASSIGN_OR_RETURN(Value result, Binary(row.plain, x, y, loc));
      if (!result.is(ValueKind::kList)) return result;
      list->items = result.items();
      list->Recount();
      return x;
    }
  }
  if (x.is(ValueKind::kSet) && y.is(ValueKind::kSet) && !x.As<SetPayload>()->frozen) {
    TILEVM_ASSIGN_OR_RETURN(Value result, Binary(row.plain, x, y, loc));
    x.As<SetPayload>()->items = result.As<SetPayload>()->items;
    x.As<SetPayload>()->Recount();
    return x;
  }
  if (x.is(ValueKind::kDict) && y.is(ValueKind::kDict) && row.plain == Op::kBitOr && x.As<DictPayload>()->class_name != "Counter") {
    const PairTable entries = y.As<DictPayload>()->entries;
    RefreshAttributes(x);
    for (const auto& [key, value] : entries) TILEVM_RETURN_IF_ERROR(DictPut(x, key, value, loc));
    StoreAttributes(x);
    return x;
  }
  return Binary(row.plain, x, y, loc);
}

}  // namespace tilevm::specializer
