// dot: acc + a @ b, on the tensor cores by mma.sync over fragments, or by fused multiply-adds from shared memory.
//
// Fragments are the layouts MmaAccumulator, MmaOperandA and MmaOperandB of specializer/layout. D is printed by the emitter: m_steps, n_steps, k_steps
// (instructions along each axis that one warp does), n_pairs (whether two n steps are neighbours in registers), warps_m, warps_n, m_tiles, n_tiles (16 rows
// or columns each), batches. An operand comes from registers (RegisterA, RegisterB) or from a buffer of swizzled rows in shared memory, by ldmatrix
// (SharedA, SharedB) or, where that cannot be, element by element (ElementsA, ElementsB). Those of a have load(all fragments of a k step, k step, batch), those of
// b load(fragments of n and n + 1, n, k step, batch). The next k step is loaded while the products of this one run.
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

// c += a @ b in f64: 4 of k. Before sm_90 an instruction has 8 rows.
TV_DEV void mma(f64* c, const f64* a, const f64* b, f64) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3]) : "d"(a[0]), "d"(a[1]), "d"(b[0]));
#else
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[half * 2]), "+d"(c[half * 2 + 1]) : "d"(a[half]), "d"(b[0]));
  }
#endif
}

// Words of a fragment of an instruction.
template <class T> struct Fragment {
  using Word = u32;
  static constexpr int a = 4, b = 2;
};
template <> struct Fragment<f64> {
  using Word = f64;
  static constexpr int a = 2, b = 1;
};

// The words of a fragment from registers. f32 operands go in as they are: the tensor cores cut them to tf32 (isa::TruncateToTf32).
TV_DEV void fragment(f64* out, const f64* x, int words) {
#pragma unroll
  for (int i = 0; i < words; ++i) out[i] = x[i];
}
template <class T>
TV_DEV void fragment(u32* out, const T* x, int words) {
#pragma unroll
  for (int i = 0; i < words; ++i) {
    out[i] = packed<4>(x + i * (4 / static_cast<int>(sizeof(T))));
  }
}

