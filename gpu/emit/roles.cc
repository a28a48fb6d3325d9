// A kernel split into a producer of boxes and consumers (specializer/pipeline/roles.h; device/boxes.cuh has the mechanisms):
//
//   #define TV_CONSUMERS 256
//   kernel(params, const __grid_constant__ TensorMap map0, map1, u32 grid_x, grid_y, grid_z) {
//     Ring<4, 49152> ring0(shared_address() + 0, shared_address() + 196608);
//     if (threadIdx.x == 0) { ring0.init(2); barriers_made(); }
//     __syncthreads();
//     if (threadIdx.x >= 256) {
//       fewer_registers<40>();
//       if (threadIdx.x == 256) for (each program of this CTA) { the producer's slice }
//     } else {
//       more_registers<232>();
//       for (each program of this CTA) { the program }
//     }
//   }
//
// The kernel has one exit: with a second one the assembler gives up on moving registers.
#include <algorithm>
#include <functional>
#include <set>

#include "gpu/emit/printer.h"
#include "isa/status.h"
#include "specializer/pipeline/roles.h"

namespace tilevm::gpu {

using isa::Op;

std::string Printer::BufferOf(const pipeline::Copy& copy) const {
  if (copy.ring >= 0) {
    if (auto slot = slots_.find(copy.ring); slot != slots_.end()) return absl::StrCat(slot->second, " + ", copy.offset);
    const bool own = Merged() && roles().rings[copy.ring].kept;
    return absl::StrCat("ring", copy.ring, ".address() + ", copy.offset, own ? absl::StrCat(" + member * ", copy.bytes) : "");
  }
  return absl::StrCat(slot_, " + ", copy.offset);
}

absl::Status Printer::PrintRoles() {
  const int consumers = 128 * roles().groups;
  std::string init;
  for (size_t i = 0; i < roles().rings.size(); ++i) {
    const pipeline::Ring& ring = roles().rings[i];
    Line("Ring<", ring.stages, ", ", ring.slot_bytes, ring.by_threads ? ", true" : "", "> ring", i, "(shared_address() + ", ring.offset, ", shared_address() + ", ring.barriers, ");");
    const int arrivals = (ring.by_threads ? 128 : 0) + (ring.boxes ? 1 : 0);
    absl::StrAppend(&init, "ring", i, ".init(", ring.by_wgmma ? roles().groups : consumers / 32, arrivals == 1 ? "" : absl::StrCat(", ", arrivals), "); ");
  }
  if (!roles().told.empty()) {
    Line(ToldLater() ? "ToldLater" : absl::StrCat("Told<", roles().by_threads ? 4 : 1, ", ", consumers / 32, ">"), " told(shared_address() + ", roles().told_offset, ");");
    absl::StrAppend(&init, "told.init(); ");
  }
  const bool makes = !roles().made.empty();
  if (makes) DeclareMadeMaps(&init);
  if (roles().dealt) {
    absl::StrAppend(&declarations_, "__device__ Deal deals[kDeals];\n");
    Line("Dealer<", consumers, "> dealer(shared_address() + ", roles().deal_offset, ");");
    absl::StrAppend(&init, "dealer.init(); ");
  }
  Line("if (threadIdx.x == 0) { ", init, "barriers_made(); }");
  const size_t prefetches = body_.size();
  Line("__syncthreads();");
  if (options_.begins_early) Line("let_next_kernel_begin();");
  producer_waits_ = options_.begins_early;
  if (Merged()) Line("MergedPrograms<", roles().programs, "> programs{{{grid_x, grid_y, grid_z}, {0, 0, 0}}, false, 0};");
  else if (roles().persistent && roles().tail_parts > 1) Line("SharedTail<", roles().tail_parts, "> programs(grid_x, grid_y, grid_z, gridDim.x);");
  else if (roles().persistent) Line("Programs programs{{grid_x, grid_y, grid_z}, {0, 0, 0}};");
  else if (Strided()) Line("const u32 strided = strided_program(blockIdx.x, gridDim.x, program_stride);");
  const std::string one = roles().by_threads || makes ? "" : absl::StrCat("if (threadIdx.x == ", consumers, ") ");
  auto each_program = [&](bool produces, const char* member) {
    const std::string more = produces ? one : "";
    const int reversed = options_.schedule->order.reversed;
    const std::string order = roles().dealt && reversed >= 0 ? absl::StrCat("_by_length<", reversed, ">") : "";
    const std::string set = absl::StrCat("  programs.set", order, "(program", Merged() ? member : "", ");");
    if (roles().dealt && !produces) {
      Line("for (u32 program = dealer.take(); program < programs.count(); program = dealer.take()) {");
      Line(set);
    } else if (roles().dealt) {
      // The number after this one is asked for long before it is wanted, but not beside the kernel before: a launch of that may have the same counter.
      Line(more, "for (u32 program = blockIdx.x, after; program < programs.count(); program = after) {");
      Line("  dealer.tell(program);");
      if (!options_.begins_early) Line("  after = dealer.next(deals + deal);");
      Line(set);
    } else if (roles().persistent) {
      Line(more, "for (u32 program = blockIdx.x; program < programs.count(); program += gridDim.x) {");
      Line(set);
    } else {
      Line(more.empty() ? "{" : more + "{");
    }
    ++depth_;
  };
  const pipeline::RoleRegisters registers = pipeline::RegistersOf(roles());
  Line("if (threadIdx.x >= ", consumers, ") {");
  ++depth_;
  Line("fewer_registers<", registers.producer, ">();");
  if (makes) {
    Line("if (threadIdx.x < ", consumers + 32, ") {");
    ++depth_;
    Line("Claim claim(claims);");
  }
  each_program(true, ", 0");
  producing_ = true;
  producer_.layout_of = lk_.layout_of;
  for (const layout::LinearLayout& layout : lk_.layouts) producer_.layouts.push_back(layout.InWarps(4));
  for (const auto& [id, layout] : roles().layouts) {
    if (layout == producer_.LayoutOf(id)) continue;
    producer_.layout_of[id] = static_cast<int>(std::find(producer_.layouts.begin(), producer_.layouts.end(), layout) - producer_.layouts.begin());
    if (producer_.layout_of[id] == static_cast<int>(producer_.layouts.size())) producer_.layouts.push_back(layout);
  }
  TILEVM_RETURN_IF_ERROR(PrintProducerRegion(kernel().body));
  if (producer_waits_) PrintProducerWait();
  producing_ = false;
  lazy_.assign(lazy_.size(), nullptr);
  --depth_;
  Line("}");
  if (makes) {
    if (ToldLater()) Line("told.over();");
    for (const pipeline::MadeMap& map : roles().made) {
      const std::string ring = map.store ? "" : absl::StrCat("ring", options_.schedule->CopyOf(map.access->results[0])->ring);
      Line(map.store ? absl::StrCat(MadeName(*map.access), ".end();") : absl::StrCat(ring, ".wait_landed(", ring, ".fills);"));
    }
    Line("claim.leave();");
    --depth_;
    Line("} else {");
    ++depth_;
    PrintModels();
    --depth_;
    Line("}");
  }
  if (roles().dealt) {
    Line("if (threadIdx.x == ", consumers, ") { ", options_.begins_early ? "wait_for_kernel_before(); " : "", "dealer.tell(programs.count()); dealer.end(deals + deal); }");
  }
  if (roles().by_threads) Line("copies_wait<0>();");
  --depth_;
  Line("} else {");
  ++depth_;
  Line("more_registers<", registers.consumer, ">();");
  if (options_.begins_early) {
    PrintFirstLines();
    Line("wait_for_kernel_before();");
  }
  if (Merged()) Line("const u32 member = warpgroup();");
  each_program(false, ", member");
  scratch_ = roles().bytes;
  UseShared(0);
  if (smem_bytes_ < roles().bytes) smem_bytes_ = roles().bytes;
  const size_t start = body_.size();
  TILEVM_RETURN_IF_ERROR(PrintRegion(kernel().body, nullptr));
  if (Merged() && smem_bytes_ > roles().bytes) return absl::UnimplementedError("merged programs have no scratch");
  // Programs share the scratch, if there is any.
  if (roles().persistent && smem_bytes_ > roles().bytes) body_.insert(start, absl::StrCat(std::string(2 * depth_, ' '), "barrier();\n"));
  --depth_;
  Line("}");
  if (ToldLater()) Line("told.end();");
  for (const pipeline::MadeMap& map : roles().made) {
    if (map.store) Line(MadeName(*map.access), ".give_back();");
  }
  if (!roles().box_stores.empty()) Line("boxes_read<0>();");  // the end of the kernel waits for the rest
  --depth_;
  Line("}");
  std::string maps;
  for (size_t i = 0; i < MapCount(); ++i) {
    if (!options_.boxes->slice().maps[i].made) absl::StrAppend(&maps, " prefetch_map(&map", i, ");");
  }
  if (!maps.empty()) body_.insert(prefetches, absl::StrCat("  if (threadIdx.x == ", consumers, ") {", maps, " }\n"));
  return absl::OkStatus();
}

// What programs read to find their work is asked for while the kernel before ends: the first line of each array that scalars are loaded from, by a warp each.
void Printer::PrintFirstLines() {
  std::set<int> bases;
  std::function<void(const ir::Region&)> collect = [&](const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      if (op.op == isa::Op::kLoad && !IsTile(op.results[0]) && BaseOf(op.operands[0]) >= 0) bases.insert(BaseOf(op.operands[0]));
      for (const ir::Region& inner : op.regions) collect(inner);
    }
  };
  collect(kernel().body);
  int warp = 0;
  for (int base : bases) Line("if (threadIdx.x == ", 32 * (warp++ % (4 * roles().groups)), ") prefetch_line(", Name(kernel().params[static_cast<size_t>(base)].value), ");");
}

