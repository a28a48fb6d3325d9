// How a kernel begins that is set up beside the end of the one before it (gpu/device/control.cuh): it computes what needs no memory, tells the L2 cache of the
// row that it will load first, and waits. A row that the kernel before still writes is none the worse for it: L2 is where both see it.
//
//   const i32 row = program_id<0>();
//   if (thread_id() == 0) {
//     constexpr int r = 0;
//     const i32 columns = static_cast<i32>(L0::at(thread_L0, r));
//     prefetch_run(ptr_add(row_start, columns), run_below<false, 8192>(columns, n_cols));
//   }
//   let_next_kernel_begin();
//   wait_for_kernel_before();
//
// A program that fills a multiprocessor loads nothing while it computes. Behind its own row it tells L2 of the row of a program that begins half a wave later:
//
//   if (thread_id() == 0) {
//     const i32 next = program_id<0>() + 64;
//     if (next < num_programs<0>()) {
//       const i32 row = next;
//       ... the row's address once more ...
//       prefetch_run(...);
//     }
//   }
#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {

using isa::Op;

namespace {

// On an H200 it is worth 1 to 4 % for programs that load 8 to 32 KB in all (softmax of 8192 f16 or f32, layer norm of 4096 f16, RMS norm of 8192 bf16), and costs
// where they load more (softmax of 32768 f32 6 %, of f16 1 %; layer norm of 8192 bf16, 48 KB, 8 %) or a row is one warp's (781 f16: 14.5 us, 14.3 without).
constexpr int64_t kLeastBytes = 8192, kMostBytes = 40960;

// Rows of so many bytes in all, of programs of so many warps, and how many programs further on. On an H200 with 132 multiprocessors, softmax of 4096 rows of 32768
// f16 (64 KB): 181 us without, 147 to 151 with 64 to 132 programs further on, 174 to 183 with 264; of f32 (128 KB) 262, 258 with 64, 344 with 132: 16 MB ahead is
// more than L2 keeps. Where several programs share a multiprocessor, one loads while another computes: told of next rows they lost 1 to 15 % (softmax of 12345 f16,
// layer norm of 4096 f16), or gained 1 to 3 (layer norm of 8192 bf16).
constexpr int64_t kLeastBytesOfNext = 32768, kMostBytesOfNext = 131072;
constexpr int kWarpsThatFill = 32, kProgramsFurther = 64;

// Of all tiles that are loaded, in the program's text.
int64_t LoadedBytes(const ir::Kernel& kernel, const ir::Region& region) {
  int64_t bytes = 0;
  for (const ir::Op& op : region.ops) {
    if (op.op == Op::kLoad) bytes += kernel.TypeOf(op.results[0]).elem_count() * isa::StorageBytes(kernel.TypeOf(op.results[0]).elem);
    for (const ir::Region& inner : op.regions) bytes += LoadedBytes(kernel, inner);
  }
  return bytes;
}

bool TouchesNoMemory(const ir::Op& op) {
  switch (op.op) {
    case Op::kConst: case Op::kProgramId: case Op::kNumPrograms: case Op::kAssume: case Op::kArange: case Op::kSplat: case Op::kBroadcast: case Op::kExpandDims:
    case Op::kReshape:
      return true;
    default:
      return specializer::IsElementwise(op.op);
  }
}

}  // namespace

void Printer::WaitBefore(const ir::Op& op) {
  if (waits_ || TouchesNoMemory(op)) return;
  waits_ = true;
  Flush();
  TellAhead(op);
  PrintWaitForKernelBefore();
}

void Printer::PrintWaitForKernelBefore() {
  // Many blocks of one warp fill the places of a multiprocessor: there the next kernel's blocks only stand in the way (softmax of rows of 1024 f16 lost 13 %).
  if (options_.num_warps > 1 || options_.packed > 1) Line("let_next_kernel_begin();");
  Line("wait_for_kernel_before();");
}

