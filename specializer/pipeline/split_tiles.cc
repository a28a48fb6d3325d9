#include "specializer/pipeline/split_tiles.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "specializer/passes/rewriter.h"

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

class Splitter {
 public:
  Splitter(ir::Kernel kernel, bool no_alias, bool tail) : kernel_(std::move(kernel)), no_alias_(no_alias), tail_(tail) {
    std::map<ValueId, ir::Op> shared;
    Unshare(kernel_.body, shared);
  }

  // Halves one axis; false if there is none that can be.
  bool Halve() {
    Collect();
    if (dot_ == nullptr || !effects_fit_) return false;
    const isa::Shape& shape = kernel_.TypeOf(dot_->results[0]).shape;
    if (shape.size() != 2) return false;
    for (int dim : {0, 1}) {
      if (shape[dim] < 2 * kLeastPartExtent || (tail_ && dim == 0)) continue;
      const int axis = Find(NodeOf(dot_->results[0], dim));
      if (!MayDivide(axis)) continue;
      if (dim == 0 && shape[0] / 2 < 16 * kernel_.options.num_warps) {
        if (kernel_.options.num_warps < 8) continue;
        kernel_.options.num_warps /= 2;
      }
      Divide(axis);
      return true;
    }
    return false;
  }
  ir::Kernel Take() { return std::move(kernel_); }

 private:
  // --- axes: classes of (value, dimension) ---

