// Atomics: each lane is one atomic operation on memory, in lane order. Every op is a compare-and-swap loop over the scalar meaning of
// isa/eval.h, so that all widths and types (fp16 and bf16 add by its 16-bit word) follow one path. Masked-off lanes give 0.
#include "vm/interp/atomic.h"

#include <atomic>

#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

using isa::Op;
using isa::Scalar;

template <typename T>
uint64_t UpdateAt(const AtomicOp& atomic, void* address, uint64_t value, uint64_t expected, bool* changed) {
  std::atomic_ref<T> cell(*static_cast<T*>(address));
  const std::memory_order order = atomic.acquire && atomic.release ? std::memory_order_acq_rel
                                  : atomic.acquire                 ? std::memory_order_acquire
                                  : atomic.release                 ? std::memory_order_release
                                                                   : std::memory_order_relaxed;
  if (atomic.op == Op::kAtomicCas) {
    T old = static_cast<T>(expected);
    const bool done = cell.compare_exchange_strong(old, static_cast<T>(value), order, std::memory_order_acquire);
    *changed = done && expected != value;
    return old;
  }
  T old = cell.load(std::memory_order_relaxed);
  while (true) {
    const T next = static_cast<T>(AtomicResult(atomic, old, value));
    if (cell.compare_exchange_weak(old, next, order, std::memory_order_relaxed)) {
      *changed = next != old;
      return old;
    }
  }
}

void RunAtomic(Frame& frame, const Inst& inst) {
  if (frame.check != nullptr) [[unlikely]] {
    CheckedAtomic(frame, inst);
    return;
  }
  const AtomicOp& atomic = *static_cast<const AtomicOp*>(inst.payload);
  const bool cas = atomic.op == Op::kAtomicCas;
  Register* in[3] = {};
  for (size_t i = 0; i < inst.in.size(); ++i) {
    if (!inst.in[i].present()) continue;
    in[i] = &frame.reg(inst.in[i]);
    EnsureDense(*in[i], *inst.in[i].type);
  }
  const std::byte* mask = !cas && in[2] != nullptr ? in[2]->data : nullptr;
  const TypeInfo& type = *inst.in[1].type;
  std::byte* out = inst.out.empty() ? nullptr : frame.reg(inst.out[0]).data;
  bool any_change = false;
  Guard guard(*frame.run);
  for (int64_t i = 0; i < type.n; ++i) {
    uint64_t old = 0;
    if (mask == nullptr || mask[i] != std::byte{0}) {
      const uint64_t address = ReadBits(in[0]->data, 8, i);
      if (address % atomic.bytes != 0) {
        frame.Fail(InvalidAt(inst.loc, isa::Mnemonic(inst.op), ": lane ", i, ": the address is not aligned to ", atomic.bytes, " bytes"));
        return;
      }
      if (!guard.Allows(address, atomic.bytes)) {
        frame.Fail(OutsideError(inst, i));
        return;
      }
      const uint64_t operand = ReadBits(in[cas ? 2 : 1]->data, atomic.bytes, i);
      const uint64_t expected = cas ? ReadBits(in[1]->data, atomic.bytes, i) : 0;
      bool changed = false;
      old = AtomicAt(atomic, reinterpret_cast<void*>(static_cast<uintptr_t>(address)), operand, expected, &changed);
      any_change |= changed;
    }
    if (out != nullptr) WriteBits(out, atomic.bytes, i, old);
  }
  if (any_change) NoteWrite(frame);
  if (out != nullptr) {
    frame.reg(inst.out[0]).form = Form::kDense;
    frame.reg(inst.out[0]).shadowed = false;
  }
}

}  // namespace

uint64_t AtomicResult(const AtomicOp& atomic, uint64_t old_bits, uint64_t value) {
  const auto eval = [&](Op op) { return isa::EvalBinary(op, atomic.dtype, Scalar{old_bits}, Scalar{value}).bits; };
  switch (atomic.op) {
    case Op::kAtomicAdd: return eval(Op::kAdd);
    case Op::kAtomicMax: return eval(Op::kMaximum);
    case Op::kAtomicMin: return eval(Op::kMinimum);
    case Op::kAtomicAnd: return old_bits & value;
    case Op::kAtomicOr: return old_bits | value;
    case Op::kAtomicXor: return old_bits ^ value;
    default: return value;  // xchg
  }
}

uint64_t AtomicAt(const AtomicOp& atomic, void* address, uint64_t value, uint64_t expected, bool* changed) {
  switch (atomic.bytes) {
    case 1: return UpdateAt<uint8_t>(atomic, address, value, expected, changed);
    case 2: return UpdateAt<uint16_t>(atomic, address, value, expected, changed);
    case 4: return UpdateAt<uint32_t>(atomic, address, value, expected, changed);
    default: return UpdateAt<uint64_t>(atomic, address, value, expected, changed);
  }
}

absl::Status BindAtomic(const ir::Op& op, Plan& plan, Inst& inst) {
  const TypeInfo& value = *inst.in[1].type;
  AtomicOp atomic;
  atomic.op = op.op;
  atomic.dtype = value.dtype;
  atomic.bytes = value.elem_bytes;
  const absl::string_view sem = op.StringAttr("sem", "acq_rel");
  atomic.acquire = sem == "acq_rel" || sem == "acquire" || sem.empty();
  atomic.release = sem == "acq_rel" || sem == "release" || sem.empty();
  plan.min_access_bytes = std::min(plan.min_access_bytes, value.elem_bytes);
  inst.payload = AddPayload(plan, atomic);
  inst.fn = RunAtomic;
  return absl::OkStatus();
}

}  // namespace tilevm::vm
