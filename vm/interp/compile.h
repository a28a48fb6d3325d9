// How an op of the IR becomes an instruction: one Bind function for each family of ops sets the handler and its constants. Registers and
// operand types are already in the instruction.
#ifndef TILEVM_VM_INTERP_COMPILE_H_
#define TILEVM_VM_INTERP_COMPILE_H_

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "vm/interp/plan.h"

namespace tilevm::vm {

absl::Status BindElementwise(const ir::Op& op, Plan& plan, Inst& inst);  // arithmetic, math, compare, where, cast, bitcast, ptr_add
absl::Status BindShape(const ir::Op& op, Plan& plan, Inst& inst);        // const, splat, arange, reshape, permute, join, cat, ...
absl::Status BindMemory(const ir::Op& op, Plan& plan, Inst& inst);       // load, store
absl::Status BindAtomic(const ir::Op& op, Plan& plan, Inst& inst);
absl::Status BindReduce(const ir::Op& op, Plan& plan, Inst& inst);       // reduce
absl::Status BindScan(const ir::Op& op, Plan& plan, Inst& inst);
absl::Status BindOrder(const ir::Op& op, Plan& plan, Inst& inst);        // sort, topk, gather, histogram
absl::Status BindDot(const ir::Op& op, Plan& plan, Inst& inst);
absl::Status BindMisc(const ir::Op& op, Plan& plan, Inst& inst);         // ids, philox, prints, asserts, map_elementwise

bool IsElementwise(isa::Op op);  // BindElementwise takes it

ArrayKernel FindKernel(isa::Op op, isa::DType dtype, bool propagate_nan = false);
ArrayKernel FindCastKernel(isa::DType from, isa::DType to, isa::Rounding rounding);
ArrayKernel FindPowIntKernel(isa::DType dtype);

inline void NeedScratch(Plan& plan, int64_t bytes) { plan.scratch_bytes = std::max(plan.scratch_bytes, bytes); }
template <typename T>
const T* AddPayload(Plan& plan, T value) {
  auto owned = std::make_shared<const T>(std::move(value));
  plan.payloads.push_back(owned);
  return owned.get();
}
inline int64_t RoundUp64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Control flow handlers (control.cc), used by the compiler itself.
void RunJump(Frame& frame, const Inst& inst);
void RunBranchIfFalse(Frame& frame, const Inst& inst);
void RunMoves(Frame& frame, const Inst& inst);
void RunForInit(Frame& frame, const Inst& inst);     // in: lo, hi, step; imm[0]: loop
void RunForTest(Frame& frame, const Inst& inst);     // out: iv; target: where the loop ends
void RunLoopEnter(Frame& frame, const Inst& inst);   // a loop that may wait begins
void RunBackEdge(Frame& frame, const Inst& inst);    // in: yielded, out: carried; imm[0]: loop, imm[1]: iterations differ by themselves
void RunEnd(Frame& frame, const Inst& inst);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_COMPILE_H_
