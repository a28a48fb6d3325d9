// reduce: along one axis, by a named kind or a region.
//
// Named kinds are kernels. Regions are combined in adjacent pairs, all pairs at once: log2(length) runs of the region over whole arrays, and the
// order of operands is kept for functions that do not commute.
#include <algorithm>

#include "vm/interp/axis.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

using isa::DType;

void ReduceShadow(Frame& frame, const Inst& inst, const Axis& axis) {
  bool any = false;
  for (const Operand& operand : inst.in) any |= frame.reg(operand).shadowed;
  for (const Operand& operand : inst.out) {
    Register& out = frame.reg(operand);
    out.shadowed = any;
    if (!any) continue;
    std::memset(out.shadow, 0, operand.type->n);
    for (const Operand& source : inst.in) {
      const Register& in = frame.reg(source);
      if (!in.shadowed) continue;
      for (int64_t o = 0; o < axis.outer; ++o) {
        for (int64_t l = 0; l < axis.length; ++l) {
          for (int64_t i = 0; i < axis.inner; ++i) out.shadow[o * axis.inner + i] |= in.shadow[(o * axis.length + l) * axis.inner + i];
        }
      }
    }
  }
}

void RunReduceKind(Frame& frame, const Inst& inst) {
  const AxisFold& fold = *static_cast<const AxisFold*>(inst.payload);
  Register& in = frame.reg(inst.in[0]);
  EnsureDense(in, *inst.in[0].type);
  if (frame.check != nullptr) [[unlikely]] ReduceShadow(frame, inst, fold.axis);
  Register& out = frame.reg(inst.out[0]);
  fold.reduce(in.data, out.data, fold.axis.outer, fold.axis.length, fold.axis.inner);
  out.form = Form::kDense;
}

// The largest (smallest) value and its index; a NaN loses to every number, then the lowest index wins.
void RunReduceArg(Frame& frame, const Inst& inst) {
  const AxisFold& fold = *static_cast<const AxisFold*>(inst.payload);
  Register& values = frame.reg(inst.in[0]);
  Register& indices = frame.reg(inst.in[1]);
  EnsureDense(values, *inst.in[0].type);
  EnsureDense(indices, *inst.in[1].type);
  if (frame.check != nullptr) [[unlikely]] ReduceShadow(frame, inst, fold.axis);
  Register& out = frame.reg(inst.out[0]);
  Register& out_index = frame.reg(inst.out[1]);
  fold.arg_reduce(values.data, reinterpret_cast<const int32_t*>(indices.data), out.data, reinterpret_cast<int32_t*>(out_index.data),
                  fold.axis.outer, fold.axis.length, fold.axis.inner);
  out.form = out_index.form = Form::kDense;
}

// Copies rows l = first, first + 2, ... of [outer, length, inner] one after the other; returns how many rows per outer index.
int64_t TakeRows(std::byte* dst, const std::byte* src, const Axis& axis, int64_t first, int64_t count, int64_t row_bytes) {
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t l = 0; l < count; ++l) {
      std::memcpy(dst + (o * count + l) * row_bytes, src + (o * axis.length + first + 2 * l) * row_bytes, row_bytes);
    }
  }
  return count;
}

// Runs the region over `lanes` lanes whose operands `fill` has put in place, as many at once as the region takes.
template <typename Fill, typename Drain>
void RunRegion(Frame& frame, const SubProgram& sub, int64_t lanes, const Fill& fill, const Drain& drain) {
  for (int64_t first = 0; first < lanes && frame.stop == Stop::kNone; first += sub.lanes) {
    const int64_t n = std::min(sub.lanes, lanes - first);
    fill(first, n);
    ExecuteSub(frame, sub, n);
    drain(first, n);
  }
}

