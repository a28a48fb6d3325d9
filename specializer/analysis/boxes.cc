#include "specializer/analysis/boxes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "specializer/analysis/affine.h"
#include "specializer/analysis/dead_lanes.h"
#include "specializer/analysis/made_boxes.h"

namespace tilevm::analysis {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;
using launch::Node;
using launch::NodeOp;

constexpr int64_t kUnbounded = (int64_t{1} << 32) - 1, kMostCoordinate = (int64_t{1} << 31) - 1;
constexpr size_t kMostDims = 5;

// What is known of one access, and what has to hold so that its box is what the access does.
struct Found {
  Box box;
  isa::Shape shape;
  std::vector<bool> bounded, not_negative;  // by dim: the mask keeps coordinates below the extent; from 0 up
  std::vector<Node> kept;                   // by dim: extents that the mask says, before anything was added to the start
  std::vector<Polynomial> kept_start;       // the starts that go with them
  std::vector<Exact> exact;
  std::vector<Polynomial> positive;         // of parameters: the mask is one value for all
  std::vector<Wrap> not_reached;            // wraps that may not happen
  std::vector<Polynomial> dividends;        // not negative in any lane
};

bool IsConstant(const ir::Op* op, bool zero) {
  if (op == nullptr || op->op != Op::kConst) return false;
  const ir::Attr* value = op->FindAttr("value");
  if (value == nullptr) return false;
  if (const auto* number = std::get_if<int64_t>(value)) return (*number == 0) == zero;
  if (const auto* number = std::get_if<double>(value)) return (*number == 0 && !std::signbit(*number)) == zero;
  return false;
}

}  // namespace

struct Boxes::State {
  explicit State(const ir::Kernel& k) : kernel(k), values(k), dead(values) {
    CollectStores(k.body);
  }

  // ---- the array behind a pointer ----
  // Parameters that the pointer may point into; -1 for what is unknown.
  void Roots(ValueId id, std::set<ValueId>& seen, std::set<int>& roots) {
    if (id == kNoValue || !kernel.TypeOf(id).elem.pointer || !seen.insert(id).second) return;
    if (values.ParamIndex(id) >= 0) {
      roots.insert(values.ParamIndex(id));
      return;
    }
    const Affine* affine = values.Of(id);
    if (affine != nullptr && affine->base != kNoValue) {
      roots.insert(values.ParamIndex(affine->base));
      return;
    }
    const ir::Op* op = values.Definition(id);
    if (op == nullptr || op->op == Op::kLoad || op->op == Op::kCast || !op->regions.empty()) {
      roots.insert(-1);
      return;
    }
    for (ValueId operand : op->operands) Roots(operand, seen, roots);
    if (op->operands.empty()) roots.insert(-1);
  }

