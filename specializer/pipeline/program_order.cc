#include "specializer/pipeline/program_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

// How a scalar moves with program_id(axis).
enum class Trend : uint8_t { kConstant, kRises, kFalls, kUnknown };

Trend Opposite(Trend trend) { return trend == Trend::kRises ? Trend::kFalls : trend == Trend::kFalls ? Trend::kRises : trend; }
Trend Both(Trend a, Trend b) {
  if (a == Trend::kConstant) return b;
  return b == Trend::kConstant || a == b ? a : Trend::kUnknown;
}

class Finder {
 public:
  explicit Finder(const ir::Kernel& kernel) { Index(kernel.body); }

  ProgramOrder Run() {
    ProgramOrder out;
    for (int axis = 0; axis < 3; ++axis) {
      axis_ = axis;
      bool rises = false, other = false;
      for (const ir::Op* loop : loops_) {
        // Where bounds move, so does the count: up with the upper one, down with the lower one.
        const Trend count = Both(Opposite(TrendOf(loop->operands[0])), TrendOf(loop->operands[1]));
        rises |= count == Trend::kRises;
        other |= count == Trend::kFalls;
        out.unequal |= count != Trend::kConstant;
      }
      if (rises && !other && !waits_ && out.reversed < 0) out.reversed = axis;
    }
    return out;
  }

 private:
  void Index(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) def_[result] = &op;
      if (op.op == Op::kFor) loops_.push_back(&op);
      // Programs that may wait for each other count on the order in which they begin.
      const isa::Effect effect = isa::Info(op.op).effect;
      waits_ |= op.op == Op::kWhile || effect == isa::Effect::kReadsWrites || op.BoolAttr("volatile");
      for (const ir::Region& inner : op.regions) Index(inner);
    }
  }

  std::optional<int64_t> Constant(ValueId id) const {
    auto found = def_.find(id);
    if (found == def_.end() || found->second->op != Op::kConst) return std::nullopt;
    const auto* value = std::get_if<int64_t>(found->second->FindAttr("value"));
    return value == nullptr ? std::nullopt : std::optional<int64_t>(*value);
  }

  Trend TrendOf(ValueId id, int depth = 0) const {
    auto found = id == kNoValue ? def_.end() : def_.find(id);
    if (found == def_.end()) return Trend::kConstant;  // parameters; carried values of loops are told apart below
    const ir::Op& op = *found->second;
    if (depth > 16) return Trend::kUnknown;
    auto of = [&](int i) { return TrendOf(op.operands[i], depth + 1); };
    switch (op.op) {
      case Op::kProgramId: return op.IntAttr("axis") == axis_ ? Trend::kRises : Trend::kConstant;
      case Op::kConst: case Op::kNumPrograms: return Trend::kConstant;
      case Op::kAdd: case Op::kMinimum: case Op::kMaximum: return Both(of(0), of(1));
      case Op::kSub: return Both(of(0), Opposite(of(1)));
      case Op::kCast: return of(0);
      case Op::kMul: case Op::kFloorDiv: {
        const Trend a = of(0), b = of(1);
        if (a == Trend::kConstant && b == Trend::kConstant) return Trend::kConstant;
        const std::optional<int64_t> right = Constant(op.operands[1]), left = op.op == Op::kMul ? Constant(op.operands[0]) : std::nullopt;
        if (right.has_value() && *right > 0) return a;
        if (left.has_value() && *left > 0) return b;
        return Trend::kUnknown;
      }
      default: {
        for (size_t i = 0; i < op.operands.size(); ++i) {
          if (op.operands[i] != kNoValue && of(static_cast<int>(i)) != Trend::kConstant) return Trend::kUnknown;
        }
        return op.regions.empty() ? Trend::kConstant : Trend::kUnknown;
      }
    }
  }

  std::map<ValueId, const ir::Op*> def_;
  std::vector<const ir::Op*> loops_;
  bool waits_ = false;
  int axis_ = 0;
};

}  // namespace

ProgramOrder ProgramOrderOf(const ir::Kernel& kernel) { return Finder(kernel).Run(); }

}  // namespace tilevm::pipeline
