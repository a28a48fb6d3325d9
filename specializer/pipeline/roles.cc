#include "specializer/pipeline/roles.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "specializer/passes/rewriter.h"
#include "specializer/pipeline/box_stores.h"
#include "specializer/pipeline/split_tiles.h"
#include "specializer/pipeline/while_loops.h"

namespace tilevm::pipeline {
namespace {

using ir::kNoValue;
using ir::ValueId;
using isa::Op;

constexpr int64_t kSlotAlign = 1024;     // the swizzle repeats every 8 rows of 128 bytes
constexpr int kMostStages = 8;
constexpr int64_t kEnoughBytes = 160 * 1024;  // under way at once; more hides nothing
constexpr int64_t kEnoughBesideStores = 128 * 1024;  // where what is left serves stores
constexpr int64_t kReservedSmem = 1024;       // of the shared memory of a multiprocessor, for each CTA
constexpr int64_t kDealBytes = 64;            // two numbers and their barriers
constexpr int64_t kToldBytes = 16;            // how many stores are done
constexpr int64_t kMadeBytes = 512;           // two records of a map that the kernel makes
constexpr int64_t kMadeBarriers = 32;         // and of one that is handed to the consumers
constexpr int kLeastShared = 2;               // slots of each of two CTAs
constexpr int kJoinedStages = 4;              // at least, of slots that hold the boxes of two products,
constexpr int kOverlapStages = 4;             // or of several, beside kept tiles
constexpr int kMostGroups = 3;           // of one program: with the producer's, four warpgroups share the registers
constexpr int kMostPrograms = 4;
// Registers of products and fragments that leave room for the rest, by how many groups share a CTA.
constexpr int64_t kProductRegisters[kMostPrograms + 1] = {0, 0, 196, 128, 80};

class Splitter {
 public:
  Splitter(const layout::LayoutKernel& kernel, const RolesOptions& options, const Schedule& schedule, int programs, bool joined)
      : kernel_(kernel.kernel), lk_(kernel), options_(options), out_(schedule), programs_(programs), joined_(joined) {}

  std::string Run() {
    if (out_.loops.empty()) return "no loop has copies";
    if (options_.num_warps % 4 != 0 || options_.num_warps / 4 > kMostGroups) return absl::StrCat(options_.num_warps, " warps");
    Index(kernel_.body, nullptr);
    for (const Loop& loop : out_.loops) loops_[loop.induction] = &loop;
    if (tail_.branch != nullptr && (out_.order.unequal || out_.order.reversed >= 0)) return "programs whose last ones are shared are of one length";
    Roles& roles = out_.roles;
    roles.programs = programs_;
    roles.groups = options_.num_warps / 4 * programs_;
    roles.persistent = true;
    roles.tail_parts = tail_.parts;
    Check(kernel_.body);
    for (Loop& loop : out_.loops) Produce(loop);
    if (!refused_.empty()) return refused_;
    if (options_.made && (roles.made.empty() || tail_.branch != nullptr)) return "no tensor map is to be made";
    KeepTiles();
    if (!roles.made.empty()) FindMadeStores(kernel_.body);
    FindTold();
    if (programs_ > 1) CheckMerged();
    if (!refused_.empty()) return refused_;
    if ((roles.by_threads || !roles.made.empty()) && out_.order.unequal) roles.persistent = false;  // one thread deals; the hardware does it nearly as well
    roles.dealt = roles.persistent && out_.order.unequal;
    FindStores();
    MakeRings();
    if (!refused_.empty()) return refused_;
    FindSkipped();
    return "";
  }
  Schedule Take() { return std::move(out_); }

 private:
  struct Place {
    const ir::Op* op = nullptr;
    const ir::Op* owner = nullptr;  // of the region it stands in; null for the kernel's
  };

  const isa::Type& TypeOf(ValueId id) const { return kernel_.TypeOf(id); }
  const ir::Op* Def(ValueId id) const {
    auto found = def_.find(id);
    return found == def_.end() ? nullptr : found->second.op;
  }
  template <typename... Parts>
  void Refuse(const Parts&... parts) {
    if (refused_.empty()) refused_ = absl::StrCat(parts...);
  }

  void Index(const ir::Region& region, const ir::Op* owner) {
    for (ValueId arg : region.args) owner_of_arg_[arg] = owner;
    for (const ir::Op& op : region.ops) {
      for (ValueId result : op.results) def_[result] = {&op, owner};
      place_[&op] = owner;
      for (ValueId operand : op.operands) {
        if (operand != kNoValue) uses_[operand].push_back(&op);
      }
      for (const ir::Region& inner : op.regions) Index(inner, &op);
    }
  }

  // What a split kernel may contain.
  void Check(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      switch (op.op) {
        case Op::kSort: case Op::kTopK: case Op::kHistogram: case Op::kDevicePrint: case Op::kDeviceAssert: case Op::kDebugBarrier: case Op::kInlineAsm:
          Refuse(isa::Mnemonic(op.op), " takes all threads of the CTA");
          break;
        case Op::kWhile: out_.roles.persistent = false; break;
        case Op::kDot:
          if (out_.wgmma.count(op.results[0]) == 0 && InLoop(op)) Refuse("a dot of the loop is not wgmma");
          break;
        default: break;
      }
      const isa::Effect effect = isa::Info(op.op).effect;
      if (effect == isa::Effect::kReadsWrites && (!op.results.empty() && uses_.count(op.results[0]) != 0)) out_.roles.persistent = false;
      if (effect == isa::Effect::kReadsWrites && op.StringAttr("sem", "acq_rel") != "relaxed" && op.StringAttr("sem", "acq_rel") != "acq_rel") out_.roles.persistent = false;
      if (op.BoolAttr("volatile")) out_.roles.persistent = false;
      for (const ir::Region& inner : op.regions) Check(inner);
    }
  }
  static bool Joins(const Loop& loop) { return loop.delay.has_value() || loop.overlap.has_value(); }
  bool InLoop(const ir::Op& op) const {
    for (const ir::Op* owner = place_.at(&op); owner != nullptr; owner = place_.at(owner)) {
      if (owner->op == Op::kFor && loops_.count(owner->regions[0].args[0]) != 0) return true;
    }
    return false;
  }

