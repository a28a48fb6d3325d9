// Dots by wgmma (sm_90): prints the instructions for the shape, dtype and operand order at hand, and the calls.
//
// One asm statement holds fence, all steps along k and commit: the accumulators are its operands once instead of once for each step, which is what
// the compiler's time depends on. Descriptors advance inside it. Operand order, as in specializer/pipeline/schedule.h: a buffer whose rows run along k is
// "K-major", one whose rows run along m or n is "MN-major" and read transposed (16-bit elements).
#include "absl/strings/str_replace.h"
#include "gpu/emit/printer.h"

namespace tilevm::gpu {
namespace {

constexpr int64_t kPromotedColumns = 128;  // partial sums of more would not fit beside the accumulators

struct Matrix {
  bool k_major = true;
  int64_t rows = 0, row_bytes = 0;  // of the buffer
  std::string address;
  int64_t panel() const { return std::min<int64_t>(row_bytes, 128); }
  // Descriptor fields and distances, bytes. A panel is `rows` rows of panel() bytes; eight rows repeat the swizzle.
  int64_t stride() const { return 8 * panel(); }
  int64_t leading() const { return k_major ? 16 : rows * panel(); }
  int64_t swizzle() const { return panel() == 128 ? 1 : 2; }
  // From the first step along k to step k: 32 bytes, or 16 rows of elements of 2 bytes.
  int64_t Advance(int64_t k) const {
    if (!k_major) return k * 16 * panel();
    return k * 32 % panel() + k * 32 / panel() * rows * panel();
  }
  std::string Descriptor(const std::string& further = "") const {
    return absl::StrCat("matrix_descriptor(", address, further, ", ", leading(), ", ", stride(), ", ", swizzle(), ")");
  }
};

struct Instruction {
  isa::DType dtype;
  int64_t n;                                 // columns
  int64_t first_step, steps;                 // along k
  bool a_shared = true;
  bool zero = false;                         // the accumulator is not read
  bool flag = false;                         // an int says whether it is
  const Matrix *a, *b;

