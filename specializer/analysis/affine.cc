#include "specializer/analysis/affine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tilevm::analysis {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

constexpr size_t kMostTerms = 64;
constexpr int kDeepest = 400;

bool IsInteger(const isa::Type& type) { return !type.elem.pointer && isa::IsInteger(type.elem.dtype) && type.elem.dtype != isa::DType::kI1; }

// What 64 bits say of the type's range.
std::pair<int64_t, int64_t> RangeOfType(isa::DType dtype) {
  const int bits = isa::BitWidth(dtype);
  if (bits == 64) return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  if (isa::IsSigned(dtype)) return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return {0, (int64_t{1} << bits) - 1};
}

void AppendKey(std::string& key, const Polynomial& p) {
  for (const auto& [factors, coefficient] : p.terms) {
    absl::StrAppend(&key, coefficient);
    for (const Factor& f : factors) absl::StrAppend(&key, f.trip ? "t" : "v", f.value);
    key += '+';
  }
}

void Append(std::vector<Exact>& to, const std::vector<Exact>& from) {
  for (const Exact& e : from) {
    const bool there = std::any_of(to.begin(), to.end(), [&](const Exact& x) { return x.dtype == e.dtype && x.all_lanes == e.all_lanes && x.value == e.value; });
    if (!there) to.push_back(e);
  }
}
void Append(std::vector<Wrap>& to, const std::vector<Wrap>& from) {
  for (const Wrap& w : from) {
    const bool there = std::any_of(to.begin(), to.end(), [&](const Wrap& x) { return x.coordinate == w.coordinate && x.bound == w.bound; });
    if (!there) to.push_back(w);
  }
}

}  // namespace

Polynomial ConstantPolynomial(int64_t value) {
  Polynomial p;
  if (value != 0) p.terms[{}] = value;
  return p;
}

Polynomial SymbolPolynomial(Factor factor) {
  Polynomial p;
  p.terms[{factor}] = 1;
  return p;
}

std::optional<Polynomial> AddScaled(const Polynomial& a, const Polynomial& b, int64_t scale) {
  Polynomial out = a;
  for (const auto& [factors, coefficient] : b.terms) {
    int64_t scaled = 0, &sum = out.terms[factors];
    if (__builtin_mul_overflow(coefficient, scale, &scaled) || __builtin_add_overflow(sum, scaled, &sum)) return std::nullopt;
    if (sum == 0) out.terms.erase(factors);
  }
  return out.terms.size() > kMostTerms ? std::nullopt : std::optional<Polynomial>(std::move(out));
}

std::optional<Polynomial> Multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  if (a.terms.size() * b.terms.size() > kMostTerms) return std::nullopt;
  for (const auto& [x, cx] : a.terms) {
    for (const auto& [y, cy] : b.terms) {
      Monomial both = x;
      both.insert(both.end(), y.begin(), y.end());
      std::sort(both.begin(), both.end());
      int64_t product = 0, &sum = out.terms[both];
      if (both.size() > 8 || __builtin_mul_overflow(cx, cy, &product) || __builtin_add_overflow(sum, product, &sum)) return std::nullopt;
      if (sum == 0) out.terms.erase(both);
    }
  }
  return out;
}

std::optional<int64_t> ConstantOf(const Polynomial& p) {
  if (p.terms.empty()) return 0;
  if (p.terms.size() == 1 && p.terms.begin()->first.empty()) return p.terms.begin()->second;
  return std::nullopt;
}

Polynomial Renumbered(const Polynomial& p, const std::function<int(int)>& to) {
  Polynomial out;
  for (const auto& [factors, coefficient] : p.terms) {
    Monomial moved = factors;
    for (Factor& f : moved) {
      if (IsAxis(f)) f = AxisFactor(to(AxisOf(f)));
    }
    std::sort(moved.begin(), moved.end());
    out.terms[moved] += coefficient;
  }
  return out;
}

std::optional<Polynomial> CoefficientOf(const Polynomial& p, int axis) {
  Polynomial out;
  for (const auto& [factors, coefficient] : p.terms) {
    const auto axes = std::count_if(factors.begin(), factors.end(), IsAxis);
    const auto here = std::count(factors.begin(), factors.end(), AxisFactor(axis));
    if (here == 0) continue;
    if (axes != 1) return std::nullopt;
    Monomial rest;
    for (const Factor& f : factors) {
      if (!IsAxis(f)) rest.push_back(f);
    }
    out.terms[rest] += coefficient;
  }
  return out;
}

