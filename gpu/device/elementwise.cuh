// Elementwise ops on scalars, and on tiles register by register. 16-bit and 8-bit floats compute in f32 and round once (docs/semantics.md).
//
// Nothing here makes a fused multiply-add but fma: -fmad=false, and __fmaf_rn stands alone.
#pragma once
#include "device/cast.cuh"
#include "device/tile.cuh"

namespace tv {

// --- arithmetic: integers wrap ---
template <class T> TV_DEV T wrap(unsigned_t<T> x) { return static_cast<T>(x); }

template <class T> TV_DEV T add(T x, T y) {
  if constexpr (is_narrow_float<T>) return convert<T>(__fadd_rn(to_f32(x), to_f32(y)));
  else if constexpr (same<T, bool>) return x != y;
  else if constexpr (is_float<T>) return x + y;
  else return static_cast<T>(static_cast<unsigned_t<T>>(x) + static_cast<unsigned_t<T>>(y));
}
template <class T> TV_DEV T sub(T x, T y) {
  if constexpr (is_narrow_float<T>) return convert<T>(__fsub_rn(to_f32(x), to_f32(y)));
  else if constexpr (same<T, bool>) return x != y;
  else if constexpr (is_float<T>) return x - y;
  else return static_cast<T>(static_cast<unsigned_t<T>>(x) - static_cast<unsigned_t<T>>(y));
}
template <class T> TV_DEV T mul(T x, T y) {
  if constexpr (is_narrow_float<T>) return convert<T>(__fmul_rn(to_f32(x), to_f32(y)));
  else if constexpr (same<T, bool>) return x && y;
  else if constexpr (is_float<T>) return x * y;
  else return static_cast<T>(static_cast<u64>(x) * static_cast<u64>(y));
}
template <class T> TV_DEV T neg(T x) {
  if constexpr (is_narrow_float<T>) { x.bits ^= static_cast<decltype(x.bits)>(1 << (sizeof(T) * 8 - 1)); return x; }
  else if constexpr (same<T, bool>) return x;
  else if constexpr (is_float<T>) return -x;
  else return static_cast<T>(0 - static_cast<unsigned_t<T>>(x));
}
template <class T> TV_DEV T abs_(T x) {
  if constexpr (is_narrow_float<T>) { x.bits &= static_cast<decltype(x.bits)>(~(1 << (sizeof(T) * 8 - 1))); return x; }
  else if constexpr (same<T, f32>) return fabsf(x);
  else if constexpr (same<T, f64>) return fabs(x);
  else if constexpr (is_signed<T>) return x < 0 ? neg(x) : x;
  else return x;
}
template <class T> TV_DEV T truediv(T x, T y) {
  if constexpr (same<T, f32>) return __fdiv_rn(x, y);
  else if constexpr (same<T, f64>) return __ddiv_rn(x, y);
  else return convert<T>(__fdiv_rn(to_f32(x), to_f32(y)));
}
// Many quotients by one divisor y: x * r with r, the rounded 1 / y, and one correction by the remainder, which is exact unless an exponent is extreme. That is the
// correctly rounded quotient (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990). Whoever divides so looks first at
// all numbers: y between 2^-32 and 2^32 (positive: a zero keeps its sign), x zero or between 2^-60 and 2^90. Small: whether x below 2^-60 has to be looked for.
// Where the quotient ends as f16 it has not: either way it is below 2^-27 and has the sign of x, a zero there. Large: whether x above 2^90 has to be.
template <bool Small = true, bool Large = true>
struct Quotients {
  u32 least = ~0u;  // of the bits of x without the sign, doubled, less 1: zero is the largest
  f32 most = 0;     // of |x|; a NaN is passed over, for its quotient is one in any case
  bool good = true;
  template <class T> TV_DEV void look(T x) {
    const f32 a = to_f32(x);
    if constexpr (Small) {
      const u32 size = 2 * bits_of(a) - 1;
      least = size < least ? size : least;
    }
    if constexpr (Large) asm("max.f32 %0, %0, %1;" : "+f"(most) : "f"(fabsf(a)));
  }
  template <class T> TV_DEV void by(T y) { good = good && to_f32(y) >= 0x1p-32f && to_f32(y) <= 0x1p32f; }
  TV_DEV bool ordinary() const { return good && (!Small || least >= 2 * 0x21800000u - 1) && (!Large || most <= 0x1p90f); }  // 0x21800000: 2^-60
};
TV_DEV f32 rounded_reciprocal(f32 y) {
  f32 r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));
  return __fmaf_rn(r, __fmaf_rn(-y, r, 1.0f), r);
}
// r: rounded_reciprocal(to_f32(y)).
template <class T> TV_DEV T quotient(T x, T y, f32 r) {
  const f32 a = to_f32(x), b = to_f32(y), q = __fmul_rn(a, r);
  return convert<T>(__fmaf_rn(-__fmaf_rn(q, b, -a), r, q));
}
template <class T> TV_DEV T quotient(T x, T y) { return quotient(x, y, rounded_reciprocal(to_f32(y))); }
// Any quotient: x * (1 / y) in f64, rounded to f32, is the correctly rounded quotient, subnormal or not: that of two 24-bit numbers is further from any midpoint
// between neighbours than f64 errs (1.5 * 2^-53 against 2^-49, relative), and zero, infinity and NaN follow the same rules.
template <class T> TV_DEV f64 reciprocal(T y) { return 1.0 / static_cast<f64>(to_f32(y)); }
template <class T> TV_DEV T divide_by(T x, f64 one_over_y) { return convert<T>(__double2float_rn(static_cast<f64>(to_f32(x)) * one_over_y)); }
// Truncates; x // 0 is all ones, MIN // -1 is MIN.
template <class T> TV_DEV T floordiv(T x, T y) {
  if constexpr (same<T, bool>) return y ? x : true;
  else {
    if (y == 0) return static_cast<T>(~unsigned_t<T>{0});
    if constexpr (is_signed<T>) { if (y == static_cast<T>(-1)) return neg(x); }
    return static_cast<T>(x / y);
  }
}
template <class T> TV_DEV T mod(T x, T y) {
  if constexpr (same<T, f32>) return fmodf(x, y);
  else if constexpr (same<T, f64>) return fmod(x, y);
  else if constexpr (is_narrow_float<T>) return convert<T>(fmodf(to_f32(x), to_f32(y)));
  else if constexpr (same<T, bool>) return y ? false : x;
  else {
    if (y == 0) return x;
    if constexpr (is_signed<T>) { if (y == static_cast<T>(-1)) return 0; }
    return static_cast<T>(x % y);
  }
}

