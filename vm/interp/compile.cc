// Compile: from the typed IR to a Plan. One walk emits instructions and gives registers; a register returns to the pool where its value dies.
//
//   for     moves inits -> carried; for_init; TOP: for_test (-> OUT); body; moves yielded -> carried; jump TOP; OUT: moves carried -> results
//   while   moves inits -> carried; TOP: cond; branch_if_false OUT; moves -> body args; body; back_edge; moves -> carried; jump TOP; OUT: moves
//   if      branch_if_false ELSE; then; moves -> results; jump END; ELSE: ...; END
//   block   body; every exit and the final yield: moves -> results, jump END
// Results get their registers at the end of the op, so that they may take those that the regions no longer need.
#include <map>

#include "absl/container/flat_hash_set.h"
#include "vm/interp/compile.h"
#include "vm/interp/liveness.h"
#include "vm/interp/moves.h"

namespace tilevm::vm {
namespace {

using ir::ValueId;

bool HasControlFlow(const ir::Region& region) {
  for (size_t i = 0; i + 1 < region.ops.size(); ++i) {
    const isa::Op op = region.ops[i].op;
    if (!IsElementwise(op) && op != isa::Op::kConst) return true;
  }
  return region.ops.back().op != isa::Op::kYield;
}

class Compiler {
 public:
  Compiler(const ir::Kernel& kernel, const CompileOptions& options) : kernel_(kernel), options_(options), plan_(std::make_shared<Plan>()) {}

  absl::StatusOr<std::shared_ptr<const Plan>> Run() {
    plan_->name = kernel_.name;
    plan_->loc = kernel_.loc;
    live_ = ComputeLiveness(kernel_);
    reg_of_.assign(kernel_.values.size(), kNoRegister);
    type_of_.assign(kernel_.values.size(), nullptr);
    for (const ir::Param& param : kernel_.params) {
      plan_->params.push_back(Allocate(param.value));
      plan_->param_names.push_back(param.name);
    }
    Free(0);
    TILEVM_RETURN_IF_ERROR(EmitRegion(kernel_.body));
    Emit(RunEnd, kernel_.body.ops.back());
    for (const RegisterPlan& reg : plan_->registers) {
      plan_->arena_bytes += reg.capacity;
      plan_->shadow_bytes += RoundUp64(reg.lanes);
    }
    plan_->scratch_bytes = RoundUp64(plan_->scratch_bytes);
    return std::shared_ptr<const Plan>(plan_);
  }

 private:
  // Moves whose targets are not known yet.
  struct PendingMoves {
    uint32_t inst;
    std::vector<RegId> sources;
    std::vector<ValueId> values;
  };
  struct BlockScope {
    std::vector<PendingMoves> exits;
    std::vector<uint32_t> jumps;
  };

  // --- registers ---
  const TypeInfo* InternType(TypeInfo info) {
    plan_->types.push_back(info);
    return &plan_->types.back();
  }

  const TypeInfo* TypeOf(ValueId id) {
    if (type_of_[id] == nullptr) {
      TypeInfo info = MakeTypeInfo(kernel_.TypeOf(id));
      if (lanes_ > 0 && info.rank == 0) {  // a scalar of a combine region: one for each lane
        info.rank = 1;
        info.n = info.shape[0] = lanes_;
        info.stride[0] = 1;
      }
      type_of_[id] = InternType(info);
    }
    return type_of_[id];
  }

  Operand Allocate(ValueId id) {
    const TypeInfo* type = TypeOf(id);
    const int64_t capacity = RoundUp64(type->bytes());
    std::vector<RegId>& free = free_[capacity];
    RegId reg;
    if (free.empty()) {
      reg = static_cast<RegId>(plan_->registers.size());
      plan_->registers.push_back({capacity, type->n});
    } else {
      reg = free.back();
      free.pop_back();
      plan_->registers[reg].lanes = std::max(plan_->registers[reg].lanes, type->n);
    }
    reg_of_[id] = reg;
    return {reg, type};
  }