bool HasAxis(const Polynomial& p) {
  for (const auto& [factors, coefficient] : p.terms) {
    if (std::any_of(factors.begin(), factors.end(), IsAxis)) return true;
  }
  return false;
}

AffineValues::AffineValues(const ir::Kernel& kernel, bool any_base) : kernel_(kernel), any_base_(any_base), places_(kernel.values.size()), uniform_(kernel.values.size()), params_(kernel.values.size(), -1) {
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    params_[kernel.params[i].value] = static_cast<int>(i);
    uniform_[kernel.params[i].value] = true;
  }
  Index(kernel.body, nullptr, -1);
  EvaluateScalars(kernel.body);
}

void AffineValues::Index(const ir::Region& region, const ir::Op* owner, int parent) {
  const int number = static_cast<int>(regions_.size());
  regions_.emplace_back(owner, parent);
  for (size_t i = 0; i < region.args.size(); ++i) places_[region.args[i]] = {number, nullptr, owner, static_cast<int>(i)};
  for (const ir::Op& op : region.ops) {
    bool uniform = false;
    switch (op.op) {
      case Op::kConst: case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kNeg: case Op::kFloorDiv: case Op::kMod: case Op::kMinimum: case Op::kMaximum:
      case Op::kCast: case Op::kNumPrograms:
        uniform = std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId id) { return id != kNoValue && uniform_[id]; });
        break;
      default: break;
    }
    for (ValueId id : op.results) {
      places_[id] = {number, &op, nullptr, -1};
      uniform_[id] = uniform && TypeOf(id).is_scalar() && IsInteger(TypeOf(id));
    }
    for (const ir::Region& inner : op.regions) Index(inner, &op, number);
  }
}

// In the order of the program, so that what is known by its operands is known by its first definition.
void AffineValues::EvaluateScalars(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    for (ValueId id : op.results) {
      if (TypeOf(id).is_scalar() && IsInteger(TypeOf(id))) Of(id);
    }
    for (const ir::Region& inner : op.regions) EvaluateScalars(inner);
  }
}

bool AffineValues::Encloses(int outer, int inner) const {
  while (inner >= 0 && inner != outer) inner = regions_[inner].second;
  return inner == outer;
}

bool AffineValues::IsUniform(const Polynomial& p) const {
  for (const auto& [factors, coefficient] : p.terms) {
    if (!std::all_of(factors.begin(), factors.end(), [&](const Factor& f) { return IsUniform(f); })) return false;
  }
  return true;
}

int AffineValues::ParamIndex(ValueId id) const { return id < params_.size() ? params_[id] : -1; }
const ir::Op* AffineValues::Definition(ValueId id) const { return id < places_.size() ? places_[id].op : nullptr; }

const ir::Op* AffineValues::LoopOf(ValueId induction) const {
  const Place& place = places_[induction];
  return place.owner != nullptr && place.owner->op == Op::kFor && place.argument == 0 ? place.owner : nullptr;
}

std::vector<const ir::Op*> AffineValues::LoopsAround(ValueId id) const {
  std::vector<const ir::Op*> loops;
  for (int region = places_[id].region; region >= 0; region = regions_[static_cast<size_t>(region)].second) {
    const ir::Op* owner = regions_[static_cast<size_t>(region)].first;
    if (owner != nullptr && owner->op == Op::kFor) loops.push_back(owner);
  }
  return loops;
}

bool AffineValues::DefinedInside(ValueId id, const ir::Op& op) const {
  for (int region = id < places_.size() ? places_[id].region : -1; region >= 0; region = regions_[region].second) {
    if (regions_[region].first == &op) return true;
  }
  return false;
}

const Affine* AffineValues::Of(ValueId id) {
  if (id == kNoValue || id >= places_.size()) return nullptr;
  auto found = values_.find(id);
  if (found == values_.end()) {
    if (depth_ > kDeepest) return nullptr;
    ++depth_;
    std::optional<Affine> value = Compute(id);
    --depth_;
    if (provisional_ > 0) trail_.push_back(id);
    found = values_.insert_or_assign(id, std::move(value)).first;
  }
  return found->second.has_value() ? &*found->second : nullptr;
}

Affine AffineValues::Symbol(ValueId id) {
  Affine out;
  out.value = SymbolPolynomial({id, false});
  return out;
}

