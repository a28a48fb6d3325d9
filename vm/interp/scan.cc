// associative_scan: inclusive, along one axis, by a named kind or a region.
//
// Named kinds are kernels. A region works in log2(length) steps: at distance d every row l >= d becomes combine(row l - d, row l), over all rows at once, so
// that a combine function of many ops still runs on whole arrays. A reverse scan is a scan of the flipped axis: "earlier" is then the higher index.
#include <algorithm>

#include "vm/interp/axis.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

void FlipAxis(std::byte* dst, const std::byte* src, const Axis& axis, int64_t bytes) {
  const int64_t row = axis.inner * bytes;
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t l = 0; l < axis.length; ++l) {
      std::memcpy(dst + (o * axis.length + axis.length - 1 - l) * row, src + (o * axis.length + l) * row, row);
    }
  }
}

// Lane l of the result depends on lanes 0..l (l.. when reversed) of every operand.
void ScanShadow(Frame& frame, const Inst& inst, const AxisFold& fold) {
  const Axis& axis = fold.axis;
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
      for (int64_t at = 0; at < operand.type->n; ++at) out.shadow[at] |= in.shadow[at];
    }
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t l = 1; l < axis.length; ++l) {
        const int64_t to = fold.reverse ? axis.length - 1 - l : l, from = fold.reverse ? to + 1 : l - 1;
        for (int64_t i = 0; i < axis.inner; ++i) {
          out.shadow[(o * axis.length + to) * axis.inner + i] |= out.shadow[(o * axis.length + from) * axis.inner + i];
        }
      }
    }
  }
}

void RunScanKind(Frame& frame, const Inst& inst) {
  const AxisFold& fold = *static_cast<const AxisFold*>(inst.payload);
  Register& in = frame.reg(inst.in[0]);
  EnsureDense(in, *inst.in[0].type);
  if (frame.check != nullptr) [[unlikely]] ScanShadow(frame, inst, fold);
  Register& out = frame.reg(inst.out[0]);
  fold.scan(in.data, out.data, fold.axis.outer, fold.axis.length, fold.axis.inner, fold.reverse);
  out.form = Form::kDense;
}

// All outer blocks at once. Lanes are numbered [outer, length - d, inner].
void RunScanRegion(Frame& frame, const Inst& inst) {
  const AxisFold& fold = *static_cast<const AxisFold*>(inst.payload);
  const SubProgram& sub = *inst.sub;
  const Axis& axis = fold.axis;
  const size_t count = inst.in.size();
  if (frame.check != nullptr) [[unlikely]] ScanShadow(frame, inst, fold);
  std::vector<std::byte*> now(count), next(count);
  std::byte* scratch = frame.scratch;
  for (size_t k = 0; k < count; ++k) {
    const TypeInfo& type = *inst.in[k].type;
    Register& in = frame.reg(inst.in[k]);
    EnsureDense(in, type);
    now[k] = scratch;
    next[k] = scratch + RoundUp64(type.bytes());
    scratch = next[k] + RoundUp64(type.bytes());
    if (fold.reverse) {
      FlipAxis(now[k], in.data, axis, type.elem_bytes);
    } else {
      std::memcpy(now[k], in.data, type.bytes());
    }
  }
  for (int64_t d = 1; d < axis.length; d *= 2) {
    const int64_t moved = (axis.length - d) * axis.inner, lanes = axis.outer * moved;
    for (size_t k = 0; k < count; ++k) std::memcpy(next[k], now[k], inst.in[k].type->bytes());
    // Lanes [first, first + n) of one outer block lie one after the other in memory; a run of lanes is cut at the blocks.
    const auto for_pieces = [&](int64_t first, int64_t n, const auto& piece) {
      for (int64_t done = 0; done < n;) {
        const int64_t block = (first + done) / moved, within = (first + done) % moved, size = std::min(n - done, moved - within);
        piece(done, block * axis.length * axis.inner + within, size);
        done += size;
      }
    };
    for (int64_t first = 0; first < lanes; first += sub.lanes) {
      const int64_t n = std::min(sub.lanes, lanes - first);
      for (size_t k = 0; k < count; ++k) {
        const int bytes = inst.in[k].type->elem_bytes;
        for (int side = 0; side < 2; ++side) {
          Register& arg = frame.reg(sub.args[k + side * count]);
          arg.form = Form::kDense;
          arg.shadowed = false;
          for_pieces(first, n, [&](int64_t at, int64_t from, int64_t size) {
            std::memcpy(arg.data + at * bytes, now[k] + (from + (side == 0 ? 0 : d * axis.inner)) * bytes, size * bytes);
          });
        }
      }
      ExecuteSub(frame, sub, n);
      if (frame.stop != Stop::kNone) return;
      for (size_t k = 0; k < count; ++k) {
        const int bytes = inst.in[k].type->elem_bytes;
        const std::byte* result = frame.reg(sub.results[k]).data;
        for_pieces(first, n, [&](int64_t at, int64_t to, int64_t size) {
          std::memcpy(next[k] + (to + d * axis.inner) * bytes, result + at * bytes, size * bytes);
        });
      }
    }
    std::swap(now, next);
  }
  for (size_t k = 0; k < count; ++k) {
    const TypeInfo& type = *inst.out[k].type;
    Register& out = frame.reg(inst.out[k]);
    out.form = Form::kDense;
    if (fold.reverse) {
      FlipAxis(out.data, now[k], axis, type.elem_bytes);
    } else {
      std::memcpy(out.data, now[k], type.bytes());
    }
  }
}

}  // namespace

absl::Status BindScan(const ir::Op& op, Plan& plan, Inst& inst) {
  const TypeInfo& type = *inst.in[0].type;
  AxisFold fold;
  fold.axis = AxisOf(type, op.IntAttr("axis"));
  fold.reverse = op.BoolAttr("reverse");
  for (size_t k = 0; k < inst.in.size(); ++k) {
    const TypeInfo& out = *inst.out[k].type;
    if (inst.in[k].type->n != type.n || out.n != type.n || out.elem != inst.in[k].type->elem) {
      return ErrorAt(op.loc, absl::StatusCode::kInternal, "associative_scan: operands or results of different shapes");
    }
  }
  if (inst.sub != nullptr) {
    if (inst.sub->args.size() != 2 * inst.in.size() || inst.sub->results.size() != inst.in.size()) {
      return InvalidAt(op.loc, "associative_scan: the combine function takes ", 2 * inst.in.size(), " scalars and gives ", inst.in.size());
    }
    int64_t scratch = 0;
    for (const Operand& operand : inst.in) scratch += 2 * RoundUp64(operand.type->bytes());
    NeedScratch(plan, scratch);
    inst.fn = RunScanRegion;
  } else {
    const absl::string_view kind = op.StringAttr("kind");
    kernels::FoldKind named;
    if (!FoldOfKind(kind, &named) || inst.in.size() != 1) return UnimplementedAt(op.loc, "associative_scan: kind ", kind);
    if (!kernels::HasFold(named, type.dtype)) return InvalidAt(op.loc, "associative_scan: ", kind, " of ", isa::ToString(type.elem));
    fold.scan = kernels::FindScan(named, type.dtype);
    inst.fn = RunScanKind;
  }
  inst.payload = AddPayload(plan, fold);
  return absl::OkStatus();
}

}  // namespace tilevm::vm
