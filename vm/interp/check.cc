#include "vm/interp/check.h"

#include "vm/interp/affine.h"
#include "vm/interp/run_state.h"

namespace tilevm::vm {
Checker::Checker(const Plan& plan, absl::Span<const Buffer>, const RunOptions& options, int64_t) : plan_(plan), options_(options), cell_bytes_(1) { (void)plan_; (void)options_; (void)cell_bytes_; (void)dropped_; }
uint64_t Checker::BaseOf(int64_t) const { return 0; }
void Checker::Switch(Frame&) {}
void Checker::Finish(Frame&) {}
void Checker::TakeReports(RunResult*) {}
void CheckedLoad(Frame&, const Inst&) {}
void CheckedStore(Frame&, const Inst&) {}
void CheckedAtomic(Frame&, const Inst&) {}
void CheckGather(Frame&, const Inst&, int64_t, int64_t, int64_t) {}
bool CheckAssert(Frame&, const Inst&, int64_t, const std::string&) { return false; }
void CheckBranch(Frame&, const Inst&, const Register&) {}
void ShadowElementwise(Frame&, const Inst&, int64_t) {}
void JoinAllShadow(Frame&, const Inst&) {}
bool WrapMatters(const Inst&) { return false; }
bool RunResult::clean() const {
  for (const Report& report : reports) {
    if (!report.note) return false;
  }
  return true;
}
}  // namespace tilevm::vm
