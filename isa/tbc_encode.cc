// Encodes code, pools, functions, units and places. Pools are numbered in the order in which the encoded code first refers to their entries,
// so that they do not depend on how the module came about.
#include "isa/tbc_encode.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "isa/tbc_bytes.h"
#include "isa/tbc_format.h"
#include "isa/verifier.h"

namespace tilevm::isa {
namespace {

uint64_t ZigZag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }

// Strings and constants in order of first use. Ids that do not exist (only in a module that was not verified) become empty ones.
class Pools {
 public:
  explicit Pools(const Module& module) : module_(module), new_constants_(module.constants.size(), kNone) {}

  uint32_t String(const std::string& text) {
    auto [found, is_new] = ids_.emplace(text, static_cast<uint32_t>(strings_.size()));
    if (is_new) strings_.push_back(&found->first);
    return found->second;
  }
  uint32_t String(StringId id) { return id < module_.strings.size() ? String(module_.strings[id]) : String(std::string()); }

  uint32_t PoolConstant(ConstantId id) {
    if (id >= new_constants_.size()) return 0;
    if (new_constants_[id] == kNone) {
      new_constants_[id] = static_cast<uint32_t>(constants_.size());
      constants_.push_back(id);
    }
    return new_constants_[id];
  }

  // Before EncodeStrings: constants refer to strings.
  std::string EncodeConstants() {
    ByteWriter out;
    out.Varint(constants_.size());
    for (ConstantId id : constants_) EncodeConstant(module_.constants[id], out);
    return out.bytes();
  }

  std::string EncodeStrings() const {
    ByteWriter out;
    out.Varint(strings_.size());
    for (const std::string* text : strings_) out.Text(*text);
    return out.bytes();
  }

 private:
  static constexpr uint32_t kNone = 0xffffffffu;

  void EncodeConstant(const Constant& constant, ByteWriter& out) {
    out.U8(static_cast<uint8_t>(constant.kind));
    switch (constant.kind) {
      case Constant::Kind::kNone:
      case Constant::Kind::kEllipsis: break;
      case Constant::Kind::kBool: out.U8(constant.int_value != 0 ? 1 : 0); break;
      case Constant::Kind::kInt: EncodeInt(constant.int_value, out); break;
      case Constant::Kind::kFloat: {
        uint64_t bits;
        std::memcpy(&bits, &constant.float_value, sizeof(bits));
        out.Fixed(bits, 8);
        break;
      }
      case Constant::Kind::kString:
      case Constant::Kind::kBuiltin: out.Varint(String(constant.string_value)); break;
      case Constant::Kind::kDType: out.U8(static_cast<uint8_t>(constant.dtype)); break;
    }
  }

  // The number of bytes, then the fewest bytes of two's complement that hold the value.
  static void EncodeInt(absl::int128 value, ByteWriter& out) {
    int size = 1;
    while (size < 16 && (value >> (8 * size - 1)) != 0 && (value >> (8 * size - 1)) != -1) ++size;
    out.U8(static_cast<uint8_t>(size));
    absl::uint128 bits = static_cast<absl::uint128>(value);
    for (int i = 0; i < size; ++i) out.U8(static_cast<uint8_t>(absl::Uint128Low64(bits >> (8 * i))));
  }

  const Module& module_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<const std::string*> strings_;
  std::vector<uint32_t> new_constants_;
  std::vector<ConstantId> constants_;
};

// 0..14, or -1.
int ShortConstant(const Constant& constant) {
  switch (constant.kind) {
    case Constant::Kind::kNone: return 0;
    case Constant::Kind::kBool: return constant.int_value != 0 ? 2 : 1;
    case Constant::Kind::kFloat: {
      const double zero = 0;
      return std::memcmp(&constant.float_value, &zero, sizeof(zero)) == 0 ? 3 : -1;
    }
    case Constant::Kind::kInt:
      if (constant.int_value == -1) return 14;
      return constant.int_value >= 0 && constant.int_value <= 9 ? 4 + static_cast<int>(constant.int_value) : -1;
    default: return -1;
  }
}

class CodeEncoder {
 public:
  CodeEncoder(const Module& module, Pools& pools) : module_(module), pools_(pools) {}