template <class D, class T>
struct RegisterA {
  static constexpr bool in_registers = true;
  const T* v;
  using F = Fragment<T>;
  TV_DEV void load(typename F::Word (*out)[F::a], int k, int batch) const {
    constexpr int regs = sizeof(T) >= 4 ? F::a : 16 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int m = 0; m < D::m_steps; ++m) fragment(out[m], v + ((batch * D::m_steps + m) * D::k_steps + k) * regs, F::a);
  }
};
template <class D, class T>
struct RegisterB {
  static constexpr bool in_registers = true;
  const T* v;
  using F = Fragment<T>;
  TV_DEV void load(typename F::Word (*out)[F::b], int n, int k, int batch) const {
    constexpr int regs = sizeof(T) >= 4 ? F::b : 8 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int i = 0; i < (D::n_steps > 1 ? 2 : 1); ++i) {
      const int at = D::n_pairs ? ((n / 2 * D::k_steps + k) * 2 + i) : k;
      fragment(out[i], v + (batch * D::n_steps * D::k_steps + at) * regs, F::b);
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
// The same further on: row and unit without bits that the first ones may have.
template <class S>
TV_DEV u32 unit_further(u32 address, u32 row, u32 unit) {
  return (address ^ (((unit ^ (row >> S::shift)) & (S::units - 1)) << 4)) + row * (S::units * 16) + unit / S::units * S::panel_bytes;
}

TV_DEV void load_matrices(u32* out, u32 address, bool transposed) {
  if (transposed) ldmatrix_transposed(out, address);
  else ldmatrix(out, address);
}

// Rows of the buffer are rows of a; Turned: they are rows of k, for 16-bit elements.
template <class D, class S, bool Turned, class T>
struct SharedA {
  static constexpr bool in_registers = false;
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
  static constexpr bool in_registers = false;
  u32 address;
  TV_DEV explicit SharedB(u32 buffer) {
    const u32 lane = lane_id(), tile = warp_id() / D::warps_m % D::n_tiles;
    address = buffer + (Turned ? unit_offset<S>(lane & 15, tile * 2 + (lane >> 4)) : unit_offset<S>(tile * 16 + (lane & 7) + (lane >> 4) * 8, lane >> 3 & 1));
  }
  TV_DEV void load(u32 (*out)[2], int n, int k, int) const {
    const u32 along_n = n / 2 * D::warps_n;
    load_matrices(out[0], Turned ? unit_further<S>(address, k * 16, along_n * 2) : unit_further<S>(address, along_n * 16, k * 2), Turned);
  }
};

template <class D, class Word, int Words, class B>
TV_DEV void load_b(Word (&out)[D::n_steps][Words], const B& b, int k, int batch) {
#pragma unroll
  for (int n = 0; n < D::n_steps; n += 2) b.load(out + n, n, k, batch);
}

template <class T>
TV_DEV T shared_element(u32 address) {
  T out;
  if constexpr (sizeof(T) == 8) asm volatile("ld.shared.f64 %0, [%1];" : "=d"(out) : "r"(address) : "memory");
  else asm volatile("ld.shared.f32 %0, [%1];" : "=f"(out) : "r"(address) : "memory");
  return out;
}

// f32 that ldmatrix would have to turn, and f64: each lane reads its own elements. Rows as above.
template <class D, class S, bool Turned, class T>
struct ElementsA {
  static constexpr bool in_registers = false;
  using F = Fragment<T>;
  static constexpr u32 unit = 16 / sizeof(T), k_step = F::a * 2;
  u32 address;
  TV_DEV explicit ElementsA(u32 buffer) {
    const u32 row = warp_id() % D::warps_m % D::m_tiles * 16 + lane_id() / 4, k = lane_id() & 3;
    address = buffer + (Turned ? unit_offset<S>(k, row / unit) + row % unit * sizeof(T) : unit_offset<S>(row, k / unit) + k % unit * sizeof(T));
  }
  TV_DEV void load(typename F::Word (*out)[F::a], int k, int) const {
#pragma unroll
    for (int m = 0; m < D::m_steps; ++m) {
      T x[F::a];
#pragma unroll
      for (int i = 0; i < F::a; ++i) {
        const u32 row = m * D::warps_m * 16 + i % 2 * 8, at = k * k_step + i / 2 * 4;
        x[i] = shared_element<T>(Turned ? unit_further<S>(address, at, row / unit) : unit_further<S>(address, row, at / unit));
      }
      fragment(out[m], x, F::a);
    }
  }
};
template <class D, class S, bool Turned, class T>
struct ElementsB {
  static constexpr bool in_registers = false;
  using F = Fragment<T>;
  static constexpr u32 unit = 16 / sizeof(T), k_step = F::b * 4;
  u32 address;
  TV_DEV explicit ElementsB(u32 buffer) {
    const u32 col = warp_id() / D::warps_m % D::n_tiles * 16 + lane_id() / 4, k = lane_id() & 3;
    address = buffer + (Turned ? unit_offset<S>(k, col / unit) + col % unit * sizeof(T) : unit_offset<S>(col, k / unit) + k % unit * sizeof(T));
  }
  TV_DEV void load(typename F::Word (*out)[F::b], int n, int k, int) const {
#pragma unroll
    for (int j = 0; j < (D::n_steps > 1 ? 2 : 1); ++j) {
      T x[F::b];
#pragma unroll
      for (int i = 0; i < F::b; ++i) {
        const u32 col = n / 2 * D::warps_n * 16 + j * 8, at = k * k_step + i * 4;
        x[i] = shared_element<T>(Turned ? unit_further<S>(address, at, col / unit) : unit_further<S>(address, col, at / unit));
      }
      fragment(out[j], x, F::b);
    }
  }
};

template <class D, class T, class C, class A, class B>
TV_DEV void dot_mma(C* acc, const A& a, const B& b) {
  using F = Fragment<T>;
  typename F::Word af[2][D::m_steps][F::a], bf[2][D::n_steps][F::b];
#pragma unroll
  for (int batch = 0; batch < D::batches; ++batch) {
    C* c = acc + batch * D::m_steps * D::n_steps * 4;
    a.load(af[0], 0, batch);
    load_b<D>(bf[0], b, 0, batch);
#pragma unroll
    for (int k = 0; k < D::k_steps; ++k) {
      if (k + 1 < D::k_steps) {
        a.load(af[(k + 1) & 1], k + 1, batch);
        load_b<D>(bf[(k + 1) & 1], b, k + 1, batch);
      }
#pragma unroll
      for (int m = 0; m < D::m_steps; ++m) {
#pragma unroll
        for (int n = 0; n < D::n_steps; ++n) mma(c + (m * D::n_steps + n) * 4, af[k & 1][m], bf[k & 1][n], T{});
      }
    }
  }
}

// f32 operands as sums of parts (isa::SplitTf32, SplitBf16): products of the first parts, and of those with later ones the larger, smaller ones first.
// a, b: words of a part of a fragment of one step of k. Careful: after a part that is not finite the later ones are 0; without it they would be NaN.
TV_DEV bool is_finite(f32 x) { return fabsf(x) < f32_of(0x7f800000); }
struct SplitTf32 {
  static constexpr int parts = 2, a = 4, b = 2;
  // The first part is rounded, by adding half of its last bit where nothing is infinite; the tensor cores cut the second one off.
  template <bool Careful, int Steps, int Words>
  TV_DEV static void split(u32 (&out)[parts][Steps * Words], const u32 (&x)[Steps][Words]) {
#pragma unroll
    for (int i = 0; i < Steps * Words; ++i) {
      const u32 whole = x[i / Words][i % Words];
      if constexpr (Careful) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out[0][i]) : "f"(f32_of(whole)));
      else out[0][i] = (whole + 0x1000) & 0xffffe000;
      const f32 rest = f32_of(whole) - f32_of(out[0][i]);
      out[1][i] = bits_of(!Careful || is_finite(f32_of(out[0][i])) ? rest : 0.0f);
    }
  }
  template <int Steps>
  TV_DEV static void multiply(f32* c, const u32* a, const u32* b) {
#pragma unroll
    for (int i = 0; i < Steps; ++i) mma(c, a + i * 4, b + i * 2, f32{});
  }
};
// A lane's elements of k and k + 4 are neighbours, in both operands alike.
template <int Parts>
struct SplitBf16 {
  static constexpr int parts = Parts, a = 2, b = 1;
  template <bool Careful, int Steps, int Words>
  TV_DEV static void split(u32 (&out)[parts][Steps * Words / 2], const u32 (&x)[Steps][Words]) {
    constexpr int half = Words / 2;
#pragma unroll
    for (int i = 0; i < Steps * half; ++i) {
      f32 rest[2] = {f32_of(x[i / half][i % half]), f32_of(x[i / half][i % half + half])};
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[part][i]) : "f"(rest[1]), "f"(rest[0]));
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const f32 taken = f32_of(j == 0 ? out[part][i] << 16 : out[part][i] & 0xffff0000);
          rest[j] = !Careful || is_finite(taken) ? rest[j] - taken : 0.0f;
        }
      }
    }
  }
  template <int Steps>
  TV_DEV static void multiply(f32* c, const u32* a, const u32* b) {
    if constexpr (Steps == 2) {
      mma(c, a, b, bf16{});
    } else {
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    }
  }
};
struct Tf32x3 : SplitTf32 {
  static constexpr int pairs = 3, of_a[pairs] = {1, 0, 0}, of_b[pairs] = {0, 1, 0};
};
struct Bf16x3 : SplitBf16<2> {
  static constexpr int pairs = 3, of_a[pairs] = {1, 0, 0}, of_b[pairs] = {0, 1, 0};
};
struct Bf16x6 : SplitBf16<3> {
  static constexpr int pairs = 6, of_a[pairs] = {1, 2, 0, 1, 0, 0}, of_b[pairs] = {1, 0, 2, 0, 1, 0};
};