// --- merged programs ---

// `body` for each merged program, with the scalars it needs that differ between them.
void Printer::PrintEachMember(const std::vector<ir::ValueId>& needed, const std::function<void()>& body) {
  std::set<const ir::Op*> ops;
  std::vector<ir::ValueId> open = needed;
  while (!open.empty()) {
    const ir::ValueId id = open.back();
    open.pop_back();
    if (id == ir::kNoValue || roles().varies.count(id) == 0 || !ops.insert(def_[id]).second) continue;
    open.insert(open.end(), def_[id]->operands.begin(), def_[id]->operands.end());
  }
  Line("#pragma unroll 1");
  Line("for (u32 other = 0; other < ", roles().programs, "; ++other) {");
  Line("  auto others = programs;");
  Line("  others.choose(other);");
  Line("  const auto& programs = others;");
  ++depth_;
  for (const ir::Op& op : kernel().body.ops) {
    if (ops.count(&op) != 0) PrintOp(op, nullptr, kernel().body).IgnoreError();  // scalars, which were printed before
  }
  body();
  --depth_;
  Line("}");
}

void Printer::PrintUnion(const ir::Op& loop, const std::string& first, const std::string& all) {
  const std::string type = CudaType(TypeOf(loop.regions[0].args[0]).elem);
  const std::string step = absl::StrCat("static_cast<", type, ">(", loop.FindAttr("step") != nullptr ? absl::StrCat(loop.IntAttr("step")) : Name(loop.operands[2]), ")");
  if (roles().varies.count(loop.operands[0]) != 0) Line(type, " ", first, " = ", Name(loop.operands[0]), ";");
  const std::string counts = CountType(loop);
  Line(counts, " ", all, " = 0;");
  PrintEachMember({loop.operands[0], loop.operands[1]}, [&] {
    const std::string low = Name(loop.operands[0]);
    Line("const ", counts, " count = trip_count<", type, ">(", low, ", ", Name(loop.operands[1]), ", ", step, ");");
    if (roles().varies.count(loop.operands[0]) == 0) {
      Line("if (count > ", all, ") ", all, " = count;");
      return;
    }
    // Steps are positive here, and the beginnings whole steps apart.
    Line("if (count != 0 && (", all, " == 0 || ", low, " < ", first, ")) {");
    Line("  if (", all, " != 0) ", all, " += static_cast<", counts, ">((", first, " - ", low, ") / ", step, ");");
    Line("  ", first, " = ", low, ";");
    Line("}");
    Line("const ", counts, " ends = static_cast<", counts, ">((", low, " - ", first, ") / ", step, ") + count;");
    Line("if (count != 0 && ends > ", all, ") ", all, " = ends;");
  });
}

