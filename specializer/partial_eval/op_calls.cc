// Ops of the table: an instruction that is one, or a call of Triton's name for one (`tl.load`, `x.to`, `libdevice.tanh`), its arguments matched to
// the operands of the row.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "specializer/partial_eval/impl.h"

namespace tilevm::specializer {

using isa::Op;
using isa::OperandSpec;

namespace {

bool IsOperator(Op op) {
  switch (op) {
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kTrueDiv: case Op::kFloorDiv: case Op::kMod: case Op::kPow: case Op::kMatMul:
    case Op::kBitAnd: case Op::kBitOr: case Op::kBitXor: case Op::kShl: case Op::kShr:
    case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: case Op::kEq: case Op::kNe:
    case Op::kNeg: case Op::kPos: case Op::kInvert: return true;
    default: return false;
  }
}

bool IsUnaryOperator(Op op) { return op == Op::kNeg || op == Op::kPos || op == Op::kInvert; }

absl::string_view Symbol(Op op) {
  switch (op) {
    case Op::kPow: return "**";
    case Op::kMatMul: return "@";
    default: return isa::Mnemonic(op);
  }
}

// Triton's parameter names where the row has shorter ones.
absl::string_view RowName(absl::string_view keyword) {
  static constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {
      {"pointer", "p"}, {"ptr", "p"}, {"val", "value"}, {"condition", "cond"}, {"a", "x"}, {"b", "y"}, {"input", "x"}, {"other", "y"},
      {"arg0", "x"}, {"arg1", "y"}, {"lhs", "x"}, {"rhs", "y"}, {"msg", "message"}, {"shape", "dims"}, {"order", "dims"},
  };
  for (const auto& [from, to] : kNames) {
    if (from == keyword) return to;
  }
  return "";
}

std::string ShownName(absl::string_view surface) {
  if (surface.empty() || surface[0] == '.' || absl::StartsWith(surface, "libdevice."))
    return std::string(surface.substr(surface.empty() || surface[0] != '.' ? 0 : 1));
  return absl::StrCat("tl.", surface);
}

// Ops whose last positional argument is a list that may also be spelled out: reshape(x, 4, 4), permute(x, 1, 0).
bool TakesSpreadShape(Op op) { return op == Op::kReshape || op == Op::kBroadcastTo || op == Op::kTrans || op == Op::kPermute; }

}  // namespace

absl::Status CheckTupleSize(const Value& value, Loc loc) {
  if (NestsDeeper(value, kMaxKernelNesting)) {
    return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "a value in a kernel nests tuples more than ", kMaxKernelNesting, " deep");
  }
  if (!value.is(ValueKind::kTuple) || value.items().size() <= kMaxKernelTuple) return absl::OkStatus();
  return ErrorAt(loc, absl::StatusCode::kResourceExhausted, "a tuple of ", value.items().size(), " values in a kernel, the limit is ", kMaxKernelTuple);
}

