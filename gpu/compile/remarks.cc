#include "gpu/compile/remarks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "gpu/compile/run_access.h"
#include "specializer/analysis/access_plan.h"
#include "specializer/analysis/boxes.h"

namespace tilevm::gpu {
namespace {

using isa::Op;

constexpr char kWhereAligned[] = " where the address, which is looked at, is aligned", kWhereEven[] = " where sizes and addresses, which are looked at, are multiples of 16";

class Writer {
 public:
  Writer(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options, pipeline::Schedule schedule)
      : lk_(kernel),
        target_(target),
        options_(options),
        accesses_(kernel.kernel, {.trust_signs = options.promises.trust_signs}),
        runs_(kernel.kernel, accesses_.facts()),
        boxes_(kernel.kernel),
        schedule_(std::move(schedule)) {
    Collect(kernel.kernel.body);
  }

  std::vector<Remark> Run() {
    Walk(lk_.kernel.body, nullptr);
    return std::move(out_);
  }

 private:
  const isa::Type& TypeOf(ir::ValueId id) const { return lk_.kernel.TypeOf(id); }

  void Collect(const ir::Region& region) {
    for (const ir::Op& op : region.ops) {
      for (ir::ValueId id : op.operands) uses_[id].push_back(&op);
      for (const ir::Region& inner : op.regions) Collect(inner);
    }
  }

  void Walk(const ir::Region& region, const ir::Op* loop) {
    for (const ir::Op& op : region.ops) {
      const bool tile = !op.operands.empty() && !TypeOf(op.operands[0]).is_scalar();
      if (op.op == Op::kLoad && tile) Say(op, "load", Load(op, loop));
      if (op.op == Op::kStore && tile) Say(op, "store", Store(op));
      if (op.op == Op::kDot) Say(op, "dot", Dot(op));
      for (const ir::Region& inner : op.regions) Walk(inner, op.op == Op::kFor ? &op : loop);
    }
  }

  void Say(const ir::Op& op, absl::string_view what, const std::string& text) {
    const bool store = op.op == Op::kStore;
    const ir::ValueId subject = store ? op.operands[1] : op.results[0];
    std::string name = lk_.kernel.values[subject].name;
    const analysis::Box* box = op.op == Op::kDot ? nullptr : boxes_.Of(op);
    if (box != nullptr) absl::StrAppend(&name, name.empty() ? "" : " ", store ? "to " : "from ", lk_.kernel.params[static_cast<size_t>(box->param)].name);
    out_.push_back({op.loc, absl::StrCat(what, name.empty() ? "" : " ", name, " ", isa::ToString(TypeOf(subject)), ": ", text)});
  }

  // How an access goes through registers.
  std::string Plain(const ir::Op& op) const {
    const analysis::Access access = accesses_.Of(op);
    if (access.kind == analysis::AccessKind::kUniform) return "one address for all threads";
    if (access.kind == analysis::AccessKind::kGather) return "element by element";
    const int64_t bytes = isa::StorageBytes(isa::DType(TypeOf(op.operands[0]).elem.dtype));
    if (const std::optional<RunAccess> run = runs_.Of(lk_, op)) {
      const std::string words = absl::StrCat(run->vector * bytes, " bytes at a time");
      if (run->run.aligned) return absl::StrCat(words, ", and single elements where the mask ends");
      return absl::StrCat(words, op.op == Op::kLoad ? ", aligned and shifted together, since rows are not known to be aligned"
                                                    : ", aligned, shifted through shared memory, and single elements at the ends of rows, which are not known to be aligned");
    }
    const int64_t vector = lk_.HasLayout(op.operands[0]) ? std::min(access.vector, lk_.LayoutOf(op.operands[0]).ContiguousElements(access.axis)) : access.vector;
    return absl::StrCat(std::min<int64_t>(16, vector * bytes), " bytes at a time", Where(op));
  }
  const char* Where(const ir::Op& op) const { return !accesses_.GuessedScalars(op).empty() ? kWhereEven : accesses_.IsGuessed(op) ? kWhereAligned : ""; }
  std::string NoMap(const ir::Op& op) const {
    if (target_.number < 90) return absl::StrCat("; no tensor map: ", target_.arch, " has none");
    if (const std::string why = boxes_.Why(op); !why.empty()) return absl::StrCat("; no tensor map: ", why);
    if (!options_.promises.no_alias) return "; no tensor map: arrays may overlap";
    if (schedule_.roles.groups > 0) return "; no tensor map: only copies of loops with dots and stores after them go by one";
    const std::string why = lk_.kernel.options.debug ? "it is compiled for debugging" : target_.number != 90 ? "that is done on sm_90a only" : schedule_.why_no_roles;
    return absl::StrCat("; a tensor map could do it, but the kernel is not split into a warp that copies and warps that compute", why.empty() ? "" : ": ", why);
  }

  // The load feeds nothing but dots.
  bool OnlyDots(ir::ValueId id) const {
    const auto uses = uses_.find(id);
    if (uses == uses_.end()) return false;
    for (const ir::Op* use : uses->second) {
      if (use->op == Op::kDot && use->operands[2] != id) continue;
      if ((use->op == Op::kConvertLayout || use->op == Op::kPermute) && OnlyDots(use->results[0])) continue;
      return false;
    }
    return true;
  }

