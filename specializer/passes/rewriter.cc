// The rewriting walk and what passes ask about ops.
#include "specializer/passes/rewriter.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "isa/eval.h"

namespace tilevm::specializer {
namespace {

struct AppendAttr {
  std::string* key;
  void operator()(std::monostate) const {}
  void operator()(bool value) const { absl::StrAppend(key, value ? "t" : "f"); }
  void operator()(int64_t value) const { absl::StrAppend(key, value); }
  void operator()(double value) const {
    key->append(reinterpret_cast<const char*>(&value), sizeof(value));  // by bits: 0.0 is not -0.0
  }
  void operator()(const std::string& value) const { absl::StrAppend(key, value.size(), ":", value); }
  void operator()(const std::vector<int64_t>& value) const {
    for (int64_t v : value) absl::StrAppend(key, v, ",");
  }
  void operator()(isa::DType value) const { absl::StrAppend(key, static_cast<int>(value)); }
};

}  // namespace

void Rewriter::Run(const Visitor& visit) { Walk(kernel_->body, visit); }

void Rewriter::Walk(ir::Region& region, const Visitor& visit) {
  std::vector<ir::Op> ops = std::move(region.ops);
  region.ops.clear();
  region.ops.reserve(ops.size());
  builder_.PushRegion(&region);
  for (ir::Op& op : ops) {
    for (ir::ValueId& operand : op.operands) operand = Resolve(operand);
    for (ir::Region& inner : op.regions) Walk(inner, visit);
    const size_t before = region.ops.size();
    if (visit(op)) region.ops.push_back(std::move(op));
    for (size_t i = before; i < region.ops.size(); ++i) Record(region.ops[i]);
  }
  builder_.PopRegion();
}

void Rewriter::Record(const ir::Op& op) {
  if (!op.regions.empty() || op.results.empty()) return;
  copies_.push_back(op);
  for (ir::ValueId id : op.results) {
    if (defs_.size() <= id) defs_.resize(id + 1, nullptr);
    defs_[id] = &copies_.back();
  }
}

void Rewriter::Replace(ir::ValueId from, ir::ValueId to) {
  if (replaced_.size() <= from) replaced_.resize(from + 1, ir::kNoValue);
  replaced_[from] = Resolve(to);
  // The source's name survives on the value that takes over.
  ir::ValueInfo& info = kernel_->values[replaced_[from]];
  if (info.name.empty()) info.name = kernel_->values[from].name;
}

ir::ValueId Rewriter::Resolve(ir::ValueId id) const {
  while (id < replaced_.size() && replaced_[id] != ir::kNoValue) id = replaced_[id];
  return id;
}

std::vector<int> CountUses(const ir::Kernel& kernel) {
  std::vector<int> uses(kernel.values.size(), 0);
  std::vector<const ir::Region*> pending = {&kernel.body};
  while (!pending.empty()) {
    const ir::Region* region = pending.back();
    pending.pop_back();
    for (const ir::Op& op : region->ops) {
      for (ir::ValueId id : op.operands) {
        if (id != ir::kNoValue) ++uses[id];
      }
      for (const ir::Region& inner : op.regions) pending.push_back(&inner);
    }
  }
  return uses;
}

bool IsPure(const ir::Op& op) {
  const isa::OpInfo& info = isa::Info(op.op);
  if (op.op == isa::Op::kInlineAsm) return op.BoolAttr("is_pure", true);
  return (info.effect == isa::Effect::kPure || info.effect == isa::Effect::kId) && !isa::IsTerminator(op.op) && op.op != isa::Op::kExit;
}

bool IsElementwise(isa::Op op) {
  return isa::EvalArity(op) > 0 || op == isa::Op::kCast || op == isa::Op::kBitcast || op == isa::Op::kPtrAdd || op == isa::Op::kFDiv;
}

std::string KeyOf(const ir::Kernel& kernel, const ir::Op& op) {
  std::string key = absl::StrCat(static_cast<int>(op.op));
  for (ir::ValueId operand : op.operands) absl::StrAppend(&key, "%", operand);
  for (ir::ValueId result : op.results) absl::StrAppend(&key, ">", isa::ToString(kernel.TypeOf(result)));
  for (const ir::NamedAttr& attr : op.attrs) {
    absl::StrAppend(&key, ";", attr.name, "=");
    std::visit(AppendAttr{&key}, attr.value);
  }
  return key;
}

ir::Op MakeOp(isa::Op op, ir::ValueId result, absl::Span<const ir::ValueId> operands, Loc loc) {
  ir::Op made;
  made.op = op;
  made.operands.assign(operands.begin(), operands.end());
  made.results = {result};
  made.loc = loc;
  return made;
}

ir::ValueId EmitCopy(ir::Builder& builder, const ir::Op& like, std::vector<ir::ValueId> operands, isa::Type result) {
  ir::Op copy;
  copy.op = like.op;
  copy.operands.assign(operands.begin(), operands.end());
  copy.attrs = like.attrs;
  copy.loc = like.loc;
  const isa::Type results[] = {std::move(result)};
  return builder.EmitOp(std::move(copy), results)[0];
}

}  // namespace tilevm::specializer
