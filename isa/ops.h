// The op table (ops.def) as data: enum, codes, mnemonics, and each signature parsed into operands and results.
#ifndef TILEVM_ISA_OPS_H_
#define TILEVM_ISA_OPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tilevm::isa {

enum class Op : uint16_t {
#define OP(Enum, code, ...) k##Enum = code,
#include "isa/ops.def"
#undef OP
};

enum class Level : uint8_t { kStatic, kLibrary, kBytecode, kTyped, kMachine };
enum class Effect : uint8_t { kPure, kReads, kWrites, kReadsWrites, kControl, kDebug, kId };

enum class OperandKind : uint8_t {
  kValue,      // a register
  kStatic,     // '#': a register in open bytecode, an attribute in typed IR
  kImmediate,  // '@': Inst::imm
  kRegion,     // '^'
};

struct OperandSpec {
  absl::string_view name;
  OperandKind kind = OperandKind::kValue;
  bool optional = false;
  bool variadic = false;
  bool pointer = false;       // *T
  char letter = 'V';          // element type letter; V is any kind of value, M a machine resource
  absl::string_view shape;    // text between the brackets: "S", "...B,M,K"; empty if none is given
};

struct OpInfo {
  Op op;
  uint16_t code = 0;
  int since = 1;
  Level level;
  absl::string_view enum_name;  // "FloorDiv"
  absl::string_view mnemonic;
  absl::string_view signature;
  Effect effect;
  absl::string_view surface;  // space separated
  absl::string_view elab;
  absl::string_view summary;
  std::vector<OperandSpec> operands;  // in signature order, immediates and regions included
  std::vector<OperandSpec> results;   // one entry per result pattern; a variadic one stands for any number

  // Positions within `operands` of those that are registers in open bytecode (kValue and kStatic), in row order, save that a variadic
  // operand always comes last (device_print: prefix, hex, args...; reduce: axis, combine_fn, keep_dims, x...). Inst::operands follows it:
  // entry i is the register for operands[register_operands[i]], kNoReg if absent; a variadic operand takes all that is left.
  std::vector<int> register_operands;
  int min_registers = 0;   // leading registers that must be present
  bool variadic = false;   // the last register operand repeats
  bool has_immediate = false;
  int region_count = 0;
};

// What Inst::imm of an op means.
enum class ImmediateKind : uint8_t { kNone, kConstant, kString, kFunction, kCount };

const OpInfo& Info(Op op);                             // op must be valid
ImmediateKind ImmediateOf(Op op);
// Place in Inst::operands of the operand of that name (the first one of a variadic operand); -1 if the row has no such register operand.
int RegisterIndex(const OpInfo& info, absl::string_view name);
// Regions that an instruction has in open bytecode: the row's, but none for reduce, associative_scan and map_elementwise, whose function
// is an operand until it is elaborated.
int OpenRegionCount(Op op);
std::optional<Op> OpFromCode(uint16_t code);
std::optional<Op> OpFromMnemonic(absl::string_view mnemonic);
// "exp2", "libdevice.tanh", ".to": the op of that Triton spelling. The front end strips "tl.", "tl.math.", "triton.language." first.
std::optional<Op> OpFromSurface(absl::string_view surface);
absl::Span<const OpInfo> AllOps();  // in the order of ops.def

inline absl::string_view Mnemonic(Op op) { return Info(op).mnemonic; }
bool IsTerminator(Op op);  // yield, return, break, continue, raise, exit

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_OPS_H_
