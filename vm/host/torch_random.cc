// torch's random tensors. The values are our own and stay the same from release to release (docs/host.md): element i of the draw number c of a
// generator with seed s comes from block i / 4 (f64: i / 2) of Philox4x32-10 with key s and counter (block low, block high, c low, c high). A word w is
// the uniform number (w >> 8) * 2^-24; normal numbers come in pairs, sqrt(-2 ln(1 - u1)) * (cos, sin)(2 pi u2).
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "vm/host/object.h"
#include "vm/host/convert.h"
#include "vm/host/host.h"
#include "vm/host/random.h"
#include "vm/host/torch_table.h"

namespace tilevm::vm::host {

std::array<uint32_t, 4> PhiloxBlock(uint64_t seed, uint64_t draw, uint64_t block) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(draw),
                               static_cast<uint32_t>(draw >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b), static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

namespace {

constexpr double kTwoPi = 6.283185307179586;

float Uniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
double Uniform53(uint32_t a, uint32_t b) { return static_cast<double>(((static_cast<uint64_t>(a) << 32) | b) >> 11) * 0x1p-53; }

}  // namespace

void FillUniform(const Tensor& t, uint64_t seed, uint64_t draw) {
  const int64_t n = t.numel(), item = t.item_bytes();
  if (t.dtype == DType::kF64) {
    for (int64_t i = 0; i < n; i += 2) {
      const auto w = PhiloxBlock(seed, draw, i / 2);
      const double x[2] = {Uniform53(w[0], w[1]), Uniform53(w[2], w[3])};
      StoreElems(t.dtype, t.data() + i * item, std::min<int64_t>(2, n - i), x);
    }
    return;
  }
  float buffer[1024];
  for (int64_t begin = 0; begin < n; begin += 1024) {
    for (int64_t j = 0; j < 1024 && begin + j < n; j += 4) {
      const auto w = PhiloxBlock(seed, draw, (begin + j) / 4);
      for (int k = 0; k < 4; ++k) buffer[j + k] = Uniform(w[k]);
    }
    StoreElems(t.dtype, t.data() + begin * item, std::min<int64_t>(1024, n - begin), buffer);
  }
}

void FillNormal(const Tensor& t, uint64_t seed, uint64_t draw) {
  const int64_t n = t.numel(), item = t.item_bytes();
  if (t.dtype == DType::kF64) {
    for (int64_t i = 0; i < n; i += 2) {
      const auto w = PhiloxBlock(seed, draw, i / 2);
      const double radius = std::sqrt(-2 * std::log(1 - Uniform53(w[0], w[1]))), angle = kTwoPi * Uniform53(w[2], w[3]);
      const double x[2] = {radius * std::cos(angle), radius * std::sin(angle)};
      StoreElems(t.dtype, t.data() + i * item, std::min<int64_t>(2, n - i), x);
    }
    return;
  }
  float buffer[1024];
  for (int64_t begin = 0; begin < n; begin += 1024) {
    for (int64_t j = 0; j < 1024 && begin + j < n; j += 4) {
      const auto w = PhiloxBlock(seed, draw, (begin + j) / 4);
      for (int k = 0; k < 4; k += 2) {
        const float radius = std::sqrt(-2 * std::log(1 - Uniform(w[k]))), angle = static_cast<float>(kTwoPi) * Uniform(w[k + 1]);
        buffer[j + k] = radius * std::cos(angle);
        buffer[j + k + 1] = radius * std::sin(angle);
      }
    }
    StoreElems(t.dtype, t.data() + begin * item, std::min<int64_t>(1024, n - begin), buffer);
  }
}

void FillIntegers(const Tensor& t, uint64_t seed, uint64_t draw, int64_t low, int64_t high) {
  const int64_t n = t.numel();
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  for (int64_t i = 0; i < n; i += 2) {
    const auto w = PhiloxBlock(seed, draw, i / 2);
    for (int k = 0; k < 2 && i + k < n; ++k) {
      const uint64_t word = (static_cast<uint64_t>(w[2 * k + 1]) << 32) | w[2 * k];
      const int64_t x = low + static_cast<int64_t>(span == 0 ? 0 : word % span);
      StoreElems(t.dtype, t.data() + (i + k) * t.item_bytes(), 1, &x);
    }
  }
}

namespace {

enum Tag { kUniform, kNormal };

// torch.Generator: a stream of draws of its own.
class GeneratorObject : public specializer::HostObject {
 public:
  Generator state;
  std::weak_ptr<GeneratorObject> self;  // the value that holds it
  std::string type_name() const override { return "torch.Generator"; }
  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override {
    if (name == "device") return MakeDevice("cuda", -1);
    return HostObject::GetAttr(evaluator, name, loc);
  }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override {
    if (name == "manual_seed") {
      if (args.positional.size() != 1 || !args.positional[0].is(specializer::ValueKind::kInt))
        return InvalidAt(loc, "TypeError: manual_seed: an int is wanted");
      state = Generator{static_cast<uint64_t>(args.positional[0].int_value()), 0};
      return Value::Shared(specializer::ValueKind::kObject, self.lock());
    }
    if (name == "seed" || name == "initial_seed") return Value::Int(static_cast<int64_t>(state.seed));
    return HostObject::CallMethod(evaluator, name, args, loc);
  }
};

absl::StatusOr<Value> NewGenerator(HostCall& call) {
  TILEVM_RETURN_IF_ERROR(call.world.CheckDevice(call.args[0], call.loc));
  auto generator = std::make_shared<GeneratorObject>();
  generator->self = generator;
  return Value::Shared(specializer::ValueKind::kObject, generator);
}

// The one that the call names, else the program's.
Generator& GeneratorOf(HostCall& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.params[i] != "generator" || !call.args[i].is(specializer::ValueKind::kObject)) continue;
    if (auto* given = dynamic_cast<GeneratorObject*>(call.args[i].As<specializer::HostObject>())) return given->state;
  }
  return call.world.generator();
}

