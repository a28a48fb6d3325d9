// Conversions between element types, one line of PTX each where the hardware has one; bit-equal to isa/eval.h (a NaN is any NaN).
//
// Narrowing floats rounds to nearest even in one step. Float to integer truncates, saturates to the target's range, NaN is 0. To i1 is != 0.
#pragma once
#include "device/types.cuh"

namespace tv {

TV_DEV f32 to_f32(f16 x) { f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits)); return r; }
TV_DEV f32 to_f32(bf16 x) { f32 r; asm("mov.b32 %0, {%1, %2};" : "=f"(r) : "h"(u16{0}), "h"(x.bits)); return r; }
TV_DEV f32 to_f32(f32 x) { return x; }
TV_DEV f32 to_f32(f64 x) { return __double2float_rn(x); }

// fp8 by integer arithmetic on the bits, the same on every arch (sm_80 has no instruction). e4m3: one NaN pattern, no infinity.
TV_DEV f32 to_f32(f8e4m3 x) {
  const u32 sign = static_cast<u32>(x.bits & 0x80) << 24, magnitude = x.bits & 0x7f;
  if (magnitude == 0x7f) return f32_of(sign | 0x7fc00000u);
  if (magnitude < 8) return f32_of(sign | bits_of(static_cast<f32>(magnitude) * 0.001953125f));  // subnormal: m * 2^-9
  return f32_of(sign | (magnitude << 20) + (120u << 23));
}
TV_DEV f32 to_f32(f8e5m2 x) { return to_f32(f16{static_cast<u16>(x.bits << 8)}); }

TV_DEV f16 to_f16(f32 x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
TV_DEV f16 to_f16_rz(f32 x) { f16 r; asm("cvt.rz.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
TV_DEV f16 to_f16(f64 x) { f16 r; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r.bits) : "d"(x)); return r; }
TV_DEV f16 to_f16_rz(f64 x) { f16 r; asm("cvt.rz.f16.f64 %0, %1;" : "=h"(r.bits) : "d"(x)); return r; }
TV_DEV bf16 to_bf16(f32 x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
// Two at once; copied as one word, or a store would take it apart and put it together again.
TV_DEV void cast_pair(f16* out, const f32* x) {
  u32 both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(x[1]), "f"(x[0]));
  memcpy(out, &both, 4);
}
TV_DEV void cast_pair(bf16* out, const f32* x) {
  u32 both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(x[1]), "f"(x[0]));
  memcpy(out, &both, 4);
}
TV_DEV bf16 to_bf16_rz(f32 x) {
  const u32 b = bits_of(x);
  return bf16{static_cast<u16>(x != x ? (b >> 16) | 0x40 : b >> 16)};
}
// f64 to bf16 rounds once: to f32 towards odd first, which keeps what the second rounding must know.
TV_DEV f32 round_to_odd(f64 x) {
  f32 down = __double2float_rz(x);
  if (static_cast<f64>(down) != x && x == x) down = f32_of(bits_of(down) | 1);
  return down;
}
TV_DEV bf16 to_bf16(f64 x) { return to_bf16(round_to_odd(x)); }
TV_DEV bf16 to_bf16_rz(f64 x) { return to_bf16_rz(__double2float_rz(x)); }

