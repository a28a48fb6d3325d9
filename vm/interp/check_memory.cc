// Memory ops of checked mode: lane by lane, each access resolved, ordered and noted.
#include <algorithm>

#include "vm/interp/atomic.h"
#include "vm/interp/check.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

// Atomics of at most this many lanes order programs; larger tiles are data, not locks.
constexpr int64_t kSyncLanes = 16;

Register* DenseOperand(Frame& frame, const Inst& inst, size_t i) {
  if (i >= inst.in.size() || !inst.in[i].present()) return nullptr;
  Register& reg = frame.reg(inst.in[i]);
  EnsureDense(reg, *inst.in[i].type);
  return &reg;
}

uint8_t ShadowOf(const Register* reg, int64_t lane) { return reg != nullptr && reg->shadowed ? reg->shadow[lane] : 0; }

// The mask lane, after its shadow was checked: a mask decides like a branch.
bool MaskLane(Frame& frame, const Inst& inst, const Register* mask, const TypeInfo& type, int64_t lane) {
  if (mask == nullptr) return true;
  if (const uint8_t shadow = ShadowOf(mask, lane)) frame.check->Use(frame, inst, shadow, lane, type, "the mask");
  return mask->data[lane] != std::byte{0};
}

// Two lanes with one address and different values.
void FindDuplicates(Frame& frame, const Inst& inst, const Register& pointer, const Register& value, const Register* mask) {
  const TypeInfo& type = *inst.in[0].type;
  const int bytes = inst.in[1].type->elem_bytes;
  std::vector<std::pair<uint64_t, int64_t>> lanes;
  lanes.reserve(type.n);
  bool ascending = true;
  for (int64_t i = 0; i < type.n; ++i) {
    if (mask != nullptr && mask->data[i] == std::byte{0}) continue;
    lanes.emplace_back(ReadBits(pointer.data, 8, i), i);
    ascending &= lanes.size() < 2 || lanes[lanes.size() - 2].first < lanes.back().first;
  }
  if (ascending) return;
  std::sort(lanes.begin(), lanes.end());
  for (size_t k = 1; k < lanes.size(); ++k) {
    if (lanes[k].first != lanes[k - 1].first) continue;
    const int64_t a = lanes[k - 1].second, b = lanes[k].second;
    if (ReadBits(value.data, bytes, a) == ReadBits(value.data, bytes, b)) continue;
    frame.check->Add(frame, inst, ReportKind::kDuplicateStore, b, type, Checker::Target{},
                     [&] { return absl::StrCat("store: lanes ", a, " and ", b, " write different values to one address; either may stay"); });
  }
}

}  // namespace

void CheckedLoad(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.in[0].type;
  const TypeInfo& value = *inst.out[0].type;
  const Register* pointer = DenseOperand(frame, inst, 0);
  const Register* mask = DenseOperand(frame, inst, 1);
  const Register* other = DenseOperand(frame, inst, 2);
  Register& out = frame.reg(inst.out[0]);
  const bool is_volatile = inst.source->BoolAttr("volatile");
  const Checker::Access access{frame, inst, type, value.elem_bytes, "reads", is_volatile};
  const uint64_t absent = frame.run->options->poison_masked ? static_cast<uint64_t>(inst.imm[0]) : 0;
  bool shadowed = false;
  for (int64_t i = 0; i < type.n; ++i) {
    uint8_t shadow = 0;
    uint64_t bits = 0;
    if (!MaskLane(frame, inst, mask, type, i)) {
      bits = other != nullptr ? ReadBits(other->data, value.elem_bytes, i) : absent;
      shadow = ShadowOf(other, i);
    } else {
      if (const uint8_t use = ShadowOf(pointer, i)) frame.check->Use(frame, inst, use, i, type, "the address");
      const Checker::Target target = frame.check->Resolve(access, i, ReadBits(pointer->data, 8, i));
      if (target.memory != nullptr) {
        bits = ReadBits(target.memory, value.elem_bytes, 0);
        if (frame.check->NoteRead(access, i, target)) shadow = kShadowUninit;
        // Flags are often polled by volatile loads: what they see is ordered.
        if (is_volatile) frame.check->Acquire(frame, target);
      }
    }
    WriteBits(out.data, value.elem_bytes, i, bits);
    out.shadow[i] = shadow;
    shadowed |= shadow != 0;
  }
  out.form = Form::kDense;
  out.shadowed = shadowed;
}