  std::string Run(const Function& function) {
    next_ = static_cast<uint32_t>(function.body.args.size());
    EncodeBody(function.body, RegionContext());
    return out_.bytes();
  }

 private:
  void EncodeBody(const Region& region, const RegionContext& context) {
    for (size_t i = 0; i < region.body.size(); ++i) {
      const Inst& inst = region.body[i];
      const Inst* bind = i + 1 < region.body.size() && IsBindOf(region.body[i + 1], inst) ? &region.body[i + 1] : nullptr;
      if (bind != nullptr && !HasBoundForm(inst)) bind = nullptr;
      EncodeInst(inst, bind != nullptr, context);
      if (bind == nullptr) continue;
      out_.Varint(pools_.String(bind->imm));
      ++next_;
      ++i;
    }
  }

  static bool IsBindOf(const Inst& bind, const Inst& inst) {
    return bind.op == Op::kBind && bind.operands.size() == 1 && inst.results.size() == 1 && bind.operands[0] == inst.results[0];
  }
  static bool HasBoundForm(const Inst& inst) {
    uint16_t code = static_cast<uint16_t>(inst.op);
    if (code >= kFirstBoundCode && code < kFirstPagedCode) {
      const OpInfo& info = Info(inst.op);
      return info.results.size() == 1 && !info.results[0].variadic;
    }
    return std::find(std::begin(kBoundStaticOps), std::end(kBoundStaticOps), inst.op) != std::end(kBoundStaticOps);
  }

  void EncodeInst(const Inst& inst, bool bound, const RegionContext& context) {
    if (EncodeShort(inst)) return;
    EncodeOp(inst.op, bound);
    const OpInfo& info = Info(inst.op);
    EncodeImmediate(inst);
    EncodeOperands(inst, info);
    if (WritesResultCount(info)) out_.Varint(inst.results.size());
    RegionContext inner = context;
    if (inst.op == Op::kFor || inst.op == Op::kWhile) inner.carried = inst.results.size();
    int regions = OpenRegionCount(inst.op);
    for (int r = 0; r < regions && r < static_cast<int>(inst.regions.size()); ++r) {
      inner.yields = OpenYieldCount(inst.op, r, inst.results.size());
      next_ += static_cast<uint32_t>(inst.regions[r].args.size());
      EncodeBody(inst.regions[r], inner);
    }
    next_ += static_cast<uint32_t>(inst.results.size());
  }

  bool EncodeShort(const Inst& inst) {
    if (inst.op == Op::kConst && inst.imm < module_.constants.size()) {
      int index = ShortConstant(module_.constants[inst.imm]);
      if (index < 0) return false;
      out_.U8(static_cast<uint8_t>(kShortConstant + index));
      ++next_;
      return true;
    }
    if (inst.op == Op::kReturn && inst.operands.empty()) {
      out_.U8(kBareReturn);
      return true;
    }
    if (inst.op == Op::kMakeSlice && inst.operands.empty()) {
      out_.U8(kBareSlice);
      ++next_;
      return true;
    }
    return false;
  }

  void EncodeOp(Op op, bool bound) {
    uint16_t code = static_cast<uint16_t>(op);
    if (bound && code < kFirstBoundCode) {
      const Op* found = std::find(std::begin(kBoundStaticOps), std::end(kBoundStaticOps), op);
      out_.U8(static_cast<uint8_t>(kBoundStatic + (found - std::begin(kBoundStaticOps))));
    } else if (bound) {
      out_.U8(static_cast<uint8_t>(code + 0x80));
    } else if (code < kFirstPagedCode) {
      out_.U8(static_cast<uint8_t>(code));
    } else {
      out_.U8(static_cast<uint8_t>(kPagedOp + (code >> 8)));
      out_.U8(static_cast<uint8_t>(code));
    }
  }

  void EncodeImmediate(const Inst& inst) {
    switch (ImmediateOf(inst.op)) {
      case ImmediateKind::kNone: break;
      case ImmediateKind::kConstant: out_.Varint(pools_.PoolConstant(inst.imm)); break;
      case ImmediateKind::kString: out_.Varint(pools_.String(inst.imm)); break;
      case ImmediateKind::kFunction:
      case ImmediateKind::kCount: out_.Varint(inst.imm); break;
    }
  }

