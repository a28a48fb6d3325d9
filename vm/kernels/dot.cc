// Blocks, packs and multiplies (the scheme of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008): a block of B
// stays in the last-level cache, one of A in the second, a panel of B in the first, and the micro-kernel keeps results in registers.
#include "vm/kernels/dot.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "isa/narrow_float.h"
#include "vm/kernels/table.h"

namespace tilevm::kernels {
namespace {

using isa::DType;

constexpr int64_t kBlockK = 256;  // a panel of B is 16 KiB, half of a first-level cache
constexpr int64_t kBlockM = 96;   // 96 x 256 f32 are 96 KiB of the second level
constexpr int64_t kBlockN = 512;  // 512 x 256 f32 are 512 KiB

// Which part of an f32 operand is packed.
enum class Part : uint8_t { kWhole, kTf32, kTf32Big, kTf32Small, kBf16First, kBf16Second, kBf16Third };

void TakePart(Part part, float* x, int64_t n) {
  switch (part) {
    case Part::kWhole: return;
    case Part::kTf32: for (int64_t i = 0; i < n; ++i) x[i] = isa::TruncateF32ToTf32(x[i]); return;
    case Part::kTf32Big: for (int64_t i = 0; i < n; ++i) x[i] = isa::RoundF32ToTf32(x[i]); return;
    case Part::kTf32Small: for (int64_t i = 0; i < n; ++i) x[i] = isa::Tf32Part(x[i], 1); return;
    case Part::kBf16First: for (int64_t i = 0; i < n; ++i) x[i] = isa::Bf16Part(x[i], 0); return;
    case Part::kBf16Second: for (int64_t i = 0; i < n; ++i) x[i] = isa::Bf16Part(x[i], 1); return;
    case Part::kBf16Third: for (int64_t i = 0; i < n; ++i) x[i] = isa::Bf16Part(x[i], 2); return;
  }
}
void TakePart(Part, double*, int64_t) {}
void TakePart(Part, int16_t*, int64_t) {}

// One operand seen as panels: `span` counts along rows of A or columns of B.
struct Source {
  const char* data;
  int64_t span_stride, k_stride;  // elements
  int64_t elem_bytes;
  UnaryFn convert;                // to the packed element type
  Part part = Part::kWhole;
};

// n elements, stride apart, converted.
template <typename T>
void LoadRun(const Source& source, const char* from, int64_t stride, int64_t n, T* to) {
  char gathered[kBlockN * 8];
  if (stride != 1) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(gathered + i * source.elem_bytes, from + i * stride * source.elem_bytes, source.elem_bytes);
    from = gathered;
  }
  source.convert(from, to, n);
  TakePart(source.part, to, n);
}

// Elements of k that a panel keeps side by side.
template <typename T>
inline constexpr int64_t kPairs = sizeof(T) == 2 ? 2 : 1;

template <typename T, int kSpan>
int64_t PanelPlace(int64_t span, int64_t k) {
  return ((k / kPairs<T>) * kSpan + span) * kPairs<T> + k % kPairs<T>;
}

template <typename T>
int64_t PaddedK(int64_t k) { return (k + kPairs<T> - 1) / kPairs<T> * kPairs<T>; }

// spans [span, span + spans) and k [k0, k0 + k) of the source as panels of kSpan, one after the other, padded with zeros.
template <typename T, int kSpan>
void Pack(const Source& source, int64_t span0, int64_t spans, int64_t k0, int64_t k, T* packed) {
  const int64_t panel_elems = PaddedK<T>(k) * kSpan;
  const int64_t panels = (spans + kSpan - 1) / kSpan;
  if (spans % kSpan != 0) std::fill_n(packed + (panels - 1) * panel_elems, panel_elems, T(0));
  if (k != PaddedK<T>(k)) {
    for (int64_t p = 0; p < panels; ++p) std::fill_n(packed + (p + 1) * panel_elems - 2 * kSpan, 2 * kSpan, T(0));
  }
  auto address = [&](int64_t s, int64_t kk) {
    return source.data + ((span0 + s) * source.span_stride + (k0 + kk) * source.k_stride) * source.elem_bytes;
  };
  T run[kBlockN];
  if (source.span_stride == 1) {
    for (int64_t kk = 0; kk < k; ++kk) {
      LoadRun(source, address(0, kk), 1, spans, run);
      for (int64_t s = 0; s < spans; s += kSpan) {
        T* to = packed + s / kSpan * panel_elems + PanelPlace<T, kSpan>(0, kk);
        const int64_t width = std::min<int64_t>(kSpan, spans - s);
        if (width == kSpan && kPairs<T> == 1) {
          std::memcpy(to, run + s, sizeof(T) * kSpan);
        } else {
          for (int64_t i = 0; i < width; ++i) to[i * kPairs<T>] = run[s + i];
        }
      }
    }
    return;
  }
  for (int64_t s = 0; s < spans; ++s) {
    LoadRun(source, address(s, 0), source.k_stride, k, run);
    T* panel = packed + s / kSpan * panel_elems;
    for (int64_t kk = 0; kk < k; ++kk) panel[PanelPlace<T, kSpan>(s % kSpan, kk)] = run[kk];
  }
}

// Room for packed blocks, one per thread, kept between calls: a fresh allocation of this size would cost page faults every time.
char* Scratch(int64_t bytes) {
  thread_local std::unique_ptr<char[]> memory;
  thread_local int64_t size = 0;
  if (bytes + 64 > size) {
    memory.reset(new char[bytes + 64]);
    size = bytes + 64;
  }
  char* raw = memory.get();
  return raw + (64 - reinterpret_cast<uintptr_t>(raw) % 64) % 64;
}

int64_t RoundUp(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

// One block row of panels against one block of B. T is the packed type, C that of the sums.
template <typename T, typename C, int kColumns, typename Micro>
void MultiplyBlock(Micro micro, const T* a, const T* b, C* c, int64_t c_row, int64_t m, int64_t n, int64_t k) {
  const int64_t steps = PaddedK<T>(k) / kPairs<T>;
  for (int64_t j = 0; j < n; j += kColumns) {
    const T* b_panel = b + j / kColumns * (PaddedK<T>(k) * kColumns);
    const int64_t width = std::min<int64_t>(kColumns, n - j);
    for (int64_t i = 0; i < m; i += kDotRows) {
      const T* a_panel = a + i / kDotRows * (PaddedK<T>(k) * kDotRows);
      const int64_t height = std::min<int64_t>(kDotRows, m - i);
      C* block = c + i * c_row + j;
      if (width == kColumns && height == kDotRows) {
        micro(a_panel, b_panel, block, c_row, steps);
        continue;
      }
      C edge[kDotRows * kColumns] = {};
      for (int64_t r = 0; r < height; ++r) std::copy_n(block + r * c_row, width, edge + r * kColumns);
      micro(a_panel, b_panel, edge, kColumns, steps);
      for (int64_t r = 0; r < height; ++r) std::copy_n(edge + r * kColumns, width, block + r * c_row);
    }
  }
}

template <typename T, typename C, int kColumns, typename Micro>
void Multiply(Micro micro, const Source& a, const Source& b, C* c, int64_t c_row, int64_t m, int64_t n, int64_t k) {
  const int64_t block_m = std::min(kBlockM, RoundUp(m, kDotRows));
  const int64_t block_n = std::min(kBlockN, RoundUp(n, kColumns));
  const int64_t block_k = std::min(kBlockK, PaddedK<T>(k));
  const int64_t a_bytes = RoundUp(block_m * block_k * sizeof(T), 64);
  char* scratch = Scratch(a_bytes + block_n * block_k * sizeof(T));
  T* packed_a = reinterpret_cast<T*>(scratch);
  T* packed_b = reinterpret_cast<T*>(scratch + a_bytes);
  for (int64_t j = 0; j < n; j += block_n) {
    const int64_t width = std::min(block_n, n - j);
    for (int64_t kk = 0; kk < k; kk += block_k) {
      const int64_t depth = std::min(block_k, k - kk);
      Pack<T, kColumns>(b, j, width, kk, depth, packed_b);
      for (int64_t i = 0; i < m; i += block_m) {
        const int64_t height = std::min(block_m, m - i);
        Pack<T, kDotRows>(a, i, height, kk, depth, packed_a);
        MultiplyBlock<T, C, kColumns>(micro, packed_a, packed_b, c + i * c_row + j, c_row, height, width, depth);
      }
    }
  }
}

struct PartPair {
  Part a, b;
};
std::vector<PartPair> PartPairs(DotPrecision precision) {
  constexpr Part k1 = Part::kBf16First, k2 = Part::kBf16Second, k3 = Part::kBf16Third;
  switch (precision) {
    case DotPrecision::kIeee: return {{Part::kWhole, Part::kWhole}};
    case DotPrecision::kTf32: return {{Part::kTf32, Part::kTf32}};
    case DotPrecision::kTf32x3:
      return {{Part::kTf32Small, Part::kTf32Big}, {Part::kTf32Big, Part::kTf32Small}, {Part::kTf32Big, Part::kTf32Big}};
    case DotPrecision::kBf16x3: return {{k2, k1}, {k1, k2}, {k1, k1}};
    case DotPrecision::kBf16x6: return {{k2, k2}, {k3, k1}, {k1, k3}, {k2, k1}, {k1, k2}, {k1, k1}};
  }
  return {};
}

bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }
bool FitsF32(DType dtype) { return isa::IsFloat(dtype) && dtype != DType::kF64; }

// f16 and bf16 sums live in f32 for the call.
void DotF32(const DotArgs& args, const Source& a, const Source& b, Level level) {
  const bool f32_operands = args.a_type == DType::kF32 && args.b_type == DType::kF32;
  const std::vector<PartPair> pairs = PartPairs(f32_operands ? args.precision : DotPrecision::kIeee);
  const auto multiply_parts = [&](const PartPair& pair, float* c, int64_t c_row) {
    Source a_part = a, b_part = b;
    a_part.part = pair.a;
    b_part.part = pair.b;
    Multiply<float, float, kDotColumns32>(TableOf(level).dot.f32, a_part, b_part, c, c_row, args.m, args.n, args.k);
  };
  const auto multiply = [&](float* c, int64_t c_row) {
    if (pairs.size() > 1) {
      std::vector<float> small(args.m * args.n);
      for (size_t i = 0; i + 1 < pairs.size(); ++i) multiply_parts(pairs[i], small.data(), args.n);
      for (int64_t i = 0; i < args.m; ++i) {
        for (int64_t j = 0; j < args.n; ++j) {
          const float x = small[i * args.n + j];
          c[i * c_row + j] += std::isfinite(x) ? x : 0.0f;
        }
      }
    }
    multiply_parts(pairs.back(), c, c_row);
  };
  if (args.acc_type == DType::kF32) return multiply(static_cast<float*>(args.c), args.c_row_stride);
  std::vector<float> sums(args.m * args.n);
  const UnaryFn decode = FindCast(args.acc_type, DType::kF32, isa::Rounding::kNearestEven, level);
  const UnaryFn encode = FindCast(DType::kF32, args.acc_type, isa::Rounding::kNearestEven, level);
  const int64_t row_bytes = args.c_row_stride * isa::StorageBytes(args.acc_type);
  for (int64_t i = 0; i < args.m; ++i) decode(static_cast<char*>(args.c) + i * row_bytes, &sums[i * args.n], args.n);
  multiply(sums.data(), args.n);
  for (int64_t i = 0; i < args.m; ++i) encode(&sums[i * args.n], static_cast<char*>(args.c) + i * row_bytes, args.n);
}

}  // namespace

