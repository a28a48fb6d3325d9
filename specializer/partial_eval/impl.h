// Inside of the evaluator: the walk over open bytecode, shared by the families of files here.
//
//   value.cc            what a register holds            value_text.cc      how it prints    value_equal.cc  ==, hashes, tables of pairs
//   python_format.cc    Python's text of numbers and strings
//   python_ops.cc       operators on static values       python_index.cc    truth, subscripts, len               augment.cc  x += y
//   python_hash.cc      hash(), keys of dicts and sets   iterator.cc        iterators: for, next(), map, ...     itertools.cc
//   python_repr.cc      repr(), str()
//   python_methods.cc   str, list, dict, tuple methods   python_builtins.cc range, len, sorted, ...   math_builtins.cc  math.*
//   library_builtins.cc functools, dataclasses, copy, ...     collections_builtins.cc     json_builtins.cc
//   classes.cc          classes, instances, exceptions   attributes.cc      getattr, setattr
//   triton_builtins.cc  jit, autotune, Config, cdiv      triton_types.cc    attributes of dtypes              triton_names.cc
//   evaluator.cc        the public door                  cells.cc           module-level names                modules.cc  what there is to import
//   walk.cc             one instruction                  control.cc         host control flow
//   calls.cc            calls and argument binding       op_calls.cc        calls that are ops of the table
//   kernel_if.cc, kernel_loop.cc, kernel_block.cc        dynamic control flow        specialize.cc  parameters, the whole kernel
//   generator.cc        host functions that yield
//
// Two modes, by frame: a *host* frame computes; a *kernel* frame emits typed ops into `kernel_state_` for whatever is not static. Recursion of
// the walk is bounded by call depth and by the native stack that is left.
#ifndef TILEVM_SPECIALIZER_PARTIAL_EVAL_IMPL_H_
#define TILEVM_SPECIALIZER_PARTIAL_EVAL_IMPL_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "isa/module.h"
#include "isa/status.h"
#include "specializer/elaborate/elaborate.h"
#include "specializer/ir/builder.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/partial_eval/value.h"

namespace tilevm::specializer {

enum class Flow : uint8_t { kYield, kReturn, kBreak, kContinue };

// How a region ended, and with which values (a return has exactly one).
struct Outcome {
  Flow flow = Flow::kYield;
  std::vector<Value> values;
  Loc loc;
  const isa::Inst* terminator = nullptr;
};

// A block of the typed IR that exits may leave: a function body, a loop, one iteration. The first exit (or the loop's carried values) fixes the
// structure and types of what leaves; every other way out has to agree.
struct ExitTarget {
  int token = 0;                       // attribute of the block until specialize.cc turns tokens into depths
  bool used = false;
  bool has_shape = false;
  std::vector<Value> skeleton;         // static parts as they are; tensors stand for their types
  Loc loc;                             // of the first exit
  absl::string_view here = "at this return";         // words for messages: where a value leaves,
  absl::string_view there = "at the first return";   // and what it is compared with
  std::vector<std::string> names;      // of the values, if they have names
  std::vector<bool>* bound = nullptr;  // of a loop: see LoosenChanged
};

// A loop evaluates its body with carried static numbers static; one that comes back changed is marked in `bound` and the loop is done again.
void LoosenChanged(std::vector<bool>& bound, size_t place, const Value& expected, Value& value);
class CarriedValues;
class GeneratorObject;

// What is known of a function's text, found once.
struct FunctionInfo {
  std::vector<const isa::Inst*> definition;  // by register; null for parameters and region arguments
  bool has_nested_return = false;            // a return inside a region of an if or a loop
  bool is_generator = false;
};

struct Frame {
  const isa::Function* function = nullptr;
  const FunctionInfo* info = nullptr;
  bool kernel = false;
  std::vector<Value> registers;
  ExitTarget* return_target = nullptr;    // kernel mode, null if no exit can occur
  ExitTarget* break_target = nullptr;     // of the innermost loop
  ExitTarget* continue_target = nullptr;
  std::vector<std::pair<isa::StringId, const isa::Inst*>> bound;  // kernel mode: names in scope and what bound them
  Loc call_loc;
};

// The kernel under construction.
struct KernelState {
  explicit KernelState(Evaluator& evaluator) : builder(&kernel), elaborator{builder, evaluator, nullptr} {}
  ir::Kernel kernel;
  ir::Builder builder;
  Elaborator elaborator;
  int next_token = 1;
};

// A decorator waiting for its function, functools.partial: a callee with arguments already given.
struct PartialObject : HostObject {
  Value callee;
  CallArgs args;
  std::string type_name() const override { return "functools.partial"; }
  absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& more, Loc loc) override;
};