std::optional<Affine> AffineValues::Compute(ValueId id) {
  const isa::Type& type = TypeOf(id);
  if (!type.elem.pointer && !IsInteger(type)) return std::nullopt;
  if (params_[id] >= 0) {
    if (!type.elem.pointer) return Symbol(id);
    Affine out;
    out.base = id;
    return out;
  }
  const Place& place = places_[id];
  if (place.op == nullptr && place.owner == nullptr) return std::nullopt;
  std::optional<Affine> out = place.op == nullptr ? Argument(id, place) : ComputeOp(*place.op);
  if (!out.has_value() && any_base_ && type.elem.pointer && type.is_scalar() && provisional_ == 0) {
    out.emplace();
    out->base = id;
  }
  if (place.op == nullptr || out.has_value() || !type.is_scalar() || type.elem.pointer) return out;
  // A symbol; the same one for what computes the same, if that was defined where this one is visible.
  const ir::Op& op = *place.op;
  switch (op.op) {
    case Op::kFloorDiv: case Op::kMod: case Op::kMinimum: case Op::kMaximum: case Op::kShl: case Op::kShr: case Op::kBitAnd: case Op::kBitOr: case Op::kBitXor:
    case Op::kMul: case Op::kProgramId: case Op::kNumPrograms: break;
    default: return Symbol(id);  // what has attributes, or takes other things than integers
  }
  if (provisional_ > 0) return Symbol(id);
  std::string key = absl::StrCat(isa::Mnemonic(op.op), " ", isa::ToString(type), " ", op.IntAttr("axis"));
  for (ValueId operand : op.operands) {
    const Affine* known = Of(operand);
    absl::StrAppend(&key, ", ");
    if (known != nullptr && known->base == kNoValue && known->exact.empty() && known->wraps.empty()) AppendKey(key, known->value);
    else absl::StrAppend(&key, "%", operand);
  }
  std::vector<ValueId>& same = known_[key];
  for (ValueId other : same) {
    if (Encloses(places_[other].region, place.region)) return Symbol(other);
  }
  same.push_back(id);
  return Symbol(id);
}

std::optional<Affine> AffineValues::Argument(ValueId id, const Place& place) {
  const bool symbol = TypeOf(id).is_scalar() && !TypeOf(id).elem.pointer;
  const std::optional<Affine> otherwise = symbol ? std::optional<Affine>(Symbol(id)) : std::nullopt;
  const ir::Op& loop = *place.owner;
  if (loop.op != Op::kFor) return otherwise;
  if (place.argument > 0) {
    std::optional<Affine> carried = Carried(id, loop, place.argument - 1);
    return carried.has_value() ? carried : otherwise;
  }
  if (loop.FindAttr("step") != nullptr) return otherwise;
  const Affine* lower = Of(loop.operands[0]);
  const Affine* step = Of(loop.operands[2]);
  if (lower == nullptr || step == nullptr || !step->exact.empty()) return otherwise;
  std::optional<Polynomial> moved = Multiply(step->value, SymbolPolynomial({id, true}));
  if (moved.has_value()) moved = AddScaled(lower->value, *moved, 1);
  if (!moved.has_value()) return otherwise;
  Affine out = *lower;
  out.value = *std::move(moved);
  return out;
}

std::optional<Affine> AffineValues::Carried(ValueId id, const ir::Op& loop, int index) {
  if (loop.FindAttr("step") != nullptr || loop.regions[0].ops.empty() || loop.regions[0].ops.back().op != Op::kYield) return std::nullopt;
  const Affine* first = Of(loop.operands[3 + static_cast<size_t>(index)]);
  if (first == nullptr) return std::nullopt;
  const Affine init = *first;
  // The value of the next iteration, with this one as a symbol.
  const Factor self{id, false};
  Affine start;
  start.value = SymbolPolynomial(self);
  start.base = init.base;
  const size_t mark = trail_.size();
  ++provisional_;
  values_[id] = start;
  const Affine* last = Of(loop.regions[0].ops.back().operands[static_cast<size_t>(index)]);
  std::optional<Affine> next;
  if (last != nullptr) next = *last;
  --provisional_;
  for (; trail_.size() > mark; trail_.pop_back()) values_.erase(trail_.back());
  values_.erase(id);
  if (!next.has_value() || next->base != init.base || !next->wraps.empty()) return std::nullopt;
  std::optional<Polynomial> step = AddScaled(next->value, start.value, -1);
  if (!step.has_value()) return std::nullopt;
  const auto moves = [&](const Polynomial& p) {
    for (const auto& [factors, coefficient] : p.terms) {
      for (const Factor& f : factors) {
        if (f == self || (!IsAxis(f) && DefinedInside(f.value, loop))) return true;
      }
    }
    return false;
  };
  if (moves(*step)) return std::nullopt;
  for (const Exact& extent : next->exact) {
    if (moves(extent.value)) return std::nullopt;
  }
  std::optional<Polynomial> moved = Multiply(*step, SymbolPolynomial({loop.regions[0].args[0], true}));
  if (moved.has_value()) moved = AddScaled(init.value, *moved, 1);
  if (!moved.has_value()) return std::nullopt;
  Affine out = init;
  out.value = *std::move(moved);
  Append(out.exact, next->exact);
  return out;
}

