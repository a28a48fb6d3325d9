#include "specializer/analysis/made_boxes.h"

#include <algorithm>
#include <set>

namespace tilevm::analysis {
namespace {

using ir::kNoValue;
using isa::Op;

Polynomial WithoutAxes(const Polynomial& p) {
  Polynomial out;
  for (const auto& [factors, coefficient] : p.terms) {
    if (std::none_of(factors.begin(), factors.end(), IsAxis)) out.terms[factors] = coefficient;
  }
  return out;
}

bool HasTrip(const Polynomial& p) {
  for (const auto& [factors, coefficient] : p.terms) {
    if (std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return f.trip; })) return true;
  }
  return false;
}

// What one side of a mask says of an axis: the rest of `positive` beside it.
struct Sides {
  std::optional<Polynomial> lower, upper;
};

bool Take(std::optional<Polynomial>& side, const Polynomial& rest) {
  if (side.has_value() && !(*side == rest)) return false;
  side = rest;
  return true;
}

}  // namespace

std::optional<MadeBox> MakeBox(AffineValues& values, const ir::Op& op) {
  const ir::Kernel& kernel = values.kernel();
  const isa::Type& type = kernel.TypeOf(op.operands[0]);
  MadeBox box;
  box.dtype = type.elem.dtype;
  if (type.rank() != 2 || type.shape[0] < 2 || type.shape[1] < 2 || box.dtype == isa::DType::kI1) return std::nullopt;
  if (kernel.TypeOf(op.op == Op::kLoad ? op.results[0] : op.operands[1]).elem.pointer) return std::nullopt;
  const Affine* pointer = values.Of(op.operands[0]);
  const std::vector<Inequality>* mask = values.MaskOf(op.operand(op.op == Op::kLoad ? 1 : 2));
  if (pointer == nullptr || pointer->base == kNoValue || !pointer->wraps.empty() || mask == nullptr) return std::nullopt;
  box.base = pointer->base;

  std::array<Polynomial, 2> strides;
  for (int axis : {0, 1}) {
    const std::optional<Polynomial> stride = CoefficientOf(pointer->value, axis);
    if (!stride.has_value() || stride->terms.empty()) return std::nullopt;
    strides[static_cast<size_t>(axis)] = *stride;
  }
  if (ConstantOf(strides[1]) == int64_t{1}) box.axis = 1;
  else if (ConstantOf(strides[0]) == int64_t{1}) box.axis = 0;
  else return std::nullopt;
  box.stride.value = strides[static_cast<size_t>(1 - box.axis)];

  std::array<Sides, 2> sides;
  std::vector<Exact> exact = pointer->exact;
  for (const Inequality& i : *mask) {
    exact.insert(exact.end(), i.exact.begin(), i.exact.end());
    std::optional<Polynomial> c0 = CoefficientOf(i.positive, 0), c1 = CoefficientOf(i.positive, 1);
    if (!c0.has_value() || !c1.has_value() || c0->terms.empty() == c1->terms.empty()) return std::nullopt;
    Sides& side = sides[c0->terms.empty() ? 1 : 0];
    const std::optional<int64_t> sign = ConstantOf(c0->terms.empty() ? *c1 : *c0);
    if (sign != int64_t{1} && sign != int64_t{-1}) return std::nullopt;
    if (!Take(*sign == 1 ? side.lower : side.upper, WithoutAxes(i.positive))) return std::nullopt;
  }
  Polynomial rest = WithoutAxes(pointer->value);
  for (size_t axis : {0u, 1u}) {
    // axis + start + 1 > 0; without such a bound the box begins where the tile does. And extent - start - axis > 0.
    const std::optional<Polynomial> start = sides[axis].lower.has_value() ? AddScaled(*sides[axis].lower, ConstantPolynomial(1), -1) : Polynomial();
    if (!start.has_value() || !sides[axis].upper.has_value()) return std::nullopt;
    const std::optional<Polynomial> extent = AddScaled(*sides[axis].upper, *start, 1), moved = Multiply(*start, strides[axis]);
    const std::optional<Polynomial> left = moved.has_value() ? AddScaled(rest, *moved, -1) : std::nullopt;
    if (!extent.has_value() || !left.has_value()) return std::nullopt;
    box.start[axis] = *start;
    box.extent[axis].value = *extent;
    rest = *left;
  }
  box.offset.value = rest;

  // Places where a 32-bit number is taken for what it is: each has to be one of these numbers as a whole.
  Number* const numbers[] = {&box.offset, &box.stride, &box.extent[0], &box.extent[1]};
  std::array<bool, 2> narrow = {false, false};
  for (const Exact& e : exact) {
    bool known = e.dtype == isa::DType::kI32;
    bool found = false;
    for (Number* number : numbers) {
      if (!(e.value == number->value)) continue;
      number->narrow = found = true;
    }
    for (size_t axis : {0u, 1u}) {
      if (e.value == box.start[axis]) narrow[axis] = found = true;
    }
    if (!known || !found) return std::nullopt;
  }
  for (size_t axis : {0u, 1u}) {
    const Polynomial& start = box.start[axis];
    if (narrow[axis]) continue;
    if (const std::optional<int64_t> number = ConstantOf(start); number.has_value() && *number == static_cast<int32_t>(*number)) continue;
    const bool symbol = start.terms.size() == 1 && start.terms.begin()->second == 1 && start.terms.begin()->first.size() == 1;
    if (!symbol) return std::nullopt;
    const Factor& f = start.terms.begin()->first.front();
    if (f.trip || kernel.TypeOf(f.value).elem.dtype != isa::DType::kI32) return std::nullopt;
  }
  std::set<ir::ValueId> fields = {box.base};
  for (const Number* number : numbers) {
    if (HasTrip(number->value) || HasAxis(number->value)) return std::nullopt;
    for (const auto& [factors, coefficient] : number->value.terms) {
      for (const Factor& f : factors) fields.insert(f.value);
    }
  }
  box.fields.assign(fields.begin(), fields.end());
  return box;
}

}  // namespace tilevm::analysis