// staticmethod, classmethod, property around a function, in a class body.
struct MethodWrapper : HostObject {
  enum class Kind { kStatic, kClass, kProperty, kCachedProperty, kAbstract } kind = Kind::kStatic;  // kAbstract: until its class is made
  Value function;
  Value setter;  // of a property, or absent
  std::string type_name() const override { return kind == Kind::kStatic ? "staticmethod" : kind == Kind::kClass ? "classmethod" : "property"; }
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override;  // p.setter
  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override;
  absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& args, Loc loc) override;
};

// functools.lru_cache around a function: results by their arguments, the oldest forgotten first.
struct CacheObject : HostObject {
  Value function;
  Value results = MakeDict({});
  int64_t most = -1;  // results that are kept; -1: all
  int64_t hits = 0, misses = 0;
  std::string type_name() const override { return "functools._lru_cache_wrapper"; }
  absl::StatusOr<Value> Call(Evaluator& evaluator, const CallArgs& args, Loc loc) override;
  absl::StatusOr<Value> CallMethod(Evaluator& evaluator, absl::string_view name, const CallArgs& args, Loc loc) override;
  absl::StatusOr<Value> GetAttr(Evaluator& evaluator, absl::string_view name, Loc loc) override;
};

class Evaluator::Impl {
 public:
  Impl(Evaluator* self, const isa::Module* module, Host* host, Limits limits);
  ~Impl();  // ends the generators that are left

  Evaluator& self() { return *self_; }
  const isa::Module& module() const { return *module_; }
  Host& host() { return *host_; }
  const std::string& String(isa::StringId id) const { return module_->strings[id]; }

  // Output of print; the host gets whole lines, text without a newline waits for the rest of its line.
  void PrintText(absl::string_view text, absl::string_view end);
  void FlushPrint();

  // --- cells.cc: module-level names ---
  absl::Status RunMain();
  // kNotFound if the unit has no such name.
  absl::StatusOr<Value> UnitGlobal(uint32_t unit, absl::string_view name, Loc loc);
  // What `global name` means in a function of that unit: unit, imports, then Python's builtins; in a kernel with Triton's restrictions.
  absl::StatusOr<Value> LookUpName(uint32_t unit, absl::string_view name, bool kernel, Loc loc);
  // A module-level value as a kernel may read it; an error for a plain number.
  absl::StatusOr<Value> KernelGlobal(const Value& value, absl::string_view name, Loc loc) const;
  absl::Status SetGlobal(uint32_t unit, absl::string_view name, Value value);
  std::vector<std::string> UnitNames(uint32_t unit) const;
  // Of a path of the outside or of a sibling file.
  absl::StatusOr<Value> ImportedValue(const std::string& path, Loc loc);

  // --- modules.cc ---
  // Does a dotted name of the outside mean anything? Else an AttributeError or a ModuleNotFoundError.
  absl::Status CheckKnown(const std::string& path, Loc loc);
  // An AttributeError for a name that torch or triton does not have. What they have, and what is read of other modules, stays a name.
  absl::Status CheckSpelling(const std::string& path, Loc loc);
  // An error if it is such a name without a meaning here, which can be neither compared nor printed. A dtype of torch is equal to itself alone.
  absl::Status CheckMeaning(const Value& value, Loc loc);
  bool IsListed(const Value& value) const;   // a function, class or namespace that torch has by that name
  std::string GlobalsKey(const Value& kernel);

