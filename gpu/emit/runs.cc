// Prints loads and stores by runs (gpu/device/runs.cuh): what a thread holds of one run is one step of a register loop.
//
//   RunLoad<f16, L0, 0, 8, 4, false> row_run;
//   for (int r = 0; r < 32; r += 32) {
//     const i32 cols = static_cast<i32>(L0::at(thread_L0, r));
//     const int place = run_place<L0, 0, 16384>(thread_L0, r);
//     row_run.issue<0, 0>(r, ptr_add(row_start, cols), place, run_below<false, 16384>(sub(cols, place), n_cols));
//   }
//   row_run.take(row.v, other);
#include "gpu/emit/printer.h"

namespace tilevm::gpu {

using isa::Op;

// Whether the operands of the conditions can be printed for any register; makes variables of those that are stretched.
bool Printer::PrepareRun(const RunAccess& access) {
  for (const analysis::RunMask& mask : access.run.masks) {
    if (mask.whole != ir::kNoValue) continue;
    for (ir::ValueId id : {mask.first, mask.bound}) {
      if (!IsTile(id) || !was_lazy_[id]) return false;
    }
  }
  for (const analysis::RunMask& mask : access.run.masks) {
    if (mask.views.empty()) continue;
    for (ir::ValueId id : {mask.first, mask.bound}) {
      if (!IsUniform(id)) Materialise(id);
    }
  }
  return true;
}

// A value of the shape that a comparison had before `views` stretched it, at the register of the stretched tile.
std::string Printer::Unstretched(ir::ValueId id, const layout::LinearLayout& stretched, const std::vector<const ir::Op*>& views,
                                  std::map<ir::ValueId, std::string>& locals) {
  if (views.empty() || IsUniform(id)) return Register(id, locals);
  const layout::LinearLayout& from = LayoutOf(id);
  std::vector<uint32_t> bases;
  for (layout::Basis basis : stretched.reg()) {
    auto at = stretched.Coordinates(basis);
    for (const ir::Op* view : views) {
      if (view->op == Op::kExpandDims) {
        at.erase(at.begin() + view->IntAttr("axis"));
        continue;
      }
      const isa::Shape& shape = TypeOf(view->operands[0]).shape;
      for (size_t axis = 0; axis < at.size(); ++axis) at[axis] = shape[axis] == 1 ? 0 : at[axis];
    }
    uint32_t index = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) index = index * static_cast<uint32_t>(from.shape()[axis]) + static_cast<uint32_t>(at[axis]);
    bases.push_back(from.PlaceOf(index).reg);
  }
  return absl::StrCat(Name(id), ".v[", BitExpression(index_, bases, false), "]");
}

// How many elements of the run are masked on; `place`: of the register in it.
std::string Printer::RunCount(const RunAccess& access, const layout::LinearLayout& layout, const std::string& place,
                              std::map<ir::ValueId, std::string>& locals) {
  std::string count;
  for (const analysis::RunMask& mask : access.run.masks) {
    std::string part;
    if (mask.whole != ir::kNoValue) {
      part = absl::StrCat("(", Register(mask.whole, locals), " ? ", access.run.length, " : 0)");
    } else {
      const std::string first = Unstretched(mask.first, layout, mask.views, locals), bound = Unstretched(mask.bound, layout, mask.views, locals);
      part = absl::StrCat("run_below<", mask.inclusive ? "true" : "false", ", ", access.run.length, ">(sub(", first, ", static_cast<",
                          CudaType(TypeOf(mask.first).elem), ">(", place, ")), ", bound, ")");
    }
    count = count.empty() ? part : absl::StrCat("run_least(", count, ", ", part, ")");
  }
  return count.empty() ? absl::StrCat(access.run.length) : count;
}

void Printer::PrintRunGroup(const Group& group) {
  const layout::LinearLayout& layout = at().layouts[group.layout];
  const std::string name = LayoutName(layout), thread = ThreadIndexOf(layout);
  std::vector<RunAccess> accesses;
  std::vector<std::string> variables, takes;
  int64_t scratch = 0;
  for (const ir::Op* op : group.ops) {
    const RunAccess access = *options_.run(*op);
    accesses.push_back(access);
    variables.emplace_back();
    Place(op->loc);
    if (op->op == Op::kLoad) {
      const ir::ValueId result = op->results[0], mask = op->operand(1), other = op->operand(2);
      std::string& variable = variables.back() = absl::StrCat(Name(result), "_run");
      while (!taken_.insert(variable).second) absl::StrAppend(&variable, "_");
      const std::string type = CudaType(TypeOf(result).elem);
      Line("RunLoad<", type, ", ", name, ", ", access.run.axis, ", ", access.vector, ", ", access.vectors, ", ", access.run.aligned ? "true" : "false", "> ",
           variable, ";");
      std::map<ir::ValueId, std::string> none;
      const std::string otherwise = mask == ir::kNoValue || other == ir::kNoValue ? absl::StrCat("zero_of<", type, ">()")
                                    : IsUniform(other) ? Register(other, none) : absl::StrCat("static_cast<const ", type, "*>(", Name(other), ".v)");
      takes.push_back(absl::StrCat(variable, ".take(", Name(result), ".v, ", otherwise, ");"));
    } else if (!access.run.aligned) {
      // A vector's room before the tile and one behind it: run_store reads both neighbours of each.
      const isa::Type& type = TypeOf(op->operands[1]);
      scratch = UseShared((type.elem_count() + 2 * access.vector) * isa::StorageBytes(type.elem));
      Line("run_publish<", access.vector, ", ", name, ">(", scratch, ", ", thread, ", ", Name(op->operands[1]), ".v);");
    }
  }
  OpenRegisterLoop(layout.register_count(), group.vector);
  std::map<ir::ValueId, std::string> locals;
  std::map<int64_t, std::string> places;  // by length of a run
  for (size_t i = 0; i < group.ops.size(); ++i) {
    const ir::Op* op = group.ops[i];
    const RunAccess& access = accesses[i];
    std::string& place = places[access.run.length];
    if (place.empty()) {
      place = absl::StrCat("place", next_label_++);
      Line("const int ", place, " = run_place<", name, ", ", access.run.axis, ", ", access.run.length, ">(", thread, ", r);");
    }
    const std::string pointer = Register(op->operands[0], locals), total = RunCount(access, layout, place, locals);
    const std::string hints = absl::StrCat(CacheCode(*op, op->op == Op::kStore), ", ", EvictCode(*op));
    const std::string where = absl::StrCat(access.run.axis, ", ", access.vector, ", ", access.vectors);
    Place(op->loc);
    if (op->op == Op::kLoad) {
      Line(variables[i], ".issue<", hints, ">(r, ", pointer, ", ", place, ", ", total, ");");
    } else if (access.run.aligned) {
      Line("run_store_aligned<", where, ", ", hints, ", ", name, ">(r, ", pointer, ", ", Name(op->operands[1]), ".v, ", place, ", ", total, ");");
    } else {
      Line("run_store<", where, ", ", access.threads, ", ", hints, ", ", name, ">(", scratch, ", ", thread, ", r, ", pointer, ", ", place, ", ", total, ");");
    }
  }
  CloseRegisterLoop();
  for (const std::string& take : takes) Line(take);
}

}  // namespace tilevm::gpu
