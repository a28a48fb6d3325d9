// Constants as scalars of isa/eval.h, and back.
#ifndef TILEVM_SPECIALIZER_PASSES_CONSTANTS_H_
#define TILEVM_SPECIALIZER_PASSES_CONSTANTS_H_

#include <optional>

#include "isa/eval.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::specializer {

struct Constant {
  isa::DType dtype;
  isa::Scalar value;
};

// The one number in every element of id: a const, possibly splat, stretched, reshaped or permuted. Nothing for pointers.
std::optional<Constant> ConstantOf(const Rewriter& rewriter, ir::ValueId id);
// An integer constant equal to n (sign-extended; all ones is -1).
bool IsIntConstant(const Rewriter& rewriter, ir::ValueId id, int64_t n);
// A float constant of exactly that value, sign of zero included.
bool IsFloatConstant(const Rewriter& rewriter, ir::ValueId id, double x);
// The constant in every element of a tile of that type.
ir::ValueId EmitConstant(Rewriter& rewriter, const isa::Type& type, isa::Scalar value, Loc loc);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PASSES_CONSTANTS_H_