  // --- walk.cc ---
  absl::StatusOr<Outcome> RunRegion(Frame& frame, const isa::Region& region);
  absl::Status RunInst(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome);
  absl::StatusOr<Value> Read(Frame& frame, isa::Reg reg, Loc loc);          // an unbound name is an error
  const Value& Raw(Frame& frame, isa::Reg reg) { return frame.registers[reg]; }
  absl::StatusOr<std::vector<Value>> ReadAll(Frame& frame, absl::Span<const isa::Reg> regs, Loc loc);
  std::vector<Value> RawAll(Frame& frame, absl::Span<const isa::Reg> regs);
  void Define(Frame& frame, isa::Reg reg, Value value) { frame.registers[reg] = std::move(value); }
  const FunctionInfo& InfoOf(const isa::Function& function);
  std::string NameOfRegister(Frame& frame, isa::Reg reg) const;
  Loc LocOfRegister(Frame& frame, isa::Reg reg, Loc otherwise) const;
  Value ConstantValue(isa::ConstantId id);
  absl::Status CountStep(Loc loc, int64_t steps = 1);
  absl::Status CheckStack(Loc loc) const;
  absl::Status CheckText(size_t bytes, Loc loc) const;                      // python_repr.cc: of a string that is being made

  // --- control.cc: control ops; the dynamic forms are in kernel_*.cc ---
  absl::Status RunIf(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome);
  absl::Status RunTernary(Frame& frame, const isa::Inst& inst);
  absl::Status RunAndOr(Frame& frame, const isa::Inst& inst);
  absl::Status RunNot(Frame& frame, const isa::Inst& inst);
  absl::Status RunFor(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome);
  absl::Status RunWhile(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome);
  absl::Status RunCollect(Frame& frame, const isa::Inst& inst);
  absl::StatusOr<Value> LazyCollect(const Frame& frame, const isa::Inst& inst, const Value& iterable);
  absl::Status RunAssert(Frame& frame, const isa::Inst& inst);
  absl::Status RunTry(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome);
  absl::Status RunWith(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome);
  absl::Status AfterException(Frame& frame, const isa::Inst& inst);
  absl::Status RunRaise(Frame& frame, const isa::Inst& inst);
  absl::Status RaiseAgain(Loc loc);
  absl::Status RunUnpack(Frame& frame, const isa::Inst& inst);
  absl::Status DefineResults(Frame& frame, const isa::Inst& inst, std::vector<Value> values);
  // A value of a region that yields one (conditions, operands of and/or, messages).
  absl::StatusOr<Value> RunValueRegion(Frame& frame, const isa::Region& region);

  // --- kernel_if.cc, kernel_loop.cc, kernel_block.cc: dynamic control flow ---
  absl::Status DynamicIf(Frame& frame, const isa::Inst& inst, const Value& condition, std::optional<Outcome>& outcome);
  absl::Status DynamicFor(Frame& frame, const isa::Inst& inst, const RangePayload& range, std::optional<Outcome>& outcome);
  absl::Status DynamicWhile(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome);
  absl::Status CarryLoop(Frame& frame, const isa::Inst& inst, absl::Span<const isa::Reg> inits,
                         absl::FunctionRef<absl::StatusOr<std::vector<ir::ValueId>>(CarriedValues&, ExitTarget& break_target, ExitTarget& continue_target)> emit);
  // Unrolls over items. In kernels a break or continue under a dynamic if leaves through exits.
  absl::Status StaticFor(Frame& frame, const isa::Inst& inst, const std::vector<Value>& items, std::optional<Outcome>& outcome);
  // A loop of host code over what `next` gives until it gives nothing.
  absl::Status HostFor(Frame& frame, const isa::Inst& inst, std::optional<Outcome>& outcome,
                       absl::FunctionRef<absl::StatusOr<std::optional<Value>>()> next);