absl::Status Draw(HostCall& call, const Tensor& t) {
  if (!isa::IsFloat(t.dtype)) return call.Error("not for dtype ", TorchName(t.dtype));
  Generator& g = GeneratorOf(call);
  if (call.tag == kUniform) {
    FillUniform(t, g.seed, g.calls++);
  } else {
    FillNormal(t, g.seed, g.calls++);
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Random(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(0));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, DType::kF32));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, shape, Fill::kZero));
  TILEVM_RETURN_IF_ERROR(Draw(call, t));
  return FinishCreation(call, t, 1);
}

absl::StatusOr<Value> RandomLike(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(Tensor like, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, like.dtype));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, like.shape, Fill::kZero));
  TILEVM_RETURN_IF_ERROR(Draw(call, t));
  return FinishCreation(call, t, 1);
}

absl::StatusOr<Value> RandInt(HostCall& call) {  // randint(high, size), randint(low, high, size)
  std::vector<Value> given = call.args[0].items().ToVector();
  Value low = call.args[1], high = call.args[2], size = call.args[3];
  if (!given.empty() && size.absent() && (given.back().is(specializer::ValueKind::kTuple) || given.back().is(specializer::ValueKind::kList))) {
    size = given.back();
    given.pop_back();
  }
  if (given.size() == 2) {
    low = given[0];
    high = given[1];
  } else if (given.size() == 1) {
    (high.absent() ? high : low) = given[0];
  }
  if (high.absent() || size.absent()) return call.Error("randint(low=0, high, size) wants a bound and a size");
  if (low.absent()) low = Value::Int(0);
  call.args[1] = low;
  call.args[2] = high;
  call.args[3] = size;
  TILEVM_ASSIGN_OR_RETURN(int64_t from, call.IntArg(1));
  TILEVM_ASSIGN_OR_RETURN(int64_t to, call.IntArg(2));
  TILEVM_ASSIGN_OR_RETURN(Shape shape, call.ShapeArg(3));
  if (from >= to) return call.Error("low ", from, " must be below high ", to);
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(4, DType::kI64));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(dtype, shape, Fill::kZero));
  Generator& g = GeneratorOf(call);
  FillIntegers(t, g.seed, g.calls++, from, to);
  return FinishCreation(call, t, 4);
}

