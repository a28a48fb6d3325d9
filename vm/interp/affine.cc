#include "vm/interp/affine.h"

#include <algorithm>
#include <limits>

namespace tilevm::vm {
namespace {

using isa::DType;
using isa::Op;

// x as an affine register; a scalar-like dense register of one element counts too.
bool AsAffine(const Register& reg, const TypeInfo& type, Register* view) {
  if (reg.shadowed) return false;
  if (reg.form == Form::kAffine) {
    *view = reg;
    return true;
  }
  if (reg.form != Form::kDense || type.n != 1) return false;
  view->form = Form::kAffine;
  view->base = ReadInt(reg, type);
  std::fill_n(view->coef, isa::kMaxRank, 0);
  return type.dtype != DType::kU64 || view->base >= 0 || type.elem.pointer;
}

void WriteAffine(Register& out, const Register& value) {
  out.form = Form::kAffine;
  out.shadowed = false;
  out.base = value.base;
  std::memcpy(out.coef, value.coef, sizeof(out.coef));
}

bool AllCoefsZero(const Register& reg, const TypeInfo& type) {
  for (int d = 0; d < type.rank; ++d) {
    if (reg.coef[d] != 0) return false;
  }
  return true;
}

bool AddAffine(const Register& x, const Register& y, int rank, bool subtract, Register* out) {
  bool overflow = subtract ? __builtin_sub_overflow(x.base, y.base, &out->base) : __builtin_add_overflow(x.base, y.base, &out->base);
  for (int d = 0; d < rank; ++d) {
    overflow |= subtract ? __builtin_sub_overflow(x.coef[d], y.coef[d], &out->coef[d])
                         : __builtin_add_overflow(x.coef[d], y.coef[d], &out->coef[d]);
  }
  return !overflow;
}

bool MulAffine(const Register& x, const Register& y, const TypeInfo& type, Register* out) {
  const bool x_uniform = AllCoefsZero(x, type);
  if (!x_uniform && !AllCoefsZero(y, type)) return false;
  const Register& tile = x_uniform ? y : x;
  const int64_t factor = x_uniform ? x.base : y.base;
  bool overflow = __builtin_mul_overflow(tile.base, factor, &out->base);
  for (int d = 0; d < type.rank; ++d) overflow |= __builtin_mul_overflow(tile.coef[d], factor, &out->coef[d]);
  return !overflow;
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

void SetBox(Register& out, const TypeInfo& type, int dim, int64_t lo, int64_t hi) {
  out.form = Form::kBox;
  out.shadowed = false;
  for (int d = 0; d < type.rank; ++d) {
    out.box.lo[d] = 0;
    out.box.hi[d] = static_cast<int32_t>(type.shape[d]);
  }
  if (dim < 0) return;
  out.box.lo[dim] = static_cast<int32_t>(std::clamp<int64_t>(lo, 0, type.shape[dim]));
  out.box.hi[dim] = static_cast<int32_t>(std::clamp<int64_t>(hi, 0, type.shape[dim]));
}

// {i : b + c * i < 0} as [lo, hi), c != 0.
void NegativeRange(int64_t b, int64_t c, int64_t* lo, int64_t* hi) {
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;
  *lo = -kFar;
  *hi = kFar;
  // c > 0: i < -b/c, so i <= floor((-b - 1) / c).  c < 0: i > b/-c, so i >= floor(b / -c) + 1.
  if (c > 0) {
    *hi = FloorDiv(-b - 1, c) + 1;
  } else {
    *lo = FloorDiv(b, -c) + 1;
  }
}

}  // namespace

bool TryAffineArith(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.out[0].type;
  Register x, y, out;
  if (!AsAffine(frame.reg(inst.in[0]), *inst.in[0].type, &x) || !AsAffine(frame.reg(inst.in[1]), *inst.in[1].type, &y)) return false;
  int64_t lo, hi;
  if (inst.op == Op::kMod) {  // x % m is x while 0 <= x < m
    if (!AllCoefsZero(y, type) || !AffineRange(x, type, &lo, &hi) || lo < 0 || hi >= y.base) return false;
    WriteAffine(frame.reg(inst.out[0]), x);
    return true;
  }
  const bool exact = inst.op == Op::kMul ? MulAffine(x, y, type, &out) : AddAffine(x, y, type.rank, inst.op == Op::kSub, &out);
  if (!exact || !AffineRange(out, type, &lo, &hi) || !FitsDType(type.dtype, lo, hi)) return false;
  WriteAffine(frame.reg(inst.out[0]), out);
  return true;
}

bool TryCompare(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.in[0].type;
  Register x, y, difference;
  if (!AsAffine(frame.reg(inst.in[0]), type, &x) || !AsAffine(frame.reg(inst.in[1]), type, &y)) return false;
  // x > y is y < x; x <= y is not (y < x), with integers x - y - 1 < 0.
  const bool swap = inst.op == Op::kGt || inst.op == Op::kGe;
  const Register& left = swap ? y : x;
  const Register& right = swap ? x : y;
  if (!AddAffine(left, right, type.rank, true, &difference)) return false;
  int dim = -1;
  for (int d = 0; d < type.rank; ++d) {
    if (difference.coef[d] == 0 || type.shape[d] == 1) continue;
    if (dim >= 0) return false;
    dim = d;
  }
  int64_t unused_lo, unused_hi;
  if (!AffineRange(difference, type, &unused_lo, &unused_hi)) return false;
  const int64_t b = difference.base, c = dim < 0 ? 0 : difference.coef[dim];
  constexpr int64_t kNear = int64_t{1} << 62;
  if (b <= -kNear || b >= kNear || c <= -kNear || c >= kNear) return false;
  const bool strict = inst.op == Op::kLt || inst.op == Op::kGt;
  const bool equality = inst.op == Op::kEq || inst.op == Op::kNe;
  if (dim < 0) {
    const bool truth = inst.op == Op::kEq ? b == 0 : inst.op == Op::kNe ? b != 0 : strict ? b < 0 : b <= 0;
    SetSplat(frame.reg(inst.out[0]), *inst.out[0].type, truth ? 1 : 0);
    return true;
  }
  if (equality) {
    if (inst.op == Op::kNe) return false;
    const int64_t i = b % c == 0 ? -(b / c) : -1;
    SetBox(frame.reg(inst.out[0]), *inst.out[0].type, dim, i, i >= 0 ? i + 1 : 0);
    return true;
  }
  int64_t lo, hi;
  NegativeRange(strict ? b : b - 1, c, &lo, &hi);
  SetBox(frame.reg(inst.out[0]), *inst.out[0].type, dim, lo, hi);
  return true;
}

bool TryBoxAnd(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.out[0].type;
  const Register& x = frame.reg(inst.in[0]);
  const Register& y = frame.reg(inst.in[1]);
  if (x.form != Form::kBox || y.form != Form::kBox) return false;
  int32_t lo[isa::kMaxRank], hi[isa::kMaxRank];
  for (int d = 0; d < type.rank; ++d) {
    lo[d] = std::max(x.box.lo[d], y.box.lo[d]);
    hi[d] = std::min(x.box.hi[d], y.box.hi[d]);
  }
  Register& out = frame.reg(inst.out[0]);
  out.form = Form::kBox;
  out.shadowed = false;
  std::copy_n(lo, type.rank, out.box.lo);
  std::copy_n(hi, type.rank, out.box.hi);
  return true;
}

bool TryAffineCast(Frame& frame, const Inst& inst) {
  const TypeInfo& to = *inst.out[0].type;
  const TypeInfo& from = *inst.in[0].type;
  if (isa::IsFloat(to.dtype) || to.dtype == DType::kI1 || isa::IsFloat(from.dtype) || from.dtype == DType::kI1) return false;
  const Register& in = frame.reg(inst.in[0]);
  int64_t lo, hi;
  if (in.form != Form::kAffine || !AffineRange(in, from, &lo, &hi) || !FitsDType(to.dtype, lo, hi)) return false;
  const Register value = in;
  WriteAffine(frame.reg(inst.out[0]), value);
  return true;
}

bool TryAffinePtrAdd(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.out[0].type;
  if (type.rank == 0 || inst.lanes) return false;
  Register pointer, offset, out;
  if (!AsAffine(frame.reg(inst.in[0]), type, &pointer) || !AsAffine(frame.reg(inst.in[1]), *inst.in[1].type, &offset)) return false;
  // Addresses are modulo 2**64, so nothing can overflow.
  const uint64_t scale = static_cast<uint64_t>(type.pointee_bytes);
  out.base = static_cast<int64_t>(static_cast<uint64_t>(pointer.base) + static_cast<uint64_t>(offset.base) * scale);
  for (int d = 0; d < type.rank; ++d) {
    out.coef[d] = static_cast<int64_t>(static_cast<uint64_t>(pointer.coef[d]) + static_cast<uint64_t>(offset.coef[d]) * scale);
  }
  WriteAffine(frame.reg(inst.out[0]), out);
  return true;
}

bool TryPointerBitcast(Frame& frame, const Inst& inst) {
  const TypeInfo& to = *inst.out[0].type;
  const Register& in = frame.reg(inst.in[0]);
  const bool integers = !isa::IsFloat(to.dtype) && !isa::IsFloat(inst.in[0].type->dtype);
  if (in.form != Form::kAffine || !integers || to.dtype == DType::kI1) return false;
  int64_t lo, hi;
  if (!AffineRange(in, to, &lo, &hi) || (!to.elem.pointer && !FitsDType(to.dtype, lo, hi))) return false;
  const Register value = in;
  WriteAffine(frame.reg(inst.out[0]), value);
  return true;
}

bool TryRemap(Frame& frame, const Inst& inst, const int* from) {
  const Register in = frame.reg(inst.in[0]);
  const TypeInfo& to = *inst.out[0].type;
  const TypeInfo& old = *inst.in[0].type;
  if (in.form == Form::kDense) return false;
  Register& out = frame.reg(inst.out[0]);
  if (in.form == Form::kSplat) {
    SetSplat(out, to, static_cast<uint64_t>(in.base));
    return true;
  }
  if (in.form == Form::kAffine) {
    Register value = in;
    for (int d = 0; d < to.rank; ++d) {
      const bool stretched = from[d] >= 0 && old.shape[from[d]] == 1;
      value.coef[d] = from[d] < 0 || stretched ? 0 : in.coef[from[d]];
    }
    WriteAffine(out, value);
    return true;
  }
  if (BoxIsEmpty(in, old)) {  // a dropped dimension of extent 1 may be the empty one
    SetSplat(out, to, 0);
    return true;
  }
  out.form = Form::kBox;
  out.shadowed = false;
  for (int d = 0; d < to.rank; ++d) {
    const bool whole = from[d] < 0 || old.shape[from[d]] == 1;
    out.box.lo[d] = whole ? 0 : in.box.lo[from[d]];
    out.box.hi[d] = whole ? static_cast<int32_t>(to.shape[d]) : in.box.hi[from[d]];
  }
  return true;
}

}  // namespace tilevm::vm