// --- the producer ---

// Which tile comes first it works out while the kernel before still runs.
void Printer::WaitBeforeMemory(const ir::Op& op) {
  if (!producer_waits_) return;
  const bool produced = op.results.size() == 1 && roles().produced.count(op.results[0]) != 0;
  const bool kept = !op.results.empty() && std::any_of(roles().kept.begin(), roles().kept.end(), [&](const pipeline::Copy& copy) { return copy.value == op.results[0]; });
  const bool makes = std::any_of(roles().made.begin(), roles().made.end(), [&](const pipeline::MadeMap& map) { return map.before == &op; });
  const isa::Effect effect = isa::Info(op.op).effect;
  const bool touches = produced && (!op.regions.empty() || (effect != isa::Effect::kPure && effect != isa::Effect::kId));
  if (!touches && !kept && !makes && roles().told.count(&op) == 0 && roles().around.count(&op) == 0 &&
      (op.op != Op::kFor || options_.schedule->LoopOf(op.regions[0].args[0]) == nullptr)) {
    return;
  }
  Flush();
  PrintProducerWait();
}

void Printer::PrintProducerWait() {
  Line("wait_for_kernel_before();");
  if (roles().dealt) Line("after = dealer.next(deals + deal);");
  producer_waits_ = false;
}

