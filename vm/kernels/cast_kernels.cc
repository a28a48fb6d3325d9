// Casts between any two element types. Pairs without a loop of their own go through f32, where isa/eval.h says that nothing is lost by it.
#include "vm/kernels/loops.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {

template <typename Format>
void DecodeArray(const void* x, void* out, int64_t n) {
  const auto* a = static_cast<const typename Format::Storage*>(x);
  float* r = static_cast<float*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) r[i] = Format::Decode(a[i]);
}

template <typename Format>
void EncodeArray(const void* x, void* out, int64_t n) {
  const float* a = static_cast<const float*>(x);
  auto* r = static_cast<typename Format::Storage*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) r[i] = Format::Encode(a[i]);
}

#if defined(__F16C__)
// The instructions quiet and truncate NaNs as isa/narrow_float.h does.
template <>
void DecodeArray<F16Format>(const void* x, void* out, int64_t n) {
  const uint16_t* a = static_cast<const uint16_t*>(x);
  float* r = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(r + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i))));
  for (; i < n; ++i) r[i] = isa::F16ToF32(a[i]);
}

template <>
void EncodeArray<F16Format>(const void* x, void* out, int64_t n) {
  const float* a = static_cast<const float*>(x);
  uint16_t* r = static_cast<uint16_t*>(out);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(r + i), _mm256_cvtps_ph(_mm256_loadu_ps(a + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) r[i] = isa::F32ToF16(a[i]);
}
#else
template void DecodeArray<F16Format>(const void*, void*, int64_t);
template void EncodeArray<F16Format>(const void*, void*, int64_t);
#endif
template void DecodeArray<Bf16Format>(const void*, void*, int64_t);
template void EncodeArray<Bf16Format>(const void*, void*, int64_t);
template void DecodeArray<F8E4M3Format>(const void*, void*, int64_t);
template void EncodeArray<F8E4M3Format>(const void*, void*, int64_t);
template void DecodeArray<F8E5M2Format>(const void*, void*, int64_t);
template void EncodeArray<F8E5M2Format>(const void*, void*, int64_t);

namespace {

// Small integers are truncated as int32_t, for which there is an instruction.
template <typename T, bool kSmall>
struct ViaInt { using Type = T; };
template <typename T>
struct ViaInt<T, true> { using Type = int32_t; };

// float to int: T's bounds as F; the upper one is a power of two, one past the largest value.
template <typename F, typename T>
struct Saturate {
  static constexpr bool kSigned = T(-1) < T(0);
  static constexpr F kUpper = (kSigned ? F(1) : F(2)) * static_cast<F>(uint64_t{1} << (8 * sizeof(T) - 1));
  static constexpr F kLower = kSigned ? -kUpper : F(0);
  static constexpr T kMax = static_cast<T>(kSigned ? ~uint64_t{0} >> (65 - 8 * sizeof(T)) : ~uint64_t{0});
  static constexpr T kMin = static_cast<T>(kSigned ? T(-kMax - 1) : T(0));
  using Via = typename ViaInt<T, (sizeof(T) < 4)>::Type;
  static T Apply(F x) {
    const bool inside = (x > kLower) & (x < kUpper);  // false for NaN
    const T truncated = static_cast<T>(static_cast<Via>(inside ? x : F(0)));
    const T above = x >= kUpper ? kMax : truncated;
    return x <= kLower ? kMin : above;
  }
};

template <typename T, typename R>
struct Convert { static R Apply(T x) { return static_cast<R>(x); } };
template <typename T>
struct NonZero { static bool Apply(T x) { return x != T(0); } };
// A float without its sign bit.
template <typename U>
struct NonZeroFloat { static bool Apply(U x) { return static_cast<U>(x << 1) != 0; } };

struct F64ToF32Rtz { static float Apply(double x) { return isa::F64ToF32Rtz(x); } };
template <typename Format>
struct EncodeRtz { static typename Format::Storage Apply(float x) { return Format::EncodeRtz(x); } };
template <typename Format>
struct EncodeF64 { static typename Format::Storage Apply(double x) { return Format::Encode(isa::F64ToF32Odd(x)); } };
template <typename Format>
struct EncodeF64Rtz { static typename Format::Storage Apply(double x) { return Format::EncodeRtz(isa::F64ToF32Odd(x)); } };

template <int kBytes>
void Copy(const void* x, void* out, int64_t n) {
  __builtin_memmove(out, x, static_cast<uint64_t>(n) * kBytes);
}

// First to f32, then on. Bytes are per element. A chunk is read before its place is written, and `out` may be x only for equal sizes.
template <UnaryFn kToF32, UnaryFn kFromF32, int kFromBytes, int kToBytes>
void ThroughF32(const void* x, void* out, int64_t n) {
  float middle[kChunk];
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t length = ChunkLength(begin, n);
    kToF32(static_cast<const char*>(x) + begin * kFromBytes, middle, length);
    kFromF32(middle, static_cast<char*>(out) + begin * kToBytes, length);
  }
}

struct Setter {
  Table& table;
  void Set(DType from, DType to, UnaryFn nearest, UnaryFn toward_zero) const {
    table.cast[0][static_cast<int>(from)][static_cast<int>(to)] = nearest;
    table.cast[1][static_cast<int>(from)][static_cast<int>(to)] = toward_zero;
  }
  void Set(DType from, DType to, UnaryFn both) const { Set(from, to, both, both); }
};

template <typename T, typename Format>
void RegisterIntNarrow(const Setter& setter, DType dtype) {
  using S = typename Format::Storage;
  setter.Set(dtype, Format::kDType, ThroughF32<UnaryLoop<Convert<T, float>, T, float>, EncodeArray<Format>, sizeof(T), sizeof(S)>);
  if (dtype == DType::kI1) return;
  setter.Set(Format::kDType, dtype, ThroughF32<DecodeArray<Format>, UnaryLoop<Saturate<float, T>, float, T>, sizeof(S), sizeof(T)>);
}

// To a wider type by the sign of the source; to one no wider by cutting, which no sign changes.
template <typename T, typename R>
constexpr UnaryFn IntToInt() {
  if constexpr (sizeof(R) == sizeof(T)) return Copy<sizeof(T)>;
  if constexpr (sizeof(R) < sizeof(T)) {
    return UnaryLoop<Convert<typename UnsignedOf<T>::Type, R>, typename UnsignedOf<T>::Type, R>;
  } else {
    return UnaryLoop<Convert<T, R>, T, R>;
  }
}

template <typename T>
void RegisterInt(const Setter& setter, DType dtype) {
  for (DType to : {DType::kI8, DType::kU8}) setter.Set(dtype, to, IntToInt<T, uint8_t>());
  for (DType to : {DType::kI16, DType::kU16}) setter.Set(dtype, to, IntToInt<T, uint16_t>());
  for (DType to : {DType::kI32, DType::kU32}) setter.Set(dtype, to, IntToInt<T, uint32_t>());
  for (DType to : {DType::kI64, DType::kU64}) setter.Set(dtype, to, IntToInt<T, uint64_t>());
  setter.Set(dtype, DType::kI1, UnaryLoop<NonZero<typename UnsignedOf<T>::Type>, typename UnsignedOf<T>::Type, uint8_t>);
  setter.Set(dtype, DType::kF32, UnaryLoop<Convert<T, float>, T, float>);
  setter.Set(dtype, DType::kF64, UnaryLoop<Convert<T, double>, T, double>);
  if (dtype != DType::kI1) {
    setter.Set(DType::kF32, dtype, UnaryLoop<Saturate<float, T>, float, T>);
    setter.Set(DType::kF64, dtype, UnaryLoop<Saturate<double, T>, double, T>);
  }
  RegisterIntNarrow<T, F16Format>(setter, dtype);
  RegisterIntNarrow<T, Bf16Format>(setter, dtype);
  RegisterIntNarrow<T, F8E4M3Format>(setter, dtype);
  RegisterIntNarrow<T, F8E5M2Format>(setter, dtype);
}

template <typename From, typename To>
void RegisterNarrowPair(const Setter& setter) {
  constexpr int kFromBytes = sizeof(typename From::Storage);
  constexpr int kToBytes = sizeof(typename To::Storage);
  setter.Set(From::kDType, To::kDType, ThroughF32<DecodeArray<From>, EncodeArray<To>, kFromBytes, kToBytes>,
             ThroughF32<DecodeArray<From>, UnaryLoop<EncodeRtz<To>, float, typename To::Storage>, kFromBytes, kToBytes>);
}

template <typename Format>
void RegisterNarrow(const Setter& setter) {
  using S = typename Format::Storage;
  constexpr DType kDType = Format::kDType;
  setter.Set(kDType, DType::kF32, DecodeArray<Format>);
  setter.Set(DType::kF32, kDType, EncodeArray<Format>, UnaryLoop<EncodeRtz<Format>, float, S>);
  setter.Set(kDType, DType::kF64, ThroughF32<DecodeArray<Format>, UnaryLoop<Convert<float, double>, float, double>, sizeof(S), 8>);
  setter.Set(DType::kF64, kDType, UnaryLoop<EncodeF64<Format>, double, S>, UnaryLoop<EncodeF64Rtz<Format>, double, S>);
  setter.Set(kDType, DType::kI1, UnaryLoop<NonZeroFloat<S>, S, uint8_t>);
  RegisterNarrowPair<Format, F16Format>(setter);
  RegisterNarrowPair<Format, Bf16Format>(setter);
  RegisterNarrowPair<Format, F8E4M3Format>(setter);
  RegisterNarrowPair<Format, F8E5M2Format>(setter);
}

}  // namespace

