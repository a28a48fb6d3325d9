// The partial evaluator: one online pass over the open bytecode.
//
// One Evaluator serves one loaded Module. It runs host code (cells, host functions, decorators, grids, hooks) with everything static, and it
// specializes kernels: the same walk, but with a tile IR under construction, where an operation on a typed value emits an op (through
// specializer/elaborate) instead of computing one. It is not thread-safe; the engine holds one per program and locks it.
//
// Globals: each top-level statement of a source file is a cell. RunMain executes all cells in order (the file as __main__). Global(name) alone
// runs only the cells that define that name, on demand and once; a cell that fails gives its error when a name it defines is asked for.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_EVALUATOR_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_EVALUATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "isa/module.h"
#include "specializer/ir/kernel.h"
#include "specializer/partial_eval/value.h"

namespace tilevm::specializer {

// Whether a library has a name that means nothing here.
struct OutsideName {
  bool there = true;
  bool listed = false;   // there, by its own name: a function, class or namespace, thus no None
  bool dtype = false;    // there, and a dtype: equal to itself alone
  std::string missing;   // not there: the path up to the first name that is not
  std::string nearest;   // and a name beside it that may be meant, or ""
};

// What the world outside the bytecode answers. vm/host implements it; kernels alone (assembly, compile-time tests) need none: the base class
// answers "not available" to everything.
class Host {
 public:
  virtual ~Host() = default;
  // A builtin path that the evaluator itself does not know ("torch.randn", "triton.testing.do_bench"): called, or read as an attribute value
  // ("torch.float16", "triton.runtime.driver.active").
  virtual absl::StatusOr<Value> CallBuiltin(Evaluator& evaluator, absl::string_view path, const CallArgs& args, Loc loc);
  virtual absl::StatusOr<Value> BuiltinValue(Evaluator& evaluator, absl::string_view path, Loc loc);
  // Of a path that BuiltinValue does not know, below "torch." and the like.
  virtual OutsideName LookUpName(absl::string_view path);
  // kernel[grid](args): kernel is kJitFunction (or kFunction of kind kKernel); grid a tuple, int, or callable. Returns what Python would (None).
  virtual absl::StatusOr<Value> Launch(Evaluator& evaluator, const Value& kernel, const Value& grid, const CallArgs& args, Loc loc);
  virtual void Print(absl::string_view line);  // print, static_print
  virtual void PrintError(absl::string_view text);  // print(..., file=sys.stderr), with its end
};

// How one parameter of a kernel is specialized.
struct ArgSpec {
  enum class Kind : uint8_t { kStatic, kTyped, kTuple, kDescriptor } kind = Kind::kStatic;
  Value value;                   // kStatic: constexpr value, None, an int equal to 1, a function, ...
  isa::Type type;                // kTyped: scalar number or pointer
  bool divisible_by_16 = false;  // kTyped
  std::vector<ArgSpec> items;    // kTuple; field names below for a named tuple
  std::string class_name;
  std::vector<std::string> field_names;
  isa::DType dtype = isa::DType::kF32;  // kDescriptor: element type, block shape, padding; gives base, shape (i32) and strides (i64) parameters
  isa::Shape block_shape;
  bool pad_nan = false;
};

struct SpecializationKey {
  std::vector<ArgSpec> args;  // one for each parameter of the function, in order
  ir::Options options;
};

struct Limits {
  int64_t max_steps = 200'000'000;    // instructions evaluated, host and kernel together
  int max_call_depth = 200;
  int64_t max_value_bytes = int64_t{2} << 30;  // held by lists, dicts, strings, objects
  int64_t max_tensor_bytes = 0;       // of all tensors that the program holds at once; 0: 7/8 of the machine's memory (DefaultTensorBytes)
  int64_t max_ir_ops = 2'000'000;
};

// What tensors may take where nobody says: 7/8 of the main memory of the machine.
int64_t DefaultTensorBytes();

// A program that ended by sys.exit or `raise SystemExit` is a status with its code as payload, and the text that it left with, if it was no number.
inline constexpr absl::string_view kExitPayload = "tilevm/exit";
inline constexpr absl::string_view kExitTextPayload = "tilevm/exit_text";

class Evaluator {
 public:
  // module and host outlive the evaluator; host may be null.
  Evaluator(const isa::Module* module, Host* host, Limits limits = {});
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  const isa::Module& module() const;

  // Runs every cell of unit 0 in order, as __main__. sys.exit(0) ends it well.
  absl::Status RunMain();
  // The value of a module-level name of unit 0; kNotFound if no cell, import or function of the module defines it. Assembly kernels (functions
  // of kind kKernel) are found by name too.
  absl::StatusOr<Value> Global(absl::string_view name);
  // Calls any callable value with static arguments, on the host.
  absl::StatusOr<Value> Call(const Value& callee, const CallArgs& args, Loc loc = {});

  // Partially evaluates a kernel: kFunction or kJitFunction. The result is verified typed IR before any pass.
  absl::StatusOr<ir::Kernel> Specialize(const Value& kernel, const SpecializationKey& key);

  // The plain function under jit, autotune and heuristics wrappers; error if it is not a kernel.
  absl::StatusOr<const isa::Function*> KernelFunction(const Value& kernel) const;

  // What the kernel and its helpers take from module level, as text: constexpr values and which functions. A kernel compiled with another text is
  // another kernel.
  std::string GlobalsKey(const Value& kernel);

  MemoryMeter* meter();  // of its values; with a MeterScope, values made outside count too

  // --- for Host implementations and specializer/elaborate -------------------------------------------------------------------------
  Host* host();
  // Python operations on static values (host meaning).
  absl::StatusOr<Value> GetAttr(const Value& object, absl::string_view name, Loc loc);
  absl::StatusOr<Value> Binary(isa::Op op, const Value& x, const Value& y, Loc loc);
  absl::StatusOr<Value> Index(const Value& object, const Value& subscript, Loc loc);
  absl::StatusOr<bool> Truth(const Value& value, Loc loc);
  absl::StatusOr<std::vector<Value>> Iterate(const Value& value, Loc loc);

  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_EVALUATOR_H_
