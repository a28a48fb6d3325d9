// Ops that move elements: join, split, cat, flip, gather, histogram, sort and topk.
#include "gpu/emit/printer.h"

namespace tilevm::gpu {

using isa::Op;

absl::Status Printer::PrintRegroup(const ir::Op& op) {
  const ir::ValueId result = op.results[0];
  if (op.op == Op::kSplit) {
    const layout::LinearLayout& from = LayoutOf(op.operands[0]);
    for (uint32_t side = 0; side < op.results.size(); ++side) {
      if (!IsTile(op.results[side])) {  // of a tile of two elements
        Line("auto ", Name(op.results[side]), " = ", Name(op.operands[0]), ".v[", from.PlaceOf(side).reg, "];");
        continue;
      }
      const layout::LinearLayout& to = LayoutOf(op.results[side]);
      std::vector<uint32_t> source;
      for (int64_t r = 0; r < to.register_count(); ++r) source.push_back(from.PlaceOf(to.IndexOf({static_cast<uint32_t>(r), 0, 0}) << 1 | side).reg);
      Line("auto ", Name(op.results[side]), " = move_registers<", LayoutName(to), ", ", SourceTable(source), ">(", Name(op.operands[0]), ");");
    }
    return absl::OkStatus();
  }
  if (!IsTile(op.operands[0])) {  // two scalars make a tile of two
    const layout::LinearLayout& to = LayoutOf(result);
    Line("auto ", Name(result), " = two<", LayoutName(to), ">(", Name(op.operands[0]), ", ", Name(op.operands[1]), ");");
    return absl::OkStatus();
  }
  Line("auto ", Name(result), " = ", op.op == Op::kJoin ? "join" : "cat", "<", LayoutName(result), ">(", Name(op.operands[0]), ", ", Name(op.operands[1]), ");");
  return absl::OkStatus();
}

absl::Status Printer::PrintFlip(const ir::Op& op) {
  const ir::ValueId result = op.results[0], operand = op.operands[0];
  if (!IsTile(operand)) {
    Line("auto ", Name(result), " = ", Name(operand), ";");
    return absl::OkStatus();
  }
  const layout::LinearLayout& layout = LayoutOf(result);
  const int rank = static_cast<int>(layout.shape().size());
  int64_t dim = op.IntAttr("dim", -1);
  if (dim < 0) dim += rank;
  layout::Basis mask = static_cast<layout::Basis>(layout.shape()[dim] - 1);
  for (int a = rank - 1; a > dim; --a) mask <<= layout::Log2(layout.shape()[a]);
  const layout::Place place = layout.PlaceOf(mask);
  if (place.warp != 0) UseShared(TypeOf(result).elem_count() * isa::StorageBytes(TypeOf(result).elem));
  Line("auto ", Name(result), " = flip<", place.reg, "u, ", place.lane, "u, ", place.warp, "u, ", mask, "u>(", scratch_, ", ", Name(operand), ");");
  return absl::OkStatus();
}

absl::Status Printer::PrintGather(const ir::Op& op) {
  const ir::ValueId result = op.results[0], src = op.operands[0];
  const isa::Type& type = TypeOf(result);
  int64_t axis = op.IntAttr("axis");
  if (axis < 0) axis += type.rank();
  int inner = 0;
  for (int a = type.rank() - 1; a > axis; --a) inner += layout::Log2(type.shape[a]);
  UseShared(TypeOf(src).elem_count() * isa::StorageBytes(type.elem));
  Line("auto ", Name(result), " = gather<", inner, ", ", layout::Log2(type.shape[axis]), ", ", TypeOf(src).shape[axis], ">(", scratch_, ", ", Name(src), ", ",
       Name(op.operands[1]), ");");
  return absl::OkStatus();
}

absl::Status Printer::PrintHistogram(const ir::Op& op) {
  const ir::ValueId result = op.results[0], mask = op.operand(1);
  const layout::LinearLayout& from = LayoutOf(op.operands[0]);
  UseShared(op.IntAttr("num_bins") * 4);
  Line("auto ", Name(result), " = histogram<", LayoutName(result), ", ", op.IntAttr("num_bins"), ", ", from.ReplicatedLanes(), "u, ", from.ReplicatedWarps(), "u>(", scratch_, ", ",
       Name(op.operands[0]), ", ", mask == ir::kNoValue ? "AllTrue{}" : Name(mask), ");");
  return absl::OkStatus();
}

absl::Status Printer::PrintSort(const ir::Op& op) {
  const ir::ValueId result = op.results[0], operand = op.operands[0];
  const isa::Type &from = TypeOf(operand), &to = TypeOf(result);
  const bool descending = op.op == Op::kTopK || op.BoolAttr("descending");
  UseShared(from.elem_count() * isa::StorageBytes(from.elem));
  Line("auto ", Name(result), " = sort<", LayoutName(result), ", ", layout::Log2(from.shape.back()), ", ", layout::Log2(to.shape.back()), ", ", from.elem_count(), ", ",
       descending ? "true" : "false", ">(", scratch_, ", ", Name(operand), ");");
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
