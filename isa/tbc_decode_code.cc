// Decodes the code of one function; the first byte of each instruction is explained in tbc_format.h.
#include <algorithm>
#include <utility>

#include "isa/tbc_decode.h"
#include "isa/tbc_format.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

Constant ShortConstant(int index) {
  Constant constant;
  switch (index) {
    case 0: break;
    case 1:
    case 2:
      constant.kind = Constant::Kind::kBool;
      constant.int_value = index - 1;
      break;
    case 3: constant.kind = Constant::Kind::kFloat; break;
    default:
      constant.kind = Constant::Kind::kInt;
      constant.int_value = index == 14 ? -1 : index - 4;
  }
  return constant;
}

class CodeDecoder {
 public:
  CodeDecoder(ByteReader& reader, DecodeContext& context, Module& module) : reader_(reader), context_(context), module_(module) {}

  void Run(Function& function) {
    DefineMany(function.captures.size() + function.params.size(), function.body.args);
    DecodeBody(function.body, RegionContext());
    if (reader_.ok() && reader_.left() != 0) reader_.Fail("code after the end of a function");
    function.reg_count = next_;
  }

 private:
  template <typename Regs>
  void DefineMany(size_t count, Regs& regs) {
    if (static_cast<int64_t>(count) > context_.registers_left) {
      reader_.Fail("too many registers for a file of this size");
      return;
    }
    context_.registers_left -= static_cast<int64_t>(count);
    for (size_t i = 0; i < count; ++i) regs.push_back(next_++);
  }

  void DecodeBody(Region& region, const RegionContext& context) {
    if (++depth_ > kMaxNesting) reader_.Fail("regions are nested too deep");
    while (reader_.ok()) {
      Inst inst;
      bool bound = DecodeInst(inst, context);
      if (!reader_.ok()) break;
      bool is_end = IsTerminator(inst.op);
      Reg value = inst.results.empty() ? kNoReg : inst.results[0];
      region.body.push_back(std::move(inst));
      if (is_end) break;
      if (bound) AddBind(value, region);
    }
    --depth_;
  }

  void AddBind(Reg value, Region& region) {
    Inst bind;
    bind.op = Op::kBind;
    bind.operands.push_back(value);
    bind.imm = String();
    DefineMany(1, bind.results);
    region.body.push_back(std::move(bind));
  }

  // Whether the result is bound.
  bool DecodeInst(Inst& inst, const RegionContext& context) {
    uint8_t byte = reader_.U8();
    bool bound = false;
    if (byte == kBareReturn) {
      inst.op = Op::kReturn;
      return false;
    }
    if (byte == kBareSlice) {
      inst.op = Op::kMakeSlice;
      DefineMany(1, inst.results);
      return false;
    }
    if (byte >= kShortConstant && byte < kShortConstant + kShortConstantCount) {
      inst.op = Op::kConst;
      inst.imm = module_.InternConstant(ShortConstant(byte - kShortConstant));
      DefineMany(1, inst.results);
      return false;
    }
    uint32_t code = byte;
    if (byte >= kBoundOp) {
      code = byte - 0x80u;
      bound = true;
    } else if (byte >= kBoundStatic && byte < kBareReturn) {
      code = static_cast<uint32_t>(kBoundStaticOps[byte - kBoundStatic]);
      bound = true;
    } else if (byte >= kPagedOp) {
      code = (byte - 0x80u) << 8 | reader_.U8();
      if (code < kFirstPagedCode) reader_.Fail("an op code in a longer form than needed");
    }
    std::optional<Op> op = OpFromCode(static_cast<uint16_t>(code));
    if (!op.has_value()) {
      reader_.Fail(absl::StrCat("unknown op ", code));
      return false;
    }
    inst.op = *op;
    const OpInfo& info = Info(*op);
    if (info.level == Level::kTyped || info.level == Level::kMachine) {
      reader_.Fail(absl::StrCat(info.mnemonic, " is no op of open bytecode"));
      return false;
    }
    DecodeImmediate(inst);
    DecodeOperands(inst, info, context);
    size_t results = info.results.size();
    if (WritesResultCount(info)) results = reader_.Id(kMaxResults + 1, "result count");
    if (inst.op == Op::kFor || inst.op == Op::kWhile) results = inst.operands.size() - std::min<size_t>(inst.operands.size(), inst.op == Op::kFor);
    DecodeRegions(inst, results, context);
    DefineMany(results, inst.results);
    if (bound && inst.results.size() != 1) reader_.Fail("a bound op without a result");
    return bound;
  }

  void DecodeImmediate(Inst& inst) {
    switch (ImmediateOf(inst.op)) {
      case ImmediateKind::kNone: break;
      case ImmediateKind::kConstant: {
        uint32_t id = reader_.Id(context_.constants.size(), "constant");
        if (reader_.ok()) inst.imm = context_.constants[id];
        break;
      }
      case ImmediateKind::kString: inst.imm = String(); break;
      case ImmediateKind::kFunction: inst.imm = reader_.Id(context_.function_count, "function"); break;
      case ImmediateKind::kCount: inst.imm = reader_.Id(kMaxResults + 1, "count"); break;
    }
  }

  StringId String() {
    uint32_t id = reader_.Id(context_.strings.size(), "string");
    return reader_.ok() ? context_.strings[id] : 0;
  }

  void DecodeOperands(Inst& inst, const OpInfo& info, const RegionContext& context) {
    size_t count = info.register_operands.size();
    size_t names = 0;
    switch (FormOf(info)) {
      case OperandForm::kFixed:
      case OperandForm::kOneOptional: break;
      case OperandForm::kImplied: count = context.ImpliedOperands(inst.op); break;
      case OperandForm::kCounted: count = reader_.Count(1, "operands"); break;
      case OperandForm::kKeyworded: {
        uint64_t packed = reader_.Varint();
        count = packed >> 2;
        names = packed & 3;
        if (names == 3) names += reader_.Count(1, "keywords");
        if (names > count) reader_.Fail("more keywords than operands");
        break;
      }
    }
    if (count > reader_.left()) {
      reader_.Fail(absl::StrCat(count, " operands, more than there is room for"));
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      uint64_t distance = reader_.Id(uint64_t{next_} + 1, "operand");
      inst.operands.push_back(distance == 0 ? kNoReg : next_ - static_cast<uint32_t>(distance));
    }
    while (!inst.operands.empty() && inst.operands.back() == kNoReg) inst.operands.pop_back();
    for (size_t i = 0; i < names && reader_.ok(); ++i) inst.names.push_back(String());
  }

  void DecodeRegions(Inst& inst, size_t results, const RegionContext& context) {
    int count = OpenRegionCount(inst.op);
    if (count == 0 || !reader_.ok()) return;
    RegionContext inner = context;
    if (inst.op == Op::kFor || inst.op == Op::kWhile) inner.carried = results;
    inst.regions.resize(count);
    for (int r = 0; r < count; ++r) {
      inner.yields = OpenYieldCount(inst.op, r, results);
      DefineMany(OpenRegionArgCount(inst.op, r, inst.operands.size()), inst.regions[r].args);
      DecodeBody(inst.regions[r], inner);
    }
  }

  ByteReader& reader_;
  DecodeContext& context_;
  Module& module_;
  uint32_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::Status DecodeCode(ByteReader& reader, DecodeContext& context, Module& module, Function& function) {
  CodeDecoder(reader, context, module).Run(function);
  return reader.status();
}

}  // namespace tilevm::isa
