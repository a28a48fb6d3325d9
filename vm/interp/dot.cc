// dot: acc + a @ b, batched over leading dimensions.
//
// Products are exact: operands of up to 16 bits and tf32 are converted to f32 and multiplied there. Integers are exact modulo 2**32. The
// f32 modes: tf32 rounds the operands; tf32x3 adds the products with the small parts; bf16x3 and bf16x6 sum products of bf16 parts.
#include <algorithm>

#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

using isa::DType;

enum class Mode : uint8_t { kPlain, kTf32, kTf32x3, kBf16x3, kBf16x6 };

struct DotPlan {
  int64_t batch, m, n, k;
  DType a_type, b_type, acc_type;
  Mode mode = Mode::kPlain;
  ArrayKernel widen_a, widen_b, widen_acc, narrow_acc;
};

// acc[m, n] += a[m, k] @ b[k, n]: rows of b are added to a row of acc, so that the inner loop is contiguous.
template <typename Element, typename Accumulator>
void MatMul(const Element* a, const Element* b, Accumulator* acc, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i) {
    Accumulator* row = acc + i * n;
    for (int64_t p = 0; p < k; ++p) {
      const Accumulator x = static_cast<Accumulator>(a[i * k + p]);
      const Element* from = b + p * n;
      for (int64_t j = 0; j < n; ++j) row[j] += x * static_cast<Accumulator>(from[j]);
    }
  }
}

// Scratch of a float dot: a and b in f32, a second pair for the parts, acc in f32.
struct FloatScratch {
  float *a, *b, *a_part, *b_part, *acc;
};
int64_t FloatScratchBytes(const DotPlan& dot) {
  return 2 * RoundUp64(dot.m * dot.k * 4) + 2 * RoundUp64(dot.k * dot.n * 4) + RoundUp64(dot.m * dot.n * 4);
}
FloatScratch Carve(std::byte* scratch, const DotPlan& dot) {
  FloatScratch s;
  const int64_t a_bytes = RoundUp64(dot.m * dot.k * 4), b_bytes = RoundUp64(dot.k * dot.n * 4);
  s.a = reinterpret_cast<float*>(scratch);
  s.a_part = reinterpret_cast<float*>(scratch + a_bytes);
  s.b = reinterpret_cast<float*>(scratch + 2 * a_bytes);
  s.b_part = reinterpret_cast<float*>(scratch + 2 * a_bytes + b_bytes);
  s.acc = reinterpret_cast<float*>(scratch + 2 * a_bytes + 2 * b_bytes);
  return s;
}

void Bf16Part(const float* in, float* out, int64_t n, int part) {
  for (int64_t i = 0; i < n; ++i) out[i] = isa::SplitBf16(in[i]).part[part];
}

void MultiplyParts(const DotPlan& dot, const FloatScratch& s, float* acc) {
  const int64_t a_n = dot.m * dot.k, b_n = dot.k * dot.n;
  const auto multiply = [&](const float* a, const float* b) { MatMul(a, b, acc, dot.m, dot.n, dot.k); };
  switch (dot.mode) {
    case Mode::kPlain:
      multiply(s.a, s.b);
      return;
    case Mode::kTf32:
      for (int64_t i = 0; i < a_n; ++i) s.a_part[i] = isa::RoundToTf32(s.a[i]);
      for (int64_t i = 0; i < b_n; ++i) s.b_part[i] = isa::RoundToTf32(s.b[i]);
      multiply(s.a_part, s.b_part);
      return;
    case Mode::kTf32x3: {
      // small @ big + big @ small + big @ big, the small terms first.
      const auto part = [](const float* in, float* out, int64_t n, bool big) {
        for (int64_t i = 0; i < n; ++i) {
          const isa::Tf32Parts parts = isa::SplitTf32(in[i]);
          out[i] = big ? parts.big : parts.small;
        }
      };
      const bool order[3][2] = {{false, true}, {true, false}, {true, true}};
      for (const auto& term : order) {
        part(s.a, s.a_part, a_n, term[0]);
        part(s.b, s.b_part, b_n, term[1]);
        multiply(s.a_part, s.b_part);
      }
      return;
    }
    default: {
      // bf16x3: parts (0,1) (1,0) (0,0); bf16x6 adds (1,1) (0,2) (2,0). The smallest terms first.
      static constexpr int kTerms[6][2] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
      for (int t = dot.mode == Mode::kBf16x6 ? 0 : 3; t < 6; ++t) {
        Bf16Part(s.a, s.a_part, a_n, kTerms[t][0]);
        Bf16Part(s.b, s.b_part, b_n, kTerms[t][1]);
        multiply(s.a_part, s.b_part);
      }
    }
  }
}

