// schedule: which loads of a loop with dots run ahead of it, as asynchronous copies into a ring of shared buffers. Data beside the IR, which stays as it is:
// the interpreter runs the same kernel, the emitter follows the schedule.
//
// A load is copied ahead if
//   - the loop (a `for`) writes no memory, and the load stands in its body itself, unmasked or masked with 0 elsewhere, without volatile or cache hints;
//   - its pointers and mask are index arithmetic over the induction variable, values from before the loop, and carried scalars that advance by such
//     arithmetic alone (the *slice*), so that they can be computed for an iteration that has not begun;
//   - its value is a 2-dimensional tile that only changes of layout and dots use.
// Where the hardware cannot copy (fewer than 4 neighbouring bytes) the tile passes through registers on its way to the buffer (*staged*).
//
// The ring has `stages` slots (kernel option num_stages, fewer if shared memory is short, 2 at least); a slot holds one buffer of each copy. Iteration i
// waits for the copies of slot i % stages, passes one barrier, then starts those of iteration i + stages - 1 into the slot that iteration i - 1 has read:
//
//      iteration     0      1      2      3              stages 3
//      copies for   2      3      4      5               before the loop: 0, 1
//      dot reads    slot0  slot1  slot2  slot0
//
// Where the dot of a loop is done by wgmma and only accumulates (*deferred*), iteration i leaves its products running and waits for those of i - 1; the
// copies then go two slots back, stages - 2 iterations ahead, since another warpgroup may still read the slot of i - 1.
//
// Buffers are xor-swizzled rows (layout::SwizzledRows), so that neither 16-byte copies nor ldmatrix nor wgmma meet a bank conflict. A dot reads its operand
// from the buffer where `Operand` says so; other uses read it back into registers.
#ifndef TILEVM_SPECIALIZER_PIPELINE_SCHEDULE_H_
#define TILEVM_SPECIALIZER_PIPELINE_SCHEDULE_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "specializer/analysis/boxes.h"
#include "specializer/layout/assign.h"
#include "specializer/pipeline/delay.h"
#include "specializer/pipeline/overlap.h"
#include "specializer/pipeline/program_order.h"
#include "specializer/pipeline/wgmma_plan.h"

