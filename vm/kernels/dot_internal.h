// The micro-kernels of dot that each level provides, and the packed panels they read. See dot.cc.
#ifndef TILEVM_VM_KERNELS_DOT_INTERNAL_H_
#define TILEVM_VM_KERNELS_DOT_INTERNAL_H_

#include <cstdint>

namespace tilevm::kernels {

// A panel of A holds kDotRows rows, column by column; a panel of B kColumns columns, row by row; short panels are padded with zeros.
//   f32  a[k][6] b[k][16]      f64  a[k][6] b[k][8]      i16  pairs along k: a[k/2][6][2] b[k/2][16][2], accumulated in i32
inline constexpr int kDotRows = 6;
inline constexpr int kDotColumns32 = 16;
inline constexpr int kDotColumns64 = 8;

// c[i * c_row + j] += sum over k of a[k][i] * b[k][j], each product fused with its sum and added in the order of k; a whole 6 x columns block.
using DotMicroF32 = void (*)(const float* a, const float* b, float* c, int64_t c_row, int64_t k);
using DotMicroF64 = void (*)(const double* a, const double* b, double* c, int64_t c_row, int64_t k);
using DotMicroI16 = void (*)(const int16_t* a, const int16_t* b, int32_t* c, int64_t c_row, int64_t k_pairs);

struct DotKernels {
  DotMicroF32 f32 = nullptr;
  DotMicroF64 f64 = nullptr;
  DotMicroI16 i16 = nullptr;
};

}  // namespace tilevm::kernels

#endif  // TILEVM_VM_KERNELS_DOT_INTERNAL_H_
