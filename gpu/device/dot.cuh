// dot: acc + a @ b, on the tensor cores by mma.sync over fragments, or by fused multiply-adds from shared memory.
//
// Fragments are the layouts MmaAccumulator, MmaOperandA and MmaOperandB of specializer/layout. D is printed by the emitter: m_steps, n_steps, k_steps
// (instructions along each axis that one warp does), n_pairs (whether two n steps are neighbours in registers), warps_m, warps_n, m_tiles, n_tiles (16 rows
// or columns each), batches. An operand comes from registers (RegisterA, RegisterB) or from a buffer of swizzled rows in shared memory by ldmatrix
// (SharedA, SharedB); each has load(fragments, k step, batch), and the next k step is loaded while the products of this one run.
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

// The words of a fragment. f32 operands go in as they are: the tensor cores cut them to tf32 (isa::TruncateToTf32).
template <class T>
TV_DEV void fragment(u32* out, const T* x, int words) {
#pragma unroll
  for (int i = 0; i < words; ++i) {
    out[i] = packed<4>(x + i * (4 / static_cast<int>(sizeof(T))));
  }
}

template <class D, class T>
struct RegisterA {
  const T* v;
  TV_DEV void load(u32 (*out)[4], int k, int batch) const {
    constexpr int regs = sizeof(T) >= 4 ? 4 : 16 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int m = 0; m < D::m_steps; ++m) fragment(out[m], v + ((batch * D::m_steps + m) * D::k_steps + k) * regs, 4);
  }
};
template <class D, class T>
struct RegisterB {
  const T* v;
  TV_DEV void load(u32 (*out)[2], int k, int batch) const {
    constexpr int regs = sizeof(T) >= 4 ? 2 : 8 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int n = 0; n < D::n_steps; ++n) {
      const int at = D::n_pairs ? ((n / 2 * D::k_steps + k) * 2 + n % 2) : n * D::k_steps + k;
      fragment(out[n], v + (batch * D::n_steps * D::k_steps + at) * regs, 2);
    }
  }
};

TV_DEV void ldmatrix(u32* r, u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
TV_DEV void ldmatrix_transposed(u32* r, u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

// Where unit (16 bytes) `unit` of row `row` of a buffer of swizzled rows lies. S: units of a row of a panel, shift, panel_bytes (layout::SwizzledRows).
template <class S>
TV_DEV u32 unit_offset(u32 row, u32 unit) {
  return row * (S::units * 16) + (((unit ^ (row >> S::shift)) & (S::units - 1)) << 4) + unit / S::units * S::panel_bytes;
}
// The same further on: row a multiple of 16, unit without bits that the first one may have.
template <class S>
TV_DEV u32 unit_further(u32 address, u32 row, u32 unit) {
  return (address ^ ((unit & (S::units - 1)) << 4)) + row * (S::units * 16) + unit / S::units * S::panel_bytes;
}

TV_DEV void load_matrices(u32* out, u32 address, bool transposed) {
  if (transposed) ldmatrix_transposed(out, address);
  else ldmatrix(out, address);
}

// Rows of the buffer are rows of a; Turned: they are rows of k, for 16-bit elements.
template <class D, class S, bool Turned, class T>
struct SharedA {
  u32 address;
  TV_DEV explicit SharedA(u32 buffer) {
    const u32 lane = lane_id(), tile = warp_id() % D::warps_m % D::m_tiles;
    address = buffer + (Turned ? unit_offset<S>((lane & 7) + (lane >> 4) * 8, tile * 2 + (lane >> 3 & 1)) : unit_offset<S>(tile * 16 + (lane & 15), lane >> 4));
  }
  TV_DEV void load(u32 (*out)[4], int k, int) const {
#pragma unroll
    for (int m = 0; m < D::m_steps; ++m) {
      const u32 along_m = m * D::warps_m;
      load_matrices(out[m], Turned ? unit_further<S>(address, k * 16, along_m * 2) : unit_further<S>(address, along_m * 16, k * 2), Turned);
    }
  }
};
// Rows of the buffer are columns of b (its k is contiguous); Turned: they are rows of b, for 16-bit elements.
template <class D, class S, bool Turned, class T>
struct SharedB {
  u32 address;
  TV_DEV explicit SharedB(u32 buffer) {
    const u32 lane = lane_id(), tile = warp_id() / D::warps_m % D::n_tiles;
    address = buffer + (Turned ? unit_offset<S>(lane & 15, tile * 2 + (lane >> 4)) : unit_offset<S>(tile * 16 + (lane & 7) + (lane >> 4) * 8, lane >> 3 & 1));
  }
  TV_DEV void load(u32 (*out)[2], int k, int) const {
#pragma unroll
    for (int n = 0; n < D::n_steps; n += 2) {
      const u32 along_n = n / 2 * D::warps_n;
      load_matrices(out[n], Turned ? unit_further<S>(address, k * 16, along_n * 2) : unit_further<S>(address, along_n * 16, k * 2), Turned);
    }
  }
};

template <class D, class T, class C, class A, class B>
TV_DEV void dot_mma(C* acc, const A& a, const B& b) {
  u32 af[2][D::m_steps][4], bf[2][D::n_steps][2];
#pragma unroll
  for (int batch = 0; batch < D::batches; ++batch) {
    C* c = acc + batch * D::m_steps * D::n_steps * 4;
    a.load(af[0], 0, batch);
    b.load(bf[0], 0, batch);
#pragma unroll
    for (int k = 0; k < D::k_steps; ++k) {
      if (k + 1 < D::k_steps) {
        a.load(af[(k + 1) & 1], k + 1, batch);
        b.load(bf[(k + 1) & 1], k + 1, batch);
      }
#pragma unroll
      for (int m = 0; m < D::m_steps; ++m) {
#pragma unroll
        for (int n = 0; n < D::n_steps; ++n) mma(c + (m * D::n_steps + n) * 4, af[k & 1][m], bf[k & 1][n], T{});
      }
    }
  }
}

// Any dtypes, any layout of acc: operands lie row-major in shared memory as the accumulator's type, products are added in the order of k.
template <class D, class A, class T, class U, class LA, class LB, class LC>
TV_DEV Tile<A, LC> dot_fma(u32 smem, const Tile<T, LA>& a, const Tile<U, LB>& b, Tile<A, LC> acc) {
  A* sa = reinterpret_cast<A*>(program_memory() + smem);
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
