// Elaboration: an open op with its operands becomes typed ops. Promotion, weak scalars, broadcasts, casts and splats become explicit here, and
// only here; the rules are those of Triton (one file per rule; the column `elab` of isa/ops.def names the rule of an op).
//
// The partial evaluator calls Elaborate when an op of level Bytecode or Library is reached while a kernel is specialized (also if all operands
// are static: the rule decides, e.g. cdiv of two static ints is static, exp of a literal is a tensor). Operands are given in row order, kAbsent
// where an optional one is missing. The result is one Value; several results are a kTuple; no result is kNone.
#ifndef TILEVM_SPECIALIZER_ELABORATE_ELABORATE_H_
#define TILEVM_SPECIALIZER_ELABORATE_ELABORATE_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "isa/ops.h"
#include "specializer/ir/builder.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/partial_eval/value.h"

namespace tilevm::specializer {

// What a rule works with.
struct Elaborator {
  ir::Builder& builder;      // emits at the current insertion point
  Evaluator& evaluator;      // for static operations
  // Inlines a function value (combine functions, scalar functions) at the insertion point with the given arguments; set by the evaluator.
  std::function<absl::StatusOr<Value>(const Value& callee, std::vector<Value> args, Loc loc)> inline_call;

  const isa::Type& TypeOf(const Value& tensor) const { return builder.kernel().TypeOf(tensor.tensor()); }
};

absl::StatusOr<Value> Elaborate(Elaborator& elaborator, isa::Op op, absl::Span<const Value> operands, Loc loc);
// Whether ops.def names a rule for op.
bool HasRule(isa::Op op);

// A tensor's attribute or method as Triton has it: x.dtype, x.shape, x.T, x.type, x.numel; methods that are ops are found through
// isa::OpFromSurface(".name") by the evaluator before this is asked.
absl::StatusOr<Value> TensorAttr(Elaborator& elaborator, const Value& tensor, absl::string_view name, Loc loc);
// x[:, None], x[None, :], x[None], x[...]: None adds an axis, : keeps one.
absl::StatusOr<Value> TensorIndex(Elaborator& elaborator, const Value& tensor, const Value& subscript, Loc loc);

// desc.shape, .strides, .block_shape, .dtype of a kDescriptor.
absl::StatusOr<Value> DescriptorAttr(Elaborator& elaborator, const Value& descriptor, absl::string_view name, Loc loc);
// desc.load(offsets), .store(offsets, value), .gather(x_offsets, y_offset), .scatter(value, x_offsets, y_offset), .atomic_add(offsets, value)
// and the other atomics.
absl::StatusOr<Value> DescriptorMethod(Elaborator& elaborator, const Value& descriptor, absl::string_view name, const CallArgs& args, Loc loc);

// The op bind on one static number: a strong rank-0 tensor of its literal type (docs/semantics.md). Tensors, dtypes, None pass; tuples go
// element by element; a string, function or list is an error that names `name`.
absl::StatusOr<Value> BindValue(Elaborator& elaborator, const Value& value, absl::string_view name, Loc loc);

// The condition of a dynamic if, while or ternary as an i1 scalar: scalar int != 0, pointer != null, i1 as it is; a block is an error.
absl::StatusOr<ir::ValueId> ConditionOf(Elaborator& elaborator, const Value& value, Loc loc, isa::Op op = isa::Op::kIf);

// Any static number or tensor as a typed scalar of that type (loop bounds, carried values).
absl::StatusOr<Value> CastTo(Elaborator& elaborator, const Value& value, isa::DType dtype, Loc loc);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_ELABORATE_H_