// Scratch: for each operand its current array, then the two halves a and b.
void RunReduceRegion(Frame& frame, const Inst& inst) {
  const AxisFold& fold = *static_cast<const AxisFold*>(inst.payload);
  const SubProgram& sub = *inst.sub;
  const size_t count = inst.in.size();
  if (frame.check != nullptr) [[unlikely]] ReduceShadow(frame, inst, fold.axis);
  std::vector<std::byte*> current(count), left(count), right(count);
  std::byte* scratch = frame.scratch;
  for (size_t k = 0; k < count; ++k) {
    const TypeInfo& type = *inst.in[k].type;
    Register& in = frame.reg(inst.in[k]);
    EnsureDense(in, type);
    current[k] = scratch;
    left[k] = current[k] + RoundUp64(type.bytes());
    right[k] = left[k] + RoundUp64(type.bytes());
    scratch = right[k] + RoundUp64(type.bytes());
    std::memcpy(current[k], in.data, type.bytes());
  }
  Axis axis = fold.axis;
  while (axis.length > 1) {
    const int64_t pairs = axis.length / 2, odd = axis.length % 2, lanes = axis.outer * pairs * axis.inner;
    for (size_t k = 0; k < count; ++k) {
      const int64_t row = axis.inner * inst.in[k].type->elem_bytes;
      TakeRows(left[k], current[k], axis, 0, pairs, row);
      TakeRows(right[k], current[k], axis, 1, pairs, row);
    }
    RunRegion(
        frame, sub, lanes,
        [&](int64_t first, int64_t n) {
          for (size_t k = 0; k < count; ++k) {
            const int bytes = inst.in[k].type->elem_bytes;
            for (size_t side = 0; side < 2; ++side) {
              Register& arg = frame.reg(sub.args[k + side * count]);
              arg.form = Form::kDense;
              arg.shadowed = false;
              std::memcpy(arg.data, (side == 0 ? left : right)[k] + first * bytes, n * bytes);
            }
          }
        },
        [&](int64_t first, int64_t n) {
          for (size_t k = 0; k < count; ++k) {
            const int bytes = inst.in[k].type->elem_bytes;
            std::memcpy(left[k] + first * bytes, frame.reg(sub.results[k]).data, n * bytes);
          }
        });
    if (frame.stop != Stop::kNone) return;
    // The next array: the pairs, and the row that had no partner.
    for (size_t k = 0; k < count; ++k) {
      const int64_t row = axis.inner * inst.in[k].type->elem_bytes;
      for (int64_t o = 0; o < axis.outer; ++o) {
        if (odd != 0) std::memcpy(right[k] + o * row, current[k] + (o * axis.length + axis.length - 1) * row, row);
      }
      for (int64_t o = 0; o < axis.outer; ++o) {
        std::memcpy(current[k] + o * (pairs + odd) * row, left[k] + o * pairs * row, pairs * row);
        if (odd != 0) std::memcpy(current[k] + (o * (pairs + odd) + pairs) * row, right[k] + o * row, row);
      }
    }
    axis.length = pairs + odd;
  }
  for (size_t k = 0; k < count; ++k) {
    Register& out = frame.reg(inst.out[k]);
    out.form = Form::kDense;
    std::memcpy(out.data, current[k], inst.out[k].type->bytes());
  }
}

}  // namespace

bool FoldOfKind(absl::string_view kind, kernels::FoldKind* fold) {
  using kernels::FoldKind;
  static constexpr struct { absl::string_view kind; FoldKind fold; } kKinds[] = {
      {"add", FoldKind::kAdd}, {"mul", FoldKind::kMul}, {"max", FoldKind::kMax}, {"min", FoldKind::kMin},
      {"and", FoldKind::kAnd}, {"or", FoldKind::kOr},   {"xor", FoldKind::kXor}};
  for (const auto& row : kKinds) {
    if (row.kind != kind) continue;
    *fold = row.fold;
    return true;
  }
  return false;
}

absl::Status BindReduce(const ir::Op& op, Plan& plan, Inst& inst) {
  const TypeInfo& type = *inst.in[0].type;
  AxisFold fold;
  fold.axis = AxisOf(type, op.IntAttr("axis"));
  const absl::string_view kind = op.StringAttr("kind", "custom");
  for (size_t k = 0; k < inst.in.size(); ++k) {
    const TypeInfo& out = *inst.out[k].type;
    if (inst.in[k].type->n != type.n || out.n != fold.axis.outer * fold.axis.inner || out.elem != inst.in[k].type->elem) {
      return ErrorAt(op.loc, absl::StatusCode::kInternal, "reduce: operands or results of different shapes");
    }
  }
  if (inst.sub != nullptr) {
    if (inst.sub->args.size() != 2 * inst.in.size() || inst.sub->results.size() != inst.in.size()) {
      return InvalidAt(op.loc, "reduce: the combine function takes ", 2 * inst.in.size(), " scalars and gives ", inst.in.size());
    }
    int64_t scratch = 0;
    for (const Operand& operand : inst.in) scratch += 3 * RoundUp64(operand.type->bytes());
    NeedScratch(plan, scratch);
    inst.fn = RunReduceRegion;
  } else if (kind == "argmax" || kind == "argmin") {
    if (inst.in.size() != 2) return ErrorAt(op.loc, absl::StatusCode::kInternal, "reduce: ", kind, " wants a value and an index");
    if (inst.in[1].type->dtype != DType::kI32) return ErrorAt(op.loc, absl::StatusCode::kInternal, "reduce: the index of ", kind, " is not i32");
    fold.arg_reduce = kernels::FindArgReduce(kind == "argmax", type.dtype);
    inst.fn = RunReduceArg;
  } else {
    kernels::FoldKind named;
    if (!FoldOfKind(kind, &named) || inst.in.size() != 1) return UnimplementedAt(op.loc, "reduce: kind ", kind);
    if (!kernels::HasFold(named, type.dtype)) return InvalidAt(op.loc, "reduce: ", kind, " of ", isa::ToString(type.elem));
    fold.reduce = kernels::FindReduce(named, type.dtype);
    inst.fn = RunReduceKind;
  }
  inst.payload = AddPayload(plan, fold);
  return absl::OkStatus();
}

}  // namespace tilevm::vm
