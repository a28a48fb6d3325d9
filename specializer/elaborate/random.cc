// Counter-based random numbers, bit for bit those of Triton: Philox with the key from a 64-bit seed and the counter from the offset.
#include "specializer/elaborate/broadcast.h"
#include "specializer/elaborate/rules.h"

namespace tilevm::specializer {
namespace {

constexpr int64_t kDefaultRounds = 10;

absl::StatusOr<std::vector<ValueId>> EmitPhilox(Rule& rule, std::vector<ValueId> operands, int64_t rounds) {
  TILEVM_RETURN_IF_ERROR(BroadcastAll(rule, operands));
  ir::Op op;
  op.op = Op::kPhilox;
  op.operands.assign(operands.begin(), operands.end());
  op.SetAttr("n_rounds", rounds);
  op.loc = rule.loc();
  const Type word = rule.TypeOf(operands[1]);
  const Type results[] = {word, word, word, word};
  return rule.builder().EmitOp(std::move(op), results);
}

absl::StatusOr<ValueId> Integer(Rule& rule, absl::string_view name) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId id, rule.Number(name));
  if (!isa::IsInteger(rule.DTypeOf(id))) return rule.Error("operand ", name, " is ", isa::ToString(rule.TypeOf(id)), ", wanted integers");
  return id;
}

Value Words(const std::vector<ValueId>& ids) {
  std::vector<Value> words;
  for (ValueId id : ids) words.push_back(Result(id));
  return Value::Tuple(std::move(words));
}

absl::StatusOr<int64_t> Rounds(Rule& rule) { return rule.Int("n_rounds", kDefaultRounds); }

absl::StatusOr<Value> Philox(Rule& rule) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId seed, Integer(rule, "seed"));
  std::vector<ValueId> operands = {rule.Cast(seed, DType::kU64)};
  DType word = DType::kU32;
  for (absl::string_view name : {"c0", "c1", "c2", "c3"}) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId c, Integer(rule, name));
    const int bits = isa::BitWidth(rule.DTypeOf(c));
    if (name == "c0") {
      if (bits < 32) return rule.Error("operand c0 is ", isa::ToString(rule.TypeOf(c)), ", wanted 32 or 64 bits");
      word = isa::UnsignedOfWidth(bits);
    }
    operands.push_back(rule.Cast(c, word));
  }
  TILEVM_ASSIGN_OR_RETURN(const int64_t rounds, Rounds(rule));
  TILEVM_ASSIGN_OR_RETURN(const std::vector<ValueId> words, EmitPhilox(rule, std::move(operands), rounds));
  return Words(words);
}

// The rounds alone, with their key, written out.
absl::StatusOr<Value> PhiloxImpl(Rule& rule) {
  std::vector<ValueId> v;
  for (absl::string_view name : {"c0", "c1", "c2", "c3", "k0", "k1"}) {
    TILEVM_ASSIGN_OR_RETURN(const ValueId id, Integer(rule, name));
    v.push_back(id);
  }
  const DType word = rule.DTypeOf(v[0]);
  if (word != DType::kU32 && word != DType::kU64) return rule.Error("operand c0 is ", isa::ToString(rule.TypeOf(v[0])), ", wanted u32 or u64");
  for (ValueId& id : v) id = rule.Cast(id, word);
  TILEVM_RETURN_IF_ERROR(BroadcastAll(rule, v));
  const Shape shape = rule.TypeOf(v[0]).shape;
  const bool wide = word == DType::kU64;
  const auto constant = [&](uint64_t value) { return rule.builder().Splat(rule.ConstInt(word, static_cast<int64_t>(value)), shape, rule.loc()); };
  const ValueId a = constant(wide ? 0xD2E7470EE14C6C93u : 0xD2511F53u), b = constant(wide ? 0xCA5A826395121157u : 0xCD9E8D57u);
  const ValueId key_a = constant(wide ? 0x9E3779B97F4A7C15u : 0x9E3779B9u), key_b = constant(wide ? 0xBB67AE8584CAA73Bu : 0xBB67AE85u);
  const auto emit = [&](Op op, ValueId x, ValueId y) { return rule.EmitLike(op, x, {x, y}); };
  TILEVM_ASSIGN_OR_RETURN(const int64_t rounds, Rounds(rule));
  if (rounds < 0 || rounds > 64) return rule.Error("n_rounds is ", rounds, ", wanted 0 to 64");
  for (int64_t i = 0; i < rounds; ++i) {
    const ValueId c0 = v[0], c2 = v[2];
    v[0] = emit(Op::kBitXor, emit(Op::kBitXor, emit(Op::kUmulhi, b, c2), v[1]), v[4]);
    v[2] = emit(Op::kBitXor, emit(Op::kBitXor, emit(Op::kUmulhi, a, c0), v[3]), v[5]);
    v[1] = emit(Op::kMul, b, c2);
    v[3] = emit(Op::kMul, a, c0);
    v[4] = emit(Op::kAdd, v[4], key_a);
    v[5] = emit(Op::kAdd, v[5], key_b);
  }
  v.resize(4);
  return Words(v);
}