  // Returns the registers of values that die here.
  void Free(int position) {
    for (ValueId id : live_.dying[position]) Release(id);
  }
  void Release(ValueId id) {
    const RegId reg = reg_of_[id];
    if (reg == kNoRegister || released_.contains(id)) return;
    released_.insert(id);
    if (options_.share_registers) free_[plan_->registers[reg].capacity].push_back(reg);
  }

  Operand Use(ValueId id) {
    if (id == ir::kNoValue) return {};
    return {reg_of_[id], TypeOf(id)};
  }

  bool Dies(ValueId id, int position) const { return live_.last_use[id] <= position; }

  absl::Span<const Operand> KeepOperands(std::vector<Operand> operands) {
    plan_->operand_lists.push_back(std::move(operands));
    return plan_->operand_lists.back();
  }
  template <typename Ids>
  absl::Span<const Operand> UseAll(const Ids& ids) {
    std::vector<Operand> operands;
    for (ValueId id : ids) operands.push_back(Use(id));
    return KeepOperands(std::move(operands));
  }

  // --- instructions ---
  Inst& Emit(Handler fn, const ir::Op& op) {
    Inst inst;
    inst.fn = fn;
    inst.op = op.op;
    inst.source = &op;
    inst.loc = op.loc;
    inst.lanes = lanes_ > 0;
    plan_->code.push_back(std::move(inst));
    return plan_->code.back();
  }
  uint32_t Here() const { return static_cast<uint32_t>(plan_->code.size()); }
  void Patch(uint32_t inst) { plan_->code[inst].target = Here(); }
  uint32_t EmitJump(const ir::Op& op, uint32_t target = 0) {
    Emit(RunJump, op).target = target;
    return Here() - 1;
  }

  void SetMoves(uint32_t inst, std::vector<Move> moves) {
    plan_->move_lists.push_back(PlanMoves(std::move(moves)));
    plan_->code[inst].moves = &plan_->move_lists.back();
  }

  PendingMoves EmitPending(const ir::Op& terminator, size_t skip) {
    PendingMoves pending;
    pending.inst = Here();
    Emit(RunMoves, terminator);
    for (size_t i = skip; i < terminator.operands.size(); ++i) {
      pending.values.push_back(terminator.operands[i]);
      pending.sources.push_back(reg_of_[terminator.operands[i]]);
    }
    return pending;
  }

  // The targets of the pending moves are known now. A source dies if nothing after `position` reads it.
  void Resolve(const PendingMoves& pending, absl::Span<const ValueId> targets, int position) {
    std::vector<Move> moves;
    for (size_t i = 0; i < targets.size(); ++i) {
      moves.push_back({reg_of_[targets[i]], pending.sources[i], TypeOf(targets[i]), !Dies(pending.values[i], position)});
    }
    SetMoves(pending.inst, std::move(moves));
  }

  // Moves within a loop, at `position`: a source dies if it belongs to this iteration and is not read later in it.
  void ResolveInLoop(const PendingMoves& pending, absl::Span<const ValueId> targets, const Liveness::Span& loop, int position) {
    std::vector<Move> moves;
    for (size_t i = 0; i < targets.size(); ++i) {
      const ValueId id = pending.values[i];
      moves.push_back({reg_of_[targets[i]], pending.sources[i], TypeOf(targets[i]), live_.defined[id] <= loop.start || !Dies(id, position)});
    }
    SetMoves(pending.inst, std::move(moves));
  }

  // --- regions ---
  absl::Status EmitRegion(const ir::Region& region) {
    for (size_t i = 0; i + 1 < region.ops.size(); ++i) TILEVM_RETURN_IF_ERROR(EmitOp(region.ops[i]));
    const ir::Op& last = region.ops.back();
    if (last.op == isa::Op::kExit) {
      BlockScope& scope = *blocks_[blocks_.size() - 1 - last.IntAttr("depth")];
      scope.exits.push_back(EmitPending(last, 0));
      scope.jumps.push_back(EmitJump(last));
      Free(live_.spans[&last].start);
    }
    return absl::OkStatus();
  }