// Both of scalars whose divisor is not known when the kernel is compiled: without a branch, and one division where both are asked for.
template <class T> struct Divided { T quotient, rest; };
template <class T> TV_DEV Divided<T> divided(T x, T y) {
  const bool is_minus_one = is_signed<T> && y == static_cast<T>(-1);
  const T by = y == 0 || is_minus_one ? T{1} : y, plain = static_cast<T>(x / by);
  T q;  // a division that the compiler does not take apart again
  if constexpr (sizeof(T) == 8) asm("mov.b64 %0, %1;" : "=l"(q) : "l"(plain));
  else asm("mov.b32 %0, %1;" : "=r"(q) : "r"(plain));
  return {y == 0 ? static_cast<T>(~unsigned_t<T>{0}) : is_minus_one ? neg(x) : q, y == 0 ? x : sub(x, mul(q, by))};
}

// --- bits; shift counts are unsigned, and the width or more gives 0 (or the sign) ---
template <class T> TV_DEV T invert(T x) { if constexpr (same<T, bool>) return !x; else return static_cast<T>(~x); }
template <class T> TV_DEV T bit_and(T x, T y) { return static_cast<T>(x & y); }
template <class T> TV_DEV T bit_or(T x, T y) { return static_cast<T>(x | y); }
template <class T> TV_DEV T bit_xor(T x, T y) { return static_cast<T>(x ^ y); }
template <class T> constexpr int width_of = same<T, bool> ? 1 : static_cast<int>(sizeof(T) * 8);
template <class T> TV_DEV T shl(T x, T y) {
  const unsigned_t<T> count = static_cast<unsigned_t<T>>(y);
  return count >= width_of<T> ? static_cast<T>(0) : static_cast<T>(static_cast<unsigned_t<T>>(x) << count);
}
template <class T> TV_DEV T shr(T x, T y) {
  const unsigned_t<T> count = static_cast<unsigned_t<T>>(y);
  if (count >= width_of<T>) return is_signed<T> && x < 0 ? static_cast<T>(-1) : static_cast<T>(0);
  return static_cast<T>(x >> count);
}
TV_DEV u32 umulhi(u32 x, u32 y) { return __umulhi(x, y); }
TV_DEV i32 umulhi(i32 x, i32 y) { return static_cast<i32>(__umulhi(static_cast<u32>(x), static_cast<u32>(y))); }
TV_DEV u64 umulhi(u64 x, u64 y) { return __umul64hi(x, y); }
TV_DEV i64 umulhi(i64 x, i64 y) { return static_cast<i64>(__umul64hi(static_cast<u64>(x), static_cast<u64>(y))); }

