// carried_offsets: loops carry one scalar instead of a tile of pointers or indices that all move by the same step.
//
//   for k (p = p0) { load p; yield p + splat(s) }      becomes      for k (o = 0) { p = p0 + splat(o); load p; yield o + s }
//
// with o of 64 bits for pointers and of the tile's own type for indices, so that the sums wrap alike. What was a register for each element carried around the
// loop is index arithmetic on values from before it, which can be evaluated for any iteration: asynchronous copies run ahead by it (schedule.h).
//
// Requires: verified typed IR. Ensures: the same, every other value unchanged.
#ifndef TILEVM_SPECIALIZER_PIPELINE_CARRIED_OFFSETS_H_
#define TILEVM_SPECIALIZER_PIPELINE_CARRIED_OFFSETS_H_

#include "specializer/ir/kernel.h"

namespace tilevm::pipeline {

ir::Kernel CarriedOffsets(ir::Kernel kernel);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_CARRIED_OFFSETS_H_