// The number is about to be taken for what it is in the type `from`.
void AffineValues::Extend(Affine& value, isa::DType from, const isa::Shape& shape, bool all_lanes) const {
  if (isa::BitWidth(from) == 64) return;
  const auto [least, most] = RangeOfType(from);
  // A symbol by itself is what it is; numbers of lanes with a constant are known.
  absl::InlinedVector<std::pair<const Monomial*, int64_t>, 4> others;
  int64_t lo = 0, hi = 0;
  for (const auto& [factors, coefficient] : value.value.terms) {
    if (factors.empty() || (factors.size() == 1 && IsAxis(factors[0]))) {
      const int64_t far = factors.empty() ? 1 : shape[static_cast<size_t>(AxisOf(factors[0]))] - 1;
      int64_t reach = 0;
      if (__builtin_mul_overflow(coefficient, far, &reach)) reach = coefficient < 0 ? least - 1 : most + 1;
      if (factors.empty() || reach > 0) hi += reach;
      if (factors.empty() || reach < 0) lo += reach;
      continue;
    }
    others.push_back({&factors, coefficient});
  }
  if (others.empty() && lo >= least && hi <= most) return;
  const bool alone = value.value.terms.size() == 1 && others.size() == 1 && others[0].second == 1 && others[0].first->size() == 1;
  if (alone) {
    const Factor f = others[0].first->front();
    if (!f.trip && TypeOf(f.value).elem.dtype == from) return;
  }
  Append(value.exact, {Exact{value.value, from, all_lanes}});
}

std::optional<std::function<int(int)>> AffineValues::AxisMap(const ir::Op& op) const {
  switch (op.op) {
    case Op::kSplat: case Op::kBroadcast: case Op::kConvertLayout: return [](int d) { return d; };
    case Op::kExpandDims: {
      const int at = static_cast<int>(op.IntAttr("axis"));
      return [at](int d) { return d >= at ? d + 1 : d; };
    }
    case Op::kPermute: {
      const auto* dims = std::get_if<std::vector<int64_t>>(op.FindAttr("dims"));
      if (dims == nullptr) return std::nullopt;
      std::vector<int> to(dims->size());
      for (size_t i = 0; i < dims->size(); ++i) to[static_cast<size_t>((*dims)[i])] = static_cast<int>(i);
      return [to](int d) { return to[static_cast<size_t>(d)]; };
    }
    case Op::kReshape: {
      // Extents of 1 may come and go.
      const isa::Shape &from = TypeOf(op.operands[0]).shape, &into = TypeOf(op.results[0]).shape;
      std::vector<int> to(from.size());
      size_t j = 0;
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i] == 1) continue;
        while (j < into.size() && into[j] == 1) ++j;
        if (j == into.size() || into[j] != from[i]) return std::nullopt;
        to[i] = static_cast<int>(j++);
      }
      return [to](int d) { return to[static_cast<size_t>(d)]; };
    }
    default: return std::nullopt;
  }
}

std::optional<Affine> AffineValues::Reshaped(const ir::Op& op, const Affine& from) const {
  const std::optional<std::function<int(int)>> to = AxisMap(op);
  if (!to.has_value()) return std::nullopt;
  Affine out;
  out.base = from.base;
  out.value = Renumbered(from.value, *to);
  for (const Exact& e : from.exact) out.exact.push_back({Renumbered(e.value, *to), e.dtype, e.all_lanes});
  for (const Wrap& w : from.wraps) out.wraps.push_back({Renumbered(w.coordinate, *to), w.bound});
  return out;
}

