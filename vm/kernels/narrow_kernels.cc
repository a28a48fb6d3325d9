// Ops of f16, bf16 and fp8: a chunk is decoded to f32, the f32 kernel runs, the result is rounded back. What must not round works on bits.
#include "vm/kernels/loops.h"

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {
namespace {

// The f32 kernels are looked up in the table that is being filled: RegisterFloat and RegisterMath come first. One slot per op, so that
// each narrow kernel is a plain function without an argument more.
template <Op kOp>
struct F32Slot {
  static UnaryFn unary;
  static BinaryFn binary;
};
template <Op kOp>
UnaryFn F32Slot<kOp>::unary = nullptr;
template <Op kOp>
BinaryFn F32Slot<kOp>::binary = nullptr;

template <typename Format, Op kOp>
void NarrowUnary(const void* x, void* out, int64_t n) {
  using S = typename Format::Storage;
  float buffer[kChunk];
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t length = ChunkLength(begin, n);
    DecodeArray<Format>(static_cast<const S*>(x) + begin, buffer, length);
    F32Slot<kOp>::unary(buffer, buffer, length);
    EncodeArray<Format>(buffer, static_cast<S*>(out) + begin, length);
  }
}

// isnan, isinf, isfinite (R is uint8_t) and llrint (int64_t).
template <typename Format, Op kOp, typename R>
void NarrowClass(const void* x, void* out, int64_t n) {
  float buffer[kChunk];
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t length = ChunkLength(begin, n);
    DecodeArray<Format>(static_cast<const typename Format::Storage*>(x) + begin, buffer, length);
    F32Slot<kOp>::unary(buffer, static_cast<R*>(out) + begin, length);
  }
}

template <typename Format, Op kOp>
void NarrowBinary(const void* x, const void* y, void* out, int64_t n) {
  using S = typename Format::Storage;
  float a[kChunk], b[kChunk];
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t length = ChunkLength(begin, n);
    DecodeArray<Format>(static_cast<const S*>(x) + begin, a, length);
    DecodeArray<Format>(static_cast<const S*>(y) + begin, b, length);
    F32Slot<kOp>::binary(a, b, a, length);
    EncodeArray<Format>(a, static_cast<S*>(out) + begin, length);
  }
}

template <typename Format, Op kOp>
void NarrowCompare(const void* x, const void* y, void* out, int64_t n) {
  using S = typename Format::Storage;
  float a[kChunk], b[kChunk];
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t length = ChunkLength(begin, n);
    DecodeArray<Format>(static_cast<const S*>(x) + begin, a, length);
    DecodeArray<Format>(static_cast<const S*>(y) + begin, b, length);
    F32Slot<kOp>::binary(a, b, static_cast<uint8_t*>(out) + begin, length);
  }
}

template <typename Format>
void NarrowPowInt(const void* x, const void* y, void* out, int64_t n) {
  using S = typename Format::Storage;
  const S* a = static_cast<const S*>(x);
  const int32_t* b = static_cast<const int32_t*>(y);
  S* r = static_cast<S*>(out);
  for (int64_t i = 0; i < n; ++i) {
    r[i] = Format::Encode(static_cast<float>(__builtin_pow(static_cast<double>(Format::Decode(a[i])), static_cast<double>(b[i]))));
  }
}

template <typename S>
inline constexpr S kSignBit = static_cast<S>(S(1) << (8 * sizeof(S) - 1));

struct Neg { template <typename S> static S Apply(S x) { return x ^ kSignBit<S>; } };
struct Abs { template <typename S> static S Apply(S x) { return x & static_cast<S>(~kSignBit<S>); } };
struct CopySign {
  template <typename S>
  static S Apply(S x, S y) { return (x & static_cast<S>(~kSignBit<S>)) | (y & kSignBit<S>); }
};
template <typename Format>
struct Fma {
  using S = typename Format::Storage;
  static S Apply(S x, S y, S z) {
    return Format::Encode(isa::F64ToF32Odd(isa::FmaNarrowOdd(Format::Decode(x), Format::Decode(y), Format::Decode(z))));
  }
};
template <typename Format, bool kPropagateNan>
struct Clamp {
  using S = typename Format::Storage;
  static S Apply(S x, S low, S high) {
    return NarrowExtreme<S, Format::kInfinity, false, kPropagateNan>::Apply(
        NarrowExtreme<S, Format::kInfinity, true, kPropagateNan>::Apply(x, low), high);
  }
};

