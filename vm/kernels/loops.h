// The loops that every kernel is made of. Included only by files compiled per level: all templates live in that level's namespace, so that
// code for a newer instruction set can never be linked into an older one's path (nothing of the standard library is called here either).
#ifndef TILEVM_VM_KERNELS_LOOPS_H_
#define TILEVM_VM_KERNELS_LOOPS_H_

#include <cstdint>

#include "isa/narrow_float.h"
#include "vm/kernels/table.h"

#ifndef TILEVM_KERNELS_LEVEL
#error "compiled per level: see vm/kernels/BUILD"
#endif

// out may be an operand: each element is read before its place is written, so vectors are safe where the compiler fears an overlap.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // loops that call libm, and the portable level, stay scalar: no surprise
#define TILEVM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TILEVM_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {

using isa::DType;
using isa::Op;

// Elements converted at a time where an op goes through f32: small enough for the stack and the first-level cache.
inline constexpr int64_t kChunk = 512;

// F::Apply is a static function of one element (two, three).
template <typename F, typename T, typename R>
void UnaryLoop(const void* x, void* out, int64_t n) {
  const T* a = static_cast<const T*>(x);
  R* r = static_cast<R*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::Apply(a[i]));
}

template <typename F, typename T, typename R>
void BinaryLoop(const void* x, const void* y, void* out, int64_t n) {
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  R* r = static_cast<R*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::Apply(a[i], b[i]));
}

template <typename F, typename T, typename R>
void ScalarXLoop(const void* x, const void* y, void* out, int64_t n) {
  const T a = *static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  R* r = static_cast<R*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::Apply(a, b[i]));
}

template <typename F, typename T, typename R>
void ScalarYLoop(const void* x, const void* y, void* out, int64_t n) {
  const T* a = static_cast<const T*>(x);
  const T b = *static_cast<const T*>(y);
  R* r = static_cast<R*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::Apply(a[i], b));
}

template <typename F, typename T, typename R>
void TernaryLoop(const void* x, const void* y, const void* z, void* out, int64_t n) {
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  const T* c = static_cast<const T*>(z);
  R* r = static_cast<R*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<R>(F::Apply(a[i], b[i], c[i]));
}

inline int64_t ChunkLength(int64_t begin, int64_t n) { return n - begin < kChunk ? n - begin : kChunk; }

template <typename T>
[[gnu::noinline]] void Repeat(const void* scalar, T* out, int64_t n) {
  const T value = *static_cast<const T*>(scalar);
  for (int64_t i = 0; i < n; ++i) out[i] = value;
}

// The scalar operand repeated in a chunk, then the kernel for arrays: for forms where a loop of their own is not worth its code.
template <BinaryFn kKernel, typename T, typename R, bool kScalarIsX>
void SplatChunks(const void* x, const void* y, void* out, int64_t n) {
  T splat[kChunk];
  Repeat(kScalarIsX ? x : y, splat, ChunkLength(0, n));
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    R* r = static_cast<R*>(out) + begin;
    if (kScalarIsX) {
      kKernel(splat, static_cast<const T*>(y) + begin, r, ChunkLength(begin, n));
    } else {
      kKernel(static_cast<const T*>(x) + begin, splat, r, ChunkLength(begin, n));
    }
  }
}

struct BinaryKernels {
  BinaryFn by_operands[3];
};

template <BinaryFn kKernel, typename T, typename R>
constexpr BinaryKernels WithSplats() {
  return {{kKernel, SplatChunks<kKernel, T, R, true>, SplatChunks<kKernel, T, R, false>}};
}

// A loop of its own for a scalar on the right; on the left only for f32 (1 - x); the narrow types make do with chunks.
template <typename F, typename T, typename R>
constexpr BinaryKernels BinaryLoops() {
  BinaryKernels kernels = WithSplats<BinaryLoop<F, T, R>, T, R>();
  if constexpr (sizeof(T) == 4 && T(0.5) != T(0)) kernels.by_operands[1] = ScalarXLoop<F, T, R>;
  if constexpr (sizeof(T) >= 4) kernels.by_operands[2] = ScalarYLoop<F, T, R>;
  return kernels;
}