  // --- merged programs ---

  // What keeps programs from being merged, beside what keeps a kernel from being split.
  void CheckMerged() {
    if (options_.num_warps != 4) return Refuse("a program is more than one warpgroup");
    for (const Loop& loop : out_.loops) {
      const ir::Op& op = *owner_of_arg_.at(loop.induction);
      if (!loop.delay.has_value() || place_.at(&op) != nullptr) return Refuse("a loop is not of the kind that merged programs share");
      const int64_t first = out_.wgmma.at(loop.delay->first).n, second = out_.wgmma.at(loop.delay->second).n;
      if (first / 2 + first / 4 + second / 2 > kProductRegisters[programs_]) return Refuse("the products of ", programs_, " programs do not fit the registers");
      if (Varies(op.operands[2])) return Refuse("a loop has another step in each program");
      analysis::Polynomial begins;  // the part of the lower bound that differs between programs
      int64_t step = 1;
      if (Varies(op.operands[0])) {
        const std::optional<analysis::Polynomial> lower = options_.boxes->ScalarOf(op.operands[0]);
        const ir::Op* by = op.FindAttr("step") == nullptr ? Def(op.operands[2]) : nullptr;
        if (!lower.has_value() || by == nullptr || by->op != Op::kConst || by->IntAttr("value") <= 0) return Refuse("a loop begins elsewhere in each program");
        step = by->IntAttr("value");
        begins = VaryingPart(*lower);
        for (const auto& [factors, coefficient] : begins.terms) {
          if (coefficient % step != 0) return Refuse("a loop begins elsewhere in each program, not whole steps away");
        }
      }
      for (const Copy& copy : loop.copies) {
        for (const analysis::BoxDim& dim : options_.boxes->Of(*Def(copy.value))->dims) {
          if (!SameByPlace(dim.start, loop.induction, begins, step)) return Refuse("each program reads other boxes");
        }
      }
    }
    for (const auto& [op, owner] : place_) {
      if (isa::Info(op->op).effect == isa::Effect::kReadsWrites || op->op == Op::kWhile || op->BoolAttr("volatile")) return Refuse(isa::Mnemonic(op->op), " of merged programs");
    }
    Roles& roles = out_.roles;
    for (const auto& [id, varies] : varies_) {
      if (varies) roles.varies.insert(id);
    }
    for (ValueId id : roles.produced) {
      if (Varies(id)) roles.varies.insert(id);
    }
    if (!roles.persistent) Refuse("programs may wait for each other");
  }
  analysis::Polynomial VaryingPart(const analysis::Polynomial& p) {
    analysis::Polynomial out;
    for (const auto& term : p.terms) {
      if (std::any_of(term.first.begin(), term.first.end(), [&](const analysis::Factor& f) { return !f.trip && Varies(f.value); })) out.terms.insert(term);
    }
    return out;
  }
  // Whether a coordinate is the same in all programs where their induction variables are: it moves by `each` an iteration, and differs by as much where one
  // program begins a step after another.
  bool SameByPlace(const analysis::Polynomial& start, ValueId induction, const analysis::Polynomial& begins, int64_t step) {
    const analysis::Factor trip{induction, true};
    int64_t each = 0;
    for (const auto& [factors, coefficient] : start.terms) {
      if (std::find(factors.begin(), factors.end(), trip) == factors.end()) continue;
      if (factors.size() == 1) each = coefficient;
      else if (!begins.terms.empty()) return false;
    }
    analysis::Polynomial expected;
    for (const auto& [factors, coefficient] : begins.terms) {
      if (each != 0) expected.terms[factors] = coefficient / step * each;
    }
    return VaryingPart(start).terms == expected.terms;
  }
  // Whether a scalar depends on program_id(0).
  bool Varies(ValueId id) {
    if (id == kNoValue) return false;
    if (auto known = varies_.find(id); known != varies_.end()) return known->second;
    if (owner_of_arg_.count(id) != 0) return varies_[id] = true;
    const ir::Op* op = Def(id);
    if (op == nullptr) return false;  // a parameter
    bool varies = op->op == Op::kProgramId && op->IntAttr("axis") == 0;
    for (ValueId operand : op->operands) varies |= Varies(operand);
    if (!op->regions.empty()) varies = true;
    return varies_[id] = varies;
  }

  // --- the producer's slice ---