// Round to nearest even to fp8, saturating to the largest finite value; infinities saturate, NaN stays. M mantissa bits, exponent bias B.
template <int M, int B, u32 Largest, u32 Nan>
TV_DEV u8 to_fp8(f32 x, bool truncate) {
  const u32 bits = bits_of(x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<u8>(sign | Nan);
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  u32 code;
  if (exponent < 1 - B) {
    // Below the smallest normal: the value in steps of the subnormal, 2^(1 - B - M).
    const f32 steps = f32_of(magnitude) * f32_of(static_cast<u32>(127 + B - 1 + M) << 23);
    code = static_cast<u32>(truncate ? __float2int_rz(steps) : __float2int_rn(steps));
  } else {
    const u32 shift = 23 - M, rest = magnitude & ((1u << shift) - 1), half = 1u << (shift - 1);
    code = (magnitude >> shift) - (static_cast<u32>(127 - B) << M);
    if (!truncate && (rest > half || (rest == half && (code & 1)))) ++code;
  }
  if (exponent >= 128 || code > Largest) code = Largest;
  return static_cast<u8>(sign | code);
}
TV_DEV f8e4m3 to_f8e4m3(f32 x, bool truncate = false) { return f8e4m3{to_fp8<3, 7, 0x7e, 0x7f>(x, truncate)}; }
TV_DEV f8e5m2 to_f8e5m2(f32 x, bool truncate = false) { return f8e5m2{to_fp8<2, 15, 0x7b, 0x7f>(x, truncate)}; }

// f64 seen as the f32 whose second rounding gives the right narrow value.
TV_DEV f32 wide(f32 x) { return x; }
TV_DEV f32 wide(f64 x) { return round_to_odd(x); }

template <class To, class From>
TV_DEV To float_to_int(From x) {
  if constexpr (same<From, f64>) {
    if constexpr (same<To, i64>) { i64 r; asm("cvt.rzi.s64.f64 %0, %1;" : "=l"(r) : "d"(x)); return x != x ? 0 : r; }
    else if constexpr (same<To, u64>) { u64 r; asm("cvt.rzi.u64.f64 %0, %1;" : "=l"(r) : "d"(x)); return x != x ? 0 : r; }
    else {
      const i64 wide = x != x ? 0 : __double2ll_rz(x);
      constexpr i64 low = is_signed<To> ? -(i64{1} << (sizeof(To) * 8 - 1)) : 0;
      constexpr i64 high = is_signed<To> ? (i64{1} << (sizeof(To) * 8 - 1)) - 1 : (i64{1} << (sizeof(To) * 8)) - 1;
      return static_cast<To>(wide < low ? low : wide > high ? high : wide);
    }
  } else {
    if constexpr (same<To, i64>) { i64 r; asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(r) : "f"(x)); return x != x ? 0 : r; }
    else if constexpr (same<To, u64>) { u64 r; asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(r) : "f"(x)); return x != x ? 0 : r; }
    else if constexpr (same<To, u32>) { u32 r; asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(x)); return x != x ? 0 : r; }
    else {
      i32 r;
      asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(x));
      if (x != x) r = 0;
      if constexpr (sizeof(To) < 4) {
        constexpr i32 low = is_signed<To> ? -(1 << (sizeof(To) * 8 - 1)) : 0;
        constexpr i32 high = is_signed<To> ? (1 << (sizeof(To) * 8 - 1)) - 1 : (1 << (sizeof(To) * 8)) - 1;
        r = r < low ? low : r > high ? high : r;
      }
      return static_cast<To>(r);
    }
  }
}

template <class To, bool Truncate = false, class From>
TV_DEV To convert(From x) {
  if constexpr (same<To, From>) {
    return x;
  } else if constexpr (same<To, bool>) {
    if constexpr (is_narrow_float<From>) return to_f32(x) != 0.0f;
    else return x != 0;
  } else if constexpr (is_narrow_float<From> && !same<To, f32>) {
    return convert<To, Truncate>(to_f32(x));  // exact: every narrow float is an f32
  } else if constexpr (is_integer<From> && is_narrow_float<To>) {
    // Through f32, as isa/eval.h has it (it matters for bf16 alone: what f16 and fp8 can hold is exact in f32).
    return convert<To, Truncate>(static_cast<f32>(x));
  } else if constexpr (same<To, f16>) {
    return Truncate ? to_f16_rz(x) : to_f16(x);
  } else if constexpr (same<To, bf16>) {
    return Truncate ? to_bf16_rz(x) : to_bf16(x);
  } else if constexpr (same<To, f8e4m3>) {
    return to_f8e4m3(wide(x), Truncate);
  } else if constexpr (same<To, f8e5m2>) {
    return to_f8e5m2(wide(x), Truncate);
  } else if constexpr (same<To, f32> && is_narrow_float<From>) {
    return to_f32(x);
  } else if constexpr (same<To, f32> && same<From, f64>) {
    return Truncate ? __double2float_rz(x) : __double2float_rn(x);
  } else if constexpr (is_float<From> && is_integer<To>) {
    return float_to_int<To>(x);
  } else {
    return static_cast<To>(x);  // integers wrap; integer to f32, f64 rounds to nearest even
  }
}

}  // namespace tv
