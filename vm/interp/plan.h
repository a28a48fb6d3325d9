// What the interpreter executes: instructions, registers and the state of one running program.
//
// A Plan is one flat list of Inst; structured control flow became jumps, so a running program is nothing but a Frame (program counter, registers,
// loop counters) and can be set aside at any instruction and resumed.
//
// A register holds one value in one of four forms. Dense: elements in row-major order at `data`. The others are lazy, and take no work per
// element until something needs them dense:
//   splat   one element's bits for all lanes                               (floats)
//   affine  base + sum over dimensions of coef[d] * index[d]               (integers and pointers; exact, never wrapped; pointers in bytes)
//   box     1 where lo[d] <= index[d] < hi[d] for every dimension, else 0  (i1)
// So the pointers and masks of ordinary kernels are never materialised, and their loads and stores are row copies. Scalars are always dense.
//
// Registers are shared between values whose lives do not overlap, in classes of equal capacity, so that moving a dying value is a swap.
#ifndef TILEVM_VM_INTERP_PLAN_H_
#define TILEVM_VM_INTERP_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "isa/eval.h"
#include "isa/status.h"
#include "specializer/ir/kernel.h"
#include "vm/interp/interp.h"
#include "vm/kernels/kernels.h"

namespace tilevm::vm {

using RegId = uint32_t;
inline constexpr RegId kNoRegister = 0xffffffffu;

enum class Form : uint8_t { kDense, kSplat, kAffine, kBox };

// Shadow bits of a lane, checked mode.
inline constexpr uint8_t kShadowUninit = 1;   // derived from memory that was never written
inline constexpr uint8_t kShadowWrapped = 2;  // a signed 32-bit computation on the way wrapped

struct Register {
  std::byte* data = nullptr;
  uint8_t* shadow = nullptr;  // checked mode: one byte a lane, meaningful if `shadowed`
  Form form = Form::kDense;
  bool shadowed = false;
  int64_t base = 0;           // splat: bits; affine: the value at index 0
  union {
    int64_t coef[isa::kMaxRank];
    struct {
      int32_t lo[isa::kMaxRank];
      int32_t hi[isa::kMaxRank];
    } box;
  };

  Register() : coef{} {}
};

// A type as the instructions want it.
struct TypeInfo {
  isa::ElemType elem;
  isa::DType dtype = isa::DType::kI32;  // u64 for pointers
  int elem_bytes = 4;
  int pointee_bytes = 0;                // pointers
  int rank = 0;
  int64_t n = 1;
  int64_t shape[isa::kMaxRank] = {};
  int64_t stride[isa::kMaxRank] = {};   // row-major, in elements

  int64_t bytes() const { return n * elem_bytes; }
};
TypeInfo MakeTypeInfo(const isa::Type& type);

struct Operand {
  RegId reg = kNoRegister;
  const TypeInfo* type = nullptr;

  bool present() const { return reg != kNoRegister; }
};

struct Frame;
struct Inst;
using Handler = void (*)(Frame&, const Inst&);

// An elementwise op on arrays (vm/kernels). Binary ops have forms in which one operand is a single element.
struct ArrayKernel {
  int arity = 0;
  kernels::UnaryFn unary = nullptr;
  kernels::BinaryFn binary = nullptr, scalar_x = nullptr, scalar_y = nullptr;
  kernels::TernaryFn ternary = nullptr;

  void operator()(const void* a, const void* b, const void* c, void* out, int64_t n) const {
    if (arity == 2) {
      binary(a, b, out, n);
    } else if (arity == 1) {
      unary(a, out, n);
    } else {
      ternary(a, b, c, out, n);
    }
  }
};

struct MoveStep {
  RegId dst, src;
  bool swap;             // else copy
  const TypeInfo* type;
};

// A region that combines scalars, compiled to run on many lanes at once.
struct SubProgram {
  uint32_t begin = 0, end = 0;        // instructions [begin, end)
  std::vector<Operand> args, results; // capacity `lanes` elements each
  std::vector<Operand> captured_from, captured_to;  // scalars of the kernel that the region reads: splatted on entry
  int64_t lanes = 1;                  // most lanes of one run; 1 if the region has control flow
};

struct Inst {
  Handler fn = nullptr;
  absl::Span<const Operand> in, out;  // an absent optional operand has no register
  ArrayKernel kernel;
  int64_t imm[4] = {};
  uint32_t target = 0;                // jumps
  bool lanes = false;                 // part of a SubProgram: the element count is Frame::lanes
  isa::Op op = isa::Op::kConst;
  const ir::Op* source = nullptr;     // attributes
  const std::vector<MoveStep>* moves = nullptr;
  const SubProgram* sub = nullptr;
  const void* payload = nullptr;      // what the family's compile step made
  Loc loc;
};

struct RegisterPlan {
  int64_t capacity = 0;   // bytes, a multiple of 64
  int64_t lanes = 0;      // most elements: bytes of shadow
};

struct LoopInfo {
  Loc loc;
  bool may_wait = false;  // it may wait for another program (liveness.h)
  bool bounded = false;   // a for loop: it ends by itself
};

class Plan {
 public:
  std::string name;
  Loc loc;
  std::vector<Inst> code;
  std::vector<RegisterPlan> registers;
  std::vector<Operand> params;
  std::vector<std::string> param_names;
  std::vector<LoopInfo> loops;
  int64_t arena_bytes = 0;         // data of all registers
  int64_t shadow_bytes = 0;
  int64_t scratch_bytes = 0;       // working space of one op at a time
  bool may_wait = false;           // programs may have to give way to each other
  int min_access_bytes = 8;        // smallest element of any memory op
  bool prints = false;             // one thread, so that lines come in the order of programs
  bool makes_pointers = false;     // from numbers or memory: their targets need not be buffers of the launch

