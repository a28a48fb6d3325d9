// Solves the facts of a kernel: one walk, loops repeated until their carried values stand still.
#include "specializer/analysis/axis_facts.h"

#include "absl/strings/str_cat.h"
#include "specializer/analysis/axis_transfer.h"

namespace tilevm::analysis {

class AxisSolver {
 public:
  AxisSolver(const ir::Kernel& kernel, FactOptions options, std::vector<TileFacts>* facts) : kernel_(kernel), options_(options), facts_(*facts) {
    for (const ir::ValueInfo& value : kernel.values) facts_.push_back(UnknownFacts(value.type));
    for (const ir::Param& param : kernel.params) {
      int64_t divisor = 1;
      while (divisor < kMaxDivisor && param.divisibility % (divisor * 2) == 0 && param.divisibility != 0) divisor *= 2;
      facts_[param.value].divisor = divisor;
      for (AxisFact& axis : facts_[param.value].axes) axis.run_divisor = divisor;
    }
  }

  void Walk(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      if (op.op == isa::Op::kFor) {
        SolveFor(op);
      } else if (op.op == isa::Op::kWhile) {
        SolveWhile(op);
      } else if (op.op == isa::Op::kIf) {
        SolveIf(op);
      } else if (!op.regions.empty()) {
        for (const ir::Region& inner : op.regions) Walk(inner);  // results stay unknown
      } else if (op.results.size() == 1) {
        facts_[op.results[0]] = Transfer(kernel_, op, [this](ir::ValueId id) -> const TileFacts& { return facts_[id]; }, options_);
      }
    }
  }

 private:
  static constexpr size_t kBounds = 3;  // lo, hi, step
  static constexpr int kMaxRounds = 40; // each round lowers a fact by a factor of two or more, or ends

  void SolveFor(const ir::Op& op) {
    const ir::Region& body = op.regions[0];
    const TileFacts &lo = facts_[op.operands[0]], &step = facts_[op.operands[2]];
    TileFacts& item = facts_[body.args[0]];
    item.divisor = std::min(lo.divisor, step.divisor);
    item.non_negative = lo.non_negative && step.non_negative;
    Solve(op, body, absl::MakeConstSpan(op.operands).subspan(kBounds), absl::MakeConstSpan(body.args).subspan(1), 0, [&] { Walk(body); });
  }

  void SolveWhile(const ir::Op& op) {
    // Both regions have the carried values as arguments; the body's yield feeds the test's arguments.
    const ir::Region &test = op.regions[0], &body = op.regions[1];
    Solve(op, body, op.operands, body.args, 0, [&] {
      for (size_t i = 0; i < test.args.size(); ++i) facts_[test.args[i]] = facts_[body.args[i]];
      Walk(test);
      Walk(body);
    });
  }

  template <typename WalkBody>
  void Solve(const ir::Op& op, const ir::Region& body, absl::Span<const ir::ValueId> inits, absl::Span<const ir::ValueId> args, size_t skip,
             const WalkBody& walk) {
    for (size_t i = 0; i < args.size(); ++i) facts_[args[i]] = facts_[inits[i]];
    const ir::Op& yield = body.ops.back();
    for (int round = 0;; ++round) {
      walk();
      bool changed = false;
      for (size_t i = 0; i < args.size(); ++i) {
        const bool known = yield.op == isa::Op::kYield && round < kMaxRounds;
        TileFacts next = known ? Meet(facts_[args[i]], facts_[yield.operands[i + skip]]) : UnknownFacts(kernel_.TypeOf(args[i]));
        changed = changed || !(next == facts_[args[i]]);
        facts_[args[i]] = std::move(next);
      }
      if (!changed) break;
    }
    for (size_t i = 0; i < op.results.size(); ++i) facts_[op.results[i]] = facts_[args[i]];
  }

  void SolveIf(const ir::Op& op) {
    for (const ir::Region& region : op.regions) Walk(region);
    const ir::Op &a = op.regions[0].ops.back(), &b = op.regions[1].ops.back();
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (a.op == isa::Op::kYield && b.op == isa::Op::kYield) {
        facts_[op.results[i]] = Meet(facts_[a.operands[i]], facts_[b.operands[i]]);
      } else if (a.op == isa::Op::kYield || b.op == isa::Op::kYield) {
        facts_[op.results[i]] = facts_[(a.op == isa::Op::kYield ? a : b).operands[i]];
      }
    }
  }

  const ir::Kernel& kernel_;
  const FactOptions options_;
  std::vector<TileFacts>& facts_;
};

AxisFacts::AxisFacts(const ir::Kernel& kernel, FactOptions options) { AxisSolver(kernel, options, &facts_).Walk(kernel.body); }

std::string ToString(const TileFacts& facts) {
  std::string text = absl::StrCat("divisor ", facts.divisor, facts.non_negative ? ", non_negative" : "");
  for (const AxisFact& axis : facts.axes) {
    absl::StrAppend(&text, ", [contiguity ", axis.contiguity, " constancy ", axis.constancy, " run_divisor ", axis.run_divisor, "]");
  }
  return text;
}

}  // namespace tilevm::analysis
