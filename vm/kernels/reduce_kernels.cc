// Reductions along the middle axis of [outer, extent, inner], in the one order that kernels.h promises: element i of the axis goes to lane
// i % 32, lanes then fold pairwise. Along a contiguous axis the lanes are places of a vector; along a strided one, rows of a block of
// columns. Both give the same bits.
#include "vm/kernels/folds.h"

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {
namespace {

constexpr int64_t kLanes = kReduceLanes;
constexpr int64_t kColumns = 64;  // of a strided block: 32 lanes of 64 f32 are 8 KiB

// A contiguous row: acc[l] is lane l, of which the first min(extent, 32) are used.
template <typename Traits, typename Combine>
typename Traits::Storage ReduceRow(const typename Traits::Storage* x, int64_t extent) {
  using A = typename Traits::Accumulator;
  A acc[kLanes];
  if (extent < kLanes) {
    for (int64_t i = 0; i < extent; ++i) acc[i] = Traits::Load(x[i]);
  } else {
    for (int64_t l = 0; l < kLanes; ++l) acc[l] = Traits::Load(x[l]);
    int64_t i = kLanes;
    for (; i + kLanes <= extent; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) acc[l] = Combine::Apply(acc[l], Traits::Load(x[i + l]));
    }
    for (int64_t l = 0; i + l < extent; ++l) acc[l] = Combine::Apply(acc[l], Traits::Load(x[i + l]));
  }
  int64_t count = extent < kLanes ? extent : kLanes;
  while (count > 1) {
    const int64_t half = (count + 1) / 2;
    for (int64_t l = 0; l < count - half; ++l) acc[l] = Combine::Apply(acc[l], acc[l + half]);
    count = half;
  }
  return Traits::Finish(acc[0]);
}

// Columns [0, width) of a strided slice; acc[l][c] is lane l of column c.
template <typename Traits, typename Combine>
void ReduceColumns(const typename Traits::Storage* x, typename Traits::Storage* out, int64_t extent, int64_t inner, int64_t width) {
  using A = typename Traits::Accumulator;
  A acc[kLanes][kColumns];
  int64_t count = extent < kLanes ? extent : kLanes;
  for (int64_t l = 0; l < count; ++l) {
    for (int64_t c = 0; c < width; ++c) acc[l][c] = Traits::Load(x[l * inner + c]);
  }
  for (int64_t i = kLanes; i < extent; ++i) {
    A* lane = acc[i % kLanes];
    const typename Traits::Storage* row = x + i * inner;
    TILEVM_INDEPENDENT
    for (int64_t c = 0; c < width; ++c) lane[c] = Combine::Apply(lane[c], Traits::Load(row[c]));
  }
  while (count > 1) {
    const int64_t half = (count + 1) / 2;
    for (int64_t l = 0; l < count - half; ++l) {
      TILEVM_INDEPENDENT
      for (int64_t c = 0; c < width; ++c) acc[l][c] = Combine::Apply(acc[l][c], acc[l + half][c]);
    }
    count = half;
  }
  for (int64_t c = 0; c < width; ++c) out[c] = Traits::Finish(acc[0][c]);
}

template <typename Traits, typename Combine>
void Reduce(const void* x, void* out, int64_t outer, int64_t extent, int64_t inner) {
  using S = typename Traits::Storage;
  const S* a = static_cast<const S*>(x);
  S* r = static_cast<S*>(out);
  for (int64_t o = 0; o < outer; ++o, a += extent * inner, r += inner) {
    if (inner == 1) {
      r[0] = ReduceRow<Traits, Combine>(a, extent);
      continue;
    }
    for (int64_t c = 0; c < inner; c += kColumns) {
      ReduceColumns<Traits, Combine>(a + c, r + c, extent, inner, inner - c < kColumns ? inner - c : kColumns);
    }
  }
}

// Folds whose order cannot be seen and whose speed matters little: one lane per column.
template <typename Traits, typename Combine>
void ReduceSimply(const void* x, void* out, int64_t outer, int64_t extent, int64_t inner) {
  using S = typename Traits::Storage;
  const S* a = static_cast<const S*>(x);
  S* r = static_cast<S*>(out);
  for (int64_t o = 0; o < outer; ++o, r += inner) {
    for (int64_t c = 0; c < inner; ++c) r[c] = a[c];
    a += inner;
    for (int64_t i = 1; i < extent; ++i, a += inner) {
      TILEVM_INDEPENDENT
      for (int64_t c = 0; c < inner; ++c) r[c] = Combine::Apply(r[c], a[c]);
    }
  }
}

// f16 rows decode with the vector instruction where there is one: a row is brought to f32 by chunks that are multiples of the lanes.
template <typename Format, typename Combine>
void ReduceDecodedRows(const void* x, void* out, int64_t outer, int64_t extent, int64_t inner) {
  using S = typename Format::Storage;
  if (inner != 1 || extent < kLanes) return Reduce<Decoded<Format>, Combine>(x, out, outer, extent, inner);
  const S* a = static_cast<const S*>(x);
  for (int64_t o = 0; o < outer; ++o, a += extent) {
    float acc[kLanes], chunk[kChunk];
    for (int64_t begin = 0; begin < extent; begin += kChunk) {
      const int64_t length = ChunkLength(begin, extent);
      DecodeArray<Format>(a + begin, chunk, length);
      int64_t i = 0;
      if (begin == 0) {
        for (; i < kLanes; ++i) acc[i] = chunk[i];
      }
      for (; i + kLanes <= length; i += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) acc[l] = Combine::Apply(acc[l], chunk[i + l]);
      }
      for (int64_t l = 0; i + l < length; ++l) acc[l] = Combine::Apply(acc[l], chunk[i + l]);
    }
    static_cast<S*>(out)[o] = Format::Encode(ReduceRow<Plain<float>, Combine>(acc, kLanes));
  }
}

