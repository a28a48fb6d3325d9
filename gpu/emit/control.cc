// Loops, branches and blocks: C++ statements over mutable result variables. A region's arguments are other names of the loop's results.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gpu/emit/printer.h"

namespace tilevm::gpu {

// targets = values, all at once: a value that is itself one of the targets is copied first.
void Printer::AssignAll(const std::vector<std::string>& targets, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> sources;
  std::set<std::string> written;
  for (size_t i = 0; i < targets.size(); ++i) {
    std::string source = Name(values[i]);
    if (source != targets[i] && written.count(source) != 0) {
      const std::string copy = absl::StrCat("old", next_label_++);
      Line("const auto ", copy, " = ", source, ";");
      source = copy;
    }
    sources.push_back(source);
    written.insert(targets[i]);
  }
  // The copies must be taken before anything is written.
  for (size_t i = 0; i < targets.size(); ++i) {
    if (sources[i] != targets[i]) Line(targets[i], " = ", sources[i], ";");
  }
}

void Printer::NoteScalar(const ir::Op& op, size_t begin) {
  if (op.results.size() != 1 || IsTile(op.results[0]) || !op.regions.empty() || isa::Info(op.op).effect != isa::Effect::kPure) return;
  const std::string name = Name(op.results[0]);
  int statements = 0;
  for (absl::string_view line : absl::StrSplit(absl::string_view(body_).substr(begin), '\n', absl::SkipWhitespace())) {
    if (absl::StartsWith(line, "#line")) continue;
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
    const size_t at = text.find(absl::StrCat(" ", name, " = "));
    // "i32 NAME = …;" or "const i32 NAME = …;"
    if (++statements > 1 || at == absl::string_view::npos || text.back() != ';' || text.substr(0, at).find_first_of("=({<") != absl::string_view::npos) return;
  }
  if (statements == 1) scalars_.push_back({begin, body_.size(), name});
}

void Printer::SinkScalars() {
  const auto uses = [](absl::string_view text, absl::string_view name) {
    const auto inside = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (size_t at = text.find(name); at != absl::string_view::npos; at = text.find(name, at + 1)) {
      if ((at == 0 || !inside(text[at - 1])) && (at + name.size() == text.size() || !inside(text[at + name.size()]))) return true;
    }
    return false;
  };
  std::string stays, sunk;  // of what stands behind the scalar that is looked at
  for (auto scalar = scalars_.rbegin(); scalar != scalars_.rend(); ++scalar) {
    stays.insert(0, body_, scalar->end);
    (uses(stays, scalar->name) ? stays : sunk).insert(0, body_, scalar->begin, scalar->end - scalar->begin);
    body_.resize(scalar->begin);
  }
  absl::StrAppend(&body_, stays, sunk);
  scalars_.clear();
}

absl::Status Printer::PrintRegion(const ir::Region& region, const ir::Op* owner) {
  std::vector<Scalar> outer_scalars = std::exchange(scalars_, {});
  std::vector<const ir::Op*> outer_next = std::exchange(next_ops_, {});
  const pipeline::Loop* plan = owner != nullptr && owner->op == isa::Op::kFor && options_.schedule != nullptr ? options_.schedule->LoopOf(region.args[0]) : nullptr;
  if (owner != nullptr) scratch_state_ = ScratchState::kUnknown;
  const bool outer_narrow = stay_narrow_;
  stay_narrow_ = false;
  std::vector<const ir::Op*> order = PrintOrder(region, plan == nullptr && !HasRoles(), &stay_narrow_);
  const bool overlaps = plan != nullptr && plan->overlap.has_value();
  if (overlaps) OrderOverlap(order);
  size_t gathered = 0;  // ops up to here have been looked at
  for (size_t i = 0; i < order.size(); ++i) {
    WaitBefore(*order[i]);
    TILEVM_ASSIGN_OR_RETURN(const bool loaded_ahead, PrintLoadsAhead(*order[i]));
    if (loaded_ahead) continue;
    if (i >= gathered && IsHandedOut(*order[i])) {
      std::vector<const ir::Op*> loads;
      const size_t first = GatherScalarLoads(order, i, &loads);
      gathered = i + first + 1;
      if (loads.size() > 1) {
        for (size_t end = i + first; i < end; ++i) TILEVM_RETURN_IF_ERROR(PrintOp(*order[i], owner, region));
        PrintScalarLoads(loads);
        i += loads.size() - 1;
        continue;
      }
    }
    const ir::Op* op = order[i];
    if (HasRoles()) TakeMadeMaps(*op);
    if (plan != nullptr && op->results.size() == 1 && plan->only_ahead.count(op->results[0]) != 0) continue;
    if (HasRoles() && roles().skipped.count(op) != 0) continue;
    if (overlaps) WaitForOperands(*op);
    if (consumed_ != nullptr && plan == consumed_) TakeRings(*op);
    const bool early = overlaps && op->op == isa::Op::kDot && plan->overlap->IsEarly(op->results[0]);
    if (early && op->results[0] == plan->overlap->early.front()) TakeTurn(true);
    const bool told = HasRoles() && roles().told.count(op) != 0;
    if (told) {
      if (roles().box_stores.count(op) == 0 || !OnlyComputes()) Flush();
      if (waited_store_ != op) Line("told.before();");
    }
    const size_t begin = body_.size();
    if (op->op == isa::Op::kFor && HasRoles()) next_ops_.assign(order.begin() + static_cast<ptrdiff_t>(i) + 1, order.end());
    TILEVM_RETURN_IF_ERROR(PrintOp(*op, owner, region));
    if (HasRoles()) NoteScalar(*op, begin);
    if (told) {
      Flush();
      Line("told.after", MadeFor(*op) < 0 ? "();" : roles().box_stores.at(op).own_rows ? "_boxes((threadIdx.x & 127) == 0);" : "_boxes(threadIdx.x == 0);");
    }
    if (early && op->results[0] == plan->overlap->early.back()) TakeTurn(false);
    if (!HasRoles()) continue;
    if (auto done = roles().done_after.find(op); done != roles().done_after.end()) {
      for (int ring : done->second) Line("ring", ring, ".release<0>(", ReleaseBy(ring), "); ring", ring, ".advance();");
    }
  }
  if (owner != nullptr) scratch_state_ = ScratchState::kUnknown;
  Flush();
  stay_narrow_ = outer_narrow;
  scalars_ = std::move(outer_scalars);
  next_ops_ = std::move(outer_next);
  return absl::OkStatus();
}

absl::Status Printer::PrintFor(const ir::Op& op) {
  if (options_.schedule != nullptr) {
    if (const pipeline::Loop* plan = options_.schedule->LoopOf(op.regions[0].args[0])) {
      if (ToldLater() && (plan->delay.has_value() || plan->overlap.has_value())) Line("told.tell();");
      return plan->delay.has_value() ? PrintDelayedFor(op, *plan) : HasRoles() ? PrintConsumerFor(op, *plan) : PrintPipelinedFor(op, *plan);
    }
  }
  const ir::Region& body = op.regions[0];
  for (size_t i = 0; i < op.results.size(); ++i) Line(Declared(op.results[i]), " = ", Name(op.operands[3 + i]), ";");
  for (size_t i = 0; i < op.results.size(); ++i) names_[body.args[1 + i]] = Name(op.results[i]);
  // What the body does last is before what it does first; and it may not run at all.
  const Pending before = pending_;
  CollectAccesses(body, pending_);
  const std::string iv = Name(body.args[0]), type = CudaType(TypeOf(body.args[0]).elem), trips = absl::StrCat("trips", next_label_++);
  const std::string step = op.FindAttr("step") != nullptr ? absl::StrCat(op.IntAttr("step")) : Name(op.operands[2]);
  const bool counted = HasRoles() && roles().trips.count(body.args[0]) != 0;
  if (counted) Line("i32 ", iv, "_trip = 0;");
  Line(type, " ", iv, " = ", Name(op.operands[0]), ";");
  OpenLoadsAhead(op, trips);
  Line("#pragma unroll 1");
  Line("for (", CountType(op), " ", trips, " = trip_count<", type, ">(", iv, ", ", Name(op.operands[1]), ", ", step, "); ", trips, " != 0; --", trips, ", ", iv, " = add(", iv,
       ", static_cast<", type, ">(", step, "))", counted ? absl::StrCat(", ++", iv, "_trip") : "", ") {");
  ++depth_;
  ++loops_;
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintRegion(body, &op));
  ahead_.pop_back();
  EndScope(scope);
  --loops_;
  --depth_;
  Line("}");
  pending_.Join(before);
  return absl::OkStatus();
}

