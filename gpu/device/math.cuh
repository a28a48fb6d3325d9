// Mathematical functions, f32 and f64. Errors in ulp, next to each; approximate ones may flush denormals (add 2^-126).
#pragma once
#include "device/elementwise.cuh"

namespace tv {

TV_DEV f32 exp2(f32 x) { f32 r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }        // 2
TV_DEV f64 exp2(f64 x) { return ::exp2(x); }                                                             // 1
TV_DEV f32 exp(f32 x) { return exp2(__fmul_rn(x, 1.4426950408889634f)); }                                // 2 + 1.25 |x|
TV_DEV f64 exp(f64 x) { return ::exp(x); }                                                               // 1
TV_DEV f32 log2(f32 x) { f32 r; asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }            // absolute 2^-22 near 1, else 1
TV_DEV f64 log2(f64 x) { return ::log2(x); }
TV_DEV f32 log(f32 x) { return ::logf(x); }                                                              // 1
TV_DEV f64 log(f64 x) { return ::log(x); }
TV_DEV f32 sqrt(f32 x) { return __fsqrt_rn(x); }                                                         // correctly rounded
TV_DEV f64 sqrt(f64 x) { return __dsqrt_rn(x); }
TV_DEV f32 rsqrt(f32 x) { f32 r; asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }         // 2
TV_DEV f64 rsqrt(f64 x) { return ::rsqrt(x); }
TV_DEV f32 fdiv(f32 x, f32 y) { f32 r; asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }  // 2
TV_DEV f64 fdiv(f64 x, f64 y) { return __ddiv_rn(x, y); }

#define TV_MATH(name, single, double_)                                 \
  TV_DEV f32 name(f32 x) { return ::single(x); }                       \
  TV_DEV f64 name(f64 x) { return ::double_(x); }
// The accurate library functions of CUDA: errors as in the CUDA C++ Programming Guide, "Mathematical Functions".
TV_MATH(sin, sinf, sin) TV_MATH(cos, cosf, cos) TV_MATH(tan, tanf, tan) TV_MATH(erf, erff, erf) TV_MATH(erfc, erfcf, erfc)
TV_MATH(floor, floorf, floor) TV_MATH(ceil, ceilf, ceil) TV_MATH(trunc, truncf, trunc) TV_MATH(round, roundf, round) TV_MATH(rint, rintf, rint)
TV_MATH(tanh, tanhf, tanh) TV_MATH(sinh, sinhf, sinh) TV_MATH(cosh, coshf, cosh) TV_MATH(asin, asinf, asin) TV_MATH(acos, acosf, acos)
TV_MATH(atan, atanf, atan) TV_MATH(asinh, asinhf, asinh) TV_MATH(acosh, acoshf, acosh) TV_MATH(atanh, atanhf, atanh) TV_MATH(log1p, log1pf, log1p)
TV_MATH(expm1, expm1f, expm1) TV_MATH(log10, log10f, log10) TV_MATH(cbrt, cbrtf, cbrt) TV_MATH(lib_exp, expf, exp) TV_MATH(lib_exp2, exp2f, exp2)
TV_MATH(lib_log, logf, log) TV_MATH(lib_log2, log2f, log2)

TV_DEV f32 atan2(f32 y, f32 x) { return ::atan2f(y, x); }
TV_DEV f64 atan2(f64 y, f64 x) { return ::atan2(y, x); }
TV_DEV f32 lib_pow(f32 x, f32 y) { return ::powf(x, y); }
TV_DEV f64 lib_pow(f64 x, f64 y) { return ::pow(x, y); }
TV_DEV f32 lib_pow(f32 x, i32 y) { return ::powf(x, static_cast<f32>(y)); }
TV_DEV f64 lib_pow(f64 x, i32 y) { return ::pow(x, static_cast<f64>(y)); }
TV_DEV f32 copysign(f32 x, f32 y) { return ::copysignf(x, y); }
TV_DEV f64 copysign(f64 x, f64 y) { return ::copysign(x, y); }
TV_DEV bool isnan(f32 x) { return x != x; }
TV_DEV bool isnan(f64 x) { return x != x; }
TV_DEV bool isinf(f32 x) { return (bits_of(x) & 0x7fffffffu) == 0x7f800000u; }
TV_DEV bool isinf(f64 x) { return (bit_cast<u64>(x) & ~(u64{1} << 63)) == (u64{0x7ff} << 52); }
TV_DEV bool isfinite(f32 x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }
TV_DEV bool isfinite(f64 x) { return (bit_cast<u64>(x) & (u64{0x7ff} << 52)) != (u64{0x7ff} << 52); }
TV_DEV i64 llrint(f32 x) { return float_to_int<i64>(::rintf(x)); }
TV_DEV i64 llrint(f64 x) { return float_to_int<i64>(::rint(x)); }

TV_UNARY(exp2) TV_UNARY(exp) TV_UNARY(log2) TV_UNARY(log) TV_UNARY(sqrt) TV_UNARY(rsqrt) TV_UNARY(sin) TV_UNARY(cos) TV_UNARY(tan) TV_UNARY(erf)
TV_UNARY(erfc) TV_UNARY(floor) TV_UNARY(ceil) TV_UNARY(trunc) TV_UNARY(round) TV_UNARY(rint) TV_UNARY(tanh) TV_UNARY(sinh) TV_UNARY(cosh) TV_UNARY(asin)
TV_UNARY(acos) TV_UNARY(atan) TV_UNARY(asinh) TV_UNARY(acosh) TV_UNARY(atanh) TV_UNARY(log1p) TV_UNARY(expm1) TV_UNARY(log10) TV_UNARY(cbrt)
TV_UNARY(lib_exp) TV_UNARY(lib_exp2) TV_UNARY(lib_log) TV_UNARY(lib_log2) TV_UNARY(isnan) TV_UNARY(isinf) TV_UNARY(isfinite) TV_UNARY(llrint)
TV_BINARY(fdiv) TV_BINARY(atan2) TV_MIXED(lib_pow) TV_BINARY(copysign)

}  // namespace tv
