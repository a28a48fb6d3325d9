// made_boxes: accesses whose array is only known when the kernel runs (boxes.h: made boxes).
#ifndef TILEVM_SPECIALIZER_ANALYSIS_MADE_BOXES_H_
#define TILEVM_SPECIALIZER_ANALYSIS_MADE_BOXES_H_

#include <optional>

#include "specializer/analysis/affine.h"

namespace tilevm::analysis {

// values: with any base. The access is of a descriptor: a load whose masked lanes are 0, or a store.
std::optional<MadeBox> MakeBox(AffineValues& values, const ir::Op& access);

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_MADE_BOXES_H_