// x % n, minimum(x, n - 1) and where(x < n, x, y) along one axis.
std::optional<Affine> AffineValues::Wrapped(const ir::Op& op) {
  const isa::Type& type = TypeOf(op.results[0]);
  if (type.is_scalar()) return std::nullopt;
  const Affine* x = Of(op.operands[op.op == Op::kWhere ? 1 : 0]);
  std::optional<Polynomial> bound;
  if (op.op == Op::kWhere) {
    if (provisional_ > 0) return std::nullopt;  // masks are kept
    const std::vector<Inequality>* condition = MaskOf(op.operands[0]);
    if (x == nullptr || condition == nullptr || condition->size() != 1) return std::nullopt;
    Affine out = *x;
    Append(out.exact, condition->front().exact);
    bound = AddScaled(condition->front().positive, x->value, 1);
    if (!bound.has_value() || !IsUniform(*bound) || !x->wraps.empty() || x->base != kNoValue || !HasAxis(x->value)) return std::nullopt;
    out.wraps.push_back({x->value, *bound});
    return out;
  }
  const Affine* n = Of(op.operands[1]);
  if (op.op == Op::kMinimum && x != nullptr && IsUniform(x->value)) std::swap(x, n);
  if (x == nullptr || n == nullptr || !IsUniform(n->value) || !n->wraps.empty() || !x->wraps.empty() || !HasAxis(x->value)) return std::nullopt;
  Affine out = *x, limit = *n;
  Extend(out, type.elem.dtype, type.shape, true);
  Extend(limit, type.elem.dtype, type.shape, true);
  for (Exact& e : out.exact) e.all_lanes = true;
  Append(out.exact, limit.exact);
  bound = op.op == Op::kMod ? n->value : AddScaled(n->value, ConstantPolynomial(1), 1);
  if (!bound.has_value()) return std::nullopt;
  out.wraps.push_back({x->value, *bound});
  return out;
}

std::optional<Affine> AffineValues::ComputeOp(const ir::Op& op) {
  const isa::Type& type = TypeOf(op.results[0]);
  const auto both = [&](const Affine& a, const Affine& b, std::optional<Polynomial> value) -> std::optional<Affine> {
    if (!value.has_value()) return std::nullopt;
    Affine out = a;
    out.value = *std::move(value);
    Append(out.exact, b.exact);
    Append(out.wraps, b.wraps);
    return out;
  };
  switch (op.op) {
    case Op::kConst: {
      const ir::Attr* value = op.FindAttr("value");
      const auto* number = value == nullptr ? nullptr : std::get_if<int64_t>(value);
      if (number == nullptr || type.elem.pointer) return std::nullopt;
      Affine out;
      out.value = ConstantPolynomial(*number);
      return out;
    }
    case Op::kArange: {
      Affine out;
      out.value = ConstantPolynomial(op.IntAttr("start"));
      if (op.IntAttr("end") - op.IntAttr("start") > 1) out.value = *AddScaled(out.value, SymbolPolynomial(AxisFactor(0)), 1);
      return out;
    }
    case Op::kAdd: case Op::kSub: case Op::kMul: {
      const Affine *a = Of(op.operands[0]), *b = Of(op.operands[1]);
      if (a == nullptr || b == nullptr) return std::nullopt;
      return both(*a, *b, op.op == Op::kMul ? Multiply(a->value, b->value) : AddScaled(a->value, b->value, op.op == Op::kAdd ? 1 : -1));
    }
    case Op::kNeg: {
      const Affine* a = Of(op.operands[0]);
      return a == nullptr ? std::nullopt : both(*a, Affine(), AddScaled(Polynomial(), a->value, -1));
    }
    case Op::kShl: {
      const Affine *a = Of(op.operands[0]), *b = Of(op.operands[1]);
      if (a == nullptr || b == nullptr) return std::nullopt;
      const std::optional<int64_t> count = ConstantOf(b->value);
      if (!count.has_value() || *count < 0 || *count >= isa::BitWidth(type.elem.dtype) - 1) return std::nullopt;
      return both(*a, Affine(), Multiply(a->value, ConstantPolynomial(int64_t{1} << *count)));
    }
    case Op::kPtrAdd: {
      const Affine *p = Of(op.operands[0]), *offset = Of(op.operands[1]);
      if (p == nullptr || offset == nullptr || p->base == kNoValue) return std::nullopt;
      Affine wide = *offset;
      Extend(wide, TypeOf(op.operands[1]).elem.dtype, type.shape, false);
      return both(*p, wide, AddScaled(p->value, wide.value, 1));
    }
    case Op::kCast: {
      const isa::Type& from = TypeOf(op.operands[0]);
      if (type.elem.pointer || !IsInteger(from)) return std::nullopt;
      const Affine* a = Of(op.operands[0]);
      if (a == nullptr) return std::nullopt;
      Affine out = *a;
      if (isa::BitWidth(from.elem.dtype) < isa::BitWidth(type.elem.dtype)) Extend(out, from.elem.dtype, from.shape, false);
      return out;
    }
    case Op::kMod: case Op::kMinimum: case Op::kWhere: return Wrapped(op);
    case Op::kSplat: case Op::kBroadcast: case Op::kExpandDims: case Op::kPermute: case Op::kReshape: case Op::kConvertLayout: {
      const Affine* a = Of(op.operands[0]);
      return a == nullptr ? std::nullopt : Reshaped(op, *a);
    }
    default: return std::nullopt;
  }
}

