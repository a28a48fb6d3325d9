// Integer ops and select. Signedness matters only to compare, shift right, divide, max, min and abs; the others are shared by width.
#include "vm/kernels/loops.h"

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {
namespace {

template <typename T>
inline constexpr bool kIsSigned = T(-1) < T(0);
template <typename T>
inline constexpr unsigned kWidth = 8 * sizeof(T);

struct Sub { template <typename U> static U Apply(U x, U y) { return static_cast<U>(Wide<U>(x) - Wide<U>(y)); } };
struct Neg { template <typename U> static U Apply(U x) { return static_cast<U>(0u - Wide<U>(x)); } };
struct Invert { template <typename U> static U Apply(U x) { return static_cast<U>(~x); } };
struct Shl {
  template <typename U>
  static U Apply(U x, U y) {
    const U shifted = static_cast<U>(Wide<U>(x) << (y & (kWidth<U> - 1)));
    return y < kWidth<U> ? shifted : U(0);
  }
};
struct Shr {
  template <typename T>
  static T Apply(T x, T count) {
    using U = typename UnsignedOf<T>::Type;
    const U y = static_cast<U>(count);
    if constexpr (kIsSigned<T>) {
      return static_cast<T>(x >> (y < kWidth<T> ? y : U(kWidth<T> - 1)));
    } else {
      const T shifted = static_cast<T>(x >> (y & (kWidth<T> - 1)));
      return y < kWidth<T> ? shifted : T(0);
    }
  }
};
struct Abs {
  template <typename T>
  static T Apply(T x) {
    using U = typename UnsignedOf<T>::Type;
    if constexpr (kIsSigned<T>) return x < 0 ? static_cast<T>(0u - Wide<U>(static_cast<U>(x))) : x;
    return x;
  }
};

// The divisor is replaced where the machine would trap; the answer is then put right.
struct FloorDiv {
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (kIsSigned<T>) {
      using U = typename UnsignedOf<T>::Type;
      const T negated = static_cast<T>(0u - Wide<U>(static_cast<U>(x)));
      const bool special = (y == 0) | (y == T(-1));
      const T quotient = static_cast<T>(x / (special ? T(1) : y));
      return y == 0 ? T(-1) : y == T(-1) ? negated : quotient;
    } else {
      const T quotient = static_cast<T>(x / (y == 0 ? T(1) : y));
      return y == 0 ? static_cast<T>(~T(0)) : quotient;
    }
  }
};
struct Mod {
  template <typename T>
  static T Apply(T x, T y) {
    const bool special = (y == 0) | (kIsSigned<T> & (y == static_cast<T>(-1)));
    const T remainder = static_cast<T>(x % (special ? T(1) : y));
    return y == 0 ? x : special ? T(0) : remainder;
  }
};

// Quotients of 32-bit numbers in f64: two such integers differ from a whole quotient by more than f64's rounding, so truncation is exact,
// and the division is a vector instruction.
struct FloorDiv32 {
  static int32_t Apply(int32_t x, int32_t y) {
    const int32_t negated = static_cast<int32_t>(0u - static_cast<uint32_t>(x));
    const bool special = (y == 0) | (y == -1);
    const int32_t quotient = static_cast<int32_t>(static_cast<double>(x) / static_cast<double>(special ? 1 : y));
    const int32_t result = y == -1 ? negated : quotient;
    return y == 0 ? -1 : result;
  }
};
struct Mod32 {
  static int32_t Apply(int32_t x, int32_t y) {
    const bool special = (y == 0) | (y == -1);
    const int32_t quotient = static_cast<int32_t>(static_cast<double>(x) / static_cast<double>(special ? 1 : y));
    const int32_t remainder = static_cast<int32_t>(static_cast<uint32_t>(x) - static_cast<uint32_t>(quotient) * static_cast<uint32_t>(y));
    const int32_t result = y == -1 ? 0 : remainder;
    return y == 0 ? x : result;
  }
};

struct Umulhi {
  static uint32_t Apply(uint32_t x, uint32_t y) { return static_cast<uint32_t>((uint64_t{x} * y) >> 32); }
  static uint64_t Apply(uint64_t x, uint64_t y) { return static_cast<uint64_t>((static_cast<unsigned __int128>(x) * y) >> 64); }
};

// i1: one bit in a byte.
struct BitNot { static uint8_t Apply(uint8_t x) { return x ^ 1; } };
struct BitSame { static uint8_t Apply(uint8_t x) { return x; } };
struct BitFloorDiv { static uint8_t Apply(uint8_t x, uint8_t y) { return x | (y ^ 1); } };
struct BitAndNot { static uint8_t Apply(uint8_t x, uint8_t y) { return x & (y ^ 1); } };  // x << y, x >> y, x % y

template <typename T>
void RegisterCompares(Table& table, DType dtype) {
  SetBinary(table, Op::kLt, dtype, BinaryLoops<Less, T, uint8_t>());
  SetBinary(table, Op::kLe, dtype, BinaryLoops<LessEqual, T, uint8_t>());
  SetBinary(table, Op::kGt, dtype, SwappedLoops<Less, T, uint8_t>());
  SetBinary(table, Op::kGe, dtype, SwappedLoops<LessEqual, T, uint8_t>());
  using U = typename UnsignedOf<T>::Type;
  SetBinary(table, Op::kEq, dtype, BinaryLoops<Equal, U, uint8_t>());
  SetBinary(table, Op::kNe, dtype, BinaryLoops<NotEqual, U, uint8_t>());
}

template <typename T>
void RegisterExtremes(Table& table, DType dtype) {
  SetBinary(table, Op::kMaximum, dtype, BinaryLoops<IntMax, T, T>());
  SetBinary(table, Op::kMinimum, dtype, BinaryLoops<IntMin, T, T>());
  SetNanAware(table, Op::kMaximum, dtype, BinaryLoops<IntMax, T, T>());
  SetNanAware(table, Op::kMinimum, dtype, BinaryLoops<IntMin, T, T>());
}

template <typename T>
void RegisterDType(Table& table, DType dtype) {
  using U = typename UnsignedOf<T>::Type;
  SetUnary(table, Op::kNeg, dtype, UnaryLoop<Neg, U, U>);
  SetUnary(table, Op::kInvert, dtype, UnaryLoop<Invert, U, U>);
  SetUnary(table, Op::kAbs, dtype, UnaryLoop<Abs, T, T>);
  SetBinary(table, Op::kAdd, dtype, BinaryLoops<IntAdd, U, U>());
  SetBinary(table, Op::kSub, dtype, BinaryLoops<Sub, U, U>());
  SetBinary(table, Op::kMul, dtype, BinaryLoops<IntMul, U, U>());
  SetBinary(table, Op::kBitAnd, dtype, BinaryLoops<IntAnd, U, U>());
  SetBinary(table, Op::kBitOr, dtype, BinaryLoops<IntOr, U, U>());
  SetBinary(table, Op::kBitXor, dtype, BinaryLoops<IntXor, U, U>());
  SetBinary(table, Op::kShl, dtype, BinaryLoops<Shl, U, U>());
  SetBinary(table, Op::kShr, dtype, BinaryLoops<Shr, T, T>());
  SetBinary(table, Op::kFloorDiv, dtype, BinaryLoops<FloorDiv, T, T>());
  SetBinary(table, Op::kMod, dtype, BinaryLoops<Mod, T, T>());
  if constexpr (sizeof(T) >= 4) SetBinary(table, Op::kUmulhi, dtype, BinaryLoops<Umulhi, U, U>());
  RegisterCompares<T>(table, dtype);
  RegisterExtremes<T>(table, dtype);
}

void RegisterBool(Table& table) {
  constexpr DType kBool = DType::kI1;
  SetUnary(table, Op::kNeg, kBool, UnaryLoop<BitSame, uint8_t, uint8_t>);
  SetUnary(table, Op::kAbs, kBool, UnaryLoop<BitSame, uint8_t, uint8_t>);
  SetUnary(table, Op::kInvert, kBool, UnaryLoop<BitNot, uint8_t, uint8_t>);
  for (Op op : {Op::kAdd, Op::kSub, Op::kBitXor}) SetBinary(table, op, kBool, BinaryLoops<IntXor, uint8_t, uint8_t>());
  for (Op op : {Op::kMul, Op::kBitAnd}) SetBinary(table, op, kBool, BinaryLoops<IntAnd, uint8_t, uint8_t>());
  SetBinary(table, Op::kBitOr, kBool, BinaryLoops<IntOr, uint8_t, uint8_t>());
  SetBinary(table, Op::kFloorDiv, kBool, BinaryLoops<BitFloorDiv, uint8_t, uint8_t>());
  for (Op op : {Op::kMod, Op::kShl, Op::kShr}) SetBinary(table, op, kBool, BinaryLoops<BitAndNot, uint8_t, uint8_t>());
  RegisterCompares<uint8_t>(table, kBool);
  RegisterExtremes<uint8_t>(table, kBool);
}

template <typename U>
void WhereLoop(const void* cond, const void* x, const void* y, void* out, int64_t n) {
  const uint8_t* c = static_cast<const uint8_t*>(cond);
  const U* a = static_cast<const U*>(x);
  const U* b = static_cast<const U*>(y);
  U* r = static_cast<U*>(out);
  TILEVM_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const U if_true = a[i], if_false = b[i];
    r[i] = c[i] != 0 ? if_true : if_false;
  }
}

}  // namespace

void RegisterInt(Table& table) {
  RegisterBool(table);
  RegisterDType<int8_t>(table, DType::kI8);
  RegisterDType<int16_t>(table, DType::kI16);
  RegisterDType<int32_t>(table, DType::kI32);
  RegisterDType<int64_t>(table, DType::kI64);
  RegisterDType<uint8_t>(table, DType::kU8);
  RegisterDType<uint16_t>(table, DType::kU16);
  RegisterDType<uint32_t>(table, DType::kU32);
  RegisterDType<uint64_t>(table, DType::kU64);
  SetBinary(table, Op::kFloorDiv, DType::kI32, BinaryLoops<FloorDiv32, int32_t, int32_t>());
  SetBinary(table, Op::kMod, DType::kI32, BinaryLoops<Mod32, int32_t, int32_t>());
  for (DType dtype : isa::kAllDTypes) {
    const int bytes = isa::StorageBytes(dtype);
    table.where[static_cast<int>(dtype)] =
        bytes == 1 ? WhereLoop<uint8_t> : bytes == 2 ? WhereLoop<uint16_t> : bytes == 4 ? WhereLoop<uint32_t> : WhereLoop<uint64_t>;
  }
}

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