absl::Status Printer::PrintProducer(const ir::Region& region) {
  std::vector<const ir::Op*> order;
  for (const ir::Op& op : region.ops) order.push_back(&op);
  size_t gathered = 0;  // ops up to here have been looked at
  std::vector<const ir::Op*> loads;  // of which the first looks for all at what stores may have written
  for (size_t i = 0; i < order.size(); ++i) {
    if (i >= gathered && IsHandedOut(*order[i]) && !IsLoadedAhead(*order[i])) {
      loads.clear();
      gathered = i + GatherScalarLoads(order, i, &loads) + loads.size();
    }
    const ir::Op& op = *order[i];
    WaitBeforeMemory(op);
    PrintMakes(op);
    TILEVM_ASSIGN_OR_RETURN(const bool loaded_ahead, PrintLoadsAhead(op));
    if (loaded_ahead) continue;
    if (op.results.size() == 1 && roles().produced.count(op.results[0]) != 0) {
      if (ToldLater() && op.op == Op::kLoad && !IsTile(op.results[0])) {
        const bool together = std::find(loads.begin(), loads.end(), &op) != loads.end();
        std::string addresses = together ? "" : Name(op.operands[0]);
        if (together && &op == loads[0]) {
          for (const ir::Op* load : loads) absl::StrAppend(&addresses, addresses.empty() ? "" : ", ", Name(load->operands[0]));
        }
        if (!addresses.empty()) Line("told.meet(", addresses, ");");
      }
      TILEVM_RETURN_IF_ERROR(PrintOp(op, nullptr, region));
      continue;
    }
    for (const pipeline::Copy& copy : roles().kept) {
      if (!op.results.empty() && op.results[0] == copy.value) PrintFill(copy.ring, roles().kept);
    }
    if (roles().told.count(&op) != 0) {
      Flush();
      SpoilLoadsAhead();
      if (!ToldLater()) {
        Line("told.pass();");
      } else if (const int made = MadeFor(op); made >= 0) {
        Line("told.pass(", roles().box_stores.at(&op).own_rows ? roles().groups : 1, ", made", made, ".low(), made", made, ".high());");
      } else {
        Line("told.pass(", 4 * roles().groups, ");");
      }
    }
    const pipeline::Loop* plan = op.op == Op::kFor ? options_.schedule->LoopOf(op.regions[0].args[0]) : nullptr;
    if (plan == nullptr && roles().around.count(&op) == 0) continue;
    Flush();
    if (op.op == Op::kFor) TILEVM_RETURN_IF_ERROR(PrintProducerFor(op, plan));
    if (op.op == Op::kWhile) TILEVM_RETURN_IF_ERROR(PrintProducerWhile(op));
    if (op.op == Op::kIf) TILEVM_RETURN_IF_ERROR(PrintProducerIf(op));
  }
  Flush();
  return absl::OkStatus();
}

absl::Status Printer::PrintProducerRegion(const ir::Region& region) {
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintProducer(region));
  EndScope(scope);
  return absl::OkStatus();
}

absl::Status Printer::PrintProducerIf(const ir::Op& op) {
  std::vector<std::string> targets;
  const auto carried = roles().carried.find(&op);
  const std::set<int> results = carried == roles().carried.end() ? std::set<int>() : carried->second;
  for (int i : results) {
    Line(Declared(op.results[i]), ";");
    targets.push_back(Name(op.results[i]));
  }
  Line("if (", Name(op.operands[0]), ") {");
  for (int side : {0, 1}) {
    ++depth_;
    TILEVM_RETURN_IF_ERROR(PrintProducerRegion(op.regions[side]));
    std::vector<ir::ValueId> values;
    for (int i : results) values.push_back(op.regions[side].ops.back().operands[i]);
    AssignAll(targets, values);
    --depth_;
    Line(side == 0 ? "} else {" : "}");
  }
  return absl::OkStatus();
}

absl::Status Printer::PrintProducerWhile(const ir::Op& op) {
  std::vector<std::string> targets;
  std::vector<ir::ValueId> tested, values;
  if (auto carried = roles().carried.find(&op); carried != roles().carried.end()) {
    for (int i : carried->second) {
      Line(Declared(op.results[i]), " = ", Name(op.operands[i]), ";");
      for (const ir::Region& region : op.regions) names_[region.args[i]] = Name(op.results[i]);
      targets.push_back(Name(op.results[i]));
      tested.push_back(op.regions[0].ops.back().operands[1 + i]);
      values.push_back(op.regions[1].ops.back().operands[i]);
    }
  }
  Line("while (true) {");
  ++depth_;
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintProducer(op.regions[0]));
  const std::string go = absl::StrCat("go", next_label_++);
  Line("const bool ", go, " = ", Name(op.regions[0].ops.back().operands[0]), ";");
  AssignAll(targets, tested);
  Line("if (!", go, ") break;");
  TILEVM_RETURN_IF_ERROR(PrintProducer(op.regions[1]));
  AssignAll(targets, values);
  EndScope(scope);
  --depth_;
  Line("}");
  return absl::OkStatus();
}

