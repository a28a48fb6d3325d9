#include "specializer/pipeline/carried_offsets.h"

#include <map>

#include "specializer/passes/rewriter.h"

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

class Mover {
 public:
  explicit Mover(ir::Kernel* kernel) : kernel_(*kernel) {}

  void Walk(ir::Region& region) {
    for (const ir::Op& op : region.ops) Record(op);
    std::vector<ir::Op> out;
    for (ir::Op& op : region.ops) {
      for (ir::Region& inner : op.regions) Walk(inner);
      std::vector<ir::Op> before, after;
      if (op.op == Op::kFor) {
        for (size_t i = 0; i < op.results.size(); ++i) Move(op, i, before, after);
      }
      for (ir::Op& made : before) out.push_back(std::move(made));
      out.push_back(std::move(op));
      for (ir::Op& made : after) out.push_back(std::move(made));
    }
    region.ops = std::move(out);
  }

 private:
  struct Known {
    Op op;
    ValueId operand[2];
  };
  void Record(const ir::Op& op) {
    if (op.results.size() == 1) known_[op.results[0]] = {op.op, {op.operand(0), op.operand(1)}};
    for (const ir::Region& inner : op.regions) {
      for (const ir::Op& nested : inner.ops) Record(nested);
    }
  }
  // The scalar that fills every element of the tile; kNoValue if there is none.
  ValueId Filler(ValueId id) const {
    while (id != kNoValue && !kernel_.TypeOf(id).is_scalar()) {
      auto found = known_.find(id);
      if (found == known_.end()) return kNoValue;
      const Op op = found->second.op;
      if (op != Op::kSplat && op != Op::kBroadcast && op != Op::kReshape && op != Op::kExpandDims) return kNoValue;
      id = found->second.operand[0];
    }
    return id;
  }
  static bool Defines(const ir::Region& region, ValueId id) {
    for (ValueId arg : region.args) {
      if (arg == id) return true;
    }
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) {
        if (result == id) return true;
      }
      for (const ir::Region& inner : op.regions) {
        if (Defines(inner, id)) return true;
      }
    }
    return false;
  }
  ir::Op Make(Op op, ValueId result, std::initializer_list<ValueId> operands, Loc loc) {
    ir::Op made = specializer::MakeOp(op, result, operands, loc);
    known_[result] = {op, {made.operand(0), made.operand(1)}};
    return made;
  }

  void Move(ir::Op& loop, size_t i, std::vector<ir::Op>& before, std::vector<ir::Op>& after) {
    ir::Region& body = loop.regions[0];
    const ValueId arg = body.args[1 + i], init = loop.operands[3 + i], result = loop.results[i];
    const isa::Type tile = kernel_.TypeOf(arg);
    if (tile.is_scalar() || body.ops.empty() || body.ops.back().op != Op::kYield) return;
    const bool pointer = tile.elem.pointer;
    if (!pointer && (!isa::IsInteger(tile.elem.dtype) || tile.elem.dtype == isa::DType::kI1)) return;
    auto next = known_.find(body.ops.back().operands[i]);
    if (next == known_.end() || next->second.op != (pointer ? Op::kPtrAdd : Op::kAdd)) return;
    ValueId step = kNoValue;
    if (next->second.operand[0] == arg) step = Filler(next->second.operand[1]);
    if (!pointer && next->second.operand[1] == arg) step = Filler(next->second.operand[0]);
    if (step == kNoValue || Defines(body, step)) return;

    const isa::DType dtype = pointer ? isa::DType::kI64 : tile.elem.dtype;
    const isa::Type scalar = isa::ScalarType(dtype);
    const isa::Type offsets = isa::TileType(dtype, tile.shape);
    const std::string name = kernel_.values[arg].name.empty() ? "" : kernel_.values[arg].name + "_offset";
    // Before the loop: zero, and the step in the offset's type.
    const ValueId zero = kernel_.NewValue(scalar);
    ir::Op constant = Make(Op::kConst, zero, {}, loop.loc);
    constant.SetAttr("value", int64_t{0});
    before.push_back(std::move(constant));
    if (kernel_.TypeOf(step) != scalar) {
      const ValueId wide = kernel_.NewValue(scalar);
      before.push_back(Make(Op::kCast, wide, {step}, loop.loc));
      step = wide;
    }
    // Inside: the tile as it was, from the offset.
    const ValueId offset = kernel_.NewValue(scalar, name), moved = kernel_.NewValue(scalar, name);
    auto rebuilt = [&](ValueId out, ValueId from, std::vector<ir::Op>& ops) {
      const ValueId filled = kernel_.NewValue(offsets);
      ops.push_back(Make(Op::kSplat, filled, {from}, loop.loc));
      ops.push_back(Make(pointer ? Op::kPtrAdd : Op::kAdd, out, {init, filled}, loop.loc));
    };
    std::vector<ir::Op> head;
    rebuilt(arg, offset, head);
    body.args[1 + i] = offset;
    body.ops.insert(body.ops.begin(), std::make_move_iterator(head.begin()), std::make_move_iterator(head.end()));
    body.ops.insert(body.ops.end() - 1, Make(Op::kAdd, moved, {offset, step}, loop.loc));
    body.ops.back().operands[i] = moved;
    loop.operands[3 + i] = zero;
    loop.results[i] = kernel_.NewValue(scalar, name);
    rebuilt(result, loop.results[i], after);
  }

  ir::Kernel& kernel_;
  std::map<ValueId, Known> known_;
};

}  // namespace

ir::Kernel CarriedOffsets(ir::Kernel kernel) {
  Mover(&kernel).Walk(kernel.body);
  return kernel;
}

}  // namespace tilevm::pipeline