  int NodeOf(ValueId id, int dim) {
    auto [it, added] = nodes_.insert({{id, dim}, static_cast<int>(parent_.size())});
    if (added) parent_.push_back(it->second);
    return it->second;
  }
  int Find(int node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void Join(ValueId a, int dim_a, ValueId b, int dim_b) {
    if (a == kNoValue || b == kNoValue) return;
    parent_[Find(NodeOf(a, dim_a))] = Find(NodeOf(b, dim_b));
  }
  void JoinAll(ValueId a, ValueId b) {
    if (a == kNoValue || b == kNoValue) return;
    const int rank = kernel_.TypeOf(a).rank();
    if (kernel_.TypeOf(b).rank() != rank) return;  // a scalar among tiles
    for (int dim = 0; dim < rank; ++dim) Join(a, dim, b, dim);
  }
  void Fix(ValueId id, int dim) { fixed_.push_back(NodeOf(id, dim)); }
  void FixAll(const ir::Op& op) {
    for (ValueId id : op.operands) {
      for (int dim = 0; id != kNoValue && dim < kernel_.TypeOf(id).rank(); ++dim) Fix(id, dim);
    }
    for (ValueId id : op.results) {
      for (int dim = 0; dim < kernel_.TypeOf(id).rank(); ++dim) Fix(id, dim);
    }
  }

  // Each use of an arange or a splat gets its own: rows and columns that count alike are different axes.
  void Unshare(ir::Region& region, std::map<ValueId, ir::Op>& shared) {
    std::vector<ir::Op> out;
    for (ir::Op& op : region.ops) {
      for (ir::Region& inner : op.regions) Unshare(inner, shared);
      for (ValueId& operand : op.operands) {
        auto found = operand == kNoValue ? shared.end() : shared.find(operand);
        if (found == shared.end()) continue;
        ir::Op copy = found->second;
        operand = kernel_.NewValue(kernel_.TypeOf(operand));
        copy.results = {operand};
        out.push_back(std::move(copy));
      }
      if (op.op == Op::kArange || op.op == Op::kSplat) shared[op.results[0]] = op;
      else out.push_back(std::move(op));
    }
    region.ops = std::move(out);
  }

  void Collect() {
    nodes_.clear();
    parent_.clear();
    fixed_.clear();
    aranges_.clear();
    effects_.clear();
    params_.clear();
    read_.clear();
    written_.clear();
    dot_ = nullptr;
    effects_fit_ = true;
    for (size_t i = 0; i < kernel_.params.size(); ++i) params_[kernel_.params[i].value] = static_cast<int>(i);
    Collect(kernel_.body);
    for (int param : written_) effects_fit_ &= read_.count(param) == 0 && param >= 0;
    effects_fit_ &= written_.empty() || (no_alias_ && read_.count(-1) == 0);
  }

  void Collect(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      const ValueId result = op.results.empty() ? kNoValue : op.results[0], operand = op.operand(0);
      if (op.results.size() == 1 && kernel_.TypeOf(result).elem.pointer) TrackPointer(op);
      switch (op.op) {
        case Op::kArange: aranges_.insert(result); break;
        case Op::kConst: case Op::kSplat: case Op::kProgramId: case Op::kNumPrograms: case Op::kAssume: break;
        case Op::kBroadcast:
          if (kernel_.TypeOf(operand).rank() != kernel_.TypeOf(result).rank()) break;
          for (int dim = 0; dim < kernel_.TypeOf(result).rank(); ++dim) {
            if (kernel_.TypeOf(operand).shape[dim] == kernel_.TypeOf(result).shape[dim]) Join(operand, dim, result, dim);
          }
          break;
        case Op::kExpandDims: case Op::kReshape: {
          // Dimensions of 1 come and go; anything else moves elements between axes.
          const isa::Shape &from = kernel_.TypeOf(operand).shape, &to = kernel_.TypeOf(result).shape;
          size_t i = 0, j = 0;
          std::vector<std::pair<int, int>> pairs;
          while (i < from.size() || j < to.size()) {
            if (i < from.size() && from[i] == 1) ++i;
            else if (j < to.size() && to[j] == 1) ++j;
            else if (i < from.size() && j < to.size() && from[i] == to[j]) pairs.push_back({static_cast<int>(i++), static_cast<int>(j++)});
            else break;
          }
          if (i < from.size() || j < to.size()) {
            FixAll(op);
          } else {
            for (const auto& [a, b] : pairs) Join(operand, a, result, b);
          }
          break;
        }
        case Op::kPermute: {
          const auto* dims = std::get_if<std::vector<int64_t>>(op.FindAttr("dims"));
          for (size_t dim = 0; dim < dims->size(); ++dim) Join(operand, static_cast<int>((*dims)[dim]), result, static_cast<int>(dim));
          break;
        }
        case Op::kDot: {
          if (kernel_.TypeOf(result).rank() != 2) {
            FixAll(op);
            break;
          }
          if (dot_ == nullptr) dot_ = &op;
          Join(operand, 0, result, 0);
          Join(op.operands[1], 1, result, 1);
          JoinAll(op.operands[2], result);
          Fix(operand, 1);
          Fix(op.operands[1], 0);
          break;
        }
        case Op::kReduce: {
          const int axis = static_cast<int>(op.IntAttr("axis"));
          for (size_t i = 0; i < op.results.size(); ++i) {
            const ValueId tile = op.operands[i];
            Fix(tile, axis);
            JoinAll(tile, operand);
            if (kernel_.TypeOf(op.results[i]).rank() == kernel_.TypeOf(tile).rank()) {
              for (int dim = 0; dim < kernel_.TypeOf(tile).rank(); ++dim) {
                if (dim != axis) Join(tile, dim, op.results[i], dim);
              }
            } else {
              for (int dim = 0, to = 0; dim < kernel_.TypeOf(tile).rank(); ++dim) {
                if (dim != axis) Join(tile, dim, op.results[i], to++);
              }
            }
          }
          break;
        }
        case Op::kLoad: case Op::kStore:
          for (ValueId other : op.operands) JoinAll(operand, other);
          if (result != kNoValue) JoinAll(operand, result);
          (op.op == Op::kLoad ? read_ : written_).insert(ParamOf(operand));
          if (op.op == Op::kStore) effects_.push_back(&op);
          if (op.BoolAttr("volatile")) effects_fit_ = false;
          break;
        case Op::kFor: case Op::kWhile: case Op::kIf: case Op::kBlock:
          if (op.op == Op::kFor) {
            const ir::Region& body = op.regions[0];
            for (size_t i = 0; i < op.results.size(); ++i) {
              Carry(op.operands[3 + i], body.args[1 + i]);
              JoinAll(op.operands[3 + i], op.results[i]);
              JoinAll(body.args[1 + i], op.results[i]);
              JoinAll(body.ops.back().operands[i], op.results[i]);
            }
            if (body.ops.back().op != Op::kYield) effects_fit_ = false;
          } else if (op.op == Op::kIf && op.regions.size() == 2) {
            for (const ir::Region& arm : op.regions) {
              if (arm.ops.back().op != Op::kYield) {
                effects_fit_ = false;
                continue;
              }
              for (size_t i = 0; i < op.results.size(); ++i) JoinAll(arm.ops.back().operands[i], op.results[i]);
            }
          } else {
            effects_fit_ = false;
          }
          for (const ir::Region& inner : op.regions) Collect(inner);
          break;
        case Op::kYield: break;
        default:
          if (specializer::IsElementwise(op.op) && op.regions.empty()) {
            for (ValueId other : op.operands) JoinAll(result, other);
            break;
          }
          FixAll(op);
          if (isa::Info(op.op).effect != isa::Effect::kPure) effects_fit_ = false;
          break;
      }
    }
  }