// randint4x: counter (low word, high word or 0, 0, 0) of the offset.
absl::StatusOr<std::vector<ValueId>> FourWords(Rule& rule, absl::string_view offset_name) {
  TILEVM_ASSIGN_OR_RETURN(const ValueId seed, Integer(rule, "seed"));
  TILEVM_ASSIGN_OR_RETURN(const ValueId offset, Integer(rule, offset_name));
  TILEVM_ASSIGN_OR_RETURN(const int64_t rounds, Rounds(rule));
  const ValueId zero = rule.ConstInt(DType::kU32, 0);
  ValueId high = zero;
  const Type type = rule.TypeOf(offset);
  if (isa::BitWidth(type.elem.dtype) > 32) {
    const ValueId bits = rule.Cast(offset, DType::kU64);
    const ValueId count = rule.builder().Splat(rule.ConstInt(DType::kU64, 32), type.shape, rule.loc());
    high = rule.Cast(rule.EmitLike(Op::kShr, bits, {bits, count}), DType::kU32);
  }
  return EmitPhilox(rule, {rule.Cast(seed, DType::kU64), rule.Cast(offset, DType::kU32), high, zero, zero}, rounds);
}

absl::StatusOr<Value> ToUniform(Rule& rule, ValueId x) {
  const DType dtype = rule.DTypeOf(x);
  const bool narrow = dtype == DType::kU32 || dtype == DType::kI32;
  if (!narrow && dtype != DType::kU64 && dtype != DType::kI64) return rule.Error("operand x is ", isa::ToString(rule.TypeOf(x)), ", wanted 32 or 64-bit integers");
  const ValueId word = rule.Cast(x, narrow ? DType::kI32 : DType::kI64);
  TILEVM_ASSIGN_OR_RETURN(const Value negative, rule.Apply(Op::kLt, {Result(word), Value::Int(0)}));
  const ValueId flipped = rule.EmitLike(Op::kInvert, word, {word});  // -x - 1
  const ValueId folded = rule.EmitLike(Op::kWhere, word, {negative.tensor(), flipped, word});
  return rule.Apply(Op::kMul, {Result(folded), Value::Float(narrow ? 4.6566127342e-10 : 1.0842020432385337e-19)});
}

absl::StatusOr<Value> PairToNormal(Rule& rule, const Value& u1, const Value& u2) {
  TILEVM_ASSIGN_OR_RETURN(const Value bounded, rule.Apply(Op::kMaximum, {Value::Float(1.0e-7), u1}));
  TILEVM_ASSIGN_OR_RETURN(const Value angle, rule.Apply(Op::kMul, {Value::Float(6.283185307179586), u2}));
  TILEVM_ASSIGN_OR_RETURN(const Value log, rule.Apply(Op::kLog, {bounded}));
  TILEVM_ASSIGN_OR_RETURN(const Value scaled, rule.Apply(Op::kMul, {Value::Float(-2.0), log}));
  TILEVM_ASSIGN_OR_RETURN(const Value radius, rule.Apply(Op::kSqrt, {scaled}));
  TILEVM_ASSIGN_OR_RETURN(const Value cosine, rule.Apply(Op::kCos, {angle}));
  TILEVM_ASSIGN_OR_RETURN(const Value sine, rule.Apply(Op::kSin, {angle}));
  TILEVM_ASSIGN_OR_RETURN(const Value first, rule.Apply(Op::kMul, {radius, cosine}));
  TILEVM_ASSIGN_OR_RETURN(const Value second, rule.Apply(Op::kMul, {radius, sine}));
  return Value::Tuple({first, second});
}

absl::StatusOr<Value> UniformOrNormal(Rule& rule) {
  const bool four = rule.op() == Op::kRand4x || rule.op() == Op::kRandN4x;
  TILEVM_ASSIGN_OR_RETURN(const std::vector<ValueId> words, FourWords(rule, rule.op() == Op::kRand4x ? "offsets" : "offset"));
  std::vector<Value> u;
  for (ValueId word : words) {
    TILEVM_ASSIGN_OR_RETURN(const Value uniform, ToUniform(rule, word));
    u.push_back(uniform);
    if (rule.op() == Op::kRand) return uniform;
  }
  if (rule.op() == Op::kRand4x) return Value::Tuple(std::move(u));
  TILEVM_ASSIGN_OR_RETURN(const Value first, PairToNormal(rule, u[0], u[1]));
  if (!four) return first.items()[0];
  TILEVM_ASSIGN_OR_RETURN(const Value second, PairToNormal(rule, u[2], u[3]));
  return Value::Tuple({first.items()[0], first.items()[1], second.items()[0], second.items()[1]});
}

}  // namespace

absl::StatusOr<Value> ElaborateRandom(Rule& rule) {
  switch (rule.op()) {
    case Op::kPhilox: return Philox(rule);
    case Op::kPhiloxImpl: return PhiloxImpl(rule);
    case Op::kRandInt: case Op::kRandInt4x: {
      TILEVM_ASSIGN_OR_RETURN(const std::vector<ValueId> words, FourWords(rule, "offset"));
      return rule.op() == Op::kRandInt ? Result(words[0]) : Words(words);
    }
    case Op::kUintToUniform: {
      TILEVM_ASSIGN_OR_RETURN(const ValueId x, Integer(rule, "x"));
      return ToUniform(rule, x);
    }
    case Op::kPairUniformToNormal: return PairToNormal(rule, rule["u1"], rule["u2"]);
    default: return UniformOrNormal(rule);
  }
}

}  // namespace tilevm::specializer
