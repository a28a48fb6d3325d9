// Linear layouts: where each element of a tile lives, as a matrix over GF(2).
//
// Every extent of a tile is a power of two, so an element of a tile [.., R, C] is a string of bits: its row-major index. A place in the machine
// is a string of bits too: which register of a thread, which lane of a warp, which warp. A layout that places elements by *bits* is a linear map
// over GF(2), the field where addition is exclusive or:
//
//     index(register, lane, warp) = xor of basis[i] over the bits i that are set in (register, lane, warp)
//
// so it is given by one basis vector (an index) for each bit of register, lane and warp. Blocked layouts, mma fragments, operand layouts,
// slices, transposes and XOR swizzles of shared memory are all of this form; composing, inverting and comparing them is linear algebra, and no
// layout needs code of its own. (K. Zhou et al., "Linear Layouts: Robust Code Generation of Efficient Tensor Computation Using F2", 2025.)
//
// Example, worked to the last entry. A tile [4, 4] on 4 lanes with 4 registers each, every lane holding a 2x2 block:
//
//     element (row, col) has index 4 * row + col: bits r1 r0 c1 c0
//     register bit 0 -> (0, 1) = index 1        lane bit 0 -> (0, 2) = index 2
//     register bit 1 -> (1, 0) = index 4        lane bit 1 -> (2, 0) = index 8
//
//          c=0      c=1      c=2      c=3          register r of lane l is written  l:r
//     r=0  0:0      0:1      1:0      1:1
//     r=1  0:2      0:3      1:2      1:3          register 3 of lane 2 is  4^1^8 = 13 = row 3, col 1.
//     r=2  2:0      2:1      3:0      3:1
//     r=3  2:2      2:3      3:2      3:3          A basis of 0 is a place that repeats the element of its neighbour: replication.
//
// The transpose of the tile swaps the bit groups r and c of every basis; a reshape changes nothing but the shape; expand_dims neither; a
// reduction over columns clears the c bits of every basis, which leaves replicated places. Converting layout A to layout B needs, for each place of
// B, the place of A that holds the same element: A^-1 B, again a matrix; if it keeps warp and lane bits, registers move; if it keeps warp bits,
// shuffles do it; else the tile goes through shared memory.
#ifndef TILEVM_SPECIALIZER_LAYOUT_LINEAR_LAYOUT_H_
#define TILEVM_SPECIALIZER_LAYOUT_LINEAR_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "isa/types.h"

namespace tilevm::layout {

using Basis = uint32_t;  // a row-major element index
using Bases = absl::InlinedVector<Basis, 8>;

inline constexpr int kLaneBits = 5;  // 32 lanes

int Log2(int64_t n);  // of a power of two

// A place: which register of a thread, lane of a warp, warp of a CTA.
struct Place {
  uint32_t reg = 0, lane = 0, warp = 0;
  bool operator==(const Place& o) const { return reg == o.reg && lane == o.lane && warp == o.warp; }
};

class LinearLayout {
 public:
  LinearLayout() = default;
  LinearLayout(isa::Shape shape, Bases reg, Bases lane, Bases warp);

  // Each thread holds size_per_thread (powers of two) contiguous elements, lanes and warps tile outwards in `order` (order[0] is the fastest
  // dimension); what is left of the tile repeats in registers, what is too small is replicated. 32 lanes.
  static LinearLayout Blocked(const isa::Shape& shape, absl::Span<const int64_t> size_per_thread, absl::Span<const int64_t> lanes,
                              absl::Span<const int64_t> warps, absl::Span<const int> order);
  // Blocked with `vector` elements per thread along the fastest dimension of order, lanes along it first.
  static LinearLayout BlockedByOrder(const isa::Shape& shape, int64_t vector, int num_warps, absl::Span<const int> order);

  // The sum of a product by multiply-adds [M, N]: a thread holds rows apart from each other and groups of four columns, or columns apart, about as many rows as
  // columns; lanes take 8 groups or columns and then rows, so that a warp reads few different rows of one operand and few columns of the other.
  static LinearLayout ThreadTiles(const isa::Shape& shape, int num_warps, bool columns_apart);

  // Fragments of mma.sync (PTX ISA, "Matrix fragments for mma.m16n8k16"), repeated over the tile, warps as given (warps_m * warps_n of them).
  // c: lane l holds rows l/4 and l/4 + 8, columns 2 * (l % 4) + {0, 1}.
  static LinearLayout MmaAccumulator(const isa::Shape& shape, int warps_m, int warps_n);
  // Operand a [M, K] (or b [K, N]) of an mma whose accumulator has that arrangement of warps: element width in bits 8, 16, 32, 64 fixes the k
  // extent of one instruction (32, 16, 8, 4). Warps along the other dimension of the product hold copies.
  static LinearLayout MmaOperandA(const isa::Shape& shape, int elem_bits, int warps_m, int warps_n);
  static LinearLayout MmaOperandB(const isa::Shape& shape, int elem_bits, int warps_m, int warps_n);

  const isa::Shape& shape() const { return shape_; }
  const Bases& reg() const { return reg_; }
  const Bases& lane() const { return lane_; }
  const Bases& warp() const { return warp_; }
  int index_bits() const { return index_bits_; }
  int64_t register_count() const { return int64_t{1} << reg_.size(); }
  int64_t warp_count() const { return int64_t{1} << warp_.size(); }

