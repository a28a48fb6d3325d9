// What every elementwise op does to scalars: the single meaning of the op table, for every element type an op allows.
//
// Constant folding, the checked interpreter and the tests of the array kernels (vm/kernels) call these functions; the device templates are
// written independently and must agree. A Scalar is the bit pattern of one element: the low BitWidth(dtype) bits, all higher bits zero (i1 is
// 0 or 1; a pointer is a u64). Every function is total: no input traps, signals or is undefined behaviour in C++.
//
//   integers    wrap; shift counts are unsigned and a count >= the width gives 0 (the sign for an arithmetic shr); x // 0 is all ones, x % 0 is
//               x, MIN // -1 is MIN, MIN % -1 is 0; i1 is an unsigned 1-bit integer (1 + 1 is 0, -1 is 1)
//   f32, f64    + - * / sqrt fma are correctly rounded and keep denormals; mod is fmod (exact)
//   f16 bf16    decoded to f32, the op done there, rounded to nearest even (fp8 saturating); fma is the exact x * y + z rounded once; neg, abs,
//   fp8         copysign, maximum and minimum work on the bits and return an operand unchanged
//   compare     ordered except ne; -0 == +0; the result is i1
//   max, min    -0 < +0; a NaN loses to a number, with propagate_nan it wins; NaN only if both are (or one, with propagate_nan)
//   cast        float to int truncates and saturates, NaN is 0; to i1 is x != 0 (NaN is true); int to int wraps or extends by the sign of the
//               source; int to f16, bf16 and fp8 goes through f32 (nearest even); float to float rounds once, straight from the source, f64
//               to fp8 included; f16 and bf16 overflow to infinity (kTowardZero: to the largest finite value, infinities stay); fp8 saturates:
//               anything beyond the largest finite value, infinities too, becomes that value (448, 57344); NaN stays NaN
//   NaN         payloads follow IEEE hardware where there is one (quieted, truncated), and carry no promise: any NaN equals any NaN
//
// Accuracy in ulp of the result, measured over the f32 inputs (isa/eval_math_test.cc samples them); 16-bit and fp8 results are the f32
// result rounded:
//   f32 exp, lib_exp, exp2, lib_exp2 0.9    tanh 1.3    erf 1.1    sin, cos, log, lib_log, log2, lib_log2, rsqrt 0.501
//   f32 others (log10 .. cbrt, atan2, lib_pow) 0.51: the f64 function of libm, rounded
//   f64 everything: libm's, within 1 to 2 ulp (rsqrt 1.5)
#ifndef TILEVM_ISA_EVAL_H_
#define TILEVM_ISA_EVAL_H_

#include <cstdint>

#include "isa/ops.h"
#include "isa/types.h"

namespace tilevm::isa {

struct Scalar {
  uint64_t bits = 0;

  bool operator==(const Scalar& o) const { return bits == o.bits; }
  bool operator!=(const Scalar& o) const { return bits != o.bits; }
};

enum class Rounding : uint8_t { kNearestEven, kTowardZero };

// --- scalars and host numbers ---
Scalar ScalarFromInt(DType dtype, int64_t value);                   // integer types: wraps (i1: the low bit); float types: rounds to nearest even
Scalar ScalarFromUint(DType dtype, uint64_t value);                 // the same from an unsigned number
Scalar ScalarFromDouble(DType dtype, double value);                 // as EvalCast from f64
int64_t ScalarToInt(DType dtype, Scalar x);                         // integer types: sign- or zero-extended (u64 as bits); floats: as a cast to i64
uint64_t ScalarToUint(DType dtype, Scalar x);                       // the same bits; floats: as a cast to u64
double ScalarToDouble(DType dtype, Scalar x);                       // exact except for 64-bit integers (nearest even)
bool ScalarIsTrue(DType dtype, Scalar x);                           // x != 0; NaN is true
bool ScalarIsNan(DType dtype, Scalar x);                            // false for integers
// Equal bits, or both NaN: the equality of the two-engine promise.
bool SameScalar(DType dtype, Scalar x, Scalar y);

// --- which ops have a scalar meaning ---
int EvalArity(Op op);                 // 1, 2 or 3 for elementwise ops (cast, philox and ptr_add apart); 0 for any other
bool HasEval(Op op, DType dtype);     // dtype is that of the data operands (of x and y for where)
DType EvalResultType(Op op, DType dtype);  // i1 for compares, isnan, isinf, isfinite; i64 for llrint; else dtype

// --- ops; precondition HasEval(op, dtype), else the result is zero ---
Scalar EvalUnary(Op op, DType dtype, Scalar x);
Scalar EvalBinary(Op op, DType dtype, Scalar x, Scalar y, bool propagate_nan = false);
// fma(x, y, z); where(x: i1, y, z); clamp(x, min y, max z).
Scalar EvalTernary(Op op, DType dtype, Scalar x, Scalar y, Scalar z, bool propagate_nan = false);
Scalar EvalCast(DType from, DType to, Rounding rounding, Scalar x);
Scalar EvalPowInt(DType dtype, Scalar x, Scalar y_i32);             // lib_pow with an i32 exponent
Scalar EvalPtrAdd(DType pointee, Scalar pointer, DType offset_type, Scalar offset);  // address + extended offset * StorageBytes(pointee)

// --- Philox, 4x32 and 4x64 ---
struct PhiloxWords {
  uint64_t word[4];  // 32-bit words are zero-extended
};
// width is 32 or 64. One block: `rounds` rounds on counter c with key k.
PhiloxWords EvalPhilox(int width, uint64_t k0, uint64_t k1, PhiloxWords c, int rounds);
// tl.philox: the key comes from the 64-bit seed (32-bit words: low and high half; 64-bit words: the seed and 0).
PhiloxWords EvalPhiloxSeed(int width, uint64_t seed, PhiloxWords c, int rounds);

// --- operands of dot ---
// TF32 keeps 10 mantissa bits. The one rule of the project for operands of a tf32 dot is the tensor cores' own: the low 13 bits are cut off; infinities and
// NaN stay. RoundToTf32 is to nearest, ties away from zero (cvt.rna.tf32.f32), as the split modes take their parts.
float TruncateToTf32(float x);
float RoundToTf32(float x);
// x as a sum of parts for the input_precision modes: big = RoundToTf32(x), small = TruncateToTf32(x - big); three bf16 parts, nearest even. After a part that
// is infinite or NaN the rest are zero.
struct Tf32Parts { float big, small; };
struct Bf16Parts { float part[3]; };
Tf32Parts SplitTf32(float x);
Bf16Parts SplitBf16(float x);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_EVAL_H_