  std::string Load(const ir::Op& op, const ir::Op* loop) const {
    const pipeline::Copy* copy = schedule_.CopyOf(op.results[0]);
    if (copy != nullptr && schedule_.roles.groups > 0 && copy->ring >= 0) {
      const pipeline::Ring& ring = schedule_.roles.rings[static_cast<size_t>(copy->ring)];
      if (copy->by_threads) {
        return absl::StrCat("copied by cp.async, by a warpgroup of its own, ", copy->vector * isa::StorageBytes(TypeOf(copy->value).elem), " bytes at a time",
                            Where(op), ", ", ring.stages, " slots; no tensor map: ", copy->why_no_box);
      }
      return absl::StrCat("copied by tensor maps, by a warp of its own, ", ring.stages, ring.stages == 1 ? " slot" : " slots", ring.kept ? ", once for a program" : "");
    }
    if (copy != nullptr) {
      const pipeline::Loop* plan = loop == nullptr ? nullptr : schedule_.LoopOf(loop->regions[0].args[0]);
      const std::string slots = plan == nullptr ? "" : absl::StrCat(", ", plan->stages, " slots");
      if (copy->staged) return absl::StrCat("copied ahead of the loop through registers, since fewer than 4 neighbouring bytes are known", slots, NoMap(op));
      return absl::StrCat("copied ahead of the loop by cp.async, ", copy->vector * isa::StorageBytes(TypeOf(copy->value).elem), " bytes at a time",
                          Where(op), slots, NoMap(op));
    }
    std::string why;
    if (loop != nullptr && TypeOf(op.results[0]).rank() == 2) {
      why = !OnlyDots(op.results[0]) ? "; not ahead of the loop: more than dots use it" : "; not ahead of the loop: its address or mask cannot be computed early, or the loop writes memory";
    }
    return absl::StrCat("into registers, ", Plain(op), why, NoMap(op));
  }

  std::string Store(const ir::Op& op) const {
    if (schedule_.roles.groups > 0 && schedule_.roles.box_stores.count(&op) != 0) return "through shared memory, by a tensor map";
    return absl::StrCat("from registers, ", Plain(op), NoMap(op));
  }

  std::string Dot(const ir::Op& op) const {
    const ir::ValueId result = op.results[0];
    if (const auto plan = schedule_.wgmma.find(result); plan != schedule_.wgmma.end()) {
      const pipeline::Wgmma& w = plan->second;
      std::string text = absl::StrCat("wgmma, ", w.groups, w.groups == 1 ? " warpgroup" : " warpgroups", ", 64 x ", w.n, " a step, a from ",
                                      schedule_.operands.count({result, 0}) != 0 ? "shared memory" : "registers");
      if (w.b_written) absl::StrAppend(&text, "; b is turned on its way through shared memory");
      return text;
    }
    const std::optional<pipeline::MmaPlan> mma = pipeline::MmaPlanOf(lk_, op);
    const std::string why = WhyNoWgmma(op);
    if (!mma.has_value()) return absl::StrCat("by multiply-adds", pipeline::HasThreadTiles(lk_, op) ? ", a tile for each thread" : " of single elements", why);
    return absl::StrCat("mma.sync, ", mma->warps_m, " x ", mma->warps_n, " warps", why);
  }
  std::string WhyNoWgmma(const ir::Op& op) const {
    if (target_.number != 90) return "";
    const isa::Type &a = TypeOf(op.operands[0]), &b = TypeOf(op.operands[1]);
    if (a.rank() != 2) return "; no wgmma: it is a batch of products";
    if (a.shape[0] < 64) return absl::StrCat("; no wgmma: a has ", a.shape[0], " rows, less than 64");
    if (lk_.kernel.options.num_warps < 4) return absl::StrCat("; no wgmma: num_warps is ", lk_.kernel.options.num_warps, ", less than 4");
    if (a.elem.dtype != b.elem.dtype) return "; no wgmma: a and b have different types";
    if (a.elem.dtype == isa::DType::kF64) return "; no wgmma: it has no f64";
    if (a.elem.dtype == isa::DType::kF32 && op.StringAttr("input_precision") != "tf32") {
      return absl::StrCat("; no wgmma: input_precision is ", op.StringAttr("input_precision"), ", not tf32");
    }
    return "; no wgmma: an operand does not lie in shared memory as it needs it";
  }

  const layout::LayoutKernel& lk_;
  const Target& target_;
  const GenerateOptions& options_;
  const analysis::Accesses accesses_;
  const RunAccesses runs_;
  analysis::Boxes boxes_;
  const pipeline::Schedule schedule_;
  std::map<ir::ValueId, std::vector<const ir::Op*>> uses_;
  std::vector<Remark> out_;
};

}  // namespace

std::vector<Remark> Remarks(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options) {
  return Remarks(kernel, target, options, Plan(kernel, target, options));
}

std::vector<Remark> Remarks(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options, pipeline::Schedule schedule) {
  return Writer(kernel, target, options, std::move(schedule)).Run();
}

}  // namespace tilevm::gpu
