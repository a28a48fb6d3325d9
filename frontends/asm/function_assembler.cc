// Blocks, statements, registers and regions; operands are matched to the row in match_operands.cc.
#include "frontends/asm/function_assembler.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "isa/verifier.h"

namespace tilevm::assembly {

using isa::Constant;
using isa::Inst;
using isa::Op;
using isa::OpInfo;
using isa::Reg;
using isa::Region;

absl::Status FunctionAssembler::Run() {
  Region& body = function_.body;
  std::vector<Token> names;
  for (isa::StringId capture : function_.captures) names.push_back(Token{TokenKind::kRegister, module_.strings[capture], function_.loc});
  for (const isa::Param& param : function_.params) names.push_back(Token{TokenKind::kRegister, param.name, param.loc});
  for (const Token& name : names) {
    Reg reg = function_.reg_count++;
    body.args.push_back(reg);
    TILEVM_RETURN_IF_ERROR(Define(name, reg));
  }
  return Block(0, body, Op::kReturn);
}

absl::Status FunctionAssembler::Block(int parent_indent, Region& region, Op implied_end) {
  if (++depth_ > isa::kMaxNesting) {
    return InvalidAt(lines_[next_line_ - 1].tokens[0].loc, "regions are nested more than ", isa::kMaxNesting, " deep");
  }
  int indent = next_line_ < lines_.size() ? lines_[next_line_].indent : 0;
  while (next_line_ < lines_.size() && lines_[next_line_].indent > parent_indent) {
    const Line& line = lines_[next_line_];
    if (line.indent != indent) return InvalidAt(line.tokens[0].loc, "this line is not indented as the body that it stands in");
    if (!region.body.empty() && isa::IsTerminator(region.body.back().op)) {
      return InvalidAt(line.tokens[0].loc, "an instruction after ", isa::Mnemonic(region.body.back().op), " is never reached");
    }
    TILEVM_RETURN_IF_ERROR(Statement(region));
  }
  if (region.body.empty() || !isa::IsTerminator(region.body.back().op)) {
    Inst end;
    end.op = implied_end;
    end.loc = lines_[next_line_ - 1].tokens.back().loc;
    region.body.push_back(std::move(end));
  }
  --depth_;
  return absl::OkStatus();
}

absl::Status FunctionAssembler::Statement(Region& region) {
  const Line& line = lines_[next_line_++];
  Cursor cursor(line);
  std::vector<Token> results;
  bool bound = false;
  if (cursor.Peek().kind == TokenKind::kRegister) {
    TILEVM_RETURN_IF_ERROR(RegisterList(cursor, results));
    bound = cursor.Peek().Is(":=");
    if (bound) {
      cursor.Next();
      if (results.size() != 1) return InvalidAt(results[1].loc, "':=' names one variable");
    } else {
      TILEVM_RETURN_IF_ERROR(cursor.Expect("="));
    }
  }
  Token mnemonic = cursor.Next();
  if (mnemonic.kind != TokenKind::kWord) return InvalidAt(mnemonic.loc, "the name of an instruction expected");
  std::optional<Op> op = isa::OpFromMnemonic(mnemonic.text);
  if (!op.has_value()) return InvalidAt(mnemonic.loc, "unknown instruction ", mnemonic.text);
  return Instruction(*op, mnemonic.loc, results, bound, cursor, line.indent, region);
}

absl::Status FunctionAssembler::Instruction(Op op, Loc loc, const std::vector<Token>& results, bool bound, Cursor& cursor, int indent,
                                            Region& region) {
  const OpInfo& info = isa::Info(op);
  Inst inst;
  inst.op = op;
  inst.loc = loc;
  std::vector<Token> region_args;
  if (op == Op::kFor) {
    TILEVM_RETURN_IF_ERROR(ForHeader(cursor, region, inst, region_args));
  } else if (op == Op::kWhile) {
    TILEVM_RETURN_IF_ERROR(Carry(cursor, region, inst, region_args));
  } else {
    std::vector<Argument> arguments;
    TILEVM_RETURN_IF_ERROR(Arguments(cursor, arguments));
    bool names_its_result = (op == Op::kBind || op == Op::kBindConst) && results.size() == 1;
    TILEVM_RETURN_IF_ERROR(MatchArguments(info, loc, names_its_result, arguments));
    if (names_its_result) inst.imm = module_.InternString(absl::string_view(results[0].text).substr(0, results[0].text.find('.')));
    TILEVM_RETURN_IF_ERROR(SetOperands(info, arguments, region, inst));
    if (cursor.StartsRegionArguments()) {
      cursor.Next();
      TILEVM_RETURN_IF_ERROR(RegisterList(cursor, region_args));
    }
  }
  TILEVM_RETURN_IF_ERROR(cursor.ExpectEnd());
  TILEVM_RETURN_IF_ERROR(Regions(info, indent, region_args, inst));
  TILEVM_RETURN_IF_ERROR(Results(info, results, bound, inst));
  Reg value = inst.results.empty() ? isa::kNoReg : inst.results[0];
  region.body.push_back(std::move(inst));
  if (!bound) return absl::OkStatus();
  Inst bind;
  bind.op = Op::kBind;
  bind.loc = loc;
  bind.operands = {value};
  bind.imm = module_.InternString(absl::string_view(results[0].text).substr(0, results[0].text.find('.')));
  return Define(results[0], Emit(std::move(bind), region));
}

absl::Status FunctionAssembler::RegisterList(Cursor& cursor, std::vector<Token>& registers) {
  do {
    Token token = cursor.Peek();
    TILEVM_RETURN_IF_ERROR(cursor.Register(token.text));
    registers.push_back(std::move(token));
  } while (cursor.Take(","));
  return absl::OkStatus();
}

// for %k in %range carry(...)   or   for %k in range(0, %n, 1) carry(...)
absl::Status FunctionAssembler::ForHeader(Cursor& cursor, Region& region, Inst& inst, std::vector<Token>& args) {
  Token item = cursor.Peek();
  TILEVM_RETURN_IF_ERROR(cursor.Register(item.text));
  args.push_back(item);
  if (!cursor.TakeWord("in")) return InvalidAt(cursor.Peek().loc, "'in' expected", cursor.Found());
  Reg iterable = isa::kNoReg;
  Token first = cursor.Next();
  if (first.IsWord("range") && cursor.Take("(")) {
    Inst range;
    range.op = Op::kGlobal;
    range.imm = module_.InternString("range");
    range.loc = first.loc;
    Inst call;
    call.op = Op::kCall;
    call.loc = first.loc;
    call.operands.push_back(Emit(std::move(range), region));
    do {
      Token bound = cursor.Next();
      Reg reg;
      TILEVM_RETURN_IF_ERROR(Operand(bound, region, reg));
      call.operands.push_back(reg);
    } while (cursor.Take(","));
    TILEVM_RETURN_IF_ERROR(cursor.Expect(")"));
    iterable = Emit(std::move(call), region);
  } else {
    TILEVM_RETURN_IF_ERROR(Operand(first, region, iterable));
  }
  inst.operands.push_back(iterable);
  return Carry(cursor, region, inst, args);
}

// carry(%arg = %init, ...), or nothing
absl::Status FunctionAssembler::Carry(Cursor& cursor, Region& region, Inst& inst, std::vector<Token>& args) {
  if (!cursor.TakeWord("carry")) return absl::OkStatus();
  TILEVM_RETURN_IF_ERROR(cursor.Expect("("));
  do {
    Token arg = cursor.Peek();
    TILEVM_RETURN_IF_ERROR(cursor.Register(arg.text));
    args.push_back(std::move(arg));
    TILEVM_RETURN_IF_ERROR(cursor.Expect("="));
    Token init = cursor.Next();
    Reg reg;
    TILEVM_RETURN_IF_ERROR(Operand(init, region, reg));
    inst.operands.push_back(reg);
  } while (cursor.Take(","));
  return cursor.Expect(")");
}

absl::Status FunctionAssembler::Regions(const OpInfo& info, int indent, const std::vector<Token>& first_args, Inst& inst) {
  int count = isa::OpenRegionCount(info.op);
  if (count == 0) {
    if (!first_args.empty()) return InvalidAt(first_args[0].loc, info.mnemonic, " has no region");
    return absl::OkStatus();
  }
  inst.regions.resize(count);
  int r = 0;
  for (const isa::OperandSpec& spec : info.operands) {
    if (spec.kind != isa::OperandKind::kRegion) continue;
    std::vector<Token> args = first_args;
    bool present = true;
    if (r > 0) {
      args.clear();
      present = next_line_ < lines_.size() && lines_[next_line_].indent == indent && lines_[next_line_].tokens[0].IsWord(spec.name);
    }
    if (r > 0 && present) {
      Cursor cursor(lines_[next_line_++]);
      cursor.Next();
      if (!cursor.AtEnd()) TILEVM_RETURN_IF_ERROR(RegisterList(cursor, args));
      TILEVM_RETURN_IF_ERROR(cursor.ExpectEnd());
    }
    Region& region = inst.regions[r++];
    bool has_body = present && next_line_ < lines_.size() && lines_[next_line_].indent > indent;
    if (info.op == Op::kAssert && !has_body) {
      Inst yield;
      yield.op = Op::kYield;
      yield.loc = inst.loc;
      yield.operands.push_back(EmitConstant(Constant(), inst.loc, region));
      region.body.push_back(std::move(yield));
      continue;
    }
    if (present && !has_body) return InvalidAt(lines_[next_line_ - 1].tokens[0].loc, info.mnemonic, ": an indented body is missing");
    TILEVM_RETURN_IF_ERROR(RegionBody(present ? indent : INT32_MAX, args, region));
  }
  return absl::OkStatus();
}

absl::Status FunctionAssembler::RegionBody(int indent, const std::vector<Token>& args, Region& region) {
  size_t mark = defined_.size();
  for (const Token& arg : args) {
    Reg reg = function_.reg_count++;
    region.args.push_back(reg);
    TILEVM_RETURN_IF_ERROR(Define(arg, reg));
  }
  TILEVM_RETURN_IF_ERROR(Block(indent, region, Op::kYield));
  CloseScope(mark);
  return absl::OkStatus();
}

absl::Status FunctionAssembler::Results(const OpInfo& info, const std::vector<Token>& results, bool bound, Inst& inst) {
  bool variadic = !info.results.empty() && info.results.back().variadic;
  size_t fixed = info.results.size();
  if (!variadic && !results.empty() && results.size() != fixed) {
    return InvalidAt(results[0].loc, info.mnemonic, fixed == 0 ? " has no result" : " has one result", "; signature ", info.signature);
  }
  size_t count = !results.empty() || variadic ? results.size() : fixed;
  for (size_t i = 0; i < count; ++i) {
    Reg reg = function_.reg_count++;
    inst.results.push_back(reg);
    if (!bound && i < results.size()) TILEVM_RETURN_IF_ERROR(Define(results[i], reg));
  }
  return absl::OkStatus();
}

absl::Status FunctionAssembler::Define(const Token& name, Reg reg) {
  auto [found, is_new] = registers_.emplace(name.text, reg);
  if (!is_new) return InvalidAt(name.loc, "register %", name.text, " is already defined");
  defined_.push_back(name.text);
  return absl::OkStatus();
}

void FunctionAssembler::CloseScope(size_t mark) {
  while (defined_.size() > mark) {
    registers_.erase(defined_.back());
    defined_.pop_back();
  }
}

absl::Status FunctionAssembler::Operand(const Token& value, Region& region, Reg& reg) {
  if (value.kind == TokenKind::kRegister) {
    auto found = registers_.find(value.text);
    if (found == registers_.end()) return InvalidAt(value.loc, "register %", value.text, " is not defined here");
    reg = found->second;
    return absl::OkStatus();
  }
  Constant constant;
  TILEVM_RETURN_IF_ERROR(LiteralConstant(value, constant));
  reg = EmitConstant(constant, value.loc, region);
  return absl::OkStatus();
}

Reg FunctionAssembler::Emit(Inst inst, Region& region) {
  Reg reg = function_.reg_count++;
  inst.results = {reg};
  region.body.push_back(std::move(inst));
  return reg;
}

Reg FunctionAssembler::EmitConstant(const Constant& constant, Loc loc, Region& region) {
  Inst inst;
  inst.op = Op::kConst;
  inst.imm = module_.InternConstant(constant);
  inst.loc = loc;
  return Emit(std::move(inst), region);
}

}  // namespace tilevm::assembly