  void CollectStores(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      const isa::Effect effect = isa::Info(op.op).effect;
      if (effect == isa::Effect::kWrites || effect == isa::Effect::kReadsWrites) {
        std::set<ValueId> seen;
        Roots(op.operand(0), seen, written);
      }
      if (op.op == Op::kInlineAsm) written.insert(-1);
      for (const ir::Region& inner : op.regions) CollectStores(inner);
    }
  }

  // ---- nodes of the slice ----
  // Of parameters and what is uniform.
  Node NodeOf(const Factor& f) {
    if (const int param = values.ParamIndex(f.value); param >= 0) return slice.Param(param);
    return slice.Add({NodeOp::kMost, static_cast<int64_t>(f.value)});
  }
  Node NodeOf(const Polynomial& p) {
    Node sum = slice.Const(0);
    for (const auto& [factors, coefficient] : p.terms) {
      Node product = slice.Const(coefficient);
      for (const Factor& f : factors) product = slice.Binary(NodeOp::kMul, product, NodeOf(f));
      sum = slice.Binary(NodeOp::kAdd, sum, product);
    }
    return sum;
  }
  void Check(NodeOp op, Node a, Node b, const std::string& reason) {
    const Node holds = slice.Binary(op, a, b);
    if (slice.nodes[holds].op == NodeOp::kConst && slice.nodes[holds].value != 0) return;
    for (const launch::Check& check : slice.checks) {
      if (check.holds == holds) return;
    }
    slice.checks.push_back({holds, reason});
  }
  std::string NameOf(ValueId id) const {
    const std::string& name = kernel.values[id].name;
    return name.empty() ? absl::StrCat("value ", id) : name;
  }
  // Most that a factor other than an axis is; checks that it is not negative, and that what counts as uniform is.
  Node MostOf(const Factor& f) {
    const Node zero = slice.Const(0);
    if (f.trip) {
      const ir::Op& loop = *values.LoopOf(f.value);
      const auto edge = [&](ValueId id, NodeOp which) {
        const Affine* known = values.Of(id);
        if (known != nullptr && values.IsUniform(known->value) && known->base == kNoValue) return NodeOf(known->value);
        return slice.Add({which, static_cast<int64_t>(id)});
      };
      const Node last = slice.Add({NodeOp::kMost, static_cast<int64_t>(f.value)});
      const Node way = slice.Binary(NodeOp::kMax, slice.Binary(NodeOp::kSub, last, edge(loop.operands[0], NodeOp::kLeast)), zero);
      const Node step = edge(loop.operands[2], NodeOp::kLeast);
      Check(NodeOp::kLess, zero, step, "the step of a loop is not positive");
      return slice.Binary(NodeOp::kFloorDiv, way, step);
    }
    if (const int param = values.ParamIndex(f.value); param >= 0) {
      Check(NodeOp::kLessEqual, zero, slice.Param(param), absl::StrCat(NameOf(f.value), " is negative"));
      return slice.Param(param);
    }
    const ir::Op* op = values.Definition(f.value);
    const Node least = slice.Add({NodeOp::kLeast, static_cast<int64_t>(f.value)}), most = slice.Add({NodeOp::kMost, static_cast<int64_t>(f.value)});
    if (op == nullptr || (op->op != Op::kProgramId && op->op != Op::kNumPrograms)) {
      Check(NodeOp::kLessEqual, zero, least, absl::StrCat(NameOf(f.value), " may be negative"));
    }
    return most;
  }
  // An H200 takes only such coordinates along neighbours as are multiples of 16 bytes: another one is an illegal instruction. False if it surely is one;
  // CheckAligned leaves the rest to the launcher.
  bool MayBeAligned(const Polynomial& start, int64_t bytes) const {
    return std::all_of(start.terms.begin(), start.terms.end(), [&](const auto& term) {
      return term.second % (16 / bytes) == 0 || std::any_of(term.first.begin(), term.first.end(), [&](const Factor& f) { return values.IsUniform(f); });
    });
  }
  // The first program, or the first iteration, has a negative coordinate.
  bool BeginsBefore(const Polynomial& start) const {
    const auto constant = start.terms.find({});
    return constant != start.terms.end() && constant->second < 0 && std::all_of(start.terms.begin(), start.terms.end(), [&](const auto& term) {
      return std::all_of(term.first.begin(), term.first.end(), [&](const Factor& f) {
        const ir::Op* op = values.Definition(f.value);
        return f.trip || (op != nullptr && op->op == Op::kProgramId);
      });
    });
  }
  void CheckAligned(const Polynomial& start, int64_t bytes, const std::string& reason) {
    for (const auto& [factors, coefficient] : start.terms) {
      if (coefficient % (16 / bytes) == 0) continue;
      Monomial uniform;
      std::copy_if(factors.begin(), factors.end(), std::back_inserter(uniform), [&](const Factor& f) { return values.IsUniform(f); });
      Polynomial known;
      known.terms[uniform] = coefficient % 16 * bytes;  // its remainder is all that counts
      Check(NodeOp::kEqual, slice.Binary(NodeOp::kMod, NodeOf(known), slice.Const(16)), slice.Const(0), reason);
    }
  }
  struct Interval {
    Node lo, hi;
  };
  Interval IntervalOf(const Polynomial& p, const isa::Shape& shape) {
    Interval out{slice.Const(0), slice.Const(0)};
    for (const auto& [factors, coefficient] : p.terms) {
      Node product = slice.Const(coefficient);
      const bool exact = std::all_of(factors.begin(), factors.end(), [&](const Factor& f) { return !IsAxis(f) && values.IsUniform(f); });
      for (const Factor& f : factors) {
        const Node most = IsAxis(f) ? slice.Const(shape[static_cast<size_t>(AxisOf(f))] - 1) : exact ? NodeOf(f) : MostOf(f);
        product = slice.Binary(NodeOp::kMul, product, most);
      }
      if (exact || coefficient > 0) out.hi = slice.Binary(NodeOp::kAdd, out.hi, product);
      if (exact || coefficient < 0) out.lo = slice.Binary(NodeOp::kAdd, out.lo, product);
    }
    return out;
  }
  void CheckWithin(const Interval& range, int64_t least, int64_t most, const std::string& reason) {
    Check(NodeOp::kLessEqual, slice.Const(least), range.lo, reason);
    Check(NodeOp::kLessEqual, range.hi, slice.Const(most), reason);
  }

  // Elements are read this many times each, or a copy of the array costs more than it brings.
  static constexpr int64_t kReadsWorthACopy = 8;
  Node WorthCopying(const ir::Op& load, const launch::TensorMap& map) {
    Node reads = slice.Const(1);
    for (int axis = 0; axis < 3; ++axis) reads = slice.Binary(NodeOp::kMul, reads, slice.Add({NodeOp::kGrid, axis}));
    for (const ir::Op* loop : values.LoopsAround(load.results[0])) {
      const ValueId induction = loop->regions[0].args[0];
      if (loop->FindAttr("step") != nullptr) continue;
      reads = slice.Binary(NodeOp::kMul, reads, slice.Binary(NodeOp::kAdd, MostOf({induction, true}), slice.Const(1)));
    }
    reads = slice.Binary(NodeOp::kMul, reads, slice.Const(kernel.TypeOf(load.operands[0]).elem_count()));
    const Node elements = slice.Binary(NodeOp::kMul, map.extents[0], map.extents[1]);
    return slice.Binary(NodeOp::kLessEqual, slice.Binary(NodeOp::kMul, elements, slice.Const(kReadsWorthACopy)), reads);
  }

  absl::StatusOr<Found> Match(const ir::Op& op);
  absl::Status Bounds(const ir::Op& op, const Affine& pointer, Found& found, std::map<int, Polynomial>& bounds, std::vector<Inequality>& scalars,
                      std::map<int, int64_t>& not_negative);
  absl::Status OtherIsZero(const ir::Op& op);
  absl::Status Place(const std::map<int, Polynomial>& bounds, const std::map<int, int64_t>& not_negative, std::map<int, Polynomial>& strides, int inner, Polynomial rest,
                     Found& found, Polynomial& offset);
  void CheckExact(const Found& found, const Exact& exact, const std::string& name);
  const absl::StatusOr<Found>& FoundOf(const ir::Op& op) {
    auto known = accesses.find(&op);
    if (known == accesses.end()) known = accesses.emplace(&op, Match(op)).first;
    return known->second;
  }

  const std::optional<MadeBox>& MadeOf(const ir::Op& op) {
    auto known = made.find(&op);
    if (known != made.end()) return known->second;
    std::optional<MadeBox> box;
    // What a launcher can make a map of, or could if it were not for something else, is left to it.
    const bool plain = !op.BoolAttr("descriptor") || kernel.TypeOf(op.operands[0]).rank() != 2 || FoundOf(op).ok() || (op.op == Op::kLoad && !OtherIsZero(op).ok());
    if (!plain) {
      if (by_any_base == nullptr) by_any_base = std::make_unique<AffineValues>(kernel, true);
      box = MakeBox(*by_any_base, op);
      const auto from_launch = [&](ValueId id) { return values.ParamIndex(id) >= 0 || values.IsUniform(Factor{id, false}); };
      if (box.has_value() && std::all_of(box->fields.begin(), box->fields.end(), from_launch)) box.reset();
    }
    return made.emplace(&op, std::move(box)).first->second;
  }

  const ir::Kernel& kernel;
  AffineValues values;
  std::unique_ptr<AffineValues> by_any_base;
  std::map<const ir::Op*, std::optional<MadeBox>> made;
  DeadLanes dead;
  std::set<int> written;  // parameters; -1: nobody knows
  std::map<const ir::Op*, absl::StatusOr<Found>> accesses;
  launch::Slice slice;
};