const std::vector<Inequality>* AffineValues::MaskOf(ValueId id) {
  if (id == kNoValue || id >= places_.size()) return nullptr;
  auto found = masks_.find(id);
  if (found == masks_.end()) found = masks_.insert_or_assign(id, ComputeMask(id)).first;
  return found->second.has_value() ? &*found->second : nullptr;
}

std::optional<std::vector<Inequality>> AffineValues::Comparison(const ir::Op& op) {
  const isa::Type& type = TypeOf(op.operands[0]);
  const Affine *left = Of(op.operands[0]), *right = Of(op.operands[1]);
  if (left == nullptr || right == nullptr || type.elem.pointer || !left->wraps.empty() || !right->wraps.empty()) return std::nullopt;
  Affine a = *left, b = *right;
  Extend(a, type.elem.dtype, type.shape, true);
  Extend(b, type.elem.dtype, type.shape, true);
  const bool less = op.op == Op::kLt || op.op == Op::kLe;
  std::optional<Polynomial> gap = less ? AddScaled(b.value, a.value, -1) : AddScaled(a.value, b.value, -1);
  if (gap.has_value() && (op.op == Op::kLe || op.op == Op::kGe)) gap = AddScaled(*gap, ConstantPolynomial(1), 1);
  if (!gap.has_value()) return std::nullopt;
  Inequality out;
  out.positive = *std::move(gap);
  Append(out.exact, a.exact);
  Append(out.exact, b.exact);
  for (Exact& e : out.exact) e.all_lanes = true;
  return std::vector<Inequality>{std::move(out)};
}

std::optional<std::vector<Inequality>> AffineValues::ComputeMask(ValueId id) {
  const ir::Op* op = Definition(id);
  if (op == nullptr) return std::nullopt;
  switch (op->op) {
    case Op::kConst: {
      const ir::Attr* value = op->FindAttr("value");
      const auto* number = value == nullptr ? nullptr : std::get_if<int64_t>(value);
      const auto* boolean = value == nullptr ? nullptr : std::get_if<bool>(value);
      if ((number != nullptr && *number != 0) || (boolean != nullptr && *boolean)) return std::vector<Inequality>();
      return std::nullopt;
    }
    case Op::kBitAnd: {
      const std::vector<Inequality>*a = MaskOf(op->operands[0]), *b = MaskOf(op->operands[1]);
      if (a == nullptr || b == nullptr) return std::nullopt;
      std::vector<Inequality> out = *a;
      out.insert(out.end(), b->begin(), b->end());
      return out;
    }
    case Op::kLt: case Op::kLe: case Op::kGt: case Op::kGe: return Comparison(*op);
    default: break;
  }
  const std::optional<std::function<int(int)>> to = AxisMap(*op);
  const std::vector<Inequality>* from = to.has_value() ? MaskOf(op->operands[0]) : nullptr;
  if (from == nullptr) return std::nullopt;
  std::vector<Inequality> out;
  for (const Inequality& i : *from) {
    Inequality moved;
    moved.positive = Renumbered(i.positive, *to);
    for (const Exact& e : i.exact) moved.exact.push_back({Renumbered(e.value, *to), e.dtype, e.all_lanes});
    out.push_back(std::move(moved));
  }
  return out;
}

}  // namespace tilevm::analysis