  // Which parameter a pointer comes from; -1 if it is not known.
  void TrackPointer(const ir::Op& op) {
    const bool follows = op.op == Op::kSplat || op.op == Op::kBroadcast || op.op == Op::kExpandDims || op.op == Op::kReshape || op.op == Op::kPermute || op.op == Op::kPtrAdd;
    params_[op.results[0]] = follows ? ParamOf(op.operands[0]) : -1;
  }
  void Carry(ValueId init, ValueId arg) {
    if (kernel_.TypeOf(arg).elem.pointer) params_[arg] = ParamOf(init);
  }
  int ParamOf(ValueId pointer) const {
    auto found = params_.find(pointer);
    return found == params_.end() ? -1 : found->second;
  }

  bool MayDivide(int axis) {
    for (int node : fixed_) {
      if (Find(node) == axis) return false;
    }
    // What comes from outside and is not an arange (a parameter is a scalar) would have to be cut.
    bool ranged = false;
    ValueId last = kNoValue;
    for (const auto& [key, node] : nodes_) {
      if (Find(node) != axis) continue;
      if (key.first == last) return false;  // two dimensions of one value
      last = key.first;
      if (kernel_.TypeOf(key.first).shape[key.second] % 2 != 0) return false;
      ranged |= aranges_.count(key.first) != 0;
    }
    if (!ranged) return false;
    for (const ir::Op* op : effects_) {
      bool along = false;
      for (int dim = 0; dim < kernel_.TypeOf(op->operands[0]).rank(); ++dim) along |= Find(NodeOf(op->operands[0], dim)) == axis;
      if (!along) return false;
    }
    return true;
  }

  // --- the new kernel ---

  static ir::Op Make(Op op, ValueId result, std::initializer_list<ValueId> operands, Loc loc) { return specializer::MakeOp(op, result, operands, loc); }
  ValueId Number(int64_t value, std::vector<ir::Op>& out, Loc loc) {
    const ValueId id = kernel_.NewValue(isa::ScalarType(isa::DType::kI32));
    ir::Op op = Make(Op::kConst, id, {}, loc);
    op.SetAttr("value", value);
    out.push_back(std::move(op));
    return id;
  }

  void Divide(int axis) {
    for (const auto& [key, node] : nodes_) {
      if (Find(node) == axis) kernel_.values[key.first].type.shape[key.second] /= 2;
    }
    const isa::Type scalar = isa::ScalarType(isa::DType::kI32);
    std::vector<ir::Op> head;
    two_ = Number(2, head, kernel_.loc);
    const ValueId number = kernel_.NewValue(scalar);
    ir::Op id = Make(Op::kProgramId, number, {}, kernel_.loc);
    id.SetAttr("axis", int64_t{0});
    head.push_back(std::move(id));
    part_ = kernel_.NewValue(scalar, "part");
    head.push_back(Make(Op::kMod, part_, {number, two_}, kernel_.loc));
    Rewrite(kernel_.body, axis);
    kernel_.body.ops.insert(kernel_.body.ops.begin(), std::make_move_iterator(head.begin()), std::make_move_iterator(head.end()));
  }

  void Rewrite(ir::Region& region, int axis) {
    std::vector<ir::Op> out;
    for (ir::Op& op : region.ops) {
      for (ir::Region& inner : op.regions) Rewrite(inner, axis);
      const bool id = (op.op == Op::kProgramId || op.op == Op::kNumPrograms) && op.IntAttr("axis") == 0;
      const bool range = op.op == Op::kArange && Find(NodeOf(op.results[0], 0)) == axis;
      if (op.FindAttr("shape") != nullptr && op.results.size() == 1) {
        const isa::Shape& shape = kernel_.TypeOf(op.results[0]).shape;
        op.SetAttr("shape", std::vector<int64_t>(shape.begin(), shape.end()));
      }
      if (!id && !range) {
        out.push_back(std::move(op));
        continue;
      }
      const ValueId was = op.results[0];
      const Loc loc = op.loc;
      const ValueId whole = kernel_.NewValue(kernel_.TypeOf(was));
      op.results[0] = whole;
      if (id) {
        out.push_back(std::move(op));
        out.push_back(Make(Op::kFloorDiv, was, {whole, two_}, loc));
        continue;
      }
      const int64_t start = op.IntAttr("start"), half = (op.IntAttr("end") - start) / 2;
      op.SetAttr("end", start + half);
      out.push_back(std::move(op));
      const ValueId first = kernel_.NewValue(isa::ScalarType(isa::DType::kI32)), filled = kernel_.NewValue(kernel_.TypeOf(was));
      const ValueId step = Number(half, out, loc);
      out.push_back(Make(Op::kMul, first, {part_, step}, loc));
      out.push_back(Make(Op::kSplat, filled, {first}, loc));
      out.push_back(Make(Op::kAdd, was, {whole, filled}, loc));
    }
    region.ops = std::move(out);
  }