absl::StatusOr<Value> RandPerm(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(int64_t n, call.IntArg(0));
  TILEVM_ASSIGN_OR_RETURN(DType dtype, call.DTypeArg(1, DType::kI64));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(DType::kI64, {n}, Fill::kZero));
  int64_t* p = reinterpret_cast<int64_t*>(t.data());
  std::iota(p, p + n, 0);
  Generator& g = GeneratorOf(call);
  const uint64_t draw = g.calls++;
  for (int64_t i = n - 1; i > 0; --i) {  // Fisher and Yates
    const auto w = PhiloxBlock(g.seed, draw, i);
    std::swap(p[i], p[((static_cast<uint64_t>(w[1]) << 32) | w[0]) % static_cast<uint64_t>(i + 1)]);
  }
  TILEVM_ASSIGN_OR_RETURN(t, CastTo(t, dtype));
  return FinishCreation(call, t, 1);
}

absl::StatusOr<Value> FillRandom(HostCall& call) {  // x.normal_(mean, std), x.uniform_(from, to)
  TILEVM_ASSIGN_OR_RETURN(Tensor target, call.TensorArg(0));
  TILEVM_ASSIGN_OR_RETURN(double a, call.FloatArg(1, 0));
  TILEVM_ASSIGN_OR_RETURN(double b, call.FloatArg(2, 1));
  TILEVM_ASSIGN_OR_RETURN(Tensor t, Tensor::Make(target.dtype == DType::kF64 ? DType::kF64 : DType::kF32, target.shape, Fill::kZero));
  TILEVM_RETURN_IF_ERROR(Draw(call, t));
  const double scale = call.tag == kUniform ? b - a : b;
  TILEVM_ASSIGN_OR_RETURN(Value scaled, BinaryOperator(call.evaluator, isa::Op::kMul, MakeTensorValue(t), Value::Float(scale), call.loc));
  TILEVM_ASSIGN_OR_RETURN(scaled, BinaryOperator(call.evaluator, isa::Op::kAdd, scaled, Value::Float(a), call.loc));
  TILEVM_RETURN_IF_ERROR(CopyInto(target, AsTensor(scaled)->tensor));
  return call.args[0];
}

absl::StatusOr<Value> ManualSeed(HostCall& call) {
  TILEVM_ASSIGN_OR_RETURN(int64_t seed, call.IntArg(0));
  call.world.generator() = Generator{static_cast<uint64_t>(seed), 0};
  return Value::None();
}

constexpr HostOp kOps[] = {
    {"rand", "size* | " TILEVM_CREATION_KEYWORDS, Random, kUniform},
    {"randn", "size* | " TILEVM_CREATION_KEYWORDS, Random, kNormal},
    {"rand_like", "input | " TILEVM_CREATION_KEYWORDS, RandomLike, kUniform},
    {"randn_like", "input | " TILEVM_CREATION_KEYWORDS, RandomLike, kNormal},
    {"randint", "numbers* | low? high? size? " TILEVM_CREATION_KEYWORDS, RandInt},
    {"randperm", "n | " TILEVM_CREATION_KEYWORDS, RandPerm},
    {".normal_", "input mean? std? | generator?", FillRandom, kNormal},
    {".uniform_", "input from? to? | generator?", FillRandom, kUniform},
    {"Generator", "device?", NewGenerator},
    {"manual_seed cuda.manual_seed cuda.manual_seed_all random.manual_seed", "seed", ManualSeed},
};

}  // namespace

absl::Span<const HostOp> RandomOps() { return kOps; }

}  // namespace tilevm::vm::host
