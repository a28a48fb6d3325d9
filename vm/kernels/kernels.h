// Array kernels of the CPU engine: every elementwise op, cast, reduction and scan of the op table over n contiguous elements.
//
// vm/interp runs tiles through these; what they compute is isa/eval.h, element by element and bit for bit (a NaN may be any NaN). Each source
// file is compiled once per instruction-set level, and the best level that the machine has is chosen on first use, so one binary runs on any
// x86-64. All levels give the same bits: fused operations are written as such, and sums have a fixed order (below).
//
// Arrays hold StorageBytes(dtype) per element (i1: a byte, 0 or 1) and need no alignment beyond the element's. `out` may be an operand itself
// if the elements have the same size; it must not overlap otherwise. Kernels are pure functions of their arguments, safe on any thread.
#ifndef TILEVM_VM_KERNELS_KERNELS_H_
#define TILEVM_VM_KERNELS_KERNELS_H_

#include <cstdint>

#include "isa/eval.h"
#include "isa/ops.h"
#include "isa/types.h"

namespace tilevm::kernels {

using UnaryFn = void (*)(const void* x, void* out, int64_t n);
using BinaryFn = void (*)(const void* x, const void* y, void* out, int64_t n);
using TernaryFn = void (*)(const void* x, const void* y, const void* z, void* out, int64_t n);

// Which operand of a binary op is a single element that stands for all n.
enum class Operands : uint8_t { kArrays, kScalarX, kScalarY };

// Instruction sets that the kernels are compiled for, weakest first.
enum class Level : uint8_t { kPortable, kAvx2 };
inline constexpr int kLevelCount = 2;
bool LevelAvailable(Level level);  // on this machine
Level BestLevel();

// Null where isa::HasEval says there is no such op. The result has EvalResultType(op, dtype).
UnaryFn FindUnary(isa::Op op, isa::DType dtype, Level level = BestLevel());
BinaryFn FindBinary(isa::Op op, isa::DType dtype, Operands operands = Operands::kArrays, bool propagate_nan = false,
                    Level level = BestLevel());
// fma(x, y, z), clamp(x, min, max), where(cond: i1, x, y).
TernaryFn FindTernary(isa::Op op, isa::DType dtype, bool propagate_nan = false, Level level = BestLevel());
// x of any float dtype, y of i32.
BinaryFn FindPowInt(isa::DType dtype, Level level = BestLevel());
// Never null; from == to copies.
UnaryFn FindCast(isa::DType from, isa::DType to, isa::Rounding rounding = isa::Rounding::kNearestEven, Level level = BestLevel());

// --- reductions and scans ---
// x is row-major [outer, extent, inner], extent > 0; the middle axis is folded: out is [outer, inner].
using ReduceFn = void (*)(const void* x, void* out, int64_t outer, int64_t extent, int64_t inner);
// The element with the largest (smallest) value and its entry of `index` (i32): a NaN loses to every number, then the lowest index wins.
using ArgReduceFn = void (*)(const void* x, const int32_t* index, void* out, int32_t* out_index, int64_t outer, int64_t extent,
                             int64_t inner);
// Inclusive; reverse scans from the last element.
using ScanFn = void (*)(const void* x, void* out, int64_t outer, int64_t extent, int64_t inner, bool reverse);

// Sums and products of f32 (f64) keep kReduceLanes partial results: lane l folds elements l, l + 32, l + 64, ... in order, then the lanes
// fold pairwise, i with i + half. The error of a sum is at most (log2 32 + n / 32) * 2**-24 * the sum of magnitudes; f16, bf16 and fp8 are
// summed in f32 and rounded at the end. The order depends on the extent alone, not on the axis, the machine or the level. Scans of f32 and
// narrower carry f64, scans of f64 a compensated sum. Integers wrap; max and min ignore NaN and order -0 < +0.
enum class FoldKind : uint8_t { kAdd, kMul, kMax, kMin, kXor, kAnd, kOr };
inline constexpr int kFoldKindCount = 7;
inline constexpr int kReduceLanes = 32;
bool HasFold(FoldKind kind, isa::DType dtype);  // xor, and, or: integers only
ReduceFn FindReduce(FoldKind kind, isa::DType dtype, Level level = BestLevel());
ArgReduceFn FindArgReduce(bool maximum, isa::DType dtype, Level level = BestLevel());
ScanFn FindScan(FoldKind kind, isa::DType dtype, Level level = BestLevel());

}  // namespace tilevm::kernels

#endif  // TILEVM_VM_KERNELS_KERNELS_H_