namespace tilevm::pipeline {

struct Copy {
  ir::ValueId value = ir::kNoValue;  // of the load
  int axis = 1;                      // the one whose elements are neighbours in a row of the buffer
  int64_t vector = 1;                // elements of one copy
  bool staged = false;               // through registers
  bool turned = false;               // the box is of a copy of the array with its dimensions swapped (analysis/boxes.h)
  bool row = false;                  // of rank 1; read into registers where the load stands
  bool by_threads = false;           // of a split kernel: no box; the producer's threads copy it by cp.async
  std::string why_no_box;            // then
  layout::SharedLayout shared;
  int64_t offset = 0, bytes = 0;     // within a slot
  int ring = -1;                     // index into Roles::rings, if the kernel is split into roles
};

struct Loop {
  ir::ValueId induction = ir::kNoValue;  // which loop
  int stages = 0;
  int ahead = 0;                         // iterations that the copies run ahead: stages - 1, or stages - 2
  ir::ValueId deferred = ir::kNoValue;   // result of the dot whose products run on into the next iteration
  std::optional<Delay> delay;            // one that starts an iteration late
  std::optional<Overlap> overlap;        // several that are waited for where they are used
  int64_t slot_bytes = 0;
  std::vector<Copy> copies;
  std::set<ir::ValueId> slice;           // results of ops of the body that also run ahead
  std::set<ir::ValueId> only_ahead;      // those of the slice that nothing else in the body needs
  std::vector<int> carried;              // carried values that have a second variable, running ahead
};

// An operand that a dot reads from shared memory.
struct Operand {
  ir::ValueId copy = ir::kNoValue;   // value of the load
  bool transposed = false;           // the dot sees the tile with its axes swapped
};

// A ring of slots of its own for the copies that one dot reads (or several that share an operand); loops with equal slots take turns in one, as do the two
// loops of a kernel with a shared tail, of which one leaves some of a slot empty.
struct Ring {
  int stages = 0;
  int64_t slot_bytes = 0, bytes = 0;   // of a slot, with its padding and as copied (at most)
  int64_t offset = 0, barriers = 0;    // in shared memory: of the first slot, of the barriers (two of 8 bytes for each slot)
  bool by_wgmma = true;                // nothing but wgmma reads it: one thread of a warpgroup releases a slot for all
  bool kept = false;                   // of one tile that stays for a whole program
  bool boxes = false, by_threads = false;  // which kinds of copies fill it: one or both
};

// A store by a tensor map, through two buffers of swizzled rows in turns: panels of at most 128 bytes along `axis`.
struct BoxStore {
  ir::ValueId value = ir::kNoValue;    // as it lies in registers, before any change of layout
  int axis = 1;
  int64_t panel = 0, rows = 0;         // elements of a row of a panel; rows
  int64_t panels = 0;                  // of a tile
  bool own_rows = false;               // each warpgroup has rows of its own: rows / groups that follow each other
  int64_t bytes() const { return panel_bytes * rows; }
  int64_t panel_bytes = 0;             // of a row
};

// A tensor map that the producer makes itself, of an array that is found in memory (roles.h).
struct MadeMap {
  const ir::Op* access = nullptr;      // the load or store that goes by it
  analysis::MadeBox box;
  const ir::Op* before = nullptr;      // made in front of this op, anew each time that the program gets there
  bool store = false;                  // used by the consumers
  int64_t offset = 0, barriers = 0;    // in shared memory: of two records (device/boxes.cuh); of a store's barriers
};

// A kernel split into roles (roles.h): a producer that copies boxes by tensor maps and other tiles by cp.async, and the warps that compute.
struct Roles {
  int groups = 0;                                      // of warps that compute; 0: the kernel is not split
  int programs = 1;                                    // that a CTA runs side by side, a group each (merged programs)
  std::set<ir::ValueId> varies;                        // scalars that differ between merged programs
  int ctas = 1;                                        // that share a multiprocessor
  bool persistent = false;                             // one CTA may run several programs, one after the other
  int tail_parts = 1;                                  // of the last programs, where they are shared (split_tiles.h)
  bool dealt = false;                                  // which ones is decided as they end, for they differ in length
  int64_t deal_offset = 0;                             // in shared memory: where the producer says which is next
  std::vector<Ring> rings;
  std::vector<Copy> kept;                              // tiles copied once for a program, operands of dots in its loops; each in a ring of its own
  std::map<const ir::Op*, std::vector<int>> done_after;  // by op of the kernel's body: rings of such tiles that nothing reads later
  int64_t store_offset = 0, store_bytes = 0;           // buffers of box stores, of each program; and one's size
  int store_buffers = 2;
  int64_t bytes = 0;                                   // end of rings, barriers and those buffers
  bool by_threads = false;                             // some copies are no boxes: the producer is a whole warpgroup
  std::set<ir::ValueId> produced;                      // scalars, and tiles of pointers, masks and what they need, that the producer computes too
  std::map<ir::ValueId, layout::LinearLayout> layouts; // of these tiles, in the four warps of the producer
  std::map<const ir::Op*, std::set<int>> carried;      // by loop or branch: results that the producer needs
  std::set<const ir::Op*> around;                      // loops and branches around loops with copies, and others that the producer goes through
  std::vector<MadeMap> made;
  std::map<const ir::Op*, int> made_for;               // by access: its place in `made`
  std::set<const ir::Op*> told;                        // stores to what the producer may read: each side waits there for the other
  int64_t told_offset = 0;                             // in shared memory: how many of them have been reached and done
  std::set<ir::ValueId> trips;                         // induction variables of loops whose iterations box stores count
  std::map<const ir::Op*, BoxStore> box_stores;
  std::set<const ir::Op*> skipped;                     // ops that only addresses and masks of boxes need
};

struct Schedule {
  std::vector<Loop> loops;
  ProgramOrder order;
  Roles roles;
  std::string why_no_roles;                                 // for a person, where the kernel might have been split
  std::map<ir::ValueId, std::string> why_not;               // for a person, by induction variable: loops with dots of which no load runs ahead
  std::map<ir::ValueId, Wgmma> wgmma;                       // by result of the dot
  std::map<std::pair<ir::ValueId, int>, Operand> operands;  // by result of the dot and index of the operand
  std::set<ir::ValueId> not_printed;                        // changes of layout that only such operands use

  const Loop* LoopOf(ir::ValueId induction) const;
  const Copy* CopyOf(ir::ValueId value) const;
  bool ReadsShared(ir::ValueId dot, int i) const;           // the dot reads its operand i from shared memory
};

struct ScheduleOptions {
  int64_t max_smem = 0;
  bool wgmma = false;
  std::function<int64_t(const ir::Op&)> vector;  // registers that one access of a load may move
  const analysis::Boxes* boxes = nullptr;        // buffers of boxes lie along their innermost dimension; the schedule is good for AssignRoles only
  bool made = false;                             // tensor maps may be made by the kernel
  bool turn = false;                             // boxes may be of copies with swapped dimensions, where the hardware wants the other order
  bool overlap = true;                           // products may run on under other work: deferred, delayed and overlapping dots
  bool rows = true;                              // loads of rank 1 may be copied too, where they are boxes
};
Schedule MakeSchedule(const layout::LayoutKernel& kernel, const ScheduleOptions& options);

// "%x", by its name in the source if it has one.
std::string NameOf(const layout::LayoutKernel& kernel, ir::ValueId id);
// Roles, loops with what is copied for them, dots; and why a loop is none of these: print_schedule.cc.
std::string Print(const Schedule& schedule, const layout::LayoutKernel& kernel);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_SCHEDULE_H_
