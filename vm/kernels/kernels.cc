// Builds the tables once, and answers Find* from them.
#include "vm/kernels/kernels.h"

#include "vm/kernels/table.h"

namespace tilevm::kernels {
namespace {

// The narrow kernels look up those of f32, so the order matters.
#define TILEVM_FILL(level)        \
  level::RegisterInt(*table);     \
  level::RegisterFloat(*table);   \
  level::RegisterMath(*table);    \
  level::RegisterNarrow(*table);  \
  level::RegisterCast(*table);    \
  level::RegisterReduce(*table);  \
  level::RegisterScan(*table);    \
  level::RegisterDot(*table)

const Table* BuildTable(Level level) {
  Table* table = new Table();  // lives as long as the program
  if (level == Level::kAvx2) {
    TILEVM_FILL(avx2);
  } else {
    TILEVM_FILL(portable);
  }
  return table;
}
#undef TILEVM_FILL

int Index(isa::DType dtype) { return static_cast<int>(dtype); }
int Index(isa::Op op) { return static_cast<int>(op); }

}  // namespace

const Table& TableOf(Level level) {
  static const Table* const portable = BuildTable(Level::kPortable);
  if (level == Level::kPortable) return *portable;
  static const Table* const avx2 = BuildTable(Level::kAvx2);
  return *avx2;
}

bool LevelAvailable(Level level) {
  if (level == Level::kPortable) return true;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");  // every machine with AVX2 has F16C, which clang 14 cannot name
}

Level BestLevel() {
  static const Level best = LevelAvailable(Level::kAvx2) ? Level::kAvx2 : Level::kPortable;
  return best;
}

UnaryFn FindUnary(isa::Op op, isa::DType dtype, Level level) {
  return Index(op) < kOpLimit ? TableOf(level).unary[Index(op)][Index(dtype)] : nullptr;
}

BinaryFn FindBinary(isa::Op op, isa::DType dtype, Operands operands, bool propagate_nan, Level level) {
  if (Index(op) >= kOpLimit) return nullptr;
  const Table& table = TableOf(level);
  const int form = static_cast<int>(operands);
  if (propagate_nan && op == isa::Op::kMaximum) return table.nan_maximum[form][Index(dtype)];
  if (propagate_nan && op == isa::Op::kMinimum) return table.nan_minimum[form][Index(dtype)];
  return table.binary[form][Index(op)][Index(dtype)];
}

TernaryFn FindTernary(isa::Op op, isa::DType dtype, bool propagate_nan, Level level) {
  const Table& table = TableOf(level);
  if (op == isa::Op::kFma) return table.fma[Index(dtype)];
  if (op == isa::Op::kClamp) return table.clamp[propagate_nan ? 1 : 0][Index(dtype)];
  return op == isa::Op::kWhere ? table.where[Index(dtype)] : nullptr;
}

BinaryFn FindPowInt(isa::DType dtype, Level level) { return TableOf(level).pow_int[Index(dtype)]; }

UnaryFn FindCast(isa::DType from, isa::DType to, isa::Rounding rounding, Level level) {
  return TableOf(level).cast[static_cast<int>(rounding)][Index(from)][Index(to)];
}

bool HasFold(FoldKind kind, isa::DType dtype) {
  const bool bitwise = kind == FoldKind::kXor || kind == FoldKind::kAnd || kind == FoldKind::kOr;
  return !bitwise || isa::IsInteger(dtype);
}

ReduceFn FindReduce(FoldKind kind, isa::DType dtype, Level level) { return TableOf(level).reduce[static_cast<int>(kind)][Index(dtype)]; }
ScanFn FindScan(FoldKind kind, isa::DType dtype, Level level) { return TableOf(level).scan[static_cast<int>(kind)][Index(dtype)]; }
ArgReduceFn FindArgReduce(bool maximum, isa::DType dtype, Level level) {
  return TableOf(level).arg_reduce[maximum ? 1 : 0][Index(dtype)];
}

}  // namespace tilevm::kernels
