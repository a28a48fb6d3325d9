// What one launch hands to a kernel, in the order of its parameters:
//
//   the parameters of ir::Kernel, 8 bytes each (narrower ones use the first bytes)
//   a tensor map for each of Emitted::slice.maps
//   the grid of programs, three u32, if Emitted::persistent
//   the address of the record buffer, if the kernel prints or asserts
#ifndef TILEVM_GPU_LAUNCH_ARGUMENTS_H_
#define TILEVM_GPU_LAUNCH_ARGUMENTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu/compile/generate.h"
#include "gpu/driver/api.h"
#include "gpu/emit/emit.h"
#include "specializer/analysis/launch_ranges.h"
#include "specializer/ir/kernel.h"
#include "specializer/launch/slice.h"

namespace tilevm::gpu {

// CUtensorMapDataType and CUtensorMapSwizzle.
int MapType(isa::DType dtype);
int MapSwizzle(int bytes);

struct alignas(64) EncodedTensorMap {
  unsigned char bytes[128];
};
// kFailedPrecondition where the driver knows no tensor maps.
absl::Status EncodeTensorMap(const Api& api, const launch::MapFields& fields, EncodedTensorMap& map);

// The integer that the bits of an argument are; nullopt for pointers, floats, and u64 values beyond i64.
std::optional<int64_t> IntegerArgument(isa::ElemType type, uint64_t bits);
// What the integers of the kernel can be with these arguments.
analysis::LaunchRanges RangesOf(const ir::Kernel& kernel, absl::Span<const uint64_t> values, const std::array<int64_t, 3>& grid);
// The slice of a variant over these arguments; `failed` says why the variant is not for them. kernel: the one that the variant was generated from.
launch::SliceValues EvaluateSlice(const Emitted& emitted, const ir::Kernel& kernel, absl::Span<const uint64_t> values, const std::array<int64_t, 3>& grid,
                                  const analysis::LaunchRanges& ranges);
// The most special variant of the kernel, by its slice, that these arguments may take: with boxes if options say so and they fit, else without. no_alias
// and trust_signs are the caller's to decide.
absl::StatusOr<Emitted> GenerateFor(const ir::Kernel& kernel, const Target& target, GenerateOptions options, absl::Span<const uint64_t> values,
                                    const std::array<int64_t, 3>& grid);
// What the device runs of the kernel at once.
absl::StatusOr<int64_t> BlocksAtOnce(const Api& api, CuFunction function, const Emitted& emitted);
// Blocks that are launched for a grid of programs.
std::array<int64_t, 3> LaunchedGrid(const Emitted& emitted, const std::array<int64_t, 3>& grid, int64_t blocks_at_once);

class LaunchArguments {
 public:
  LaunchArguments() = default;
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  // values: of the kernel's parameters. records: an address or 0.
  absl::Status Set(const Api& api, const Emitted& emitted, absl::Span<const uint64_t> values, const launch::SliceValues& slice, const std::array<int64_t, 3>& grid,
                   uint64_t records);
  void** pointers() { return pointers_.data(); }

 private:
  std::vector<uint64_t> values_;
  std::vector<EncodedTensorMap> maps_;
  std::array<uint32_t, 3> programs_ = {0, 0, 0};
  uint64_t records_ = 0;
  std::vector<void*> pointers_;
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_LAUNCH_ARGUMENTS_H_