  void Produce(Loop& plan) {
    const ir::Op& loop = *owner_of_arg_.at(plan.induction);
    for (Copy& copy : plan.copies) {
      const ir::Op& load = *Def(copy.value);
      const std::string no_box = options_.boxes == nullptr ? "tensor maps are not to be used" : WhyNoBox(copy);
      if (no_box.empty()) {
        ForEachFactor(*options_.boxes->Of(load), [&](ValueId id) { Need(id); });
        continue;
      }
      if (const analysis::MadeBox* made = options_.made && options_.boxes != nullptr && programs_ == 1 ? options_.boxes->MadeOf(load) : nullptr; made != nullptr) {
        if (!MakeMap(load, *made, &loop)) return Refuse("a field of a tensor map changes in the loop");
        for (const analysis::Polynomial& start : made->start) ForEachFactor(start, [&](const analysis::Factor& f) { Need(f.value); });
        reads_.push_back(&load);
        continue;
      }
      if (options_.made) return Refuse("copies by threads beside tensor maps that are made");
      if (!options_.threads || copy.row || copy.turned) return Refuse(no_box);
      if (copy.staged) return Refuse(no_box, ", and fewer than 4 neighbouring bytes are known");
      if (programs_ > 1) return Refuse("merged programs share boxes alone");
      copy.by_threads = out_.roles.by_threads = true;
      copy.why_no_box = no_box;
      reads_.push_back(&load);
      for (ValueId operand : load.operands) NeedTile(operand, InProducer(copy.value));
    }
    Mirror(loop);
  }
  std::string WhyNoBox(const Copy& copy) {
    const ir::Op& load = *Def(copy.value);
    const analysis::Box* box = options_.boxes->Of(load);
    if (box == nullptr) return options_.boxes->Why(load);
    if (box->dims.empty() || box->dims[copy.turned ? 1 : 0].axis != copy.axis) return "the box lies along another axis than its buffer";
    std::set<ValueId> seen;
    std::string why;
    ForEachFactor(*box, [&](ValueId id) {
      if (why.empty()) why = WhyUnknown(id, seen);
    });
    return why;
  }
  // --- made maps ---

  static constexpr size_t kMostMadeMaps = 32;  // a lane of the producer's warp for each (gpu/device/made_maps.cuh: set_maps)
  // The access goes by a map that the producer makes. False if that would have to be inside of the loop.
  bool MakeMap(const ir::Op& access, const analysis::MadeBox& box, const ir::Op* loop) {
    const auto region_of = [&](ValueId id) -> std::optional<const ir::Op*> {
      if (auto arg = owner_of_arg_.find(id); arg != owner_of_arg_.end()) return arg->second;
      if (auto def = def_.find(id); def != def_.end()) return def->second.owner;
      return std::nullopt;  // a parameter
    };
    if (out_.roles.made.size() == kMostMadeMaps) return false;
    MadeMap map;
    map.access = &access;
    map.box = box;
    map.store = access.op == Op::kStore;
    map.before = WhereToMake(kernel_, access, box.fields, loop, region_of, [&](const ir::Op& op) { return place_.at(&op); });
    if (map.before == nullptr) return false;
    if (const ir::Op* owner = place_.at(map.before); owner != nullptr) Mirror(*owner);
    for (ValueId id : box.fields) Need(id);
    out_.roles.made_for[&access] = static_cast<int>(out_.roles.made.size());
    out_.roles.made.push_back(std::move(map));
    return true;
  }
  void FindMadeStores(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (const ir::Region& inner : op.regions) FindMadeStores(inner);
      const analysis::MadeBox* box = op.op == Op::kStore && options_.box_stores ? options_.boxes->MadeOf(op) : nullptr;
      if (box == nullptr) continue;
      const std::optional<BoxStore> plan = StoreOf(op, box->axis);
      if (!plan.has_value()) continue;
      // Where the producer cannot know what it would have to, the store goes from registers.
      const Roles roles = out_.roles;
      const std::set<ValueId> known = known_;
      const size_t reads = reads_.size();
      if (MakeMap(op, *box, nullptr) && refused_.empty()) {
        out_.roles.box_stores[&op] = *plan;
        continue;
      }
      out_.roles = roles;
      known_ = known;
      reads_.resize(reads);
      refused_.clear();
    }
  }
  template <typename Visit>
  static void ForEachFactor(const analysis::Polynomial& p, Visit visit) {
    for (const auto& [factors, coefficient] : p.terms) {
      for (const analysis::Factor& factor : factors) visit(factor);
    }
  }

  template <typename Visit>
  static void ForEachFactor(const analysis::Box& box, Visit visit) {
    for (const analysis::BoxDim& dim : box.dims) {
      for (const auto& [factors, coefficient] : dim.start.terms) {
        for (const analysis::Factor& factor : factors) visit(factor.value);
      }
    }
  }
  // Why a coordinate of a box may not depend on a scalar; empty if it may.
  std::string WhyUnknown(ValueId id, std::set<ValueId>& seen) {
    if (id == kNoValue || !seen.insert(id).second) return "";
    if (auto arg = owner_of_arg_.find(id); arg != owner_of_arg_.end()) {
      const ir::Op* loop = arg->second;
      if (loop == nullptr || loop->op != Op::kFor) return absl::StrCat("a coordinate comes from ", loop == nullptr ? "nowhere" : isa::Mnemonic(loop->op));
      const ir::Region& body = loop->regions[0];
      if (id == body.args[0]) {  // its range follows from the loop's bounds
        for (size_t i : {0, 1, 2}) {
          if (std::string why = WhyUnknown(loop->operand(i), seen); !why.empty()) return why;
        }
        return "";
      }
      if (loops_.count(body.args[0]) != 0) return "a coordinate is carried around the loop in a way that is not a step";
      const size_t index = static_cast<size_t>(std::find(body.args.begin(), body.args.end(), id) - body.args.begin()) - 1;
      std::string why = WhyUnknown(loop->operands[3 + index], seen);
      return why.empty() ? WhyUnknown(body.ops.back().operands[index], seen) : why;
    }
    const ir::Op* op = Def(id);
    if (op == nullptr) return "";  // a parameter
    const bool plain = specializer::IsElementwise(op->op) || op->op == Op::kConst || op->op == Op::kProgramId || op->op == Op::kNumPrograms;
    if (!plain || !TypeOf(id).is_scalar() || op->results.size() != 1) return absl::StrCat("a coordinate is the result of ", isa::Mnemonic(op->op));
    for (ValueId operand : op->operands) {
      if (std::string why = WhyUnknown(operand, seen); !why.empty()) return why;
    }
    return "";
  }