absl::StatusOr<Value> Evaluator::Impl::RunRowOp(Op op, std::vector<Value> operands, bool kernel, Loc loc) {
  if (std::optional<Op> plain = PlainOperator(op)) {
    if (operands.size() < 2) return ErrorAt(loc, absl::StatusCode::kInternal, isa::Mnemonic(op), " lacks an operand");
    if (!kernel) return Augment(op, operands[0], operands[1], loc);
    op = *plain;
  }
  const isa::OpInfo& info = isa::Info(op);
  if (IsOperator(op)) {
    const bool unary = IsUnaryOperator(op);
    if (operands.size() < (unary ? 1u : 2u)) return ErrorAt(loc, absl::StatusCode::kInternal, info.mnemonic, " lacks an operand");
    if (unary && !IsTyped(operands[0])) return Unary(op, operands[0], loc);
    if (!unary && !IsTyped(operands[0]) && !IsTyped(operands[1])) {
      TILEVM_ASSIGN_OR_RETURN(Value value, Binary(op, operands[0], operands[1], loc));
      if (kernel) TILEVM_RETURN_IF_ERROR(CheckTupleSize(value, loc));
      return value;
    }
    if (op == Op::kPos && operands[0].is_tensor()) return operands[0];
    if (op == Op::kPow || op == Op::kMatMul || op == Op::kPos) {
      return InvalidAt(loc, "`", Symbol(op), "` with ", NameOfType(operands[0]), unary ? "" : absl::StrCat(" and ", NameOfType(operands[1])),
                       ": works on constexpr values only; use ", op == Op::kMatMul ? "tl.dot" : "libdevice.pow");
    }
  }
  switch (op) {
    case Op::kStaticAssert: return StaticAssert(operands[0], operands.size() > 1 ? operands[1] : Value(), loc);
    case Op::kStaticPrint: {
      std::vector<std::string> texts;
      for (const Value& value : operands) {
        if (IsTyped(value)) {
          texts.push_back(NameOfType(value));
          continue;
        }
        TILEVM_ASSIGN_OR_RETURN(std::string text, ToStr(value, loc));
        texts.push_back(std::move(text));
      }
      host_->Print(absl::StrJoin(texts, " "));
      return Value::None();
    }
    default: break;
  }
  if (info.level != isa::Level::kBytecode && info.level != isa::Level::kLibrary) {
    return UnimplementedAt(loc, info.mnemonic, " cannot be evaluated");
  }
  for (Value& value : operands) {
    if (value.is(ValueKind::kConstexpr)) value = Unboxed(value);
  }
  if (kernel) return Elaborate(kernel_state_->elaborator, op, operands, loc);
  // A few of the library ops have a meaning on plain numbers, for host code and constexpr functions.
  switch (op) {
    case Op::kCDiv: {
      TILEVM_ASSIGN_OR_RETURN(Value less, Binary(Op::kSub, operands[1], Value::Int(1), loc));
      TILEVM_ASSIGN_OR_RETURN(Value sum, Binary(Op::kAdd, operands[0], less, loc));
      return Binary(Op::kFloorDiv, sum, operands[1], loc);
    }
    case Op::kMaximum: case Op::kMinimum: {
      TILEVM_ASSIGN_OR_RETURN(bool less, LessThan(operands[0], operands[1], loc));
      return less == (op == Op::kMinimum) ? operands[0] : operands[1];
    }
    default: break;
  }
  return InvalidAt(loc, "'", info.mnemonic, "' works inside a kernel only");
}

absl::StatusOr<std::vector<Value>> Evaluator::Impl::MatchOperands(Op op, absl::string_view surface, const CallArgs& args, Loc loc) {
  const isa::OpInfo& info = isa::Info(op);
  std::vector<int> source_order;  // operands that a call may give, in signature order
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].kind == isa::OperandKind::kValue || info.operands[i].kind == isa::OperandKind::kStatic) source_order.push_back(static_cast<int>(i));
  }
  std::vector<Value> given(info.operands.size());
  std::vector<Value> rest;
  std::vector<Value> positional = args.positional;
  if (TakesSpreadShape(op) && positional.size() >= 2 && !positional[1].is(ValueKind::kTuple) && !positional[1].is(ValueKind::kList)) {
    std::vector<Value> items(std::make_move_iterator(positional.begin() + 1), std::make_move_iterator(positional.end()));
    positional.resize(1);
    positional.push_back(Value::Tuple(std::move(items)));
  }
  size_t next = 0;
  for (size_t k = 0; k < source_order.size() && next < positional.size(); ++k) {
    const OperandSpec& spec = info.operands[source_order[k]];
    if (!spec.variadic) {
      given[source_order[k]] = std::move(positional[next++]);
    } else if (k == 0 && source_order.size() > 1) {
      rest.push_back(std::move(positional[next++]));  // reduce, scan: one tensor or a tuple of them
    } else {
      while (next < positional.size()) rest.push_back(std::move(positional[next++]));
    }
  }
  const std::string shown = ShownName(surface);
  if (next < positional.size()) {
    return InvalidAt(loc, "TypeError: ", shown, "() takes at most ", source_order.size(), " arguments, ", positional.size(), " given; signature ",
                     info.signature);
  }
  for (const auto& [keyword, value] : args.keyword) {
    if (keyword == "_semantic" || keyword == "_builder" || keyword == "_generator" || keyword == "sanitize_overflow") continue;
    int found = -1;
    for (int pass = 0; pass < 3 && found < 0; ++pass) {
      for (int i : source_order) {
        const absl::string_view name = info.operands[i].name;
        const bool first = i == source_order[0], second = source_order.size() > 1 && i == source_order[1];
        const bool same = pass == 0   ? name == keyword
                          : pass == 1 ? name == RowName(keyword)
                                      : (first && keyword == "input") || (second && (keyword == "other" || keyword == "b")) || (first && keyword == "a");
        if (same) {
          found = i;
          break;
        }
      }
    }
    if (found < 0) return InvalidAt(loc, "TypeError: ", shown, "() got an unexpected keyword argument '", keyword, "'; signature ", info.signature);
    if (info.operands[found].variadic) {
      if (!rest.empty()) return InvalidAt(loc, "TypeError: ", shown, "() got multiple values for argument '", keyword, "'");
      rest.push_back(value);
      continue;
    }
    if (!given[found].absent()) return InvalidAt(loc, "TypeError: ", shown, "() got multiple values for argument '", keyword, "'");
    given[found] = value;
  }
  std::vector<Value> operands;
  for (int i : info.register_operands) {
    const OperandSpec& spec = info.operands[i];
    if (spec.variadic) continue;
    if (given[i].absent() && !spec.optional) {
      return InvalidAt(loc, "TypeError: ", shown, "() is missing its argument '", spec.name, "'; signature ", info.signature);
    }
    operands.push_back(std::move(given[i]));
  }
  for (Value& value : rest) operands.push_back(std::move(value));
  return operands;
}