namespace {

absl::Status No(absl::string_view why) { return absl::FailedPreconditionError(why); }

// The terms with a factor that differs between programs or iterations, and the others.
std::pair<Polynomial, Polynomial> Split(const AffineValues& values, const Polynomial& p) {
  std::pair<Polynomial, Polynomial> out;
  for (const auto& [factors, coefficient] : p.terms) {
    const bool uniform = std::all_of(factors.begin(), factors.end(), [&](const Factor& f) { return values.IsUniform(f); });
    (uniform ? out.second : out.first).terms[factors] = coefficient;
  }
  return out;
}

// The monomial over the divisor, which is a single term; nullopt if it does not divide.
std::optional<std::pair<Monomial, int64_t>> Divide(const Monomial& factors, int64_t coefficient, const Polynomial& divisor) {
  if (divisor.terms.size() != 1) return std::nullopt;
  const auto& [by, number] = *divisor.terms.begin();
  if (number == 0 || coefficient % number != 0) return std::nullopt;
  Monomial rest = factors;
  for (const Factor& f : by) {
    const auto at = std::find(rest.begin(), rest.end(), f);
    if (at == rest.end()) return std::nullopt;
    rest.erase(at);
  }
  return std::make_pair(std::move(rest), coefficient / number);
}

Polynomial WithoutAxes(const Polynomial& p) {
  Polynomial out;
  for (const auto& [factors, coefficient] : p.terms) {
    if (std::none_of(factors.begin(), factors.end(), IsAxis)) out.terms[factors] = coefficient;
  }
  return out;
}

}  // namespace

