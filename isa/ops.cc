// ops.def as data. Each row's signature is parsed at compile time (a slip stops the build with the row's name) and again once at start-up.
#include "isa/ops.h"

#include <unordered_map>

#include "absl/strings/str_split.h"
#include "isa/signature.h"

namespace tilevm::isa {
namespace {

#define OP(Enum, code, since, level, mnemonic, signature, ...) \
  static_assert(IsValidSignature(signature), "ops.def: bad signature of " mnemonic);
#include "isa/ops.def"
#undef OP

// The table as constant data; OpInfo is built from it by a loop, which compiles faster than a call for each row.
struct Row {
  Op op;
  int since;
  Level level;
  const char* enum_name;
  const char* mnemonic;
  const char* signature;
  Effect effect;
  const char* surface;
  const char* elab;
  const char* summary;
};

constexpr Row kRows[] = {
#define OP(Enum, code, since, level, mnemonic, signature, effect, surface, elab, summary) \
  {Op::k##Enum, since, Level::k##level, #Enum, mnemonic, signature, Effect::k##effect, surface, #elab, summary},
#include "isa/ops.def"
#undef OP
};

OpInfo MakeInfo(const Row& row) {
  OpInfo info;
  info.op = row.op;
  info.code = static_cast<uint16_t>(row.op);
  info.since = row.since;
  info.level = row.level;
  info.enum_name = row.enum_name;
  info.mnemonic = row.mnemonic;
  info.signature = row.signature;
  info.effect = row.effect;
  info.surface = row.surface;
  info.elab = row.elab;
  info.summary = row.summary;
  ParsedSignature parsed = ParseSignature(row.signature);
  info.operands.assign(parsed.operands, parsed.operands + parsed.operand_count);
  info.results.assign(parsed.results, parsed.results + parsed.result_count);
  int variadic_operand = -1;
  for (int i = 0; i < parsed.operand_count; ++i) {
    const OperandSpec& spec = info.operands[i];
    if (spec.kind == OperandKind::kImmediate) info.has_immediate = true;
    if (spec.kind == OperandKind::kRegion) ++info.region_count;
    if (spec.kind == OperandKind::kImmediate || spec.kind == OperandKind::kRegion) continue;
    if (spec.variadic) {
      variadic_operand = i;
      continue;
    }
    info.register_operands.push_back(i);
    if (!spec.optional) ++info.min_registers;
  }
  if (variadic_operand >= 0) {
    info.register_operands.push_back(variadic_operand);
    info.variadic = true;
  }
  return info;
}

struct Table {
  std::vector<OpInfo> rows;
  std::unordered_map<std::string, Op> by_mnemonic;
  std::unordered_map<std::string, Op> by_surface;

  Table() {
    for (const Row& row : kRows) rows.push_back(MakeInfo(row));
    for (const OpInfo& info : rows) {
      by_mnemonic.emplace(std::string(info.mnemonic), info.op);
      for (absl::string_view name : absl::StrSplit(info.surface, ' ', absl::SkipEmpty())) by_surface.emplace(std::string(name), info.op);
    }
  }
};

const Table& TheTable() {
  static const Table* const table = new Table;
  return *table;
}

}  // namespace

const OpInfo& Info(Op op) {
  // Rows by code: the codes are dense enough for an array, and every consumer asks for every instruction.
  static const std::vector<const OpInfo*>* const by_code = [] {
    auto* rows = new std::vector<const OpInfo*>;
    for (const OpInfo& info : TheTable().rows) {
      if (rows->size() <= info.code) rows->resize(info.code + 1, nullptr);
      (*rows)[info.code] = &info;
    }
    return rows;
  }();
  return *(*by_code)[static_cast<uint16_t>(op)];
}

// A code used twice in the table is a duplicate case here and does not compile.
std::optional<Op> OpFromCode(uint16_t code) {
  switch (code) {
#define OP(Enum, code, ...) case code: return Op::k##Enum;
#include "isa/ops.def"
#undef OP
    default: return std::nullopt;
  }
}

std::optional<Op> OpFromMnemonic(absl::string_view mnemonic) {
  auto found = TheTable().by_mnemonic.find(std::string(mnemonic));
  if (found == TheTable().by_mnemonic.end()) return std::nullopt;
  return found->second;
}

std::optional<Op> OpFromSurface(absl::string_view surface) {
  auto found = TheTable().by_surface.find(std::string(surface));
  if (found == TheTable().by_surface.end()) return std::nullopt;
  return found->second;
}

absl::Span<const OpInfo> AllOps() { return TheTable().rows; }

ImmediateKind ImmediateOf(Op op) {
  switch (op) {
    case Op::kConst: return ImmediateKind::kConstant;
    case Op::kMakeFunction: return ImmediateKind::kFunction;
    case Op::kUnpack:
    case Op::kCollect: return ImmediateKind::kCount;
    default: return Info(op).has_immediate ? ImmediateKind::kString : ImmediateKind::kNone;
  }
}

int RegisterIndex(const OpInfo& info, absl::string_view name) {
  for (size_t i = 0; i < info.register_operands.size(); ++i) {
    if (info.operands[info.register_operands[i]].name == name) return static_cast<int>(i);
  }
  return -1;
}

int OpenRegionCount(Op op) {
  if (op == Op::kReduce || op == Op::kScan || op == Op::kMapElementwise) return 0;
  return Info(op).region_count;
}

bool IsTerminator(Op op) {
  switch (op) {
    case Op::kYield:
    case Op::kReturn:
    case Op::kBreak:
    case Op::kContinue:
    case Op::kRaise:
    case Op::kExit: return true;
    default: return false;
  }
}

}  // namespace tilevm::isa