template <typename T, typename... U>
inline constexpr bool kIsOneOf = (__is_same(T, U) || ...);

// Lanes for what sums and softmaxes use: floats, and sums and extremes of integers of 32 bits and more.
struct RegisterReduceFold {
  Table& table;
  template <typename Traits, typename Combine>
  void Visit(FoldKind kind, DType dtype) const {
    constexpr bool kWide = sizeof(typename Traits::Storage) >= 4;
    constexpr bool kRare = kIsOneOf<Combine, IntMul, IntXor, IntAnd, IntOr>;
    constexpr bool kCommon = kIsOneOf<Combine, IntAdd, IntMax, IntMin>;
    ReduceFn& slot = table.reduce[static_cast<int>(kind)][static_cast<int>(dtype)];
    if constexpr (kRare || (kCommon && !kWide)) {
      slot = ReduceSimply<Traits, Combine>;
    } else {
      slot = Reduce<Traits, Combine>;
    }
  }
};

// The position among `extent` elements (stride apart) whose value is best: a NaN loses to every number, ties go to the lowest index entry.
template <bool kMaximum, typename Traits>
int64_t BestPosition(const typename Traits::Storage* x, const int32_t* index, int64_t extent, int64_t stride) {
  int64_t best = 0;
  auto best_value = Traits::Load(x[0]);
  int32_t best_index = index[0];
  for (int64_t i = 1; i < extent; ++i) {
    const auto value = Traits::Load(x[i * stride]);
    const bool nan = value != value, best_nan = best_value != best_value;
    const bool better = (kMaximum ? value > best_value : value < best_value) | (best_nan & !nan);
    const bool tie = (value == best_value) | (nan & best_nan);
    if (better || (tie && index[i * stride] < best_index)) {
      best = i;
      best_value = value;
      best_index = index[i * stride];
    }
  }
  return best;
}

template <bool kMaximum, typename Traits>
void ArgReduce(const void* x, const int32_t* index, void* out, int32_t* out_index, int64_t outer, int64_t extent, int64_t inner) {
  using S = typename Traits::Storage;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < inner; ++c) {
      const S* a = static_cast<const S*>(x) + o * extent * inner + c;
      const int32_t* k = index + o * extent * inner + c;
      const int64_t best = BestPosition<kMaximum, Traits>(a, k, extent, inner) * inner;
      static_cast<S*>(out)[o * inner + c] = a[best];
      out_index[o * inner + c] = k[best];
    }
  }
}

template <typename Traits>
void RegisterArg(Table& table, DType dtype) {
  table.arg_reduce[0][static_cast<int>(dtype)] = ArgReduce<false, Traits>;
  table.arg_reduce[1][static_cast<int>(dtype)] = ArgReduce<true, Traits>;
}

template <typename Format>
void RegisterDecodedRows(Table& table) {
  table.reduce[static_cast<int>(FoldKind::kAdd)][static_cast<int>(Format::kDType)] = ReduceDecodedRows<Format, FloatAdd>;
}

}  // namespace

void RegisterReduce(Table& table) {
  EachFold<Plain, Decoded>::All(RegisterReduceFold{table});
  RegisterDecodedRows<F16Format>(table);
  RegisterDecodedRows<Bf16Format>(table);
  RegisterArg<Plain<uint8_t>>(table, DType::kI1);
  RegisterArg<Plain<int8_t>>(table, DType::kI8);
  RegisterArg<Plain<int16_t>>(table, DType::kI16);
  RegisterArg<Plain<int32_t>>(table, DType::kI32);
  RegisterArg<Plain<int64_t>>(table, DType::kI64);
  RegisterArg<Plain<uint8_t>>(table, DType::kU8);
  RegisterArg<Plain<uint16_t>>(table, DType::kU16);
  RegisterArg<Plain<uint32_t>>(table, DType::kU32);
  RegisterArg<Plain<uint64_t>>(table, DType::kU64);
  RegisterArg<Plain<float>>(table, DType::kF32);
  RegisterArg<Plain<double>>(table, DType::kF64);
  RegisterArg<Decoded<F16Format>>(table, DType::kF16);
  RegisterArg<Decoded<Bf16Format>>(table, DType::kBF16);
  RegisterArg<Decoded<F8E4M3Format>>(table, DType::kF8E4M3);
  RegisterArg<Decoded<F8E5M2Format>>(table, DType::kF8E5M2);
}

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
