// How each element type is folded: what it is read as, what it is accumulated in, and the combining step. Shared by reductions and scans;
// included only by files compiled per level.
#ifndef TILEVM_VM_KERNELS_FOLDS_H_
#define TILEVM_VM_KERNELS_FOLDS_H_

#include "vm/kernels/loops.h"

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {

// Stored and accumulated alike: integers, f32, f64, and the bits of narrow floats under max and min.
template <typename T>
struct Plain {
  using Storage = T;
  using Accumulator = T;
  static T Load(T x) { return x; }
  static T Finish(T x) { return x; }
};

// A narrow float summed in f32.
template <typename Format>
struct Decoded {
  using Storage = typename Format::Storage;
  using Accumulator = float;
  static float Load(Storage x) { return Format::Decode(x); }
  static Storage Finish(float x) { return Format::Encode(x); }
};

// Calls visitor.template operator()<Traits, Combine>(kind, dtype) for every fold; FloatTraits<T> and NarrowTraits<Format> say how floats are
// summed (reductions and scans differ).
template <template <typename> class FloatTraits, template <typename> class NarrowTraits>
struct EachFold {
  template <typename T, typename Visitor>
  static void Integer(const Visitor& visitor, DType dtype) {
    using U = typename UnsignedOf<T>::Type;
    visitor.template Visit<Plain<U>, IntAdd>(FoldKind::kAdd, dtype);
    visitor.template Visit<Plain<U>, IntMul>(FoldKind::kMul, dtype);
    visitor.template Visit<Plain<U>, IntXor>(FoldKind::kXor, dtype);
    visitor.template Visit<Plain<U>, IntAnd>(FoldKind::kAnd, dtype);
    visitor.template Visit<Plain<U>, IntOr>(FoldKind::kOr, dtype);
    visitor.template Visit<Plain<T>, IntMax>(FoldKind::kMax, dtype);
    visitor.template Visit<Plain<T>, IntMin>(FoldKind::kMin, dtype);
  }

  template <typename T, typename Visitor>
  static void Float(const Visitor& visitor, DType dtype) {
    visitor.template Visit<FloatTraits<T>, FloatAdd>(FoldKind::kAdd, dtype);
    visitor.template Visit<FloatTraits<T>, FloatMul>(FoldKind::kMul, dtype);
    visitor.template Visit<Plain<T>, FloatExtreme<true, false>>(FoldKind::kMax, dtype);
    visitor.template Visit<Plain<T>, FloatExtreme<false, false>>(FoldKind::kMin, dtype);
  }

  template <typename Format, typename Visitor>
  static void Narrow(const Visitor& visitor) {
    using S = typename Format::Storage;
    visitor.template Visit<NarrowTraits<Format>, FloatAdd>(FoldKind::kAdd, Format::kDType);
    visitor.template Visit<NarrowTraits<Format>, FloatMul>(FoldKind::kMul, Format::kDType);
    visitor.template Visit<Plain<S>, NarrowExtreme<S, Format::kInfinity, true, false>>(FoldKind::kMax, Format::kDType);
    visitor.template Visit<Plain<S>, NarrowExtreme<S, Format::kInfinity, false, false>>(FoldKind::kMin, Format::kDType);
  }

  // i1: one bit in a byte, so a sum is an exclusive or and a product an and.
  template <typename Visitor>
  static void Bool(const Visitor& visitor) {
    visitor.template Visit<Plain<uint8_t>, IntXor>(FoldKind::kAdd, DType::kI1);
    visitor.template Visit<Plain<uint8_t>, IntAnd>(FoldKind::kMul, DType::kI1);
    visitor.template Visit<Plain<uint8_t>, IntXor>(FoldKind::kXor, DType::kI1);
    visitor.template Visit<Plain<uint8_t>, IntAnd>(FoldKind::kAnd, DType::kI1);
    visitor.template Visit<Plain<uint8_t>, IntOr>(FoldKind::kOr, DType::kI1);
    visitor.template Visit<Plain<uint8_t>, IntOr>(FoldKind::kMax, DType::kI1);
    visitor.template Visit<Plain<uint8_t>, IntAnd>(FoldKind::kMin, DType::kI1);
  }

  template <typename Visitor>
  static void All(const Visitor& visitor) {
    Bool(visitor);
    Integer<int8_t>(visitor, DType::kI8);
    Integer<int16_t>(visitor, DType::kI16);
    Integer<int32_t>(visitor, DType::kI32);
    Integer<int64_t>(visitor, DType::kI64);
    Integer<uint8_t>(visitor, DType::kU8);
    Integer<uint16_t>(visitor, DType::kU16);
    Integer<uint32_t>(visitor, DType::kU32);
    Integer<uint64_t>(visitor, DType::kU64);
    Float<float>(visitor, DType::kF32);
    Float<double>(visitor, DType::kF64);
    Narrow<F16Format>(visitor);
    Narrow<Bf16Format>(visitor);
    Narrow<F8E4M3Format>(visitor);
    Narrow<F8E5M2Format>(visitor);
  }
};

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL

#endif  // TILEVM_VM_KERNELS_FOLDS_H_