  // Emits the exit that leaves target with these values, at the insertion point.
  absl::Status EmitExit(ExitTarget& target, std::vector<Value> values, Loc loc);
  // The exit for a flow that leaves the current region by itself (return, break, continue).
  absl::Status EmitFlowExit(Frame& frame, Outcome end);
  // Turns static numbers into strong tensors, deep in tuples; everything else stays.
  absl::StatusOr<Value> Materialize(const Value& value, Loc loc);
  // Makes `value` agree with `expected` (numbers become tensors) or says how they differ.
  struct Agreement {
    absl::string_view name;      // of the variable, "" without one
    absl::string_view here;      // "at the end of the loop's body"
    absl::string_view there;     // "before the loop"
    Loc loc, expected_loc;
  };
  absl::Status Conform(const Value& expected, Value& value, const Agreement& agreement);
  absl::Status Disagree(const Value& expected, const Value& value, const Agreement& agreement) const;
  // Runs `body` into a fresh region. If an exit left through target (or `always_natural` and the region ended otherwise), the region becomes a
  // block that yields target's skeleton, and the outcome is `natural` with the block's results; else its ops go to the insertion point.
  absl::StatusOr<Outcome> InBlock(Frame& frame, ExitTarget& target, Flow natural, bool always_natural, Loc loc,
                                  absl::FunctionRef<absl::StatusOr<Outcome>()> body);
  void EmitYield(absl::Span<const ir::ValueId> ids, Loc loc);
  // Gives the exits of a finished kernel the depths of their blocks.
  absl::Status ResolveExits(ir::Region& region, std::vector<int64_t>& blocks) const;
  std::string Describe(const Value& value) const;   // for messages: a type, or a static value

  // --- calls.cc ---
  absl::Status RunCall(Frame& frame, const isa::Inst& inst);
  absl::Status RunCallMethod(Frame& frame, const isa::Inst& inst);
  absl::StatusOr<CallArgs> GatherArgs(Frame& frame, absl::Span<const isa::Reg> regs, absl::Span<const isa::StringId> names, Loc loc);
  absl::StatusOr<Value> CallValue(const Value& callee, const CallArgs& args, bool kernel, Loc loc);
  absl::StatusOr<Value> CallMethodOf(const Value& object, absl::string_view name, const CallArgs& args, bool kernel, Loc loc);
  absl::StatusOr<Value> CallFunction(const FunctionPayload& function, const CallArgs& args, bool kernel, Loc loc);
  absl::StatusOr<std::vector<Value>> BindArguments(const FunctionPayload& function, const CallArgs& args, Loc loc);
  absl::StatusOr<Value> RunFunction(const FunctionPayload& function, std::vector<Value> params, bool kernel, Loc loc);
  absl::StatusOr<Value> CallBuiltin(const std::string& path, const CallArgs& args, bool kernel, Loc loc);
  // Python's `f(*args, **keywords)` on the host.
  absl::StatusOr<Value> CallHost(const Value& callee, std::vector<Value> args, Loc loc);

  // --- op_calls.cc: ops of the table with register operands in row order ---
  absl::StatusOr<Value> RunRowOp(isa::Op op, std::vector<Value> operands, bool kernel, Loc loc);
  absl::StatusOr<Value> CallSurface(isa::Op op, absl::string_view surface, const CallArgs& args, bool kernel, Loc loc);
  absl::StatusOr<std::vector<Value>> MatchOperands(isa::Op op, absl::string_view surface, const CallArgs& args, Loc loc);
  absl::StatusOr<Value> KernelPrint(const CallArgs& args, Loc loc);
  absl::StatusOr<Value> KernelMinMax(isa::Op op, const CallArgs& args, Loc loc);
  absl::StatusOr<Value> StaticAssert(const Value& condition, const Value& message, Loc loc);