absl::Status Printer::PrintWhile(const ir::Op& op) {
  for (size_t i = 0; i < op.results.size(); ++i) Line(Declared(op.results[i]), " = ", Name(op.operands[i]), ";");
  for (const ir::Region& region : op.regions) {
    for (size_t i = 0; i < op.results.size(); ++i) names_[region.args[i]] = Name(op.results[i]);
    CollectAccesses(region, pending_);
  }
  Line("while (true) {");
  ++depth_;
  ++loops_;
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintRegion(op.regions[0], &op));
  const Pending at_test = pending_;
  TILEVM_RETURN_IF_ERROR(PrintRegion(op.regions[1], &op));
  EndScope(scope);
  --loops_;
  --depth_;
  Line("}");
  pending_ = at_test;  // the loop is left there
  return absl::OkStatus();
}

absl::Status Printer::PrintIf(const ir::Op& op) {
  for (ir::ValueId result : op.results) Line(Declared(result), ";");
  Line("if (", Name(op.operands[0]), ") {");
  const Pending before = pending_;
  ++depth_;
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintRegion(op.regions[0], &op));
  EndScope(scope);
  --depth_;
  const Pending after_then = pending_;
  pending_ = before;
  Line("} else {");
  ++depth_;
  TILEVM_RETURN_IF_ERROR(PrintRegion(op.regions[1], &op));
  EndScope(scope);
  --depth_;
  Line("}");
  pending_.Join(after_then);
  return absl::OkStatus();
}

absl::Status Printer::PrintBlock(const ir::Op& op) {
  for (ir::ValueId result : op.results) Line(Declared(result), ";");
  const int number = next_label_++;
  Line("{");
  ++depth_;
  blocks_.push_back({number, &op, Pending()});
  const size_t scope = materialised_.size();
  const absl::Status status = PrintRegion(op.regions[0], &op);
  EndScope(scope);
  const Pending at_exits = blocks_.back().at_exits;
  blocks_.pop_back();
  TILEVM_RETURN_IF_ERROR(status);
  --depth_;
  Line("}");
  Line("end", number, ":;");
  pending_.Join(at_exits);
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
