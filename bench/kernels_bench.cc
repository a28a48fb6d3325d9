// Rates of the CPU engine's array kernels on one thread: GB/s moved (operands read, results written) for elementwise ops, casts and
// reductions on arrays that fit the first-level cache and on larger ones, GFLOP/s for dot. bench/kernels_numpy.py prints the same rows for
// numpy with OpenBLAS.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "vm/kernels/dot.h"
#include "vm/kernels/kernels.h"

namespace {

using tilevm::isa::DType;
using tilevm::isa::Op;
using namespace tilevm::kernels;  // NOLINT: a program about this namespace

// Processor time of this thread: what else runs on the machine takes no part in it.
double Now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Seconds of one run: the best of several rounds, each long enough for the clock.
template <typename F>
double Seconds(const F& run) {
  run();
  double best = 1e30;
  for (int round = 0; round < 7; ++round) {
    int64_t runs = 1;
    double elapsed = 0;
    for (;; runs *= 4) {
      const double start = Now();
      for (int64_t i = 0; i < runs; ++i) run();
      elapsed = Now() - start;
      if (elapsed > 0.005) break;
    }
    best = elapsed / runs < best ? elapsed / runs : best;
  }
  return best;
}

// Numbers in [0.5, 1.5) as any type; integers 0, 1, 2.
std::vector<char> Input(DType dtype, int64_t n) {
  std::vector<char> bytes(n * tilevm::isa::StorageBytes(dtype));
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = 0.5f + static_cast<float>(i * 2654435761u % 65536) / 65536.0f;
  FindCast(DType::kF32, dtype)(values.data(), bytes.data(), n);
  return bytes;
}

void PrintRate(const std::string& name, int64_t n, double bytes, double seconds) {
  std::printf("%-28s n=%-8lld %8.2f GB/s %8.3f ns/elem\n", name.c_str(), static_cast<long long>(n), bytes / seconds * 1e-9, seconds / n * 1e9);
}

std::string Label(Op op, DType dtype) { return std::string(tilevm::isa::Mnemonic(op)) + " " + std::string(tilevm::isa::Name(dtype)); }

void BenchUnary(Op op, DType dtype, int64_t n) {
  const std::vector<char> x = Input(dtype, n);
  std::vector<char> out(n * 8);
  const UnaryFn kernel = FindUnary(op, dtype);
  const double bytes = n * (tilevm::isa::StorageBytes(dtype) + tilevm::isa::StorageBytes(tilevm::isa::EvalResultType(op, dtype)));
  PrintRate(Label(op, dtype), n, bytes, Seconds([&] { kernel(x.data(), out.data(), n); }));
}

void BenchBinary(Op op, DType dtype, int64_t n) {
  const std::vector<char> x = Input(dtype, n), y = Input(dtype, n);
  std::vector<char> out(n * 8);
  const BinaryFn kernel = FindBinary(op, dtype);
  const double bytes = n * (2 * tilevm::isa::StorageBytes(dtype) + tilevm::isa::StorageBytes(tilevm::isa::EvalResultType(op, dtype)));
  PrintRate(Label(op, dtype), n, bytes, Seconds([&] { kernel(x.data(), y.data(), out.data(), n); }));
}

void BenchCast(DType from, DType to, int64_t n) {
  const std::vector<char> x = Input(from, n);
  std::vector<char> out(n * 8);
  const UnaryFn kernel = FindCast(from, to);
  PrintRate("cast " + std::string(tilevm::isa::Name(from)) + " " + std::string(tilevm::isa::Name(to)), n,
            n * (tilevm::isa::StorageBytes(from) + tilevm::isa::StorageBytes(to)), Seconds([&] { kernel(x.data(), out.data(), n); }));
}

void BenchReduce(const char* name, FoldKind kind, DType dtype, int64_t outer, int64_t extent, int64_t inner) {
  const int64_t n = outer * extent * inner;
  const std::vector<char> x = Input(dtype, n);
  std::vector<char> out(outer * inner * 8);
  const ReduceFn kernel = FindReduce(kind, dtype);
  PrintRate(std::string(name) + " " + std::string(tilevm::isa::Name(dtype)) + (inner == 1 ? "" : " strided"), n,
            n * tilevm::isa::StorageBytes(dtype), Seconds([&] { kernel(x.data(), out.data(), outer, extent, inner); }));
}

void BenchWhere(int64_t n) {
  const std::vector<char> cond = Input(DType::kI1, n), x = Input(DType::kF32, n);
  std::vector<char> out(n * 4);
  const TernaryFn kernel = FindTernary(Op::kWhere, DType::kF32);
  PrintRate("where f32", n, n * 13, Seconds([&] { kernel(cond.data(), x.data(), x.data(), out.data(), n); }));
}

void BenchDot(DType operand, DType acc, DotPrecision precision, const char* name, int64_t size) {
  const std::vector<char> a = Input(operand, size * size), b = Input(operand, size * size);
  std::vector<char> c(size * size * tilevm::isa::StorageBytes(acc));
  const double seconds = Seconds([&] {
    Dot({operand, operand, acc, precision, {a.data(), size, 1}, {b.data(), size, 1}, c.data(), size, size, size, size});
  });
  std::printf("dot %-24s %4lld^3      %8.2f GFLOP/s\n", name, static_cast<long long>(size), 2e-9 * size * size * size / seconds);
}

}  // namespace

