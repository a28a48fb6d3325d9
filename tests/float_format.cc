// One routine for every format, from its numbers of exponent and mantissa bits.
#include "tests/float_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tilevm::tests {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // e4m3fn has none: all ones is NaN, the rest of the top binade is finite
  bool saturates;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t nan() const { return has_infinity ? infinity() | uint64_t{1} << (mantissa_bits - 1) : sign() - 1; }
  uint64_t largest() const { return has_infinity ? infinity() - 1 : sign() - 2; }
};

Format FormatOf(isa::DType dtype) {
  switch (dtype) {
    case isa::DType::kF16: return {5, 10, true, false};
    case isa::DType::kBF16: return {8, 7, true, false};
    case isa::DType::kF32: return {8, 23, true, false};
    case isa::DType::kF8E4M3: return {4, 3, false, true};
    case isa::DType::kF8E5M2: return {5, 2, true, true};
    default: return {11, 52, true, false};
  }
}

}  // namespace

uint64_t EncodeFloat(isa::DType dtype, double value) {
  if (dtype == isa::DType::kF64) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  Format f = FormatOf(dtype);
  uint64_t sign = std::signbit(value) ? f.sign() : 0;
  if (std::isnan(value)) return f.nan();
  double magnitude = std::fabs(value);
  uint64_t limit = f.saturates ? f.largest() : f.infinity();
  if (std::isinf(magnitude)) return sign | limit;
  if (magnitude == 0) return sign;
  int exponent;
  std::frexp(magnitude, &exponent);               // magnitude in [2^(exponent-1), 2^exponent)
  int unit = std::max(exponent - 1, 1 - f.bias()) - f.mantissa_bits;  // exponent of the last place; subnormals share one
  double scaled = std::nearbyint(std::ldexp(magnitude, -unit));       // exact, then nearest even
  // The encoding is monotonic, so a carry out of the mantissa moves into the exponent by itself.
  int binade = unit + f.mantissa_bits + f.bias();  // biased exponent of a normal number with this unit; 1 for subnormals too
  uint64_t bits = (static_cast<uint64_t>(binade - 1) << f.mantissa_bits) + static_cast<uint64_t>(scaled);
  return sign | std::min(bits, limit);
}

double DecodeFloat(isa::DType dtype, uint64_t bits) {
  if (dtype == isa::DType::kF64) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  Format f = FormatOf(dtype);
  if (IsNanBits(dtype, bits)) return std::numeric_limits<double>::quiet_NaN();
  uint64_t magnitude = bits & (f.sign() - 1);
  double sign = (bits & f.sign()) != 0 ? -1.0 : 1.0;
  if (f.has_infinity && magnitude == f.infinity()) return sign * std::numeric_limits<double>::infinity();
  uint64_t exponent = magnitude >> f.mantissa_bits;
  uint64_t mantissa = magnitude & ((uint64_t{1} << f.mantissa_bits) - 1);
  if (exponent != 0) mantissa |= uint64_t{1} << f.mantissa_bits;
  int unit = static_cast<int>(exponent == 0 ? 1 : exponent) - f.bias() - f.mantissa_bits;
  return sign * std::ldexp(static_cast<double>(mantissa), unit);
}

bool IsNanBits(isa::DType dtype, uint64_t bits) {
  if (!isa::IsFloat(dtype)) return false;
  Format f = FormatOf(dtype);
  uint64_t magnitude = bits & (f.sign() - 1);
  return f.has_infinity ? magnitude > f.infinity() : magnitude == f.sign() - 1;
}

}  // namespace tilevm::tests