// The sum of the products of some steps of k for one fragment, from zero, as the tensor cores cut sums off; it is added by rounding. Careful: smaller products
// that are not finite count as 0, since beside an infinity or NaN, which the first parts give as well, they would only make an infinity a NaN.
template <class T, bool Careful, int Steps>
TV_DEV void add_products(f32* c, const u32 (&a)[T::parts][Steps * T::a], const u32 (&b)[T::parts][Steps * T::b]) {
  f32 sum[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < T::pairs; ++i) {
    if (Careful && i + 1 == T::pairs) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        c[j] += is_finite(sum[j]) ? sum[j] : 0;
        sum[j] = 0;
      }
    }
    T::template multiply<Steps>(sum, a[T::of_a[i]], b[T::of_b[i]]);
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) c[j] += sum[j];
}
template <int Steps, int Words, int Fragments>
TV_DEV void take_fragment(u32 (&out)[Steps][Words], const u32 (&x)[Steps][Fragments][Words], int fragment) {
#pragma unroll
  for (int i = 0; i < Steps * Words; ++i) out[i / Words][i % Words] = x[i / Words][fragment][i % Words];
}
template <int Steps, int Fragments, int Words>
TV_DEV void clear_fragments(u32 (&x)[Steps][Fragments][Words]) {
#pragma unroll
  for (int i = 0; i < Steps * Fragments * Words; ++i) x[i / Words / Fragments][i / Words % Fragments][i % Words] = 0;
}
// Not finite if products or parts might not be: at a magnitude of 2^65, or so many that are nearly as large. One operation an element.
template <int Steps, int Fragments, int Words>
TV_DEV f32 sum_of_all(const u32 (&x)[Steps][Fragments][Words]) {
  f32 out[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < Steps * Fragments * Words; ++i) out[i & 1] = __fmaf_rn(fabsf(f32_of(x[i / Words / Fragments][i / Words % Fragments][i % Words])), 0x1p63f, out[i & 1]);
  return out[0] + out[1];
}

