// Assembles the body of one function: instructions, regions, registers and their scopes.
#ifndef TILEVM_FRONTENDS_ASM_FUNCTION_ASSEMBLER_H_
#define TILEVM_FRONTENDS_ASM_FUNCTION_ASSEMBLER_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "frontends/asm/cursor.h"
#include "frontends/asm/lexer.h"
#include "isa/module.h"

namespace tilevm::assembly {

// "add" and "3" of $add and $3; a name that two functions have is kAmbiguous.
inline constexpr int kAmbiguousLabel = -1;
using FunctionLabels = std::unordered_map<std::string, int>;

class FunctionAssembler {
 public:
  FunctionAssembler(const std::vector<Line>& lines, size_t& next_line, const FunctionLabels& labels, isa::Module& module,
                    isa::Function& function)
      : lines_(lines), next_line_(next_line), labels_(labels), module_(module), function_(function) {}

  // Captures and parameters are set; reads the body that follows the header's line.
  absl::Status Run();

 private:
  // One operand as written.
  struct Argument {
    std::string name;  // "" without
    Loc name_loc;
    Token value;
    int operand = -1;      // place in OpInfo::operands, -1 for a keyword argument
  };

  absl::Status Block(int parent_indent, isa::Region& region, isa::Op implied_end);
  absl::Status Statement(isa::Region& region);
  absl::Status Instruction(isa::Op op, Loc loc, const std::vector<Token>& results, bool bound, Cursor& cursor, int indent,
                           isa::Region& region);
  absl::Status Arguments(Cursor& cursor, std::vector<Argument>& arguments);
  absl::Status MatchArguments(const isa::OpInfo& info, Loc loc, bool name_implied, std::vector<Argument>& arguments);
  absl::Status SetOperands(const isa::OpInfo& info, const std::vector<Argument>& arguments, isa::Region& region, isa::Inst& inst);
  absl::Status SetImmediate(const isa::OpInfo& info, const Token& value, isa::Inst& inst);
  absl::Status ForHeader(Cursor& cursor, isa::Region& region, isa::Inst& inst, std::vector<Token>& args);
  absl::Status Carry(Cursor& cursor, isa::Region& region, isa::Inst& inst, std::vector<Token>& args);
  absl::Status Regions(const isa::OpInfo& info, int indent, const std::vector<Token>& first_args, isa::Inst& inst);
  absl::Status RegionBody(int indent, const std::vector<Token>& args, isa::Region& region);
  absl::Status Results(const isa::OpInfo& info, const std::vector<Token>& results, bool bound, isa::Inst& inst);
  absl::Status RegisterList(Cursor& cursor, std::vector<Token>& registers);

  absl::Status Define(const Token& name, isa::Reg reg);
  absl::Status Operand(const Token& value, isa::Region& region, isa::Reg& reg);
  isa::Reg Emit(isa::Inst inst, isa::Region& region);  // an instruction with one new result
  isa::Reg EmitConstant(const isa::Constant& constant, Loc loc, isa::Region& region);
  void CloseScope(size_t mark);

  const std::vector<Line>& lines_;
  size_t& next_line_;
  const FunctionLabels& labels_;
  isa::Module& module_;
  isa::Function& function_;
  std::unordered_map<std::string, isa::Reg> registers_;  // visible ones
  std::vector<std::string> defined_;                     // visible names in order of definition
  int depth_ = 0;
};

// A literal operand; an error if the token is none.
absl::Status LiteralConstant(const Token& token, isa::Constant& constant);

}  // namespace tilevm::assembly

#endif  // TILEVM_FRONTENDS_ASM_FUNCTION_ASSEMBLER_H_