absl::Status Boxes::State::OtherIsZero(const ir::Op& op) {
  ValueId other = op.operand(2);
  while (other != kNoValue) {
    const ir::Op* def = values.Definition(other);
    if (IsConstant(def, true)) return absl::OkStatus();
    const bool moved = def != nullptr && (def->op == Op::kSplat || def->op == Op::kBroadcast || def->op == Op::kExpandDims || def->op == Op::kReshape ||
                                          def->op == Op::kPermute || def->op == Op::kConvertLayout);
    if (!moved) return No("masked lanes are not 0");
    other = def->operands[0];
  }
  return absl::OkStatus();
}

// Bounds by axis: coordinate < bound where the lane is live, the coordinate being the axis and scalars.
absl::Status Boxes::State::Bounds(const ir::Op& op, const Affine& pointer, Found& found, std::map<int, Polynomial>& bounds, std::vector<Inequality>& scalars,
                                  std::map<int, int64_t>& not_negative) {
  std::vector<Inequality> conditions;
  const ValueId mask = op.operand(op.op == Op::kLoad ? 1 : 2);
  if (mask != kNoValue) {
    const std::vector<Inequality>* known = values.MaskOf(mask);
    if (known == nullptr) return No("the mask is not a bound on a coordinate");
    conditions = *known;
  }
  std::vector<std::pair<int, Polynomial>> lower;
  for (const Inequality& i : conditions) {
    int axis = -1;
    for (size_t d = 0; d < found.shape.size(); ++d) {
      const std::optional<Polynomial> coefficient = CoefficientOf(i.positive, static_cast<int>(d));
      if (coefficient.has_value() && coefficient->terms.empty()) continue;
      const std::optional<int64_t> number = coefficient.has_value() ? ConstantOf(*coefficient) : std::nullopt;
      if (axis >= 0 || !number.has_value() || (*number != 1 && *number != -1)) return No("the mask is not a bound on a coordinate");
      axis = static_cast<int>(d);
      const Polynomial rest = WithoutAxes(i.positive);
      if (*number == 1) {
        lower.emplace_back(axis, rest);
      } else if (bounds.count(axis) == 0 || bounds[axis] == rest) {
        bounds[axis] = rest;
      } else {
        return No("the mask bounds a coordinate twice");
      }
    }
    if (axis < 0) scalars.push_back(i);
    found.exact.insert(found.exact.end(), i.exact.begin(), i.exact.end());
  }
  for (const Wrap& wrap : pointer.wraps) {
    if (op.op != Op::kLoad) return No("a store through % or where");
    int axis = -1;
    for (size_t d = 0; d < found.shape.size(); ++d) {
      const std::optional<Polynomial> coefficient = CoefficientOf(wrap.coordinate, static_cast<int>(d));
      if (coefficient.has_value() && coefficient->terms.empty()) continue;
      if (axis >= 0 || !coefficient.has_value() || ConstantOf(*coefficient) != int64_t{1}) return No("what is wrapped by % is not a coordinate");
      axis = static_cast<int>(d);
    }
    if (axis < 0) return No("what is wrapped by % is not a coordinate");
    const std::optional<Polynomial> bound = AddScaled(wrap.bound, WithoutAxes(wrap.coordinate), -1);
    if (!bound.has_value() || (bounds.count(axis) > 0 && !(bounds[axis] == *bound))) return No("the mask bounds a coordinate twice");
    bounds[axis] = *bound;
    found.dividends.push_back(wrap.coordinate);
    if (!dead.Dead(op.results[0], axis, wrap, found.exact)) found.not_reached.push_back(wrap);
    not_negative.emplace(axis, 0);
  }
  for (const auto& [axis, rest] : lower) {
    // axis + start > -1, with the start that the upper bound has.
    const auto upper = bounds.find(axis);
    const Polynomial mine = Split(values, rest).first, start = upper == bounds.end() ? mine : Split(values, upper->second).first;
    const std::optional<Polynomial> sum = AddScaled(mine, start, upper == bounds.end() ? -1 : 1);
    const Polynomial fixed = Split(values, rest).second;
    if (!sum.has_value() || !sum->terms.empty()) return No("the mask is not a bound on a coordinate");
    if (upper == bounds.end()) {
      // Coordinates do not reach 2^31: a bound that is none, so that the start is the mask's.
      const std::optional<Polynomial> none = AddScaled(ConstantPolynomial(kUnbounded - ConstantOf(fixed).value_or(1) + 1), mine, -1);
      if (!none.has_value()) return No("the mask is not a bound on a coordinate");
      bounds[axis] = *none;
    }
    // What parameters add lies in the address: the box then begins there, which is right if nothing before it is wanted.
    if (const std::optional<int64_t> number = ConstantOf(fixed); number.has_value()) not_negative[axis] = *number - 1;
    else found.positive.push_back(fixed);
  }
  return absl::OkStatus();
}