  // --- python_ops.cc, python_index.cc ---
  absl::StatusOr<Value> Binary(isa::Op op, const Value& x, const Value& y, Loc loc);
  absl::StatusOr<Value> Unary(isa::Op op, const Value& x, Loc loc);
  absl::StatusOr<Value> Augment(isa::Op op, const Value& x, const Value& y, Loc loc);  // augment.cc: x op= y on the host, op is iadd, isub, ...
  absl::StatusOr<Value> CompareValues(isa::Op op, const Value& x, const Value& y, Loc loc);
  absl::StatusOr<bool> LessThan(const Value& x, const Value& y, Loc loc);
  absl::StatusOr<bool> Equals(const Value& x, const Value& y, Loc loc);
  absl::StatusOr<bool> Contains(const Value& container, const Value& item, Loc loc);
  bool Identical(const Value& x, const Value& y) const;
  absl::StatusOr<bool> Truth(const Value& value, Loc loc);
  absl::StatusOr<std::vector<Value>> Iterate(const Value& value, Loc loc);  // iterator.cc, like the two below
  absl::StatusOr<Value> IteratorOf(const Value& value, Loc loc);            // iter(value)
  // Until `visit` gives false.
  absl::Status ForEach(const Value& iterable, Loc loc, absl::FunctionRef<absl::StatusOr<bool>(const Value& item)> visit);
  absl::StatusOr<Value> Index(const Value& object, const Value& subscript, Loc loc);
  absl::Status SetItem(const Value& object, const Value& subscript, const Value& value, Loc loc);
  absl::Status DeleteItem(const Value& object, const Value& subscript, Loc loc);
  absl::StatusOr<int64_t> Length(const Value& value, Loc loc);
  absl::StatusOr<Value> AsIndex(const Value& value, Loc loc);   // what __index__ gives, inside a slice too; anything else as it is
  absl::StatusOr<std::string> ToStr(const Value& value, Loc loc);    // str(), __str__ honoured
  absl::StatusOr<std::string> ToRepr(const Value& value, Loc loc);

  // --- python_hash.cc: dicts and sets ---
  absl::StatusOr<uint64_t> HashOf(const Value& value, Loc loc);
  absl::StatusOr<std::optional<size_t>> FindKey(const PairTable& table, const Value& key, Loc loc);
  absl::StatusOr<std::optional<size_t>> FindKey(const PairTable& table, const Value& key, uint64_t hash, Loc loc);
  absl::StatusOr<std::optional<Value>> DictGet(const Value& dict, const Value& key, Loc loc);
  absl::Status DictPut(const Value& dict, const Value& key, const Value& value, Loc loc);
  absl::StatusOr<bool> SetAdd(const Value& set, const Value& item, Loc loc);  // was it new?
  absl::StatusOr<Value> SetOf(const Value& iterable, bool frozen, Loc loc);
  bool HasFlag(const Value& type, absl::string_view name) const;              // a class attribute that is True
  std::optional<Value> DataFields(const Value& instance) const;               // of a dataclass that compares by its fields: them as a tuple
  std::optional<Value> EnumNumber(const Value& value) const;                  // of a member of an enum that is also an int or a str: its value

