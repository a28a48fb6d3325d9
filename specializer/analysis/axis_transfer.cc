// Transfer functions, one for each kind of op. All numbers are powers of two, so gcd is min.
#include "specializer/analysis/axis_transfer.h"

#include <algorithm>

namespace tilevm::analysis {
namespace {

using isa::Op;
using Of = std::function<const TileFacts&(ir::ValueId)>;

int64_t PowerOfTwoIn(int64_t n) {
  if (n == 0) return kMaxDivisor;
  return std::min(n & -n, kMaxDivisor);
}

int64_t Product(int64_t a, int64_t b) { return a >= kMaxDivisor / b ? kMaxDivisor : a * b; }

// What divides the first value of every aligned block of `block` elements along an axis; unit is the step of a run (1, bytes for pointers).
int64_t DivisorAt(const TileFacts& x, size_t axis, int64_t block, int64_t unit) {
  const AxisFact& fact = x.axes[axis];
  if (fact.contiguity == 1) return std::max(x.divisor, fact.run_divisor);
  if (block >= fact.contiguity) return fact.run_divisor;
  return std::min(fact.run_divisor, Product(block, unit));
}

TileFacts OfConstant(int64_t value) {
  TileFacts facts;
  facts.divisor = PowerOfTwoIn(value);
  facts.non_negative = value >= 0;
  return facts;
}

TileFacts Guess() {
  TileFacts facts;
  facts.divisor = 16;
  return facts;
}

TileFacts OfArange(const isa::Type& type, int64_t start) {
  TileFacts facts;
  facts.non_negative = start >= 0;
  facts.axes.push_back({type.shape[0], 1, PowerOfTwoIn(start)});
  if (type.shape[0] == 1) facts.divisor = PowerOfTwoIn(start);
  return facts;
}

TileFacts OfSplat(const TileFacts& x, const isa::Shape& shape) {
  TileFacts facts = x;
  facts.axes.clear();
  for (int64_t extent : shape) facts.axes.push_back({1, extent, x.divisor});
  return facts;
}

TileFacts OfExpandDims(TileFacts x, int64_t axis) {
  x.axes.insert(x.axes.begin() + axis, AxisFact{1, 1, x.divisor});
  return x;
}

TileFacts OfBroadcast(TileFacts x, const isa::Shape& from, const isa::Shape& to) {
  for (size_t d = 0; d < to.size(); ++d) {
    if (from[d] != to[d]) x.axes[d] = {1, to[d], x.divisor};
  }
  return x;
}

// x + y or x - y. x_unit: what one step of x's runs is worth (bytes of an element for pointers); y's values count in units of y_scale.
TileFacts OfSum(const TileFacts& x, const TileFacts& y, int64_t scale, bool subtract) {
  TileFacts facts;
  facts.divisor = std::min(x.divisor, Product(y.divisor, scale));
  facts.non_negative = x.non_negative && y.non_negative && !subtract;
  for (size_t d = 0; d < x.axes.size(); ++d) {
    const AxisFact &a = x.axes[d], &b = y.axes[d];
    AxisFact sum;
    sum.constancy = std::min(a.constancy, b.constancy);
    const int64_t x_runs = std::min(a.contiguity, b.constancy);
    const int64_t y_runs = subtract ? 1 : std::min(a.constancy, b.contiguity);
    sum.contiguity = std::max(x_runs, y_runs);
    sum.run_divisor = std::min(DivisorAt(x, d, sum.contiguity, scale), Product(DivisorAt(y, d, sum.contiguity, 1), scale));
    facts.axes.push_back(sum);
  }
  return facts;
}

TileFacts OfProduct(const TileFacts& x, const TileFacts& y) {
  TileFacts facts;
  facts.divisor = Product(x.divisor, y.divisor);
  facts.non_negative = x.non_negative && y.non_negative;
  for (size_t d = 0; d < x.axes.size(); ++d) {
    facts.axes.push_back({1, std::min(x.axes[d].constancy, y.axes[d].constancy), facts.divisor});
  }
  return facts;
}

// x // y and x % y: blocks of a run whose start and length y's divisor covers stay together. Truncation needs an x that is not negative; the
// sign of y does not matter, and zero gives -1 or x.
TileFacts OfDivision(const TileFacts& x, const TileFacts& y, bool remainder, bool trust_signs) {
  TileFacts facts;
  facts.non_negative = x.non_negative && (remainder || y.non_negative);
  facts.divisor = remainder ? std::min(x.divisor, y.divisor) : 1;
  for (size_t d = 0; d < x.axes.size(); ++d) {
    AxisFact fact;
    fact.constancy = std::min(x.axes[d].constancy, y.axes[d].constancy);
    const int64_t block = std::min({x.axes[d].contiguity, x.axes[d].run_divisor, y.divisor, y.axes[d].constancy});
    const bool safe = x.non_negative || trust_signs;
    if (safe && remainder) fact.contiguity = block;
    if (safe && !remainder) fact.constancy = std::max(fact.constancy, block);
    fact.run_divisor = remainder ? std::min(DivisorAt(x, d, fact.contiguity, 1), y.divisor) : 1;
    facts.axes.push_back(fact);
  }
  return facts;
}

// A compare: constant where both sides are; and x < y, x >= y with x a run, y one value: constant on blocks that start at, and y a multiple of, k.
TileFacts OfCompare(Op op, const TileFacts& x, const TileFacts& y) {
  TileFacts facts;
  for (size_t d = 0; d < x.axes.size(); ++d) {
    const AxisFact &a = x.axes[d], &b = y.axes[d];
    int64_t constancy = std::min(a.constancy, b.constancy);
    if (op == Op::kLt || op == Op::kGe) constancy = std::max(constancy, std::min({a.contiguity, a.run_divisor, b.constancy, y.divisor}));
    if (op == Op::kGt || op == Op::kLe) constancy = std::max(constancy, std::min({b.contiguity, b.run_divisor, a.constancy, x.divisor}));
    facts.axes.push_back({1, constancy, 1});
  }
  return facts;
}

// An elementwise op of which only equality of inputs is known to carry over.
TileFacts OfElementwise(const ir::Op& op, const Of& of, const isa::Type& type) {
  TileFacts facts = UnknownFacts(type);
  for (size_t d = 0; d < facts.axes.size(); ++d) {
    int64_t constancy = type.shape[d];
    for (ir::ValueId operand : op.operands) {
      if (operand != ir::kNoValue) constancy = std::min(constancy, of(operand).axes[d].constancy);
    }
    facts.axes[d].constancy = constancy;
  }
  return facts;
}

TileFacts OfSelect(const TileFacts& cond, const TileFacts& x, const TileFacts& y) {
  TileFacts facts = Meet(x, y);
  for (size_t d = 0; d < facts.axes.size(); ++d) {
    AxisFact& fact = facts.axes[d];
    const int64_t block = std::min(fact.contiguity, cond.axes[d].constancy);
    if (block != fact.contiguity) fact.run_divisor = std::min(fact.run_divisor, block);
    fact.contiguity = block;
    fact.constancy = std::min(fact.constancy, cond.axes[d].constancy);
  }
  return facts;
}

bool IsElementwiseOp(const ir::Kernel& kernel, const ir::Op& op) {
  const isa::OpInfo& info = isa::Info(op.op);
  if (info.effect != isa::Effect::kPure || op.results.size() != 1 || op.operands.empty()) return false;
  const isa::Shape& shape = kernel.TypeOf(op.results[0]).shape;
  for (const isa::OperandSpec& spec : info.operands) {
    if (spec.kind == isa::OperandKind::kValue && spec.shape != "S") return false;
  }
  return std::all_of(op.operands.begin(), op.operands.end(), [&](ir::ValueId id) { return id == ir::kNoValue || kernel.TypeOf(id).shape == shape; });
}

}  // namespace

TileFacts UnknownFacts(const isa::Type& type) {
  TileFacts facts;
  facts.axes.resize(type.shape.size());
  return facts;
}

TileFacts Meet(const TileFacts& a, const TileFacts& b) {
  TileFacts facts;
  facts.divisor = std::min(a.divisor, b.divisor);
  facts.non_negative = a.non_negative && b.non_negative;
  for (size_t d = 0; d < a.axes.size(); ++d) {
    AxisFact fact;
    fact.contiguity = std::min(a.axes[d].contiguity, b.axes[d].contiguity);
    fact.constancy = std::min(a.axes[d].constancy, b.axes[d].constancy);
    fact.run_divisor = std::min({a.axes[d].run_divisor, b.axes[d].run_divisor});
    if (a.axes[d].contiguity != b.axes[d].contiguity) fact.run_divisor = std::min(fact.run_divisor, fact.contiguity);
    facts.axes.push_back(fact);
  }
  return facts;
}

TileFacts Transfer(const ir::Kernel& kernel, const ir::Op& op, const Of& of, const FactOptions& options) {
  const isa::Type& type = kernel.TypeOf(op.results[0]);
  const auto x = [&]() -> const TileFacts& { return of(op.operands[0]); };
  const auto y = [&]() -> const TileFacts& { return of(op.operands[1]); };
  const bool integer = !type.elem.pointer && isa::IsInteger(type.elem.dtype);
  switch (op.op) {
    case Op::kConst: return integer ? OfConstant(op.IntAttr("value")) : UnknownFacts(type);
    case Op::kProgramId: case Op::kNumPrograms: {
      TileFacts facts;
      facts.non_negative = true;
      return facts;
    }
    case Op::kArange: return OfArange(type, op.IntAttr("start"));
    case Op::kSplat: return OfSplat(x(), type.shape);
    case Op::kExpandDims: return OfExpandDims(x(), op.IntAttr("axis"));
    case Op::kBroadcast: return OfBroadcast(x(), kernel.TypeOf(op.operands[0]).shape, type.shape);
    case Op::kAdd: if (integer) return OfSum(x(), y(), 1, false); break;
    case Op::kSub: if (integer) return OfSum(x(), y(), 1, true); break;
    case Op::kMul: if (integer) return OfProduct(x(), y()); break;
    case Op::kMaximum: case Op::kMinimum: {
      TileFacts facts = OfElementwise(op, of, type);
      facts.divisor = integer ? std::min(x().divisor, y().divisor) : 1;
      facts.non_negative = integer && (op.op == Op::kMaximum ? x().non_negative || y().non_negative : x().non_negative && y().non_negative);
      for (AxisFact& axis : facts.axes) axis.run_divisor = facts.divisor;
      return facts;
    }
    case Op::kFloorDiv: return OfDivision(x(), y(), false, options.trust_signs);
    case Op::kMod: if (integer) return OfDivision(x(), y(), true, options.trust_signs); break;
    case Op::kPtrAdd: return OfSum(x(), y(), isa::StorageBytes(type.elem.dtype), false);
    case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: return OfCompare(op.op, x(), y());
    case Op::kWhere: if (integer || type.elem.pointer) return OfSelect(x(), y(), of(op.operands[2])); break;
    case Op::kLoad:
      if (options.guess_loaded && type.is_scalar() && (integer || type.elem.pointer)) return Guess();
      break;
    case Op::kBitcast:
      if (options.guess_loaded && type.is_scalar() && type.elem.pointer) return Guess();
      break;
    case Op::kCast: {
      const isa::Type& from = kernel.TypeOf(op.operands[0]);
      if (options.guess_loaded && type.is_scalar() && type.elem.pointer) return Guess();
      const bool widens = integer && isa::IsInteger(from.elem.dtype) && isa::BitWidth(type.elem.dtype) >= isa::BitWidth(from.elem.dtype);
      if (widens && from.elem.dtype != isa::DType::kI1) return x();
      break;
    }
    case Op::kConvertLayout: return x();
    case Op::kPermute: {
      TileFacts facts = UnknownFacts(type);
      const auto& dims = std::get<std::vector<int64_t>>(*op.FindAttr("dims"));
      for (size_t d = 0; d < dims.size(); ++d) facts.axes[d] = x().axes[dims[d]];
      facts.divisor = x().divisor;
      facts.non_negative = x().non_negative;
      return facts;
    }
    default: break;
  }
  return IsElementwiseOp(kernel, op) ? OfElementwise(op, of, type) : UnknownFacts(type);
}

}  // namespace tilevm::analysis
