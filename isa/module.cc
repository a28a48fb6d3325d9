// Interning into the pools of a Module, and structural comparison by content: two modules that list the same strings or constants in another
// order are the same program.
#include "isa/module.h"

#include <cstring>

namespace tilevm::isa {
namespace {

uint64_t FloatBits(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// A byte string that is equal exactly for equal constants.
std::string KeyOf(const Constant& constant) {
  std::string key(1, static_cast<char>(constant.kind));
  auto append64 = [&key](uint64_t value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  switch (constant.kind) {
    case Constant::Kind::kNone:
    case Constant::Kind::kEllipsis: break;
    case Constant::Kind::kBool:
    case Constant::Kind::kInt:
      append64(absl::Int128Low64(constant.int_value));
      append64(static_cast<uint64_t>(absl::Int128High64(constant.int_value)));
      break;
    case Constant::Kind::kFloat: append64(FloatBits(constant.float_value)); break;
    case Constant::Kind::kString:
    case Constant::Kind::kBuiltin: key += constant.string_value; break;
    case Constant::Kind::kDType: key += static_cast<char>(constant.dtype); break;
  }
  return key;
}

// Compares two modules function by function. String and constant ids are compared by what they stand for.
class Comparison {
 public:
  Comparison(const Module& a, const Module& b) : a_(a), b_(b) {}

  bool SameUnits() const {
    if (a_.units.size() != b_.units.size()) return false;
    for (size_t i = 0; i < a_.units.size(); ++i) {
      if (!SameUnit(a_.units[i], b_.units[i])) return false;
    }
    return true;
  }

  bool SameFunction(const Function& x, const Function& y) const {
    return x.name == y.name && x.kind == y.kind && x.unit == y.unit && x.reg_count == y.reg_count && SameNames(x.captures, y.captures) &&
           SameParams(x.params, y.params) && SameRegion(x.body, y.body);
  }

 private:
  bool SameString(StringId x, StringId y) const {
    if (x >= a_.strings.size() || y >= b_.strings.size()) return false;
    return a_.strings[x] == b_.strings[y];
  }

  template <typename Ids>
  bool SameNames(const Ids& x, const Ids& y) const {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!SameString(x[i], y[i])) return false;
    }
    return true;
  }

  bool SameUnit(const Unit& x, const Unit& y) const {
    if (x.name != y.name || x.imports.size() != y.imports.size() || x.cells.size() != y.cells.size()) return false;
    for (size_t i = 0; i < x.imports.size(); ++i) {
      if (!SameString(x.imports[i].name, y.imports[i].name) || !SameString(x.imports[i].path, y.imports[i].path)) return false;
    }
    for (size_t i = 0; i < x.cells.size(); ++i) {
      if (x.cells[i].function != y.cells[i].function || !SameNames(x.cells[i].defines, y.cells[i].defines)) return false;
    }
    return true;
  }

  static bool SameParams(const std::vector<Param>& x, const std::vector<Param>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i].name != y[i].name || x[i].kind != y[i].kind || x[i].is_constexpr != y[i].is_constexpr ||
          x[i].has_default != y[i].has_default || x[i].annotation != y[i].annotation) {
        return false;
      }
    }
    return true;
  }

  bool SameImmediate(const Inst& x, const Inst& y) const {
    switch (ImmediateOf(x.op)) {
      case ImmediateKind::kNone: return true;
      case ImmediateKind::kString: return SameString(x.imm, y.imm);
      case ImmediateKind::kFunction:
      case ImmediateKind::kCount: return x.imm == y.imm;
      case ImmediateKind::kConstant:
        return x.imm < a_.constants.size() && y.imm < b_.constants.size() && SameConstant(a_.constants[x.imm], b_.constants[y.imm]);
    }
    return false;
  }

  bool SameInst(const Inst& x, const Inst& y) const {
    if (x.op != y.op || x.operands != y.operands || x.results != y.results || !SameImmediate(x, y) || !SameNames(x.names, y.names)) {
      return false;
    }
    size_t regions = OpenRegionCount(x.op);
    if (x.regions.size() < regions || y.regions.size() < regions) return false;
    for (size_t i = 0; i < regions; ++i) {
      if (!SameRegion(x.regions[i], y.regions[i])) return false;
    }
    return true;
  }

  bool SameRegion(const Region& x, const Region& y) const {
    if (x.args != y.args || x.body.size() != y.body.size()) return false;
    for (size_t i = 0; i < x.body.size(); ++i) {
      if (!SameInst(x.body[i], y.body[i])) return false;
    }
    return true;
  }

  const Module& a_;
  const Module& b_;
};

}  // namespace

Inst::Inst() = default;
Inst::Inst(const Inst&) = default;
Inst::Inst(Inst&&) noexcept = default;
Inst& Inst::operator=(const Inst&) = default;
Inst& Inst::operator=(Inst&&) noexcept = default;
Inst::~Inst() = default;

StringId Module::InternString(absl::string_view text) {
  for (; indexed_strings_ < strings.size(); ++indexed_strings_) {
    string_ids_.emplace(strings[indexed_strings_], static_cast<StringId>(indexed_strings_));
  }
  auto [found, is_new] = string_ids_.emplace(std::string(text), static_cast<StringId>(strings.size()));
  if (is_new) {
    strings.emplace_back(text);
    ++indexed_strings_;
  }
  return found->second;
}

ConstantId Module::InternConstant(const Constant& constant) {
  for (; indexed_constants_ < constants.size(); ++indexed_constants_) {
    constant_ids_.emplace(KeyOf(constants[indexed_constants_]), static_cast<ConstantId>(indexed_constants_));
  }
  auto [found, is_new] = constant_ids_.emplace(KeyOf(constant), static_cast<ConstantId>(constants.size()));
  if (is_new) {
    constants.push_back(constant);
    ++indexed_constants_;
  }
  return found->second;
}

int Module::FindFunction(absl::string_view name) const {
  for (int i = static_cast<int>(functions.size()) - 1; i >= 0; --i) {
    if (functions[i].unit == 0 && functions[i].kind != FunctionKind::kCell && functions[i].name == name) return i;
  }
  return -1;
}

bool SameConstant(const Constant& a, const Constant& b) { return KeyOf(a) == KeyOf(b); }

bool SameProgram(const Module& a, const Module& b) {
  Comparison comparison(a, b);
  if (a.functions.size() != b.functions.size() || !comparison.SameUnits()) return false;
  for (size_t i = 0; i < a.functions.size(); ++i) {
    if (!comparison.SameFunction(a.functions[i], b.functions[i])) return false;
  }
  return true;
}

}  // namespace tilevm::isa
