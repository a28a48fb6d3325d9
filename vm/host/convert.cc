#include "vm/host/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "isa/eval.h"

namespace tilevm::vm::host {
namespace {

using isa::DType;

float FromBits(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint32_t ToBits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

float HalfToFloat(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  const uint32_t rest = h & 0x7fff;
  if (rest >= 0x7c00) return FromBits(sign | 0x7f800000u | ((rest & 0x3ff) << 13));
  // An exact product: places the half's bits as a float with a too small exponent, denormals included.
  return FromBits(sign | ToBits(FromBits(rest << 13) * FromBits(0x77800000u)));  // * 2^112
}

uint16_t FloatToHalf(float f) {
  const uint32_t bits = ToBits(f);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00);
  if (rest >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00);  // from 65520 up
  if (rest < 0x38800000u) {  // denormal half: one float addition rounds at the right bit
    const float shifted = FromBits(rest) + 0.5f;  // ulp of 0.5 is 2^-24, the half's least step
    return static_cast<uint16_t>(sign | (ToBits(shifted) - ToBits(0.5f)));
  }
  const uint32_t rounded = rest + 0xfffu + ((rest >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

uint16_t FloatToBf16(float f) {
  const uint32_t bits = ToBits(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

const std::array<float, 256>& Fp8Table(DType dtype) {
  static const auto* tables = [] {
    auto* t = new std::array<std::array<float, 256>, 2>;
    for (int i = 0; i < 256; ++i) {
      (*t)[0][i] = static_cast<float>(isa::ScalarToDouble(DType::kF8E4M3, isa::Scalar{static_cast<uint64_t>(i)}));
      (*t)[1][i] = static_cast<float>(isa::ScalarToDouble(DType::kF8E5M2, isa::Scalar{static_cast<uint64_t>(i)}));
    }
    return t;
  }();
  return (*tables)[dtype == DType::kF8E4M3 ? 0 : 1];
}

// Rounds a double to a float so that a second rounding to 16 or 8 bits is right: to odd.
float RoundToOdd(double d) {
  const float f = static_cast<float>(d);
  if (static_cast<double>(f) == d || std::isnan(d) || std::isinf(f)) return f;
  const uint32_t bits = ToBits(f);
  if (bits & 1) return f;
  // f was rounded away from d or towards it by less than one step: take the neighbour on d's side, which is odd.
  return (std::fabs(static_cast<double>(f)) < std::fabs(d)) ? FromBits(bits + 1) : FromBits(bits - 1);
}

template <typename Int, typename From>
Int ToInt(From x) {
  if constexpr (std::is_same_v<From, int64_t>) {
    return static_cast<Int>(x);
  } else {
    if (!(x == x)) return 0;
    if (x <= static_cast<From>(std::numeric_limits<Int>::min())) return std::numeric_limits<Int>::min();
    if (x >= static_cast<From>(std::numeric_limits<Int>::max())) return std::numeric_limits<Int>::max();
    return static_cast<Int>(x);
  }
}

template <typename Stored, typename Out>
void LoadAs(const std::byte* base, int64_t n, Out* out) {
  if constexpr (std::is_same_v<Stored, Out>) {
    std::memcpy(out, base, n * sizeof(Out));
    return;
  }
  const Stored* in = reinterpret_cast<const Stored*>(base);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<Stored> && std::is_integral_v<Out>) {
      out[i] = ToInt<Out>(in[i]);
    } else {
      out[i] = static_cast<Out>(in[i]);
    }
  }
}

template <typename Out>
Out FromFloat(float f) {
  if constexpr (std::is_integral_v<Out>) {
    return ToInt<Out>(f);
  } else {
    return f;
  }
}

template <typename Out>
void Load(DType dtype, const std::byte* base, int64_t n, Out* out) {
  switch (dtype) {
    case DType::kI1: {
      const uint8_t* in = reinterpret_cast<const uint8_t*>(base);
      for (int64_t i = 0; i < n; ++i) out[i] = in[i] != 0 ? 1 : 0;
      return;
    }
    case DType::kI8: return LoadAs<int8_t>(base, n, out);
    case DType::kI16: return LoadAs<int16_t>(base, n, out);
    case DType::kI32: return LoadAs<int32_t>(base, n, out);
    case DType::kI64: return LoadAs<int64_t>(base, n, out);
    case DType::kU8: return LoadAs<uint8_t>(base, n, out);
    case DType::kU16: return LoadAs<uint16_t>(base, n, out);
    case DType::kU32: return LoadAs<uint32_t>(base, n, out);
    case DType::kU64: return LoadAs<uint64_t>(base, n, out);
    case DType::kF32: return LoadAs<float>(base, n, out);
    case DType::kF64: return LoadAs<double>(base, n, out);
    case DType::kF16: {
      const uint16_t* in = reinterpret_cast<const uint16_t*>(base);
      for (int64_t i = 0; i < n; ++i) out[i] = FromFloat<Out>(HalfToFloat(in[i]));
      return;
    }
    case DType::kBF16: {
      const uint16_t* in = reinterpret_cast<const uint16_t*>(base);
      for (int64_t i = 0; i < n; ++i) out[i] = FromFloat<Out>(FromBits(static_cast<uint32_t>(in[i]) << 16));
      return;
    }
    case DType::kF8E4M3:
    case DType::kF8E5M2: {
      const auto& table = Fp8Table(dtype);
      const uint8_t* in = reinterpret_cast<const uint8_t*>(base);
      for (int64_t i = 0; i < n; ++i) out[i] = FromFloat<Out>(table[in[i]]);
      return;
    }
  }
}

template <typename Stored, typename In>
void StoreAs(std::byte* base, int64_t n, const In* in) {
  Stored* out = reinterpret_cast<Stored*>(base);
  if constexpr (std::is_same_v<Stored, In>) {
    std::memcpy(base, in, n * sizeof(In));
  } else if constexpr (std::is_integral_v<Stored>) {
    for (int64_t i = 0; i < n; ++i) out[i] = ToInt<Stored>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Stored>(in[i]);
  }
}

template <typename In>
float NarrowingFloat(In x) {
  if constexpr (std::is_same_v<In, double>) {
    return RoundToOdd(x);
  } else {
    return static_cast<float>(x);
  }
}

template <typename In>
void Store(DType dtype, std::byte* base, int64_t n, const In* in) {
  switch (dtype) {
    case DType::kI1: {
      uint8_t* out = reinterpret_cast<uint8_t*>(base);
      for (int64_t i = 0; i < n; ++i) out[i] = in[i] != 0 ? 1 : 0;
      return;
    }
    case DType::kI8: return StoreAs<int8_t>(base, n, in);
    case DType::kI16: return StoreAs<int16_t>(base, n, in);
    case DType::kI32: return StoreAs<int32_t>(base, n, in);
    case DType::kI64: return StoreAs<int64_t>(base, n, in);
    case DType::kU8: return StoreAs<uint8_t>(base, n, in);
    case DType::kU16: return StoreAs<uint16_t>(base, n, in);
    case DType::kU32: return StoreAs<uint32_t>(base, n, in);
    case DType::kU64: return StoreAs<uint64_t>(base, n, in);
    case DType::kF32: return StoreAs<float>(base, n, in);
    case DType::kF64: return StoreAs<double>(base, n, in);
    case DType::kF16: {
      uint16_t* out = reinterpret_cast<uint16_t*>(base);
      for (int64_t i = 0; i < n; ++i) out[i] = FloatToHalf(NarrowingFloat(in[i]));
      return;
    }
    case DType::kBF16: {
      uint16_t* out = reinterpret_cast<uint16_t*>(base);
      for (int64_t i = 0; i < n; ++i) out[i] = FloatToBf16(NarrowingFloat(in[i]));
      return;
    }
    case DType::kF8E4M3:
    case DType::kF8E5M2: {
      uint8_t* out = reinterpret_cast<uint8_t*>(base);
      for (int64_t i = 0; i < n; ++i) {
        const float narrow = NarrowingFloat(in[i]);
        // torch's casts do not saturate, unlike those of kernels: beyond the largest number is nan, or inf where there is one.
        if (dtype == DType::kF8E4M3 ? std::fabs(narrow) > 464 : std::fabs(narrow) >= 61440) {
          out[i] = static_cast<uint8_t>((std::signbit(narrow) ? 0x80 : 0) | (dtype == DType::kF8E4M3 ? 0x7f : 0x7c));
          continue;
        }
        const isa::Scalar x{ToBits(narrow)};
        out[i] = static_cast<uint8_t>(isa::EvalCast(DType::kF32, dtype, isa::Rounding::kNearestEven, x).bits);
      }
      return;
    }
  }
}

}  // namespace

void LoadElems(DType dtype, const std::byte* base, int64_t n, float* out) { Load(dtype, base, n, out); }
void LoadElems(DType dtype, const std::byte* base, int64_t n, double* out) { Load(dtype, base, n, out); }
void LoadElems(DType dtype, const std::byte* base, int64_t n, int64_t* out) { Load(dtype, base, n, out); }
void StoreElems(DType dtype, std::byte* base, int64_t n, const float* in) { Store(dtype, base, n, in); }
void StoreElems(DType dtype, std::byte* base, int64_t n, const double* in) { Store(dtype, base, n, in); }
void StoreElems(DType dtype, std::byte* base, int64_t n, const int64_t* in) { Store(dtype, base, n, in); }

ComputeKind ComputeKindOf(DType dtype) {
  if (!isa::IsFloat(dtype)) return ComputeKind::kInt;
  return dtype == DType::kF64 ? ComputeKind::kDouble : ComputeKind::kFloat;
}

void ConvertElems(DType from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  if (from == to) {
    std::memcpy(out, in, n * isa::StorageBytes(from));
    return;
  }
  constexpr int64_t kStrip = 1024;
  // Integers go through int64 (u64 to float through double), f64 through double, the rest through float.
  const bool through_int = !isa::IsFloat(from) && !(from == DType::kU64 && isa::IsFloat(to));
  const bool through_float = ComputeKindOf(from) == ComputeKind::kFloat;
  for (int64_t begin = 0; begin < n; begin += kStrip) {
    const int64_t count = std::min(kStrip, n - begin);
    const std::byte* source = in + begin * isa::StorageBytes(from);
    std::byte* target = out + begin * isa::StorageBytes(to);
    if (through_int) {
      int64_t buffer[kStrip];
      LoadElems(from, source, count, buffer);
      StoreElems(to, target, count, buffer);
    } else if (through_float) {
      float buffer[kStrip];
      LoadElems(from, source, count, buffer);
      StoreElems(to, target, count, buffer);
    } else {
      double buffer[kStrip];
      LoadElems(from, source, count, buffer);
      StoreElems(to, target, count, buffer);
    }
  }
}

}  // namespace tilevm::vm::host