  void EnterRegion(const ir::Region& region) {
    for (ValueId id : region.args) Allocate(id);
    if (!region.args.empty()) Free(live_.defined[region.args[0]]);
  }

  absl::Status EmitOp(const ir::Op& op) {
    switch (op.op) {
      case isa::Op::kFor: return EmitFor(op);
      case isa::Op::kWhile: return EmitWhile(op);
      case isa::Op::kIf: return EmitIf(op);
      case isa::Op::kBlock: return EmitBlock(op);
      default: break;
    }
    if (IsCombine(op.op) && !op.regions.empty()) return EmitCombine(op);
    const int position = live_.spans[&op].start;
    const absl::Span<const Operand> in = UseAll(op.operands);
    ReuseInPlace(op, position);
    for (ValueId id : op.results) {
      if (reg_of_[id] == kNoRegister) Allocate(id);
    }
    Inst& inst = Emit(nullptr, op);
    inst.in = in;
    inst.out = UseAll(op.results);
    const absl::Status status = Bind(op, inst);
    Free(position);  // operands that die here, and results that nobody reads
    return status;
  }

  // Elementwise results may overwrite an operand that dies, lane by lane; so may dot's accumulator.
  void ReuseInPlace(const ir::Op& op, int position) {
    if (op.results.size() != 1 || !options_.share_registers) return;
    const bool dot = op.op == isa::Op::kDot;
    if (!dot && !IsElementwise(op.op)) return;
    const TypeInfo* result = TypeOf(op.results[0]);
    for (size_t i = dot ? 2 : 0; i < op.operands.size(); ++i) {
      const ValueId id = op.operands[i];
      if (id == ir::kNoValue || live_.last_use[id] != position || released_.contains(id)) continue;
      if (dot && (id == op.operands[0] || id == op.operands[1])) return;  // read again while the result is written
      const TypeInfo* type = TypeOf(id);
      if (type->n != result->n || type->elem_bytes != result->elem_bytes) continue;
      released_.insert(id);
      reg_of_[op.results[0]] = reg_of_[id];
      return;
    }
  }

  absl::Status Bind(const ir::Op& op, Inst& inst) {
    using isa::Op;
    if (IsElementwise(op.op)) return BindElementwise(op, *plan_, inst);
    switch (op.op) {
      case Op::kConst: case Op::kSplat: case Op::kBroadcast: case Op::kReshape: case Op::kExpandDims: case Op::kPermute: case Op::kJoin:
      case Op::kSplit: case Op::kCat: case Op::kFlip: case Op::kArange: case Op::kConvertLayout:
        return BindShape(op, *plan_, inst);
      case Op::kLoad: case Op::kStore:
        return BindMemory(op, *plan_, inst);
      case Op::kAtomicAdd: case Op::kAtomicMax: case Op::kAtomicMin: case Op::kAtomicAnd: case Op::kAtomicOr: case Op::kAtomicXor:
      case Op::kAtomicXchg: case Op::kAtomicCas:
        return BindAtomic(op, *plan_, inst);
      case Op::kReduce: return BindReduce(op, *plan_, inst);
      case Op::kScan: return BindScan(op, *plan_, inst);
      case Op::kSort: case Op::kTopK: case Op::kGather: case Op::kHistogram:
        return BindOrder(op, *plan_, inst);
      case Op::kDot: return BindDot(op, *plan_, inst);
      default: return BindMisc(op, *plan_, inst);
    }
  }

