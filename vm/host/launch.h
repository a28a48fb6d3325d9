// From `kernel[grid](args, name=value, ...)` to a run: binding, wrappers (autotune, heuristics), specialization, grid, arguments.
//
// The rules are Triton's (docs/host.md has the table): a keyword is a parameter, else a launch option, else an error; None, an int equal to 1,
// functions and dtypes become static; other ints take the narrowest of i32, i64, u64 that holds them; floats are f32; tensors are pointers; a
// value or address divisible by 16 is recorded as such.
#ifndef TILEVM_VM_HOST_LAUNCH_H_
#define TILEVM_VM_HOST_LAUNCH_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "specializer/partial_eval/evaluator.h"
#include "vm/host/host.h"

namespace tilevm::vm::host {

using Keywords = std::vector<std::pair<std::string, Value>>;

// A call with all its parameters bound.
struct BoundCall {
  const isa::Function* function = nullptr;
  std::vector<Value> args;   // one for each parameter
  ir::Options options;
  bool warmup = false;

  // What a grid function or a hook sees: parameter name -> value.
  Value AsDict() const;
};

absl::StatusOr<BoundCall> Bind(Evaluator& evaluator, const Value& kernel, const CallArgs& call, Loc loc);
absl::StatusOr<specializer::SpecializationKey> SpecializationOf(const Value& kernel, const BoundCall& bound, Loc loc);
// Marks an error of a grid: it cannot be read or evaluated, or an extent is none.
inline constexpr absl::string_view kGridPayload = "tilevm/grid";
absl::StatusOr<std::array<int64_t, 3>> EvaluateGrid(Evaluator& evaluator, const Value& grid, const BoundCall& bound, Loc loc);

// The calls to try, best first: heuristics and autotune applied in their stacking order. Without autotune there is one. `config` describes the
// configuration, "" without.
struct Variant {
  CallArgs call;
  std::string config;
  std::string tuning_key;  // values of the arguments that autotune's `key` names, and the dtypes of all tensors
  Value pre_hook;     // absent without
  Value hook_args;    // the dict it is given
  Value chosen;       // the configuration; absent without autotune
};
// best_config and cache of an autotuned kernel, once one of its variants is chosen.
void RememberConfig(const Value& kernel, const Variant& variant);

absl::StatusOr<std::vector<Variant>> ApplyWrappers(Evaluator& evaluator, const Value& kernel, const CallArgs& call, Loc loc);

// Autotune on a device: the place in `variants` of the configuration to use, by measuring, or as remembered from this or an earlier process. A record of
// what was measured goes to HostWorld::tuned().
absl::StatusOr<size_t> ChooseConfig(HostWorld& world, Evaluator& evaluator, const Value& kernel, std::vector<Variant>& variants, const Value& grid, Loc loc);

// A configuration that is left out rather than an error, if there are others: it takes more than there is, or a static_assert refuses it.
inline bool DoesNotFit(const absl::Status& status) { return absl::IsResourceExhausted(status) || absl::IsFailedPrecondition(status); }

// What a device engine says of a kernel that it cannot run whatever its arguments hold: it lacks an op, or the device shared memory, threads or memory; there is no
// NVRTC; the driver is too old for the code. What is wrong with the program (a failed assert, an access that faults, a grid beyond the limits) is none of these.
inline bool CannotRunThere(const absl::Status& status) { return absl::IsUnimplemented(status) || absl::IsResourceExhausted(status) || absl::IsFailedPrecondition(status); }

// The place of the configuration that tuning chose before, in this process or an earlier one; 0 where it did not.
size_t RememberedConfig(HostWorld& world, Evaluator& evaluator, const Value& kernel, const std::vector<Variant>& variants);

// A call that was specialized, ready to run: what the arguments of the compiled kernel are.
struct PreparedRun {
  std::vector<Arg> args;
  std::vector<Buffer> buffers;
  std::vector<Tensor> tensors;  // keeps the storages alive, one for each buffer
};
// on_device: the buffers have no host address (Buffer::data is null); the tensors' storages say where the bytes are.
absl::StatusOr<PreparedRun> PrepareArguments(const ir::Kernel& kernel, const BoundCall& bound, bool checked, Loc loc, bool on_device = false);

// A value that stands for any argument of that type: enough to specialize a kernel, not to run it.
Value ArgumentOfType(isa::ElemType elem, bool divisible);

// The innermost function of a jit value (itself if it is a kFunction), as FunctionPayload; error if it is no kernel.
absl::StatusOr<const specializer::FunctionPayload*> FunctionOf(const Value& kernel, Loc loc);

// "add_kernel.py:14:5: out-of-bounds: ..." lines for reports of a checked run.
std::string FormatReport(const Report& report, const std::vector<SourceFile>& files);

}  // namespace tilevm::vm::host

#endif  // TILEVM_VM_HOST_LAUNCH_H_
