// Constants and shape ops: const, splat, broadcast, arange, reshape, expand_dims, permute, join, split, cat, flip, and convert_layout, which
// here is the identity: a tile of this engine has one layout.
//
// Lazy operands give lazy results wherever the new shape allows it; dense ones are copied by strides.
#include <algorithm>
#include <numeric>

#include "vm/interp/affine.h"
#include "vm/interp/compile.h"

namespace tilevm::vm {
namespace {

using isa::Op;

// dst dimension -> src dimension for TryRemap, and the strides of a copy for dense operands.
struct View {
  int from[isa::kMaxRank];
  int64_t stride[isa::kMaxRank] = {};
  bool lazy = true;      // `from` is meaningful
  bool same_order = false;  // row-major order does not change: a plain copy
};

void CopyElements(Frame& frame, const Inst& inst, const View& view) {
  const TypeInfo& to = *inst.out[0].type;
  Register& in = frame.reg(inst.in[0]);
  EnsureDense(in, *inst.in[0].type);
  Register& out = frame.reg(inst.out[0]);
  const auto copy = [&](void* dst, const void* src, int bytes) {
    if (view.same_order) {
      std::memcpy(dst, src, to.n * bytes);
    } else {
      StridedCopy(dst, src, bytes, to.rank, to.shape, view.stride);
    }
  };
  copy(out.data, in.data, to.elem_bytes);
  if (in.shadowed) copy(out.shadow, in.shadow, 1);
  out.shadowed = in.shadowed;
  out.form = Form::kDense;
}

void RunView(Frame& frame, const Inst& inst) {
  const View& view = *static_cast<const View*>(inst.payload);
  if (view.lazy && !frame.reg(inst.in[0]).shadowed && TryRemap(frame, inst, view.from)) return;
  CopyElements(frame, inst, view);
}

void RunConst(Frame& frame, const Inst& inst) {
  Register& out = frame.reg(inst.out[0]);
  const TypeInfo& type = *inst.out[0].type;
  const uint64_t bits = static_cast<uint64_t>(inst.imm[0]);
  if (!inst.lanes) {
    SetSplat(out, type, bits);
    return;
  }
  out.form = Form::kDense;
  out.shadowed = false;
  FillElements(out.data, bits, type.elem_bytes, frame.lanes);
}

void RunSplat(Frame& frame, const Inst& inst) {
  const Register& in = frame.reg(inst.in[0]);
  Register& out = frame.reg(inst.out[0]);
  const TypeInfo& type = *inst.out[0].type;
  const uint64_t bits = ReadBits(in.data, type.elem_bytes, 0);
  const bool shadowed = in.shadowed;
  const uint8_t shadow = shadowed ? in.shadow[0] : 0;
  SetSplat(out, type, bits);
  if (shadowed) {
    EnsureDense(out, type);
    out.shadowed = true;
    std::memset(out.shadow, shadow, type.n);
  }
}

void RunArange(Frame& frame, const Inst& inst) {
  Register& out = frame.reg(inst.out[0]);
  out.form = Form::kAffine;
  out.shadowed = false;
  out.base = inst.imm[0];
  std::fill_n(out.coef, isa::kMaxRank, 0);
  out.coef[0] = inst.out[0].type->n == 1 ? 0 : 1;
}

// Copies blocks of `inner` elements: joins operands at an axis, or splits one.
void CopyBlocks(std::byte* dst, int64_t dst_step, const std::byte* src, int64_t src_step, int64_t bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(dst + i * dst_step, src + i * src_step, bytes);
}

// join: both operands interleaved one by one; cat: blocks of x and y in turn. imm[0] is the block's element count.
void RunConcat(Frame& frame, const Inst& inst) {
  const TypeInfo& from = *inst.in[0].type;
  Register& out = frame.reg(inst.out[0]);
  const int64_t block = inst.imm[0];
  const int64_t count = from.n / block;
  bool shadowed = false;
  for (int side = 0; side < 2; ++side) {
    Register& in = frame.reg(inst.in[side]);
    EnsureDense(in, from);
    const int64_t bytes = block * from.elem_bytes;
    CopyBlocks(out.data + side * bytes, 2 * bytes, in.data, bytes, bytes, count);
    shadowed |= in.shadowed;
  }
  if (shadowed) {
    for (int side = 0; side < 2; ++side) {
      Register& in = frame.reg(inst.in[side]);
      if (!in.shadowed) std::memset(in.shadow, 0, from.n);
      CopyBlocks(reinterpret_cast<std::byte*>(out.shadow) + side * block, 2 * block, reinterpret_cast<std::byte*>(in.shadow), block, block, count);
    }
  }
  out.shadowed = shadowed;
  out.form = Form::kDense;
}

void RunSplit(Frame& frame, const Inst& inst) {
  Register& in = frame.reg(inst.in[0]);
  EnsureDense(in, *inst.in[0].type);
  for (int side = 0; side < 2; ++side) {
    const TypeInfo& to = *inst.out[side].type;
    Register& out = frame.reg(inst.out[side]);
    CopyBlocks(out.data, to.elem_bytes, in.data + side * to.elem_bytes, 2 * to.elem_bytes, to.elem_bytes, to.n);
    if (in.shadowed) {
      for (int64_t i = 0; i < to.n; ++i) out.shadow[i] = in.shadow[2 * i + side];
    }
    out.shadowed = in.shadowed;
    out.form = Form::kDense;
  }
}

void RunFlip(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.out[0].type;
  Register& in = frame.reg(inst.in[0]);
  EnsureDense(in, type);
  Register& out = frame.reg(inst.out[0]);
  const int64_t extent = type.shape[inst.imm[0]], inner = type.stride[inst.imm[0]];
  const auto flip = [&](std::byte* dst, const std::byte* src, int64_t bytes) {
    for (int64_t outer = 0; outer < type.n / (extent * inner); ++outer) {
      for (int64_t i = 0; i < extent; ++i) {
        std::memcpy(dst + (outer * extent + extent - 1 - i) * inner * bytes, src + (outer * extent + i) * inner * bytes, inner * bytes);
      }
    }
  };
  flip(out.data, in.data, type.elem_bytes);
  if (in.shadowed) flip(reinterpret_cast<std::byte*>(out.shadow), reinterpret_cast<const std::byte*>(in.shadow), 1);
  out.shadowed = in.shadowed;
  out.form = Form::kDense;
}

// Dimensions other than extents of 1 keep their order: each is matched with the next one of equal extent.
bool MatchUnitDims(const TypeInfo& from, const TypeInfo& to, int* map) {
  int next = 0;
  for (int d = 0; d < to.rank; ++d) {
    map[d] = -1;
    if (to.shape[d] == 1) continue;
    while (next < from.rank && from.shape[next] == 1) ++next;
    if (next == from.rank || from.shape[next] != to.shape[d]) return false;
    map[d] = next++;
  }
  return true;
}

absl::StatusOr<uint64_t> ConstBits(const ir::Op& op, isa::DType dtype) {
  const ir::Attr* value = op.FindAttr("value");
  if (const int64_t* i = std::get_if<int64_t>(value)) return isa::ScalarFromInt(dtype, *i).bits;
  if (const double* d = std::get_if<double>(value)) return isa::ScalarFromDouble(dtype, *d).bits;
  if (const bool* b = std::get_if<bool>(value)) return isa::ScalarFromInt(dtype, *b ? 1 : 0).bits;
  return ErrorAt(op.loc, absl::StatusCode::kInternal, "const: the value is not a number");
}

}  // namespace

void StridedCopy(void* out, const void* in, int elem_bytes, int rank, const int64_t* shape, const int64_t* in_stride) {
  if (rank == 0) {
    std::memcpy(out, in, elem_bytes);
    return;
  }
  std::byte* dst = static_cast<std::byte*>(out);
  const std::byte* src = static_cast<const std::byte*>(in);
  const int inner = rank - 1;
  const int64_t row = shape[inner], step = in_stride[inner];
  int64_t index[isa::kMaxRank] = {};
  int64_t offset = 0;
  const auto strided = [&](auto tag) {
    using T = decltype(tag);
    T* to = reinterpret_cast<T*>(dst);
    const T* from = reinterpret_cast<const T*>(src) + offset;
    for (int64_t i = 0; i < row; ++i) to[i] = from[i * step];
  };
  while (true) {
    if (step == 1) {
      std::memcpy(dst, src + offset * elem_bytes, row * elem_bytes);
    } else if (step == 0) {
      FillElements(dst, ReadBits(src, elem_bytes, offset), elem_bytes, row);
    } else if (elem_bytes == 1) {
      strided(uint8_t{});
    } else if (elem_bytes == 2) {
      strided(uint16_t{});
    } else if (elem_bytes == 4) {
      strided(uint32_t{});
    } else {
      strided(uint64_t{});
    }
    dst += row * elem_bytes;
    int d = inner - 1;
    for (; d >= 0; --d) {
      offset += in_stride[d];
      if (++index[d] < shape[d]) break;
      offset -= in_stride[d] * shape[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

absl::Status BindShape(const ir::Op& op, Plan& plan, Inst& inst) {
  const TypeInfo& out = *inst.out[0].type;
  View view;
  std::fill_n(view.from, isa::kMaxRank, -1);
  switch (op.op) {
    case Op::kConst: {
      TILEVM_ASSIGN_OR_RETURN(const uint64_t bits, ConstBits(op, out.dtype));
      inst.imm[0] = static_cast<int64_t>(bits);
      inst.fn = RunConst;
      return absl::OkStatus();
    }
    case Op::kSplat:
      inst.fn = RunSplat;
      return absl::OkStatus();
    case Op::kArange:
      inst.imm[0] = op.IntAttr("start");
      inst.fn = RunArange;
      return absl::OkStatus();
    case Op::kSplit:
      if (inst.out.size() != 2 || inst.out[0].type->bytes() * 2 != inst.in[0].type->bytes() || inst.out[1].type->bytes() != inst.out[0].type->bytes())
        return ErrorAt(op.loc, absl::StatusCode::kInternal, "split: two results expected");
      inst.fn = RunSplit;
      return absl::OkStatus();
    case Op::kJoin:
      inst.imm[0] = 1;
      inst.fn = RunConcat;
      return absl::OkStatus();
    case Op::kCat: {
      const int64_t dim = op.IntAttr("dim", 0) < 0 ? op.IntAttr("dim", 0) + out.rank : op.IntAttr("dim", 0);
      if (dim < 0 || dim >= out.rank) return InvalidAt(op.loc, "cat: dim ", dim, " of a tile of rank ", out.rank);
      if (inst.in[1].type->n != inst.in[0].type->n) return InvalidAt(op.loc, "cat: operands of different shapes");
      inst.imm[0] = inst.in[0].type->shape[dim] * out.stride[dim];
      inst.fn = RunConcat;
      return absl::OkStatus();
    }
    case Op::kFlip: {
      const int64_t dim = op.IntAttr("dim", -1) < 0 ? op.IntAttr("dim", -1) + out.rank : op.IntAttr("dim", -1);
      if (dim < 0 || dim >= out.rank) return InvalidAt(op.loc, "flip: dim ", dim, " of a tile of rank ", out.rank);
      inst.imm[0] = dim;
      inst.fn = RunFlip;
      return absl::OkStatus();
    }
    default: break;
  }
  const TypeInfo& in = *inst.in[0].type;
  if (op.op == Op::kBroadcast) {
    for (int d = 0; d < out.rank; ++d) {
      view.from[d] = d;
      view.stride[d] = in.shape[d] == 1 ? 0 : in.stride[d];
    }
  } else if (op.op == Op::kPermute) {
    const ir::Attr* attr = op.FindAttr("dims");
    const std::vector<int64_t>* dims = attr == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(attr);
    if (dims == nullptr || static_cast<int>(dims->size()) != out.rank) return ErrorAt(op.loc, absl::StatusCode::kInternal, "permute: no dims");
    for (int d = 0; d < out.rank; ++d) {
      const int64_t source = (*dims)[d];
      if (source < 0 || source >= in.rank || in.shape[source] != out.shape[d]) return ErrorAt(op.loc, absl::StatusCode::kInternal, "permute: bad dims");
      view.from[d] = static_cast<int>(source);
      view.stride[d] = in.stride[source];
    }
  } else {  // reshape, expand_dims, convert_layout: row-major order stays
    view.same_order = true;
    view.lazy = in.rank > 0 && out.rank > 0 && MatchUnitDims(in, out, view.from);
  }
  inst.payload = AddPayload(plan, view);
  inst.fn = RunView;
  return absl::OkStatus();
}

}  // namespace tilevm::vm
