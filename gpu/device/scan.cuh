// Inclusive scans along one axis, and reductions that keep the order of their operands.
//
// Both walk the bits of the index along the axis from the lowest up. After bit b every element of an aligned block of 2^(b+1) holds the combination of
// the elements of its block up to itself: those with the bit set take in the last element of the lower half, whose place is that of the element with bit b
// cleared and all lower bits set. A bit of the index is a bit of the register, the lane or the warp, so that place is an and and an or. A reverse scan
// mirrors it: the elements with the bit clear take in the first element of the upper half.
//
// A step St is printed by the emitter: reg_on, reg_off, lane_on, lane_off, warp_on, warp_off (bits to set and to clear for the place to read from), reg,
// lane, warp (the mask of the bit itself; one of them is not 0), reverse.
#pragma once
#include "device/reduce.cuh"

namespace tv {

template <class St, class T, class L, class F>
TV_DEV void scan_step(u32 smem, Tile<T, L>& x, F combine) {
  constexpr bool moves_warp = (St::warp_on | St::warp_off) != 0, moves_lane = (St::lane_on | St::lane_off) != 0;
  T got[L::regs];
  const u32 lane = (lane_id() | St::lane_on) & ~St::lane_off, warp = (warp_id() | St::warp_on) & ~St::warp_off;
  if constexpr (moves_warp) {
    T* scratch = reinterpret_cast<T*>(program_memory() + smem);
    barrier();
#pragma unroll
    for (int r = 0; r < L::regs; ++r) {
      if (((r | St::reg_on) & ~St::reg_off) == r) scratch[(warp_id() * L::regs + r) * 32 + lane_id()] = x.v[r];
    }
    barrier();
#pragma unroll
    for (int r = 0; r < L::regs; ++r) {
      if (((r | St::reg_on) & ~St::reg_off) == r) got[r] = scratch[(warp * L::regs + r) * 32 + lane];
    }
  } else {
#pragma unroll
    for (int r = 0; r < L::regs; ++r) {
      if (((r | St::reg_on) & ~St::reg_off) == r) got[r] = moves_lane ? shuffle(x.v[r], lane) : x.v[r];
    }
  }
  const bool upper = St::lane != 0 ? (lane_id() & St::lane) != 0 : St::warp != 0 ? (warp_id() & St::warp) != 0 : true;
  if (upper != (St::reverse && (St::lane | St::warp) != 0)) {
#pragma unroll
    for (int r = 0; r < L::regs; ++r) {
      if (St::reg == 0 || ((r & St::reg) != 0) != St::reverse) x.v[r] = combine(got[(r | St::reg_on) & ~St::reg_off], x.v[r]);
    }
  }
}

// Ordered reduction. R: slot[] as in reduce; a step is a bit of the register, the lane or the warp; done is the register bits of the earlier steps.
template <u32 Reg, u32 Lane, u32 Warp, u32 Done, class T, class L, class F>
TV_DEV void reduce_step(u32 smem, Tile<T, L>& x, F combine) {
  if constexpr (Reg != 0) {
#pragma unroll
    for (int r = 0; r < L::regs; ++r) {
      if ((r & (Done | Reg)) == 0) x.v[r] = combine(x.v[r], x.v[r | Reg]);
    }
  } else {
    T* scratch = reinterpret_cast<T*>(program_memory() + smem);
    if constexpr (Warp != 0) {
      barrier();
#pragma unroll
      for (int r = 0; r < L::regs; ++r) {
        if ((r & Done) == 0) scratch[(warp_id() * L::regs + r) * 32 + lane_id()] = x.v[r];
      }
      barrier();
    }
    const bool upper = Lane != 0 ? (lane_id() & Lane) != 0 : (warp_id() & Warp) != 0;
#pragma unroll
    for (int r = 0; r < L::regs; ++r) {
      if ((r & Done) != 0) continue;
      const T mine = x.v[r], other = Lane != 0 ? shuffle_xor(mine, Lane) : scratch[((warp_id() ^ Warp) * L::regs + r) * 32 + lane_id()];
      x.v[r] = combine(upper ? other : mine, upper ? mine : other);
    }
  }
}
template <class S, class R, class T, class L>
TV_DEV Tile<T, S> reduced_part(const Tile<T, L>& x) {
  Tile<T, S> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) {
    if ((r & R::done) == 0) out.v[R::slot(r)] = x.v[r];
  }
  return out;
}

// Several tiles as one of structs P, field by field.
template <class P, class L, class... T>
TV_DEV Tile<P, L> pack_as(const Tile<T, L>&... x) {
  Tile<P, L> out;
#pragma unroll
  for (int r = 0; r < L::regs; ++r) out.v[r] = P{x.v[r]...};
  return out;
}

}  // namespace tv
