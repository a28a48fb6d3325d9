#include "specializer/pipeline/roles_model.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "specializer/ir/builder.h"

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::DType;
using isa::Op;

// What the values of the kernel are in a place of the model, and which program it runs.
struct Scope {
  std::map<ValueId, ValueId> values;
  ValueId index[4] = {kNoValue, kNoValue, kNoValue, kNoValue};  // the last: whether it is a part of one (split_tiles.h: shared tails)
};

class Modeller {
 public:
  Modeller(const layout::LayoutKernel& kernel, const Schedule& schedule, const std::array<int64_t, 3>& grid, int64_t ctas)
      : from_(kernel.kernel), schedule_(schedule), roles_(schedule.roles), grid_(grid), ctas_(ctas), builder_(&out_.kernel) {}

  absl::StatusOr<RolesModel> Run() {
    if (roles_.groups == 0) return absl::FailedPreconditionError("the kernel is not split into roles");
    out_.kernel = from_;
    out_.kernel.body = ir::Region();
    Index(from_.body, nullptr);
    AddMemory();
    out_.grid = {1 + roles_.programs, ctas_, 1};
    role_ = builder_.Emit(Op::kProgramId, isa::ScalarType(DType::kI32), {}, from_.loc, {{"axis", int64_t{0}}});
    cta_ = builder_.Emit(Op::kProgramId, isa::ScalarType(DType::kI32), {}, from_.loc, {{"axis", int64_t{1}}});
    const ValueId produces = Binary(Op::kEq, role_, Int(0));
    If(produces, [&] { EachProgram([&](ValueId program) { Producer(program); }); }, [&] {
      EachProgram([&](ValueId program) { Consumer(program); });
      if (ToldLater()) Tell();
    });
    ir::Op end;
    end.op = Op::kYield;
    builder_.EmitOp(std::move(end), {});
    if (!problem_.ok()) return problem_;
    return std::move(out_);
  }