void RegisterCast(Table& table) {
  const Setter setter{table};
  RegisterInt<uint8_t>(setter, DType::kI1);
  RegisterInt<int8_t>(setter, DType::kI8);
  RegisterInt<int16_t>(setter, DType::kI16);
  RegisterInt<int32_t>(setter, DType::kI32);
  RegisterInt<int64_t>(setter, DType::kI64);
  RegisterInt<uint8_t>(setter, DType::kU8);
  RegisterInt<uint16_t>(setter, DType::kU16);
  RegisterInt<uint32_t>(setter, DType::kU32);
  RegisterInt<uint64_t>(setter, DType::kU64);
  RegisterNarrow<F16Format>(setter);
  RegisterNarrow<Bf16Format>(setter);
  RegisterNarrow<F8E4M3Format>(setter);
  RegisterNarrow<F8E5M2Format>(setter);
  setter.Set(DType::kF32, DType::kF64, UnaryLoop<Convert<float, double>, float, double>);
  setter.Set(DType::kF64, DType::kF32, UnaryLoop<Convert<double, float>, double, float>, UnaryLoop<F64ToF32Rtz, double, float>);
  setter.Set(DType::kF32, DType::kI1, UnaryLoop<NonZeroFloat<uint32_t>, uint32_t, uint8_t>);
  setter.Set(DType::kF64, DType::kI1, UnaryLoop<NonZeroFloat<uint64_t>, uint64_t, uint8_t>);
  for (DType dtype : isa::kAllDTypes) {
    const int bytes = isa::StorageBytes(dtype);
    setter.Set(dtype, dtype, bytes == 1 ? Copy<1> : bytes == 2 ? Copy<2> : bytes == 4 ? Copy<4> : Copy<8>);
  }
}

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