void Printer::TellAhead(const ir::Op& op) {
  if (op.op != Op::kLoad || options_.packed > 1 || options_.whole_run == nullptr) return;
  const std::optional<analysis::Run> run = options_.whole_run(op);
  const isa::Type& type = TypeOf(op.operands[0]);
  if (!run.has_value() || type.elem_count() * isa::StorageBytes(isa::DType(type.elem.dtype)) < kLeastBytes || LoadedBytes(kernel(), kernel().body) > kMostBytes) return;
  for (const analysis::RunMask& mask : run->masks) {
    if (!mask.views.empty()) return;
  }
  const RunAccess access{*run};
  if (!PrepareRun(access)) return;
  // Thread 0 has the first element in its register 0.
  const layout::LinearLayout& layout = LayoutOf(op.operands[0]);
  Line("if (thread_id() == 0) {");
  ++depth_;
  Line("constexpr int r = 0;");
  step_ = 1;
  of_runs_.clear();
  std::map<ir::ValueId, std::string> locals;
  const std::string pointer = Register(op.operands[0], locals), count = RunCount(access, layout, "0", locals);
  Line("prefetch_run(", pointer, ", ", count, ");");
  --depth_;
  Line("}");
}

void Printer::TellNext(const ir::Op& op) {
  if (HasRoles() || options_.packed > 1 || options_.whole_run == nullptr || options_.num_warps < kWarpsThatFill) return;
  const isa::Type& type = TypeOf(op.operands[0]);
  const int64_t bytes = type.is_scalar() ? 0 : type.elem_count() * isa::StorageBytes(isa::DType(type.elem.dtype));
  if (bytes < kLeastBytesOfNext || bytes_of_next_ + bytes > kMostBytesOfNext) return;
  const std::vector<ir::Op>& body = kernel().body.ops;
  if (std::none_of(body.begin(), body.end(), [&](const ir::Op& other) { return &other == &op; })) return;
  const std::optional<analysis::Run> run = options_.whole_run(op);
  if (!run.has_value()) return;
  // What follows from the program's id.
  std::set<ir::ValueId> follows;
  for (const ir::Op& other : body) {
    const bool id = other.op == Op::kProgramId && other.IntAttr("axis") == 0;
    if (id || std::any_of(other.operands.begin(), other.operands.end(), [&](ir::ValueId operand) { return follows.count(operand) != 0; })) {
      follows.insert(other.results.begin(), other.results.end());
    }
  }
  std::vector<ir::ValueId> open = {op.operands[0]};
  if (follows.count(op.operands[0]) == 0) return;  // the same row for all
  for (const analysis::RunMask& mask : run->masks) {
    if (!mask.views.empty()) return;
    if (mask.whole != ir::kNoValue) open.push_back(mask.whole);
    else open.insert(open.end(), {mask.first, mask.bound});
  }
  std::set<const ir::Op*> slice;
  while (!open.empty()) {
    const ir::ValueId id = open.back();
    open.pop_back();
    if (id == ir::kNoValue || follows.count(id) == 0) continue;
    const ir::Op& made = *def_[id];
    if (!TouchesNoMemory(made) || (IsTile(id) && lazy_[id] == nullptr)) return;
    if (!slice.insert(&made).second) continue;
    open.insert(open.end(), made.operands.begin(), made.operands.end());
  }
  const RunAccess access{*run};
  if (!PrepareRun(access)) return;
  bytes_of_next_ += bytes;
  const std::string next = absl::StrCat("next", next_label_++);
  Line("if (thread_id() == 0) {");
  ++depth_;
  Line("const i32 ", next, " = program_id<0>() + ", kProgramsFurther, ";");
  Line("if (", next, " < num_programs<0>()) {");
  ++depth_;
  for (const ir::Op& other : body) {
    if (slice.count(&other) == 0 || IsTile(other.results[0])) continue;
    if (other.op == Op::kProgramId) Line("const i32 ", Name(other.results[0]), " = ", next, ";");
    else PrintOp(other, nullptr, kernel().body).IgnoreError();  // scalars, which were printed before
  }
  Line("constexpr int r = 0;");
  step_ = 1;
  of_runs_.clear();
  std::map<ir::ValueId, std::string> locals;
  const std::string pointer = Register(op.operands[0], locals), count = RunCount(access, LayoutOf(op.operands[0]), "0", locals);
  Line("prefetch_run(", pointer, ", ", count, ");");
  for (int i = 0; i < 2; ++i) {
    --depth_;
    Line("}");
  }
}

}  // namespace tilevm::gpu