 private:
  void Index(const ir::Region& region, const ir::Op* owner) {
    for (ValueId arg : region.args) owner_of_arg_[arg] = owner;
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) def_[result] = &op;
      for (const ir::Region& inner : op.regions) Index(inner, &op);
    }
  }
  void AddParam(const std::string& name, DType dtype, int64_t elements, ValueId* value) {
    *value = builder_.NewValue(isa::PointerType(dtype), name);
    ir::Param param;
    param.value = *value;
    param.name = name;
    param.source_index = static_cast<int>(out_.kernel.params.size());
    param.loc = from_.loc;
    out_.kernel.params.push_back(param);
    out_.memory.push_back({dtype, elements});
  }
  void AddMemory() {
    const int64_t rings = static_cast<int64_t>(roles_.rings.size());
    AddParam("barriers", DType::kI32, ctas_ * rings * kMostSlots * 2, &barriers_);
    AddParam("places", DType::kI32, ctas_ * (1 + roles_.programs) * rings, &places_);
    if (!roles_.told.empty()) AddParam("told", DType::kI32, ctas_ * kTold, &told_);
    if (!roles_.made.empty()) {
      const int64_t maps = static_cast<int64_t>(roles_.made.size());
      AddParam("ranges", DType::kI64, ctas_ * maps * 4, &ranges_);
      AddParam("handed", DType::kI32, ctas_ * maps * 4, &handed_);
      AddParam("map_places", DType::kI32, ctas_ * maps * 2, &map_places_);
      AddParam("written", DType::kI64, ctas_ * 2, &written_);
    }
    auto slots = [&](const Copy& copy) {
      const isa::Type& type = from_.TypeOf(copy.value);
      const Ring& ring = roles_.rings[static_cast<size_t>(copy.ring)];
      AddParam(absl::StrCat("ring", copy.ring, "_", copy.value), type.elem.dtype, ctas_ * ring.stages * Members(ring) * type.elem_count(), &slots_[copy.value]);
    };
    for (const Loop& loop : schedule_.loops) {
      for (const Copy& copy : loop.copies) slots(copy);
    }
    for (const Copy& copy : roles_.kept) slots(copy);
  }
  // Tiles of a copy in one slot.
  int64_t Members(const Ring& ring) const { return ring.kept ? roles_.programs : 1; }

  // --- small ops ---

  ValueId Int(int64_t value) { return builder_.ConstInt(DType::kI32, value, from_.loc); }
  ValueId Binary(Op op, ValueId a, ValueId b) {
    const bool compares = op == Op::kEq || op == Op::kLt || op == Op::kGt;
    return builder_.Emit(op, isa::ScalarType(compares ? DType::kI1 : DType::kI32), {a, b}, from_.loc);
  }
  ValueId Plus(ValueId a, ValueId b) { return Binary(Op::kAdd, a, b); }
  ValueId Times(ValueId a, int64_t b) { return Binary(Op::kMul, a, Int(b)); }
  ValueId At(ValueId pointer, ValueId offset) { return builder_.Emit(Op::kPtrAdd, out_.kernel.TypeOf(pointer), {pointer, offset}, from_.loc); }
  ValueId AtomicAdd(ValueId pointer, int64_t value, const char* sem) {
    return builder_.Emit(Op::kAtomicAdd, isa::ScalarType(DType::kI32), {pointer, Int(value)}, from_.loc, {{"sem", std::string(sem)}, {"scope", std::string("gpu")}});
  }
  std::vector<ValueId> Yielding(ir::Op op, std::vector<ir::Region> regions, const std::vector<isa::Type>& results) {
    op.regions = std::move(regions);
    op.loc = from_.loc;
    return builder_.EmitOp(std::move(op), results);
  }
  ir::Region In(const std::function<std::vector<ValueId>()>& body) {
    ir::Region region;
    builder_.PushRegion(&region);
    ir::Op yield;
    yield.op = Op::kYield;
    const std::vector<ValueId> values = body();
    yield.operands.assign(values.begin(), values.end());
    builder_.EmitOp(std::move(yield), {});
    builder_.PopRegion();
    return region;
  }
  void If(ValueId condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
    ir::Op op;
    op.op = Op::kIf;
    op.operands = {condition};
    auto nothing = [](const std::function<void()>& body) { return [&body] { body(); return std::vector<ValueId>(); }; };
    std::vector<ir::Region> regions;
    regions.push_back(In(nothing(then)));
    regions.push_back(In(nothing(otherwise)));
    Yielding(std::move(op), std::move(regions), {});
  }
  void ForRange(ValueId low, ValueId high, ValueId step, const std::function<void(ValueId)>& body) {
    ir::Op op;
    op.op = Op::kFor;
    op.operands = {low, high, step};
    const ValueId induction = builder_.NewValue(out_.kernel.TypeOf(low));
    ir::Region region = In([&] {
      body(induction);
      return std::vector<ValueId>();
    });
    region.args = {induction};
    std::vector<ir::Region> regions;
    regions.push_back(std::move(region));
    Yielding(std::move(op), std::move(regions), {});
  }
  // Until the number at `pointer` is `least` or more.
  void WaitFor(ValueId pointer, ValueId least) {
    ir::Op op;
    op.op = Op::kWhile;
    std::vector<ir::Region> regions;
    regions.push_back(In([&] { return std::vector<ValueId>{Binary(Op::kLt, AtomicAdd(pointer, 0, "acquire"), least)}; }));
    regions.push_back(In([] { return std::vector<ValueId>(); }));
    Yielding(std::move(op), std::move(regions), {});
  }

  // --- rings ---

  struct Slot {
    ValueId number, round, full, empty, place, position;
  };
  // Where this side stands in a ring.
  Slot Stand(int ring) {
    const int64_t rings = static_cast<int64_t>(roles_.rings.size()), stages = roles_.rings[static_cast<size_t>(ring)].stages;
    Slot out;
    out.place = At(places_, Plus(Times(Plus(Times(cta_, 1 + roles_.programs), role_), rings), Int(ring)));
    out.position = builder_.Emit(Op::kLoad, isa::ScalarType(DType::kI32), {out.place}, from_.loc);
    out.number = Binary(Op::kMod, out.position, Int(stages));
    out.round = Binary(Op::kFloorDiv, out.position, Int(stages));
    const ValueId pair = Times(Plus(Times(Plus(Times(cta_, rings), Int(ring)), kMostSlots), out.number), 2);
    out.full = At(barriers_, pair);
    out.empty = At(barriers_, Plus(pair, Int(1)));
    return out;
  }
  void Advance(const Slot& slot) { builder_.EmitVoid(Op::kStore, {slot.place, Plus(slot.position, Int(1))}, from_.loc); }
  // The tile of pointers to a copy in a slot.
  ValueId Tile(const Copy& copy, const Slot& slot, ValueId member) {
    const isa::Type& type = from_.TypeOf(copy.value);
    const Ring& ring = roles_.rings[static_cast<size_t>(copy.ring)];
    ValueId at = Plus(Times(cta_, ring.stages), slot.number);
    at = Times(at, Members(ring));
    if (member != kNoValue) at = Plus(at, member);
    const ValueId base = At(slots_.at(copy.value), Times(at, type.elem_count()));
    const ValueId line = builder_.Emit(Op::kArange, isa::TileType(DType::kI32, {type.elem_count()}), {}, from_.loc, {{"start", int64_t{0}}, {"end", type.elem_count()}});
    const ValueId numbers = builder_.Emit(Op::kReshape, isa::TileType(DType::kI32, type.shape), {line}, from_.loc,
                                          {{"shape", std::vector<int64_t>(type.shape.begin(), type.shape.end())}});
    const ValueId pointers = builder_.Splat(base, type.shape, from_.loc);
    return builder_.Emit(Op::kPtrAdd, out_.kernel.TypeOf(pointers), {pointers, numbers}, from_.loc);
  }
  std::vector<int> RingsOf(const Loop& loop) const {
    std::vector<int> rings;
    for (const Copy& copy : loop.copies) {
      if (std::find(rings.begin(), rings.end(), copy.ring) == rings.end()) rings.push_back(copy.ring);
    }
    return rings;
  }
  Slot WaitFull(int ring) {
    const Slot slot = Stand(ring);
    WaitFor(slot.full, Plus(slot.round, Int(1)));
    return slot;
  }
  void Release(int ring) {
    const Slot slot = Stand(ring);
    AtomicAdd(slot.empty, 1, "release");
    Advance(slot);
  }

  // --- stores that the producer may read ---

  // In `told`: how often the producer has passed one, how often the consumers have done one; how often each side is there; and whether the last one of boxes has
  // not been told yet. Where maps are made the producer waits late: `written` says between which addresses it has passed stores.
  bool ToldLater() const { return !roles_.made.empty() && !roles_.told.empty(); }
  ValueId ToldAt(int64_t i) { return At(told_, Plus(Times(cta_, kTold), Int(i))); }
  void PassStore(const ir::Op& store) {
    const ValueId passed = CountStore(ToldAt(2));
    AtomicAdd(ToldAt(0), 1, "release");
    if (!ToldLater()) return WaitFor(ToldAt(1), passed);
    Range range{Long(0), Long(std::numeric_limits<int64_t>::max())};
    if (auto made = roles_.made_for.find(&store); made != roles_.made_for.end()) range = RangeOf(made->second);
    const Range before = Written();
    const ValueId none = Wide(Op::kEq, before.end, Long(0));
    Write({builder_.Emit(Op::kWhere, isa::ScalarType(DType::kI64), {none, range.first, Wide(Op::kMinimum, before.first, range.first)}, from_.loc), Wide(Op::kMaximum, before.end, range.end)});
  }
  void DoStore(const ir::Op& op, const std::function<void()>& store) {
    const ValueId done = CountStore(ToldAt(3));
    if (ToldLater()) Tell();
    WaitFor(ToldAt(0), done);
    store();
    if (ToldLater() && roles_.made_for.count(&op) != 0) builder_.EmitVoid(Op::kStore, {ToldAt(4), Int(1)}, from_.loc);
    else AtomicAdd(ToldAt(1), 1, "release");
  }
  void Tell() {
    const ValueId open = builder_.Emit(Op::kLoad, isa::ScalarType(DType::kI32), {ToldAt(4)}, from_.loc);
    If(Binary(Op::kEq, open, Int(1)),
       [&] {
         AtomicAdd(ToldAt(1), 1, "release");
         builder_.EmitVoid(Op::kStore, {ToldAt(4), Int(0)}, from_.loc);
       },
       [] {});
  }
  struct Range {
    ValueId first, end;
  };
  ValueId Long(int64_t value) { return builder_.ConstInt(DType::kI64, value, from_.loc); }
  ValueId Wide(Op op, ValueId a, ValueId b) {
    const bool compares = op == Op::kEq || op == Op::kLt || op == Op::kGt;
    return builder_.Emit(op, isa::ScalarType(compares ? DType::kI1 : DType::kI64), {a, b}, from_.loc);
  }
  Range LoadRange(ValueId pointer) {
    const ValueId first = builder_.Emit(Op::kLoad, isa::ScalarType(DType::kI64), {pointer}, from_.loc);
    return {first, builder_.Emit(Op::kLoad, isa::ScalarType(DType::kI64), {At(pointer, Int(1))}, from_.loc)};
  }
  void StoreRange(ValueId pointer, const Range& range) {
    builder_.EmitVoid(Op::kStore, {pointer, range.first}, from_.loc);
    builder_.EmitVoid(Op::kStore, {At(pointer, Int(1)), range.end}, from_.loc);
  }
  Range Written() { return LoadRange(At(written_, Times(cta_, 2))); }
  void Write(const Range& range) { StoreRange(At(written_, Times(cta_, 2)), range); }
  // The producer is about to read there.
  void Meet(const Range& range) {
    const Range written = Written();
    const ValueId meets = builder_.Emit(Op::kBitAnd, isa::ScalarType(DType::kI1), {Wide(Op::kLt, range.first, written.end), Wide(Op::kLt, written.first, range.end)}, from_.loc);
    If(meets,
       [&] {
         WaitFor(ToldAt(1), builder_.Emit(Op::kLoad, isa::ScalarType(DType::kI32), {ToldAt(2)}, from_.loc));
         Write({Long(0), Long(0)});
       },
       [] {});
  }
  void MeetLoad(const ir::Op& load, const Scope& scope) {
    const ValueId at = builder_.Emit(Op::kBitcast, isa::ScalarType(DType::kI64), {Map(scope, load.operands[0])}, from_.loc);
    Meet({at, Wide(Op::kAdd, at, Long(isa::StorageBytes(from_.TypeOf(load.results[0]).elem)))});
  }

  // --- made maps: where they lie, and how they are handed to the consumers ---

  struct MapSlot {
    ValueId place, position, number, round;
  };
  // Of the map that this side made or took last (back: 1) or comes to next (0).
  MapSlot MapAt(int map, bool produces, int back) {
    const int64_t maps = static_cast<int64_t>(roles_.made.size());
    MapSlot out;
    out.place = At(map_places_, Plus(Times(cta_, 2 * maps), Int(2 * map + (produces ? 0 : 1))));
    out.position = Binary(Op::kSub, builder_.Emit(Op::kLoad, isa::ScalarType(DType::kI32), {out.place}, from_.loc), Int(back));
    out.number = Binary(Op::kMod, out.position, Int(2));
    out.round = Binary(Op::kFloorDiv, out.position, Int(2));
    return out;
  }
  ValueId OfMap(ValueId memory, int map, ValueId i) { return At(memory, Plus(Plus(Times(cta_, 4 * static_cast<int64_t>(roles_.made.size())), Int(4 * map)), i)); }
  Range RangeOf(int map) { return LoadRange(OfMap(ranges_, map, Times(MapAt(map, true, 1).number, 2))); }
  ValueId NumberOf(const analysis::Number& number, const Scope& scope) {
    const isa::Type type = isa::ScalarType(number.narrow ? DType::kI32 : DType::kI64);
    ValueId sum = builder_.ConstInt(type.elem.dtype, 0, from_.loc);
    for (const auto& [factors, coefficient] : number.value.terms) {
      ValueId product = builder_.ConstInt(type.elem.dtype, coefficient, from_.loc);
      for (const analysis::Factor& factor : factors) {
        ValueId value = Map(scope, factor.value);
        if (out_.kernel.TypeOf(value) != type) value = builder_.Emit(Op::kCast, type, {value}, from_.loc);
        product = builder_.Emit(Op::kMul, type, {product, value}, from_.loc);
      }
      sum = builder_.Emit(Op::kAdd, type, {sum, product}, from_.loc);
    }
    return number.narrow ? builder_.Emit(Op::kCast, isa::ScalarType(DType::kI64), {sum}, from_.loc) : sum;
  }
  void MakeMaps(const ir::Op& before, const Scope& scope) {
    for (size_t i = 0; i < roles_.made.size(); ++i) {
      const MadeMap& map = roles_.made[i];
      if (map.before != &before) continue;
      const MapSlot slot = MapAt(static_cast<int>(i), true, 0);
      if (map.store) WaitFor(OfMap(handed_, static_cast<int>(i), Plus(slot.number, Int(2))), slot.round);
      const int64_t bytes = isa::StorageBytes({map.box.dtype, false});
      const size_t axis = static_cast<size_t>(map.box.axis);
      const ValueId address = builder_.Emit(Op::kBitcast, isa::ScalarType(DType::kI64), {Map(scope, map.box.base)}, from_.loc);
      const ValueId first = Wide(Op::kAdd, address, Wide(Op::kMul, NumberOf(map.box.offset, scope), Long(bytes)));
      const ValueId columns = NumberOf(map.box.extent[axis], scope), rows = NumberOf(map.box.extent[1 - axis], scope);
      const ValueId stride = Wide(Op::kMul, NumberOf(map.box.stride, scope), Long(bytes));
      // What a map demands; else it may be anywhere.
      ValueId fits = Wide(Op::kEq, Wide(Op::kMod, Wide(Op::kBitOr, first, stride), Long(16)), Long(0));
      for (ValueId positive : {columns, rows, stride}) fits = builder_.Emit(Op::kBitAnd, isa::ScalarType(DType::kI1), {fits, Wide(Op::kGt, positive, Long(0))}, from_.loc);
      const ValueId end = Wide(Op::kAdd, Wide(Op::kAdd, first, Wide(Op::kMul, Wide(Op::kSub, rows, Long(1)), stride)), Wide(Op::kMul, columns, Long(bytes)));
      const auto where = [&](ValueId a, int64_t b) { return builder_.Emit(Op::kWhere, isa::ScalarType(DType::kI64), {fits, a, Long(b)}, from_.loc); };
      StoreRange(OfMap(ranges_, static_cast<int>(i), Times(slot.number, 2)), {where(first, 0), where(end, std::numeric_limits<int64_t>::max())});
      if (map.store) AtomicAdd(OfMap(handed_, static_cast<int>(i), slot.number), 1, "release");
      builder_.EmitVoid(Op::kStore, {slot.place, Plus(slot.position, Int(1))}, from_.loc);
    }
  }
  void GiveBack(int map) {
    const MapSlot last = MapAt(map, false, 1);
    If(Binary(Op::kLt, last.position, Int(0)), [] {}, [&] { AtomicAdd(OfMap(handed_, map, Plus(last.number, Int(2))), 1, "release"); });
  }
  void TakeMaps(const ir::Op& before) {
    for (size_t i = 0; i < roles_.made.size(); ++i) {
      if (roles_.made[i].before != &before || !roles_.made[i].store) continue;
      if (ToldLater()) Tell();
      GiveBack(static_cast<int>(i));
      const MapSlot slot = MapAt(static_cast<int>(i), false, 0);
      WaitFor(OfMap(handed_, static_cast<int>(i), slot.number), Plus(slot.round, Int(1)));
      builder_.EmitVoid(Op::kStore, {slot.place, Plus(slot.position, Int(1))}, from_.loc);
    }
  }
  ValueId CountStore(ValueId place) {
    const ValueId count = Plus(builder_.Emit(Op::kLoad, isa::ScalarType(DType::kI32), {place}, from_.loc), Int(1));
    builder_.EmitVoid(Op::kStore, {place, count}, from_.loc);
    return count;
  }

  // --- programs ---

  void EachProgram(const std::function<void(ValueId)>& body) {
    const int64_t sets = (grid_[0] + roles_.programs - 1) / roles_.programs;
    ForRange(cta_, Int(roles_.tail_parts > 1 ? WholeOnes() + (Programs() - WholeOnes()) * roles_.tail_parts : sets * grid_[1] * grid_[2]), Int(ctas_), body);
  }
  int64_t Programs() const { return grid_[0] * grid_[1] * grid_[2]; }
  int64_t WholeOnes() const { return Programs() - Programs() % ctas_; }
  Scope ProgramOfTail(ValueId number) {
    Scope scope;
    const ValueId part = builder_.Emit(Op::kCast, isa::ScalarType(DType::kI32), {Binary(Op::kLt, Int(WholeOnes() - 1), number)}, from_.loc);
    const ValueId size = Plus(Int(grid_[0]), Times(part, grid_[0] * (roles_.tail_parts - 1)));
    const ValueId of = Plus(number, Times(part, WholeOnes() * (roles_.tail_parts - 1)));
    scope.index[0] = Binary(Op::kMod, of, size);
    scope.index[1] = Binary(Op::kMod, Binary(Op::kFloorDiv, of, size), Int(grid_[1]));
    scope.index[2] = Binary(Op::kFloorDiv, of, Times(size, grid_[1]));
    scope.index[3] = part;
    return scope;
  }
  Scope ProgramOf(ValueId number, ValueId member) {
    if (roles_.tail_parts > 1) return ProgramOfTail(number);
    const int64_t sets = (grid_[0] + roles_.programs - 1) / roles_.programs;
    Scope scope;
    scope.index[0] = Binary(Op::kMinimum, Plus(Times(Binary(Op::kMod, number, Int(sets)), roles_.programs), member), Int(grid_[0] - 1));
    scope.index[1] = Binary(Op::kMod, Binary(Op::kFloorDiv, number, Int(sets)), Int(grid_[1]));
    scope.index[2] = Binary(Op::kFloorDiv, number, Int(sets * grid_[1]));
    // Places that no program is left for store nothing.
    counts_ = Binary(Op::kLt, Plus(Times(Binary(Op::kMod, number, Int(sets)), roles_.programs), member), Int(grid_[0]));
    const int reversed = schedule_.order.reversed;
    if (reversed >= 0) scope.index[reversed] = Binary(Op::kSub, Int(grid_[static_cast<size_t>(reversed)] - 1), scope.index[reversed]);
    return scope;
  }
  ValueId Map(const Scope& scope, ValueId id) const {
    auto found = scope.values.find(id);
    return found == scope.values.end() ? id : found->second;  // parameters
  }
  void CloneOp(const ir::Op& op, Scope& scope) {
    if (op.op == Op::kProgramId) {
      scope.values[op.results[0]] = scope.index[op.IntAttr("axis")];
      return;
    }
    if (op.op == Op::kNumPrograms) {
      scope.values[op.results[0]] = Int(grid_[static_cast<size_t>(op.IntAttr("axis"))] * op.IntAttr("parts", 1));
      return;
    }
    ir::Op copy = op;
    copy.results.clear();
    copy.regions.clear();
    for (ValueId& operand : copy.operands) operand = operand == kNoValue ? operand : Map(scope, operand);
    for (const ir::Region& region : op.regions) {  // of reduce, scan and the like
      ir::Region inner;
      for (ValueId arg : region.args) inner.args.push_back(scope.values[arg] = builder_.NewValue(from_.TypeOf(arg)));
      builder_.PushRegion(&inner);
      for (const ir::Op& nested : region.ops) CloneOp(nested, scope);
      builder_.PopRegion();
      copy.regions.push_back(std::move(inner));
    }
    std::vector<isa::Type> types;
    for (ValueId result : op.results) types.push_back(from_.TypeOf(result));
    const std::vector<ValueId> results = builder_.EmitOp(std::move(copy), types);
    for (size_t i = 0; i < results.size(); ++i) scope.values[op.results[i]] = results[i];
  }

  // --- the producer ---

  // What the copies and the bounds of loops need, of ops and of what loops carry.
  void Need(ValueId id) {
    if (id == kNoValue || !needed_.insert(id).second) return;
    if (auto arg = owner_of_arg_.find(id); arg != owner_of_arg_.end()) {
      const ir::Op* loop = arg->second;
      if (loop == nullptr || (loop->op != Op::kFor && loop->op != Op::kWhile)) return Fail("the producer needs a value of ", loop == nullptr ? "nowhere" : isa::Mnemonic(loop->op));
      const size_t skip = loop->op == Op::kFor ? 1 : 0;
      for (const ir::Region& region : loop->regions) {
        const auto at = std::find(region.args.begin(), region.args.end(), id);
        if (at != region.args.end() && at - region.args.begin() >= static_cast<std::ptrdiff_t>(skip)) NeedResult(*loop, static_cast<size_t>(at - region.args.begin()) - skip);
      }
      return;
    }
    auto def = def_.find(id);
    if (def == def_.end()) return;
    const ir::Op& op = *def->second;
    if (!op.regions.empty()) {
      if (op.op != Op::kFor && op.op != Op::kWhile && op.op != Op::kIf) return Fail("the producer needs the result of ", isa::Mnemonic(op.op));
      return NeedResult(op, static_cast<size_t>(std::find(op.results.begin(), op.results.end(), id) - op.results.begin()));
    }
    for (ValueId operand : op.operands) Need(operand);
  }
  void NeedResult(const ir::Op& op, size_t i) {
    if (!carried_[&op].insert(i).second) return;
    for (const ir::Region& region : op.regions) Need(region.ops.back().operands[i + (op.op == Op::kWhile && &region == &op.regions[0] ? 1 : 0)]);
    if (op.op != Op::kIf) Need(op.operands[(op.op == Op::kFor ? 3 : 0) + i]);
  }
  void NeedLoad(const Copy& copy) {
    for (ValueId operand : def_.at(copy.value)->operands) Need(operand);
  }
  void Producer(ValueId program) {
    program_ = program;
    for (const Loop& loop : schedule_.loops) {
      for (const Copy& copy : loop.copies) NeedLoad(copy);
    }
    for (const Copy& copy : roles_.kept) NeedLoad(copy);
    for (const MadeMap& map : roles_.made) {
      for (ValueId field : map.box.fields) Need(field);
    }
    std::vector<const ir::Op*> around(roles_.around.begin(), roles_.around.end());
    for (const Loop& loop : schedule_.loops) around.push_back(owner_of_arg_.at(loop.induction));
    for (const ir::Op* op : around) {
      for (size_t i = 0; i < (op->op == Op::kFor ? 3u : op->op == Op::kIf ? 1u : 0u); ++i) Need(op->operands[i]);
      if (op->op == Op::kWhile) Need(op->regions[0].ops.back().operands[0]);
    }
    Scope scope = ProgramOf(program, Int(0));
    Produce(from_.body, scope);
  }
  void Produce(const ir::Region& region, Scope& scope) {
    for (const ir::Op& op : region.ops) {
      MakeMaps(op, scope);
      for (const Copy& copy : roles_.kept) {
        if (!op.results.empty() && op.results[0] == copy.value) FillKept(copy, op, scope);
      }
      if (op.op == Op::kFor) {
        const Loop* plan = schedule_.LoopOf(op.regions[0].args[0]);
        if (plan != nullptr || roles_.around.count(&op) != 0) ProduceFor(op, plan, scope);
      } else if ((op.op == Op::kIf || op.op == Op::kWhile) && roles_.around.count(&op) != 0) {
        ProduceWay(op, scope);
      } else if (roles_.told.count(&op) != 0) {
        PassStore(op);
      } else if (op.regions.empty() && op.results.size() == 1 && needed_.count(op.results[0]) != 0) {
        if (ToldLater() && op.op == Op::kLoad && from_.TypeOf(op.results[0]).is_scalar()) MeetLoad(op, scope);
        CloneOp(op, scope);
      }
    }
  }
  // A branch, or a loop without a count.
  void ProduceWay(const ir::Op& op, Scope& scope) {
    const std::set<size_t>& carried = carried_[&op];
    ir::Op way;
    way.op = op.op;
    way.attrs = op.attrs;
    if (op.op == Op::kIf) way.operands = {Map(scope, op.operands[0])};
    std::vector<isa::Type> types;
    for (size_t i : carried) {
      if (op.op == Op::kWhile) way.operands.push_back(Map(scope, op.operands[i]));
      types.push_back(from_.TypeOf(op.results[i]));
    }
    std::vector<ir::Region> regions;
    for (size_t r = 0; r < op.regions.size(); ++r) {
      const ir::Region& region = op.regions[r];
      const bool test = op.op == Op::kWhile && r == 0;
      Scope inner = scope;
      ir::Region made;
      for (size_t i : carried) {
        if (op.op == Op::kWhile) made.args.push_back(inner.values[region.args[i]] = builder_.NewValue(from_.TypeOf(region.args[i])));
      }
      builder_.PushRegion(&made);
      Produce(region, inner);
      ir::Op yield;
      yield.op = Op::kYield;
      if (test) yield.operands.push_back(Map(inner, region.ops.back().operands[0]));
      for (size_t i : carried) yield.operands.push_back(Map(inner, region.ops.back().operands[i + (test ? 1 : 0)]));
      builder_.EmitOp(std::move(yield), {});
      builder_.PopRegion();
      regions.push_back(std::move(made));
    }
    const std::vector<ValueId> results = Yielding(std::move(way), std::move(regions), types);
    size_t next = 0;
    for (size_t i : carried) scope.values[op.results[i]] = results[next++];
  }
  void FillKept(const Copy& copy, const ir::Op& load, const Scope& scope) {
    const Slot slot = Stand(copy.ring);
    WaitFor(slot.empty, Times(slot.round, roles_.programs));
    for (int64_t member = 0; member < roles_.programs; ++member) {
      // What differs between the programs, for each.
      Scope own = roles_.programs == 1 ? scope : Slice(Int(member));
      StoreTile(copy, load, slot, own, Int(member));
    }
    AtomicAdd(slot.full, 1, "release");
    Advance(slot);
  }
  // The scalars and tiles of the kernel's body that the producer needs, for one of the merged programs.
  Scope Slice(ValueId member) {
    const ValueId counts = counts_;
    Scope scope = ProgramOf(program_, member);
    counts_ = counts;
    for (const ir::Op& op : from_.body.ops) {
      const bool wanted = op.results.size() == 1 && (needed_.count(op.results[0]) != 0 || roles_.varies.count(op.results[0]) != 0);
      if (op.regions.empty() && wanted) CloneOp(op, scope);
    }
    return scope;
  }
  void StoreTile(const Copy& copy, const ir::Op& load, const Slot& slot, Scope& scope, ValueId member) {
    CloneOp(load, scope);
    builder_.EmitVoid(Op::kStore, {Tile(copy, slot, member), scope.values.at(copy.value)}, from_.loc);
  }
  void ProduceFor(const ir::Op& op, const Loop* plan, Scope& scope) {
    const ir::Region& body = op.regions[0];
    ValueId low = Map(scope, op.operands[0]), high = Map(scope, op.operands[1]);
    const ValueId step = Map(scope, op.operands[2]);
    ir::Op loop;
    loop.op = Op::kFor;
    loop.attrs = op.attrs;
    for (size_t i = 0; plan != nullptr && ToldLater() && i < plan->copies.size(); ++i) Meet(RangeOf(roles_.made_for.at(def_.at(plan->copies[i].value))));
    ValueId shift = kNoValue;  // steps from this program's beginning to the first of all
    if (plan != nullptr && Differ(op)) {
      const Union all = UnionOf(op);
      shift = Binary(Op::kFloorDiv, Binary(Op::kSub, all.first, low), step);
      low = all.first;
      high = all.last;
    }
    loop.operands = {low, high, step};
    const std::set<size_t>& carried = carried_[&op];
    std::vector<isa::Type> types;
    for (size_t i : carried) {
      ValueId initial = Map(scope, op.operands[3 + i]);
      if (shift != kNoValue) initial = Shifted(op, i, initial, shift, scope);
      loop.operands.push_back(initial);
      types.push_back(from_.TypeOf(op.results[i]));
    }
    Scope inner = scope;
    ir::Region region;
    region.args.push_back(inner.values[body.args[0]] = builder_.NewValue(from_.TypeOf(body.args[0])));
    for (size_t i : carried) region.args.push_back(inner.values[body.args[1 + i]] = builder_.NewValue(from_.TypeOf(body.args[1 + i])));
    builder_.PushRegion(&region);
    Produce(body, inner);
    if (plan != nullptr) {
      for (int ring : RingsOf(*plan)) {
        const Slot slot = Stand(ring);
        WaitFor(slot.empty, Times(slot.round, roles_.programs));
        for (const Copy& copy : plan->copies) {
          if (copy.ring == ring) StoreTile(copy, *def_.at(copy.value), slot, inner, kNoValue);
        }
        AtomicAdd(slot.full, 1, "release");
        Advance(slot);
      }
    }
    ir::Op yield;
    yield.op = Op::kYield;
    for (size_t i : carried) yield.operands.push_back(Map(inner, body.ops.back().operands[i]));
    builder_.EmitOp(std::move(yield), {});
    builder_.PopRegion();
    std::vector<ir::Region> regions;
    regions.push_back(std::move(region));
    const std::vector<ValueId> results = Yielding(std::move(loop), std::move(regions), types);
    size_t next = 0;
    for (size_t i : carried) scope.values[op.results[i]] = results[next++];
  }
  // A carried scalar that moves by one addition an iteration, some iterations from its beginning.
  ValueId Shifted(const ir::Op& op, size_t i, ValueId initial, ValueId shift, const Scope& scope) {
    const ir::Region& body = op.regions[0];
    const ir::Op* add = def_.count(body.ops.back().operands[i]) != 0 ? def_.at(body.ops.back().operands[i]) : nullptr;
    if (add == nullptr || add->op != Op::kAdd) {
      Fail("a carried value of a loop that begins elsewhere is no sum");
      return initial;
    }
    const ValueId by = add->operands[0] == body.args[1 + i] ? add->operands[1] : add->operands[0];
    const isa::Type& type = from_.TypeOf(op.results[i]);
    ValueId steps = shift;
    if (type != isa::ScalarType(DType::kI32)) steps = builder_.Emit(Op::kCast, type, {shift}, from_.loc);
    return builder_.Emit(Op::kAdd, type, {initial, builder_.Emit(Op::kMul, type, {steps, Map(scope, by)}, from_.loc)}, from_.loc);
  }

  // --- merged programs ---

  bool Differ(const ir::Op& loop) const {
    return roles_.programs > 1 && (roles_.varies.count(loop.operands[0]) != 0 || roles_.varies.count(loop.operands[1]) != 0);
  }
  struct Union {
    ValueId first, last;
  };
  // The first beginning and the last end of any program that goes round at all.
  Union UnionOf(const ir::Op& loop) {
    Union out{kNoValue, kNoValue};
    for (int64_t member = 0; member < roles_.programs; ++member) {
      const Scope own = Slice(Int(member));
      const ValueId low = Map(own, loop.operands[0]), high = Map(own, loop.operands[1]), step = Map(own, loop.operands[2]);
      const ValueId trips = Trips(low, high, step), runs = Binary(Op::kGt, trips, Int(0));
      const ValueId end = Plus(low, Binary(Op::kMul, trips, step));
      auto where = [&](ValueId condition, ValueId a, ValueId b) { return builder_.Emit(Op::kWhere, isa::ScalarType(DType::kI32), {condition, a, b}, from_.loc); };
      if (member == 0) {
        out.first = where(runs, low, Int(kFar));
        out.last = where(runs, end, Int(-kFar));
      } else {
        out.first = where(runs, Binary(Op::kMinimum, out.first, low), out.first);
        out.last = where(runs, Binary(Op::kMaximum, out.last, end), out.last);
      }
    }
    return out;
  }
  ValueId Trips(ValueId low, ValueId high, ValueId step) {
    const ValueId span = Binary(Op::kMaximum, Binary(Op::kSub, high, low), Int(0));
    return Binary(Op::kFloorDiv, Binary(Op::kSub, Plus(span, step), Int(1)), step);
  }
  void Drain(const Loop& plan, ValueId low, ValueId high, ValueId step) {
    ForRange(low, high, step, [&](ValueId) {
      for (int ring : RingsOf(plan)) {
        WaitFull(ring);
        Release(ring);
      }
    });
  }

  // --- the consumers ---

  void Consumer(ValueId program) {
    program_ = program;
    member_ = Binary(Op::kSub, role_, Int(1));
    Scope scope = ProgramOf(program, member_);
    CloneRegion(from_.body, scope);
  }
  // Without the region's end.
  void CloneRegion(const ir::Region& region, Scope& scope) {
    for (const ir::Op& op : region.ops) {
      if (op.op == Op::kYield) continue;
      TakeMaps(op);
      const Copy* copy = op.op == Op::kLoad ? schedule_.CopyOf(op.results[0]) : nullptr;
      if (copy != nullptr && !roles_.rings[static_cast<size_t>(copy->ring)].kept) continue;  // taken where the iteration begins
      if (copy != nullptr) {
        Take(*copy, WaitFull(copy->ring), scope);
      } else if (roles_.told.count(&op) != 0) {
        DoStore(op, [&] { CloneOp(op, scope); });
      } else if (op.op == Op::kStore && roles_.programs > 1) {
        If(counts_, [&] { CloneOp(op, scope); }, [] {});
      } else if (op.op == Op::kFor) {
        ConsumeFor(op, scope);
      } else if (op.op == Op::kIf || op.op == Op::kWhile) {
        ConsumeWay(op, scope);
      } else if (op.op == Op::kBlock || op.op == Op::kExit) {
        Fail(isa::Mnemonic(op.op), " is not modelled");
      } else {
        CloneOp(op, scope);
      }
      if (auto done = roles_.done_after.find(&op); done != roles_.done_after.end()) {
        for (int ring : done->second) Release(ring);
      }
    }
  }
  void Take(const Copy& copy, const Slot& slot, Scope& scope) {
    const bool kept = roles_.rings[static_cast<size_t>(copy.ring)].kept;
    scope.values[copy.value] = builder_.Emit(Op::kLoad, from_.TypeOf(copy.value), {Tile(copy, slot, kept ? member_ : kNoValue)}, from_.loc);
  }
  void ConsumeFor(const ir::Op& op, Scope& scope) {
    const ir::Region& body = op.regions[0];
    const Loop* plan = schedule_.LoopOf(body.args[0]);
    ir::Op loop;
    loop.op = Op::kFor;
    loop.attrs = op.attrs;
    for (ValueId operand : op.operands) loop.operands.push_back(Map(scope, operand));
    const bool differ = plan != nullptr && Differ(op);
    Union all{kNoValue, kNoValue};
    ValueId own_end = kNoValue;
    if (differ) {
      all = UnionOf(op);
      const ValueId trips = Trips(loop.operands[0], loop.operands[1], loop.operands[2]), runs = Binary(Op::kGt, trips, Int(0));
      auto where = [&](ValueId a, ValueId b) { return builder_.Emit(Op::kWhere, isa::ScalarType(DType::kI32), {runs, a, b}, from_.loc); };
      Drain(*plan, all.first, where(loop.operands[0], all.last), loop.operands[2]);
      own_end = where(Plus(loop.operands[0], Binary(Op::kMul, trips, loop.operands[2])), all.last);
    }
    if (plan != nullptr && ToldLater()) {  // unless the first slot is there
      const Slot first = Stand(plan->copies[0].ring);
      If(Binary(Op::kLt, first.round, AtomicAdd(first.full, 0, "acquire")), [] {}, [&] { Tell(); });
    }
    Scope inner = scope;
    ir::Region region;
    for (ValueId arg : body.args) region.args.push_back(inner.values[arg] = builder_.NewValue(from_.TypeOf(arg)));
    builder_.PushRegion(&region);
    if (plan != nullptr) {
      for (int ring : RingsOf(*plan)) {
        const Slot slot = WaitFull(ring);
        for (const Copy& copy : plan->copies) {
          if (copy.ring == ring) Take(copy, slot, inner);
        }
      }
    }
    CloneRegion(body, inner);
    if (plan != nullptr) {
      for (int ring : RingsOf(*plan)) Release(ring);
    }
    CloneOp(body.ops.back(), inner);
    builder_.PopRegion();
    std::vector<isa::Type> types;
    for (ValueId result : op.results) types.push_back(from_.TypeOf(result));
    const ValueId step = loop.operands[2];
    std::vector<ir::Region> regions;
    regions.push_back(std::move(region));
    const std::vector<ValueId> results = Yielding(std::move(loop), std::move(regions), types);
    for (size_t i = 0; i < results.size(); ++i) scope.values[op.results[i]] = results[i];
    if (differ) Drain(*plan, own_end, all.last, step);
  }
  void ConsumeWay(const ir::Op& op, Scope& scope) {
    ir::Op copy;
    copy.op = op.op;
    copy.attrs = op.attrs;
    for (ValueId operand : op.operands) copy.operands.push_back(Map(scope, operand));
    std::vector<ir::Region> regions;
    for (const ir::Region& region : op.regions) {
      Scope inner = scope;
      ir::Region made;
      for (ValueId arg : region.args) made.args.push_back(inner.values[arg] = builder_.NewValue(from_.TypeOf(arg)));
      builder_.PushRegion(&made);
      CloneRegion(region, inner);
      CloneOp(region.ops.back(), inner);
      builder_.PopRegion();
      regions.push_back(std::move(made));
    }
    std::vector<isa::Type> types;
    for (ValueId result : op.results) types.push_back(from_.TypeOf(result));
    const std::vector<ValueId> results = Yielding(std::move(copy), std::move(regions), types);
    for (size_t i = 0; i < results.size(); ++i) scope.values[op.results[i]] = results[i];
  }

  template <typename... Parts>
  void Fail(const Parts&... parts) {
    if (problem_.ok()) problem_ = absl::UnimplementedError(absl::StrCat(parts...));
  }

  static constexpr int64_t kMostSlots = 16;
  static constexpr int64_t kTold = 5;
  static constexpr int64_t kFar = int64_t{1} << 30;

  const ir::Kernel& from_;
  const Schedule& schedule_;
  const Roles& roles_;
  const std::array<int64_t, 3> grid_;
  const int64_t ctas_;
  RolesModel out_;
  ir::Builder builder_;
  absl::Status problem_;
  std::map<ValueId, const ir::Op*> def_, owner_of_arg_;
  ValueId barriers_ = kNoValue, places_ = kNoValue, told_ = kNoValue, ranges_ = kNoValue, handed_ = kNoValue, map_places_ = kNoValue, written_ = kNoValue, role_ = kNoValue, cta_ = kNoValue, member_ = kNoValue, program_ = kNoValue, counts_ = kNoValue;
  std::map<ValueId, ValueId> slots_;  // by copy: its memory
  std::set<ValueId> needed_;
  std::map<const ir::Op*, std::set<size_t>> carried_;
};

}  // namespace

absl::StatusOr<RolesModel> ModelRoles(const layout::LayoutKernel& kernel, const Schedule& schedule, const std::array<int64_t, 3>& grid, int64_t ctas) {
  return Modeller(kernel, schedule, grid, ctas).Run();
}

}  // namespace tilevm::pipeline
