// A rectangular block of a strided array as a tile of pointers and a mask: what block pointers and tensor descriptors expand to.
//
//   pointer[i, j, ...] = base + sum over d of (offset_d + i_d) * stride_d          all in i64
//   mask[i, j, ...]    = and over the checked d of 0 <= offset_d + i_d < shape_d
//
// Each dimension's term is computed on a 1-D tile and then stretched, so the affine form stays visible to the analyses.
#ifndef TILEVM_SPECIALIZER_ELABORATE_BLOCK_ACCESS_H_
#define TILEVM_SPECIALIZER_ELABORATE_BLOCK_ACCESS_H_

#include <vector>

#include "specializer/elaborate/memory_options.h"
#include "specializer/elaborate/rule.h"

namespace tilevm::specializer {

struct BlockAccess {
  ValueId base;                                   // pointer scalar
  std::vector<ValueId> shape, strides, offsets;   // i64 scalars
  Shape block_shape;
  std::vector<int> checked;                       // dimensions that are bounds-checked
};

struct PointersAndMask {
  ValueId pointers;
  ValueId mask = ir::kNoValue;  // none without a checked dimension
};

PointersAndMask ExpandBlock(Rule& rule, const BlockAccess& access);

// The same for explicit coordinates of one dimension (gather and scatter): i64 tiles of one axis each, one for every dimension.
PointersAndMask ExpandCoordinates(Rule& rule, const BlockAccess& access, const std::vector<ValueId>& coordinates);

// Loads the block; masked-off elements are 0, or NaN with pad_nan.
ValueId LoadBlock(Rule& rule, const PointersAndMask& expanded, bool pad_nan, const CacheOptions& options = {});

// An int or an integer scalar tensor as an i64 scalar.
absl::StatusOr<ValueId> ScalarInt64(Rule& rule, const Value& value, absl::string_view what);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_BLOCK_ACCESS_H_