// Distributes the terms of the address without an axis over the dims of the box; what is left of parameters alone is the offset of the array.
absl::Status Boxes::State::Place(const std::map<int, Polynomial>& bounds, const std::map<int, int64_t>& not_negative, std::map<int, Polynomial>& strides, int inner,
                                 Polynomial rest, Found& found, Polynomial& offset) {
  const auto shift_of = [&](int axis) { return not_negative.count(axis) > 0 ? not_negative.at(axis) : 0; };
  std::map<int, Polynomial> starts;
  for (const auto& [axis, bound] : bounds) {
    const auto stride = strides.find(axis);
    if (stride == strides.end()) return No("the mask bounds an axis that the address does not have");
    const std::optional<Polynomial> start = AddScaled(ConstantPolynomial(shift_of(axis)), Split(values, bound).first, -1);
    const std::optional<Polynomial> moved = start.has_value() ? Multiply(*start, stride->second) : std::nullopt;
    const std::optional<Polynomial> left = moved.has_value() ? AddScaled(rest, *moved, -1) : std::nullopt;
    if (!left.has_value()) return No("the address is too large to follow");
    for (const auto& [factors, coefficient] : left->terms) {
      if (rest.terms.count(factors) == 0) return No("the mask bounds another coordinate than the address has");
    }
    starts[axis] = *start;
    rest = *left;
  }
  // Axes whose stride says most come first: parameters, then large numbers, the neighbours last.
  std::vector<int> order;
  for (const auto& [axis, stride] : strides) {
    if (bounds.count(axis) == 0) order.push_back(axis);
  }
  const auto weight = [&](int axis) {
    const Polynomial& p = strides[axis];
    return p.terms.size() != 1 ? std::make_pair(size_t{0}, int64_t{0}) : std::make_pair(p.terms.begin()->first.size(), p.terms.begin()->second);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weight(a) > weight(b); });
  std::map<Monomial, Polynomial> others;  // stride of parameters -> coordinate times a number
  for (const auto& [factors, coefficient] : rest.terms) {
    Monomial uniform, moving;
    for (const Factor& f : factors) (values.IsUniform(f) ? uniform : moving).push_back(f);
    if (moving.empty()) {
      offset.terms[factors] = coefficient;
      continue;
    }
    bool placed = false;
    for (int axis : order) {
      // A product of sizes is no coordinate along neighbours.
      if (axis == inner && !uniform.empty()) continue;
      const auto quotient = Divide(factors, coefficient, strides[axis]);
      if (!quotient.has_value()) continue;
      starts[axis].terms[quotient->first] += quotient->second;
      placed = true;
      break;
    }
    if (!placed) others[uniform].terms[moving] += coefficient;
  }

  const int64_t bytes = isa::StorageBytes(found.box.dtype);
  std::vector<int> axes = {inner};
  for (auto it = strides.rbegin(); it != strides.rend(); ++it) {
    if (it->first != inner) axes.push_back(it->first);
  }
  for (int axis : axes) {
    BoxDim dim;
    dim.axis = axis;
    dim.start = starts[axis];
    const auto bound = bounds.find(axis);
    dim.extent = bound == bounds.end() ? slice.Const(kUnbounded)
                                       : slice.Binary(NodeOp::kAdd, NodeOf(Split(values, bound->second).second), slice.Const(shift_of(axis)));
    dim.stride = slice.Binary(NodeOp::kMul, NodeOf(strides[axis]), slice.Const(bytes));
    found.kept.push_back(dim.extent);
    found.kept_start.push_back(dim.start);
    found.bounded.push_back(bound != bounds.end());
    found.box.dims.push_back(std::move(dim));
  }
  if (!MayBeAligned(found.box.dims[0].start, bytes)) return No("a coordinate along neighbours is not a multiple of 16 bytes");
  for (auto& [stride, coordinate] : others) {
    int64_t common = 0;
    for (const auto& [factors, coefficient] : coordinate.terms) common = std::gcd(common, coefficient);
    BoxDim dim;
    for (const auto& [factors, coefficient] : coordinate.terms) dim.start.terms[factors] = coefficient / common;
    dim.extent = slice.Const(kUnbounded);
    Polynomial times;
    times.terms[stride] = common;
    dim.stride = slice.Binary(NodeOp::kMul, NodeOf(times), slice.Const(bytes));
    found.kept.push_back(dim.extent);
    found.kept_start.push_back(dim.start);
    found.bounded.push_back(false);
    found.box.dims.push_back(std::move(dim));
  }
  if (found.box.dims.size() > kMostDims) return No("the address has more than 5 dimensions");
  return absl::OkStatus();
}

