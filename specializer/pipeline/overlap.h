// overlap: a loop of several products waits for each where its result is first used, and those that can start at once start first.
//
// In program order each product is started and waited for, and the tensor cores idle while the threads compute. In the backward pass of attention,
//
//      S = K Q(j)    p = f(S)    dV += p G(j)    P = V G(j)    s = g(p, P)    dK += s Q(j)
//
// the products of S and P need nothing that the iteration computes, and nothing asks for dV and dK before the loop ends. So iteration j runs as
//
//      start S, P;  wait for S (dV and dK of j - 1 are done then too: products finish in order);  p = f(S), while P runs;  start dV;
//      wait for P;  s = g(p, P), while dV runs;  start dK
//
// and leaves dV and dK running into iteration j + 1, if its slots can wait (a kernel split into roles). Each sum sees the same products in the same order as
// before.
//
// The plan holds for a loop with dots by wgmma alone, two or more, of which one at least
//   - starts early: a comes from a ring or from before the loop, b from a ring, the sum from before the loop.
// A dot *runs on* if its sum only goes around the loop.
//
// Operands a of early dots that come from before the loop stay in registers as fragments, or, where registers would not do, lie in a buffer of their own.
#ifndef TILEVM_SPECIALIZER_PIPELINE_OVERLAP_H_
#define TILEVM_SPECIALIZER_PIPELINE_OVERLAP_H_

#include <optional>
#include <set>
#include <vector>

#include "specializer/pipeline/delay.h"

namespace tilevm::pipeline {

struct Overlap {
  std::vector<ir::ValueId> early;              // results of dots, in order
  std::set<ir::ValueId> fixed;                 // of these, operand a comes from before the loop
  std::vector<ir::ValueId> on;                 // of dots that may run on into the next iteration, in order
  bool buffers = false;                        // operands `fixed` lie in buffers
  bool IsEarly(ir::ValueId dot) const;
  bool RunsOn(ir::ValueId dot) const;
};

std::optional<Overlap> OverlapOf(const ir::Op& loop, const DelayInput& input);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_OVERLAP_H_