int main() {
  for (int64_t n : {int64_t{1024}, int64_t{1} << 20}) {
    for (Op op : {Op::kAdd, Op::kMul, Op::kTrueDiv, Op::kMaximum, Op::kLt}) BenchBinary(op, DType::kF32, n);
    for (Op op : {Op::kAdd, Op::kMul, Op::kFloorDiv, Op::kLt}) BenchBinary(op, DType::kI32, n);
    BenchBinary(Op::kAdd, DType::kF16, n);
    BenchBinary(Op::kAdd, DType::kBF16, n);
    BenchBinary(Op::kAdd, DType::kI64, n);
    BenchBinary(Op::kMaximum, DType::kF16, n);
    BenchBinary(Op::kBitAnd, DType::kI1, n);
    BenchWhere(n);
    for (Op op : {Op::kSqrt, Op::kExp, Op::kExp2, Op::kLog, Op::kTanh, Op::kErf, Op::kSin, Op::kRsqrt, Op::kFloor, Op::kLog1p}) {
      BenchUnary(op, DType::kF32, n);
    }
    BenchUnary(Op::kExp, DType::kF16, n);
    BenchUnary(Op::kExp, DType::kF64, n);
    for (DType narrow : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kI32, DType::kI8}) {
      BenchCast(narrow, DType::kF32, n);
      BenchCast(DType::kF32, narrow, n);
    }
    BenchReduce("sum", FoldKind::kAdd, DType::kF32, n / 1024, 1024, 1);
    BenchReduce("max", FoldKind::kMax, DType::kF32, n / 1024, 1024, 1);
    BenchReduce("sum", FoldKind::kAdd, DType::kF32, 1, n / 64, 64);
    BenchReduce("sum", FoldKind::kAdd, DType::kF16, n / 1024, 1024, 1);
    BenchReduce("sum", FoldKind::kAdd, DType::kI32, n / 1024, 1024, 1);
  }
  for (int64_t size : {64, 128, 1024}) {
    BenchDot(DType::kF32, DType::kF32, DotPrecision::kIeee, "f32", size);
    BenchDot(DType::kF32, DType::kF32, DotPrecision::kTf32, "tf32", size);
    BenchDot(DType::kF16, DType::kF32, DotPrecision::kIeee, "f16", size);
    BenchDot(DType::kBF16, DType::kF32, DotPrecision::kIeee, "bf16", size);
    BenchDot(DType::kF8E4M3, DType::kF32, DotPrecision::kIeee, "f8e4m3", size);
    BenchDot(DType::kF64, DType::kF64, DotPrecision::kIeee, "f64", size);
    BenchDot(DType::kI8, DType::kI32, DotPrecision::kIeee, "i8", size);
  }
  return 0;
}