// --- comparisons: ordered but !=, which is unordered ---
template <class T> TV_DEV auto number(T x) { if constexpr (is_narrow_float<T>) return to_f32(x); else return x; }
template <class T> TV_DEV bool lt(T x, T y) { return number(x) < number(y); }
template <class T> TV_DEV bool le(T x, T y) { return number(x) <= number(y); }
template <class T> TV_DEV bool gt(T x, T y) { return number(x) > number(y); }
template <class T> TV_DEV bool ge(T x, T y) { return number(x) >= number(y); }
template <class T> TV_DEV bool eq(T x, T y) { return number(x) == number(y); }
template <class T> TV_DEV bool ne(T x, T y) { return !(number(x) == number(y)); }
template <class T> TV_DEV T where(bool c, T x, T y) { return c ? x : y; }

// --- minimum, maximum: a NaN loses (or wins), -0 < +0 ---
template <bool PropagateNan, class T> TV_DEV T maximum(T x, T y) {
  if constexpr (is_narrow_float<T>) {
    // One of the operands as it is: a conversion back would saturate an infinity of fp8.
    const f32 a = to_f32(x), b = to_f32(y), m = maximum<PropagateNan>(a, b);
    return bits_of(m) == bits_of(a) || (m != m && a != a) ? x : y;
  } else if constexpr (same<T, f32>) {
    f32 r;
    if constexpr (PropagateNan) asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    else asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
  } else if constexpr (same<T, f64>) {
    if (PropagateNan && (x != x || y != y)) return x + y;
    if (x == 0 && y == 0) return bit_cast<f64>(bit_cast<u64>(x) & bit_cast<u64>(y));
    return fmax(x, y);
  } else return x > y ? x : y;
}
template <bool PropagateNan, class T> TV_DEV T minimum(T x, T y) {
  if constexpr (is_narrow_float<T>) {
    // One of the operands as it is: a conversion back would saturate an infinity of fp8.
    const f32 a = to_f32(x), b = to_f32(y), m = minimum<PropagateNan>(a, b);
    return bits_of(m) == bits_of(a) || (m != m && a != a) ? x : y;
  } else if constexpr (same<T, f32>) {
    f32 r;
    if constexpr (PropagateNan) asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    else asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
    return r;
  } else if constexpr (same<T, f64>) {
    if (PropagateNan && (x != x || y != y)) return x + y;
    if (x == 0 && y == 0) return bit_cast<f64>(bit_cast<u64>(x) | bit_cast<u64>(y));
    return fmin(x, y);
  } else return x < y ? x : y;
}

// One rounding: in f64 the product of two 16-bit floats is exact, and rounding the sum towards odd keeps the last step honest.
template <class T> TV_DEV T fma_(T x, T y, T z) {
  if constexpr (same<T, f32>) return __fmaf_rn(x, y, z);
  else if constexpr (same<T, f64>) return __fma_rn(x, y, z);
  else {
    const f64 p = static_cast<f64>(to_f32(x)) * static_cast<f64>(to_f32(y)), c = to_f32(z);
    f64 s = __dadd_rz(p, c);
    // The error of the truncated sum, exact by Knuth's two-sum.
    const f64 sum = __dadd_rn(p, c), t = __dsub_rn(sum, p);
    const f64 error = __dadd_rn(__dsub_rn(p, __dsub_rn(sum, t)), __dsub_rn(c, t));
    if ((error != 0 || sum != s) && s == s && fabs(s) < 1e300) s = bit_cast<f64>(bit_cast<u64>(s) | 1);
    return convert<T>(s);
  }
}