absl::StatusOr<Value> Evaluator::Impl::CallSurface(Op op, absl::string_view surface, const CallArgs& args, bool kernel, Loc loc) {
  TILEVM_ASSIGN_OR_RETURN(std::vector<Value> operands, MatchOperands(op, surface, args, loc));
  return RunRowOp(op, std::move(operands), kernel, loc);
}

absl::StatusOr<Value> Evaluator::Impl::StaticAssert(const Value& condition, const Value& message, Loc loc) {
  if (IsTyped(condition))
    return InvalidAt(loc, "static_assert: the condition is ", NameOfType(condition), ", known only when the kernel runs; use tl.device_assert");
  TILEVM_ASSIGN_OR_RETURN(bool holds, Truth(condition, loc));
  if (holds) return Value::None();
  std::string text;
  if (!message.absent_or_none()) {
    TILEVM_ASSIGN_OR_RETURN(text, ToStr(message, loc));
  }
  // A code of its own: autotune leaves out a configuration that a static_assert refuses.
  return ErrorAt(loc, absl::StatusCode::kFailedPrecondition, "static_assert failed", text.empty() ? "" : ": ", text);
}

absl::StatusOr<Value> Evaluator::Impl::KernelPrint(const CallArgs& args, Loc loc) {
  // print in a kernel is device_print: a prefix, then values. Without a prefix one is made up.
  CallArgs call = args;
  if (call.positional.empty() || !call.positional[0].is(ValueKind::kString)) call.positional.insert(call.positional.begin(), Value::String(""));
  std::erase_if(call.keyword, [](const auto& keyword) { return keyword.first == "sep" || keyword.first == "end" || keyword.first == "flush"; });
  return CallSurface(Op::kDevicePrint, "device_print", call, true, loc);
}

absl::StatusOr<Value> Evaluator::Impl::KernelMinMax(Op op, const CallArgs& args, Loc loc) {
  std::vector<Value> items = args.positional;
  if (items.size() == 1 && !IsTyped(items[0])) {
    TILEVM_ASSIGN_OR_RETURN(items, Iterate(items[0], loc));
  }
  if (items.empty() || (items.size() == 1 && args.positional[0].is_tensor()) || !args.keyword.empty()) {
    return InvalidAt(loc, "TypeError: ", op == Op::kMinimum ? "min" : "max", "() in a kernel takes two or more values; use ",
                     op == Op::kMinimum ? "tl.min" : "tl.max", " to reduce a tensor");
  }
  Value result = items[0];
  const bool all_static = std::all_of(items.begin(), items.end(), [](const Value& item) { return item.is_static_number(); });
  for (size_t i = 1; i < items.size(); ++i) {
    if (all_static) {  // Python's: constexpr stays constexpr
      TILEVM_ASSIGN_OR_RETURN(const Value wins, self().Binary(op == Op::kMinimum ? Op::kLt : Op::kGt, items[i], result, loc));
      if (wins.bool_value()) result = items[i];
    } else {
      TILEVM_ASSIGN_OR_RETURN(result, RunRowOp(op, {result, items[i]}, true, loc));
    }
  }
  return result;
}

}  // namespace tilevm::specializer
