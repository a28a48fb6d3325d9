// dot: acc + a @ b, batched over leading dimensions.
//
// The product of one matrix is vm/kernels/dot.h; this file walks the batch, and gives the accumulator its register.
#include <algorithm>

#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"
#include "vm/kernels/dot.h"

namespace tilevm::vm {
namespace {

using isa::DType;

struct DotPlan {
  int64_t batch, m, n, k;
  kernels::DotArgs args;  // data pointers are set for each product
};

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
  kernels::DotArgs args = dot.args;
  for (int64_t batch = 0; batch < dot.batch; ++batch) {
    args.a.data = frame.reg(inst.in[0]).data + batch * a_bytes;
    args.b.data = frame.reg(inst.in[1]).data + batch * b_bytes;
    args.c = out.data + batch * acc_bytes;
    kernels::Dot(args);
  }
  out.form = Form::kDense;
}

absl::StatusOr<kernels::DotPrecision> PrecisionOf(const ir::Op& op) {
  using kernels::DotPrecision;
  static constexpr struct { absl::string_view name; DotPrecision precision; } kModes[] = {
      {"tf32", DotPrecision::kTf32},     {"ieee", DotPrecision::kIeee},     {"tf32x3", DotPrecision::kTf32x3},
      {"bf16x3", DotPrecision::kBf16x3}, {"bf16x6", DotPrecision::kBf16x6}, {"", DotPrecision::kTf32}};
  const absl::string_view wanted = op.StringAttr("input_precision", "tf32");
  for (const auto& mode : kModes) {
    if (mode.name == wanted) return mode.precision;
  }
  return InvalidAt(op.loc, "dot: input_precision \"", wanted, "\"");
}

}  // namespace

absl::Status BindDot(const ir::Op& op, Plan& plan, Inst& inst) {
  if (inst.in.size() != 3) return ErrorAt(op.loc, absl::StatusCode::kInternal, "dot: the typed form has a, b and acc");
  const TypeInfo& a = *inst.in[0].type;
  const TypeInfo& b = *inst.in[1].type;
  const TypeInfo& acc = *inst.in[2].type;
  if (!kernels::HasDot(a.dtype, b.dtype, acc.dtype)) {
    return UnimplementedAt(op.loc, "dot: ", isa::Name(a.dtype), " by ", isa::Name(b.dtype), " into ", isa::Name(acc.dtype));
  }
  DotPlan dot;
  dot.m = a.shape[a.rank - 2];
  dot.k = a.shape[a.rank - 1];
  dot.n = b.shape[b.rank - 1];
  dot.batch = dot.m * dot.n == 0 ? 0 : acc.n / (dot.m * dot.n);
  dot.args.a_type = a.dtype;
  dot.args.b_type = b.dtype;
  dot.args.acc_type = acc.dtype;
  dot.args.a.row_stride = dot.k;
  dot.args.b.row_stride = dot.args.c_row_stride = dot.n;
  dot.args.m = dot.m;
  dot.args.n = dot.n;
  dot.args.k = dot.k;
  if (a.dtype == DType::kF32 && b.dtype == DType::kF32) {
    TILEVM_ASSIGN_OR_RETURN(dot.args.precision, PrecisionOf(op));
  }
  inst.payload = AddPayload(plan, dot);
  inst.fn = RunDot;
  return absl::OkStatus();
}

}  // namespace tilevm::vm
