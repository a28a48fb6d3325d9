// Which program of the grid a CTA of a persistent kernel runs, from its number. programs_test.cc runs this on the host.
#pragma once
#include "device/types.cuh"

namespace tv {

// The programs that one CTA runs, one after the other, where there are more than fit the device: from its own number on, in steps of the number of CTAs.
struct Programs {
  u32 size[3], index[3];
  TV_DEV void set(u32 number) {
    index[0] = number;
    index[1] = index[2] = 0;
    if (size[1] * size[2] == 1) return;
    index[0] = number % size[0];
    index[1] = number / size[0] % size[1];
    index[2] = number / size[0] / size[1];
  }
  // The same by length, where later programs along an axis are longer (specializer/pipeline/program_order.h): the longest of a group first. A group is the
  // programs of kTogether places along the other axes, or of up to twice as many. Were it one place, the last would begin with a long program when all else is done.
  template <int Axis>
  TV_DEV void set_by_length(u32 number) { set_in_groups<Axis>(number, size); }
  TV_DEV u32 count() const { return size[0] * size[1] * size[2]; }

 protected:
  static constexpr u32 kTogether = 16;
  template <int Axis>
  TV_DEV void set_in_groups(u32 number, const u32 (&of)[3]) {
    constexpr int inner = Axis == 0 ? 1 : 0, outer = Axis == 2 ? 1 : 2;
    const u32 places = of[inner] * of[outer], last = places < kTogether ? 0 : places / kTogether - 1;  // the last group has what is left over
    u32 group = number / (of[Axis] * kTogether);
    if (group > last) group = last;
    const u32 first = group * kTogether, together = group == last ? places - first : kTogether, rest = number - first * of[Axis];
    const u32 place = first + rest % together;
    index[Axis] = rest / together;
    index[inner] = place % of[inner];
    index[outer] = place / of[inner];
  }
};

// A grid of one axis whose programs go through tiles of arrays that only they know of: which block runs which program. Programs `stride` apart are neighbours, and
// neighbours' copies of the same box meet on their way. Every program is run by one block, whatever the stride; 1 leaves them in order.
TV_DEV u32 strided_program(u32 block, u32 blocks, u32 stride) {
  const u32 rows = blocks / stride;
  return block < rows * stride ? block % rows * stride + block / rows : block;
}

// The same where the last programs are shared (specializer/pipeline/split_tiles.h): each CTA has as many whole ones, then what is left over comes in Parts
// parts each, with `size` and `index` of a grid whose first extent is multiplied.
template <u32 Parts>
struct SharedTail : Programs {
  u32 grid, all, whole, part;
  TV_DEV SharedTail(u32 x, u32 y, u32 z, u32 ctas) : Programs{{x, y, z}, {0, 0, 0}}, grid(x), all(x * y * z), whole(all - all % ctas), part(0) {}
  TV_DEV void set(u32 number) {
    part = number >= whole;
    size[0] = part ? grid * Parts : grid;
    Programs::set(part ? number + whole * (Parts - 1) : number);
  }
  TV_DEV u32 count() const { return whole + (all - whole) * Parts; }
};

// Merged programs: a CTA takes Members that follow each other along axis 0 at once. Where the grid ends before the last of them, that one is the grid's last
// program again, and does not count.
template <u32 Members>
struct MergedPrograms : Programs {
  bool counts;
  u32 set_of_members;  // along axis 0
  TV_DEV u32 sets() const { return (size[0] + Members - 1) / Members; }
  TV_DEV void set(u32 number, u32 member) {
    set_of_members = number % sets();
    index[1] = number / sets() % size[1];
    index[2] = number / sets() / size[1];
    choose(member);
  }
  template <int Axis>
  TV_DEV void set_by_length(u32 number, u32 member) {
    set_in_groups<Axis>(number, {sets(), size[1], size[2]});
    set_of_members = index[0];
    choose(member);
  }
  // Another of the same set.
  TV_DEV void choose(u32 member) {
    const u32 first = set_of_members * Members + member;
    counts = first < size[0];
    index[0] = counts ? first : size[0] - 1;
  }
  TV_DEV u32 count() const { return sets() * size[1] * size[2]; }
};

}  // namespace tv