  absl::Status EmitFor(const ir::Op& op) {
    const Liveness::Span span = live_.spans[&op];
    const ir::Region& body = op.regions[0];
    const ValueId bounds[] = {op.operands[0], op.operands[1], op.operands[2]};
    const bool may_wait = MayWait(op);
    const int64_t loop = NewLoop(op, may_wait, /*bounded=*/true);
    Inst& init = Emit(RunForInit, op);
    init.in = UseAll(bounds);
    init.imm[0] = loop;
    if (may_wait) Emit(RunLoopEnter, op).imm[0] = loop;
    const PendingMoves enter = EmitPending(op, 3);
    Free(span.start);
    EnterRegion(body);
    const absl::Span<const ValueId> carried(body.args.data() + 1, body.args.size() - 1);
    Resolve(enter, carried, span.start);
    const uint32_t top = Here();
    const ValueId iv[] = {body.args[0]};
    Inst& test = Emit(RunForTest, op);
    test.out = UseAll(iv);
    test.imm[0] = loop;
    std::vector<RegId> carried_regs;
    for (ValueId id : carried) carried_regs.push_back(reg_of_[id]);
    TILEVM_RETURN_IF_ERROR(EmitRegion(body));
    const ir::Op& last = body.ops.back();
    if (last.op == isa::Op::kYield) {
      if (may_wait) {
        Inst& edge = Emit(RunBackEdge, op);
        edge.imm[0] = loop;
        edge.imm[1] = Reads(body, body.args[0]) ? 1 : 0;  // each iteration is another one
        edge.in = UseAll(last.operands);
        edge.out = UseAll(carried);
      }
      const PendingMoves back = EmitPending(last, 0);
      Free(live_.spans[&last].start);
      ResolveInLoop(back, carried, span, live_.spans[&last].start);
      EmitJump(last, top);
    }
    Patch(top);
    FinishLoop(op, span, carried, carried_regs);
    return absl::OkStatus();
  }

  // OUT: carried values become the results.
  void FinishLoop(const ir::Op& op, const Liveness::Span& span, absl::Span<const ValueId> carried, const std::vector<RegId>& sources) {
    Free(span.end);
    for (ValueId id : op.results) Allocate(id);
    const uint32_t inst = Here();
    Emit(RunMoves, op);
    std::vector<Move> moves;
    for (size_t i = 0; i < op.results.size(); ++i) {
      moves.push_back({reg_of_[op.results[i]], sources[i], TypeOf(op.results[i]), !Dies(carried[i], span.end)});
    }
    SetMoves(inst, std::move(moves));
    FreeUnused(op);
  }

  void FreeUnused(const ir::Op& op) {
    for (ValueId id : op.results) {
      if (live_.last_use[id] == live_.defined[id]) Release(id);
    }
  }

  absl::Status EmitWhile(const ir::Op& op) {
    const Liveness::Span span = live_.spans[&op];
    const ir::Region& cond = op.regions[0];
    const ir::Region& body = op.regions[1];
    const bool may_wait = MayWait(op);
    const int64_t loop = NewLoop(op, may_wait);
    if (may_wait) Emit(RunLoopEnter, op).imm[0] = loop;
    const PendingMoves enter = EmitPending(op, 0);
    Free(span.start);
    EnterRegion(cond);
    Resolve(enter, cond.args, span.start);
    const uint32_t top = Here();
    TILEVM_RETURN_IF_ERROR(EmitRegion(cond));
    const ir::Op& test = cond.ops.back();
    std::vector<RegId> tested;
    std::vector<ValueId> tested_values;
    uint32_t branch = 0;
    if (test.op == isa::Op::kYield) {
      for (size_t i = 1; i < test.operands.size(); ++i) {
        tested.push_back(reg_of_[test.operands[i]]);
        tested_values.push_back(test.operands[i]);
      }
      branch = Here();
      const ValueId flag[] = {test.operands[0]};
      Emit(RunBranchIfFalse, test).in = UseAll(flag);
      const PendingMoves into_body = EmitPending(test, 1);
      Free(live_.spans[&test].start);
      EnterRegion(body);
      ResolveInLoop(into_body, body.args, span, live_.spans[&test].start);
      TILEVM_RETURN_IF_ERROR(EmitRegion(body));
      const ir::Op& last = body.ops.back();
      if (last.op == isa::Op::kYield) {
        if (may_wait) {
          Inst& edge = Emit(RunBackEdge, op);
          edge.imm[0] = loop;
          edge.in = UseAll(last.operands);
          edge.out = UseAll(cond.args);
        }
        const PendingMoves back = EmitPending(last, 0);
        Free(live_.spans[&last].start);
        ResolveInLoop(back, cond.args, span, span.end);
        EmitJump(last, top);
      }
      Patch(branch);
    } else {  // the condition always leaves an enclosing block: the body is never reached
      EnterRegion(body);
      MarkReleased(body);
    }
    tested.resize(op.results.size(), kNoRegister);
    if (test.op == isa::Op::kYield) {
      FinishLoop(op, span, tested_values, tested);
    } else {
      Free(span.end);
      for (ValueId id : op.results) Allocate(id);
      FreeUnused(op);
    }
    return absl::OkStatus();
  }

