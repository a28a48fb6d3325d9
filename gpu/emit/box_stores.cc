// Stores of boxes: a tile goes to swizzled rows in shared memory and from there by tensor maps (specializer/pipeline/roles.h).
#include <algorithm>

#include "gpu/emit/printer.h"

namespace tilevm::gpu {

using isa::Op;

// Panels that fit the buffers wait for nothing.
bool Printer::StoresAtOnce(const ir::Op& store) const { return roles().box_stores.at(&store).panels <= roles().store_buffers; }

Printer::StoreAreas Printer::StoreAreasOf(const ir::Op& store) const {
  const pipeline::BoxStore& plan = roles().box_stores.at(&store);
  StoreAreas out;
  const int64_t inside = plan.own_rows ? plan.rows / (roles().groups / roles().programs) : plan.rows;
  out.apart = inside * plan.panel_bytes;
  // The two stores of a kernel with a shared tail have other panels, but each group keeps to its own part of the buffers.
  out.two = roles().box_stores.size() > 1;
  out.shared = out.two;
  if (roles().tail_parts > 1 && roles().box_stores.size() == 2) {
    const int64_t each = roles().store_bytes / roles().groups;
    const bool own = std::all_of(roles().box_stores.begin(), roles().box_stores.end(), [](const auto& other) { return other.second.own_rows; });
    if (roles().groups == 1) out.shared = false;
    if (own && each % 1024 == 0) {
      out.apart = each;
      out.shared = false;
    }
  }
  return out;
}

// Until the buffers of the first panels may be written: their last copies have to be done, and all copies of a store before this one in a loop, which may have
// written the same place.
void Printer::PrintStoreWait(const ir::Op& store) {
  const StoreAreas areas = StoreAreasOf(store);
  if (MadeFor(store) >= 0 && HasPlainAccesses(kernel().body)) Line("fence_async();");
  if (loops_ > 0) Line("if ((threadIdx.x & 127) == 0) boxes_written();");
  else Line("if ((threadIdx.x & 127) == 0) boxes_read<", StoresAtOnce(store) || areas.two ? 0 : 1, ">();");
  // What another group's boxes wrote in an iteration before, too.
  Line(loops_ > 0 || areas.shared || !roles().box_stores.at(&store).own_rows ? "barrier();" : "group_barrier();");
}

// Behind a loop, if nothing but arithmetic lies between it and a store of its region.
void Printer::PrintWaitOfNextStore() {
  for (const ir::Op* op : next_ops_) {
    // A map's turn comes first: the producer may wait for the one before it to be given back.
    if (std::any_of(roles().made.begin(), roles().made.end(), [&](const pipeline::MadeMap& map) { return map.store && map.before == op; })) return;
    if (roles().box_stores.count(op) != 0) {
      if (roles().told.count(op) != 0) Line("told.before();");
      PrintStoreWait(*op);
      waited_store_ = op;
      return;
    }
    const isa::Effect effect = isa::Info(op->op).effect;
    if (roles().skipped.count(op) == 0 && (!op->regions.empty() || (effect != isa::Effect::kPure && effect != isa::Effect::kId))) return;
  }
}

// In panels of swizzled rows: each through a buffer of its own if there are so many, else through two, one of which is filled while the other is copied.
absl::Status Printer::PrintBoxStore(const ir::Op& op) {
  // A last cast comes after the waits: before them its results would need registers beside what it casts.
  Group computes;
  if (OnlyComputes()) std::swap(group_, computes);
  Flush();
  const pipeline::BoxStore& plan = roles().box_stores.at(&op);
  const bool made = MadeFor(op) >= 0;
  if (loops_ > 0) {  // its barrier orders all accesses before
    if (waited_store_ != &op) PrintStoreWait(op);
    waited_store_ = &op;
    pending_ = Pending();
  }
  OrderAccess(op.operands[0], true);
  if (made) pending_.boxes = true;
  const isa::Type& type = TypeOf(plan.value);
  const layout::LinearLayout& where = LayoutOf(plan.value);
  const int elem_bytes = isa::StorageBytes(type.elem);
  const int64_t inside = plan.own_rows ? plan.rows / (roles().groups / roles().programs) : plan.rows;
  const std::string map = made ? MadeName(op) + ".map" : absl::StrCat("&map", UseBox(op, {{plan.axis, plan.panel}, {1 - plan.axis, inside}}, static_cast<int>(plan.panel_bytes)));

  // Offsets in a buffer, by bits of thread and of the registers of a panel.
  isa::Shape shape = type.shape;
  shape[plan.axis] = plan.panel;
  const layout::SharedLayout shared = layout::SwizzledRows(shape, plan.axis, elem_bytes);
  auto column_of = [&](layout::Basis basis) { return static_cast<int64_t>(where.Coordinates(basis)[plan.axis]); };
  auto row_of = [&](layout::Basis basis) { return static_cast<int64_t>(where.Coordinates(basis)[1 - plan.axis]); };
  auto offset_of = [&](layout::Basis basis) {
    const int64_t row = row_of(basis), column = column_of(basis);
    return shared.OffsetOf(static_cast<layout::Basis>(plan.axis == 1 ? row * plan.panel + column : column * plan.rows + row)) * static_cast<uint32_t>(elem_bytes);
  };
  std::vector<uint32_t> registers, offsets, threads, outer;  // registers: index of the tile's register, by bit of the panel's
  std::vector<layout::Basis> bases;
  for (size_t bit = 0; bit < where.reg().size(); ++bit) {
    const layout::Basis basis = where.reg()[bit];
    if (column_of(basis) >= plan.panel) {
      outer.push_back(uint32_t{1} << bit);
      continue;
    }
    registers.push_back(uint32_t{1} << bit);
    offsets.push_back(offset_of(basis));
    bases.push_back(basis);
  }
  for (layout::Basis basis : where.lane()) threads.push_back(offset_of(basis));
  // Four 8 x 8 matrices at once: pairs of neighbours in a register, lanes as mma has them. Lane 8 * m + row gives the address of that row of matrix m.
  const auto& lane = where.lane();
  bool matrices = elem_bytes == 2 && plan.axis == 1 && bases.size() >= 3 && plan.panel_bytes >= 32 && column_of(bases[0]) == 1 && row_of(bases[0]) == 0 && registers[0] == 1;
  for (int bit = 0; bit < 2; ++bit) matrices = matrices && column_of(lane[bit]) == 2 << bit && row_of(lane[bit]) == 0;
  for (int bit = 2; bit < 5; ++bit) matrices = matrices && column_of(lane[bit]) == 0 && row_of(lane[bit]) == 1 << (bit - 2);
  for (int bit : {1, 2}) matrices = matrices && column_of(bases[bit]) % 8 == 0;
  int64_t step = SharedVector(where, layout::SwizzledRows(type.shape, plan.axis, elem_bytes), elem_bytes);
  if (matrices) {
    threads = {threads[2], threads[3], threads[4], offsets[1], offsets[2]};
    step = 8;
  }
  for (layout::Basis basis : where.warp()) threads.push_back(offset_of(basis));
  const std::string table = Table(absl::StrCat("\n  static TV_DEV u32 thread() { return ", BitExpression("threadIdx.x", threads, false), "; }\n",
                                               "  static TV_DEV u32 at(u32 thread, int i) { return thread ^ (", BitExpression("i", offsets, false), "); }\n"),
                                  'W');

  const int64_t apart = StoreAreasOf(op).apart;
  const int64_t shift_bytes = plan.own_rows ? apart - inside * plan.panel_bytes : 0;
  const std::string shift = shift_bytes != 0 ? absl::StrCat(" + (threadIdx.x >> 7) * ", shift_bytes) : "";
  const std::string sync = plan.own_rows ? "group_barrier();" : "barrier();", first = plan.own_rows ? "(threadIdx.x & 127) == 0" : "threadIdx.x == 0";
  Place(op.loc);
  const bool at_once = StoresAtOnce(op);
  struct Panel { std::string buffer, from, coordinates; uint32_t registers = 0; int64_t column = 0; };
  std::vector<Panel> panels;
  for (int64_t p = 0; p < plan.panels; ++p) {
    Panel& panel = panels.emplace_back();
    layout::Basis start = 0;
    for (size_t bit = 0; bit < outer.size(); ++bit) {
      if (((p >> bit) & 1) == 0) continue;
      panel.registers |= outer[bit];
      start ^= where.reg()[static_cast<size_t>(layout::Log2(outer[bit]))];
    }
    panel.column = column_of(start);
    // Panels of one store by elements lie side by side, if the registers' bits are in the columns' order.
    if (made && at_once && panel.column != p * plan.panel) return absl::UnimplementedError("panels are not in the order of their columns");
    panel.buffer = absl::StrCat("shared_address() + ", roles().store_offset + p % roles().store_buffers * roles().store_bytes,
                                Merged() ? absl::StrCat(" + member * ", roles().store_buffers * roles().store_bytes) : "");
    panel.from = absl::StrCat(panel.buffer, plan.own_rows && !Merged() ? absl::StrCat(" + (threadIdx.x >> 7) * ", apart) : "");
    for (const auto& [axis, from] : StartsOf(op)) {
      absl::StrAppend(&panel.coordinates, panel.coordinates.empty() ? "" : ", ", Coordinate(*from, axis == plan.axis ? panel.column : 0));
      if (plan.own_rows && !Merged() && axis == 1 - plan.axis) absl::StrAppend(&panel.coordinates, " + static_cast<i32>(threadIdx.x >> 7) * ", inside);
    }
  }
  auto write = [&](const Panel& panel) {
    auto at = [&](int64_t plus) {
      uint32_t extra = panel.registers;
      for (size_t bit = 0; bit < registers.size(); ++bit) {
        if (((plus >> bit) & 1) != 0) extra |= registers[bit];
      }
      return absl::StrCat(Name(plan.value), ".v + ", extra, " + (", BitExpression("i", registers, true), ")");
    };
    Line("#pragma unroll");
    Line("for (int i = 0; i < ", 1 << registers.size(), "; i += ", step, ") {");
    if (matrices) Line("  store_matrices(", panel.buffer, shift, " + ", table, "::at(", table, "::thread(), i), ", at(0), ", ", at(2), ", ", at(4), ", ", at(6), ");");
    else Line("  write_shared<", step, ">(", panel.buffer, shift, " + ", table, "::at(", table, "::thread(), i), ", at(0), ");");
    Line("}");
    Line("fence_shared();");
    Line(sync);
  };
  const std::string by_map = made ? absl::StrCat("fits", next_label_++) : "";
  auto copy = [&](const Panel& panel, bool last) {
    Line("if (", made ? absl::StrCat(by_map, " && ") : "", first, Merged() ? " && programs.counts" : "", ") {");
    Line("  store_box(", map, ", ", panel.from, ", ", panel.coordinates, ");");
    if (last) Line("  boxes_commit();");
    Line("}");
  };
  auto copy_elements = [&](const Panel& panel, int64_t count) {
    Line("if (!", by_map, ") {");
    Line("  ", MadeName(op), ".store_elements<", plan.panel, ", ", inside, ">(", panel.from, ", ", roles().store_bytes, ", ", count, ", ", panel.coordinates,
         plan.own_rows ? ", threadIdx.x & 127, 128);" : absl::StrCat(", threadIdx.x, ", 128 * roles().groups, ");"));
    Line("}");
  };
  if (waited_store_ != &op) PrintStoreWait(op);
  waited_store_ = nullptr;
  // The coordinates of the first panel are the lowest: what holds for them holds for all.
  if (made) Line("const bool ", by_map, " = ", MadeName(op), ".stores(", panels[0].coordinates, ");");
  size_t stored = 0;
  auto store = [&] {
    const Panel& panel = panels[stored++];
    write(panel);
    copy(panel, !at_once || stored == panels.size());
  };
  if (at_once) {
    // Each is on its way while the next one is cast and written.
    const int64_t each = int64_t{1} << registers.size();
    bool in_order = true;
    for (size_t p = 0; p < panels.size(); ++p) in_order = in_order && panels[p].registers == p * static_cast<size_t>(each);
    const Interlude before = std::exchange(interlude_, in_order ? Interlude{plan.value, each, static_cast<int>(panels.size()), store} : Interlude());
    std::swap(group_, computes);
    Flush();
    interlude_ = before;
    Place(op.loc);
    if (stored == 0) Materialise(plan.value);
    while (stored < panels.size()) store();
    if (made) copy_elements(panels[0], plan.panels);
  } else {
    std::swap(group_, computes);
    Flush();
    Materialise(plan.value);
    Place(op.loc);
    while (stored < panels.size()) {
      if (stored > 0) {
        Line("if ((threadIdx.x & 127) == 0) boxes_read<1>();");
        Line(sync);
      }
      const Panel& panel = panels[stored];
      store();
      if (made) copy_elements(panel, 1);
    }
  }
  if (made) Line("if (!", by_map, ") ", sync);
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
