// Jumps, moves and loops.
#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {

void RunJump(Frame& frame, const Inst& inst) { frame.pc = inst.target; }

void RunBranchIfFalse(Frame& frame, const Inst& inst) {
  const Register& cond = frame.reg(inst.in[0]);
  if (cond.shadowed) [[unlikely]] CheckBranch(frame, inst, cond);
  if ((ReadBits(cond.data, 1, 0) & 1) == 0) frame.pc = inst.target;
}

void RunMoves(Frame& frame, const Inst& inst) {
  for (const MoveStep& step : *inst.moves) {
    Register& dst = frame.regs[step.dst];
    Register& src = frame.regs[step.src];
    if (step.swap) {
      std::swap(dst, src);
    } else {
      CopyRegister(dst, src, *step.type);
    }
  }
}

// The trip count in exact arithmetic: bounds are up to 64 bits wide.
void RunForInit(Frame& frame, const Inst& inst) {
  LoopState& loop = frame.loops[inst.imm[0]];
  __int128 bound[3];
  for (int i = 0; i < 3; ++i) {
    const Register& reg = frame.reg(inst.in[i]);
    if (reg.shadowed) [[unlikely]] CheckBranch(frame, inst, reg);
    const int64_t value = ReadInt(reg, *inst.in[i].type);
    bound[i] = inst.in[i].type->dtype == isa::DType::kU64 ? static_cast<__int128>(static_cast<uint64_t>(value)) : value;
  }
  const __int128 step = bound[2];
  if (step == 0) {
    frame.Fail(InvalidAt(inst.loc, "for: the step is 0"));
    return;
  }
  const __int128 distance = step > 0 ? bound[1] - bound[0] : bound[0] - bound[1];
  const __int128 width = step > 0 ? step : -step;
  loop.remaining = distance <= 0 ? 0 : static_cast<uint64_t>((distance + width - 1) / width);
  loop.next = static_cast<int64_t>(bound[0]);
  loop.step = static_cast<int64_t>(step);
}

void RunForTest(Frame& frame, const Inst& inst) {
  LoopState& loop = frame.loops[inst.imm[0]];
  if (loop.remaining == 0) {
    frame.pc = inst.target;
    return;
  }
  --loop.remaining;
  Register& iv = frame.reg(inst.out[0]);
  iv.form = Form::kDense;
  iv.shadowed = false;
  WriteBits(iv.data, inst.out[0].type->elem_bytes, 0, static_cast<uint64_t>(loop.next));
  loop.next = static_cast<int64_t>(static_cast<uint64_t>(loop.next) + static_cast<uint64_t>(loop.step));
}

namespace {

// Equal values in equal forms. A value in another form counts as different: the loop then takes one more turn before it is found to wait.
bool SameValue(const Register& a, const Register& b, const TypeInfo& type) {
  if (a.form != b.form) return false;
  switch (a.form) {
    case Form::kDense: return std::memcmp(a.data, b.data, type.bytes()) == 0;
    case Form::kSplat: return a.base == b.base;
    case Form::kAffine: return a.base == b.base && std::memcmp(a.coef, b.coef, sizeof(int64_t) * type.rank) == 0;
    case Form::kBox:
      return std::memcmp(a.box.lo, b.box.lo, sizeof(int32_t) * type.rank) == 0 && std::memcmp(a.box.hi, b.box.hi, sizeof(int32_t) * type.rank) == 0;
  }
  return false;
}

void BeginIteration(Frame& frame, LoopState& loop) {
  loop.version = frame.run->memory_version.load(std::memory_order_acquire);
  loop.writes = frame.writes;
}

}  // namespace

void RunLoopEnter(Frame& frame, const Inst& inst) { BeginIteration(frame, frame.loops[inst.imm[0]]); }

// An iteration that changed no memory and carries on what it began with will repeat itself until another program changes memory.
void RunBackEdge(Frame& frame, const Inst& inst) {
  LoopState& loop = frame.loops[inst.imm[0]];
  bool same = loop.writes == frame.writes && inst.imm[1] == 0;
  for (size_t i = 0; same && i < inst.in.size(); ++i) same = SameValue(frame.reg(inst.in[i]), frame.reg(inst.out[i]), *inst.in[i].type);
  if (same) {
    frame.stop = Stop::kBlocked;
    frame.waiting_loop = static_cast<uint32_t>(inst.imm[0]);
    frame.seen_version = loop.version;
  } else if (--frame.slice < 0) {
    frame.slice = kSliceBackEdges;
    frame.stop = Stop::kSlice;
  }
  BeginIteration(frame, loop);
}

void RunEnd(Frame& frame, const Inst&) { frame.stop = Stop::kFinished; }

}  // namespace tilevm::vm