  void MarkReleased(const ir::Region& region) {
    for (ValueId id : region.args) Release(id);
  }

  absl::Status EmitIf(const ir::Op& op) {
    const Liveness::Span span = live_.spans[&op];
    const uint32_t branch = Here();
    Emit(RunBranchIfFalse, op).in = UseAll(op.operands);
    Free(span.start);
    PendingMoves arms[2];
    uint32_t jump = 0;
    for (int arm = 0; arm < 2; ++arm) {
      const ir::Region& region = op.regions[arm];
      TILEVM_RETURN_IF_ERROR(EmitRegion(region));
      const ir::Op& last = region.ops.back();
      if (last.op == isa::Op::kYield) {
        arms[arm] = EmitPending(last, 0);
        Free(live_.spans[&last].start);
      }
      if (arm == 0) {
        jump = EmitJump(last);
        Patch(branch);
      }
    }
    Patch(jump);
    Free(span.end);
    for (ValueId id : op.results) Allocate(id);
    for (int arm = 0; arm < 2; ++arm) {
      if (op.regions[arm].ops.back().op == isa::Op::kYield) Resolve(arms[arm], op.results, span.end);
    }
    FreeUnused(op);
    return absl::OkStatus();
  }

  absl::Status EmitBlock(const ir::Op& op) {
    const Liveness::Span span = live_.spans[&op];
    BlockScope scope;
    blocks_.push_back(&scope);
    TILEVM_RETURN_IF_ERROR(EmitRegion(op.regions[0]));
    blocks_.pop_back();
    const ir::Op& last = op.regions[0].ops.back();
    if (last.op == isa::Op::kYield) {
      scope.exits.push_back(EmitPending(last, 0));
      Free(live_.spans[&last].start);
    }
    for (uint32_t jump : scope.jumps) Patch(jump);
    Free(span.end);
    for (ValueId id : op.results) Allocate(id);
    for (const PendingMoves& exit : scope.exits) Resolve(exit, op.results, span.end);
    FreeUnused(op);
    return absl::OkStatus();
  }