template <class T, class I> TV_DEV T* ptr_add(T* p, I offset) { return p + static_cast<i64>(offset); }
template <class T> TV_DEV T* ptr_add(T* p, u64 offset) { return p + offset; }

// --- the same on tiles ---
#define TV_UNARY(name)                                                               \
  template <class T, class L> TV_DEV auto name(const Tile<T, L>& x) {                \
    Tile<decltype(name(x.v[0])), L> out;                                             \
    _Pragma("unroll") for (int r = 0; r < L::regs; ++r) out.v[r] = name(x.v[r]);     \
    return out;                                                                      \
  }
#define TV_BINARY_BODY(name)                                                             \
  {                                                                                      \
    Tile<decltype(name(x.v[0], y.v[0])), L> out;                                         \
    _Pragma("unroll") for (int r = 0; r < L::regs; ++r) out.v[r] = name(x.v[r], y.v[r]); \
    return out;                                                                          \
  }
#define TV_BINARY(name) \
  template <class T, class L> TV_DEV auto name(const Tile<T, L>& x, const Tile<T, L>& y) TV_BINARY_BODY(name)
// Operands of two types.
#define TV_MIXED(name) \
  template <class T, class U, class L> TV_DEV auto name(const Tile<T, L>& x, const Tile<U, L>& y) TV_BINARY_BODY(name)
TV_UNARY(neg) TV_UNARY(abs_) TV_UNARY(invert)
TV_BINARY(add) TV_BINARY(sub) TV_BINARY(mul) TV_BINARY(truediv) TV_BINARY(floordiv) TV_BINARY(mod)
TV_BINARY(bit_and) TV_BINARY(bit_or) TV_BINARY(bit_xor) TV_BINARY(shl) TV_BINARY(shr) TV_BINARY(umulhi)
TV_BINARY(lt) TV_BINARY(le) TV_BINARY(gt) TV_BINARY(ge) TV_BINARY(eq) TV_BINARY(ne) TV_MIXED(ptr_add)

template <class T, class L> TV_DEV Tile<T, L> where(const Tile<bool, L>& c, const Tile<T, L>& x, const Tile<T, L>& y) {
  Tile<T, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = c.v[r] ? x.v[r] : y.v[r];
  return out;
}
template <bool N, class T, class L> TV_DEV Tile<T, L> maximum(const Tile<T, L>& x, const Tile<T, L>& y) {
  return map<T, L>([](T a, T b) { return maximum<N>(a, b); }, x, y);
}
template <bool N, class T, class L> TV_DEV Tile<T, L> minimum(const Tile<T, L>& x, const Tile<T, L>& y) {
  return map<T, L>([](T a, T b) { return minimum<N>(a, b); }, x, y);
}
template <class T, class L> TV_DEV Tile<T, L> fma_(const Tile<T, L>& x, const Tile<T, L>& y, const Tile<T, L>& z) {
  return map<T, L>([](T a, T b, T c) { return fma_(a, b, c); }, x, y, z);
}
template <class To, bool Truncate = false, class T, class L> TV_DEV Tile<To, L> cast(const Tile<T, L>& x) {
  return map<To, L>([](T a) { return convert<To, Truncate>(a); }, x);
}
template <class To, bool Truncate = false, class T> TV_DEV To cast(T x) { return convert<To, Truncate>(x); }
template <class To, class T, class L> TV_DEV Tile<To, L> bitcast(const Tile<T, L>& x) {
  return map<To, L>([](T a) { return bit_cast<To>(a); }, x);
}
template <class To, class T> TV_DEV To bitcast(T x) { return bit_cast<To>(x); }

}  // namespace tv