void CheckedStore(Frame& frame, const Inst& inst) {
  const TypeInfo& type = *inst.in[0].type;
  const TypeInfo& value_type = *inst.in[1].type;
  const Register* pointer = DenseOperand(frame, inst, 0);
  const Register* value = DenseOperand(frame, inst, 1);
  const Register* mask = DenseOperand(frame, inst, 2);
  const Checker::Access access{frame, inst, type, value_type.elem_bytes, "writes"};
  if (type.n > 1) FindDuplicates(frame, inst, *pointer, *value, mask);
  NoteWrite(frame);
  for (int64_t i = 0; i < type.n; ++i) {
    if (!MaskLane(frame, inst, mask, type, i)) continue;
    if (const uint8_t use = ShadowOf(pointer, i)) frame.check->Use(frame, inst, use, i, type, "the address");
    if (const uint8_t use = ShadowOf(value, i)) frame.check->Use(frame, inst, use, i, type, "the value");
    const Checker::Target target = frame.check->Resolve(access, i, ReadBits(pointer->data, 8, i));
    if (target.memory == nullptr) continue;
    const uint64_t bits = ReadBits(value->data, value_type.elem_bytes, i);
    frame.check->NoteWrite(access, i, target, bits);
    WriteBits(target.memory, value_type.elem_bytes, 0, bits);
  }
}

void CheckedAtomic(Frame& frame, const Inst& inst) {
  const AtomicOp& atomic = *static_cast<const AtomicOp*>(inst.payload);
  const bool cas = atomic.op == isa::Op::kAtomicCas;
  const TypeInfo& type = *inst.in[0].type;
  const Register* pointer = DenseOperand(frame, inst, 0);
  const Register* expected = cas ? DenseOperand(frame, inst, 1) : nullptr;
  const Register* value = DenseOperand(frame, inst, cas ? 2 : 1);
  const Register* mask = cas ? nullptr : DenseOperand(frame, inst, 2);
  const Checker::Access access{frame, inst, type, atomic.bytes, "updates", true};
  const bool orders = type.n <= kSyncLanes;
  std::byte* out = inst.out.empty() ? nullptr : frame.reg(inst.out[0]).data;
  bool any_change = false;
  for (int64_t i = 0; i < type.n; ++i) {
    uint64_t old = 0;
    if (MaskLane(frame, inst, mask, type, i)) {
      if (const uint8_t use = ShadowOf(pointer, i)) frame.check->Use(frame, inst, use, i, type, "the address");
      const uint8_t operand_shadow = ShadowOf(value, i) | ShadowOf(expected, i);
      if (operand_shadow != 0) frame.check->Use(frame, inst, operand_shadow, i, type, "the operand");
      const Checker::Target target = frame.check->Resolve(access, i, ReadBits(pointer->data, 8, i));
      if (target.memory != nullptr) {
        const uint64_t operand = ReadBits(value->data, atomic.bytes, i);
        const uint64_t wanted = expected == nullptr ? 0 : ReadBits(expected->data, atomic.bytes, i);
        old = ReadBits(target.memory, atomic.bytes, 0);
        const bool writes = !cas || old == wanted;
        const uint64_t next = cas ? operand : AtomicResult(atomic, old, operand);
        if (atomic.acquire && orders) frame.check->Acquire(frame, target);
        const bool exchange = atomic.op == isa::Op::kAtomicXchg;  // does not depend on what was there
        if (frame.check->NoteRead(access, i, target) && !exchange) frame.check->Use(frame, inst, kShadowUninit, i, type, "the memory");
        if (writes) {
          frame.check->NoteWrite(access, i, target, next);
          WriteBits(target.memory, atomic.bytes, 0, next);
          // An update that changes nothing tells nobody anything: polling with atomic_add(p, 0) publishes nothing.
          if (atomic.release && orders && next != old) frame.check->Release(frame, target);
          any_change |= next != old;
        }
      }
    }
    if (out != nullptr) WriteBits(out, atomic.bytes, i, old);
  }
  if (any_change) NoteWrite(frame);
  if (out != nullptr) {
    frame.reg(inst.out[0]).form = Form::kDense;
    frame.reg(inst.out[0]).shadowed = false;
  }
}

void CheckGather(Frame& frame, const Inst& inst, int64_t lane, int64_t index, int64_t extent) {
  frame.check->Add(frame, inst, ReportKind::kGatherOutOfRange, lane, *inst.out[0].type, Checker::Target{},
                   [&] { return absl::StrCat("gather: lane ", lane, " has index ", index, ", the axis has ", extent, " elements"); });
}

bool CheckAssert(Frame& frame, const Inst& inst, int64_t lane, const std::string& message) {
  frame.check->Add(frame, inst, ReportKind::kAssert, lane, *inst.in[0].type, Checker::Target{}, [&] { return message; });
  return true;
}

void CheckBranch(Frame& frame, const Inst& inst, const Register& reg) {
  const TypeInfo& type = *inst.in[0].type;
  const int64_t lanes = inst.op == isa::Op::kDeviceAssert ? type.n : 1;
  for (int64_t i = 0; i < lanes; ++i) {
    if (reg.shadow[i] != 0) frame.check->Use(frame, inst, reg.shadow[i], i, type, "the condition");
  }
}

}  // namespace tilevm::vm