  // reduce, scan and map_elementwise with a region: the region is compiled beside the op, for many lanes if it has no control flow.
  absl::Status EmitCombine(const ir::Op& op) {
    const Liveness::Span span = live_.spans[&op];
    const ir::Region& region = op.regions[0];
    const TypeInfo* first = TypeOf(op.operands[0]);
    SubProgram sub;
    sub.lanes = HasControlFlow(region) ? 1 : std::max<int64_t>(first->n, 1);
    if (lanes_ > 0) return UnimplementedAt(op.loc, isa::Mnemonic(op.op), ": inside a combine function");
    const uint32_t skip = EmitJump(op);
    for (ValueId id : op.results) Allocate(id);  // before the region: it must not work in their registers
    const CapturedValues outer = Capture(op, region);
    lanes_ = sub.lanes > 1 ? sub.lanes : 0;
    const std::vector<BlockScope*> outer_blocks = std::move(blocks_);
    blocks_.clear();
    for (const auto& [id, saved] : outer) {
      reg_of_[id] = kNoRegister;
      type_of_[id] = nullptr;
      sub.captured_from.push_back({saved.first, saved.second});
      sub.captured_to.push_back(Allocate(id));
    }
    EnterRegion(region);
    for (ValueId id : region.args) sub.args.push_back(Use(id));
    sub.begin = Here();
    TILEVM_RETURN_IF_ERROR(EmitRegion(region));
    sub.end = Here();
    for (ValueId id : region.ops.back().operands) sub.results.push_back(Use(id));
    Free(live_.spans[&region.ops.back()].start);
    for (const auto& [id, saved] : outer) {
      if (options_.share_registers) free_[plan_->registers[reg_of_[id]].capacity].push_back(reg_of_[id]);
      reg_of_[id] = saved.first;
      type_of_[id] = saved.second;
    }
    lanes_ = 0;
    blocks_ = outer_blocks;
    Patch(skip);
    plan_->subs.push_back(std::move(sub));
    Inst& inst = Emit(nullptr, op);
    inst.sub = &plan_->subs.back();
    inst.in = UseAll(op.operands);
    inst.out = UseAll(op.results);
    TILEVM_RETURN_IF_ERROR(Bind(op, inst));
    Free(span.end);
    return absl::OkStatus();
  }

  // Values of the kernel that the region reads, by id.
  using CapturedValues = std::map<ValueId, std::pair<RegId, const TypeInfo*>>;
  CapturedValues Capture(const ir::Op& op, const ir::Region& region) {
    CapturedValues captured;
    const int start = live_.spans[&op].start;
    std::vector<const ir::Region*> pending = {&region};
    while (!pending.empty()) {
      const ir::Region* next = pending.back();
      pending.pop_back();
      for (const ir::Op& inner : next->ops) {
        for (ValueId id : inner.operands) {
          if (id != ir::kNoValue && live_.defined[id] < start) captured[id] = {reg_of_[id], TypeOf(id)};
        }
        for (const ir::Region& deeper : inner.regions) pending.push_back(&deeper);
      }
    }
    return captured;
  }

  int64_t NewLoop(const ir::Op& op, bool may_wait, bool bounded = false) {
    plan_->loops.push_back({op.loc, may_wait, bounded});
    plan_->may_wait |= may_wait;
    return static_cast<int64_t>(plan_->loops.size()) - 1;
  }

  const ir::Kernel& kernel_;
  const CompileOptions options_;
  std::shared_ptr<Plan> plan_;
  Liveness live_;
  std::vector<RegId> reg_of_;
  std::vector<const TypeInfo*> type_of_;
  absl::flat_hash_set<ValueId> released_;
  std::map<int64_t, std::vector<RegId>> free_;
  std::vector<BlockScope*> blocks_;
  int64_t lanes_ = 0;  // > 0 inside a combine region that runs on many lanes
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Plan>> Compile(const ir::Kernel& kernel, const CompileOptions& options) {
  TILEVM_RETURN_IF_ERROR(ir::Verify(kernel));
  for (const ir::ValueInfo& value : kernel.values) {
    const isa::Shape& shape = value.type.shape;
    const bool positive = std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent > 0; });
    if (!positive || value.type.rank() > isa::kMaxRank || value.type.elem_count() > isa::kMaxTileElems) {
      return InvalidAt(kernel.loc, kernel.name, ": ", value.name, " is ", isa::ToString(value.type), "; tiles have up to ", isa::kMaxRank,
                       " dimensions and ", isa::kMaxTileElems, " elements");
    }
  }
  auto owned = std::make_shared<const ir::Kernel>(kernel);
  TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, Compiler(*owned, options).Run());
  std::const_pointer_cast<Plan>(plan)->kernel = std::move(owned);
  return plan;
}

}  // namespace tilevm::vm
