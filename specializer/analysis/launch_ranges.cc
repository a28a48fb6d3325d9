#include "specializer/analysis/launch_ranges.h"

#include <algorithm>
#include <limits>

#include "absl/numeric/int128.h"
#include "isa/types.h"

namespace tilevm::analysis {

using isa::Op;

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

// All that the type can hold, as far as a Range can say it.
Range Whole(const isa::Type& type) {
  if (type.elem.pointer || isa::IsFloat(type.elem.dtype)) return {kMin, kMax};
  const int bits = isa::BitWidth(type.elem.dtype);
  if (type.elem.dtype == isa::DType::kI1) return {0, 1};
  if (isa::IsSigned(type.elem.dtype)) return bits == 64 ? Range{kMin, kMax} : Range{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return bits == 64 ? Range{kMin, kMax} : Range{0, (int64_t{1} << bits) - 1};
}

// The interval if the type holds it, else everything: the operation may wrap.
Range Fit(absl::int128 lo, absl::int128 hi, const isa::Type& type) {
  const Range whole = Whole(type);
  if (lo < whole.lo || hi > whole.hi) return whole;
  if (!isa::IsSigned(type.elem.dtype) && isa::BitWidth(type.elem.dtype) == 64 && lo < 0) return whole;
  return {static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

Range Join(const Range& a, const Range& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

}  // namespace

class RangeSolver {
 public:
  RangeSolver(const ir::Kernel& kernel, const std::array<int64_t, 3>& grid, std::vector<Range>& ranges, bool& trusted)
      : kernel_(kernel), grid_(grid), ranges_(ranges), trusted_(trusted) {}

  void Solve() {
    Walk(kernel_.body, nullptr);
    // Only the last walk, when every range is final, judges.
    judging_ = true;
    Walk(kernel_.body, nullptr);
  }

 private:
  Range& At(ir::ValueId id) { return ranges_[id]; }
  const isa::Type& TypeOf(ir::ValueId id) const { return kernel_.TypeOf(id); }

  // yields: where the operands of this region's yield are joined; null: nowhere.
  void Walk(const ir::Region& region, std::vector<Range>* yields, size_t skip = 0) {
    for (const ir::Op& op : region.ops) {
      if (op.op == Op::kYield) {
        for (size_t i = skip; yields != nullptr && i < op.operands.size() && i - skip < yields->size(); ++i) {
          (*yields)[i - skip] = Join((*yields)[i - skip], At(op.operands[i]));
        }
        continue;
      }
      Visit(op);
    }
  }

  void SetWhole(const ir::Op& op) {
    for (ir::ValueId id : op.results) At(id) = Whole(TypeOf(id));
  }

  void Loop(const ir::Op& op) {
    const bool counted = op.op == Op::kFor;
    const size_t first = counted ? 3 : 0, skip = counted ? 1 : 0;
    std::vector<Range> carried;
    for (size_t i = 0; i < op.results.size(); ++i) carried.push_back(At(op.operands[first + i]));
    Range induction{0, 0};
    if (counted) {
      const Range lo = At(op.operands[0]), hi = At(op.operands[1]), step = At(op.operands[2]);
      // Within [lo, hi) whichever way it counts.
      induction = step.lo > 0 ? Range{lo.lo, std::max(lo.lo, hi.hi == kMin ? kMin : hi.hi - 1)}
                              : Range{std::min(lo.lo, hi.lo), std::max(lo.hi, hi.hi)};
    }
    const auto assign = [&] {
      for (const ir::Region& inner : op.regions) {
        if (counted && !inner.args.empty()) At(inner.args[0]) = induction;
        for (size_t i = 0; i < carried.size() && skip + i < inner.args.size(); ++i) At(inner.args[skip + i]) = carried[i];
      }
    };
    const bool judging = judging_;
    judging_ = false;
    for (int round = 0;; ++round) {
      assign();
      std::vector<Range> next = carried;
      if (!counted) Walk(op.regions[0], nullptr);
      Walk(op.regions.back(), &next);
      if (next == carried) break;
      for (size_t i = 0; i < next.size(); ++i) {
        if (round >= 2 && !(next[i] == carried[i])) next[i] = Whole(TypeOf(op.results[i]));
      }
      carried = std::move(next);
    }
    judging_ = judging;
    assign();
    if (judging_) {
      for (const ir::Region& inner : op.regions) Walk(inner, nullptr);
    }
    for (size_t i = 0; i < op.results.size(); ++i) At(op.results[i]) = carried[i];
  }

  void Visit(const ir::Op& op) {
    switch (op.op) {
      case Op::kFor: case Op::kWhile: Loop(op); return;
      case Op::kIf: case Op::kBlock: {
        // An exit may carry other values out: results are joined with everything where there may be one.
        for (const ir::Region& inner : op.regions) Walk(inner, nullptr);
        if (op.op == Op::kBlock || HasExit(op.regions)) {
          SetWhole(op);
          return;
        }
        std::vector<Range> out;
        for (size_t i = 0; i < op.results.size(); ++i) out.push_back({kMax, kMin});
        for (const ir::Region& inner : op.regions) {
          const ir::Op& last = inner.ops.back();
          for (size_t i = 0; i < out.size() && i < last.operands.size(); ++i) out[i] = Join(out[i], At(last.operands[i]));
        }
        for (size_t i = 0; i < out.size(); ++i) At(op.results[i]) = out[i].lo <= out[i].hi ? out[i] : Whole(TypeOf(op.results[i]));
        return;
      }
      case Op::kReduce:
        SetWhole(op);
        if (op.results.size() == 1 && (op.StringAttr("kind") == "max" || op.StringAttr("kind") == "min")) At(op.results[0]) = At(op.operands[0]);
        return;
      default: break;
    }
    for (const ir::Region& inner : op.regions) {
      for (ir::ValueId arg : inner.args) At(arg) = Whole(TypeOf(arg));
      Walk(inner, nullptr);
    }
    if (op.results.empty()) return;
    SetWhole(op);
    const ir::ValueId result = op.results[0];
    const isa::Type& type = TypeOf(result);
    if (type.elem.pointer || isa::IsFloat(type.elem.dtype)) return;
    auto in = [&](size_t i) { return At(op.operands[i]); };
    auto integer = [&](size_t i) { return !TypeOf(op.operands[i]).elem.pointer && !isa::IsFloat(TypeOf(op.operands[i]).elem.dtype); };
    const absl::int128 one = 1;
    switch (op.op) {
      case Op::kConst: {
        const ir::Attr* value = op.FindAttr("value");
        if (const auto* number = value == nullptr ? nullptr : std::get_if<int64_t>(value)) At(result) = {*number, *number};
        if (const auto* boolean = value == nullptr ? nullptr : std::get_if<bool>(value)) At(result) = {*boolean, *boolean};
        return;
      }
      case Op::kProgramId: At(result) = {0, std::max<int64_t>(0, Extent(op) - 1)}; return;
      case Op::kNumPrograms: At(result) = {Extent(op), Extent(op)}; return;
      case Op::kArange: At(result) = {op.IntAttr("start"), op.IntAttr("end") - 1}; return;
      case Op::kSplat: case Op::kBroadcast: case Op::kReshape: case Op::kExpandDims: case Op::kPermute: case Op::kConvertLayout: At(result) = in(0); return;
      case Op::kAdd: At(result) = Fit(one * in(0).lo + in(1).lo, one * in(0).hi + in(1).hi, type); return;
      case Op::kSub: At(result) = Fit(one * in(0).lo - in(1).hi, one * in(0).hi - in(1).lo, type); return;
      case Op::kMul: {
        const Range a = in(0), b = in(1);
        const absl::int128 p[4] = {one * a.lo * b.lo, one * a.lo * b.hi, one * a.hi * b.lo, one * a.hi * b.hi};
        At(result) = Fit(*std::min_element(p, p + 4), *std::max_element(p, p + 4), type);
        return;
      }
      case Op::kNeg: At(result) = Fit(-one * in(0).hi, -one * in(0).lo, type); return;
      case Op::kFloorDiv: {
        const Range a = in(0), b = in(1);
        Judge(a);
        // Division by 0 gives all ones: only divisors that cannot be 0 say anything.
        if (b.lo > 0 && a.lo >= 0) At(result) = {a.lo / b.hi, a.hi / b.lo};
        else if (b.lo > 0) At(result) = {std::min(a.lo, int64_t{0}), std::max(a.hi, int64_t{0})};
        return;
      }
      case Op::kMod: {
        const Range a = in(0), b = in(1);
        Judge(a);
        // x % 0 is x.
        if (a.lo >= 0) At(result) = {0, b.lo > 0 ? std::min(a.hi, b.hi - 1) : a.hi};
        return;
      }
      case Op::kMinimum:
        if (judging_ && op.BoolAttr("trusted") && in(0).hi > in(1).lo) trusted_ = false;
        At(result) = {std::min(in(0).lo, in(1).lo), std::min(in(0).hi, in(1).hi)};
        return;
      case Op::kMaximum:
        if (judging_ && op.BoolAttr("trusted")) {
          const int64_t apart = op.IntAttr("apart");
          trusted_ &= apart > 0 ? one * in(1).hi + apart <= Whole(type).hi : in(0).lo >= in(1).hi;
        }
        At(result) = {std::max(in(0).lo, in(1).lo), std::max(in(0).hi, in(1).hi)};
        return;
      case Op::kWhere: At(result) = Join(in(1), in(2)); return;
      case Op::kShr:
        if (in(0).lo >= 0 && in(1).lo >= 0) At(result) = {in(1).hi < 63 ? in(0).lo >> in(1).hi : 0, in(1).lo < 63 ? in(0).hi >> in(1).lo : 0};
        return;
      case Op::kShl:
        if (in(0).lo >= 0 && in(1).lo >= 0 && in(1).hi < 62) At(result) = Fit(one * in(0).lo << static_cast<int>(in(1).lo), one * in(0).hi << static_cast<int>(in(1).hi), type);
        return;
      case Op::kBitAnd:
        if (in(0).lo >= 0 && in(1).lo >= 0) At(result) = {0, std::min(in(0).hi, in(1).hi)};
        else if (in(0).lo >= 0) At(result) = {0, in(0).hi};
        else if (in(1).lo >= 0) At(result) = {0, in(1).hi};
        return;
      case Op::kCast: {
        if (!integer(0)) return;
        const Range from = in(0);
        const bool unsigned64 = !isa::IsSigned(TypeOf(op.operands[0]).elem.dtype) && isa::BitWidth(TypeOf(op.operands[0]).elem.dtype) == 64 && from.lo < 0;
        if (type.elem.dtype == isa::DType::kI1 || unsigned64) return;
        At(result) = Fit(from.lo, from.hi, type);
        return;
      }
      default: return;
    }
  }

  static bool HasExit(const std::vector<ir::Region>& regions) {
    for (const ir::Region& region : regions) {
      for (const ir::Op& op : region.ops) {
        if (op.op == Op::kExit || HasExit(op.regions)) return true;
      }
    }
    return false;
  }

  // Of the programs along an axis; of parts of programs there are more, and whether a program is one is another number (specializer/pipeline/split_tiles.h).
  int64_t Extent(const ir::Op& op) const {
    const int64_t axis = op.IntAttr("axis");
    if (axis > 2) return 2;
    const absl::int128 extent = absl::int128(grid_[axis]) * op.IntAttr("parts", 1);
    return static_cast<int64_t>(std::min<absl::int128>(extent, kMax));
  }

  void Judge(const Range& dividend) {
    if (judging_ && dividend.lo < 0) trusted_ = false;
  }

  const ir::Kernel& kernel_;
  const std::array<int64_t, 3>& grid_;
  std::vector<Range>& ranges_;
  bool& trusted_;
  bool judging_ = false;
};

LaunchRanges::LaunchRanges(const ir::Kernel& kernel, absl::Span<const std::optional<int64_t>> scalars, const std::array<int64_t, 3>& grid) {
  ranges_.reserve(kernel.values.size());
  for (const ir::ValueInfo& value : kernel.values) ranges_.push_back(Whole(value.type));
  for (size_t i = 0; i < kernel.params.size() && i < scalars.size(); ++i) {
    if (scalars[i].has_value()) ranges_[kernel.params[i].value] = {*scalars[i], *scalars[i]};
  }
  RangeSolver(kernel, grid, ranges_, signs_as_trusted_).Solve();
}

}  // namespace tilevm::analysis
