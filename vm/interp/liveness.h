// When each value of a kernel is born and dies, on one line of positions: every op has a start, and an end after its regions.
//
// A value that is defined before a loop and used in it lives until the loop ends, because the next iteration reads it again; the same holds
// for regions that combine scalars, which run many times.
#ifndef TILEVM_VM_INTERP_LIVENESS_H_
#define TILEVM_VM_INTERP_LIVENESS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "specializer/ir/kernel.h"

namespace tilevm::vm {

struct Liveness {
  struct Span { int start = 0, end = 0; };
  absl::flat_hash_map<const ir::Op*, Span> spans;
  std::vector<int> defined;                     // by value
  std::vector<int> last_use;                    // by value; its definition if it is never used
  std::vector<std::vector<ir::ValueId>> dying;  // by position
};

bool IsCombine(isa::Op op);  // reduce, scan, map_elementwise: the region combines scalars
bool ReadsMemory(const ir::Region& region);
bool Reads(const ir::Region& region, ir::ValueId id);  // anywhere in it
// A while loop that reads memory, and a for loop that polls (atomics, volatile loads) and can be left early, may wait for other programs: what it
// carries is compared at the back edge, so its arguments live until then.
bool MayWait(const ir::Op& op);
Liveness ComputeLiveness(const ir::Kernel& kernel);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_LIVENESS_H_
