// Atomics. Each lane of a tile is one operation; of a replicated tile only the copy whose replicated bits are 0 acts, and the others get its result.
// A scalar atomic is done by thread 0 and its result handed to all.
//
// Order: the operation itself is relaxed, at its scope; release is a fence of every acting thread before it, acquire one after it. The barriers of the
// program around them are the emitter's. Scope: 0 gpu, 1 cta, 2 sys. Masked-off lanes give 0.
//
// float maximum and minimum, and bf16 sums before sm_90, are loops of compare-and-swap over the scalar op. A native float sum of the hardware (f32) may
// flush denormals in global memory (PTX ISA, "atom").
#pragma once
#include "device/convert.cuh"
#include "device/elementwise.cuh"

namespace tv {

template <int Scope>
TV_DEV void fence() {
  if constexpr (Scope == 1) asm volatile("fence.acq_rel.cta;" ::: "memory");
  else if constexpr (Scope == 2) asm volatile("fence.acq_rel.sys;" ::: "memory");
  else asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

#define TV_ATOM(op, c, Word)                                                                                                                    \
  {                                                                                                                                             \
    Word old;                                                                                                                                   \
    const Word word = bit_cast<Word>(value);                                                                                                    \
    if constexpr (Scope == 1) asm volatile("atom.relaxed.cta.global." op " %0, [%1], %2;" : "=" c(old) : "l"(p), c(word) : "memory");           \
    else if constexpr (Scope == 2) asm volatile("atom.relaxed.sys.global." op " %0, [%1], %2;" : "=" c(old) : "l"(p), c(word) : "memory");      \
    else asm volatile("atom.relaxed.gpu.global." op " %0, [%1], %2;" : "=" c(old) : "l"(p), c(word) : "memory");                                \
    return bit_cast<T>(old);                                                                                                                    \
  }
#define TV_CAS(op, c, Word)                                                                                                                     \
  {                                                                                                                                             \
    Word old;                                                                                                                                   \
    const Word want = bit_cast<Word>(cmp), word = bit_cast<Word>(value);                                                                        \
    if constexpr (Scope == 1)                                                                                                                   \
      asm volatile("atom.relaxed.cta.global.cas." op " %0, [%1], %2, %3;" : "=" c(old) : "l"(p), c(want), c(word) : "memory");                  \
    else if constexpr (Scope == 2)                                                                                                              \
      asm volatile("atom.relaxed.sys.global.cas." op " %0, [%1], %2, %3;" : "=" c(old) : "l"(p), c(want), c(word) : "memory");                  \
    else                                                                                                                                        \
      asm volatile("atom.relaxed.gpu.global.cas." op " %0, [%1], %2, %3;" : "=" c(old) : "l"(p), c(want), c(word) : "memory");                  \
    return bit_cast<T>(old);                                                                                                                    \
  }

// Compared by bits.
template <int Scope, class T>
TV_DEV T compare_and_swap(T* p, T cmp, T value) {
  if constexpr (sizeof(T) == 2) TV_CAS("b16", "h", u16)
  else if constexpr (sizeof(T) == 4) TV_CAS("b32", "r", u32)
  else TV_CAS("b64", "l", u64)
}

// *p = next(*p), by compare-and-swap. A value that does not change is not written.
template <int Scope, class T, class F>
TV_DEV T atomic_loop(T* p, F next) {
  using U = unsigned_of_size<sizeof(T)>;
  U old = compare_and_swap<Scope>(reinterpret_cast<U*>(p), U{0}, U{0});
  while (true) {
    const U wanted = bit_cast<U>(next(bit_cast<T>(old)));
    if (wanted == old) break;
    const U found = compare_and_swap<Scope>(reinterpret_cast<U*>(p), old, wanted);
    if (found == old) break;
    old = found;
  }
  return bit_cast<T>(old);
}

struct AtomicAdd {
  template <int Scope, class T>
  static TV_DEV T apply(T* p, T value) {
    if constexpr (same<T, f32>) TV_ATOM("add.f32", "f", f32)
    else if constexpr (same<T, f64>) TV_ATOM("add.f64", "d", f64)
    else if constexpr (same<T, f16>) TV_ATOM("add.noftz.f16", "h", u16)
#if __CUDA_ARCH__ >= 900
    else if constexpr (same<T, bf16>) TV_ATOM("add.noftz.bf16", "h", u16)
#endif
    else if constexpr (is_integer<T> && sizeof(T) == 4) TV_ATOM("add.u32", "r", u32)
    else if constexpr (is_integer<T> && sizeof(T) == 8) TV_ATOM("add.u64", "l", u64)
    else return atomic_loop<Scope>(p, [&](T old) { return add(old, value); });
  }
};
#define TV_EXTREME(Name, op, fold)                                                                    \
  struct Name {                                                                                       \
    template <int Scope, class T>                                                                     \
    static TV_DEV T apply(T* p, T value) {                                                            \
      if constexpr (same<T, i32>) TV_ATOM(op ".s32", "r", i32)                                        \
      else if constexpr (same<T, u32>) TV_ATOM(op ".u32", "r", u32)                                   \
      else if constexpr (same<T, i64>) TV_ATOM(op ".s64", "l", i64)                                   \
      else if constexpr (same<T, u64>) TV_ATOM(op ".u64", "l", u64)                                   \
      else return atomic_loop<Scope>(p, [&](T old) { return fold<false>(old, value); });              \
    }                                                                                                 \
  };
TV_EXTREME(AtomicMax, "max", maximum) TV_EXTREME(AtomicMin, "min", minimum)
#undef TV_EXTREME
#define TV_BITWISE(Name, op)                                      \
  struct Name {                                                   \
    template <int Scope, class T>                                 \
    static TV_DEV T apply(T* p, T value) {                        \
      if constexpr (sizeof(T) == 4) TV_ATOM(op ".b32", "r", u32)  \
      else TV_ATOM(op ".b64", "l", u64)                           \
    }                                                             \
  };
TV_BITWISE(AtomicAnd, "and") TV_BITWISE(AtomicOr, "or") TV_BITWISE(AtomicXor, "xor") TV_BITWISE(AtomicXchg, "exch")
#undef TV_BITWISE
#undef TV_ATOM
#undef TV_CAS

// A mask that is true everywhere.
struct AllTrue {
  struct Values {
    TV_DEV bool operator[](int) const { return true; }
  } v;
};

// The result of the acting copies, for the copies that did not act. A: lanes, warps (masks of the replicated bits).
template <class A, class T, class L>
TV_DEV Tile<T, L> from_acting(u32 smem, Tile<T, L> x) {
  if constexpr (A::lanes != 0) {
#pragma unroll
    for (int r = 0; r < L::regs; ++r) x.v[r] = shuffle(x.v[r], lane_id() & ~A::lanes);
  }
  if constexpr (A::warps != 0) {
    T* scratch = reinterpret_cast<T*>(program_memory() + smem);
    barrier();
    if ((warp_id() & A::warps) == 0) {
#pragma unroll
      for (int r = 0; r < L::regs; ++r) scratch[(warp_id() * L::regs + r) * 32 + lane_id()] = x.v[r];
    }
    barrier();
#pragma unroll
    for (int r = 0; r < L::regs; ++r) x.v[r] = scratch[((warp_id() & ~A::warps) * L::regs + r) * 32 + lane_id()];
  }
  return x;
}

// A: lanes, warps, used (whether the old values are looked at), release, acquire, scope.
template <class A, class F, class T, class L, class M>
TV_DEV Tile<T, L> atomic_lanes(u32 smem, const Tile<T*, L>& p, const M& mask, F act) {
  const bool acts = (lane_id() & A::lanes) == 0 && (warp_id() & A::warps) == 0;
  Tile<T, L> out;
  if constexpr (A::release) fence<A::scope>();
#pragma unroll
  for (int r = 0; r < L::regs; ++r) {
    out.v[r] = T{};
    if (acts && mask.v[r]) out.v[r] = act(r);
  }
  if constexpr (A::acquire) fence<A::scope>();
  if constexpr (A::used) return from_acting<A>(smem, out);
  return out;
}
template <class A, class Op, class T, class L, class M>
TV_DEV Tile<T, L> atomic(u32 smem, const Tile<T*, L>& p, const Tile<T, L>& value, const M& mask) {
  return atomic_lanes<A>(smem, p, mask, [&](int r) { return Op::template apply<A::scope>(p.v[r], value.v[r]); });
}
template <class A, class T, class L>
TV_DEV Tile<T, L> atomic_cas(u32 smem, const Tile<T*, L>& p, const Tile<T, L>& cmp, const Tile<T, L>& value) {
  return atomic_lanes<A>(smem, p, AllTrue{}, [&](int r) { return compare_and_swap<A::scope>(p.v[r], cmp.v[r], value.v[r]); });
}

// By thread 0. If the old value is used all get it, with a barrier on both sides.
template <class A, class T, class F>
TV_DEV T atomic_thread_0(u32 smem, bool mask, F act) {
  T old{};
  if constexpr (A::used) barrier();
  if (thread_id() == 0 && mask) {
    if constexpr (A::release) fence<A::scope>();
    old = act();
    if constexpr (A::acquire) fence<A::scope>();
  }
  if constexpr (A::used) {
    T* place = reinterpret_cast<T*>(program_memory() + smem);
    if (thread_id() == 0) *place = old;
    barrier();
    old = *place;
  }
  return old;
}
template <class A, class Op, class T>
TV_DEV T atomic_scalar(u32 smem, T* p, T value, bool mask) {
  return atomic_thread_0<A, T>(smem, mask, [&] { return Op::template apply<A::scope>(p, value); });
}
template <class A, class T>
TV_DEV T atomic_cas_scalar(u32 smem, T* p, T cmp, T value) {
  return atomic_thread_0<A, T>(smem, true, [&] { return compare_and_swap<A::scope>(p, cmp, value); });
}

}  // namespace tv
