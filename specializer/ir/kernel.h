// Typed tile IR: a kernel specialized to argument types, constexpr values and facts. Every value has a static type and shape.
//
// The same op enum as the bytecode (isa/ops.def, levels Bytecode, Typed and Machine), each Op obeying its row's signature. Structured control
// flow by regions; an Op's operands are ids into Kernel::values. The rules of every op's meaning are docs/semantics.md and isa/eval.h.
//
//   const         attribute "value" (int or float bits by the result type; Attr int64_t for integers, i1 and pointers (0 only), double for floats)
//   for           operands lo, hi, step, inits...; region(iv, carried...) ends in yield; results as inits. iv has the type of lo. The trip
//                 count is fixed on entry. step > 0 unless attribute "step" (a static negative step) says otherwise; step 0 is a runtime error.
//   while         operands inits...; region 0 (carried...) ends in yield(test: i1 scalar, carried...); region 1 (carried...) ends in yield
//   if            operand cond (i1 scalar); regions then, else; each ends in yield(results...) or in exit
//   block         region(); ends in yield(results...) or exit; an exit of depth d leaves the d-th enclosing *block* (0 the innermost) with
//                 its results. Only blocks are counted. Early return, break and continue are exits.
//   reduce, scan  operands x...: equal shapes; attributes "axis" (non-negative), "kind" (add mul max min xor and or argmax argmin, or custom),
//                 scan "reverse"; kind custom: region(a..., b...) scalars, ends in yield. argmax/argmin: operands value, index(i32); results both.
//                 max/min ignore NaN. The reduced axis is dropped.
//   dot           operands a, b, acc (always present); attributes "input_precision" (tf32, tf32x3, ieee, bf16x3, bf16x6), "max_num_imprecise_acc"
//   load, store   attributes "cache_modifier", "eviction_policy" (strings, "" for none), "volatile" (bool), "descriptor" (bool: by a tensor descriptor);
//                 masks and other already broadcast
//   atomics       attributes "sem" (acquire release acq_rel relaxed), "scope" (gpu cta sys)
//   cast          attribute "rounding" ("rtne" or "rtz", floats only); result type says the rest
//   minimum, maximum  attribute "trusted" (bool): a target that checks its launches may take it for its first operand (passes/join_loops.h); "apart": by how much
//                 that is above the second, unless it wraps
//   map_elementwise  region(scalars...) ends in yield
//   device_print  attribute "prefix", "hex"; device_assert attribute "msg"
#ifndef TILEVM_SPECIALIZER_IR_KERNEL_H_
#define TILEVM_SPECIALIZER_IR_KERNEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "isa/ops.h"
#include "isa/status.h"
#include "isa/types.h"

namespace tilevm::ir {

using ValueId = uint32_t;
inline constexpr ValueId kNoValue = 0xffffffffu;

struct ValueInfo {
  isa::Type type;
  std::string name;  // the source name it was bound to, "" if none; a hint for printing
};

using Attr = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>, isa::DType>;

struct NamedAttr {
  absl::string_view name;  // static storage: a name of the op's row, or a literal
  Attr value;
};

struct Op;

struct Region {
  std::vector<ValueId> args;
  std::vector<Op> ops;  // the last one is yield or exit
};

struct Op {
  isa::Op op = isa::Op::kConst;
  absl::InlinedVector<ValueId, 4> operands;  // row order; kNoValue where an optional one is absent; trailing absent ones dropped
  absl::InlinedVector<ValueId, 1> results;
  absl::InlinedVector<NamedAttr, 2> attrs;
  std::vector<Region> regions;
  Loc loc;

  const Attr* FindAttr(absl::string_view name) const;  // null if absent
  int64_t IntAttr(absl::string_view name, int64_t otherwise = 0) const;
  double FloatAttr(absl::string_view name, double otherwise = 0) const;
  bool BoolAttr(absl::string_view name, bool otherwise = false) const;
  absl::string_view StringAttr(absl::string_view name, absl::string_view otherwise = "") const;
  void SetAttr(absl::string_view name, Attr value);
  ValueId operand(size_t i) const { return i < operands.size() ? operands[i] : kNoValue; }
};

// A runtime argument of the kernel. A source parameter that is a tuple or a descriptor gives several; one that is static gives none.
struct Param {
  ValueId value = kNoValue;
  std::string name;        // "x_ptr", "shape.0", "desc.stride1"
  int source_index = 0;    // which parameter of the function
  int64_t divisibility = 1;  // known divisor of the value (bytes for a pointer): 16 when the launch promised it
  Loc loc;
};

struct Options {
  int num_warps = 4;
  int num_stages = 3;
  int num_ctas = 1;
  int maxnreg = 0;           // 0: no limit
  bool debug = false;        // device_assert on the GPU
  bool fast_math = false;    // --math=fast
};

struct Kernel {
  std::string name;
  std::vector<Param> params;
  std::vector<ValueInfo> values;
  Region body;               // no args (params are values already); ends in yield()
  Options options;
  Loc loc;

  ValueId NewValue(isa::Type type, absl::string_view name = "");
  const isa::Type& TypeOf(ValueId id) const { return values[id].type; }
};

// Deterministic text of a kernel (docs/architecture.md shows one).
std::string Print(const Kernel& kernel);

// Checks that every op obeys its row's signature, every value is defined once before use, regions end as they must. kInternal names what broke.
absl::Status Verify(const Kernel& kernel);

// Number of ops, regions included.
int64_t OpCount(const Kernel& kernel);

}  // namespace tilevm::ir

#endif  // TILEVM_SPECIALIZER_IR_KERNEL_H_