  void EncodeOperands(const Inst& inst, const OpInfo& info) {
    size_t count = inst.operands.size();
    switch (FormOf(info)) {
      case OperandForm::kFixed:
      case OperandForm::kImplied: break;
      case OperandForm::kOneOptional: count = info.register_operands.size(); break;
      case OperandForm::kCounted: out_.Varint(count); break;
      case OperandForm::kKeyworded:
        out_.Varint(count * 4 + std::min<size_t>(inst.names.size(), 3));
        if (inst.names.size() >= 3) out_.Varint(inst.names.size() - 3);
        break;
    }
    for (size_t i = 0; i < count; ++i) {
      Reg reg = i < inst.operands.size() ? inst.operands[i] : kNoReg;
      out_.Varint(reg == kNoReg ? 0 : next_ - reg);
    }
    for (StringId name : inst.names) out_.Varint(pools_.String(name));
  }

  const Module& module_;
  Pools& pools_;
  ByteWriter out_;
  uint32_t next_ = 0;
};

std::string EncodeHeader(const Function& function, Pools& pools) {
  ByteWriter out;
  out.U8(static_cast<uint8_t>(function.kind));
  out.Varint(function.unit);
  out.Varint(pools.String(function.name));
  out.Varint(function.captures.size());
  for (StringId capture : function.captures) out.Varint(pools.String(capture));
  out.Varint(function.params.size());
  for (const Param& param : function.params) {
    int flags = static_cast<int>(param.kind) | (param.is_constexpr ? 8 : 0) | (param.has_default ? 16 : 0) | (param.annotation.empty() ? 0 : 32);
    out.U8(static_cast<uint8_t>(flags));
    out.Varint(pools.String(param.name));
    if (!param.annotation.empty()) out.Varint(pools.String(param.annotation));
  }
  return out.bytes();
}

std::string EncodeUnits(const Module& module, Pools& pools) {
  ByteWriter out;
  out.Varint(module.units.size());
  for (const Unit& unit : module.units) {
    out.Varint(pools.String(unit.name));
    out.Varint(unit.imports.size());
    for (const Import& import : unit.imports) {
      out.Varint(pools.String(import.name));
      out.Varint(pools.String(import.path));
    }
    out.Varint(unit.cells.size());
    for (const Cell& cell : unit.cells) {
      out.Varint(cell.function);
      out.Varint(cell.defines.size());
      for (StringId name : cell.defines) out.Varint(pools.String(name));
    }
  }
  return out.bytes();
}

// 0 for an unknown place, else 1 + zigzag(line difference) * 2 + (1 if another file's index follows), then the column.
class PlaceEncoder {
 public:
  void Add(Loc loc) {
    if (!loc.known()) {
      out_.Varint(0);
      return;
    }
    bool other_file = loc.file != last_.file;
    out_.Varint(1 + ZigZag(int64_t{loc.line} - last_.line) * 2 + (other_file ? 1 : 0));
    if (other_file) out_.Varint(static_cast<uint32_t>(loc.file + 1));
    out_.Varint(static_cast<uint32_t>(loc.col));
    last_ = loc;
  }
  void AddRegion(const Region& region) {
    for (const Inst& inst : region.body) {
      Add(inst.loc);
      for (const Region& inner : inst.regions) AddRegion(inner);
    }
  }
  const std::string& bytes() const { return out_.bytes(); }

 private:
  ByteWriter out_;
  Loc last_ = {0, 0, 0};
};

}  // namespace

EncodedProgram EncodeProgram(const Module& module) {
  EncodedProgram encoded;
  Pools pools(module);
  for (const Function& function : module.functions) encoded.function_code.push_back(CodeEncoder(module, pools).Run(function));
  encoded.constants = pools.EncodeConstants();
  for (const Function& function : module.functions) encoded.function_headers.push_back(EncodeHeader(function, pools));
  encoded.units = EncodeUnits(module, pools);
  encoded.strings = pools.EncodeStrings();
  return encoded;
}

std::string EncodePlaces(const Module& module) {
  PlaceEncoder places;
  for (const Function& function : module.functions) {
    places.Add(function.loc);
    for (const Param& param : function.params) places.Add(param.loc);
    places.AddRegion(function.body);
  }
  return places.bytes();
}

}  // namespace tilevm::isa