// y > x is x < y.
template <BinaryFn kKernel>
void Swapped(const void* x, const void* y, void* out, int64_t n) {
  kKernel(y, x, out, n);
}
template <typename F, typename T, typename R>
constexpr BinaryKernels SwappedLoops() {
  constexpr BinaryKernels kKernels = BinaryLoops<F, T, R>();
  return {{Swapped<kKernels.by_operands[0]>, Swapped<kKernels.by_operands[2]>, Swapped<kKernels.by_operands[1]>}};
}

inline void SetUnary(Table& table, Op op, DType dtype, UnaryFn kernel) {
  table.unary[static_cast<int>(op)][static_cast<int>(dtype)] = kernel;
}
inline void SetBinary(Table& table, Op op, DType dtype, const BinaryKernels& kernels) {
  for (int i = 0; i < 3; ++i) table.binary[i][static_cast<int>(op)][static_cast<int>(dtype)] = kernels.by_operands[i];
}
inline void SetNanAware(Table& table, Op op, DType dtype, const BinaryKernels& kernels) {
  auto& rows = op == Op::kMaximum ? table.nan_maximum : table.nan_minimum;
  for (int i = 0; i < 3; ++i) rows[i][static_cast<int>(dtype)] = kernels.by_operands[i];
}

// --- elements that more than one family folds or compares ---

template <typename T>
struct UnsignedOf;
template <> struct UnsignedOf<int8_t> { using Type = uint8_t; };
template <> struct UnsignedOf<int16_t> { using Type = uint16_t; };
template <> struct UnsignedOf<int32_t> { using Type = uint32_t; };
template <> struct UnsignedOf<int64_t> { using Type = uint64_t; };
template <> struct UnsignedOf<uint8_t> { using Type = uint8_t; };
template <> struct UnsignedOf<uint16_t> { using Type = uint16_t; };
template <> struct UnsignedOf<uint32_t> { using Type = uint32_t; };
template <> struct UnsignedOf<uint64_t> { using Type = uint64_t; };

struct Less { template <typename T> static bool Apply(T x, T y) { return x < y; } };
struct LessEqual { template <typename T> static bool Apply(T x, T y) { return x <= y; } };
struct Equal { template <typename T> static bool Apply(T x, T y) { return x == y; } };
struct NotEqual { template <typename T> static bool Apply(T x, T y) { return x != y; } };

// Integers: unsigned arithmetic, at least 32 bits wide so that no product overflows an int.
template <typename U>
using Wide = decltype(U(0) + 0u);
struct IntAdd { template <typename U> static U Apply(U x, U y) { return static_cast<U>(Wide<U>(x) + Wide<U>(y)); } };
struct IntMul { template <typename U> static U Apply(U x, U y) { return static_cast<U>(Wide<U>(x) * Wide<U>(y)); } };
struct IntAnd { template <typename U> static U Apply(U x, U y) { return static_cast<U>(x & y); } };
struct IntOr { template <typename U> static U Apply(U x, U y) { return static_cast<U>(x | y); } };
struct IntXor { template <typename U> static U Apply(U x, U y) { return static_cast<U>(x ^ y); } };
struct IntMax { template <typename T> static T Apply(T x, T y) { return x > y ? x : y; } };
struct IntMin { template <typename T> static T Apply(T x, T y) { return x < y ? x : y; } };

struct FloatAdd { template <typename T> static T Apply(T x, T y) { return x + y; } };
struct FloatMul { template <typename T> static T Apply(T x, T y) { return x * y; } };

inline float WithBits(float, uint32_t bits) { return isa::F32FromBits(bits); }
inline double WithBits(double, uint64_t bits) { return isa::F64FromBits(bits); }

