// delay: a loop whose second product needs what is computed from the first (attention: softmax between two dots) runs the second one iteration late.
//
// In program order the tensor cores wait for the arithmetic between the products, and the arithmetic for the products:
//
//      S = Q K(j)     p, a = f(S)     acc = acc * a + p V(j)                 f: maxima, exponentials, sums
//
// But V(j)'s product is wanted by nothing before the end of the next iteration. So iteration j starts its own first product and the second one of iteration
// j - 1, waits for the first alone, and computes f while the second runs:
//
//      before the loop     start S(0); wait
//      iteration j         f(S(j)) -> p, a      the product of p(j - 1) runs meanwhile
//                          wait for it; acc *= a; pack p
//                          unless it was the last: start S(j + 1); start acc += p V(j); wait for S(j + 1)
//      after the loop      start acc += p V(last); wait
//
// acc sees the same factors and products in the same order as before: the result is the same bit for bit.
//
// The plan is found from what depends on what: two dots by wgmma, `first` and `second`, in the body of a loop whose copies run ahead;
//   - `first` takes a from a ring or from before the loop, b from a ring, and starts from zero;
//   - `second` takes b from a ring, and a from registers, computed from `first`;
//   - the sum of `second` only goes around the loop (carried value `carried`), and on its way through the body meets elementwise ops alone (*late* ops: they
//     run when the product of the iteration before has been waited for). Nothing else uses it.
// Casts on the way from f to `second` that nobody else uses are *packing*: they run late too, so that p is not held in both types while a product reads
// the fragments of the iteration before.
#ifndef TILEVM_SPECIALIZER_PIPELINE_DELAY_H_
#define TILEVM_SPECIALIZER_PIPELINE_DELAY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "specializer/layout/assign.h"
#include "specializer/pipeline/wgmma_plan.h"

namespace tilevm::pipeline {

// A running sum, sum = sum * factor + reduce(x), of which nothing is asked before the loop's end: each lane can keep its own part of it, and the parts are added
// after the loop instead of in each iteration. The factor is the same in all lanes, and exp(m - max(m, ..)): at most 1, so that no lane's zero becomes a NaN.
struct PartialSum {
  ir::ValueId reduce = ir::kNoValue;                        // result of the reduction
  int carried = 0;                                          // which carried value the sum is
  uint32_t lanes = 0;                                       // bits of the lane that run along the reduced axis
};

struct Delay {
  ir::ValueId first = ir::kNoValue, second = ir::kNoValue;  // results of the dots
  int carried = 0;                                          // which carried value the sum is
  std::vector<ir::ValueId> late;                            // results of the ops on the sum's way to `second`, in order
  std::vector<ir::ValueId> packing;                         // of casts that only `second` needs, in order
  std::vector<PartialSum> partial;
};

// What is known of the dots of the loop: by result, and by result and operand whether that one lies in a ring.
struct DelayInput {
  const std::map<ir::ValueId, Wgmma>* wgmma = nullptr;
  std::function<bool(ir::ValueId dot, int operand)> in_ring;
};
std::optional<Delay> DelayOf(const layout::LayoutKernel& kernel, const ir::Op& loop, const DelayInput& input);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_DELAY_H_
