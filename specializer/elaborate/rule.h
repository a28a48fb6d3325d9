// What every elaboration rule works with: one open op, its operands by the names of its row, readers for static arguments, and the emission of
// typed ops. A rule is a function `absl::StatusOr<Value> ElaborateX(Rule&)` in x.cc, listed in rules.h; elaborate.cc picks it by the row's
// column `elab`.
//
// Requires: operands in row order (a variadic operand last), kAbsent where one is missing. Ensures: every value a rule emits fits the typed
// signature of its row, every tile's extents are powers of two, no tile has more than kMaxTritonElems elements.
#ifndef TILEVM_SPECIALIZER_ELABORATE_RULE_H_
#define TILEVM_SPECIALIZER_ELABORATE_RULE_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "specializer/elaborate/elaborate.h"

namespace tilevm::specializer {

using ir::NamedAttr;
using ir::ValueId;
using isa::DType;
using isa::Op;
using isa::Shape;
using isa::Type;

// Triton's limit for one tensor.
inline constexpr int64_t kMaxTritonElems = int64_t{1} << 20;

class Rule {
 public:
  Rule(Elaborator& elaborator, Op op, absl::Span<const Value> operands, Loc loc);

  Op op() const { return op_; }
  Loc loc() const { return loc_; }
  Elaborator& elaborator() { return elaborator_; }
  ir::Builder& builder() { return elaborator_.builder; }

  // The operand of that name in the op's row; kAbsent if it is not given. tl.constexpr objects are unwrapped.
  const Value& operator[](absl::string_view name) const;
  // The values of the row's variadic operand.
  absl::Span<const Value> rest() const;

  // "mnemonic: message" at the op's place.
  template <typename... Parts>
  absl::Status Error(const Parts&... parts) const {
    return InvalidAt(loc_, isa::Mnemonic(op_), ": ", parts...);
  }
  template <typename... Parts>
  absl::Status Unimplemented(const Parts&... parts) const {
    return UnimplementedAt(loc_, isa::Mnemonic(op_), ": ", parts...);
  }
  std::string Name(const Value& value) const;  // "tile<8xf32>", "int", ...

  // --- static arguments; absent (or None) gives `otherwise`, an error without one ---
  absl::StatusOr<bool> Bool(absl::string_view name, bool otherwise) const;
  absl::StatusOr<int64_t> Int(absl::string_view name, std::optional<int64_t> otherwise = std::nullopt) const;
  absl::StatusOr<std::string> String(absl::string_view name, absl::string_view otherwise) const;
  // An int, or a tuple or list of ints.
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view name) const;
  // The same as a checked tile shape.
  absl::StatusOr<Shape> ShapeOf(absl::string_view name) const;
  absl::StatusOr<DType> DTypeArg(absl::string_view name) const;
  // axis in [0, rank); negative counts from the end.
  absl::StatusOr<int> Axis(int64_t axis, int rank) const;
  absl::Status CheckShape(const Shape& shape) const;

  // --- typed values ---
  // By value: emitting an op may move the kernel's table of values.
  Type TypeOf(ValueId id) const { return elaborator_.builder.kernel().TypeOf(id); }
  DType DTypeOf(ValueId id) const { return TypeOf(id).elem.dtype; }
  // A tensor as it is, a static number as a strong scalar; `what` names it in the error for anything else.
  absl::StatusOr<ValueId> Tensor(const Value& value, absl::string_view what);
  absl::StatusOr<ValueId> Tensor(absl::string_view name) { return Tensor((*this)[name], name); }
  // A number tensor (no pointer).
  absl::StatusOr<ValueId> Number(absl::string_view name);

  ValueId Emit(Op op, Type result, std::initializer_list<ValueId> operands, std::initializer_list<NamedAttr> attrs = {});
  ValueId EmitLike(Op op, ValueId like, std::initializer_list<ValueId> operands, std::initializer_list<NamedAttr> attrs = {}) {
    return Emit(op, TypeOf(like), operands, attrs);
  }
  ValueId ConstInt(DType dtype, int64_t value) { return builder().ConstInt(dtype, value, loc_); }
  ValueId ConstFloat(DType dtype, double value) { return builder().ConstFloat(dtype, value, loc_); }
  // Zero of any element type, in that shape.
  ValueId Zero(isa::ElemType elem, const Shape& shape);
  // The cast op; nothing if the type is already that.
  ValueId Cast(ValueId x, DType dtype);
  ValueId Bitcast(ValueId x, isa::ElemType elem);
  ValueId Reshape(ValueId x, Shape shape);
  ValueId ExpandDims(ValueId x, int axis);

  // Another op in place of this one: static binary operators by Python's rules, everything else by Elaborate.
  absl::StatusOr<Value> Apply(Op op, std::vector<Value> operands);

 private:
  Elaborator& elaborator_;
  const Op op_;
  const isa::OpInfo& info_;
  std::vector<Value> operands_;
  const Loc loc_;
};

inline Value Result(ValueId id) { return Value::Tensor(id); }
Value Unwrap(const Value& value);                     // the inside of a tl.constexpr object
std::vector<Value> Items(const Value& value);         // of a tuple or list; else the value alone
inline bool IsSequence(const Value& value) { return value.is(ValueKind::kTuple) || value.is(ValueKind::kList); }
inline bool IsPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_ELABORATE_RULE_H_