bool HasDot(DType a_type, DType b_type, DType acc_type) {
  if (IsByte(a_type) && IsByte(b_type)) return acc_type == DType::kI32;
  if (a_type == DType::kF64 && b_type == DType::kF64) return acc_type == DType::kF64;
  const bool narrow_sum = acc_type == DType::kF32 || acc_type == DType::kF16 || acc_type == DType::kBF16;
  return FitsF32(a_type) && FitsF32(b_type) && narrow_sum;
}

void Dot(const DotArgs& args, Level level) {
  if (args.m <= 0 || args.n <= 0 || args.k <= 0) return;
  const bool integer = args.acc_type == DType::kI32;
  const DType packed = integer ? DType::kI16 : args.acc_type == DType::kF64 ? DType::kF64 : DType::kF32;
  const auto source = [&](const DotMatrix& matrix, DType dtype, int64_t span_stride, int64_t k_stride) {
    return Source{static_cast<const char*>(matrix.data), span_stride, k_stride, isa::StorageBytes(dtype),
                  FindCast(dtype, packed, isa::Rounding::kNearestEven, level)};
  };
  const Source a = source(args.a, args.a_type, args.a.row_stride, args.a.col_stride);
  const Source b = source(args.b, args.b_type, args.b.col_stride, args.b.row_stride);
  const DotKernels& micro = TableOf(level).dot;
  if (integer) {
    Multiply<int16_t, int32_t, kDotColumns32>(micro.i16, a, b, static_cast<int32_t*>(args.c), args.c_row_stride, args.m, args.n, args.k);
  } else if (args.acc_type == DType::kF64) {
    Multiply<double, double, kDotColumns64>(micro.f64, a, b, static_cast<double*>(args.c), args.c_row_stride, args.m, args.n, args.k);
  } else {
    DotF32(args, a, b, level);
  }
}

}  // namespace tilevm::kernels