  // Owners of what instructions point to: deques, so that addresses hold.
  std::deque<TypeInfo> types;
  std::deque<std::vector<Operand>> operand_lists;
  std::deque<std::vector<MoveStep>> move_lists;
  std::deque<SubProgram> subs;
  std::deque<std::shared_ptr<const void>> payloads;
  std::shared_ptr<const ir::Kernel> kernel;  // the attributes live here
};

class Checker;
struct RunState;  // shared by all programs of a run

enum class Stop : uint8_t { kNone, kFinished, kFailed, kBlocked, kSlice };

struct LoopState {
  int64_t next = 0;
  int64_t step = 1;
  uint64_t remaining = 0;
  uint64_t version = 0;   // waiting loops: memory version and own writes when the iteration began
  uint64_t writes = 0;
};

inline constexpr int64_t kSliceBackEdges = 512;

// One running program.
struct Frame {
  const Plan* plan = nullptr;
  RunState* run = nullptr;
  Checker* check = nullptr;       // checked mode
  std::vector<Register> regs;
  std::vector<LoopState> loops;
  std::unique_ptr<std::byte[]> arena;
  std::byte* scratch = nullptr;
  uint32_t pc = 0;
  Stop stop = Stop::kNone;
  int64_t lanes = 1;              // SubProgram
  int64_t program[3] = {0, 0, 0};
  int64_t program_index = 0;
  int64_t fuel = 0;               // instructions left before the run's counter is asked
  int64_t ops = 0;
  uint64_t writes = 0;            // own changes of memory, kernels that may wait
  int64_t slice = 0;              // back edges left before others get a turn
  uint32_t waiting_loop = 0;
  uint64_t seen_version = 0;      // blocked: the memory version when the last iteration began
  absl::Status status;

  Register& reg(const Operand& operand) { return regs[operand.reg]; }
  void Fail(absl::Status s) {
    if (status.ok()) status = std::move(s);
    stop = Stop::kFailed;
  }
};

// --- registers (value.cc) ---
void Materialise(Register& reg, const TypeInfo& type);  // to dense
inline void EnsureDense(Register& reg, const TypeInfo& type) {
  if (reg.form != Form::kDense) Materialise(reg, type);
}
inline int64_t LaneCount(const Frame& frame, const Inst& inst, const TypeInfo& type) { return inst.lanes ? frame.lanes : type.n; }
// Fills n elements of elem_bytes with the low bytes of bits.
void FillElements(void* out, uint64_t bits, int elem_bytes, int64_t n);
// Element i of a dense register.
inline uint64_t ReadBits(const std::byte* data, int elem_bytes, int64_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, data + i * elem_bytes, elem_bytes);
  return bits;
}
inline void WriteBits(std::byte* data, int elem_bytes, int64_t i, uint64_t bits) { std::memcpy(data + i * elem_bytes, &bits, elem_bytes); }
int64_t ReadInt(const Register& reg, const TypeInfo& type);  // a dense integer scalar, extended by its sign
// out = a tile of one value, in the laziest form of its type.
void SetSplat(Register& out, const TypeInfo& type, uint64_t bits);
// The one value of all lanes, if the form shows it.
bool IsUniform(const Register& reg, const TypeInfo& type, uint64_t* bits);
bool BoxIsEmpty(const Register& reg, const TypeInfo& type);
bool BoxIsFull(const Register& reg, const TypeInfo& type);
bool FitsDType(isa::DType dtype, int64_t lo, int64_t hi);
// Smallest and largest value of an affine register; false if that overflows 64 bits.
bool AffineRange(const Register& reg, const TypeInfo& type, int64_t* lo, int64_t* hi);
void CopyRegister(Register& dst, const Register& src, const TypeInfo& type);

// --- checked mode (shadow.cc) ---
// Every lane of every result gets the or of all lanes of all operands: for ops where any input may reach any output.
void JoinAllShadow(Frame& frame, const Inst& inst);

// Copies elements out[linear] = in[sum of index[d] * in_stride[d]] over shape, row-major. Strides in elements.
void StridedCopy(void* out, const void* in, int elem_bytes, int rank, const int64_t* shape, const int64_t* in_stride);

// Runs instructions until the program stops (execute.cc).
void Execute(Frame& frame);
// Runs a subprogram once on `lanes` lanes: args are in place, results are left in the sub's registers.
void ExecuteSub(Frame& frame, const SubProgram& sub, int64_t lanes);

}  // namespace tilevm::vm

#endif  // TILEVM_VM_INTERP_PLAN_H_
