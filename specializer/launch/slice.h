// slice: what one launch computes from its arguments, as a small straight-line program that a variant of a kernel carries with it.
//
//   %0 = param a_ptr          %3 = const 16
//   %1 = param M              %4 = mod %0, %3
//   %2 = param stride_am      %5 = eq %4, %6
//   check %5                  "a_ptr is not aligned to 16 bytes"
//   map 0: %0, f16, extents (%7, %1), strides (%8), box (64, 128), swizzle 128
//
// The specializer builds it (analysis/boxes.h), the text of the kernel goes with it, the launcher runs it for the arguments at hand: if a check fails, or a
// computation leaves 64 bits, this variant cannot be taken and the next, less special one is tried. The last variant of a kernel has no checks.
//
// Values are signed 64-bit integers: an integer parameter as its value, a pointer parameter as its address, the grid as launched by the program; `least` and
// `most` of a value of the kernel over all programs of the launch (analysis/launch_ranges.h), for what cannot be said by the parameters alone.
#ifndef TILEVM_SPECIALIZER_LAUNCH_SLICE_H_
#define TILEVM_SPECIALIZER_LAUNCH_SLICE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "isa/types.h"

namespace tilevm::launch {

using Node = int;  // an index into Slice::nodes; operands come before their users

enum class NodeOp : uint8_t {
  kConst, kParam, kGrid, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMod, kMin, kMax, kLess, kLessEqual, kEqual, kAnd, kOr, kLeast, kMost,
};

struct NodeDef {
  NodeOp op = NodeOp::kConst;
  int64_t value = 0;  // of a constant; index of a parameter; axis of the grid; id of a value of the kernel (kLeast, kMost)
  Node a = -1, b = -1;
  bool operator==(const NodeDef& o) const { return op == o.op && value == o.value && a == o.a && b == o.b; }
};

struct Check {
  Node holds = -1;      // not 0, or the variant is not for these arguments
  std::string reason;   // "rows of a_ptr are not a multiple of 16 bytes apart"
};

// A tensor map (cuTensorMapEncodeTiled): an array in memory, innermost dimension first, and the box of it that one copy moves.
struct TensorMap {
  Node address = -1;
  isa::DType dtype = isa::DType::kF16;
  std::vector<Node> extents;   // elements, 1 to 2^32
  std::vector<Node> strides;   // bytes, of the dimensions after the first; multiples of 16 below 2^40
  std::vector<int64_t> box;    // elements, at most 256 each
  int swizzle = 128;           // bytes: 0, 32, 64 or 128
  // Not 0: where address or stride are not as a map needs them, the launcher may copy the array (of two dimensions, which nothing in the launch writes) into
  // workspace, with rows a multiple of 16 bytes apart, and map that. It says whether the array is read often enough to be worth it. -1: never.
  Node repack = -1;
  // The box is one of a copy whose two dimensions are swapped: the array is always copied, if `repack` says that it is worth it; else the variant is not for
  // these arguments. Extents and strides are the array's own.
  bool turned = false;
  // The kernel finds out what array it is and puts address, extents and strides into a copy of its own; those here are of any.
  bool made = false;
};

struct Slice {
  std::vector<NodeDef> nodes;
  std::vector<Check> checks;
  std::vector<TensorMap> maps;

  bool empty() const { return checks.empty() && maps.empty(); }
  Node Add(NodeDef node);      // an equal node if there is one; constants fold
  Node Const(int64_t value) { return Add({NodeOp::kConst, value}); }
  Node Param(int index) { return Add({NodeOp::kParam, index}); }
  Node Binary(NodeOp op, Node a, Node b) { return Add({op, 0, a, b}); }
};

// What a tensor map is made of, for one launch.
struct MapFields {
  uint64_t address = 0;
  isa::DType dtype = isa::DType::kF16;
  std::vector<uint64_t> extents, strides;
  std::vector<uint32_t> box;
  int swizzle = 128;
  bool repack = false;         // address, extents and strides are the array's own, to be copied first
  bool turned = false;         // with its dimensions swapped
  bool made = false;           // of no array: the kernel puts that in
  uint64_t packed_stride() const { return (extents[turned ? 1 : 0] * static_cast<uint64_t>(isa::StorageBytes(dtype)) + 15) / 16 * 16; }
  uint64_t packed_bytes() const { return extents[turned ? 0 : 1] * packed_stride(); }
};
struct SliceValues {
  std::string failed;            // reason of the first check that does not hold; empty if the variant may be taken
  std::vector<MapFields> maps;
};
// The least and the most that a value of the kernel (ir::ValueId) is in any program of this launch.
using RangeOf = std::function<std::pair<int64_t, int64_t>(uint32_t value)>;
// params: one for each parameter of the kernel (floats: anything). Never fails: what cannot be computed is a check that does not hold.
SliceValues Evaluate(const Slice& slice, absl::Span<const int64_t> params, const std::array<int64_t, 3>& grid, const RangeOf& ranges = nullptr);

// As above. names: of the parameters.
std::string Print(const Slice& slice, absl::Span<const std::string> names);

// Bytes for the cache beside the cubin; the reader takes untrusted bytes (kDataLoss).
std::string Encode(const Slice& slice);
absl::StatusOr<Slice> Decode(absl::string_view bytes);

}  // namespace tilevm::launch

#endif  // TILEVM_SPECIALIZER_LAUNCH_SLICE_H_