template <class D, class T, class A, class B>
TV_DEV void dot_parts_carefully(f32* c, const A& a, const B& b, u32 steps) {
#pragma unroll 1
  for (int k = 0; k < D::k_steps; ++k) {
    if ((steps >> k & 1) == 0) continue;
    u32 af[1][D::m_steps][4], bf[1][D::n_steps][2];
    a.load(af[0], k, 0);
    load_b<D>(bf[0], b, k, 0);
#pragma unroll
    for (int n = 0; n < D::n_steps; ++n) {
      u32 x[1][2], pb[T::parts][T::b];
      take_fragment(x, bf, n);
      T::template split<true>(pb, x);
#pragma unroll
      for (int m = 0; m < D::m_steps; ++m) {
        u32 y[1][4], pa[T::parts][T::a];
        take_fragment(y, af, m);
        T::template split<true>(pa, y);
        add_products<T, true, 1>(c + (m * D::n_steps + n) * 4, pa, pb);
      }
    }
  }
}

// One step of k goes into a sum, or two if registers are left for it. Steps with operands that are large or not finite are left out, and done again with care;
// operands in registers, whose loops are unrolled, are taken with care at once.
template <class D, class T, class A, class B>
TV_DEV void dot_parts(f32* acc, const A& a, const B& b) {
  constexpr int steps = D::k_steps % 2 == 0 && D::m_steps * D::n_steps <= 16 ? 2 : 1;
  constexpr bool look = !A::in_registers && !B::in_registers && D::k_steps <= 32;
  u32 af[steps][D::m_steps][4], bf[steps][D::n_steps][2];
#pragma unroll
  for (int batch = 0; batch < D::batches; ++batch) {
    f32* c = acc + batch * D::m_steps * D::n_steps * 4;
    u32 again = 0;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      a.load(af[step], step, batch);
      load_b<D>(bf[step], b, step, batch);
    }
#pragma unroll(A::in_registers || B::in_registers || D::k_steps <= 4 * steps ? D::k_steps / steps : 2)
    for (int k = 0; k < D::k_steps; k += steps) {
      if constexpr (look) {
        if (any_of_warp(!is_finite(sum_of_all(af) + sum_of_all(bf)))) {
          again |= (steps == 2 ? 3u : 1u) << k;
          clear_fragments(af);
          clear_fragments(bf);
        }
      }
      u32 pa[D::m_steps][T::parts][steps * T::a];
#pragma unroll
      for (int m = 0; m < D::m_steps; ++m) {
        u32 x[steps][4];
        take_fragment(x, af, m);
        T::template split<!look>(pa[m], x);
      }
      const bool more = k + steps < D::k_steps;
#pragma unroll
      for (int step = 0; more && step < steps; ++step) a.load(af[step], k + steps + step, batch);
#pragma unroll
      for (int n = 0; n < D::n_steps; ++n) {
        u32 x[steps][2], pb[T::parts][steps * T::b];
        take_fragment(x, bf, n);
        T::template split<!look>(pb, x);
        if (more && (n % 2 == 1 || n + 1 == D::n_steps)) {
#pragma unroll
          for (int step = 0; step < steps; ++step) b.load(bf[step] + n / 2 * 2, n / 2 * 2, k + steps + step, batch);
        }
#pragma unroll
        for (int m = 0; m < D::m_steps; ++m) add_products<T, !look, steps>(c + (m * D::n_steps + n) * 4, pa[m], pb);
      }
    }
    if constexpr (look) {
      if (again != 0) dot_parts_carefully<D, T>(c, a, b, again);
    }
  }
}

