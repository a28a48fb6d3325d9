#include "gpu/compile/generate.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gpu/compile/legalize.h"
#include "gpu/compile/packing.h"
#include "gpu/compile/remarks.h"
#include "gpu/compile/run_access.h"
#include "isa/status.h"
#include "specializer/analysis/access_plan.h"
#include "specializer/analysis/axis_facts.h"
#include "specializer/passes/join_loops.h"
#include "specializer/pipeline/carried_offsets.h"
#include "specializer/pipeline/roles.h"
#include "specializer/pipeline/schedule.h"
#include "specializer/pipeline/split_tiles.h"

namespace tilevm::gpu {

namespace {

// Of the largest tile that a kernel without dots loads or stores: more would spill, or leave too few loads in flight; and where rows are reduced, fewer make
// warps that mostly wait for each other.
constexpr int64_t kMostElemsPerThread = 32, kLeastElemsPerThread = 16;
// Where a row is all that is loaded and its elements are reduced, fewer registers, so that more rows are under way, are worth more than fewer warps (H200, against
// Triton, f32 rows of 1024 / 8192 and f16 of 8192, with 16 or 32 elements a thread: 1.03 / 1.02 / 1.06, 1.00 / 1.01 / 1.05).
constexpr int64_t kMostElemsOfRow = 16;
// Where loads go by runs that are not aligned, more pay: a row in fewer threads leaves room for more rows (8192 rows of 12345 f16 on an H200: 16 warps 138 us,
// eight 118; of 6001: eight 57.3, four 54.6).
constexpr int64_t kMostElemsInRuns = 64;
// Where rows are reduced, warps halve to the most elements a thread if what it loads stays within this (layer norm of 4096 f16, three tiles, on an H200: eight
// warps 39.6 us, four 37.7; of 1024 f32: two warps 35.2 us, one, with 384 bytes, 37.9).
constexpr int64_t kMostBytesPerThread = 192;
// Without reductions, where several arrays are read, so many bytes of loads are enough for a thread, of each array at least 16 (10 M f32 added on an H200: four
// warps of 64 bytes 1.00 to 1.01 of Triton, eight of 32 1.01 to 1.02).
constexpr int64_t kBytesUnderWay = 32;
constexpr int kMostWarpsOfLine = 8;

// What the memory accesses of a kernel move, and its reductions take.
struct Traffic {
  int64_t largest = 0;        // elements of the largest tile accessed or reduced
  int64_t loaded_bytes = 0;   // of all tiles loaded, in the program's text
  int64_t moved_bytes = 0;    // loaded and stored, likewise
  int loads = 0;              // of tiles
  int rank = 0;               // the highest of a tile accessed
  bool has_dot = false, has_reduce = false, has_loop = false;
};
void CollectTraffic(const ir::Kernel& kernel, const ir::Region& region, Traffic& out) {
  for (const ir::Op& op : region.ops) {
    out.has_dot |= op.op == isa::Op::kDot;
    out.has_reduce |= op.op == isa::Op::kReduce;
    out.has_loop |= op.op == isa::Op::kFor || op.op == isa::Op::kWhile;
    if (op.op == isa::Op::kLoad || op.op == isa::Op::kStore || op.op == isa::Op::kReduce) out.largest = std::max(out.largest, kernel.TypeOf(op.operands[0]).elem_count());
    if (op.op == isa::Op::kLoad || op.op == isa::Op::kStore) {
      const isa::Type& type = kernel.TypeOf(op.operands[0]);
      const int64_t bytes = type.elem_count() * isa::StorageBytes(type.elem.dtype);
      out.moved_bytes += bytes;
      out.rank = std::max(out.rank, type.rank());
      if (op.op == isa::Op::kLoad) out.loaded_bytes += bytes;
      if (op.op == isa::Op::kLoad && !type.is_scalar()) ++out.loads;
    }
    for (const ir::Region& inner : op.regions) CollectTraffic(kernel, inner, out);
  }
}

// Threads that compute by fragments or tiles in registers hold at most so many words of a sum beside operands and their parts; where more, more warps share it.
constexpr int64_t kMostWordsOfSum = 64;
constexpr int kMostWarpsOfSum = 8;
int64_t WordsOfSums(const ir::Kernel& kernel, const ir::Region& region) {
  int64_t most = 0;
  for (const ir::Op& op : region.ops) {
    if (op.op == isa::Op::kDot) {
      const isa::Type& sum = kernel.TypeOf(op.results[0]);
      const bool wide = sum.elem.dtype == isa::DType::kF64 || layout::IsSplit(kernel, op) || layout::FitsThreadTiles(kernel, op);
      if (wide) most = std::max(most, sum.elem_count() * isa::StorageBytes(sum.elem) / 4);
    }
    for (const ir::Region& inner : op.regions) most = std::max(most, WordsOfSums(kernel, inner));
  }
  return most;
}

// num_warps is a hint: a row of 32768 elements on four warps is not what anyone wants. A dot fixes how warps share the work.
// in_runs: its loads go by runs that are not aligned.
int WarpsFor(const ir::Kernel& kernel, const Target& target, bool in_runs) {
  Traffic accesses;
  CollectTraffic(kernel, kernel.body, accesses);
  int warps = kernel.options.num_warps;
  if (warps < 1 || (warps & (warps - 1)) != 0) return warps;
  if (accesses.has_dot) {
    const int64_t words = WordsOfSums(kernel, kernel.body);
    while (warps < kMostWarpsOfSum && words > kMostWordsOfSum * 32 * warps) warps *= 2;
    return warps;
  }
  const bool row = accesses.has_reduce && accesses.loads == 1 && accesses.rank == 1 && !accesses.has_loop;
  const int64_t most = in_runs ? kMostElemsInRuns : row ? kMostElemsOfRow : kMostElemsPerThread;
  while (warps * 64 <= target.max_threads_per_block && accesses.largest > most * 32 * warps) warps *= 2;
  if (!accesses.has_reduce) {
    const bool line = accesses.loads > 1 && accesses.rank == 1 && !accesses.has_loop;
    const int64_t all = accesses.loaded_bytes, each = line ? all / accesses.loads : 0;
    while (line && warps < kMostWarpsOfLine && all > kBytesUnderWay * 32 * warps && each >= 32 * 32 * warps) warps *= 2;
    return warps;
  }
  while (warps > 1 && accesses.largest < kLeastElemsPerThread * 32 * warps) warps /= 2;
  while (warps > 1 && 2 * accesses.largest <= most * 32 * warps && 2 * accesses.loaded_bytes <= kMostBytesPerThread * 32 * warps) warps /= 2;
  return warps;
}

// Grids of many small blocks lose by it on an H200: 16384 rows of 1024 f16, 4 KB to move for each, took 20.1 us instead of 17.7, 16384 of 781 as long, as if no more than
// 800 blocks could begin in a microsecond (two shapes measured); of 1024 f32 33.2 instead of 33.7.
bool MayBeginEarly(const ir::Kernel& kernel, int programs = 1) {
  constexpr int64_t kLeastBytes = 6144;
  Traffic accesses;
  CollectTraffic(kernel, kernel.body, accesses);
  return accesses.has_loop || accesses.has_dot || accesses.moved_bytes * programs >= kLeastBytes;
}

// The fewest rows of a product inside a loop; 0 if there is none.
int64_t LeastRows(const ir::Kernel& kernel, const ir::Region& region, bool in_loop = false) {
  int64_t least = 0;
  for (const ir::Op& op : region.ops) {
    if (op.op == isa::Op::kDot && in_loop) {
      const isa::Shape& shape = kernel.TypeOf(op.results[0]).shape;
      const int64_t rows = shape.size() == 2 ? shape[0] : 1;
      least = least == 0 ? rows : std::min(least, rows);
    }
    for (const ir::Region& inner : op.regions) {
      const int64_t rows = LeastRows(kernel, inner, in_loop || op.op == isa::Op::kFor);
      if (rows != 0) least = least == 0 ? rows : std::min(least, rows);
    }
  }
  return least;
}

// Registers of a tile that one access of a load or store may move.
int64_t VectorOf(const layout::LayoutKernel& kernel, const analysis::Accesses& accesses, const ir::Op& op) {
  const analysis::Access access = accesses.Of(op);
  const ir::ValueId pointer = op.operands[0];
  if (access.kind != analysis::AccessKind::kContiguous || !kernel.HasLayout(pointer)) return 1;
  const int64_t widest = 16 / isa::StorageBytes(isa::DType(kernel.kernel.TypeOf(pointer).elem.dtype));
  return std::min({access.vector, kernel.LayoutOf(pointer).ContiguousElements(access.axis), std::max<int64_t>(widest, 1)});
}

// Bits of a register's number that move an element within a block of equal ones.
uint32_t SameRegisters(const layout::LayoutKernel& kernel, const analysis::AxisFacts& facts, ir::ValueId id) {
  const layout::LinearLayout& where = kernel.LayoutOf(id);
  uint32_t same = 0;
  for (size_t bit = 0; bit < where.reg().size(); ++bit) {
    const auto at = where.Coordinates(where.reg()[bit]);
    bool inside = true;
    for (size_t axis = 0; axis < at.size(); ++axis) inside &= at[axis] < facts.Of(id).axes[axis].constancy;
    if (inside) same |= 1u << bit;
  }
  return same;
}

// split: into roles, if it can be; boxes: for that, null for none. scratch: shared memory to be left beside what the schedule knows of.
pipeline::Schedule ScheduleOf(const layout::LayoutKernel& kernel, const analysis::Accesses& accesses, const Target& target, const GenerateOptions& options,
                              bool split = false, const analysis::Boxes* boxes = nullptr, int64_t scratch = 0) {
  pipeline::ScheduleOptions how;
  how.max_smem = target.max_smem_per_block - (split ? 0 : scratch);
  how.wgmma = target.number == 90 && options.wgmma;
  how.overlap = options.overlap;
  how.vector = [&](const ir::Op& op) { return VectorOf(kernel, accesses, op); };
  how.boxes = boxes;
  how.turn = options.promises.turn && options.promises.workspace;
  how.made = split && boxes != nullptr && options.promises.made && boxes->HasMade();
  for (;;) {
    pipeline::Schedule schedule = pipeline::MakeSchedule(kernel, how);
    if (!split) return schedule;
    const int num_warps = kernel.kernel.options.num_warps;
    schedule.why_no_roles = pipeline::AssignRoles(kernel, {boxes, target.max_smem_per_block, scratch, num_warps, options.promises.box_stores, !options.few_programs,
                                                           options.promises.many ? options.merged : 1, options.threads, how.made, options.promises.no_alias}, &schedule);
    if (schedule.roles.groups > 0) return schedule;
    if (how.made) how.made = false;
    else if (how.rows) how.rows = false;  // what the producer needs for rows may be what it cannot know
    else return schedule;
  }
}

bool MaySplit(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options) {
  return target.number == 90 && options.wgmma && !kernel.kernel.options.debug;
}
// Only where the copies may run ahead of everything that the kernel writes.
std::unique_ptr<analysis::Boxes> BoxesOf(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options) {
  if (target.number != 90 || !options.promises.boxes || !options.promises.no_alias || kernel.kernel.options.debug) return nullptr;
  return std::make_unique<analysis::Boxes>(kernel.kernel);
}

int64_t DotCount(const ir::Region& region) {
  int64_t count = 0;
  for (const ir::Op& op : region.ops) {
    count += op.op == isa::Op::kDot;
    for (const ir::Region& inner : op.regions) count += DotCount(inner);
  }
  return count;
}

}  // namespace

absl::StatusOr<layout::LayoutKernel> LayOut(const ir::Kernel& given, const Target& target, const GenerateOptions& options) {
  ir::Kernel kernel = Legalize(given, target);
  if (options.promises.trust_signs) specializer::TrustBounds(&kernel);
  kernel = pipeline::CarriedOffsets(std::move(kernel));
  const analysis::Accesses accesses(kernel, {.trust_signs = options.promises.trust_signs});
  const RunAccesses runs(kernel, accesses.facts());
  const int num_warps = WarpsFor(kernel, target, runs.LoadsUnaligned());
  if (num_warps < 1 || (num_warps & (num_warps - 1)) != 0 || num_warps * 32 > target.max_threads_per_block) {
    return InvalidAt(kernel.loc, "num_warps is ", num_warps, "; it has to be a power of two between 1 and ", target.max_threads_per_block / 32);
  }
  kernel.options.num_warps = num_warps;
  // Four warps for each 64 rows, in two groups at most: that is how wgmma shares the registers, and how one group multiplies while the other does not.
  const int64_t rows = LeastRows(kernel, kernel.body);
  if (target.number == 90 && options.wgmma && num_warps >= 4 && rows >= 64) kernel.options.num_warps = rows >= 128 ? 8 : 4;
  layout::LayoutOptions layouts;
  layouts.num_warps = kernel.options.num_warps;
  layouts.warpgroups = target.number == 90 && options.wgmma;
  layouts.access = [&](const ir::Op& op) {
    const analysis::Access access = accesses.Of(op);
    if (const std::optional<analysis::Run> run = runs.RunOf(op); run.has_value() && !accesses.IsGuessed(op)) {
      return layout::LayoutOptions::Access{RunAccesses::Widest(kernel, op), run->axis};
    }
    return layout::LayoutOptions::Access{access.vector, access.kind == analysis::AccessKind::kContiguous ? access.axis : -1};
  };
  TILEVM_ASSIGN_OR_RETURN(layout::LayoutKernel laid_out, layout::AssignLayouts(kernel, layouts));
  if (!layouts.warpgroups) return laid_out;
  // Warps in one column suit wgmma alone: by mma.sync each would fetch all of b.
  const analysis::Accesses laid_out_accesses(laid_out.kernel, {.trust_signs = options.promises.trust_signs});
  const auto mostly_wgmma = [&](const pipeline::Schedule& schedule) { return 2 * static_cast<int64_t>(schedule.wgmma.size()) >= DotCount(laid_out.kernel.body); };
  if (mostly_wgmma(ScheduleOf(laid_out, laid_out_accesses, target, options))) return laid_out;
  // Boxes of arrays may lie as wgmma needs them where the arrays do not.
  if (const std::unique_ptr<analysis::Boxes> boxes = BoxesOf(laid_out, target, options)) {
    const pipeline::Schedule split = ScheduleOf(laid_out, laid_out_accesses, target, options, true, boxes.get());
    if (split.roles.groups > 0 && mostly_wgmma(split)) return laid_out;
  }
  layouts.warpgroups = false;
  layouts.num_warps = kernel.options.num_warps = num_warps;
  return layout::AssignLayouts(kernel, layouts);
}

pipeline::Schedule Plan(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options) {
  const analysis::Accesses accesses(kernel.kernel, {.trust_signs = options.promises.trust_signs});
  if (MaySplit(kernel, target, options)) {
    const std::unique_ptr<analysis::Boxes> boxes = BoxesOf(kernel, target, options);
    pipeline::Schedule schedule = ScheduleOf(kernel, accesses, target, options, true, boxes.get());
    if (schedule.roles.groups > 0) return schedule;
    pipeline::Schedule whole = ScheduleOf(kernel, accesses, target, options);
    whole.why_no_roles = schedule.why_no_roles;
    return whole;
  }
  return ScheduleOf(kernel, accesses, target, options);
}

namespace {
// Emitted::plan
std::string Describe(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& options, const pipeline::Schedule& schedule, const Emitted& emitted) {
  std::string out = absl::StrCat("kernel ", emitted.entry, " for ", target.arch, ": ", emitted.threads, " threads, ", emitted.smem_bytes, " of ", target.max_smem_per_block,
                                 " bytes of shared memory\n");
  if (schedule.roles.groups == 0 && emitted.packed > 1) absl::StrAppend(&out, "a CTA runs ", emitted.packed, " programs, each on a warp of its own\n");
  if (schedule.roles.groups == 0 && emitted.packed == 1) absl::StrAppend(&out, "a CTA runs one program, on ", kernel.kernel.options.num_warps, kernel.kernel.options.num_warps == 1 ? " warp\n" : " warps\n");
  if (emitted.begins_early) absl::StrAppend(&out, "it may begin before the kernel in front of it has ended\n");
  absl::StrAppend(&out, pipeline::Print(schedule, kernel));
  for (const Remark& remark : Remarks(kernel, target, options, schedule)) absl::StrAppend(&out, remark.text, "\n");
  return out;
}
}  // namespace

absl::StatusOr<Emitted> Emit(const layout::LayoutKernel& kernel, const Target& target, const GenerateOptions& given) {
  GenerateOptions options = given;
  const analysis::Accesses accesses(kernel.kernel, {.trust_signs = options.promises.trust_signs});
  EmitOptions emit;
  emit.num_warps = kernel.kernel.options.num_warps;
  emit.no_alias = options.promises.no_alias;
  emit.line_directives = options.line_directives;
  emit.loops_run = options.promises.loops_run;
  emit.workspace = options.promises.workspace;
  emit.begins_early = target.number >= 90 && MayBeginEarly(kernel.kernel);
  emit.vector = [&](const ir::Op& op) { return VectorOf(kernel, accesses, op); };
  emit.guessed = [&](const ir::Op& op) { return accesses.IsGuessed(op); };
  emit.guessed_scalars = [&](const ir::Op& op) { return accesses.GuessedScalars(op); };
  const RunAccesses runs(kernel.kernel, accesses.facts());
  emit.run = [&](const ir::Op& op) { return accesses.IsGuessed(op) ? std::nullopt : runs.Of(kernel, op); };
  emit.whole_run = [&](const ir::Op& op) { return runs.WholeTile(op); };
  emit.same_registers = [&](ir::ValueId id) { return SameRegisters(kernel, accesses.facts(), id); };
  const auto described = [&](absl::StatusOr<Emitted> emitted) {
    if (options.describe && emitted.ok()) emitted->plan = Describe(kernel, target, options, *emit.schedule, *emitted);
    return emitted;
  };
  // A split kernel whose other shared memory does not fit beside the rings gets shorter rings.
  int64_t scratch = 0;
  std::string why_no_roles = target.number != 90 ? "that is done on sm_90a only" : kernel.kernel.options.debug ? "it is compiled for debugging" : "";
  for (int attempt = 0; attempt < 3 && MaySplit(kernel, target, options); ++attempt) {
    const std::unique_ptr<analysis::Boxes> boxes = BoxesOf(kernel, target, options);
    const pipeline::Schedule schedule = ScheduleOf(kernel, accesses, target, options, true, boxes.get(), scratch);
    if (schedule.roles.groups == 0) {
      why_no_roles = schedule.why_no_roles;
      break;
    }
    emit.schedule = &schedule;
    emit.boxes = boxes.get();
    absl::StatusOr<Emitted> emitted = EmitCuda(kernel, emit);
    if (!emitted.ok() && emitted.status().code() == absl::StatusCode::kUnimplemented && schedule.roles.programs > 1) {
      options.promises.many = false;
      continue;
    }
    if (!emitted.ok() && emitted.status().code() == absl::StatusCode::kUnimplemented && !schedule.roles.made.empty()) {
      options.promises.made = false;
      continue;
    }
    if (!emitted.ok() || emitted->smem_bytes <= target.max_smem_per_block) return described(std::move(emitted));
    scratch = emitted->smem_bytes - schedule.roles.bytes;
    why_no_roles = absl::StrCat("two slots do not fit beside ", scratch, " bytes of other shared memory");
  }
  emit.boxes = nullptr;
  pipeline::Schedule schedule = ScheduleOf(kernel, accesses, target, options);
  schedule.why_no_roles = why_no_roles;
  emit.schedule = &schedule;
  if (options.promises.many && CanPack(kernel.kernel)) {
    EmitOptions packing = emit;
    packing.packed = kPacked;
    packing.begins_early = target.number >= 90 && MayBeginEarly(kernel.kernel, kPacked);
    absl::StatusOr<Emitted> packed = EmitCuda(kernel, packing);
    if (!packed.ok() || (packed->smem_bytes <= kMostPackedBytes && !packed->uses_records())) return described(std::move(packed));
  }
  // A pipelined loop gets fewer slots if they leave no room for what the schedule does not know of (products by multiply-adds).
  absl::StatusOr<Emitted> emitted = EmitCuda(kernel, emit);
  int64_t over = 0;
  pipeline::Schedule shorter;
  for (int attempt = 0; attempt < 3 && emitted.ok() && emitted->smem_bytes > target.max_smem_per_block && emitted->smem_buffers > 0; ++attempt) {
    over += emitted->smem_bytes - target.max_smem_per_block;
    shorter = ScheduleOf(kernel, accesses, target, options, false, nullptr, over);
    shorter.why_no_roles = why_no_roles;
    emit.schedule = &shorter;
    emitted = EmitCuda(kernel, emit);
  }
  return described(std::move(emitted));
}

namespace {
// Of the ops at a place, the one whose operands take most bytes, and those bytes.
std::pair<const ir::Op*, int64_t> LargestAt(const ir::Kernel& kernel, const ir::Region& region, const Loc& place) {
  std::pair<const ir::Op*, int64_t> largest{nullptr, 0};
  const auto take = [&](std::pair<const ir::Op*, int64_t> one) {
    if (one.second > largest.second) largest = one;
  };
  for (const ir::Op& op : region.ops) {
    for (const ir::Region& inner : op.regions) take(LargestAt(kernel, inner, place));
    if (!(op.loc == place)) continue;
    int64_t bytes = 0;
    for (ir::ValueId operand : op.operands) {
      if (operand != ir::kNoValue && !kernel.TypeOf(operand).is_scalar()) bytes += kernel.TypeOf(operand).elem_count() * isa::StorageBytes(kernel.TypeOf(operand).elem);
    }
    take({&op, bytes});
  }
  return largest;
}

// " (dot of tile<256x512xf16>, tile<512x256xf16>, tile<256x256xf32>)"
std::string TilesAt(const ir::Kernel& kernel, const Loc& place) {
  const ir::Op* const op = LargestAt(kernel, kernel.body, place).first;
  if (op == nullptr) return "";
  std::string tiles;
  for (ir::ValueId operand : op->operands) {
    if (operand == ir::kNoValue || kernel.TypeOf(operand).is_scalar()) continue;
    absl::StrAppend(&tiles, tiles.empty() ? "" : ", ", isa::ToString(kernel.TypeOf(operand)));
  }
  return absl::StrCat(" (", isa::Mnemonic(op->op), " of ", tiles, ")");
}
}  // namespace

absl::StatusOr<Emitted> Generate(const ir::Kernel& kernel, const Target& target, const GenerateOptions& options) {
  if (options.promises.parts > 1) {
    const bool tail = options.promises.tail;
    const std::optional<ir::Kernel> split = (tail ? pipeline::SplitTail : pipeline::SplitTiles)(kernel, options.promises.parts, options.promises.no_alias);
    if (!split.has_value()) return absl::UnimplementedError(absl::StrCat("kernel ", kernel.name, " cannot be split into ", options.promises.parts, " parts"));
    GenerateOptions whole = options;
    whole.promises.parts = 1;
    whole.promises.tail = false;
    if (tail) whole.promises.many = whole.threads = false;
    else whole.few_programs = true;
    TILEVM_ASSIGN_OR_RETURN(Emitted emitted, Generate(*split, target, whole));
    if (!emitted.persistent) return absl::UnimplementedError(absl::StrCat("kernel ", kernel.name, " in parts has no roles"));
    emitted.tail = tail;
    emitted.parts = options.promises.parts;
    emitted.split = std::make_shared<ir::Kernel>(*split);
    return emitted;
  }
  TILEVM_ASSIGN_OR_RETURN(layout::LayoutKernel laid_out, LayOut(kernel, target, options));
  TILEVM_ASSIGN_OR_RETURN(Emitted emitted, Emit(laid_out, target, options));
  if (emitted.smem_bytes > target.max_smem_per_block) {
    const int64_t room = std::max<int64_t>(1, target.max_smem_per_block - emitted.smem_buffers), scratch = emitted.smem_bytes - emitted.smem_buffers;
    int64_t smaller = 2;
    while (scratch > smaller * room) smaller *= 2;
    const std::string buffers = emitted.smem_buffers == 0 ? "" : absl::StrCat(" (", emitted.smem_buffers, " of them for the buffers of a pipelined loop)");
    return ErrorAt(emitted.smem_loc.known() ? emitted.smem_loc : kernel.loc, absl::StatusCode::kResourceExhausted, "kernel ", kernel.name, " needs ", emitted.smem_bytes,
                   " bytes of shared memory for this", TilesAt(laid_out.kernel, emitted.smem_loc), buffers, "; ", target.arch, " has ", target.max_smem_per_block, " for a block: a tile ", smaller,
                   " times smaller fits");
  }
  return emitted;
}

}  // namespace tilevm::gpu
