// Which operand of its row each argument of an instruction is: arguments stand in the order of the row, or carry the name of their operand.
// The assembler and the builder share these rules.
//
// Optional operands may be given by place or by name. In a row with a variadic operand they are given by name only; what the row has after the
// variadic operand is counted from the last positional argument. call, call_method and make_class take any name: a keyword argument.
#ifndef TILEVM_ISA_MATCH_OPERANDS_H_
#define TILEVM_ISA_MATCH_OPERANDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "isa/ops.h"

namespace tilevm::isa {

struct OperandMatch {
  std::vector<int> operands;  // for each argument, its place in OpInfo::operands; -1 for a keyword argument
  std::string fault;          // what is wrong, with the op's name; empty if nothing
  int fault_at = -1;          // the argument it is about; -1: the instruction
};

// names: "" for a positional argument; all positional ones come first. immediate_implied: the immediate may be left out (a count may anyway).
OperandMatch MatchOperands(const OpInfo& info, absl::Span<const absl::string_view> names, bool immediate_implied);

}  // namespace tilevm::isa

#endif  // TILEVM_ISA_MATCH_OPERANDS_H_