  Basis IndexOf(const Place& place) const;
  // Coordinates of an index.
  absl::InlinedVector<int64_t, 4> Coordinates(Basis index) const;
  // The place with the smallest register, lane and warp bits that holds the element. Requires IsSurjective().
  Place PlaceOf(Basis index) const;
  bool IsSurjective() const;    // every element has a place
  bool IsInjective() const;     // no replication
  // Mask of lane (warp) bits whose places repeat an element held with that bit clear: those threads must not do atomics twice.
  uint32_t ReplicatedLanes() const;
  uint32_t ReplicatedWarps() const;
  uint32_t ReplicatedRegisters() const;

  // Elements along `axis` that a thread holds contiguously from register 0 on, aligned: the width of a vector access.
  int64_t ContiguousElements(int axis) const;

  // --- the layout of the result of a shape op on a tile of this layout, moving nothing ---
  LinearLayout Reshaped(isa::Shape shape) const;                     // row-major order is kept
  LinearLayout Permuted(absl::Span<const int64_t> dims) const;       // result axis i is axis dims[i]
  LinearLayout Expanded(int axis) const;                             // a new axis of extent 1
  LinearLayout Sliced(int axis) const;                               // after a reduction over axis: places with equal other coordinates coincide,
                                                                     // registers that repeat are dropped
  LinearLayout Broadcasted(const isa::Shape& shape) const;           // axes of extent 1 stretched: one more register bit for each new index bit
  LinearLayout Joined() const;                                       // a new last axis of extent 2, in register bit 0
  LinearLayout Doubled(int axis) const;                              // the axis twice as long, its new bit in a last register bit
  LinearLayout InWarps(int count) const;                             // on the first `count` warps, a power of two: what others held is in their last registers
  // The layout of the halves of a tile whose last axis has extent 2, if one register bit alone tells them apart.
  std::optional<LinearLayout> Halved() const;
  // The inverse of Sliced / Broadcasted, for deciding backwards: a layout of the operand that makes the op free. Always exists.
  LinearLayout OperandOfBroadcast(const isa::Shape& operand_shape) const;

  bool operator==(const LinearLayout& o) const { return shape_ == o.shape_ && reg_ == o.reg_ && lane_ == o.lane_ && warp_ == o.warp_; }
  bool operator!=(const LinearLayout& o) const { return !(*this == o); }
  // Where each bit of the coordinate along `axis` comes from, lowest first: one bit of the register, the lane or the warp (one mask of each is not 0).
  // Empty if a place's bit moves more than one bit of the index: no such layout comes from blocked layouts, fragments and shape ops.
  struct PlaceBit {
    uint32_t reg = 0, lane = 0, warp = 0;
  };
  std::optional<std::vector<PlaceBit>> AxisBits(int axis) const;
  // "[64, 32] reg 1 2 4 lane 8 16 32 64 128 warp 256 512"
  std::string ToString() const;

 private:
  isa::Shape shape_;
  Bases reg_, lane_, warp_;
  int index_bits_ = 0;
};

// How to make a tile in layout `to` out of the same tile in layout `from`.
struct Conversion {
  enum class Kind : uint8_t { kNone, kRegisters, kShuffle, kShared } kind = Kind::kNone;
  // kRegisters: register r of the result is register source[r]. kShuffle: register r comes from `source[r] ^ (register part of the lane map)` of
  // lane `lane_source`; see ShuffleStep. kShared: through shared memory laid out by `shared`.
  std::vector<uint32_t> source;
  // kShuffle: the lane to read from, as bases over this lane's bits, plus a constant for each register; and which source register a lane sends
  // when asked by each receiver register (it may depend on the sender's lane).
  Bases lane_from_lane;                    // source lane = xor of these over the bits of the receiving lane ^ lane_from_reg[r]
  std::vector<uint32_t> lane_from_reg;
  Bases reg_from_lane;                     // source register = source[r] ^ xor of these over the bits of the receiving lane
};
Conversion Convert(const LinearLayout& from, const LinearLayout& to);

// A layout of shared memory for one tile: element index -> offset in elements, a linear bijection that keeps runs of `vector` elements together
// and spreads what the lanes of either side touch at once over the banks.
struct SharedLayout {
  int vector = 1;                          // contiguous elements of one access, power of two
  std::vector<Basis> offset_of_bit;        // offset = xor of these over the bits of the index
  int write_conflicts = 1, read_conflicts = 1;  // most threads of one access that meet in a bank, 1 is free of conflicts

  uint32_t OffsetOf(Basis index) const;
};
SharedLayout ChooseShared(const LinearLayout& write, const LinearLayout& read, int elem_bytes);
// Rows of a matrix along `axis` (its other axis counts rows), cut into panels 128 bytes wide or as wide as a row, in which the 16-byte units of row r are
// xor-ed with r (128 bytes), r / 2 (64 bytes) or r / 4 (32 bytes): eight rows of one column of units lie in all banks. It is what the matrix descriptors of
// sm_90 call 128-, 64- and 32-byte swizzle. Rank 2, rows of at least 32 bytes.
SharedLayout SwizzledRows(const isa::Shape& shape, int axis, int elem_bytes);
// Elements of one dimension one after the other.
SharedLayout PlainRow(int64_t elems);
// Ways of the worst bank conflict of accesses of `vector` elements by a warp of layout `access`.
int BankConflicts(const LinearLayout& access, const SharedLayout& shared, int elem_bytes);

}  // namespace tilevm::layout

#endif  // TILEVM_SPECIALIZER_LAYOUT_LINEAR_LAYOUT_H_
