// What one launch hands to a kernel, in the order of its parameters:
//
//   the parameters of ir::Kernel, 8 bytes each (narrower ones use the first bytes)
//   a tensor map for each of Emitted::slice.maps
//   the grid of programs, three u32, if Emitted::persistent
//   the number of the launch's deal, if Emitted::dealt
//   how far apart programs of neighbouring blocks are, if Emitted::strided
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
// It failed for Emitted::runs: Promises::loops_run may not be made.
bool MayNotRun(const launch::SliceValues& values);
// The most special variant of the kernel, by its slice, that these arguments may take: with boxes if options say so and they fit, else without. no_alias
// and trust_signs are the caller's to decide. may_repack: the caller launches the copies that maps ask for.
absl::StatusOr<Emitted> GenerateFor(const ir::Kernel& kernel, const Target& target, GenerateOptions options, absl::Span<const uint64_t> values,
                                    const std::array<int64_t, 3>& grid, bool may_repack = false, int multiprocessors = 0);
// The next plainer promises of tensor maps, in turn: all, not for stores, none. False if these are the last.
bool NextPlainer(Promises& promises);
// What the device runs of the kernel at once.
absl::StatusOr<int64_t> BlocksAtOnce(const Api& api, CuFunction function, const Emitted& emitted);
// A launch of blocks. Kernels that wait themselves for what was launched before them may be set up beside its end (programmatic stream serialization); nobody
// else notices: work that follows in the stream, events and copies wait for the whole kernel as ever.
// A grid that leaves an eighth of the multiprocessors idle or more is not: some of the next one's blocks would go there alone, and the rest of them come late.
// One of at most half of them is: all of the next one's go there.
CuResult LaunchBlocks(const Api& api, CuFunction function, const Emitted& emitted, const std::array<int64_t, 3>& blocks, int multiprocessors, CuStream stream, void** params);

// The other stride that is worth trying for such a kernel on such a grid: one that fits the device at once, so that no program waits for a block to come, and has
// two programs of each remainder at least. 1 if there is none.
uint32_t StrideToTry(const Emitted& emitted, const std::array<int64_t, 3>& grid, int multiprocessors);

// Blocks that are launched for a grid of programs.
std::array<int64_t, 3> LaunchedGrid(const Emitted& emitted, const std::array<int64_t, 3>& grid, int64_t blocks_at_once);

// Copies of arrays into workspace before the launch (gpu/device/repack.cuh): the text of the kernel that does it, for any array.
Emitted RepackText();
// Of the maps that ask for it; 0 if none does.
int64_t WorkspaceBytes(const launch::SliceValues& slice);

// One launch of that kernel.
struct Repack {
  uint64_t from, from_pitch, to, to_pitch;
  uint32_t row_bytes, chunks;
  uint64_t rows, end;
  uint32_t turned_bytes;  // of an element, where the copy's dimensions are swapped; else 0
  void* pointers[9];
  // Of blocks of 64 x 4 threads: four rows each, or a square of kTurnedSide elements.
  std::array<int64_t, 3> grid() const;
};
CuResult LaunchRepack(const Api& api, CuFunction function, Repack& repack, CuStream stream);

class LaunchArguments {
 public:
  LaunchArguments() = default;
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  // values: of the kernel's parameters. records: an address or 0. workspace: of WorkspaceBytes(slice), aligned to 256. program_stride: of a kernel that has one.
  absl::Status Set(const Api& api, const Emitted& emitted, absl::Span<const uint64_t> values, const launch::SliceValues& slice, const std::array<int64_t, 3>& grid,
                   uint64_t records, uint64_t workspace = 0, uint32_t program_stride = 1);
  void** pointers() { return pointers_.data(); }
  // Before each launch: one that overlaps another of the same kernel has another deal (gpu/device/boxes.cuh).
  void NextDeal();
  // To be done before the launch, on the same stream.
  std::vector<Repack>& repacks() { return repacks_; }

 private:
  std::vector<uint64_t> values_;
  std::vector<EncodedTensorMap> maps_;
  std::array<uint32_t, 3> programs_ = {0, 0, 0};
  uint64_t records_ = 0;
  uint32_t deal_ = 0, program_stride_ = 1;
  std::vector<Repack> repacks_;
  std::vector<void*> pointers_;
};

}  // namespace tilevm::gpu

#endif  // TILEVM_GPU_LAUNCH_ARGUMENTS_H_
