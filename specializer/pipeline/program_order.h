// program_order: in which order the programs of a grid begin.
//
// Programs begin in the order of their numbers, as many at once as the device holds, and each that ends makes room for the next. If the last ones are the
// longest (causal attention: program i of a head sees i + 1 blocks of keys), the device is left with a few of them while most of it has nothing more to do. They
// are better begun first. Programs of one launch do not wait for each other unless they say so, so any order is as good for the result.
//
//      in order       1 2 3 4 5 6 7 8 on two: 1 3 5 7 | 2 4 6 8   16 and 20 units of time
//      longest first  8 7 6 5 4 3 2 1 on two: 8 5 4 1 | 7 6 3 2   18 and 18
//
// A loop is longer for later programs if its trip count never falls, and can rise, with program_id(axis): by what its bounds are made of.
#ifndef TILEVM_SPECIALIZER_PIPELINE_PROGRAM_ORDER_H_
#define TILEVM_SPECIALIZER_PIPELINE_PROGRAM_ORDER_H_

#include "specializer/ir/kernel.h"

namespace tilevm::pipeline {

struct ProgramOrder {
  bool unequal = false;   // trip counts depend on the program
  int reversed = -1;      // axis along which the last programs are the longest, and may begin first; -1: none
};
ProgramOrder ProgramOrderOf(const ir::Kernel& kernel);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_PROGRAM_ORDER_H_
