// dot: acc + a @ b, on the tensor cores by mma.sync over fragments, or by fused multiply-adds from shared memory.
//
// Fragments are the layouts MmaAccumulator, MmaOperandA and MmaOperandB of specializer/layout. D is printed by the emitter: m_steps, n_steps, k_steps
// (instructions along each axis that one warp does), n_pairs (whether two n steps are neighbours in registers), batches.
#pragma once
#include "device/convert.cuh"
#include "device/elementwise.cuh"

namespace tv {

template <int N, class T>
TV_DEV u32 packed(const T* x) {
  u32 out;
  memcpy(&out, x, 4);
  return out;
}

#define TV_MMA4(shape, types)                                                                                                            \
  asm volatile("mma.sync.aligned." shape ".row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"            \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                                          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

TV_DEV void mma(f32* c, const u32* a, const u32* b, f16) { TV_MMA4("m16n8k16", "f32.f16.f16.f32"); }
TV_DEV void mma(f32* c, const u32* a, const u32* b, bf16) { TV_MMA4("m16n8k16", "f32.bf16.bf16.f32"); }
TV_DEV void mma(f32* c, const u32* a, const u32* b, f32) { TV_MMA4("m16n8k8", "f32.tf32.tf32.f32"); }
#if __CUDA_ARCH__ >= 890
TV_DEV void mma(f32* c, const u32* a, const u32* b, f8e4m3) { TV_MMA4("m16n8k32", "f32.e4m3.e4m3.f32"); }
TV_DEV void mma(f32* c, const u32* a, const u32* b, f8e5m2) { TV_MMA4("m16n8k32", "f32.e5m2.e5m2.f32"); }
#endif
TV_DEV void mma(i32* c, const u32* a, const u32* b, i8) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// tf32: nearest, ties away from zero, as isa/eval.h has it.
TV_DEV u32 to_tf32(f32 x) { u32 r; asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }

template <class T>
TV_DEV void fragment(u32* out, const T* x, int words) {
#pragma unroll
  for (int i = 0; i < words; ++i) {
    if constexpr (same<T, f32>) out[i] = to_tf32(x[i]);
    else out[i] = packed<4>(x + i * (4 / static_cast<int>(sizeof(T))));
  }
}

template <class D, class A, class T, class LA, class LB, class LC>
TV_DEV Tile<A, LC> dot_mma(const Tile<T, LA>& a, const Tile<T, LB>& b, Tile<A, LC> acc) {
  constexpr int per_word = sizeof(T) >= 4 ? 1 : 4 / static_cast<int>(sizeof(T));
  constexpr int a_regs = 4 * per_word, b_regs = 2 * per_word;
#pragma unroll
  for (int batch = 0; batch < D::batches; ++batch) {
    const T* av = a.v + batch * D::m_steps * D::k_steps * a_regs;
    const T* bv = b.v + batch * D::n_steps * D::k_steps * b_regs;
    A* cv = acc.v + batch * D::m_steps * D::n_steps * 4;
#pragma unroll
    for (int k = 0; k < D::k_steps; ++k) {
      u32 bf[D::n_steps][2];
#pragma unroll
      for (int n = 0; n < D::n_steps; ++n) {
        const int at = D::n_pairs ? ((n / 2 * D::k_steps + k) * 2 + n % 2) : n * D::k_steps + k;
        fragment(bf[n], bv + at * b_regs, 2);
      }
#pragma unroll
      for (int m = 0; m < D::m_steps; ++m) {
        u32 af[4];
        fragment(af, av + (m * D::k_steps + k) * a_regs, 4);
#pragma unroll
        for (int n = 0; n < D::n_steps; ++n) mma(cv + (m * D::n_steps + n) * 4, af, bf[n], T{});
      }
    }
  }
  return acc;
}

// Any dtypes, any layout of acc: operands lie row-major in shared memory as the accumulator's type, products are added in the order of k.
template <class D, class A, class T, class U, class LA, class LB, class LC>
TV_DEV Tile<A, LC> dot_fma(u32 smem, const Tile<T, LA>& a, const Tile<U, LB>& b, Tile<A, LC> acc) {
  A* sa = reinterpret_cast<A*>(shared_memory + smem);
  A* sb = sa + D::batches * D::m * D::k;
  barrier();
  const u32 ta = LA::thread(), tb = LB::thread();
#pragma unroll
  for (int r = 0; r < LA::regs; ++r) sa[index_of<LA>(ta, r)] = convert<A>(a.v[r]);
#pragma unroll
  for (int r = 0; r < LB::regs; ++r) sb[index_of<LB>(tb, r)] = convert<A>(b.v[r]);
  barrier();
  const u32 tc = LC::thread();
#pragma unroll 1
  for (int k = 0; k < D::k; ++k) {
#pragma unroll
    for (int r = 0; r < LC::regs; ++r) {
      const u32 index = index_of<LC>(tc, r), row = index / D::n % D::m, col = index % D::n, batch = index / (D::m * D::n);
      const A x = sa[(batch * D::m + row) * D::k + k], y = sb[(batch * D::k + k) * D::n + col];
      if constexpr (is_float<A>) acc.v[r] = fma_(x, y, acc.v[r]);
      else acc.v[r] = add(acc.v[r], mul(x, y));
    }
  }
  return acc;
}

}  // namespace tv
