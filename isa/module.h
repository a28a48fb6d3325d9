// The open program: what a .tbc holds, in memory.
//
// A Module is compiled once from source, before any argument is known. Its functions are structured SSA over untyped registers: an Inst reads
// registers and gives new ones; control flow is by regions (isa/ops.def says which op has which). Types, shapes, None-ness and strings are
// found when a function is specialized. docs/architecture.md explains how each construct of the language is expressed here.
//
// Registers are numbered per function, 0 .. reg_count-1: captured values first, then parameters, then in order of definition by a walk of the
// body (region arguments when their region is entered, results after the regions of their instruction). Every register is defined once. A
// region sees all registers defined before it in the enclosing regions; registers defined inside a region are not visible after it.
#ifndef TILEVM_ISA_MODULE_H_
#define TILEVM_ISA_MODULE_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/numeric/int128.h"
#include "isa/ops.h"
#include "isa/status.h"
#include "isa/types.h"

namespace tilevm::isa {

using Reg = uint32_t;
inline constexpr Reg kNoReg = 0xffffffffu;

using StringId = uint32_t;    // index into Module::strings
using ConstantId = uint32_t;  // index into Module::constants

struct Inst;

struct Region {
  std::vector<Reg> args;
  std::vector<Inst> body;  // the last one is a terminator
};

struct Inst {
  // Out of line (module.cc): smaller code wherever instructions are moved, and g++ 12 warns falsely of uninitialized memory otherwise.
  Inst();
  Inst(const Inst&);
  Inst(Inst&&) noexcept;
  Inst& operator=(const Inst&);
  Inst& operator=(Inst&&) noexcept;
  ~Inst();

  Op op = Op::kConst;
  // Registers of the row's value and static operands, in row order; kNoReg where an optional one is absent (trailing absent ones are
  // dropped). For call and call_method the last names.size() operands are keyword arguments; for make_class, attributes.
  absl::InlinedVector<Reg, 3> operands;
  absl::InlinedVector<Reg, 1> results;
  std::vector<Region> regions;  // as many as the row has
  // The row's '@' operand: ConstantId (const), StringId (names, messages), function index (make_function), or a count. 0 without one.
  uint32_t imm = 0;
  std::vector<StringId> names;
  Loc loc;
};

// One entry of the constant pool. Integers are Python's, within 128 bits.
struct Constant {
  enum class Kind : uint8_t {
    kNone = 0, kBool = 1, kInt = 2, kFloat = 3, kString = 4, kDType = 5, kEllipsis = 6,
    // A dotted name reached through an import: "triton.language.load", "torch.empty_like", "torch", "math.sqrt". The front end normalizes
    // aliases (tl -> triton.language). Triton functions that the op table knows are ops where they are called; as values they are this.
    kBuiltin = 7,
  };
  Kind kind = Kind::kNone;
  absl::int128 int_value = 0;   // kBool (0/1), kInt
  double float_value = 0;       // kFloat
  std::string string_value;     // kString, kBuiltin
  DType dtype = DType::kI32;    // kDType
};

enum class ParamKind : uint8_t { kPlain = 0, kKeywordOnly = 1, kPositionalOnly = 2, kVarArgs = 3, kVarKeywords = 4 };

struct Param {
  std::string name;
  ParamKind kind = ParamKind::kPlain;
  bool is_constexpr = false;   // annotated tl.constexpr, in any of its spellings
  bool has_default = false;    // the value is an operand of make_function
  std::string annotation;      // other annotation: a type in our spelling ("i64", "ptr<f32>", "f32"), else the source text; "" without
  Loc loc;
};

enum class FunctionKind : uint8_t {
  kPlain = 0,   // def or lambda: host code, or a kernel once triton.jit is applied to it
  kKernel = 1,  // a kernel by itself (assembly, builder): no decorator, no defaults, no captures
  kCell = 2,    // a top-level statement: no parameters, sets globals
};

struct Function {
  std::string name;            // "softmax_kernel", "<lambda>", "" for a cell
  FunctionKind kind = FunctionKind::kPlain;
  uint32_t unit = 0;           // index into Module::units: where its globals are looked up
  std::vector<StringId> captures;  // names of captured values (registers 0..)
  std::vector<Param> params;
  Region body;                 // args: captures then params
  uint32_t reg_count = 0;
  Loc loc;
};

// A top-level statement. Cells run in order when a file runs as __main__; a global that is asked for alone runs just the cells that define it.
struct Cell {
  uint32_t function = 0;
  std::vector<StringId> defines;  // names it may set
};

// import X.Y as Z: Z -> "X.Y". Takes no code. A sibling file's name maps to its unit ("unit:3") or to a name in it ("unit:3.name").
struct Import {
  StringId name = 0;
  StringId path = 0;
};

// One source file's namespace.
struct Unit {
  std::string name;  // dotted module name; "__main__" for the file itself
  uint32_t file = 0; // index into Module::files
  std::vector<Import> imports;
  std::vector<Cell> cells;
};

struct Module {
  std::vector<std::string> strings;    // unique
  std::vector<Constant> constants;     // unique
  std::vector<Function> functions;
  std::vector<Unit> units;             // units[0] is the file itself
  std::vector<SourceFile> files;       // text may be stripped

  StringId InternString(absl::string_view text);
  ConstantId InternConstant(const Constant& constant);
  // Index of the function of that name in unit 0 (the last one, if several); -1 if there is none.
  int FindFunction(absl::string_view name) const;

 private:
  // Side tables of the two Intern functions, brought up to date lazily: entries may also be appended to the vectors directly.
  std::unordered_map<std::string, StringId> string_ids_;
  std::unordered_map<std::string, ConstantId> constant_ids_;
  size_t indexed_strings_ = 0;
  size_t indexed_constants_ = 0;
};

bool SameConstant(const Constant& a, const Constant& b);  // floats by their bits

// Structural equality; locations, files and source text do not count.
bool SameProgram(const Module& a, const Module& b);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_MODULE_H_
