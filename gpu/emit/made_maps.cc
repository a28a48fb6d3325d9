// Tensor maps that the producer makes itself (specializer/pipeline/roles.h: made maps; device/made_maps.cuh has the mechanism):
//
//   if (threadIdx.x == 288) made0.copy_model(map0);       at the start, by the warps beside the producer's
//   models_copied();
//   made0.begin(ring0);                                   until no copy goes by the map that lies in its place
//   made2.begin();                                        of a store: until the consumers have given it back
//   MapFields fields1{};
//   made0.set(fields1, 0, map_places[claim.get()].maps + 0, base, stride, columns, rows);      a lane of the warp for each map
//   made2.set(fields1, 1, …);
//   set_maps(fields1, 2);                                 writes them, and shows them to the copies
//   made0.ready(0); made2.ready(1);                       and the consumers: made2.take();
#include <algorithm>

#include "gpu/emit/printer.h"

namespace tilevm::gpu {

using isa::Op;

int Printer::MadeFor(const ir::Op& access) const {
  if (!HasRoles()) return -1;
  auto found = roles().made_for.find(&access);
  return found == roles().made_for.end() ? -1 : found->second;
}

std::string Printer::MadeName(const ir::Op& access) const { return absl::StrCat("made", MadeFor(access)); }

std::vector<std::pair<int, const analysis::Polynomial*>> Printer::StartsOf(const ir::Op& access) const {
  std::vector<std::pair<int, const analysis::Polynomial*>> starts;
  if (MadeFor(access) >= 0) {
    const analysis::MadeBox& box = roles().made[static_cast<size_t>(MadeFor(access))].box;
    for (int axis : {box.axis, 1 - box.axis}) starts.emplace_back(axis, &box.start[static_cast<size_t>(axis)]);
  } else {
    for (const analysis::BoxDim& dim : options_.boxes->Of(access)->dims) starts.emplace_back(dim.axis, &dim.start);
  }
  return starts;
}

// In 64 bits.
std::string Printer::NumberText(const analysis::Number& number) {
  if (number.narrow) return absl::StrCat("static_cast<i64>(", Coordinate(number.value, 0), ")");
  std::string out;
  for (const auto& [factors, coefficient] : number.value.terms) {
    std::string term = coefficient == 1 && !factors.empty() ? "" : absl::StrCat("i64{", coefficient, "}");
    for (const analysis::Factor& factor : factors) absl::StrAppend(&term, term.empty() ? "" : " * ", "static_cast<i64>(", Name(factor.value), ")");
    absl::StrAppend(&out, out.empty() ? "" : " + ", term);
  }
  return out.empty() ? "i64{0}" : out;
}

// Rows of one copy by the map, and elements of one of its rows.
std::pair<int64_t, int64_t> Printer::MadeExtents(const ir::Op& access) const {
  const int axis = roles().made[static_cast<size_t>(MadeFor(access))].box.axis;
  if (access.op == Op::kStore) {
    const pipeline::BoxStore& plan = roles().box_stores.at(&access);
    return {plan.own_rows ? plan.rows / roles().groups : plan.rows, plan.panel};
  }
  const isa::Type& type = TypeOf(access.results[0]);
  return {std::min<int64_t>(type.shape[static_cast<size_t>(1 - axis)], 256), std::min<int64_t>(type.shape[static_cast<size_t>(axis)], 128 / isa::StorageBytes(type.elem))};
}

void Printer::DeclareMadeMaps(std::string* init) {
  for (const pipeline::MadeMap& map : roles().made) {
    const std::string name = MadeName(*map.access);
    const auto [rows, columns] = MadeExtents(*map.access);
    maps_[map.access] = options_.boxes->UseMade(*map.access, {columns, rows}, static_cast<int>(columns * isa::StorageBytes(map.box.dtype)));
    Line("MadeMap<", isa::StorageBytes(map.box.dtype), ", ", map.store ? "true" : "false", "> ", name, "(shared_address() + ", map.offset,
         ", shared_address() + ", map.barriers, ");");
    if (map.store) absl::StrAppend(init, name, ".init(", 128 * roles().groups, "); ");
  }
  absl::StrAppend(&declarations_, "__device__ u32 claims[kMapPlaces];\n__device__ MapPlace<", roles().made.size(), "> map_places[kMapPlaces];\n");
}

// A thread of the three warps for each.
void Printer::PrintModels() {
  const int first = 128 * roles().groups + 32;
  int warp = 0;
  for (const pipeline::MadeMap& map : roles().made) {
    Line("if (threadIdx.x == ", first + 32 * (warp++ % 3), ") ", MadeName(*map.access), ".copy_model(map", maps_[map.access], ");");
  }
  Line("models_copied();");
}

void Printer::PrintMakes(const ir::Op& before) {
  std::vector<const pipeline::MadeMap*> maps;
  for (const pipeline::MadeMap& map : roles().made) {
    if (map.before == &before) maps.push_back(&map);
  }
  if (maps.empty()) return;
  Flush();
  for (const pipeline::MadeMap* map : maps) {
    Line(MadeName(*map->access), ".begin(", map->store ? "" : absl::StrCat("ring", options_.schedule->CopyOf(map->access->results[0])->ring), ");");
  }
  // A lane of the warp for each.
  const std::string fields = absl::StrCat("fields", next_label_++);
  Line("MapFields ", fields, "{};");
  for (size_t lane = 0; lane < maps.size(); ++lane) {
    const pipeline::MadeMap* map = maps[lane];
    const analysis::MadeBox& box = map->box;
    const int bytes = isa::StorageBytes(box.dtype);
    const std::string offset = box.offset.value.terms.empty() ? "" : absl::StrCat(" + static_cast<u64>(", NumberText(box.offset), ") * ", bytes);
    Line(MadeName(*map->access), ".set(", fields, ", ", lane, ", map_places[claim.get()].maps + ", 2 * MadeFor(*map->access), ", reinterpret_cast<u64>(", Name(box.base), ")", offset,
         ", (", NumberText(box.stride), ") * ", bytes, ", ", NumberText(box.extent[static_cast<size_t>(box.axis)]), ", ", NumberText(box.extent[static_cast<size_t>(1 - box.axis)]),
         ");");
  }
  Line("set_maps(", fields, ", ", maps.size(), ");");
  for (size_t lane = 0; lane < maps.size(); ++lane) Line(MadeName(*maps[lane]->access), ".ready(", lane, ");");
}

void Printer::TakeMadeMaps(const ir::Op& before) {
  for (const pipeline::MadeMap& map : roles().made) {
    if (map.before != &before || !map.store) continue;
    Flush();
    if (ToldLater()) Line("told.tell();");
    Line(MadeName(*map.access), ".take();");
  }
}

// A slot, if all arrays are as their maps need them; else element by element, beside boxes of maps that the launcher made.
void Printer::PrintMadeFill(int number, const std::vector<pipeline::Copy>& copies) {
  const std::string ring = absl::StrCat("ring", number), first = absl::StrCat("if (threadIdx.x == ", 128 * roles().groups, ") {");
  std::string fits;
  int64_t asked = 0, launched = 0;
  std::vector<std::string> by_map, others, by_element;
  for (const pipeline::Copy& copy : copies) {
    if (copy.ring != number) continue;
    const ir::Op& load = *def_[copy.value];
    const isa::Type& type = TypeOf(copy.value);
    const bool made = MadeFor(load) >= 0;
    const int64_t elem_bytes = isa::StorageBytes(type.elem), rows = type.shape[1 - copy.axis], part = std::min<int64_t>(rows, 256), panel = std::min<int64_t>(type.shape[copy.axis], 128 / elem_bytes);
    const std::string map = made ? MadeName(load) + ".map" : absl::StrCat("&map", UseBox(load, {{copy.axis, panel}, {1 - copy.axis, part}}, static_cast<int>(panel * elem_bytes), false));
    if (made) absl::StrAppend(&fits, fits.empty() ? "" : " && ", MadeName(load), ".loads(", Coordinate(*StartsOf(load)[0].second, 0), ")");
    (made ? asked : launched) += type.elem_count() * elem_bytes;
    for (int64_t at = 0; at < type.shape[copy.axis]; at += panel) {
      for (int64_t row = 0; row < rows; row += part) {
        std::string coordinates;
        for (const auto& [axis, start] : StartsOf(load)) absl::StrAppend(&coordinates, ", ", Coordinate(*start, axis == copy.axis ? at : axis == 1 - copy.axis ? row : 0));
        const std::string to = absl::StrCat(ring, ".address() + ", copy.offset + (at / panel * rows + row) * panel * elem_bytes);
        by_map.push_back(absl::StrCat("load_box(", to, ", ", map, ", ", ring, ".full()", coordinates, ");"));
        if (made) by_element.push_back(absl::StrCat(MadeName(load), ".load_elements<", panel, ", ", part, ">(", to, coordinates, ");"));
        else others.push_back(by_map.back());
      }
    }
  }
  Line("if (", fits, ") {");
  Line("  ", first);
  Line("    ", ring, ".expect(", asked + launched, ");");
  for (const std::string& line : by_map) Line("    ", line);
  Line("  }");
  Line("} else {");
  for (const std::string& line : by_element) Line("  ", line);
  Line("  fence_shared();");
  Line("  __syncwarp();");
  Line("  ", first);
  Line("    ", ring, ".expect(", launched, ");");
  for (const std::string& line : others) Line("    ", line);
  Line("  }");
  Line("}");
}

// Accesses of the consumers that are neither: what they do is seen by copies only behind a fence.
bool Printer::HasPlainAccesses(const ir::Region& region) const {
  for (const ir::Op& op : region.ops) {
    const isa::Effect effect = isa::Info(op.op).effect;
    if (effect == isa::Effect::kReadsWrites || (effect == isa::Effect::kWrites && roles().box_stores.count(&op) == 0)) return true;
    if (op.op == Op::kLoad && IsTile(op.results[0]) && options_.schedule->CopyOf(op.results[0]) == nullptr) return true;
    if (std::any_of(op.regions.begin(), op.regions.end(), [&](const ir::Region& inner) { return HasPlainAccesses(inner); })) return true;
  }
  return false;
}

}  // namespace tilevm::gpu
