// Two loops with products, the second of which goes on where the first ended, become one. People write causal attention so: the blocks before the diagonal
// without a mask, those on it with one, and the same products in both.
//
//   for i in [a, b) step s:  x = f(i, c);  y = g1(x, c);  c = h(x, y, c)
//   for i in [b, e) step s:  x = f(i, c);  y = g2(x, c);  c = h(x, y, c)
//
//   for i in [min(a, b), max(b, e)) step s:  x = f(i, c);  y = i >= b ? g2(x, c) : g1(x, c);  c = h(x, y, c)   ? as an `if`, of which one side runs
//
// A loop with products that overlap begins and ends with a wait, and takes registers and text of its own: there is one of each then. If b < a the first loop
// does not run, if e < b the second. b - a has to be a multiple of s, a constant power of two: then wrapped sums are no matter.
//
// What is common to both bodies is found from both ends. *Head*: ops of the second body that compute, of equal operands, what an op of the first computes.
// *Tail*: backwards from what the loops yield, ops that are alike, with operands that are alike or different. Where ops are different, or two of their operands,
// their values are a *split*: results of the `if`. What one side needs of the tail to compute a split goes into both sides. Loads and products have to be
// common, and nothing may be written: in the bodies, and between the loops. What one body multiplies by a scalar (the scale of scores) and the other does not is
// multiplied by 1 there, so that the branch chooses a factor and not a tile: what comes after stands in one piece, which compilers schedule better.
//
// Counters that both loops carry (o = o0; o += d, d a multiple of s) are made of i: o0 - a * (d / s) + i * (d / s), and the same if those are. Those of block
// pointers are of 64 bits.
//
// Requires: verified IR without dead code, contracted (what is fused in one body and not in the other stays so). Ensures: the same values bit for bit
// (a NaN may be another NaN).
#include "specializer/passes/join_loops.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "specializer/analysis/axis_facts.h"
#include "specializer/passes/passes.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

constexpr size_t kMostOps = 2000;  // of a body: they are compared by recursion
constexpr int kMostDepth = 8;      // of sums that are looked into: a DAG of sums is a tree to it

bool OnlyComputes(const ir::Op& op) { return op.op == Op::kLoad ? !op.BoolAttr("volatile") : IsPure(op); }

bool HasProduct(const ir::Op& loop) {
  const std::vector<ir::Op>& ops = loop.regions[0].ops;
  return std::any_of(ops.begin(), ops.end(), [](const ir::Op& op) { return op.op == Op::kDot; });
}

class Joiner {
 public:
  Joiner(ir::Kernel* kernel, ir::Region* region, size_t first, size_t second)
      : kernel_(*kernel), region_(*region), first_(first), second_(second), a_(region->ops[first]), b_(region->ops[second]), facts_(*kernel), defs_(kernel->values.size()) {
    Index(kernel->body);
  }

  enum class Outcome { kJoined, kChanged, kNo };

  Outcome Run() {
    if (!Adjoin() || !Carried()) return Outcome::kNo;
    FindHead();
    const ir::Op& yield = BodyB().ops.back();
    for (const auto& [in_b, in_a] : carried_) roots_.push_back({BodyA().ops.back().operands[in_a], yield.operands[in_b]});
    for (const auto& [of_a, of_b] : roots_) Compare(of_a, of_b);
    if (factor_.has_value()) {
      MultiplyByOne();
      return Outcome::kChanged;
    }
    FindSides();
    if (!ProductsAreCommon()) return Outcome::kNo;
    Rewrite();
    return Outcome::kJoined;
  }

 private:
  ir::Region& BodyA() const { return a_.regions[0]; }
  ir::Region& BodyB() const { return b_.regions[0]; }

