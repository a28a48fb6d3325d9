// sort, topk, gather, histogram.
//
// sort and topk use one total order: -0 before +0, NaN after everything in either direction (and last in topk).
#include <algorithm>
#include <numeric>

#include "vm/interp/compile.h"
#include "vm/interp/keys.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

using isa::Op;

struct Keyed {
  uint64_t key;
  uint64_t bits;
  bool nan;
};

// imm[0]: descending; imm[1]: how many of each row are kept.
void RunSort(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.in[0].type;
  Register& in = frame.reg(inst.in[0]);
  EnsureDense(in, type);
  if (frame.check != nullptr) [[unlikely]] JoinAllShadow(frame, inst);
  Register& out = frame.reg(inst.out[0]);
  const int64_t row = type.shape[type.rank - 1], kept = inst.imm[1];
  const bool descending = inst.imm[0] != 0, is_float = isa::IsFloat(type.dtype);
  std::vector<Keyed> keyed(row);
  for (int64_t r = 0; r < type.n / row; ++r) {
    for (int64_t i = 0; i < row; ++i) {
      const uint64_t bits = ReadBits(in.data, type.elem_bytes, r * row + i);
      const uint64_t key = OrderKey(type.dtype, bits, false);
      keyed[i] = {descending ? ~key : key, bits, is_float && isa::ScalarIsNan(type.dtype, isa::Scalar{bits})};
    }
    std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.nan != b.nan ? b.nan : a.key < b.key; });
    for (int64_t i = 0; i < kept; ++i) WriteBits(out.data, type.elem_bytes, r * kept + i, keyed[i].bits);
  }
  out.form = Form::kDense;
}

// out[o, l, i] = src[o, index[o, l, i], i] around the axis imm[0].
void RunGather(Frame& frame, const Inst& inst) {
  const TypeInfo& src_type = *inst.in[0].type;
  const TypeInfo& index_type = *inst.in[1].type;
  const TypeInfo& type = *inst.out[0].type;
  const int64_t axis = inst.imm[0];
  Register& src = frame.reg(inst.in[0]);
  Register& index = frame.reg(inst.in[1]);
  EnsureDense(src, src_type);
  EnsureDense(index, index_type);
  Register& out = frame.reg(inst.out[0]);
  out.shadowed = src.shadowed || index.shadowed;
  const int64_t extent = src_type.shape[axis], inner = type.stride[axis], length = type.shape[axis];
  for (int64_t at = 0; at < type.n; ++at) {
    const int64_t i = at % inner, o = at / (inner * length);
    const int64_t l = isa::ScalarToInt(index_type.dtype, isa::Scalar{ReadBits(index.data, index_type.elem_bytes, at)});
    const bool inside = l >= 0 && l < extent;
    if (!inside && frame.check != nullptr) CheckGather(frame, inst, at, l, extent);
    const int64_t from = (o * extent + l) * inner + i;
    WriteBits(out.data, type.elem_bytes, at, inside ? ReadBits(src.data, type.elem_bytes, from) : 0);
    if (out.shadowed) out.shadow[at] = (index.shadowed ? index.shadow[at] : 0) | (inside && src.shadowed ? src.shadow[from] : 0);
  }
  out.form = Form::kDense;
}

void RunHistogram(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.in[0].type;
  const TypeInfo& out_type = *inst.out[0].type;
  Register& in = frame.reg(inst.in[0]);
  EnsureDense(in, type);
  const std::byte* mask = nullptr;
  if (inst.in.size() > 1 && inst.in[1].present()) {
    Register& reg = frame.reg(inst.in[1]);
    EnsureDense(reg, *inst.in[1].type);
    mask = reg.data;
  }
  if (frame.check != nullptr) [[unlikely]] JoinAllShadow(frame, inst);
  Register& out = frame.reg(inst.out[0]);
  std::memset(out.data, 0, out_type.bytes());
  for (int64_t i = 0; i < type.n; ++i) {
    if (mask != nullptr && mask[i] == std::byte{0}) continue;
    const int64_t bin = isa::ScalarToInt(type.dtype, isa::Scalar{ReadBits(in.data, type.elem_bytes, i)});
    if (bin < 0 || bin >= out_type.n) continue;
    WriteBits(out.data, out_type.elem_bytes, bin, ReadBits(out.data, out_type.elem_bytes, bin) + 1);
  }
  out.form = Form::kDense;
}

bool SameExceptAxis(const TypeInfo& a, const TypeInfo& b, int64_t axis) {
  if (a.rank != b.rank) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (d != axis && a.shape[d] != b.shape[d]) return false;
  }
  return true;
}

}  // namespace

absl::Status BindOrder(const ir::Op& op, Plan& plan, Inst& inst) {
  (void)plan;
  const TypeInfo& in = *inst.in[0].type;
  const TypeInfo& out = *inst.out[0].type;
  switch (op.op) {
    case Op::kSort: case Op::kTopK: {
      const int64_t dim = op.IntAttr("dim", -1) < 0 ? op.IntAttr("dim", -1) + in.rank : op.IntAttr("dim", -1);
      if (in.rank == 0 || dim != in.rank - 1) return UnimplementedAt(op.loc, isa::Mnemonic(op.op), ": only along the last axis");
      const bool top = op.op == Op::kTopK;
      if (out.dtype != in.dtype) return ErrorAt(op.loc, absl::StatusCode::kInternal, isa::Mnemonic(op.op), ": the element type changes");
      inst.imm[0] = top || op.BoolAttr("descending") ? 1 : 0;
      inst.imm[1] = top ? out.shape[out.rank - 1] : in.shape[in.rank - 1];
      if (out.n / inst.imm[1] != in.n / in.shape[in.rank - 1]) return ErrorAt(op.loc, absl::StatusCode::kInternal, "topk: other dimensions change");
      if (inst.imm[1] > in.shape[in.rank - 1]) return InvalidAt(op.loc, "topk: k is larger than the axis");
      inst.fn = RunSort;
      return absl::OkStatus();
    }
    case Op::kGather: {
      const int64_t axis = op.IntAttr("axis") < 0 ? op.IntAttr("axis") + in.rank : op.IntAttr("axis");
      if (axis < 0 || axis >= in.rank || !SameExceptAxis(in, out, axis) || out.n != inst.in[1].type->n) {
        return InvalidAt(op.loc, "gather: source and index differ in another dimension than axis ", axis);
      }
      inst.imm[0] = axis;
      inst.fn = RunGather;
      return absl::OkStatus();
    }
    default:
      inst.fn = RunHistogram;
      return absl::OkStatus();
  }
}

}  // namespace tilevm::vm