absl::StatusOr<Found> Boxes::State::Match(const ir::Op& op) {
  const bool load = op.op == Op::kLoad;
  const isa::Type& type = kernel.TypeOf(op.operands[0]);
  Found found;
  found.shape = type.shape;
  found.box.dtype = type.elem.dtype;
  if (type.is_scalar() || type.elem_count() == 1) return No("it is a scalar");
  if (kernel.TypeOf(load ? op.results[0] : op.operands[1]).elem.pointer) return No("its elements are pointers");
  if (type.elem.dtype == isa::DType::kI1) return No("its elements are i1");
  if (op.BoolAttr("volatile")) return No("it is volatile");
  const Affine* pointer = values.Of(op.operands[0]);
  if (pointer == nullptr || pointer->base == kNoValue) return No("the address is not affine");
  found.box.param = values.ParamIndex(pointer->base);
  if (load && (written.count(-1) > 0 || written.count(found.box.param) > 0)) return No("the program may store to the same array");
  found.exact = pointer->exact;
  std::map<int, Polynomial> strides;
  int inner = -1;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d] == 1) continue;
    const std::optional<Polynomial> stride = CoefficientOf(pointer->value, static_cast<int>(d));
    if (!stride.has_value() || !values.IsUniform(*stride)) return No("the address is not affine");
    if (stride->terms.empty()) return No("elements repeat along an axis");
    if (ConstantOf(*stride) == int64_t{1}) inner = static_cast<int>(d);
    strides[static_cast<int>(d)] = *stride;
  }
  if (inner < 0) return No("no axis has the constant stride 1");
  for (const auto& [axis, stride] : strides) {
    if (axis != inner && ConstantOf(stride).value_or(2) < 2) return No("a stride is not positive, or two axes have stride 1");
  }
  if (load) {
    if (absl::Status other = OtherIsZero(op); !other.ok()) return other;
  }
  std::map<int, Polynomial> bounds;
  std::vector<Inequality> scalars;
  std::map<int, int64_t> not_negative;  // axes whose mask keeps the coordinate from 0 up, with the number that is part of it
  if (absl::Status status = Bounds(op, *pointer, found, bounds, scalars, not_negative); !status.ok()) return status;
  Polynomial offset;
  if (absl::Status status = Place(bounds, not_negative, strides, inner, WithoutAxes(pointer->value), found, offset); !status.ok()) return status;
  for (const BoxDim& dim : found.box.dims) {
    found.not_negative.push_back(dim.axis >= 0 && not_negative.count(dim.axis) > 0);
    if (!load && BeginsBefore(dim.start)) return No("a store that begins before its array cannot go by one");
  }
  for (const Inequality& i : scalars) {
    // One coordinate for the whole tile, or nothing that differs between programs.
    const auto [moving, fixed] = Split(values, i.positive);
    if (moving.terms.empty()) {
      found.positive.push_back(i.positive);
      continue;
    }
    bool bound = false;
    for (size_t d = 0; d < found.box.dims.size() && !bound; ++d) {
      BoxDim& dim = found.box.dims[d];
      const std::optional<Polynomial> sum = AddScaled(moving, dim.start, 1);
      if (dim.axis >= 0 || found.bounded[d] || !sum.has_value() || !sum->terms.empty()) continue;
      dim.extent = found.kept[d] = NodeOf(fixed);
      found.bounded[d] = bound = true;
    }
    if (!bound) return No("the mask is not a bound on a coordinate");
  }
  found.box.address = slice.Binary(NodeOp::kAdd, slice.Param(found.box.param), slice.Binary(NodeOp::kMul, NodeOf(offset), slice.Const(isa::StorageBytes(found.box.dtype))));
  return found;
}