void RunFloatDot(const DotPlan& dot, const std::byte* a, const std::byte* b, std::byte* acc, std::byte* scratch) {
  FloatScratch s = Carve(scratch, dot);
  const auto widen = [](const ArrayKernel& kernel, DType type, const std::byte* from, float* to, int64_t n) -> const float* {
    if (type == DType::kF32) return reinterpret_cast<const float*>(from);
    kernel(from, nullptr, nullptr, to, n);
    return to;
  };
  s.a = const_cast<float*>(widen(dot.widen_a, dot.a_type, a, s.a, dot.m * dot.k));
  s.b = const_cast<float*>(widen(dot.widen_b, dot.b_type, b, s.b, dot.k * dot.n));
  if (dot.acc_type == DType::kF32) {
    MultiplyParts(dot, s, reinterpret_cast<float*>(acc));
    return;
  }
  dot.widen_acc(acc, nullptr, nullptr, s.acc, dot.m * dot.n);
  MultiplyParts(dot, s, s.acc);
  dot.narrow_acc(s.acc, nullptr, nullptr, acc, dot.m * dot.n);
}

void RunOne(const DotPlan& dot, const std::byte* a, const std::byte* b, std::byte* acc, std::byte* scratch) {
  const auto as = [](auto tag, const std::byte* p) { return reinterpret_cast<const decltype(tag)*>(p); };
  switch (dot.a_type) {
    case DType::kI8: MatMul(as(int8_t{}, a), as(int8_t{}, b), reinterpret_cast<uint32_t*>(acc), dot.m, dot.n, dot.k); return;
    case DType::kU8: MatMul(as(uint8_t{}, a), as(uint8_t{}, b), reinterpret_cast<uint32_t*>(acc), dot.m, dot.n, dot.k); return;
    case DType::kF64: MatMul(as(double{}, a), as(double{}, b), reinterpret_cast<double*>(acc), dot.m, dot.n, dot.k); return;
    default: RunFloatDot(dot, a, b, acc, scratch); return;
  }
}

// Poison of row i of a and of column j of b reaches acc[i, j].
void DotShadow(Frame& frame, const Inst& inst, const DotPlan& dot) {
  const Register& a = frame.reg(inst.in[0]);
  const Register& b = frame.reg(inst.in[1]);
  const Register& acc = frame.reg(inst.in[2]);
  Register& out = frame.reg(inst.out[0]);
  const bool any = a.shadowed || b.shadowed || acc.shadowed;
  if (any) {
    const int64_t total = dot.batch * dot.m * dot.n;
    if (!acc.shadowed) {
      std::memset(out.shadow, 0, total);
    } else if (out.shadow != acc.shadow) {
      std::memcpy(out.shadow, acc.shadow, total);
    }
    for (int64_t at = 0; at < total; ++at) {
      const int64_t batch = at / (dot.m * dot.n), i = at / dot.n % dot.m, j = at % dot.n;
      for (int64_t p = 0; p < dot.k; ++p) {
        if (a.shadowed) out.shadow[at] |= a.shadow[(batch * dot.m + i) * dot.k + p];
        if (b.shadowed) out.shadow[at] |= b.shadow[(batch * dot.k + p) * dot.n + j];
      }
    }
  }
  out.shadowed = any;
}

