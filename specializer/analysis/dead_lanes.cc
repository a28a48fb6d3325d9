#include "specializer/analysis/dead_lanes.h"

#include <algorithm>

namespace tilevm::analysis {

using ir::ValueId;
using isa::Op;

DeadLanes::DeadLanes(AffineValues& values) : values_(values) { Collect(values.kernel().body, nullptr); }

void DeadLanes::Collect(const ir::Region& region, const ir::Op* owner) {
  for (const ir::Op& op : region.ops) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] != ir::kNoValue) uses_[op.operands[i]].push_back({&op, i, owner});
    }
    for (const ir::Region& inner : op.regions) Collect(inner, &op);
  }
}

bool DeadLanes::Dead(ValueId tile, int axis, const Wrap& wrap, std::vector<Exact>& exact) {
  Question q{wrap, axis, {}, exact};
  return Follow(tile, axis, q);
}

bool DeadLanes::Follow(ValueId tile, int axis, Question& q) {
  if (!q.seen.insert({tile, axis}).second) return true;
  const auto uses = uses_.find(tile);
  if (uses == uses_.end()) return true;
  return std::all_of(uses->second.begin(), uses->second.end(), [&](const Use& use) { return FollowUse(use, axis, q); });
}

bool DeadLanes::Changes(const ir::Op& op, const Question& q) const {
  for (const Polynomial* p : {&q.wrap.coordinate, &q.wrap.bound}) {
    for (const auto& [factors, coefficient] : p->terms) {
      for (const Factor& f : factors) {
        if (!IsAxis(f) && values_.DefinedInside(f.value, op)) return true;
      }
    }
  }
  return false;
}

bool DeadLanes::StoreKeepsOut(const ir::Op& store, int axis, Question& q) {
  const std::vector<Inequality>* mask = values_.MaskOf(store.operand(2));
  if (mask == nullptr) return false;
  const Polynomial here = Renumbered(q.wrap.coordinate, [&](int d) { return d == q.axis ? axis : d; });
  const std::optional<Polynomial> gap = AddScaled(q.wrap.bound, here, -1);
  for (const Inequality& i : *mask) {
    if (!gap.has_value() || !(i.positive == *gap)) continue;
    // In terms of the coordinate's own axis: the mask has no other.
    for (const Exact& e : i.exact) q.exact.push_back({Renumbered(e.value, [&](int d) { return d == axis ? q.axis : d; }), e.dtype, true});
    return true;
  }
  return false;
}

bool DeadLanes::FollowYield(const Use& use, int axis, Question& q) {
  if (use.owner == nullptr || Changes(*use.owner, q)) return false;
  const ir::Op& owner = *use.owner;
  switch (owner.op) {
    case Op::kFor:
      return Follow(owner.regions[0].args[1 + use.operand], axis, q) && Follow(owner.results[use.operand], axis, q);
    case Op::kIf: case Op::kBlock: return Follow(owner.results[use.operand], axis, q);
    default: return false;
  }
}

bool DeadLanes::FollowUse(const Use& use, int axis, Question& q) {
  const ir::Op& op = *use.op;
  const auto shape = [&](ValueId id) -> const isa::Shape& { return values_.kernel().TypeOf(id).shape; };
  switch (op.op) {
    case Op::kYield: return FollowYield(use, axis, q);
    case Op::kFor:
      // What it begins with has the coordinate of the outside.
      return use.operand >= 3 && !Changes(op, q) && Follow(op.regions[0].args[1 + use.operand - 3], axis, q) && Follow(op.results[use.operand - 3], axis, q);
    case Op::kStore: return use.operand == 1 && StoreKeepsOut(op, axis, q);
    case Op::kLoad: return use.operand == 2 && Follow(op.results[0], axis, q);
    case Op::kDot: {
      // Batches lead; then a is [M, K], b is [K, N], the sum [M, N].
      const int rank = static_cast<int>(shape(op.operands[use.operand]).size());
      const int summed = use.operand == 0 ? rank - 1 : use.operand == 1 ? rank - 2 : -1;
      return axis != summed && Follow(op.results[0], axis, q);
    }
    case Op::kReduce: case Op::kScan: {
      const int along = static_cast<int>(op.IntAttr("axis"));
      if (axis == along) return false;
      const int to = op.op == Op::kReduce && axis > along ? axis - 1 : axis;
      return std::all_of(op.results.begin(), op.results.end(), [&](ValueId id) { return Follow(id, to, q); });
    }
    case Op::kExpandDims: return Follow(op.results[0], axis >= op.IntAttr("axis") ? axis + 1 : axis, q);
    case Op::kPermute: {
      const auto* dims = std::get_if<std::vector<int64_t>>(op.FindAttr("dims"));
      if (dims == nullptr) return false;
      const auto at = std::find(dims->begin(), dims->end(), axis);
      return at != dims->end() && Follow(op.results[0], static_cast<int>(at - dims->begin()), q);
    }
    case Op::kReshape: {
      const isa::Shape &from = shape(op.operands[0]), &into = shape(op.results[0]);
      size_t j = 0;
      int to = -1;
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i] == 1) continue;
        while (j < into.size() && into[j] == 1) ++j;
        if (j == into.size() || into[j] != from[i]) return false;
        if (static_cast<int>(i) == axis) to = static_cast<int>(j);
        ++j;
      }
      return to >= 0 && Follow(op.results[0], to, q);
    }
    case Op::kBroadcast: case Op::kConvertLayout: return Follow(op.results[0], axis, q);
    default: break;
  }
  // Elementwise: lanes stay where they are, and nothing but the results comes of it.
  if (isa::Info(op.op).effect != isa::Effect::kPure || !op.regions.empty() || op.results.empty()) return false;
  switch (op.op) {
    case Op::kGather: case Op::kSort: case Op::kTopK: case Op::kFlip: case Op::kJoin: case Op::kSplit: case Op::kCat: case Op::kHistogram:
    case Op::kInlineAsm: return false;
    default: break;
  }
  for (ValueId operand : op.operands) {
    if (operand != ir::kNoValue && shape(operand) != shape(op.operands[use.operand])) return false;
  }
  return std::all_of(op.results.begin(), op.results.end(), [&](ValueId id) {
    return shape(id) == shape(op.operands[use.operand]) && Follow(id, axis, q);
  });
}

}  // namespace tilevm::analysis