// What goes into one slot of a ring: boxes by one thread, the rest by all.
void Printer::PrintFill(int number, const std::vector<pipeline::Copy>& copies) {
  const std::string ring = absl::StrCat("ring", number);
  const pipeline::Ring& plan = roles().rings[number];
  Flush();
  Line(ring, ".wait_empty();");
  if (!roles().made.empty()) Line("__syncwarp();");  // barriers tell one round from the next, not from the one behind it: no lane may fall so far back
  if (std::any_of(copies.begin(), copies.end(), [&](const pipeline::Copy& copy) { return copy.ring == number && MadeFor(*def_[copy.value]) >= 0; })) {
    PrintMadeFill(number, copies);
    Line(ring, ".advance();");
    return;
  }
  const bool one = plan.boxes && (roles().by_threads || !roles().made.empty());
  if (one) Line("if (threadIdx.x == ", 128 * roles().groups, ") {");
  if (one) ++depth_;
  // The loop of a shared tail may not fill a slot.
  int64_t bytes = plan.kept ? plan.bytes : 0;
  for (const pipeline::Copy& copy : copies) {
    if (copy.ring == number && !copy.by_threads && !plan.kept) bytes += TypeOf(copy.value).elem_count() * isa::StorageBytes(TypeOf(copy.value).elem);
  }
  if (plan.boxes) Line(ring, ".expect(", bytes, ");");
  std::vector<const pipeline::Copy*> by_threads;
  for (const pipeline::Copy& copy : copies) {
    if (copy.ring != number) continue;
    if (copy.by_threads) {
      by_threads.push_back(&copy);
      continue;
    }
    const ir::Op& load = *def_[copy.value];
    const analysis::Box& box = *options_.boxes->Of(load);
    const isa::Type& type = TypeOf(copy.value);
    const int64_t elem_bytes = isa::StorageBytes(type.elem), rows = copy.row ? 1 : type.shape[1 - copy.axis], part = std::min<int64_t>(rows, 256);
    const int64_t panel = std::min<int64_t>(type.shape[copy.axis], copy.row ? 256 : 128 / elem_bytes);
    const int map = UseBox(load, {{copy.axis, panel}, {1 - copy.axis, part}}, copy.row ? 0 : static_cast<int>(panel * elem_bytes), copy.turned);
    std::vector<analysis::BoxDim> dims = box.dims;
    if (copy.turned) std::reverse(dims.begin(), dims.end());
    Place(load.loc);
    const bool each = Merged() && roles().rings[number].kept;
    const auto boxes = [&] {
      for (int64_t at = 0; at < type.shape[copy.axis]; at += panel) {
        for (int64_t row = 0; row < rows; row += part) {
          std::string coordinates;
          for (const analysis::BoxDim& dim : dims) absl::StrAppend(&coordinates, ", ", Coordinate(dim.start, dim.axis == copy.axis ? at : dim.axis == 1 - copy.axis ? row : 0));
          Line("load_box(", ring, ".address() + ", copy.offset + (at / panel * rows + row) * panel * elem_bytes, each ? absl::StrCat(" + other * ", copy.bytes) : "", ", &map",
               map, ", ", ring, ".full()", coordinates, ");");
        }
      }
    };
    if (!each) {
      boxes();
      continue;
    }
    std::vector<ir::ValueId> needed;
    for (const analysis::BoxDim& dim : box.dims) {
      for (const auto& [factors, coefficient] : dim.start.terms) {
        for (const analysis::Factor& factor : factors) needed.push_back(factor.value);
      }
    }
    PrintEachMember(needed, boxes);
  }
  if (one) --depth_;
  if (one) Line("}");
  if (plan.by_threads) {
    Line("{");
    ++depth_;
    PrintAllCopies(by_threads, ring + ".address()");
    --depth_;
    Line("}");
    Line(ring, ".copies_started();");
  }
  Line(ring, ".advance();");
}

