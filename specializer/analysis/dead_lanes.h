// dead_lanes: elements of a loaded tile that change nothing which the program stores.
//
//   a = load a_ptr + (offs_am % M)[:, None] * stride      lanes of rows with offs_am >= M load row offs_am - M instead
//   acc = dot(a, b, acc);  c = cast acc                   these lanes reach the same rows of acc and c,
//   store c_ptr + ..., c, offs_am[:, None] < M            which the store leaves out: they are dead
//
// Every use of the tile is followed: elementwise operations, changes of shape and layout, rows and columns of dots, reductions and scans along other axes,
// values that a loop carries (where the coordinate is the same in each iteration), results of branches. The way has to end in stores of the value whose
// masks keep only coordinates below the bound.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_DEAD_LANES_H_
#define TILEVM_SPECIALIZER_ANALYSIS_DEAD_LANES_H_

#include <map>
#include <set>
#include <vector>

#include "specializer/analysis/affine.h"

namespace tilevm::analysis {

class DeadLanes {
 public:
  explicit DeadLanes(AffineValues& values);

  // Are the lanes of the tile dead where wrap.coordinate (in terms of `axis` and of scalars) is not below wrap.bound? exact receives what has to hold
  // for the masks that say so.
  bool Dead(ir::ValueId tile, int axis, const Wrap& wrap, std::vector<Exact>& exact);

 private:
  struct Use {
    const ir::Op* op;
    size_t operand;
    const ir::Op* owner;  // of the region that the op stands in; null: the body of the kernel
  };
  struct Question {
    const Wrap& wrap;
    int axis;                                   // of the coordinate as given
    std::set<std::pair<ir::ValueId, int>> seen;
    std::vector<Exact>& exact;
  };
  void Collect(const ir::Region& region, const ir::Op* owner);
  bool Follow(ir::ValueId tile, int axis, Question& q);
  bool FollowUse(const Use& use, int axis, Question& q);
  bool FollowYield(const Use& use, int axis, Question& q);
  bool StoreKeepsOut(const ir::Op& store, int axis, Question& q);
  // The coordinate is another one in each iteration of the loop, or unknown outside of the op.
  bool Changes(const ir::Op& op, const Question& q) const;

  AffineValues& values_;
  std::map<ir::ValueId, std::vector<Use>> uses_;
};

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_DEAD_LANES_H_