// Live lanes have coordinates between 0 and the extents: where the number is made of whole coordinates, that bounds it.
void Boxes::State::CheckExact(const Found& found, const Exact& exact, const std::string& name) {
  const Node zero = slice.Const(0);
  Polynomial rest = exact.value;
  Interval sum{zero, zero};
  for (size_t d = 0; d < found.box.dims.size() && !exact.all_lanes; ++d) {
    if (!found.bounded[d] || found.box.dims[d].axis < 0 || found.kept[d] == slice.Const(kUnbounded)) continue;
    const std::optional<Polynomial> stride = CoefficientOf(rest, found.box.dims[d].axis);
    if (!stride.has_value() || stride->terms.empty() || !values.IsUniform(*stride)) continue;
    const std::optional<Polynomial> coordinate = AddScaled(found.kept_start[d], SymbolPolynomial(AxisFactor(found.box.dims[d].axis)), 1);
    const std::optional<Polynomial> part = coordinate.has_value() ? Multiply(*coordinate, *stride) : std::nullopt;
    const std::optional<Polynomial> left = part.has_value() ? AddScaled(rest, *part, -1) : std::nullopt;
    if (!left.has_value() || std::any_of(left->terms.begin(), left->terms.end(), [&](const auto& term) { return rest.terms.count(term.first) == 0; })) continue;
    const Node step = NodeOf(*stride);
    Check(NodeOp::kLessEqual, zero, step, absl::StrCat("a stride of ", name, " is negative"));
    sum.hi = slice.Binary(NodeOp::kAdd, sum.hi, slice.Binary(NodeOp::kMul, slice.Binary(NodeOp::kSub, found.kept[d], slice.Const(1)), step));
    rest = *left;
  }
  const Interval others = IntervalOf(rest, found.shape);
  sum.lo = slice.Binary(NodeOp::kAdd, sum.lo, others.lo);
  sum.hi = slice.Binary(NodeOp::kAdd, sum.hi, others.hi);
  const int bits = isa::BitWidth(exact.dtype);
  const bool is_signed = isa::IsSigned(exact.dtype);
  CheckWithin(sum, is_signed ? -(int64_t{1} << (bits - 1)) : 0, (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1,
              absl::StrCat("offsets into ", name, " may leave ", bits, " bits"));
}

Boxes::Boxes(const ir::Kernel& kernel) : state_(std::make_unique<State>(kernel)) {}
Boxes::~Boxes() = default;

const Box* Boxes::Of(const ir::Op& access) const {
  if (access.op != Op::kLoad && access.op != Op::kStore) return nullptr;
  const absl::StatusOr<Found>& found = state_->FoundOf(access);
  return found.ok() ? &found->box : nullptr;
}

std::string Boxes::Why(const ir::Op& access) const {
  if (access.op != Op::kLoad && access.op != Op::kStore) return "it is no load or store";
  return std::string(state_->FoundOf(access).status().message());
}

const MadeBox* Boxes::MadeOf(const ir::Op& access) const {
  if (access.op != Op::kLoad && access.op != Op::kStore) return nullptr;
  const std::optional<MadeBox>& box = state_->MadeOf(access);
  return box.has_value() ? &*box : nullptr;
}

bool Boxes::HasMade() const {
  const std::function<bool(const ir::Region&)> any = [&](const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      if (op.op == Op::kLoad && MadeOf(op) != nullptr) return true;
      if (std::any_of(op.regions.begin(), op.regions.end(), any)) return true;
    }
    return false;
  };
  return any(state_->kernel.body);
}

int Boxes::UseMade(const ir::Op& access, std::vector<int64_t> size, int swizzle) {
  launch::Slice& slice = state_->slice;
  launch::TensorMap map;
  map.made = true;
  map.dtype = state_->MadeOf(access)->dtype;
  map.swizzle = swizzle;
  // Any array will do that a map may be of.
  constexpr int64_t kAnyAddress = int64_t{1} << 32, kAnyStride = 4096;
  map.address = slice.Const(kAnyAddress);
  map.strides.push_back(slice.Const(kAnyStride));
  for (int64_t extent : size) map.extents.push_back(slice.Const(extent));
  map.box = std::move(size);
  slice.maps.push_back(std::move(map));
  return static_cast<int>(slice.maps.size()) - 1;
}

std::optional<Polynomial> Boxes::ScalarOf(ValueId id) const {
  const Affine* value = state_->values.Of(id);
  if (value == nullptr || value->base != kNoValue) return std::nullopt;
  return value->value;
}

bool Boxes::CanRepack(const ir::Op& load) const {
  if (Of(load) == nullptr || load.op != Op::kLoad) return false;
  const Found& found = *state_->FoundOf(load);
  const Node unbounded = state_->slice.Const(kUnbounded);
  return found.box.dims.size() == 2 && found.bounded[0] && found.bounded[1] && found.kept[0] != unbounded && found.kept[1] != unbounded;
}

bool Boxes::CanTurn(const ir::Op& load) const {
  if (!CanRepack(load)) return false;
  const Box& box = state_->FoundOf(load)->box;
  return state_->MayBeAligned(box.dims[1].start, isa::StorageBytes(box.dtype));
}

