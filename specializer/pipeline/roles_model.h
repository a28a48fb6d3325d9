// roles_model: a split kernel (roles.h) as a kernel that the interpreter runs: what the schedule means, beside the text that the emitter prints of it.
//
//   programs (0, cta)                 the producer of a CTA
//   programs (1 + member, cta)        its consumers: one for each merged program
//
// Rings and their barriers lie in memory, one more parameter each. A barrier is a number that only grows: a slot's `full` counts how often it was filled, its
// `empty` how often it was released; each side waits in a loop with an atomic for the round that it is in, as mbarriers are waited for by the parity of theirs. The
// interpreter's fibers let programs wait for each other, and its deadlock report names the loops if the two sides ever take slots in another order. In checked
// mode a slot that is read before it is filled, or filled before it was released, is a race that is reported.
//
// Modelled: the producer's slice, stores that it may read (and how late each side waits for them), when maps are made and handed on, the order and the slots of all copies, kept tiles, merged programs with what they drain, persistent CTAs, the order of programs,
// shared tails.
// Not modelled: coordinates of boxes (the producer loads through the kernel's own pointers), box stores, turns, how tiles lie in threads, when products run on (a slot is
// released at the end of its iteration), and dealing (CTAs take programs by their number).
#ifndef TILEVM_SPECIALIZER_PIPELINE_ROLES_MODEL_H_
#define TILEVM_SPECIALIZER_PIPELINE_ROLES_MODEL_H_

#include <array>
#include <vector>

#include "absl/status/statusor.h"
#include "specializer/pipeline/schedule.h"

namespace tilevm::pipeline {

struct RolesModel {
  struct Memory {
    isa::DType dtype = isa::DType::kI32;
    int64_t elements = 0;
  };
  ir::Kernel kernel;
  std::vector<Memory> memory;                // behind the parameters that follow the kernel's own, zeros at first
  std::array<int64_t, 3> grid = {1, 1, 1};   // to be launched
};

// grid: of the kernel's programs. kFailedPrecondition if the schedule has no roles.
absl::StatusOr<RolesModel> ModelRoles(const layout::LayoutKernel& kernel, const Schedule& schedule, const std::array<int64_t, 3>& grid, int64_t ctas);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_ROLES_MODEL_H_
