// The innermost loops of dot: a block of 6 x 16 (f64: 6 x 8) results stays in registers while k runs.
//
// 12 accumulators, two vectors of B and a broadcast element of A use 15 of the 16 vector registers of AVX2; 12 independent multiply-adds in
// flight cover their latency (4 cycles, two per cycle).
#include "vm/kernels/loops.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace tilevm::kernels::TILEVM_KERNELS_LEVEL {
namespace {

#if defined(__AVX2__) && defined(__FMA__)

void MicroF32(const float* a, const float* b, float* c, int64_t c_row, int64_t k) {
  __m256 acc[kDotRows][2];
#pragma GCC unroll 6
  for (int i = 0; i < kDotRows; ++i) {
    acc[i][0] = _mm256_loadu_ps(c + i * c_row);
    acc[i][1] = _mm256_loadu_ps(c + i * c_row + 8);
  }
  for (; k > 0; --k, a += kDotRows, b += kDotColumns32) {
    const __m256 b0 = _mm256_load_ps(b), b1 = _mm256_load_ps(b + 8);
#pragma GCC unroll 6
    for (int i = 0; i < kDotRows; ++i) {
      const __m256 ai = _mm256_broadcast_ss(a + i);
      acc[i][0] = _mm256_fmadd_ps(ai, b0, acc[i][0]);
      acc[i][1] = _mm256_fmadd_ps(ai, b1, acc[i][1]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kDotRows; ++i) {
    _mm256_storeu_ps(c + i * c_row, acc[i][0]);
    _mm256_storeu_ps(c + i * c_row + 8, acc[i][1]);
  }
}

void MicroF64(const double* a, const double* b, double* c, int64_t c_row, int64_t k) {
  __m256d acc[kDotRows][2];
#pragma GCC unroll 6
  for (int i = 0; i < kDotRows; ++i) {
    acc[i][0] = _mm256_loadu_pd(c + i * c_row);
    acc[i][1] = _mm256_loadu_pd(c + i * c_row + 4);
  }
  for (; k > 0; --k, a += kDotRows, b += kDotColumns64) {
    const __m256d b0 = _mm256_load_pd(b), b1 = _mm256_load_pd(b + 4);
#pragma GCC unroll 6
    for (int i = 0; i < kDotRows; ++i) {
      const __m256d ai = _mm256_broadcast_sd(a + i);
      acc[i][0] = _mm256_fmadd_pd(ai, b0, acc[i][0]);
      acc[i][1] = _mm256_fmadd_pd(ai, b1, acc[i][1]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kDotRows; ++i) {
    _mm256_storeu_pd(c + i * c_row, acc[i][0]);
    _mm256_storeu_pd(c + i * c_row + 4, acc[i][1]);
  }
}

// Two i16 products and their sum per 32-bit lane: 2 * 255 * 255 fits.
void MicroI16(const int16_t* a, const int16_t* b, int32_t* c, int64_t c_row, int64_t k_pairs) {
  __m256i acc[kDotRows][2];
#pragma GCC unroll 6
  for (int i = 0; i < kDotRows; ++i) {
    acc[i][0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c + i * c_row));
    acc[i][1] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c + i * c_row + 8));
  }
  for (; k_pairs > 0; --k_pairs, a += 2 * kDotRows, b += 2 * kDotColumns32) {
    const __m256i b0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i b1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(b + 16));
#pragma GCC unroll 6
    for (int i = 0; i < kDotRows; ++i) {
      int32_t pair;
      __builtin_memcpy(&pair, a + 2 * i, 4);
      const __m256i ai = _mm256_set1_epi32(pair);
      acc[i][0] = _mm256_add_epi32(acc[i][0], _mm256_madd_epi16(ai, b0));
      acc[i][1] = _mm256_add_epi32(acc[i][1], _mm256_madd_epi16(ai, b1));
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kDotRows; ++i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * c_row), acc[i][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + i * c_row + 8), acc[i][1]);
  }
}

#else

template <int kColumns, typename T>
void MicroFma(const T* a, const T* b, T* c, int64_t c_row, int64_t k) {
  for (; k > 0; --k, a += kDotRows, b += kColumns) {
    for (int i = 0; i < kDotRows; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        T& sum = c[i * c_row + j];
        if constexpr (sizeof(T) == 4) {
          sum = __builtin_fmaf(a[i], b[j], sum);
        } else {
          sum = __builtin_fma(a[i], b[j], sum);
        }
      }
    }
  }
}
void MicroF32(const float* a, const float* b, float* c, int64_t c_row, int64_t k) { MicroFma<kDotColumns32>(a, b, c, c_row, k); }
void MicroF64(const double* a, const double* b, double* c, int64_t c_row, int64_t k) { MicroFma<kDotColumns64>(a, b, c, c_row, k); }

void MicroI16(const int16_t* a, const int16_t* b, int32_t* c, int64_t c_row, int64_t k_pairs) {
  for (; k_pairs > 0; --k_pairs, a += 2 * kDotRows, b += 2 * kDotColumns32) {
    for (int i = 0; i < kDotRows; ++i) {
      for (int j = 0; j < kDotColumns32; ++j) {
        const int32_t pair = a[2 * i] * b[2 * j] + a[2 * i + 1] * b[2 * j + 1];
        c[i * c_row + j] = static_cast<int32_t>(static_cast<uint32_t>(c[i * c_row + j]) + static_cast<uint32_t>(pair));
      }
    }
  }
}

#endif

}  // namespace

void RegisterDot(Table& table) { table.dot = {MicroF32, MicroF64, MicroI16}; }

}  // namespace tilevm::kernels::TILEVM_KERNELS_LEVEL
