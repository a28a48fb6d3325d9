#include "gpu/launch/arguments.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu/compile/divide.h"
#include "gpu/compile/packing.h"
#include "isa/status.h"

namespace tilevm::gpu {

int MapType(isa::DType dtype) {
  switch (dtype) {
    case isa::DType::kF16: return kTensorMapF16;
    case isa::DType::kBF16: return kTensorMapBf16;
    case isa::DType::kF32: return kTensorMapF32;
    case isa::DType::kF64: return kTensorMapF64;
    case isa::DType::kI32: return kTensorMapI32;
    case isa::DType::kI64: return kTensorMapI64;
    case isa::DType::kU32: return kTensorMapU32;
    case isa::DType::kU64: return kTensorMapU64;
    case isa::DType::kI16: case isa::DType::kU16: return kTensorMapU16;
    default: return kTensorMapU8;
  }
}

int MapSwizzle(int bytes) {
  return bytes == 128 ? kTensorMapSwizzle128 : bytes == 64 ? kTensorMapSwizzle64 : bytes == 32 ? kTensorMapSwizzle32 : kTensorMapSwizzleNone;
}

absl::Status EncodeTensorMap(const Api& api, const launch::MapFields& fields, EncodedTensorMap& map) {
  if (api.TensorMapEncodeTiled == nullptr) return absl::FailedPreconditionError("the NVIDIA driver knows no tensor maps");
  const unsigned element_strides[5] = {1, 1, 1, 1, 1};
  // The driver takes extents and strides of 64 bits of its own type.
  const std::vector<unsigned long long> extents(fields.extents.begin(), fields.extents.end());
  std::vector<unsigned long long> strides(fields.strides.begin(), fields.strides.end());
  if (strides.empty()) strides.push_back(0);  // of a row there are none, but the driver wants an array
  const std::vector<unsigned> box(fields.box.begin(), fields.box.end());
  // How much of a row the L2 cache fetches at once. CTAs of a kernel that makes maps ask for their first boxes all at the same time: beyond the 128 bytes of a box's
  // row it would fetch for one what comes later, while others wait (tutorial 08: 3 % at 4 x 1024 and at 4 x 128 x 8192 x 8192; elsewhere it makes no difference).
  const int promotion = fields.made ? kTensorMapPromotion128 : kTensorMapPromotion256;
  TILEVM_DRIVER_CALL(api, TensorMapEncodeTiled, map.bytes, MapType(fields.dtype), static_cast<unsigned>(extents.size()), reinterpret_cast<void*>(fields.address),
                     extents.data(), strides.data(), box.data(), element_strides, kTensorMapNoInterleave, MapSwizzle(fields.swizzle), promotion, kTensorMapFillZeros);
  return absl::OkStatus();
}

std::optional<int64_t> IntegerArgument(isa::ElemType type, uint64_t bits) {
  if (type.pointer || isa::IsFloat(type.dtype)) return std::nullopt;
  const int width = isa::BitWidth(type.dtype);
  if (width == 64) return isa::IsSigned(type.dtype) || bits >> 63 == 0 ? std::optional<int64_t>(static_cast<int64_t>(bits)) : std::nullopt;
  const int64_t low = static_cast<int64_t>(bits & ((uint64_t{1} << width) - 1));
  const bool negative = isa::IsSigned(type.dtype) && width > 1 && (low >> (width - 1)) != 0;
  return negative ? low - (int64_t{1} << width) : low;
}

analysis::LaunchRanges RangesOf(const ir::Kernel& kernel, absl::Span<const uint64_t> values, const std::array<int64_t, 3>& grid) {
  std::vector<std::optional<int64_t>> scalars;
  for (size_t i = 0; i < kernel.params.size() && i < values.size(); ++i) {
    scalars.push_back(IntegerArgument(kernel.TypeOf(kernel.params[i].value).elem, values[i]));
  }
  return analysis::LaunchRanges(kernel, scalars, grid);
}

namespace {
constexpr char kMayNotRun[] = "a loop may have no iteration";

std::array<int64_t, 3> ProgramsOf(const Emitted& emitted, std::array<int64_t, 3> grid) {
  if (!emitted.tail) grid[0] *= emitted.parts;
  return grid;
}
launch::SliceValues EvaluateFor(const Emitted& emitted, const ir::Kernel& kernel, absl::Span<const uint64_t> values, const std::array<int64_t, 3>& grid,
                                const analysis::LaunchRanges& ranges) {
  // A persistent kernel counts its programs in 32 bits.
  if (emitted.persistent && absl::int128(grid[0]) * grid[1] * grid[2] * (emitted.tail ? emitted.parts : 1) > std::numeric_limits<int32_t>::max()) {
    launch::SliceValues out;
    out.failed = "the grid has more than 2^31 - 1 programs";
    return out;
  }
  // Values that the generator added are in no range of the kernel as it was.
  const auto range = [&](uint32_t id) -> std::pair<int64_t, int64_t> {
    if (id >= kernel.values.size()) return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    return {ranges.Of(id).lo, ranges.Of(id).hi};
  };
  std::vector<int64_t> params;
  for (size_t i = 0; i < kernel.params.size() && i < values.size(); ++i) {
    const isa::ElemType type = kernel.TypeOf(kernel.params[i].value).elem;
    params.push_back(IntegerArgument(type, values[i]).value_or(static_cast<int64_t>(values[i])));
  }
  launch::SliceValues out = launch::Evaluate(emitted.slice, params, grid, range);
  for (const auto& [first, last] : emitted.runs) {
    if (!out.failed.empty()) break;
    if (range(first).second < range(last).first) continue;
    out.failed = kMayNotRun;
    out.maps.clear();
  }
  return out;
}

}  // namespace

bool NextPlainer(Promises& promises) {
  if (!promises.boxes) return false;
  if (promises.turn) promises.turn = false;
  else if (promises.box_stores) promises.box_stores = false;
  else promises.boxes = false;
  return true;
}

launch::SliceValues EvaluateSlice(const Emitted& emitted, const ir::Kernel& kernel, absl::Span<const uint64_t> values, const std::array<int64_t, 3>& grid,
                                  const analysis::LaunchRanges& ranges) {
  if (emitted.split == nullptr) return EvaluateFor(emitted, kernel, values, grid, ranges);
  const std::array<int64_t, 3> programs = ProgramsOf(emitted, grid);
  return EvaluateFor(emitted, *emitted.split, values, programs, RangesOf(*emitted.split, values, programs));
}

bool MayNotRun(const launch::SliceValues& values) { return values.failed == kMayNotRun; }

absl::StatusOr<Emitted> GenerateFor(const ir::Kernel& kernel, const Target& target, GenerateOptions options, absl::Span<const uint64_t> values,
                                    const std::array<int64_t, 3>& grid, bool may_repack, int multiprocessors) {
  const analysis::LaunchRanges ranges = RangesOf(kernel, values, grid);
  auto fits = [&](const Emitted& emitted) {
    const launch::SliceValues slice = EvaluateSlice(emitted, kernel, values, grid, ranges);
    return slice.failed.empty() && ((may_repack && !emitted.tail) || WorkspaceBytes(slice) == 0);
  };
  for (;;) {
    absl::StatusOr<Emitted> emitted = Generate(kernel, target, options);
    if (emitted.ok() && emitted->packed > 1 && !WorthPacking(grid, multiprocessors)) {
      options.promises.many = false;
      continue;
    }
    if (!options.promises.boxes) return emitted;
    if (emitted.ok()) {
      if (emitted->slice.empty()) return emitted;
      if (emitted->programs > 1 && !WorthMerging(grid, emitted->programs, multiprocessors)) {
        options.promises.many = false;
        continue;
      }
      if (options.promises.loops_run && MayNotRun(EvaluateSlice(*emitted, kernel, values, grid, ranges))) {
        options.promises.loops_run = false;
        continue;
      }
      if (fits(*emitted)) {
        GenerateOptions split = options;
        for (const Division& division : DivisionsFor(kernel, *emitted, grid, multiprocessors)) {
          split.promises.parts = division.parts;
          split.promises.tail = division.tail;
          absl::StatusOr<Emitted> candidate = Generate(kernel, target, split);
          if (candidate.ok() && fits(*candidate)) return candidate;
        }
        return emitted;
      }
    } else if (emitted.status().code() != absl::StatusCode::kResourceExhausted && emitted.status().code() != absl::StatusCode::kUnimplemented) {
      return emitted;
    }
    NextPlainer(options.promises);
  }
}

Emitted RepackText() {
  Emitted out;
  out.entry = "repack_rows";
  out.threads = 256;
  out.text =
      "#include \"device/repack.cuh\"\n"
      "extern \"C\" __global__ void __launch_bounds__(256) repack_rows(const tv::u8* from, tv::u64 from_pitch, tv::u8* to, tv::u64 to_pitch, tv::u32 row_bytes,\n"
      "                                                                 tv::u32 chunks, tv::u64 rows, const tv::u8* end, tv::u32 turned_bytes) {\n"
      "  if (turned_bytes == 4) tv::turn_array<4>(from, from_pitch, to, to_pitch, row_bytes, rows);\n"
      "  else if (turned_bytes == 1) tv::turn_array<1>(from, from_pitch, to, to_pitch, row_bytes, rows);\n"
      "  else tv::repack(from, from_pitch, to, to_pitch, row_bytes, chunks, rows, end);\n"
      "}\n";
  return out;
}

namespace {
uint64_t RoundUp(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
}  // namespace

int64_t WorkspaceBytes(const launch::SliceValues& slice) {
  uint64_t bytes = 0;
  for (const launch::MapFields& map : slice.maps) {
    if (map.repack) bytes += RoundUp(map.packed_bytes());
  }
  return static_cast<int64_t>(bytes);
}

std::array<int64_t, 3> Repack::grid() const {
  if (turned_bytes == 0) return {static_cast<int64_t>((rows + 3) / 4), 1, 1};
  const uint64_t side = turned_bytes == 4 ? 64 : 128, columns = row_bytes / turned_bytes;  // gpu/device/repack.cuh: turn_array
  return {static_cast<int64_t>((columns + side - 1) / side), static_cast<int64_t>((rows + side - 1) / side), 1};
}

CuResult LaunchRepack(const Api& api, CuFunction function, Repack& repack, CuStream stream) {
  return api.LaunchKernel(function, static_cast<unsigned>(repack.grid()[0]), static_cast<unsigned>(repack.grid()[1]), 1, 64, 4, 1, 0, stream, repack.pointers, nullptr);
}

absl::StatusOr<int64_t> BlocksAtOnce(const Api& api, CuFunction function, const Emitted& emitted) {
  int blocks = 0, multiprocessors = 0;
  CuDevice device = 0;
  TILEVM_DRIVER_CALL(api, CtxGetDevice, &device);
  TILEVM_DRIVER_CALL(api, DeviceGetAttribute, &multiprocessors, kAttributeMultiprocessorCount, device);
  TILEVM_DRIVER_CALL(api, OccupancyMaxActiveBlocks, &blocks, function, emitted.threads, static_cast<size_t>(emitted.smem_bytes));
  return int64_t{blocks} * multiprocessors;
}

CuResult LaunchBlocks(const Api& api, CuFunction function, const Emitted& emitted, const std::array<int64_t, 3>& blocks, int multiprocessors, CuStream stream, void** params) {
  const unsigned x = static_cast<unsigned>(blocks[0]), y = static_cast<unsigned>(blocks[1]), z = static_cast<unsigned>(blocks[2]);
  const unsigned threads = static_cast<unsigned>(emitted.threads), smem = static_cast<unsigned>(emitted.smem_bytes);
  const absl::int128 all = absl::int128(blocks[0]) * blocks[1] * blocks[2];
  const bool few = 8 * all < int64_t{7} * multiprocessors && 2 * all > multiprocessors;
  if (!emitted.begins_early || few || api.version < kProgrammaticDriver) return api.LaunchKernel(function, x, y, z, threads, 1, 1, smem, stream, params, nullptr);
  CuLaunchAttribute early;
  early.id = kLaunchProgrammaticSerialization;
  early.value = 1;
  const CuLaunchConfig config = {{x, y, z}, {threads, 1, 1}, smem, stream, &early, 1};
  return api.LaunchKernelEx(&config, function, params, nullptr);
}

std::array<int64_t, 3> LaunchedGrid(const Emitted& emitted, const std::array<int64_t, 3>& grid, int64_t blocks_at_once) {
  if (!emitted.persistent) return {(grid[0] + emitted.packed - 1) / emitted.packed, grid[1], grid[2]};
  const absl::int128 programs = (absl::int128(grid[0]) * emitted.parts + emitted.programs - 1) / emitted.programs * grid[1] * grid[2];
  return {static_cast<int64_t>(std::min<absl::int128>(programs, std::max<int64_t>(1, blocks_at_once))), 1, 1};
}

uint32_t StrideToTry(const Emitted& emitted, const std::array<int64_t, 3>& grid, int multiprocessors) {
  constexpr int64_t kStride = 32;
  return emitted.strided && grid[0] >= 2 * kStride && grid[0] <= multiprocessors && grid[1] == 1 && grid[2] == 1 ? kStride : 1;
}

void LaunchArguments::NextDeal() {
  constexpr uint32_t kDeals = 1024;  // as gpu/device/boxes.cuh has it
  static std::atomic<uint32_t> next{0};
  deal_ = next.fetch_add(1, std::memory_order_relaxed) % kDeals;
}

absl::Status LaunchArguments::Set(const Api& api, const Emitted& emitted, absl::Span<const uint64_t> values, const launch::SliceValues& slice,
                                  const std::array<int64_t, 3>& grid, uint64_t records, uint64_t workspace, uint32_t program_stride) {
  std::vector<EncodedTensorMap> maps(slice.maps.size());
  std::vector<Repack> repacks;
  for (size_t i = 0; i < maps.size(); ++i) {
    launch::MapFields fields = slice.maps[i];
    if (fields.repack) {
      if (workspace == 0) return absl::InternalError("no workspace for an array that is not aligned");
      const uint64_t row_bytes = fields.extents[0] * static_cast<uint64_t>(isa::StorageBytes(fields.dtype)), pitch = fields.packed_stride();
      repacks.push_back({fields.address, fields.strides[0], workspace, pitch, static_cast<uint32_t>(row_bytes), static_cast<uint32_t>(pitch / 16), fields.extents[1],
                         fields.address + (fields.extents[1] - 1) * fields.strides[0] + row_bytes,
                         fields.turned ? static_cast<uint32_t>(isa::StorageBytes(fields.dtype)) : 0, {}});
      fields.address = workspace;
      workspace += RoundUp(fields.packed_bytes());
      fields.strides[0] = pitch;
      if (fields.turned) std::swap(fields.extents[0], fields.extents[1]);
    }
    TILEVM_RETURN_IF_ERROR(EncodeTensorMap(api, fields, maps[i]));
  }
  maps_ = std::move(maps);
  repacks_ = std::move(repacks);
  for (Repack& r : repacks_) {
    void* const pointers[9] = {&r.from, &r.from_pitch, &r.to, &r.to_pitch, &r.row_bytes, &r.chunks, &r.rows, &r.end, &r.turned_bytes};
    std::copy(pointers, pointers + 9, r.pointers);
  }
  values_.assign(values.begin(), values.end());
  for (size_t axis = 0; axis < 3; ++axis) programs_[axis] = static_cast<uint32_t>(ProgramsOf(emitted, grid)[axis]);
  records_ = records;
  pointers_.clear();
  for (uint64_t& value : values_) pointers_.push_back(&value);
  for (EncodedTensorMap& map : maps_) pointers_.push_back(&map);
  for (uint32_t& extent : programs_) {
    if (emitted.persistent) pointers_.push_back(&extent);
  }
  if (emitted.packed > 1) pointers_.push_back(&programs_[0]);
  if (emitted.dealt) pointers_.push_back(&deal_);
  NextDeal();
  program_stride_ = program_stride;
  if (emitted.strided) pointers_.push_back(&program_stride_);
  if (emitted.uses_records()) pointers_.push_back(&records_);
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