  // --- attributes.cc, classes.cc ---
  absl::StatusOr<Value> GetAttr(const Value& object, absl::string_view name, bool kernel, Loc loc);
  absl::Status SetAttr(const Value& object, absl::string_view name, const Value& value, Loc loc, bool by_object = false);  // object.__setattr__
  absl::StatusOr<bool> SetByClass(const Value& object, absl::string_view name, const Value& value, Loc loc);
  absl::Status DeleteAttr(const Value& object, absl::string_view name, Loc loc);
  absl::StatusOr<Value> MakeClass(absl::string_view name, std::vector<Value> bases, std::vector<std::pair<std::string, Value>> attributes, Loc loc);
  absl::Status MakeMembers(const Value& type, Loc loc);   // of an enum
  absl::StatusOr<Value> Instantiate(const Value& type, const CallArgs& args, Loc loc);
  absl::Status CheckInstantiable(const Value& type, Loc loc) const;
  // The attribute in the class or its bases; null if there is none.
  const Value* FindInClass(const Value& type, absl::string_view name) const;
  // Calls instance.__name__(args) if its class has one.
  absl::StatusOr<std::optional<Value>> CallDunder(const Value& object, absl::string_view name, std::vector<Value> args, Loc loc);
  absl::StatusOr<bool> IsInstance(const Value& value, const Value& type, bool kernel, Loc loc);
  bool IsSubclass(const Value& type, const Value& base) const;
  absl::Status RaiseValue(const Value& exception, Loc loc);   // always an error
  absl::StatusOr<Value> InstanceAttr(const Value& instance, absl::string_view name, Loc loc);
  absl::StatusOr<Value> ClassAttr(const Value& type, absl::string_view name, Loc loc);
  absl::StatusOr<Value> FromDescriptor(const Value& found, const Value& instance, const Value& type, Loc loc);
  bool HasBase(const Value& type, absl::string_view path) const;   // a builtin of that path among its bases, at any depth
  Value ExceptionOf(const absl::Status& status);
  void ForgetPending() { pending_ = Value(); }   // the exception behind an error that is dealt with
  void SetPending(const Value& exception, const absl::Status& error) {   // an error goes on its way again
    pending_ = exception;
    pending_message_ = std::string(error.message());
  }
  int64_t IdOf(const Value& value);
  Value TypeNamed(std::string path) { return Value::Builtin(*type_names_.insert(std::move(path)).first); }  // what type() gives

  // --- methods of static values: python_methods.cc, triton_types.cc ---
  // kNotFound status (no payload) if the kind has no such method.
  absl::StatusOr<Value> CallPythonMethod(const Value& object, absl::string_view name, const CallArgs& args, Loc loc);
  bool HasPythonMethod(const Value& object, absl::string_view name) const;
  // "builtins.str.lower" and the like: a method as a function of its object.
  bool IsTypeFunction(absl::string_view path) const;

  // --- kernels ---
  absl::StatusOr<ir::Kernel> Specialize(const Value& kernel, const SpecializationKey& key);
  absl::StatusOr<Value> ArgumentOf(const ArgSpec& spec, const std::string& name, int source_index, Loc loc);
  absl::StatusOr<const FunctionPayload*> UnderlyingFunction(const Value& kernel, Loc loc) const;
  KernelState& kernel_state() { return *kernel_state_; }
  MemoryMeter* meter() { return meter_; }
  bool builtin_in_kernel() const { return thread_.builtin_in_kernel; }
  bool in_kernel() const { return kernel_state_ != nullptr; }
  const ir::Kernel* kernel_or_null() const { return kernel_state_ ? &kernel_state_->kernel : nullptr; }
  std::string NameOfType(const Value& value) const { return TypeName(value, kernel_or_null()); }
  // Depth and stack bookkeeping of a public call.
  class EntryScope;

  // --- generator.cc ---
  // What belongs to the native stack that the walk is on: the program's own, or that of a generator's body.
  struct Thread {
    char* stack_limit = nullptr;      // the walk refuses to go below
    int call_depth = 0;
    Value handled;                    // the exception that an except clause is handling, for a bare raise,
    absl::Status handled_error;       // and the error that it was, with its place
    bool builtin_in_kernel = false;   // the native builtin that runs was called by a kernel frame
  };
  void SetStackLimit();               // of the thread that asks
  absl::StatusOr<Value> MakeGenerator(const FunctionPayload& function, std::vector<Value> params, Loc loc);
  const Value& generator() const { return generator_; }

 private:
  friend class EntryScope;
  friend class GeneratorObject;

