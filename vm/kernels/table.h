// The tables behind Find*, one per level, and the functions that fill them. The files that define these functions are compiled once per
// level, into the namespace that TILEVM_KERNELS_LEVEL names (see BUILD).
#ifndef TILEVM_VM_KERNELS_TABLE_H_
#define TILEVM_VM_KERNELS_TABLE_H_

#include <cstdint>

#include "isa/ops.h"
#include "isa/types.h"
#include "vm/kernels/dot_internal.h"
#include "vm/kernels/kernels.h"

namespace tilevm::kernels {

inline constexpr int kOpLimit = 0x100;   // codes of elementwise ops are below
inline constexpr int kDTypeLimit = 16;

struct Table {
  UnaryFn unary[kOpLimit][kDTypeLimit] = {};
  BinaryFn binary[3][kOpLimit][kDTypeLimit] = {};       // by Operands
  BinaryFn nan_maximum[3][kDTypeLimit] = {};            // propagate_nan
  BinaryFn nan_minimum[3][kDTypeLimit] = {};
  BinaryFn pow_int[kDTypeLimit] = {};
  TernaryFn fma[kDTypeLimit] = {};
  TernaryFn clamp[2][kDTypeLimit] = {};                 // by propagate_nan
  TernaryFn where[kDTypeLimit] = {};
  UnaryFn cast[2][kDTypeLimit][kDTypeLimit] = {};       // by rounding, from, to
  ReduceFn reduce[kFoldKindCount][kDTypeLimit] = {};
  ScanFn scan[kFoldKindCount][kDTypeLimit] = {};
  ArgReduceFn arg_reduce[2][kDTypeLimit] = {};          // minimum, maximum
  DotKernels dot;
};

#define TILEVM_DECLARE_LEVEL(level)       \
  namespace level {                       \
  void RegisterInt(Table& table);         \
  void RegisterFloat(Table& table);       \
  void RegisterMath(Table& table);        \
  void RegisterNarrow(Table& table);      \
  void RegisterCast(Table& table);        \
  void RegisterReduce(Table& table);      \
  void RegisterScan(Table& table);        \
  void RegisterDot(Table& table);         \
  }
TILEVM_DECLARE_LEVEL(portable)
TILEVM_DECLARE_LEVEL(avx2)
#undef TILEVM_DECLARE_LEVEL

const Table& TableOf(Level level);

}  // namespace tilevm::kernels

#endif  // TILEVM_VM_KERNELS_TABLE_H_