int Boxes::Use(const ir::Op& access, std::vector<int64_t> size, int swizzle, bool may_repack, bool turned) {
  State& s = *state_;
  const Found& found = *s.FoundOf(access);
  const Box& box = found.box;
  launch::Slice& slice = s.slice;
  const Node zero = slice.Const(0), sixteen = slice.Const(16);
  const std::string& name = s.kernel.params[static_cast<size_t>(box.param)].name;
  // The copy reads the array as far as the masks say it reaches.
  const bool repack = may_repack && CanRepack(access);
  if (!repack) s.Check(NodeOp::kEqual, slice.Binary(NodeOp::kMod, box.address, sixteen), zero, absl::StrCat(name, " is not aligned to 16 bytes"));
  launch::TensorMap map;
  map.address = box.address;
  map.dtype = box.dtype;
  map.box = std::move(size);
  map.swizzle = swizzle;
  for (size_t d = 0; d < box.dims.size(); ++d) {
    const BoxDim& dim = box.dims[d];
    State::Interval coordinates = s.IntervalOf(dim.start, found.shape);
    if (dim.axis >= 0) coordinates.hi = slice.Binary(NodeOp::kAdd, coordinates.hi, slice.Const(found.shape[static_cast<size_t>(dim.axis)] - 1));
    // What no mask bounds ends with the last coordinate: an H200 takes a map that reaches far beyond its memory, but not the copies by it.
    map.extents.push_back(repack || dim.extent == slice.Const(kUnbounded) ? slice.Binary(NodeOp::kMin, dim.extent, slice.Binary(NodeOp::kAdd, coordinates.hi, slice.Const(1))) : dim.extent);
    s.Check(NodeOp::kLess, zero, dim.extent, absl::StrCat(name, " has no elements"));
    s.Check(NodeOp::kLessEqual, dim.extent, slice.Const(int64_t{1} << 32), absl::StrCat(name, " has more than 2^32 elements along an axis"));
    if (d > 0) {
      map.strides.push_back(dim.stride);
      if (!repack) s.Check(NodeOp::kEqual, slice.Binary(NodeOp::kMod, dim.stride, sixteen), zero, absl::StrCat("rows of ", name, " are not a multiple of 16 bytes apart"));
      s.Check(NodeOp::kLess, zero, dim.stride, absl::StrCat("a stride of ", name, " is not positive"));
      s.Check(NodeOp::kLess, dim.stride, slice.Const(int64_t{1} << 40), absl::StrCat("a stride of ", name, " is 2^40 bytes or more"));
    }
    // An H200 reads zeros before an array, but a store that begins there is an illegal instruction.
    const bool from_before = found.not_negative[d] && access.op == Op::kLoad;
    s.CheckWithin(coordinates, from_before ? -kMostCoordinate - 1 : 0, kMostCoordinate, absl::StrCat("coordinates in ", name, " may leave their range"));
  }
  s.CheckAligned(box.dims[turned ? 1 : 0].start, isa::StorageBytes(box.dtype), absl::StrCat("coordinates in ", name, " are not multiples of 16 bytes"));
  if (repack) map.repack = s.WorthCopying(access, map);
  map.turned = turned;
  for (const Polynomial& p : found.positive) s.Check(NodeOp::kLess, zero, s.NodeOf(p), absl::StrCat("the mask of ", name, " keeps nothing"));
  for (const Polynomial& p : found.dividends) {
    s.Check(NodeOp::kLessEqual, zero, s.IntervalOf(p, found.shape).lo, absl::StrCat("an index of ", name, " may be negative before % is taken"));
  }
  for (const Wrap& wrap : found.not_reached) {
    s.Check(NodeOp::kLess, s.IntervalOf(wrap.coordinate, found.shape).hi, s.NodeOf(wrap.bound), absl::StrCat("an index of ", name, " may be changed by %"));
  }
  for (const Exact& exact : found.exact) s.CheckExact(found, exact, name);
  // What counts as one value for all programs is.
  std::vector<Node> loose;
  for (size_t i = 0; i < slice.nodes.size(); ++i) {
    if (slice.nodes[i].op == NodeOp::kMost) loose.push_back(static_cast<Node>(i));
  }
  for (Node most : loose) {
    const auto id = static_cast<ValueId>(slice.nodes[most].value);
    if (!s.values.IsUniform(Factor{id, false})) continue;
    s.Check(NodeOp::kEqual, slice.Add({NodeOp::kLeast, static_cast<int64_t>(id)}), most, absl::StrCat("the launcher does not know ", s.NameOf(id)));
  }

  for (size_t i = 0; i < slice.maps.size(); ++i) {
    const launch::TensorMap& m = slice.maps[i];
    if (m.address == map.address && m.dtype == map.dtype && m.extents == map.extents && m.strides == map.strides && m.box == map.box && m.swizzle == map.swizzle && m.repack == map.repack &&
        m.turned == map.turned) {
      return static_cast<int>(i);
    }
  }
  slice.maps.push_back(std::move(map));
  return static_cast<int>(slice.maps.size()) - 1;
}

const launch::Slice& Boxes::slice() const { return state_->slice; }

}  // namespace tilevm::analysis