template <typename Format, Op... kOps>
void RegisterUnary(Table& table) {
  constexpr DType kDType = Format::kDType;
  ((F32Slot<kOps>::unary = table.unary[static_cast<int>(kOps)][static_cast<int>(DType::kF32)],
    SetUnary(table, kOps, kDType, NarrowUnary<Format, kOps>)),
   ...);
}

template <typename Format, typename R, Op... kOps>
void RegisterClasses(Table& table) {
  ((F32Slot<kOps>::unary = table.unary[static_cast<int>(kOps)][static_cast<int>(DType::kF32)],
    SetUnary(table, kOps, Format::kDType, NarrowClass<Format, kOps, R>)),
   ...);
}

template <typename Format, Op... kOps>
void RegisterBinary(Table& table) {
  using S = typename Format::Storage;
  ((F32Slot<kOps>::binary = table.binary[0][static_cast<int>(kOps)][static_cast<int>(DType::kF32)],
    SetBinary(table, kOps, Format::kDType, WithSplats<NarrowBinary<Format, kOps>, S, S>())),
   ...);
}

template <typename Format, Op... kOps>
void RegisterCompares(Table& table) {
  using S = typename Format::Storage;
  ((F32Slot<kOps>::binary = table.binary[0][static_cast<int>(kOps)][static_cast<int>(DType::kF32)],
    SetBinary(table, kOps, Format::kDType, WithSplats<NarrowCompare<Format, kOps>, S, uint8_t>())),
   ...);
}

template <typename Format>
void RegisterFormat(Table& table) {
  using S = typename Format::Storage;
  constexpr DType kDType = Format::kDType;
  constexpr uint32_t kInfinity = Format::kInfinity;
  RegisterUnary<Format, Op::kSqrt, Op::kRsqrt, Op::kExp, Op::kLibExp, Op::kExp2, Op::kLibExp2, Op::kLog, Op::kLibLog, Op::kLog2,
                Op::kLibLog2, Op::kSin, Op::kCos, Op::kTanh, Op::kErf, Op::kFloor, Op::kCeil, Op::kTrunc, Op::kRound, Op::kRint, Op::kLog10,
                Op::kLog1p, Op::kExpm1, Op::kTan, Op::kAsin, Op::kAcos, Op::kAtan, Op::kSinh, Op::kCosh, Op::kAsinh, Op::kAcosh, Op::kAtanh,
                Op::kErfc, Op::kCbrt>(table);
  RegisterClasses<Format, uint8_t, Op::kIsNan, Op::kIsInf, Op::kIsFinite>(table);
  RegisterClasses<Format, int64_t, Op::kLlRint>(table);
  RegisterBinary<Format, Op::kAdd, Op::kSub, Op::kMul, Op::kTrueDiv, Op::kFDiv, Op::kDivRn, Op::kMod, Op::kFMod, Op::kAtan2, Op::kLibPow>(
      table);
  RegisterCompares<Format, Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kEq, Op::kNe>(table);
  SetUnary(table, Op::kNeg, kDType, UnaryLoop<Neg, S, S>);
  SetUnary(table, Op::kAbs, kDType, UnaryLoop<Abs, S, S>);
  SetBinary(table, Op::kCopySign, kDType, BinaryLoops<CopySign, S, S>());
  SetBinary(table, Op::kMaximum, kDType, BinaryLoops<NarrowExtreme<S, kInfinity, true, false>, S, S>());
  SetBinary(table, Op::kMinimum, kDType, BinaryLoops<NarrowExtreme<S, kInfinity, false, false>, S, S>());
  SetNanAware(table, Op::kMaximum, kDType, BinaryLoops<NarrowExtreme<S, kInfinity, true, true>, S, S>());
  SetNanAware(table, Op::kMinimum, kDType, BinaryLoops<NarrowExtreme<S, kInfinity, false, true>, S, S>());
  table.pow_int[static_cast<int>(kDType)] = NarrowPowInt<Format>;
  table.fma[static_cast<int>(kDType)] = TernaryLoop<Fma<Format>, S, S>;
  table.clamp[0][static_cast<int>(kDType)] = TernaryLoop<Clamp<Format, false>, S, S>;
  table.clamp[1][static_cast<int>(kDType)] = TernaryLoop<Clamp<Format, true>, S, S>;
}

}  // namespace

void RegisterNarrow(Table& table) {
  RegisterFormat<F16Format>(table);
  RegisterFormat<Bf16Format>(table);
  RegisterFormat<F8E4M3Format>(table);
  RegisterFormat<F8E5M2Format>(table);
}

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
