// affine: integers and pointers of a kernel as polynomials over symbols (boxes.h says which), and masks as conjunctions of inequalities between them.
//
//   %3 = arange 0, 64;  %4 = splat (pid * 64);  %5 = add %4, %3          64 * pid + axis0
//   %6 = mod %5, splat N                                                 64 * pid + axis0, where that is below N (a Wrap)
//   %7 = lt %5, splat M                                                  M - 64 * pid - axis0 > 0
//
// Sums and products of 32 bits are polynomials modulo 2^32, so what wraps on the way does no harm. It matters where the number is taken for what it is:
// widened to 64 bits, compared, divided. Those places are the `exact` of a value: the polynomial has to lie in the range of its type there.
#ifndef TILEVM_SPECIALIZER_ANALYSIS_AFFINE_H_
#define TILEVM_SPECIALIZER_ANALYSIS_AFFINE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "specializer/analysis/boxes.h"
#include "specializer/ir/kernel.h"

namespace tilevm::analysis {

// An axis of a tile as a factor.
inline constexpr ir::ValueId kFirstAxis = 0xffffff00u;
inline Factor AxisFactor(int axis) { return {kFirstAxis + static_cast<uint32_t>(axis), false}; }
inline bool IsAxis(const Factor& f) { return f.value >= kFirstAxis && f.value != ir::kNoValue; }
inline int AxisOf(const Factor& f) { return static_cast<int>(f.value - kFirstAxis); }

using Monomial = std::vector<Factor>;

Polynomial ConstantPolynomial(int64_t value);
Polynomial SymbolPolynomial(Factor factor);
// nullopt: a coefficient leaves 64 bits, or there are too many terms.
std::optional<Polynomial> AddScaled(const Polynomial& a, const Polynomial& b, int64_t scale);
std::optional<Polynomial> Multiply(const Polynomial& a, const Polynomial& b);
inline bool operator==(const Polynomial& a, const Polynomial& b) { return a.terms == b.terms; }
std::optional<int64_t> ConstantOf(const Polynomial& p);  // if it is one
// Every axis d becomes to(d).
Polynomial Renumbered(const Polynomial& p, const std::function<int(int)>& to);
// The factor of axis d where it stands alone and once; nullopt if it stands with another axis or more than once.
std::optional<Polynomial> CoefficientOf(const Polynomial& p, int axis);
bool HasAxis(const Polynomial& p);

// Where the polynomial has to be what the type holds.
struct Exact {
  Polynomial value;
  isa::DType dtype = isa::DType::kI32;
  bool all_lanes = false;  // also where the access is masked or its lanes are dead
};

// The value is its polynomial only in lanes where coordinate < bound.
struct Wrap {
  Polynomial coordinate, bound;
};

struct Affine {
  Polynomial value;             // of pointers: elements from the base
  ir::ValueId base = ir::kNoValue;
  std::vector<Exact> exact;
  std::vector<Wrap> wraps;
};

// holds where positive > 0
struct Inequality {
  Polynomial positive;
  std::vector<Exact> exact;
};

class AffineValues {
 public:
  // any_base: a scalar pointer that nothing is known of (it was found in memory) is the base of what is made of it; else only parameters are bases.
  explicit AffineValues(const ir::Kernel& kernel, bool any_base = false);

  // Integers and pointers, scalars and tiles; null for what is no polynomial.
  const Affine* Of(ir::ValueId id);
  // Of an i1 value: null unless it is a conjunction of inequalities.
  const std::vector<Inequality>* MaskOf(ir::ValueId id);

  // One value for all programs of a launch, from parameters alone.
  bool IsUniform(const Factor& f) const { return !f.trip && (f.value < uniform_.size() && uniform_[f.value]); }
  bool IsUniform(const Polynomial& p) const;
  int ParamIndex(ir::ValueId id) const;                  // -1 if it is none
  const ir::Op* Definition(ir::ValueId id) const;        // null for parameters and arguments of regions
  // The loop (a `for`) that the induction variable belongs to; null if it is none.
  const ir::Op* LoopOf(ir::ValueId induction) const;
  // The loops (`for`) around the definition of the value, innermost first.
  std::vector<const ir::Op*> LoopsAround(ir::ValueId id) const;
  // Is the value defined in the region of the op (or deeper)?
  bool DefinedInside(ir::ValueId id, const ir::Op& op) const;
  const ir::Kernel& kernel() const { return kernel_; }

 private:
  struct Place {
    int region = -1;                 // that defines it
    const ir::Op* op = nullptr;      // or
    const ir::Op* owner = nullptr;   // whose region has it as an argument,
    int argument = -1;               // at this place
  };
  void Index(const ir::Region& region, const ir::Op* owner, int parent);
  void EvaluateScalars(const ir::Region& region);
  bool Encloses(int outer, int inner) const;
  const isa::Type& TypeOf(ir::ValueId id) const { return kernel_.TypeOf(id); }

  std::optional<Affine> Compute(ir::ValueId id);
  std::optional<Affine> ComputeOp(const ir::Op& op);
  std::optional<Affine> Argument(ir::ValueId id, const Place& place);
  std::optional<Affine> Carried(ir::ValueId id, const ir::Op& loop, int index);
  std::optional<Affine> Wrapped(const ir::Op& op);
  std::optional<Affine> Reshaped(const ir::Op& op, const Affine& from) const;
  std::optional<std::function<int(int)>> AxisMap(const ir::Op& op) const;
  Affine Symbol(ir::ValueId id);
  std::optional<std::vector<Inequality>> ComputeMask(ir::ValueId id);
  std::optional<std::vector<Inequality>> Comparison(const ir::Op& op);
  void Extend(Affine& value, isa::DType from, const isa::Shape& shape, bool all_lanes) const;

  const ir::Kernel& kernel_;
  const bool any_base_;
  std::vector<Place> places_;                       // by value
  std::vector<std::pair<const ir::Op*, int>> regions_;  // owner, parent
  std::map<std::pair<const ir::Op*, int>, int> region_of_;
  std::vector<bool> uniform_;
  std::vector<int> params_;
  std::map<ir::ValueId, std::optional<Affine>> values_;
  std::map<ir::ValueId, std::optional<std::vector<Inequality>>> masks_;
  std::map<std::string, std::vector<ir::ValueId>> known_;  // symbols by what they compute
  std::vector<ir::ValueId> trail_;                  // computed while a carried value is provisional
  int provisional_ = 0, depth_ = 0;
};

}  // namespace tilevm::analysis

#endif  // TILEVM_SPECIALIZER_ANALYSIS_AFFINE_H_