  void Index(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) defs_[result] = &op;
      for (const ir::Region& inner : op.regions) Index(inner);
    }
  }
  const ir::Op* Def(ValueId id) const { return id == kNoValue ? nullptr : defs_[id]; }
  std::optional<int64_t> Constant(ValueId id) const {
    const ir::Op* def = Def(id);
    if (def == nullptr || def->op != Op::kConst || !isa::IsInteger(kernel_.TypeOf(id).elem.dtype)) return std::nullopt;
    return def->IntAttr("value");
  }
  // A scalar integer as a sum of multiples of other ones, by value and whether that was widened to 64 bits; kNoValue: the constant. Modulo 2^64, so that what wraps
  // does no harm.
  using Atom = std::pair<ValueId, bool>;
  using Linear = std::map<Atom, uint64_t>;
  static Linear ConstantLinear(int64_t value) { return value == 0 ? Linear() : Linear{{{kNoValue, false}, static_cast<uint64_t>(value)}}; }
  static void AddTo(Linear& sum, const Linear& other, uint64_t factor) {
    for (const auto& [id, coefficient] : other) {
      if ((sum[id] += coefficient * factor) == 0) sum.erase(id);
    }
  }
  Linear LinearOf(ValueId id, int depth = kMostDepth) const {
    const ir::Op* def = depth == 0 ? nullptr : Def(id);
    Linear out;
    if (const std::optional<int64_t> value = Constant(id); value.has_value()) {
      out = ConstantLinear(*value);
    } else if (def != nullptr && (def->op == Op::kAdd || def->op == Op::kSub)) {
      AddTo(out, LinearOf(def->operands[0], depth - 1), 1);
      AddTo(out, LinearOf(def->operands[1], depth - 1), def->op == Op::kAdd ? 1 : ~uint64_t{0});
    } else if (def != nullptr && def->op == Op::kMul && (Constant(def->operands[0]).has_value() || Constant(def->operands[1]).has_value())) {
      const int by = Constant(def->operands[0]).has_value() ? 0 : 1;
      AddTo(out, LinearOf(def->operands[1 - by], depth - 1), static_cast<uint64_t>(*Constant(def->operands[by])));
    } else if (def != nullptr && def->op == Op::kCast && Widens(def->operands[0], id)) {
      out = Widened(def->operands[0]);
    } else {
      out[{id, false}] = 1;
    }
    return out;
  }
  bool Widens(ValueId from, ValueId to) const {
    const isa::Type &narrow = kernel_.TypeOf(from), &wide = kernel_.TypeOf(to);
    return narrow == isa::ScalarType(isa::DType::kI32) && wide == isa::ScalarType(isa::DType::kI64);
  }
  // Sums are not looked into: they may have wrapped.
  Linear Widened(ValueId id) const {
    if (const std::optional<int64_t> value = Constant(id); value.has_value()) return ConstantLinear(*value);
    return {{{id, true}, 1}};
  }
  bool Same(ValueId x, ValueId y) const { return x == y || (kernel_.TypeOf(x) == kernel_.TypeOf(y) && LinearOf(x) == LinearOf(y)); }

  bool Adjoin() {
    if (a_.FindAttr("step") != nullptr || b_.FindAttr("step") != nullptr) return false;
    const std::optional<int64_t> step = Constant(a_.operands[2]);
    if (!step.has_value() || *step <= 0 || (*step & (*step - 1)) != 0 || Constant(b_.operands[2]) != step) return false;
    if (isa::IsUnsigned(kernel_.TypeOf(BodyA().args[0]).elem.dtype)) return false;  // constants are compared as signed numbers
    if (kernel_.TypeOf(BodyA().args[0]) != kernel_.TypeOf(BodyB().args[0]) || !Same(a_.operands[1], b_.operands[0])) return false;
    step_ = *step;
    if (facts_.Of(a_.operands[0]).divisor % step_ != 0 || facts_.Of(a_.operands[1]).divisor % step_ != 0) return false;
    for (const ir::Op* loop : {&a_, &b_}) {
      if (loop->regions[0].ops.size() > kMostOps) return false;
      for (const ir::Op& op : loop->regions[0].ops) {
        if (op.op != Op::kYield && (op.results.empty() || !OnlyComputes(op))) return false;
      }
      if (loop->regions[0].ops.back().op != Op::kYield) return false;
    }
    std::set<ValueId> results(a_.results.begin(), a_.results.end());
    for (size_t i = first_ + 1; i < second_; ++i) {
      const ir::Op& op = region_.ops[i];
      if (!OnlyComputes(op)) return false;
      for (ValueId operand : op.operands) {
        if (results.count(operand) != 0) return false;
      }
    }
    return true;
  }

  // value = base + iv * scale, in the type of iv, or in 64 bits.
  struct Counter {
    ValueId init = kNoValue, begin = kNoValue;
    int64_t scale = 0;
    bool wide = false;
  };
  std::optional<Counter> CounterOf(const ir::Op& loop, size_t i) const {
    const ir::Region& body = loop.regions[0];
    const ValueId arg = body.args[1 + i];
    const ir::Op* next = Def(body.ops.back().operands[i]);
    const bool wide = Widens(body.args[0], arg);
    if ((!wide && kernel_.TypeOf(arg) != kernel_.TypeOf(body.args[0])) || next == nullptr || next->op != Op::kAdd) return std::nullopt;
    const int by = next->operands[0] == arg ? 1 : 0;
    const std::optional<int64_t> delta = Constant(next->operands[by]);
    if (next->operands[1 - by] != arg || !delta.has_value() || *delta % step_ != 0) return std::nullopt;
    return Counter{loop.operands[3 + i], loop.operands[0], *delta / step_, wide};
  }
  Linear BaseOf(const Counter& counter) const {
    Linear base = LinearOf(counter.init);
    AddTo(base, counter.wide ? Widened(counter.begin) : LinearOf(counter.begin), static_cast<uint64_t>(-counter.scale));
    return base;
  }

  // Pairs what the loops carry. What is not carried from one to the other has to be a counter.
  bool Carried() {
    std::vector<bool> taken(a_.results.size(), false);
    for (size_t i = 0; i < b_.results.size(); ++i) {
      const auto from = std::find(a_.results.begin(), a_.results.end(), b_.operands[3 + i]);
      const size_t j = static_cast<size_t>(from - a_.results.begin());
      if (from != a_.results.end() && !taken[j]) {
        taken[j] = true;
        carried_[i] = j;
        from_a_[BodyB().args[1 + i]] = BodyA().args[1 + j];
        continue;
      }
      const std::optional<Counter> counter = CounterOf(b_, i);
      if (!counter.has_value() || from != a_.results.end() || Uses(b_.results[i]) != 0) return false;
      counters_[BodyB().args[1 + i]] = *counter;
    }
    for (size_t j = 0; j < a_.results.size(); ++j) {
      if (Uses(a_.results[j]) != (taken[j] ? 1 : 0)) return false;
      if (taken[j]) continue;
      const std::optional<Counter> counter = CounterOf(a_, j);
      if (!counter.has_value()) return false;
      counters_[BodyA().args[1 + j]] = *counter;
    }
    // The same counter in both; of several that are equal, each another one.
    std::set<ValueId> matched;
    for (size_t i = 0; i < b_.results.size(); ++i) {
      auto in_b = counters_.find(BodyB().args[1 + i]);
      if (in_b == counters_.end()) continue;
      for (size_t j = 0; j < a_.results.size(); ++j) {
        auto in_a = counters_.find(BodyA().args[1 + j]);
        if (in_a == counters_.end() || in_a->second.scale != in_b->second.scale || in_a->second.wide != in_b->second.wide || BaseOf(in_a->second) != BaseOf(in_b->second)) continue;
        from_a_[in_b->first] = in_a->first;
        if (matched.insert(in_a->first).second) break;
      }
    }
    from_a_[BodyB().args[0]] = BodyA().args[0];
    return true;
  }
  int Uses(ValueId id) {
    if (uses_.empty()) uses_ = CountUses(kernel_);
    return uses_[id];
  }

  bool OfA(ValueId id) const { return a_ops_.count(id) != 0; }
  bool OfB(ValueId id) const { return b_ops_.count(id) != 0; }
  // What the second body's value is called in the joined one, if it is of the head or from outside.
  ValueId InA(ValueId id) const {
    if (id == kNoValue) return id;
    auto found = from_a_.find(id);
    if (found != from_a_.end()) return found->second;
    return id;
  }
  bool IsOwnOfB(ValueId id) const {
    return id != kNoValue && from_a_.count(id) == 0 && (OfB(id) || counters_.count(id) != 0);
  }

  void FindHead() {
    std::map<std::string, const ir::Op*> known;
    for (const ir::Op& op : BodyA().ops) {
      for (ValueId id : op.results) a_ops_[id] = &op;
      if (op.op != Op::kYield && op.regions.empty()) known.try_emplace(KeyOf(kernel_, op), &op);
    }
    for (const ir::Op& op : BodyB().ops) {
      for (ValueId id : op.results) b_ops_[id] = &op;
      if (op.op == Op::kYield || !op.regions.empty() || std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId id) { return IsOwnOfB(id); })) continue;
      ir::Op as_in_a = op;
      for (ValueId& operand : as_in_a.operands) operand = InA(operand);
      auto found = known.find(KeyOf(kernel_, as_in_a));
      if (found == known.end()) continue;
      for (size_t i = 0; i < op.results.size(); ++i) {
        from_a_[op.results[i]] = found->second->results[i];
        head_.insert(found->second->results[i]);
      }
    }
  }

  enum class Kind { kSame, kTail, kSplit };
  using Pair = std::pair<ValueId, ValueId>;

  bool Alike(const ir::Op& x, const ir::Op& y) const {
    if (!x.regions.empty() || !y.regions.empty() || x.results.size() != 1 || y.results.size() != 1 || x.operands.size() != y.operands.size()) return false;
    for (size_t i = 0; i < x.operands.size(); ++i) {
      const bool absent = x.operands[i] == kNoValue;
      if (absent != (y.operands[i] == kNoValue) || (!absent && kernel_.TypeOf(x.operands[i]) != kernel_.TypeOf(y.operands[i]))) return false;
    }
    ir::Op other = y;
    other.operands = x.operands;
    return KeyOf(kernel_, x) == KeyOf(kernel_, other);
  }
  // The scalar in every element of a tile made outside of the bodies; kNoValue if it is none.
  ValueId ScalarOf(ValueId id) const {
    const ir::Op* def = OfA(id) || OfB(id) ? nullptr : Def(id);
    return def != nullptr && def->op == Op::kSplat ? def->operands[0] : kNoValue;
  }

  // A value of one body that becomes a product with 1, so that it is like what it is compared with.
  struct Factor {
    ir::Region* body = nullptr;
    ValueId value = kNoValue;
    Op product = Op::kMul;
    int place = 1;  // of the 1
  };
  void NoteFactor(const ir::Op& product, const ir::Op& plain, ir::Region* body) {
    if (factor_.has_value() || (product.op != Op::kMul && product.op != Op::kFma) || !isa::IsFloat(kernel_.TypeOf(product.results[0]).elem.dtype)) return;
    if (plain.results.size() != 1 || kernel_.TypeOf(plain.results[0]) != kernel_.TypeOf(product.results[0])) return;
    const int place = ScalarOf(product.operands[1]) != kNoValue ? 1 : 0;
    if (ScalarOf(product.operands[place]) == kNoValue) return;
    const auto alike = [&](const ir::Op* x, const ir::Op* y) { return x != nullptr && y != nullptr && Alike(*x, *y); };
    bool found = false;
    if (product.op == Op::kMul) {
      found = alike(Def(product.operands[1 - place]), &plain);
    } else if (plain.op == Op::kSub) {
      const ir::Op* negated = Def(product.operands[2]);
      found = negated != nullptr && negated->op == Op::kNeg && alike(Def(negated->operands[0]), Def(plain.operands[1]));
    } else if (plain.op == Op::kAdd) {
      found = alike(Def(product.operands[2]), Def(plain.operands[1]));
    }
    if (found) factor_ = Factor{body, plain.results[0], product.op, place};
  }
  // x becomes x * 1; x - y and x + y become fma(x, 1, -y) and fma(x, 1, y).
  void MultiplyByOne() {
    std::vector<ir::Op>& ops = factor_->body->ops;
    const size_t at = static_cast<size_t>(std::find_if(ops.begin(), ops.end(), [&](const ir::Op& op) { return op.results.size() == 1 && op.results[0] == factor_->value; }) - ops.begin());
    const ir::Op plain = ops[at];
    const isa::Type tile = kernel_.TypeOf(factor_->value), scalar = isa::ScalarType(tile.elem.dtype);
    const ValueId one = kernel_.NewValue(scalar), ones = kernel_.NewValue(tile);
    std::vector<ir::Op> made;
    ValueId x = kNoValue;
    std::vector<ValueId> operands(2);
    if (factor_->product == Op::kMul) {
      x = kernel_.NewValue(tile, kernel_.values[factor_->value].name);
      made.push_back(plain);
      made.back().results[0] = x;
    } else {
      x = plain.operands[0];
      operands.push_back(plain.operands[1]);
      if (plain.op == Op::kSub) {
        operands[2] = kernel_.NewValue(tile);
        made.push_back(MakeOp(Op::kNeg, operands[2], {plain.operands[1]}, plain.loc));
      }
    }
    operands[factor_->place] = ones;
    operands[1 - factor_->place] = x;
    made.push_back(MakeOp(factor_->product, factor_->value, operands, plain.loc));
    ops.erase(ops.begin() + static_cast<ptrdiff_t>(at));
    ops.insert(ops.begin() + static_cast<ptrdiff_t>(at), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
    std::vector<ir::Op> before(2);
    before[0] = MakeOp(Op::kConst, one, {}, plain.loc);
    before[0].SetAttr("value", 1.0);
    before[1] = MakeOp(Op::kSplat, ones, {one}, plain.loc);
    region_.ops.insert(region_.ops.begin() + static_cast<ptrdiff_t>(first_), std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
  }

  // Whether two values are computed alike, from the end on.
  Kind Compare(ValueId of_a, ValueId of_b) {
    if (of_a == kNoValue || of_b == kNoValue) return of_a == of_b ? Kind::kSame : Kind::kSplit;
    if (!IsOwnOfB(of_b)) return InA(of_b) == of_a ? Kind::kSame : Kind::kSplit;
    const auto [known, fresh] = kinds_.try_emplace({of_a, of_b}, Kind::kSplit);
    if (!fresh) return known->second;
    auto in_a = a_ops_.find(of_a), in_b = b_ops_.find(of_b);
    if (in_a == a_ops_.end() || in_b == b_ops_.end() || head_.count(of_a) != 0 || tail_.count(of_a) != 0 || tail_of_b_.count(of_b) != 0) return Kind::kSplit;
    const ir::Op &x = *in_a->second, &y = *in_b->second;
    if (!Alike(x, y)) {
      NoteFactor(x, y, &BodyB());
      NoteFactor(y, x, &BodyA());
      return Kind::kSplit;
    }
    int splits = 0;
    for (size_t i = 0; i < x.operands.size(); ++i) {
      const bool scalar = ScalarOf(x.operands[i]) != kNoValue && ScalarOf(y.operands[i]) != kNoValue;
      splits += Compare(x.operands[i], y.operands[i]) == Kind::kSplit && !scalar;
    }
    if (splits > 1 || tail_.count(of_a) != 0 || tail_of_b_.count(of_b) != 0) return Kind::kSplit;
    tail_[of_a] = of_b;
    tail_of_b_[of_b] = of_a;
    return kinds_[{of_a, of_b}] = Kind::kTail;
  }
  bool IsTail(const Pair& pair) const {
    auto found = tail_.find(pair.first);
    return found != tail_.end() && found->second == pair.second && moved_.count(pair.first) == 0;
  }

  // The splits, what the sides compute, and what the tail computes.
  void FindSides() {
    for (bool moved = true; moved;) {
      moved = false;
      splits_.clear();
      used_.clear();
      std::vector<Pair> open(roots_.begin(), roots_.end());
      while (!open.empty()) {
        const Pair pair = open.back();
        open.pop_back();
        if (pair.first == kNoValue || (!IsOwnOfB(pair.second) && InA(pair.second) == pair.first)) continue;
        if (!IsTail(pair)) {
          if (std::find(splits_.begin(), splits_.end(), pair) == splits_.end()) splits_.push_back(pair);
          continue;
        }
        if (!used_.insert(pair.first).second) continue;
        const ir::Op &x = *a_ops_.at(pair.first), &y = *b_ops_.at(pair.second);
        for (size_t i = 0; i < x.operands.size(); ++i) open.push_back({x.operands[i], y.operands[i]});
      }
      side_a_.clear();
      side_b_.clear();
      for (const Pair& split : splits_) {
        moved |= Need(split.first, a_ops_, side_a_, [&](ValueId id) { return head_.count(id) != 0; }, [&](ValueId id) { return tail_.count(id) != 0 ? id : kNoValue; });
        moved |= Need(split.second, b_ops_, side_b_, [&](ValueId id) { return from_a_.count(id) != 0; }, [&](ValueId id) {
          auto found = tail_of_b_.find(id);
          return found == tail_of_b_.end() ? kNoValue : found->second;
        });
      }
    }
  }
  // Adds to `side` what has to be computed there for the value. True if that moves an op of the tail into both sides.
  template <typename InHead, typename InTail>
  bool Need(ValueId id, const std::map<ValueId, const ir::Op*>& ops, std::set<ValueId>& side, const InHead& in_head, const InTail& in_tail) {
    bool moved = false;
    std::vector<ValueId> open = {id};
    while (!open.empty()) {
      const ValueId at = open.back();
      open.pop_back();
      auto op = at == kNoValue ? ops.end() : ops.find(at);
      if (op == ops.end() || in_head(at) || !side.insert(at).second) continue;
      const ValueId tail = in_tail(at);
      if (tail != kNoValue) moved |= moved_.insert(tail).second;
      open.insert(open.end(), op->second->operands.begin(), op->second->operands.end());
    }
    return moved;
  }

  // Each load and product of both bodies runs on both ways, or not at all.
  bool ProductsAreCommon() const {
    int common = 0;
    for (const auto* side : {&side_a_, &side_b_}) {
      for (ValueId id : *side) {
        const Op op = (side == &side_a_ ? a_ops_ : b_ops_).at(id)->op;
        if (op == Op::kLoad || op == Op::kDot) return false;
      }
    }
    for (const ir::Op& op : BodyA().ops) common += op.op == Op::kDot && (head_.count(op.results[0]) != 0 || used_.count(op.results[0]) != 0);
    return common > 0;
  }

  ValueId MakeConst(int64_t value, const isa::Type& type, Loc loc, std::vector<ir::Op>& ops) {
    const ValueId id = kernel_.NewValue(type);
    ir::Op made = MakeOp(Op::kConst, id, {}, loc);
    made.SetAttr("value", value);
    ops.push_back(std::move(made));
    return id;
  }

  static bool AnyOf(const ir::Op& op, const std::set<ValueId>& values) {
    return std::any_of(op.results.begin(), op.results.end(), [&](ValueId id) { return values.count(id) != 0; });
  }

  void Rewrite() {
    const Loc loc = b_.loc;
    const isa::Type index = kernel_.TypeOf(BodyA().args[0]);
    const ValueId iv = BodyA().args[0];
    std::vector<ir::Op> before, head, tail;
    // The counters, each a sum of the induction variable.
    std::map<Pair, ValueId> renamed;  // splits, in the tail
    for (const auto& entry : counters_) {
      const ValueId arg = entry.first;
      const Counter& counter = entry.second;
      if (from_a_.count(arg) != 0) continue;
      const isa::Type type = kernel_.TypeOf(arg);
      const auto scaled = [&](ValueId x, std::vector<ir::Op>& ops) {
        if (counter.wide) {
          const ValueId wide = kernel_.NewValue(type);
          ops.push_back(MakeOp(Op::kCast, wide, {x}, loc));
          x = wide;
        }
        if (counter.scale == 1) return x;
        const ValueId scale = MakeConst(counter.scale, type, loc, before), product = kernel_.NewValue(type);
        ops.push_back(MakeOp(Op::kMul, product, {x, scale}, loc));
        return product;
      };
      ValueId base = counter.init;
      if (Constant(counter.begin) != 0) {
        const ValueId begin = scaled(counter.begin, before);
        base = kernel_.NewValue(type);
        before.push_back(MakeOp(Op::kSub, base, {counter.init, begin}, loc));
      }
      const ValueId moved = scaled(iv, head);
      head.push_back(MakeOp(Op::kAdd, arg, {base, moved}, loc));
    }
    // Ops of the first body.
    std::vector<ir::Op> sides[2];
    for (ir::Op& op : BodyA().ops) {
      if (op.op == Op::kYield) continue;
      if (AnyOf(op, head_)) head.push_back(op);
      else if (AnyOf(op, side_a_)) sides[0].push_back(op);
      else if (AnyOf(op, used_)) tail.push_back(op);
    }
    for (ir::Op& op : BodyB().ops) {
      if (op.op == Op::kYield || !AnyOf(op, side_b_)) continue;
      sides[1].push_back(op);
      for (ValueId& operand : sides[1].back().operands) operand = InA(operand);
    }
    std::vector<ir::Op> body = std::move(head);
    if (!splits_.empty()) {
      const ValueId second = kernel_.NewValue(isa::ScalarType(isa::DType::kI1));
      body.push_back(MakeOp(Op::kGe, second, {iv, a_.operands[1]}, loc));
      ir::Op choice;
      choice.op = Op::kIf;
      choice.operands = {second};
      choice.loc = loc;
      choice.regions.resize(2);
      std::vector<ValueId> yields[2];
      std::vector<ir::Op> spread;
      std::map<Pair, ValueId> chosen;
      for (const Pair& split : splits_) {
        const Pair scalars = {ScalarOf(split.first), ScalarOf(split.second)};
        const bool spreads = scalars.first != kNoValue && scalars.second != kNoValue;
        const Pair values = spreads ? scalars : split;
        const auto [found, fresh] = chosen.try_emplace(values, kNoValue);
        if (fresh) {
          found->second = kernel_.NewValue(kernel_.TypeOf(values.first), kernel_.values[values.first].name);
          choice.results.push_back(found->second);
          yields[0].push_back(values.first);
          yields[1].push_back(InA(values.second));
        }
        renamed[split] = found->second;
        if (!spreads) continue;
        renamed[split] = kernel_.NewValue(kernel_.TypeOf(split.first));
        spread.push_back(MakeOp(Op::kSplat, renamed[split], {found->second}, loc));
      }
      for (int side : {0, 1}) {
        ir::Op yield;
        yield.op = Op::kYield;
        yield.operands.assign(yields[side].begin(), yields[side].end());
        yield.loc = loc;
        sides[side].push_back(std::move(yield));
        choice.regions[1 - side].ops = std::move(sides[side]);
      }
      body.push_back(std::move(choice));
      body.insert(body.end(), std::make_move_iterator(spread.begin()), std::make_move_iterator(spread.end()));
    }
    const auto rename = [&](const Pair& pair) {
      auto found = renamed.find(pair);
      return found == renamed.end() ? pair.first : found->second;
    };
    for (ir::Op& op : tail) {
      const ir::Op& other = *b_ops_.at(tail_.at(op.results[0]));
      for (size_t i = 0; i < op.operands.size(); ++i) op.operands[i] = rename({op.operands[i], other.operands[i]});
      body.push_back(std::move(op));
    }
    // The loop: from where the first began, unless it did not run, to where the second ended, unless that one did not.
    ValueId begin = a_.operands[0], end = b_.operands[1];
    const std::optional<int64_t> lo = Constant(begin), hi = Constant(a_.operands[1]);
    if (!lo.has_value() || !hi.has_value() || *lo > *hi) {
      begin = kernel_.NewValue(index);
      before.push_back(MakeOp(Op::kMinimum, begin, {a_.operands[0], a_.operands[1]}, loc));
      before.back().SetAttr("trusted", true);
    }
    const std::optional<int64_t> last = Constant(end);
    if (!last.has_value() || !hi.has_value() || *last < *hi) {
      end = kernel_.NewValue(index);
      before.push_back(MakeOp(Op::kMaximum, end, {b_.operands[1], a_.operands[1]}, loc));
      before.back().SetAttr("trusted", true);
      Linear apart = LinearOf(b_.operands[1]);
      AddTo(apart, LinearOf(a_.operands[1]), ~uint64_t{0});
      if (apart.size() == 1 && apart.begin()->first.first == kNoValue && static_cast<int64_t>(apart.begin()->second) > 0) {
        before.back().SetAttr("apart", static_cast<int64_t>(apart.begin()->second));
      }
    }
    ir::Op joined;
    joined.op = Op::kFor;
    joined.loc = a_.loc;
    joined.attrs = a_.attrs;
    joined.operands = {begin, end, b_.operands[2]};
    joined.regions.resize(1);
    joined.regions[0].args = {iv};
    ir::Op yield;
    yield.op = Op::kYield;
    yield.loc = BodyB().ops.back().loc;
    for (const auto& [in_b, in_a] : carried_) {
      joined.operands.push_back(a_.operands[3 + in_a]);
      joined.regions[0].args.push_back(BodyA().args[1 + in_a]);
      joined.results.push_back(b_.results[in_b]);
      yield.operands.push_back(rename({BodyA().ops.back().operands[in_a], BodyB().ops.back().operands[in_b]}));
    }
    body.push_back(std::move(yield));
    joined.regions[0].ops = std::move(body);

    std::vector<ir::Op> out;
    for (size_t i = 0; i < region_.ops.size(); ++i) {
      if (i == first_) continue;
      if (i != second_) {
        out.push_back(std::move(region_.ops[i]));
        continue;
      }
      out.insert(out.end(), std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
      out.push_back(std::move(joined));
    }
    region_.ops = std::move(out);
  }

  ir::Kernel& kernel_;
  ir::Region& region_;
  const size_t first_, second_;
  ir::Op &a_, &b_;
  const analysis::AxisFacts facts_;
  std::vector<const ir::Op*> defs_;
  int64_t step_ = 1;
  std::map<size_t, size_t> carried_;               // result of b: result of a that it goes on with
  std::map<ValueId, Counter> counters_;            // by argument, of both bodies
  std::map<ValueId, ValueId> from_a_;              // arguments and head of b: the same in a
  std::map<ValueId, const ir::Op*> a_ops_, b_ops_;
  std::set<ValueId> head_;                         // values of a
  std::map<ValueId, ValueId> tail_, tail_of_b_;    // values of a: the one of b; and the other way
  std::set<ValueId> moved_, used_;                 // values of a: of the tail into the sides; of the tail
  std::map<Pair, Kind> kinds_;
  std::optional<Factor> factor_;
  std::vector<Pair> roots_, splits_;
  std::set<ValueId> side_a_, side_b_;
  std::vector<int> uses_;
};

// Calls visit(region, first, second) for loops with products that follow each other, until it says true.
template <typename Visit>
bool AnyPair(ir::Region& region, const Visit& visit) {
  for (size_t i = 0; i < region.ops.size(); ++i) {
    for (ir::Region& inner : region.ops[i].regions) {
      if (AnyPair(inner, visit)) return true;
    }
    if (region.ops[i].op != Op::kFor || !HasProduct(region.ops[i])) continue;
    size_t next = i + 1;
    while (next < region.ops.size() && region.ops[next].regions.empty()) ++next;
    if (next == region.ops.size() || region.ops[next].op != Op::kFor || !HasProduct(region.ops[next])) continue;
    if (visit(region, i, next)) return true;
  }
  return false;
}

void Trust(ir::Region& region, std::map<ValueId, ValueId>& trusted) {
  std::vector<ir::Op> kept;
  for (ir::Op& op : region.ops) {
    for (ValueId& operand : op.operands) {
      auto found = trusted.find(operand);
      if (found != trusted.end()) operand = found->second;
    }
    for (ir::Region& inner : op.regions) Trust(inner, trusted);
    if ((op.op == Op::kMinimum || op.op == Op::kMaximum) && op.BoolAttr("trusted")) trusted[op.results[0]] = op.operands[0];
    else kept.push_back(std::move(op));
  }
  region.ops = std::move(kept);
}

}  // namespace

void TrustBounds(ir::Kernel* kernel) {
  std::map<ValueId, ValueId> trusted;
  Trust(kernel->body, trusted);
}

absl::StatusOr<ir::Kernel> JoinLoops(ir::Kernel kernel) {
  if (!AnyPair(kernel.body, [](ir::Region&, size_t, size_t) { return true; })) return kernel;
  constexpr int kMostFactors = 16;
  // What moved out of the loops is there once.
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel joined, Cse(kernel));
  bool any = false;
  for (int number = 0;;) {  // of the pair; what it would take is done to a copy
    ir::Kernel attempt = joined;
    bool found = false;
    Joiner::Outcome outcome = Joiner::Outcome::kChanged;
    for (int factors = 0; factors <= kMostFactors && outcome == Joiner::Outcome::kChanged; ++factors) {
      int at = 0;
      found = AnyPair(attempt.body, [&](ir::Region& region, size_t first, size_t second) {
        if (at++ != number) return false;
        outcome = Joiner(&attempt, &region, first, second).Run();
        return true;
      });
      if (!found) break;
      TILEVM_ASSIGN_OR_RETURN(attempt, Cse(std::move(attempt)));
    }
    if (!found) break;
    if (outcome != Joiner::Outcome::kJoined) {
      ++number;
      continue;
    }
    joined = std::move(attempt);
    any = true;
  }
  return any ? Dce(std::move(joined)) : std::move(kernel);
}

}  // namespace tilevm::specializer
