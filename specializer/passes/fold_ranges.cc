// Comparisons that the ranges of their operands decide: arange(0, 128) < 128 holds everywhere, so the mask it makes is no mask.
//
// A range is found by looking through the defining ops, a few deep; an op whose result might wrap has none. Integers of up to 64 bits as signed
// 64-bit values (u64 has no range).
#include <algorithm>
#include <optional>

#include "specializer/passes/constants.h"
#include "specializer/passes/fold_rules.h"

namespace tilevm::specializer {
namespace {

using ir::ValueId;
using isa::DType;
using isa::Op;

constexpr int kMaxDepth = 6;

struct Range {
  int64_t low, high;  // both included
};

std::optional<Range> Checked(DType dtype, absl::int128 low, absl::int128 high) {
  if (dtype == DType::kU64 || !isa::IsInteger(dtype)) return std::nullopt;
  const int bits = isa::BitWidth(dtype);
  const absl::int128 least = isa::IsUnsigned(dtype) ? absl::int128(0) : -(absl::int128(1) << (bits - 1));
  const absl::int128 most = (absl::int128(1) << (isa::IsUnsigned(dtype) ? bits : bits - 1)) - 1;
  if (low < least || high > most) return std::nullopt;
  return Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

std::optional<Range> RangeOf(const Rewriter& rewriter, ValueId id, int depth);

std::optional<Range> OfArithmetic(const Rewriter& rewriter, const ir::Op& op, DType dtype, int depth) {
  const std::optional<Range> a = RangeOf(rewriter, op.operands[0], depth - 1), b = RangeOf(rewriter, op.operands[1], depth - 1);
  if (op.op == Op::kMod && b.has_value() && b->low > 0) {  // |x % y| < y, with the sign of x
    const bool positive = a.has_value() && a->low >= 0;
    return Checked(dtype, positive ? 0 : 1 - absl::int128(b->high), b->high - 1);
  }
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  const absl::int128 al = a->low, ah = a->high, bl = b->low, bh = b->high;
  switch (op.op) {
    case Op::kAdd: return Checked(dtype, al + bl, ah + bh);
    case Op::kSub: return Checked(dtype, al - bh, ah - bl);
    case Op::kMul: {
      const auto [low, high] = std::minmax({al * bl, al * bh, ah * bl, ah * bh});
      return Checked(dtype, low, high);
    }
    case Op::kFloorDiv: return al >= 0 && bl > 0 ? Checked(dtype, al / bh, ah / bl) : std::nullopt;
    case Op::kMinimum: return Checked(dtype, std::min(al, bl), std::min(ah, bh));
    case Op::kMaximum: return Checked(dtype, std::max(al, bl), std::max(ah, bh));
    default: return std::nullopt;
  }
}

std::optional<Range> RangeOf(const Rewriter& rewriter, ValueId id, int depth) {
  const isa::ElemType elem = rewriter.TypeOf(id).elem;
  const ir::Op* def = rewriter.Def(id);
  if (elem.pointer || !isa::IsInteger(elem.dtype) || def == nullptr || depth == 0) return std::nullopt;
  switch (def->op) {
    case Op::kConst: {
      const int64_t value = isa::ScalarToInt(elem.dtype, isa::ScalarFromInt(elem.dtype, def->IntAttr("value")));
      return Checked(elem.dtype, value, value);
    }
    case Op::kArange: return Checked(elem.dtype, def->IntAttr("start"), def->IntAttr("end") - 1);
    case Op::kProgramId: return Range{0, INT32_MAX};
    case Op::kNumPrograms: return Range{1, INT32_MAX};
    case Op::kSplat: case Op::kBroadcast: case Op::kExpandDims: case Op::kReshape: case Op::kPermute: case Op::kFlip:
      return RangeOf(rewriter, def->operands[0], depth);
    case Op::kCast: {
      if (!isa::IsInteger(rewriter.TypeOf(def->operands[0]).elem.dtype)) return std::nullopt;
      const std::optional<Range> x = RangeOf(rewriter, def->operands[0], depth);
      return x.has_value() && elem.dtype != DType::kI1 ? Checked(elem.dtype, x->low, x->high) : std::nullopt;
    }
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kFloorDiv: case Op::kMod: case Op::kMinimum: case Op::kMaximum:
      return OfArithmetic(rewriter, *def, elem.dtype, depth);
    default: return std::nullopt;
  }
}

// 1 if the comparison always holds, 0 if never, -1 if that depends.
int Decide(Op op, const Range& x, const Range& y) {
  switch (op) {
    case Op::kLt: return x.high < y.low ? 1 : x.low >= y.high ? 0 : -1;
    case Op::kLe: return x.high <= y.low ? 1 : x.low > y.high ? 0 : -1;
    case Op::kGt: return Decide(Op::kLt, y, x);
    case Op::kGe: return Decide(Op::kLe, y, x);
    case Op::kEq: return x.high < y.low || x.low > y.high ? 0 : -1;
    case Op::kNe: return x.high < y.low || x.low > y.high ? 1 : -1;
    default: return -1;
  }
}

}  // namespace

ValueId FoldRanges(Rewriter& rewriter, const ir::Op& op) {
  if (op.op < Op::kLt || op.op > Op::kNe) return ir::kNoValue;
  const std::optional<Range> x = RangeOf(rewriter, op.operands[0], kMaxDepth), y = RangeOf(rewriter, op.operands[1], kMaxDepth);
  if (!x.has_value() || !y.has_value()) return ir::kNoValue;
  const int decided = Decide(op.op, *x, *y);
  if (decided < 0) return ir::kNoValue;
  return EmitConstant(rewriter, rewriter.TypeOf(op.results[0]), isa::Scalar{static_cast<uint64_t>(decided)}, op.loc);
}

}  // namespace tilevm::specializer
