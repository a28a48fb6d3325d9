// Reductions: registers, then lanes by shuffles, then warps through shared memory. Every thread ends with the result.
//
// R is printed by the emitter: slot() (register of the operand -> register of the result), lanes and warps (masks of the bits that run along the
// reduced axis). Several operands travel as one tile of structs (Pack). F combines two elements and commutes;
// functions that need the order of their operands go through scan.cuh.
#pragma once
#include "device/convert.cuh"
#include "device/elementwise.cuh"

namespace tv {

// Lanes and warps, from one value for each slot in a thread. Ordered: whether the scratch may still be read by others, so that a barrier has to come first.
template <class S, class R, bool Ordered, class F, class T>
TV_DEV Tile<T, S> reduce_threads(u32 smem, Tile<T, S> out, F combine) {
#pragma unroll
  for (int bit = 4; bit >= 0; --bit) {
    if (R::lanes >> bit & 1) {
#pragma unroll
      for (int s = 0; s < S::regs; ++s) {
        // Both sides get the same bits: every F here commutes.
        out.v[s] = combine(out.v[s], shuffle_xor(out.v[s], 1u << bit));
      }
    }
  }
  if constexpr (R::warps != 0) {
    T* scratch = reinterpret_cast<T*>(program_memory() + smem);
    if constexpr (Ordered) barrier();
    if constexpr (R::lanes == 31 && R::warps == R::warp_count - 1) {
      // Every warp has one value for each slot; the warps' values meet in the lanes of each warp.
      if (lane_id() == 0) {
#pragma unroll
        for (int s = 0; s < S::regs; ++s) scratch[s * R::warp_count + warp_id()] = out.v[s];
      }
      barrier();
#pragma unroll
      for (int s = 0; s < S::regs; ++s) {
        out.v[s] = scratch[s * R::warp_count + (lane_id() & R::warps)];
#pragma unroll
        for (u32 bit = R::warp_count / 2; bit > 0; bit /= 2) {
          const T other = shuffle_xor(out.v[s], bit);
          out.v[s] = lane_id() & bit ? combine(other, out.v[s]) : combine(out.v[s], other);
        }
      }
    } else {
#pragma unroll
      for (int s = 0; s < S::regs; ++s) scratch[(warp_id() * S::regs + s) * 32 + lane_id()] = out.v[s];
      barrier();
      const u32 base = warp_id() & ~R::warps;
#pragma unroll
      for (int s = 0; s < S::regs; ++s) {
        T total = scratch[(base * S::regs + s) * 32 + lane_id()];
#pragma unroll
        for (u32 w = 1; w < R::warp_count; ++w) {
          if ((w & ~R::warps) == 0) total = combine(total, scratch[((base | w) * S::regs + s) * 32 + lane_id()]);
        }
        out.v[s] = total;
      }
    }
  }
  return out;
}

template <class S, class R, bool Ordered, class F, class T, class L>
TV_DEV Tile<T, S> reduce(u32 smem, const Tile<T, L>& x, F combine) {
  // Registers of one slot in a tree: short chains of dependent operations, and the same order everywhere.
  Tile<T, S> out;
  if constexpr (S::regs == 1) {
    T tree[2 * L::regs - 1];
#pragma unroll
    for (int r = 0; r < L::regs; ++r) tree[r] = x.v[r];
#pragma unroll
    for (int i = 0; i < L::regs - 1; ++i) tree[L::regs + i] = combine(tree[2 * i], tree[2 * i + 1]);
    out.v[0] = tree[2 * L::regs - 2];
  } else {
    constexpr int ways = L::regs / S::regs >= 8 ? 4 : 1;  // chains side by side
    T part[S::regs][ways];
    int seen[S::regs] = {};
#pragma unroll
    for (int r = 0; r < L::regs; ++r) {
      const int s = R::slot(r), number = seen[s]++;
      part[s][number % ways] = number >= ways ? combine(part[s][number % ways], x.v[r]) : x.v[r];
    }
#pragma unroll
    for (int s = 0; s < S::regs; ++s) {
      if constexpr (ways == 4) out.v[s] = combine(combine(part[s][0], part[s][1]), combine(part[s][2], part[s][3]));
      else out.v[s] = part[s][0];
    }
  }
  return reduce_threads<S, R, Ordered>(smem, out, combine);
}
// The largest or least of 16-bit floats, widened, over all registers of a thread: two at a time as long as they are narrow, which gives the same number.
template <class S, class R, bool Ordered, class F, class T, class L>
TV_DEV Tile<f32, S> reduce_narrow(u32 smem, const Tile<T, L>& x, F combine) {
  static_assert(S::regs == 1 && L::regs >= 2, "one slot");
  u32 tree[L::regs - 1];
#pragma unroll
  for (int i = 0; i < L::regs / 2; ++i) memcpy(tree + i, x.v + 2 * i, 4);
#pragma unroll
  for (int i = 0; i < L::regs / 2 - 1; ++i) tree[L::regs / 2 + i] = F::pairs(T{}, tree[2 * i], tree[2 * i + 1]);
  T halves[2];
  memcpy(halves, tree + L::regs - 2, 4);
  Tile<f32, S> out;
  out.v[0] = combine(to_f32(halves[0]), to_f32(halves[1]));
  return reduce_threads<S, R, Ordered>(smem, out, combine);
}

struct AddOp { template <class T> TV_DEV T operator()(T x, T y) const { return add(x, y); } };
struct MulOp { template <class T> TV_DEV T operator()(T x, T y) const { return mul(x, y); } };
#define TV_PAIRS(op, type)                                              \
  static TV_DEV u32 pairs(type, u32 x, u32 y) {                         \
    u32 out;                                                            \
    asm(op "." #type "x2 %0, %1, %2;" : "=r"(out) : "r"(x), "r"(y));    \
    return out;                                                         \
  }
struct MaxOp {
  template <class T> TV_DEV T operator()(T x, T y) const { return maximum<false>(x, y); }
  TV_PAIRS("max", f16)
  TV_PAIRS("max", bf16)
};
struct MinOp {
  template <class T> TV_DEV T operator()(T x, T y) const { return minimum<false>(x, y); }
  TV_PAIRS("min", f16)
  TV_PAIRS("min", bf16)
};
#undef TV_PAIRS
struct AndOp { template <class T> TV_DEV T operator()(T x, T y) const { return bit_and(x, y); } };
struct OrOp { template <class T> TV_DEV T operator()(T x, T y) const { return bit_or(x, y); } };
struct XorOp { template <class T> TV_DEV T operator()(T x, T y) const { return bit_xor(x, y); } };

template <class A, class B>
struct Pair {
  A first;
  B second;
};
// NaN loses to every number, then the lowest index.
struct ArgMaxOp {
  template <class P> TV_DEV P operator()(P x, P y) const {
    const auto a = number(x.first), b = number(y.first);
    const bool x_nan = a != a, y_nan = b != b;
    const bool take_x = x_nan != y_nan ? y_nan : (a > b || (!(b > a) && x.second < y.second));
    return take_x ? x : y;
  }
};
struct ArgMinOp {
  template <class P> TV_DEV P operator()(P x, P y) const {
    const auto a = number(x.first), b = number(y.first);
    const bool x_nan = a != a, y_nan = b != b;
    const bool take_x = x_nan != y_nan ? y_nan : (a < b || (!(b < a) && x.second < y.second));
    return take_x ? x : y;
  }
};
template <class A, class B, class L>
TV_DEV Tile<Pair<A, B>, L> pack(const Tile<A, L>& a, const Tile<B, L>& b) {
  Tile<Pair<A, B>, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = Pair<A, B>{a.v[r], b.v[r]};
  return out;
}
template <class A, class B, class L>
TV_DEV Tile<A, L> first_of(const Tile<Pair<A, B>, L>& x) { return map<A, L>([](Pair<A, B> p) { return p.first; }, x); }
template <class A, class B, class L>
TV_DEV Tile<B, L> second_of(const Tile<Pair<A, B>, L>& x) { return map<B, L>([](Pair<A, B> p) { return p.second; }, x); }

// A full reduction leaves one register of a rank-0 layout: the scalar.
template <class T, class S>
TV_DEV T scalar_of(const Tile<T, S>& x) { return x.v[0]; }

}  // namespace tv