absl::Status Printer::PrintProducerFor(const ir::Op& op, const pipeline::Loop* plan) {
  const ir::Region& body = op.regions[0];
  std::vector<std::string> targets;
  std::vector<ir::ValueId> values;
  if (auto carried = roles().carried.find(&op); carried != roles().carried.end()) {
    for (int i : carried->second) {
      Line(Declared(op.results[i]), " = ", Name(op.operands[3 + i]), ";");
      names_[body.args[1 + i]] = Name(op.results[i]);
      targets.push_back(Name(op.results[i]));
      values.push_back(body.ops.back().operands[i]);
    }
  }
  const std::string iv = Name(body.args[0]), type = CudaType(TypeOf(body.args[0]).elem), left = absl::StrCat("left", next_label_++), trip = iv + "_trip";
  const std::string step = op.FindAttr("step") != nullptr ? absl::StrCat(op.IntAttr("step")) : Name(op.operands[2]);
  Line(type, " ", iv, " = ", Name(op.operands[0]), ";");
  Line("i32 ", trip, " = 0;");
  const bool differ = BoundsDiffer(op);
  if (differ) PrintUnion(op, left + "_first", left + "_most");
  if (differ && roles().varies.count(op.operands[0]) != 0) {
    Line(trip, " = static_cast<i32>((", left, "_first - ", iv, ") / static_cast<", type, ">(", step, "));");
    Line(iv, " = ", left, "_first;");
  }
  if (plan != nullptr) PrintLowBits(op, *plan);
  for (size_t i = 0; plan != nullptr && ToldLater() && i < plan->copies.size(); ++i) {
    if (const int made = MadeFor(*def_[plan->copies[i].value]); made >= 0) Line("told.meet(made", made, ".low(), made", made, ".high());");
  }
  OpenLoadsAhead(op, left);
  Line("#pragma unroll 1");
  Line("for (", CountType(op), " ", left, " = ", differ ? left + "_most" : absl::StrCat("trip_count<", type, ">(", iv, ", ", Name(op.operands[1]), ", ", step, ")"), "; ", left, " != 0; --", left, ", ++", trip, ", ", iv, " = add(", iv,
       ", static_cast<", type, ">(", step, "))) {");
  ++depth_;
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintProducer(body));
  ahead_.pop_back();
  if (plan != nullptr) {
    // Ring by ring in the order in which the program reads them.
    std::vector<int> order;
    for (const ir::Op& inner : body.ops) {
      for (int ring : RingsOf(inner)) {
        if (std::find(order.begin(), order.end(), ring) == order.end()) order.push_back(ring);
      }
    }
    for (int number : order) PrintFill(number, plan->copies);
  }
  AssignAll(targets, values);
  EndScope(scope);
  --depth_;
  Line("}");
  return absl::OkStatus();
}

// In 32 bits: the launcher has checked that coordinates fit.
std::string Printer::Coordinate(const analysis::Polynomial& polynomial, int64_t plus) {
  std::string out;
  int64_t constant = plus;
  for (const auto& [factors, coefficient] : polynomial.terms) {
    if (factors.empty()) {
      constant += coefficient;
      continue;
    }
    std::string term = coefficient == 1 ? "" : absl::StrCat(coefficient);
    for (const analysis::Factor& factor : factors) {
      const std::string name = factor.trip ? Name(factor.value) + "_trip" : absl::StrCat("static_cast<i32>(", Name(factor.value), ")");
      absl::StrAppend(&term, term.empty() ? "" : " * ", name);
    }
    absl::StrAppend(&out, out.empty() ? "" : " + ", term);
  }
  if (out.empty()) return absl::StrCat(constant);
  return constant == 0 ? out : absl::StrCat(out, " + ", constant);
}

int Printer::UseBox(const ir::Op& access, const std::map<int, int64_t>& size, int swizzle, bool turned) {
  if (auto found = maps_.find(&access); found != maps_.end()) return found->second;
  std::vector<int64_t> extents;
  for (const analysis::BoxDim& dim : options_.boxes->Of(access)->dims) extents.push_back(dim.axis < 0 ? 1 : size.at(dim.axis));
  if (turned) std::reverse(extents.begin(), extents.end());
  return maps_[&access] = options_.boxes->Use(access, std::move(extents), swizzle, access.op == Op::kLoad && options_.workspace, turned);
}

// --- the consumers ---

std::set<int> Printer::RingsOf(const ir::Op& op) const {
  std::set<int> rings;
  auto add = [&](ir::ValueId id) {
    bool transposed;
    const pipeline::Copy* copy = id == ir::kNoValue ? nullptr : CopyBehind(id, &transposed);
    if (copy != nullptr && copy->ring >= 0 && !roles().rings[copy->ring].kept) rings.insert(copy->ring);
  };
  if (op.op == Op::kLoad) {
    if (const pipeline::Copy* copy = options_.schedule->CopyOf(op.results[0]); copy != nullptr && copy->row) rings.insert(copy->ring);
  }
  for (ir::ValueId operand : op.operands) {
    // A change of layout that nobody prints reads nothing.
    if (op.op == Op::kLoad || (!op.results.empty() && options_.schedule->not_printed.count(op.results[0]) != 0)) break;
    add(operand);
  }
  for (const ir::Region& inner : op.regions) {
    for (const ir::Op& nested : inner.ops) {
      const std::set<int> more = RingsOf(nested);
      rings.insert(more.begin(), more.end());
    }
  }
  return rings;
}