  struct CellState {
    enum class Phase : uint8_t { kFresh, kRunning, kDone, kFailed } phase = Phase::kFresh;
    absl::Status error;
  };
  struct UnitState {
    absl::flat_hash_map<std::string, Value> globals;
    std::vector<CellState> cells;
    absl::flat_hash_map<std::string, std::vector<uint32_t>> definers;  // name -> cells, in order
    absl::flat_hash_map<std::string, std::string> imports;             // name -> path
    std::vector<std::string> stars;                                    // paths of `from path import *`
    int running_cell = -1;  // the innermost cell of this unit that is being run
  };
  absl::Status RunCell(uint32_t unit, uint32_t cell);
  // Adds the cell to the definers of the lists and dicts that its code changes in place (`configs.append(...)`).
  void NoteMutations(uint32_t unit, uint32_t cell, const isa::Region& region, absl::flat_hash_map<isa::Reg, isa::StringId>& globals);
  std::optional<absl::StatusOr<Value>> StarValue(uint32_t unit, absl::string_view name, Loc loc);
  bool Exists(const std::string& path, Loc loc);   // something here has a meaning for it
  absl::flat_hash_set<std::string> type_names_;    // that type() gave
  int import_chain_ = 0;  // ImportedValue calls that wait for each other

  Evaluator* const self_;
  const isa::Module* const module_;
  Host default_host_;
  Host* host_;
  const Limits limits_;

  std::vector<UnitState> units_;
  std::string unfinished_line_;  // of print(..., end="")
  bool running_main_ = false;
  std::vector<std::optional<Value>> constants_;
  absl::flat_hash_map<const isa::Function*, std::unique_ptr<FunctionInfo>> infos_;
  std::unique_ptr<KernelState> kernel_state_;
  std::vector<const isa::Function*> kernel_calls_;  // inlining stack, for recursion
  std::map<uint32_t, std::vector<std::string>> kernel_globals_;  // GlobalsKey: names that a function's text reads
  Thread thread_;            // of the one that runs
  Value pending_;            // the exception value behind the error on its way, if a raise made it,
  std::string pending_message_;  // and the message of that error
  Value generator_;                          // what the body that starts belongs to
  std::set<GeneratorObject*> generators_;    // that have begun and are not over
  int64_t steps_ = 0;
  int entries_ = 0;
  MemoryMeter* const meter_;
  absl::flat_hash_map<const Payload*, int64_t> ids_;  // what id() gave
};

// Native builtins, by dotted path. Python's own are "builtins.len" and so on.
using BuiltinFunction = absl::StatusOr<Value> (*)(Evaluator::Impl& impl, const CallArgs& args, Loc loc);
BuiltinFunction FindBuiltin(absl::string_view path);
// Constants by dotted path: math.pi, triton.language.float32.
std::optional<Value> FindBuiltinValue(absl::string_view path);
// "triton.language.math.exp2" -> "triton.language.exp2", any path to libdevice -> "libdevice.x".
std::string NormalizePath(absl::string_view path);
bool IsPythonBuiltin(absl::string_view name);
bool IsExceptionName(absl::string_view name);

