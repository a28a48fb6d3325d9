// The array kernels of the interpreter: those of vm/kernels where there is one, else a loop over isa/eval.h.
#include "isa/eval.h"
#include "vm/interp/affine.h"
#include "vm/interp/compile.h"

namespace tilevm::vm {
namespace {

using isa::Scalar;

const std::byte* Bytes(const void* p) { return static_cast<const std::byte*>(p); }

void EvalUnaryLoop(const ArrayKernel& k, const void* a, const void*, const void*, void* out, int64_t n) {
  const int in_bytes = isa::StorageBytes(k.dtype), out_bytes = isa::StorageBytes(k.to);
  for (int64_t i = 0; i < n; ++i) {
    const Scalar r = isa::EvalUnary(k.op, k.dtype, Scalar{ReadBits(Bytes(a), in_bytes, i)});
    WriteBits(static_cast<std::byte*>(out), out_bytes, i, r.bits);
  }
}

void EvalBinaryLoop(const ArrayKernel& k, const void* a, const void* b, const void*, void* out, int64_t n) {
  const int in_bytes = isa::StorageBytes(k.dtype), out_bytes = isa::StorageBytes(k.to);
  for (int64_t i = 0; i < n; ++i) {
    const Scalar x{ReadBits(Bytes(a), in_bytes, i)}, y{ReadBits(Bytes(b), in_bytes, i)};
    WriteBits(static_cast<std::byte*>(out), out_bytes, i, isa::EvalBinary(k.op, k.dtype, x, y, k.propagate_nan).bits);
  }
}

void EvalTernaryLoop(const ArrayKernel& k, const void* a, const void* b, const void* c, void* out, int64_t n) {
  const int bytes = isa::StorageBytes(k.dtype);
  for (int64_t i = 0; i < n; ++i) {
    const Scalar x{ReadBits(Bytes(a), bytes, i)}, y{ReadBits(Bytes(b), bytes, i)}, z{ReadBits(Bytes(c), bytes, i)};
    WriteBits(static_cast<std::byte*>(out), bytes, i, isa::EvalTernary(k.op, k.dtype, x, y, z, k.propagate_nan).bits);
  }
}

template <typename T>
void Select(const ArrayKernel&, const void* a, const void* b, const void* c, void* out, int64_t n) {
  const uint8_t* cond = static_cast<const uint8_t*>(a);
  const T* x = static_cast<const T*>(b);
  const T* y = static_cast<const T*>(c);
  T* result = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) result[i] = cond[i] != 0 ? x[i] : y[i];
}

void EvalCastLoop(const ArrayKernel& k, const void* a, const void*, const void*, void* out, int64_t n) {
  const int in_bytes = isa::StorageBytes(k.dtype), out_bytes = isa::StorageBytes(k.to);
  for (int64_t i = 0; i < n; ++i) {
    const Scalar r = isa::EvalCast(k.dtype, k.to, k.rounding, Scalar{ReadBits(Bytes(a), in_bytes, i)});
    WriteBits(static_cast<std::byte*>(out), out_bytes, i, r.bits);
  }
}

}  // namespace

void PowIntKernel(const ArrayKernel& k, const void* a, const void* b, const void*, void* out, int64_t n) {
  const int bytes = isa::StorageBytes(k.dtype), exponent_bytes = isa::StorageBytes(k.to);
  for (int64_t i = 0; i < n; ++i) {
    const Scalar x{ReadBits(Bytes(a), bytes, i)}, y{ReadBits(Bytes(b), exponent_bytes, i)};
    WriteBits(static_cast<std::byte*>(out), bytes, i, isa::EvalPowInt(k.dtype, x, y).bits);
  }
}

ArrayKernel FindKernel(isa::Op op, isa::DType dtype, bool propagate_nan) {
  ArrayKernel kernel;
  kernel.op = op;
  kernel.dtype = dtype;
  kernel.to = isa::EvalResultType(op, dtype);
  kernel.propagate_nan = propagate_nan;
  if (op == isa::Op::kWhere) {
    switch (isa::StorageBytes(dtype)) {
      case 1: kernel.fn = Select<uint8_t>; break;
      case 2: kernel.fn = Select<uint16_t>; break;
      case 4: kernel.fn = Select<uint32_t>; break;
      default: kernel.fn = Select<uint64_t>; break;
    }
    return kernel;
  }
  const int arity = isa::EvalArity(op);
  kernel.fn = arity == 1 ? EvalUnaryLoop : arity == 2 ? EvalBinaryLoop : EvalTernaryLoop;
  return kernel;
}

ArrayKernel FindCastKernel(isa::DType from, isa::DType to, isa::Rounding rounding) {
  ArrayKernel kernel;
  kernel.fn = EvalCastLoop;
  kernel.op = isa::Op::kCast;
  kernel.dtype = from;
  kernel.to = to;
  kernel.rounding = rounding;
  return kernel;
}

}  // namespace tilevm::vm
