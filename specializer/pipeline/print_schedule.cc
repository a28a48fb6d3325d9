// A schedule as text: `tilevm inspect --stage pipeline`.
#include "absl/strings/str_cat.h"
#include "specializer/pipeline/schedule.h"

namespace tilevm::pipeline {

using ir::ValueId;

std::string Print(const Schedule& schedule, const layout::LayoutKernel& kernel) {
  std::string out;
  auto name = [&](ValueId id) {
    const std::string& known = kernel.kernel.values[id].name;
    return known.empty() ? absl::StrCat("%", id) : absl::StrCat("%", known);
  };
  if (schedule.order.reversed >= 0) absl::StrAppend(&out, "programs begin from the last along axis ", schedule.order.reversed, ": those are the longest\n");
  for (const Loop& loop : schedule.loops) {
    absl::StrAppend(&out, "loop over ", name(loop.induction), ": ", loop.stages, " slots of ", loop.slot_bytes, " bytes\n");
    for (const Copy& copy : loop.copies) {
      const isa::Type& type = kernel.kernel.TypeOf(copy.value);
      absl::StrAppend(&out, "  stage 0, ", loop.ahead, " ahead: copy ", name(copy.value), " ", isa::ToString(type), " at ", copy.offset, ", rows along axis ",
                      copy.axis, ", ", copy.vector * isa::StorageBytes(type.elem), " bytes at a time", copy.staged ? ", through registers" : "", "\n");
    }
    for (ValueId id : loop.slice) absl::StrAppend(&out, "  stage 0: ", name(id), "\n");
  }
  for (const MadeMap& map : schedule.roles.made) {
    const std::string& by = kernel.kernel.values[map.before->results.empty() ? map.access->operands[0] : map.before->results[0]].name;
    absl::StrAppend(&out, "the tensor map of ", map.store ? "the store of " : "", name(map.store ? map.access->operands[1] : map.access->results[0]),
                    " is made by the producer, before the ", isa::Mnemonic(map.before->op), by.empty() ? "" : " of ", by, "\n");
  }
  for (const Loop& loop : schedule.loops) {
    if (!loop.overlap.has_value()) continue;
    for (ValueId id : loop.overlap->early) absl::StrAppend(&out, "dot ", name(id), " starts first\n");
    for (ValueId id : loop.overlap->on) absl::StrAppend(&out, "dot ", name(id), " runs on into the next iteration\n");
  }
  for (const Loop& loop : schedule.loops) {
    if (!loop.delay.has_value()) continue;
    absl::StrAppend(&out, "dot ", name(loop.delay->second), " starts one iteration late, under what is computed from ", name(loop.delay->first), "; waiting for it:");
    for (const auto* list : {&loop.delay->late, &loop.delay->packing}) {
      for (ValueId id : *list) absl::StrAppend(&out, " ", name(id));
    }
    absl::StrAppend(&out, "\n");
    for (const PartialSum& sum : loop.delay->partial) absl::StrAppend(&out, "sum of ", name(sum.reduce), " stays in parts, one in each lane, until the loop ends\n");
  }
  for (const auto& [where, operand] : schedule.operands) {
    absl::StrAppend(&out, "dot ", name(where.first), " reads operand ", where.second == 0 ? "a" : "b", " from ", name(operand.copy),
                    operand.transposed ? ", transposed" : "", "\n");
  }
  for (const auto& [result, plan] : schedule.wgmma) {
    absl::StrAppend(&out, "dot ", name(result), " by wgmma: ", plan.groups, " warpgroups, ", plan.m_tiles, " tiles of 64 x ", plan.n, " each, ", plan.k_steps,
                    " steps along k", plan.a_written ? ", a in a buffer of its own" : "", plan.b_written ? ", b through a buffer of its own" : "", plan.promote ? ", summed in parts of 128 along k" : "", "\n");
  }
  return out;
}

}  // namespace tilevm::pipeline
