// Inclusive scans along the middle axis of [outer, extent, inner]. A running value is carried per column: f64 for f32 and narrower floats,
// a compensated pair for sums of f64, so the error stays within that of a reduction of the same length.
#include "vm/kernels/folds.h"

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {
namespace {

// f32 carried in f64.
template <typename T>
struct CarriedFloat {
  using Storage = T;
  using Accumulator = double;
  static double Load(T x) { return static_cast<double>(x); }
  static T Finish(double x) { return static_cast<T>(x); }
};

template <typename Format>
struct CarriedNarrow {
  using Storage = typename Format::Storage;
  using Accumulator = double;
  static double Load(Storage x) { return static_cast<double>(Format::Decode(x)); }
  static Storage Finish(double x) { return Format::Encode(isa::F64ToF32Odd(x)); }
};

template <typename Traits, typename Combine>
void ScanColumn(const typename Traits::Storage* x, typename Traits::Storage* out, int64_t extent, int64_t step) {
  auto carried = Traits::Load(*x);
  *out = Traits::Finish(carried);
  for (int64_t i = 1; i < extent; ++i) {
    carried = Combine::Apply(carried, Traits::Load(x[i * step]));
    out[i * step] = Traits::Finish(carried);
  }
}

constexpr int64_t kColumns = 64;

template <typename Traits, typename Combine>
void ScanColumns(const typename Traits::Storage* x, typename Traits::Storage* out, int64_t extent, int64_t step, int64_t width) {
  typename Traits::Accumulator carried[kColumns];
  for (int64_t c = 0; c < width; ++c) {
    carried[c] = Traits::Load(x[c]);
    out[c] = Traits::Finish(carried[c]);
  }
  for (int64_t i = 1; i < extent; ++i) {
    const auto* row = x + i * step;
    auto* result = out + i * step;
    TILEVM_INDEPENDENT
    for (int64_t c = 0; c < width; ++c) {
      carried[c] = Combine::Apply(carried[c], Traits::Load(row[c]));
      result[c] = Traits::Finish(carried[c]);
    }
  }
}

template <typename Traits, typename Combine>
void Scan(const void* x, void* out, int64_t outer, int64_t extent, int64_t inner, bool reverse) {
  using S = typename Traits::Storage;
  const int64_t first = reverse ? (extent - 1) * inner : 0;
  const int64_t step = reverse ? -inner : inner;
  for (int64_t o = 0; o < outer; ++o) {
    const S* a = static_cast<const S*>(x) + o * extent * inner + first;
    S* r = static_cast<S*>(out) + o * extent * inner + first;
    if (inner == 1) {
      ScanColumn<Traits, Combine>(a, r, extent, step);
      continue;
    }
    for (int64_t c = 0; c < inner; c += kColumns) {
      ScanColumns<Traits, Combine>(a + c, r + c, extent, step, inner - c < kColumns ? inner - c : kColumns);
    }
  }
}

// Sums of f64: the rounding errors of the running sum are summed apart (Neumaier). A sum that is not finite stays as it is.
void ScanF64Sum(const void* x, void* out, int64_t outer, int64_t extent, int64_t inner, bool reverse) {
  const int64_t first = reverse ? (extent - 1) * inner : 0;
  const int64_t step = reverse ? -inner : inner;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < inner; ++c) {
      const double* a = static_cast<const double*>(x) + o * extent * inner + first + c;
      double* r = static_cast<double*>(out) + o * extent * inner + first + c;
      double sum = a[0], error = 0.0;
      r[0] = sum;
      for (int64_t i = 1; i < extent; ++i) {
        const double value = a[i * step];
        const double next = sum + value;
        const double part = next - sum;
        error += (sum - (next - part)) + (value - part);
        sum = next;
        const double corrected = sum + error;
        r[i * step] = corrected - corrected == 0.0 ? corrected : sum;
      }
    }
  }
}

struct RegisterScanFold {
  Table& table;
  template <typename Traits, typename Combine>
  void Visit(FoldKind kind, DType dtype) const {
    table.scan[static_cast<int>(kind)][static_cast<int>(dtype)] = Scan<Traits, Combine>;
  }
};

}  // namespace

void RegisterScan(Table& table) {
  EachFold<CarriedFloat, CarriedNarrow>::All(RegisterScanFold{table});
  table.scan[static_cast<int>(FoldKind::kAdd)][static_cast<int>(DType::kF64)] = ScanF64Sum;
}

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
