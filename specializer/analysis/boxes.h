// boxes: loads and stores whose elements are a box of an array in memory, so that the hardware can copy them by a tensor map (TMA).
//
//   offs_am = (pid_m * 128 + arange(0, 128)) % M                      tile [128, 64] at a_ptr + offs_am[:, None] * stride_am + (k * 64 + arange(0, 64))[None, :]
//   mask    = arange(0, 64)[None, :] < K - k * 64                     box of 64 x 128 elements at (k * 64, pid_m * 128) of an array of K x M elements,
//                                                                     rows stride_am apart
//
// Everything is polynomials over *symbols*: integer parameters, scalars of the kernel that are not sums or products of others (pid_m), numbers of the
// iteration of a loop (an induction variable is lower + step * trip, a carried scalar that moves by one step is initial + step * trip), and one symbol for
// each axis of the tile (its arange). An address has the form base + sum of start_d * stride_d + axis_d * stride_d; strides are polynomials of parameters.
// Terms without an axis that are a scalar of the kernel times a stride of parameters (a batch or head: off_h * stride_h) become dimensions of extent
// unbounded and box 1. Masks are conjunctions of axis_d + start_d < n_d, n_d of parameters; an axis without a bound has extent 2^32 - 1.
//
// `% n` on a whole axis is left out where the lanes that it changes (coordinate >= n) are dead: every path from the load ends in a store whose mask keeps
// only coordinates below n of that axis (through elementwise ops, dot rows and columns, reductions along other axes, the loop's carried values). Those lanes
// then read 0 and change nothing that is stored. Where that cannot be shown there is no box.
//
// *Made boxes.* Where address, strides or extents come from memory, no launcher can make a tensor map; the kernel may (pipeline/roles.h), of a tensor
// descriptor of two dimensions: its masks say what the array is, 0 <= axis_d + start_d < n_d for each axis. All these are scalars of the kernel then, known when it runs, and
// what a map demands of them is looked at there. Coordinates are 32-bit numbers of the program.
//
// 32-bit arithmetic wraps, polynomials do not: that the arithmetic of a box does not wrap in this launch is a check of the slice, by the ranges of the kernel's
// values, as is everything else that must hold of the arguments.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_BOXES_H_
#define TILEVM_SPECIALIZER_ANALYSIS_BOXES_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "specializer/ir/kernel.h"
#include "specializer/launch/slice.h"

namespace tilevm::analysis {

struct Factor {
  ir::ValueId value = ir::kNoValue;  // a scalar of the kernel; or the induction variable of a loop,
  bool trip = false;                 // then: the number of its iteration, from 0
  bool operator<(const Factor& o) const { return value != o.value ? value < o.value : trip < o.trip; }
  bool operator==(const Factor& o) const { return value == o.value && trip == o.trip; }
};
// Sum of coefficient * product of factors (sorted; none: the constant term).
struct Polynomial {
  std::map<std::vector<Factor>, int64_t> terms;
};

struct BoxDim {
  int axis = -1;             // of the tile; -1: one coordinate for all its elements
  Polynomial start;          // coordinate of the tile's first element
  launch::Node extent = -1;  // elements
  launch::Node stride = -1;  // bytes
};

struct Box {
  int param = -1;              // index of the pointer parameter
  launch::Node address = -1;   // of the array
  isa::DType dtype = isa::DType::kF16;
  std::vector<BoxDim> dims;    // innermost (elements next to each other) first; at most 5
};

// A number that the kernel computes: in 32 bits and then extended, or in 64.
struct Number {
  Polynomial value;
  bool narrow = false;
};
struct MadeBox {
  ir::ValueId base = ir::kNoValue;  // a scalar pointer: a parameter, or found in memory
  Number offset;                    // of the array from there, in elements
  isa::DType dtype = isa::DType::kF16;
  int axis = 1;                     // whose elements are neighbours; the other one has `stride`
  Number stride;                    // in elements
  std::array<Number, 2> extent;     // by axis
  std::array<Polynomial, 2> start;  // in 32 bits
  std::vector<ir::ValueId> fields;  // scalars that base, offset, stride and extents are made of
};

// The boxes of a kernel in the form after pipeline::CarriedOffsets, with or without layouts. `slice` receives nodes and, for each box that Use is called for,
// its checks.
class Boxes {
 public:
  explicit Boxes(const ir::Kernel& kernel);
  ~Boxes();
  // Of a load or store of the kernel; null if it is none, and then Why says what stands against it ("the mask is not a bound on a coordinate").
  const Box* Of(const ir::Op& access) const;
  std::string Why(const ir::Op& access) const;
  // Of a load or store that is no box because of what comes from memory; null if it is no made box either.
  const MadeBox* MadeOf(const ir::Op& access) const;
  bool HasMade() const;  // some load has one
  // The map that the kernel will copy and fill in: only element type, box and swizzle are of meaning. Returns its index.
  int UseMade(const ir::Op& access, std::vector<int64_t> box, int swizzle);
  // A scalar of the kernel in the terms that starts of boxes are written in; nullopt for what is no polynomial.
  std::optional<Polynomial> ScalarOf(ir::ValueId id) const;

  // The access will be done by a tensor map with this box (elements, by dim of Box::dims) and swizzle: adds its checks and its map to the slice. Returns
  // the map's index. may_repack: a load in a loop, whose array the launcher may copy to aligned rows first if it is read many times (Slice::TensorMap).
  // turned: of a copy of the array with its dimensions swapped, `box` too (CanTurn).
  int Use(const ir::Op& access, std::vector<int64_t> box, int swizzle, bool may_repack = false, bool turned = false);
  // Whether the launcher may make that copy: a load of two dimensions, both bounded; and for CanTurn, starts that suit the swapped one.
  bool CanRepack(const ir::Op& load) const;
  bool CanTurn(const ir::Op& load) const;
  const launch::Slice& slice() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_BOXES_H_
