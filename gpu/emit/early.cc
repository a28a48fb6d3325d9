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
#include "gpu/emit/printer.h"
#include "specializer/passes/rewriter.h"

namespace tilevm::gpu {

using isa::Op;

namespace {

// On an H200 it is worth 1 to 4 % for programs that load 8 to 32 KB in all (softmax of 8192 f16 or f32, layer norm of 4096 f16, RMS norm of 8192 bf16), and costs
// where they load more (softmax of 32768 f32 6 %, of f16 1 %; layer norm of 8192 bf16, 48 KB, 8 %) or a row is one warp's (781 f16: 14.5 us, 14.3 without).
constexpr int64_t kLeastBytes = 8192, kMostBytes = 40960;

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

}  // namespace tilevm::gpu
