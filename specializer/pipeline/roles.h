// roles: warp specialization. Where the dots of a kernel's loops are wgmma, it is split: the *producer* runs only what it needs to know which tiles come next
// and starts their copies; the other warps, the *consumers*, run the program and find their operands in shared memory. Tiles that are boxes (analysis/boxes.h)
// are copied by tensor maps, for which one thread is enough. For others (addresses or rows that lie in memory) the producer is a whole warpgroup that copies by
// cp.async, each thread its part; a ring may be filled in both ways.
//
//        producer                                             consumers
//        for each loop with copies, each iteration:           everything else:
//          wait until the slot is empty                         wait until the slot is full
//          start the copies of the boxes                        products, read from the slot
//          next slot                                            release the slot of the iteration whose products are done; next slot
//
// The producer's program is a slice of the kernel: loops with copies, loops and branches around them, and the scalars that bounds, conditions and coordinates
// need; for copies by threads tiles of pointers and masks too, in layouts of four warps, computed or loaded as they are needed there. What it reads from memory
// it reads itself, and a while loop around has to go on by something else, so that both sides go the same way. A program sees its own stores, in its order: at a
// store to what the producer may read (*told*) each side waits for the other. A coordinate of a box may not depend on memory, nor on values that a region
// returns: the launcher has to know its range. Each group of copies that belongs to one dot has a ring of its own
// (schedule.h), walked in the same order by both sides, also from loop to loop and from program to program: a persistent CTA's producer is already in the next
// program while the consumers store the results of this one. A tile that is loaded before a loop and is operand a of its products all the way (the queries of
// attention) has a ring too, of one slot or two, filled once for a program. Stores of boxes go through shared memory and a tensor map.
//
// *Made maps*: where address, strides and extents of an array are scalars that the program finds in memory (analysis/boxes.h: made boxes), the producer, a whole
// warp then, makes the tensor map itself: once in front of the loop around the copies (or the store) in which none of these scalars changes, into one of two
// places by turns. What a map demands (alignment, sizes) is looked at there, and what has not got it is copied element by element. A store's map is handed to the
// consumers through two barriers, like a slot of a ring; fields of it that they need for nothing else only the producer reads.
// Such stores may go anywhere, so the producer remembers between which addresses those that it has passed may write (*told later*): it waits for them only if it is
// about to read there, and the consumers say that they are done only when they would wait for the producer themselves.
//
// A kernel is persistent unless its programs may wait for each other (loops without a count, atomics that order memory). Programs of one length are shared out
// by number; where they differ (causal attention), a program has a CTA of its own if the producer is a warpgroup, else each CTA's producer takes the next number from a counter in global memory when it gets there, and tells
// the consumers through a ring of its own: *dealt* programs, longest first (program_order.h).
//
// Merged programs: where one program is one warpgroup and its loops are of the kind that delay.h runs under itself, a CTA runs two to four programs that follow
// each other along axis 0 side by side, each on a warpgroup of its own, if they read the same boxes (attention: other queries, the same keys): the boxes are
// copied once, and one program's products run under another's exponentials. Conditions: a box of a loop is the same for all of them where the
// induction variable is. Where loops begin and end may differ, whole steps apart: the producer goes from the first beginning to the last end, and a program
// that has not begun or is done only releases slots (*drains*). No atomics. Where the grid's extent is not a multiple, the last programs run twice, and the second time store nothing.
#ifndef TILEVM_SPECIALIZER_PIPELINE_ROLES_H_
#define TILEVM_SPECIALIZER_PIPELINE_ROLES_H_

#include "specializer/pipeline/schedule.h"

namespace tilevm::pipeline {

struct RolesOptions {
  const analysis::Boxes* boxes = nullptr;  // null: no tensor maps
  int64_t max_smem = 0;     // of a CTA
  int64_t scratch = 0;      // to be left for what the consumers need beside the rings
  int num_warps = 4;
  bool box_stores = true;   // stores may go by tensor maps
  bool share = true;        // there are programs enough for two CTAs on a multiprocessor
  int programs = 4;         // and for CTAs of so many merged programs, at most; 1: none
  bool threads = true;      // what is no box may be copied by the producer's threads
  bool made = false;        // tensor maps may be made by the kernel; the schedule was made for it. Refused where copies of other kinds are needed too
  bool no_alias = true;     // what is written through one parameter is not read through another
};

// Splits the kernel if it can be: schedule->roles. Otherwise nothing changes, and the reason is returned ("loop over k: the mask is not a bound").
std::string AssignRoles(const layout::LayoutKernel& kernel, const RolesOptions& options, Schedule* schedule);

// Of a thread of the producer's warpgroup and of a consumer, after registers have moved from the one to the other.
struct RoleRegisters {
  int producer = 0, consumer = 0;
};
RoleRegisters RegistersOf(const Roles& roles);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_ROLES_H_