void RunDot(Frame& frame, const Inst& inst) {
  const DotPlan& dot = *static_cast<const DotPlan*>(inst.payload);
  for (const Operand& operand : inst.in) EnsureDense(frame.reg(operand), *operand.type);
  if (frame.check != nullptr) [[unlikely]] DotShadow(frame, inst, dot);
  Register& out = frame.reg(inst.out[0]);
  const Register& acc = frame.reg(inst.in[2]);
  if (out.data != acc.data) std::memcpy(out.data, acc.data, inst.out[0].type->bytes());
  const int64_t a_bytes = dot.m * dot.k * inst.in[0].type->elem_bytes, b_bytes = dot.k * dot.n * inst.in[1].type->elem_bytes;
  const int64_t acc_bytes = dot.m * dot.n * inst.out[0].type->elem_bytes;
  for (int64_t batch = 0; batch < dot.batch; ++batch) {
    RunOne(dot, frame.reg(inst.in[0]).data + batch * a_bytes, frame.reg(inst.in[1]).data + batch * b_bytes, out.data + batch * acc_bytes,
           frame.scratch);
  }
  out.form = Form::kDense;
}

absl::StatusOr<Mode> ModeOf(const ir::Op& op) {
  const absl::string_view precision = op.StringAttr("input_precision", "tf32");
  if (precision == "tf32" || precision.empty()) return Mode::kTf32;
  if (precision == "ieee") return Mode::kPlain;
  if (precision == "tf32x3") return Mode::kTf32x3;
  if (precision == "bf16x3") return Mode::kBf16x3;
  if (precision == "bf16x6") return Mode::kBf16x6;
  return InvalidAt(op.loc, "dot: input_precision \"", precision, "\"");
}

}  // namespace

absl::Status BindDot(const ir::Op& op, Plan& plan, Inst& inst) {
  if (inst.in.size() != 3) return ErrorAt(op.loc, absl::StatusCode::kInternal, "dot: the typed form has a, b and acc");
  const TypeInfo& a = *inst.in[0].type;
  const TypeInfo& b = *inst.in[1].type;
  const TypeInfo& acc = *inst.in[2].type;
  DotPlan dot;
  dot.m = a.shape[a.rank - 2];
  dot.k = a.shape[a.rank - 1];
  dot.n = b.shape[b.rank - 1];
  dot.batch = dot.m * dot.n == 0 ? 0 : acc.n / (dot.m * dot.n);
  dot.a_type = a.dtype;
  dot.b_type = b.dtype;
  dot.acc_type = acc.dtype;
  const bool integer = a.dtype == DType::kI8 || a.dtype == DType::kU8;
  const bool fits = integer             ? b.dtype == a.dtype && acc.elem_bytes == 4 && !isa::IsFloat(acc.dtype)
                    : a.dtype == DType::kF64 ? b.dtype == DType::kF64 && acc.dtype == DType::kF64
                                             : isa::IsFloat(a.dtype) && isa::IsFloat(b.dtype) && b.dtype != DType::kF64 &&
                                             (acc.dtype == DType::kF32 || acc.dtype == DType::kF16 || acc.dtype == DType::kBF16);
  if (!fits) {
    return UnimplementedAt(op.loc, "dot: ", isa::Name(a.dtype), " by ", isa::Name(b.dtype), " into ", isa::Name(acc.dtype));
  }
  if (a.dtype == DType::kF32 && b.dtype == DType::kF32) {
    TILEVM_ASSIGN_OR_RETURN(dot.mode, ModeOf(op));
  }
  if (!integer && a.dtype != DType::kF64) {
    NeedScratch(plan, FloatScratchBytes(dot));
    dot.widen_a = FindCastKernel(a.dtype, DType::kF32, isa::Rounding::kNearestEven);
    dot.widen_b = FindCastKernel(b.dtype, DType::kF32, isa::Rounding::kNearestEven);
    dot.widen_acc = FindCastKernel(acc.dtype, DType::kF32, isa::Rounding::kNearestEven);
    dot.narrow_acc = FindCastKernel(DType::kF32, acc.dtype, isa::Rounding::kNearestEven);
  }
  inst.payload = AddPayload(plan, dot);
  inst.fn = RunDot;
  return absl::OkStatus();
}

}  // namespace tilevm::vm
