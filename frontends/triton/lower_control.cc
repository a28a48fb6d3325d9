// Statements with regions. What a region assigns comes out as results of its instruction, in order of first assignment; in a cell, where
// names are globals, nothing does.
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontends/triton/lower.h"
#include "frontends/triton/names.h"
#include "isa/verifier.h"

namespace tilevm::triton {
namespace {

// Names that the part of an `if` from this clause on assigns, where control comes out of it.
void AssignedFrom(const IfStmt* stmt, size_t clause, NameSet* names) {
  for (size_t i = clause; i < stmt->clauses.size(); ++i) {
    CollectAssigned(stmt->clauses[i].test, names);
    if (!AlwaysLeaves(stmt->clauses[i].body)) CollectAssigned(stmt->clauses[i].body, names);
  }
  if (!AlwaysLeaves(stmt->else_body)) CollectAssigned(stmt->else_body, names);
}

bool LeavesFrom(const IfStmt* stmt, size_t clause) {
  for (size_t i = clause; i < stmt->clauses.size(); ++i) {
    if (!AlwaysLeaves(stmt->clauses[i].body)) return false;
  }
  return !stmt->else_body.empty() && AlwaysLeaves(stmt->else_body);
}

}  // namespace

// Those of the names that are registers here: none in a cell, no declared globals.
std::vector<absl::string_view> Lowering::Carried(const NameSet& names) const {
  std::vector<absl::string_view> carried;
  if (in_cell()) return carried;
  for (absl::string_view name : names.names()) {
    if (!scope_.globals.Has(name) && !scope_.nonlocals.Has(name) && !IsShared(name)) carried.push_back(name);
  }
  return carried;
}

bool Lowering::IsTemporary(absl::string_view name, const Span& lines) const {
  const std::optional<Reg> before = FindLocal(name);
  if (before.has_value() && *before != isa::kNoReg) return false;
  const auto reads = reads_.find(name);
  return reads == reads_.end() || (reads->second.first >= lines.line && reads->second.last <= lines.end_line);
}

// ---- if ----

void Lowering::IfElse(Reg test, const Span& span, const std::vector<absl::string_view>& names, absl::FunctionRef<void()> then_body,
                      absl::FunctionRef<void()> else_body, bool both_leave) {
  isa::Region then_region = InRegion(0, span, [&](const std::vector<Reg>&) {
    then_body();
    YieldNames(names, span);
  });
  isa::Region else_region = InRegion(0, span, [&](const std::vector<Reg>&) {
    else_body();
    YieldNames(names, span);
  });
  std::vector<Reg> results;
  for (absl::string_view name : names) {
    results.push_back(NewReg());
    SetLocal(name, results.back());
  }
  isa::Inst& inst = Emit(Op::kIf, span, {test});
  inst.regions.push_back(std::move(then_region));
  inst.regions.push_back(std::move(else_region));
  inst.results.assign(results.begin(), results.end());
  if (both_leave) End(Op::kReturn, span);  // never reached: a region must end in a terminator
}

void Lowering::If(const IfStmt* stmt, size_t index) {
  const IfStmt::Clause& clause = stmt->clauses[index];
  const Reg test = Expression(clause.test);
  const bool last = index + 1 == stmt->clauses.size();
  const bool then_leaves = AlwaysLeaves(clause.body);
  const bool else_leaves = last ? !stmt->else_body.empty() && AlwaysLeaves(stmt->else_body) : LeavesFrom(stmt, index + 1);
  NameSet assigned;
  if (!then_leaves) CollectAssigned(clause.body, &assigned);
  if (!else_leaves) AssignedFrom(stmt, index + 1, &assigned);
  std::vector<absl::string_view> names = Carried(assigned);
  if (!names.empty()) {
    std::erase_if(names, [&](absl::string_view name) {
      if (!IsTemporary(name, stmt->span)) return false;
      for (const IfStmt::Clause& each : stmt->clauses) {
        if (FirstUseOf(each.body, name) == FirstUse::kMaybeRead) return false;
      }
      return FirstUseOf(stmt->else_body, name) != FirstUse::kMaybeRead;
    });
  }
  IfElse(
      test, clause.span, names, [&] { Statements(clause.body); },
      [&] {
        if (last) {
          Statements(stmt->else_body);
        } else {
          If(stmt, index + 1);
        }
      },
      then_leaves && else_leaves);
}

// ---- loops ----

void Lowering::LeaveLoop(Op op, const Span& span) {
  if (loops_.empty()) {  // the parser has refused it
    Stub(span, "not in a loop");
    return;
  }
  const Loop& loop = loops_.back();
  if (op == Op::kBreak && !loop.broken.empty()) {
    const Reg yes = ConstBool(true, span);
    if (in_cell()) {
      Emit(Op::kSetGlobal, span, {yes}, Str(loop.broken));
    } else {
      SetLocal(loop.broken, yes);
    }
  }
  std::vector<Reg> values;
  for (absl::string_view name : loop.carried) values.push_back(NameOrUnbound(name, span));
  Emit(op, span).operands.assign(values.begin(), values.end());
  dead_ = true;
}

// A loop with else and break keeps in a hidden name whether a break left it.
absl::string_view Lowering::HiddenName(const Block& body, const Block& else_body, const Span& span) {
  if (else_body.empty() || !HasBreak(body)) return "";
  hidden_names_.push_back(std::make_unique<std::string>(absl::StrCat("break@", span.line, ":", span.col)));
  const absl::string_view name = *hidden_names_.back();
  const Reg no = ConstBool(false, span);
  if (in_cell()) {
    Emit(Op::kSetGlobal, span, {no}, Str(name));
    Define(name);
  } else {
    SetLocal(name, no);
  }
  return name;
}

void Lowering::LoopElse(const Loop& loop, const Block& else_body, const Span& span) {
  if (else_body.empty()) return;
  if (loop.broken.empty()) return Statements(else_body);
  const Reg broken = in_cell() ? EmitValue(Op::kGlobal, span, {}, Str(loop.broken)) : NameOrUnbound(loop.broken, span);
  const Reg test = EmitValue(Op::kNot, span, {broken});
  NameSet assigned;
  if (!AlwaysLeaves(else_body)) CollectAssigned(else_body, &assigned);
  IfElse(
      test, span, Carried(assigned), [&] { Statements(else_body); }, [] {}, false);
}

void Lowering::For(const ForStmt* stmt) {
  if (stmt->is_async) {
    Stub(stmt->span, "async for is not supported");
    return;
  }
  const Reg iterable = Expression(stmt->iterable);
  Loop loop;
  loop.broken = HiddenName(stmt->body, stmt->else_body, stmt->span);
  NameSet targets;
  CollectTargets(stmt->target, &targets);
  NameSet assigned;
  for (absl::string_view target : targets.names()) {
    // The item's own name lives on after the loop only if someone can see that: it had a value before, or is read behind the loop.
    bool carried = FindLocal(target).has_value();
    const auto reads = reads_.find(target);
    if (reads != reads_.end()) carried |= reads->second.last_outside_own_loop > stmt->span.end_line;
    if (carried) assigned.Add(target);
  }
  NameSet in_body;
  CollectAssigned(stmt->body, &in_body);
  for (absl::string_view name : in_body.names()) {
    const bool temporary = IsTemporary(name, stmt->span) && FirstUseOf(stmt->body, name) == FirstUse::kAssign;
    if (!targets.Has(name) && !temporary) assigned.Add(name);
  }
  loop.carried = Carried(assigned);
  if (!loop.broken.empty() && !in_cell()) loop.carried.push_back(loop.broken);
  std::vector<Reg> operands = {iterable};
  for (absl::string_view name : loop.carried) operands.push_back(NameOrUnbound(name, stmt->span));
  isa::Region body = InRegion(operands.size(), stmt->span, [&](const std::vector<Reg>& args) {
    for (size_t i = 0; i < loop.carried.size(); ++i) SetLocal(loop.carried[i], args[i + 1]);
    loops_.push_back(loop);
    AssignTo(stmt->target, args[0], /*bind=*/false);
    Statements(stmt->body);
    loops_.pop_back();
    YieldNames(loop.carried, stmt->span);
  });
  std::vector<Reg> results;
  for (absl::string_view name : loop.carried) {
    results.push_back(NewReg());
    SetLocal(name, results.back());
  }
  isa::Inst& inst = Emit(Op::kFor, stmt->span);
  inst.operands.assign(operands.begin(), operands.end());
  inst.results.assign(results.begin(), results.end());
  inst.regions.push_back(std::move(body));
  LoopElse(loop, stmt->else_body, stmt->span);
}

void Lowering::While(const WhileStmt* stmt) {
  Loop loop;
  loop.broken = HiddenName(stmt->body, stmt->else_body, stmt->span);
  NameSet assigned;
  CollectAssigned(stmt->test, &assigned);
  NameSet in_body;
  CollectAssigned(stmt->body, &in_body);
  for (absl::string_view name : in_body.names()) {
    const bool temporary = IsTemporary(name, stmt->span) && !Mentions(stmt->test, name) && FirstUseOf(stmt->body, name) == FirstUse::kAssign;
    if (!temporary) assigned.Add(name);
  }
  loop.carried = Carried(assigned);
  if (!loop.broken.empty() && !in_cell()) loop.carried.push_back(loop.broken);
  std::vector<Reg> operands;
  for (absl::string_view name : loop.carried) operands.push_back(NameOrUnbound(name, stmt->span));
  isa::Region test = InRegion(operands.size(), stmt->test->span, [&](const std::vector<Reg>& args) {
    for (size_t i = 0; i < loop.carried.size(); ++i) SetLocal(loop.carried[i], args[i]);
    std::vector<Reg> values = {Expression(stmt->test)};
    for (absl::string_view name : loop.carried) values.push_back(NameOrUnbound(name, stmt->span));
    Emit(Op::kYield, stmt->test->span).operands.assign(values.begin(), values.end());
    dead_ = true;
  });
  isa::Region body = InRegion(operands.size(), stmt->span, [&](const std::vector<Reg>& args) {
    for (size_t i = 0; i < loop.carried.size(); ++i) SetLocal(loop.carried[i], args[i]);
    loops_.push_back(loop);
    Statements(stmt->body);
    loops_.pop_back();
    YieldNames(loop.carried, stmt->span);
  });
  std::vector<Reg> results;
  for (absl::string_view name : loop.carried) {
    results.push_back(NewReg());
    SetLocal(name, results.back());
  }
  isa::Inst& inst = Emit(Op::kWhile, stmt->span);
  inst.operands.assign(operands.begin(), operands.end());
  inst.results.assign(results.begin(), results.end());
  inst.regions.push_back(std::move(test));
  inst.regions.push_back(std::move(body));
  LoopElse(loop, stmt->else_body, stmt->span);
}

// ---- try, with ----

// One handler after the other: `if isinstance(exception, type): ... else: the next`; without a match it is raised again.
void Lowering::Handlers(const TryStmt* stmt, size_t index, Reg exception, const std::vector<absl::string_view>& names) {
  if (index == stmt->handlers.size()) return End(Op::kRaise, stmt->span, {exception});
  const TryStmt::Handler& handler = stmt->handlers[index];
  const auto run = [&] {
    if (!handler.name.empty()) WriteName(handler.name, exception, handler.span, /*bind=*/false);
    Statements(handler.body);
    if (!handler.name.empty() && !AlwaysLeaves(handler.body)) Unbind(handler.name, handler.span);
  };
  if (handler.type == nullptr) return run();
  const Reg callee = ConstPath("builtins.isinstance", handler.span);
  const Reg type = Expression(handler.type);
  const Reg test = EmitValue(Op::kCall, handler.span, {callee, exception, type});
  bool rest_leaves = true;
  for (size_t i = index + 1; i < stmt->handlers.size(); ++i) rest_leaves = rest_leaves && AlwaysLeaves(stmt->handlers[i].body);
  const bool leaves = AlwaysLeaves(handler.body);
  IfElse(
      test, handler.span, leaves && rest_leaves ? std::vector<absl::string_view>() : names, run, [&] { Handlers(stmt, index + 1, exception, names); },
      leaves && rest_leaves);
}

void Lowering::Try(const TryStmt* stmt) {
  if (stmt->is_group) {
    Stub(stmt->span, "except* is not supported");
    return;
  }
  NameSet assigned;
  CollectAssigned(stmt->body, &assigned);
  for (const TryStmt::Handler& handler : stmt->handlers) {
    if (!handler.name.empty()) assigned.Add(handler.name);
    CollectAssigned(handler.body, &assigned);
  }
  CollectAssigned(stmt->else_body, &assigned);
  const std::vector<absl::string_view> names = Carried(assigned);
  // In a function, too, nothing is carried: what the parts assign is in cells (scope.h), so that each sees how far the one before it came.
  isa::Region body = InRegion(0, stmt->span, [&](const std::vector<Reg>&) {
    try_depth_ += stmt->handlers.empty() ? 0 : 1;
    Statements(stmt->body);
    try_depth_ -= stmt->handlers.empty() ? 0 : 1;
    YieldNames(names, stmt->span);
  });
  isa::Region handler = InRegion(1, stmt->span, [&](const std::vector<Reg>& args) {
    Handlers(stmt, 0, args[0], names);
    YieldNames(names, stmt->span);
  });
  isa::Region orelse = InRegion(0, stmt->span, [&](const std::vector<Reg>&) {
    Statements(stmt->else_body);
    YieldNames({}, stmt->span);
  });
  NameSet final_names;
  CollectAssigned(stmt->final_body, &final_names);
  isa::Region final_region = InRegion(0, stmt->span, [&](const std::vector<Reg>&) {
    Statements(stmt->final_body);
    YieldNames({}, stmt->span);
  });
  std::vector<Reg> results;
  for (absl::string_view name : names) {
    results.push_back(NewReg());
    SetLocal(name, results.back());
  }
  isa::Inst& inst = Emit(Op::kTry, stmt->span);
  inst.results.assign(results.begin(), results.end());
  inst.regions.push_back(std::move(body));
  inst.regions.push_back(std::move(handler));
  inst.regions.push_back(std::move(orelse));
  inst.regions.push_back(std::move(final_region));
  for (absl::string_view name : Carried(final_names)) ForgetLocal(name);
  bool leaves = AlwaysLeaves(stmt->body) || AlwaysLeaves(stmt->else_body);
  for (const TryStmt::Handler& each : stmt->handlers) leaves = leaves && AlwaysLeaves(each.body);
  if (leaves || AlwaysLeaves(stmt->final_body)) End(Op::kReturn, stmt->span);
}

void Lowering::With(const WithStmt* stmt, size_t index) {
  if (stmt->is_async) {
    Stub(stmt->span, "async with is not supported");
    return;
  }
  if (index == stmt->items.size()) return Statements(stmt->body);
  const WithStmt::Item& item = stmt->items[index];
  const Reg context = Expression(item.context);
  NameSet assigned;
  for (size_t i = index; i < stmt->items.size(); ++i) CollectTargets(stmt->items[i].target, &assigned);
  CollectAssigned(stmt->body, &assigned);
  const std::vector<absl::string_view> names = Carried(assigned);
  isa::Region body = InRegion(1, stmt->span, [&](const std::vector<Reg>& args) {
    if (item.target != nullptr) AssignTo(item.target, args[0], /*bind=*/true);
    With(stmt, index + 1);
    YieldNames(names, stmt->span);
  });
  std::vector<Reg> results;
  for (absl::string_view name : names) {
    results.push_back(NewReg());
    SetLocal(name, results.back());
  }
  isa::Inst& inst = Emit(Op::kWith, stmt->span, {context});
  inst.results.assign(results.begin(), results.end());
  inst.regions.push_back(std::move(body));  // however it ends: the context may take an exception for itself
}

}  // namespace tilevm::triton