  ir::Kernel kernel_;
  const bool no_alias_;
  const bool tail_;
  std::map<std::pair<ValueId, int>, int> nodes_;
  std::vector<int> parent_, fixed_;
  std::set<ValueId> aranges_;
  std::vector<const ir::Op*> effects_;
  std::map<ValueId, int> params_;
  std::set<int> read_, written_;
  const ir::Op* dot_ = nullptr;
  bool effects_fit_ = true;
  ValueId two_ = kNoValue, part_ = kNoValue;
};

std::optional<ir::Kernel> Split(const ir::Kernel& kernel, int parts, bool no_alias, bool tail) {
  Splitter splitter(kernel, no_alias, tail);
  for (int made = 1; made < parts; made *= 2) {
    if (!splitter.Halve()) return std::nullopt;
  }
  return splitter.Take();
}

// To a kernel whose values stand behind others; ids of parameters stay.
void Renumber(ir::Region& region, ValueId plus, const std::set<ValueId>& params, int parts) {
  const auto renumber = [&](ValueId& id) {
    if (id != kNoValue && params.count(id) == 0) id += plus;
  };
  for (ValueId& arg : region.args) renumber(arg);
  for (ir::Op& op : region.ops) {
    for (ValueId& operand : op.operands) renumber(operand);
    for (ValueId& result : op.results) renumber(result);
    if ((op.op == Op::kProgramId || op.op == Op::kNumPrograms) && op.IntAttr("axis") == 0) op.SetAttr("parts", int64_t{parts});
    for (ir::Region& inner : op.regions) Renumber(inner, plus, params, parts);
  }
}

}  // namespace

std::optional<ir::Kernel> SplitTiles(const ir::Kernel& kernel, int parts, bool no_alias) { return Split(kernel, parts, no_alias, false); }

std::optional<ir::Kernel> SplitTail(const ir::Kernel& kernel, int parts, bool no_alias) {
  std::optional<ir::Kernel> split = Split(kernel, parts, no_alias, true);
  if (!split.has_value() || kernel.body.ops.empty() || kernel.body.ops.back().op != Op::kYield) return std::nullopt;
  ir::Kernel out = kernel;
  std::set<ValueId> params;
  for (const ir::Param& param : kernel.params) params.insert(param.value);
  Renumber(split->body, static_cast<ValueId>(out.values.size()), params, parts);
  out.values.insert(out.values.end(), split->values.begin(), split->values.end());

  const auto made = [&](Op op, isa::DType dtype, std::initializer_list<ValueId> operands) {
    ir::Op one;
    one.op = op;
    one.operands.assign(operands.begin(), operands.end());
    one.results = {out.NewValue(isa::ScalarType(dtype))};
    one.loc = kernel.loc;
    return one;
  };
  ir::Op part = made(Op::kProgramId, isa::DType::kI32, {});
  part.SetAttr("axis", kPartAxis);
  part.SetAttr("parts", int64_t{parts});
  ir::Op zero = made(Op::kConst, isa::DType::kI32, {});
  zero.SetAttr("value", int64_t{0});
  ir::Op whole = made(Op::kEq, isa::DType::kI1, {part.results[0], zero.results[0]});
  ir::Op branch;
  branch.op = Op::kIf;
  branch.operands = {whole.results[0]};
  branch.loc = kernel.loc;
  ir::Op end = kernel.body.ops.back();
  branch.regions.push_back(std::move(out.body));
  branch.regions.push_back(std::move(split->body));
  out.body = ir::Region();
  for (ir::Op* op : {&part, &zero, &whole, &branch, &end}) out.body.ops.push_back(std::move(*op));
  return out;
}

Tail TailOf(const ir::Kernel& kernel) {
  Tail tail;
  for (const ir::Op& op : kernel.body.ops) {
    if (op.op == Op::kProgramId && op.IntAttr("axis") == kPartAxis) tail.parts = static_cast<int>(op.IntAttr("parts"));
    if (op.op == Op::kIf && tail.parts > 1 && tail.branch == nullptr) tail.branch = &op;
  }
  return tail;
}

}  // namespace tilevm::pipeline
