// How each op turns the facts of its operands into those of its result.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_AXIS_TRANSFER_H_
#define TILEVM_SPECIALIZER_ANALYSIS_AXIS_TRANSFER_H_

#include <functional>

#include "specializer/analysis/axis_facts.h"

namespace tilevm::analysis {

// Nothing known.
TileFacts UnknownFacts(const isa::Type& type);
// What holds for both.
TileFacts Meet(const TileFacts& a, const TileFacts& b);
// The facts of the one result of an op without regions.
TileFacts Transfer(const ir::Kernel& kernel, const ir::Op& op, const std::function<const TileFacts&(ir::ValueId)>& of, const FactOptions& options);

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_AXIS_TRANSFER_H_
