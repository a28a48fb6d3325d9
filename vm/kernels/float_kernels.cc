// Arithmetic, compare, max, min, fma and clamp of f32 and f64.
#include "vm/kernels/loops.h"

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {
namespace {

struct Sub { template <typename T> static T Apply(T x, T y) { return x - y; } };
struct Div { template <typename T> static T Apply(T x, T y) { return x / y; } };
struct Mod {
  static float Apply(float x, float y) { return __builtin_fmodf(x, y); }
  static double Apply(double x, double y) { return __builtin_fmod(x, y); }
};
struct Atan2 {
  template <typename T> static T Apply(T x, T y) { return static_cast<T>(__builtin_atan2(static_cast<double>(x), static_cast<double>(y))); }
};
struct Pow {
  template <typename T> static T Apply(T x, T y) { return static_cast<T>(__builtin_pow(static_cast<double>(x), static_cast<double>(y))); }
};
struct CopySign {
  static float Apply(float x, float y) { return __builtin_copysignf(x, y); }
  static double Apply(double x, double y) { return __builtin_copysign(x, y); }
};
struct Fma {
  static float Apply(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
  static double Apply(double x, double y, double z) { return __builtin_fma(x, y, z); }
};
template <bool kPropagateNan>
struct Clamp {
  template <typename T>
  static T Apply(T x, T low, T high) {
    return FloatExtreme<false, kPropagateNan>::Apply(FloatExtreme<true, kPropagateNan>::Apply(x, low), high);
  }
};

template <typename T>
void PowIntLoop(const void* x, const void* y, void* out, int64_t n) {
  const T* a = static_cast<const T*>(x);
  const int32_t* b = static_cast<const int32_t*>(y);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = static_cast<T>(__builtin_pow(static_cast<double>(a[i]), static_cast<double>(b[i])));
}

// Calls to libm: no vectors to win, so one loop for all forms.
template <typename F, typename T>
constexpr BinaryKernels CallLoops() {
  return WithSplats<BinaryLoop<F, T, T>, T, T>();
}

template <typename T>
void RegisterDType(Table& table, DType dtype) {
  SetBinary(table, Op::kAdd, dtype, BinaryLoops<FloatAdd, T, T>());
  SetBinary(table, Op::kSub, dtype, BinaryLoops<Sub, T, T>());
  SetBinary(table, Op::kMul, dtype, BinaryLoops<FloatMul, T, T>());
  for (Op op : {Op::kTrueDiv, Op::kFDiv, Op::kDivRn}) SetBinary(table, op, dtype, BinaryLoops<Div, T, T>());
  for (Op op : {Op::kMod, Op::kFMod}) SetBinary(table, op, dtype, CallLoops<Mod, T>());
  SetBinary(table, Op::kAtan2, dtype, CallLoops<Atan2, T>());
  SetBinary(table, Op::kLibPow, dtype, CallLoops<Pow, T>());
  SetBinary(table, Op::kCopySign, dtype, BinaryLoops<CopySign, T, T>());
  SetBinary(table, Op::kMaximum, dtype, BinaryLoops<FloatExtreme<true, false>, T, T>());
  SetBinary(table, Op::kMinimum, dtype, BinaryLoops<FloatExtreme<false, false>, T, T>());
  SetNanAware(table, Op::kMaximum, dtype, BinaryLoops<FloatExtreme<true, true>, T, T>());
  SetNanAware(table, Op::kMinimum, dtype, BinaryLoops<FloatExtreme<false, true>, T, T>());
  SetBinary(table, Op::kLt, dtype, BinaryLoops<Less, T, uint8_t>());
  SetBinary(table, Op::kLe, dtype, BinaryLoops<LessEqual, T, uint8_t>());
  SetBinary(table, Op::kGt, dtype, SwappedLoops<Less, T, uint8_t>());
  SetBinary(table, Op::kGe, dtype, SwappedLoops<LessEqual, T, uint8_t>());
  SetBinary(table, Op::kEq, dtype, BinaryLoops<Equal, T, uint8_t>());
  SetBinary(table, Op::kNe, dtype, BinaryLoops<NotEqual, T, uint8_t>());
  table.pow_int[static_cast<int>(dtype)] = PowIntLoop<T>;
  table.fma[static_cast<int>(dtype)] = TernaryLoop<Fma, T, T>;
  table.clamp[0][static_cast<int>(dtype)] = TernaryLoop<Clamp<false>, T, T>;
  table.clamp[1][static_cast<int>(dtype)] = TernaryLoop<Clamp<true>, T, T>;
}

}  // namespace

void RegisterFloat(Table& table) {
  RegisterDType<float>(table, DType::kF32);
  RegisterDType<double>(table, DType::kF64);
}

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
