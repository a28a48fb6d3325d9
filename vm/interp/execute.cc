// The instruction loop.
#include <algorithm>

#include "vm/interp/compile.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
namespace {

// The frame's share of the run's fuel is used up: take another, or stop.
bool Refuel(Frame& frame, const Inst& inst) {
  const int64_t limit = frame.run->options->max_ops;
  const int64_t share = limit <= 0 ? 1 << 16 : std::min<int64_t>(1 << 16, limit / 64 + 1);
  const int64_t left = limit <= 0 ? share : frame.run->fuel.fetch_sub(share);
  if (left <= 0) {
    frame.Fail(ErrorAt(inst.loc, absl::StatusCode::kResourceExhausted, "the run has used its ", frame.run->options->max_ops,
                       " instructions (program ", frame.program[0], ", ", frame.program[1], ", ", frame.program[2], ")"));
    return false;
  }
  frame.fuel = std::min(left, share);
  frame.ops += frame.fuel;
  return true;
}

}  // namespace

void Execute(Frame& frame) {
  const Inst* code = frame.plan->code.data();
  while (true) {
    const Inst& inst = code[frame.pc++];
    if (--frame.fuel < 0) [[unlikely]] {
      if (!Refuel(frame, inst)) return;
    }
    inst.fn(frame, inst);
    if (frame.stop != Stop::kNone) [[unlikely]] return;
  }
}

void ExecuteSub(Frame& frame, const SubProgram& sub, int64_t lanes) {
  const uint32_t caller = frame.pc;
  const int64_t outer_lanes = frame.lanes;
  frame.lanes = lanes;
  for (size_t i = 0; i < sub.captured_from.size(); ++i) {
    const Register& from = frame.reg(sub.captured_from[i]);
    Register& to = frame.reg(sub.captured_to[i]);
    const TypeInfo& type = *sub.captured_from[i].type;
    if (type.rank == 0) {
      to.form = Form::kDense;
      to.shadowed = false;
      FillElements(to.data, ReadBits(from.data, type.elem_bytes, 0), type.elem_bytes, lanes);
    } else {
      CopyRegister(to, from, type);
    }
  }
  frame.pc = sub.begin;
  const Inst* code = frame.plan->code.data();
  while (frame.pc < sub.end && frame.stop == Stop::kNone) {
    const Inst& inst = code[frame.pc++];
    if (--frame.fuel < 0 && !Refuel(frame, inst)) break;
    inst.fn(frame, inst);
  }
  frame.pc = caller;
  frame.lanes = outer_lanes;
}

}  // namespace tilevm::vm