// A slot that more than wgmma reads is free when each warp has read it.
std::string Printer::ReleaseBy(int ring) const {
  return roles().rings[ring].by_wgmma ? "(threadIdx.x & 127) == 0" : "(__syncwarp(), (threadIdx.x & 31) == 0)";
}

void Printer::TakeRings(const ir::Op& op) {
  for (int ring : RingsOf(op)) {
    if (!taken_rings_.insert(ring).second) continue;
    Flush();
    Line("ring", ring, ".wait_full();");
  }
}

absl::Status Printer::PrintConsumerFor(const ir::Op& op, const pipeline::Loop& plan) {
  const ir::Region& body = op.regions[0];
  Pending before;
  const int fresh = OpenPipelined(op, plan, before);
  const ir::Op* const by = op.FindAttr("step") != nullptr ? nullptr : def_[op.operands[2]];
  const bool runs = options_.loops_run && !roles().by_threads && by != nullptr && by->op == Op::kConst && by->IntAttr("value") > 0;
  const int number = next_label_++;
  const std::string iv = Name(body.args[0]), type = CudaType(TypeOf(body.args[0]).elem), trips = absl::StrCat("trips", number), none = absl::StrCat("none", number);
  const std::string step = absl::StrCat("static_cast<", type, ">(", op.FindAttr("step") != nullptr ? absl::StrCat(op.IntAttr("step")) : Name(op.operands[2]), ")");
  Line(type, " ", iv, " = ", Name(op.operands[0]), ";");
  Line(CountType(op), " ", trips, " = trip_count<", type, ">(", iv, ", ", Name(op.operands[1]), ", ", step, ");");
  const std::string flag = absl::StrCat("add", number);
  if (fresh >= 0) {
    // A third of the compiler's time would go into all accumulators being one thing or another.
    if (runs) runs_.push_back({op.operands[0], op.operands[1]});
    else Line("const bool ", none, " = ", trips, " == 0;");
    Line("int ", flag, " = 0;");
    add_flag_ = flag;
  }
  const bool counted = roles().trips.count(body.args[0]) != 0;
  if (counted) Line("i32 ", iv, "_trip = 0;");
  if (ToldLater() && !plan.overlap.has_value()) Line("told.tell_unless(ring", plan.copies[0].ring, ".is_full());");
  if (TakesTwoSlots(op, plan)) {
    TILEVM_RETURN_IF_ERROR(PrintTwoSlots(op, trips));
    pending_.Join(before);
    return absl::OkStatus();
  }
  const int64_t outer_scratch = scratch_;
  if (plan.overlap.has_value()) TILEVM_RETURN_IF_ERROR(OpenOverlap(op, *plan.overlap));
  Line("#pragma unroll 1");
  Line("for (; ", trips, " != 0; --", trips, ", ", iv, " = add(", iv, ", ", step, ")", counted ? absl::StrCat(", ++", iv, "_trip") : "", ") {");
  ++depth_;
  std::vector<int> rings;  // in the order of use
  for (const ir::Op& inner : body.ops) {
    for (int ring : RingsOf(inner)) {
      if (std::find(rings.begin(), rings.end(), ring) == rings.end()) rings.push_back(ring);
    }
  }
  // Rings that a dot reads whose products run on into the next iteration.
  std::set<int> late = plan.deferred == ir::kNoValue ? std::set<int>() : RingsOf(*def_[plan.deferred]);
  auto release = [&](int ring, int keep) { Line("ring", ring, ".release<", keep, ">(", ReleaseBy(ring), ");"); };
  deferred_ = plan.deferred;
  consumed_ = &plan;
  ++loops_;
  taken_rings_.clear();
  const size_t scope = materialised_.size();
  TILEVM_RETURN_IF_ERROR(PrintRegion(body, &op));
  if (plan.overlap.has_value()) late = CloseOverlapBody();
  EndScope(scope);
  for (int ring : rings) {
    if (!plan.overlap.has_value() || late.count(ring) == 0) release(ring, late.count(ring));  // else in the next iteration
    Line("ring", ring, ".advance();");
  }
  consumed_ = nullptr;
  --loops_;
  deferred_ = ir::kNoValue;
  if (fresh >= 0) Line(flag, " = 1;");
  add_flag_.clear();
  --depth_;
  Line("}");
  if (plan.overlap.has_value()) CloseOverlap(late);
  scratch_ = outer_scratch;
  if (plan.deferred != ir::kNoValue) {
    // While the last product runs, if it takes as long as the scalars do: before a program's first product they cost nothing.
    const ir::Op& dot = *def_[plan.deferred];
    const isa::Type &a = TypeOf(dot.operands[0]), &sum = TypeOf(plan.deferred);
    constexpr int64_t kBytesACycle = 4096, kLeastCycles = 512;  // of operand a for each column
    if (a.elem_count() * isa::StorageBytes(a.elem) * sum.shape[1] >= kBytesACycle * kLeastCycles) SinkScalars();
    PrintWaitOfNextStore();
    Line("wgmma_wait<0>();");
    Line("wgmma_results<", LayoutOf(plan.deferred).register_count(), ">(", Name(plan.deferred), ".v);");
    for (int ring : late) release(ring, 0);
  }
  pending_.Join(before);
  if (fresh >= 0 && !runs) Line("if (", none, ") no_products<", LayoutOf(op.results[fresh]).register_count(), ">(", Name(op.results[fresh]), ".v);");
  return absl::OkStatus();
}

