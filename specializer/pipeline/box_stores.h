// box_stores: what the splitter (roles.cc) asks of stores and loads that go by tensor maps, beside what they need.
#ifndef TILEVM_SPECIALIZER_PIPELINE_BOX_STORES_H_
#define TILEVM_SPECIALIZER_PIPELINE_BOX_STORES_H_

#include <functional>
#include <optional>
#include <vector>

#include "specializer/pipeline/schedule.h"

namespace tilevm::pipeline {

// How a value in registers goes to memory by a tensor map whose neighbours lie along `axis`. Nothing if a panel is not the same registers of every thread.
// groups: warpgroups that compute, of so many programs.
std::optional<BoxStore> BoxStoreOf(const layout::LayoutKernel& kernel, ir::ValueId value, int axis, int groups, int programs);

// Before which op the map of an access is made whose array these scalars are (MadeMap::before): in the innermost region that defines one of them, before what
// holds the access; of a store in that region itself, before the first loop or branch behind them all. Null if that lies inside of the loop (null: none).
// region_of: the op whose region defines a value (null: the kernel's body), nothing for parameters; owner_of: the op in whose region another one stands.
const ir::Op* WhereToMake(const ir::Kernel& kernel, const ir::Op& access, const std::vector<ir::ValueId>& fields, const ir::Op* loop,
                          const std::function<std::optional<const ir::Op*>(ir::ValueId)>& region_of, const std::function<const ir::Op*(const ir::Op&)>& owner_of);

}  // namespace tilevm::pipeline

#endif  // TILEVM_SPECIALIZER_PIPELINE_BOX_STORES_H_