// Equal operands differ at most in the sign of a zero: the larger has the bits of both, the smaller of either.
template <bool kMaximum, bool kPropagateNan>
struct FloatExtreme {
  template <typename T>
  static T Apply(T x, T y) {
    const auto equal_bits = kMaximum ? isa::BitsOf(x) & isa::BitsOf(y) : isa::BitsOf(x) | isa::BitsOf(y);
    const bool x_wins = (kMaximum ? x > y : x < y) | (kPropagateNan ? x != x : y != y);
    const T larger = x_wins ? x : y;
    return x == y ? WithBits(x, equal_bits) : larger;
  }
};

template <int kBytes>
struct SignedBits;
template <> struct SignedBits<1> { using Type = int8_t; };
template <> struct SignedBits<2> { using Type = int16_t; };

// On the bit patterns of a narrow float: sign and magnitude to two's complement, -0 just below +0. Only NaNs lie above kInfinityBits (e4m3:
// one below its NaN). Everything stays as wide as the element, which doubles or quadruples what a vector holds.
template <typename S, uint32_t kInfinityBits, bool kMaximum, bool kPropagateNan>
struct NarrowExtreme {
  using I = typename SignedBits<sizeof(S)>::Type;
  static constexpr I kMagnitude = static_cast<I>((uint32_t{1} << (8 * sizeof(S) - 1)) - 1);
  static I Key(I x) { return static_cast<I>(x ^ (static_cast<I>(x >> (8 * sizeof(S) - 1)) & kMagnitude)); }
  static bool IsNan(I x) { return static_cast<I>(x & kMagnitude) > static_cast<I>(kInfinityBits); }
  static S Apply(S x, S y) {
    const I a = static_cast<I>(x), b = static_cast<I>(y);
    const I winner = (kMaximum ? Key(a) > Key(b) : Key(a) < Key(b)) ? a : b;
    const I first = kPropagateNan ? b : a, second = kPropagateNan ? a : b;  // if a is NaN, b is the answer or a is
    const I without_b = IsNan(b) ? first : winner;
    return static_cast<S>(IsNan(a) ? second : without_b);
  }
};

// How a narrow format is stored, decoded and encoded.
struct F16Format {
  using Storage = uint16_t;
  static constexpr DType kDType = DType::kF16;
  static constexpr uint32_t kInfinity = 0x7c00;
  static float Decode(Storage x) { return isa::F16ToF32(x); }
  static Storage Encode(float x) { return isa::F32ToF16(x); }
  static Storage EncodeRtz(float x) { return isa::F32ToF16Rtz(x); }
};
struct Bf16Format {
  using Storage = uint16_t;
  static constexpr DType kDType = DType::kBF16;
  static constexpr uint32_t kInfinity = 0x7f80;
  static float Decode(Storage x) { return isa::Bf16ToF32(x); }
  static Storage Encode(float x) { return isa::F32ToBf16(x); }
  static Storage EncodeRtz(float x) { return isa::F32ToBf16Rtz(x); }
};
struct F8E4M3Format {
  using Storage = uint8_t;
  static constexpr DType kDType = DType::kF8E4M3;
  static constexpr uint32_t kInfinity = 0x7e;
  static float Decode(Storage x) { return isa::F8E4M3ToF32(x); }
  static Storage Encode(float x) { return isa::F32ToF8E4M3(x); }
  static Storage EncodeRtz(float x) { return isa::F32ToF8E4M3Rtz(x); }
};
struct F8E5M2Format {
  using Storage = uint8_t;
  static constexpr DType kDType = DType::kF8E5M2;
  static constexpr uint32_t kInfinity = 0x7c;
  static float Decode(Storage x) { return isa::F8E5M2ToF32(x); }
  static Storage Encode(float x) { return isa::F32ToF8E5M2(x); }
  static Storage EncodeRtz(float x) { return isa::F32ToF8E5M2Rtz(x); }
};

// Defined in cast_kernels.cc.
template <typename Format>
void DecodeArray(const void* x, void* out, int64_t n);
template <typename Format>
void EncodeArray(const void* x, void* out, int64_t n);

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL

#endif  // TILEVM_VM_KERNELS_LOOPS_H_