struct BuiltinRow {
  absl::string_view path;
  BuiltinFunction function;
};
absl::Span<const BuiltinRow> PythonBuiltins();   // python_builtins.cc
absl::Span<const BuiltinRow> SequenceBuiltins(); // sequence_builtins.cc
absl::Span<const BuiltinRow> IteratorBuiltins(); // itertools.cc
absl::Span<const BuiltinRow> MathBuiltins();     // math_builtins.cc
absl::Span<const BuiltinRow> LibraryBuiltins();  // library_builtins.cc
absl::Span<const BuiltinRow> CollectionBuiltins();  // collections_builtins.cc
absl::Span<const BuiltinRow> JsonBuiltins();     // json_builtins.cc
absl::Span<const BuiltinRow> TritonBuiltins();   // triton_builtins.cc
std::vector<absl::Span<const BuiltinRow>> AllBuiltins();
// Methods of collections' own dicts, with the dict as first argument; null if it is no such method.
BuiltinFunction FindCollectionMethod(const Value& object, absl::string_view name);
absl::StatusOr<std::optional<Value>> CombineCounters(Evaluator::Impl& impl, isa::Op op, const Value& x, const Value& y, Loc loc);  // nullopt: they are none
absl::StatusOr<Value> ImportedBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);  // modules.cc
absl::StatusOr<Value> NewObjectBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc); // classes.cc
absl::StatusOr<Value> CausedBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);    // classes.cc
absl::StatusOr<Value> SuperBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);     // classes.cc
absl::StatusOr<Value> CellBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);     // modules.cc
absl::StatusOr<Value> FindSpecBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);  // modules.cc
// generator.cc
absl::StatusOr<Value> NewGeneratorBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);
absl::StatusOr<Value> YieldBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);
absl::StatusOr<Value> SuppressBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);
absl::StatusOr<Value> NullContextBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);
absl::StatusOr<Value> ContextManagerBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);
// nn_module.cc: methods of instances of torch.nn.Module, with the instance as first argument; null if it is no such method. And module(...).
BuiltinFunction FindModuleMethod(const Evaluator::Impl& impl, const Value& object, absl::string_view name);
absl::StatusOr<Value> CallModule(Evaluator::Impl& impl, const Value& module, const CallArgs& args, bool kernel, Loc loc);
// The error of a with's body goes into the generator behind the context, if there is one; nullopt if not.
std::optional<absl::Status> CloseContext(Evaluator::Impl& impl, const Value& context, const absl::Status& error, Loc loc);
absl::StatusOr<Value> SliceBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);     // python_index.cc
absl::StatusOr<Value> SliceIndices(const Value& slice, int64_t size, Loc loc);                // python_index.cc: slice.indices(size)
absl::StatusOr<Value> ExitBuiltin(Evaluator::Impl& impl, const CallArgs& args, Loc loc);      // modules.cc

OutsideName LookUpTritonName(absl::string_view path);  // triton_names.cc

// Attributes and methods of dtypes, pointer types and block types (triton_types.cc).
absl::StatusOr<Value> TypeAttribute(const Value& type, absl::string_view name, Loc loc);
bool IsTypeMethod(absl::string_view name);
absl::StatusOr<Value> CallTypeMethod(const Value& type, absl::string_view name, const CallArgs& args, Loc loc);

// The op that is a method of tensors by that name; functions of tl that are methods too, where the table's surface column lists them alone.
std::optional<isa::Op> TensorMethod(absl::string_view name);

// A tuple in a kernel is copied whenever it grows: a limit keeps that from taking forever.
inline constexpr size_t kMaxKernelTuple = 1024;
absl::Status CheckTupleSize(const Value& value, Loc loc);

// iadd -> add; nullopt if the op is no augmented assignment.
std::optional<isa::Op> PlainOperator(isa::Op op);

inline constexpr size_t kMaxSequence = size_t{1} << 22;   // items of a list or tuple that one operation may make

// --- small helpers ---
inline Value Unboxed(const Value& value) { return value.is(ValueKind::kConstexpr) ? value.As<BoxPayload>()->inner : value; }
Value Boxed(ValueKind kind, Value inner);
bool IsTyped(const Value& value);           // tensor, block pointer, descriptor
bool ContainsTyped(const Value& value);     // deep in tuples and lists
absl::StatusOr<int64_t> ToIndex(const Value& value, absl::string_view what, Loc loc);
const Value* FindKeyword(const CallArgs& args, absl::string_view name);
// Positional or keyword argument number i called name; kAbsent without.
Value Argument(const CallArgs& args, size_t i, absl::string_view name);
// Error unless there are between least and most positional arguments and all keywords are among those named.
absl::Status CheckArguments(const CallArgs& args, absl::string_view function, size_t least, size_t most, Loc loc,
                            std::initializer_list<absl::string_view> keywords = {});
void FlattenTensors(const Value& value, std::vector<ir::ValueId>& ids);
Value MapTensors(const Value& value, absl::FunctionRef<ir::ValueId(ir::ValueId)> map);

}  // namespace tilevm::specializer

#endif  // TILEVM_SPECIALIZER_PARTIAL_EVAL_IMPL_H_
