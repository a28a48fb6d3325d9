// Operands of an instruction, as written: literals, immediates, and registers in the order of the row (isa/match_operands.h).
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontends/asm/function_assembler.h"
#include "isa/match_operands.h"

namespace tilevm::assembly {

using isa::Constant;
using isa::OperandKind;
using isa::OpInfo;

absl::Status LiteralConstant(const Token& token, Constant& constant) {
  switch (token.kind) {
    case TokenKind::kNumber: {
      if (std::optional<absl::int128> value = isa::ParseInt(token.text); value.has_value()) {
        constant.kind = Constant::Kind::kInt;
        constant.int_value = *value;
        return absl::OkStatus();
      }
      std::optional<double> value = isa::ParseFloat(token.text);
      bool only_digits = token.text.find_first_not_of("-0123456789") == std::string::npos;
      if (only_digits) return InvalidAt(token.loc, "the integer ", token.text, " does not fit in 128 bits");
      if (!value.has_value()) return InvalidAt(token.loc, token.text, " is not a number");
      constant.kind = Constant::Kind::kFloat;
      constant.float_value = *value;
      return absl::OkStatus();
    }
    case TokenKind::kString:
      constant.kind = Constant::Kind::kString;
      constant.string_value = token.text;
      return absl::OkStatus();
    case TokenKind::kBuiltin:
      constant.kind = Constant::Kind::kBuiltin;
      constant.string_value = token.text;
      return absl::OkStatus();
    case TokenKind::kWord:
      if (token.text == "None") return absl::OkStatus();
      if (token.text == "True" || token.text == "False") {
        constant.kind = Constant::Kind::kBool;
        constant.int_value = token.text == "True" ? 1 : 0;
        return absl::OkStatus();
      }
      if (std::optional<isa::DType> dtype = isa::DTypeFromName(token.text); dtype.has_value()) {
        constant.kind = Constant::Kind::kDType;
        constant.dtype = *dtype;
        return absl::OkStatus();
      }
      if (token.text == "inf" || token.text == "nan") {
        constant.kind = Constant::Kind::kFloat;
        constant.float_value = *isa::ParseFloat(token.text);
        return absl::OkStatus();
      }
      break;
    default: break;
  }
  if (token.Is("...")) {
    constant.kind = Constant::Kind::kEllipsis;
    return absl::OkStatus();
  }
  return InvalidAt(token.loc, "an operand expected (a register %x or a literal)",
                   token.kind == TokenKind::kEnd ? std::string(", but the line ends") : absl::StrCat(", not ", token.text));
}

absl::Status FunctionAssembler::Arguments(Cursor& cursor, std::vector<Argument>& arguments) {
  if (cursor.AtEnd() || cursor.StartsRegionArguments()) return absl::OkStatus();
  do {
    Argument argument;
    bool word = cursor.Peek().kind == TokenKind::kWord || cursor.Peek().kind == TokenKind::kString;
    if (word && cursor.Peek(1).Is("=")) {
      argument.name_loc = cursor.Peek().loc;
      argument.name = cursor.Next().text;
      if (argument.name.empty()) return InvalidAt(argument.name_loc, "an empty name");
      cursor.Next();
    } else if (!arguments.empty() && arguments.back().name_loc.known()) {
      return InvalidAt(cursor.Peek().loc, "an operand without a name after one with a name");
    }
    argument.value = cursor.Next();
    if (argument.value.kind == TokenKind::kEnd) return InvalidAt(argument.value.loc, "an operand expected, but the line ends");
    arguments.push_back(std::move(argument));
  } while (cursor.Take(","));
  return absl::OkStatus();
}

absl::Status FunctionAssembler::MatchArguments(const OpInfo& info, Loc loc, bool name_implied, std::vector<Argument>& arguments) {
  std::vector<absl::string_view> names;
  for (const Argument& argument : arguments) names.push_back(argument.name);
  isa::OperandMatch match = isa::MatchOperands(info, names, name_implied);
  if (!match.fault.empty()) return InvalidAt(match.fault_at >= 0 ? arguments[match.fault_at].name_loc : loc, match.fault);
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i].operand = match.operands[i];
  return absl::OkStatus();
}

// In the order of the text, so that literals become constants in that order.
absl::Status FunctionAssembler::SetOperands(const OpInfo& info, const std::vector<Argument>& arguments, isa::Region& region,
                                            isa::Inst& inst) {
  size_t fixed = info.register_operands.size() - (info.variadic ? 1 : 0);
  std::vector<isa::Reg> rest;
  inst.operands.assign(fixed, isa::kNoReg);
  for (const Argument& argument : arguments) {
    if (argument.operand >= 0 && info.operands[argument.operand].kind == OperandKind::kImmediate) {
      TILEVM_RETURN_IF_ERROR(SetImmediate(info, argument.value, inst));
      continue;
    }
    isa::Reg reg;
    TILEVM_RETURN_IF_ERROR(Operand(argument.value, region, reg));
    if (argument.operand < 0) {
      inst.names.push_back(module_.InternString(argument.name));
      rest.push_back(reg);
    } else if (info.operands[argument.operand].variadic) {
      rest.push_back(reg);
    } else {
      auto place = std::find(info.register_operands.begin(), info.register_operands.end(), argument.operand);
      inst.operands[place - info.register_operands.begin()] = reg;
    }
  }
  inst.operands.insert(inst.operands.end(), rest.begin(), rest.end());
  while (!inst.operands.empty() && inst.operands.back() == isa::kNoReg) inst.operands.pop_back();
  return absl::OkStatus();
}

absl::Status FunctionAssembler::SetImmediate(const OpInfo& info, const Token& value, isa::Inst& inst) {
  switch (isa::ImmediateOf(info.op)) {
    case isa::ImmediateKind::kConstant: {
      Constant constant;
      TILEVM_RETURN_IF_ERROR(LiteralConstant(value, constant));
      inst.imm = module_.InternConstant(constant);
      return absl::OkStatus();
    }
    case isa::ImmediateKind::kString:
      if (value.kind != TokenKind::kWord && value.kind != TokenKind::kString) {
        return InvalidAt(value.loc, info.mnemonic, ": a name or a quoted text expected; signature ", info.signature);
      }
      inst.imm = module_.InternString(value.text);
      return absl::OkStatus();
    case isa::ImmediateKind::kFunction: {
      if (value.kind != TokenKind::kFunction) return InvalidAt(value.loc, info.mnemonic, ": a function ($name) expected");
      auto found = labels_.find(value.text);
      if (found == labels_.end()) return InvalidAt(value.loc, "there is no function $", value.text);
      if (found->second == kAmbiguousLabel) {
        return InvalidAt(value.loc, "several functions are named ", value.text, "; refer to one by its number in the file, from $0");
      }
      inst.imm = static_cast<uint32_t>(found->second);
      return absl::OkStatus();
    }
    case isa::ImmediateKind::kCount:
      if (value.kind != TokenKind::kNumber || !absl::SimpleAtoi(value.text, &inst.imm)) {
        return InvalidAt(value.loc, info.mnemonic, ": a count expected");
      }
      return absl::OkStatus();
    case isa::ImmediateKind::kNone: break;
  }
  return InvalidAt(value.loc, info.mnemonic, " has no immediate");
}

}  // namespace tilevm::assembly