  // The producer goes through this loop or branch, and those around it.
  void Mirror(const ir::Op& op) {
    if (!refused_.empty() || !out_.roles.around.insert(&op).second) return;
    const bool plain = op.op == Op::kFor || op.op == Op::kIf || (op.op == Op::kWhile && programs_ == 1);
    if (!plain) return Refuse("the loop stands in ", isa::Mnemonic(op.op));
    for (const ir::Region& region : op.regions) {
      if (region.ops.empty() || region.ops.back().op != Op::kYield) return Refuse("a way through ", isa::Mnemonic(op.op), " ends elsewhere");
    }
    if (op.op == Op::kWhile) {
      if (GoesByMemory(op)) return Refuse("a while loop goes on by what it reads");
      Need(op.regions[0].ops.back().operands[0]);
    }
    for (size_t i = 0; i < (op.op == Op::kFor ? 3u : op.op == Op::kIf ? 1u : 0u); ++i) Need(op.operand(i));
    if (const ir::Op* owner = place_.at(&op); owner != nullptr) Mirror(*owner);
  }
  // The producer needs this value: a scalar, or a tile of what copies by its threads need.
  void Need(ValueId id) {
    if (id == kNoValue || !refused_.empty() || !known_.insert(id).second) return;
    if (auto arg = owner_of_arg_.find(id); arg != owner_of_arg_.end()) {
      const ir::Op* loop = arg->second;
      if (loop == nullptr || (loop->op != Op::kFor && loop->op != Op::kWhile)) return Refuse("a coordinate comes from ", loop == nullptr ? "nowhere" : isa::Mnemonic(loop->op));
      const size_t skip = loop->op == Op::kFor ? 1 : 0;
      for (const ir::Region& region : loop->regions) {
        const auto at = std::find(region.args.begin(), region.args.end(), id);
        if (at == region.args.end()) continue;
        const size_t index = static_cast<size_t>(at - region.args.begin());
        if (index >= skip) NeedResult(*loop, index - skip);
        else Mirror(*loop);
      }
      return;
    }
    const ir::Op* op = Def(id);
    if (op == nullptr) return;  // a parameter
    if (!op->regions.empty()) {
      if (op->op != Op::kFor && op->op != Op::kWhile && op->op != Op::kIf) return Refuse("a coordinate is the result of ", isa::Mnemonic(op->op));
      return NeedResult(*op, static_cast<size_t>(std::find(op->results.begin(), op->results.end(), id) - op->results.begin()));
    }
    const bool plain = specializer::IsElementwise(op->op) || op->op == Op::kConst || op->op == Op::kProgramId || op->op == Op::kNumPrograms;
    if (op->results.size() != 1 || !(plain || op->op == Op::kLoad || (!TypeOf(id).is_scalar() && IsLabel(*op)))) return Refuse("a coordinate is the result of ", isa::Mnemonic(op->op));
    if (op->op == Op::kLoad) {
      if (programs_ > 1) return Refuse("a coordinate of merged programs is the result of load");
      if (op->BoolAttr("volatile") || out_.CopyOf(id) != nullptr) return Refuse("a coordinate is the result of a load that has to be in its place");
      reads_.push_back(op);
    }
    out_.roles.produced.insert(id);
    for (ValueId operand : op->operands) {
      if (operand == kNoValue || TypeOf(operand).is_scalar()) Need(operand);
      else NeedTile(operand, LayoutOfOperand(*op, operand));
    }
  }
  // Everything here can be computed in any layout: tiles are loaded as they are needed, not as they lie.
  layout::LinearLayout LayoutOfOperand(const ir::Op& op, ValueId operand) const {
    const layout::LinearLayout& where = out_.roles.layouts.at(op.results[0]);
    const isa::Shape& shape = TypeOf(operand).shape;
    switch (op.op) {
      case Op::kExpandDims: case Op::kReshape: return where.Reshaped(shape);
      case Op::kBroadcast: return where == InProducer(op.results[0]) ? InProducer(operand) : where.OperandOfBroadcast(shape);
      case Op::kPermute: {
        const auto& dims = std::get<std::vector<int64_t>>(*op.FindAttr("dims"));
        std::vector<int64_t> back(dims.size());
        for (size_t i = 0; i < dims.size(); ++i) back[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
        return where.Permuted(back);
      }
      default: return where;
    }
  }
  layout::LinearLayout InProducer(ValueId id) const { return lk_.LayoutOf(id).InWarps(4); }
  void NeedTile(ValueId id, const layout::LinearLayout& where) {
    if (id == kNoValue || !refused_.empty()) return;
    if (!out_.roles.layouts.emplace(id, where).second && out_.roles.layouts.at(id) != where) return Refuse("a tile is needed in two layouts");
    Need(id);
  }
  void NeedResult(const ir::Op& op, size_t index) {
    if (programs_ > 1 && op.op != Op::kFor) return Refuse("a coordinate of merged programs comes from ", isa::Mnemonic(op.op));
    if (programs_ > 1 && loops_.count(op.regions[0].args[0]) != 0) return Refuse("a coordinate is carried around the loop in a way that is not a step");
    if (!TypeOf(op.results[index]).is_scalar()) return Refuse("a tile goes around ", isa::Mnemonic(op.op));
    if (!out_.roles.carried[&op].insert(static_cast<int>(index)).second) return;
    Mirror(op);
    if (!refused_.empty()) return;
    for (size_t r = 0; r < op.regions.size(); ++r) {
      Need(op.regions[r].ops.back().operands[index + (op.op == Op::kWhile && r == 0 ? 1 : 0)]);
    }
    if (op.op == Op::kFor || op.op == Op::kWhile) Need(op.operands[(op.op == Op::kFor ? 3 : 0) + index]);
  }
  // Tiles that are others seen in another way, each thread by itself.
  bool IsLabel(const ir::Op& op) const {
    switch (op.op) {
      case Op::kSplat: case Op::kArange: case Op::kBroadcast: case Op::kReshape: case Op::kExpandDims: case Op::kPermute: case Op::kConvertLayout: return true;
      default: return false;
    }
  }

  // --- order of memory ---

  // A program sees its own stores, in its order: where the producer may read what the consumers write, they wait until it has read what comes before, and it
  // until they have written.
  void FindTold() {
    for (bool more = !reads_.empty(); more && refused_.empty();) {
      more = false;
      for (const auto& [op, outer] : place_) {
        const isa::Effect effect = isa::Info(op->op).effect;
        if (effect == isa::Effect::kReadsWrites && !op->results.empty() && uses_.count(op->results[0]) != 0) return Refuse("the result of an atomic is used");
        if (effect != isa::Effect::kWrites && effect != isa::Effect::kReadsWrites) continue;
        if (out_.roles.told.count(op) != 0) continue;
        for (size_t i = 0; i < reads_.size(); ++i) {
          if (!MayMeet(*op, *reads_[i])) continue;
          out_.roles.told.insert(op);
          more = true;
          if (outer != nullptr) Mirror(*outer);
          break;
        }
      }
    }
  }
  bool MayMeet(const ir::Op& write, const ir::Op& read) const {
    const std::set<int> to = ParamsOf(write.operands[0]), from = ParamsOf(read.operands[0]);
    return !options_.no_alias || std::any_of(to.begin(), to.end(), [&](int param) { return from.count(param) != 0; });
  }

  // Operands a that stay the same for a loop, and that the producer can copy: loads of the kernel's body that nothing but such products reads. Where those take
  // them from registers, the buffer is free for the next program as soon as it has been read.
  void KeepTiles() {
    const auto def = [this](ValueId id) { return Def(id); };
    std::map<ValueId, std::vector<ValueId>> dots;  // by load
    for (const Loop& loop : out_.loops) {
      if (loop.delay.has_value() && out_.wgmma.at(loop.delay->first).a_written) dots[BeforeLayoutChanges(Def(loop.delay->first)->operands[0], def)].push_back(loop.delay->first);
    }
    for (const Loop& loop : out_.loops) {
      if (!loop.overlap.has_value()) continue;
      for (ValueId dot : loop.overlap->fixed) dots[BeforeLayoutChanges(Def(dot)->operands[0], def)].push_back(dot);
    }
    for (const auto& [value, of] : dots) {
      const ir::Op* load = Def(value);
      if (load == nullptr || load->op != Op::kLoad || place_.at(load) != nullptr || !OnlyOperandOf(value, of)) continue;
      // In buffers for all of the products, or in registers for all.
      const auto written = static_cast<size_t>(std::count_if(of.begin(), of.end(), [&](ValueId dot) { return out_.wgmma.at(dot).a_written; }));
      const bool in_registers = written == 0;
      if (written != 0 && written != of.size()) continue;
      if (in_registers && !joined_) continue;
      if (in_registers && std::any_of(uses_[value].begin(), uses_[value].end(), [&](const ir::Op* use) { return use->op != Op::kConvertLayout || place_.at(use) != nullptr; })) continue;
      const isa::Type& type = TypeOf(value);
      Copy copy;
      copy.value = value;
      copy.shared = layout::SwizzledRows(type.shape, 1, isa::StorageBytes(type.elem));
      copy.bytes = type.elem_count() * isa::StorageBytes(type.elem);
      if (options_.boxes == nullptr || !WhyNoBox(copy).empty()) continue;  // the consumers load it
      ForEachFactor(*options_.boxes->Of(*load), [&](ValueId id) { Need(id); });
      const ir::Op* last = nullptr;
      for (const ir::Op& op : kernel_.body.ops) {
        const bool reads = in_registers ? std::find(uses_[value].begin(), uses_[value].end(), &op) != uses_[value].end()
                                        : std::any_of(of.begin(), of.end(), [&](ValueId dot) { return Contains(op, *Def(dot)); });
        if (reads) last = &op;
      }
      if (in_registers) read_.insert(value);
      for (ValueId dot : of) {
        if (in_registers) break;
        out_.wgmma.at(dot).a_written = false;
        out_.operands[{dot, 0}] = {value, false};
      }
      done_after_[value] = last;
      out_.roles.kept.push_back(copy);
    }
  }
  // Whether every use of the value is as operand a of one of the dots, perhaps in another layout.
  bool OnlyOperandOf(ValueId id, const std::vector<ValueId>& dots) {
    for (const ir::Op* use : uses_[id]) {
      if (use->op == Op::kConvertLayout) {
        if (!OnlyOperandOf(use->results[0], dots)) return false;
      } else if (use->op != Op::kDot || use->operands[0] != id || use->operands[1] == id || use->operands[2] == id ||
                 std::find(dots.begin(), dots.end(), use->results[0]) == dots.end()) {
        return false;
      }
    }
    return true;
  }
  bool Contains(const ir::Op& outer, const ir::Op& inner) const {
    const ir::Op* at = &inner;
    while (at != nullptr && at != &outer) at = place_.at(at);
    return at != nullptr;
  }

  // --- stores ---

  void FindStores() {
    if (!options_.box_stores || options_.boxes == nullptr) return;
    std::map<int, int> accesses;  // of each parameter
    CountAccesses(kernel_.body, accesses);
    int64_t bytes = 0;
    for (const auto& [op, plan] : out_.roles.box_stores) bytes = std::max(bytes, plan.bytes());
    for (const auto& [op, owner] : place_) {
      if (op->op != Op::kStore || out_.roles.told.count(op) != 0 || out_.roles.made_for.count(op) != 0) continue;
      const analysis::Box* box = options_.boxes->Of(*op);
      const ValueId value = op->operands[1];
      if (box == nullptr || box->dims.empty() || accesses[box->param] != 1 || TypeOf(value).rank() != 2 || box->dims[0].axis < 0) continue;
      const std::optional<BoxStore> plan = StoreOf(*op, box->dims[0].axis);
      if (!plan) continue;
      out_.roles.box_stores[op] = *plan;
      bytes = std::max(bytes, plan->bytes());
    }
    store_bytes_ = (bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
  }
  std::optional<BoxStore> StoreOf(const ir::Op& store, int axis) const { return BoxStoreOf(lk_, StoredValue(store), axis, out_.roles.groups, programs_); }
  void CountAccesses(const ir::Region& region, std::map<int, int>& accesses) {
    for (const ir::Op& op : region.ops) {
      if (&op == tail_.branch) {  // a program goes one way
        std::map<int, int> ways[2];
        for (int way : {0, 1}) CountAccesses(op.regions[way], ways[way]);
        for (const auto& [param, count] : ways[0]) accesses[param] += std::max(count, ways[1][param]);
        continue;
      }
      const isa::Effect effect = isa::Info(op.op).effect;
      if (effect == isa::Effect::kReads || effect == isa::Effect::kWrites || effect == isa::Effect::kReadsWrites) {
        const analysis::Box* box = op.op == Op::kLoad || op.op == Op::kStore ? options_.boxes->Of(op) : nullptr;
        // Where it is not known, it may be any.
        if (box != nullptr) ++accesses[box->param];
        else for (int param : ParamsOf(op.operand(0))) ++accesses[param];
      }
      for (const ir::Region& inner : op.regions) CountAccesses(inner, accesses);
    }
  }
  // The pointer parameters that a pointer may come from.
  std::set<int> ParamsOf(ValueId id) const {
    std::set<int> out;
    std::set<ValueId> seen;
    std::vector<ValueId> work = {id};
    while (!work.empty()) {
      const ValueId at = work.back();
      work.pop_back();
      if (at == kNoValue || !TypeOf(at).elem.pointer || !seen.insert(at).second) continue;
      bool param = false;
      for (size_t i = 0; i < kernel_.params.size(); ++i) {
        if (kernel_.params[i].value == at) {
          out.insert(static_cast<int>(i));
          param = true;
        }
      }
      if (param) continue;
      const ir::Op* op = Def(at);
      if (auto arg = owner_of_arg_.find(at); arg != owner_of_arg_.end()) op = arg->second;
      if (op == nullptr || op->op == Op::kLoad || op->op == Op::kBitcast || op->op == Op::kCast) {  // any memory
        for (size_t i = 0; i < kernel_.params.size(); ++i) out.insert(static_cast<int>(i));
        return out;
      }
      work.insert(work.end(), op->operands.begin(), op->operands.end());
      for (const ir::Region& inner : op->regions) work.insert(work.end(), inner.ops.back().operands.begin(), inner.ops.back().operands.end());
    }
    return out;
  }

  // --- rings ---

  void MakeRings() {
    Roles& roles = out_.roles;
    for (Loop& loop : out_.loops) {
      // Copies that one dot reads go together.
      std::vector<int> group(loop.copies.size());
      std::iota(group.begin(), group.end(), 0);
      if (joined_ && Joins(loop)) std::fill(group.begin(), group.end(), 0);
      auto index_of = [&](ValueId copy) {
        for (size_t i = 0; i < loop.copies.size(); ++i) {
          if (loop.copies[i].value == copy) return static_cast<int>(i);
        }
        return -1;
      };
      for (const auto& [where, operand] : out_.operands) {
        auto other = out_.operands.find({where.first, 1 - where.second});
        if (other == out_.operands.end()) continue;
        const int a = index_of(operand.copy), b = index_of(other->second.copy);
        if (a < 0 || b < 0 || group[a] == group[b]) continue;
        const int from = std::max(group[a], group[b]), to = std::min(group[a], group[b]);
        std::replace(group.begin(), group.end(), from, to);
      }
      const auto is_row = [](const Copy& copy) { return copy.row; };
      const size_t row = static_cast<size_t>(std::find_if(loop.copies.begin(), loop.copies.end(), is_row) - loop.copies.begin());
      for (size_t i = row; !joined_ && i < loop.copies.size(); ++i) {
        if (loop.copies[i].row) group[i] = static_cast<int>(row);
      }
      std::set<int> taken;  // rings that this loop has
      for (size_t first = 0; first < loop.copies.size(); ++first) {
        if (group[first] != static_cast<int>(first)) continue;
        Ring ring;
        for (size_t i = first; i < loop.copies.size(); ++i) {
          if (group[i] != group[first]) continue;
          Copy& copy = loop.copies[i];
          const isa::Type& type = TypeOf(copy.value);
          copy.offset = ring.slot_bytes;
          ring.slot_bytes += (copy.bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
          if (!copy.by_threads) ring.bytes += type.elem_count() * isa::StorageBytes(type.elem);
          (copy.by_threads ? ring.by_threads : ring.boxes) = true;
          ring.by_wgmma &= OnlyWgmma(copy.value);
        }
        int index = -1;
        for (size_t r = 0; r < roles.rings.size() && index < 0; ++r) {
          const Ring& made = roles.rings[r];
          const bool fits = tail_.branch != nullptr ? made.slot_bytes >= ring.slot_bytes : made.slot_bytes == ring.slot_bytes && made.bytes == ring.bytes;
          const bool alike = made.by_wgmma == ring.by_wgmma && made.by_threads == ring.by_threads;
          if (fits && alike && taken.count(static_cast<int>(r)) == 0) index = static_cast<int>(r);
        }
        if (index < 0) {
          index = static_cast<int>(roles.rings.size());
          roles.rings.push_back(ring);
        }
        taken.insert(index);
        for (size_t i = first; i < loop.copies.size(); ++i) {
          if (group[i] == group[first]) loop.copies[i].ring = index;
        }
      }
    }
    // As many slots as fit, the same number for all.
    int64_t slots = 0, kept = 0;
    for (const Ring& ring : roles.rings) slots += ring.slot_bytes;
    for (Copy& copy : roles.kept) {
      Ring ring;
      ring.kept = ring.boxes = true;
      ring.by_wgmma = read_.count(copy.value) == 0;
      ring.stages = 1;
      ring.bytes = programs_ * copy.bytes;  // a tile of each program
      ring.slot_bytes = (ring.bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
      kept += ring.slot_bytes;
      copy.ring = static_cast<int>(roles.rings.size());
      roles.done_after[done_after_.at(copy.value)].push_back(copy.ring);
      roles.rings.push_back(ring);
    }
    const int64_t barriers = static_cast<int64_t>(16 * kMostStages * roles.rings.size()) + kDealBytes + kToldBytes;
    const int64_t made = (kMadeBytes + kMadeBarriers) * static_cast<int64_t>(roles.made.size());
    auto free_in = [&](int64_t smem) { return smem - options_.scratch - StoreBytes() - barriers - made - kept; };
    auto stages_in = [&](int64_t smem) { return static_cast<int>(std::min<int64_t>(kMostStages, free_in(smem) / slots)); };
    int stages = stages_in(options_.max_smem);
    // One warpgroup alone leaves the tensor cores idle while it does anything else: two CTAs share a multiprocessor, if enough slots remain.
    if (roles.groups == 1 && options_.share && SharesRegisters()) {
      const int half = stages_in((options_.max_smem + kReservedSmem) / 2 - kReservedSmem);
      if (half >= kLeastShared) {
        stages = half;
        roles.ctas = 2;
      }
    }
    // A tile that goes to its buffers at once leaves the consumers sooner than one that waits for copies of its first half, and three slots keep them busy; not
    // where parts of tiles are copied too, which fill theirs less.
    int64_t panels = 0;
    for (const auto& [op, plan] : roles.box_stores) panels = std::max(panels, plan.panels);
    if (panels > roles.store_buffers && roles.ctas == 1 && tail_.branch == nullptr) {
      roles.store_buffers = static_cast<int>(panels);
      const int fewer = stages_in(options_.max_smem);
      if (fewer >= 3 && fewer * slots >= kEnoughBesideStores) stages = fewer;
      else roles.store_buffers = 2;
    }
    while (stages > 4 && (stages - 1) * slots * roles.ctas >= kEnoughBytes) --stages;
    if (stages < 2) return Refuse("two slots of ", slots, " bytes do not fit beside ", options_.scratch + StoreBytes() + kept, " bytes of other shared memory");
    // The next program's tile can come while this one's is in use.
    const int kept_stages = roles.persistent && roles.ctas == 1 && free_in(options_.max_smem) - stages * slots >= kept ? 2 : 1;
    int64_t offset = 0, barrier = stages * slots + kept_stages * kept + StoreBytes();
    for (Ring& ring : roles.rings) {
      ring.stages = ring.kept ? kept_stages : stages;
      ring.offset = offset;
      ring.barriers = barrier;
      offset += ring.stages * ring.slot_bytes;
      barrier += 16 * ring.stages;
    }
    roles.store_offset = offset;
    roles.store_bytes = store_bytes_;
    if (!roles.made.empty()) {  // behind the buffers, in front of the barriers
      for (Ring& ring : roles.rings) ring.barriers += made;
      for (MadeMap& map : roles.made) {
        map.offset = offset + StoreBytes() + kMadeBytes * (&map - roles.made.data());
        map.barriers = offset + StoreBytes() + kMadeBytes * static_cast<int64_t>(roles.made.size()) + kMadeBarriers * (&map - roles.made.data());
      }
      barrier += made;
    }
    roles.deal_offset = (barrier + 15) / 16 * 16;
    if (roles.dealt) barrier = roles.deal_offset + kDealBytes;
    roles.told_offset = (barrier + 15) / 16 * 16;
    if (!roles.told.empty()) barrier = roles.told_offset + kToldBytes;
    roles.bytes = (barrier + 127) / 128 * 128;
  }
  int64_t StoreBytes() const { return out_.roles.store_buffers * programs_ * store_bytes_; }
  // The assembler gives an instruction no more registers than each thread of two such CTAs starts with, 128.
  bool SharesRegisters() const {
    return std::all_of(out_.wgmma.begin(), out_.wgmma.end(), [](const auto& entry) { return entry.second.n <= 128; });
  }
  // Whether a value in a buffer is read by wgmma alone.
  bool OnlyWgmma(ValueId id) {
    for (const ir::Op* use : uses_[id]) {
      if (use->op == Op::kDot) {
        for (int i : {0, 1}) {
          if (use->operands[i] == id && out_.operands.count({use->results[0], i}) == 0) return false;
        }
      } else if (out_.not_printed.count(use->results.empty() ? kNoValue : use->results[0]) == 0) {
        return false;
      } else if (!OnlyWgmma(use->results[0])) {
        return false;
      }
    }
    return true;
  }

  // --- what the consumers need not compute ---

  void FindSkipped() {
    std::set<const ir::Op*> live;
    std::vector<const ir::Op*> work;
    auto need = [&](ValueId id) {
      const ir::Op* op = id == kNoValue ? nullptr : Def(id);
      if (op != nullptr && live.insert(op).second) work.push_back(op);
    };
    for (const auto& [op, owner] : place_) {
      const isa::Effect effect = isa::Info(op->op).effect;
      const bool root = op->results.empty() || !op->regions.empty() || (effect != isa::Effect::kPure && effect != isa::Effect::kReads);
      if (root && live.insert(op).second) work.push_back(op);
    }
    while (!work.empty()) {
      const ir::Op* op = work.back();
      work.pop_back();
      if (out_.roles.box_stores.count(op) != 0) {
        need(StoredValue(*op));
        const auto coordinate = [&](const analysis::Factor& factor) {
          if (factor.trip) out_.roles.trips.insert(factor.value);
          else need(factor.value);
        };
        if (out_.roles.made_for.count(op) != 0) {
          for (const analysis::Polynomial& start : options_.boxes->MadeOf(*op)->start) ForEachFactor(start, coordinate);
        } else {
          for (const analysis::BoxDim& dim : options_.boxes->Of(*op)->dims) ForEachFactor(dim.start, coordinate);
        }
        continue;
      }
      if (op->op == Op::kLoad && out_.CopyOf(op->results[0]) != nullptr) continue;
      for (ValueId operand : op->operands) need(operand);
    }
    for (const auto& [op, owner] : place_) {
      if (live.count(op) == 0) out_.roles.skipped.insert(op);
    }
  }
  // A box store writes fragments as they are: the change of layout before it is left out.
  ValueId StoredValue(const ir::Op& store) const {
    const ir::Op* op = Def(store.operands[1]);
    return op != nullptr && op->op == Op::kConvertLayout ? op->operands[0] : store.operands[1];
  }

  const ir::Kernel& kernel_;
  const layout::LayoutKernel& lk_;
  const RolesOptions& options_;
  const Tail tail_ = TailOf(kernel_);
  Schedule out_;
  const int programs_;
  const bool joined_;
  std::string refused_;
  std::map<ValueId, bool> varies_;
  int64_t store_bytes_ = 0;
  std::set<ValueId> read_;                          // kept tiles that are read into registers
  std::map<ValueId, const ir::Op*> done_after_;  // by kept tile: the last op of the body that reads it
  std::set<ValueId> known_;
  std::map<ValueId, const Loop*> loops_;
  std::map<ValueId, Place> def_;
  std::map<ValueId, const ir::Op*> owner_of_arg_;
  std::map<const ir::Op*, const ir::Op*> place_;
  std::vector<const ir::Op*> reads_;       // loads that the producer does
  std::map<ValueId, std::vector<const ir::Op*>> uses_;
};

}  // namespace

std::string AssignRoles(const layout::LayoutKernel& kernel, const RolesOptions& options, Schedule* schedule) {
  // The assembler finds no registers for four programs of several loops, though few values live from one to the next.
  const int several = schedule->loops.size() > 1 ? kMostGroups : kMostPrograms;
  const int most = options.share && options.num_warps == 4 ? std::min({options.programs, several, kMostPrograms}) : 1;
  // Where products run on, one ring for all boxes of a loop saves waits and releases in each iteration, but its slots are taken until the last product is done;
  // and tiles that stay may come through the producer also if they are read into registers. Both only where many slots are left.
  const bool overlaps = std::any_of(schedule->loops.begin(), schedule->loops.end(), [](const Loop& loop) { return loop.overlap.has_value(); });
  const bool joins = overlaps || std::any_of(schedule->loops.begin(), schedule->loops.end(), [](const Loop& loop) { return loop.delay.has_value(); });
  for (int programs = most;; --programs) {
    std::string refused;
    for (const bool joined : {true, false}) {
      if (joined && !joins) continue;
      Splitter splitter(kernel, options, *schedule, programs, joined);
      refused = splitter.Run();
      if (!refused.empty()) continue;
      Schedule split = splitter.Take();
      if (joined && split.roles.rings[0].stages < (overlaps ? kOverlapStages : kJoinedStages)) continue;
      *schedule = std::move(split);
      return "";
    }
    if (programs == 1) return refused;
  }
}

RoleRegisters RegistersOf(const Roles& roles) {
  // A register more for a thread of 128 is one less for another: 65536 in all. Addresses of cp.async take more than boxes. By how many warpgroups compute; 0: one, of
  // each of two CTAs.
  static constexpr RoleRegisters kBoxes[] = {{24, 232}, {56, 240}, {40, 232}, {32, 160}, {32, 112}}, kThreads[] = {{88, 168}, {104, 240}, {104, 200}, {80, 144}, {32, 112}},
                                 kMakes[] = {{64, 192}, {104, 240}, {88, 208}, {56, 152}, {32, 112}};
  return (roles.by_threads ? kThreads : roles.made.empty() ? kBoxes : kMakes)[roles.ctas == 2 ? 0 : roles.groups];
}

}  // namespace tilevm::pipeline
