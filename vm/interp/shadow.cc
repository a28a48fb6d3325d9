// Shadow bits through the ops of checked mode.
//
// "Uninitialised" goes wherever a value goes. "Wrapped" goes where an offset goes: through add, sub, mul, neg, shl, ptr_add, where, min, max and
// casts between integers; other ops (%, &, >>, hashes in general) end it, since there wrapping is usually meant.
#include <limits>

#include "vm/interp/affine.h"
#include "vm/interp/plan.h"

namespace tilevm::vm {
namespace {

using isa::DType;
using isa::Op;

bool CarriesOffset(Op op) {
  switch (op) {
    case Op::kAdd: case Op::kSub: case Op::kMul: case Op::kNeg: case Op::kShl: case Op::kPtrAdd: case Op::kWhere: case Op::kMaximum:
    case Op::kMinimum: case Op::kCast: case Op::kBitcast:
      return true;
    default:
      return false;
  }
}

// Lane i of a signed 32-bit op does not fit.
bool Wraps(Op op, int32_t x, int32_t y) {
  int32_t unused;
  switch (op) {
    case Op::kAdd: return __builtin_add_overflow(x, y, &unused);
    case Op::kSub: return __builtin_sub_overflow(x, y, &unused);
    case Op::kMul: return __builtin_mul_overflow(x, y, &unused);
    case Op::kNeg: return x == std::numeric_limits<int32_t>::min();
    case Op::kShl: {
      if (x == 0) return false;
      if (y < 0 || y >= 32) return true;
      const int64_t wide = static_cast<int64_t>(x) * (int64_t{1} << y);
      return wide != static_cast<int32_t>(wide);
    }
    default: return false;
  }
}

}  // namespace

bool WrapMatters(const Inst& inst) {
  const bool may_wrap = inst.op == Op::kAdd || inst.op == Op::kSub || inst.op == Op::kMul || inst.op == Op::kNeg || inst.op == Op::kShl;
  return may_wrap && inst.in[0].type->dtype == DType::kI32;
}

void ShadowElementwise(Frame& frame, const Inst& inst, int64_t n) {
  Register& out = frame.reg(inst.out[0]);
  const size_t count = inst.in.size();
  const Register* in[3] = {};
  const uint8_t* shadow[3] = {};
  bool any = false;
  for (size_t k = 0; k < count; ++k) {
    in[k] = &frame.reg(inst.in[k]);
    if (in[k]->shadowed) shadow[k] = in[k]->shadow;
    any |= in[k]->shadowed;
  }
  const bool wraps = WrapMatters(inst);
  if (!any && !wraps) {
    out.shadowed = false;
    return;
  }
  const uint8_t kept = CarriesOffset(inst.op) ? kShadowUninit | kShadowWrapped : kShadowUninit;
  const int32_t* x = wraps ? reinterpret_cast<const int32_t*>(in[0]->data) : nullptr;
  const int32_t* y = wraps && count > 1 ? reinterpret_cast<const int32_t*>(in[1]->data) : nullptr;
  bool found = false;
  for (int64_t i = 0; i < n; ++i) {
    uint8_t bits = 0;
    if (inst.op == Op::kWhere) {
      if (shadow[0] != nullptr) bits = shadow[0][i] & kShadowUninit;
      const uint8_t* chosen = in[0]->data[i] != std::byte{0} ? shadow[1] : shadow[2];
      if (chosen != nullptr) bits |= chosen[i];
    } else {
      for (size_t k = 0; k < count; ++k) {
        if (shadow[k] != nullptr) bits |= shadow[k][i] & kept;
      }
    }
    if (wraps && Wraps(inst.op, x[i], y == nullptr ? 0 : y[i])) bits |= kShadowWrapped;
    out.shadow[i] = bits;
    found |= bits != 0;
  }
  out.shadowed = found;
}

void JoinAllShadow(Frame& frame, const Inst& inst) {
  bool uninit = false;
  for (const Operand& operand : inst.in) {
    if (!operand.present()) continue;
    const Register& reg = frame.reg(operand);
    for (int64_t i = 0; reg.shadowed && !uninit && i < operand.type->n; ++i) uninit = (reg.shadow[i] & kShadowUninit) != 0;
  }
  for (const Operand& operand : inst.out) {
    Register& reg = frame.reg(operand);
    reg.shadowed = uninit;
    if (uninit) std::memset(reg.shadow, kShadowUninit, operand.type->n);
  }
}

}  // namespace tilevm::vm