// f32 operands in buffers of swizzled rows, for products by multiply-adds over tiles of a thread (LinearLayout::ThreadTiles). The rows of a buffer run along k,
// or, Turned, along m or n. load: four of k for all of the thread's rows or columns. D: k, n, rows and columns of a thread, and the steps between its rows and
// between its groups of four columns, or its columns if they are apart.
template <class S, bool Turned>
struct RowsA {
  u32 buffer;
  template <class D>
  TV_DEV void load(f32 (&out)[D::rows][4], u32 row, int k) const {
    const u32 first = buffer + (Turned ? unit_offset<S>(0, row / 4) + row % 4 * 4 : unit_offset<S>(row, 0));
#pragma unroll
    for (int i = 0; i < D::rows; ++i) {
      if constexpr (Turned) {
#pragma unroll
        for (int j = 0; j < 4; ++j) read_shared<1>(out[i] + j, unit_further<S>(first, k + j, i * D::row_step / 4));
      } else {
        read_shared<4>(out[i], unit_further<S>(first, i * D::row_step, k / 4));
      }
    }
  }
};
template <class S, bool Turned>
struct RowsB {
  u32 buffer;
  template <class D>
  TV_DEV void load(f32 (&out)[4][D::columns], u32 column, int k) const {
    const u32 first = buffer + (Turned ? unit_offset<S>(0, column / 4) + column % 4 * 4 : unit_offset<S>(column, 0));
    if constexpr (Turned) {
      constexpr int together = D::columns_apart ? 1 : 4;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < D::columns; j += together) read_shared<together>(out[i] + j, unit_further<S>(first, k + i, j / together * D::column_step / 4));
      }
    } else {
#pragma unroll
      for (int j = 0; j < D::columns; ++j) {
        f32 of_k[4];
        read_shared<4>(of_k, unit_further<S>(first, D::columns_apart ? j * D::column_step : j % 4 + j / 4 * D::column_step, k / 4));
#pragma unroll
        for (int l = 0; l < 4; ++l) out[l][j] = of_k[l];
      }
    }
  }
};
// Products are added in the order of k.
template <class D, class L, class A, class B>
TV_DEV void dot_rows(Tile<f32, L>& acc, const A& a, const B& b) {
  const u32 thread = L::thread();
#pragma unroll(D::k <= 32 ? D::k / 4 : 4)
  for (int k = 0; k < D::k; k += 4) {
    f32 x[D::rows][4], y[4][D::columns];
    a.template load<D>(x, thread / D::n, k);
    b.template load<D>(y, thread % D::n, k);
#pragma unroll
    for (int l = 0; l < 4; ++l) {
#pragma unroll
      for (int i = 0; i < D::rows; ++i) {
#pragma unroll
        for (int j = 0; j < D::columns; ++j) acc.v[i * D::columns + j] = __fmaf_rn(x[i][l], y[l][j], acc.v[i * D::columns + j]);
      }
    }
  }
}

template <bool Cut, class T>
TV_DEV T cut_tf32(T x) {
  if constexpr (Cut) return is_finite(x) ? f32_of(bits_of(x) & 0xffffe000) : x;
  else return x;
}

// Any dtypes, any layout of acc: operands lie row-major in shared memory as the accumulator's type, products are added in the order of k. D::cut: f32 operands
// are cut to tf32, as the tensor cores do it.
template <class D, class A, class T, class U, class LA, class LB, class LC>
TV_DEV Tile<A, LC> dot_fma(u32 smem, const Tile<T, LA>& a, const Tile<U, LB>& b, Tile<A, LC> acc) {
  A* sa = reinterpret_cast<A*>(program_memory() + smem);
  A* sb = sa + D::batches * D::m * D::k;
  barrier();
  const u32 ta = LA::thread(), tb = LB::thread();
#pragma unroll
  for (int r = 0; r < LA::regs; ++r) sa[index_of<LA>(ta, r)] = cut_tf32<D::cut>(convert<A>(a.v[r]));
#pragma unroll
  for (int r = 0; r < LB::regs; ++r) sb[index_of<LB>(tb, r)] = cut_tf32<D::cut>(convert<A>(b.v[r]));
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
