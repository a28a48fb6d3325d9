#include "vm/interp/liveness.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace tilevm::vm {
namespace {

class Walk {
 public:
  Walk(const ir::Kernel& kernel, Liveness* out) : kernel_(kernel), out_(*out) {
    out_.defined.assign(kernel.values.size(), -1);
    out_.last_use.assign(kernel.values.size(), -1);
  }

  void Run() {
    for (const ir::Param& param : kernel_.params) Define(param.value);
    ++position_;
    Region(kernel_.body);
    out_.dying.resize(position_ + 1);
    for (ir::ValueId id = 0; id < out_.last_use.size(); ++id) {
      if (out_.defined[id] < 0) continue;
      out_.last_use[id] = std::max(out_.last_use[id], out_.defined[id]);
      out_.dying[out_.last_use[id]].push_back(id);
    }
  }

 private:
  struct Loop {
    int start;
    absl::flat_hash_set<ir::ValueId> used;
  };

  void Define(ir::ValueId id) { out_.defined[id] = position_; }

  void Use(ir::ValueId id, int position) {
    if (id == ir::kNoValue) return;
    out_.last_use[id] = std::max(out_.last_use[id], position);
    if (!loops_.empty()) loops_.back().used.insert(id);
  }

  void Region(const ir::Region& region) {
    for (ir::ValueId id : region.args) Define(id);
    ++position_;
    for (const ir::Op& op : region.ops) Visit(op);
  }

  void Visit(const ir::Op& op) {
    Liveness::Span& span = out_.spans[&op];
    span.start = position_++;
    const int start = span.start;
    const bool repeats = op.op == isa::Op::kFor || op.op == isa::Op::kWhile || IsCombine(op.op);
    for (ir::ValueId id : op.operands) Use(id, start);
    if (!op.regions.empty()) {
      if (repeats) loops_.push_back({start, {}});
      for (const ir::Region& region : op.regions) Region(region);
      const int end = position_++;
      if (MayWait(op)) {
        const std::vector<ir::ValueId>& args = op.regions[0].args;
        for (size_t i = op.op == isa::Op::kFor ? 1 : 0; i < args.size(); ++i) Use(args[i], end);
      }
      if (IsCombine(op.op)) {  // the operands are read while the region runs
        for (ir::ValueId id : op.operands) Use(id, end);
      }
      if (repeats) CloseLoop(end);
      out_.spans[&op] = {start, end};
    } else {
      out_.spans[&op] = {start, start};
    }
    for (ir::ValueId id : op.results) out_.defined[id] = out_.spans[&op].end;
  }

  void CloseLoop(int end) {
    Loop loop = std::move(loops_.back());
    loops_.pop_back();
    for (ir::ValueId id : loop.used) {
      if (out_.defined[id] > loop.start) continue;
      out_.last_use[id] = std::max(out_.last_use[id], end);
      if (!loops_.empty()) loops_.back().used.insert(id);
    }
  }

  const ir::Kernel& kernel_;
  Liveness& out_;
  std::vector<Loop> loops_;
  int position_ = 0;
};

}  // namespace

bool IsCombine(isa::Op op) { return op == isa::Op::kReduce || op == isa::Op::kScan || op == isa::Op::kMapElementwise; }

bool ReadsMemory(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    const isa::Effect effect = isa::Info(op.op).effect;
    if (effect == isa::Effect::kReads || effect == isa::Effect::kReadsWrites) return true;
    for (const ir::Region& inner : op.regions) {
      if (ReadsMemory(inner)) return true;
    }
  }
  return false;
}

namespace {

bool Leaves(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    if (op.op == isa::Op::kExit) return true;
    for (const ir::Region& inner : op.regions) {
      if (Leaves(inner)) return true;
    }
  }
  return false;
}

bool Polls(const ir::Region& region) {
  for (const ir::Op& op : region.ops) {
    if (isa::Info(op.op).effect == isa::Effect::kReadsWrites || (op.op == isa::Op::kLoad && op.BoolAttr("volatile"))) return true;
    for (const ir::Region& inner : op.regions) {
      if (Polls(inner)) return true;
    }
  }
  return false;
}

}  // namespace

bool Reads(const ir::Region& region, ir::ValueId id) {
  for (const ir::Op& op : region.ops) {
    if (std::find(op.operands.begin(), op.operands.end(), id) != op.operands.end()) return true;
    for (const ir::Region& inner : op.regions) {
      if (Reads(inner, id)) return true;
    }
  }
  return false;
}

bool MayWait(const ir::Op& op) {
  if (op.op == isa::Op::kWhile) return ReadsMemory(op.regions[0]) || ReadsMemory(op.regions[1]);
  return op.op == isa::Op::kFor && Leaves(op.regions[0]) && Polls(op.regions[0]);
}

Liveness ComputeLiveness(const ir::Kernel& kernel) {
  Liveness liveness;
  Walk(kernel, &liveness).Run();
  return liveness;
}

}  // namespace tilevm::vm