bool Printer::TakesTwoSlots(const ir::Op& loop, const pipeline::Loop& plan) const {
  const ir::Region& body = loop.regions[0];
  const ir::Op* dot = nullptr;
  std::set<ir::ValueId> scalars;
  for (const ir::Op& op : body.ops) {
    const ir::ValueId result = op.results.empty() ? ir::kNoValue : op.results[0];
    if (op.op == Op::kDot) {
      if (dot != nullptr) return false;
      dot = &op;
    } else if (roles().skipped.count(&op) == 0 && op.op != Op::kYield && plan.only_ahead.count(result) == 0 && options_.schedule->not_printed.count(result) == 0 &&
               options_.schedule->CopyOf(result) == nullptr) {
      if (!op.regions.empty() || result == ir::kNoValue || IsTile(result)) return false;
      scalars.insert(result);
    }
  }
  if (dot == nullptr || roles().trips.count(body.args[0]) != 0) return false;
  const auto wgmma = options_.schedule->wgmma.find(dot->results[0]);
  if (wgmma == options_.schedule->wgmma.end() || !wgmma->second.promote || wgmma->second.b_written || wgmma->second.a_written || 2 * wgmma->second.k_steps > kPromotedSteps) return false;
  for (int i : {0, 1}) {
    if (options_.schedule->operands.count({dot->results[0], i}) == 0) return false;
  }
  if (RingsOf(*dot).size() != 1) return false;
  // The sum goes around; nothing asks for the scalars that do.
  for (size_t i = 0; i < loop.results.size(); ++i) {
    const ir::ValueId next = body.ops.back().operands[i];
    if (next == dot->results[0] ? dot->operands[2] != body.args[1 + i] : IsTile(next) || !uses_[loop.results[i]].empty()) return false;
  }
  return uses_[dot->results[0]].size() == 1;
}

absl::Status Printer::PrintTwoSlots(const ir::Op& loop, const std::string& trips) {
  const ir::Region& body = loop.regions[0];
  const ir::Op& dot = *std::find_if(body.ops.begin(), body.ops.end(), [](const ir::Op& op) { return op.op == Op::kDot; });
  const pipeline::Wgmma& plan = options_.schedule->wgmma.at(dot.results[0]);
  const int number = *RingsOf(dot).begin();
  const std::string ring = absl::StrCat("ring", number), first = absl::StrCat("slot", next_label_++), second = absl::StrCat("slot", next_label_++);
  const std::string release = absl::StrCat(ring, ".release<0>(", ReleaseBy(number), ");");
  names_[dot.results[0]] = Name(dot.operands[2]);
  auto take = [&](const std::string& slot) {
    Line(ring, ".wait_full();");
    Line("const u32 ", slot, " = ", ring, ".address();");
    Line(ring, ".advance();");
  };
  slots_[number] = first;
  // An odd one first, as a loop too: of a branch the assembler would make two sets of accumulators.
  Line("#pragma unroll 1");
  Line("for (; (", trips, " & 1) != 0; --", trips, ") {");
  ++depth_;
  take(first);
  TILEVM_RETURN_IF_ERROR(PrintWgmma(dot, plan, false, ""));
  Line(release);
  --depth_;
  Line("}");
  Line("#pragma unroll 1");
  Line("for (; ", trips, " != 0; ", trips, " -= 2) {");
  ++depth_;
  take(first);
  take(second);
  second_slot_ = second;
  TILEVM_RETURN_IF_ERROR(PrintWgmma(dot, plan, false, ""));
  second_slot_.clear();
  Line(release);
  Line(release);
  --depth_;
  Line("}");
  slots_.clear();
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