  std::string Kind() const {
    switch (dtype) {
      case isa::DType::kF16: return "k16.f32.f16.f16";
      case isa::DType::kBF16: return "k16.f32.bf16.bf16";
      case isa::DType::kF32: return "k8.f32.tf32.tf32";
      case isa::DType::kF8E4M3: return "k32.f32.e4m3.e4m3";
      case isa::DType::kF8E5M2: return "k32.f32.e5m2.e5m2";
      default: return "k32.s32.s8.s8";
    }
  }
  std::string Table() const;
};

// struct G { multiply(d, a, b[, add]) }: a a descriptor or fragments.
std::string Instruction::Table() const {
  const bool integer = dtype == isa::DType::kI8, sixteen = dtype == isa::DType::kF16 || dtype == isa::DType::kBF16;
  const int64_t regs = n / 2, first = regs;  // number of the first input
  const char letter = integer ? 'r' : 'f';
  std::string acc, constraints, words, text = "{\\n.reg .b64 a, b;\\n.reg .b32 at, a0, a1, b0, b1;\\n.reg .pred p;\\n";
  // Addresses are in the lower half of a descriptor.
  const int64_t b_input = first + (a_shared ? 1 : 0);
  if (a_shared) absl::StrAppend(&text, "mov.b64 {a0, a1}, %", first, ";\\n");
  absl::StrAppend(&text, "mov.b64 {b0, b1}, %", b_input, ";\\n");
  const auto advanced = [](const char* name, int64_t bytes) {
    return absl::StrCat("add.s32 at, ", name, "0, ", bytes / 16, ";\\nmov.b64 ", name, ", {at, ", name, "1};\\n");
  };
  for (int64_t i = 0; i < regs; ++i) {
    absl::StrAppend(&acc, i == 0 ? "" : ", ", "%", i);
    absl::StrAppend(&constraints, i == 0 ? "" : ", ", zero ? "\"=" : "\"+", std::string(1, letter), "\"(d[", i, "])");
  }
  if (flag) absl::StrAppend(&text, "setp.ne.b32 p, %", first + 2, ", 0;\\n");
  absl::StrAppend(&text, "wgmma.fence.sync.aligned;\\n");
  for (int64_t step = 0; step < steps; ++step) {
    std::string operand = "a";
    if (a_shared) {
      text += advanced("a", a->Advance(first_step + step));
    } else {
      operand.clear();
      for (int w = 0; w < 4; ++w) {
        absl::StrAppend(&operand, w == 0 ? "{" : ", ", "%", first + 1 + 4 * step + w);
        absl::StrAppend(&words, ", \"r\"(a[", 4 * (first_step + step) + w, "])");
      }
      operand += "}";
    }
    // Whether the first step adds to what is there: known here, or a flag that the caller gives. Then signs, and which operands are read transposed.
    const char* const adds = zero && step == 0 ? "0" : flag && step == 0 ? "p" : "1";
    const std::string turned = !sixteen ? "" : absl::StrCat(a_shared ? (a->k_major ? ", 0" : ", 1") : "", b->k_major ? ", 0" : ", 1");
    absl::StrAppend(&text, advanced("b", b->Advance(first_step + step)), "wgmma.mma_async.sync.aligned.m64n", n, Kind(),
                    " {", acc, "}, ", operand, ", b, ", adds, integer ? "" : ", 1, 1", turned, ";\\n");
  }
  absl::StrAppend(&text, "wgmma.commit_group.sync.aligned;\\n}");
  return absl::StrCat("\n  static TV_DEV void multiply(", integer ? "i32" : "f32", "* d, ", a_shared ? "u64 a" : "const u32* a", ", u64 b", flag ? ", int add" : "", ") {\n    asm volatile(\"",
                      text, "\"\n                 : ", constraints, "\n                 : ", a_shared ? "\"l\"(a), \"l\"(b)" : "\"l\"(b)", words,
                      flag ? ", \"r\"(add)" : "", ");\n  }\n");
}

}  // namespace

// Operand i into a buffer of its own behind the rings, or one of two in turn; returns the buffer's address.
std::string Printer::WriteOperand(const ir::Op& op, const pipeline::Wgmma& plan, int i) {
  const ir::ValueId b = op.operands[i];
  const isa::Type& type = TypeOf(b);
  const int elem_bytes = isa::StorageBytes(type.elem);
  const layout::SharedLayout rows = layout::SwizzledRows(type.shape, i == 0 ? 1 : plan.b_axis, elem_bytes);
  bool transposed = false;
  const pipeline::Copy* copy = CopyBehind(b, &transposed);
  const ir::ValueId value = copy != nullptr ? ir::kNoValue : pipeline::BeforeLayoutChanges(b, [&](ir::ValueId id) { return def_[id]; });
  if (copy == nullptr) Materialise(value);
  // The swizzle repeats every 1024 bytes of the address.
  const int64_t offset = (scratch_ + 1023) / 1024 * 1024;
  const int64_t bytes = (type.elem_count() * elem_bytes + 1023) / 1024 * 1024;
  std::string to = absl::StrCat("shared_address() + ", offset);
  Line("barrier();");
  if (i == 1 && deferred_ == op.results[0]) {
    // Products of the iteration before may still read the other buffer; those before them are done in all threads that have passed the barrier.
    const std::string turn = absl::StrCat("written", next_label_++);
    absl::StrAppend(&prologue_, "  u32 ", turn, " = 0;\n");
    Line(turn, " ^= ", bytes, ";");
    absl::StrAppend(&to, " + ", turn);
    UseShared(offset - scratch_ + 2 * bytes);
  } else {
    UseShared(offset - scratch_ + bytes);
  }
  if (copy != nullptr) {
    const pipeline::TurnedLayouts turned = pipeline::TurnedLayoutsOf(type.shape, elem_bytes, options_.num_warps);
    const std::string read = BufferTable(turned.read, layout::SwizzledRows(type.shape, transposed ? 1 - copy->axis : copy->axis, elem_bytes), elem_bytes);
    Line("turn_rows<", read, ", ", BufferTable(turned.write, rows, elem_bytes), ", ", turned.read.register_count(), ", ", elem_bytes, ">(", BufferOf(*copy), ", ", to, ");");
  } else {
    const layout::LinearLayout& where = LayoutOf(value);
    const int64_t vector = SharedVector(where, rows, elem_bytes);
    const std::string table = BufferTable(where, rows, elem_bytes);
    OpenRegisterLoop(where.register_count(), vector);
    Line("write_shared<", vector, ">(", to, " + ", table, "::at(", table, "::thread(), r), ", Name(value), ".v + r);");
    CloseRegisterLoop();
  }
  Line("fence_shared();");
  Line("barrier();");
  return to;
}

absl::Status Printer::PrintWgmma(const ir::Op& op, const pipeline::Wgmma& plan, bool zero, const std::string& fresh) {
  const ir::ValueId result = op.results[0];
  const bool a_shared = options_.schedule->ReadsShared(result, 0);
  Matrix matrices[2];
  for (int i : {0, 1}) {
    Matrix& matrix = matrices[i];
    const isa::Type& type = TypeOf(op.operands[i]);
    int axis = plan.b_axis;
    if (i == 0 && plan.a_written) {
      axis = 1;
      matrix.address = written_.at(result);
    } else if (i == 1 && plan.b_written) {
      matrix.address = WriteOperand(op, plan, 1);
    } else {
      auto found = options_.schedule->operands.find({result, i});
      if (found == options_.schedule->operands.end()) continue;
      const pipeline::Copy& copy = *options_.schedule->CopyOf(found->second.copy);
      axis = found->second.transposed ? 1 - copy.axis : copy.axis;
      matrix.address = BufferOf(copy);
    }
    matrix.k_major = axis == (i == 0 ? 1 : 0);
    matrix.rows = type.shape[1 - axis];
    matrix.row_bytes = type.shape[axis] * isa::StorageBytes(type.elem);
  }
  const Matrix &a = matrices[0], &b = matrices[1];
  Instruction instruction{TypeOf(op.operands[0]).elem.dtype, plan.n, 0, plan.k_steps, a_shared, zero, !fresh.empty(), &a, &b};
  const std::string label = absl::StrCat(next_label_++);
  Line("const u64 b", label, " = ", b.Descriptor(), ";");
  // One call for each tile of 64 rows.
  for (int64_t tile = 0; tile < plan.m_tiles; ++tile) {
    const std::string d = absl::StrCat(Name(result), ".v + ", tile * plan.n / 2);
    std::string left;
    if (a_shared) {
      // 64 rows of a K-major buffer, or one panel of an MN-major one.
      left = a.Descriptor(absl::StrCat(" + (", group_number_.empty() ? "warpgroup()" : group_number_, " + ", tile * plan.groups, ") * ", a.k_major ? 64 * a.panel() : a.rows * a.panel()));
    } else if (auto given = words_.find(result); given != words_.end()) {
      left = absl::StrCat(given->second, "_", tile);
    } else {
      left = absl::StrCat("a", label, "_", tile);
      const int64_t words = 4 * plan.k_steps, regs = words * 4 / isa::StorageBytes(TypeOf(op.operands[0]).elem);
      Line("u32 ", left, "[", words, "];");
      Line("fragment(", left, ", ", Name(op.operands[0]), ".v + ", tile * regs, ", ", words, ");");
    }
    if (!plan.promote) {
      Line(Table(instruction.Table(), 'G'), "::multiply(", d, ", ", left, ", b", label, instruction.flag ? ", " + fresh : "", ");");
      continue;
    }
    // Sums of 128 along k from zero, added to the accumulator.
    instruction.zero = true;
    instruction.n = std::min(plan.n, kPromotedColumns);
    for (int64_t column = 0; column < plan.n; column += instruction.n) {
      for (int64_t step = 0; step < plan.k_steps; step += kPromotedSteps) {
        instruction.first_step = step;
        instruction.steps = std::min(kPromotedSteps, plan.k_steps - step);
        const std::string part = absl::StrCat("part", next_label_++);
        Line("f32 ", part, "[", instruction.n / 2, "];");
        Line(Table(instruction.Table(), 'G'), "::multiply(", part, ", ", left, ", b", label, " + ", column * b.panel() / 16, ");");
        if (!second_slot_.empty()) {
          const std::string& slot = slots_.begin()->second;
          Instruction more = instruction;
          more.zero = false;
          Line(Table(more.Table(), 'G'), "::multiply(", part, ", ", absl::StrReplaceAll(left, {{slot, second_slot_}}), ", ",
               absl::StrReplaceAll(b.Descriptor(), {{slot, second_slot_}}), " + ", column * b.panel() / 16, ");");
        }
        Line("wgmma_wait<0>();");
        Line("wgmma_results<", instruction.n / 2, ">(", part, ");");
        const bool first = zero && step == 0;
        Line("add_results<", instruction.n / 2, ", ", first ? "true" : "false", ">(", d, " + ", column / 2, ", ", part, ");");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tilevm::gpu
